/* behind.c: reductions along rows, once, behind their loop.
 *
 * What a loop adds up along rows, turn by turn, or takes the maximum of, is the same if lanes first do so each for
 * the columns that they have; lanes and warps then meet once a row, not in every turn:
 *
 *   %s = for k = 0:n carry (%s0 = %init) {           %t = for k = 0:n carry (%t0 = 0) {
 *     %r = rowsum %x along columns                     %t1 = add %t0, %x
 *     %s1 = add %s0, %r                         ->     yield %t1
 *     yield %s1                                      }
 *   }                                                %r = rowsum %t along columns
 *                                                    %s = add %init, %r
 *
 * In kernels without products, where a lane has few of a turn's columns: they stay in its registers.
 */
#include "pass/passes.h"
#include "pass/rows.h"

enum { LANES = 32, MOST_VALUES = 16 /* of a lane */ };

static bool has_room(const TileKernel *kernel, TileType t)
{
    return t.cols > 1 && (t.dtype == DT_F32 || dtype_is_narrow(t.dtype)) && (int64_t)t.rows * t.cols <= (int64_t)MOST_VALUES * LANES * kernel->warps;
}

/* The loop's carried value i, if a turn only takes a reduction into it. */
static void put_behind(TileProgram *program, TileKernel *kernel, TileBlock *block, TileOp *loop, int i)
{
    TileBlock *body = loop->regions[0];
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    TileValue *param = body->params.data[i], *init = loop->args[i];
    TileOp *step = yield->args[i]->def;
    if (!step || step->kind != TILE_ELEMENT || step->n_args != 2 || tile_index_of(body, step) < 0) return;
    int other = step->args[0] == param;
    TileValue *r = step->args[other];
    const RowStep *how = step->args[!other] == param ? rows_step(step, r) : NULL;
    if (!how || tile_index_of(body, r->def) < 0 || tile_count_uses(body, param) != 1 || tile_count_uses(body, r) != 1) return;
    if (tile_count_uses(body, step->results[0]) != 1 || !has_room(kernel, r->def->args[0]->type)) return;

    TileOp *reduce = r->def;
    TileValue *x = reduce->args[0];
    TileType type = tile_type(DT_F32, x->type.rows, x->type.cols, x->type.space);
    Rewriter before = {program, kernel, block, tile_index_of(block, loop), loop->loc};
    loop->args[i] = rw_fill_tile(&before, how->nothing, type.rows, type.cols);
    param->type = step->results[0]->type = type;
    step->args[other] = x;
    rw_remove(body, reduce);
    Rewriter after = {program, kernel, block, tile_index_of(block, loop) + 1, loop->loc};
    TileValue *result = loop->results[i], *whole = rw_renew(&after, loop, i);
    whole->type = type;
    rw_serve(result, rw_binary(&after, how->step, init, rw_reduce_rows(&after, how->along, whole)));
}

static void behind_in(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int k = 0; k < block->ops.len; k++) {
        TileOp *loop = block->ops.data[k];
        for (int r = 0; r < loop->n_regions; r++) behind_in(program, kernel, loop->regions[r]);
        if (loop->kind != TILE_FOR) continue;
        for (int i = 0; i < loop->n_results; i++) put_behind(program, kernel, block, loop, i);
        k = tile_index_of(block, loop);
    }
}

bool pass_behind(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    (void)diags;
    if (rows_without_fragments(kernel)) behind_in(program, kernel, kernel->body);
    return true;
}
