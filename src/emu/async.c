/* async.c: the world beside the warps: when things happen, who waits, what is
 * left at the end of a block.
 *
 * Between two turns of the warps, things happen with a likelihood that the seed
 * draws for the launch, from "at once" to "only when nobody can go on"; seed 0
 * is the latter. A block has ended when no warp can run and nothing is left to
 * happen: then warps that still wait are deadlocked.
 */
#include "emu/async.h"
#include "emu/cluster.h"

enum { REGISTER_UNIT = 8, MOST_REGISTERS = 256 };

/* ---- start ---------------------------------------------------------------------- */

/* Registers a thread when the launch does not say: .maxnreg, or what the file
 * gives .minnctapersm blocks (PTX ISA, "Performance-Tuning Directives"). */
static int launch_registers(const Machine *m)
{
    int blocks = m->entry->min_blocks ? m->entry->min_blocks : 1;
    int most = REGISTER_FILE / blocks / (m->warp_count * LANES) / REGISTER_UNIT * REGISTER_UNIT;

    if (m->launch->registers)
        return m->launch->registers;
    if (m->entry->max_registers && m->entry->max_registers < most)
        return m->entry->max_registers;
    return most < MOST_REGISTERS ? most : MOST_REGISTERS;
}

void emu_async_start(Machine *m)
{
    static const int eager[] = { 0, 1, 4, 16 };
    Async *a = arena_new_of(m->arena, Async);

    m->async = a;
    m->agent_count += m->warp_count + (m->warp_count + WARPGROUP - 1) / WARPGROUP;
    m->reader_count = m->agent_count;
    a->barriers = arena_array(m->arena, MBarrier, MAX_MBARRIERS);
    a->barrier_at = arena_alloc(m->arena, m->shared_bytes / 8 + 1);
    a->launch_registers = launch_registers(m);
    a->eager = m->launch->seed ? eager[rng_below(&m->run->rng, (int)TW_COUNT(eager))] : 0;
    for (uint32_t i = 0; i < 256; i++) {
        a->fp8[0][i] = (float)emu_small_load(ET_E4M3, i);
        a->fp8[1][i] = (float)emu_small_load(ET_E5M2, i);
    }
    for (int i = 0; i < m->warp_count; i++) {
        m->warps[i].async = arena_new_of(m->arena, AsyncWarp);
        m->warps[i].async->registers = arena_array(m->arena, RegState, m->entry->slots.len);
    }
}

void emu_async_start_block(Machine *m)
{
    Async *a = m->async;

    memset(a->barriers, 0, (size_t)a->barrier_count * sizeof *a->barriers);
    memset(a->barrier_at, 0, m->shared_bytes / 8 + 1);
    a->barrier_count = 0;
    m->agent_count = m->reader_count;
    a->copies.len = a->stores.len = 0;
    a->free_registers = 0;
    for (int g = 0; g < MAX_WARPGROUPS; g++) {
        a->groups[g].ops.len = a->groups[g].head = 0;
        a->groups[g].first = 1;
    }
}

void emu_async_start_warp(Warp *w)
{
    AsyncWarp *a = w->async;
    RegState *registers = a->registers;

    memset(registers, 0, (size_t)w->m->entry->slots.len * sizeof *registers);
    memset(a, 0, sizeof *a);
    a->registers = registers;
    a->register_count = w->m->async->launch_registers;
}

/* ---- clocks ------------------------------------------------------------------------ */

void emu_async_release(const Warp *w, Clock *join)
{
    for (int i = 0; i <= w->m->warp_count; i++) {
        if (w->async->fenced[i] > join->fenced[i])
            join->fenced[i] = w->async->fenced[i];
    }
}

void emu_async_acquire(Warp *w, const Clock *join)
{
    for (int i = 0; i <= w->m->warp_count; i++) {
        if (join->fenced[i] > w->async->fenced[i])
            w->async->fenced[i] = join->fenced[i];
    }
}

bool emu_async_fenced(const Warp *w, int warp, uint32_t epoch)
{
    return w->async->fenced[warp] >= epoch;
}

/* What this warp wrote and what it knows of may be accessed by the asynchronous
 * proxy from here on (PTX ISA, "membar, fence": .proxy.async). */
void emu_exec_fence_proxy(Warp *w, const Inst *in, uint32_t mask)
{
    (void)in, (void)mask;
    if (!w->async)
        return;
    for (int i = 0; i < w->m->warp_count; i++) {
        if (w->seen[i] > w->async->fenced[i])
            w->async->fenced[i] = w->seen[i];
    }
    w->async->fenced[w->index] = w->epoch;
    w->async->fenced[w->m->warp_count] = emu_cluster_phase(w);
    emu_new_epoch(w);
}

/* ---- waiting -------------------------------------------------------------------------- */

void emu_async_block(Warp *w, const Inst *in, WaitKind kind)
{
    w->state = WARP_WAITING;
    w->pc--;
    w->wait_line = in->line;
    w->async->wait = kind;
}

void emu_async_barrier(Warp *w, WaitKind kind)
{
    w->async->wait = kind;
}

/* ---- things happen ----------------------------------------------------------------------- */

/* The k-th thing that can happen, of all; returns how many there are when k is -1. */
static int happen(Machine *m, int k, bool whole)
{
    Async *a = m->async;
    int seen = 0;

    for (int i = 0; i < a->copies.len; i++) {
        const Bulk *b = &a->copies.data[i];

        if (emu_bulk_landed(b) || seen++ != k)
            continue;
        emu_bulk_land(m, i, whole ? b->lines : 1 + (uint32_t)rng_below(&m->run->rng, (int)b->lines));
        return 0;
    }
    if (k >= seen && k - seen < a->stores.len) {
        emu_store_land(m, k - seen);
        return 0;
    }
    seen += a->stores.len;
    for (int g = 0; g < MAX_WARPGROUPS; g++) {
        if (emu_wgmma_ready(m, g) && seen++ == k) {
            emu_wgmma_execute(m, g);
            return 0;
        }
    }
    return seen;
}

/* The same for all blocks of a cluster. */
static int happen_among(Cluster *c, int k, bool whole)
{
    int seen = 0;

    for (int i = 0; i < c->size; i++) {
        int here = k >= 0 && i == c->size - 1 ? INT32_MAX : happen(&c->blocks[i], -1, whole);

        if (k >= seen && k - seen < here)
            return happen(&c->blocks[i], k - seen, whole);
        seen += here;
    }
    return seen;
}

Warp *emu_async_pick(Cluster *c, const Warp *last)
{
    Machine *m = c->blocks;
    int eager = m->async->eager, things;
    Warp *next;

    if (eager && rng_below(&m->run->rng, 16) < eager && (things = happen_among(c, -1, false)) > 0)
        happen_among(c, rng_below(&m->run->rng, things), eager == 16);
    while ((next = emu_pick(c, last)) == NULL && !m->run->stop) {
        things = happen_among(c, -1, false);
        if (!things)
            return NULL;
        happen_among(c, m->launch->seed ? rng_below(&m->run->rng, things) : things - 1, true);
    }
    return next;
}

/* ---- the end of a block ---------------------------------------------------------------------- */

static MBarrier *waited_barrier(const Warp *w)
{
    Async *a = w->m->async;
    int index = a->barrier_at[w->async->wait_address / 8];

    return index ? &a->barriers[index - 1] : NULL;
}

static void describe_mbarrier(const Warp *w, Str *out)
{
    const MBarrier *b = waited_barrier(w);

    if (!b)
        return;
    str_printf(out, "phase %u (parity %u) of mbarrier 0x%x, which lacks %u of %u arrivals",
               w->async->wait_phase - b->first, (w->async->wait_phase - b->first) & 1, b->address,
               b->pending, b->expected);
    if (b->bytes)
        str_printf(out, " and %lld bytes", (long long)b->bytes);
}

/* What a warp waits for, in words. */
static void describe(const Warp *w, Str *out)
{
    const Barrier *b;

    str_printf(out, "%swarp %d at line %d waits for ", out->len ? "; " : "", w->index, w->wait_line);
    switch (w->async->wait) {
    case WAIT_BARRIER:
        b = &w->m->barriers[w->wait_barrier];
        str_printf(out, "barrier %d, which has %d of %d threads", w->wait_barrier, b->arrived, b->expected);
        break;
    case WAIT_CLUSTER:
        emu_cluster_describe(w->m->cluster, out);
        break;
    case WAIT_MBARRIER:
        describe_mbarrier(w, out);
        break;
    case WAIT_WGMMA:
        str_add(out, "a wgmma that the other warps of its warpgroup have not issued");
        break;
    case WAIT_REGISTERS:
        str_printf(out, "%d registers a thread, where the block has %d free", w->async->wait_registers,
                   w->m->async->free_registers);
        break;
    }
}

/* No copy is under way, so bytes that a phase lacks will never come. */
static bool lacks_bytes(const Warp *w)
{
    const MBarrier *b = w->async->wait == WAIT_MBARRIER ? waited_barrier(w) : NULL;

    return b && !b->pending && b->bytes;
}

static EmuFaultKind stuck_kind(const Warp *w)
{
    return w->async->wait == WAIT_REGISTERS ? EMU_REGISTERS : lacks_bytes(w) ? EMU_TRANSACTION : EMU_DEADLOCK;
}

/* The cause comes first: registers or bytes that are missing explain the rest. */
static void report_stuck(Machine *m)
{
    const Warp *first = NULL;
    Str text = str_new(m->arena);
    enum { MOST_DESCRIBED = 8 };
    int count = 0;

    for (int i = 0; i < m->warp_count; i++) {
        const Warp *w = &m->warps[i];

        if (w->state != WARP_WAITING)
            continue;
        if (!first || (stuck_kind(first) == EMU_DEADLOCK && stuck_kind(w) != EMU_DEADLOCK))
            first = w;
        if (count++ < MOST_DESCRIBED)
            describe(w, &text);
    }
    if (first)
        emu_fault_block(m, stuck_kind(first), first->wait_line, first->index * LANES, "%s%s", str_text(&text),
                        count > MOST_DESCRIBED ? "; …" : "");
}

void emu_async_end_block(Machine *m)
{
    report_stuck(m);
    if (!m->checks || m->run->stop)
        return;
    emu_bulk_end_block(m);
    emu_store_end_block(m);
    emu_wgmma_end_block(m);
}

/* ---- setmaxnreg (PTX ISA, "setmaxnreg") ------------------------------------------------------ */

static void wake_for_registers(Machine *m)
{
    for (int i = 0; i < m->warp_count; i++) {
        Warp *w = &m->warps[i];

        if (w->state == WARP_WAITING && w->async->wait == WAIT_REGISTERS)
            w->state = WARP_READY;
    }
}

/* aux: 1 for .inc, which waits until the block has enough; 0 for .dec, which gives back. */
void emu_exec_setmaxnreg(Warp *w, const Inst *in, uint32_t mask)
{
    Async *a = w->m->async;
    int now = w->async->register_count, want = (int)in->imm, more = (want - now) * LANES;

    if (in->aux ? want < now : want > now) {
        emu_fault(w, in, EMU_REGISTERS, first_lane(mask), "setmaxnreg.%s to %d, where a thread has %d",
                  in->aux ? "inc" : "dec", want, now);
        return;
    }
    if (more > a->free_registers) {
        w->async->wait_registers = want;
        emu_async_block(w, in, WAIT_REGISTERS);
        return;
    }
    a->free_registers -= more;
    w->async->register_count = want;
    if (more < 0)
        wake_for_registers(w->m);
}
