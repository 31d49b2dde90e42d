/* test_cuda.c: CUDA that somebody wrote straight from a definition: how it is launched, and how
 * it is judged. tests/cuda/scaled.ptx is what nvcc 13.0 made of scaled.cu (-ptx -arch=sm_80), so
 * that no compiler is needed; mistakes are put into it. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "flow/study.h"
#include "sandbox/sandbox.h"
#include "texts.h"

static Source *read_file(Arena *arena, const char *path)
{
    const char *error;
    Source *source = source_read(arena, path, &error);

    assert_non_null(source);
    return source;
}

/* A compiler that knows one program. */
typedef struct Compiled {
    const char *ptx;
    const char *entry; /* what stood behind the answer */
    Arena *arena;
} Compiled;

static const char *compile(void *user, Arena *arena, const Source *answer, const char *entry, const char *name,
                           const Target *target, Diags *diags)
{
    Compiled *c = user;

    (void)answer, (void)diags;
    assert_string_equal(name, "scaled");
    assert_string_equal(target->name, "sm_80");
    c->entry = arena_strdup(c->arena, entry);
    return c->ptx ? arena_strdup(arena, c->ptx) : NULL;
}

static Flow *flow_of(Arena *arena, const FlowCompiler *compiler)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target_find("sm_80"), DT_BF16);
    FlowOptions options = {.rounds = 1, .seed = 1, .bound = 2, .compiler = compiler};

    assert_true(chain_define(chain, read_file(arena, "tests/cuda/scaled.tl")));
    return flow_new(chain, &options);
}

/* "" when it is right, else the first code. */
static const char *verdict(Arena *arena, const char *answer, const char *ptx, const char **message)
{
    Compiled compiled = {ptx, NULL, arena};
    FlowCompiler compiler = {compile, &compiled};
    Diags *diags = diags_new(arena, NULL);
    Source *text = flow_extract(arena, "think-1.cu", prompt_unit(PROMPT_THINK), answer, strlen(answer), diags);
    bool right = text && flow_judge(flow_of(arena, ptx ? &compiler : NULL), PROMPT_THINK, text, diags);

    assert_int_equal(right, diags->errors == 0);
    if (message)
        *message = right ? "" : diags->list.data[0].message;
    if (right)
        assert_non_null(strstr(compiled.entry, "__global__ void __launch_bounds__(128) scaled(const __nv_bfloat16 *A, "));
    return right ? "" : diag_info(diags->list.data[0].code)->name;
}

static void what_is_right_passes(void **state)
{
    Fixture *f = *state;
    const char *cu = read_file(f->arena, "tests/cuda/scaled.cu")->text, *ptx = read_file(f->arena, "tests/cuda/scaled.ptx")->text;

    assert_string_equal(verdict(f->arena, cu, ptx, NULL), "");
    assert_string_equal(verdict(f->arena, arena_printf(f->arena, "Step by step: ...\n```cpp\n%s```\nIt is fast.\n", cu), ptx, NULL), "");
}

static void what_computes_something_else_is_noticed(void **state)
{
    Fixture *f = *state;
    const char *cu = read_file(f->arena, "tests/cuda/scaled.cu")->text, *ptx = read_file(f->arena, "tests/cuda/scaled.ptx")->text;
    const char *half = replaced(f->arena, ptx, "0f3F000000", "0f3F800000");

    assert_string_equal(verdict(f->arena, cu, half, NULL), "TW1043");
    assert_string_equal(verdict(f->arena, replaced(f->arena, cu, " * M * heads", " * M"), ptx, NULL), "TW1043");
    assert_string_equal(verdict(f->arena, replaced(f->arena, cu, "threads = 128", "threads = 64"), ptx, NULL), "TW1043");
}

static void faults_are_told(void **state)
{
    Fixture *f = *state;
    const char *cu = read_file(f->arena, "tests/cuda/scaled.cu")->text, *ptx = read_file(f->arena, "tests/cuda/scaled.ptx")->text;
    const char *beyond = replaced(f->arena, ptx, "setp.ge.s32 \t%p1, %r1, %r17", "setp.ge.s32 \t%p1, %r1, 100000"), *message;

    assert_string_equal(verdict(f->arena, cu, beyond, &message), "TW1054");
    assert_non_null(strstr(message, " in block "));
    assert_string_equal(verdict(f->arena, cu, replaced(f->arena, ptx, ".entry scaled", ".entry other"), NULL), "TW1044");
    assert_string_equal(verdict(f->arena, cu, replaced(f->arena, ptx, "add.s32", "tcgen05.add"), NULL), "TW1044");
    assert_string_equal(verdict(f->arena, cu, "I am no PTX", NULL), "TW1044");
}

static void a_launch_must_be_said(void **state)
{
    static const char *const wrong[][2] = {
        {"// blocks = ceil(N / 128) * M * heads\n", ""},
        {"ceil(N / 128) * M * heads", ""},
        {"ceil(N / 128) * M * heads", "as many as it takes"},
        {"ceil(N / 128) * M * heads", "ceil(N / 128) * rows"},
        {"ceil(N / 128) * M * heads", "N\nend"},
        {"ceil(N / 128) * M * heads", "N / 0"},
        {"ceil(N / 128) * M * heads", "ceil(N / (M - M))"},
        {"threads = 128", "threads = 1025"},
        {"threads = 128", "threads = 0"},
        {"threads = 128", "threads = -1"},
        {"threads = 128", "threads: 128"},
        {"threads = 128", "threads = 99999999999999999999"},
        {"shared = 0", "shared = all"},
        {"shared = 0", "shared = 500000"},
        {"// shared = 0\n", ""},
    };
    Fixture *f = *state;
    const char *cu = read_file(f->arena, "tests/cuda/scaled.cu")->text, *ptx = read_file(f->arena, "tests/cuda/scaled.ptx")->text;
    Str deep = str_new(f->arena);

    for (size_t i = 0; i < TW_COUNT(wrong); i++) {
        const char *name = verdict(f->arena, replaced(f->arena, cu, wrong[i][0], wrong[i][1]), ptx, NULL);

        if (strcmp(name, "TW1060") != 0 && !(i == 4 && *name))
            fail_msg("'%s': '%s'", wrong[i][1], name);
    }
    for (int i = 0; i < 100000; i++)
        str_add(&deep, "(");
    assert_string_equal(verdict(f->arena, replaced(f->arena, cu, "ceil(N", str_text(&deep)), ptx, NULL), "TW1060");
    assert_string_equal(verdict(f->arena, replaced(f->arena, cu, "* heads\n", "* heads      one a row\n"), ptx, NULL), "");
}

static void without_a_compiler_it_is_said(void **state)
{
    Fixture *f = *state;

    assert_string_equal(verdict(f->arena, read_file(f->arena, "tests/cuda/scaled.cu")->text, NULL, NULL), "TW1053");
}

static void other_answers_hold_no_cuda(void **state)
{
    Fixture *f = *state;

    assert_string_equal(verdict(f->arena, "import torch\n```python\ntorch.matmul(a, b)\n```\n", "", NULL), "TW1041");
    assert_string_equal(verdict(f->arena, "", "", NULL), "TW1041");
    assert_string_equal(verdict(f->arena, "Kernel f\nend\n", "", NULL), "TW1041");
}

/* Whom nothing is believed: between the answer and its PTX stand guard, sandbox and audit. */
static void hostile_answers_are_refused(void **state)
{
    static const char *const plants[][2] = {
        {"", ""},
        {"    int planted_error;\n", "TW1051"},
        {"    int planted_other;\n", "TW1052"},
        {"    int planted_more;\n", "TW1052"},
        {"    int planted_clock;\n", "TW1052"},
        {"    asm(\"trap;\");\n", "TW1050"},
        {"    printf(\"%d\", N);\n", "TW1050"},
        {"#include </etc/passwd>\n", "TW1049"},
        {"#define float double\n", "TW1049"},
        {"    // a word \\\n#pragma comment\n", "TW1049"},
        {"}\n__global__ void scaled() {\n", "TW1050"},
    };
    Fixture *f = *state;
    const char *cu = read_file(f->arena, "tests/cuda/scaled.cu")->text, *error = "", *why;
    ForeignTools tools = {0};
    FlowCompiler compiler = flow_cuda_compiler(&tools);

    setenv("TW_NVCC", "tests/cuda/bin/nvcc", 1);
    assert_true(foreign_find_cuda(f->arena, NULL, &tools, &error));
    unsetenv("TW_NVCC");
    tools.unconfined = sandbox_best(f->arena, &why) == SANDBOX_KINDS;
    for (size_t i = 0; i < TW_COUNT(plants); i++) {
        const char *text = replaced(f->arena, cu, "    float sum", arena_printf(f->arena, "%s    float sum", plants[i][0]));
        Diags *diags = diags_new(f->arena, NULL);
        bool right = flow_judge(flow_of(f->arena, &compiler), PROMPT_VANILLA, source_of(f->arena, "answer.cu", text), diags);
        const char *code = diags->list.len ? diag_info(diags->list.data[0].code)->name : "";

        if (right != !*plants[i][1] || strcmp(code, plants[i][1]) != 0)
            fail_msg("'%s': '%s' %s", plants[i][0], code, diags->list.len ? diags->list.data[0].message : "");
    }
}

/* What is compiled is a program like any other: its PTX says how it is launched. */
static void ptx_carries_its_launch(void **state)
{
    Fixture *f = *state;
    Compiled compiled = {read_file(f->arena, "tests/cuda/scaled.ptx")->text, NULL, f->arena};
    FlowCompiler compiler = {compile, &compiled};
    Flow *flow = flow_of(f->arena, &compiler);
    Chain *chain = chain_like(f->arena, flow->chain, diags_new(f->arena, NULL));
    Source *ptx = flow_cuda_ptx(flow, chain, read_file(f->arena, "tests/cuda/scaled.cu"), chain->diags);
    Abi *abi;

    assert_non_null(ptx);
    abi = abi_from_ptx(f->arena, chain->syms, chain->aff, ptx, chain->diags);
    assert_non_null(abi);
    assert_int_equal(abi->kernels.data[0].fast.threads, 128);
    assert_int_equal(abi->param_bytes, 3 * 8 + 6 * 8 + 5 * 4);
    assert_int_equal(abi->dtype, DT_BF16);
}

static void modes_have_stages(void **state)
{
    PromptStage stages[STUDY_STAGES];
    StudyMode mode;

    (void)state;
    assert_true(study_mode_find("chain-of-thought", &mode));
    assert_int_equal(study_mode_stages(mode, stages), 1);
    assert_true(stages[0] == PROMPT_THINK && !study_mode_is_tl(mode));
    assert_true(study_mode_find("vanilla", &mode) && !study_mode_is_tl(mode));
    assert_true(study_mode_find("two-stage", &mode) && study_mode_is_tl(mode));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_right_passes, setup, teardown),
        cmocka_unit_test_setup_teardown(what_computes_something_else_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(faults_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_launch_must_be_said, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_compiler_it_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(other_answers_hold_no_cuda, setup, teardown),
        cmocka_unit_test_setup_teardown(hostile_answers_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(ptx_carries_its_launch, setup, teardown),
        cmocka_unit_test_setup_teardown(modes_have_stages, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
