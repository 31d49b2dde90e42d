/* results.c: figures from times. */
#include "report/report.h"

#include <math.h>

/* ---- text --------------------------------------------------------------------------- */

/* Characters that would steer whatever shows them: controls, separators of lines,
 * marks and overrides of the direction of writing (Unicode's Bidi_Control). */
static bool steers(const unsigned char *at, int n)
{
    if (n == 1)
        return at[0] < 0x20 || at[0] == 0x7f;
    if (n == 2)
        return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xd8 && at[1] == 0x9c);
    if (n != 3)
        return false;
    if (at[0] == 0xef)
        return (at[1] == 0xbb && at[2] == 0xbf) || (at[1] == 0xbf && at[2] >= 0xbe);
    return at[0] == 0xe2 &&
           ((at[1] == 0x80 && (at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae))) ||
            (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

const char *report_text(Arena *arena, const char *text)
{
    Str out = str_new(arena);

    while (*text) {
        int n = utf8_length(text);

        if (n == 0 || steers((const unsigned char *)text, n))
            str_add(&out, "\xef\xbf\xbd");
        else
            str_addn(&out, text, (size_t)n);
        text += n ? n : 1;
    }
    return str_text(&out);
}

const char *report_number(Arena *arena, double x)
{
    if (x >= 1024 && x < 1e9 && fmod(x, 1024) == 0)
        return arena_printf(arena, "%.0fk", x / 1024);
    if (x == floor(x) && fabs(x) < 1e7)
        return arena_printf(arena, "%.0f", x);
    return arena_printf(arena, "%.4g", x);
}

const char *work_unit(Work work)
{
    switch (work) {
    case WORK_FLOPS: return "TFLOPS";
    case WORK_BYTES: return "GB/s";
    }
    return "";
}

/* ---- cases -------------------------------------------------------------------------- */

Case *results_case(Arena *arena, Results *results, const char *name, const char *axis, Work work)
{
    for (int i = 0; i < results->cases.len; i++)
        if (strcmp(results->cases.data[i].name, name) == 0)
            return &results->cases.data[i];
    vec_push(arena, &results->cases, (Case){.name = name, .axis = axis, .work = work});
    return &results->cases.data[results->cases.len - 1];
}

const Timed *cell_timed(const Cell *cell, int contestant)
{
    for (int i = 0; i < cell->timed.len; i++)
        if (cell->timed.data[i].contestant == contestant)
            return &cell->timed.data[i];
    return NULL;
}

int case_bad(const Case *c)
{
    int n = 0;

    for (int i = 0; i < c->cells.len; i++)
        n += c->cells.data[i].wrong || c->cells.data[i].error || !c->cells.data[i].timed.len;
    return n;
}

int results_bad(const Results *results)
{
    int n = 0;

    for (int i = 0; i < results->cases.len; i++)
        n += case_bad(&results->cases.data[i]);
    return n;
}

bool case_has(const Case *c, int contestant)
{
    for (int i = 0; i < c->cells.len; i++)
        if (cell_timed(&c->cells.data[i], contestant))
            return true;
    return false;
}

bool case_has_use(const Case *c)
{
    for (int i = 0; i < c->cells.len; i++)
        for (int k = 0; k < c->cells.data[i].timed.len; k++)
            if (c->cells.data[i].timed.data[k].figures.use > 0)
                return true;
    return false;
}

bool case_is_line(const Case *c)
{
    bool differ = false;

    for (int i = 0; i < c->cells.len; i++) {
        if (!c->cells.data[i].numeric)
            return false;
        differ |= c->cells.data[i].x != c->cells.data[0].x;
    }
    return differ;
}

double case_mean(const Case *c, int peer, int *cells)
{
    double sum = 0;

    *cells = 0;
    for (int i = 0; i < c->cells.len; i++) {
        const Timed *t = cell_timed(&c->cells.data[i], peer);

        if (!t || !(t->figures.ratio > 0) || c->cells.data[i].wrong)
            continue;
        sum += log(t->figures.ratio);
        ++*cells;
    }
    return *cells ? exp(sum / *cells) : 0;
}

/* ---- figures ------------------------------------------------------------------------ */

/* Of the positive ones, which are left sorted at the beginning; 0: there is none. */
static double median_of(double *values, int *n)
{
    int kept = 0;

    for (int i = 0; i < *n; i++)
        if (values[i] > 0)
            values[kept++] = values[i];
    *n = kept;
    return median(values, kept);
}

static double *copied(Arena *arena, const double *values, int n)
{
    double *copy = arena_array(arena, double, n + 1);

    memcpy(copy, values, (size_t)n * sizeof *copy);
    return copy;
}

/* What arithmetic on times that somebody made up gave is no figure. */
static double sane(double x)
{
    return x > 1e-12 && x < 1e15 ? x : 0;
}

static void find_rate(Arena *arena, const Results *results, Work work, Timed *t)
{
    Figures *f = &t->figures;
    double peak = t->flops_per_clock > 0 ? t->flops_per_clock : results->flops_per_clock;
    int n = t->rounds;
    double *ms = copied(arena, t->ms, n);

    f->ms = median_of(ms, &n);
    if (!n)
        return;
    f->least = ms[0];
    f->most = ms[n - 1];
    f->rate = sane(t->work / f->ms * (work == WORK_FLOPS ? 1e-9 : 1e-6));
    n = t->mhz ? t->rounds : 0;
    if (n)
        f->mhz = sane(median_of(copied(arena, t->mhz, n), &n));
    if (work == WORK_FLOPS && f->mhz > 0 && peak > 0)
        f->use = sane(f->rate / (f->mhz * peak * 1e-6));
}

/* Rounds are the same moments of both where there are as many; else only the medians
 * can be compared. */
static void find_ratio(Arena *arena, const Timed *ours, Timed *peer)
{
    Figures *f = &peer->figures;
    int n = ours->rounds;
    double *ratios = arena_array(arena, double, n + 1);

    if (!(ours->figures.rate > 0 && f->rate > 0))
        return;
    f->ratio = f->ratio_least = f->ratio_most = sane(ours->figures.rate / f->rate);
    if (n != peer->rounds)
        return;
    for (int i = 0; i < n; i++)
        if (ours->ms[i] > 0 && peer->ms[i] > 0)
            ratios[i] = sane(ours->work / ours->ms[i] / (peer->work / peer->ms[i]));
    double middle = median_of(ratios, &n);
    if (!n)
        return;
    f->ratio = middle;
    f->ratio_least = ratios[0];
    f->ratio_most = ratios[n - 1];
}

static void finish_cell(Arena *arena, const Results *results, Work work, Cell *cell)
{
    const Timed *ours;

    for (int i = 1; i < cell->timed.len; i++) /* in the contestants' order */
        for (int k = i; k > 0 && cell->timed.data[k].contestant < cell->timed.data[k - 1].contestant; k--) {
            Timed moved = cell->timed.data[k];

            cell->timed.data[k] = cell->timed.data[k - 1];
            cell->timed.data[k - 1] = moved;
        }
    for (int i = 0; i < cell->timed.len; i++)
        find_rate(arena, results, work, &cell->timed.data[i]);
    ours = cell_timed(cell, 0);
    for (int i = 0; ours && i < cell->timed.len; i++)
        if (cell->timed.data[i].contestant != 0)
            find_ratio(arena, ours, &cell->timed.data[i]);
}

void results_finish(Arena *arena, Results *results)
{
    for (int i = 0; i < results->cases.len; i++) {
        Case *c = &results->cases.data[i];

        for (int k = 0; k < c->cells.len; k++)
            finish_cell(arena, results, c->work, &c->cells.data[k]);
    }
}
