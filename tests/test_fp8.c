/* test_fp8.c: products of 8-bit numbers, at every level: each way in which operands may
 * lie, both formats and both at once, beside operands of 16 bits, scales of every shape,
 * chains in which one product's result is another's operand, results of every type. */
#include "agree.h"
#include "fixture.h"

#include <cmocka.h>

typedef struct Subject {
    const char *name, *text;
    int sets[4]; /* N, K, P, D as far as the text has them; 0: not set */
    int m;       /* M, q_len */
} Subject;

static const char *const set_names[] = {"N", "K", "P", "D"};

#define GEMM(a, b, c, body) \
    "Operator f\n  Input A (" a "\n  Input B (" b "\n  Output C (M, N) " c "\n" body "end\n"
#define SCALED(inputs, body) \
    "Operator f\n  Input A (M, K) e4m3\n  Input B (N, K) e4m3\n" inputs "  Output C (M, N) bf16\n" body "end\n"
#define TIMES(s) "  Compute Multiply C, " s " and get new C\n"

static const Subject products[] = {
    {"A B.T", GEMM("M, K) e4m3", "N, K) e4m3", "bf16", "Compute GEMM A, B.T and get C\n"), {64, 128}, 77},
    {"A B", GEMM("M, K) e5m2", "K, N) e5m2", "fp16", "Compute GEMM A, B and get C\n"), {64, 96}, 50},
    {"A.T B", GEMM("K, M) e4m3", "K, N) e4m3", "bf16", "Compute GEMM A.T, B and get C\n"), {64, 77}, 128},
    {"A.T B.T", GEMM("K, M) e5m2", "N, K) e5m2", "fp32", "Compute GEMM A.T, B.T and get C\n"), {80, 45}, 144},
    {"A.T B, ragged", GEMM("K, M) e4m3", "K, N) e4m3", "fp32", "Compute GEMM A.T, B and get C\n"), {51, 67}, 19},
    {"both formats", GEMM("M, K) e4m3", "N, K) e5m2", "bf16", "Compute GEMM A, B.T and get C\n"), {64, 128}, 33},
    {"of a gradient", GEMM("K, M) e5m2", "K, N) e4m3", "fp32", "Compute GEMM A.T, B and get C\n"), {48, 100}, 64},
    {"8 by 16 bits", GEMM("M, K) e4m3", "K, N) bf16", "bf16", "Compute GEMM A, B and get C\n"), {64, 96}, 45},
    {"16 by 8 bits", GEMM("M, K) fp16", "N, K) e5m2", "fp16", "Compute GEMM A, B.T and get C\n"), {64, 96}, 45},
    {"8 bits transposed by 16", GEMM("K, M) e4m3", "K, N) fp16", "fp16", "Compute GEMM A.T, B and get C\n"), {64, 96}, 45},
    {"cast to 8 bits",
     GEMM("M, K) bf16", "N, K) e4m3", "bf16", "Compute Cast A, e4m3 and get Q\nCompute GEMM Q, B.T and get C\n"),
     {64, 64}, 45},
    {"rounds to 8 bits and saturates",
     GEMM("M, K) e4m3", "N, K) e4m3", "e4m3", "Compute GEMM A, B.T and get C\nCompute Multiply C, 40 and get new C\n"),
     {64, 64}, 45},
    {"shorter than an instruction, in registers",
     GEMM("M, K) e4m3", "K, N) e4m3", "bf16", "Compute Add A, 0 and get Q\nCompute GEMM Q, B and get C\n"), {7, 7}, 32},
    {"rounds to e5m2", GEMM("M, K) e4m3", "K, N) e4m3", "e5m2", "Compute GEMM A, B and get C\n"), {64, 64}, 45},
};

static const Subject scales[] = {
    {"one a tensor", SCALED("Input sa (1) fp32\nInput sb (1, 1) fp32\nParam s\n",
                            "Compute GEMM A, B.T and get C\n" TIMES("sa") TIMES("sb") TIMES("s")), {64, 64}, 45},
    {"one a row and a column", SCALED("Input sa (M, 1) fp32\nInput sb (N) fp32\n",
                                      "Compute GEMM A, B.T and get C\n" TIMES("sa") TIMES("sb")), {64, 64}, 45},
    {"of the operands", SCALED("Input sa (M, 1) fp32\nInput sb (1) fp32\n",
                               "Compute Multiply A, sa and get X\nCompute Multiply B, sb and get Y\n"
                               "Compute GEMM X, Y.T and get C\n"), {64, 64}, 45},
    {"one a block of the result", SCALED("Input s (ceil(M / 32), ceil(N / 16)) fp32\n",
                                         "Compute GEMM A, B.T and get C\n"
                                         "Compute Define S (M, N) as s[row div 32, col div 16]\n" TIMES("S")),
     {64, 64}, 45},
    {"one a block of the operand", SCALED("Input s (M, ceil(K / 32)) fp32\n",
                                          "Compute Define S (M, K) as s[row, col div 32]\nCompute Multiply A, S and get X\n"
                                          "Compute Cast X, bf16 and get new X\nCompute GEMM X, B.T and get C\n"),
     {64, 64}, 45},
    {"of the row's maximum", "Operator f\nInput A (M, K) bf16\nInput B (N, K) e4m3\nInput sb (N) fp32\n"
                             "Output C (M, N) bf16\nCompute Abs A and get X\nCompute RowMax X and get s\n"
                             "Compute Divide s, 448 and get new s\nCompute Divide A, s else 0 and get X\n"
                             "Compute Cast X, e4m3 and get new X\nCompute GEMM X, B.T and get C\n"
                             TIMES("s") TIMES("sb") "end\n", {64, 64}, 45},
};

static const Subject chains[] = {
    {"a result, then transposed", "Operator f\nInput A (M, K) e4m3\nInput B (N, K) e4m3\nInput U (P, N) e4m3\n"
                                  "Output C (M, P) bf16\nCompute GEMM A, B.T and get H\nCompute Gelu H and get new H\n"
                                  "Compute GEMM H, U.T and get C\nend\n", {64, 64, 48}, 45},
    {"three in a row", "Operator f\nInput A (M, K) e4m3\nInput B (N, K) e4m3\nInput U (N, P) e4m3\nInput T (D, P) e5m2\n"
                       "Output C (M, D) bf16\nCompute GEMM A, B.T and get H\nCompute GEMM H, U and get G\n"
                       "Compute Relu G and get new G\nCompute GEMM G, T.T and get C\nend\n", {64, 64, 96, 32}, 45},
    {"a result cast in place", "Operator f\nInput A (M, K) e5m2\nInput B (K, N) e4m3\nInput U (N, P) e4m3\n"
                               "Output C (M, P) bf16\nCompute GEMM A, B and get H\nCompute Cast H, e5m2 and get new H\n"
                               "Compute GEMM H, U and get C\nend\n", {64, 64, 48}, 45},
    {"fours and pairs in one tile", "Operator f\nInput A (M, K) e4m3\nInput B (K, N) e4m3\nInput X (M, P) bf16\n"
                                    "Input Y (N, P) bf16\nInput g (N) fp32\nOutput C (M, N) bf16\n"
                                    "Compute GEMM A, B and get C\n" TIMES("g")
                                    "Compute GEMM X, Y.T and get Z\nCompute Add C, Z and get new C\nend\n", {64, 64, 48}, 45},
    {"fours to an operand of 16 bits", "Operator f\nInput A (M, K) e4m3\nInput B (K, N) e4m3\nInput U (N, P) bf16\n"
                                       "Output C (M, P) bf16\nCompute GEMM A, B and get H\nCompute GEMM H, U and get C\n"
                                       "end\n", {64, 64, 48}, 45},
    {"fours to a transposed one of 16 bits", "Operator f\nInput A (M, K) e4m3\nInput B (K, N) e4m3\nInput U (P, N) fp16\n"
                                             "Output C (M, P) bf16\nCompute GEMM A, B and get H\n"
                                             "Compute Multiply H, 0.1 and get new H\nCompute GEMM H, U.T and get C\n"
                                             "end\n", {64, 64, 48}, 45},
};

static void check_subject(Arena *arena, const Subject *s, const char *target, FillKind fill, uint64_t seed)
{
    LevelCase c = {.definition = s->text, .fill = fill, .seed = seed, .dtype = DT_E4M3, .target = target};

    for (int i = 0; i < 4; i++)
        if (s->sets[i])
            levels_set(arena, &c, set_names[i], s->sets[i]);
    levels_bind(&c, "M", s->m);
    if (strstr(s->text, "Param s\n"))
        levels_bind(&c, "s", 0.375);
    LevelReport report = levels_run(arena, &c);
    if (report.verdict != LEVELS_AGREE)
        fail_msg("%s for %s: %s: %s\n%s", s->name, target, report.level, report.problem, str_text(&report.log));
}

static void expect_all(void **state, const Subject *subjects, size_t n, const char *target)
{
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < n; i++)
        check_subject(arena, &subjects[i], target, i % 2 ? FILL_NORMAL : FILL_UNIFORM, i + 1);
}

static void operands(void **state)
{
    expect_all(state, products, TW_COUNT(products), "sm_89");
}

static void scales_of_every_shape(void **state)
{
    expect_all(state, scales, TW_COUNT(scales), "sm_89");
}

static void results_as_operands(void **state)
{
    expect_all(state, chains, TW_COUNT(chains), "sm_89");
}

/* Where mma.sync has no operands of 8 bits they are widened to fp16, which holds them exactly. */
static void widened(void **state)
{
    expect_all(state, products, TW_COUNT(products), "sm_90a");
    expect_all(state, chains, TW_COUNT(chains), "sm_90a");
}

/* Warps beside and above each other, whose shares begin within a tile's panels. */
static void first_operand_transposed_by_warps(void **state)
{
    static const int choices[][4] = {{64, 64, 4, 2}, {64, 32, 4, 1}, {128, 64, 8, 2}, {32, 64, 2, 2}, {48, 32, 3, 1}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(choices); i++) {
        LevelCase c = {.definition = products[2].text, .fill = FILL_NORMAL, .seed = i, .dtype = DT_E4M3, .target = "sm_89"};
        levels_set(arena, &c, "BM", choices[i][0]);
        levels_set(arena, &c, "BN", choices[i][1]);
        levels_set(arena, &c, "warps", choices[i][2]);
        levels_set(arena, &c, "warps_n", choices[i][3]);
        levels_bind(&c, "M", 130);
        levels_bind(&c, "N", 96);
        levels_bind(&c, "K", 70);
        expect_agreement(arena, &c);
    }
}

/* A tile of 16 bits that also becomes an operand of 8 lies in lanes as that does. */
static void row_sums_of_what_becomes_an_operand(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    LevelCase c = {.definition = "Operator sums\n  Input X (M, K) bf16\n  Input W (K, N)\n  Output Y (M, N) bf16\n"
                                 "  Compute RowSum X and get T\n  Compute Add X, 0 and get H\n"
                                 "  Compute GEMM H, W and get P\n  Compute Add P, T and get Y\nend\n",
                   .fill = FILL_UNIFORM, .seed = 5, .dtype = DT_E5M2, .target = "sm_89"};

    levels_set(arena, &c, "K", 40);
    levels_set(arena, &c, "N", 32);
    levels_bind(&c, "M", 70);
    levels_bind(&c, "N", 32);
    levels_bind(&c, "K", 40);
    expect_agreement(arena, &c);
}

/* Beside accumulators in fours, tiles of 16 and 32 bits: half of the lanes take their second pairs first, or all would meet in banks.
 * Panels of 64 and of 128 bytes. */
static void fours_meet_in_no_bank(void **state)
{
    static const char *const types[] = {"bf16", "fp16", "fp32", "int32"};
    static const char *const bodies[] = {
        "  Compute Add S, R and get S2\n  Compute Softmax S2 and get P\n  Compute GEMM P, V and get Y\n",
        "  Compute Multiply S, R and get P\n  Compute GEMM P, V and get Y\n",
        "  Compute Add S, R and get S2\n  Compute RowMax S2 and get m\n  Compute GEMM S2, V and get Y0\n  Compute Subtract Y0, m and get Y\n",
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(types) * TW_COUNT(bodies) * 3; i++) {
        const char *type = types[i % TW_COUNT(types)], *body = bodies[i / TW_COUNT(types) % TW_COUNT(bodies)];
        LevelCase c = {.definition = arena_printf(arena, "Operator beside\n  Input X (M, 64)\n  Input W (64, L)\n  Input R (M, L) %s\n"
                                                         "  Input V (L, 64)\n  Output Y (M, 64)\n  Compute GEMM X, W and get S\n%send\n", type, body),
                       .fill = FILL_UNIFORM, .seed = i, .dtype = i % 2 ? DT_E4M3 : DT_E5M2, .target = "sm_89"};

        levels_set(arena, &c, "BM", 32);
        levels_set(arena, &c, "BN", 32 * (1 + (double)(i / (TW_COUNT(types) * TW_COUNT(bodies)))));
        levels_set(arena, &c, "warps", 2);
        levels_bind(&c, "M", 70);
        levels_bind(&c, "L", 90);
        expect_no_conflicts(arena, &c);
    }
}

/* -inf in a tile of 8 bits is its largest number, also where it stays in registers. */
static void masked_in_a_tile(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    expect_masked_agreement(arena, "e5m2", (LevelCase){.fill = FILL_UNIFORM, .seed = 5, .dtype = DT_E5M2, .target = "sm_89"});
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(operands),
        TEST(scales_of_every_shape),
        TEST(results_as_operands),
        TEST(widened),
        TEST(first_operand_transposed_by_warps),
        TEST(row_sums_of_what_becomes_an_operand),
        TEST(fours_meet_in_no_bank),
        TEST(masked_in_a_tile),
    };
    return cmocka_run_group_tests_name("fp8", tests, NULL, NULL);
}
