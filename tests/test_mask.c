/* test_mask.c: which tiles escape a mask, as a whole or in part; what a mask decides about indices.
 *
 * One loop with different masks: tiles of 64 rows and 32 columns, of which those
 * at j * 32 + col are kept as the mask says. */
#include "tails.h"

#include "pass/passes.h"

static const char HEAD[] =
    "program flow\n"
    "dim n in 0..2147483647\n"
    "tensor Q (n, 16) bf16 in\n"
    "tensor K (n, 16) bf16 in\n"
    "tensor Y (n, 1) fp32 out\n"
    "\n"
    "kernel flow grid(m: ceil(n / 64)) warps 4 {\n"
    "  %Q = load Q[m * 64 : rows, 0 : cols] : shared bf16<64x16>\n"
    "  %L0 = fill 0 : fp32<64x1>\n"
    "  %L = for j = 0:ceil(n / 32) carry (%L1 = %L0) {\n"
    "    %K = load K[j * 32 : rows, 0 : cols] : shared bf16<32x16>\n"
    "    %S = gemm %Q, %K.T : fp32<64x32>\n";

static const char TAIL[] =
    "    %R = rowsum %T along columns : fp32<64x1>\n"
    "    %L2 = add %L1, %R : fp32<64x1>\n"
    "    yield %L2\n"
    "  }\n"
    "  store %L, Y[m * 64 : rows, 0 : cols]\n";

/* What keeps an element, and what of it the pass leaves: masks of the loop, and how
 * many of them have tiles that escape. */
static const struct Case {
    const char *what, *cond;
    int masks, escaped;
} CASES[] = {
    {"causal", "j * 32 + col <= m * 64 + row", 1, 1},
    {"causal, to the end", "j * 32 + col <= m * 64 + row and j * 32 + col < n", 1, 1},
    {"a window wider than a tile", "j * 32 + col <= m * 64 + row and m * 64 + row - (j * 32 + col) < 200", 1, 1},
    {"a window narrower than a tile",
     "j * 32 + col <= m * 64 + row and m * 64 + row - (j * 32 + col) < 30 and j * 32 + col < n", 3, 3},
    {"columns that no tile is all of", "col < 20 and j * 32 + col < n", 2, 1},
    {"columns, and no more", "col < 20", 1, 0},
    {"either of two", "col < 20 or row < 5", 1, 0},
    {"nothing", "j >= 0", 0, 0},
};

static void check(Arena *arena, const struct Case *c)
{
    const char *text = arena_printf(arena, "    %%T = mask %%S where %s else 0 : fp32<64x32>\n%s", c->cond, TAIL);
    TileProgram *program = parse_tail(arena, HEAD, text, c->what);
    TileKernel *kernel = program->kernels.data[0];
    int masks = 0, escaped = 0;
    assert_true(pass_mask(program, kernel, NULL, NULL));
    assert_true(tile_verify(program, diags_new(arena, program->source)));
    for (int i = 0; i < kernel->body->ops.len; i++) {
        const TileOp *loop = kernel->body->ops.data[i];
        for (int k = 0; loop->kind == TILE_FOR && k < loop->regions[0]->ops.len; k++) {
            const TileOp *op = loop->regions[0]->ops.data[k];
            masks += op->kind == TILE_MASK;
            escaped += op->kind == TILE_MASK && op->unless;
        }
    }
    if (masks != c->masks || escaped != c->escaped)
        fail_msg("%s: %d masks, %d with tiles that escape", c->what, masks, escaped);
}

static void tiles_escape_masks(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(CASES); i++) check(f->arena, &CASES[i]);
}

/* What an index becomes where a mask keeps one side, and what is made of it before. */
static const struct Index {
    const char *index, *between, *cond, *becomes;
} INDICES[] = {
    {"max(row - col, col - row)", "%U = add %S, %D : fp32<64x32>\n", "col <= row", "row - col"},
    {"max(row - col, col - row)", "%U = add %S, %D : fp32<64x32>\n", "row <= col and col < n", "col - row"},
    {"min(row, col)", "%E = exp2 %D : fp32<64x32>\n%U = multiply %S, %E : fp32<64x32>\n", "col < n and col < row", "col"},
    {"max(row - col, 3)", "%U = add %S, %D : fp32<64x32>\n", "col + 5 <= row", "row - col"},
    {"max(row - col, 3)", "%U = add %S, %D : fp32<64x32>\n", "col + 2 <= row", "max(3, row - col)"},
    {"max(row - col, col - row)", "%U = add %S, %D : fp32<64x32>\n", "col <= row or col < n", "max(col - row, row - col)"},
    {"max(row - col, col - row)", "%R0 = rowsum %D along columns : fp32<64x1>\n%U = add %S, %R0 : fp32<64x32>\n", "col <= row",
     "max(col - row, row - col)"},
};

static void masks_decide_indices(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(INDICES); i++) {
        const struct Index *x = &INDICES[i];
        const char *text = arena_printf(arena, "    %%D = index %s : fp32<64x32>\n%s    %%T = mask %%U where %s else -inf : fp32<64x32>\n%s",
                                        x->index, x->between, x->cond, TAIL);
        TileProgram *program = parse_tail(arena, HEAD, text, x->index);
        Str shown = str_new(arena);
        assert_true(pass_mask(program, program->kernels.data[0], NULL, NULL));
        assert_true(tile_verify(program, diags_new(arena, program->source)));
        tile_print(&shown, program);
        if (!strstr(str_text(&shown), arena_printf(arena, "index %s :", x->becomes))) fail_msg("not %s:\n%s", x->becomes, str_text(&shown));
    }
}

/* What a turn adds whose elements are all masked, and whether the loop leaves such turns out. */
#define BOTH "    %E = exp2 %T : fp32<64x32>\n    %F = exp2 %V : fp32<64x32>\n    %P = add %E, %F : fp32<64x32>\n"
static const struct Turn {
    const char *added;
    bool left_out;
} TURNS[] = {
    {"    %P = exp2 %T : fp32<64x32>\n", true},
    {"    %E = exp2 %T : fp32<64x32>\n    %P = divide %E, %Z else 0 : fp32<64x32>\n", true},
    {"    %E = exp2 %T : fp32<64x32>\n    %P = divide %E, %Z else 1 : fp32<64x32>\n", false},
    {"    %E = exp2 %T : fp32<64x32>\n    %P = divide %E, %Z : fp32<64x32>\n", false},
    {"    %E = exp2 %T : fp32<64x32>\n    %P = divide %Z, %E else 0 : fp32<64x32>\n", false},
    {"    %V = mask %S where j * 32 + col <= m * 64 + row else -inf : fp32<64x32>\n" BOTH, true},
    {"    %V = mask %S where j * 32 + col <= m * 64 + row and m * 64 + row - (j * 32 + col) < 70 else -inf : fp32<64x32>\n" BOTH, true},
    {"    %V = mask %S where j * 32 + col <= m * 64 + row + 40 else -inf : fp32<64x32>\n" BOTH, true},
    {"    %C = index j * 32 + col <= m * 64 + row : fp32<64x32>\n    %0 = fill 0 : fp32<1x1>\n    %I = fill -inf : fp32<1x1>\n"
     "    %B = where %C, %0, %I : fp32<64x32>\n    %V = add %S, %B : fp32<64x32>\n" BOTH, true}, /* a mask that is added */
    {"    %C = index j * 32 + col <= m * 64 + row : fp32<64x32>\n    %F = exp2 %S : fp32<64x32>\n    %P = multiply %C, %F : fp32<64x32>\n", true}, /* or is a factor */
    {"    %C = index m * 64 + row < j * 32 + col : fp32<64x32>\n    %0 = fill 0 : fp32<1x1>\n    %2 = fill 2 : fp32<1x1>\n"
     "    %B = where %C, %0, %2 : fp32<64x32>\n    %F = exp2 %S : fp32<64x32>\n    %P = multiply %F, %B : fp32<64x32>\n", true},
    {"    %C = index j * 32 + col <= m * 64 + row : fp32<64x32>\n    %P = add %C, %S : fp32<64x32>\n", false},
    {"    %C = index m * 64 + row < j * 32 + col : fp32<64x32>\n    %I = fill -inf : fp32<1x1>\n"
     "    %V = where %C, %I, %S : fp32<64x32>\n" BOTH, true}, /* or chosen by */
    {"    %C = index j * 32 + col <= m * 64 + row : fp32<64x32>\n    %I = fill 5 : fp32<1x1>\n    %V = where %C, %S, %I : fp32<64x32>\n" BOTH, false},
    {"    %V = mask %S where max(m * 64 + row - j * 32 - col, j * 32 + col - m * 64 - row) <= 99 else -inf : fp32<64x32>\n" BOTH, true},
    {"    %V = mask %S where j * 32 + col < 4 or (j * 32 + col <= m * 64 + row and m * 64 + row - j * 32 - col < 50) else -inf : fp32<64x32>\n" BOTH, true},
    {"    %V = mask %S where j * 32 + col < 4 or m * 64 + row - j * 32 - col < 50 else -inf : fp32<64x32>\n" BOTH, false},
    {"    %V = mask %S where (j * 32 + col) div 48 <= (m * 64 + row) div 48 else -inf : fp32<64x32>\n    %P = exp2 %V : fp32<64x32>\n", true},
    {"    %V = mask %S where (m * 64 + row) div 48 - (j * 32 + col) div 48 <= 2 else -inf : fp32<64x32>\n    %P = exp2 %V : fp32<64x32>\n", true},
    {"    %V = mask %S where max(j, 1) + max(j, 2) + max(j, 3) + max(j, 4) + max(j, 5) + max(j, 6) + max(col, 7) <= m else -inf : fp32<64x32>\n"
     "    %P = exp2 %V : fp32<64x32>\n", false}, /* so many that looking at each with each would take long */
    {"    %V = mask %S where m * 64 + row <= j * 32 + col else -inf : fp32<64x32>\n" BOTH, false},
};

static void dead_turns_go(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(TURNS); i++) {
        const char *text = arena_printf(arena, "    %%Z = rowsum %%S along columns : fp32<64x1>\n    %%T = mask %%S where j * 32 + col <= m * 64 + row else -inf : fp32<64x32>\n"
                                        "%s    %%R = rowsum %%P along columns : fp32<64x1>\n    %%L2 = add %%L1, %%R : fp32<64x1>\n    yield %%L2\n  }\n"
                                        "  store %%L, Y[m * 64 : rows, 0 : cols]\n", TURNS[i].added);
        TileProgram *program = parse_tail(arena, HEAD, text, TURNS[i].added);
        Str shown = str_new(arena);
        assert_true(pass_mask(program, program->kernels.data[0], NULL, NULL));
        tile_print(&shown, program);
        if (TURNS[i].left_out == (strstr(str_text(&shown), "for j = 0:ceil(n / 32)") != NULL)) fail_msg("%s%s", TURNS[i].added, str_text(&shown));
    }
}

/* Of the first columns and of those near the row the loop takes no turn between. */
static void gaps_are_passed_over(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const struct {
        const char *cond, *turns;
    } cases[] = {
        {"j * 32 + col <= m * 64 + row and (j * 32 + col < 4 or m * 64 + row - j * 32 - col < 50)",
         "for j = 0:min(m * 2 + 2, ceil(n / 32)) - max(0, min(m * 2 - 2, ceil(n / 32)) - 1) in"},
        {"j * 32 + col <= m * 64 + row and (j * 32 + col < n - 100 or m * 64 + row - j * 32 - col < 50)", /* n may be less */
         "for j = 0:min(m * 2 + 2, ceil(n / 32)) - max(0, min(m * 2 - 2, ceil(n / 32)) - max(0, "},
        {"j * 32 + col <= m * 64 + row and (j * 32 + col < 4 or row < 5)", "for j = 0:min(m * 2 + 2, ceil(n / 32)) carry"},
        {"j * 32 + col <= 20 and (j * 32 + col < 4 or m * 64 + row - j * 32 - col < 50)", "for j = 0:min(1, ceil(n / 32)) in"},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const char *text = arena_printf(arena, "    %%T = mask %%S where %s else 0 : fp32<64x32>\n%s", cases[i].cond, TAIL);
        TileProgram *program = parse_tail(arena, HEAD, text, cases[i].cond);
        Str shown = str_new(arena);
        assert_true(pass_mask(program, program->kernels.data[0], NULL, NULL));
        assert_true(tile_verify(program, diags_new(arena, program->source)));
        tile_print(&shown, program);
        if (!strstr(str_text(&shown), cases[i].turns)) fail_msg("not %s:\n%s", cases[i].turns, str_text(&shown));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(tiles_escape_masks, setup, teardown),
                                       cmocka_unit_test_setup_teardown(masks_decide_indices, setup, teardown),
                                       cmocka_unit_test_setup_teardown(dead_turns_go, setup, teardown),
                                       cmocka_unit_test_setup_teardown(gaps_are_passed_over, setup, teardown)};
    return cmocka_run_group_tests_name("mask", tests, NULL, NULL);
}
