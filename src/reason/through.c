/* through.c: computed operands that pass through shared memory, so that warps may share rows.
 *
 * A tile that a product has made, and another one multiplies, stays in registers: the fragment of the sum becomes the
 * operand's, in the warp that has whole rows of it. So a warp also has whole rows of what the second product
 * adds up, and where those are as wide as 512 columns of latent values it has no registers for them. Then
 * warps beside each other share the rows (warps_n): what is reduced along a row they combine, and each
 * finds the other's part of the operand in shared memory.
 *
 *     Compute Softmax S with m and l                   Compute Softmax S with m and l
 *     Reshape S from ... to ...                 ->     Compute Cast S, bf16 and get S_op
 *     Compute GEMM S, V and accumulate O               Copy S_op from register to shared
 *                                                      Compute GEMM S_op.shared, V and accumulate O
 *
 * The price is that copy, and warps that wait for each other: so it is tried where nothing else fits. A first operand that
 * is transposed, `GEMM P.T, dO`, always comes from there: the tensor cores turn what they load.
 */
#include "reason/plan.h"

bool plan_passes_through(const Choice *c, const Tile *tile)
{
    return tile->turned || (c->warps_n > 1 && !c->in_rows && tile->first_operand);
}

bool plan_may_pass_through(const Plan *plan)
{
    if (plan_whole_cols(plan))
        return false;
    for (int i = 0; i < plan->tiles.len; i++)
        if (plan->tiles.data[i].first_operand)
            return true;
    return false;
}
