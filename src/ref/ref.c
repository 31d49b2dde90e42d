/* ref.c: sets a definition up for execution, and its outward face. See exec.h. */
#include "ref/exec.h"
#include "ref/range.h"

static const size_t default_limit = (size_t)1 << 30;
static const int64_t max_row = (int64_t)1 << 28;             /* elements */
static const int64_t max_rows = (int64_t)1 << 48;
static const int64_t max_matrix = (int64_t)16 << 30;         /* bytes */

bool ref_fail(Ref *ref, const char **error, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    *error = arena_vprintf(ref->arena, fmt, args);
    va_end(args);
    return false;
}

/* ---- links ---------------------------------------------------------------------------- */

/* Along one axis the operand has `have` entries where the result has `want`. */
static bool set_share(Ref *ref, const DefValue *arg, int d, int64_t have, int64_t want, int64_t *share,
                      const char **error)
{
    if (have == want)
        return *share = 1, true;
    if (have == 1)
        return *share = INT64_MAX, true;
    if (have > 0 && want % have == 0)
        return *share = want / have, true;
    return ref_fail(ref, error, "dimension %d of %s is %lld, of which %lld is no multiple", d,
                    def_shape_text(ref->arena, arg), (long long)have, (long long)want);
}

/* Links the leading axes of operand i, all but the last `apart` ones, to the
 * result's, aligned from the right. */
static bool make_link(Ref *ref, Node *node, int i, int apart, const char **error)
{
    const DefValue *value = node->op->args[i].value;
    Node *arg = rows_node(ref, value);
    Link *link = &node->links[i];

    link->rank = arg->rank;
    for (int d = 0; d < arg->rank - 1; d++) {
        int axis = node->rank - arg->rank + d;

        link->axis[d] = axis;
        link->share[d] = 1;
        if (d < arg->rank - apart &&
            !set_share(ref, value, d, arg->dims[d], node->dims[axis], &link->share[d], error))
            return false;
        arg->rows.keep |= link->share[d] != 1;
    }
    arg->rows.keep |= arg->rank < node->rank;
    return true;
}

/* How many trailing axes of operand i do not follow the result's. */
static int axes_apart(const DefOp *op, int i)
{
    OpClass class = op_info(op->op)->class;

    if (class == OPC_COL_REDUCE || (class == OPC_GEMM && (i == 1 || op->args[0].transposed)))
        return 2;
    return 1;
}

/* ---- nodes ------------------------------------------------------------------------------- */

static bool size_rows(Ref *ref, Node *node, const char **error)
{
    int64_t count = 1;

    for (int d = 0; d < node->rank - 1; d++) {
        int64_t size = node->dims[d] > 0 ? node->dims[d] : 1;

        if (count > max_rows / size)
            return ref_fail(ref, error, "%s has too many rows", def_shape_text(ref->arena, node->value));
        count *= size;
    }
    if (node->dims[node->rank - 1] > max_row)
        return ref_fail(ref, error, "rows of %s are too long", def_shape_text(ref->arena, node->value));
    node->rows.count = count;
    node->rows.item_size = node->dims[node->rank - 1] * (int64_t)sizeof(double);
    ref->n_stores += node->op != NULL;
    return true;
}

static double *scratch(Ref *ref, const Node *node)
{
    return arena_array(ref->arena, double, node->dims[node->rank - 1] + 1);
}

static double scalar_value(Ref *ref, const DefScalar *scalar)
{
    double value = scalar->is_const ? scalar->value : elem_scalar(ref->arena, scalar->elem, &ref->env);

    return ref_is_plain(ref) ? (float)value : value;
}

static bool set_operands(Ref *ref, Node *node, const char **error)
{
    for (int i = 0; i < node->op->n_args; i++) {
        const DefArg *arg = &node->op->args[i];

        if (!arg->value) {
            node->scalars[i] = scalar_value(ref, &arg->scalar);
            continue;
        }
        if (!op_is_whole(node->op->op) && !make_link(ref, node, i, axes_apart(node->op, i), error))
            return false;
        node->args[i] = scratch(ref, rows_node(ref, arg->value));
        rows_node(ref, arg->value)->uses++;
    }
    if (op_is_whole(node->op->op) && !arrange_set(ref, node, error))
        return false;
    for (int i = 0; i < node->op->reads.len; i++)
        rows_node(ref, node->op->reads.data[i].value)->rows.keep = true;
    return true;
}

/* ---- GEMM nodes ---------------------------------------------------------------------------- */

/* The first operand is multiplied in the precision of the run; the second may
 * be kept as floats where they hold it exactly, which halves what is read. */
static bool keeps_floats(const Ref *ref, const DefOp *op, int operand)
{
    const DefValue *value = op->args[operand].value;

    if (ref_is_plain(ref))
        return true;
    return operand == 1 && value->is_input && dtype_is_float(value->dtype) && value->dtype != DT_F64;
}

static bool size_matrix(Ref *ref, Node *node, int operand, const char **error)
{
    const Node *arg = rows_node(ref, node->op->args[operand].value);
    int64_t rows = arg->dims[arg->rank - 2], cols = arg->dims[arg->rank - 1], element, padded;
    Store *store = &node->matrices[operand];

    node->single[operand] = keeps_floats(ref, node->op, operand);
    element = node->single[operand] ? (int64_t)sizeof(float) : (int64_t)sizeof(double);
    padded = node->op->args[operand].transposed ? (rows + 15) * cols : rows * (cols + 15);
    if (rows > max_matrix || cols > max_matrix || padded > max_matrix / element)
        return ref_fail(ref, error, "a matrix of %s is too large",
                        def_shape_text(ref->arena, arg->value));
    store->item_size = padded * element;
    store->count = rows > 0 ? arg->rows.count / rows : 1;
    store->keep = true;
    ref->n_stores++;
    return true;
}

static bool set_gemm(Ref *ref, Node *node, const char **error)
{
    const Node *a = rows_node(ref, node->op->args[0].value), *b = rows_node(ref, node->op->args[1].value);
    int64_t longest = a->dims[a->rank - 1] > b->dims[b->rank - 1] ? a->dims[a->rank - 1]
                                                                  : b->dims[b->rank - 1];

    for (int i = 0; i < 2; i++)
        node->types[i] = def_operand_type(ref->def, node->op, i);
    for (int i = 0; i < 2; i++)
        node->rounds[i] = ref_is_plain(ref) && (!node->op->args[i].value->is_input ||
                                                !dtype_is_narrow(node->op->args[i].value->dtype));
    node->operand_row = arena_array(ref->arena, double, longest + 1);
    node->narrow = arena_array(ref->arena, float, longest + 1);
    return (!node->op->args[0].transposed || size_matrix(ref, node, 0, error)) &&
           size_matrix(ref, node, 1, error);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool check_input(Ref *ref, const Node *node, const char **error)
{
    const Tensor *t = node->tensor;

    if (t->rank != node->rank)
        return ref_fail(ref, error, "%s has %d dimensions, not %d", node->value->name, node->rank, t->rank);
    for (int d = 0; d < t->rank; d++)
        if (t->dims[d] != node->dims[d])
            return ref_fail(ref, error, "dimension %d of %s is %lld, not %lld", d, node->value->name,
                            (long long)node->dims[d], (long long)t->dims[d]);
    return true;
}

static bool size_node(Ref *ref, const DefValue *value, const char **error)
{
    Node *node = rows_node(ref, value);

    node->value = value;
    node->op = value->op;
    node->rank = value->rank;
    return bind_dims(ref, value, node->dims, error) && size_rows(ref, node, error);
}

static bool set_node(Ref *ref, const DefValue *value, const char **error)
{
    Node *node = rows_node(ref, value);

    if (!node->op)
        return true;
    if (!set_operands(ref, node, error))
        return false;
    if (op_info(node->op->op)->class == OPC_COL_REDUCE)
        node->rows.keep = true;
    if (op_info(node->op->op)->class == OPC_GEMM && !set_gemm(ref, node, error))
        return false;
    if (node->op->elem)
        node->elem = elem_run_new(ref->arena, node->op->elem, &ref->env);
    return true;
}

static void read_row(void *user, const DefValue *value, const int64_t *lead, double *row)
{
    rows_get(user, value, lead, row);
}

static double read_one(void *user, const DefValue *input, const int64_t *at)
{
    return tensor_get(rows_node(user, input)->tensor, at);
}

static bool set_nodes(Ref *ref, Tensor *const *inputs, const char **error)
{
    const Def *def = ref->def;

    ref->nodes = arena_array(ref->arena, Node, def->values.len + 1);
    for (int i = 0; i < def->values.len; i++)
        if (!size_node(ref, def->values.data[i], error))
            return false;
    for (int i = 0; i < def->values.len; i++)
        if (!set_node(ref, def->values.data[i], error))
            return false;
    for (int i = 0; i < def->inputs.len; i++) {
        Node *node = rows_node(ref, def->inputs.data[i]);

        node->tensor = inputs[i];
        if (!check_input(ref, node, error))
            return false;
    }
    for (int i = 0; i < def->values.len; i++)
        ref->nodes[i].rows.keep |= ref->nodes[i].uses > 1;
    return true;
}

static int64_t longest_row(const Ref *ref)
{
    int64_t longest = 1;

    for (int i = 0; i < ref->def->outputs.len; i++) {
        const Node *node = &ref->nodes[ref->def->outputs.data[i]->id];

        if (node->dims[node->rank - 1] > longest)
            longest = node->dims[node->rank - 1];
    }
    return longest;
}

static Ref *new_bound(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings,
                      Tensor *const *inputs, const char **error)
{
    Ref *ref = arena_new_of(arena, Ref);

    *error = NULL;
    ref->arena = arena;
    ref->def = def;
    ref->limit = default_limit;
    ref->env.read = read_row;
    ref->env.read_one = read_one;
    ref->env.user = ref;
    return bind_symbols(ref, bindings, n_bindings, inputs, error) ? ref : NULL;
}

Ref *ref_new(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings,
             Tensor *const *inputs, RefPrecision precision, const char **error)
{
    Ref *ref = new_bound(arena, def, bindings, n_bindings, inputs, error);

    if (!ref)
        return NULL;
    ref->precision = precision;
    if (precision > REF_PLAIN)
        ref->def = again_def(arena, def);
    if (precision == REF_PLAIN_4)
        ref->def = terms_def(arena, ref->def);
    ref->env.plain = precision != REF_EXACT;
    if (!set_nodes(ref, inputs, error))
        return NULL;
    ref->row = arena_array(arena, double, longest_row(ref));
    return ref;
}

void ref_cache_limit(Ref *ref, size_t bytes)
{
    ref->limit = bytes;
}

bool ref_dims(const Ref *ref, const DefValue *value, int64_t *dims)
{
    for (int d = 0; d < value->rank; d++)
        if (!aff_eval(value->dims[d].size, ref->syms, &dims[d]))
            return false;
    return true;
}

const double *ref_row(Ref *ref, int output, const int64_t *lead)
{
    static const int64_t nowhere[1];
    const DefValue *value = ref->def->outputs.data[output];
    const Node *node = rows_node(ref, value);

    if (!lead)
        lead = nowhere; /* of a vector, which has one row */
    for (int d = 0; d < node->rank - 1; d++)
        if (lead[d] < 0 || lead[d] >= node->dims[d])
            return NULL;
    rows_get(ref, value, lead, ref->row);
    if (ref_is_plain(ref))
        for (int64_t j = 0; j < node->dims[node->rank - 1]; j++)
            ref->row[j] = dtype_round(value->dtype, ref->row[j]);
    return ref->row;
}

/* ---- tensors ---------------------------------------------------------------------------------- */

static Tensor *make_tensor(Ref *ref, const DefValue *value, const char **error)
{
    int64_t dims[8];

    if (!bind_dims(ref, value, dims, error))
        return NULL;
    return tensor_new(ref->arena, value->name, value->dtype, value->rank, dims, error);
}

/* Whether a Mask compares its elements: with a few numbers, most likely. */
static bool is_compared(const Def *def, const DefValue *value)
{
    for (int i = 0; i < def->ops.len; i++)
        if (def->ops.data[i]->op == OP_MASK && def_op_reads(def->ops.data[i], value))
            return true;
    return false;
}

static void fill_input(Ref *ref, const DefValue *value, Tensor *t, FillKind fill, uint64_t seed)
{
    enum { FEW = 3 };
    bool id = !dtype_is_float(t->dtype) && t->dtype != DT_BOOL;
    Range range = id ? range_of_input(ref->def, value) : (Range){0};
    int64_t n;

    if (range.most && aff_eval(range.most, ref->syms, &n) && n >= range.least)
        tensor_fill_integers(t, range.least, n, seed);
    else if (range.least > 0 || (id && dtype_bytes(t->dtype) == 1 && is_compared(ref->def, value)))
        tensor_fill_integers(t, range.least, FEW, seed);
    else
        tensor_fill(t, fill, seed);
}

static void negate(Tensor *t)
{
    int64_t at[TENSOR_MAX_RANK] = {0}, count = tensor_count(t);

    for (int64_t i = 0; i < count; i++, tensor_step(t, t->rank, at))
        tensor_set(t, at, -tensor_get(t, at));
}

/* What a fill of all inputs is for one of them. */
static FillKind fill_of(FillKind fill, int input, int inputs)
{
    bool elsewhere = fill == FILL_SMALL_FIRST ? input > 0
                                              : (fill == FILL_BARRED || fill == FILL_HIDDEN) && input < inputs - 1;

    return elsewhere ? FILL_NORMAL : fill;
}

bool ref_make_tensors(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings,
                      FillKind fill, uint64_t seed, Tensor **inputs, Tensor **outputs,
                      const char **error)
{
    Ref *ref = new_bound(arena, def, bindings, n_bindings, NULL, error);
    Rng seeds = {seed};

    if (!ref)
        return false;
    for (int i = 0; i < def->inputs.len; i++) {
        inputs[i] = make_tensor(ref, def->inputs.data[i], error);
        if (!inputs[i])
            return false;
        fill_input(ref, def->inputs.data[i], inputs[i], fill_of(fill, i, def->inputs.len), rng_next(&seeds));
        if (fill == FILL_OPPOSED && i % 2 == 1 && dtype_is_float(inputs[i]->dtype))
            negate(inputs[i]);
    }
    for (int i = 0; i < def->outputs.len; i++) {
        outputs[i] = make_tensor(ref, def->outputs.data[i], error);
        if (!outputs[i])
            return false;
        tensor_poison(outputs[i]);
    }
    return true;
}
