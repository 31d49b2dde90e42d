/* exec_alu.c: arithmetic, moves and selections, a lane at a time.
 *
 * Each row of alu.def becomes a function over 32 lanes that the compiler turns
 * into vector code. It always computes all lanes, for none can fail; when only
 * part of the warp is active, the result goes through a buffer.
 */
#include "emu/machine.h"

#include <math.h>
#include <stdlib.h>

/* Iterations are independent: a destination is a source or lies apart from it.
 * gcc has to be told; clang tests it at run time. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_LANE _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++)
#else
#define EACH_LANE for (int l = 0; l < LANES; l++)
#endif

/* ---- helpers that alu.def names --------------------------------------------------- */

#define LOW16(x) ((uint32_t)(x) & 0xffffu)
#define S16(x) ((int32_t)(int16_t)(x))
#define least(a, b) ((a) < (b) ? (a) : (b))
#define most(a, b) ((a) > (b) ? (a) : (b))
#define h(x) emu_f16_load((x) & 0xffffu)
#define bf(x) emu_bf16_load((x) & 0xffffu)
#define H(x) emu_f16_store(x)
#define BF(x) emu_bf16_store(x)
#define HH(low, high) (emu_f16_store(low) | emu_f16_store(high) << 16)
#define BB(low, high) (emu_bf16_store(low) | emu_bf16_store(high) << 16)

/* A NaN gives way to a number; -0 is less than +0 (PTX ISA, "min", "max"). */
static inline float min_f(float a, float b)
{
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}

static inline float max_f(float a, float b)
{
    return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;
}

/* .NaN: where one operand is NaN, so is the result. */
static inline bool either_nan(float a, float b)
{
    return a != a || b != b;
}

static inline double min_d(double a, double b)
{
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}

static inline double max_d(double a, double b)
{
    return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;
}

/* By how much a + b is more than what it is rounded to. */
static double add_error(double a, double b)
{
    double sum = a + b, part = sum - a;

    return (a - (sum - part)) + (b - part);
}

/* The same of quotients and roots, by its sign. */
static double div_error(double a, double b)
{
    double rest = fma(-(a / b), b, a);

    return b < 0 ? -rest : rest;
}

static double sqrt_error(double a)
{
    return fma(-sqrt(a), sqrt(a), a);
}

static double fma_error(double a, double b, double c)
{
    double product = a * b, rest = fma(a, b, -product), sum = product + c;

    return ((sum - fma(a, b, c)) + add_error(product, c)) + rest;
}

/* A result that is off by an error, rounded to odd: where it is not exact, its last bit is 1, so that
 * rounding it once more to a short format is as if the exact one were rounded. */
static double to_odd(double rounded, double error)
{
    union { double d; uint64_t u; } result = { rounded };

    if (error != 0 && error == error && !(result.u & 1) && !isinf(rounded))
        result.u = (error > 0) == (rounded > 0) ? result.u + 1 : result.u - 1;
    return result.d;
}

static double add_to_odd(double a, double b)
{
    return to_odd(a + b, add_error(a, b));
}

/* A result rounded to nearest that is off by an error, rounded in another direction. */
static double directed(double nearest, double error, Rounding rounding)
{
    bool down = rounding == RND_M || (rounding == RND_Z && nearest > 0);
    bool up = rounding == RND_P || (rounding == RND_Z && nearest < 0);

    if (isinf(nearest) || error != error || error == 0)
        return nearest;
    return error < 0 && down ? nextafter(nearest, -INFINITY) : error > 0 && up ? nextafter(nearest, INFINITY) : nearest;
}

/* The product of two 16-bit floats is exact in double. */
static uint32_t fma_f16(uint32_t a, uint32_t b, uint32_t c)
{
    return emu_small_store(ET_F16, add_to_odd((double)h(a) * (double)h(b), (double)h(c)), RND_N, false);
}

static uint32_t fma_bf16(uint32_t a, uint32_t b, uint32_t c)
{
    return emu_small_store(ET_BF16, add_to_odd((double)bf(a) * (double)bf(b), (double)bf(c)), RND_N,
                           false);
}

static inline uint64_t high_u64(uint64_t a, uint64_t b)
{
    uint64_t al = a & FULL, ah = a >> 32, bl = b & FULL, bh = b >> 32;
    uint64_t low = al * bl, m1 = ah * bl, m2 = al * bh;
    uint64_t mid = (low >> 32) + (m1 & FULL) + (m2 & FULL);

    return ah * bh + (m1 >> 32) + (m2 >> 32) + (mid >> 32);
}

static inline uint64_t high_s64(uint64_t a, uint64_t b)
{
    return high_u64(a, b) - (a >> 63 ? b : 0) - (b >> 63 ? a : 0);
}

static inline int32_t within32(int64_t x)
{
    return (int32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}

/* The low n bits, n at most 31, the last of them as a sign. */
static inline uint32_t low_signed(uint32_t a, uint32_t n)
{
    return n ? (uint32_t)((int32_t)(a << (32 - n)) >> (32 - n)) : 0;
}

/* The place of the n-th set bit from a base on, up or, of a negative one, down (PTX ISA, "fns"). */
static uint32_t find_nth(uint32_t mask, uint32_t base, int32_t n)
{
    int step = n < 0 ? -1 : 1, left = n < 0 ? -n : n;

    if (n == 0)
        return base < 32 && mask >> base & 1 ? base : FULL;
    for (int64_t i = base; i >= 0 && i < 32; i += step) {
        left -= mask >> i & 1;
        if (!left)
            return (uint32_t)i;
    }
    return FULL;
}

/* Byte i, or half i, as an integer of either sign. */
static inline uint32_t byte_of(uint32_t x, int i, bool is_signed)
{
    uint32_t byte = x >> 8 * i & 0xffu;

    return is_signed ? (byte ^ 0x80u) - 0x80u : byte;
}
static inline uint32_t half_of(uint32_t x, int i, bool is_signed)
{
    uint32_t half = x >> 16 * i & 0xffffu;

    return is_signed ? (half ^ 0x8000u) - 0x8000u : half;
}

static inline uint32_t dot4(uint32_t a, bool a_signed, uint32_t b, bool b_signed)
{
    uint32_t sum = 0;

    for (int i = 0; i < 4; i++)
        sum += byte_of(a, i, a_signed) * byte_of(b, i, b_signed);
    return sum;
}

/* The halves of a by the two low bytes of b. */
static inline uint32_t dot2(uint32_t a, bool a_signed, uint32_t b, bool b_signed)
{
    return half_of(a, 0, a_signed) * byte_of(b, 0, b_signed) + half_of(a, 1, a_signed) * byte_of(b, 1, b_signed);
}

/* The high word of {high, low} shifted left by n, 0 to 32. */
static inline uint32_t funnel(uint32_t low, uint32_t high, uint32_t n)
{
    uint64_t both = (uint64_t)high << 32 | low;

    return (uint32_t)(both << n >> 32);
}

/* A truth table of three inputs, a bit at a time (PTX ISA, "lop3"). */
static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t d = 0;

    for (unsigned i = 0; i < 8; i++) {
        uint32_t match = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);

        d |= table >> i & 1 ? match : 0;
    }
    return d;
}

static inline uint32_t selector_of(uint32_t c)
{
    return c & 0xffffu;
}

/* Four bytes out of eight; bit 3 of a selector spreads the sign (PTX ISA, "prmt"). */
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t d = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint32_t selector = selectors >> 4 * i & 15;
        uint32_t byte = (uint32_t)(bytes >> 8 * (selector & 7)) & 255;

        if (selector & 8)
            byte = byte & 128 ? 255 : 0;
        d |= byte << 8 * i;
    }
    return d;
}

/* Selectors of the edge clamp modes (PTX ISA, table of "prmt"). */
static inline uint32_t clamp_selector(uint32_t c, bool left)
{
    uint32_t d = 0;

    for (uint32_t i = 0; i < 4; i++)
        d |= (left ? most(i, c) : least(i, c)) << 4 * i;
    return d;
}

/* PTX ISA, "bfe": beyond the value's end its sign, or zeros, follow. */
static inline uint64_t extract(uint64_t a, uint32_t from, uint32_t len, uint32_t bits, bool is_signed)
{
    uint32_t last = from + len - 1 < bits - 1 ? from + len - 1 : bits - 1;
    bool sign = is_signed && len && (a >> last & 1);
    uint64_t value = from < bits ? a >> from : 0;

    if (bits == 32 && from < 32)
        value = (a & FULL) >> from;
    if (len > bits - (from < bits ? from : bits))
        len = bits - (from < bits ? from : bits);
    if (len < 64)
        value &= (UINT64_C(1) << len) - 1;
    return sign && len < 64 ? value | ~UINT64_C(0) << len : value;
}

static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t at, uint32_t len, uint32_t bits)
{
    uint64_t mask;

    if (at >= bits || len == 0)
        return b;
    if (len > bits - at)
        len = bits - at;
    mask = (len < 64 ? (UINT64_C(1) << len) - 1 : ~UINT64_C(0)) << at;
    return (b & ~mask) | (a << at & mask);
}

static inline uint32_t find_signed(int32_t a)
{
    uint32_t u = a < 0 ? ~(uint32_t)a : (uint32_t)a;

    return u ? 31 - (uint32_t)__builtin_clz(u) : FULL;
}

static inline uint32_t find_wide(uint64_t a)
{
    return a ? 63 - (uint32_t)__builtin_clzll(a) : FULL;
}

/* The lowest 24 bits, with their sign. */
static inline uint32_t low24(uint32_t a)
{
    return (uint32_t)((int32_t)(a << 8) >> 8);
}

static inline uint32_t reverse(uint32_t a)
{
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}

/* ---- the rows as functions ----------------------------------------------------------- */

#define LANE_B16 Lane32
#define LANE_B32 Lane32
#define LANE_B64 Lane64
#define LANE_U16 Lane32
#define LANE_U32 Lane32
#define LANE_U64 Lane64
#define LANE_S16 Lane32
#define LANE_S32 LaneS32
#define LANE_S64 LaneS64
#define LANE_F16 Lane32
#define LANE_F16X2 Lane32
#define LANE_BF16 Lane32
#define LANE_BF16X2 Lane32
#define LANE_F32 LaneF32
#define LANE_F64 LaneF64

#define VALUE(T, x) T x = x##_lanes[l];
#define ALU1(id, name, type, D, A, cls, value)                                           \
    static void alu_##id(void *vd, const void *va, const void *vb, const void *vc,       \
                         const void *ve)                                                 \
    {                                                                                    \
        LANE_##D *d_lanes = vd;                                                          \
        const LANE_##A *a_lanes = va;                                                    \
        (void)vb, (void)vc, (void)ve;                                                    \
        EACH_LANE {                                                                      \
            VALUE(LANE_##A, a)                                                           \
            d_lanes[l] = (LANE_##D)(value);                                              \
        }                                                                                \
    }
#define ALU2(id, name, type, D, A, B, cls, value)                                        \
    static void alu_##id(void *vd, const void *va, const void *vb, const void *vc,       \
                         const void *ve)                                                 \
    {                                                                                    \
        LANE_##D *d_lanes = vd;                                                          \
        const LANE_##A *a_lanes = va;                                                    \
        const LANE_##B *b_lanes = vb;                                                    \
        (void)vc, (void)ve;                                                              \
        EACH_LANE {                                                                      \
            VALUE(LANE_##A, a)                                                           \
            VALUE(LANE_##B, b)                                                           \
            d_lanes[l] = (LANE_##D)(value);                                              \
        }                                                                                \
    }
#define ALU3(id, name, type, D, A, B, C, cls, value)                                     \
    static void alu_##id(void *vd, const void *va, const void *vb, const void *vc,       \
                         const void *ve)                                                 \
    {                                                                                    \
        LANE_##D *d_lanes = vd;                                                          \
        const LANE_##A *a_lanes = va;                                                    \
        const LANE_##B *b_lanes = vb;                                                    \
        const LANE_##C *c_lanes = vc;                                                    \
        (void)ve;                                                                        \
        EACH_LANE {                                                                      \
            VALUE(LANE_##A, a)                                                           \
            VALUE(LANE_##B, b)                                                           \
            VALUE(LANE_##C, c)                                                           \
            d_lanes[l] = (LANE_##D)(value);                                              \
        }                                                                                \
    }
#define ALU4(id, name, type, D, A, B, C, E, cls, value)                                  \
    static void alu_##id(void *vd, const void *va, const void *vb, const void *vc,       \
                         const void *ve)                                                 \
    {                                                                                    \
        LANE_##D *d_lanes = vd;                                                          \
        const LANE_##A *a_lanes = va;                                                    \
        const LANE_##B *b_lanes = vb;                                                    \
        const LANE_##C *c_lanes = vc;                                                    \
        const LANE_##E *e_lanes = ve;                                                    \
        EACH_LANE {                                                                      \
            VALUE(LANE_##A, a)                                                           \
            VALUE(LANE_##B, b)                                                           \
            VALUE(LANE_##C, c)                                                           \
            VALUE(LANE_##E, e)                                                           \
            d_lanes[l] = (LANE_##D)(value);                                              \
        }                                                                                \
    }
#define ALU_OWN(id, name, type, n, D, A, B, C, cls)
/* fma.f32 in double: the product is exact, the sum is rounded twice. That differs
 * from one rounding only when the first lands on a tie of the second or when the
 * result is subnormal; those lanes are found by their bits and done again. */
static bool fma_doubtful(double sum)
{
    union { double d; uint64_t u; } bits = { sum };
    uint64_t magnitude = bits.u & ~(UINT64_C(1) << 63);

    return (bits.u & 0x1fffffff) == 0x10000000 ||
           (magnitude - 1 < UINT64_C(0x3810000000000000) - 1);
}

static void alu_fma_f32(void *vd, const void *va, const void *vb, const void *vc, const void *ve)
{
    const LaneF32 *a = va, *b = vb, *c = vc;
    float d[LANES];
    double sum[LANES];
    unsigned doubtful = 0;

    (void)ve;
    for (int l = 0; l < LANES; l++)
        sum[l] = (double)a[l] * (double)b[l] + (double)c[l];
    for (int l = 0; l < LANES; l++)
        doubtful |= fma_doubtful(sum[l]);
    for (int l = 0; l < LANES; l++)
        d[l] = (float)sum[l];
    for (int l = 0; doubtful && l < LANES; l++)
        d[l] = fmaf(a[l], b[l], c[l]);
    memcpy(vd, d, sizeof d);
}

#include "emu/alu.def"
#undef ALU1
#undef ALU2
#undef ALU3
#undef ALU4
#undef ALU_OWN

#define ROW(id, name, type, n, D, A, B, C, E, cls)                                       \
    { name, ET_##type, alu_##id, n, ET_##D, { ET_##A, ET_##B, ET_##C, ET_##E }, EMU_##cls },
#define ALU1(id, name, type, D, A, cls, value) ROW(id, name, type, 1, D, A, A, A, A, cls)
#define ALU2(id, name, type, D, A, B, cls, value) ROW(id, name, type, 2, D, A, B, B, B, cls)
#define ALU3(id, name, type, D, A, B, C, cls, value) ROW(id, name, type, 3, D, A, B, C, C, cls)
#define ALU4(id, name, type, D, A, B, C, E, cls, value) ROW(id, name, type, 4, D, A, B, C, E, cls)
#define ALU_OWN(id, name, type, n, D, A, B, C, cls) ROW(id, name, type, n, D, A, B, C, C, cls)
const AluRow emu_alu_rows[] = {
#include "emu/alu.def"
};
const int emu_alu_row_count = (int)TW_COUNT(emu_alu_rows);

/* ---- carrying them out ------------------------------------------------------------------ */

void emu_merge32(void *to, const void *from, uint32_t mask)
{
    const Lane32 *f = from;
    Lane32 *t = to;

    if (mask == FULL) {
        memcpy(to, from, LANES * 4);
        return;
    }
    for (; mask; mask &= mask - 1)
        t[first_lane(mask)] = f[first_lane(mask)];
}

void emu_merge64(void *to, const void *from, uint32_t mask)
{
    const Lane64 *f = from;
    Lane64 *t = to;

    if (mask == FULL) {
        memcpy(to, from, LANES * 8);
        return;
    }
    for (; mask; mask &= mask - 1)
        t[first_lane(mask)] = f[first_lane(mask)];
}

static void merge(void *to, const void *from, uint32_t mask, int bytes)
{
    if (bytes == 8)
        emu_merge64(to, from, mask);
    else
        emu_merge32(to, from, mask);
}

static void call_alu(const Inst *in, void *d, const void *const s[4])
{
    in->fn.alu(d, s[0], s[1], s[2], s[3]);
}

static void sources(Warp *w, const Inst *in, const void *s[4])
{
    for (int i = 0; i < 4; i++)
        s[i] = i < in->ns ? src_at(w, in, i) : NULL;
}

void emu_exec_alu(Warp *w, const Inst *in, uint32_t mask)
{
    const void *s[4];
    uint64_t buffer[LANES];

    sources(w, in, s);
    if (mask == FULL) {
        call_alu(in, op_at(w, in, 0), s);
        return;
    }
    call_alu(in, buffer, s);
    merge(op_at(w, in, 0), buffer, mask, in->bytes);
}

/* .ftz: subnormals become zeros of their sign (PTX ISA, "Floating Point Comparisons" ff.) */
void emu_flush(Lane32 *to, const Lane32 *from)
{
    for (int l = 0; l < LANES; l++)
        to[l] = from[l] & 0x7f800000u ? from[l] : from[l] & 0x80000000u;
}

/* .sat: to [0, 1], NaN to 0 */
static void saturate(LaneF32 *d)
{
    for (int l = 0; l < LANES; l++)
        d[l] = d[l] > 0 ? d[l] < 1 ? d[l] : 1 : 0;
}

static void saturate16(Lane32 *d, bool f16, bool packed)
{
    const uint32_t one = f16 ? 0x3c00 : 0x3f80, nan = f16 ? 0x7c00 : 0x7f80;

    for (int l = 0; l < LANES; l++) {
        uint32_t result = 0;

        for (int half = 0; half <= packed; half++) {
            uint32_t x = d[l] >> 16 * half & 0xffffu;

            x = x & 0x8000u || x > nan ? 0 : x > one ? one : x;
            result |= x << 16 * half;
        }
        d[l] = result;
    }
}

/* .relu: below zero becomes 0, NaN the canonical one */
static void rectify16(Lane32 *d, bool f16, bool packed)
{
    const uint32_t infinity = f16 ? 0x7c00 : 0x7f80;

    for (int l = 0; l < LANES; l++) {
        uint32_t result = 0;

        for (int half = 0; half <= packed; half++) {
            uint32_t x = d[l] >> 16 * half & 0xffffu;

            x = (x & 0x7fffu) > infinity ? 0x7fffu : x & 0x8000u ? 0 : x;
            result |= x << 16 * half;
        }
        d[l] = result;
    }
}

static void apply_sat(const Inst *in, void *d)
{
    EmuType type = (EmuType)in->type;

    if (type == ET_F32)
        saturate(d);
    else if (type == ET_F64)
        for (int l = 0; l < LANES; l++)
            ((LaneF64 *)d)[l] = fmin(fmax(((LaneF64 *)d)[l], 0), 1);
    else
        saturate16(d, type == ET_F16 || type == ET_F16X2, type == ET_F16X2 || type == ET_BF16X2);
}

void emu_exec_alu_flags(Warp *w, const Inst *in, uint32_t mask)
{
    const void *s[4];
    Lane32 flushed[4][LANES];
    uint64_t buffer[LANES];

    sources(w, in, s);
    for (int i = 0; i < in->ns && (in->flags & IF_FTZ); i++) {
        emu_flush(flushed[i], s[i]);
        s[i] = flushed[i];
    }
    call_alu(in, buffer, s);
    if (in->flags & IF_FTZ)
        emu_flush((Lane32 *)buffer, (Lane32 *)buffer);
    if (in->flags & IF_SAT)
        apply_sat(in, buffer);
    if (in->flags & IF_RELU)
        rectify16((Lane32 *)buffer, in->type == ET_F16 || in->type == ET_F16X2, emu_types[in->type].bytes == 4);
    merge(op_at(w, in, 0), buffer, mask, in->bytes);
}

/* ---- chains of carries (PTX ISA, "Extended-Precision Integer Arithmetic Instructions") ------------- */

/* a + b + carry, of so many bytes; *carry: out of it. */
static uint64_t add_carry(uint64_t a, uint64_t b, int bytes, bool *carry)
{
    uint64_t sum = a + b, all = sum + *carry;

    *carry = bytes == 8 ? sum < a || all < sum : all >> 32;
    return bytes == 8 ? all : all & FULL;
}

/* a - b - borrow */
static uint64_t sub_borrow(uint64_t a, uint64_t b, int bytes, bool *borrow)
{
    uint64_t rest = a - b, all = rest - *borrow;

    *borrow = a < b || rest < *borrow;
    return bytes == 8 ? all : all & FULL;
}

static uint64_t product_part(const Inst *in, uint64_t a, uint64_t b)
{
    bool is_signed = emu_types[in->type].kind == TK_SIGNED;

    if (in->aux == CARRY_MAD_LO)
        return in->bytes == 8 ? a * b : a * b & FULL;
    if (in->bytes == 8)
        return is_signed ? high_s64(a, b) : high_u64(a, b);
    return is_signed ? (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32) : a * b >> 32;
}

/* Sources a, b, c of mad, then the carry where it is taken; destinations d, then the carry where it is given. */
void emu_exec_carry(Warp *w, const Inst *in, uint32_t mask)
{
    bool mad = in->aux == CARRY_MAD_LO || in->aux == CARRY_MAD_HI, takes = in->ns > 2 + mad;
    uint32_t carries = takes ? *(Lane32 *)src_at(w, in, 2 + mad) : 0, out = 0;
    uint64_t wide[LANES];
    uint32_t narrow[LANES];

    for (int l = 0; l < LANES; l++) {
        uint64_t a = lane_bits(src_at(w, in, 0), in->bytes, l), b = lane_bits(src_at(w, in, 1), in->bytes, l);
        bool carry = lane_on(carries, l);

        if (mad) {
            a = product_part(in, a, b);
            b = lane_bits(src_at(w, in, 2), in->bytes, l);
        }
        wide[l] = in->aux == CARRY_SUB ? sub_borrow(a, b, in->bytes, &carry) : add_carry(a, b, in->bytes, &carry);
        narrow[l] = (uint32_t)wide[l];
        out |= (uint32_t)carry << l;
    }
    if (in->bytes == 8)
        emu_merge64(op_at(w, in, 0), wide, mask);
    else
        emu_merge32(op_at(w, in, 0), narrow, mask);
    if (in->nd > 1)
        emu_merge_pred(w, in, 1, out, mask);
}

/* ---- video instructions (PTX ISA, "SIMD Video Instructions") --------------------------------------- */

static int32_t part_of(uint32_t x, int i, int bits, bool is_signed)
{
    uint32_t part = x >> bits * i & (bits == 8 ? 0xffu : 0xffffu), sign = 1u << (bits - 1);

    return (int32_t)(is_signed ? (part ^ sign) - sign : part);
}

static int32_t of_parts(Simd op, int32_t a, int32_t b)
{
    switch (op) {
    case SIMD_ADD:
        return a + b;
    case SIMD_SUB:
        return a - b;
    case SIMD_AVERAGE: /* away from zero, where it lies between */
        return (a + b + (a + b >= 0)) >> 1;
    case SIMD_DIFFERENCE:
        return a > b ? a - b : b - a;
    case SIMD_MIN:
        return least(a, b);
    case SIMD_MAX:
        return most(a, b);
    case SIMD_COUNT:
        break;
    }
    return 0;
}

/* To the range of a part of either sign. */
static int32_t limited(int32_t x, int bits, bool is_signed)
{
    int32_t low = is_signed ? -(1 << (bits - 1)) : 0, high = (1 << (bits - is_signed)) - 1;

    return x < low ? low : x > high ? high : x;
}

/* vec: parts of a register; imm: their sum and c is wanted, not each by itself. */
void emu_exec_simd(Warp *w, const Inst *in, uint32_t mask)
{
    const Lane32 *a = src_at(w, in, 0), *b = src_at(w, in, 1), *c = src_at(w, in, 2);
    bool a_signed = in->from & 1, b_signed = in->from & 2, to_signed = emu_types[in->type].kind == TK_SIGNED;
    int bits = 32 / in->vec;
    uint32_t result[LANES];

    for (int l = 0; l < LANES; l++) {
        uint32_t sum = c[l], parts = 0;

        for (int i = 0; i < in->vec; i++) {
            int32_t part = of_parts((Simd)in->aux, part_of(a[l], i, bits, a_signed), part_of(b[l], i, bits, b_signed));

            part = in->flags & IF_SAT ? limited(part, bits, to_signed) : part;
            parts |= ((uint32_t)part & (bits == 8 ? 0xffu : 0xffffu)) << bits * i;
            sum += (uint32_t)part;
        }
        result[l] = in->imm ? sum : parts;
    }
    emu_merge32(op_at(w, in, 0), result, mask);
}

/* ---- moves and selections ------------------------------------------------------------------ */

void emu_exec_mov(Warp *w, const Inst *in, uint32_t mask)
{
    merge(op_at(w, in, 0), src_at(w, in, 0), mask, in->bytes);
}

void emu_exec_selp(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t choose = *(Lane32 *)src_at(w, in, 2) ^ (in->imm ? FULL : 0);
    uint64_t buffer[LANES];

    memcpy(buffer, src_at(w, in, 1), (size_t)in->bytes * LANES);
    merge(buffer, src_at(w, in, 0), choose, in->bytes);
    merge(op_at(w, in, 0), buffer, mask, in->bytes);
}

/* slct: a where c >= 0, else b; NaN chooses b, -0 chooses a */
void emu_exec_slct(Warp *w, const Inst *in, uint32_t mask)
{
    const void *c = src_at(w, in, 2);
    uint64_t buffer[LANES];
    Lane32 flushed[LANES];
    uint32_t choose = 0;

    if (in->flags & IF_FTZ) {
        emu_flush(flushed, c);
        c = flushed;
    }
    for (int l = 0; l < LANES; l++) {
        bool a = in->from == ET_F32 ? ((const LaneF32 *)c)[l] >= 0 : ((const LaneS32 *)c)[l] >= 0;

        choose |= (uint32_t)a << l;
    }
    memcpy(buffer, src_at(w, in, 1), (size_t)in->bytes * LANES);
    merge(buffer, src_at(w, in, 0), choose, in->bytes);
    merge(op_at(w, in, 0), buffer, mask, in->bytes);
}

/* mov.b64 d, {a, b}: the first is the lowest */
void emu_exec_pack(Warp *w, const Inst *in, uint32_t mask)
{
    uint64_t wide[LANES] = { 0 };
    uint32_t narrow[LANES];

    for (int i = 0; i < in->ns; i++) {
        const Lane32 *part = src_at(w, in, i);

        for (int l = 0; l < LANES; l++)
            wide[l] |= (uint64_t)part[l] << 8 * in->bytes * i;
    }
    if (emu_types[in->type].bytes == 8) {
        emu_merge64(op_at(w, in, 0), wide, mask);
        return;
    }
    for (int l = 0; l < LANES; l++)
        narrow[l] = (uint32_t)wide[l];
    emu_merge32(op_at(w, in, 0), narrow, mask);
}

/* mov.b64 {a, b}, s */
void emu_exec_unpack(Warp *w, const Inst *in, uint32_t mask)
{
    const void *from = src_at(w, in, 0);
    uint64_t wide[LANES];

    for (int l = 0; l < LANES; l++)
        wide[l] = emu_types[in->type].bytes == 8 ? ((const Lane64 *)from)[l]
                                                 : ((const Lane32 *)from)[l];
    for (int i = 0; i < in->nd; i++) {
        uint32_t part[LANES];

        for (int l = 0; l < LANES; l++)
            part[l] = (uint32_t)(wide[l] >> 8 * in->bytes * i) & (in->bytes == 2 ? 0xffffu : FULL);
        emu_merge32(op_at(w, in, i), part, mask);
    }
}

void emu_merge_pred(Warp *w, const Inst *in, int k, uint32_t value, uint32_t mask)
{
    Lane32 *d = op_at(w, in, k);

    *d = (*d & ~mask) | (value & mask);
}

void emu_exec_mov_pred(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t flip = in->imm ? FULL : 0;

    emu_merge_pred(w, in, 0, in->ns ? *(Lane32 *)src_at(w, in, 0) ^ flip : flip, mask);
}

void emu_exec_logic_pred(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t a = *(Lane32 *)src_at(w, in, 0) ^ (in->imm & 1 ? FULL : 0);
    uint32_t b = in->ns > 1 ? *(Lane32 *)src_at(w, in, 1) ^ (in->imm & 2 ? FULL : 0) : 0;
    const uint32_t value[] = { a & b, a | b, a ^ b, ~a };

    emu_merge_pred(w, in, 0, value[in->aux], mask);
}
