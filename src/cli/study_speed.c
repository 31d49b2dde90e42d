/* study_speed.c: two kernels for one definition, timed in turn in a process of its own: one that
 * hangs ends that process.
 *
 *   FOLDER/speed.txt   the ratio, and the digest of what was compared
 */
#include "cli/study_speed.h"

#include "chain/launch.h"
#include "gpu/gpu.h"

#include <stdlib.h>
#include <unistd.h>

enum { TILED = 2048, COUNT = 4, ROUNDS = 9, PATIENCE = 20, DIGEST = 64 };
static const double LIMIT = 120; /* seconds */

typedef struct Pair {
    Arena *arena;
    Chain *ours, *theirs; /* built in; the author's */
    const Source *ours_ptx, *theirs_ptx;
    LaunchShape shape;
    uint64_t seed;
    int out;              /* of the pipe that takes the ratio */
} Pair;

static int look(void *user)
{
    const char *error;
    Gpu *gpu = gpu_open(user, &error);

    if (gpu)
        gpu_close(gpu);
    return !gpu;
}

StudySpeed study_speed_new(Session *s)
{
    const char *problem;

    return (StudySpeed){s, gpu_guarded(PATIENCE, look, s->arena, &problem) == 0};
}

/* ---- what is compared ------------------------------------------------------------------ */

static bool built_in(Chain *chain, const Source *defined)
{
    return chain_define(chain, defined) && chain_fuse(chain) && chain_reason(chain, chain->sketch) &&
           chain_lower(chain, chain->code) && chain_schedule(chain) && chain_emit(chain);
}

static bool is_tiled(const Def *def, const AffSym *sym)
{
    for (int i = 0; i < def->inputs.len + def->outputs.len; i++) {
        const DefValue *v = i < def->inputs.len ? def->inputs.data[i] : def->outputs.data[i - def->inputs.len];

        for (int k = v->rank > 2 ? v->rank - 2 : 0; k < v->rank; k++)
            if (aff_uses(v->dims[k].size, sym))
                return true;
    }
    return false;
}

static void choose_shape(Pair *pair)
{
    const Def *def = pair->ours->def;

    for (int i = 0; i < def->dims.len; i++) {
        const DefDimSym *dim = &def->dims.data[i];

        if (dim->sym && strcmp(dim->sym->name, dim->name) == 0)
            vec_push(pair->arena, &pair->shape, (RefBinding){dim->name, is_tiled(def, dim->sym) ? TILED : COUNT});
    }
    for (int i = 0; i < def->params.len; i++)
        if (!def->params.data[i].default_value)
            vec_push(pair->arena, &pair->shape, (RefBinding){def->params.data[i].name, 40});
}

static bool prepare(Pair *pair, Flow *flow, StudyMode mode)
{
    Arena *arena = pair->arena;

    pair->ours = chain_like(arena, flow->chain, diags_new(arena, NULL));
    pair->theirs = chain_like(arena, flow->chain, diags_new(arena, NULL));
    if (!built_in(pair->ours, flow->chain->defined) || !(pair->theirs_ptx = study_ptx(flow, mode, pair->theirs)))
        return false;
    pair->ours_ptx = pair->ours->ptx;
    choose_shape(pair);
    return true;
}

/* ---- timing ------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *ms)
{
    qsort(ms, ROUNDS, sizeof *ms, by_size);
    return ms[ROUNDS / 2];
}

static int work(void *user)
{
    Pair *pair = user;
    BenchOptions options = {.rounds = ROUNDS, .seed = pair->seed, .suspect = true};
    BenchEntry entries[2] = {{.def = pair->ours->def, .bindings = pair->shape.data, .n_bindings = pair->shape.len},
                             {.def = pair->theirs->def, .bindings = pair->shape.data, .n_bindings = pair->shape.len}};
    const char *error, *log;
    Gpu *gpu = gpu_open(pair->arena, &error);
    double ratio;

    if (!gpu)
        return 1;
    gpu_set_patience(gpu, PATIENCE);
    entries[0].module = gpu_load(gpu, pair->ours->abi, pair->ours_ptx->text, &log, &error);
    entries[1].module = entries[0].module ? gpu_load(gpu, pair->theirs->abi, pair->theirs_ptx->text, &log, &error) : NULL;
    if (!entries[1].module || !gpu_bench(gpu, entries, 2, &options, &error))
        return 1;
    ratio = median(entries[0].ms) / median(entries[1].ms);
    return write(pair->out, &ratio, sizeof ratio) != sizeof ratio;
}

static double measure(Pair *pair)
{
    double ratio = 0;
    const char *problem;
    int ends[2];

    if (pipe(ends) != 0)
        return 0;
    pair->out = ends[1];
    if (gpu_guarded(LIMIT, work, pair, &problem) != 0 || read(ends[0], &ratio, sizeof ratio) != sizeof ratio)
        ratio = 0;
    close(ends[0]);
    close(ends[1]);
    return ratio > 0 ? ratio : 0;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static const char *digest(const Pair *pair)
{
    const char *both = arena_printf(pair->arena, "%s\n%s\n%s", pair->ours_ptx->text, pair->theirs_ptx->text,
                                    launch_text(pair->arena, &pair->shape));

    return sha256_text(pair->arena, both, strlen(both));
}

static double remembered(const Pair *pair, const char *path)
{
    const char *error;
    Source *file = access(path, R_OK) == 0 ? source_read(pair->arena, path, &error) : NULL;

    return file && strncmp(file->text, digest(pair), DIGEST) == 0 ? strtod(file->text + DIGEST, NULL) : 0;
}

static double find(const StudySpeed *speed, Pair *pair, const char *folder)
{
    const char *path = arena_printf(pair->arena, "%s/speed.txt", folder), *text;
    double ratio = remembered(pair, path);

    if (ratio > 0 || !speed->gpu)
        return ratio;
    ratio = measure(pair);
    text = arena_printf(pair->arena, "%s %.6g\n", digest(pair), ratio);
    if (ratio > 0)
        file_write(pair->arena, path, text, strlen(text));
    return ratio;
}

double study_speed(const StudySpeed *speed, Flow *flow, StudyMode mode)
{
    Pair pair = {.arena = arena_new(&speed->s->heap), .seed = speed->s->options.seed};
    double ratio = 0;

    if ((speed->gpu || access(arena_printf(pair.arena, "%s/speed.txt", flow->options.folder), R_OK) == 0) &&
        prepare(&pair, flow, mode))
        ratio = find(speed, &pair, flow->options.folder);
    arena_free(pair.arena);
    return ratio;
}
