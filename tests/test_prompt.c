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

/* Set as its heading says; NULL: its types are none of the target's. */
static Chain *chain_for(Arena *arena, const Source *source, const Target *target)
{
    DType dtype = target_has_dtype(target, DT_BF16) ? DT_BF16 : DT_F16;
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source), target, dtype);
    const char *at = strstr(source->text, "tw gen "), *end = strstr(source->text, "\nOperator"), *own = strstr(source->text, "sm_89");

    assert_non_null(at);
    if (own && own < end && !target_has_dtype(target, DT_E4M3))
        return NULL;
    while ((at = strstr(at, "--set ")) && at < end) {
        at += strlen("--set ");
        assert_null(chain_set(chain, arena_strndup(arena, at, strcspn(at, " \n"))));
    }
    if (!chain_define(chain, source) || !chain_fuse(chain))
        fail_msg("%s for %s", source->path, target->name);
    return chain;
}

static Chain *chain_of(Arena *arena, const Source *source)
{
    Chain *chain = chain_for(arena, source, target_find("sm_80"));

    return chain ? chain : chain_for(arena, source, target_find("sm_89"));
}

static PromptRequest request_of(const Chain *chain, Library *library, PromptStage stage)
{
    PromptRequest request = {.target = chain->target, .dtype = chain->settings.dtype, .settings = &chain->settings, .library = library};

    request.text = stage == PROMPT_DEFINE      ? "attention within a window of 128 keys, fp16"
                   : stage == PROMPT_REASON    ? chain->sketch->text
                   : stage == PROMPT_TRANSLATE ? chain->code->text
                                               : prompt_definition(chain->arena, chain->defined);
    return request;
}

static const char *prompt_of(const Chain *chain, Library *library, PromptStage stage)
{
    PromptRequest request = request_of(chain, library, stage);

    return prompt_write(chain->arena, stage, &request);
}

/* The built-in code with a kernel for each of the sketch's, as a model writes it: not one for each range of rows' lengths. */
static const char *one_kernel_each(Chain *chain)
{
    const Program *all = chain->reasoned->code;
    Program code = {.source = all->source};
    Str text = str_new(chain->arena);

    for (int i = 0; i < all->units.len; i++)
        if (strstr(chain->sketch->text, arena_printf(chain->arena, "Kernel %s\n", all->units.data[i]->name)))
            vec_push(chain->arena, &code.units, all->units.data[i]);
    assert_true(code.units.len > 0);
    lang_print(&text, &code);
    return str_text(&text);
}

/* The built-in stage's answer stands for a model's. */
static int answer_tokens(Chain *chain, PromptStage stage)
{
    if (stage == PROMPT_DEFINE)
        return prompt_tokens(prompt_definition(chain->arena, chain->defined));
    if (stage == PROMPT_SKETCH)
        return prompt_tokens(chain->sketch->text);
    return chain->code || chain_reason(chain, chain->sketch) ? prompt_tokens(one_kernel_each(chain)) : 0;
}

/* What the built-in translator writes stands for a model's answer. With the last one, which was as long, and what
 * is wrong with it, there is room for the next. */
static void translation_fits(const Chain *chain, PromptRequest *r)
{
    PromptTranslation asked = prompt_translation(chain->arena, r);
    const char *prompt = prompt_write(chain->arena, PROMPT_TRANSLATE, r), *ours = asked.ours ? asked.ours : "";
    int tokens = prompt_tokens(prompt), answer;

    if (strstr(prompt, "no other comments"))
        ours = prompt_terse(chain->arena, ours);
    answer = prompt_tokens(ours);
    if (tokens + answer > PROMPT_ROOM)
        fail_msg("%s %s for %s: %d tokens, and its answer %d", chain->name, r->kernel ? r->kernel : "", chain->target->name, tokens, answer);
    assert_non_null(strstr(prompt, "_block("));
    assert_non_null(strstr(prompt, asked.heads));
    r->answer = ours;
    r->diagnostics = "translate-1.cu:7:1: error: something [TW1051]\n";
    tokens = prompt_tokens(prompt_write(chain->arena, PROMPT_TRANSLATE, r));
    if (tokens + answer > PROMPT_ROOM)
        fail_msg("%s %s for %s, once more: %d tokens, and its answer %d", chain->name, r->kernel ? r->kernel : "",
                 chain->target->name, tokens, answer);
    r->answer = r->diagnostics = NULL;
}

static int translations_fit(const Chain *chain, Library *library)
{
    PromptRequest r = request_of(chain, library, PROMPT_TRANSLATE);
    const char *const *kernels;
    int n = prompt_apart(chain->arena, &r, &kernels);

    for (int k = 0; k < n; k++) {
        r.kernel = kernels[k];
        translation_fits(chain, &r);
    }
    if (!n)
        translation_fits(chain, &r);
    return n;
}

static void translations_fit_with_their_answers(void **state)
{
    static const char *const targets[] = {"sm_75", "sm_80", "sm_89", "sm_90a"};
    Fixture *f = *state;
    int apart = 0;

    for (size_t t = 0; t < TW_COUNT(targets); t++) {
        Ops ops = read_ops(f->arena);

        for (int i = 0; i < ops.sources.len; i++) {
            Chain *chain = chain_for(f->arena, ops.sources.data[i], target_find(targets[t]));

            if (chain && chain_reason(chain, chain->sketch))
                apart += translations_fit(chain, ops.library) > 0;
        }
    }
    assert_in_range(apart, 1, 10 * TW_COUNT(targets)); /* the longest ones alone */
}

/* Of other operators: what the request takes is shown where there is room. */
static void most_translations_have_an_example(void **state)
{
    Fixture *f = *state;
    Ops ops = read_ops(f->arena);
    int examples = 0;

    for (int i = 0; i < ops.sources.len; i++) {
        Chain *chain = chain_of(f->arena, ops.sources.data[i]);

        assert_true(chain_reason(chain, chain->sketch));
        examples += strstr(prompt_of(chain, ops.library, PROMPT_TRANSLATE), "# Example 1") != NULL;
    }
    assert_true(10 * examples >= 8 * ops.sources.len);
}

/* A statement of the code and a line of the header are told where they occur, and not else. */
static void translations_are_told_what_they_take(void **state)
{
    Fixture *f = *state;
    PromptRequest r = {.target = target_find("sm_80"), .dtype = DT_F32,
                       .text = "Kernel twice\n  Input X (M, N)\n  Output Y (M, N)\n  N = 64\n  BM = 16\n  Grid m = ceil(M / BM)\n"
                               "  Allocate X in register (BM, N) fp32\n  Allocate Y in register (BM, N) fp32\n"
                               "  Copy X (BM, N) in coordinate [M = m] from global to register\n  Compute Add X, X and get Y\n"
                               "  Copy Y (BM, N) in coordinate [M = m] from register to global\nend\n"};
    const char *prompt = prompt_write(f->arena, PROMPT_TRANSLATE, &r);

    assert_non_null(strstr(prompt, "tw::load<Place, Wide, Rows, Cols>"));
    assert_null(strstr(prompt, "tw::gemm<"));
    assert_null(strstr(prompt, "tw::ring<"));
    assert_null(strstr(prompt, "tw::reduce_rows<"));
    assert_non_null(strstr(prompt, "- `Copy NAME"));
    assert_null(strstr(prompt, "- `for i"));
    assert_non_null(strstr(prompt, "Operations: Add"));
}

/* Products of 8 bits, where the target has them and the code, two kinds of copies in turn where it takes turns. */
static void translations_are_told_of_bytes_and_turns(void **state)
{
    Fixture *f = *state;
    static const char code[] =
        "Kernel k\n  Input A (M, 64) e4m3\n  Input B (N, 64) %s\n  Input V (N, 64) %s\n  Output C (M, 64) fp32\n"
        "  Grid m = ceil(M / 64)\n  Allocate A in shared (64, 64) e4m3\n  Allocate B in shared (64, 64) e4m3\n"
        "  Allocate V in shared (64, 64) e4m3\n  Allocate S in register (64, 64) fp32\n  Allocate C in register (64, 64) fp32\n"
        "  Copy A (64, 64) in coordinate [M = m] from global to shared\n  for j = 0:ceil(N / 64)\n"
        "    Copy B (64, 64) in coordinate [N = j] from global to shared\n"
        "    Copy V (64, 64) in coordinate [N = j] from global to shared\n    Compute GEMM A, B.T and get S\n"
        "    Compute Cast S, e4m3 and get S\n    Reshape S from (MMA_C, MMA_M, MMA_N) to (MMA_A, MMA_M, MMA_N_new)\n"
        "    Compute GEMM S, V and accumulate C\n  end\n"
        "  Copy C (64, 64) in coordinate [M = m] from register to global\n  Schedule sm_89\n    stages = %d\n  end\nend\n";

    for (int stages = 1; stages <= 2; stages++) {
        PromptRequest r = {.target = target_find("sm_89"), .dtype = DT_F32,
                           .text = arena_printf(f->arena, code, "e4m3", "e4m3", stages)};
        const char *prompt = prompt_write(f->arena, PROMPT_TRANSLATE, &r);

        assert_non_null(strstr(prompt, "tw::gemm_quads<Place>(sA, sB, S)"));
        assert_non_null(strstr(prompt, "16 x 8 x 16 for 16-bit operands, x 32 for 8-bit ones"));
        assert_int_equal(strstr(prompt, "\n- auto early = tw::turns(") != NULL, stages == 1);
        assert_int_equal(strstr(prompt, "\n- auto ahead = tw::ring<") != NULL, stages == 2);
    }
}

/* ---- functions in brief ---------------------------------------------------------------- */

static Chain *framed(Arena *arena, const Chain *like, bool frame)
{
    Chain *chain = chain_like(arena, like, diags_new(arena, like->code));

    if (!chain_define(chain, like->defined) || !chain_lower(chain, like->code) || (frame && !chain_frame(chain, NULL)))
        fail_msg("%s", like->name);
    return chain;
}

/* Without comments and blanks. */
static const char *bare(Arena *arena, const char *text)
{
    Str out = str_new(arena);

    for (; *text; text++) {
        if (strncmp(text, "//", 2) == 0)
            text += strcspn(text, "\n");
        if (strncmp(text, "(void)row, (void)col;", 21) == 0)
            text += 20;
        else if (!strchr(" \n", *text))
            str_addc(&out, *text);
    }
    return str_text(&out);
}

static size_t lines_of(const char *text)
{
    size_t n = 0;

    while ((text = strchr(text, '\n')))
        n++, text++;
    return n;
}

/* Our own functions, in brief and back again: what stands in shared memory may go behind the place of the block. */
static void what_is_brief_unfolds(void **state)
{
    Fixture *f = *state;
    Ops ops = read_ops(f->arena);

    for (int i = 0; i < ops.sources.len; i += 5) {
        Chain *chain = chain_of(f->arena, ops.sources.data[i]), *frame;
        const char *const *blocks;

        if (!chain_reason(chain, chain->sketch) || !(blocks = chain_blocks(framed(f->arena, chain, false))))
            continue;
        frame = framed(f->arena, chain, true);
        for (int k = 0; k < frame->tile->kernels.len; k++) {
            const char *name = frame->tile->kernels.data[k]->name, *head = chain_head(frame, k);
            const char *brief = prompt_brief(f->arena, name, blocks[k], head);
            const char *flat = prompt_unfold(f->arena, frame, brief, brief, true);
            const char *whole = prompt_unfold(f->arena, frame, brief, brief, false);

            assert_non_null(strstr(brief, arena_printf(f->arena, "\n%s_block(...) {\n", name)));
            assert_true(lines_of(flat) == lines_of(brief));
            assert_non_null(strstr(whole, head));
            assert_true(strlen(bare(f->arena, whole)) == strlen(bare(f->arena, blocks[k])));
            assert_string_equal(bare(f->arena, whole), bare(f->arena, flat));
            assert_string_equal(whole, prompt_unfold(f->arena, frame, whole, whole, false)); /* there is nothing left */
        }
    }
}

/* However a model writes it. */
static void folds_are_found(void **state)
{
    static const char *const folds[] = {
        "softmax_block(...) {\n    float x;\n}\n",
        "softmax_block (...)\n{\n    float x;\n}\n",
        "__device__ __forceinline__ void softmax_block(...) {\n    ...\n    float x;\n}\n",
        "template <bool Wide>\n__device__ void softmax_block( ... )\n{ ... float x;\n}\n",
    };
    Fixture *f = *state;
    PromptRequest r = {.target = target_find("sm_80"), .dtype = DT_F32};
    Source source = {"code", "Kernel softmax\n  Input X (M, 64)\n  Output Y (M, 64)\n  BM = 16\n  Grid m = ceil(M / BM)\n"
                             "  Allocate X in register (BM, 64) fp32\n  Copy X (BM, 64) in coordinate [M = m] from global to register\n"
                             "  Copy X (BM, 64) as Y in coordinate [M = m] from register to global\nend\n", 0};
    Chain *chain = chain_new(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), diags_new(f->arena, &source), r.target, r.dtype);
    const char *want, *not_ours = "void other_block(...) {\n}\nvoid my_softmax_block(...) {\n}\n";

    source.len = strlen(source.text);
    assert_true(chain_lower(chain, &source) && chain_frame(chain, NULL));
    want = bare(f->arena, arena_printf(f->arena, "%sfloat x;}", chain_head(chain, 0)));
    for (size_t i = 0; i < TW_COUNT(folds); i++) {
        const char *flat = prompt_unfold(f->arena, chain, folds[i], folds[i], true);

        assert_string_equal(bare(f->arena, flat), want);
        assert_true(lines_of(flat) == lines_of(folds[i]));
        assert_string_equal(bare(f->arena, prompt_unfold(f->arena, chain, folds[i], folds[i], false)), want);
    }
    assert_string_equal(prompt_unfold(f->arena, chain, not_ours, not_ours, true), not_ours);
}

/* The next answer fits as well, beside the last one and a list of what is wrong with it that has no end. */
static void next_fits(Chain *chain, PromptStage stage, const char *many, int answer)
{
    PromptRequest r = request_of(chain, NULL, stage);
    int tokens;

    r.answer = stage == PROMPT_SKETCH ? chain->sketch->text : stage == PROMPT_DEFINE ? prompt_definition(chain->arena, chain->defined) : one_kernel_each(chain);
    r.diagnostics = many;
    tokens = prompt_tokens(prompt_write(chain->arena, stage, &r));
    if (tokens + answer > PROMPT_ROOM)
        fail_msg("%s: %s once more takes %d tokens, and its answer %d", chain->name, prompt_stage_name(stage), tokens, answer);
}

static void all_fit_with_their_answers(void **state)
{
    Fixture *f = *state;
    Ops ops = read_ops(f->arena);
    Str many = str_new(f->arena);
    int examples = 0, prompts = 0;

    for (int i = 0; i < 500; i++)
        str_printf(&many, "reason-1.tl:%d:1: error: something [TW0207]\n", i + 1);
    for (int i = 0; i < ops.sources.len; i++) {
        Chain *chain = chain_of(f->arena, ops.sources.data[i]);

        assert_true(chain_reason(chain, chain->sketch));
        for (int k = 0; k < PROMPT_STAGES; k++) {
            if (k == PROMPT_TRANSLATE)
                continue;

            const char *prompt = prompt_of(chain, ops.library, (PromptStage)k);
            int tokens = prompt_tokens(prompt), answer = answer_tokens(chain, (PromptStage)k);

            if (tokens + answer > PROMPT_ROOM)
                fail_msg("%s: %s takes %d tokens, and its answer %d", chain->name, prompt_stage_name((PromptStage)k), tokens,
                         answer);
            next_fits(chain, (PromptStage)k, str_text(&many), answer);
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
            if (at) { /* kernels beside a definition have names of their own */
                str_addn(&renamed, own, (size_t)(at - own));
                str_printf(&renamed, "zork%s", at + strlen(chain->name));
            }
            r.text = at ? str_text(&renamed) : own;
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
        /* nor what has all of it in it, however it is said */
        {"scores of queries and keys masked below the diagonal, softmaxed, times the values", "Operator attention_lse\n"},
        {"O = softmax(Q K^T / sqrt(d)) V", "Operator attention_lse\n"},
        {"MHA forward, head dimension 64", "Operator attention_lse\n"},
        {"GQA for Llama 3 with 32 query heads, 8 kv heads", "Operator sinks\n"},
        {"causal grouped-query attention, head dim 128", "Operator sinks\n"},
        {"an RMS norm", "Operator rmsnorm_swiglu\n"},
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
        cmocka_unit_test_setup_teardown(most_translations_have_an_example, setup, teardown),
        cmocka_unit_test_setup_teardown(translations_are_told_what_they_take, setup, teardown),
        cmocka_unit_test_setup_teardown(translations_are_told_of_bytes_and_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_brief_unfolds, setup, teardown),
        cmocka_unit_test_setup_teardown(folds_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(examples_are_of_other_operators, setup, teardown),
        cmocka_unit_test_setup_teardown(words_keep_their_own_example_away, setup, teardown),
        cmocka_unit_test_setup_teardown(the_language_is_the_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(the_target_is_its_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_fits_as_well, setup, teardown),
        cmocka_unit_test_setup_teardown(tokens_are_guessed_from_above, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
