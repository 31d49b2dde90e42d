/* cold.c: what only revisions need is made in them.
 *
 *   %s = add %x, %b                        %p1 = revise %p where any %p >= 2 {
 *   %p1 = revise %p where any %p >= 2 {      %s = add %x, %b
 *     %m = rowmax %s                  ->     %m = rowmax %s
 *     ... }                                  ... }
 *
 * Regions are rarely executed: what they need besides is not worth its time, nor its registers,
 * whenever they are not. Matrices of arithmetic alone, an element of which takes no more
 * than what it is made of; of indices, which are made of nothing, they have their own. */
#include "pass/cold.h"

#include "pass/copies.h"

typedef struct Cold {
    TileProgram *program;
    TileKernel *kernel;
    TileBlock *block;
} Cold;

static bool may_sink(const TileOp *op)
{
    const TileType *type = op->n_results == 1 ? &op->results[0]->type : NULL;
    return type && type->rows > 1 && type->cols > 1 && (op->kind == TILE_ELEMENT || op->kind == TILE_INDEX);
}

/* Whether regions behind `at` alone use the value. */
static bool only_in_regions(const TileBlock *block, int at, const TileValue *v)
{
    bool some = false;
    for (int i = at + 1; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            if (op->args[k] == v) return false;
        bool within = tile_op_uses(op, v);
        if (within && op->kind != TILE_REVISE) return false;
        some |= within;
    }
    return some;
}

/* Each region that uses it makes it itself. */
static void copy_in(const Cold *c, int at)
{
    TileOp *op = c->block->ops.data[at];
    for (int i = at + 1; i < c->block->ops.len; i++) {
        const TileOp *revise = c->block->ops.data[i];
        if (revise->kind != TILE_REVISE || !tile_op_uses(revise, op->results[0])) continue;
        TileBlock *made = tile_block_new(c->program), one = {.ops = {.data = &op, .len = 1, .cap = 1}};
        Copier copier = copier_new(c->program, c->kernel, NULL, NULL);
        copy_ops(&copier, &one, 0, 1, made);
        tile_insert(c->program, revise->regions[0], 0, made->ops.data[0]);
        tile_replace_uses(revise->regions[0], op->results[0], made->ops.data[0]->results[0]);
    }
}

void cold_sink(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    Cold c = {program, kernel, block};
    for (int i = block->ops.len - 1; i >= 0; i--) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) cold_sink(program, kernel, op->regions[k]);
        if (!may_sink(op)) continue;
        bool only = only_in_regions(block, i, op->results[0]);
        if (only || op->kind == TILE_INDEX) copy_in(&c, i);
        if (only) tile_remove(block, i);
    }
}
