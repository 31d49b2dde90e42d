/* plan.c: what is decided before a kernel is written: which values are part of the one
 * expression that uses them, when each is used last, which copies run ahead, where tiles
 * stand in shared memory.
 */
#include "cute/emit.h"
#include "pass/stage.h"

enum { BARRIER_BYTES = 8, TILE_ALIGNMENT = 1024 }; /* where the widest swizzle repeats: 8 rows of 128 bytes */

bool cu_fail(Cute *c, DiagCode code, const TileOp *op, const char *fmt, ...)
{
    va_list args;
    if (c->failed) return false;
    c->failed = true;
    va_start(args, fmt);
    diag_add(c->diags, code, op ? op->loc : c->kernel->loc, "%s", arena_vprintf(c->arena, fmt, args));
    va_end(args);
    return false;
}

/* ---- what can be translated ---------------------------------------------------------- */

static bool is_group_reduction(const TileOp *op)
{
    const TileType *r = &op->results[0]->type, *a = &op->args[0]->type;
    return op->axis == 1 ? r->cols > 1 && a->cols > 1 : r->rows > 1 && a->rows > 1;
}

/* Operands are of one type of 16 bits, or of 8 bits, of either type each, where the tensor cores take them. */
static void check_operands(Cute *c, const TileOp *op)
{
    DType a = op->args[0]->type.dtype, b = op->args[1]->type.dtype;
    int bytes = dtype_bytes(a);
    if (bytes != dtype_bytes(b) || bytes > 2 || (bytes == 2 && a != b))
        cu_fail(c, TW0430, op, "products are translated of operands of one type of 16 bits, or of 8 bits, not of %s and %s",
                dtype_name(a), dtype_name(b));
    if (bytes != dtype_bytes(c->place.dtype) || (bytes == 2 && a != c->place.dtype))
        cu_fail(c, TW0790, op, "a kernel multiplies %s or %s, not both", dtype_name(c->place.dtype), dtype_name(a));
}

static void check_gemm(Cute *c, const TileOp *op)
{
    const TileValue *a = op->args[0], *b = op->args[1];
    int k = op->trans_a ? a->type.rows : a->type.cols, step = c->place.quads ? 32 : 16;
    check_operands(c, op);
    if (a->type.space == SPACE_REGISTER && op->trans_a)
        cu_fail(c, TW0773, op, "an operand in registers cannot be transposed");
    if (a->type.space == SPACE_REGISTER && c->place.warps_n > 1)
        cu_fail(c, TW0775, op, "an operand in registers needs whole rows in a warp, but warps_n = %d", c->place.warps_n);
    if (b->type.space == SPACE_REGISTER) cu_fail(c, TW0773, op, "the second operand of a product is in registers");
    if (k % step != 0) cu_fail(c, TW0433, op, "%d columns of an operand are no multiple of %d", k, step);
}

static void check_part(Cute *c, const TileOp *op)
{
    const CuPlace *p = cu_place_of(c, op->results[0]);
    const TileType *part = op->kind == TILE_SLICE ? &op->results[0]->type : &op->args[1]->type;
    if (op->args[0]->type.space == SPACE_SHARED) {
        cu_fail(c, TW0790, op, "a part of a tile in shared memory is not translated");
        return;
    }
    if (op->row0 % p->unit_m != 0 || op->col0 % p->unit_n != 0 || part->rows < 2 || part->cols < 2)
        cu_fail(c, TW0790, op, "a part of a tile must begin at a multiple of %d x %d, where the spread over threads repeats",
                p->unit_m, p->unit_n);
}

static void check_shared(Cute *c, const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    if (t->cols * dtype_bytes(t->dtype) % TILE_CHUNK != 0)
        cu_fail(c, TW0776, op, "a row of %d elements of %s in shared memory is no multiple of %d bytes", t->cols,
                dtype_name(t->dtype), TILE_CHUNK);
}

static bool is_int(int64_t lo, int64_t hi)
{
    return lo >= INT32_MIN && hi <= INT32_MAX;
}

static bool fits_int(const Aff *a);

/* A comparison has terms that are subtracted on its right (src/affine/print.c): each side is to be held. */
typedef struct Sides {
    int64_t lo[2], hi[2];
} Sides;

static bool add_terms(Sides *sides, const Aff *sum)
{
    int64_t lo, hi, factor = 1;
    if (sum->kind == AFF_ADD) return add_terms(sides, sum->a) && add_terms(sides, sum->b);
    aff_bounds(sum, &lo, &hi);
    bool right = sum->kind == AFF_CONST ? sum->value < 0 : sum->kind == AFF_MUL && aff_is_const(sum->b, &factor) && factor < 0;
    if (lo == INT64_MIN || hi == INT64_MAX || !fits_int(factor == -1 ? sum->a : sum)) return false;
    sides->lo[right] += right ? -hi : lo;
    sides->hi[right] += right ? -lo : hi;
    return is_int(sides->lo[right], sides->hi[right]);
}

static bool compares_ints(const Aff *a)
{
    Sides sides = {{0}, {0}};
    return (a->kind == AFF_LE || a->kind == AFF_EQ) && add_terms(&sides, a->a);
}

/* Whether C's int holds it and all that it is made of; of a power of two that it is divided by the exponent counts. */
static bool fits_int(const Aff *a)
{
    int64_t lo, hi;
    if (compares_ints(a)) return true;
    bool shifts = (a->kind == AFF_DIV || a->kind == AFF_MOD) && a->b->kind == AFF_EXP2;
    if (shifts) aff_bounds(a->b->a, &lo, &hi);
    if (shifts && hi > 31) return false;
    aff_bounds(a, &lo, &hi);
    bool fits = is_int(lo, hi);
    if (a->kind == AFF_AT) return fits;
    return (fits || !aff_uses_kind(a, AFF_TABLE)) && (!a->a || fits_int(a->a)) && (!a->b || fits_int(shifts ? a->b->a : a->b));
}

static void check_index(Cute *c, const TileOp *op)
{
    if (aff_uses_kind(op->index, AFF_TABLE) && !fits_int(op->index))
        cu_fail(c, TW0790, op, "integers of more than 32 bits are not translated");
}

static void check_op(Cute *c, const TileOp *op)
{
    switch (op->kind) {
    case TILE_GEMM: check_gemm(c, op); break;
    case TILE_SLICE: case TILE_PATCH: check_part(c, op); break;
    case TILE_LOAD: case TILE_MOVE:
        if (op->results[0]->type.space == SPACE_SHARED) check_shared(c, op);
        break;
    case TILE_REDUCE:
        if (is_group_reduction(op)) cu_fail(c, TW0790, op, "a reduction in parts is not translated");
        if (op->args[0]->type.space == SPACE_SHARED) cu_fail(c, TW0790, op, "a reduction of a tile in shared memory is not translated");
        c->parts |= op->axis == 1 ? cu_place_of(c, op->args[0])->warps_n > 1 : cu_place_of(c, op->args[0])->warps_m > 1;
        break;
    case TILE_INDEX: check_index(c, op); break;
    case TILE_FILL: case TILE_GATHER: case TILE_ELEMENT: case TILE_MASK: case TILE_RESHAPE:
    case TILE_SCALAR: case TILE_FOR: case TILE_IF: case TILE_YIELD: case TILE_STORE: case TILE_CAST:
        break;
    case TILE_SOFTMAX: case TILE_REVISE: case TILE_PREPARE: case TILE_BUFFER: case TILE_VIEW: case TILE_PUT: case TILE_COPY_ASYNC:
    case TILE_COMMIT: case TILE_WAIT: case TILE_BARRIER: case TILE_ROLES: case TILE_RING: case TILE_ACQUIRE:
    case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE: case TILE_ISSUE: case TILE_FINISH: case TILE_TAKE_TURN:
    case TILE_GIVE_TURN: case TILE_OP_COUNT:
        cu_fail(c, TW0754, op, "'%s' is not of the level that is translated", tile_op_text(op->kind));
        break;
    }
}

/* ---- uses -------------------------------------------------------------------------------- */

static void note_block(Cute *c, const TileBlock *block)
{
    for (int i = 0; i < block->params.len; i++)
        c->values[block->params.data[i]->id] = (CuValue){.home = block, .last = -1};
    for (int i = 0; i < block->ops.len && !c->failed; i++) {
        const TileOp *op = block->ops.data[i];
        check_op(c, op);
        for (int k = 0; k < op->n_args; k++) c->values[op->args[k]->id].uses++;
        for (int k = 0; k < op->n_results; k++)
            c->values[op->results[k]->id] = (CuValue){.home = block, .last = -1, .def = op};
        for (int r = 0; r < op->n_regions; r++) note_block(c, op->regions[r]);
    }
}

static bool same_extent(const TileValue *a, const TileValue *b)
{
    return a->type.rows == b->type.rows && a->type.cols == b->type.cols;
}

/* Whether op can have a value of that many elements within its expression. */
static bool takes_inline(const TileOp *op, const TileValue *v)
{
    return cu_is_expression(op) && (same_extent(op->results[0], v) || v->def->kind == TILE_FILL);
}

/* Every use of v in the block is by operations that take it inline. */
static bool all_take(const TileBlock *block, const TileValue *v)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            if (op->args[k] == v && !takes_inline(op, v)) return false;
        for (int r = 0; r < op->n_regions; r++)
            if (!all_take(op->regions[r], v)) return false;
    }
    return true;
}

static bool used_here(const TileBlock *block, const TileValue *v)
{
    for (int i = 0; i < block->ops.len; i++)
        for (int k = 0; k < block->ops.data[i]->n_args; k++)
            if (block->ops.data[i]->args[k] == v) return true;
    return false;
}

static bool can_inline(Cute *c, const TileBlock *block, const TileOp *op)
{
    const TileValue *v = op->results[0];
    if (op->kind == TILE_FILL) return all_take(block, v);
    if (!cu_is_expression(op) || c->values[v->id].uses != 1 || v->type.dtype != DT_F32) return false;
    return used_here(block, v) && all_take(block, v);
}

static void choose_inlined(Cute *c, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->n_results == 1 && op->n_regions == 0) c->values[op->results[0]->id].inlined = can_inline(c, block, op);
        for (int r = 0; r < op->n_regions; r++) choose_inlined(c, op->regions[r]);
    }
}

static void use_at(Cute *c, const TileBlock *block, const TileOp *op, int at)
{
    for (int k = 0; k < op->n_args; k++) {
        CuValue *v = &c->values[op->args[k]->id];
        if (v->home == block && v->last < at) v->last = at;
        if (v->inlined) use_at(c, block, v->def, at);
    }
    for (int r = 0; r < op->n_regions; r++)
        for (int i = 0; i < op->regions[r]->ops.len; i++) use_at(c, block, op->regions[r]->ops.data[i], at);
}

static void find_last_uses(Cute *c, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (!(op->n_results == 1 && c->values[op->results[0]->id].inlined)) use_at(c, block, op, i);
        for (int r = 0; r < op->n_regions; r++) find_last_uses(c, op->regions[r]);
    }
}

/* ---- copies -------------------------------------------------------------------------------- */

static bool runs_ahead(const TileOp *op)
{
    return stage_is_load(op) && stage_can_run_ahead(op) && !(op->where && aff_uses_kind(op->where, AFF_SCALAR));
}

/* With one stage: loads take turns, if there is a moment between them (stage_turn). */
static bool split_turns(Cute *c, const TileBlock *body, CuLoop *loop)
{
    TileValue **tiles = arena_array(c->arena, TileValue *, body->ops.len);
    bool *early = arena_array(c->arena, bool, body->ops.len);
    int n = 0;
    for (int i = 0; i < body->ops.len; i++)
        if (runs_ahead(body->ops.data[i])) tiles[n++] = body->ops.data[i]->results[0];
    int turn = stage_turn(c->arena, body, tiles, n, early);
    if (turn >= 0) loop->turn = body->ops.data[turn];
    for (int i = 0; i < n; i++) c->values[tiles[i]->id].copies = turn < 0 ? CU_NOW : early[i] ? CU_EARLY : CU_LATE;
    return turn >= 0;
}

/* The header's panels are as wide as rows allow, of elements of 4 bytes as well (tw::Shared). */
static void in_panels(const TileOp *op, AbiMap *map)
{
    enum { WIDEST = 128 };
    const TileType *t = &op->results[0]->type;
    int size = dtype_bytes(t->dtype), panel = WIDEST;
    while (t->cols * size % panel != 0) panel /= 2;
    map->box[op->col_dim] = panel / size;
    map->swizzle = panel > TILE_CHUNK ? panel : 0;
}

/* Whether a load goes by boxes of a tensor map. What is outside of a condition would not be left out. */
bool cu_map(const Cute *c, const TileOp *op, AbiMap *map)
{
    const TileType *t = &op->results[0]->type;
    bool can = c->target->has_tma && op->kind == TILE_LOAD && !op->where && tile_in_chunks(op) && op->row_dim >= 0 &&
               op->tensor->rank >= 2 && t->rows % 8 == 0 &&
               abi_map_make(op->tensor, op->row_dim, op->col_dim, t, false, map);
    if (can) in_panels(op, map);
    return can;
}

static void plan_loop(Cute *c, const TileOp *op, bool top)
{
    const TileBlock *body = op->regions[0];
    /* where copies are not asynchronous nothing is gained by more stages than one */
    CuLoop loop = {.loop = op, .stages = c->kernel->stages > 1 && c->target->has_cp_async ? c->kernel->stages : 1};
    int copied = 0;
    for (int i = 0; i < body->ops.len; i++) {
        if (!runs_ahead(body->ops.data[i])) continue;
        CuValue *v = &c->values[body->ops.data[i]->results[0]->id];
        copied++;
        v->copies = CU_RING;
        v->stages = loop.stages;
        v->boxes = loop.stages > 1 && cu_map(c, body->ops.data[i], &(AbiMap){0});
        loop.boxes += v->boxes;
    }
    loop.freely = top && copied > 0 && loop.boxes == copied;
    if (copied && (loop.stages > 1 || split_turns(c, body, &loop))) vec_push(c->arena, &c->loops, loop);
}

static int64_t shared_bytes(const TileType *t)
{
    return (int64_t)(t->rows + 7) / 8 * 8 * t->cols * dtype_bytes(t->dtype);
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static void plan_shared(Cute *c, const TileBlock *block, bool top)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        CuValue *v = op->n_results ? &c->values[op->results[0]->id] : NULL;
        if (op->kind == TILE_FOR) plan_loop(c, op, top);
        if (v && op->results[0]->type.space == SPACE_SHARED && (op->kind == TILE_LOAD || op->kind == TILE_MOVE)) {
            if (!v->stages) v->stages = 1;
            if (top) v->copies = CU_ONCE, v->boxes = cu_map(c, op, &(AbiMap){0});
            v->offset = round_up(c->shared_bytes, TILE_ALIGNMENT);
            c->shared_bytes = v->offset + v->stages * shared_bytes(&op->results[0]->type);
        }
        for (int r = 0; r < op->n_regions; r++) plan_shared(c, op->regions[r], false);
    }
}

/* Behind the tiles: a barrier for each tile that is copied once, and for each stage of a ring; a second
 * one where warps say when they are done with it. */
static void plan_barriers(Cute *c, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        CuValue *v = op->kind == TILE_LOAD ? &c->values[op->results[0]->id] : NULL;
        CuLoop *l = op->kind == TILE_FOR ? cu_loop(c, op) : NULL;
        int64_t at = round_up(c->shared_bytes, BARRIER_BYTES);
        if (v && v->boxes && v->copies == CU_ONCE) v->barrier_at = at, c->shared_bytes = at + BARRIER_BYTES;
        if (l && l->boxes) l->barrier_at = at, c->shared_bytes = at + (l->freely ? 2 : 1) * l->stages * BARRIER_BYTES;
        for (int r = 0; r < op->n_regions; r++) plan_barriers(c, op->regions[r]);
    }
}

CuLoop *cu_loop(Cute *c, const TileOp *loop)
{
    for (int i = 0; i < c->loops.len; i++)
        if (c->loops.data[i].loop == loop) return &c->loops.data[i];
    return NULL;
}

bool cu_plan(Cute *c)
{
    c->values = arena_array(c->arena, CuValue, c->kernel->next_value);
    c->syms = arena_array(c->arena, const char *, aff_sym_count(c->program->aff));
    cu_place(c);
    if (!c->failed) note_block(c, c->kernel->body);
    if (c->failed) return false;
    choose_inlined(c, c->kernel->body);
    find_last_uses(c, c->kernel->body);
    plan_shared(c, c->kernel->body, true);
    plan_barriers(c, c->kernel->body);
    if (c->parts) {
        c->parts_at = round_up(c->shared_bytes, TILE_CHUNK);
        c->shared_bytes = c->parts_at + (int64_t)c->kernel->warps * 32 * (int64_t)sizeof(float);
    }
    if (c->shared_bytes > c->target->shared_per_block)
        cu_fail(c, TW0771, NULL, "its tiles take %lld bytes of shared memory in CuTe, but a block of %s has %d", (long long)c->shared_bytes,
                c->target->name, c->target->shared_per_block);
    return !c->failed;
}
