/* meet.c: the warps of a row combine what each has reduced.
 *
 * Each leaves a number for each of its rows in shared memory, rows side by side, and once all have, reads those of the
 * others. Within a block they wait at a barrier. Across the blocks of a cluster a warp sends its number to all of them, a
 * lane to each, and every block waits for what it is sent: an mbarrier behind the first row's numbers counts the bytes
 * (PTX ISA, "st.async"). Nothing else is in order then, so nobody waits for stores as a barrier of the cluster would:
 *
 *   of 2 blocks of 4 warps      | 0.0 0.1 0.2 0.3 1.0 1.1 1.2 1.3 mbarrier |   row 0
 *
 * mbarriers are initialised, and expect their bytes, before a block says that it has begun; nothing is sent before all
 * have. Each serves once.
 */
#include "ptx/meet.h"

enum { NUMBER_BYTES = 4, LANES = 32 };

int me_lanes_of_row(const Layout *layout)
{
    return layout->kind == LAY_ROWS ? layout->lanes : 4;
}

static int row_bytes(const TileOp *op)
{
    return op->args[1]->type.cols * NUMBER_BYTES;
}

/* Where this lane's first row of a column begins in the buffer through which the
 * warps of a row combine: rows, in each a number from every warp. */
static const char *parts_address(Emitter *e, const TileOp *op, const char *row)
{
    const TileType *a = &op->args[0]->type;
    const Layout *l = &a->layout;
    const char *address = em_new(e, REG_R);
    if (a->rows > 1) em_at(e, 0, "mov.b32 %s, %s;", row, ix_value(e, aff_of(e->program->aff, ix_lane_row(e, *l, a->rows))));
    else ix_divide(e, 0, row, e->warp, l->warps_n);
    em_at(e, 0, "mad.lo.s32 %s, %s, %d, %s;", address, row, row_bytes(op), e->smem);
    return address;
}

/* Where the i-th of a lane's rows lies in that buffer, seen from its first. */
static int parts_of_row(const TileOp *op, int i)
{
    int row, first, col;
    fr_place(op->results[0], i, &row, &col);
    fr_place(op->results[0], 0, &first, &col);
    return (int)op->args[1]->def->offset + (row - first) * row_bytes(op);
}

/* Of the eight rows of an atom, which a warp leaves at once, every fourth of 8 numbers begins in the same bank, and every
 * second of 16: by the row fours of its numbers change places. Who reads them takes all. */
static void swizzle_part(Emitter *e, const TileOp *op, const char *row, const char *mine)
{
    enum { BANKS = 32, FOUR = 4 };
    int numbers = op->args[1]->type.cols, fours = numbers / FOUR;
    bool all = numbers == op->args[0]->type.layout.warps_n && (fours & (fours - 1)) == 0;
    if (op->args[0]->type.layout.kind == LAY_ROWS || op->args[0]->type.rows == 1 || fours < 2 || !all || numbers > BANKS) return;
    const char *four = em_new(e, REG_R);
    ix_divide(e, 0, four, row, BANKS / numbers);
    em_at(e, 0, "and.b32 %s, %s, %d;", four, four, fours - 1);
    em_at(e, 0, "mul.lo.s32 %s, %s, %d;", four, four, FOUR);
    em_at(e, 0, "xor.b32 %s, %s, %s;", mine, mine, four);
}

/* Where this warp's number stands among those of a row, into `mine`. */
static void address_part(Emitter *e, const TileOp *op, const char *base, const char *row, const char *mine)
{
    int warps_n = op->args[0]->type.layout.warps_n;
    const char *of_row = em_new(e, REG_R);
    ix_divide(e, 0, of_row, e->warp, warps_n);
    ix_remainder(e, 0, mine, e->warp, of_row, warps_n);
    if (!op->across) swizzle_part(e, op, row, mine);
    em_at(e, 0, "mad.lo.s32 %s, %s, %d, %s;", mine, mine, NUMBER_BYTES, base);
}

/* To the block itself, by the first lane of the row; `lane` is the lane's number in its row. */
static void leave(Emitter *e, const TileOp *op, const char *mine, const char *lane, const int *regs, int n)
{
    const char *p = em_new(e, REG_P);
    em(e, "setp.eq.s32 %s, %s, 0;", p, lane);
    for (int i = 0; i < n; i++) em(e, "@%s st.shared.f32 [%s+%d], %%f%d;", p, mine, parts_of_row(op, i), regs[i]);
    em(e, "bar.sync 0;");
}

/* ---- clusters ------------------------------------------------------------------------------- */

/* Bytes from the start of shared memory. */
static int64_t mbarrier_of(const TileOp *op)
{
    return op->args[1]->def->offset + row_bytes(op) - TILE_EXCHANGE_COLUMNS * NUMBER_BYTES;
}

/* What all warps of the cluster send a block. */
static int bytes_sent(const Emitter *e, const TileOp *op)
{
    const TileType *a = &op->args[0]->type;
    int rows = a->rows > 1 ? a->rows : a->layout.warps_m;
    return rows * a->layout.warps_n * tile_cluster_blocks(e->kernel) * NUMBER_BYTES;
}

static void expect(Emitter *e, const TileBlock *block, const char *first)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) expect(e, op->regions[r], first);
        if (op->kind != TILE_REDUCE || !op->across) continue;
        em(e, "@%s mbarrier.init.shared::cta.b64 [%s+%lld], 1;", first, e->smem, (long long)mbarrier_of(op));
        em(e, "@%s mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s+%lld], %d;", first, e->smem, (long long)mbarrier_of(op), bytes_sent(e, op));
    }
}

void me_open(Emitter *e)
{
    if (!tile_cluster(e->kernel)) return;
    const char *first = em_new(e, REG_P);
    em(e, "setp.eq.s32 %s, %s, 0;", first, e->tid);
    expect(e, e->kernel->body, first);
    em(e, "@%s fence.mbarrier_init.release.cluster;", first);
    em(e, "barrier.cluster.arrive.relaxed.aligned;");
}

void me_wait_for_all(Emitter *e)
{
    em(e, "barrier.cluster.wait.aligned;");
}

/* To every block of the cluster, by a lane of the row each: there are `lanes` of them. */
static void send(Emitter *e, const TileOp *op, const char *mine, const char *lane, int lanes, const int *regs, int n)
{
    int blocks = tile_cluster_blocks(e->kernel), each = op->args[0]->type.layout.warps_n * NUMBER_BYTES;
    const char *part = ix_value(e, aff_of(e->program->aff, tile_cluster(e->kernel)->sym)), *place = em_new(e, REG_R);
    em(e, "mad.lo.s32 %s, %s, %d, %s;", place, part, each, mine);
    for (int from = 0; from < blocks; from += lanes) {
        const char *rank = em_new(e, REG_R), *there = em_new(e, REG_R), *mbarrier = em_new(e, REG_R), *p = em_new(e, REG_P);
        em(e, "add.s32 %s, %s, %d;", rank, lane, from);
        em(e, "setp.lt.s32 %s, %s, %d;", p, rank, blocks);
        em(e, "@%s mapa.shared::cluster.u32 %s, %s, %s;", p, there, place, rank);
        em(e, "@%s mapa.shared::cluster.u32 %s, %s, %s;", p, mbarrier, e->smem, rank);
        for (int i = 0; i < n; i++)
            em(e, "@%s st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%s+%d], %%f%d, [%s+%lld];", p, there,
               parts_of_row(op, i), regs[i], mbarrier, (long long)mbarrier_of(op));
    }
}

static void await(Emitter *e, const TileOp *op)
{
    int label = em_label(e);
    const char *p = em_new(e, REG_P);
    em(e, "$sent%d:", label);
    em(e, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %s, [%s+%lld], 0;", p, e->smem, (long long)mbarrier_of(op));
    em(e, "@!%s bra $sent%d;", p, label);
}

/* ---- both ------------------------------------------------------------------------------------ */

void me_reduce(Emitter *e, const TileOp *op, int *regs, int n)
{
    const TileType *a = &op->args[0]->type;
    int lanes = a->rows > 1 ? me_lanes_of_row(&a->layout) : LANES;
    int count = a->layout.warps_n * (op->across ? tile_cluster_blocks(e->kernel) : 1);
    const char *row = em_new(e, REG_R), *base = parts_address(e, op, row), *mine = em_new(e, REG_R), *lane = em_new(e, REG_R);
    address_part(e, op, base, row, mine);
    em_at(e, 0, "and.b32 %s, %s, %d;", lane, e->lane, lanes - 1);
    if (op->across) send(e, op, mine, lane, lanes, regs, n);
    else leave(e, op, mine, lane, regs, n);
    if (op->across) await(e, op);
    for (int i = 0; i < n; i++) {
        int *all = fr_fresh(e, REG_F, count), w = 0, at = parts_of_row(op, i);
        for (; w + 4 <= count; w += 4)
            em(e, "ld.shared.v4.f32 {%%f%d, %%f%d, %%f%d, %%f%d}, [%s+%d];", all[w], all[w + 1], all[w + 2], all[w + 3],
               base, at + w * NUMBER_BYTES);
        for (; w < count; w++) em(e, "ld.shared.f32 %%f%d, [%s+%d];", all[w], base, at + w * NUMBER_BYTES);
        regs[i] = el_reduce_tree(e, el_combine(op->op), all, count);
    }
}
