/* range.c: between which numbers the elements of a tile lie, as far as the operations
 * that make it show: a hyperbolic tangent lies between -1 and 1, whatever it is of.
 *
 * Intervals are those of real arithmetic; what rounding adds is for the caller to allow
 * for. Of a NaN nothing is said.
 */
#include "pass/range.h"

#include "pass/rewrite.h"

#include <math.h>

enum { MAX_DEPTH = 10 };

static const ValueRange ANY = {-INFINITY, INFINITY, false};

static ValueRange interval(double lo, double hi)
{
    return (ValueRange){lo, hi, false};
}

static ValueRange join(ValueRange a, ValueRange b)
{
    return (ValueRange){fmin(a.lo, b.lo), fmax(a.hi, b.hi), a.masked || b.masked};
}

/* The product of bounds; one that is 0 makes 0 also of infinity. */
static double bound_product(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

static ValueRange product(ValueRange a, ValueRange b)
{
    double p[] = {bound_product(a.lo, b.lo), bound_product(a.lo, b.hi), bound_product(a.hi, b.lo),
                  bound_product(a.hi, b.hi)};
    if (a.masked || b.masked) return ANY;
    return interval(fmin(fmin(p[0], p[1]), fmin(p[2], p[3])), fmax(fmax(p[0], p[1]), fmax(p[2], p[3])));
}

static ValueRange negated(ValueRange a)
{
    return a.masked ? ANY : interval(-a.hi, -a.lo);
}

/* Of what is at least 0 where it is |a| or more. */
static ValueRange absolute(ValueRange a)
{
    if (a.masked) return ANY;
    return interval(fmax(0, fmax(a.lo, -a.hi)), fmax(-a.lo, a.hi));
}

static ValueRange sum(ValueRange a, ValueRange b)
{
    return (ValueRange){a.lo + b.lo, a.hi + b.hi, a.masked || b.masked};
}

/* A function that does not fall. */
static ValueRange rising(OpId op, ValueRange a)
{
    double lowest = op_eval(op, -INFINITY, 0, 0);
    ValueRange r = interval(op_eval(op, a.lo, 0, 0), op_eval(op, a.hi, 0, 0));
    if (a.masked) r.lo = fmin(r.lo, lowest);
    return r;
}

/* What an operation makes of the ranges of its operands. */
typedef ValueRange (*Rule)(const TileOp *op, const ValueRange *a);

static ValueRange of_sum(const TileOp *op, const ValueRange *a)
{
    return sum(a[0], op->op == OP_SUBTRACT ? negated(a[1]) : a[1]);
}

static ValueRange of_product(const TileOp *op, const ValueRange *a)
{
    return op->op == OP_FMA ? sum(product(a[0], a[1]), a[2]) : product(a[0], a[1]);
}

static ValueRange of_quotient(const TileOp *op, const ValueRange *a)
{
    double by;
    if (op->has_else || !rw_number(op->args[1], &by) || by == 0) return ANY;
    return product(a[0], interval(1 / by, 1 / by));
}

static ValueRange of_reciprocal(const TileOp *op, const ValueRange *a)
{
    (void)op;
    return a[0].lo > 0 && !a[0].masked ? interval(1 / a[0].hi, 1 / a[0].lo) : ANY;
}

static ValueRange of_sign(const TileOp *op, const ValueRange *a)
{
    if (op->op == OP_NEGATE) return negated(a[0]);
    ValueRange size = absolute(a[0]);
    return op->op == OP_ABS ? size : product(size, size);
}

static ValueRange of_choice(const TileOp *op, const ValueRange *a)
{
    switch ((int)op->op) {
    case OP_MAX: return (ValueRange){fmax(a[0].lo, a[1].lo), fmax(a[0].hi, a[1].hi), a[0].masked && a[1].masked};
    case OP_MIN: return (ValueRange){fmin(a[0].lo, a[1].lo), fmin(a[0].hi, a[1].hi), a[0].masked || a[1].masked};
    }
    return join(a[1], a[2]);
}

static ValueRange of_rising(const TileOp *op, const ValueRange *a)
{
    return rising(op->op, a[0]);
}

static const struct {
    OpId op;
    Rule rule;
} RULES[] = {
    {OP_ADD, of_sum},         {OP_SUBTRACT, of_sum},  {OP_MULTIPLY, of_product}, {OP_FMA, of_product},
    {OP_DIVIDE, of_quotient}, {OP_NEGATE, of_sign},   {OP_ABS, of_sign},         {OP_SQUARE, of_sign},
    {OP_MAX, of_choice},      {OP_MIN, of_choice},    {OP_WHERE, of_choice},     {OP_TANH, of_rising},
    {OP_ERF, of_rising},      {OP_SIGN, of_rising},
    {OP_EXPM1, of_rising},
    {OP_SIGMOID, of_rising},  {OP_RELU, of_rising},   {OP_EXP, of_rising},       {OP_EXP2, of_rising},
    {OP_RECIPROCAL, of_reciprocal},
};

static ValueRange range_within(const TileValue *v, int depth);

static ValueRange element_range(const TileOp *op, int depth)
{
    ValueRange args[3];
    for (size_t i = 0; i < TW_COUNT(RULES); i++) {
        if (RULES[i].op != op->op) continue;
        for (int k = 0; k < op->n_args; k++) args[k] = range_within(op->args[k], depth);
        return RULES[i].rule(op, args);
    }
    return ANY;
}

static ValueRange mask_range(const TileOp *op, int depth)
{
    ValueRange kept = range_within(op->args[0], depth);
    if (isfinite(op->number)) return join(kept, interval(op->number, op->number));
    if (op->number > 0) return ANY;
    kept.masked = true;
    return kept;
}

static ValueRange range_within(const TileValue *v, int depth)
{
    double number;
    if (depth > MAX_DEPTH || !v->def) return ANY;
    if (rw_number(v, &number)) return isfinite(number) ? interval(number, number) : ANY;
    if (v->def->kind == TILE_ELEMENT) return element_range(v->def, depth + 1);
    if (v->def->kind == TILE_MASK) return mask_range(v->def, depth + 1);
    return ANY;
}

ValueRange range_of(const TileValue *v)
{
    return range_within(v, 0);
}

static const double LARGE = 1 << 20;

static const TileOp *load_of(const TileValue *v)
{
    while (v->def && v->def->kind == TILE_MOVE) v = v->def->args[0];
    return v->def && v->def->kind == TILE_LOAD ? v->def : NULL;
}

/* Without those through which no number of the program comes, as products and reductions; but those that a kernel before stored. */
static bool number_within(const TileValue *v, double least, int depth)
{
    const TileOp *op = v->def;
    double number;
    if (rw_number(v, &number)) return isfinite(number) && fabs(number) >= least;
    const TileOp *load = load_of(v);
    if (load) return load->tensor && load->tensor->numbers >= least;
    if (depth > MAX_DEPTH || !op || (op->kind != TILE_MASK && op->kind != TILE_ELEMENT && op->kind != TILE_CAST)) return false;
    if (op->kind == TILE_MASK && isfinite(op->number) && fabs(op->number) >= least) return true;
    for (int i = 0; i < op->n_args; i++)
        if (number_within(op->args[i], least, depth + 1)) return true;
    return false;
}

bool range_has_number(const TileValue *v, double least)
{
    return number_within(v, least, 0);
}

/* Elements of an Input that hold numbers as large as fp32 has, exactly. */
static bool is_loaded(const TileValue *v)
{
    return load_of(v) && v->type.dtype == DT_F32 && v->type.cols > 1;
}

/* A sum with what was loaded may be the mask of somebody who adds -1e9. */
static bool is_sum_of_loaded(const TileOp *op)
{
    return (op->op == OP_ADD || op->op == OP_SUBTRACT) && is_loaded(op->args[0]) != is_loaded(op->args[1]);
}

/* A factor that may be any power, as a temperature that is learnt as its logarithm. */
static bool is_any_power(const TileValue *v)
{
    const TileOp *op = v->def;
    bool power = op && op->kind == TILE_ELEMENT && (op->op == OP_EXP || op->op == OP_EXP2);
    return power && isinf(range_of(v).hi);
}

static bool grows_within(const TileValue *v, bool scaled, int depth)
{
    const TileOp *op = v->def;
    if (depth > MAX_DEPTH || !op || (op->kind != TILE_MASK && op->kind != TILE_ELEMENT && op->kind != TILE_CAST)) return false;
    if (op->kind == TILE_ELEMENT && scaled && is_sum_of_loaded(op)) return true;
    if (op->kind == TILE_ELEMENT && op->op == OP_MULTIPLY && (is_any_power(op->args[0]) || is_any_power(op->args[1]))) return true;
    scaled = scaled || (op->kind == TILE_ELEMENT && (op->op == OP_MULTIPLY || op->op == OP_DIVIDE));
    for (int i = 0; i < op->n_args; i++)
        if (grows_within(op->args[i], scaled, depth + 1)) return true;
    return false;
}

bool range_has_large(const TileValue *v)
{
    return range_has_number(v, LARGE) || grows_within(v, false, 0);
}

void range_note_stores(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) range_note_stores(op->regions[r]);
        if (op->kind != TILE_STORE || !op->tensor) continue;
        double most = range_has_number(op->args[0], RANGE_LARGEST) ? RANGE_LARGEST : range_has_large(op->args[0]) ? LARGE : 0;
        op->tensor->numbers = fmax(op->tensor->numbers, most);
    }
}
