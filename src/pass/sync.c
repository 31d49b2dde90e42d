/* sync.c: barriers, where warps would race on shared memory.
 *
 * The warps of a block run at their own pace. Between an access by some warps
 * and a conflicting one by others a barrier is needed; data of an asynchronous
 * copy is visible to others only after its wait and then a barrier. The pass
 * walks the operations in order and keeps the accesses since the last barrier;
 * an operation that conflicts with one of them gets a barrier in front. Loops
 * are walked twice, the second time with the first iteration's accesses behind
 * it (their stages expressed in the new counter), so that conflicts across the
 * back edge are seen.
 */
#include "pass/passes.h"

typedef enum AccessKind { READ, WRITE, STARTED /* asynchronous, not waited for */ } AccessKind;

typedef struct Access {
    AccessKind kind;
    const TileValue *buffer;
    const Aff *index;
} Access;

typedef struct Syncer {
    TileProgram *program;
    TileKernel *kernel;
    VEC(Access) since; /* the last barrier */
} Syncer;

/* Whether two stages of a buffer may be the same one. */
static bool may_be_same_stage(Syncer *s, const Aff *a, const Aff *b)
{
    int64_t difference, modulus;
    if (a == b) return true;
    if (a->kind == AFF_MOD && b->kind == AFF_MOD && a->b == b->b && aff_is_const(a->b, &modulus)
        && aff_is_const(aff_sub(s->program->aff, a->a, b->a), &difference))
        return difference % modulus == 0;
    if (aff_is_const(aff_sub(s->program->aff, a, b), &difference)) return difference == 0;
    return true;
}

static bool conflicts(Syncer *s, const Access *old, const Access *new)
{
    if (old->buffer != new->buffer) return false;
    if (old->kind == READ && new->kind == READ) return false;
    return may_be_same_stage(s, old->index, new->index);
}

static void forget_synchronised(Syncer *s)
{
    int kept = 0;
    for (int i = 0; i < s->since.len; i++)
        if (s->since.data[i].kind == STARTED) s->since.data[kept++] = s->since.data[i];
    s->since.len = kept;
}

/* A wait turns started copies into writes that others see after a barrier. Which
 * copies it leaves in flight is a matter of groups; that only the newest n stay
 * is covered by their stages being others than those read. */
static void wait_for_copies(Syncer *s)
{
    for (int i = 0; i < s->since.len; i++)
        if (s->since.data[i].kind == STARTED) s->since.data[i].kind = WRITE;
}

/* Records an access of the operation at block[*at]; a barrier goes in front of
 * it where needed. */
static void add_access(Syncer *s, TileBlock *block, int *at, Access access)
{
    for (int i = 0; i < s->since.len; i++) {
        if (!conflicts(s, &s->since.data[i], &access)) continue;
        Rewriter rw = {s->program, s->kernel, block, *at, block->ops.data[*at]->loc};
        rw_insert(&rw, TILE_BARRIER, 0, NULL, 0, NULL);
        *at = rw.at;
        forget_synchronised(s);
        break;
    }
    for (int i = 0; i < s->since.len; i++) {
        const Access *old = &s->since.data[i];
        if (old->kind == access.kind && old->buffer == access.buffer && old->index == access.index) return;
    }
    vec_push(s->program->arena, &s->since, access);
}

static void read_views(Syncer *s, TileBlock *block, int *at)
{
    TileOp *op = block->ops.data[*at];
    for (int k = 0; k < op->n_args; k++) {
        const TileOp *def = op->args[k]->def;
        if (def && def->kind == TILE_VIEW)
            add_access(s, block, at, (Access){READ, def->args[0], def->index});
    }
}

static void sync_block(Syncer *s, TileBlock *block);

static void age_by_one_iteration(Syncer *s, const AffSym *var)
{
    AffCtx *aff = s->program->aff;
    const Aff *previous = aff_offset(aff, aff_of(aff, var), -1);
    for (int i = 0; i < s->since.len; i++)
        s->since.data[i].index = aff_subst(aff, s->since.data[i].index, var, previous);
}

static void sync_op(Syncer *s, TileBlock *block, int *at)
{
    TileOp *op = block->ops.data[*at];
    switch (op->kind) {
    case TILE_BARRIER:
        forget_synchronised(s);
        break;
    case TILE_WAIT:
        wait_for_copies(s);
        break;
    case TILE_COPY_ASYNC:
        add_access(s, block, at, (Access){STARTED, op->args[0], op->index});
        break;
    case TILE_PUT:
        read_views(s, block, at);
        add_access(s, block, at, (Access){WRITE, op->args[1], op->index});
        break;
    case TILE_FOR:
        sync_block(s, op->regions[0]);
        age_by_one_iteration(s, op->var);
        sync_block(s, op->regions[0]);
        break;
    case TILE_IF:
        for (int r = 0; r < op->n_regions; r++) sync_block(s, op->regions[r]);
        break;
    case TILE_LOAD: case TILE_STORE: case TILE_MOVE: case TILE_FILL: case TILE_INDEX:
    case TILE_ELEMENT: case TILE_MASK: case TILE_REDUCE: case TILE_CAST: case TILE_RESHAPE:
    case TILE_GEMM: case TILE_YIELD:
        read_views(s, block, at);
        break;
    case TILE_SOFTMAX: case TILE_BUFFER: case TILE_VIEW: case TILE_COMMIT: case TILE_ROLES:
    case TILE_ACQUIRE: case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE: case TILE_OP_COUNT:
        break;
    }
}

static void sync_block(Syncer *s, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) sync_op(s, block, &i);
}

bool pass_sync(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    (void)diags;
    Syncer s = {.program = program, .kernel = kernel};
    sync_block(&s, kernel->body);
    return true;
}
