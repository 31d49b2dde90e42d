/* verify.c: does a kernel do what its definition says, on this GPU?
 *
 * A case is a shape, contents of the inputs, and a placing in memory. In each,
 * the program runs from poisoned outputs between guards; what it changed is
 * inspected; chosen rows are compared with the definition in fp64 and with what
 * a plain implementation of the same precision gives; it runs again, and must
 * give the same bits, or, where its blocks add to memory in any order, must be as
 * near. One case also goes through all the ways of launching.
 */
#include "gpu/modes.h"

#include <math.h>

enum { ROWS_LEAST = 96, ROWS_FEWEST = 16, ROWS_MOST = 1024, ALL_BELOW = 1024, ELEMENTS_LEAST = 1 << 16 };

/* Operations of the definition that comparing one case may take: a few seconds
 * for each 1e9. The largest error of few elements is a matter of luck, so more is spent where rows
 * are dear. */
static const double first_budget = 2e9, other_budget = 6e8, quick_budget = 1e8;

typedef struct Case {
    StandSpec spec;
    const char *shape;
    bool modes;    /* all ways of launching */
    bool required; /* an illegal shape is a failure */
    double budget;
    const char *again; /* of a further run, the way of launching; NULL: the first */
} Case;

typedef struct Verifier {
    Gpu *gpu;
    GpuModule *module;
    const Def *def;
    const VerifyOptions *options;
    VerifyReport *report;
    double bound;
    int tried;           /* of the shapes that were not asked for */
    const char *illegal; /* why the last shape could not be tried */
} Verifier;

/* ---- recording ---------------------------------------------------------------------- */

static const char *case_text(const Verifier *v, const Case *c, const char *output)
{
    return arena_printf(v->gpu->arena, "%s, %s, %s%s%s%s%s", c->shape, fill_name(c->spec.fill),
                        placing_name(c->spec.placing), c->again ? ", " : "", c->again ? c->again : "",
                        output ? ", " : "", output ? output : "");
}

static const char *why_wrong(const RefVerdict *verdict)
{
    if (verdict->got.compared == 0 && verdict->undefined > 0)
        return "the definition gives no number here, and nothing could be compared";
    return verdict->got.not_finite ? "it gave numbers that are not finite" : "its error is too large";
}

/* Data or a shape that nobody asked for, of which the definition makes no number: large ones, whose exponentials are infinite; so few
 * keys that a part of them has none. */
static bool says_nothing(const Case *c, const RefVerdict *verdict)
{
    return (c->spec.fill != FILL_NORMAL || !c->required) && verdict->got.compared == 0 && verdict->undefined > 0;
}

static void record(Verifier *v, const Case *c, const char *output, const RefVerdict *verdict,
                   const char *problem)
{
    VerifyCase result = {.what = case_text(v, c, output), .problem = problem, .ok = !problem};
    if (verdict) {
        result.verdict = *verdict;
        result.says_nothing = !problem && says_nothing(c, verdict);
        result.ok = !problem && (verdict->ok || result.says_nothing);
        if (!result.ok && !problem)
            result.problem = why_wrong(verdict);
    }
    v->report->failed += !result.ok;
    vec_push(v->gpu->arena, &v->report->cases, result);
}

/* After a failure: whether the device still answers. */
static bool alive(Verifier *v)
{
    const char *error = v->gpu->error;
    bool ok = v->gpu->cu.context_sync() == 0;
    v->gpu->error = error;
    return ok;
}

/* ---- one case ----------------------------------------------------------------------- */

/* The tensors that repeated runs are fetched into, by tensor of the ABI. */
static Tensor **like_outputs(const Stand *s)
{
    Tensor **to = arena_array(s->arena, Tensor *, s->abi->tensors.len + 1);
    const char *error;
    for (int i = 0; i < s->abi->tensors.len; i++)
        if (stand_is_output(s, i))
            to[i] = tensor_new(s->arena, s->hosts[i]->name, s->hosts[i]->dtype, s->hosts[i]->rank,
                               s->hosts[i]->dims, &error);
    return to;
}

static const char *compare_bits(const Stand *s, Tensor *const *again, const Mode *mode)
{
    for (int i = 0; i < s->abi->tensors.len; i++)
        if (again[i] && memcmp(again[i]->data, s->hosts[i]->data, again[i]->bytes) != 0)
            return arena_printf(s->gpu->arena, "%s, it gave other bits in %s", mode->name,
                                again[i]->name);
    return NULL;
}

/* Runs into s->hosts. Returns false when the driver failed (gpu->error). */
static bool run_first(Stand *s, const char **problem)
{
    return modes_all()->run(s) && stand_fetch(s, s->hosts, problem);
}

/* The same again, in one way or in all. */
static bool run_again(Stand *s, bool all_modes, const char **problem)
{
    const Mode *mode = modes_all();
    Tensor **again = like_outputs(s);
    for (; mode->name && !*problem; mode++) {
        if (!stand_reset(s) || !mode->run(s) || !stand_fetch(s, again, problem))
            return false;
        if (!*problem)
            *problem = compare_bits(s, again, mode);
        if (!all_modes)
            break;
    }
    return true;
}

/* Rows that are compared in any case: fewer, where they are long. */
static double rows_least(int64_t cols)
{
    double enough = ceil((double)ELEMENTS_LEAST / (double)(cols + 1));

    return fmin(ROWS_LEAST, fmax(ROWS_FEWEST, enough));
}

/* How many rows the budget is enough for. */
static int64_t count_rows(const Verifier *v, const Case *c, const Stand *s, const Tensor *output)
{
    double flops = ref_flops(s->arena, v->def, c->spec.bindings, c->spec.n_bindings);
    int64_t cols = output->rank ? output->dims[output->rank - 1] : 1;
    double rows = (double)tensor_count(output) / (double)(cols + 1);
    double fit = flops > 0 ? c->budget / flops * rows : ROWS_MOST;
    return (int64_t)fmin(ROWS_MOST, fmax(rows_least(cols), fit));
}

static void compare_outputs(Verifier *v, const Case *c, const Stand *s, const char *problem)
{
    const Def *def = v->def;
    for (int o = 0; o < def->outputs.len; o++) {
        const char *name = def->outputs.len > 1 ? def->outputs.data[o]->name : NULL, *error;
        RefVerdict verdict;
        RowList *rows = rows_choose(s->arena, s->outputs[o], ALL_BELOW, 64,
                                    count_rows(v, c, s, s->outputs[o]), c->spec.seed);
        if (ref_compare(s->arena, def, c->spec.bindings, c->spec.n_bindings, s->inputs, s->outputs,
                        o, rows, v->bound, &verdict, &error))
            record(v, c, name, &verdict, problem);
        else
            record(v, c, name, NULL, arena_strdup(v->gpu->arena, error));
    }
}

/* Where blocks add in any order no two runs need give the same bits, and each is compared
 * with the definition. */
static bool compare_again(Verifier *v, const Case *c, Stand *s)
{
    const Mode *mode = modes_all();
    for (bool more = true; more && mode->name; mode++) {
        const char *problem = NULL;
        Case again = *c;
        again.again = mode->name;
        if (!stand_reset(s) || !mode->run(s) || !stand_fetch(s, s->hosts, &problem))
            return false;
        compare_outputs(v, &again, s, problem);
        more = c->modes;
    }
    return true;
}

/* False: the device was lost. */
static bool try_stand(Verifier *v, const Case *c, Stand *s)
{
    const char *problem = NULL;
    bool unordered = v->module->abi->unordered;
    bool ok = stand_place(s, c->spec.placing) && run_first(s, &problem) && (unordered || run_again(s, c->modes, &problem));
    if (ok)
        compare_outputs(v, c, s, problem);
    if (ok && unordered)
        ok = compare_again(v, c, s);
    if (!ok)
        record(v, c, NULL, NULL, v->gpu->error);
    ok = ok || alive(v);
    stand_free(s);
    return ok;
}

static bool try_case(Verifier *v, const Case *c)
{
    Arena *arena = arena_new(arena_heap(v->gpu->arena));
    Stand stand;
    const char *error = NULL;
    bool ok = true;
    if (v->options->progress)
        v->options->progress(v->options->user, case_text(v, c, NULL));
    if (stand_make(&stand, arena, v->module, v->def, &c->spec, &error)) {
        v->tried += !c->required;
        ok = try_stand(v, c, &stand);
    } else {
        v->illegal = arena_strdup(v->gpu->arena, error);
        if (c->required)
            record(v, c, NULL, NULL, v->illegal);
    }
    arena_free(arena);
    return ok;
}

/* ---- all cases ---------------------------------------------------------------------- */

/* The shape asked for: every content, then every placing. */
static bool try_requested(Verifier *v)
{
    const VerifyOptions *o = v->options;
    Case c = {.spec = {.bindings = o->bindings, .n_bindings = o->n_bindings, .seed = o->seed},
              .shape = gpu_shape_text(v->gpu->arena, o->bindings, o->n_bindings),
              .required = true};
    int n;
    const FillKind *fills = gpu_fills(&n);
    for (int i = 0; i < n; i++) {
        c.spec.fill = fills[i];
        c.modes = i == 0;
        c.budget = i == 0 ? first_budget : other_budget;
        if (!try_case(v, &c))
            return false;
    }
    c.spec.fill = FILL_NORMAL;
    for (int p = PLACE_PLAIN + 1; p < PLACE_COUNT && !o->only_requested; p++) {
        c.spec.placing = (Placing)p;
        if (!try_case(v, &c))
            return false;
    }
    return true;
}

enum { QUICK_SHAPES = 4 };

static bool try_others(Verifier *v)
{
    const VerifyOptions *o = v->options;
    Arena *arena = v->gpu->arena;
    GpuShapes *shapes = gpu_shapes(arena, v->module->abi, v->def, o->bindings, o->n_bindings, o->seed);
    GpuShapes *ranges = gpu_range_shapes(arena, v->module->abi, v->def, o->bindings, o->n_bindings, o->seed);
    for (int i = 0; i < ranges->list.len; i++)
        vec_push(arena, &shapes->list, ranges->list.data[i]);
    int n;
    const FillKind *fills = gpu_fills(&n);
    for (int i = 0; i < shapes->list.len && !(o->quick && v->tried >= QUICK_SHAPES); i++) {
        const GpuShape *shape = &shapes->list.data[i];
        Case c = {.spec = {shape->bindings, shape->n, fills[i % n],
                           (Placing)(i % PLACE_COUNT), o->seed + 1 + (uint64_t)i},
                  .shape = shape->what,
                  .modes = i == 1 && !o->quick,
                  .budget = o->quick ? quick_budget : other_budget};
        if (!try_case(v, &c))
            return false;
    }
    if (shapes->list.len > 0 && v->tried == 0) {
        Case none = {.shape = "other shapes"};
        record(v, &none, NULL, NULL, v->illegal);
    }
    return true;
}

bool gpu_verify(Gpu *gpu, GpuModule *module, const Def *def, const VerifyOptions *options,
                VerifyReport *report, const char **error)
{
    Verifier v = {.gpu = gpu,
                  .module = module,
                  .def = def,
                  .options = options,
                  .report = report,
                  .bound = options->bound > 0 ? options->bound : 2};
    *report = (VerifyReport){0};
    gpu->error = NULL;
    if ((options->quick || try_requested(&v)) && ((options->only_requested && !options->quick) || try_others(&v)))
        return true;
    const VerifyCase *last = &report->cases.data[report->cases.len - 1];
    *error = arena_printf(gpu->arena, "the GPU does not answer any more after %s: %s", last->what,
                          last->problem);
    return false;
}
