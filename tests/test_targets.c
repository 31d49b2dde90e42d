/* test_targets.c: the operators that come along, for every target, at every
 * level: small ragged shapes, every element type that the target multiplies. */
#include "agree.h"
#include "fixture.h"

#include <cmocka.h>

#include "texts.h"

/* Runs a case on every target with every type of its tensor cores. */
static void on_every_target(Arena *arena, LevelCase c)
{
    for (const Target *const *t = target_all(); *t; t++)
        for (int d = 0; d < DT_COUNT; d++) {
            if (!((*t)->operands >> d & 1))
                continue;
            c.target = (*t)->name;
            c.dtype = (DType)d;
            c.seed++;
            expect_agreement(arena, &c);
        }
}

/* HeadDim, causal, q_len, kv_len */
static LevelCase attention(Arena *arena, int head_dim, int causal, int q_len, int kv_len)
{
    LevelCase c = {.definition = source_at(arena, "ops/attention.tl")->text, .fill = FILL_NORMAL, .seed = 1};

    levels_set(arena, &c, "HeadDim", head_dim);
    levels_set(arena, &c, "causal", causal);
    levels_bind(&c, "batch", 1);
    levels_bind(&c, "q_heads", 2);
    levels_bind(&c, "kv_heads", 1);
    levels_bind(&c, "q_len", q_len);
    levels_bind(&c, "kv_len", kv_len);
    return c;
}

static void causal_attention(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    on_every_target(arena, attention(arena, 64, 1, 40, 75));
    on_every_target(arena, attention(arena, 128, 1, 17, 100));
}

static void full_attention(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    LevelCase growing = attention(arena, 64, 0, 30, 140);

    on_every_target(arena, attention(arena, 40, 0, 33, 70));
    growing.fill = FILL_GROWING;
    on_every_target(arena, growing);
}

static void product_with_bias(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    LevelCase c = {.definition = source_at(arena, "ops/gemm_bias.tl")->text, .fill = FILL_NORMAL, .seed = 1};
    LevelCase odd = c;

    levels_set(arena, &c, "N", 144);
    levels_set(arena, &c, "K", 208);
    levels_bind(&c, "M", 77);
    on_every_target(arena, c);
    levels_set(arena, &odd, "N", 67);
    levels_set(arena, &odd, "K", 51);
    levels_bind(&odd, "M", 19);
    on_every_target(arena, odd);
}

/* One stage is copied and stored at once, three leave two in shared memory. */
static void stages_in_registers(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    for (int stages = 1; stages <= 3; stages++) {
        LevelCase c = {.definition = source_at(arena, "ops/gemm_bias.tl")->text, .fill = FILL_NORMAL, .seed = 7,
                       .dtype = DT_F16, .target = "sm_75"};

        levels_set(arena, &c, "BM", 32);
        levels_set(arena, &c, "BN", 32);
        levels_set(arena, &c, "BK", 32);
        levels_set(arena, &c, "warps", 2);
        levels_set(arena, &c, "stages", stages);
        levels_bind(&c, "M", 50);
        levels_bind(&c, "N", 40);
        levels_bind(&c, "K", 150);
        expect_agreement(arena, &c);
    }
}

/* Results of 8-bit products in fours of columns meet a row vector, a second
 * product and its bias; the first operand comes from registers, the second one
 * of the first product is transposed or not. */
static void products_of_8_bits_in_a_row(void **state)
{
    static const char *const text =
        "Operator two\n"
        "  Input A (M, K)\n"
        "  Input B (%s)\n"
        "  Input C (L, N)\n"
        "  Input bias (L)\n"
        "  Output D (M, N)\n"
        "  Compute GEMM A, B%s and get S\n"
        "  Compute Add S, bias and get new S\n"
        "  Compute Multiply S, 0.1 and get new S\n"
        "  Compute GEMM S, C and get D\n"
        "end\n";
    static const char *const shapes[2][2] = {{"K, L", ""}, {"L, K", ".T"}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (int i = 0; i < 2; i++) {
        LevelCase c = {.definition = arena_printf(arena, text, shapes[i][0], shapes[i][1]), .fill = FILL_UNIFORM,
                       .dtype = DT_E4M3, .target = "sm_89", .seed = 3};

        levels_set(arena, &c, "K", 64);
        levels_set(arena, &c, "L", 96);
        levels_set(arena, &c, "N", 48);
        levels_bind(&c, "M", 45);
        expect_agreement(arena, &c);
    }
}

/* Scores that are the sum of two products, as of positions turned by halves: on Hopper both in flight
 * at once, beside more tensors than one that copies little has registers for. */
static void sums_of_products(void **state)
{
    LevelCase c = {.definition = "Operator halves\n  Input Q (q_len, D)\n  Input R (q_len, D)\n  Input K (kv_len, D)\n"
                                 "  Input L (kv_len, D)\n  Input V (kv_len, D)\n  Output O (q_len, D)\n"
                                 "  Compute GEMM Q, K.T and get S\n  Compute GEMM R, L.T and get T\n"
                                 "  Compute Add S, T and get S\n  Compute Multiply S, 0.1 and get new S\n"
                                 "  Compute Softmax S and get P\n  Compute GEMM P, V and get O\nend\n",
                   .fill = FILL_NORMAL, .seed = 1};
    Arena *arena = ((Fixture *)*state)->arena;

    levels_set(arena, &c, "D", 48);
    levels_bind(&c, "q_len", 40);
    levels_bind(&c, "kv_len", 70);
    on_every_target(arena, c);
}

/* A tile that a loop streams has a stage beside its coordinates: more than two of them, with others, or more
 * than four tiles in all take more registers than one that copies little has. */
static void registers_of_one_that_copies(void **state)
{
    const Target *t = target_find("sm_90a");

    (void)state;
    assert_int_equal(target_copier_registers(t, 2, 6), 24);
    assert_int_equal(target_group_registers(t, 2, 6, TARGET_COPIER), 240);
    assert_int_equal(target_copier_registers(t, 2, 7), 40);
    assert_int_equal(target_group_registers(t, 2, 7, TARGET_COPIER), 232);
    assert_int_equal(target_preparer_registers(t, 2, TARGET_COPIER | TARGET_PREPARER), 88);
    assert_int_equal(target_group_registers(t, 2, 6, TARGET_COPIER | TARGET_PREPARER), 200);
    assert_int_equal(target_preparer_registers(t, 2, TARGET_LANES), 40);
    assert_int_equal(target_group_registers(t, 2, 0, TARGET_LANES), 232);
}

/* What tensor maps bring: panels, a second operand either way round, one of more rows
 * than a box may have, which comes in parts. */
static void boxes_of_sm_90a(void **state)
{
    static const int tiles[][4] = {{64, 32, 512, 4}, {128, 64, 64, 8}, {64, 256, 32, 4}}; /* BM, BN, BK, warps */
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(tiles); i++) {
        LevelCase c = {.definition = source_at(arena, "ops/gemm_bias.tl")->text, .fill = FILL_NORMAL, .seed = 5,
                       .dtype = DT_BF16, .target = "sm_90a"};

        levels_set(arena, &c, "BM", tiles[i][0]);
        levels_set(arena, &c, "BN", tiles[i][1]);
        levels_set(arena, &c, "BK", tiles[i][2]);
        levels_set(arena, &c, "warps", tiles[i][3]);
        levels_set(arena, &c, "warps_n", 1);
        levels_set(arena, &c, "stages", 1);
        levels_set(arena, &c, "N", 72);
        levels_set(arena, &c, "K", 520);
        levels_bind(&c, "M", 150);
        expect_agreement(arena, &c);
    }
}

/* Machine code is for one compute capability; a name that says none is for no device. */
static void capabilities(void **state)
{
    (void)state;
    assert_true(target_is_of("sm_80", 8, 0));
    assert_true(target_is_of("sm_90a", 9, 0));
    assert_true(target_is_of("sm_120a", 12, 0));
    assert_false(target_is_of("sm_80", 8, 6));
    assert_false(target_is_of("sm_90a", 10, 0));
    assert_false(target_is_of("sm_", 0, 0));
    assert_false(target_is_of("gfx90", 9, 0));
    assert_false(target_is_of("sm_99999999999999999999", 9, 9));
}

/* ---- other GPUs of an architecture ------------------------------------------------------ */

static void described(void **state)
{
    static const struct { const char *text, *says; } wrong[] = {
        {"sm_80:sm=3", "did you mean 'sms'"}, {"sm_80:sms=0", "from 1 to"}, {"sm_80:sms", "NAME=VALUE"}, {"sm_80:", "NAME=VALUE"},
        {"sm_80:sms=1,,", "NAME=VALUE"}, {"sm_80:clock_ghz=nan", "from"}, {"sm_80:sms=7x", "from 1 to"},
        {"sm_80:has_tma=1", "a GPU has no"}, {"sm_80:shared_per_block=200k", "give shared_per_sm=205824 or more"}};
    Arena *arena = ((Fixture *)*state)->arena;
    const char *error;

    for (size_t i = 0; i < TW_COUNT(wrong); i++) {
        assert_null(target_described(arena, wrong[i].text, &error));
        assert_non_null(error);
        assert_non_null(strstr(error, wrong[i].says));
    }
    assert_null(target_described(arena, "sm_1:sms=3", &error));
    assert_null(error);
    assert_ptr_equal(target_described(arena, "sm_80", &error), target_find("sm_80"));
    const Target *t = target_described(arena, "sm_90a:sms=57,shared_per_block=48k,clock_ghz=1.1,l2_bytes=6M", &error);
    assert_non_null(t);
    assert_string_equal(t->name, "sm_90a");
    assert_int_equal(t->sms, 57);
    assert_int_equal(t->shared_per_block, 48 << 10);
    assert_int_equal(t->l2_bytes, 6 << 20);
    assert_int_equal(target_described(arena, "sm_89:shared_per_sm=64k", &error)->shared_per_block, 63 << 10);
    assert_true(t->clock_ghz == 1.1 && t->has_wgmma && t->dram_gbs == target_find("sm_90a")->dram_gbs);
}

/* What is chosen fits, whatever the architecture's typical GPU has. */
static void little_shared_memory(void **state)
{
    static const char *const targets[] = {"sm_75:shared_per_block=32k,sms=6", "sm_80:shared_per_block=24k", "sm_86:shared_per_block=48k,sms=13",
                                          "sm_90a:shared_per_block=48k", "sm_90a:shared_per_block=100k,sms=57", "sm_80:regs_per_sm=32768",
                                          "sm_90a:regs_per_thread=64", "sm_90a:regs_per_sm=40k"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(targets); i++) {
        LevelCase c = attention(arena, 128, 1, 40, 75);
        c.target = targets[i];
        c.dtype = DT_F16;
        expect_agreement(arena, &c);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(causal_attention),
        TEST(full_attention),
        TEST(product_with_bias),
        TEST(stages_in_registers),
        TEST(registers_of_one_that_copies),
        TEST(products_of_8_bits_in_a_row),
        TEST(sums_of_products),
        TEST(boxes_of_sm_90a),
        TEST(capabilities),
        TEST(described),
        TEST(little_shared_memory),
    };
    return cmocka_run_group_tests_name("targets", tests, NULL, NULL);
}
