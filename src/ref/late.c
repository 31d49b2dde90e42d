/* late.c: what a definition does to a tensor that was done, or comes too late.
 *
 *   Compute Multiply S, scale and get new S
 *   Compute Multiply S, scale and get new S      TW0455: the factor is squared
 *
 *   Compute Softmax S and get P
 *   Compute Mask P where j <= i                  TW0444: -inf among weights, and the product is of these
 *   Compute GEMM P, V and get O
 *
 * Warnings, as the checker gives them of Kernels: of factors that have a name, and of masks whose next reader is a product.
 */
#include "ref/resolve.h"

/* Multiplies, or divides, a tensor in place by a number that has a name. */
static bool scales(const DefOp *op)
{
    const Stmt *s = op->stmt;
    bool named = s->kind == STMT_COMPUTE && s->n_args == 2 && s->args[0]->kind == EXPR_NAME && s->args[1]->kind == EXPR_NAME;

    return (op->op == OP_MULTIPLY || op->op == OP_DIVIDE) && named && op->n_args == 2 && op->args[0].value && !op->args[1].value &&
           strcmp(op->result->name, s->args[0]->name) == 0;
}

/* The same was done to what it reads, masks between aside. */
static bool scaled_already(const DefOp *op)
{
    const DefValue *value = op->args[0].value;

    while (value && value->op && value->op->op == OP_MASK)
        value = value->op->args[0].value;
    return value && value->op && value->op->op == op->op && scales(value->op) && expr_equal(value->op->stmt->args[1], op->stmt->args[1]) &&
           value->op->stmt->span.start != op->stmt->span.start; /* not an operation of one's own, used twice */
}

static bool reads(const DefOp *op, const DefValue *value)
{
    for (int i = 0; i < op->n_args; i++)
        if (op->args[i].value == value)
            return true;
    return false;
}

/* The first operation that reads a value is a product; no later one matters. */
static bool is_multiplied(const Def *def, const DefValue *value)
{
    for (int i = 0; i < def->ops.len; i++)
        if (reads(def->ops.data[i], value))
            return def->ops.data[i]->op == OP_GEMM;
    return false;
}

void res_warn_of_late(const Def *def, Diags *diags)
{
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];
        const DefValue *from = op->n_args ? op->args[0].value : NULL;

        if (scales(op) && scaled_already(op))
            diag_add(diags, TW0455, op->stmt->span, "'%s' was %s by '%s' already", op->result->name, op->op == OP_MULTIPLY ? "multiplied" : "divided",
                     op->stmt->args[1]->name);
        if (op->op == OP_MASK && !op->has_else && from && from->op && from->op->op == OP_SOFTMAX && is_multiplied(def, op->result))
            diag_add(diags, TW0444, op->stmt->span, "'%s' went through a softmax already: a mask stands before it", from->name);
    }
}
