/* test_integers.c: elements that are integers, at every level: weights of 8 bits that were
 * quantized, with scales and zero points of every shape, whichever operand they are; caches,
 * activations that are quantized, masks and places of 8 bits; what does not fit is cut; and words
 * of several numbers that are taken apart, of all that 32 bits hold.
 */
#include "agree.h"
#include "fixture.h"

#include <cmocka.h>

typedef struct Subject {
    const char *name, *text, *sets, *binds;
} Subject;

static const char *const targets[] = {"sm_75", "sm_80", "sm_90a"};

#define WEIGHTS(inputs, body) \
    "Operator f\n  Input X (M, K)\n  Input W (N, K) int8\n" inputs "  Output Y (M, N)\n" body "end\n"
#define UNSIGNED(inputs, body) \
    "Operator f\n  Input X (M, K)\n  Input W (K, N) uint8\n" inputs "  Output Y (M, N)\n" body "end\n"

static const Subject weights[] = {
    {"as they are", WEIGHTS("", "  Compute GEMM X, W.T and get Y\n"), "K=64 N=64", "M=77"},
    {"of sizes that the launch gives", WEIGHTS("", "  Compute GEMM X, W.T and get Y\n"), "", "M=33 N=50 K=70"},
    {"a scale a row", WEIGHTS("Input s (N) fp32\n", "  Compute GEMM X, W.T and get Y\n  Compute Multiply Y, s and get new Y\n"),
     "K=96 N=64", "M=45"},
    {"a scale a group", WEIGHTS("Input s (N, K div 32)\n", "  Compute Define S (N, K) as s[row, col div 32]\n"
                                "  Compute Multiply W, S and get D\n  Compute GEMM X, D.T and get Y\n"), "K=96 N=64", "M=45"},
    {"a zero point a column", UNSIGNED("Input z (N) uint8\nInput s (N) fp32\n", "  Compute Subtract W, z and get D\n"
                                       "  Compute Multiply D, s and get new D\n  Compute GEMM X, D and get Y\n"), "K=64 N=80", "M=45"},
    {"a zero point a group", UNSIGNED("Input z (K div 16, N) uint8\nInput s (K div 16, N)\n",
                                      "  Compute Define Z (K, N) as (W[row, col] - z[row div 16, col]) * s[row div 16, col]\n"
                                      "  Compute GEMM X, Z and get Y\n"), "K=64 N=48", "M=45"},
    {"unsigned, of a few rows", UNSIGNED("", "  Compute GEMM X, W and get Y\n"), "N=64", "M=3 K=200"},
    {"the first operand", "Operator f\n  Input X (M, K) int8\n  Input W (N, K)\n  Output Y (M, N) fp32\n  Compute GEMM X, W.T and get Y\nend\n",
     "K=64 N=64", "M=45"},
    {"both operands", "Operator f\n  Input X (M, K) int8\n  Input W (N, K) uint8\n  Output Y (M, N) fp32\n  Compute GEMM X, W.T and get Y\nend\n",
     "K=64 N=64", "M=45"},
    {"transposed", "Operator f\n  Input X (K, M) int8\n  Input W (K, N)\n  Output Y (M, N)\n  Compute GEMM X.T, W and get Y\nend\n", "K=64 N=64", "M=48"},
    {"a cache", "Operator f\n  Input Q (h, q, D)\n  Input K (g, n, D) int8\n  Input V (g, n, D) int8\n  Input ks (g, n, 1) fp32\n"
                "  Input vs (g, n, 1) fp32\n  Output O (h, q, D)\n  Index i over q from n - q\n  Index j over n\n"
                "  Compute Multiply ks, 0.02 and get kt\n  Compute Multiply K, kt and get Kd\n  Compute Multiply V, vs and get Vd\n  Compute GEMM Q, Kd.T and get S\n"
                "  Compute Multiply S, 1/sqrt(D) and get new S\n  Compute Mask S where j <= i\n  Compute Softmax S and get P\n"
                "  Compute GEMM P, Vd and get O\nend\n", "D=32", "h=4 g=2 q=20 n=70"},
};

static const Subject elements[] = {
    {"in place of numbers", "Operator f\n  Input X (M, N) int8\n  Output Y (M, N)\n  Compute Multiply X, 0.25 and get Y\nend\n", "", "M=9 N=70"},
    {"in rows of whole words", "Operator f\n  Input X (M, N) uint8\n  Output Y (M, N)\n  Compute RowSum X and get s\n  Compute Divide X, s else 0 and get Y\nend\n",
     "N=256", "M=9"},
    {"cut to the type's range", "Operator f\n  Input X (M, N) fp32\n  Output Y (M, N) int8\n  Output Z (M, N) uint8\n  Compute Multiply X, 300 and get Y\n"
                                "  Compute Multiply X, -300 and get Z\nend\n", "N=64", "M=9"},
    {"cut in registers", "Operator f\n  Input X (M, N) fp32\n  Output Y (M, N) fp32\n  Compute Multiply X, 100 and get T\n  Compute Cast T, int8 and get new T\n"
                         "  Compute Cast T, uint8 and get U\n  Compute Add T, U and get Y\nend\n", "N=64", "M=9"},
    {"quantized by rows", "Operator f\n  Input X (M, N) fp32\n  Output Y (M, N) int8\n  Output s (M, 1) fp32\n  Compute Abs X and get A\n  Compute RowMax A and get s\n"
                          "  Compute Divide s, 127 and get new s\n  Compute Divide X, s else 0 and get Q\n  Compute Round Q and get Y\nend\n", "N=128", "M=21"},
    {"a result", "Operator f\n  Input A (M, K) int8\n  Input B (N, K) uint8\n  Output C (M, N) int8\n  Compute GEMM A, B.T and get C\n  Compute Fma C, 0.001953125, 0.0009765625 and get new C\n  Compute Round C and get new C\n  Compute Add C, 0.25 and get new C\nend\n",
     "K=32 N=64", "M=45"},
    {"a mask", "Operator f\n  Input X (M, N)\n  Input keep (N) uint8\n  Input kind (M) int8\n  Output Y (M, N)\n"
               "  Compute Mask X where keep[col] > 0 and kind[row] != 2 else 0 and get Y\nend\n", "", "M=20 N=70"},
    {"places", "Operator f\n  Input X (N, D)\n  Input at (M) uint8\n  Output Y (M, D)\n  Compute Define Y (M, D) as X[at[row], col]\nend\n", "", "M=20 N=40 D=64"},
};

#define WORDS(inputs, value) \
    "Operator f\n  Input Q (M, N) int32\n" inputs "  Output Y (M, N) fp32\n  Index i over M\n  Index j over N\n" \
    "  Compute Define Y (M, N) as " value "\nend\n"
#define PACKED(type, bits, per, value) \
    "Operator f\n  Input X (M, K)\n  Input W (ceil(K / " #per "), N) " type "\n  Output Y (M, N) fp32\n  Index k over K\n  Index n over N\n" \
    "  Compute Define D (K, N) as W[k div " #per ", n] div 2 ** (" #bits " * (k % " #per ")) % 2 ** " #bits value "\n" \
    "  Compute GEMM X, D and get Y\nend\n"

/* Quotients, remainders and what is made of them; sums and products of which 32 bits are too few. */
static const Subject words[] = {
    {"a field", WORDS("", "Q[i, j] div 2 ** (4 * (j % 8)) % 16"), "", "M=9 N=70"},
    {"another base", WORDS("", "Q[i, j] div 16 ** (j % 8) % 16 - 8"), "N=64", "M=9"},
    {"a bit, of any place", WORDS("", "Q[i, j] div 2 ** max(i * 4 - j, 0) % 2"), "", "M=20 N=50"},
    {"the highest bits", WORDS("", "Q[i, j] div 2 ** (16 + j % 16) + Q[i, j] div 2 ** 31 * 7"), "", "M=20 N=50"},
    {"a remainder by a power", WORDS("", "Q[i, j] % 2 ** (j % 24) - Q[i, j] % 2 ** (j % 8)"), "N=64", "M=9"},
    {"other divisors", WORDS("", "Q[i, j] % 1000 - Q[i, j] div 3 % 7 + Q[i, j] % -11"), "N=64", "M=9"},
    {"divisors that are read", WORDS("Input d (N) int8\n", "Q[i, j] div (d[j] * 2 + 1) % 100 + Q[i, j] % (d[j] * 4 + 1)"), "N=48", "M=9"},
    {"products and sums", WORDS("", "(Q[i, j] % 2 ** 20 * (Q[i, j] div 2 ** 20 + j) + 2 ** 31) % 8191"), "N=48", "M=9"},
    {"a hash", WORDS("", "(Q[i, j] % 65536 * 40503 + Q[i, j] div 65536 * 60493) % 1009"), "N=48", "M=9"},
    {"of all bits", WORDS("", "(Q[i, j] * 5 - i) div 2 ** 30"), "N=48", "M=9"},
    {"larger and smaller", WORDS("", "max(Q[i, j] div 2 ** 24, 0) - min(Q[i, j] % 256, j, 100)"), "N=48", "M=9"},
    {"conditions", WORDS("", "(Q[i, j] % 16 < 8) + 2 * (Q[i, j] div 16 % 16 == j % 16) + 4 * (not Q[i, j] % 3)"), "N=48", "M=9"},
    {"comparisons", WORDS("Input z (M, 1) int32\n", "(Q[i, j] <= z[i, 0]) + 2 * (z[i, 0] < Q[i, j]) + 4 * (Q[i, j] == Q[i, j div 2 * 2])"), "N=48", "M=19"},
    {"comparisons with places", WORDS("", "(Q[i, j] > i * 100000000) + 2 * (j - Q[i, j] >= 2 ** 30) + 4 * (Q[i, j] != j) + 8 * (Q[i, j] * 3 < j)"), "", "M=9 N=70"},
    {"ids", "Operator f\n  Input X (M, N)\n  Input a (8) int32\n  Output Y (M, N)\n  Compute Mask X where a[row % 8] == a[col div 3 % 8] and a[col % 8] > -10 ** 9 else 0 and get Y\nend\n",
     "", "M=20 N=70"},
    {"of 64 bits", "Operator f\n  Input Q (M, N) int64\n  Input z (M) int64\n  Output Y (M, N) fp32\n  Index i over M\n  Index j over N\n"
                   "  Compute Define Y (M, N) as Q[i, j] div 2 ** (j % 48) % 16 + Q[i, j] % 1000 + (Q[i, j] < z[i]) * 3 + 5 * (Q[i, j] == Q[i, j div 2 * 2])\nend\n", "N=48", "M=19"},
    {"labels of 64 bits", "Operator f\n  Input X (M, N)\n  Input label (M) int64\n  Output Y (M, N)\n  Index i over M\n  Index j over N\n"
                          "  Compute Mask X where label[i] % 64 == j or label[i] div 2 ** 40 % 7 == i % 7 else 0 and get Y\nend\n", "", "M=20 N=70"},
    {"parts of 64 bits", "Operator f\n  Input Q (M, N) int64\n  Output Y (M, N) fp32\n  Index i over M\n  Index j over N\n"
                         "  Compute Define Y (M, N) as Q[i, j] - Q[i, j] div 4096 * 4096 + max(Q[i, j] div 2 ** 48, 2)\nend\n", "", "M=9 N=70"},
    {"beside numbers", WORDS("Input s (N)\n", "(Q[i, j] div 256 % 256 - 128) * s[j] + Q[i, j] % 4 / 2"), "N=48", "M=9"},
    {"signs", WORDS("", "Q[i, j] div 2 ** 28 - 16 * (Q[i, j] div 2 ** 31)"), "N=48", "M=9"},
    {"of each row", WORDS("Input z (M, 1) int32\n", "Q[i, j] % 16 - z[i, 0] div 2 ** (4 * (i % 8)) % 16"), "N=48", "M=19"},
    {"of one for all", WORDS("Input z (1, 1) int32\n", "Q[i, j] % 16 - z[0, 0] div 2 ** (4 * (j % 8)) % 16 * (z[0, 0] % 4096)"), "N=48", "M=19"},
    {"at told places", "Operator f\n  Input Q (M, N) int32\n  Input at (M) uint8\n  Output Y (M, N) fp32\n"
                       "  Compute Define Y (M, N) as Q[at[row] % M, (col + 3) % N] div 2 ** 20 % 512\nend\n", "N=48", "M=19"},
    {"in a mask", "Operator f\n  Input X (M, N)\n  Input keep (M, ceil(N / 32)) int32\n  Output Y (M, N)\n"
                  "  Compute Mask X where keep[row, col div 32] div 2 ** (col % 32) % 2 == 1 else 0 and get Y\nend\n", "", "M=20 N=70"},
    {"one for a block", "Operator f\n  Input X (B, M, N)\n  Input w (B) int32\n  Output Y (B, M, N)\n  Index i over M\n"
                        "  Compute Mask X where w[B] % 16 != i % 16 and w[B] div 16 % 4 != i % 4 else 0 and get Y\nend\n", "", "B=3 M=20 N=40"},
    {"a bound for a block", "Operator f\n  Input X (B, M, N)\n  Input w (B) int32\n  Output Y (B, M, N)\n  Index j over N\n"
                            "  Compute Mask X where (j - w[B] % 32) div 64 != 0 else 0 and get Y\nend\n", "", "B=3 M=20 N=40"},
    {"weights", PACKED("int32", 4, 8, " - 8"), "K=96 N=64", "M=45"},
    {"weights of sizes that the launch gives", PACKED("int32", 4, 8, ""), "", "M=33 K=72 N=50"},
    {"weights of two bits", PACKED("int32", 2, 16, " - 1"), "K=64 N=80", "M=45"},
    {"nibbles", PACKED("uint8", 4, 2, " - 8"), "K=64 N=80", "M=45"},
    {"nibbles of signed bytes", PACKED("int8", 4, 2, ""), "K=70 N=48", "M=45"},
};

static void bind_all(Arena *arena, LevelCase *c, const char *binds)
{
    Settings settings = {0};

    for (const char *w = binds; *w; w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");

        assert_null(settings_add(arena, &settings, arena_strndup(arena, w, n)));
        w += n;
    }
    for (int i = 0; i < settings.list.len; i++)
        levels_bind(c, settings.list.data[i].name, settings.list.data[i].value);
}

static void check_subject(Arena *arena, const Subject *s, const char *target, FillKind fill, uint64_t seed, bool full)
{
    DType dtype = strcmp(target, "sm_75") == 0 || seed % 2 ? DT_F16 : DT_BF16;
    LevelCase c = {.definition = s->text, .fill = fill, .words = full, .seed = seed, .dtype = dtype, .target = target};

    for (const char *w = s->sets; *w; w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");

        c.sets[c.n_sets++] = arena_strndup(arena, w, n);
        w += n;
    }
    bind_all(arena, &c, s->binds);
    LevelReport report = levels_run(arena, &c);
    if (report.verdict != LEVELS_AGREE)
        fail_msg("%s for %s: %s: %s\n%s", s->name, target, report.level, report.problem, str_text(&report.log));
}

static void expect_all(void **state, const Subject *subjects, size_t n, bool full)
{
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t t = 0; t < TW_COUNT(targets); t++)
        for (size_t i = 0; i < n; i++)
            check_subject(arena, &subjects[i], targets[t], i % 3 ? FILL_NORMAL : FILL_UNIFORM, i + t + 1, full);
}

static void quantized_weights(void **state)
{
    expect_all(state, weights, TW_COUNT(weights), false);
}

static void elements_of_8_bits(void **state)
{
    expect_all(state, elements, TW_COUNT(elements), false);
}

static void words_taken_apart(void **state)
{
    expect_all(state, words, TW_COUNT(words), true);
}

/* -inf in a tile of integers is the least one that it holds, also where it stays in registers. */
static void masked_in_a_tile(void **state)
{
    static const char *const types[] = {"int8", "uint8", "int32"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(types); i++)
        expect_masked_agreement(arena, types[i], (LevelCase){.fill = FILL_LARGE, .seed = 5, .dtype = DT_BF16, .target = "sm_80"});
}

/* What is rounded up gets the divisor added first, which may leave 32 bits. */
static void divisors_near_the_end_of_32_bits(void **state)
{
    static const char *const divisors[] = {"2147483648", "2147483647", "1073741824", "4294967296"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(divisors); i++) {
        LevelCase c = {.fill = FILL_NORMAL, .seed = 3, .dtype = DT_BF16, .target = "sm_80"};

        c.code = arena_printf(arena,
                              "Kernel copy\n  Input X (M, N)\n  Output Y (M, N)\n  Grid m = M\n  Allocate X in register (1, 256)\n"
                              "  for k = 0:min(ceil(N / 256), ceil(N / %s) * 1000)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
                              "    Copy X as Y (1, 256) in coordinate [M = m, N = k] from register to global\n  end\n  Schedule sm_80\n    warps = 1\n  end\nend\n",
                              divisors[i]);
        bind_all(arena, &c, "M=3 N=700");
        LevelReport report = levels_run(arena, &c);
        if (report.verdict != LEVELS_AGREE)
            fail_msg("%s: %s: %s", divisors[i], report.level, report.problem);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(quantized_weights),
        TEST(elements_of_8_bits),
        TEST(words_taken_apart),
        TEST(masked_in_a_tile),
        TEST(divisors_near_the_end_of_32_bits),
    };
    return cmocka_run_group_tests_name("integers", tests, NULL, NULL);
}
