/* exec_st_async.c: st.async (PTX ISA, "Data Movement and Conversion Instructions: st.async").
 *
 * A lane stores up to 16 bytes into a block of its cluster, its own among them, and they
 * complete on an mbarrier of that block. The store is checked when it is issued and lands,
 * each lane's by itself, at a moment that the seed draws.
 *
 *     rank 1, lane 3                        rank 0: mbarrier f (agent 9)      its warps
 *     st.async [s of 0], [f of 0] ────────► s: written by 9, epoch 1
 *                                           phase 1 completes ──────────────► try_wait: seen[9] = 1
 *
 * It brings its bytes and nothing else: what its thread did before is not ordered by it.
 */
#include "emu/async.h"
#include "emu/cluster.h"

/* ---- checks at the issue ----------------------------------------------------------------- */

static bool check_place(Warp *w, const Inst *in, int l, const Machine *to, uint64_t address, int bytes)
{
    const Machine *there;

    if (address % (uint64_t)bytes) {
        emu_fault(w, in, EMU_MISALIGNED, l, "st.async to 0x%llx, not a multiple of %d",
                  (unsigned long long)address, bytes);
        return false;
    }
    there = emu_cluster_target(w, in, l, address, bytes);
    if (there && there != to)
        emu_fault(w, in, EMU_BARRIER, l, "st.async to shared memory of rank %d completes on an mbarrier of rank %d",
                  there->rank, to->rank);
    return there == to;
}

/* Whose phase it is that these bytes complete must not depend on who is faster. */
static void check_phase(Warp *w, const Inst *in, int l, const Machine *to, const MBarrier *b)
{
    int agent = mbarrier_agent(to, emu_mbarrier_index(to, b));

    if (b->phase == b->first)
        return;
    if (to == w->m ? w->seen[agent] >= b->phase : emu_cluster_before(w, to->rank, agent, b->phase))
        return;
    emu_fault(w, in, EMU_ASYNC_RACE, l,
              "mbarrier 0x%x of rank %d may count these bytes in an earlier phase: that phase %u has completed is not "
              "known here", b->address, to->rank, b->phase - b->first - 1);
}

static void check_order(Warp *w, const Inst *in, const Machine *to, const AsyncStore *s)
{
    FarAccess access = { .mode = ACCESS_WRITE, .agent = mbarrier_agent(to, s->barrier), .lane = s->thread % LANES,
                         .epoch = s->phase + 1 };
    EmuFaultKind kind;
    const char *why;

    if (!emu_shadow_later(to->shadow, w, &access, s->at, s->bytes, &why, &kind))
        emu_fault(w, in, kind, access.lane, "shared memory of rank %d at 0x%x: %s", to->rank, s->at, why);
}

/* ---- issue ----------------------------------------------------------------------------------- */

static void issue(Warp *w, const Inst *in, int l, uint64_t address, Machine *to, MBarrier *b)
{
    AsyncStore s = { .in = in, .from = w->m, .thread = w->index * LANES + l, .at = (uint32_t)(address % CLUSTER_UNIT),
                     .bytes = (uint32_t)in->bytes * in->vec, .barrier = emu_mbarrier_index(to, b), .phase = b->phase };
    uint64_t within[LANES] = { 0 };

    for (int j = 0; j < in->vec; j++) {
        uint64_t bits = lane_bits(src_at(w, in, 1 + j), in->aux, l);

        memcpy(s.data + in->bytes * j, &bits, in->bytes);
    }
    b->store = s;
    if (!check_place(w, in, l, to, address, (int)s.bytes)) {
        s.wrong = true;
    } else {
        within[l] = s.at;
        emu_mbarrier_touch(w, in, to->async, 1u << l, within, (int)s.bytes);
        if (w->m->checks) {
            check_phase(w, in, l, to, b);
            check_order(w, in, to, &s);
            emu_bits_set(to->shared_written, s.at, (int)s.bytes);
        }
    }
    vec_push(to->arena, &to->async->stores, s);
}

/* Sources: the address, the elements, the mbarrier. */
void emu_exec_st_async(Warp *w, const Inst *in, uint32_t mask)
{
    uint64_t address[LANES], barrier[LANES];

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, address);
    emu_addresses(w, in, 1 + in->vec, in->flags & IF_WIDE2, in->imm2, barrier);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        uint64_t place = emu_shared_address(barrier[l]);
        Machine *to = emu_cluster_target(w, in, l, place, sizeof(uint64_t));
        MBarrier *b;

        if (!to)
            continue;
        if (!to->running)
            emu_fault(w, in, EMU_ASYNC_RACE, l, "st.async to the block of rank %d, which has exited", to->rank);
        else if ((b = emu_mbarrier_in(w, in, l, to, place % CLUSTER_UNIT)) != NULL)
            issue(w, in, l, emu_shared_address(address[l]), to, b);
    }
}

/* ---- landing --------------------------------------------------------------------------------- */

/* Of a store that was wrong the end is simulated, so that one fault stays one. */
void emu_store_land(Machine *m, int store)
{
    Async *a = m->async;
    AsyncStore s = a->stores.data[store];
    MBarrier *b = &a->barriers[s.barrier];

    a->progress++;
    a->stores.data[store] = a->stores.data[--a->stores.len];
    if (!s.wrong)
        memcpy(m->shared + s.at, s.data, s.bytes);
    if (b->phase != s.phase)
        emu_fault_block(s.from, EMU_TRANSACTION, s.in->line, s.thread,
                        "phase %u of mbarrier 0x%x of rank %d completed before these %u bytes, which belong to it",
                        s.phase - b->first, b->address, m->rank, s.bytes);
    emu_mbarrier_bytes(m, b, s.in, b->init_warp * LANES + b->init_lane, -(int64_t)s.bytes);
}

/* Shared memory goes with the block: one of its threads waits for what is stored there. */
void emu_store_end_block(Machine *m)
{
    for (int i = 0; i < m->async->barrier_count; i++) {
        const AsyncStore *s = &m->async->barriers[i].store;

        if (s->in && !emu_mbarrier_awaited(m, i, s->phase + 1))
            emu_fault_block(s->from, EMU_ASYNC_RACE, s->in->line, s->thread,
                            "the block of rank %d ends and nobody waited for this st.async into its shared memory",
                            m->rank);
    }
}
