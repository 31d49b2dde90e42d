/* race.c: variants timed together, shuffled and interleaved.
 *
 * Clocks, temperature and whoever else is there change with time, so each round times
 * every variant once, in an order drawn anew, and medians over rounds are compared.
 * Who is far behind the leader leaves early:
 *
 *   after round     4    6    9   12
 *   leaves behind  30%  15%   8%   4%
 *
 * The device is in a process of its own that is told which variant to time. If it does
 * not answer in time, or dies, that variant was the reason: it is out, and the others
 * go on in a new process with what they have.
 */
#include "tune/race.h"


#include "tune/pool.h"

enum { MOST_ROUNDS = 400, ANSWER = 200 };

static const struct Cut {
    int round;
    double behind;
} CUTS[] = {{4, 0.30}, {6, 0.15}, {9, 0.08}, {12, 0.04}};

typedef struct Runner {
    TuneVariant *variant;
    double ms[MOST_ROUNDS];
    int n;
    bool out;
} Runner;

typedef struct Track {
    const Race *race;
    Runner *runners;
    int n;
    PoolChild child;
    int *lanes;      /* runners by place in the child's list */
    int n_lanes;
    Rng rng;
    int fresh;       /* 1: nothing was timed in this process yet */
    bool stopped;
    const char *problem;
} Track;

/* ---- the device's process ---------------------------------------------------------------- */

/* What it says, of opening and of each measurement. */
typedef struct Answer {
    int32_t fate; /* TUNE_TIMED: all is well */
    double ms;
    char problem[ANSWER];
} Answer;

static void set_problem(Answer *answer, const char *problem)
{
    snprintf(answer->problem, sizeof answer->problem, "%s", problem ? problem : "");
}

static void *open_device(const Track *track, Arena *arena, int fd)
{
    const TuneDevice *device = track->race->device;
    TuneVariant **list = arena_array(arena, TuneVariant *, track->n_lanes + 1);
    const char *problem = NULL;
    Answer answer = {0};

    for (int i = 0; i < track->n_lanes; i++)
        list[i] = track->runners[track->lanes[i]].variant;
    void *opened = device->open(device->user, arena, list, track->n_lanes, &problem);
    answer.fate = opened ? TUNE_TIMED : TUNE_FAILED;
    set_problem(&answer, problem);
    return pool_write(fd, &answer, sizeof answer) ? opened : NULL;
}

static void serve(void *user, Arena *arena, int fd)
{
    const Track *track = user;
    void *opened = open_device(track, arena, fd);
    int32_t lane;

    while (opened && pool_read(fd, &lane, sizeof lane, clock_seconds() + 3600, NULL, NULL) == POOL_READ) {
        const char *problem = NULL;
        Answer answer = {0};

        answer.fate = (int32_t)track->race->device->time(opened, lane, &answer.ms, &problem);
        set_problem(&answer, problem);
        if (!pool_write(fd, &answer, sizeof answer))
            return;
    }
}

/* ---- our side ---------------------------------------------------------------------------------- */

static bool stopped(void *user)
{
    const Track *t = user;
    const TuneOptions *o = t->race->options;

    return o->stopped && o->stopped(o->user);
}

static PoolRead hear(Track *t, Answer *answer, double limit)
{
    PoolRead state = pool_read(t->child.fd, answer, sizeof *answer, clock_seconds() + limit, stopped, t);

    t->stopped |= state == POOL_ENOUGH;
    return state;
}

static void put_out(Track *t, Runner *runner, TuneFate fate, const char *problem)
{
    runner->out = true;
    runner->variant->fate = fate;
    runner->variant->problem = problem && *problem ? arena_strdup(t->race->arena, problem) : NULL;
}

static bool gone_wrong(Track *t, PoolRead state, const char *doing)
{
    t->problem = state == POOL_LATE   ? arena_printf(t->race->arena, "%s took longer than %.0f seconds", doing,
                                                     t->race->options->time_limit)
                 : state == POOL_GONE ? arena_printf(t->race->arena, "the process that was %s ended", doing)
                                      : NULL;
    pool_end(&t->child);
    return false;
}

/* Starts the process for all that are not out. */
static bool open_track(Track *t)
{
    double limit = t->race->options->time_limit + t->race->options->check_limit;
    Answer answer;
    PoolRead state;

    t->n_lanes = 0;
    for (int i = 0; i < t->n; i++)
        if (!t->runners[i].out)
            t->lanes[t->n_lanes++] = i;
    if (!t->n_lanes)
        return false;
    if (!pool_spawn(&t->child, serve, t)) {
        t->problem = "a process for timing cannot be started";
        return false;
    }
    state = hear(t, &answer, limit);
    if (state != POOL_READ)
        return gone_wrong(t, state, "making ready");
    t->fresh = 1;
    if (answer.fate == TUNE_TIMED)
        return true;
    t->problem = arena_strdup(t->race->arena, answer.problem);
    pool_end(&t->child);
    return false;
}

static TuneFate fate_of(PoolRead state, const Answer *answer)
{
    switch (state) {
    case POOL_READ: return answer->fate > 0 && answer->fate < TUNE_FATES ? (TuneFate)answer->fate : TUNE_FAILED;
    case POOL_GONE: return TUNE_CRASHED;
    case POOL_LATE: return TUNE_HUNG;
    case POOL_ENOUGH: break;
    }
    return TUNE_SOUND;
}

/* One measurement; false: the process is gone, and so is the one that it was for. What
 * failed may have left the device in a state that fails others, so that ends it as well. */
static bool measure(Track *t, int32_t lane)
{
    Runner *runner = &t->runners[t->lanes[lane]];
    Answer answer = {0};
    PoolRead state = pool_write(t->child.fd, &lane, sizeof lane) ? hear(t, &answer, t->race->options->time_limit) : POOL_GONE;
    TuneFate fate = fate_of(state, &answer);

    if (fate == TUNE_TIMED) {
        if (runner->n < MOST_ROUNDS)
            runner->ms[runner->n++] = answer.ms;
        return true;
    }
    if (state != POOL_ENOUGH)
        put_out(t, runner, fate, state == POOL_READ ? answer.problem : "while it was timed");
    if (fate == TUNE_WRONG)
        return true;
    pool_end(&t->child);
    return false;
}

/* ---- rounds --------------------------------------------------------------------------------------- */

static double median_of(Arena *arena, const Runner *runner)
{
    double *ms = arena_array(arena, double, runner->n + 1);

    memcpy(ms, runner->ms, (size_t)runner->n * sizeof *ms);
    return median(ms, runner->n);
}

/* The first round of a process begins with the first. */
static void shuffle(Track *t, int *order)
{
    for (int i = 0; i < t->n_lanes; i++)
        order[i] = i;
    for (int i = t->n_lanes - 1; i > t->fresh; i--) {
        int k = t->fresh + rng_below(&t->rng, i + 1 - t->fresh), swapped = order[i];

        order[i] = order[k];
        order[k] = swapped;
    }
}

/* False: the process is gone. */
static bool run_round(Track *t, int *order)
{
    shuffle(t, order);
    for (int i = 0; i < t->n_lanes; i++)
        if (!t->runners[t->lanes[order[i]]].out && !measure(t, order[i]))
            return false;
    t->fresh = 0;
    return true;
}

static int still_in(const Track *t)
{
    int n = 0;

    for (int i = 0; i < t->n; i++)
        n += !t->runners[i].out;
    return n;
}

static void take_medians(Track *t)
{
    for (int i = 0; i < t->n; i++) {
        Runner *r = &t->runners[i];

        if (r->n == 0)
            continue;
        r->variant->ms = median_of(t->race->arena, r);
        r->variant->rounds = r->n;
    }
}

static double leader(const Track *t)
{
    double best = 0;

    for (int i = 0; i < t->n; i++)
        if (!t->runners[i].out && t->runners[i].n && (best <= 0 || t->runners[i].variant->ms < best))
            best = t->runners[i].variant->ms;
    return best;
}

static void drop_slow(Track *t, int round)
{
    double best;

    for (size_t c = 0; c < TW_COUNT(CUTS); c++) {
        if (CUTS[c].round != round || !t->race->drop)
            continue;
        take_medians(t);
        best = leader(t);
        for (int i = 0; i < t->n; i++)
            if (!t->runners[i].out && t->runners[i].variant != t->race->keep && t->runners[i].n &&
                t->runners[i].variant->ms > best * (1 + CUTS[c].behind))
                put_out(t, &t->runners[i], TUNE_SLOW, NULL);
    }
}

static bool goes_on(const Track *t, int round)
{
    const Race *race = t->race;

    if (t->stopped || still_in(t) == 0 || round >= MOST_ROUNDS || (race->most && round >= race->most))
        return false;
    return round < race->least || clock_seconds() < race->until;
}

static void say(const Track *t, int round)
{
    const TuneOptions *o = t->race->options;

    if (o->progress)
        o->progress(o->user, arena_printf(t->race->arena, "timing: round %d, %d variants", round + 1, still_in(t)));
}

static void run_rounds(Track *t)
{
    int *order = arena_array(t->race->arena, int, t->n + 1);

    for (int round = 0; goes_on(t, round);) {
        say(t, round);
        if (!t->child.pid && !open_track(t))
            return;
        if (run_round(t, order))
            drop_slow(t, ++round);
    }
}

bool race_run(const Race *race, TuneVariant **variants, int n, const char **problem)
{
    Track t = {.race = race, .n = n, .child = {0, -1}, .rng = {race->options->seed}};
    bool timed = false;

    t.runners = arena_array(race->arena, Runner, n + 1);
    t.lanes = arena_array(race->arena, int, n + 1);
    for (int i = 0; i < n; i++)
        t.runners[i].variant = variants[i];
    run_rounds(&t);
    pool_end(&t.child);
    take_medians(&t);
    for (int i = 0; i < n; i++)
        if (!t.runners[i].out && t.runners[i].n) {
            variants[i]->fate = TUNE_TIMED;
            timed = true;
        }
    *problem = timed ? NULL : t.problem ? t.problem : t.stopped ? "it was stopped before anything was timed" : "no variant could be timed";
    return timed;
}
