/* grid.c: what is known of a grid whose sizes are known, from --set or from --bind.
 *
 * Blocks that a launch is not known to have are taken for many: each has its share of
 * the L2 cache's bandwidth. Of those that are counted
 *   - few have more of L2 each, as far as a multiprocessor's port goes;
 *   - what no other block reads comes from DRAM, whose bandwidth all share;
 *   - a tile may be larger than its tensor.
 * Where some sizes of the grid are missing, others that the launch is said to give are left out: what is known of a
 * part of a launch is often but a shape to try the kernel at.
 */
#include "reason/plan.h"

#include <math.h>

enum {
    L2_LINE = 128, /* bytes */
    OUTSIDE = 3    /* rows past the end of a tensor, of a tensor map's box: each takes as long as so many (seen there) */
};

/* What a multiprocessor takes from L2, over its share of the rate that many large products read at (l2_gbs): where all of
 * them read (64 bytes a clock, seen on an H200), and where few do (a guess, with which small grids were chosen well). */
static const double L2_ALL = 1.7, L2_FEW = 3.4;

/* Of the blocks that read a tile, those that read it near enough in time to one of them. */
static const double TOGETHER = 0.8;

/* What reads get of the memory's bandwidth (seen on an H200). */
static const double DRAM_SHARE = 0.85;

/* Of L2, what loops find there that an earlier one has read; and how much longer they read what they do not find (seen on an H200:
 * a softmax of 1024 rows of 256 columns, along the columns, takes 0.68 of the time where its tiles stay in shared memory). */
static const double L2_KEEPS = 0.5, FROM_DRAM_AGAIN = 1.6;

bool plan_expects_launch(const Plan *plan)
{
    bool all = true;

    for (int i = 0; i < plan->grid.len; i++)
        all &= plan->grid.data[i]->expected > 0;
    return all;
}

void plan_settle_launch(Plan *plan)
{
    bool all = plan_expects_launch(plan);

    for (int i = 0; i < plan->extents.len && !all; i++)
        plan->extents.data[i]->expected = plan->extents.data[i]->known;
}

static double length_of(const Extent *extent, double unknown)
{
    return extent->expected > 0 ? (double)extent->expected : unknown;
}

double plan_turns(const Choice *c, const Extent *extent)
{
    double turns = length_of(extent, PLAN_TYPICAL_LENGTH) / (double)c->size[extent->id];

    return extent->expected > 0 ? ceil(turns) : turns;
}

double plan_parts_assumed(const Plan *plan)
{
    return plan->parts > 1 ? plan->parts : 1;
}

double plan_blocks(const Plan *plan, const Choice *c)
{
    double blocks = plan_parts_assumed(plan);

    for (int i = 0; i < plan->grid.len; i++) {
        const Extent *extent = plan->grid.data[i];

        blocks *= extent->kind == EXT_LEAD ? length_of(extent, PLAN_TYPICAL_ENTRIES) : plan_turns(c, extent);
    }
    return blocks;
}

/* Bytes that a copy brings. What a tile has more than its tensor is not read; but of a box it is filled with zeros. */
static double bytes_of(const Choice *c, const Step *step)
{
    const Tile *tile = step->copied;
    double rows = (double)c->size[tile->row->id], cols = (double)c->size[tile->col->id];
    double there = fmin(rows, length_of(tile->row, rows)) * fmin(cols, length_of(tile->col, cols));

    return (there + (c->groups ? OUTSIDE * (rows * cols - there) : 0)) * dtype_bytes(step->tensor->dtype);
}

/* Blocks that read the same tile, as they differ in rows or columns that it has none of. */
static double readers_of(const Plan *plan, const Choice *c, const Tile *tile)
{
    double blocks = 1;

    for (int i = 0; i < plan->grid.len; i++) {
        const Extent *extent = plan->grid.data[i];

        if (extent->kind != EXT_LEAD && extent != tile->row && extent != tile->col)
            blocks *= plan_turns(c, extent);
    }
    return blocks;
}

/* Bytes a clock that a multiprocessor has of what large products read from L2. */
static double l2_share(const Target *t)
{
    return t->l2_gbs / (t->sms * t->clock_ghz);
}

/* What the blocks that run at once go over with a loop, where that is more than L2 keeps for the loops behind. (Loops that are cut into
 * parts become kernels of their own, which were rated well without.) */
static bool leaves_l2(const Plan *plan, const Choice *c, double blocks, const Step *step)
{
    const Target *t = plan->options->target;
    const Tile *tile = step->copied;
    const Extent *loop = tile->row->kind == EXT_LOOP ? tile->row : tile->col;
    double all = (double)(c->size[tile->row->id] * c->size[tile->col->id]) * dtype_bytes(step->tensor->dtype) * plan_turns(c, loop);

    return plan->parts < 2 && all * fmin(blocks, (double)c->blocks_per_sm * t->sms) > L2_KEEPS * (double)t->l2_bytes;
}

/* Of a grid of so many blocks. */
static double cycles_in_grid(const Plan *plan, const Choice *c, double blocks, const Step *step)
{
    const Target *t = plan->options->target;
    double bytes = bytes_of(c, step), active = fmin(blocks, t->sms), readers = readers_of(plan, c, step->copied);
    double row = (double)c->size[step->copied->col->id] * dtype_bytes(step->tensor->dtype);

    if (row < L2_LINE && !(c->kept && step->again)) /* a part of a line takes as long as all of it; of columns that are read once the block beside takes the rest */
        bytes *= L2_LINE / row;
    double near = bytes / (l2_share(t) * fmin(L2_FEW, L2_ALL * t->sms / active));
    double far = bytes * active / (1 + TOGETHER * (readers - 1)) / (DRAM_SHARE * t->dram_gbs / t->clock_ghz);

    return fmax(near, far) * (step->again == AGAIN_LATER && leaves_l2(plan, c, blocks, step) ? FROM_DRAM_AGAIN : 1);
}

double plan_copy_cycles(const Plan *plan, const Choice *c, double blocks, const Step *step)
{
    double bytes = (double)(c->size[step->copied->row->id] * c->size[step->copied->col->id]) * dtype_bytes(step->tensor->dtype);

    return blocks > 0 ? cycles_in_grid(plan, c, blocks, step) : bytes / l2_share(plan->options->target);
}
