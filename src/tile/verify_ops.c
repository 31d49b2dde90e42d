/* verify_ops.c: what the operands, results and attributes of one operation must
 * be like. docs/tile.md says it in prose, operation by operation.
 */
#include "tile/text.h"
#include "tile/verify.h"

enum { EXTENT_LIMIT = 1 << 20, ELEMENT_LIMIT = 1 << 24, STAGE_LIMIT = 64 };

const char *verify_type_text(Verifier *v, TileType type)
{
    Str s = str_new(v->arena);
    tile_print_type(&s, type);
    return str_text(&s);
}

static bool bad_type(Verifier *v, const TileOp *op, const char *what, TileType want, TileType have)
{
    return verify_fail(v, TW0755, op, "%s is %s, wanted %s", what, verify_type_text(v, have),
                       verify_type_text(v, want));
}

/* ---- single types ------------------------------------------------------------- */

bool verify_value_type(Verifier *v, const TileOp *op, const TileValue *value)
{
    TileType t = value->type;
    if ((int)t.dtype < 0 || t.dtype >= DT_COUNT)
        return verify_fail(v, TW0755, op, "a value has no dtype");
    if (t.kind == TT_TOKEN)
        return true;
    if (t.rows < 1 || t.cols < 1 || t.rows > EXTENT_LIMIT || t.cols > EXTENT_LIMIT ||
        (int64_t)t.rows * t.cols > ELEMENT_LIMIT)
        return verify_fail(v, TW0755, op, "a tile of %d x %d elements", t.rows, t.cols);
    if (t.kind == TT_BUFFER && (t.stages < 1 || t.stages > STAGE_LIMIT))
        return verify_fail(v, TW0755, op, "a buffer of %d stages; it has 1 to %d", t.stages, STAGE_LIMIT);
    if (t.kind == TT_TILE && t.space != SPACE_SHARED && t.space != SPACE_REGISTER)
        return verify_fail(v, TW0755, op, "a tile is neither in shared memory nor in registers");
    if (t.pending && (t.kind != TT_TILE || t.space != SPACE_REGISTER))
        return verify_fail(v, TW0755, op, "only a tile in registers can be pending");
    return true;
}

bool verify_may_stand_for(TileType have, TileType want)
{
    have.pending |= want.pending;
    return tile_type_equal(have, want);
}

static TileType arg_type(const TileOp *op, int i)
{
    return op->args[i]->type;
}

static TileType result_type(const TileOp *op)
{
    return op->results[0]->type;
}

static TileType result_type_of(const TileOp *op, int i)
{
    return op->results[i]->type;
}

static bool same_shape(TileType a, TileType b)
{
    return a.rows == b.rows && a.cols == b.cols;
}

static bool want_shape(Verifier *v, const TileOp *op, const char *what, TileType have, int rows, int cols)
{
    if (have.rows == rows && have.cols == cols)
        return true;
    return verify_fail(v, TW0755, op, "%s is %d x %d, wanted %d x %d", what, have.rows, have.cols, rows,
                       cols);
}

static bool all_tiles(Verifier *v, const TileOp *op, int first, int last)
{
    for (int i = first; i < last; i++)
        if (arg_type(op, i).kind != TT_TILE)
            return verify_fail(v, TW0755, op, "operand %d is not a tile", i + 1);
    return true;
}

static bool want_buffer(Verifier *v, const TileOp *op, int arg)
{
    if (arg_type(op, arg).kind == TT_BUFFER)
        return true;
    return verify_fail(v, TW0755, op, "operand %d is not a buffer", arg + 1);
}

/* ---- memory --------------------------------------------------------------------- */

/* The tile's rows and columns lie along dimensions of the tensor, or are one. */
static bool check_place(Verifier *v, const TileOp *op, TileType tile, bool writes)
{
    const TileTensor *t = op->tensor;
    if (t->index < 0 || t->index >= v->program->tensors.len ||
        v->program->tensors.data[t->index] != t)
        return verify_fail(v, TW0758, op, "the tensor is not one of the program's");
    if (writes ? !t->written : !t->read)
        return verify_fail(v, TW0758, op, "tensor %s is not marked as %s", t->name,
                           writes ? "written" : "read");
    if (op->row_dim < -1 || op->row_dim >= t->rank || op->col_dim < -1 || op->col_dim >= t->rank ||
        (op->row_dim >= 0 && op->row_dim == op->col_dim))
        return verify_fail(v, TW0758, op, "rows and columns must lie along two dimensions of %s", t->name);
    if (op->row_dim < 0 && tile.rows != 1 && !tile_by_rows(op))
        return verify_fail(v, TW0758, op, "%d rows lie along no dimension of %s", tile.rows, t->name);
    if (op->col_dim < 0 && tile.cols != 1)
        return verify_fail(v, TW0758, op, "%d columns lie along no dimension of %s", tile.cols, t->name);
    if (t->dtype != tile.dtype)
        return verify_fail(v, TW0755, op, "a tile of %s, a tensor of %s: a cast is missing",
                           dtype_name(tile.dtype), dtype_name(t->dtype));
    return true;
}

static bool check_load(Verifier *v, const TileOp *op)
{
    if (result_type(op).space == SPACE_SHARED && v->kernel->facts & TF_STAGED)
        return verify_fail(v, TW0754, op, "a load into shared memory after `stage`: it should be a copy into a buffer");
    return check_place(v, op, result_type(op), false);
}

static bool check_store(Verifier *v, const TileOp *op)
{
    if (!all_tiles(v, op, 0, 1) || !check_place(v, op, arg_type(op, 0), true))
        return false;
    if (op->onto && op->tensor->dtype != DT_F32)
        return verify_fail(v, TW0755, op, "what is added to is fp32, and %s is not", op->tensor->name);
    if (op->n_args == 1)
        return true;
    const TileOp *through = op->args[1]->def;
    if (!through || through->kind != TILE_AWAIT || op->where || op->onto)
        return verify_fail(v, TW0754, op, "what a store goes through is a tile that was awaited");
    TileType want = arg_type(op, 0);
    if (!same_shape(want, arg_type(op, 1)) || want.dtype != arg_type(op, 1).dtype || want.space != SPACE_REGISTER)
        return bad_type(v, op, "what it goes through", want, arg_type(op, 1));
    return true;
}

/* Every element has a place of its own, so no dimension lies along the tile's sides. */
static bool check_gather(Verifier *v, const TileOp *op)
{
    TileType tile = result_type(op);
    if (tile.space != SPACE_REGISTER)
        return verify_fail(v, TW0755, op, "the result is not in registers");
    if ((op->n_args > 0) != (op->row_dim >= 0) || op->col_dim >= 0)
        return verify_fail(v, TW0758, op, "a tile says where along one dimension, or none does");
    if (op->n_args && !all_tiles(v, op, 0, 1))
        return false;
    if (op->n_args && ((arg_type(op, 0).rows != 1 && arg_type(op, 0).rows != tile.rows) ||
                       (arg_type(op, 0).cols != 1 && arg_type(op, 0).cols != tile.cols)))
        return bad_type(v, op, "what says where", tile, arg_type(op, 0));
    tile.rows = tile.cols = 1;
    return check_place(v, op, tile, false);
}

/* The tile in a stage: the buffer's, up to the kind of type. */
static TileType stage_type(TileType buffer)
{
    buffer.kind = TT_TILE;
    buffer.space = SPACE_SHARED;
    buffer.stages = 0;
    return buffer;
}

static bool check_view(Verifier *v, const TileOp *op)
{
    if (!want_buffer(v, op, 0))
        return false;
    if (op->args[0]->def->kind == TILE_RING)
        return verify_fail(v, TW0754, op, "a stage of a ring is seen by who awaits it");
    TileType want = stage_type(arg_type(op, 0));
    if (!tile_type_equal(want, result_type(op)))
        return bad_type(v, op, "the view", want, result_type(op));
    return true;
}

/* A buffer's stage is named; in a ring only a copy may be, for its stages come in order. */
static bool check_copy(Verifier *v, const TileOp *op, int arg)
{
    const TileOp *storage = op->args[arg]->def;
    if (storage->kind == TILE_BUFFER)
        return op->index || verify_fail(v, TW0750, op, "the stage of the buffer is missing");
    if ((storage->count > 1) == (op->index != NULL))
        return true;
    return op->index ? verify_fail(v, TW0750, op, "the ring has one copy: there is nothing to choose")
                     : verify_fail(v, TW0750, op, "the ring has %d copies: which one is missing", storage->count);
}

static bool check_corner(Verifier *v, const TileOp *op, TileType whole, TileType part)
{
    if (op->row0 < 0 || op->col0 < 0 || op->row0 > whole.rows - part.rows || op->col0 > whole.cols - part.cols)
        return verify_fail(v, TW0755, op, "a part of %d x %d at %d, %d of a tile of %d x %d", part.rows, part.cols,
                           op->row0, op->col0, whole.rows, whole.cols);
    if (whole.dtype != part.dtype)
        return verify_fail(v, TW0755, op, "a part of %s of a tile of %s", dtype_name(part.dtype),
                           dtype_name(whole.dtype));
    return true;
}

static bool check_put(Verifier *v, const TileOp *op)
{
    if (!all_tiles(v, op, 0, 1) || !want_buffer(v, op, 1) || !check_copy(v, op, 1))
        return false;
    TileType tile = arg_type(op, 0), buffer = arg_type(op, 1);
    if (tile.dtype != buffer.dtype)
        return bad_type(v, op, "the tile", stage_type(buffer), tile);
    return check_corner(v, op, stage_type(buffer), tile);
}

static bool check_copy_async(Verifier *v, const TileOp *op)
{
    if (!want_buffer(v, op, 0) || !check_copy(v, op, 0))
        return false;
    return check_place(v, op, stage_type(arg_type(op, 0)), false);
}

/* ---- values ------------------------------------------------------------------------ */

static bool check_fill(Verifier *v, const TileOp *op)
{
    return !op->param || text_among(v->program->params.data, v->program->params.len, op->param) ||
           verify_fail(v, TW0751, op, "the program has no parameter '%s'", op->param);
}

/* Same shape; `same_dtype`: same dtype as well. */
static bool check_like(Verifier *v, const TileOp *op, bool same_dtype)
{
    if (!all_tiles(v, op, 0, 1))
        return false;
    TileType a = arg_type(op, 0), r = result_type(op);
    if (!same_shape(a, r))
        return want_shape(v, op, "the result", r, a.rows, a.cols);
    if (same_dtype && a.dtype != r.dtype)
        return verify_fail(v, TW0755, op, "%s becomes %s without a cast", dtype_name(a.dtype),
                           dtype_name(r.dtype));
    return true;
}

static bool broadcasts(int have, int to)
{
    return have == to || have == 1;
}

static bool check_element(Verifier *v, const TileOp *op)
{
    const OpInfo *info = (int)op->op >= 0 && op->op < OP_COUNT ? op_info(op->op) : NULL;
    int rows = 1, cols = 1;
    if (!info || info->class != OPC_ELEMENT)
        return verify_fail(v, TW0755, op, "this is no elementwise operation");
    if (info->arity != op->n_args)
        return verify_fail(v, TW0755, op, "%s takes %d operands, not %d", info->name, info->arity, op->n_args);
    if (op->has_else && op->op != OP_DIVIDE)
        return verify_fail(v, TW0755, op, "only Divide has an `else`");
    if (op->skip_ones && op->op != OP_MULTIPLY)
        return verify_fail(v, TW0755, op, "only Multiply skips ones");
    if (op->polynomial && op->op != OP_TANH && op->op != OP_SIGMOID)
        return verify_fail(v, TW0755, op, "only Tanh and Sigmoid have a polynomial");
    if (!all_tiles(v, op, 0, op->n_args))
        return false;
    for (int i = 0; i < op->n_args; i++) {
        rows = arg_type(op, i).rows > rows ? arg_type(op, i).rows : rows;
        cols = arg_type(op, i).cols > cols ? arg_type(op, i).cols : cols;
    }
    for (int i = 0; i < op->n_args; i++)
        if (!broadcasts(arg_type(op, i).rows, rows) || !broadcasts(arg_type(op, i).cols, cols))
            return verify_fail(v, TW0755, op, "operand %d, %s, does not broadcast to %d x %d", i + 1,
                               verify_type_text(v, arg_type(op, i)), rows, cols);
    return want_shape(v, op, "the result", result_type(op), rows, cols);
}

/* The buffer through which the warps of a row combine: a number of every warp. */
static bool check_parts(Verifier *v, const TileOp *op)
{
    if (!want_buffer(v, op, 1))
        return false;
    TileType a = arg_type(op, 0), parts = arg_type(op, 1);
    int warps_n = v->kernel->warps_n > 0 ? v->kernel->warps_n : 1;
    int rows = a.rows > 1 ? a.rows : v->warps / warps_n, each = warps_n * (op->across ? tile_cluster_blocks(v->kernel) : 1);
    int taken = op->across ? TILE_EXCHANGE_COLUMNS : 0;
    if (op->args[1]->def->kind == TILE_BUFFER && op->axis == 1 && parts.dtype == DT_F32 && parts.stages == 1 && parts.rows >= rows && parts.cols >= each + taken)
        return true;
    return verify_fail(v, TW0755, op, "the parts of %d warps for %d rows do not fit the buffer %s", each, rows,
                       verify_type_text(v, parts));
}

static bool check_reduce(Verifier *v, const TileOp *op)
{
    const OpInfo *info = (int)op->op >= 0 && op->op < OP_COUNT ? op_info(op->op) : NULL;
    if (!info || (info->class != OPC_ROW_REDUCE && info->class != OPC_COL_REDUCE))
        return verify_fail(v, TW0755, op, "this is no reduction");
    if (op->axis != 0 && op->axis != 1)
        return verify_fail(v, TW0755, op, "a reduction runs along rows (0) or columns (1)");
    if (!all_tiles(v, op, 0, 1) || (op->n_args > 1 && !check_parts(v, op)))
        return false;
    TileType a = arg_type(op, 0), r = result_type(op);
    if (op->across && (op->axis != 1 || a.cols == 1 || r.cols != 1 || op->op == OP_ROW_MEAN))
        return verify_fail(v, TW0755, op, "across blocks whole rows are reduced, to a sum, a maximum or a minimum");
    bool partly = op->axis && r.cols > 1 && op->op != OP_ROW_MEAN && op->n_args == 1;
    int parts = partly && r.cols ? a.cols / r.cols : 0;
    if (partly && dtype_is_narrow(r.dtype) && (op->op != OP_ROW_SUM || a.dtype != r.dtype || (parts & (parts - 1))))
        return verify_fail(v, TW0755, op, "sums in %s are of %s, two, four, eight, ... at a time", dtype_name(r.dtype),
                           dtype_name(r.dtype));
    if (partly && a.cols % r.cols == 0)
        return want_shape(v, op, "the result", r, a.rows, r.cols);
    return want_shape(v, op, "the result", r, op->axis ? a.rows : 1, op->axis ? 1 : a.cols);
}

/* The part lies inside of the whole. */
static bool check_part(Verifier *v, const TileOp *op, TileType whole, TileType part)
{
    return all_tiles(v, op, 0, op->n_args) && check_corner(v, op, whole, part);
}

static bool check_slice(Verifier *v, const TileOp *op)
{
    if (!check_part(v, op, arg_type(op, 0), result_type(op)))
        return false;
    return arg_type(op, 0).space == result_type(op).space ||
           verify_fail(v, TW0755, op, "a slice stays in its memory space");
}

static bool check_patch(Verifier *v, const TileOp *op)
{
    if (!check_part(v, op, arg_type(op, 0), arg_type(op, 1)))
        return false;
    if (!tile_type_equal(arg_type(op, 0), result_type(op)))
        return bad_type(v, op, "the result", arg_type(op, 0), result_type(op));
    return result_type(op).space == SPACE_REGISTER || verify_fail(v, TW0755, op, "a patch is made in registers");
}

static bool check_scalar(Verifier *v, const TileOp *op)
{
    if (!all_tiles(v, op, 0, 1))
        return false;
    if (!op->var || op->var->kind != AFF_SCALAR)
        return verify_fail(v, TW0750, op, "a scalar has no symbol");
    return want_shape(v, op, "the operand", arg_type(op, 0), 1, 1);
}

static bool check_gemm(Verifier *v, const TileOp *op)
{
    if (!all_tiles(v, op, 0, op->n_args))
        return false;
    TileType a = arg_type(op, 0), b = arg_type(op, 1), r = result_type(op);
    int m = op->trans_a ? a.cols : a.rows, k = op->trans_a ? a.rows : a.cols;
    int kb = op->trans_b ? b.cols : b.rows, n = op->trans_b ? b.rows : b.cols;
    if (k != kb)
        return verify_fail(v, TW0755, op, "the first operand has %d columns, the second %d rows", k, kb);
    if (a.dtype != b.dtype && dtype_bytes(a.dtype) + dtype_bytes(b.dtype) > 2)
        return verify_fail(v, TW0755, op, "operands of %s and %s", dtype_name(a.dtype), dtype_name(b.dtype));
    if (r.space != SPACE_REGISTER)
        return verify_fail(v, TW0755, op, "a product is summed in registers");
    if (op->kind == TILE_GEMM && op->n_args == 3 && !tile_type_equal(arg_type(op, 2), r))
        return bad_type(v, op, "the accumulator", r, arg_type(op, 2));
    return want_shape(v, op, "the result", r, m, n);
}

static bool check_softmax(Verifier *v, const TileOp *op)
{
    static const char *const names[] = {"p", "the new maximum", "the new sum", "alpha"};
    if (v->kernel->facts & TF_EXPANDED)
        return verify_fail(v, TW0754, op, "a composite operation after `expand`");
    if (!all_tiles(v, op, 0, 3))
        return false;
    TileType s = arg_type(op, 0);
    if (!want_shape(v, op, "the maximum", arg_type(op, 1), s.rows, 1) ||
        !want_shape(v, op, "the sum", arg_type(op, 2), s.rows, 1))
        return false;
    for (int i = 0; i < 4; i++)
        if (!want_shape(v, op, names[i], op->results[i]->type, s.rows, i == 0 ? s.cols : 1))
            return false;
    return true;
}

/* ---- regions ------------------------------------------------------------------------- */

static bool check_for(Verifier *v, const TileOp *op)
{
    const TileBlock *body = op->regions[0];
    if (op->n_results != op->n_args || body->params.len != op->n_args)
        return verify_fail(v, TW0753, op, "%d initial values, %d carried ones, %d results", op->n_args,
                           body->params.len, op->n_results);
    for (int i = 0; i < op->n_args; i++) {
        const TileValue *param = body->params.data[i];
        if (!param || !verify_may_stand_for(arg_type(op, i), param->type) ||
            !tile_type_equal(op->results[i]->type, param->type))
            return verify_fail(v, TW0753, op, "carried value %d changes its type", i + 1);
        if (param->def)
            return verify_fail(v, TW0752, op, "carried value %d is the result of an operation", i + 1);
    }
    return true;
}

static bool check_if(Verifier *v, const TileOp *op)
{
    for (int i = 0; i < op->n_regions; i++)
        if (op->regions[i]->params.len)
            return verify_fail(v, TW0753, op, "the regions of an if have no parameters");
    if (op->n_results && op->n_regions < 2)
        return verify_fail(v, TW0753, op, "an if with results needs an else");
    return true;
}

static bool check_prepare(Verifier *v, const TileOp *op)
{
    if (v->kernel->facts & TF_STAGED)
        return verify_fail(v, TW0754, op, "a tile is prepared behind `stage`, where a role puts it into a ring");
    if (op->regions[0]->params.len)
        return verify_fail(v, TW0753, op, "what prepares a tile has no parameters");
    for (int i = 0; i < op->n_results; i++)
        if (op->results[i]->type.kind != TT_TILE || op->results[i]->type.space != SPACE_SHARED)
            return verify_fail(v, TW0755, op, "result %d is not in shared memory", i + 1);
    return true;
}

static bool check_instances(Verifier *v, const TileOp *op, const AffSym *per)
{
    for (int i = 0; per && i < v->kernel->grid.len; i++)
        if (v->kernel->grid.data[i].sym == per && v->kernel->grid.data[i].within)
            return true;
    return !per || verify_fail(v, TW0750, op, "%s is no axis of the grid that is `within`", per->name);
}

static bool check_roles(Verifier *v, const TileOp *op)
{
    int warps = 0;
    if (!op->roles)
        return verify_fail(v, TW0750, op, "the roles have no names");
    if (v->in_roles)
        return verify_fail(v, TW0750, op, "roles inside of a role");
    for (int i = 0; i < op->n_regions; i++) {
        if (op->regions[i]->params.len || !op->roles[i].name || op->roles[i].warps < 1 || op->roles[i].regs < 0)
            return verify_fail(v, TW0750, op, "role %d needs a name and warps", i + 1);
        if (!check_instances(v, op, op->roles[i].per))
            return false;
        warps += op->roles[i].warps * tile_instances(v->kernel, op->roles[i].per);
    }
    if (warps != v->kernel->warps)
        return verify_fail(v, TW0750, op, "the roles have %d warps, the kernel %d", warps, v->kernel->warps);
    return true;
}

static bool check_ring(Verifier *v, const TileOp *op)
{
    if (!v->in_roles)
        return verify_fail(v, TW0754, op, "stages are handed over between roles; there are none here");
    if (!want_buffer(v, op, 0))
        return false;
    if (op->args[0]->def->kind != TILE_RING)
        return verify_fail(v, TW0754, op, "operand 1 is a buffer, not a ring");
    if (!check_copy(v, op, 0))
        return false;
    if (op->kind == TILE_AWAIT && !tile_type_equal(stage_type(arg_type(op, 0)), result_type(op)))
        return bad_type(v, op, "the view", stage_type(arg_type(op, 0)), result_type(op));
    return true;
}

static bool check_issue(Verifier *v, const TileOp *op)
{
    TileType r = result_type(op);
    if (!r.pending)
        return verify_fail(v, TW0755, op, "the result of what was only started is pending");
    if (op->n_args < 3)
        return check_gemm(v, op);
    TileType acc = arg_type(op, 2);
    acc.pending = true;
    if (!tile_type_equal(acc, r))
        return bad_type(v, op, "the accumulator", r, acc);
    return check_gemm(v, op);
}

static bool check_finish(Verifier *v, const TileOp *op)
{
    TileType want = arg_type(op, 0);
    want.pending = false;
    if (op->count < 0)
        return verify_fail(v, TW0750, op, "a count of %d", op->count);
    return tile_type_equal(want, result_type(op)) || bad_type(v, op, "the result", want, result_type(op));
}

static bool check_revise(Verifier *v, const TileOp *op)
{
    if (op->n_results != op->n_args - 1 || op->regions[0]->params.len)
        return verify_fail(v, TW0753, op, "%d values are revised, %d results", op->n_args - 1, op->n_results);
    int rows = arg_type(op, op->n_args - 1).rows, groups = v->warps / v->kernel->warps_n;
    if (groups > 1 && rows % groups)
        return verify_fail(v, TW0755, op, "%d rows do not fall into groups for %d warps", rows, groups);
    for (int i = 0; i < op->n_args; i++) {
        TileType t = arg_type(op, i);
        if (t.kind != TT_TILE || t.space != SPACE_REGISTER || t.rows != rows)
            return verify_fail(v, TW0755, op, "operand %d is %s, wanted %d rows in registers", i + 1,
                               verify_type_text(v, t), rows);
        if (i < op->n_results && !tile_type_equal(t, result_type_of(op, i)))
            return bad_type(v, op, "the result", t, result_type_of(op, i));
    }
    return true;
}

/* Turns are taken by instances of a role. */
static bool check_turn(Verifier *v, const TileOp *op)
{
    return v->in_roles || verify_fail(v, TW0754, op, "turns are taken within roles");
}

bool verify_types(Verifier *v, const TileOp *op)
{
    switch (op->kind) {
    case TILE_LOAD: return check_load(v, op);
    case TILE_GATHER: return check_gather(v, op);
    case TILE_STORE: return check_store(v, op);
    case TILE_FILL: return check_fill(v, op);
    case TILE_MOVE:
    case TILE_MASK: return check_like(v, op, true);
    case TILE_CAST:
    case TILE_RESHAPE: return check_like(v, op, false);
    case TILE_ELEMENT: return check_element(v, op);
    case TILE_REDUCE: return check_reduce(v, op);
    case TILE_SLICE: return check_slice(v, op);
    case TILE_PATCH: return check_patch(v, op);
    case TILE_SCALAR: return check_scalar(v, op);
    case TILE_GEMM: return check_gemm(v, op);
    case TILE_SOFTMAX: return check_softmax(v, op);
    case TILE_FOR: return check_for(v, op);
    case TILE_IF: return check_if(v, op);
    case TILE_VIEW: return check_view(v, op);
    case TILE_PUT: return check_put(v, op);
    case TILE_COPY_ASYNC: return check_copy_async(v, op);
    case TILE_ROLES: return check_roles(v, op);
    case TILE_ACQUIRE:
    case TILE_FILLED:
    case TILE_AWAIT:
    case TILE_RELEASE: return check_ring(v, op);
    case TILE_ISSUE: return check_issue(v, op);
    case TILE_FINISH: return check_finish(v, op);
    case TILE_REVISE: return check_revise(v, op);
    case TILE_PREPARE: return check_prepare(v, op);
    case TILE_TAKE_TURN:
    case TILE_GIVE_TURN: return check_turn(v, op);
    case TILE_RING:
        if (op->count < 1 || op->count > STAGE_LIMIT)
            return verify_fail(v, TW0750, op, "a ring of %d copies; it has 1 to %d", op->count, STAGE_LIMIT);
        return result_type(op).kind == TT_BUFFER || verify_fail(v, TW0755, op, "the result is not a buffer");
    case TILE_BUFFER:
        return result_type(op).kind == TT_BUFFER || verify_fail(v, TW0755, op, "the result is not a buffer");
    case TILE_WAIT:
    case TILE_BARRIER:
        return op->count >= 0 || verify_fail(v, TW0750, op, "a count of %d", op->count);
    case TILE_INDEX:
    case TILE_YIELD:
    case TILE_COMMIT:
    case TILE_OP_COUNT: break;
    }
    return true;
}

/* ---- layouts ----------------------------------------------------------------------------- */

static bool check_panels(Verifier *v, const TileOp *op, TileType t)
{
    int panel = t.layout.panel, row = t.cols * dtype_bytes(t.dtype);
    bool known = panel == 128 || panel == 64 || panel == 32 || panel == 16;
    if (t.layout.kind != LAY_PANELS)
        return verify_fail(v, TW0756, op, "%s is in shared memory without a layout of panels",
                           verify_type_text(v, t));
    if (!known || row % panel != 0)
        return verify_fail(v, TW0756, op, "rows of %d bytes do not fall into panels of %d", row, panel);
    return true;
}

static bool check_fragment(Verifier *v, const TileOp *op, TileType t)
{
    const char *misfit = lay_fragment_misfit(t.layout, t.rows, t.cols);
    return !misfit || verify_fail(v, TW0756, op, "%s: %s", verify_type_text(v, t), misfit);
}

static bool check_value_layout(Verifier *v, const TileOp *op, TileType t)
{
    if (t.kind == TT_TOKEN)
        return true;
    if (t.kind == TT_BUFFER || t.space == SPACE_SHARED)
        return check_panels(v, op, t);
    return check_fragment(v, op, t);
}

static bool want_kind(Verifier *v, const TileOp *op, const char *what, TileType t, LayoutKind kind)
{
    if (t.space == SPACE_SHARED || t.layout.kind == kind)
        return true;
    return verify_fail(v, TW0756, op, "%s is not %s fragment", what,
                       kind == LAY_MMA_A ? "an operand" : "an accumulator");
}

/* Whether what meets element by element lies in the same lanes: matrices in the same
 * fragments, columns and rows of them as the same warps have rows and columns. */
static bool is_alike(TileType a, TileType r)
{
    bool rows = a.rows > 1 && a.rows == r.rows, cols = a.cols > 1 && a.cols == r.cols;
    if (rows && cols)
        return lay_equal(a.layout, r.layout);
    return (!rows || a.layout.warps_m == r.layout.warps_m) && (!cols || a.layout.warps_n == r.layout.warps_n);
}

static bool check_alike(Verifier *v, const TileOp *op)
{
    TileType r = result_type(op);
    for (int i = 0; i < op->n_args; i++) {
        TileType a = arg_type(op, i);
        if (!is_alike(a, r))
            return verify_fail(v, TW0756, op, "%s meets %s: their elements lie in different lanes",
                               verify_type_text(v, a), verify_type_text(v, r));
    }
    return true;
}

static bool check_gemm_layouts(Verifier *v, const TileOp *op)
{
    if (arg_type(op, 1).space != SPACE_SHARED)
        return verify_fail(v, TW0756, op, "the second operand is read from shared memory");
    return want_kind(v, op, "the first operand", arg_type(op, 0), LAY_MMA_A) &&
           want_kind(v, op, "the result", result_type(op), LAY_MMA_C);
}

/* Warps that share rows need a buffer to combine through. */
static bool check_reduced(Verifier *v, const TileOp *op)
{
    const Layout *l = &op->args[0]->type.layout;
    bool shared = op->axis == 1 && arg_type(op, 0).cols > 1 && result_type(op).cols == 1 && (l->warps_n > 1 || op->across);
    if (op->axis == 0 && l->quads != result_type(op).layout.quads)
        return verify_fail(v, TW0756, op, "the result's columns lie otherwise than those that are reduced");
    if (shared == (op->n_args > 1))
        return true;
    return verify_fail(v, TW0756, op, shared ? "the warps of a row have no buffer to combine through"
                                             : "a buffer for warps that share no rows");
}

bool verify_layouts(Verifier *v, const TileOp *op)
{
    for (int i = 0; i < op->n_results; i++)
        if (!check_value_layout(v, op, op->results[i]->type))
            return false;
    switch (op->kind) {
    case TILE_ELEMENT:
    case TILE_MASK:
    case TILE_CAST: return check_alike(v, op);
    case TILE_GEMM:
    case TILE_ISSUE: return check_gemm_layouts(v, op);
    case TILE_REDUCE: return check_reduced(v, op);
    case TILE_RESHAPE:
        return want_kind(v, op, "the operand", arg_type(op, 0), LAY_MMA_C) &&
               want_kind(v, op, "the result", result_type(op), LAY_MMA_A);
    case TILE_LOAD: case TILE_STORE: case TILE_MOVE: case TILE_FILL: case TILE_INDEX:
    case TILE_GATHER: case TILE_SOFTMAX: case TILE_FOR: case TILE_IF: case TILE_YIELD:
    case TILE_BUFFER: case TILE_VIEW: case TILE_PUT: case TILE_COPY_ASYNC: case TILE_COMMIT:
    case TILE_WAIT: case TILE_BARRIER: case TILE_ROLES: case TILE_ACQUIRE: case TILE_FILLED:
    case TILE_AWAIT: case TILE_RELEASE: case TILE_SLICE: case TILE_PATCH: case TILE_SCALAR:
    case TILE_RING: case TILE_FINISH: case TILE_REVISE: case TILE_PREPARE: case TILE_TAKE_TURN: case TILE_GIVE_TURN:
    case TILE_OP_COUNT: break;
    }
    return true;
}
