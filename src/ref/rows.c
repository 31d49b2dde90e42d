/* rows.c: one row of a value from rows of its operands, a function a class of
 * operation. In REF_PLAIN every element computed is rounded to fp32. */
#include "ref/exec.h"

#include <float.h>
#include <math.h>

Node *rows_node(Ref *ref, const DefValue *value)
{
    return &ref->nodes[value->id];
}

int64_t rows_number(const Node *node, const int64_t *lead)
{
    int64_t number = 0;

    for (int d = 0; d < node->rank - 1; d++)
        number = number * node->dims[d] + lead[d];
    return number;
}

void rows_follow(const Link *link, const int64_t *at, int64_t *to)
{
    for (int d = 0; d < link->rank - 1; d++)
        to[d] = at[link->axis[d]] / link->share[d];
}

static int64_t row_len(const Node *node)
{
    return node->dims[node->rank - 1];
}

/* ---- inputs ------------------------------------------------------------------------- */

static void load_row(const Node *node, const int64_t *lead, double *row)
{
    const Tensor *t = node->tensor;
    int64_t at[8] = {0}, n = row_len(node);
    const char *from;

    memcpy(at, lead, (size_t)(node->rank - 1) * sizeof *at);
    from = (const char *)t->data + tensor_index(t, at) * dtype_bytes(t->dtype);
    if (t->dtype == DT_BF16)
        for (int64_t i = 0; i < n; i++)
            row[i] = bf16_to_f32(((const uint16_t *)(const void *)from)[i]);
    else
        for (int64_t i = 0; i < n; i++)
            row[i] = dtype_load(t->dtype, from + i * dtype_bytes(t->dtype));
}

/* ---- operations ----------------------------------------------------------------------- */

/* Fetches an operand's row for the result's coordinates. */
static const double *operand_row(Ref *ref, Node *node, int i, const int64_t *at)
{
    int64_t lead[8];

    rows_follow(&node->links[i], at, lead);
    rows_get(ref, node->op->args[i].value, lead, node->args[i]);
    return node->args[i];
}

/* ---- on either side of a step ------------------------------------------------------------------ */

/* Quotients and factors by which a number may come out above or below what it is, by roundings. */
static bool is_rounded_quotient(const DefOp *made)
{
    static const OpId ops[] = {OP_DIVIDE, OP_MULTIPLY, OP_RECIPROCAL, OP_POWER, OP_EXP, OP_EXP2, OP_LOG, OP_LOG2, OP_SQRT, OP_RSQRT};

    for (size_t i = 0; made && i < TW_COUNT(ops); i++)
        if (made->op == ops[i])
            return true;
    return false;
}

static bool is_step(const DefOp *op)
{
    bool whole = op->op == OP_CAST && !dtype_is_float(op->cast) && op->cast != DT_BOOL;

    return whole || op->op == OP_ROUND || op->op == OP_FLOOR || op->op == OP_CEIL;
}

/* Where a number becomes an integer, one that lies between two, by a quotient that GPUs approximate, may become either: two
 * of the plain implementations take it for larger, and for smaller, than it is. A factor that is a power of 2 rounds nothing. */
static void step_aside(const Ref *ref, const Node *node, double *x, int64_t n)
{
    static const double units = 16 * 0x1p-24;
    double by = ref->precision == REF_PLAIN_2 ? 1 + units : ref->precision == REF_PLAIN_3 ? 1 - units : 1;
    const DefArg *arg = &node->op->args[0];
    const DefOp *made = by != 1 && arg->value && is_step(node->op) ? arg->value->op : NULL;

    if (!is_rounded_quotient(made))
        return;
    const Node *maker = &ref->nodes[arg->value->id];
    int exponent;
    for (int i = 0; i < made->n_args; i++)
        if (!made->args[i].value && made->n_args == 2 && frexp(fabs(maker->scalars[i]), &exponent) == 0.5)
            return;
    for (int64_t j = 0; j < n; j++)
        x[j] *= by;
}

static void element_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    const DefOp *op = node->op;
    const double *args[3] = {node->scalars, node->scalars, node->scalars};
    int steps[3] = {0};
    bool guarded = op->op == OP_DIVIDE && op->has_else;

    for (int i = 0; i < op->n_args; i++) {
        args[i] = &node->scalars[i];
        if (op->args[i].value) {
            args[i] = operand_row(ref, node, i, at);
            steps[i] = row_len(rows_node(ref, op->args[i].value)) != 1;
            if (i == 0)
                step_aside(ref, node, node->args[0], row_len(rows_node(ref, op->args[0].value)));
        }
    }
    for (int64_t j = 0, n = row_len(node); j < n; j++) {
        double b = args[1][j * steps[1]];

        row[j] = guarded && b == 0 ? op->otherwise
                                   : op_eval(op->op, args[0][j * steps[0]], b, args[2][j * steps[2]]);
    }
}

/* A step of a reduction; fp32 accumulates in fp32. */
double rows_reduce(const Ref *ref, OpId op, double sum, double x)
{
    double next = op_eval(op, sum, x, 0);

    return ref_is_plain(ref) ? (float)next : next;
}

static void row_reduce_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    OpId op = node->op->op;
    const double *x = operand_row(ref, node, 0, at);
    int64_t n = row_len(rows_node(ref, node->op->args[0].value));
    double sum = op_identity(op);

    for (int64_t j = 0; j < n; j++)
        sum = rows_reduce(ref, op, sum, x[j]);
    row[0] = op == OP_ROW_MEAN ? sum / (double)n : sum; /* of nothing there is no mean */
}

static void col_reduce_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    OpId op = node->op->op;
    const Node *arg = rows_node(ref, node->op->args[0].value);
    int64_t lead[8], n = row_len(node);

    for (int64_t j = 0; j < n; j++)
        row[j] = op_identity(op);
    rows_follow(&node->links[0], at, lead);
    for (int64_t r = 0; r < arg->dims[arg->rank - 2]; r++) {
        lead[arg->rank - 2] = r;
        rows_get(ref, arg->value, lead, node->args[0]);
        for (int64_t j = 0; j < n; j++)
            row[j] = rows_reduce(ref, op, row[j], node->args[0][j]);
    }
}

static void fill_row(double *row, int64_t n, double value)
{
    for (int64_t j = 0; j < n; j++)
        row[j] = value;
}

static void softmax_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    const double *x = operand_row(ref, node, 0, at);
    int64_t n = row_len(node);
    bool plain = ref_is_plain(ref), live = false;
    double max = -INFINITY, sum = 0;

    for (int64_t j = 0; j < n; j++) {
        max = x[j] > max ? x[j] : max;
        live |= !(x[j] == -INFINITY);
    }
    if (!live) {
        fill_row(row, n, node->op->otherwise);
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        row[j] = plain ? (float)exp((float)(x[j] - max)) : exp(x[j] - max);
        sum = plain ? (float)(sum + row[j]) : sum + row[j];
    }
    for (int64_t j = 0; j < n; j++)
        row[j] /= sum;
}

static void mask_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    const double *x = operand_row(ref, node, 0, at);
    int64_t n = row_len(node);

    elem_row(node->elem, at, row, n);
    for (int64_t j = 0; j < n; j++)
        row[j] = row[j] != 0 ? x[j] : node->op->otherwise;
}

/* To a floating type: what the precision says. To an integer: towards zero. */
static void cast_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    const double *x = operand_row(ref, node, 0, at);
    DType to = node->op->cast;
    bool rounds = !dtype_is_float(to) || ref_is_plain(ref);

    step_aside(ref, node, node->args[0], row_len(node));
    for (int64_t j = 0, n = row_len(node); j < n; j++)
        row[j] = rounds ? dtype_round(to, x[j]) : x[j];
}

/* What a plain implementation keeps of a number: fp32, without subnormals where it does as tensor cores and the
 * fast instructions beside them do (ex2.approx.ftz). */
static double kept_of(const Ref *ref, double x)
{
    bool lost = ref->precision == REF_PLAIN + REF_PLAINS - 1 && fabs(x) < FLT_MIN;

    return lost ? copysign(0, x) : (float)x;
}

static void compute_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    switch (op_info(node->op->op)->class) {
    case OPC_ELEMENT: element_row(ref, node, at, row); break;
    case OPC_ROW_REDUCE: row_reduce_row(ref, node, at, row); break;
    case OPC_COL_REDUCE: col_reduce_row(ref, node, at, row); break;
    case OPC_GEMM: gemm_row(ref, node, at, row); break;
    case OPC_SOFTMAX: softmax_row(ref, node, at, row); break;
    case OPC_MASK: mask_row(ref, node, at, row); break;
    case OPC_FILL: fill_row(row, row_len(node), node->scalars[1]); break;
    case OPC_CAST: cast_row(ref, node, at, row); break;
    case OPC_DEFINE: elem_row(node->elem, at, row, row_len(node)); break;
    case OPC_GROUP_REDUCE: group_row(ref, node, at, row); break;
    case OPC_REARRANGE: arrange_row(ref, node, at, row); break;
    case OPC_SELECT: top_row(ref, node, at, row); break;
    }
    if (ref_is_plain(ref))
        for (int64_t j = 0, n = row_len(node); j < n; j++)
            row[j] = kept_of(ref, row[j]);
}

void rows_get(Ref *ref, const DefValue *value, const int64_t *lead, double *row)
{
    Node *node = rows_node(ref, value);
    size_t bytes = (size_t)row_len(node) * sizeof *row;
    bool filled;
    double *kept;

    if (!node->op) {
        load_row(node, lead, row);
        return;
    }
    kept = store_slot(ref, &node->rows, rows_number(node, lead), &filled);
    if (!filled) {
        compute_row(ref, node, lead, row);
        memcpy(kept, row, bytes);
    } else {
        memcpy(row, kept, bytes);
    }
}
