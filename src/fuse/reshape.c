/* reshape.c: tensors in the shape that rows are reduced in.
 *
 *   Input  X (N, C, L)                                      Input  X (N, G, E * L)
 *   Output Y (N, C, L)                                      Output Y (N, G, E * L)
 *   Compute Reshape X and get F (N, G, E * L)               ... rows of X ... and get Z
 *   ... rows of F ... and get Z                       ->    Compute Define W_part (1, G, E * L) as W[row * E + col div L]
 *   Compute Reshape Z and get Zc (N, C, L)                  Compute Multiply Z, W_part and get Y
 *   Compute Multiply Zc, W and get Y          # W (C, 1)
 *
 * A Reshape is the same elements in the same order, so a tensor without gaps is as well one of the other shape, and rows that
 * are made of several of its own are rows of that. What is done behind such a Reshape element by element, up to the outputs, is
 * done before it; a number for each row or column is read there where the element's place says.
 *
 * Only where rows are reduced, and nothing is multiplied: products take parts of rows and other orders as they are (view.c,
 * permute.c).
 *
 * Vocabulary
 *   group   values of one shape, made element by element of each other, that are to have that of what a Reshape took
 */
#include "fuse/flow.h"

enum { MOST_RANK = 8 };

typedef struct Reshaper {
    Arena *arena;
    Syms *syms;
    const Def *def;
    Remade remade;
    const DefValue **as; /* by value id: the value whose shape it gets; NULL: it keeps its own */
    bool *stays;         /* by value id: others get its shape */
    int parts;
    AffSym *row, *col;   /* the places of an element in that shape */
} Reshaper;

typedef struct Group {
    Reshaper *r;
    const DefValue *shape;  /* that they have, */
    const DefValue *as;     /* and are to have */
    VEC(const DefValue *) members;
} Group;

/* ---- what may have another shape ---------------------------------------------------------- */

static DefDim last_dim(const DefValue *value)
{
    return value->dims[value->rank - 1];
}

/* Whether they differ by nothing but dimensions of one. */
static bool same_without_ones(const DefValue *a, const DefValue *b)
{
    int i = 0, k = 0;

    for (;; i++, k++) {
        while (i < a->rank && flow_is_one(a->dims[i]))
            i++;
        while (k < b->rank && flow_is_one(b->dims[k]))
            k++;
        if (i == a->rank || k == b->rank)
            return i == a->rank && k == b->rank;
        if (a->dims[i].size != b->dims[k].size)
            return false;
    }
}

/* Whether a Reshape joins dimensions, or divides one; a dimension of one is for permute.c. */
static bool makes_rows(const DefOp *op)
{
    const DefValue *x = op->op == OP_RESHAPE ? op->args[0].value : NULL;

    return x && !op->args[0].transposed && x->rank >= 2 && op->result->rank >= 2 && !flow_is_one(last_dim(x)) &&
           !flow_is_one(last_dim(op->result)) && !same_without_ones(x, op->result);
}

static bool goes_by_element(const DefOp *op)
{
    OpClass class = op_info(op->op)->class;

    for (int k = 0; k < op->n_args; k++)
        if (op->args[k].transposed)
            return false;
    return class == OPC_ELEMENT || class == OPC_CAST;
}

static bool is_member(const Group *g, const DefValue *value)
{
    for (int i = 0; i < g->members.len; i++)
        if (g->members.data[i] == value)
            return true;
    return false;
}

/* One number, which fits any shape. */
static bool is_single(const DefValue *value)
{
    for (int d = 0; d < value->rank; d++)
        if (!flow_is_one(value->dims[d]))
            return false;
    return true;
}

static const Expr *broadcast(Group *g, const DefValue *value, bool *needed);

static bool join(Group *g, const DefValue *value);

/* What it is made of: each of the group, or a number for each row or column. */
static bool operands_join(Group *g, const DefOp *op)
{
    bool needed[MOST_RANK];

    for (int k = 0; k < op->n_args; k++) {
        const DefValue *value = op->args[k].value;

        if (!value || (is_single(value) && value->rank <= g->as->rank))
            continue;
        if (!(def_same_shape(value, g->shape) ? join(g, value) : broadcast(g, value, needed) != NULL))
            return false;
    }
    return true;
}

/* What is made of it: likewise, or what it is wanted as. */
static bool uses_join(Group *g, const DefValue *value)
{
    for (int i = 0; i < g->r->def->ops.len; i++) {
        const DefOp *op = g->r->def->ops.data[i];

        if (def_op_reads(op, value))
            return false;
        if (!def_op_takes(op, value) || (op->op == OP_RESHAPE && def_same_shape(op->result, g->as) && !op->result->is_output))
            continue;
        if (!goes_by_element(op) || !def_same_shape(op->result, g->shape) || !join(g, op->result))
            return false;
    }
    return true;
}

static bool join(Group *g, const DefValue *value)
{
    bool again = value->op && value->op->op == OP_RESHAPE && def_same_shape(value->op->args[0].value, g->as);

    if (is_member(g, value))
        return true;
    if (!def_same_shape(value, g->shape) || g->r->as[value->id] || g->r->stays[value->id] || (value->op && !again && !goes_by_element(value->op)) ||
        (again && (value->op->args[0].transposed || value->op->args[0].value->is_input)))
        return false;
    vec_push(g->r->arena, &g->members, value);
    return (!value->op || again || operands_join(g, value->op)) && uses_join(g, value);
}

/* An output that a Reshape makes takes the place of what it is made of, which is none itself then. */
static bool outputs_are_apart(const Group *g)
{
    for (int i = 0; i < g->members.len; i++) {
        const DefOp *op = g->members.data[i]->op;

        if (!op || op->op != OP_RESHAPE || !op->result->is_output)
            continue;
        if (op->args[0].value->is_output)
            return false;
        for (int k = 0; k < g->members.len; k++) {
            const DefValue *other = g->members.data[k];

            if (k != i && other->is_output && other->op && other->op->op == OP_RESHAPE && other->op->args[0].value == op->args[0].value)
                return false;
        }
    }
    return true;
}

/* The group of a value. */
static void find_group(Reshaper *r, const DefValue *value, const DefValue *as)
{
    Group g = {.r = r, .shape = value, .as = as};

    if (r->as[value->id] || r->as[as->id] || !join(&g, value) || !outputs_are_apart(&g))
        return;
    r->stays[as->id] = true;
    for (int i = 0; i < g.members.len; i++)
        r->as[g.members.data[i]->id] = g.as;
}

/* An input of which the one shape is taken, and what else is done with it element by element. */
static void find_input(Reshaper *r, const DefValue *input)
{
    const DefValue *as = NULL;

    for (int i = 0; i < r->def->ops.len && !as; i++)
        as = makes_rows(r->def->ops.data[i]) && def_op_takes(r->def->ops.data[i], input) ? r->def->ops.data[i]->result : NULL;
    if (as && !as->is_output && !r->as[input->id])
        find_group(r, input, as);
}

/* ---- numbers of rows and columns ------------------------------------------------------------ */

/* Axes from `first` on of the one shape are the same elements as those of the other from there to its `end`; those behind are
 * equal. */
static int first_differing(const Group *g)
{
    int d = 0;

    while (d < g->shape->rank && d < g->as->rank && g->shape->dims[d].size == g->as->dims[d].size)
        d++;
    return d;
}

/* The place along an axis of the group's shape of the element at (row, col) of the other; NULL: it is not seen. */
static const Aff *place_along(const Group *g, int axis)
{
    AffCtx *aff = g->r->def->aff;
    int first = first_differing(g), rank = g->as->rank;
    const Aff *row = aff_of(aff, g->r->row), *col = aff_of(aff, g->r->col), *below = aff_const(aff, 1);

    if (axis < first)
        return axis == rank - 2 ? row : axis == rank - 1 ? col : NULL;
    for (int d = first; d < rank - 2; d++)
        if (!flow_is_one(g->as->dims[d]))
            return NULL; /* a leading entry counts too */
    const Aff *n = first <= rank - 2 ? aff_add(aff, aff_mul(aff, row, last_dim(g->as).size), col) : col;
    for (int d = axis + 1; d < g->shape->rank; d++)
        below = aff_mul(aff, below, g->shape->dims[d].size);
    int64_t entries = aff_divisor(last_dim(g->as).size) / aff_divisor(below); /* of the axis, that a row holds */
    bool whole = first <= rank - 2 && aff_scale(aff, below, entries) == last_dim(g->as).size;
    n = whole ? aff_add(aff, aff_scale(aff, row, entries), aff_div(aff, col, below)) : aff_div(aff, n, below);
    bool outermost = true;
    for (int d = first; d < axis; d++)
        outermost &= flow_is_one(g->shape->dims[d]);
    return outermost ? n : aff_mod(aff, n, g->shape->dims[axis].size);
}

/* The coordinate along an axis of the group's shape, as an expression of the other's places, which it needs. */
static Expr *coordinate(const Group *g, int axis, bool *needed)
{
    const Aff *at = place_along(g, axis);
    const DefDim *dim = &g->shape->dims[axis];
    int rank = g->as->rank;

    if (flow_is_one(*dim))
        return expr_int(g->r->arena, 0);
    if (!at && axis < first_differing(g) && dim->name && def_axis(g->as, dim->name) == axis) {
        needed[axis] = true;
        return expr_name(g->r->arena, dim->name);
    }
    if (!at)
        return NULL;
    needed[rank - 2] |= aff_uses(at, g->r->row);
    needed[rank - 1] |= aff_uses(at, g->r->col);
    return flow_written(g->r->arena, g->r->syms, at);
}

/* The formula with places along the value's axes as coordinates; alone: between brackets, where a dimension's name is a place. */
static Expr *placed(Group *g, const DefValue *value, const Expr *e, bool alone, bool *needed)
{
    bool size = e->kind == EXPR_NAME && !alone && def_dim(g->r->def, e->name) && !def_index(g->r->def, e->name);
    bool call = e->kind == EXPR_CALL && e->n_args == 1 && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"));
    int axis = (e->kind == EXPR_NAME && !size) || call ? flow_own_axis(g->r->def, value, e) : -1;
    Expr *copy = expr_copy(g->r->arena, e);

    if (axis >= 0)
        return coordinate(g, axis + g->shape->rank - value->rank, needed);
    if (e->kind == EXPR_ELLIPSIS || (e->kind == EXPR_NAME && def_index(g->r->def, e->name)))
        return NULL;
    for (int i = 0; i < e->n_args; i++)
        if (!(copy->args[i] = placed(g, value, e->args[i], e->kind == EXPR_INDEX, needed)))
            return NULL;
    if (e->a && e->kind != EXPR_INDEX && !(copy->a = placed(g, value, e->a, false, needed)))
        return NULL;
    return e->b && !(copy->b = placed(g, value, e->b, false, needed)) ? NULL : copy;
}

/* The input that a value is, or is in another shape, as W (C) of (1, C, 1). */
static const DefValue *vector_of(const DefValue *value)
{
    const DefOp *op = value->op;

    if (!op)
        return value;
    return op->op == OP_RESHAPE && !op->args[0].transposed && op->args[0].value && !op->args[0].value->op ? op->args[0].value : NULL;
}

static int only_axis(const DefValue *value)
{
    int only = -1;

    for (int d = 0; d < value->rank; d++) {
        if (flow_is_one(value->dims[d]))
            continue;
        if (only >= 0)
            return -1;
        only = d;
    }
    return only;
}

/* W[0, row div L]: of an input the element that meets the one at hand. */
static const Expr *element_of(Group *g, const DefValue *value, bool *needed)
{
    const DefValue *input = vector_of(value);
    bool same = input == value;
    Expr **at = arena_array(g->r->arena, Expr *, MOST_RANK);

    if (!input || (!same && (only_axis(input) < 0 || only_axis(value) < 0)))
        return NULL;
    for (int d = 0; d < input->rank; d++) {
        int axis = same ? d : only_axis(value);

        at[d] = flow_is_one(input->dims[d]) ? expr_int(g->r->arena, 0) : coordinate(g, axis + g->shape->rank - value->rank, needed);
        if (!at[d])
            return NULL;
    }
    return expr_index(g->r->arena, expr_name(g->r->arena, input->name), at, input->rank);
}

/* What a value that is broadcast comes to at an element in the other shape, and along which of its axes it differs; NULL: that
 * is not known. */
static const Expr *broadcast(Group *g, const DefValue *value, bool *needed)
{
    memset(needed, 0, sizeof *needed * MOST_RANK);
    if (value->rank > g->shape->rank)
        return NULL;
    for (int k = 1; k <= value->rank; k++) {
        DefDim dim = value->dims[value->rank - k];

        if (!flow_is_one(dim) && dim.size != g->shape->dims[g->shape->rank - k].size)
            return NULL;
    }
    if (value->op && value->op->op == OP_DEFINE) /* what it reads keeps its shape */
        return placed(g, value, value->op->where, false, needed);
    return element_of(g, value, needed);
}

/* ---- the definition with them ---------------------------------------------------------------- */

static void take_shape(DefValue *value, const DefValue *as)
{
    value->rank = as->rank;
    memcpy(value->dims, as->dims, sizeof value->dims);
}

static DefValue *add_value(Reshaper *r, const DefValue *of, const DefValue *as, const bool *needed)
{
    Flow flow = {.arena = r->arena, .syms = r->syms, .def = r->remade.def};
    DefValue *value = arena_new_of(r->arena, DefValue);

    *value = (DefValue){.id = r->remade.def->values.len, .dtype = DT_F32};
    value->name = flow_fresh(&flow, arena_printf(r->arena, "%s_shaped%d", of->name, ++r->parts));
    take_shape(value, as);
    for (int d = 0; d < value->rank; d++)
        if (!needed[d])
            value->dims[d] = (DefDim){aff_const(r->def->aff, 1), NULL};
    vec_push(r->arena, &r->remade.def->values, value);
    return value;
}

static DefValue *add_broadcast(Reshaper *r, const DefOp *use, const DefValue *value)
{
    Group g = {.r = r, .shape = use->result, .as = r->as[use->result->id]};
    bool needed[MOST_RANK];
    const Expr *where = broadcast(&g, value, needed);
    const DefValue *input = vector_of(value);
    DefOp *op = arena_new_of(r->arena, DefOp);
    Stmt *stmt = arena_new_of(r->arena, Stmt);

    *stmt = *use->stmt;
    stmt->n_args = stmt->n_shape = 0; /* neither is this one's */
    *op = (DefOp){.stmt = stmt, .op = OP_DEFINE, .where = where, .result = add_value(r, value, g.as, needed)};
    op->result->op = op;
    if (input)
        vec_push(r->arena, &op->reads, ((DefRead){input->name, r->remade.made[input->id]}));
    for (int k = 0; !input && k < value->op->reads.len; k++)
        vec_push(r->arena, &op->reads, ((DefRead){value->op->reads.data[k].name, r->remade.made[value->op->reads.data[k].value->id]}));
    vec_push(r->arena, &r->remade.def->ops, op);
    return op->result;
}

static void keep_op(Reshaper *r, const DefOp *op)
{
    const DefValue *as = r->as[op->result->id];
    DefValue *others[3] = {NULL};

    for (int k = 0; as && k < op->n_args; k++)
        if (op->args[k].value && !def_same_shape(op->args[k].value, op->result) && !is_single(op->args[k].value))
            others[k] = add_broadcast(r, op, op->args[k].value);
    DefOp *kept = flow_keep_op(&r->remade, op);
    for (int k = 0; k < op->n_args; k++)
        if (others[k])
            kept->args[k].value = others[k];
    if (as)
        take_shape(kept->result, as);
}

static bool is_dropped(const Reshaper *r, const DefOp *op)
{
    const DefValue *x = op->op == OP_RESHAPE ? op->args[0].value : NULL;

    return x && ((r->as[x->id] && def_same_shape(r->as[x->id], op->result)) || (!x->is_input && r->as[op->result->id]));
}

/* Tensors are declared so. False: a size has no spelling. */
static bool declare(Reshaper *r)
{
    Flow flow = {.arena = r->arena, .syms = r->syms, .def = r->def};

    for (int i = 0; i < r->remade.unit->body.len; i++) {
        const Stmt *s = r->remade.unit->body.data[i];
        const DefValue *old = s->kind == STMT_INPUT ? def_input(r->def, s->name) : s->kind == STMT_OUTPUT ? def_output(r->def, s->name) : NULL;
        const DefValue *as = old ? r->as[old->id] : NULL;

        if (!as)
            continue;
        Stmt *copy = arena_new_of(r->arena, Stmt);
        *copy = *s;
        copy->n_shape = as->rank;
        copy->shape = arena_array(r->arena, Expr *, as->rank);
        for (int d = 0; d < as->rank; d++)
            if (!(copy->shape[d] = flow_dim_expr(&flow, as->dims[d])))
                return false;
        r->remade.unit->body.data[i] = copy;
    }
    return true;
}

static bool has_work(const Def *def)
{
    bool reduces = false, reshapes = false;

    for (int i = 0; i < def->ops.len; i++) {
        OpClass class = op_info(def->ops.data[i]->op)->class;

        if (class == OPC_GEMM)
            return false;
        reduces |= class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE || class == OPC_SOFTMAX;
        reshapes |= makes_rows(def->ops.data[i]);
    }
    /* else `row` and `col` do not say where an element is */
    return reduces && reshapes && !def_is_named(def, "row") && !def_is_named(def, "col") && !def_index(def, "row") && !def_index(def, "col");
}

/* What gets another shape; false: nothing does. */
static bool find_shapes(Reshaper *r)
{
    const Def *def = r->def;
    bool any = false;

    for (int i = 0; i < def->ops.len; i++)
        if (makes_rows(def->ops.data[i]) && def->ops.data[i]->args[0].value->op)
            find_group(r, def->ops.data[i]->result, def->ops.data[i]->args[0].value);
    for (int i = 0; i < def->ops.len; i++) /* what was made element by element of what comes in its own shape */
        if (makes_rows(def->ops.data[i]) && def->ops.data[i]->args[0].value->op && !def->ops.data[i]->result->is_output)
            find_group(r, def->ops.data[i]->args[0].value, def->ops.data[i]->result);
    for (int i = 0; i < def->inputs.len; i++)
        find_input(r, def->inputs.data[i]);
    for (int i = 0; i < def->values.len; i++)
        any |= r->as[def->values.data[i]->id] != NULL;
    return any;
}

const Def *flow_reshape(Arena *arena, Syms *syms, const Def *def)
{
    if (!has_work(def))
        return def;
    Reshaper r = {.arena = arena, .syms = syms, .def = def, .as = arena_array(arena, const DefValue *, def->values.len)};

    r.stays = arena_array(arena, bool, def->values.len);
    for (int i = 0; i < def->values.len; i++)
        r.stays[def->values.data[i]->id] = def->values.data[i]->is_passed_on;
    r.row = aff_sym_new(def->aff, "row", AFF_SCALAR, 0, INT32_MAX);
    r.col = aff_sym_new(def->aff, "col", AFF_SCALAR, 0, INT32_MAX);
    if (!find_shapes(&r))
        return def;
    r.remade = flow_remake(arena, def);
    for (int i = 0; i < def->inputs.len; i++)
        if (r.as[def->inputs.data[i]->id])
            take_shape(r.remade.made[def->inputs.data[i]->id], r.as[def->inputs.data[i]->id]);
    for (int i = 0; i < def->ops.len; i++)
        if (is_dropped(&r, def->ops.data[i]))
            flow_drop_op(&r.remade, def->ops.data[i]);
        else
            keep_op(&r, def->ops.data[i]);
    r.remade.def->reshaped = true;
    return declare(&r) ? r.remade.def : def;
}
