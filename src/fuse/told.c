/* told.c: tiles whose rows lie where expressions say.
 *
 *   Compute Define K (batch, heads, kv_len, D) as Kc[Table[batch, row div page], heads, row % page, col]
 *
 * Each row of K is a row of Kc, whichever that is: a part of a page that a table names, say. So a product's
 * tiles of K are tiles of Kc whose copies look up where each row lies:
 *
 *   Copy Kc (kv_len, D) as K in coordinate [pages = Table[batch, row div page], page = row % page]
 *
 * A coordinate is made of the row's place (`row` here, whatever the definition calls it), of integers that are the
 * same for the whole tile, and of elements of inputs that hold integers, by arithmetic, or the smaller or the larger of such. Columns are those of the tensor.
 */
#include "fuse/view.h"

/* Whether e is the element's own place along the rows of what is seen; `from` is what an Index adds to it (NULL: nothing). */
static bool is_row(const Finder *f, const Expr *e, const Aff **from)
{
    const Def *def = f->def;
    const DefValue *seen = f->view->seen;
    int64_t none;

    *from = NULL;
    const DefIndex *index = e->kind == EXPR_NAME ? def_index(def, e->name) : NULL;
    if (index && def_axis(seen, index->over) == seen->rank - 2) {
        *from = aff_is_const(index->from, &none) && none == 0 ? NULL : index->from;
        return true;
    }
    bool size = e->kind == EXPR_NAME && def_dim(def, e->name);
    return !size && flow_own_axis(def, seen, e) == seen->rank - 2;
}

static Expr *row_place(Finder *f, const Aff *from)
{
    Expr *row = expr_name(f->arena, "row"), *more = from ? flow_written(f->arena, f->syms, from) : NULL;

    if (!from)
        return row;
    return more ? expr_binary(f->arena, EO_ADD, row, more) : NULL;
}

/* Blocks have an entry along a dimension of this name themselves. */
static bool is_blocks(const Finder *f, const char *dim)
{
    const DefValue *product = view_product(f, f->view->seen);

    for (int d = 0; d < product->rank - 2; d++)
        if (product->dims[d].name && strcmp(product->dims[d].name, dim) == 0)
            return true;
    return false;
}

/* The element's own coordinate along a dimension of what is seen, by its name alone. */
static Expr *own_place(Finder *f, const Expr *e, int axis)
{
    if (axis == f->view->seen->rank - 2)
        return expr_name(f->arena, "row");
    if (axis == f->view->seen->rank - 1)
        return NULL;
    if (is_blocks(f, e->name))
        return expr_copy(f->arena, e);
    const Aff *at = view_place_along(f, e->name);
    return at ? flow_written(f->arena, f->syms, at) : NULL;
}

/* An input of integers, all of whose coordinates are said. */
static bool is_table(const DefOp *op, const Expr *e)
{
    for (int i = 0; i < op->reads.len; i++) {
        const DefValue *value = op->reads.data[i].value;

        if (expr_is_name(e->a, op->reads.data[i].name))
            return value->is_input && !value->op && !dtype_is_float(value->dtype) && value->rank == e->n_args;
    }
    return false;
}

/* The smaller or the larger of integers, as of an entry that a list leaves open by -1. */
static bool is_bound(const Expr *e)
{
    return e->kind == EXPR_CALL && (text_equal_nocase(e->name, "min") || text_equal_nocase(e->name, "max"));
}

/* The expression in the sketch's words; NULL: it is not made of what there is there. */
static Expr *told(Finder *f, const DefOp *op, const Expr *e)
{
    const Aff *from, *same;
    bool joins = e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB || e->op == EO_MUL || e->op == EO_IDIV || e->op == EO_MOD);

    if (is_row(f, e, &from))
        return row_place(f, from);
    for (int d = 0; e->kind == EXPR_NAME && d < f->view->tensor->rank; d++) /* a size that the tensor declares */
        if (expr_is_name(f->view->shape[d], e->name))
            return expr_copy(f->arena, e);
    if (e->kind != EXPR_INDEX && (same = view_block_integer(f, e)))
        return flow_written(f->arena, f->syms, same);
    if (!joins && !is_bound(e) && (e->kind != EXPR_INDEX || !is_table(op, e)))
        return NULL;
    Expr *copy = expr_copy(f->arena, e);
    bool fails = joins && (!(copy->a = told(f, op, e->a)) || !(copy->b = told(f, op, e->b)));
    for (int i = 0; i < e->n_args && !fails; i++) {
        int axis = e->args[i]->kind == EXPR_NAME ? def_axis(f->view->seen, e->args[i]->name) : -1;

        copy->args[i] = axis >= 0 ? own_place(f, e->args[i], axis) : told(f, op, e->args[i]);
        fails = !copy->args[i];
    }
    return fails ? NULL : copy;
}

bool view_look_up_entry(Finder *f, const DefOp *op, int d, const Expr *e)
{
    f->view->at[d] = d < f->view->tensor->rank - 2 && expr_reads(e, NULL) ? told(f, op, e) : NULL;
    return f->view->at[d] != NULL;
}

bool view_find_told(Finder *f, const DefOp *op, const Expr *e)
{
    View *v = f->view;
    int last = v->tensor->rank - 1;
    bool used[VIEW_RANK] = {false}, rows = false;

    if (e->n_args != v->tensor->rank || def_is_named(f->def, "row")) /* which a sketch's `row` would be taken for */
        return false;
    for (int d = 0; d <= last; d++) {
        int axis = flow_own_axis(f->def, v->seen, e->args[d]);
        bool own = axis >= 0 && axis != v->seen->rank - 2 && v->tensor->dims[d].size == v->seen->dims[axis].size;

        bool part = d == last && !own && view_find_part(f, d, e->args[d], v->seen->rank - 1);

        if (e->args[d]->kind == EXPR_ELLIPSIS || (d == last) != (part || (own && axis == v->seen->rank - 1)) || (own && used[axis]))
            return false;
        if (part) {
            used[v->seen->rank - 1] = true;
        } else if (own) {
            used[axis] = true;
            v->axes[d] = axis;
        } else if (!(v->at[d] = told(f, op, e->args[d])) ||
                   (!expr_mentions(v->at[d], "row") && !view_find_entry(f, d, e->args[d]) && !view_look_up_entry(f, op, d, e->args[d]))) {
            return false;
        }
        bool all = v->tensor->dims[d].size == v->seen->dims[v->seen->rank - 2].size;
        rows |= v->at[d] && expr_mentions(v->at[d], "row") && !(all && expr_is_name(v->at[d], "row")); /* not only in another order */
    }
    v->told = true;
    return rows;
}
