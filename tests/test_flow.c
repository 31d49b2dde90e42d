/* test_flow.c: what is taken from answers, and how it is judged. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flow/flow.h"
#include "texts.h"

/* ---- what is taken from an answer ------------------------------------------------------- */

static const char *taken(Arena *arena, const char *unit, const char *answer)
{
    Diags *diags = diags_new(arena, NULL);
    Source *source = flow_extract(arena, "answer", unit, answer, strlen(answer), diags);

    assert_int_equal(source == NULL, diags->errors == 1);
    if (!source)
        return diag_info(diags->list.data[0].code)->name;
    assert_int_equal(strlen(source->text), source->len);
    return source->text;
}

static void programs_are_found(void **state)
{
    static const char *const cases[][2] = {
        {"Kernel f\nend\n", "Kernel f\nend\n"},
        {"Kernel f\nend", "Kernel f\nend"},
        {"Sure!\n\nKernel f\nend\n\nHope it helps.", "Kernel f\nend\n"},
        {"Kernel f is what I write:\nKernel f\nend f # done\n", "Kernel f\nend f # done\n"},
        {"```\nKernel f\nend\n```\n", "Kernel f\nend\n"},
        {"Here:\n```tl\nKernel f\nend\n```\nDone.", "Kernel f\nend\n"},
        {"~~~~ text\nkernel f\n~~~\nend\n~~~~\n", "kernel f\n~~~\nend\n"},
        {"```\r\nKernel f\r\nend\r\n```\r\n", "Kernel f\r\nend\r\n"},
        {"  ```tl\n  Kernel f\n  end\n  ```\n", "  Kernel f\n  end\n"},
        /* drafts, what was given, fragments: the last block with such a unit */
        {"```\nKernel draft\nend\n```\nBetter:\n```\nKernel f\nend\n```\n", "Kernel f\nend\n"},
        {"```\nKernel f\nend\n```\nIt replaces:\n```\nOperator g\nend\n```\nand\n```\nx = 1\n```\n", "Kernel f\nend\n"},
        {"```python\nprint(1)\n```\nKernel f\nend\n```sh\nrm -rf /\n```\n", "Kernel f\nend\n"},
        /* cut in the middle */
        {"```tl\nKernel f\n  BM = 6", "Kernel f\n  BM = 6"},
        {"```tl\nKernel draft\nend\n```\n```tl\nKernel f\n  BM =", "Kernel f\n  BM ="},
        {"```tl\nKernel f\nend\n```\nand then\n```tl\nLet x", "Kernel f\nend\n"},
        /* several kernels */
        {"A\nKernel f\nend\n\nKernel g\nend\nB\n", "Kernel f\nend\n\nKernel g\nend\n"},
        {"\xef\xbb\xbfKernel f\nend\n", "Kernel f\nend\n"},
        {"```\nKernel f # \xc3\xa9\nend\n```", "Kernel f # \xc3\xa9\nend\n"},
        /* nothing */
        {"", "TW1041"},
        {"\n\n \t", "TW1041"},
        {"```\n```", "TW1041"},
        {"I cannot do that.", "TW1041"},
        {"Operator f\nend\n", "TW1041"},
        {"Kernel\nend\n", "TW1041"},
        {"Kernel f g h\nend\n", "TW1041"},
        {"Kernels f\nend\n", "TW1041"},
        /* no text */
        {"Kernel f\n\x01\nend\n", "TW1042"},
        {"Kernel f\n\x1b[2J\nend\n", "TW1042"},
        {"```\nKernel f\n\xff\xfe\nend\n```", "TW1042"},
        {"\x01\x02 noise\n```\nKernel f\nend\n```", "Kernel f\nend\n"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(cases); i++)
        assert_string_equal(taken(f->arena, "Kernel", cases[i][0]), cases[i][1]);
    assert_string_equal(taken(f->arena, "Operator", "Kernel f\nend\n```\nOperator g\nend\n```"), "Operator g\nend\n");
}

static void zeros_are_no_text(void **state)
{
    static const char text[] = "Kernel f\n\0x\nend\n";
    Fixture *f = *state;
    Diags *diags = diags_new(f->arena, NULL);

    assert_null(flow_extract(f->arena, "answer", "Kernel", text, sizeof text - 1, diags));
    assert_int_equal(diags->list.data[0].code, TW1042);
}

/* A megabyte of anything takes no time to speak of, and the same text gives the same. */
static void a_megabyte_is_read(void **state)
{
    static const char *const lines[] = {"```\n", "Kernel f\n", "end\n", "~~~\n", "x = 1\n", "````tl\n", "\xff\x80\n", "`", "prose "};
    Fixture *f = *state;
    Rng rng = {7};

    for (int n = 0; n < 6; n++) {
        Str text = str_new(f->arena);
        Diags *diags = diags_new(f->arena, NULL), *again = diags_new(f->arena, NULL);
        Source *a, *b;

        while (text.len < 1 << 20)
            str_add(&text, n == 0 ? "Kernel f\n" : lines[rng_below(&rng, (int)TW_COUNT(lines))]);
        a = flow_extract(f->arena, "answer", "Kernel", text.data, text.len, diags);
        b = flow_extract(f->arena, "answer", "Kernel", text.data, text.len, again);
        assert_int_equal(a == NULL, b == NULL);
        if (a)
            assert_true(a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
    }
}

/* ---- how it is judged -------------------------------------------------------------------- */

static const char scaled[] = "Operator scaled\n"
                             "  Input  A (heads, M, K)\n"
                             "  Input  B (groups, K, N)\n"
                             "  Output C (heads, M, N)\n"
                             "  Compute GEMM A, B and get C\n"
                             "  Compute Multiply C, 0.5 and get new C\n"
                             "end\n";

static const char sketch[] = "Kernel scaled\n"
                             "  Input  A (heads, M, K) bf16\n"
                             "  Input  B (groups, K, N) bf16\n"
                             "  Output C (heads, M, N) bf16\n"
                             "  Grid over M, N, heads\n"
                             "  for k over K\n"
                             "    Copy A from global to shared\n"
                             "    Copy B from global to shared\n"
                             "    Compute GEMM A, B and accumulate C\n"
                             "  end\n"
                             "  Compute Multiply C, 0.5 and get new C\n"
                             "  Copy C from register to global\n"
                             "end\n";

static const char code[] = "Kernel scaled\n"
                           "  Input  A (heads, M, K) bf16\n"
                           "  Input  B (groups, K, N) bf16\n"
                           "  Output C (heads, M, N) bf16\n"
                           "  BM = 64\n"
                           "  BN = 64\n"
                           "  BK = 32\n"
                           "  Grid m = ceil(M / BM), n = ceil(N / BN), h = heads\n"
                           "  Allocate A in shared (BM, BK) bf16\n"
                           "  Allocate B in shared (BK, BN) bf16\n"
                           "  Allocate C in register (BM, BN) fp32\n"
                           "  for k = 0:ceil(K / BK)\n"
                           "    Copy A (BM, BK) in coordinate [heads = h, M = m, K = k] from global to shared\n"
                           "    Copy B (BK, BN) in coordinate [groups = h div (heads div groups), K = k, N = n] from global to shared\n"
                           "    Compute GEMM A, B and accumulate C\n"
                           "  end\n"
                           "  Compute Multiply C, 0.5 and get new C\n"
                           "  Copy C (BM, BN) in coordinate [heads = h, M = m, N = n] from register to global\n"
                           "  Schedule sm_80\n"
                           "    warps = 4\n"
                           "    stages = 2\n"
                           "  end\n"
                           "end\n";

static Flow *flow_of(Arena *arena)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, NULL), target_find("sm_80"), DT_BF16);
    FlowOptions options = {.rounds = 3, .seed = 1, .bound = 2};

    assert_true(chain_define(chain, source_of(arena, "scaled.tl", scaled)));
    return flow_new(chain, &options);
}

/* "" when the text is right, else the first code. */
static const char *verdict(Arena *arena, PromptStage stage, const char *text)
{
    Diags *diags = diags_new(arena, NULL);
    Str printed = str_new(arena);
    bool right = flow_judge(flow_of(arena), stage, source_of(arena, "answer.tl", text), diags);

    assert_int_equal(right, diags->errors == 0);
    diags_text(diags, &printed); /* whatever the judgement read is gone by now */
    for (int i = 0; i < diags->list.len; i++)
        if (diag_info(diags->list.data[i].code)->severity == SEV_ERROR)
            return diag_info(diags->list.data[i].code)->name;
    return "";
}

static void right_ones_pass(void **state)
{
    Fixture *f = *state;

    assert_string_equal(verdict(f->arena, PROMPT_DEFINE, scaled), "");
    assert_string_equal(verdict(f->arena, PROMPT_SKETCH, sketch), "");
    assert_string_equal(verdict(f->arena, PROMPT_REASON, code), "");
    assert_string_equal(verdict(f->arena, PROMPT_CODE, code), "");
}

/* Well-formed all of them, and something else. */
static void what_means_something_else_is_noticed(void **state)
{
    static const char *const changes[][2] = {
        {"Multiply C, 0.5", "Multiply C, 0.25"},
        {"h div (heads div groups)", "h % groups"},
        {"h div (heads div groups)", "min(h, groups - 1)"},
        {"heads = h, M = m, N = n] from register", "heads = heads - 1 - h, M = m, N = n] from register"},
        {"0:ceil(K / BK)", "0:K div BK"},
        {"and accumulate C", "and get C"},
        {"  end\n  Compute Multiply C, 0.5 and get new C\n", "    Compute Multiply C, 0.5 and get new C\n  end\n"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(changes); i++) {
        const char *wrong = replaced(f->arena, code, changes[i][0], changes[i][1]), *name = verdict(f->arena, PROMPT_REASON, wrong);

        if (strcmp(name, "TW1043") != 0 && strncmp(name, "TW0", 3) != 0)
            fail_msg("%s: '%s'", changes[i][1], name);
    }
    assert_string_equal(verdict(f->arena, PROMPT_SKETCH, replaced(f->arena, sketch, "0.5", "2")), "TW1043");
}

static void where_it_differs_is_told(void **state)
{
    Fixture *f = *state;
    Diags *diags = diags_new(f->arena, NULL);
    const char *wrong = replaced(f->arena, code, "  Compute Multiply C, 0.5 and get new C\n",
                                 "  if m > 0\n    Compute Multiply C, 0.25 and get new C\n  else\n    Compute Multiply C, 0.5 and get new C\n  end\n");

    assert_false(flow_judge(flow_of(f->arena), PROMPT_REASON, source_of(f->arena, "answer.tl", wrong), diags));
    assert_int_equal(diags->list.data[0].code, TW1043);
    assert_non_null(strstr(diags->list.data[0].message, "C[0, 64, "));
    assert_non_null(strstr(diags->list.data[0].note, "heads 0 to 1 (all), M 64 to 199, N 0 to 199 (all)"));
}

static void other_stages_and_tensors_are_refused(void **state)
{
    Fixture *f = *state;

    assert_string_equal(verdict(f->arena, PROMPT_SKETCH, code), "TW1046");
    assert_string_equal(verdict(f->arena, PROMPT_REASON, sketch), "TW1046");
    assert_string_equal(verdict(f->arena, PROMPT_REASON, replaced(f->arena, code, "  Output C (heads, M, N)", "  Output C (heads, M, N, 1)")) ,
                        "TW0521");
    assert_string_equal(verdict(f->arena, PROMPT_DEFINE, replaced(f->arena, scaled, "0.5", "log(-1)")), "TW1044");
}

/* ---- rounds ---------------------------------------------------------------------------------- */

typedef struct Script {
    const char *const *answers;
    int asked;
    const char *last_prompt;
} Script;

static bool play(void *user, Arena *arena, const ModelMessage *messages, int n, ModelAnswer *answer, Diags *diags)
{
    Script *script = user;

    (void)diags;
    assert_int_equal(n, 1);
    assert_int_equal(messages[0].role, MODEL_USER);
    script->last_prompt = arena_strdup(arena, messages[0].text);
    answer->text = script->answers[script->asked++];
    assert_non_null(answer->text);
    return true;
}

static const char *new_folder(Arena *arena)
{
    char *folder = arena_strdup(arena, "/tmp/tw-flow-XXXXXX");

    assert_non_null(mkdtemp(folder));
    return folder;
}

static void remove_folder(Arena *arena, const char *folder)
{
    assert_int_equal(system(arena_printf(arena, "rm -rf '%s'", folder)), 0);
}

static Flow *flow_with(Arena *arena, Script *script, const char *folder)
{
    Flow *flow = flow_of(arena);

    flow->options.by[PROMPT_SKETCH] = model_of(arena, "script", NULL, play, script);
    flow->options.folder = folder;
    return flow;
}

static void diagnostics_go_back(void **state)
{
    Fixture *f = *state;
    const char *answers[] = {"no", replaced(f->arena, sketch, "Grid over M, N, heads", "Grid over M, N, haeds"), sketch, NULL};
    Script script = {.answers = answers};
    Flow *flow = flow_with(f->arena, &script, NULL);

    assert_true(flow_stage(flow, PROMPT_SKETCH, scaled, NULL));
    assert_int_equal(script.asked, 3);
    assert_int_equal(flow->steps.len, 3);
    assert_non_null(strstr(script.last_prompt, "sketch-2.tl:5:"));
    assert_non_null(strstr(script.last_prompt, "haeds"));
    assert_non_null(strstr(flow->chain->sketch->text, "Grid over M, N, heads"));
    assert_true(flow_stage(flow, PROMPT_REASON, flow->chain->sketch->text, NULL)); /* built in */
    assert_true(chain_lower(flow->chain, flow->chain->code));
}

static void rounds_are_bounded(void **state)
{
    Fixture *f = *state;
    const char *answers[] = {"no", "no", "no", NULL};
    Script script = {.answers = answers};
    Flow *flow = flow_with(f->arena, &script, NULL);

    assert_false(flow_stage(flow, PROMPT_SKETCH, scaled, NULL));
    assert_int_equal(script.asked, 3);
    assert_non_null(flow->failure);
    assert_int_equal(flow->chain->diags->list.data[0].code, TW1041);
}

static void nothing_is_asked_twice(void **state)
{
    Fixture *f = *state;
    const char *answers[] = {replaced(f->arena, sketch, "0.5", "2"), sketch, NULL}, *folder = new_folder(f->arena);
    Script first = {.answers = answers}, again = {.answers = answers + 2}, other = {.answers = answers};
    Flow *flow = flow_with(f->arena, &first, folder);
    Model *replay;

    assert_true(flow_begin(flow, "{}") && flow_stage(flow, PROMPT_SKETCH, scaled, NULL));
    assert_int_equal(first.asked, 2);
    /* the same run goes on: all of it was answered */
    flow = flow_with(f->arena, &again, folder);
    assert_true(flow_begin(flow, "{}") && flow_stage(flow, PROMPT_SKETCH, scaled, NULL));
    assert_int_equal(again.asked, 0);
    /* interrupted before its second answer: that alone is asked for */
    assert_int_equal(unlink(arena_printf(f->arena, "%s/sketch-2.answer.md", folder)), 0);
    again = (Script){.answers = answers + 1};
    flow = flow_with(f->arena, &again, folder);
    assert_true(flow_begin(flow, "{}") && flow_stage(flow, PROMPT_SKETCH, scaled, NULL));
    assert_int_equal(again.asked, 1);
    /* played again, without anybody */
    flow = flow_of(f->arena);
    replay = transcript_model(f->arena, "replay", folder, PROMPT_SKETCH);
    assert_non_null(replay);
    assert_null(transcript_model(f->arena, "replay", folder, PROMPT_REASON));
    flow->options.by[PROMPT_SKETCH] = replay;
    assert_true(flow_stage(flow, PROMPT_SKETCH, scaled, NULL));
    assert_int_equal(flow->steps.len, 2);
    /* that ends early */
    flow = flow_of(f->arena);
    flow->options.by[PROMPT_SKETCH] = transcript_model(f->arena, "replay", folder, PROMPT_SKETCH);
    assert_int_equal(unlink(arena_printf(f->arena, "%s/sketch-2.answer.md", folder)), 0);
    assert_false(flow_stage(flow, PROMPT_SKETCH, scaled, NULL));
    assert_int_equal(flow->chain->diags->list.data[0].code, TW1047);
    /* another run has no business here */
    flow = flow_with(f->arena, &other, folder);
    assert_false(flow_begin(flow, "{\"other\":1}"));
    assert_int_equal(flow->chain->diags->list.data[0].code, TW1048);
    remove_folder(f->arena, folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(zeros_are_no_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_megabyte_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(right_ones_pass, setup, teardown),
        cmocka_unit_test_setup_teardown(what_means_something_else_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(where_it_differs_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(other_stages_and_tensors_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(diagnostics_go_back, setup, teardown),
        cmocka_unit_test_setup_teardown(rounds_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_asked_twice, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
