/* expand.c: the online softmax step in elementary operations.
 *
 *   %p, %m1, %l1, %alpha = softmax %s, %m, %l
 * becomes
 *   %m1    = max(%m, rowmax(%s))
 *   %ref   = max(%m1, lowest)       the reference: finite even when all is masked
 *   %alpha = exp(max(%m, lowest) - %ref)
 *   %p     = exp(%s - %ref)
 *   %l1    = %l * %alpha + rowsum(%p)
 *
 * `lowest` is finite: -inf - lowest is -inf, so a masked element gives exactly 0
 * and never the NaN of -inf - -inf, and a row that has seen nothing but -inf
 * keeps alpha = 1.
 */
#include "pass/passes.h"

/* -2^126: below every score that has a meaning, and far enough from the end of
 * fp32's range that scaling by log2 e (simplify.c) does not overflow. */
static const double LOWEST = -8.50705917302346158658e37;

static void expand_softmax(TileProgram *program, TileKernel *kernel, TileBlock *block, int at)
{
    TileOp *op = block->ops.data[at];
    Rewriter rw = {program, kernel, block, at, op->loc};
    TileValue *s = op->args[0], *m = op->args[1], *l = op->args[2];

    TileValue *lowest = rw_fill(&rw, LOWEST);
    TileValue *m1 = rw_binary(&rw, OP_MAX, m, rw_reduce_rows(&rw, OP_ROW_MAX, s));
    TileValue *ref = rw_binary(&rw, OP_MAX, m1, lowest);
    TileValue *before = rw_binary(&rw, OP_MAX, m, lowest);
    TileValue *alpha = rw_unary(&rw, OP_EXP, rw_binary(&rw, OP_SUBTRACT, before, ref));
    TileValue *p = rw_unary(&rw, OP_EXP, rw_binary(&rw, OP_SUBTRACT, s, ref));
    TileValue *l1 = rw_binary(&rw, OP_ADD, rw_binary(&rw, OP_MULTIPLY, l, alpha),
                              rw_reduce_rows(&rw, OP_ROW_SUM, p));

    TileValue *made[] = {p, m1, l1, alpha};
    for (int i = 0; i < 4; i++) {
        made[i]->name = op->results[i]->name;
        tile_replace_uses(block, op->results[i], made[i]);
    }
    tile_remove(block, rw.at);
}

static void expand_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) expand_block(program, kernel, op->regions[r]);
        if (op->kind == TILE_SOFTMAX) expand_softmax(program, kernel, block, i);
    }
}

bool pass_expand(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    (void)diags;
    expand_block(program, kernel, kernel->body);
    rw_remove_dead(kernel->body);
    return true;
}
