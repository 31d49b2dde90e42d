/* arrange.c: rows of the operations on whole tensors: what moves elements, sums
 * groups, or finds the largest.
 *
 * Coordinates of the operand follow from the result's by division along one
 * axis, so these nodes have no links (exec.h): each asks for the rows it needs.
 */
#include "ref/exec.h"

#include <math.h>
#include <stdlib.h>

/* ---- whether the sizes fit --------------------------------------------------------- */

static bool unfit(Ref *ref, const Node *node, const char **error, const char *why)
{
    return ref_fail(ref, error, "%s of %s: %s", op_info(node->op->op)->name,
                    def_shape_text(ref->arena, node->op->args[0].value), why);
}

/* 0 when there is none, or more than anything has */
static int64_t elements(const Node *node)
{
    int64_t row = node->dims[node->rank - 1];

    for (int d = 0; d < node->rank; d++)
        if (node->dims[d] == 0)
            return 0;
    return node->rows.count > INT64_MAX / row ? -1 : node->rows.count * row;
}

static bool unfold_fits(Ref *ref, Node *node, const Node *arg, const char **error)
{
    int d = node->op->axis;
    int64_t n = arg->dims[d], by = node->dims[d + 1], blocks;

    if (!aff_eval(node->op->step, ref->syms, &node->step) || node->step < 1 || by < 1)
        return unfit(ref, node, error, "the length and the step of its blocks must be at least 1");
    blocks = n < by ? 0 : (n - by) / node->step + 1;
    if (blocks == node->dims[d])
        return true;
    return unfit(ref, node, error, arena_printf(ref->arena, "there are %lld blocks, declared are %lld",
                                                (long long)blocks, (long long)node->dims[d]));
}

static bool group_fits(Ref *ref, const Node *node, const Node *arg, const char **error)
{
    int64_t of = arg->dims[node->op->axis], to = node->dims[node->op->axis];

    if (of == 0 || (to > 0 && of % to == 0))
        return true;
    return unfit(ref, node, error, arena_printf(ref->arena, "%lld entries do not make %lld groups of the "
                                                "same size", (long long)of, (long long)to));
}

bool arrange_set(Ref *ref, Node *node, const char **error)
{
    Node *arg = rows_node(ref, node->op->args[0].value);
    int64_t n = arg->dims[arg->rank - 1];

    arg->rows.keep = true;
    if (node->op->op == OP_UNFOLD)
        return unfold_fits(ref, node, arg, error);
    if (node->op->op == OP_RESHAPE)
        return elements(node) == elements(arg) ||
               unfit(ref, node, error, "the result has another number of elements");
    if (node->op->op == OP_TOP_K) {
        node->ranked = arena_array(ref->arena, Ranked, n + 1);
        return true;
    }
    return group_fits(ref, node, arg, error);
}

/* ---- elements that move ------------------------------------------------------------- */

static const double *arg_row(Ref *ref, Node *node, const int64_t *lead)
{
    rows_get(ref, node->op->args[0].value, lead, node->args[0]);
    return node->args[0];
}

/* Block b, place p in it: b * step + p along the axis. */
static void unfold_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    int d = node->op->axis, last = node->rank - 1;
    int64_t lead[8];

    memcpy(lead, at, (size_t)last * sizeof *lead);
    if (d == last - 1) { /* the axis is the operand's last: the block is a part of its row */
        memcpy(row, arg_row(ref, node, lead) + at[d] * node->step, (size_t)node->dims[last] * sizeof *row);
        return;
    }
    lead[d] = at[d] * node->step + at[d + 1];
    for (int k = d + 1; k < last - 1; k++)
        lead[k] = at[k + 1];
    memcpy(row, arg_row(ref, node, lead), (size_t)node->dims[last] * sizeof *row);
}

/* The leading coordinates of the row with this number. */
static void coordinates(const Node *node, int64_t number, int64_t *lead)
{
    for (int d = node->rank - 2; d >= 0; d--) {
        lead[d] = number % node->dims[d];
        number /= node->dims[d];
    }
}

static void reshape_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    const Node *arg = rows_node(ref, node->op->args[0].value);
    int64_t n = node->dims[node->rank - 1], width = arg->dims[arg->rank - 1], lead[8] = {0};
    int64_t first = rows_number(node, at) * n;

    for (int64_t done = 0; done < n;) {
        int64_t from = (first + done) % width;
        int64_t part = width - from < n - done ? width - from : n - done;

        coordinates(arg, (first + done) / width, lead);
        memcpy(row + done, arg_row(ref, node, lead) + from, (size_t)part * sizeof *row);
        done += part;
    }
}

void arrange_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    if (node->op->op == OP_UNFOLD)
        unfold_row(ref, node, at, row);
    else
        reshape_row(ref, node, at, row);
}

/* ---- groups ---------------------------------------------------------------------------- */

/* Groups of `share` neighbours within the row. */
static void group_within(Ref *ref, Node *node, const double *x, int64_t share, double *row)
{
    for (int64_t j = 0; j < node->dims[node->rank - 1]; j++)
        for (int64_t k = 0; k < share; k++)
            row[j] = rows_reduce(ref, node->op->op, row[j], x[j * share + k]);
}

static void group_rows(Ref *ref, Node *node, int64_t *lead, int64_t share, double *row)
{
    int d = node->op->axis;
    int64_t first = lead[d] * share;

    for (int64_t k = 0; k < share; k++) {
        const double *x;

        lead[d] = first + k;
        x = arg_row(ref, node, lead);
        for (int64_t j = 0; j < node->dims[node->rank - 1]; j++)
            row[j] = rows_reduce(ref, node->op->op, row[j], x[j]);
    }
}

void group_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    const Node *arg = rows_node(ref, node->op->args[0].value);
    int d = node->op->axis, last = node->rank - 1;
    int64_t share = node->dims[d] > 0 ? arg->dims[d] / node->dims[d] : 0, n = node->dims[last], lead[8];

    memcpy(lead, at, (size_t)last * sizeof *lead);
    for (int64_t j = 0; j < n; j++)
        row[j] = op_identity(node->op->op);
    if (d == last)
        group_within(ref, node, arg_row(ref, node, lead), share, row);
    else
        group_rows(ref, node, lead, share, row);
    for (int64_t j = 0; j < n && node->op->op == OP_GROUP_MEAN; j++)
        row[j] /= (double)share;
}

/* ---- the largest -------------------------------------------------------------------------- */

/* Descending; of equal ones the one that stands first. */
static int compare(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;

    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static bool eligible(double x)
{
    return x > -INFINITY; /* neither masked nor NaN */
}

static void top_within(Node *node, const double *x, double k, double *row)
{
    int64_t n = node->dims[node->rank - 1], found = 0;

    for (int64_t j = 0; j < n; j++) {
        row[j] = 0;
        if (eligible(x[j]))
            node->ranked[found++] = (Ranked){x[j], j};
    }
    qsort(node->ranked, (size_t)found, sizeof *node->ranked, compare);
    for (int64_t j = 0; j < found && (double)j < k; j++)
        row[node->ranked[j].at] = 1;
}

/* Along another axis: how many stand before each element. */
static void top_rows(Ref *ref, Node *node, int64_t *lead, double k, double *row)
{
    int d = node->op->axis;
    int64_t own = lead[d], n = node->dims[node->rank - 1];
    const double *x = arg_row(ref, node, lead);

    for (int64_t j = 0; j < n; j++)
        node->ranked[j] = (Ranked){x[j], 0};
    for (lead[d] = 0; lead[d] < node->dims[d]; lead[d]++) {
        x = arg_row(ref, node, lead);
        for (int64_t j = 0; j < n; j++)
            node->ranked[j].at += x[j] > node->ranked[j].value ||
                                  (x[j] == node->ranked[j].value && lead[d] < own);
    }
    for (int64_t j = 0; j < n; j++)
        row[j] = eligible(node->ranked[j].value) && (double)node->ranked[j].at < k;
}

void top_row(Ref *ref, Node *node, const int64_t *at, double *row)
{
    int last = node->rank - 1;
    int64_t lead[8];

    memcpy(lead, at, (size_t)last * sizeof *lead);
    if (node->op->axis == last)
        top_within(node, arg_row(ref, node, lead), node->scalars[1], row);
    else
        top_rows(ref, node, lead, node->scalars[1], row);
}
