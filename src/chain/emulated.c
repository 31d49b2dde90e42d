/* emulated.c: tensor maps, counters and multiprocessors of the emulator. */
#include "chain/emulated.h"

enum { SMS = 3 };

static bool encode(void *user, const AbiTensorMap *map, void *handle)
{
    EmuTensorMap to = {.base = map->address,
                       .rank = map->rank,
                       .element_bytes = dtype_bytes(map->dtype),
                       .swizzle = map->swizzle};
    (void)user;
    for (int i = 0; i < map->rank; i++) {
        to.dims[i] = map->dims[i];
        to.box[i] = map->box[i];
        if (i)
            to.strides[i - 1] = map->strides[i - 1];
    }
    return emu_tensor_map_encode(&to, handle) == NULL;
}

/* Two to four blocks in all of those that share a multiprocessor. */
static int multiprocessors(const Abi *abi)
{
    int most = 1;
    for (int k = 0; k < abi->kernels.len; k++) {
        const AbiKernel *kernel = &abi->kernels.data[k];
        most = kernel->fast.persistent > most ? kernel->fast.persistent : most;
        most = kernel->any.persistent > most ? kernel->any.persistent : most;
    }
    return most > 1 ? 1 : SMS;
}

Emulated *emulated_host(Arena *arena, const Abi *abi, EmuMemory *memory)
{
    Emulated *e = arena_new_of(arena, Emulated);
    uint64_t *addresses = arena_array(arena, uint64_t, abi->kernels.len + 1);
    e->n = abi->kernels.len;
    e->words = arena_array(arena, uint32_t, e->n + 1);
    for (int k = 0; k < e->n; k++)
        if (abi_has_counter(&abi->kernels.data[k]))
            addresses[k] =
                emu_memory_add(memory, arena_printf(arena, "%s's counter", abi->kernels.data[k].fast.name),
                               &e->words[k], sizeof e->words[k], true, false, 0);
    e->host = (AbiHost){.sms = multiprocessors(abi), .encode = encode, .counters = addresses};
    return e;
}

bool emulated_at_rest(const Emulated *e)
{
    for (int k = 0; k < e->n; k++)
        if (e->words[k] != 0)
            return false;
    return true;
}
