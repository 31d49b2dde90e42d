/* sync.c: barriers, where warps would race on shared memory.
 *
 * The warps of a block run at their own pace. Between an access by some warps
 * and a conflicting one by others a barrier is needed; data of an asynchronous
 * copy is visible to others only after its wait and then a barrier. The pass
 * walks the operations in order and keeps the accesses since the last barrier;
 * an operation that conflicts with one of them gets a barrier in front. Loops
 * are walked once only to collect an iteration's accesses; then with
 * these behind it (their stages expressed in the next counter), so that one
 * barrier serves a conflict within the iteration and one across the back edge;
 * and then turn by turn, from what stands before the loop, to see that nothing is left. Then each barrier is taken away
 * without which there are enough. What blocks of a cluster do together is in no order with other accesses.
 */
#include "pass/passes.h"

typedef enum AccessKind { READ, WRITE, STARTED /* asynchronous, not waited for */ } AccessKind;

typedef struct Access {
    AccessKind kind;
    const TileValue *buffer;
    const Aff *index, *turned; /* turned: the same place by the counter of the loop that it was found in front of; NULL: none */
    int groups;                /* STARTED: groups of copies that were closed since */
} Access;

typedef VEC(Access) Accesses;

typedef struct Syncer {
    TileProgram *program;
    TileKernel *kernel;
    Accesses since;  /* the last barrier */
    bool collecting; /* accesses; no barriers yet */
    bool checking;   /* whether there are enough barriers; no more of them */
    bool conflict;   /* there are not */
} Syncer;

/* What goes round among so many stages, without that: of few turns it may be written `k` as well as `(k + 1) mod 2`. */
static const Aff *unwrapped(const Aff *stage, int stages)
{
    int64_t modulus;
    return stage->kind == AFF_MOD && aff_is_const(stage->b, &modulus) && modulus == stages ? stage->a : stage;
}

/* Whether two stages of a buffer may be the same one: all are from 0 to the number that there is, so that those that do not
 * go round are the same if nothing is between them. */
static bool may_be_same_stage(Syncer *s, const Aff *a, const Aff *b, int stages)
{
    int64_t difference;
    bool round = unwrapped(a, stages) != a || unwrapped(b, stages) != b;
    const Aff *apart = aff_sub(s->program->aff, unwrapped(a, stages), unwrapped(b, stages));
    return !aff_is_const(apart, &difference) || (round ? difference % stages : difference) == 0;
}

static bool conflicts(Syncer *s, const Access *old, const Access *new)
{
    int stages = new->buffer->type.stages;
    if (old->buffer != new->buffer) return false;
    if (old->kind == READ && new->kind == READ) return false;
    return may_be_same_stage(s, old->index, new->index, stages) && (!old->turned || may_be_same_stage(s, old->turned, new->index, stages));
}

static void forget_synchronised(Syncer *s)
{
    int kept = 0;
    for (int i = 0; i < s->since.len; i++)
        if (s->since.data[i].kind == STARTED) s->since.data[kept++] = s->since.data[i];
    s->since.len = kept;
}

static void close_group(Syncer *s)
{
    for (int i = 0; i < s->since.len; i++) s->since.data[i].groups++;
}

/* A wait turns started copies into writes that others see after a barrier; those of the newest groups stay in flight, and no
 * barrier before the wait that they are due at says anything of them. */
static void wait_for_copies(Syncer *s, int64_t newest)
{
    for (int i = 0; i < s->since.len; i++)
        if (s->since.data[i].kind == STARTED && s->since.data[i].groups > newest) s->since.data[i].kind = WRITE;
}

static bool conflicts_with_any(Syncer *s, const Access *access)
{
    for (int i = 0; i < s->since.len; i++)
        if (conflicts(s, &s->since.data[i], access)) return true;
    return false;
}

static void record(Syncer *s, Access access)
{
    for (int i = 0; i < s->since.len; i++) {
        const Access *old = &s->since.data[i];
        bool as_old = old->turned == access.turned && (access.kind != STARTED || old->groups == access.groups);
        if (old->kind == access.kind && old->buffer == access.buffer && old->index == access.index && as_old) return;
    }
    vec_push(s->program->arena, &s->since, access);
}

/* All accesses of the operation at block[*at]: a barrier goes in front of it
 * where one of them needs it, and then all of them stand behind that. */
static void add_accesses(Syncer *s, TileBlock *block, int *at, const Accesses *accesses)
{
    bool conflict = false;
    for (int i = 0; i < accesses->len && !s->collecting; i++) conflict |= conflicts_with_any(s, &accesses->data[i]);
    s->conflict |= conflict;
    if (conflict && !s->checking) {
        Rewriter rw = {s->program, s->kernel, block, *at, block->ops.data[*at]->loc};
        rw_insert(&rw, TILE_BARRIER, 0, NULL, 0, NULL);
        *at = rw.at;
        forget_synchronised(s);
    }
    for (int i = 0; i < accesses->len; i++) record(s, accesses->data[i]);
}

static Accesses reads_of(Syncer *s, const TileOp *op)
{
    Accesses reads = {0};
    for (int k = 0; k < op->n_args; k++) {
        const TileOp *def = op->args[k]->def;
        while (def && def->kind == TILE_SLICE) def = def->args[0]->def; /* reads when it is used */
        if (def && def->kind == TILE_VIEW)
            vec_push(s->program->arena, &reads, (Access){READ, def->args[0], def->index, NULL, 0});
    }
    return reads;
}

static void sync_block(Syncer *s, TileBlock *block);

static void age_by_one_iteration(Syncer *s, const AffSym *var)
{
    AffCtx *aff = s->program->aff;
    const Aff *previous = aff_offset(aff, aff_of(aff, var), -1);
    for (int i = 0; i < s->since.len; i++) {
        Access *a = &s->since.data[i];
        a->index = aff_subst(aff, a->index, var, previous);
        if (a->turned) a->turned = aff_subst(aff, a->turned, var, previous);
    }
}

/* How many stages a place is behind that of a loop's first turn; -1: that is not known. Of a loop that begins at 8 s the first
 * of 4 stages is written 0, not 8 s mod 4. */
static int64_t stages_behind(AffCtx *aff, const Aff *index, const Aff *first, int stages)
{
    int64_t behind;
    if (aff_is_const(aff_sub(aff, unwrapped(index, stages), first), &behind)) return (behind % stages + stages) % stages;
    for (behind = 0; behind < stages; behind++)
        if (aff_mod(aff, aff_offset(aff, first, behind), aff_const(aff, stages)) == index) return behind;
    return -1;
}

/* What is so many stages behind the first turn's is as many behind that of the counter, of which that turn is the first. */
static void enter_loop(Syncer *s, const TileOp *loop)
{
    AffCtx *aff = s->program->aff;
    for (int i = 0; i < s->since.len; i++) {
        Access *a = &s->since.data[i];
        int stages = a->buffer->type.stages;
        int64_t behind = stages > 1 ? stages_behind(aff, a->index, loop->lo, stages) : -1;
        a->turned = behind >= 0 ? aff_mod(aff, aff_offset(aff, aff_of(aff, loop->var), behind), aff_const(aff, stages)) : NULL;
    }
}

static Accesses copy_of(Syncer *s, const Accesses *accesses)
{
    Accesses copy = {0};
    for (int i = 0; i < accesses->len; i++) vec_push(s->program->arena, &copy, accesses->data[i]);
    return copy;
}

static void record_all(Syncer *s, const Accesses *accesses)
{
    for (int i = 0; i < accesses->len; i++) record(s, accesses->data[i]);
}

/* How many turns show all that two of them can conflict in: a copy that a turn started is read as many turns later as its
 * buffer has stages. No more than the loop has, whose few places may be numbers: `k` of one turn is 0. */
static int64_t turns_to_walk(const Syncer *s, const TileOp *loop)
{
    int64_t turns = 2, least, most;
    for (int i = 0; i < s->kernel->body->ops.len; i++) {
        const TileOp *buffer = s->kernel->body->ops.data[i];
        if (tile_is_storage(buffer) && tile_places(buffer) >= turns) turns = tile_places(buffer) + 1;
    }
    aff_bounds(aff_sub(s->program->aff, loop->hi, loop->lo), &least, &most);
    return most < 1 ? 1 : most < turns ? most : turns;
}

/* The first turn finds what went before the loop. */
static void walk_turns(Syncer *s, TileOp *loop, int64_t turns)
{
    for (int64_t turn = 0; turn < turns && !(s->checking && s->conflict); turn++) {
        if (turn > 0) age_by_one_iteration(s, loop->var);
        sync_block(s, loop->regions[0]);
    }
}

/* With an iteration's accesses behind it, one barrier serves a conflict within the iteration and one across the back edge. */
static void walk_back_edge(Syncer *s, TileOp *loop)
{
    s->collecting = true;
    sync_block(s, loop->regions[0]);
    s->collecting = false;
    age_by_one_iteration(s, loop->var);
    sync_block(s, loop->regions[0]);
}

/* A loop may run no iteration: what went before it may still be unsynchronised. */
static void sync_loop(Syncer *s, TileOp *op)
{
    enter_loop(s, op);
    Accesses before = copy_of(s, &s->since);
    int64_t turns = s->collecting ? 1 : turns_to_walk(s, op);
    if (turns > 1 && !s->checking) {
        walk_back_edge(s, op);
        s->since = copy_of(s, &before);
    }
    walk_turns(s, op, turns);
    record_all(s, &before);
}

/* Either region begins where the `if` stands; behind it, either may have run. */
static void sync_if(Syncer *s, TileOp *op)
{
    Accesses before = copy_of(s, &s->since), after = {0};
    for (int r = 0; r < op->n_regions; r++) {
        s->since = copy_of(s, &before);
        sync_block(s, op->regions[r]);
        for (int i = 0; i < s->since.len; i++) vec_push(s->program->arena, &after, s->since.data[i]);
    }
    s->since.len = 0;
    record_all(s, op->n_regions > 1 ? &after : &before);
    record_all(s, &after);
}

/* A reduction over the warps of a row: they write their parts, meet and read them. */
static void sync_reduce(Syncer *s, TileBlock *block, int *at)
{
    const Aff *zero = aff_const(s->program->aff, 0);
    Access parts = {WRITE, block->ops.data[*at]->args[1], zero, NULL, 0};
    Accesses written = {0};
    vec_push(s->program->arena, &written, parts);
    add_accesses(s, block, at, &written);
    if (block->ops.data[*at]->across) return;
    forget_synchronised(s);
    parts.kind = READ;
    record(s, parts);
}

static void sync_op(Syncer *s, TileBlock *block, int *at)
{
    TileOp *op = block->ops.data[*at];
    Accesses accesses = reads_of(s, op);
    switch (op->kind) {
    case TILE_BARRIER:
        if (!op->across) forget_synchronised(s);
        break;
    case TILE_COMMIT:
        close_group(s);
        break;
    case TILE_WAIT:
        wait_for_copies(s, op->count);
        break;
    case TILE_COPY_ASYNC:
        vec_push(s->program->arena, &accesses, (Access){STARTED, op->args[0], op->index, NULL, 0});
        break;
    case TILE_PUT:
        vec_push(s->program->arena, &accesses, (Access){WRITE, op->args[1], op->index, NULL, 0});
        break;
    case TILE_FOR: sync_loop(s, op); break;
    case TILE_IF:  sync_if(s, op); break;
    case TILE_REDUCE:
        if (op->n_args > 1) sync_reduce(s, block, at);
        break;
    case TILE_LOAD: case TILE_STORE: case TILE_MOVE: case TILE_FILL: case TILE_INDEX: case TILE_GATHER:
    case TILE_ELEMENT: case TILE_MASK: case TILE_CAST: case TILE_RESHAPE:
    case TILE_GEMM: case TILE_YIELD:
    case TILE_SOFTMAX: case TILE_BUFFER: case TILE_VIEW: case TILE_ROLES:
    case TILE_ACQUIRE: case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE: case TILE_SLICE:
    case TILE_RING: case TILE_ISSUE: case TILE_FINISH: case TILE_REVISE: case TILE_PREPARE: case TILE_TAKE_TURN: case TILE_GIVE_TURN:
    case TILE_PATCH: case TILE_SCALAR: case TILE_OP_COUNT:
        break;
    }
    if (accesses.len > 0) add_accesses(s, block, at, &accesses);
}

static void sync_block(Syncer *s, TileBlock *block)
{
    for (int i = 0; i < block->ops.len && !(s->checking && s->conflict); i++) sync_op(s, block, &i); /* one is enough to know */
}

/* ---- barriers too many --------------------------------------------------------------------- */

/* A barrier that an access needed at first may not be needed beside those that were put behind it: what the turn before
 * read, say, may have been read before another barrier of that turn. */
static bool is_enough(Syncer *s)
{
    Syncer check = {.program = s->program, .kernel = s->kernel, .checking = true};
    sync_block(&check, s->kernel->body);
    return !check.conflict;
}

static void drop_needless(Syncer *s, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool entered = op->kind == TILE_FOR || op->kind == TILE_IF;
        for (int r = 0; entered && r < op->n_regions; r++) drop_needless(s, op->regions[r]);
        if (op->kind != TILE_BARRIER || op->across) continue;
        tile_remove(block, i);
        if (is_enough(s)) {
            i--;
            continue;
        }
        Rewriter rw = {s->program, s->kernel, block, i, op->loc};
        rw_insert(&rw, TILE_BARRIER, 0, NULL, 0, NULL);
    }
}

bool pass_sync(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    if (kernel->specialized) return true; /* its tiles are in rings */
    (void)target;
    (void)diags;
    Syncer s = {.program = program, .kernel = kernel};
    sync_block(&s, kernel->body);
    if (is_enough(&s)) drop_needless(&s, kernel->body);
    return true;
}
