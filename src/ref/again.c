/* again.c: a definition in which what is used twice is computed twice.
 *
 * A plain implementation that keeps every value subtracts a number from its very self
 * where a saturated softmax weighs one number alone, and is left with nothing. One that
 * computes values again where they are used, as kernels that keep none must, sums in
 * another order there and is left with what the roundings differ by. Both are plain.
 *
 *   dP = dO V.T            dP  = dO V.T
 *   D  = sum(P * dP)  ->   D   = sum(P * dP)
 *   dS = P * (dP - D)      dP' = dO V.T, summed from another place on
 *                          dS  = P * (dP' - D)
 *
 * Copied are products, and elementwise operations between them and the use. Values keep
 * their numbers; copies stand behind them.
 */
#include "ref/exec.h"

enum { MAX_COPIES = 32, MAX_CHAIN = 16 };

typedef struct Copier {
    Arena *arena;
    Def *def;
    bool *used;  /* by number of the value */
    int n_values;
} Copier;

static bool is_product(const DefOp *op)
{
    return op_info(op->op)->class == OPC_GEMM;
}

static bool is_passed_on(const DefOp *op)
{
    OpClass class = op_info(op->op)->class;

    return class == OPC_ELEMENT || class == OPC_MASK || class == OPC_CAST;
}

/* Whether nothing but elementwise operations stands between a product and the value. */
static bool from_product(const DefValue *value, int depth)
{
    if (!value->op || depth == 0)
        return false;
    if (is_product(value->op))
        return true;
    for (int i = 0; is_passed_on(value->op) && i < value->op->n_args; i++)
        if (value->op->args[i].value && from_product(value->op->args[i].value, depth - 1))
            return true;
    return false;
}

static DefValue *copy_of(Copier *c, const DefValue *value, int depth)
{
    DefValue *copy = arena_new_of(c->arena, DefValue);
    DefOp *op = arena_new_of(c->arena, DefOp);

    *copy = *value;
    *op = *value->op;
    op->again++;
    op->result = copy;
    copy->op = op;
    copy->is_output = false;
    for (int i = 0; i < op->n_args && !is_product(op); i++)
        if (op->args[i].value && from_product(op->args[i].value, depth - 1))
            op->args[i].value = copy_of(c, op->args[i].value, depth - 1);
    copy->id = c->def->values.len;
    vec_push(c->arena, &c->def->values, copy);
    return copy;
}

DefOp *ref_own_op(Arena *arena, Def *def, int id)
{
    DefValue *value = arena_new_of(arena, DefValue);
    DefOp *op = arena_new_of(arena, DefOp);

    *value = *def->values.data[id];
    *op = *value->op;
    op->result = value;
    value->op = op;
    def->values.data[id] = value;
    return op;
}

static void use_operands(Copier *c, int id)
{
    const DefOp *op = c->def->values.data[id]->op;

    for (int i = 0; op && i < op->n_args; i++) {
        const DefValue *arg = op->args[i].value;

        if (!arg || !from_product(arg, MAX_CHAIN))
            continue;
        if (c->used[arg->id] && c->def->values.len < c->n_values + MAX_COPIES)
            ref_own_op(c->arena, c->def, id)->args[i].value = copy_of(c, arg, MAX_CHAIN);
        c->used[arg->id] = true;
    }
}

const Def *again_def(Arena *arena, const Def *def)
{
    Def *mine = arena_new_of(arena, Def);
    Copier c = {arena, mine, arena_array(arena, bool, def->values.len + 1), def->values.len};

    *mine = *def;
    memset(&mine->values, 0, sizeof mine->values);
    for (int i = 0; i < def->values.len; i++)
        vec_push(arena, &mine->values, def->values.data[i]);
    for (int i = 0; i < c.n_values; i++)
        use_operands(&c, i);
    return mine;
}
