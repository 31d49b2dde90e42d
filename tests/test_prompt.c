/* test_prompt.c: what models are told: small enough, complete, never the answer. */
#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>

#include "prompt/prompt.h"

typedef struct Ops {
    VEC(Source *) sources;
    Library *library;
} Ops;

static Ops read_ops(Arena *arena)
{
    struct dirent **entries;
    int n = scandir("ops", &entries, NULL, alphasort);
    Ops ops = {0};
    const char *error;

    assert_true(n > 2);
    for (int i = 0; i < n; i++) {
        if (strstr(entries[i]->d_name, ".tl")) {
            Source *source = source_read(arena, arena_printf(arena, "ops/%s", entries[i]->d_name), &error);

            vec_push(arena, &ops.sources, source);
        }
        free(entries[i]);
    }
    free(entries);
    ops.library = library_new(arena, ops.sources.data, ops.sources.len);
    return ops;
}

/* Set as its heading says. */
static Chain *chain_of(Arena *arena, const Source *source)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), target_find("sm_80"), DT_BF16);
    const char *at = strstr(source->text, "tw gen "), *end = strstr(source->text, "\nOperator");

    assert_non_null(at);
    if (strstr(source->text, "sm_89") && strstr(source->text, "sm_89") < end)
        chain->target = target_find("sm_89");
    while ((at = strstr(at, "--set ")) && at < end) {
        at += strlen("--set ");
        assert_null(chain_set(chain, arena_strndup(arena, at, strcspn(at, " \n"))));
    }
    if (!chain_define(chain, source) || !chain_fuse(chain))
        fail_msg("%s", source->path);
    return chain;
}

static const char *prompt_of(const Chain *chain, Library *library, PromptStage stage)
{
    PromptRequest request = {.target = chain->target, .dtype = DT_BF16, .settings = &chain->settings, .library = library};

    request.text = stage == PROMPT_DEFINE      ? "attention within a window of 128 keys, fp16"
                   : stage == PROMPT_REASON    ? chain->sketch->text
                   : stage == PROMPT_TRANSLATE ? chain->code->text
                                               : prompt_definition(chain->arena, chain->defined);
    return prompt_write(chain->arena, stage, &request);
}

/* The built-in stage's answer stands for a model's. */
static int answer_tokens(Chain *chain, PromptStage stage)
{
    if (stage == PROMPT_DEFINE)
        return prompt_tokens(prompt_definition(chain->arena, chain->defined));
    if (stage == PROMPT_SKETCH)
        return prompt_tokens(chain->sketch->text);
    return chain->code || chain_reason(chain, chain->sketch) ? prompt_tokens(chain->code->text) : 0;
}

/* Blocks that the built-in translator writes stand for a model's. */
static int blocks_tokens(Chain *chain)
{
    const char *blocks = chain_lower(chain, chain->code) ? chain_blocks(chain) : NULL;

    return blocks ? prompt_tokens(blocks) : 0;
}

/* Code of several kernels may be too long to be told of in so little. */
static void translations_fit_with_their_answers(void **state)
{
    Fixture *f = *state;
    Ops ops = read_ops(f->arena);
    int fit = 0, examples = 0;

    for (int i = 0; i < ops.sources.len; i++) {
        Chain *chain = chain_of(f->arena, ops.sources.data[i]);
        const char *prompt;
        int tokens, answer;

        assert_true(chain_reason(chain, chain->sketch));
        prompt = prompt_of(chain, ops.library, PROMPT_TRANSLATE);
        tokens = prompt_tokens(prompt);
        answer = blocks_tokens(chain);
        assert_true(tokens < PROMPT_ROOM);
        fit += tokens + answer <= PROMPT_ROOM;
        examples += strstr(prompt, "# Example 1") != NULL;
        assert_non_null(strstr(prompt, "_block("));
    }
    assert_true(3 * fit >= 2 * ops.sources.len && 5 * examples > 2 * ops.sources.len);
}

static void all_fit_with_their_answers(void **state)
{
    Fixture *f = *state;
    Ops ops = read_ops(f->arena);
    int examples = 0, prompts = 0;

    for (int i = 0; i < ops.sources.len; i++) {
        Chain *chain = chain_of(f->arena, ops.sources.data[i]);

        for (int k = 0; k < PROMPT_STAGES; k++) {
            if (k == PROMPT_TRANSLATE)
                continue;

            const char *prompt = prompt_of(chain, ops.library, (PromptStage)k);
            int tokens = prompt_tokens(prompt), answer = answer_tokens(chain, (PromptStage)k);

            if (tokens + answer > PROMPT_ROOM)
                fail_msg("%s: %s takes %d tokens, and its answer %d", chain->name, prompt_stage_name((PromptStage)k), tokens,
                         answer);
            examples += strstr(prompt, "# Example 1") != NULL;
            prompts += !prompt_is_cuda((PromptStage)k); /* they are asked for what the model can do alone */
        }
    }
    assert_true(10 * examples > 9 * prompts);
}

/* Nor one of that name, however it is called where it is given. */
static void examples_are_of_other_operators(void **state)
{
    Fixture *f = *state;
    Ops ops = read_ops(f->arena);

    for (int i = 0; i < ops.sources.len; i++) {
        Chain *chain = chain_of(f->arena, ops.sources.data[i]);

        for (int k = PROMPT_SKETCH; k < PROMPT_STAGES; k++) {
            PromptRequest r = {.target = chain->target, .dtype = DT_BF16, .library = ops.library};
            const char *own = k == PROMPT_REASON                                                     ? chain->sketch->text
                              : k == PROMPT_TRANSLATE && chain_reason(chain, chain->sketch) ? chain->code->text
                                                                                            : prompt_definition(f->arena, chain->defined);
            Str examples = str_new(f->arena), other = str_new(f->arena), renamed = str_new(f->arena);
            const char *at = strstr(own, chain->name);

            r.text = own;
            prompt_examples(&examples, (PromptStage)k, &r, 4000);
            assert_null(strstr(str_text(&examples), arena_printf(f->arena, "Operator %s\n", chain->name)));
            assert_null(strstr(str_text(&examples), arena_printf(f->arena, "Kernel %s\n", chain->name)));
            str_addn(&renamed, own, (size_t)(at - own));
            str_printf(&renamed, "zork%s", at + strlen(chain->name));
            r.text = str_text(&renamed);
            prompt_examples(&other, (PromptStage)k, &r, 4000);
            assert_null(strstr(str_text(&other), arena_printf(f->arena, "Operator %s\n", chain->name)));
            assert_null(strstr(str_text(&other), arena_printf(f->arena, "Kernel %s\n", chain->name)));
        }
    }
}

static void words_keep_their_own_example_away(void **state)
{
    static const char *const requests[][2] = {
        {"sliding-window attention with sinks, 8 kv heads, head dim 64", "Operator sinks_window\n"},
        {"LayerNorm with gain and shift", "Operator layernorm\n"},
        {"a linear layer with a bias", "Operator gemm_bias\n"},
    };
    Fixture *f = *state;
    Ops ops = read_ops(f->arena);

    for (size_t i = 0; i < TW_COUNT(requests); i++) {
        PromptRequest r = {.target = target_default(), .dtype = DT_BF16, .library = ops.library, .text = requests[i][0]};
        const char *prompt = prompt_write(f->arena, PROMPT_DEFINE, &r);

        assert_non_null(strstr(prompt, requests[i][0]));
        assert_non_null(strstr(prompt, "# Example 1"));
        assert_null(strstr(prompt, requests[i][1]));
    }
}

static void the_language_is_the_tables(void **state)
{
    Fixture *f = *state;

    for (int form = 0; form < TL_FORMS; form++) {
        Str text = str_new(f->arena);

        prompt_language(&text, (TlForm)form);
        for (int i = 0; i < STMT_COUNT; i++) {
            const char *rule = stmt_rule((StmtKind)i, (TlForm)form), *help = stmt_help((StmtKind)i);
            const char *line = arena_printf(f->arena, "- `%.*s", 6, help);

            assert_true((strstr(str_text(&text), line) != NULL) == (rule != NULL));
            assert_true(!rule || strstr(str_text(&text), rule));
        }
        for (int i = 0; i < OP_COUNT; i++)
            if (form == IN_DEFINITION || !op_is_whole((OpId)i))
                assert_non_null(strstr(str_text(&text), op_info((OpId)i)->name));
        assert_true(prompt_tokens(str_text(&text)) < 2500); /* two pages */
    }
    for (int i = 0; i < STMT_COUNT; i++)
        assert_true(stmt_rule((StmtKind)i, IN_DEFINITION) || stmt_rule((StmtKind)i, IN_SKETCH) ||
                    stmt_rule((StmtKind)i, IN_CODE));
}

static void the_target_is_its_facts(void **state)
{
    Fixture *f = *state;

    for (const Target *const *t = target_all(); *t; t++) {
        Str text = str_new(f->arena);

        prompt_hardware(&text, IN_CODE, *t, DT_F16);
        assert_non_null(strstr(str_text(&text), (*t)->name));
        assert_non_null(strstr(str_text(&text), arena_printf(f->arena, " %d bytes of shared memory", (*t)->shared_per_block)));
        assert_non_null(strstr(str_text(&text), arena_printf(f->arena, "%d multiprocessors", (*t)->sms)));
    }
}

/* After a wrong answer it and its diagnostics take the place of examples, and a long list
 * is cut. */
static void what_is_wrong_fits_as_well(void **state)
{
    Fixture *f = *state;
    Ops ops = read_ops(f->arena);
    Source *source = ops.sources.data[1];
    Chain *chain = chain_of(f->arena, source);
    Str many = str_new(f->arena);
    PromptRequest r = {.target = chain->target, .dtype = DT_BF16, .library = ops.library, .text = chain->sketch->text,
                       .answer = chain->sketch->text};
    const char *prompt;

    for (int i = 0; i < 5000; i++)
        str_printf(&many, "reason-1.tl:%d:1: error: something [TW0207]\n", i + 1);
    r.diagnostics = str_text(&many);
    prompt = prompt_write(f->arena, PROMPT_REASON, &r);
    assert_non_null(strstr(prompt, "# Your last answer"));
    assert_non_null(strstr(prompt, "reason-1.tl:1:1: error"));
    assert_non_null(strstr(prompt, "... and more"));
    assert_null(strstr(prompt, "# Example"));
    assert_true(prompt_tokens(prompt) + answer_tokens(chain, PROMPT_REASON) <= PROMPT_ROOM);
    assert_string_equal(prompt, prompt_write(f->arena, PROMPT_REASON, &r));
}

static void tokens_are_guessed_from_above(void **state)
{
    (void)state;
    assert_int_equal(prompt_tokens(""), 0);
    assert_int_equal(prompt_tokens("end"), 1);
    assert_true(prompt_tokens("Copy K (BN, HeadDim) in coordinate [batch = b] from global to shared\n") >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_fit_with_their_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(translations_fit_with_their_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(examples_are_of_other_operators, setup, teardown),
        cmocka_unit_test_setup_teardown(words_keep_their_own_example_away, setup, teardown),
        cmocka_unit_test_setup_teardown(the_language_is_the_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(the_target_is_its_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_fits_as_well, setup, teardown),
        cmocka_unit_test_setup_teardown(tokens_are_guessed_from_above, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
