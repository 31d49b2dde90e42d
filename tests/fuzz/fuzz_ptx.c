/* fuzz_ptx.c: any bytes as PTX: parse, and run every entry for a while over one
 * small buffer. Parameters are eight words, then a tensor map of the buffer. */
#include "emu/emu.h"
#include "fuzz.h"

enum { BUFFER = 4096, PARAMS = 64, INSTRUCTIONS = 20000 };

static void run_entry(Arena *arena, const EmuModule *module, int entry)
{
    EmuMemory *memory = emu_memory_new(arena);
    unsigned char *buffer = arena_alloc(arena, BUFFER);
    uint64_t address = emu_memory_add(memory, "buffer", buffer, BUFFER, true, false, 0);
    uint64_t params[(PARAMS + EMU_TENSOR_MAP_BYTES) / 8];
    EmuTensorMap map = {.base = address, .rank = 2, .element_bytes = 2, .dims = {64, 32},
                        .strides = {128}, .box = {64, 8}, .swizzle = 128};
    EmuReport *report = arena_new_of(arena, EmuReport);
    EmuLaunch launch = {.grid = {2, 1, 1}, .block = {128, 1, 1}, .shared_bytes = 8192,
                        .params = params, .param_bytes = sizeof params, .seed = 1,
                        .max_instructions = INSTRUCTIONS};

    for (size_t i = 0; i < PARAMS / 8; i++)
        params[i] = i % 2 ? 16 : address;
    emu_tensor_map_encode(&map, params + PARAMS / 8);
    emu_run(arena, module, entry, memory, &launch, report);
}

static void take(Arena *arena, const Source *source)
{
    EmuModule *module = emu_parse(arena, diags_new(arena, source), source);

    for (int i = 0; module && i < emu_entry_count(module) && i < 4; i++)
        run_entry(arena, module, i);
}

int fuzz_ptx(const uint8_t *data, size_t size)
{
    fuzz_with(data, size, take);
    return 0;
}
