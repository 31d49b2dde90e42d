/* axes.c: which dimensions are tiled over blocks, streamed by a loop, or kept whole.
 *
 *   rows of the outputs        tiled over blocks
 *   leading dimensions         one block each
 *   last dimension             tiled over blocks too, if that repeats no GEMM;
 *                              streamed, if rows are reduced along it and it is
 *                              not small; else whole
 *   contracted by a GEMM       streamed; whole within another stream, and where
 *                              tiles of it would repeat a GEMM's work
 *   reduced along rows         whole where small and nothing streams it; else streamed
 */
#include "fuse/flow.h"

/* Elements of a row that a tile holds in registers: of a warp, beside the fragments
 * of products; and of a block, where there are none, shared by the tensors of such
 * rows. */
enum { SMALL = 256, SMALL_OF_BLOCK = 32768 };

/* Columns that blocks may be spread over although each computes the same products:
 * few blocks do so then. */
enum { MOST_REPEATED = 512 };

bool flow_same_dim(DefDim a, DefDim b)
{
    return a.size == b.size && (!a.name || !b.name || strcmp(a.name, b.name) == 0);
}

bool flow_same_rows(const DefValue *a, const DefValue *b)
{
    bool same = a->rank == b->rank && (a->rank < 2 || flow_same_dim(a->dims[a->rank - 2], b->dims[b->rank - 2]));

    for (int d = 0; same && d < a->rank - 1; d++)
        same = a->dims[d].size == b->dims[d].size;
    return same;
}

bool flow_is_one(DefDim dim)
{
    int64_t size;
    return aff_is_const(dim.size, &size) && size == 1;
}

static bool is_at_most(DefDim dim, int64_t most)
{
    int64_t size;
    return aff_is_const(dim.size, &size) && size <= most;
}

/* How long a row may be to be whole in registers. */
static int64_t longest_row(const Def *def, DefDim dim)
{
    int tensors = 0;

    for (int i = 0; i < def->ops.len; i++)
        if (def->ops.data[i]->op == OP_GEMM)
            return SMALL;
    for (int i = 0; i < def->inputs.len; i++) {
        const DefValue *v = def->inputs.data[i];

        tensors += v->rank > 1 && flow_same_dim(v->dims[v->rank - 1], dim);
    }
    return SMALL_OF_BLOCK / (tensors < 2 ? 2 : tensors);
}

bool flow_is_small(const Flow *flow, DefDim dim)
{
    return is_at_most(dim, longest_row(flow->def, dim));
}

static DefDim dim_from_end(const Flow *flow, const DefValue *value, int back)
{
    if (value->rank >= back)
        return value->dims[value->rank - back];
    return (DefDim){aff_const(flow->def->aff, 1), NULL};
}

DefDim flow_rows(const Flow *flow, const DefValue *value)
{
    return dim_from_end(flow, value, 2);
}

DefDim flow_cols(const Flow *flow, const DefValue *value)
{
    return dim_from_end(flow, value, 1);
}

const Axis *flow_axis(Flow *flow, AxisKind kind, DefDim dim)
{
    for (int i = 0; i < flow->axes.len; i++) {
        Axis *axis = flow->axes.data[i];

        if (axis->kind == kind && (kind == AXIS_ONE || flow_same_dim(axis->dim, dim))) {
            if (!axis->dim.name)
                axis->dim.name = dim.name;
            return axis;
        }
    }
    Axis *axis = arena_new_of(flow->arena, Axis);
    *axis = (Axis){.kind = kind, .dim = dim, .id = flow->axes.len};
    vec_push(flow->arena, &flow->axes, axis);
    return axis;
}

/* ---- facts of values ------------------------------------------------------------ */

/* The dimension that a GEMM contracts, as A or B names it. */
static DefDim contracted(const Flow *flow, const DefOp *gemm)
{
    const DefArg *a = &gemm->args[0], *b = &gemm->args[1];
    DefDim of_a = a->transposed ? flow_rows(flow, a->value) : flow_cols(flow, a->value);
    DefDim of_b = b->transposed ? flow_cols(flow, b->value) : flow_rows(flow, b->value);

    return of_a.name ? of_a : of_b;
}

static void facts_of_op(Flow *flow, const DefOp *op)
{
    ValueFacts *facts = &flow->facts[op->result->id];
    const DefValue *first = op->args[0].value;

    facts->splits = true;
    facts->gemm = op->op == OP_GEMM;
    for (int i = 0; i < op->n_args; i++)
        if (op->args[i].value) {
            facts->gemm |= flow->facts[op->args[i].value->id].gemm;
            facts->splits &= flow->facts[op->args[i].value->id].splits;
            facts->columns |= flow->facts[op->args[i].value->id].columns;
        }
    facts->columns |= op_info(op->op)->class == OPC_COL_REDUCE;
    if (op->op == OP_GEMM)
        facts->splits = !flow->facts[first->id].gemm || is_at_most(contracted(flow, op), SMALL);
    if (op->op == OP_SOFTMAX)
        flow->facts[first->id].gauge = true;
    if (op->op == OP_EXP && first && first->op && first->op->op == OP_SUBTRACT) {
        const DefValue *x = first->op->args[0].value, *c = first->op->args[1].value;

        if (x && c && flow_is_one(flow_cols(flow, c)))
            flow->facts[x->id].gauge = true;
    }
}

static void find_facts(Flow *flow)
{
    int n = 0;

    for (int i = 0; i < flow->def->values.len; i++)
        if (flow->def->values.data[i]->id >= n)
            n = flow->def->values.data[i]->id + 1;
    flow->facts = arena_array(flow->arena, ValueFacts, n);
    for (int i = 0; i < flow->def->inputs.len; i++)
        flow->facts[flow->def->inputs.data[i]->id].splits = true;
    for (int i = 0; i < flow->def->ops.len; i++)
        facts_of_op(flow, flow->def->ops.data[i]);
}

/* ---- axes of operations ------------------------------------------------------------ */

const Axis *flow_contracted(Flow *flow, const DefOp *gemm, bool root)
{
    DefDim dim = contracted(flow, gemm);
    const ValueFacts *a = &flow->facts[gemm->args[0].value->id];
    bool whole = !root || (a->gemm && !a->splits);

    return flow_axis(flow, whole ? AXIS_WHOLE : AXIS_STREAM, dim);
}

bool flow_is_streamed(const Flow *flow, DefDim dim)
{
    for (int i = 0; i < flow->streamed.len; i++)
        if (flow_same_dim(flow->streamed.data[i], dim))
            return true;
    return false;
}

const Axis *flow_reduced(Flow *flow, const DefValue *value, bool root)
{
    DefDim dim = flow_cols(flow, value);

    if (flow_is_one(dim) && !dim.name)
        return flow->one;
    if (flow->cols && flow->cols->kind == AXIS_WHOLE && flow_same_dim(dim, flow->cols->dim))
        return flow->cols;
    bool whole = !root || (flow_is_small(flow, dim) && !flow_is_streamed(flow, dim));
    return flow_axis(flow, whole ? AXIS_WHOLE : AXIS_STREAM, dim);
}

/* ---- from the outputs down ------------------------------------------------------------ */

typedef struct Walk {
    Flow *flow;
    DefDim last;   /* the outputs' last dimension */
    bool reduced;  /* rows are reduced along it */
    bool deep;     /* a stream that computes GEMMs gives the outputs */
    bool chained;  /* so does a GEMM of a whole computed operand */
    int depth;
} Walk;

static void walk_value(Walk *w, DefValue *value);

static void walk_gemm(Walk *w, const DefOp *op)
{
    const Axis *k = flow_contracted(w->flow, op, true);

    if (k->kind == AXIS_STREAM) {
        vec_push(w->flow->arena, &w->flow->streamed, k->dim);
        w->deep |= w->flow->facts[op->args[0].value->id].gemm;
    } else {
        w->chained = true;
        walk_value(w, op->args[0].value);
    }
}

/* Visits what is computed outside of streams, as far as that is certain. */
static void walk_value(Walk *w, DefValue *value)
{
    const DefOp *op = value->op;

    if (!op || w->flow->facts[value->id].visited || w->depth > FLOW_DEPTH)
        return;
    w->flow->facts[value->id].visited = true;
    w->depth++;
    OpClass class = op_info(op->op)->class;
    if (class == OPC_GEMM) {
        walk_gemm(w, op);
    } else if (class == OPC_ROW_REDUCE || class == OPC_SOFTMAX) {
        DefDim dim = flow_cols(w->flow, op->args[0].value);

        w->reduced |= flow_same_dim(dim, w->last);
        if (flow_is_small(w->flow, dim) || flow_same_dim(dim, w->last))
            walk_value(w, op->args[0].value);
    } else {
        for (int i = 0; i < op->n_args; i++)
            if (op->args[i].value)
                walk_value(w, op->args[i].value);
    }
    w->depth--;
}

/* Whether some product of what products made sums along it. */
static bool is_contracted(const Flow *flow, DefDim dim)
{
    for (int i = 0; i < flow->def->ops.len; i++) {
        const DefOp *op = flow->def->ops.data[i];

        if (op->op == OP_GEMM && flow->facts[op->args[0].value->id].gemm && flow_same_dim(contracted(flow, op), dim))
            return true;
    }
    return false;
}

/* One row, beside an output of more: blocks of its columns have it anyway, where that takes what columns come to. */
static bool is_row_beside(const Flow *flow, const DefValue *first, const DefValue *output)
{
    bool same = output->rank == first->rank && flow->facts[first->id].columns && flow_is_one(flow_rows(flow, output));

    for (int d = 0; same && d < output->rank - 2; d++)
        same = output->dims[d].size == first->dims[d].size;
    return same && flow_same_dim(flow_cols(flow, output), flow_cols(flow, first));
}

/* Whose columns are those of blocks, or tiles; of an output beside it whose columns are summed along, loops store the tiles. */
static DefValue *main_output(const Flow *flow)
{
    DefValue *first = NULL;

    for (int i = 0; i < flow->def->outputs.len; i++) {
        DefValue *output = flow->def->outputs.data[i], *other = flow->def->outputs.data[0];

        if (flow_is_one(flow_rows(flow, other)) && !flow_is_one(flow_rows(flow, output)) && is_row_beside(flow, output, other))
            return output;
    }

    for (int i = 0; i < flow->def->outputs.len; i++) {
        DefValue *output = flow->def->outputs.data[i];
        DefDim dim = flow_cols(flow, output);

        if (flow_is_one(dim))
            continue;
        if (!is_contracted(flow, dim))
            return output;
        first = first ? first : output;
    }
    return first ? first : flow->def->outputs.data[0];
}

/* Whether columns of the one, one as it happens, go along what are rows of the other: as (1, L) beside (L, M). */
static bool is_across(const Flow *flow, const DefValue *a, const DefValue *b)
{
    DefDim cols = flow_cols(flow, a), own = flow_rows(flow, a), rows = flow_rows(flow, b);

    return flow_is_one(cols) && cols.name && rows.name && strcmp(cols.name, rows.name) == 0 && !(own.name && strcmp(own.name, rows.name) == 0);
}

/* Whether products have rows of one, as it happens, in some of the outputs by a name: tiles go by that, and others' rows have none. */
static bool is_one_by_name(const Flow *flow, const DefValue *a, const DefValue *b)
{
    DefDim one = flow_rows(flow, a), other = flow_rows(flow, b);

    return def_multiplies(flow->def) && flow_is_one(one) && flow_is_one(other) && !one.name != !other.name;
}

static bool check_output(Flow *flow, const DefValue *first, const DefValue *output, bool rows_spread)
{
    bool differ = false;

    if (output->rank < 1) {
        flow_fail(flow, TW0325, output, "output %s has no dimension for blocks to be spread over", output->name);
        return false;
    }
    for (int i = 0; output->rank == 1 && rows_spread && i < first->rank - 1; i++)
        differ |= !flow_is_one(first->dims[i]); /* every block of rows would write all of it */
    differ |= output->rank > 1 && !flow_same_rows(output, first) && !is_row_beside(flow, first, output);
    differ |= output->rank > 1 && (is_across(flow, output, first) || is_across(flow, first, output) || is_one_by_name(flow, first, output));
    if (differ)
        flow_fail(flow, TW0502, output, "outputs %s and %s have different rows", first->name, output->name);
    return !differ;
}

/* Whether a number a row is stored beside rows that nothing multiplies or sums: blocks that have part of the columns would all store
 * it, blocks that have whole rows do so once. */
static bool has_numbers_of_rows(const Flow *flow, DefDim last)
{
    bool any = false;

    for (int i = 0; i < flow->def->outputs.len; i++) {
        const ValueFacts *facts = &flow->facts[flow->def->outputs.data[i]->id];

        if (facts->gemm || facts->columns)
            return false;
        any |= flow_is_one(flow_cols(flow, flow->def->outputs.data[i]));
    }
    return any && !flow_is_one(last);
}

static AxisKind last_kind(const Walk *w)
{
    if (w->deep && w->flow->repeat && !w->chained && !w->reduced && is_at_most(w->last, MOST_REPEATED))
        return AXIS_COLS;
    if (w->deep)
        return AXIS_WHOLE;
    if (w->chained || w->reduced)
        return flow_is_small(w->flow, w->last) ? AXIS_WHOLE : AXIS_STREAM;
    if (has_numbers_of_rows(w->flow, w->last) && flow_is_small(w->flow, w->last))
        return AXIS_WHOLE;
    return AXIS_COLS;
}

/* The first reduction of columns; NULL: none. */
static const DefOp *column_reduction(const Def *def)
{
    for (int i = 0; i < def->ops.len; i++)
        if (op_info(def->ops.data[i]->op)->class == OPC_COL_REDUCE)
            return def->ops.data[i];
    return NULL;
}

/* Rows are spread over blocks; where columns are reduced, which takes all of
 * them, they are streamed, and blocks are spread over columns alone. */
static const Axis *rows_axis(Flow *flow, const DefValue *first, const DefOp *columns)
{
    DefDim dim = flow_rows(flow, first);

    if (!columns && first->rank >= 2)
        return flow_axis(flow, AXIS_ROWS, dim);
    return flow_is_one(dim) && !dim.name ? flow->one : flow_axis(flow, AXIS_STREAM, dim);
}

/* Whether the outputs are columns of one number a row; not products, for which
 * there would be no tile. */
static bool single_columns(const Flow *flow, const DefValue *output)
{
    for (int i = 0; i < flow->def->ops.len; i++)
        if (flow->def->ops.data[i]->op == OP_GEMM && flow_is_one(flow_cols(flow, flow->def->ops.data[i]->result)))
            return false;
    return flow_is_one(flow_cols(flow, output)) && !flow_cols(flow, output).name && output->rank >= 2;
}

bool flow_choose_axes(Flow *flow)
{
    const Def *def = flow->def;
    const DefOp *columns = column_reduction(def);

    find_facts(flow);
    DefValue *first = main_output(flow);
    Walk walk = {.flow = flow, .last = flow_cols(flow, first)};
    flow->one = flow_axis(flow, AXIS_ONE, (DefDim){aff_const(def->aff, 1), NULL});
    for (int i = 0; i < def->outputs.len; i++)
        if (!check_output(flow, first, def->outputs.data[i], !columns))
            return false;
    for (int i = 0; i < def->outputs.len; i++)
        walk_value(&walk, def->outputs.data[i]);
    if (columns && last_kind(&walk) != AXIS_COLS) {
        flow_fail(flow, TW0505, columns->result, "%s reduces columns, and rows are reduced or kept whole as well",
                  columns->result->name);
        return false;
    }
    flow->rows = rows_axis(flow, first, columns);
    flow->cols = single_columns(flow, first) ? flow->one : flow_axis(flow, last_kind(&walk), walk.last);
    return true;
}

/* ---- what is kept whole ------------------------------------------------------------------- */

/* Whether rows of the same dimension are spread over blocks. */
static bool tiled_elsewhere(const Flow *flow, const Axis *whole)
{
    for (int i = 0; i < flow->nodes.len; i++) {
        const Axis *axes[] = {flow->nodes.data[i]->row, flow->nodes.data[i]->col};

        for (int k = 0; k < 2; k++)
            if (axes[k]->kind == AXIS_ROWS && axes[k]->dim.name && whole->dim.name && flow_same_dim(axes[k]->dim, whole->dim))
                return true;
    }
    return false;
}

/* A length that only the launch gives, and that blocks are spread over, fits into no tile. */
bool flow_fits_whole(Flow *flow)
{
    for (int i = 0; i < flow->nodes.len; i++) {
        const Node *node = flow->nodes.data[i];
        const Axis *whole = node->row->kind == AXIS_WHOLE ? node->row : node->col->kind == AXIS_WHOLE ? node->col : NULL;

        if (!whole || aff_is_const(whole->dim.size, NULL) || !tiled_elsewhere(flow, whole))
            continue;
        flow_fail(flow, TW0503, node->value, "%s would have to hold all of %s at once",
                  node->value ? node->value->name : "a tile", whole->dim.name);
        return false;
    }
    return true;
}
