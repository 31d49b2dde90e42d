/* propose_notation.c: formulas in the notation of other languages.
 *
 *   Define Y (M, N) as X[i][j] > 0.5f ? 1 : 0          Define Y (M, N) as where(X[i, j] > 0.5, 1, 0)
 *   Define B (M, N) as 0 if i >= j else float('-inf')  Define B (M, N) as where(i >= j, 0, -inf)
 *   Define Z (M, N) as X * g                            Define Z (M, N) as X[...] * g[...]
 *   Define W (M, N) as np.cos(math.pi * (i & 3))       Define W (M, N) as cos(3.141592653589793 * (i % 4))
 *
 * Each rule makes another text of a line, or leaves it as it is; the line that all of them make is tried.
 */
#include "suggest/cuts.h"
#include "suggest/forms.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_TURNS = 32, LONGEST_LINE = 4000 };

typedef struct Line {
    Suggester *s;
    const char *text;
} Line;

/* Whether a word stands there, by itself. */
static bool is_word(const char *text, int at, const char *word)
{
    size_t len = strlen(word);

    return strncmp(text + at, word, len) == 0 && (at == 0 || !(is_name_char(text[at - 1]) || text[at - 1] == '.')) && !is_name_char(text[at + (int)len]);
}

/* The text from `from` up to `to` becomes another. */
static void put(Line *l, int from, int to, const char *text)
{
    l->text = arena_printf(l->s->arena, "%.*s%s%s", from, l->text, text, l->text + to);
}

static const char *part(Line *l, int from, int to)
{
    while (from < to && l->text[from] == ' ')
        from++;
    while (to > from && l->text[to - 1] == ' ')
        to--;
    return arena_strndup(l->s->arena, l->text + from, (size_t)(to - from));
}

/* ---- how far an operand reaches ------------------------------------------------------------------ */

static bool opens(char c)
{
    return c == '(' || c == '[';
}

static bool closes(char c)
{
    return c == ')' || c == ']';
}

/* Where a clause of the statement begins its formula, as far as that is behind a place. */
static bool behind_clause(const char *text, int at)
{
    static const char *const clauses[] = {" as ", " where "};

    for (size_t i = 0; i < TW_COUNT(clauses); i++) {
        int len = (int)strlen(clauses[i]);
        if (at >= len && strncmp(text + at - len, clauses[i], (size_t)len) == 0)
            return true;
    }
    return false;
}

/* Where the operand before a place begins: behind a bracket, a comma, or what the statement says before it. */
static int begin_of(const char *text, int at)
{
    for (int depth = 0; at > 0; at--) {
        char c = text[at - 1];
        depth += closes(c) - opens(c);
        if (depth < 0 || (depth == 0 && (c == ',' || c == '?' || c == ':' || behind_clause(text, at))))
            break;
    }
    return at;
}

/* Where the operand from a place on ends; at a colon, if it is wanted. */
static int end_of(const char *text, int at, bool at_colon)
{
    for (int depth = 0; text[at]; at++) {
        depth += opens(text[at]) - closes(text[at]);
        if (depth < 0 || (depth == 0 && (text[at] == ',' || (at_colon && text[at] == ':') || strncmp(text + at, " and get ", 9) == 0)))
            break;
    }
    return at;
}

/* Where the element or number that ends before a place begins, its coordinates included. */
static int begin_of_element(const char *text, int at)
{
    while (at > 0 && text[at - 1] == ' ')
        at--;
    if (at > 0 && closes(text[at - 1])) {
        int depth = 0;
        do {
            at--;
            depth += closes(text[at]) - opens(text[at]);
        } while (at > 0 && depth > 0);
    }
    while (at > 0 && (is_name_char(text[at - 1]) || text[at - 1] == '.'))
        at--;
    return at;
}

/* ---- rules --------------------------------------------------------------------------------------- */

/* 0xff */
static void bases(Line *l)
{
    for (int at = 0; l->text[at]; at++) {
        bool begins = l->text[at] == '0' && (l->text[at + 1] | 0x20) == 'x' && (at == 0 || !is_name_char(l->text[at - 1]));
        char *end = (char *)l->text + at;
        unsigned long number = begins ? strtoul(l->text + at, &end, 16) : 0;
        if (begins && !is_name_char(*end) && number <= INT32_MAX)
            put(l, at, (int)(end - l->text), arena_printf(l->s->arena, "%lu", number));
    }
}

static void constants(Line *l)
{
    static const struct { const char *word, *is; } names[] = {{"pi", "3.141592653589793"}, {"M_PI", "3.141592653589793"}, {"PI", "3.141592653589793"},
                                                               {"M_E", "2.718281828459045"}, {"float(inf)", "inf"}, {"float(-inf)", "-inf"}};

    for (int at = 0; l->text[at]; at++)
        for (size_t i = 0; i < TW_COUNT(names); i++)
            if (is_word(l->text, at, names[i].word))
                put(l, at, at + (int)strlen(names[i].word), names[i].is);
}

/* `(float) x` */
static void casts(Line *l)
{
    static const char *const words[] = {"(float)", "(int)", "(double)", "(half)"};

    for (int at = 0; l->text[at]; at++)
        for (size_t i = 0; i < TW_COUNT(words); i++)
            if (strncmp(l->text + at, words[i], strlen(words[i])) == 0 && (at == 0 || !is_name_char(l->text[at - 1])))
                put(l, at, at + (int)strlen(words[i]), "");
}

/* X[i][j], and X(i, j) of a tensor */
static void coordinates(Line *l)
{
    const char *at;
    Cuts cuts = cuts_of(l->s);

    while ((at = strstr(l->text, "][")))
        put(l, (int)(at - l->text), (int)(at - l->text) + 2, ", ");
    for (int i = 0; l->text[i]; i++) {
        int from = i, to = i;
        while (from > 0 && is_name_char(l->text[from - 1]))
            from--;
        if (l->text[i] != '(' || from == i || !cuts_tensor(&cuts, part(l, from, i)))
            continue;
        to = end_of(l->text, i + 1, false);
        while (l->text[to] == ',')
            to = end_of(l->text, to + 1, false);
        if (l->text[to] == ')') {
            put(l, to, to + 1, "]");
            put(l, i, i + 1, "[");
        }
    }
}

/* `c ? a : b`, the last one first */
static void chosen_in_c(Line *l)
{
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        const char *mark = strrchr(l->text, '?');
        if (!mark)
            return;
        int at = (int)(mark - l->text), from = begin_of(l->text, at), colon = end_of(l->text, at + 1, true);
        if (l->text[colon] != ':')
            return;
        int to = end_of(l->text, colon + 1, false);
        put(l, from, to, arena_printf(l->s->arena, "%swhere(%s, %s, %s)", l->text[from] == ' ' ? " " : "", part(l, from, at), part(l, at + 1, colon),
                                      part(l, colon + 1, to)));
    }
}

/* `a if c else b`, the last one first */
static void chosen_in_python(Line *l)
{
    for (int turn = 0, at = (int)strlen(l->text); turn < MOST_TURNS; turn++) {
        while (at > 0 && strncmp(l->text + at, " if ", 4) != 0)
            at--;
        const char *other = at > 0 ? strstr(l->text + at, " else ") : NULL;
        if (!other)
            return;
        int from = begin_of(l->text, at), otherwise = (int)(other - l->text), to = end_of(l->text, otherwise + 6, false);
        put(l, from, to, arena_printf(l->s->arena, "%swhere(%s, %s, %s)", l->text[from] == ' ' ? " " : "", part(l, at + 4, otherwise), part(l, from, at),
                                      part(l, otherwise + 6, to)));
        at = from;
    }
}

/* Shifts, and the lowest bits. */
static void bits(Line *l)
{
    const char *at;

    while ((at = strstr(l->text, ">>")))
        put(l, (int)(at - l->text), (int)(at - l->text) + 2, "div 2 **");
    while ((at = strstr(l->text, "<<")))
        put(l, (int)(at - l->text), (int)(at - l->text) + 2, "* 2 **");
    for (int i = 0; l->text[i]; i++) {
        bool alone = i > 0 && l->text[i] == '&' && l->text[i - 1] != '&' && l->text[i + 1] != '&';
        char *end = (char *)l->text + i;
        long mask = alone ? strtol(l->text + i + 1, &end, 10) : 0;
        if (mask > 0 && mask < INT32_MAX && (mask & (mask + 1)) == 0)
            put(l, i, (int)(end - l->text), arena_printf(l->s->arena, "%% %ld", mask + 1));
    }
}

/* `x <> y`; and behind `where` or `as`, `x = y` */
static void comparisons(Line *l)
{
    const char *at = strstr(l->text, "<>");

    if (at)
        put(l, (int)(at - l->text), (int)(at - l->text) + 2, "!=");
    const char *where = strstr(l->text, " where "); /* before which a Copy has coordinates, `len = j` */
    bool copies = strncmp(l->text + strspn(l->text, " "), "Copy ", 5) == 0;
    for (int i = copies ? (where ? (int)(where - l->text) : (int)strlen(l->text)) : 0; l->text[i]; i++)
        if (i > 0 && l->text[i] == '=' && !strchr("=<>!", l->text[i - 1]) && l->text[i + 1] != '=')
            put(l, i, i + 1, "==");
}

/* |x| */
static void absolute_values(Line *l)
{
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        const char *first = strchr(l->text, '|'), *second = first ? strchr(first + 1, '|') : NULL;
        if (!second || second == first + 1)
            return;
        put(l, (int)(first - l->text), (int)(second - l->text) + 1,
            arena_printf(l->s->arena, "abs(%s)", part(l, (int)(first - l->text) + 1, (int)(second - l->text))));
    }
}

/* `X[i, j].exp()` */
static void methods(Line *l)
{
    for (int at = 0; l->text[at]; at++) {
        int end = at + 1;
        while (is_name_char(l->text[end]))
            end++;
        if (l->text[at] != '.' || strncmp(l->text + end, "()", 2) != 0 || end == at + 1)
            continue;
        int from = begin_of_element(l->text, at);
        put(l, from, end + 2, arena_printf(l->s->arena, "%s(%s)", part(l, at + 1, end), part(l, from, at)));
    }
}

/* Whether it is a tensor, or computed before. */
static bool has_elements(Line *l, const char *name)
{
    Cuts cuts = cuts_of(l->s);

    for (int i = 0; i < l->s->unit->body.len; i++) {
        const Stmt *stmt = l->s->unit->body.data[i];
        const Expr *result = stmt->kind == STMT_COMPUTE && stmt->op_known && stmt->span.end < l->s->diag->span.start ? compute_result(stmt) : NULL;
        if (result && expr_is_name(result, name))
            return true;
    }
    return cuts_tensor(&cuts, name) != NULL;
}

/* `Define Y (M, N) as X * g`: of each the element at the own place. */
static void elements(Line *l)
{
    const char *as = strstr(l->text, " as ");

    if (!as || l->s->unit->kind != UNIT_OPERATOR)
        return;
    for (int at = (int)(as - l->text) + 4, end; l->text[at]; at = end > at ? end : at + 1) {
        for (end = at; is_name_char(l->text[end]); end++)
            ;
        if (end > at && l->text[end] != '[' && l->text[end] != '(' && !isdigit((unsigned char)l->text[at]) && has_elements(l, part(l, at, end))) {
            put(l, end, end, "[...]");
            end += 5;
        }
    }
}

static void functions(Line *l)
{
    const char *made = functions_expanded(l->s, l->text);

    l->text = made ? made : l->text;
}

/* ---- the line -------------------------------------------------------------------------------------- */

const char *notation_plain(Suggester *s, const char *line)
{
    static void (*const rules[])(Line *l) = {bases, constants, casts, coordinates, chosen_in_c, chosen_in_python,
                                             bits, comparisons, absolute_values, methods, functions, elements};
    Line l = {s, line};

    for (size_t i = 0; i < TW_COUNT(rules) && strlen(l.text) < LONGEST_LINE; i++)
        rules[i](&l);
    return l.text;
}

bool propose_notation(Suggester *s)
{
    Span line = form_line(s);
    const char *was = arena_strndup(s->arena, s->source->text + line.start, (size_t)(line.end - line.start)), *text;

    if (!s->unit || strlen(was) >= LONGEST_LINE)
        return false;
    text = notation_plain(s, form_plain(s, line));
    return strcmp(text, was) != 0 && suggest_edit(s, line, text, "which is written so here");
}
