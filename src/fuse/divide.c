/* divide.c: products of which only parts are taken.
 *
 *   GEMM X, W and get H                      Define Wg (K, N) as W[..., row, col]
 *   Define g (M, N) as H[..., row, col]      Define Wu (K, N) as W[..., row, col + N]
 *   Define u (M, N) as H[..., row, col + N]  GEMM X, Wg and get g
 *                                     ->     GEMM X, Wu and get u
 *
 * The columns of a product are products of columns, so nothing is computed twice, and H, of which
 * elements would be read wherever they lie, need not be left in memory. The parts of W are tiles of
 * it (view.c): where they would not be, H stays, and where keys or values are parts of it.
 */
#include "fuse/flow.h"

#include "lang/eval.h"

typedef struct Divider {
    Arena *arena;
    const Def *def;
    Remade remade;
    EvalEnv sizes;
    bool *divided; /* products, by their results' ids */
} Divider;

/* ---- parts --------------------------------------------------------------------------------- */

/* The last coordinate where an operation takes columns of `of` and nothing else; NULL: it does not. */
static const Expr *columns_taken(const Divider *d, const DefOp *op, const DefValue *of)
{
    const Expr *e = op->op == OP_DEFINE ? op->where : NULL;

    if (!e || e->kind != EXPR_INDEX || op->reads.len != 1 || op->reads.data[0].value != of || op->result->rank != of->rank ||
        !expr_is_name(e->a, op->reads.data[0].name))
        return NULL;
    bool dots = e->n_args == 3 && e->args[0]->kind == EXPR_ELLIPSIS, matrix = of->rank == 2 && e->n_args == 2;
    return (dots || matrix) && flow_own_axis(d->def, op->result, e->args[e->n_args - 2]) == of->rank - 2 ? e->args[e->n_args - 1] : NULL;
}

/* Columns that tiles of the second operand can be. */
static bool are_tiles(Divider *d, const DefOp *part, const Expr *last, DType dtype, int64_t *width)
{
    int64_t first = 0;
    int axis = part->result->rank - 1;
    bool plain = flow_own_axis(d->def, part->result, last) == axis;
    bool shifted = last->kind == EXPR_BINARY && last->op == EO_ADD && flow_own_axis(d->def, part->result, last->a) == axis;
    const Aff *base = shifted ? eval_aff(&d->sizes, last->b, NULL) : NULL;

    return aff_is_const(part->result->dims[axis].size, width) && flow_is_tile_width(*width, dtype) &&
           (plain || (base && aff_is_const(base, &first))) && first % *width == 0;
}

/* Whether something that is made of it is a second operand, which every block would compute anew. */
static bool is_streamed(const Divider *d, const DefValue *of)
{
    bool *made = arena_array(d->arena, bool, d->def->values.len);

    made[of->id] = true;
    for (int i = 0; i < d->def->ops.len; i++) {
        const DefOp *op = d->def->ops.data[i];

        for (int k = 0; k < op->n_args; k++)
            made[op->result->id] |= op->args[k].value && made[op->args[k].value->id];
        for (int k = 0; k < op->reads.len; k++)
            made[op->result->id] |= made[op->reads.data[k].value->id];
        if (op->op == OP_GEMM && op->args[1].value && made[op->args[1].value->id])
            return true;
    }
    return false;
}

/* Whether all that is made of a product are parts of its columns, each of them once at most. */
static bool is_divided(Divider *d, const DefOp *product)
{
    const DefValue *of = product->result, *by = product->args[1].value;
    int64_t all, taken = 0, width;
    int parts = 0;

    if (product->op != OP_GEMM || of->is_output || !by || by->op || !aff_is_const(of->dims[of->rank - 1].size, &all))
        return false;
    for (int i = 0; i < d->def->ops.len; i++) {
        const DefOp *op = d->def->ops.data[i];
        const Expr *last = columns_taken(d, op, of);

        if (!def_op_takes(op, of) && !def_op_reads(op, of))
            continue;
        if (!last || !are_tiles(d, op, last, by->dtype, &width))
            return false;
        taken += width;
        parts++;
    }
    return parts > 1 && taken <= all && !is_streamed(d, of);
}

/* ---- products of parts ------------------------------------------------------------------------ */

static Expr *dots(Arena *arena)
{
    Expr *e = arena_new_of(arena, Expr);

    e->kind = EXPR_ELLIPSIS;
    return e;
}

/* `W[..., row, col + N]`, or of the rows of what is transposed. */
static DefValue *part_of(Divider *d, const DefOp *product, const DefOp *part)
{
    DefValue *whole = d->remade.made[product->args[1].value->id], *value = arena_new_of(d->arena, DefValue);
    const Expr *last = columns_taken(d, part, product->result);
    int side = product->args[1].transposed ? whole->rank - 2 : whole->rank - 1;
    DefOp *op = arena_new_of(d->arena, DefOp);
    Flow flow = {.arena = d->arena, .def = d->remade.def};
    Expr *at = expr_name(d->arena, side == whole->rank - 1 ? "col" : "row");
    Expr *moved = last->kind == EXPR_BINARY ? expr_binary(d->arena, EO_ADD, at, expr_copy(d->arena, last->b)) : at;
    Expr *e = arena_new_of(d->arena, Expr);

    *value = (DefValue){.id = d->remade.def->values.len, .dtype = DT_F32, .rank = whole->rank,
                        .name = flow_fresh(&flow, arena_printf(d->arena, "%s_%s", whole->name, part->result->name))};
    memcpy(value->dims, whole->dims, sizeof value->dims);
    value->dims[side] = part->result->dims[part->result->rank - 1];
    vec_push(d->arena, &d->remade.def->values, value);
    *e = *part->where;
    e->a = expr_name(d->arena, whole->name);
    e->n_args = 0;
    e->args = arena_array(d->arena, Expr *, 3);
    if (whole->rank > 2)
        e->args[e->n_args++] = dots(d->arena);
    e->args[e->n_args++] = side == whole->rank - 1 ? expr_name(d->arena, "row") : moved;
    e->args[e->n_args++] = side == whole->rank - 1 ? moved : expr_name(d->arena, "col");
    *op = (DefOp){.stmt = part->stmt, .op = OP_DEFINE, .where = e, .result = value};
    vec_push(d->arena, &op->reads, ((DefRead){whole->name, whole}));
    value->op = op;
    vec_push(d->arena, &d->remade.def->ops, op);
    return value;
}

static void multiply_part(Divider *d, const DefOp *product, const DefOp *part)
{
    DefValue *by = part_of(d, product, part), *result = d->remade.made[part->result->id];
    DefOp *op = flow_keep_op(&d->remade, product);

    op->args[1].value = by;
    op->result = result;
    result->op = op;
}

/* The divided product that an operation takes columns of; NULL: of none. */
static const DefOp *divided_for(const Divider *d, const DefOp *op)
{
    const DefOp *product = op->op == OP_DEFINE && op->reads.len == 1 ? op->reads.data[0].value->op : NULL;

    return product && d->divided[product->result->id] ? product : NULL;
}

const Def *flow_divide(Arena *arena, const Def *def)
{
    Divider d = {.arena = arena, .def = def, .divided = arena_array(arena, bool, def->values.len)};
    bool any = false;

    eval_init(&d.sizes, arena, def->aff);
    for (int i = 0; i < def->dims.len; i++)
        eval_bind(&d.sizes, def->dims.data[i].name, def->dims.data[i].size);
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];

        d.divided[op->result->id] = is_divided(&d, op);
        any |= d.divided[op->result->id];
    }
    if (!any)
        return def;
    d.remade = flow_remake(arena, def);
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i], *product = divided_for(&d, op);

        if (product)
            multiply_part(&d, product, op);
        else if (!d.divided[op->result->id])
            flow_keep_op(&d.remade, op);
    }
    return d.remade.def;
}
