/* exec_ops.c: arithmetic on whole tiles, in fp32.
 *
 * Operands of elementwise operations broadcast: a column vector (R,1) along the
 * columns, a row vector (1,C) along the rows, (1,1) along both. Whoever calls
 * rounds the result to its dtype.
 */
#include "tile/exec.h"

#include <math.h>

/* ---- rounding, filling -------------------------------------------------------- */

void exec_round(DType dtype, ExecTile *r)
{
    size_t n = (size_t)r->rows * (size_t)r->cols;
    switch (dtype) {
    case DT_F32:
    case DT_F64: break; /* arithmetic is fp32 */
    case DT_F16:
        for (size_t i = 0; i < n; i++)
            r->at[i] = f16_to_f32(f32_to_f16(r->at[i]));
        break;
    case DT_BF16:
        for (size_t i = 0; i < n; i++)
            r->at[i] = bf16_to_f32(f32_to_bf16(r->at[i]));
        break;
    case DT_E4M3:
    case DT_E5M2:
    case DT_I32:
    case DT_I64:
    case DT_I8:
    case DT_U8:
    case DT_BOOL:
        for (size_t i = 0; i < n; i++)
            r->at[i] = (float)dtype_round(dtype, r->at[i]);
        break;
    case DT_COUNT: break;
    }
}

void exec_fill(ExecTile *r, double value)
{
    size_t n = (size_t)r->rows * (size_t)r->cols;
    for (size_t i = 0; i < n; i++)
        r->at[i] = (float)value;
}

/* ---- elementwise ----------------------------------------------------------------- */

static const float *row_of(const ExecTile *a, int row)
{
    return a->rows == 1 ? a->at : a->at + (size_t)row * (size_t)a->cols;
}

static int step_of(const ExecTile *a)
{
    return a->cols == 1 ? 0 : 1;
}

/* fmax, which lets a number win over NaN */
static float max_f(float a, float b)
{
    return a > b || b != b ? a : b;
}

typedef void (*RowFn)(float *r, const float *a, int step_a, const float *b, int step_b, int n);

#define ROW_FN(name, value)                                                                     \
    static void name(float *r, const float *a, int step_a, const float *b, int step_b, int n)   \
    {                                                                                           \
        if (step_a && step_b)                                                                   \
            for (int i = 0; i < n; i++) {                                                       \
                float x = a[i], y = b[i];                                                       \
                r[i] = (value);                                                                 \
            }                                                                                   \
        else                                                                                    \
            for (int i = 0; i < n; i++) {                                                       \
                float x = a[i * step_a], y = b[i * step_b];                                     \
                r[i] = (value);                                                                 \
            }                                                                                   \
    }
ROW_FN(row_add, x + y)
ROW_FN(row_subtract, x - y)
ROW_FN(row_multiply, x * y)
ROW_FN(row_max, max_f(x, y))
#undef ROW_FN

static void row_exp(float *r, const float *a, int step_a, const float *b, int step_b, int n)
{
    (void)b, (void)step_b;
    for (int i = 0; i < n; i++)
        r[i] = expf(a[i * step_a]);
}

static void row_exp2(float *r, const float *a, int step_a, const float *b, int step_b, int n)
{
    (void)b, (void)step_b;
    for (int i = 0; i < n; i++)
        r[i] = exp2f(a[i * step_a]);
}

/* Operations that main loops are made of; all others take op_eval. */
static const struct {
    OpId op;
    RowFn fn;
} FAST[] = {
    {OP_ADD, row_add}, {OP_SUBTRACT, row_subtract}, {OP_MULTIPLY, row_multiply},
    {OP_MAX, row_max}, {OP_EXP, row_exp}, {OP_EXP2, row_exp2},
};

static RowFn fast_row(OpId op)
{
    for (size_t i = 0; i < TW_COUNT(FAST); i++)
        if (FAST[i].op == op)
            return FAST[i].fn;
    return NULL;
}

static void slow_row(OpId op, const double *zero_else, const ExecTile *const *args, int n_args,
                     int row, ExecTile *r)
{
    float *out = r->at + (size_t)row * (size_t)r->cols;
    for (int c = 0; c < r->cols; c++) {
        double v[3] = {0, 0, 0};
        for (int k = 0; k < n_args; k++)
            v[k] = row_of(args[k], row)[c * step_of(args[k])];
        bool excused = zero_else && v[1] == 0;
        out[c] = (float)(excused ? *zero_else : op_eval(op, v[0], v[1], v[2]));
    }
}

void exec_element(OpId op, const double *zero_else, const ExecTile *const *args, int n_args,
                  ExecTile *r)
{
    RowFn fn = fast_row(op);
    const ExecTile *a = args[0], *b = args[n_args - 1];
    for (int row = 0; row < r->rows; row++) {
        if (fn)
            fn(r->at + (size_t)row * (size_t)r->cols, row_of(a, row), step_of(a), row_of(b, row),
               step_of(b), r->cols);
        else
            slow_row(op, zero_else, args, n_args, row, r);
    }
}

/* ---- reductions ------------------------------------------------------------------ */

static float reduce_step(OpId op, float acc, float x)
{
    if (op == OP_ROW_SUM)
        return acc + x;
    if (op == OP_ROW_MAX)
        return max_f(acc, x);
    return (float)op_eval(op, acc, x, 0);
}

/* Elements at, at + step, at + 2 step, ... below `end`, a power of two of them: those that are farthest apart first. */
static float fold(OpId op, DType dtype, const float *row, int at, int step, int end)
{
    if (at + step >= end) return row[at];
    float even = fold(op, dtype, row, at, 2 * step, end), odd = fold(op, dtype, row, at + step, 2 * step, end);
    return (float)dtype_round(dtype, reduce_step(op, even, odd));
}

void exec_fold(OpId op, DType dtype, const ExecTile *a, ExecTile *r)
{
    for (int i = 0; i < r->rows; i++)
        for (int j = 0; j < r->cols; j++)
            r->at[(size_t)i * (size_t)r->cols + (size_t)j] = fold(op, dtype, &a->at[(size_t)i * (size_t)a->cols], j, r->cols, a->cols);
}

void exec_reduce(OpId op, int axis, const ExecTile *a, ExecTile *r)
{
    exec_fill(r, op_identity(op));
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->cols; j++) {
            float *acc = &r->at[axis ? i * r->cols + j % r->cols : j];
            *acc = reduce_step(op, *acc, a->at[(size_t)i * (size_t)a->cols + (size_t)j]);
        }
    int extent = axis ? a->cols : a->rows;
    for (int i = 0; op == OP_ROW_MEAN && i < r->rows * r->cols; i++)
        r->at[i] /= (float)extent;
}

/* ---- softmax ----------------------------------------------------------------------- */

/* A row none of whose elements was ever alive has maximum -inf: it contributes
 * nothing, and what was accumulated stays. */
void exec_softmax(const ExecTile *s, const ExecTile *m, const ExecTile *l, ExecTile *const *results)
{
    ExecTile *p = results[0], *new_m = results[1], *new_l = results[2], *alpha = results[3];
    for (int i = 0; i < s->rows; i++) {
        const float *in = s->at + (size_t)i * (size_t)s->cols;
        float *out = p->at + (size_t)i * (size_t)s->cols;
        float top = m->at[i], sum = 0;
        for (int j = 0; j < s->cols; j++)
            top = max_f(top, in[j]);
        bool dead = top == -INFINITY;
        for (int j = 0; j < s->cols; j++) {
            out[j] = dead ? 0 : expf(in[j] - top);
            sum += out[j];
        }
        alpha->at[i] = dead ? 1 : expf(m->at[i] - top);
        new_m->at[i] = top;
        new_l->at[i] = l->at[i] * alpha->at[i] + sum;
    }
}

/* ---- memory -------------------------------------------------------------------------- */

/* The part [first, last) of a tile's extent that lies inside a tensor's. */
static void clip(int64_t base, int64_t extent, int tile, int *first, int *last)
{
    *first = *last = 0;
    if (base >= extent || base <= -(int64_t)tile)
        return;
    *first = base < 0 ? (int)-base : 0;
    *last = extent - base < tile ? (int)(extent - base) : tile;
}

/* Where the live part of a tile begins in a tensor, and the way from one of its
 * rows and columns to the next. */
typedef struct Window {
    int row0, row1, col0, col1;
    int64_t at, row_step, col_step; /* elements */
} Window;

static Window window_of(const Tensor *t, const int64_t *coords, int row_dim, int col_dim, int rows,
                        int cols)
{
    Window w = {0, rows, 0, cols, 0, 0, 0};
    for (int d = 0; d < t->rank; d++) {
        int64_t from = coords[d];
        if (d == row_dim) {
            clip(from, t->dims[d], rows, &w.row0, &w.row1);
            w.row_step = t->strides[d];
            from += w.row0;
        } else if (d == col_dim) {
            clip(from, t->dims[d], cols, &w.col0, &w.col1);
            w.col_step = t->strides[d];
            from += w.col0;
        } else if (from < 0 || from >= t->dims[d]) {
            w.row1 = 0;
        }
        if (w.row0 >= w.row1 || w.col0 >= w.col1)
            return (Window){0};
        w.at += from * t->strides[d];
    }
    return w;
}

static void load_row(DType dtype, const char *from, int64_t step, int n, float *to)
{
    if (dtype == DT_BF16)
        for (int i = 0; i < n; i++)
            to[i] = bf16_to_f32(((const uint16_t *)(const void *)from)[i * step]);
    else if (dtype == DT_F16)
        for (int i = 0; i < n; i++)
            to[i] = f16_to_f32(((const uint16_t *)(const void *)from)[i * step]);
    else
        for (int i = 0; i < n; i++)
            to[i] = (float)dtype_load(dtype, from + i * step * dtype_bytes(dtype));
}

void exec_load(const Tensor *t, const int64_t *coords, int row_dim, int col_dim, ExecTile *r)
{
    Window w = window_of(t, coords, row_dim, col_dim, r->rows, r->cols);
    int bytes = dtype_bytes(t->dtype);
    exec_fill(r, 0);
    for (int i = w.row0; i < w.row1; i++) {
        int64_t at = w.at + (i - w.row0) * w.row_step;
        load_row(t->dtype, (const char *)t->data + at * bytes, w.col_step, w.col1 - w.col0,
                 r->at + (size_t)i * (size_t)r->cols + w.col0);
    }
}

bool exec_row_places(Exec *x, const TileOp *op, int rows, int64_t *places)
{
    for (int i = 0; i < rows; i++) {
        x->thread->symbols[x->program->row->id] = i;
        for (int d = 0; d < op->tensor->rank; d++)
            if (!exec_eval(x, op->coords[d], &places[i * op->tensor->rank + d]))
                return false;
        if (op->row_dim >= 0)
            places[i * op->tensor->rank + op->row_dim] += i;
    }
    return true;
}

void exec_load_rows(const Tensor *t, const int64_t *places, int col_dim, ExecTile *r)
{
    for (int i = 0; i < r->rows; i++) {
        ExecTile one = {.rows = 1, .cols = r->cols, .at = r->at + (size_t)i * (size_t)r->cols};
        exec_load(t, &places[i * t->rank], -1, col_dim, &one);
    }
}

void exec_store(Tensor *t, const int64_t *coords, int row_dim, int col_dim, bool onto, const ExecTile *a)
{
    Window w = window_of(t, coords, row_dim, col_dim, a->rows, a->cols);
    int bytes = dtype_bytes(t->dtype);
    for (int i = w.row0; i < w.row1; i++)
        for (int j = w.col0; j < w.col1; j++) {
            int64_t at = w.at + (i - w.row0) * w.row_step + (j - w.col0) * w.col_step;
            void *to = (char *)t->data + at * bytes;
            float value = a->at[(size_t)i * (size_t)a->cols + (size_t)j];
            dtype_store(t->dtype, to, onto ? (float)dtype_load(t->dtype, to) + value : value);
        }
}

/* ---- gemm ------------------------------------------------------------------------------ */

enum { STRIP = 16 }; /* columns that are summed at once */

static float *grow(Arena *arena, float **data, size_t *room, size_t need)
{
    if (*room < need) {
        *data = arena_array(arena, float, need);
        *room = need;
    }
    return *data;
}

/* r[i][j] = a[j][i] */
static void transpose(const float *a, int rows, int cols, float *r)
{
    for (int i = 0; i < cols; i++)
        for (int j = 0; j < rows; j++)
            r[(size_t)i * (size_t)rows + (size_t)j] = a[(size_t)j * (size_t)cols + (size_t)i];
}

/* b (K x C, or C x K transposed) as strips of STRIP columns, K rows each, the
 * last one filled up with zeros. */
static void pack_strips(const ExecTile *b, bool transposed, int k, int cols, float *out)
{
    size_t down = transposed ? 1 : (size_t)b->cols, right = transposed ? (size_t)b->cols : 1;
    for (int j0 = 0; j0 < cols; j0 += STRIP) {
        int n = cols - j0 < STRIP ? cols - j0 : STRIP;
        for (int i = 0; i < k; i++, out += STRIP)
            for (int j = 0; j < n; j++)
                out[j] = b->at[(size_t)i * down + (size_t)(j0 + j) * right];
    }
}

/* Four numbers at once, which both compilers keep in registers. */
typedef float Quad __attribute__((vector_size(16), aligned(4), may_alias));

/* Two rows of a times one strip of b, added to c0 and c1. */
static void multiply_strip(const float *a0, const float *a1, const float *b, int k, float *c0,
                           float *c1)
{
    Quad *p = (Quad *)c0, *q = (Quad *)c1;
    Quad p0 = p[0], p1 = p[1], p2 = p[2], p3 = p[3];
    Quad q0 = q[0], q1 = q[1], q2 = q[2], q3 = q[3];
    for (int i = 0; i < k; i++, b += STRIP) {
        const Quad *v = (const Quad *)b;
        p0 += a0[i] * v[0], q0 += a1[i] * v[0];
        p1 += a0[i] * v[1], q1 += a1[i] * v[1];
        p2 += a0[i] * v[2], q2 += a1[i] * v[2];
        p3 += a0[i] * v[3], q3 += a1[i] * v[3];
    }
    p[0] = p0, p[1] = p1, p[2] = p2, p[3] = p3;
    q[0] = q0, q[1] = q1, q[2] = q2, q[3] = q3;
}

static void multiply_rows(const float *a, int i, const float *strips, int k, ExecTile *r)
{
    int n_rows = i + 1 < r->rows ? 2 : 1;
    const float *a0 = a + (size_t)i * (size_t)k, *a1 = a0 + (n_rows == 2 ? k : 0);
    float *r0 = r->at + (size_t)i * (size_t)r->cols, *r1 = r0 + (n_rows == 2 ? r->cols : 0);
    for (int j = 0; j < r->cols; j += STRIP, strips += (size_t)k * STRIP) {
        float c0[STRIP] = {0}, c1[STRIP] = {0};
        size_t n = sizeof(float) * (size_t)(r->cols - j < STRIP ? r->cols - j : STRIP);
        memcpy(c0, r0 + j, n);
        memcpy(c1, r1 + j, n);
        multiply_strip(a0, a1, strips, k, c0, c1);
        memcpy(r1 + j, c1, n);
        memcpy(r0 + j, c0, n);
    }
}

void exec_gemm(Exec *x, const TileOp *op, const ExecTile *a, const ExecTile *b, const ExecTile *acc,
               ExecTile *r)
{
    int k = op->trans_a ? a->rows : a->cols;
    size_t strips = ((size_t)r->cols + STRIP - 1) / STRIP;
    const float *rows_a = a->at;
    if (acc)
        memcpy(r->at, acc->at, sizeof(float) * (size_t)r->rows * (size_t)r->cols);
    else
        exec_fill(r, 0);
    if (op->trans_a) {
        grow(x->arena, &x->pack_a, &x->room_a, (size_t)a->rows * (size_t)a->cols);
        transpose(a->at, a->rows, a->cols, x->pack_a);
        rows_a = x->pack_a;
    }
    grow(x->arena, &x->pack_b, &x->room_b, strips * STRIP * (size_t)k);
    pack_strips(b, op->trans_b, k, r->cols, x->pack_b);
    for (int i = 0; i < r->rows; i += 2)
        multiply_rows(rows_a, i, x->pack_b, k, r);
}

/* ---- integer expressions along a row ------------------------------------------------------ */

static int64_t *scratch_row(Exec *x, int depth, int cols)
{
    if (x->scratch.width < cols) {
        x->scratch.rows.len = 0;
        x->scratch.width = cols;
    }
    while (x->scratch.rows.len <= depth)
        vec_push(x->arena, &x->scratch.rows, arena_array(x->arena, int64_t, x->scratch.width));
    return x->scratch.rows.data[depth];
}

/* out = out KIND b, element by element; false where one overflows or divides by 0. */
static bool combine(AffKind kind, int64_t *out, const int64_t *b, int n)
{
    bool bad = false;
    switch (kind) {
    case AFF_ADD:
        for (int i = 0; i < n; i++)
            bad |= __builtin_add_overflow(out[i], b[i], &out[i]);
        break;
    case AFF_MUL:
        for (int i = 0; i < n; i++)
            bad |= __builtin_mul_overflow(out[i], b[i], &out[i]);
        break;
    case AFF_MIN:
        for (int i = 0; i < n; i++)
            out[i] = out[i] < b[i] ? out[i] : b[i];
        break;
    case AFF_MAX:
        for (int i = 0; i < n; i++)
            out[i] = out[i] > b[i] ? out[i] : b[i];
        break;
    case AFF_LE:
        for (int i = 0; i < n; i++)
            out[i] = out[i] <= b[i];
        break;
    case AFF_EQ:
        for (int i = 0; i < n; i++)
            out[i] = out[i] == b[i];
        break;
    case AFF_AND:
        for (int i = 0; i < n; i++)
            out[i] = out[i] && b[i];
        break;
    case AFF_OR:
        for (int i = 0; i < n; i++)
            out[i] = out[i] || b[i];
        break;
    case AFF_DIV:
    case AFF_MOD:
    case AFF_EXP2:
    case AFF_NOT:
    case AFF_CONST:
    case AFF_SYM:
    case AFF_AT:
    case AFF_POISON: return false;
    }
    return !bad;
}

/* All columns at once; false: something in it needs to be looked at one by one. */
static bool eval_row(Exec *x, const Aff *a, int cols, int depth, int64_t *out)
{
    const AffSym *col = x->program->col;
    if (a->kind == AFF_SYM && a->sym == col) {
        for (int i = 0; i < cols; i++)
            out[i] = i;
        return true;
    }
    if (!aff_uses(a, col)) {
        int64_t value;
        bool ok = aff_eval(a, x->thread->symbols, &value);
        for (int i = 0; ok && i < cols; i++)
            out[i] = value;
        return ok;
    }
    if (a->kind == AFF_AT || a->kind == AFF_EXP2 || !eval_row(x, a->a, cols, depth, out))
        return false;
    if (a->kind == AFF_NOT) {
        for (int i = 0; i < cols; i++)
            out[i] = !out[i];
        return true;
    }
    int64_t *b = scratch_row(x, depth, cols);
    return eval_row(x, a->b, cols, depth + 1, b) && combine(a->kind, out, b, cols);
}

bool exec_row(Exec *x, const Aff *a, int row, int cols, int64_t *out)
{
    int64_t *symbols = x->thread->symbols;
    symbols[x->program->row->id] = row;
    if (eval_row(x, a, cols, 0, out))
        return true;
    for (int i = 0; i < cols; i++) {
        symbols[x->program->col->id] = i;
        if (!aff_eval(a, symbols, &out[i]))
            return false;
    }
    return true;
}
