/* exec_mma.c: the tensor cores: mma.sync.
 *
 * One rule gives the fragments of all m16n8 shapes (PTX ISA, "Matrix Fragments
 * for mma.m16n8k*"). With n elements a 32-bit register, g = lane / 4 and
 * t = lane % 4, element i of register r holds
 *
 *     A [g + 8 * (r % 2)] [t * n + i + 4 * n * (r / 2)]
 *     B [t * n + i + 4 * n * r] [g]
 *     C, D of 32 bits: register r       [g + 8 * (r / 2)] [2 * t + r % 2]
 *     C, D of 16 bits: register r       [g + 8 * r]       [2 * t + i]
 *
 * So the lanes 4 g … 4 g + 3 of a register hold four even or four odd columns
 * of a row of D: two vectors a row, and B is laid out to match.
 *
 * Products are exact in fp32. Hardware adds them in an order and precision that
 * the manual leaves open; here they are added to c in fp32, in order of k.
 */
#include "emu/machine.h"

enum { MAX_A = 4, MAX_B = 2, MOST = 4, QUADS = 8 };

typedef float V4 __attribute__((vector_size(16)));

const MmaRow emu_mma_rows[] = {
    { "m16n8k16", ET_F16, ET_F16, ET_F32, 4, 2, 4 },
    { "m16n8k16", ET_BF16, ET_BF16, ET_F32, 4, 2, 4 },
    { "m16n8k16", ET_F16, ET_F16, ET_F16, 4, 2, 2 },
    { "m16n8k8", ET_F16, ET_F16, ET_F32, 2, 1, 4 },
    { "m16n8k8", ET_F16, ET_F16, ET_F16, 2, 1, 2 },
    { "m16n8k8", ET_BF16, ET_BF16, ET_F32, 2, 1, 4 },
    { "m16n8k8", ET_TF32, ET_TF32, ET_F32, 4, 2, 4 },
    { "m16n8k4", ET_TF32, ET_TF32, ET_F32, 2, 1, 4 },
    { "m16n8k32", ET_E4M3, ET_E4M3, ET_F32, 4, 2, 4 },
    { "m16n8k32", ET_E4M3, ET_E5M2, ET_F32, 4, 2, 4 },
    { "m16n8k32", ET_E5M2, ET_E4M3, ET_F32, 4, 2, 4 },
    { "m16n8k32", ET_E5M2, ET_E5M2, ET_F32, 4, 2, 4 },
};
const int emu_mma_row_count = (int)TW_COUNT(emu_mma_rows);

/* ---- elements of a register of all lanes ------------------------------------------ */

/* e5m2 is the upper byte of an f16; e4m3 has its exponent 8 lower, and one NaN. */
static inline float e5m2_value(uint32_t byte)
{
    return emu_half_value(byte << 8);
}

static inline float e4m3_value(uint32_t byte)
{
    union { uint32_t u; float f; } nan = { 0x7fffffffu };
    float x = emu_half_value((byte & 0x80u) << 8 | (byte & 0x7fu) << 7) * 256.0f;

    return (byte & 0x7fu) == 0x7fu ? nan.f : x;
}

/* tf32 ignores 13 bits. */
static inline float tf32_value(uint32_t bits)
{
    union { uint32_t u; float f; } x = { bits & 0xffffe000u };

    return x.f;
}

static inline float bf16_value(uint32_t bits)
{
    return emu_bf16_load(bits);
}

#define UNPACK(value, bits, low)                                                         \
    for (int i = 0; i < 32 / (bits); i++) {                                              \
        for (int l = 0; l < LANES; l++)                                                  \
            part[i][l] = value(lanes[l] >> (bits) * i & (low));                          \
    }

static void unpack(EmuType type, const Lane32 *lanes, float part[MOST][LANES])
{
    if (type == ET_F16) {
        UNPACK(emu_half_value, 16, 0xffffu)
    } else if (type == ET_BF16) {
        UNPACK(bf16_value, 16, 0xffffu)
    } else if (type == ET_TF32) {
        UNPACK(tf32_value, 32, FULL)
    } else if (type == ET_E4M3) {
        UNPACK(e4m3_value, 8, 0xffu)
    } else {
        UNPACK(e5m2_value, 8, 0xffu)
    }
}

/* ---- matrices -------------------------------------------------------------------------- */

typedef struct Matrices {
    int per;                          /* elements a register */
    float a[MAX_A][MOST][LANES];      /* register, element, lane */
    V4 b[MAX_B][4][MOST][2];          /* register, t, element: a row, even and odd columns */
    float d[2][2][LANES];             /* half of the rows, even or odd columns, lane */
} Matrices;

static void load_b(Warp *w, const Inst *in, const MmaRow *row, Matrices *m)
{
    float part[MOST][LANES];

    for (int r = 0; r < row->nb; r++) {
        unpack(row->b, src_at(w, in, row->na + r), part);
        for (int t = 0; t < 4; t++) {
            for (int i = 0; i < m->per; i++) {
                for (int g = 0; g < QUADS; g++) /* g is the column */
                    m->b[r][t][i][g & 1][g >> 1] = part[i][4 * g + t];
            }
        }
    }
}

static void load_c(Warp *w, const Inst *in, const MmaRow *row, Matrices *m)
{
    for (int r = 0; r < row->nd; r++) {
        const void *lanes = src_at(w, in, row->na + row->nb + r);
        float part[MOST][LANES];

        if (row->d == ET_F32) {
            memcpy(m->d[r / 2][r % 2], lanes, sizeof m->d[0][0]);
        } else {
            unpack(ET_F16, lanes, part);
            memcpy(m->d[r], part, sizeof m->d[r]);
        }
    }
}

static void store_d(Warp *w, const Inst *in, const MmaRow *row, Matrices *m)
{
    for (int r = 0; r < row->nd; r++) {
        Lane32 *lanes = op_at(w, in, r);

        if (row->d == ET_F32) {
            memcpy(lanes, m->d[r / 2][r % 2], sizeof m->d[0][0]);
        } else {
            for (int l = 0; l < LANES; l++)
                lanes[l] = emu_f16_store(m->d[r][0][l]) | emu_f16_store(m->d[r][1][l]) << 16;
        }
    }
}

static inline V4 load4(const float *from)
{
    V4 x;

    memcpy(&x, from, sizeof x);
    return x;
}

/* The rows g and g + 8 of d += a b; four sums at a time hide their latency. */
static inline void multiply_rows(const MmaRow *row, Matrices *m, int g, int per)
{
    V4 sum[2][2];

    for (int h = 0; h < 2; h++) {
        sum[h][0] = load4(&m->d[h][0][4 * g]);
        sum[h][1] = load4(&m->d[h][1][4 * g]);
    }
    for (int r = 0; r < row->nb; r++) {
        for (int t = 0; t < 4; t++) {
            for (int i = 0; i < per; i++) {
                float low = m->a[2 * r][i][4 * g + t], high = m->a[2 * r + 1][i][4 * g + t];

                sum[0][0] += low * m->b[r][t][i][0];
                sum[0][1] += low * m->b[r][t][i][1];
                sum[1][0] += high * m->b[r][t][i][0];
                sum[1][1] += high * m->b[r][t][i][1];
            }
        }
    }
    for (int h = 0; h < 2; h++) {
        memcpy(&m->d[h][0][4 * g], &sum[h][0], sizeof(V4));
        memcpy(&m->d[h][1][4 * g], &sum[h][1], sizeof(V4));
    }
}

static void multiply(const MmaRow *row, Matrices *m)
{
    for (int g = 0; g < QUADS; g++) {
        if (m->per == 2)
            multiply_rows(row, m, g, 2); /* known, so that it is unrolled */
        else
            multiply_rows(row, m, g, m->per);
    }
}

void emu_exec_mma(Warp *w, const Inst *in, uint32_t mask)
{
    const MmaRow *row = in->fn.row;
    Matrices m;

    (void)mask; /* all 32: the instruction is IF_FULL */
    m.per = 4 / emu_types[row->a].bytes;
    for (int r = 0; r < row->na; r++)
        unpack(row->a, src_at(w, in, r), m.a[r]);
    load_b(w, in, row, &m);
    load_c(w, in, row, &m);
    multiply(row, &m);
    store_d(w, in, row, &m);
}
