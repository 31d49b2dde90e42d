/* wgmma_math.c: where the matrices of a wgmma lie in shared memory and registers,
 * and their product (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions":
 * "Register Fragments and Shared Memory Matrix Layouts", "Matrix Descriptor Format").
 *
 * A descriptor's fields, in units of 16 bytes: start address (bits 0 to 13),
 * leading offset (16 to 29), stride offset (32 to 45); the swizzle is in bits 62
 * and 63. With units of 16 bytes (T elements) and a span S of the swizzle, 16
 * where there is none, unit u of
 *
 *     K-major    row r, column c of units     r % 8 * S + r / 8 * stride
 *                                             + c * (S == 16 ? leading : 16)
 *     M-, N-major  row k, unit c along M or N   k % 8 * S + k / 8 * far
 *                                             + c % (S / 16) * 16 + c / (S / 16) * near
 *
 * far is the stride offset and near the leading offset, the other way round where
 * nothing is swizzled. Then address bits are exchanged as in tensor_map.c.
 *
 * Warp v of the warpgroup has rows 16 v to 16 v + 15. With g = lane / 4 and
 * t = lane % 4, register 4 j + 2 h + e of the accumulator holds
 * D [16 v + g + 8 h] [8 j + 2 t + e], where D is fp16 register 2 j + h both of these; A in registers is as in
 * exec_mma.c.
 *
 * Products are exact in fp32 and are added in fp32, in order of k. Those of integers are exact there as well, as
 * long as they are added from 0 on; what the accumulator had is added as an integer.
 */
#include "emu/async.h"

enum { UNIT = 16, MOST_N = 256, MOST_K = 32, ROWS = 16, A_REGISTERS = 4 };

typedef float V4 __attribute__((vector_size(16)));

#define ROWS_OF_FP8(d)                                                                   \
    { d, ET_E4M3, ET_E4M3, 32, false }, { d, ET_E4M3, ET_E5M2, 32, false },              \
    { d, ET_E5M2, ET_E4M3, 32, false }, { d, ET_E5M2, ET_E5M2, 32, false }
const WgmmaRow emu_wgmma_rows[] = {
    { ET_F32, ET_BF16, ET_BF16, 16, true }, { ET_F32, ET_F16, ET_F16, 16, true }, { ET_F16, ET_F16, ET_F16, 16, true },
    { ET_F32, ET_TF32, ET_TF32, 8, false }, ROWS_OF_FP8(ET_F32), ROWS_OF_FP8(ET_F16),
    { ET_S32, ET_S8, ET_S8, 32, false }, { ET_S32, ET_S8, ET_U8, 32, false },
    { ET_S32, ET_U8, ET_S8, 32, false }, { ET_S32, ET_U8, ET_U8, 32, false },
};
const int emu_wgmma_row_count = (int)TW_COUNT(emu_wgmma_rows);

/* ---- shared memory ---------------------------------------------------------------------- */

static uint32_t field(uint64_t descriptor, int bit)
{
    return (uint32_t)(descriptor >> bit & 0x3fff) << 4;
}

WgmmaMatrix emu_wgmma_matrix(uint64_t descriptor, int rows, int k, int bytes, bool major_k)
{
    static const int spans[] = { 16, 128, 64, 32 };

    return (WgmmaMatrix){ .start = field(descriptor, 0), .leading = field(descriptor, 16),
                          .stride = field(descriptor, 32), .span = spans[descriptor >> 62],
                          .rows = rows, .k = k, .bytes = bytes, .major_k = major_k };
}

/* Units along the contiguous dimension. */
static int units_across(const WgmmaMatrix *x)
{
    return (x->major_k ? x->k : x->rows) * x->bytes / UNIT;
}

/* How far unit c of a row lies from its first. */
static uint32_t unit_offset(const WgmmaMatrix *x, uint32_t c)
{
    uint32_t in_span = (uint32_t)x->span / UNIT;
    bool plain = x->span == UNIT;

    if (x->major_k)
        return c * (plain ? x->leading : UNIT);
    return c % in_span * UNIT + c / in_span * (plain ? x->stride : x->leading);
}

int emu_wgmma_units(const WgmmaMatrix *x, uint32_t at[MAX_UNITS])
{
    int across = units_across(x), rows = x->major_k ? x->rows : x->k, count = 0;
    bool plain = x->span == UNIT;
    uint32_t far = plain && !x->major_k ? x->leading : x->stride, offset[MAX_UNITS];

    for (int c = 0; c < across; c++)
        offset[c] = unit_offset(x, (uint32_t)c);
    for (int row = 0; row < rows; row++) {
        uint32_t first = x->start + (uint32_t)(row / 8) * far + (uint32_t)(row % 8 * x->span);

        for (int c = 0; c < across; c++)
            at[count++] = emu_swizzle(plain ? 0 : x->span, first + offset[c]);
    }
    return count;
}

static float element(const Async *a, EmuType type, const uint8_t *from)
{
    union { uint32_t u; float f; } word;
    uint16_t half;

    if (type == ET_S8)
        return (float)(int8_t)*from;
    if (type == ET_U8)
        return (float)*from;
    if (type == ET_E4M3 || type == ET_E5M2)
        return a->fp8[type == ET_E5M2][*from];
    if (type == ET_TF32) {
        memcpy(&word.u, from, 4);
        word.u &= 0xffffe000u;
        return word.f;
    }
    memcpy(&half, from, 2);
    return type == ET_BF16 ? emu_bf16_load(half) : emu_f16_load(half);
}

/* Element (row, k) goes to to[k * pitch + row]. */
static void load_matrix(const Machine *m, const WgmmaMatrix *x, EmuType type, float sign, float *to, int pitch)
{
    uint32_t at[MAX_UNITS];
    int per = UNIT / x->bytes, across = units_across(x), units = emu_wgmma_units(x, at);

    for (int u = 0; u < units; u++) {
        const uint8_t *from = m->shared + at[u];
        int row = u / across, first = u % across * per;

        for (int i = 0; i < per; i++) {
            float value = sign * element(m->async, type, from + i * x->bytes);

            to[x->major_k ? (first + i) * pitch + row : row * pitch + first + i] = value;
        }
    }
}

/* ---- registers ------------------------------------------------------------------------------ */

/* A of one warp: element i of register r is [g + 8 (r % 2)] [t n + i + 4 n (r / 2)]. */
static void load_a_registers(Warp *w, const WgmmaOp *op, const WgmmaRow *row, float sign, float *a)
{
    int bytes = emu_types[row->a].bytes, n = 4 / bytes;

    for (int r = 0; r < A_REGISTERS; r++) {
        const Lane32 *lanes = src_at(w, op->in, r);

        for (int l = 0; l < LANES; l++) {
            uint32_t word = lanes[l];
            uint8_t part[4];

            memcpy(part, &word, 4);
            for (int i = 0; i < n; i++)
                a[(l % 4 * n + i + 4 * n * (r / 2)) * ROWS + l / 4 + 8 * (r % 2)] =
                    sign * element(w->m->async, row->a, part + i * bytes);
        }
    }
}

/* Where lane 0's element of accumulator register i lies; lane 4 g + t follows g rows
 * and 2 t columns on. */
static int d_first(int i, int n)
{
    return 8 * (i / 2 % 2) * n + i / 4 * 8 + i % 2;
}

static void load_d(Warp *w, const WgmmaOp *op, EmuType type, int n, float *d)
{
    if (!op->add || type == ET_S32) {
        memset(d, 0, (size_t)(ROWS * n) * sizeof *d);
        return;
    }
    for (int i = 0; i < n / 2; i++) {
        float *row = d + d_first(i, n);
        const void *from = op_at(w, op->in, type == ET_F16 ? i / 2 : i);

        for (int l = 0; l < LANES; l += 4, row += n) {
            for (int t = 0; t < 4; t++)
                row[2 * t] = type == ET_F16 ? emu_f16_load(((const Lane32 *)from)[l + t] >> 16 * (i % 2) & 0xffffu)
                                            : ((const LaneF32 *)from)[l + t];
        }
    }
}

static void store_single(void *lanes, int l, float x)
{
    ((LaneF32 *)lanes)[l] = x;
}

/* The halves of a register come one after the other. */
static void store_half(void *lanes, int l, int half, float x)
{
    Lane32 *word = &((Lane32 *)lanes)[l];

    *word = half ? (*word & 0xffffu) | emu_f16_store(x) << 16 : emu_f16_store(x);
}

static void store_sum(const WgmmaOp *op, void *lanes, int l, float x)
{
    int64_t sum = (int64_t)x + (op->add ? ((const LaneS32 *)lanes)[l] : 0);

    if (op->in->flags & IF_SAT)
        sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
    ((Lane32 *)lanes)[l] = (uint32_t)(uint64_t)sum;
}

static void store_d(Warp *w, const WgmmaOp *op, EmuType type, int n, const float *d)
{
    for (int i = 0; i < n / 2; i++) {
        void *lanes = op_at(w, op->in, type == ET_F16 ? i / 2 : i);
        const float *row = d + d_first(i, n);

        for (int l = 0; l < LANES; l += 4, row += n) {
            for (int t = 0; t < 4; t++) {
                if (type == ET_F32)
                    store_single(lanes, l + t, row[2 * t]);
                else if (type == ET_F16)
                    store_half(lanes, l + t, i % 2, row[2 * t]);
                else
                    store_sum(op, lanes, l + t, row[2 * t]);
            }
        }
    }
}

/* ---- the product ------------------------------------------------------------------------------ */

static inline V4 load4(const float *from)
{
    V4 x;

    memcpy(&x, from, sizeof x);
    return x;
}

static inline void store4(float *to, V4 x)
{
    memcpy(to, &x, sizeof x);
}

/* Four rows and eight columns at a time stay in registers, written out so that they do. */
static void multiply_block(const float *a, const float *b, float *d, int n, int k)
{
    V4 d0 = load4(d), d1 = load4(d + n), d2 = load4(d + 2 * n), d3 = load4(d + 3 * n);
    V4 e0 = load4(d + 4), e1 = load4(d + n + 4), e2 = load4(d + 2 * n + 4), e3 = load4(d + 3 * n + 4);

    for (int i = 0; i < k; i++, a += ROWS, b += n) {
        V4 low = load4(b), high = load4(b + 4);

        d0 += a[0] * low;
        e0 += a[0] * high;
        d1 += a[1] * low;
        e1 += a[1] * high;
        d2 += a[2] * low;
        e2 += a[2] * high;
        d3 += a[3] * low;
        e3 += a[3] * high;
    }
    store4(d, d0);
    store4(d + n, d1);
    store4(d + 2 * n, d2);
    store4(d + 3 * n, d3);
    store4(d + 4, e0);
    store4(d + n + 4, e1);
    store4(d + 2 * n + 4, e2);
    store4(d + 3 * n + 4, e3);
}

static void multiply_warp(Warp *w, const WgmmaOp *op, const WgmmaRow *row, int v, const float *b)
{
    float a[MOST_K * ROWS], d[ROWS * MOST_N];
    float sign = op->in->imm & WG_NEGATE_A ? -1.0f : 1.0f;
    int n = op->in->aux;

    if (op->in->imm & WG_A_REGISTERS) {
        load_a_registers(w, op, row, sign, a);
    } else {
        WgmmaMatrix x = emu_wgmma_matrix(op->a, WARPGROUP * ROWS, row->k, emu_types[row->a].bytes,
                                         !(op->in->imm & WG_TRANS_A));
        float all[MOST_K * WARPGROUP * ROWS];

        load_matrix(w->m, &x, row->a, sign, all, WARPGROUP * ROWS);
        for (int i = 0; i < row->k; i++)
            memcpy(a + i * ROWS, all + i * WARPGROUP * ROWS + v * ROWS, ROWS * sizeof *a);
    }
    load_d(w, op, row->d, n, d);
    for (int r = 0; r < ROWS; r += 4) {
        for (int c = 0; c < n; c += 8)
            multiply_block(a + r, b + c, d + r * n + c, n, row->k);
    }
    store_d(w, op, row->d, n, d);
}

void emu_wgmma_multiply(Machine *m, int group, const WgmmaOp *op)
{
    const WgmmaRow *row = op->in->fn.row;
    int n = op->in->aux;
    WgmmaMatrix x = emu_wgmma_matrix(op->b, n, row->k, emu_types[row->b].bytes, !(op->in->imm & WG_TRANS_B));
    float b[MOST_K * MOST_N];

    if (op->bad)
        return;
    load_matrix(m, &x, row->b, op->in->imm & WG_NEGATE_B ? -1.0f : 1.0f, b, n);
    for (int v = 0; v < WARPGROUP; v++)
        multiply_warp(&m->warps[group * WARPGROUP + v], op, row, v, b);
}
