/* frag.c: a lane's registers of a tile, in the form that a user wants.
 *
 * A value starts in one form (fp32 registers, packed pairs, or one operand that
 * all elements share) and is converted when another is asked for. A conversion
 * is kept only when it stands in the scope of the definition: one made inside a
 * loop may never have run by the time the loop is left.
 */
#include "ptx/emit.h"
#include "ptx/integer.h"

Frag *fr_new(Emitter *e, const TileValue *v)
{
    Frag *frag = &e->frags[v->id];
    *frag = (Frag){.level = em_level(e)};
    frag->n = lay_fragment_values(v->type.layout, v->type.rows, v->type.cols);
    return frag;
}

int *fr_fresh(Emitter *e, RegClass c, int n)
{
    int *regs = arena_array(e->arena, int, n);
    for (int i = 0; i < n; i++) regs[i] = em_reg(e, c);
    return regs;
}

int fr_words(const TileValue *v)
{
    return lay_fragment_values(v->type.layout, v->type.rows, v->type.cols) * dtype_bytes(v->type.dtype) / 4;
}

void fr_new_f32(Emitter *e, const TileValue *v)
{
    Frag *frag = fr_new(e, v);
    frag->f = fr_fresh(e, REG_F, frag->n);
}

void fr_alias(Emitter *e, const TileValue *to, const TileValue *from)
{
    e->frags[from->id].shared = true;
    e->frags[to->id] = e->frags[from->id];
}

/* The fp32 registers of `from` for a result that starts as a copy of it: its own
 * where this is the last use and no other value's, so that nothing is moved. */
void fr_take(Emitter *e, const TileValue *to, const TileValue *from)
{
    const Frag *source = &e->frags[from->id];
    bool own = source->f && source->level == em_level(e) && !source->shared;
    if (own && e->uses[from->id] == 1) {
        e->frags[to->id] = *source;
        e->frags[to->id].packed = NULL;
        e->frags[to->id].integer = NULL;
        return;
    }
    fr_new_f32(e, to);
    const int *f = e->frags[to->id].f;
    for (int i = 0; i < e->frags[to->id].n; i++)
        em(e, "mov.f32 %%f%d, %s;", f[i], fr_operand(e, from, i));
}

void fr_half(Emitter *e, DType dtype, const char *pair, bool high, int f)
{
    if (dtype == DT_BF16) {
        const char *word = em_new(e, REG_R);
        em(e, high ? "and.b32 %s, %s, 0xffff0000;" : "shl.b32 %s, %s, 16;", word, pair);
        em(e, "mov.b32 %%f%d, %s;", f, word);
        return;
    }
    const char *h = em_new(e, REG_H), *k = em_new(e, REG_H);
    em(e, "mov.b32 {%s, %s}, %s;", h, k, pair);
    em(e, "cvt.f32.f16 %%f%d, %s;", f, high ? k : h);
}

static void unpack_bf16(Emitter *e, int pair, int low, int high)
{
    const char *t = em_new(e, REG_R), *u = em_new(e, REG_R);
    em(e, "shl.b32 %s, %%r%d, 16;", t, pair);
    em(e, "and.b32 %s, %%r%d, 0xffff0000;", u, pair);
    em(e, "mov.b32 %%f%d, %s;", low, t);
    em(e, "mov.b32 %%f%d, %s;", high, u);
}

static void unpack_f16(Emitter *e, int pair, int low, int high)
{
    const char *h = em_new(e, REG_H), *k = em_new(e, REG_H);
    em(e, "mov.b32 {%s, %s}, %%r%d;", h, k, pair);
    em(e, "cvt.f32.f16 %%f%d, %s;", low, h);
    em(e, "cvt.f32.f16 %%f%d, %s;", high, k);
}

static int *unpack(Emitter *e, const Frag *frag, DType dtype)
{
    if (f8_is(dtype)) return f8_unpack(e, frag, dtype);
    if (in_is(dtype)) return in_unpack(e, dtype, frag->packed, frag->n);
    int *f = fr_fresh(e, REG_F, frag->n);
    for (int i = 0; i < frag->n / 2; i++) {
        if (dtype == DT_BF16) unpack_bf16(e, frag->packed[i], f[2 * i], f[2 * i + 1]);
        else unpack_f16(e, frag->packed[i], f[2 * i], f[2 * i + 1]);
    }
    return f;
}

static int *spread(Emitter *e, const Frag *frag)
{
    int *f = fr_fresh(e, REG_F, frag->n);
    for (int i = 0; i < frag->n; i++) em(e, "mov.f32 %%f%d, %s;", f[i], frag->uniform);
    return f;
}

const int *fr_f32(Emitter *e, const TileValue *v)
{
    Frag *frag = &e->frags[v->id];
    if (frag->f) return frag->f;
    int *f = frag->uniform ? spread(e, frag) : unpack(e, frag, v->type.dtype);
    if (frag->level == em_level(e)) frag->f = f;
    return f;
}

/* PTX ISA, cvt: of `cvt.rn.bf16x2.f32 d, a, b` a becomes the upper half. */
void fr_pack(Emitter *e, DType dtype, const char *pair, const char *high, const char *low)
{
    if (e->target->has_cvt_pack) {
        em(e, "cvt.rn.%sx2.f32 %s, %s, %s;", dtype == DT_BF16 ? "bf16" : "f16", pair, high, low);
        return;
    }
    em_need(e, dtype);
    const char *h = em_new(e, REG_H), *l = em_new(e, REG_H);
    em(e, "cvt.rn.f16.f32 %s, %s;", l, low);
    em(e, "cvt.rn.f16.f32 %s, %s;", h, high);
    em(e, "mov.b32 %s, {%s, %s};", pair, l, h);
}

const int *fr_packed(Emitter *e, const TileValue *v, DType dtype)
{
    Frag *frag = &e->frags[v->id];
    if (frag->packed && dtype == v->type.dtype) return frag->packed;
    if (f8_is(dtype)) {
        int *words = f8_operand(e, v, dtype);
        bool keep = frag->level == em_level(e) && dtype == v->type.dtype && v->type.layout.kind == LAY_MMA_A;
        if (keep) frag->packed = words;
        return words;
    }
    const int *f = fr_f32(e, v);
    int *reserved = dtype == v->type.dtype ? e->reserved[v->id] : NULL, *packed = reserved ? reserved : fr_fresh(e, REG_R, frag->n / 2);
    for (int i = 0; i < frag->n / 2; i++)
        fr_pack(e, dtype, em_name(e, REG_R, packed[i]), em_name(e, REG_F, f[2 * i + 1]), em_name(e, REG_F, f[2 * i]));
    if (frag->level == em_level(e) && dtype == v->type.dtype) frag->packed = packed;
    return packed;
}

const char *fr_operand(Emitter *e, const TileValue *v, int i)
{
    const Frag *frag = &e->frags[v->id];
    if (frag->uniform) return frag->uniform;
    if (frag->later) lr_value(e, v, i);
    return em_name(e, REG_F, fr_f32(e, v)[i]);
}

void fr_place(const TileValue *v, int i, int *row, int *col)
{
    lay_fragment_at(v->type.layout, v->type.rows, v->type.cols, 0, 0, i, row, col);
}
