/* narrow.c: instances leave a loop where their own iterations end.
 *
 * All instances of a block share what its loops stream, so loops run as long as any of
 * them needs (rotate.c). For the others the last iterations change nothing; they leave
 * out all of them but the handing back of stages:
 *
 *   for j = lo:hi until end {            for j = lo:end { ... }
 *     %k = await %K                      the rest of an iteration, if the loop was turned
 *     use %k                      ->     for j = max(lo, end):hi {
 *     release %K }                         await %K
 *                                          release %K }
 *
 * Rings go round in order whoever reads them, so what follows a turned loop awaits the
 * stages that belong to the iteration in which it was left. */
#include "pass/narrow.h"

#include "pass/rewrite.h"

/* Whether each stage is awaited and given back in the loop's own block, or by what follows. */
static bool is_plain(const TileBlock *body)
{
    for (int i = 0; i < body->ops.len; i++)
        for (int k = 0; k < body->ops.data[i]->n_regions; k++)
            if (tile_has(body->ops.data[i]->regions[k], TILE_AWAIT) || tile_has(body->ops.data[i]->regions[k], TILE_RELEASE)) return false;
    return true;
}

/* Behind the loop and what gives back the last of its stages. */
static int after_stages(const TileBlock *block, int at)
{
    const TileBlock *body = block->ops.data[at]->regions[0];
    int end = at + 1;
    for (int i = end; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_RELEASE && rw_awaits(body, 0, body->ops.len, op->args[0])) end = i + 1;
    }
    return end;
}

/* Whether what follows waits for other tiles before it has given back the loop's last ones: they come when
 * the turns of the others have passed, and these pass only then. */
static bool waits_first(const TileBlock *block, int at)
{
    const TileBlock *body = block->ops.data[at]->regions[0];
    int end = after_stages(block, at);
    for (int i = at + 1; i < end; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_AWAIT && !rw_awaits(body, 0, body->ops.len, op->args[0])) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (tile_has(op->regions[k], TILE_AWAIT)) return true;
    }
    return false;
}

static void give_back(TileProgram *program, TileKernel *kernel, const TileOp *await, TileBlock *to)
{
    TileValue *ring = await->args[0];
    TileOp *wait = tile_op_new(program, kernel, TILE_AWAIT, 1, &ring, 1, &await->results[0]->type);
    TileOp *back = tile_op_new(program, kernel, TILE_RELEASE, 1, &ring, 0, NULL);
    wait->row_dim = wait->col_dim = -1;
    wait->index = back->index = await->index;
    wait->loc = back->loc = await->loc;
    tile_append(program, to, wait);
    tile_append(program, to, back);
}

/* for j = max(lo, end):hi { await and release each ring } */
static TileOp *others_turns(TileProgram *program, TileKernel *kernel, const TileOp *loop)
{
    const TileBlock *body = loop->regions[0];
    TileOp *op = tile_op_new(program, kernel, TILE_FOR, 0, NULL, 0, NULL);
    TileBlock *turns = tile_block_new(program);
    op->regions = arena_array(program->arena, TileBlock *, 1);
    op->regions[0] = turns;
    op->n_regions = 1;
    op->loc = loop->loc;
    op->lo = aff_max(program->aff, loop->lo, loop->until);
    op->hi = loop->hi;
    op->var = aff_sym_new(program->aff, loop->var->name, AFF_LOOP, loop->var->lo, loop->var->hi);
    op->note = "for the others";
    for (int i = 0; i < body->ops.len; i++) /* a turn is there for each iteration, and passes before any waiting */
        if (body->ops.data[i]->kind == TILE_TAKE_TURN || body->ops.data[i]->kind == TILE_GIVE_TURN)
            tile_append(program, turns, tile_op_new(program, kernel, body->ops.data[i]->kind, 0, NULL, 0, NULL));
    for (int i = 0; i < body->ops.len; i++)
        if (body->ops.data[i]->kind == TILE_AWAIT) give_back(program, kernel, body->ops.data[i], turns);
    tile_append(program, turns, tile_op_new(program, kernel, TILE_YIELD, 0, NULL, 0, NULL));
    return op;
}

static void narrow_loop(TileProgram *program, TileKernel *kernel, TileBlock *block, int at)
{
    TileOp *loop = block->ops.data[at];
    if (is_plain(loop->regions[0]) && !waits_first(block, at)) {
        TileOp *rest = others_turns(program, kernel, loop);
        tile_insert(program, block, after_stages(block, at), rest);
        loop->hi = loop->until;
    }
    loop->until = NULL;
}

void narrow_loops(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) narrow_loops(program, kernel, op->regions[k]);
        if (op->kind == TILE_FOR && op->until) narrow_loop(program, kernel, block, i);
    }
}
