/* elem.c: resolves an expression for the elements of a tensor, into postfix code.
 *
 * Names become what they stand for there: an Index a coordinate along the axis
 * with its dimension's name, a dimension its size (alone between the brackets
 * of an element access: the element's own coordinate), a Param a number or a
 * launch-time parameter, a Let its expression. See elem.h.
 */
#include "ref/resolve.h"

#include <math.h>

typedef struct Builder {
    Resolver *r;
    DefElem *elem;
    const Shape *context; /* NULL: a scalar */
    DefOp *op;            /* collects the tensors that are read; NULL with a scalar */
    int stack;
} Builder;

static bool emit_expr(Builder *b, const Expr *e);

/* ---- operators and functions of numbers ---------------------------------------------- */

static double floor_quotient(double a, double b)
{
    return floor(a / b);
}

double elem_operator(ExprOp op, double a, double b)
{
    switch (op) {
    case EO_NEG: return -a;
    case EO_NOT: return a == 0;
    case EO_ADD: return a + b;
    case EO_SUB: return a - b;
    case EO_MUL: return a * b;
    case EO_DIV: return a / b;
    case EO_IDIV: return floor_quotient(a, b);
    case EO_MOD: return a - floor_quotient(a, b) * b;
    case EO_POW: return pow(a, b);
    case EO_LT: return a < b;
    case EO_LE: return a <= b;
    case EO_GT: return a > b;
    case EO_GE: return a >= b;
    case EO_EQ: return a == b;
    case EO_NE: return a != b;
    case EO_AND: return a != 0 && b != 0;
    case EO_OR: return a != 0 || b != 0;
    }
    return NAN;
}

bool elem_function(const char *name, int n_args, OpId *fn)
{
    if (!op_find(name, fn) || op_info(*fn)->class != OPC_ELEMENT)
        return false;
    return op_info(*fn)->arity == n_args || ((*fn == OP_MAX || *fn == OP_MIN) && n_args > 2);
}

double elem_call(OpId fn, const double *args)
{
    int arity = op_info(fn)->arity;

    return op_eval(fn, args[0], arity > 1 ? args[1] : 0, arity > 2 ? args[2] : 0);
}

/* ---- nodes ------------------------------------------------------------------------------ */

/* Adds a node that takes n_args from the stack and leaves one. */
static bool emit(Builder *b, const Expr *e, ElemNode node)
{
    if (b->elem->nodes.len == ELEM_MAX_NODES || b->stack - node.n_args >= ELEM_MAX_DEPTH)
        return res_too_long(b->r, e->span, "the expression has more than %d parts", ELEM_MAX_NODES);
    vec_push(b->r->arena, &b->elem->nodes, node);
    b->stack += 1 - node.n_args;
    if (b->stack > b->elem->depth)
        b->elem->depth = b->stack;
    return true;
}

static bool emit_number(Builder *b, const Expr *e, double number)
{
    return emit(b, e, (ElemNode){.kind = ELEM_NUMBER, .number = number});
}

static bool wrong_kind(Builder *b, const Expr *e, const char *what)
{
    diag_add(b->r->diags, TW0235, e->span, "%s", what);
    return false;
}

/* ---- positions ------------------------------------------------------------------------------ */

/* The axis of the tensor at hand with this dimension's name; -1: none, -2: several. */
static int context_axis(const Builder *b, const char *dim)
{
    int axis = -1;

    for (int d = 0; b->context && d < b->context->rank; d++)
        if (b->context->dims[d].name && strcmp(b->context->dims[d].name, dim) == 0)
            axis = axis == -1 ? d : -2;
    return axis;
}

/* Two dimensions of one name: the order of its positions tells them apart. */
static int axis_of_side(const Builder *b, const char *dim, IndexSide side)
{
    int axes[2] = {-1, -1}, n = 0;

    for (int d = 0; d < b->context->rank; d++)
        if (b->context->dims[d].name && strcmp(b->context->dims[d].name, dim) == 0 && n++ < 2)
            axes[n - 1] = d;
    if (n != 2 || side == INDEX_UNSAID)
        return -2;
    return axes[side == INDEX_COLS];
}

static bool no_axis(Builder *b, const Expr *e, const char *dim, int axis)
{
    Diag *diag;

    if (!b->context)
        return wrong_kind(b, e, arena_printf(b->r->arena, "%s is a position; it has a value only in a "
                                             "Mask's condition or a Define", e->name));
    if (axis == -2) {
        diag = diag_add(b->r->diags, TW0240, e->span, "%s is ambiguous: two dimensions of %s are %s",
                        e->name, shape_text(b->r->arena, b->context), dim);
        if (axis_of_side(b, dim, INDEX_ROWS) < b->context->rank - 2) {
            diag_note(b->r->diags, diag, "declare two positions over %s, the first is that along the first of them; or give "
                                         "the dimensions different names", dim);
            return false;
        }
        diag_note(b->r->diags, diag, "declare a position for each, `Index row over %s` and `Index col over %s`, or "
                                     "give the dimensions different names", dim, dim);
        if (!res_find(b->r, "col") && !res_find(b->r, "row"))
            diag_fix(b->r->diags, diag, e->span, "col", "the place along the columns; row is that along the rows");
    } else {
        diag = diag_add(b->r->diags, TW0240, e->span, "%s is a position along %s, which %s does not have",
                        e->name, dim, shape_text(b->r->arena, b->context));
    }
    return false;
}

static bool emit_index(Builder *b, const Expr *e, const Name *name)
{
    int axis = context_axis(b, name->over);
    int64_t from;

    if (axis == -2)
        axis = axis_of_side(b, name->over, index_side(&b->r->unit->body, name->name, name->over));
    ElemNode node = {.kind = ELEM_AXIS, .axis = axis, .size = name->size};
    if (axis < 0)
        return no_axis(b, e, name->over, axis);
    if (aff_is_const(name->size, &from) && from == 0)
        node.size = NULL;
    return emit(b, e, node);
}

/* Along the last two dimensions; -1: there is none. */
static int axis_of_row_col(const Builder *b, const char *name)
{
    return b->context ? b->context->rank - (text_equal_nocase(name, "row") ? 2 : 1) : -1;
}

/* row and col, alone or as row(S): coordinates along the last two dimensions */
static bool emit_row_col(Builder *b, const Expr *e)
{
    int axis = axis_of_row_col(b, e->name);

    if (axis < 0)
        return wrong_kind(b, e, arena_printf(b->r->arena, "%s has no value here: it is the coordinate of "
                                             "an element in its matrix", e->name));
    return emit(b, e, (ElemNode){.kind = ELEM_AXIS, .axis = axis});
}

static bool is_row_col(const char *name)
{
    return text_equal_nocase(name, "row") || text_equal_nocase(name, "col");
}

/* ---- names ------------------------------------------------------------------------------------ */

static bool emit_let(Builder *b, const Expr *e, Name *name)
{
    bool ok;

    if (!res_enter(b->r, name, e->span))
        return false;
    ok = emit_expr(b, name->value);
    res_leave(b->r, name);
    return ok;
}

static bool emit_param(Builder *b, const Expr *e, Name *name)
{
    int index;

    if (name->size)
        return emit(b, e, (ElemNode){.kind = ELEM_SIZE, .size = name->size});
    index = res_launch_param(b->r, name);
    return index >= 0 && emit(b, e, (ElemNode){.kind = ELEM_PARAM, .param = index});
}

static bool emit_name(Builder *b, const Expr *e)
{
    Name *name = res_find(b->r, e->name);
    double value;

    if (!name && is_row_col(e->name))
        return emit_row_col(b, e);
    if (!name) {
        res_undefined(b->r, e->name, e->span);
        return false;
    }
    if (name->bad)
        return false;
    if (res_known_name(b->r, name, &value))
        return emit_number(b, e, value);
    switch (name->kind) {
    case NAME_DIM: return emit(b, e, (ElemNode){.kind = ELEM_SIZE, .size = name->size});
    case NAME_PARAM: return emit_param(b, e, name);
    case NAME_LET: return emit_let(b, e, name);
    case NAME_INDEX: return emit_index(b, e, name);
    case NAME_TENSOR: break;
    }
    Diag *diag = diag_add(b->r->diags, TW0235, e->span, "%s is a tensor; an element of it is %s[...]", name->name, name->name);
    diag_fix(b->r->diags, diag, (Span){e->span.end, e->span.end}, "[...]", "the element's own");
    return false;
}

/* ---- elements of tensors -------------------------------------------------------------------------- */

/* The element's own coordinate along an axis of the tensor that is read: the
 * axes are aligned from the right, and consecutive entries may share one. */
static bool emit_own(Builder *b, const Expr *e, const DefValue *value, int axis)
{
    int own = b->context->rank - value->rank + axis;
    ElemNode node = {.kind = ELEM_AXIS, .axis = own};
    const DefDim *of, *by = &value->dims[axis];

    if (own < 0) {
        diag_add(b->r->diags, TW0327, e->span, "%s has more dimensions than %s",
                 def_shape_text(b->r->arena, value), shape_text(b->r->arena, b->context));
        return false;
    }
    of = &b->context->dims[own];
    if (shape_is_one(by))
        return emit_number(b, e, 0);
    if (!shape_same_size(of, by)) {
        node.share_of = of->size;
        node.share_by = by->size;
    }
    return emit(b, e, node);
}

/* Whether the tensor's dimensions behind an axis are the element's own ones there: then the
 * axis stands beside the one that it shares entries with, as kv_heads beside q_heads. A last
 * axis does so where nothing of the element is left out. */
static bool stands_beside(const Builder *b, const DefValue *value, int axis)
{
    int shift = b->context->rank - value->rank;

    for (int i = axis + 1; i < value->rank; i++) {
        const DefDim *of = i + shift >= 0 ? &b->context->dims[i + shift] : NULL, *by = &value->dims[i];

        if (!of || (!shape_is_one(by) && of->name && by->name && strcmp(of->name, by->name) != 0))
            return false;
    }
    return axis + 1 < value->rank || shift == 0;
}

/* The name of a dimension alone is the element's own coordinate along it. */
static bool emit_dim_coordinate(Builder *b, const Expr *e, const DefValue *value, int axis)
{
    int own = context_axis(b, e->name);

    if (own >= 0)
        return emit(b, e, (ElemNode){.kind = ELEM_AXIS, .axis = own});
    if (own == -1 && value->dims[axis].name && strcmp(value->dims[axis].name, e->name) == 0 && stands_beside(b, value, axis))
        return emit_own(b, e, value, axis);
    return no_axis(b, e, e->name, own);
}

static bool emit_coordinate(Builder *b, const Expr *e, const DefValue *value, int axis)
{
    const Name *name = e->kind == EXPR_NAME ? res_find(b->r, e->name) : NULL;
    bool is_dim = name && (name->kind == NAME_DIM || (name->size && name->kind != NAME_INDEX));

    if (is_dim && (context_axis(b, e->name) != -1 || name->kind == NAME_DIM))
        return emit_dim_coordinate(b, e, value, axis);
    return emit_expr(b, e);
}

static bool wrong_coordinates(Builder *b, const Expr *e, const DefValue *value, int n)
{
    diag_add(b->r->diags, TW0327, e->span, "%d coordinate%s for %s", n, n == 1 ? "" : "s",
             def_shape_text(b->r->arena, value));
    return false;
}

/* `Ex[...]` of Ex (E), of an element along (E, M, N): it lies along N, the last, where E may have been meant. */
static void doubt_dots(Builder *b, const Expr *dots, const DefValue *value, int axis, int covered)
{
    int shift = b->context->rank - value->rank, other = -1;
    Str names = str_new(b->r->arena);
    bool all = true;

    for (int i = axis; i < axis + covered; i++) {
        const DefDim *by = &value->dims[i], *of = i + shift >= 0 ? &b->context->dims[i + shift] : NULL;
        int own = by->name ? context_axis(b, by->name) : -1;
        if (own >= 0 && own != i + shift && !shape_is_one(by) && (!of || !of->name || strcmp(of->name, by->name) != 0))
            other = i;
        all &= own >= 0;
        str_printf(&names, "%s%s", i > axis ? ", " : "", by->name ? by->name : "");
    }
    if (other < 0)
        return;
    const DefDim *of = other + shift >= 0 ? &b->context->dims[other + shift] : NULL;
    Diag *diag = diag_add(b->r->diags, TW0250, dots->span, "`...` goes along the last dimensions: %s of %s lies along %s of %s",
                          value->dims[other].name, def_shape_text(b->r->arena, value), of && of->name ? of->name : "another dimension",
                          shape_text(b->r->arena, b->context));
    if (all)
        diag_fix(b->r->diags, diag, dots->span, str_text(&names), "the element's own places along its dimensions");
}

/* A number that is written for a coordinate; false: it is something else. */
static bool written_number(const Expr *e, int64_t *number)
{
    bool negative = e->kind == EXPR_UNARY && e->op == EO_NEG;
    const Expr *digits = negative ? e->a : e;

    *number = negative ? -digits->i : digits->i;
    return digits->kind == EXPR_INT;
}

/* What the element's own place is called along the one dimension of the tensor at hand that has this size; NULL: there is none,
 * or it has no name. */
static const char *own_place(const Builder *b, int64_t size)
{
    int64_t known;
    int axis = -1;

    for (int d = 0; d < b->context->rank; d++)
        if (aff_is_const(b->context->dims[d].size, &known) && known == size)
            axis = axis == -1 ? d : -2;
    return axis < 0 ? NULL : axis == b->context->rank - 1 ? "col" : axis == b->context->rank - 2 ? "row" : NULL;
}

/* What else may have been meant by a number that no entry has, of a dimension of `size`, or -1, which nobody knows. */
static void say_instead(Builder *b, Diag *diag, const Expr *e, const DefDim *dim, int64_t number, int64_t size)
{
    const char *place = number >= 0 ? own_place(b, size) : NULL, *last = NULL;

    if (number < 0 && size + number >= 0)
        last = arena_printf(b->r->arena, "%lld", (long long)(size + number));
    else if (number < 0 && size < 0 && dim->name)
        last = arena_printf(b->r->arena, "%s - %lld", dim->name, -(long long)number);
    if (place)
        diag_fix(b->r->diags, diag, e->span, place, "the element's own place");
    else if (last)
        diag_fix(b->r->diags, diag, e->span, last, "counted from the end");
    else if (number >= 0)
        diag_note(b->r->diags, diag, "a name alone is the element's own place: declare `Param heads = %lld`, say, and write it in place of "
                  "that number in shapes and here", (long long)size);
}

/* `Q[b, n, 8, col]` of a dimension of 8, whose name alone would be the element's own place, and `X[-1]`, elsewhere the last. */
static void doubt_place(Builder *b, const Expr *e, const DefValue *value, int axis)
{
    const DefDim *dim = &value->dims[axis];
    int64_t number, size = -1;

    if (!written_number(e, &number) || (number >= 0 && (!aff_is_const(dim->size, &size) || number < size)))
        return;
    bool known = aff_is_const(dim->size, &size);
    const char *last = known ? arena_printf(b->r->arena, ", whose last is %lld", (long long)size - 1) : "";
    Diag *diag = diag_add(b->r->diags, TW0251, e->span, "%s has no entry %lld along that dimension%s: all that is read is 0",
                          def_shape_text(b->r->arena, value), (long long)number, last);
    say_instead(b, diag, e, dim, number, known ? size : -1);
}

static bool emit_coordinates(Builder *b, const Expr *e, const DefValue *value)
{
    int axis = 0, dots = 0;

    for (int i = 0; i < e->n_args; i++)
        dots += e->args[i]->kind == EXPR_ELLIPSIS;
    if (dots > 1 || (dots ? e->n_args - 1 > value->rank : e->n_args != value->rank))
        return wrong_coordinates(b, e, value, e->n_args);
    for (int i = 0; i < e->n_args; i++) {
        int covered = e->args[i]->kind == EXPR_ELLIPSIS ? value->rank - (e->n_args - 1) : 0;

        if (e->args[i]->kind != EXPR_ELLIPSIS) {
            doubt_place(b, e->args[i], value, axis);
            if (!emit_coordinate(b, e->args[i], value, axis++))
                return false;
        }
        if (covered > 0)
            doubt_dots(b, e->args[i], value, axis, covered);
        while (covered-- > 0)
            if (!emit_own(b, e->args[i], value, axis++))
                return false;
    }
    return true;
}

static void add_read(Builder *b, const Name *name)
{
    for (int i = 0; i < b->op->reads.len; i++)
        if (b->op->reads.data[i].value == name->tensor)
            return;
    vec_push(b->r->arena, &b->op->reads, (DefRead){name->name, name->tensor});
}

static bool emit_read(Builder *b, const Expr *e)
{
    const Name *name = e->a->kind == EXPR_NAME ? res_find(b->r, e->a->name) : NULL;

    if (e->a->kind == EXPR_NAME && !name) {
        res_undefined(b->r, e->a->name, e->a->span);
        return false;
    }
    if (!name || name->kind != NAME_TENSOR)
        return wrong_kind(b, e->a, "only a tensor has elements");
    if (!b->context)
        return wrong_kind(b, e, "an element of a tensor where a number is wanted");
    if (!name->tensor) {
        if (!name->bad)
            diag_add(b->r->diags, TW0230, e->a->span, "%s has no value yet", name->name);
        return false;
    }
    if (!emit_coordinates(b, e, name->tensor))
        return false;
    add_read(b, name);
    b->elem->n_reads++;
    return emit(b, e, (ElemNode){.kind = ELEM_READ, .value = name->tensor, .n_args = name->tensor->rank});
}

/* ---- expressions ---------------------------------------------------------------------------------------- */

static bool emit_call(Builder *b, const Expr *e)
{
    ElemNode node = {.kind = ELEM_CALL, .n_args = e->n_args};

    if (is_row_col(e->name) && e->n_args <= 1)
        return emit_row_col(b, e);
    if (!elem_function(e->name, e->n_args, &node.fn)) {
        diag_add(b->r->diags, TW0233, e->span, "there is no function %s of %d argument%s", e->name,
                 e->n_args, e->n_args == 1 ? "" : "s");
        return false;
    }
    node.n_args = op_info(node.fn)->arity;
    for (int i = 0; i < e->n_args; i++)
        if (!emit_expr(b, e->args[i]) || (i + 1 >= node.n_args && !emit(b, e, node))) /* of more, one after the other */
            return false;
    return true;
}

/* Two positions that are compared lie along one dimension: that is the same for all elements. */
static bool doubt_positions(Builder *b, const Expr *e)
{
    int n = b->elem->nodes.len;
    const ElemNode *x = n > 1 ? &b->elem->nodes.data[n - 2] : NULL, *y = x ? x + 1 : NULL;
    bool compares = e->op >= EO_LT && e->op <= EO_NE && e->a->kind == EXPR_NAME && e->b->kind == EXPR_NAME;

    if (!compares || !x || x->kind != ELEM_AXIS || y->kind != ELEM_AXIS || x->axis != y->axis || strcmp(e->a->name, e->b->name) == 0)
        return true;
    Diag *diag = diag_add(b->r->diags, TW0250, e->span, "the condition is the same for all elements: %s and %s are positions along one "
                          "dimension of %s", e->a->name, e->b->name, shape_text(b->r->arena, b->context));
    diag_note(b->r->diags, diag, "rows have a position along the dimension that the rows run along, columns one along the other");
    return true;
}

static bool emit_expr(Builder *b, const Expr *e)
{
    switch (e->kind) {
    case EXPR_INT: return emit_number(b, e, (double)e->i);
    case EXPR_FLOAT: return emit_number(b, e, e->f);
    case EXPR_NAME: return emit_name(b, e);
    case EXPR_CALL: return emit_call(b, e);
    case EXPR_INDEX: return emit_read(b, e);
    case EXPR_UNARY:
        return emit_expr(b, e->a) &&
               emit(b, e, (ElemNode){.kind = ELEM_OPERATOR, .op = e->op, .n_args = 1});
    case EXPR_BINARY:
        return emit_expr(b, e->a) && emit_expr(b, e->b) && doubt_positions(b, e) &&
               emit(b, e, (ElemNode){.kind = ELEM_OPERATOR, .op = e->op, .n_args = 2});
    case EXPR_TRANSPOSE: return wrong_kind(b, e, "a transposed tensor where a number is wanted");
    case EXPR_SPACE: return wrong_kind(b, e, "a definition has no memory spaces");
    case EXPR_RANGE: return wrong_kind(b, e, "a range where a coordinate is wanted");
    case EXPR_ELLIPSIS: return wrong_kind(b, e, "`...` stands only between the brackets of an element");
    case EXPR_WORDS: return wrong_kind(b, e, "a definition needs an expression here, not words");
    }
    return false;
}

/* ---- sizes for places ------------------------------------------------------------------------------------ */

static bool varies_along(const Builder *b, int axis)
{
    for (int i = 0; i < b->elem->nodes.len; i++)
        if (b->elem->nodes.data[i].kind == ELEM_AXIS && b->elem->nodes.data[i].axis == axis)
            return true;
    return false;
}

/* A coordinate's arithmetic: of rows and columns, which row and col say, sizes are meant but where they are taken apart. */
typedef enum Within { NO_COORDINATE, COORDINATE, APART } Within;

/* Within a coordinate the name of a dimension is its size, while nothing says the place along it:
 * `X[b, row, heads * D + col]` is the same for all heads, `X[Table[b, len div page]]` for all of len. */
static void doubt_sizes(Builder *b, const Expr *e, Within within)
{
    int axis = e->kind == EXPR_NAME && within ? context_axis(b, e->name) : -1;
    bool apart = within && e->kind == EXPR_BINARY && (e->op == EO_IDIV || e->op == EO_MOD);

    if (axis >= 0 && (axis < b->context->rank - 2 || within == APART) && !shape_is_one(&b->context->dims[axis]) && !varies_along(b, axis)) {
        Diag *diag = diag_add(b->r->diags, TW0249, e->span, "%s is the size of the dimension here: every entry along it is "
                              "the same", e->name);
        diag_note(b->r->diags, diag, "the place along it is that of an Index: `Index i over %s`, and i in place of %s", e->name,
                  e->name);
    }
    if (e->a)
        doubt_sizes(b, e->a, apart && e->a->kind == EXPR_NAME ? APART : within);
    if (e->b)
        doubt_sizes(b, e->b, within);
    for (int i = 0; i < e->n_args; i++)
        doubt_sizes(b, e->args[i], e->kind != EXPR_INDEX ? within : e->args[i]->kind == EXPR_BINARY ? COORDINATE : NO_COORDINATE);
}

/* Whether some name in an expression is that of a dimension of the tensor at hand. */
static bool context_size(const Builder *b, const Expr *e)
{
    return e && ((e->kind == EXPR_NAME && context_axis(b, e->name) >= 0) || context_size(b, e->a) || context_size(b, e->b));
}

/* A condition of sizes alone is the same for all elements. */
static void doubt_condition(Builder *b, const Expr *e)
{
    const Expr *size = e;

    for (int d = 0; d < b->elem->rank; d++)
        if (varies_along(b, d))
            return;
    while (size && !(size->kind == EXPR_NAME && context_axis(b, size->name) >= 0))
        size = size->kind == EXPR_BINARY ? (context_size(b, size->a) ? size->a : size->b) : NULL;
    if (!size || expr_reads(e, NULL))
        return;
    Diag *diag = diag_add(b->r->diags, TW0249, e->span, "the condition is the same for all elements: %s is the size of the dimension", size->name);
    diag_note(b->r->diags, diag, "the place along it is that of an Index: `Index i over %s`, and i in place of %s", size->name, size->name);
}

/* The one dimension by a name along which nothing varies; -1: there is none, or more. */
static int axis_left_out(const Builder *b)
{
    int left = -1;

    for (int d = 0; d < b->context->rank; d++)
        if (!shape_is_one(&b->context->dims[d]) && !varies_along(b, d)) {
            if (left >= 0 || !b->context->dims[d].name)
                return -1;
            left = d;
        }
    return left;
}

/* The axis whose place a coordinate says as `row` or `col`, or by the dimension's name; -1: neither. */
static int axis_said(const Builder *b, const Expr *e, bool by_name)
{
    if (e->kind != EXPR_NAME || is_row_col(e->name) == by_name)
        return -1;
    if (by_name)
        return context_axis(b, e->name);
    return res_find(b->r, e->name) ? -1 : axis_of_row_col(b, e->name);
}

/* `Define Y (len, heads, D) as X[heads, row, col]`: `row` is the place along the heads once more, and nothing says that along `len`. */
static void doubt_said_twice(Builder *b, const Expr *e, int left)
{
    if (e->a)
        doubt_said_twice(b, e->a, left);
    if (e->b)
        doubt_said_twice(b, e->b, left);
    for (int i = 0; i < e->n_args; i++)
        doubt_said_twice(b, e->args[i], left);
    for (int i = 0; e->kind == EXPR_INDEX && i < e->n_args; i++) {
        int axis = axis_said(b, e->args[i], false);

        for (int k = 0; axis >= 0 && k < e->n_args; k++) {
            if (axis_said(b, e->args[k], true) != axis)
                continue;
            const char *meant = b->context->dims[left].name;
            Diag *diag = diag_add(b->r->diags, TW0252, e->args[i]->span, "%s is the place along %s, as %s is: every entry along %s is the same",
                                  e->args[i]->name, e->args[k]->name, e->args[k]->name, meant);
            diag_fix(b->r->diags, diag, e->args[i]->span, meant, "the place along the dimension that is left out");
            break;
        }
    }
}

const DefElem *res_elem(Resolver *r, const Expr *e, const Shape *context, DefOp *op)
{
    Builder b = {.r = r, .context = context, .op = op};

    b.elem = arena_new_of(r->arena, DefElem);
    b.elem->rank = context ? context->rank : 0;
    if (!emit_expr(&b, e))
        return NULL;
    if (op && op->op == OP_DEFINE) {
        int left = axis_left_out(&b);

        doubt_sizes(&b, e, NO_COORDINATE);
        if (left >= 0)
            doubt_said_twice(&b, e, left);
    }
    if (op && op->op == OP_MASK)
        doubt_condition(&b, e);
    return b.elem;
}
