/* fetch.c: a few numbers that are needed behind a loop are loaded before it.
 *
 *   for ... { ... }                       %a = load A[h, 0 : rows, 0 : cols] : fp32<1x1>
 *   %a = load A[h, ...] : fp32<1x1>  ->   for ... { ... }
 *   %o = multiply %o, %a                  %o = multiply %o, %a
 *
 * Behind the loop there is nothing left that could hide the latency of memory, and where
 * a block goes through many places, as persistent ones do, it is paid at each. A scalar or a
 * column vector takes a register or two meanwhile.
 */
#include "pass/fetch.h"

#include "pass/rewrite.h"

static bool is_few(const TileOp *op)
{
    return op->kind == TILE_LOAD && op->results[0]->type.space == SPACE_REGISTER && op->results[0]->type.cols == 1;
}

/* Coordinates may name a scalar from where that is read. */
static int first_place(const TileBlock *block, int at)
{
    while (at > 0 && block->ops.data[at - 1]->kind != TILE_SCALAR) at--;
    return at;
}

static bool has_loop(const TileBlock *block, int from, int to)
{
    for (int i = from; i < to; i++)
        if (block->ops.data[i]->kind == TILE_FOR) return true;
    return false;
}

void fetch_early(TileProgram *program, TileKernel *kernel)
{
    TileBlock *body = kernel->body;
    for (int i = 0; i < body->ops.len; i++) {
        TileOp *op = body->ops.data[i];
        int first = is_few(op) && !tile_stores_to(body, op->tensor) ? first_place(body, i) : i;
        if (!has_loop(body, first, i)) continue;
        tile_remove(body, i);
        tile_insert(program, body, first, op);
    }
}
