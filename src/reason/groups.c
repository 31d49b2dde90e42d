/* groups.c: choices that pass `split` will divide among warpgroups.
 *
 * Where the tensor cores multiply for whole warpgroups (Target.has_wgmma), a block of
 * 64 rows a warpgroup is divided so (src/pass/split.c): one more warpgroup copies, the
 * loop is turned, and what the arithmetic leaves for later products is there twice. A
 * choice that is not divided multiplies by mma.sync, at some 0.6 of the rate.
 */
#include "reason/plan.h"

/* An operand that a copy brings from a tensor as it is. */
static bool is_brought(const Tile *tile)
{
    return tile && tile->shared && !tile->computed && !tile->loaded;
}

static bool divides(const Choice *c, const Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        const Stmt *s = step->stmt;

        if (!divides(c, &step->body) || !divides(c, &step->orelse))
            return false;
        if (step->known && step->class == OPC_COL_REDUCE)
            return false;
        if (!step->gemm)
            continue;
        const Tile *a = step->args[0], *b = step->args[1], *r = step->result;
        bool bytes = b && dtype_bytes(b->shared_dtype) == 1, turned = plan_transposed(s->args[0]);
        if (!a || !r || !is_brought(b) || (turned && !is_brought(a)) || (bytes && (turned || !plan_transposed(s->args[1]))))
            return false;
        if (c->size[r->row->id] != (int64_t)c->warps / TARGET_GROUP_WARPS * TARGET_GROUP_ROWS || c->size[r->col->id] > TARGET_GROUP_COLUMNS)
            return false;
    }
    return true;
}

int plan_groups(Plan *plan, const Choice *c)
{
    const Target *t = plan->options->target;
    int groups = c->warps / TARGET_GROUP_WARPS;

    if (!t->has_wgmma || c->warps % TARGET_GROUP_WARPS || c->warps_n > 1 || groups < 1 || groups > TARGET_GROUPS)
        return 0;
    return divides(c, &plan->steps) ? groups : 0;
}
