/* test_keep.c: rows that shared memory keeps for the loops that read them again (keep.c, twice.c, behind.c, launched.c):
 * at every level, and what becomes of each. */
#include "fixture.h"
#include "levels.h"
#include "tails.h"

#include "pass/launched.h"
#include "pass/pass.h"
#include "pass/passes.h"
#include "target/target.h"

/* A softmax of rows with a second input that is added, in steps of `columns`; range: of the lengths that have blocks. */
static const char *shared_softmax(Arena *arena, const char *range, int columns, int rows, int warps, int kept, int cluster, const char *target)
{
    return arena_printf(
        arena,
        "Kernel softmax\n  Input X (M, N)\n  Input B (M, N)\n  Output Y (M, N)\n  Output L (M) fp32\n"
        "  Grid m = ceil(M / %d)%s\n"
        "  Allocate X in shared (%d, %d)\n  Allocate X in register (%d, %d)\n  Allocate B in register (%d, %d)\n"
        "  Allocate Z in register (%d, %d) fp32\n  Allocate most in register (%d, 1) fp32\n  Allocate L in register (%d, 1) fp32\n"
        "  for k = 0:ceil(N / %d)\n"
        "    Copy X (%d, %d) in coordinate [M = m, N = k] from global to shared\n    Copy X from shared to register\n"
        "    Copy B (%d, %d) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Add X, B and get Z\n    Compute Mask Z where k * %d + col(Z) < N\n"
        "    Compute Softmax Z with most and L\n  end\n"
        "  for k = 0:ceil(N / %d)\n"
        "    Copy X (%d, %d) in coordinate [M = m, N = k] from global to shared\n    Copy X from shared to register\n"
        "    Copy B (%d, %d) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Add X, B and get Z\n    Compute Subtract Z, most and get new Z\n    Compute Exp Z and get new Z\n"
        "    Compute Divide Z, L else 0 and get new Z\n"
        "    Copy Z as Y (%d, %d) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Compute Log L and get new L\n  Compute Add L, most and get new L\n"
        "  Copy L (%d) in coordinate [M = m] from register to global\n"
        "  Schedule %s\n    warps = %d\n    warps_n = %d\n    kept = %d\n    cluster = %d\n  end\nend\n",
        rows, range, rows, columns, rows, columns, rows, columns, rows, columns, rows, rows, columns, rows, columns, rows,
        columns, columns, columns, rows, columns, rows, columns, rows, columns, rows, target, warps, warps, kept, cluster);
}

static const char *softmax(Arena *arena, const char *range, int columns, int rows, int warps, int kept, const char *target)
{
    return shared_softmax(arena, range, columns, rows, warps, kept, 0, target);
}

static LevelReport report_of(Arena *arena, const char *code, const char *target, DType dtype, int rows, int length)
{
    LevelCase c = {.code = code, .dtype = dtype, .fill = FILL_UNIFORM, .seed = 17, .target = target};

    levels_bind(&c, "M", rows);
    levels_bind(&c, "N", length);
    return levels_run(arena, &c);
}

static void check_code(Arena *arena, const char *code, const char *target, DType dtype, int rows, int length)
{
    LevelReport report = report_of(arena, code, target, dtype, rows, length);

    if (report.verdict != LEVELS_AGREE)
        fail_msg("%d columns, %s: %s\n%s\n%s", length, report.level, report.problem, code, str_text(&report.log));
    if (report.conflicts != 0)
        fail_msg("%d columns: %llu conflicts", length, (unsigned long long)report.conflicts);
}

/* Rows shorter than a turn, of as many turns as are kept, of one more, and of none. */
static void kept_rows_agree_at_every_level(void **state)
{
    static const struct {
        DType dtype;
        const char *target;
        int columns, warps, kept, lengths[4];
    } cases[] = {
        {DT_BF16, "sm_90a", 256, 1, 3, {1, 256, 768, 769}}, {DT_F16, "sm_80", 512, 2, 2, {0, 600, 1024, 1500}},
        {DT_F32, "sm_86", 256, 2, 4, {3, 257, 1024, 1025}}, {DT_F16, "sm_75", 256, 1, 2, {7, 256, 512, 600}},
        {DT_E4M3, "sm_90a", 1024, 2, 2, {16, 1024, 2048, 2100}},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        for (int k = 0; k < 4; k++)
            check_code(f->arena, softmax(f->arena, "", cases[i].columns, 1, cases[i].warps, cases[i].kept, cases[i].target),
                       cases[i].target, cases[i].dtype, 3, cases[i].lengths[k]);
    check_code(f->arena, softmax(f->arena, "", 256, 4, 2, 2, "sm_90a"), "sm_90a", DT_BF16, 7, 500); /* several rows a block */
    check_code(f->arena, softmax(f->arena, "", 128, 4, 1, 2, "sm_80"), "sm_80", DT_F32, 7, 200);
    check_code(f->arena, softmax(f->arena, "", 128, 8, 2, 2, "sm_86"), "sm_86", DT_F32, 9, 250);
    check_code(f->arena, softmax(f->arena, ", in_range = min(1, 512 div max(N, 1))", 256, 1, 1, 2, "sm_90a"), "sm_90a", DT_BF16, 3, 401);
}

/* Fewer turns than blocks, not as many for each, as many as are kept, one more, none. */
static void clusters_agree_at_every_level(void **state)
{
    static const struct {
        DType dtype;
        const char *target;
        int columns, rows, warps, kept, cluster, lengths[5];
    } cases[] = {
        {DT_BF16, "sm_90a", 256, 1, 1, 2, 4, {1, 700, 1500, 2048, 2049}}, {DT_F32, "sm_90a", 256, 1, 2, 1, 3, {0, 256, 600, 768, 769}},
        {DT_F16, "sm_90a", 256, 4, 2, 2, 8, {5, 513, 1800, 4096, 4100}}, {DT_E4M3, "sm_90a", 1024, 1, 2, 1, 2, {16, 1024, 2000, 2048, 2064}},
        {DT_BF16, "sm_80", 256, 1, 1, 2, 4, {1, 700, 512, 513, 2048}},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        for (int k = 0; k < 5; k++)
            check_code(f->arena, shared_softmax(f->arena, "", cases[i].columns, cases[i].rows, cases[i].warps, cases[i].kept, cases[i].cluster, cases[i].target),
                       cases[i].target, cases[i].dtype, 3, cases[i].lengths[k]);
    check_code(f->arena, shared_softmax(f->arena, ", in_range = min(1, 2048 div max(N, 1))", 256, 1, 1, 2, 4, "sm_90a"), "sm_90a", DT_BF16, 3, 1401);
}

/* Warps whose shares of a turn are no whole lines of shared memory: of few columns, or of warps that are no power of two. */
static void warps_share_turns_of_few_columns(void **state)
{
    static const struct {
        const char *target;
        DType dtype;
        int columns, rows, warps;
    } cases[] = {
        {"sm_90a", DT_F32, 96, 1, 4}, {"sm_75", DT_F16, 320, 4, 4}, {"sm_80", DT_BF16, 72, 1, 3}, {"sm_75", DT_F32, 120, 1, 5}, {"sm_90a", DT_E4M3, 96, 1, 3},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *code = softmax(f->arena, "", cases[i].columns, cases[i].rows, cases[i].warps, 3, cases[i].target);
        LevelReport report = report_of(f->arena, code, cases[i].target, cases[i].dtype, 5, 2 * cases[i].columns + 16);
        if (report.verdict != LEVELS_AGREE) fail_msg("%d columns, %s: %s\n%s", cases[i].columns, report.level, report.problem, str_text(&report.log));
    }
}

/* Without asynchronous copies one of the warps that hold a row puts it there. */
static void a_row_of_several_warps_is_put_once(void **state)
{
    static const char twice[] =
        "Kernel twice\n  Input X (M, N)\n  Output Y (M, N)\n  Grid m = M\n  Allocate X in register (1, 256)\n  Allocate Y in register (1, 256)\n"
        "  Allocate sum in register (1, 1)\n  Allocate part in register (1, 1)\n  Compute Fill sum, 0\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute RowSum X and get part\n    Compute Add sum, part and get new sum\n  end\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Multiply X, sum and get Y\n    Copy Y (1, 256) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_75\n    warps = 2\n    warps_n = 1\n    kept = 2\n  end\nend\n";
    Fixture *f = *state;

    check_code(f->arena, twice, "sm_75", DT_F16, 3, 400);
}

static int count_all(const TileProgram *program, TileOpKind kind)
{
    int n = 0;

    for (int i = 0; i < program->kernels.len; i++)
        n += tile_count(program->kernels.data[i]->body, kind);
    return n;
}

/* Both inputs are copied once, ahead; no turn of a kept row has a reduction, and without an end to the rows there is the kernel as it was, too. */
static void what_is_kept_is_copied_once(void **state)
{
    Fixture *f = *state;
    Diags *diags;
    const char *some = softmax(f->arena, ", in_range = min(1, 512 div max(N, 1))", 256, 1, 1, 2, "sm_90a");
    const TileProgram *bounded = compiled(f->arena, some, "sm_90a", &diags, DT_BF16);

    assert_non_null(bounded);
    assert_int_equal(count_all(bounded, TILE_COPY_ASYNC), 2);
    assert_int_equal(count_all(bounded, TILE_WAIT), 1);
    assert_int_equal(count_all(bounded, TILE_BARRIER), 1);
    assert_int_equal(count_all(bounded, TILE_LOAD), 0);
    assert_int_equal(count_all(bounded, TILE_REDUCE), 2);
    assert_int_equal(count_all(bounded, TILE_FOR), 4);
    assert_int_equal(count_all(bounded, TILE_IF), 0);
    assert_non_null(bounded->kernels.data[0]->plain);
    assert_int_equal(bounded->kernels.data[0]->plain->kept, 2 + 1); /* with what a window has before a row */
    assert_int_equal(tile_count(bounded->kernels.data[0]->plain->body, TILE_LOAD), 0);

    const TileProgram *open = compiled(f->arena, softmax(f->arena, "", 256, 1, 1, 2, "sm_90a"), "sm_90a", &diags, DT_BF16);
    assert_non_null(open);
    assert_int_equal(count_all(open, TILE_IF), 1);
    assert_int_equal(count_all(open, TILE_COPY_ASYNC), 2);
    assert_int_equal(count_all(open, TILE_LOAD), 4);
    assert_int_equal(count_all(open, TILE_FOR), 4 + 2);
}

/* A softmax of columns, in steps of 16 rows, of which warps have fragments. */
static const char *column_softmax(Arena *arena, int rows, int columns, int warps, int stages, int kept, const char *target)
{
    const char *copy = arena_printf(arena, "    Copy X (16, %d) in coordinate [B = b, N = k, C = n] from global to shared\n    Copy X from shared to register\n", columns);
    const char *loop = arena_printf(arena, "  for k = 0:%d\n%s", (rows + 15) / 16, copy);

    return arena_printf(arena,
                        "Kernel columns\n  Input X (B, N, C)\n  Output Y (B, N, C)\n  N = %d\n  C = 64\n  Grid n = ceil(C / %d), b = B\n"
                        "  Allocate X in shared (16, %d)\n  Allocate X in register (16, %d)\n  Allocate E in register (16, %d) fp32\n"
                        "  Allocate most in register (1, %d) fp32\n  Allocate sum in register (1, %d) fp32\n  Allocate some in register (1, %d) fp32\n"
                        "  Compute Fill most, -inf\n%s    Compute Mask X where k * 16 + row(X) < N and get E\n    Compute ColMax E and get some\n"
                        "    Compute Max most, some and get new most\n  end\n"
                        "  Compute Fill sum, 0\n%s    Compute Subtract X, most and get E\n    Compute Exp E and get new E\n"
                        "    Compute Mask E where k * 16 + row(E) < N else 0\n    Compute ColSum E and get some\n    Compute Add sum, some and get new sum\n  end\n"
                        "%s    Compute Subtract X, most and get E\n    Compute Exp E and get new E\n    Compute Divide E, sum and get new E\n"
                        "    Copy E as Y (16, %d) in coordinate [B = b, N = k, C = n] from register to global\n  end\n"
                        "  Schedule %s\n    warps = %d\n    warps_n = %d\n    stages = %d\n    kept = %d\n  end\nend\n",
                        rows, columns, columns, columns, columns, columns, columns, columns, loop, loop, loop, columns, target, warps, warps, stages, kept);
}

/* Of columns as well, where tiles come through shared memory: the first loop copies, of as many turns as there are stages for and more. */
static void columns_are_kept_for_loops_behind(void **state)
{
    static const struct {
        DType dtype;
        const char *target;
        int rows, columns, warps, stages, kept;
        bool stays;
    } cases[] = {
        {DT_BF16, "sm_90a", 40, 32, 2, 2, 3, true}, {DT_BF16, "sm_80", 100, 64, 4, 4, 8, true}, {DT_F16, "sm_86", 16, 32, 1, 3, 1, true},
        {DT_F32, "sm_90a", 65, 64, 2, 3, 5, true}, {DT_BF16, "sm_90a", 65, 32, 2, 3, 4, false}, {DT_BF16, "sm_80", 40, 32, 2, 1, 3, false},
        {DT_F16, "sm_75", 40, 32, 2, 2, 3, false},
    };
    Fixture *f = *state;
    Diags *diags;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *code = column_softmax(f->arena, cases[i].rows, cases[i].columns, cases[i].warps, cases[i].stages, cases[i].kept, cases[i].target);
        LevelCase c = {.code = code, .dtype = cases[i].dtype, .fill = FILL_UNIFORM, .seed = 19, .target = cases[i].target};
        levels_bind(&c, "B", 2);
        LevelReport report = levels_run(f->arena, &c);
        if (report.verdict != LEVELS_AGREE) fail_msg("case %zu, %s: %s\n%s\n%s", i, report.level, report.problem, code, str_text(&report.log));
        assert_int_equal(report.conflicts, 0);

        const TileProgram *program = compiled(f->arena, code, cases[i].target, &diags, cases[i].dtype);
        assert_non_null(program);
        assert_int_equal(count_all(program, TILE_BUFFER) == 1, cases[i].stays);
        if (!cases[i].stays) continue;
        assert_int_equal(program->kernels.data[0]->body->ops.data[0]->results[0]->type.stages, (cases[i].rows + 15) / 16);
        assert_int_equal(count_all(program, TILE_COPY_ASYNC), cases[i].stages); /* each in front of the first loop, and one in it */
        assert_int_equal(count_all(program, TILE_BARRIER), 2);
    }
}

/* There is nothing to keep, or no room. */
static void what_cannot_be_kept_is_copied(void **state)
{
    static const char once[] =
        "Kernel copy\n  Input X (M, N)\n  Output Y (M, N)\n  Grid m = M\n  Allocate X in register (1, 256)\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Copy X as Y (1, 256) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_80\n    warps = 1\n    kept = 4\n  end\nend\n";
    Fixture *f = *state;
    Diags *diags;
    const TileProgram *program = compiled(f->arena, once, "sm_80", &diags, DT_BF16);

    assert_true(program && count_all(program, TILE_COPY_ASYNC) == 0 && program->kernels.data[0]->plain->window.sym);
    assert_null(compiled(f->arena, softmax(f->arena, "", 8192, 1, 8, 16, "sm_90a"), "sm_90a", &diags, DT_BF16));
    assert_int_equal(diags->errors, 1); /* more than there is shared memory */
}

/* Where loops write what they read, or the tensor is read elsewhere, each reads for itself. */
static void what_is_written_is_not_kept(void **state)
{
    static const char both[] =
        "Kernel twice\n  Input X (M, N)\n  Output Y (M, N)\n  Output Z (M, N)\n  Grid m = M\n"
        "  Allocate X in register (1, 256)\n  Allocate Y in register (1, 256)\n  Allocate sum in register (1, 1)\n"
        "  Allocate part in register (1, 1)\n  Compute Fill sum, 0\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Add X, 1 and get Y\n    Copy Y (1, 256) in coordinate [M = m, N = k] from register to global\n"
        "    Compute RowSum X and get part\n    Compute Add sum, part and get new sum\n  end\n"
        "  for k = 0:ceil(N / 256)\n    Copy Y (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Copy X (1, 256) in coordinate [M = m, N = k + 1] from global to register\n"
        "    Compute Multiply Y, sum and get new Y\n    Compute Add Y, X and get new Y\n"
        "    Copy Y as Z (1, 256) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_80\n    warps = 1\n    kept = 4\n  end\nend\n";
    Fixture *f = *state;
    Diags *diags;

    const TileProgram *program = compiled(f->arena, both, "sm_80", &diags, DT_BF16);
    assert_true(program && count_all(program, TILE_COPY_ASYNC) == 0 && count_all(program, TILE_LOAD) == 3);
}

/* What a Define reads beside each other becomes a load only later: no more turns of it are kept than there is room for. */
static void rows_of_a_part_are_kept_as_far_as_they_are_known_to_fit(void **state)
{
    static const char part[] =
        "Kernel part\n  Input X (M, 3, N)\n  Output Y (M, N)\n  BN = 256\n  Grid m = M\n  Allocate X1 in register (1, BN)\n"
        "  Allocate Y in register (1, BN)\n  Allocate sum in register (1, 1)\n  Allocate part in register (1, 1)\n  Compute Fill sum, 0\n"
        "  for k = 0:ceil(N / BN)\n    Compute Define X1 (1, BN) as X[m, 1, k * BN + col(X1)]\n"
        "    Compute RowSum X1 and get part\n    Compute Add sum, part and get new sum\n  end\n"
        "  for k = 0:ceil(N / BN)\n    Compute Define X1 (1, BN) as X[m, 1, k * BN + col(X1)]\n"
        "    Compute Multiply X1, sum and get Y\n"
        "    Copy Y (1, BN) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_80\n    warps = 1\n    kept = 2\n  end\nend\n";
    Fixture *f = *state;

    check_code(f->arena, part, "sm_80", DT_BF16, 3, 512);
    check_code(f->arena, part, "sm_80", DT_BF16, 3, 1040);
}

/* Of two tiles of 64 KB that which has room: the other is loaded in each loop. */
static void what_has_room_is_kept(void **state)
{
    Fixture *f = *state;
    Diags *diags;
    const char *code = softmax(f->arena, ", in_range = min(1, 32768 div max(N, 1))", 4096, 1, 8, 8, "sm_86");
    const TileProgram *program = compiled(f->arena, code, "sm_86", &diags, DT_BF16);

    assert_non_null(program);
    assert_int_equal(count_all(program, TILE_COPY_ASYNC), 1);
    assert_int_equal(count_all(program, TILE_LOAD), 3);
    check_code(f->arena, code, "sm_86", DT_BF16, 1, 4200);
}

/* Without anything kept, too: of few columns a lane. */
static void rows_are_reduced_behind_their_loop(void **state)
{
    static const char *const ops[] = {"RowSum part Add 0", "RowMax part Max -3", "RowMin part Min 3"};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(ops); i++) {
        char reduce[16], part[16], step[16], start[16];
        Diags *diags;

        assert_int_equal(sscanf(ops[i], "%15s %15s %15s %15s", reduce, part, step, start), 4);
        const char *code = arena_printf(
            f->arena,
            "Kernel reduce\n  Input X (M, N)\n  Output R (M)\n  Grid m = ceil(M / 2)\n  Allocate X in register (2, 256)\n"
            "  Allocate R in register (2, 1) fp32\n  Allocate part in register (2, 1) fp32\n  Compute Fill R, %s\n"
            "  for k = 0:ceil(N / 256)\n    Copy X (2, 256) in coordinate [M = m, N = k] from global to register\n"
            "    Compute %s X and get part\n    Compute %s R, part and get new R\n  end\n"
            "  Copy R (2) in coordinate [M = m] from register to global\n  Schedule sm_90a\n    warps = 2\n    warps_n = 2\n  end\nend\n",
            start, reduce, step);
        const TileProgram *program = compiled(f->arena, code, "sm_90a", &diags, DT_F32);
        assert_non_null(program);
        const TileBlock *body = program->kernels.data[0]->body;
        assert_int_equal(count_all(program, TILE_REDUCE), 1);
        for (int k = 0; k < body->ops.len; k++)
            assert_true(body->ops.data[k]->kind != TILE_FOR || tile_count(body->ops.data[k]->regions[0], TILE_REDUCE) == 0);
        check_code(f->arena, code, "sm_90a", DT_F32, 5, 700);
    }
}

static int count_across(const TileBlock *block)
{
    int n = 0;

    for (int i = 0; i < block->ops.len; i++) {
        n += block->ops.data[i]->across;
        for (int r = 0; r < block->ops.data[i]->n_regions; r++)
            n += count_across(block->ops.data[i]->regions[r]);
    }
    return n;
}

/* Both reductions, and a wait until all blocks have begun; one stores what there is one of a row. Where rows may be longer, one block reads those. */
static void blocks_of_a_cluster_share_turns(void **state)
{
    Fixture *f = *state;
    Diags *diags;
    const char *some = shared_softmax(f->arena, ", in_range = min(1, 2048 div max(N, 1))", 256, 1, 1, 2, 4, "sm_90a");
    const TileProgram *bounded = compiled(f->arena, some, "sm_90a", &diags, DT_BF16);

    assert_non_null(bounded);
    assert_int_equal(tile_cluster_blocks(bounded->kernels.data[0]), 4);
    assert_int_equal(count_across(bounded->kernels.data[0]->body), 3);
    assert_int_equal(count_all(bounded, TILE_COPY_ASYNC), 2);
    assert_int_equal(count_all(bounded, TILE_IF), 1);

    const TileProgram *open = compiled(f->arena, shared_softmax(f->arena, "", 256, 1, 1, 2, 4, "sm_90a"), "sm_90a", &diags, DT_BF16);
    assert_non_null(open);
    assert_int_equal(tile_cluster_blocks(open->kernels.data[0]), 4);
    assert_int_equal(count_across(open->kernels.data[0]->body), 3);
    assert_int_equal(count_all(open, TILE_IF), 3);

    const TileProgram *alone = compiled(f->arena, some, "sm_80", &diags, DT_BF16);
    assert_non_null(alone);
    assert_int_equal(tile_cluster_blocks(alone->kernels.data[0]), 1);
    assert_int_equal(count_across(alone->kernels.data[0]->body), 0);
}

/* Turns that need what the one before left, or all store to the same place: each block goes over the row by itself. */
static void what_turns_leave_each_other_is_not_shared(void **state)
{
    static const char head[] =
        "Kernel turns\n  Input X (M, N)\n  Output Y (M, N)\n  Output L (M, N)\n  Grid m = M, in_range = min(1, 1024 div max(N, 1))\n  Allocate X in register (1, 256)\n"
        "  Allocate Y in register (1, 256) fp32\n  Allocate sum in register (1, 1) fp32\n  Allocate part in register (1, 1) fp32\n  Allocate count in register (1, 1) fp32\n  Compute Fill sum, 0\n  Compute Fill count, 0\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute RowSum X and get part\n";
    static const char tail[] =
        "  end\n  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n    Compute Multiply X, sum and get Y\n"
        "    Copy Y (1, 256) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_90a\n    warps = 1\n    kept = 2\n    cluster = 2\n  end\nend\n";
    static const struct {
        const char *turn;
        bool shared;
    } cases[] = {
        {"    Compute Add sum, part and get new sum\n    Copy X as L (1, 256) in coordinate [m, k] from register to global\n", true},
        {"    Compute Add sum, part and get new sum\n    Copy X as L (1, 256) in coordinate [m, k div 2] from register to global\n", false},
        {"    Compute Add sum, part and get new sum\n    Compute Multiply X, count and get X\n    Compute Add count, 1 and get new count\n    Copy X as L (1, 256) in coordinate [m, k] from register to global\n", false},
        {"    Compute Add sum, part and get new sum\n    Compute Multiply sum, 0.5 and get new sum\n    Copy X as L (1, 256) in coordinate [m, k] from register to global\n", false},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Diags *diags;
        const TileProgram *program = compiled(f->arena, arena_printf(f->arena, "%s%s%s", head, cases[i].turn, tail), "sm_90a", &diags, DT_BF16);
        if (!program || (tile_cluster_blocks(program->kernels.data[0]) > 1) != cases[i].shared) fail_msg("%s", cases[i].turn);
    }
}

/* That all blocks have begun says nothing of what the warps of one have done: beside it they still meet. */
static void blocks_that_have_begun_still_meet(void **state)
{
    Fixture *f = *state;
    Diags *diags;
    const char *code = shared_softmax(f->arena, ", in_range = min(1, 2048 div max(N, 1))", 256, 1, 2, 2, 4, "sm_90a");
    TileProgram *program = compiled(f->arena, code, "sm_90a", &diags, DT_BF16);
    TileBlock *body = program->kernels.data[0]->body;
    int across = 0, meets = 0;

    while (body->ops.data[across]->kind != TILE_BARRIER || !body->ops.data[across]->across)
        across++;
    while (body->ops.data[meets]->kind != TILE_BARRIER)
        meets++;
    assert_true(meets < across);
    TileOp *begun = body->ops.data[across];
    tile_remove(body, across);
    tile_insert(program, body, meets + 1, begun);
    assert_true(pass_sync(program, program->kernels.data[0], target_find("sm_90a"), diags));
    assert_int_equal(count_all(program, TILE_BARRIER), 2);
}

/* What turns leave in memory: a sum so far, what another turn reads, or what is stored over. Then one block keeps what it has room for. */
static void what_turns_leave_in_memory_is_not_shared(void **state)
{
    static const char code[] =
        "Kernel turns\n  Input X (M, N)\n  Output Y (M, N)\n  Output Z (M, N)\n  Grid m = M\n  Allocate X in register (1, 256)\n"
        "  Allocate all in register (1, 256) fp32\n  Allocate W in register (1, 256) fp32\n  Allocate V in register (1, 256)\n"
        "  Allocate sum in register (1, 1) fp32\n  Compute Fill all, 0\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Add all, X and get new all\n    Copy %s from register to global\n  end\n  Compute RowSum all and get sum\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Multiply X, sum and get W\n%s    Copy W as Z (1, 256) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_90a\n    warps = 1\n    kept = 2\n    cluster = 2\n  end\nend\n";
    static const struct {
        const char *first, *second;
        bool shared;
    } cases[] = {
        {"X as Y (1, 256) in coordinate [M = m, N = k]", "", true},
        {"all as Y (1, 256) in coordinate [M = m, N = k]", "", false},
        {"X as Y (1, 256) in coordinate [M = m, N = k]",
         "    Copy Y (1, 256) as V in coordinate [M = m, N = ceil(N / 256) - 1 - k] from global to register\n    Compute Add W, V and get new W\n", false},
        {"X as Y (1, 256) in coordinate [M = m, N = k]",
         "    Copy W as Y (1, 256) in coordinate [M = m, N = ceil(N / 256) - 1 - k] from register to global\n", false},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        Diags *diags;
        const char *text = arena_printf(f->arena, code, cases[i].first, cases[i].second);
        const TileProgram *program = compiled(f->arena, text, "sm_90a", &diags, DT_F32);
        if (!program || (tile_cluster_blocks(program->kernels.data[0]) > 1) != cases[i].shared) fail_msg("%s", text);
        assert_int_equal(count_all(program, TILE_COPY_ASYNC), 1);
        check_code(f->arena, text, "sm_90a", DT_F32, 2, 500);
        check_code(f->arena, text, "sm_90a", DT_F32, 2, 1001);
    }
}

/* A mask ends one loop's turns early, where the other's all count: the row is kept for both, of all turns. */
static void rows_that_a_mask_ends_are_kept(void **state)
{
    static const char code[] =
        "Kernel ends\n  Input X (M, N)\n  Output Y (M, N)\n  Grid m = M, in_range = min(1, %d div max(N, 1))\n  Allocate X in register (1, 256)\n"
        "  Allocate S in register (1, 256) fp32\n  Allocate most in register (1, 1) fp32\n  Allocate sum in register (1, 1) fp32\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Mask X where k * 256 + col(X) < 100 * m + 1 and k * 256 + col(X) < N and get S\n    Compute Softmax S with most and sum\n  end\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Mask X where k * 256 + col(X) < 100 * m + 1 and get S\n"
        "    Compute Subtract S, most and get new S\n    Compute Exp S and get new S\n    Compute Divide S, sum and get new S\n"
        "    Copy S as Y (1, 256) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_90a\n    warps = 1\n    kept = 2\n    cluster = %d\n  end\nend\n";
    Fixture *f = *state;

    for (int cluster = 1; cluster <= 2; cluster++) {
        Diags *diags;
        const char *text = arena_printf(f->arena, code, 512 * cluster, cluster);
        const TileProgram *program = compiled(f->arena, text, "sm_90a", &diags, DT_BF16);
        assert_true(program && tile_cluster_blocks(program->kernels.data[0]) == cluster);
        assert_int_equal(count_all(program, TILE_COPY_ASYNC), 1);
        assert_int_equal(count_all(program, TILE_LOAD), 0);
        check_code(f->arena, text, "sm_90a", DT_BF16, 6, 512 * cluster - 20);
    }
}

/* What the grid says of a dimension, wherever a block runs. */
static void the_grid_says_how_long_rows_are(void **state)
{
    static const struct {
        const char *extent, *asked;
        bool known;
    } cases[] = {
        {"min(1, 512 div max(1, N))", "N <= 512", true},
        {"min(1, 512 div max(1, N))", "N <= 511", false},
        {"min(1, 512 div max(1, N)) - min(1, 256 div max(1, N))", "N <= 512", true},
        {"min(1, 512 div max(1, N)) - min(1, 256 div max(1, N))", "N <= 511", false},
        {"1 - min(1, 512 div max(1, N))", "N <= 512", false},
        {"M + 512 div max(1, N)", "N <= 512", false},
        {"M", "N <= 512", false},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        TileProgram *program = parse_tail(
            f->arena,
            arena_printf(f->arena, "program p\ndim M in 0..100\ndim N in 0..2147483647\ntensor Y (M, N) fp32 out\n\n"
                                   "kernel k grid(m: 3, r: %s) warps 1 {\n  if %s {\n  }\n", cases[i].extent, cases[i].asked),
            "", cases[i].extent);
        TileKernel *kernel = program->kernels.data[0];
        bool known = aff_always(program->aff, launched(program, kernel, kernel->body->ops.data[0]->cond));
        if (known != cases[i].known) fail_msg("%s: %s", cases[i].extent, cases[i].asked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kept_rows_agree_at_every_level, setup, teardown),
        cmocka_unit_test_setup_teardown(clusters_agree_at_every_level, setup, teardown),
        cmocka_unit_test_setup_teardown(warps_share_turns_of_few_columns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_row_of_several_warps_is_put_once, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_kept_is_copied_once, setup, teardown),
        cmocka_unit_test_setup_teardown(columns_are_kept_for_loops_behind, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_kept_is_copied, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_written_is_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_of_a_part_are_kept_as_far_as_they_are_known_to_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_room_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_are_reduced_behind_their_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(blocks_of_a_cluster_share_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(blocks_that_have_begun_still_meet, setup, teardown),
        cmocka_unit_test_setup_teardown(what_turns_leave_in_memory_is_not_shared, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_that_a_mask_ends_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(what_turns_leave_each_other_is_not_shared, setup, teardown),
        cmocka_unit_test_setup_teardown(the_grid_says_how_long_rows_are, setup, teardown),
    };

    return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
