/* weight.c: do a kernel's outputs depend on the reference of an online softmax?
 *
 * Behind the loop, m is some number and l and the accumulators carry the factor
 * exp(-m). Every value made of them is followed in one of two forms, with a
 * coefficient for each *gauge*, a number that the softmax is free to choose:
 *
 *   scaled    x * exp(sum of c_i * gauge_i)       l, accumulators: c = -1
 *   shifted   x + sum of c_i * gauge_i            m: c = 1
 *
 * where x does not depend on a gauge. exp and log lead from one to the other; a
 * maximum of a shifted value and another is a new gauge, about which nothing is
 * known but that it must cancel as well:
 *
 *   n = max(m, sink)                 shifted, 1 of the new gauge n
 *   a = exp(m - n)                   scaled, m: 1, n: -1
 *   s = l * a + exp(sink - n)        scaled, m: 0, n: -1
 *   O * a / s                        scaled, all 0: unchanged
 *   log(s) + n                       shifted, all 0: unchanged
 *
 * What is stored must have no coefficient left. Anything that is not understood
 * makes the answer no.
 */
#include "pass/weight.h"

#include <math.h>

#include "pass/rewrite.h"

enum { MAX_GAUGES = 6 };

typedef struct Form {
    double c[MAX_GAUGES];
    bool shifted; /* else scaled; with all coefficients 0 the two are the same */
    bool of_sum, of_accumulator; /* what it was made of */
} Form;

typedef struct Weigher {
    Form *forms; /* by value id */
    int gauges;
    bool failed, sum_alone, powers;
} Weigher;

static bool is_free(const Form *f)
{
    for (int i = 0; i < MAX_GAUGES; i++)
        if (fabs(f->c[i]) > 1e-9) return false;
    return true;
}

static bool same_coefficients(const Form *a, const Form *b)
{
    for (int i = 0; i < MAX_GAUGES; i++)
        if (fabs(a->c[i] - b->c[i]) > 1e-9) return false;
    return true;
}

static Form times(Form f, double factor)
{
    for (int i = 0; i < MAX_GAUGES; i++) f.c[i] *= factor;
    return f;
}

static Form plus(Form f, const Form *g, double factor)
{
    for (int i = 0; i < MAX_GAUGES; i++) f.c[i] += factor * g->c[i];
    return f;
}

/* Is it in units of a power of a gauge's factor, which leaves the range of fp32 sooner? */
static bool is_power(const Form *f)
{
    double degree = 0;
    for (int i = 0; i < MAX_GAUGES; i++) degree = fmax(degree, fabs(f->c[i]));
    return !f->shifted && degree > 1 + 1e-9;
}

static bool is_shifted(const Form *f)
{
    return f->shifted || is_free(f);
}

static bool is_scaled(const Form *f)
{
    return !f->shifted || is_free(f);
}

static Form fail(Weigher *w)
{
    w->failed = true;
    return (Form){0};
}

static Form new_gauge(Weigher *w)
{
    Form f = {.shifted = true};
    if (w->gauges == MAX_GAUGES) return fail(w);
    f.c[w->gauges++] = 1;
    return f;
}

static Form sum_of(Weigher *w, const Form *a, const Form *b, double sign)
{
    Form sum = plus(*a, b, sign);
    sum.shifted = true;
    if (is_shifted(a) && is_shifted(b)) return sum;
    return is_scaled(a) && is_scaled(b) && same_coefficients(a, b) ? *a : fail(w);
}

static Form product_of(Weigher *w, const Form *a, const Form *b, double sign)
{
    return is_scaled(a) && is_scaled(b) ? plus(*a, b, sign) : fail(w);
}

/* A maximum keeps what both have in common. */
static Form extreme_of(Weigher *w, const Form *a, const Form *b)
{
    if (is_shifted(a) && is_shifted(b)) return same_coefficients(a, b) ? *a : new_gauge(w);
    return is_scaled(a) && is_scaled(b) && same_coefficients(a, b) ? *a : fail(w);
}

/* Functions of one argument. Those of what is scaled are powers. */
static const struct {
    OpId op;
    bool of_shifted, gives_shifted;
    double factor;
} FUNCTIONS[] = {
    {OP_EXP, true, false, 1},         {OP_EXP2, true, false, 0.69314718055994531},
    {OP_LOG, false, true, 1},         {OP_LOG2, false, true, 1.4426950408889634},
    {OP_ABS, false, false, 1},        {OP_RELU, false, false, 1},
    {OP_SQUARE, false, false, 2},     {OP_SQRT, false, false, 0.5},
    {OP_RECIPROCAL, false, false, -1}, {OP_RSQRT, false, false, -0.5},
};

static Form function_of(Weigher *w, OpId op, const Form *a)
{
    for (size_t i = 0; i < TW_COUNT(FUNCTIONS); i++) {
        if (FUNCTIONS[i].op != op) continue;
        Form f = times(*a, FUNCTIONS[i].factor);
        f.shifted = FUNCTIONS[i].gives_shifted;
        return (FUNCTIONS[i].of_shifted ? is_shifted(a) : is_scaled(a)) ? f : fail(w);
    }
    return fail(w);
}

/* The number that a value holds everywhere; NAN: not known. */
static double number_of(const TileValue *v)
{
    return v->def && v->def->kind == TILE_FILL && !v->def->param ? v->def->number : NAN;
}

/* A factor scales the coefficients of what is shifted, if it is a known number. */
static Form multiplied(Weigher *w, const TileOp *op, const Form *a, const Form *b)
{
    double left = number_of(op->args[0]), right = number_of(op->args[1]);
    if (a->shifted && !is_free(a) && !isnan(right)) return times(*a, op->op == OP_DIVIDE ? 1 / right : right);
    if (b->shifted && !is_free(b) && !isnan(left) && op->op == OP_MULTIPLY) return times(*b, left);
    return product_of(w, a, b, op->op == OP_DIVIDE ? -1 : 1);
}

static Form element_of(Weigher *w, const TileOp *op, const Form *a, const Form *b)
{
    if (op->op == OP_ADD) return sum_of(w, a, b, 1);
    if (op->op == OP_SUBTRACT) return sum_of(w, a, b, -1);
    if (op->op == OP_MAX || op->op == OP_MIN) return extreme_of(w, a, b);
    if (op->op == OP_NEGATE) return a->shifted ? times(*a, -1) : *a;
    if (op->op != OP_MULTIPLY && op->op != OP_DIVIDE) return function_of(w, op->op, a);
    Form result = multiplied(w, op, a, b);
    bool other = op->op == OP_DIVIDE && op->has_else && op->number != 0;
    return other && !is_free(&result) ? fail(w) : result;
}

/* One that is combined along rows of the same gauges. */
static Form reduced(Weigher *w, const TileOp *op, const Form *a)
{
    if (op->axis != 1) return fail(w);
    bool sums = op->op == OP_ROW_SUM || op->op == OP_ROW_MEAN;
    return !sums || is_scaled(a) ? *a : fail(w);
}

static Form form_of(Weigher *w, const TileOp *op)
{
    const Form none = {0}, *a = op->n_args > 0 ? &w->forms[op->args[0]->id] : &none;
    const Form *b = op->n_args > 1 ? &w->forms[op->args[1]->id] : &none;
    if (op->kind == TILE_ELEMENT) return element_of(w, op, a, b);
    if (op->kind == TILE_REDUCE) return reduced(w, op, a);
    if (op->kind == TILE_CAST && !dtype_is_float(op->results[0]->type.dtype)) return fail(w);
    return op->kind == TILE_CAST || op->kind == TILE_RESHAPE || op->kind == TILE_MOVE ? *a : fail(w);
}

static void weigh_block(Weigher *w, const TileBlock *block, int from);

static void weigh_op(Weigher *w, const TileOp *op)
{
    bool touched = false, of_sum = false, of_accumulator = false, stores = op->kind == TILE_STORE;
    for (int i = 0; i < op->n_args; i++) {
        const Form *f = &w->forms[op->args[i]->id];
        touched |= !is_free(f);
        of_sum |= f->of_sum;
        of_accumulator |= f->of_accumulator;
    }
    for (int r = 0; r < op->n_regions; r++) weigh_block(w, op->regions[r], 0);
    if (touched && op->n_results == 1 && !stores) w->forms[op->results[0]->id] = form_of(w, op);
    else if (touched) w->failed = true;
    for (int i = 0; i < op->n_results; i++) {
        w->powers |= is_power(&w->forms[op->results[i]->id]);
        w->forms[op->results[i]->id].of_sum = of_sum;
        w->forms[op->results[i]->id].of_accumulator = of_accumulator;
    }
    w->sum_alone |= of_sum && !of_accumulator && op->n_results == 0;
}

static void weigh_block(Weigher *w, const TileBlock *block, int from)
{
    for (int i = from; i < block->ops.len && !w->failed; i++) weigh_op(w, block->ops.data[i]);
}

void weigh_results(Arena *arena, const TileKernel *kernel, const TileOp *loop, Weighing *weighing)
{
    Weigher w = {.forms = arena_array(arena, Form, kernel->next_value)};
    int at;
    const TileBlock *block = rw_block_of(kernel->body, loop, &at);
    Form reference = new_gauge(&w), scaled = times(reference, -1);
    scaled.shifted = false;
    scaled.of_accumulator = true;
    for (int i = 0; i < weighing->n_accumulators; i++)
        w.forms[loop->results[weighing->accumulators[i]]->id] = scaled;
    scaled.of_accumulator = false;
    scaled.of_sum = true;
    w.forms[loop->results[weighing->l]->id] = scaled;
    w.forms[loop->results[weighing->m]->id] = reference;
    weigh_block(&w, block, at + 1);
    weighing->unchanged = !w.failed;
    weighing->sum_alone = w.sum_alone;
    weighing->powers = w.powers;
}
