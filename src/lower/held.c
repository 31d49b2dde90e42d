/* held.c: tiles in registers that a branch alone sets, and later ones read under the same condition.
 *
 *   if last                                              %r = if last { load R; yield } else { fill 0; yield }
 *     Copy R ... from global to register          ->     ...
 *   end                                                  if last { add C, %r }
 *   ...
 *   if last
 *     Compute Add C, R and get new C
 *   end
 *
 * Where the condition does not hold the name has no value, as before: reading it there is refused.
 */
#include "lower/state.h"

/* Whether one of the conditions that `all` joins is `one`. */
static bool joins(const Aff *all, const Aff *one)
{
    return all == one || (all->kind == AFF_AND && (joins(all->a, one) || joins(all->b, one)));
}

static bool follows(AffCtx *aff, const Aff *from, const Aff *cond)
{
    if (cond->kind == AFF_AND && follows(aff, from, cond->a) && follows(aff, from, cond->b)) return true;
    return joins(from, cond) || aff_always(aff, aff_or(aff, aff_not(aff, from), cond));
}

static const Aff *condition_of(Lower *lo, const Arm *arm)
{
    return arm->orelse ? aff_not(lo->program->aff, arm->cond) : arm->cond;
}

static const Held *held(const Lower *lo, const char *name)
{
    for (int i = lo->held.len - 1; i >= 0; i--)
        if (strcmp(lo->held.data[i].name, name) == 0) return lo->held.data[i].value ? &lo->held.data[i] : NULL;
    return NULL;
}

void lo_hold_enter(Lower *lo)
{
    AffCtx *aff = lo->program->aff;
    const Aff *here = aff_const(aff, 1);
    if (!lo->held.len) return;
    for (int i = 0; i < lo->arms.len; i++) here = aff_and(aff, here, condition_of(lo, &lo->arms.data[i]));
    for (int i = 0; i < lo->locals.len; i++) {
        Local *local = &lo->locals.data[i];
        const Held *h = local->reg || local->scalar ? NULL : held(lo, local->name);
        if (!h || !follows(aff, here, h->holds)) continue;
        local->reg = h->value;
        local->version = ++lo->versions;
    }
}

void lo_hold_no_more(Lower *lo, const char *name)
{
    if (held(lo, name)) vec_push(lo->arena, &lo->held, (Held){.name = name});
}

TileValue *lo_held_start(Lower *lo, const char *name)
{
    const Held *h = held(lo, name);
    return h ? h->value : NULL;
}

/* Nothing of a softmax, whose units a result of an if would not know. */
static bool is_plain(Lower *lo, const TileValue *v)
{
    const Lineage *l = lo_lineage(lo, v);
    return v->type.kind == TT_TILE && v->type.space == SPACE_REGISTER && !l->alpha && !l->rescaled && !l->doubtful && !l->doubted && !l->lost && !l->unit &&
           !l->param && !l->owes;
}

static void yield_from(Lower *lo, TileBlock *arm, TileValue *v, TileType type)
{
    if (!v) {
        TileOp *fill = tile_op_new(lo->program, lo->kernel, TILE_FILL, 0, NULL, 1, &type);
        fill->loc = lo->rw.loc;
        tile_insert(lo->program, arm, arm->ops.len - 1, fill);
        v = fill->results[0];
    }
    rw_yield(lo->program, arm, v);
}

void lo_hold_arms(Lower *lo, TileOp *branch, const ArmEnd *const *ends, int n_ends)
{
    for (int i = 0; i < n_ends; i++) {
        const char *name = lo->locals.data[i].name;
        const Held *before = held(lo, name);
        TileValue *was = before ? before->value : NULL;
        const Aff *holds = before ? before->holds : NULL;
        int by = ends[0][i].reg ? 0 : 1;
        TileValue *v = ends[by][i].reg;
        if ((!ends[0][i].reg || ends[0][i].reg == was) && (!ends[1][i].reg || ends[1][i].reg == was)) continue;
        lo_hold_no_more(lo, name);
        if (lo->locals.data[i].reg || ends[1 - by][i].reg) continue; /* it has a value behind both */
        if (ends[by][i].integer || !is_plain(lo, v)) continue;
        bool stays = was && was->type.dtype == v->type.dtype && was->type.rows == v->type.rows && was->type.cols == v->type.cols;
        for (int r = 0; r < 2; r++) yield_from(lo, branch->regions[r], r == by ? v : stays ? was : NULL, v->type);
        TileValue *result = rw_result(lo->program, lo->kernel, branch, v->type);
        result->name = name;
        for (int k = 0; k < 2; k++) lo_lineage(lo, result)->axis[k] = lo_lineage(lo, v)->axis[k];
        vec_push(lo->arena, &lo->joined, (Joined){branch, result});
        const Aff *cond = condition_of(lo, &(Arm){branch->cond, by == 1});
        vec_push(lo->arena, &lo->held, (Held){name, stays ? aff_or(lo->program->aff, holds, cond) : cond, result});
    }
}
