/* figures.c: the charts and tables of the page. */
#include "report/page.h"

/* ---- charts ------------------------------------------------------------------------- */

typedef enum Quantity { OF_RATE, OF_RATIO, OF_USE } Quantity;

static double quantity_of(const Timed *t, Quantity q)
{
    switch (q) {
    case OF_RATE: return t->figures.rate;
    case OF_RATIO: return t->figures.ratio;
    case OF_USE: return t->figures.use;
    }
    return 0;
}

/* What a point says when it is pointed at. */
static const char *hover_of(Arena *arena, const Results *results, const Case *c, const Cell *cell, const Timed *t,
                            Quantity q)
{
    const Figures *f = &t->figures;
    const char *who = results->contestants.data[t->contestant].label, *ours = results->contestants.data[0].label;

    switch (q) {
    case OF_RATE:
        return arena_printf(arena, "%s, %s: %.4g %s, %.4g ms (%.4g to %.4g)", who, cell->at, f->rate,
                            work_unit(c->work), f->ms, f->least, f->most);
    case OF_RATIO:
        return arena_printf(arena, "%s: %s %.3f times %s (%.3f to %.3f)", cell->at, ours, f->ratio, who,
                            f->ratio_least, f->ratio_most);
    case OF_USE: return arena_printf(arena, "%s, %s: %.1f%% at %.0f MHz", who, cell->at, f->use * 100, f->mhz);
    }
    return "";
}

static void add_series(Arena *arena, Chart *chart, const Results *results, const Case *c, int who, Quantity q)
{
    ChartSeries s = {.style = who, .label = results->contestants.data[who].label};
    bool line = case_is_line(c);

    for (int i = 0; i < c->cells.len; i++) {
        const Cell *cell = &c->cells.data[i];
        const Timed *t = cell_timed(cell, who);

        if (!t || cell->wrong || !(quantity_of(t, q) > 0))
            continue;
        vec_push(arena, &s.points,
                 (ChartPoint){line ? cell->x : i, quantity_of(t, q), hover_of(arena, results, c, cell, t, q)});
    }
    if (s.points.len)
        vec_push(arena, &chart->series, s);
}

static Chart chart_of(Arena *arena, const Results *results, const Case *c, Quantity q)
{
    static const char *const what[] = {"rate", "ratio", "utilisation of the tensor cores"};
    static const ChartFormat formats[] = {FORMAT_RATE, FORMAT_RATIO, FORMAT_PERCENT};
    Chart chart = {.axis = c->axis, .format = formats[q], .reference = q == OF_RATIO ? 1 : 0};

    chart.title = arena_printf(arena, "%s: %s over %s; the table has the figures", c->name, what[q], c->axis);
    for (int i = 0; i < c->cells.len; i++)
        vec_push(arena, &chart.places, c->cells.data[i].at);
    for (int i = 0; i < results->contestants.len; i++)
        add_series(arena, &chart, results, c, i, q);
    return chart;
}

static void put_caption(const Results *results, const Case *c, Quantity q, Str *out)
{
    switch (q) {
    case OF_RATE: str_add(out, work_unit(c->work)); break;
    case OF_RATIO:
        str_add(out, "Ratio: ");
        html_text(out, results->contestants.data[0].label);
        str_add(out, " over each peer");
        break;
    case OF_USE: str_add(out, "Utilisation at the clock of the moment"); break;
    }
}

static void put_chart(Arena *arena, const Results *results, const Case *c, Quantity q, Str *out)
{
    Chart chart = chart_of(arena, results, c, q);

    if (!chart.series.len)
        return;
    str_add(out, "<figure><figcaption>");
    put_caption(results, c, q, out);
    str_add(out, "</figcaption>");
    if (case_is_line(c))
        chart_lines(arena, &chart, out);
    else if (q == OF_RATE)
        chart_bars(arena, &chart, out);
    else
        chart_dots(arena, &chart, out);
    str_add(out, "</figure>\n");
}

void page_charts(Arena *arena, const Results *results, const Case *c, Str *out)
{
    str_add(out, "<div class=\"charts\">\n");
    put_chart(arena, results, c, OF_RATE, out);
    put_chart(arena, results, c, OF_RATIO, out);
    put_chart(arena, results, c, OF_USE, out);
    str_add(out, "</div>\n");
}

/* ---- tables ------------------------------------------------------------------------- */

static void put_head(Str *out, const char *text, bool words)
{
    str_add(out, words ? "<th scope=\"col\" class=\"w\">" : "<th scope=\"col\">");
    html_text(out, text);
    str_add(out, "</th>");
}

/* A table that is wider than the screen scrolls by itself. */
static void begin_table(Str *out, const char *label, const char *caption)
{
    str_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    html_text(out, label);
    str_add(out, "\"><table><caption><span>");
    html_text(out, caption);
    str_add(out, "</span></caption>\n<thead><tr>");
}

static void put_optional(Str *out, const char *format, double value)
{
    str_add(out, "<td>");
    if (value > 0)
        str_printf(out, format, value); /* one of the callers' own */
    str_add(out, "</td>");
}

static void put_first(const Cell *cell, int rows, Str *out)
{
    str_printf(out, "<th scope=\"row\" class=\"w\" rowspan=\"%d\">", rows);
    html_text(out, cell->at);
    if (cell->shape || cell->data) {
        str_add(out, "<small>");
        html_text(out, cell->shape ? cell->shape : cell->data);
        if (cell->shape && cell->data) {
            str_add(out, ", ");
            html_text(out, cell->data);
        }
        str_add(out, "</small>");
    }
    str_add(out, "</th>");
}

static void put_row(const Results *results, const Case *c, const Timed *t, Str *out)
{
    const Figures *f = &t->figures;

    str_add(out, "<td class=\"w\">");
    html_text(out, results->contestants.data[t->contestant].label);
    str_printf(out, "</td><td>%.4g</td><td>%.4g \xe2\x80\x93 %.4g</td>", f->ms, f->least, f->most);
    put_optional(out, f->rate < 10 ? "%.2f" : "%.1f", f->rate);
    if (results->contestants.len > 1)
        put_optional(out, "%.3f", f->ratio);
    if (c->work == WORK_FLOPS) {
        put_optional(out, "%.0f%%", f->use * 100);
        put_optional(out, "%.0f", f->mhz);
    }
    str_add(out, "</tr>\n");
}

static void put_cell(const Results *results, const Case *c, const Cell *cell, int columns, Str *out)
{
    const char *trouble = cell->error ? cell->error : cell->wrong ? "the result is wrong" : cell->timed.len ? NULL : "not timed";

    str_add(out, "<tr>");
    put_first(cell, cell->timed.len + (trouble != NULL), out);
    if (trouble) {
        str_printf(out, "<td class=\"w bad\" colspan=\"%d\">", columns - 1);
        html_text(out, trouble);
        str_add(out, "</td></tr>\n");
    }
    for (int i = 0; i < cell->timed.len; i++) {
        if (i || trouble)
            str_add(out, "<tr>");
        put_row(results, c, &cell->timed.data[i], out);
    }
}

void page_table(Arena *arena, const Results *results, const Case *c, Str *out)
{
    int columns = 5 + (results->contestants.len > 1) + (c->work == WORK_FLOPS ? 2 : 0);
    const char *caption = arena_printf(arena, "%s; times are medians, with the least and the most of the rounds",
                                       c->name);

    str_add(out, "<details><summary>Figures of ");
    html_text(out, c->name);
    str_add(out, "</summary>");
    begin_table(out, c->name, caption);
    put_head(out, *c->axis ? c->axis : "shape", true);
    put_head(out, "contestant", true);
    put_head(out, "ms", false);
    put_head(out, "least \xe2\x80\x93 most", false);
    put_head(out, work_unit(c->work), false);
    if (results->contestants.len > 1)
        put_head(out, "ratio", false);
    if (c->work == WORK_FLOPS) {
        put_head(out, "utilised", false);
        put_head(out, "MHz", false);
    }
    str_add(out, "</tr></thead>\n<tbody>\n");
    for (int i = 0; i < c->cells.len; i++)
        put_cell(results, c, &c->cells.data[i], columns, out);
    str_add(out, "</tbody></table></div></details>\n");
}

/* ---- the overview ------------------------------------------------------------------- */

/* The index of a place, which is added where it is not there yet. */
static int place_of(Arena *arena, Chart *chart, const char *name)
{
    for (int i = 0; i < chart->places.len; i++)
        if (chart->places.data[i] == name)
            return i;
    vec_push(arena, &chart->places, name);
    return chart->places.len - 1;
}

static Chart means_chart(Arena *arena, const Results *results)
{
    Chart chart = {.title = "Geometric means of the ratios, by case; the table has the figures",
                   .axis = "",
                   .format = FORMAT_RATIO,
                   .reference = 1};

    for (int p = 1; p < results->contestants.len; p++) {
        ChartSeries s = {.style = p, .label = results->contestants.data[p].label};

        for (int i = 0; i < results->cases.len; i++) {
            const Case *c = &results->cases.data[i];
            int cells;
            double mean = case_mean(c, p, &cells);

            if (cells)
                vec_push(arena, &s.points,
                         (ChartPoint){place_of(arena, &chart, c->name), mean,
                                      arena_printf(arena, "%s over %s: %.3f (%d shapes)", c->name, s.label, mean,
                                                   cells)});
        }
        if (s.points.len)
            vec_push(arena, &chart.series, s);
    }
    return chart;
}

/* The best rate and use of ours. */
static void find_best(const Case *c, double *rate, double *use)
{
    *rate = *use = 0;
    for (int i = 0; i < c->cells.len; i++) {
        const Timed *t = cell_timed(&c->cells.data[i], 0);

        if (!t || c->cells.data[i].wrong)
            continue;
        *rate = t->figures.rate > *rate ? t->figures.rate : *rate;
        *use = t->figures.use > *use ? t->figures.use : *use;
    }
}

static void put_overview_row(const Results *results, const Case *c, Str *out)
{
    double rate, use;
    int bad = case_bad(c);

    find_best(c, &rate, &use);
    str_add(out, "<tr><th scope=\"row\" class=\"w\">");
    html_text(out, c->name);
    str_add(out, "</th>");
    for (int p = 1; p < results->contestants.len; p++) {
        int cells;

        put_optional(out, "%.3f", case_mean(c, p, &cells));
    }
    str_printf(out, "<td>%.*f %s</td>", rate < 10 ? 2 : 0, rate, work_unit(c->work));
    put_optional(out, "%.0f%%", use * 100);
    str_printf(out, "<td>%d", c->cells.len);
    if (bad)
        str_printf(out, " <span class=\"bad\">(%d not well)</span>", bad);
    str_add(out, "</td></tr>\n");
}

void page_overview(Arena *arena, const Results *results, Str *out)
{
    Chart chart = means_chart(arena, results);

    str_add(out, "<div class=\"overview\">\n");
    if (chart.series.len) {
        str_add(out, "<figure><figcaption>Ratio: geometric mean, by case</figcaption>");
        chart_dots(arena, &chart, out);
        str_add(out, "</figure>\n");
    }
    begin_table(out, "all cases", "All cases: the best of ours, and the geometric mean of its ratio to each peer; above 1, "
                                  "ours is faster");
    put_head(out, "case", true);
    for (int p = 1; p < results->contestants.len; p++)
        put_head(out, arena_printf(arena, "over %s", results->contestants.data[p].label), false);
    put_head(out, "best rate", false);
    put_head(out, "best use", false);
    put_head(out, "shapes", false);
    str_add(out, "</tr></thead>\n<tbody>\n");
    for (int i = 0; i < results->cases.len; i++)
        put_overview_row(results, &results->cases.data[i], out);
    str_add(out, "</tbody></table></div></div>\n");
}
