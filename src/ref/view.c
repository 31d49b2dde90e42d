/* view.c: operands that are a tensor seen otherwise become values of their own.
 *
 *   Compute Add G, y.T and get D         Define y_T (1, N) as y[..., col(y_T), row(y_T)]
 *   Compute Multiply Q[..., H:D], c      Define Q_part (..., D - H) as Q[..., row(Q_part), col(Q_part) + H]
 *   Compute Exp X[:, 0, :] and get Y     Define X_part (B, N) as X[row(X_part), 0, col(X_part)]
 *
 * A product's operands that are only transposed stay as they are: the tensor cores
 * read them by columns.
 *
 * Vocabulary
 *   item   what stands for one axis of the tensor: all of it, a range, or one entry,
 *          which the view does not have as an axis
 */
#include "ref/resolve.h"

typedef struct Item {
    const Expr *expr; /* the range or the entry; NULL: all of it */
    const Aff *from, *size; /* of an entry: from */
} Item;

typedef struct View {
    Resolver *r;
    const Expr *written;
    const Name *name;
    const DefValue *value;
    const char *called;
    Item items[RES_MAX_RANK];
    int axes[RES_MAX_RANK]; /* of the tensor: those that the view has, in its order */
    Shape shape;
} View;

/* ---- what is seen ------------------------------------------------------------------------ */

static Diag *refuse(const View *v, DiagCode code, const Expr *e, const char *what)
{
    Diag *diag = diag_add(v->r->diags, code, e->span, "%s", what);

    diag_note(v->r->diags, diag, "say it for each element, with names of its own for its dimensions: `Compute Define "
                                 "T (a, b) as %s[...]`, and T here", v->name->name);
    return diag;
}

static bool mentions_position(const View *v, const Expr *e)
{
    const Name *name = e->kind == EXPR_NAME ? res_find(v->r, e->name) : NULL;

    if (name && (name->kind == NAME_INDEX || name->kind == NAME_TENSOR))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (mentions_position(v, e->args[i]))
            return true;
    return (e->a && mentions_position(v, e->a)) || (e->b && mentions_position(v, e->b));
}

static const Aff *bound_of(const View *v, const Expr *e)
{
    if (!mentions_position(v, e))
        return res_size(v->r, e);
    refuse(v, TW0235, e, "a bound or an entry of an operand is a number, the same for all elements");
    return NULL;
}

static bool is_below(const View *v, const Aff *a, const Aff *b)
{
    int64_t difference;

    return aff_is_const(aff_sub(v->r->aff, a, b), &difference) && difference < 0;
}

static Diag *say_outside(const View *v, const Expr *e, const DefDim *dim)
{
    Diag *diag = diag_add(v->r->diags, TW0329, e->span, "%s has the entries from 0 up to, not including, %s here",
                          v->name->name, dim->name ? dim->name : aff_text(v->r->arena, dim->size));

    diag_note(v->r->diags, diag, "`lo:hi` is lo up to, not including, hi; what is left out is the first or the last: "
                                 "the last n of them are `%s - n:`", dim->name ? dim->name : aff_text(v->r->arena, dim->size));
    return diag;
}

/* As many of them, from the first or up to the last. */
static void fix_part(const View *v, Diag *diag, const Expr *e, const Aff *from, const Aff *to, const Aff *size)
{
    int64_t lo, hi, n;

    if (e->kind != EXPR_RANGE || !aff_is_const(from, &lo) || !aff_is_const(to, &hi) || !aff_is_const(size, &n) || hi <= lo || hi - lo > n)
        return;
    diag_fix(v->r->diags, diag, e->span, lo < 0 ? arena_printf(v->r->arena, "0:%lld", (long long)(hi - lo))
                                                : arena_printf(v->r->arena, "%lld:%lld", (long long)(n - (hi - lo)), (long long)n),
             lo < 0 ? "as many from the first on" : "as many up to the last");
}

/* Takes in `lo:hi` or one entry of axis `axis`. */
static bool take_item(View *v, int axis, const Expr *e)
{
    const DefDim *dim = &v->value->dims[axis];
    const Aff *zero = aff_const(v->r->aff, 0);
    bool range = e->kind == EXPR_RANGE;
    Item *item = &v->items[axis];

    if (range && !e->a && !e->b)
        return true;
    item->expr = e;
    item->from = !range ? bound_of(v, e) : e->a ? bound_of(v, e->a) : zero;
    const Aff *to = !range ? NULL : e->b ? bound_of(v, e->b) : dim->size;
    if (!item->from || (range && !to))
        return false;
    if (!range)
        to = aff_add(v->r->aff, item->from, aff_const(v->r->aff, 1));
    if (is_below(v, item->from, zero) || is_below(v, dim->size, to) ||
        is_below(v, to, aff_add(v->r->aff, item->from, aff_const(v->r->aff, 1)))) {
        fix_part(v, say_outside(v, e, dim), e, item->from, to, dim->size);
        return false;
    }
    item->size = aff_sub(v->r->aff, to, item->from);
    return true;
}

/* Axes that nothing is said of are all there. */
static bool take_items(View *v, const Expr *e)
{
    int rank = v->value->rank, axis = 0, dots = 0;

    for (int i = 0; i < e->n_args; i++)
        dots += e->args[i]->kind == EXPR_ELLIPSIS;
    if (dots > 1 || e->n_args - dots > rank) {
        diag_add(v->r->diags, TW0327, e->span, "%d coordinate%s for %s", e->n_args, e->n_args == 1 ? "" : "s",
                 def_shape_text(v->r->arena, v->value));
        return false;
    }
    for (int i = 0; i < e->n_args; i++)
        if (e->args[i]->kind == EXPR_ELLIPSIS)
            axis += rank - (e->n_args - 1);
        else if (!take_item(v, axis++, e->args[i]))
            return false;
    return true;
}

/* ---- its shape ------------------------------------------------------------------------------ */

/* A dimension of just this size, which the launch gives; else the size has no name. */
static const char *name_of_size(const View *v, const Aff *size)
{
    const Def *def = v->r->def;

    for (int i = 0; i < def->dims.len && !aff_is_const(size, NULL); i++)
        if (def->dims.data[i].size == size)
            return def->dims.data[i].name;
    return NULL;
}

static bool is_entry(const Item *item)
{
    return item->expr && item->expr->kind != EXPR_RANGE;
}

static void find_shape(View *v)
{
    for (int d = 0; d < v->value->rank; d++) {
        const Item *item = &v->items[d];

        if (is_entry(item))
            continue;
        v->axes[v->shape.rank] = d;
        v->shape.dims[v->shape.rank++] =
            item->expr && item->size != v->value->dims[d].size ? (DefDim){item->size, name_of_size(v, item->size)}
                                                               : v->value->dims[d];
    }
    if (v->shape.rank)
        return;
    v->axes[0] = -1; /* a single element is a vector of one */
    v->shape.dims[v->shape.rank++] = (DefDim){aff_const(v->r->aff, 1), NULL};
}

static void exchange_last_two(View *v)
{
    int n = v->shape.rank, axis = v->axes[n - 2];

    v->shape = shape_transposed(v->shape);
    v->axes[n - 2] = v->axes[n - 1];
    v->axes[n - 1] = axis;
}

/* ---- each element of it ------------------------------------------------------------------------ */

/* A position along a dimension that starts at its first element. */
static const char *index_over(const View *v, const char *dim)
{
    int64_t from;

    for (int i = 0; dim && i < v->r->names.len; i++) {
        const Name *name = v->r->names.data[i];

        if (name->kind == NAME_INDEX && !name->bad && strcmp(name->over, dim) == 0 && aff_is_const(name->size, &from) && from == 0)
            return name->name;
    }
    return NULL;
}

/* row(T), col(T); where these have another meaning, a position of the program's own. */
static Expr *place(const View *v, bool row)
{
    Arena *arena = v->r->arena;
    const char *side = row ? "row" : "col";
    const char *index = res_find(v->r, side) ? index_over(v, v->shape.dims[v->shape.rank - 1 - row].name) : NULL;
    Expr **args = arena_array(arena, Expr *, 1);

    if (index)
        return expr_name(arena, index);
    args[0] = expr_name(arena, v->called);
    return expr_call(arena, side, args, 1);
}

/* The view's axis that is this one of the tensor; -1: none, it is an entry. */
static int axis_in_view(const View *v, int axis)
{
    for (int d = 0; d < v->shape.rank; d++)
        if (v->axes[d] == axis)
            return d;
    return -1;
}

/* Where the tensor is read along one axis; NULL: there is no way to write it. */
static Expr *coordinate(const View *v, int axis)
{
    Arena *arena = v->r->arena;
    const Item *item = &v->items[axis];
    int d = axis_in_view(v, axis);
    const Expr *from = is_entry(item) ? item->expr : item->expr ? item->expr->a : NULL;
    Expr *at;

    if (d < 0)
        return expr_copy(arena, from);
    if (d < v->shape.rank - 2) {
        const char *name = v->value->dims[axis].name;

        return name && !item->expr ? expr_name(arena, name) : NULL;
    }
    at = place(v, d == v->shape.rank - 2);
    bool first = !from || (from->kind == EXPR_INT && from->i == 0);
    return first ? at : expr_binary(arena, EO_ADD, at, expr_copy(arena, from));
}

/* All leading axes are the element's own. */
static bool own_leading(const View *v)
{
    for (int d = 0; d < v->value->rank - 2; d++)
        if (v->items[d].expr)
            return false;
    return v->shape.rank == v->value->rank && v->value->rank > 2;
}

static Expr *element(const View *v)
{
    Arena *arena = v->r->arena;
    int rank = v->value->rank, n = 0;
    Expr **args = arena_array(arena, Expr *, rank);
    Expr *base = expr_name(arena, v->name->name);
    bool dots = own_leading(v);

    base->span = v->written->span;
    if (dots) {
        args[n] = expr_name(arena, "");
        *args[n++] = (Expr){.kind = EXPR_ELLIPSIS, .span = v->written->span};
    }
    for (int axis = dots ? rank - 2 : 0; axis < rank; axis++) {
        args[n] = coordinate(v, axis);
        if (!args[n++]) {
            refuse(v, TW0235, v->written, "this part of a tensor cannot be an operand: of leading dimensions, all entries or "
                                          "one, of dimensions with names");
            return NULL;
        }
    }
    Expr *read = expr_index(arena, base, args, n);
    read->span = v->written->span;
    return read;
}

/* ---- the value ------------------------------------------------------------------------------------ */

/* One that there is already, of the same tensor. */
static DefValue *same_view(const View *v, const DefOp *op)
{
    const Def *def = v->r->def;

    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *other = def->ops.data[i];

        if (other->op == OP_DEFINE && other->reads.len == 1 && other->reads.data[0].value == v->value &&
            other->result->rank == v->shape.rank && strcmp(other->result->name, v->called) == 0 &&
            expr_equal(other->where, op->where))
            return other->result;
    }
    return NULL;
}

static DefValue *define(View *v, const Stmt *stmt)
{
    DefOp *op = arena_new_of(v->r->arena, DefOp);
    const Expr *e = element(v);

    op->stmt = stmt;
    op->op = OP_DEFINE;
    op->elem = e ? res_elem(v->r, e, &v->shape, op) : NULL;
    if (!op->elem)
        return NULL;
    op->where = res_substitute_in(v->r, e, &v->shape);
    DefValue *same = same_view(v, op);
    if (same)
        return same;
    return res_room_left(v->r, stmt) ? res_new_value(v->r, v->called, op, &v->shape) : NULL;
}

static const char *free_name(const View *v, const char *suffix)
{
    const char *first = arena_printf(v->r->arena, "%s_%s", v->name->name, suffix), *name = first;

    for (int i = 2; res_find(v->r, name); i++)
        name = arena_printf(v->r->arena, "%s%d", first, i);
    return name;
}

bool res_view(Resolver *r, const Stmt *stmt, const Expr *e, DefArg *arg)
{
    bool transposed = e->kind == EXPR_TRANSPOSE;
    const Expr *part = transposed ? e->a : e, *base = part->kind == EXPR_INDEX ? part->a : part;
    View v = {.r = r, .written = e};

    v.name = base->kind == EXPR_NAME ? res_find(r, base->name) : NULL;
    if (!v.name || v.name->kind != NAME_TENSOR) {
        diag_add(r->diags, TW0235, base->span, "only a tensor can be transposed, or have parts");
        return false;
    }
    if (v.name->bad || !v.name->tensor)
        return v.name->bad ? false : (res_no_value(r, base), false);
    v.value = v.name->tensor;
    if (part != base && !take_items(&v, part))
        return false;
    find_shape(&v);
    if (transposed && v.shape.rank < 2) {
        diag_add(r->diags, TW0325, e->span, "a vector has no columns to exchange with its rows: as a row it is %s, as a column "
                 "declare it (..., 1)", v.name->name);
        return false;
    }
    v.called = free_name(&v, transposed ? part == base ? "T" : "part_T" : "part");
    if (transposed)
        exchange_last_two(&v);
    arg->value = define(&v, stmt);
    return arg->value != NULL;
}
