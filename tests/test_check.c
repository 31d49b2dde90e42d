/* test_check.c: every .tl file of tests/check is checked; its first line says
 * how and what to expect:
 *
 *   # expect: TW0420 7:16, TW0441 9:5; fragment; target sm_80; mended
 *   # expect: nothing
 *
 *   CODE LINE:COLUMN   the diagnostics, all of them, in any order
 *   fragment           names that nothing declares are taken as given
 *   target NAME        its limits are checked
 *   mended             all suggested edits together leave nothing to say
 *   set NAME=VALUE     as --set
 *
 * Every diagnostic has a place, and each suggested edit, made alone, removes the
 * diagnostic and adds none, but for what a statement that was not understood hid. Every code of TW04xx must be expected somewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>

#include "chain/chain.h"

typedef struct Case {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    const char *path;
    const Target *target;
    bool fragment;
    VEC(const char *) sets;
    VEC(const char *) expected; /* "TW0420 7:16" */
    bool mended;
} Case;

/* ---- the first line -------------------------------------------------------------- */

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static void read_option(Case *t, char *option)
{
    if (strcmp(option, "fragment") == 0)
        t->fragment = true;
    else if (strcmp(option, "mended") == 0)
        t->mended = true;
    else if (starts_with(option, "target "))
        t->target = target_find(option + 7);
    else if (starts_with(option, "set "))
        vec_push(t->arena, &t->sets, option + 4);
    else
        fail_msg("%s: unknown option '%s'", t->path, option);
}

static char *next_part(char **rest, const char *separator)
{
    char *part = *rest, *end = part ? strstr(part, separator) : NULL;
    if (end)
        *end = '\0';
    *rest = end ? end + strlen(separator) : NULL;
    return part;
}

static void read_first_line(Case *t, const Source *source)
{
    const char *mark = "# expect: ";
    size_t len = strcspn(source->text, "\n");
    if (!starts_with(source->text, mark))
        fail_msg("%s: the first line must begin with '%s'", t->path, mark);
    char *rest = arena_strndup(t->arena, source->text + strlen(mark), len - strlen(mark));
    char *codes = next_part(&rest, "; ");
    for (char *option = next_part(&rest, "; "); option; option = next_part(&rest, "; "))
        read_option(t, option);
    if (strcmp(codes, "nothing") == 0)
        return;
    for (char *code = next_part(&codes, ", "); code; code = next_part(&codes, ", "))
        vec_push(t->arena, &t->expected, code);
}

/* ---- checking ----------------------------------------------------------------------- */

/* As `tw check` does it. */
static Diags *check_source(Case *t, const Source *source)
{
    Chain *chain = chain_new(t->arena, syms_new(t->arena), aff_ctx_new(t->arena), diags_new(t->arena, source),
                             t->target, DT_BF16);
    chain->edits = true;
    for (int i = 0; i < t->sets.len; i++)
        assert_null(chain_set(chain, t->sets.data[i]));
    bool ok = chain_check(chain, source, t->fragment);
    assert_int_equal(ok, chain->diags->errors == 0);
    return chain->diags;
}

static const char *diag_text(Case *t, const Source *source, const Diag *d)
{
    int line, column;
    source_place(source, d->span.start, &line, &column);
    return arena_printf(t->arena, "%s %d:%d", diag_info(d->code)->name, line, column);
}

static void fail_with(Case *t, const Diags *diags, const char *what)
{
    diags_print(diags, stderr, false);
    for (int i = 0; i < t->expected.len; i++)
        print_message("expected %s\n", t->expected.data[i]);
    fail_msg("%s: %s", t->path, what);
}

static void compare(Case *t, const Source *source, const Diags *diags)
{
    if (diags->list.len != t->expected.len)
        fail_with(t, diags, "other diagnostics than expected");
    for (int i = 0; i < diags->list.len; i++) {
        bool found = false;
        for (int j = 0; j < t->expected.len; j++)
            found |= strcmp(diag_text(t, source, &diags->list.data[i]), t->expected.data[j]) == 0;
        if (!found)
            fail_with(t, diags, "other diagnostics than expected");
    }
}

static int by_place(const void *a, const void *b)
{
    return ((const Fix *)a)->span.start - ((const Fix *)b)->span.start;
}

/* The source with every suggested edit made, or (one >= 0) with one of them. */
static Source *mend(Case *t, const Source *source, const Diags *diags, int one)
{
    Str text = str_new(t->arena);
    Fix *fixes = arena_array(t->arena, Fix, diags->list.len + 1);
    int n = 0, at = 0;
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].fix.text && (one < 0 || i == one))
            fixes[n++] = diags->list.data[i].fix;
    qsort(fixes, (size_t)n, sizeof *fixes, by_place);
    for (int i = 0; i < n; i++) {
        str_addn(&text, source->text + at, (size_t)(fixes[i].span.start - at));
        str_add(&text, fixes[i].text);
        at = fixes[i].span.end;
    }
    str_add(&text, source->text + at);
    Source *mended = arena_new_of(t->arena, Source);
    *mended = (Source){.path = source->path, .text = str_text(&text), .len = text.len};
    return mended;
}

/* What is said of room has numbers, which change with each size. */
static int count_like(const Diags *diags, const Diag *like)
{
    bool room = like->code == TW0460 || like->code == TW0461;
    int n = 0;
    for (int i = 0; i < diags->list.len; i++)
        n += diags->list.data[i].code == like->code && (room || strcmp(diags->list.data[i].message, like->message) == 0);
    return n;
}

/* Where a statement is not understood, nothing is said yet of what the others mean. */
static bool was_hidden(const Diag *about, const Diag *now)
{
    return about->code < TW0210 && now->code >= TW0210;
}

/* An edit that is made removes what it was suggested for, and adds nothing. */
static void check_edits(Case *t, const Source *source, const Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++) {
        const Diag *d = &diags->list.data[i];
        if (!d->fix.text)
            continue;
        Diags *after = check_source(t, mend(t, source, diags, i));
        if (count_like(after, d) >= count_like(diags, d))
            fail_with(t, after, "the suggested edit does not remove what it was suggested for");
        for (int k = 0; k < after->list.len; k++)
            if (!was_hidden(d, &after->list.data[k]) && !count_like(diags, &after->list.data[k]))
                fail_with(t, after, "the suggested edit adds a diagnostic");
    }
}

/* What is said of a place says which. */
static void check_places(Case *t, const Diags *diags)
{
    for (int i = 0; i < diags->list.len; i++)
        if (diags->list.data[i].span.end <= diags->list.data[i].span.start)
            fail_with(t, diags, "a diagnostic has no place");
}

static void run_case(void **state)
{
    const char *path = *state, *error;
    Case *t = &(Case){.path = path};
    t->heap.on_oom = &t->oom;
    if (setjmp(t->oom))
        fail_msg("out of memory");
    t->arena = arena_new(&t->heap);
    t->target = target_default();
    Source *source = source_read(t->arena, path, &error);
    assert_non_null(source);
    read_first_line(t, source);
    Diags *diags = check_source(t, source);
    compare(t, source, diags);
    check_places(t, diags);
    check_edits(t, source, diags);
    if (t->mended) {
        Source *mended = mend(t, source, diags, -1);
        Diags *after = check_source(t, mended);
        if (after->list.len)
            fail_with(t, after, "the suggested edits leave something to say");
    }
    arena_free(t->arena);
}

/* ---- all codes are tested ------------------------------------------------------------------- */

static int is_case(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 3 && strcmp(entry->d_name + len - 3, ".tl") == 0;
}

static void every_code_has_a_failing_program(void **state)
{
    static char text[1 << 16];
    struct dirent **entries;
    int n = scandir("tests/check", &entries, is_case, alphasort);
    size_t used = 0;
    (void)state;
    for (int i = 0; i < n; i++) {
        char path[512], line[256] = "";
        snprintf(path, sizeof path, "tests/check/%s", entries[i]->d_name);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        if (fgets(line, sizeof line, f) && used + strlen(line) + 1 < sizeof text) {
            memcpy(text + used, line, strlen(line));
            used += strlen(line);
        }
        fclose(f);
        free(entries[i]);
    }
    free(entries);
    for (int code = 0; code < DIAG_CODES; code++) {
        const char *name = diag_info((DiagCode)code)->name;
        if (starts_with(name, "TW04") && !strstr(text, name))
            fail_msg("no program under tests/check expects %s", name);
    }
}

int main(void)
{
    struct dirent **entries;
    int n = scandir("tests/check", &entries, is_case, alphasort);
    struct CMUnitTest *tests = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof *tests);
    char(*paths)[300] = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof *paths);
    if (n < 1 || !tests || !paths)
        return 1;
    for (int i = 0; i < n; i++) {
        snprintf(paths[i], sizeof paths[i], "tests/check/%.250s", entries[i]->d_name);
        tests[i] = (struct CMUnitTest){paths[i], run_case, NULL, NULL, paths[i]};
        free(entries[i]);
    }
    free(entries);
    tests[n] = (struct CMUnitTest)cmocka_unit_test(every_code_has_a_failing_program);
    int failed = _cmocka_run_group_tests("check", tests, (size_t)n + 1, NULL, NULL);
    free(tests);
    free(paths);
    return failed;
}
