/* chart.c: lines over numbers, and what all charts share.
 *
 * A chart is 360 units wide and shown at about that many pixels, so its text is
 * readable on a phone; wider screens show more charts beside each other.
 */
#include "report/chart.h"

#include <float.h>
#include <math.h>

enum {
    WIDTH = 360,
    LEFT = 44,
    RIGHT = 66, /* room for labels of lines */
    TOP = 10,
    PLOT = 168,
    BELOW = 36,
    LABEL_HEIGHT = 13,
    TICK_WIDTH = 28,
    MOST_LABELS = 8,
    LABEL_LETTERS = 10
};

/* ---- text --------------------------------------------------------------------------- */

void chart_text(Arena *arena, Str *out, const char *text, int most)
{
    Str cut = str_new(arena);
    int letters = 0;

    for (const char *at = text; *at && letters <= most; letters++)
        at += utf8_length(at) ? utf8_length(at) : 1;
    if (letters <= most) {
        html_text(out, text);
        return;
    }
    for (int i = 0; i < most - 1; i++) {
        int n = utf8_length(text);

        str_addn(&cut, text, (size_t)(n ? n : 1));
        text += n ? n : 1;
    }
    str_add(&cut, "\xe2\x80\xa6"); /* an ellipsis */
    html_text(out, str_text(&cut));
}

/* As many digits behind the point as the step needs. */
const char *chart_value(Arena *arena, ChartFormat format, double y, double step)
{
    const char *unit = format == FORMAT_PERCENT ? "%" : "";
    double scaled = format == FORMAT_PERCENT ? y * 100 : y;
    double size = format == FORMAT_PERCENT ? step * 100 : step;
    int digits = size > 0 ? (int)-floor(log10(size) + 1e-9) : 0;

    digits = digits < 0 ? 0 : digits;
    if (size > 0 && fabs(size * pow(10, digits) - round(size * pow(10, digits))) > 0.01)
        digits++; /* 2.5 */
    if (digits > 6 || fabs(scaled) >= 1e6)
        return arena_printf(arena, "%.3g%s", scaled, unit);
    return arena_printf(arena, "%.*f%s", digits, fabs(scaled) < size * 1e-6 ? 0.0 : scaled, unit);
}

void chart_style(int style, Str *out)
{
    str_printf(out, "c%d", style % CHART_COLOURS);
}

void chart_begin(const Chart *chart, int height, Str *out)
{
    str_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, height);
    html_text(out, chart->title);
    str_add(out, "\">");
}

void chart_end(Str *out)
{
    str_add(out, "</svg>\n");
}

/* ---- marks -------------------------------------------------------------------------- */

/* Each with an invisible disc round it, so that the pointer finds it. */
void chart_marks(Str *out)
{
    static const char *const marks[CHART_MARKS] = {
        "<circle r=\"3.6\"/>",
        "<rect x=\"-3.3\" y=\"-3.3\" width=\"6.6\" height=\"6.6\"/>",
        "<path d=\"M0-4.4 4.2 3.2H-4.2z\"/>",
        "<path d=\"M0-4.8 4.8 0 0 4.8-4.8 0z\"/>",
        "<path d=\"M0 4.4-4.2-3.2H4.2z\"/>",
        "<path d=\"M-4.4-1.4h3v-3h2.8v3h3v2.8h-3v3h-2.8v-3h-3z\"/>",
    };

    str_add(out, "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>");
    for (int i = 0; i < CHART_MARKS; i++)
        str_printf(out, "<g id=\"m%d\"><circle class=\"near\" r=\"9\"/>%s</g>", i, marks[i]);
    str_add(out, "</defs></svg>\n");
}

void chart_mark(const ChartSeries *series, const ChartPoint *point, double x, double y, Str *out)
{
    str_printf(out, "<use href=\"#m%d\" x=\"%.1f\" y=\"%.1f\"><title>", series->style % CHART_MARKS, x, y);
    html_text(out, point->hover);
    str_add(out, "</title></use>");
}

/* ---- scales ------------------------------------------------------------------------- */

/* The round number that is at least the one given. */
static double round_step(double least)
{
    static const double round_ones[] = {1, 2, 2.5, 5, 10};
    double power = pow(10, floor(log10(least)));

    for (size_t i = 0; i < TW_COUNT(round_ones); i++)
        if (round_ones[i] * power >= least * (1 - 1e-9))
            return round_ones[i] * power;
    return 10 * power;
}

Scale chart_scale(const Chart *chart, bool from_zero, int steps)
{
    Scale s = {.low = chart->reference, .high = chart->reference};
    bool any = chart->reference > 0;

    for (int i = 0; i < chart->series.len; i++) {
        for (int k = 0; k < chart->series.data[i].points.len; k++) {
            double y = chart->series.data[i].points.data[k].y;

            s.low = !any || y < s.low ? y : s.low;
            s.high = !any || y > s.high ? y : s.high;
            any = true;
        }
    }
    if (from_zero)
        s.low = 0;
    if (!(s.high - s.low > fabs(s.high) * 1e-6))
        s.high = s.low + (s.low > 0 ? s.low * 0.1 : 1);
    s.step = round_step((s.high - s.low) / steps);
    s.low = floor(s.low / s.step + 1e-9) * s.step;
    s.high = ceil(s.high / s.step - 1e-9) * s.step;
    return s;
}

double chart_at(const Scale *s, double value)
{
    return s->from + (value - s->low) / (s->high - s->low) * (s->to - s->from);
}

/* ---- the axes of lines -------------------------------------------------------------- */

typedef struct Lines {
    Arena *arena;
    const Chart *chart;
    Str *out;
    Scale x, y;
    bool logarithmic;
} Lines;

static double x_of(const Lines *l, double x)
{
    return chart_at(&l->x, l->logarithmic ? log2(x) : x);
}

static void find_x(Lines *l)
{
    double low = DBL_MAX, high = -DBL_MAX;

    for (int i = 0; i < l->chart->series.len; i++) {
        for (int k = 0; k < l->chart->series.data[i].points.len; k++) {
            double x = l->chart->series.data[i].points.data[k].x;

            low = x < low ? x : low;
            high = x > high ? x : high;
        }
    }
    l->logarithmic = low > 0 && high / low >= 4;
    l->x = (Scale){.low = low, .high = high, .from = LEFT + 8, .to = WIDTH - RIGHT - 4};
    if (l->logarithmic)
        l->x.low = log2(low), l->x.high = log2(high);
    if (!(l->x.high > l->x.low))
        l->x.high = l->x.low + fmax(1, fabs(l->x.low));
}

static void put_y_axis(Lines *l)
{
    const Scale *y = &l->y;
    int n = (int)((y->high - y->low) / y->step + 0.5);

    str_add(l->out, "<g class=\"grid y\">");
    for (int i = 0; i <= n; i++) {
        double value = y->low + i * y->step, at = chart_at(y, value);

        str_printf(l->out, "<path d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\">%s</text>", LEFT, at,
                   WIDTH - RIGHT, LEFT - 5, at + 4, chart_value(l->arena, l->chart->format, value, y->step));
    }
    str_add(l->out, "</g>");
    if (l->chart->reference > 0)
        str_printf(l->out, "<path class=\"one\" d=\"M%d %.1fH%d\"/>", LEFT, chart_at(y, l->chart->reference),
                   WIDTH - RIGHT);
}

/* 512, 16k; a few digits else. */
static const char *tick_text(Arena *arena, double x)
{
    if (x >= 1024 && x < 1e9 && fmod(x, 1024) == 0)
        return arena_printf(arena, "%.0fk", x / 1024);
    return arena_printf(arena, "%.4g", x);
}

/* Every x that some point has, as far as there is room, from the left. */
static void put_x_axis(Lines *l)
{
    double last = -DBL_MAX, next;

    str_add(l->out, "<g class=\"x\">");
    for (;;) {
        next = DBL_MAX;
        for (int i = 0; i < l->chart->series.len; i++)
            for (int k = 0; k < l->chart->series.data[i].points.len; k++) {
                double x = l->chart->series.data[i].points.data[k].x;

                if (x < next && (last == -DBL_MAX || x_of(l, x) >= x_of(l, last) + TICK_WIDTH))
                    next = x;
            }
        if (next == DBL_MAX)
            break;
        str_printf(l->out, "<text x=\"%.1f\" y=\"%d\">%s</text>", x_of(l, next), TOP + PLOT + 14,
                   tick_text(l->arena, next));
        last = next;
    }
    str_printf(l->out, "<text x=\"%d\" y=\"%d\">", (LEFT + WIDTH - RIGHT) / 2, TOP + PLOT + 29);
    chart_text(l->arena, l->out, l->chart->axis, 44);
    str_add(l->out, "</text></g>");
}

/* ---- lines -------------------------------------------------------------------------- */

static void sort_points(ChartSeries *s)
{
    for (int i = 1; i < s->points.len; i++) {
        ChartPoint moved = s->points.data[i];
        int k = i;

        for (; k > 0 && s->points.data[k - 1].x > moved.x; k--)
            s->points.data[k] = s->points.data[k - 1];
        s->points.data[k] = moved;
    }
}

static void put_series(Lines *l, const ChartSeries *s)
{
    str_add(l->out, "<g class=\"");
    chart_style(s->style, l->out);
    str_add(l->out, "\"><path class=\"l\" d=\"");
    for (int i = 0; i < s->points.len; i++)
        str_printf(l->out, "%c%.1f %.1f", i ? 'L' : 'M', x_of(l, s->points.data[i].x),
                   chart_at(&l->y, s->points.data[i].y));
    str_add(l->out, "\"/>");
    for (int i = 0; i < s->points.len; i++)
        chart_mark(s, &s->points.data[i], x_of(l, s->points.data[i].x), chart_at(&l->y, s->points.data[i].y), l->out);
    str_add(l->out, "</g>\n");
}

/* Labels at the ends of lines, moved apart where they would cover each other. */
static void put_labels(Lines *l)
{
    const ChartSeries *order[MOST_LABELS];
    double at[MOST_LABELS];
    int n = 0;

    for (int i = 0; i < l->chart->series.len; i++) {
        const ChartSeries *s = &l->chart->series.data[i];
        double y = chart_at(&l->y, s->points.data[s->points.len - 1].y);
        int k = n++;

        for (; k > 0 && at[k - 1] > y; k--)
            at[k] = at[k - 1], order[k] = order[k - 1];
        at[k] = y, order[k] = s;
    }
    for (int i = 1; i < n; i++)
        at[i] = fmax(at[i], at[i - 1] + LABEL_HEIGHT);
    for (int i = n - 1, limit = TOP + PLOT; i >= 0; i--, limit -= LABEL_HEIGHT)
        at[i] = fmin(at[i], limit);
    for (int i = 0; i < n; i++) {
        str_printf(l->out, "<text class=\"end\" x=\"%d\" y=\"%.1f\">", WIDTH - RIGHT + 8, at[i] + 4);
        chart_text(l->arena, l->out, order[i]->label, LABEL_LETTERS);
        str_add(l->out, "</text>");
    }
}

void chart_lines(Arena *arena, const Chart *chart, Str *out)
{
    Lines l = {.arena = arena, .chart = chart, .out = out};

    l.y = chart_scale(chart, chart->format != FORMAT_RATIO, 4);
    l.y.from = TOP + PLOT;
    l.y.to = TOP;
    find_x(&l);
    chart_begin(chart, TOP + PLOT + BELOW, out);
    put_y_axis(&l);
    put_x_axis(&l);
    for (int i = chart->series.len - 1; i >= 0; i--) { /* ours on top */
        sort_points(&chart->series.data[i]);
        put_series(&l, &chart->series.data[i]);
    }
    if (chart->series.len <= MOST_LABELS)
        put_labels(&l);
    chart_end(out);
}
