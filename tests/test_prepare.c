/* test_prepare.c: tiles that lanes of a role of their own put into shared memory for warpgroups that multiply: second
 * operands that arithmetic makes, and what no bulk copy brings, or brings slowly; at every level, under several schedules.
 */
#include "agree.h"
#include "fixture.h"

#include <cmocka.h>

#include "texts.h"

static char **words_of(Arena *arena, const char *text, int *n)
{
    char **words = arena_array(arena, char *, LEVEL_SETS);

    for (*n = 0; *text;) {
        size_t len = strcspn(text, " ");

        assert_true(*n < LEVEL_SETS);
        words[(*n)++] = arena_strndup(arena, text, len);
        text += len + strspn(text + len, " ");
    }
    return words;
}

static LevelCase case_of(Arena *arena, const char *definition, DType dtype, FillKind fill, const char *sets, const char *binds)
{
    LevelCase c = {.definition = definition, .dtype = dtype, .fill = fill, .seed = 21, .target = "sm_90a"};
    Settings settings = {0};
    char **words = words_of(arena, sets, &c.n_sets);
    int n;

    for (int i = 0; i < c.n_sets; i++)
        c.sets[i] = words[i];
    words = words_of(arena, binds, &n);
    for (int i = 0; i < n; i++)
        assert_null(settings_add(arena, &settings, words[i]));
    for (int i = 0; i < settings.list.len; i++)
        levels_bind(&c, settings.list.data[i].name, settings.list.data[i].value);
    return c;
}

static void check(Arena *arena, const char *definition, DType dtype, FillKind fill, const char *sets, const char *binds)
{
    LevelCase c = case_of(arena, definition, dtype, fill, sets, binds);

    expect_agreement(arena, &c);
}

static Chain *chain_of(Arena *arena, const Source *source, const char *sets)
{
    Diags *diags = diags_new(arena, source);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags, target_find("sm_90a"), DT_BF16);
    int n;
    char **words = words_of(arena, sets, &n);

    for (int i = 0; i < n; i++)
        assert_null(chain_set(chain, words[i]));
    assert_true(chain_define(chain, source) && chain_fuse(chain) && chain_reason(chain, chain->sketch));
    bool ok = chain_lower(chain, chain->code) && chain_schedule(chain);
    if (!ok) diags_print(diags, stderr, false);
    assert_true(ok);
    return chain;
}

/* The tile IR that its kernel ends as, and whether that has the role. */
static bool has_role(Arena *arena, const char *definition, const char *sets, const char *role)
{
    Str text = str_new(arena);
    Source source = {.path = "prepared.tl", .text = definition, .len = strlen(definition)};

    tile_print(&text, chain_of(arena, &source, sets)->tile);
    return strstr(str_text(&text), arena_printf(arena, "    %s (warps 4", role)) != NULL;
}

static bool prepares(Arena *arena, const char *definition, const char *sets)
{
    return has_role(arena, definition, sets, "prepare");
}

/* Both that it is prepared and that it is right. */
static void expect(Arena *arena, const char *definition, DType dtype, const char *sets, const char *binds)
{
    assert_true(prepares(arena, definition, sets));
    check(arena, definition, dtype, FILL_NORMAL, sets, binds);
}

static const char *text_of(Arena *arena, const char *path)
{
    return source_at(arena, path)->text;
}

/* ---- weights --------------------------------------------------------------------------- */

/* One warpgroup that multiplies to three; slabs of 64 and of 128 rows; one stage to four. */
static void weights_of_8_bits(void **state)
{
    static const char *const sets[] = {
        "BM=64 BN=64 BK=64 warps=4 stages=1",   "BM=128 BN=128 BK=64 warps=8 stages=2", "BM=128 BN=256 BK=64 warps=8 stages=4",
        "BM=64 BN=192 BK=64 warps=4 stages=2", "BM=128 BN=128 BK=32 warps=8 stages=3",
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(sets); i++) {
        const char *all = arena_printf(arena, "N=320 K=%d warps_n=1 %s", i % 2 ? 256 : 208, sets[i]);

        if (!strstr(sets[i], "BN=256")) expect(arena, text_of(arena, "ops/gemm_weight_only.tl"), DT_BF16, all, "M=150");
        expect(arena, text_of(arena, "ops/gemm_weight_int8.tl"), DT_BF16, arena_printf(arena, "%s Group=32", all), "M=70");
        expect(arena, text_of(arena, "ops/gemm_weight_int8.tl"), i % 2 ? DT_F16 : DT_BF16, all, "M=130");
    }
}

/* A zero point, the other way round, in shared memory as fp16, with a scale of the launch. */
static void weights_otherwise(void **state)
{
    static const char *const weights[] = {
        "Compute Define Z (N, K) as zero[row]\n  Compute Subtract W, Z and get D\n  Compute GEMM X, D.T and get Y",
        "Compute Define Z (N, K) as zero[row]\n  Compute Subtract W, Z and get D\n  Compute Multiply D, gain and get new D\n  Compute GEMM X, D.T and get Y",
        "Compute Define Z (N, K) as groups[row, col div 32] * groups[row, col div 64 + 1]\n  Compute Subtract W, Z and get D\n  Compute GEMM X, D.T and get Y",
        "Compute Define Z (N, K) as zero[row]\n  Compute Multiply W, Z and get D\n  Compute Silu D and get new D\n  Compute GEMM X, D.T and get Y",
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(weights); i++)
        expect(arena,
               arena_printf(arena, "Operator other\n  Input X (M, K)\n  Input W (N, K) uint8\n  Input zero (N) fp32\n  Input groups (N, 4) fp32\n  Output Y (M, N)\n"
                                   "  Param gain = 0.5\n  %s\nend\n", weights[i]),
               DT_F16, "N=192 K=128 BM=128 BN=128 BK=64 warps=8 warps_n=1 stages=3", "M=140");
}

/* ---- keys -------------------------------------------------------------------------------- */

static void rotated_keys(void **state)
{
    static const int lengths[][2] = {{150, 190}, {1, 300}, {200, 1}, {70, 0}};
    static const char *const sets[] = {"BM=64 BN=64 warps=4 stages=2", "BM=64 BN=64 warps=4 stages=3 skew=off"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(lengths); i++)
        expect(arena, text_of(arena, "ops/rotary_attention.tl"), DT_F16, arena_printf(arena, "Half=32 q_heads=2 kv_heads=1 %s", sets[i % 2]),
               arena_printf(arena, "batch=1 q_len=%d kv_len=%d", lengths[i][0], lengths[i][1]));
}

/* Rows are summed before the first of their elements is ready. */
static void normalized_keys(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    expect(arena, text_of(arena, "ops/qk_norm_attention.tl"), DT_F16, "HeadDim=64 q_heads=2 kv_heads=1 BM=64 BN=128 warps=4", "batch=1 q_len=150 kv_len=190");
    expect(arena, text_of(arena, "ops/qk_norm_attention.tl"), DT_F16, "HeadDim=64 q_heads=2 kv_heads=1 BM=128 BN=64 warps=8", "batch=1 q_len=150 kv_len=290");
    expect(arena, text_of(arena, "ops/qk_norm_attention.tl"), DT_F16, "HeadDim=128 q_heads=1 kv_heads=1 BM=64 BN=64 warps=4", "batch=1 q_len=70 kv_len=100");
}

/* Keys and values of a cache of int8, each product's operand prepared apart; lengths from data, which bounds of loops are made of. */
static void quantized_keys_and_values(void **state)
{
    static const int lengths[][2] = {{150, 190}, {1, 300}, {200, 5}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(lengths); i++) {
        const char *sets = i % 2 ? "HeadDim=64 q_heads=2 kv_heads=1 BM=64 BN=64 warps=4 stages=2" : "HeadDim=64 q_heads=2 kv_heads=2 BM=128 BN=64 warps=8";

        assert_true(prepares(arena, text_of(arena, "ops/attention_kv_int8.tl"), sets));
        check(arena, text_of(arena, "ops/attention_kv_int8.tl"), DT_F16, FILL_SMALL, sets,
              arena_printf(arena, "batch=1 q_len=%d kv_len=%d", lengths[i][0], lengths[i][1]));
    }
    expect(arena,
           "Operator scaled\n  Input Q (b, q_len, 64)\n  Input K (b, kv_len, 64)\n  Input V (b, kv_len, 64)\n  Input s (b, kv_len) fp32\n"
           "  Input L (b) int32\n  Output O (b, q_len, 64)\n  Index kv_pos over kv_len\n"
           "  Compute Define G (b, kv_len, 64) as s[b, kv_pos]\n  Compute Multiply K, G and get KS\n  Compute GEMM Q, KS.T and get S\n"
           "  Compute Multiply S, 0.125 and get new S\n  Compute Mask S where kv_pos < L[b]\n  Compute Softmax S and get P\n"
           "  Compute GEMM P, V and get O\nend\n",
           DT_F16, "BM=128 BN=64 warps=8 stages=3", "b=2 q_len=150 kv_len=200");
}

/* Operands of 8 bits, which warpgroups do not take as they lie, or not for exponentials, are widened without a word in the definition
 * where warpgroups multiply then; some in a kernel of their own. Others are not: keys that are no more than multiplied. */
static void operands_of_8_bits(void **state)
{
    static const int lengths[][2] = {{150, 190}, {1, 300}, {200, 5}};
    static const char *const bodies[] = {
        "Compute Exp X and get E\n  Compute GEMM E, W and get Y",
        "Compute GEMM X, W and get Y",
        "Compute GEMM X, W and get S\n  Compute Exp S and get Y",
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(lengths); i++)
        expect(arena, text_of(arena, "ops/attention_fp8.tl"), DT_BF16, i % 2 ? "HeadDim=64 BM=64 BN=64 warps=4 stages=2" : "HeadDim=128",
               arena_printf(arena, "batch=1 q_heads=2 kv_heads=1 q_len=%d kv_len=%d", lengths[i][0], lengths[i][1]));
    assert_false(prepares(arena, text_of(arena, "ops/attention_fp8.tl"), "HeadDim=64 BM=32 warps=2"));
    assert_false(prepares(arena, text_of(arena, "ops/gemm_fp8.tl"), "N=256 K=256"));
    for (size_t i = 0; i < TW_COUNT(bodies); i++)
        expect(arena, arena_printf(arena, "Operator other\n  Input X (M, K) e4m3\n  Input W (K, N) e5m2\n  Output Y (M, N)\n  %s\nend\n", bodies[i]), DT_BF16,
               "N=128 K=128", "M=150");
}

/* Lanes that prepare tiles, of a role and, in entries for any alignment, of all warps, meet in no bank: of bytes with fewer rows than
 * lanes, with panels of 128 bytes and of less, of K and V and of weights either way round; nor where whole rows are normalized. */
static void prepared_tiles_meet_in_no_bank(void **state)
{
    static const struct {
        const char *op, *sets, *binds;
        DType dtype;
    } cases[] = {
        {"attention_fp8", "HeadDim=104 BM=128 BN=64 warps=8 stages=2", "batch=1 q_heads=2 kv_heads=1 q_len=70 kv_len=90", DT_E4M3},
        {"attention_fp8", "HeadDim=128 BM=64 BN=32 warps=4 stages=2", "batch=1 q_heads=2 kv_heads=1 q_len=70 kv_len=90", DT_E4M3},
        {"attention_bias", "HeadDim=128 q_len=70 kv_len=96 q_heads=2 kv_heads=1", "batch=1", DT_E4M3},
        {"attention_bias", "HeadDim=40", "batch=1 q_heads=2 kv_heads=1 q_len=70 kv_len=90", DT_E4M3},
        {"chunked_linear_attention", "chunk=64 HeadDim=64", "heads=2 chunks=2", DT_E4M3},
        {"gemm", "N=256 K=192 BM=128 BN=128 BK=64 warps=8 warps_n=1", "M=70", DT_E4M3},
        {"gemm_weight_int8", "N=256 K=192 BM=64 BN=64 BK=64 warps=4 warps_n=1 stages=2", "M=70", DT_BF16},
        {"gemm_weight_int8", "N=256 K=192 BM=128 BN=128 BK=32 warps=8 warps_n=1 stages=3", "M=70", DT_F16},
        {"qk_norm_attention", "HeadDim=64", "batch=1 q_heads=2 kv_heads=1 q_len=70 kv_len=90", DT_BF16},
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (int D = 64; D <= 256; D += 64) {
        const char *normed = arena_printf(arena, "Operator normed\n  Input Q (M, %d)\n  Input K (L, %d)\n  Input V (L, 64)\n  Output Y (M, 64)\n"
                                                 "  Compute Multiply K, K and get squares\n  Compute RowMean squares and get m\n"
                                                 "  Compute Rsqrt m and get r\n  Compute Multiply K, r and get Kn\n"
                                                 "  Compute GEMM Q, Kn.T and get S\n  Compute Multiply S, 0.1 and get new S\n"
                                                 "  Compute Softmax S and get P\n  Compute GEMM P, V and get Y\nend\n", D, D);
        LevelCase c = case_of(arena, normed, DT_E4M3, FILL_NORMAL, "", "M=70 L=90");

        expect_no_conflicts(arena, &c);
    }
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        LevelCase c = case_of(arena, text_of(arena, arena_printf(arena, "ops/%s.tl", cases[i].op)), cases[i].dtype, FILL_NORMAL, cases[i].sets, cases[i].binds);

        expect_no_conflicts(arena, &c);
    }
}

/* ---- what is not prepared ------------------------------------------------------------------ */

/* What a product gave, or what another operation reads as well, is not apart. */
static void others_are_not(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *sets = "N=128 K=128 BM=128 BN=128 BK=64 warps=8 warps_n=1 stages=2 roles=off";

    assert_false(prepares(arena, text_of(arena, "ops/gemm_weight_only.tl"), sets));
    check(arena, text_of(arena, "ops/gemm_weight_only.tl"), DT_BF16, FILL_NORMAL, sets, "M=150");
}

/* Bits of words that are read for each element: who multiplies takes them, whatever the tiles are. */
static void words_are_not(void **state)
{
    static const char *const sets[] = {"N=256 K=256", "N=256 K=256 BM=128 BN=128 BK=64 warps=8 stages=2", "K=128 Group=64"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(sets); i++)
        assert_false(prepares(arena, text_of(arena, "ops/gemm_gptq.tl"), sets[i]));
    check(arena, text_of(arena, "ops/gemm_gptq.tl"), DT_BF16, FILL_NORMAL, sets[1], "M=70");
}

/* ---- what lanes bring -------------------------------------------------------------------- */

static void expect_brought(Arena *arena, const char *definition, const char *sets, const char *binds, bool alone)
{
    assert_true(has_role(arena, definition, sets, "bring"));
    assert_int_equal(has_role(arena, definition, sets, "load"), !alone);
    check(arena, definition, DT_BF16, FILL_NORMAL, sets, binds);
}

/* Rows of a first operand, of a second one, of both, each where a number says; one that is 0 for rows past the end. */
static void rows_that_lie_apart(void **state)
{
    static const char *const sets[] = {
        "BM=64 BN=64 BK=64 warps=4 stages=1", "BM=128 BN=128 BK=64 warps=8 stages=2", "BM=128 BN=256 BK=32 warps=8 stages=4", "BM=192 BN=64 BK=64 warps=12 stages=3",
    };
    static const char *const bodies[] = {
        "Compute Define A (M, K) as X[Id[row], col]\n  Compute GEMM A, W.T and get Y",
        "Compute Define B (N, K) as W[Of[row], col]\n  Compute GEMM X, B.T and get Y",
        "Compute Define A (M, K) as X[Id[row], col]\n  Compute Define B (N, K) as W[Of[row], col]\n  Compute GEMM A, B.T and get Y",
        "Compute Define A (M, K) as X[Id[row div 2] + 1, col]\n  Compute GEMM A, W.T and get Y",
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(sets) * TW_COUNT(bodies); i++) {
        const char *body = bodies[i % TW_COUNT(bodies)];
        const char *text = arena_printf(arena, "Operator apart\n  Input X (M, K)\n  Input W (N, K)\n  Input Id (M) int32\n  Input Of (N) int32\n  Output Y (M, N)\n  %s\nend\n", body);

        expect_brought(arena, text, arena_printf(arena, "N=320 K=%d warps_n=1 %s", i % 2 ? 256 : 208, sets[i / TW_COUNT(bodies)]), i % 3 ? "M=150" : "M=70",
                       strstr(body, "Id") && strstr(body, "Of"));
    }
}

static void small_pages(void **state)
{
    static const char *const binds[] = {"batch=2 q_len=150 pages=170 most=85", "batch=1 q_len=1 pages=300 most=299", "batch=1 q_len=130 pages=9 most=3"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(binds); i++)
        expect_brought(arena, text_of(arena, "ops/attention_paged.tl"),
                       arena_printf(arena, "q_heads=2 kv_heads=1 HeadDim=64 BM=128 BN=%d warps=8 stages=%d page=%d", i % 2 ? 64 : 128, (int)i + 1, i % 2 ? 1 : 2),
                       binds[i], false);
}

/* Rows 144 bytes apart: no bulk copy brings any tile, so lanes hand out the places of the grid as well. */
static void ragged_rows(void **state)
{
    static const char *const binds[] = {"batch=2 q_len=150 kv_len=190", "batch=1 q_len=1 kv_len=300", "batch=1 q_len=300 kv_len=1", "batch=3 q_len=70 kv_len=0"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(binds); i++)
        expect_brought(arena, text_of(arena, "ops/attention.tl"),
                       arena_printf(arena, "q_heads=4 kv_heads=2 HeadDim=%d causal=%d BM=128 BN=64 warps=8 stages=%d", i % 2 ? 136 : 72, i % 2 == 0, (int)i % 3 + 1),
                       binds[i], true);
    assert_false(has_role(arena, text_of(arena, "ops/attention.tl"), "q_heads=4 kv_heads=2 HeadDim=80 BM=128 BN=64 warps=8", "bring"));
    /* of which some come by bulk copies anyhow */
    assert_false(has_role(arena, text_of(arena, "ops/attention_paged.tl"), "HeadDim=72 page=32 BM=128 BN=64 warps=8", "bring"));
    assert_true(has_role(arena, text_of(arena, "ops/attention_paged.tl"), "HeadDim=72 page=2 BM=128 BN=64 warps=8", "load"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(weights_of_8_bits, setup, teardown), cmocka_unit_test_setup_teardown(weights_otherwise, setup, teardown),
        cmocka_unit_test_setup_teardown(rotated_keys, setup, teardown),      cmocka_unit_test_setup_teardown(normalized_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(quantized_keys_and_values, setup, teardown),
        cmocka_unit_test_setup_teardown(operands_of_8_bits, setup, teardown), cmocka_unit_test_setup_teardown(others_are_not, setup, teardown),
        cmocka_unit_test_setup_teardown(operands_of_8_bits, setup, teardown), cmocka_unit_test_setup_teardown(words_are_not, setup, teardown),
        cmocka_unit_test_setup_teardown(prepared_tiles_meet_in_no_bank, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_that_lie_apart, setup, teardown), cmocka_unit_test_setup_teardown(small_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(ragged_rows, setup, teardown),
    };

    return cmocka_run_group_tests_name("prepare", tests, NULL, NULL);
}
