/* chain.c: arithmetic on a tile in several operations, value by value.
 *
 * Operations are made one after the other, each of a whole tile: ptxas sees that values do not wait for
 * each other, and starts more of them than there are registers for where each takes many steps. Those
 * of a quotient that is rounded up, or down, go through all of
 * their operations before the next value does; and so do exponentials of what takes several steps, as behind
 * a cap: the special function units, which they wait for, have work from the first value on.
 */
#include "ptx/emit.h"

static bool is_link(const Emitter *e, const TileOp *op, const TileOp *first)
{
    if (!el_is_plain(e, op)) return false;
    const TileType *t = &op->results[0]->type, *like = &first->results[0]->type;
    return t->rows > 1 && t->cols > 1 && t->dtype == DT_F32 && tile_type_equal(*t, *like);
}

/* What links take besides: numbers. */
static bool is_number(const TileOp *op)
{
    return op->kind == TILE_FILL && op->n_args == 0 && !tile_is_storage(op) && op->results[0]->type.rows == 1 && op->results[0]->type.cols == 1;
}

enum { STEPS = 3 }; /* ahead of an exponential, from which on it is made value by value */

int ch_length(const Emitter *e, const TileBlock *block, int at)
{
    const TileOp *first = block->ops.data[at];
    int end = at, links = 0;
    bool by_value = false;
    if (!is_link(e, first, first)) return 0;
    for (int i = at; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        bool link = is_link(e, op, first);
        if (!link && !is_number(op)) break;
        if (link) end = i + 1;
        by_value |= link && (op->op == OP_CEIL_DIVIDE || (op_is_exponential(op->op) && links >= STEPS));
        links += link;
    }
    return by_value ? end - at : 0;
}

void ch_emit(Emitter *e, const TileBlock *block, int at, int n)
{
    TileOp *const *ops = &block->ops.data[at];
    for (int k = 0; k < n; k++)
        if (ops[k]->kind == TILE_FILL) el_fill(e, ops[k]);
        else el_begin(e, ops[k]);
    for (int i = 0; i < e->frags[ops[0]->results[0]->id].n; i++)
        for (int k = 0; k < n; k++)
            if (ops[k]->kind != TILE_FILL) el_value(e, ops[k], i);
}
