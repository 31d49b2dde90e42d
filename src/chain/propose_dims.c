/* propose_dims.c: dimensions of a definition that need names of their own.
 *
 *   Compute Define P (M, 2 * n) as row + col      Let n2 = 2 * n
 *                                                 Compute Define P (M, n2) as row + col
 *
 *   Input  X (n, n, M)                            Input  X (n, n2, M)
 *   Compute Reshape X and get Z (n, n * M)        Compute Reshape X and get Z (n, n2 * M)
 */
#include "chain/cuts.h"

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
