/* memory.c: the emulated device's global memory: the caller's buffers, at
 * addresses that never touch. */
#include "emu/machine.h"

#define FIRST_ADDRESS UINT64_C(0x0000700000000000)
enum { BASE_ALIGN = 256, RED_ZONE = 1 << 16 };

EmuMemory *emu_memory_new(Arena *arena)
{
    EmuMemory *memory = arena_new_of(arena, EmuMemory);

    memory->arena = arena;
    memory->next = FIRST_ADDRESS;
    return memory;
}

static uint64_t first_bit(const Buffer *b)
{
    return b->base & (BASE_ALIGN - 1);
}

uint64_t emu_memory_add(EmuMemory *memory, const char *name, void *host, size_t bytes,
                        bool initialised, bool read_only, int misalign)
{
    Buffer b = { .name = arena_strdup(memory->arena, name), .host = host, .size = bytes,
                 .initialised = initialised, .read_only = read_only };

    b.base = memory->next + (uint64_t)(misalign & (BASE_ALIGN - 1));
    b.written = arena_array(memory->arena, uint64_t, (first_bit(&b) + bytes) / 64 + 1);
    memory->next = (b.base + bytes + RED_ZONE + BASE_ALIGN - 1) & ~(uint64_t)(BASE_ALIGN - 1);
    vec_push(memory->arena, &memory->buffers, b);
    return b.base;
}

Buffer *emu_buffer_at(EmuMemory *memory, uint64_t address)
{
    int low = 0, high = memory->buffers.len;

    while (low < high) {
        int mid = (low + high) / 2;
        Buffer *b = &memory->buffers.data[mid];

        if (address < b->base)
            high = mid;
        else if (address - b->base >= b->size && (b->size || address != b->base))
            low = mid + 1;
        else
            return b;
    }
    return NULL;
}

/* The buffer whose edge is nearest, for messages. */
Buffer *emu_buffer_near(EmuMemory *memory, uint64_t address)
{
    Buffer *best = NULL;
    uint64_t distance = RED_ZONE;

    for (int i = 0; i < memory->buffers.len; i++) {
        Buffer *b = &memory->buffers.data[i];
        uint64_t away = address < b->base ? b->base - address : address - b->base - b->size;

        if (away < distance) {
            distance = away;
            best = b;
        }
    }
    return best;
}

bool emu_memory_wrote(const EmuMemory *memory, uint64_t address)
{
    const Buffer *b = emu_buffer_at((EmuMemory *)(uintptr_t)memory, address);
    uint64_t bit = b ? first_bit(b) + (address - b->base) : 0;

    return b && (b->written[bit / 64] >> bit % 64 & 1);
}

size_t emu_memory_unwritten(const EmuMemory *memory, uint64_t address)
{
    const Buffer *b = emu_buffer_at((EmuMemory *)(uintptr_t)memory, address);
    uint64_t words, written = 0;

    if (!b)
        return 0;
    words = (first_bit(b) + b->size) / 64 + 1;
    for (uint64_t i = 0; i < words; i++)
        written += (uint64_t)__builtin_popcountll(b->written[i]);
    return (size_t)(b->size - written);
}

static uint64_t add_variable(EmuMemory *memory, const ModuleVariable *v)
{
    uint8_t *host = arena_alloc(memory->arena, (size_t)v->bytes + 1);

    if (v->data)
        memcpy(host, v->data, (size_t)v->bytes);
    return emu_memory_add(memory, v->name, host, (size_t)v->bytes, true, v->constant, 0);
}

static void set_pointers(EmuMemory *memory, const ModuleVariable *v, uint64_t base, const uint64_t *bases)
{
    for (int i = 0; i < v->pointers.len; i++) {
        const Pointer *to = &v->pointers.data[i];
        uint64_t address = bases[to->variable - 1] + (uint64_t)to->offset;

        memcpy(emu_buffer_at(memory, base)->host + to->at, &address, sizeof address);
    }
}

const uint64_t *emu_memory_variables(EmuMemory *memory, const EmuModule *module)
{
    ModuleBases made = { module, NULL };
    int count = module->variables.len;

    for (int i = 0; i < memory->modules.len; i++) {
        if (memory->modules.data[i].module == module)
            return memory->modules.data[i].bases;
    }
    if (!count)
        return NULL;
    made.bases = arena_array(memory->arena, uint64_t, count);
    for (int i = 0; i < count; i++)
        made.bases[i] = add_variable(memory, &module->variables.data[i]);
    for (int i = 0; i < count; i++)
        set_pointers(memory, &module->variables.data[i], made.bases[i], made.bases);
    vec_push(memory->arena, &memory->modules, made);
    return made.bases;
}
