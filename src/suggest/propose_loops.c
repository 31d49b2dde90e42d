/* propose_loops.c: loops that say what a statement says.
 *
 *   for m in range(M):                          Compute GEMM A, B.T and get C
 *     for n in range(N):
 *       for k in range(K):
 *         C[m, n] += A[m, k] * B[n, k]
 *
 *   for j = 0:N                                 Compute RowSum X and get Y
 *     Compute Add Y, X[:, j] and get new Y
 *   end
 *
 * A definition is of whole tensors: what counts entries is left out, and what is summed up over a counter that the
 * result does not have is a product or a reduction. In code `while` counts like `for`.
 */
#include "suggest/cuts.h"
#include "suggest/forms.h"

enum { MOST_LINES = 24, MOST_COUNTERS = 8 };

typedef struct Line {
    Span span; /* without blanks round it */
    int indent;
} Line;

typedef struct Nest {
    Suggester *s;
    Span span; /* from the outermost header up to the end of its last line */
    Line lines[MOST_LINES]; /* within, headers and `end` left out */
    int n;
    const char *counters[MOST_COUNTERS];
    int n_counters;
    const char *indent; /* before the outermost header */
    Str text;
    bool failed;
} Nest;

/* ---- lines of a text ------------------------------------------------------------------------------- */

/* The line that begins there; an empty span: nothing stands in it. */
static Line line_at(const Suggester *s, int begin)
{
    const char *text = s->source->text;
    Line line = {{begin, suggest_line_end(s, begin)}, 0};

    while (line.span.start < line.span.end && strchr(" \t", text[line.span.start]))
        line.span.start++;
    line.indent = line.span.start - begin;
    for (int at = line.span.start; at < line.span.end; at++)
        if (text[at] == '#')
            line.span.end = at;
    while (line.span.end > line.span.start && strchr(" \t\r;:", text[line.span.end - 1]))
        line.span.end--;
    return line;
}

static bool begins(const Suggester *s, const Line *line, const char *word)
{
    const char *text = s->source->text + line->span.start;
    size_t len = strlen(word);

    if (line->span.end - line->span.start < (int)len || strncmp(text, word, len) != 0)
        return false;
    return !(text[len] >= 'a' && text[len] <= 'z') && text[len] != '_';
}

static bool is_empty(const Line *line)
{
    return line->span.end == line->span.start;
}

/* Behind a header at this begin: where the last line that stands further to the right, or its `end`, stops. */
static int block_end(const Suggester *s, int begin)
{
    int indent = line_at(s, begin).indent, last = suggest_line_end(s, begin);

    for (int at = last + 1; (size_t)at < s->source->len; at = suggest_line_end(s, at) + 1) {
        Line line = line_at(s, at);

        if (is_empty(&line))
            continue;
        if (line.indent <= indent)
            return line.indent == indent && begins(s, &line, "end") ? suggest_line_end(s, at) : last;
        last = suggest_line_end(s, at);
    }
    return last;
}

/* The outermost loop round the line of the diagnostic; -1: none. */
static int outermost(const Suggester *s)
{
    int begin = suggest_line_start(s, s->diag->span.start), found = -1;
    Line line = line_at(s, begin);
    int indent = line.indent;

    if (begins(s, &line, "for"))
        found = begin;
    while (begin > s->unit->span.start) {
        begin = suggest_line_start(s, begin - 1);
        line = line_at(s, begin);
        if (is_empty(&line) || line.indent >= indent)
            continue;
        if (!begins(s, &line, "for"))
            break;
        found = begin;
        indent = line.indent;
    }
    return found;
}

static void read_line(Nest *nest, const Line *line)
{
    Suggester *s = nest->s;
    const char *text;
    Holes holes;

    if (is_empty(line) || begins(s, line, "end"))
        return;
    text = form_plain(s, line->span);
    if (begins(s, line, "for")) {
        nest->failed |= nest->n_counters == MOST_COUNTERS || strlen(text) > FORM_LONGEST || !form_match("for $k $A", text, &holes);
        if (!nest->failed)
            nest->counters[nest->n_counters++] = form_hole(s, text, &holes, 'k');
        return;
    }
    nest->failed |= nest->n == MOST_LINES;
    if (!nest->failed)
        nest->lines[nest->n++] = *line;
}

static bool read_nest(Nest *nest, int begin)
{
    Suggester *s = nest->s;
    int end = block_end(s, begin);

    nest->span = (Span){line_at(s, begin).span.start, end};
    nest->indent = suggest_indent(s, nest->span.start);
    nest->text = str_new(s->arena);
    for (int at = begin; at < end; at = suggest_line_end(s, at) + 1) {
        Line line = line_at(s, at);
        read_line(nest, &line);
    }
    return !nest->failed && nest->n && nest->n_counters;
}

/* ---- expressions of elements --------------------------------------------------------------------------- */

static bool names_counter(const void *user, const Expr *e)
{
    const Nest *nest = user;

    return e->kind == EXPR_NAME && text_among(nest->counters, nest->n_counters, e->name);
}

static bool is_element(const void *user, const Expr *e)
{
    (void)user;
    return e->kind == EXPR_INDEX;
}

/* Of an element that another element chooses: no whole tensor is meant. */
static bool is_chosen(const void *user, const Expr *e)
{
    bool chosen = false;

    for (int i = 0; e->kind == EXPR_INDEX && i < e->n_args; i++)
        chosen |= expr_any(e->args[i], is_element, user);
    return chosen;
}

/* The tensor in place of its element. */
static Expr *whole(const Nest *nest, const Expr *e)
{
    Expr *made;

    if (!e)
        return NULL;
    if (e->kind == EXPR_INDEX && e->a && expr_any(e, names_counter, nest))
        return whole(nest, e->a);
    made = arena_new_of(nest->s->arena, Expr);
    *made = *e;
    made->a = whole(nest, e->a);
    made->b = whole(nest, e->b);
    made->args = arena_array(nest->s->arena, Expr *, e->n_args + 1);
    for (int i = 0; i < e->n_args; i++)
        made->args[i] = whole(nest, e->args[i]);
    return made;
}

/* Which of its coordinates, from the last, a counter is; -1: none. */
static int place_of(const Expr *element, const char *counter)
{
    for (int i = 0; element->kind == EXPR_INDEX && i < element->n_args; i++)
        if (expr_is_name(element->args[i], counter))
            return element->n_args - 1 - i;
    return -1;
}

/* The one counter of an expression that the result's element does not have; NULL: none, or several. */
static const char *summed(const Nest *nest, const Expr *e, const Expr *result)
{
    const char *found = NULL;

    for (int i = 0; i < nest->n_counters; i++) {
        if (!expr_mentions(e, nest->counters[i]) || expr_mentions(result, nest->counters[i]))
            continue;
        if (found)
            return NULL;
        found = nest->counters[i];
    }
    return found;
}

static void put(Nest *nest, const char *line)
{
    str_printf(&nest->text, "%s%s", nest->text.len ? arena_printf(nest->s->arena, "\n%s", nest->indent) : "", line);
}

/* `A[m, k] * B[k, n]`: the operands of a product, each with its contracted dimension where it belongs. */
static bool put_product(Nest *nest, const Expr *e, const char *counter, const Expr *result)
{
    Suggester *s = nest->s;
    int a, b;

    if (e->kind != EXPR_BINARY || e->op != EO_MUL || e->a->kind != EXPR_INDEX || e->b->kind != EXPR_INDEX)
        return false;
    a = place_of(e->a, counter);
    b = place_of(e->b, counter);
    if (a < 0 || a > 1 || b < 0 || b > 1 || e->a->n_args < 2 || e->b->n_args < 2)
        return false;
    const Expr *rows = e->a->args[e->a->n_args - (a ? 1 : 2)];
    bool turned = result->kind == EXPR_INDEX && result->n_args >= 2 && expr_equal(result->args[result->n_args - 1], rows);
    const char *first = arena_printf(s->arena, "%s%s", suggest_expr(s, whole(nest, e->a)), a != turned ? ".T" : "");
    const char *second = arena_printf(s->arena, "%s%s", suggest_expr(s, whole(nest, e->b)), b == turned ? ".T" : "");
    const char *to = suggest_expr(s, whole(nest, result));

    put(nest, turned ? arena_printf(s->arena, "Compute GEMM %s, %s and get %s", second, first, to)
                     : arena_printf(s->arena, "Compute GEMM %s, %s and get %s", first, second, to));
    return true;
}

/* `+=`, or `max(.., E)`, over a counter: along rows, or along columns. */
static void put_reduction(Nest *nest, const char *op, const Expr *e, const Expr *result, bool columns)
{
    Suggester *s = nest->s;
    const char *counter = summed(nest, e, result), *to = suggest_expr(s, whole(nest, result)), *operand;
    const Expr *of = whole(nest, e);

    if (counter && strcmp(op, "Sum") == 0 && put_product(nest, e, counter, result))
        return;
    if (counter && e->kind == EXPR_INDEX && place_of(e, counter) >= 0)
        columns = place_of(e, counter) == 1;
    operand = suggest_expr(s, of);
    if (of->kind != EXPR_NAME) {
        const char *steps = formula_text(s, "part", of, nest->indent);
        nest->failed |= !steps;
        put(nest, steps ? steps : "");
        operand = "part";
    }
    put(nest, arena_printf(s->arena, "Compute %s%s %s and get %s", columns ? "Col" : "Row", op, operand, to));
}

/* ---- lines as statements ----------------------------------------------------------------------------------- */

static const Expr *expr_of(Nest *nest, const char *text, const Holes *holes, char name)
{
    const Expr *e = formula_expr(nest->s, form_hole(nest->s, text, holes, name));

    nest->failed |= !e || expr_any(e, is_chosen, nest);
    return e;
}

/* What a line sums up, or takes the largest of: the element of the result, and what is added. */
typedef struct Step {
    const char *op; /* Sum, Max; "": neither; NULL: nothing need be done */
    const Expr *result, *value;
} Step;

static Step read_step(Nest *nest, const char *text)
{
    static const struct { const char *form, *op; } forms[] = {
        {"$C = 0", NULL}, {"$C = 0.0", NULL}, {"$C = -inf", NULL}, {"Compute Fill $C, $V", NULL},
        {"$C += $E", "Sum"}, {"$C = $C + $E", "Sum"}, {"$C = $E + $C", "Sum"},
        {"$C = max($C, $E)", "Max"}, {"$C = maximum($C, $E)", "Max"}, {"$C = fmax($C, $E)", "Max"},
        {"Compute Add $C, $E and get new $C", "Sum"}, {"Compute Add $C, $E and get $C", "Sum"}, {"Compute Add $C, $E", "Sum"},
        {"Compute Max $C, $E and get new $C", "Max"}, {"Compute Max $C, $E and get $C", "Max"}, {"Compute Max $C, $E", "Max"},
        {"$C = $E", ""},
    };
    Holes holes;

    for (size_t i = 0; strlen(text) <= FORM_LONGEST && i < TW_COUNT(forms); i++)
        if (form_match(forms[i].form, text, &holes)) {
            if (!forms[i].op)
                return (Step){0};
            const Expr *result = expr_of(nest, text, &holes, 'C'), *value = expr_of(nest, text, &holes, 'E');
            return nest->failed ? (Step){0} : (Step){forms[i].op, result, value};
        }
    return (Step){0};
}

/* `C[m, n] = acc` behind the sum: the element that it is of. */
static const Expr *stored_as(Nest *nest, int from, const Expr *name)
{
    for (int i = from; name->kind == EXPR_NAME && i < nest->n; i++) {
        Step step = read_step(nest, form_plain(nest->s, nest->lines[i].span));
        if (step.op && !*step.op && expr_is_name(step.value, name->name))
            return step.result;
    }
    return name;
}

/* `Compute GEMM Q[h], K[h].T and get S`: of whole tensors; there is nothing to add to. */
static const char *of_whole(Nest *nest, const char *text)
{
    Str out = str_new(nest->s->arena);

    for (int at = 0; text[at];) {
        int end = at;
        bool counts = false;

        if (text[at] == '[')
            while (text[end] && text[end] != ']')
                end++;
        for (int i = 0; end > at && i < nest->n_counters; i++) {
            const char *inner = arena_strndup(nest->s->arena, text + at, (size_t)(end - at));
            counts |= strcmp(suggest_words(nest->s, inner, nest->counters[i], ""), inner) != 0;
        }
        if (counts && text[end] == ']') {
            at = end + 1;
            continue;
        }
        str_addc(&out, text[at++]);
    }
    return str_text(&out);
}

static void put_line(Nest *nest, int i, bool columns)
{
    Suggester *s = nest->s;
    const char *text = form_plain(s, nest->lines[i].span);
    Step step = read_step(nest, text);
    Holes holes;

    if (nest->failed || (!step.op && strncmp(text, "Compute", 7) != 0))
        return;
    if (step.op && *step.op) {
        put_reduction(nest, step.op, step.value, stored_as(nest, i + 1, step.result), columns);
    } else if (step.op) {
        bool stores = step.value->kind == EXPR_NAME && nest->text.len && i > 0; /* of what was summed up */
        const char *steps = stores ? "" : formula_text(s, suggest_expr(s, whole(nest, step.result)), whole(nest, step.value), nest->indent);
        nest->failed |= !steps;
        if (steps && *steps)
            put(nest, steps);
    } else if (!form_match("Compute Fill $C, $V", text, &holes)) {
        text = of_whole(nest, text);
        if (form_match("Compute $E and accumulate $C", text, &holes))
            text = form_filled(s, "Compute $E and get $C", text, &holes);
        put(nest, text);
    }
}

/* `Compute Fill Y, 0` before a loop: what it sums up begins by itself. The line where the edit begins. */
static int with_fill(const Suggester *s, int begin)
{
    Line before = begin > s->unit->span.start ? line_at(s, suggest_line_start(s, begin - 1)) : (Line){0};

    return begins(s, &before, "Compute Fill") ? before.span.start : line_at(s, begin).span.start;
}

/* In a definition. */
bool propose_no_loop(Suggester *s)
{
    int begin = s->unit && s->unit->kind == UNIT_OPERATOR ? outermost(s) : -1;
    bool fills = s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->op_known && s->stmt->op == OP_FILL;

    if (begin < 0 && fills && s->unit->kind == UNIT_OPERATOR) {
        Line line = line_at(s, suggest_line_end(s, s->stmt->span.end) + 1);
        begin = begins(s, &line, "for") ? line.span.start - line.indent : -1;
    }

    for (int columns = 0; begin >= 0 && columns < 2; columns++) {
        Nest nest = {.s = s};

        if (!read_nest(&nest, begin))
            return false;
        for (int i = 0; i < nest.n && !nest.failed; i++)
            put_line(&nest, i, columns);
        nest.span.start = with_fill(s, begin);
        if (!nest.failed && nest.text.len && suggest_edit(s, nest.span, str_text(&nest.text), "a definition is of whole tensors"))
            return true;
    }
    return false;
}

/* ---- while ----------------------------------------------------------------------------------------------------- */

typedef struct While {
    const char *counter, *from, *to;
    Line header, begin, step; /* `while k < n`, `k = 0`, `k += 1` */
} While;

static bool is_step(Suggester *s, const Line *line, const char *counter)
{
    static const char *const forms[] = {"$k += 1", "$k = $k + 1", "$k++", "++$k", "Compute Add $k, 1 and get new $k"};
    const char *text = form_plain(s, line->span);
    Holes holes;

    for (size_t i = 0; strlen(text) <= FORM_LONGEST && i < TW_COUNT(forms); i++)
        if (form_match(forms[i], text, &holes) && strcmp(form_hole(s, text, &holes, 'k'), counter) == 0)
            return true;
    return false;
}

static bool read_while(Suggester *s, int begin, While *w)
{
    static const char *const forms[] = {"while $k < $B", "while ($k < $B)"};
    const char *text;
    Holes holes;
    bool known = false;

    w->header = line_at(s, begin);
    text = form_plain(s, w->header.span);
    for (size_t i = 0; !known && strlen(text) <= FORM_LONGEST && i < TW_COUNT(forms); i++)
        known = form_match(forms[i], text, &holes);
    if (!known)
        return false;
    w->counter = form_hole(s, text, &holes, 'k');
    w->to = form_hole(s, text, &holes, 'B');
    for (int at = begin; at > s->unit->span.start && !w->from;) {
        at = suggest_line_start(s, at - 1);
        Line line = line_at(s, at);
        text = form_plain(s, line.span);
        if (strlen(text) <= FORM_LONGEST && form_match("$k = $A", text, &holes) && strcmp(form_hole(s, text, &holes, 'k'), w->counter) == 0) {
            w->begin = line;
            w->from = form_hole(s, text, &holes, 'A');
        }
    }
    for (int at = suggest_line_end(s, begin) + 1, end = block_end(s, begin); at < end; at = suggest_line_end(s, at) + 1) {
        Line line = line_at(s, at);
        if (is_step(s, &line, w->counter))
            w->step = line;
    }
    return w->from && w->step.span.end > 0;
}

/* The `while` at hand, or round the line at hand. */
bool propose_counted(Suggester *s)
{
    While w = {0};
    int begin = s->unit ? suggest_line_start(s, s->diag->span.start) : -1;
    Line line = begin >= 0 ? line_at(s, begin) : (Line){0};

    while (begin > 0 && begin > s->unit->span.start && !begins(s, &line, "while")) {
        begin = suggest_line_start(s, begin - 1);
        line = line_at(s, begin);
    }
    if (begin < 0 || !begins(s, &line, "while") || !read_while(s, begin, &w))
        return false;
    Fix edits[3] = {{suggest_line(s, w.begin.span), "", NULL},
                    {w.header.span, arena_printf(s->arena, "for %s = %s:%s", w.counter, w.from, w.to), NULL},
                    {suggest_line(s, w.step.span), "", NULL}};
    return suggest_edits(s, edits, 3, "a loop counts by itself");
}
