/* graph.c: values of the definition become tiles.
 *
 * flow_tile computes a value's tile from its operands' tiles, which it asks for
 * along the axes that the operation makes of its own. Equal nodes are one node.
 * What is linear in an operand that streams is linear.c's business.
 */
#include "fuse/flow.h"

#include <limits.h>

Diag *flow_fail(Flow *flow, DiagCode code, const DefValue *value, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const char *text = arena_vprintf(flow->arena, fmt, args);
    va_end(args);
    Span span = value && value->op ? value->op->stmt->span : flow->def->unit->name_span;
    Diag *diag = diag_add(flow->diags, code, span, "%s", text);
    diag_note(flow->diags, diag, "write the flow by hand: a Kernel with Copy, Compute and for beside the Operator, in "
                                 "the same file; `tw gen` goes on from it");
    flow->failed = true;
    return diag;
}

bool flow_enter(Flow *flow, const DefValue *value)
{
    if (flow->failed)
        return false;
    if (++flow->depth > FLOW_DEPTH || flow->nodes.len > FLOW_NODES) {
        flow_fail(flow, TW0108, value, "%s depends on a longer chain of statements than is followed",
                  value->name);
        return false;
    }
    return true;
}

/* ---- nodes ---------------------------------------------------------------------------- */

Operand flow_tile_operand(Node *node)
{
    return (Operand){.node = node};
}

Operand flow_number(const Expr *number)
{
    return (Operand){.number = number};
}

Node *flow_node(Flow *flow, NodeKind kind, const Axis *row, const Axis *col)
{
    Node *node = arena_new_of(flow->arena, Node);

    *node = (Node){.kind = kind, .row = row, .col = col, .place = INT_MAX};
    return node;
}

static bool operand_same(Operand a, Operand b)
{
    if (a.node != b.node || a.transposed != b.transposed)
        return false;
    return a.node || expr_equal(a.number, b.number);
}

static bool node_same(const Node *a, const Node *b)
{
    if (a->kind != b->kind || a->row != b->row || a->col != b->col || a->op != b->op ||
        a->n_args != b->n_args || a->source != b->source || a->has_else != b->has_else ||
        a->otherwise != b->otherwise || a->cast != b->cast)
        return false;
    if (a->kind == NODE_LOAD && a->value != b->value)
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (!operand_same(a->args[i], b->args[i]))
            return false;
    return a->kind != NODE_STORE;
}

bool flow_reduces(const Node *node)
{
    return node->kind == NODE_SUM || node->kind == NODE_REDUCE || node->kind == NODE_STATE_MAX ||
           node->kind == NODE_STATE_SUM || node->kind == NODE_COMBINE;
}

static const Axis *axis_if_stream(const Axis *axis)
{
    return axis->kind == AXIS_STREAM ? axis : NULL;
}

static const char *dim_text(Flow *flow, DefDim dim)
{
    return dim.name ? dim.name : aff_text(flow->arena, dim.size);
}

/* The one stream that the node's axes and operands are in. */
static bool find_stream(Flow *flow, Node *node)
{
    const Axis *streams[5];
    int n = 0;

    if (!flow_reduces(node)) {
        streams[n++] = axis_if_stream(node->row);
        streams[n++] = axis_if_stream(node->col);
    }
    for (int i = 0; i < node->n_args; i++)
        if (node->args[i].node)
            streams[n++] = node->args[i].node->stream;
    if (node->row == node->col && node->row->kind == AXIS_STREAM) {
        flow_fail(flow, TW0503, node->value, "%s would have to stream %s along its rows and its columns",
                  node->value ? node->value->name : "a tile", dim_text(flow, node->row->dim));
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (node->stream && streams[i] && streams[i] != node->stream) {
            flow_fail(flow, TW0503, node->value, "%s would have to stream %s and %s at once",
                      node->value ? node->value->name : "a tile", dim_text(flow, node->stream->dim),
                      dim_text(flow, streams[i]->dim));
            return false;
        }
        if (streams[i])
            node->stream = streams[i];
    }
    return true;
}

Node *flow_finish(Flow *flow, Node *node)
{
    for (int i = 0; i < flow->nodes.len; i++)
        if (node_same(flow->nodes.data[i], node))
            return flow->nodes.data[i];
    if (!find_stream(flow, node))
        return NULL;
    for (int i = 0; i < node->n_args; i++) {
        const Node *arg = node->args[i].node;

        if (arg && arg->level > node->level)
            node->level = arg->level;
        if (arg && arg->gauge && node->kind == NODE_OP)
            node->gauge = arg->gauge;
    }
    if (flow_reduces(node)) {
        node->stream = NULL;
        node->level++;
    }
    node->id = flow->nodes.len;
    vec_push(flow->arena, &flow->nodes, node);
    return node;
}

static const Axis *wider(Flow *flow, const Axis *a, Operand b, bool rows)
{
    if (!b.node)
        return a;
    const Axis *other = rows ? b.node->row : b.node->col;
    return a == flow->one ? other : a;
}

/* An elementwise operation; its axes are the wider ones of its operands. */
Node *flow_op(Flow *flow, OpId op, const char *name, Operand a, Operand b)
{
    Node *node = flow_node(flow, NODE_OP, flow->one, flow->one);

    node->op = op;
    node->name = name;
    node->args[0] = a;
    node->args[1] = b;
    node->n_args = op_info(op)->arity;
    for (int i = 0; i < node->n_args; i++) {
        node->row = wider(flow, node->row, node->args[i], true);
        node->col = wider(flow, node->col, node->args[i], false);
    }
    return flow_finish(flow, node);
}

/* ---- memory of what was computed --------------------------------------------------------- */

const Form *flow_recall(Flow *flow, const DefValue *value, const Axis *row, const Axis *col, bool linear)
{
    for (int i = 0; i < flow->memos.len; i++) {
        const Memo *memo = &flow->memos.data[i];

        if (memo->value == value && memo->row == row && memo->col == col && memo->linear == linear)
            return memo->form;
    }
    return NULL;
}

void flow_remember(Flow *flow, const DefValue *value, const Axis *row, const Axis *col, bool linear,
              const Form *form)
{
    vec_push(flow->arena, &flow->memos,
             (Memo){.value = value, .row = row, .col = col, .linear = linear, .form = form});
}

/* ---- operands ------------------------------------------------------------------------------- */

const Axis *flow_broadcast_rows(Flow *flow, const DefOp *op, const DefValue *operand, const Axis *row)
{
    DefDim dim = flow_rows(flow, operand);
    bool follows = (dim.name || flow_is_one(row->dim)) && flow_is_one(flow_rows(flow, op->result));

    return flow_is_one(dim) && !follows ? flow->one : row;
}

const Axis *flow_broadcast_cols(Flow *flow, const DefOp *op, const DefValue *operand, const Axis *col)
{
    DefDim dim = flow_cols(flow, operand);
    bool follows = (dim.name || flow_is_one(col->dim)) && flow_is_one(flow_cols(flow, op->result));

    return flow_is_one(dim) && !follows ? flow->one : col;
}

static bool declares(const Block *block, const char *name, int depth)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *stmt = block->data[i];

        if ((stmt->kind == STMT_PARAM || stmt->kind == STMT_LET) && strcmp(stmt->name, name) == 0)
            return true;
        if (stmt->kind == STMT_IF && depth < 64 &&
            (declares(&stmt->body, name, depth + 1) || declares(&stmt->orelse, name, depth + 1)))
            return true;
    }
    return false;
}

/* A scalar operand, under its name in the source if it has one. */
Operand flow_scalar(Flow *flow, const DefOp *op, int arg)
{
    const DefScalar *scalar = &op->args[arg].scalar;
    const Expr *written = arg < op->stmt->n_args ? op->stmt->args[arg] : NULL;
    double value;

    if (written && written->kind == EXPR_NAME && declares(&flow->def->unit->body, written->name, 0)) {
        bool known = def_const(flow->def, written->name, &value);

        if (scalar->is_const ? known && value == scalar->value
                             : scalar->param && strcmp(scalar->param, written->name) == 0)
            return flow_number(written);
    }
    if (scalar->expr)
        return flow_number(scalar->expr);
    if (scalar->param)
        return flow_number(expr_name(flow->arena, scalar->param));
    return flow_number(expr_float(flow->arena, scalar->value));
}

/* ---- operations -------------------------------------------------------------------------------- */

static Node *tile_load(Flow *flow, DefValue *value, const Axis *row, const Axis *col)
{
    Node *node = flow_node(flow, NODE_LOAD, row, col);

    node->value = value;
    node->name = value->name;
    return flow_finish(flow, node);
}

static Node *new_result(Flow *flow, NodeKind kind, const DefOp *op, const Axis *row, const Axis *col)
{
    Node *node = flow_node(flow, kind, row, col);

    node->value = op->result;
    node->name = op->result->name;
    node->op = op->op;
    return node;
}

static Node *tile_element(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    Node *node = new_result(flow, NODE_OP, op, row, col);

    node->n_args = op->n_args;
    node->has_else = op->has_else;
    node->otherwise = op->otherwise;
    node->cast = op->cast;
    for (int i = 0; i < op->n_args; i++) {
        DefValue *operand = op->args[i].value;

        if (operand && op->args[i].transposed) {
            flow_fail(flow, TW0508, op->result, "%s is transposed outside of a GEMM", operand->name);
            return NULL;
        }
        node->args[i] = operand ? flow_tile_operand(flow_tile(flow, operand, flow_broadcast_rows(flow, op, operand, row),
                                                         flow_broadcast_cols(flow, op, operand, col)))
                                : flow_scalar(flow, op, i);
        if (operand && !node->args[i].node)
            return NULL;
    }
    return flow_finish(flow, node);
}

/* Whether rows and columns of a tile that nothing is copied for would be those of one loop. Beside products whole columns are told
 * apart by theirs. */
static bool is_of_one_loop(const Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    bool known = aff_is_const(col->dim.size, NULL) && (op->reads.len == 0 || flow_has_products(flow));
    bool within = (row->kind == AXIS_STREAM || row->kind == AXIS_WHOLE) && (col->kind == AXIS_STREAM || col->kind == AXIS_WHOLE) &&
                  (row->kind == AXIS_STREAM || col->kind == AXIS_STREAM);

    return within && !known && row->dim.name && col->dim.name && flow_same_dim(row->dim, col->dim);
}

/* MASK, DEFINE: an expression of the element's position. */
static Node *tile_positional(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    Node *node = new_result(flow, NODE_OP, op, row, col);

    for (int i = 0; i < op->reads.len; i++)
        if (op->reads.data[i].value->op) {
            flow_fail(flow, TW0506, op->result, "%s depends on elements of %s, which this kernel would have to "
                      "compute first", op->result->name, op->reads.data[i].name);
            return NULL;
        }
    if (flow_has_products(flow) && flow_looks_up_each(flow, op)) {
        flow_fail(flow, TW0506, op->result, "%s reads elements where other elements say, which differ within the tiles of a "
                  "product", op->result->name);
        return NULL;
    }
    if (op->op == OP_DEFINE && is_of_one_loop(flow, op, row, col)) {
        flow_fail(flow, TW0505, op->result, "%s has as many columns as rows, both called %s, and one loop would be for both", op->result->name, row->dim.name);
        return NULL;
    }
    node->source = op;
    node->has_else = op->has_else;
    node->otherwise = op->otherwise;
    if (op->op == OP_MASK) {
        Node *arg = flow_tile(flow, op->args[0].value, row, col);

        if (!arg)
            return NULL;
        node->args[node->n_args++] = flow_tile_operand(arg);
    }
    return flow_finish(flow, node);
}

static Node *tile_fill(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    Node *node = new_result(flow, NODE_OP, op, row, col);

    for (int i = 0; i < op->n_args; i++)
        if (!op->args[i].value) {
            node->args[0] = flow_scalar(flow, op, i);
            node->n_args = 1;
        }
    return flow_finish(flow, node);
}

/* ---- GEMM ---------------------------------------------------------------------------------------- */

DType flow_operand_dtype(const Def *def, const DefOp *gemm, int operand)
{
    return def_operand_type(def, gemm, operand);
}

static Node *cast_to(Flow *flow, Node *tile, DType dtype)
{
    Node *cast = flow_node(flow, NODE_OP, tile->row, tile->col);

    if (tile->kind == NODE_OP && tile->op == OP_CAST && tile->cast == dtype)
        return tile;
    *cast = (Node){.kind = NODE_OP, .op = OP_CAST, .row = tile->row, .col = tile->col, .cast = dtype,
                   .name = tile->name, .n_args = 1, .place = INT_MAX};
    cast->args[0] = flow_tile_operand(tile);
    return flow_finish(flow, cast);
}

/* A computed operand that must lie in shared memory is rounded and put there. */
static Node *in_shared(Flow *flow, Node *tile, DType dtype)
{
    Node *cast = cast_to(flow, tile, dtype);

    if (!cast)
        return NULL;
    Node *shared = flow_node(flow, NODE_SHARED, tile->row, tile->col);
    shared->name = cast->name;
    shared->args[0] = flow_tile_operand(cast);
    shared->n_args = 1;
    return flow_finish(flow, shared);
}

/* Where the tensor cores read an operand: A from registers or shared memory, B
 * from shared memory. One of fewer bits than the other is widened, one of fp32, an
 * input's or what a kernel left for this one, rounded. */
static Operand gemm_operand(Flow *flow, const DefOp *op, int which, Node *tile)
{
    Operand operand = {.node = tile, .transposed = op->args[which].transposed};
    DType dtype = flow_operand_dtype(flow->def, op, which);

    if (!tile)
        return operand;
    bool loaded = tile->kind == NODE_LOAD;
    if (loaded && (!dtype_is_narrow(tile->value->dtype) || dtype_bytes(tile->value->dtype) < dtype_bytes(dtype))) {
        operand.node = tile = cast_to(flow, tile, dtype);
        loaded = false;
    }
    if (loaded)
        tile->in_shared = true;
    else if (tile && (which == 1 || operand.transposed))
        operand.node = in_shared(flow, tile, dtype);
    return operand;
}

static Node *gemm_tile(Flow *flow, const DefArg *arg, const Axis *row, const Axis *col)
{
    return arg->transposed ? flow_tile(flow, arg->value, col, row) : flow_tile(flow, arg->value, row, col);
}

/* A row of sums, say, which is no tile until it is loaded as one. */
static bool is_single(const Node *computed)
{
    return computed->kind != NODE_LOAD && (computed->row->kind == AXIS_ONE || computed->col->kind == AXIS_ONE);
}

static Node *gemm_node(Flow *flow, NodeKind kind, const DefOp *op, const Axis *row, const Axis *col,
                       Node *a, Node *b)
{
    Node *node = new_result(flow, kind, op, row, col);

    if ((a && is_single(a)) || (b && is_single(b))) {
        flow_fail(flow, TW0508, op->result, "%s is a product with a single %s that is computed; tensor cores multiply tiles",
                  op->result->name, a && is_single(a) ? "row" : "column");
        return NULL;
    }
    node->args[0] = gemm_operand(flow, op, 0, a);
    node->args[1] = gemm_operand(flow, op, 1, b);
    node->n_args = 2;
    if (!node->args[0].node || !node->args[1].node)
        return NULL;
    return flow_finish(flow, node);
}

/* Whether a term can be accumulated beside b in the pass that its gauge is in. */
static bool accumulates(const Term *term, const Node *b)
{
    const Node *gauge = term->tile->gauge;

    return !gauge || (term->tile->level == gauge->level && b->level <= gauge->level);
}

/* fp16 and floats of 8 bits hold far fewer binades than fp32: an operand that is computed, or loaded in fp32,
 * and waits for its factors may be beyond them where the whole product is not. What a
 * gauge weighs is at most some binades above 1. What was loaded in 16 bits is rounded to 8 with its factors, and what is added
 * to it, as the definition has it. */
static bool stays_in_range(const Flow *flow, const DefOp *gemm, const Term *term)
{
    DType dtype = flow_operand_dtype(flow->def, gemm, 0);
    bool as_it_is = term->tile->kind == NODE_LOAD && dtype_is_narrow(term->tile->value->dtype);

    if (as_it_is && dtype_bytes(term->tile->value->dtype) > dtype_bytes(dtype))
        return false;
    return dtype == DT_BF16 || term->n_factors == 0 || as_it_is || term->tile->gauge;
}

static const Form *gemm_form(Flow *flow, const DefOp *op, const Axis *row, const Axis *k, const Node *b)
{
    DefValue *a = op->args[0].value;

    if (op->args[0].transposed)
        return flow_one_term(flow, flow_tile(flow, a, k, row));
    const Form *form = flow_form(flow, a, row, k);
    for (int i = 0; form && i < form->n; i++)
        if (!accumulates(&form->terms[i], b) || !stays_in_range(flow, op, &form->terms[i]))
            return flow_one_term(flow, flow_tile(flow, a, row, k));
    return form;
}

/* The contracted dimension streams: a sum for each term, factors afterwards. */
static Node *gemm_streamed(Flow *flow, const DefOp *op, const Axis *row, const Axis *col, const Axis *k)
{
    Node *parts[FORM_TERMS];
    Node *b = gemm_tile(flow, &op->args[1], k, col);
    const Form *form = b ? gemm_form(flow, op, row, k, b) : NULL;

    if (!form)
        return NULL;
    for (int i = 0; i < form->n; i++) {
        parts[i] = gemm_node(flow, NODE_SUM, op, row, col, form->terms[i].tile, b);
        if (!parts[i])
            return NULL;
    }
    return flow_combine(flow, form, parts, op->result->name);
}

static Node *tile_gemm(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    bool root = row->kind != AXIS_STREAM && col->kind != AXIS_STREAM;
    const Axis *k = flow_contracted(flow, op, root);

    if (row->kind == AXIS_ONE || col->kind == AXIS_ONE) {
        flow_fail(flow, TW0508, op->result, "%s is a product with a single %s; tensor cores multiply tiles",
                  op->result->name, row->kind == AXIS_ONE ? "row" : "column");
        return NULL;
    }
    if (k->kind == AXIS_STREAM)
        return gemm_streamed(flow, op, row, col, k);
    Node *a = gemm_tile(flow, &op->args[0], row, k);
    Node *b = a ? gemm_tile(flow, &op->args[1], k, col) : NULL;
    return b ? gemm_node(flow, NODE_PRODUCT, op, row, col, a, b) : NULL;
}

/* ---- reductions ------------------------------------------------------------------------------------ */

/* The size of a dimension as a scalar. */
static Operand dim_number(Flow *flow, DefDim dim)
{
    return flow_number(flow_dim_expr(flow, dim));
}

static Node *finish_mean(Flow *flow, const DefOp *op, Node *sum)
{
    if (op->op != OP_ROW_MEAN || !sum)
        return sum;
    Operand size = dim_number(flow, flow_cols(flow, op->args[0].value));
    if (size.number)
        return flow_op(flow, OP_DIVIDE, op->result->name, flow_tile_operand(sum), size);
    flow_fail(flow, TW0509, op->result, "the length of a row of %s, which a mean divides by, has no name",
              op->args[0].value->name);
    return NULL;
}

static Node *reduce_node(Flow *flow, NodeKind kind, OpId op, const char *name, Node *tile)
{
    bool columns = op_info(op)->class == OPC_COL_REDUCE;
    Node *node = columns ? flow_node(flow, kind, flow->one, tile->col) : flow_node(flow, kind, tile->row, flow->one);

    node->op = op == OP_ROW_MEAN ? OP_ROW_SUM : op;
    node->name = name;
    node->args[0] = flow_tile_operand(tile);
    node->n_args = 1;
    return flow_finish(flow, node);
}

/* Over the stream that the tile is in; what has a single number there is reduced where it stands. */
static Node *reduce_over_stream(Flow *flow, const DefOp *op, Node *tile)
{
    return reduce_node(flow, tile->stream ? NODE_REDUCE : NODE_OP, op->op, op->result->name, tile);
}

/* A sum over a streamed row: of each term on its own. */
static Node *sum_streamed(Flow *flow, const DefOp *op, const Axis *row, const Axis *k)
{
    Node *parts[FORM_TERMS];
    DefValue *value = op->args[0].value;
    const Form *form = flow_form(flow, value, row, k);

    for (int i = 0; form && i < form->n; i++)
        if (form->terms[i].tile->gauge && form->terms[i].tile->kind != NODE_GAUGE)
            form = flow_one_term(flow, flow_tile(flow, value, row, k));
    for (int i = 0; form && i < form->n; i++) {
        Node *tile = form->terms[i].tile;

        parts[i] = tile->kind == NODE_GAUGE ? flow_state(flow, NODE_STATE_SUM, tile)
                                            : reduce_over_stream(flow, op, tile);
        if (!parts[i])
            return NULL;
    }
    return form ? flow_combine(flow, form, parts, op->result->name) : NULL;
}

static Node *reduce_streamed(Flow *flow, const DefOp *op, const Axis *row, const Axis *k)
{
    DefValue *value = op->args[0].value;

    if (op->op == OP_ROW_SUM || op->op == OP_ROW_MEAN)
        return finish_mean(flow, op, sum_streamed(flow, op, row, k));
    if (op->op == OP_ROW_MAX && flow->facts[value->id].gauge) {
        Node *gauge = flow_gauge(flow, value, row, k);
        return gauge ? flow_state(flow, NODE_STATE_MAX, gauge) : NULL;
    }
    Node *tile = flow_tile(flow, value, row, k);
    return tile ? reduce_over_stream(flow, op, tile) : NULL;
}

static Node *tile_reduce(Flow *flow, const DefOp *op, const Axis *row)
{
    const Axis *k = flow_reduced(flow, op->args[0].value, row->kind != AXIS_STREAM);

    if (op->args[0].transposed) {
        flow_fail(flow, TW0508, op->result, "%s is transposed outside of a GEMM", op->args[0].value->name);
        return NULL;
    }
    if (k->kind == AXIS_STREAM)
        return reduce_streamed(flow, op, row, k);
    Node *tile = flow_tile(flow, op->args[0].value, row, k);
    return tile ? finish_mean(flow, op, reduce_node(flow, NODE_OP, op->op, op->result->name, tile)) : NULL;
}

/* A reduction of columns: its rows are streamed. */
static Node *tile_columns(Flow *flow, const DefOp *op, const Axis *col)
{
    DefValue *value = op->args[0].value;

    if (op->args[0].transposed) {
        flow_fail(flow, TW0508, op->result, "%s is transposed outside of a GEMM", value->name);
        return NULL;
    }
    if (flow_is_one(flow_rows(flow, value)) && !flow_rows(flow, value).name) {
        Node *row = flow_tile(flow, value, flow->one, col);
        return row ? reduce_node(flow, NODE_OP, op->op, op->result->name, row) : NULL;
    }
    Node *tile = flow_tile(flow, value, flow_axis(flow, AXIS_STREAM, flow_rows(flow, value)), col);
    return tile ? reduce_over_stream(flow, op, tile) : NULL;
}

/* ---- softmax, exactly --------------------------------------------------------------------------------- */

/* exp(x - max) / sum. The maximum of a row of nothing but -inf counts as the
 * lowest score, so that its elements become 0 and not NaN. */
static Node *softmax_of(Flow *flow, const DefOp *op, Node *x, Node *max, Node *sum)
{
    const char *name = op->result->name;
    Expr *lowest = expr_float(flow->arena, -1e30);
    Node *from = max ? flow_op(flow, OP_MAX, max->name, flow_tile_operand(max), flow_number(lowest)) : NULL;
    Node *shifted = from ? flow_op(flow, OP_SUBTRACT, name, flow_tile_operand(x), flow_tile_operand(from)) : NULL;
    Node *e = shifted ? flow_op(flow, OP_EXP, name, flow_tile_operand(shifted), (Operand){0}) : NULL;

    if (e && !sum)
        sum = reduce_node(flow, NODE_OP, OP_ROW_SUM, arena_printf(flow->arena, "%ssum", name), e);
    if (!e || !sum)
        return NULL;
    Node *p = new_result(flow, NODE_OP, op, e->row, e->col);
    p->op = OP_DIVIDE;
    p->has_else = true;
    p->args[0] = flow_tile_operand(e);
    p->args[1] = flow_tile_operand(sum);
    p->n_args = 2;
    return flow_finish(flow, p);
}

static Node *tile_softmax(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    DefValue *value = op->args[0].value;
    Node *x = flow_tile(flow, value, row, col);

    if (!x)
        return NULL;
    if (col->kind == AXIS_COLS || col->kind == AXIS_ROWS) {
        flow_fail(flow, TW0504, op->result, "softmax of %s needs whole rows, which are tiled over blocks",
                  value->name);
        return NULL;
    }
    if (col->kind != AXIS_STREAM) {
        Node *max = reduce_node(flow, NODE_OP, OP_ROW_MAX, arena_printf(flow->arena, "%smax", op->result->name), x);
        return softmax_of(flow, op, x, max, NULL);
    }
    Node *gauge = flow_gauge(flow, value, row, col);
    if (!gauge)
        return NULL;
    return softmax_of(flow, op, x, flow_state(flow, NODE_STATE_MAX, gauge),
                      flow_state(flow, NODE_STATE_SUM, gauge));
}

/* ---- values ------------------------------------------------------------------------------------------- */

/* A name that two of a value's dimensions have; NULL: none. */
static const char *name_twice(const DefValue *value)
{
    for (int i = 0; i < value->rank; i++)
        for (int k = 0; k < i; k++)
            if (value->dims[i].name && value->dims[k].name && strcmp(value->dims[i].name, value->dims[k].name) == 0)
                return value->dims[i].name;
    return NULL;
}

/* What spell.c left. */
static Node *no_spelling(Flow *flow, const DefOp *op)
{
    const DefValue *operand = op->args[0].value;
    const DefValue *value = operand && name_twice(operand) ? operand : op->result;
    const char *twice = name_twice(value);

    if (twice) {
        Diag *named = flow_fail(flow, TW0519, op->result, "%s has two dimensions called %s, so that no coordinate could say which of them %s means",
                                value->name, twice, op_info(op->op)->name);
        diag_note(flow->diags, named, "give one of them a name of its own, as %s2, in the Input and in what is made of it: sizes may be "
                                      "equal under two names", twice);
        return NULL;
    }
    Diag *diag = flow_fail(flow, TW0519, op->result, "%s is computed by %s, of which no tile operations are known here",
                           op->result->name, op_info(op->op)->name);

    diag_note(flow->diags, diag, "its elements are read by their coordinates: leading dimensions take a name each, and "
                                 "sizes that are numbers or made of dimensions");
    return NULL;
}

static Node *tile_of_op(Flow *flow, const DefOp *op, const Axis *row, const Axis *col)
{
    switch (op_info(op->op)->class) {
    case OPC_ELEMENT:
    case OPC_CAST:
        return tile_element(flow, op, row, col);
    case OPC_MASK:
    case OPC_DEFINE:
        return tile_positional(flow, op, row, col);
    case OPC_FILL:
        return tile_fill(flow, op, row, col);
    case OPC_ROW_REDUCE:
        return tile_reduce(flow, op, row);
    case OPC_SOFTMAX:
        return tile_softmax(flow, op, row, col);
    case OPC_GEMM:
        return tile_gemm(flow, op, row, col);
    case OPC_COL_REDUCE:
        return tile_columns(flow, op, col);
    case OPC_GROUP_REDUCE:
    case OPC_REARRANGE:
    case OPC_SELECT:
        return no_spelling(flow, op);
    }
    return NULL;
}

Node *flow_tile(Flow *flow, DefValue *value, const Axis *row, const Axis *col)
{
    const Form *found = flow_recall(flow, value, row, col, false);

    if (found)
        return found->terms[0].tile;
    if (!flow_enter(flow, value))
        return NULL;
    Node *node = value->op ? tile_of_op(flow, value->op, row, col) : tile_load(flow, value, row, col);
    flow->depth--;
    if (node)
        flow_remember(flow, value, row, col, false, flow_one_term(flow, node));
    return node;
}

/* ---- outputs ------------------------------------------------------------------------------------------- */

static const Axis *output_cols(Flow *flow, const DefValue *output)
{
    DefDim dim = flow_cols(flow, output);

    if (flow_same_dim(dim, flow->cols->dim))
        return flow->cols;
    if (flow_is_one(dim))
        return flow->one;
    if (flow_is_small(flow, dim))
        return flow_axis(flow, AXIS_WHOLE, dim);
    if (flow_is_streamed(flow, dim) && flow->cols->kind != AXIS_COLS)
        return flow_axis(flow, AXIS_STREAM, dim); /* each turn stores its tile, once for all columns of the others */
    flow_fail(flow, TW0502, output, "the last dimension of output %s is neither that of the others nor small",
              output->name);
    return NULL;
}

/* What columns come to stands behind the loop over rows. */
static const Axis *output_rows(const Flow *flow, const DefValue *output)
{
    DefDim dim = flow_rows(flow, output);

    return flow->rows->kind == AXIS_STREAM && output->rank > 1 && flow_is_one(dim) && !dim.name ? flow->one : flow->rows;
}

bool flow_build(Flow *flow)
{
    for (int i = 0; i < flow->def->outputs.len; i++) {
        DefValue *output = flow->def->outputs.data[i];
        const Axis *col = output_cols(flow, output);
        Node *tile = col ? flow_tile(flow, output, output_rows(flow, output), col) : NULL;

        if (!tile)
            return false;
        Node *store = flow_node(flow, NODE_STORE, tile->row, tile->col);
        store->value = output;
        store->name = output->name;
        store->args[0] = flow_tile_operand(tile);
        store->n_args = 1;
        store = flow_finish(flow, store);
        if (!store)
            return false;
        vec_push(flow->arena, &flow->stores, store);
    }
    return true;
}
