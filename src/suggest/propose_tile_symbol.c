/* propose_tile_symbol.c: symbols of tile IR that are not known where they stand.
 *
 *   %b = load B[j * 16 : rows, ...]            for j = 0:ceil(k / 16) {
 *   for j = 0:ceil(k / 16) {             ->      %b = load B[j * 16 : rows, ...]
 *
 *   store %o, O[j * 64 : rows, ...]            store %o, O[m * 64 : rows, ...]      # grid(m: ceil(n / 64))
 *
 *   %t = gemm ... yield %t }                   %t = gemm ...  store %t, C[j * 16 : rows, ...]
 *   store %r, C[j * 16 : rows, ...]      ->    yield %t }
 *
 *   for j = 0:Length[b] {                      %j_end = gather Length[b] ...; scalar j_end = %j_end
 *
 * Which symbol was meant is told by what the tile is for: the loop whose turns alone use it, or
 * the grid's coordinate that goes over just these tiles of the tensor.
 */
#include "suggest/tile_symbols.h"

#include <stdlib.h>

enum { LONGEST = 64 };

static const char WORD[] = WORD_LETTERS;

/* ---- another symbol ----------------------------------------------------------------------------------------- */

static bool known(const Symbols *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->data[i].name, name) == 0)
            return true;
    return false;
}

/* The one symbol that goes over these tiles, where no other coordinate of the tensor has it. */
static bool try_other_symbol(Suggester *s, Span use, const char *name)
{
    Symbols all = symbols_at(s, lines_at(s, use.start));
    const Symbol *meant = NULL;
    Where where;

    if (!symbol_where(s, use, name, &where))
        return false;
    for (int i = 0; i < all.n; i++) {
        bool taken = strcmp(suggest_words(s, where.coords, all.data[i].name, ""), where.coords) != 0;
        if (taken || !symbol_goes_over(s, &all.data[i], &where))
            continue;
        if (meant)
            return false;
        meant = &all.data[i];
    }
    return meant && suggest_edit(s, use, meant->name, arena_printf(s->arena, "'%s' goes over these tiles of the tensor", meant->name));
}

/* ---- into the loop ------------------------------------------------------------------------------------------ */

/* The one loop of this kernel with such a counter; false: none, or several. */
static bool only_loop(Suggester *s, Span line, const char *name, Symbol *loop)
{
    Span at = lines_kernel(s, line), end = lines_close(s, at);
    int n = 0;
    Symbol other;

    while (lines_next(s, &at) && at.start < end.start)
        if (symbol_of_loop(s, at, &other) && strcmp(other.name, name) == 0) {
            *loop = other;
            n++;
        }
    return n == 1;
}

/* Whether what a line gives a value is used in some line, and in none but within a region. */
static bool used_only_in(Suggester *s, Span line, Span first, Span last)
{
    Span at = lines_kernel(s, line), end = lines_close(s, at);
    Words values = lines_values(s, line);
    int used = 0;

    while (lines_next(s, &at) && at.start < end.start) {
        bool uses = false;
        for (int i = 0; at.start != line.start && i < values.n; i++)
            uses |= lines_defines(s, line, values.data[i]) && lines_says(s, at, values.data[i]);
        if (uses && (at.start <= first.start || at.start >= last.start))
            return false;
        used += uses;
    }
    return used > 0;
}

/* The lines of a region's begin, where one more goes in front. */
static const char *with_in_front(Suggester *s, Span head, const char *said)
{
    Span first = head;

    return lines_next(s, &first) ? arena_printf(s->arena, "%s%s\n", suggest_indent(s, first.start), said) : "";
}

/* What only the turns of a loop use is computed, or loaded, in each. */
static bool try_into_the_turns(Suggester *s, Span line, const char *name)
{
    Symbol loop;

    if (lines_opens(s, line) || !only_loop(s, line, name, &loop))
        return false;
    Span close = lines_close(s, loop.line), whole = lines_whole(line), at = {loop.line.end + 1, loop.line.end + 1};
    const char *moved = with_in_front(s, loop.line, lines_said(s, line)), *label = arena_printf(s->arena, "in each turn of the loop over '%s', which alone uses it", name);
    if (!used_only_in(s, line, loop.line, close) || line.start > loop.line.start)
        return false;
    return suggest_edit(s, (Span){whole.start, at.end}, arena_printf(s->arena, "%s%s", lines_text(s, whole.end, at.start), moved), label);
}

/* What the turn gives for a value that the loop does; NULL: the value is none of the loop's. */
static const char *yielded_for(Suggester *s, Span head, Span yield, const char *value)
{
    if (!lines_defines(s, head, value))
        return NULL;
    for (int i = 0; lines_value(s, head, i); i++)
        if (strcmp(lines_value(s, head, i), value) == 0)
            return lines_value(s, yield, i);
    return NULL;
}

/* The line that a region ends with. */
static bool last_of(Suggester *s, Span close, Span *last)
{
    *last = close;
    while (lines_before(s, last))
        if (last->end > last->start)
            return word_begins(lines_said(s, *last), "yield");
    return false;
}

/* Values of a loop, and what each turn has for them. */
static const char *in_a_turn(Suggester *s, Span line, Span head, Span yield)
{
    Words values = lines_values(s, line);
    const char *text = lines_said(s, line);

    for (int i = 0; i < values.n; i++) {
        const char *by = yielded_for(s, head, yield, values.data[i]);
        if (by)
            text = suggest_words(s, text, values.data[i] + 1, by + 1);
    }
    return text;
}

/* From the loop's end to a store behind it: what is done with what the loop gave, of one block of statements. */
static bool is_tail(Suggester *s, Span close, Span line)
{
    int depth = lines_indent(s, close);

    for (Span at = close; at.start < line.start;)
        if (!lines_next(s, &at) || lines_indent(s, at) != depth || lines_opens(s, at))
            return false;
    return true;
}

/* What is stored behind a loop at a place that is the turn's own: each turn stores its part. */
static bool try_each_turn_stores(Suggester *s, Span line, const char *name)
{
    Symbol loop;
    Span yield;

    if (!word_begins(lines_said(s, line), "store") || !only_loop(s, line, name, &loop))
        return false;
    Span close = lines_close(s, loop.line);
    if (line.start < close.start || !last_of(s, close, &yield) || !is_tail(s, close, line))
        return false;
    Str moved = str_new(s->arena);
    for (Span at = close; at.start < line.start && lines_next(s, &at);)
        str_printf(&moved, "%s%s\n", suggest_indent(s, yield.start), in_a_turn(s, at, loop.line, yield));
    str_printf(&moved, "%s\n%s", lines_text(s, yield.start, yield.end), lines_text(s, close.start, close.end));
    return suggest_edit(s, (Span){yield.start, line.end}, str_text(&moved), arena_printf(s->arena, "each turn of the loop over '%s' stores its own part", name));
}

/* ---- as of a turn ---------------------------------------------------------------------------------------------- */

/* The number behind the last turn, where that is one more tile, cut off; else the last turn's, or the first's. */
static bool try_a_turn(Suggester *s, Span use, const char *name)
{
    Span line = lines_at(s, use.start);
    Symbol loop;
    long turns;
    char *end;

    if (!only_loop(s, line, name, &loop))
        return false;
    if (line.start < loop.line.start)
        return suggest_edit(s, use, loop.lo, arena_printf(s->arena, "what '%s' is in the first turn, which is a guess", name));
    turns = strtol(loop.hi, &end, 10);
    if (strncmp(loop.hi, "ceil(", 5) != 0 && *end)
        return suggest_edit(s, use, arena_printf(s->arena, "(%s)", loop.hi), "the tile behind those of the loop, which is a guess");
    const char *last = *end ? arena_printf(s->arena, "(%s - 1)", loop.hi) : arena_printf(s->arena, "%ld", turns - 1);
    return suggest_edit(s, use, last, arena_printf(s->arena, "what '%s' is in the last turn, which is a guess", name));
}

/* ---- entries ------------------------------------------------------------------------------------------------------ */

/* A name that is no dimension's, coordinate's or counter's here. */
bool propose_tile_symbol(Suggester *s)
{
    Span use = s->diag->span;
    const char *name = arena_strndup(s->arena, s->source->text + use.start, strspn(s->source->text + use.start, WORD));
    Span line = lines_at(s, use.start);

    if (s->diag->code != TW0751 || !strstr(s->diag->message, "is not a dimension, grid coordinate") || !*name || strlen(name) > LONGEST)
        return false;
    use.end = use.start + (int)strlen(name);
    Symbols all = symbols_at(s, line);
    if (known(&all, name))
        return false;
    return try_into_the_turns(s, line, name) || try_other_symbol(s, use, name) || try_each_turn_stores(s, line, name) || try_a_turn(s, use, name);
}

/* The name that the message is of, where it says this behind it; NULL: it says something else. */
static const char *said_of(Suggester *s, const char *what)
{
    const char *name = strchr(s->diag->message, '\''), *behind = name ? strchr(name + 1, '\'') : NULL;

    return behind && strncmp(behind + 2, what, strlen(what)) == 0 ? arena_strndup(s->arena, name + 1, (size_t)(behind - name - 1)) : NULL;
}

/* ---- an element's place, where the tile's is asked for --------------------------------------------------------- */

/* A text without a term, or with 0 where there is no other. */
static const char *without_term(Suggester *s, const char *text, const char *term)
{
    const char *const alone[] = {"[", ", "};
    const char *at;
    Str out = str_new(s->arena);

    for (size_t i = 0; i < 2; i++) {
        const char *said = arena_printf(s->arena, i ? "%s + " : " + %s", term);
        if ((at = strstr(text, said)) && !letter_among(at[strlen(said)], i ? "" : WORD)) {
            str_addn(&out, text, (size_t)(at - text));
            str_add(&out, at + strlen(said));
            return str_text(&out);
        }
    }
    for (size_t i = 0; i < TW_COUNT(alone); i++) {
        const char *said = arena_printf(s->arena, "%s%s", alone[i], term);
        if ((at = strstr(text, said)) && !letter_among(at[strlen(said)], WORD)) {
            str_addn(&out, text, (size_t)(at - text));
            str_printf(&out, "%s0%s", alone[i], at + strlen(said));
            return str_text(&out);
        }
    }
    return text;
}

/* `X[m * 32 + row : rows, col : cols]` */
bool propose_tile_corner(Suggester *s)
{
    Span line = lines_at(s, s->diag->span.start);
    const char *text = lines_text(s, line.start, line.end), *end = strstr(text, " where ");
    const char *name = said_of(s, "is not known here"), *coords = arena_strndup(s->arena, text, end ? (size_t)(end - text) : strlen(text));

    if (!name || (strcmp(name, "row") != 0 && strcmp(name, "col") != 0))
        return false;
    coords = without_term(s, without_term(s, coords, "row"), "col");
    return suggest_edit(s, line, arena_printf(s->arena, "%s%s", coords, end ? end : ""), "the tile's corner: its elements lie from there on");
}

/* `if col < n {` round a store: a block has one answer, a store one for each element. */
bool propose_tile_where(Suggester *s)
{
    Span line = lines_at(s, s->diag->span.start), store = line, close = lines_close(s, line);
    const char *text = lines_said(s, line), *name = said_of(s, "is not known here");

    if (!name || (strcmp(name, "row") != 0 && strcmp(name, "col") != 0) || !word_begins(text, "if") || !lines_opens(s, line))
        return false;
    if (!lines_next(s, &store) || !word_begins(lines_said(s, store), "store") || close.start != store.end + 1 || strstr(lines_said(s, store), " where "))
        return false;
    text = arena_printf(s->arena, "%s%s where %s", suggest_indent(s, line.start), lines_said(s, store), symbol_part(s, text + 3, ""));
    return suggest_edit(s, (Span){line.start, close.end}, text, "asked of each element");
}

/* ---- two of a name ---------------------------------------------------------------------------------------------- */

static const char *own_name(Suggester *s, const char *name)
{
    const char *own = name;

    for (int i = 2; strcmp(suggest_words(s, s->source->text, own, ""), s->source->text) != 0; i++)
        own = arena_printf(s->arena, "%s%d", name, i);
    return own;
}

/* The inner one, and what its region says of it, gets a name of its own. */
bool propose_tile_own_name(Suggester *s)
{
    const char *name = said_of(s, "is the name of something else");
    Span line = lines_at(s, s->diag->span.start), close = lines_close(s, line);
    Symbol loop;

    if (!name || !symbol_of_loop(s, line, &loop) || strcmp(loop.name, name) != 0)
        return false;
    const char *own = own_name(s, name), *head = lines_text(s, line.start, line.end), *counter = strstr(head, "for ") + 4;
    const char *text = arena_printf(s->arena, "%.*s%s%s%s", (int)(counter - head), head, own, counter + strlen(name),
                                    suggest_words(s, lines_text(s, line.end, close.end), name, own));
    return suggest_edit(s, (Span){line.start, close.end}, text, arena_printf(s->arena, "the inner one is '%s'", own));
}

/* ---- elements of tables, and instances ----------------------------------------------------------------------------- */

static const char *type_of(Suggester *s, const char *tensor)
{
    Span line = lines_at(s, 0);

    do {
        const char *text = lines_said(s, line), *dims = strchr(text, '('), *end = dims ? strchr(dims, ')') : NULL;
        if (end && word_begins(text, "tensor") && word_begins(text + 7, tensor) && end[1] == ' ')
            return arena_strndup(s->arena, end + 2, strspn(end + 2, WORD));
    } while (lines_next(s, &line));
    return "int32";
}

/* `Length[b]` in a bound or a condition: read before, once. */
bool propose_tile_scalar(Suggester *s)
{
    const char *name = said_of(s, "stand where no tile is brought");
    Span line = lines_at(s, s->diag->span.start);
    const char *text = lines_text(s, line.start, line.end), *at = name ? strstr(text, arena_printf(s->arena, "%s[", name)) : NULL;

    if (!at)
        return false;
    const char *coords = symbol_part(s, at + strlen(name) + 1, "]"), *blanks = suggest_indent(s, line.start), *number = own_name(s, arena_printf(s->arena, "%s_here", name));
    int start = line.start + (int)(at - text), end = start + (int)(strlen(name) + strlen(coords)) + 2;
    const char *read = arena_printf(s->arena, "%s%%%s = gather %s[%s] : %s<1x1>\n%sscalar %s = %%%s\n", blanks, number, name, coords, type_of(s, name), blanks, number, number);
    Fix edits[] = {{{line.start, line.start}, read, NULL}, {{start, end}, number, NULL}};
    return suggest_edits(s, edits, 2, "read once, before");
}

/* The role that a line stands in: where it says how many warps it has; 0: in none. */
static int role_warps(Suggester *s, Span line)
{
    for (int depth = lines_indent(s, line); lines_before(s, &line) && depth > 2;) {
        const char *text = lines_text(s, line.start, line.end), *warps = strstr(text, "(warps ");
        if (lines_indent(s, line) < depth && warps && lines_opens(s, line))
            return line.start + (int)(warps - text) + 7;
    }
    return 0;
}

/* A coordinate that only the instances of a role know. */
bool propose_tile_instances(Suggester *s)
{
    const char *name = said_of(s, "is not known here"), *text = s->source->text;
    Span line = lines_at(s, s->diag->span.start);
    int at = name ? role_warps(s, line) : 0, warps = at ? atoi(text + at) : 0;
    Symbols all = symbols_at(s, line);

    for (int i = 0; warps > 0 && i < all.n; i++) {
        int many = strcmp(all.data[i].name, name) == 0 ? atoi(all.data[i].hi) : 0;
        if (many > 0 && warps % many == 0)
            return suggest_edit(s, (Span){at, at + (int)strspn(text + at, "0123456789")}, arena_printf(s->arena, "%d per %s", warps / many, name),
                                arena_printf(s->arena, "an instance for each '%s'", name));
    }
    return false;
}
