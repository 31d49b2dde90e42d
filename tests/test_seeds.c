/* test_seeds.c: bad input. What fuzzers found, files that end early, noise,
 * endless lines, impossible numbers: each comes back with a diagnostic, or at
 * least comes back. How fuzzers are run stands in docs/testing.md. */
#include "chain/chain.h"
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <time.h>

#include <cmocka.h>

static FuzzTarget *const TARGETS[] = {fuzz_parse, fuzz_compile, fuzz_tile, fuzz_ptx, fuzz_reply};

static void take_all(const char *data, size_t size)
{
    for (size_t t = 0; t < TW_COUNT(TARGETS); t++)
        TARGETS[t]((const uint8_t *)data, size);
}

/* ---- files ------------------------------------------------------------------------- */

static void with_file(const char *path, void (*use)(const char *data, size_t size))
{
    enum { MOST = 4 << 20 };
    Heap heap = {0};
    jmp_buf oom;
    Arena *volatile arena = NULL;
    const char *error;
    const Source *source;

    heap.on_oom = &oom;
    if (setjmp(oom))
        fail_msg("out of memory");
    arena = arena_new(&heap);
    source = source_read(arena, path, &error);
    if (!source)
        fail_msg("%s", error);
    assert_true(source->len < MOST);
    use(source->text, source->len);
    arena_free(arena);
}

static void each_seed(const char *folder, void (*use)(const char *data, size_t size))
{
    DIR *dir = opendir(folder);
    int files = 0;

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[512];

        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        with_file(path, use);
        files++;
    }
    closedir(dir);
    assert_true(files > 0);
}

static void seeds_do_no_harm(void **state)
{
    (void)state;
    each_seed("tests/fuzz/seeds", take_all);
}

/* Cut at a few dozen places, and at every one near the end. */
static void cut_tl(const char *data, size_t size)
{
    for (size_t n = 0; n < size; n += n + 40 < size ? size / 40 + 1 : 3) {
        fuzz_parse((const uint8_t *)data, n);
        fuzz_compile((const uint8_t *)data, n);
    }
}

static void cut_tile(const char *data, size_t size)
{
    for (size_t n = 0; n < size; n += size / 100 + 1)
        fuzz_tile((const uint8_t *)data, n);
}

static void cut_ptx(const char *data, size_t size)
{
    for (size_t n = 0; n < size; n += size / 200 + 1)
        fuzz_ptx((const uint8_t *)data, n);
}

static void files_may_end_anywhere(void **state)
{
    (void)state;
    with_file("tests/lang/pipeline.tl", cut_tl);
    with_file("tests/fuzz/seeds/online_softmax.code.tl", cut_tl);
    with_file("tests/fuzz/seeds/online_softmax.lower.tile", cut_tile);
    with_file("tests/fuzz/seeds/online_softmax.sync.tile", cut_tile);
    with_file("tests/fuzz/seeds/add.ptx", cut_ptx);
    with_file("tests/fuzz/seeds/async.ptx", cut_ptx);
    with_file("tests/fuzz/seeds/cluster.ptx", cut_ptx);
}

/* ---- noise --------------------------------------------------------------------------- */

static void noise_is_refused(void **state)
{
    enum { BYTES = 2048, ROUNDS = 60 };
    Rng rng = {7};
    char noise[BYTES];

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BYTES; i++)
            noise[i] = (char)(round % 2 ? rng_below(&rng, 256) : 32 + rng_below(&rng, 96));
        take_all(noise, (size_t)rng_below(&rng, BYTES));
    }
}

/* Bytes of a right program changed here and there: most of it is still read. */
static void spoil(const char *data, size_t size)
{
    enum { ROUNDS = 40, MOST = 1 << 16 };
    static const char bytes[] = " \n()[]{}<>=.,:;%+-*/0129aTx#\0\"";
    char copy[MOST];
    Rng rng = {11};

    for (int round = 0; round < ROUNDS && size <= MOST; round++) {
        memcpy(copy, data, size);
        for (int n = 1 + rng_below(&rng, 4); n > 0; n--)
            copy[rng_below(&rng, (int)size)] = bytes[rng_below(&rng, (int)sizeof bytes)];
        take_all(copy, size);
    }
}

static void spoiled_programs_do_no_harm(void **state)
{
    (void)state;
    each_seed("tests/fuzz/seeds", spoil);
}

/* Ten megabytes without a line's end. */
static void a_line_may_be_endless(void **state)
{
    enum { BYTES = 10 << 20 };
    static const char *const of[] = {"a", "(", "9", "1+", " ", "\t", "#", "[", "-", ".", "{", "\xff", "%r1,"};
    static char line[BYTES];

    (void)state;
    for (size_t i = 0; i < TW_COUNT(of); i++) {
        size_t n = strlen(of[i]);

        for (size_t at = 0; at < BYTES; at++)
            line[at] = of[i][at % n];
        take_all(line, BYTES);
        memcpy(line, "Kernel x\n  Let a = ", 19);
        fuzz_parse((const uint8_t *)line, BYTES);
        memcpy(line, "Operator x\nInput A ", 19);
        fuzz_compile((const uint8_t *)line, BYTES);
        memcpy(line, "tile k {\n  %0 = add", 19);
        fuzz_tile((const uint8_t *)line, BYTES);
        memcpy(line, ".version 7.0\n.entry", 19);
        fuzz_ptx((const uint8_t *)line, BYTES);
    }
}

/* ---- numbers that no tensor has --------------------------------------------------------- */

/* Compiles; true: without an error. */
static bool compiles(const char *text, const char *setting)
{
    Heap heap = {0};
    jmp_buf oom;
    Arena *volatile arena = NULL;
    volatile bool right = false;

    heap.on_oom = &oom;
    if (setjmp(oom) == 0) {
        Source source = {"input", text, strlen(text)};
        Diags *diags;
        Chain *chain;
        bool done;

        arena = arena_new(&heap);
        diags = diags_new(arena, &source);
        chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags, target_default(), DT_F16);
        if (setting && chain_set(chain, setting)) {
            right = false; /* refused with a sentence */
        } else {
            done = strncmp(text, "Operator", 8) == 0
                       ? chain_define(chain, &source) && chain_fuse(chain) && chain_reason(chain, chain->sketch) &&
                             chain_lower(chain, chain->code)
                       : chain_lower(chain, &source);
            done = done && chain_schedule(chain) && chain_emit(chain);
            right = done;
            if (!done && !diags->errors && !chain->failure)
                fail_msg("refused without a word: %s", text);
        }
    }
    arena_free(arena);
    return right;
}

static void sizes_are_possible(void **state)
{
    static const char *const sizes[] = {
        "K=0", "K=-1", "K=9223372036854775807", "K=9223372036854775808", "K=18446744073709551616", "K=1e300",
        "K=1e-300", "K=nan", "K=inf", "K=-inf", "K=0.5", "K=4611686018427387904", "K=99999999999999999999999999"};
    static const char text[] = "Operator product\n  Input A (M, K)\n  Input B (K, N)\n  Output C (M, N)\n"
                               "  Compute GEMM A, B and get C\nend\n";

    (void)state;
    assert_true(compiles(text, NULL));
    assert_true(compiles(text, "K=64"));
    for (size_t i = 0; i < TW_COUNT(sizes); i++)
        if (compiles(text, sizes[i]))
            fail_msg("%s compiles", sizes[i]);
}

static void numbers_in_code_are_possible(void **state)
{
    static const char *const tiles[] = {
        "0", "-16", "9223372036854775807", "9223372036854775808", "4611686018427387904", "16777216",
        "99999999999999999999", "1e30", "1 / 0", "16 div 0", "16 % 0", "(-9223372036854775807 - 1) div -1",
        "9223372036854775807 + 1", "9223372036854775807 * 2", "-(-9223372036854775807 - 1)",
        "3037000500 * 3037000500", "2 ** 62", "2 ** 64", "2 ** 1000000", "BM + 1", "x", "0 / 0"};

    (void)state;
    for (int at = 0; at < 3; at++)
        for (size_t i = 0; i <= TW_COUNT(tiles); i++) {
            const char *size = i < TW_COUNT(tiles) ? tiles[i] : "64";
            char text[512];

            snprintf(text, sizeof text,
                     "Kernel copy\n  Input X (M, 16) fp32\n  Output Y (M, 16) fp32\n  BM = %s\n"
                     "  Grid m = ceil(M / (%s))\n  Allocate X in register (BM, 16)\n"
                     "  Allocate Y in register (BM, 16)\n  Copy X (BM, 16) in coordinate [M = %s] from global to register\n"
                     "  Compute Add X, 1 and get Y\n  Copy Y (BM, 16) in coordinate [M = m] from register to global\n"
                     "end\n", at == 0 ? size : "64", at == 1 ? size : "64", at == 2 && i < TW_COUNT(tiles) ? size : "m");
            if (i == TW_COUNT(tiles))
                assert_true(compiles(text, NULL));
            else if (compiles(text, NULL) && at == 0)
                fail_msg("a tile of %s rows compiles", size);
        }
}

static void operations_may_not_contain_themselves(void **state)
{
    static const char *const texts[] = {
        "Kernel x\n  Define F(A, B)\n    Compute F A and get B\n  end\n  Compute F X and get Y\nend\n",
        "Operator x\n  Input X (M, N)\n  Output Y (M, N)\n  Define F(A, B)\n    Compute G A and get B\n  end\n"
        "  Define G(A, B)\n    Compute F A and get B\n  end\n  Compute F X and get Y\nend\n",
        "Kernel x\n  Input X (M, 16) fp32\n  Output Y (M, 16) fp32\n  Grid m = ceil(M / 16)\n"
        "  Define F(A, B)\n    Define F(A, B)\n      Compute F A and get B\n    end\n    Compute F A and get B\n  end\n"
        "  Compute F X and get Y\nend\n",
        "Operator x\n  Let a = b\n  Let b = a\n  Input X (a, b)\n  Output Y (a, b)\n  Compute Exp X and get Y\nend\n",
        "Operator x\n  Param p = q\n  Param q = p\n  Input X (M, N)\n  Output Y (M, N)\n"
        "  Compute Multiply X, p and get Y\nend\n"};

    (void)state;
    for (size_t i = 0; i < TW_COUNT(texts); i++)
        if (compiles(texts[i], NULL))
            fail_msg("compiles: %s", texts[i]);
}

/* As many as may be, which take a moment, not one that grows with their square. */
static void statements_may_be_many(void **state)
{
    enum { STATEMENTS = 60000, MOST_SECONDS = 12 };
    static const char head[] = "Kernel x\n  Input X (M, N)\n  Output Y (M, N)\n  BM = 16\n  Grid m = ceil(M / BM)\n  Allocate X in register (BM, 32)\n";
    static const char *const of[] = {"  Copy X (BM, 32) in coordinate [M = m] from global to register\n", "  Compute Add X, X and get new X\n"};
    static char text[sizeof head + STATEMENTS * 80];

    (void)state;
    for (size_t i = 0; i < TW_COUNT(of); i++) {
        size_t at = sizeof head - 1, n = strlen(of[i]);
        clock_t began = clock();

        memcpy(text, head, at);
        for (int k = 0; k < STATEMENTS; k++, at += n)
            memcpy(text + at, of[i], n);
        memcpy(text + at, "end\n", 5);
        assert_false(compiles(text, NULL)); /* nothing writes the output */
        assert_true((double)(clock() - began) / CLOCKS_PER_SEC < MOST_SECONDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_do_no_harm),          cmocka_unit_test(files_may_end_anywhere),
        cmocka_unit_test(noise_is_refused),          cmocka_unit_test(spoiled_programs_do_no_harm),
        cmocka_unit_test(a_line_may_be_endless),     cmocka_unit_test(sizes_are_possible),
        cmocka_unit_test(numbers_in_code_are_possible),
        cmocka_unit_test(operations_may_not_contain_themselves), cmocka_unit_test(statements_may_be_many),
    };

    return cmocka_run_group_tests_name("seeds", tests, NULL, NULL);
}
