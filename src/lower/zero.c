/* zero.c: what blocks add to begins as 0.
 *
 * `Copy P from register to global and accumulate` adds to what the tensor holds. Where
 * an earlier kernel of the program wrote it, that is what the program says; else it is
 * 0, and a kernel of its own in front of all others stores that:
 *
 *   kernel zero_O grid(x1: ceil(n / 128), x0: ceil(m / 16)) warps 4 {
 *     %zero = fill 0 : fp32<16x128>
 *     store %zero, O[x0 * 16 : rows, x1 * 128 : cols]
 *   }
 */
#include "lower/state.h"

enum { ROWS = 16, COLS = 128 };

/* The first store to a tensor in program order; NULL: none. */
static const TileOp *first_store(const TileBlock *block, const TileTensor *t)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i], *found = NULL;
        if (op->kind == TILE_STORE && op->tensor == t) return op;
        for (int r = 0; r < op->n_regions && !found; r++) found = first_store(op->regions[r], t);
        if (found) return found;
    }
    return NULL;
}

static const char *fresh_name(const TileProgram *program, const TileTensor *t)
{
    const char *name = arena_printf(program->arena, "zero_%s", t->name);
    for (int k = 0; k < program->kernels.len; k++)
        if (strcmp(program->kernels.data[k]->name, name) == 0) {
            name = arena_printf(program->arena, "%s_0", name);
            k = -1;
        }
    return name;
}

/* The size of the tile along a dimension: the whole of it, or a part. */
static int part_of(const Aff *dim, int most)
{
    int64_t size;
    int part = 1;
    if (!aff_is_const(dim, &size)) return most;
    while (part < size && part < most) part *= 2;
    return part;
}

/* The coordinates of a block's tile, an axis of the grid for each dimension, the innermost first. */
static void set_place(TileProgram *program, TileKernel *kernel, TileOp *store, const int *extents)
{
    AffCtx *aff = program->aff;
    const TileTensor *t = store->tensor;
    store->coords = arena_array(program->arena, const Aff *, t->rank);
    for (int d = t->rank - 1; d >= 0; d--) {
        const Aff *tiles = aff_ceildiv(aff, t->dims[d], aff_const(aff, extents[d]));
        int64_t low, high;
        aff_bounds(tiles, &low, &high);
        const AffSym *sym = aff_sym_new(aff, arena_printf(program->arena, "x%d", d), AFF_GRID, 0,
                                        high > INT32_MAX || high < 1 ? INT32_MAX : high - 1);
        vec_push(program->arena, &kernel->grid, (TileAxis){.sym = sym, .extent = tiles});
        store->coords[d] = aff_scale(aff, aff_of(aff, sym), extents[d]);
    }
}

static TileKernel *zero_kernel(TileProgram *program, TileTensor *t, Span loc)
{
    TileKernel *kernel = tile_kernel_new(program, fresh_name(program, t));
    int extents[TENSOR_MAX_RANK], last = t->rank - 1;
    for (int d = 0; d < t->rank; d++) extents[d] = 1;
    extents[last] = part_of(t->dims[last], COLS);
    if (last > 0) extents[last - 1] = part_of(t->dims[last - 1], extents[last] == 1 ? COLS : ROWS);
    kernel->loc = loc;
    Rewriter rw = {program, kernel, kernel->body, 0, loc};
    TileType type = tile_type(t->dtype, last > 0 ? extents[last - 1] : 1, extents[last], SPACE_REGISTER);
    TileValue *zero = rw_insert(&rw, TILE_FILL, 0, NULL, 1, &type)->results[0];
    TileOp *store = rw_insert(&rw, TILE_STORE, 1, &zero, 0, NULL);
    zero->name = "zero";
    store->tensor = t;
    store->col_dim = last;
    store->row_dim = last - 1;
    set_place(program, kernel, store, extents);
    return kernel;
}

void lo_zero(TileProgram *program)
{
    int front = 0, kernels = program->kernels.len;
    for (int i = 0; i < program->tensors.len; i++) {
        TileTensor *t = program->tensors.data[i];
        const TileOp *store = NULL;
        for (int k = front; k < front + kernels && !store; k++) store = first_store(program->kernels.data[k]->body, t);
        if (!store || !store->onto) continue;
        TileKernel *zero = zero_kernel(program, t, store->loc);
        for (int k = program->kernels.len - 1; k > front; k--) program->kernels.data[k] = program->kernels.data[k - 1];
        program->kernels.data[front++] = zero;
    }
}
