/* propose_parts.c: expressions that are too deep taken apart, and numbers and coordinates that are lacking in one.
 *
 *   x = ((((a))))                                x = (a)
 *   x = a + b + ... 300 terms                    part = a + b + ... 100 terms
 *                                                x = part + ...
 *   Compute Mask S where Seg[q] == 0             Compute Mask S where Seg[..., q] == 0
 *   Compute Mask S where c else k                Compute Mask S where c else 0
 *   Copy X ... to register where Seg[col] == 1   Copy X ... to register
 *                                                Compute Mask X where Seg[col] == 1 else 0
 */
#include "suggest/cuts.h"

enum { TERMS_OF_PART = 100, LEVELS_OF_PART = 50, MOST_PARTS = 64, MOST_BRACKETS = 4096 };

/* ---- parentheses -------------------------------------------------------------------------------------- */

typedef struct Brackets {
    int open[MOST_BRACKETS], close[MOST_BRACKETS], depth[MOST_BRACKETS]; /* in the order in which they open */
    int n;
} Brackets;

/* Those of a line that close. */
static Brackets *brackets_of(Suggester *s, Span line)
{
    Brackets *b = arena_new_of(s->arena, Brackets);
    int *within = arena_array(s->arena, int, MOST_BRACKETS), depth = 0;

    for (int at = line.start; at < line.end && b->n < MOST_BRACKETS; at++) {
        if (s->source->text[at] == '(') {
            within[depth] = b->n;
            b->open[b->n] = at;
            b->close[b->n] = -1;
            b->depth[b->n++] = ++depth;
        } else if (s->source->text[at] == ')' && depth > 0) {
            b->close[within[--depth]] = at;
        }
    }
    return b;
}

/* `((...))`: the outer ones mean nothing. */
static bool try_fewer(Suggester *s, const Brackets *b)
{
    Fix *edits = arena_array(s->arena, Fix, 2 * (size_t)b->n + 1);
    bool *drop = arena_array(s->arena, bool, (size_t)(s->source->len + 1));
    int n = 0;

    for (int i = 0; i + 1 < b->n; i++)
        if (b->close[i] > 0 && b->open[i + 1] == b->open[i] + 1 && b->close[i + 1] == b->close[i] - 1)
            drop[b->open[i]] = drop[b->close[i]] = true;
    for (int at = 0; b->n && at <= (int)s->source->len; at++)
        if (drop[at])
            edits[n++] = (Fix){{at, at + 1}, "", NULL};
    return n && suggest_edits(s, edits, n, "the same with fewer parentheses");
}

static const char *fresh(Suggester *s, int i)
{
    const char *name = arena_printf(s->arena, i ? "part%d" : "part", i);

    return strstr(s->source->text, name) ? arena_printf(s->arena, "%s_of_it", name) : name;
}

/* Names for what stands within so many brackets each, the innermost first, before the statement. */
static bool try_named(Suggester *s, const Brackets *b)
{
    int line = suggest_line_start(s, s->diag->span.start), levels[MOST_PARTS], n = 0, last = -1;
    const char *text = s->source->text;

    for (int i = 0; i < b->n && n < MOST_PARTS; i++) /* each within the one before */
        if (b->close[i] > 0 && b->depth[i] == LEVELS_OF_PART * (n + 1) && (last < 0 || b->close[i] < b->close[last]))
            levels[n++] = last = i;
    for (int let = 0; n && let < 2; let++) {
        Str lines = str_new(s->arena);
        for (int i = n - 1; i >= 0; i--) {
            int start = b->open[levels[i]] + 1, end = b->close[levels[i]];
            str_printf(&lines, "%s%s%s = ", suggest_indent(s, line), let ? "Let " : "", fresh(s, n - 1 - i));
            str_addn(&lines, text + start, (size_t)((i < n - 1 ? b->open[levels[i + 1]] + 1 : end) - start));
            if (i < n - 1) {
                str_add(&lines, fresh(s, n - 2 - i));
                str_addn(&lines, text + b->close[levels[i + 1]], (size_t)(end - b->close[levels[i + 1]]));
            }
            str_addc(&lines, '\n');
        }
        Span part = {b->open[levels[0]] + 1, b->close[levels[0]]};
        if (suggest_edits(s, (Fix[]){{{line, line}, str_text(&lines), NULL}, {part, fresh(s, n - 1), NULL}}, 2, "parts of it have names"))
            return true;
    }
    return false;
}

/* ---- long chains ---------------------------------------------------------------------------------------- */

/* Where a chain is cut: in front of the operators that bind least. */
static const char *const OPERATORS[][3] = {{" or "}, {" and "}, {" + ", " - "}, {" * "}};

static int operator_at(const char *text, int level)
{
    for (int i = 0; i < 3 && OPERATORS[level][i]; i++)
        if (strncmp(text, OPERATORS[level][i], strlen(OPERATORS[level][i])) == 0)
            return (int)strlen(OPERATORS[level][i]);
    return 0;
}

/* Every so many terms of the chain that begins there. Returns how many. */
static int find_cuts(const Suggester *s, int start, int level, int *cuts)
{
    const char *text = s->source->text;
    int depth = 0, terms = 0, n = 0;

    for (int at = start; text[at] && text[at] != '\n' && depth >= 0; at++) {
        depth += (text[at] == '(' || text[at] == '[') - (text[at] == ')' || text[at] == ']');
        if (depth == 0 && operator_at(text + at, level) && ++terms % TERMS_OF_PART == 0 && n < MOST_PARTS)
            cuts[n++] = at;
    }
    return n;
}

static bool try_chain(Suggester *s, int start, int level)
{
    int cuts[MOST_PARTS], n = find_cuts(s, start, level, cuts), line = suggest_line_start(s, start);
    const char *text = s->source->text;

    for (int let = 0; n && let < 2; let++) {
        Str lines = str_new(s->arena);
        for (int i = 0; i < n; i++) {
            str_printf(&lines, "%s%s%s = %s", suggest_indent(s, start), let ? "Let " : "", fresh(s, i), i ? fresh(s, i - 1) : "");
            str_addn(&lines, text + (i ? cuts[i - 1] : start), (size_t)(cuts[i] - (i ? cuts[i - 1] : start)));
            str_addc(&lines, '\n');
        }
        if (suggest_edits(s, (Fix[]){{{line, line}, str_text(&lines), NULL}, {{start, cuts[n - 1]}, fresh(s, n - 1), NULL}}, 2, "parts of it have names"))
            return true;
    }
    return false;
}

/* An expression that is too deep: fewer parentheses, a name for what is within them, or for parts of a chain. */
bool propose_parts(Suggester *s)
{
    Span line = {suggest_line_start(s, s->diag->span.start), suggest_line_end(s, s->diag->span.start)};
    const Brackets *b = brackets_of(s, line);

    if (s->loose) /* names for places of elements would mean nothing: that must show */
        return false;
    if (try_fewer(s, b) || try_named(s, b))
        return true;
    for (size_t level = 0; level < TW_COUNT(OPERATORS); level++)
        if (try_chain(s, s->diag->span.start, (int)level))
            return true;
    return false;
}

/* ---- coordinates of an element --------------------------------------------------------------------------- */

/* What stands in the brackets of `Seg[...]`, by its commas. Returns how many. */
static int entries_of(const Suggester *s, Span *entries, int most)
{
    const char *text = s->source->text;
    int at = s->diag->span.start, depth = 0, n = 0;

    while (at < s->diag->span.end && text[at] != '[')
        at++;
    for (int start = ++at; at < s->diag->span.end && n < most; at++) {
        bool ends = depth == 0 && (text[at] == ',' || text[at] == ']');
        depth += (text[at] == '(' || text[at] == '[') - (text[at] == ')' || text[at] == ']');
        if (!ends)
            continue;
        while (text[start] == ' ')
            start++;
        entries[n++] = (Span){start, at};
        start = at + 1;
    }
    return n;
}

/* As many coordinates as the tensor has dimensions: `...` for those that the tile has anyway, or one less. */
bool propose_entry(Suggester *s)
{
    static const char rest[] = "where the tile lies along the others";
    Span entries[9];
    int n = entries_of(s, entries, (int)TW_COUNT(entries));

    if (n < 1 || n == (int)TW_COUNT(entries))
        return false;
    Span first = {entries[0].start, entries[0].start}, last = {entries[n - 1].end, entries[n - 1].end};
    if (suggest_edit(s, first, "..., ", rest) || suggest_edit(s, last, ", ...", rest))
        return true;
    for (int i = 0; i < n && n > 1; i++) {
        Span one = i ? (Span){entries[i - 1].end, entries[i].end} : (Span){entries[0].start, entries[1].start};
        if (suggest_edit(s, one, "", "one coordinate for each dimension"))
            return true;
    }
    return false;
}

/* ---- values elsewhere -------------------------------------------------------------------------------------- */

/* Of `else`, where no number stands: the usual one. */
bool propose_otherwise(Suggester *s)
{
    const Expr *e = s->stmt ? s->stmt->otherwise : NULL;
    bool copy = e && s->stmt->kind == STMT_COPY;

    if (!e || e->span.start != s->diag->span.start)
        return false;
    return suggest_edit(s, e->span, copy ? "0" : "-inf", copy ? "0 is a guess" : "-inf is a guess: a score that a softmax leaves out") ||
           suggest_edit(s, e->span, "0", "0 is a guess");
}

/* ---- elements of tiles ----------------------------------------------------------------------------------------- */

typedef struct Brought {
    const char *tile;
    int before;       /* offset in the source */
    const Stmt *copy; /* the last that brings it; NULL: none */
} Brought;

static void note_brought(void *user, const Stmt *s)
{
    Brought *b = user;

    if (s->kind == STMT_COPY && !s->listed && s->space == SPACE_GLOBAL && s->span.start < b->before && strcmp(copy_tile(s), b->tile) == 0)
        b->copy = s;
}

static const Expr *coordinate_of(const Stmt *copy, const Stmt *tensor, int d)
{
    for (int i = 0; i < copy->n_coords; i++) {
        const Coord *c = &copy->coords[i];
        if (c->name ? expr_is_name(tensor->shape[d], c->name) : i == d && copy->n_coords == tensor->n_shape)
            return c->value;
    }
    return NULL;
}

/* `m * BM + col`: an element of a tile, along a dimension. */
static const char *place_text(Suggester *s, const Expr *coord, const Expr *size, const char *within)
{
    if (!coord || (coord->kind == EXPR_INT && coord->i == 0))
        return within ? within : "0";
    if (!within)
        return suggest_expr(s, coord);
    return arena_printf(s->arena, coord->kind == EXPR_NAME ? "%s * %s + %s" : "(%s) * %s + %s", suggest_expr(s, coord), suggest_expr(s, size), within);
}

/* Another element of a tile than that at the same place: of the tensor that it was copied from. */
bool propose_global_element(Suggester *s)
{
    const char *text = s->source->text + s->diag->span.start;
    Brought b = {.tile = arena_strndup(s->arena, text, strcspn(text, "[ ")), .before = s->diag->span.start};
    Span entries[3];
    Str element = str_new(s->arena);
    int tiled = 0;

    if (!s->unit || entries_of(s, entries, (int)TW_COUNT(entries)) != 2)
        return false;
    suggest_each(&s->unit->body, note_brought, &b);
    const Stmt *tensor = b.copy ? unit_tensor(s->unit, b.copy->name) : NULL;
    int lead = tensor ? tensor->n_shape - b.copy->n_shape : -1;
    if (lead < 0)
        return false;
    str_printf(&element, "%s[", tensor->name);
    for (int d = 0; d < tensor->n_shape; d++) {
        const Expr *size = d < lead ? NULL : b.copy->shape[d - lead];
        bool covered = size && !expr_is_one(size) && tiled < 2;
        Span at = covered ? entries[tiled++] : (Span){0, 0};

        str_printf(&element, "%s%s", d ? ", " : "", place_text(s, coordinate_of(b.copy, tensor, d), size, covered ? arena_strndup(s->arena, s->source->text + at.start, (size_t)(at.end - at.start)) : NULL));
    }
    str_addc(&element, ']');
    if (tiled != 2)
        return false;
    Fix edits[] = {{suggest_line(s, b.copy->span), "", NULL}, {s->diag->span, str_text(&element), NULL}}; /* the tile may be of no other use */
    return suggest_edits(s, edits, 2, "of the tensor that it was copied from") || suggest_edit(s, s->diag->span, str_text(&element), "of the tensor that it was copied from");
}

/* The condition of a Copy that each element of the tile has: a Mask of what was copied. */
bool propose_masked_copy(Suggester *s)
{
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && s->stmt->where && copy_tile(s->stmt) ? s->stmt : NULL;

    if (!copy)
        return false;
    Stmt *plain = suggest_like(s, copy);
    plain->where = plain->otherwise = NULL;
    return suggest_edit(s, copy->span,
                        arena_printf(s->arena, "%s\n%sCompute Mask %s where %s else %s", suggest_text(s, plain), suggest_indent(s, copy->span.start),
                                     copy_tile(copy), suggest_expr(s, copy->where), copy->otherwise ? suggest_expr(s, copy->otherwise) : "0"),
                        "a Mask of what was copied");
}
