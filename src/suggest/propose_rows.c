/* propose_rows.c: a kernel that says what one thread does with a row, in loops over its elements, as the sketch of it.
 *
 *   for i in range(M):                             Grid over M
 *     acc = 0                                      Compute Fill acc, 0
 *     for j in range(N):                           for j over N
 *       acc += X[i, j] * X[i, j]          ─►         Copy X from global to register
 *     Y[i] = sqrt(acc / N)                           Compute Multiply X, X and get acc_tile
 *                                                    Compute RowSum acc_tile and accumulate acc
 *                                                  end
 *                                                  Compute Divide acc, N and get Y_1
 *                                                  Compute Sqrt Y_1 and get Y
 *                                                  Copy Y (M, 1) from register to global
 *
 * Three lines that raise a maximum and multiply a sum by what that takes are a Softmax with both. A row is a block's or an
 * outer loop's, what is summed up or compared in a loop is a column, and so is what is made of
 * columns. A loop over i adds up columns likewise; what it gives is a row. What reads a neighbour, or decides by an element, is left to its writer.
 */
#include <ctype.h>
#include <stdlib.h>

#include "suggest/elements.h"

typedef struct Rows {
    Elements el;
    const char *columns[ELEMENTS_NAMES]; /* names of numbers of rows */
    int n_columns;
    const char *copied[ELEMENTS_NAMES]; /* columns of Inputs, once */
    int n_copied;
    const Stmt *widest; /* the Input whose rows they are */
    const char *dim;    /* of the loop that is open; NULL: none is */
    const char *counter;
    int depth;          /* blanks before its `for` */
    Str loop, stores;   /* its statements, and those that end it */
    const char *greater; /* `if E > c:` stood before this line: E, ... */
    const char *than;    /* ... and c; NULL: no such condition */
    const char *online[4]; /* the new maximum, the old one, E and the sum, as far as their lines were read; NULL: none was */
    bool reduces;       /* any loop does */
    bool turned;        /* loops go over the elements of columns, as `acc += X[i, j]` over i does: numbers of columns are meant */
} Rows;

static void fail_unless(Rows *r, bool good)
{
    r->el.failed |= !good;
}

static const char *indent_of(const Rows *r)
{
    return r->dim ? arena_printf(r->el.s->arena, "%s  ", r->el.indent) : r->el.indent;
}

static Str *block_of(Rows *r)
{
    return r->dim ? &r->loop : &r->el.body;
}

static void note_column(Rows *r, const char *name)
{
    fail_unless(r, r->n_columns < ELEMENTS_NAMES);
    if (!r->el.failed && !text_among(r->columns, r->n_columns, name))
        r->columns[r->n_columns++] = name;
}

static const char *size_text(const Rows *r, const Stmt *tensor, int d)
{
    return suggest_expr(r->el.s, tensor->shape[d]);
}

/* Of the widest Input, from its end: the dimension that loops over elements go along, and that of the numbers of each. */
static int along(const Rows *r)
{
    return r->turned ? 2 : 1;
}

static int across(const Rows *r)
{
    return r->turned ? 1 : 2;
}

/* A number for each row: the tensor has the dimension of the rows alone, or a last one of 1. */
static bool is_vector(const Rows *r, const Stmt *tensor)
{
    return tensor->n_shape == 1 && r->widest->n_shape > 1 && strcmp(size_text(r, tensor, 0), size_text(r, r->widest, r->widest->n_shape - across(r))) == 0;
}

static bool has_numbers(const Rows *r, const Stmt *tensor)
{
    return is_vector(r, tensor) || (tensor->n_shape >= along(r) && expr_is_one(tensor->shape[tensor->n_shape - along(r)]));
}

/* A tile of one column: it has the dimension of the rows alone. */
static bool is_column(const Rows *r, const Stmt *tensor)
{
    return tensor->n_shape == 1 && r->widest->n_shape > 1 && strcmp(size_text(r, tensor, 0), size_text(r, r->widest, r->widest->n_shape - 2)) == 0;
}

static const char *copy_text(const Rows *r, const Stmt *tensor, const char *from, const char *to)
{
    const char *shape = is_column(r, tensor) ? arena_printf(r->el.s->arena, " (%s, 1)", size_text(r, tensor, 0)) : "";

    return arena_printf(r->el.s->arena, "%sCopy %s%s from %s to %s\n", indent_of(r), tensor->name, shape, from, to);
}

/* ---- expressions -------------------------------------------------------------------------------- */

/* Copies of what an expression reads: of rows once, of a loop's elements where they are read first. */
static void copy_reads(Rows *r)
{
    Elements *el = &r->el;

    for (int i = 0; i < el->n_read && !el->failed; i++) {
        const Stmt *tensor = cuts_tensor(&el->cuts, el->read[i]);
        bool column = has_numbers(r, tensor);

        fail_unless(r, column || r->dim);
        if (text_among(r->copied, r->n_copied, el->read[i]) || r->n_copied == ELEMENTS_NAMES)
            continue;
        r->copied[r->n_copied++] = el->read[i];
        str_add(block_of(r), copy_text(r, tensor, "global", "register"));
    }
    el->n_read = 0;
}

/* Statements that give an expression a name; the name of what it is, where that has one. */
static const char *compute(Rows *r, const char *result, const char *text)
{
    Elements *el = &r->el;
    const char *known[2 * ELEMENTS_NAMES], *tiles = el->failed ? "" : elements_of_tiles(el, text), *steps;
    const Expr *e = el->failed ? NULL : formula_expr(el->s, tiles);
    int n = 0;

    fail_unless(r, e != NULL);
    copy_reads(r);
    if (el->failed)
        return "";
    for (int i = 0; i < r->n_columns; i++)
        known[n++] = r->columns[i];
    if (e->kind == EXPR_NAME && (text_among(known, n, e->name) || cuts_tensor(&el->cuts, e->name)))
        return e->name;
    steps = formula_text_of(el->s, result, e, indent_of(r), known, n, arena_printf(el->s->arena, "%s_", result));
    fail_unless(r, steps != NULL);
    if (steps)
        str_printf(block_of(r), "%s%s\n", indent_of(r), steps);
    return result;
}

/* ---- loops ----------------------------------------------------------------------------------------- */

static void close_loop(Rows *r)
{
    if (!r->dim)
        return;
    fail_unless(r, !r->than && !r->online[0]); /* of what was begun all is read */
    str_printf(&r->el.body, "%sfor %s over %s\n%s%s%send\n", r->el.indent, r->counter, r->dim, str_text(&r->loop), str_text(&r->stores), r->el.indent);
    for (int i = 0; i < r->el.n_places; i++) /* its counter is none behind it */
        if (strcmp(r->el.places[i], r->counter) == 0)
            r->el.places[i] = "";
    r->el.n_values = 0;
    r->dim = NULL;
}

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) && !isalnum((unsigned char)at[len]) && at[len] != '_')
            return true;
    return false;
}

/* The loop over the last dimension is over the elements, any other one over rows. */
static void open_loop(Rows *r, const char *counter, const char *text, int depth)
{
    Elements *el = &r->el;
    const char *last = size_text(r, r->widest, r->widest->n_shape - along(r));

    fail_unless(r, el->n_places < ELEMENTS_NAMES && !r->dim);
    if (el->failed)
        return;
    el->places[el->n_places++] = counter;
    if (!has_word(text, last))
        return;
    r->dim = last;
    r->counter = counter;
    r->depth = depth;
    r->loop = str_new(el->s->arena);
    r->stores = str_new(el->s->arena);
    for (int i = r->n_copied - 1; i >= 0; i--) { /* elements are copied by each loop */
        const Stmt *tensor = cuts_tensor(&el->cuts, r->copied[i]);
        if (!has_numbers(r, tensor))
            r->copied[i] = r->copied[--r->n_copied];
    }
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* `acc += E`, or the largest so far. */
static void reduce(Rows *r, const char *name, const char *text, bool largest)
{
    Arena *arena = r->el.s->arena;
    const char *tile = compute(r, arena_printf(arena, "%s_tile", name), text), *indent = indent_of(r), *of = r->turned ? "Col" : "Row";

    fail_unless(r, text_among(r->columns, r->n_columns, name) && !text_among(r->columns, r->n_columns, tile));
    r->reduces = true;
    if (largest)
        str_printf(&r->loop, "%sCompute %sMax %s and get %s_here\n%sCompute Max %s, %s_here and get new %s\n", indent, of, tile, name, indent, name, name, name);
    else
        str_printf(&r->loop, "%sCompute %sSum %s and accumulate %s\n", indent, of, tile, name);
}

static void store(Rows *r, const char *name, const char *text)
{
    const Stmt *output = cuts_tensor(&r->el.cuts, name);
    const char *from;

    fail_unless(r, output && output->kind == STMT_OUTPUT && (r->dim || has_numbers(r, output)));
    from = compute(r, name, text);
    if (r->el.failed)
        return;
    if (strcmp(from, name) != 0)
        str_printf(block_of(r), "%sCompute Add %s, 0 and get %s\n", indent_of(r), from, name);
    str_add(r->dim ? &r->stores : &r->el.body, copy_text(r, output, "register", "global"));
    r->el.output = output;
}

/* `0.0f` as 0.0; NULL: it is no number. */
static const char *number_text(const Rows *r, const char *text)
{
    char *end;

    strtod(text, &end);
    return end > text && (*end == '\0' || strcmp(end, "f") == 0) ? arena_strndup(r->el.s->arena, text, (size_t)(end - text)) : NULL;
}

/* What a largest number begins with: float('-inf'), -FLT_MAX, -INFINITY, -1e30. */
static const char *start_of(const char *text)
{
    bool least = text[0] == '-' && (strstr(text, "INFINITY") || strstr(text, "FLT_MAX") || strcmp(text, "-inf") == 0);

    return least || strstr(text, "'-inf'") || strstr(text, "\"-inf\"") || strcmp(text, "-float(inf)") == 0 ? "-inf" : NULL;
}

/* `NAME = E` in no loop: a coordinate, or a number of the row. */
static void assign(Rows *r, const char *name, const char *text)
{
    const char *start = start_of(text) ? start_of(text) : number_text(r, text);
    int places = r->el.n_places;

    if (start) {
        str_printf(&r->el.body, "%sCompute Fill %s, %s\n", r->el.indent, name, start);
        note_column(r, name);
        return;
    }
    Elements was = r->el;
    elements_note_value(&r->el, name, text);
    if (!r->el.failed && r->el.n_places > places)
        return;
    r->el = was;
    const char *from = compute(r, name, text);
    if (!r->el.failed && strcmp(from, name) != 0)
        str_printf(&r->el.body, "%sCompute Add %s, 0 and get %s\n", r->el.indent, from, name);
    note_column(r, name);
}

/* `acc = acc + E`, `acc = max(acc, E)`, of a number of the row, in a loop. */
static bool is_reduction(Rows *r, const char *line)
{
    static const struct { const char *form; bool largest; } forms[] = {
        {"$c += $E", false}, {"$c = $c + $E", false}, {"$c = max($c, $E)", true}, {"$c = max($E, $c)", true}, {"$c = fmaxf($c, $E)", true}, {"$c = fmaxf($E, $c)", true}};
    Holes holes;

    for (size_t i = 0; r->dim && i < TW_COUNT(forms); i++)
        if (form_match(forms[i].form, line, &holes)) {
            reduce(r, form_hole(r->el.s, line, &holes, 'c'), form_hole(r->el.s, line, &holes, 'E'), forms[i].largest);
            return true;
        }
    return false;
}

/* `if X[i, j] > m:` and `m = X[i, j]`, which is max(m, X[i, j]). */
static bool is_comparison(Rows *r, const char *line)
{
    static const struct { const char *form; bool turned; } forms[] = {{"if $E > $c", false}, {"if ($E > $c)", false}, {"if $c < $E", true}, {"if ($c < $E)", true}};
    Suggester *s = r->el.s;
    Holes holes;

    for (size_t i = 0; r->dim && i < TW_COUNT(forms); i++)
        if (form_match(forms[i].form, line, &holes) && text_among(r->columns, r->n_columns, form_hole(s, line, &holes, 'c'))) {
            r->greater = form_hole(s, line, &holes, 'E');
            r->than = form_hole(s, line, &holes, 'c');
            return true;
        }
    return false;
}

static void take_greater(Rows *r, const char *line)
{
    const char *wanted = arena_printf(r->el.s->arena, "%s = %s", r->than, r->greater);

    fail_unless(r, strcmp(line, wanted) == 0);
    if (!r->el.failed)
        reduce(r, r->than, r->greater, true);
    r->than = NULL;
}

/* The three lines of an online softmax:
 *
 *   m_new = max(m, E)
 *   d = d * exp(m - m_new) + exp(E - m_new)
 *   m = m_new */
static bool is_online(Rows *r, const char *line)
{
    static const char *const sums[] = {"$d = $d * exp($c - $n) + exp($E - $n)", "$d = $d * expf($c - $n) + expf($E - $n)"};
    Suggester *s = r->el.s;
    const char **o = r->online;
    Holes holes;

    if (!r->dim || r->turned)
        return false;
    if (!o[0]) {
        bool first = form_match("$n = max($c, $E)", line, &holes) || form_match("$n = fmaxf($c, $E)", line, &holes);
        const char *old = first ? form_hole(s, line, &holes, 'c') : NULL, *now = first ? form_hole(s, line, &holes, 'n') : NULL;

        if (!first || strcmp(old, now) == 0 || !text_among(r->columns, r->n_columns, old))
            return false;
        o[0] = now, o[1] = old, o[2] = form_hole(s, line, &holes, 'E');
        return true;
    }
    for (size_t i = 0; !o[3] && i < TW_COUNT(sums); i++)
        if (form_match(sums[i], line, &holes) && strcmp(form_hole(s, line, &holes, 'n'), o[0]) == 0 && strcmp(form_hole(s, line, &holes, 'c'), o[1]) == 0 && strcmp(form_hole(s, line, &holes, 'E'), o[2]) == 0) {
            o[3] = form_hole(s, line, &holes, 'd');
            return true;
        }
    fail_unless(r, o[3] && text_among(r->columns, r->n_columns, o[3]) && strcmp(line, arena_printf(s->arena, "%s = %s", o[1], o[0])) == 0);
    if (r->el.failed)
        return true;
    const char *tile = compute(r, arena_printf(s->arena, "%s_tile", o[1]), o[2]), *scores = arena_printf(s->arena, "%s_scores", o[1]);
    if (cuts_tensor(&r->el.cuts, tile)) /* whose elements others read */
        str_printf(&r->loop, "%sCompute Add %s, 0 and get %s\n", indent_of(r), tile, scores);
    str_printf(&r->loop, "%sCompute Softmax %s with %s and %s\n", indent_of(r), cuts_tensor(&r->el.cuts, tile) ? scores : tile, o[1], o[3]);
    r->reduces = true;
    memset(o, 0, sizeof r->online);
    return true;
}

/* A guard of threads, which tiles have by themselves. */
static bool is_guard(Rows *r, const char *line)
{
    const char *rest = strncmp(line, "if ", 3) == 0 || strncmp(line, "if(", 3) == 0 ? line + 2 : NULL;
    const char *returns = rest ? strstr(rest, "return") : NULL;
    const char *condition = returns ? arena_strndup(r->el.s->arena, rest, (size_t)(returns - rest)) : rest;

    return condition && elements_of_places(&r->el, condition);
}

/* `acc /= N` behind the loop. */
static bool is_change(Rows *r, const char *line)
{
    static const char *const forms[] = {"$c /= $E", "$c *= $E", "$c += $E", "$c -= $E"}, signs[] = "/*+-";
    Suggester *s = r->el.s;
    Holes holes;

    for (size_t i = 0; !r->dim && i < TW_COUNT(forms); i++)
        if (form_match(forms[i], line, &holes)) {
            const char *name = form_hole(s, line, &holes, 'c');
            assign(r, name, arena_printf(s->arena, "%s %c (%s)", name, signs[i], form_hole(s, line, &holes, 'E')));
            return true;
        }
    return false;
}

static void one_line(Rows *r, const char *text, int depth)
{
    static const char *const nothing[] = {"end", "return", "endfor", "endif"};
    Suggester *s = r->el.s;
    Holes holes;

    if (!*text)
        return;
    if (r->dim && depth <= r->depth)
        close_loop(r);
    if (strspn(text, "{} ") == strlen(text) || text_among(nothing, TW_COUNT(nothing), text))
        return;
    if (r->than) {
        take_greater(r, text);
        return;
    }
    if (is_guard(r, text) || is_comparison(r, text) || is_online(r, text))
        return;
    if (form_match("for $i in $A", text, &holes) || form_match("for $i = $A", text, &holes) || form_match("for ($i = $A)", text, &holes))
        open_loop(r, form_hole(s, text, &holes, 'i'), text, depth);
    else if (is_reduction(r, text) || is_change(r, text))
        return;
    else if (form_match("$c[$A][$B] = $E", text, &holes) || form_match("$c[$A] = $E", text, &holes))
        store(r, form_hole(s, text, &holes, 'c'), form_hole(s, text, &holes, 'E'));
    else if (!form_match("$c = $E", text, &holes))
        fail_unless(r, false);
    else if (r->dim && !text_among(r->columns, r->n_columns, form_hole(s, text, &holes, 'c')))
        elements_note_value(&r->el, form_hole(s, text, &holes, 'c'), form_hole(s, text, &holes, 'E'));
    else if (r->dim) /* a number of the row that each element changes */
        fail_unless(r, false);
    else
        assign(r, form_hole(s, text, &holes, 'c'), form_hole(s, text, &holes, 'E'));
}

/* ---- the kernel --------------------------------------------------------------------------------------- */

static const char *sketch(Rows *r)
{
    Str text = str_new(r->el.s->arena);

    str_printf(&text, "%sGrid over ", r->el.indent);
    for (int i = 0, n = 0; i < r->widest->n_shape; i++)
        if (i != r->widest->n_shape - along(r))
            str_printf(&text, "%s%s", n++ ? ", " : "", size_text(r, r->widest, i));
    str_printf(&text, "\n%s", str_text(&r->el.body));
    return str_text(&text);
}

static const Stmt *widest_input(const Unit *unit)
{
    const Stmt *widest = NULL;

    for (int i = 0; i < unit->body.len; i++)
        if (unit->body.data[i]->kind == STMT_INPUT && unit->body.data[i]->n_shape > (widest ? widest->n_shape : 1))
            widest = unit->body.data[i];
    return widest;
}

/* `for (...) acc += E` as two lines. */
static void read_line(Rows *r, const char *text, int depth)
{
    int open = 0, at = 0;

    if (strncmp(text, "for (", 5) == 0)
        do {
            open += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
            at++;
        } while (text[at] && (open > 0 || at < 5));
    if (at == 0 || !text[at + (int)strspn(text + at, " ")]) {
        one_line(r, text, depth);
        return;
    }
    one_line(r, arena_strndup(r->el.s->arena, text, (size_t)at), depth);
    one_line(r, text + at + strspn(text + at, " "), depth + 1);
}

static bool try_read(Suggester *s, bool turned)
{
    Rows r = {.el = {.s = s, .cuts = cuts_of(s), .body = str_new(s->arena), .stores = str_new(s->arena), .indent = "  "}, .turned = turned};
    int at = s->unit && s->unit->kind == UNIT_KERNEL ? elements_begin(s->unit) : -1;
    Span all = {at < 0 ? 0 : suggest_line_end(s, at) + 1, 0};

    r.widest = at < 0 ? NULL : widest_input(s->unit);
    if (!r.widest)
        return false;
    all.end = elements_end(s, all.start);
    for (at = all.start; at < all.end && !r.el.failed;) {
        int end = suggest_line_end(s, at);

        read_line(&r, elements_line(s, at, end), (int)strspn(s->source->text + at, " \t"));
        at = end + 1;
    }
    close_loop(&r);
    return !r.el.failed && r.reduces && r.el.output && suggest_edit(s, all, sketch(&r), "what all threads do, of tiles");
}

bool propose_rows(Suggester *s)
{
    return try_read(s, false) || try_read(s, true);
}
