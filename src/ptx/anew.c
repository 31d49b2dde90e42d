/* anew.c: what follows from the lane's number and the block's, made anew where it is wanted.
 *
 * An address is the same in each turn of a loop, and its parts are the same behind the loop as
 * ahead of it. So ptxas makes each once and keeps it, and where registers are scarce (room.c) it
 * spills some. There every operation of a loop that multiplies has a lane's number of its own (in the entry
 * for any alignment a warp's as well), and
 * so has what comes behind the loop, with a block's number of its own: a 0 is added that ptxas does
 * not know, the sign of the loop's counter. What follows from it goes no further out than to that
 * loop (Emitter.floor), and of what does not change only the lane's number stands through it.
 *
 * A role that prepares tiles part after part tests each element that it reads against the tensor's sizes. So that ptxas
 * neither makes several parts at once nor keeps what they have in common, a trap that never happens stands between them,
 * which it can know as little as the next one, and each part has sizes of its own.
 */
#include "ptx/emit.h"

/* The number again, which ptxas takes for another. */
static const char *another(Emitter *e, const char *number, const char *zero)
{
    const char *sum = em_new(e, REG_R);
    em(e, "add.s32 %s, %s, %s;", sum, number, zero);
    return sum;
}

const char *an_zero(Emitter *e, const char *counter)
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

/* By a number that is never below 0, and another one in each turn, or for each place that a role takes. */
static const char *own_zero(Emitter *e)
{
    for (int i = 0; i < e->kernel->grid.len && !e->turn; i++) {
        const Aff *place = aff_of(e->program->aff, e->kernel->grid.data[i].sym);
        if (ix_level(e, place) > 0) return an_zero(e, ix_value(e, place));
    }
    return e->turn ? an_zero(e, e->turn) : an_zero_of_part(e);
}

LaneNumbers an_enter(Emitter *e)
{
    LaneNumbers kept = {.tid = e->tid, .lane = e->lane, .warp = e->warp, .lanes = e->lanes};
    if (e->room != ROOM_SCARCE || (!e->role && em_level(e) != e->turn_level)) return kept;
    const char *zero = own_zero(e);
    kept.left = true;
    memset(&e->lanes, 0, sizeof e->lanes);
    e->tid = another(e, e->tid, zero);
    e->lane = another(e, e->lane, zero);
    if (!e->aligned) e->warp = warp_of(e);
    e->floor = em_level(e);
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
    const char *zero = an_zero(e, counter), *block = em_new(e, REG_R);
    e->memos = mo_new(e->arena);
    memset(&e->lanes, 0, sizeof e->lanes);
    memset(e->base, 0, (size_t)e->program->tensors.len * sizeof *e->base);
    memset(e->stride, 0, (size_t)e->program->tensors.len * sizeof *e->stride);
    kn_lanes(e, zero);
    em(e, "mov.u32 %s, %%ctaid.x;", block);
    kn_decode_grid(e, another(e, block, zero));
}

Known an_known(const Emitter *e)
{
    return (Known){.part = e->part.number, .syms = e->syms, .n_syms = e->n_syms, .memos = e->memos, .lanes = e->lanes};
}

void an_forget(Emitter *e, const Known *known)
{
    if (e->part.number == known->part) return;
    e->syms = known->syms;
    e->n_syms = known->n_syms;
    e->lanes = known->lanes;
    e->memos = known->memos;
}

const char *an_zero_of_part(Emitter *e)
{
    enum { SHIFT = 20, MASKS = 1023 };
    const char *zero = em_new(e, REG_R);
    em(e, "and.b32 %s, %s, %d;", zero, e->smem, (1 + e->part.number % MASKS) << SHIFT);
    return zero;
}

void an_stop(Emitter *e)
{
    const char *p = em_new(e, REG_P);
    e->part.number++;
    em(e, "setp.eq.s32 %s, %s, %d;", p, e->smem, -e->part.number);
    em(e, "@%s trap;", p);
}

void an_stop_at(Emitter *e, const char *count)
{
    const char *p = em_new(e, REG_P);
    em(e, "setp.eq.s32 %s, %s, %d;", p, count, -1 - em_label(e));
    em(e, "@%s trap;", p);
}

void an_stop_of_grid(Emitter *e)
{
    const char *blocks = em_new(e, REG_R);
    em(e, "mov.u32 %s, %%nctaid.x;", blocks);
    an_stop_at(e, blocks);
}

/* What is known, for a part to change: a block ends with what it began with. */
static void copy_known(Emitter *e)
{
    Memo *syms = arena_array(e->arena, Memo, e->n_syms);
    memcpy(syms, e->syms, (size_t)e->n_syms * sizeof *syms);
    e->syms = syms;
    e->memos = mo_copy(e->arena, e->memos);
    LaneSyms lanes = {0};
    for (int i = 0; i < e->lanes.len; i++) vec_push(e->arena, &lanes, e->lanes.data[i]);
    e->lanes = lanes;
}

static void forget_sizes(Emitter *e)
{
    for (int i = 0; i < e->memos->list.len; i++) {
        Memo *memo = &e->memos->list.data[i];
        memo->valid = memo->valid && !aff_uses_kind(memo->of, AFF_DIM);
    }
}

void an_part(Emitter *e)
{
    an_stop(e);
    e->part.tested = 0;
    const char *zero = an_zero_of_part(e);
    copy_known(e);
    forget_sizes(e);
    for (int i = 0; i < e->n_syms && i < aff_sym_count(e->program->aff); i++) {
        const AffSym *sym = aff_sym_at(e->program->aff, i);
        if (e->syms[i].valid && sym->kind == AFF_DIM)
            ix_bind(e, sym, another(e, em_name(e, REG_R, e->syms[i].reg), zero), em_level(e));
    }
}
