/* tile_symbols.c: counters of loops and coordinates of the grid in a text in tile IR, and tiles that they go over. */
#include "suggest/tile_symbols.h"

#include <stdlib.h>

static const char WORD[] = WORD_LETTERS;

/* ---- symbols that there are -------------------------------------------------------------------------- */

/* Where an expression ends that one of these letters follows, or the region's begin. */
static size_t expression(const char *text, const char *until)
{
    int depth = 0;
    size_t n = 0;

    for (; text[n] && text[n] != '{' && (depth > 0 || !strchr(until, text[n])); n++) {
        depth += (text[n] == '(' || text[n] == '[') - (text[n] == ')' || text[n] == ']');
        if (depth < 0 || (depth == 0 && text[n] == ' ' && (word_begins(text + n + 1, "carry") || word_begins(text + n + 1, "in") || word_begins(text + n + 1, "until") || word_begins(text + n + 1, "unroll"))))
            break;
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return n;
}

const char *symbol_part(Suggester *s, const char *text, const char *until)
{
    return arena_strndup(s->arena, text, expression(text, until));
}

/* `for j = LO:HI`; false: the line is no loop. */
bool symbol_of_loop(Suggester *s, Span line, Symbol *symbol)
{
    const char *text = lines_said(s, line), *at = word_begins(text, "for") ? text : strstr(text, " = for ");

    if (!at || !lines_opens(s, line))
        return false;
    at = strstr(at, "for ") + 4;
    *symbol = (Symbol){.line = line, .name = arena_strndup(s->arena, at, strspn(at, WORD))};
    at += strlen(symbol->name);
    if (strncmp(at, " = ", 3) != 0)
        return false;
    symbol->lo = symbol_part(s, at + 3, ":");
    at += 3 + strlen(symbol->lo);
    if (*at != ':')
        return false;
    symbol->hi = symbol_part(s, at + 1, "");
    return true;
}

static void add_symbol(Symbols *all, Symbol symbol)
{
    if (all->n < MOST_SYMBOLS && *symbol.name && *symbol.hi)
        all->data[all->n++] = symbol;
}

/* `grid(m: ceil(len / 32) reversed, b: batch)` */
static void add_grid(Suggester *s, Span kernel, Symbols *all)
{
    const char *at = strstr(lines_said(s, kernel), " grid(");

    for (at = at ? at + 6 : ""; *at && *at != ')'; at += strspn(at, ", ")) {
        const char *name = arena_strndup(s->arena, at, strspn(at, WORD));
        at += strlen(name);
        if (strncmp(at, ": ", 2) != 0)
            return;
        const char *axis = symbol_part(s, at + 2, ",");
        at += 2 + strlen(axis);
        const char *kind = strrchr(axis, ' ');
        bool marked = kind && (strcmp(kind, " reversed") == 0 || strcmp(kind, " within") == 0 || strcmp(kind, " cluster") == 0);
        add_symbol(all, (Symbol){kernel, name, "0", marked ? arena_strndup(s->arena, axis, (size_t)(kind - axis)) : axis});
    }
}

/* Those that are known in a line. */
Symbols symbols_at(Suggester *s, Span line)
{
    Symbols all = {.n = 0};
    int depth = lines_indent(s, line);

    for (Symbol loop; depth > 0 && lines_before(s, &line);) {
        if (line.end == line.start || lines_indent(s, line) >= depth)
            continue;
        depth = lines_indent(s, line);
        if (word_begins(lines_said(s, line), "kernel"))
            add_grid(s, line, &all);
        else if (symbol_of_loop(s, line, &loop))
            add_symbol(&all, loop);
    }
    return all;
}

/* ---- the tiles of a tensor -------------------------------------------------------------------------------- */

/* The n-th part of a list. */
static const char *nth_part(Suggester *s, const char *list, int n)
{
    for (; n > 0; n--) {
        list += expression(list, ",");
        if (*list != ',')
            return NULL;
        list += 1 + strspn(list + 1, " ");
    }
    return symbol_part(s, list, ",");
}

/* What `tensor NAME (a, b = 64)` declares; NULL: no such tensor. */
static const char *declared_dim(Suggester *s, const char *tensor, int n)
{
    Span line = lines_at(s, 0);
    size_t len = strlen(tensor);

    do {
        const char *text = lines_said(s, line), *dims = strchr(text, '(');
        const char *name = strchr(text, ' ');
        if (!dims || !name || (!word_begins(text, "tensor") && !word_begins(text, "workspace")) || strncmp(name + 1, tensor, len) != 0 || name[1 + len] != ' ')
            continue;
        const char *dim = nth_part(s, dims + 1, n), *number = dim ? strstr(dim, " = ") : NULL;
        return number ? number + 3 : dim;
    } while (lines_next(s, &line));
    return NULL;
}

/* `j * 64 : rows`, where the symbol alone says which tile it is. */
static long step_of(const char *coord, const char *name)
{
    size_t len = strlen(name);
    char *end;

    if (strncmp(coord, name, len) != 0)
        return 0;
    coord += len;
    if (!*coord || strncmp(coord, " : ", 3) == 0)
        return 1;
    if (strncmp(coord, " * ", 3) != 0)
        return 0;
    long step = strtol(coord + 3, &end, 10);
    return end > coord + 3 && (!*end || strncmp(end, " : ", 3) == 0) ? step : 0;
}

bool symbol_where(Suggester *s, Span use, const char *name, Where *where)
{
    const char *text = s->source->text;
    int open = use.start, first = use.start, n = 0;

    while (open > 0 && text[open] != '[' && text[open] != '\n') {
        n += text[open] == ',';
        open--;
    }
    for (first = open; first > 0 && letter_among(text[first - 1], WORD);)
        first--;
    if (text[open] != '[' || first == open)
        return false;
    where->coords = symbol_part(s, text + open + 1, "]");
    const char *coord = nth_part(s, where->coords, n);
    where->dim = declared_dim(s, lines_text(s, first, open), n);
    where->step = coord ? step_of(coord, name) : 0;
    return where->dim && where->step > 0;
}

/* Whether it takes each tile of the dimension once. */
bool symbol_goes_over(Suggester *s, const Symbol *symbol, const Where *where)
{
    long size, turns;
    char *end;

    if (strcmp(symbol->lo, "0") != 0)
        return false;
    turns = strtol(symbol->hi, &end, 10);
    if (!*end && sscanf(where->dim, "%ld", &size) == 1)
        return turns == (size + where->step - 1) / where->step;
    return strcmp(symbol->hi, where->step == 1 ? where->dim : arena_printf(s->arena, "ceil(%s / %ld)", where->dim, where->step)) == 0;
}
