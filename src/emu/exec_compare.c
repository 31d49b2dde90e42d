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

/* true is all ones, or 1.0f where the result is .f32 */
void emu_exec_set(Warp *w, const Inst *in, uint32_t mask)
{
    uint32_t value = combined(w, in, compared(w, in));
    uint32_t truth = in->type == ET_F32 ? 0x3f800000u : FULL, result[LANES];

    for (int l = 0; l < LANES; l++)
        result[l] = value >> l & 1 ? truth : 0;
    emu_merge32(op_at(w, in, 0), result, mask);
}
