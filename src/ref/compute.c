/* compute.c: a Compute statement of a definition becomes an operation.
 *
 *   Compute GEMM Q, K.T and get S     S, a new value, = GEMM(Q, K transposed)
 *   Compute Multiply S, scale         S, a new value under the old name
 *   Compute Add A, B and accumulate O O' = Add(A, B), then O, new, = Add(O, O')
 */
#include "ref/resolve.h"

#include <math.h>

/* ---- operands ------------------------------------------------------------------- */

static bool wrong_operand(Resolver *r, DiagCode code, const Expr *e, const char *what)
{
    diag_add(r->diags, code, e->span, "%s", what);
    return false;
}

void res_no_value(Resolver *r, const Expr *name)
{
    diag_add(r->diags, TW0230, name->span, "%s has no value yet", name->name);
}

static bool tensor_operand(Resolver *r, const Expr *e, const Name *name, DefArg *arg)
{
    if (name->bad)
        return false;
    if (!name->tensor) {
        res_no_value(r, e);
        return false;
    }
    arg->value = name->tensor;
    return true;
}

/* The name of a tensor that is seen transposed, or of which a part is. */
static bool base_is_known(Resolver *r, const Expr *e)
{
    while (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_INDEX)
        e = e->a;
    if (e->kind != EXPR_NAME || res_find(r, e->name))
        return true;
    res_undefined(r, e->name, e->span);
    return false;
}

/* X.T, X[lo:hi, :], X[lo:hi, :].T. A product reads by columns what is transposed. */
static bool view_operand(Resolver *r, const Stmt *stmt, const Expr *e, OpClass class, DefArg *arg)
{
    bool by_columns = class == OPC_GEMM && e->kind == EXPR_TRANSPOSE;
    const Expr *seen = by_columns ? e->a : e;
    const Name *name = seen->kind == EXPR_NAME ? res_find(r, seen->name) : NULL;

    if (!base_is_known(r, e))
        return false;
    if (by_columns)
        arg->transposed = true;
    return name && name->kind == NAME_TENSOR ? tensor_operand(r, seen, name, arg) : res_view(r, stmt, seen, arg);
}

/* ---- arithmetic among the operands ---- */

static bool tensor_within(Resolver *r, const Expr *e)
{
    const Name *name = e->kind == EXPR_NAME ? res_find(r, e->name) : NULL;

    if (name)
        return name->kind == NAME_TENSOR;
    for (int i = 0; i < e->n_args; i++)
        if (tensor_within(r, e->args[i]))
            return true;
    return (e->a && tensor_within(r, e->a)) || (e->b && tensor_within(r, e->b));
}

static const char *operation_of(const Expr *e)
{
    OpId op;

    if (e->kind == EXPR_CALL)
        return op_find(e->name, &op) ? op_info(op)->name : NULL;
    switch (e->op) {
    case EO_ADD: return "Add";
    case EO_SUB: return "Subtract";
    case EO_MUL: return "Multiply";
    case EO_DIV: return "Divide";
    case EO_POW: return "Power";
    case EO_GT: return "Greater";
    case EO_NEG: case EO_NOT: case EO_IDIV: case EO_MOD: case EO_LT: case EO_LE: case EO_GE: case EO_EQ:
    case EO_NE: case EO_AND: case EO_OR:
        break;
    }
    return NULL;
}

/* `Exp S - M`: an operand is a tensor or a number. */
static bool expression_operand(Resolver *r, const Expr *e)
{
    const char *op = operation_of(e);
    Diag *diag = diag_add(r->diags, TW0235, e->span, "an operand is a tensor or a number, not a computation with tensors");
    Str text = str_new(r->arena);

    if (!op)
        return false;
    str_printf(&text, "Compute %s ", op);
    lang_print_expr(&text, e->kind == EXPR_CALL && e->n_args ? e->args[0] : e->a);
    for (int i = 1; i < e->n_args; i++) {
        str_add(&text, ", ");
        lang_print_expr(&text, e->args[i]);
    }
    if (e->kind == EXPR_BINARY) {
        str_add(&text, ", ");
        lang_print_expr(&text, e->b);
    }
    diag_note(r->diags, diag, "one operation a statement: first `%s and get T`, then T here", str_text(&text));
    return false;
}

static bool operand(Resolver *r, const Stmt *stmt, const Expr *e, OpClass class, DefArg *arg)
{
    const Name *name = e->kind == EXPR_NAME ? res_find(r, e->name) : NULL;

    if (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_INDEX)
        return view_operand(r, stmt, e, class, arg);
    if (e->kind == EXPR_SPACE)
        return wrong_operand(r, TW0232, e, "a definition has no memory spaces");
    if (name && name->kind == NAME_TENSOR)
        return tensor_operand(r, e, name, arg);
    if ((e->kind == EXPR_BINARY || e->kind == EXPR_CALL) && tensor_within(r, e))
        return expression_operand(r, e);
    return res_scalar(r, e, &arg->scalar);
}

/* All operands but those that are no values: Cast's type, the name after Define. */
static bool operands(Resolver *r, DefOp *op, OpClass class)
{
    bool ok = true;

    op->n_args = class == OPC_DEFINE ? 0 : class == OPC_CAST ? 1 : op->stmt->n_args;
    for (int i = 0; i < op->n_args; i++)
        ok &= operand(r, op->stmt, op->stmt->args[i], class, &op->args[i]);
    return ok;
}

/* ---- clauses ----------------------------------------------------------------------- */

static bool surplus(Resolver *r, const Stmt *stmt, const Expr *e, const char *clause)
{
    diag_add(r->diags, TW0234, e ? e->span : stmt->span, "%s takes no `%s` in a definition",
             stmt->op_name, clause);
    return false;
}

/* A reduction or softmax over another dimension than its own is along.c's business. */
static bool takes_over(OpId op)
{
    OpClass class = op_info(op)->class;

    return (op_is_whole(op) && op != OP_RESHAPE) || class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE ||
           class == OPC_SOFTMAX;
}

/* Clauses that the operation has no use for. */
static bool clauses_fit(Resolver *r, const Stmt *stmt, OpClass class)
{
    if (stmt->where && class != OPC_MASK)
        return surplus(r, stmt, stmt->where, "where");
    if (stmt->otherwise && class != OPC_MASK && stmt->op != OP_DIVIDE)
        return surplus(r, stmt, stmt->otherwise, "else");
    if (stmt->n_with)
        return surplus(r, stmt, stmt->with[0], "with");
    if (stmt->empty_rows && class != OPC_SOFTMAX)
        return surplus(r, stmt, stmt->empty_rows, "with empty rows");
    if (stmt->value && class != OPC_DEFINE)
        return surplus(r, stmt, stmt->value, "as");
    if (stmt->over && !takes_over(stmt->op))
        return surplus(r, stmt, NULL, "over");
    if (stmt->to && class != OPC_GROUP_REDUCE)
        return surplus(r, stmt, stmt->to, "to");
    if (stmt->by && stmt->op != OP_UNFOLD)
        return surplus(r, stmt, stmt->by, "by");
    if (stmt->step && stmt->op != OP_UNFOLD)
        return surplus(r, stmt, stmt->step, "step");
    return true;
}

static bool right_count(Resolver *r, const Stmt *stmt)
{
    int arity = op_info(stmt->op)->arity;

    if (stmt->n_args == arity)
        return true;
    diag_add(r->diags, TW0234, stmt->span, "%s takes %d operand%s, not %d", stmt->op_name, arity,
             arity == 1 ? "" : "s", stmt->n_args);
    return false;
}

/* The number after `else` or `empty rows`. */
static bool other_value(Resolver *r, const Expr *e, DefOp *op)
{
    DefScalar scalar;

    op->has_else = e != NULL;
    if (!e)
        return true;
    if (!res_scalar(r, e, &scalar))
        return false;
    if (!scalar.is_const) {
        diag_add(r->diags, TW0244, e->span, "this number must be known when compiling");
        return false;
    }
    op->otherwise = scalar.value;
    return true;
}

/* ---- one class after the other --------------------------------------------------------- */

static bool element_of(Resolver *r, const Expr *e, DefOp *op, const Shape *shape)
{
    op->elem = res_elem(r, e, shape, op);
    if (!op->elem)
        return false;
    op->where = res_substitute_in(r, e, shape);
    return true;
}

static bool resolve_element(Resolver *r, DefOp *op, Shape *shape)
{
    return other_value(r, op->stmt->otherwise, op) && shape_elementwise(r, op, shape);
}

static bool resolve_softmax(Resolver *r, DefOp *op, Shape *shape)
{
    return other_value(r, op->stmt->empty_rows, op) && shape_same(r, op, shape);
}

static bool resolve_mask(Resolver *r, DefOp *op, Shape *shape)
{
    op->otherwise = -INFINITY;
    if (!op->stmt->where) {
        diag_add(r->diags, TW0234, op->stmt->span, "Mask needs a condition: `where cond`");
        return false;
    }
    return other_value(r, op->stmt->otherwise, op) && shape_same(r, op, shape) &&
           element_of(r, op->stmt->where, op, shape);
}

static bool resolve_fill(Resolver *r, DefOp *op, Shape *shape)
{
    if (!op->args[1].value)
        return shape_same(r, op, shape);
    return wrong_operand(r, TW0235, op->stmt->args[1], "Fill takes a number, not a tensor");
}

static bool resolve_cast(Resolver *r, DefOp *op, Shape *shape)
{
    if (!op->stmt->has_dtype)
        return wrong_operand(r, TW0235, op->stmt->args[1], "Cast needs an element type, such as bf16");
    op->cast = op->stmt->dtype;
    return shape_same(r, op, shape);
}

static bool resolve_define(Resolver *r, DefOp *op, Shape *shape)
{
    if (op->stmt->args[0]->kind != EXPR_NAME || !op->stmt->has_shape || !op->stmt->value) {
        diag_add(r->diags, TW0234, op->stmt->span, "Define needs a name, a shape and a value: "
                 "`Define X (a, b) as expr`");
        return false;
    }
    return res_shape(r, op->stmt, shape) && element_of(r, op->stmt->value, op, shape);
}

/* What is computed is rounded where products need it; of an input that is said. */
static void say_rounded(Resolver *r, const DefOp *op)
{
    for (int i = 0; i < 2; i++) {
        const DefValue *value = op->args[i].value;
        const char *to = dtype_name(def_operand_type(r->def, op, i));

        if (!value->is_input || value->dtype != DT_F32 || (i == 1 && value == op->args[0].value))
            continue;
        Diag *diag = diag_add(r->diags, TW0248, op->stmt->args[i]->span, "%s is fp32: its elements are rounded to %s for this "
                              "product", value->name, to);
        diag_note(r->diags, diag, "`Compute Cast %s, %s and get T`, and T here, says so, or another type", value->name, to);
    }
}

/* The statement that says an operand's type; NULL: none does, or it is not the operand's own. */
static const Stmt *typed_by(const Resolver *r, const DefValue *value)
{
    if (value->op)
        return value->op->op == OP_CAST ? value->op->stmt : NULL;
    for (int i = 0; i < r->unit->body.len; i++) {
        const Stmt *s = r->unit->body.data[i];

        if (s->kind == STMT_INPUT && s->has_dtype && strcmp(s->name, value->name) == 0)
            return s;
    }
    return NULL;
}

/* Of 8 and 16 bits the few are widened; two types of as many bits stay what they are. */
static bool types_agree(Resolver *r, const DefOp *op)
{
    DType a = def_operand_type(r->def, op, 0), b = def_operand_type(r->def, op, 1);
    const DefValue *values[2] = {op->args[0].value, op->args[1].value};
    const Stmt *typed = typed_by(r, values[1]);
    Diag *diag;

    if (a == b || dtype_bytes(a) != 2 || dtype_bytes(b) != 2)
        return true;
    diag = diag_add(r->diags, TW0430, op->stmt->args[1]->span, "%s is %s, %s is %s: one instruction takes one type",
                    values[0]->name, dtype_name(a), values[1]->name, dtype_name(b));
    if (!values[1]->op)
        diag_note(r->diags, diag, "where the data is %s, round it first: `Compute Cast %s, %s and get %s_%s`, and multiply that",
                  dtype_name(b), values[1]->name, dtype_name(a), values[1]->name, dtype_name(a));
    if (typed)
        diag_fix(r->diags, diag, typed->dtype_span, dtype_name(a), "one type for both");
    else if ((typed = typed_by(r, values[0])))
        diag_fix(r->diags, diag, typed->dtype_span, dtype_name(b), "one type for both");
    return false;
}

static bool resolve_gemm(Resolver *r, const DefOp *op, Shape *shape)
{
    if (!shape_gemm(r, op, shape) || !types_agree(r, op))
        return false;
    say_rounded(r, op);
    return true;
}

static bool resolve_class(Resolver *r, DefOp *op, Shape *shape)
{
    switch (op_info(op->op)->class) {
    case OPC_ELEMENT: return resolve_element(r, op, shape);
    case OPC_ROW_REDUCE: return shape_row_reduce(r, op, shape);
    case OPC_COL_REDUCE: return shape_col_reduce(r, op, shape);
    case OPC_GEMM: return resolve_gemm(r, op, shape);
    case OPC_SOFTMAX: return resolve_softmax(r, op, shape);
    case OPC_MASK: return resolve_mask(r, op, shape);
    case OPC_FILL: return resolve_fill(r, op, shape);
    case OPC_CAST: return resolve_cast(r, op, shape);
    case OPC_DEFINE: return resolve_define(r, op, shape);
    case OPC_GROUP_REDUCE: case OPC_REARRANGE: case OPC_SELECT: return shape_whole(r, op, shape);
    }
    return false;
}

/* ---- results ------------------------------------------------------------------------------ */

static const Expr *result_expr(const Stmt *stmt)
{
    if (stmt->result != RESULT_NONE && stmt->dest)
        return stmt->dest;
    return stmt->n_args > 0 ? stmt->args[0] : NULL;
}

static bool check_result_name(Resolver *r, const Stmt *stmt, const Expr *e, const Name *name)
{
    if (name && name->kind != NAME_TENSOR) {
        diag_add(r->diags, TW0235, e->span, "%s is %s and cannot be computed", e->name,
                 res_kind_text(name));
        return false;
    }
    if (name && name->tensor && name->tensor->is_input) {
        Diag *diag = diag_add(r->diags, TW0236, e->span, "%s is an input and keeps its value", e->name);

        diag_note(r->diags, diag, "give the result another name: `and get NAME`");
        return false;
    }
    if (stmt->result == RESULT_ACCUMULATE && !(name && (name->tensor || name->bad))) {
        diag_add(r->diags, TW0230, e->span, "%s has no value yet to accumulate to", e->name);
        return false;
    }
    if (stmt->result == RESULT_GET_NEW && !(name && (name->tensor || name->bad)))
        diag_add(r->diags, TW0241, e->span, "there is no %s to replace", e->name);
    return true;
}

/* What would have got a value is not to blame for having none. */
static Name *no_result(Resolver *r, const Expr *e)
{
    const char *base = expr_base_name(e);
    Name *name = base ? res_find(r, base) : NULL;

    if (name && name->kind == NAME_TENSOR && !name->tensor)
        name->bad = true;
    return NULL;
}

/* The name that takes the result; NULL on failure. */
static Name *result_name(Resolver *r, const Stmt *stmt)
{
    const Expr *e = result_expr(stmt);
    Name *name;

    if (!e || e->kind != EXPR_NAME) {
        diag_add(r->diags, e && stmt->result != RESULT_NONE ? TW0232 : TW0234, e ? e->span : stmt->span,
                 "the result needs a name: `and get NAME`");
        return no_result(r, e);
    }
    name = res_find(r, e->name);
    if (!check_result_name(r, stmt, e, name))
        return no_result(r, e);
    return name ? name : res_declare(r, NAME_TENSOR, e->name, e->span);
}

DefValue *res_new_value(Resolver *r, const char *name, DefOp *op, const Shape *shape)
{
    DefValue *value = arena_new_of(r->arena, DefValue);

    value->id = r->def->values.len;
    value->name = name;
    value->dtype = DT_F32;
    value->rank = shape->rank;
    memcpy(value->dims, shape->dims, sizeof value->dims);
    value->op = op;
    op->result = value;
    vec_push(r->arena, &r->def->values, value);
    vec_push(r->arena, &r->def->ops, op);
    return value;
}

/* X, new, = Add(X, value) */
static bool accumulate(Resolver *r, const Stmt *stmt, Name *name, DefValue *value)
{
    DefOp *op = arena_new_of(r->arena, DefOp);
    Shape old, sum;

    op->stmt = stmt;
    op->op = OP_ADD;
    op->n_args = 2;
    op->args[0].value = name->tensor;
    op->args[1].value = value;
    shape_of(name->tensor, &old);
    if (!shape_elementwise(r, op, &sum) || !shape_declared(r, stmt, name->name, &old, &sum))
        return false;
    name->tensor = res_new_value(r, name->name, op, &sum);
    return true;
}

static bool finish(Resolver *r, const Stmt *stmt, DefOp *op, Name *name, Shape *shape)
{
    Shape declared;
    DefValue *value;

    if (stmt->has_shape && op->op != OP_DEFINE) {
        if (!res_shape(r, stmt, &declared))
            return false;
        shape_settle(r, op, &declared, shape);
        if (!shape_declared(r, stmt, name->name, &declared, shape))
            return false;
    }
    value = res_new_value(r, name->name, op, shape);
    if (stmt->result == RESULT_ACCUMULATE)
        return accumulate(r, stmt, name, value);
    name->tensor = value;
    return true;
}

static bool known_operation(Resolver *r, const Stmt *stmt)
{
    const char *meant, *hint;
    Diag *diag;

    if (stmt->op_known)
        return true;
    hint = op_hint(stmt->op_name);
    meant = hint ? NULL : op_nearest(stmt->op_name);
    diag = diag_add(r->diags, TW0233, stmt->op_span, "there is no operation %s%s", stmt->op_name,
                    meant ? arena_printf(r->arena, "; did you mean %s?", meant) : "");
    if (hint)
        diag_note(r->diags, diag, "%s", hint);
    if (meant)
        diag_fix(r->diags, diag, stmt->op_span, meant, "write the operation that exists");
    return false;
}

bool res_room_left(Resolver *r, const Stmt *stmt)
{
    if (r->def->ops.len + 2 <= RES_MAX_OPS)
        return true;
    return res_too_long(r, stmt->span, "more than %d operations in one definition", RES_MAX_OPS);
}

static bool compute(Resolver *r, const Stmt *stmt, Name *name)
{
    DefOp *op = arena_new_of(r->arena, DefOp);
    OpClass class = op_info(stmt->op)->class;
    Shape shape;

    op->stmt = stmt;
    op->op = stmt->op;
    if (!right_count(r, stmt) || !clauses_fit(r, stmt, class) || !operands(r, op, class) || name->bad)
        return false;
    return resolve_class(r, op, &shape) && finish(r, stmt, op, name, &shape);
}

static bool is_tensor(Resolver *r, const Expr *e)
{
    const Name *name = e->kind == EXPR_NAME ? res_find(r, e->name) : NULL;

    return name && name->kind == NAME_TENSOR;
}

/* A number that only the launch knows. */
static bool is_of_launch(Resolver *r, const Expr *e)
{
    Diags *diags = r->diags;
    DefScalar scalar;

    r->diags = diags_new(r->arena, diags->source);
    bool known = res_scalar(r, e, &scalar);
    r->diags = diags;
    return known && !scalar.is_const;
}

/* `Where condition, S, number` is `Mask S where condition else number`; with the
 * number first, where the condition does not hold. */
static const Stmt *where_as_mask(Resolver *r, const Stmt *stmt)
{
    if (!stmt->op_known || stmt->op != OP_WHERE || stmt->n_args != 3 || stmt->where || stmt->otherwise ||
        !expr_is_condition(stmt->args[0]) || is_tensor(r, stmt->args[1]) == is_tensor(r, stmt->args[2]))
        return stmt;
    bool kept = is_tensor(r, stmt->args[1]);
    if (is_of_launch(r, stmt->args[kept ? 2 : 1]))
        return stmt;
    Stmt *mask = arena_new_of(r->arena, Stmt);
    *mask = *stmt;
    mask->op = OP_MASK;
    mask->op_name = op_info(OP_MASK)->name;
    mask->where = kept ? stmt->args[0] : expr_unary(r->arena, EO_NOT, stmt->args[0]);
    mask->otherwise = stmt->args[kept ? 2 : 1];
    mask->args = arena_array(r->arena, Expr *, 1);
    mask->args[0] = stmt->args[kept ? 1 : 2];
    mask->n_args = 1;
    return mask;
}

/* A mask's other number is compiled in; of one that the launch gives, the mask is `Where condition, S, number`. */
static const Stmt *mask_as_where(Resolver *r, const Stmt *stmt)
{
    if (!stmt->op_known || stmt->op != OP_MASK || stmt->n_args != 1 || !stmt->where || !stmt->otherwise ||
        !expr_is_condition(stmt->where) || !is_of_launch(r, stmt->otherwise))
        return stmt;
    Stmt *where = arena_new_of(r->arena, Stmt);
    *where = *stmt;
    where->op = OP_WHERE;
    where->op_name = op_info(OP_WHERE)->name;
    where->where = where->otherwise = NULL;
    where->args = arena_array(r->arena, Expr *, 3);
    where->args[0] = stmt->where;
    where->args[1] = stmt->args[0];
    where->args[2] = stmt->otherwise;
    where->n_args = 3;
    return where;
}

/* The size of a dimension as a definition may write it; NULL: it has no name. */
static Expr *dim_expr(Resolver *r, const DefDim *dim)
{
    int64_t size;

    if (dim->name)
        return expr_name(r->arena, dim->name);
    return aff_is_const(dim->size, &size) ? expr_int(r->arena, size) : NULL;
}

/* `Define NAME (shape) as condition`, of the shape that the two operands have together;
 * NULL: that cannot be written, or they do not fit. */
static const Stmt *condition_as_define(Resolver *r, const Stmt *where, const char *name)
{
    Stmt *define = arena_new_of(r->arena, Stmt);
    DefOp both = {.stmt = where, .op = OP_ADD, .n_args = 2};
    Shape shape;

    if (!operand(r, where, where->args[1], OPC_ELEMENT, &both.args[0]) || !operand(r, where, where->args[2], OPC_ELEMENT, &both.args[1]) ||
        !shape_elementwise(r, &both, &shape))
        return NULL;
    *define = (Stmt){.kind = STMT_COMPUTE, .span = where->span, .op = OP_DEFINE, .op_known = true, .op_span = where->op_span,
                     .op_name = op_info(OP_DEFINE)->name, .has_shape = true, .n_shape = shape.rank, .n_args = 1,
                     .value = where->args[0]};
    define->args = arena_array(r->arena, Expr *, 1);
    define->args[0] = expr_name(r->arena, name);
    define->args[0]->span = where->args[0]->span;
    define->shape = arena_array(r->arena, Expr *, shape.rank);
    for (int d = 0; d < shape.rank; d++) {
        define->shape[d] = dim_expr(r, &shape.dims[d]);
        if (!define->shape[d]) {
            diag_add(r->diags, TW0235, where->args[0]->span, "the elements that this condition is about lie along a dimension "
                     "without a name");
            return NULL;
        }
    }
    return define;
}

static const char *hidden_name(Resolver *r, const char *wanted)
{
    const char *name = wanted;

    for (int i = 2; res_find(r, name); i++)
        name = arena_printf(r->arena, "%s%d", wanted, i);
    return name;
}

/* `Where condition, A, B` of two tensors, or of one and a number of the launch: the condition becomes a tensor of its own. */
static const Stmt *where_of_tensors(Resolver *r, const Stmt *stmt)
{
    if (!stmt->op_known || stmt->op != OP_WHERE || stmt->n_args != 3 || !expr_is_condition(stmt->args[0]) ||
        (!is_tensor(r, stmt->args[1]) && !is_tensor(r, stmt->args[2])))
        return stmt;
    const char *name = hidden_name(r, "chosen");
    const Stmt *define = condition_as_define(r, stmt, name);
    if (!define || !res_compute(r, define))
        return NULL;
    Stmt *where = arena_new_of(r->arena, Stmt);
    *where = *stmt;
    where->args = arena_array(r->arena, Expr *, 3);
    where->args[0] = define->args[0];
    where->args[1] = stmt->args[1];
    where->args[2] = stmt->args[2];
    return where;
}

/* What reads its result later is not to blame. */
static bool no_value_of(Resolver *r, const Stmt *stmt)
{
    Name *name = result_name(r, stmt);

    if (name)
        name->bad |= !name->tensor;
    return false;
}

bool res_compute(Resolver *r, const Stmt *written)
{
    const Stmt *stmt = where_of_tensors(r, where_as_mask(r, mask_as_where(r, written)));
    if (!stmt)
        return no_result(r, result_expr(written)) != NULL;

    bool along, along_fits = res_along(r, stmt, &along);
    if (along)
        return along_fits || no_value_of(r, written);

    bool known = known_operation(r, stmt), first;
    Name *name = res_room_left(r, stmt) ? result_name(r, stmt) : NULL;

    if (!name)
        return false;
    first = !name->tensor;
    if (known && compute(r, stmt, name))
        return true;
    name->bad |= first; /* what reads it later is not to blame */
    return false;
}
