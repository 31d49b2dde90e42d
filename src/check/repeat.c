/* repeat.c: a factor that a tile gets twice.
 *
 *   Compute Multiply S, scale and get new S
 *   Compute Mask S where j <= i
 *   Compute Multiply S, scale and get new S    again: nothing made S anew in between
 *
 * Of numbers that have a name; one that is written out may well be meant twice.
 */
#include "check/walk.h"

/* The tile that a statement multiplies in place by a named number, or divides; NULL: it does not. */
static const char *scaled(const Checker *c, const Stmt *s)
{
    bool scales = s->kind == STMT_COMPUTE && s->op_known && (s->op == OP_MULTIPLY || s->op == OP_DIVIDE) && s->n_args == 2;
    if (!scales || s->result == RESULT_ACCUMULATE || s->args[0]->kind != EXPR_NAME || s->args[1]->kind != EXPR_NAME)
        return NULL;
    if ((s->dest && !expr_equal(s->dest, s->args[0])) || names_find(c, s->args[1]->name))
        return NULL;
    return s->args[0]->name;
}

static bool renews(const Stmt *s, const char *tile)
{
    const Expr *to = compute_result(s);
    bool reads = false;
    if (s->kind != STMT_COMPUTE)
        return (s->kind == STMT_COPY && strcmp(copy_dest(s), tile) == 0) || s->kind == STMT_FOR || s->kind == STMT_IF;
    for (int i = 0; i < s->n_args; i++)
        reads |= expr_mentions(s->args[i], tile);
    bool fill = s->op_known && op_info(s->op)->class == OPC_FILL;
    return expr_mentions(to, tile) && (!reads || fill || s->result == RESULT_ACCUMULATE || (s->op_known && s->op != OP_MULTIPLY && s->op != OP_DIVIDE && s->op != OP_MASK));
}

void repeat_check(Checker *c, const Block *block, int at)
{
    const Stmt *s = block->data[at];
    const char *tile = scaled(c, s);
    for (int i = at - 1; tile && i >= 0 && !renews(block->data[i], tile); i--) {
        const Stmt *before = block->data[i];
        const char *same = scaled(c, before);
        if (!same || strcmp(same, tile) != 0 || before->op != s->op || !expr_equal(before->args[1], s->args[1]))
            continue;
        Diag *d = diag_add(c->late, TW0455, s->span, "'%s' was %s by '%s' already", tile, s->op == OP_MULTIPLY ? "multiplied" : "divided",
                           s->args[1]->name);
        fix_removal(c, d, s, "do it once");
        return;
    }
}
