/* test_rows.c: tiles that lie as memory does (lay.h, LAY_ROWS), at every level: rows
 * shared by warps and lanes, widths of all kinds, loads in stretches and their ends. */
#include "fixture.h"
#include "levels.h"

#include "pass/pass.h"

#include <stdlib.h>

#include <cmocka.h>

/* "NAME=VALUE ..." */
static void bind_all(Arena *arena, LevelCase *c, const char *words)
{
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, " "), name = strcspn(w, "=");

        levels_bind(c, arena_strndup(arena, w, name), atof(w + name + 1));
        w += n + strspn(w + n, " ");
    }
}

static LevelReport report_of(Arena *arena, const char *code, const char *target, DType dtype, const char *binds)
{
    LevelCase c = {.code = code, .dtype = dtype, .fill = FILL_UNIFORM, .seed = 11, .target = target};

    bind_all(arena, &c, binds);
    return levels_run(arena, &c);
}

static void check_code(Arena *arena, const char *code, const char *target, DType dtype, const char *binds)
{
    LevelReport report = report_of(arena, code, target, dtype, binds);

    if (report.verdict != LEVELS_AGREE)
        fail_msg("%s: %s\n%s\n%s", report.level, report.problem, code, str_text(&report.log));
}

/* ---- rows whole in registers ------------------------------------------------------------ */

/* A norm of rows of `width`, `rows` of them a block. */
static const char *norm(Arena *arena, int width, int rows, int warps, int warps_n, const char *dtype, const char *target)
{
    return arena_printf(
        arena,
        "Kernel norm\n  Input X (M, N) %s\n  Input gain (N) %s\n  Output Y (M, N) %s\n  Output R (M, 1) fp32\n"
        "  Grid m = ceil(M / %d)\n"
        "  Allocate X in register (%d, %d)\n  Allocate gain in register (1, %d)\n"
        "  Allocate X2 in register (%d, %d)\n  Allocate Y in register (%d, %d)\n  Allocate R in register (%d, 1)\n"
        "  Copy X (%d, %d) in coordinate [M = m] from global to register\n"
        "  Compute Square X and get X2\n  Compute RowSum X2 and get R\n"
        "  Compute Divide R, N and get new R\n  Compute Add R, 1e-5 and get new R\n  Compute Rsqrt R and get new R\n"
        "  Compute Multiply X, R and get Y\n"
        "  Copy gain (%d) in coordinate [N = 0] from global to register\n"
        "  Compute Multiply Y, gain and get new Y\n"
        "  Copy Y (%d, %d) in coordinate [M = m] from register to global\n"
        "  Copy R (%d, 1) in coordinate [M = m] from register to global\n"
        "  Schedule %s\n    warps = %d\n    warps_n = %d\n  end\nend\n",
        dtype, dtype, dtype, rows, rows, width, width, rows, width, rows, width, rows, rows, width, width, rows, width,
        rows, target, warps, warps_n);
}

static void rows_are_shared_by_lanes_and_warps(void **state)
{
    static const struct {
        int width, rows, warps, warps_n;
    } shapes[] = {{256, 4, 4, 1},  {512, 2, 2, 1},  {512, 1, 2, 2},    {1024, 1, 4, 4},  {2048, 2, 8, 4},
                  {128, 8, 4, 1},  {48, 64, 4, 1},  {32, 16, 1, 1},    {768, 3, 3, 1},   {1536, 1, 3, 3},
                  {2048, 1, 8, 8}, {16, 32, 1, 1},  {4096, 1, 16, 16}, {256, 32, 2, 2},  {96, 16, 2, 2}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(shapes); i++) {
        const char *code = norm(arena, shapes[i].width, shapes[i].rows, shapes[i].warps, shapes[i].warps_n, "bf16", "sm_80");

        check_code(arena, code, "sm_80", DT_BF16, arena_printf(arena, "M=5 N=%d", shapes[i].width));
        check_code(arena, code, "sm_80", DT_BF16, arena_printf(arena, "M=3 N=%d", shapes[i].width - 9));
    }
}

static void elements_of_every_size(void **state)
{
    static const char *const dtypes[] = {"fp32", "fp16", "bf16"};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(dtypes); i++)
        for (int n = 510; n <= 513; n++)
            check_code(arena, norm(arena, 1024, 2, 4, 2, dtypes[i], i == 1 ? "sm_75" : "sm_80"), i == 1 ? "sm_75" : "sm_80", DT_F16,
                       arena_printf(arena, "M=3 N=%d", n));
}

/* A lane's stretch is as many elements as the widest type allows; integers are read. */
static void types_of_several_sizes_meet(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const char *const targets[] = {"sm_80", "sm_89"};

    for (size_t i = 0; i < TW_COUNT(targets); i++)
        for (int n = 250; n <= 264; n += 7)
            check_code(arena,
                       arena_printf(arena,
                                    "Kernel k\n  Input A (M, N) bf16\n  Input B (M, N) fp32\n  Input C (N) int32\n"
                                    "  Input D (M, N) %s\n  Output E (M, N) fp32\n  Output F (M, N) %s\n"
                                    "  Grid m = ceil(M / 4)\n"
                                    "  Allocate A in register (4, 512)\n  Allocate B in register (4, 512)\n"
                                    "  Allocate C in register (1, 512)\n  Allocate D in register (4, 512)\n"
                                    "  Allocate E in register (4, 512) fp32\n  Allocate F in register (4, 512) fp32\n"
                                    "  Copy A (4, 512) in coordinate [M = m] from global to register\n"
                                    "  Copy B (4, 512) in coordinate [M = m] from global to register\n"
                                    "  Copy C (512) in coordinate [N = 0] from global to register\n"
                                    "  Copy D (4, 512) in coordinate [M = m] from global to register\n"
                                    "  Compute Add A, B and get E\n  Compute Multiply E, D and get new E\n"
                                    "  Compute Add E, C and get F\n"
                                    "  Copy E (4, 512) in coordinate [M = m] from register to global\n"
                                    "  Copy F (4, 512) in coordinate [M = m] from register to global\n"
                                    "  Schedule %s\n    warps = 4\n    warps_n = 2\n  end\nend\n",
                                    i ? "e4m3" : "fp16", i ? "e4m3" : "bf16", targets[i]),
                       targets[i], DT_BF16, arena_printf(arena, "M=6 N=%d", n));
}

/* ---- rows of fragments -------------------------------------------------------------------------- */

/* Warps beside each other have whole columns, and complete each other's rows: of what memory holds, and of
 * products, with vectors and single elements made of what was reduced. */
static void warps_complete_each_others_rows(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const char *const targets[] = {"sm_75", "sm_80", "sm_90a"}, *const dtypes[] = {"fp16", "bf16", "bf16"};
    static const struct {
        int rows, cols, warps;
    } shapes[] = {{32, 128, 4}, {16, 1024, 8}, {64, 128, 2}, {48, 96, 3}};

    for (size_t t = 0; t < TW_COUNT(targets); t++)
        for (size_t i = 0; i < TW_COUNT(shapes); i++) {
            int rows = shapes[i].rows, cols = shapes[i].cols;
            check_code(arena,
                       arena_printf(arena,
                                    "Kernel k\n  Input X (M, N) %s\n  Output R (M, 1) fp32\n  Output A (M, 1) fp32\n"
                                    "  Output C (1, N) fp32\n  Output T (1, 1) fp32\n  BM = %d\n  BN = %d\n  Grid one = 1\n"
                                    "  Allocate X in register (BM, BN)\n  Allocate R in register (BM, 1) fp32\n"
                                    "  Allocate A in register (BM, 1) fp32\n  Allocate C in register (1, BN) fp32\n"
                                    "  Allocate T in register (1, 1) fp32\n"
                                    "  for i = 0:ceil(M / BM)\n"
                                    "    Copy X (BM, BN) in coordinate [M = i] from global to register\n"
                                    "    Compute RowSum X and get R\n    Compute RowMax X and get A\n"
                                    "    Compute ColSum X and accumulate C\n"
                                    "    Copy R (BM, 1) in coordinate [M = i] from register to global\n"
                                    "    Copy A (BM, 1) in coordinate [M = i] from register to global\n  end\n"
                                    "  Compute RowMax C and get T\n"
                                    "  Copy T (1, 1) from register to global\n"
                                    "  Copy C (1, BN) in coordinate [N = 0] from register to global\n"
                                    "  Schedule %s\n    warps = %d\n    warps_n = %d\n  end\nend\n",
                                    dtypes[t], rows, cols, targets[t], shapes[i].warps, shapes[i].warps),
                       targets[t], DT_BF16, arena_printf(arena, "M=%d N=%d", 2 * rows + 7, cols));
        }
}

/* The state of an online softmax is a number a row, whichever warps have the row. */
static void a_softmax_is_of_rows_that_warps_share(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    check_code(arena,
               "Kernel k\n  Input Q (M, D) bf16\n  Input K (N, D) bf16\n  Output O (M, D) bf16\n"
               "  D = 64\n  BM = 32\n  BN = 64\n  Grid m = ceil(M / BM)\n"
               "  Allocate Q in shared (BM, D)\n  Allocate K in shared (BN, D)\n  Allocate P in shared (BM, BN) bf16\n"
               "  Allocate P in register (BM, BN) bf16\n  Allocate S in register (BM, BN) fp32\n"
               "  Allocate O in register (BM, D) fp32\n  Allocate A in register (BM, 1) fp32\n"
               "  Allocate L in register (BM, 1) fp32\n"
               "  Copy Q (BM, D) in coordinate [M = m] from global to shared\n"
               "  Compute Fill A, -inf\n  Compute Fill L, 0\n  Compute Fill O, 0\n"
               "  for j = 0:ceil(N / BN)\n"
               "    Copy K (BN, D) in coordinate [N = j] from global to shared\n"
               "    Compute GEMM Q, K.T and get S\n    Compute Mask S where j * BN + col(S) < N\n"
               "    Compute Softmax S with A and L\n    Compute Cast S, bf16 and get P\n"
               "    Copy P from register to shared\n    Compute GEMM P.shared, K and accumulate O\n  end\n"
               "  Compute Divide O, L else 0 and get new O\n"
               "  Copy O (BM, D) in coordinate [M = m] from register to global\n"
               "  Schedule sm_80\n    warps = 4\n    warps_n = 2\n  end\nend\n",
               "sm_80", DT_BF16, "M=40 N=150 D=64");
}

/* ---- rows in pieces ------------------------------------------------------------------------- */

/* Reductions over warps within loops and branches, one or several: the buffer that one
 * goes through is free again before the next. */
static void reductions_in_loops_wait_for_each_other(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const char *const bodies[] = {
        "    Compute RowMax X and get T\n    Compute Max R, T and get new R\n",
        "    Compute RowMax X and get T\n    Compute Max R, T and get new R\n"
        "    Compute Subtract X, R and get Z\n    Compute RowSum Z and get T\n    Compute Add R, T and get new R\n",
        "    if j > 0\n      Compute RowSum X and get T\n      Compute Add R, T and get new R\n    else\n"
        "      Compute RowMax X and get T\n      Compute Add R, T and get new R\n    end\n"
        "    Compute RowMin X and get T\n    Compute Add R, T and get new R\n",
    };

    for (size_t i = 0; i < TW_COUNT(bodies); i++)
        for (int rows = 1; rows <= 2; rows++)
            check_code(arena,
                       arena_printf(arena,
                                    "Kernel k\n  Input X (M, N) bf16\n  Output R (M, 1) fp32\n"
                                    "  Grid m = ceil(M / %d)\n"
                                    "  Allocate X in shared (%d, 512)\n  Allocate X in register (%d, 512)\n"
                                    "  Allocate Z in register (%d, 512)\n"
                                    "  Allocate R in register (%d, 1) fp32\n  Allocate T in register (%d, 1) fp32\n"
                                    "  Compute Fill R, 0 and get new R\n"
                                    "  for j = 0:ceil(N / 512)\n"
                                    "    Copy X (%d, 512) in coordinate [M = m, N = j] from global to shared\n"
                                    "    Copy X from shared to register\n%s  end\n"
                                    "  Copy R (%d, 1) in coordinate [M = m] from register to global\n"
                                    "  Schedule sm_80\n    warps = %d\n    warps_n = 2\n  end\nend\n",
                                    rows, rows, rows, rows, rows, rows, rows, bodies[i], rows, 2 * rows),
                       "sm_80", DT_BF16, "M=3 N=1700");
}

/* A mask in the load, and a corner in front of the tensor. */
static void loads_have_conditions(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    for (int n = 60; n <= 64; n += 2)
        check_code(arena,
                   "Kernel k\n  Input A (M, N) bf16\n  Input B (M, N) bf16\n  Output C (M, N) fp32\n"
                   "  Grid m = ceil(M / 8), n = ceil(N / 32)\n"
                   "  Allocate A in register (8, 32)\n  Allocate B in register (8, 32)\n"
                   "  Allocate C in register (8, 32)\n"
                   "  Copy A (8, 32) in coordinate [M = m, N = n] from global to register "
                   "where m * 8 + row(A) < 11 and col(A) < 29 else 0\n"
                   "  Copy B (8, 32) in coordinate [M = m - 1, N = n - 1] from global to register "
                   "where row(B) > 2 else 0\n"
                   "  Compute Add A, B and get C\n"
                   "  Copy C (8, 32) in coordinate [M = m, N = n] from register to global\n"
                   "  Schedule sm_80\n    warps = 1\n  end\nend\n",
                   "sm_80", DT_BF16, arena_printf(arena, "M=19 N=%d", n));
}

/* A length that is only known at launch: a kernel for each range, of which one runs. */
static void rows_of_any_length(void **state)
{
    static const char *const ops[] = {
        "Operator norm\n  Input X (M, N)\n  Input g (N)\n  Output Y (M, N)\n  Compute Square X and get S\n"
        "  Compute RowMean S and get r\n  Compute Add r, 1e-5 and get new r\n  Compute Rsqrt r and get new r\n"
        "  Compute Multiply X, r and get Y\n  Compute Multiply Y, g and get new Y\nend\n",
        "Operator softmax\n  Input X (M, N)\n  Output Y (M, N)\n  Compute Softmax X and get Y\nend\n",
    };
    static const int lengths[] = {1, 1024, 1025, 3073, 6145, 14337, 32769, 65537};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(ops); i++)
        for (size_t n = 0; n < TW_COUNT(lengths); n++) {
            LevelCase c = {.definition = ops[i], .dtype = DT_BF16, .fill = FILL_NORMAL, .seed = 3};

            bind_all(arena, &c, arena_printf(arena, "M=2 N=%d", lengths[n]));
            LevelReport report = levels_run(arena, &c);
            if (report.verdict != LEVELS_AGREE)
                fail_msg("%d: %s: %s\n%s", lengths[n], report.level, report.problem, str_text(&report.log));
        }
}

/* ---- what is made of a program ------------------------------------------------------------------ */

/* The program after all passes but the emitter, or its PTX. */
static const char *compiled(Arena *arena, const char *code, bool ptx)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target_find("sm_80"),
                             DT_BF16);
    Str source = str_new(arena), text = str_new(arena);

    str_add(&source, code);
    if (!chain_lower(chain, chain_text(chain, "code", &source)) || !chain_schedule(chain) || !chain_emit(chain))
        fail_msg("this does not compile:\n%s", code);
    tile_print(&text, chain->tile);
    return ptx ? chain->ptx->text : str_text(&text);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        n++;
    return n;
}

/* Nothing is staged, a warp's access is 16 bytes a lane, and warps meet once a reduction. */
static void copies_are_wide_and_direct(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *code = norm(arena, 1024, 1, 4, 4, "bf16", "sm_80");
    const char *tile = compiled(arena, code, false), *ptx = compiled(arena, code, true);
    const char *aligned = strstr(ptx, ".entry norm("), *any = strstr(ptx, ".entry norm_any(");

    assert_non_null(strstr(tile, "rows(1x4, k8, lanes32)"));
    assert_non_null(strstr(tile, "rowsum %X2, %parts along columns"));
    assert_true(aligned && any);
    assert_int_equal(count(aligned, "ld.global.v4.b32") - count(any, "ld.global.v4.b32"), 2);
    assert_int_equal(count(aligned, "st.global.v4.b32") - count(any, "st.global.v4.b32"), 1);
    assert_int_equal(count(any, "ld.global.v4.b32"), 0);
    assert_true(count(any, "+256]") > 0 && count(any, "+2]") == 0); /* side by side, an element each of 4 x 32 lanes */
    assert_int_equal(count(aligned, "bar.sync") - count(any, "bar.sync"), 1);
    assert_int_equal(count(ptx, "cp.async"), 0);
}

/* Elements that each have a place of their own are loaded as a tile where they lie as one: from a column on where lanes can take
 * 16 bytes. Of others, those that lie beside each other come together. */
static void elements_that_are_a_tile_are_copied(void **state)
{
    static const struct {
        const char *place;
        bool tile, wide;
    } cases[] = {{"W[m * 4 + row(Y), col(Y)]", false, true}, {"L[m * 4 + row(Y), col(Y)]", false, false}, {"X[m * 4 + row(Y), col(Y) + 64]", true, true},
                 {"X[m * 4 + row(Y) - 1, col(Y)]", true, true}, {"X[m * 4 + row(Y), col(Y) + 3]", false, true}, {"X[m * 4 + row(Y), 2 * col(Y)]", false, true},
                 {"X[col(Y), m * 4 + row(Y)]", false, false}, {"X[m * 4 + row(Y), row(Y) + col(Y)]", false, true}, {"X[m * 4 + row(Y), 9 * col(Y)]", false, false}};
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *code = arena_printf(arena,
                                        "Kernel part\n  Input X (M, 512) bf16\n  Input W (M, 256) fp32\n  Input L (M, 256) int64\n  Output Y (M, 256) bf16\n  Grid m = ceil(M / 4)\n"
                                        "  Allocate Y in register (4, 256)\n  Compute Define Y (4, 256) as %s\n"
                                        "  Copy Y (4, 256) in coordinate [M = m] from register to global\n  Schedule sm_80\n    warps = 1\n  end\nend\n",
                                        cases[i].place);
        const char *tile = compiled(arena, code, false), *ptx = compiled(arena, code, true);

        assert_int_equal(strstr(tile, "= load ") != NULL, cases[i].tile);
        assert_int_equal(count(ptx, "ld.global.v4.b32") > 0, cases[i].wide);
        check_code(arena, code, "sm_80", DT_BF16, "M=37");
    }
}

/* Words that several of a row's elements share, where a lane has the row to itself. */
static void a_lane_shares_words_with_itself(void **state)
{
    check_code(((Fixture *)*state)->arena,
               "Kernel part\n  Input W (M, 1) int32\n  Output Y (M, 8) bf16\n  Grid m = ceil(M / 32)\n  Allocate Y in register (32, 8)\n"
               "  Compute Define Y (32, 8) as W[m * 32 + row(Y), col(Y) div 8] div 2 ** (4 * (col(Y) % 8)) % 16\n"
               "  Copy Y (32, 8) in coordinate [M = m] from register to global\n  Schedule sm_80\n    warps = 1\n  end\nend\n",
               "sm_80", DT_BF16, "M=37");
}

/* What so many turns take, an entry each, is loaded side by side; what steps along a row is not. */
static void entries_are_taken_at_once(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const struct {
        int entries, turns;
    } cases[] = {{12, 12}, {96, 48}, {67, 1}, {1, 1}};

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *code = arena_printf(arena,
            "Kernel sums\n  Input  P (parts, M, N) fp32\n  Output Y (M, N) fp32\n  N = 128\n  parts = %d\n  BM = 1\n"
            "  Grid m = ceil(M / BM)\n  Allocate P in register (BM, N) fp32\n  Allocate Y in register (BM, N) fp32\n"
            "  Compute Fill Y, 0\n  for s = 0:parts\n    Copy P (BM, N) in coordinate [parts = s, M = m] from global to register\n"
            "    Compute Add Y, P and get new Y\n  end\n  Copy Y (BM, N) in coordinate [M = m] from register to global\n"
            "  Schedule sm_80\n    warps = 1\n  end\nend\n", cases[i].entries);
        const char *ptx = compiled(arena, code, true), *any = strstr(ptx, ".entry sums_any(");

        assert_int_equal(count(ptx, "ld.global.v4.f32") - count(any, "ld.global.v4.f32"), cases[i].turns);
        assert_int_equal(count(ptx, "$exit"), 0);
    }
}

/* What a product reads stays in shared memory, and what a part is taken of in fragments. */
static void products_keep_their_fragments(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *tile = compiled(arena,
                                "Kernel k\n  Input A (M, K) bf16\n  Input B (N, K) bf16\n  Output C (M, N) fp32\n"
                                "  K = 64\n  N = 32\n  Grid m = ceil(M / 32)\n"
                                "  Allocate A in shared (32, K)\n  Allocate B in shared (N, K)\n"
                                "  Allocate C in register (32, N)\n"
                                "  Copy A (32, K) in coordinate [M = m] from global to shared\n"
                                "  Copy B (N, K) in coordinate [N = 0] from global to shared\n"
                                "  Compute GEMM A, B.T and get C\n"
                                "  Copy C (32, N) in coordinate [M = m] from register to global\n"
                                "  Schedule sm_80\n    warps = 2\n  end\nend\n",
                                false);

    assert_non_null(strstr(tile, "copy_async"));
    assert_non_null(strstr(tile, "mma_c(2x1)"));
    assert_null(strstr(tile, "rows("));
}

/* Lanes exchange what they have of 32 columns, so that each writes 16 bytes, however warps share columns. */
static void products_of_16_bits_leave_in_sixteens(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;

    for (int warps_n = 1; warps_n <= 4; warps_n *= 2) {
        const char *ptx = compiled(arena, arena_printf(arena,
            "Kernel k\n  Input A (M, K) bf16\n  Input B (N, K) bf16\n  Output C (M, N) bf16\n"
            "  K = 64\n  N = 128\n  Grid m = ceil(M / 64)\n"
            "  Allocate A in shared (64, K)\n  Allocate B in shared (N, K)\n"
            "  Allocate C in register (64, N)\n"
            "  Copy A (64, K) in coordinate [M = m] from global to shared\n"
            "  Copy B (N, K) in coordinate [N = 0] from global to shared\n"
            "  Compute GEMM A, B.T and get C\n"
            "  Copy C (64, N) in coordinate [M = m] from register to global\n"
            "  Schedule sm_80\n    warps = 4\n    warps_n = %d\n  end\nend\n", warps_n), true);
        const char *any = strstr(ptx, ".entry k_any(");

        assert_non_null(any);
        assert_int_equal(count(ptx, "st.global.v4.b32"), 64 * 128 / 128 / 8);
        assert_int_equal(count(ptx, "shfl.sync.bfly.b32") - count(any, "shfl.sync.bfly.b32"), 64 * 128 / 128 / 2);
        assert_int_equal(count(any, "st.global.v4.b32"), 0);
        assert_int_equal(count(ptx, "st.global.b32"), 0);
    }
}

/* A tile of memory that meets what a product made is loaded two columns at a time where rows have an even number of them. What
 * lasts over a loop does so as it came, for any alignment as well: behind the loop numbers are made of it anew. */
static void tiles_beside_products_come_in_pairs(void **state)
{
    static const struct {
        const char *dtype, *pair, *one, *number; /* `number`: made of the second of a pair */
        int columns;
        bool together;
    } cases[] = {{"bf16", "ld.global.b32", "ld.global.b16", "0xffff0000", 64, true},
                 {"fp32", "ld.global.v2.f32", "ld.global.f32", NULL, 64, true},
                 {"bf16", "ld.global.b32", "ld.global.b16", "0xffff0000", 63, false}};
    enum { PAIRS = 64 * 64 / 128 / 2 };
    Arena *arena = ((Fixture *)*state)->arena;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *code = arena_printf(arena,
            "Kernel k\n  Input X (M, N) %s\n  Input A (M, K) bf16\n  Input B (N, K) bf16\n  Output Y (M, N) fp32\n  Output Z (M, N) fp32\n"
            "  N = %d\n  Grid m = ceil(M / 64)\n  Allocate A in shared (64, 16)\n  Allocate B in shared (64, 16)\n"
            "  Allocate X in register (64, 64) %s\n  Allocate Z in register (64, 64)\n  Allocate Y in register (64, 64)\n"
            "  Copy X (64, 64) in coordinate [M = m] from global to register\n  Compute Multiply X, 2 and get Z\n"
            "  Copy Z (64, 64) in coordinate [M = m] from register to global\n"
            "  for k = 0:ceil(K / 16)\n    Copy A (64, 16) in coordinate [M = m, K = k] from global to shared\n"
            "    Copy B (64, 16) in coordinate [N = 0, K = k] from global to shared\n    Compute GEMM A, B.T and accumulate Y\n  end\n"
            "  Compute Add Y, X and get new Y\n  Copy Y (64, 64) in coordinate [M = m] from register to global\n"
            "  Schedule sm_80\n    warps = 4\n  end\nend\n", cases[i].dtype, cases[i].columns, cases[i].dtype);
        const char *ptx = compiled(arena, code, true), *any = strstr(ptx, ".entry k_any(");

        assert_non_null(any);
        assert_int_equal(count(ptx, cases[i].pair) - count(any, cases[i].pair), cases[i].together ? PAIRS : 0);
        if (cases[i].together) assert_int_equal(count(ptx, cases[i].one) - count(any, cases[i].one), 0);
        if (cases[i].number) assert_int_equal(count(ptx, cases[i].number), 2 * 2 * PAIRS);
        check_code(arena, code, "sm_80", DT_BF16, "M=71 K=40");
    }
}

/* Where addresses allow no wide copies, a thread goes through the elements of its chunks in loops that
 * stay loops, so that ptxas has little to do; and one condition serves for a chunk that ends with its row. */
static void elements_are_copied_in_loops(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    const char *ptx = compiled(arena,
                               "Kernel k\n  Input A (M, K) bf16\n  Input B (N, K) bf16\n  Output C (M, N) fp32\n"
                               "  K = 64\n  N = 250\n  Grid m = ceil(M / 32)\n"
                               "  Allocate A in shared (32, K)\n  Allocate B in shared (256, K)\n"
                               "  Allocate C in register (32, 256)\n"
                               "  Copy A (32, K) in coordinate [M = m] from global to shared\n"
                               "  Copy B (256, K) in coordinate [N = 0] from global to shared\n"
                               "  Compute GEMM A, B.T and get C\n"
                               "  Copy C (32, 256) in coordinate [M = m, N = 0] from register to global\n"
                               "  Schedule sm_80\n    warps = 4\n    warps_n = 2\n  end\nend\n",
                               true);
    const char *aligned = strstr(ptx, ".entry k("), *any = strstr(ptx, ".entry k_any(");

    assert_true(aligned && any && aligned < any);
    assert_int_equal(count(aligned, ".pragma \"nounroll\""), 1);
    assert_int_equal(count(any, ".pragma \"nounroll\""), 1);
    assert_int_equal(count(any, "bra.uni $rows"), 1);
    assert_int_equal(count(aligned, "ld.global.b16"), (2 + 4) * 8); /* A's chunks, and a turn's of B */
    assert_int_equal(count(aligned, "cp.async.cg"), 2 + 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_shared_by_lanes_and_warps, setup, teardown),
        cmocka_unit_test_setup_teardown(elements_of_every_size, setup, teardown),
        cmocka_unit_test_setup_teardown(types_of_several_sizes_meet, setup, teardown),
        cmocka_unit_test_setup_teardown(warps_complete_each_others_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(a_softmax_is_of_rows_that_warps_share, setup, teardown),
        cmocka_unit_test_setup_teardown(reductions_in_loops_wait_for_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(loads_have_conditions, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_of_any_length, setup, teardown),
        cmocka_unit_test_setup_teardown(elements_that_are_a_tile_are_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(copies_are_wide_and_direct, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lane_shares_words_with_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(entries_are_taken_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(products_keep_their_fragments, setup, teardown),
        cmocka_unit_test_setup_teardown(products_of_16_bits_leave_in_sixteens, setup, teardown),
        cmocka_unit_test_setup_teardown(tiles_beside_products_come_in_pairs, setup, teardown),
        cmocka_unit_test_setup_teardown(elements_are_copied_in_loops, setup, teardown),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
