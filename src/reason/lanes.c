/* lanes.c: tiles that a warpgroup of its own will bring, 16 bytes a lane, and no bulk copy (pass/split.c).
 *
 * Those whose rows lie each where its coordinates say, and those whose rows a bulk copy brings slowly. Where all
 * tiles come so, there is no warpgroup that only starts bulk copies.
 */
#include "reason/plan.h"

#include "layout/lay.h"

enum { STRIP = 8 }; /* rows that a bulk copy brings at least */

static bool is_of_strips(Plan *plan, const Expr *divisor)
{
    double parts;

    return eval_float(&plan->env, divisor, &parts) && (int64_t)parts % STRIP == 0;
}

/* Whether all rows of a strip give one number. */
static bool is_even(Plan *plan, const Expr *e)
{
    if (!e || !expr_mentions(e, "row"))
        return true;
    if (e->kind == EXPR_BINARY && e->op == EO_IDIV && is_of_strips(plan, e->b))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (!is_even(plan, e->args[i]))
            return false;
    return !expr_is_name(e, "row") && is_even(plan, e->a) && is_even(plan, e->b);
}

/* Whether rows of a tile that follow one another lie so, eight at least, where coordinates say of each where it lies:
 * elements of a tensor lie anywhere. */
static bool keeps_strips(Plan *plan, const Expr *e)
{
    if (!e || !expr_mentions(e, "row"))
        return true;
    if (e->kind == EXPR_INDEX)
        return is_even(plan, e);
    for (int i = 0; i < e->n_args; i++)
        if (!keeps_strips(plan, e->args[i]))
            return false;
    bool cut = e->kind == EXPR_BINARY && (e->op == EO_IDIV || e->op == EO_MOD);
    return (!cut || is_of_strips(plan, e->b)) && keeps_strips(plan, e->a) && keeps_strips(plan, e->b);
}

static bool keeps_rows(Plan *plan, const Stmt *copy)
{
    for (int k = 0; k < copy->n_coords; k++)
        if (!keeps_strips(plan, copy->coords[k].value))
            return false;
    return true;
}

static bool is_ragged(const Choice *c, const Tile *tile)
{
    return tile->row && lay_is_ragged(tile->col->known, (int)c->size[tile->col->id], dtype_bytes(tile->shared_dtype));
}

enum { RAGGED = 2 * TARGET_LOOKUPS }; /* beside those: what lanes bring where all tiles are such, and else bulk copies */

BringStep plan_brings(Plan *plan, const Step *step)
{
    const Stmt *s = step->stmt;

    if (s->space != SPACE_GLOBAL || s->to_space != SPACE_SHARED || !step->dest)
        return BRING_NONE;
    if (plan_by_rows(plan, s))
        return keeps_rows(plan, s) ? BRING_BULK : BRING_LANES;
    return BRING_SIZED;
}

static unsigned who_brings(const Choice *c, const Steps *steps)
{
    static const unsigned who_by[] = {[BRING_NONE] = 0, [BRING_BULK] = TARGET_COPIER, [BRING_SIZED] = TARGET_COPIER, [BRING_LANES] = TARGET_LANES | TARGET_LOOKUPS};
    unsigned who = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        who |= step->bring == BRING_SIZED && is_ragged(c, step->dest) ? RAGGED : who_by[step->bring];
        if (step->body.len || step->orelse.len)
            who |= who_brings(c, &step->body) | who_brings(c, &step->orelse);
    }
    return who;
}

unsigned plan_beside(Plan *plan, const Choice *c)
{
    bool prepares = plan_prepares(plan, c);
    unsigned who = who_brings(c, &plan->steps);

    if (who & RAGGED)
        who = who == RAGGED && !prepares ? TARGET_LANES : (who & ~(unsigned)RAGGED) | TARGET_COPIER;
    return who | (prepares ? TARGET_PREPARER : 0);
}

bool plan_comes(Plan *plan, const Choice *c)
{
    Choice divided = *c;

    divided.groups = 1;
    unsigned beside = plan_beside(plan, &divided);
    return !(beside & TARGET_LANES && beside & TARGET_PREPARER);
}
