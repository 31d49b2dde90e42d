/* elsewhere.c: elements of a computed value, read at other places than the element's own, worked out where they are read.
 *
 *   Multiply X, r and get N
 *   Define Y (M, D) as N[row, (col + H) % D]     ->     Define Y (M, D) as X[row, (col + H) % D] * r[row, 0]
 *
 * Elements that are read wherever they lie must be in memory. Those of a value that is made element by element of inputs, and of
 * one number for each row or column, need not be: the inputs are in memory already. So a norm and the rotation behind it are one
 * kernel. Where more elements are made than the value has, it is left in memory all the same, and not made again for each.
 * What becomes a product's operand is for a kernel ahead (cut.c): in a loop of products elements that are read one by one take
 * longer than they do in memory.
 *
 * Vocabulary
 *   at   the coordinates of an element, as the formula that reads it writes them
 */
#include "fuse/flow.h"

enum {
    MOST_RANK = 8,
    MOST_STEPS = 8 /* operations between inputs and what is read: more are a kernel's worth */
};

typedef struct Reader {
    Arena *arena;
    Remade remade;
    const DefOp *op; /* that reads */
    bool multiplied; /* of what becomes operands of products, or of all else */
    ElementReads reads; /* what it reads then; values of the definition that there was */
} Reader;

/* ---- what a value is made of -------------------------------------------------------------------- */

bool flow_is_vector(const DefValue *value)
{
    return value->rank < 2 || flow_is_one(value->dims[value->rank - 1]) || flow_is_one(value->dims[value->rank - 2]);
}

/* Sizes align from the right, and one of size 1 fits any. */
static bool aligns(const DefValue *operand, const DefValue *value)
{
    for (int k = 1; k <= operand->rank; k++)
        if (k > value->rank || (!flow_is_one(operand->dims[operand->rank - k]) &&
                                operand->dims[operand->rank - k].size != value->dims[value->rank - k].size))
            return false;
    return true;
}

/* Whether each of its elements is a function of elements of its operands at the same place. */
static bool goes_by_element(const DefValue *value)
{
    const DefOp *op = value->op;

    if (!op || op_info(op->op)->class != OPC_ELEMENT)
        return false;
    for (int k = 0; k < op->n_args; k++)
        if (op->args[k].value && (op->args[k].transposed || !aligns(op->args[k].value, value)))
            return false;
    return true;
}

static bool is_made_by_element(const DefValue *value, int *steps)
{
    if (value->is_input || (flow_is_vector(value) && !goes_by_element(value)))
        return true;
    if (!goes_by_element(value) || --*steps < 0)
        return false;
    for (int k = 0; k < value->op->n_args; k++)
        if (value->op->args[k].value && !is_made_by_element(value->op->args[k].value, steps))
            return false;
    return true;
}

bool flow_is_made_by_element(const DefValue *value)
{
    int steps = MOST_STEPS;

    return value->op && !value->is_output && goes_by_element(value) && is_made_by_element(value, &steps);
}

static double elements_of(const DefValue *value)
{
    enum { UNKNOWN = 4096 };
    double n = 1;
    int64_t size;

    for (int d = 0; d < value->rank; d++)
        n *= aff_is_const(value->dims[d].size, &size) ? (double)size : UNKNOWN;
    return n;
}

static bool is_worked_out(const DefOp *reader, const DefValue *value)
{
    return !flow_is_vector(value) && elements_of(reader->result) <= elements_of(value) && flow_is_made_by_element(value);
}

/* ---- elements ------------------------------------------------------------------------------------------ */

/* Coordinates of an element that the formula reads, with those that dots stand for written out; false: they have no names. */
static bool coordinates(const Reader *r, const DefValue *read, const Expr *e, Expr **at)
{
    const DefValue *of = r->op->result;
    int n = 0;

    for (int i = 0; i < e->n_args; i++) {
        int dots = e->args[i]->kind == EXPR_ELLIPSIS ? read->rank - (e->n_args - 1) : 0;

        if (e->args[i]->kind != EXPR_ELLIPSIS && n < read->rank)
            at[n++] = e->args[i];
        for (int k = 0; k < dots && n < read->rank; k++) {
            int axis = of->rank - read->rank + n;
            const DefDim *dim = axis >= 0 ? &of->dims[axis] : NULL;

            if (!dim || !dim->name || dim->size != read->dims[n].size || def_axis(of, dim->name) != axis)
                return false;
            at[n++] = expr_name(r->arena, dim->name);
        }
    }
    return n == read->rank;
}

/* Under its name, which nothing else that is read, and nothing that a formula may name, has. */
static void add_read(ElementReads *r, const DefValue *value)
{
    double known;

    for (int i = 0; i < r->list.len; i++) {
        if (strcmp(r->list.data[i].name, value->name) != 0)
            continue;
        r->ambiguous |= r->list.data[i].value != value;
        return;
    }
    r->ambiguous |= def_dim(r->def, value->name) || def_index(r->def, value->name) || def_param(r->def, value->name) ||
                    def_const(r->def, value->name, &known);
    vec_push(r->def->arena, &r->list, ((DefRead){value->name, (DefValue *)value}));
}

/* The place of whatever is made of the value, along the same dimension. */
static bool is_own_place(const DefValue *value, int d, const Expr *at)
{
    const char *side = d == value->rank - 1 ? "col" : d == value->rank - 2 ? "row" : NULL;
    bool called = side && (at->kind == EXPR_NAME || at->kind == EXPR_CALL) && text_equal_nocase(at->name, side);

    return flow_is_one(value->dims[d]) || called || (value->dims[d].name && expr_is_name(at, value->dims[d].name));
}

/* Numbers of rows or columns are taken as they are where they are the element's own; elsewhere they are made like all else. */
static bool is_leaf(const DefValue *value, Expr *const *at)
{
    bool own = flow_is_vector(value);

    for (int d = 0; own && d < value->rank; d++)
        own = is_own_place(value, d, at[d]);
    return own || !goes_by_element(value);
}

static Expr *operand_of(ElementReads *r, const DefValue *value, const DefArg *arg, Expr *const *at)
{
    Arena *arena = r->def->arena;
    Expr *own[MOST_RANK];

    if (!arg->value)
        return expr_copy(arena, arg->scalar.expr);
    for (int k = 0; k < arg->value->rank; k++)
        own[k] = flow_is_one(arg->value->dims[k]) ? expr_int(arena, 0) : at[value->rank - arg->value->rank + k];
    return flow_element(r, arg->value, own);
}

Expr *flow_choice(Arena *arena, Expr *condition, Expr *a, Expr *b)
{
    Expr **args = arena_array(arena, Expr *, 3);

    args[0] = condition;
    args[1] = a;
    args[2] = b;
    return expr_call(arena, "where", args, 3);
}

static Expr *applied(Arena *arena, const DefOp *op, Expr **args)
{
    static const struct { OpId id; ExprOp sign; } signs[] = {{OP_ADD, EO_ADD}, {OP_SUBTRACT, EO_SUB}, {OP_MULTIPLY, EO_MUL}, {OP_DIVIDE, EO_DIV}};
    Expr *e = NULL;

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (signs[i].id == op->op)
            e = expr_binary(arena, signs[i].sign, args[0], args[1]);
    if (!e)
        return expr_call(arena, op->op == OP_WHERE ? "where" : op_info(op->op)->name, args, op->n_args);
    if (!op->has_else)
        return e;
    Expr *is_zero = expr_binary(arena, EO_EQ, expr_copy(arena, args[1]), expr_int(arena, 0));
    return flow_choice(arena, is_zero, expr_float(arena, op->otherwise), e);
}

Expr *flow_element(ElementReads *r, const DefValue *value, Expr *const *at)
{
    Arena *arena = r->def->arena;
    Expr **args = arena_array(arena, Expr *, MOST_RANK);

    if (!is_leaf(value, at)) {
        for (int k = 0; k < value->op->n_args; k++)
            args[k] = operand_of(r, value, &value->op->args[k], at);
        return applied(arena, value->op, args);
    }
    add_read(r, value);
    for (int d = 0; d < value->rank; d++)
        args[d] = expr_copy(arena, at[d]);
    return expr_index(arena, expr_name(arena, value->name), args, value->rank);
}

/* ---- what lies outside ------------------------------------------------------------------------------- */

/* Whether the element is 0 where the inputs that it is made of are read outside of themselves, as those read as 0 there. */
static bool vanishes(const DefValue *value, Expr *const *at)
{
    const DefOp *op = value->op;
    Expr *own[MOST_RANK];
    bool zero[2] = {false, false}, stored[2] = {true, true};

    if (is_leaf(value, at))
        return !flow_is_vector(value);
    for (int k = 0; k < op->n_args && k < 2; k++) {
        const DefValue *arg = op->args[k].value;

        for (int d = 0; arg && d < arg->rank; d++)
            own[d] = at[value->rank - arg->rank + d];
        zero[k] = arg && vanishes(arg, own);
        stored[k] = !arg || is_leaf(arg, own);
    }
    switch ((int)op->op) {
    case OP_MULTIPLY: return (zero[0] && stored[1]) || (zero[1] && stored[0]); /* no infinite number times 0 */
    case OP_ADD:
    case OP_SUBTRACT: return zero[0] && zero[1];
    case OP_NEGATE:
    case OP_ABS:
    case OP_SQUARE:
    case OP_SQRT:
    case OP_TANH:
    case OP_SILU:
    case OP_GELU:
    case OP_RELU: return zero[0];
    default: return false;
    }
}

/* Whether a coordinate that is no place of the reader's own may lie before a dimension's first element. */
static bool may_lie_before(const Reader *r, const Expr *e)
{
    if (flow_own_axis(r->remade.from, r->op->result, e) >= 0)
        return false;
    if (e->kind == EXPR_INT)
        return e->i < 0;
    if (e->kind != EXPR_BINARY || (e->op != EO_ADD && e->op != EO_MUL && e->op != EO_IDIV && e->op != EO_MOD))
        return true;
    return e->op == EO_MOD ? may_lie_before(r, e->b) : may_lie_before(r, e->a) || may_lie_before(r, e->b);
}

/* Whether it may lie behind the last one of `size`. */
static bool may_lie_behind(const Reader *r, const Aff *size, const Expr *e)
{
    AffCtx *aff = r->remade.from->aff;
    const DefValue *of = r->op->result;
    int axis = flow_own_axis(r->remade.from, of, e);

    if (axis >= 0)
        return of->dims[axis].size != size && !aff_always(aff, aff_le(aff, of->dims[axis].size, size));
    if (e->kind == EXPR_INT)
        return !aff_always(aff, aff_lt(aff, aff_const(aff, e->i), size));
    if (e->kind != EXPR_BINARY)
        return true;
    const DefDimSym *named = e->b->kind == EXPR_NAME ? def_dim(r->remade.from, e->b->name) : NULL;
    const Aff *right = e->b->kind == EXPR_INT ? aff_const(aff, e->b->i) : named ? named->size : NULL;
    if (e->op == EO_MOD && right)
        return right != size && !aff_always(aff, aff_le(aff, right, size));
    return (e->op != EO_SUB && e->op != EO_IDIV) || may_lie_before(r, e->b) || may_lie_behind(r, size, e->a);
}

static Expr *both(Arena *arena, Expr *a, Expr *b)
{
    return a ? expr_binary(arena, EO_AND, a, b) : b;
}

/* What holds where the coordinates are inside of the value; NULL: they are. False: that cannot be said. */
static bool find_inside(const Reader *r, const DefValue *value, Expr *const *at, Expr **inside)
{
    for (int d = 0; d < value->rank; d++) {
        const Aff *size = value->dims[d].size;
        bool before = may_lie_before(r, at[d]), behind = may_lie_behind(r, size, at[d]), known;
        int64_t number;

        known = aff_is_const(size, &number);
        if ((before || behind) && at[d]->kind == EXPR_NAME) /* in arithmetic it may be a size */
            return false;
        if (behind && !known && !value->dims[d].name)
            return false;
        if (before)
            *inside = both(r->arena, *inside, expr_binary(r->arena, EO_GE, expr_copy(r->arena, at[d]), expr_int(r->arena, 0)));
        if (behind)
            *inside = both(r->arena, *inside, expr_binary(r->arena, EO_LT, expr_copy(r->arena, at[d]),
                                                          known ? expr_int(r->arena, number) : expr_name(r->arena, value->dims[d].name)));
    }
    return true;
}

/* ---- formulas ------------------------------------------------------------------------------------------- */

static Expr *with_elements(Reader *r, const Expr *e);

/* The element, worked out; NULL: it is the element's own, or must be in memory. */
static Expr *worked_out(Reader *r, const Expr *e)
{
    const DefValue *value = flow_read_value(r->op, e);
    Expr *at[MOST_RANK];

    if (!value || !is_worked_out(r->op, value) || flow_own_element(r->remade.from, r->op, e) || !coordinates(r, value, e, at))
        return NULL;
    for (int d = 0; d < value->rank; d++)
        at[d] = with_elements(r, at[d]);
    Expr *inside = NULL;
    if (!vanishes(value, at) && !find_inside(r, value, at, &inside))
        return NULL;
    Expr *element = flow_element(&r->reads, value, at);
    return inside ? flow_choice(r->arena, inside, element, expr_int(r->arena, 0)) : element; /* as a value in memory reads */
}

static Expr *with_elements(Reader *r, const Expr *e)
{
    Expr *made = worked_out(r, e);

    if (made)
        return made;
    const DefValue *read = flow_read_value(r->op, e);
    if (read)
        add_read(&r->reads, read);
    Expr *copy = expr_copy(r->arena, e);
    for (int i = 0; i < e->n_args; i++)
        copy->args[i] = with_elements(r, e->args[i]);
    if (e->a)
        copy->a = with_elements(r, e->a);
    if (e->b)
        copy->b = with_elements(r, e->b);
    return copy;
}

static bool reads_elsewhere(const void *user, const Expr *e)
{
    const Reader *r = user;
    const DefValue *value = flow_read_value(r->op, e);

    return value && is_worked_out(r->op, value) && !flow_own_element(r->remade.from, r->op, e);
}

bool flow_feeds_products(const Def *def, const DefValue *value)
{
    bool *fed = arena_array(def->arena, bool, def->values.len);

    fed[value->id] = true;
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];
        bool *is = &fed[op->result->id];

        for (int k = 0; k < op->n_args; k++)
            *is |= op->args[k].value && fed[op->args[k].value->id];
        for (int k = 0; k < op->reads.len; k++)
            *is |= fed[op->reads.data[k].value->id];
        if (*is && op->op == OP_GEMM)
            return true;
    }
    return false;
}

static bool concerns(const Reader *r)
{
    return r->op->op == OP_DEFINE && flow_feeds_products(r->remade.from, r->op->result) == r->multiplied && r->op->where->kind != EXPR_INDEX && expr_any(r->op->where, reads_elsewhere, r);
}

/* With the elements worked out, where all that is read has a name of its own; whether they were. */
static bool keep_op(Reader *r)
{
    Expr *where = NULL;

    r->reads = (ElementReads){.def = r->remade.from};
    if (concerns(r))
        where = with_elements(r, r->op->where);
    DefOp *op = flow_keep_op(&r->remade, r->op);
    if (!where || r->reads.ambiguous)
        return false;
    op->where = where;
    op->reads.len = 0;
    for (int k = 0; k < r->reads.list.len; k++)
        vec_push(r->arena, &op->reads, ((DefRead){r->reads.list.data[k].name, r->remade.made[r->reads.list.data[k].value->id]}));
    return true;
}

static const Def *worked_out_in(Arena *arena, const Def *def, bool multiplied, Readers *readers)
{
    Reader r = {.arena = arena, .remade = {.from = def}, .multiplied = multiplied};
    bool any = false;

    for (int i = 0; i < def->ops.len; i++) {
        r.op = def->ops.data[i];
        any |= concerns(&r);
    }
    if (!any)
        return def;
    r.remade = flow_remake(arena, def);
    for (int i = 0; i < def->ops.len; i++) {
        r.op = def->ops.data[i];
        if (keep_op(&r))
            vec_push(arena, readers, r.op->result->id);
    }
    return readers->len > 0 ? r.remade.def : def;
}

const Def *flow_read_elsewhere(Arena *arena, const Def *def)
{
    Readers readers = {0};

    return worked_out_in(arena, def, false, &readers);
}

const Def *flow_read_for_products(Arena *arena, Syms *syms, const Def *def, Readers *readers)
{
    const Def *made = worked_out_in(arena, def, true, readers);

    return made == def ? def : flow_spell_formulas(arena, syms, made);
}
