/* cluster.c: the barrier of a cluster, and shared memory of its other blocks.
 *
 * An access to another block's shared memory is recorded in that block's shadow, where
 * the accesses of its own warps meet it. Besides, that block must have started, which a
 * completed phase of the barrier says, and must not exit before: one of its threads has
 * to wait for a phase that the access comes before.
 */
#include "emu/async.h"
#include "emu/cluster.h"

int emu_cluster_size(const EmuModule *module, int entry)
{
    const int *dims = module->entries.data[entry]->cluster;

    return dims[0] * dims[1] * dims[2];
}

/* ---- start ---------------------------------------------------------------------------- */

void emu_cluster_check_launch(Machine *m)
{
    const int *dims = m->entry->cluster;
    int64_t size = (int64_t)dims[0] * dims[1] * dims[2];

    if (size > MAX_CLUSTER)
        emu_fault_block(m, EMU_LAUNCH, 1, 0, "a cluster of %lld blocks, where %d are portable", (long long)size,
                        MAX_CLUSTER);
    if (m->entry->explicit_cluster && !m->entry->sized_cluster)
        emu_fault_block(m, EMU_LAUNCH, 1, 0, ".explicitcluster without .reqnctapercluster: the launch cannot say more");
    for (int i = 0; i < 3; i++) {
        if (m->launch->grid[i] % dims[i])
            emu_fault_block(m, EMU_LAUNCH, 1, 0, "a grid of %d, %d, %d blocks, no multiple of clusters of %d, %d, %d",
                            m->launch->grid[0], m->launch->grid[1], m->launch->grid[2], dims[0], dims[1], dims[2]);
    }
}

Cluster *emu_cluster_new(const Machine *first)
{
    const int *dims = first->entry->cluster;
    Cluster *c = arena_new_of(first->arena, Cluster);

    c->size = dims[0] * dims[1] * dims[2];
    c->blocks = arena_array(first->arena, Machine, c->size);
    for (int i = 0; i < c->size; i++) {
        c->blocks[i] = *first;
        c->blocks[i].cluster = c;
        c->blocks[i].rank = i;
    }
    if (first->entry->cluster_barrier) {
        c->arriving = arena_array(first->arena, Clock, c->size);
        c->released = arena_array(first->arena, Clock, c->size * PHASES);
    }
    if (c->size > 1)
        c->reaches = arena_array(first->arena, Reach, c->size * c->size * MAX_WARPS);
    return c;
}

void emu_cluster_start(Cluster *c)
{
    c->phase = 0;
    c->missing = c->size * c->blocks->threads;
    c->open = false;
    if (c->arriving)
        memset(c->arriving, 0, (size_t)c->size * sizeof *c->arriving);
    if (c->reaches)
        memset(c->reaches, 0, (size_t)(c->size * c->size * MAX_WARPS) * sizeof *c->reaches);
}

/* ---- order ------------------------------------------------------------------------------ */

static int cluster_agent(const Machine *m)
{
    return m->reader_count - 1;
}

static const Clock *released(const Cluster *c, uint32_t phase, int rank)
{
    return &c->released[phase % PHASES * (uint32_t)c->size + (uint32_t)rank];
}

/* Whether the arrivals of a phase released an epoch. A phase of which no clock is kept any
 * more is taken for the oldest that has one: who lives knows all but the last phase, only
 * proxy fences are that old. */
static bool in_phase(const Cluster *c, uint32_t phase, int rank, int agent, uint32_t epoch)
{
    uint32_t oldest = c->phase < PHASES ? 1 : c->phase - PHASES + 1;

    return phase && released(c, phase < oldest ? oldest : phase, rank)->seen[agent] >= epoch;
}

uint32_t emu_cluster_phase(const Warp *w)
{
    return w->m->cluster->size > 1 ? w->seen[cluster_agent(w->m)] : 0;
}

bool emu_cluster_before(const Warp *w, int rank, int agent, uint32_t epoch)
{
    return in_phase(w->m->cluster, emu_cluster_phase(w), rank, agent, epoch);
}

/* The fence stands with the writer, before it arrives, or with the reader, behind its wait. */
bool emu_cluster_fenced(const Warp *w, int rank, int warp, uint32_t epoch)
{
    const Cluster *c = w->m->cluster;
    uint32_t phase = emu_cluster_phase(w);

    return in_phase(c, w->async->fenced[w->m->warp_count], rank, warp, epoch) ||
           (phase && released(c, phase, rank)->fenced[warp] >= epoch);
}

int emu_cluster_rank(const Machine *m, uint64_t block)
{
    for (int i = 0; i < m->cluster->size; i++) {
        if (m->cluster->blocks[i].block_index == block)
            return i;
    }
    return -1;
}

void emu_cluster_fence(Warp *w)
{
    if (!w->fence)
        w->fence = arena_new_of(w->m->arena, Clock);
    emu_release(w, w->fence);
}

/* ---- the end of a block ---------------------------------------------------------------------- */

static Reach *reach_of(const Machine *to, const Warp *w)
{
    int warp = w->m->rank * MAX_WARPS + w->index;

    return &to->cluster->reaches[to->rank * to->cluster->size * MAX_WARPS + warp];
}

static void reached_too_late(Warp *w, const Inst *in, int lane, int rank)
{
    emu_fault(w, in, EMU_RACE, lane,
              "the block of rank %d may exit before its shared memory is accessed: it waits for no barrier of the "
              "cluster that follows", rank);
}

/* Its shared memory goes: what others did with it comes before a phase that one of its warps has waited for. */
static void check_reaches(const Machine *m)
{
    Cluster *c = m->cluster;
    uint32_t phase = 0;

    for (int i = 0; i < m->warp_count; i++)
        phase = emu_cluster_phase(&m->warps[i]) > phase ? emu_cluster_phase(&m->warps[i]) : phase;
    for (int i = 0; i < c->size * m->warp_count; i++) {
        Warp *w = &c->blocks[i / m->warp_count].warps[i % m->warp_count];
        const Reach *reach = reach_of(m, w);

        if (reach->in && !in_phase(c, phase, w->m->rank, w->index, reach->epoch))
            reached_too_late(w, reach->in, reach->lane, m->rank);
    }
}

/* ---- the barrier (PTX ISA, "barrier.cluster") --------------------------------------------- */

static void pass(Warp *w, uint32_t lanes)
{
    w->passed &= ~lanes;
    emu_acquire(w, released(w->m->cluster, w->m->cluster->phase, w->m->rank));
}

static void complete_warp(Cluster *c, Warp *w)
{
    c->missing += __builtin_popcount(w->live);
    w->passed |= w->arrived;
    w->arrived = 0;
    if (!w->wait_mask)
        return;
    w->state = WARP_READY;
    pass(w, w->wait_mask);
    w->wait_mask = 0;
}

static void complete_phase(Cluster *c)
{
    c->phase++;
    c->open = false;
    for (int i = 0; i < c->size; i++) {
        if (c->size > 1)
            c->arriving[i].seen[cluster_agent(c->blocks)] = c->phase;
        c->released[c->phase % PHASES * (uint32_t)c->size + (uint32_t)i] = c->arriving[i];
    }
    for (int i = 0; i < c->size; i++) {
        for (int k = 0; k < c->blocks[i].warp_count; k++)
            complete_warp(c, &c->blocks[i].warps[k]);
    }
}

static void count_threads(Cluster *c, uint32_t lanes)
{
    c->missing -= __builtin_popcount(lanes);
    if (!c->missing && c->open)
        complete_phase(c);
}

void emu_cluster_exit(Warp *w, uint32_t lanes)
{
    Machine *m = w->m;

    count_threads(m->cluster, lanes & ~w->arrived);
    if (!w->live && !--m->running && m->cluster->reaches)
        check_reaches(m);
}

void emu_exec_cluster_arrive(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t twice = mask & (w->arrived | w->passed);
    Cluster *c = w->m->cluster;

    if (twice)
        emu_fault(w, in, EMU_BARRIER, first_lane(twice),
                  "arrives at the cluster's barrier a second time, without a wait between");
    mask &= ~w->arrived;
    w->passed &= ~mask;
    w->arrived |= mask;
    c->open = true;
    if (w->async)
        emu_mbarrier_announce(w, mask, c->phase + 1);
    if (in->flags & IF_RELEASE)
        emu_release(w, &c->arriving[w->m->rank]);
    else if (w->fence)
        emu_clock_merge(w->m, &c->arriving[w->m->rank], w->fence);
    count_threads(c, mask);
}

void emu_exec_cluster_wait(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t never = mask & ~(w->arrived | w->passed);

    if (never)
        emu_fault(w, in, EMU_BARRIER, first_lane(never), "waits at the cluster's barrier without having arrived");
    if (!(mask & w->arrived)) {
        pass(w, mask);
        return;
    }
    w->state = WARP_WAITING;
    w->wait_mask = mask;
    w->wait_line = in->line;
    w->wait_barrier = CLUSTER_BARRIER;
    if (w->async)
        emu_async_barrier(w, WAIT_CLUSTER);
}

void emu_cluster_describe(const Cluster *c, Str *out)
{
    str_printf(out, "the cluster's barrier, at which %d of its threads have neither arrived nor exited", c->missing);
}

/* ---- addresses (PTX ISA, "mapa", "getctarank") ---------------------------------------------- */

/* The rank that an address in the shared::cluster window names; MAX_CLUSTER and above: none. */
static uint64_t rank_of(const Machine *m, uint64_t address)
{
    return address < CLUSTER_UNIT ? (uint64_t)m->rank : address / CLUSTER_UNIT - 1;
}

static uint64_t address_in(const Machine *m, uint64_t address, uint32_t rank)
{
    uint64_t window = address - emu_shared_address(address), offset = (address - window) % CLUSTER_UNIT;

    return window + offset + (rank == (uint32_t)m->rank ? 0 : ((uint64_t)rank + 1) * CLUSTER_UNIT);
}

void emu_exec_mapa(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane32 *rank = src_at(w, in, 1);
    const Machine *m = w->m;
    uint64_t address[LANES];

    emu_addresses(w, in, 0, in->bytes == 8, 0, address);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        uint32_t to = rank[l];

        if (to >= (uint32_t)m->cluster->size) {
            emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "rank %u, in a cluster of %d blocks", to, m->cluster->size);
            to = (uint32_t)m->rank;
        }
        address[l] = address_in(m, address[l], to);
        if (in->bytes == 8)
            ((Lane64 *)op_at(w, in, 0))[l] = address[l];
        else
            ((Lane32 *)op_at(w, in, 0))[l] = (uint32_t)address[l];
    }
}

void emu_exec_getctarank(Warp *w, const Inst *in, uint32_t mask)
{
    uint64_t address[LANES];

    emu_addresses(w, in, 0, in->bytes == 8, 0, address);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);

        ((Lane32 *)op_at(w, in, 0))[l] = (uint32_t)rank_of(w->m, emu_shared_address(address[l]));
    }
}

uint32_t emu_cluster_own(const Machine *m, const uint64_t address[LANES], uint64_t within[LANES])
{
    uint32_t own = 0;

    for (int l = 0; l < LANES; l++) {
        own |= (uint32_t)(rank_of(m, address[l]) == (uint64_t)m->rank) << l;
        within[l] = address[l] % CLUSTER_UNIT;
    }
    return own;
}

/* ---- shared memory of other blocks ------------------------------------------------------------ */

Machine *emu_cluster_target(Warp *w, const Inst *in, int l, uint64_t address, int bytes)
{
    const Machine *m = w->m;
    uint64_t rank = rank_of(m, address), offset = address % CLUSTER_UNIT;

    if (rank >= (uint64_t)m->cluster->size)
        emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "shared address 0x%llx names no block of a cluster of %d",
                  (unsigned long long)address, m->cluster->size);
    else if (offset > m->shared_bytes || m->shared_bytes - offset < (uint64_t)bytes)
        emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "%d bytes at 0x%llx of rank %llu's shared memory, which has 0x%x", bytes,
                  (unsigned long long)offset, (unsigned long long)rank, m->shared_bytes);
    else
        return &m->cluster->blocks[rank];
    return NULL;
}

/* A phase that the warp knows says that all blocks have started. */
static bool alive(Warp *w, const Inst *in, int l, Machine *to)
{
    if (!emu_cluster_phase(w)) {
        emu_fault(w, in, EMU_RACE, l,
                  "the block of rank %d, whose shared memory this is, may not have started: no barrier of the cluster "
                  "has been waited for", to->rank);
        return false;
    }
    if (!to->running)
        reached_too_late(w, in, l, to->rank);
    *reach_of(to, w) = (Reach){ w->epoch, in, l };
    return to->running > 0;
}

/* Returns false when the lane has to be left out. */
static bool check_access(Warp *w, const Inst *in, Machine *to, uint32_t at, int bytes, AccessMode mode, FarAccess *access)
{
    int l = access->lane;
    const char *why;
    EmuFaultKind kind;

    if (alive(w, in, l, to) && !emu_shadow_remote(to->shadow, w, access, at, (uint32_t)bytes, &why, &kind)) {
        emu_fault(w, in, kind, l, "shared memory of rank %d at 0x%x: %s", to->rank, at, why);
        if (kind == EMU_ASYNC_RACE)
            return false;
    }
    if (mode != ACCESS_WRITE && !emu_bits_all(to->shared_written, at, bytes))
        emu_fault(w, in, EMU_UNINITIALISED, l, "shared memory of rank %d at 0x%x is read before it is written", to->rank, at);
    emu_bits_set(to->shared_written, at, bytes);
    return true;
}

uint32_t emu_cluster_access(Warp *w, const Inst *in, uint32_t mask, const uint64_t address[LANES], int bytes,
                            AccessMode mode, uint8_t *at[LANES])
{
    FarAccess access = { .mode = in->flags & IF_STRONG ? ACCESS_ATOMIC : mode };
    Machine *last = NULL;
    uint64_t within[LANES];
    uint32_t ok = 0;

    emu_cluster_own(w->m, address, within);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        Machine *to = emu_cluster_target(w, in, l, address[l], bytes);

        if (!to)
            continue;
        if (to != last)
            access.round = 0; /* its shadow has other states */
        last = to;
        access.lane = l;
        if (to->async)
            emu_mbarrier_touch(w, in, to->async, 1u << l, within, bytes);
        if (w->m->checks && !check_access(w, in, to, (uint32_t)within[l], bytes, mode, &access))
            continue;
        at[l] = to->shared + within[l];
        ok |= 1u << l;
    }
    return ok;
}
