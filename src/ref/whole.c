/* whole.c: shapes of the operations on whole tensors.
 *
 *   Unfold K over kv_len by 32 step 16     (b, kv_len, D) -> (b, max((kv_len - 32) div 16 + 1, 0), 32, D)
 *   GroupSum B over q_heads to kv_heads    (b, q_heads, L) -> (b, kv_heads, L)
 *   Reshape KB and get KF (b, n, 32 * D)   as declared
 *   TopK B, 16 over slc                    as B
 *
 * Where the sizes are not known, that they fit is seen when the definition is
 * run (arrange.c); what can be seen to be wrong is an error here.
 */
#include "ref/resolve.h"

/* ---- the dimension ----------------------------------------------------------------- */

/* The only axis of this size; -1: none, -2: several. A name may be another name
 * of the dimension, as after `Param VDim = HeadDim`. */
static int axis_of_size(const DefValue *value, const Aff *size)
{
    int axis = -1;

    for (int d = 0; d < value->rank; d++)
        if (value->dims[d].size == size)
            axis = axis == -1 ? d : -2;
    return axis;
}

static int no_axis(Resolver *r, const DefOp *op, const char *name, int axis)
{
    const DefValue *value = op->args[0].value;
    Diag *diag = diag_add(r->diags, TW0246, op->stmt->over_span, "%s of %s", arena_printf(r->arena,
                          axis == -2 ? "several dimensions are %s" : "there is no dimension %s", name),
                          def_shape_text(r->arena, value));

    if (axis == -2)
        diag_note(r->diags, diag, "give the dimensions different names");
    return -1;
}

/* The axis that `over` names; -1 when there is none. */
int shape_axis_over(Resolver *r, const DefOp *op)
{
    const DefValue *value = op->args[0].value;
    const char *dim = op->stmt->over;
    Name *name = res_find(r, dim);
    Expr use = {.kind = EXPR_NAME, .name = dim, .span = op->stmt->over_span};
    int axis;

    if (name && name->kind == NAME_INDEX)
        use.name = dim = name->over;
    axis = def_axis(value, dim);
    if (axis == -1) {
        const Aff *size = res_size(r, &use);

        if (!size)
            return -1;
        axis = axis_of_size(value, size);
    }
    return axis >= 0 ? axis : no_axis(r, op, op->stmt->over, axis);
}

static bool wants(Resolver *r, const DefOp *op, const char *form)
{
    Diag *diag = diag_add(r->diags, TW0234, op->stmt->span, "%s lacks a part", op_info(op->op)->name);

    diag_note(r->diags, diag, "the form is `Compute %s %s`", op_info(op->op)->name, form);
    return false;
}

/* ---- sizes --------------------------------------------------------------------------- */

static DefDim dim_of(Resolver *r, const Expr *e)
{
    return (DefDim){res_size(r, e), e->kind == EXPR_NAME ? e->name : NULL};
}

/* A length that is at least 1, as far as it is known. */
static bool positive(Resolver *r, const Expr *e, const Aff *size)
{
    int64_t value;

    if (!size)
        return false;
    if (!aff_is_const(size, &value) || value >= 1)
        return true;
    diag_add(r->diags, TW0326, e->span, "a length of %lld", (long long)value);
    return false;
}

static bool known_to_differ(Resolver *r, const Aff *a, const Aff *b)
{
    int64_t by;

    return aff_is_const(aff_sub(r->aff, a, b), &by) && by != 0;
}

static const Aff *elements(Resolver *r, const Shape *shape)
{
    const Aff *n = aff_const(r->aff, 1);

    for (int d = 0; d < shape->rank; d++)
        n = aff_mul(r->aff, n, shape->dims[d].size);
    return n;
}

/* ---- one operation after the other ----------------------------------------------------- */

/* The axis becomes two: which block, and where in it. */
static bool unfolded(Resolver *r, DefOp *op, Shape *shape, const DefDim *by, const Aff *step)
{
    const Aff *zero = aff_const(r->aff, 0), *left = aff_sub(r->aff, shape->dims[op->axis].size, by->size);
    const Aff *blocks = aff_max(r->aff, aff_offset(r->aff, aff_div(r->aff, left, step), 1), zero);
    int at = op->axis;

    if (shape->rank == RES_MAX_RANK) {
        diag_add(r->diags, TW0325, op->stmt->span, "the result has more than %d dimensions", RES_MAX_RANK);
        return false;
    }
    memmove(&shape->dims[at + 1], &shape->dims[at], (size_t)(shape->rank - at) * sizeof *shape->dims);
    shape->rank++;
    shape->dims[at] = (DefDim){blocks, NULL};
    shape->dims[at + 1] = *by;
    op->step = step;
    return true;
}

static bool shape_unfold(Resolver *r, DefOp *op, Shape *shape)
{
    const Stmt *s = op->stmt;
    DefDim by;
    const Aff *step;

    if (!s->over || !s->by)
        return wants(r, op, "X over DIM by LENGTH step STEP and get Y");
    op->axis = shape_axis_over(r, op);
    by = dim_of(r, s->by);
    step = s->step ? res_size(r, s->step) : by.size;
    if (op->axis < 0 || !positive(r, s->by, by.size) || !positive(r, s->step ? s->step : s->by, step))
        return false;
    shape_of(op->args[0].value, shape);
    return unfolded(r, op, shape, &by, step);
}

/* How many elements a shape has for each element of the dimensions that another has as well; false: only the launch knows. */
static bool elements_beside(const Shape *shape, const Shape *other, int64_t *n)
{
    bool taken[RES_MAX_RANK] = {false};

    *n = 1;
    for (int d = 0; d < shape->rank; d++) {
        int64_t size;
        int k = 0;

        while (k < other->rank && (taken[k] || other->dims[k].size != shape->dims[d].size))
            k++;
        if (k < other->rank) {
            taken[k] = true;
            continue;
        }
        if (!aff_is_const(shape->dims[d].size, &size) || size < 1 || *n > INT32_MAX || size > INT32_MAX)
            return false;
        *n *= size;
    }
    return true;
}

/* One of the numbers of the new shape that another would make fit. */
static void fix_size(Resolver *r, Diag *diag, const DefOp *op, int64_t from, int64_t to)
{
    for (int d = 0; d < op->stmt->n_shape; d++) {
        const Expr *e = op->stmt->shape[d];
        int64_t others = e->kind == EXPR_INT && e->i > 0 && to % e->i == 0 ? to / e->i : 0;

        if (others == 0 || from % others != 0)
            continue;
        diag_fix(r->diags, diag, e->span, arena_printf(r->arena, "%lld", (long long)(from / others)), "as many elements");
        return;
    }
}

static bool shape_reshape(Resolver *r, DefOp *op, Shape *shape)
{
    int64_t before = 0, after = 0;
    bool counted;
    Shape from;

    if (!op->stmt->has_shape)
        return wants(r, op, "X and get Y (dim, dim, ...)");
    if (!res_shape(r, op->stmt, shape))
        return false;
    shape_of(op->args[0].value, &from);
    counted = elements_beside(&from, shape, &before) && elements_beside(shape, &from, &after);
    if (!known_to_differ(r, elements(r, &from), elements(r, shape)) && (!counted || before == after))
        return true;
    Diag *diag = diag_add(r->diags, TW0328, op->stmt->span, "%s does not have as many elements as %s",
                          def_shape_text(r->arena, op->args[0].value), shape_text(r->arena, shape));
    if (counted)
        fix_size(r, diag, op, before, after);
    return false;
}

static bool shape_group(Resolver *r, DefOp *op, Shape *shape)
{
    const Stmt *s = op->stmt;
    int64_t of, to;
    DefDim dim;

    if (!s->over || !s->to)
        return wants(r, op, "X over DIM to GROUPS and get Y");
    op->axis = shape_axis_over(r, op);
    dim = dim_of(r, s->to);
    if (op->axis < 0 || !positive(r, s->to, dim.size))
        return false;
    shape_of(op->args[0].value, shape);
    if (aff_is_const(shape->dims[op->axis].size, &of) && aff_is_const(dim.size, &to) && of % to != 0) {
        diag_add(r->diags, TW0328, s->to->span, "%lld entries do not make %lld groups of the same size",
                 (long long)of, (long long)to);
        return false;
    }
    shape->dims[op->axis] = dim;
    return true;
}

static bool shape_top(Resolver *r, DefOp *op, Shape *shape)
{
    const DefScalar *k = &op->args[1].scalar;

    shape_of(op->args[0].value, shape);
    op->axis = shape->rank - 1;
    if (op->args[1].value) {
        diag_add(r->diags, TW0235, op->stmt->args[1]->span, "TopK takes a number of elements, not a tensor");
        return false;
    }
    if (k->is_const && (k->value < 0 || k->value != (double)(int64_t)k->value)) {
        diag_add(r->diags, TW0326, op->stmt->args[1]->span, "%g elements", k->value);
        return false;
    }
    return !op->stmt->over || (op->axis = shape_axis_over(r, op)) >= 0;
}

bool shape_whole(Resolver *r, DefOp *op, Shape *shape)
{
    if (!shape_same(r, op, shape))
        return false;
    if (op->op == OP_UNFOLD)
        return shape_unfold(r, op, shape);
    if (op->op == OP_RESHAPE)
        return shape_reshape(r, op, shape);
    return op->op == OP_TOP_K ? shape_top(r, op, shape) : shape_group(r, op, shape);
}

/* ---- what is written down ------------------------------------------------------------------ */

void shape_settle(Resolver *r, const DefOp *op, const Shape *declared, Shape *computed)
{
    int d = op->axis;

    if (op->op == OP_UNFOLD && declared->rank == computed->rank &&
        !known_to_differ(r, declared->dims[d].size, computed->dims[d].size))
        computed->dims[d] = declared->dims[d];
}
