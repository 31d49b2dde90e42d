/* divide.c: products of which only parts are taken.
 *
 *   GEMM X, W and get H                      Define Wg (K, N) as W[..., row, col]
 *   Define g (M, N) as H[..., row, col]      Define Wu (K, N) as W[..., row, col + N]
 *   Define u (M, N) as H[..., row, col + N]  GEMM X, Wg and get g
 *                                     ->     GEMM X, Wu and get u
 *
 * The columns of a product are products of columns, so nothing is computed twice, and H, of which
 * elements would be read wherever they lie, need not be left in memory. The parts of W are tiles of
 * it (view.c): where they would not be, H stays, and where keys or values are parts of it. Of W.T they
 * may be every second row, as of gates and what they gate in turn.
 *
 * What is done with each element before the parts are taken, as adding a bias, is done with the
 * parts: a chain of operations from the product to its tip.
 */
#include "fuse/flow.h"

#include "lang/eval.h"

typedef struct Divider {
    Arena *arena;
    const Def *def;
    Remade remade;
    EvalEnv sizes;
    const DefOp **divided; /* by ids of the tips of chains that products begin; NULL: of none */
    bool *parted;          /* by ids: products that are divided, and what is in their chains */
} Divider;

/* ---- parts --------------------------------------------------------------------------------- */

/* The last coordinate where an operation takes columns of `of` and nothing else; NULL: it does not. */
static const Expr *columns_taken(const Divider *d, const DefOp *op, const DefValue *of)
{
    const Expr *e = op->op == OP_DEFINE ? op->where : NULL;

    if (!e || e->kind != EXPR_INDEX || op->reads.len != 1 || op->reads.data[0].value != of || op->result->rank != of->rank ||
        !expr_is_name(e->a, op->reads.data[0].name))
        return NULL;
    bool dots = e->n_args == 3 && e->args[0]->kind == EXPR_ELLIPSIS, same = dots || e->n_args == of->rank;
    for (int i = 0; same && !dots && i < of->rank - 2; i++)
        same = flow_own_axis(d->def, op->result, e->args[i]) == i;
    return same && flow_own_axis(d->def, op->result, e->args[e->n_args - 2]) == of->rank - 2 ? e->args[e->n_args - 1] : NULL;
}

/* Whether an expression within another is the element's own place along an axis: the name of a dimension is its size there. */
static bool is_place_within(const Divider *d, const DefValue *value, const Expr *e, int axis)
{
    return !(e->kind == EXPR_NAME && def_dim(d->def, e->name)) && flow_own_axis(d->def, value, e) == axis;
}

/* Whether an expression is the place along an axis times a number, and one more or less. */
static bool is_every(const Divider *d, const DefValue *value, const Expr *e, int axis)
{
    bool sum = e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB);
    const Expr *x = sum && e->b->kind == EXPR_INT ? e->a : sum && e->op == EO_ADD && e->a->kind == EXPR_INT ? e->b : e;

    if (x->kind != EXPR_BINARY || x->op != EO_MUL)
        return false;
    return (x->a->kind == EXPR_INT && is_place_within(d, value, x->b, axis)) || (x->b->kind == EXPR_INT && is_place_within(d, value, x->a, axis));
}

/* What a second operand's elements are of: itself, an Input; or what it is an entry of, `W[expert[g], row, col]`; NULL: it is computed. */
static const DefValue *elements_of(const Divider *d, const DefValue *by)
{
    const Expr *e = by->op && by->op->op == OP_DEFINE && by->rank > 1 ? by->op->where : NULL;
    const DefValue *of = e && e->kind == EXPR_INDEX ? flow_read_value(by->op, e) : NULL;

    if (!by->op)
        return by;
    if (!of || of->op || e->n_args < 2)
        return NULL;
    for (int i = 0; i < e->n_args; i++) {
        int axis = flow_own_axis(d->def, by, e->args[i]);

        if (i < e->n_args - 2 ? axis >= by->rank - 2 || expr_mentions(e->args[i], "row") || expr_mentions(e->args[i], "col")
                              : axis != by->rank - (e->n_args - i))
            return NULL;
    }
    return of;
}

/* Columns that tiles of the second operand can be: beside each other, or, where that has a row for each, rows from anywhere (told.c). */
static bool are_tiles(Divider *d, const DefOp *part, const Expr *last, const DefArg *by, int64_t *width)
{
    int64_t first = 0;
    int axis = part->result->rank - 1;

    bool plain = flow_own_axis(d->def, part->result, last) == axis;
    bool shifted = last->kind == EXPR_BINARY && last->op == EO_ADD && is_place_within(d, part->result, last->a, axis);
    const Aff *base = shifted ? eval_aff(&d->sizes, last->b, NULL) : NULL;
    bool beside = plain || (base && aff_is_const(base, &first));

    if (!aff_is_const(part->result->dims[axis].size, width))
        return false;
    return (beside && flow_is_tile_width(*width, elements_of(d, by->value)->dtype) && first % *width == 0) ||
           (by->transposed && (beside || is_every(d, part->result, last, axis)));
}

/* Whether something that is made of it is a second operand, which every block would compute anew. */
static bool is_streamed(const Divider *d, const DefValue *of)
{
    bool *made = arena_array(d->arena, bool, d->def->values.len);

    made[of->id] = true;
    for (int i = 0; i < d->def->ops.len; i++) {
        const DefOp *op = d->def->ops.data[i];

        for (int k = 0; k < op->n_args; k++)
            made[op->result->id] |= op->args[k].value && made[op->args[k].value->id];
        for (int k = 0; k < op->reads.len; k++)
            made[op->result->id] |= made[op->reads.data[k].value->id];
        if (op->op == OP_GEMM && op->args[1].value && made[op->args[1].value->id])
            return true;
    }
    return false;
}

/* Whether all that is made of a value are parts of its columns, each of them once at most. */
static bool only_parts_taken(Divider *d, const DefValue *of, const DefArg *by)
{
    int64_t all, taken = 0, width;
    int parts = 0;

    if (of->is_output || !aff_is_const(of->dims[of->rank - 1].size, &all))
        return false;
    for (int i = 0; i < d->def->ops.len; i++) {
        const DefOp *op = d->def->ops.data[i];
        const Expr *last = columns_taken(d, op, of);

        if (!def_op_takes(op, of) && !def_op_reads(op, of))
            continue;
        if (!last || !are_tiles(d, op, last, by, &width))
            return false;
        taken += width;
        parts++;
    }
    return parts > 1 && taken <= all;
}

/* ---- chains --------------------------------------------------------------------------------- */

static bool same_shape(const DefValue *a, const DefValue *b)
{
    for (int i = 0; i < a->rank && a->rank == b->rank; i++)
        if (!flow_same_dim(a->dims[i], b->dims[i]))
            return false;
    return a->rank == b->rank;
}

/* An operand of which there are the parts as well: the value, one for all columns, or an input. */
static bool has_parts(const DefArg *arg, const DefValue *of)
{
    const DefValue *value = arg->value;

    if (!value || value == of)
        return !arg->transposed;
    return !arg->transposed && value->rank > 0 &&
           (flow_is_one(value->dims[value->rank - 1]) ||
            (!value->op && flow_same_dim(value->dims[value->rank - 1], of->dims[of->rank - 1])));
}

/* Each element of the result is made of the same one of `of`. */
static bool is_element_wise(const DefOp *op, const DefValue *of)
{
    OpClass class = op_info(op->op)->class;
    bool good = (class == OPC_ELEMENT || class == OPC_CAST) && !op->where && !op->reads.len && same_shape(op->result, of);

    for (int k = 0; k < op->n_args; k++)
        good &= has_parts(&op->args[k], of);
    return good;
}

/* The value that a product's parts are taken of; NULL: something else is made of it. */
static const DefValue *tip_of(Divider *d, const DefOp *product)
{
    const DefValue *of = product->result;
    const DefArg *by = &product->args[1];

    if (product->op != OP_GEMM || !by->value || !elements_of(d, by->value) || is_streamed(d, of))
        return NULL;
    while (!only_parts_taken(d, of, by)) {
        const DefOp *next = of->is_output ? NULL : def_only_use(d->def, of);

        if (!next || !is_element_wise(next, of))
            return NULL;
        of = next->result;
    }
    return of;
}

/* The operation that goes on from a value of a chain. */
static const DefOp *next_in_chain(const Divider *d, const DefValue *of)
{
    return d->divided[of->id] ? NULL : def_only_use(d->def, of);
}

static void find_chains(Divider *d)
{
    for (int i = 0; i < d->def->ops.len; i++) {
        const DefOp *product = d->def->ops.data[i];
        const DefValue *tip = tip_of(d, product);

        if (!tip)
            continue;
        d->divided[tip->id] = product;
        d->parted[product->result->id] = true;
        for (const DefOp *op = next_in_chain(d, product->result); op; op = next_in_chain(d, op->result))
            d->parted[op->result->id] = true;
    }
}

/* ---- products of parts ------------------------------------------------------------------------ */

/* The same of another place: what is the part's own along its columns is `at`. */
static Expr *place_of_part(const Divider *d, const DefOp *part, const Expr *e, Expr *at)
{
    bool within = e != part->where->args[part->where->n_args - 1];
    int axis = part->result->rank - 1;
    if (within ? is_place_within(d, part->result, e, axis) : flow_own_axis(d->def, part->result, e) == axis)
        return at;
    Expr *copy = expr_copy(d->arena, e);
    if (e->kind == EXPR_BINARY) {
        copy->a = place_of_part(d, part, e->a, at);
        copy->b = place_of_part(d, part, e->b, at);
    }
    return copy;
}

static Expr *dots(Arena *arena)
{
    Expr *e = arena_new_of(arena, Expr);

    e->kind = EXPR_ELLIPSIS;
    return e;
}

static DefValue *new_value(Divider *d, const DefValue *like, const char *name)
{
    DefValue *value = arena_new_of(d->arena, DefValue);

    *value = *like;
    value->id = d->remade.def->values.len;
    value->dtype = DT_F32;
    value->name = name;
    value->op = NULL;
    value->is_input = value->is_output = false;
    vec_push(d->arena, &d->remade.def->values, value);
    return value;
}

/* Rows that are no tile side by side are copied by the name of what they go along: an Output's, if its columns are as many. */
static DefDim named(const Divider *d, DefDim dim, DType dtype)
{
    int64_t width = 0;

    if (dim.name || (aff_is_const(dim.size, &width) && flow_is_tile_width(width, dtype)))
        return dim;
    for (int i = 0; i < d->def->outputs.len && !dim.name; i++) {
        const DefValue *output = d->def->outputs.data[i];

        if (output->rank > 0 && output->dims[output->rank - 1].size == dim.size)
            dim.name = output->dims[output->rank - 1].name;
    }
    return dim;
}

static bool is_place_along(const DefValue *value, int axis)
{
    return value->dims[axis].name && def_axis(value, value->dims[axis].name) == axis;
}

/* The element's own places along leading dimensions: of rows by their names, if they have any, by which copies look for rows. */
static void add_leading(Divider *d, const DefValue *whole, int side, Expr *e)
{
    bool named = whole->rank == 2 || side == whole->rank - 2;

    for (int i = 0; i < whole->rank - 2; i++)
        named &= is_place_along(whole, i);
    for (int i = 0; named && i < whole->rank - 2; i++)
        e->args[e->n_args++] = expr_name(d->arena, whole->dims[i].name);
    if (!named && whole->rank > 2)
        e->args[e->n_args++] = dots(d->arena);
}

/* `W[..., row, col + N]`, or of the rows of what is transposed: the columns that the part takes. */
static DefValue *part_of(Divider *d, DefValue *whole, int side, const DefOp *part)
{
    const Expr *last = part->where->args[part->where->n_args - 1];
    Flow flow = {.arena = d->arena, .def = d->remade.def};
    DefValue *value = new_value(d, whole, flow_fresh(&flow, arena_printf(d->arena, "%s_%s", whole->name, part->result->name)));
    DefOp *op = arena_new_of(d->arena, DefOp);
    Expr *e = arena_new_of(d->arena, Expr);

    value->dims[side] = named(d, part->result->dims[part->result->rank - 1], whole->dtype);
    const Expr *entry = whole->op ? whole->op->where : NULL;
    *e = entry ? *entry : *part->where;
    e->a = entry ? entry->a : expr_name(d->arena, whole->name);
    e->n_args = 0;
    e->args = arena_array(d->arena, Expr *, entry ? entry->n_args : whole->rank + 1);
    for (int i = 0; entry && i < entry->n_args - 2; i++)
        e->args[e->n_args++] = expr_copy(d->arena, entry->args[i]);
    if (!entry)
        add_leading(d, whole, side, e);
    for (int axis = whole->rank > 1 ? whole->rank - 2 : 0; axis < whole->rank; axis++) {
        Expr *at = expr_name(d->arena, axis == whole->rank - 1 ? "col" : "row");

        e->args[e->n_args++] = axis == side ? place_of_part(d, part, last, at) : at;
    }
    *op = (DefOp){.stmt = part->stmt, .op = OP_DEFINE, .where = e, .result = value};
    for (int i = 0; entry && i < whole->op->reads.len; i++)
        vec_push(d->arena, &op->reads, whole->op->reads.data[i]);
    if (!entry)
        vec_push(d->arena, &op->reads, ((DefRead){whole->name, whole}));
    value->op = op;
    vec_push(d->arena, &d->remade.def->ops, op);
    return value;
}

static DefOp *keep_as(Divider *d, const DefOp *op, DefValue *result)
{
    DefOp *kept = flow_keep_op(&d->remade, op);

    kept->result = result;
    result->op = kept;
    return kept;
}

/* What a part's chain has for the result of an operation: at its tip, the part itself. */
static DefValue *result_for(Divider *d, const DefValue *whole, const DefOp *part)
{
    DefValue *value;

    if (d->divided[whole->id])
        return d->remade.made[part->result->id];
    value = new_value(d, whole, whole->name);
    value->dims[value->rank - 1] = part->result->dims[part->result->rank - 1];
    return value;
}

/* The operation with a part of each operand that has all columns. */
static void do_with_part(Divider *d, const DefOp *op, const DefValue *before, DefValue *made_before, const DefOp *part)
{
    DefValue *parts[3] = {NULL};
    DefOp *kept;

    for (int k = 0; k < op->n_args; k++) {
        const DefValue *value = op->args[k].value;

        if (value == before)
            parts[k] = made_before;
        else if (value && !flow_is_one(value->dims[value->rank - 1]))
            parts[k] = part_of(d, d->remade.made[value->id], value->rank - 1, part);
    }
    kept = keep_as(d, op, result_for(d, op->result, part));
    for (int k = 0; k < op->n_args; k++)
        if (parts[k])
            kept->args[k].value = parts[k];
}

static void multiply_part(Divider *d, const DefOp *product, const DefOp *part)
{
    DefValue *whole = d->remade.made[product->args[1].value->id];
    DefValue *by = part_of(d, whole, product->args[1].transposed ? whole->rank - 2 : whole->rank - 1, part);
    DefOp *kept = keep_as(d, product, result_for(d, product->result, part));
    const DefValue *before = product->result;

    kept->args[1].value = by;
    for (const DefOp *op = next_in_chain(d, before); op; op = next_in_chain(d, before)) {
        do_with_part(d, op, before, kept->result, part);
        kept = d->remade.def->ops.data[d->remade.def->ops.len - 1];
        before = op->result;
    }
}

/* The divided product that an operation takes columns of; NULL: of none. */
static const DefOp *divided_for(const Divider *d, const DefOp *op)
{
    return op->op == OP_DEFINE && op->reads.len == 1 ? d->divided[op->reads.data[0].value->id] : NULL;
}

const Def *flow_divide(Arena *arena, const Def *def)
{
    Divider d = {.arena = arena, .def = def, .divided = arena_array(arena, const DefOp *, def->values.len),
                 .parted = arena_array(arena, bool, def->values.len)};
    bool any = false;

    eval_init(&d.sizes, arena, def->aff);
    for (int i = 0; i < def->dims.len; i++)
        eval_bind(&d.sizes, def->dims.data[i].name, def->dims.data[i].size);
    find_chains(&d);
    for (int i = 0; i < def->values.len; i++)
        any |= d.parted[i];
    if (!any)
        return def;
    d.remade = flow_remake(arena, def);
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i], *product = divided_for(&d, op);

        if (product)
            multiply_part(&d, product, op);
        else if (!d.parted[op->result->id])
            flow_keep_op(&d.remade, op);
    }
    return d.remade.def;
}
