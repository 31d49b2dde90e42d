/* later.c: rows of numbers that outputs meet, as biases and scales, loaded number by number.
 *
 * A lane has many columns of an accumulator, and as many numbers of a row that all of its rows meet. ptxas starts the
 * loads of several rows at once where nothing keeps it from it, for which there are no registers beside a large
 * accumulator. There each number is loaded where arithmetic takes it, some of them between traps that never happen.
 */
#include "ptx/emit.h"
#include "ptx/global.h"
#include "ptx/stretch.h"

struct Later {
    const TileOp *op;
    const char *corner;
    RowAddress last;
    bool *there; /* by value */
    int loaded;  /* of them */
};

static bool is_row_from_memory(const TileOp *op)
{
    const TileType *t = op->n_results == 1 ? &op->results[0]->type : NULL;
    return op->kind == TILE_LOAD && t->space == SPACE_REGISTER && t->rows == 1 && t->cols > 1 && t->layout.kind != LAY_ROWS;
}

/* Whether arithmetic takes it, with nothing before but other arithmetic and the last product's end. */
bool lr_can(const Emitter *e, const TileOp *load)
{
    const TileValue *v = load->results[0];
    if (!is_row_from_memory(load) || e->uses[v->id] != 1 || !rm_rows_are_long(e)) return false;
    for (int i = e->at + 1; i < e->block->ops.len; i++) {
        const TileOp *op = e->block->ops.data[i];
        if (tile_op_uses(op, v)) return el_is_plain(e, op);
        bool waits = op->kind == TILE_FINISH || op->kind == TILE_RELEASE;
        if (!waits && op->kind != TILE_FILL && op->kind != TILE_LOAD && op->kind != TILE_ELEMENT) return false;
    }
    return false;
}

void lr_begin(Emitter *e, const TileOp *load)
{
    Frag *frag = &e->frags[load->results[0]->id];
    frag->later = arena_new_of(e->arena, Later);
    *frag->later = (Later){.op = load, .corner = cp_lane_corner(e, load, load->results[0]), .there = arena_array(e->arena, bool, frag->n)};
}

void lr_value(Emitter *e, const TileValue *v, int i)
{
    enum { AT_ONCE = 32 };
    const Frag *frag = &e->frags[v->id];
    Later *l = frag->later;
    if (l->there[i]) return;
    l->there[i] = true;
    if (l->loaded++ % AT_ONCE == 0) an_stop(e);
    Place p = cp_place(e, v, i);
    const char *row = cp_row_address(e, l->op, l->corner, &p, &l->last);
    const char *guard = gl_guard(e, cp_inside(e, l->op, v, &p, 1));
    gl_load_value(e, l->op->tensor->dtype, guard, cp_column_address(e, l->op, row, p.col_step), frag->f[i]);
}
