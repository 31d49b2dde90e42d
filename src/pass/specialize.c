/* specialize.c: a warpgroup that copies, others that compute.
 *
 * Each load into shared memory becomes a ring of stages: one role, of a warpgroup with
 * few registers, fills them by bulk copies as they come free; the others await, use and
 * release them, and share what all of them read:
 *
 *   for j = lo:hi {                 load { for j = lo:hi { acquire %k
 *     %k = load K[j]          ->                           copy_async K[j], %k
 *     use %k                                               filled %k } }
 *   }                               compute { for j = lo:hi { %k.1 = await %k
 *                                                             use %k.1
 *                                                             release %k } }
 *
 * The copier's program is what is left of the others' when all but the awaiting is
 * dropped, so both sides go round a ring equally often (bounds of loops are the same for
 * all instances: rotate.c; those that leave a loop earlier hand on what is left: narrow.c). A tile whose place depends on the instance has a ring for
 * each. An integer from data, of which bounds may be made, each side reads for itself.
 *
 * Where a block goes on to a next place, tiles of one stage decide how soon that begins:
 * they are loaded where they are used first, and given back where they were used last
 * (sink_single).
 *
 * Tiles that are prepared (prepare.c) come from a third role, between the two: it awaits what they are made of, and puts
 * them into rings of their own:
 *
 *   %s = prepare {                  prepare { for j = lo:hi { %k.1 = await %k
 *     %k = load K[j]                                          acquire %s
 *     %r = arithmetic of %k   ->                              put (arithmetic of %k.1), %s
 *     yield %r                                                filled %s
 *   }                                                         release %k } }
 *   use %s                          compute { for j = lo:hi { %s.1 = await %s
 *                                                             use %s.1
 *                                                             release %s } }
 *
 * What lanes bring (`load … by lanes`: split.c) comes from that role as well, as the copier would bring it; where they bring all,
 * there is no copier.
 */
#include "pass/ahead.h"
#include "pass/copies.h"
#include "pass/halve.h"
#include "pass/issue.h"
#include "pass/narrow.h"
#include "pass/order.h"
#include "pass/prepare.h"
#include "pass/slabs.h"
#include "pass/stage.h"
#include "pass/turns.h"

enum { BARRIERS = 1024 };

typedef struct Stream {   /* a load of the program, whose copies rotation may have made more */
    const TileOp *load;   /* or what prepares it, */
    int result;           /* as this result */
    TileValue *ring;
    bool own;             /* a ring for each instance */
    bool once;            /* no loop streams it */
    int held;             /* stages that a role awaits before it gives the first of them back */
} Stream;

typedef struct Specializer {
    TileProgram *program;
    TileKernel *kernel;
    const Target *target;
    const AffSym *per;    /* NULL: one instance */
    int groups;
    bool copies;          /* there are tiles that bulk copies bring */
    bool prepares, lanes; /* that are prepared, or brought by lanes, */
    bool lookups;         /* which look up where rows lie; */
    bool preparing;       /* and the role that does so is being made */
    VEC(Stream) streams;
} Specializer;

static bool own_place(const Specializer *s, const TileOp *load)
{
    for (int d = 0; s->per && d < load->tensor->rank; d++)
        if (aff_uses(load->coords[d], s->per)) return true;
    return s->per && load->where && aff_uses(load->where, s->per);
}

/* ---- rings ------------------------------------------------------------------------------ */

static bool same_stream(const TileOp *a, const TileOp *b)
{
    return a->kind == b->kind && a->tensor == b->tensor && a->loc.start == b->loc.start && a->loc.end == b->loc.end && a->row_dim == b->row_dim
           && a->col_dim == b->col_dim && tile_type_equal(a->results[0]->type, b->results[0]->type);
}

static Stream *stream_of_result(Specializer *s, const TileOp *load, int result)
{
    for (int i = 0; i < s->streams.len; i++)
        if (s->streams.data[i].result == result && same_stream(s->streams.data[i].load, load)) return &s->streams.data[i];
    return NULL;
}

static Stream *stream_of(Specializer *s, const TileOp *load)
{
    return stream_of_result(s, load, 0);
}

/* Of a tile that is prepared as many are there as are held at once where one product follows another, and one that is
 * made meanwhile. */
static int stages_of(const Specializer *s, const TileOp *op, bool in_loop)
{
    enum { PREPARED = 3 };
    if (!in_loop) return s->kernel->persistent ? 2 : 1;
    int stages = s->kernel->stages > 1 ? s->kernel->stages : 2;
    return op->kind == TILE_PREPARE && stages > PREPARED ? PREPARED : stages;
}

static void add_stream(Specializer *s, const TileOp *op, int result, bool in_loop)
{
    Stream *known = stream_of_result(s, op, result);
    int stages = stages_of(s, op, in_loop);
    if (known) {
        if (known->ring->type.stages < stages) known->ring->type.stages = stages;
        known->once &= !in_loop;
        return;
    }
    TileType type = op->results[result]->type;
    type.kind = TT_BUFFER;
    type.stages = stages;
    bool own = op->kind == TILE_LOAD && own_place(s, op);
    TileOp *ring = tile_op_new(s->program, s->kernel, TILE_RING, 0, NULL, 1, &type);
    ring->count = own ? s->groups : 1;
    ring->lanes = op->lanes;
    s->lanes |= op->lanes;
    s->lookups |= op->lanes && tile_by_rows(op);
    ring->loc = op->loc;
    ring->results[0]->name = op->results[result]->name;
    vec_push(s->program->arena, &s->streams, (Stream){op, result, ring->results[0], own, !in_loop, 1});
}

/* Tiles that a loop streams have the stages that the schedule asks for; others two
 * where the block goes on to a next place, so that its first tiles are there by then. */
static void find_streams(Specializer *s, const TileBlock *block, bool in_loop)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) find_streams(s, op->regions[k], in_loop || op->kind == TILE_FOR);
        for (int k = 0; prepare_brings(op) && k < op->n_results; k++) add_stream(s, op, k, in_loop);
    }
}

static void add_storage(const TileOp *op, int64_t *at)
{
    *at = tile_storage_begin(op, *at) + tile_storage_bytes(op);
}

static int64_t ring_bytes(const Specializer *s)
{
    int64_t bytes = 0;
    for (int i = 0; i < s->streams.len; i++) add_storage(s->streams.data[i].ring->def, &bytes);
    for (int i = 0; i < s->kernel->body->ops.len; i++) /* constants */
        if (tile_is_storage(s->kernel->body->ops.data[i])) add_storage(s->kernel->body->ops.data[i], &bytes);
    return bytes + BARRIERS;
}

/* A stage less of each tile in turn, down to as many as are held at once, until all fit. */
static void give_up_stages(Specializer *s)
{
    for (bool less = true; less && ring_bytes(s) > s->target->shared_per_block;) {
        less = false;
        for (int i = 0; i < s->streams.len; i++) {
            TileType *t = &s->streams.data[i].ring->type;
            if (t->stages > s->streams.data[i].held && ring_bytes(s) > s->target->shared_per_block) {
                t->stages--;
                less = true;
            }
        }
    }
}

/* Stages that do not fit are given up: first those of tiles that the next place needs. */
static void fit_stages(Specializer *s)
{
    for (int i = 0; i < s->streams.len && ring_bytes(s) > s->target->shared_per_block; i++)
        if (s->streams.data[i].once) s->streams.data[i].ring->type.stages = 1;
    give_up_stages(s);
}

/* ---- tiles of which there is one stage --------------------------------------------------------- */

static bool is_single(Specializer *s, const TileOp *op)
{
    const Stream *stream = stage_is_load(op) ? stream_of(s, op) : NULL;
    return stream && stream->once && stream->ring->type.stages == 1;
}

/* The region of a choice that alone uses the value; NULL: there is more that does. */
static TileBlock *only_region(const TileBlock *block, int at, const TileValue *v)
{
    const TileOp *op = block->ops.data[at];
    TileBlock *only = NULL;
    if (op->kind != TILE_IF || tile_first_use(block, at + 1, v) >= 0) return NULL;
    for (int k = 0; k < op->n_regions; k++) {
        if (tile_first_use(op->regions[k], 0, v) < 0) continue;
        if (only) return NULL;
        only = op->regions[k];
    }
    return only;
}

static bool stores_before(const TileBlock *block, int from, int to)
{
    for (int i = from; i < to; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_STORE) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (tile_has(op->regions[k], TILE_STORE)) return true;
    }
    return false;
}

/* The load at block[at] to where its tile is used first, into a choice if that alone uses it. */
static void sink_load(Specializer *s, TileBlock *block, int at)
{
    TileOp *load = block->ops.data[at];
    TileValue *tile = load->results[0];
    for (;;) {
        int use = tile_first_use(block, at + 1, tile);
        if (use < 0 || stores_before(block, at + 1, use)) return;
        tile_remove(block, at);
        TileBlock *region = only_region(block, --use, tile);
        if (!region || stores_before(region, 0, tile_first_use(region, 0, tile))) {
            tile_insert(s->program, block, use, load);
            return;
        }
        tile_insert(s->program, region, 0, load);
        block = region;
        at = 0;
    }
}

/* The next of a tile that has one stage comes when this one was given back. So it is taken
 * last, behind what there is more room for: that of the next place is on its way by then.
 * And it is given back as soon as it was used for the last time. */
static void sink_single(Specializer *s, TileBlock *block)
{
    for (int i = block->ops.len - 1; i >= 0; i--) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) sink_single(s, op->regions[k]);
        if (is_single(s, op)) sink_load(s, block, i);
    }
}

/* ---- those that compute ------------------------------------------------------------------- */

static const Aff *own_copy(Specializer *s, const Stream *stream)
{
    return stream->own && s->groups > 1 ? aff_of(s->program->aff, s->per) : NULL;
}

static TileOp *ring_op(Specializer *s, TileOpKind kind, const Stream *stream, const Aff *copy)
{
    TileValue *ring = stream->ring;
    TileType view = ring->type;
    view.kind = TT_TILE;
    view.space = SPACE_SHARED;
    view.stages = 0;
    TileOp *op = tile_op_new(s->program, s->kernel, kind, 1, &ring, kind == TILE_AWAIT, &view);
    op->index = copy;
    op->loc = stream->load->loc;
    return op;
}

static int last_wait(const TileBlock *block, int from)
{
    int last = from;
    for (int i = from; i < block->ops.len; i++)
        if (block->ops.data[i]->kind == TILE_FINISH) last = i;
    return last;
}

/* Where a product that was started at `at` is through: at the wait for it. */
static int through(const TileBlock *block, int at)
{
    int later = 0;
    for (int k = at + 1; k < block->ops.len; k++) {
        const TileOp *wait = block->ops.data[k];
        later += wait->kind == TILE_ISSUE;
        if (wait->kind == TILE_FINISH && wait->count <= later) return k;
    }
    return last_wait(block, at);
}

/* Behind the last use; of a product that was only started, behind the wait for it, which may come
 * after what else uses the tile. Where a loop goes on while its last product is under way, that
 * wait is in the next iteration, which gives back what this one awaited. */
static int after_last_use(const TileBlock *block, int from, const TileValue *v)
{
    int last = from;
    for (int i = from; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (!tile_op_uses(op, v)) continue;
        int end = op->kind == TILE_ISSUE ? through(block, i) : op->kind == TILE_SLICE ? after_last_use(block, i + 1, op->results[0]) - 1 : i;
        if (end > last) last = end;
    }
    return last + 1;
}

/* Awaits a tile where it is used first, and gives it back where it was used last. NULL: nothing uses it. */
static TileOp *await_tile(Specializer *s, TileBlock *block, int at, const Stream *stream, TileValue *tile)
{
    TileOp *wait = ring_op(s, TILE_AWAIT, stream, own_copy(s, stream)), *back = ring_op(s, TILE_RELEASE, stream, own_copy(s, stream));
    wait->results[0]->name = tile->name;
    at = tile_first_use(block, at, tile);
    if (at < 0) return NULL;
    tile_insert(s->program, block, at, wait);
    tile_replace_uses(block, tile, wait->results[0]);
    int end = after_last_use(block, at + 1, wait->results[0]);
    if (block->ops.data[end - 1]->kind == TILE_YIELD) end--;
    tile_insert(s->program, block, end, back);
    return wait;
}

/* Its copy goes where it is awaited: the copier's program is made from this one. */
static void await_load(Specializer *s, TileBlock *block, int at, const TileOp *load)
{
    TileOp *wait = await_tile(s, block, at, stream_of(s, load), load->results[0]);
    if (!wait) return;
    wait->tensor = load->tensor;
    wait->coords = load->coords;
    wait->where = load->where;
    wait->row_dim = load->row_dim;
    wait->col_dim = load->col_dim;
}

static void await_tiles(Specializer *s, TileBlock *block);

/* What a tile was made of is given back behind all that it was made into: by then a lane has what it read. */
static void release_last(Specializer *s, TileBlock *region)
{
    int n = region->ops.len;
    for (int i = 0, at = 0; i < n; i++) {
        TileOp *op = region->ops.data[at];
        if (op->kind != TILE_RELEASE) {
            at++;
            continue;
        }
        tile_remove(region, at);
        tile_append(s->program, region, op);
    }
}

static unsigned beside(const Specializer *s)
{
    return (s->copies ? TARGET_COPIER : 0) | (s->prepares ? TARGET_PREPARER : 0) | (s->lanes ? TARGET_LANES : 0) | (s->lookups ? TARGET_LOOKUPS : 0);
}

static int registers_to_prepare(const Specializer *s)
{
    return target_preparer_registers(s->target, s->groups, beside(s));
}

/* Likewise what prepares tiles goes where the first of them is awaited. */
static void await_prepared(Specializer *s, TileBlock *block, int at, const TileOp *op)
{
    TileValue **rings = arena_array(s->program->arena, TileValue *, op->n_results);
    TileOp *first = NULL;
    for (int k = 0; k < op->n_results; k++) {
        const Stream *stream = stream_of_result(s, op, k);
        rings[k] = stream->ring;
        TileOp *wait = await_tile(s, block, at, stream, op->results[k]);
        if (!first || tile_index_of(block, wait) < tile_index_of(block, first)) first = wait;
    }
    s->prepares = true;
    first->n_regions = 1;
    first->regions = arena_array(s->program->arena, TileBlock *, 1);
    first->regions[0] = slabs_of(s->program, s->kernel, op, rings, registers_to_prepare(s));
    await_tiles(s, first->regions[0]);
    release_last(s, first->regions[0]);
}

static void await_tiles(Specializer *s, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; op->kind != TILE_PREPARE && k < op->n_regions; k++) await_tiles(s, op->regions[k]);
    }
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (!prepare_brings(op)) continue;
        tile_remove(block, i);
        if (op->kind == TILE_LOAD) await_load(s, block, i, op);
        else await_prepared(s, block, i, op);
        i--;
    }
}

/* The most stages of a ring that are held at once, where `now` are at first. */
static int held_in(const TileBlock *block, const TileValue *ring, int *now)
{
    int most = *now, before = *now;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool taken = op->kind == TILE_AWAIT, given = op->kind == TILE_RELEASE;
        if ((taken || given) && op->args[0] == ring) *now += taken ? 1 : -1;
        before = *now;
        for (int k = 0; k < op->n_regions; k++) {
            int within = before, largest = held_in(op->regions[k], ring, &within);
            if (largest > most) most = largest;
            if (k == 0 || within > *now) *now = within;
        }
        if (*now > most) most = *now;
    }
    return most;
}

/* Where the next tile is awaited before the last is given back, one stage would never come free: so
 * many must fit, if others have fewer then. */
static void keep_held_stages(Specializer *s, const TileOp *roles)
{
    for (int i = 0; i < s->streams.len; i++) {
        Stream *stream = &s->streams.data[i];
        stream->held = 1;
        for (int r = 0; r < roles->n_regions; r++) {
            int now = 0, held = held_in(roles->regions[r], stream->ring, &now);
            if (held > stream->held) stream->held = held;
        }
        if (stream->ring->type.stages < stream->held) stream->ring->type.stages = stream->held;
    }
    give_up_stages(s);
}

/* ---- what is stored through shared memory ------------------------------------------------------ */

/* A tile as the bulk copy wants it: where what was awaited lies. */
static bool fits_through(const TileOp *store, const TileOp *wait)
{
    const TileType *v = &store->args[0]->type;
    TileType stage = wait->results[0]->type;
    TileBox box;
    stage.layout = (Layout){.kind = LAY_PANELS, .panel = lay_panel_for(stage.cols, dtype_bytes(stage.dtype))};
    return v->rows == stage.rows && v->cols == stage.cols && v->cols % 16 == 0 && v->dtype == stage.dtype && dtype_bytes(v->dtype) == 2
           && tile_boxes_begin(store) && tile_box(store->tensor, store->row_dim, store->col_dim, &stage, &box);
}

static bool awaits_within(const TileOp *op, const TileValue *ring)
{
    for (int k = 0; k < op->n_regions; k++) {
        const TileBlock *region = op->regions[k];
        if (rw_awaits(region, 0, region->ops.len, ring)) return true;
        for (int i = 0; i < region->ops.len; i++)
            if (awaits_within(region->ops.data[i], ring)) return true;
    }
    return false;
}

/* What is given back: stages go in the order in which they were awaited, so where a loop between
 * awaits others of the ring, the one that is left is the loop's, which has no name here. */
static const TileOp *wait_of(const TileBlock *block, const TileOp *back)
{
    const TileOp *wait = NULL;
    for (int k = 0; block->ops.data[k] != back; k++) {
        const TileOp *op = block->ops.data[k];
        if (op->kind == TILE_AWAIT && op->args[0] == back->args[0]) wait = op;
        if (awaits_within(op, back->args[0])) wait = NULL;
    }
    return wait;
}

/* Whether what is given back at block[back] can be kept until block[store]: what is awaited later is given back later. */
static bool can_keep(const TileBlock *block, int back, int store)
{
    const TileValue *ring = block->ops.data[back]->args[0];
    for (int i = back + 1; i < store; i++) {
        const TileOp *op = block->ops.data[i];
        if ((op->kind == TILE_AWAIT || op->kind == TILE_RELEASE) && op->args[0] == ring) return false;
        if (awaits_within(op, ring)) return false;
    }
    return true;
}

/* The tile that only this instance awaits, and has given back by then; the copier fills
 * the other stage meanwhile. */
static int find_through(const Specializer *s, const TileBlock *block, int store)
{
    for (int i = 0; i < store; i++) {
        const TileOp *back = block->ops.data[i];
        if (back->kind != TILE_RELEASE || back->args[0]->type.stages < 2 || back->args[0]->def->count != s->groups) continue;
        const TileOp *wait = wait_of(block, back);
        if (wait && fits_through(block->ops.data[store], wait) && can_keep(block, i, store)) return i;
    }
    return -1;
}

/* A store that fills whole rows goes through the memory of a tile that was awaited and is
 * of no more use, and is a bulk copy then; the tile is given back behind it. */
static void store_through(Specializer *s, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        int at = op->kind == TILE_STORE && op->n_args == 1 && !op->where && !op->onto ? find_through(s, block, i) : -1;
        if (at < 0) continue;
        TileOp *back = block->ops.data[at];
        TileValue **args = arena_array(s->program->arena, TileValue *, 2);
        args[0] = op->args[0];
        args[1] = wait_of(block, back)->results[0];
        op->args = args;
        op->n_args = 2;
        tile_remove(block, at);
        tile_insert(s->program, block, i, back);
        return; /* one: a thread remembers one that it has still to give back */
    }
}

/* ---- the one that copies ------------------------------------------------------------------ */

static void bring_tile(Specializer *s, const TileOp *wait, TileBlock *to, int instance)
{
    AffCtx *aff = s->program->aff;
    Stream stream = {.load = wait, .ring = wait->args[0]};
    const Aff *w = instance >= 0 ? aff_const(aff, instance) : NULL;
    tile_append(s->program, to, ring_op(s, TILE_ACQUIRE, &stream, w));
    TileOp *copy = tile_op_new(s->program, s->kernel, TILE_COPY_ASYNC, 1, &stream.ring, 0, NULL);
    copy->loc = wait->loc;
    copy->tensor = wait->tensor;
    copy->row_dim = wait->row_dim;
    copy->col_dim = wait->col_dim;
    copy->index = w;
    copy->coords = arena_array(s->program->arena, const Aff *, wait->tensor->rank);
    for (int d = 0; d < wait->tensor->rank; d++)
        copy->coords[d] = w && s->per ? aff_subst(aff, wait->coords[d], s->per, w) : wait->coords[d];
    copy->where = wait->where && w && s->per ? aff_subst(aff, wait->where, s->per, w) : wait->where;
    tile_append(s->program, to, copy);
    tile_append(s->program, to, ring_op(s, TILE_FILLED, &stream, w));
}

/* Whether what is awaited is for the role that prepares, and lanes bring it there. */
static bool is_for_lanes(const TileOp *wait)
{
    return wait->args[0]->def->lanes;
}

/* Whether a region has something for the role that copies, or for the one that prepares. */
static bool has_work(const TileBlock *block, bool preparing)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_AWAIT && (preparing ? op->n_regions || is_for_lanes(op) : !is_for_lanes(op))) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (has_work(op->regions[k], preparing)) return true;
    }
    return false;
}

static bool region_works(const Specializer *s, const TileOp *op)
{
    for (int k = 0; k < op->n_regions; k++)
        if (has_work(op->regions[k], s->preparing)) return true;
    return false;
}

static TileBlock *role_of(Specializer *s, const TileBlock *block, bool in_region);

static void bring_flow(Specializer *s, const TileOp *op, TileBlock *to)
{
    TileOp *flow = tile_op_new(s->program, s->kernel, op->kind, 0, NULL, 0, NULL);
    flow->loc = op->loc;
    flow->var = op->var;
    flow->lo = op->lo;
    flow->hi = op->hi;
    flow->cond = op->cond;
    flow->n_regions = op->n_regions;
    flow->regions = arena_array(s->program->arena, TileBlock *, op->n_regions);
    for (int k = 0; k < op->n_regions; k++) flow->regions[k] = role_of(s, op->regions[k], true);
    tile_append(s->program, to, flow);
}

/* An integer from data, which bounds of loops may be made of: read once more. */
static void bring_scalar(Specializer *s, const TileOp *op, TileBlock *to)
{
    const TileOp *source = op->args[0]->def;
    TileOp *read = tile_op_new(s->program, s->kernel, source->kind, 0, NULL, 1, &source->results[0]->type);
    read->loc = source->loc;
    read->tensor = source->tensor;
    read->coords = source->coords;
    read->row_dim = source->row_dim;
    read->col_dim = source->col_dim;
    read->where = source->where;
    read->number = source->number;
    read->param = source->param;
    tile_append(s->program, to, read);
    TileOp *scalar = tile_op_new(s->program, s->kernel, TILE_SCALAR, 1, read->results, 0, NULL);
    scalar->loc = op->loc;
    scalar->var = op->var;
    tile_append(s->program, to, scalar);
}

/* What tiles are made of that another role prepares: those are the same for all instances. */
static void bring_parts(Specializer *s, const TileBlock *region, TileBlock *to)
{
    for (int i = 0; i < region->ops.len; i++)
        if (region->ops.data[i]->kind == TILE_AWAIT) bring_tile(s, region->ops.data[i], to, -1);
}

/* What is awaited here, as the role brings it that does. */
static void bring_awaited(Specializer *s, const TileOp *wait, TileBlock *to)
{
    if (is_for_lanes(wait) != s->preparing) return;
    if (wait->n_regions) bring_parts(s, wait->regions[0], to);
    else if (wait->tensor && wait->args[0]->def->count > 1)
        for (int w = 0; w < s->groups; w++) bring_tile(s, wait, to, w);
    else if (wait->tensor) bring_tile(s, wait, to, -1);
}

/* And as it is prepared. */
static void prepare_awaited(Specializer *s, const TileOp *wait, TileBlock *to)
{
    for (int i = 0; wait->n_regions && i < wait->regions[0]->ops.len; i++) tile_append(s->program, to, wait->regions[0]->ops.data[i]);
}

/* Of the program of those that compute, what another role does for it. */
static TileBlock *role_of(Specializer *s, const TileBlock *block, bool in_region)
{
    TileBlock *to = tile_block_new(s->program);
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_AWAIT && s->preparing) prepare_awaited(s, op, to);
        if (op->kind == TILE_AWAIT) bring_awaited(s, op, to);
        else if (op->kind == TILE_SCALAR) bring_scalar(s, op, to);
        else if (op->n_regions && op->kind != TILE_REVISE && region_works(s, op)) bring_flow(s, op, to);
    }
    if (in_region) tile_append(s->program, to, tile_op_new(s->program, s->kernel, TILE_YIELD, 0, NULL, 0, NULL));
    return to;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Copies whose addresses the copier keeps: a vector is one box, and takes next to nothing. */
static int count_copies(const Specializer *s)
{
    int n = 0, own = 0;
    for (int i = 0; i < s->streams.len; i++) {
        const TileType *t = &s->streams.data[i].ring->type;
        if (t->rows <= 1 || t->cols <= 1) continue;
        n += s->streams.data[i].once ? 1 : 2;
        own += !s->streams.data[i].once && s->streams.data[i].own;
    }
    return target_copies(n, s->prepares ? 0 : own);
}

static TileRole role(const Specializer *s, const char *name, int regs, const AffSym *per)
{
    bool share = s->groups + s->copies + (s->prepares || s->lanes) > 2;
    return (TileRole){.name = name, .warps = TARGET_GROUP_WARPS, .per = per, .regs = share ? regs : 0};
}

static int registers_to_compute(const Specializer *s)
{
    return target_group_registers(s->target, s->groups, count_copies(s), beside(s));
}

/* Tiles that lie where elements of a table say, which the copier reads. */
static bool looks_up(const Specializer *s)
{
    for (int i = 0; i < s->streams.len; i++) {
        const TileOp *load = s->streams.data[i].load;
        for (int d = 0; load->kind == TILE_LOAD && d < load->tensor->rank; d++)
            if (aff_uses_kind(load->coords[d], AFF_TABLE)) return true;
    }
    return false;
}

/* Beside a single warpgroup that computes, and one that prepares, registers are left, which a copier that looks up places takes. */
static int registers_to_copy(const Specializer *s)
{
    enum { LOOKS_UP = 40 };
    int least = target_copier_registers(s->target, s->groups, count_copies(s));
    return s->groups == 1 && s->prepares && looks_up(s) && least < LOOKS_UP ? LOOKS_UP : least;
}

/* A single warpgroup that computes has all the registers that a thread can have, if it is beside one other only. */
static void set_roles(const Specializer *s, TileOp *roles)
{
    int k = 0;
    roles->roles = arena_array(s->program->arena, TileRole, roles->n_regions);
    if (s->copies) roles->roles[k++] = role(s, "load", registers_to_copy(s), NULL);
    if (s->prepares || s->lanes)
        roles->roles[k++] = role(s, s->prepares ? "prepare" : "bring", registers_to_prepare(s), NULL);
    roles->roles[k] = role(s, "compute", registers_to_compute(s), s->per);
}

static void strip_awaits(TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) strip_awaits(op->regions[k]);
        if (op->kind != TILE_AWAIT) continue;
        op->n_regions = 0;
        op->tensor = NULL;
        op->coords = NULL;
        op->where = NULL;
        op->row_dim = op->col_dim = -1;
    }
}

/* What is in shared memory from the start is there before there are roles; behind the
 * rings, so that one product may reach from a stage to it (ptx/wgmma.c). */
static void lift_constants(TileProgram *program, TileBlock *from, TileBlock *to)
{
    for (int i = 0; i < from->ops.len; i++) {
        if (!tile_is_storage(from->ops.data[i])) continue;
        tile_append(program, to, from->ops.data[i]);
        tile_remove(from, i--);
    }
}

static bool may_go_without_roles(const TileKernel *kernel)
{
    const TileKernel *plain = kernel->plain;
    if (!plain || kernel->schedule.value[SCHED_ROLES] == SCHED_ROLES_ON) return false;
    for (int i = 0; i < SCHED_COUNT; i++) {
        SchedValue asked = kernel->schedule.value[i], way = plain->decided.value[i];
        if (asked != SCHED_AUTO && way != SCHED_AUTO && asked != way) return false;
    }
    return true;
}

/* The kernel as it was before its rows were divided. */
static void go_without_roles(TileKernel *kernel)
{
    *kernel = *kernel->plain;
    kernel->is_plain = false;
    kernel->gave_up_roles = true;
    kernel->decided.value[SCHED_ROLES] = SCHED_ROLES_OFF;
    kernel->because[SCHED_ROLES] = "as many tiles as are held at once do not fit";
}

bool pass_specialize(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    const TileAxis *axis = tile_within(kernel);
    Specializer s = {.program = program, .kernel = kernel, .target = target};
    if (!kernel->specialized) prepare_among_warps(program, kernel);
    if (!kernel->specialized || kernel->facts & TF_STAGED) return true;
    s.per = axis ? axis->sym : NULL;
    s.groups = axis ? tile_instances(kernel, axis->sym) : 1;
    kernel->persistent = kernel->blocks_per_sm = 1; /* the roles divide all registers among themselves */
    order_places(program, kernel, target);
    find_streams(&s, kernel->body, false);
    fit_stages(&s);
    issue_products(program, kernel, diags);
    sink_single(&s, kernel->body);
    await_tiles(&s, kernel->body);
    TileBlock *compute = kernel->body, *whole = tile_block_new(program);
    TileOp *roles = tile_op_new(program, kernel, TILE_ROLES, 0, NULL, 0, NULL);
    roles->regions = arena_array(program->arena, TileBlock *, 3);
    s.copies = has_work(compute, false);
    if (s.copies) roles->regions[roles->n_regions++] = role_of(&s, compute, false);
    s.preparing = true;
    if (s.prepares || s.lanes) fetch_ahead(program, kernel, roles->regions[roles->n_regions++] = role_of(&s, compute, false));
    roles->regions[roles->n_regions++] = compute;
    strip_awaits(compute);
    turns_take(program, kernel, compute, diags);
    narrow_loops(program, kernel, compute);
    halve_last(program, kernel, compute, registers_to_compute(&s), diags);
    keep_held_stages(&s, roles);
    store_through(&s, compute); /* now that it is known which tiles have another stage */
    if (ring_bytes(&s) > target->shared_per_block && may_go_without_roles(kernel)) {
        go_without_roles(kernel);
        prepare_among_warps(program, kernel);
        return true;
    }
    set_roles(&s, roles);
    for (int i = 0; i < s.streams.len; i++) tile_append(program, whole, s.streams.data[i].ring->def);
    lift_constants(program, compute, whole);
    tile_append(program, whole, roles);
    kernel->body = whole;
    kernel->warps = TARGET_GROUP_WARPS * (s.groups + roles->n_regions - 1);
    kernel->facts |= TF_STAGED;
    return true;
}
