/* write.c: the sketch's text: every tile gets a name, every item its statement.
 *
 * A tile keeps the name that its value has in the definition. A name is taken
 * over from the tile that held it when that is read no more and covers the same
 * axes; otherwise the new tile gets a name of its own: S, S2, S3.
 */
#include "fuse/flow.h"

#include <math.h>

/* A name in the sketch and the tile that it stands for at the moment. */
typedef struct Held {
    const char *name;
    const Node *holder;
} Held;

typedef struct Writer {
    Flow *flow;
    Arena *arena;
    const Items *items;
    int at;          /* the item being written */
    VEC(Held) names;
    Block *out;      /* where statements go */
} Writer;

static Stmt *put(Writer *w, StmtKind kind)
{
    Stmt *stmt = stmt_new(w->arena, kind);

    vec_push(w->arena, w->out, stmt);
    return stmt;
}

static Expr *name_expr(Writer *w, const char *name)
{
    return expr_name(w->arena, name);
}

/* ---- names --------------------------------------------------------------------------- */

static Held *find_name(Writer *w, const char *name)
{
    for (int i = 0; i < w->names.len; i++)
        if (text_equal(w->names.data[i].name, name))
            return &w->names.data[i];
    return NULL;
}

/* An output's name is kept for tiles of the form in which it is stored. */
static bool fits_output(const Writer *w, const char *name, const Node *node)
{
    for (int i = 0; i < w->flow->stores.len; i++) {
        const Node *store = w->flow->stores.data[i];

        if (strcmp(store->name, name) == 0)
            return store->row == node->row && store->col == node->col && node->kind != NODE_SHARED;
    }
    return false;
}

/* A copy in shared memory would go out of date beside a new value. */
static bool has_shared_copy(const Node *node)
{
    return node->kind == NODE_LOAD &&
           (node->in_shared || (node->stream && flow_is_matrix(node)));
}

/* A name has one type in registers: what is rounded gets another. */
static bool is_cast(const Node *node)
{
    return node->kind == NODE_OP && node->op == OP_CAST;
}

/* Whether what is rounded goes to shared memory, where a tile of an input's name has the input's type. */
static bool is_shared_cast(const Writer *w, const Node *node)
{
    for (int i = 0; is_cast(node) && i < w->flow->nodes.len; i++) {
        const Node *copy = w->flow->nodes.data[i];

        if (copy->kind == NODE_SHARED && copy->n_args > 0 && copy->args[0].node == node)
            return true;
    }
    return false;
}

/* What a loop sums up, and the state of a softmax, start at their identities under a name that has
 * no tile yet, else where that tile is. */
static bool starts_itself(const Node *node)
{
    return node->kind == NODE_SUM || node->kind == NODE_STATE_MAX || node->kind == NODE_STATE_SUM;
}

/* Whether a name may come to mean node now. */
static bool may_take(Writer *w, const char *name, const Node *node)
{
    const Held *held = find_name(w, name);
    const Node *holder = held ? held->holder : NULL;

    if (!holder)
        return !flow_reserves(w->flow, name) || fits_output(w, name, node);
    if (holder == node)
        return true;
    if (starts_itself(node))
        return false;
    if (has_shared_copy(holder) || is_cast(holder) || (is_cast(node) && holder->kind != NODE_LOAD) ||
        is_shared_cast(w, node))
        return false;
    return holder->row == node->row && holder->col == node->col && holder->kind != NODE_SHARED &&
           node->kind != NODE_SHARED && !flow_used_later(w->items, holder, w->at);
}

static void take(Writer *w, const char *name, Node *node)
{
    Held *held = find_name(w, name);

    node->spelled = name;
    if (held)
        held->holder = node;
    else
        vec_push(w->arena, &w->names, (Held){name, node});
}

static void spell(Writer *w, Node *node)
{
    const char *name = node->name;

    for (int i = 2; !may_take(w, name, node); i++)
        name = arena_printf(w->arena, "%s%d", node->name, i);
    take(w, name, node);
}

/* A tile of an input bears the input's name; another tile of the same input, which
 * lies along other axes, one of its own: `Copy X as X2`. */
static void spell_load(Writer *w, Node *node)
{
    const Held *held = find_name(w, node->name);
    const char *name = node->spelled ? node->spelled : node->name;

    if (!node->spelled && held && held->holder != node)
        for (int i = 2; find_name(w, name) || flow_reserves(w->flow, name); i++)
            name = arena_printf(w->arena, "%s%d", node->name, i);
    take(w, name, node);
}

/* ---- copies ------------------------------------------------------------------------------- */

static Stmt *put_copy(Writer *w, const char *name, Space from, Space to)
{
    Stmt *copy = put(w, STMT_COPY);

    copy->name = name;
    copy->space = from;
    copy->to_space = to;
    return copy;
}

static bool named_like(const Axis *axis, DefDim dim)
{
    return dim.name && axis->dim.name && strcmp(dim.name, axis->dim.name) == 0;
}

/* Whether the sketch's reader takes a dimension to follow this axis: the loop's
 * where it has the dimension's name, else the block's, else none. */
static bool axis_obvious(const Writer *w, const Axis *axis, DefDim dim)
{
    const Flow *flow = w->flow;
    const Loop *loop = w->items->list.data[w->at].loop;

    if (axis->kind == AXIS_ONE)
        return true;
    if (loop && named_like(loop->stream, dim))
        return axis == loop->stream;
    if (named_like(flow->rows, dim))
        return axis->kind == AXIS_ROWS;
    if (flow->cols->kind == AXIS_COLS && named_like(flow->cols, dim))
        return axis->kind == AXIS_COLS;
    return axis->kind == AXIS_WHOLE;
}

static Expr *axis_expr(Writer *w, const Axis *axis)
{
    if (axis->kind == AXIS_STREAM)
        return name_expr(w, axis->var);
    if (axis->kind == AXIS_ROWS || axis->kind == AXIS_COLS)
        return name_expr(w, axis->dim.name);
    return expr_int(w->arena, 0);
}

/* Whether a leading dimension has the name of one of the last two. */
static bool leads_alike(const DefValue *value)
{
    for (int d = 0; d < value->rank - 2; d++)
        for (int side = value->rank - 2; side < value->rank; side++)
            if (value->dims[d].name && value->dims[side].name && strcmp(value->dims[d].name, value->dims[side].name) == 0)
                return true;
    return false;
}

static bool is_of_blocks(const Axis *axis, DefDim dim)
{
    return (axis->kind == AXIS_ROWS || axis->kind == AXIS_COLS) && named_like(axis, dim);
}

/* Whether a dimension of one element has the name of what blocks are spread over, and this tile of it is broadcast. */
static bool is_one_beside(const Flow *flow, const Axis *axis, DefDim dim)
{
    return axis->kind == AXIS_ONE && flow_is_one(dim) && (is_of_blocks(flow->rows, dim) || is_of_blocks(flow->cols, dim));
}

/* `Copy q (1, D) as q2`, beside tiles of q that a product takes, of which `Copy q (rows, D)` says so then. */
static void put_ones(Writer *w, Stmt *copy, const Node *load, DefDim rows, DefDim cols)
{
    const Flow *flow = w->flow;
    bool row = is_one_beside(flow, load->row, rows), col = is_one_beside(flow, load->col, cols), differ = false;

    for (int i = 0; i < flow->nodes.len; i++) {
        const Node *node = flow->nodes.data[i];

        differ |= node->kind == NODE_LOAD && node->value == load->value &&
                  (is_one_beside(flow, node->row, rows) != row || is_one_beside(flow, node->col, cols) != col);
    }
    if (!differ || load->value->rank < 2 || !rows.name || !cols.name)
        return;
    copy->has_shape = true;
    copy->n_shape = 2;
    copy->shape = arena_array(w->arena, Expr *, 2);
    copy->shape[0] = row ? expr_int(w->arena, 1) : name_expr(w, rows.name);
    copy->shape[1] = col ? expr_int(w->arena, 1) : name_expr(w, cols.name);
}

/* Where names alone do not say which loop or block axis a dimension follows, the
 * copy says it: `in coordinate [len = j]`; by place where the names are equal, of leading ones as well. */
static void put_coords(Writer *w, Stmt *copy, const Node *load)
{
    const DefValue *value = load->value;
    DefDim rows = flow_rows(w->flow, value), cols = flow_cols(w->flow, value);
    rows.name = flow_name_along(w->flow, value, rows, true);
    cols.name = flow_name_along(w->flow, value, cols, false);
    if (flow_has_alias(w->flow, value, true))
        rows.name = w->flow->cols->dim.name;
    if (flow_has_alias(w->flow, value, false))
        cols.name = w->flow->cols->dim.name;
    put_ones(w, copy, load, rows, cols);
    bool alike = leads_alike(value), by_place = alike || !rows.name || !cols.name || strcmp(rows.name, cols.name) == 0;

    if (axis_obvious(w, load->row, rows) && axis_obvious(w, load->col, cols))
        return;
    copy->coords = arena_array(w->arena, Coord, value->rank + 1);
    for (int d = 0; alike && d < value->rank - 2; d++)
        copy->coords[copy->n_coords++] = (Coord){.value = value->dims[d].name ? name_expr(w, value->dims[d].name) : expr_int(w->arena, 0)};
    if (value->rank >= 2)
        copy->coords[copy->n_coords++] =
            (Coord){.name = by_place ? NULL : rows.name, .value = axis_expr(w, load->row)};
    copy->coords[copy->n_coords++] = (Coord){.name = by_place ? NULL : cols.name, .value = axis_expr(w, load->col)};
}

static void write_load(Writer *w, const Item *item)
{
    Space to = item->kind == ITEM_TO_SHARED ? SPACE_SHARED : SPACE_REGISTER;

    spell_load(w, item->node);
    Stmt *copy = put_copy(w, item->node->name, SPACE_GLOBAL, to);
    if (strcmp(item->node->spelled, item->node->name) != 0)
        copy->as = item->node->spelled;
    put_coords(w, copy, item->node);
}

/* ---- computations -------------------------------------------------------------------------- */

static Expr *operand_expr(Writer *w, Operand operand)
{
    if (!operand.node)
        return expr_copy(w->arena, operand.number);
    Expr *e = name_expr(w, operand.node->spelled);
    return operand.transposed ? expr_transpose(w->arena, e) : e;
}

/* Where a tile has copies in both spaces, a GEMM says which one it reads. */
static Expr *gemm_operand_expr(Writer *w, Operand operand)
{
    Node *node = operand.node;
    Expr *e = name_expr(w, node->spelled);

    if (node->kind == NODE_SHARED || (node->kind == NODE_LOAD && node->in_shared && node->in_register))
        e = expr_space(w->arena, e, SPACE_SHARED);
    else if (is_shared_cast(w, node))
        e = expr_space(w->arena, e, SPACE_REGISTER);
    return operand.transposed ? expr_transpose(w->arena, e) : e;
}

static Stmt *put_compute(Writer *w, OpId op)
{
    Stmt *stmt = put(w, STMT_COMPUTE);

    stmt->op = op;
    stmt->op_name = op_info(op)->name;
    stmt->op_known = true;
    stmt->args = arena_array(w->arena, Expr *, 4);
    return stmt;
}

static void set_result(Writer *w, Stmt *stmt, ResultKind kind, const char *name)
{
    stmt->result = kind;
    stmt->dest = name_expr(w, name);
}

static void add_args(Writer *w, Stmt *stmt, const Node *node)
{
    for (int i = 0; i < node->n_args; i++)
        stmt->args[stmt->n_args++] = operand_expr(w, node->args[i]);
}

/* Names the result; `get new` where it replaces one of the operands. */
static void finish_result(Writer *w, Stmt *stmt, Node *node)
{
    bool replaces = false;

    spell(w, node);
    for (int i = 0; i < node->n_args; i++)
        if (node->args[i].node && strcmp(node->args[i].node->spelled, node->spelled) == 0)
            replaces = true;
    set_result(w, stmt, replaces ? RESULT_GET_NEW : RESULT_GET, node->spelled);
}

static Expr *else_expr(Writer *w, double value)
{
    if (value == 0)
        return expr_int(w->arena, 0);
    return expr_float(w->arena, value);
}

static const char *row_or_col(const char *name)
{
    return !name ? NULL : text_equal_nocase(name, "row") ? "row" : text_equal_nocase(name, "col") ? "col" : NULL;
}

/* Which of a value's dimensions a position goes along, where two have one name the first or
 * the second; -1: none, or it is no position. */
static int position_dim(const Flow *flow, const DefValue *value, const char *name)
{
    const DefIndex *index = def_index(flow->def, name);
    const char *over = index ? index->over : NULL;
    int dims[2] = {-1, -1}, n = 0;

    for (int d = 0; over && d < value->rank; d++)
        if (value->dims[d].name && strcmp(value->dims[d].name, over) == 0 && n++ < 2)
            dims[n - 1] = d;
    return n == 2 && index_side(&flow->def->unit->body, name, over) == INDEX_COLS ? dims[1] : dims[0];
}

/* Whether each block has one entry of a dimension of that name. */
static bool spreads_entries(const Flow *flow, const char *name)
{
    for (int i = 0; i < flow->stores.len; i++) {
        const DefValue *value = flow->stores.data[i]->value;

        for (int d = 0; d < value->rank - 2; d++)
            if (value->dims[d].name && strcmp(value->dims[d].name, name) == 0)
                return true;
    }
    return false;
}

/* `row` or `col` for a position along rows or columns that might be one along a leading
 * dimension of the same name; NULL: it cannot. */
static const char *place_in_matrix(const Flow *flow, const DefValue *value, const char *name)
{
    int d = position_dim(flow, value, name);
    const char *place = d == value->rank - 1 ? "col" : "row";

    return d >= 0 && d >= value->rank - 2 && spreads_entries(flow, value->dims[d].name) && !flow_reserves(flow, place)
               ? place : NULL;
}

/* A definition's row(S) is the place in the whole of S; a sketch's, that in its tile
 * alone, but the bare name is the whole place there as well, and `row()` where a dimension has that name. */
static Expr *whole_places(Writer *w, const Node *node, const Expr *e)
{
    Expr *copy = expr_copy(w->arena, e);
    const char *place = e->kind == EXPR_CALL && e->n_args == 1 ? row_or_col(e->name) : NULL;

    if (place)
        return flow_reserves(w->flow, place) ? expr_call(w->arena, place, NULL, 0) : name_expr(w, place);
    if (e->kind == EXPR_NAME && row_or_col(e->name) && !flow_reserves(w->flow, e->name))
        copy->name = row_or_col(e->name);
    else if (e->kind == EXPR_NAME && place_in_matrix(w->flow, node->value, e->name))
        copy->name = place_in_matrix(w->flow, node->value, e->name);
    copy->a = e->a ? whole_places(w, node, e->a) : NULL;
    copy->b = e->b ? whole_places(w, node, e->b) : NULL;
    for (int i = 0; i < e->n_args; i++)
        copy->args[i] = whole_places(w, node, e->args[i]);
    return copy;
}

static void write_mask(Writer *w, Node *node)
{
    Stmt *stmt = put_compute(w, OP_MASK);

    add_args(w, stmt, node);
    stmt->where = whole_places(w, node, node->source->where);
    if (node->has_else)
        stmt->otherwise = else_expr(w, node->otherwise);
    finish_result(w, stmt, node);
    if (stmt->result == RESULT_GET_NEW)
        stmt->result = RESULT_NONE;
}

/* Where rows and columns are along one dimension, the sketch's reader takes the rows
 * to be the block's and the columns the loop's. */
static bool define_is_obvious(Writer *w, const Node *node)
{
    const char *row = node->row->dim.name, *col = node->col->dim.name;

    if (node->row->kind != AXIS_STREAM || node->col->kind == AXIS_STREAM || !row || !col || strcmp(row, col) != 0 ||
        node->col->kind == AXIS_WHOLE)
        return true;
    flow_fail(w->flow, TW0509, node->value, "the rows of %s follow a loop over %s, its columns the blocks over %s: one "
              "of the two needs another name", node->name, row, col);
    return false;
}

/* Whether blocks are spread over a dimension of this axis's name, of which a tile keeps all: the
 * name would mean a part of it. */
static bool is_spread(const Flow *flow, const Axis *axis)
{
    const Axis *spread[] = {flow->rows, flow->cols};

    for (int i = 0; i < 2; i++)
        if (axis->kind == AXIS_WHOLE && (spread[i]->kind == AXIS_ROWS || spread[i]->kind == AXIS_COLS) && axis->dim.name &&
            spread[i]->dim.name && strcmp(axis->dim.name, spread[i]->dim.name) == 0)
            return true;
    return false;
}

static void name_define_side(Writer *w, Stmt *stmt, int d, const Axis *axis)
{
    int64_t size;

    if (d >= 0 && is_spread(w->flow, axis) && aff_is_const(axis->dim.size, &size))
        stmt->shape[d] = expr_int(w->arena, size);
    if (d >= 0 && axis->dim.name && axis == w->flow->cols && w->flow->cols_alias_of)
        stmt->shape[d] = name_expr(w, axis->dim.name);
}

/* As it is written, or as it follows from the tensor that is seen otherwise. */
static Expr *define_dim(Writer *w, const Node *node, int d)
{
    const Stmt *source = node->source->stmt;
    const DefValue *value = node->value;
    DefDim dim = value->dims[d];

    bool written = source->op_known && source->op == OP_DEFINE && source->n_shape == value->rank;
    if (written && (d < value->rank - 2 || source->shape[d]->kind == EXPR_NAME || !flow_dim_name(w->flow, dim)))
        return source->shape[d];
    if (!dim.name && d == value->rank - 1)
        dim.name = node->col->dim.name;
    if (!dim.name && d == value->rank - 2)
        dim.name = node->row->dim.name;
    return dim.name ? expr_name(w->flow->arena, dim.name) : flow_size_expr(w->flow, dim);
}

static void write_define(Writer *w, Node *node)
{
    int rank = node->value->rank;

    if (!define_is_obvious(w, node))
        return;
    Stmt *stmt = put_compute(w, OP_DEFINE);

    spell(w, node);
    stmt->args[stmt->n_args++] = name_expr(w, node->spelled);
    stmt->has_shape = true;
    stmt->n_shape = rank;
    stmt->shape = arena_array(w->arena, Expr *, rank);
    for (int d = 0; d < rank; d++)
        stmt->shape[d] = define_dim(w, node, d);
    name_define_side(w, stmt, rank - 2, node->row);
    name_define_side(w, stmt, rank - 1, node->col);
    stmt->value = whole_places(w, node, node->source->where);
}

static void write_cast(Writer *w, Node *node)
{
    Stmt *stmt = put_compute(w, OP_CAST);

    add_args(w, stmt, node);
    stmt->args[1] = name_expr(w, dtype_name(node->cast));
    stmt->n_args = 2;
    stmt->has_dtype = true;
    stmt->dtype = node->cast;
    finish_result(w, stmt, node);
}

static void write_fill(Writer *w, Node *node)
{
    Stmt *stmt = put_compute(w, OP_FILL);

    spell(w, node);
    stmt->args[stmt->n_args++] = name_expr(w, node->spelled);
    add_args(w, stmt, node);
}

static void write_op(Writer *w, Node *node)
{
    switch (op_info(node->op)->class) {
    case OPC_MASK:
        write_mask(w, node);
        return;
    case OPC_DEFINE:
        write_define(w, node);
        return;
    case OPC_CAST:
        write_cast(w, node);
        return;
    case OPC_FILL:
        write_fill(w, node);
        return;
    case OPC_ELEMENT:
    case OPC_ROW_REDUCE:
    case OPC_COL_REDUCE:
    case OPC_GEMM:
    case OPC_SOFTMAX:
    case OPC_GROUP_REDUCE:
    case OPC_REARRANGE:
    case OPC_SELECT:
        break;
    }
    Stmt *stmt = put_compute(w, node->op);
    add_args(w, stmt, node);
    if (node->has_else)
        stmt->otherwise = else_expr(w, node->otherwise);
    finish_result(w, stmt, node);
}

/* The online softmax works in place: a tile that is read again is copied first. */
static void write_gauge(Writer *w, Node *node)
{
    Node *x = node->args[0].node;
    bool load = x->kind == NODE_LOAD;

    if (load || is_cast(x) || flow_used_later(w->items, x, w->at)) {
        const char *name = node->name;

        for (int i = 2; find_name(w, name) || flow_reserves(w->flow, name); i++)
            name = arena_printf(w->arena, "%s%d", node->name, i);
        Stmt *copy = put_compute(w, OP_ADD);
        add_args(w, copy, node);
        copy->args[copy->n_args++] = expr_int(w->arena, 0);
        set_result(w, copy, RESULT_GET, name);
        take(w, name, node);
    } else {
        take(w, x->spelled, node);
    }
    Stmt *stmt = put_compute(w, OP_SOFTMAX);
    stmt->args[stmt->n_args++] = name_expr(w, node->spelled);
    stmt->with = arena_array(w->arena, Expr *, 2);
    for (int i = 0; i < w->flow->nodes.len; i++) {
        const Node *state = w->flow->nodes.data[i];

        if (state->kind == NODE_STATE_MAX && state->args[0].node == node)
            stmt->with[0] = name_expr(w, state->spelled);
        if (state->kind == NODE_STATE_SUM && state->args[0].node == node)
            stmt->with[1] = name_expr(w, state->spelled);
    }
    stmt->n_with = 2;
}

static OpId running_step(OpId op)
{
    return op == OP_ROW_MAX || op == OP_COL_MAX ? OP_MAX : op == OP_ROW_MIN ? OP_MIN : OP_ADD;
}

/* One turn of a running reduction. */
static void write_reduce(Writer *w, Node *node)
{
    Node part = *node;
    Stmt *stmt = put_compute(w, node->op);

    add_args(w, stmt, node);
    part.kind = NODE_OP;
    part.name = arena_printf(w->arena, "%s_tile", node->spelled);
    const char *name = part.name;
    for (int i = 2; flow_reserves(w->flow, name); i++)
        name = arena_printf(w->arena, "%s%d", part.name, i);
    set_result(w, stmt, RESULT_GET, name);
    Stmt *step = put_compute(w, running_step(node->op));
    step->args[step->n_args++] = name_expr(w, node->spelled);
    step->args[step->n_args++] = name_expr(w, name);
    set_result(w, step, RESULT_GET_NEW, node->spelled);
}

/* One part's share in a value that is whole after all of them. */
static void write_combine(Writer *w, Node *node)
{
    Stmt *step = put_compute(w, node->op);

    step->args[step->n_args++] = name_expr(w, node->spelled);
    step->args[step->n_args++] = name_expr(w, node->args[0].node->spelled);
    set_result(w, step, RESULT_GET_NEW, node->spelled);
}

static void write_gemm(Writer *w, Node *node)
{
    Stmt *stmt = put_compute(w, OP_GEMM);

    for (int i = 0; i < node->n_args; i++)
        stmt->args[stmt->n_args++] = gemm_operand_expr(w, node->args[i]);
    if (node->kind == NODE_SUM)
        set_result(w, stmt, RESULT_ACCUMULATE, node->spelled);
    else
        finish_result(w, stmt, node);
}

static void write_shared(Writer *w, Node *node)
{
    put_copy(w, node->args[0].node->spelled, SPACE_REGISTER, SPACE_SHARED);
    node->spelled = node->args[0].node->spelled;
}

/* The register tile that is stored bears the output's name. */
static void write_store(Writer *w, Node *node)
{
    Node *tile = node->args[0].node;

    if (strcmp(tile->spelled, node->name) != 0) {
        Held *held = find_name(w, node->name);

        if (held && (held->holder->row != node->row || held->holder->col != node->col ||
                     flow_used_later(w->items, held->holder, w->at))) { /* the name is another tile's as well */
            put_copy(w, tile->spelled, SPACE_REGISTER, SPACE_GLOBAL)->as = node->name;
            return;
        }
        Stmt *rename = put_compute(w, OP_ADD);
        rename->args[rename->n_args++] = name_expr(w, tile->spelled);
        rename->args[rename->n_args++] = expr_int(w->arena, 0);
        set_result(w, rename, RESULT_GET, node->name);
        take(w, node->name, node);
    }
    put_copy(w, node->name, SPACE_REGISTER, SPACE_GLOBAL);
}

static void write_node(Writer *w, Node *node)
{
    switch (node->kind) {
    case NODE_OP:
        write_op(w, node);
        return;
    case NODE_PRODUCT:
    case NODE_SUM:
        write_gemm(w, node);
        return;
    case NODE_SHARED:
        write_shared(w, node);
        return;
    case NODE_GAUGE:
        write_gauge(w, node);
        return;
    case NODE_REDUCE:
        write_reduce(w, node);
        return;
    case NODE_COMBINE:
        write_combine(w, node);
        return;
    case NODE_STORE:
        write_store(w, node);
        return;
    case NODE_LOAD:
    case NODE_STATE_MAX:
    case NODE_STATE_SUM:
        return;
    }
}

/* ---- loops ------------------------------------------------------------------------------------ */

/* What a loop leaves behind is named before it. */
static void name_results(Writer *w, const Loop *loop)
{
    for (int i = 0; i < loop->body.len; i++) {
        Node *node = loop->body.data[i];

        if (node->kind == NODE_SUM)
            spell(w, node);
        if (node->kind != NODE_GAUGE)
            continue;
        spell(w, flow_state(w->flow, NODE_STATE_MAX, node));
        spell(w, flow_state(w->flow, NODE_STATE_SUM, node));
    }
}

static void open_loop(Writer *w, const Loop *loop)
{
    name_results(w, loop);
    Stmt *stmt = put(w, STMT_FOR);
    stmt->name = loop->stream->var;
    stmt->over = loop->stream->dim.name;
    if (w->flow->shared_loops && loop->stream != w->flow->parts)
        stmt->by = name_expr(w, w->flow->parts->dim.name);
    w->out = &stmt->body;
}

static double identity_of(OpId step)
{
    return step == OP_MAX ? -INFINITY : step == OP_MIN ? INFINITY : 0;
}

static void write_identity(Writer *w, Node *node)
{
    Stmt *stmt = put_compute(w, OP_FILL);
    double identity = identity_of(node->kind == NODE_COMBINE ? node->op : running_step(node->op));

    spell(w, node);
    stmt->args[stmt->n_args++] = name_expr(w, node->spelled);
    stmt->args[stmt->n_args++] = identity == 0 ? expr_int(w->arena, 0) : expr_float(w->arena, identity);
}

static void write_item(Writer *w, const Item *item, Block *body)
{
    switch (item->kind) {
    case ITEM_TO_SHARED:
    case ITEM_TO_REGISTER:
        write_load(w, item);
        return;
    case ITEM_UNSHARE:
        put_copy(w, item->node->spelled, SPACE_SHARED, SPACE_REGISTER);
        return;
    case ITEM_FILL:
        write_identity(w, item->node);
        return;
    case ITEM_LOOP:
        open_loop(w, item->loop);
        return;
    case ITEM_END:
        w->out = body;
        return;
    case ITEM_COMPUTE:
        write_node(w, item->node);
        return;
    }
}

/* A stream whose loop multiplies what it loads counts k; others j, i, t, ... */
void flow_name_loops(Flow *flow)
{
    static const char *const vars[] = {"j", "i", "t", "u", "v", "w"};
    size_t next = 0;

    for (int i = 0; i < flow->axes.len; i++) {
        Axis *axis = flow->axes.data[i];
        bool deep = false;

        if (axis->kind != AXIS_STREAM || axis->var)
            continue;
        for (int n = 0; n < flow->nodes.len; n++)
            deep |= flow->nodes.data[n]->kind == NODE_PRODUCT && flow->nodes.data[n]->stream == axis;
        const char *var = deep ? "j" : "k";
        while (flow_reserves(flow, var))
            var = next < TW_COUNT(vars) ? vars[next++] : arena_printf(flow->arena, "j%zu", next++);
        axis->var = var;
    }
}

Unit *flow_write(Flow *flow, const Order *order)
{
    Unit *unit = arena_new_of(flow->arena, Unit);
    Writer w = {.flow = flow, .arena = flow->arena, .out = &unit->body};

    unit->kind = UNIT_KERNEL;
    unit->name = flow->kernel ? flow->kernel : flow->def->unit->name;
    if (!flow_name_axes(flow))
        return NULL;
    flow_name_loops(flow);
    flow_header(flow, &unit->body);
    w.items = flow_items(flow, order);
    for (w.at = 0; w.at < w.items->list.len && !flow->failed; w.at++)
        write_item(&w, &w.items->list.data[w.at], &unit->body);
    return flow->failed ? NULL : unit;
}
