/* test_gauge.c: when may the reference of an online softmax lag, and when may its
 * sum be rounded?
 *
 * The same loop with different tails, which show different things of what it
 * leaves behind: %M the reference, %L the sum, %O an accumulator. */
#include "tails.h"

#include "pass/gauge.h"

static const char HEAD[] =
    "program flow\n"
    "dim n in 0..2147483647\n"
    "tensor Q (64, 16) bf16 in\n"
    "tensor K (n, 16) bf16 in\n"
    "tensor V (n, 16) bf16 in\n"
    "tensor Sink (64, 1) fp32 in\n"
    "tensor O (64, 16) fp32 out\n"
    "tensor Y (64, 1) fp32 out\n"
    "\n"
    "kernel flow grid(m: 1) warps 4 {\n"
    "  %Q = load Q[0 : rows, 0 : cols] : shared bf16<64x16>\n"
    "  %M0 = fill -inf : fp32<64x1>\n"
    "  %L0 = fill 0 : fp32<64x1>\n"
    "  %O0 = fill 0 : fp32<64x16>\n"
    "  %M, %L, %O = for j = 0:ceil(n / 32) carry (%M1 = %M0, %L1 = %L0, %O1 = %O0) {\n"
    "    %K = load K[j * 32 : rows, 0 : cols] : shared bf16<32x16>\n"
    "    %V = load V[j * 32 : rows, 0 : cols] : shared bf16<32x16>\n"
    "    %S = gemm %Q, %K.T : fp32<64x32>\n"
    "    %P, %M2, %L2, %alpha = softmax %S, %M1, %L1 : fp32<64x32>, fp32<64x1>, fp32<64x1>, fp32<64x1>\n"
    "    %R = reshape %P : bf16<64x32>\n"
    "    %A = multiply %O1, %alpha : fp32<64x16>\n"
    "    %O2 = gemm %R, %V, %A : fp32<64x16>\n"
    "    yield %M2, %L2, %O2\n"
    "  }\n"
    "  %sink = load Sink[0 : rows, 0 : cols] : fp32<64x1>\n"
    "  %two = fill 2 : fp32<1x1>\n"
    "  %low = fill -1e30 : fp32<1x1>\n";

/* Before `: type`: what makes a value; the last line stores. */
static const struct Tail {
    const char *what, *text;
    bool reference, rounded_sum;
} TAILS[] = {
    {"a quotient",
     "%x = divide %O, %L else 0 : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n", true, true},
    {"a product with the reciprocal",
     "%r = reciprocal %L : fp32<64x1>\n%x = multiply %O, %r : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n",
     true, true},
    {"an accumulator as it is", "store %O, O[0 : rows, 0 : cols]\n", false, false},
    {"the reference", "store %M, Y[0 : rows, 0 : cols]\n", false, false},
    {"the sum", "store %L, Y[0 : rows, 0 : cols]\n", false, false},
    {"the logarithm of the sum alone",
     "%x = log %L : fp32<64x1>\nstore %x, Y[0 : rows, 0 : cols]\n", false, false},
    {"log-sum-exp", "%y = log %L : fp32<64x1>\n%x = add %y, %M : fp32<64x1>\nstore %x, Y[0 : rows, 0 : cols]\n",
     true, false},
    {"log-sum-exp to base 2",
     "%y = log2 %L : fp32<64x1>\n%e = fill 1.4426950408889634 : fp32<1x1>\n%z = multiply %M, %e : fp32<64x1>\n"
     "%x = add %y, %z : fp32<64x1>\nstore %x, Y[0 : rows, 0 : cols]\n", true, false},
    {"log-sum-exp with the bases mixed",
     "%y = log2 %L : fp32<64x1>\n%x = add %y, %M : fp32<64x1>\nstore %x, Y[0 : rows, 0 : cols]\n", false, false},
    {"log-sum-exp less twice the reference",
     "%y = log %L : fp32<64x1>\n%z = multiply %M, %two : fp32<64x1>\n%x = add %y, %z : fp32<64x1>\n"
     "store %x, Y[0 : rows, 0 : cols]\n", false, false},
    {"a sink under another maximum",
     "%n = max %M, %sink : fp32<64x1>\n%d = subtract %M, %n : fp32<64x1>\n%a = exp %d : fp32<64x1>\n"
     "%l = multiply %L, %a : fp32<64x1>\n%f = subtract %sink, %n : fp32<64x1>\n%g = exp %f : fp32<64x1>\n"
     "%s = add %l, %g : fp32<64x1>\n%o = multiply %O, %a : fp32<64x16>\n%x = divide %o, %s : fp32<64x16>\n"
     "store %x, O[0 : rows, 0 : cols]\n", true, true},
    {"a sink that forgets the maximum",
     "%g = exp %sink : fp32<64x1>\n%s = add %L, %g : fp32<64x1>\n%x = divide %O, %s : fp32<64x16>\n"
     "store %x, O[0 : rows, 0 : cols]\n", false, false},
    {"log-sum-exp with a bounded reference",
     "%n = max %M, %low : fp32<64x1>\n%d = subtract %M, %n : fp32<64x1>\n%a = exp %d : fp32<64x1>\n"
     "%l = multiply %L, %a : fp32<64x1>\n%y = log %l : fp32<64x1>\n%x = add %y, %n : fp32<64x1>\n"
     "store %x, Y[0 : rows, 0 : cols]\n", true, false},
    {"a bounded reference that does not cancel",
     "%n = max %M, %low : fp32<64x1>\n%y = log %L : fp32<64x1>\n%x = add %y, %n : fp32<64x1>\n"
     "store %x, Y[0 : rows, 0 : cols]\n", false, false},
    {"a norm of the accumulator over its own size",
     "%q = square %O : fp32<64x16>\n%s = rowsum %q along columns : fp32<64x1>\n%r = rsqrt %s : fp32<64x1>\n"
     "%x = multiply %O, %r : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n", true, true},
    {"a number added before the division",
     "%y = add %O, %two : fp32<64x16>\n%x = divide %y, %L : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n",
     false, false},
    {"another number where the sum is 0, of what is not divided out",
     "%y = divide %L, %two else 3 : fp32<64x1>\n%x = divide %O, %y else 5 : fp32<64x16>\n"
     "store %x, O[0 : rows, 0 : cols]\n", false, false},
    {"tanh of an accumulator",
     "%x = tanh %O : fp32<64x16>\nstore %x, O[0 : rows, 0 : cols]\n", false, false},
};

static const TileOp *find(const TileBlock *block, TileOpKind kind)
{
    for (int i = 0; i < block->ops.len; i++)
        if (block->ops.data[i]->kind == kind) return block->ops.data[i];
    return NULL;
}

static void check(Arena *arena, const struct Tail *tail)
{
    TileProgram *program = parse_tail(arena, HEAD, tail->text, tail->what);
    const TileKernel *kernel = program->kernels.data[0];
    const TileOp *loop = find(kernel->body, TILE_FOR), *softmax = find(loop->regions[0], TILE_SOFTMAX);
    GaugeFreedom free = gauge_freedom(arena, kernel, loop, softmax);
    if (free.reference != tail->reference || free.rounded_sum != tail->rounded_sum)
        fail_msg("%s: the reference %s lag, the sum %s be rounded", tail->what, free.reference ? "may" : "may not",
                 free.rounded_sum ? "may" : "may not");
}

static void test_tails(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(TAILS); i++) check(f->arena, &TAILS[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_tails, setup, teardown)};
    return cmocka_run_group_tests_name("gauge", tests, NULL, NULL);
}
