/* turn.c: products that are taken the other way around.
 *
 *   GEMM K, Q.T and get S                        GEMM Q, K.T and get S_T
 *   Multiply S, 0.1 and get T            ->      Multiply S_T, 0.1 and get T_T
 *   Softmax T.T and get P                        Softmax T_T and get P
 *
 * The transpose of a product is the product of the transposes, in the other order. So scores that are written by keys need not go
 * through memory to be seen by queries, nor a product whose transpose is an Output. Of what is done with them in between only what
 * is done with each element alone is turned.
 */
#include "fuse/flow.h"

enum { MOST_STEPS = 16 };

typedef struct Turn {
    const DefOp *define;            /* of the elements in the other order */
    const DefOp *steps[MOST_STEPS]; /* from the product on */
    int n;
} Turn;

static bool is_place(const Expr *e, const char *name)
{
    return (e->kind == EXPR_NAME || (e->kind == EXPR_CALL && e->n_args <= 1)) && text_equal_nocase(e->name, name);
}

/* The value whose rows are an operation's columns; NULL: it is no such thing. */
static const DefValue *turned(const Def *def, const DefOp *op)
{
    const Expr *e = op->op == OP_DEFINE ? op->where : NULL;
    const DefValue *x = e && e->kind == EXPR_INDEX ? flow_read_value(op, e) : NULL;
    bool named = def_is_named(def, "row") || def_is_named(def, "col") || def_index(def, "row") || def_index(def, "col");

    if (!x || named || op->reads.len != 1 || x->rank != op->result->rank || x->rank < 2 || e->n_args < 2 || !is_place(e->args[e->n_args - 2], "col") ||
        !is_place(e->args[e->n_args - 1], "row"))
        return NULL;
    for (int d = 0; d < x->rank - 2; d++)
        if (x->dims[d].size != op->result->dims[d].size)
            return NULL;
    for (int i = 0; i < e->n_args - 2; i++)
        if (e->args[i]->kind != EXPR_ELLIPSIS && flow_own_axis(def, op->result, e->args[i]) != i)
            return NULL;
    return x;
}

/* An operation with each element of one value, and numbers. */
static bool is_step(const DefOp *op)
{
    OpClass class = op_info(op->op)->class;

    for (int k = 1; k < op->n_args; k++)
        if (op->args[k].value)
            return false;
    return (class == OPC_ELEMENT || class == OPC_CAST) && op->args[0].value && !op->args[0].transposed;
}

/* What leads from a product to the value, if nothing else is made of any of it. */
static bool find_steps(const Def *def, const DefValue *x, Turn *t)
{
    const DefOp *back[MOST_STEPS];

    for (t->n = 0; x && x->op && !x->is_output && t->n < MOST_STEPS; x = x->op->args[0].value) {
        if (!def_only_use(def, x) || (x->op->op != OP_GEMM && !is_step(x->op)))
            return false;
        back[t->n++] = x->op;
        if (x->op->op != OP_GEMM)
            continue;
        for (int i = 0; i < t->n; i++)
            t->steps[i] = back[t->n - 1 - i];
        return x->op->args[0].value != x->op->args[1].value;
    }
    return false;
}

static void swap_last(DefValue *value)
{
    DefDim rows = value->dims[value->rank - 2];

    value->dims[value->rank - 2] = value->dims[value->rank - 1];
    value->dims[value->rank - 1] = rows;
}

/* What is computed the other way around is what is stored, and has its name. */
static void become_output(const Remade *r, DefValue *value, const DefValue *output)
{
    value->name = output->name;
    value->dtype = output->dtype;
    value->is_output = true;
    memcpy(value->dims, output->dims, sizeof value->dims);
    for (int i = 0; i < r->def->outputs.len; i++)
        if (r->def->outputs.data[i] == output)
            r->def->outputs.data[i] = value;
}

/* The steps for what they give the other way around, the last of which is what was defined. */
static void write_turned(const Remade *r, const Turn *t)
{
    for (int i = 0; i < t->n; i++) {
        DefOp *op = flow_keep_op(r, t->steps[i]);
        DefArg first = op->args[0];

        swap_last(op->result);
        if (t->steps[i]->op != OP_GEMM)
            continue;
        op->args[0] = op->args[1];
        op->args[1] = first;
        for (int k = 0; k < 2; k++)
            op->args[k].transposed = !op->args[k].transposed;
    }
    DefValue *seen = r->made[t->steps[t->n - 1]->result->id], *other = r->made[t->define->result->id];
    if (other->is_output)
        become_output(r, seen, other);
    r->made[t->define->result->id] = seen;
}

const Def *flow_turn(Arena *arena, const Def *def)
{
    VEC(Turn) turns = {0};

    for (int i = 0; i < def->ops.len; i++) {
        const DefValue *x = turned(def, def->ops.data[i]);
        Turn t = {.define = def->ops.data[i]};

        if (x && find_steps(def, x, &t))
            vec_push(arena, &turns, t);
    }
    if (turns.len == 0)
        return def;
    Remade r = flow_remake(arena, def);
    for (int i = 0; i < def->ops.len; i++) {
        bool kept = true;

        for (int k = 0; k < turns.len; k++) {
            const Turn *t = &turns.data[k];

            for (int n = 0; n < t->n; n++)
                kept &= def->ops.data[i] != t->steps[n];
            kept &= def->ops.data[i] != t->define;
            if (def->ops.data[i] == t->define)
                write_turned(&r, t);
        }
        if (kept)
            flow_keep_op(&r, def->ops.data[i]);
    }
    return r.def;
}
