/* search.c: from settings to the fastest variant that is right.
 *
 * A generation is made, sifted, checked and raced; the neighbours of its winner are
 * the next one, as long as there is time and something better was found.
 */
#include "tune/tune.h"

#include "tune/pool.h"
#include "tune/race.h"

enum { MOST_CHECKS = 8, LEAST_ROUNDS = 5, GENERATIONS = 4, CLOSE_ROUNDS = 12 };

/* Of the time: until when a generation may be made and checked, and raced. */
static const double CHECKED_BY = 0.5, RACED_BY = 0.85;

/* What is this much faster than the untuned one, and no less, is worth remembering. */
static const double GAIN = 0.005;

static const struct FateName {
    const char *name, *help;
} FATES[TUNE_FATES] = {
#define FATE(id, name, help) {name, help},
#include "tune/fates.def"
#undef FATE
};

typedef struct Search {
    Arena *arena;
    const TuneDevice *device;
    const TuneOptions *options;
    TuneResult *result;
    double started;
    VEC(int) tasks; /* variants that are being made or checked */
    int done;
    const char *doing;
    double until;   /* of the stage */
    bool late;
} Search;

const char *tune_fate_name(TuneFate fate)
{
    return FATES[fate].name;
}

TuneFate tune_fate_find(const char *name)
{
    int i = 0;

    while (i < TUNE_FATES && strcmp(FATES[i].name, name) != 0)
        i++;
    return (TuneFate)i;
}

/* ---- stages ------------------------------------------------------------------------------ */

static TuneVariant *variant(const Search *s, int i)
{
    return &s->result->all.data[i];
}

/* What it is worth measuring by. */
static bool untuned_is_settled(const Search *s)
{
    return variant(s, 0)->fate != TUNE_OPEN && variant(s, 0)->fate != TUNE_MADE;
}

/* Time does not count before the untuned variant is made and checked: it would be for nothing. */
static bool enough(void *user)
{
    Search *s = user;
    const TuneOptions *o = s->options;

    s->result->stopped |= o->stopped && o->stopped(o->user);
    s->late |= clock_seconds() > s->until && untuned_is_settled(s);
    return s->result->stopped || s->late;
}

static void say(Search *s)
{
    const TuneOptions *o = s->options;

    if (o->progress)
        o->progress(o->user, arena_printf(s->arena, "%s: %d of %d", s->doing, s->done, s->tasks.len));
}

static void stage(Search *s, const char *doing, int jobs, double limit, double until,
                  void (*work)(void *, Arena *, int, PoolAnswer *), void (*done)(void *, int, const PoolAnswer *))
{
    const Pool pool = {.arena = s->arena, .jobs = jobs, .limit = limit, .user = s, .work = work, .done = done, .enough = enough};

    s->doing = doing;
    s->done = 0;
    s->late = false;
    s->until = until;
    if (s->tasks.len == 0 || s->result->stopped)
        return;
    say(s);
    pool_run(&pool, s->tasks.len);
    if (s->options->keep)
        s->options->keep(s->options->user, &s->result->all);
}

/* ---- making --------------------------------------------------------------------------------- */

static void make(void *user, Arena *arena, int task, PoolAnswer *answer)
{
    const Search *s = user;
    Str image = str_new(arena);

    answer->fate = s->device->make(s->device->user, arena, variant(s, s->tasks.data[task])->settings, &image, &answer->problem);
    answer->bytes = image.data;
    answer->len = image.len;
}

static void take_answer(Search *s, TuneVariant *v, const PoolAnswer *answer)
{
    v->fate = answer->fate;
    v->problem = answer->problem && *answer->problem ? arena_strdup(s->arena, answer->problem) : NULL;
    s->done++;
    say(s);
}

static void take_image(Search *s, TuneVariant *v, const PoolAnswer *answer)
{
    char *copy;

    if (!answer->len)
        return;
    copy = arena_alloc(s->arena, answer->len + 1);
    memcpy(copy, answer->bytes, answer->len);
    v->image = copy;
    v->image_len = answer->len;
}

static void made(void *user, int task, const PoolAnswer *answer)
{
    Search *s = user;
    TuneVariant *v = variant(s, s->tasks.data[task]);

    take_answer(s, v, answer);
    take_image(s, v, answer);
    if (v->image)
        v->kernel = sha256_text(s->arena, v->image, v->image_len);
}

/* ---- sifting ------------------------------------------------------------------------------- */

static bool made_before(const Search *s, int at)
{
    for (int i = 0; i < at; i++)
        if (variant(s, i)->kernel && strcmp(variant(s, i)->kernel, variant(s, at)->kernel) == 0)
            return true;
    return false;
}

static const TuneKnown *find_known(const Search *s, const char *kernel)
{
    for (int i = 0; i < s->options->known.len; i++)
        if (strcmp(s->options->known.data[i].kernel, kernel) == 0)
            return &s->options->known.data[i];
    return NULL;
}

static bool is_bad(TuneFate fate)
{
    return fate == TUNE_SPILLED || fate == TUNE_SERIALISED || fate == TUNE_WRONG || fate == TUNE_HUNG || fate == TUNE_CRASHED;
}

/* What an earlier search found of the same kernel holds. */
static void recall(const Search *s, TuneVariant *v)
{
    const TuneKnown *known = find_known(s, v->kernel);

    if (!known)
        return;
    if (known->fate == TUNE_SOUND || known->fate == TUNE_SLOW || known->fate == TUNE_TIMED) {
        v->fate = TUNE_SOUND;
        v->image = known->image ? known->image : v->image;
        v->image_len = known->image ? known->image_len : v->image_len;
    } else if (is_bad(known->fate)) {
        v->fate = known->fate;
        v->problem = "as an earlier search found";
    }
}

static void sift(Search *s, int from)
{
    for (int i = from; i < s->result->all.len; i++) {
        TuneVariant *v = variant(s, i);

        if (v->kernel && made_before(s, i))
            v->fate = TUNE_SAME;
        else if (v->kernel && v->fate == TUNE_MADE)
            recall(s, v);
    }
}

/* ---- checking --------------------------------------------------------------------------------- */

static void check(void *user, Arena *arena, int task, PoolAnswer *answer)
{
    const Search *s = user;
    Str better = str_new(arena);

    answer->fate = s->device->check(s->device->user, arena, variant(s, s->tasks.data[task]), &better, &answer->problem);
    answer->bytes = better.data;
    answer->len = better.len;
}

static void checked(void *user, int task, const PoolAnswer *answer)
{
    Search *s = user;
    TuneVariant *v = variant(s, s->tasks.data[task]);

    s->result->checks++;
    take_answer(s, v, answer);
    take_image(s, v, answer);
}

static void list_tasks(Search *s, int from, TuneFate fate)
{
    s->tasks.len = 0;
    for (int i = from; i < s->result->all.len; i++)
        if (variant(s, i)->fate == fate)
            vec_push(s->arena, &s->tasks, i);
}

/* The untuned variant is what users have now: it is measured even where it spills. */
static void excuse_untuned(const Search *s)
{
    TuneVariant *v = variant(s, 0);

    if (v->image && (v->fate == TUNE_SPILLED || v->fate == TUNE_SERIALISED)) {
        v->problem = arena_printf(s->arena, "%s: %s", tune_fate_name(v->fate), v->problem ? v->problem : FATES[v->fate].help);
        v->fate = TUNE_MADE;
    }
}

static void prepare(Search *s, int from)
{
    const TuneOptions *o = s->options;
    int checks = o->jobs < MOST_CHECKS ? o->jobs : MOST_CHECKS;
    double until = s->started + o->seconds * CHECKED_BY;

    if (from > 0)
        until = s->started + o->seconds * RACED_BY;
    list_tasks(s, from, TUNE_OPEN);
    stage(s, "making variants", o->jobs, o->make_limit, until, make, made);
    if (from == 0)
        excuse_untuned(s);
    sift(s, from);
    list_tasks(s, from, TUNE_MADE);
    stage(s, "checking variants", checks, o->check_limit, until, check, checked);
}

/* ---- racing ------------------------------------------------------------------------------------ */

static bool is_ready(const TuneVariant *v)
{
    return v->fate == TUNE_SOUND || v->fate == TUNE_TIMED;
}

/* Of those that were raced together. */
static int best_of(const Search *s, TuneVariant *const *list, int n)
{
    int best = -1;

    for (int k = 0; k < n; k++) {
        int i = (int)(list[k] - s->result->all.data);

        if (list[k]->fate == TUNE_TIMED && (best < 0 || list[k]->ms < variant(s, best)->ms))
            best = i;
    }
    if (best > 0 && variant(s, 0)->fate == TUNE_TIMED && variant(s, best)->ms > variant(s, 0)->ms * (1 - GAIN))
        best = 0;
    return best;
}

/* All new ones, with the untuned one and the best so far, anew. */
static void race(Search *s, int from, bool last)
{
    TuneVariant **list = arena_array(s->arena, TuneVariant *, s->result->all.len + 1);
    const TuneOptions *o = s->options;
    const Race r = {.arena = s->arena, .device = s->device, .options = o, .least = LEAST_ROUNDS, .most = o->rounds,
                    .until = s->started + o->seconds * (last ? 1 : from ? RACED_BY : (CHECKED_BY + RACED_BY) / 2),
                    .drop = true, .keep = variant(s, 0)};
    int n = 0, news = 0, best = s->result->winner;
    const char *problem;

    for (int i = 0; i < s->result->all.len; i++)
        if (is_ready(variant(s, i)) && (i == 0 || i == best || i >= from)) {
            list[n++] = variant(s, i);
            news += i >= from;
        }
    if (news == 0 || s->result->stopped)
        return;
    if (!race_run(&r, list, n, &problem))
        s->result->problem = problem;
    s->result->stopped |= o->stopped && o->stopped(o->user);
    s->result->winner = best_of(s, list, n);
    if (o->keep)
        o->keep(o->user, &s->result->all);
}

/* ---- generations ----------------------------------------------------------------------------------- */

static bool have_settings(const Search *s, const char *settings)
{
    for (int i = 0; i < s->result->all.len; i++)
        if (strcmp(variant(s, i)->settings, settings) == 0)
            return true;
    return false;
}

static void add(Search *s, const char *settings)
{
    if (!have_settings(s, settings))
        vec_push(s->arena, &s->result->all, (TuneVariant){.settings = arena_strdup(s->arena, settings)});
}

static void add_neighbours(Search *s, int of)
{
    TuneVariants list = {0};

    if (!s->options->neighbours)
        return;
    s->options->neighbours(s->options->user, s->arena, variant(s, of)->settings, &list);
    for (int i = 0; i < list.len; i++)
        add(s, list.data[i].settings);
}

static bool time_left(const Search *s)
{
    return !s->result->stopped && clock_seconds() < s->started + s->options->seconds * RACED_BY;
}

static void generations(Search *s)
{
    int from = 0, best = -1;

    for (int g = 0; g < GENERATIONS && s->result->all.len > from; g++) {
        prepare(s, from);
        race(s, from, false);
        from = s->result->all.len;
        if (s->result->winner < 0 || s->result->winner == best || !time_left(s))
            break;
        best = s->result->winner;
        add_neighbours(s, best);
    }
}

/* What is left of the time goes to those that are closest. */
static void run_off(Search *s)
{
    enum { MOST = 6 };
    TuneVariant *list[MOST];
    const TuneOptions *o = s->options;
    int n = 0, best = s->result->winner;
    const Race r = {.arena = s->arena, .device = s->device, .options = o, .least = CLOSE_ROUNDS, .most = o->rounds,
                    .until = s->started + o->seconds, .drop = true, .keep = variant(s, 0)};
    const char *problem;

    if (best < 0 || s->result->stopped || clock_seconds() >= r.until)
        return;
    for (int i = 0; i < s->result->all.len && n < MOST; i++)
        if (variant(s, i)->fate == TUNE_TIMED && (i == 0 || variant(s, i)->ms < variant(s, best)->ms * 1.03))
            list[n++] = variant(s, i);
    if (n > 1 && race_run(&r, list, n, &problem))
        s->result->winner = best_of(s, list, n);
}

void tune_search(Arena *arena, const TuneDevice *device, const TuneOptions *options, const char *const *settings,
                 int n, TuneResult *result)
{
    Search s = {.arena = arena, .device = device, .options = options, .result = result, .started = clock_seconds()};

    *result = (TuneResult){.winner = -1};
    add(&s, "");
    for (int i = 0; i < n; i++)
        add(&s, settings[i]);
    add_neighbours(&s, 0);
    generations(&s);
    run_off(&s);
    if (result->winner < 0 && !result->problem)
        result->problem = result->stopped ? "it was stopped before anything was timed"
                          : variant(&s, 0)->problem ? variant(&s, 0)->problem : "no variant came to be timed in the time given";
    if (result->winner >= 0)
        result->problem = NULL;
    result->seconds = clock_seconds() - s.started;
}

bool tune_compare(Arena *arena, const TuneDevice *device, const TuneOptions *options, TuneVariant *a, TuneVariant *b,
                  const char **problem)
{
    TuneVariant *pair[] = {a, b};
    int least = options->rounds ? options->rounds : 15;
    const Race r = {.arena = arena, .device = device, .options = options, .least = least, .most = least};

    return race_run(&r, pair, 2, problem) && a->fate == TUNE_TIMED && b->fate == TUNE_TIMED;
}
