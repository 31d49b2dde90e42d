/* roles.c: kernels whose warps have programs of their own.
 *
 * A role is emitted as if it were an entry by itself: what it hoists stays within it,
 * since the registers of another role are not its to fill. Its warps come to it by
 * the number of their warpgroup (role after role, instance after instance).
 *
 * A persistent kernel's blocks take one place of the grid after the other. The first
 * copier hands them out: it draws the next from a counter in global memory and leaves
 * the coordinates in one of two slots, which the instances of the other roles read.
 * The counter goes back to 0 by itself: of as many draws as there are places, each
 * block's last one is in vain (PTX ISA, atom.inc).
 *
 * Turns are named barriers, one an instance, at which the one before it arrives.
 */
#include "ptx/roles.h"

enum {
    SLOTS = 2,
    SLOT_BYTES = 32,        /* coordinates of up to 8 axes */
    TURN_BARRIER = 1,       /* number of the first; 0 is the block's own */
    TURN_THREADS = 256      /* one instance arrives, one waits */
};

/* ---- what a role does ------------------------------------------------------------- */

static bool is_work(const TileOp *op)
{
    bool copies = op->kind == TILE_ACQUIRE || op->kind == TILE_FILLED || op->kind == TILE_COPY_ASYNC;
    bool flow = op->kind == TILE_FOR || op->kind == TILE_IF || op->kind == TILE_YIELD;
    return !copies && !flow;
}

static bool has_work(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (is_work(op)) return true;
        for (int r = 0; r < op->n_regions; r++)
            if (has_work(op->regions[r])) return true;
    }
    return false;
}

static bool is_copier(const TileOp *roles, int role)
{
    return !has_work(roles->regions[role]);
}

static int first_copier(const TileOp *roles)
{
    for (int i = 0; i < roles->n_regions; i++)
        if (is_copier(roles, i)) return i;
    return -1;
}

/* ---- places of the grid -------------------------------------------------------------- */

static int64_t slots_at(const Emitter *e)
{
    return (rg_barriers(e->kernel, NULL) + 15) / 16 * 16;
}

/* Full barriers of the slots, then empty ones, then the slots. */
static int64_t slot_barrier(const Emitter *e, bool empty)
{
    return slots_at(e) + (empty ? 8 * SLOTS : 0);
}

static const char *slot_address(Emitter *e, const char *slot, int bytes)
{
    const char *address = em_new(e, REG_R);
    em(e, "mad.lo.s32 %s, %s, %d, %s;", address, slot, bytes, e->smem);
    return address;
}

/* Where a role is among the slots: how many it has passed, in one register. */
static const char *start_slots(Emitter *e, int parity)
{
    const char *passed = em_new(e, REG_R);
    em_before(e, "mov.b32 %s, %d;", passed, parity * SLOTS);
    return passed;
}

typedef struct Slot {
    const char *barrier, *place; /* addresses, less their constant parts */
    const char *parity;
} Slot;

static Slot slot_at(Emitter *e, const char *passed)
{
    const char *slot = em_new(e, REG_R), *round = em_new(e, REG_R), *parity = em_new(e, REG_R);
    em(e, "and.b32 %s, %s, %d;", slot, passed, SLOTS - 1);
    em(e, "shr.u32 %s, %s, 1;", round, passed);
    em(e, "and.b32 %s, %s, 1;", parity, round);
    const char *barrier = slot_address(e, slot, 8), *place = slot_address(e, slot, SLOT_BYTES);
    return (Slot){barrier, place, parity};
}

static void init_slots(Emitter *e, const TileOp *roles)
{
    int readers = 0, copier = first_copier(roles);
    for (int i = 0; i < roles->n_regions; i++)
        if (i != copier) readers += tile_instances(e->kernel, roles->roles[i].per) * (is_copier(roles, i) ? 1 : roles->roles[i].warps);
    for (int k = 0; k < 2 * SLOTS; k++)
        em(e, "mbarrier.init.shared::cta.b64 [%s+%lld], %d;", e->smem, (long long)slots_at(e) + 8 * k,
           k < SLOTS ? 1 : readers);
}

/* The coordinates that are blocks', in the order of the grid, or -1. */
static void write_slot(Emitter *e, const char *passed, bool last)
{
    Slot slot = slot_at(e, passed);
    rg_wait(e, arena_printf(e->arena, "%s+%lld", slot.barrier, (long long)slot_barrier(e, true)), (Phase){slot.parity, -1});
    int64_t at = slots_at(e) + 16 * SLOTS;
    for (int i = 0; i < e->kernel->grid.len; i++) {
        const TileAxis *axis = &e->kernel->grid.data[i];
        if (axis->within) continue;
        em(e, "st.shared.b32 [%s+%lld], %s;", slot.place, (long long)at, last ? "-1" : ix_value(e, aff_of(e->program->aff, axis->sym)));
        at += 4;
    }
    em(e, "mbarrier.arrive.shared::cta.b64 _, [%s+%lld];", slot.barrier, (long long)slot_barrier(e, false));
    em(e, "add.s32 %s, %s, 1;", passed, passed);
}

/* Coordinates from the slot; jumps out where there is none. */
static void read_slot(Emitter *e, const char *passed, int end)
{
    Slot slot = slot_at(e, passed);
    const char *first = NULL, *p = em_new(e, REG_P);
    rg_wait(e, arena_printf(e->arena, "%s+%lld", slot.barrier, (long long)slot_barrier(e, false)), (Phase){slot.parity, -1});
    int64_t at = slots_at(e) + 16 * SLOTS;
    for (int i = 0; i < e->kernel->grid.len; i++) {
        const TileAxis *axis = &e->kernel->grid.data[i];
        if (axis->within) continue;
        const char *raw = em_new(e, REG_R), *same = em_new(e, REG_R);
        em(e, "ld.shared.b32 %s, [%s+%lld];", raw, slot.place, (long long)at);
        em(e, "shfl.sync.idx.b32 %s, %s, 0, 31, -1;", same, raw); /* the same in all lanes: ptxas keeps it uniform */
        ix_bind(e, axis->sym, same, em_level(e));
        if (!first) first = same;
        at += 4;
    }
    em(e, "@%s mbarrier.arrive.shared::cta.b64 _, [%s+%lld];", e->first_lane, slot.barrier, (long long)slot_barrier(e, true));
    em(e, "add.s32 %s, %s, 1;", passed, passed);
    em(e, "setp.lt.s32 %s, %s, 0;", p, first);
    em(e, "@%s bra.uni $last%d;", p, end);
}

static int kernel_number(const Emitter *e)
{
    int i = 0;
    while (e->program->kernels.data[i] != e->kernel) i++;
    return i;
}

/* The copier that hands places out. What it works out for a place stands within the
 * loop over places, and what comes last in a place's work after that work: nothing is
 * kept in registers longer than it must be. */
static void hand_out(Emitter *e, const TileBlock *body, int label)
{
    const char *passed = start_slots(e, 1);
    const char *place = em_new(e, REG_R), *drawn = em_new(e, REG_R), *limit = em_new(e, REG_R), *blocks = em_new(e, REG_R);
    const char *generic = em_new(e, REG_RD), *counter = em_new(e, REG_RD), *p = em_new(e, REG_P);
    em_before(e, "mov.u32 %s, %%ctaid.x;", place);
    int number = kernel_number(e);
    const char *count = ix_value(e, e->abi->kernels.data[number].fast.blocks);
    em(e, "setp.ge.s32 %s, %s, %s;", p, place, count);
    em(e, "@%s bra.uni $last%d;", p, label);
    kn_decode_grid(e, place);
    write_slot(e, passed, false);
    kn_block(e, body);
    em(e, "mov.u32 %s, %%nctaid.x;", blocks);
    em(e, "add.s32 %s, %s, -1;", limit, count);
    em(e, "ld.param.u64 %s, [%s];", generic, kn_param(e, ABI_COUNTER, 0, number));
    em(e, "cvta.to.global.u64 %s, %s;", counter, generic);
    em(e, "atom.global.inc.u32 %s, [%s], %s;", drawn, counter, limit);
    em(e, "add.s32 %s, %s, %s;", place, drawn, blocks);
    em(e, "bra.uni $place%d;", label);
    em(e, "$last%d:", label);
    write_slot(e, passed, true);
}

static void take_places(Emitter *e, const TileBlock *body, int label)
{
    const char *passed = start_slots(e, 0);
    read_slot(e, passed, label);
    kn_block(e, body);
    em(e, "bra.uni $place%d;", label);
    em(e, "$last%d:", label);
}

/* ---- turns ------------------------------------------------------------------------------ */

/* Barrier of the instance `ahead` further on. */
static const char *turn_barrier(Emitter *e, int ahead)
{
    AffCtx *aff = e->program->aff;
    const Aff *at = aff_mod(aff, aff_offset(aff, aff_of(aff, e->role->per), ahead), aff_const(aff, tile_instances(e->kernel, e->role->per)));
    return ix_value(e, aff_offset(aff, at, TURN_BARRIER));
}

void ro_turn(Emitter *e, const TileOp *op)
{
    if (!e->role->per || tile_instances(e->kernel, e->role->per) < 2) return;
    bool take = op->kind == TILE_TAKE_TURN;
    em(e, "bar.%s %s, %d;", take ? "sync" : "arrive", turn_barrier(e, take ? 0 : 1), TURN_THREADS);
}

/* The last instance gives the first its first turn, before all work, and the first takes
 * the last that is given, after it. */
static void first_turn(Emitter *e)
{
    int n = tile_instances(e->kernel, e->role->per), label = em_label(e);
    const char *p = em_new(e, REG_P);
    em_before(e, "setp.ne.s32 %s, %s, %d;", p, ix_value(e, aff_of(e->program->aff, e->role->per)), n - 1);
    em_before(e, "@%s bra.uni $turn%d;", p, label);
    em_before(e, "bar.arrive %d, %d;", TURN_BARRIER, TURN_THREADS);
    em_before(e, "$turn%d:", label);
}

static void last_turn(Emitter *e)
{
    int label = em_label(e);
    const char *p = em_new(e, REG_P);
    em(e, "setp.ne.s32 %s, %s, 0;", p, ix_value(e, aff_of(e->program->aff, e->role->per)));
    em(e, "@%s bra.uni $turn%d;", p, label);
    em(e, "bar.sync %d, %d;", TURN_BARRIER, TURN_THREADS);
    em(e, "$turn%d:", label);
}

/* ---- roles ---------------------------------------------------------------------------------- */

static void set_registers(Emitter *e)
{
    int launched = target_launch_registers(e->target, e->kernel->warps);
    if (e->role->regs) em(e, "setmaxnreg.%s.sync.aligned.u32 %d;", e->role->regs < launched ? "dec" : "inc", e->role->regs);
}

static void bind_instance(Emitter *e, const char *group, int first_group)
{
    if (!e->role->per) return;
    const char *instance = em_new(e, REG_R);
    em(e, "add.s32 %s, %s, %d;", instance, group, -first_group);
    ix_bind(e, e->role->per, instance, 0);
}

static void role_lanes(Emitter *e)
{
    const char *tid = em_new(e, REG_R), *wide = em_new(e, REG_R), *warp = em_new(e, REG_R);
    e->lane = em_new(e, REG_R);
    e->warp = em_new(e, REG_R);
    e->tid = em_new(e, REG_R);
    em(e, "mov.u32 %s, %%tid.x;", tid);
    em(e, "and.b32 %s, %s, 31;", e->lane, tid);
    em(e, "shr.u32 %s, %s, 5;", wide, tid);
    em(e, "shfl.sync.idx.b32 %s, %s, 0, 31, -1;", warp, wide);
    em(e, "and.b32 %s, %s, %d;", e->warp, warp, TARGET_GROUP_WARPS - 1);
    em(e, "and.b32 %s, %s, %d;", e->tid, tid, TARGET_GROUP_WARPS * 32 - 1);
    e->always = em_new(e, REG_P);
    e->never = em_new(e, REG_P);
    e->first_lane = em_new(e, REG_P);
    em(e, "setp.eq.s32 %s, 0, 0;", e->always);
    em(e, "setp.ne.s32 %s, 0, 0;", e->never);
    em(e, "setp.eq.s32 %s, %s, 0;", e->first_lane, e->lane);
}

static bool stores_through(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_STORE && op->n_args > 1) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (stores_through(op->regions[k])) return true;
    }
    return false;
}

/* Nothing is owed at first; in the end shared memory stays until all stores have read it. */
static void begin_stores(Emitter *e)
{
    e->owed = em_new(e, REG_P);
    e->owed_at = em_new(e, REG_R);
    em_before(e, "setp.ne.s32 %s, 0, 0;", e->owed);
    em_before(e, "mov.b32 %s, 0;", e->owed_at);
}

static void role_body(Emitter *e, const TileOp *op, int role, int label)
{
    const TileBlock *body = op->regions[role];
    bool turns = tile_has(body, TILE_TAKE_TURN) && tile_instances(e->kernel, e->role->per) > 1;
    bool stores = stores_through(body);
    if (turns) first_turn(e);
    if (stores) begin_stores(e);
    if (!e->kernel->persistent) {
        const char *place = em_new(e, REG_R);
        em(e, "mov.u32 %s, %%ctaid.x;", place);
        kn_decode_grid(e, place);
        kn_block(e, body);
    } else if (role == first_copier(op)) {
        hand_out(e, body, label);
    } else {
        take_places(e, body, label);
    }
    if (turns) last_turn(e);
    if (stores) em(e, "cp.async.bulk.wait_group 0;");
}

static void share_phases(Emitter *e)
{
    e->n_phases = 0;
    e->phases = em_new(e, REG_R);
    em_before(e, "mov.b32 %s, -1;", e->phases);
}

/* Emits a role into `out`, as an entry of its own. */
static void emit_role(Emitter *e, const TileOp *op, int role, const char *group, int first_group, Str *out)
{
    Emitter outer = *e;
    Str before;
    memset(&e->scopes, 0, sizeof e->scopes);
    memset(e->memos, 0, sizeof e->memos);
    memset(&e->lanes, 0, sizeof e->lanes);
    e->n_syms = aff_sym_count(e->program->aff);
    e->syms = arena_array(e->arena, Memo, e->n_syms);
    e->rings = arena_array(e->arena, RingPlace *, e->kernel->next_value);
    e->maps = NULL;
    e->phases = NULL;
    e->owed = NULL;
    e->settled = false;
    e->role = &op->roles[role];
    em_open(e);
    set_registers(e);
    bind_instance(e, group, first_group);
    if (is_copier(op, role)) { /* what concerns a warp as a whole, it does not do */
        const char *p = em_new(e, REG_P), *thread = em_new(e, REG_R);
        em(e, "mov.u32 %s, %%tid.x;", thread);
        em(e, "setp.ne.s32 %s, %s, %d;", p, thread, first_group * TARGET_GROUP_WARPS * 32);
        em(e, "@%s bra $end;", p);
    } else {
        role_lanes(e);
    }
    e->before = &before;
    before = e->scopes.data[0];
    e->scopes.data[0] = str_new(e->arena);
    if (is_copier(op, role)) share_phases(e);
    kn_arguments(e);
    int label = em_label(e);
    role_body(e, op, role, label);
    str_add(out, str_text(&before));
    str_printf(out, "$place%d:\n", label);
    str_add(out, str_text(&e->scopes.data[0]));
    int labels = e->labels, spare = e->spare;
    bool failed = e->failed;
    memcpy(outer.next, e->next, sizeof outer.next);
    *e = outer;
    e->labels = labels;
    e->spare = spare;
    e->failed = failed;
}

static void init_barriers(Emitter *e, const TileOp *op)
{
    int label = em_label(e);
    const char *p = em_new(e, REG_P);
    em(e, "setp.ne.s32 %s, %s, 0;", p, e->tid);
    em(e, "@%s bra $ready%d;", p, label);
    rg_init(e, op);
    if (e->kernel->persistent) init_slots(e, op);
    em(e, "fence.mbarrier_init.release.cluster;");
    em(e, "fence.proxy.async.shared::cta;");
    tm_prefetch(e);
    em(e, "$ready%d:", label);
    em(e, "bar.sync 0;");
}

void ro_roles(Emitter *e, const TileOp *op)
{
    const char *wide = em_new(e, REG_R), *group = em_new(e, REG_R);
    int first = 0;
    if (e->kernel->persistent && first_copier(op) < 0) {
        em_fail(e, op->loc, TW0803, "a persistent kernel without a role that only copies");
        return;
    }
    init_barriers(e, op);
    em(e, "shr.u32 %s, %s, 7;", wide, e->tid);
    em(e, "shfl.sync.idx.b32 %s, %s, 0, 31, -1;", group, wide);
    for (int i = 0; i < op->n_regions && !e->failed; i++) {
        const TileRole *role = &op->roles[i];
        int end = first + role->warps / TARGET_GROUP_WARPS * tile_instances(e->kernel, role->per), label = em_label(e);
        const char *p = em_new(e, REG_P);
        if (role->warps != TARGET_GROUP_WARPS) {
            em_fail(e, op->loc, TW0803, "an instance of role %s has %d warps, not a warpgroup", role->name, role->warps);
            return;
        }
        if (i + 1 < op->n_regions) {
            em(e, "setp.ge.s32 %s, %s, %d;", p, group, end);
            em(e, "@%s bra.uni $role%d;", p, label);
        }
        Str text = str_new(e->arena);
        emit_role(e, op, i, group, first, &text);
        str_add(&e->scopes.data[em_level(e)], str_text(&text));
        em(e, "bra.uni $end;");
        em(e, "$role%d:", label);
        first = end;
    }
    em(e, "$end:");
}
