/* require.c: what a launch must keep to so that coordinates mean what they say.
 *
 * Consecutive blocks along an axis of A entries share one of a tensor's B entries
 * through the coordinate `h div (A div B)`. That is right only where B divides A;
 * with B known only at launch, the host checks it.
 */
#include "lower/state.h"

static void require(TileProgram *program, const Aff *cond, const char *message)
{
    if (aff_always(program->aff, cond)) return;
    for (int i = 0; i < program->requires.len; i++)
        if (program->requires.data[i].cond == cond) return;
    vec_push(program->arena, &program->requires, (TileRequire){cond, message});
}

static bool is_axis_of(const TileKernel *kernel, const Aff *coord, const Aff *extent)
{
    if (coord->kind != AFF_SYM) return false;
    for (int i = 0; i < kernel->grid.len; i++)
        if (kernel->grid.data[i].sym == coord->sym) return kernel->grid.data[i].extent == extent;
    return false;
}

static void visit_coordinate(TileProgram *program, const TileKernel *kernel, const Aff *e)
{
    if (!e || e->kind == AFF_CONST || e->kind == AFF_SYM) return;
    const Aff *share = e->kind == AFF_DIV ? e->b : NULL;
    if (share && share->kind == AFF_DIV && is_axis_of(kernel, e->a, share->a)) {
        AffCtx *aff = program->aff;
        const char *message = arena_printf(program->arena, "%s must be a multiple of %s", aff_text(program->arena, share->a),
                                           aff_text(program->arena, share->b));
        require(program, aff_le(aff, aff_const(aff, 1), share->b), message);
        require(program, aff_eq(aff, aff_mod(aff, share->a, share->b), aff_const(aff, 0)), message);
    }
    visit_coordinate(program, kernel, e->a);
    visit_coordinate(program, kernel, e->b);
}

static void visit_block(TileProgram *program, const TileKernel *kernel, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int d = 0; op->tensor && op->coords && d < op->tensor->rank; d++)
            visit_coordinate(program, kernel, op->coords[d]);
        for (int r = 0; r < op->n_regions; r++) visit_block(program, kernel, op->regions[r]);
    }
}

void lo_requirements(TileProgram *program)
{
    for (int k = 0; k < program->kernels.len; k++)
        visit_block(program, program->kernels.data[k], program->kernels.data[k]->body);
}
