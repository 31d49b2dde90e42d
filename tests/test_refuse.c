/* test_refuse.c: what each stage behind the checker refuses by itself. The
 * checker says most of it earlier; but a stage may be asked alone, and must not
 * take what it cannot translate. Each program is lowered, scheduled and emitted
 * without being checked, and must give the code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fixture.h"
#include "abi/abi.h"
#include "lang/lang.h"
#include "lower/lower.h"
#include "pass/pass.h"
#include "ptx/ptx.h"

#define TILES                                                                                                    \
    "Input A (M, 64) bf16\nInput B (64, N) bf16\nOutput C (M, N) bf16\nGrid m = ceil(M / 64), n = ceil(N / 64)\n" \
    "Allocate A in shared (64, 64)\nAllocate B in shared (64, 64)\nAllocate C in register (64, 64)\n"
#define COPIES                                                           \
    "Copy A (64, 64) in coordinate [M = m] from global to shared\n"      \
    "Copy B (64, 64) in coordinate [N = n] from global to shared\n"
#define STORE "Copy C (64, 64) in coordinate [M = m, N = n] from register to global\n"
#define KERNEL(body) "Kernel k\n" TILES COPIES body STORE "end\n"

#define DOUBLED(name, by) "Define " name "(X)\nCompute " by " X\nCompute " by " X\nend\n"

static const struct {
    const char *code, *target, *program;
} CASES[] = {
    {"TW0410", "sm_80", KERNEL("Allocate E in register (64, 70000)\nCompute GEMM A, B and get C\n")},
    {"TW0404", "sm_80", "Kernel k\nInput A (M, 64) bf16\nGrid over M\nend\n"},
    {"TW0431", "sm_80", KERNEL("Compute GEMM A, B and get C\nCopy C from register to global and accumulate\n")},
    {"TW0714", "sm_80", KERNEL("Define Twice(X)\nCompute Twice X\nend\nCompute GEMM A, B and get C\nCompute Twice C\n")},
    {"TW0714", "sm_80", KERNEL("Define A(X)\nCompute Exp X\nend\n" DOUBLED("B", "A") DOUBLED("C", "B") DOUBLED("D", "C")
                               DOUBLED("E", "D") DOUBLED("F", "E") DOUBLED("G", "F") DOUBLED("H", "G") DOUBLED("I", "H")
                               DOUBLED("J", "I") DOUBLED("K", "J") DOUBLED("L", "K") DOUBLED("M1", "L")
                               "Compute GEMM A, B and get C\nCompute M1 C\n")},
    {"TW0715", "sm_80", "Operator o\nInput A (M, 64)\nOutput B (M, 64)\nCompute Exp A and get B\nend\n"},
    {"TW0440", "sm_80", KERNEL("")},
    {"TW0440", "sm_80", KERNEL("for i = 0:M\nCompute GEMM A, B and get C\nend\n")},
    {"TW0235", "sm_80", KERNEL("Compute GEMM A, 3 and get C\n")},
    {"TW0718", "sm_80", KERNEL("Compute Add 1, 2\nCompute GEMM A, B and get C\n")},
    {"TW0719", "sm_80", KERNEL("Allocate D in register (32, 64)\nCompute Fill D, 0\nCompute GEMM A, B and get C\n"
                               "Compute Add C, D and get new C\n")},
    {"TW0234", "sm_80", KERNEL("Compute GEMM A and get C\n")},
    {"TW0721", "sm_80", KERNEL("Compute GEMM A, B and get C\nCompute Mask C where row(C) < 3 else C\n")},
    {"TW0233", "sm_80", KERNEL("Compute Frobnicate A, B and get C\n")},
    {"TW0325", "sm_80", KERNEL("Compute GEMM A, B and get C\nCopy C (2, 64, 64) from register to global\n")},
    {"TW0236", "sm_80", KERNEL("Compute GEMM A, B and get C\nAllocate A in register (64, 64)\nCompute Fill A, 0\n"
                               "Copy A (64, 64) from register to global\n")},
    {"TW0404", "sm_80", KERNEL("for j over M\nCompute GEMM A, B and get C\nend\n")},
    {"TW0409", "sm_80", KERNEL("Allocate A in register (64, 64)\nCopy A from shared to register\n"
                               "Compute Multiply A.register, 2 and get A\nCompute Add A, 1 and get C\n")},
    {"TW0772", "sm_80", KERNEL("Allocate D in register (64, 64)\nCompute GEMM A, B and get D\n"
                               "Compute GEMM D, B and get C\n")},
    {"TW0773", "sm_80", KERNEL("Allocate B in register (64, 64)\nCopy B from shared to register\n"
                               "Compute GEMM A, B.register and get C\n")},
    {"TW0777", "sm_89", "Kernel k\nInput A (M, 64) e4m3\nInput B (64, N) e4m3\nInput D (M, 64) bf16\nInput E (64, N) bf16\n"
                        "Output C (M, N) bf16\nGrid m = ceil(M / 64), n = ceil(N / 64)\n"
                        "Allocate A in shared (64, 64)\nAllocate B in shared (64, 64)\nAllocate D in shared (64, 64)\n"
                        "Allocate E in shared (64, 64)\nAllocate C in register (64, 64)\n" COPIES
                        "Copy D (64, 64) in coordinate [M = m] from global to shared\n"
                        "Copy E (64, 64) in coordinate [N = n] from global to shared\n"
                        "Compute GEMM A, B and get C\nCompute GEMM D, E and accumulate C\n" STORE "end\n"},
    {"TW0801", "sm_80", "Kernel k\n" TILES "Copy A (64, 64) in coordinate [M = m + 4294967296] from global to shared\n"
                        "Copy B (64, 64) in coordinate [N = n] from global to shared\n"
                        "Compute GEMM A, B and get C\n" STORE "end\n"},
    {"TW0433", "sm_80", "Kernel k\nInput A (M, 24) bf16\nInput B (24, N) bf16\nOutput C (M, N) bf16\n"
                        "Grid m = ceil(M / 64), n = ceil(N / 64)\nAllocate A in shared (64, 24)\n"
                        "Allocate B in shared (24, 64)\nAllocate C in register (64, 64)\n"
                        "Copy A (64, 24) in coordinate [M = m] from global to shared\n"
                        "Copy B (24, 64) in coordinate [N = n] from global to shared\n"
                        "Compute GEMM A, B and get C\n" STORE "end\n"},
};

typedef struct Built {
    Diags *diags;
    TileProgram *tile;
    Abi *abi;
} Built;

static Built build(Arena *arena, const char *text, const char *target_name)
{
    Source *source = arena_new_of(arena, Source);
    Settings settings = {.dtype = DT_BF16};
    const Target *target = target_find(target_name);
    Syms *syms = syms_new(arena);
    Built b = {.diags = diags_new(arena, source)};
    Str ptx = str_new(arena);
    Program *program;

    *source = (Source){"case.tl", text, strlen(text)};
    program = lang_parse(arena, syms, source, b.diags);
    assert_int_equal(b.diags->errors, 0);
    b.tile = lower(arena, syms, aff_ctx_new(arena), program, &settings, b.diags);
    if (!b.tile || !pass_run(b.tile, target, b.diags, NULL, NULL))
        return b;
    b.abi = abi_from_tile(arena, b.tile, target);
    ptx_emit(&ptx, b.tile, b.abi, target, b.diags);
    return b;
}

static bool says(const Diags *diags, const char *code)
{
    for (int i = 0; i < diags->list.len; i++)
        if (strcmp(diag_info(diags->list.data[i].code)->name, code) == 0)
            return true;
    return false;
}

static void stages_refuse_by_themselves(void **state)
{
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(CASES); i++) {
        Built b = build(f->arena, CASES[i].program, CASES[i].target);

        if (says(b.diags, CASES[i].code) && b.diags->errors)
            continue;
        diags_print(b.diags, stderr, false);
        fail_msg("%s was to be said of\n%s", CASES[i].code, CASES[i].program);
    }
}

/* The emitter is given the launch ABI of another program. */
static void an_abi_of_another_program(void **state)
{
    Fixture *f = *state;
    Built one = build(f->arena, "Kernel a\nInput X (64, 64) bf16\nOutput Y (64, 64) bf16\n"
                                "Allocate X in register (64, 64) bf16\nAllocate Y in register (64, 64)\n"
                                "Copy X (64, 64) from global to register\nCompute Exp X and get Y\n"
                                "Copy Y (64, 64) from register to global\nend\n", "sm_80"),
          two = build(f->arena, KERNEL("Compute GEMM A, B and get C\n"), "sm_80");
    Str ptx = str_new(f->arena);

    assert_int_equal(one.diags->errors + two.diags->errors, 0);
    assert_false(ptx_emit(&ptx, two.tile, one.abi, target_find("sm_80"), two.diags));
    assert_true(says(two.diags, "TW0802"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stages_refuse_by_themselves, setup, teardown),
        cmocka_unit_test_setup_teardown(an_abi_of_another_program, setup, teardown),
    };

    return cmocka_run_group_tests_name("refuse", tests, NULL, NULL);
}
