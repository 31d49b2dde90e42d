/* rows.c: register tiles that lie as memory does (lay.h, LAY_ROWS).
 *
 * Without products nothing pins a tile to the tensor cores' fragments, and what
 * such a kernel costs is its copies. So all its tiles share one layout: as many
 * lanes as its shapes allow side by side along a row, each with as many neighbours
 * as make 16 bytes of the widest element that is copied. A tile in shared memory
 * keeps the kernel to fragments, which know its swizzle, unless it is there to be read again
 * (keep.c), or tiles have no room for fragments, as those of few rows.
 *
 * With warps_n > 1 several warps share a row, of fragments as well. A reduction along
 * it combines their parts through a buffer in shared memory:
 *
 *   %r = rowsum %x along columns   ->   %p = buffer : fp32<1x1x4>
 *                                       %r = rowsum %x, %p along columns
 */
#include "pass/rows.h"

#include <math.h>

enum { LANES = 32, WIDEST = 16 /* bytes of an access */, PARTS = 4 /* least columns of a shared tile of fp32 */ };

static bool wants_fragments(const TileOp *op)
{
    switch (op->kind) {
    case TILE_GEMM: case TILE_RESHAPE: case TILE_SLICE: case TILE_PATCH: case TILE_ROLES:
        return true;
    case TILE_REDUCE:
        return op->axis == 0;
    case TILE_LOAD: case TILE_STORE: case TILE_MOVE: case TILE_FILL: case TILE_INDEX: case TILE_GATHER: case TILE_ELEMENT:
    case TILE_MASK: case TILE_CAST: case TILE_SCALAR: case TILE_SOFTMAX: case TILE_FOR: case TILE_IF:
    case TILE_YIELD: case TILE_BUFFER: case TILE_VIEW: case TILE_PUT: case TILE_COPY_ASYNC: case TILE_COMMIT:
    case TILE_RING: case TILE_ISSUE: case TILE_FINISH: case TILE_REVISE: case TILE_PREPARE: case TILE_TAKE_TURN: case TILE_GIVE_TURN:
    case TILE_WAIT: case TILE_BARRIER: case TILE_ACQUIRE: case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE:
    case TILE_OP_COUNT:
        return false;
    }
    return true;
}

static bool block_wants(const TileBlock *block, bool (*wants)(const TileOp *op))
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (wants(op)) return true;
        for (int r = 0; r < op->n_regions; r++)
            if (block_wants(op->regions[r], wants)) return true;
    }
    return false;
}

bool rows_without_fragments(const TileKernel *kernel)
{
    return !block_wants(kernel->body, wants_fragments);
}

static bool uses_shared(const TileOp *op)
{
    return op->kind == TILE_BUFFER || op->kind == TILE_VIEW || op->kind == TILE_PUT || op->kind == TILE_COPY_ASYNC;
}

/* ---- the layout ---------------------------------------------------------------------- */

typedef struct Shapes {
    int64_t rows, cols; /* greatest common divisors of those that are not 1; 0: there are none */
    int bytes;          /* of the widest element of a tile that is copied */
} Shapes;

static void add_shape(Shapes *s, const TileValue *v)
{
    if (v->type.kind != TT_TILE || v->type.space != SPACE_REGISTER) return;
    if (v->type.rows > 1) s->rows = common_divisor(v->type.rows, s->rows);
    if (v->type.cols > 1) s->cols = common_divisor(v->type.cols, s->cols);
}

static void find_shapes(const TileBlock *block, Shapes *s)
{
    for (int i = 0; i < block->params.len; i++) add_shape(s, block->params.data[i]);
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        const TileValue *copied = op->kind == TILE_LOAD ? op->results[0] : op->kind == TILE_STORE || op->kind == TILE_COPY_ASYNC ? op->args[0] : NULL;
        int bytes = copied && copied->type.cols > 1 ? dtype_bytes(op->tensor->dtype) : 0;
        if (bytes > s->bytes) s->bytes = bytes;
        for (int k = 0; k < op->n_results; k++) add_shape(s, op->results[k]);
        for (int r = 0; r < op->n_regions; r++) find_shapes(op->regions[r], s);
    }
}

int rows_widest(const TileKernel *kernel)
{
    Shapes shapes = {0};
    find_shapes(kernel->body, &shapes);
    return shapes.bytes;
}

static bool fits(const Shapes *s, const Layout *l)
{
    return s->cols % (l->warps_n * l->lanes * l->k) == 0 && s->rows % (l->warps_m * (LANES / l->lanes)) == 0;
}

static bool fits_any(const Shapes *s, int warps, int warps_n, Layout *layout)
{
    if (warps % warps_n != 0 || s->bytes == 0 || s->bytes > 8) return false;
    for (int k = WIDEST / s->bytes; k >= 2; k /= 2)
        for (int lanes = LANES; lanes >= 1; lanes /= 2) {
            *layout = (Layout){.kind = LAY_ROWS, .warps_m = warps / warps_n, .warps_n = warps_n, .k = k, .lanes = lanes};
            if (fits(s, layout)) return true;
        }
    return false;
}

/* Whether warps, as many as there are, can share all register tiles of a block by atoms of the tensor cores. */
static bool fits_fragments(const TileKernel *kernel, const TileBlock *block)
{
    int warps_n = kernel->warps_n > 0 ? kernel->warps_n : 1;
    Layout fragments = {.kind = LAY_MMA_C, .warps_m = kernel->warps / warps_n, .warps_n = warps_n};
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++) {
            const TileType *t = &op->results[k]->type;
            if (t->kind == TT_TILE && t->space == SPACE_REGISTER && lay_fragment_misfit(fragments, t->rows, t->cols)) return false;
        }
        for (int r = 0; r < op->n_regions; r++)
            if (!fits_fragments(kernel, op->regions[r])) return false;
    }
    return true;
}

bool rows_fit_fragments(const TileKernel *kernel)
{
    return fits_fragments(kernel, kernel->body);
}

bool rows_layout(const TileKernel *kernel, Layout *layout)
{
    int warps_n = kernel->warps_n > 0 ? kernel->warps_n : 1;
    Shapes shapes = {0};
    if (!rows_without_fragments(kernel) || (!kernel->kept && block_wants(kernel->body, uses_shared) && rows_fit_fragments(kernel))) return false;
    find_shapes(kernel->body, &shapes);
    if (shapes.bytes == 0 && shapes.cols > 0) shapes.bytes = sizeof(float); /* rows that are read one by one */
    return fits_any(&shapes, kernel->warps, warps_n, layout);
}

int rows_wider(const TileKernel *kernel)
{
    enum { STEP = 8, FARTHEST = 64 };
    Shapes shapes = {0};
    Layout layout;
    if (!rows_without_fragments(kernel) || block_wants(kernel->body, uses_shared)) return 0;
    find_shapes(kernel->body, &shapes);
    int64_t first = shapes.cols / STEP * STEP + STEP;
    for (shapes.cols = first; shapes.cols < first + FARTHEST * STEP; shapes.cols += STEP)
        for (int warps = kernel->warps; warps > 0; warps--)
            if (fits_any(&shapes, warps, 1, &layout)) return (int)shapes.cols;
    return 0;
}

/* ---- reductions ------------------------------------------------------------------------ */

const RowStep *rows_step_along(const TileValue *r)
{
    static const RowStep STEPS[] = {
        {OP_ADD, OP_ROW_SUM, 0},
        {OP_MAX, OP_ROW_MAX, -INFINITY},
        {OP_MIN, OP_ROW_MIN, INFINITY},
    };
    const TileOp *reduce = r->def;
    for (size_t i = 0; i < TW_COUNT(STEPS); i++)
        if (reduce && reduce->kind == TILE_REDUCE && reduce->axis == 1 && reduce->op == STEPS[i].along) return &STEPS[i];
    return NULL;
}

const RowStep *rows_step(const TileOp *step, const TileValue *r)
{
    const RowStep *how = rows_step_along(r);
    return how && how->step == step->op ? how : NULL;
}

/* ---- rows that warps share ------------------------------------------------------------- */

static void combine_in(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    int warps_m = kernel->warps / kernel->warps_n;
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) {
            int before = kernel->body->ops.len;
            combine_in(program, kernel, op->regions[r]);
            if (block == kernel->body) i += kernel->body->ops.len - before;
        }
        if (op->kind != TILE_REDUCE || op->axis != 1 || op->args[0]->type.cols < 2 || op->results[0]->type.cols > 1) continue;
        int rows = op->args[0]->type.rows > 1 ? op->args[0]->type.rows : warps_m;
        int each = kernel->warps_n * (op->across ? tile_cluster_blocks(kernel) : 1);
        if (each == 1) continue;
        TileType parts = {.kind = TT_BUFFER, .dtype = DT_F32, .rows = rows, .stages = 1, .space = SPACE_SHARED,
                          .cols = (each + PARTS - 1) / PARTS * PARTS + (op->across ? TILE_EXCHANGE_COLUMNS : 0)};
        Rewriter head = {program, kernel, kernel->body, 0, op->loc};
        TileValue **args = arena_array(program->arena, TileValue *, 2);
        args[0] = op->args[0];
        args[1] = rw_insert(&head, TILE_BUFFER, 0, NULL, 1, &parts)->results[0];
        args[1]->name = "parts";
        op->args = args;
        op->n_args = 2;
        if (block == kernel->body) i++;
    }
}

/* Where warps part ways, the others would wait for one that does not come. */
static bool parts_warps(const TileOp *op)
{
    return op->kind == TILE_ROLES || op->kind == TILE_REVISE;
}

void rows_combine(TileProgram *program, TileKernel *kernel)
{
    if ((kernel->warps_n > 1 || tile_cluster(kernel)) && !block_wants(kernel->body, parts_warps)) combine_in(program, kernel, kernel->body);
}
