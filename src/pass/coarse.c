/* coarse.c: a sigmoid in fewer instructions, where it is rounded at once.
 *
 *   %p = sigmoid %s                         %p = sigmoid %s by polynomial
 *   %m = mask %p where ... else 0     ->    %m = mask %p where ... else 0
 *   %P = reshape %m : bf16                  %P = reshape %m : bf16
 *
 * An exponential and a reciprocal keep the special function units twice as long as one
 * of them. In a kernel that is specialized they are what its warps wait for, so that two sigmoids
 * share a reciprocal (ptx/polynomial.c). An operand of 16 bits does not show that they do
 * not fall below 2^-63.
 */
#include "pass/coarse.h"

#include "pass/rewrite.h"

enum { MAX_DEPTH = 12 };

static bool is_rounding(const TileOp *op)
{
    return (op->kind == TILE_RESHAPE || op->kind == TILE_CAST) && dtype_is_narrow(op->results[0]->type.dtype);
}

/* Whether all that is made of v passes through masks alone before it is rounded. */
static bool only_rounded(const TileProgram *program, const TileKernel *kernel, const TileValue *v, int depth)
{
    Uses uses = rw_uses(program->arena, kernel->body, v);
    if (depth > MAX_DEPTH || uses.len == 0) return false;
    for (int i = 0; i < uses.len; i++) {
        const TileOp *op = uses.data[i];
        if (is_rounding(op)) continue;
        if (op->kind != TILE_MASK || !only_rounded(program, kernel, op->results[0], depth + 1)) return false;
    }
    return true;
}

static void open_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) open_block(program, kernel, op->regions[r]);
        if (op->kind == TILE_ELEMENT && op->op == OP_SIGMOID)
            op->polynomial = only_rounded(program, kernel, op->results[0], 0);
    }
}

void coarse_open(TileProgram *program, TileKernel *kernel)
{
    if (kernel->specialized) open_block(program, kernel, kernel->body);
}
