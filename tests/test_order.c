/* test_order.c: the emitter asks for one thing at a time. C leaves open in which order
 * the arguments of a call are evaluated, so two of them that both take registers or write
 * instructions would number registers as the compiler of this program likes, and the same
 * code would become other PTX. No call and no list of initial values in src/ptx has two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Functions of the emitter that change nothing, or whose order cannot show. */
static const char *const PURE[] = {"em_name", "em_level", "em_f32", "ix_level", "kn_param", "sh_view", "fr_words", "f8_is",
                                   "lo_lineage", "lo_local", "lo_place_axis", "rw_number", "lo_place_drop_implied"};

static char text[1 << 20];

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Blanks instead of comments and of what stands in quotes. */
static void blank(char *t)
{
    for (char *c = t; *c; c++) {
        char close = *c;

        if (c[0] == '/' && c[1] == '*') {
            char *end = strstr(c + 2, "*/");

            for (; end && c < end + 2; c++)
                if (*c != '\n')
                    *c = ' ';
            c--;
        } else if (close == '"' || close == '\'') {
            for (c++; *c && *c != close; c++) {
                if (*c == '\\')
                    *c++ = ' ';
                *c = ' ';
            }
        }
    }
}

/* Names of what calls change, as their first argument: the emitter; where tile IR is
 * written to. */
static bool is_changed(const char *argument)
{
    static const char *const changed[] = {"e", "rw", "&lo->rw", "lo"};

    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        size_t n = strlen(changed[i]);

        if (strncmp(argument, changed[i], n) == 0 && (argument[n] == ',' || argument[n] == ')'))
            return true;
    }
    return false;
}

/* A call that may change it. */
static bool is_effect(const char *from, const char *paren)
{
    const char *name = paren, *inner = paren + 1 + strspn(paren + 1, " ");

    while (name > from && is_letter(name[-1]))
        name--;
    if (name == paren || !is_changed(inner))
        return false;
    for (size_t i = 0; i < sizeof PURE / sizeof *PURE; i++)
        if (strlen(PURE[i]) == (size_t)(paren - name) && strncmp(PURE[i], name, (size_t)(paren - name)) == 0)
            return false;
    return true;
}

/* How many parts of the list that opens here have effects. */
static int parts_with_effects(const char *from, const char *open)
{
    int depth = 0, parts = 0;
    bool counted = false;

    for (const char *c = open; *c; c++) {
        if (*c == '(' || *c == '{' || *c == '[')
            depth++;
        if (*c == ')' || *c == '}' || *c == ']')
            depth--;
        if (depth == 0)
            break;
        if (depth == 1 && *c == ',')
            counted = false;
        if (depth == 1 && *c == ';') /* a block, or the head of a loop */
            return 0;
        if (*c == '(' && c > open && !counted && is_effect(from, c)) {
            counted = true;
            parts++;
        }
    }
    return parts;
}

static bool opens_values(const char *from, const char *brace)
{
    const char *before = brace;

    while (before > from && isspace((unsigned char)before[-1]))
        before--;
    return before > from && (before[-1] == '=' || before[-1] == ')' || before[-1] == '{' || before[-1] == ',') &&
           (before[-1] != ')' || brace[1] != '\n');
}

static int check_file(const char *path)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    int line = 1, found = 0;

    assert_true(n > 0 && n < sizeof text - 1);
    fclose(f);
    text[n] = '\0';
    blank(text);
    for (const char *c = text; *c; c++) {
        line += *c == '\n';
        if ((*c != '(' || c == text || !is_letter(c[-1])) && (*c != '{' || !opens_values(text, c)))
            continue;
        if (parts_with_effects(text, c) < 2)
            continue;
        print_message("%s:%d: two arguments that take registers or write instructions\n", path, line);
        found++;
    }
    return found;
}

static int check_folder(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort), found = 0, files = 0;

    for (int i = 0; i < n; i++) {
        char path[512];
        size_t len = strlen(entries[i]->d_name);

        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (len > 2 && strcmp(entries[i]->d_name + len - 2, ".c") == 0) {
            found += check_file(path);
            files++;
        }
        free(entries[i]);
    }
    free(entries);
    assert_true(files > 5);
    return found;
}

static void one_effect_a_call(void **state)
{
    (void)state;
    assert_int_equal(check_folder("src/ptx") + check_folder("src/pass") + check_folder("src/lower"), 0);
}

/* Of what the test itself makes of calls. */
static void the_test_finds_them(void **state)
{
    (void)state;
    strcpy(text, "em(e, \"%s\", em_new(e, R), ix_value(e, a));");
    blank(text);
    assert_int_equal(parts_with_effects(text, strchr(text, '(')), 2);
    strcpy(text, "em(e, \"%s\", em_name(e, R, 1), ix_value(e, a));");
    assert_int_equal(parts_with_effects(text, strchr(text, '(')), 1);
    strcpy(text, "f(fr_operand(e, v, 1), 3, g(2, em_new(e, R)))");
    assert_int_equal(parts_with_effects(text, strchr(text, '(')), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_effect_a_call),
        cmocka_unit_test(the_test_finds_them),
    };

    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
