/* chart.h: charts as inline SVG, for this folder only. Colours, fonts and marks
 * are the page's (style.c): a chart names them by class.
 *
 * Vocabulary
 *   series  the points of one contestant, in its colour and with its mark
 *   place   a category, where the axis is no number
 */
#ifndef TW_REPORT_CHART_H
#define TW_REPORT_CHART_H

#include "base/base.h"

typedef enum ChartFormat { FORMAT_RATE, FORMAT_RATIO, FORMAT_PERCENT } ChartFormat;

typedef struct ChartPoint {
    double x; /* a number, or the index of a place */
    double y;
    const char *hover;
} ChartPoint;

typedef struct ChartSeries {
    int style; /* which colour and mark */
    const char *label;
    VEC(ChartPoint) points;
} ChartSeries;

typedef struct Chart {
    const char *title;    /* for who does not see it */
    const char *axis;     /* of x */
    ChartFormat format;   /* of y */
    double reference;     /* a line to compare with; 0: none */
    VEC(const char *) places;
    VEC(ChartSeries) series;
} Chart;

enum { CHART_COLOURS = 8, CHART_MARKS = 6 };

/* y over x, on a logarithmic axis where x spans a factor of four. */
void chart_lines(Arena *arena, const Chart *chart, Str *out);
/* A bar from 0 for each point, by place (places.c). */
void chart_bars(Arena *arena, const Chart *chart, Str *out);
/* A mark for each point, by place: for numbers that are not compared with 0 (places.c). */
void chart_dots(Arena *arena, const Chart *chart, Str *out);
/* The marks that all charts of a page use. */
void chart_marks(Str *out);

/* ---- what all kinds share (chart.c) -------------------------------------------------- */

/* Steps of 1, 2, 2.5 or 5 times a power of ten. */
typedef struct Scale {
    double low, high, step;
    double from, to; /* where low and high are drawn */
} Scale;
/* Round numbers that enclose what the chart shows. from_zero: and 0. */
Scale chart_scale(const Chart *chart, bool from_zero, int steps);
double chart_at(const Scale *scale, double value);

void chart_begin(const Chart *chart, int height, Str *out);
void chart_end(Str *out);
/* Escaped, and no longer than so many characters. */
void chart_text(Arena *arena, Str *out, const char *text, int most);
/* class="c0 ..." of a series */
void chart_style(int style, Str *out);
void chart_mark(const ChartSeries *series, const ChartPoint *point, double x, double y, Str *out);
/* Of y, as the axis or a label says it. */
const char *chart_value(Arena *arena, ChartFormat format, double y, double step);

/* Adds text where HTML or SVG wants text or a quoted attribute (html.c). */
void html_text(Str *out, const char *text);

#endif
