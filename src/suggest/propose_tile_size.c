/* propose_tile_size.c: a size of tiles in tile IR that neither tensor cores nor warps can take.
 *
 *   %a = load A[m * 64 : rows, k * 24 : cols] : shared bf16<64x24>
 *   %f = gemm %a, %b, %e : fp32<64x64>            24 columns: no multiple of 16
 *
 * The number becomes another wherever it says how large tiles are: in types, in where tiles begin, in how many there
 * are. That it was such a size everywhere is not assumed: the program is executed as it was and as it is then, and both
 * have to give the same.
 */
#include "suggest/same_tiles.h"
#include "suggest/tile_symbols.h"

#include <stdlib.h>

enum { MOST_SIZE = 1024, ATOM = 16 };

static const char DIGITS[] = "0123456789";

typedef struct Resize {
    Suggester *s;
    Span kernel; /* from its first line to its last */
    long from, to;
    Str text;
} Resize;

/* ---- where a number is a size ------------------------------------------------------------------------ */

/* Whether a number stands where it says how large tiles are, or how far apart. */
static bool is_size(const Suggester *s, Span line, Span number)
{
    static const char *const before[] = {"<", "x", " * ", " / ", " div ", " mod "};

    for (size_t i = 0; i < TW_COUNT(before); i++) {
        int len = (int)strlen(before[i]);
        if (number.start - len >= line.start && strncmp(s->source->text + number.start - len, before[i], (size_t)len) == 0)
            return before[i][0] != 'x' || letter_among(s->source->text[number.start - 2], DIGITS);
    }
    return false;
}

/* The lines within a region, or the whole kernel, where a symbol stands as `j * 24`. */
static bool finds_tiles(const Resize *r, Span from, Span to, const char *name, Where *where)
{
    const char *said = arena_printf(r->s->arena, "%s * %ld", name, r->from), *text = r->s->source->text;

    for (const char *at = strstr(text + from.start, said); at && at < text + to.end; at = strstr(at + 1, said)) {
        Span use = {(int)(at - text), (int)(at - text) + (int)strlen(name)};
        if (!letter_among(use.start > 0 ? text[use.start - 1] : ' ', WORD_LETTERS) && symbol_where(r->s, use, name, where))
            return true;
    }
    return false;
}

/* How many tiles there are then: of a loop, or an axis of the grid, whose extent is a number. */
static const char *new_count(const Resize *r, const Symbol *symbol)
{
    Where where;
    long size, turns = strtol(symbol->hi, NULL, 10);

    if (strspn(symbol->hi, DIGITS) != strlen(symbol->hi) || !finds_tiles(r, symbol->line, lines_close(r->s, symbol->line), symbol->name, &where))
        return NULL;
    size = strtol(where.dim, NULL, 10);
    if (size <= 0 || turns != (size + r->from - 1) / r->from || strcmp(symbol->lo, "0") != 0)
        return NULL;
    return arena_printf(r->s->arena, "%ld", (size + r->to - 1) / r->to);
}

/* A count's place in the line that says it: behind `j = 0:` or `m: `. */
static int count_at(const Resize *r, Span line, const Symbol *symbol)
{
    const char *text = lines_text(r->s, line.start, line.end);
    const char *loop = arena_printf(r->s->arena, "%s = 0:", symbol->name), *axis = arena_printf(r->s->arena, "%s: ", symbol->name);
    const char *at = strstr(text, loop);

    if (at)
        return line.start + (int)(at - text + (long)strlen(loop));
    at = strstr(text, axis);
    return at ? line.start + (int)(at - text + (long)strlen(axis)) : -1;
}

/* ---- the whole kernel ------------------------------------------------------------------------------------ */

/* The number that a place of the line has then; NULL: it stays. */
static const char *number_then(const Resize *r, Span line, Span number, const Symbols *counts)
{
    long value = strtol(r->s->source->text + number.start, NULL, 10);

    if (value == r->from && is_size(r->s, line, number))
        return arena_printf(r->s->arena, "%ld", r->to);
    for (int i = 0; i < counts->n; i++)
        if (count_at(r, line, &counts->data[i]) == number.start)
            return new_count(r, &counts->data[i]);
    return NULL;
}

/* Symbols that a line makes known. */
static Symbols counts_of(const Resize *r, Span line)
{
    Symbols all = {.n = 0};
    Span first = line;

    if (symbol_of_loop(r->s, line, &all.data[0]))
        all.n = 1;
    else if (line.start == r->kernel.start && lines_next(r->s, &first))
        all = symbols_at(r->s, first);
    return all;
}

/* The next number from `at` on; of 32x16 there are two. */
static bool next_number(const Suggester *s, Span line, int at, Span *number)
{
    const char *text = s->source->text;

    for (; at < line.end; at++) {
        bool word = at > line.start && letter_among(text[at - 1], WORD_LETTERS), size = at > line.start + 1 && text[at - 1] == 'x' && letter_among(text[at - 2], DIGITS);
        if (letter_among(text[at], DIGITS) && (!word || size)) {
            *number = (Span){at, at + (int)strspn(text + at, DIGITS)};
            return number->end <= line.end;
        }
    }
    return false;
}

static void add_line(Resize *r, Span line)
{
    const Symbols counts = counts_of(r, line);
    Span number;
    int at = line.start;

    for (int from = line.start; next_number(r->s, line, from, &number); from = number.end) {
        const char *then = number_then(r, line, number, &counts);
        if (!then)
            continue;
        str_addn(&r->text, r->s->source->text + at, (size_t)(number.start - at));
        str_add(&r->text, then);
        at = number.end;
    }
    str_addn(&r->text, r->s->source->text + at, (size_t)(line.end - at));
}

static const char *resized(Resize *r)
{
    Span line = lines_at(r->s, r->kernel.start);

    r->text = str_new(r->s->arena);
    add_line(r, line);
    while (lines_next(r->s, &line) && line.start < r->kernel.end) {
        str_addc(&r->text, '\n');
        add_line(r, line);
    }
    return str_text(&r->text);
}

static const char *whole_text(Suggester *s, Span span, const char *text)
{
    return arena_printf(s->arena, "%.*s%s%s", span.start, s->source->text, text, s->source->text + span.end);
}

static bool try_size(Suggester *s, long from, long to)
{
    Span head = lines_kernel(s, lines_at(s, s->diag->span.start));
    Resize r = {.s = s, .kernel = {head.start, lines_close(s, head).end}, .from = from, .to = to};
    const char *text = from != to && to > 0 && to <= MOST_SIZE ? resized(&r) : NULL;

    return text && suggest_helps(s, r.kernel, text) && same_tiles(s, whole_text(s, r.kernel, text)) &&
           suggest_edit(s, r.kernel, text, arena_printf(s->arena, "tiles of %ld wherever they are of %ld: both were executed, and agree", to, from));
}

/* Sizes that the message says, the nearest that fit first. */
bool propose_resized_tiles(Suggester *s)
{
    static const int steps[] = {ATOM, 2 * ATOM, 4 * ATOM, 8 * ATOM};

    for (const char *at = s->diag->message; *(at += strcspn(at, DIGITS)); at += strspn(at, DIGITS)) {
        long size = strtol(at, NULL, 10);

        if (at > s->diag->message && letter_among(at[-1], WORD_LETTERS)) /* of a type's name, or a target's */
            continue;
        for (size_t i = 0; i < TW_COUNT(steps) && size > 1 && size <= MOST_SIZE; i++)
            if (try_size(s, size, (size + steps[i] - 1) / steps[i] * steps[i]) || try_size(s, size, size / steps[i] * steps[i]))
                return true;
    }
    return false;
}

/* ---- warps, stages --------------------------------------------------------------------------------------------------- */

/* `NAME N` of the kernel's first line, as another number. */
static bool try_number(Suggester *s, Span kernel, const char *name, int number, const char *label)
{
    const char *text = lines_text(s, kernel.start, kernel.end), *said = arena_printf(s->arena, " %s ", name), *at = strstr(text, said);
    int start = kernel.start + (int)(at ? at - text : 0) + (int)strlen(said), len = at ? (int)strspn(at + strlen(said), DIGITS) : 0;

    return len > 0 && suggest_edit(s, (Span){start, start + len}, arena_printf(s->arena, "%d", number), label);
}

/* How many warps there are changes nothing that is computed. */
bool propose_tile_warps(Suggester *s)
{
    static const char label[] = "warps that the tile divides among";
    static const int numbers[] = {8, 4, 2, 1};
    Span kernel = lines_kernel(s, lines_at(s, s->diag->span.start));

    if (try_number(s, kernel, "warps_n", 1, label))
        return true;
    for (size_t i = 0; i < TW_COUNT(numbers); i++)
        if (try_number(s, kernel, "warps", numbers[i], label))
            return true;
    return false;
}

/* Nor how many turns ahead tiles are copied; which kernel it is, the message says. */
bool propose_tile_stages(Suggester *s)
{
    Span line = lines_at(s, 0);

    do
        for (int stages = 3; stages > 0 && word_begins(lines_said(s, line), "kernel"); stages--)
            if (try_number(s, line, "stages", stages, "as many turns of tiles as there is room for"))
                return true;
    while (lines_next(s, &line));
    return false;
}
