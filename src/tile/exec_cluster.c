/* exec_cluster.c: blocks of a cluster, which run side by side and meet.
 *
 * Each has values, buffers and copies of its own and goes on by itself to an
 * operation across blocks; there it leaves what it has and waits for the others.
 *
 *   block 0   ... %m = rowmax %t along columns across | ...
 *   block 1   ... %m = rowmax %t along columns across | ...
 *                                                     the maximum of both
 */
#include "tile/exec.h"

struct ExecCluster {
    int count;
    struct ClusterBlock {
        ExecThread main;
        ExecBuffers buffers;
        ExecCopies copies;
    } blocks[SCHED_CLUSTER_MOST];
};
typedef struct ClusterBlock ClusterBlock;

/* What belongs to one block changes places with that of another. */
static void change(Exec *x, ClusterBlock *b)
{
    ClusterBlock out = {x->main, x->buffers, x->copies};
    x->main = b->main;
    x->buffers = b->buffers;
    x->copies = b->copies;
    x->thread = &x->main;
    *b = out;
}

static void start_cluster(Exec *x)
{
    ExecCluster *c = x->cluster = arena_new_of(x->arena, ExecCluster);
    c->count = tile_cluster_blocks(x->kernel);
    for (int i = 0; i < c->count; i++) {
        c->blocks[i].main.number = MAIN_THREAD;
        c->blocks[i].main.symbols = arena_array(x->arena, int64_t, x->n_symbols);
        c->blocks[i].main.slots = arena_array(x->arena, ExecSlot, x->kernel->next_value);
    }
}

/* One block, to where it meets the others, which is given; NULL: to its end. */
static bool run_one(Exec *x, int i, bool begins, const TileOp **meets)
{
    ClusterBlock *b = &x->cluster->blocks[i];
    const AffSym *sym = x->kernel->grid.data[0].sym;
    if (begins)
        memcpy(b->main.symbols, x->main.symbols, sizeof(int64_t) * (size_t)x->n_symbols);
    change(x, b);
    x->axes[0] = x->main.symbols[sym->id] = i;
    bool ok = (!begins || exec_begin_block(x)) && exec_go_on(x, meets);
    change(x, b);
    return ok;
}

/* What all blocks have left, along columns, reduced as each did with its own; all have that then. */
static void reduce_across(Exec *x, const TileOp *op)
{
    ExecCluster *c = x->cluster;
    int id = op->results[0]->id, rows = c->blocks[0].main.slots[id].tile->rows;
    ExecTile *parts = exec_new_tile(x, rows, c->count), *whole = exec_new_tile(x, rows, 1);
    for (int i = 0; i < c->count; i++)
        for (int r = 0; r < rows; r++)
            parts->at[r * c->count + i] = c->blocks[i].main.slots[id].tile->at[r];
    exec_reduce(op->op, 1, parts, whole);
    parts->refs = 1;
    exec_drop(x, parts);
    for (int i = 0; i < c->count; i++) {
        change(x, &c->blocks[i]);
        exec_bind(x, op->results[0], (ExecSlot){.tile = whole});
        change(x, &c->blocks[i]);
    }
}

/* All have come to the same operation, or to their end. */
static bool all_meet(Exec *x, const TileOp *const *meets)
{
    for (int i = 1; i < x->cluster->count; i++)
        if (meets[i] != meets[0])
            return exec_fail(x, "has blocks of one cluster that wait for each other at different places");
    return true;
}

bool exec_run_cluster(Exec *x)
{
    const TileOp *meets[SCHED_CLUSTER_MOST] = {NULL};
    if (!x->cluster)
        start_cluster(x);
    for (bool begins = true; begins || meets[0]; begins = false) {
        for (int i = 0; i < x->cluster->count; i++)
            if (!run_one(x, i, begins, &meets[i]))
                return false;
        if (!all_meet(x, meets))
            return false;
        if (meets[0] && meets[0]->kind == TILE_REDUCE)
            reduce_across(x, meets[0]);
    }
    return true;
}
