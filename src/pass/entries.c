/* entries.c: turns that take an entry each, side by side.
 *
 *   for s = 0:32 {                          for s = 0:32 unroll 32 {
 *     %x = load Parts[s, m, 0 : cols]  ->     ...
 *     %sum = add %sum, %x
 *
 * A turn waits for the entry that it takes, and for nothing else. Written out beside each other, what many turns
 * take is on its way at once: of a loop that combines the parts of others, in kernels without products.
 */
#include "pass/entries.h"

enum { LANES = 32, MOST_TURNS = 64, MOST_TAKEN = 512 }; /* turns that are written out, values of a lane that they load */

/* Values of a lane that a turn loads where turns differ in which entry of its tensors each takes, and nothing is
 * written; 0: they do not. */
static int taken_in_turn(const TileKernel *kernel, const TileOp *loop)
{
    const TileBlock *body = loop->regions[0];
    int taken = 0;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->n_regions > 0 || (tile_op_has_effect(op) && op->kind != TILE_YIELD)) return 0;
        if (op->kind != TILE_LOAD) continue;
        taken += 1 + op->results[0]->type.rows * op->results[0]->type.cols / (LANES * kernel->warps);
        for (int d = 0; d < op->tensor->rank; d++)
            if ((d == op->row_dim || d == op->col_dim) && aff_uses(op->coords[d], loop->var)) return 0;
    }
    return taken;
}

void spread_entries(const TileKernel *kernel, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        int64_t lo, hi;
        for (int r = 0; r < op->n_regions; r++) spread_entries(kernel, op->regions[r]);
        if (op->kind != TILE_FOR || op->unroll > 1 || !aff_is_const(op->lo, &lo) || !aff_is_const(op->hi, &hi)) continue;
        int taken = taken_in_turn(kernel, op);
        for (int n = 2; taken && n <= MOST_TURNS && n <= hi - lo && n * taken <= MOST_TAKEN; n++)
            if ((hi - lo) % n == 0) op->unroll = n;
    }
}
