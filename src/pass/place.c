/* place.c: scores to which something is added that depends on their places.
 *
 *   mask(x + p, -inf)         ->  mask(x, -inf) + p
 *   (i * v) * c               ->  i * (v c)
 *   (x + p) * c               ->  x * c + p * c
 *   (x * c + i * v) + w       ->  fma(x, c, fma(i, v, w))
 *
 * likewise with differences; i an index, p = i * v, x a matrix, c a number, v and w vectors or
 * scalars. An exponential of such a score, masked and less its row's reference, takes two
 * multiply-adds. Indices are finite, and so are what they are multiplied by and scores: what
 * is -inf stays so. In kernels that are specialized, as the columns are (simplify.c). */
#include "pass/place.h"

#include <math.h>

static bool is_matrix(const TileValue *v)
{
    return v->type.rows > 1 && v->type.cols > 1;
}

static const TileOp *product_of(const TileValue *v)
{
    const TileOp *def = v->def;
    return def && def->kind == TILE_ELEMENT && def->op == OP_MULTIPLY && !def->skip_ones && is_matrix(v) ? def : NULL;
}

/* p = i * v: which operand of it is i? -1: it is no such. */
static int index_of(const TileValue *p)
{
    const TileOp *def = product_of(p);
    for (int k = 0; def && k < 2; k++) {
        const TileValue *i = def->args[k];
        if (i->def && i->def->kind == TILE_INDEX && is_matrix(i) && !is_matrix(def->args[1 - k])) return k;
    }
    return -1;
}

/* x + p or x - p? */
static const TileOp *sum_of(const TileValue *v)
{
    const TileOp *def = v->def;
    if (!def || def->kind != TILE_ELEMENT || (def->op != OP_ADD && def->op != OP_SUBTRACT)) return NULL;
    return is_matrix(def->args[0]) && index_of(def->args[1]) >= 0 ? def : NULL;
}

/* v * c for a number c: the operand that is v; -1: it is no such. */
static int scaled_operand(const TileOp *op)
{
    double number;
    if (!op || op->kind != TILE_ELEMENT || op->op != OP_MULTIPLY || op->skip_ones) return -1;
    return rw_number(op->args[1], &number) ? 0 : rw_number(op->args[0], &number) ? 1 : -1;
}

TileValue *place_after_mask(Rewriter *rw, const TileOp *op)
{
    const TileOp *sum = op->kind == TILE_MASK && op->number == -INFINITY && rw->kernel->specialized ? sum_of(op->args[0]) : NULL;
    if (!sum) return NULL;
    TileOp *mask = rw_insert(rw, TILE_MASK, 1, &sum->args[0], 1, &op->results[0]->type);
    mask->cond = op->cond;
    mask->unless = op->unless;
    mask->number = op->number;
    return rw_binary(rw, sum->op, mask->results[0], sum->args[1]);
}

TileValue *place_scaled(Rewriter *rw, const TileOp *op)
{
    double number;
    int of = scaled_operand(op), i = of < 0 || !rw->kernel->specialized ? -1 : index_of(op->args[of]);
    if (i < 0) return NULL;
    const TileOp *product = op->args[of]->def;
    if (rw_number(product->args[1 - i], &number)) return NULL; /* numbers are multiplied at once */
    return rw_binary(rw, OP_MULTIPLY, product->args[i], rw_binary(rw, OP_MULTIPLY, product->args[1 - i], op->args[1 - of]));
}

TileValue *place_distributed(Rewriter *rw, const TileOp *op)
{
    int of = scaled_operand(op);
    const TileOp *sum = of < 0 || !rw->kernel->specialized ? NULL : sum_of(op->args[of]);
    if (!sum) return NULL;
    TileValue *number = op->args[1 - of], *x = rw_binary(rw, OP_MULTIPLY, sum->args[0], number);
    return rw_binary(rw, sum->op, x, rw_binary(rw, OP_MULTIPLY, sum->args[1], number));
}

/* i * v + w or w - i * v, w or its opposite */
static TileValue *place_and(Rewriter *rw, const TileOp *sum, const TileOp *op)
{
    const TileOp *product = sum->args[1]->def;
    int i = index_of(sum->args[1]);
    TileValue *v = product->args[1 - i], *w = op->args[1];
    if (sum->op == OP_SUBTRACT) v = rw_unary(rw, OP_NEGATE, v);
    if (op->op == OP_SUBTRACT) w = rw_unary(rw, OP_NEGATE, w);
    TileValue *args[] = {product->args[i], v, w};
    return rw_element(rw, OP_FMA, 3, args);
}

TileValue *place_added(Rewriter *rw, const TileOp *op)
{
    if (!rw->kernel->specialized || op->kind != TILE_ELEMENT || (op->op != OP_ADD && op->op != OP_SUBTRACT)) return NULL;
    const TileOp *sum = is_matrix(op->args[1]) ? NULL : sum_of(op->args[0]);
    if (!sum) return NULL;
    TileValue *rest = place_and(rw, sum, op), *x = sum->args[0];
    int of = scaled_operand(x->def);
    if (of < 0) return rw_binary(rw, OP_ADD, x, rest);
    TileValue *args[] = {x->def->args[of], x->def->args[1 - of], rest};
    return rw_element(rw, OP_FMA, 3, args);
}
