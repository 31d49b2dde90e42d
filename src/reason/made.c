/* made.c: what values and conditions of elements are made of, counted once for all choices. */
#include "reason/plan.h"

static bool is_quotient(const Expr *e)
{
    return e->kind == EXPR_BINARY && (e->op == EO_IDIV || e->op == EO_MOD);
}

static bool is_term(const Expr *e)
{
    OpId op;

    if (e->kind == EXPR_CALL)
        return op_find(e->name, &op) && (op == OP_MAX || op == OP_MIN);
    return is_quotient(e) || (e->kind == EXPR_BINARY && e->op >= EO_LT && e->op <= EO_NE);
}

static int count_terms(const Expr *e)
{
    int n = 0;

    if (!e || e->kind == EXPR_INDEX)
        return 0;
    for (int i = 0; i < e->n_args; i++)
        n += count_terms(e->args[i]);
    return n + is_term(e) + count_terms(e->a) + count_terms(e->b);
}

/* Of the conditions that `and` joins, the one with most. */
static int most_terms(const Expr *e)
{
    if (e->kind != EXPR_BINARY || e->op != EO_AND)
        return count_terms(e);
    int a = most_terms(e->a), b = most_terms(e->b);
    return a > b ? a : b;
}

/* The function that costs more than plain arithmetic. */
static bool is_function(Plan *plan, const Expr *e, OpId *op)
{
    double by;

    if (e->kind == EXPR_CALL)
        return op_find(e->name, op) && plan_op_is_special(*op);
    *op = OP_DIVIDE;
    return e->kind == EXPR_BINARY && e->op == EO_DIV && !eval_float(&plan->env, e->b, &by);
}

static void find_functions(Plan *plan, const Expr *e, MadeOf *made)
{
    OpId op;

    if (!e || e->kind == EXPR_INDEX) {
        made->read |= e != NULL;
        return;
    }
    bool quotient = is_quotient(e), function = is_function(plan, e, &op);
    if ((quotient || function) && made->n < (int)TW_COUNT(made->ops))
        made->ops[made->n++] = quotient ? OP_CEIL_DIVIDE : op;
    made->quotients += quotient;
    made->parted |= quotient && (expr_reads(e->a, NULL) || expr_reads(e->b, NULL));
    find_functions(plan, e->a, made);
    find_functions(plan, e->b, made);
    for (int i = 0; i < e->n_args; i++)
        find_functions(plan, e->args[i], made);
}

const MadeOf *plan_made_of(Plan *plan, const Step *step)
{
    const Expr *e = step->class == OPC_DEFINE ? step->stmt->value : step->class == OPC_MASK ? step->stmt->where : NULL;

    if (!e || !step->result)
        return NULL;
    MadeOf *made = arena_new_of(plan->arena, MadeOf);
    find_functions(plan, e, made);
    made->terms = count_terms(e);
    made->most_terms = most_terms(e);
    made->divides_places = plan_divides_places(plan, step->result, e);
    return made;
}
