/* exec_cvt.c: cvt between all number formats (PTX ISA, "cvt").
 *
 * The common conversions have functions of their own; all others go lane by
 * lane through a 64-bit integer or a double, which hold every source exactly.
 *
 *     load: bits ─► Number { integer | double } ─► round, clamp ─► bits :store
 */
#include "emu/machine.h"

#include <math.h>

typedef struct Number {
    bool is_float, is_signed;
    uint64_t integer; /* two's complement */
    double real;
} Number;

static bool is_scalar(EmuType type)
{
    return (emu_types[type].kind == TK_UNSIGNED || emu_types[type].kind == TK_SIGNED ||
            type == ET_F16 || type == ET_BF16 || type == ET_F32 || type == ET_F64);
}

bool emu_convert_known(EmuType to, EmuType from)
{
    bool fp8 = to == ET_E4M3X2 || to == ET_E5M2X2;

    if (is_scalar(to) && is_scalar(from))
        return true;
    if (to == ET_F16X2)
        return from == ET_F32 || from == ET_E4M3X2 || from == ET_E5M2X2;
    if (to == ET_BF16X2 || to == ET_TF32)
        return from == ET_F32;
    return fp8 && (from == ET_F32 || from == ET_F16X2);
}

/* ---- by way of 64 bits --------------------------------------------------------- */

static uint64_t sign_extend(uint64_t bits, int bytes)
{
    int shift = 64 - 8 * bytes;

    return (uint64_t)((int64_t)(bits << shift) >> shift);
}

static uint64_t zero_extend(uint64_t bits, int bytes)
{
    return bytes == 8 ? bits : bits & ((UINT64_C(1) << 8 * bytes) - 1);
}

static double load_float(EmuType type, uint64_t bits)
{
    union { uint64_t u; double d; } wide = { bits };
    union { uint32_t u; float f; } single = { (uint32_t)bits };

    if (type == ET_F64)
        return wide.d;
    return type == ET_F32 ? (double)single.f : emu_small_load(type, (uint32_t)bits & 0xffffu);
}

static Number load(EmuType type, uint64_t bits)
{
    Number n = { .is_float = emu_types[type].kind == TK_FLOAT,
                 .is_signed = emu_types[type].kind == TK_SIGNED };

    if (n.is_float)
        n.real = load_float(type, bits);
    else
        n.integer = n.is_signed ? sign_extend(bits, emu_types[type].bytes)
                                : zero_extend(bits, emu_types[type].bytes);
    return n;
}

/* NaN gives 0, or the highest bit where either side has 64 bits (PTX ISA, "cvt"). */
static uint64_t nan_to_int(EmuType to, EmuType from)
{
    int bits = 8 * emu_types[to].bytes;

    return from == ET_F64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
}

/* Out of range gives the nearest value of the type. */
static uint64_t real_to_int(double x, EmuType to)
{
    int bits = 8 * emu_types[to].bytes;
    bool is_signed = emu_types[to].kind == TK_SIGNED;
    double high = ldexp(1, is_signed ? bits - 1 : bits), low = is_signed ? -high : 0;

    if (x >= high)
        return is_signed ? (UINT64_C(1) << (bits - 1)) - 1
                         : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    if (x <= low)
        return is_signed ? 0 - (UINT64_C(1) << (bits - 1)) : 0;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* .sat between integers */
static uint64_t clamp_int(const Number *n, EmuType to)
{
    int bits = 8 * emu_types[to].bytes;
    bool negative = n->is_signed && (int64_t)n->integer < 0;

    if (emu_types[to].kind == TK_SIGNED) {
        int64_t high = (int64_t)((UINT64_C(1) << (bits - 1)) - 1);

        if (negative)
            return (int64_t)n->integer < -high - 1 ? (uint64_t)(-high - 1) : n->integer;
        return n->integer > (uint64_t)high ? (uint64_t)high : n->integer;
    }
    if (negative)
        return 0;
    return bits < 64 && n->integer >> bits ? (UINT64_C(1) << bits) - 1 : n->integer;
}

/* An integer becomes a float in one rounding. */
static float int_to_single(const Number *n, Rounding rounding)
{
    bool negative = n->is_signed && (int64_t)n->integer < 0;
    uint64_t magnitude = negative ? 0 - n->integer : n->integer;
    int drop = magnitude >> 24 ? 64 - __builtin_clzll(magnitude) - 24 : 0;
    float f = ldexpf((float)(magnitude >> drop), drop); /* toward zero */
    bool away = rounding == (negative ? RND_M : RND_P);

    if (rounding == RND_NONE || rounding == RND_N)
        return n->is_signed ? (float)(int64_t)n->integer : (float)n->integer;
    if (away && drop && magnitude & ((UINT64_C(1) << drop) - 1))
        f = nextafterf(f, INFINITY);
    return negative ? -f : f;
}

static double int_to_real(const Number *n)
{
    return n->is_signed ? (double)(int64_t)n->integer : (double)n->integer;
}

static bool to_integral(Rounding rounding)
{
    return rounding == RND_NI || rounding == RND_ZI || rounding == RND_MI || rounding == RND_PI;
}

static uint64_t store_float(const Number *n, EmuType to, Rounding rounding, uint32_t flags)
{
    union { double d; uint64_t u; } wide = { n->is_float ? n->real : int_to_real(n) };
    union { float f; uint32_t u; } single;

    if (n->is_float && to_integral(rounding))
        wide.d = emu_round(wide.d, rounding);
    if (flags & IF_SAT && emu_types[to].bytes >= 2 && to != ET_E4M3X2 && to != ET_E5M2X2)
        wide.d = wide.d > 0 ? wide.d < 1 ? wide.d : 1 : 0;
    if (flags & IF_RELU && !(wide.d > 0))
        wide.d = wide.d != wide.d ? wide.d : 0;
    if (to == ET_F64)
        return wide.u;
    if (to != ET_F32)
        return emu_small_store(to, wide.d, to_integral(rounding) ? RND_N : rounding,
                               (flags & IF_SAT) != 0);
    single.f = n->is_float || flags & IF_SAT ? emu_single(wide.d, rounding) : int_to_single(n, rounding);
    if (single.f != single.f)
        single.u = 0x7fffffffu;
    return single.u;
}

static uint64_t store(const Number *n, EmuType to, EmuType from, Rounding rounding, uint32_t flags)
{
    if (emu_types[to].kind == TK_FLOAT)
        return store_float(n, to, rounding, flags);
    if (n->is_float && n->real != n->real)
        return nan_to_int(to, from);
    if (n->is_float)
        return real_to_int(emu_round(n->real, rounding), to);
    return flags & IF_SAT ? clamp_int(n, to) : n->integer;
}

static uint64_t flush_single(uint64_t bits, EmuType type, uint32_t flags)
{
    if (type == ET_F32 && flags & IF_FTZ && !(bits & 0x7f800000u))
        return bits & 0x80000000u;
    return bits;
}

static uint64_t convert(const Inst *in, uint64_t bits)
{
    EmuType to = (EmuType)in->type, from = (EmuType)in->from;
    Number n = load(from, flush_single(bits, from, in->flags));

    bits = flush_single(store(&n, to, from, (Rounding)in->aux, in->flags), to, in->flags);
    bits = emu_types[to].kind == TK_SIGNED ? sign_extend(bits, emu_types[to].bytes)
                                           : zero_extend(bits, emu_types[to].bytes);
    return zero_extend(bits, (int)in->imm); /* the register's size */
}

/* d = {a in the upper half, b in the lower} */
static uint64_t convert_two(const Inst *in, uint64_t upper, uint64_t lower)
{
    EmuType to = (EmuType)in->type;
    int bits = emu_types[to].bytes * 4;
    Number a = load(ET_F32, upper), b = load(ET_F32, lower);

    return store_float(&a, to, (Rounding)in->aux, in->flags) << bits |
           store_float(&b, to, (Rounding)in->aux, in->flags);
}

/* Both halves of one packed value. */
static uint64_t convert_packed(const Inst *in, uint64_t pair)
{
    EmuType to = (EmuType)in->type, from = (EmuType)in->from;
    int from_bits = emu_types[from].bytes * 4, to_bits = emu_types[to].bytes * 4;
    uint64_t result = 0;

    for (int i = 0; i < 2; i++) {
        uint64_t part = pair >> from_bits * i & ((1u << from_bits) - 1);
        Number n = { .is_float = true, .real = emu_small_load(from, (uint32_t)part) };

        result |= store_float(&n, to, (Rounding)in->aux, in->flags) << to_bits * i;
    }
    return result;
}

void emu_exec_cvt(Warp *w, const Inst *in, uint32_t mask)
{
    const void *a = src_at(w, in, 0), *b = in->ns > 1 ? src_at(w, in, 1) : NULL;
    bool packed = in->from == ET_F16X2 || in->from == ET_E4M3X2 || in->from == ET_E5M2X2;
    void *d = op_at(w, in, 0);

    for (int l = 0; l < LANES; l++) {
        uint64_t bits;

        if (!lane_on(mask, l))
            continue;
        bits = lane_bits(a, in->vec, l);
        bits = b ? convert_two(in, bits, lane_bits(b, in->vec, l))
               : packed ? convert_packed(in, bits) : convert(in, bits);
        if (in->bytes == 8)
            ((Lane64 *)d)[l] = bits;
        else
            ((Lane32 *)d)[l] = (uint32_t)bits;
    }
}

/* ---- the common ones, as vectors --------------------------------------------------- */

#define FAST(id, TO, FROM, value)                                                        \
    static void fast_##id(void *vd, const void *va, const void *vb, const void *vc,      \
                          const void *ve)                                                \
    {                                                                                    \
        TO *d = vd;                                                                      \
        const FROM *a_lanes = va, *b_lanes = vb;                                         \
        (void)vc, (void)ve, (void)b_lanes;                                               \
        for (int l = 0; l < LANES; l++) {                                                \
            FROM a = a_lanes[l];                                                         \
            d[l] = (TO)(value);                                                          \
        }                                                                                \
    }

FAST(bf16x2_f32, Lane32, LaneF32, emu_bf16_store(a) << 16 | emu_bf16_store(b_lanes[l]))
FAST(f16x2_f32, Lane32, LaneF32, emu_f16_store(a) << 16 | emu_f16_store(b_lanes[l]))
FAST(bf16_f32, Lane32, LaneF32, emu_bf16_store(a))
FAST(f16_f32, Lane32, LaneF32, emu_f16_store(a))
FAST(f32_bf16, LaneF32, Lane32, emu_bf16_load(a & 0xffffu))
FAST(f32_f16, LaneF32, Lane32, emu_f16_load(a & 0xffffu))
FAST(u64_u32, Lane64, Lane32, a)
FAST(s64_s32, Lane64, LaneS32, (int64_t)a)
FAST(u32_u64, Lane32, Lane64, a)
FAST(f32_s32, LaneF32, LaneS32, a)
FAST(f32_u32, LaneF32, Lane32, a)

static const struct {
    EmuType to, from;
    AluFn fn;
} fast[] = {
    { ET_BF16X2, ET_F32, fast_bf16x2_f32 }, { ET_F16X2, ET_F32, fast_f16x2_f32 },
    { ET_BF16, ET_F32, fast_bf16_f32 },     { ET_F16, ET_F32, fast_f16_f32 },
    { ET_F32, ET_BF16, fast_f32_bf16 },     { ET_F32, ET_F16, fast_f32_f16 },
    { ET_U64, ET_U32, fast_u64_u32 },       { ET_S64, ET_U32, fast_u64_u32 },
    { ET_S64, ET_S32, fast_s64_s32 },       { ET_U64, ET_S32, fast_s64_s32 },
    { ET_U32, ET_U64, fast_u32_u64 },       { ET_S32, ET_S64, fast_u32_u64 },
    { ET_S32, ET_U64, fast_u32_u64 },       { ET_U32, ET_S64, fast_u32_u64 },
    { ET_F32, ET_S32, fast_f32_s32 },       { ET_F32, ET_U32, fast_f32_u32 },
};

AluFn emu_convert_fast(EmuType to, EmuType from, Rounding rounding, uint32_t flags)
{
    if (flags || (rounding != RND_NONE && rounding != RND_N))
        return NULL;
    for (size_t i = 0; i < TW_COUNT(fast); i++) {
        if (fast[i].to == to && fast[i].from == from)
            return fast[i].fn;
    }
    return NULL;
}
