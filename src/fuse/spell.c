/* spell.c: operations on whole tensors, spelled out in operations on elements and rows.
 *
 *   GEMM X, w of one column              RowSum of X * w.T
 *   Reshape X and get Y (b, L * D)       Define Y (b, L * D) as X[b, col div D, col % D]
 *   Unfold X over L by n step m          Define Y (b, blocks, n, D) as X[b, block * m + row, col]
 *   GroupSum X over L to E, a few each   Define Y (b, E, D) as X[b, row * 2, col] + X[b, row * 2 + 1, col]
 *   likewise, of many                    the groups as a last dimension, their RowSum, and its column
 *   TopK X, k                            k times: where each row is largest, first; taken out of the row
 *   likewise, k open or large            a Define of what comes before each element, its sum, a Define that compares
 *
 * The elements are those of the definition executor (ref/arrange.c), which shares none of
 * this. What has no such spelling is left as it is.
 *
 * Vocabulary
 *   place   an element's own coordinate along a dimension of its tensor, as an expression
 */
#include "fuse/flow.h"

#include <math.h>

enum { MOST_CHOSEN = 64, FEW = 16, MOST_RANK = 8 };

typedef struct Speller {
    Arena *arena;
    Syms *syms;
    Remade remade;
    Def *def;        /* that is made */
    int fresh;
    VEC(DefDim) given; /* names of leading dimensions that would have another one's */
    const DefOp *op; /* that is being spelled */
    bool through;    /* elements that it reads may be worked out in several steps (elsewhere.c) */
    bool worked_out; /* some were */
    ElementReads reads; /* of these */
} Speller;

/* ---- values ------------------------------------------------------------------------------ */

static DefValue *add_value(Speller *s, const char *name)
{
    DefValue *value = arena_new_of(s->arena, DefValue);

    *value = (DefValue){.id = s->def->values.len, .name = name, .dtype = DT_F32};
    vec_push(s->arena, &s->def->values, value);
    return value;
}

static const char *fresh_name(Speller *s, const char *what)
{
    Flow flow = {.arena = s->arena, .syms = s->syms, .def = s->def};

    return flow_fresh(&flow, arena_printf(s->arena, "%s_%s%d", s->op->result->name, what, ++s->fresh));
}

/* The statement, for its place in the source; its operands are not those of the operation. */
static const Stmt *place_of(Speller *s)
{
    Stmt *stmt = arena_new_of(s->arena, Stmt);

    *stmt = *s->op->stmt;
    stmt->n_args = 0;
    return stmt;
}

static DefOp *add_op(Speller *s, OpId id, DefValue *result)
{
    DefOp *op = arena_new_of(s->arena, DefOp);

    *op = (DefOp){.stmt = place_of(s), .op = id, .result = result};
    result->op = op;
    vec_push(s->arena, &s->def->ops, op);
    return op;
}

static void add_arg(DefOp *op, DefValue *value)
{
    op->args[op->n_args++].value = value;
}

static void add_number(Speller *s, DefOp *op, double number)
{
    op->args[op->n_args++].scalar =
        (DefScalar){.is_const = true, .value = number, .expr = expr_float(s->arena, number)};
}

static DefValue *like(Speller *s, const DefValue *value, const char *name)
{
    DefValue *new = add_value(s, name);

    new->rank = value->rank;
    memcpy(new->dims, value->dims, sizeof new->dims);
    return new;
}

/* ---- places --------------------------------------------------------------------------------- */

static Expr *whole_number(Speller *s, int64_t n)
{
    return expr_int(s->arena, n);
}

static bool is_number(const Expr *e, int64_t n)
{
    return e->kind == EXPR_INT && e->i == n;
}

static Expr *plus(Speller *s, Expr *a, Expr *b)
{
    return is_number(a, 0) ? b : is_number(b, 0) ? a : expr_binary(s->arena, EO_ADD, a, b);
}

static Expr *times(Speller *s, Expr *a, Expr *b)
{
    if (is_number(a, 0) || is_number(b, 1))
        return a;
    return is_number(a, 1) || is_number(b, 0) ? b : expr_binary(s->arena, EO_MUL, a, b);
}

static Expr *divided(Speller *s, Expr *a, Expr *b)
{
    return is_number(a, 0) || is_number(b, 1) ? a : expr_binary(s->arena, EO_IDIV, a, b);
}

static Expr *left_over(Speller *s, Expr *a, Expr *b)
{
    return is_number(a, 0) ? a : is_number(b, 1) ? whole_number(s, 0) : expr_binary(s->arena, EO_MOD, a, b);
}

/* where(condition, a, b) */
static Expr *choice(Speller *s, Expr *condition, Expr *a, Expr *b)
{
    return flow_choice(s->arena, condition, a, b);
}

static Expr *size_of(Speller *s, const Aff *size)
{
    Flow flow = {.arena = s->arena, .syms = s->syms, .def = s->remade.from};

    for (int i = 0; i < s->remade.from->dims.len && !aff_is_const(size, NULL); i++)
        if (s->remade.from->dims.data[i].size == size)
            return expr_name(s->arena, s->remade.from->dims.data[i].name);
    return flow_dim_expr(&flow, (DefDim){size, NULL});
}

/* A position along a dimension, from its first element: one of the definition's, or a new one. */
static Expr *position_over(Speller *s, const char *dim)
{
    int64_t from;

    for (int i = 0; i < s->def->indices.len; i++) {
        const DefIndex *index = &s->def->indices.data[i];

        if (strcmp(index->over, dim) == 0 && aff_is_const(index->from, &from) && from == 0)
            return expr_name(s->arena, index->name);
    }
    Stmt *stmt = stmt_new(s->arena, STMT_INDEX);
    Flow flow = {.arena = s->arena, .syms = s->syms, .def = s->def};
    stmt->name = flow_fresh(&flow, arena_printf(s->arena, "%s_at", dim));
    stmt->over = dim;
    vec_push(s->arena, &s->remade.unit->body, stmt);
    vec_push(s->arena, &s->def->indices, ((DefIndex){stmt->name, dim, aff_const(s->def->aff, 0)}));
    return expr_name(s->arena, stmt->name);
}

/* A leading dimension that is a number, or made of others, gets a name, so that there are places
 * along it. */
static void name_number(Speller *s, DefDim *dim)
{
    Flow flow = {.arena = s->arena, .syms = s->syms, .def = s->def};
    Expr *value = dim->name ? NULL : size_of(s, dim->size);
    int64_t size;

    if (!value)
        return;
    Stmt *stmt = stmt_new(s->arena, STMT_LET);
    stmt->name = dim->name = flow_fresh(&flow, arena_printf(s->arena, "entries_%d", ++s->fresh));
    stmt->value = value;
    vec_push(s->arena, &s->remade.unit->body, stmt);
    vec_push(s->arena, &s->def->dims, ((DefDimSym){dim->name, dim->size, NULL}));
    if (aff_is_const(dim->size, &size))
        vec_push(s->arena, &s->def->consts, ((DefConst){dim->name, (double)size}));
}

/* A name that another value's leading dimension of the size was given, so that both have the same blocks; NULL: there is none, or
 * this value has it already. */
static const char *given_name(const Speller *s, const DefValue *value, const Aff *size)
{
    for (int i = 0; i < s->given.len; i++)
        if (s->given.data[i].size == size && def_axis(value, s->given.data[i].name) == -1)
            return s->given.data[i].name;
    return NULL;
}

/* A leading dimension with the name of another one gets its own. */
static void name_leading(Speller *s, DefValue *value)
{
    for (int k = 0; k < value->rank - 2; k++) {
        DefDim *dim = &value->dims[k];

        if (!dim->name || def_axis(value, dim->name) == k)
            continue;
        if ((dim->name = given_name(s, value, dim->size)))
            continue;
        name_number(s, dim);
        if (dim->name)
            vec_push(s->arena, &s->given, *dim);
    }
}

/* How many groups there are, where that is made of sizes that the launch gives: one name wherever
 * it is a size, as if the definition had one, so that later kernels can declare it. */
static void name_groups(Speller *s, DefValue *value, int axis)
{
    DefDim *dim = &value->dims[axis];

    for (int k = 0; k < value->rank; k++)
        if (dim->name || aff_is_const(dim->size, NULL) || (k != axis && value->dims[k].size == dim->size))
            return;
    for (int i = 0; i < s->def->dims.len && !dim->name; i++)
        if (s->def->dims.data[i].size == dim->size)
            dim->name = s->def->dims.data[i].name;
    name_number(s, dim);
    for (int i = 0; i < s->def->values.len; i++)
        for (int k = 0; k < s->def->values.data[i]->rank; k++)
            if (s->def->values.data[i]->dims[k].size == dim->size && !s->def->values.data[i]->dims[k].name)
                s->def->values.data[i]->dims[k].name = dim->name;
}

/* The place of an element of `value` along an axis. alone: as a coordinate of its own, where
 * a dimension's name is the element's place along it; else within arithmetic. NULL: there is
 * no way to write it. */
static Expr *place(Speller *s, DefValue *value, int axis, bool alone)
{
    DefDim *dim = &value->dims[axis];
    Expr **args;

    if (flow_is_one(*dim))
        return whole_number(s, 0);
    if (axis < value->rank - 2) {
        name_number(s, dim);
        if (!dim->name || def_axis(value, dim->name) != axis)
            return NULL;
        return alone ? expr_name(s->arena, dim->name) : position_over(s, dim->name);
    }
    args = arena_array(s->arena, Expr *, 1);
    args[0] = expr_name(s->arena, value->name);
    return expr_call(s->arena, axis == value->rank - 1 ? "col" : "row", args, 1);
}

/* X[at...] */
static Expr *read_at(Speller *s, const DefValue *x, Expr *const *at)
{
    Expr **args = arena_array(s->arena, Expr *, x->rank);

    for (int d = 0; d < x->rank; d++)
        args[d] = expr_copy(s->arena, at[d]);
    return expr_index(s->arena, expr_name(s->arena, x->name), args, x->rank);
}

/* `X[..., a]` with each coordinate written out; e itself, where there is no `...`; NULL: what the
 * dots stand for is not the element's own place, as where several heads share an entry. */
static const Expr *without_dots(Speller *s, const DefValue *of, const Expr *e)
{
    const DefValue *read = flow_read_value(of->op, e);
    int dots = -1, n = 0;

    for (int i = 0; i < e->n_args; i++)
        dots = e->args[i]->kind == EXPR_ELLIPSIS ? i : dots;
    if (dots < 0)
        return e;
    if (!read || read->rank > of->rank)
        return NULL;
    Expr **args = arena_array(s->arena, Expr *, read->rank + 1);
    for (int i = 0; i < dots; i++)
        args[n++] = e->args[i];
    for (; n < read->rank - (e->n_args - 1 - dots); n++) {
        const DefDim *dim = &of->dims[of->rank - read->rank + n];

        if (!dim->name || dim->size != read->dims[n].size || def_axis(of, dim->name) < 0)
            return NULL;
        args[n] = expr_name(s->arena, dim->name);
    }
    for (int i = dots + 1; i < e->n_args; i++)
        args[n++] = e->args[i];
    return expr_index(s->arena, e->a, args, n);
}

/* Whether `row` or `col` alone is the element's place, and no number, size or position that is called so. */
static bool is_own_place(const Speller *s, const Expr *e)
{
    const Block *body = &s->def->unit->body;

    if (e->kind != EXPR_NAME || !(text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col")) || def_dim(s->def, e->name))
        return false;
    for (int i = 0; i < body->len; i++)
        if ((body->data[i]->kind == STMT_LET || body->data[i]->kind == STMT_PARAM) && strcmp(body->data[i]->name, e->name) == 0)
            return false;
    return true;
}

/* A place as a number: a dimension's name is one only where it stands alone between brackets. */
static Expr *as_number(Speller *s, const Expr *at)
{
    bool is_size = at->kind == EXPR_NAME && def_dim(s->def, at->name) && !def_index(s->def, at->name);

    return is_size ? position_over(s, at->name) : expr_copy(s->arena, at);
}

static Expr *defined_at(Speller *s, const DefValue *x, const Expr *e, Expr *const *at, bool alone);

static bool parts_at(Speller *s, const DefValue *x, const Expr *e, Expr *const *at, Expr *copy)
{
    for (int i = 0; i < e->n_args; i++)
        if (!(copy->args[i] = defined_at(s, x, e->args[i], at, e->kind == EXPR_INDEX)))
            return false;
    if (e->a && e->kind != EXPR_INDEX && !(copy->a = defined_at(s, x, e->a, at, false)))
        return false;
    return !e->b || (copy->b = defined_at(s, x, e->b, at, false));
}

/* What a Define gives at these places: what it reads, there. NULL: it names a place that
 * has no such replacement. alone: between the brackets of an access, where a dimension's name is
 * a place. */
static Expr *defined_at(Speller *s, const DefValue *x, const Expr *e, Expr *const *at, bool alone)
{
    bool call = e->kind == EXPR_CALL && e->n_args == 1 && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"));
    int axis = -1;
    int64_t from = 0;

    if (e->kind == EXPR_NAME && alone)
        axis = def_axis(x, e->name);
    const DefIndex *index = e->kind == EXPR_NAME && axis < 0 ? def_index(s->def, e->name) : NULL;
    if (index) {
        axis = def_axis(x, index->over);
        if (axis < 0 || !aff_is_const(index->from, &from))
            return NULL;
    }
    if (axis < 0 && (call || is_own_place(s, e))) {
        axis = x->rank - (text_equal_nocase(e->name, "col") ? 1 : 2);
        if (axis < 0)
            return NULL;
    }
    if (axis >= 0)
        return from == 0 && alone ? expr_copy(s->arena, at[axis]) : plus(s, as_number(s, at[axis]), whole_number(s, from));
    e = e->kind == EXPR_INDEX ? without_dots(s, x, e) : e;
    Expr *copy = e && e->kind != EXPR_ELLIPSIS ? expr_copy(s->arena, e) : NULL;
    return copy && parts_at(s, x, e, at, copy) ? copy : NULL;
}

/* What a value is a function of, element by element, so that it need not be in memory where elements of it are read; NULL: of
 * no one value. */
static DefValue *function_of(const DefValue *x)
{
    bool one = x->op && op_info(x->op->op)->class == OPC_ELEMENT && x->op->n_args == 1;

    return one && x->op->args[0].value && !x->op->args[0].transposed && x->op->args[0].value->rank == x->rank ? x->op->args[0].value : NULL;
}

/* An output that is a column without its dimension of one, or what is computed with dimensions joined: it is stored as it is
 * (permute.c). */
static bool is_stored(const Speller *s, const DefValue *x)
{
    return s->op->op == OP_RESHAPE && s->op->result->is_output && (flow_is_vector(x) || (x->op && x->op->op != OP_DEFINE && !flow_is_made_by_element(x)));
}

/* Places that lie within X, as those of what is rearranged do. */
static Expr *element(Speller *s, const DefValue *x, Expr *const *at)
{
    Expr *seen = x->op && x->op->op == OP_DEFINE ? defined_at(s, x, x->op->where, at, false) : NULL;

    if (is_stored(s, x))
        return read_at(s, x, at);
    if (s->through && !s->reads.ambiguous && flow_is_made_by_element(x)) {
        Expr *made = flow_element(&s->reads, x, at);

        s->worked_out |= !s->reads.ambiguous;
        if (!s->reads.ambiguous)
            return made;
    }
    if (function_of(x)) {
        Expr **args = arena_array(s->arena, Expr *, 1);

        args[0] = element(s, function_of(x), at);
        return expr_call(s->arena, op_info(x->op->op)->name, args, 1);
    }
    return seen ? seen : read_at(s, x, at);
}

static void add_read(Speller *s, DefOp *op, DefRead read)
{
    if (expr_mentions(op->where, read.name))
        vec_push(s->arena, &op->reads, read);
}

/* What elements that were worked out are made of, which X itself may share a name with; else both what X is and what it reads,
 * as the expression mentions them. */
static void define(Speller *s, DefValue *result, DefValue *x, const Expr *as)
{
    DefOp *op = add_op(s, OP_DEFINE, result);

    op->where = as;
    for (int k = 0; !s->reads.ambiguous && k < s->reads.list.len; k++)
        add_read(s, op, s->reads.list.data[k]);
    s->reads = (ElementReads){.def = s->def};
    if (op->reads.len > 0)
        return;
    while (function_of(x) && !is_stored(s, x))
        x = function_of(x);
    add_read(s, op, (DefRead){x->name, x});
    bool through = op->reads.len == 0 && x->op && x->op->op == OP_DEFINE;
    for (int k = 0; through && k < x->op->reads.len; k++)
        add_read(s, op, x->op->reads.data[k]);
}

/* ---- Reshape ---------------------------------------------------------------------------------- */

/* Axes from..x_to of X are the same elements as from..y_to of Y; the axes around them are equal. */
typedef struct Differing {
    int from, x_to, y_to;
} Differing;

static Differing differing(const DefValue *x, const DefValue *y)
{
    Differing d = {0, x->rank, y->rank};

    while (d.from < x->rank && d.from < y->rank && x->dims[d.from].size == y->dims[d.from].size)
        d.from++;
    while (d.x_to > d.from && d.y_to > d.from && x->dims[d.x_to - 1].size == y->dims[d.y_to - 1].size) {
        d.x_to--;
        d.y_to--;
    }
    return d;
}

/* An element's place among all those of Y's axes that differ, row by row. */
static Expr *number_of(Speller *s, DefValue *y, const Differing *d)
{
    Expr *n = whole_number(s, 0);

    for (int k = d->from; k < d->y_to; k++) {
        Expr *size = size_of(s, y->dims[k].size), *at = place(s, y, k, false);

        if (!size || !at)
            return NULL;
        n = plus(s, times(s, n, size), at);
    }
    return n;
}

/* And from that number back along axis k of X. */
static Expr *along_axis(Speller *s, const DefValue *x, const Differing *d, int k, Expr *n)
{
    const Aff *below = aff_const(s->def->aff, 1);

    for (int i = k + 1; i < d->x_to; i++)
        below = aff_mul(s->def->aff, below, x->dims[i].size);
    Expr *step = size_of(s, below), *size = size_of(s, x->dims[k].size);
    if (!step || !size)
        return NULL;
    Expr *at = divided(s, expr_copy(s->arena, n), step);
    return k == d->from ? at : left_over(s, at, size);
}

static bool spell_reshape(Speller *s, DefValue *x, DefValue *y)
{
    Differing d = differing(x, y);
    Expr *at[MOST_RANK], *n = number_of(s, y, &d);

    for (int k = 0; n && k < x->rank; k++) {
        at[k] = k < d.from ? place(s, y, k, true)
                : k < d.x_to ? along_axis(s, x, &d, k, n)
                             : place(s, y, k - d.x_to + d.y_to, true);
        if (!at[k])
            return false;
    }
    if (n)
        define(s, y, x, element(s, x, at));
    return n != NULL;
}

/* ---- elements of what was reshaped ------------------------------------------------------------- */

/* What a formula reads of an input in another shape, as it is made here; NULL: it is none. */
static DefValue *reshaped(Speller *s, const Expr *e)
{
    const DefValue *read = flow_read_value(s->op, e);
    DefValue *made = read && read->op && read->op->op == OP_RESHAPE ? s->remade.made[read->id] : NULL;

    if (!made || !made->op || made->op->op != OP_DEFINE || e->n_args != made->rank)
        return NULL;
    for (int k = 0; k < made->op->reads.len; k++)
        if (made->op->reads.data[k].value->op)
            return NULL;
    return made;
}

/* The formula with elements of inputs for those; *some: it has any. NULL: places have no spelling. */
static Expr *through_reshapes(Speller *s, const Expr *e, bool *some)
{
    Expr *copy = expr_copy(s->arena, e);
    DefValue *x = reshaped(s, e);

    for (int i = 0; i < e->n_args; i++)
        if (!(copy->args[i] = through_reshapes(s, e->args[i], some)) || (x && e->args[i]->kind == EXPR_ELLIPSIS))
            return NULL;
    if (e->a && e->kind != EXPR_INDEX && !(copy->a = through_reshapes(s, e->a, some)))
        return NULL;
    if (e->b && !(copy->b = through_reshapes(s, e->b, some)))
        return NULL;
    *some |= x != NULL;
    return x ? defined_at(s, x, x->op->where, copy->args, false) : copy;
}

/* A Define of elements of a Reshape reads the tensor itself, as if the Reshape was not there. */
static bool spell_define(Speller *s, DefValue *y)
{
    bool some = false;
    Expr *where = through_reshapes(s, s->op->where, &some);

    if (!where || !some)
        return false;
    DefOp *op = add_op(s, OP_DEFINE, y);
    op->where = where;
    for (int k = 0; k < s->op->reads.len; k++) {
        DefValue *read = s->remade.made[s->op->reads.data[k].value->id];

        add_read(s, op, (DefRead){s->op->reads.data[k].name, read});
        for (int i = 0; read->op && read->op->op == OP_DEFINE && i < read->op->reads.len; i++)
            if (!expr_mentions(s->op->where, read->op->reads.data[i].name))
                add_read(s, op, read->op->reads.data[i]);
    }
    return true;
}

/* ---- Unfold ------------------------------------------------------------------------------------- */

static bool spell_unfold(Speller *s, DefValue *x, DefValue *y)
{
    int axis = s->op->axis;
    Expr *at[MOST_RANK], *step = size_of(s, s->op->step);

    name_groups(s, y, axis);
    for (int k = 0; k < x->rank; k++) {
        at[k] = place(s, y, k < axis ? k : k + 1, k != axis);
        Expr *block = k == axis ? place(s, y, axis, false) : NULL;
        if (!at[k] || !step || (k == axis && !block))
            return false;
        if (k == axis)
            at[k] = plus(s, times(s, block, step), at[k]);
    }
    define(s, y, x, element(s, x, at));
    return true;
}

/* ---- groups --------------------------------------------------------------------------------------- */

static Expr *of_few(Speller *s, Expr **parts, int n)
{
    Expr *sum = parts[0];

    if (s->op->op == OP_GROUP_MAX)
        return n == 1 ? sum : expr_call(s->arena, "max", parts, n);
    for (int i = 1; i < n; i++)
        sum = expr_binary(s->arena, EO_ADD, sum, parts[i]);
    return s->op->op == OP_GROUP_MEAN ? expr_binary(s->arena, EO_MUL, sum, expr_float(s->arena, 1 / (double)n)) : sum;
}

/* Few in each, one after the other. */
static bool spell_few(Speller *s, DefValue *x, DefValue *y, int n)
{
    int axis = s->op->axis;
    Expr *at[MOST_RANK], **parts = arena_array(s->arena, Expr *, n);

    for (int k = 0; k < x->rank; k++)
        if (!(at[k] = place(s, y, k, k != axis)))
            return false;
    Expr *first = times(s, at[axis], whole_number(s, n));
    for (int i = 0; i < n; i++) {
        at[axis] = plus(s, expr_copy(s->arena, first), whole_number(s, i));
        parts[i] = element(s, x, at);
    }
    define(s, y, x, of_few(s, parts, n));
    return true;
}

static OpId reduction_of(OpId group)
{
    return group == OP_GROUP_MAX ? OP_ROW_MAX : group == OP_GROUP_MEAN ? OP_ROW_MEAN : OP_ROW_SUM;
}

/* A group's entries as a last dimension: (..., E, ..., D, n). */
static DefValue *groups_last(Speller *s, DefValue *x, const DefValue *y, const Aff *n)
{
    int axis = s->op->axis;
    DefValue *t = like(s, y, fresh_name(s, "groups"));
    Expr *at[MOST_RANK], *size = size_of(s, n);
    bool whole = n == x->dims[axis].size && x->dims[axis].name && def_axis(y, x->dims[axis].name) == -1;

    if (y->rank >= MOST_RANK || !size)
        return NULL;
    t->dims[t->rank++] = (DefDim){n, whole ? x->dims[axis].name : NULL};
    name_leading(s, t);
    for (int k = 0; k < x->rank; k++)
        if (!(at[k] = place(s, t, k, k != axis)))
            return NULL;
    at[axis] = plus(s, times(s, at[axis], size), place(s, t, t->rank - 1, false));
    define(s, t, x, element(s, x, at));
    return t;
}

static bool spell_many(Speller *s, DefValue *x, DefValue *y, const Aff *n)
{
    DefValue *t = groups_last(s, x, y, n), *r;
    Expr *at[MOST_RANK];

    if (!t)
        return false;
    r = like(s, t, fresh_name(s, "reduced"));
    r->dims[r->rank - 1] = (DefDim){aff_const(s->def->aff, 1), NULL};
    add_arg(add_op(s, reduction_of(s->op->op), r), t);
    for (int k = 0; k < y->rank; k++)
        if (!(at[k] = place(s, y, k, true)))
            return false;
    at[y->rank] = whole_number(s, 0);
    define(s, y, r, element(s, r, at));
    return true;
}

/* How many each group has, where that is a number. */
static bool is_known(Speller *s, const Aff *all, const Aff *groups, int64_t *n)
{
    if (aff_is_const(aff_div(s->def->aff, all, groups), n))
        return true;
    for (*n = 1; *n <= FEW; ++*n)
        if (aff_scale(s->def->aff, groups, *n) == all)
            return true;
    return false;
}

static bool spell_group(Speller *s, DefValue *x, DefValue *y)
{
    const Aff *all = x->dims[s->op->axis].size, *groups = y->dims[s->op->axis].size;
    int64_t known;

    if (flow_is_one(y->dims[s->op->axis]) && s->op->axis == x->rank - 1) {
        add_arg(add_op(s, reduction_of(s->op->op), y), x);
        return true;
    }
    if (is_known(s, all, groups, &known) && known >= 1 && known <= FEW)
        return spell_few(s, x, y, (int)known);
    name_groups(s, y, s->op->axis);
    return spell_many(s, x, y, aff_div(s->def->aff, all, groups));
}

/* ---- TopK -------------------------------------------------------------------------------------------- */

static DefValue *places_of_columns(Speller *s, const DefValue *x)
{
    DefValue *at = add_value(s, fresh_name(s, "at"));

    at->rank = 1;
    at->dims[0] = x->dims[x->rank - 1];
    add_op(s, OP_DEFINE, at)->where = place(s, at, 0, false);
    return at;
}

static DefValue *reduced(Speller *s, OpId op, DefValue *x, const char *what)
{
    DefValue *r = like(s, x, fresh_name(s, what));

    r->dims[r->rank - 1] = (DefDim){aff_const(s->def->aff, 1), NULL};
    add_arg(add_op(s, op, r), x);
    return r;
}

static DefValue *equal(Speller *s, DefValue *a, DefValue *b, const DefValue *shape)
{
    DefValue *e = like(s, shape, fresh_name(s, "is"));
    DefOp *op = add_op(s, OP_EQUAL, e);

    add_arg(op, a);
    add_arg(op, b);
    return e;
}

/* What is left of `left` without the first of its largest elements in each row. */
static DefValue *without_largest(Speller *s, DefValue *left, DefValue *at)
{
    DefValue *is_largest = equal(s, left, reduced(s, OP_ROW_MAX, left, "max"), left);
    DefValue *where = like(s, left, fresh_name(s, "where"));
    DefOp *op = add_op(s, OP_WHERE, where);

    add_arg(op, is_largest);
    add_arg(op, at);
    add_number(s, op, INFINITY);
    DefValue *is_first = equal(s, at, reduced(s, OP_ROW_MIN, where, "first"), left);
    DefValue *rest = like(s, left, fresh_name(s, "left"));
    op = add_op(s, OP_WHERE, rest);
    add_arg(op, is_first);
    add_number(s, op, -INFINITY);
    add_arg(op, left);
    return rest;
}

/* 1 where an element at `other` comes before the one at `own`, which never comes where it is -inf. */
static Expr *comes_before(Speller *s, Expr *other, Expr *own, Expr *other_at, Expr *own_at)
{
    enum { NEVER = 1 << 30 };
    Expr *larger = expr_binary(s->arena, EO_GT, other, own);
    Expr *equal = expr_binary(s->arena, EO_EQ, expr_copy(s->arena, other), expr_copy(s->arena, own));
    Expr *first = expr_binary(s->arena, EO_AND, equal, expr_binary(s->arena, EO_LT, other_at, own_at));
    Expr *before = choice(s, expr_binary(s->arena, EO_OR, larger, first), whole_number(s, 1), whole_number(s, 0));
    Expr *masked = expr_binary(s->arena, EO_EQ, expr_copy(s->arena, own), expr_float(s->arena, -INFINITY));

    return choice(s, masked, whole_number(s, NEVER), before);
}

/* Of how many elements along the axis each comes behind: (..., n), to be summed. */
static DefValue *all_before(Speller *s, DefValue *x)
{
    int axis = s->op->axis;
    DefValue *t = like(s, x, fresh_name(s, "before"));
    Expr *own[MOST_RANK], *other[MOST_RANK];

    if (x->rank >= MOST_RANK)
        return NULL;
    t->dims[t->rank++] = (DefDim){x->dims[axis].size, axis == x->rank - 1 ? x->dims[axis].name : NULL};
    name_leading(s, t);
    for (int k = 0; k < x->rank; k++) {
        own[k] = place(s, t, k, true);
        other[k] = place(s, t, k == axis ? x->rank : k, true);
        if (!own[k] || !other[k])
            return NULL;
    }
    Expr *own_at = place(s, t, axis, false), *other_at = place(s, t, x->rank, false);
    Expr *there = element(s, x, other), *here = element(s, x, own);
    define(s, t, x, comes_before(s, there, here, other_at, own_at));
    return t;
}

/* However many, along whatever: those are chosen that fewer than k come before. */
static bool spell_ranked(Speller *s, DefValue *x, DefValue *y)
{
    DefValue *t = all_before(s, x), *r;
    Expr *at[MOST_RANK];

    if (!t)
        return false;
    r = reduced(s, OP_ROW_SUM, t, "rank");
    for (int k = 0; k < y->rank; k++)
        if (!(at[k] = place(s, y, k, true)))
            return false;
    at[y->rank] = whole_number(s, 0);
    Expr *k = expr_copy(s->arena, s->op->args[1].scalar.expr);
    define(s, y, r, choice(s, expr_binary(s->arena, EO_LT, element(s, r, at), k), whole_number(s, 1), whole_number(s, 0)));
    return true;
}

static bool spell_top(Speller *s, DefValue *x, DefValue *y)
{
    const DefScalar *k = &s->op->args[1].scalar;
    DefValue *left = x;
    int64_t n;

    if (s->op->axis != x->rank - 1 || !k->is_const)
        return spell_ranked(s, x, y);
    double rounds = aff_is_const(x->dims[x->rank - 1].size, &n) ? fmin(k->value, (double)n) : k->value;
    if (rounds > MOST_CHOSEN)
        return spell_ranked(s, x, y);
    int first = s->def->values.len;
    DefValue *at = places_of_columns(s, x);
    for (int i = 0; i < (int)rounds; i++)
        left = without_largest(s, left, at);
    for (int i = first; i < s->def->values.len; i++)
        s->def->values.data[i]->is_within = true;
    DefOp *op = add_op(s, OP_GREATER, y); /* chosen is what was taken out, and that was not -inf */
    add_arg(op, x);
    add_arg(op, left);
    return true;
}

/* ---- products with one column ------------------------------------------------------------------------------ */

/* Whether a product has one column: tensor cores have nothing to gain by it, and take no such tiles. */
static bool is_column(const DefOp *op)
{
    return op->op == OP_GEMM && op->result->rank >= 2 && op->args[0].value && op->args[1].value && !op->args[0].transposed &&
           flow_is_one(op->result->dims[op->result->rank - 1]);
}

/* Leading dimensions that are the result's, or 1: several do not share an entry. */
static bool leads_alike(const DefValue *x, const DefValue *y)
{
    for (int k = 3; k <= x->rank; k++)
        if (!flow_is_one(x->dims[x->rank - k]) && (k > y->rank || x->dims[x->rank - k].size != y->dims[y->rank - k].size))
            return false;
    return true;
}

/* As the product takes it. */
static DefValue *rounded(Speller *s, DefValue *x, DType type)
{
    if (x->op ? x->op->op == OP_CAST && x->op->cast == type : x->dtype == type)
        return x;
    DefValue *r = like(s, x, fresh_name(s, "rounded"));
    DefOp *op = add_op(s, OP_CAST, r);

    op->cast = type;
    add_arg(op, x);
    return r;
}

/* The column as a row. */
static DefValue *turned(Speller *s, DefValue *x)
{
    DefValue *t = like(s, x, fresh_name(s, "row"));
    Expr *at[MOST_RANK];
    int last = x->rank - 1;

    t->dims[last] = x->dims[last - 1];
    t->dims[last - 1] = (DefDim){x->dims[last].size, NULL}; /* whatever blocks go along a dimension of that name */
    name_leading(s, t);
    for (int k = 0; k < last - 1; k++)
        if (!(at[k] = place(s, t, k, true)))
            return NULL;
    at[last - 1] = place(s, t, last, true);
    at[last] = whole_number(s, 0);
    define(s, t, x, element(s, x, at));
    return t;
}

/* GEMM A, b  ->  RowSum of A * b.T, of what the product would multiply. */
static bool spell_column(Speller *s, DefValue *a, DefValue *y)
{
    DefValue *b = s->remade.made[s->op->args[1].value->id], *row;
    DType first = def_operand_type(s->remade.from, s->op, 0), second = def_operand_type(s->remade.from, s->op, 1);

    if (!leads_alike(a, y) || !leads_alike(b, y) || y->rank > MOST_RANK)
        return false;
    b = rounded(s, b, second);
    if (!(row = s->op->args[1].transposed ? b : turned(s, b)))
        return false;
    DefValue *t = like(s, y, fresh_name(s, "products"));
    t->dims[t->rank - 1] = a->dims[a->rank - 1];
    a = rounded(s, a, first);
    DefOp *op = add_op(s, OP_MULTIPLY, t);
    add_arg(op, a);
    add_arg(op, row);
    add_arg(add_op(s, OP_ROW_SUM, y), t);
    return true;
}

/* ---- the definition ------------------------------------------------------------------------------------- */

static bool spell(Speller *s, DefValue *x, DefValue *y)
{
    switch (op_info(s->op->op)->class) {
    case OPC_REARRANGE: return s->op->op == OP_RESHAPE ? spell_reshape(s, x, y) : spell_unfold(s, x, y);
    case OPC_GROUP_REDUCE: return spell_group(s, x, y);
    case OPC_SELECT: return spell_top(s, x, y);
    case OPC_GEMM: return spell_column(s, x, y);
    case OPC_ELEMENT: case OPC_CAST: case OPC_MASK: case OPC_DEFINE: case OPC_FILL: case OPC_ROW_REDUCE:
    case OPC_COL_REDUCE: case OPC_SOFTMAX:
        break;
    }
    return false;
}

static bool has_whole(const Def *def)
{
    for (int i = 0; i < def->ops.len; i++)
        if (op_is_whole(def->ops.data[i]->op) || is_column(def->ops.data[i]))
            return true;
    return false;
}

/* Whether elements that it reads are worked out there, in several steps: of groups, and of what is given another shape before more is
 * done with it. What is stored as it is may be a tile in another order (permute.c). */
static bool reads_through(const Def *def, const DefOp *op)
{
    bool groups = op_info(op->op)->class == OPC_GROUP_REDUCE;
    bool reshaped = op->op == OP_RESHAPE && !op->result->is_output && op->args[0].value && !flow_is_vector(op->args[0].value);

    return (groups || reshaped) && !flow_feeds_products(def, op->result);
}

const Def *flow_spell(Arena *arena, Syms *syms, const Def *written)
{
    const Def *def = flow_reshape(arena, syms, flow_spell_formulas(arena, syms, flow_read_elsewhere(arena, flow_turn(arena, flow_name_sizes(arena, syms, flow_compose(arena, flow_drop_same(arena, written)))))));

    def = flow_whole_places(arena, syms, flow_in_natural_base(arena, def));

    if (!has_whole(def))
        return def;
    Speller s = {.arena = arena, .syms = syms, .remade = flow_remake(arena, def)};
    s.def = s.remade.def;
    for (int i = 0; i < def->ops.len; i++) {
        s.op = def->ops.data[i];
        const DefValue *x = s.op->args[0].value;
        int ops = s.def->ops.len;

        s.reads = (ElementReads){.def = s.def};
        s.through = reads_through(def, s.op);
        if (s.op->op == OP_DEFINE && spell_define(&s, s.remade.made[s.op->result->id]))
            continue;
        if ((op_is_whole(s.op->op) || is_column(s.op)) && x && spell(&s, s.remade.made[x->id], s.remade.made[s.op->result->id]))
            continue;
        s.def->ops.len = ops;
        flow_keep_op(&s.remade, s.op);
    }
    return s.worked_out ? flow_spell_formulas(arena, syms, s.def) : s.def;
}
