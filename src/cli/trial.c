/* trial.c: the oracle's rows, and how far an artefact's outputs are from them. */
#include "cli/trial.h"

#include <math.h>

enum { ALL_BELOW = 1024, TILE = 64, ROWS_AT_MOST = 2000 };

/* ---- the oracle -------------------------------------------------------------------- */

static const int64_t *row_at(const RowList *rows, int row)
{
    return rows->rank1 ? rows->coords.data + (size_t)row * (size_t)rows->rank1 : NULL;
}

static int row_count(const RowList *rows)
{
    return rows->rank1 ? rows->coords.len / rows->rank1 : 1;
}

/* Calls the oracle for every chosen row of an output; keeps it, or measures
 * it against what was kept. */
static void ask_oracle(Trial *trial, Ref *ref, int output, RefPrecision precision)
{
    TrialOutput *o = &trial->wanted[output];
    const Tensor *t = trial->outputs[output];
    int64_t at[TENSOR_MAX_RANK] = {0};

    for (int r = 0; r < o->n_rows; r++) {
        const int64_t *lead = row_at(o->rows, r);
        const double *row = ref_row(ref, output, lead);
        double *want = o->want + (int64_t)r * o->cols;

        session_progress(trial->s, "evaluating the definition: row %d of %d", r + 1, o->n_rows);
        if (precision == REF_EXACT) {
            memcpy(want, row, (size_t)o->cols * sizeof *want);
            continue;
        }
        if (lead)
            memcpy(at, lead, (size_t)o->rows->rank1 * sizeof *at);
        memcpy(o->have[precision - REF_PLAIN] + (int64_t)r * o->cols, row, (size_t)o->cols * sizeof *row);
        for (int64_t c = 0; precision == REF_PLAIN && c < o->cols; c++) {
            at[o->rows->rank1] = c;
            if (isfinite(row[c]) || isnan(want[c]))
                distance_add(&o->plain, t, at, row[c], want[c]);
        }
    }
}

static bool consult(Trial *trial, RefPrecision precision, const char **error)
{
    for (int i = 0; precision != REF_EXACT && i < trial->def->outputs.len; i++) {
        TrialOutput *o = &trial->wanted[i];

        o->have[precision - REF_PLAIN] =
            arena_alloc_array(trial->s->arena, (size_t)o->n_rows * (size_t)o->cols, sizeof(double));
    }
    Ref *ref = ref_new(trial->s->arena, trial->def, trial->shape.data, trial->shape.len,
                       trial->inputs, precision, error);

    if (!ref)
        return false;
    for (int i = 0; i < trial->def->outputs.len; i++)
        ask_oracle(trial, ref, i, precision);
    return true;
}

static void choose_rows(Trial *trial, int output)
{
    Arena *arena = trial->s->arena;
    TrialOutput *o = &trial->wanted[output];
    const Tensor *t = trial->outputs[output];

    o->rows = rows_choose(arena, t, ALL_BELOW, TILE, ROWS_AT_MOST, trial->s->options.seed);
    o->cols = t->rank ? t->dims[t->rank - 1] : 1;
    o->n_rows = tensor_count(t) ? row_count(o->rows) : 0;
    o->want = arena_alloc_array(arena, (size_t)o->n_rows * (size_t)o->cols, sizeof *o->want);
    distance_start(&o->plain);
}

Trial *trial_new(Session *s, const Def *def, const LaunchShape *shape, const char **error)
{
    Trial *trial = arena_new_of(s->arena, Trial);
    double since = clock_seconds();

    trial->s = s;
    trial->def = def;
    trial->shape = *shape;
    trial->inputs = arena_array(s->arena, Tensor *, def->inputs.len + 1);
    trial->outputs = arena_array(s->arena, Tensor *, def->outputs.len + 1);
    trial->wanted = arena_array(s->arena, TrialOutput, def->outputs.len + 1);
    if (!ref_make_tensors(s->arena, def, shape->data, shape->len, s->options.data,
                          s->options.seed, trial->inputs, trial->outputs, error))
        return NULL;
    for (int i = 0; i < def->outputs.len; i++)
        choose_rows(trial, i);
    if (!consult(trial, REF_EXACT, error) || !consult(trial, REF_PLAIN, error))
        return NULL;
    for (int i = 0; i < def->outputs.len; i++)
        distance_finish(&trial->wanted[i].plain);
    trial->oracle_seconds = clock_seconds() - since;
    return trial;
}

/* ---- tensors -------------------------------------------------------------------------- */

static const Tensor *find_tensor(Tensor *const *tensors, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(tensors[i]->name, name) == 0)
            return tensors[i];
    return NULL;
}

Tensor *trial_tensor(Trial *trial, const char *name)
{
    const Tensor *t = find_tensor(trial->inputs, trial->def->inputs.len, name);

    if (!t)
        t = find_tensor(trial->outputs, trial->def->outputs.len, name);
    return (Tensor *)t;
}

void trial_poison(Trial *trial)
{
    for (int i = 0; i < trial->def->outputs.len; i++)
        tensor_poison(trial->outputs[i]);
}

/* ---- comparing ----------------------------------------------------------------------- */

static const char *place_text(Arena *arena, const Tensor *t, const int64_t *at)
{
    Str text = str_new(arena);

    str_printf(&text, "%s[", t->name);
    for (int k = 0; k < t->rank; k++)
        str_printf(&text, "%s%lld", k ? ", " : "", (long long)at[k]);
    str_addc(&text, ']');
    return str_text(&text);
}

/* By one of the plain implementations. */
static void judge_output(Trial *trial, int output, int plain, const Written *written, RefVerdict *v)
{
    const TrialOutput *o = &trial->wanted[output];
    const Tensor *t = trial->outputs[output];
    int64_t at[TENSOR_MAX_RANK] = {0};

    ref_verdict_start(v);
    for (int r = 0; r < o->n_rows; r++) {
        if (o->rows->rank1)
            memcpy(at, row_at(o->rows, r), (size_t)o->rows->rank1 * sizeof *at);
        for (int64_t c = 0; c < o->cols; c++) {
            at[o->rows->rank1] = c;
            int64_t i = (int64_t)r * o->cols + c;

            if (!written || written->was(written->user, t, at))
                ref_verdict_add(v, t, at, o->want[i], o->have[plain][i]);
        }
    }
    ref_judge(v, trial->def, output, trial->inputs, trial->s->options.bound);
}

static void compare_output(Trial *trial, int output, TrialResult *result, const Written *written)
{
    const Tensor *t = trial->outputs[output];
    const char *error;
    RefVerdict v = {0};

    for (int i = 0; i < REF_PLAINS && !v.ok; i++)
        if (trial->wanted[output].have[i] || consult(trial, (RefPrecision)(REF_PLAIN + i), &error))
            judge_output(trial, output, i, written, &v);
    const Distance *d = &v.got;
    keep_worst(&result->frobenius, d->frobenius);
    keep_worst(&result->max_abs, d->max_abs);
    keep_worst(&result->ratio_frobenius, v.ratio_frobenius);
    keep_worst(&result->ratio_max, v.ratio_max);
    result->compared += d->compared;
    if (d->not_finite)
        result->problem = arena_printf(trial->s->arena, "%lld elements are not finite or wrongly so, %s",
                                       (long long)d->not_finite, place_text(trial->s->arena, t, d->worst));
    else if (!result->problem && v.ratio_max > trial->s->options.bound)
        result->problem = arena_printf(trial->s->arena, "largest error at %s",
                                       place_text(trial->s->arena, t, d->worst));
    else if (!result->problem && !v.ok && d->compared == 0)
        result->problem = arena_printf(trial->s->arena, "the definition gives no number anywhere in %s", t->name);
}

void trial_compare(Trial *trial, TrialResult *result, const Written *written)
{
    double bound = trial->s->options.bound;

    result->bits = TENSOR_HASH_START;
    for (int i = 0; i < trial->def->outputs.len; i++) {
        compare_output(trial, i, result, written);
        result->bits = tensor_hash(result->bits, trial->outputs[i]);
    }
    result->ok = !result->problem && result->ratio_frobenius <= bound && result->ratio_max <= bound;
    if (!result->ok && !result->problem)
        result->problem = "error beyond the bound";
}

const TrialResult *trial_record(Trial *trial, const TrialResult *result)
{
    TrialResult *kept;

    vec_push(trial->s->arena, &trial->results, *result);
    trial->failed += !result->ok;
    kept = arena_new_of(trial->s->arena, TrialResult); /* the list may move when it grows */
    *kept = *result;
    return kept;
}

void trial_expect_equal(Trial *trial, const char *what, const TrialResult *a, const TrialResult *b)
{
    TrialResult result = {.what = what, .ok = true};

    if (!a->ok || !b->ok || a->bits == b->bits)
        return; /* what failed has been said */
    result.ok = false;
    result.problem = arena_printf(trial->s->arena, "%s and %s differ in some bit", a->what, b->what);
    trial_record(trial, &result);
}
