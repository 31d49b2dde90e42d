/* test_diags.c: every diagnostic is explained with an example, and provoked by
 * some test: its code stands in a file under tests/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>

#include "base/base.h"
#include "pass/pass.h"

static bool seen[DIAG_CODES];

static void every_code_has_an_example(void **state)
{
    (void)state;
    for (int i = 0; i < DIAG_CODES; i++) {
        const DiagInfo *info = diag_info((DiagCode)i);
        const DiagExample *example = diag_example((DiagCode)i);

        if (!example->wrong || !example->right || !*example->wrong || !*example->right)
            fail_msg("%s has no example in src/base/examples.def", info->name);
        if (strcmp(example->wrong, example->right) == 0)
            fail_msg("the example of %s shows no difference", info->name);
        if (!*info->title || !*info->why)
            fail_msg("%s does not say why", info->name);
    }
}

static void codes_are_sorted(void **state)
{
    (void)state;
    for (int i = 1; i < DIAG_CODES; i++)
        assert_true(strcmp(diag_info((DiagCode)(i - 1))->name, diag_info((DiagCode)i)->name) < 0);
}

static void a_retired_code_is_not_used_again(void **state)
{
    (void)state;
    for (const DiagRetired *r = diag_retired(); r->name; r++) {
        assert_true(r == diag_retired() || strcmp((r - 1)->name, r->name) < 0);
        for (int i = 0; i < DIAG_CODES; i++)
            assert_string_not_equal(diag_info((DiagCode)i)->name, r->name);
    }
}

static void note_codes(const char *text)
{
    for (const char *at = strstr(text, "TW"); at; at = strstr(at + 1, "TW"))
        for (int i = 0; i < DIAG_CODES; i++)
            seen[i] |= strncmp(at, diag_info((DiagCode)i)->name, 6) == 0;
}

static bool ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);

    return n > m && strcmp(name + n - m, ending) == 0;
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    static char line[1 << 16];

    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        note_codes(line);
    fclose(f);
}

static void read_folder(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        char inner[600];

        snprintf(inner, sizeof inner, "%.300s/%.250s", path, name);
        if (ends_with(name, ".c") || ends_with(name, ".tl") || ends_with(name, ".sh"))
            read_file(inner);
        else if (!strchr(name, '.'))
            read_folder(inner);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static void every_code_has_a_failing_test(void **state)
{
    int missing = 0;

    (void)state;
    read_folder("tests");
    for (int i = 0; i < DIAG_CODES; i++)
        if (!seen[i]) {
            print_message("no test provokes %s\n", diag_info((DiagCode)i)->name);
            missing++;
        }
    assert_int_equal(missing, 0);
}

/* The order of passes is fixed, so that it holds is known without running them. */
static void passes_stand_behind_what_they_need(void **state)
{
    int n;
    const Pass *all = pass_all(&n);
    unsigned facts = 0;

    (void)state;
    for (int i = 0; i < n; i++) {
        assert_int_equal(facts & all[i].needs, all[i].needs);
        facts = (facts | all[i].gives) & ~all[i].breaks;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_an_example),
        cmocka_unit_test(codes_are_sorted),
        cmocka_unit_test(a_retired_code_is_not_used_again),
        cmocka_unit_test(every_code_has_a_failing_test),
        cmocka_unit_test(passes_stand_behind_what_they_need),
    };

    return cmocka_run_group_tests_name("diags", tests, NULL, NULL);
}
