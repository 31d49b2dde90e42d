/* along.c: reductions and softmaxes along another dimension than an operation's own become
 * statements that need none.
 *
 *   Softmax X over M and get Y      Max of ColMax X, -1e30; Subtract; Exp; ColSum; Divide ... else 0
 *   RowMean X over M and get m      ColSum X, divided by M
 *   RowMax X over heads and get m   Define T (len, D, heads) as X[col(T), len, row(T)]; RowMax T; and back
 *
 * Here X is (heads, len, D), and M its last dimension but one.
 */
#include "ref/resolve.h"

typedef struct Along {
    Resolver *r;
    const Stmt *stmt;
    const DefValue *x;
    int axis;
    int fresh;
} Along;

/* ---- statements ---------------------------------------------------------------------------- */

static const char *hidden(Along *a, const char *what)
{
    const char *name;

    do
        name = arena_printf(a->r->arena, "%s_%s%d", a->x ? a->x->name : "it", what, ++a->fresh);
    while (res_find(a->r, name));
    return name;
}

static Expr *name_of(Along *a, const char *name)
{
    Expr *e = expr_name(a->r->arena, name);

    e->span = a->stmt->args[0]->span;
    return e;
}

static Stmt *operation(Along *a, OpId op, Expr *first, Expr *second)
{
    Stmt *stmt = arena_new_of(a->r->arena, Stmt);

    *stmt = (Stmt){.kind = STMT_COMPUTE, .span = a->stmt->span, .op = op, .op_known = true, .op_span = a->stmt->op_span,
                   .op_name = op_info(op)->name};
    stmt->args = arena_array(a->r->arena, Expr *, 2);
    stmt->args[stmt->n_args++] = first;
    if (second)
        stmt->args[stmt->n_args++] = second;
    return stmt;
}

/* The value of an operation under a name of its own; NULL: a diagnostic was recorded. */
static Expr *value_of(Along *a, Stmt *stmt, const char *what)
{
    const char *name = hidden(a, what);

    stmt->result = RESULT_GET;
    stmt->dest = name_of(a, name);
    return res_compute(a->r, stmt) ? name_of(a, name) : NULL;
}

static Expr *apply(Along *a, OpId op, Expr *first, Expr *second, const char *what)
{
    return first ? value_of(a, operation(a, op, first, second), what) : NULL;
}

/* The last operation, whose value goes where the statement says. */
static bool finish(Along *a, Stmt *stmt)
{
    const Stmt *s = a->stmt;

    stmt->result = s->result == RESULT_NONE ? RESULT_GET_NEW : s->result;
    stmt->dest = s->result == RESULT_NONE || !s->dest ? s->args[0] : s->dest;
    stmt->has_shape = s->has_shape;
    stmt->shape = s->shape;
    stmt->n_shape = s->n_shape;
    return res_compute(a->r, stmt);
}

/* ---- the last dimension but one, or a leading one as a single group -------------------------------- */

static Stmt *reduction(Along *a, OpId columns, OpId groups, Expr *x)
{
    bool leading = a->axis < a->x->rank - 2;
    Stmt *stmt = operation(a, leading ? groups : columns, x, NULL);

    if (leading) {
        stmt->over = a->stmt->over;
        stmt->over_span = a->stmt->over_span;
        stmt->to = expr_int(a->r->arena, 1);
    }
    return stmt;
}

static Expr *operand(Along *a)
{
    return name_of(a, a->stmt->args[0]->name);
}

/* What one number is made of, of all entries along the dimension. */
static Expr *reduced(Along *a, OpId columns, OpId groups, Expr *x, const char *what)
{
    return x ? value_of(a, reduction(a, columns, groups, x), what) : NULL;
}

/* A column of nothing but -inf becomes what an empty row does. */
static bool softmax_of_columns(Along *a)
{
    Arena *arena = a->r->arena;
    Expr *max = reduced(a, OP_COL_MAX, OP_GROUP_MAX, operand(a), "max");
    Expr *from = apply(a, OP_MAX, max, expr_float(arena, -1e30), "max");
    Expr *shifted = from ? apply(a, OP_SUBTRACT, operand(a), from, "shifted") : NULL;
    Expr *e = apply(a, OP_EXP, shifted, NULL, "exp");
    Expr *sum = reduced(a, OP_COL_SUM, OP_GROUP_SUM, e, "sum");

    if (!sum)
        return false;
    Stmt *divide = operation(a, OP_DIVIDE, e, sum);
    divide->otherwise = a->stmt->empty_rows ? a->stmt->empty_rows : expr_int(arena, 0);
    return finish(a, divide);
}

/* A dimension as a definition may write it; NULL, said: it has no name. */
static Expr *written(Along *a, const DefDim *dim)
{
    int64_t size;

    if (dim->name)
        return expr_name(a->r->arena, dim->name);
    if (aff_is_const(dim->size, &size))
        return expr_int(a->r->arena, size);
    Diag *diag = diag_add(a->r->diags, TW0246, a->stmt->over_span, "%s has a dimension without a name, which this takes",
                          def_shape_text(a->r->arena, a->x));
    diag_note(a->r->diags, diag, "give the size one: `Let n = ...`, and n in the shape");
    return NULL;
}

static bool mean_of_columns(Along *a)
{
    Expr *size = written(a, &a->x->dims[a->axis]);
    Expr *sum = size ? reduced(a, OP_COL_SUM, OP_GROUP_SUM, operand(a), "sum") : NULL;

    return sum && finish(a, operation(a, OP_DIVIDE, sum, size));
}

static bool min_of_columns(Along *a)
{
    Expr *max = reduced(a, OP_COL_MAX, OP_GROUP_MAX, apply(a, OP_NEGATE, operand(a), NULL, "negated"), "max");

    return max && finish(a, operation(a, OP_NEGATE, max, NULL));
}

static bool of_columns(Along *a)
{
    OpId op = a->stmt->op;

    if (op == OP_SOFTMAX)
        return softmax_of_columns(a);
    if (op == OP_ROW_MEAN)
        return mean_of_columns(a);
    if (op == OP_ROW_MIN)
        return min_of_columns(a);
    return finish(a, op == OP_ROW_MAX ? reduction(a, OP_COL_MAX, OP_GROUP_MAX, operand(a))
                                      : reduction(a, OP_COL_SUM, OP_GROUP_SUM, operand(a)));
}

/* ---- a leading dimension --------------------------------------------------------------------------- */

/* An element's own coordinate along a dimension of tensor `of`, which is its `at`-th; NULL,
 * said: there is no way to write it. */
static Expr *own_place(Along *a, const char *of, const DefDim *dim, int at)
{
    int from_the_end = a->x->rank - at;
    Expr **args;

    if (from_the_end > 2) {
        if (dim->name && def_axis(a->x, dim->name) >= 0)
            return expr_name(a->r->arena, dim->name);
        Diag *diag = diag_add(a->r->diags, TW0246, a->stmt->over_span, "%s has a leading dimension without a name of its own, "
                              "which this takes", def_shape_text(a->r->arena, a->x));
        diag_note(a->r->diags, diag, "name each of its dimensions, and each otherwise");
        return NULL;
    }
    args = arena_array(a->r->arena, Expr *, 1);
    args[0] = expr_name(a->r->arena, of);
    return expr_call(a->r->arena, from_the_end == 1 ? "col" : "row", args, 1);
}

/* Where axis k of X is in T, whose last is the one in question. */
static int in_turned(const Along *a, int k)
{
    return k == a->axis ? a->x->rank - 1 : k - (k > a->axis);
}

/* `Define NAME (shape) as FROM[...]`: to T from X, or back. */
static Stmt *turned(Along *a, const char *name, const char *from, bool back, bool reduced)
{
    int rank = a->x->rank;
    Stmt *define = operation(a, OP_DEFINE, name_of(a, name), NULL);
    Expr **at = arena_array(a->r->arena, Expr *, rank);

    define->has_shape = true;
    define->n_shape = rank;
    define->shape = arena_array(a->r->arena, Expr *, rank);
    for (int k = 0; k < rank; k++) {
        int t = in_turned(a, k);
        bool one = reduced && k == a->axis;

        define->shape[back ? k : t] = one ? expr_int(a->r->arena, 1) : written(a, &a->x->dims[k]);
        at[back ? t : k] = one ? expr_int(a->r->arena, 0) : own_place(a, name, &a->x->dims[k], back ? k : t);
        if (!define->shape[back ? k : t] || !at[back ? t : k])
            return NULL;
    }
    define->value = expr_index(a->r->arena, name_of(a, from), at, rank);
    return define;
}

/* Turned, one of two dimensions of one name would be a leading one, which has no place, as one without a name. */
static bool has_names(const Along *a)
{
    for (int k = 0; k < a->x->rank; k++) {
        const char *name = a->x->dims[k].name;

        if (k != a->axis && (!name || def_axis(a->x, name) != k))
            return false;
    }
    return true;
}

static bool of_leading(Along *a)
{
    if (!has_names(a))
        return of_columns(a);
    const char *t = hidden(a, "turned"), *y = hidden(a, "back");
    Stmt *there = turned(a, t, a->stmt->args[0]->name, false, false);

    if (!there || !res_compute(a->r, there))
        return false;
    Stmt *op = operation(a, a->stmt->op, name_of(a, t), NULL);
    op->empty_rows = a->stmt->empty_rows;
    Expr *p = value_of(a, op, "along");
    Stmt *back = p ? turned(a, y, p->name, true, a->stmt->op != OP_SOFTMAX) : NULL;
    return back && res_compute(a->r, back) && finish(a, operation(a, OP_ADD, name_of(a, y), expr_int(a->r->arena, 0)));
}

/* ---- */

static OpId row_operation(OpId op)
{
    return op == OP_COL_MAX ? OP_ROW_MAX : op == OP_COL_SUM ? OP_ROW_SUM : op;
}

static bool takes_a_dimension(const Stmt *stmt)
{
    OpClass class = stmt->op_known ? op_info(stmt->op)->class : OPC_ELEMENT;
    bool ours = class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE || class == OPC_SOFTMAX;

    return ours && stmt->over && stmt->n_args == 1 && !stmt->n_with && !stmt->where && !stmt->otherwise && !stmt->to &&
           !stmt->by && !stmt->step && !stmt->value && (!stmt->empty_rows || class == OPC_SOFTMAX);
}

/* What is seen transposed or in part gets a name. */
static bool name_operand(Along *a, Stmt *stmt)
{
    Expr *named = apply(a, OP_ADD, stmt->args[0], expr_int(a->r->arena, 0), "operand");

    stmt->args = arena_array(a->r->arena, Expr *, 1);
    stmt->args[0] = named;
    return named != NULL;
}

static const DefValue *operand_value(const Resolver *r, const Stmt *stmt)
{
    const Name *name = stmt->args[0]->kind == EXPR_NAME ? res_find(r, stmt->args[0]->name) : NULL;

    return name && name->kind == NAME_TENSOR ? name->tensor : NULL;
}

/* The operation's own dimension where it has the name, whichever others have it too; else -1. */
static int own_axis(const Along *a, bool columns)
{
    const Name *name = res_find(a->r, a->stmt->over);
    const char *dim = name && name->kind == NAME_INDEX ? name->over : a->stmt->over;
    int own = a->x->rank - (columns ? 2 : 1);

    return own >= 0 && a->x->dims[own].name && strcmp(a->x->dims[own].name, dim) == 0 ? own : -1;
}

bool res_along(Resolver *r, const Stmt *stmt, bool *done)
{
    Along a = {.r = r, .stmt = stmt};
    Stmt *rows = arena_new_of(r->arena, Stmt);
    bool seen = stmt->n_args == 1 && (stmt->args[0]->kind == EXPR_TRANSPOSE || stmt->args[0]->kind == EXPR_INDEX);

    *done = takes_a_dimension(stmt) && (seen || operand_value(r, stmt));
    if (!*done)
        return false;
    *rows = *stmt;
    rows->op = row_operation(stmt->op);
    if (seen && !name_operand(&a, rows))
        return false;
    a.stmt = rows;
    a.x = operand_value(r, rows);
    a.axis = own_axis(&a, op_info(stmt->op)->class == OPC_COL_REDUCE);
    if (a.axis < 0)
        a.axis = shape_axis_over(r, &(DefOp){.stmt = stmt, .args[0].value = (DefValue *)a.x});
    if (a.axis < 0)
        return false;
    *done = seen || a.axis != a.x->rank - (op_info(stmt->op)->class == OPC_COL_REDUCE ? 2 : 1);
    if (!*done)
        return false;
    if (a.axis == a.x->rank - 1) {
        Stmt *plain = operation(&a, rows->op, operand(&a), NULL);

        plain->empty_rows = stmt->empty_rows;
        return finish(&a, plain);
    }
    return a.axis == a.x->rank - 2 ? of_columns(&a) : of_leading(&a);
}
