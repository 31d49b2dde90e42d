/* tensor_map.c: tensor maps and how a box of a tensor lies in shared memory
 * (PTX ISA, "Tensors": "Tensor Dimension, Size and Format", "Tensor Access Modes",
 * "Swizzling Modes"; CUDA Driver API, cuTensorMapEncodeTiled).
 *
 * A box lies in shared memory densely, dimension 0 innermost; a line is a run
 * along dimension 0. Swizzling exchanges the 16-byte units of a span by the
 * number of the 128 bytes that they lie in, taken from the address itself:
 *
 *     span 128: address bits 4 to 6 ^= bits 7 to 9     unit  0 1 2 3 4 5 6 7
 *     span  64: address bits 4, 5  ^= bits 7, 8         row 0 0 1 2 3 4 5 6 7
 *     span  32: address bit 4      ^= bit 7             row 1 1 0 3 2 5 4 7 6 …
 */
#include "emu/async.h"

#define MAGIC UINT64_C(0x70616d65736e6574)

/* The 128 bytes as the emulator packs them. */
typedef struct Handle {
    uint64_t magic, base;
    uint64_t strides[EMU_TENSOR_RANK - 1];
    uint32_t last[EMU_TENSOR_RANK]; /* dimension - 1 */
    uint16_t box[EMU_TENSOR_RANK];
    uint8_t steps[EMU_TENSOR_RANK];
    uint8_t rank, element_bytes, swizzle, nan_fill;
} Handle;

static const char *check_dimension(const EmuTensorMap *map, int i)
{
    if (map->dims[i] < 1 || map->dims[i] > UINT64_C(1) << 32)
        return "a dimension of a tensor map has 1 to 2^32 elements";
    if (map->box[i] < 1 || map->box[i] > 256)
        return "a box has 1 to 256 elements a dimension";
    if (map->steps[i] > 8)
        return "an element stride is 1 to 8";
    if (i > 0 && (map->strides[i - 1] % 16 || map->strides[i - 1] >= UINT64_C(1) << 40))
        return "a stride of a tensor map is a multiple of 16 below 2^40";
    return NULL;
}

enum { MOST_BOX_BYTES = 1 << 18 }; /* more than shared memory has on any target */

static const char *check_map(const EmuTensorMap *map)
{
    int bytes = map->element_bytes;
    uint64_t box = (uint64_t)bytes;
    const char *why;

    if (map->rank < 1 || map->rank > EMU_TENSOR_RANK)
        return "a tensor map has 1 to 5 dimensions";
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return "elements of a tensor map have 1, 2, 4 or 8 bytes";
    if (map->base % 16)
        return "the base of a tensor map is a multiple of 16";
    if (map->interleave)
        return "interleaved tensor maps are not emulated";
    if (map->swizzle != 0 && map->swizzle != 32 && map->swizzle != 64 && map->swizzle != 128)
        return "a swizzle spans 32, 64 or 128 bytes";
    for (int i = 0; i < map->rank; i++) {
        if ((why = check_dimension(map, i)) != NULL)
            return why;
        box *= map->box[i]; /* five times 256 elements of 8 bytes: below 2^64 */
    }
    if (box > MOST_BOX_BYTES)
        return "a box is larger than shared memory";
    if (map->box[0] * (uint32_t)bytes % 16)
        return "the innermost run of a box is a multiple of 16 bytes";
    if (map->swizzle && map->box[0] * (uint32_t)bytes > (uint32_t)map->swizzle)
        return "the innermost run of a box is longer than its swizzle";
    return NULL;
}

const char *emu_tensor_map_encode(const EmuTensorMap *map, void *handle)
{
    const char *why = check_map(map);
    Handle h = { .magic = MAGIC };

    if (why)
        return why;
    h.base = map->base;
    h.rank = (uint8_t)map->rank;
    h.element_bytes = (uint8_t)map->element_bytes;
    h.swizzle = (uint8_t)map->swizzle;
    h.nan_fill = map->nan_fill;
    for (int i = 0; i < map->rank; i++) {
        h.last[i] = (uint32_t)(map->dims[i] - 1);
        h.box[i] = (uint16_t)map->box[i];
        h.steps[i] = (uint8_t)(map->steps[i] ? map->steps[i] : 1);
        if (i)
            h.strides[i - 1] = map->strides[i - 1];
    }
    memset(handle, 0, EMU_TENSOR_MAP_BYTES);
    memcpy(handle, &h, sizeof h);
    return NULL;
}

bool emu_tensor_map_decode(const void *handle, TensorMap *map)
{
    Handle h;

    memcpy(&h, handle, sizeof h);
    memset(map, 0, sizeof *map);
    map->m = (EmuTensorMap){ .base = h.base, .rank = h.rank, .element_bytes = h.element_bytes,
                             .swizzle = h.swizzle, .nan_fill = h.nan_fill };
    for (int i = 0; i < EMU_TENSOR_RANK; i++) {
        map->m.dims[i] = (uint64_t)h.last[i] + 1;
        map->m.box[i] = h.box[i];
        map->m.steps[i] = h.steps[i] ? h.steps[i] : 1;
        if (i)
            map->m.strides[i - 1] = h.strides[i - 1];
    }
    if (h.magic != MAGIC || check_map(&map->m))
        return false;
    map->lines = 1;
    for (int i = 0; i < h.rank; i++) {
        uint32_t step = i ? map->m.steps[i] : 1; /* ignored for dimension 0: nothing is interleaved */

        map->count[i] = (map->m.box[i] + step - 1) / step;
        map->lines *= i ? map->count[i] : 1;
    }
    map->row_bytes = map->count[0] * h.element_bytes;
    return true;
}

void emu_tensor_line(const TensorMap *map, const int32_t at[EMU_TENSOR_RANK], uint32_t line,
                     int *from, int *to, uint64_t *address)
{
    int64_t first = at[0], last = at[0] + (int64_t)map->count[0], width = (int64_t)map->m.dims[0];

    *from = *to = 0;
    *address = map->m.base;
    for (int i = 1; i < map->m.rank; i++) {
        int64_t x = at[i] + (int64_t)(line % map->count[i]) * map->m.steps[i];

        line /= map->count[i];
        if (x < 0 || x >= (int64_t)map->m.dims[i])
            return;
        *address += (uint64_t)x * map->m.strides[i - 1];
    }
    first = first < 0 ? 0 : first;
    last = last > width ? width : last;
    if (first >= last)
        return;
    *from = (int)(first - at[0]);
    *to = (int)(last - at[0]);
    *address += (uint64_t)first * (uint64_t)map->m.element_bytes;
}

uint32_t emu_swizzle(int span, uint32_t address)
{
    uint32_t mask = span ? (uint32_t)span / 16 - 1 : 0;

    return address ^ (address >> 7 & mask) << 4;
}
