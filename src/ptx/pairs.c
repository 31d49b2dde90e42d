/* pairs.c: fragments to and from shared memory.
 *
 * A fragment's values come in pairs of neighbouring columns (lay.h), which one access
 * moves: 2, 4, 8 or 16 bytes. Integers become fp32 on their way, as those do that are
 * loaded from global memory.
 *
 * Of fours (lay.h, quads) a lane has two pairs beside each other. If all lanes moved their first pairs
 * at once, only every other one of the banks would be in use:
 *
 *   16 bits   a row's four lanes have words 0 and 2 of two chunks, and the swizzle lets the next row use the same two
 *   32 bits   its last two lanes have the chunks of the next panel, in the banks of the first two's
 *
 * So half of the lanes move their second pairs first: `turned` ones.
 */
#include "ptx/emit.h"
#include "ptx/global.h"
#include "ptx/integer.h"
#include "ptx/stretch.h"

/* Where the lane's pair of columns is, moved right by so many; bytes: of an element; other: a register with what the
 * byte in its chunk is XORed with, or NULL. */
static LanePlace pair_place(Emitter *e, const TileValue *v, int bytes, int cols, const char *other)
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
    if (other) em_at(e, 0, "xor.b32 %s, %s, %s;", byte, byte, other);
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
    const char *turned;    /* predicate: this lane moves the second of two pairs first; NULL: none does */
    const char *other[2];  /* registers: what that makes of the bytes of first and of second pairs */
    int apart;             /* values from a pair of four columns to its other */
    int unit;              /* columns that are beside each other in a chunk */
    LanePlace first[2], *own[2]; /* of first and of second accesses; own: by unit of columns; NULL: not needed */
} Pairs;

/* Which bit of a lane's number says whether it is turned; 0: none is. */
static int turned_bit(const TileValue *v, const SharedTile *tile, int bytes)
{
    if (!v->type.layout.quads || v->type.rows == 1) return 0;
    if (bytes == 4) return 2;
    int panel = tile->type->layout.panel; /* the lowest of the row's bits that its swizzle has */
    return bytes != 2 ? 0 : panel == 128 ? 4 : panel == 64 ? 8 : 16;
}

static void turn_lanes(Emitter *e, Pairs *p, int bit)
{
    int row, col;
    p->turned = ix_lane_bit(e, 0, bit);
    fr_place(p->v, 4, &row, &col);
    p->apart = row == 0 && col == 2 ? 4 : 2;
    for (int i = 0; i < 2; i++) {
        p->other[i] = em_new(e, REG_R);
        em_at(e, 0, "selp.b32 %s, %d, %d, %s;", p->other[i], i ? 0 : 2 * p->bytes, i ? 2 * p->bytes : 0, p->turned);
    }
}

/* Whether a place that is moved right leaves its panel or its chunk otherwise than the row's first one. In rows as memory has them
 * a lane's columns are whole strides of all lanes apart. */
static bool are_cut(const Pairs *p, int panel)
{
    const Layout *layout = &p->v->type.layout;
    int cols = p->v->type.cols / layout->warps_n, share = cols * p->bytes;
    int stride = layout->warps_n * layout->lanes * layout->k * p->bytes;
    if (layout->kind == LAY_ROWS) return stride % panel && (stride & (stride - 1));
    return layout->warps_n > 1 && ((share % panel && panel % share) || (share % 16 && cols > ATOM));
}

static Pairs pairs_new(Emitter *e, const TileValue *v, const SharedTile *tile)
{
    Pairs p = {.v = v, .tile = tile, .bytes = dtype_bytes(tile->type->dtype)};
    bool cut = are_cut(&p, tile->type->layout.panel);
    p.unit = v->type.layout.kind == LAY_ROWS ? v->type.layout.k : ATOM;
    int bit = turned_bit(v, tile, p.bytes);
    if (bit) turn_lanes(e, &p, bit);
    for (int i = 0; i < (bit ? 2 : 1); i++) {
        p.first[i] = pair_place(e, v, p.bytes, 0, p.other[i]);
        if (cut) p.own[i] = arena_array(e->arena, LanePlace, v->type.cols / p.unit + 1);
    }
    return p;
}

/* Whether value i is of the second pair of four columns. */
static bool is_second(const Pairs *p, int i)
{
    int row, col;
    fr_place(p->v, i, &row, &col);
    return col % 4 == 2;
}

static const char *pair_address(Emitter *e, Pairs *p, int i)
{
    int row, col, second = p->turned && is_second(p, i);
    fr_place(p->v, i, &row, &col);
    if (second) col -= 2;
    int chunk = col * p->bytes / 16, byte = col * p->bytes % 16;
    if (!p->own[second]) return sh_address_in(e, p->tile, &p->first[second], row, chunk, byte);
    LanePlace *place = &p->own[second][col / p->unit];
    if (!place->row) *place = pair_place(e, p->v, p->bytes, col / p->unit * p->unit, p->other[second]);
    return sh_address_in(e, p->tile, place, row, 0, col % p->unit * p->bytes);
}

/* Of registers for values, or for `each` of them: those that the pairs belong to, where turned lanes moved the others. */
static void turn_back(Emitter *e, const Pairs *p, RegClass class, int *regs, int each)
{
    int n = e->frags[p->v->id].n / each, *moved = arena_array(e->arena, int, n);
    if (!p->turned) return;
    memcpy(moved, regs, (size_t)n * sizeof *moved);
    for (int i = 0; i < n; i++) {
        int other = i + (is_second(p, i * each / 2 * 2) ? -p->apart : p->apart) / each;
        regs[i] = em_reg(e, class);
        em(e, "selp.%s %s, %s, %s, %s;", class == REG_F ? "f32" : "b32", em_name(e, class, regs[i]), em_name(e, class, moved[other]),
           em_name(e, class, moved[i]), p->turned);
    }
}

/* The value that an access for value i moves. */
static const char *turned_operand(Emitter *e, const Pairs *p, int i)
{
    const char *own = fr_operand(e, p->v, i), *value;
    if (!p->turned) return own;
    value = em_new(e, REG_F);
    em(e, "selp.f32 %s, %s, %s, %s;", value, fr_operand(e, p->v, i + (is_second(p, i / 2 * 2) ? -p->apart : p->apart)), own, p->turned);
    return value;
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
        const char *low = in_from_f32(e, t, turned_operand(e, pairs, i)), *high = in_from_f32(e, t, turned_operand(e, pairs, i + 1));
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
        const char *high = turned_operand(e, &pairs, i + 1), *low = turned_operand(e, &pairs, i);
        em(e, "st.shared.v2.f32 %s, {%s, %s};", pair_address(e, &pairs, i), low, high);
    }
    for (int i = 0; pairs.bytes == 1 && i < e->frags[v->id].n; i += 2) {
        const char *pair = em_new(e, REG_H);
        const char *low = fr_operand(e, v, i), *high = fr_operand(e, v, i + 1);
        f8_pair(e, tile.type->dtype, pair, high, low);
        em(e, "st.shared.b16 %s, %s;", pair_address(e, &pairs, i), pair);
    }
    if (pairs.bytes != 2) return;
    int *packed = arena_array(e->arena, int, e->frags[v->id].n / 2);
    memcpy(packed, fr_packed(e, v, tile.type->dtype), (size_t)(e->frags[v->id].n / 2) * sizeof *packed);
    turn_back(e, &pairs, REG_R, packed, 2);
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
    turn_back(e, pairs, REG_F, e->frags[v->id].f, 1);
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
        turn_back(e, &pairs, REG_F, frag->f, 1);
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
    turn_back(e, &pairs, REG_R, frag->packed, 2);
}
