/* slabs.c: what prepares tiles, slab by slab.
 *
 * A warpgroup that prepares a tile has few registers: those that multiply need them. So it takes a part of it after
 * the other, all of them written out:
 *
 *   %w = load W[…] : shared e4m3<128x64>          %w = load W[…] : shared e4m3<128x64>
 *   %r = move %w : e4m3<128x64>                   acquire %s
 *   %c = cast %r : bf16<128x64>             ->    %w.1 = slice %w at 0, 0 : shared e4m3<64x64>
 *   %s = move %c : shared bf16<128x64>            %r = move %w.1 : e4m3<64x64>
 *                                                 %w.2 = slice %w at 64, 0 : shared e4m3<64x64>
 *                                                 %r.1 = move %w.2 : e4m3<64x64>
 *                                                 %c = cast %r : bf16<64x64>
 *                                                 put %c, %s at 0, 0
 *                                                 %c.1 = cast %r.1 : bf16<64x64>
 *                                                 put %c.1, %s at 64, 0
 *                                                 filled %s
 *
 * Columns of numbers from memory, as scales, are fetched for all slabs before the first tile is awaited; rows of them,
 * where a lane has many, with the slabs.
 */
#include "pass/slabs.h"

#include "pass/prepare.h"
#include "pass/stage.h"
#include "target/target.h"

#include <limits.h>

typedef struct Slabs {
    TileProgram *program;
    TileKernel *kernel;
    const TileOp *prepare;
    TileValue *const *rings;
    TileBlock *to;
    int registers;           /* of a thread */
    int rows, cols;          /* of a slab, */
    Layout layout;           /* and how its warps share it; none: as `assign` has it */
    int row0, col0;          /* of the one at hand */
    TileValue **values;      /* by id: what stands for it in this slab, */
    TileValue *const *left, *const *above; /* and in the slabs before it; NULL: there is none */
} Slabs;

static bool is_matrix(const TileType *t)
{
    return t->rows > 1 && t->cols > 1;
}

/* ---- how large? ---------------------------------------------------------------------------- */

/* Words a lane holds at once for an element of the tile. */
static double peak_words(const TileBlock *region)
{
    double most = 0;
    for (int i = 0; i < region->ops.len; i++) {
        double live = 0;
        for (int k = 0; k <= i; k++) {
            const TileOp *op = region->ops.data[k];
            if (op->n_results != 1 || op->results[0]->type.space != SPACE_REGISTER || !is_matrix(&op->results[0]->type)) continue;
            if (op->kind == TILE_FILL || (k < i && !tile_used_in(region, i, region->ops.len, op->results[0]))) continue;
            live += dtype_bytes(op->results[0]->type.dtype) == 2 ? 0.5 : 1;
        }
        if (live > most) most = live;
    }
    return most;
}

enum {
    WORDS = 48,     /* of a slab a lane, */
    READ_MOST = 24, /* of which so many are of tiles as they were brought, since those of the next slab stand beside them; */
    ROW_MOST = 24,  /* elements of a row, of all slabs, that a lane may hold */
    LANES = 32
};

/* The type of a row or a column of numbers that comes from memory; NULL: it is none. */
static const TileType *numbers_read(const TileOp *op)
{
    const TileType *t = op->n_results == 1 ? &op->results[0]->type : NULL;
    if ((op->kind != TILE_GATHER && op->kind != TILE_LOAD) || op->n_args || t->space != SPACE_REGISTER) return NULL;
    return is_matrix(t) ? NULL : t;
}

/* Rows of numbers that a lane holds over all slabs: for each element of the tile as many words. */
static int rows_held(const TileBlock *region)
{
    int rows = 0;
    for (int i = 0; i < region->ops.len; i++) {
        const TileType *t = numbers_read(region->ops.data[i]);
        rows += t && t->cols > 1;
    }
    return rows;
}

/* Words beside, for each element of the tile: of long rows that are read with the slabs, and of values that have met one column
 * of numbers and wait for another. */
static double words_beside(const TileBlock *region, int beside)
{
    int rows = 0, columns = 0;
    for (int i = 0; i < region->ops.len; i++) {
        const TileType *t = numbers_read(region->ops.data[i]);
        if (!t) continue;
        rows += t->rows == 1 && t->cols / beside > ROW_MOST;
        columns += t->rows > 1 && t->cols == 1;
    }
    return rows + (columns > 1);
}

/* Words a lane of a slab that are read for it alone, of tiles as they were brought. */
static int words_of_tiles(const Slabs *s)
{
    const TileBlock *region = s->prepare->regions[0];
    int words = 0;
    for (int i = 0; i < region->ops.len; i++) {
        const TileOp *op = region->ops.data[i];
        if (op->kind != TILE_MOVE || stage_is_move(op) || !is_matrix(&op->results[0]->type)) continue;
        words += s->rows * s->cols * dtype_bytes(op->results[0]->type.dtype) / ((int)sizeof(uint32_t) * TARGET_GROUP_WARPS * LANES);
    }
    return words;
}

/* Goes on to the next smaller part of the tile's columns, of stretches of k beside each other. */
static bool narrow(Slabs *s, int stretches)
{
    int all = s->prepare->results[0]->type.cols, cols = s->cols - 1;
    while (cols >= stretches && (all % cols || cols % stretches)) cols--;
    if (cols < stretches) return false;
    s->cols = cols;
    return true;
}

/* A lane has rows of its own, so that those that lie below each other in a panel, which its swizzle keeps apart, are
 * accessed together. */
static void share_rows(Slabs *s, int k, double each)
{
    const TileType *tile = &s->prepare->results[0]->type;
    int beside = tile->rows % (TARGET_GROUP_WARPS * LANES) ? 2 : 1;
    s->rows = TARGET_GROUP_WARPS * LANES / beside;
    while (s->cols % (2 * k * beside) == 0 && s->cols / beside * each > WORDS) s->cols /= 2;
    each += words_beside(s->prepare->regions[0], beside);
    while ((s->cols / beside * each > 2 * WORDS || words_of_tiles(s) > READ_MOST) && narrow(s, k * beside)) {}
    if (s->cols % (k * beside) == 0) s->layout = (Layout){.kind = LAY_ROWS, .warps_m = TARGET_GROUP_WARPS / beside, .warps_n = beside, .k = k, .lanes = 1};
}

/* As many lanes beside each other as a row has stretches of k for, at most. */
static Layout lanes_of_row(const Slabs *s, int k, int most)
{
    while (most > 1 && s->cols % (k * most)) most /= 2;
    return (Layout){.kind = s->cols % (k * most) ? LAY_NONE : LAY_ROWS, .warps_m = TARGET_GROUP_WARPS, .warps_n = 1, .k = k, .lanes = most};
}

/* Of lanes that have too much of a row each, more: with shorter stretches, those that meet least in banks; or, where none have
 * registers for their part, those that have the least, of stretches as short as a pair. */
static Layout more_lanes(const Slabs *s, Layout layout, double each)
{
    enum { SHORT = 4, PAIR = 2 };
    Layout best = layout;
    int least = INT_MAX;
    double fewest = s->cols * each / layout.lanes;
    for (int k = layout.k / 2, most = 2 * layout.lanes; k >= (fewest > WORDS ? PAIR : SHORT) && most <= LANES; k /= 2, most *= 2) {
        Layout more = lanes_of_row(s, k, most);
        double words = more.kind == LAY_NONE ? fewest : s->cols * each / more.lanes;
        int meet = more.kind == LAY_NONE ? INT_MAX : prepare_meet(s->prepare->regions[0], more);
        if (words > WORDS ? words >= fewest : meet >= least) continue;
        best = more;
        fewest = words;
        least = words > WORDS ? INT_MAX : meet;
    }
    return best;
}

/* What is reduced is there as a whole: lanes beside each other have a panel's row, of bytes in halves of chunks where else those of
 * a wider tile would meet in banks. */
static void share_panels(Slabs *s, int k, double each)
{
    enum { MOST = 8, LEAST_ROWS = 8 }; /* where a slice of a shared tile begins (src/layout) */
    const TileType *tile = &s->prepare->results[0]->type;
    const TileBlock *region = s->prepare->regions[0];
    Layout layout = lanes_of_row(s, k, MOST), halves = lanes_of_row(s, k / 2, 2 * MOST);
    if (layout.kind == LAY_NONE) return;
    if (prepare_in_steps(region, k) && prepare_meet(region, halves) < prepare_meet(region, layout)) layout = halves;
    int rows = rows_held(region), more = rows > 1 ? rows - 1 : 0; /* there is room for one */
    if (s->cols * (each + more) / layout.lanes > WORDS) layout = more_lanes(s, layout, each + more);
    int together = TARGET_GROUP_WARPS * LANES / layout.lanes; /* rows that are accessed */
    if (together < LEAST_ROWS) together = LEAST_ROWS;
    int beside = more * s->cols / layout.lanes;
    for (s->rows = tile->rows; s->rows % (2 * together) == 0 && (double)s->rows * s->cols / (TARGET_GROUP_WARPS * LANES) * each > WORDS - beside;) s->rows /= 2;
    s->layout = layout;
}

static void choose_size(Slabs *s)
{
    const TileBlock *region = s->prepare->regions[0];
    int k = prepare_at_once(region);
    double each = peak_words(region);
    s->rows = TARGET_GROUP_ROWS; /* as accumulators lie, if nothing else fits */
    s->cols = s->prepare->results[0]->type.cols;
    if (tile_has(region, TILE_REDUCE)) share_panels(s, k, each);
    else share_rows(s, k, each);
}

/* ---- where it is ------------------------------------------------------------------------------ */

static TileType part_of(const Slabs *s, TileType t)
{
    if (t.rows > 1) t.rows = s->rows;
    if (t.cols > 1) t.cols = s->cols;
    if (t.space == SPACE_REGISTER) t.layout = s->layout;
    return t;
}

/* Where the slab begins in a tile: a row or a column lies along one side only. */
static int first_row(const Slabs *s, const TileType *t)
{
    return t->rows > 1 ? s->row0 : 0;
}

static int first_col(const Slabs *s, const TileType *t)
{
    return t->cols > 1 ? s->col0 : 0;
}

static const Aff *moved(const Slabs *s, const Aff *a, const TileType *t)
{
    AffCtx *aff = s->program->aff;
    int row0 = first_row(s, t), col0 = first_col(s, t);
    if (!a) return NULL;
    if (row0) a = aff_subst(aff, a, s->program->row, aff_offset(aff, aff_of(aff, s->program->row), row0));
    return col0 ? aff_subst(aff, a, s->program->col, aff_offset(aff, aff_of(aff, s->program->col), col0)) : a;
}

/* ---- what a slab's columns have in common --------------------------------------------------- */

/* A coordinate of this slab, without the column if it is the same in all of them; NULL: it is not. */
static const Aff *same_in_all(const Slabs *s, const Aff *coord, const TileType *t)
{
    AffCtx *aff = s->program->aff;
    const Aff *any = aff_subst(aff, moved(s, coord, t), s->program->col, aff_of(aff, aff_sym_new(aff, "col", AFF_COL, 0, s->cols - 1)));
    return aff_uses_kind(any, AFF_COL) ? NULL : any;
}

/* Whether arithmetic alone reads it, beside a whole tile. */
static bool is_factor(const Slabs *s, const TileValue *v)
{
    Uses uses = rw_uses(s->program->arena, s->prepare->regions[0], v);
    for (int i = 0; i < uses.len; i++) {
        bool beside = false;
        for (int k = 0; k < uses.data[i]->n_args; k++) {
            const TileValue *other = uses.data[i]->args[k];
            beside |= other != v && is_matrix(&other->type) && other->def->kind != TILE_GATHER && other->def->kind != TILE_FILL;
        }
        if (uses.data[i]->kind != TILE_ELEMENT || !beside) return false;
    }
    return true;
}

/* Elements that are read at computed places, the same along each row of this slab, as the scales of groups of columns. */
static bool is_column(const Slabs *s, const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    if (op->kind != TILE_GATHER || op->n_args || !is_matrix(t) || !is_factor(s, op->results[0])) return false;
    for (int d = 0; d < op->tensor->rank; d++)
        if (!same_in_all(s, op->coords[d], t)) return false;
    return true;
}

static void narrow_coords(const Slabs *s, TileOp *op, const TileType *t)
{
    const Aff **coords = arena_array(s->program->arena, const Aff *, op->tensor->rank);
    for (int d = 0; d < op->tensor->rank; d++) coords[d] = same_in_all(s, op->coords[d], t);
    op->coords = coords;
}

/* ---- an operation, for one slab ------------------------------------------------------------- */

static void move_coords(const Slabs *s, TileOp *op)
{
    AffCtx *aff = s->program->aff;
    const TileType *t = &op->results[0]->type;
    const Aff **coords = arena_array(s->program->arena, const Aff *, op->tensor->rank);
    for (int d = 0; d < op->tensor->rank; d++) {
        coords[d] = op->kind == TILE_GATHER || tile_by_rows(op) ? moved(s, op->coords[d], t) : op->coords[d];
        if (op->kind == TILE_LOAD && d == op->row_dim) coords[d] = aff_offset(aff, coords[d], first_row(s, t));
        if (op->kind == TILE_LOAD && d == op->col_dim) coords[d] = aff_offset(aff, coords[d], first_col(s, t));
    }
    op->coords = coords;
}

static TileValue *slice(Slabs *s, TileValue *shared, Span loc)
{
    TileType type = part_of(s, shared->type);
    TileOp *op = tile_op_new(s->program, s->kernel, TILE_SLICE, 1, &shared, 1, &type);
    op->row0 = first_row(s, &shared->type);
    op->col0 = first_col(s, &shared->type);
    op->loc = loc;
    op->results[0]->name = shared->name;
    tile_append(s->program, s->to, op);
    return op->results[0];
}

static void put(Slabs *s, const TileOp *move, TileValue *ring)
{
    TileValue *args[] = {s->values[move->args[0]->id], ring};
    TileOp *op = tile_op_new(s->program, s->kernel, TILE_PUT, 2, args, 0, NULL);
    op->row0 = s->row0;
    op->col0 = s->col0;
    op->loc = move->loc;
    tile_append(s->program, s->to, op);
}

static void do_part(Slabs *s, const TileOp *from)
{
    TileValue **args = arena_array(s->program->arena, TileValue *, from->n_args);
    for (int k = 0; k < from->n_args; k++) {
        TileValue *v = from->args[k];
        args[k] = v->type.space == SPACE_SHARED ? slice(s, v, from->loc) : s->values[v->id];
    }
    TileType type = part_of(s, from->results[0]->type);
    bool column = is_column(s, from);
    if (column) type.cols = 1;
    TileOp *made = tile_op_new(s->program, s->kernel, from->kind, from->n_args, args, 1, &type);
    TileOp *op = arena_new_of(s->program->arena, TileOp);
    *op = *from;
    op->args = made->args;
    op->results = made->results;
    op->results[0]->def = op;
    op->results[0]->name = from->results[0]->name;
    if (column) narrow_coords(s, op, &from->results[0]->type);
    else if (op->tensor) move_coords(s, op);
    op->where = moved(s, op->where, &from->results[0]->type);
    if (op->kind == TILE_MASK) op->cond = moved(s, op->cond, &from->results[0]->type);
    if (op->kind == TILE_INDEX) op->index = moved(s, op->index, &from->results[0]->type);
    tile_append(s->program, s->to, op);
    s->values[from->results[0]->id] = op->results[0];
}

/* ---- all slabs ---------------------------------------------------------------------------------- */

static int ring_of(const Slabs *s, const TileOp *move)
{
    const TileBlock *region = s->prepare->regions[0];
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    for (int k = 0; k < yield->n_args; k++)
        if (yield->args[k] == move->results[0]) return k;
    return -1;
}

/* What comes from memory and is not a whole tile: it is there for all slabs before the first. */
static bool is_fetched(const Slabs *s, const TileOp *op)
{
    bool reads = op->kind == TILE_GATHER || op->kind == TILE_LOAD;
    return reads && op->n_args == 0 && op->results[0]->type.space == SPACE_REGISTER && (!is_matrix(&op->results[0]->type) || is_column(s, op));
}

/* Whether it is a row of which a lane has too much for all slabs at once. */
static bool is_long_row(const Slabs *s, const TileOp *op)
{
    const Layout *l = &s->layout;
    if (!is_fetched(s, op) || op->results[0]->type.cols == 1 || is_column(s, op)) return false;
    return l->kind == LAY_ROWS && op->results[0]->type.cols / (l->warps_n * l->lanes) > ROW_MOST;
}

static void each_ring(Slabs *s, TileOpKind kind)
{
    for (int k = 0; k < s->prepare->n_results; k++) {
        TileValue *ring = s->rings[k];
        TileOp *op = tile_op_new(s->program, s->kernel, kind, 1, &ring, 0, NULL);
        op->loc = s->prepare->loc;
        tile_append(s->program, s->to, op);
    }
}

/* Words a lane of long rows, which are read for a slab alone. */
static int words_of_rows(const Slabs *s)
{
    const TileBlock *region = s->prepare->regions[0];
    int words = 0;
    for (int i = 0; i < region->ops.len; i++)
        if (is_long_row(s, region->ops.data[i])) words += s->cols / (s->layout.warps_n * s->layout.lanes);
    return words;
}

/* Of a slab, most at once, with rows that are held for all slabs, and with the slab behind it, of which ptxas widens bytes early. */
static double words_with_next(const Slabs *s)
{
    const TileBlock *region = s->prepare->regions[0];
    double values = (double)s->rows * s->cols / (TARGET_GROUP_WARPS * LANES), words = peak_words(region) * values;
    if (s->layout.kind == LAY_ROWS) words += rows_held(region) * s->cols / (s->layout.warps_n * s->layout.lanes);
    return words + (prepare_at_once(region) == TILE_CHUNK ? values : words_of_tiles(s));
}

/* Slabs that are read before one is computed with: where tensor cores read as well, shared memory takes long to answer. */
static int slabs_ahead(const Slabs *s)
{
    enum { AHEAD = 16, AHEAD_WITH_ROWS = 32 }; /* words a lane */
    const TileBlock *region = s->prepare->regions[0];
    bool few = tile_has(region, TILE_REDUCE) && rows_held(region) > 1; /* registers are left */
    int words = words_of_tiles(s), rows = words_of_rows(s), slabs = words > 0 && !few ? AHEAD / words : 1;
    if (rows > 0 && 2 * (words + rows) > AHEAD_WITH_ROWS) return 0;
    if (tile_has(region, TILE_REDUCE) && words_with_next(s) > s->registers) return 0;
    return slabs > 1 ? slabs - 1 : 1;
}

/* Out of memory: ahead of what the slabs before put into the shared one, since ptxas moves no load over that. */
static void move_slab(Slabs *s)
{
    const TileBlock *region = s->prepare->regions[0];
    for (int i = 0; i < region->ops.len; i++) {
        const TileOp *op = region->ops.data[i];
        if ((op->kind == TILE_MOVE && !stage_is_move(op)) || is_long_row(s, op)) do_part(s, op);
    }
}

static void do_slab(Slabs *s)
{
    const TileBlock *region = s->prepare->regions[0];
    for (int i = 0; i < region->ops.len; i++) {
        const TileOp *op = region->ops.data[i];
        if (stage_is_load(op) || op->kind == TILE_YIELD || is_fetched(s, op)) continue;
        if (stage_is_move(op)) put(s, op, s->rings[ring_of(s, op)]);
        else if (op->kind != TILE_MOVE) do_part(s, op);
    }
}

/* Goes to a slab, which has values of its own. */
static void go_to(Slabs *s, TileValue ***values, int at)
{
    int across = s->prepare->results[0]->type.cols / s->cols;
    s->row0 = at / across * s->rows;
    s->col0 = at % across * s->cols;
    s->left = s->col0 ? values[at - 1] : NULL;
    s->above = s->row0 ? values[at - across] : NULL;
    s->values = values[at];
}

/* Whether a column of this slab was read for another. */
static bool is_same(const Slabs *s, const TileOp *op, const TileOp *read)
{
    for (int d = 0; d < op->tensor->rank; d++)
        if (same_in_all(s, op->coords[d], &op->results[0]->type) != read->coords[d]) return false;
    return true;
}

static void fetch(Slabs *s)
{
    const TileBlock *region = s->prepare->regions[0];
    for (int i = 0; i < region->ops.len; i++) {
        const TileOp *op = region->ops.data[i];
        if (!is_fetched(s, op) || is_long_row(s, op)) continue;
        const TileValue *v = op->results[0];
        if (s->left && is_column(s, op) && is_same(s, op, s->left[v->id]->def)) {
            s->values[v->id] = s->left[v->id];
            continue;
        }
        TileValue *const *same = v->type.cols == 1 && s->left ? s->left : v->type.rows == 1 && s->above ? s->above : NULL;
        if (same) s->values[v->id] = same[v->id];
        else do_part(s, op);
    }
}

/* What a mask makes of columns ptxas keeps for as long as slabs with these follow. */
static bool masks_columns(const Slabs *s)
{
    const TileBlock *region = s->prepare->regions[0];
    bool masks = false;
    for (int i = 0; i < region->ops.len; i++) masks |= region->ops.data[i]->kind == TILE_MASK && aff_uses(region->ops.data[i]->cond, s->program->col);
    return masks;
}

/* Which slab is the i-th to be made: row after row, or column after column. */
static int in_turn(const Slabs *s, int i)
{
    const TileType *tile = &s->prepare->results[0]->type;
    int across = tile->cols / s->cols, down = tile->rows / s->rows;
    return masks_columns(s) ? i % down * across + i / down : i;
}

TileBlock *slabs_of(TileProgram *program, TileKernel *kernel, const TileOp *prepare, TileValue *const *rings, int registers)
{
    Slabs s = {.program = program, .kernel = kernel, .prepare = prepare, .rings = rings, .to = tile_block_new(program), .registers = registers};
    const TileType *tile = &prepare->results[0]->type;
    const TileBlock *region = prepare->regions[0];
    choose_size(&s);
    int slabs = tile->rows / s.rows * (tile->cols / s.cols), n = kernel->next_value;
    TileValue ***values = arena_array(program->arena, TileValue **, slabs);
    for (int i = 0; i < slabs; i++) values[i] = arena_array(program->arena, TileValue *, n);
    for (int i = 0; i < slabs; i++) {
        go_to(&s, values, i);
        fetch(&s);
    }
    for (int i = 0; i < region->ops.len; i++)
        if (stage_is_load(region->ops.data[i])) tile_append(program, s.to, region->ops.data[i]);
    each_ring(&s, TILE_ACQUIRE);
    for (int i = 0, moved = 0, ahead = slabs_ahead(&s); i < slabs; i++) {
        for (; moved < slabs && moved <= i + ahead; moved++) {
            go_to(&s, values, in_turn(&s, moved));
            move_slab(&s);
        }
        go_to(&s, values, in_turn(&s, i));
        do_slab(&s);
    }
    each_ring(&s, TILE_FILLED);
    return s.to;
}
