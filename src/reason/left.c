/* left.c: what a table of blocks leaves of a loop, for tiles of each size.
 *
 * A tile is computed if one of its blocks counts (src/pass/listed.c), so that tiles larger than blocks compute what nobody wants:
 * of a table of which every other block counts, tiles as large as blocks compute half of all, those of two blocks three quarters.
 *
 *   Mask S where Keep[(m * BM + row(S)) div 64, (t * BN + col(S)) div 64] == 1
 */
#include "reason/plan.h"

#include <math.h>

static const double KEPT = 0.5; /* of blocks, as far as anybody knows */

static double blocks_in(int64_t size, int64_t block)
{
    return (double)((size + block - 1) / block);
}

static bool is_of_blocks(const Read *read)
{
    return read->element && read->rows > 1 && read->cols > 1;
}

/* Of all that tiles as large as blocks compute. */
static double left_by(const Choice *c, const Step *step)
{
    double left = 1;

    for (int i = 0; i < step->reads.len; i++) {
        const Read *read = &step->reads.data[i];

        if (!is_of_blocks(read))
            continue;
        double blocks = blocks_in(c->size[step->result->row->id], read->rows) * blocks_in(c->size[step->result->col->id], read->cols);
        left = fmax(left, (1 - pow(1 - KEPT, blocks)) / KEPT);
    }
    return left;
}

double plan_left(const Choice *c, const Steps *steps)
{
    double left = 1;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        if (step->class == OPC_MASK)
            left = fmax(left, left_by(c, step));
        left = fmax(left, fmax(plan_left(c, &step->body), plan_left(c, &step->orelse)));
    }
    return left;
}

bool plan_masks_blocks(const Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        for (int r = 0; step->class == OPC_MASK && r < step->reads.len; r++)
            if (is_of_blocks(&step->reads.data[r]))
                return true;
        if (plan_masks_blocks(&step->body) || plan_masks_blocks(&step->orelse))
            return true;
    }
    return false;
}
