/* terms.c: a definition in which products take the terms of a sum one by one.
 *
 * A kernel that learns the factors of an operand only behind its loop multiplies each term by
 * itself (src/fuse/linear.c), so each is rounded, and where they nearly cancel their roundings are
 * much of what is left. An implementation that multiplies twice and subtracts is as plain.
 *
 *   P = A - B           P = bf16(A) - bf16(B)
 *   O = P V       ->    O = P V
 *
 * Values keep their numbers; what becomes another one stands behind them.
 */
#include "ref/exec.h"

enum { MAX_CHAIN = 16 };

typedef struct Parter {
    Arena *arena;
    Def *def;
    DType type; /* of the product's operand */
} Parter;

static bool is_sum(const DefOp *op)
{
    return (op->op == OP_ADD || op->op == OP_SUBTRACT) && op->args[0].value && op->args[1].value;
}

/* Done to each term as it would be to the sum; the first operand holds them. */
static bool is_passed_on(const DefOp *op)
{
    return op->op == OP_MULTIPLY || op->op == OP_DIVIDE || op->op == OP_NEGATE || op->op == OP_MASK || op->op == OP_CAST;
}

static bool has_terms(const DefValue *value, int depth)
{
    const DefOp *op = value ? value->op : NULL;

    if (!op || depth == 0)
        return false;
    for (int i = 0; is_passed_on(op) && i < op->n_args; i++)
        if (has_terms(op->args[i].value, depth - 1))
            return true;
    return is_sum(op);
}

static DefValue *value_like(Parter *p, const DefValue *like, DefOp *op)
{
    DefValue *value = arena_new_of(p->arena, DefValue);

    *value = *like;
    value->is_input = value->is_output = false;
    value->op = op;
    value->dtype = DT_F32;
    op->result = value;
    value->id = p->def->values.len;
    vec_push(p->arena, &p->def->values, value);
    return value;
}

static DefValue *as_rounded(Parter *p, DefValue *term)
{
    DefOp *cast = arena_new_of(p->arena, DefOp);

    cast->stmt = term->op ? term->op->stmt : NULL;
    cast->op = OP_CAST;
    cast->cast = p->type;
    cast->args[0].value = term;
    cast->n_args = 1;
    return value_like(p, term, cast);
}

/* The value, its terms rounded. */
static DefValue *in_terms(Parter *p, DefValue *value, int depth)
{
    DefOp *op = arena_new_of(p->arena, DefOp);

    *op = *value->op;
    for (int i = 0; i < op->n_args; i++) {
        DefValue *arg = op->args[i].value;

        if (has_terms(arg, depth - 1))
            op->args[i].value = in_terms(p, arg, depth - 1);
        else if (is_sum(op))
            op->args[i].value = as_rounded(p, arg);
    }
    return value_like(p, value, op);
}

const Def *terms_def(Arena *arena, const Def *def)
{
    Def *mine = arena_new_of(arena, Def);
    Parter p = {arena, mine, DT_F32};
    int n = def->values.len;

    *mine = *def;
    memset(&mine->values, 0, sizeof mine->values);
    for (int i = 0; i < n; i++)
        vec_push(arena, &mine->values, def->values.data[i]);
    for (int i = 0; i < n; i++) {
        DefOp *op = def->values.data[i]->op;

        if (!op || op->op != OP_GEMM || !has_terms(op->args[0].value, MAX_CHAIN))
            continue;
        p.type = def_operand_type(def, op, 0);
        DefValue *first = in_terms(&p, op->args[0].value, MAX_CHAIN);
        ref_own_op(arena, mine, i)->args[0].value = first;
    }
    return mine;
}
