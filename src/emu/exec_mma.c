/* exec_mma.c: the tensor cores: mma.sync.
 *
 * One rule gives the fragments of all m16n8 shapes (PTX ISA, "Matrix Fragments
 * for mma.m16n8k*"). With n elements a 32-bit register, group = lane / 4 and
 * t = lane % 4, element i of register r holds
 *
 *     A [group + 8 * (r & 1)] [t * n + i + 4 * n * (r / 2)]
 *     B [t * n + i + 4 * n * r] [group]
 *     C, D in 32 bits: register r:      [group + 8 * (r / 2)] [2 * t + r % 2]
 *     C, D in 16 bits: register r:      [group + 8 * r]       [2 * t + i]
 *
 * Products are exact. Hardware adds them in an order and precision that the
 * manual leaves open; here a sum over k is taken in double, c included, and
 * rounded once to the type of D.
 */
#include "emu/machine.h"

enum { M = 16, N = 8, MAX_K = 32 };

const MmaRow emu_mma_rows[] = {
    { "m16n8k16", ET_F16, ET_F16, ET_F32, 16, 4, 2, 4 },
    { "m16n8k16", ET_BF16, ET_BF16, ET_F32, 16, 4, 2, 4 },
    { "m16n8k16", ET_F16, ET_F16, ET_F16, 16, 4, 2, 2 },
    { "m16n8k8", ET_F16, ET_F16, ET_F32, 8, 2, 1, 4 },
    { "m16n8k8", ET_F16, ET_F16, ET_F16, 8, 2, 1, 2 },
    { "m16n8k8", ET_BF16, ET_BF16, ET_F32, 8, 2, 1, 4 },
    { "m16n8k8", ET_TF32, ET_TF32, ET_F32, 8, 4, 2, 4 },
    { "m16n8k4", ET_TF32, ET_TF32, ET_F32, 4, 2, 1, 4 },
    { "m16n8k32", ET_E4M3, ET_E4M3, ET_F32, 32, 4, 2, 4 },
    { "m16n8k32", ET_E4M3, ET_E5M2, ET_F32, 32, 4, 2, 4 },
    { "m16n8k32", ET_E5M2, ET_E4M3, ET_F32, 32, 4, 2, 4 },
    { "m16n8k32", ET_E5M2, ET_E5M2, ET_F32, 32, 4, 2, 4 },
};
const int emu_mma_row_count = (int)TW_COUNT(emu_mma_rows);

/* ---- fragments to tables -------------------------------------------------------- */

static double element(EmuType type, uint32_t bits)
{
    union { uint32_t u; float f; } single = { bits & 0xffffe000u }; /* tf32 ignores 13 bits */

    if (type == ET_F16)
        return (double)emu_f16_load(bits);
    if (type == ET_BF16)
        return (double)emu_bf16_load(bits);
    return type == ET_TF32 ? (double)single.f : emu_small_load(type, bits);
}

/* The elements of one register of all lanes, lane by lane. */
static void unpack(EmuType type, const Lane32 *lanes, double *out)
{
    int bits = 8 * emu_types[type].bytes, n = 32 / bits;
    uint32_t low = bits == 32 ? FULL : (1u << bits) - 1;

    for (int l = 0; l < LANES; l++) {
        for (int i = 0; i < n; i++)
            out[l * n + i] = element(type, lanes[l] >> bits * i & low);
    }
}

static void load_a(Warp *w, const Inst *in, const MmaRow *row, double a[M][MAX_K])
{
    int n = 4 / emu_types[row->a].bytes;
    double part[LANES * 4];

    for (int r = 0; r < row->na; r++) {
        unpack(row->a, src_at(w, in, r), part);
        for (int l = 0; l < LANES; l++) {
            for (int i = 0; i < n; i++)
                a[l / 4 + 8 * (r & 1)][l % 4 * n + i + 4 * n * (r / 2)] = part[l * n + i];
        }
    }
}

static void load_b(Warp *w, const Inst *in, const MmaRow *row, double b[MAX_K][N])
{
    int n = 4 / emu_types[row->b].bytes;
    double part[LANES * 4];

    for (int r = 0; r < row->nb; r++) {
        unpack(row->b, src_at(w, in, row->na + r), part);
        for (int l = 0; l < LANES; l++) {
            for (int i = 0; i < n; i++)
                b[l % 4 * n + i + 4 * n * r][l / 4] = part[l * n + i];
        }
    }
}

static void load_c(Warp *w, const Inst *in, const MmaRow *row, double c[M][N])
{
    for (int r = 0; r < row->nd; r++) {
        const void *lanes = src_at(w, in, row->na + row->nb + r);

        for (int l = 0; l < LANES; l++) {
            if (row->d == ET_F32) {
                c[l / 4 + 8 * (r / 2)][2 * (l % 4) + r % 2] = (double)((const LaneF32 *)lanes)[l];
            } else {
                uint32_t pair = ((const Lane32 *)lanes)[l];

                c[l / 4 + 8 * r][2 * (l % 4)] = (double)emu_f16_load(pair & 0xffffu);
                c[l / 4 + 8 * r][2 * (l % 4) + 1] = (double)emu_f16_load(pair >> 16);
            }
        }
    }
}

static void store_d(Warp *w, const Inst *in, const MmaRow *row, const double d[M][N])
{
    for (int r = 0; r < row->nd; r++) {
        void *lanes = op_at(w, in, r);

        for (int l = 0; l < LANES; l++) {
            if (row->d == ET_F32)
                ((LaneF32 *)lanes)[l] = (float)d[l / 4 + 8 * (r / 2)][2 * (l % 4) + r % 2];
            else
                ((Lane32 *)lanes)[l] =
                    emu_small_store(ET_F16, d[l / 4 + 8 * r][2 * (l % 4)], RND_N, false) |
                    emu_small_store(ET_F16, d[l / 4 + 8 * r][2 * (l % 4) + 1], RND_N, false) << 16;
        }
    }
}

/* d += a b; the inner loop is over n, which vectorises. */
static void multiply(int k, double a[M][MAX_K], double b[MAX_K][N], double d[M][N])
{
    for (int i = 0; i < M; i++) {
        double sum[N];

        memcpy(sum, d[i], sizeof sum);
        for (int j = 0; j < k; j++) {
            for (int n = 0; n < N; n++)
                sum[n] += a[i][j] * b[j][n];
        }
        memcpy(d[i], sum, sizeof sum);
    }
}

void emu_exec_mma(Warp *w, const Inst *in, uint32_t mask)
{
    const MmaRow *row = in->fn.row;
    double a[M][MAX_K], b[MAX_K][N], d[M][N];

    (void)mask; /* all 32: the instruction is IF_FULL */
    load_a(w, in, row, a);
    load_b(w, in, row, b);
    load_c(w, in, row, d);
    multiply(row->k, a, b, d);
    store_d(w, in, row, d);
}
