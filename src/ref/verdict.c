/* verdict.c: is an output right?
 *
 * The error against fp64 is measured by the error that a plain implementation
 * of the same precision makes on the same rows. Where that happens to be nearly
 * nothing, one rounding of the output is allowed; two where the output is as
 * precise as what it is computed from, which was rounded as coarsely. Where all
 * of it should be zero, what is left when numbers cancel is allowed.
 */
#include "ref/ref.h"

#include <math.h>

/* What the output's dtype can hold of a number: beyond its range, infinity. */
static double in_range(DType dtype, double x)
{
    double rounded = dtype_round(dtype, x);

    return isinf(rounded) ? rounded : x;
}

static void add_row(RefVerdict *v, const Tensor *t, const int64_t *lead, const double *exact,
                    const double *plain)
{
    int64_t at[TENSOR_MAX_RANK] = {0};

    for (int d = 0; d < t->rank - 1; d++)
        at[d] = lead[d];
    for (int64_t j = 0; j < t->dims[t->rank - 1]; j++) {
        double want = in_range(t->dtype, exact[j]);

        at[t->rank - 1] = j;
        /* The definition gives no number, so none is right or wrong; or numbers on the
         * way to it go beyond what the precision holds. */
        if (isnan(want) || (isfinite(want) && !isfinite(plain[j]))) {
            v->undefined++;
            continue;
        }
        distance_add(&v->got, t, at, tensor_get(t, at), want);
        distance_add(&v->plain, t, at, plain[j], want);
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

static void judge(RefVerdict *v, DType dtype, double bound, double of_zeros)
{
    double rounding = (dtype == DT_F32 ? 1 : 0.5) * dtype_epsilon(dtype);

    distance_finish(&v->got);
    distance_finish(&v->plain);
    /* roundings of many elements have half the norm of the largest possible one */
    v->ratio_frobenius = ratio(v->got.frobenius, v->plain.frobenius, 0.5 * rounding, bound);
    v->ratio_max = ratio(v->got.max_abs, v->plain.max_abs,
                         v->got.max_want > 0 ? rounding * v->got.max_want : of_zeros, bound);
    if (v->got.max_want == 0)
        v->ratio_frobenius = v->ratio_max;
    bool compared = v->got.compared > 0 || v->undefined == 0;
    v->ok = compared && v->got.not_finite == 0 && v->ratio_frobenius <= bound && v->ratio_max <= bound;
}

static bool fits(const Ref *ref, const DefValue *value, const Tensor *t)
{
    int64_t dims[TENSOR_MAX_RANK];

    if (!ref_dims(ref, value, dims) || t->rank != value->rank || t->dtype != value->dtype)
        return false;
    return memcmp(dims, t->dims, (size_t)t->rank * sizeof *dims) == 0;
}

bool ref_compare(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings,
                 Tensor *const *inputs, Tensor *const *outputs, int output, const RowList *rows,
                 double bound, RefVerdict *verdict, const char **error)
{
    Ref *exact = ref_new(arena, def, bindings, n_bindings, inputs, REF_EXACT, error);
    Ref *plain = exact ? ref_new(arena, def, bindings, n_bindings, inputs, REF_PLAIN, error) : NULL;
    const Tensor *t = outputs[output];

    if (!plain)
        return false;
    if (!fits(exact, def->outputs.data[output], t) || rows->rank1 != t->rank - 1) {
        *error = arena_printf(arena, "%s does not have the shape and type of its definition", t->name);
        return false;
    }
    verdict->undefined = 0;
    distance_start(&verdict->got);
    distance_start(&verdict->plain);
    for (int i = 0; i < rows->count; i++) {
        const int64_t *lead = rows->coords.data + (int64_t)i * rows->rank1;
        const double *want = ref_row(exact, output, lead), *have = ref_row(plain, output, lead);

        if (!want || !have) {
            *error = arena_printf(arena, "a row of %s is outside of it", t->name);
            return false;
        }
        add_row(verdict, t, lead, want, have);
    }
    judge(verdict, t->dtype, bound, verdict->got.max_want > 0 ? 0 : cancelled(inputs, def->inputs.len));
    return true;
}
