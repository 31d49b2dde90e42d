/* test_absolute.c: tanh is taken apart where, and only where, all that is made of
 * it is exponentiated, and no output shows that its small numbers are less precise. */
#include "tails.h"

#include "pass/absolute.h"
#include "pass/rewrite.h"

static const char HEAD[] =
    "program flow\n"
    "tensor X (64, 16) fp32 in\n"
    "tensor Y (64, 16) fp32 out\n"
    "tensor Z (64, 16) bf16 out\n"
    "\n"
    "kernel flow grid(m: 1) warps 4 {\n"
    "  %X = load X[0 : rows, 0 : cols] : fp32<64x16>\n"
    "  %t = tanh %X : fp32<64x16>\n"
    "  %c = fill 50 : fp32<1x1>\n"
    "  %v = rowmax %X along columns : fp32<64x1>\n";

static const struct Tail {
    const char *what, *text;
    bool opened;
} TAILS[] = {
    {"stored", "store %t, Y[0 : rows, 0 : cols]\n", false},
    {"exponentiated", "%e = exp %t : fp32<64x16>\nstore %e, Y[0 : rows, 0 : cols]\n", true},
    {"scaled, shifted, masked and exponentiated",
     "%a = multiply %c, %t : fp32<64x16>\n%b = subtract %a, %v : fp32<64x16>\n"
     "%d = mask %b where col <= row else -inf : fp32<64x16>\n%e = exp2 %d : fp32<64x16>\n"
     "%r = cast %e : bf16<64x16>\nstore %r, Z[0 : rows, 0 : cols]\n", true},
    {"scaled, exponentiated and stored in full",
     "%a = multiply %c, %t : fp32<64x16>\n%e = exp2 %a : fp32<64x16>\nstore %e, Y[0 : rows, 0 : cols]\n", false},
    {"scaled, exponentiated, rounded and stored in full",
     "%a = multiply %c, %t : fp32<64x16>\n%e = exp2 %a : fp32<64x16>\n%r = cast %e : bf16<64x16>\n"
     "%f = cast %r : fp32<64x16>\nstore %f, Y[0 : rows, 0 : cols]\n", true},
    {"scaled, exponentiated, summed by a loop and stored in full",
     "%z = fill 0 : fp32<64x16>\n"
     "%o = for j = 0:3 carry (%o1 = %z) {\n"
     "%a = multiply %c, %t : fp32<64x16>\n%e = exp2 %a : fp32<64x16>\n%o2 = add %o1, %e : fp32<64x16>\nyield %o2\n}\n"
     "store %o, Y[0 : rows, 0 : cols]\n", false},
    {"exponentiated, and stored as well",
     "%e = exp %t : fp32<64x16>\n%s = multiply %e, %t : fp32<64x16>\nstore %s, Y[0 : rows, 0 : cols]\n", false},
    {"multiplied by what is not a number",
     "%a = multiply %t, %v : fp32<64x16>\n%e = exp %a : fp32<64x16>\nstore %e, Y[0 : rows, 0 : cols]\n", false},
    {"a divisor",
     "%a = divide %c, %t : fp32<64x16>\n%e = exp %a : fp32<64x16>\nstore %e, Y[0 : rows, 0 : cols]\n", false},
};

static int count(const TileBlock *block, OpId op)
{
    int n = 0;
    for (int i = 0; i < block->ops.len; i++) n += block->ops.data[i]->kind == TILE_ELEMENT && block->ops.data[i]->op == op;
    return n;
}

static void check(Arena *arena, const struct Tail *tail)
{
    TileProgram *program = parse_tail(arena, HEAD, tail->text, tail->what);
    TileBlock *body = program->kernels.data[0]->body;
    absolute_open(program, program->kernels.data[0]);
    rw_remove_dead(body);
    if (count(body, OP_TANH) != !tail->opened || count(body, OP_RECIPROCAL) != tail->opened)
        fail_msg("%s: tanh is %s", tail->what, tail->opened ? "left as it was" : "taken apart");
}

static void test_tails(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(TAILS); i++) check(f->arena, &TAILS[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_tails, setup, teardown)};
    return cmocka_run_group_tests_name("absolute", tests, NULL, NULL);
}
