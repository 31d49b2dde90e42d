/* test_simplify.c: two products that are added become one sum in the tensor cores'
 * registers where, and only where, each is of no other use. */
#include "tails.h"

#include "pass/passes.h"
#include "target/target.h"

static const char HEAD[] =
    "program flow\n"
    "tensor X (64, 32) bf16 in\n"
    "tensor W (32, 16) bf16 in\n"
    "tensor V (16, 32) bf16 in\n"
    "tensor Y (64, 16) fp32 out\n"
    "tensor Z (64, 16) fp32 out\n"
    "\n"
    "kernel flow grid(m: 1) warps 4 facts(expanded, masked) {\n"
    "  %X = load X[0 : rows, 0 : cols] : shared bf16<64x32>\n"
    "  %W = load W[0 : rows, 0 : cols] : shared bf16<32x16>\n"
    "  %V = load V[0 : rows, 0 : cols] : shared bf16<16x32>\n"
    "  %a = gemm %X, %W : fp32<64x16>\n"
    "  %b = gemm %X, %V.T : fp32<64x16>\n";

#define STORED(value, tensor) "store " value ", " tensor "[0 : rows, 0 : cols]\n"

static const struct Tail {
    const char *what, *text;
    int sums; /* products that are added to what there is */
} TAILS[] = {
    {"added", "%s = add %a, %b : fp32<64x16>\n" STORED("%s", "Y"), 1},
    {"added the other way round", "%s = add %b, %a : fp32<64x16>\n" STORED("%s", "Y"), 1},
    {"three of them", "%c = gemm %X, %W : fp32<64x16>\n%s = add %a, %b : fp32<64x16>\n"
                      "%t = add %s, %c : fp32<64x16>\n" STORED("%t", "Y"), 2},
    {"subtracted", "%s = subtract %a, %b : fp32<64x16>\n" STORED("%s", "Y"), 0},
    {"one stored as well", "%s = add %a, %b : fp32<64x16>\n" STORED("%s", "Y") STORED("%b", "Z"), 0},
    {"the first stored as well", "%s = add %a, %b : fp32<64x16>\n" STORED("%s", "Y") STORED("%a", "Z"), 0},
    {"one doubled", "%s = add %a, %a : fp32<64x16>\n" STORED("%s", "Y") STORED("%b", "Z"), 0},
    {"added to no product", "%c = exp2 %a : fp32<64x16>\n%s = add %c, %b : fp32<64x16>\n" STORED("%s", "Y"), 0},
};

static int count_sums(const TileBlock *block)
{
    int n = 0;
    for (int i = 0; i < block->ops.len; i++) n += block->ops.data[i]->kind == TILE_GEMM && block->ops.data[i]->n_args == 3;
    return n;
}

static void check(Arena *arena, const struct Tail *tail)
{
    TileProgram *program = parse_tail(arena, HEAD, tail->text, tail->what);
    TileKernel *kernel = program->kernels.data[0];
    Diags *diags = diags_new(arena, NULL);
    assert_true(pass_simplify(program, kernel, target_find("sm_80"), diags));
    assert_true(tile_verify(program, diags));
    if (count_sums(kernel->body) != tail->sums)
        fail_msg("%s: %d products are added to another, not %d", tail->what, count_sums(kernel->body), tail->sums);
    for (int i = 0, turned = 0; i < kernel->body->ops.len; i++) {
        turned += kernel->body->ops.data[i]->kind == TILE_GEMM && kernel->body->ops.data[i]->trans_b;
        assert_true(i + 1 < kernel->body->ops.len || turned == 1);
    }
}

static void test_sums_of_products(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(TAILS); i++) check(f->arena, &TAILS[i]);
}

/* Whether no power is left of %s, made by `power` of %a and %c, a number. */
static bool is_simpler(Fixture *f, const char *number, const char *power)
{
    const char *tail = arena_printf(f->arena, "%%c = fill %s : fp32<1x1>\n%%s = power %s : fp32<64x16>\n" STORED("%%s", "Y"), number, power);
    TileProgram *program = parse_tail(f->arena, HEAD, tail, number);
    TileBlock *body = program->kernels.data[0]->body;
    bool simpler = true;
    assert_true(pass_simplify(program, program->kernels.data[0], target_find("sm_80"), diags_new(f->arena, NULL)));
    for (int k = 0; k < body->ops.len; k++) simpler &= body->ops.data[k]->kind != TILE_ELEMENT || body->ops.data[k]->op != OP_POWER;
    return simpler;
}

/* Powers of a number above 0 are powers of 2, and those by a small whole number products; others stay. */
static void test_powers(void **state)
{
    Fixture *f = *state;
    static const struct {
        const char *number;
        bool as_base, as_exponent;
    } numbers[] = {{"2", true, true}, {"0.25", true, false}, {"3", true, true}, {"-2", false, true}, {"0", false, false}, {"8", true, true}, {"9", true, false}};
    for (size_t i = 0; i < TW_COUNT(numbers); i++) {
        const char *number = numbers[i].number;
        if (is_simpler(f, number, "%c, %a") != numbers[i].as_base) fail_msg("powers of %s", number);
        if (is_simpler(f, number, "%a, %c") != numbers[i].as_exponent) fail_msg("powers by %s", number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_sums_of_products, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_powers, setup, teardown)};
    return cmocka_run_group_tests_name("simplify", tests, NULL, NULL);
}
