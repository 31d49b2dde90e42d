/* anew.c: what follows from the lane's number and the block's, made anew where it is wanted.
 *
 * An address is the same in each turn of a loop, and its parts are the same behind the loop as
 * ahead of it. So ptxas makes each once and keeps it, and where registers are scarce (room.c) it
 * spills some. There every operation of a loop that multiplies has a lane's number of its own (in the entry
 * for any alignment a warp's as well), and
 * so has what comes behind the loop, with a block's number of its own: a 0 is added that ptxas does
 * not know, the sign of the loop's counter. What follows from it goes no further out than to that
 * loop (Emitter.floor), and of what does not change only the lane's number stands through it.
 */
#include "ptx/emit.h"

/* The number again, which ptxas takes for another. */
static const char *another(Emitter *e, const char *number, const char *zero)
{
    const char *sum = em_new(e, REG_R);
    em(e, "add.s32 %s, %s, %s;", sum, number, zero);
    return sum;
}

static const char *unknown_zero(Emitter *e, const char *counter)
{
    const char *zero = em_new(e, REG_R);
    em(e, "and.b32 %s, %s, -2147483648;", zero, counter);
    return zero;
}

/* Of the lane's own number, without asking the others. */
static const char *warp_of(Emitter *e)
{
    const char *warp = em_new(e, REG_R);
    em(e, "shr.u32 %s, %s, 5;", warp, e->tid);
    return warp;
}

LaneNumbers an_enter(Emitter *e)
{
    LaneNumbers kept = {.tid = e->tid, .lane = e->lane, .warp = e->warp, .lanes = e->lanes};
    if (e->room != ROOM_SCARCE || em_level(e) != e->turn_level) return kept;
    const char *zero = unknown_zero(e, e->turn);
    kept.left = true;
    memset(&e->lanes, 0, sizeof e->lanes);
    e->tid = another(e, e->tid, zero);
    e->lane = another(e, e->lane, zero);
    if (!e->aligned) e->warp = warp_of(e);
    e->floor = e->turn_level;
    return kept;
}

void an_leave(Emitter *e, const LaneNumbers *kept)
{
    if (!kept->left) return;
    e->floor = 0;
    e->tid = kept->tid;
    e->lane = kept->lane;
    e->warp = kept->warp;
    e->lanes = kept->lanes;
}

void an_behind_loop(Emitter *e, const char *counter)
{
    const char *zero = unknown_zero(e, counter), *block = em_new(e, REG_R);
    for (int k = 0; k < MEMO_KINDS; k++) e->memos[k].len = 0;
    memset(&e->lanes, 0, sizeof e->lanes);
    memset(e->base, 0, (size_t)e->program->tensors.len * sizeof *e->base);
    memset(e->stride, 0, (size_t)e->program->tensors.len * sizeof *e->stride);
    kn_lanes(e, zero);
    em(e, "mov.u32 %s, %%ctaid.x;", block);
    kn_decode_grid(e, another(e, block, zero));
}
