/* places.c: charts of places that are no numbers: bars, dots. */
#include "report/chart.h"

enum {
    WIDTH = 360,
    MARGIN = 4,
    BAR = 12,
    BAR_LABEL = 50,    /* room for the figure behind a bar */
    PLACE_HEIGHT = 15, /* its name above its bars */
    GAP = 7,
    AXIS = 20,
    NAME_WIDTH = 140, /* of places beside their dots */
    ROW = 20,
    NAME_LETTERS = 50,
    SHORT_LETTERS = 22
};

static const ChartPoint *point_of(const ChartSeries *s, int place)
{
    for (int i = 0; i < s->points.len; i++)
        if ((int)s->points.data[i].x == place)
            return &s->points.data[i];
    return NULL;
}

static void put_name(Arena *arena, const Chart *chart, int place, double y, int letters, Str *out)
{
    str_printf(out, "<text class=\"place\" x=\"%d\" y=\"%.1f\">", MARGIN, y);
    chart_text(arena, out, chart->places.data[place], letters);
    str_add(out, "</text>");
}

/* ---- bars --------------------------------------------------------------------------- */

static int bars_of(const Chart *chart, int place)
{
    int n = 0;

    for (int i = 0; i < chart->series.len; i++)
        n += point_of(&chart->series.data[i], place) != NULL;
    return n;
}

static void put_bar(Arena *arena, const Chart *chart, const ChartSeries *s, const ChartPoint *p, const Scale *x,
                    double y, Str *out)
{
    double end = chart_at(x, p->y);

    str_add(out, "<g class=\"");
    chart_style(s->style, out);
    str_printf(out, "\"><rect x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" rx=\"1.5\"><title>", MARGIN, y,
               end - MARGIN, BAR - 2);
    html_text(out, p->hover);
    str_printf(out, "</title></rect><text class=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", end + 5, y + 9,
               chart_value(arena, chart->format, p->y, p->y < 10 ? 0.01 : p->y < 100 ? 0.1 : 1));
}

void chart_bars(Arena *arena, const Chart *chart, Str *out)
{
    Scale x = chart_scale(chart, true, 4);
    int height = 0;
    double y = 0;

    x.from = MARGIN;
    x.to = WIDTH - BAR_LABEL;
    for (int i = 0; i < chart->places.len; i++)
        height += PLACE_HEIGHT + bars_of(chart, i) * BAR + GAP;
    chart_begin(chart, height, out);
    for (int i = 0; i < chart->places.len; i++) {
        put_name(arena, chart, i, y + 11, NAME_LETTERS, out);
        y += PLACE_HEIGHT;
        for (int k = 0; k < chart->series.len; k++) {
            const ChartPoint *p = point_of(&chart->series.data[k], i);

            if (!p)
                continue;
            put_bar(arena, chart, &chart->series.data[k], p, &x, y, out);
            y += BAR;
        }
        y += GAP;
    }
    chart_end(out);
}

/* ---- dots --------------------------------------------------------------------------- */

static void put_axis(Arena *arena, const Chart *chart, const Scale *x, int bottom, Str *out)
{
    int n = (int)((x->high - x->low) / x->step + 0.5);

    str_add(out, "<g class=\"grid x\">");
    for (int i = 0; i <= n; i++) {
        double value = x->low + i * x->step, at = chart_at(x, value);

        str_printf(out, "<path d=\"M%.1f 4V%d\"/><text x=\"%.1f\" y=\"%d\">%s</text>", at, bottom,
                   at, bottom + 14, chart_value(arena, chart->format, value, x->step));
    }
    str_add(out, "</g>");
    if (chart->reference > 0)
        str_printf(out, "<path class=\"one\" d=\"M%.1f 4V%d\"/>", chart_at(x, chart->reference), bottom);
}

void chart_dots(Arena *arena, const Chart *chart, Str *out)
{
    Scale x = chart_scale(chart, chart->format != FORMAT_RATIO, 4);
    int bottom = chart->places.len * ROW + 4;

    x.from = NAME_WIDTH + 10;
    x.to = WIDTH - 14;
    chart_begin(chart, bottom + AXIS, out);
    put_axis(arena, chart, &x, bottom, out);
    for (int i = 0; i < chart->places.len; i++)
        put_name(arena, chart, i, i * ROW + 18, SHORT_LETTERS, out);
    for (int k = chart->series.len - 1; k >= 0; k--) {
        const ChartSeries *s = &chart->series.data[k];

        str_add(out, "<g class=\"");
        chart_style(s->style, out);
        str_add(out, "\">");
        for (int i = 0; i < s->points.len; i++)
            chart_mark(s, &s->points.data[i], chart_at(&x, s->points.data[i].y), s->points.data[i].x * ROW + 14, out);
        str_add(out, "</g>\n");
    }
    chart_end(out);
}
