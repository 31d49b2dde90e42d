/* ahead.c: columns of numbers that a loop reads from memory, a turn ahead.
 *
 * A role that prepares tiles has nothing to do while it waits for memory. Tiles come by bulk copies, some turns ahead;
 * scales and the like it reads itself, each turn those of the next. What is the same in all turns is read once.
 *
 *   for k = lo:hi {                      %s0 = gather scale[row, lo]
 *     %s = gather scale[row, k]          for k = lo:hi carry (%s = %s0) {
 *     use %s                      ->       %s1 = gather scale[row, k + 1]
 *   }                                      use %s
 *                                          yield %s1
 *                                        }
 *
 * Outside of a tensor there are zeros, so there is one turn ahead of the last, too. Where several turns have the same
 * numbers they are read again: to ask first took longer.
 */
#include "pass/ahead.h"

#include "pass/copies.h"

enum { MOST = 16 }; /* numbers that a lane holds so */

/* A row or a column: elements of a slab, each at an address of its own, are read with the slab. */
static bool is_read(const TileOp *op)
{
    if ((op->kind != TILE_GATHER && op->kind != TILE_LOAD) || op->n_args > 0) return false;
    const TileType *t = &op->results[0]->type;
    return t->space == SPACE_REGISTER && (t->rows == 1 || t->cols == 1);
}

static int values_of(const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    return t->layout.kind == LAY_NONE ? INT32_MAX : lay_fragment_values(t->layout, t->rows, t->cols);
}

static bool changes(const TileOp *op, const AffSym *var)
{
    bool uses = op->where && aff_uses(op->where, var);
    for (int d = 0; d < op->tensor->rank; d++) uses |= aff_uses(op->coords[d], var);
    return uses;
}

/* The same of another turn. */
static TileOp *copy_at(TileProgram *program, TileKernel *kernel, TileOp *op, const AffSym *var, const Aff *turn, TileBlock *to, int at)
{
    Copier c = copier_new(program, kernel, var, turn);
    TileBlock one = {.ops = {.data = &op, .len = 1, .cap = 1}}, *made = tile_block_new(program);
    copy_ops(&c, &one, 0, 1, made);
    tile_insert(program, to, at, made->ops.data[0]);
    return made->ops.data[0];
}

/* The loop at block[*at]; *at moves along. */
static void fetch_for(TileProgram *program, TileKernel *kernel, TileBlock *block, int *at)
{
    TileOp *loop = block->ops.data[*at];
    TileBlock *body = loop->regions[0];
    int held = 0, next = 0;
    for (int i = 0; i < body->ops.len; i++) {
        TileOp *op = body->ops.data[i];
        if (!is_read(op) || values_of(op) > MOST - held) continue;
        held += values_of(op);
        tile_remove(body, i);
        if (!changes(op, loop->var)) {
            tile_insert(program, block, (*at)++, op);
            i--;
            continue;
        }
        TileOp *first = copy_at(program, kernel, op, loop->var, loop->lo, block, (*at)++);
        TileOp *later = copy_at(program, kernel, op, loop->var, aff_offset(program->aff, aff_of(program->aff, loop->var), 1), body, next++);
        tile_replace_uses(body, op->results[0], rw_carry(program, kernel, loop, first->results[0]));
        rw_yield(program, body, later->results[0]);
    }
}

void fetch_ahead(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) fetch_ahead(program, kernel, op->regions[k]);
        if (op->kind == TILE_FOR) fetch_for(program, kernel, block, &i);
    }
}
