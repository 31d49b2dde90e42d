/* beyond.c: what the value of a Define is where the tile reaches beyond the end of its tensor.
 *
 * There, elements read as 0 and places go on, so that a formula that is a number everywhere else may be none:
 *
 *   s[col div 128]     0, by which nothing may be divided
 *   1 / (n - col)      infinite, or a number of either sign
 *   log(col + 1)       a number, since places are never negative
 *
 * Names of sizes and Params are trusted not to be 0, as divisors are elsewhere, and exponentials to be finite.
 */
#include "reason/plan.h"

#include <math.h>

typedef enum Sign { POSITIVE, NONZERO, NONNEGATIVE, SOME /* number */, NONE /* perhaps no number */ } Sign;

static Sign sign_of(Plan *plan, const Expr *e);

static bool divides(Sign sign)
{
    return sign == POSITIVE || sign == NONZERO;
}

static bool is_not_negative(Sign sign)
{
    return sign == POSITIVE || sign == NONNEGATIVE;
}

/* What both are. */
static Sign joined(Sign a, Sign b)
{
    if (a == b)
        return a;
    if (a == NONE || b == NONE)
        return NONE;
    if (divides(a) && divides(b))
        return NONZERO;
    return is_not_negative(a) && is_not_negative(b) ? NONNEGATIVE : SOME;
}

static Sign product_of(Sign a, Sign b)
{
    if (a == NONE || b == NONE)
        return NONE;
    if (divides(a) && divides(b))
        return a == POSITIVE && b == POSITIVE ? POSITIVE : NONZERO;
    return is_not_negative(a) && is_not_negative(b) ? NONNEGATIVE : SOME;
}

static Sign sum_of(Sign a, Sign b)
{
    if (a == NONE || b == NONE)
        return NONE;
    if (is_not_negative(a) && is_not_negative(b))
        return a == POSITIVE || b == POSITIVE ? POSITIVE : NONNEGATIVE;
    return SOME;
}

static Sign power_of(Sign base, const Expr *by)
{
    if (base == POSITIVE)
        return POSITIVE;
    if (by->kind != EXPR_INT || by->i < 1 || base == NONE)
        return NONE;
    if (by->i % 2)
        return base;
    return base == NONZERO ? POSITIVE : NONNEGATIVE;
}

static Sign binary_of(Plan *plan, const Expr *e)
{
    Sign a = sign_of(plan, e->a), b = sign_of(plan, e->b);

    switch (e->op) {
    case EO_ADD: return sum_of(a, b);
    case EO_SUB: return a == NONE || b == NONE ? NONE : SOME;
    case EO_MUL: return expr_equal(e->a, e->b) && a != NONE ? (divides(a) ? POSITIVE : NONNEGATIVE) : product_of(a, b);
    case EO_DIV: return divides(b) ? product_of(a, b) : NONE;
    case EO_IDIV: case EO_MOD:
        return a == NONE || !divides(b) ? NONE : is_not_negative(a) && b == POSITIVE ? NONNEGATIVE : SOME;
    case EO_POW: return power_of(a, e->b);
    case EO_LT: case EO_LE: case EO_GT: case EO_GE: case EO_EQ: case EO_NE: case EO_AND: case EO_OR: case EO_NOT:
        return a == NONE || b == NONE ? NONE : NONNEGATIVE;
    case EO_NEG:
        break;
    }
    return NONE;
}

static Sign largest_of(Plan *plan, const Expr *e)
{
    Sign largest = sign_of(plan, e->args[0]);

    for (int i = 1; i < e->n_args; i++) {
        Sign next = sign_of(plan, e->args[i]);

        if (largest == NONE || next == NONE)
            return NONE;
        largest = largest == POSITIVE || next == POSITIVE                      ? POSITIVE
                  : largest == NONNEGATIVE || next == NONNEGATIVE              ? NONNEGATIVE
                                                                               : joined(largest, next);
    }
    return largest;
}

static Sign call_of(Plan *plan, const Expr *e)
{
    OpId op;
    Sign a = e->n_args > 0 ? sign_of(plan, e->args[0]) : NONE;

    if (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"))
        return NONNEGATIVE;
    if (text_equal_nocase(e->name, "where") && e->n_args == 3)
        return a == NONE ? NONE : joined(sign_of(plan, e->args[1]), sign_of(plan, e->args[2]));
    if (!op_find(e->name, &op) || a == NONE)
        return NONE;
    if (op == OP_MAX)
        return largest_of(plan, e);
    if (op == OP_ABS || op == OP_SQUARE)
        return divides(a) ? POSITIVE : NONNEGATIVE;
    if (op == OP_EXP || op == OP_EXP2 || op == OP_SIGMOID)
        return POSITIVE;
    if (op == OP_LOG || op == OP_LOG2 || op == OP_RSQRT)
        return a != POSITIVE ? NONE : op == OP_RSQRT ? POSITIVE : SOME;
    if (op == OP_SQRT)
        return is_not_negative(a) ? a : NONE;
    if (op == OP_RECIPROCAL)
        return divides(a) ? a : NONE;
    Sign all = e->n_args > 1 ? joined(a, sign_of(plan, e->args[1])) : a;
    if (op == OP_MIN)
        return e->n_args == 2 ? all : all == NONE ? NONE : SOME;
    return op == OP_POWER || op == OP_DIVIDE || op == OP_CEIL_DIVIDE || all == NONE ? NONE : SOME;
}

static Sign sign_of(Plan *plan, const Expr *e)
{
    double value;

    if (eval_float(&plan->env, e, &value))
        return !isfinite(value) ? NONE : value > 0 ? POSITIVE : value < 0 ? NONZERO : NONNEGATIVE;
    switch (e->kind) {
    case EXPR_NAME:
        return POSITIVE; /* sizes, Params, places of the block; of the element there are calls */
    case EXPR_UNARY: {
        Sign a = sign_of(plan, e->a);
        return e->op == EO_NOT ? (a == NONE ? NONE : NONNEGATIVE) : divides(a) ? NONZERO : a == NONE ? NONE : SOME;
    }
    case EXPR_BINARY:
        return binary_of(plan, e);
    case EXPR_CALL:
        return call_of(plan, e);
    case EXPR_INDEX:
        return SOME;
    case EXPR_INT: case EXPR_FLOAT: case EXPR_TRANSPOSE: case EXPR_SPACE: case EXPR_RANGE: case EXPR_ELLIPSIS: case EXPR_WORDS:
        break;
    }
    return NONE;
}

Pad plan_beyond(Plan *plan, const Expr *value)
{
    double number;

    if (eval_float(&plan->env, value, &number) && number == 0)
        return PAD_ZERO;
    Sign sign = sign_of(plan, value);
    return sign == NONE ? PAD_ANY : divides(sign) ? PAD_NONZERO : PAD_FINITE;
}
