/* test_ends.c: which loops run from the first to the last turn that a mask by data leaves, or over a list of those turns, and
 * what that changes.
 *
 * One loop with different masks, executed before and after the pass on documents of different lengths: the sums must be the
 * same to the last bit, and take less where turns are left out. */
#include "tails.h"

#include "pass/decide.h"
#include "pass/passes.h"

enum { HEADS = 3, ROWS = 100, KEYS = 260 };

static const char HEAD[] =
    "program flow\n"
    "dim q in 0..2147483647\n"
    "dim n in 0..2147483647\n"
    "tensor Q (_ = 3, q, _ = 256) bf16 in\n"
    "tensor K (n, _ = 256) bf16 in\n"
    "tensor Seg (n) int32 in\n"
    "tensor Far (n) int64 in\n"
    "tensor Keep (n, n) int32 in\n"
    "tensor Small (n, n) int8 in\n"
    "tensor Y (_ = 3, q, _ = 1) fp32 out\n"
    "\n"
    "kernel flow grid(m: ceil(q / 32), h: 3) warps 2 {\n"
    "  %Q = load Q[h, m * 32 : rows, 0 : cols] : shared bf16<32x256>\n"
    "  %L0 = fill 0 : fp32<32x1>\n"
    "  %L = for j = 0:ceil(n / 16) carry (%L1 = %L0) {\n"
    "    %K = load K[j * 16 : rows, 0 : cols] : shared bf16<16x256>\n"
    "    %S = gemm %Q, %K.T : fp32<32x16>\n"
    "    %0 = fill 0 : fp32<1x1>\n"
    "    %1 = fill 1 : fp32<1x1>\n";

static const char TAIL[] =
    "    %R = rowsum %T along columns : fp32<32x1>\n"
    "    %L2 = add %L1, %R : fp32<32x1>\n"
    "    yield %L2\n"
    "  }\n"
    "  store %L, Y[h, m * 32 : rows, 0 : cols]\n";

/* The number that is left, 0 or 1, what keeps an element, and a mask on places before it. */
static const struct Case {
    const char *what, *data;
    const char *places;
    int left;
    bool found, less; /* ends are found, and turns left out */
    double first;     /* document's id; 0: 2^20 */
} CASES[] = {
    {"documents", "Seg[j * 16 + col] == Seg[m * 32 + row]", NULL, 0, true, true, 0},
    {"documents, causal", "Seg[j * 16 + col] == Seg[m * 32 + row]", "j * 16 + col <= m * 32 + row", 0, true, true, 0},
    {"an earlier document", "Seg[j * 16 + col] < Seg[m * 32 + row]", NULL, 0, true, true, 0},
    {"a document, or the first keys", "Seg[j * 16 + col] == Seg[m * 32 + row] or j * 16 + col < 4", NULL, 0, true, true, 0},
    {"not the same document", "Seg[j * 16 + col] != Seg[m * 32 + row]", NULL, 0, true, false, 0},
    {"from a place that a row names", "(Seg[m * 32 + row] - 1048576) * 64 <= j * 16 + col", NULL, 0, true, true, 0},
    {"a window that a row places", "(Seg[m * 32 + row] - 1048576) * 64 <= j * 16 + col and j * 16 + col < (Seg[m * 32 + row] - 1048575) * 64", NULL, 0, true, true, 0},
    {"numbers that fp32 does not tell apart", "Seg[j * 16 + col] == Seg[m * 32 + row]", NULL, 0, true, false, 0x1p30},
    {"the greatest integers", "Seg[j * 16 + col] == Seg[m * 32 + row]", NULL, 0, true, false, 0x1p31 - 4},
    {"the least integers", "Seg[j * 16 + col] == Seg[m * 32 + row]", NULL, 0, true, false, -0x1p31},
    {"documents of large numbers", "Seg[j * 16 + col] * 1000 == Seg[m * 32 + row] * 1000", NULL, 0, true, true, 0},
    {"no row has any", "Seg[j * 16 + col] + 9 == Seg[m * 32 + row]", NULL, 0, true, true, 0},
    {"pairs", "Keep[m * 32 + row, j * 16 + col] == 1", NULL, 0, false, false, 0},
    {"wide integers", "Far[j * 16 + col] == Far[m * 32 + row]", NULL, 0, false, false, 0},
    {"keys that count", "Keep[0, j * 16 + col] == 1", NULL, 0, true, false, 0},
    {"keys alone", "Seg[j * 16 + col] == 1048577", NULL, 0, true, true, 0},
    {"rows alone", "Seg[m * 32 + row] == 1048577", NULL, 0, false, false, 0},
    {"turns that add something", "Seg[j * 16 + col] == Seg[m * 32 + row]", NULL, 1, false, false, 0},
};

/* What leaves 0 of an element, of a mask on places or of the product. */
static TileProgram *parse_choice(Arena *arena, const char *what, const char *places, int left, const char *choice)
{
    Str text = str_new(arena);
    if (places) str_printf(&text, "    %%M = mask %%S where %s else %d : fp32<32x16>\n", places, left);
    str_printf(&text, "%s    %%T = where %%C, %s, %%%d : fp32<32x16>\n%s", choice, places ? "%M" : "%S", left, TAIL);
    return parse_tail(arena, HEAD, str_text(&text), what);
}

static TileProgram *parse(Arena *arena, const struct Case *c)
{
    return parse_choice(arena, c->what, c->places, c->left, arena_printf(arena, "    %%C = index %s : fp32<32x16>\n", c->data));
}

static Tensor *made(Arena *arena, const TileTensor *t, const int64_t *dims)
{
    const char *error = NULL;
    Tensor *made = tensor_new(arena, t->name, t->dtype, t->rank, dims, &error);
    if (!made) fail_msg("%s", error);
    return made;
}

/* Documents of 40 to 120 keys; every other pair. */
static double element(const TileTensor *t, const int64_t *at, double first, Rng *rng)
{
    int64_t document = at[0] < 40 ? 0 : at[0] < 90 ? 1 : at[0] < 140 ? 2 : 3;
    if (strcmp(t->name, "Keep") == 0 || strcmp(t->name, "Small") == 0) return (double)((at[0] + at[1]) % 2);
    return t->dtype == DT_BF16 ? rng_normal(rng) : t->dtype == DT_I64 ? 0x1p40 + (double)document : first + (double)document;
}

static Tensor *run(Arena *arena, const TileProgram *program, double first, int64_t keys, double *work)
{
    const char *error = NULL;
    Rng rng = {5};
    int64_t dims[] = {ROWS, keys}, *values = arena_array(arena, int64_t, aff_sym_count(program->aff) + 1);
    for (int i = 0; i < program->dims.len; i++) values[program->dims.data[i]->id] = dims[i];
    Tensor **tensors = arena_array(arena, Tensor *, program->tensors.len);
    Tensor *y = NULL;
    for (int i = 0; i < program->tensors.len; i++) {
        const TileTensor *t = program->tensors.data[i];
        int64_t sizes[TENSOR_MAX_RANK], at[TENSOR_MAX_RANK] = {0};
        for (int d = 0; d < t->rank; d++) assert_true(aff_eval(t->dims[d], values, &sizes[d]));
        tensors[i] = made(arena, t, sizes);
        if (t->written) tensor_poison(tensors[i]);
        if (strcmp(t->name, "Y") == 0) y = tensors[i];
        for (int64_t k = 0; k < tensor_count(tensors[i]) && !t->written; k++) {
            int64_t rest = k;
            for (int d = t->rank - 1; d >= 0; rest /= sizes[d], d--) at[d] = rest % sizes[d];
            tensor_set(tensors[i], at, element(t, at, first ? first : 0x1p20, &rng));
        }
    }
    TileRun r = {.tensors = tensors, .dims = dims, .work = work};
    if (!tile_run(arena, program, &r, &error)) fail_msg("%s", error);
    return y;
}

static void expect_same(Arena *arena, const char *what, const TileProgram *before, const TileProgram *after, double first, int64_t keys, double *part)
{
    double all = 0, work = 0;
    Tensor *want = run(arena, before, first, keys, &all), *got = run(arena, after, first, keys, &work);
    for (int64_t h = 0; h < HEADS; h++)
        for (int64_t row = 0; row < ROWS; row++) {
            double w = tensor_get(want, (int64_t[]){h, row, 0}), g = tensor_get(got, (int64_t[]){h, row, 0});
            if (w != g) fail_msg("%s: Y[%d, %d] is %g, must be %g", what, (int)h, (int)row, g, w);
        }
    *part = all > 0 ? work / all : 1;
}

static void expect_sound(Arena *arena, const char *what, TileProgram *program, Diags *diags)
{
    Str shown = str_new(arena);
    if (tile_verify(program, diags)) return;
    diags_text(diags, &shown);
    fail_msg("%s: %s", what, str_text(&shown));
}

static void check(Arena *arena, const struct Case *c)
{
    TileProgram *before = parse(arena, c), *after = parse(arena, c);
    Diags *diags = diags_new(arena, after->source);
    double part;
    assert_true(pass_ends(after, after->kernels.data[0], NULL, diags));
    expect_sound(arena, c->what, after, diags);
    if ((after->kernels.len == 2) != c->found) fail_msg("%s: ends are %sfound", c->what, c->found ? "not " : "");
    assert_true(pass_ends(after, after->kernels.data[after->kernels.len - 1], NULL, diags)); /* and not once more */
    assert_int_equal(after->kernels.len, c->found ? 2 : 1);
    expect_same(arena, c->what, before, after, c->first, KEYS, &part);
    if ((part < 0.85) != c->less) fail_msg("%s: %g of the work", c->what, part);
}

static void loops_run_where_data_leaves_something(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(CASES); i++) check(arena, &CASES[i]);
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

/* Masks with holes, and by what a list of turns is found: one kernel ahead, two where tiles have many cells, none. Of how much work is
 * left, an upper bound. */
static const struct Listed {
    const char *what, *choice, *places;
    int ahead;
    double part;
} LISTED[] = {
    {"blocks as large as tiles", "    %C = index Keep[m, j] == 1 : fp32<1x1>\n", NULL, 1, 0.6},
    {"blocks as large as tiles, causal", "    %C = index Keep[m, j] == 1 : fp32<1x1>\n", "j * 16 + col <= m * 32 + row", 1, 0.3},
    {"blocks of several tiles", "    %C = index Keep[m div 2, j div 4] == 1 : fp32<1x1>\n", NULL, 1, 0.6},
    {"two blocks to a tile", "    %C = index Keep[m * 4 + row div 8, j * 2] == 1 : fp32<32x1>\n", NULL, 1, 2},
    {"rows of blocks, with gaps", "    %C = index Keep[m * 4 + row div 16 * 2, j] == 1 : fp32<32x1>\n", NULL, 1, 0.6},
    {"blocks that begin within a tile", "    %C = index Keep[(m * 32 + row + q - 95) div 32, j] == 1 : fp32<32x1>\n", NULL, 1, 2},
    {"every other block, that begins within a tile", "    %C = index Keep[(m * 32 + row + q - 95) div 16 * 2, j] == 1 : fp32<32x1>\n", NULL, 1, 0.6},
    {"blocks that begin at two places", "    %C = index Keep[(m * 32 + row + 5) div 16 * 2, j] == 1 and Keep[(m * 32 + row + 3) div 16 * 2, j] == 1 : fp32<32x1>\n", NULL, 2, 0.6},
    {"many blocks to a tile", "    %C = index Keep[(m * 32 + row) div 3 * 2, (j * 16 + col) div 16] == 1 : fp32<32x16>\n", NULL, 2, 0.6},
    {"elements of each head", "    %C = index Keep[m * 32 + row + h, j * 16 + col] == 1 : fp32<32x16>\n", NULL, 0, 2},
    {"a table or a place", "    %C = index Keep[m, j] == 1 or j == 3 : fp32<1x1>\n", NULL, 1, 0.7},
    {"a table and numbers of columns", "    %C = index Keep[m, j] == 1 and Seg[j * 16 + col] == 1048577 : fp32<1x16>\n", NULL, 2, 0.4},
    {"a table without anything", "    %C = index Keep[m, j] == 7 : fp32<1x1>\n", NULL, 1, 0.2},
    {"a table of all", "    %C = index Keep[m, j] >= 0 : fp32<1x1>\n", NULL, 1, 2},
    {"bytes, as they are", "    %C = gather Small[m, j] : int8<1x1>\n", NULL, 1, 0.6},
    {"bytes that are compared",
     "    %G = gather Small[m, j] : int8<1x1>\n    %D = equal %G, %1 : fp32<1x1>\n    %E = index j != 4 : fp32<1x1>\n    %C = multiply %D, %E : fp32<1x1>\n", NULL, 1, 0.6},
    {"bytes that are not",
     "    %G = gather Small[m, j] : int8<1x1>\n    %D = equal %G, %1 : fp32<1x1>\n    %E = notequal %D, %1 : fp32<1x1>\n    %F = index j == 2 : fp32<1x1>\n    %C = max %E, %F : fp32<1x1>\n", NULL, 1, 0.7},
};

/* Of rows, of which a kernel ahead has whole parts at a time, too few and none. */
static const int64_t LENGTHS[] = {KEYS, 5, 0, 1300};

static TileProgram *listed(Arena *arena, TileProgram *program, const char *what, SchedValue asked, int ahead)
{
    Diags *diags = diags_new(arena, program->source);
    program->kernels.data[0]->schedule.value[SCHED_ENDS] = asked;
    assert_true(pass_ends(program, program->kernels.data[0], NULL, diags));
    expect_sound(arena, what, program, diags);
    if (program->kernels.len != 1 + ahead) fail_msg("%s: %d kernels ahead, must be %d", what, program->kernels.len - 1, ahead);
    assert_true(pass_ends(program, program->kernels.data[program->kernels.len - 1], NULL, diags));
    assert_int_equal(program->kernels.len, 1 + ahead);
    return program;
}

static void loops_go_over_what_a_table_names(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(LISTED); i++) {
        const struct Listed *c = &LISTED[i];
        TileProgram *before = parse_choice(arena, c->what, c->places, 0, c->choice);
        TileProgram *after = listed(arena, parse_choice(arena, c->what, c->places, 0, c->choice), c->what, SCHED_AUTO, c->ahead);
        for (size_t k = 0; k < TW_COUNT(LENGTHS); k++) {
            double part;
            expect_same(arena, c->what, before, after, 0, LENGTHS[k], &part);
            if (k == 0 && part > c->part) fail_msg("%s: %g of the work", c->what, part);
        }
    }
}

/* Of a tile of few blocks the list says whether all count: only where not all do they are looked at. */
static void what_is_kept_as_a_whole_is_not_masked(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const struct { int of; bool chosen, masked; } WHOLE[] = {{0, false, false}, {3, false, true}, {5, false, true}, {8, true, false}};
    for (size_t i = 0; i < TW_COUNT(WHOLE); i++) {
        const struct Listed *c = &LISTED[WHOLE[i].of];
        Str text = str_new(arena);
        tile_print(&text, listed(arena, parse_choice(arena, c->what, NULL, 0, c->choice), c->what, SCHED_AUTO, c->ahead));
        const char *loop = strstr(str_text(&text), "kernel flow ");
        assert_non_null(loop);
        if ((strstr(loop, " = where ") != NULL) != WHOLE[i].chosen) fail_msg("%s: %s", c->what, loop);
        if ((strstr(loop, "unless flow_list[m, j] mod 2") != NULL) != WHOLE[i].masked) fail_msg("%s: %s", c->what, loop);
    }
}

/* Whatever data decides; to look at every element is work as well. */
static void any_data_can_be_listed(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(CASES); i++) {
        const struct Case *c = &CASES[i];
        bool told = !c->left && strcmp(c->what, "rows alone") != 0;
        TileProgram *after = listed(arena, parse(arena, c), c->what, SCHED_ENDS_LISTED, told ? 2 : 0);
        for (size_t k = 0; k < TW_COUNT(LENGTHS); k++) {
            double part;
            expect_same(arena, c->what, parse(arena, c), after, c->first, LENGTHS[k], &part);
            if (k == 0 && c->less && part >= 1) fail_msg("%s: %g of the work", c->what, part);
        }
    }
}

/* The text of a program with a list is read back. */
static void lists_have_a_text(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    TileProgram *program = listed(arena, parse_choice(arena, "text", NULL, 0, LISTED[0].choice), "text", SCHED_AUTO, 1);
    Str text = str_new(arena), again = str_new(arena);
    tile_print(&text, program);
    const char *places = strstr(str_text(&text), " places 0..4194304\n");
    assert_non_null(places);
    const char *open = arena_strndup(arena, str_text(&text), (size_t)text.len - strlen("}\n"));
    tile_print(&again, parse_tail(arena, open, "", "text"));
    assert_string_equal(str_text(&text), str_text(&again));
}

static void it_can_be_asked_for(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const struct { int of; SchedValue asked; int kernels; bool obeyed; } ASKED[] = {
        {0, SCHED_ENDS_ALL, 1, true}, {0, SCHED_ENDS_FOUND, 2, true}, {0, SCHED_ENDS_LISTED, 3, true}, {12, SCHED_ENDS_FOUND, 1, false},
        {12, SCHED_ENDS_LISTED, 3, true}, {17, SCHED_ENDS_LISTED, 1, false}};
    for (size_t i = 0; i < TW_COUNT(ASKED); i++) {
        TileProgram *program = parse(arena, &CASES[ASKED[i].of]);
        Diags *diags = diags_new(arena, program->source);
        program->kernels.data[0]->schedule.value[SCHED_ENDS] = ASKED[i].asked;
        assert_true(pass_ends(program, program->kernels.data[0], NULL, diags));
        assert_int_equal(program->kernels.len, ASKED[i].kernels);
        assert_int_equal(pass_decided_all(program, diags) && diags->errors == 0, ASKED[i].obeyed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(loops_run_where_data_leaves_something, setup, teardown),
                                       cmocka_unit_test_setup_teardown(it_can_be_asked_for, setup, teardown),
                                       cmocka_unit_test_setup_teardown(loops_go_over_what_a_table_names, setup, teardown),
                                       cmocka_unit_test_setup_teardown(what_is_kept_as_a_whole_is_not_masked, setup, teardown),
                                       cmocka_unit_test_setup_teardown(any_data_can_be_listed, setup, teardown),
                                       cmocka_unit_test_setup_teardown(lists_have_a_text, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
