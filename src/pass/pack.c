/* pack.c: operands are rounded before the next product starts.
 *
 * A fragment in fp32 that will be an operand of 16 bits takes twice the registers that it
 * needs, through every product that stands between where it is made and its Reshape. So
 * the Reshape moves up to it, where nothing else reads it:
 *
 *   %p = exp2 %s                       %p = exp2 %s
 *   %t = gemm %q, %k.T                 %r = reshape %p
 *   %r = reshape %p             ->     %t = gemm %q, %k.T
 *   %o = gemm %r, %v, %o1              %o = gemm %r, %v, %o1
 *
 * Where no product stands between, arithmetic of other tiles may well hide the rounding,
 * and it stays.
 */
#include "pass/passes.h"

static bool has_product(const TileBlock *block, int from, int to)
{
    for (int i = from; i < to; i++)
        if (block->ops.data[i]->kind == TILE_GEMM) return true;
    return false;
}

/* Whether an operand in pairs of numbers is made here of one that takes more room. */
static bool packs(const TileOp *op)
{
    return op->kind == TILE_RESHAPE && op->args[0]->def &&
           dtype_bytes(op->results[0]->type.dtype) < dtype_bytes(op->args[0]->type.dtype);
}

/* Whether all that reads a value is its Reshape, the block's i-th, and sums or maxima of rows,
 * which take next to no room. */
static bool may_rise(TileProgram *program, const TileBlock *block, int i)
{
    Uses uses = rw_uses(program->arena, block, block->ops.data[i]->args[0]);

    for (int k = 0; k < uses.len; k++) {
        const TileOp *use = uses.data[k];
        bool reduces = use->kind == TILE_REDUCE && use->axis == 1 && use->n_args == 1;

        if (use != block->ops.data[i] && (!reduces || tile_index_of(block, use) < 0)) return false;
    }
    return true;
}

/* The block's operation i goes before the one that is `to`. */
static void raise(TileBlock *block, int i, int to)
{
    TileOp *op = block->ops.data[i];

    memmove(&block->ops.data[to + 1], &block->ops.data[to], (size_t)(i - to) * sizeof *block->ops.data);
    block->ops.data[to] = op;
}

static void pack_block(void *user, TileBlock *block)
{
    TileProgram *program = user;

    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        int made = packs(op) ? tile_index_of(block, op->args[0]->def) : -1, to = made + 1;

        if (made < 0 || !has_product(block, to, i) || !may_rise(program, block, i)) continue;
        for (int k = to; k < block->ops.len; k++)
            if (block->ops.data[k]->kind == TILE_REDUCE && block->ops.data[k]->args[0] == op->args[0]) raise(block, k, to++);
        raise(block, tile_index_of(block, op), to);
        op->note = "before the next product starts: it takes half the registers";
    }
}

bool pass_pack(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target, (void)diags;
    rw_each_block(kernel->body, pack_block, program);
    return true;
}
