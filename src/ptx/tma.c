/* tma.c: tiles of global tensors into rings and out of them, by the tensor memory accelerator.
 *
 * PTX ISA, cp.async.bulk.tensor: coordinates stand innermost first; elements
 * outside of the tensor arrive as 0 and count as bytes like all others. One
 * instruction brings one box (tile/box.c): a panel (lay.h) of the tile or, where
 * that has more rows than a box may have, or its rows lie in strips, some rows of one; of a
 * vector a stretch. A box that a condition leaves out is one from before the tensor.
 */
#include "ptx/roles.h"

void tm_prefetch(Emitter *e)
{
    for (int i = 0; i < e->abi->maps.len; i++) {
        const char *map = em_new(e, REG_RD);
        em(e, "mov.b64 %s, %s;", map, kn_param(e, ABI_MAP, 0, i));
        em(e, "prefetch.param.tensormap [%s];", map);
    }
}

/* The coordinates of boxes that have their first row in common; of those that the condition leaves out, before
 * the tensor. */
typedef struct RowPlace {
    const TileOp *op;
    const char *at[TENSOR_MAX_RANK]; /* along the columns, of the first box */
} RowPlace;

/* So many elements behind another. */
static const char *coordinate(Emitter *e, const Aff *at, int further)
{
    if (!e->zero || at->kind == AFF_CONST) return ix_value(e, aff_offset(e->program->aff, at, further));
    const char *here = em_new(e, REG_R), *there = em_new(e, REG_R);
    em(e, "add.s32 %s, %s, %s;", here, ix_value(e, at), e->zero);
    if (further) em(e, "add.s32 %s, %s, %d;", there, here, further);
    return further ? there : here;
}

static RowPlace place_of_row(Emitter *e, const TileOp *op, const Aff *row)
{
    RowPlace place = {.op = op};
    for (int d = op->tensor->rank - 1; d >= 0; d--) place.at[d] = coordinate(e, tile_row_coord(e->program, op, d, row), 0);
    const Aff *kept = op->where ? aff_subst(e->program->aff, op->where, e->program->row, row) : NULL;
    if (!kept || aff_always(e->program->aff, kept)) return place;
    int first = op->col_dim == 0;
    const char *chosen = em_new(e, REG_R);
    em(e, "selp.b32 %s, %s, %d, %s;", chosen, place.at[first], -TILE_BOX_MOST, ix_condition_here(e, kept));
    place.at[first] = chosen;
    return place;
}

static const char *coordinates(Emitter *e, const RowPlace *place, int column)
{
    const TileOp *op = place->op;
    Str list = str_new(e->arena);
    for (int d = op->tensor->rank - 1; d >= 0; d--) {
        const char *at = d == op->col_dim ? coordinate(e, op->coords[d], column) : place->at[d];
        str_printf(&list, "%s%s", list.len ? ", " : "", at);
    }
    return str_text(&list);
}

/* Unless it is a constant, changes with the turn and was not there, or is noted already. */
static void note_coordinate(Emitter *e, const Aff *at, const AffSym *turn, Coordinates *c)
{
    Affs *to = at->kind != AFF_CONST && aff_uses(at, turn) ? &c->once : &c->kept;
    bool there = at->kind == AFF_CONST;
    for (int i = 0; i < c->kept.len; i++) there |= c->kept.data[i] == at;
    if (there) return;
    for (int i = 0; i < c->before; i++)
        if (c->once.data[i] == at) to = &c->kept;
    vec_push(e->arena, to, at);
}

void tm_note_coordinates(Emitter *e, const TileOp *op, const AffSym *turn, Coordinates *c)
{
    const TileType *t = &op->args[0]->type;
    int map = abi_map_of(e->abi, e->program, op);
    if (map < 0 || tile_by_rows(op)) return; /* looked up as they are wanted */
    c->before = c->once.len;
    for (int d = 0; d < op->tensor->rank; d++) {
        int end = d == op->col_dim ? t->cols : d == op->row_dim ? t->rows : 1;
        for (int at = 0; at < end; at += e->abi->maps.data[map].box[d])
            note_coordinate(e, aff_offset(e->program->aff, op->coords[d], at), turn, c);
    }
}

const char **tm_maps_here(Emitter *e)
{
    const char **maps = arena_array(e->arena, const char *, e->abi->maps.len + 1);
    for (int i = 0; e->maps && i < e->abi->maps.len; i++) maps[i] = e->maps[i];
    return maps;
}

/* The map's address, made once in a role. */
static const char *map_address(Emitter *e, int map)
{
    if (!e->maps) e->maps = arena_array(e->arena, const char *, e->abi->maps.len);
    if (e->maps[map]) return e->maps[map];
    const char *param = em_new(e, REG_RD);
    e->maps[map] = em_new(e, REG_RD);
    em_at(e, 0, "mov.b64 %s, %s;", param, kn_param(e, ABI_MAP, 0, map));
    em_at(e, 0, "cvta.param.u64 %s, %s;", e->maps[map], param);
    return e->maps[map];
}

static void copy_box(Emitter *e, const TileOp *op, const char *to, int64_t offset, int map, const char *at, const char *barrier)
{
    em(e, "cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes [%s+%lld], [%s, {%s}], [%s];",
       op->tensor->rank, to, (long long)offset, map_address(e, map), at, barrier);
}

/* PTX ISA, "stmatrix": lanes 8i to 8i + 7 hold the addresses of matrix i's rows. The four
 * are those of two atoms of an accumulator side by side: rows 0 to 7 and 8 to 15 of each. */
static void put_tile(Emitter *e, const TileOp *op, const SharedTile *tile)
{
    const TileValue *v = op->args[0];
    const int *w = fr_packed(e, v, v->type.dtype);
    const char *row = em_new(e, REG_R), *chunk = em_new(e, REG_R);
    em(e, "and.b32 %s, %s, 15;", row, e->lane);
    em(e, "mad.lo.s32 %s, %s, 16, %s;", row, e->warp, row);
    em(e, "shr.u32 %s, %s, 4;", chunk, e->lane);
    LanePlace place = {.row = row, .chunk = chunk, .level = em_level(e)};
    for (int k = 0; k < v->type.cols / 16; k++)
        em(e, "stmatrix.sync.aligned.m8n8.x4.shared.b16 %s, {%%r%d, %%r%d, %%r%d, %%r%d};", sh_address(e, tile, &place, 0, 2 * k), w[4 * k],
           w[4 * k + 1], w[4 * k + 2], w[4 * k + 3]);
}

/* Numbers of the instances' own barriers begin here; below are those of turns. */
enum { STORE_BARRIER = 8 };

/* All warps of the instance: none reads the tile any more, or all have written it. */
static void meet(Emitter *e)
{
    AffCtx *aff = e->program->aff;
    const Aff *number = e->role->per ? aff_offset(aff, aff_of(aff, e->role->per), STORE_BARRIER) : aff_const(aff, STORE_BARRIER);
    em(e, "bar.sync %s, %d;", ix_value(e, number), TARGET_GROUP_WARPS * 32);
}

void tm_store(Emitter *e, const TileOp *op)
{
    const TileType *t = &op->args[1]->type;
    SharedTile tile;
    int map = abi_map_of(e->abi, e->program, op);
    if (map < 0 || !sh_view(e, op->args[1], &tile)) {
        em_fail(e, op->loc, TW0803, "a store that no tensor map describes");
        return;
    }
    meet(e);
    put_tile(e, op, &tile);
    em(e, "fence.proxy.async.shared::cta;");
    meet(e);
    const char *first = em_new(e, REG_P), *base = sh_base(e, &tile);
    em(e, "setp.eq.s32 %s, %s, 0;", first, e->tid);
    const int *box = e->abi->maps.data[map].box;
    int rows = op->row_dim < 0 ? 1 : box[op->row_dim], columns = box[op->col_dim];
    for (int column = 0; column < t->cols; column += columns)
        for (int row = 0; row < t->rows; row += rows) {
            int64_t byte = tile.offset + lay_shared_byte(t->layout, t->rows, dtype_bytes(t->dtype), 0, column) + (int64_t)row * t->layout.panel;
            RowPlace place = place_of_row(e, op, aff_const(e->program->aff, row));
            const char *at = coordinates(e, &place, column), *address = map_address(e, map);
            em(e, "@%s cp.async.bulk.tensor.%dd.global.shared::cta.bulk_group [%s, {%s}], [%s+%lld];", first, op->tensor->rank, address,
               at, base, (long long)byte);
        }
    em(e, "@%s cp.async.bulk.commit_group;", first);
    e->stored = true;
}

/* The boxes of a tile. */
typedef struct Boxes {
    const TileOp *op;
    const TileType *type;
    int map, rows, columns;   /* of a box */
    const char *base;         /* of the stage, to which an offset is added */
    int64_t offset;
    const char *barrier;
} Boxes;

/* n boxes one below another, the first of which holds this row. */
static void copy_below(Emitter *e, const Boxes *b, const Aff *row, const char *base, int n)
{
    const TileType *t = b->type;
    for (int i = 0; i < n; i++) {
        RowPlace place = place_of_row(e, b->op, aff_offset(e->program->aff, row, i * b->rows));
        for (int column = 0; column < t->cols; column += b->columns) {
            int64_t byte = lay_shared_byte(t->layout, t->rows, dtype_bytes(t->dtype), 0, column) + (int64_t)i * b->rows * t->layout.panel;
            copy_box(e, b->op, base, b->offset + byte, b->map, coordinates(e, &place, column), b->barrier);
        }
    }
}

/* Boxes whose places are looked up one by one: a few at a time, since who copies has few registers. */
static void copy_in_turns(Emitter *e, const Boxes *b, int boxes, int each)
{
    AffCtx *aff = e->program->aff;
    int label = em_label(e), turns = boxes / each, rows = each * b->rows;
    const char *turn = em_new(e, REG_R), *base = em_new(e, REG_R), *more = em_new(e, REG_P);
    em(e, "mov.b32 %s, 0;", turn);
    em(e, "mov.b32 %s, %s;", base, b->base);
    em_open(e);
    em(e, ".pragma \"nounroll\";\n$boxes%d:", label);
    const AffSym *sym = ix_symbol(e, "turn", turn, em_level(e), turns - 1);
    copy_below(e, b, aff_scale(aff, aff_of(aff, sym), rows), base, each);
    em(e, "add.s32 %s, %s, %d;", base, base, rows * b->type->layout.panel);
    em(e, "add.s32 %s, %s, 1;", turn, turn);
    em(e, "setp.lt.s32 %s, %s, %d;", more, turn, turns);
    em(e, "@%s bra.uni $boxes%d;", more, label);
    em_close(e);
}

void tm_copy(Emitter *e, const TileOp *op)
{
    enum { TOGETHER = 2 };
    const TileType *t = &op->args[0]->type;
    const char *barrier = NULL;
    SharedTile tile = sh_stage(op->args[0], rg_acquired(e, op, &barrier));
    int map = abi_map_of(e->abi, e->program, op), each = TOGETHER;
    TileStrip strip;
    if (map < 0 || e->failed || !tile_strips(e->program, op, t->rows, &strip)) {
        em_fail(e, op->loc, TW0803, "a copy that no tensor map describes");
        return;
    }
    const int *box = e->abi->maps.data[map].box;
    Boxes b = {.op = op, .type = t, .map = map, .rows = strip.dim < 0 ? 1 : box[strip.dim], .columns = box[op->col_dim],
               .base = sh_base(e, &tile), .offset = tile.offset, .barrier = barrier};
    int boxes = t->rows / b.rows;
    if (e->zero) co_take_anew(e);
    while (boxes % each != 0) each--;
    if (tile_by_rows(op) && boxes > TOGETHER) copy_in_turns(e, &b, boxes, each);
    else copy_below(e, &b, aff_const(e->program->aff, 0), b.base, boxes);
}
