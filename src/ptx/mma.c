/* mma.c: GEMM on mma.sync.
 *
 * A warp multiplies its rows of A by its columns of B in steps of k = 16. For a
 * step, ldmatrix brings A atoms (when A is in shared memory) and pairs of B
 * atoms; then every A atom meets every B atom. Loads run a few steps ahead of
 * the mma that use them, so that their latency hides.
 *
 * PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type": lane
 * holds of A rows lane/4 and lane/4 + 8, columns 2 (lane % 4) + {0, 1, 8, 9}; of
 * B columns lane/4, rows 2 (lane % 4) + {0, 1, 8, 9}. "ldmatrix": lanes 8i to
 * 8i+7 give the row addresses of 8x8 matrix i, and its element pair (row
 * lane/4, columns 2 (lane % 4)) lands in register i; .trans transposes.
 *
 * Operands of 8 bits (mma.m16n8k32) are the same with pairs of elements for each
 * element: of a row of A, or a column of B, a lane holds elements 4 (lane % 4) to
 * + 3, and 16 further on. Only B as stored (K x N) is different, since .trans
 * moves pairs: a lane gets columns 2g and 2g + 1 of two rows each from two
 * matrices, and prmt sorts that into the even and the odd columns:
 *
 *   matrix 0 (k0 k1 .. of columns 2g, 2g+1)   prmt 6420   k0 k1 k8 k9 of column 2g
 *   matrix 1 (k8 k9 ..)                       prmt 7531   k0 k1 k8 k9 of column 2g + 1
 *
 * The even columns of 16 are one B atom and the odd ones the next: accumulators
 * come out in fours (lay.h, quads). The order of k is that of an operand in
 * pairs; for one in fours the lanes address the rows in another order.
 *
 * What meets such a result must be in fours as well: of B.T the lanes then address
 * the even and the odd rows of 16 instead of the first 8 and the last.
 *
 * Where mma.sync takes no operands of 8 bits (has_mma_bytes), a register's four widen to two
 * pairs of fp16, which holds them exactly, and a step is two of k = 16: one of the first pairs of
 * all registers, one of the second. Sums are over k in any order, as long as A and B agree.
 *
 * A.T of 8 bits (stored K x M) comes the same way, a lane having rows 2g and 2g + 1,
 * but is wanted as g and g + 8 (g is lane / 4). Lanes exchange in two rounds: even
 * rows of the first 8 and odd ones of the last, then the others (rows_of_bytes).
 */
#include "ptx/emit.h"

enum {
    LOOKAHEAD = 2,
    WIDE_STRETCH = 4 /* units whose widened operands may be under way at once */
};

typedef struct Gemm {
    const TileOp *op;
    SharedTile a, b;
    bool a_shared;
    bool bytes;              /* operands of 8 bits */
    DType type_a;            /* that A is multiplied in */
    bool fours;              /* the result comes in fours */
    const char *sort[2];     /* of bytes as B is stored: prmt's selectors */
    const char *sort_a[2];   /* of bytes of A.T: likewise, by round */
    const char *from[2];     /* the lane that a round's rows come from */
    const char *odd;         /* predicate: g is odd */
    int step_k;              /* of a step: 16, or 32 of 8 bits */
    LanePlace a_place, b_place;
    const int *a_packed;     /* A from registers */
    int *acc;                /* fp32 accumulators, updated in place */
    int zero;                /* what the first step adds to where there is no accumulator; -1: acc itself */
    int m_atoms, n_atoms, steps;
    int unit_count;          /* steps x pairs of B atoms */
    int (*a_regs)[4];        /* [step % (LOOKAHEAD + 1) * m_atoms + m] */
    int (*b_regs)[4];        /* [unit % (LOOKAHEAD + 1)] */
    int (*a_wide)[8];        /* [m]: A of the step at hand, widened; NULL: operands are not */
} Gemm;

/* lane % 8, (lane / 8) % 2 and lane / 16: which row, and which of the four
 * matrices, a lane addresses. */
typedef struct LaneBits {
    const char *row8, *bit3, *bit4;
} LaneBits;

static LaneBits lane_bits(Emitter *e)
{
    const char *row8 = em_new(e, REG_R), *bit3 = em_new(e, REG_R), *bit4 = em_new(e, REG_R);
    LaneBits b = {row8, bit3, bit4};
    em_at(e, 0, "and.b32 %s, %s, 7;", b.row8, e->lane);
    em_at(e, 0, "bfe.u32 %s, %s, 3, 1;", b.bit3, e->lane);
    em_at(e, 0, "bfe.u32 %s, %s, 4, 1;", b.bit4, e->lane);
    return b;
}

/* row8 + 8 * bit + the warp's share */
static const char *row_of(Emitter *e, const char *row8, const char *bit, const char *warp, int share)
{
    const char *row = em_new(e, REG_R);
    em_at(e, 0, "mad.lo.s32 %s, %s, 8, %s;", row, bit, row8);
    if (warp) em_at(e, 0, "mad.lo.s32 %s, %s, %d, %s;", row, warp, share, row);
    return row;
}

/* 2 * row8 + bit + the warp's share */
static const char *even_and_odd(Emitter *e, const char *row8, const char *bit, const char *warp, int share)
{
    const char *row = em_new(e, REG_R);
    em_at(e, 0, "mad.lo.s32 %s, %s, 2, %s;", row, row8, bit);
    if (warp) em_at(e, 0, "mad.lo.s32 %s, %s, %d, %s;", row, warp, share, row);
    return row;
}

static const char *chunk_of(Emitter *e, const char *bit, const char *warp, int share)
{
    if (!warp) return bit;
    const char *chunk = em_new(e, REG_R);
    em_at(e, 0, "mad.lo.s32 %s, %s, %d, %s;", chunk, warp, share, bit);
    return chunk;
}

/* The warp's coordinate along rows or columns; NULL where there is but one. */
static const char *warp_along(Emitter *e, bool rows)
{
    int warps_n = e->kernel->warps_n > 0 ? e->kernel->warps_n : 1;
    int extent = rows ? e->kernel->warps / warps_n : warps_n;
    if (extent == 1) return NULL;
    if (warps_n == 1) return e->warp;
    const char *row = em_new(e, REG_R), *column = em_new(e, REG_R);
    ix_divide(e, 0, row, e->warp, warps_n);
    if (!rows) ix_remainder(e, 0, column, e->warp, row, warps_n);
    return rows ? row : column;
}

/* Whether A's lanes hold four neighbouring columns each: of 8 bits always from shared memory. */
static bool a_in_quads(const Gemm *g)
{
    return g->a_shared || g->op->args[0]->type.layout.quads;
}

/* B of 8 bits as stored (K x N), or A.T (K x M): a row a lane. Row j of matrix i is k = 8 i + j, or
 * where A is in fours 4 (j / 2) + j % 2, + 2 in odd matrices, + 16 in the last two.
 * Rows 8 apart are in the same banks, so that for j >= 4 the odd matrices change
 * places with the even ones, which prmt makes good (sort_selectors). */
static LanePlace place_bytes(Emitter *e, const Gemm *g, const char *warp, int share)
{
    const char *row = em_new(e, REG_R), *chunk = em_new(e, REG_R), *t = em_new(e, REG_R);
    if (warp) em_at(e, 0, "mul.lo.s32 %s, %s, %d;", chunk, warp, share);
    else em_at(e, 0, "mov.b32 %s, 0;", chunk);
    if (!a_in_quads(g)) return (LanePlace){.row = e->lane, .chunk = chunk};
    em_at(e, 0, "and.b32 %s, %s, 17;", row, e->lane); /* 16 and 1 stay */
    em_at(e, 0, "and.b32 %s, %s, 6;", t, e->lane);    /* 4, 2 to 8, 4 */
    em_at(e, 0, "mad.lo.s32 %s, %s, 2, %s;", row, t, row);
    em_at(e, 0, "shr.u32 %s, %s, 1;", t, e->lane);    /* 8 xor 4 to 2 */
    em_at(e, 0, "xor.b32 %s, %s, %s;", t, t, e->lane);
    em_at(e, 0, "bfe.u32 %s, %s, 2, 1;", t, t);
    em_at(e, 0, "mad.lo.s32 %s, %s, 2, %s;", row, t, row);
    return (LanePlace){.row = row, .chunk = chunk};
}

/* A as stored (M x K): matrices (rows 0-7, k 0-7), (rows 8-15, k 0-7), (rows 0-7,
 * k 8-15), (rows 8-15, k 8-15). A.T (stored K x M): the same four, transposed. */
static LanePlace place_a(Emitter *e, const Gemm *g)
{
    LaneBits b = lane_bits(e);
    const char *warp = warp_along(e, true);
    int share = g->m_atoms * 16;
    if (g->bytes && g->op->trans_a) return place_bytes(e, g, warp, g->m_atoms);
    if (!g->op->trans_a)
        return (LanePlace){.row = row_of(e, b.row8, b.bit3, warp, share), .chunk = b.bit4};
    const char *row = row_of(e, b.row8, b.bit4, NULL, 0);
    return (LanePlace){.row = row, .chunk = chunk_of(e, b.bit3, warp, share / 8)};
}

/* How prmt takes the even and the odd columns of two matrices, as operands. */
static void sort_selectors(Emitter *e, const Gemm *g, const char *sort[2])
{
    static const char *const plain[2] = {"0x6420", "0x7531"}, *const swapped[2] = {"0x2064", "0x3175"};
    const char *p = a_in_quads(g) ? ix_lane_bit(e, 0, 2) : NULL; /* rows j = 4 to 7 */
    for (int i = 0; i < 2; i++) {
        sort[i] = p ? em_new(e, REG_R) : plain[i];
        if (p) em_at(e, 0, "selp.b32 %s, %s, %s, %s;", sort[i], swapped[i], plain[i], p);
    }
}

/* In the first round lanes with g < 4 give their even rows and the others their odd
 * ones; lanes with an even g take from lane g / 2, the others from lane g / 2 + 4. */
static void plan_exchange(Emitter *e, Gemm *g)
{
    const char *sort[2], *last = ix_lane_bit(e, 0, 16), *t = em_new(e, REG_R);
    sort_selectors(e, g, sort);
    for (int i = 0; i < 2; i++) {
        g->sort_a[i] = em_new(e, REG_R);
        em_at(e, 0, "selp.b32 %s, %s, %s, %s;", g->sort_a[i], sort[!i], sort[i], last);
        g->from[i] = em_new(e, REG_R);
    }
    g->odd = ix_lane_bit(e, 0, 4);
    em_at(e, 0, "and.b32 %s, %s, 3;", g->from[0], e->lane);
    em_at(e, 0, "bfe.u32 %s, %s, 3, 2;", t, e->lane);
    em_at(e, 0, "mad.lo.s32 %s, %s, 4, %s;", g->from[0], t, g->from[0]);
    em_at(e, 0, "and.b32 %s, %s, 4;", t, e->lane);
    em_at(e, 0, "mad.lo.s32 %s, %s, 4, %s;", g->from[0], t, g->from[0]);
    em_at(e, 0, "xor.b32 %s, %s, 16;", g->from[1], g->from[0]);
}

/* B.T as stored (N x K): matrices (n 0-7, k 0-7), (n 0-7, k 8-15), (n 8-15, k 0-7),
 * (n 8-15, k 8-15). B as stored (K x N): the same four, transposed. In any other order
 * the two registers that an instruction takes would not be neighbours, and ptxas would
 * move every one of them (measured: 8 % slower, though fewer addresses are needed). */
static LanePlace place_b(Emitter *e, const Gemm *g)
{
    LaneBits b = lane_bits(e);
    const char *warp = warp_along(e, false);
    int share = g->n_atoms * 8;
    if (g->bytes && !g->op->trans_b) return place_bytes(e, g, warp, g->n_atoms / 2);
    if (g->fours && g->op->trans_b)
        return (LanePlace){.row = even_and_odd(e, b.row8, b.bit4, warp, share), .chunk = b.bit3};
    if (g->op->trans_b)
        return (LanePlace){.row = row_of(e, b.row8, b.bit4, warp, share), .chunk = b.bit3};
    const char *row = row_of(e, b.row8, b.bit3, NULL, 0);
    return (LanePlace){.row = row, .chunk = chunk_of(e, b.bit4, warp, share / 8)};
}

static void ldmatrix(Emitter *e, int count, bool trans, const int *regs, const char *address)
{
    Str list = str_new(e->arena);
    for (int i = 0; i < count; i++) str_printf(&list, "%s%%r%d", i ? ", " : "", regs[i]);
    em(e, "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 {%s}, %s;", count, trans ? ".trans" : "",
       str_text(&list), address);
}

/* An atom of A.T of 8 bits: of 32 rows of 16 columns, those that the lane multiplies. */
static void rows_of_bytes(Emitter *e, Gemm *g, int step, int m, int *regs)
{
    int raw[4], *got = fr_fresh(e, REG_R, 4); /* [round + 2 * half of k] */
    for (int i = 0; i < 4; i++) raw[i] = em_reg(e, REG_R);
    ldmatrix(e, 4, true, raw, sh_address(e, &g->a, &g->a_place, step * g->step_k, m));
    for (int i = 0; i < 4; i++) {
        const char *given = em_new(e, REG_R);
        em(e, "prmt.b32 %s, %%r%d, %%r%d, %s;", given, raw[i / 2 * 2], raw[i / 2 * 2 + 1], g->sort_a[i % 2]);
        em(e, "shfl.sync.idx.b32 %%r%d, %s, %s, 31, -1;", got[i], given, g->from[i % 2]);
    }
    for (int i = 0; i < 4; i++)
        em(e, "selp.b32 %%r%d, %%r%d, %%r%d, %s;", regs[i], got[i ^ 1], got[i], g->odd);
}

static void load_a(Emitter *e, Gemm *g, int step)
{
    for (int m = 0; m < g->m_atoms; m++) {
        int *regs = g->a_regs[step % (LOOKAHEAD + 1) * g->m_atoms + m];
        for (int i = 0; i < 4; i++) regs[i] = em_reg(e, REG_R);
        bool t = g->op->trans_a;
        if (g->bytes && t) {
            rows_of_bytes(e, g, step, m, regs);
            continue;
        }
        const char *address = t ? sh_address(e, &g->a, &g->a_place, step * g->step_k, m * 2)
                                : sh_address(e, &g->a, &g->a_place, m * 16, step * 2);
        ldmatrix(e, 4, t, regs, address);
    }
}

/* B as stored, of 8 bits: 32 rows of 16 columns, sorted. */
static void load_bytes(Emitter *e, Gemm *g, int step, int pair, int *regs)
{
    int raw[4];
    for (int i = 0; i < 4; i++) raw[i] = em_reg(e, REG_R);
    ldmatrix(e, 4, true, raw, sh_address(e, &g->b, &g->b_place, step * g->step_k, pair));
    for (int i = 0; i < 4; i++)
        em(e, "prmt.b32 %%r%d, %%r%d, %%r%d, %s;", regs[i], raw[i % 2 * 2], raw[i % 2 * 2 + 1], g->sort[i / 2]);
}

/* Unit u: the pair of B atoms u % pairs of step u / pairs; before the first of
 * a step its A atoms. */
static void load_unit(Emitter *e, Gemm *g, int u)
{
    if (u >= g->unit_count) return;
    int pairs = (g->n_atoms + 1) / 2, step = u / pairs, pair = u % pairs;
    if (pair == 0 && g->a_shared) load_a(e, g, step);
    int *regs = g->b_regs[u % (LOOKAHEAD + 1)];
    for (int i = 0; i < 4; i++) regs[i] = em_reg(e, REG_R);
    bool t = g->op->trans_b;
    if (g->bytes && !t) {
        load_bytes(e, g, step, pair, regs);
        return;
    }
    const char *address = t ? sh_address(e, &g->b, &g->b_place, pair * 16, step * 2)
                            : sh_address(e, &g->b, &g->b_place, step * g->step_k, pair * 2);
    bool single = pair * 2 + 1 >= g->n_atoms;
    ldmatrix(e, single ? 2 : 4, !t, regs, address);
}

/* One instruction: d = c + A B. */
static void mma(Emitter *e, const char *shape, const char *types, const int *d, const int *c, const char *a, const char *b)
{
    em(e, "mma.sync.aligned.%s.row.col.f32.%s.f32 {%%f%d, %%f%d, %%f%d, %%f%d}, {%s}, {%s}, "
       "{%%f%d, %%f%d, %%f%d, %%f%d};",
       shape, types, d[0], d[1], d[2], d[3], a, b, c[0], c[1], c[2], c[3]);
}

int mm_step_k(DType dtype)
{
    return f8_is(dtype) ? 32 : 16;
}

const char *mm_type(DType dtype)
{
    return dtype == DT_F16 ? "f16" : dtype_name(dtype);
}

static bool widens(const Emitter *e, DType dtype)
{
    return f8_is(dtype) && !e->target->has_mma_bytes;
}

/* Widened operands: 8 registers of A, 4 of B. */
static void step_wide(Emitter *e, const int *d, const int *c, const int *a, const int *b)
{
    mm_step(e, DT_F16, DT_F16, d, c, a, b);
    mm_step(e, DT_F16, DT_F16, d, d, a + 4, b + 2);
}

static void step_widened(Emitter *e, DType ta, DType tb, const int *d, const int *c, const int *a, const int *b)
{
    int wide_a[8], wide_b[4];
    f8_widen(e, ta, a, 4, wide_a);
    f8_widen(e, tb, b, 2, wide_b);
    step_wide(e, d, c, wide_a, wide_b);
}

/* Where the instruction has k = 8 it takes two: registers 0, 1 of A and 0 of B
 * are k 0-7. */
void mm_step(Emitter *e, DType ta, DType tb, const int *d, const int *c, const int *a, const int *b)
{
    const char *type = arena_printf(e->arena, "%s.%s", mm_type(ta), mm_type(tb));
    if (widens(e, tb)) {
        step_widened(e, ta, tb, d, c, a, b);
    } else if (e->target->mma_k == 16) {
        mma(e, f8_is(tb) ? "m16n8k32" : "m16n8k16", type, d, c, arena_printf(e->arena, "%%r%d, %%r%d, %%r%d, %%r%d", a[0], a[1], a[2], a[3]),
            arena_printf(e->arena, "%%r%d, %%r%d", b[0], b[1]));
    } else {
        mma(e, "m16n8k8", type, d, c, arena_printf(e->arena, "%%r%d, %%r%d", a[0], a[1]), arena_printf(e->arena, "%%r%d", b[0]));
        mma(e, "m16n8k8", type, d, d, arena_printf(e->arena, "%%r%d, %%r%d", a[2], a[3]), arena_printf(e->arena, "%%r%d", b[1]));
    }
}

/* Registers of accumulator atom (m, n). In fours the even columns of 16 are one
 * atom, the odd ones the next: of a lane's columns 4t to 4t + 3 the first and the
 * third, or the second and the fourth. */
static void accumulator(const Gemm *g, int m, int n, int *c)
{
    static const int quads[4] = {0, 4, 2, 6};
    const int *pair = &g->acc[(m * g->n_atoms + n / 2 * 2) * 4], *atom = &g->acc[(m * g->n_atoms + n) * 4];
    for (int i = 0; i < 4; i++) c[i] = g->fours ? pair[quads[i] + n % 2] : atom[i];
}

/* Four registers of A, or eight that are widened. */
static const int *operand_a(const Gemm *g, int step, int m)
{
    if (g->a_wide) return g->a_wide[m];
    return g->a_shared ? g->a_regs[step % (LOOKAHEAD + 1) * g->m_atoms + m] : &g->a_packed[(m * g->steps + step) * 4];
}

static void widen_a(Emitter *e, Gemm *g, int step)
{
    int (*wide)[8] = g->a_wide;
    g->a_wide = NULL;
    for (int m = 0; m < g->m_atoms; m++)
        f8_widen(e, g->type_a, operand_a(g, step, m), 4, wide[m]);
    g->a_wide = wide;
}

static void multiply_unit(Emitter *e, Gemm *g, int u)
{
    int pairs = (g->n_atoms + 1) / 2, step = u / pairs, pair = u % pairs;
    DType type = g->op->args[1]->type.dtype;
    if (g->a_wide && pair == 0) widen_a(e, g, step);
    for (int k = 0; k < 2 && pair * 2 + k < g->n_atoms; k++) {
        const int *b = &g->b_regs[u % (LOOKAHEAD + 1)][2 * k];
        int wide_b[4];
        if (g->a_wide) f8_widen(e, type, b, 2, wide_b);
        for (int m = 0; m < g->m_atoms; m++) {
            const int *a = operand_a(g, step, m), zeros[4] = {g->zero, g->zero, g->zero, g->zero};
            int acc[4];
            accumulator(g, m, pair * 2 + k, acc);
            const int *c = step == 0 && g->zero >= 0 ? zeros : acc;
            if (g->a_wide) step_wide(e, acc, c, a, wide_b);
            else mm_step(e, g->type_a, type, acc, c, a, b);
        }
    }
}

/* Whether the columns of several warps begin within panels, where a lane's chunks do not
 * follow from its first (shared.c). */
static bool cuts_panels(const SharedTile *tile, int share, int warps)
{
    int chunks = share * dtype_bytes(tile->type->dtype) / 16, panel = tile->type->layout.panel / 16;
    return warps > 1 && chunks % panel && panel % chunks;
}

/* Pairs and fours where `assign` gives them. */
static bool fragments_fit(const Gemm *g)
{
    bool of_registers = !g->a_shared && a_in_quads(g);
    if (!g->bytes) return !of_registers && (g->op->trans_b || !g->fours);
    return g->op->trans_b ? g->a_shared || of_registers : g->fours;
}

/* Shapes that the instructions cannot do. */
static bool fits(Emitter *e, const Gemm *g, int k)
{
    const TileOp *op = g->op;
    int warps_n = e->kernel->warps_n > 0 ? e->kernel->warps_n : 1;
    DType type = op->args[1]->type.dtype;
    if (!dtype_is_narrow(type)) {
        em_fail(e, op->loc, TW0430, "tensor-core operands have 16 or 8 bits, not those of %s", dtype_name(type));
        return false;
    }
    if (op->args[0]->type.dtype != g->type_a && op->args[0]->type.space == SPACE_SHARED) {
        em_fail(e, op->loc, TW0430, "the operands of a GEMM are %s and %s",
                dtype_name(op->args[0]->type.dtype), dtype_name(type));
        return false;
    }
    if (!target_has_dtype(e->target, type)) {
        em_fail(e, op->loc, TW0434, "%s has no tensor cores for %s", e->target->name, dtype_name(type));
        return false;
    }
    if (k % g->step_k) {
        em_fail(e, op->loc, TW0433, "the contracted dimension is %d, not a multiple of %d", k, g->step_k);
        return false;
    }
    if (op->trans_a && !g->a_shared) {
        em_fail(e, op->loc, TW0773, "a first operand that is transposed comes from shared memory");
        return false;
    }
    if (!fragments_fit(g)) {
        em_fail(e, op->loc, TW0756, "a fragment of this product is in %s", g->fours ? "fours" : "pairs");
        return false;
    }
    if ((!op->trans_b && cuts_panels(&g->b, g->n_atoms * 8, warps_n)) ||
        (op->trans_a && cuts_panels(&g->a, g->m_atoms * 16, e->kernel->warps / warps_n))) {
        em_fail(e, op->loc, TW0775, "the warps' shares of a shared tile's columns cut through swizzled panels");
        return false;
    }
    return true;
}

static void start_accumulators(Emitter *e, Gemm *g)
{
    const TileOp *op = g->op;
    const TileValue *result = op->results[0];
    if (op->n_args == 3) fr_take(e, result, op->args[2]);
    else fr_new_f32(e, result);
    g->acc = e->frags[result->id].f;
    g->zero = -1;
    if (op->n_args == 3) return;
    g->zero = em_reg(e, REG_F);
    em_at(e, 0, "mov.f32 %%f%d, 0f00000000;", g->zero);
}

static bool prepare(Emitter *e, Gemm *g)
{
    const TileOp *op = g->op;
    const TileType *a = &op->args[0]->type, *r = &op->results[0]->type;
    int k = op->trans_a ? a->rows : a->cols;
    g->m_atoms = r->rows / r->layout.warps_m / 16;
    g->n_atoms = r->cols / r->layout.warps_n / 8;
    g->bytes = f8_is(op->args[1]->type.dtype);
    g->type_a = g->bytes && f8_is(a->dtype) ? a->dtype : op->args[1]->type.dtype;
    g->fours = r->layout.quads;
    g->step_k = mm_step_k(op->args[1]->type.dtype);
    g->steps = k / g->step_k;
    g->unit_count = g->steps * ((g->n_atoms + 1) / 2);
    g->a_shared = sh_view(e, op->args[0], &g->a);
    if (!sh_view(e, op->args[1], &g->b)) {
        em_fail(e, op->loc, TW0773, "the second operand of a GEMM is not in shared memory");
        return false;
    }
    if (!fits(e, g, k)) return false;
    if (g->a_shared) g->a_place = place_a(e, g);
    else g->a_packed = fr_packed(e, op->args[0], g->type_a);
    g->b_place = place_b(e, g);
    if (g->bytes && !op->trans_b) sort_selectors(e, g, g->sort);
    if (g->bytes && op->trans_a) plan_exchange(e, g);
    g->a_regs = arena_alloc(e->arena, sizeof(int[4]) * (LOOKAHEAD + 1) * (size_t)g->m_atoms);
    g->b_regs = arena_alloc(e->arena, sizeof(int[4]) * (LOOKAHEAD + 1));
    if (widens(e, op->args[1]->type.dtype)) g->a_wide = arena_alloc(e->arena, sizeof(int[8]) * (size_t)g->m_atoms);
    return true;
}

/* ptxas loads operands as far ahead as it can, and moves no load over a barrier. Of operands that are
 * widened it would load and widen those of many products, more than there are registers for; where those
 * are scarce, it is to load none much further ahead than LOOKAHEAD. */
static void end_stretch(Emitter *e, const Gemm *g, int stretch, int u)
{
    if ((stretch && u % stretch == 0) || (g->a_wide && u % WIDE_STRETCH == 0)) em(e, "bar.warp.sync -1;");
}

/* The product that began the stretch of code that this one is in: nothing between branches; or NULL. */
static const TileOp *goes_on_from(const Emitter *e)
{
    for (int i = e->at - 1; i >= 0; i--) {
        const TileOp *op = e->block->ops.data[i];
        if (op->kind == TILE_GEMM) return op;
        if (op->n_regions || op->unless || op->skip_ones || op->kind == TILE_BARRIER) return NULL;
    }
    return NULL;
}

/* Whether ptxas is kept from fetching for this product during the one before: what is sorted or widened as
 * it is fetched, or what is fetched beside two operands that stand in registers, is too much. */
static bool waits_for_last(const Gemm *g, const TileOp *last)
{
    return g->bytes || (!g->a_shared && last->args[0]->type.space == SPACE_REGISTER);
}

/* It moves products over that, however, and so has operands of two at once. It moves nothing over a trap that never
 * happens, which it cannot know. */
static void keep_apart(Emitter *e)
{
    const char *p = em_new(e, REG_P);
    em(e, "setp.lt.s32 %s, %s, 0;", p, e->turn);
    em(e, "@%s trap;", p);
}

static bool has_product(const Emitter *e, int from, int to)
{
    for (int i = from; i < to; i++)
        if (e->block->ops.data[i]->kind == TILE_GEMM) return true;
    return false;
}

/* The mask in steps of a tile that may be this product's operand; NULL: there is none since the product before. */
static const TileOp *steps_before(const Emitter *e)
{
    if (e->role || !e->turn) return NULL;
    for (int i = e->at - 1; i >= 0 && e->block->ops.data[i]->kind != TILE_GEMM; i--)
        if (el_masks_in_steps(e, e->block->ops.data[i])) return e->block->ops.data[i];
    return NULL;
}

/* ptxas would begin with this product while the last elements are masked, and moves what they are made of behind the trap,
 * unless that takes one of them. */
static void keep_behind(Emitter *e, const TileOp *mask)
{
    const Frag *frag = &e->frags[mask->results[0]->id];
    const char *p = em_new(e, REG_P), *last = em_new(e, REG_R);
    if (frag->f) em(e, "mov.b32 %s, %%f%d;", last, frag->f[frag->n - 1]);
    else em(e, "mov.b32 %s, %%r%d;", last, frag->packed[(frag->n - 1) / 2]);
    em(e, "setp.lt.s32 %s, %s, 0;", p, e->turn);
    em(e, "setp.ne.and.s32 %s, %s, -1, %s;", p, last, p);
    em(e, "@%s trap;", p);
}

static void part_from_last(Emitter *e, const Gemm *g)
{
    const TileOp *last = goes_on_from(e);
    const TileOp *mask = steps_before(e);
    if (mask) keep_behind(e, mask);
    else if (rm_parted(e) == PARTED_FROM_BOTH && has_product(e, 0, e->at)) an_stop_at(e, e->turn);
    else if (last && rm_apart(e, last)) keep_apart(e);
    else if (last && waits_for_last(g, last)) em(e, "bar.warp.sync -1;");
}

/* Arithmetic in many steps, which needs no product: quotients of elements, and, where registers are scarce, elements
 * that are looked up. */
static bool is_long(const Emitter *e, const TileOp *op)
{
    bool quotient = op->kind == TILE_ELEMENT && op->op == OP_CEIL_DIVIDE, looked_up = op->kind == TILE_GATHER && e->room == ROOM_SCARCE;
    if (el_masks_in_steps(e, op)) return true;
    return (quotient || looked_up) && op->results[0]->type.rows > 1 && op->results[0]->type.cols > 1;
}

/* Whether ptxas would begin with that while this product is under way. */
static bool parts_from_next(const Emitter *e, const TileOp *op)
{
    if (e->role || !e->turn || op->n_args == 3) return false;
    for (int i = e->at + 1; i < e->block->ops.len && e->block->ops.data[i]->kind != TILE_GEMM; i++)
        if (is_long(e, e->block->ops.data[i])) return true;
    return false;
}

void mm_gemm(Emitter *e, const TileOp *op)
{
    Gemm g = {.op = op};
    if (!prepare(e, &g)) {
        fr_new_f32(e, op->results[0]);
        return;
    }
    start_accumulators(e, &g);
    part_from_last(e, &g);
    int stretch = rm_stretch(e);
    for (int u = 0; u < LOOKAHEAD; u++) load_unit(e, &g, u);
    for (int u = 0; u < g.unit_count; u++) {
        end_stretch(e, &g, stretch, u);
        load_unit(e, &g, u + LOOKAHEAD);
        multiply_unit(e, &g, u);
    }
    if (rm_parted(e) != PARTED_NOT && has_product(e, e->at + 1, e->block->ops.len)) an_stop_at(e, e->turn);
    else if (parts_from_next(e, op)) keep_apart(e);
}
