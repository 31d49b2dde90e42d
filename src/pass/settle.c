/* settle.c: revised values of which it is known whether they are revised.
 *
 * That is so where a loop's first turn stands before the loop: it begins with a
 * number of which the condition is known,
 *
 *   %h = fill 1
 *   %r1 = revise %r where any %h >= 1 { ... yield %r2 }     ->   ...; %r2 for %r1
 *
 * and has then taken the maximum of the same scores, so that no weight is large:
 *
 *   %r = min(rowmax(%s) * -c + d, any)
 *   %p = reshape(exp2(fma(%s, c, %r)))                           at most 2^d, or NaN both times
 *   %p1 = revise %p where any %p >= 2 { ... }               ->   %p for %p1
 */
#include "pass/settle.h"

#include <math.h>

#include "pass/passes.h"

static const TileOp *element_def(const TileValue *v, OpId op)
{
    return v->def && v->def->kind == TILE_ELEMENT && v->def->op == op ? v->def : NULL;
}

/* v = x * number? */
static bool is_multiple(const TileValue *v, const TileValue **x, double *number)
{
    const TileOp *def = element_def(v, OP_MULTIPLY);
    if (!def || !rw_number(def->args[1], number)) return false;
    *x = def->args[0];
    return true;
}

/* v = rowmax(s) * -c + d, with d below the limit? */
static bool is_maximum(const TileValue *v, const TileValue *s, double c, double limit)
{
    const TileValue *largest;
    double factor, d = 0;
    const TileOp *sum = element_def(v, OP_ADD);
    if (sum && !rw_number(sum->args[1], &d)) return false;
    if (!is_multiple(sum ? sum->args[0] : v, &largest, &factor) || factor != -c || c <= 0 || d > limit) return false;
    const TileOp *reduce = largest->def;
    return reduce && reduce->kind == TILE_REDUCE && reduce->op == OP_ROW_MAX && reduce->axis == 1 && reduce->args[0] == s;
}

/* At most half the bound, from what is known of its reference? */
static bool is_small(const TileValue *v, double bound)
{
    double c;
    while (v->def && (v->def->kind == TILE_RESHAPE || v->def->kind == TILE_CAST)) v = v->def->args[0];
    const TileOp *power = element_def(v, OP_EXP2), *fma = power ? element_def(power->args[0], OP_FMA) : NULL;
    if (!fma || !rw_number(fma->args[1], &c)) return false;
    const TileOp *least = element_def(fma->args[2], OP_MIN);
    double limit = log2(bound) - 1;
    return least && (is_maximum(least->args[0], fma->args[0], c, limit) || is_maximum(least->args[1], fma->args[0], c, limit));
}

bool settle_revised(TileProgram *program, TileBlock *block, int at)
{
    const TileOp *op = block->ops.data[at];
    const TileValue *condition = op->args[op->n_results];
    double number;
    bool known = rw_number(condition, &number);
    if (known && !(number < op->number)) {
        rw_inline(program, block, block, at);
        return true;
    }
    if (!known && !is_small(condition, op->number)) return false;
    rw_give(block, op, op->args);
    tile_remove(block, at);
    return true;
}

bool pass_settle(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    return !kernel->specialized || pass_simplify(program, kernel, target, diags);
}
