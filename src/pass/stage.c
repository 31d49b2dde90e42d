/* stage.c: shared tiles get storage, loads become asynchronous copies.
 *
 * Outside of a loop a load into shared memory becomes a copy into a buffer of
 * one stage. The loads of a loop become rings of `stages` buffers, filled
 * stages - 1 iterations ahead:
 *
 *   for j = lo:hi {             copy_async T[lo], b[lo mod 2] if lo < hi
 *     %k = load T[j]            commit
 *     use %k            ->      for j = lo:hi {
 *   }                             wait 0
 *                                 copy_async T[j + 1], b[(j + 1) mod 2] if j + 1 < hi
 *                                 commit
 *                                 %k = view b[j mod 2]
 *                                 use %k
 *                               }
 *
 * With one stage, tiles that are used early and tiles that are used late in an
 * iteration take turns: while one kind is used the other is copied, a late one
 * into the iteration at hand, an early one into the next:
 *
 *   for j = lo:hi {             copy_async K[lo], commit
 *     %k = load K[j]            for j = lo:hi {
 *     %v = load V[j]              wait 0, copy_async V[j], commit
 *     use %k               ->     use %k
 *     use %v                      wait 0, copy_async K[j + 1] if j + 1 < hi, commit
 *   }                             use %v
 *                               }
 *
 * Where all are used at once the copy stands where the load stood and is waited
 * for there.
 *
 * Where the schedule keeps so many turns (`kept`), what a loop copies and others
 * behind it would copy again stays: its ring has a stage for each turn, from which
 * those read.
 *
 * A register tile that is moved to shared memory is put into a buffer of its
 * own. Barriers are not this pass's business (sync.c). Where the hardware has no
 * asynchronous copies, tiles go through registers instead (hold.c).
 */
#include "pass/keep.h"
#include "pass/stage.h"

bool stage_is_load(const TileOp *op)
{
    return op->kind == TILE_LOAD && op->results[0]->type.space == SPACE_SHARED;
}

TileValue *stage_buffer(Stager *s, const TileValue *tile, int stages, Rewriter *rw)
{
    TileType type = tile->type;
    type.kind = TT_BUFFER;
    type.stages = stages;
    Rewriter head = {s->program, s->kernel, s->kernel->body, s->buffers++, rw->loc};
    TileOp *op = rw_insert(&head, TILE_BUFFER, 0, NULL, 1, &type);
    op->results[0]->name = tile->name;
    if (rw->block == s->kernel->body) rw->at++;
    return op->results[0];
}

/* load's tile at counter + ahead (counter NULL: as it stands) into buffer[index]. */
static void insert_copy(Rewriter *rw, const TileOp *load, TileValue *buffer, const AffSym *var,
                        const Aff *counter, const Aff *index, const Aff *guard)
{
    AffCtx *aff = rw->program->aff;
    TileOp *copy = rw_insert(rw, TILE_COPY_ASYNC, 1, &buffer, 0, NULL);
    copy->tensor = load->tensor;
    copy->row_dim = load->row_dim;
    copy->col_dim = load->col_dim;
    copy->coords = arena_array(rw->program->arena, const Aff *, load->tensor->rank);
    for (int d = 0; d < load->tensor->rank; d++)
        copy->coords[d] = counter ? aff_subst(aff, load->coords[d], var, counter) : load->coords[d];
    copy->where = load->where && counter ? aff_subst(aff, load->where, var, counter) : load->where;
    copy->index = index;
    copy->cond = guard;
    copy->loc = load->loc;
}

void stage_view(TileProgram *program, TileKernel *kernel, TileBlock *block, int at,
                TileValue *buffer, const Aff *index)
{
    TileOp *load = block->ops.data[at];
    TileOp *view = tile_op_new(program, kernel, TILE_VIEW, 1, &buffer, 1, &load->results[0]->type);
    view->index = index;
    view->loc = load->loc;
    view->results[0]->name = load->results[0]->name;
    tile_replace_uses(block, load->results[0], view->results[0]);
    block->ops.data[at] = view;
}

/* ---- loads of a loop -------------------------------------------------------------- */

typedef struct Ring {
    TileOp *load;
    TileValue *buffer;
    int stages;
    bool kept;   /* a stage for each turn, for loops behind this one */
    bool copied; /* an earlier loop did, to such a ring */
} Ring;

typedef VEC(Ring) Rings;

bool stage_can_run_ahead(const TileOp *load)
{
    for (int d = 0; d < load->tensor->rank; d++)
        if (aff_uses_kind(load->coords[d], AFF_SCALAR)) return false;
    return true;
}

static void find_loads(Arena *arena, const TileBlock *body, Rings *rings)
{
    for (int i = 0; i < body->ops.len; i++)
        if (stage_is_load(body->ops.data[i]) && stage_can_run_ahead(body->ops.data[i]))
            vec_push(arena, rings, (Ring){.load = body->ops.data[i]});
}

static const Aff *stage_of(AffCtx *aff, const TileOp *loop, const Ring *ring, const Aff *counter)
{
    return ring->kept ? aff_sub(aff, counter, loop->lo) : aff_mod(aff, counter, aff_const(aff, ring->stages));
}

/* Copies of all rings for the iteration `counter`. */
static void insert_fill(Rewriter *rw, const Rings *rings, const TileOp *loop, const Aff *counter)
{
    AffCtx *aff = rw->program->aff;
    bool in_loop = counter == aff_of(aff, loop->var); /* the iteration at hand */
    const Aff *guard = in_loop ? aff_const(aff, 1) : aff_lt(aff, counter, loop->hi);
    for (int i = 0; i < rings->len; i++)
        if (!rings->data[i].copied)
            insert_copy(rw, rings->data[i].load, rings->data[i].buffer, loop->var, counter,
                        stage_of(aff, loop, &rings->data[i], counter), aff_always(aff, guard) ? NULL : guard);
    rw_insert(rw, TILE_COMMIT, 0, NULL, 0, NULL);
}

static void views_for_rings(Stager *s, const TileOp *loop, const Rings *rings)
{
    AffCtx *aff = s->program->aff;
    TileBlock *body = loop->regions[0];
    for (int r = 0; r < rings->len; r++)
        for (int i = 0; i < body->ops.len; i++)
            if (body->ops.data[i] == rings->data[r].load)
                stage_view(s->program, s->kernel, body, i, rings->data[r].buffer, stage_of(aff, loop, &rings->data[r], aff_of(aff, loop->var)));
}

/* ---- tiles that stay for loops behind ----------------------------------------------------- */

/* How often the loop runs, where all its turns may be kept; 0: they may not. */
static int turns_kept(const Stager *s, const TileOp *loop)
{
    int64_t turns = 0;
    aff_is_const(aff_sub(s->program->aff, loop->hi, loop->lo), &turns);
    return turns > 0 && turns <= s->kernel->kept ? (int)turns : 0;
}

/* The buffer in which an earlier loop of the block left what the load brings; NULL: none did. */
static TileValue *left_by_others(const Stager *s, const TileBlock *block, const TileOp *loop, const TileOp *load)
{
    for (int i = 0; i < s->stays.len; i++) {
        const Stays *left = &s->stays.data[i];
        if (left->block == block && keep_brings_alike(s->program, left->loop, left->load, loop, load)) return left->buffer;
    }
    return NULL;
}

/* All copies that the loop started have arrived, and all warps see them: here, not in each of the loops behind. */
static void arrive(Stager *s, TileBlock *block, int at, const Rings *rings)
{
    bool stays = false;
    for (int i = 0; i < rings->len; i++) stays |= rings->data[i].kept;
    if (!stays) return;
    Rewriter behind = {s->program, s->kernel, block, at + 1, block->ops.data[at]->loc};
    rw_insert(&behind, TILE_WAIT, 0, NULL, 0, NULL);
    rw_insert(&behind, TILE_BARRIER, 0, NULL, 0, NULL);
}

/* Gives each ring its buffer. Returns whether any has to be filled. */
static bool make_rings(Stager *s, const TileBlock *block, const TileOp *loop, Rings *rings, Rewriter *before)
{
    int turns = turns_kept(s, loop);
    bool any = false;
    for (int i = 0; i < rings->len; i++) {
        Ring *ring = &rings->data[i];
        ring->buffer = turns ? left_by_others(s, block, loop, ring->load) : NULL;
        ring->copied = ring->buffer != NULL;
        ring->kept = ring->copied || (turns && turns * keep_bytes(ring->load) <= s->room &&
                                      keep_is_read_again(s->program, s->kernel, block, loop, ring->load));
        ring->stages = ring->kept ? turns : s->kernel->stages;
        any |= !ring->copied;
        if (ring->copied) continue;
        ring->buffer = stage_buffer(s, ring->load->results[0], ring->stages, before);
        if (!ring->kept) continue;
        vec_push(s->program->arena, &s->stays, (Stays){block, loop, ring->load, ring->buffer});
        s->room -= turns * keep_bytes(ring->load);
    }
    return any;
}

/* ---- one stage: taking turns ------------------------------------------------------------ */

static int last_use(const TileBlock *body, const TileValue *v)
{
    int last = -1;
    for (int i = 0; i < body->ops.len; i++)
        if (tile_op_uses(body->ops.data[i], v)) last = i;
    return last;
}

int stage_turn(Arena *arena, const TileBlock *body, TileValue *const *tiles, int n, bool *early)
{
    int none = body->ops.len, first = none, done = -1, begun = none, *uses = arena_array(arena, int, n);
    for (int i = 0; i < n; i++) {
        int use = tile_first_use(body, 0, tiles[i]);
        uses[i] = use < 0 ? none : use;
        if (uses[i] < first) first = uses[i];
    }
    for (int i = 0; i < n; i++) {
        early[i] = uses[i] == first;
        int last = last_use(body, tiles[i]);
        if (early[i] && last > done) done = last;
        if (!early[i] && uses[i] < begun) begun = uses[i];
    }
    return done < begun && begun < none ? begun : -1;
}

/* Splits rings by their turn; returns the operation between, or NULL. */
static TileOp *split_by_use(Arena *arena, const TileBlock *body, const Rings *rings, Rings *early, Rings *late)
{
    TileValue **tiles = arena_array(arena, TileValue *, rings->len);
    bool *is_early = arena_array(arena, bool, rings->len);
    for (int i = 0; i < rings->len; i++) tiles[i] = rings->data[i].load->results[0];
    int turn = stage_turn(arena, body, tiles, rings->len, is_early);
    for (int i = 0; i < rings->len; i++) vec_push(arena, is_early[i] ? early : late, rings->data[i]);
    return turn >= 0 ? body->ops.data[turn] : NULL;
}

static bool take_turns(Stager *s, TileBlock *block, int *at, const Rings *rings)
{
    AffCtx *aff = s->program->aff;
    TileOp *loop = block->ops.data[*at];
    TileBlock *body = loop->regions[0];
    Rings early = {0}, late = {0};
    TileOp *turn = split_by_use(s->program->arena, body, rings, &early, &late);
    if (!turn) return false;

    Rewriter before = {s->program, s->kernel, block, *at, loop->loc};
    Rings *groups[] = {&early, &late};
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < groups[g]->len; i++) {
            groups[g]->data[i].stages = 1;
            groups[g]->data[i].buffer = stage_buffer(s, groups[g]->data[i].load->results[0], 1, &before);
        }
    insert_fill(&before, &early, loop, loop->lo);
    *at = before.at;

    const Aff *counter = aff_of(aff, loop->var);
    for (int g = 0; g < 2; g++) views_for_rings(s, loop, groups[g]);
    Rewriter middle = {s->program, s->kernel, body, tile_index_of(body, turn), loop->loc};
    rw_insert(&middle, TILE_WAIT, 0, NULL, 0, NULL);
    insert_fill(&middle, &early, loop, aff_offset(aff, counter, 1));
    Rewriter top = {s->program, s->kernel, body, 0, loop->loc};
    rw_insert(&top, TILE_WAIT, 0, NULL, 0, NULL);
    insert_fill(&top, &late, loop, counter);
    return true;
}

/* The loop at block[*at]; *at moves along with it. Returns whether its top now
 * waits for every copy that was started before it. */
static bool stage_loop(Stager *s, TileBlock *block, int *at)
{
    AffCtx *aff = s->program->aff;
    TileOp *loop = block->ops.data[*at];
    TileBlock *body = loop->regions[0];
    int stages = s->kernel->stages;
    Rings rings = {0};
    find_loads(s->program->arena, body, &rings);
    if (rings.len == 0) return false;
    if (stages < 2) return take_turns(s, block, at, &rings);

    Rewriter before = {s->program, s->kernel, block, *at, loop->loc};
    bool fills = make_rings(s, block, loop, &rings, &before);
    for (int k = 0; k < stages - 1 && fills; k++)
        insert_fill(&before, &rings, loop, aff_offset(aff, loop->lo, k));
    *at = before.at;
    views_for_rings(s, loop, &rings);
    if (!fills) return false;

    Rewriter top = {s->program, s->kernel, body, 0, loop->loc};
    rw_insert(&top, TILE_WAIT, 0, NULL, 0, NULL)->count = stages - 2;
    insert_fill(&top, &rings, loop, aff_offset(aff, aff_of(aff, loop->var), stages - 1));
    arrive(s, block, *at, &rings);
    return true;
}

/* ---- everything else ------------------------------------------------------------------ */

static void stage_load(Stager *s, TileBlock *block, int *at)
{
    TileOp *load = block->ops.data[*at];
    Rewriter rw = {s->program, s->kernel, block, *at, load->loc};
    const Aff *zero = aff_const(s->program->aff, 0);
    TileValue *buffer = stage_buffer(s, load->results[0], 1, &rw);
    insert_copy(&rw, load, buffer, NULL, NULL, zero, NULL);
    stage_view(s->program, s->kernel, block, rw.at, buffer, zero);
    /* Neighbouring loads share a group. */
    bool last = rw.at + 1 >= block->ops.len || !stage_is_load(block->ops.data[rw.at + 1]);
    rw.at++;
    if (last) rw_insert(&rw, TILE_COMMIT, 0, NULL, 0, NULL);
    *at = rw.at - 1;
}

void stage_move(Stager *s, TileBlock *block, int *at)
{
    TileOp *move = block->ops.data[*at];
    Rewriter rw = {s->program, s->kernel, block, *at, move->loc};
    const Aff *zero = aff_const(s->program->aff, 0);
    TileValue *buffer = stage_buffer(s, move->results[0], 1, &rw);
    TileValue *args[] = {move->args[0], buffer};
    rw_insert(&rw, TILE_PUT, 2, args, 0, NULL)->index = zero;
    stage_view(s->program, s->kernel, block, rw.at, buffer, zero);
    *at = rw.at;
}

bool stage_is_move(const TileOp *op)
{
    return op->kind == TILE_MOVE && op->results[0]->type.space == SPACE_SHARED;
}

static bool uses_shared(const TileOp *op)
{
    for (int k = 0; k < op->n_args; k++)
        if (op->args[k]->type.space == SPACE_SHARED) return true;
    return false;
}

/* Walks a block. `started` says that copies of this block or of one around it
 * may be under way that nothing has waited for; the first operation that could
 * read them gets the wait in front. A ring loop waits by itself, but not when
 * it runs no iteration, so `started` outlives it, and what is started in a
 * region is waited for at its end at the latest: the next turn of a loop round
 * it copies to the same places. */
static void stage_block(Stager *s, TileBlock *block, bool started)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        bool waits = op->kind == TILE_FOR && stage_loop(s, block, &i);
        bool needs = op->n_regions > 0 || op->kind == TILE_YIELD || uses_shared(op);
        if (started && !waits && op->kind != TILE_COPY_ASYNC && needs) {
            Rewriter rw = {s->program, s->kernel, block, i, op->loc};
            rw_insert(&rw, TILE_WAIT, 0, NULL, 0, NULL);
            i = rw.at;
            started = false;
        }
        for (int r = 0; r < op->n_regions; r++) {
            int before = s->buffers;
            stage_block(s, op->regions[r], false);
            if (block == s->kernel->body) i += s->buffers - before;
        }
        if (stage_is_load(op)) {
            stage_load(s, block, &i);
            started = true;
        } else if (stage_is_move(op)) {
            stage_move(s, block, &i);
        }
    }
}

bool pass_stage(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    if (kernel->specialized) return true; /* its tiles are in rings */
    (void)diags;
    Stager s = {.program = program, .kernel = kernel, .room = target->shared_per_block};
    if (target->has_cp_async) stage_block(&s, kernel->body, false);
    else hold_block(&s, kernel->body);
    return true;
}
