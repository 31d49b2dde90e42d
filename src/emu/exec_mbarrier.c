/* exec_mbarrier.c: mbarrier objects (PTX ISA, "mbarrier").
 *
 * A phase completes when it lacks neither arrivals nor bytes; the next begins
 * at once with all its arrivals missing. Waiting for parity p means: the phase
 * before the current one, if it has that parity, or nothing to wait for.
 *
 *     phase       0        1        2
 *     parity      0        1        0
 *     wait 0      until ◄──┤ true   │ until phase 2 completes
 *     wait 1      true     │ until ◄┤
 *
 * An arrival releases and a wait that succeeds acquires, unless .relaxed. Where
 * a warp waits in vain it stops until the phase completes; under a seed try_wait
 * also gives up at times, as its time limit allows, and finds phases incomplete that
 * are not known to be complete, so that one whose answer nobody looks at is seen.
 */
#include "emu/async.h"
#include "emu/cluster.h"

enum {
    MOST_ARRIVALS = (1 << 20) - 1, /* PTX ISA, "mbarrier: size and alignment, contents" */
    MOST_BYTES = (1 << 20) - 1,
    ENOUGH_POLLS = 1000
};

uint64_t emu_shared_address(uint64_t address)
{
    return address >= SHARED_WINDOW && address - SHARED_WINDOW < WINDOW_BYTES ? address - SHARED_WINDOW
                                                                              : address;
}

int emu_mbarrier_index(const Machine *m, const MBarrier *b)
{
    return (int)(b - m->async->barriers);
}

static bool well_placed(Warp *w, const Inst *in, int l, uint64_t at)
{
    if (at & 7) {
        emu_fault(w, in, EMU_MISALIGNED, l, "mbarrier at shared address 0x%llx, not a multiple of 8",
                  (unsigned long long)at);
        return false;
    }
    if (at <= w->m->shared_bytes && w->m->shared_bytes - at >= 8)
        return true;
    if (at >= CLUSTER_UNIT) {
        emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "mbarriers of other blocks are not emulated");
        return false;
    }
    emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "mbarrier at shared address 0x%llx; shared memory has 0x%x bytes",
              (unsigned long long)at, w->m->shared_bytes);
    return false;
}

/* ---- whether a warp knows of an initialisation ------------------------------------------ */

/* The last phase of the cluster's barrier that the warp has waited for; of a cluster of one block: the last. */
static uint32_t cluster_phase(const Warp *w)
{
    return w->m->cluster->size > 1 ? emu_cluster_phase(w) : w->m->cluster->phase;
}

/* Behind fence.mbarrier_init an arrival at the cluster's barrier says so though it is .relaxed. */
static bool knows(const Warp *w, const Machine *to, const MBarrier *b)
{
    if (b->announced && cluster_phase(w) >= b->announced)
        return true;
    if (to != w->m)
        return emu_cluster_before(w, to->rank, b->init_warp, b->init_epoch);
    return b->init_warp == w->index || w->seen[b->init_warp] >= b->init_epoch;
}

static void check_known(Warp *w, const Inst *in, int l, const Machine *to, const MBarrier *b)
{
    if (!w->m->checks || knows(w, to, b))
        return;
    if (to == w->m)
        emu_fault(w, in, EMU_RACE, l, "mbarrier 0x%x was initialised by warp %d and no barrier lies between", b->address,
                  b->init_warp);
    else
        emu_fault(w, in, EMU_BARRIER, l,
                  "mbarrier 0x%x of rank %d: that it is initialised is not known here, fence.mbarrier_init and then a "
                  "barrier of the cluster say so", b->address, to->rank);
}

static bool initialised_by(const MBarrier *b, const Warp *w, uint32_t lanes)
{
    return b->init_warp == w->index && lane_on(lanes, b->init_lane);
}

void emu_mbarrier_announce(const Warp *w, uint32_t lanes, uint32_t phase)
{
    Async *a = w->m->async;

    for (int i = 0; i < a->barrier_count; i++) {
        MBarrier *b = &a->barriers[i];

        if (initialised_by(b, w, lanes) && b->init_fenced && !b->announced)
            b->announced = phase;
    }
}

MBarrier *emu_mbarrier(Warp *w, const Inst *in, int l, uint64_t address)
{
    return emu_mbarrier_in(w, in, l, w->m, emu_shared_address(address));
}

MBarrier *emu_mbarrier_in(Warp *w, const Inst *in, int l, Machine *to, uint64_t at)
{
    Async *a = to->async;
    int index;

    if (!well_placed(w, in, l, at))
        return NULL;
    index = a->barrier_at[at / 8];
    if (!index || !a->barriers[index - 1].valid) {
        emu_fault(w, in, EMU_BARRIER, l, "there is no initialised mbarrier at shared address 0x%llx",
                  (unsigned long long)at);
        return NULL;
    }
    check_known(w, in, l, to, &a->barriers[index - 1]);
    return &a->barriers[index - 1];
}

/* Ordinary accesses to an mbarrier's bytes. */
void emu_mbarrier_touch(Warp *w, const Inst *in, const Async *a, uint32_t mask, const uint64_t *address, int bytes)
{
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        uint64_t last = (address[l] + (uint64_t)bytes - 1) / 8;

        for (uint64_t i = address[l] / 8; i <= last; i++) {
            if (a->barrier_at[i] && a->barriers[a->barrier_at[i] - 1].valid)
                emu_fault(w, in, EMU_BARRIER, l, "an mbarrier lies at shared address 0x%llx",
                          (unsigned long long)i * 8);
        }
    }
}

/* ---- phases ------------------------------------------------------------------------- */

static bool waits_at(const Warp *w, const MBarrier *b)
{
    return w->state == WARP_WAITING && w->async->wait == WAIT_MBARRIER && w->async->wait_address == b->address;
}

static void wake(Machine *m, const MBarrier *b)
{
    for (int i = 0; i < m->warp_count; i++) {
        if (waits_at(&m->warps[i], b))
            m->warps[i].state = WARP_READY;
    }
}

static void complete_phase(Machine *m, MBarrier *b)
{
    b->phase++;
    b->pending = b->expected;
    emu_clock_merge(m, &b->completed, &b->arriving);
    b->completed.seen[mbarrier_agent(m, emu_mbarrier_index(m, b))] = b->phase;
    wake(m, b);
}

/* After a change: a phase that lacks nothing completes; one with all its arrivals
 * and more bytes than expected never can. */
static void settle(Machine *m, MBarrier *b, const Inst *in, int thread)
{
    m->async->progress++;
    if (b->pending)
        return;
    if (b->bytes < 0)
        emu_fault_block(m, EMU_TRANSACTION, in->line, thread,
                        "mbarrier 0x%x, phase %u: %lld bytes more have arrived than were expected", b->address,
                        b->phase - b->first, -(long long)b->bytes);
    else if (!b->bytes)
        complete_phase(m, b);
}

void emu_mbarrier_bytes(Machine *m, MBarrier *b, const Inst *in, int thread, int64_t bytes)
{
    b->bytes += bytes;
    if (b->bytes > MOST_BYTES || b->bytes < -MOST_BYTES)
        emu_fault_block(m, EMU_TRANSACTION, in->line, thread,
                        "mbarrier 0x%x: a transaction count of %lld, beyond 2^20 - 1", b->address,
                        (long long)b->bytes);
    settle(m, b, in, thread);
}

static bool take_arrivals(Warp *w, const Inst *in, int l, MBarrier *b, uint32_t count)
{
    if (count && count <= b->pending)
        return true;
    if (count)
        emu_fault(w, in, EMU_BARRIER, l, "mbarrier 0x%x, phase %u: %u arrivals, where %u of %u are missing",
                  b->address, b->phase - b->first, count, b->pending, b->expected);
    else
        emu_fault(w, in, EMU_BARRIER, l, "an arrival of 0");
    return false;
}

/* ---- init, inval --------------------------------------------------------------------- */

/* The object for an address, whether it was one before or not; NULL: too many. */
static MBarrier *new_barrier(Machine *m, uint32_t at)
{
    Async *a = m->async;
    uint8_t *index = &a->barrier_at[at / 8];

    if (!*index) {
        if (a->barrier_count == MAX_MBARRIERS)
            return NULL;
        *index = (uint8_t)++a->barrier_count;
        m->agent_count = mbarrier_agent(m, a->barrier_count);
    }
    return &a->barriers[*index - 1];
}

static void init_barrier(Warp *w, int lane, MBarrier *b, uint32_t at, uint32_t count)
{
    b->address = at;
    b->valid = true;
    b->expected = b->pending = count;
    b->bytes = 0;
    b->first = b->phase;
    b->init_warp = w->index;
    b->init_lane = lane;
    b->init_epoch = w->epoch;
    b->init_fenced = false;
    b->announced = 0;
}

void emu_exec_mbarrier_init(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane32 *count = src_at(w, in, 1);
    uint64_t address[LANES];

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        uint64_t at = emu_shared_address(address[l]);
        MBarrier *b;

        if (!well_placed(w, in, l, at))
            continue;
        if (count[l] < 1 || count[l] > MOST_ARRIVALS)
            emu_fault(w, in, EMU_BARRIER, l, "an mbarrier of %u arrivals", count[l]);
        else if (!(b = new_barrier(w->m, (uint32_t)at)))
            emu_fault(w, in, EMU_BARRIER, l, "more than %d mbarriers", MAX_MBARRIERS);
        else if (b->valid)
            emu_fault(w, in, EMU_BARRIER, l, "mbarrier 0x%x is initialised a second time", b->address);
        else
            init_barrier(w, l, b, (uint32_t)at, count[l]);
    }
}

void emu_exec_mbarrier_inval(Warp *w, const Inst *in, uint32_t mask)
{
    uint64_t address[LANES];

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    for (; mask; mask &= mask - 1) {
        MBarrier *b = emu_mbarrier(w, in, first_lane(mask), address[first_lane(mask)]);

        if (b)
            b->valid = false;
    }
}

/* fence.mbarrier_init.release.cluster (PTX ISA, "membar, fence"): what this
 * thread initialised may be signalled by copies. */
void emu_exec_fence_init(Warp *w, const Inst *in, uint32_t mask)
{
    Async *a = w->m->async;

    (void)in;
    for (int i = 0; a && i < a->barrier_count; i++)
        a->barriers[i].init_fenced |= initialised_by(&a->barriers[i], w, mask);
}

/* ---- arrive, expect_tx, complete_tx ---------------------------------------------------- */

static uint64_t state_of(const MBarrier *b)
{
    return (uint64_t)b->phase << 32 | b->pending;
}

/* aux: expect_tx that many bytes, with the arrival of 1. vec: there is a count. */
static void arrive(Warp *w, const Inst *in, int l, MBarrier *b, uint64_t *state)
{
    uint32_t count = in->vec && in->aux != MB_ARRIVE_EXPECT ? ((const Lane32 *)src_at(w, in, 1))[l] : 1;
    int thread = w->index * LANES + l;

    *state = state_of(b);
    if (in->aux == MB_ARRIVE_EXPECT)
        b->bytes += ((const Lane32 *)src_at(w, in, 1))[l];
    if (!take_arrivals(w, in, l, b, count))
        return;
    b->pending -= count;
    if (in->aux == MB_DROP)
        b->expected -= count;
    emu_mbarrier_bytes(w->m, b, in, thread, 0);
}

/* All arrivals of one instruction release together, so the clock is given first. */
void emu_exec_mbarrier_arrive(Warp *w, const Inst *in, uint32_t mask)
{
    MBarrier *b[LANES] = { NULL };
    uint64_t address[LANES], state[LANES] = { 0 };
    Clock mine = { .seen = { 0 } };

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        b[first_lane(rest)] = emu_mbarrier(w, in, first_lane(rest), address[first_lane(rest)]);
    if (in->flags & IF_RELEASE)
        emu_release(w, &mine);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);

        if (!b[l])
            continue;
        if (in->flags & IF_RELEASE)
            emu_clock_merge(w->m, &b[l]->arriving, &mine);
        arrive(w, in, l, b[l], &state[l]);
    }
    emu_merge64(op_at(w, in, 0), state, mask);
}

/* expect_tx, and complete_tx, which only simulates a copy's end. */
void emu_exec_mbarrier_tx(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane32 *bytes = src_at(w, in, 1);
    uint64_t address[LANES];

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        MBarrier *b = emu_mbarrier(w, in, l, address[l]);

        if (b)
            emu_mbarrier_bytes(w->m, b, in, w->index * LANES + l,
                               in->aux == MB_EXPECT ? (int64_t)bytes[l] : -(int64_t)bytes[l]);
    }
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* The phase that a lane waits for: it has completed when b->phase is greater. */
static uint32_t wanted_phase(Warp *w, const Inst *in, int l, const MBarrier *b)
{
    const void *given = src_at(w, in, 1);

    if (!(in->flags & IF_PARITY))
        return (uint32_t)(((const Lane64 *)given)[l] >> 32);
    if (((((const Lane32 *)given)[l] ^ (b->phase - b->first)) & 1) == 0)
        return b->phase; /* the current one */
    return b->phase - 1; /* the one before it; before the first, one that has completed */
}

static bool has_completed(const MBarrier *b, uint32_t phase)
{
    return (int32_t)(b->phase - phase) > 0;
}

static void acquire(Warp *w, const Inst *in, const MBarrier *b)
{
    int agent = mbarrier_agent(w->m, emu_mbarrier_index(w->m, b));

    if (in->flags & IF_ACQUIRE && w->seen[agent] < b->phase)
        emu_acquire(w, &b->completed);
}

bool emu_mbarrier_awaited(const Machine *m, int index, uint32_t phase)
{
    for (int i = 0; i < m->warp_count; i++) {
        const Warp *w = &m->warps[i];

        if (w->seen[mbarrier_agent(m, index)] >= phase || waits_at(w, &m->async->barriers[index]))
            return true;
    }
    return false;
}

/* Nobody's test came true: stop until the phase completes? */
static bool stops(Warp *w, const Inst *in)
{
    Machine *m = w->m;
    AsyncWarp *a = w->async;

    if (in->aux == MB_TRY)
        return !(m->launch->seed && rng_below(&m->run->rng, 8) == 0);
    a->polls = a->poll_progress == m->async->progress ? a->polls + 1 : 0;
    a->poll_progress = m->async->progress;
    return a->polls >= ENOUGH_POLLS;
}

/* A phase of which the warp has not heard might as well complete a moment later: once in a while, where the warp comes to
 * a wait anew, it does. */
static bool comes_too_early(Warp *w, const Inst *in, const MBarrier *b)
{
    AsyncWarp *a = w->async;
    bool known = w->seen[mbarrier_agent(w->m, emu_mbarrier_index(w->m, b))] >= b->phase;

    if (in->aux != MB_TRY || !(in->flags & IF_ACQUIRE) || !w->m->launch->seed || known || a->gave_up == in || rng_below(&w->m->run->rng, 4) != 0)
        return false;
    a->gave_up = in;
    return true;
}

/* A wait that gives up says so in its answer alone, so somebody has to read that. */
static void answered(Warp *w, const Inst *in, uint32_t lanes)
{
    AsyncWarp *a = w->async;

    if (a->answer_count == MAX_ANSWERS)
        memmove(a->answers, a->answers + 1, --a->answer_count * sizeof *a->answers);
    a->answers[a->answer_count++] = (Answer){ in, lanes };
}

static bool reads(const Inst *in, uint32_t slot)
{
    bool found = in->flags & IF_GUARDED && in->guard.slot == slot;

    for (int i = in->nd; i < in->nd + in->ns; i++)
        found |= in->op[i].slot == slot;
    return found;
}

static bool writes(const Inst *in, uint32_t slot)
{
    bool found = false;

    for (int i = 0; i < in->nd; i++)
        found |= in->op[i].slot == slot;
    return found;
}

void emu_mbarrier_answers(Warp *w, const Inst *in)
{
    AsyncWarp *a = w->async;
    bool ends = in->exec == emu_exec_exit && !(in->flags & IF_GUARDED);
    int kept = 0;

    for (int i = 0; i < a->answer_count; i++) {
        Answer answer = a->answers[i];
        uint32_t slot = answer.in->op[0].slot;
        bool here = w->active & answer.lanes, read = here && reads(in, slot);
        bool lost = here && !read && (ends || writes(in, slot));

        if (lost)
            emu_fault(w, answer.in, EMU_BARRIER, first_lane(answer.lanes),
                      "nobody looks at what this wait answers: it may give up before the phase has completed");
        if (!read && !lost)
            a->answers[kept++] = answer;
    }
    a->answer_count = kept;
}

/* test_wait and try_wait */
void emu_exec_mbarrier_wait(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t yes = 0, phase = 0;
    const MBarrier *waited = NULL;
    uint64_t address[LANES];

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);
        const MBarrier *b = emu_mbarrier(w, in, l, address[l]);
        uint32_t wanted = b ? wanted_phase(w, in, l, b) : 0;

        if (!b || has_completed(b, wanted)) {
            if (b && !yes && comes_too_early(w, in, b)) {
                emu_merge_pred(w, in, 0, 0, mask);
                answered(w, in, mask);
                return;
            }
            yes |= 1u << l;
            if (b)
                acquire(w, in, b);
        } else {
            waited = b;
            phase = wanted;
        }
    }
    emu_merge_pred(w, in, 0, yes, mask);
    w->async->gave_up = yes ? NULL : w->async->gave_up;
    if (yes || !stops(w, in)) {
        answered(w, in, mask);
        return;
    }
    w->async->polls = 0;
    w->async->wait_address = waited->address;
    w->async->wait_phase = phase;
    emu_async_block(w, in, WAIT_MBARRIER);
}

/* mbarrier.pending_count d, state */
void emu_exec_mbarrier_pending(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane64 *state = src_at(w, in, 0);
    uint32_t count[LANES];

    for (int l = 0; l < LANES; l++)
        count[l] = (uint32_t)state[l];
    emu_merge32(op_at(w, in, 0), count, mask);
}
