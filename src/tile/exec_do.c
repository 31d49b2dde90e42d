/* exec_do.c: one operation that neither changes the flow nor synchronises.
 *
 * Operands are fetched (a view reads its stage now, not when it was made), the
 * result gets a fresh tile, is computed in fp32 and rounded to its dtype.
 */
#include "tile/exec.h"

#include <math.h>

static const ExecTile *use(Exec *x, const TileOp *op, int arg)
{
    ExecSlot *slot = exec_slot(x, op, arg);
    if (slot->stage)
        return exec_read_stage(x, slot) ? &slot->stage->tile : NULL;
    if (!slot->tile)
        exec_fail(x, slot->gone ? "uses a value that is in another product's registers by now"
                                : "uses a value that was never computed");
    return slot->tile;
}

static bool use_all(Exec *x, const TileOp *op, const ExecTile **tiles, int limit)
{
    for (int i = 0; i < op->n_args && i < limit; i++) {
        tiles[i] = use(x, op, i);
        if (!tiles[i])
            return false;
    }
    return true;
}

static ExecTile *result_tile(Exec *x, const TileOp *op, int i)
{
    TileType type = op->results[i]->type;
    return exec_new_tile(x, type.rows, type.cols);
}

/* Rounds r and binds it to the operation's result. */
static bool give(Exec *x, const TileOp *op, ExecTile *r)
{
    exec_round(op->results[0]->type.dtype, r);
    exec_bind(x, op->results[0], (ExecSlot){.tile = r});
    return true;
}

/* Scratch for a row of integers. */
static int64_t *integers(Exec *x, int n)
{
    if (x->room_integers < (size_t)n) {
        x->integers = arena_array(x->arena, int64_t, n);
        x->room_integers = (size_t)n;
    }
    return x->integers;
}

/* ---- memory -------------------------------------------------------------------- */

static bool eval_coords(Exec *x, const TileOp *op, int64_t *coords)
{
    for (int d = 0; d < op->tensor->rank; d++)
        if (!exec_eval(x, op->coords[d], &coords[d]))
            return false;
    return true;
}

/* Zeroes elements for which the condition (over row, col; NULL: none) is false. */
static bool clear_outside(Exec *x, const Aff *where, ExecTile *r)
{
    int64_t *live = where ? integers(x, r->cols) : NULL;
    for (int i = 0; where && i < r->rows; i++) {
        float *row = r->at + (size_t)i * (size_t)r->cols;
        if (!exec_row(x, where, i, r->cols, live))
            return exec_fail(x, "the condition has no value " TILE_NO_VALUE);
        for (int j = 0; j < r->cols; j++)
            if (!live[j])
                row[j] = 0;
    }
    return true;
}

/* Element by element, where only some are stored, or each row says where it lies. */
static bool exec_store_apart(Exec *x, const TileOp *op, const ExecTile *a)
{
    Tensor *t = x->run->tensors[op->tensor->index];
    int64_t *live = integers(x, a->cols + a->rows * t->rank), *places = live + a->cols, at[TENSOR_MAX_RANK];
    if (!exec_row_places(x, op, a->rows, places))
        return false;
    for (int i = 0; i < a->rows; i++) {
        if (op->where && !exec_row(x, op->where, i, a->cols, live))
            return exec_fail(x, "the condition has no value " TILE_NO_VALUE);
        for (int j = 0; j < a->cols; j++) {
            ExecTile one = {.rows = 1, .cols = 1, .at = &a->at[(size_t)i * (size_t)a->cols + (size_t)j]};
            for (int d = 0; d < t->rank; d++)
                at[d] = places[i * t->rank + d] + (d == op->col_dim ? j : 0);
            if (!op->where || live[j])
                exec_store(t, at, -1, -1, op->onto, &one);
        }
    }
    return true;
}

static bool do_load_rows(Exec *x, const TileOp *op)
{
    const TileType *t = &op->results[0]->type;
    int64_t *places = integers(x, t->rows * op->tensor->rank);
    if (!exec_row_places(x, op, t->rows, places))
        return false;
    ExecTile *r = result_tile(x, op, 0);
    exec_load_rows(x->run->tensors[op->tensor->index], places, op->col_dim, r);
    return clear_outside(x, op->where, r) && give(x, op, r);
}

static bool do_load(Exec *x, const TileOp *op)
{
    int64_t coords[TENSOR_MAX_RANK];
    if (tile_by_rows(op))
        return do_load_rows(x, op);
    if (!eval_coords(x, op, coords))
        return false;
    ExecTile *r = result_tile(x, op, 0);
    exec_load(x->run->tensors[op->tensor->index], coords, op->row_dim, op->col_dim, r);
    return clear_outside(x, op->where, r) && give(x, op, r);
}

static bool do_store(Exec *x, const TileOp *op)
{
    int64_t coords[TENSOR_MAX_RANK];
    const ExecTile *a = use(x, op, 0);
    bool apart = op->where || tile_by_rows(op);
    if (!a || (!apart && !eval_coords(x, op, coords)) || (op->n_args > 1 && !exec_awaits(x, exec_slot(x, op, 1))))
        return false;
    if (apart)
        return exec_store_apart(x, op, a);
    exec_store(x->run->tensors[op->tensor->index], coords, op->row_dim, op->col_dim, op->onto, a);
    return true;
}

static bool do_view(Exec *x, const TileOp *op)
{
    ExecStage *stage;
    if (!exec_find_stage(x, op, 0, &stage))
        return false;
    exec_bind(x, op->results[0], (ExecSlot){.stage = stage});
    return true;
}

static bool do_put(Exec *x, const TileOp *op)
{
    const ExecTile *a = use(x, op, 0);
    return a && exec_put(x, op, a);
}

/* ---- values ---------------------------------------------------------------------- */

static bool find_param(Exec *x, const char *name, double *value)
{
    for (int i = 0; i < x->program->params.len; i++)
        if (strcmp(x->program->params.data[i], name) == 0) {
            *value = x->run->params[i];
            return true;
        }
    return exec_fail(x, "there is no parameter '%s'", name);
}

static bool do_fill(Exec *x, const TileOp *op)
{
    double value = op->number;
    if (op->param && !find_param(x, op->param, &value))
        return false;
    ExecTile *r = result_tile(x, op, 0);
    exec_fill(r, value);
    return give(x, op, r);
}

/* MOVE, CAST and RESHAPE keep the numbers, up to rounding. */
static bool do_copy(Exec *x, const TileOp *op)
{
    const ExecTile *a = use(x, op, 0);
    if (!a)
        return false;
    ExecTile *r = result_tile(x, op, 0);
    memcpy(r->at, a->at, sizeof(float) * (size_t)r->rows * (size_t)r->cols);
    return give(x, op, r);
}

/* Elements of tensors may be divisors, and outside of the tensor they are 0: of what is divided there any number will do. */
static bool index_row(Exec *x, const Aff *index, int i, int cols, int64_t *row)
{
    if (exec_row(x, index, i, cols, row))
        return true;
    for (int j = 0; j < cols; j++) {
        x->thread->symbols[x->program->col->id] = j;
        if (!aff_eval(index, x->thread->symbols, &row[j]))
            row[j] = 0;
    }
    return aff_uses_kind(index, AFF_TABLE);
}

static bool do_index(Exec *x, const TileOp *op)
{
    ExecTile *r = result_tile(x, op, 0);
    int64_t *row = integers(x, r->cols);
    for (int i = 0; i < r->rows; i++) {
        if (!index_row(x, op->index, i, r->cols, row))
            return exec_fail(x, "the index has no value " TILE_NO_VALUE);
        for (int j = 0; j < r->cols; j++)
            r->at[(size_t)i * (size_t)r->cols + (size_t)j] = (float)row[j];
    }
    return give(x, op, r);
}

static bool inside(const Tensor *t, const int64_t *at)
{
    for (int d = 0; d < t->rank; d++)
        if (at[d] < 0 || at[d] >= t->dims[d])
            return false;
    return true;
}

/* Element (i, j) of an operand that may be a row, a column or one number. */
static float element_at(const ExecTile *a, int i, int j)
{
    return a->at[(size_t)(a->rows > 1 ? i : 0) * (size_t)a->cols + (size_t)(a->cols > 1 ? j : 0)];
}

static bool do_gather(Exec *x, const TileOp *op)
{
    const ExecTile *which = op->n_args ? use(x, op, 0) : NULL;
    if (op->n_args && !which)
        return false;
    ExecTile *r = result_tile(x, op, 0);
    const Tensor *t = x->run->tensors[op->tensor->index];
    int64_t *places[TENSOR_MAX_RANK], at[TENSOR_MAX_RANK];
    int64_t *room = integers(x, r->cols * t->rank);
    for (int d = 0; d < t->rank; d++)
        places[d] = room + (size_t)d * (size_t)r->cols;
    for (int i = 0; i < r->rows; i++) {
        for (int d = 0; d < t->rank; d++)
            if (!exec_row(x, op->coords[d], i, r->cols, places[d]))
                return exec_fail(x, "a coordinate has no value " TILE_NO_VALUE);
        for (int j = 0; j < r->cols; j++) {
            for (int d = 0; d < t->rank; d++)
                at[d] = places[d][j];
            if (which)
                at[op->row_dim] += (int64_t)dtype_round(DT_I32, floor((double)element_at(which, i, j)));
            double value = inside(t, at) ? tensor_get(t, at) : 0;
            r->at[(size_t)i * (size_t)r->cols + (size_t)j] = (float)value;
            r->integer = (int64_t)dtype_round(DT_I32, value);
        }
    }
    r->is_integer = r->rows == 1 && r->cols == 1 && !dtype_is_float(t->dtype);
    return give(x, op, r);
}

static bool mask_row(Exec *x, const TileOp *op, int row, ExecTile *r, int64_t *live)
{
    float *out = r->at + (size_t)row * (size_t)r->cols;
    if (!exec_row(x, op->cond, row, r->cols, live))
        return exec_fail(x, "the mask has no value " TILE_NO_VALUE);
    for (int j = 0; j < r->cols; j++)
        if (!live[j])
            out[j] = (float)op->number;
    return true;
}

static bool do_mask(Exec *x, const TileOp *op)
{
    int64_t idle = 0;
    const ExecTile *a = use(x, op, 0);
    if (!a || (op->unless && !exec_eval(x, op->unless, &idle)))
        return false;
    ExecTile *r = result_tile(x, op, 0);
    memcpy(r->at, a->at, sizeof(float) * (size_t)r->rows * (size_t)r->cols);
    int64_t *live = integers(x, r->cols);
    for (int i = 0; !idle && i < r->rows; i++)
        if (!mask_row(x, op, i, r, live))
            return false;
    return give(x, op, r);
}

static bool do_element(Exec *x, const TileOp *op)
{
    const ExecTile *args[3];
    if (!use_all(x, op, args, 3))
        return false;
    ExecTile *r = result_tile(x, op, 0);
    exec_element(op->op, op->has_else ? &op->number : NULL, args, op->n_args, r);
    return give(x, op, r);
}

static bool do_reduce(Exec *x, const TileOp *op)
{
    const ExecTile *a = use(x, op, 0);
    if (!a)
        return false;
    ExecTile *r = result_tile(x, op, 0);
    DType dtype = op->results[0]->type.dtype;
    if (op->axis == 1 && r->cols > 1 && dtype_is_narrow(dtype)) exec_fold(op->op, dtype, a, r);
    else exec_reduce(op->op, op->axis, a, r);
    if (op->n_args > 1 && !op->across) /* warps leave each other their parts, and all of the block's meet in between */
        exec_barrier(x);
    return give(x, op, r);
}

/* Copies a part, rows x cols, from a corner in one tile to a corner in the other. */
static void copy_part(const ExecTile *from, int from_row, int from_col, ExecTile *to, int to_row, int to_col, int rows,
                      int cols)
{
    for (int i = 0; i < rows; i++)
        memcpy(to->at + (size_t)(to_row + i) * (size_t)to->cols + to_col,
               from->at + (size_t)(from_row + i) * (size_t)from->cols + from_col, sizeof(float) * (size_t)cols);
}

static bool do_slice(Exec *x, const TileOp *op)
{
    const ExecTile *a = use(x, op, 0);
    if (!a)
        return false;
    ExecTile *r = result_tile(x, op, 0);
    copy_part(a, op->row0, op->col0, r, 0, 0, r->rows, r->cols);
    return give(x, op, r);
}

static bool do_patch(Exec *x, const TileOp *op)
{
    const ExecTile *args[2];
    if (!use_all(x, op, args, 2))
        return false;
    ExecTile *r = result_tile(x, op, 0);
    copy_part(args[0], 0, 0, r, 0, 0, r->rows, r->cols);
    copy_part(args[1], 0, 0, r, op->row0, op->col0, args[1]->rows, args[1]->cols);
    return give(x, op, r);
}

static bool do_scalar(Exec *x, const TileOp *op)
{
    const ExecTile *a = use(x, op, 0);
    if (!a)
        return false;
    double value = a->is_integer ? (double)a->integer : dtype_round(op->args[0]->type.dtype, a->at[0]); /* 2^31 is none of int32 */
    if (!(value >= -0x1p62 && value <= 0x1p62) || value < (double)op->var->lo || value > (double)op->var->hi)
        return exec_fail(x, "reads %g, which is not an integer in its range", value);
    x->thread->symbols[op->var->id] = (int64_t)value;
    return true;
}

static bool do_gemm(Exec *x, const TileOp *op)
{
    const ExecTile *args[3] = {NULL, NULL, NULL};
    if (!use_all(x, op, args, 3))
        return false;
    ExecTile *r = result_tile(x, op, 0);
    exec_gemm(x, op, args[0], args[1], args[2], r);
    return give(x, op, r);
}

static bool do_softmax(Exec *x, const TileOp *op)
{
    const ExecTile *args[3];
    ExecTile *results[4];
    if (!use_all(x, op, args, 3))
        return false;
    for (int i = 0; i < 4; i++)
        results[i] = result_tile(x, op, i);
    exec_softmax(args[0], args[1], args[2], results);
    for (int i = 0; i < 4; i++) {
        exec_round(op->results[i]->type.dtype, results[i]);
        exec_bind(x, op->results[i], (ExecSlot){.tile = results[i]});
    }
    return true;
}

bool exec_do(Exec *x, const TileOp *op)
{
    switch (op->kind) {
    case TILE_LOAD: return do_load(x, op);
    case TILE_STORE: return do_store(x, op);
    case TILE_FILL: return do_fill(x, op);
    case TILE_INDEX: return do_index(x, op);
    case TILE_GATHER: return do_gather(x, op);
    case TILE_ELEMENT: return do_element(x, op);
    case TILE_MASK: return do_mask(x, op);
    case TILE_REDUCE: return do_reduce(x, op);
    case TILE_MOVE:
    case TILE_CAST:
    case TILE_RESHAPE: return do_copy(x, op);
    case TILE_SLICE: return do_slice(x, op);
    case TILE_PATCH: return do_patch(x, op);
    case TILE_SCALAR: return do_scalar(x, op);
    case TILE_GEMM: return do_gemm(x, op);
    case TILE_ISSUE: return exec_issue(x, op);
    case TILE_FINISH: return exec_finish(x, op);
    case TILE_SOFTMAX: return do_softmax(x, op);
    case TILE_BUFFER:
    case TILE_RING: return exec_buffer(x, op);
    case TILE_VIEW: return do_view(x, op);
    case TILE_PUT: return do_put(x, op);
    case TILE_COPY_ASYNC: return exec_copy_async(x, op);
    case TILE_COMMIT: x->thread->committed++; return true;
    case TILE_WAIT: exec_wait(x, op->count); return true;
    case TILE_BARRIER: exec_barrier(x); return true;
    case TILE_FOR:
    case TILE_IF:
    case TILE_YIELD:
    case TILE_ROLES:
    case TILE_ACQUIRE:
    case TILE_FILLED:
    case TILE_AWAIT:
    case TILE_RELEASE:
    case TILE_REVISE:
    case TILE_PREPARE:
    case TILE_TAKE_TURN:
    case TILE_GIVE_TURN:
    case TILE_OP_COUNT: break;
    }
    return exec_fail(x, "is not an operation that stands alone");
}
