/* simplify.c: algebra on tiles, so that the inner loop does less.
 *
 *   exp(x)                    ->  exp2(x * log2 e)         and in fp32, without products, times what rounding the product lost
 *   sigmoid(x)                ->  1 - e / (1 + e)        e = exp(-x) < 1, else 1 / (1 + e): where it is subtracted from a number
 *   a op b                    ->  their result           a, b numbers
 *   x + 0                     ->  x                      where the signs of zeros do not matter
 *   (x - v) * c               ->  x * c - v * c          v a vector, c a number, x without large numbers; not of weights in 8 bits, or whose sum is shown
 *   (x * a) * b               ->  x * (a b)              a, b numbers
 *   (x * v) * w               ->  x * (v w)              x a matrix, v and w vectors or scalars
 *   mask(x * c, 0 or -inf)    ->  mask(x) * c            c > 0
 *   rowmax(x * c)             ->  rowmax(x) * c          c > 0
 *   x / v [else 0]            ->  x * (1 / v [else 0])   x a matrix, v a vector; x a row, v a number
 *   x * c - v, x * c + v      ->  fma(x, c, -v), fma(x, c, v)    with large numbers fma(x, c, 0) - v
 *   A B + C D                 ->  C D added to A B by the tensor cores, where each is of no other use
 * and in kernels that are specialized, whose warps have no time for more than that,
 *   (x + a) + v               ->  x + (a + v)            likewise with differences; a a column or number
 *   0 * exp2(min(x, n) - n)   ->  0                      n a number: what has no part in a sum yet
 * and what is added by place (place.c). What only revisions need goes into them (cold.c).
 *
 * Together they turn a scaled, masked, shifted exponential into one multiply-
 * add and one exp2 an element, with the scale never applied on its own. The
 * rules reassociate, so results may differ in the last bits.
 */
#include "pass/cold.h"
#include "pass/divisor.h"
#include "pass/passes.h"
#include "pass/place.h"
#include "pass/range.h"
#include "pass/rows.h"
#include "pass/settle.h"
#include "pass/shown.h"

#include <math.h>

static const double LOG2_E = 1.44269504088896340736;

static bool is_matrix(const TileValue *v)
{
    return v->type.rows > 1 && v->type.cols > 1;
}

static const TileOp *element_def(const TileValue *v, OpId op)
{
    const TileOp *def = v->def;
    return def && def->kind == TILE_ELEMENT && def->op == op && !def->has_else ? def : NULL;
}

/* Whether v is one number for many elements of x: of a matrix, or of a tile that is one row. */
static bool is_for_many(const TileValue *x, const TileValue *v)
{
    if (v->type.rows == 1 && v->type.cols == 1) return x->type.cols > 1;
    return is_matrix(x) && !is_matrix(v);
}

/* v = x * number? The number comes second or first. */
static bool scaled_by(const TileValue *v, TileValue **x, double *number)
{
    const TileOp *def = element_def(v, OP_MULTIPLY);
    if (!def) return false;
    for (int i = 0; i < 2; i++) {
        if (!rw_number(def->args[1 - i], number)) continue;
        *x = def->args[i];
        return x[0]->type.rows == v->type.rows && x[0]->type.cols == v->type.cols;
    }
    return false;
}

static TileValue *times(Rewriter *rw, TileValue *x, double number)
{
    return rw_binary(rw, OP_MULTIPLY, x, rw_fill(rw, number));
}

/* Each rule returns the replacement of op's result, or NULL. New operations go
 * before op. */
typedef TileValue *(*Rule)(Rewriter *rw, const TileOp *op);

/* sum + x * number, rounded once. */
static TileValue *plus_times(Rewriter *rw, TileValue *sum, TileValue *x, double number)
{
    TileValue *factor = rw_fill(rw, number), *args[] = {x, factor, sum};
    return rw_element(rw, OP_FMA, 3, args);
}

static TileValue *bounded_by(Rewriter *rw, OpId op, TileValue *x, double number)
{
    TileValue *bound = rw_fill(rw, number);
    return rw_binary(rw, op, x, bound);
}

/* Whether lanes have registers for functions of so many values in some steps more: fewer in loops, and in the largest blocks,
 * of which ptxas is told that two stand side by side. */
static bool has_room(const TileKernel *kernel, const TileType *t)
{
    enum { LANES = 32, FEW_VALUES = 16, MOST_VALUES = 32, LARGE_BLOCK = 14 };
    int64_t values = (int64_t)t->rows * t->cols / (LANES * kernel->warps);
    return values <= FEW_VALUES || (values <= MOST_VALUES && kernel->warps < LARGE_BLOCK && !tile_has(kernel->body, TILE_FOR));
}

/* exp(x), where an output in fp32 is made of it, in kernels without products: x log2 e is rounded by as much as its own
 * last place is worth, and so is what 2 to the power of it is worth. What was lost is known exactly, but for the
 * last bits of log2 e, and is so little that 2 to the power of that is a linear function. */
static TileValue *exp_in_full(Rewriter *rw, const TileOp *op)
{
    static const double LN2 = 0.693147180559945309417;
    if (op->kind != TILE_ELEMENT || op->op != OP_EXP || !rows_without_fragments(rw->kernel)) return NULL;
    if (!has_room(rw->kernel, &op->results[0]->type) || !shown_in_full(rw->program, rw->kernel, op->results, 1)) return NULL;
    float high = (float)LOG2_E;
    TileValue *x = op->args[0], *power = times(rw, x, high);
    TileValue *whole = rw_unary(rw, OP_EXP2, power);
    TileValue *lost = plus_times(rw, rw_unary(rw, OP_NEGATE, power), x, high);
    lost = plus_times(rw, lost, x, LOG2_E - high);
    lost = bounded_by(rw, OP_MAX, lost, -1); /* an infinite x: no number */
    lost = bounded_by(rw, OP_MIN, lost, 1);
    return rw_binary(rw, OP_MULTIPLY, whole, plus_times(rw, rw_fill(rw, 1), lost, LN2));
}

static TileValue *exp_to_exp2(Rewriter *rw, const TileOp *op)
{
    if (op->kind != TILE_ELEMENT || op->op != OP_EXP) return NULL;
    return rw_unary(rw, OP_EXP2, times(rw, op->args[0], LOG2_E));
}

/* Whether v, or what is chosen of it, is subtracted, so that of what is close to 1 the last digits are left. */
static bool is_subtracted(Rewriter *rw, const TileValue *v, int depth)
{
    enum { MOST_STEPS = 8 };
    Uses uses = rw_uses(rw->program->arena, rw->kernel->body, v);
    for (int i = 0; i < uses.len && depth < MOST_STEPS; i++) {
        const TileOp *use = uses.data[i];
        bool element = use->kind == TILE_ELEMENT, chosen = use->kind == TILE_MASK || (element && (use->op == OP_WHERE || use->op == OP_NEGATE));
        if (element && use->op == OP_SUBTRACT && use->args[1] == v) return true;
        if (element && use->op == OP_ADD && element_def(v, OP_NEGATE)) return true;
        if (chosen && is_subtracted(rw, use->results[0], depth + 1)) return true;
    }
    return false;
}

/* Close to 1 the instructions' 1 / (1 + e) is wrong by the last digit, and 1 + e rounded by as much as two. */
static TileValue *sigmoid_beside_one(Rewriter *rw, const TileOp *op)
{
    if (op->kind != TILE_ELEMENT || op->op != OP_SIGMOID || op->polynomial || !is_subtracted(rw, op->results[0], 0)) return NULL;
    TileValue *one = rw_fill(rw, 1), *e = rw_unary(rw, OP_EXP2, times(rw, op->args[0], -LOG2_E));
    TileValue *whole = rw_binary(rw, OP_ADD, e, one), *share = rw_unary(rw, OP_RECIPROCAL, whole), *less = rw_unary(rw, OP_NEGATE, e);
    TileValue *args[] = {less, share, one}, *close = rw_element(rw, OP_FMA, 3, args), *small = rw_binary(rw, OP_LESS, e, one);
    TileValue *where[] = {small, close, share};
    return rw_element(rw, OP_WHERE, 3, where);
}

/* Whether nobody can tell the two zeros of v apart: it is compared, summed or subtracted from. */
static bool zeros_are_alike(Rewriter *rw, const TileValue *v)
{
    Uses uses = rw_uses(rw->program->arena, rw->kernel->body, v);
    for (int i = 0; i < uses.len; i++) {
        const TileOp *use = uses.data[i];
        bool alike = use->kind == TILE_REDUCE || (use->kind == TILE_MASK && zeros_are_alike(rw, use->results[0])) ||
                     (use->kind == TILE_ELEMENT && (use->op == OP_MAX || use->op == OP_MIN || use->op == OP_SUBTRACT));
        if (!alike) return false;
    }
    return uses.len > 0;
}

/* x + 0, as code has it that copies a tile before it changes the copy: -0 + 0 is 0. */
static TileValue *plus_nothing(Rewriter *rw, const TileOp *op)
{
    double number;
    const TileType *made = &op->results[0]->type, *of = op->n_args == 2 ? &op->args[0]->type : NULL;
    if (op->kind != TILE_ELEMENT || op->op != OP_ADD || !rw_number(op->args[1], &number) || number != 0) return NULL;
    if (made->rows != of->rows || made->cols != of->cols || !dtype_is_float(of->dtype) || !zeros_are_alike(rw, op->results[0])) return NULL;
    return made->dtype == of->dtype ? op->args[0] : rw_insert(rw, TILE_CAST, 1, op->args, 1, made)->results[0];
}

static TileValue *fold_numbers(Rewriter *rw, const TileOp *op)
{
    double a[3] = {0};
    if (op->kind != TILE_ELEMENT || op->results[0]->type.rows != 1 || op->results[0]->type.cols != 1) return NULL;
    for (int i = 0; i < op->n_args; i++)
        if (!rw_number(op->args[i], &a[i])) return NULL;
    bool other = op->op == OP_DIVIDE && op->has_else && a[1] == 0;
    return rw_fill(rw, other ? op->number : op_eval(op->op, a[0], a[1], a[2]));
}

/* Of a number above 0: c ^ x = 2 ^ (x log2 c). */
static TileValue *power_of_number(Rewriter *rw, const TileOp *op)
{
    double base;
    if (op->kind != TILE_ELEMENT || op->op != OP_POWER || !rw_number(op->args[0], &base)) return NULL;
    const TileType *made = &op->results[0]->type, *of = &op->args[1]->type;
    if (!(base > 0) || !isfinite(base) || made->rows != of->rows || made->cols != of->cols) return NULL;
    return rw_unary(rw, OP_EXP2, base == 2 ? op->args[1] : times(rw, op->args[1], log2(base)));
}

/* The power of x by repeated squaring, exponent > 0. */
static TileValue *product_of(Rewriter *rw, TileValue *x, int exponent)
{
    TileValue *product = exponent % 2 ? x : NULL;
    for (exponent /= 2; exponent > 0; exponent /= 2) {
        x = rw_unary(rw, OP_SQUARE, x);
        if (exponent % 2) product = product ? rw_binary(rw, OP_MULTIPLY, product, x) : x;
    }
    return product;
}

/* Whole powers of few factors are products: fewer instructions than a logarithm and an exponential take, and no digits are
 * lost where they are large. Of the reciprocal, since what is divided by would overflow before the quotient is nothing. */
static TileValue *power_of_few(Rewriter *rw, const TileOp *op)
{
    enum { MOST_FACTORS = 8 };
    double exponent;
    if (op->kind != TILE_ELEMENT || op->op != OP_POWER || !rw_number(op->args[1], &exponent)) return NULL;
    const TileType *made = &op->results[0]->type, *of = &op->args[0]->type;
    if (exponent != rint(exponent) || fabs(exponent) < 1 || fabs(exponent) > MOST_FACTORS || made->rows != of->rows || made->cols != of->cols)
        return NULL;
    TileValue *x = exponent < 0 ? rw_unary(rw, OP_RECIPROCAL, op->args[0]) : op->args[0];
    return product_of(rw, x, (int)fabs(exponent));
}

static TileValue *merge_scales(Rewriter *rw, const TileOp *op)
{
    TileValue *inner, *x;
    double outer_number, inner_number;
    if (op->kind != TILE_ELEMENT || op->op != OP_MULTIPLY) return NULL;
    if (!scaled_by(op->results[0], &inner, &outer_number)) return NULL;
    if (!scaled_by(inner, &x, &inner_number)) return NULL;
    return times(rw, x, outer_number * inner_number);
}

/* Which operand of a product that is a matrix is none: its factor; -1: neither. */
static int factor_of(const TileOp *op)
{
    if (op->kind != TILE_ELEMENT || op->op != OP_MULTIPLY || op->skip_ones || !is_matrix(op->results[0])) return -1;
    if (is_matrix(op->args[0]) == is_matrix(op->args[1])) return -1;
    return is_matrix(op->args[0]) ? 1 : 0;
}

/* Scales of a tensor, of its rows, of its columns: those that lie alike are multiplied
 * with each other. A number stays outermost, from where it sinks further. */
static TileValue *merge_factors(Rewriter *rw, const TileOp *op)
{
    double number;
    int at = factor_of(op);
    const TileOp *inner = at < 0 ? NULL : op->args[1 - at]->def;
    int inner_at = inner ? factor_of(inner) : -1;
    if (inner_at < 0 || rw_number(op->args[at], &number)) return NULL;
    TileValue *v = inner->args[inner_at], *w = op->args[at];
    if ((v->type.rows > 1 && w->type.cols > 1) || (v->type.cols > 1 && w->type.rows > 1)) return NULL;
    return rw_binary(rw, OP_MULTIPLY, inner->args[1 - inner_at], rw_binary(rw, OP_MULTIPLY, v, w));
}

/* The only operation that uses v, if it is of this kind. */
static const TileOp *only_element(Rewriter *rw, const TileValue *v, OpId op)
{
    Uses uses = rw_uses(rw->program->arena, rw->kernel->body, v);
    return uses.len == 1 && uses.data[0]->kind == TILE_ELEMENT && uses.data[0]->op == op ? uses.data[0] : NULL;
}

/* Whether exponentials of it are rounded to 8 bits, and summed as they were, or an output is their sum: then the largest is to be 1, as a
 * difference gives it, and not what is left of two products that are rounded differently. */
static bool is_exact_exponent(Rewriter *rw, const TileValue *exponent)
{
    const TileOp *power = only_element(rw, exponent, OP_EXP2);
    bool rounded = false, summed = false, shown = false;
    Uses uses = rw_uses(rw->program->arena, rw->kernel->body, power ? power->results[0] : exponent);
    for (int i = 0; power && i < uses.len; i++) {
        const TileOp *use = uses.data[i];
        bool sums = use->kind == TILE_REDUCE && use->op == OP_ROW_SUM;
        rounded |= use->kind == TILE_RESHAPE && dtype_bytes(use->results[0]->type.dtype) == 1;
        summed |= sums;
        shown |= sums && shown_as_sum(rw->program, rw->kernel, use->results[0]);
    }
    return shown || (rounded && summed);
}

static TileValue *distribute_scale(Rewriter *rw, const TileOp *op)
{
    TileValue *inner;
    double number;
    if (op->kind != TILE_ELEMENT || op->op != OP_MULTIPLY || !is_matrix(op->results[0])) return NULL;
    if (!scaled_by(op->results[0], &inner, &number)) return NULL;
    const TileOp *difference = element_def(inner, OP_SUBTRACT);
    if (!difference || is_matrix(difference->args[1]) || !is_matrix(difference->args[0])) return NULL;
    double shift;
    bool shifted = rw_number(difference->args[1], &shift);
    if (!shifted && (range_has_large(difference->args[0]) || is_exact_exponent(rw, op->results[0]))) return NULL;
    TileValue *x = times(rw, difference->args[0], number);
    TileValue *v = times(rw, difference->args[1], number);
    return rw_binary(rw, OP_SUBTRACT, x, v);
}

static TileValue *scale_after_mask(Rewriter *rw, const TileOp *op)
{
    TileValue *x;
    double number;
    if (op->kind != TILE_MASK || (op->number != 0 && op->number != -1.0 / 0.0)) return NULL;
    if (!scaled_by(op->args[0], &x, &number) || !(number > 0)) return NULL;
    if (dtype_round(x->type.dtype, op->number) != op->number) return NULL; /* bytes and integers hold no infinity */
    return times(rw, rw_mask(rw, x, op->cond, op->unless, op->number), number);
}

static TileValue *scale_after_max(Rewriter *rw, const TileOp *op)
{
    TileValue *x;
    double number;
    if (op->kind != TILE_REDUCE || (op->op != OP_ROW_MAX && op->op != OP_ROW_MIN)) return NULL;
    if (!scaled_by(op->args[0], &x, &number) || !(number > 0)) return NULL;
    return times(rw, rw_reduce_rows(rw, op->op, x), number);
}

static TileValue *divide_by_vector(Rewriter *rw, const TileOp *op)
{
    if (op->kind != TILE_ELEMENT || op->op != OP_DIVIDE) return NULL;
    if (!is_for_many(op->args[0], op->args[1])) return NULL;
    if (op->has_else && op->number != 0) return NULL;
    TileValue *inverse = rw_binary(rw, OP_DIVIDE, rw_fill(rw, 1), op->args[1]);
    inverse->def->has_else = op->has_else;
    return rw_binary(rw, OP_MULTIPLY, op->args[0], inverse);
}

/* A product in the block at hand that only this operation reads. */
static const TileOp *own_product(Rewriter *rw, const TileOp *op, const TileValue *v)
{
    int at;
    const TileOp *def = v->def;
    if (!def || def->kind != TILE_GEMM || rw_block_of(rw->block, def, &at) != rw->block) return NULL;
    Uses uses = rw_uses(rw->program->arena, rw->kernel->body, v);
    return uses.len == 1 && uses.data[0] == op && op->args[0] != op->args[1] ? def : NULL;
}

static TileValue *sum_of_products(Rewriter *rw, const TileOp *op)
{
    if (op->kind != TILE_ELEMENT || op->op != OP_ADD) return NULL;
    for (int i = 1; i >= 0; i--) {
        const TileOp *product = own_product(rw, op, op->args[i]), *sum = own_product(rw, op, op->args[1 - i]);
        if (!product || !sum || product->n_args != 2) continue;
        TileValue *args[] = {product->args[0], product->args[1], sum->results[0]};
        TileOp *made = rw_insert(rw, TILE_GEMM, 3, args, 1, &sum->results[0]->type);
        made->trans_a = product->trans_a;
        made->trans_b = product->trans_b;
        return made->results[0];
    }
    return NULL;
}

static bool is_matrix_and_column(const TileOp *op)
{
    return is_matrix(op->args[0]) && op->args[1]->type.cols == 1;
}

/* (x s a) t v = x s (a s t v), s and t signs. */
static TileValue *add_the_columns(Rewriter *rw, const TileOp *op)
{
    if (!rw->kernel->specialized || op->kind != TILE_ELEMENT || (op->op != OP_ADD && op->op != OP_SUBTRACT)) return NULL;
    if (!is_matrix_and_column(op)) return NULL;
    const TileOp *inner = element_def(op->args[0], OP_ADD);
    if (!inner) inner = element_def(op->args[0], OP_SUBTRACT);
    if (!inner || !is_matrix_and_column(inner)) return NULL;
    TileValue *columns = rw_binary(rw, inner->op == op->op ? OP_ADD : OP_SUBTRACT, inner->args[1], op->args[1]);
    return rw_binary(rw, inner->op, inner->args[0], columns);
}

/* Is it between 0 and 1, and no NaN? */
static bool is_share(const TileValue *v)
{
    double number;
    const TileOp *power = element_def(v, OP_EXP2), *by = power ? element_def(power->args[0], OP_SUBTRACT) : NULL;
    const TileOp *least = by ? element_def(by->args[0], OP_MIN) : NULL;
    return least && least->args[1] == by->args[1] && rw_number(by->args[1], &number) && isfinite(number);
}

static TileValue *share_of_nothing(Rewriter *rw, const TileOp *op)
{
    double number;
    if (!rw->kernel->specialized || op->kind != TILE_ELEMENT || op->op != OP_MULTIPLY) return NULL;
    if (!rw_number(op->args[0], &number) || number != 0 || !is_share(op->args[1])) return NULL;
    return rw_fill_tile(rw, 0, op->results[0]->type.rows, op->results[0]->type.cols);
}

/* x * c - v where v is the largest of some x * c, rounded: so must these be, before they are subtracted. A
 * multiply-add with 0 is what `ptxas` joins with no subtraction. */
static TileValue *after_rounding(Rewriter *rw, TileValue *x, double number, TileValue *v)
{
    TileValue *by = rw_fill(rw, number), *zero = rw_fill(rw, 0), *args[] = {x, by, zero};
    return rw_binary(rw, OP_SUBTRACT, rw_element(rw, OP_FMA, 3, args), v);
}

static TileValue *multiply_add(Rewriter *rw, const TileOp *op)
{
    TileValue *x;
    double number;
    if (op->kind != TILE_ELEMENT || (op->op != OP_SUBTRACT && op->op != OP_ADD)) return NULL;
    if (!is_matrix(op->args[0]) || is_matrix(op->args[1])) return NULL;
    if (!scaled_by(op->args[0], &x, &number)) return NULL;
    TileValue *addend = op->args[1];
    const TileOp *scaled = op->op == OP_SUBTRACT ? only_element(rw, op->results[0], OP_MULTIPLY) : NULL;
    bool first = op->op == OP_SUBTRACT && (range_has_large(op->args[0]) || (scaled && is_exact_exponent(rw, scaled->results[0])));
    if (first) return after_rounding(rw, x, number, addend);
    if (op->op == OP_SUBTRACT) addend = rw_unary(rw, OP_NEGATE, addend);
    TileValue *args[] = {x, rw_fill(rw, number), addend};
    return rw_element(rw, OP_FMA, 3, args);
}

/* In phases: a rule of a later phase must not hide a chance of an earlier one. */
static const struct {
    const char *name;
    Rule rule;
    int phase;
} RULES[] = {
    {"exp_in_full", exp_in_full, 0},
    {"exp_to_exp2", exp_to_exp2, 0},
    {"sigmoid_beside_one", sigmoid_beside_one, 0},
    {"plus_nothing", plus_nothing, 0},
    {"fold_numbers", fold_numbers, 0},
    {"power_of_number", power_of_number, 0},
    {"power_of_few", power_of_few, 0},
    {"merge_scales", merge_scales, 0},
    {"merge_factors", merge_factors, 0},
    {"distribute_scale", distribute_scale, 0},
    {"scale_after_mask", scale_after_mask, 0},
    {"scale_after_max", scale_after_max, 0},
    {"sum_as_rounded", sum_as_rounded, 0},
    {"divide_by_vector", divide_by_vector, 0},
    {"sum_of_products", sum_of_products, 0},
    {"add_the_columns", add_the_columns, 0},
    {"share_of_nothing", share_of_nothing, 0},
    {"place_after_mask", place_after_mask, 0},
    {"place_scaled", place_scaled, 0},
    {"place_distributed", place_distributed, 0},
    {"place_added", place_added, 1},
    {"multiply_add", multiply_add, 1},
};

typedef struct Simplifier {
    TileProgram *program;
    TileKernel *kernel;
    int phase;
    bool changed;
} Simplifier;

static bool apply_rules(Simplifier *s, TileBlock *block, int *at)
{
    TileOp *op = block->ops.data[*at];
    if (op->n_results != 1 || op->results[0]->type.kind != TT_TILE) return false;
    for (size_t r = 0; r < TW_COUNT(RULES); r++) {
        if (RULES[r].phase != s->phase) continue;
        Rewriter rw = {s->program, s->kernel, block, *at, op->loc};
        TileValue *made = RULES[r].rule(&rw, op);
        if (!made) continue;
        made->name = op->results[0]->name;
        tile_replace_uses(block, op->results[0], made);
        tile_remove(block, rw.at);
        return true;
    }
    return false;
}

static void simplify_block(void *user, TileBlock *block)
{
    Simplifier *s = user;
    for (int i = 0; i < block->ops.len; i++) {
        bool settled = block->ops.data[i]->kind == TILE_REVISE && settle_revised(s->program, block, i);
        if (!settled && !apply_rules(s, block, &i)) continue;
        s->changed = true;
        i--; /* look at what was inserted */
    }
}

bool pass_simplify(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    (void)diags;
    enum { ROUNDS = 50 }; /* each rule shrinks or sinks something; a bound all the same */
    for (int phase = 0; phase < 2; phase++) {
        Simplifier s = {program, kernel, phase, true};
        for (int round = 0; s.changed && round < ROUNDS; round++) {
            s.changed = false;
            rw_each_block(kernel->body, simplify_block, &s);
            rw_remove_dead(kernel->body);
        }
    }
    if (kernel->specialized) cold_sink(program, kernel, kernel->body);
    return true;
}
