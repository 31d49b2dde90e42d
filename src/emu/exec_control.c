/* exec_control.c: branches, exits, barriers, fences, clocks. */
#include "emu/async.h"
#include "emu/cluster.h"

void emu_exec_nop(Warp *w, const Inst *in, uint32_t mask)
{
    (void)w, (void)in, (void)mask;
}

/* aux: .uni promises that all active lanes go the same way. */
void emu_exec_bra(Warp *w, const Inst *in, uint32_t mask)
{
    if (in->aux && mask != w->active)
        emu_fault(w, in, EMU_DIVERGENT, first_lane(mask),
                  "lanes 0x%08x of 0x%08x take a branch that is called uniform", mask, w->active);
    emu_branch(w, mask, (int)in->imm);
}

/* brx.idx: fn.row has the targets. */
void emu_exec_brx(Warp *w, const Inst *in, uint32_t mask)
{
    const BranchTargets *targets = in->fn.row;
    const Lane32 *index = src_at(w, in, 0);
    int target[LANES];

    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);

        if (index[l] >= (uint32_t)targets->count)
            emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "branch %u of a list of %d", index[l], targets->count);
        target[l] = targets->pc[index[l] < (uint32_t)targets->count ? index[l] : 0];
    }
    emu_branch_apart(w, mask, target);
}

void emu_exec_exit(Warp *w, const Inst *in, uint32_t mask)
{
    (void)in;
    emu_exit_lanes(w, mask);
}

void emu_exec_trap(Warp *w, const Inst *in, uint32_t mask)
{
    emu_fault(w, in, EMU_TRAP, first_lane(mask), "the kernel executed trap");
    w->m->run->stop = true;
}

/* Clocks count executed instructions: they go forward, and runs repeat. */
void emu_exec_clock(Warp *w, const Inst *in, uint32_t mask)
{
    uint64_t now = w->m->report->warp_instructions;
    uint64_t wide[LANES];
    uint32_t narrow[LANES];

    for (int l = 0; l < LANES; l++) {
        wide[l] = now;
        narrow[l] = in->aux == 1 ? (uint32_t)(now >> 32) : (uint32_t)now;
    }
    if (in->bytes == 8)
        emu_merge64(op_at(w, in, 0), wide, mask);
    else
        emu_merge32(op_at(w, in, 0), narrow, mask);
}

/* ---- barriers (PTX ISA, "bar, barrier") ------------------------------------------------ */

/* An operand that all active lanes agree on. */
static bool uniform(Warp *w, const Inst *in, uint32_t mask, int k, uint32_t *value)
{
    const Lane32 *lanes = src_at(w, in, k);

    *value = lanes[first_lane(mask)];
    for (; mask; mask &= mask - 1) {
        if (lanes[first_lane(mask)] != *value) {
            emu_fault(w, in, EMU_BARRIER, first_lane(mask), "the lanes of a warp name different barriers");
            return false;
        }
    }
    return true;
}

/* How many threads the barrier waits for; 0 when the operands are wrong. */
static int expected_threads(Warp *w, const Inst *in, uint32_t mask, uint32_t *id)
{
    uint32_t count;

    if (!uniform(w, in, mask, 0, id))
        return 0;
    if (*id >= MAX_BARRIERS) {
        emu_fault(w, in, EMU_BARRIER, first_lane(mask), "there is no barrier %u", *id);
        return 0;
    }
    if (in->ns < (in->aux ? 3 : 2))
        return w->m->warp_count * LANES;
    if (!uniform(w, in, mask, 1, &count))
        return 0;
    if (count && count % LANES == 0 && count <= (uint32_t)(w->m->warp_count * LANES))
        return (int)count;
    emu_fault(w, in, EMU_BARRIER, first_lane(mask),
              "%u threads is not a positive multiple of 32 within the block's %d", count,
              w->m->warp_count * LANES);
    return 0;
}

/* What all threads voted, for those of a warp that wait. */
static void give_votes(Warp *w, int votes, int threads)
{
    const Inst *in = w->reduces;
    uint32_t result[LANES];
    bool holds = in->aux == BAR_AND ? votes == threads : votes > 0;

    for (int l = 0; l < LANES; l++)
        result[l] = (uint32_t)votes;
    if (in->aux == BAR_POPC)
        emu_merge32(op_at(w, in, 0), result, w->reduce_lanes);
    else
        emu_merge_pred(w, in, 0, holds ? FULL : 0, w->reduce_lanes);
    w->reduces = NULL;
    w->reduce_lanes = 0;
}

/* A warp that has fewer threads, or some that have exited, counts as whole at the barrier, but votes with
 * those that it has: so the others vote for what all want. */
static void vote(Warp *w, const Inst *in, uint32_t mask, Barrier *b)
{
    uint32_t ayes = *(Lane32 *)src_at(w, in, in->ns - 1) ^ (in->imm ? FULL : 0);
    uint32_t absent = in->aux == BAR_AND && mask == w->live ? ~w->live : 0;

    b->votes += __builtin_popcount((ayes & mask) | absent);
    w->reduces = in;
    w->reduce_lanes |= mask;
}

static void complete(Machine *m, int id)
{
    Barrier *b = &m->barriers[id], done = *b;
    bool everybody = b->expected == m->warp_count * LANES &&
                     __builtin_popcount(b->waiting) == m->warp_count;

    memset(b, 0, sizeof *b);
    for (uint32_t rest = done.waiting; rest; rest &= rest - 1) {
        Warp *w = &m->warps[first_lane(rest)];

        emu_acquire(w, &done.join);
        if (w->reduces)
            give_votes(w, done.votes, done.expected);
        emu_unpark(w, id);
    }
    /* What is in flight, and what other blocks do, is not ordered by it. */
    if (everybody && m->checks && !m->async && m->cluster->size == 1)
        emu_shadow_ordered(m->shadow);
}

/* For how many threads lanes that arrive count. A warp that came whole, if not at once, counts as
 * LANES, lanes that have exited or never were among them. */
static int arrivals(Barrier *b, const Warp *w, uint32_t mask)
{
    uint32_t *came = &b->came[w->index];
    int count = __builtin_popcount(mask);

    *came |= mask;
    if (*came != w->live)
        return count;
    *came = 0;
    return count + LANES - __builtin_popcount(w->live);
}

/* Of .aligned barriers all lanes come at once, and wait as one. */
static void wait_at(Warp *w, const Inst *in, uint32_t mask, int id)
{
    w->m->barriers[id].waiting |= 1u << w->index;
    if (mask != w->live && !(in->flags & IF_ALIGNED)) {
        emu_park_at(w, mask, id, in->line);
        return;
    }
    w->state = WARP_WAITING;
    w->wait_line = in->line;
    w->wait_barrier = id;
    if (w->async)
        emu_async_barrier(w, WAIT_BARRIER);
}

void emu_exec_bar(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t id;
    int expected = expected_threads(w, in, mask, &id);
    Barrier *b = &w->m->barriers[id % MAX_BARRIERS];

    if (!expected)
        return;
    if (b->expected && b->expected != expected) {
        emu_fault(w, in, EMU_BARRIER, first_lane(mask),
                  "barrier %u waits for %d threads, line %d said %d", id, expected, b->line, b->expected);
        expected = b->expected;
    }
    b->expected = expected;
    b->line = in->line;
    b->arrived += in->flags & IF_ALIGNED ? LANES : arrivals(b, w, mask);
    if (in->aux)
        vote(w, in, mask, b);
    emu_release(w, &b->join);
    if (!(in->flags & IF_ARRIVE))
        wait_at(w, in, mask, (int)id);
    if (b->arrived >= b->expected)
        complete(w->m, (int)id);
}

void emu_barrier_exit(Warp *w)
{
    for (int i = 0; i < w->group_count; i++) {
        int id = w->groups[i].barrier;
        Barrier *b = id == RUNNABLE ? NULL : &w->m->barriers[id];

        if (!b || b->came[w->index] != w->live)
            continue;
        b->arrived += arrivals(b, w, 0);
        if (b->arrived >= b->expected) {
            complete(w->m, id);
            return;
        }
    }
}

/* Orders the lanes that a mask names among themselves (PTX ISA, "bar.warp.sync"). */
static void sync_lanes(Warp *w, const Inst *in, uint32_t group)
{
    (void)in;
    if (w->part_lanes & group)
        w->part_lanes |= group;
    if (group == w->live) {
        emu_flags_together(w);
        emu_new_span(w);
    }
}

void emu_exec_bar_warp(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane32 *members = src_at(w, in, 0);
    uint32_t groups[LANES] = { 0 };

    emu_new_epoch(w);
    emu_by_members(w, in, mask, 0, sync_lanes);
    if ((members[first_lane(mask)] & w->live) == w->live)
        return;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        groups[first_lane(rest)] = members[first_lane(rest)] & mask;
    emu_new_part(w, groups);
}

void emu_exec_fence(Warp *w, const Inst *in, uint32_t mask)
{
    if (!w->m->checks)
        return;
    emu_flags_fence(w, mask, (Scope)in->scope, in->flags);
    if (!(in->flags & IF_RELEASE))
        return;
    if (w->m->cluster->size > 1 && in->scope != SCOPE_BLOCK)
        emu_cluster_fence(w);
    else
        emu_new_epoch(w);
}
