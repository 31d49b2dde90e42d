/* bench.c: how long a program takes, from cold caches.
 *
 * Several sets of inputs and outputs, together larger than the L2 cache by a
 * factor, take turns, so that no launch finds its data where the one before it
 * left them. A round is a batch of launches between two events.
 */
#include "gpu/stand.h"

#include <stdlib.h>

enum { MAX_SETS = STAND_SETS, MAX_LAUNCHES = 4000 };

static const double round_ms = 20, warm_up_ms = 200;

typedef struct Bench {
    Gpu *gpu;
    Stand sets[MAX_SETS];
    int n;
    int next; /* set */
    void *from, *to;
} Bench;

static bool launch_some(Bench *b, int launches)
{
    for (int i = 0; i < launches; i++) {
        if (!gpu_launch(&b->sets[b->next].call, NULL))
            return false;
        b->next = (b->next + 1) % b->n;
    }
    return true;
}

/* Milliseconds a launch. */
static bool time_round(Bench *b, int launches, double *ms)
{
    Driver *cu = &b->gpu->cu;
    float elapsed = 0;
    if (!gpu_ok(b->gpu, cu->event_record(b->from, NULL), "recording an event") ||
        !launch_some(b, launches) ||
        !gpu_ok(b->gpu, cu->event_record(b->to, NULL), "recording an event") ||
        !gpu_wait_event(b->gpu, b->to, "running the kernel") ||
        !gpu_ok(b->gpu, cu->event_elapsed(&elapsed, b->from, b->to), "reading the time"))
        return false;
    *ms = (double)elapsed / launches;
    return true;
}

/* Runs until the clocks have settled; how many launches make a round. */
static bool warm_up(Bench *b, int *launches)
{
    double spent = 0, ms = 0;
    int n = b->n;
    while (spent < warm_up_ms) {
        if (!time_round(b, n, &ms))
            return false;
        spent += ms * n + 0.01;
        n = ms * n < round_ms && n < MAX_LAUNCHES / 2 ? n * 2 : n;
    }
    *launches = (int)(round_ms / (ms > 1e-4 ? ms : 1e-4)) + 1;
    *launches = *launches < b->n ? b->n : *launches > MAX_LAUNCHES ? MAX_LAUNCHES : *launches;
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(Bench *b, int rounds, BenchResult *result)
{
    double *ms = arena_array(b->gpu->arena, double, rounds);
    int launches;
    if (!warm_up(b, &launches))
        return false;
    for (int i = 0; i < rounds; i++)
        if (!time_round(b, launches, &ms[i]))
            return false;
    qsort(ms, (size_t)rounds, sizeof *ms, compare);
    *result = (BenchResult){.ms_median = rounds % 2 ? ms[rounds / 2]
                                                    : (ms[rounds / 2 - 1] + ms[rounds / 2]) / 2,
                            .ms_min = ms[0],
                            .ms_max = ms[rounds - 1],
                            .rounds = rounds};
    return true;
}

/* ---- sets --------------------------------------------------------------------------- */

static bool make_sets(Bench *b)
{
    b->n = 1;
    if (!stand_place(&b->sets[0], PLACE_PLAIN))
        return false;
    int wanted = stand_sets(b->gpu, &b->sets[0]);
    while (b->n < wanted)
        if (!stand_again(&b->sets[b->n++], &b->sets[0]))
            return false;
    return true;
}

static bool make_events(Bench *b)
{
    Driver *cu = &b->gpu->cu;
    return gpu_ok(b->gpu, cu->event_create(&b->from, 0), "making an event") &&
           gpu_ok(b->gpu, cu->event_create(&b->to, 0), "making an event");
}

static void clean_up(Bench *b)
{
    if (b->from)
        b->gpu->cu.event_destroy(b->from);
    if (b->to)
        b->gpu->cu.event_destroy(b->to);
    for (int i = 0; i < b->n; i++)
        stand_free(&b->sets[i]);
}

bool gpu_bench(Gpu *gpu, GpuModule *module, const Def *def, const RefBinding *bindings,
               int n_bindings, int rounds, uint64_t seed, BenchResult *result, const char **error)
{
    Arena *arena = arena_new(arena_heap(gpu->arena));
    StandSpec spec = {bindings, n_bindings, FILL_NORMAL, PLACE_PLAIN, seed};
    Bench *b = arena_new_of(arena, Bench);
    bool made = stand_make(&b->sets[0], arena, module, def, &spec, error);
    b->gpu = gpu;
    bool ok = made && make_events(b) && make_sets(b) && measure(b, rounds > 0 ? rounds : 1, result);
    if (!ok)
        *error = arena_strdup(gpu->arena, made ? gpu->error : *error);
    clean_up(b);
    arena_free(arena);
    return ok;
}
