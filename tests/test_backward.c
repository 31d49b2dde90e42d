/* test_backward.c: which loops of an online softmax take their last tile first, and that it makes no difference. */
#include "tails.h"

#include "data/tensor.h"
#include "pass/decide.h"
#include "pass/passes.h"

#include <math.h>

enum { ROWS = 64, KEYS = 101, WIDTH = 16 };

static const char HEAD[] =
    "program flow\n"
    "dim n in 0..2147483647\n"
    "tensor Q (64, 16) bf16 in\n"
    "tensor K (n, 16) bf16 in\n"
    "tensor Slope (64, 1) fp32 in\n"
    "tensor O (64, 16) fp32 out\n"
    "\n"
    "kernel flow grid(m: 1) warps 4 {\n"
    "  %Q = load Q[0 : rows, 0 : cols] : shared bf16<64x16>\n"
    "  %v = load Slope[0 : rows, 0 : cols] : fp32<64x1>\n"
    "  %two = fill -2 : fp32<1x1>\n"
    "  %M0 = fill -inf : fp32<64x1>\n"
    "  %L0 = fill 0 : fp32<64x1>\n"
    "  %O0 = fill 0 : fp32<64x16>\n"
    "  %M, %L, %O = for j = 0:ceil(n / 32) carry (%M1 = %M0, %L1 = %L0, %O1 = %O0) {\n"
    "    %K = load K[j * 32 : rows, 0 : cols] : shared bf16<32x16>\n"
    "    %S = gemm %Q, %K.T : fp32<64x32>\n"
    "    %i = index row - (j * 32 + col) : fp32<64x32>\n";

static const char SOFTMAX[] =
    "    %X = mask %x where j * 32 + col <= row + 37 and j * 32 + col < n else -inf : fp32<64x32>\n"
    "    %P, %M2, %L2, %alpha = softmax %X, %M1, %L1 : fp32<64x32>, fp32<64x1>, fp32<64x1>, fp32<64x1>\n"
    "    %R = reshape %P : bf16<64x32>\n"
    "    %A = multiply %O1, %alpha : fp32<64x16>\n";

static const char ACCUMULATE[] = "    %O2 = gemm %R, %K, %A : fp32<64x16>\n";

static const char TAIL[] =
    "    yield %M2, %L2, %O2\n"
    "  }\n"
    "  %y = divide %O, %L else 0 : fp32<64x16>\n"
    "  store %y, O[0 : rows, 0 : cols]\n";

static const struct Case {
    const char *what, *scores, *accumulate; /* NULL: as usual */
    SchedValue asked;
    bool back, refused;
} CASES[] = {
    {"a slope for each step back", "%b = multiply %v, %i : fp32<64x32>\n%x = subtract %S, %b : fp32<64x32>\n", .back = true},
    {"asked to go forward", "%b = multiply %v, %i : fp32<64x32>\n%x = subtract %S, %b : fp32<64x32>\n", .asked = SCHED_DIRECTION_FORWARD},
    {"a negative number times", "%b = multiply %i, %two : fp32<64x32>\n%x = add %S, %b : fp32<64x32>\n", .back = true},
    {"over a number", "%b = divide %i, %two : fp32<64x32>\n%c = negate %b : fp32<64x32>\n%x = subtract %S, %c : fp32<64x32>\n", .back = true},
    {"at most something level", "%b = multiply %v, %i : fp32<64x32>\n%c = subtract %S, %b : fp32<64x32>\n%x = min %c, %two : fp32<64x32>\n", .back = true},
    {"scores that fall", "%b = multiply %v, %i : fp32<64x32>\n%x = add %S, %b : fp32<64x32>\n", .back = false},
    {"of which it is not known", "%b = multiply %i, %i : fp32<64x32>\n%x = subtract %S, %b : fp32<64x32>\n", .back = false},
    {"that rise and fall", "%b = subtract %S, %i : fp32<64x32>\n%x = add %b, %i : fp32<64x32>\n", .back = false},
    {"nothing that depends on places", "%x = multiply %S, %v : fp32<64x32>\n", .back = false},
    {"likewise, but asked", "%x = multiply %S, %v : fp32<64x32>\n", .asked = SCHED_DIRECTION_BACKWARD, .back = true},
    {"turns that come in order", "%x = subtract %S, %i : fp32<64x32>\n", "%B = gemm %R, %K, %A : fp32<64x16>\n%O2 = multiply %B, %two : fp32<64x16>\n", .back = false},
    {"in order, but asked", "%x = subtract %S, %i : fp32<64x32>\n", "%B = gemm %R, %K, %A : fp32<64x16>\n%O2 = multiply %B, %two : fp32<64x16>\n",
     .asked = SCHED_DIRECTION_BACKWARD, .refused = true},
};

static TileProgram *parse(Arena *arena, const struct Case *c)
{
    Str text = str_new(arena);
    str_printf(&text, "%s%s%s%s", c->scores, SOFTMAX, c->accumulate ? c->accumulate : ACCUMULATE, TAIL);
    TileProgram *program = parse_tail(arena, HEAD, str_text(&text), c->what);
    program->kernels.data[0]->schedule.value[SCHED_DIRECTION] = c->asked;
    return program;
}

static bool is_backward(const TileProgram *program)
{
    const TileKernel *kernel = program->kernels.data[0];
    for (int i = 0; i < kernel->body->ops.len; i++) {
        const TileOp *loop = kernel->body->ops.data[i], *load = loop->kind == TILE_FOR ? loop->regions[0]->ops.data[0] : NULL;
        const Aff *coef, *rest;
        int64_t by = 0;
        if (!load) continue;
        assert_true(aff_linear(program->aff, load->coords[0], loop->var, &coef, &rest) && aff_is_const(coef, &by));
        return by < 0;
    }
    return false;
}

static Tensor *filled(Arena *arena, const char *name, int64_t rows, int64_t cols, DType dtype, Rng *rng)
{
    const char *error = NULL;
    Tensor *t = tensor_new(arena, name, dtype, 2, (int64_t[]){rows, cols}, &error);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) tensor_set(t, (int64_t[]){i, j}, rng_normal(rng));
    return t;
}

static Tensor *run(Arena *arena, const TileProgram *program)
{
    Rng rng = {7};
    const char *error = NULL;
    Tensor *q = filled(arena, "Q", ROWS, WIDTH, DT_BF16, &rng), *k = filled(arena, "K", KEYS, WIDTH, DT_BF16, &rng);
    Tensor *slope = filled(arena, "Slope", ROWS, 1, DT_F32, &rng), *o = filled(arena, "O", ROWS, WIDTH, DT_F32, &rng);
    tensor_poison(o);
    TileRun r = {.tensors = (Tensor *[]){q, k, slope, o}, .dims = (int64_t[]){KEYS}};
    if (!tile_run(arena, program, &r, &error)) fail_msg("%s", error);
    return o;
}

static void loops_take_the_last_tile_first(void **state)
{
    Arena *arena = ((Fixture *)*state)->arena;
    for (size_t i = 0; i < TW_COUNT(CASES); i++) {
        const struct Case *c = &CASES[i];
        TileProgram *before = parse(arena, c), *after = parse(arena, c);
        Diags *diags = diags_new(arena, after->source);
        assert_true(pass_backward(after, after->kernels.data[0], NULL, diags));
        assert_true(tile_verify(after, diags));
        if (is_backward(after) != c->back) fail_msg("%s: %s", c->what, c->back ? "forward" : "backward");
        if (pass_decided_all(after, diags) == c->refused) fail_msg("%s: %s", c->what, c->refused ? "obeyed" : "refused");
        Tensor *want = run(arena, before), *got = run(arena, after);
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t col = 0; col < WIDTH; col++) {
                double w = tensor_get(want, (int64_t[]){row, col}), g = tensor_get(got, (int64_t[]){row, col});
                if (!(fabs(g - w) <= 1e-2 * (1 + fabs(w)))) fail_msg("%s: O[%d, %d] is %g, must be %g", c->what, (int)row, (int)col, g, w);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(loops_take_the_last_tile_first, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
