/* split.c: several kernels, where one would leave most of the GPU idle.
 *
 * Every loop ends in reductions, and what a reduction needs of its stream can be
 * had in parts: each block does one part and leaves what it has in a workspace,
 * in fp32; a later kernel combines the parts, as its own loop over them.
 *
 *   a sum, of rows or of a GEMM     the parts added
 *   a maximum, a minimum            the largest, the smallest part
 *   made of a gauge                 parts added, each times exp(its maximum - the maximum of all)
 *
 *   Kernel f                               Kernel f_combine
 *     Grid over q_len, heads, splits         Grid over q_len, heads
 *     for j over kv_len by splits            for s over splits
 *       ...                                    Copy Smax_parts from global to register
 *     end                                      Compute Max Smax, Smax_parts and get new Smax
 *     Copy O_parts from register to global   ...
 *
 * There is a kernel for every level that has loops; it combines what the levels
 * before it left. What stands outside of loops is stored by the last kernel of
 * all. A kernel's blocks are spread over the rows and columns that what it stores
 * has; what has others is another kernel's. Vocabulary:
 *   parts    the axis along which the parts lie in a workspace
 *   piece    a kernel in the making: a flow of its own, into which nodes are carried
 */
#include "fuse/flow.h"

#include "data/tensor.h"

#include <limits.h>

/* A reduction and where its parts are kept. */
typedef struct Kept {
    const Node *node;
    DefValue *workspace;
} Kept;

typedef struct Splitter {
    Flow *flow;
    const Axis *parts;
    VEC(Kept) kept;
    Program *program;
    int rests; /* kernels that only combine */
} Splitter;

/* The axes that blocks are spread over. */
typedef struct Spread {
    bool rows, cols;
} Spread;

static const Spread spreads[] = {{true, true}, {true, false}, {false, true}, {false, false}};

static Spread spread_of(const Node *node)
{
    return (Spread){node->row->kind == AXIS_ROWS || node->col->kind == AXIS_ROWS,
                    node->row->kind == AXIS_COLS || node->col->kind == AXIS_COLS};
}

typedef struct Piece {
    Splitter *s;
    Flow flow;
    int level;    /* of the loops that it does; -1: all that its stores need */
    Spread spread;
    int base;     /* level of its stream's nodes */
    Node **made;  /* by id in the whole flow */
    int n_made;
} Piece;

/* ---- workspaces -------------------------------------------------------------------- */

static DefValue *find_kept(const Splitter *s, const Node *node)
{
    for (int i = 0; i < s->kept.len; i++)
        if (s->kept.data[i].node == node)
            return s->kept.data[i].workspace;
    return NULL;
}

static bool name_in_use(const Splitter *s, const char *name)
{
    for (int i = 0; i < s->kept.len; i++)
        if (strcmp(s->kept.data[i].workspace->name, name) == 0)
            return true;
    return flow_reserves(s->flow, name);
}

static const char *workspace_name(const Splitter *s, const Node *node)
{
    const char *name = arena_printf(s->flow->arena, "%s_parts", node->name);

    for (int i = 2; name_in_use(s, name); i++)
        name = arena_printf(s->flow->arena, "%s_parts%d", node->name, i);
    return name;
}

/* (splits, leading dimensions of the outputs, rows, columns) */
static void keep(Splitter *s, const Node *node)
{
    const DefValue *output = s->flow->def->outputs.data[0];
    DefValue *workspace;

    if (find_kept(s, node))
        return;
    workspace = arena_new_of(s->flow->arena, DefValue);
    workspace->name = workspace_name(s, node);
    workspace->dtype = DT_F32;
    workspace->id = s->flow->def->values.len + s->kept.len;
    workspace->dims[workspace->rank++] = s->parts->dim;
    for (int d = 0; d < output->rank - 2; d++)
        workspace->dims[workspace->rank++] = output->dims[d];
    workspace->dims[workspace->rank++] = node->row->dim;
    workspace->dims[workspace->rank++] = node->col->dim;
    for (int d = 0; d < workspace->rank; d++)
        if (!flow_dim_expr(s->flow, workspace->dims[d])) {
            flow_fail(s->flow, TW0509, NULL, "a dimension of %s has no name, and %s would be kept in parts",
                      aff_text(s->flow->arena, workspace->dims[d].size), node->name);
            return;
        }
    vec_push(s->flow->arena, &s->kept, (Kept){node, workspace});
}

/* ---- combining ------------------------------------------------------------------------- */

/* All parts of a workspace, one in each turn of a loop over them. */
static Node *load_parts(Piece *p, const Node *node)
{
    DefValue *workspace = find_kept(p->s, node);
    Node *load = flow_node(&p->flow, NODE_LOAD, node->row, node->col);

    load->value = workspace;
    load->name = workspace->name;
    load->stream = p->s->parts;
    for (int i = 0; i < p->flow.workspaces.len; i++)
        if (p->flow.workspaces.data[i] == workspace)
            return flow_finish(&p->flow, load);
    vec_push(p->flow.arena, &p->flow.workspaces, workspace);
    return flow_finish(&p->flow, load);
}

static Node *combine(Piece *p, OpId step, const char *name, Node *part)
{
    Node *node = part ? flow_node(&p->flow, NODE_COMBINE, part->row, part->col) : NULL;

    if (!node)
        return NULL;
    node->op = step;
    node->name = name;
    node->args[0] = flow_tile_operand(part);
    node->n_args = 1;
    return flow_finish(&p->flow, node);
}

static Node *combined(Piece *p, Node *node);

/* exp(the part's maximum - the maximum of all): 0 where the part saw nothing. */
static Node *weight_of(Piece *p, const Node *gauge)
{
    Flow *whole = p->s->flow, *f = &p->flow;
    Node *state = flow_state(whole, NODE_STATE_MAX, (Node *)gauge);
    Node *max = combined(p, state), *part = load_parts(p, state);
    Operand lowest = flow_number(expr_float(f->arena, -1e30));
    Node *from, *shift;

    if (!max || !part)
        return NULL;
    from = flow_op(f, OP_MAX, max->name, flow_tile_operand(max), lowest);
    if (!from)
        return NULL;
    shift = flow_op(f, OP_SUBTRACT, arena_printf(f->arena, "%s_weight", gauge->name), flow_tile_operand(part),
                    flow_tile_operand(from));
    return shift ? flow_op(f, OP_EXP, shift->name, flow_tile_operand(shift), (Operand){0}) : NULL;
}

static Node *weighted(Piece *p, Node *node, const Node *gauge)
{
    Node *part = load_parts(p, node), *weight = weight_of(p, gauge);

    if (!part || !weight)
        return NULL;
    return flow_op(&p->flow, OP_MULTIPLY, part->name, flow_tile_operand(part), flow_tile_operand(weight));
}

/* The gauge that a reduction sums in the units of; NULL: none. */
static const Node *gauge_of(const Node *node)
{
    return node->kind == NODE_STATE_SUM || node->kind == NODE_SUM ? node->args[0].node->gauge : NULL;
}

static OpId step_of(const Node *node)
{
    if (node->kind == NODE_STATE_MAX || (node->kind == NODE_REDUCE && (node->op == OP_ROW_MAX || node->op == OP_COL_MAX)))
        return OP_MAX;
    return node->kind == NODE_REDUCE && node->op == OP_ROW_MIN ? OP_MIN : OP_ADD;
}

/* A reduction of an earlier kernel, of all its parts. */
static Node *combined(Piece *p, Node *node)
{
    const Node *gauge = gauge_of(node);

    return combine(p, step_of(node), node->name, gauge ? weighted(p, node, gauge) : load_parts(p, node));
}

/* ---- carrying nodes into a piece --------------------------------------------------------- */

static Node *carry(Piece *p, Node *node);

static bool carry_operands(Piece *p, Node *copy)
{
    for (int k = 0; k < copy->n_args; k++) {
        if (!copy->args[k].node)
            continue;
        copy->args[k].node = carry(p, copy->args[k].node);
        if (!copy->args[k].node)
            return false;
    }
    return true;
}

/* In this piece, all that its loops hold is of one pass. */
static void set_level(const Piece *p, const Node *from, Node *node)
{
    if (p->level < 0)
        return;
    if (flow_reduces(from))
        node->level = p->base + 1;
    else if (node->stream)
        node->level = p->base;
}

static Node *carry_new(Piece *p, Node *node)
{
    Node *copy = arena_new_of(p->flow.arena, Node);

    if (flow_reduces(node) && node->level <= p->level)
        return combined(p, node);
    *copy = *node;
    copy->level = copy->uses = 0;
    copy->stream = NULL;
    copy->place = INT_MAX;
    copy->spelled = NULL;
    if (!carry_operands(p, copy))
        return NULL;
    if (node->gauge && node->gauge != node)
        copy->gauge = carry(p, (Node *)node->gauge);
    copy = flow_finish(&p->flow, copy);
    if (copy && node->gauge == node)
        copy->gauge = copy;
    if (copy)
        set_level(p, node, copy);
    return copy;
}

static Node *carry(Piece *p, Node *node)
{
    if (node->id < p->n_made && p->made[node->id])
        return p->made[node->id];
    Node *made = carry_new(p, node);
    if (node->id < p->n_made)
        p->made[node->id] = made;
    return made;
}

/* What stands outside of a loop and is needed in it. */
static bool carry_outside(Piece *p, const Loop *loop)
{
    for (int i = 0; i < loop->body.len; i++) {
        const Node *node = loop->body.data[i];

        for (int k = 0; k < node->n_args; k++) {
            Node *arg = node->args[k].node;

            if (arg && !arg->stream && !carry(p, arg))
                return false;
            if (arg && !arg->stream && p->made[arg->id]->level > p->base)
                p->base = p->made[arg->id]->level;
        }
    }
    return true;
}

/* Whether what a node leaves behind is this piece's. */
static bool belongs(const Piece *p, const Node *node)
{
    Spread spread = spread_of(node);

    return (flow_reduces(node) || node->kind == NODE_STORE) && spread.rows == p->spread.rows &&
           spread.cols == p->spread.cols;
}

static bool store_parts(Piece *p, const Node *node)
{
    Node *tile = carry(p, (Node *)node);

    if (!tile)
        return false;
    tile->name = find_kept(p->s, node)->name;
    Node *store = flow_node(&p->flow, NODE_STORE, tile->row, tile->col);
    store->value = find_kept(p->s, node);
    store->name = store->value->name;
    store->args[0] = flow_tile_operand(tile);
    store->n_args = 1;
    store = flow_finish(&p->flow, store);
    if (!store)
        return false;
    vec_push(p->flow.arena, &p->flow.workspaces, store->value);
    vec_push(p->flow.arena, &p->flow.stores, store);
    return true;
}

static bool carry_store(Piece *p, Node *node)
{
    Node *store = carry(p, node);

    if (store)
        vec_push(p->flow.arena, &p->flow.stores, store);
    return store != NULL;
}

/* The loop's reductions to their workspaces, its stores as they are. */
static bool carry_loop(Piece *p, const Loop *loop)
{
    for (int i = 0; i < loop->body.len; i++) {
        Node *node = loop->body.data[i];

        if (belongs(p, node) && !(flow_reduces(node) ? store_parts(p, node) : carry_store(p, node)))
            return false;
    }
    return true;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void piece_init(Piece *p, Splitter *s, int level, Spread spread)
{
    const Flow *whole = s->flow;

    *p = (Piece){.s = s, .level = level, .spread = spread, .n_made = whole->nodes.len};
    p->made = arena_array(whole->arena, Node *, whole->nodes.len);
    p->flow = (Flow){.arena = whole->arena, .syms = whole->syms, .def = whole->def, .diags = whole->diags,
                     .one = whole->one, .rows = whole->rows, .cols = whole->cols, .parts = s->parts,
                     .cols_alias_of = whole->cols_alias_of, .same_rows = !spread.rows, .same_cols = !spread.cols};
    for (int i = 0; i < whole->axes.len; i++)
        vec_push(whole->arena, &p->flow.axes, whole->axes.data[i]);
    if (s->parts)
        vec_push(whole->arena, &p->flow.axes, (Axis *)s->parts);
    for (int i = 0; i < whole->workspaces.len; i++)
        vec_push(whole->arena, &p->flow.workspaces, whole->workspaces.data[i]);
}

static bool piece_write(Piece *p)
{
    Unit *unit = p->flow.failed ? NULL : flow_write(&p->flow, flow_order(&p->flow));

    if (!unit)
        return false;
    vec_push(p->flow.arena, &p->s->program->units, unit);
    return true;
}

static bool has_work(const Piece *p, const Loop *loop)
{
    for (int i = 0; i < loop->body.len; i++)
        if (belongs(p, loop->body.data[i]))
            return true;
    return false;
}

/* A kernel of a level's loops. */
static bool write_level(Splitter *s, const Order *order, int level, Spread spread)
{
    const char *name = s->flow->def->unit->name;
    Piece p;
    bool any = false;

    piece_init(&p, s, level, spread);
    p.flow.shared_loops = true;
    p.flow.kernel = s->program->units.len ? arena_printf(s->flow->arena, "%s_%d", name, s->program->units.len + 1)
                                          : name;
    for (int i = 0; i < order->loops.len; i++)
        if (order->loops.data[i].level == level && has_work(&p, &order->loops.data[i])) {
            any = true;
            if (!carry_outside(&p, &order->loops.data[i]))
                return false;
        }
    for (int i = 0; any && i < order->loops.len; i++)
        if (order->loops.data[i].level == level && !carry_loop(&p, &order->loops.data[i]))
            return false;
    return !any || piece_write(&p);
}

/* A last kernel: what is stored outside of loops. */
static bool write_rest(Splitter *s, Spread spread)
{
    const char *name = s->flow->def->unit->name;
    Piece p;

    piece_init(&p, s, INT_MAX, spread);
    p.flow.kernel = arena_printf(s->flow->arena, s->rests ? "%s_combine%d" : "%s_combine", name, s->rests + 1);
    for (int i = 0; i < s->flow->stores.len; i++) {
        Node *store = s->flow->stores.data[i];

        if (!store->stream && belongs(&p, store) && !carry_store(&p, store))
            return false;
    }
    if (p.flow.stores.len == 0)
        return true;
    s->rests++;
    return piece_write(&p);
}

/* ---- outputs that blocks are not spread over alike ---------------------------------------------- */

bool flow_stores_differ(const Flow *flow)
{
    for (int i = 1; i < flow->stores.len; i++) {
        Spread a = spread_of(flow->stores.data[0]), b = spread_of(flow->stores.data[i]);

        if (a.rows != b.rows || a.cols != b.cols)
            return true;
    }
    return false;
}

static bool write_apart(Splitter *s, Spread spread)
{
    const char *name = s->flow->def->unit->name;
    Piece p;

    piece_init(&p, s, -1, spread);
    p.flow.kernel = s->program->units.len ? arena_printf(s->flow->arena, "%s_%d", name, s->program->units.len + 1)
                                          : name;
    for (int i = 0; i < s->flow->stores.len; i++)
        if (belongs(&p, s->flow->stores.data[i]) && !carry_store(&p, s->flow->stores.data[i]))
            return false;
    return p.flow.stores.len == 0 || piece_write(&p);
}

Program *flow_apart(Flow *flow)
{
    Splitter s = {.flow = flow, .program = arena_new_of(flow->arena, Program)};

    for (size_t i = 0; i < TW_COUNT(spreads) && !flow->failed; i++)
        if (!write_apart(&s, spreads[i]))
            return NULL;
    return flow->failed ? NULL : s.program;
}

/* ---- the program -------------------------------------------------------------------------------- */

/* A gauge's units are its maximum, so that is always kept. */
static bool keep_states(Flow *flow)
{
    for (int i = 0, n = flow->nodes.len; i < n; i++) {
        Node *node = flow->nodes.data[i];

        if (node->kind == NODE_GAUGE &&
            (!flow_state(flow, NODE_STATE_MAX, node) || !flow_state(flow, NODE_STATE_SUM, node)))
            return false;
    }
    return true;
}

static bool holds(const Loop *loop, const Node *node)
{
    for (int i = 0; i < loop->body.len; i++)
        if (loop->body.data[i] == node)
            return true;
    return false;
}

static void keep_all(Splitter *s, Order *order)
{
    for (int i = 0; i < order->loops.len; i++) {
        Loop *loop = &order->loops.data[i];

        for (int k = 0; k < loop->body.len && !s->flow->failed; k++) {
            const Node *node = loop->body.data[k], *gauge = gauge_of(node);
            Node *max = gauge ? flow_state(s->flow, NODE_STATE_MAX, (Node *)gauge) : NULL;

            if (flow_reduces(node))
                keep(s, node);
            if (max && !holds(loop, max))
                vec_push(s->flow->arena, &loop->body, max);
        }
    }
}

static const Axis *parts_axis(Flow *flow, int parts)
{
    Axis *axis = arena_new_of(flow->arena, Axis);

    *axis = (Axis){.kind = AXIS_STREAM, .id = flow->axes.len,
                   .dim = {aff_const(flow->def->aff, parts), flow_fresh(flow, "splits")}};
    axis->var = flow_fresh(flow, "s");
    return axis;
}

Program *flow_split(Flow *flow, int parts)
{
    Splitter s = {.flow = flow, .program = arena_new_of(flow->arena, Program)};

    if (!keep_states(flow) || !flow_name_axes(flow))
        return NULL;
    flow_name_loops(flow);
    s.parts = parts_axis(flow, parts);
    Order *order = flow_order(flow);
    if (order->loops.len == 0 || flow->def->outputs.data[0]->rank + 1 > TENSOR_MAX_RANK) {
        flow_fail(flow, TW0520, NULL, order->loops.len ? "%s has too many dimensions for one more, of the parts"
                                                       : "%s has no loop to cut into parts",
                  flow->def->unit->name);
        return NULL;
    }
    keep_all(&s, order);
    for (int level = 0; level <= order->levels && !flow->failed; level++)
        for (size_t i = 0; i < TW_COUNT(spreads); i++)
            if (!write_level(&s, order, level, spreads[i]))
                return NULL;
    for (size_t i = 0; i < TW_COUNT(spreads) && !flow->failed; i++)
        if (!write_rest(&s, spreads[i]))
            return NULL;
    return flow->failed ? NULL : s.program;
}
