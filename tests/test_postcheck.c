/* test_postcheck.c: values that are revised, at the sequential level. */
#include "tails.h"

#include <math.h>

static const char HEAD[] =
    "program flow\n"
    "tensor X (32, 16) fp32 in\n"
    "tensor Y (32, 16) fp32 out\n"
    "\n"
    "kernel flow grid(m: 1) warps 2 specialized 1 {\n"
    "  %x = load X[0 : rows, 0 : cols] : fp32<32x16>\n";

/* A group of rows in which an element is 2 or more becomes 0; a warp has 16 rows. */
static const char ZEROED[] =
    "%y = revise %x where any %x >= 2 : fp32<32x16> {\n"
    "%z = subtract %x, %x : fp32<32x16>\n"
    "yield %z\n"
    "}\n"
    "store %y, Y[0 : rows, 0 : cols]\n";

static void run_revised(Arena *arena, double large, bool first, bool second)
{
    const char *error = NULL;
    TileProgram *p = parse_tail(arena, HEAD, ZEROED, "revised");
    Tensor *x = tensor_new(arena, "X", DT_F32, 2, (int64_t[]){32, 16}, &error);
    Tensor *y = tensor_new(arena, "Y", DT_F32, 2, (int64_t[]){32, 16}, &error);
    TileRun run = {.tensors = (Tensor *[]){x, y}};
    for (int i = 0; i < 32 * 16; i++) ((float *)x->data)[i] = 1;
    ((float *)x->data)[21 * 16 + 3] = (float)large;
    if (!tile_run(arena, p, &run, &error)) fail_msg("%s", error);
    assert_true(tensor_get(y, (int64_t[]){0, 0}) == !first);
    assert_true(tensor_get(y, (int64_t[]){15, 15}) == !first);
    assert_true(tensor_get(y, (int64_t[]){16, 0}) == !second);
    assert_true(tensor_get(y, (int64_t[]){31, 15}) == !second);
}

static void revised_by_groups(void **state)
{
    Fixture *f = *state;
    run_revised(f->arena, 1.99, false, false);
    run_revised(f->arena, 2, false, true);
    run_revised(f->arena, -3, false, false);
    run_revised(f->arena, INFINITY, false, true);
    run_revised(f->arena, NAN, false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(revised_by_groups, setup, teardown)};
    return cmocka_run_group_tests_name("postcheck", tests, NULL, NULL);
}
