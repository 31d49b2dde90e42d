/* machine_compute.c: what each operation means, element by element. */
#include "machine.h"

#include <math.h>

/* ---- operands ----------------------------------------------------------------------------- */

static Value number_value(Machine *m, double x)
{
    Value v = machine_value(m, 1, 1);

    v.x[0] = x;
    return v;
}

static Value transposed(Machine *m, const Value *a)
{
    Value v = machine_value(m, a->cols, a->rows);

    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->cols; j++)
            v.x[j * v.cols + i] = a->x[i * a->cols + j];
    v.raw = a->raw;
    return v;
}

/* K, K.T, K.shared, or a number. */
static Value operand(Machine *m, const Expr *e, bool may_be_number)
{
    bool turn = e->kind == EXPR_TRANSPOSE;
    Space space = SPACE_NONE;
    MachineVar *v;
    Value value;

    if (turn)
        e = e->a;
    if (e->kind == EXPR_SPACE) {
        space = e->space;
        e = e->a;
    }
    if (e->kind == EXPR_INDEX)
        value = machine_staged(m, e)->value;
    if (e->kind == EXPR_INDEX)
        return turn ? transposed(m, &value) : value;
    v = e->kind == EXPR_NAME ? machine_var(m, e->name) : NULL;
    if (!v && (turn || space != SPACE_NONE || !may_be_number))
        machine_fault(m, "an operand is no tile");
    if (!v)
        return number_value(m, machine_number(m, e));
    value = machine_readable(m, v, space)->value;
    return turn ? transposed(m, &value) : value;
}

static Value plain_operand(Machine *m, const Expr *e)
{
    if (e->kind == EXPR_TRANSPOSE)
        machine_fault(m, "only a GEMM transposes");
    return operand(m, e, true);
}

/* ---- results ------------------------------------------------------------------------------ */

static Cell *result_cell(Machine *m, const Stmt *s, const Value *value)
{
    const Expr *e = s->dest ? s->dest : s->n_args ? s->args[0] : NULL;
    MachineVar *v;

    if (e && e->kind == EXPR_SPACE && e->space == SPACE_REGISTER)
        e = e->a;
    v = e && e->kind == EXPR_NAME ? machine_var(m, e->name) : NULL;
    if (!v || !v->cells[SPACE_REGISTER].allocated)
        machine_fault(m, "the result has no register tile");
    if (v->cells[SPACE_REGISTER].value.rows != value->rows || v->cells[SPACE_REGISTER].value.cols != value->cols)
        machine_fault(m, "the result has another shape than '%s'", v->name);
    return &v->cells[SPACE_REGISTER];
}

/* A result replaces every older copy of the name. */
static void replace(Machine *m, Cell *cell, const Value *value)
{
    cell->value = *value;
    cell->written = true;
    for (int i = 0; i < m->vars.len; i++)
        if (cell == &m->vars.data[i].cells[SPACE_REGISTER])
            m->vars.data[i].cells[SPACE_SHARED].written = false;
}

/* exp(from - to) of two maxima; where both are -inf nothing was seen yet. */
static double factor(double from, double to)
{
    return from == to ? 1 : exp(from - to);
}

/* Into the unit of what is about to be added. */
static void rescale(Machine *m, Value *sum, const Value *add)
{
    Value old = *sum;

    if (!add->unit)
        return;
    *sum = machine_value(m, old.rows, old.cols);
    for (int i = 0; i < old.rows; i++)
        for (int j = 0; j < old.cols; j++)
            sum->x[i * old.cols + j] =
                old.x[i * old.cols + j] * (old.unit ? factor(old.unit[i], add->unit[i]) : add->alpha[i]);
    sum->raw = old.raw;
    sum->unit = add->unit;
    sum->alpha = add->alpha;
}

static void give(Machine *m, const Stmt *s, const Value *value)
{
    Cell *cell = result_cell(m, s, value);
    Value sum = cell->value;

    if (s->result != RESULT_ACCUMULATE) {
        replace(m, cell, value);
        return;
    }
    if (!cell->written)
        machine_fault(m, "an accumulator that was not started");
    rescale(m, &sum, value);
    Value next = machine_value(m, sum.rows, sum.cols);
    for (int i = 0; i < sum.rows * sum.cols; i++)
        next.x[i] = sum.x[i] + value->x[i];
    next.raw = sum.raw || value->raw;
    next.unit = sum.unit;
    next.alpha = sum.alpha;
    replace(m, cell, &next);
}

/* ---- elementwise -------------------------------------------------------------------------- */

static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }
static double divide(double a, double b) { return a / b; }
static double negate(double a, double b) { return (void)b, -a; }
static double magnitude(double a, double b) { return (void)b, fabs(a); }
static double exponential(double a, double b) { return (void)b, exp(a); }
static double power_of_two(double a, double b) { return (void)b, exp2(a); }
static double logarithm(double a, double b) { return (void)b, log(a); }
static double root(double a, double b) { return (void)b, sqrt(a); }
static double reciprocal_root(double a, double b) { return (void)b, 1 / sqrt(a); }
static double tangent(double a, double b) { return (void)b, tanh(a); }
static double sigmoid(double a, double b) { return (void)b, 1 / (1 + exp(-a)); }
static double positive(double a, double b) { return (void)b, fmax(a, 0); }
static double reciprocal(double a, double b) { return (void)b, 1 / a; }
static double square(double a, double b) { return (void)b, a * a; }
static double silu(double a, double b) { return (void)b, a / (1 + exp(-a)); }
static double gelu(double a, double b) { return (void)b, a / 2 * (1 + erf(a / sqrt(2))); }
static double logarithm_of_two(double a, double b) { return (void)b, log2(a); }
static double greater(double a, double b) { return a > b; }

/* Those that programs here are made of, and what mutators turn them into. */
static const struct {
    OpId op;
    double (*of)(double a, double b);
} ELEMENTS[] = {
    {OP_ADD, add},         {OP_SUBTRACT, subtract},      {OP_MULTIPLY, multiply}, {OP_DIVIDE, divide},
    {OP_MAX, fmax},        {OP_MIN, fmin},               {OP_POWER, pow},         {OP_NEGATE, negate},
    {OP_ABS, magnitude},   {OP_EXP, exponential},        {OP_EXP2, power_of_two}, {OP_LOG, logarithm},
    {OP_SQRT, root},       {OP_RSQRT, reciprocal_root},  {OP_TANH, tangent},      {OP_SIGMOID, sigmoid},
    {OP_RELU, positive},   {OP_RECIPROCAL, reciprocal},  {OP_SQUARE, square},
    {OP_SILU, silu},       {OP_GELU, gelu},              {OP_LOG2, logarithm_of_two}, {OP_GREATER, greater},
};

static double element(Machine *m, const Stmt *s, double a, double b)
{
    if (s->op == OP_DIVIDE && b == 0 && s->otherwise)
        return machine_number(m, s->otherwise);
    for (size_t i = 0; i < TW_COUNT(ELEMENTS); i++)
        if (ELEMENTS[i].op == s->op)
            return ELEMENTS[i].of(a, b);
    machine_fault(m, "this machine does not know %s", op_info(s->op)->name);
}

/* Each element from its row and column. */
static void fill(Machine *m, const Expr *e, Value *v)
{
    for (m->row = 0; m->row < v->rows; m->row++)
        for (m->col = 0; m->col < v->cols; m->col++)
            v->x[m->row * v->cols + m->col] = machine_number(m, e);
    m->row = m->col = -1;
}

static int joined(Machine *m, int a, int b)
{
    if (a != b && a != 1 && b != 1)
        machine_fault(m, "operands of %d and %d do not broadcast", a, b);
    return a == 1 ? b : a;
}

/* Whether the program itself brings the tile to the newest maximum. */
static bool brings_up_to_date(const Machine *m, const Value *tile, const Value *by)
{
    if (!tile->unit || !m->newest || m->newest_rows != tile->rows || by->rows != tile->rows || by->cols != 1)
        return false;
    for (int i = 0; i < tile->rows; i++)
        if (!(fabs(by->x[i] - factor(tile->unit[i], m->newest[i])) <= 1e-12))
            return false;
    return true;
}

/* Where's first operand: a tile, or a condition on the elements of the others. */
static Value condition_value(Machine *m, const Stmt *s)
{
    Value a, b, v;

    if (s->args[0]->kind != EXPR_BINARY && s->args[0]->kind != EXPR_UNARY)
        return plain_operand(m, s->args[0]);
    a = plain_operand(m, s->args[1]);
    b = plain_operand(m, s->args[2]);
    v = machine_value(m, joined(m, a.rows, b.rows), joined(m, a.cols, b.cols));
    fill(m, s->args[0], &v);
    return v;
}

static void compute_element(Machine *m, const Stmt *s, int arity)
{
    Value args[3], v;
    int rows = 1, cols = 1;

    if (s->n_args != arity || arity > 3)
        machine_fault(m, "wrong number of operands");
    for (int i = 0; i < arity; i++) {
        args[i] = s->op == OP_WHERE && i == 0 ? condition_value(m, s) : plain_operand(m, s->args[i]);
        rows = joined(m, rows, args[i].rows);
        cols = joined(m, cols, args[i].cols);
    }
    v = machine_value(m, rows, cols);
    for (int i = 0; i < rows * cols; i++) {
        double x[3] = {0};

        for (int k = 0; k < arity; k++)
            x[k] = args[k].x[(args[k].rows == 1 ? 0 : i / cols) * args[k].cols + (args[k].cols == 1 ? 0 : i % cols)];
        v.x[i] = s->op == OP_WHERE ? (x[0] != 0 ? x[1] : x[2]) : s->op == OP_FMA ? x[0] * x[1] + x[2] : element(m, s, x[0], x[1]);
    }
    for (int k = 0; k < arity; k++) {
        v.raw |= args[k].raw;
        if (args[k].unit && args[k].rows == rows) {
            v.unit = args[k].unit;
            v.alpha = args[k].alpha;
        }
    }
    for (int k = 0; k < arity && s->op == OP_MULTIPLY; k++)
        if (brings_up_to_date(m, &args[k], &args[1 - k]))
            v.unit = m->newest;
    give(m, s, &v);
}

/* ---- reductions --------------------------------------------------------------------------- */

static double reduced(OpId op, double a, double b)
{
    return op == OP_ROW_MAX || op == OP_COL_MAX ? fmax(a, b) : op == OP_ROW_MIN ? fmin(a, b) : a + b;
}

static void compute_reduction(Machine *m, const Stmt *s, bool rows)
{
    Value a, v;

    if (s->n_args != 1)
        machine_fault(m, "wrong number of operands");
    a = plain_operand(m, s->args[0]);
    v = machine_value(m, rows ? a.rows : 1, rows ? 1 : a.cols);
    for (int i = 0; i < a.rows; i++)
        for (int j = 0; j < a.cols; j++) {
            double *to = &v.x[rows ? i : j], x = a.x[i * a.cols + j];

            *to = (rows ? j : i) == 0 ? x : reduced(s->op, *to, x);
        }
    for (int i = 0; i < a.rows && s->op == OP_ROW_MEAN; i++)
        v.x[i] /= a.cols;
    give(m, s, &v);
}

/* ---- GEMM ----------------------------------------------------------------------------------- */

static void compute_gemm(Machine *m, const Stmt *s)
{
    Value a, b, v;

    if (s->n_args != 2 || !s->dest)
        machine_fault(m, "a GEMM has two operands and a result");
    a = operand(m, s->args[0], false);
    b = operand(m, s->args[1], false);
    if (a.cols != b.rows)
        machine_fault(m, "%d columns meet %d rows", a.cols, b.rows);
    if (a.raw)
        machine_fault(m, "the result of a GEMM is an operand without a Reshape");
    v = machine_value(m, a.rows, b.cols);
    machine_spend(m, (long)a.rows * a.cols * b.cols / 8);
    for (int i = 0; i < a.rows; i++)
        for (int k = 0; k < a.cols; k++)
            for (int j = 0; j < b.cols; j++)
                v.x[i * v.cols + j] += a.x[i * a.cols + k] * b.x[k * b.cols + j];
    v.raw = true;
    v.unit = a.unit && a.rows == v.rows ? a.unit : NULL;
    v.alpha = a.alpha;
    give(m, s, &v);
}

/* ---- softmax -------------------------------------------------------------------------------- */

static void compute_row_softmax(Machine *m, const Stmt *s, const Value *a)
{
    Value v = machine_value(m, a->rows, a->cols);

    for (int i = 0; i < a->rows; i++) {
        double most = -INFINITY, sum = 0;

        for (int j = 0; j < a->cols; j++)
            most = fmax(most, a->x[i * a->cols + j]);
        for (int j = 0; j < a->cols && most > -INFINITY; j++)
            sum += v.x[i * a->cols + j] = exp(a->x[i * a->cols + j] - most);
        for (int j = 0; j < a->cols && sum > 0; j++)
            v.x[i * a->cols + j] /= sum;
    }
    v.raw = a->raw;
    give(m, s, &v);
}

static Cell *state_cell(Machine *m, const Expr *e, int rows)
{
    MachineVar *v = e->kind == EXPR_NAME ? machine_var(m, e->name) : NULL;
    Cell *cell = v ? &v->cells[SPACE_REGISTER] : NULL;

    if (!cell || !cell->allocated || cell->value.rows != rows || cell->value.cols != 1)
        machine_fault(m, "the state of a softmax is a column of registers");
    if (!cell->written)
        machine_fault(m, "the state of a softmax was not started");
    return cell;
}

static void compute_online_softmax(Machine *m, const Stmt *s, const Value *a)
{
    Cell *max = state_cell(m, s->with[0], a->rows), *sum = state_cell(m, s->with[1], a->rows);
    Value v = machine_value(m, a->rows, a->cols), top = machine_value(m, a->rows, 1),
          total = machine_value(m, a->rows, 1), alpha = machine_value(m, a->rows, 1);

    if (max == sum)
        machine_fault(m, "M and L are one tile");
    for (int i = 0; i < a->rows; i++) {
        top.x[i] = max->value.x[i];
        for (int j = 0; j < a->cols; j++)
            top.x[i] = fmax(top.x[i], a->x[i * a->cols + j]);
        alpha.x[i] = factor(max->value.x[i], top.x[i]);
        total.x[i] = sum->value.x[i] * alpha.x[i];
        for (int j = 0; j < a->cols && top.x[i] > -INFINITY; j++)
            total.x[i] += v.x[i * a->cols + j] = exp(a->x[i * a->cols + j] - top.x[i]);
    }
    replace(m, max, &top);
    replace(m, sum, &total);
    v.raw = a->raw;
    v.unit = m->newest = top.x;
    v.alpha = alpha.x;
    m->newest_rows = a->rows;
    give(m, s, &v);
}

static void compute_softmax(Machine *m, const Stmt *s)
{
    Value a;

    if (s->n_args != 1 || (s->n_with != 0 && s->n_with != 2))
        machine_fault(m, "a softmax is of one tile, with two columns");
    a = plain_operand(m, s->args[0]);
    if (s->n_with)
        compute_online_softmax(m, s, &a);
    else
        compute_row_softmax(m, s, &a);
}

/* ---- Mask, Fill, Cast ------------------------------------------------------------------------ */

static void compute_mask(Machine *m, const Stmt *s)
{
    double otherwise = s->otherwise ? machine_number(m, s->otherwise) : -INFINITY;
    Value a, v;

    if (s->n_args != 1 || !s->where)
        machine_fault(m, "a Mask is of one tile, under a condition");
    a = plain_operand(m, s->args[0]);
    v = a;
    v.x = machine_value(m, a.rows, a.cols).x;
    for (m->row = 0; m->row < a.rows; m->row++)
        for (m->col = 0; m->col < a.cols; m->col++) {
            int at = m->row * a.cols + m->col;

            v.x[at] = machine_number(m, s->where) != 0 ? a.x[at] : otherwise;
        }
    m->row = m->col = -1;
    give(m, s, &v);
}

static void compute_fill(Machine *m, const Stmt *s)
{
    const Expr *e = s->dest ? s->dest : s->n_args ? s->args[0] : NULL;
    MachineVar *to = e && e->kind == EXPR_NAME ? machine_var(m, e->name) : NULL;
    Value v;

    if (s->n_args != 2 || !to || !to->cells[SPACE_REGISTER].allocated)
        machine_fault(m, "Fill X, value");
    v = machine_value(m, to->cells[SPACE_REGISTER].value.rows, to->cells[SPACE_REGISTER].value.cols);
    for (int i = 0; i < v.rows * v.cols; i++)
        v.x[i] = machine_number(m, s->args[1]);
    give(m, s, &v);
}

static void compute_define(Machine *m, const Stmt *s)
{
    Value v;

    if (s->n_args != 1 || !s->value || s->n_shape != 2)
        machine_fault(m, "Define X (rows, columns) as expression");
    v = machine_value(m, (int)machine_integer(m, s->shape[0]), (int)machine_integer(m, s->shape[1]));
    fill(m, s->value, &v);
    give(m, s, &v);
}

static void compute_cast(Machine *m, const Stmt *s)
{
    Value a;

    if (s->n_args < 1 || !s->has_dtype)
        machine_fault(m, "Cast X, type");
    a = plain_operand(m, s->args[0]);
    give(m, s, &a);
}

void machine_compute(Machine *m, const Stmt *s)
{
    if (!s->op_known)
        machine_fault(m, "no operation '%s'", s->op_name);
    switch (op_info(s->op)->class) {
    case OPC_ELEMENT: compute_element(m, s, op_info(s->op)->arity); break;
    case OPC_ROW_REDUCE: compute_reduction(m, s, true); break;
    case OPC_COL_REDUCE: compute_reduction(m, s, false); break;
    case OPC_GEMM: compute_gemm(m, s); break;
    case OPC_SOFTMAX: compute_softmax(m, s); break;
    case OPC_MASK: compute_mask(m, s); break;
    case OPC_FILL: compute_fill(m, s); break;
    case OPC_CAST: compute_cast(m, s); break;
    case OPC_DEFINE: compute_define(m, s); break;
    case OPC_GROUP_REDUCE: case OPC_REARRANGE: case OPC_SELECT:
        machine_fault(m, "%s is not for tiles", s->op_name);
        break;
    }
}
