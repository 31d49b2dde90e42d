/* state.c: the state of a softmax, its maximum first.
 *
 *   Compute Softmax S with L and M            L becomes the maximum, M the sum
 *   ...
 *   Compute Divide O, L else 0 and get new O  by the maximum
 *
 * A maximum of scores is no divisor, and has no logarithm: where the program takes it for one, the names were
 * exchanged, or another was meant.
 */
#include "check/walk.h"

/* Whether anything but softmaxes that have it as their maximum, and what starts them, gives the name a value. */
static bool means_more(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool fill = s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == OPC_FILL;
        bool to = (s->dest && expr_mentions(s->dest, name)) || (s->kind == STMT_COMPUTE && !s->dest && s->n_args && expr_is_name(s->args[0], name)) ||
                  (s->kind == STMT_COPY && s->to_space != SPACE_GLOBAL && strcmp(copy_dest(s), name) == 0) ||
                  (s->n_with == 2 && expr_is_name(s->with[1], name));
        if ((to && !fill) || means_more(&s->body, name) || means_more(&s->orelse, name))
            return true;
    }
    return false;
}

/* The operand that must not be below 0, where an operation takes it for a sum: NULL: none. */
static const Expr *taken_for_sum(const Stmt *s)
{
    if (s->kind != STMT_COMPUTE || !s->op_known)
        return NULL;
    if (s->op == OP_DIVIDE && s->n_args == 2)
        return s->args[1];
    return (s->op == OP_LOG || s->op == OP_LOG2 || s->op == OP_RECIPROCAL) && s->n_args == 1 ? s->args[0] : NULL;
}

static void say_uses(Checker *c, const Block *block, const Stmt *softmax)
{
    const char *maximum = softmax->with[0]->name, *sum = softmax->with[1]->name;
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const Expr *e = taken_for_sum(s);
        if (e && expr_is_name(e, maximum) && !late_said(c, TW0454, e->span)) {
            Diag *d = diag_add(c->late, TW0454, e->span, "'%s' is the softmax's maximum, and taken for its sum", maximum);
            diag_note(c->late, d, "`with %s and %s` names the maximum first, then the sum", maximum, sum);
        }
        say_uses(c, &s->body, softmax);
        say_uses(c, &s->orelse, softmax);
    }
}

static void look(Checker *c, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool state = s->kind == STMT_COMPUTE && s->op_known && s->op == OP_SOFTMAX && s->n_with == 2 &&
                     s->with[0]->kind == EXPR_NAME && s->with[1]->kind == EXPR_NAME;
        if (state && !late_said(c, TW0442, s->span) && !means_more(&c->unit->body, s->with[0]->name))
            say_uses(c, &c->unit->body, s);
        look(c, &s->body);
        look(c, &s->orelse);
    }
}

void state_finish(Checker *c)
{
    if (!c->loose || c->sketch)
        look(c, &c->unit->body);
}
