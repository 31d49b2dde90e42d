/* page.h: what the HTML page is made of, for this folder only. */
#ifndef TW_REPORT_PAGE_H
#define TW_REPORT_PAGE_H

#include "report/chart.h"
#include "report/report.h"

extern const char report_style[]; /* CSS (style.c) */

/* Charts and the table of one case (figures.c). */
void page_charts(Arena *arena, const Results *results, const Case *c, Str *out);
void page_table(Arena *arena, const Results *results, const Case *c, Str *out);
/* All cases at a glance: geometric means of their ratios. */
void page_overview(Arena *arena, const Results *results, Str *out);

#endif
