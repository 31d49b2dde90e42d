/* html.c: the page: one file that needs nothing else, no network and no script.
 *
 * Names in it come from files of anybody: all text is escaped, and a policy in
 * the page lets it load and run nothing.
 */
#include "report/page.h"

void html_text(Str *out, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const written[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    text = report_text(out->arena, text);
    for (size_t n; *text; text += n) {
        n = strcspn(text, special);
        str_addn(out, text, n);
        if (text[n])
            str_add(out, written[strchr(special, text[n++]) - special]);
    }
}

static void put_head(const char *title, Str *out)
{
    str_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'; img-src data:\"/>\n"
                 "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                 "<link rel=\"icon\" href=\"data:,\"/>\n<title>");
    html_text(out, title);
    str_printf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", report_style);
}

static void put_fact(Str *out, const char *name, const char *value)
{
    if (!value)
        return;
    str_add(out, "<div><dt>");
    html_text(out, name);
    str_add(out, "</dt><dd>");
    html_text(out, value);
    str_add(out, "</dd></div>\n");
}

static void put_conditions(Arena *arena, const Results *r, Str *out)
{
    str_add(out, "<dl>\n");
    put_fact(out, "commit", r->commit);
    put_fact(out, "date", r->date);
    put_fact(out, "data", r->data);
    if (r->rounds)
        put_fact(out, "rounds", arena_printf(arena, "%d, medians shown", r->rounds));
    for (int i = 0; i < r->conditions.len; i++)
        put_fact(out, r->conditions.data[i].name, r->conditions.data[i].value);
    str_add(out, "</dl>\n");
    if (!r->notes.len)
        return;
    str_add(out, "<ul class=\"notes\">\n");
    for (int i = 0; i < r->notes.len; i++) {
        str_add(out, "<li>");
        html_text(out, r->notes.data[i]);
        str_add(out, "</li>\n");
    }
    str_add(out, "</ul>\n");
}

static void put_legend(const Results *r, Str *out)
{
    str_add(out, "<ul class=\"legend\" aria-label=\"contestants\">\n");
    for (int i = 0; i < r->contestants.len; i++) {
        str_add(out, "<li><svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\" class=\"");
        chart_style(i, out);
        str_printf(out, "\"><use href=\"#m%d\"/></svg>", i % CHART_MARKS);
        html_text(out, r->contestants.data[i].label);
        str_add(out, "</li>\n");
    }
    str_add(out, "</ul>\n");
}

static void put_results(Arena *arena, const Results *r, Str *out)
{
    str_add(out, "<section>\n<h2>");
    html_text(out, r->benchmark);
    str_add(out, "</h2>\n");
    put_conditions(arena, r, out);
    if (r->contestants.len)
        put_legend(r, out);
    if (r->cases.len > 1)
        page_overview(arena, r, out);
    for (int i = 0; i < r->cases.len; i++) {
        const Case *c = &r->cases.data[i];

        str_add(out, "<section>\n<h3>");
        html_text(out, c->name);
        str_add(out, "</h3>\n");
        page_charts(arena, r, c, out);
        page_table(arena, r, c, out);
        str_add(out, "</section>\n");
    }
    str_add(out, "</section>\n");
}

void report_html(Arena *arena, Results *const *results, int n, Str *out)
{
    const char *title = n == 1 ? results[0]->benchmark : "Benchmarks";

    put_head(title, out);
    chart_marks(out);
    str_add(out, "<header>\n<h1>Benchmark report</h1>\n<p class=\"dim\">Ratios are above 1 where the first contestant is "
                 "faster. TFLOPS are 10<sup>12</sup> operations a second, GB/s 10<sup>9</sup> bytes a second. "
                 "Utilisation is that rate over what the tensor cores can do at the clock that was measured "
                 "meanwhile.</p>\n</header>\n<main>\n");
    for (int i = 0; i < n; i++)
        put_results(arena, results[i], out);
    str_add(out, "</main>\n<footer>Made by tilewright, tw bench.</footer>\n</body>\n</html>\n");
}
