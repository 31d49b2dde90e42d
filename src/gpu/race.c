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
    char **expected; /* bytes of the outputs, in the definition's order; NULL: none yet */
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
    race->expected = arena_array(arena, char *, def->outputs.len + 1);
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

/* |a - b| / |b|, of a million elements or two, as they lie in a buffer without gaps; those
 * that are no numbers must be so in both. */
static double distance(const Buffer *buffer, const char *a, const char *b)
{
    double apart = 0, whole = 0;
    DType dtype = buffer->view.dtype;
    int64_t n = tensor_count(&buffer->view), step = (n >> 20) | 1, size = dtype_bytes(dtype);
    for (int64_t i = 0; i < n; i += step) {
        double x = dtype_load(dtype, a + buffer->lead + i * size), y = dtype_load(dtype, b + buffer->lead + i * size);
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

/* From poisoned outputs, lest it leaves those of the program before it. */
static bool run_once(GpuRace *r, Stand *s)
{
    return stand_reset(s) && gpu_launch(&s->call, NULL) && gpu_wait(r->gpu, "running the kernel");
}

/* Output o as it is now, into `bytes`; its buffer. NULL: gpu->error. */
static const Buffer *fetch(GpuRace *r, const Stand *s, int tensor, char *bytes)
{
    const Buffer *b = &s->buffers[tensor];
    return gpu_ok(r->gpu, r->gpu->cu.memory_download(bytes, b->base, b->bytes), "copying from the GPU") ? b : NULL;
}

/* Programs may name their tensors in another order. */
static int output_of(const GpuRace *r, const char *name)
{
    int o = 0;
    while (o < r->def->outputs.len && strcmp(r->def->outputs.data[o]->name, name) != 0)
        o++;
    return o;
}

static bool compare_output(GpuRace *r, const Stand *s, int tensor, double *farthest)
{
    int o = output_of(r, s->abi->tensors.data[tensor].name);
    bool first = !r->expected[o];
    char *bytes = first ? arena_alloc(r->arena, s->buffers[tensor].bytes + 1) : s->scratch;
    const Buffer *b = fetch(r, s, tensor, bytes);
    if (!b)
        return false;
    double far = first ? 0 : distance(b, bytes, r->expected[o]);
    if (first)
        r->expected[o] = bytes;
    *farthest = far > *farthest ? far : *farthest;
    return true;
}

bool gpu_race_compare(GpuRace *r, int i, double *farthest, const char **error)
{
    Stand *s = &r->lanes[i].stands[0];
    bool ok = run_once(r, s);
    *farthest = 0;
    for (int t = 0; t < s->abi->tensors.len && ok; t++)
        if (stand_is_output(s, t))
            ok = compare_output(r, s, t, farthest);
    *error = ok ? NULL : r->gpu->error;
    return ok;
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
