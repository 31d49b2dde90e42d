/* formula.c: formulas over elements at their own place, taken apart into operations.
 *
 *   Define Z (heads, len, len) as where(j <= i, S[heads, i, j] * scale, -inf)
 *   Mask S where S[...] > least[row, 0] and j <= i
 *
 * An element that a Define or a condition reads wherever it lies must be in memory. Those of a
 * computed value that stand at the place of the element which is defined need not: they are operands
 * like others, and tiles of them go on where they are.
 *
 *   Multiply S, scale              Greater S, least; Where that, S, -inf
 *   Mask that where j <= i         Mask that where j <= i
 *
 * What reads no such element stays one Define, of those dimensions alone that it differs along.
 * lang/formula.c says how; this, what is known of a definition's values.
 */
#include "fuse/flow.h"

#include <math.h>

#include "lang/formula.h"

enum { MOST_PARTS = 64 }; /* of a formula: far more than anybody writes, few enough for a kernel */

/* Columns of what is computed, as the formula reads them: a value of its own, which may be a product of its own (divide.c). */
typedef struct Columns {
    const Expr *e;
    DefValue *value;
} Columns;

typedef struct Maker {
    Arena *arena;
    Syms *syms;
    Remade remade;
    const DefOp *op; /* whose formula it is; of the definition that there was */
    int parts;
    int first; /* of the operations that it becomes */
    VEC(Columns) columns;
} Maker;

/* ---- what a formula reads --------------------------------------------------------------- */

const DefValue *flow_read_value(const DefOp *op, const Expr *e)
{
    for (int k = 0; e->kind == EXPR_INDEX && k < op->reads.len; k++)
        if (expr_is_name(e->a, op->reads.data[k].name))
            return op->reads.data[k].value;
    return NULL;
}

static bool is_own_along(const Def *def, const DefValue *of, const DefValue *read, int axis, const Expr *at)
{
    int own = of->rank - read->rank + axis;

    if (flow_is_one(read->dims[axis]) && (at->kind == EXPR_ELLIPSIS || (at->kind == EXPR_INT && at->i == 0)))
        return true;
    return own >= 0 && read->dims[axis].size == of->dims[own].size && (at->kind == EXPR_ELLIPSIS || flow_own_axis(def, of, at) == own);
}

const DefValue *flow_own_element(const Def *def, const DefOp *op, const Expr *e)
{
    const DefValue *read = flow_read_value(op, e);
    int axis = 0;

    if (!read)
        return NULL;
    for (int i = 0; i < e->n_args; i++) {
        int n = e->args[i]->kind == EXPR_ELLIPSIS ? read->rank - (e->n_args - 1) : 1;

        while (n-- > 0)
            if (axis >= read->rank || !is_own_along(def, op->result, read, axis++, e->args[i]))
                return NULL;
    }
    return axis == read->rank ? read : NULL;
}

static bool is_computed(const DefValue *value)
{
    return value->op != NULL;
}

/* Larger integers stay where they are compared and taken apart exactly. */
static bool is_number(const DefValue *value)
{
    return value->op || dtype_is_float(value->dtype) || value->dtype == DT_I8 || value->dtype == DT_U8;
}

static bool is_compared_as_number(const DefValue *value)
{
    return value->op || dtype_is_float(value->dtype);
}

/* Whether an own element of such a value is read. */
static bool has_own(const Def *def, const DefOp *op, const Expr *e, bool (*which)(const DefValue *))
{
    const DefValue *own = e ? flow_own_element(def, op, e) : NULL;

    if (!e || own)
        return own && which(own);
    if (has_own(def, op, e->a, which) || has_own(def, op, e->b, which))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (has_own(def, op, e->args[i], which))
            return true;
    return false;
}

/* ---- along what an expression differs ---------------------------------------------------- */

enum { EVERYWHERE = 0xFF };

static unsigned axes_of(const Maker *m, const Expr *e, bool alone);

static unsigned axes_of_name(const Maker *m, const Expr *e, bool alone)
{
    const Def *def = m->remade.from;
    bool size = !alone && def_dim(def, e->name);
    const DefIndex *index = def_index(def, e->name);
    double known;
    int axis = alone ? def_axis(m->op->result, e->name) : -1; /* a place there, though its size may be known */

    if (axis >= 0)
        return 1u << axis;
    if (size || def_const(def, e->name, &known) || def_param(def, e->name))
        return 0;
    if (index)
        axis = flow_axis_along(def, m->op->result, index);
    if (axis < 0)
        axis = flow_own_axis(def, m->op->result, e);
    return axis < 0 ? EVERYWHERE : 1u << axis;
}

static unsigned axes_of_dots(const Maker *m, const DefValue *read)
{
    unsigned axes = 0;

    for (int d = 0; read && d < read->rank; d++)
        if (!flow_is_one(read->dims[d]) && m->op->result->rank - read->rank + d >= 0)
            axes |= 1u << (m->op->result->rank - read->rank + d);
    return read ? axes : EVERYWHERE;
}

static unsigned axes_of(const Maker *m, const Expr *e, bool alone)
{
    bool place = e->kind == EXPR_CALL && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"));
    unsigned axes = 0;

    if (place)
        return 1u << (m->op->result->rank - (text_equal_nocase(e->name, "col") ? 1 : 2));
    if (e->kind == EXPR_NAME)
        return axes_of_name(m, e, alone);
    for (int i = 0; i < e->n_args; i++)
        axes |= e->args[i]->kind == EXPR_ELLIPSIS ? axes_of_dots(m, flow_read_value(m->op, e)) : axes_of(m, e->args[i], e->kind == EXPR_INDEX);
    if (e->a && e->kind != EXPR_INDEX)
        axes |= axes_of(m, e->a, false);
    return e->b ? axes | axes_of(m, e->b, false) : axes;
}

/* Those of the formula's value that are more than one. */
static unsigned all_axes(const Maker *m)
{
    unsigned axes = 0;

    for (int d = 0; d < m->op->result->rank; d++)
        if (!flow_is_one(m->op->result->dims[d]))
            axes |= 1u << d;
    return axes;
}

static unsigned axes_of_part(const Maker *m, FormulaPart part)
{
    return part.value ? axes_of_dots(m, part.value) & all_axes(m) : 0;
}

/* ---- operations ---------------------------------------------------------------------------- */

static DefValue *add_value(Maker *m, unsigned axes)
{
    DefValue *value = arena_new_of(m->arena, DefValue);
    Flow flow = {.arena = m->arena, .syms = m->syms, .def = m->remade.def};

    *value = (DefValue){.id = m->remade.def->values.len, .dtype = DT_F32, .rank = m->op->result->rank};
    value->name = flow_fresh(&flow, arena_printf(m->arena, "%s_part%d", m->op->result->name, ++m->parts));
    for (int d = 0; d < value->rank; d++)
        value->dims[d] = axes & (1u << d) ? m->op->result->dims[d] : (DefDim){aff_const(m->remade.def->aff, 1), NULL};
    vec_push(m->arena, &m->remade.def->values, value);
    return value;
}

/* NULL into: a value of its own. */
static DefOp *add_op(Maker *m, OpId id, unsigned axes, DefValue *into)
{
    DefOp *op = arena_new_of(m->arena, DefOp);
    Stmt *stmt = arena_new_of(m->arena, Stmt);

    *stmt = *m->op->stmt; /* its place in the source; its operands are not those of the operation */
    stmt->n_args = 0;
    *op = (DefOp){.stmt = stmt, .op = id, .result = into ? into : add_value(m, axes)};
    op->result->op = op;
    vec_push(m->arena, &m->remade.def->ops, op);
    return op;
}

static bool number_of(const Maker *m, const Expr *e, double *number)
{
    if (e->kind == EXPR_UNARY && e->op == EO_NEG && number_of(m, e->a, number))
        return *number = -*number, true;
    if (e->kind == EXPR_NAME)
        return def_const(m->remade.from, e->name, number);
    *number = e->kind == EXPR_INT ? (double)e->i : e->f;
    return e->kind == EXPR_INT || e->kind == EXPR_FLOAT;
}

static void add_arg(Maker *m, DefOp *op, FormulaPart part)
{
    DefArg *arg = &op->args[op->n_args++];

    arg->value = part.value;
    if (part.value)
        return;
    arg->scalar.expr = part.number;
    arg->scalar.is_const = number_of(m, part.number, &arg->scalar.value);
}

/* What is read, as the expression mentions it. */
static void read_what(Maker *m, DefOp *op, const Expr *e)
{
    op->where = e;
    for (int k = 0; k < m->op->reads.len; k++)
        if (expr_reads(e, m->op->reads.data[k].name))
            vec_push(m->arena, &op->reads, ((DefRead){m->op->reads.data[k].name, m->remade.made[m->op->reads.data[k].value->id]}));
}

/* Of the written shape the dimensions that are left. */
static void declare_narrower(Maker *m, Stmt *stmt, unsigned axes)
{
    Expr **shape = arena_array(m->arena, Expr *, stmt->n_shape);

    for (int d = 0; d < stmt->n_shape; d++)
        shape[d] = axes & (1u << d) ? stmt->shape[d] : expr_int(m->arena, 1);
    stmt->shape = shape;
}

/* ---- columns of a computed value --------------------------------------------------------------- */

/* `col`, or `col + n` with n the same for all elements. */
static bool is_own_and_more(const Maker *m, const Expr *e)
{
    int last = m->op->result->rank - 1;

    if (e->kind != EXPR_BINARY || e->op != EO_ADD)
        return flow_own_axis(m->remade.from, m->op->result, e) == last;
    return (is_own_and_more(m, e->a) && !axes_of(m, e->b, false)) || (is_own_and_more(m, e->b) && !axes_of(m, e->a, false));
}

/* Whether an element is read of some of the columns of a computed value, in the element's own row. */
static bool reads_columns(const void *user, const Expr *e)
{
    const Maker *m = user;
    const DefValue *read = m->op->op == OP_DEFINE ? flow_read_value(m->op, e) : NULL, *of = m->op->result;
    int last = of->rank - 1;

    if (!read || !read->op || read->rank != of->rank || e->n_args != of->rank || read->dims[last].size == of->dims[last].size)
        return false;
    for (int d = 0; d < last; d++)
        if (e->args[d]->kind == EXPR_ELLIPSIS || !is_own_along(m->remade.from, of, read, d, e->args[d]))
            return false;
    return e->args[last]->kind != EXPR_ELLIPSIS && is_own_and_more(m, e->args[last]);
}

/* ---- how they are made (lang/formula.h) ----------------------------------------------------- */

static FormulaPart define(void *user, const Expr *e);

static DefValue *columns_of(Maker *m, const Expr *e)
{
    for (int i = 0; i < m->columns.len; i++)
        if (expr_equal(m->columns.data[i].e, e))
            return m->columns.data[i].value;
    Columns columns = {e, define(m, e).value};
    vec_push(m->arena, &m->columns, columns);
    return columns.value;
}

static void *own_of(void *user, const Expr *e)
{
    Maker *m = user;
    const DefValue *own = flow_own_element(m->remade.from, m->op, e);

    if (!own && reads_columns(m, e))
        return columns_of(m, e);
    return own && is_number(own) ? m->remade.made[own->id] : NULL;
}

static bool is_plain(void *user, const Expr *where)
{
    const Maker *m = user;

    return !has_own(m->remade.from, m->op, where, is_compared_as_number);
}

static bool known_number(void *user, const Expr *e, double *number)
{
    return number_of(user, e, number);
}

static FormulaPart define(void *user, const Expr *e)
{
    Maker *m = user;
    unsigned axes = axes_of(m, e, false) & all_axes(m);

    if (axes == 0 && !expr_reads(e, NULL))
        return (FormulaPart){.number = e};
    for (int i = m->first; i < m->remade.def->ops.len; i++)
        if (m->remade.def->ops.data[i]->op == OP_DEFINE && expr_equal(m->remade.def->ops.data[i]->where, e))
            return (FormulaPart){.value = m->remade.def->ops.data[i]->result};
    DefOp *op = add_op(m, OP_DEFINE, axes, NULL);
    declare_narrower(m, (Stmt *)op->stmt, axes);
    read_what(m, op, e);
    return (FormulaPart){.value = op->result};
}

static void *operate(void *user, OpId id, const FormulaPart *args, int n, void *into)
{
    Maker *m = user;
    unsigned axes = 0;

    for (int i = 0; i < n; i++)
        axes |= axes_of_part(m, args[i]);
    DefOp *op = add_op(m, id, axes, into);
    for (int i = 0; i < n; i++)
        add_arg(m, op, args[i]);
    return op->result;
}

static void *mask(void *user, const Expr *where, FormulaPart x, double otherwise, void *into)
{
    Maker *m = user;
    unsigned axes = axes_of_part(m, x);

    if (axes_of(m, where, false) & all_axes(m) & ~axes)
        return NULL;
    DefOp *op = add_op(m, OP_MASK, axes, into);
    add_arg(m, op, x);
    read_what(m, op, where);
    op->has_else = otherwise != -INFINITY;
    op->otherwise = otherwise;
    return op->result;
}

/* ---- the definition ------------------------------------------------------------------------------ */

typedef struct Reading {
    const Def *def;
    const DefOp *op;
    const DefValue *tensor;
} Reading;

static bool reads_elsewhere(const void *user, const Expr *e)
{
    const Reading *r = user;

    return flow_read_value(r->op, e) == r->tensor && !flow_own_element(r->def, r->op, e);
}

static bool is_tile_of(const DefValue *value, const DefValue *of)
{
    int shift = of->rank - value->rank;

    for (int d = value->rank - 2; d >= 0 && d < value->rank; d++)
        if (shift < 0 || flow_is_one(value->dims[d]) || value->dims[d].size != of->dims[d + shift].size)
            return false;
    return value->rank >= 2;
}

/* Of inputs alone: a matrix whose elements stand at their own place is copied in tiles, where arithmetic with rows,
 * columns and scales follows. */
static bool is_arithmetic(const Def *def, const DefOp *op)
{
    bool any = false;

    for (int k = 0; k < op->reads.len; k++) {
        const DefValue *value = op->reads.data[k].value;
        Reading reading = {def, op, value};
        bool elsewhere = expr_any(op->where, reads_elsewhere, &reading);

        if (is_tile_of(value, op->result) && (elsewhere || !is_number(value)))
            return false;
        any |= is_tile_of(value, op->result);
    }
    return any && op->where->kind != EXPR_INDEX;
}

static bool is_formula(const Maker *m)
{
    const Def *def = m->remade.from;
    const DefOp *op = m->op;

    if ((op->op != OP_DEFINE && op->op != OP_MASK) || !op->where)
        return false;
    if (op->where->kind != EXPR_INDEX && expr_any(op->where, reads_columns, m))
        return true;
    return has_own(def, op, op->where, is_computed) || (op->op == OP_DEFINE && is_arithmetic(def, op));
}

/* All of the value's elements must come of it: a row that is repeated is no tile. */
static bool is_whole(Maker *m, const Expr *e)
{
    const DefValue *own = flow_own_element(m->remade.from, m->op, e);
    unsigned axes = 0;

    if (own)
        return axes_of_dots(m, own) == all_axes(m);
    axes = axes_of(m, e, false);
    return (axes & all_axes(m)) == all_axes(m);
}

static bool spell(Maker *m)
{
    FormulaMaker maker = {.arena = m->arena, .user = m, .room = MOST_PARTS, .own = own_of, .is_plain = is_plain, .number = known_number,
                          .define = define, .operate = operate, .mask = mask};
    DefValue *into = m->remade.made[m->op->result->id];
    FormulaPart part;

    if (m->op->op == OP_DEFINE)
        return is_whole(m, m->op->where) && formula_take_apart(&maker, m->op->where, into, &part);
    FormulaPart x = {.value = m->remade.made[m->op->args[0].value->id]};
    return formula_keep(&maker, m->op->where, x, m->op->otherwise, into, &part);
}

const Def *flow_spell_formulas(Arena *arena, Syms *syms, const Def *def)
{
    Maker m = {.arena = arena, .syms = syms, .remade = {.from = def}};
    bool any = false;

    for (int i = 0; i < def->ops.len; i++) {
        m.op = def->ops.data[i];
        any |= is_formula(&m);
    }
    if (!any)
        return def;
    m.remade = flow_remake(arena, def);
    for (int i = 0; i < def->ops.len; i++) {
        m.op = def->ops.data[i];
        m.parts = m.columns.len = 0;
        int values = m.remade.def->values.len;

        m.first = m.remade.def->ops.len;
        if (is_formula(&m) && spell(&m))
            continue;
        m.remade.def->ops.len = m.first;
        m.remade.def->values.len = values;
        flow_keep_op(&m.remade, m.op);
    }
    return m.remade.def;
}
