/* test_samples.c: what a language model wrote, unedited (tests/lang), beside what
 * is compiled and compared with definitions (tests/lower, test_lower.c): that is
 * the same text behind a header, and every other edit is one that the checker
 * suggests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check/check.h"
#include "fixture.h"
#include "ref/def.h"

/* ---- texts ----------------------------------------------------------------------------- */

static const char *read_text(Fixture *f, const char *path)
{
    const char *error = NULL;
    Source *source = source_read(f->arena, path, &error);

    if (!source)
        fail_msg("%s", error);
    return source->text;
}

/* The n-th fenced block, from 0: the sketch, then the code. */
static const char *block(Fixture *f, const char *text, int n)
{
    const char *end = text;

    for (; n >= 0; n--) {
        text = strstr(text, "```\n");
        assert_non_null(text);
        end = strstr(text + 4, "\n```");
        assert_non_null(end);
        if (n > 0)
            text = end + 4;
    }
    return arena_strndup(f->arena, text + 4, (size_t)(end + 1 - (text + 4)));
}

/* What stands in front of `mark`, or from it on. */
static const char *part(Fixture *f, const char *text, const char *mark, bool behind)
{
    const char *at = strstr(text, mark);

    assert_non_null(at);
    return behind ? at : arena_strndup(f->arena, text, (size_t)(at - text));
}

/* Every `from` replaced; there must be n. */
static const char *replaced(Fixture *f, const char *text, const char *from, const char *to, int n)
{
    Str out = str_new(f->arena);
    const char *at;

    for (; (at = strstr(text, from)); text = at + strlen(from), n--) {
        str_add(&out, arena_strndup(f->arena, text, (size_t)(at - text)));
        str_add(&out, to);
    }
    assert_int_equal(n, 0);
    str_add(&out, text);
    return str_text(&out);
}

/* ---- the checker --------------------------------------------------------------------------- */

static const Diags *checked(Fixture *f, const char *text)
{
    Source *source = arena_new_of(f->arena, Source);
    Settings settings = {.dtype = DT_BF16};
    CheckOptions options = {.target = target_find("sm_80"), .settings = &settings};
    Syms *syms = syms_new(f->arena);
    Diags *diags;
    Program *program;

    *source = (Source){.path = "sample", .text = text, .len = strlen(text)};
    diags = diags_new(f->arena, source);
    program = lang_parse(f->arena, syms, source, diags);
    for (int i = 0; i < program->units.len; i++)
        check_code(f->arena, syms, program, program->units.data[i], &options, diags);
    return diags;
}

/* The text with all suggested edits made; each diagnostic must suggest one. */
static const char *mended(Fixture *f, const char *text, int n)
{
    const Diags *diags = checked(f, text);

    assert_int_equal(diags->list.len, n);
    for (int i = n - 1; i >= 0; i--) {
        Span at = diags->list.data[i].fix.span;

        assert_non_null(diags->list.data[i].fix.text);
        text = arena_printf(f->arena, "%.*s%s%s", at.start, text, diags->list.data[i].fix.text, text + at.end);
    }
    return text;
}

/* The file is a header, the sample's own text, the edits that are suggested for
 * it, and `end`. */
static void is_sample(Fixture *f, const char *name, const char *sample, int edits)
{
    const char *text = read_text(f, arena_printf(f->arena, "tests/lower/%s.tl", name));
    const char *at = strstr(text, sample), *header;

    if (!at)
        fail_msg("%s does not hold the sample as it stands", name);
    header = arena_strndup(f->arena, text, (size_t)(at - text));
    assert_null(strstr(header, "Compute"));
    assert_null(strstr(header, "Copy"));
    assert_string_equal(mended(f, arena_printf(f->arena, "%s%send\n", header, sample), edits), text);
    assert_int_equal(checked(f, text)->list.len, 0);
}

/* ---- the samples ------------------------------------------------------------------------------ */

static void window_and_sink(void **state)
{
    Fixture *f = *state;

    is_sample(f, "window_sink", block(f, read_text(f, "tests/lang/window_sink.tl"), 1), 0);
}

static void norm_and_backward(void **state)
{
    Fixture *f = *state;
    const char *code = block(f, read_text(f, "tests/lang/rmsnorm_swiglu_and_backward.tl"), 1);
    const char *first = part(f, code, "\n# Kernel 2", false);

    is_sample(f, "rmsnorm_swiglu", first, 1);
    is_sample(f, "attention_backward_kv", part(f, code, "# Kernel 2", true), 1);
}

/* Its tiles were made for another target: the checker says what does not fit, and
 * how many rows of the largest would. */
static void latent_attention(void **state)
{
    Fixture *f = *state;
    const char *code = block(f, read_text(f, "tests/lang/mla_decode_split.tl"), 1);
    const char *text = read_text(f, "tests/lower/mla_decode_split.tl");
    const char *header = part(f, part(f, text, "Kernel partial", true), "# Kernel 1", false);
    const char *first = part(f, code, "\n# Kernel 2", false);
    const Diags *diags = checked(f, arena_printf(f->arena, "%s%send\n", header, first));

    assert_int_equal(diags->list.len, 2);
    assert_int_equal(diags->list.data[0].code, TW0460);
    assert_non_null(strstr(diags->list.data[0].note, "with 32 rows it would fit"));
    assert_int_equal(diags->list.data[1].code, TW0461);
    code = replaced(f, code, "KV in shared (2, 64, ", "KV in shared (2, 32, ", 1);
    code = replaced(f, code, "KV (64, ", "KV (32, ", 2);
    code = replaced(f, code, "len, 64", "len, 32", 2);
    code = replaced(f, code, "S in register (64, 64)", "S in register (64, 32)", 1);
    code = replaced(f, code, "P in register (64, 64)", "P in register (64, 32)", 1);
    code = replaced(f, code, "P_sh in register (64, 64)", "P_sh in register (64, 32)", 1);
    code = replaced(f, code, "P_sh in shared (64, 64)", "P_sh in shared (64, 32)", 1);
    code = replaced(f, code, "P_sh (64, 64)", "P_sh (64, 32)", 1);
    code = replaced(f, code, "i * 64 + 64 > len", "i * 32 + 32 > len", 1);
    code = replaced(f, code, "i * 64 + j", "i * 32 + j", 1);
    assert_non_null(strstr(text, part(f, code, "\n# Kernel 2", false)));
    assert_non_null(strstr(text, part(f, code, "# Kernel 2", true)));
    assert_int_equal(checked(f, text)->list.len, 0);
}

/* ---- the manual --------------------------------------------------------------------------------- */

/* One example of a whole unit: a definition has a meaning, a kernel nothing to complain of. */
static void is_right(Fixture *f, const char *example)
{
    Source *source = arena_new_of(f->arena, Source);
    Settings settings = {.dtype = DT_BF16};
    CheckOptions options = {.target = target_find("sm_80"), .settings = &settings};
    Syms *syms = syms_new(f->arena);
    Diags *diags;
    Program *program;

    *source = (Source){.path = "docs/language.md", .text = example, .len = strlen(example)};
    diags = diags_new(f->arena, source);
    program = lang_parse(f->arena, syms, source, diags);
    for (int i = 0; i < program->units.len; i++) {
        Unit *unit = program->units.data[i];

        if (unit->kind == UNIT_KERNEL && check_is_sketch(unit))
            unit_say_sides(f->arena, unit);
        if (unit->kind == UNIT_OPERATOR)
            def_resolve(f->arena, syms, aff_ctx_new(f->arena), program, unit, &settings, diags);
        else if (unit->kind == UNIT_KERNEL)
            check_code(f->arena, syms, program, unit, &options, diags);
    }
    diags_print(diags, stderr, false);
    assert_int_equal(diags->list.len, 0);
}

static void the_manual(void **state)
{
    Fixture *f = *state;
    const char *at = read_text(f, "docs/language.md");
    int units = 0;

    while ((at = strstr(at, "\n```tl\n"))) {
        const char *start = at + 7, *end = strstr(start, "```\n");
        const char *example = arena_strndup(f->arena, start, (size_t)(end - start));

        units += strncmp(example, "Operator", 8) == 0 || strncmp(example, "Kernel", 6) == 0;
        is_right(f, example);
        at = end;
    }
    assert_true(units >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(window_and_sink), TEST(norm_and_backward), TEST(latent_attention), TEST(the_manual),
    };
    return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
