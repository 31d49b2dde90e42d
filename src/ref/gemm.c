/* gemm.c: rows of matrix products.
 *
 * A row of A x B needs one row of A and all of B. B is kept in panels of 16
 * columns, the rows of a panel one after the other, so that a row of the result
 * is computed 16 elements at a time from memory read in order:
 *
 *   B (K x N)   ->   B[0][0..15] B[1][0..15] ... B[K-1][0..15]  B[0][16..31] ...
 *
 * A.T is kept as M rows of K. Panels and rows of a whole operand are made once
 * a batch entry and kept in a store.
 */
#include "ref/exec.h"

#include <math.h>

enum { LANES = 16, STEP = 4 /* products that the tensor cores of Turing add at once; an mma is several such steps */ };

/* ---- products ---------------------------------------------------------------------- */

/* sum += a[0..k-1] x the rows of a panel, in order, as a plain loop does. Four rows a
 * step, so that the sums are loaded and stored once for four multiplications. */
#define PANEL(name, A, B)                                                                   \
    static void name(const A *restrict a, const B *restrict b, A *restrict sum, int64_t k)  \
    {                                                                                       \
        int64_t i = 0;                                                                      \
                                                                                            \
        for (; i + 4 <= k; i += 4, a += 4, b += 4 * LANES)                                  \
            for (int j = 0; j < LANES; j++)                                                 \
                sum[j] = (((sum[j] + a[0] * b[j]) + a[1] * b[j + LANES]) +                  \
                          a[2] * b[j + 2 * LANES]) + a[3] * b[j + 3 * LANES];               \
        for (; i < k; i++, a++, b += LANES)                                                 \
            for (int j = 0; j < LANES; j++)                                                 \
                sum[j] += a[0] * b[j];                                                      \
    }

PANEL(panel_wide, double, double)
PANEL(panel_mixed, double, float)
PANEL(panel_narrow, float, float)

static void copy_part(double *row, const double *part, int64_t n)
{
    memcpy(row, part, (size_t)(n < LANES ? n : LANES) * sizeof *row);
}

static void product_wide(const double *a, const double *b, double *row, int64_t k, int64_t n)
{
    for (int64_t j = 0; j < n; j += LANES, b += k * LANES) {
        double c[LANES] = {0};

        panel_wide(a, b, c, k);
        copy_part(row + j, c, n - j);
    }
}

static void product_mixed(const double *a, const float *b, double *row, int64_t k, int64_t n)
{
    for (int64_t j = 0; j < n; j += LANES, b += k * LANES) {
        double c[LANES] = {0};

        panel_mixed(a, b, c, k);
        copy_part(row + j, c, n - j);
    }
}

/* The sums begin with product `first`. */
static void product_narrow(const float *a, const float *b, double *row, int64_t k, int64_t n, int64_t first)
{
    for (int64_t j = 0; j < n; j += LANES, b += k * LANES) {
        float c[LANES] = {0};
        double wide[LANES];

        panel_narrow(a + first, b + first * LANES, c, k - first);
        panel_narrow(a, b, c, first);
        for (int i = 0; i < LANES; i++)
            wide[i] = c[i];
        copy_part(row + j, wide, n - j);
    }
}

/* Toward zero, as tensor cores round what they add up. */
static float truncated(double x)
{
    float near = (float)x;

    return fabs((double)near) > fabs(x) ? nextafterf(near, 0) : near;
}

/* As tensor cores sum: the products of a step are exact and added at once to the sum so
 * far, which is then cut off. The sum of many numbers of one sign comes out low, by
 * half a unit a step, and shows where large sums nearly cancel. */
static void product_in_steps(const float *a, const float *b, double *row, int64_t k, int64_t n)
{
    for (int64_t j = 0; j < n; j += LANES, b += k * LANES) {
        double sum[LANES] = {0};

        for (int64_t i = 0; i < k; i++) {
            bool last = i % STEP == STEP - 1 || i == k - 1;

            for (int l = 0; l < LANES; l++) {
                sum[l] += (double)a[i] * b[i * LANES + l];
                if (last)
                    sum[l] = truncated(sum[l]);
            }
        }
        copy_part(row + j, sum, n - j);
    }
}

/* ---- operands that are read whole ------------------------------------------------------ */

/* Where element (r, c) of the operand, as it is multiplied, lies in the matrix. */
static int64_t place(int operand, int64_t rows, int64_t cols, int64_t r, int64_t c)
{
    return operand == 0 ? r * cols + c : (c / LANES * rows + r) * LANES + c % LANES;
}

/* What a plain implementation scales an operand by before it is rounded. */
static double scale_of(const Ref *ref)
{
    static const double scales[REF_PLAINS] = {1, 0.625, 0.875, 0.75, 0.5625};

    return ref_is_plain(ref) ? scales[ref->precision - REF_PLAIN] : 1;
}

static double rounded(const Ref *ref, const Node *node, int operand, double x)
{
    double scale = scale_of(ref);

    return node->rounds[operand] ? dtype_round(node->types[operand], x * scale) / scale : x;
}

/* Row r of the operand as it was computed goes to row r of the matrix, or to
 * column r when it is transposed. */
static void scatter(const Ref *ref, const Node *node, int operand, int64_t r, void *matrix)
{
    const Node *arg = &ref->nodes[node->op->args[operand].value->id];
    int64_t rows = arg->dims[arg->rank - 2], cols = arg->dims[arg->rank - 1];
    bool transposed = node->op->args[operand].transposed;

    for (int64_t c = 0; c < cols; c++) {
        double x = rounded(ref, node, operand, node->operand_row[c]);
        int64_t at = transposed ? place(operand, cols, rows, c, r) : place(operand, rows, cols, r, c);

        if (node->single[operand])
            ((float *)matrix)[at] = (float)x;
        else
            ((double *)matrix)[at] = x;
    }
}

/* The operand's matrix for the batch entry of the result's coordinates. */
static void *matrix_of(Ref *ref, Node *node, int operand, const int64_t *at)
{
    const DefValue *value = node->op->args[operand].value;
    const Node *arg = &ref->nodes[value->id];
    int64_t lead[8] = {0}, rows = arg->dims[arg->rank - 2], index;
    Store *store = &node->matrices[operand];
    bool filled;
    void *matrix;

    rows_follow(&node->links[operand], at, lead);
    lead[arg->rank - 2] = 0;
    index = rows > 0 ? rows_number(arg, lead) / rows : 0;
    matrix = store_slot(ref, store, index, &filled);
    for (int64_t r = 0; !filled && r < rows; r++) {
        lead[arg->rank - 2] = r;
        rows_get(ref, value, lead, node->operand_row);
        scatter(ref, node, operand, r, matrix);
    }
    return matrix;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Row `at` of the first operand, as doubles or as floats. */
static const void *first_row(Ref *ref, Node *node, const int64_t *at, int64_t k)
{
    bool plain = ref_is_plain(ref);
    int64_t lead[8];

    if (node->op->args[0].transposed)
        return (char *)matrix_of(ref, node, 0, at) +
               (size_t)(at[node->rank - 2] * k) * (node->single[0] ? sizeof(float) : sizeof(double));
    rows_follow(&node->links[0], at, lead);
    rows_get(ref, node->op->args[0].value, lead, node->args[0]);
    if (!plain)
        return node->args[0];
    for (int64_t i = 0; i < k; i++)
        node->narrow[i] = (float)rounded(ref, node, 0, node->args[0][i]);
    return node->narrow;
}

void gemm_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    const DefArg *first = &node->op->args[0];
    const Node *a = &ref->nodes[first->value->id];
    int64_t k = a->dims[a->rank - (first->transposed ? 2 : 1)], n = node->dims[node->rank - 1];
    const void *left = first_row(ref, node, at, k);
    const void *right = matrix_of(ref, node, 1, at);

    if (ref->precision == REF_PLAIN + REF_PLAINS - 1)
        product_in_steps(left, right, row, k, n);
    else if (ref_is_plain(ref))
        product_narrow(left, right, row, k, n, k * ((ref->precision - REF_PLAIN + node->op->again) % REF_PLAINS) / REF_PLAINS);
    else if (node->single[1])
        product_mixed(left, right, row, k, n);
    else
        product_wide(left, right, row, k, n);
}
