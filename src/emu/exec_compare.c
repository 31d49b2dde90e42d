/* exec_compare.c: setp and set: comparisons whose results are masks. */
#include "emu/machine.h"

/* Each comparison of each kind of lane, with integers' and ordered floats' names
 * for the first six, and the unordered and NaN tests of floats after them
 * (PTX ISA, "Comparison and Selection Instructions"). */
#define COMPARE(id, T, load, test)                                                       \
    static uint32_t cmp_##id(const void *va, const void *vb)                             \
    {                                                                                    \
        const T *a_lanes = va, *b_lanes = vb;                                            \
        uint32_t mask = 0;                                                               \
                                                                                         \
        for (int l = 0; l < LANES; l++) {                                                \
            load x = load##_of(a_lanes[l]), y = load##_of(b_lanes[l]);                   \
            mask |= (uint32_t)(test) << l;                                               \
        }                                                                                \
        return mask;                                                                     \
    }

typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef int16_t s16;
typedef float f32, f16, bf16;
typedef double f64;
#define u32_of(x) (x)
#define s32_of(x) (x)
#define u64_of(x) (x)
#define s64_of(x) (x)
#define s16_of(x) ((int16_t)(x))
#define f32_of(x) (x)
#define f64_of(x) (x)
#define f16_of(x) emu_f16_load(x)
#define bf16_of(x) emu_bf16_load(x)

#define ORDERED(kind, T, load)                                                           \
    COMPARE(eq_##kind, T, load, x == y)                                                  \
    COMPARE(ne_##kind, T, load, x != y)                                                  \
    COMPARE(lt_##kind, T, load, x < y)                                                   \
    COMPARE(le_##kind, T, load, x <= y)                                                  \
    COMPARE(gt_##kind, T, load, x > y)                                                   \
    COMPARE(ge_##kind, T, load, x >= y)
/* ne is false, and so not C's !=, where an operand is NaN. */
#define FLOATING(kind, T, load)                                                          \
    COMPARE(eq_##kind, T, load, x == y)                                                  \
    COMPARE(ne_##kind, T, load, x < y || x > y)                                          \
    COMPARE(lt_##kind, T, load, x < y)                                                   \
    COMPARE(le_##kind, T, load, x <= y)                                                  \
    COMPARE(gt_##kind, T, load, x > y)                                                   \
    COMPARE(ge_##kind, T, load, x >= y)                                                  \
    COMPARE(equ_##kind, T, load, !(x < y || x > y))                                      \
    COMPARE(neu_##kind, T, load, x != y)                                                 \
    COMPARE(ltu_##kind, T, load, !(x >= y))                                              \
    COMPARE(leu_##kind, T, load, !(x > y))                                               \
    COMPARE(gtu_##kind, T, load, !(x <= y))                                              \
    COMPARE(geu_##kind, T, load, !(x < y))                                               \
    COMPARE(num_##kind, T, load, x == x && y == y)                                       \
    COMPARE(nan_##kind, T, load, x != x || y != y)

ORDERED(u32, Lane32, u32)
ORDERED(s32, LaneS32, s32)
ORDERED(s16, Lane32, s16)
ORDERED(u64, Lane64, u64)
ORDERED(s64, LaneS64, s64)
FLOATING(f16, Lane32, f16)
FLOATING(bf16, Lane32, bf16)
FLOATING(f32, LaneF32, f32)
FLOATING(f64, LaneF64, f64)

#define ORDERED_ROW(kind)                                                                \
    { [CMP_EQ] = cmp_eq_##kind, [CMP_NE] = cmp_ne_##kind, [CMP_LT] = cmp_lt_##kind,      \
      [CMP_LE] = cmp_le_##kind, [CMP_GT] = cmp_gt_##kind, [CMP_GE] = cmp_ge_##kind }
#define BITS_ROW(kind) { [CMP_EQ] = cmp_eq_##kind, [CMP_NE] = cmp_ne_##kind }
#define FLOATING_ROW(kind)                                                               \
    { [CMP_EQ] = cmp_eq_##kind, [CMP_NE] = cmp_ne_##kind, [CMP_LT] = cmp_lt_##kind,      \
      [CMP_LE] = cmp_le_##kind, [CMP_GT] = cmp_gt_##kind, [CMP_GE] = cmp_ge_##kind,      \
      [CMP_EQU] = cmp_equ_##kind, [CMP_NEU] = cmp_neu_##kind, [CMP_LTU] = cmp_ltu_##kind, \
      [CMP_LEU] = cmp_leu_##kind, [CMP_GTU] = cmp_gtu_##kind, [CMP_GEU] = cmp_geu_##kind, \
      [CMP_NUM] = cmp_num_##kind, [CMP_NAN] = cmp_nan_##kind }

static const CmpFn compares[ET_COUNT][CMP_COUNT] = {
    [ET_B16] = BITS_ROW(u32), [ET_B32] = BITS_ROW(u32), [ET_B64] = BITS_ROW(u64),
    [ET_U16] = ORDERED_ROW(u32), [ET_U32] = ORDERED_ROW(u32), [ET_U64] = ORDERED_ROW(u64),
    [ET_S16] = ORDERED_ROW(s16), [ET_S32] = ORDERED_ROW(s32), [ET_S64] = ORDERED_ROW(s64),
    [ET_F16] = FLOATING_ROW(f16), [ET_BF16] = FLOATING_ROW(bf16),
    [ET_F32] = FLOATING_ROW(f32), [ET_F64] = FLOATING_ROW(f64),
};

CmpFn emu_compare(Compare op, EmuType type)
{
    return compares[type][op];
}

void emu_exec_setp(Warp *w, const Inst *in, uint32_t mask)
{
    emu_merge_pred(w, in, 0, in->fn.cmp(src_at(w, in, 0), src_at(w, in, 1)), mask);
}

/* aux: 0 none, 1 and, 2 or, 3 xor with c, the last source */
static uint32_t combined(Warp *w, const Inst *in, uint32_t value)
{
    uint32_t c;

    if (!in->aux)
        return value;
    c = *(Lane32 *)src_at(w, in, 2) ^ (in->imm ? FULL : 0);
    return in->aux == 1 ? value & c : in->aux == 2 ? value | c : value ^ c;
}

static uint32_t compared(Warp *w, const Inst *in)
{
    const void *a = src_at(w, in, 0), *b = src_at(w, in, 1);
    Lane32 flushed[2][LANES];

    if (!(in->flags & IF_FTZ))
        return in->fn.cmp(a, b);
    emu_flush(flushed[0], a);
    emu_flush(flushed[1], b);
    return in->fn.cmp(flushed[0], flushed[1]);
}

/* The full form: p = cmp bool c, q = !cmp bool c. */
void emu_exec_setp2(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t value = compared(w, in), p, q;

    p = combined(w, in, value);
    q = combined(w, in, ~value);
    emu_merge_pred(w, in, 0, p, mask);
    if (in->nd > 1)
        emu_merge_pred(w, in, 1, q, mask);
}

/* What a comparison gives where it holds: 1 as a float, else all ones. */
static uint32_t truth_of(EmuType type)
{
    switch (emu_types[type].kind) {
    case TK_FLOAT:
        return type == ET_F32 ? 0x3f800000u : type == ET_F16 || type == ET_F16X2 ? 0x3c00u : 0x3f80u;
    case TK_BITS:
    case TK_UNSIGNED:
    case TK_SIGNED:
    case TK_PREDICATE:
        break;
    }
    return emu_types[type].bytes == 2 ? 0xffffu : FULL;
}

void emu_exec_set(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t value = combined(w, in, compared(w, in));
    uint32_t truth = truth_of((EmuType)in->type), result[LANES];

    for (int l = 0; l < LANES; l++)
        result[l] = value >> l & 1 ? truth : 0;
    emu_merge32(op_at(w, in, 0), result, mask);
}

/* ---- pairs of halves ------------------------------------------------------------------ */

static uint32_t compared_half(Warp *w, const Inst *in, int half)
{
    const Lane32 *a = src_at(w, in, 0), *b = src_at(w, in, 1);
    Lane32 parts[2][LANES];

    for (int l = 0; l < LANES; l++) {
        parts[0][l] = a[l] >> 16 * half & 0xffffu;
        parts[1][l] = b[l] >> 16 * half & 0xffffu;
    }
    return combined(w, in, in->fn.cmp(parts[0], parts[1]));
}

/* p of the low halves, q of the high ones */
void emu_exec_setp_pair(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t low = compared_half(w, in, 0), high = compared_half(w, in, 1);

    emu_merge_pred(w, in, 0, low, mask);
    emu_merge_pred(w, in, 1, high, mask);
}

/* Each half of the result is what its halves give. */
void emu_exec_set_pair(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t low = compared_half(w, in, 0), high = compared_half(w, in, 1);
    uint32_t truth = truth_of((EmuType)in->type) & 0xffffu, result[LANES];

    for (int l = 0; l < LANES; l++)
        result[l] = (low >> l & 1 ? truth : 0) | (high >> l & 1 ? truth << 16 : 0);
    emu_merge32(op_at(w, in, 0), result, mask);
}

/* ---- kinds of numbers and of addresses ---------------------------------------------------- */

/* aux: which kind (PTX ISA, "testp"). */
void emu_exec_testp(Warp *w, const Inst *in, uint32_t mask)
{
    int digits = in->bytes == 8 ? 52 : 23, exponents = in->bytes == 8 ? 0x7ff : 0xff;
    uint32_t holds = 0;

    for (int l = 0; l < LANES; l++) {
        uint64_t bits = lane_bits(src_at(w, in, 0), in->bytes, l), fraction = bits & ((UINT64_C(1) << digits) - 1);
        int exponent = (int)(bits >> digits) & exponents;
        bool is[TEST_COUNT] = {
            [TEST_FINITE] = exponent != exponents, [TEST_INFINITE] = exponent == exponents && !fraction,
            [TEST_NUMBER] = exponent != exponents || !fraction, [TEST_NAN] = exponent == exponents && fraction,
            [TEST_NORMAL] = exponent && exponent != exponents, [TEST_SUBNORMAL] = !exponent && fraction,
        };

        holds |= (uint32_t)is[in->aux] << l;
    }
    emu_merge_pred(w, in, 0, holds, mask);
}

/* imm: where the window begins that is asked for; 0: none of them, that is global memory. */
void emu_exec_isspacep(Warp *w, const Inst *in, uint32_t mask)
{
    static const uint64_t windows[] = { SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW };
    uint32_t holds = 0;

    for (int l = 0; l < LANES; l++) {
        uint64_t address = lane_bits(src_at(w, in, 0), 8, l), window = 0;

        for (size_t i = 0; i < TW_COUNT(windows); i++) {
            if (address >= windows[i] && address - windows[i] < WINDOW_BYTES)
                window = windows[i];
        }
        holds |= (uint32_t)(window == (uint64_t)in->imm) << l;
    }
    emu_merge_pred(w, in, 0, holds, mask);
}
