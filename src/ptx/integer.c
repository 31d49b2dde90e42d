/* integer.c: elements that are integers, of 8, 32 and 64 bits, and truths.
 *
 * Arithmetic is fp32, in which integers up to 2^24 are exact: what is loaded becomes the nearest
 * fp32, what is stored is cut towards 0, as C converts, and to the type's range.
 *
 * Bytes become fp32 without a conversion, which a multiprocessor does few of: as the low bits of
 * 2^23 they add what they are (prmt), and 2^23 is subtracted again; signed ones begin 128 higher,
 * with their sign bit the other way.
 */
#include "ptx/integer.h"

static const struct Form {
    RegClass reg;        /* that it is loaded into */
    const char *clear;   /* that register's type, of its bits */
    const char *memory;  /* the type of a load or store */
    const char *number;  /* the type that is converted */
    bool bytes;          /* by prmt */
    int least, most;     /* of fewer than 32 bits */
    const char *flip, *base;
} forms[DT_COUNT] = {
    [DT_I32] = {.reg = REG_R, .clear = "b32", .memory = "b32", .number = "s32"},
    [DT_I64] = {.reg = REG_RD, .clear = "b64", .memory = "b64", .number = "s64"},
    [DT_I8] = {.reg = REG_H, .clear = "b16", .memory = "s8", .number = "s16", .bytes = true, .least = -128, .most = 127,
               .flip = "0x80808080", .base = "0fCB000080"},
    [DT_U8] = {.reg = REG_H, .clear = "b16", .memory = "u8", .number = "u16", .bytes = true, .least = 0, .most = 255,
               .base = "0fCB000000"},
    [DT_BOOL] = {.reg = REG_H, .clear = "b16", .memory = "u8", .number = "u16"},
};

bool in_is(DType t)
{
    return forms[t].memory != NULL;
}

const char *in_load(Emitter *e, DType t, const char *guard, const char *address, int reg)
{
    const struct Form *form = &forms[t];
    const char *word = em_new(e, form->reg);
    em(e, "mov.%s %s, 0;", form->clear, word);
    em(e, "%sld.global.%s %s, %s;", guard, form->memory, word, address);
    em(e, "cvt.rn.f32.%s %%f%d, %s;", form->number, reg, word);
    return word;
}

const char *in_word(Emitter *e, DType t, const char *read)
{
    const struct Form *form = &forms[t];
    if (form->reg == REG_R) return read;
    const char *word = em_new(e, REG_R);
    em(e, "cvt%s.s32.%s %s, %s;", t == DT_I64 ? ".sat" : "", form->number, word, read);
    return word;
}

void in_load_integer(Emitter *e, int level, DType t, bool wide, const char *guard, const char *address, const char *d)
{
    const struct Form *form = &forms[t];
    bool whole = wide && t == DT_I64;
    const char *word = whole || form->reg == REG_R ? d : em_new(e, form->reg);
    em_at(e, level, "mov.%s %s, 0;", form->clear, word);
    em_at(e, level, "%sld.global.%s %s, %s;", guard, form->memory, word, address);
    if (whole) return;
    if (t == DT_I64) em_at(e, level, "cvt.sat.s32.s64 %s, %s;", d, word);
    else if (word != d) em_at(e, level, "cvt.s32.%s %s, %s;", form->number, d, word);
}

/* What is not a number is 0, truth what is not 0. */
const char *in_from_f32(Emitter *e, DType t, const char *value)
{
    const struct Form *form = &forms[t];
    const char *word = em_new(e, t == DT_I64 ? REG_RD : REG_R);
    if (t == DT_BOOL) {
        const char *p = em_new(e, REG_P);
        em(e, "setp.neu.f32 %s, %s, 0f00000000;", p, value);
        em(e, "selp.b32 %s, 1, 0, %s;", word, p);
        return word;
    }
    em(e, "cvt.rzi.s%d.f32 %s, %s;", t == DT_I64 ? 64 : 32, word, value);
    if (form->bytes) {
        em(e, "max.s32 %s, %s, %d;", word, word, form->least);
        em(e, "min.s32 %s, %s, %d;", word, word, form->most);
    }
    return word;
}

void in_store(Emitter *e, DType t, const char *guard, const char *address, const char *value)
{
    const char *word = in_from_f32(e, t, value);
    em(e, "%sst.global.%s %s, %s;", guard, dtype_bytes(t) == 1 ? "u8" : forms[t].memory, address, word);
}

void in_to_f32(Emitter *e, DType t, const char *word, int reg)
{
    em(e, "cvt.rn.f32.%s %%f%d, %s;", t == DT_I64 ? "s64" : "s32", reg, word);
}

/* ---- bytes ----------------------------------------------------------------------------- */

/* Byte `at` of a word whose sign bits were turned. */
static void byte_to_f32(Emitter *e, const struct Form *form, const char *word, int at, int reg)
{
    const char *sum = em_new(e, REG_R);
    em(e, "prmt.b32 %s, %s, 0x4B000000, 0x%x;", sum, word, 0x7650 + at);
    em(e, "mov.b32 %%f%d, %s;", reg, sum);
    em(e, "add.f32 %%f%d, %%f%d, %s;", reg, reg, form->base);
}

static const char *turned(Emitter *e, const struct Form *form, const char *word)
{
    if (!form->flip) return word;
    const char *flipped = em_new(e, REG_R);
    em(e, "xor.b32 %s, %s, %s;", flipped, word, form->flip);
    return flipped;
}

void in_load_pair(Emitter *e, DType t, const char *address, int low, int high)
{
    const struct Form *form = &forms[t];
    int bits = dtype_bytes(t) * 8;
    if (form->bytes) {
        const char *pair = em_new(e, REG_H), *wide = em_new(e, REG_R);
        em(e, "ld.shared.b16 %s, %s;", pair, address);
        em(e, "cvt.u32.u16 %s, %s;", wide, pair);
        wide = turned(e, form, wide);
        byte_to_f32(e, form, wide, 0, low);
        byte_to_f32(e, form, wide, 1, high);
        return;
    }
    const char *l = em_new(e, form->reg), *h = em_new(e, form->reg);
    em(e, "ld.shared.v2.%s%d {%s, %s}, %s;", bits == 8 ? "u" : "b", bits, l, h, address);
    em(e, "cvt.rn.f32.%s %%f%d, %s;", form->number, low, l);
    em(e, "cvt.rn.f32.%s %%f%d, %s;", form->number, high, h);
}

void in_store_pair(Emitter *e, DType t, const char *address, const char *low, const char *high)
{
    int bits = dtype_bytes(t) * 8;
    em(e, "st.shared.v2.%s%d %s, {%s, %s};", bits == 8 ? "u" : "b", bits, address, low, high);
}

/* ---- words ------------------------------------------------------------------------------- */

int *in_unpack(Emitter *e, DType t, const int *words, int n)
{
    const struct Form *form = &forms[t];
    int *f = fr_fresh(e, REG_F, n);
    const char *word = NULL;
    for (int i = 0; i < n; i++) {
        if (t == DT_I32) {
            em(e, "cvt.rn.f32.s32 %%f%d, %%r%d;", f[i], words[i]);
        } else if (form->bytes) {
            if (i % 4 == 0) word = turned(e, form, em_name(e, REG_R, words[i / 4]));
            byte_to_f32(e, form, word, i % 4, f[i]);
        } else {
            const char *byte = em_new(e, REG_R);
            em(e, "bfe.u32 %s, %%r%d, %d, 8;", byte, words[i / 4], i % 4 * 8);
            em(e, "cvt.rn.f32.u32 %%f%d, %s;", f[i], byte);
        }
    }
    return f;
}

const char **in_pack(Emitter *e, DType t, const TileValue *v)
{
    int n = e->frags[v->id].n, in_word = 4 / dtype_bytes(t);
    const char **words = arena_array(e->arena, const char *, n / in_word);
    for (int i = 0; i < n; i++) {
        const char *value = fr_operand(e, v, i), *bits = in_from_f32(e, t, value), **word = &words[i / in_word];
        if (i % in_word) em(e, "bfi.b32 %s, %s, %s, %d, 8;", *word, bits, *word, i % in_word * 8);
        else *word = bits;
    }
    return words;
}
