/* unpinned.c: tiles that products do not pin, of words that are read for each element, as memory has them.
 *
 * In kernels with products register tiles are fragments of the tensor cores' instruction, in which a lane has two
 * columns of each eight. Weights of few bits are put into shared memory when they are made, so nothing says how they lie
 * before; and a word that eight of them share would be read by four lanes, each for two. So where all that a tile meets
 * on its way to shared memory is made for it alone, a lane has eight neighbours of a row (lay.h, LAY_ROWS): one word of
 * weights of 4 bits that lie along the row, one of their zero points or scales, eight words beside each other where they
 * lie across.
 *
 *   %i = index W[n, k div 8] … : fp32<64x64>, rows(4x1, k8, lanes8)
 *   %s = gather scale[n, k div 128]
 *   %w = mul %i, %s
 *   %c = cast %w : bf16<64x64>
 *   put %c, %buffer
 */
#include "pass/passes.h"
#include "pass/rows.h"

enum { LANES = 32, NEIGHBOURS = 8 };

typedef struct Groups { /* of tiles that meet element by element, as a forest */
    int *parent;     /* by value id */
    bool *pinned;    /* of a root: something else touches one of them */
    bool *has_words; /* of a root: elements of tables of integers are in one of them, within a loop */
    Layout *layouts; /* of a root; LAY_NONE: not asked for yet, or none fits */
    int warps;
} Groups;

static int root_of(const Groups *g, const TileValue *v)
{
    return tile_group_of(g->parent, v->id);
}

static bool is_tile(const TileValue *v)
{
    return v->type.kind == TT_TILE && v->type.space == SPACE_REGISTER && (v->type.rows > 1 || v->type.cols > 1);
}

static void join(Groups *g, const TileValue *a, const TileValue *b)
{
    if (!is_tile(a) || !is_tile(b)) return;
    int i = root_of(g, a), j = root_of(g, b);
    g->parent[i] = j;
    g->pinned[j] |= g->pinned[i];
    g->has_words[j] |= g->has_words[i];
}

static void pin_all(Groups *g, TileValue *const *values, int n)
{
    for (int i = 0; i < n; i++)
        if (is_tile(values[i])) g->pinned[root_of(g, values[i])] = true;
}

static bool is_elementwise(const TileOp *op)
{
    return op->kind == TILE_ELEMENT || op->kind == TILE_MASK || op->kind == TILE_CAST || op->kind == TILE_GATHER;
}

/* Makes a tile of nothing, or of memory. */
static bool makes(const TileOp *op)
{
    return op->kind == TILE_INDEX || op->kind == TILE_FILL || op->kind == TILE_LOAD;
}

static void gather_block(Groups *g, const TileBlock *block, bool in_loop)
{
    pin_all(g, block->params.data, block->params.len);
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) gather_block(g, op->regions[r], in_loop || op->kind == TILE_FOR);
        if (op->kind == TILE_PUT) continue;
        if (is_elementwise(op)) {
            for (int k = 0; k < op->n_args; k++) join(g, op->args[k], op->results[0]);
        } else {
            pin_all(g, op->args, op->n_args);
            if (!makes(op)) pin_all(g, op->results, op->n_results);
        }
        if (op->kind == TILE_INDEX && aff_uses_kind(op->index, AFF_TABLE) && is_tile(op->results[0]))
            g->has_words[root_of(g, op->results[0])] |= in_loop;
    }
}

/* Lanes side by side along a row that leave each as many whole rows as there are; LAY_NONE: there is no such number. */
static Layout layout_for(const Groups *g, const TileType *t)
{
    for (int lanes = LANES; lanes >= 1; lanes /= 2)
        for (int warps_n = 1; warps_n <= g->warps; warps_n++) {
            int warps_m = g->warps / warps_n;
            bool fits = g->warps % warps_n == 0 && t->cols % (NEIGHBOURS * lanes * warps_n) == 0 && t->rows % (LANES / lanes * warps_m) == 0;
            if (fits) return (Layout){.kind = LAY_ROWS, .warps_m = warps_m, .warps_n = warps_n, .k = NEIGHBOURS, .lanes = lanes};
        }
    return (Layout){0};
}

static void choose(Groups *g, TileValue *v)
{
    if (!is_tile(v) || v->type.rows == 1 || v->type.cols == 1) return;
    int root = root_of(g, v);
    bool own = v->type.layout.kind != LAY_NONE;
    Layout layout = layout_for(g, &v->type);
    if (own || layout.kind == LAY_NONE || (g->layouts[root].kind != LAY_NONE && !lay_equal(g->layouts[root], layout))) g->pinned[root] = true;
    g->layouts[root] = layout;
}

static void give(Groups *g, TileValue *v)
{
    int root = is_tile(v) ? root_of(g, v) : -1;
    if (root >= 0 && g->has_words[root] && !g->pinned[root]) v->type.layout = g->layouts[root];
}

static void each_value(Groups *g, const TileBlock *block, void (*visit)(Groups *g, TileValue *v))
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++) visit(g, op->results[k]);
        for (int r = 0; r < op->n_regions; r++) each_value(g, op->regions[r], visit);
    }
}

void unpinned_give(TileProgram *program, TileKernel *kernel)
{
    int n = kernel->next_value;
    Groups g = {.warps = kernel->warps};
    if (rows_without_fragments(kernel) || tile_has(kernel->body, TILE_ROLES)) return;
    g.parent = arena_array(program->arena, int, n);
    g.pinned = arena_array(program->arena, bool, n);
    g.has_words = arena_array(program->arena, bool, n);
    g.layouts = arena_array(program->arena, Layout, n);
    tile_groups(g.parent, n);
    gather_block(&g, kernel->body, false);
    each_value(&g, kernel->body, choose);
    each_value(&g, kernel->body, give);
}
