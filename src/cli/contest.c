/* contest.c: see contest.h.
 *
 *   in the guarded process    load both ─► verify theirs ─► time both in turn
 *   through a pipe            the verdict, as it stands in memory
 */
#include "cli/contest.h"

#include "cli/launch.h"
#include "gpu/gpu.h"

#include <unistd.h>

enum { TILED = 2048, COUNT = 4, ROUNDS = 9, PATIENCE = 20 };
static const double LIMIT = 300; /* seconds */

typedef struct Work {
    Contest *contest;
    FlowMeasured found;
    int out; /* of the pipe */
} Work;

static int look(void *user)
{
    const char *error;
    Gpu *gpu = gpu_open(user, &error);

    if (gpu)
        gpu_close(gpu);
    return !gpu;
}

bool contest_has_gpu(Session *s)
{
    const char *problem;

    return gpu_guarded(PATIENCE, look, s->arena, &problem) == 0;
}

/* ---- what is compared ------------------------------------------------------------------ */

Chain *contest_built_in(Arena *arena, const Chain *like)
{
    Chain *chain = chain_like(arena, like, diags_new(arena, NULL));

    return chain_make(chain, like->defined) ? chain : NULL;
}

static void add(Contest *c, const char *name, double value)
{
    double known;

    if (!launch_find(&c->shape, name, &known))
        vec_push(c->arena, &c->shape, (RefBinding){name, value});
}

bool contest_shape(Contest *c)
{
    const Options *o = &c->s->options;
    const Def *def = c->theirs->def;

    if (!launch_parse(c->s, "bind", o->binds.data, o->binds.len, &c->shape))
        return false;
    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];

        if (dim->sym && strcmp(dim->sym->name, dim->name) == 0)
            add(c, dim->name, def_is_tiled(def, dim->sym) ? TILED : COUNT);
    }
    for (int i = 0; i < def->params.len; i++)
        if (!def->params.data[i].default_value)
            add(c, def->params.data[i].name, 40);
    return true;
}

/* ---- in the guarded process ----------------------------------------------------------------- */

static void wrong(FlowMeasured *found, const char *where, const char *what)
{
    found->verdict = FLOW_WRONG;
    snprintf(found->problem, sizeof found->problem, "%s%s%s", where, *where ? ": " : "", what);
}

static bool verify(const Contest *c, Gpu *gpu, GpuModule *module, FlowMeasured *found)
{
    VerifyOptions options = {.bindings = c->shape.data, .n_bindings = c->shape.len, .quick = c->quick,
                             .seed = c->s->options.seed, .bound = c->s->options.bound};
    VerifyReport report;
    const char *error;

    if (!gpu_verify(gpu, module, c->theirs->def, &options, &report, &error))
        return wrong(found, "", error), false;
    for (int i = 0; i < report.cases.len; i++)
        if (!report.cases.data[i].ok)
            return wrong(found, report.cases.data[i].what, report.cases.data[i].problem), false;
    return true;
}

/* What nobody is to blame for but us leaves the kernel without a time. */
static void time_both(const Contest *c, Gpu *gpu, GpuModule *theirs, GpuModule *ours, FlowMeasured *found)
{
    BenchOptions options = {.rounds = ROUNDS, .seed = c->s->options.seed, .suspect = true};
    BenchEntry entries[2] = {{.module = theirs, .def = c->theirs->def, .bindings = c->shape.data, .n_bindings = c->shape.len},
                             {.module = ours, .bindings = c->shape.data, .n_bindings = c->shape.len}};
    const char *error;

    if (ours)
        entries[1].def = c->built_in->def;
    if (!gpu_bench(gpu, entries, ours ? 2 : 1, &options, &error)) {
        if (entries[0].failed)
            wrong(found, launch_text(c->arena, &c->shape), error);
        return;
    }
    found->ms = median(entries[0].ms, ROUNDS);
    found->built_in_ms = ours ? median(entries[1].ms, ROUNDS) : 0;
}

static void compete(const Contest *c, FlowMeasured *found)
{
    const char *error, *log = NULL;
    GpuInfo info;
    GpuModule *ours = NULL, *theirs;
    Gpu *gpu = gpu_open(c->arena, &error);

    if (!gpu)
        return;
    gpu_set_patience(gpu, PATIENCE);
    gpu_info(gpu, &info);
    snprintf(found->gpu, sizeof found->gpu, "%s", info.name);
    if (c->built_in && !(ours = gpu_load(gpu, c->built_in->abi, c->built_in->ptx->text, &log, &error)))
        return; /* it is not for this GPU */
    theirs = gpu_load(gpu, c->theirs->abi, c->ptx, &log, &error);
    found->verdict = FLOW_RIGHT;
    if (!theirs)
        wrong(found, error, log ? log : "the driver does not take it");
    else if (verify(c, gpu, theirs, found))
        time_both(c, gpu, theirs, ours, found);
}

static int work(void *user)
{
    Work *w = user;

    compete(w->contest, &w->found);
    return write(w->out, &w->found, sizeof w->found) != sizeof w->found;
}

FlowMeasured contest_run(Contest *c)
{
    Work w = {.contest = c};
    FlowMeasured found = {0};
    const char *problem;
    int ends[2], status;

    if (pipe(ends) != 0)
        return found;
    w.out = ends[1];
    status = gpu_guarded(LIMIT, work, &w, &problem);
    if (status == GPU_STOPPED)
        found.verdict = FLOW_UNTRIED;
    else if (status < 0)
        wrong(&found, "", problem);
    else if (status > 0 || read(ends[0], &found, sizeof found) != sizeof found)
        found = (FlowMeasured){0};
    close(ends[0]);
    close(ends[1]);
    return found;
}
