/* roles.c: kernels whose warps have programs of their own.
 *
 * A role is emitted as if it were an entry by itself: what it hoists stays within it,
 * since the registers of another role are not its to fill. Its warps come to it by
 * the number of their warpgroup (role after role, instance after instance).
 *
 * A persistent kernel's blocks take one place of the grid after the other (places.c).
 *
 * Turns are named barriers, one an instance, at which the one before it arrives.
 */
#include "ptx/roles.h"

#include <limits.h>

enum {
    TURN_BARRIER = 1,       /* number of the first; 0 is the block's own */
    TURN_THREADS = 256      /* one instance arrives, one waits */
};

/* ---- what a role does ------------------------------------------------------------- */

/* A number, or an integer, that bounds of loops are made of. */
static bool is_bound(const TileOp *op)
{
    bool reads = op->kind == TILE_GATHER || op->kind == TILE_LOAD || op->kind == TILE_FILL;
    return op->kind == TILE_SCALAR || (reads && op->n_args == 0 && op->results[0]->type.rows * op->results[0]->type.cols == 1);
}

static bool is_work(const TileOp *op)
{
    bool copies = op->kind == TILE_ACQUIRE || op->kind == TILE_FILLED || (op->kind == TILE_COPY_ASYNC && !op->args[0]->def->lanes);
    bool flow = op->kind == TILE_FOR || op->kind == TILE_IF || op->kind == TILE_YIELD;
    return !copies && !flow && !is_bound(op);
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

bool ro_is_copier(const TileOp *roles, int role)
{
    return !has_work(roles->regions[role]);
}

int ro_first_copier(const TileOp *roles)
{
    for (int i = 0; i < roles->n_regions; i++)
        if (ro_is_copier(roles, i)) return i;
    return -1;
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
    int launched = target_assembled_registers(e->target, e->kernel->warps);
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

/* The fewest stages of a ring that lanes fill. */
static int stages_by_lanes(const TileKernel *kernel)
{
    int least = INT_MAX;
    for (int i = 0; i < kernel->body->ops.len; i++) {
        const TileOp *op = kernel->body->ops.data[i];
        if (op->kind == TILE_RING && op->lanes && op->results[0]->type.stages < least) least = op->results[0]->type.stages;
    }
    return least;
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
    if (!e->alone && tile_has(body, TILE_COPY_ASYNC)) lt_begin(e, stages_by_lanes(e->kernel)); /* its lanes copy */
    if (!e->kernel->persistent) {
        const char *place = em_new(e, REG_R);
        kn_arguments(e);
        em(e, "mov.u32 %s, %%ctaid.x;", place);
        kn_decode_grid(e, place);
        kn_block(e, body);
        lt_show_all(e);
    } else if (role == ro_first_copier(op)) {
        pl_hand_out(e, op, role, label);
    } else if (role == 0 && ro_first_copier(op) < 0) {
        pl_hand_out_among(e, op, role, label);
    } else {
        pl_take(e, op, role, label);
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
    e->memos = mo_new(e->arena);
    memset(&e->lanes, 0, sizeof e->lanes);
    e->n_syms = aff_sym_count(e->program->aff);
    e->syms = arena_array(e->arena, Memo, e->n_syms);
    e->rings = arena_array(e->arena, RingPlace *, e->kernel->next_value);
    e->maps = NULL;
    e->phases = NULL;
    e->owed = NULL;
    e->n_late = 0;
    e->settled = false;
    e->role = &op->roles[role];
    e->room = rm_of_role(op->regions[role]);
    e->alone = ro_is_copier(op, role);
    em_open(e);
    set_registers(e);
    bind_instance(e, group, first_group);
    if (e->alone) { /* what concerns a warp as a whole, it does not do */
        const char *p = em_new(e, REG_P), *thread = em_new(e, REG_R);
        em(e, "mov.u32 %s, %%tid.x;", thread);
        em(e, "setp.ne.s32 %s, %s, %d;", p, thread, first_group * TARGET_GROUP_WARPS * 32);
        em(e, "@%s bra $end;", p);
    } else {
        role_lanes(e);
    }
    e->before = &before;
    before = e->scopes.data[0];
    e->scopes.data[0] = em_take(e);
    if (e->alone) share_phases(e);
    int label = em_label(e);
    role_body(e, op, role, label);
    str_addn(out, before.data, before.len);
    str_printf(out, "$place%d:\n", label);
    str_addn(out, e->scopes.data[0].data, e->scopes.data[0].len);
    em_give(e, before);
    em_give(e, e->scopes.data[0]);
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
    if (e->kernel->persistent) pl_init(e, op);
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
        emit_role(e, op, i, group, first, em_innermost(e));
        em(e, "bra.uni $end;");
        em(e, "$role%d:", label);
        first = end;
    }
    em(e, "$end:");
}
