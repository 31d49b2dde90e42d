/* propose_tile_change.c: tile IR that a single change mends.
 *
 *   %2 = add %1, %1 : fp32<64x64>          the definition goes before its use
 *   %1 = fill 0 : fp32<64x64>
 *
 *   %d = cast %c : bf16<32x24>             the loop's result in place of what its region yields
 *
 *   bias[j * 24]                           bias[j * 24 : cols]
 *   %a = ring : bf16<2x16x16> at 1000      at 1024
 *
 * What is said of tile text tells where it is wrong, seldom what was meant. But much of it
 * is said twice, as types, layouts and how many warps there are, or changes nothing that is
 * computed, as where buffers lie. That alone is changed, by kinds, in the line itself and
 * then in those that have something to do with it. A change is suggested where no other of
 * its kind in that line does as well; of numbers the nearest is taken.
 */
#include "suggest/tile_lines.h"

#include <stdlib.h>

enum { MOST_LINES = 32, NEAREST = 6, MOST_LAYOUTS = 24 };

static const char DIGITS[] = "0123456789";

/* ---- tensors -------------------------------------------------------------------------------------- */

static const char *declared_name(Suggester *s, Span line)
{
    Span name;

    return word_begins(lines_said(s, line), "tensor") && lines_word(s, line, line.start + lines_indent(s, line) + 6, &name) ? lines_text(s, name.start, name.end) : NULL;
}

/* One that is declared twice: the later line goes, or the earlier. */
bool propose_tile_declaration(Suggester *s)
{
    Span line = lines_at(s, 0);

    do {
        const char *name = declared_name(s, line), *other;
        for (Span later = line; name && lines_next(s, &later);)
            if ((other = declared_name(s, later)) && strcmp(name, other) == 0)
                return suggest_edit(s, lines_whole(later), "", "it is declared once") || suggest_edit(s, lines_whole(line), "", "it is declared once");
    } while (lines_next(s, &line));
    return false;
}

/* ---- values in another order ---------------------------------------------------------------------- */

/* The lines that define what is used before they do go before it. */
bool propose_tile_order(Suggester *s)
{
    Span use = lines_at(s, s->diag->span.start);
    Words values = lines_values(s, use);

    for (int i = 0; i < values.n; i++) {
        Span line = use;

        if (lines_defines(s, use, values.data[i]) || !lines_defining(s, &line, values.data[i], lines_next) || lines_opens(s, line))
            continue;
        const char *moved = arena_printf(s->arena, "%s%s\n%s", suggest_indent(s, use.start), lines_said(s, line), lines_text(s, use.start, line.start - 1));
        if (suggest_edit(s, (Span){use.start, line.end}, moved, "what is used is computed before"))
            return true;
    }
    return false;
}

/* Which of the yielded values it is; -1: none of them. */
static int place_in_yield(Suggester *s, Span line, const char *value)
{
    const char *other;

    for (int i = 0; word_begins(lines_said(s, line), "yield") && (other = lines_value(s, line, i)); i++)
        if (strcmp(other, value) == 0)
            return i;
    return -1;
}

/* What the owner of the region gives for a value that its region yields; NULL: nothing. */
static const char *given_for(Suggester *s, Span line, const char *value)
{
    int depth = lines_indent(s, line), place = -1;

    while (place < 0 && lines_next(s, &line) && lines_indent(s, line) >= depth)
        place = lines_indent(s, line) == depth ? place_in_yield(s, line, value) : -1;
    while (place >= 0 && lines_before(s, &line))
        if (lines_indent(s, line) < depth) {
            const char *given = lines_value(s, line, place);
            return given && lines_defines(s, line, given) ? given : NULL;
        }
    return NULL;
}

/* What was defined in a region that has ended: what comes out of it. */
bool propose_tile_result(Suggester *s)
{
    Span use = lines_at(s, s->diag->span.start), word;

    for (int at = use.start; lines_word(s, use, at, &word); at = word.end) {
        const char *value = lines_text(s, word.start, word.end), *given = NULL;
        Span line = use;

        if (*value == '%' && lines_defining(s, &line, value, lines_before))
            given = given_for(s, line, value);
        if (given && suggest_edit(s, word, given, "what comes out of the region"))
            return true;
    }
    return false;
}

/* ---- operands of products ---------------------------------------------------------------------------- */

/* One word of a line, or what goes before it. */
static bool try_word(Suggester *s, Span line, const char *word, const char *to, const char *label)
{
    const char *text = lines_said(s, line), *at = strstr(text, word);
    int start = line.start + lines_indent(s, line) + (int)(at ? at - text : 0);

    return at && suggest_edit(s, (Span){start, start + (int)strlen(word)}, to, label);
}

/* What tensor cores read is reshaped where it is cast, or loaded into shared memory. */
bool propose_tile_operand(Suggester *s)
{
    Span use = lines_at(s, s->diag->span.start);
    Words values = lines_values(s, use);

    for (int i = 0; i < values.n; i++) {
        Span line = use;

        if (!lines_defining(s, &line, values.data[i], lines_before))
            continue;
        if (try_word(s, line, " = cast ", " = reshape ", "cast, and spread over the lanes as an operand") ||
            (strstr(lines_said(s, line), " = load ") && try_word(s, line, "] : ", "] : shared ", "where tensor cores read it")))
            return true;
    }
    return false;
}

/* ---- one change of a line -------------------------------------------------------------------------- */

/* Changes of one kind in one line, of which one is to be suggested. */
typedef struct Changes {
    Suggester *s;
    int good;
    Span span; /* of the first that is good */
    const char *text;
} Changes;

static void consider(Changes *c, Span span, const char *text)
{
    bool same = strlen(text) == (size_t)(span.end - span.start) && strncmp(c->s->source->text + span.start, text, strlen(text)) == 0;

    if (same || c->good > 1 || !suggest_helps(c->s, span, text))
        return;
    c->good++;
    c->span = span;
    c->text = text;
}

/* Where tries ran out, another may be as good. */
static bool offer(Changes *c, const char *label)
{
    return c->good == 1 && c->s->tries > 0 && suggest_edit(c->s, c->span, c->text, label);
}

typedef bool Change(Suggester *s, Span line);

/* `[i * 32, t * 16 : cols]`: a coordinate along which the tile has its rows, or its columns. */
static bool change_side(Suggester *s, Span line)
{
    static const char *const sides[] = {" : rows", " : cols"};
    Changes c = {.s = s};
    int depth = 0;

    for (int at = line.start; at < line.end; at++) {
        char letter = s->source->text[at];
        if (depth == 1 && (letter == ',' || letter == ']'))
            for (int i = 0; i < 2; i++)
                consider(&c, (Span){at, at}, sides[i]);
        depth += (letter == '[') - (letter == ']');
    }
    return offer(&c, "the tile lies along it");
}

/* What a kernel does with a tensor its operations say as well. */
static bool change_mark(Suggester *s, Span line)
{
    static const char *const marks[] = {" in", " out", " in out"};
    const char *text = lines_said(s, line);
    size_t len = strlen(text), mark = 0;

    for (size_t i = 0; i < TW_COUNT(marks); i++)
        if (len > strlen(marks[i]) && strcmp(text + len - strlen(marks[i]), marks[i]) == 0)
            mark = strlen(marks[i]);
    for (size_t i = 0; mark && word_begins(text, "tensor") && i < TW_COUNT(marks); i++)
        if (suggest_edit(s, (Span){line.end - (int)mark, line.end}, marks[i], "what is done with it"))
            return true;
    return false;
}

/* The numbers of the text and of the message, the nearest first. */
static int near_numbers(Suggester *s, long value, long *numbers)
{
    const char *const texts[] = {s->source->text, s->diag->message};
    int n = 0;

    for (int i = 0; i < 2; i++)
        for (const char *at = texts[i]; *(at += strcspn(at, DIGITS)); at += strspn(at, DIGITS)) {
            long number = strtol(at, NULL, 10), k = n;
            bool known = number == value;

            for (int j = 0; j < n; j++)
                known |= numbers[j] == number;
            if (known || (n == NEAREST && labs(number - value) >= labs(numbers[n - 1] - value)))
                continue;
            for (k = n < NEAREST ? n++ : NEAREST - 1; k > 0 && labs(numbers[k - 1] - value) > labs(number - value); k--)
                numbers[k] = numbers[k - 1];
            numbers[k] = number;
        }
    return n;
}

/* Buffers and rings. */
static bool is_storage(Suggester *s, Span line)
{
    const char *text = lines_said(s, line);

    return *text == '%' && (strstr(text, " = buffer") || strstr(text, " = ring"));
}

/* `N bytes from M on do not fit`: up to where. */
static long bytes_said(const Suggester *s)
{
    long bytes, from;

    return sscanf(s->diag->message, "%ld bytes from %ld on", &bytes, &from) == 2 ? bytes + from : 0;
}

/* Whether a number is one of those that change nothing that is computed. */
static bool is_free(Suggester *s, Span line, Span number)
{
    static const char *const before[] = {" shared_bytes ", " warps ", "(warps ", " regs ", " panels(", " at "};

    for (size_t i = 0; i < TW_COUNT(before); i++) {
        int len = (int)strlen(before[i]);
        if (number.start - len >= line.start && strncmp(s->source->text + number.start - len, before[i], (size_t)len) == 0)
            return strcmp(before[i], " at ") != 0 || is_storage(s, line); /* else it is a part's place */
    }
    return false;
}

/* Warps are one, two, or whole groups of four. */
static bool may_be_many(Suggester *s, Span number, long value)
{
    bool warps = number.start > 6 && strncmp(s->source->text + number.start - 6, "warps ", 6) == 0;

    return !warps || value == 1 || value == 2 || (value > 0 && value % 4 == 0);
}

static bool change_number(Suggester *s, Span line)
{
    Changes c = {.s = s};
    Span word;

    for (int at = line.start; c.good < 2 && lines_word(s, line, at, &word); at = word.end) {
        long numbers[NEAREST];
        int before = c.good, n = is_free(s, line, word) ? near_numbers(s, strtol(s->source->text + word.start, NULL, 10), numbers) : 0;

        for (int i = 0; i < n && c.good == before; i++)
            if (may_be_many(s, word, numbers[i]))
                consider(&c, word, arena_printf(s->arena, "%ld", numbers[i]));
        if (c.good == before && n > 0 && bytes_said(s))
            consider(&c, word, arena_printf(s->arena, "%ld", bytes_said(s)));
    }
    return offer(&c, "the nearest number that does");
}

/* What says behind a line's type how the elements lie; start -1: it has no type. */
static Span layout_of(const Suggester *s, Span line)
{
    int at = line.end, end;

    while (at > line.start && !letter_among(s->source->text[at - 1], ">]{"))
        at--;
    if (at == line.start || s->source->text[at - 1] != '>')
        return (Span){-1, -1};
    for (end = at; end < line.end && strncmp(s->source->text + end, " at ", 4) != 0;)
        end++;
    return (Span){at, end};
}

static const char *layout_text(Suggester *s, Span line)
{
    Span layout = layout_of(s, line);

    return layout.start < 0 ? NULL : lines_text(s, layout.start, layout.end);
}

/* How many values lie so. */
static int times_laid(Suggester *s, const char *layout)
{
    Span line = lines_at(s, 0);
    const char *other;
    int n = 0;

    do
        n += (other = layout_text(s, line)) && strcmp(other, layout) == 0;
    while (lines_next(s, &line));
    return n;
}

/* How its elements lie, as those of more values do than lie as it does. */
static bool change_layout(Suggester *s, Span line)
{
    Changes c = {.s = s};
    const char *now = layout_text(s, line), *layout;
    Words layouts = {.n = 0};
    Span other = lines_at(s, 0);

    if (!now)
        return false;
    do {
        if ((layout = layout_text(s, other)) && layouts.n < MOST_LAYOUTS)
            words_add(&layouts, layout);
    } while (lines_next(s, &other));
    for (int i = 0; i < layouts.n; i++)
        if (times_laid(s, layouts.data[i]) > times_laid(s, now))
            consider(&c, layout_of(s, line), layouts.data[i]);
    return offer(&c, "where its elements lie");
}

/* Storage is the kernel's own. */
static bool move_storage(Suggester *s, Span line)
{
    Span kernel = lines_kernel(s, line);

    if (!is_storage(s, line) || lines_indent(s, line) <= 2)
        return false;
    const char *moved = arena_printf(s->arena, "  %s\n%s", lines_said(s, line), lines_text(s, kernel.end + 1, line.start));
    return suggest_edit(s, (Span){kernel.end + 1, line.end + 1}, moved, "it is the whole kernel's");
}

/* ---- facts -------------------------------------------------------------------------------------------- */

/* What does not hold is not promised, nor what passes establish behind it: they run again. */
static bool change_facts(Suggester *s, Span line)
{
    const char *text = lines_said(s, line), *facts = strstr(text, " facts("), *end = facts ? strchr(facts, ')') : NULL;
    int at = line.start + lines_indent(s, line);

    if (!word_begins(text, "kernel") || !end || s->diag->code == TW0756) /* layouts are not taken back */
        return false;
    for (const char *stop = end - 1; stop > facts; stop--) {
        bool all = *stop == '(';
        if ((all || *stop == ',') &&
            suggest_edit(s, (Span){at + (int)((all ? facts : stop) - text), at + (int)(end - text) + all}, "", "the passes give what is not promised"))
            return true;
    }
    return false;
}

/* ---- what warps do together ------------------------------------------------------------------------------ */

static const char *const STEPS[] = {"barrier", "wait", "commit", "acquire", "filled", "release", "take_turn", "give_turn"};

static bool is_step(const char *text)
{
    for (size_t i = 0; i < TW_COUNT(STEPS); i++)
        if (word_begins(text, STEPS[i]))
            return true;
    return false;
}

/* A step that stands there twice. */
static bool drop_step(Suggester *s, Span line)
{
    Span before = line;

    return is_step(lines_said(s, line)) && lines_before(s, &before) && strcmp(lines_said(s, before), lines_said(s, line)) == 0 &&
           suggest_edit(s, lines_whole(line), "", "once");
}

static bool try_step(Suggester *s, int at, Span like, const char *step)
{
    return suggest_edit(s, (Span){at, at}, arena_printf(s->arena, "%s%s\n", suggest_indent(s, like.start), step), "the step that lacks");
}

/* What is done with a ring by the lines of one region, those within it included. */
typedef struct Use {
    Span first, last; /* that say it */
    int end;          /* where the region ends, or yields */
    int acquired, filled, awaited, released;
} Use;

static Use use_of(Suggester *s, Span line, const char *ring)
{
    int depth = lines_indent(s, line);
    Use use = {.first = line, .last = line, .end = line.start};

    for (Span before = line; lines_before(s, &before) && lines_indent(s, before) >= depth;)
        line = before;
    use.first = line;
    for (bool any = false; lines_indent(s, line) >= depth && !word_begins(lines_said(s, line), "yield");) {
        const char *text = lines_said(s, line);
        if (lines_says(s, line, ring)) {
            use.first = any ? use.first : line;
            use.last = line;
            any = true;
            use.acquired += word_begins(text, "acquire");
            use.filled += word_begins(text, "filled");
            use.awaited += strstr(text, " = await ") != NULL;
            use.released += word_begins(text, "release");
        }
        if (!lines_next(s, &line))
            break;
    }
    use.end = line.start;
    return use;
}

/* A ring is acquired before all that is done with its stage, told filled behind that, and released where the region
 * ends: where each is done once, but for one that lacks. */
static bool add_step(Suggester *s, Span line)
{
    Span ring = lines_at(s, s->diag->span.start);
    const char *name = lines_value(s, ring, 0);

    if (line.start == ring.start)
        return try_step(s, line.start, line, "barrier across");
    if (!name || !is_storage(s, ring) || !lines_says(s, line, name))
        return false;
    Use use = use_of(s, line, name);
    if (use.filled == 1 && !use.acquired)
        return try_step(s, use.first.start, line, arena_printf(s->arena, "acquire %s", name));
    if (use.acquired == 1 && !use.filled)
        return try_step(s, use.last.end + 1, line, arena_printf(s->arena, "filled %s", name));
    return use.awaited == 1 && !use.released && try_step(s, use.end, line, arena_printf(s->arena, "release %s", name));
}

/* The tiles of a dimension, each once: `0:ceil(len / 16)`, as another loop goes over them. */
static bool change_bounds(Suggester *s, Span line)
{
    const char *text = lines_said(s, line), *bounds = strstr(text, "= 0:");
    Words all = {.n = 0};

    if (!strstr(text, "for ") || !bounds || !lines_opens(s, line))
        return false;
    for (Span other = lines_at(s, 0); lines_next(s, &other);) {
        const char *at = strstr(lines_said(s, other), "for ") ? strstr(lines_said(s, other), "= 0:ceil(") : NULL;
        size_t len = at ? strcspn(at, ")") + 1 : 0;
        if (at && (word_begins(at + len, " {") || word_begins(at + len, " carry") || strncmp(at + len, " {", 2) == 0))
            words_add(&all, arena_strndup(s->arena, at, len));
    }
    int at = line.start + lines_indent(s, line) + (int)(bounds - text), to = (int)strcspn(bounds, "{");
    const char *carry = strstr(bounds, " carry");
    to = carry && carry - bounds < to ? (int)(carry - bounds) : to - 1;
    for (int i = 0; i < all.n; i++)
        if (strcmp(all.data[i], lines_text(s, at, at + to)) != 0 && suggest_edit(s, (Span){at, at + to}, all.data[i], "as often as the other side"))
            return true;
    return false;
}

/* ---- which lines ------------------------------------------------------------------------------------------ */

typedef struct Lines {
    Span data[MOST_LINES];
    int n;
} Lines;

static void add_line(Lines *lines, Span line)
{
    for (int i = 0; i < lines->n; i++)
        if (lines->data[i].start == line.start)
            return;
    if (lines->n < MOST_LINES && line.end > line.start)
        lines->data[lines->n++] = line;
}

static bool has_in_common(Suggester *s, Span a, Span b)
{
    Words of_a = lines_values(s, a), of_b = lines_values(s, b);

    for (int i = 0; i < of_b.n; i++)
        if (text_among(of_a.data, of_a.n, of_b.data[i]))
            return true;
    return false;
}

/* Whether a line declares a tensor that another one names. */
static bool declares_for(Suggester *s, Span line, Span user)
{
    const char *name = declared_name(s, line);
    Span word;

    for (int at = user.start; name && lines_word(s, user, at, &word); at = word.end)
        if (strcmp(lines_text(s, word.start, word.end), name) == 0)
            return true;
    return false;
}

/* The line itself, its kernel's, those of the same values, the tensors it names, and all others where they are few. */
static Lines lines_of(Suggester *s)
{
    Lines lines = {.n = 0};
    Span here = lines_at(s, s->diag->span.start), line;

    add_line(&lines, here);
    add_line(&lines, lines_kernel(s, here));
    for (int pass = 0; pass < 2; pass++)
        for (line = lines_at(s, 0);;) {
            if (pass || has_in_common(s, here, line) || declares_for(s, line, here))
                add_line(&lines, line);
            if (!lines_next(s, &line))
                break;
        }
    return lines;
}

bool propose_tile_change(Suggester *s)
{
    static Change *const changes[] = {drop_step, change_mark, change_side, change_bounds, add_step, move_storage, change_layout, change_number, change_facts};
    bool first = s->diag == &s->chain->diags->list.data[0]; /* what is said behind it may come of it */
    Lines lines = {.n = 0};

    if (first)
        lines = lines_of(s);
    for (int i = 0; i < lines.n && s->tries > 0; i++)
        for (size_t k = 0; k < TW_COUNT(changes) && s->tries > 0; k++)
            if (changes[k](s, lines.data[i]))
                return true;
    return false;
}
