/* test_levels.c: chosen programs at every level; what random ones found stays here. */
#include "agree.h"
#include "fixture.h"

#include <cmocka.h>

#include "texts.h"

/* ---- running ------------------------------------------------------------------------- */

static void set_all(Arena *arena, LevelCase *c, const char *words)
{
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, " ");

        assert_true(c->n_sets < LEVEL_SETS);
        c->sets[c->n_sets++] = arena_strndup(arena, w, n);
        w += n + strspn(w + n, " ");
    }
}

static void bind_all(Arena *arena, LevelCase *c, const char *words)
{
    Settings settings = {0};

    for (const char *w = words; *w;) {
        size_t n = strcspn(w, " ");

        assert_null(settings_add(arena, &settings, arena_strndup(arena, w, n)));
        w += n + strspn(w + n, " ");
    }
    for (int i = 0; i < settings.list.len; i++)
        levels_bind(c, settings.list.data[i].name, settings.list.data[i].value);
}

/* "NAME=VALUE ..." that are compiled in or force a choice, and of the launch. */
static void check_operator(Arena *arena, const char *path, DType dtype, const char *sets, const char *binds)
{
    LevelCase c = {.definition = source_at(arena, path)->text, .dtype = dtype, .fill = FILL_NORMAL, .seed = 7};

    set_all(arena, &c, sets);
    bind_all(arena, &c, binds);
    expect_agreement(arena, &c);
}

static void check_code(Arena *arena, const char *code, const char *binds)
{
    LevelCase c = {.code = code, .dtype = DT_BF16, .fill = FILL_UNIFORM, .seed = 7};

    bind_all(arena, &c, binds);
    expect_agreement(arena, &c);
}

/* ---- operators -------------------------------------------------------------------------- */

static void attention_of_every_length(void **state)
{
    static const int lengths[][2] = {{1, 1},  {1, 33}, {31, 0}, {32, 32}, {33, 31},
                                     {5, 70}, {70, 5}, {0, 7},  {64, 33}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(lengths); i++)
        check_operator(arena, "ops/attention.tl", DT_BF16,
                       i % 3 ? "HeadDim=64 q_heads=2 kv_heads=1 BM=32 BN=32 warps=2 stages=2"
                             : "HeadDim=64 q_heads=2 kv_heads=1 causal=0 BM=32 BN=32 warps=2 stages=2",
                       arena_printf(arena, "batch=1 q_len=%d kv_len=%d", lengths[i][0], lengths[i][1]));
}

static void attention_of_every_kind(void **state)
{
    static const char *const sets[] = {
        "HeadDim=128 q_heads=1 kv_heads=1 BM=64 BN=32 warps=4 stages=1",
        "HeadDim=128 q_heads=4 kv_heads=2 causal=0 BM=32 BN=64 warps=1 stages=3",
        "HeadDim=64 q_heads=3 kv_heads=1 BM=16 BN=16 warps=1 stages=2",
        "HeadDim=48 q_heads=2 kv_heads=2 BM=32 BN=32 warps=2 stages=2",
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(sets); i++)
        check_operator(arena, "ops/attention.tl", i % 2 ? DT_F16 : DT_BF16, sets[i],
                       "batch=2 q_len=45 kv_len=83");
}

/* The reasoner's own choices, at a shape of a few of its tiles. */
static void attention_as_chosen(void **state)
{
    check_operator(((Fixture *)*state)->arena, "ops/attention.tl", DT_BF16, "HeadDim=128 q_heads=2 kv_heads=1",
                   "batch=1 q_len=150 kv_len=200");
}

/* Two softmaxes and four products in a turn; the first weights wait, rounded, for their product. */
static void two_maps(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    check_operator(arena, "ops/differential_attention.tl", DT_BF16, "HeadDim=32 q_heads=2 kv_heads=1 BM=32 BN=32 warps=2 stages=1",
                   "batch=1 q_len=45 kv_len=83");
}

static void gemm_with_bias(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    check_operator(arena, "ops/gemm_bias.tl", DT_BF16, "", "M=70 N=83 K=50");
    check_operator(arena, "ops/gemm_bias.tl", DT_F16, "BM=32 BN=32 BK=32 warps=2 stages=3",
                   "M=65 N=33 K=97");
    check_operator(arena, "ops/gemm_bias.tl", DT_BF16, "N=64 K=128 BM=64 BN=64 BK=64 warps=4 stages=2",
                   "M=1");
}

/* One quotient a row is made exact by what is left of it; what is no number, and what `else` replaces, stays. */
static void check_text(Arena *arena, const char *definition, const char *sets, const char *binds)
{
    LevelCase c = {.definition = definition, .dtype = DT_BF16, .fill = FILL_NORMAL, .seed = 7};

    set_all(arena, &c, sets);
    bind_all(arena, &c, binds);
    expect_agreement(arena, &c);
}

/* The launch binds what the others follow from, and no more. */
static void sizes_that_follow_from_others(void **state)
{
    static const char chained[] = "Operator chained\n"
                                  "  Input  A (M, K)\n"
                                  "  Input  B (K, N)\n"
                                  "  Input  D (N, L)\n"
                                  "  Output C (M, L)\n"
                                  "  Param  L = N\n"
                                  "  Param  N = P\n"
                                  "  Param  P = ceil(K / 2) + 1\n"
                                  "  Param  half = s / 2\n"
                                  "  Param  s = 1 / sqrt(L)\n"
                                  "  Compute GEMM A, B and get T\n"
                                  "  Compute Multiply T, half and get new T\n"
                                  "  Compute GEMM T, D and get C\n"
                                  "end\n";
    static const char twice[] = "Operator twice\n"
                                "  Input  X (M, K)\n"
                                "  Input  W (K, N)\n"
                                "  Output Y (M, N)\n"
                                "  Param  N = 2 * M\n"
                                "  Compute GEMM X, W and get Y\n"
                                "end\n";
    Arena *arena = ((Fixture *)*state)->arena;

    check_text(arena, chained, "BM=32 BN=32 warps=2 K=21", "M=17");
    check_text(arena, twice, "BM=32 BN=32 BK=16 warps=2", "M=19 K=21");
}

static void quotients_of_rows(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const char *const targets[] = {"sm_75", "sm_80", "sm_90a"};

    for (size_t i = 0; i < TW_COUNT(targets); i++) {
        LevelCase c = {.definition = "Operator quotients\n  Input X (M, K)\n  Input W (K, N)\n  Output Y (M, N)\n  Output Z (M, 1) fp32\n"
                                     "  Index row over M\n  Compute GEMM X, W and get S\n  Compute RowSum S and get A\n"
                                     "  Compute RowMax S and get B\n  Compute Mask B where row % 3 != 0 else 0\n"
                                     "  Compute Divide A, B else 7 and get Z\n  Compute Exp B and get C\n"
                                     "  Compute Divide C, A and get D\n  Compute Divide A, D and get D\n"
                                     "  Compute Multiply S, D and get Y\nend\n",
                       .dtype = DT_F16, .target = targets[i], .fill = FILL_UNIFORM, .seed = 7};

        set_all(arena, &c, "N=32 K=32");
        bind_all(arena, &c, "M=70");
        expect_agreement(arena, &c);
    }
}

/* Groups of columns have a scale in common; tiles lie within a group, across groups, or at a ragged end. */
static void scales_of_groups(void **state)
{
    static const char *const sets[] = {
        "N=64 K=256 Group=128 BM=64 BN=64 BK=64 warps=4", "N=64 K=256 Group=64 BM=64 BN=64 BK=64 warps=4",
        "N=48 K=200 Group=48 BM=64 BN=64 BK=32 warps=4",  "N=64 K=136 Group=32 BM=64 BN=64 BK=64 warps=4",
    };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(sets); i++) check_operator(arena, "ops/gemm_weight_int8.tl", DT_BF16, sets[i], "M=37");
}

/* ---- code -------------------------------------------------------------------------------- */

/* Where products of 8-bit operands have columns lie in fours, what is reduced along them does so, too. */
static void columns_in_fours(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    LevelCase c = {.code = "Kernel k\n  Input A (M, 32) e5m2\n  Input B (32, E) e4m3\n  Output T (M, E) bf16\n"
                           "  Output L (1, E) fp32\n  BM = 32\n  Grid m = ceil(M / BM)\n"
                           "  Allocate A in shared (BM, 32) e5m2\n  Allocate B in shared (32, 32) e4m3\n"
                           "  Allocate C in register (BM, 32)\n  Allocate R in register (1, 32)\n"
                           "  Allocate T in register (BM, 32)\n  Allocate L in register (1, 32)\n"
                           "  Copy A (BM, 32) in coordinate [M = m] from global to shared\n"
                           "  Copy B (32, 32) from global to shared\n  Compute GEMM A, B and get C\n"
                           "  Compute ColMax C and get R\n  Compute Subtract C, R and get T\n"
                           "  Compute ColSum C and get L\n"
                           "  Copy T (BM, 32) in coordinate [M = m] from register to global\n"
                           "  Copy L (1, 32) from register to global and accumulate\n"
                           "  Schedule sm_89\n    warps = 1\n  end\nend\n",
                   .dtype = DT_E4M3, .target = "sm_89", .fill = FILL_UNIFORM, .seed = 7};

    bind_all(arena, &c, "M=70 E=30");
    expect_agreement(arena, &c);
}

/* Of two operations that read a tile the later one is what the next copy waits for. */
static void tiles_read_twice_are_kept(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, K) bf16\n  Input B (K, N) bf16\n  Input C (K, N) bf16\n"
               "  Output D (M, N) fp32\n  Output E (M, N) fp32\n"
               "  Grid n = ceil(N / 16), m = ceil(M / 32)\n"
               "  Allocate A in shared (32, 32)\n  Allocate B in shared (32, 16)\n"
               "  Allocate C in shared (32, 16)\n"
               "  Allocate D in register (32, 16)\n  Allocate E in register (32, 16)\n"
               "  for k = 0:ceil(K / 32)\n"
               "    Copy A (32, 32) in coordinate [M = m, K = k] from global to shared\n"
               "    Copy B (32, 16) in coordinate [K = k, N = n] from global to shared\n"
               "    Compute GEMM A, B and accumulate D\n"
               "    Copy C (32, 16) in coordinate [K = k, N = n] from global to shared\n"
               "    Compute GEMM A, C and accumulate E\n"
               "  end\n"
               "  Copy D (32, 16) in coordinate [M = m, N = n] from register to global\n"
               "  Copy E (32, 16) in coordinate [M = m, N = n] from register to global\n"
               "  Schedule sm_80\n    warps = 2\n    stages = 1\n  end\nend\n",
               "M=40 N=20 K=100");
}

/* What a loop within a loop sums up starts anew where the program says so. */
static void sums_start_where_they_are_filled(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, D) bf16\n  Input B (N, D) bf16\n  Input C (N, E) bf16\n"
               "  Output O (M, E) fp32\n  D = 64\n  E = 32\n  Grid m = ceil(M / 16)\n"
               "  Allocate A in shared (16, 32)\n  Allocate B in shared (32, 32)\n"
               "  Allocate C in shared (32, E)\n"
               "  Allocate S in register (16, 32)\n  Allocate O in register (16, E)\n"
               "  for j = 0:ceil(N / 32)\n"
               "    Compute Fill S, 0 and get new S\n"
               "    for i = 0:2\n"
               "      Copy A (16, 32) in coordinate [M = m, D = i] from global to shared\n"
               "      Copy B (32, 32) in coordinate [N = j, D = i] from global to shared\n"
               "      Compute GEMM A, B.T and accumulate S\n"
               "    end\n"
               "    Copy C (32, E) in coordinate [N = j] from global to shared\n"
               "    Reshape S from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)\n"
               "    Compute GEMM S, C and accumulate O\n"
               "  end\n"
               "  Copy O (16, E) in coordinate [M = m] from register to global\n"
               "  Schedule sm_80\n    warps = 1\n    stages = 2\n  end\nend\n",
               "M=20 N=70");
}

/* A barrier in one branch does nothing for blocks that take the other one, nor
 * does one in a loop without iterations. */
/* What an accumulate adds to keeps its type; what is added is rounded first. */
static void casts_are_accumulated(void **state)
{
    static const char code[] = "Kernel sums\n"
                               "  Input  X (M, N) fp32\n"
                               "  Output Y (M, 16) fp32\n"
                               "  BM = 16\n"
                               "  BN = 16\n"
                               "  Grid m = ceil(M / BM)\n"
                               "  Allocate X in register (BM, BN) fp32\n"
                               "  Allocate Y in register (BM, BN) fp32\n"
                               "  Compute Fill Y, 0.5\n"
                               "  for n = 0:ceil(N / BN)\n"
                               "    Copy X (BM, BN) in coordinate [M = m, N = n] from global to register\n"
                               "    Compute Cast X, bf16 and accumulate Y\n"
                               "  end\n"
                               "  Copy Y (BM, BN) in coordinate [M = m] from register to global\n"
                               "  Schedule sm_80\n"
                               "    warps = 1\n"
                               "  end\n"
                               "end\n";
    Arena *arena = ((Fixture *)*state)->arena;
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target_find("sm_80"), DT_BF16);
    Tensor *tensors[2];
    int64_t sizes[2] = {3, 40}, dims[2] = {3, 40};
    TileRun run = {.tensors = tensors, .dims = dims, .seed = 1};
    const char *error;

    check_code(arena, code, "M=17 N=40");
    assert_true(chain_lower(chain, source_of(arena, "sums.tl", code)));
    for (int i = 0; i < 2; i++, sizes[1] = 16)
        tensors[i] = tensor_new(arena, chain->tile->tensors.data[i]->name, DT_F32, 2, sizes, &error);
    for (int64_t i = 0; i < 3 * 40; i++)
        ((float *)tensors[0]->data)[i] = 1;
    assert_true(tile_run(arena, chain->tile, &run, &error));
    assert_true(tensor_get(tensors[1], (int64_t[]){1, 3}) == 3.5); /* three tiles, the last of 8 columns */
    assert_true(tensor_get(tensors[1], (int64_t[]){1, 9}) == 2.5);
}

static void barriers_in_branches_do_not_count(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, N) bf16\n  Input B (N, N) bf16\n  Output C (M, N) fp32\n"
               "  N = 32\n  Grid m = ceil(M / 32)\n"
               "  Allocate A in shared (32, N)\n  Allocate B in shared (N, N)\n"
               "  Allocate C in register (32, N)\n"
               "  for i = 0:3\n"
               "    Copy A (32, N) in coordinate [M = m, N = 0] from global to shared\n"
               "    Copy B (N, N) in coordinate [N = 0] from global to shared\n"
               "    Compute GEMM A, B and accumulate C\n"
               "    if m == i\n"
               "      Copy B (N, N) in coordinate [N = 0] from global to shared\n"
               "      Compute GEMM A, B.T and accumulate C\n"
               "    end\n"
               "    for j = 1:i\n"
               "      Copy B (N, N) in coordinate [N = 0] from global to shared\n"
               "      Compute GEMM A, B and accumulate C\n"
               "    end\n"
               "  end\n"
               "  Copy C (32, N) in coordinate [M = m, N = 0] from register to global\n"
               "  Schedule sm_80\n    warps = 2\n    stages = 1\n  end\nend\n",
               "M=70");
}

/* One warp of those that hold a vector writes it. */
static void vectors_are_written_once(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, N) bf16\n  Input r (N) bf16\n  Input c (M) bf16\n"
               "  Output B (M, N) fp32\n  Output p (N, M) bf16\n  Output q (M, N) bf16\n"
               "  Grid m = ceil(M / 32), n = ceil(N / 32)\n"
               "  Allocate A in register (32, 32)\n  Allocate B in register (32, 32)\n"
               "  Allocate r in register (1, 32)\n  Allocate c in register (32, 1)\n"
               "  Allocate p in register (1, 32)\n  Allocate q in register (32, 1)\n"
               "  Copy A (32, 32) in coordinate [M = m, N = n] from global to register\n"
               "  Copy r (32) in coordinate [N = n] from global to register\n"
               "  Copy c (32) in coordinate [M = m] from global to register\n"
               "  Compute Add A, r and get B\n"
               "  Compute Multiply B, c and get new B\n"
               "  Compute Add c, 1 and get q\n"
               "  Compute Add r, 1 and get p\n"
               "  Copy B (32, 32) in coordinate [M = m, N = n] from register to global\n"
               "  Copy p (1, 32) in coordinate [N = n, M = m] from register to global\n"
               "  Copy q (32, 1) in coordinate [M = m, N = n] from register to global\n"
               "  Schedule sm_80\n    warps = 4\n    warps_n = 2\n  end\nend\n",
               "M=50 N=41");
}

/* The last chunk of a row that is known to be ragged is not read whole, nor one
 * in front of the first column. */
static void ragged_chunks_stay_inside(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, N) bf16\n  Input B (M, N) bf16\n  Output C (M, N) fp32\n"
               "  N = 62\n  Grid m = ceil(M / 16), n = ceil(N / 32)\n"
               "  Allocate A in shared (16, 32)\n  Allocate B in shared (16, 32)\n"
               "  Allocate C in register (16, 32)\n"
               "  Copy A (16, 32) in coordinate [M = m, N = n] from global to shared\n"
               "  Copy B (16, 32) in coordinate [M = m - 1, N = n - 1] from global to shared\n"
               "  Compute Add A, B and get C\n"
               "  Copy C (16, 32) in coordinate [M = m, N = n] from register to global\n"
               "  Schedule sm_80\n    warps = 1\n  end\nend\n",
               "M=31");
}

/* Three chunks of columns a warp, two a panel. */
static void warps_may_cut_through_panels(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, N) bf16\n  Output B (M, N) fp32\n"
               "  Grid m = ceil(M / 16), n = ceil(N / 48)\n"
               "  Allocate A in shared (16, 48)\n  Allocate B in register (16, 48)\n"
               "  Copy A (16, 48) in coordinate [M = m, N = n] from global to shared\n"
               "  Compute Multiply A, 2 and get B\n"
               "  Copy B (16, 48) in coordinate [M = m, N = n] from register to global\n"
               "  Schedule sm_80\n    warps = 2\n    warps_n = 2\n  end\nend\n",
               "M=20 N=90");
}

/* A mask that moves in front of a scale keeps its operand's type. */
static void scales_move_behind_masks_of_any_type(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, N) fp16\n  Output B (M, N) fp32\n  Output C (M, N) fp32\n"
               "  Grid m = ceil(M / 16)\n"
               "  Allocate A in register (16, 16) fp16\n  Allocate B in register (16, 16)\n"
               "  Allocate C in register (16, 16)\n"
               "  Copy A (16, 16) in coordinate [M = m, N = 0] from global to register\n"
               "  Compute Multiply A, 0.1 and get B\n"
               "  Compute Multiply A, 3 and get C\n"
               "  Compute Mask B where col(B) < row(B)\n"
               "  Compute Mask C where col(C) > row(C) else 0\n"
               "  Copy B (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Copy C (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Schedule sm_80\n    warps = 1\n  end\nend\n",
               "M=20 N=15");
}

/* Where with a condition on the place and a number is a mask, whatever its form. */
static void where_takes_any_condition(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, N) fp32\n  Output B (M, N) fp32\n"
               "  Grid m = ceil(M / 16)\n"
               "  Allocate A in register (16, 16)\n  Allocate B in register (16, 16)\n"
               "  Copy A (16, 16) in coordinate [M = m, N = 0] from global to register\n"
               "  Compute Where not (col(A) < row(A)), A, 2 and get B\n"
               "  Compute Where col(B) > 3 and row(B) < 7, B, 0 and get new B\n"
               "  Copy B (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Schedule sm_80\n    warps = 1\n  end\nend\n",
               "M=20 N=15");
}

/* What says where rows lie is read for lanes that have none, too: within the table, whose length is known. */
static void rows_of_no_lane_are_not_looked_up_outside(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  D = 31\n  Input A (M, D) bf16\n  Input B (rows, N) bf16\n  Input Id (D) int32\n  Output C (M, N) fp32\n"
               "  Grid m = ceil(M / 64), n = ceil(N / 32)\n"
               "  Allocate A in shared (64, 16) bf16\n  Allocate B in shared (16, 32) bf16\n  Allocate C in register (64, 32)\n"
               "  for d = 0:ceil(D / 16)\n"
               "    Copy A (64, 16) in coordinate [M = m, D = d] from global to shared\n"
               "    Copy B (16, 32) in coordinate [rows = Id[d * 16 + row(B)], N = n] from global to shared\n"
               "    Compute GEMM A, B and accumulate C\n  end\n"
               "  Copy C (64, 32) in coordinate [M = m, N = n] from register to global\n"
               "  Schedule sm_80\n    warps = 4\n    stages = 3\n  end\nend\n",
               "M=20 N=40 rows=3");
}

/* Numbers of which GELU leaves next to nothing. */
static void tails_of_gelu(void **state)
{
    static const char *const targets[] = {"sm_75", "sm_80", "sm_90a"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(targets); i++) {
        LevelCase c = {.definition = "Operator tail\n  Input X (M, N) fp32\n  Output Y (M, N) fp32\n  Compute Tanh X and get T\n"
                                     "  Compute Subtract T, 2.95 and get T2\n  Compute Gelu T2 and get Y\nend\n",
                       .dtype = DT_F16, .fill = FILL_NORMAL, .seed = 7, .target = targets[i]};

        bind_all(arena, &c, "M=20 N=70");
        expect_agreement(arena, &c);
    }
}

/* From one type of 16 bits to the other goes through fp32. */
static void types_of_16_bits_are_not_mixed_up(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, N) bf16\n  Output B (M, N) fp16\n  Output C (M, N) bf16\n"
               "  Grid m = ceil(M / 16)\n"
               "  Allocate A in shared (16, 16) bf16\n  Allocate B in register (16, 16) fp16\n"
               "  Allocate C in register (16, 16) fp16\n"
               "  Copy A (16, 16) in coordinate [M = m, N = 0] from global to shared\n"
               "  Compute Cast A, fp16 and get B\n"
               "  Compute Multiply B, 3 and get C\n"
               "  Copy B (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Copy C (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Schedule sm_80\n    warps = 1\n  end\nend\n",
               "M=20 N=16");
}

/* A cast that changes nothing, or only widens, does not tie two values together;
 * nor does a loop that passes a changed value on. */
static void values_in_the_same_registers_stay_apart(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel k\n  Input A (M, N) bf16\n  Output B (M, N) fp32\n  Output C (M, N) fp32\n"
               "  Output D (M, N) fp32\n  Output E (M, N) fp32\n"
               "  Grid m = ceil(M / 16)\n"
               "  Allocate A in register (16, 16) bf16\n  Allocate B in register (16, 16)\n"
               "  Allocate C in register (16, 16) bf16\n  Allocate D in register (16, 16)\n"
               "  Allocate E in register (16, 16)\n"
               "  Copy A (16, 16) in coordinate [M = m, N = 0] from global to register\n"
               "  Compute Cast A, fp32 and get B\n"
               "  Compute Mask B where row(B) < col(B) else 3\n"
               "  Compute Cast A, bf16 and get C\n"
               "  Compute Mask C where row(C) > col(C) else 4\n"
               "  Compute Multiply C, A and get new C\n"
               "  Compute Fill D, 1 and get new D\n  Compute Fill E, 2 and get new E\n"
               "  for i = 0:3\n"
               "    Compute Mask D where row(D) + col(D) mod 5 > i else 0 and get new E\n"
               "    Compute Add E, A and get new D\n"
               "  end\n"
               "  Copy B (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Copy C (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Copy D (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Copy E (16, 16) in coordinate [M = m, N = 0] from register to global\n"
               "  Schedule sm_80\n    warps = 1\n  end\nend\n",
               "M=20 N=16");
}

/* Relative to the definition, that is: where all results are small, too. */
static void tanh_of_small_numbers_is_accurate(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    LevelCase c = {.definition = "Operator o\n  Input A (M, K)\n  Input B (K, N)\n  Output C (M, N)\n"
                                 "  Compute GEMM A, B and get C\n  Compute Tanh C and get new C\nend\n",
                   .dtype = DT_F16,
                   .fill = FILL_SMALL,
                   .seed = 7};

    set_all(arena, &c, "BM=32 BN=32 BK=32 warps=2 stages=2");
    bind_all(arena, &c, "M=40 N=40 K=50");
    expect_agreement(arena, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attention_of_every_length, setup, teardown),
        cmocka_unit_test_setup_teardown(attention_of_every_kind, setup, teardown),
        cmocka_unit_test_setup_teardown(attention_as_chosen, setup, teardown),
        cmocka_unit_test_setup_teardown(gemm_with_bias, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_that_follow_from_others, setup, teardown),
        cmocka_unit_test_setup_teardown(quotients_of_rows, setup, teardown), cmocka_unit_test_setup_teardown(scales_of_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(two_maps, setup, teardown),
        cmocka_unit_test_setup_teardown(columns_in_fours, setup, teardown),
        cmocka_unit_test_setup_teardown(tiles_read_twice_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(sums_start_where_they_are_filled, setup, teardown),
        cmocka_unit_test_setup_teardown(casts_are_accumulated, setup, teardown),
        cmocka_unit_test_setup_teardown(barriers_in_branches_do_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(vectors_are_written_once, setup, teardown),
        cmocka_unit_test_setup_teardown(ragged_chunks_stay_inside, setup, teardown),
        cmocka_unit_test_setup_teardown(warps_may_cut_through_panels, setup, teardown),
        cmocka_unit_test_setup_teardown(scales_move_behind_masks_of_any_type, setup, teardown),
        cmocka_unit_test_setup_teardown(where_takes_any_condition, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_of_no_lane_are_not_looked_up_outside, setup, teardown),
        cmocka_unit_test_setup_teardown(tails_of_gelu, setup, teardown),
        cmocka_unit_test_setup_teardown(types_of_16_bits_are_not_mixed_up, setup, teardown),
        cmocka_unit_test_setup_teardown(values_in_the_same_registers_stay_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(tanh_of_small_numbers_is_accurate, setup, teardown),
    };

    return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
