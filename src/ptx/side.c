/* side.c: neighbours in a row as neighbouring lanes.
 *
 * A kernel without products has its tiles in stretches (lay.h, LAY_ROWS), so many neighbours a lane as one access
 * moves. Where rows begin at no multiple of 16 bytes each element is an access, and those of a warp would lie a stretch
 * apart: eight times a part of every sector. So in the entry for any alignment, unless a window is moved over the rows
 * (pass/window.c), a lane has one element, and the next lane its neighbour:
 *
 *   rows(1x4, k8, lanes32)   ->   rows(1x4, k1, lanes32)
 *
 * A lane has as many values as before, an even number, for they are packed in pairs; sums come in another order.
 */
#include "ptx/emit.h"

enum { LANES = 32 };

static bool is_register_tile(const TileValue *v)
{
    return v->type.kind == TT_TILE && v->type.space == SPACE_REGISTER;
}

/* Whether all register tiles have the layout, once one says what it is, and none of them meets a tile in shared memory. */
static bool all_in_rows(const TileBlock *block, Layout *layout)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_VIEW || op->kind == TILE_PUT || op->kind == TILE_COPY_ASYNC || op->kind == TILE_ROLES) return false;
        for (int k = 0; k < op->n_results; k++) {
            if (!is_register_tile(op->results[k])) continue;
            if (layout->kind == LAY_NONE) *layout = op->results[k]->type.layout;
            if (layout->kind != LAY_ROWS || !lay_equal(*layout, op->results[k]->type.layout)) return false;
        }
        for (int r = 0; r < op->n_regions; r++)
            if (!all_in_rows(op->regions[r], layout)) return false;
    }
    return true;
}

static void lay_again(TileBlock *block, Layout layout)
{
    for (int i = 0; i < block->params.len; i++)
        if (is_register_tile(block->params.data[i])) block->params.data[i]->type.layout = layout;
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++)
            if (is_register_tile(op->results[k])) op->results[k]->type.layout = layout;
        for (int r = 0; r < op->n_regions; r++) lay_again(op->regions[r], layout);
    }
}

const TileKernel *ptx_kernel_for_any(TileProgram *program, const TileKernel *kernel)
{
    Layout layout = {.kind = LAY_NONE};
    if (kernel->plain) kernel = kernel->plain;
    if (kernel->window.sym) return kernel;
    if (!all_in_rows(kernel->body, &layout) || layout.kind != LAY_ROWS) return kernel;
    if (layout.k < 2 || (layout.k & (layout.k - 1)) != 0) return kernel;
    TileKernel *other = tile_kernel_clone(program, kernel);
    int pairs = layout.k * layout.lanes / 2;
    layout.lanes = pairs < LANES ? pairs : LANES;
    layout.k = 1;
    lay_again(other->body, layout);
    return other;
}
