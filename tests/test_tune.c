/* test_tune.c: the search for schedules on a simulated device: a table of variants with
 * their times, of which some are noisy, hang, crash, spill or are wrong.
 */
#include "fixture.h"
#include "tune/cache.h"
#include "tune/on_gpu.h"
#include "tune/tune.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "texts.h"

typedef enum Temper { FINE, SPILLS, SERIAL, BROKEN, LIES, HANGS, DIES, HANGS_LATE, DIES_LATE, LIES_LATE } Temper;

typedef struct Sim {
    const char *settings;
    double ms;
    Temper temper;
    const char *same_as; /* has the image of another one */
} Sim;

enum { SIMS = 24 };

typedef struct World {
    Sim sims[SIMS];
    int n;
    double noise;        /* a launch takes up to so much more */
    uint64_t seed;
    int *launches;       /* shared with the processes of the device */
    int stop_after;      /* launches after which the user has seen enough; 0: never */
    TuneVariants kept;
    Arena *arena;
} World;

static const Sim *find(const World *w, const char *settings)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->sims[i].settings, settings) == 0)
            return &w->sims[i];
    return NULL;
}

static TuneFate make(void *user, Arena *arena, const char *settings, Str *image, const char **problem)
{
    const Sim *sim = find(user, settings);

    if (!sim || sim->temper == BROKEN) {
        *problem = arena_printf(arena, "no such variant: %s", settings);
        return TUNE_INVALID;
    }
    str_printf(image, "kernel of %s", sim->same_as ? sim->same_as : sim->settings);
    return sim->temper == SPILLS ? TUNE_SPILLED : sim->temper == SERIAL ? TUNE_SERIALISED : TUNE_MADE;
}

static TuneFate check(void *user, Arena *arena, const TuneVariant *variant, Str *better, const char **problem)
{
    const Sim *sim = find(user, variant->settings);

    (void)arena;
    str_printf(better, "compiled %s", variant->image);
    if (sim->temper == HANGS)
        for (;;)
            pause();
    if (sim->temper == DIES)
        abort();
    *problem = sim->temper == LIES ? "its error is too large" : NULL;
    return sim->temper == LIES ? TUNE_WRONG : TUNE_SOUND;
}

typedef struct Opened {
    const World *world;
    const Sim *sims[SIMS];
    Rng rng;
} Opened;

static void *open_sims(void *user, Arena *arena, TuneVariant *const *variants, int n, const char **problem)
{
    Opened *o = arena_new_of(arena, Opened);

    *problem = NULL;
    o->world = user;
    o->rng.state = o->world->seed + (uint64_t)*o->world->launches;
    for (int i = 0; i < n; i++)
        o->sims[i] = find(user, variants[i]->settings);
    return o;
}

/* Most launches take a little longer, some far longer. */
static double noisy(Opened *o, double ms)
{
    double outlier = rng_uniform(&o->rng) < 0.08 ? 3 : 1;

    return ms * (1 + o->world->noise * rng_uniform(&o->rng)) * (o->world->noise > 0 ? outlier : 1);
}

static TuneFate time_sim(void *opened, int i, double *ms, const char **problem)
{
    Opened *o = opened;
    const Sim *sim = o->sims[i];

    ++*o->world->launches;
    if (sim->temper == HANGS_LATE)
        for (;;)
            pause();
    if (sim->temper == DIES_LATE)
        abort();
    *ms = noisy(o, sim->ms);
    *problem = sim->temper == LIES_LATE ? "it gives other numbers" : NULL;
    return sim->temper == LIES_LATE ? TUNE_WRONG : TUNE_TIMED;
}

static bool stopped(void *user)
{
    const World *w = user;

    return w->stop_after && *w->launches >= w->stop_after;
}

static void keep(void *user, const TuneVariants *all)
{
    World *w = user;

    w->kept.len = 0;
    for (int i = 0; i < all->len; i++)
        vec_push(w->arena, &w->kept, all->data[i]);
}

static const TuneDevice *device_of(World *w)
{
    TuneDevice *device = arena_new_of(w->arena, TuneDevice);

    *device = (TuneDevice){w, make, check, open_sims, time_sim};
    return device;
}

static TuneOptions options_of(World *w)
{
    return (TuneOptions){.jobs = 8, .seconds = 20, .make_limit = 2, .check_limit = 0.4, .time_limit = 0.4, .rounds = 30,
                         .seed = w->seed, .stopped = stopped, .keep = keep, .user = w};
}

/* A count that processes share: a file without a name. */
static int *shared_count(void)
{
    FILE *file = tmpfile();
    int *count;

    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), sizeof *count), 0);
    count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    assert_true(count != MAP_FAILED);
    fclose(file);
    return count;
}

static World world(Fixture *f, const Sim *sims, int n)
{
    World w = {.n = n, .seed = 7, .arena = f->arena};

    memcpy(w.sims, sims, (size_t)n * sizeof *sims);
    w.launches = shared_count();
    return w;
}

static TuneResult search(World *w, const TuneOptions *options)
{
    const char *settings[SIMS];
    TuneResult result;

    for (int i = 1; i < w->n; i++)
        settings[i - 1] = w->sims[i].settings;
    tune_search(w->arena, device_of(w), options, settings, w->n - 1, &result);
    return result;
}

static const TuneVariant *named(const TuneResult *result, const char *settings)
{
    for (int i = 0; i < result->all.len; i++)
        if (strcmp(result->all.data[i].settings, settings) == 0)
            return &result->all.data[i];
    fail_msg("no variant '%s'", settings);
    return NULL;
}

static void expect_fate(const TuneResult *result, const char *settings, TuneFate fate)
{
    const TuneVariant *v = named(result, settings);

    if (v->fate != fate)
        fail_msg("'%s' is %s (%s), not %s", settings, tune_fate_name(v->fate), v->problem ? v->problem : "",
                 tune_fate_name(fate));
}

static const char *winner(const TuneResult *result)
{
    if (result->winner < 0)
        fail_msg("no winner: %s", result->problem);
    return result->all.data[result->winner].settings;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* Whatever is not right is dropped, however fast it would be. */
static void faults_are_dropped(void **state)
{
    static const Sim sims[] = {
        {"", 1.0, FINE, NULL},         {"a=1", 0.1, SPILLS, NULL},     {"a=2", 0.1, SERIAL, NULL},
        {"a=3", 0.1, BROKEN, NULL},    {"a=4", 0.1, LIES, NULL},       {"a=5", 0.1, HANGS, NULL},
        {"a=6", 0.1, DIES, NULL},      {"a=7", 0.1, HANGS_LATE, NULL}, {"a=8", 0.1, DIES_LATE, NULL},
        {"a=9", 0.1, LIES_LATE, NULL}, {"a=10", 0.8, FINE, NULL},      {"a=11", 0.8, FINE, "a=10"},
        {"a=12", 2.0, FINE, NULL},
    };
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);
    TuneResult result = search(&w, &options);

    assert_string_equal(winner(&result), "a=10");
    expect_fate(&result, "", TUNE_TIMED);
    expect_fate(&result, "a=1", TUNE_SPILLED);
    expect_fate(&result, "a=2", TUNE_SERIALISED);
    expect_fate(&result, "a=3", TUNE_INVALID);
    expect_fate(&result, "a=4", TUNE_WRONG);
    expect_fate(&result, "a=5", TUNE_HUNG);
    expect_fate(&result, "a=6", TUNE_CRASHED);
    expect_fate(&result, "a=7", TUNE_HUNG);
    expect_fate(&result, "a=8", TUNE_CRASHED);
    expect_fate(&result, "a=9", TUNE_WRONG);
    expect_fate(&result, "a=11", TUNE_SAME);
    expect_fate(&result, "a=12", TUNE_SLOW);
    assert_true(result.seconds < 10);
}

/* Noise of 10 % and outliers, and the best is 3 % better. */
static void the_fastest_is_found_under_noise(void **state)
{
    static const Sim sims[] = {{"", 1.08, FINE, NULL},   {"a=1", 1.05, FINE, NULL}, {"a=2", 1.03, FINE, NULL},
                               {"a=3", 1.0, FINE, NULL}, {"a=4", 1.04, FINE, NULL}, {"a=5", 1.3, FINE, NULL}};

    for (uint64_t seed = 1; seed <= 5; seed++) {
        World w = world(*state, sims, (int)TW_COUNT(sims));
        TuneOptions options;

        w.noise = 0.1;
        w.seed = seed;
        options = options_of(&w);
        options.rounds = 120;
        TuneResult result = search(&w, &options);
        assert_string_equal(winner(&result), "a=3");
        assert_true(result.all.data[result.winner].rounds >= 12);
    }
}

/* What is not faster beyond doubt is not worth a setting. */
static void untuned_stays_where_nothing_is_gained(void **state)
{
    static const Sim sims[] = {{"", 1.0, FINE, NULL}, {"a=1", 0.998, FINE, NULL}, {"a=2", 1.1, FINE, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);
    TuneResult result = search(&w, &options);

    assert_string_equal(winner(&result), "");
}

/* The untuned kernel is measured although it spills; others that do are not. */
static void untuned_is_measured_anyhow(void **state)
{
    static const Sim sims[] = {{"", 1.0, SPILLS, NULL}, {"a=1", 0.9, FINE, NULL}, {"a=2", 0.5, SPILLS, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);
    TuneResult result = search(&w, &options);

    assert_string_equal(winner(&result), "a=1");
    expect_fate(&result, "", TUNE_TIMED);
    expect_fate(&result, "a=2", TUNE_SPILLED);
}

static void a_wrong_untuned_one_is_not_the_measure(void **state)
{
    static const Sim sims[] = {{"", 1.0, LIES, NULL}, {"a=1", 1.9, FINE, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);
    TuneResult result = search(&w, &options);

    assert_string_equal(winner(&result), "a=1");
    expect_fate(&result, "", TUNE_WRONG);
}

static void nothing_right_is_said(void **state)
{
    static const Sim sims[] = {{"", 1.0, LIES, NULL}, {"a=1", 1.9, BROKEN, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);
    TuneResult result = search(&w, &options);

    assert_int_equal(result.winner, -1);
    assert_string_equal(result.problem, "its error is too large");
}

/* The neighbours of who leads are next. */
static void climb(void *user, Arena *arena, const char *settings, TuneVariants *list)
{
    (void)user;
    vec_push(arena, list, (TuneVariant){.settings = tune_with(arena, settings, "softmax", "exact")});
    vec_push(arena, list, (TuneVariant){.settings = tune_with(arena, settings, "skew", "off")});
}

static void neighbours_of_the_winner_are_tried(void **state)
{
    static const Sim sims[] = {{"", 1.0, FINE, NULL},          {"a=1", 0.9, FINE, NULL},
                               {"softmax=exact", 1.2, FINE, NULL},     {"a=1 skew=off", 0.8, FINE, NULL},
                               {"a=1 softmax=exact", 0.95, FINE, NULL}, {"a=1 skew=off softmax=exact", 0.7, FINE, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);
    const char *first[] = {"a=1"};
    TuneResult result;

    options.neighbours = climb;
    tune_search(w.arena, device_of(&w), &options, first, 1, &result);
    assert_string_equal(winner(&result), "a=1 skew=off softmax=exact");
    expect_fate(&result, "skew=off", TUNE_INVALID);
}

/* What is known when the user stops it is kept, and not checked again. */
static void a_stopped_search_goes_on(void **state)
{
    static const Sim sims[] = {{"", 1.0, FINE, NULL}, {"a=1", 0.9, FINE, NULL}, {"a=2", 0.7, FINE, NULL},
                               {"a=3", 0.1, LIES, NULL}, {"a=4", 0.1, HANGS, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);
    TuneKnowns known = {0};

    w.stop_after = 18;
    TuneResult result = search(&w, &options);
    assert_true(result.stopped);
    assert_string_equal(winner(&result), "a=2");
    assert_int_equal(result.checks, 5);
    for (int i = 0; i < w.kept.len; i++)
        if (w.kept.data[i].kernel)
            vec_push(w.arena, &known, (TuneKnown){.kernel = w.kept.data[i].kernel, .fate = w.kept.data[i].fate});
    assert_int_equal(known.len, 5);

    w.stop_after = 0;
    options.known = known;
    result = search(&w, &options);
    assert_false(result.stopped);
    assert_string_equal(winner(&result), "a=2");
    assert_int_equal(result.checks, 0);
    expect_fate(&result, "a=3", TUNE_WRONG);
    expect_fate(&result, "a=4", TUNE_HUNG);
}

static void stopped_at_once_has_no_winner(void **state)
{
    static const Sim sims[] = {{"", 1.0, FINE, NULL}, {"a=1", 0.9, FINE, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);

    *w.launches = 1;
    w.stop_after = 1;
    TuneResult result = search(&w, &options);
    assert_true(result.stopped);
    assert_int_equal(result.winner, -1);
    assert_non_null(result.problem);
}

/* Time is kept: what cannot be checked in time is left out. */
static void time_is_kept(void **state)
{
    static const Sim sims[] = {{"", 1.0, FINE, NULL}, {"a=1", 0.9, FINE, NULL}, {"a=2", 0.9, HANGS, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);

    options.seconds = 0.6;
    options.check_limit = 60;
    options.rounds = 0;
    TuneResult result = search(&w, &options);
    assert_string_equal(winner(&result), "a=1");
    expect_fate(&result, "a=2", TUNE_MADE);
    assert_true(result.seconds < 2);
}

static void a_pair_is_compared(void **state)
{
    static const Sim sims[] = {{"", 1.0, FINE, NULL}, {"a=1", 0.9, FINE, NULL}};
    World w = world(*state, sims, (int)TW_COUNT(sims));
    TuneOptions options = options_of(&w);
    TuneVariant a = {.settings = "", .fate = TUNE_SOUND}, b = {.settings = "a=1", .fate = TUNE_SOUND};
    const char *problem;

    w.noise = 0.02;
    assert_true(tune_compare(w.arena, device_of(&w), &options, &a, &b, &problem));
    assert_int_equal(a.rounds, 30);
    assert_true(b.ms / a.ms > 0.88 && b.ms / a.ms < 0.92);
}

static void settings_are_changed_in_place(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    TuneVariants list = {0};

    assert_string_equal(tune_with(arena, "", "skew", "on"), "skew=on");
    assert_string_equal(tune_with(arena, "warps=8 skew=on BM=64", "skew", "off"), "warps=8 skew=off BM=64");
    assert_string_equal(tune_with(arena, "xskew=on", "skew", "off"), "xskew=on skew=off");
    tune_neighbours(arena, "warps=8 softmax=exact", NULL, &list);
    assert_true(list.len > 8);
    for (int i = 0; i < list.len; i++)
        assert_string_not_equal(list.data[i].settings, "warps=8 softmax=exact");
}

static bool proposes(const TuneVariants *list, const char *setting)
{
    for (int i = 0; i < list->len; i++)
        if (strcmp(list->data[i].settings, setting) == 0) return true;
    return false;
}

/* Of what passes decide for the kernel, and not as they did. */
static void settings_that_matter_are_proposed(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    TuneGpu gpu = {.source = source_at(arena, "ops/gemm_residual.tl"), .target = target_find("sm_90a"), .dtype = DT_BF16};
    const char *const sets[] = {"N=1024", "K=1024"};
    TuneVariants list = {0}, all = {0};

    gpu.sets = sets;
    gpu.n_sets = 2;
    tune_gpu_neighbours(&gpu, arena, "", &list);
    tune_neighbours(arena, "", NULL, &all);
    assert_in_range(list.len, 1, all.len / 2);
    assert_true(proposes(&all, "softmax=exact") && !proposes(&list, "softmax=exact"));
    assert_true(proposes(&list, "roles=off") && !proposes(&list, "roles=on"));
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static TuneEntry entry_of(Arena *arena, const char *shapes)
{
    TuneEntry entry = {.key = {"GPU", 12080, "sm_90a", "op", "Operator op\nend\n# bf16", shapes}, .shape = "n=70", .winner = "BM=64",
                       .ms = 0.25, .untuned_ms = 0.5, .rounds = 12, .when = 1700000000};

    vec_push(arena, &entry.all, (TuneVariant){.settings = "", .fate = TUNE_TIMED, .kernel = "ab", .ms = 0.5, .rounds = 12});
    vec_push(arena, &entry.all, (TuneVariant){.settings = "a=\"1\"", .fate = TUNE_HUNG, .kernel = "cd", .problem = "it hung"});
    return entry;
}

static const char *new_folder(Arena *arena)
{
    char *folder = arena_strdup(arena, "/tmp/tw-tune-XXXXXX");

    assert_non_null(mkdtemp(folder));
    return arena_printf(arena, "%s/a/b", folder);
}

static void entries_are_read_as_written(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *folder = new_folder(arena), *note;
    TuneEntry entry = entry_of(arena, "n 128"), other = entry_of(arena, "n 256"), got;
    TuneEntries list = {0};
    int ignored;

    assert_false(tune_cache_read(arena, folder, &entry.key, &got, &note));
    assert_null(note);
    assert_null(tune_cache_write(arena, folder, &entry));
    assert_null(tune_cache_write(arena, folder, &entry));
    assert_true(tune_cache_read(arena, folder, &entry.key, &got, &note));
    assert_string_equal(got.winner, "BM=64");
    assert_string_equal(got.key.operator, entry.key.operator);
    assert_true(got.ms == 0.25 && got.untuned_ms == 0.5 && got.when == 1700000000 && got.rounds == 12);
    assert_int_equal(got.all.len, 2);
    assert_int_equal(got.all.data[1].fate, TUNE_HUNG);
    assert_string_equal(got.all.data[1].settings, "a=\"1\"");
    assert_false(tune_cache_read(arena, folder, &other.key, &got, &note));
    other.winner = NULL;
    assert_null(tune_cache_write(arena, folder, &other));
    tune_cache_list(arena, folder, &list, &ignored);
    assert_int_equal(list.len, 2);
    assert_null(list.data[1].winner);
    for (int i = 0; i < list.len; i++)
        assert_null(tune_cache_forget(arena, &list.data[i]));
    assert_false(tune_cache_read(arena, folder, &entry.key, &got, &note));
}

/* Whatever is in its file, an entry is right or not there. */
static void damaged_entries_are_ignored(void **state)
{
    static const char *const texts[] = {
        "", "null", "[1]", "{\"version\":1", "{\"version\":99}", "{\"version\":1}", "\xff\xfe",
        "{\"version\":1,\"device\":\"GPU\",\"driver\":12080,\"target\":\"sm_90a\",\"name\":\"op\",\"operator\":\"another\","
        "\"shapes\":\"n 128\",\"variants\":[]}",
        "{\"version\":1,\"device\":\"GPU\",\"driver\":12080,\"target\":\"sm_90a\",\"name\":\"op\",\"operator\":\"another\","
        "\"shapes\":\"n 128\",\"variants\":[{\"settings\":3}]}",
    };
    Arena *arena = ((Fixture *)*state)->arena;
    const char *folder = new_folder(arena), *note;
    TuneEntry entry = entry_of(arena, "n 128"), got;
    TuneEntries list = {0};
    int ignored;

    assert_null(tune_cache_write(arena, folder, &entry));
    tune_cache_list(arena, folder, &list, &ignored);
    assert_int_equal(list.len, 1);
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        assert_null(file_write(arena, list.data[0].path, texts[i], strlen(texts[i])));
        assert_false(tune_cache_read(arena, folder, &entry.key, &got, &note));
        assert_non_null(note);
    }
}

static void folders_are_where_the_convention_says(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    assert_string_equal(tune_cache_folder(arena, "/x", "/home/u"), "/x/tilewright/tune");
    assert_string_equal(tune_cache_folder(arena, NULL, "/home/u"), "/home/u/.cache/tilewright/tune");
    assert_string_equal(tune_cache_folder(arena, "not/absolute", "/home/u"), "/home/u/.cache/tilewright/tune");
    assert_null(tune_cache_folder(arena, "", NULL));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(faults_are_dropped), TEST(the_fastest_is_found_under_noise), TEST(untuned_stays_where_nothing_is_gained),
        TEST(untuned_is_measured_anyhow), TEST(a_wrong_untuned_one_is_not_the_measure), TEST(nothing_right_is_said),
        TEST(neighbours_of_the_winner_are_tried), TEST(a_stopped_search_goes_on), TEST(stopped_at_once_has_no_winner),
        TEST(entries_are_read_as_written), TEST(damaged_entries_are_ignored), TEST(folders_are_where_the_convention_says),
        TEST(time_is_kept), TEST(a_pair_is_compared), TEST(settings_are_changed_in_place), TEST(settings_that_matter_are_proposed),
    };

    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
