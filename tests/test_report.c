/* test_report.c: results from JSON and back, their figures, the table, the page:
 * well-formed whatever the names are. */
#include "fixture.h"
#include "report/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#include "texts.h"

static Results *read_text(Fixture *f, const char *text)
{
    Diags *diags = diags_new(f->arena, NULL);
    Results *results = results_read(f->arena, source_of(f->arena, "r.json", text), diags);

    if (!results)
        fail_msg("%s", diags->list.data[0].message);
    return results;
}

static const char small[] =
    "{\"tilewright_results\": 1, \"benchmark\": \"b\", \"rounds\": 3, \"flops_per_clock\": 1e6,\n"
    " \"conditions\": {\"gpu\": \"G\", \"sms\": 2, \"fa3\": false, \"power\": 1.5, \"none\": null},\n"
    " \"contestants\": [{\"name\": \"ours\"}, {\"name\": \"p\", \"label\": \"Peer\"}],\n"
    " \"cells\": [\n"
    "  {\"case\": \"c\", \"axis\": \"n\", \"x\": 512, \"flops\": 1e9, \"more\": [1], \"times\": {\n"
    "   \"p\": {\"ms\": [4, 8, 6]}, \"ours\": {\"ms\": [2, 2, 2], \"mhz\": [1000, null, 1000]}}},\n"
    "  {\"case\": \"c\", \"x\": 16384, \"times\": {\n"
    "   \"ours\": {\"ms\": [1, 3], \"flops\": 1e9}, \"p\": {\"ms\": [1, 1, 1], \"flops\": 2e9}}},\n"
    "  {\"case\": \"c\", \"x\": 7, \"error\": \"lost\"},\n"
    "  {\"case\": \"d\", \"x\": \"a x b\", \"bytes\": 1e6, \"ok\": false, \"times\": {\"ours\": {\"ms\": [1]}}}]}";

static void close_to(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g is not %.12g", got, want);
}

static void figures_follow_from_times(void **state)
{
    const Results *r = read_text(*state, small);
    const Case *c = &r->cases.data[0];
    const Figures *ours = &cell_timed(&c->cells.data[0], 0)->figures, *peer = &cell_timed(&c->cells.data[0], 1)->figures;
    int cells;

    assert_int_equal(r->cases.len, 2);
    assert_int_equal(c->cells.data[0].timed.data[0].contestant, 0);
    close_to(ours->ms, 2);
    close_to(ours->rate, 0.5);
    close_to(ours->mhz, 1000);
    close_to(ours->use, 0.5 / (1000 * 1e6 * 1e-6));
    assert_true(ours->ratio == 0);
    close_to(peer->ratio, 3);
    close_to(peer->ratio_least, 2);
    close_to(peer->ratio_most, 4);
    assert_true(peer->use == 0);
    /* Rounds that are not of the same moments: of the medians, and of the work of each. */
    close_to(cell_timed(&c->cells.data[1], 1)->figures.ratio, 0.25);
    close_to(case_mean(c, 1, &cells), sqrt(3 * 0.25));
    assert_int_equal(cells, 2);
    assert_int_equal(case_bad(c), 1);
    assert_int_equal(results_bad(r), 2);
    assert_true(case_is_line(c) && !case_is_line(&r->cases.data[1]));
    close_to(cell_timed(&r->cases.data[1].cells.data[0], 0)->figures.rate, 1);
}

static const char *json_of(Fixture *f, const Results *r)
{
    Str out = str_new(f->arena);

    results_json(r, &out);
    return str_text(&out);
}

static void json_reads_back(void **state)
{
    const char *once = json_of(*state, read_text(*state, small));

    assert_string_equal(json_of(*state, read_text(*state, once)), once);
    assert_non_null(strstr(once, "\"ok\": false"));
    assert_non_null(strstr(once, "\"sms\": 2"));
    assert_non_null(strstr(once, "\"gpu\": \"G\""));
}

/* TW0904, with what is wrong by its place. */
static void wrong_results_are_told(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } rows[] = {
        {"{", "[", "not JSON"},
        {"\"tilewright_results\": 1,", "", "no record of a benchmark"},
        {"results\": 1", "results\": 2", "is not 1"},
        {"\"benchmark\": \"b\",", "", "benchmark is missing"},
        {"\"benchmark\": \"b\"", "\"benchmark\": 3", "benchmark is not a string"},
        {"\"rounds\": 3", "\"rounds\": -3", "rounds is not a positive number"},
        {"\"sms\": 2", "\"sms\": [2]", "conditions.sms"},
        {"\"conditions\": {", "\"conditions\": 1, \"x\": {", "conditions is not an object"},
        {"\"name\": \"p\"", "\"name\": \"ours\"", "there is another 'ours'"},
        {"\"name\": \"p\"", "\"nam\": \"p\"", "contestants[1].name is missing"},
        {"\"cells\"", "\"sells\"", "cells is missing"},
        {"\"case\": \"c\",", "", "cells[0].case is missing"},
        {"\"x\": 512,", "", "cells[0].x is missing"},
        {"\"x\": 512", "\"x\": {}", "cells[0].x is neither"},
        {"\"flops\": 1e9,", "", "cells[0].times.p.ms: neither here nor in its cell"},
        {"\"flops\": 1e9,", "\"flops\": 1e9, \"bytes\": 1,", "only one of them"},
        {"\"ms\": [4, 8, 6]", "\"ms\": [4, -8, 6]", "cells[0].times.p.ms[1] is not a positive number"},
        {"\"ms\": [4, 8, 6]", "\"ms\": []", "ms is empty"},
        {"\"ms\": [4, 8, 6]", "\"ms\": 4", "ms is not a list"},
        {"[1000, null, 1000]", "[1000]", "mhz has 1 entries, and ms 3"},
        {"\"p\": {\"ms\": [4", "\"q\": {\"ms\": [4", "'q' is none of the contestants"},
        {"\"flops\": 2e9", "\"bytes\": 2e9", "some count flops, others bytes"},
        {"\"case\": \"d\"", "\"case\": \"c\"", "its case counts flops elsewhere"},
        {"\"ok\": false", "\"ok\": 0", "ok is neither"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(rows); i++) {
        const char *wrong = replaced(f->arena, small, rows[i].from, rows[i].to);
        Diags *diags = diags_new(f->arena, NULL);

        assert_null(results_read(f->arena, source_of(f->arena, "r.json", wrong), diags));
        assert_int_equal(diags->errors, 1);
        assert_int_equal(diags->list.data[0].code, TW0904);
        if (!strstr(diags->list.data[0].message, rows[i].message))
            fail_msg("%s: %s", rows[i].to, diags->list.data[0].message);
    }
}

/* Cut anywhere, it is refused and nothing worse. */
static void cut_results_are_told(void **state)
{
    Fixture *f = *state;

    for (size_t n = 0; n < strlen(small); n += 3) {
        const Source *source = source_of(f->arena, "r.json", arena_strndup(f->arena, small, n));

        assert_null(results_read(f->arena, source, diags_new(f->arena, NULL)));
    }
}

/* ---- the page ----------------------------------------------------------------------- */

enum { MOST_DEPTH = 64 };

/* One tag: `<`, name, attributes with quoted values, `>` or `/>`. NULL: it is none. */
static const char *scan_tag(const char *at, char *name, bool *closing, bool *empty)
{
    size_t n;

    *closing = *++at == '/';
    at += *closing;
    n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (n == 0 || n > 30)
        return NULL;
    memcpy(name, at, n);
    name[n] = '\0';
    for (at += n; *at == ' ';) {
        at += strspn(at, " ");
        at += strspn(at, "abcdefghijklmnopqrstuvwxyzB-");
        if (at[0] != '=' || at[1] != '"')
            return NULL;
        at += 2 + strcspn(at + 2, "\"<>");
        if (*at++ != '"')
            return NULL;
    }
    *empty = *at == '/';
    at += *empty;
    return *at == '>' ? at + 1 : NULL;
}

static bool entity(const char *at)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    for (size_t i = 0; i < TW_COUNT(known); i++)
        if (strncmp(at, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

/* Tags in pairs, all else escaped, nothing but UTF-8. */
static void assert_well_formed(const char *page)
{
    char open[MOST_DEPTH][32], name[32];
    const char *at = page + strlen("<!DOCTYPE html>");
    int depth = 0;

    assert_int_equal(strncmp(page, "<!DOCTYPE html>", 15), 0);
    while (*at) {
        bool closing = false, empty = false;

        if (*at != '<') {
            if (utf8_length(at) == 0 || (*at == '&' && !entity(at)) || *at == '>')
                fail_msg("not text: %.60s", at);
            at += utf8_length(at);
            continue;
        }
        const char *next = scan_tag(at, name, &closing, &empty);
        if (!next)
            fail_msg("no tag: %.60s", at);
        if (closing && (depth == 0 || strcmp(open[--depth], name) != 0))
            fail_msg("not open: %.60s", at);
        if (!closing && !empty) {
            assert_true(depth < MOST_DEPTH);
            strcpy(open[depth++], name);
        }
        at = next;
        if (strcmp(name, "style") == 0 && !closing)
            at = strstr(at, "</style>");
    }
    assert_int_equal(depth, 0);
}

static const char *page_of(Fixture *f, Results *r)
{
    Str page = str_new(f->arena);

    results_finish(f->arena, r);
    report_html(f->arena, &r, 1, &page);
    return str_text(&page);
}

static const char hostile[] = "<script>alert('x')</script>\"&amp;\xe2\x80\xae\x1b[31m\xff</style><!--";

static Results *hostile_results(Fixture *f, int contestants, bool numeric)
{
    Results *r = arena_new_of(f->arena, Results);
    Case *c;

    *r = (Results){.benchmark = hostile, .commit = hostile, .date = hostile, .data = hostile, .rounds = 1,
                   .flops_per_clock = 1e6};
    vec_push(f->arena, &r->conditions, (Fact){hostile, hostile, false});
    vec_push(f->arena, &r->notes, hostile);
    for (int i = 0; i < contestants; i++)
        vec_push(f->arena, &r->contestants, (Contestant){hostile, hostile});
    c = results_case(f->arena, r, hostile, hostile, WORK_FLOPS);
    for (int k = 0; k < 5; k++) {
        static double ms[] = {1, 2, 3, 4, 5}, mhz[] = {1, 2, 3, 4, 5};
        Cell cell = {.numeric = numeric, .x = k * 100, .at = hostile, .shape = hostile, .data = hostile,
                     .error = k == 3 ? hostile : NULL, .wrong = k == 4};

        for (int i = 0; i < contestants; i++)
            vec_push(f->arena, &cell.timed,
                     (Timed){.contestant = i, .rounds = 1, .ms = &ms[(i + k) % 5], .mhz = &mhz[k], .work = 1e9});
        vec_push(f->arena, &c->cells, cell);
    }
    return r;
}

/* Nothing that a name says becomes markup. */
static void hostile_names_are_text(void **state)
{
    Fixture *f = *state;

    for (int contestants = 0; contestants <= 12; contestants += 3) {
        for (int numeric = 0; numeric < 2; numeric++) {
            const char *page = page_of(f, hostile_results(f, contestants, numeric));

            assert_well_formed(page);
            assert_null(strstr(page, "<script"));
            assert_null(strstr(page, "<!--"));
            assert_null(strstr(page, "\x1b"));
            assert_null(strstr(page, "\xe2\x80\xae"));
            assert_non_null(strstr(page, "&lt;script&gt;alert(&#39;x&#39;)"));
            assert_null(strstr(page, "nan"));
            assert_null(strstr(page, "inf\""));
        }
    }
}

/* The page asks for nothing: no address of anywhere, no script. */
static void page_stands_alone(void **state)
{
    const char *page = page_of(*state, read_text(*state, small));

    assert_well_formed(page);
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    assert_null(strstr(page, "url("));
    assert_null(strstr(page, "<script"));
    assert_non_null(strstr(page, "default-src &#39;none&#39;") ? page : strstr(page, "default-src 'none'"));
    assert_non_null(strstr(page, "prefers-color-scheme:dark"));
    assert_non_null(strstr(page, "name=\"viewport\""));
    assert_non_null(strstr(page, "<caption>"));
    assert_non_null(strstr(page, "<th scope=\"col\""));
    assert_non_null(strstr(page, "<th scope=\"row\""));
    assert_non_null(strstr(page, "<dt>gpu</dt><dd>G</dd>"));
}

/* Numbers that somebody made up, of any size, along any axis. */
static void strange_numbers_are_drawn(void **state)
{
    static const char *const numbers[] = {"1e-299", "1e299", "1", "1e-9", "123456789", "7e17"};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_COUNT(numbers); i++) {
        for (size_t k = 0; k < TW_COUNT(numbers); k++) {
            const char *text = arena_printf(
                f->arena,
                "{\"tilewright_results\": 1, \"benchmark\": \"b\", \"flops_per_clock\": %s, \"contestants\": "
                "[{\"name\": \"a\"}, {\"name\": \"b\"}], \"cells\": [{\"case\": \"c\", \"x\": -%s, \"flops\": %s, "
                "\"times\": {\"a\": {\"ms\": [%s], \"mhz\": [%s]}, \"b\": {\"ms\": [1]}}}, {\"case\": \"c\", "
                "\"x\": %s, \"flops\": 1, \"times\": {\"a\": {\"ms\": [2]}, \"b\": {\"ms\": [%s]}}}]}",
                numbers[i], numbers[k], numbers[i], numbers[k], numbers[i], numbers[k], numbers[i]);
            Results *r = read_text(f, text);
            const char *page = page_of(f, r);
            Str table = str_new(f->arena);

            assert_well_formed(page);
            assert_null(strstr(page, "nan"));
            assert_null(strstr(page, "inf"));
            results_table(f->arena, r, true, &table);
            assert_null(strstr(str_text(&table), "nan"));
        }
    }
}

/* ---- the terminal ------------------------------------------------------------------- */

static void table_has_the_figures(void **state)
{
    Fixture *f = *state;
    Str out = str_new(f->arena), coloured = str_new(f->arena);
    const Results *r = read_text(f, small);

    results_table(f->arena, r, false, &out);
    results_table(f->arena, r, true, &coloured);
    assert_null(strstr(str_text(&out), "\033"));
    assert_non_null(strstr(str_text(&coloured), "\033[32m3.000\033[0m"));
    assert_non_null(strstr(str_text(&out), "\n  512  ours               2    0.0     0.50       0%  1000\n"));
    assert_non_null(strstr(str_text(&out), "\n       Peer               6   33.3     0.17        -     -  3.000\n"));
    assert_non_null(strstr(str_text(&out), "    7  lost\n"));
    assert_non_null(strstr(str_text(&out), "geometric mean over Peer: 0.866 (2 shapes)"));
    assert_non_null(strstr(str_text(&out), "  a x b  WRONG\n"));
    assert_non_null(strstr(str_text(&out), "GB/s"));
}

/* Nor does it steer the terminal: what is read is cleaned. */
static void table_is_not_steered(void **state)
{
    Fixture *f = *state;
    Str out = str_new(f->arena);
    const char *text = replaced(f->arena, small, "\"case\": \"d\"", "\"case\": \"\\u001b[2J\\u202e\\r\"");

    results_table(f->arena, read_text(f, text), false, &out);
    assert_null(strstr(str_text(&out), "\033"));
    assert_null(strchr(str_text(&out), '\r'));
    assert_non_null(strstr(str_text(&out), "\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(figures_follow_from_times), TEST(json_reads_back),        TEST(wrong_results_are_told),
        TEST(cut_results_are_told),      TEST(hostile_names_are_text), TEST(page_stands_alone),
        TEST(strange_numbers_are_drawn), TEST(table_has_the_figures),
        TEST(table_is_not_steered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
