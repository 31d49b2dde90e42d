/* propose_dims.c: dimensions of a definition that need names of their own.
 *
 *   Compute Define P (M, 2 * n) as row + col      Let n2 = 2 * n
 *                                                 Compute Define P (M, n2) as row + col
 *
 *   Input  X (n, n, M)                            Input  X (n, n2, M)
 *   Compute Reshape X and get Z (n, n * M)        Compute Reshape X and get Z (n, n2 * M)
 *
 *   Index t over most * page                      Let t_len = most * page
 *   Compute Define K (most * page, D) as ...      Index t over t_len
 *                                                 Compute Define K (t_len, D) as ...
 *
 *   Operator f                                    Operator f
 *     Input C (batch, len, 128)                     Input C (batch, 1, len, 128)
 *   Kernel f                                      Kernel f
 *     Input C (batch, len, 128)                     Input C (batch, 1, len, 128)       what it declares as well
 */
#include "suggest/cuts.h"

/* ---- sizes that are expressions ------------------------------------------------------------------- */

typedef struct Sized {
    Suggester *s;
    const char *size, *name; /* what is written in place of it */
    VEC(const Expr *) found; /* sizes that are no names and no numbers, each once */
    VEC(Fix) edits;
} Sized;

static void note_sizes(void *user, const Stmt *stmt)
{
    Sized *z = user;

    for (int i = 0; i < stmt->n_shape; i++) {
        const Expr *e = stmt->shape[i];
        bool again = e->kind == EXPR_NAME || e->kind == EXPR_INT;
        for (int k = 0; k < z->found.len; k++)
            again |= expr_equal(e, z->found.data[k]);
        if (!again)
            vec_push(z->s->arena, &z->found, e);
    }
}

static void name_sizes(void *user, const Stmt *stmt)
{
    Sized *z = user;

    for (int i = 0; i < stmt->n_shape && !stmt->listed; i++)
        if (strcmp(suggest_expr(z->s, stmt->shape[i]), z->size) == 0)
            vec_push(z->s->arena, &z->edits, ((Fix){stmt->shape[i]->span, z->name, NULL}));
}

/* The letters and digits of it, letters first: n2 of `2 * n`. */
static const char *name_of(Suggester *s, const char *size)
{
    Str letters = str_new(s->arena), digits = str_new(s->arena);

    for (const char *c = size; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (letter || *c == '_')
            str_addc(&letters, *c);
        else if (*c >= '0' && *c <= '9')
            str_addc(&digits, *c);
    }
    return arena_printf(s->arena, "%s%s", letters.len ? str_text(&letters) : "size", str_text(&digits));
}

bool propose_named_size(Suggester *s)
{
    Sized all = {.s = s};

    if (!s->unit || s->unit->kind != UNIT_OPERATOR)
        return false;
    suggest_each(&s->unit->body, note_sizes, &all);
    for (int i = 0; i < all.found.len; i++) {
        const char *size = suggest_expr(s, all.found.data[i]);
        Sized z = {.s = s, .size = size, .name = name_of(s, size)};
        Fix *edits;

        suggest_each(&s->unit->body, name_sizes, &z);
        if (z.edits.len == 0)
            continue;
        int line = suggest_line_start(s, z.edits.data[0].span.start);
        edits = arena_array(s->arena, Fix, z.edits.len + 1);
        edits[0] = (Fix){{line, line}, arena_printf(s->arena, "%sLet %s = %s\n", suggest_indent(s, line), z.name, size), NULL};
        for (int k = 0; k < z.edits.len; k++)
            edits[k + 1] = z.edits.data[k];
        if (suggest_edits(s, edits, z.edits.len + 1, "give it a name"))
            return true;
    }
    return false;
}

/* ---- dimensions of one name ------------------------------------------------------------------------- */

typedef struct Twice {
    Suggester *s;
    const char *name;
    VEC(Fix) edits;
} Twice;

static bool stands_twice(const Stmt *stmt, const char *name)
{
    int n = 0;

    for (int i = 0; i < stmt->n_shape; i++)
        n += expr_is_name(stmt->shape[i], name);
    return n > 1;
}

/* In each shape the first stays, the second is another, and so on. */
static void tell_apart(void *user, const Stmt *stmt)
{
    Twice *t = user;
    int n = 0;

    for (int i = 0; i < stmt->n_shape && !stmt->listed; i++) {
        if (!expr_mentions(stmt->shape[i], t->name))
            continue;
        if (n++)
            vec_push(t->s->arena, &t->edits,
                     ((Fix){stmt->shape[i]->span, suggest_words(t->s, suggest_expr(t->s, stmt->shape[i]), t->name, arena_printf(t->s->arena, "%s%d", t->name, n)), NULL}));
    }
}

bool propose_told_apart(Suggester *s)
{
    for (int i = 0; s->unit && i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];

        for (int k = 0; k < stmt->n_shape; k++) {
            Twice t = {.s = s, .name = stmt->shape[k]->kind == EXPR_NAME ? stmt->shape[k]->name : NULL};
            if (!t.name || !stands_twice(stmt, t.name))
                continue;
            suggest_each(&s->unit->body, tell_apart, &t);
            if (t.edits.len && suggest_edits(s, t.edits.data, t.edits.len, "sizes may be equal under two names"))
                return true;
        }
    }
    return false;
}

/* ---- positions ---------------------------------------------------------------------------------------- */

/* Whether the words at an offset are a whole size: of a shape, or what a position goes over. */
static bool is_size_at(Suggester *s, int at, const char *size)
{
    const char *text = s->source->text, *behind;
    int before = at - 1;

    if (strncmp(text + at, size, strlen(size)) != 0)
        return false;
    behind = text + at + strlen(size);
    behind += strspn(behind, " ");
    while (before > 0 && text[before] == ' ')
        before--;
    bool over = before >= 3 && text_equal_nocase(arena_strndup(s->arena, text + before - 3, 4), "over");
    return over || ((text[before] == '(' || text[before] == ',') && (*behind == ',' || *behind == ')'));
}

/* `Index t over most * page`: what it goes over gets a name wherever it is a size (TW0102). */
bool propose_size_of_position(Suggester *s)
{
    Span span = s->diag->span;
    const char *size = suggest_quoted(s, span), *line, *name;
    int start = suggest_line_start(s, span.start), at = start + (int)strspn(s->source->text + start, " \t");
    VEC(Fix) edits = {0};

    if (strncmp(s->source->text + at, "Index ", 6) != 0 || !is_size_at(s, span.start, size))
        return false;
    line = s->source->text + at + 6 + strspn(s->source->text + at + 6, " ");
    name = arena_printf(s->arena, "%.*s_len", (int)strcspn(line, " "), line);
    vec_push(s->arena, &edits, ((Fix){{start, start}, arena_printf(s->arena, "%sLet %s = %s\n", suggest_indent(s, start), name, size), NULL}));
    for (int i = start; (size_t)i < s->source->len; i++)
        if (is_size_at(s, i, size))
            vec_push(s->arena, &edits, ((Fix){{i, i + (int)strlen(size)}, name, NULL}));
    return suggest_edits(s, edits.data, edits.len, "the size under a name");
}

/* ---- shapes that Kernels repeat ------------------------------------------------------------------------- */

static bool is_tensor(const Stmt *stmt)
{
    return stmt->kind == STMT_INPUT || stmt->kind == STMT_OUTPUT;
}

static const Stmt *declaration_at(const Unit *unit, Span span)
{
    for (int i = 0; i < unit->body.len; i++)
        if (is_tensor(unit->body.data[i]) && unit->body.data[i]->span.start <= span.start && span.end <= unit->body.data[i]->span.end)
            return unit->body.data[i];
    return NULL;
}

/* The same words in the declaration of the same tensor; an empty span: there are none. */
static Span repeated(Suggester *s, const Unit *kernel, const Stmt *tensor, Span words)
{
    const Stmt *own = kernel->kind == UNIT_KERNEL ? unit_tensor(kernel, tensor->name) : NULL;
    int len = words.end - words.start;

    for (int at = own ? own->name_span.end : 0; own && at + len <= own->span.end; at++)
        if (strncmp(s->source->text + at, s->source->text + words.start, (size_t)len) == 0)
            return (Span){at, at + len};
    return (Span){0, 0};
}

bool suggest_wherever_declared(Suggester *s, Fix rule)
{
    const Stmt *tensor = s->unit && s->unit->kind == UNIT_OPERATOR && rule.text ? declaration_at(s->unit, rule.span) : NULL;
    VEC(Fix) edits = {0};

    if (!tensor || rule.span.end <= rule.span.start)
        return false;
    vec_push(s->arena, &edits, rule);
    for (int i = 0; i < s->program->units.len; i++) {
        Span span = repeated(s, s->program->units.data[i], tensor, rule.span);
        if (span.end && span.start > rule.span.end)
            vec_push(s->arena, &edits, ((Fix){span, rule.text, NULL}));
    }
    return edits.len > 1 && suggest_edits(s, edits.data, edits.len, rule.label);
}
