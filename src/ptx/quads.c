/* quads.c: accumulators of 16 bits to global memory, 16 bytes a lane.
 *
 * A lane of a quad has two columns of every eight. Of 32 columns the four lanes
 * exchange their pairs, so that each has eight that are neighbours: a transposition of
 * 4 x 4 words in two rounds, in which a lane gives what its neighbour in one bit of the
 * lane's number wants and keeps the rest.
 *
 *   lane t has pair t of atoms 0 1 2 3   ->   lane t has pairs 0 1 2 3 of atom t
 */
#include "ptx/stretch.h"

enum { ATOM = 8, LANES = 4, GROUP = ATOM * LANES };

bool qd_can(Emitter *e, const TileOp *op, const TileValue *v)
{
    const Layout *l = &v->type.layout;
    if (!e->aligned || l->kind != LAY_MMA_C || l->quads || v->type.cols % (GROUP * l->warps_n)) return false;
    if (dtype_bytes(op->tensor->dtype) != 2 || !cp_is_whole_chunks(e, op) || v->type.rows == 1) return false;
    return aff_divisor(op->tensor->dims[op->col_dim]) % ATOM == 0 && aff_divisor(op->coords[op->col_dim]) % ATOM == 0;
}

typedef struct Swap {
    const char *bit[2]; /* predicates: the lane's number has bit 1, bit 0 */
} Swap;

static void swap(Emitter *e, const char **x, const char **y, const char *bit, int distance)
{
    const char *given = em_new(e, REG_R), *got = em_new(e, REG_R), *low = em_new(e, REG_R), *high = em_new(e, REG_R);
    em(e, "selp.b32 %s, %s, %s, %s;", given, *x, *y, bit);
    em(e, "shfl.sync.bfly.b32 %s, %s, %d, 31, -1;", got, given, distance);
    em(e, "selp.b32 %s, %s, %s, %s;", low, got, *x, bit);
    em(e, "selp.b32 %s, %s, %s, %s;", high, *y, got, bit);
    *x = low;
    *y = high;
}

void qd_store(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->args[0];
    AffCtx *aff = e->program->aff;
    const int *words = fr_packed(e, v, op->tensor->dtype);
    const Aff *column = aff_of(aff, ix_lane_col(e, v->type.layout, v->type.cols)); /* 2 (lane % 4) in the warp's share */
    const Aff *in_atom = aff_mod(aff, column, aff_const(aff, ATOM));
    const char *corner = em_new(e, REG_RD), *right = em_new(e, REG_RD);
    int atoms = v->type.cols / ATOM / v->type.layout.warps_n, rows = e->frags[v->id].n / 2 / atoms; /* rows: that a lane has */
    Swap bits;
    for (int i = 0; i < 2; i++) bits.bit[i] = ix_lane_bit(e, em_level(e), 2 >> i);
    em(e, "mul.wide.s32 %s, %s, %d;", right, ix_value(e, in_atom), (LANES - 1) * 2);
    em(e, "add.s64 %s, %s, %s;", corner, cp_lane_corner(e, op, v), right);
    RowAddress last = {0};
    for (int r = 0; r < rows; r++)
        for (int group = 0; group < atoms / LANES; group++) {
            const char *w[LANES];
            int first = (r / 2 * atoms + group * LANES) * 4 + r % 2 * 2; /* value of the first atom */
            for (int i = 0; i < LANES; i++) w[i] = em_name(e, REG_R, words[(first + 4 * i) / 2]);
            for (int i = 0; i < 2; i++) swap(e, &w[i], &w[i + 2], bits.bit[0], 2);
            for (int i = 0; i < LANES; i += 2) swap(e, &w[i], &w[i + 1], bits.bit[1], 1);
            Place p = cp_place(e, v, first);
            p.col = aff_offset(aff, aff_add(aff, column, aff_scale(aff, in_atom, LANES - 1)), p.col_step);
            const char *address = cp_column_address(e, op, cp_row_address(e, op, corner, &p, &last), p.col_step);
            em(e, "%sst.global.v4.b32 %s, {%s, %s, %s, %s};", gl_guard(e, cp_inside(e, op, v, &p, ATOM)), address, w[0], w[1],
               w[2], w[3]);
        }
}
