/* ring.c: storage that goes round between roles, and the mbarriers that hand it on.
 *
 * Every stage has two mbarriers (PTX ISA, "Parallel Synchronization and
 * Communication Instructions: mbarrier"):
 *
 *   full    one arrival, the producer's, which says how many bytes the bulk copies
 *           will bring; its phase ends when they have all come. Of a producer that puts
 *           tiles there itself an arrival of each warp, behind a fence: who awaits the
 *           stage may be the tensor cores (PTX ISA, "Async proxy"). Where its lanes
 *           bring them by cp.async, that is when they have come (late.c)
 *   empty   an arrival of each warp that reads the stage
 *
 * A role goes round the stages by itself. Where it is are two registers for each
 * copy of a ring: the stage, and the parity of the phase that it waits for next,
 * which changes with each round. A producer begins with parity 1: the phase before
 * the first counts as ended. A copier, which has few registers, keeps all parities
 * in the bits of one.
 *
 * Shared memory: all storage of the kernel, then for each ring the full barriers of
 * its stages and the empty ones.
 */
#include "ptx/roles.h"

enum { BARRIER_BYTES = 8 };

/* ---- where barriers are --------------------------------------------------------- */

static int64_t storage_end(const TileKernel *kernel)
{
    int64_t end = 0;
    for (int i = 0; i < kernel->body->ops.len; i++) {
        const TileOp *op = kernel->body->ops.data[i];
        if (!tile_is_storage(op)) continue;
        int64_t last = op->offset + tile_storage_bytes(op);
        if (last > end) end = last;
    }
    return (end + 15) / 16 * 16;
}

int64_t rg_barriers(const TileKernel *kernel, const TileOp *ring)
{
    int64_t at = storage_end(kernel);
    for (int i = 0; i < kernel->body->ops.len; i++) {
        const TileOp *op = kernel->body->ops.data[i];
        if (op == ring) return at;
        if (op->kind == TILE_RING) at += 2 * BARRIER_BYTES * tile_places(op);
    }
    return at;
}

/* ---- who takes part ----------------------------------------------------------------- */

static bool acquires(const TileBlock *block, const TileValue *ring)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_ACQUIRE && op->args[0] == ring) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (acquires(op->regions[k], ring)) return true;
    }
    return false;
}

/* Warps that give a stage of a copy back. */
static int readers(const Emitter *e, const TileOp *roles, const TileOp *ring, int copy)
{
    int warps = 0;
    for (int i = 0; i < roles->n_regions; i++)
        for (int k = 0; k < tile_instances(e->kernel, roles->roles[i].per); k++)
            if (tile_consumes(e->program, roles, i, k, ring->results[0], copy)) warps += roles->roles[i].warps;
    return warps;
}

/* Arrivals that fill a stage. */
static int writers(const TileOp *roles, const TileOp *ring)
{
    for (int i = 0; i < roles->n_regions; i++)
        if (acquires(roles->regions[i], ring->results[0])) return ro_is_copier(roles, i) ? 1 : roles->roles[i].warps;
    return 1;
}

void rg_init(Emitter *e, const TileOp *roles)
{
    for (int i = 0; i < e->kernel->body->ops.len; i++) {
        const TileOp *ring = e->kernel->body->ops.data[i];
        if (ring->kind != TILE_RING) continue;
        int64_t at = rg_barriers(e->kernel, ring);
        int n = tile_places(ring), stages = ring->results[0]->type.stages;
        for (int k = 0; k < 2 * n; k++)
            em(e, "mbarrier.init.shared::cta.b64 [%s+%lld], %d;", e->smem, (long long)at + k * BARRIER_BYTES,
               k < n ? writers(roles, ring) : readers(e, roles, ring, (k - n) / stages));
    }
}

/* ---- positions ------------------------------------------------------------------------- */

/* Which copy an operation means: a constant, or the instance's own. */
static int copy_of(const TileOp *op)
{
    int64_t copy = 0;
    return op->index && aff_is_const(op->index, &copy) ? (int)copy : 0;
}

/* Ahead of the role's work. */
static Phase new_phase(Emitter *e, int first)
{
    if (first && e->phases && e->n_phases < 32) return (Phase){e->phases, e->n_phases++};
    Phase phase = {em_new(e, REG_R), -1};
    em_before(e, "mov.b32 %s, %d;", phase.reg, first);
    return phase;
}

/* The ring is the operation's argument k. */
static RingPlace *place_in(Emitter *e, const TileOp *op, int k)
{
    const TileOp *ring = op->args[k]->def;
    RingPlace **places = &e->rings[op->args[k]->id];
    if (!*places) *places = arena_array(e->arena, RingPlace, ring->count);
    RingPlace *place = &(*places)[copy_of(op)];
    if (place->stage) return place;
    place->stage = em_new(e, REG_R);
    em_before(e, "mov.b32 %s, 0;", place->stage);
    place->phase = new_phase(e, op->kind == TILE_ACQUIRE);
    return place;
}

static RingPlace *place_of(Emitter *e, const TileOp *op)
{
    return place_in(e, op, 0);
}

/* The stage's number among all of the ring's, as an expression: copy * stages + stage. */
static const Aff *number_of(Emitter *e, const TileOp *op, const char *stage)
{
    AffCtx *aff = e->program->aff;
    int stages = op->args[0]->type.stages;
    const Aff *at = stages > 1 ? aff_of(aff, ix_symbol(e, "stage", stage, em_level(e), stages - 1)) : aff_const(aff, 0);
    return op->index ? aff_add(aff, aff_scale(aff, op->index, stages), at) : at;
}

static const char *barrier_address(Emitter *e, const TileOp *op, const Aff *number, bool empty)
{
    const TileOp *ring = op->args[0]->def;
    int64_t at = rg_barriers(e->kernel, ring) + (empty ? tile_places(ring) * BARRIER_BYTES : 0), constant;
    if (aff_is_const(number, &constant))
        return arena_printf(e->arena, "%s+%lld", e->smem, (long long)(at + constant * BARRIER_BYTES));
    const char *address = em_new(e, REG_R);
    em(e, "mad.lo.s32 %s, %s, %d, %s;", address, ix_value(e, number), BARRIER_BYTES, e->smem);
    return arena_printf(e->arena, "%s+%lld", address, (long long)at);
}

void rg_wait(Emitter *e, const char *address, Phase phase)
{
    int label = em_label(e);
    const char *p = em_new(e, REG_P), *parity = phase.reg;
    if (phase.bit >= 0) {
        parity = em_new(e, REG_R);
        em(e, "bfe.u32 %s, %s, %d, 1;", parity, phase.reg, phase.bit);
    }
    em(e, "$wait%d:", label);
    em(e, "mbarrier.try_wait.parity.shared::cta.b64 %s, [%s], %s;", p, address, parity);
    em(e, "@!%s bra $wait%d;", p, label);
}

static void next_stage(Emitter *e, const char *stage, Phase phase, int stages)
{
    uint32_t bit = phase.bit < 0 ? 1 : (uint32_t)1 << phase.bit;
    if (stages == 1) {
        em(e, "xor.b32 %s, %s, %u;", phase.reg, phase.reg, bit);
        return;
    }
    const char *p = em_new(e, REG_P);
    em(e, "add.s32 %s, %s, 1;", stage, stage);
    em(e, "setp.eq.s32 %s, %s, %d;", p, stage, stages);
    em(e, "@%s mov.b32 %s, 0;", p, stage);
    em(e, "@%s xor.b32 %s, %s, %u;", p, phase.reg, phase.reg, bit);
}

/* The stage that the role is at, kept while the role goes on. */
static const Aff *hold(Emitter *e, const TileOp *op, const RingPlace *place)
{
    if (op->args[0]->type.stages == 1) return number_of(e, op, place->stage);
    const char *stage = em_new(e, REG_R);
    em(e, "mov.b32 %s, %s;", stage, place->stage);
    return number_of(e, op, stage);
}

/* The same register in all lanes, as it is anyhow: from a shuffle ptxas knows it, and keeps
 * what is made of it where tensor cores look for descriptors. */
static void make_uniform(Emitter *e, const char *reg)
{
    em(e, "shfl.sync.idx.b32 %s, %s, 0, 31, -1;", reg, reg);
}

void rg_enter(Emitter *e, const TileBlock *body)
{
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) rg_enter(e, op->regions[k]);
        if (op->kind != TILE_AWAIT) continue;
        const RingPlace *place = place_of(e, op);
        if (op->args[0]->type.stages > 1) make_uniform(e, place->stage);
        make_uniform(e, place->phase.reg);
    }
}

void rg_acquire(Emitter *e, const TileOp *op)
{
    RingPlace *place = place_of(e, op);
    const TileType *t = &op->args[0]->type;
    const Aff *number = hold(e, op, place);
    const char *empty = barrier_address(e, op, number, true);
    if (e->n_late) lt_before_waiting(e, empty, place->phase.reg);
    rg_wait(e, empty, place->phase);
    vec_push(e->arena, &place->held, number);
    if (e->alone) em(e, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s], %lld;", barrier_address(e, op, number, false),
       (long long)lay_shared_bytes(t->rows, t->cols, dtype_bytes(t->dtype)));
    next_stage(e, place->stage, place->phase, t->stages);
}

const Aff *rg_held(Emitter *e, const TileOp *op, int arg)
{
    RingPlace *place = place_in(e, op, arg);
    if (place->held.len > 0) return place->held.data[place->held.len - 1];
    em_fail(e, op->loc, TW0803, "a stage of a ring that is written outside of acquire and filled");
    return aff_const(e->program->aff, 0);
}

const Aff *rg_acquired(Emitter *e, const TileOp *op, const char **barrier)
{
    const Aff *number = rg_held(e, op, 0);
    if (!e->failed) *barrier = barrier_address(e, op, number, false);
    return number;
}

/* What lanes did with shared memory stands before what copies and products of others do (PTX ISA, "Async proxy"). */
void rg_fence(Emitter *e)
{
    em(e, "fence.proxy.async.shared::cta;");
    em(e, "bar.warp.sync -1;");
    e->fenced = true;
}

/* Of what lanes put there each shows its own, then their warp arrives. */
static void show(Emitter *e, const TileOp *op)
{
    rg_fence(e);
    em(e, "@%s mbarrier.arrive.shared::cta.b64 _, [%s];", e->first_lane, barrier_address(e, op, rg_held(e, op, 0), false));
}

void rg_filled(Emitter *e, const TileOp *op)
{
    RingPlace *place = place_of(e, op);
    if (op->args[0]->def->lanes) lt_filled(e, barrier_address(e, op, rg_held(e, op, 0), false));
    else if (!e->alone) show(e, op);
    if (place->held.len) place->held.len--;
}

void rg_await(Emitter *e, const TileOp *op)
{
    RingPlace *place = place_of(e, op);
    if (!e->loops && op->args[0]->type.stages > 1) make_uniform(e, place->stage);
    const Aff *number = hold(e, op, place);
    rg_wait(e, barrier_address(e, op, number, false), place->phase);
    vec_push(e->arena, &place->held, number);
    vec_push(e->arena, &place->levels, em_level(e));
    e->awaited[op->results[0]->id] = number;
    next_stage(e, place->stage, place->phase, op->args[0]->type.stages);
}

/* The thread that started a store waits until that has read the stage, which takes a while:
 * it gives the stage back in the next place's work, all others do so now. */
static void owe(Emitter *e, const char *barrier)
{
    const char *others = em_new(e, REG_P);
    rg_settle(e);
    em(e, "setp.ne.and.s32 %s, %s, 0, %s;", others, e->tid, e->first_lane);
    em(e, "@%s mbarrier.arrive.shared::cta.b64 _, [%s];", others, barrier);
    const char *plus = strchr(barrier, '+');
    em(e, "add.s32 %s, %.*s, %s;", e->owed_at, (int)(plus - barrier), barrier, plus + 1);
    em(e, "setp.eq.s32 %s, %s, 0;", e->owed, e->tid);
    e->stored = false;
}

void rg_settle(Emitter *e)
{
    if (!e->owed) return;
    em(e, "@%s cp.async.bulk.wait_group.read 0;", e->owed);
    em(e, "@%s mbarrier.arrive.shared::cta.b64 _, [%s];", e->owed, e->owed_at);
    em(e, "setp.ne.s32 %s, 0, 0;", e->owed);
}

/* Whether the block, or one within, reads a tile with loads of lanes: products of warpgroups and bulk copies read as the copies
 * write. */
static bool lanes_read(const TileBlock *block, const TileValue *tile)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool passes_on = op->kind == TILE_ISSUE || op->kind == TILE_RELEASE || op->kind == TILE_STORE;
        for (int r = 0; r < op->n_regions; r++)
            if (lanes_read(op->regions[r], tile)) return true;
        for (int k = 0; k < op->n_args && !passes_on; k++) {
            if (op->args[k] != tile) continue;
            if (op->kind != TILE_SLICE || lanes_read(block, op->results[0])) return true;
        }
    }
    return false;
}

static bool stages_are_read(const TileBlock *body, const TileBlock *block, const TileValue *ring)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_AWAIT && op->args[0] == ring && lanes_read(body, op->results[0])) return true;
        for (int r = 0; r < op->n_regions; r++)
            if (stages_are_read(body, op->regions[r], ring)) return true;
    }
    return false;
}

/* The oldest stage that is held. Where an iteration of a loop gives back what the one
 * before it awaited, its number follows from where the role is and how many it holds. */
void rg_release(Emitter *e, const TileOp *op)
{
    RingPlace *place = place_of(e, op);
    int stages = op->args[0]->type.stages;
    if (place->held.len == 0) {
        em_fail(e, op->loc, TW0803, "a release of a stage that was not awaited");
        return;
    }
    place->carried |= place->levels.data[0] < em_level(e);
    const Aff *number = place->held.data[0];
    if (place->carried && stages > 1) {
        const char *oldest = em_new(e, REG_R), *p = em_new(e, REG_P);
        em(e, "add.s32 %s, %s, %d;", oldest, place->stage, -place->held.len);
        em(e, "setp.lt.s32 %s, %s, 0;", p, oldest);
        em(e, "@%s add.s32 %s, %s, %d;", p, oldest, oldest, stages);
        number = number_of(e, op, oldest);
    }
    for (int i = 0; i + 1 < place->held.len; i++) {
        place->held.data[i] = place->held.data[i + 1];
        place->levels.data[i] = place->levels.data[i + 1];
    }
    place->held.len--;
    place->levels.len--;
    const char *barrier = barrier_address(e, op, number, true);
    /* Seen on an H200: without it a copy lands before others have read what was there. */
    if (!e->fenced && stages_are_read(e->kernel->body, e->kernel->body, op->args[0])) rg_fence(e);
    if (e->stored) owe(e, barrier);
    else em(e, "@%s mbarrier.arrive.shared::cta.b64 _, [%s];", e->first_lane, barrier);
}
