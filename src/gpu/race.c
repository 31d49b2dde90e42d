/* race.c: programs for one definition timed in turn, on the same tensors.
 *
 * The sets of tensors that take turns (bench.c) are made once; each program has stands
 * on them, with workspaces and counters of its own.
 */
#include "gpu/stand.h"

#include <math.h>

enum { MOST_LAUNCHES = 2000 };

static const double batch_ms = 5;

typedef struct Lane {
    GpuModule *module; /* NULL: not entered yet */
    Stand stands[STAND_SETS];
    int launches;      /* of a batch; 0: not known yet */
} Lane;

struct GpuRace {
    Gpu *gpu;
    Arena *arena;
    const Def *def;
    StandSpec spec;
    Tensor **inputs, **outputs;
    Stand sets[STAND_SETS]; /* of the program that entered first */
    int n_sets;
    Lane *lanes;
    int n_lanes;
    int next; /* set */
    void *from, *to;
    Tensor **expected; /* outputs by the definition's order; NULL: none yet */
};

GpuRace *gpu_race_open(Gpu *gpu, const Def *def, const RefBinding *bindings, int n_bindings, Tensor **inputs,
                       Tensor **outputs, int programs)
{
    Arena *arena = arena_new(arena_heap(gpu->arena));
    GpuRace *race = arena_new_of(arena, GpuRace);
    race->gpu = gpu;
    race->arena = arena;
    race->def = def;
    race->spec = (StandSpec){bindings, n_bindings, FILL_NORMAL, PLACE_PLAIN, 0};
    race->inputs = inputs;
    race->outputs = outputs;
    race->lanes = arena_array(arena, Lane, programs + 1);
    race->n_lanes = programs;
    return race;
}

/* ---- entering ------------------------------------------------------------------------- */

static bool make_events(GpuRace *r)
{
    Driver *cu = &r->gpu->cu;
    return gpu_ok(r->gpu, cu->event_create(&r->from, 0), "making an event") &&
           gpu_ok(r->gpu, cu->event_create(&r->to, 0), "making an event");
}

static bool take(GpuRace *r, Stand *stand, GpuModule *module)
{
    const char *error = NULL;
    return stand_take(stand, r->arena, module, r->def, &r->spec, r->inputs, r->outputs, &error) ||
           gpu_fail(r->gpu, "%s", error ? error : "the shape does not fit the program");
}

/* The tensors on the device, as often as they take turns. */
static bool make_sets(GpuRace *r, GpuModule *module)
{
    if (!make_events(r) || !take(r, &r->sets[0], module))
        return false;
    r->n_sets = 1;
    if (!stand_place(&r->sets[0], PLACE_PLAIN))
        return false;
    for (int wanted = stand_sets(r->gpu, &r->sets[0]); r->n_sets < wanted;)
        if (!stand_again(&r->sets[r->n_sets++], &r->sets[0]))
            return false;
    return true;
}

static bool enter(GpuRace *r, Lane *lane, GpuModule *module)
{
    if (!r->n_sets && !make_sets(r, module))
        return false;
    for (int i = 0; i < r->n_sets; i++)
        if (!take(r, &lane->stands[i], module) || !stand_share(&lane->stands[i], &r->sets[i]))
            return false;
    lane->module = module;
    return true;
}

bool gpu_race_enter(GpuRace *r, int i, GpuModule *module, const char **error)
{
    bool ok = enter(r, &r->lanes[i], module);
    *error = ok ? NULL : r->gpu->error;
    return ok;
}

/* ---- timing --------------------------------------------------------------------------- */

static bool launch_some(GpuRace *r, Lane *lane, int launches)
{
    for (int i = 0; i < launches; i++) {
        if (!gpu_launch(&lane->stands[r->next].call, NULL))
            return false;
        r->next = (r->next + 1) % r->n_sets;
    }
    return true;
}

static bool time_batch(GpuRace *r, Lane *lane, int launches, double *ms)
{
    Driver *cu = &r->gpu->cu;
    float elapsed = 0;
    if (!gpu_ok(r->gpu, cu->event_record(r->from, NULL), "recording an event") || !launch_some(r, lane, launches) ||
        !gpu_ok(r->gpu, cu->event_record(r->to, NULL), "recording an event") ||
        !gpu_wait_event(r->gpu, r->to, "running the kernel") ||
        !gpu_ok(r->gpu, cu->event_elapsed(&elapsed, r->from, r->to), "reading the time"))
        return false;
    *ms = (double)elapsed / launches;
    return true;
}

/* A launch to warm up, a few to know how many make a batch. */
static bool calibrate(GpuRace *r, Lane *lane)
{
    double ms = 0;
    if (!time_batch(r, lane, 1, &ms) || !time_batch(r, lane, 2, &ms))
        return false;
    double launches = batch_ms / (ms > 1e-4 ? ms : 1e-4);
    lane->launches = launches < 2 ? 2 : launches > MOST_LAUNCHES ? MOST_LAUNCHES : (int)launches;
    return true;
}

bool gpu_race_time(GpuRace *r, int i, double *ms, const char **error)
{
    Lane *lane = &r->lanes[i];
    bool ok = (lane->launches || calibrate(r, lane)) && launch_some(r, lane, 1) && time_batch(r, lane, lane->launches, ms);
    *error = ok ? NULL : r->gpu->error;
    return ok;
}

/* ---- comparing ------------------------------------------------------------------------ */

static Tensor *copy_of(Arena *arena, const Tensor *t)
{
    const char *error;
    Tensor *copy = tensor_new(arena, t->name, t->dtype, t->rank, t->dims, &error);
    memcpy(copy->data, t->data, t->bytes);
    return copy;
}

/* |a - b| / |b|, of a million elements or two; those that are no numbers must be so in both. */
static double distance(const Tensor *a, const Tensor *b)
{
    double apart = 0, whole = 0;
    int64_t n = tensor_count(a), step = (n >> 20) | 1;
    int size = dtype_bytes(a->dtype);
    for (int64_t i = 0; i < n; i += step) {
        double x = dtype_load(a->dtype, (const char *)a->data + i * size), y = dtype_load(b->dtype, (const char *)b->data + i * size);
        if (!isfinite(x) || !isfinite(y)) {
            if (isnan(x) ? isnan(y) : x == y)
                continue;
            return INFINITY;
        }
        apart += (x - y) * (x - y);
        whole += y * y;
    }
    return apart == 0 ? 0 : sqrt(apart / (whole > 0 ? whole : 1e-300));
}

static bool run_once(GpuRace *r, Stand *s)
{
    const char *problem = NULL;
    if (!stand_reset(s) || !gpu_launch(&s->call, NULL) || !stand_fetch(s, s->hosts, &problem))
        return false;
    return problem ? gpu_fail(r->gpu, "%s", problem) : true;
}

bool gpu_race_compare(GpuRace *r, int i, double *farthest, const char **error)
{
    Stand *s = &r->lanes[i].stands[0];
    int n = r->def->outputs.len;
    bool first = !r->expected;
    *farthest = 0;
    *error = NULL;
    if (!run_once(r, s)) {
        *error = r->gpu->error;
        return false;
    }
    if (first)
        r->expected = arena_array(r->arena, Tensor *, n + 1);
    for (int o = 0; o < n; o++) {
        double far = first ? 0 : distance(r->outputs[o], r->expected[o]);
        if (first)
            r->expected[o] = copy_of(r->arena, r->outputs[o]);
        *farthest = far > *farthest ? far : *farthest;
    }
    return true;
}

void gpu_race_close(GpuRace *r)
{
    for (int i = 0; i < r->n_lanes; i++)
        for (int k = 0; k < r->n_sets; k++)
            stand_free(&r->lanes[i].stands[k]);
    for (int k = 0; k < r->n_sets; k++)
        stand_free(&r->sets[k]);
    if (r->from)
        r->gpu->cu.event_destroy(r->from);
    if (r->to)
        r->gpu->cu.event_destroy(r->to);
    arena_free(r->arena);
}
