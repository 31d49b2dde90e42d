/* pads.c: what tiles hold beyond the end of a dimension.
 *
 * A copy reads zeros there. What becomes of them decides where a mask is needed:
 * a sum wants zeros, a maximum -inf, a GEMM zeros on one side and nothing
 * infinite on the other. Only what is certain is used:
 *
 *   ZERO    0          NONZERO  a number that may divide
 *   FINITE  a number   LOWEST   -inf
 *   ANY     perhaps infinite or NaN
 */
#include "reason/plan.h"

#include <math.h>

/* The value of an operation whose operands are all 0 there. */
static Pad at_zero(OpId op, int n)
{
    double value = n <= op_info(op)->arity ? op_eval(op, 0, 0, 0) : NAN;

    return value == 0 ? PAD_ZERO : isfinite(value) ? PAD_NONZERO : PAD_ANY;
}

bool plan_is_number(Pad pad)
{
    return pad == PAD_ZERO || pad == PAD_NONZERO || pad == PAD_FINITE;
}

static Pad pad_product(Pad a, Pad b)
{
    if ((a == PAD_ZERO && plan_is_number(b)) || (b == PAD_ZERO && plan_is_number(a)))
        return PAD_ZERO;
    if (a == PAD_NONZERO && b == PAD_NONZERO)
        return PAD_NONZERO;
    return plan_is_number(a) && plan_is_number(b) ? PAD_FINITE : PAD_ANY;
}

static Pad pad_sum(Pad a, Pad b)
{
    if (a == PAD_LOWEST || b == PAD_LOWEST)
        return (plan_is_number(a) || plan_is_number(b)) ? PAD_LOWEST : PAD_ANY;
    if ((a == PAD_ZERO && b == PAD_NONZERO) || (a == PAD_NONZERO && b == PAD_ZERO))
        return PAD_NONZERO;
    return plan_is_number(a) && plan_is_number(b) ? PAD_FINITE : PAD_ANY;
}

/* Functions that no finite operand takes out of the finite numbers. */
static bool bounded(OpId op)
{
    return op == OP_TANH || op == OP_SIGMOID || op == OP_SILU || op == OP_GELU || op == OP_RELU || op == OP_ERF || op == OP_SIGN ||
           op == OP_NEGATE || op == OP_ABS || op == OP_SQUARE || op == OP_MAX || op == OP_MIN;
}

static Pad pad_element(OpId op, const Pad *pads, int n, bool has_else)
{
    bool zero = true, all_finite = true;

    for (int i = 0; i < n; i++) {
        zero &= pads[i] == PAD_ZERO;
        all_finite &= plan_is_number(pads[i]);
    }
    if (op == OP_DIVIDE)
        return pads[0] == PAD_ZERO && pads[1] == PAD_NONZERO ? PAD_ZERO
               : has_else && all_finite                     ? PAD_FINITE
                                                            : PAD_ANY;
    if (zero)
        return at_zero(op, n);
    if (op == OP_MULTIPLY)
        return pad_product(pads[0], pads[1]);
    if (op == OP_ADD || (op == OP_SUBTRACT && pads[1] != PAD_LOWEST))
        return pad_sum(pads[0], pads[1]);
    if (op == OP_EXP && pads[0] == PAD_LOWEST)
        return PAD_ZERO;
    return bounded(op) && all_finite ? PAD_FINITE : PAD_ANY;
}

static bool reaches(const Extent *extent)
{
    return extent->kind >= EXT_ROWS;
}

/* The larger of a tile and a number above 0, as of a divisor that is kept away from 0. */
static bool is_at_least(Plan *plan, const Stmt *s)
{
    double number;

    for (int i = 0; s->op == OP_MAX && s->n_args == 2 && i < 2; i++)
        if (!plan_operand(plan, s->args[i]) && eval_float(&plan->env, s->args[i], &number) && number > 0)
            return true;
    return false;
}

/* A broadcast operand holds an element of its own there; divisors are trusted
 * not to be 0, as they are elsewhere. */
static PadSide pads_element(Plan *plan, const Stmt *s)
{
    Pad rows[3] = {PAD_NONZERO, PAD_NONZERO, PAD_NONZERO}, cols[3] = {PAD_NONZERO, PAD_NONZERO, PAD_NONZERO};
    int n = s->n_args < 3 ? s->n_args : 3;

    for (int i = 0; i < n; i++) {
        const Tile *tile = plan_operand(plan, s->args[i]);

        if (tile && reaches(tile->row))
            rows[i] = tile->pad_row;
        if (tile && reaches(tile->col))
            cols[i] = tile->pad_col;
        if (!tile && s->args[i]->kind == EXPR_INT && s->args[i]->i == 0)
            rows[i] = cols[i] = PAD_ZERO;
    }
    if (is_at_least(plan, s))
        return (PadSide){plan_is_number(rows[0]) && plan_is_number(rows[1]) ? PAD_NONZERO : PAD_ANY, plan_is_number(cols[0]) && plan_is_number(cols[1]) ? PAD_NONZERO : PAD_ANY};
    return (PadSide){pad_element(s->op, rows, n, s->otherwise != NULL),
                     pad_element(s->op, cols, n, s->otherwise != NULL)};
}

/* Rows beyond A's and columns beyond B's are products with those. */
static PadSide pads_gemm(Plan *plan, const Stmt *s)
{
    const Tile *a = plan_operand(plan, s->args[0]), *b = plan_operand(plan, s->args[1]);
    Pad row = plan_transposed(s->args[0]) ? a->pad_col : a->pad_row;
    Pad col = plan_transposed(s->args[1]) ? b->pad_row : b->pad_col;

    return (PadSide){plan_is_number(row) ? row : PAD_ANY, plan_is_number(col) ? col : PAD_ANY};
}

/* A condition on positions may keep what lies beyond the end. */
static Pad pad_mask(Pad pad, double otherwise)
{
    if (otherwise == 0 && pad == PAD_ZERO)
        return PAD_ZERO;
    if (otherwise < 0 && isinf(otherwise))
        return pad == PAD_LOWEST ? PAD_LOWEST : PAD_ANY;
    return isfinite(otherwise) && plan_is_number(pad) ? PAD_FINITE : PAD_ANY;
}

static PadSide pads_mask(Plan *plan, const Stmt *s, PadSide x)
{
    double otherwise = -INFINITY;

    if (s->otherwise && !eval_float(&plan->env, s->otherwise, &otherwise))
        otherwise = NAN;
    return (PadSide){pad_mask(x.row, otherwise), pad_mask(x.col, otherwise)};
}

/* Zeros are told from other numbers: a sum that starts so, and has zeros added beyond the end, is no divisor there. */
static PadSide pads_fill(Plan *plan, const Stmt *s)
{
    double value;
    bool zero = s->n_args > 1 && eval_float(&plan->env, s->args[1], &value) && value == 0;

    return zero ? (PadSide){PAD_ZERO, PAD_ZERO} : (PadSide){PAD_NONZERO, PAD_NONZERO};
}

static PadSide pads_define(Plan *plan, const Stmt *s)
{
    Pad pad = s->value ? plan_beyond(plan, s->value) : PAD_ANY;

    return (PadSide){pad, pad};
}

PadSide plan_pads(Plan *plan, const Stmt *s)
{
    const Tile *first = s->n_args > 0 ? plan_operand(plan, s->args[0]) : NULL;
    PadSide same = first ? (PadSide){first->pad_row, first->pad_col} : (PadSide){PAD_ANY, PAD_ANY};

    switch (op_info(s->op)->class) {
    case OPC_ELEMENT:
        return pads_element(plan, s);
    case OPC_GEMM:
        return pads_gemm(plan, s);
    case OPC_ROW_REDUCE:
        return (PadSide){same.row == PAD_ZERO ? PAD_ZERO : PAD_ANY, PAD_ANY};
    case OPC_COL_REDUCE:
        return (PadSide){PAD_ANY, same.col == PAD_ZERO ? PAD_ZERO : PAD_ANY};
    case OPC_SOFTMAX:
        return (PadSide){PAD_FINITE, same.col == PAD_LOWEST ? PAD_ZERO : PAD_FINITE};
    case OPC_MASK:
        return pads_mask(plan, s, same);
    case OPC_CAST:
        return same;
    case OPC_FILL:
        return pads_fill(plan, s);
    case OPC_DEFINE:
        return pads_define(plan, s);
    case OPC_GROUP_REDUCE:
    case OPC_REARRANGE:
    case OPC_SELECT:
        return (PadSide){PAD_ANY, PAD_ANY};
    }
    return same;
}
