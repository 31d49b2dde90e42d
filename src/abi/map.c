/* map.c: the tensor maps of a program: which there are, and their encoding at launch.
 *
 *   copy of Q[b, h, m * 128, 0] into a ring of 128 x 128 bf16, panels of 128 bytes
 *       ->  map of Q, box (1, 1, 128, 64), swizzle 128
 *   at launch, Q (2, 16, 1000, 128) at address A, contiguous
 *       ->  dims (128, 1000, 16, 2), strides (256, 256000, 4096000) bytes, box (64, 128, 1, 1)
 *
 * A launch whose tensors do not let themselves be mapped (an empty dimension, a
 * stride beyond 2^40 bytes, a driver that has no such function) takes the entry for
 * any alignment.
 */
#include "abi/parts.h"

/* CUDA Driver API, cuTensorMapEncodeTiled: globalStrides, boxDim. */
enum { STRIDE_UNIT = 16, RUN_UNIT = 16 };
static const uint64_t stride_limit = UINT64_C(1) << 40;

/* ---- which there are ---------------------------------------------------------------- */

/* Bytes of the innermost run of a map's boxes. */
static int run_bytes(const Abi *abi, const AbiMap *map)
{
    const AbiTensor *t = &abi->tensors.data[map->tensor];
    return map->box[t->rank - 1] * dtype_bytes(t->dtype);
}

const char *abi_map_misfit(const Abi *abi, const AbiMap *map)
{
    const AbiTensor *t = &abi->tensors.data[map->tensor];
    if (t->rank < 1 || t->rank > ABI_MAP_RANK)
        return "a map is of a tensor of 1 to 5 dimensions";
    for (int d = 0; d < t->rank; d++)
        if (map->box[d] < 1 || map->box[d] > ABI_BOX_MOST)
            return "a side of a box is 1 to 256";
    if (map->swizzle != 0 && map->swizzle != 32 && map->swizzle != 64 && map->swizzle != 128)
        return "a swizzle is of 0, 32, 64 or 128 bytes";
    if (run_bytes(abi, map) % RUN_UNIT != 0)
        return "the innermost side of a box is not a multiple of 16 bytes";
    if (map->swizzle && run_bytes(abi, map) > map->swizzle)
        return "the innermost side of a box is wider than its swizzle";
    return NULL;
}

static bool same_map(const Abi *abi, const AbiMap *a, const AbiMap *b)
{
    bool same = a->tensor == b->tensor && a->swizzle == b->swizzle && a->written == b->written;
    for (int d = 0; same && d < abi->tensors.data[a->tensor].rank; d++)
        same = a->box[d] == b->box[d];
    return same;
}

int abi_find_map(const Abi *abi, const AbiMap *map)
{
    for (int i = 0; i < abi->maps.len; i++)
        if (same_map(abi, &abi->maps.data[i], map))
            return i;
    return -1;
}

void abi_add_map(Abi *abi, AbiMap map)
{
    AbiTensor *t = &abi->tensors.data[map.tensor];
    if (t->alignment < TILE_CHUNK)
        t->alignment = TILE_CHUNK;
    if (abi_find_map(abi, &map) < 0)
        vec_push(abi->arena, &abi->maps, map);
}

bool abi_map_make(const TileTensor *tensor, int row_dim, int col_dim, const TileType *stage,
                  bool written, AbiMap *map)
{
    TileBox box;
    if (!tile_box(tensor, row_dim, col_dim, stage, &box))
        return false;
    *map = (AbiMap){.tensor = tensor->index, .swizzle = box.swizzle, .written = written};
    for (int d = 0; d < tensor->rank; d++)
        map->box[d] = box.size[d];
    return true;
}

/* Of a tile whose rows lie in strips a box is some rows of one. */
static bool map_of_copy(const TileProgram *program, const TileOp *op, AbiMap *map)
{
    TileStrip strip;
    const TileOp *ring = op->kind == TILE_COPY_ASYNC && op->n_args > 0 ? op->args[0]->def : NULL;
    if (op->kind == TILE_STORE && op->n_args > 1)
        return abi_map_make(op->tensor, op->row_dim, op->col_dim, &op->args[1]->type, true, map);
    if (!ring || ring->kind != TILE_RING || ring->lanes || !tile_strips(program, op, op->args[0]->type.rows, &strip))
        return false;
    TileType type = op->args[0]->type;
    type.rows = strip.rows;
    return abi_map_make(op->tensor, strip.dim, op->col_dim, &type, false, map);
}

void abi_collect_maps(Abi *abi, const TileProgram *program, const TileBlock *block)
{
    AbiMap map;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (map_of_copy(program, op, &map))
            abi_add_map(abi, map);
        for (int r = 0; r < op->n_regions; r++)
            abi_collect_maps(abi, program, op->regions[r]);
    }
}

int abi_map_of(const Abi *abi, const TileProgram *program, const TileOp *copy)
{
    AbiMap map;
    return map_of_copy(program, copy, &map) ? abi_find_map(abi, &map) : -1;
}

int abi_driver_type(DType dtype)
{
    static const int types[DT_COUNT] = {
        [DT_F32] = 7, [DT_F16] = 6, [DT_BF16] = 9, [DT_E4M3] = 0, [DT_E5M2] = 0,
        [DT_F64] = 8, [DT_I32] = 3, [DT_I64] = 5,  [DT_I8] = 0, [DT_U8] = 0, [DT_BOOL] = 0,
    };
    return types[dtype];
}

int abi_driver_swizzle(int bytes)
{
    return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
}

/* ---- at launch ---------------------------------------------------------------------- */

/* The driver counts dimensions from the innermost. */
static bool resolve(const Abi *abi, const AbiMap *map, const Tensor *t, uint64_t address,
                    AbiTensorMap *to)
{
    const AbiTensor *want = &abi->tensors.data[map->tensor];
    *to = (AbiTensorMap){
        .address = address, .dtype = want->dtype, .rank = want->rank, .swizzle = map->swizzle};
    for (int i = 0; i < want->rank; i++) {
        int d = want->rank - 1 - i;
        to->dims[i] = (uint64_t)t->dims[d];
        to->box[i] = (uint32_t)map->box[d];
        if (t->dims[d] < 1)
            return false;
        if (i == 0)
            continue;
        to->strides[i - 1] = (uint64_t)t->strides[d] * (uint64_t)dtype_bytes(want->dtype);
        if (to->strides[i - 1] % STRIDE_UNIT != 0 || to->strides[i - 1] >= stride_limit)
            return false;
    }
    return true;
}

bool abi_encode_maps(const Abi *abi, Tensor *const *tensors, const uint64_t *addresses,
                     const AbiHost *host, char *space)
{
    _Alignas(64) char handle[ABI_MAP_BYTES];
    for (int i = 0; i < abi->args.len; i++) {
        const AbiArg *arg = &abi->args.data[i];
        AbiTensorMap map;
        if (arg->kind != ABI_MAP)
            continue;
        if (!host->encode || !resolve(abi, &abi->maps.data[arg->position], tensors[arg->tensor],
                                      addresses[arg->tensor], &map) ||
            !host->encode(host->user, &map, handle))
            return false;
        memcpy(space + arg->offset, handle, sizeof handle);
    }
    return true;
}
