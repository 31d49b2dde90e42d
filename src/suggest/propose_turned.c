/* propose_turned.c: what lies the other way round: a product, the places that a condition counts, a tile of one number a row.
 *
 *   Compute GEMM dO, V.T and get dPt                      Compute GEMM V, dO.T and get dPt      scores with a row for each key
 *   Mask St where j * BN + col(St) <= m * BM + row(St)    Mask St where j * BN + row(St) <= m * BM + col(St)
 *   Allocate LSE in register (BM, 1) fp32                 Allocate LSE in register (1, BM) fp32
 *
 * Backward passes have them both ways, and who writes one copies from the other. Beside an Operator each is executed before
 * it is suggested (vary.h). */
#include "suggest/vary.h"

/* ---- products ------------------------------------------------------------------------------------ */

/* A B' becomes B A', which is its transpose. */
static bool try_product(Suggester *s, const Stmt *product)
{
    bool one = product->kind == STMT_COMPUTE && product->op_known && product->op == OP_GEMM && product->n_args == 2 && product->args[1]->kind == EXPR_TRANSPOSE;
    Stmt *changed = one ? suggest_like(s, product) : NULL;

    if (!one || product->listed)
        return false;
    changed->args = arena_array(s->arena, Expr *, 2);
    changed->args[0] = expr_turned(s->arena, product->args[1]);
    changed->args[1] = expr_turned(s->arena, product->args[0]);
    return suggest_stmt(s, product, changed, "rows and columns exchanged");
}

/* ---- conditions ----------------------------------------------------------------------------------- */

/* row() for col(), and the other way round. */
static Expr *exchanged(Suggester *s, const Expr *e)
{
    Expr *copy = e ? arena_new_of(s->arena, Expr) : NULL;

    if (!e)
        return NULL;
    *copy = *e;
    copy->a = exchanged(s, e->a);
    copy->b = exchanged(s, e->b);
    copy->args = arena_array(s->arena, Expr *, e->n_args + 1);
    for (int i = 0; i < e->n_args; i++)
        copy->args[i] = exchanged(s, e->args[i]);
    if (e->kind == EXPR_CALL)
        copy->name = strcmp(e->name, "row") == 0 ? "col" : strcmp(e->name, "col") == 0 ? "row" : e->name;
    return copy;
}

/* The whole of it, or what `and` joins. */
static bool try_part(Suggester *s, const Expr *e)
{
    const Expr *other = exchanged(s, e);

    if (!expr_equal(e, other) && suggest_edit(s, e->span, suggest_expr(s, other), "rows and columns exchanged"))
        return true;
    return e->kind == EXPR_BINARY && e->op == EO_AND && (try_part(s, e->a) || try_part(s, e->b));
}

static bool try_condition(Suggester *s, const Stmt *stmt)
{
    return stmt->kind == STMT_COMPUTE && !stmt->listed && stmt->where && try_part(s, stmt->where);
}

/* A condition that does not follow its tile (TW0424): it, or the product that made the tile, is of the other side. */
bool propose_turned_condition(Suggester *s)
{
    const char *tile = s->unit && s->stmt && s->stmt->kind == STMT_COMPUTE && s->stmt->n_args ? expr_base_name(s->stmt->args[0]) : NULL;
    Maker maker = {.name = tile, .before = tile ? s->stmt->span.start : 0};

    if (!tile)
        return false;
    if (try_condition(s, s->stmt))
        return true;
    suggest_each(&s->unit->body, suggest_maker, &maker);
    return maker.last && try_product(s, maker.last);
}

/* ---- tiles of one number a row, or a column ----------------------------------------------------------- */

static bool try_tile(Vary *v, const Stmt *tile)
{
    bool two = tile->kind == STMT_ALLOCATE && tile->n_shape == 2 && (expr_is_one(tile->shape[0]) || expr_is_one(tile->shape[1]));
    bool one = tile->kind == STMT_ALLOCATE && tile->n_shape == 1;
    const char *first = two || one ? suggest_expr(v->s, tile->shape[0]) : NULL, *second = two ? suggest_expr(v->s, tile->shape[1]) : NULL;

    if (!two && !one)
        return false;
    Span shape = {tile->shape[0]->span.start, tile->shape[tile->n_shape - 1]->span.end};
    if (two)
        return suggest_edit(v->s, shape, arena_printf(v->s->arena, "%s, %s", second, first), "a number for each of the other side");
    return suggest_edit(v->s, shape, arena_printf(v->s->arena, "1, %s", first), "a number for each column") ||
           suggest_edit(v->s, shape, arena_printf(v->s->arena, "%s, 1", first), "a number for each row");
}

/* ---- entry ---------------------------------------------------------------------------------------------- */

static bool try_kernel(Vary *v)
{
    for (int i = 0; i < v->all.len; i++)
        if (try_product(v->s, v->all.data[i]) || try_condition(v->s, v->all.data[i]) || try_tile(v, v->all.data[i]))
            return true;
    return false;
}

bool propose_turned_sides(Suggester *s)
{
    return vary_each(s, try_kernel);
}
