/* test_window.c: rows that begin anywhere (pass/window.c, ptx/window.c): at every level, and which kernels have a window. */
#include "fixture.h"
#include "levels.h"
#include "tails.h"

/* A layer norm of rows of `length` that are held whole, with a bias vector and the deviation as a second output. */
static const char *whole(Arena *arena, int length, int columns, int warps, const char *target)
{
    return arena_printf(
        arena,
        "Kernel norm\n  Input X (M, N)\n  Input b (N)\n  Output Y (M, N)\n  Output S (M) fp32\n  N = %d\n  Grid m = M\n"
        "  Allocate X in register (1, %d)\n  Allocate b in register (1, %d)\n  Allocate Z in register (1, %d) fp32\n"
        "  Allocate Q in register (1, %d) fp32\n  Allocate s in register (1, 1) fp32\n"
        "  Copy X (1, %d) in coordinate [M = m] from global to register\n"
        "  Compute RowSum X and get s\n  Compute Divide s, N and get new s\n  Compute Subtract X, s and get Z\n"
        "  Compute Square Z and get Q\n  Compute Mask Q where col(Q) < N else 0\n  Compute RowSum Q and get s\n"
        "  Compute Add s, 1 and get new s\n  Compute Sqrt s and get new s\n  Compute Divide Z, s and get new Z\n"
        "  Copy b (%d) from global to register\n  Compute Add Z, b and get new Z\n"
        "  Copy Z as Y (1, %d) in coordinate [M = m] from register to global\n"
        "  Copy s as S (1) in coordinate [M = m] from register to global\n"
        "  Schedule %s\n    warps = %d\n    warps_n = %d\n  end\nend\n",
        length, columns, columns, columns, columns, columns, columns, columns, target, warps, warps);
}

/* Rows in turns: what is furthest from its range's middle, by lines that may be put in. */
static const char *in_turns(Arena *arena, const char *known, const char *turn, int columns, int kept)
{
    const char *vector = kept ? "" : "fp32"; /* as wide as the rows' elements, or twice */
    return arena_printf(
        arena,
        "Kernel spread\n  Input X (M, N)\n  Input W (N) %s\n  Output Y (M, N)\n%s%s"
        "  Grid m = M\n  Allocate X in register (1, %d)\n  Allocate W in register (1, %d) %s\n  Allocate A in register (1, %d) fp32\n"
        "  Allocate B in register (1, %d) fp32\n"
        "  Allocate most in register (1, 1) fp32\n  Allocate least in register (1, 1) fp32\n  Allocate part in register (1, 1) fp32\n"
        "  Compute Fill most, -1e30\n  Compute Fill least, 1e30\n"
        "  for k = 0:ceil(N / %d)\n    Copy X (1, %d) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Add X, 0 and get A\n    Compute Mask A where k * %d + col(A) < N else -1e30\n"
        "    Compute RowMax A and get part\n    Compute Max most, part and get new most\n"
        "    Compute Add X, 0 and get B\n    Compute Mask B where k * %d + col(B) < N else 1e30\n"
        "    Compute RowMin B and get part\n    Compute Min least, part and get new least\n%s  end\n"
        "  for k = 0:ceil(N / %d)\n    Copy X (1, %d) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Subtract X, most and get A\n    Compute Add A, least and get new A\n"
        "    Copy W (%d) in coordinate [N = k] from global to register\n    Compute Multiply A, W and get new A\n"
        "    Copy A as Y (1, %d) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_90a\n    warps = 2\n    warps_n = 2\n    kept = %d\n  end\nend\n",
        vector, strstr(turn, "as G") ? "  Output G (M, parts) fp32\n" : "", known, columns, columns, vector, columns, columns, columns, columns, columns,
        columns, turn, columns, columns, columns, columns, kept);
}

static void check_code(Arena *arena, const char *code, const char *target, DType dtype, int length, int parts)
{
    LevelCase c = {.code = code, .dtype = dtype, .fill = FILL_UNIFORM, .seed = 31 + (uint64_t)length, .target = target};

    levels_bind(&c, "M", 4);
    levels_bind(&c, "N", length);
    if (parts)
        levels_bind(&c, "parts", parts);
    LevelReport report = levels_run(arena, &c);
    if (report.verdict != LEVELS_AGREE)
        fail_msg("%d columns, %s: %s\n%s\n%s", length, report.level, report.problem, code, str_text(&report.log));
}

static bool has_window(Arena *arena, const char *code, const char *target, DType dtype)
{
    Diags *diags;
    const TileProgram *program = compiled(arena, code, target, &diags, dtype);

    assert_non_null(program);
    const TileKernel *plain = program->kernels.data[0]->plain;
    return plain && plain->window.sym;
}

/* Lengths that end with a stretch, within one, and within the first; those for which a tile has no room before the row. */
static void rows_held_whole_agree_at_every_level(void **state)
{
    static const struct {
        const char *target;
        DType dtype;
        int length, columns, warps;
        bool window;
    } cases[] = {
        {"sm_80", DT_BF16, 501, 512, 2, true}, {"sm_90a", DT_BF16, 505, 512, 2, true}, {"sm_90a", DT_BF16, 506, 512, 2, false},
        {"sm_80", DT_F16, 3, 256, 1, true}, {"sm_75", DT_F16, 259, 768, 3, true}, {"sm_89", DT_F32, 253, 256, 1, true},
        {"sm_90a", DT_E4M3, 997, 1024, 2, true}, {"sm_80", DT_BF16, 1, 256, 1, true},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *code = whole(f->arena, cases[i].length, cases[i].columns, cases[i].warps, cases[i].target);

        check_code(f->arena, code, cases[i].target, cases[i].dtype, cases[i].length, 0);
        if (has_window(f->arena, code, cases[i].target, cases[i].dtype) != cases[i].window)
            fail_msg("%d columns of %d: a window where none is, or none", cases[i].length, cases[i].columns);
    }
}

static void rows_in_turns_agree_at_every_level(void **state)
{
    static const DType dtypes[] = {DT_BF16, DT_F16, DT_F32};
    static const int lengths[] = {0, 2, 255, 511, 512, 513, 1021, 1530, 1536};
    Fixture *f = *state;

    for (size_t d = 0; d < TW_COUNT(dtypes); d++)
        for (size_t i = 0; i < TW_COUNT(lengths); i++)
            for (int kept = 0; kept <= 2; kept += 2)
                check_code(f->arena, in_turns(f->arena, "", "", 512, kept), "sm_90a", dtypes[d], lengths[i], 0);
    assert_true(has_window(f->arena, in_turns(f->arena, "", "", 512, 2), "sm_90a", DT_BF16));
    check_code(f->arena, in_turns(f->arena, "  N = 1021\n", "", 512, 0), "sm_90a", DT_BF16, 1021, 0); /* two turns, or three */
    check_code(f->arena, in_turns(f->arena, "  N = 1021\n", "", 512, 3), "sm_90a", DT_BF16, 1021, 0);
}

/* Which columns a turn has makes a difference: what is told of a part of the row, and what depends on turns before it. */
static void parts_of_a_row_are_not_moved(void **state)
{
    static const char *const turns[] = {
        "    Copy part as G (1, 1) in coordinate [M = m, parts = k] from register to global\n",
        "    Compute Multiply most, 0.5 and get new most\n",
        "    Compute Subtract A, part and get new A\n    Compute RowSum A and get part\n    Compute Add least, part and get new least\n",
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(turns); i++) {
        const char *code = in_turns(f->arena, "", turns[i], 512, 0);

        assert_false(has_window(f->arena, code, "sm_90a", DT_BF16));
        check_code(f->arena, code, "sm_90a", DT_BF16, 1021, strstr(code, "parts") ? 2 : 0);
    }
}

/* Elements that are made of their places, by a Define or a condition that may hold behind the row's end: before the row they are others than
 * behind it, so what is reduced has to leave out both. */
static void places_in_a_row_are_moved(void **state)
{
    static const char code[] =
        "Kernel places\n  Input X (M, N)\n  Output Y (M, N)\n%s  Grid m = M\n  Allocate X in register (1, 256)\n  Allocate P in register (1, 256) fp32\n"
        "  Allocate A in register (1, 256) fp32\n  Allocate B in register (1, 256)\n  Allocate most in register (1, 1) fp32\n"
        "  Allocate sum in register (1, 1) fp32\n  Allocate part in register (1, 1) fp32\n  Compute Fill most, -1e30\n  Compute Fill sum, 0\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Define P (1, 256) as (k * 256 + col(P)) %% 5\n    Compute Mask X where k * 256 + col(X) < 200 * m + 100 else -3 and get A\n"
        "    Compute Add A, P and get new A\n    Compute Mask A where k * 256 + col(A) < N else -1e30\n"
        "    Compute RowMax A and get part\n    Compute Max most, part and get new most\n"
        "    Compute Mask X where k * 256 + col(X) == 260 * m else 0 and get B\n    Compute RowSum %s and get part\n    Compute Add sum, part and get new sum\n  end\n"
        "  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute Define P (1, 256) as (k * 256 + col(P)) %% 3\n    Compute Multiply X, P and get A\n    Compute Add A, most and get new A\n"
        "    Compute Add A, sum and get new A\n    Copy A as Y (1, 256) in coordinate [M = m, N = k] from register to global\n  end\n"
        "  Schedule sm_90a\n    warps = 2\n    warps_n = 2\n    kept = 2\n    cluster = %d\n  end\nend\n";
    static const int lengths[] = {1, 255, 256, 509, 512, 777, 1021};
    Fixture *f = *state;

    for (int cluster = 1; cluster <= 2; cluster++)
        for (size_t i = 0; i < TW_COUNT(lengths); i++) {
            const char *text = arena_printf(f->arena, code, "", "B", cluster);
            assert_true(has_window(f->arena, text, "sm_90a", DT_BF16));
            check_code(f->arena, text, "sm_90a", DT_BF16, lengths[i], 0);
        }
    check_code(f->arena, arena_printf(f->arena, code, "  N = 1021\n", "B", 1), "sm_90a", DT_F32, 1021, 0);
    const char *all = arena_printf(f->arena, code, "  N = 1021\n", "P", 1);
    assert_false(has_window(f->arena, all, "sm_90a", DT_BF16));
    check_code(f->arena, all, "sm_90a", DT_BF16, 1021, 0);
}

/* Sums of exponentials, without a mask: right where turns end with the row, with nothing beside it. */
static void rows_without_masks_are_not_moved(void **state)
{
    static const char code[] =
        "Kernel sums\n  Input X (M, N)\n  Output S (M) fp32\n%s  Grid m = M\n  Allocate X in register (1, 256)\n"
        "  Allocate E in register (1, 256) fp32\n  Allocate s in register (1, 1) fp32\n  Allocate part in register (1, 1) fp32\n"
        "  Compute Fill s, 0\n  for k = 0:ceil(N / 256)\n    Copy X (1, 256) in coordinate [M = m, N = k] from global to register\n"
        "    Compute %s X and get E\n    Compute RowSum E and get part\n    Compute Add s, part and get new s\n  end\n"
        "  Copy s as S (1) in coordinate [M = m] from register to global\n  Schedule sm_80\n    warps = 1\n  end\nend\n";
    static const struct {
        const char *known, *of;
        int length;
        bool window;
    } cases[] = {{"", "Exp", 512, false}, {"  N = 512\n", "Exp", 512, false}, {"", "Square", 511, true}, {"  N = 512\n", "Abs", 512, true}};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *text = arena_printf(f->arena, code, cases[i].known, cases[i].of);

        if (has_window(f->arena, text, "sm_80", DT_BF16) != cases[i].window)
            fail_msg("a window where none is, or none: %s", text);
        check_code(f->arena, text, "sm_80", DT_BF16, cases[i].length, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_held_whole_agree_at_every_level, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_in_turns_agree_at_every_level, setup, teardown),
        cmocka_unit_test_setup_teardown(parts_of_a_row_are_not_moved, setup, teardown),
        cmocka_unit_test_setup_teardown(places_in_a_row_are_moved, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_without_masks_are_not_moved, setup, teardown),
    };
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
