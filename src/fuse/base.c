/* base.c: powers of two of what is left of a row's largest number, as exponentials.
 *
 *   Mask S where j <= i                          Mask T where j <= i            # T = S * ln 2
 *   RowMax S and get m                           RowMax T and get t; Multiply t, 1 / ln 2 and get m
 *   Subtract S, m; Exp2 that and get P    ->     Subtract T, t; Exp that and get P
 *
 * So a softmax to the base of two, as it is written where scores have the factor already, is the one that goes online
 * (linear.c). The factor goes up through masks to one that is known, and becomes one with that.
 */
#include "fuse/flow.h"

#include <math.h>

enum { MOST_STEPS = 8 };

static const double LN2 = 0.69314718055994531;

typedef struct Turner {
    Remade remade;
    DefValue **natural; /* by id of a value of the definition that there was: it, times ln 2; NULL: nobody wants that */
    DefValue **largest; /* likewise: its rows' largest, of the former */
    const bool *turned; /* by id: powers of two of what is left of it are exponentials */
} Turner;

/* ---- which ------------------------------------------------------------------------------ */

static bool is_largest_of(const DefOp *op, const DefValue *x)
{
    return op && op->op == OP_ROW_MAX && op->args[0].value == x && !op->args[0].transposed;
}

/* Whether a number for each row is made, element by element, of the row's largest. */
static bool comes_of_largest(const DefValue *c, const DefValue *x, int depth)
{
    if (!c->op || depth == 0)
        return false;
    if (is_largest_of(c->op, x))
        return true;
    for (int k = 0; op_info(c->op->op)->class == OPC_ELEMENT && k < c->op->n_args; k++)
        if (c->op->args[k].value && comes_of_largest(c->op->args[k].value, x, depth - 1))
            return true;
    return false;
}

/* The difference that an Exp2 is a power of two of; NULL: it is of something else. */
static const DefOp *difference_of(const DefOp *op)
{
    const DefValue *e = op->op == OP_EXP2 && !op->args[0].transposed ? op->args[0].value : NULL;
    const DefOp *minus = e && e->op && e->op->op == OP_SUBTRACT ? e->op : NULL;

    if (!minus || !minus->args[0].value || !minus->args[1].value || minus->args[0].transposed || minus->args[1].transposed)
        return NULL;
    const DefValue *x = minus->args[0].value, *c = minus->args[1].value;
    return x->rank == c->rank && flow_is_one(c->dims[c->rank - 1]) && comes_of_largest(c, x, MOST_STEPS) ? minus : NULL;
}

/* ---- the definition anew ------------------------------------------------------------------- */

static DefValue *add_value(Turner *t, const DefValue *like)
{
    DefValue *value = arena_new_of(t->remade.arena, DefValue);

    *value = (DefValue){.id = t->remade.def->values.len, .name = like->name, .dtype = DT_F32, .rank = like->rank};
    memcpy(value->dims, like->dims, sizeof value->dims);
    vec_push(t->remade.arena, &t->remade.def->values, value);
    return value;
}

/* An operation where another one stands in the source. */
static DefOp *add_op(Turner *t, const DefOp *at, OpId id, DefValue *result, DefValue *a)
{
    DefOp *op = arena_new_of(t->remade.arena, DefOp);
    Stmt *stmt = arena_new_of(t->remade.arena, Stmt);

    *stmt = *at->stmt;
    stmt->n_args = 0;
    *op = (DefOp){.stmt = stmt, .op = id, .result = result, .n_args = 1};
    op->args[0].value = a;
    result->op = op;
    vec_push(t->remade.arena, &t->remade.def->ops, op);
    return op;
}

static void multiply(Turner *t, const DefOp *at, DefValue *result, DefValue *a, double by)
{
    DefOp *op = add_op(t, at, OP_MULTIPLY, result, a);

    op->args[op->n_args++].scalar = (DefScalar){.is_const = true, .value = by, .expr = expr_float(t->remade.arena, by)};
}

static bool is_factor(const DefOp *op)
{
    return op->op == OP_MULTIPLY && op->args[0].value && !op->args[0].transposed && !op->args[1].value && op->args[1].scalar.is_const;
}

static bool is_minus_inf(const DefOp *op)
{
    return op->op == OP_MASK && !op->args[0].transposed && (!op->has_else || op->otherwise == -INFINITY);
}

static DefValue *times_ln2(Turner *t, const DefOp *at, const DefValue *x)
{
    DefValue **natural = &t->natural[x->id];
    const DefOp *op = x->op;

    if (*natural)
        return *natural;
    *natural = add_value(t, x);
    if (op && is_minus_inf(op)) {
        DefValue *masked = times_ln2(t, at, op->args[0].value);
        DefOp *mask = add_op(t, at, OP_MASK, *natural, masked);
        const DefOp *kept = t->remade.made[x->id]->op;

        mask->where = kept->where;
        mask->has_else = kept->has_else;
        mask->otherwise = kept->otherwise;
        mask->reads = kept->reads;
        mask->elem = kept->elem;
        mask->stmt = kept->stmt;
    } else if (op && is_factor(op)) {
        multiply(t, at, *natural, t->remade.made[op->args[0].value->id], op->args[1].scalar.value * LN2);
    } else {
        multiply(t, at, *natural, t->remade.made[x->id], LN2);
    }
    return *natural;
}

/* m, of which others may be made as well, is what the largest of the natural ones are times 1 / ln 2. */
static void turn_largest(Turner *t, const DefOp *op)
{
    const DefValue *x = op->args[0].value;
    DefValue *natural = times_ln2(t, op, x), *largest = add_value(t, op->result);

    add_op(t, op, OP_ROW_MAX, largest, natural);
    multiply(t, op, t->remade.made[op->result->id], largest, 1 / LN2);
    t->largest[op->result->id] = largest;
}

static void turn_power(Turner *t, const DefOp *op, const DefOp *minus)
{
    const DefValue *c = minus->args[1].value;
    DefValue *natural = times_ln2(t, op, minus->args[0].value), *less = t->largest[c->id], *left = add_value(t, minus->result);

    if (!less) {
        less = add_value(t, c);
        multiply(t, op, less, t->remade.made[c->id], LN2);
    }
    DefOp *difference = add_op(t, op, OP_SUBTRACT, left, natural);
    difference->args[difference->n_args++].value = less;
    add_op(t, op, OP_EXP, t->remade.made[op->result->id], left);
}

const Def *flow_in_natural_base(Arena *arena, const Def *def)
{
    bool *turned = arena_array(arena, bool, def->values.len), any = false;

    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *minus = difference_of(def->ops.data[i]);

        if (minus)
            any = turned[minus->args[0].value->id] = true;
    }
    if (!any)
        return def;
    Turner t = {.remade = flow_remake(arena, def), .natural = arena_array(arena, DefValue *, def->values.len),
                .largest = arena_array(arena, DefValue *, def->values.len), .turned = turned};
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i], *minus = difference_of(op);

        if (minus)
            turn_power(&t, op, minus);
        else if (op->op == OP_ROW_MAX && !op->args[0].transposed && t.turned[op->args[0].value->id])
            turn_largest(&t, op);
        else
            flow_keep_op(&t.remade, op);
    }
    return t.remade.def;
}
