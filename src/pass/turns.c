/* turns.c: instances start their products one after the other.
 *
 * Where an iteration starts all of its products and then has arithmetic to do, instances
 * that go at it at once wait for the tensor cores together and then leave them idle
 * together. Taking turns keeps them apart:
 *
 *   %k = await %K                      %k = await %K
 *   %s = issue %q, %k.T                take_turn
 *   %v = await %V                ->    %s = issue %q, %k.T
 *   %o = issue %p, %v, %o0             %v = await %V
 *   %s.1 = finish %s                   %o = issue %p, %v, %o0
 *   arithmetic                         give_turn
 *                                      ...
 *
 * All instances make equally many iterations (rotate.c, narrow.c), so turns go round. */
#include "pass/turns.h"

#include "pass/decide.h"

/* The first and the last product that an iteration starts; false: it does not start
 * several and wait for all of them behind that. */
static bool find_products(const TileBlock *body, int *first, int *last)
{
    int n = 0, waits = 0;
    *first = *last = -1;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind == TILE_FINISH) waits++;
        if (op->kind != TILE_ISSUE) continue;
        if (waits) return false;
        if (*first < 0) *first = i;
        *last = i;
        n++;
    }
    return n > 1 && waits >= n;
}

/* Whether some loop starts its products so. */
static bool starts_several(const TileBlock *block)
{
    int first, last;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++)
            if (starts_several(op->regions[k])) return true;
        if (op->kind == TILE_FOR && find_products(op->regions[0], &first, &last)) return true;
    }
    return false;
}

static TileOp *turn_op(TileProgram *program, TileKernel *kernel, TileOpKind kind, const TileOp *beside)
{
    TileOp *op = tile_op_new(program, kernel, kind, 0, NULL, 0, NULL);
    op->loc = beside->loc;
    return op;
}

static void take_turns(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    int first, last;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) take_turns(program, kernel, op->regions[k]);
        if (op->kind != TILE_FOR || !find_products(op->regions[0], &first, &last)) continue;
        TileBlock *body = op->regions[0];
        tile_insert(program, body, last + 1, turn_op(program, kernel, TILE_GIVE_TURN, body->ops.data[last]));
        tile_insert(program, body, first, turn_op(program, kernel, TILE_TAKE_TURN, body->ops.data[first]));
    }
}

/* Of two warpgroups each waits for the tensor cores while the other has them, but they have to
 * come to that first, at every place of the grid. Turns gain half a percent of two
 * (accumulators of 128 to 256 columns), 3 to 4 of four, 1 where four leave their loops one before
 * the other, and more with more arithmetic than a softmax's. */
void turns_take(TileProgram *program, TileKernel *kernel, TileBlock *block, Diags *diags)
{
    const TileAxis *axis = tile_within(kernel);
    uint64_t off = DECIDE(SCHED_TURNS_OFF), either = off | DECIDE(SCHED_TURNS_ON);
    bool several = axis && tile_instances(kernel, axis->sym) > 1 && starts_several(block);
    if (pass_decide(kernel, SCHED_TURNS, several ? SCHED_TURNS_ON : SCHED_TURNS_OFF, several ? either : off,
                    several ? "while one's products run another computes" : "no two warpgroups start several products a turn", diags) == SCHED_TURNS_ON)
        take_turns(program, kernel, block);
}
