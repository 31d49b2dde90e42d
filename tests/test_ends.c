/* test_ends.c: which loops run from the first to the last turn that a mask by data leaves, and what that changes.
 *
 * One loop with different masks, executed before and after the pass on documents of different lengths: the sums must be the
 * same to the last bit, and take less where turns are left out. */
#include "tails.h"

#include "pass/decide.h"
#include "pass/passes.h"

enum { HEADS = 3, ROWS = 100, KEYS = 260, WIDTH = 16 };

static const char HEAD[] =
    "program flow\n"
    "dim q in 0..2147483647\n"
    "dim n in 0..2147483647\n"
    "tensor Q (_ = 3, q, _ = 16) bf16 in\n"
    "tensor K (n, _ = 16) bf16 in\n"
    "tensor Seg (n) int32 in\n"
    "tensor Far (n) int64 in\n"
    "tensor Keep (n, n) int32 in\n"
    "tensor Y (_ = 3, q, _ = 1) fp32 out\n"
    "\n"
    "kernel flow grid(m: ceil(q / 32), h: 3) warps 2 {\n"
    "  %Q = load Q[h, m * 32 : rows, 0 : cols] : shared bf16<32x16>\n"
    "  %L0 = fill 0 : fp32<32x1>\n"
    "  %L = for j = 0:ceil(n / 16) carry (%L1 = %L0) {\n"
    "    %K = load K[j * 16 : rows, 0 : cols] : shared bf16<16x16>\n"
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

static TileProgram *parse(Arena *arena, const struct Case *c)
{
    Str text = str_new(arena);
    if (c->places) str_printf(&text, "    %%M = mask %%S where %s else %d : fp32<32x16>\n", c->places, c->left);
    str_printf(&text, "    %%C = index %s : fp32<32x16>\n    %%T = where %%C, %s, %%%d : fp32<32x16>\n%s", c->data, c->places ? "%M" : "%S", c->left, TAIL);
    return parse_tail(arena, HEAD, str_text(&text), c->what);
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
    if (strcmp(t->name, "Keep") == 0) return (double)((at[0] + at[1]) % 2);
    return t->dtype == DT_BF16 ? rng_normal(rng) : t->dtype == DT_I64 ? 0x1p40 + (double)document : first + (double)document;
}

static Tensor *run(Arena *arena, const TileProgram *program, double first, double *work)
{
    const char *error = NULL;
    Rng rng = {5};
    int64_t dims[] = {ROWS, KEYS}, *values = arena_array(arena, int64_t, aff_sym_count(program->aff) + 1);
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

static void check(Arena *arena, const struct Case *c)
{
    TileProgram *before = parse(arena, c), *after = parse(arena, c);
    Diags *diags = diags_new(arena, after->source);
    Str shown = str_new(arena);
    double all = 0, work = 0;
    assert_true(pass_ends(after, after->kernels.data[0], NULL, diags));
    if (!tile_verify(after, diags)) {
        diags_text(diags, &shown);
        fail_msg("%s: %s", c->what, str_text(&shown));
    }
    if ((after->kernels.len == 2) != c->found) fail_msg("%s: ends are %sfound", c->what, c->found ? "not " : "");
    assert_true(pass_ends(after, after->kernels.data[after->kernels.len - 1], NULL, diags)); /* and not once more */
    assert_int_equal(after->kernels.len, c->found ? 2 : 1);
    Tensor *want = run(arena, before, c->first, &all), *got = run(arena, after, c->first, &work);
    for (int64_t h = 0; h < HEADS; h++)
        for (int64_t row = 0; row < ROWS; row++) {
            double w = tensor_get(want, (int64_t[]){h, row, 0}), g = tensor_get(got, (int64_t[]){h, row, 0});
            if (w != g) fail_msg("%s: Y[%d, %d] is %g, must be %g", c->what, (int)h, (int)row, g, w);
        }
    if ((work < 0.85 * all) != c->less) fail_msg("%s: %g of work, of %g", c->what, work, all);
}

static void loops_run_where_data_leaves_something(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(CASES); i++) check(arena, &CASES[i]);
}

static void it_can_be_asked_for(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    static const struct { int of; SchedValue asked; int kernels; bool obeyed; } ASKED[] = {
        {0, SCHED_ENDS_ALL, 1, true}, {0, SCHED_ENDS_FOUND, 2, true}, {12, SCHED_ENDS_FOUND, 1, false}};
    for (size_t i = 0; i < TW_COUNT(ASKED); i++) {
        TileProgram *program = parse(arena, &CASES[ASKED[i].of]);
        Diags *diags = diags_new(arena, program->source);
        program->kernels.data[0]->schedule.value[SCHED_ENDS] = ASKED[i].asked;
        assert_true(pass_ends(program, program->kernels.data[0], NULL, diags));
        assert_int_equal(program->kernels.len, ASKED[i].kernels);
        assert_int_equal(pass_decided_all(program, diags), ASKED[i].obeyed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(loops_run_where_data_leaves_something, setup, teardown),
                                       cmocka_unit_test_setup_teardown(it_can_be_asked_for, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
