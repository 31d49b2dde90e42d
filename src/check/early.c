/* early.c: what is done to a sum before it is complete.
 *
 *   for k = 0:ceil(K / BK)
 *     Compute GEMM A, B and accumulate C     A's columns run along k: C is complete behind the loop
 *     Compute Add C, bias and get new C      added in each turn: ceil(K / BK) times
 *   end
 *
 * How many turns there are is a matter of tiles, so what is the same in each of them was meant for the whole sum. Factors
 * are left alone, since a sum may well decay from turn to turn; so is what differs between turns, and what the sum is
 * under a condition.
 */
#include "check/walk.h"

/* Whether the loop brings the tile's stages, each from another part of the dimension. */
static bool brings_stages(const Block *block, const char *tile, const char *axis, const char *counter)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool ours = s->kind == STMT_COPY && s->stage && s->space == SPACE_GLOBAL && strcmp(copy_dest(s), tile) == 0;

        for (int k = 0; ours && k < s->n_coords; k++)
            if (s->coords[k].name && strcmp(s->coords[k].name, axis) == 0 && expr_mentions(s->coords[k].value, counter))
                return true;
        if (brings_stages(&s->body, tile, axis, counter) || brings_stages(&s->orelse, tile, axis, counter))
            return true;
    }
    return false;
}

/* Whether each turn of the loop has another part of a dimension that an operand is summed over along. */
static bool runs_along(const Loop *loop, const Operand *o, const Extent *along)
{
    if (!o || !loop->sym)
        return false;
    if (along->first)
        return aff_uses(along->first, loop->sym);
    return along->axis && o->part && o->tensor && brings_stages(&loop->stmt->body, o->tensor->name, along->axis, loop->stmt->name);
}

void early_sum(Checker *c, const Stmt *s, const Operand *a, const Extent *along_a, const Operand *b, const Extent *along_b)
{
    for (int i = 0; i < c->n_loops && s->result == RESULT_ACCUMULATE && s->dest; i++)
        if (runs_along(&c->loops[i], a, along_a) || runs_along(&c->loops[i], b, along_b))
            vec_push(c->arena, &c->sums, (Sum){c->loops[i].stmt, s->dest});
}

/* The name that a statement gives a value, or a part of one; NULL: none. */
static const char *written(const Stmt *s)
{
    if (s->kind == STMT_COPY)
        return copy_dest(s);
    if (s->kind == STMT_ASSIGN || s->kind == STMT_RESHAPE || s->kind == STMT_FOR)
        return s->name;
    return s->kind == STMT_COMPUTE ? expr_base_name(compute_result(s)) : NULL;
}

typedef bool Test(const Stmt *s, const void *user);

static bool any_in(const Block *block, Test *test, const void *user)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (test(s, user) || any_in(&s->body, test, user) || any_in(&s->orelse, test, user))
            return true;
    }
    return false;
}

/* ---- what is the same in each turn ----------------------------------------------------------- */

enum { DEEPEST = 8 }; /* statements that one is made through: what has three operands at each is looked at 3^8 times */

static bool same_name(const Stmt *loop, const char *name, int depth);

static bool same_value(const Stmt *loop, const Expr *e, int depth)
{
    if (!e)
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (!same_value(loop, e->args[i], depth))
            return false;
    return (e->kind != EXPR_NAME || same_name(loop, e->name, depth)) && same_value(loop, e->a, depth) && same_value(loop, e->b, depth);
}

/* Whether a statement of the loop gives its result the same value in each turn. */
static bool same_result(const Stmt *loop, const Stmt *s, int depth)
{
    bool same = same_value(loop, s->where, depth) && same_value(loop, s->otherwise, depth) && same_value(loop, s->value, depth) &&
                same_value(loop, s->stage, depth) && s->n_with == 0;

    for (int i = 0; i < s->n_coords; i++)
        same &= same_value(loop, s->coords[i].value, depth);
    for (int i = 0; i < s->n_args; i++)
        same &= same_value(loop, s->args[i], depth);
    if (s->kind == STMT_COPY)
        return same && s->space == SPACE_GLOBAL && !s->target;
    return same && s->kind == STMT_COMPUTE && s->dest && s->dest->kind == EXPR_NAME && s->result == RESULT_GET;
}

static bool writes(const Stmt *s, const void *name)
{
    const char *to = written(s);

    return (to && strcmp(to, name) == 0) || (s->n_with == 2 && (expr_mentions(s->with[0], name) || expr_mentions(s->with[1], name)));
}

/* Written before the loop, or in its first level alone. */
static bool same_name(const Stmt *loop, const char *name, int depth)
{
    if (strcmp(loop->name, name) == 0 || depth == DEEPEST)
        return false;
    for (int i = 0; i < loop->body.len; i++) {
        const Stmt *s = loop->body.data[i];
        const char *to = written(s);

        if (s->kind == STMT_FOR || s->kind == STMT_IF) {
            if ((to && strcmp(to, name) == 0) || any_in(&s->body, writes, name) || any_in(&s->orelse, writes, name))
                return false;
        } else if (to && strcmp(to, name) == 0 && !same_result(loop, s, depth + 1))
            return false;
    }
    return true;
}

/* ---- sums of a loop ------------------------------------------------------------------------------ */

/* Whether the statement makes the tile anew, so that no sum goes round. */
static bool sets(const Stmt *s, const void *name)
{
    const char *to = written(s);

    if (!to || strcmp(to, name) != 0 || s->result == RESULT_ACCUMULATE)
        return false;
    for (int i = 0; i < s->n_args; i++)
        if (expr_mentions(s->args[i], name) && !(s->op_known && op_info(s->op)->class == OPC_FILL))
            return false;
    return true;
}

bool early_begins_anew(const Stmt *loop, const char *sum)
{
    return any_in(&loop->body, sets, sum);
}

/* Whether the statement changes the sum as only a whole one is: by an operation that is no factor, of what is the same
 * in each turn. */
static bool is_early(const Stmt *loop, const Stmt *s, const char *sum)
{
    const char *to = s->kind == STMT_COMPUTE && s->op_known ? written(s) : NULL;
    const Expr *dest = compute_result(s);
    int own = 0;

    if (!to || strcmp(to, sum) != 0 || dest->kind != EXPR_NAME || op_info(s->op)->class != OPC_ELEMENT || s->op == OP_MULTIPLY ||
        s->op == OP_DIVIDE || s->op == OP_NEGATE || s->op == OP_FMA || s->op == OP_WHERE)
        return false;
    for (int i = 0; i < s->n_args; i++) {
        bool is_sum = expr_mentions(s->args[i], sum);

        own += is_sum;
        if (!is_sum && !same_value(loop, s->args[i], 0))
            return false;
    }
    return own == (s->result != RESULT_ACCUMULATE);
}

void early_loop(Checker *c, const Stmt *loop)
{
    for (int i = 0; i < c->sums.len; i++) {
        const Expr *sum = c->sums.data[i].dest;

        if (c->sums.data[i].loop != loop || sum->kind != EXPR_NAME || early_begins_anew(loop, sum->name))
            continue;
        for (int k = 0; k < loop->body.len; k++) {
            const Stmt *s = loop->body.data[k];

            if (!is_early(loop, s, sum->name) || late_said(c, TW0445, s->span))
                continue;
            diag_note(c->late,
                      diag_add(c->late, TW0445, s->span, "'%s' still grows in this loop, and each turn of '%s' does this again: do it behind it",
                               sum->name, loop->name),
                      "how many turns there are is a matter of the tiles' size");
        }
    }
}
