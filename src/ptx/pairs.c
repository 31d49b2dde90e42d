/* pairs.c: fragments to and from shared memory.
 *
 * A fragment's values come in pairs of neighbouring columns (lay.h), which one access
 * moves: 2, 4, 8 or 16 bytes. Integers become fp32 on their way, as those do that are
 * loaded from global memory.
 */
#include "ptx/emit.h"
#include "ptx/global.h"
#include "ptx/integer.h"
#include "ptx/stretch.h"

/* Where the lane's pair of columns is, moved right by so many; bytes: of an element. */
static LanePlace pair_place(Emitter *e, const TileValue *v, int bytes, int cols)
{
    AffCtx *aff = e->program->aff;
    const char *col = ix_value(e, aff_of(aff, ix_lane_col(e, v->type.layout, v->type.cols)));
    const char *row = v->type.rows > 1 ? ix_value(e, aff_of(aff, ix_lane_row(e, v->type.layout, v->type.rows))) : "0";
    const char *byte = em_new(e, REG_R), *chunk = em_new(e, REG_R), *reg = em_new(e, REG_R);
    em_at(e, 0, "mov.b32 %s, %s;", reg, row);
    em_at(e, 0, "shl.b32 %s, %s, %d;", byte, col, bytes == 8 ? 3 : bytes / 2);
    if (cols) em_at(e, 0, "add.s32 %s, %s, %d;", byte, byte, cols * bytes);
    em_at(e, 0, "shr.u32 %s, %s, 4;", chunk, byte);
    em_at(e, 0, "and.b32 %s, %s, 15;", byte, byte);
    return (LanePlace){.row = reg, .chunk = chunk, .byte = byte};
}

enum { ATOM = 8 }; /* columns, of which a lane has one pair */

/* The pairs of a fragment in a shared tile. Where the warps' shares of the
 * columns cut through panels, or through chunks, an atom's place does not follow from the first
 * one's (shared.c), so each atom has its own. */
typedef struct Pairs {
    const TileValue *v;
    const SharedTile *tile;
    int bytes;             /* of an element: 1, 2, 4 or 8 */
    LanePlace first, *own; /* own: by atom of columns; NULL: not needed */
} Pairs;

static Pairs pairs_new(Emitter *e, const TileValue *v, const SharedTile *tile)
{
    int bytes = dtype_bytes(tile->type->dtype);
    Pairs p = {v, tile, bytes, pair_place(e, v, bytes, 0), NULL};
    int cols = v->type.cols / v->type.layout.warps_n, share = cols * bytes, panel = tile->type->layout.panel;
    bool cut = v->type.layout.warps_n > 1 && ((share % panel && panel % share) || (share % 16 && cols > ATOM));
    if (cut) p.own = arena_array(e->arena, LanePlace, cols / ATOM + 1);
    return p;
}

static const char *pair_address(Emitter *e, Pairs *p, int i)
{
    int row, col;
    fr_place(p->v, i, &row, &col);
    int chunk = col * p->bytes / 16, byte = col * p->bytes % 16;
    if (!p->own) return sh_address_in(e, p->tile, &p->first, row, chunk, byte);
    LanePlace *place = &p->own[col / ATOM];
    if (!place->row) *place = pair_place(e, p->v, p->bytes, col / ATOM * ATOM);
    return sh_address_in(e, p->tile, place, row, 0, col % ATOM * p->bytes);
}

static bool pairs_in_shared(Emitter *e, const TileOp *op, const TileValue *reg, const TileType *shared)
{
    bool known = dtype_is_narrow(shared->dtype) || shared->dtype == DT_F32 || in_is(shared->dtype);
    if (known && shared->cols > 1 && reg->type.cols > 1) return true;
    em_fail(e, op->loc, TW0803, "moving a %d x %d tile of %s between registers and shared memory is not supported yet",
            reg->type.rows, reg->type.cols, dtype_name(shared->dtype));
    return false;
}

static void put_integers(Emitter *e, const TileValue *v, Pairs *pairs, DType t)
{
    for (int i = 0; i < e->frags[v->id].n; i += 2) {
        const char *low = in_from_f32(e, t, fr_operand(e, v, i)), *high = in_from_f32(e, t, fr_operand(e, v, i + 1));
        in_store_pair(e, t, pair_address(e, pairs, i), low, high);
    }
}

void pr_put(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->args[0];
    SharedTile tile = sh_put(e, op);
    if (st_in_shared(v, &tile)) {
        st_put(e, op, &tile);
        return;
    }
    if (!pairs_in_shared(e, op, v, tile.type)) return;
    Pairs pairs = pairs_new(e, v, &tile);
    if (in_is(tile.type->dtype)) {
        put_integers(e, v, &pairs, tile.type->dtype);
        return;
    }
    for (int i = 0; pairs.bytes == 4 && i < e->frags[v->id].n; i += 2) {
        const char *high = fr_operand(e, v, i + 1), *low = fr_operand(e, v, i);
        em(e, "st.shared.v2.f32 %s, {%s, %s};", pair_address(e, &pairs, i), low, high);
    }
    for (int i = 0; pairs.bytes == 1 && i < e->frags[v->id].n; i += 2) {
        const char *pair = em_new(e, REG_H);
        const char *low = fr_operand(e, v, i), *high = fr_operand(e, v, i + 1);
        f8_pair(e, tile.type->dtype, pair, high, low);
        em(e, "st.shared.b16 %s, %s;", pair_address(e, &pairs, i), pair);
    }
    if (pairs.bytes != 2) return;
    const int *packed = fr_packed(e, v, tile.type->dtype);
    for (int i = 0; i < e->frags[v->id].n; i += 2)
        em(e, "st.shared.b32 %s, %%r%d;", pair_address(e, &pairs, i), packed[i / 2]);
}

static void move_integers(Emitter *e, const TileValue *v, Pairs *pairs, DType t)
{
    fr_new_f32(e, v);
    for (int i = 0; i < e->frags[v->id].n; i += 2) {
        const char *address = pair_address(e, pairs, i);
        in_load_pair(e, t, address, e->frags[v->id].f[i], e->frags[v->id].f[i + 1]);
    }
}

void pr_move(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    SharedTile tile;
    Frag *frag = fr_new(e, v);
    if (!sh_view(e, op->args[0], &tile)) {
        if (op->args[0]->type.space == SPACE_REGISTER) fr_alias(e, v, op->args[0]);
        else em_fail(e, op->loc, TW0803, "a move from shared memory needs a view");
        return;
    }
    if (st_in_shared(v, &tile)) {
        st_move(e, op, &tile);
        return;
    }
    if (!pairs_in_shared(e, op, v, tile.type)) return;
    Pairs pairs = pairs_new(e, v, &tile);
    if (in_is(tile.type->dtype)) {
        move_integers(e, v, &pairs, tile.type->dtype);
        return;
    }
    if (pairs.bytes == 4) {
        fr_new_f32(e, v);
        for (int i = 0; i < frag->n; i += 2)
            em(e, "ld.shared.v2.f32 {%%f%d, %%f%d}, %s;", frag->f[i], frag->f[i + 1], pair_address(e, &pairs, i));
        return;
    }
    if (pairs.bytes == 1) {
        fr_new_f32(e, v);
        for (int i = 0; i < frag->n; i += 2) {
            const char *pair = em_new(e, REG_H);
            em(e, "ld.shared.b16 %s, %s;", pair, pair_address(e, &pairs, i));
            f8_unpair(e, v->type.dtype, pair, frag->f[i], frag->f[i + 1]);
        }
        return;
    }
    frag->packed = arena_array(e->arena, int, frag->n / 2);
    for (int i = 0; i < frag->n; i += 2) {
        frag->packed[i / 2] = em_reg(e, REG_R);
        em(e, "ld.shared.b32 %%r%d, %s;", frag->packed[i / 2], pair_address(e, &pairs, i));
    }
}
