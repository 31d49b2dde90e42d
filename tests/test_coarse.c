/* test_coarse.c: a sigmoid may be by polynomial where, and only where, it is rounded to
 * 16 bits before anything else sees it; a number needed behind a loop is fetched before it. */
#include "tails.h"

#include "pass/coarse.h"
#include "pass/fetch.h"

static const char HEAD[] =
    "program flow\n"
    "tensor X (64, 16) fp32 in\n"
    "tensor A (64, 1) fp32 in out\n"
    "tensor I (1, 1) int32 in\n"
    "tensor Y (64, 16) fp32 out\n"
    "tensor Z (64, 16) bf16 out\n"
    "\n";

static const struct Tail {
    const char *what, *text;
    bool coarse;
} TAILS[] = {
    {"rounded", "%b = cast %s : bf16<64x16>\nstore %b, Z[0 : rows, 0 : cols]\n", true},
    {"masked and rounded",
     "%m = mask %s where col <= row else 0 : fp32<64x16>\n%b = cast %m : bf16<64x16>\nstore %b, Z[0 : rows, 0 : cols]\n", true},
    {"stored", "store %s, Y[0 : rows, 0 : cols]\n", false},
    {"rounded, and stored as well",
     "%b = cast %s : bf16<64x16>\nstore %b, Z[0 : rows, 0 : cols]\nstore %s, Y[0 : rows, 0 : cols]\n", false},
    {"subtracted from, then rounded",
     "%d = subtract %X, %s : fp32<64x16>\n%b = cast %d : bf16<64x16>\nstore %b, Z[0 : rows, 0 : cols]\n", false},
};

static const TileOp *find(const TileBlock *block, TileOpKind kind, OpId op)
{
    for (int i = 0; i < block->ops.len; i++)
        if (block->ops.data[i]->kind == kind && (kind != TILE_ELEMENT || block->ops.data[i]->op == op)) return block->ops.data[i];
    return NULL;
}

static bool is_coarse(Arena *arena, const char *kernel, const struct Tail *tail)
{
    const char *head = arena_printf(arena, "%s%s  %%X = load X[0 : rows, 0 : cols] : fp32<64x16>\n  %%s = sigmoid %%X : fp32<64x16>\n",
                                    HEAD, kernel);
    TileProgram *program = parse_tail(arena, head, tail->text, tail->what);
    coarse_open(program, program->kernels.data[0]);
    return find(program->kernels.data[0]->body, TILE_ELEMENT, OP_SIGMOID)->polynomial;
}

static void sigmoids_that_are_rounded(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(TAILS); i++) {
        if (is_coarse(f->arena, "kernel flow grid(m: 1) warps 4 specialized 1 {\n", &TAILS[i]) != TAILS[i].coarse)
            fail_msg("%s: the sigmoid is %s", TAILS[i].what, TAILS[i].coarse ? "left exact" : "coarse");
        assert_false(is_coarse(f->arena, "kernel flow grid(m: 1) warps 4 {\n", &TAILS[i]));
    }
}

#define LOOP                                                             \
    "%z = fill 0 : fp32<64x16>\n"                                        \
    "%o = for j = 0:4 carry (%x = %z) {\n"                               \
    "  %X = load X[0 : rows, 0 : cols] : fp32<64x16>\n"                  \
    "  %y = add %x, %X : fp32<64x16>\n"                                  \
    "  yield %y\n"                                                     \
    "}\n"

static const struct Fetched {
    const char *what, *text;
    int at; /* where the load of A stands then */
} FETCHED[] = {
    {"behind a loop", LOOP "%a = load A[0 : rows, 0 : cols] : fp32<64x1>\n%p = multiply %o, %a : fp32<64x16>\n"
                           "store %p, Y[0 : rows, 0 : cols]\n", 0},
    {"of a coordinate that is read", "%i = load I[0 : rows, 0 : cols] : int32<1x1>\nscalar n = %i\n" LOOP
                                     "%a = load A[n : rows, 0 : cols] : fp32<64x1>\n%p = multiply %o, %a : fp32<64x16>\n"
                                     "store %p, Y[0 : rows, 0 : cols]\n", 2},
    {"of what was stored before", LOOP "store %a0, A[0 : rows, 0 : cols]\n%a = load A[0 : rows, 0 : cols] : fp32<64x1>\n"
                                       "%p = multiply %o, %a : fp32<64x16>\nstore %p, Y[0 : rows, 0 : cols]\n", -1},
    {"of a whole tile", LOOP "%a = load X[0 : rows, 0 : cols] : fp32<64x16>\n%p = multiply %o, %a : fp32<64x16>\n"
                             "store %p, Y[0 : rows, 0 : cols]\n", -1},
};

static int place_of(const TileBlock *block, const char *name)
{
    for (int i = 0; i < block->ops.len; i++)
        if (block->ops.data[i]->n_results && block->ops.data[i]->results[0]->name &&
            strcmp(block->ops.data[i]->results[0]->name, name) == 0) return i;
    return -1;
}

static void numbers_behind_loops(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(FETCHED); i++) {
        const char *stored = strstr(FETCHED[i].text, "%a0") ? "  %a0 = fill 1 : fp32<64x1>\n" : "";
        const char *head = arena_printf(f->arena, "%skernel flow grid(m: 1) warps 4 specialized 1 {\n%s", HEAD, stored);
        TileProgram *program = parse_tail(f->arena, head, FETCHED[i].text, FETCHED[i].what);
        TileKernel *kernel = program->kernels.data[0];
        int before = place_of(kernel->body, "a");
        fetch_early(program, kernel);
        assert_true(tile_verify(program, diags_new(f->arena, NULL)));
        if (place_of(kernel->body, "a") != (FETCHED[i].at < 0 ? before : FETCHED[i].at))
            fail_msg("%s: the load stands at %d", FETCHED[i].what, place_of(kernel->body, "a"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(sigmoids_that_are_rounded, setup, teardown),
                                       cmocka_unit_test_setup_teardown(numbers_behind_loops, setup, teardown)};
    return cmocka_run_group_tests_name("coarse", tests, NULL, NULL);
}
