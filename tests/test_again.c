/* test_again.c: regions that say again what stands ahead of them become a jump back to it,
 * others do not, and either gives what the program says, whatever the data. */
#include "tails.h"

#include <math.h>

#include "chain/emulated.h"
#include "pass/pass.h"
#include "ptx/ptx.h"

enum { ROWS = 32, COLS = 16, ELEMENTS = ROWS * COLS };

static const char HEAD[] = "program again\n"
                           "tensor X (32, 16) fp32 in\n"
                           "tensor Y (32, 16) fp32 out\n"
                           "\n"
                           "kernel again grid(m: 1) warps 2 {\n"
                           "%x = load X[0 : rows, 0 : cols] : fp32<32x16>\n"
                           "%r = rowmin %x along columns : fp32<32x1>\n"
                           "%o = multiply %x, %x : fp32<32x16>\n";

/* The reference rises to the maximum; the sum is told by how much. */
#define RAISE(n, r, o)                                          \
    "%m" n " = rowmax %x along columns : fp32<32x1>\n"          \
    "%q" n " = max %m" n ", " r " : fp32<32x1>\n"               \
    "%s" n " = subtract %q" n ", " r " : fp32<32x1>\n"          \
    "%t" n " = add " o ", %s" n " : fp32<32x16>\n"
#define FIRST                                                                      \
    "%r1, %o1 = revise %r, %o where any %r >= 0.5 : fp32<32x1>, fp32<32x16> {\n"   \
    RAISE("0", "%r", "%o") "yield %q0, %t0\n}\n"
#define MAKE "%c = fill 3 : fp32<1x1>\n%y = subtract %x, %r1 : fp32<32x16>\n%z = multiply %y, %c : fp32<32x16>\n"
#define LATER_OF(raise, number, difference)                                                                \
    "%z1, %r2, %o2 = revise %z, %r1, %o1 where any %z >= 2 : fp32<32x16>, fp32<32x1>, fp32<32x16> {\n"     \
    raise "%d = fill " number " : fp32<1x1>\n%y2 = subtract " difference " : fp32<32x16>\n"                \
    "%z2 = multiply %y2, %d : fp32<32x16>\n"
#define LATER(raise, number) LATER_OF(raise, number, "%x, %q1")
#define SHOWN "%a = add %z1, %o2 : fp32<32x16>\n%b = add %a, %r2 : fp32<32x16>\n"
#define STORED "store %b, Y[0 : rows, 0 : cols]\n"
#define AGAIN RAISE("1", "%r1", "%o1")

static const struct Variant {
    const char *what, *text;
    bool jumps;
} VARIANTS[] = {
    {"the same again", FIRST MAKE LATER(AGAIN, "3") "yield %z2, %q1, %t1\n}\n" SHOWN STORED, true},
    {"by another number", FIRST MAKE LATER(AGAIN, "4") "yield %z2, %q1, %t1\n}\n" SHOWN STORED, false},
    {"from where the first one began", FIRST MAKE LATER(RAISE("1", "%r", "%o1"), "3") "yield %z2, %q1, %t1\n}\n" SHOWN STORED, false},
    {"a value is left as it was", FIRST MAKE LATER(AGAIN, "3") "yield %z2, %q1, %o1\n}\n" SHOWN STORED, false},
    {"what was made first is used behind", FIRST MAKE LATER(AGAIN, "3") "yield %z2, %q1, %t1\n}\n" SHOWN
     "%e = add %b, %y : fp32<32x16>\nstore %e, Y[0 : rows, 0 : cols]\n", false},
    {"so is what the first one gave", FIRST MAKE LATER(AGAIN, "3") "yield %z2, %q1, %t1\n}\n" SHOWN
     "%e = add %b, %r1 : fp32<32x16>\nstore %e, Y[0 : rows, 0 : cols]\n", false},
    {"something else lies between", FIRST MAKE "%g = multiply %o, %c : fp32<32x16>\n" LATER(AGAIN, "3")
     "yield %z2, %q1, %t1\n}\n" SHOWN "%e = add %b, %g : fp32<32x16>\nstore %e, Y[0 : rows, 0 : cols]\n", false},
    {"operands the other way round", FIRST MAKE LATER_OF(AGAIN, "3", "%q1, %x") "yield %z2, %q1, %t1\n}\n" SHOWN STORED, false},
};

static const struct Data {
    const char *what;
    double size, shift, odd; /* odd: one element of the last row */
} DATA[] = {
    {"small", 0.1, 0, 0}, {"low, then too large", 1, 0, 0},    {"all are large", 1, 9, 0},
    {"a NaN", 0.1, 0, NAN}, {"an infinity", 0.1, 0, INFINITY}, {"one element", 0.1, 0, 5},
};

static Tensor *make_input(Arena *arena, const struct Data *d, uint64_t seed)
{
    const char *error = NULL;
    Tensor *x = tensor_new(arena, "X", DT_F32, 2, (int64_t[]){ROWS, COLS}, &error);
    Rng rng = {seed};
    for (int i = 0; i < ELEMENTS; i++) ((float *)x->data)[i] = (float)(d->shift + d->size * rng_normal(&rng));
    if (d->odd != 0) ((float *)x->data)[ELEMENTS - 3] = (float)d->odd;
    return x;
}

static void emulate(Arena *arena, const Abi *abi, const char *ptx, Tensor *x, Tensor *y, uint64_t seed)
{
    Source source = {"again.ptx", ptx, strlen(ptx)};
    EmuModule *module = emu_parse(arena, diags_new(arena, &source), &source);
    assert_non_null(module);
    EmuMemory *memory = emu_memory_new(arena);
    Emulated *emulated = emulated_host(arena, abi, memory);
    char *space = arena_alloc(arena, (size_t)abi->param_bytes);
    const char *error;
    bool fast;
    Tensor *tensors[] = {x, y};
    uint64_t addresses[] = {emu_memory_add(memory, "X", x->data, x->bytes, true, true, 0),
                            emu_memory_add(memory, "Y", y->data, y->bytes, false, false, 0)};
    assert_true(abi_pack(abi, tensors, addresses, NULL, NULL, &emulated->host, space, &fast, &error));
    const AbiEntry *entry = abi_entry(&abi->kernels.data[0], fast);
    EmuLaunch launch = {.grid = {1, 1, 1}, .block = {entry->threads, 1, 1}, .shared_bytes = (size_t)entry->shared_bytes,
                        .params = space, .param_bytes = (size_t)abi->param_bytes, .seed = seed, .max_instructions = 1000000};
    EmuReport report;
    if (!emu_run(arena, module, emu_find_entry(module, entry->name), memory, &launch, &report))
        fail_msg("line %d: %s", report.faults[0].line, report.faults[0].message);
}

static void compare(const char *what, const char *data, const Tensor *got, const Tensor *want)
{
    for (int i = 0; i < ELEMENTS; i++) {
        float g = ((const float *)got->data)[i], w = ((const float *)want->data)[i];
        if (g != w && !(isnan(g) && isnan(w)) && !(fabsf(g - w) <= 1e-5f * (1 + fabsf(w))))
            fail_msg("%s, %s: element %d is %.9g, must be %.9g", what, data, i, g, w);
    }
}

static void check_variant(Arena *arena, const struct Variant *v, const char *target_name)
{
    const Target *target = target_find(target_name);
    const char *error = NULL;
    TileProgram *program = parse_tail(arena, HEAD, v->text, v->what), *passed = tile_clone(arena, program);
    Diags *diags = diags_new(arena, passed->source);
    Str ptx = str_new(arena);
    assert_true(pass_run(passed, target, diags, NULL, NULL));
    Abi *abi = abi_from_tile(arena, passed, target);
    assert_true(ptx_emit(&ptx, passed, abi, target, diags));
    if ((strstr(str_text(&ptx), "bra.uni $again") != NULL) != v->jumps)
        fail_msg("%s, %s: %s", v->what, target_name, v->jumps ? "made twice" : "made once");
    for (size_t i = 0; i < TW_COUNT(DATA); i++) {
        Tensor *x = make_input(arena, &DATA[i], i + 1), *y[2];
        for (int k = 0; k < 2; k++) y[k] = tensor_new(arena, "Y", DT_F32, 2, (int64_t[]){ROWS, COLS}, &error);
        TileRun run = {.tensors = (Tensor *[]){x, y[0]}};
        if (!tile_run(arena, program, &run, &error)) fail_msg("%s", error);
        emulate(arena, abi, str_text(&ptx), x, y[1], i);
        compare(v->what, DATA[i].what, y[1], y[0]);
    }
}

static void regions_that_say_it_again(void **state)
{
    Fixture *f = *state;
    for (size_t i = 0; i < TW_COUNT(VARIANTS); i++) {
        check_variant(f->arena, &VARIANTS[i], "sm_80");
        check_variant(f->arena, &VARIANTS[i], "sm_90a");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(regions_that_say_it_again, setup, teardown)};
    return cmocka_run_group_tests_name("again", tests, NULL, NULL);
}
