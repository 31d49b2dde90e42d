/* test_near.c: which chains behind a tanh are computed as if all numbers were small, and
 * that they then give the same. */
#include "tails.h"

#include <math.h>

#include "pass/passes.h"
#include "target/target.h"

static const char HEAD[] =
    "program flow\n"
    "dim n in 0..1000\n"
    "tensor X (64, 32) fp32 in\n"
    "tensor Y (64, 32) fp32 out\n"
    "tensor Z (64, 32) bf16 out\n"
    "tensor L (64, 1) fp32 out\n"
    "\n"
    "kernel flow grid(m: 1) warps 4 specialized 1 facts(expanded) {\n"
    "  %X = load X[0 : rows, 0 : cols] : fp32<64x32>\n"
    "  %k = fill 0.25 : fp32<1x1>\n"
    "  %c = fill 30 : fp32<1x1>\n"
    "  %d = fill -3 : fp32<1x1>\n"
    "  %y = multiply %X, %k : fp32<64x32>\n"
    "  %t = tanh %y by polynomial : fp32<64x32>\n";

#define POWER(mask, exponent) mask "%f = fma " exponent ", %c, %d : fp32<64x32>\n%e = exp2 %f : fp32<64x32>\n"
#define OUTPUTS                                                                        \
    "%l = rowsum %e along columns : fp32<64x1>\n%P = reshape %e : bf16<64x32>\n"       \
    "store %P, Z[0 : rows, 0 : cols]\nstore %l, L[0 : rows, 0 : cols]\n"
#define SUMMED_AS_ROUNDED                                                              \
    "%P = reshape %e : bf16<64x32>\n%l = rowsum %P along columns : fp32<64x1>\n"       \
    "store %P, Z[0 : rows, 0 : cols]\nstore %l, L[0 : rows, 0 : cols]\n"
#define MASK(unless) "%m = mask %t where col < n else -inf" unless " : fp32<64x32>\n"

static const struct Tail {
    const char *what, *text;
    bool near;
} TAILS[] = {
    {"exponentiated, summed and rounded", POWER("", "%t") OUTPUTS, true},
    {"masked where tiles are not full", POWER(MASK(" unless n >= 32"), "%m") OUTPUTS, true},
    {"masked everywhere", POWER(MASK(""), "%m") OUTPUTS, false},
    {"summed as rounded", POWER("", "%t") SUMMED_AS_ROUNDED, true},
    {"masked, summed as rounded", POWER(MASK(" unless n >= 32"), "%m") SUMMED_AS_ROUNDED, true},
    {"stored exactly", POWER("", "%t") OUTPUTS "store %e, Y[0 : rows, 0 : cols]\n", false},
    {"stored itself", POWER("", "%t") OUTPUTS "store %t, Y[0 : rows, 0 : cols]\n", false},
    {"its argument used as well", POWER("", "%t") OUTPUTS "store %y, Y[0 : rows, 0 : cols]\n", true},
};

static int count(const TileBlock *block, TileOpKind kind)
{
    int n = 0;
    for (int i = 0; i < block->ops.len; i++) n += block->ops.data[i]->kind == kind;
    return n;
}

/* A mask of what was rounded, behind a revision of it that asks for what the one around it does. */
static const TileOp *find_masked_operand(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i], *inner = op->kind == TILE_REVISE ? op->regions[0]->ops.data[0] : NULL;
        if (!inner || inner->kind != TILE_REVISE) continue;
        const TileOp *mask = op->regions[0]->ops.data[1];
        bool same = inner->args[inner->n_args - 1] == op->args[op->n_args - 1] && inner->number == op->number && !inner->unless;
        if (same && mask->kind == TILE_MASK && mask->args[0] == inner->results[0] && mask->number == 0) return mask;
    }
    return NULL;
}

static bool is_near(Arena *arena, const struct Tail *tail)
{
    TileProgram *program = parse_tail(arena, HEAD, tail->text, tail->what);
    TileKernel *kernel = program->kernels.data[0];
    Str text = str_new(arena);
    assert_true(pass_near(program, kernel, target_find("sm_90a"), diags_new(arena, NULL)));
    tile_print(&text, program);
    Source *source = arena_new_of(arena, Source);
    *source = (Source){"near.tile", str_text(&text), text.len};
    Diags *diags = diags_new(arena, source);
    TileProgram *again = tile_parse(arena, syms_new(arena), aff_ctx_new(arena), source, diags);
    if (!again || !tile_verify(again, diags)) {
        Str shown = str_new(arena);
        diags_text(diags, &shown);
        fail_msg("%s: %s\n%s", tail->what, str_text(&shown), str_text(&text));
    }
    bool unless = strstr(tail->text, "unless") && !strstr(str_text(&text), "unless n >= 32 :");
    if (unless) fail_msg("%s: the mask is lost\n%s", tail->what, str_text(&text));
    bool as_rounded = strstr(tail->text, "unless") && strstr(tail->text, "rowsum %P"), masked = find_masked_operand(kernel->body) != NULL;
    if (masked != as_rounded) fail_msg("%s: %s\n%s", tail->what, masked ? "the operand is masked" : "made again", str_text(&text));
    return count(kernel->body, TILE_REVISE) == 1;
}

static void chains_behind_a_tanh(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(TAILS); i++)
        if (is_near(f->arena, &TAILS[i]) != TAILS[i].near) fail_msg("%s: %s", TAILS[i].what, TAILS[i].near ? "left alone" : "rewritten");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(chains_behind_a_tanh, setup, teardown)};
    return cmocka_run_group_tests_name("near", tests, NULL, NULL);
}
