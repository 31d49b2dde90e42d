/* propose_by_hand.c: steps of a softmax that a Kernel writes out, or combines the parts of, one of which is missing. Each is
 * executed beside the definition before it is suggested (vary.h), which says a Softmax and none of them.
 *
 *   Compute Subtract w, top and get new w       Compute Subtract w, top and get new w
 *                                               Compute Exp w and get new w
 *   Compute Add L, M and get lse                Compute Log L and get new L
 *                                               Compute Add L, M and get lse
 *   Compute Add sum, part and get new sum       Compute Multiply part, w and get new part
 *                                               Compute Add sum, part and get new sum
 */
#include "suggest/vary.h"

static const char LABEL[] = "a step of a softmax that was left out";

static bool is_op(const Stmt *s, OpId op)
{
    return s->kind == STMT_COMPUTE && s->op_known && s->op == op && !s->listed;
}

static bool try_before(Vary *v, const Stmt *s, const char *step)
{
    return suggest_edit(v->s, suggest_before(v->s, s), arena_printf(v->s->arena, "%s%s\n", suggest_indent(v->s, s->span.start), step), LABEL);
}

static bool has_op(const Vary *v, OpId op)
{
    for (int i = 0; i < v->computes.len; i++)
        if (is_op(v->computes.data[i], op))
            return true;
    return false;
}

/* The exponential of a difference. */
static bool try_exponential(Vary *v, const Stmt *s)
{
    const char *made = is_op(s, OP_SUBTRACT) ? vary_result(s) : NULL;
    const char *text = made ? arena_printf(v->s->arena, "\n%sCompute Exp %s and get new %s", suggest_indent(v->s, s->span.start), made, made) : NULL;

    return text && suggest_edit(v->s, (Span){s->span.end, s->span.end}, text, LABEL);
}

/* The logarithm of a column that is added to another. */
static bool try_logarithm(Vary *v, const Stmt *s)
{
    bool sum = (is_op(s, OP_ADD) || is_op(s, OP_SUBTRACT)) && s->n_args == 2 && !has_op(v, OP_LOG) && !has_op(v, OP_LOG2);

    for (int i = 0; sum && i < 2; i++) {
        const char *name = expr_base_name(s->args[i]);

        if (vary_has(&v->columns, name) && try_before(v, s, arena_printf(v->s->arena, "Compute Log %s and get new %s", name, name)))
            return true;
    }
    return false;
}

/* A part's own weight, before it is added up. */
static bool try_weight(Vary *v, const Stmt *s)
{
    bool sum = is_op(s, OP_ADD) && s->n_args == 2 && s->dest && expr_equal(s->dest, s->args[0]);
    const char *part = sum ? expr_base_name(s->args[1]) : NULL;

    for (int i = v->columns.len - 1; part && i >= 0; i--) {
        const char *column = v->columns.data[i];
        bool other = strcmp(column, part) != 0 && !expr_is_name(s->args[0], column);

        if (other && try_before(v, s, arena_printf(v->s->arena, "Compute Multiply %s, %s and get new %s", part, column, part)))
            return true;
    }
    return false;
}

static bool try_steps(Vary *v)
{
    for (int i = 0; i < v->computes.len; i++)
        if (try_exponential(v, v->computes.data[i]) || try_logarithm(v, v->computes.data[i]) || try_weight(v, v->computes.data[i]))
            return true;
    return false;
}

/* Where the definition has a softmax, and no Kernel need say so. */
bool propose_by_hand(Suggester *s)
{
    const Unit *definition = vary_definition(s);
    bool softmax = false;

    for (int i = 0; definition && i < definition->body.len; i++)
        softmax |= is_op(definition->body.data[i], OP_SOFTMAX) || is_op(definition->body.data[i], OP_EXP);
    return softmax && vary_each(s, try_steps);
}
