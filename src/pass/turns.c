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

typedef struct Loops {
    bool some;  /* start their products so */
    bool even;  /* all of these go equally far for all instances */
    int work;   /* operations on an element, of the one that has most */
} Loops;

/* Operations on each element of a matrix that an iteration always does. An online softmax has two;
 * with MORE its arithmetic takes as long as its products. */
enum { MORE = 3, SIGMOID = 3 };

static int work_of(const TileBlock *body)
{
    int n = 0;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind != TILE_ELEMENT || op->results[0]->type.rows == 1 || op->results[0]->type.cols == 1) continue;
        n += op->op == OP_SIGMOID ? SIGMOID : 1;
    }
    return n;
}

static void find_loops(const TileBlock *block, Loops *loops)
{
    int first, last;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) find_loops(op->regions[k], loops);
        if (op->kind != TILE_FOR || !find_products(op->regions[0], &first, &last)) continue;
        loops->some = true;
        loops->even &= !op->until;
        int work = work_of(op->regions[0]);
        if (work > loops->work) loops->work = work;
    }
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
 * come to that first, at every place of the grid: turns gain half a percent (attention, d128 to
 * d256), of four 3 to 4. Where some leave a loop before others, taking turns with them costs as
 * much, but with more arithmetic than a softmax's it pays all the same (measured at d64, causal:
 * 6 % with a bias by place, 10 % of a sigmoid). */
static bool pays(const Loops *loops)
{
    return loops->even || loops->work >= MORE;
}

void turns_take(TileProgram *program, TileKernel *kernel, TileBlock *block, Diags *diags)
{
    const TileAxis *axis = tile_within(kernel);
    uint64_t off = DECIDE(SCHED_TURNS_OFF), either = off | DECIDE(SCHED_TURNS_ON);
    Loops loops = {.even = true};
    find_loops(block, &loops);
    bool several = axis && tile_instances(kernel, axis->sym) > 1 && loops.some;
    SchedValue best = several && pays(&loops) ? SCHED_TURNS_ON : SCHED_TURNS_OFF;
    if (pass_decide(kernel, SCHED_TURNS, best, several ? either : off, diags) == SCHED_TURNS_ON)
        take_turns(program, kernel, block);
}
