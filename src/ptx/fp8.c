/* fp8.c: numbers of 8 bits (e4m3, e5m2).
 *
 * An operand fragment holds four to a register; every other tile of them has
 * them rounded in fp32 registers, since arithmetic is fp32 anyway. PTX ISA, cvt:
 * two fp32 become a pair at once, what is too large the largest number
 * (.satfinite); a pair widens to f16x2, which holds either type exactly.
 */
#include "ptx/emit.h"

bool f8_is(DType dtype)
{
    return dtype == DT_E4M3 || dtype == DT_E5M2;
}

void f8_pair(Emitter *e, DType dtype, const char *pair, const char *high, const char *low)
{
    em_need(e, dtype);
    em(e, "cvt.rn.satfinite.%sx2.f32 %s, %s, %s;", dtype_name(dtype), pair, high, low);
}

void f8_unpair(Emitter *e, DType dtype, const char *pair, int low, int high)
{
    em_need(e, dtype);
    const char *wide = em_new(e, REG_R), *l = em_new(e, REG_H), *h = em_new(e, REG_H);
    em(e, "cvt.rn.f16x2.%sx2 %s, %s;", dtype_name(dtype), wide, pair);
    em(e, "mov.b32 {%s, %s}, %s;", l, h, wide);
    em(e, "cvt.f32.f16 %%f%d, %s;", low, l);
    em(e, "cvt.f32.f16 %%f%d, %s;", high, h);
}

/* Value i of an operand fragment of k = 32 among those of the accumulator that
 * it is made of (lay.c): a register's four come from two neighbouring atoms. */
static int from_accumulator(int i)
{
    int r = i / 4 % 4, b = i % 4;
    return i / 16 * 16 + r / 2 * 8 + b / 2 * 4 + r % 2 * 2 + b % 2;
}

int *f8_operand(Emitter *e, const TileValue *v, DType dtype)
{
    const int *f = fr_f32(e, v);
    bool reorder = v->type.layout.kind == LAY_MMA_C;
    int words = e->frags[v->id].n / 4, *packed = fr_fresh(e, REG_R, words);
    for (int w = 0; w < words; w++) {
        const char *value[4], *low = em_new(e, REG_H), *high = em_new(e, REG_H);
        for (int b = 0; b < 4; b++) {
            int i = 4 * w + b;
            value[b] = em_name(e, REG_F, f[reorder ? from_accumulator(i) : i]);
        }
        f8_pair(e, dtype, low, value[1], value[0]);
        f8_pair(e, dtype, high, value[3], value[2]);
        em(e, "mov.b32 %%r%d, {%s, %s};", packed[w], low, high);
    }
    return packed;
}

int *f8_unpack(Emitter *e, const Frag *frag, DType dtype)
{
    int *f = fr_fresh(e, REG_F, frag->n);
    for (int w = 0; w < frag->n / 4; w++) {
        const char *low = em_new(e, REG_H), *high = em_new(e, REG_H);
        em(e, "mov.b32 {%s, %s}, %%r%d;", low, high, frag->packed[w]);
        f8_unpair(e, dtype, low, f[4 * w], f[4 * w + 1]);
        f8_unpair(e, dtype, high, f[4 * w + 2], f[4 * w + 3]);
    }
    return f;
}

/* Registers of four numbers as pairs of fp16: all first pairs, then all second ones. */
void f8_widen(Emitter *e, DType dtype, const int *bytes, int n, int *wide)
{
    em_need(e, dtype);
    for (int i = 0; i < n; i++) {
        const char *first = em_new(e, REG_H), *second = em_new(e, REG_H);
        wide[i] = em_reg(e, REG_R);
        wide[n + i] = em_reg(e, REG_R);
        em(e, "mov.b32 {%s, %s}, %%r%d;", first, second, bytes[i]);
        em(e, "cvt.rn.f16x2.%sx2 %%r%d, %s;", dtype_name(dtype), wide[i], first);
        em(e, "cvt.rn.f16x2.%sx2 %%r%d, %s;", dtype_name(dtype), wide[n + i], second);
    }
}

/* fp32 registers with the values rounded to 8 bits. */
int *f8_round(Emitter *e, const TileValue *v, DType dtype)
{
    const int *f = fr_f32(e, v);
    int n = e->frags[v->id].n, *rounded = fr_fresh(e, REG_F, n + n % 2);
    for (int i = 0; i < n; i += 2) {
        const char *pair = em_new(e, REG_H), *low = em_name(e, REG_F, f[i]);
        f8_pair(e, dtype, pair, i + 1 < n ? em_name(e, REG_F, f[i + 1]) : low, low);
        f8_unpair(e, dtype, pair, rounded[i], rounded[i + 1]);
    }
    return rounded;
}

void f8_load(Emitter *e, DType dtype, const char *guard, const char *address, int reg)
{
    const char *word = em_new(e, REG_R), *pair = em_new(e, REG_H);
    int rest = em_reg(e, REG_F);
    em(e, "mov.b32 %s, 0;", word);
    em(e, "%sld.global.u8 %s, %s;", guard, word, address);
    em(e, "cvt.u16.u32 %s, %s;", pair, word);
    f8_unpair(e, dtype, pair, reg, rest);
}

void f8_store(Emitter *e, DType dtype, const char *guard, const char *address, const char *value)
{
    const char *pair = em_new(e, REG_H), *word = em_new(e, REG_R);
    f8_pair(e, dtype, pair, "0f00000000", value);
    em(e, "cvt.u32.u16 %s, %s;", word, pair);
    em(e, "%sst.global.u8 %s, %s;", guard, address, word);
}
