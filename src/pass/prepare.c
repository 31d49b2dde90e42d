/* prepare.c: tiles in shared memory that arithmetic makes, as operations that stand by themselves.
 *
 * A second operand of a product that is computed (weights that are widened, keys that are rotated) is put into shared
 * memory. Where it is made of what comes from memory, of places and of constants alone, none of the warps that
 * multiply is needed for it: what makes it becomes the region of one operation, which passes treat as they treat a
 * load, and which a role of its own executes (specialize.c).
 *
 *   %w = load W[…] : shared e4m3<128x64>       %s = prepare : shared bf16<128x64> {
 *   %r = move %w : e4m3<128x64>                  %w = load W[…] : shared e4m3<128x64>
 *   %c = cast %r : bf16<128x64>           ->     %r = move %w : e4m3<128x64>
 *   %s = move %c : shared bf16<128x64>           %c = cast %r : bf16<128x64>
 *   gemm %x, %s.T                                %s.1 = move %c : shared bf16<128x64>
 *                                                yield %s.1
 *                                              }
 *                                              gemm %x, %s.T
 *
 * Tiles that share what they are made of, as both halves of a rotated key, are prepared together.
 */
#include "pass/prepare.h"

#include "pass/copies.h"
#include "pass/stage.h"

#include <limits.h>

bool prepare_brings(const TileOp *op)
{
    return stage_is_load(op) || op->kind == TILE_PREPARE;
}

typedef struct Preparer {
    TileProgram *program;
    TileKernel *kernel;
    TileBlock *block;
    int *group;        /* by the operation's place in the block: of which it is a part, from 1 on; 0: of none */
    VEC(TileOp *) free; /* constants, and what needs nothing but memory: made again for whoever uses them */
    bool ok;
} Preparer;

/* Integers that are read for each element, as words that bits are taken of: one warpgroup waits for memory as long as many do, so
 * that whoever multiplies had better make them. */
static bool is_read_each(const TileOp *op)
{
    return op->kind == TILE_INDEX && op->results[0]->type.rows > 1 && op->results[0]->type.cols > 1 && aff_uses_kind(op->index, AFF_TABLE);
}

/* Of no other value: it may be made wherever it is wanted. */
static bool is_free(const TileOp *op)
{
    bool reads = op->kind == TILE_GATHER || (op->kind == TILE_LOAD && op->results[0]->type.space == SPACE_REGISTER);
    return op->n_args == 0 && (op->kind == TILE_FILL || op->kind == TILE_INDEX || reads) && !tile_is_storage(op);
}

static bool is_part(const TileOp *op)
{
    switch (op->kind) {
    case TILE_LOAD: case TILE_FILL: case TILE_INDEX: case TILE_GATHER: case TILE_ELEMENT: case TILE_MASK: case TILE_CAST: case TILE_MOVE:
        return true;
    case TILE_REDUCE: return op->axis == 1;
    case TILE_STORE: case TILE_RESHAPE: case TILE_SLICE: case TILE_PATCH: case TILE_SCALAR: case TILE_GEMM: case TILE_SOFTMAX:
    case TILE_FOR: case TILE_IF: case TILE_REVISE: case TILE_PREPARE: case TILE_YIELD: case TILE_BUFFER: case TILE_VIEW: case TILE_PUT:
    case TILE_COPY_ASYNC: case TILE_COMMIT: case TILE_WAIT: case TILE_BARRIER: case TILE_ROLES: case TILE_RING: case TILE_ACQUIRE:
    case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE: case TILE_ISSUE: case TILE_FINISH: case TILE_TAKE_TURN: case TILE_GIVE_TURN:
    case TILE_OP_COUNT:
        return false;
    }
    return false;
}

/* ---- what belongs to a tile ------------------------------------------------------------ */

static void join(Preparer *p, int from, int to)
{
    for (int i = 0; i < p->block->ops.len; i++)
        if (p->group[i] == from) p->group[i] = to;
}

static void add_free(Preparer *p, TileOp *op)
{
    for (int i = 0; i < p->free.len; i++)
        if (p->free.data[i] == op) return;
    vec_push(p->program->arena, &p->free, op);
}

static bool is_read_only(const Preparer *p, const TileOp *op)
{
    return !op->tensor || !tile_stores_to(p->kernel->body, op->tensor);
}

/* The block's operation i, and all that it needs, to a group. */
static void take(Preparer *p, int i, int group)
{
    const TileOp *op = p->block->ops.data[i];
    if (p->group[i] == group || !p->ok) return;
    if (p->group[i]) {
        join(p, p->group[i], group);
        return;
    }
    p->ok = is_part(op) && is_read_only(p, op);
    p->group[i] = group;
    for (int k = 0; k < op->n_args && p->ok; k++) {
        TileOp *def = op->args[k]->def;
        int at = def ? tile_index_of(p->block, def) : -1;
        if (def && is_read_each(def)) p->ok = false;
        else if (def && is_free(def) && is_read_only(p, def)) add_free(p, def);
        else if (at >= 0) take(p, at, group);
        else p->ok = false;
    }
}

/* Whether operations outside of its group use the block's i-th. */
static bool is_used_outside(const Preparer *p, int i)
{
    const TileOp *op = p->block->ops.data[i];
    for (int k = 0; k < p->block->ops.len; k++)
        if (p->group[k] != p->group[i] && tile_op_uses(p->block->ops.data[k], op->results[0])) return true;
    return false;
}

static bool is_used_elsewhere(const Preparer *p)
{
    for (int i = 0; i < p->block->ops.len; i++)
        if (p->group[i] && !stage_is_move(p->block->ops.data[i]) && is_used_outside(p, i)) return true;
    return false;
}

/* ---- rows and columns ------------------------------------------------------------------------ */

/* A row or a column that was repeated to a whole tile, by a sum with zeros; NULL: v is none. */
static TileValue *repeated(const TileValue *v)
{
    const TileOp *op = v->def;
    double zero;
    if (!op || op->kind != TILE_ELEMENT || op->op != OP_ADD || op->n_args != 2 || !rw_number(op->args[1], &zero) || zero != 0) return NULL;
    const TileType *one = &op->args[0]->type, *all = &v->type;
    return one->dtype == all->dtype && (one->rows == 1 || one->cols == 1) ? op->args[0] : NULL;
}

static bool has_whole_operand(const TileOp *op, int but)
{
    const TileType *r = &op->results[0]->type;
    for (int k = 0; k < op->n_args; k++)
        if (k != but && op->args[k]->type.rows == r->rows && op->args[k]->type.cols == r->cols) return true;
    return false;
}

/* Arithmetic repeats it by itself where it meets a whole tile. */
static void repeat_in_place(TileBlock *region)
{
    for (int i = 0; i < region->ops.len; i++) {
        TileOp *op = region->ops.data[i];
        for (int k = 0; op->kind == TILE_ELEMENT && k < op->n_args; k++) {
            TileValue *one = repeated(op->args[k]);
            if (one && has_whole_operand(op, k)) op->args[k] = one;
        }
    }
    rw_remove_dead(region);
}

/* ---- the operation ------------------------------------------------------------------------ */

static TileOp *prepare(Preparer *p, int group)
{
    TileProgram *program = p->program;
    TileBlock *region = tile_block_new(program);
    Copier again = copier_new(program, p->kernel, NULL, NULL);
    VEC(TileValue *) tiles = {0}, made = {0};
    VEC(TileType) types = {0};
    Span loc = {0, 0};
    TileBlock constants = {.ops = {.data = p->free.data, .len = p->free.len, .cap = p->free.len}};
    copy_ops(&again, &constants, 0, p->free.len, region);
    for (int i = 0; i < p->block->ops.len; i++) {
        const TileOp *op = p->block->ops.data[i];
        if (p->group[i] != group) continue;
        copy_ops(&again, p->block, i, i + 1, region);
        if (!stage_is_move(op)) continue;
        vec_push(program->arena, &tiles, op->results[0]);
        vec_push(program->arena, &made, copied(&again, op->results[0]));
        vec_push(program->arena, &types, op->results[0]->type);
        if (tiles.len == 1) loc = op->loc;
    }
    rw_yield_all(program, p->kernel, region, made.data, made.len);
    repeat_in_place(region);
    TileOp *op = tile_op_new(program, p->kernel, TILE_PREPARE, 0, NULL, tiles.len, types.data);
    op->loc = loc;
    op->n_regions = 1;
    op->regions = arena_array(program->arena, TileBlock *, 1);
    op->regions[0] = region;
    rw_give(p->kernel->body, &(TileOp){.results = tiles.data, .n_results = tiles.len}, op->results);
    for (int i = 0; i < tiles.len; i++) op->results[i]->name = tiles.data[i]->name;
    return op;
}

/* Where the first of its tiles was put. */
static void prepare_group(Preparer *p, int group, TileOp **at)
{
    for (int i = 0; i < p->block->ops.len; i++) {
        if (p->group[i] != group || !stage_is_move(p->block->ops.data[i])) continue;
        at[i] = prepare(p, group);
        return;
    }
}

static void rebuild(Preparer *p, TileOp **prepared)
{
    int n = 0;
    for (int i = 0; i < p->block->ops.len; i++) {
        TileOp *op = prepared[i] ? prepared[i] : p->group[i] ? NULL : p->block->ops.data[i];
        if (op) p->block->ops.data[n++] = op;
    }
    p->block->ops.len = n;
}

static bool prepare_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    int n = block->ops.len, groups = 0;
    Preparer p = {program, kernel, block, arena_array(program->arena, int, n), {0}, true};
    for (int i = 0; i < n; i++)
        if (stage_is_move(block->ops.data[i])) take(&p, i, ++groups);
    p.ok &= !is_used_elsewhere(&p);
    TileOp **prepared = arena_array(program->arena, TileOp *, n);
    for (int g = 1; g <= groups && p.ok; g++) prepare_group(&p, g, prepared);
    if (p.ok && groups) rebuild(&p, prepared);
    for (int i = 0; i < block->ops.len && p.ok; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; op->kind != TILE_PREPARE && k < op->n_regions; k++) p.ok &= prepare_block(program, kernel, op->regions[k]);
    }
    return p.ok;
}

bool prepare_tiles(TileProgram *program, TileKernel *kernel)
{
    bool ok = prepare_block(program, kernel, kernel->body);
    rw_remove_dead(kernel->body);
    return ok;
}

/* ---- elements that lie as a tile does ------------------------------------------------------ */

/* Whether a coordinate is this place of an element and something that is the same for all; *first: that. */
static bool counts(TileProgram *program, const Aff *coord, const AffSym *place, const AffSym *other, const Aff **first)
{
    const Aff *factor;
    int64_t one;
    return aff_linear(program->aff, coord, place, &factor, first) && aff_is_const(factor, &one) && one == 1 && !aff_uses(*first, place)
           && !aff_uses(*first, other);
}

/* Elements of neighbouring rows and columns are a tile, which a bulk copy brings, unless an integer from data says where. */
static bool lies_as_tile(TileProgram *program, const TileOp *gather, const Aff **coords, int *row_dim)
{
    const AffSym *row = program->row, *col = program->col;
    const TileType *t = &gather->results[0]->type;
    int last = gather->tensor->rank - 1;
    *row_dim = -1;
    if (gather->n_args || t->rows < 2 || t->cols < 2) return false;
    for (int d = 0; d < last; d++) {
        coords[d] = gather->coords[d];
        if (aff_uses(coords[d], col) || aff_uses_kind(coords[d], AFF_SCALAR)) return false;
        if (!aff_uses(coords[d], row)) continue;
        if (*row_dim >= 0 || !counts(program, gather->coords[d], row, col, &coords[d])) return false;
        *row_dim = d;
    }
    return *row_dim >= 0 && counts(program, gather->coords[last], col, row, &coords[last]);
}

/* A tile that is brought already for other elements of the region, which are the same; NULL: none. */
static TileValue *brought_before(const TileBlock *region, int end, const TileOp *gather, const Aff *const *coords)
{
    for (int i = 0; i < end; i++) {
        const TileOp *op = region->ops.data[i];
        bool same = op->kind == TILE_LOAD && op->tensor == gather->tensor && !op->where && op->results[0]->type.rows == gather->results[0]->type.rows
                    && op->results[0]->type.cols == gather->results[0]->type.cols;
        for (int d = 0; same && d < gather->tensor->rank; d++) same = op->coords[d] == coords[d];
        if (same && stage_is_load(op)) return op->results[0];
    }
    return NULL;
}

static TileValue *bring(Rewriter *rw, const TileOp *gather, const Aff **coords, int row_dim)
{
    TileType type = gather->results[0]->type;
    type.space = SPACE_SHARED;
    TileOp *load = rw_insert(rw, TILE_LOAD, 0, NULL, 1, &type);
    load->tensor = gather->tensor;
    load->coords = coords;
    load->row_dim = row_dim;
    load->col_dim = gather->tensor->rank - 1;
    load->results[0]->name = gather->results[0]->name;
    return load->results[0];
}

static void bring_gathered(TileProgram *program, TileKernel *kernel, TileBlock *region)
{
    for (int i = 0; i < region->ops.len; i++) {
        TileOp *op = region->ops.data[i];
        if (op->kind != TILE_GATHER) continue;
        const Aff **coords = arena_array(program->arena, const Aff *, op->tensor->rank);
        int row_dim;
        if (!lies_as_tile(program, op, coords, &row_dim)) continue;
        Rewriter rw = {program, kernel, region, i, op->loc};
        TileValue *tile = brought_before(region, i, op, coords);
        if (!tile) tile = bring(&rw, op, coords, row_dim);
        op->kind = TILE_MOVE;
        op->tensor = NULL;
        op->coords = NULL;
        op->args = arena_array(program->arena, TileValue *, 1);
        op->args[0] = tile;
        op->n_args = 1;
        i = rw.at;
    }
}

static bool is_same_read(const TileOp *a, const TileOp *b)
{
    bool same = a->kind == b->kind && a->n_args == b->n_args && a->tensor == b->tensor && a->where == b->where && tile_type_equal(a->results[0]->type, b->results[0]->type);
    for (int k = 0; same && k < a->n_args; k++) same = a->args[k] == b->args[k];
    for (int d = 0; same && a->tensor && d < a->tensor->rank; d++) same = a->coords[d] == b->coords[d];
    return same;
}

/* What several places of a formula name is read once: registers are few. */
static void read_once(TileBlock *region)
{
    for (int i = 0; i < region->ops.len; i++) {
        const TileOp *op = region->ops.data[i];
        bool reads = op->kind == TILE_MOVE && op->args[0]->type.space == SPACE_SHARED;
        if (!reads && op->kind != TILE_GATHER) continue;
        for (int k = i + 1; k < region->ops.len; k++) {
            const TileOp *again = region->ops.data[k];
            if (!is_same_read(op, again)) continue;
            tile_replace_uses(region, again->results[0], op->results[0]);
            tile_remove(region, k--);
        }
    }
}

static void bring_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) bring_block(program, kernel, op->regions[r]);
        if (op->kind != TILE_PREPARE) continue;
        bring_gathered(program, kernel, op->regions[0]);
        read_once(op->regions[0]);
    }
}

void prepare_in_bulk(TileProgram *program, TileKernel *kernel)
{
    bring_block(program, kernel, kernel->body);
}

/* ---- by the warps that multiply ---------------------------------------------------------------- */

int prepare_at_once(const TileBlock *region)
{
    int bytes = 4;
    for (int i = 0; i < region->ops.len; i++) {
        const TileOp *op = region->ops.data[i];
        if (op->kind != TILE_MOVE || op->results[0]->type.rows == 1 || op->results[0]->type.cols == 1) continue;
        if (dtype_bytes(op->results[0]->type.dtype) < bytes) bytes = dtype_bytes(op->results[0]->type.dtype);
    }
    return TILE_CHUNK / bytes;
}

/* The tile in shared memory that an operation reads or puts there; NULL: none with rows and columns. */
static const TileType *moved_tile(const TileOp *op)
{
    if (op->kind != TILE_MOVE) return NULL;
    const TileType *t = stage_is_move(op) ? &op->results[0]->type : &op->args[0]->type;
    return t->rows > 1 && t->cols > 1 ? t : NULL;
}

bool prepare_in_steps(const TileBlock *region, int k)
{
    int bytes = 1;
    for (int i = 0; i < region->ops.len; i++) {
        const TileType *t = moved_tile(region->ops.data[i]);
        if (t && dtype_bytes(t->dtype) > bytes) bytes = dtype_bytes(t->dtype);
    }
    return k * bytes > TILE_CHUNK;
}

int prepare_meet(const TileBlock *region, Layout layout)
{
    int most = 1;
    for (int i = 0; i < region->ops.len; i++) {
        const TileType *t = moved_tile(region->ops.data[i]);
        int meet = t ? lay_rows_meet(layout, t->rows, t->cols, dtype_bytes(t->dtype)) : 0;
        most = meet > most ? meet : most;
    }
    return most;
}

/* With k columns a lane: the warps have the tile's rows among them, up to `most` of them columns, and as few lanes as that takes are
 * beside each other, or those of which fewer meet in banks. */
static void share_among(const TileKernel *kernel, const TileOp *op, int k, int most, Layout *best, int *least)
{
    enum { LANES = 32 };
    const TileType *t = &op->results[0]->type;
    for (int beside = 1; beside <= most; beside++)
        for (int lanes = 1; lanes <= LANES && *least > 1; lanes *= 2) {
            Layout layout = {.kind = LAY_ROWS, .warps_m = kernel->warps / beside, .warps_n = beside, .k = k, .lanes = lanes};
            if (kernel->warps % beside || lay_fragment_misfit(layout, t->rows, t->cols)) continue;
            int meet = prepare_meet(op->regions[0], layout);
            if (meet < *least) *best = layout;
            *least = meet < *least ? meet : *least;
        }
}

/* How all warps share a tile; none: they cannot. What is reduced along rows is one warp's. */
static Layout rows_among(const TileKernel *kernel, const TileOp *op)
{
    const TileBlock *region = op->regions[0];
    int k = prepare_at_once(region), least = INT_MAX;
    bool reduced = tile_has(region, TILE_REDUCE);
    Layout layout = {.kind = LAY_NONE};
    if (kernel->warps_n > 1) return layout;
    share_among(kernel, op, k, reduced ? 1 : kernel->warps, &layout, &least);
    if (reduced && prepare_in_steps(region, k)) share_among(kernel, op, k / 2, 1, &layout, &least);
    return layout;
}

static void give_layout(const TileBlock *region, Layout layout)
{
    for (int i = 0; i < region->ops.len; i++) {
        const TileOp *op = region->ops.data[i];
        for (int k = 0; k < op->n_results; k++)
            if (op->results[k]->type.space == SPACE_REGISTER) op->results[k]->type.layout = layout;
    }
}

static void among_warps(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) among_warps(program, kernel, op->regions[k]);
        if (op->kind != TILE_PREPARE) continue;
        give_layout(op->regions[0], rows_among(kernel, op));
        rw_inline(program, kernel->body, block, i);
    }
}

void prepare_among_warps(TileProgram *program, TileKernel *kernel)
{
    among_warps(program, kernel, kernel->body);
}
