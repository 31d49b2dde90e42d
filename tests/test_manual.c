/* test_manual.c: the examples of docs/language.md do what it says. Its definition runs at
 * every level, by the flow that is found and by the sketch that the manual gives; its
 * other examples are checked as fragments. (test_online.c: those of an online softmax;
 * test_lang.c: all parse, and stand in canonical form.) */
#include "fixture.h"
#include "levels.h"

#include <cmocka.h>

typedef struct Example {
    const char *text;
    int line;
} Example;

static const char *read_manual(Arena *arena)
{
    const char *error;
    Source *source = source_read(arena, "docs/language.md", &error);

    if (!source)
        fail_msg("%s", error);
    return source->text;
}

/* The next example, which *at is moved behind; false: there is none. */
static bool next_example(Arena *arena, const char *manual, const char **at, Example *example)
{
    const char *from = strstr(*at, "\n```tl\n"), *end = from ? strstr(from, "\n```\n") : NULL;

    if (!end)
        return false;
    from += strlen("\n```tl\n");
    *at = end;
    example->text = arena_strndup(arena, from, (size_t)(end + 1 - from));
    example->line = 1;
    for (const char *c = manual; c < from; c++)
        example->line += *c == '\n';
    return true;
}

static const char *first_unit(Arena *arena, const char *word)
{
    const char *manual = read_manual(arena), *at = manual;
    Example example;

    while (next_example(arena, manual, &at, &example))
        if (strncmp(example.text, word, strlen(word)) == 0)
            return example.text;
    fail_msg("the manual has no example of '%s'", word);
    return NULL;
}

static void run(Arena *arena, const char *definition, const char *code)
{
    static const struct {
        const char *name;
        double value;
    } sizes[] = {{"batch", 1}, {"heads", 2}, {"q_len", 40}, {"kv_len", 70}};
    LevelCase c = {.definition = definition, .code = code, .dtype = DT_BF16, .fill = FILL_NORMAL, .seed = 5};
    LevelReport report;

    levels_set(arena, &c, "HeadDim", 32);
    levels_set(arena, &c, "VDim", 32);
    for (size_t i = 0; i < TW_COUNT(sizes); i++)
        levels_bind(&c, sizes[i].name, sizes[i].value);
    report = levels_run(arena, &c);
    if (report.verdict != LEVELS_AGREE)
        fail_msg("%s: %s", report.level, report.problem);
}

static void the_definition_runs(void **state)
{
    Fixture *f = *state;

    run(f->arena, first_unit(f->arena, "Operator"), NULL);
}

static void the_sketch_computes_the_definition(void **state)
{
    Fixture *f = *state;
    Source *source = arena_new_of(f->arena, Source);
    const char *text = first_unit(f->arena, "Kernel");
    Chain *chain = chain_new(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), diags_new(f->arena, source),
                             target_find("sm_80"), DT_BF16);

    *source = (Source){"docs/language.md", text, strlen(text)};
    assert_null(chain_set(chain, "HeadDim=32"));
    assert_null(chain_set(chain, "VDim=32"));
    if (!chain_reason(chain, source)) {
        diags_print(chain->diags, stderr, false);
        fail_msg("the sketch becomes no code");
    }
    run(f->arena, arena_printf(f->arena, "%s", first_unit(f->arena, "Operator")), chain->code->text);
}

/* An example of Input and Output alone writes nothing; some operations stand in
 * definitions only. */
static bool is_of_a_definition(const Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].code != TW0450 && diags->list.data[i].code != TW0245)
            return false;
    return true;
}

static void fragments_are_right(void **state)
{
    Fixture *f = *state;
    const char *manual = read_manual(f->arena), *at = manual;
    Example example;
    int n = 0;

    for (; next_example(f->arena, manual, &at, &example); n++) {
        Source *source = arena_new_of(f->arena, Source);
        Chain *chain = chain_new(f->arena, syms_new(f->arena), aff_ctx_new(f->arena), diags_new(f->arena, source),
                                 target_find("sm_80"), DT_BF16);

        if (example.text[0] == '#') /* of test_online.c */
            continue;
        *source = (Source){arena_printf(f->arena, "docs/language.md, example at line %d", example.line), example.text,
                           strlen(example.text)};
        if (chain_check(chain, source, true) || is_of_a_definition(chain->diags))
            continue;
        diags_print(chain->diags, stderr, false);
        fail_msg("the example at line %d is wrong", example.line);
    }
    assert_true(n >= 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_definition_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(the_sketch_computes_the_definition, setup, teardown),
        cmocka_unit_test_setup_teardown(fragments_are_right, setup, teardown),
    };

    return cmocka_run_group_tests_name("manual", tests, NULL, NULL);
}
