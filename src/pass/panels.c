/* panels.c: shared tiles of words of 32 bits that only rows meet.
 *
 * A fragment has a pair of such words in each of four rows that are accessed together, so that panels of 32 bytes suit it
 * (lay_panel_for). Lanes that lie as memory does have 16 bytes beside each other, eight of which take a whole row of a
 * panel of 128 bytes, and would meet fourfold in narrow ones; and a bulk copy brings fewer, longer rows. So where all that is
 * moved out of a tile, or put into it, lies in rows (lay.h, LAY_ROWS), its panels are as wide as those of other types.
 *
 *   %k = await %K : shared fp32<64x64>, panels(128)
 *   %r = move %k : fp32<64x64>, rows(4x1, k4, lanes16)
 */
#include "pass/rows.h"

typedef struct Panels {
    int *parent;    /* by value id: shared tiles of one storage */
    bool *rows;     /* of a root: some rows meet it, */
    bool *others;   /* and so does something else */
} Panels;

static bool is_shared(const TileValue *v)
{
    return v->type.kind == TT_BUFFER || (v->type.kind == TT_TILE && v->type.space == SPACE_SHARED);
}

static void meets(Panels *p, const TileValue *shared, const TileValue *reg)
{
    bool in_rows = reg->type.layout.kind == LAY_ROWS;
    int root = tile_group_of(p->parent, shared->id);
    p->rows[root] |= in_rows;
    p->others[root] |= !in_rows;
}

static void join(Panels *p, const TileValue *a, const TileValue *b)
{
    int i = tile_group_of(p->parent, a->id), j = tile_group_of(p->parent, b->id);
    p->parent[i] = j;
    p->rows[j] |= p->rows[i];
    p->others[j] |= p->others[i];
}

/* What copies do to a tile suits panels of any width. */
static bool is_copy(const TileOp *op)
{
    return op->kind == TILE_COPY_ASYNC || op->kind == TILE_ACQUIRE || op->kind == TILE_FILLED || op->kind == TILE_RELEASE;
}

static void see(Panels *p, const TileOp *op)
{
    bool within = op->kind == TILE_VIEW || op->kind == TILE_AWAIT || op->kind == TILE_SLICE;
    if (op->kind == TILE_MOVE && is_shared(op->args[0])) meets(p, op->args[0], op->results[0]);
    else if (op->kind == TILE_PUT) meets(p, op->args[1], op->args[0]);
    else if (within && is_shared(op->args[0])) join(p, op->results[0], op->args[0]);
    else
        for (int k = 0; k < op->n_args && !is_copy(op); k++)
            if (is_shared(op->args[k])) p->others[tile_group_of(p->parent, op->args[k]->id)] = true;
}

static void see_block(Panels *p, const TileBlock *block)
{
    for (int i = 0; i < block->params.len; i++)
        if (is_shared(block->params.data[i])) p->others[tile_group_of(p->parent, block->params.data[i]->id)] = true;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        see(p, op);
        for (int k = 0; k < op->n_regions; k++) see_block(p, op->regions[k]);
    }
}

bool *panels_of_rows(TileProgram *program, const TileKernel *kernel)
{
    int n = kernel->next_value;
    Panels p = {.parent = arena_array(program->arena, int, n), .rows = arena_array(program->arena, bool, n),
                .others = arena_array(program->arena, bool, n)};
    bool *wide = arena_array(program->arena, bool, n);
    tile_groups(p.parent, n);
    see_block(&p, kernel->body);
    for (int i = 0; i < n; i++) {
        int root = tile_group_of(p.parent, i);
        wide[i] = p.rows[root] && !p.others[root];
    }
    return wide;
}
