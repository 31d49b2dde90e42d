/* mask.c: conditions of a Mask: that they are conditions, and that they follow
 * the tile that they are about.
 *
 *   Copy K (BN, D) in coordinate [len = j] ...; Compute GEMM Q, K.T and get S
 *   Compute Mask S where col(S) < len            the same columns of every tile
 *   Compute Mask S where j * BN + col(S) < len   of the whole row: right
 *
 * Where a tile's rows and columns begin is known from the Copies that it was
 * made of. With col(S) written as position - begin the counters in the begin
 * must cancel.
 */
#include "check/walk.h"

/* ---- conditions ------------------------------------------------------------------------ */

static bool is_arithmetic(const Expr *e)
{
    return (e->kind == EXPR_BINARY && e->op <= EO_POW) || e->kind == EXPR_CALL ||
           e->kind == EXPR_INT || e->kind == EXPR_FLOAT;
}

static bool check_condition(Checker *c, const Expr *e)
{
    if (e->kind == EXPR_BINARY && (e->op == EO_AND || e->op == EO_OR))
        return check_condition(c, e->a) && check_condition(c, e->b);
    if (e->kind == EXPR_UNARY && e->op == EO_NOT)
        return check_condition(c, e->a);
    if (!is_arithmetic(e))
        return true;
    diag_add(c->late, TW0425, e->span, "a number where a condition is expected");
    return false;
}

/* ---- positions -------------------------------------------------------------------------- */

/* a with the element's place replaced by its position along the dimension. */
static const Aff *from_begin(Checker *c, const Aff *a, const AffSym *place, const Aff *begin)
{
    AffSym *position = aff_sym_new(c->aff, "position", AFF_SCALAR, 0, INT32_MAX);
    return aff_subst(c->aff, a, place, aff_sub(c->aff, aff_of(c->aff, position), begin));
}

/* A counter that a uses and that is part of where the tile begins. */
static const AffSym *left_over(const Checker *c, const Aff *a, const Aff *begin)
{
    for (int i = 0; i < c->n_loops + c->grid.len; i++) {
        const AffSym *sym =
            i < c->n_loops ? c->loops[i].sym : c->grid.data[i - c->n_loops].sym;
        if (sym && aff_uses(begin, sym) && aff_uses(a, sym))
            return sym;
    }
    return NULL;
}

static const AffSym *stray_counter(Checker *c, const Aff *comparison, const Tile *tile)
{
    const Aff *a = comparison;
    const AffSym *sym = NULL;
    bool rows = aff_uses(a, c->row), cols = aff_uses(a, c->col);
    if ((!rows && !cols) || (rows && !tile->rows.first) || (cols && !tile->cols.first))
        return NULL;
    if (rows)
        a = from_begin(c, a, c->row, tile->rows.first);
    if (cols)
        a = from_begin(c, a, c->col, tile->cols.first);
    if (rows)
        sym = left_over(c, a, tile->rows.first);
    return sym || !cols ? sym : left_over(c, a, tile->cols.first);
}

static const AffSym *find_stray(Checker *c, const Aff *a, const Tile *tile)
{
    if (!a)
        return NULL;
    if (a->kind == AFF_LE || a->kind == AFF_EQ)
        return stray_counter(c, a, tile);
    const AffSym *sym = find_stray(c, a->a, tile);
    return sym ? sym : find_stray(c, a->b, tile);
}

static const char *begin_text(Checker *c, Extent e, const char *call)
{
    return arena_printf(c->arena, "%s + %s", aff_text(c->arena, e.first), call);
}

void mask_check(Checker *c, const Stmt *s, const Operand *x)
{
    const Aff *cond = c->loose || c->path.n_arms ? NULL : eval_aff(&c->env, s->where, NULL);
    const AffSym *sym;
    if (!cond || !check_condition(c, s->where) || !(sym = find_stray(c, cond, &x->tile)))
        return;
    bool rows = x->tile.rows.first && aff_uses(x->tile.rows.first, sym);
    Extent e = rows ? x->tile.rows : x->tile.cols;
    const char *name = operand_name(x);
    Diag *d = diag_add(c->late, TW0424, s->where->span,
                       "the condition does not follow the tile '%s' as '%s' counts", name, sym->name);
    diag_note(c->late, d, "the position along %s%s%s is %s", e.axis ? "'" : "",
              e.axis ? e.axis : "its dimension", e.axis ? "'" : "",
              begin_text(c, e, arena_printf(c->arena, rows ? "row(%s)" : "col(%s)", name)));
}
