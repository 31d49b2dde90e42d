/* groups.c: choices that pass `split` will divide among warpgroups.
 *
 * Where the tensor cores multiply for whole warpgroups (Target.has_wgmma), a block of
 * 64 rows a warpgroup is divided so (src/pass/split.c): one more warpgroup copies, the
 * loop is turned, and what the arithmetic leaves for later products is there twice. A
 * choice that is not divided multiplies by mma.sync, at some 0.6 of the rate. None is
 * divided where rows in memory begin anywhere: what runs then is the entry for any
 * alignment, which has no roles.
 */
#include "reason/plan.h"

enum { ALIGNMENT = 16 }; /* bytes that a tensor map wants strides to be multiples of (CUDA driver API, cuTensorMapEncodeTiled) */

/* An operand that a copy brings from a tensor as it is. */
static bool is_brought(const Tile *tile)
{
    return tile && tile->shared && !tile->computed && !tile->loaded;
}

/* Elements of a row that a lane moves at once, at most: 16 bytes. */
static int elements_at_once(const Plan *plan)
{
    int bytes = 2;

    for (int i = 0; i < plan->tensors.len; i++)
        if (dtype_bytes(plan->tensors.data[i].dtype) < bytes)
            bytes = dtype_bytes(plan->tensors.data[i].dtype);
    return 16 / bytes;
}

/* Whether all of a kernel's warps can share a tile, each some rows: as accumulators lie, or with lanes beside each other that
 * have 16 bytes of a row. */
static bool is_shared_by_warps(const Plan *plan, const Choice *c, const Tile *tile)
{
    enum { LANES = 32, ATOM_ROWS = 16 };
    int64_t rows = c->size[tile->row->id], cols = c->size[tile->col->id];

    for (int lanes = 1; lanes <= LANES; lanes *= 2)
        if (rows % (c->warps * LANES / lanes) == 0 && cols % (elements_at_once(plan) * lanes) == 0)
            return true;
    return rows % (ATOM_ROWS * c->warps) == 0;
}

/* One that a warpgroup prepares, a slab of rows after the other; and in the entry for any alignment all warps. */
static bool is_prepared(const Plan *plan, const Choice *c, const Tile *tile)
{
    return tile && tile->prepared && tile->shared && dtype_bytes(tile->shared_dtype) == 2 && c->size[tile->row->id] % TARGET_GROUP_ROWS == 0 &&
           is_shared_by_warps(plan, c, tile);
}

static int wanted_roles(const Plan *plan)
{
    return plan->options->schedule ? plan->options->schedule->value[SCHED_ROLES] : SCHED_AUTO;
}

static bool has_roles(const Plan *plan)
{
    return wanted_roles(plan) != SCHED_ROLES_OFF;
}

/* Rows of a tensor that lie one after the other: none begins at a multiple of 16 bytes but by chance. */
static bool rows_are_unaligned(Plan *plan, const PlanTensor *tensor)
{
    const Expr *last = tensor->rank > 1 ? tensor->stmt->shape[tensor->rank - 1] : NULL;
    const Aff *length = last ? eval_aff(&plan->env, last, plan->diags) : NULL;
    int64_t known;

    if (!length || (!aff_is_const(length, &known) && !plan_expects_launch(plan)))
        return false;
    return plan_at_launch(plan, length) * dtype_bytes(tensor->dtype) % ALIGNMENT != 0;
}

bool plan_is_unaligned(Plan *plan, const Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        if ((step->bring != BRING_NONE && step->tensor && rows_are_unaligned(plan, step->tensor)) || plan_is_unaligned(plan, &step->body) ||
            plan_is_unaligned(plan, &step->orelse))
            return true;
    }
    return false;
}

/* Whether exponentials are taken: warpgroups' products of 8 bits keep too few bits for those (pass/split.c). */
static bool amplifies(const Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        OpId op = step->known ? step->stmt->op : OP_COUNT;

        if (op == OP_SOFTMAX || op_is_exponential(op) || amplifies(&step->body) || amplifies(&step->orelse))
            return true;
    }
    return false;
}

static bool divides(const Plan *plan, const Choice *c, const Steps *steps)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        const Stmt *s = step->stmt;

        if (!divides(plan, c, &step->body) || !divides(plan, c, &step->orelse))
            return false;
        if (step->known && step->class == OPC_COL_REDUCE)
            return false;
        if (!step->gemm)
            continue;
        const Tile *a = step->args[0], *b = step->args[1], *r = step->result;
        bool bytes = b && dtype_bytes(b->shared_dtype) == 1, turned = plan_transposed(s->args[0]);
        if (!a || !r || !(is_brought(b) || (has_roles(plan) && is_prepared(plan, c, b))) || (turned && !is_brought(a)) || (bytes && (turned || !plan_transposed(s->args[1]) || amplifies(&plan->steps))))
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

    if (plan->counts.unaligned && wanted_roles(plan) != SCHED_ROLES_ON)
        return 0;
    if (!t->has_wgmma || c->warps % TARGET_GROUP_WARPS || c->warps_n > 1 || groups < 1 || groups > TARGET_GROUPS)
        return 0;
    return divides(plan, c, &plan->steps) && plan_comes(plan, c) ? groups : 0;
}
