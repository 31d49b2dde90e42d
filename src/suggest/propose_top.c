/* propose_top.c: the largest elements of each row and their places, as other libraries give them.
 *
 *   Compute TopK S, 2 and get V, I     ─►     Compute RowMax S and get V_1
 *                                             Compute Define I_1_at (T, E) as where(S[..., col] == V_1[..., 0], col, E)
 *                                             Compute RowMin I_1_at and get I_1
 *                                             Compute Define V_1_rest (T, E) as where(col == I_1[..., 0], -inf, S[..., col])
 *                                             Compute RowMax V_1_rest and get V_2
 *                                             ...
 *                                             Compute Define V (T, 2) as where(col < 1, V_1[..., 0], V_2[..., 0])
 *                                             Compute Define I (T, 2) as where(col < 1, I_1[..., 0], I_2[..., 0])
 *
 * One after the other: each is the largest of what is left. Where it is of use as it is, TL's own TopK is meant, which
 * is 1 at the largest and 0 elsewhere.
 */
#include <stdlib.h>

#include "suggest/cuts.h"
#include "suggest/forms.h"

enum { MOST_ONES = 8, MOST_DIMS = 8 };

typedef struct Top {
    Suggester *s;
    const char *x, *k, *values, *places;
    const char *dims[MOST_DIMS];
    int rank, n;
    Span line;
    Str text;
} Top;

/* ---- shapes --------------------------------------------------------------------------------------------- */

/* The statement that gives a name its first value. */
static const Stmt *maker_of(const Suggester *s, const char *name)
{
    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *made = s->unit->body.data[i];

        if (made->kind == STMT_COMPUTE && made->op_known && made->n_args && compute_result(made) && expr_is_name(compute_result(made), name) &&
            !expr_is_name(made->args[0], name))
            return made;
    }
    return NULL;
}

/* The dimensions of a tensor, or of what arithmetic or a product makes of one; 0: they are not known. */
static int dims_of(Suggester *s, const Cuts *cuts, const Expr *e, int depth, const char **dims)
{
    bool turned = e->kind == EXPR_TRANSPOSE;
    const Expr *base = turned ? e->a : e;
    const Stmt *tensor = base->kind == EXPR_NAME ? cuts_tensor(cuts, base->name) : NULL, *made = base->kind == EXPR_NAME && !tensor ? maker_of(s, base->name) : NULL;
    int rank = tensor && tensor->n_shape <= MOST_DIMS ? tensor->n_shape : 0;

    for (int i = 0; i < rank; i++)
        dims[i] = suggest_expr(s, tensor->shape[i]);
    if (made && depth < SUGGEST_MAX_DEPTH) {
        const char *others[MOST_DIMS];
        OpClass class = op_info(made->op)->class;
        bool product = made->op == OP_GEMM && made->n_args == 2;
        int n = product ? dims_of(s, cuts, made->args[1], depth + 1, others) : 0;

        if (n || class == OPC_ELEMENT || class == OPC_CAST || class == OPC_SOFTMAX || class == OPC_MASK)
            rank = dims_of(s, cuts, made->args[0], depth + 1, dims);
        if (n && rank)
            dims[rank - 1] = others[n - 1];
    }
    if (turned && rank > 1) {
        const char *last = dims[rank - 1];
        dims[rank - 1] = dims[rank - 2];
        dims[rank - 2] = last;
    }
    return rank;
}

static const char *shape_text(const Top *t, const char *last)
{
    Str text = str_new(t->s->arena);

    for (int i = 0; i + 1 < t->rank; i++)
        str_printf(&text, "%s, ", t->dims[i]);
    str_add(&text, last);
    return str_text(&text);
}

/* How many are the largest; 0: nobody says. */
static int count_of(const Suggester *s, const char *k)
{
    int64_t n = strspn(k, "0123456789") == strlen(k) ? strtol(k, NULL, 10) : 0;

    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        if ((stmt->kind == STMT_PARAM || stmt->kind == STMT_LET || stmt->kind == STMT_ASSIGN) && stmt->value && stmt->value->kind == EXPR_INT && strcmp(stmt->name, k) == 0)
            n = stmt->value->i;
    }
    return n >= 1 && n <= MOST_ONES ? (int)n : 0;
}

/* ---- one after the other ---------------------------------------------------------------------------------- */

static void put(Top *t, const char *text)
{
    str_printf(&t->text, "%s%s", t->text.len ? arena_printf(t->s->arena, "\n%s", suggest_indent(t->s, t->line.start)) : "", text);
}

/* The columns of all of them: `where(col < 1, V_1[..., 0], where(col < 2, ...))`. */
static const char *columns(const Top *t, const char *name)
{
    const char *text = arena_printf(t->s->arena, "%s_%d[..., 0]", name, t->n);

    for (int i = t->n - 1; i > 0; i--)
        text = arena_printf(t->s->arena, "where(col < %d, %s_%d[..., 0], %s)", i, name, i, text);
    return text;
}

static bool try_each(Top *t)
{
    Arena *arena = t->s->arena;
    const char *x = t->x, *all = t->dims[t->rank - 1], *shape = shape_text(t, all), *of_all = shape_text(t, arena_printf(arena, "%d", t->n));

    for (int i = 1; i <= t->n; i++) {
        const char *v = t->values, *p = t->places, *rest = arena_printf(arena, "%s_%d_rest", v, i);
        put(t, arena_printf(arena, "Compute RowMax %s and get %s_%d", x, v, i));
        put(t, arena_printf(arena, "Compute Define %s_%d_at (%s) as where(%s[..., col] == %s_%d[..., 0], col, %s)", p, i, shape, x, v, i, all));
        put(t, arena_printf(arena, "Compute RowMin %s_%d_at and get %s_%d", p, i, p, i));
        if (i < t->n)
            put(t, arena_printf(arena, "Compute Define %s (%s) as where(col == %s_%d[..., 0], -inf, %s[..., col])", rest, shape, p, i, x));
        x = rest;
    }
    put(t, arena_printf(arena, "Compute Define %s (%s) as %s", t->values, of_all, columns(t, t->values)));
    put(t, arena_printf(arena, "Compute Define %s (%s) as %s", t->places, of_all, columns(t, t->places)));
    return suggest_edit(t->s, t->line, str_text(&t->text), "each is the largest of what is left");
}

bool propose_top(Suggester *s)
{
    static const char *const form[] = {"Compute TopK $X, $K and get $V, $I", "Compute TopK $X, $K get $V, $I", "Compute TopK $X, $K over $D and get $V, $I", "$V, $I = TopK($X, $K)",
                                       "Compute $V, $I = TopK($X, $K)"};
    Top t = {.s = s, .line = form_line(s), .text = str_new(s->arena)};
    const char *text = form_plain(s, t.line);
    Cuts cuts = cuts_of(s);
    Holes holes;

    for (size_t i = 0; s->unit && s->unit->kind == UNIT_OPERATOR && i < TW_COUNT(form); i++) {
        if (!form_match(form[i], text, &holes))
            continue;
        t.x = form_hole(s, text, &holes, 'X');
        t.k = form_hole(s, text, &holes, 'K');
        t.values = form_hole(s, text, &holes, 'V');
        t.places = form_hole(s, text, &holes, 'I');
        t.rank = dims_of(s, &cuts, expr_name(s->arena, t.x), 0, t.dims);
        t.n = count_of(s, t.k);
        if (t.rank && t.n && try_each(&t))
            return true;
        return suggest_edit(s, t.line, arena_printf(s->arena, "Compute TopK %s, %s and get %s", t.x, t.k, t.values), "1 at the largest, 0 elsewhere");
    }
    return false;
}
