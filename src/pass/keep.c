/* keep.c: tiles that loops read again stay in shared memory.
 *
 * Norms and softmaxes of rows go over them twice or more. Where the schedule says so, what such loops read is on its
 * way at once, before the first of them, and is read there by all:
 *
 *                                       %b = buffer : bf16<8x1x512>
 *   for k = 0:n {                       for k = 0:n { copy_async X[k * 512 : cols], %b[k] }
 *     %x = load X[k * 512 : cols]       commit
 *     ...                               wait 0
 *   }                                   barrier
 *   for k = 0:n {                 ->    for k = 0:n {
 *     %x = load X[k * 512 : cols]         %v = view %b[k]
 *     ...                                 %x = move %v
 *   }                                     ...
 *                                       }
 *                                       ...
 *
 * That is for as many turns as there are places for. Unless the grid says that there are no more (launched.c), the
 * kernel is there twice, if n <= 8 { ... } else { ... }, since twice.c. Without asynchronous copies tiles go through
 * registers. Of several tiles those are kept that have room beside the first; the others are loaded in each loop.
 */
#include "pass/keep.h"

#include "pass/launched.h"
#include "pass/passes.h"
#include "pass/rows.h"

/* Whether the loops run over the same turns, side by side in a block. */
static bool same_turns(const TileOp *a, const TileOp *b)
{
    return a->kind == TILE_FOR && b->kind == TILE_FOR && a->lo == b->lo && a->hi == b->hi;
}

bool keep_brings_alike(TileProgram *program, const TileOp *loop_a, const TileOp *a, const TileOp *loop_b, const TileOp *b)
{
    AffCtx *aff = program->aff;
    const Aff *turn = aff_of(aff, loop_a->var);
    if (!same_turns(loop_a, loop_b)) return false;
    if (b->kind != TILE_LOAD || b->tensor != a->tensor || b->row_dim != a->row_dim || b->col_dim != a->col_dim) return false;
    if (a->where || b->where || !tile_type_equal(a->results[0]->type, b->results[0]->type)) return false;
    for (int d = 0; d < a->tensor->rank; d++)
        if (aff_subst(aff, b->coords[d], loop_b->var, turn) != a->coords[d]) return false;
    return true;
}

static bool has_alike(TileProgram *program, const TileOp *loop, const TileOp *load, const TileOp *other)
{
    for (int i = 0; i < other->regions[0]->ops.len; i++)
        if (keep_brings_alike(program, loop, load, other, other->regions[0]->ops.data[i])) return true;
    return false;
}

/* Whether how often a loop runs is known at a block's start. */
static bool turns_known(const TileOp *loop)
{
    const Aff *turns[] = {loop->lo, loop->hi};
    for (int i = 0; i < 2; i++)
        if (aff_uses_kind(turns[i], AFF_SCALAR) || aff_uses_kind(turns[i], AFF_LOOP)) return false;
    return true;
}

/* A tile that copies may bring: in whole chunks, and to a place that is known before the loop. */
static bool may_come_early(const TileKernel *kernel, const TileOp *load)
{
    if (load->kind != TILE_LOAD || tile_by_rows(load) || !tile_in_chunks(load) || tile_stores_to(kernel->body, load->tensor)) return false;
    for (int d = 0; d < load->tensor->rank; d++)
        if (aff_uses_kind(load->coords[d], AFF_SCALAR)) return false;
    return true;
}

/* Whether another loop reads in each turn the tile that the load does in one of `loop`, and nothing writes the tensor. */
static bool is_read_in(TileProgram *program, const TileKernel *kernel, const TileOp *loop, const TileOp *load, const TileOp *other)
{
    return turns_known(loop) && may_come_early(kernel, load) && other != loop && same_turns(loop, other) && has_alike(program, loop, load, other);
}

bool keep_is_read_again(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const TileOp *loop, const TileOp *load)
{
    for (int i = 0; i < block->ops.len; i++)
        if (is_read_in(program, kernel, loop, load, block->ops.data[i])) return true;
    return false;
}

bool keep_reads_with(TileProgram *program, const TileKernel *kernel, const TileOp *loop, const TileOp *other)
{
    for (int i = 0; i < loop->regions[0]->ops.len; i++)
        if (is_read_in(program, kernel, loop, loop->regions[0]->ops.data[i], other)) return true;
    return false;
}

bool keep_reads_again(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const TileOp *loop)
{
    for (int i = 0; i < block->ops.len; i++)
        if (keep_reads_with(program, kernel, loop, block->ops.data[i])) return true;
    return false;
}

/* Of the parts of a row that blocks of a cluster have the first has most turns. */
static const Aff *turns_of(TileProgram *program, const TileKernel *kernel, const TileOp *loop)
{
    AffCtx *aff = program->aff;
    const TileAxis *cluster = tile_cluster(kernel);
    const Aff *turns = aff_sub(aff, loop->hi, loop->lo);
    return cluster ? aff_subst(aff, turns, cluster->sym, aff_const(aff, 0)) : turns;
}

const Aff *keep_fits(TileProgram *program, const TileKernel *kernel, const TileBlock *block, int blocks)
{
    AffCtx *aff = program->aff;
    const Aff *fits = NULL;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *loop = block->ops.data[i];
        if (loop->kind != TILE_FOR || !keep_reads_again(program, kernel, block, loop)) continue;
        const Aff *all = aff_le(aff, turns_of(program, kernel, loop), aff_const(aff, (int64_t)kernel->kept * blocks));
        fits = fits ? aff_and(aff, fits, all) : all;
    }
    return fits;
}

int64_t keep_bytes(const TileOp *load)
{
    const TileType *t = &load->results[0]->type;
    return (int64_t)t->rows * t->cols * dtype_bytes(t->dtype);
}

enum { BESIDE = 1024 }; /* bytes, for what warps tell each other */

bool keep_has_room(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const Target *target, int turns)
{
    int64_t most = 0;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *loop = block->ops.data[i];
        int64_t bytes = 0;
        for (int k = 0; loop->kind == TILE_FOR && k < loop->regions[0]->ops.len; k++) {
            const TileOp *load = loop->regions[0]->ops.data[k];
            if (keep_is_read_again(program, kernel, block, loop, load)) bytes += keep_bytes(load);
        }
        if (bytes > most) most = bytes;
    }
    return turns * most + BESIDE <= target->shared_per_block;
}

/* ---- copies ahead --------------------------------------------------------------------- */

typedef struct Keeper {
    TileProgram *program;
    TileKernel *kernel;
    const Target *target;
    int64_t bytes; /* of shared memory that are taken */
} Keeper;

static int64_t bytes_kept(const Keeper *k, const TileOp *load)
{
    return k->kernel->kept * keep_bytes(load);
}

/* Beside what is kept already, and what warps tell each other. */
static bool has_room(const Keeper *k, const TileOp *load)
{
    return k->bytes == 0 || k->bytes + bytes_kept(k, load) + BESIDE <= k->target->shared_per_block;
}

static const Aff *turn_of(const Keeper *k, const TileOp *loop)
{
    return aff_sub(k->program->aff, aff_of(k->program->aff, loop->var), loop->lo);
}

static TileValue *buffer_for(const Keeper *k, const TileOp *load, Rewriter *rw)
{
    TileType type = load->results[0]->type;
    Rewriter head = {k->program, k->kernel, k->kernel->body, 0, load->loc};
    type.kind = TT_BUFFER;
    type.space = SPACE_SHARED;
    type.stages = k->kernel->kept;
    TileOp *op = rw_insert(&head, TILE_BUFFER, 0, NULL, 1, &type);
    op->results[0]->name = load->results[0]->name;
    if (rw->block == k->kernel->body) rw->at++;
    return op->results[0];
}

/* Brings the load's tile, of a turn of `ahead`, into the buffer. */
static void bring(const Keeper *k, const TileOp *loop, const TileOp *load, TileOp *ahead, TileValue *buffer)
{
    AffCtx *aff = k->program->aff;
    Rewriter rw = {k->program, k->kernel, ahead->regions[0], ahead->regions[0]->ops.len, load->loc};
    TileOp *copy = rw_insert(&rw, k->target->has_cp_async ? TILE_COPY_ASYNC : TILE_LOAD, k->target->has_cp_async, &buffer,
                             !k->target->has_cp_async, &load->results[0]->type);
    copy->tensor = load->tensor;
    copy->row_dim = load->row_dim;
    copy->col_dim = load->col_dim;
    copy->coords = arena_array(k->program->arena, const Aff *, load->tensor->rank);
    for (int d = 0; d < load->tensor->rank; d++)
        copy->coords[d] = aff_subst(aff, load->coords[d], loop->var, aff_of(aff, ahead->var));
    if (!k->target->has_cp_async) {
        TileValue *args[] = {copy->results[0], buffer};
        copy = rw_insert(&rw, TILE_PUT, 2, args, 0, NULL);
    }
    copy->index = turn_of(k, ahead);
}

/* ---- reading them ----------------------------------------------------------------------- */

static TileValue *read_kept(const TileOp *load, TileValue *buffer, const Aff *turn, Rewriter *rw)
{
    TileType shared = load->results[0]->type;
    shared.space = SPACE_SHARED;
    TileOp *view = rw_insert(rw, TILE_VIEW, 1, &buffer, 1, &shared);
    view->index = turn;
    return rw_insert(rw, TILE_MOVE, 1, &view->results[0], 1, &load->results[0]->type)->results[0];
}

/* The load at body[at] reads what is kept. */
static void read_instead(const Keeper *k, const TileOp *loop, TileBlock *body, int at, TileValue *buffer)
{
    TileOp *load = body->ops.data[at];
    tile_remove(body, at);
    Rewriter rw = {k->program, k->kernel, body, at, load->loc};
    rw_stand_for(k->kernel->body, load->results[0], read_kept(load, buffer, turn_of(k, loop), &rw));
}

static void read_in_all(const Keeper *k, const TileBlock *block, const TileOp *loop, const TileOp *load, TileValue *buffer)
{
    const TileOp like = *load, like_loop = *loop;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *other = block->ops.data[i];
        if (!same_turns(loop, other)) continue;
        TileBlock *body = other->regions[0];
        for (int at = 0; at < body->ops.len; at++)
            if (keep_brings_alike(k->program, &like_loop, &like, other, body->ops.data[at])) read_instead(k, other, body, at, buffer);
    }
}

/* What the loop at block[*at] reads and others after it read again; *at moves along with the loop. */
static void keep_of(Keeper *k, TileBlock *block, int *at)
{
    TileOp *loop = block->ops.data[*at], *ahead = NULL;
    TileBlock *body = loop->regions[0];
    Rewriter rw = {k->program, k->kernel, block, *at, loop->loc};
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *load = body->ops.data[i];
        if (load->kind != TILE_LOAD || load->results[0]->type.space != SPACE_REGISTER) continue;
        if (!keep_is_read_again(k->program, k->kernel, block, loop, load) || !has_room(k, load)) continue;
        k->bytes += bytes_kept(k, load);
        TileValue *buffer = buffer_for(k, load, &rw);
        if (!ahead) {
            ahead = rw_same_turns(&rw, loop, 0, NULL);
            ahead->note = "what is kept is on its way at once";
        }
        read_in_all(k, block, loop, load, buffer); /* before `ahead` reads it as well */
        bring(k, loop, load, ahead, buffer);
    }
    *at = rw.at;
    if (!ahead) return;
    rw_yield_all(k->program, k->kernel, ahead->regions[0], NULL, 0);
    if (k->target->has_cp_async) {
        rw_insert(&rw, TILE_COMMIT, 0, NULL, 0, NULL);
        rw_insert(&rw, TILE_WAIT, 0, NULL, 0, NULL);
    }
    rw_insert(&rw, TILE_BARRIER, 0, NULL, 0, NULL); /* here, not in each of the loops */
    *at = rw.at;
}

/* What has become a load since twice.c (direct.c) may have loops with more turns than that asked about. */
TileBlock *keep_where_all_fit(TileProgram *program, TileKernel *kernel, int blocks)
{
    for (int i = 0; i < kernel->body->ops.len; i++) {
        const TileOp *op = kernel->body->ops.data[i];
        if (op->kind == TILE_IF && op->n_regions == 2 && keep_fits(program, kernel, op->regions[0], blocks) == op->cond) return op->regions[0];
    }
    const Aff *fits = keep_fits(program, kernel, kernel->body, blocks);
    return fits && aff_always(program->aff, launched(program, kernel, fits)) ? kernel->body : NULL;
}

bool pass_keep(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    Keeper k = {program, kernel, target, 0};
    (void)diags;
    if (kernel->kept == 0) return true;
    TileBlock *block = keep_where_all_fit(program, kernel, 1);
    for (int i = 0; block && rows_without_fragments(kernel) && i < block->ops.len; i++)
        if (block->ops.data[i]->kind == TILE_FOR) keep_of(&k, block, &i);
    return true;
}
