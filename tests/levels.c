/* levels.c: the definition, the code and the tile IR of one case; comparing. */
#include "levels.h"

#include <math.h>

#include "check/check.h"
#include "lower/lower.h"

/* An error that the definition's plain implementation makes may be made twice
 * over (the product's promise). Small shapes have few elements, of which the
 * plain ones may all happen to be near: so many roundings of the output are
 * always allowed, of the largest element and (times the norm) of all. */
static const double DEFINITION_BOUND = 2, FLOOR_MAX = 1.5, FLOOR_NORM = 0.5;

/* And so much of the largest element where outputs are of fp32: functions are
 * approximated to a few units in the last place, sums go in another order. */
static const double FLOOR_FUNCTIONS = 0x1p-20;

/* How many times the noise a level may be off its oracle. */
static const double NOISE_BOUND = 3;

/* Functions are approximated to so much of the largest element (GELU by its erf,
 * tanh by an exponential: a few units in the last place of 1). */
static const double LEAST_NOISE = 0x1p-22;

/* Noise so large, relative to the largest output, that a comparison means
 * nothing: three digits; of operands of 8 bits, whose roundings show, one unit. */
static const double VOID_NOISE = 1e-2;

/* ---- verdicts ------------------------------------------------------------------------- */

static bool stop(Levels *l, LevelVerdict verdict, const char *fmt, ...) TW_PRINTF(3, 4);
static bool stop(Levels *l, LevelVerdict verdict, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    l->report->verdict = verdict;
    l->report->problem = arena_vprintf(l->arena, fmt, args);
    va_end(args);
    str_printf(&l->report->log, "%-40s %s\n", l->report->level, l->report->problem);
    return false;
}

bool levels_differ(Levels *l, const char *fmt, ...)
{
    va_list args;
    const char *problem;

    va_start(args, fmt);
    problem = arena_vprintf(l->arena, fmt, args);
    va_end(args);
    return stop(l, LEVELS_DIFFER, "%s", problem);
}

void levels_at(Levels *l, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    l->report->level = arena_vprintf(l->arena, fmt, args);
    va_end(args);
}

static bool rejected(Levels *l)
{
    const Diags *d = l->chain->diags;

    for (int i = 0; i < d->list.len; i++) {
        const DiagInfo *info = diag_info(d->list.data[i].code);

        if (info->severity == SEV_ERROR)
            return stop(l, LEVELS_REJECTED, "%s: %s", info->name, d->list.data[i].message);
    }
    return stop(l, LEVELS_REJECTED, "%s", l->chain->failure ? l->chain->failure : "no reason given");
}

static void passed(Levels *l, const char *with, double worst)
{
    if (worst > l->report->worst)
        l->report->worst = worst;
    str_printf(&l->report->log, "%-40s agrees with %s, %.2g of what is allowed\n", l->report->level, with, worst);
}

/* ---- cases ------------------------------------------------------------------------------ */

void levels_set(Arena *arena, LevelCase *c, const char *name, double value)
{
    if (c->n_sets < LEVEL_SETS)
        c->sets[c->n_sets++] = arena_printf(arena, "%s=%.10g", name, value);
}

void levels_bind(LevelCase *c, const char *name, double value)
{
    if (c->n_binds < LEVEL_BINDS)
        c->binds[c->n_binds++] = (RefBinding){name, value};
}

void levels_print(Str *out, const LevelCase *c)
{
    str_printf(out, "# --target %s --dtype %s, data %s, seed %llu\n", c->target ? c->target : target_default()->name,
               dtype_name(c->dtype), fill_name(c->fill), (unsigned long long)c->seed);
    str_add(out, "#");
    for (int i = 0; i < c->n_sets; i++)
        str_printf(out, " --set %s", c->sets[i]);
    for (int i = 0; i < c->n_binds; i++)
        str_printf(out, " --bind %s=%.10g", c->binds[i].name, c->binds[i].value);
    str_printf(out, "\n%s", c->definition ? c->definition : "");
    str_printf(out, "%s", c->code ? c->code : "");
}

/* What a definition has for a name that is not bound. */
static bool follows(const Levels *l, const char *name, double *value)
{
    const Def *def = l->chain->def;
    const EvalName *found;
    EvalEnv env;

    if (!def)
        return false;
    eval_init(&env, l->arena, def->aff);
    ref_numbers(&env, def, l->c->binds, l->c->n_binds);
    found = eval_find(&env, name);
    *value = found ? found->number : 0;
    return found != NULL;
}

bool levels_value(const Levels *l, const char *name, double *value)
{
    for (int i = 0; i < l->c->n_binds; i++)
        if (strcmp(l->c->binds[i].name, name) == 0)
            return *value = l->c->binds[i].value, true;
    return follows(l, name, value);
}

/* ---- tensors ------------------------------------------------------------------------------ */

void levels_poison(Tensor *t)
{
    memset(t->data, 0xff, t->bytes);
}

static bool is_unwritten(const Tensor *t, const int64_t *at)
{
    size_t size = (size_t)dtype_bytes(t->dtype);
    const unsigned char *p = (const unsigned char *)t->data + (size_t)tensor_index(t, at) * size;

    for (size_t i = 0; i < size; i++)
        if (p[i] != 0xff)
            return false;
    return true;
}

bool levels_each(const Tensor *t, bool (*visit)(void *user, const int64_t *at), void *user)
{
    int64_t at[TENSOR_MAX_RANK] = {0};

    for (int64_t n = tensor_count(t); n > 0; n--) {
        if (!visit(user, at))
            return false;
        tensor_step(t, t->rank, at);
    }
    return true;
}

static const char *place(Levels *l, const Tensor *t, const int64_t *at)
{
    Str text = str_new(l->arena);

    str_printf(&text, "%s[", t->name);
    for (int d = 0; d < t->rank; d++)
        str_printf(&text, "%s%lld", d ? ", " : "", (long long)at[d]);
    str_add(&text, "]");
    return str_text(&text);
}

/* Of the types that the program gives them. */
static Tensor **new_outputs(Levels *l, const TileProgram *p)
{
    Tensor **outputs = arena_array(l->arena, Tensor *, l->n_tensors + 1);
    const char *error;

    for (int i = 0; i < l->n_tensors; i++) {
        const Tensor *like = l->oracle[i];

        if (!like)
            continue;
        outputs[i] = tensor_new(l->arena, like->name, p->tensors.data[i]->dtype, like->rank, like->dims, &error);
        levels_poison(outputs[i]);
    }
    return outputs;
}

/* Inputs are filled, outputs (the oracle's) poisoned. */
static void fill(const Levels *l, Tensor *t, uint64_t seed)
{
    if (l->c->words && (t->dtype == DT_I32 || t->dtype == DT_I64))
        tensor_fill_integers(t, INT32_MIN, t->dtype == DT_I32 ? INT32_MAX : INT64_C(1) << 51, seed);
    else
        tensor_fill(t, l->c->fill, seed);
}

/* Of all dimensions, by symbol; NULL: one has none. */
static int64_t *dimension_values(Levels *l, const TileProgram *p)
{
    int64_t *values = arena_array(l->arena, int64_t, aff_sym_count(p->aff) + 1);
    double value;

    for (int i = 0; i < p->dims.len; i++) {
        if (!levels_value(l, p->dims.data[i]->name, &value)) {
            levels_differ(l, "nothing binds dimension %s", p->dims.data[i]->name);
            return NULL;
        }
        values[p->dims.data[i]->id] = (int64_t)value;
    }
    return values;
}

static Tensor *make_tensor(Levels *l, const TileTensor *t, const int64_t *values)
{
    const char *error = "a dimension overflows";
    int64_t dims[TENSOR_MAX_RANK];
    bool ok = true;

    for (int d = 0; d < t->rank; d++)
        ok = ok && aff_eval(t->dims[d], values, &dims[d]);
    Tensor *made = ok ? tensor_new(l->arena, t->name, t->dtype, t->rank, dims, &error) : NULL;
    if (!made)
        levels_differ(l, "tensor %s: %s", t->name, error);
    else if (t->written)
        levels_poison(made);
    return made;
}

static bool make_tensors(Levels *l, const TileProgram *p)
{
    const int64_t *values = dimension_values(l, p);

    l->n_tensors = p->tensors.len;
    l->inputs = arena_array(l->arena, Tensor *, l->n_tensors + 1);
    l->oracle = arena_array(l->arena, Tensor *, l->n_tensors + 1);
    for (int i = 0; values && i < l->n_tensors; i++) {
        const TileTensor *t = p->tensors.data[i];
        Tensor *made = make_tensor(l, t, values);

        if (!made)
            return false;
        if (t->written)
            l->oracle[i] = made;
        else
            fill(l, l->inputs[i] = made, l->c->seed * 31 + (uint64_t)i);
    }
    return values != NULL;
}

/* ---- running tile IR ------------------------------------------------------------------------- */

/* A program may have more tensors than it was lowered with: workspaces of what passes put ahead of its kernels. */
static bool run_tile(Levels *l, const TileProgram *p, Tensor *const *outputs)
{
    Tensor **tensors = arena_array(l->arena, Tensor *, p->tensors.len + 1);
    const int64_t *values = dimension_values(l, p);
    int64_t *dims = arena_array(l->arena, int64_t, p->dims.len + 1);
    double *params = arena_array(l->arena, double, p->params.len + 1);
    TileRun run = {.tensors = tensors, .dims = dims, .params = params, .seed = rng_next(&l->rng)};
    const char *error;

    if (!values)
        return false;
    for (int i = 0; i < p->tensors.len; i++) {
        tensors[i] = i >= l->n_tensors ? make_tensor(l, p->tensors.data[i], values) : l->inputs[i] ? l->inputs[i] : outputs[i];
        if (!tensors[i])
            return false;
    }
    for (int i = 0; i < p->dims.len; i++)
        dims[i] = values[p->dims.data[i]->id];
    for (int i = 0; i < p->params.len; i++)
        if (!levels_value(l, p->params.data[i], &params[i]))
            return levels_differ(l, "nothing binds parameter %s", p->params.data[i]);
    return tile_run(l->arena, p, &run, &error) || levels_differ(l, "%s", error);
}

/* ---- comparing levels ---------------------------------------------------------------------------- */

typedef struct Comparison {
    Levels *l;
    const Tensor *got, *want;
    double noise, worst;
} Comparison;

static bool element_equal(void *user, const int64_t *at)
{
    Comparison *x = user;
    size_t size = (size_t)dtype_bytes(x->want->dtype);
    const char *a = (const char *)x->got->data + (size_t)tensor_index(x->got, at) * size;
    const char *b = (const char *)x->want->data + (size_t)tensor_index(x->want, at) * size;

    if (memcmp(a, b, size) == 0)
        return true;
    return levels_differ(x->l, "%s is %.9g, and was %.9g before; it must not change by a bit",
                         place(x->l, x->got, at), tensor_get(x->got, at), tensor_get(x->want, at));
}

bool levels_equal(Levels *l, Tensor *const *got, Tensor *const *want)
{
    for (int i = 0; i < l->n_tensors; i++) {
        Comparison x = {.l = l, .got = got[i], .want = want[i]};

        if (want[i] && !levels_each(want[i], element_equal, &x))
            return false;
    }
    return true;
}

/* What one rounding of the result, and numbers too small for a full mantissa, may do. */
static double rounding(DType t, double want)
{
    double least = t == DT_F16 ? 0x1p-24 : t == DT_E4M3 ? 0x1p-9 : t == DT_E5M2 ? 0x1p-16 : 1e-37;

    return dtype_epsilon(t) * fabs(want) + least;
}

static bool element_close(void *user, const int64_t *at)
{
    Comparison *x = user;
    double got = tensor_get(x->got, at), want = tensor_get(x->want, at), off, allowed;

    if (is_unwritten(x->want, at) != is_unwritten(x->got, at))
        return levels_differ(x->l, "%s was %s by the sequential level and is %s here",
                             place(x->l, x->got, at), is_unwritten(x->want, at) ? "not written" : "written",
                             is_unwritten(x->got, at) ? "not" : "written");
    if (is_unwritten(x->want, at) || got == want)
        return true;
    off = fabs(got - want);
    allowed = rounding(x->want->dtype, want) + NOISE_BOUND * x->noise;
    if (off / allowed > x->worst)
        x->worst = off / allowed;
    if (off <= allowed)
        return true;
    return levels_differ(x->l, "%s is %.9g, must be %.9g; off by %.3g where %.3g is allowed",
                         place(x->l, x->got, at), got, want, off, allowed);
}

bool levels_close(Levels *l, Tensor *const *got)
{
    double worst = 0;

    for (int i = 0; i < l->n_tensors; i++) {
        Comparison x = {.l = l, .got = got[i], .want = l->oracle[i], .noise = l->noise[i]};

        if (l->oracle[i] && !levels_each(l->oracle[i], element_close, &x))
            return false;
        worst = fmax(worst, x.worst);
    }
    passed(l, "the sequential level", worst);
    return true;
}

/* ---- noise ------------------------------------------------------------------------------------------- */

static bool element_noise(void *user, const int64_t *at)
{
    Comparison *x = user;
    double got = tensor_get(x->got, at), want = tensor_get(x->want, at);

    if (is_unwritten(x->want, at))
        return true;
    if (isfinite(want))
        x->worst = fmax(x->worst, fabs(want));
    if (got == want)
        return true;
    if (isnan(want) || isinf(want) || isnan(got) || isinf(got))
        return stop(x->l, LEVELS_VOID, "%s is %g, or %g when perturbed", place(x->l, x->want, at),
                           want, got);
    /* one rounding may turn the other way, whatever the perturbation */
    x->noise = fmax(x->noise, fabs(got - want) - rounding(x->want->dtype, want));
    return true;
}

static double coarse_unit(const Levels *l)
{
    double unit = 0;

    for (int i = 0; i < l->n_tensors; i++) {
        DType t = l->chain->tile->tensors.data[i]->dtype;

        if (dtype_is_narrow(t) && dtype_bytes(t) == 1)
            unit = fmax(unit, dtype_epsilon(t));
    }
    return unit;
}

static bool measure_noise(Levels *l, const TileProgram *p)
{
    enum { RUNS = 2 };

    levels_at(l, "noise");
    TileProgram *wide = tile_clone(l->arena, p);
    levels_widen(wide);
    Tensor **base = new_outputs(l, wide);
    if (!tile_verify(wide, l->chain->diags))
        return rejected(l);
    if (!run_tile(l, wide, base))
        return false;
    for (int run = 0; run < RUNS; run++) {
        TileProgram *perturbed = tile_clone(l->arena, wide);
        Tensor **outputs = new_outputs(l, wide);

        levels_perturb(perturbed, &l->rng);
        if (!tile_verify(perturbed, l->chain->diags))
            return rejected(l);
        if (!run_tile(l, perturbed, outputs))
            return false;
        for (int i = 0; i < l->n_tensors; i++) {
            Comparison x = {.l = l, .got = outputs[i], .want = base[i], .noise = l->noise[i]};

            if (!l->oracle[i])
                continue;
            if (!levels_each(base[i], element_noise, &x))
                return false;
            l->noise[i] = fmax(x.noise, LEAST_NOISE * x.worst);
            if (x.noise > fmax(VOID_NOISE, coarse_unit(l)) * x.worst)
                return stop(l, LEVELS_VOID, "noise of %s is %g, its largest element %g",
                                   l->oracle[i]->name, x.noise, x.worst);
        }
    }
    return true;
}

/* ---- the definition ---------------------------------------------------------------------------------- */

static Tensor *find_tensor(Tensor *const *tensors, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (tensors[i] && strcmp(tensors[i]->name, name) == 0)
            return tensors[i];
    return NULL;
}

typedef struct Asking {
    Levels *l;
    Ref *ref;
    int output, tensor;
    RefPrecision precision;
    int64_t count; /* elements so far */
    const Tensor *as; /* as the definition declares it */
} Asking;

/* What the output's dtype can hold of a number: beyond its range, infinity. */
static double in_range(DType dtype, double x)
{
    double rounded = dtype_round(dtype, x);

    return isinf(rounded) ? rounded : x;
}

/* Tensors in the shape that the definition declares, which kernels may see in another; as they are, where a size follows from
 * them alone. */
static void as_declared(Levels *l, const RefBinding *binds, int n, Tensor **inputs, Tensor **outputs)
{
    const Def *def = l->chain->def;
    Tensor **in = arena_array(l->arena, Tensor *, def->inputs.len + 1), **out = arena_array(l->arena, Tensor *, def->outputs.len + 1);
    const char *error;

    if (!ref_make_tensors(l->arena, def, binds, n, FILL_NORMAL, 1, in, out, &error))
        return;
    for (int i = 0; i < def->inputs.len; i++)
        inputs[i] = tensor_seen(l->arena, inputs[i], in[i]->rank, in[i]->dims);
    for (int i = 0; i < def->outputs.len; i++)
        outputs[i] = tensor_seen(l->arena, outputs[i], out[i]->rank, out[i]->dims);
}

/* Called for every element, in order; a row is asked for at its first. */
static bool ask_element(void *user, const int64_t *at)
{
    Asking *a = user;
    const Tensor *t = a->as;
    const double *row;

    if (at[t->rank - 1])
        return true;
    row = ref_row(a->ref, a->output, at);
    for (int64_t i = 0; i < t->dims[t->rank - 1]; i++, a->count++) {
        double *want = &a->l->exact[a->tensor][a->count];
        int64_t here[TENSOR_MAX_RANK];

        if (a->precision == REF_EXACT) {
            *want = in_range(t->dtype, row[i]);
            continue;
        }
        memcpy(here, at, sizeof here);
        here[t->rank - 1] = i;
        distance_add(&a->l->plain[a->tensor], t, here, row[i], *want);
    }
    return true;
}

/* Dimensions that are compiled in are no business of the launch. */
static int open_binds(const Levels *l, RefBinding *binds)
{
    const Def *def = l->chain->def;
    int n = 0;

    for (int i = 0; i < l->c->n_binds; i++) {
        const DefDimSym *dim = def_dim(def, l->c->binds[i].name);
        bool open = dim && dim->sym;

        for (int k = 0; k < def->params.len; k++)
            open |= strcmp(def->params.data[k].name, l->c->binds[i].name) == 0;
        if (open)
            binds[n++] = l->c->binds[i];
    }
    return n;
}

static bool consult(Levels *l, RefPrecision precision)
{
    const Def *def = l->chain->def;
    Tensor **inputs = arena_array(l->arena, Tensor *, def->inputs.len + 1), **outputs = arena_array(l->arena, Tensor *, def->outputs.len + 1);
    RefBinding binds[LEVEL_BINDS];
    int n = open_binds(l, binds);
    const char *error;
    Ref *ref;

    for (int i = 0; i < def->inputs.len; i++)
        if (!(inputs[i] = find_tensor(l->inputs, l->n_tensors, def->inputs.data[i]->name)))
            /* of several kernels none need declare what nothing reads */
            return stop(l, LEVELS_VOID, "no kernel has an input %s", def->inputs.data[i]->name);
    for (int i = 0; i < def->outputs.len; i++)
        if (!(outputs[i] = find_tensor(l->oracle, l->n_tensors, def->outputs.data[i]->name)))
            return levels_differ(l, "the kernel has no output %s", def->outputs.data[i]->name);
    as_declared(l, binds, n, inputs, outputs);
    ref = ref_new(l->arena, def, binds, n, inputs, precision, &error);
    if (!ref)
        return levels_differ(l, "%s", error);
    for (int i = 0; i < def->outputs.len; i++) {
        const Tensor *t = outputs[i];
        Asking a = {.l = l, .ref = ref, .output = i, .as = t, .precision = precision};

        while (!l->oracle[a.tensor] || strcmp(l->oracle[a.tensor]->name, t->name) != 0)
            a.tensor++;
        if (precision == REF_EXACT) {
            l->exact[a.tensor] = arena_array(l->arena, double, tensor_count(t) + 1);
            distance_start(&l->plain[a.tensor]);
        }
        levels_each(t, ask_element, &a);
        if (precision == REF_PLAIN)
            distance_finish(&l->plain[a.tensor]);
    }
    return true;
}

static bool consult_definition(Levels *l)
{
    levels_at(l, "definition");
    return !l->chain->def || (consult(l, REF_EXACT) && consult(l, REF_PLAIN));
}

typedef struct Judging {
    const Tensor *got;
    const double *want;
    Distance d;
    int64_t count;
} Judging;

static bool judge_element(void *user, const int64_t *at)
{
    Judging *j = user;

    double want = j->want[j->count++];

    if (!isnan(want)) /* else the definition gives no number */
        distance_add(&j->d, j->got, at, tensor_get(j->got, at), want);
    return true;
}

static RefFloor floor_of_output(const Levels *l, const char *name)
{
    const Def *def = l->chain->def;

    for (int i = 0; i < def->outputs.len; i++)
        if (strcmp(def->outputs.data[i]->name, name) == 0)
            return ref_floor(def, i);
    return (RefFloor){0, 0};
}

static bool right_output(Levels *l, int tensor, const Tensor *got, double *worst)
{
    Judging j = {.got = got, .want = l->exact[tensor]};
    double eps = dtype_epsilon(got->dtype), norm, largest;

    distance_start(&j.d);
    levels_each(got, judge_element, &j);
    distance_finish(&j.d);
    if (j.d.not_finite)
        return levels_differ(l, "%s is not finite or wrongly so at %lld places, first %s", got->name,
                             (long long)j.d.not_finite, place(l, got, j.d.worst));
    RefFloor least = floor_of_output(l, got->name);
    least.relative = fmax(least.relative, FLOOR_FUNCTIONS);
    norm = fmax(DEFINITION_BOUND * l->plain[tensor].frobenius,
                fmax(FLOOR_NORM * eps, least.relative + least.absolute / (j.d.max_want + 1e-37)));
    largest = fmax(DEFINITION_BOUND * l->plain[tensor].max_abs,
                   fmax(FLOOR_MAX * eps, least.relative) * j.d.max_want + least.absolute + 1e-37);
    *worst = fmax(*worst, fmax(j.d.frobenius / norm, j.d.max_abs / largest));
    if (j.d.frobenius > norm)
        return levels_differ(l, "%s is off the definition by %.3g (Frobenius); %.3g is allowed", got->name,
                             j.d.frobenius, norm);
    if (j.d.max_abs > largest)
        return levels_differ(l, "%s is off the definition by %.3g; %.3g is allowed", place(l, got, j.d.worst),
                             j.d.max_abs, largest);
    return true;
}

bool levels_right(Levels *l, Tensor *const *got)
{
    double worst = 0;

    if (!l->chain->def)
        return true;
    for (int i = 0; i < l->n_tensors; i++)
        if (l->exact[i] && !right_output(l, i, got[i], &worst))
            return false;
    passed(l, "the definition", worst);
    return true;
}

/* ---- text ------------------------------------------------------------------------------------------------ */

/* Code in canonical form reads back as itself. */
static bool print_and_parse_code(Levels *l)
{
    Chain *chain = l->chain;
    Str once = str_new(l->arena), twice = str_new(l->arena);
    Program *program = lang_parse(l->arena, chain->syms, chain->code, chain->diags);

    levels_at(l, "code");
    if (chain->diags->errors)
        return rejected(l);
    lang_print(&once, program);
    program = lang_parse(l->arena, chain->syms, chain_text(chain, "printed code", &once), chain->diags);
    if (chain->diags->errors)
        return levels_differ(l, "the printed code does not parse: %s", chain->diags->list.data[0].message);
    lang_print(&twice, program);
    if (strcmp(str_text(&once), str_text(&twice)) != 0)
        return levels_differ(l, "the printed code prints differently once it was parsed");
    chain->code = chain_text(chain, "printed code", &once);
    return true;
}

/* The checker finds nothing wrong with code that the other levels agree on. */
static bool check(Levels *l)
{
    Chain *chain = l->chain;
    CheckOptions options = {.target = chain->target, .settings = &chain->settings};
    Program *program = lang_parse(l->arena, chain->syms, chain->code, chain->diags);

    levels_at(l, "check");
    chain->diags->source = chain->code;
    if (!check_program(l->arena, chain->syms, program, &options, chain->diags))
        return rejected(l);
    chain->diags->list.len = 0; /* warnings */
    return true;
}

static TileProgram *print_and_parse(Levels *l, const TileProgram *p)
{
    Str text = str_new(l->arena), again = str_new(l->arena);
    Source *source;
    Diags *diags;
    TileProgram *back;

    tile_print(&text, p);
    source = chain_text(l->chain, "dump", &text);
    diags = diags_new(l->arena, source);
    back = tile_parse(l->arena, syms_new(l->arena), aff_ctx_new(l->arena), source, diags);
    if (!back || !tile_verify(back, diags)) {
        levels_differ(l, "the dump does not read back: %s",
                      diags->list.len ? diags->list.data[0].message : "no reason given");
        return NULL;
    }
    tile_print(&again, back);
    if (strcmp(str_text(&text), str_text(&again)) == 0)
        return back;
    levels_differ(l, "the dump reads back as something else");
    return NULL;
}

/* ---- levels ------------------------------------------------------------------------------------------------ */

static bool make_code(Levels *l)
{
    Chain *chain = l->chain;
    Str text = str_new(l->arena);

    if (l->c->definition) {
        str_add(&text, l->c->definition);
        levels_at(l, "definition");
        if (!chain_define(chain, chain_text(chain, "definition", &text)))
            return rejected(l);
    }
    if (l->c->code) {
        Str code = str_new(l->arena);

        str_add(&code, l->c->code);
        chain->code = chain_text(chain, "code", &code);
    } else {
        levels_at(l, "sketch");
        if (!chain_fuse(chain))
            return rejected(l);
        levels_at(l, "reasoner");
        if (!chain_reason(chain, chain->sketch))
            return rejected(l);
    }
    return print_and_parse_code(l) && check(l);
}

static bool sequential(Levels *l, const TileProgram *p)
{
    levels_at(l, "tile IR as lowered");
    if (!make_tensors(l, p))
        return false;
    l->noise = arena_array(l->arena, double, l->n_tensors + 1);
    l->exact = arena_array(l->arena, double *, l->n_tensors + 1);
    l->plain = arena_array(l->arena, Distance, l->n_tensors + 1);
    if (!run_tile(l, p, l->oracle))
        return false;
    l->before = l->oracle;
    if (!consult_definition(l) || !measure_noise(l, p))
        return false;
    /* A small perturbation turns few of the roundings to 16 bits on the way. */
    for (int i = 0; i < l->n_tensors; i++)
        if (l->exact[i])
            l->noise[i] = fmax(l->noise[i], l->plain[i].max_abs / 8);
    levels_at(l, "tile IR as lowered");
    for (int i = 0; i < l->n_tensors; i++)
        if (l->oracle[i])
            str_printf(&l->report->log, "%-40s noise of %s %.3g\n", "", l->oracle[i]->name, l->noise[i]);
    return levels_right(l, l->oracle);
}

/* The program with the kernels for any alignment in place of the others; NULL: it has none, or none that goes through
 * passes in a way of its own before the last. */
static TileProgram *for_any_alignment(Levels *l, const TileProgram *program, bool last)
{
    TileProgram *any = tile_clone(l->arena, program);
    bool found = false;

    for (int i = 0; i < any->kernels.len; i++) {
        TileKernel *plain = any->kernels.data[i]->plain;

        found |= plain && (last || plain->window.sym);
        if (plain)
            any->kernels.data[i] = plain;
    }
    return found ? any : NULL;
}

static bool after_pass_for_any(Levels *l, const Snapshot *s, bool last)
{
    Tensor **outputs = new_outputs(l, s->program);
    TileProgram *any = for_any_alignment(l, s->program, last), *back;

    if (!any)
        return true;
    levels_at(l, "tile IR after %s, for any alignment", s->name);
    back = print_and_parse(l, any);
    return back && run_tile(l, back, outputs) && levels_close(l, outputs) && levels_right(l, outputs);
}

static bool after_pass(Levels *l, const Snapshot *s)
{
    Tensor **outputs = new_outputs(l, s->program);
    TileProgram *back;

    levels_at(l, "tile IR after %s", s->name);
    back = print_and_parse(l, s->program);
    if (!back || !run_tile(l, back, outputs))
        return false;
    if (s->exact ? !levels_equal(l, outputs, l->before) : !levels_close(l, outputs) || !levels_right(l, outputs))
        return false;
    l->before = outputs;
    return true;
}

/* The passes of the sequential level as for a kernel whose warps will be specialized. */
static bool specialize(Levels *l, TileProgram *p)
{
    const Target *target = target_find("sm_90a");
    int n;
    const Pass *all = pass_all(&n);

    for (int i = 0; i < n && strcmp(all[i].name, "direct") != 0; i++)
        for (int k = 0; k < p->kernels.len && strcmp(all[i].name, "split") != 0; k++) {
            TileKernel *kernel = p->kernels.data[k];

            kernel->specialized = 1;
            if (!all[i].run(p, kernel, target, l->chain->diags))
                return rejected(l);
            kernel->facts |= all[i].gives;
        }
    return tile_verify(p, l->chain->diags) || rejected(l);
}

static bool specialized(Levels *l, const TileProgram *lowered)
{
    TileProgram *p = tile_clone(l->arena, lowered), *back;
    Tensor **outputs = new_outputs(l, p);
    bool composite = false;

    for (int k = 0; k < p->kernels.len; k++)
        composite |= tile_has(p->kernels.data[k]->body, TILE_SOFTMAX);
    if (!composite)
        return true;
    levels_at(l, "tile IR to be specialized");
    back = specialize(l, p) ? print_and_parse(l, p) : NULL;
    return back && run_tile(l, back, outputs) && levels_close(l, outputs) && levels_right(l, outputs);
}

static bool all_levels(Levels *l)
{
    Chain *chain = l->chain;

    if (!make_code(l))
        return false;
    levels_at(l, "lowering");
    if (!chain_lower(chain, chain->code))
        return rejected(l);
    levels_at(l, "passes");
    if (!sequential(l, chain->snapshots.data[0].program))
        return false;
    if (!specialized(l, chain->snapshots.data[0].program))
        return false;
    levels_at(l, "passes");
    if (!chain_schedule(chain))
        return rejected(l);
    for (int i = 0; i < chain->snapshots.len; i++)
        if (!after_pass(l, &chain->snapshots.data[i]) ||
            !after_pass_for_any(l, &chain->snapshots.data[i], i == chain->snapshots.len - 1))
            return false;
    levels_at(l, "PTX");
    if (!chain_emit(chain))
        return rejected(l);
    return levels_ptx(l);
}

LevelReport levels_run(Arena *arena, const LevelCase *c)
{
    LevelReport report = {.verdict = LEVELS_AGREE, .level = "", .log = str_new(arena)};
    Levels l = {.arena = arena, .c = c, .report = &report, .rng = {c->seed}};
    const char *error;

    l.chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL),
                        target_described(arena, c->target ? c->target : "sm_80", &error), c->dtype);
    l.chain->keep_snapshots = true;
    for (int i = 0; i < c->n_sets; i++) {
        error = chain_set(l.chain, c->sets[i]);
        if (error)
            levels_differ(&l, "%s: %s", c->sets[i], error);
    }
    if (report.verdict == LEVELS_AGREE)
        all_levels(&l);
    return report;
}
