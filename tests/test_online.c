/* test_online.c: who rescales, when the maximum of an online softmax moves on.
 *
 * Blocks of the manual ("Softmax S with M and L" in docs/language.md) and of
 * tests/online/forms.md fill the loop of tests/online/frame.tl. The first line of a
 * block says what is to come of it:
 *
 *   # NAME: gives attention        checked, and equal to attention.tl at every level
 *   # NAME: gives something else   checked, the levels agree, but not with attention.tl
 *   # NAME: TW0733                 that is said of it, and no other error
 *
 * then come `# before the loop`, `# in the loop` and `# behind the loop`, each with its
 * statements; behind the loop O is divided by L where nothing is said.
 */
#include "fixture.h"
#include "levels.h"

#include <cmocka.h>

static const char QUOTIENT[] = "Compute Divide O, L else 0 and get new O\n";
static const char MARK[] = "\n```tl\n# ";

/* ---- blocks ------------------------------------------------------------------------------- */

typedef struct Form {
    const char *name, *expected;
    const char *code;
} Form;

static const char *read_text(Arena *arena, const char *path)
{
    const char *error;
    Source *source = source_read(arena, path, &error);

    if (!source)
        fail_msg("%s", error);
    return source->text;
}

/* The statements behind a heading, up to the next; NULL: there is none. */
static const char *part(Arena *arena, const char *block, const char *heading)
{
    const char *from = strstr(block, heading), *to;

    if (!from)
        return NULL;
    from += strlen(heading);
    to = strstr(from, "\n# ");
    return arena_strndup(arena, from, to ? (size_t)(to + 1 - from) : strlen(from));
}

/* The frame with the block's parts behind its own headings. */
static const char *filled(Arena *arena, const char *block)
{
    static const char *const headings[] = {"# before the loop\n", "# in the loop\n", "# behind the loop\n"};
    const char *frame = read_text(arena, "tests/online/frame.tl");
    Str out = str_new(arena);

    for (size_t i = 0; i < TW_COUNT(headings); i++) {
        const char *at = strstr(frame, headings[i]), *text = part(arena, block, headings[i]);

        assert_non_null(at);
        str_addn(&out, frame, (size_t)(at - frame));
        str_add(&out, text ? text : i == 2 ? QUOTIENT : "");
        frame = at + strlen(headings[i]);
    }
    str_add(&out, frame);
    return str_text(&out);
}

/* The next block of the text, which *at is moved behind; false: there is none. */
static bool next_form(Arena *arena, const char **at, Form *form)
{
    const char *from = strstr(*at, MARK), *end = from ? strstr(from, "\n```\n") : NULL, *block, *colon, *line;

    if (!end)
        return false;
    from += strlen(MARK);
    *at = end;
    block = arena_strndup(arena, from, (size_t)(end + 1 - from));
    line = strchr(block, '\n');
    colon = strchr(block, ':');
    if (!colon || colon > line || !part(arena, block, "# in the loop\n"))
        return next_form(arena, at, form);
    form->name = arena_strndup(arena, block, (size_t)(colon - block));
    form->expected = arena_strndup(arena, colon + 2, (size_t)(line - colon - 2));
    form->code = filled(arena, block);
    return true;
}

/* ---- what comes of them --------------------------------------------------------------------- */

static Diags *check(Arena *arena, const Form *form)
{
    Source *source = arena_new_of(arena, Source);
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags_new(arena, source),
                             target_find("sm_80"), DT_BF16);

    *source = (Source){form->name, form->code, strlen(form->code)};
    chain_check(chain, source, false);
    return chain->diags;
}

static void fail_form(const Form *form, const Diags *diags, const char *what)
{
    diags_print(diags, stderr, false);
    fail_msg("%s: %s, not: %s", form->name, form->expected, what);
}

static LevelReport run(Arena *arena, const Form *form, const char *definition)
{
    LevelCase c = {.definition = definition, .code = form->code, .dtype = DT_BF16, .fill = FILL_GROWING, .seed = 3};

    levels_bind(&c, "q_len", 20);
    levels_bind(&c, "kv_len", 100);
    return levels_run(arena, &c);
}

static void expect_refusal(const Form *form, const Diags *diags)
{
    if (diags->errors == 0)
        fail_form(form, diags, "approved");
    for (int i = 0; i < diags->list.len; i++) {
        const DiagInfo *info = diag_info(diags->list.data[i].code);

        if (info->severity == SEV_ERROR && strcmp(info->name, form->expected) != 0)
            fail_form(form, diags, "another error");
    }
}

static void expect(Arena *arena, const Form *form)
{
    Diags *diags = check(arena, form);
    bool same = strcmp(form->expected, "gives attention") == 0;
    const char *definition = read_text(arena, "tests/online/attention.tl");
    LevelReport report;

    if (form->expected[0] == 'T') {
        expect_refusal(form, diags);
        return;
    }
    assert_true(same || strcmp(form->expected, "gives something else") == 0);
    if (diags->errors)
        fail_form(form, diags, "refused");
    report = run(arena, form, same ? definition : NULL);
    if (report.verdict != LEVELS_AGREE)
        fail_form(form, diags, arena_printf(arena, "%s: %s", report.level, report.problem));
    if (!same && run(arena, form, definition).verdict != LEVELS_DIFFER)
        fail_form(form, diags, "attention");
}

static int expect_all(Heap *heap, const char *path, const char *section)
{
    Arena *text_arena = arena_new(heap);
    const char *at = strstr(read_text(text_arena, path), section);
    int n = 0;
    Form form;

    assert_non_null(at);
    for (bool more = true; more; n += more) {
        Arena *arena = arena_new(heap);

        more = next_form(arena, &at, &form);
        if (more)
            expect(arena, &form);
        arena_free(arena);
    }
    arena_free(text_arena);
    return n;
}

static void forms_are_understood_or_refused(void **state)
{
    Fixture *f = *state;

    assert_true(expect_all(arena_heap(f->arena), "tests/online/forms.md", "# Forms") >= 50);
}

static void the_manual_says_what_happens(void **state)
{
    Fixture *f = *state;

    assert_true(expect_all(arena_heap(f->arena), "docs/language.md", "### Online softmax") >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(forms_are_understood_or_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_manual_says_what_happens, setup, teardown),
    };

    return cmocka_run_group_tests_name("online", tests, NULL, NULL);
}
