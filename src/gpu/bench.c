/* bench.c: how long programs take, from cold caches, beside each other.
 *
 * Several sets of inputs and outputs of a program, together larger than the L2
 * cache by a factor, take turns, so that no launch finds its data where the one
 * before it left them. A turn is a batch of launches between two events; in a
 * round every program has one, in an order drawn anew, so that whatever changes
 * slowly, the temperature say, changes for all.
 *
 *   round 1   B A C      each: mark, event, launches, event, mark
 *   round 2   C B A
 */
#include "gpu/clock.h"
#include "gpu/honest.h"

#include <stdlib.h>

enum { MAX_SETS = STAND_SETS, MAX_LAUNCHES = 4000 };

static const double round_ms = 20, warm_up_ms = 200, warm_up_seconds = 5;

typedef struct Runner { /* one program */
    BenchEntry *entry;
    Stand sets[MAX_SETS];
    int n;
    int next;     /* set */
    int launches; /* a turn */
    Suspect suspect; /* of programs of others: the sets */
} Runner;

typedef struct Bench {
    Gpu *gpu;
    Runner *runners;
    int n;
    void *from, *to;
    Clock clock;
} Bench;

/* ---- turns -------------------------------------------------------------------------- */

static bool launch_some(Runner *r, int launches)
{
    for (int i = 0; i < launches; i++) {
        if (!gpu_launch(&r->sets[r->next].call, NULL))
            return false;
        r->next = (r->next + 1) % r->n;
    }
    return true;
}

/* Milliseconds a launch. */
static bool time_turn(Bench *b, Runner *r, int launches, double *ms)
{
    Driver *cu = &b->gpu->cu;
    float elapsed = 0;
    clock_mark(&b->clock, 0);
    if (!gpu_ok(b->gpu, cu->event_record(b->from, NULL), "recording an event") ||
        !launch_some(r, launches) ||
        !gpu_ok(b->gpu, cu->event_record(b->to, NULL), "recording an event"))
        return false;
    clock_mark(&b->clock, 1);
    if (!gpu_wait_event(b->gpu, b->to, "running the kernel") ||
        !gpu_ok(b->gpu, cu->event_elapsed(&elapsed, b->from, b->to), "reading the time"))
        return false;
    *ms = (double)elapsed / launches;
    return true;
}

/* Whether the time is one that hardware and the host's clock allow; of others' programs. */
static bool is_honest(Bench *b, Runner *r, double ms, int launches, double since)
{
    const char *problem = NULL;
    if (r->suspect.n)
        problem = honest_wait(&r->suspect, ms, launches, (clock_seconds() - since) * 1e3);
    if (r->suspect.n && !problem)
        problem = honest_time(&r->suspect, ms);
    return !problem || gpu_fail(b->gpu, "%s", problem);
}

/* Runs until the clocks have settled, in the host's time as well, for events may say what they
 * like; how many launches make a turn. The first turn may have to load what it runs. */
static bool warm_up(Bench *b, Runner *r)
{
    double spent = 0, ms = 0, begun = clock_seconds();
    int n = r->n;
    while (spent < warm_up_ms && clock_seconds() - begun < warm_up_seconds) {
        double since = clock_seconds();
        if (!time_turn(b, r, n, &ms) || (spent > 0 && !is_honest(b, r, ms, n, since)))
            return false;
        spent += ms * n + 0.01;
        n = ms * n < round_ms && n < MAX_LAUNCHES / 2 ? n * 2 : n;
    }
    n = (int)(round_ms / (ms > 1e-4 ? ms : 1e-4)) + 1;
    r->launches = n < r->n ? r->n : n > MAX_LAUNCHES ? MAX_LAUNCHES : n;
    return true;
}

static void shuffle(int *order, int n, Rng *rng)
{
    for (int i = n - 1; i > 0; i--) {
        int k = rng_below(rng, i + 1), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

/* From fresh inputs and poisoned outputs, each set once; then what came of it. */
static bool time_suspect(Bench *b, Runner *r, bool last, double *ms)
{
    const char *problem;
    do {
        if (!honest_prepare(&r->suspect))
            return false;
        double since = clock_seconds();
        if (!time_turn(b, r, r->n, ms) || !is_honest(b, r, *ms, r->n, since))
            return false;
    } while (r->suspect.late);
    if (!honest_check(&r->suspect, last, &problem))
        return false;
    return !problem || gpu_fail(b->gpu, "%s", problem);
}

static bool time_round(Bench *b, const BenchOptions *options, const int *order, int round)
{
    for (int i = 0; i < b->n; i++) {
        Runner *r = &b->runners[order[i]];
        double *ms = &r->entry->ms[round];
        r->entry->failed = !(options->suspect ? time_suspect(b, r, round == options->rounds - 1, ms)
                                              : time_turn(b, r, r->launches, ms));
        if (r->entry->failed)
            return false;
        r->entry->mhz[round] = clock_mhz(&b->clock);
    }
    return true;
}

static bool measure(Bench *b, const BenchOptions *options, Arena *arena)
{
    Rng rng = {options->seed};
    int *order = arena_array(arena, int, b->n);
    for (int i = 0; i < b->n; i++) {
        order[i] = i;
        b->runners[i].entry->failed = !warm_up(b, &b->runners[i]);
        if (b->runners[i].entry->failed)
            return false;
    }
    clock_mhz(&b->clock);
    for (int round = 0; round < options->rounds; round++) {
        if (options->progress)
            options->progress(options->user, round);
        shuffle(order, b->n, &rng);
        if (!time_round(b, options, order, round))
            return false;
    }
    return true;
}

/* ---- sets --------------------------------------------------------------------------- */

static bool make_sets(Gpu *gpu, Runner *r, const StandSpec *suspect, const char **error)
{
    r->n = 1;
    if (!stand_place(&r->sets[0], PLACE_PLAIN))
        return false;
    int wanted = stand_sets(gpu, &r->sets[0]);
    if (suspect) {
        r->suspect = (Suspect){.sets = r->sets, .n = 1, .spec = *suspect, .rng = {suspect->seed}};
        bool made = honest_sets(&r->suspect, wanted, error);
        r->n = r->suspect.n;
        return made;
    }
    while (r->n < wanted)
        if (!stand_again(&r->sets[r->n++], &r->sets[0]))
            return false;
    return true;
}

/* ---- programs ----------------------------------------------------------------------- */

static int64_t moved_bytes(const Stand *s)
{
    int64_t bytes = 0;
    for (int i = 0; i < s->abi->tensors.len; i++)
        if (!s->abi->tensors.data[i].workspace)
            bytes += (int64_t)s->hosts[i]->bytes;
    return bytes;
}

static bool make_runner(Bench *b, Runner *r, Arena *arena, const BenchOptions *options, const char **error)
{
    BenchEntry *e = r->entry;
    StandSpec spec = {e->bindings, e->n_bindings, FILL_NORMAL, PLACE_PLAIN, options->seed};
    if (!stand_make(&r->sets[0], arena, e->module, e->def, &spec, error))
        return false;
    *error = NULL; /* from here on the GPU has it */
    if (!make_sets(b->gpu, r, options->suspect ? &spec : NULL, error))
        return false;
    e->bytes = moved_bytes(&r->sets[0]);
    e->ms = arena_array(b->gpu->arena, double, options->rounds);
    e->mhz = arena_array(b->gpu->arena, double, options->rounds);
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
    clock_close(&b->clock);
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < b->runners[i].n; k++)
            stand_free(&b->runners[i].sets[k]);
}

static bool run(Bench *b, Arena *arena, const BenchOptions *options, const char **error)
{
    for (int i = 0; i < b->n; i++)
        if (!make_runner(b, &b->runners[i], arena, options, error))
            return false;
    clock_open(&b->clock, b->gpu, target_find(b->runners[0].entry->module->abi->target));
    return make_events(b) && measure(b, options, arena);
}

bool gpu_bench(Gpu *gpu, BenchEntry *entries, int n, const BenchOptions *options, const char **error)
{
    Arena *arena = arena_new(arena_heap(gpu->arena));
    Bench b = {.gpu = gpu, .runners = arena_array(arena, Runner, n), .n = n, .clock = {.gpu = gpu}};
    for (int i = 0; i < n; i++)
        b.runners[i].entry = &entries[i];
    *error = NULL;
    bool ok = run(&b, arena, options, error);
    if (!ok)
        *error = arena_strdup(gpu->arena, *error ? *error : gpu->error);
    clean_up(&b);
    arena_free(arena);
    return ok;
}
