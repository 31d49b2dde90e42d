/* sched.c: runs a launch: clusters in turn, warps of their blocks by turns, lanes together.
 *
 * Lanes of a warp that take different ways are split into groups; the group
 * with the lowest place in the code goes first, and groups that meet become
 * one. Structured code reconverges so at the earliest place.
 *
 * Warps take turns under the launch's seed: seed 0 is round robin with long
 * turns, any other draws the next warp and the length of its turn.
 */
#include "emu/async.h"
#include "emu/cluster.h"

#include <time.h>

enum { LONG_TURN = 4096, SHORT_TURN = 64 };
#define DEFAULT_LIMIT UINT64_C(4000000000)
#define WARP_LIMIT UINT64_C(50000000) /* of a warp, where none is given: a loop without an end is found in seconds */
#define MOST_JUMPS UINT64_C(20000000) /* one after the other: nothing is left that could end them */

/* ---- epochs (see shadow.c) -------------------------------------------------------- */

void emu_new_epoch(Warp *w)
{
    w->epoch++;
    w->version++;
    w->write_state = w->async_state = 0;
    w->writer_id = w->ordered_id = 0;
}

void emu_release(Warp *w, Clock *join)
{
    emu_flags_together(w);
    for (int i = 0; i < w->m->agent_count; i++) {
        if (w->seen[i] > join->seen[i])
            join->seen[i] = w->seen[i];
    }
    join->seen[w->index] = w->epoch;
    if (w->async)
        emu_async_release(w, join);
    if (w->m->entry->flags)
        emu_flags_release(w, join);
    emu_new_epoch(w);
}

void emu_acquire(Warp *w, const Clock *join)
{
    for (int i = 0; i < w->m->agent_count; i++) {
        if (join->seen[i] > w->seen[i] && i != w->index)
            w->seen[i] = join->seen[i];
    }
    if (w->async)
        emu_async_acquire(w, join);
    if (w->m->entry->flags)
        emu_flags_acquire(w, join);
    w->version++;
    w->ordered_id = 0;
    emu_new_span(w);
}

void emu_clock_merge(const Machine *m, Clock *into, const Clock *from)
{
    for (int i = 0; i < m->agent_count; i++)
        into->seen[i] = from->seen[i] > into->seen[i] ? from->seen[i] : into->seen[i];
    for (int i = 0; i <= m->warp_count; i++)
        into->fenced[i] = from->fenced[i] > into->fenced[i] ? from->fenced[i] : into->fenced[i];
    if (m->entry->flags)
        emu_flags_merge(m, into, from);
}

/* ---- divergence ----------------------------------------------------------------------- */

static void find_merge_pc(Warp *w)
{
    w->merge_pc = INT32_MAX;
    for (int i = 0; i < w->group_count; i++) {
        if (w->groups[i].barrier == RUNNABLE && w->groups[i].pc < w->merge_pc)
            w->merge_pc = w->groups[i].pc;
    }
}

static void park(Warp *w, Group group)
{
    for (int i = 0; i < w->group_count; i++) {
        if (w->groups[i].pc == group.pc && w->groups[i].barrier == group.barrier) {
            w->groups[i].mask |= group.mask;
            return;
        }
    }
    w->groups[w->group_count++] = group; /* at most one a lane */
    find_merge_pc(w);
}

/* All its lanes wait at barriers, maybe not at the same. */
static void wait_parked(Warp *w)
{
    w->state = WARP_WAITING;
    w->wait_line = w->groups[0].line;
    w->wait_barrier = w->groups[0].barrier;
    if (w->async)
        emu_async_barrier(w, WAIT_BARRIER);
}

/* Goes on with the group that is furthest behind, joined by all at its place. */
static void regroup(Warp *w)
{
    if (w->active)
        park(w, (Group){ w->pc, w->active, RUNNABLE, 0 });
    find_merge_pc(w);
    w->pc = w->merge_pc;
    w->active = 0;
    for (int i = 0; i < w->group_count;) {
        if (w->groups[i].pc == w->pc && w->groups[i].barrier == RUNNABLE) {
            w->active |= w->groups[i].mask;
            w->groups[i] = w->groups[--w->group_count];
        } else {
            i++;
        }
    }
    find_merge_pc(w);
    if (!w->active)
        wait_parked(w);
}

void emu_park_at(Warp *w, uint32_t mask, int barrier, int line)
{
    park(w, (Group){ w->pc, mask, barrier, line });
    w->active &= ~mask;
    if (!w->active)
        regroup(w);
}

void emu_unpark(Warp *w, int barrier)
{
    for (int i = 0; i < w->group_count; i++) {
        if (w->groups[i].barrier == barrier)
            w->groups[i].barrier = RUNNABLE;
    }
    find_merge_pc(w);
    w->state = WARP_READY;
    if (!w->active)
        regroup(w);
}

void emu_branch(Warp *w, uint32_t taken, int target)
{
    uint32_t rest = w->active & ~taken;

    if (rest)
        park(w, (Group){ w->pc, rest, RUNNABLE, 0 }); /* pc is already that of the next instruction */
    w->active = taken;
    w->pc = target;
}

void emu_branch_apart(Warp *w, uint32_t mask, const int target[LANES])
{
    uint32_t rest = w->active & ~mask;

    if (rest)
        park(w, (Group){ w->pc, rest, RUNNABLE, 0 });
    for (; mask; mask &= mask - 1)
        park(w, (Group){ target[first_lane(mask)], 1u << first_lane(mask), RUNNABLE, 0 });
    w->active = 0;
    regroup(w);
}

void emu_exit_lanes(Warp *w, uint32_t mask)
{
    w->live &= ~mask;
    w->active &= ~mask;
    if (!w->live)
        w->state = WARP_DONE;
    else if (!w->active)
        regroup(w);
    if (w->live && w->group_count)
        emu_barrier_exit(w);
    emu_cluster_exit(w, mask);
}

/* ---- one instruction -------------------------------------------------------------------- */

static void report_undefined(Warp *w, const Inst *in, Place place, uint32_t lanes)
{
    emu_fault(w, in, EMU_UNINITIALISED, first_lane(lanes), "register '%s' is read before it is written",
              w->m->entry->slots.data[place.slot].name);
    w->defined[place.slot] |= lanes; /* once is enough */
}

static void check_sources(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t missing = 0;
    int first = in->nd + (in->flags & IF_OTHERS ? 1 : 0);

    for (int i = first; i < in->nd + in->ns; i++)
        missing |= mask & ~w->defined[in->op[i].slot];
    for (int i = first; missing && i < in->nd + in->ns; i++) {
        uint32_t lanes = mask & ~w->defined[in->op[i].slot];

        if (lanes)
            report_undefined(w, in, in->op[i], lanes);
    }
}

/* The lanes for which the guard holds. */
static uint32_t guarded(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t p = *(Lane32 *)(w->regs + in->guard.at);

    if (w->m->checks && mask & ~w->defined[in->guard.slot])
        report_undefined(w, in, in->guard, mask & ~w->defined[in->guard.slot]);
    return mask & (in->flags & IF_GUARD_NOT ? ~p : p);
}

/* .aligned: all threads of the warp execute the same instruction. */
static void check_aligned(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t needed = in->flags & IF_FULL ? FULL : w->live;

    if (mask != needed)
        emu_fault(w, in, EMU_DIVERGENT, first_lane(mask),
                  "only lanes 0x%08x of 0x%08x execute this warp-wide instruction", mask, needed);
}

/* Compilers copy registers that nobody has written, as a half of a pair of which the other is meant: what is
 * copied may be undefined, and then so is the copy, of a pair if both halves are. */
static void copy_defined(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t defined = 0;

    for (int i = in->nd; i < in->nd + in->ns; i++)
        defined |= w->defined[in->op[i].slot];
    for (int i = 0; i < in->nd; i++)
        w->defined[in->op[i].slot] = (w->defined[in->op[i].slot] & ~mask) | (defined & mask);
}

/* Returns the lanes that executed. */
static inline uint32_t step(Warp *w, const Inst *in)
{
    EmuReport *report = w->m->report;
    uint32_t mask = w->active;

    if (in->flags & IF_GUARDED)
        mask = guarded(w, in, mask);
    report->warp_instructions++;
    report->counts[in->cls]++;
    report->thread_instructions += mask == FULL ? LANES : (uint64_t)__builtin_popcount(mask);
    w->pc++;
    if (!mask)
        return 0;
    if (in->flags & IF_ALIGNED)
        check_aligned(w, in, mask);
    if (!w->m->checks) {
        in->exec(w, in, mask);
        return mask;
    }
    if (in->flags & IF_COPIES) {
        in->exec(w, in, mask);
        copy_defined(w, in, mask);
        return mask;
    }
    check_sources(w, in, mask);
    in->exec(w, in, mask);
    for (int i = 0; i < in->nd; i++)
        w->defined[in->op[i].slot] |= mask;
    return mask;
}

static void turn(Warp *w, uint64_t steps)
{
    Machine *m = w->m;
    Run *run = m->run;
    const Inst *code = m->entry->code.data;

    if (steps > run->left)
        steps = run->left;
    run->left -= steps;
    while (steps && w->state == WARP_READY && !run->stop) {
        if (w->pc >= w->merge_pc)
            regroup(w);
        step(w, &code[w->pc]);
        steps--;
    }
    run->left += steps;
}

/* The same where registers may be in flight. */
static void turn_async(Warp *w, uint64_t steps)
{
    Machine *m = w->m;
    Run *run = m->run;
    const Inst *code = m->entry->code.data;

    if (steps > run->left)
        steps = run->left;
    run->left -= steps;
    while (steps && w->state == WARP_READY && !run->stop) {
        const Inst *in = &code[w->pc];

        if (w->pc >= w->merge_pc) {
            regroup(w);
            in = &code[w->pc];
        }
        if (w->async->answer_count && m->checks)
            emu_mbarrier_answers(w, in);
        if (step(w, in) && m->checks && !(in->flags & IF_WGMMA))
            emu_async_registers(w, in);
        steps--;
    }
    run->left += steps;
}

/* ---- one block ----------------------------------------------------------------------------- */

static void fill32(Warp *w, Place place, uint32_t value)
{
    Lane32 *lanes = (Lane32 *)(w->regs + place.at);

    for (int l = 0; l < LANES; l++)
        lanes[l] = value;
    w->defined[place.slot] = FULL;
}

static void fill64(Warp *w, Place place, uint64_t value)
{
    Lane64 *lanes = (Lane64 *)(w->regs + place.at);

    for (int l = 0; l < LANES; l++)
        lanes[l] = value;
    w->defined[place.slot] = FULL;
}

static uint32_t special_value(const Warp *w, Special special, int l)
{
    const Machine *m = w->m;
    const int *grid = m->launch->grid, *block = m->launch->block, *cluster = m->entry->cluster;
    uint32_t thread = (uint32_t)(w->index * LANES + l), nx = (uint32_t)block[0], ny = (uint32_t)block[1];

    switch (special) {
    case SP_TID_X: return thread % nx;
    case SP_TID_Y: return thread / nx % ny;
    case SP_TID_Z: return thread / nx / ny;
    case SP_NTID_X: return nx;
    case SP_NTID_Y: return ny;
    case SP_NTID_Z: return (uint32_t)block[2];
    case SP_CTAID_X: return (uint32_t)m->block[0];
    case SP_CTAID_Y: return (uint32_t)m->block[1];
    case SP_CTAID_Z: return (uint32_t)m->block[2];
    case SP_NCTAID_X: return (uint32_t)grid[0];
    case SP_NCTAID_Y: return (uint32_t)grid[1];
    case SP_NCTAID_Z: return (uint32_t)grid[2];
    case SP_LANEID: return (uint32_t)l;
    case SP_WARPID: return (uint32_t)w->index;
    case SP_NWARPID: return (uint32_t)m->warp_count;
    case SP_SMID: return 0;
    case SP_NSMID: return 1;
    case SP_LANEMASK_EQ: return 1u << l;
    case SP_LANEMASK_LT: return (1u << l) - 1;
    case SP_LANEMASK_LE: return (2u << l) - 1;
    case SP_LANEMASK_GT: return ~((2u << l) - 1);
    case SP_LANEMASK_GE: return ~((1u << l) - 1);
    case SP_DYNAMIC_SMEM: return (uint32_t)m->launch->shared_bytes;
    case SP_TOTAL_SMEM: return m->shared_bytes;
    case SP_CLUSTER_CTARANK: return (uint32_t)m->rank;
    case SP_CLUSTER_NCTARANK: return (uint32_t)m->cluster->size;
    case SP_CLUSTERID_X: return (uint32_t)(m->block[0] / cluster[0]);
    case SP_CLUSTERID_Y: return (uint32_t)(m->block[1] / cluster[1]);
    case SP_CLUSTERID_Z: return (uint32_t)(m->block[2] / cluster[2]);
    case SP_NCLUSTERID_X: return (uint32_t)(grid[0] / cluster[0]);
    case SP_NCLUSTERID_Y: return (uint32_t)(grid[1] / cluster[1]);
    case SP_NCLUSTERID_Z: return (uint32_t)(grid[2] / cluster[2]);
    case SP_CLUSTER_CTAID_X: return (uint32_t)(m->block[0] % cluster[0]);
    case SP_CLUSTER_CTAID_Y: return (uint32_t)(m->block[1] % cluster[1]);
    case SP_CLUSTER_CTAID_Z: return (uint32_t)(m->block[2] % cluster[2]);
    case SP_CLUSTER_NCTAID_X: return (uint32_t)cluster[0];
    case SP_CLUSTER_NCTAID_Y: return (uint32_t)cluster[1];
    case SP_CLUSTER_NCTAID_Z: return (uint32_t)cluster[2];
    case SP_COUNT: break;
    }
    return 0;
}

static void fill_specials(Warp *w)
{
    for (int i = 0; i < SP_COUNT; i++) {
        Place place = w->m->entry->special[i];
        Lane32 *lanes = (Lane32 *)(w->regs + place.at);

        if (!place.slot)
            continue;
        for (int l = 0; l < LANES; l++)
            lanes[l] = special_value(w, (Special)i, l);
        w->defined[place.slot] = FULL;
    }
}

static uint32_t dynamic_base(const Entry *entry)
{
    uint32_t align = (uint32_t)entry->dynamic_align;

    return ((uint32_t)entry->shared_bytes + align - 1) / align * align;
}

static void fill_registers(Warp *w)
{
    const Entry *entry = w->m->entry;

    memset(w->defined, 0, (size_t)entry->slots.len * sizeof *w->defined);
    for (int i = 0; i < entry->constants.len; i++) {
        const Constant *c = &entry->constants.data[i];

        if (c->wide)
            fill64(w, c->place, c->value + (c->variable ? w->m->variables[c->variable - 1] : 0));
        else
            fill32(w, c->place, (uint32_t)c->value);
    }
    if (entry->dynamic_base[0].slot)
        fill32(w, entry->dynamic_base[0], dynamic_base(entry));
    if (entry->dynamic_base[1].slot)
        fill64(w, entry->dynamic_base[1], dynamic_base(entry));
    fill_specials(w);
}

static size_t local_words(const Warp *w)
{
    return (size_t)w->m->entry->local_bytes * LANES / 64 + 1;
}

static void start_warp(Machine *m, int index)
{
    Warp *w = &m->warps[index];
    int threads = m->threads - index * LANES;

    w->m = m;
    w->index = index;
    w->state = WARP_READY;
    w->live = w->active = threads >= LANES ? FULL : (1u << threads) - 1;
    w->pc = 0;
    w->merge_pc = INT32_MAX;
    w->group_count = 0;
    w->epoch = 0;
    w->executed = 0;
    w->arrived = w->passed = w->wait_mask = w->reduce_lanes = 0;
    w->reduces = NULL;
    if (w->fence)
        memset(w->fence, 0, sizeof *w->fence);
    emu_new_epoch(w);
    emu_new_span(w);
    memset(w->seen, 0, sizeof w->seen);
    memset(w->commits, 0, sizeof w->commits);
    memset(w->reads, 0, sizeof w->reads);
    memset(w->writes, 0, sizeof w->writes);
    memset(w->atomics, 0, sizeof w->atomics);
    w->copies.len = 0;
    w->copy_reader = 0;
    w->others = NULL;
    w->behind = w->heard = w->part = (KnownBy){ { NULL } };
    w->heard_lanes = w->part_lanes = 0;
    if (w->local)
        memset(w->local_written, 0, local_words(w) * sizeof *w->local_written);
    fill_registers(w);
    if (m->async)
        emu_async_start_warp(w);
}

static void start_block(Machine *m)
{
    m->report->blocks++;
    m->running = m->warp_count;
    memset(m->barriers, 0, sizeof m->barriers);
    memset(m->shared_written, 0, (m->shared_bytes / 64 + 2) * sizeof *m->shared_written);
    emu_flags_clear(&m->flags);
    if (m->async)
        emu_async_start_block(m);
    for (int i = 0; i < m->warp_count; i++)
        start_warp(m, i);
    if (m->checks)
        emu_shadow_reset(m->shadow);
}

static void report_stuck(Machine *m, const Warp *stuck, int waiting)
{
    int thread = stuck->index * LANES;
    Str text = str_new(m->arena);

    if (stuck->wait_barrier == CLUSTER_BARRIER) {
        emu_cluster_describe(m->cluster, &text);
        emu_fault_block(m, EMU_DEADLOCK, stuck->wait_line, thread, "%d warps wait for %s", waiting, str_text(&text));
        return;
    }
    emu_fault_block(m, EMU_DEADLOCK, stuck->wait_line, thread,
                    "barrier %d has %d of %d threads; %d warps wait, the others have exited",
                    stuck->wait_barrier, m->barriers[stuck->wait_barrier].arrived,
                    m->barriers[stuck->wait_barrier].expected, waiting);
}

static void deadlock(Machine *m)
{
    const Warp *stuck = NULL;
    int waiting = 0;

    if (m->async) {
        emu_async_end_block(m);
        return;
    }
    for (int i = 0; i < m->warp_count; i++) {
        if (m->warps[i].state == WARP_WAITING) {
            stuck = stuck ? stuck : &m->warps[i];
            waiting++;
        }
    }
    if (stuck)
        report_stuck(m, stuck, waiting);
}

static Warp *warp_at(const Cluster *c, int i)
{
    int each = c->blocks->warp_count;

    return &c->blocks[i / each].warps[i % each];
}

Warp *emu_pick(Cluster *c, const Warp *last)
{
    Machine *m = c->blocks;
    int all = c->size * m->warp_count;
    int start = m->launch->seed ? rng_below(&m->run->rng, all) : last->m->rank * m->warp_count + last->index + 1;

    for (int i = 0; i < all; i++) {
        Warp *w = warp_at(c, (start + i) % all);

        if (w->state == WARP_READY)
            return w;
    }
    return NULL;
}

/* The line is where the warp that ran last stands: the loop without an end, if there is one. */
static void limit_reached(const Machine *m, Warp *w)
{
    emu_fault(w, &m->entry->code.data[w->pc], EMU_INSTRUCTION_LIMIT, 0, "%llu instructions were executed",
              (unsigned long long)m->report->warp_instructions);
    w->m->run->stop = true;
}

static void run_cluster(Cluster *c)
{
    Machine *m = c->blocks;
    Run *run = m->run;
    Warp *w = &c->blocks[c->size - 1].warps[m->warp_count - 1], *next;
    uint64_t others = 0, since = m->report->warp_instructions; /* instructions but jumps, and when the last one was seen */
    uint64_t left;

    emu_cluster_start(c);
    for (int i = 0; i < c->size; i++)
        start_block(&c->blocks[i]);
    while (!run->stop && (next = m->async ? emu_async_pick(c, w) : emu_pick(c, w)) != NULL) {
        uint64_t now = m->report->warp_instructions, rest = now - m->report->counts[EMU_CONTROL];
        if (rest != others) {
            others = rest;
            since = now;
        }
        if (!run->left || now - since > MOST_JUMPS || w->executed > run->most_of_warp) {
            limit_reached(w->m, w->state == WARP_DONE ? next : w);
            return;
        }
        w = next;
        left = run->left;
        (m->async ? turn_async : turn)(w, m->launch->seed ? 1 + (uint64_t)rng_below(&run->rng, SHORT_TURN)
                                                          : LONG_TURN);
        w->executed += left - run->left;
    }
    for (int i = 0; i < c->size && !run->stop; i++)
        deadlock(&c->blocks[i]);
}

/* ---- the launch ---------------------------------------------------------------------------------- */

static bool check_launch(Machine *m)
{
    const EmuLaunch *launch = m->launch;
    const Entry *entry = m->entry;
    int64_t threads = 1;

    for (int i = 0; i < 3; i++) {
        if (launch->block[i] < 1 || launch->block[i] > MAX_THREADS)
            threads = MAX_THREADS + 1;
        threads *= launch->block[i];
        if (entry->required[i] && entry->required[i] != launch->block[i])
            emu_fault_block(m, EMU_LAUNCH, 1, 0, "a block of %d, %d, %d threads, where .reqntid asks for others",
                            launch->block[0], launch->block[1], launch->block[2]);
    }
    if (threads < 1 || threads > MAX_THREADS)
        emu_fault_block(m, EMU_LAUNCH, 1, 0, "a block has 1 to %d threads", MAX_THREADS);
    else if (entry->max_threads && threads > entry->max_threads)
        emu_fault_block(m, EMU_LAUNCH, 1, 0, "a block of %d threads, where .maxntid allows %d",
                        (int)threads, entry->max_threads);
    if (launch->shared_bytes > MAX_SHARED)
        emu_fault_block(m, EMU_LAUNCH, 1, 0, "more than %d bytes of shared memory", MAX_SHARED);
    m->threads = (int)threads;
    if (launch->registers < 0 || (int64_t)launch->registers * threads > REGISTER_FILE)
        emu_fault_block(m, EMU_LAUNCH, 1, 0, "%d registers for each of %d threads, where a multiprocessor has %d",
                        launch->registers, (int)threads, REGISTER_FILE);
    emu_cluster_check_launch(m);
    return m->report->fault_count == 0;
}

static void start_machine(Machine *m)
{
    const Entry *entry = m->entry;

    m->warp_count = (m->threads + LANES - 1) / LANES;
    m->checks = !m->launch->no_checks;
    m->shared_bytes = dynamic_base(entry) + (uint32_t)m->launch->shared_bytes;
    m->shared = arena_alloc(m->arena, m->shared_bytes + 16);
    m->shared_written = arena_array(m->arena, uint64_t, m->shared_bytes / 64 + 2);
    m->agent_count = m->reader_count = m->warp_count + (m->cluster->size > 1);
    m->warps = arena_array(m->arena, Warp, m->warp_count);
    for (int i = 0; i < m->warp_count; i++) {
        m->warps[i].m = m;
        m->warps[i].regs = arena_alloc(m->arena, entry->block_bytes);
        m->warps[i].defined = arena_array(m->arena, uint32_t, entry->slots.len);
    }
    if (entry->async)
        emu_async_start(m);
    if (m->checks) {
        m->shadow = emu_shadow_new(m, m->shared_bytes);
        m->lanes = emu_lanes_new(m, m->shared_bytes);
    }
}

static Run *start_run(Arena *arena, const EmuLaunch *launch)
{
    Run *run = arena_new_of(arena, Run);

    run->rng.state = launch->seed;
    run->left = launch->max_instructions ? launch->max_instructions : DEFAULT_LIMIT;
    run->most_of_warp = launch->max_of_warp ? launch->max_of_warp
                        : launch->max_instructions ? launch->max_instructions : WARP_LIMIT;
    vec_push(arena, &run->writers, (Writer){ 0 });
    return run;
}

/* The cluster's blocks lie at `first` and beside it. */
static void place_blocks(Cluster *c, const int first[3])
{
    const int *grid = c->blocks->launch->grid, *dims = c->blocks->entry->cluster;

    for (int i = 0; i < c->size; i++) {
        Machine *m = &c->blocks[i];

        m->block[0] = first[0] + i % dims[0];
        m->block[1] = first[1] + i / dims[0] % dims[1];
        m->block[2] = first[2] + i / dims[0] / dims[1];
        m->block_index = (uint64_t)m->block[0] +
                         (uint64_t)grid[0] * ((uint64_t)m->block[1] + (uint64_t)grid[1] * (uint64_t)m->block[2]);
    }
}

/* A cluster runs whole. */
static bool wanted(const Cluster *c)
{
    const EmuLaunch *launch = c->blocks->launch;

    for (int i = 0; i < c->size && launch->want_block; i++) {
        const int *at = c->blocks[i].block;

        if (launch->want_block(launch->user, at[0], at[1], at[2]))
            return true;
    }
    return !launch->want_block;
}

static void run_grid(Cluster *c)
{
    const Machine *m = c->blocks;
    const int *grid = m->launch->grid, *dims = m->entry->cluster;
    int at[3];

    for (at[2] = 0; at[2] < grid[2]; at[2] += dims[2]) {
        for (at[1] = 0; at[1] < grid[1]; at[1] += dims[1]) {
            for (at[0] = 0; at[0] < grid[0] && !m->run->stop; at[0] += dims[0]) {
                place_blocks(c, at);
                if (wanted(c))
                    run_cluster(c);
            }
        }
    }
}

bool emu_run(Arena *arena, const EmuModule *module, int entry, EmuMemory *memory,
             const EmuLaunch *launch, EmuReport *report)
{
    Machine first = { .arena = arena, .entry = module->entries.data[entry], .memory = memory, .launch = launch,
                      .report = report };
    clock_t start = clock();

    memset(report, 0, sizeof *report);
    first.run = start_run(arena, launch);
    first.variables = emu_memory_variables(memory, module);
    if (check_launch(&first)) {
        Cluster *c = emu_cluster_new(&first);

        for (int i = 0; i < c->size; i++)
            start_machine(&c->blocks[i]);
        memory->launches++;
        run_grid(c);
    }
    report->seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    return report->fault_count == 0;
}
