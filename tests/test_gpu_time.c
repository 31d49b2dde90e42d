/* test_gpu_time.c: timing, of programs that are believed and of others that cheat, on a driver
 * that is a stand-in (gpu_rig.h).
 */
#include "gpu_rig.h"

/* ---- bench -------------------------------------------------------------------------- */

static void count_round(void *user, int round)
{
    int *rounds = user;
    assert_int_equal(round, *rounds);
    ++*rounds;
}

/* Two programs beside each other. */
static bool bench(Fixture *f, const char *ptx, BenchEntry *entries, int *rounds, const char **error)
{
    BenchOptions options = {.rounds = 4, .seed = 1, .progress = count_round, .user = rounds};
    *rounds = 0;
    for (int i = 0; i < 2; i++)
        entries[i] = (BenchEntry){.module = load(f, ptx), .def = f->def, .bindings = shape, .n_bindings = 2};
    return gpu_bench(f->gpu, entries, 2, &options, error);
}

static void test_bench(void **state)
{
    Fixture *f = *state;
    BenchEntry entries[2];
    const char *error = "";
    int rounds;
    need_gpu(f);
    if (!bench(f, "", entries, &rounds, &error))
        fail_msg("%s", error);
    assert_int_equal(rounds, 4);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(entries[i].bytes, 2 * 3 * 70 * 32 * 4);
        for (int round = 0; round < 4; round++) {
            assert_true(entries[i].ms[round] > 0.99 && entries[i].ms[round] < 1.01);
            assert_true(entries[i].mhz[round] > 1499 && entries[i].mhz[round] < 1501);
        }
    }
    assert_false(bench(f, "fault=illegal", entries, &rounds, &error));
    if (!strstr(error, "illegal memory access"))
        fail_msg("%s", error);
}

static bool bench_suspect(Fixture *f, const char *ptx, const RefBinding *at, BenchEntry *entry, const char **error)
{
    *entry = (BenchEntry){.module = load(f, ptx), .def = f->def, .bindings = at, .n_bindings = 2};
    return gpu_bench(f->gpu, entry, 1, &(BenchOptions){.rounds = 4, .seed = 1, .suspect = true}, error);
}

/* Kernels that a check before the timing has nothing against. */
static void test_bench_finds_cheats(void **state)
{
    static const RefBinding large[] = {{"batch", 8}, {"n", 512}};
    static const struct {
        const char *ptx, *problem; /* NULL: none */
        bool large;
    } rows[] = {
        {"", NULL, false},
        {"fault=memo", "while it was timed, it left", false},
        {"fault=cached", "while it was timed, O was wrong", false},
        {"fault=again", NULL, false}, /* timed turns have nothing that it has seen */
        {"fault=tired", "while it was timed, O was wrong", false},
        {"fault=unwritten", "while it was timed, it left", false},
        {"fault=after", "while it was timed, it wrote behind the end of O", false},
        {"fault=input", "while it was timed, it changed A", false},
        {"fault=instant", "writing its outputs alone takes", true},
        {"fault=late", "kept the GPU busy", false},
        {"fault=pause", NULL, false}, /* the host may have had other things to do */
        {"fault=status", "launching: an illegal memory access", false},
    };
    Fixture *f = *state;
    need_gpu(f);
    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        BenchEntry entry;
        const char *error = "";
        bool ok = bench_suspect(f, rows[i].ptx, rows[i].large ? large : shape, &entry, &error);
        if (ok != !rows[i].problem || (!ok && !strstr(error, rows[i].problem)))
            fail_msg("%s: %s", rows[i].ptx, ok ? "nothing is found" : error);
        for (int round = 0; ok && round < 4; round++)
            assert_true(entry.ms[round] > 0.99 && entry.ms[round] < 1.01);
    }
}

/* Without the probe there is no clock, and all else is measured. */
static void test_bench_without_clock(void **state)
{
    Fixture *f = *state;
    BenchEntry entries[2];
    const char *error = "";
    int rounds;
    need_gpu(f);
    assert_true(bench(f, "fault=clock", entries, &rounds, &error));
    f->abi->target = "sm_1";
    assert_true(bench(f, "", entries, &rounds, &error));
    for (int round = 0; round < 4; round++) {
        assert_true(entries[0].mhz[round] == 0);
        assert_true(entries[0].ms[round] > 0);
    }
}

/* The second program's shape is not legal: nothing is timed, everything given back. */
static void test_bench_wants_all_dimensions(void **state)
{
    Fixture *f = *state;
    BenchEntry entries[2];
    const char *error;
    need_gpu(f);
    for (int i = 0; i < 2; i++)
        entries[i] = (BenchEntry){.module = load(f, ""), .def = f->def, .bindings = shape, .n_bindings = 2 - i};
    assert_false(gpu_bench(f->gpu, entries, 2, &(BenchOptions){.rounds = 1, .seed = 1}, &error));
    assert_non_null(strstr(error, "n has no value"));
}

/* ---- a race --------------------------------------------------------------------------- */

static void test_race(void **state)
{
    Fixture *f = *state;
    const char *error = "";
    Tensor **inputs = arena_array(f->arena, Tensor *, 2), **outputs = arena_array(f->arena, Tensor *, 2);
    double ms = 0, distance = 1;
    need_gpu(f);
    assert_true(ref_make_tensors(f->arena, f->def, shape, 2, FILL_NORMAL, 1, inputs, outputs, &error));
    GpuRace *race = gpu_race_open(f->gpu, f->def, shape, 2, inputs, outputs, 3);
    assert_true(gpu_race_enter(race, 0, load(f, ""), &error));
    assert_true(gpu_race_compare(race, 0, &distance, &error));
    assert_true(distance == 0);
    assert_true(gpu_race_time(race, 0, &ms, &error));
    assert_true(ms > 0.9 && ms < 1.1);
    assert_true(gpu_race_compare(race, 0, &distance, &error));
    assert_true(distance == 0);
    assert_true(gpu_race_enter(race, 1, load(f, "fault=wrong"), &error));
    assert_true(gpu_race_compare(race, 1, &distance, &error));
    assert_true(distance > 4e-4 && distance < 6e-4);
    assert_true(gpu_race_enter(race, 2, load(f, "fault=unwritten"), &error));
    assert_true(gpu_race_compare(race, 2, &distance, &error));
    assert_true(distance > 1e30); /* poison */
    gpu_race_close(race);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_bench),
        TEST(test_bench_finds_cheats),
        TEST(test_bench_without_clock),
        TEST(test_bench_wants_all_dimensions),
        TEST(test_race),
#undef TEST
    };
    make_library();
    return cmocka_run_group_tests_name("gpu times", tests, NULL, NULL);
}
