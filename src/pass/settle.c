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
 *   %l = rowsum(%p)                                              in c columns for C: at most 2^d C / c
 *   %p1 = revise %p where any %l >= 2 { ... }               ->   %p for %p1
 *
 * likewise where the scores were s = x a + i v, and what is exponentiated is x (a c) + (i (v c) + r)
 * (place.c).
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

/* The scores whose maximum it is in v = rowmax(s) * -c + d, with d below the limit; NULL: it is no such. */
static const TileValue *scores_of_maximum(const TileValue *v, double c, double limit)
{
    const TileValue *largest;
    double factor, d = 0;
    const TileOp *sum = element_def(v, OP_ADD);
    if (sum && !rw_number(sum->args[1], &d)) return NULL;
    if (!is_multiple(sum ? sum->args[0] : v, &largest, &factor) || factor != -c || c <= 0 || d > limit) return NULL;
    const TileOp *reduce = largest->def;
    return reduce && reduce->kind == TILE_REDUCE && reduce->op == OP_ROW_MAX && reduce->axis == 1 ? reduce->args[0] : NULL;
}

/* What is exponentiated: x a + r, or x a + (i v + r). */
typedef struct Exponent {
    const TileValue *x, *i, *v; /* i, v: NULL: there are none */
    double a;
    const TileValue *reference;
} Exponent;

static bool find_exponent(const TileValue *of, Exponent *e)
{
    const TileOp *fma = element_def(of, OP_FMA), *rest = fma ? element_def(fma->args[2], OP_FMA) : NULL;
    if (!fma || !rw_number(fma->args[1], &e->a)) return false;
    *e = (Exponent){.x = fma->args[0], .a = e->a, .reference = fma->args[2]};
    if (rest) *e = (Exponent){fma->args[0], rest->args[0], rest->args[1], e->a, rest->args[2]};
    return true;
}

static bool is_about(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static bool is_same_index(const TileValue *a, const TileValue *b)
{
    if (a == b) return true;
    return a->def && b->def && a->def->kind == TILE_INDEX && b->def->kind == TILE_INDEX && a->def->index == b->def->index && tile_type_equal(a->type, b->type);
}

/* Is p = i u with v = u c, or the opposite of that? */
static bool is_addend(const TileValue *p, const Exponent *e, bool opposite, double c)
{
    const TileOp *product = element_def(p, OP_MULTIPLY), *negated = element_def(e->v, OP_NEGATE);
    const TileValue *u, *scaled = opposite && negated ? negated->args[0] : e->v;
    double k;
    if (!product || opposite != (negated != NULL) || !is_multiple(scaled, &u, &k) || !is_about(k, c)) return false;
    int i = product->args[0] == u;
    return product->args[1 - i] == u && is_same_index(product->args[i], e->i);
}

/* Is it s c that is exponentiated, but for the reference? */
static bool is_of_scores(const Exponent *e, const TileValue *s, double c)
{
    const TileValue *x;
    double a;
    if (!e->i) return e->x == s && e->a == c;
    const TileOp *sum = element_def(s, OP_SUBTRACT);
    bool opposite = sum != NULL;
    if (!sum) sum = element_def(s, OP_ADD);
    if (!sum || !is_addend(sum->args[1], e, opposite, c)) return false;
    if (is_multiple(sum->args[0], &x, &a)) return x == e->x && is_about(a * c, e->a);
    return sum->args[0] == e->x && e->a == c;
}

static bool is_maximum(const TileValue *v, const Exponent *e, double limit)
{
    const TileOp *sum = element_def(v, OP_ADD), *product = element_def(sum ? sum->args[0] : v, OP_MULTIPLY);
    double factor;
    if (!product || !rw_number(product->args[1], &factor)) return false;
    const TileValue *s = scores_of_maximum(v, -factor, limit);
    return s && is_of_scores(e, s, -factor);
}

static bool is_row_sum(const TileOp *op)
{
    return op->kind == TILE_REDUCE && op->op == OP_ROW_SUM && op->axis == 1 && op->n_args == 1;
}

/* What v is made of element by element, or in sums: the bound is then of each addend. */
static const TileValue *addends_of(const TileValue *v, double *bound)
{
    for (; v->def && (v->def->kind == TILE_RESHAPE || v->def->kind == TILE_CAST || is_row_sum(v->def)); v = v->def->args[0])
        if (is_row_sum(v->def)) *bound *= (double)v->type.cols / v->def->args[0]->type.cols;
    return v;
}

/* At most half the bound, from what is known of its reference? */
static bool is_small(const TileValue *v, double bound)
{
    Exponent e;
    v = addends_of(v, &bound);
    const TileOp *power = element_def(v, OP_EXP2);
    if (!power || !find_exponent(power->args[0], &e)) return false;
    const TileOp *least = element_def(e.reference, OP_MIN);
    double limit = log2(bound) - 1;
    return least && (is_maximum(least->args[0], &e, limit) || is_maximum(least->args[1], &e, limit));
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
    if (op->unless || (!known && !is_small(condition, op->number))) return false;
    rw_give(block, op, op->args);
    tile_remove(block, at);
    return true;
}

bool pass_settle(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    return !kernel->specialized || pass_simplify(program, kernel, target, diags);
}
