/* verdict.c: is an output right?
 *
 * The error against fp64 is measured by the error that a plain implementation
 * of the same precision makes on the same rows. Where that is not enough, other plain
 * implementations are asked, and the worst error counts: an output that hangs on few
 * roundings (saturated softmaxes, differences that nearly cancel) may have a lucky one, or hang on whether a sum
 * is rounded or each of its terms.
 * Where the error happens to be nearly nothing, one rounding of the output is allowed;
 * two where the output is as precise as what it is computed from, which was rounded as
 * coarsely. Where all of it should be zero, what is left when numbers cancel is allowed; where
 * all is so small that fp32 has lost what it was made of, anything as small.
 *
 * The plain implementation has exact exponentials and logarithms. Those of a GPU
 * (ex2.approx, lg2.approx, rcp.approx: PTX ISA) are off by a few units of fp32,
 * which shows in an output of fp32 alone. A logarithm turns the relative error of
 * its argument into an absolute one: that of a sum of exponentials is the
 * absolute error of the exponents, however small the result. GELU of negative numbers is what is
 * left where 1 and an erf near -1 cancel, of fp32: small, and off by what 1 is.
 */
#include "ref/ref.h"

#include <math.h>

/* What the output's dtype can hold of a number: beyond its range, infinity, or the last integer. */
static double in_range(DType dtype, double x)
{
    double rounded = dtype_round(dtype, x);
    bool ends = !dtype_is_float(dtype) && dtype != DT_BOOL && fabs(rounded - x) >= 1;

    return isinf(rounded) || ends ? rounded : x;
}

/* The first number that rounds to infinity. */
static double beyond_range(DType dtype)
{
    double low = 1, high = 2;

    while (!isinf(dtype_round(dtype, high)))
        low = high, high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = low + (high - low) / 2;

        *(isinf(dtype_round(dtype, middle)) ? &high : &low) = middle;
    }
    return high;
}

/* Of a number near the end of the range an infinity is no worse than what it began as;
 * where it should be an infinity, a number is as wrong as its distance, whatever its sign: operands
 * of 8 bits stop at their largest number. */
static void add_near_the_end(Distance *d, const Tensor *t, const int64_t *at, double got, double exact)
{
    double want = in_range(t->dtype, exact);

    if (isinf(want) != isinf(got) && isfinite(exact) && (isinf(want) ? isfinite(got) : got * exact > 0)) {
        double beyond = beyond_range(t->dtype);

        want = exact;
        if (isinf(got) && fabs(want) >= beyond / 2)
            got = copysign(beyond, got);
    }
    distance_add(d, t, at, got, want);
}

/* Where numbers on the way may go beyond what the precision holds, nothing is judged
 * but that a number does not come out where an infinity should. */
static bool is_beyond(DType dtype, double got, double exact, double plain)
{
    return !isfinite(plain) && (plain != in_range(dtype, exact) || !isfinite(got));
}

void ref_verdict_start(RefVerdict *v)
{
    v->undefined = v->beyond = 0;
    distance_start(&v->got);
    distance_start(&v->plain);
}

/* An integer that is the definition's number without its fraction is right, even where the plain implementation, whose
 * sums may end above the next integer, came nearer. */
static bool is_cut(DType dtype, double got, double exact, double plain)
{
    return !dtype_is_float(dtype) && dtype != DT_BOOL && got == dtype_round(dtype, exact) &&
           fabs(plain - exact) < fabs(got - exact);
}

void ref_verdict_add(RefVerdict *v, const Tensor *t, const int64_t *at, double exact, double plain)
{
    double got = tensor_get(t, at);

    if (isnan(exact)) { /* the definition gives no number, so none is right or wrong */
        v->undefined++;
    } else if (is_beyond(t->dtype, got, exact, plain)) {
        v->beyond++;
    } else {
        add_near_the_end(&v->got, t, at, is_cut(t->dtype, got, exact, plain) ? plain : got, exact);
        add_near_the_end(&v->plain, t, at, plain, exact);
    }
}

static void add_row(RefVerdict *v, const Tensor *t, const int64_t *lead, const double *exact,
                    const double *plain)
{
    int64_t at[TENSOR_MAX_RANK] = {0};

    for (int d = 0; d < t->rank - 1; d++)
        at[d] = lead[d];
    for (int64_t j = 0; j < t->dims[t->rank - 1]; j++) {
        at[t->rank - 1] = j;
        ref_verdict_add(v, t, at, exact[j], plain[j]);
    }
}

/* got over plain, where an error up to `least` gives at most the bound */
static double ratio(double got, double plain, double least, double bound)
{
    double by = fmax(plain, least / bound);

    return got == 0 ? 0 : got / by;
}

/* An output of zeros is what is left of numbers that cancel: of the inputs' size,
 * each rounded in the accumulators' precision. */
static double cancelled(Tensor *const *inputs, int n)
{
    double most = 0;

    for (int i = 0; i < n; i++) {
        const Tensor *t = inputs[i];
        size_t step = (size_t)dtype_bytes(t->dtype);

        for (size_t at = 0; at + step <= t->bytes && dtype_is_float(t->dtype); at += step)
            most = fmax(most, fabs(dtype_load(t->dtype, (const char *)t->data + at)));
    }
    return dtype_epsilon(DT_F32) * most;
}

/* ---- what the instructions of a GPU give ------------------------------------------- */

enum { APPROXIMATE_UNITS = 16, SUM_UNITS = 4 };
static const double LOGARITHM_ERROR = 5e-5; /* of exponents up to some hundreds */
static const double GELU_ERROR = 0x1p-21;   /* largest, 2.6e-7, at -3.1: erf by few terms, times that */

/* Quotients, powers and functions among the numbers that a Define is made of. */
static bool is_approximated(const Expr *e)
{
    if (!e)
        return false;
    if (e->kind == EXPR_CALL || (e->kind == EXPR_BINARY && (e->op == EO_DIV || e->op == EO_POW)))
        return true;
    return is_approximated(e->a) || is_approximated(e->b);
}

static bool is_approximate(const DefOp *op)
{
    static const OpId ops[] = {OP_DIVIDE, OP_POWER, OP_EXP, OP_EXP2, OP_LOG, OP_LOG2, OP_LOG1P, OP_EXPM1, OP_ERF, OP_RSQRT, OP_TANH,
                               OP_SIGMOID, OP_SILU, OP_GELU, OP_RECIPROCAL, OP_SOFTMAX};

    for (size_t i = 0; i < TW_COUNT(ops); i++)
        if (ops[i] == op->op)
            return true;
    return op->op == OP_DEFINE && is_approximated(op->where);
}

/* Tiles are summed in an order of their own, each step rounded. */
static bool is_sum(const DefOp *op)
{
    return op->op == OP_GEMM || op->op == OP_ROW_SUM || op->op == OP_ROW_MEAN || op->op == OP_COL_SUM ||
           op->op == OP_GROUP_SUM || op->op == OP_GROUP_MEAN;
}

static bool is_logarithm(const DefOp *op)
{
    return op->op == OP_LOG || op->op == OP_LOG2;
}

static bool is_gelu(const DefOp *op)
{
    return op->op == OP_GELU;
}

static bool among(const DefOp *const *ops, int n, bool (*is)(const DefOp *))
{
    for (int i = 0; i < n; i++)
        if (is(ops[i]))
            return true;
    return false;
}

/* The operations that an output is made by, each once; returns how many. */
static int made_by(const Def *def, const DefValue *output, const DefOp **ops)
{
    int n = 0;

    for (int i = def->ops.len - 1; i >= 0; i--) {
        const DefOp *op = def->ops.data[i];
        bool needed = op->result == output;

        for (int k = 0; k < n && !needed; k++)
            needed = def_op_takes(ops[k], op->result) || def_op_reads(ops[k], op->result);
        if (needed)
            ops[n++] = op;
    }
    return n;
}

RefFloor ref_floor(const Def *def, int which)
{
    const DefValue *output = def->outputs.data[which];
    double epsilon = dtype_epsilon(output->dtype);

    if (output->dtype != DT_F32)
        return (RefFloor){0.5 * epsilon, 0};
    const DefOp **ops = arena_array(def->arena, const DefOp *, def->ops.len);
    int n = made_by(def, output, ops);
    int units = among(ops, n, is_approximate) ? APPROXIMATE_UNITS : among(ops, n, is_sum) ? SUM_UNITS : 1;
    return (RefFloor){units * epsilon, among(ops, n, is_logarithm) ? LOGARITHM_ERROR : among(ops, n, is_gelu) ? GELU_ERROR : 0};
}

/* An absolute error, beside the norm of what is wanted. */
static double against_norm(const Distance *d, double error)
{
    return d->sum_want > 0 ? error * sqrt((double)d->compared / d->sum_want) : 0;
}

/* Subnormal numbers of fp32 are flushed on the way; what is multiplied by them is lost (2^-126,
 * times inputs of up to a million). */
static const double LOST = 0x1p-106;

/* Of nothing there may be no mean, no largest: a definition that gives no number then is not
 * to blame, nor is what agrees with it on other shapes. */
static bool any_empty(Tensor *const *inputs, int n)
{
    for (int i = 0; i < n; i++)
        for (int d = 0; d < inputs[i]->rank; d++)
            if (inputs[i]->dims[d] == 0)
                return true;
    return false;
}

/* Roundings of many elements have half the norm of the largest possible one, that of a single
 * element may be the largest. */
static double norm_of_one(int64_t elements)
{
    return elements > 0 ? 0.5 + 0.5 / sqrt((double)elements) : 0.5;
}

void ref_judge(RefVerdict *v, const Def *def, int output, Tensor *const *inputs, double bound)
{
    RefFloor least = ref_floor(def, output);
    double of_zeros = v->got.max_want > 0 ? 0 : cancelled(inputs, def->inputs.len);
    double norm = norm_of_one(v->got.compared) * (least.relative + against_norm(&v->got, fmax(least.absolute, LOST)));
    double largest = fmax(least.relative * v->got.max_want + least.absolute, LOST);

    distance_finish(&v->got);
    distance_finish(&v->plain);
    v->plain_frobenius = fmax(v->plain_frobenius, v->plain.frobenius);
    v->plain_max = fmax(v->plain_max, v->plain.max_abs);
    v->ratio_frobenius = ratio(v->got.frobenius, v->plain_frobenius, norm, bound);
    v->ratio_max = ratio(v->got.max_abs, v->plain_max, v->got.max_want > 0 ? largest : fmax(largest, of_zeros),
                         bound);
    if (v->got.max_want == 0)
        v->ratio_frobenius = v->ratio_max;
    bool compared = v->got.compared > 0 || v->undefined == 0 || any_empty(inputs, def->inputs.len);
    v->ok = compared && v->got.not_finite == 0 && v->ratio_frobenius <= bound && v->ratio_max <= bound;
}

static bool fits(const Ref *ref, const DefValue *value, const Tensor *t)
{
    int64_t dims[TENSOR_MAX_RANK];

    if (!ref_dims(ref, value, dims) || t->rank != value->rank || t->dtype != value->dtype)
        return false;
    return memcmp(dims, t->dims, (size_t)t->rank * sizeof *dims) == 0;
}

typedef struct Comparison {
    const Def *def;
    const Tensor *tensor;
    int output;
    const RowList *rows;
    Ref *exact;
} Comparison;

static bool compare_rows(const Comparison *c, Ref *plain, RefVerdict *v)
{
    ref_verdict_start(v);
    for (int i = 0; i < c->rows->count; i++) {
        const int64_t *lead = c->rows->coords.data + (int64_t)i * c->rows->rank1;
        const double *want = ref_row(c->exact, c->output, lead), *have = ref_row(plain, c->output, lead);

        if (!want || !have)
            return false;
        add_row(v, c->tensor, lead, want, have);
    }
    return true;
}

bool ref_compare(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings,
                 Tensor *const *inputs, Tensor *const *outputs, int output, const RowList *rows,
                 double bound, RefVerdict *verdict, const char **error)
{
    const Tensor *t = outputs[output];
    Comparison c = {def, t, output, rows, ref_new(arena, def, bindings, n_bindings, inputs, REF_EXACT, error)};

    *verdict = (RefVerdict){0};
    if (!c.exact)
        return false;
    if (!fits(c.exact, def->outputs.data[output], t) || rows->rank1 != t->rank - 1) {
        *error = arena_printf(arena, "%s does not have the shape and type of its definition", t->name);
        return false;
    }
    for (int i = 0; i < REF_PLAINS && !verdict->ok; i++) {
        Ref *plain = ref_new(arena, def, bindings, n_bindings, inputs, (RefPrecision)(REF_PLAIN + i), error);

        if (!plain)
            return false;
        if (!compare_rows(&c, plain, verdict)) {
            *error = arena_printf(arena, "a row of %s is outside of it", t->name);
            return false;
        }
        ref_judge(verdict, def, output, inputs, bound);
    }
    return true;
}
