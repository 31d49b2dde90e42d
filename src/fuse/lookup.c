/* lookup.c: elements that are read where elements of another tensor say.
 *
 *   Define X (T, D) as E[id[t], col]      row t of X is row id[t] of E
 *
 * A tile of one row finds one row of E. Tiles of many rows, which products take, would have to
 * look up each of theirs: such a value is left in memory by a kernel without products (cut.c).
 * What differs along rows, or along columns, alone is read once for each: the scale of a row that
 * a table names, or where the sequence of a token begins, `j - Begin[Of[i]] <= i`.
 */
#include "fuse/flow.h"

static bool is_dim(const DefValue *value, int axis, const char *name)
{
    return axis >= 0 && value->dims[axis].name && strcmp(value->dims[axis].name, name) == 0;
}

/* Whether a name is a place along the rows of the value's tiles; else along their columns. */
static bool is_place(const Flow *flow, const DefValue *value, const char *name, bool rows)
{
    const DefIndex *index = def_index(flow->def, name);

    if (text_equal_nocase(name, "row") || text_equal_nocase(name, "col"))
        return text_equal_nocase(name, "row") == rows;
    return is_dim(value, value->rank - (rows ? 2 : 1), index ? index->over : name);
}

static bool has_place(const Flow *flow, const DefValue *value, const Expr *e, bool rows)
{
    if (!e)
        return false;
    if ((e->kind == EXPR_NAME || e->kind == EXPR_CALL) && is_place(flow, value, e->name, rows))
        return true;
    if (e->kind == EXPR_ELLIPSIS)
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (has_place(flow, value, e->args[i], rows))
            return true;
    return has_place(flow, value, e->a, rows) || has_place(flow, value, e->b, rows);
}

/* Whether coordinates of an access differ by what an element says, within the tile. */
static bool is_looked_up(const Flow *flow, const DefValue *value, const Expr *e, bool within)
{
    if (!e)
        return false;
    for (int i = 0; i < e->n_args; i++)
        if ((within && e->kind == EXPR_INDEX && (has_place(flow, value, e->args[i], true) || has_place(flow, value, e->args[i], false))) ||
            is_looked_up(flow, value, e->args[i], within || e->kind == EXPR_INDEX))
            return true;
    return is_looked_up(flow, value, e->a, within) || is_looked_up(flow, value, e->b, within);
}

/* Whether one access is such and differs along rows and columns; where each differs along one of them, it is read once for each. */
static bool looks_up_each(const Flow *flow, const DefValue *value, const Expr *e)
{
    if (!e)
        return false;
    if (e->kind == EXPR_INDEX)
        return is_looked_up(flow, value, e, false) && has_place(flow, value, e, true) && has_place(flow, value, e, false);
    for (int i = 0; i < e->n_args; i++)
        if (looks_up_each(flow, value, e->args[i]))
            return true;
    return looks_up_each(flow, value, e->a) || looks_up_each(flow, value, e->b);
}

bool flow_looks_up_each(const Flow *flow, const DefOp *op)
{
    return looks_up_each(flow, op->result, op->where);
}

bool flow_has_products(const Flow *flow)
{
    for (int i = 0; i < flow->def->ops.len; i++)
        if (flow->def->ops.data[i]->op == OP_GEMM)
            return true;
    return false;
}
