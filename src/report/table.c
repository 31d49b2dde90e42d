/* table.c: results as a table in the terminal, a line a contestant and cell.
 *
 *   d64 causal
 *     sequence length  contestant       ms   +-%   TFLOPS  of peak   MHz  ratio
 *                 512  ours         0.1213   0.4    283.4      27%  1965
 *                      cuDNN        0.1260   1.0    272.8      26%  1965  1.039
 */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LETTERS = 28 };

typedef struct Table {
    Arena *arena;
    const Results *results;
    const Case *c;
    Str *out;
    bool colour;
    bool use, clock, beside; /* which columns there are */
    int at, who;             /* widths of the first two columns */
} Table;

/* ---- text --------------------------------------------------------------------------- */

static int letters_of(const char *text)
{
    int n = 0;

    for (; *text; n++)
        text += utf8_length(text) ? utf8_length(text) : 1;
    return n;
}

/* Text that is cut where it is too long, padded to a width; negative: to the left. */
static void put_padded(Str *out, const char *text, int width)
{
    int room = abs(width), n = letters_of(text), shown = n > room ? room : n;

    for (int i = shown; width > 0 && i < room; i++)
        str_addc(out, ' ');
    for (int i = 0; i < (n > room ? room - 1 : n); i++) {
        int bytes = utf8_length(text);

        str_addn(out, text, (size_t)(bytes ? bytes : 1));
        text += bytes ? bytes : 1;
    }
    if (n > room)
        str_addc(out, '~');
    for (int i = shown; width < 0 && i < room; i++)
        str_addc(out, ' ');
}

static void put_style(Table *t, const char *style)
{
    if (t->colour)
        str_add(t->out, style);
}

static int wider(int width, const char *text)
{
    int n = letters_of(text);

    n = n > MOST_LETTERS ? MOST_LETTERS : n;
    return n > width ? n : width;
}

/* ---- cases -------------------------------------------------------------------------- */

static void measure(Table *t)
{
    t->use = case_has_use(t->c);
    t->clock = false;
    t->at = wider(0, t->c->axis);
    t->who = 10;
    t->beside = t->results->contestants.len > 1;
    for (int i = 0; i < t->results->contestants.len; i++)
        if (case_has(t->c, i))
            t->who = wider(t->who, t->results->contestants.data[i].label);
    for (int i = 0; i < t->c->cells.len; i++) {
        const Cell *cell = &t->c->cells.data[i];

        t->at = wider(t->at, cell->at);
        for (int k = 0; k < cell->timed.len; k++)
            t->clock |= cell->timed.data[k].figures.mhz > 0;
    }
}

static void put_heads(Table *t)
{
    put_style(t, "\033[2m");
    str_add(t->out, "  ");
    put_padded(t->out, t->c->axis, t->at);
    if (t->beside) {
        str_add(t->out, "  ");
        put_padded(t->out, "contestant", -t->who);
    }
    str_printf(t->out, "  %8s  %5s  %7s", "ms", "+-%", work_unit(t->c->work));
    if (t->use)
        str_add(t->out, "  of peak");
    if (t->clock)
        str_add(t->out, "   MHz");
    if (t->beside)
        str_add(t->out, "  ratio");
    put_style(t, "\033[0m");
    str_addc(t->out, '\n');
}

/* Half the range of the rounds, of the median. */
static double spread(const Figures *f)
{
    return f->ms > 0 ? (f->most - f->least) / f->ms * 50 : 0;
}

static void put_figures(Table *t, const Figures *f)
{
    str_printf(t->out, "  %8.4g  %5.1f  %7.*f", f->ms, fmin(spread(f), 999), f->rate < 10 ? 2 : f->rate < 1e4 ? 1 : 0,
               f->rate);
    if (t->use)
        str_add(t->out, f->use > 0 ? arena_printf(t->arena, "  %6.0f%%", f->use * 100) : "        -");
    if (t->clock)
        str_add(t->out, f->mhz > 0 ? arena_printf(t->arena, "  %4.0f", f->mhz) : "     -");
    if (f->ratio > 0) {
        str_add(t->out, "  ");
        put_style(t, f->ratio >= 1 ? "\033[32m" : "\033[33m");
        str_printf(t->out, "%5.3f", f->ratio);
        put_style(t, "\033[0m");
    }
}

static void put_cell(Table *t, const Cell *cell)
{
    str_add(t->out, "  ");
    put_padded(t->out, cell->at, t->at);
    if (cell->error || cell->wrong || !cell->timed.len) {
        put_style(t, "\033[31m");
        str_printf(t->out, "  %s", cell->error ? cell->error : cell->wrong ? "WRONG" : "not timed");
        put_style(t, "\033[0m");
        str_add(t->out, cell->timed.len ? "\n" : "");
    }
    for (int i = 0; i < cell->timed.len; i++) {
        const Timed *timed = &cell->timed.data[i];

        if (i || cell->error || cell->wrong)
            str_printf(t->out, "  %*s", t->at, "");
        if (t->beside) {
            str_add(t->out, "  ");
            put_padded(t->out, t->results->contestants.data[timed->contestant].label, -t->who);
        }
        put_figures(t, &timed->figures);
        if (i + 1 < cell->timed.len)
            str_addc(t->out, '\n');
    }
    str_addc(t->out, '\n');
}

static void put_means(Table *t)
{
    for (int i = 1; i < t->results->contestants.len; i++) {
        int cells;
        double mean = case_mean(t->c, i, &cells);

        if (cells > 1)
            str_printf(t->out, "  geometric mean over %s: %.3f (%d shapes)\n", t->results->contestants.data[i].label,
                       mean, cells);
    }
}

static void put_case(Table *t)
{
    measure(t);
    str_addc(t->out, '\n');
    put_style(t, "\033[1m");
    str_add(t->out, t->c->name);
    put_style(t, "\033[0m");
    str_addc(t->out, '\n');
    put_heads(t);
    for (int i = 0; i < t->c->cells.len; i++)
        put_cell(t, &t->c->cells.data[i]);
    put_means(t);
}

/* ---- the whole ---------------------------------------------------------------------- */

static void put_fact(Str *line, const char *name, const char *value)
{
    if (value)
        str_printf(line, "%s%s %s", line->len ? ", " : "", name, value);
}

/* Words on lines of at most so many letters. */
static void put_wrapped(Str *out, const char *text)
{
    int column = 0;

    while (*text) {
        size_t n = strcspn(text, " ");

        if (column && column + 1 + n > 78) {
            str_addc(out, '\n');
            column = 0;
        } else if (column) {
            str_addc(out, ' ');
            column++;
        }
        str_addn(out, text, n);
        column += (int)n;
        text += n;
        text += *text == ' ';
    }
    str_addc(out, '\n');
}

static void put_conditions(Table *t)
{
    const Results *r = t->results;
    Str line = str_new(t->arena);

    put_fact(&line, "commit", r->commit);
    put_fact(&line, "date", r->date);
    put_fact(&line, "data", r->data);
    if (r->rounds)
        put_fact(&line, "rounds", arena_printf(t->arena, "%d", r->rounds));
    for (int i = 0; i < r->conditions.len; i++)
        put_fact(&line, r->conditions.data[i].name, r->conditions.data[i].value);
    put_style(t, "\033[2m");
    put_wrapped(t->out, str_text(&line));
    for (int i = 0; i < r->notes.len; i++)
        str_printf(t->out, "%s\n", r->notes.data[i]); /* whole, for who looks for one */
    put_style(t, "\033[0m");
}

void results_table(Arena *arena, const Results *results, bool colour, Str *out)
{
    Table t = {.arena = arena, .results = results, .out = out, .colour = colour};

    put_style(&t, "\033[1m");
    str_add(out, results->benchmark);
    put_style(&t, "\033[0m");
    str_addc(out, '\n');
    put_conditions(&t);
    for (int i = 0; i < results->cases.len; i++) {
        t.c = &results->cases.data[i];
        put_case(&t);
    }
}
