/* test_pack.c: operands are rounded before a product that stands between, and not
 * where nothing is gained or something else reads what they are made of. */
#include "tails.h"

#include "pass/passes.h"

static const char HEAD[] =
    "program flow\n"
    "tensor Q (64, 16) bf16 in\n"
    "tensor K (32, 16) bf16 in\n"
    "tensor V (32, 16) bf16 in\n"
    "tensor O (64, 16) fp32 out\n"
    "tensor P (64, 32) fp32 out\n"
    "tensor L (64, 1) fp32 out\n"
    "\n"
    "kernel flow grid(m: 1) warps 4 {\n"
    "  %Q = load Q[0 : rows, 0 : cols] : shared bf16<64x16>\n"
    "  %K = load K[0 : rows, 0 : cols] : shared bf16<32x16>\n"
    "  %V = load V[0 : rows, 0 : cols] : shared bf16<32x16>\n"
    "  %S = gemm %Q, %K.T : fp32<64x32>\n"
    "  %p = exp %S : fp32<64x32>\n";

#define NEXT "%T = gemm %Q, %K.T : fp32<64x32>\n%t = exp %T : fp32<64x32>\n"
#define LAST "%r = reshape %p : bf16<64x32>\n%o = gemm %r, %V : fp32<64x16>\nstore %o, O[0 : rows, 0 : cols]\n"
#define SUM "%l = rowsum %p along columns : fp32<64x1>\nstore %l, L[0 : rows, 0 : cols]\n"

static const struct Tail {
    const char *what, *text;
    bool early; /* the Reshape stands before the product that makes T */
} TAILS[] = {
    {"a product between", NEXT LAST "store %t, P[0 : rows, 0 : cols]\n", true},
    {"a product between, rows summed", NEXT SUM LAST "store %t, P[0 : rows, 0 : cols]\n", true},
    {"a product between, shown", NEXT LAST "store %p, P[0 : rows, 0 : cols]\n", false},
    {"a product between, computed with",
     NEXT LAST "%u = add %t, %p : fp32<64x32>\nstore %u, P[0 : rows, 0 : cols]\n", false},
    {"no product between", LAST NEXT "store %t, P[0 : rows, 0 : cols]\n", true},
};

static int place(const TileBlock *block, TileOpKind kind, int from)
{
    for (int i = from; i < block->ops.len; i++)
        if (block->ops.data[i]->kind == kind) return i;
    return -1;
}

static void test_tails(void **state)
{
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(TAILS); i++) {
        TileProgram *program = parse_tail(f->arena, HEAD, TAILS[i].text, TAILS[i].what);
        TileBlock *body = program->kernels.data[0]->body;

        assert_true(pass_pack(program, program->kernels.data[0], NULL, NULL));
        int first = place(body, TILE_GEMM, 0), second = place(body, TILE_GEMM, first + 1), at = place(body, TILE_RESHAPE, 0);
        if ((at < second) != TAILS[i].early)
            fail_msg("%s: rounded %s", TAILS[i].what, at < second ? "early" : "late");
        int sum = place(body, TILE_REDUCE, 0);
        if (sum >= 0 && sum > at) fail_msg("%s: rows are summed of what is gone", TAILS[i].what);
        assert_true(body->ops.data[at]->args[0]->def == body->ops.data[place(body, TILE_ELEMENT, 0)]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_tails, setup, teardown)};
    return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
