/* reshape.c: from an accumulator fragment to an operand fragment.
 *
 * In most cases a lane has what it needs, as two accumulator atoms side by side are an
 * operand atom (lay.c). Where one comes in pairs and the other is wanted in fours (lay.h,
 * quads), the four lanes t of a row exchange. Of 16 columns, a register being
 *
 *   of 8 bits    2t, 2t + 1, 2t + 8, 2t + 9            becomes   4t .. 4t + 3
 *   of 16 bits   4t, 4t + 1   and   4t + 2, 4t + 3     become    2t, 2t + 1   and   2t + 8, 2t + 9
 */
#include "ptx/emit.h"

/* One of two registers of another lane: d = (which ? b : a) there. */
static const char *fetch(Emitter *e, const char *a, const char *b, const char *lane, const char *which)
{
    const char *x = em_new(e, REG_R), *y = em_new(e, REG_R), *d = em_new(e, REG_R);
    em(e, "shfl.sync.idx.b32 %s, %s, %s, 31, -1;", x, a, lane);
    em(e, "shfl.sync.idx.b32 %s, %s, %s, 31, -1;", y, b, lane);
    em(e, "selp.b32 %s, %s, %s, %s;", d, y, x, which);
    return d;
}

/* Columns 4t and on are in lanes 2t mod 4 and the next, in their low halves where t < 2. */
static void fours_of_bytes(Emitter *e, int *packed, int words)
{
    const char *from = em_new(e, REG_R), *odd = em_new(e, REG_R), *next = em_new(e, REG_R), *half = em_new(e, REG_R);
    em_at(e, 0, "and.b32 %s, %s, 1;", odd, e->lane);
    em_at(e, 0, "and.b32 %s, %s, 28;", from, e->lane);
    em_at(e, 0, "mad.lo.s32 %s, %s, 2, %s;", from, odd, from);
    em_at(e, 0, "or.b32 %s, %s, 1;", next, from);
    em_at(e, 0, "selp.b32 %s, 0x7632, 0x5410, %s;", half, ix_lane_bit(e, 0, 2));
    for (int w = 0; w < words; w++) {
        const char *a = em_new(e, REG_R), *b = em_new(e, REG_R);
        em(e, "shfl.sync.idx.b32 %s, %%r%d, %s, 31, -1;", a, packed[w], from);
        em(e, "shfl.sync.idx.b32 %s, %%r%d, %s, 31, -1;", b, packed[w], next);
        packed[w] = em_reg(e, REG_R);
        em(e, "prmt.b32 %%r%d, %s, %s, %s;", packed[w], a, b, half);
    }
}

/* Columns 2t and 2t + 1 are in lane t / 2, those 8 further on in lane 2 + t / 2, where t
 * is odd in the second register. Of an atom's four registers the second and the fourth
 * are rows 8 to 15. */
static const int *pairs_of_halves(Emitter *e, const int *packed, int words)
{
    const char *from = em_new(e, REG_R), *next = em_new(e, REG_R), *half = em_new(e, REG_R), *odd = ix_lane_bit(e, 0, 1);
    int *pairs = fr_fresh(e, REG_R, words);
    em_at(e, 0, "bfe.u32 %s, %s, 1, 1;", half, e->lane);
    em_at(e, 0, "and.b32 %s, %s, 28;", from, e->lane);
    em_at(e, 0, "or.b32 %s, %s, %s;", from, from, half);
    em_at(e, 0, "or.b32 %s, %s, 2;", next, from);
    for (int w = 0; w < words; w++) {
        if (w % 4 >= 2) continue;
        const char *a = em_name(e, REG_R, packed[w]), *b = em_name(e, REG_R, packed[w + 2]);
        em(e, "mov.b32 %%r%d, %s;", pairs[w], fetch(e, a, b, from, odd));
        em(e, "mov.b32 %%r%d, %s;", pairs[w + 2], fetch(e, a, b, next, odd));
    }
    return pairs;
}

void el_reshape(Emitter *e, const TileOp *op)
{
    const TileValue *from = op->args[0], *to = op->results[0];
    bool fours = from->type.layout.quads, wanted = to->type.layout.quads;
    DType dtype = to->type.dtype;
    if (!dtype_is_narrow(dtype)) { /* no product takes it, which the product says */
        el_cast(e, op);
        return;
    }
    const int *packed = f8_is(dtype) ? f8_operand(e, from, dtype) : fr_packed(e, from, dtype);
    int words = fr_words(to);
    if (f8_is(dtype) && wanted && !fours) fours_of_bytes(e, (int *)packed, words);
    if (!f8_is(dtype) && fours && !wanted) packed = pairs_of_halves(e, packed, words);
    fr_new(e, to)->packed = (int *)packed;
}
