/* hold.c: copies into shared memory by way of registers.
 *
 * Hardware without asynchronous copies moves a tile with a load into registers
 * and a store. What hides the latency of the load is work between the two: with
 * two stages or more, one of them is held in registers. The loads of a loop's
 * body sink to where their tiles are first used and so fall into groups of
 * neighbours; a group is loaded when the one before it was put, the first one in
 * the iteration before:
 *
 *   for j = lo:hi {               %k1 = load K[lo]
 *     %k = load K[j]              for j = lo:hi carry (%k2 = %k1) {
 *     use %k              ->        put %k2, k[j mod (stages - 1)]
 *     %v = load V[j]                %v1 = load V[j]
 *     use %v                        use k
 *   }                               put %v1, v[...]
 *                                   %k3 = load K[j + 1]
 *                                   use v
 *                                   yield %k3
 *                                 }
 *
 * so that registers hold one group at a time. A tile held in this way lies in
 * chunks (lay.h).
 */
#include "pass/stage.h"

enum { MAX_HELD = 16 };

/* Type of a tile in registers, on its way. */
static TileType held_type(const Stager *s, const TileValue *tile)
{
    TileType type = tile->type;
    type.space = SPACE_REGISTER;
    type.layout = (Layout){.kind = LAY_CHUNKS, .warps_m = s->kernel->warps, .warps_n = 1,
                           .k = 16 / dtype_bytes(type.dtype)};
    return type;
}

/* load's tile, with the counter `var` replaced (NULL: as it stands), into registers. */
static TileValue *insert_load(Stager *s, Rewriter *rw, const TileOp *load, const AffSym *var, const Aff *counter)
{
    AffCtx *aff = s->program->aff;
    TileType type = held_type(s, load->results[0]);
    TileOp *copy = rw_insert(rw, TILE_LOAD, 0, NULL, 1, &type);
    copy->tensor = load->tensor;
    copy->row_dim = load->row_dim;
    copy->col_dim = load->col_dim;
    copy->coords = arena_array(s->program->arena, const Aff *, load->tensor->rank);
    for (int d = 0; d < load->tensor->rank; d++)
        copy->coords[d] = counter ? aff_subst(aff, load->coords[d], var, counter) : load->coords[d];
    copy->where = load->where && counter ? aff_subst(aff, load->where, var, counter) : load->where;
    copy->loc = load->loc;
    copy->results[0]->name = load->results[0]->name;
    return copy->results[0];
}

static void insert_put(Rewriter *rw, TileValue *held, TileValue *buffer, const Aff *index)
{
    TileValue *args[] = {held, buffer};
    rw_insert(rw, TILE_PUT, 2, args, 0, NULL)->index = index;
}

/* ---- at once ------------------------------------------------------------------------ */

static void hold_load(Stager *s, TileBlock *block, int *at)
{
    TileOp *load = block->ops.data[*at];
    Rewriter rw = {s->program, s->kernel, block, *at, load->loc};
    const Aff *zero = aff_const(s->program->aff, 0);
    TileValue *buffer = stage_buffer(s, load->results[0], 1, &rw);
    insert_put(&rw, insert_load(s, &rw, load, NULL, NULL), buffer, zero);
    stage_view(s->program, s->kernel, block, rw.at, buffer, zero);
    *at = rw.at;
}

/* ---- ahead --------------------------------------------------------------------------- */

typedef struct Held {
    TileOp *load;
    int group;
    TileValue *buffer;
    TileValue *tile; /* in registers, to be put next */
} Held;

typedef struct HeldLoop {
    TileOp *op;
    Held held[MAX_HELD];
    int n, groups;
    const Aff *index; /* of the stage */
} HeldLoop;

/* A load may not pass what could change its tensor. */
static bool lets_pass(const TileOp *op, const TileOp *load)
{
    return op->kind != TILE_STORE && op->n_regions == 0 && !tile_op_uses(op, load->results[0]);
}

/* Loads to just before their first use; the last one first, so that none stands
 * in the way of another. */
static void sink_loads(TileBlock *body)
{
    for (int i = body->ops.len - 1; i >= 0; i--) {
        TileOp *op = body->ops.data[i];
        if (!stage_is_load(op) || !stage_can_run_ahead(op)) continue;
        int to = i;
        for (; to + 2 < body->ops.len && lets_pass(body->ops.data[to + 1], op) && !stage_is_load(body->ops.data[to + 1]); to++)
            body->ops.data[to] = body->ops.data[to + 1];
        body->ops.data[to] = op;
    }
}

/* Loads without a use of shared memory between them are one group. */
static void find_groups(HeldLoop *loop)
{
    const TileBlock *body = loop->op->regions[0];
    bool apart = true;
    for (int i = 0; i < body->ops.len; i++) {
        TileOp *op = body->ops.data[i];
        for (int k = 0; k < op->n_args; k++) apart |= op->args[k]->type.space == SPACE_SHARED;
        apart |= op->n_regions > 0;
        if (!stage_is_load(op) || !stage_can_run_ahead(op) || loop->n == MAX_HELD) continue;
        loop->groups += apart;
        loop->held[loop->n++] = (Held){.load = op, .group = loop->groups - 1};
        apart = false;
    }
}

static void load_group(Stager *s, Rewriter *rw, HeldLoop *loop, int group, const Aff *counter)
{
    for (int i = 0; i < loop->n; i++)
        if (loop->held[i].group == group)
            loop->held[i].tile = insert_load(s, rw, loop->held[i].load, loop->op->var, counter);
}

static TileValue **append(Arena *arena, TileValue **list, int n, TileValue *value)
{
    TileValue **longer = arena_array(arena, TileValue *, n + 1);
    for (int i = 0; i < n; i++) longer[i] = list[i];
    longer[n] = value;
    return longer;
}

/* The loop carries the first group's tiles from the load in front of it. */
static void carry_first_group(Stager *s, HeldLoop *loop)
{
    TileOp *op = loop->op;
    for (int i = 0; i < loop->n && loop->held[i].group == 0; i++) {
        Held *h = &loop->held[i];
        TileValue *param = tile_value_new(s->program, s->kernel, h->tile->type, h->tile->name);
        TileValue *result = tile_value_new(s->program, s->kernel, h->tile->type, h->tile->name);
        result->def = op;
        op->args = append(s->program->arena, op->args, op->n_args++, h->tile);
        op->results = append(s->program->arena, op->results, op->n_results++, result);
        vec_push(s->program->arena, &op->regions[0]->params, param);
        h->tile = param;
    }
}

static void yield_first_group(Stager *s, HeldLoop *loop)
{
    TileBlock *body = loop->op->regions[0];
    TileOp *yield = body->ops.data[body->ops.len - 1];
    for (int i = 0; i < loop->n && loop->held[i].group == 0; i++)
        yield->args = append(s->program->arena, yield->args, yield->n_args++, loop->held[i].tile);
}

static Held *held_by(HeldLoop *loop, const TileOp *op)
{
    for (int i = 0; i < loop->n; i++)
        if (loop->held[i].load == op) return &loop->held[i];
    return NULL;
}

/* Where a load stood its tile is put; behind the last of a group the next group
 * is loaded. */
static void rewrite_body(Stager *s, HeldLoop *loop)
{
    AffCtx *aff = s->program->aff;
    TileBlock *body = loop->op->regions[0];
    const Aff *counter = aff_of(aff, loop->op->var), *next = aff_offset(aff, counter, 1);
    for (int i = 0; i < body->ops.len; i++) {
        Held *h = held_by(loop, body->ops.data[i]);
        if (!h) continue;
        bool last = h + 1 == loop->held + loop->n || h[1].group != h->group;
        Rewriter rw = {s->program, s->kernel, body, i, h->load->loc};
        insert_put(&rw, h->tile, h->buffer, loop->index);
        stage_view(s->program, s->kernel, body, rw.at++, h->buffer, loop->index);
        if (last) load_group(s, &rw, loop, (h->group + 1) % loop->groups, h->group + 1 == loop->groups ? next : counter);
        i = rw.at - 1;
    }
}

static void hold_loop(Stager *s, TileBlock *block, int *at)
{
    AffCtx *aff = s->program->aff;
    HeldLoop loop = {.op = block->ops.data[*at]};
    int stages = s->kernel->stages - 1; /* in shared memory */
    if (stages < 1) return;
    sink_loads(loop.op->regions[0]);
    find_groups(&loop);
    if (loop.n == 0) return;
    Rewriter before = {s->program, s->kernel, block, *at, loop.op->loc};
    for (int i = 0; i < loop.n; i++)
        loop.held[i].buffer = stage_buffer(s, loop.held[i].load->results[0], stages, &before);
    loop.index = stages == 1 ? aff_const(aff, 0) : aff_mod(aff, aff_of(aff, loop.op->var), aff_const(aff, stages));
    load_group(s, &before, &loop, 0, loop.op->lo);
    carry_first_group(s, &loop);
    rewrite_body(s, &loop);
    yield_first_group(s, &loop);
    *at = before.at;
}

void hold_block(Stager *s, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind == TILE_FOR) hold_loop(s, block, &i);
        for (int r = 0; r < op->n_regions; r++) {
            int before = s->buffers;
            hold_block(s, op->regions[r]);
            if (block == s->kernel->body) i += s->buffers - before;
        }
        if (stage_is_load(op)) hold_load(s, block, &i);
        else if (stage_is_move(op)) stage_move(s, block, &i);
    }
}
