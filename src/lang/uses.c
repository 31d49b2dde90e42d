/* uses.c: what a unit does with a tensor that names no element type.
 *
 *   Input Seg (batch, len)
 *   ...
 *   Compute Mask S where Seg[batch, q_pos] == Seg[batch, kv_pos]
 *
 * Elements that only conditions read, one by one, are integers; all others have
 * the type that computations are done in.
 */
#include "lang/lang.h"

typedef enum Use { USE_NONE, USE_ELEMENTS, USE_TILES } Use;

static Use most(Use a, Use b)
{
    return a > b ? a : b;
}

/* Within a condition, X[...] reads an element. */
static Use use_in(const Expr *e, const char *name, bool condition)
{
    Use use = USE_NONE;

    if (!e)
        return USE_NONE;
    if (expr_is_name(e, name))
        return USE_TILES;
    if (condition && e->kind == EXPR_INDEX && expr_is_name(e->a, name))
        use = USE_ELEMENTS;
    else
        use = use_in(e->a, name, condition);
    use = most(use, use_in(e->b, name, condition));
    for (int i = 0; i < e->n_args; i++)
        use = most(use, use_in(e->args[i], name, condition || e->kind == EXPR_INDEX));
    return use;
}

/* `Where a < b, S, -inf` has a condition among its operands. */
static bool is_condition(const Expr *e)
{
    return e->kind == EXPR_BINARY || e->kind == EXPR_UNARY;
}

static Use use_of_stmt(const Stmt *s, const char *name)
{
    Use use = use_in(s->where, name, true);

    if (s->kind == STMT_COPY && s->name && (strcmp(s->name, name) == 0 || (s->as && strcmp(s->as, name) == 0)))
        use = USE_TILES;
    for (int i = 0; i < s->n_args; i++)
        use = most(use, use_in(s->args[i], name, is_condition(s->args[i])));
    for (int i = 0; i < s->n_coords; i++)
        use = most(use, use_in(s->coords[i].value, name, true));
    use = most(use, use_in(s->value, name, s->kind != STMT_COMPUTE));
    use = most(use, most(use_in(s->lo, name, true), use_in(s->hi, name, true)));
    for (int i = 0; i < s->body.len && use < USE_TILES; i++)
        use = most(use, use_of_stmt(s->body.data[i], name));
    for (int i = 0; i < s->orelse.len && use < USE_TILES; i++)
        use = most(use, use_of_stmt(s->orelse.data[i], name));
    return use;
}

DType stmt_dtype(const Stmt *s, const Block *body, DType dtype)
{
    bool coarse = s->kind == STMT_OUTPUT && dtype_is_narrow(dtype) && dtype_bytes(dtype) == 1;
    Use use = USE_NONE;

    if (s->has_dtype)
        return s->dtype;
    for (int i = 0; s->kind == STMT_INPUT && i < body->len && use < USE_TILES; i++)
        use = most(use, use_of_stmt(body->data[i], s->name));
    return use == USE_ELEMENTS ? DT_I32 : coarse ? DT_BF16 : dtype;
}
