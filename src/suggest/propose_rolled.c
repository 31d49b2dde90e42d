/* propose_rolled.c: statements written out, as a loop.
 *
 *   Compute Add S, 1 and get new S         for turn = 0:500
 *   Compute Multiply S, 2 and get new S      Compute Add S, 1 and get new S
 *   ... 500 times                     ─►     Compute Multiply S, 2 and get new S
 *                                          end
 *
 * Lines repeat where they are the same but for numbers, and each of these goes on by the same step: those become
 * `turn * STEP + FIRST`. What a line assigns, or declares, again and again is said once.
 */
#include "suggest/words.h"

#include <stdlib.h>

enum { MOST_LINES = 12, MOST_NUMBERS = 24, LEAST_TURNS = 8, MOST_READ = 1 << 24 }; /* letters, some of them again */

static const char DIGITS[] = "0123456789";
static const char COUNTER[] = "turn";

/* ---- one repetition ------------------------------------------------------------------------------------------ */

/* Numbers of some lines, in order; what stands between them. */
typedef struct Numbers {
    long value[MOST_NUMBERS];
    Span at[MOST_NUMBERS];
    int n;
} Numbers;

/* A number of its own, and not of a name, a fraction or an exponent. */
static bool begins_number(const char *text, int at, int start)
{
    return letter_among(text[at], DIGITS) && (at == start || !letter_among(text[at - 1], WORD_LETTERS));
}

/* false: there are too many, or they are none that a loop counts. */
static bool read_numbers(const char *text, Span lines, Numbers *numbers)
{
    numbers->n = 0;
    for (int at = lines.start; at < lines.end; at++) {
        if (!begins_number(text, at, lines.start))
            continue;
        int len = (int)strspn(text + at, DIGITS);
        if (numbers->n == MOST_NUMBERS || len > 9 || letter_among(text[at + len], ".eE"))
            return false;
        numbers->at[numbers->n] = (Span){at, at + len};
        numbers->value[numbers->n++] = strtol(text + at, NULL, 10);
        at += len - 1;
    }
    return true;
}

/* Whether two stretches are the same but for their numbers. */
static bool same_form(const char *text, Span a, const Numbers *of_a, Span b, const Numbers *of_b)
{
    int at_a = a.start, at_b = b.start;

    if (of_a->n != of_b->n)
        return false;
    for (int i = 0; i <= of_a->n; i++) {
        int end_a = i < of_a->n ? of_a->at[i].start : a.end, end_b = i < of_b->n ? of_b->at[i].start : b.end;
        if (end_a - at_a != end_b - at_b || strncmp(text + at_a, text + at_b, (size_t)(end_a - at_a)) != 0)
            return false;
        at_a = i < of_a->n ? of_a->at[i].end : at_a;
        at_b = i < of_b->n ? of_b->at[i].end : at_b;
    }
    return true;
}

/* ---- runs ----------------------------------------------------------------------------------------------------------- */

typedef struct Run {
    Span first; /* the lines of the first turn */
    int end;    /* of the last */
    int turns;
    Numbers from;
    long step[MOST_NUMBERS];
} Run;

/* So many lines from an offset on; end 0: fewer. */
static Span stretch(const Source *source, int at, int lines)
{
    Span span = {at, at};

    for (; lines > 0; lines--) {
        const char *end = (size_t)span.end < source->len ? memchr(source->text + span.end, '\n', source->len - (size_t)span.end) : NULL;
        if (!end)
            return (Span){at, 0};
        span.end = (int)(end - source->text) + 1;
    }
    return span;
}

static Run run_of(const Source *source, int at, int lines)
{
    Run run = {.first = stretch(source, at, lines), .turns = 0};

    if (!run.first.end || !read_numbers(source->text, run.first, &run.from))
        return run;
    run.turns = 1;
    run.end = run.first.end;
    for (;; run.turns++) {
        Numbers next;
        Span span = stretch(source, run.end, lines);
        bool even = span.end && read_numbers(source->text, span, &next) && same_form(source->text, run.first, &run.from, span, &next);
        for (int i = 0; even && i < next.n; i++) {
            if (run.turns == 1)
                run.step[i] = next.value[i] - run.from.value[i];
            even = next.value[i] == run.from.value[i] + run.turns * run.step[i];
        }
        if (!even)
            return run;
        run.end = span.end;
    }
}

/* ---- as a loop --------------------------------------------------------------------------------------------------------- */

static bool is_same_each_turn(const Run *run)
{
    for (int i = 0; i < run->from.n; i++)
        if (run->step[i] != 0)
            return false;
    return true;
}

/* Whether a line only gives a name a value, or declares one. */
static bool only_assigns(const char *line)
{
    static const char *const words[] = {"Allocate", "Param", "Let", "Index", "Input", "Output"};

    for (size_t i = 0; i < TW_COUNT(words); i++)
        if (word_begins(line, words[i]))
            return true;
    line += strspn(line, WORD_LETTERS);
    line += strspn(line, " ");
    return line[0] == '=' && line[1] != '=';
}

static bool all_assign(const Source *source, Span lines)
{
    for (int at = lines.start; at < lines.end; at++) {
        at += (int)strspn(source->text + at, " \t");
        if (source->text[at] != '\n' && !only_assigns(source->text + at))
            return false;
        at += (int)strcspn(source->text + at, "\n");
    }
    return true;
}

/* `turn * 16 + 32` */
static void add_number(Str *out, const Run *run, int i)
{
    long step = run->step[i], from = run->from.value[i];

    if (step == 0)
        str_printf(out, "%ld", from);
    else if (step < 0)
        str_printf(out, "%ld - %s * %ld", from, COUNTER, -step);
    else
        str_printf(out, step == 1 ? "%s" : "%s * %ld", COUNTER, step);
    if (step > 0 && from != 0)
        str_printf(out, " + %ld", from);
}

static void add_turn(Str *out, const Source *source, const Run *run)
{
    int at = run->first.start;
    bool line = true;

    for (int number = 0; at < run->first.end; at++) {
        if (line && source->text[at] != '\n')
            str_add(out, "  ");
        line = source->text[at] == '\n';
        if (number < run->from.n && run->from.at[number].start == at) {
            add_number(out, run, number);
            at = run->from.at[number++].end - 1;
        } else {
            str_addc(out, source->text[at]);
        }
    }
}

static void add_run(Suggester *s, Str *out, const Run *run)
{
    const char *indent = suggest_indent(s, run->first.start);

    if (is_same_each_turn(run) && all_assign(s->source, run->first)) {
        str_addn(out, s->source->text + run->first.start, (size_t)(run->first.end - run->first.start));
        return;
    }
    str_printf(out, "%sfor %s = 0:%d\n", indent, COUNTER, run->turns);
    add_turn(out, s->source, run);
    str_printf(out, "%send\n", indent);
}

/* The run of the fewest lines that begins at a line; turns 0: none. */
static Run shortest_at(const Source *source, int at, long *left)
{
    for (int lines = 1; lines <= MOST_LINES && *left > 0; lines++) {
        Run run = run_of(source, at, lines);
        *left -= run.turns ? 2 * (run.end - at) : 64;
        if (run.turns >= LEAST_TURNS)
            return run;
    }
    return (Run){.turns = 0};
}

/* The text with all its runs as loops. */
bool propose_rolled(Suggester *s)
{
    Str text = str_new(s->arena);
    long left = MOST_READ;
    int runs = 0;

    for (int at = 0; (size_t)at < s->source->len;) {
        Run run = shortest_at(s->source, at, &left);
        int end = run.turns ? run.end : suggest_line_end(s, at);
        if (run.turns)
            add_run(s, &text, &run);
        else
            str_addn(&text, s->source->text + at, (size_t)(end - at));
        runs += run.turns > 0;
        at = end;
        if (!run.turns && (size_t)at < s->source->len) {
            str_addc(&text, '\n');
            at++;
        }
    }
    return runs > 0 && suggest_edit(s, (Span){0, (int)s->source->len}, str_text(&text), "what repeats, in a loop");
}
