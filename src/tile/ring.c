/* ring.c: what can be said of rings without running anything. */
#include "tile/tile.h"

/* The expression's value in an instance, where it follows from its coordinate. */
static bool eval_of_instance(AffCtx *aff, const Aff *a, const TileRole *role, int instance, int64_t *value)
{
    if (role->per)
        a = aff_subst(aff, a, role->per, aff_const(aff, instance));
    return aff_is_const(a, value);
}

static bool block_consumes(AffCtx *aff, const TileBlock *block, const TileRole *role, int instance,
                           const TileValue *ring, int copy)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        int64_t chosen, taken;
        bool known = op->kind == TILE_IF && eval_of_instance(aff, op->cond, role, instance, &taken);
        if ((op->kind == TILE_AWAIT || op->kind == TILE_RELEASE) && op->args[0] == ring &&
            (!op->index || !eval_of_instance(aff, op->index, role, instance, &chosen) || chosen == copy))
            return true;
        for (int k = 0; k < op->n_regions; k++)
            if ((!known || (k == 0) == (taken != 0)) &&
                block_consumes(aff, op->regions[k], role, instance, ring, copy))
                return true;
    }
    return false;
}

bool tile_consumes(const TileProgram *program, const TileOp *roles, int role, int instance, const TileValue *ring,
                   int copy)
{
    return block_consumes(program->aff, roles->regions[role], &roles->roles[role], instance, ring, copy);
}
