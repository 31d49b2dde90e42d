/* flops.c: the floating-point operations that a definition asks for.
 *
 * Two for every multiply-add of every GEMM, where it counts: an element that a
 * Mask throws away need not have been computed, and one that it has made a
 * constant need not be multiplied; so with -inf that is added where places say.
 *
 *   Compute GEMM Q, K.T and get S      counts where the Mask below is true
 *   Compute Mask S where kv <= q
 *   Compute Softmax S and get P
 *   Compute GEMM P, V and get O        sums over the live columns of P
 *
 * So a score that a causal mask leaves alive counts 2 (Dqk + Dv), as in papers.
 */
#include "ref/exec.h"

#include <math.h>

enum { SAMPLES = 1024 };

typedef struct Counter {
    Ref ref;       /* only what binding and evaluating need */
    double *need;  /* by value id: the part of its elements that some user looks at */
    double *live;  /* by value id: the part that no Mask made constant */
} Counter;

/* The leading axes that a condition speaks of. */
static unsigned axes_of(const DefElem *elem, int rank)
{
    unsigned axes = 0;

    for (int i = 0; i < elem->nodes.len; i++)
        if (elem->nodes.data[i].kind == ELEM_AXIS && elem->nodes.data[i].axis < rank - 1)
            axes |= 1u << elem->nodes.data[i].axis;
    return axes;
}

/* The row that stands in the middle of the i-th of `n` equal parts of all rows
 * along the axes. */
static void middle_row(unsigned axes, int rank, const int64_t *dims, double at, int64_t *lead)
{
    int64_t number = (int64_t)at;

    for (int d = rank - 2; d >= 0; d--) {
        lead[d] = axes & 1u << d ? number % dims[d] : 0;
        if (axes & 1u << d)
            number /= dims[d];
    }
}

/* The part of the elements that are not `none`. */
static double sample(Counter *c, const DefElem *elem, int rank, const int64_t *dims, double none)
{
    unsigned axes = axes_of(elem, rank);
    ElemRun *run = elem_run_new(c->ref.arena, elem, &c->ref.env);
    int64_t cols = dims[rank - 1], lead[8] = {0};
    double *row = arena_array(c->ref.arena, double, cols + 1);
    double rows = 1, parts, seen = 0;

    for (int d = 0; d < rank - 1; d++)
        rows *= axes & 1u << d ? (double)dims[d] : 1;
    parts = rows < SAMPLES ? rows : SAMPLES;
    for (int i = 0; i < (int)parts; i++) {
        middle_row(axes, rank, dims, (i + 0.5) * rows / parts, lead);
        elem_row(run, lead, row, cols);
        for (int64_t k = 0; k < cols; k++)
            seen += row[k] != none;
    }
    return rows * (double)cols > 0 ? seen / (parts * (double)cols) : 0;
}

/* The part of an operation's elements of which its formula does not say `none`; 1 when that depends on data. */
static double part_of(Counter *c, const DefOp *op, double none)
{
    const DefValue *v = op->result;
    int64_t dims[8];
    const char *error;

    if (!op->elem || op->elem->n_reads || v->rank == 0 || !bind_dims(&c->ref, v, dims, &error))
        return 1;
    return sample(c, op->elem, v->rank, dims, none);
}

/* What is added is a mask where it is -inf. */
static double part_of_sum(Counter *c, const DefOp *op)
{
    double part = 1;

    for (int i = 0; i < op->n_args; i++)
        for (int k = 0; k < c->ref.def->ops.len; k++) {
            const DefOp *made = c->ref.def->ops.data[k];
            double there = made->op == OP_DEFINE && made->result == op->args[i].value ? part_of(c, made, -INFINITY) : 1;

            part = there < part ? there : part;
        }
    return part;
}

/* The part of its elements that an operation does not make constant. */
static double kept_part(Counter *c, const DefOp *op)
{
    if (op_info(op->op)->class == OPC_MASK)
        return part_of(c, op, 0);
    return op->op == OP_ADD ? part_of_sum(c, op) : 1;
}

/* Operations through which a constant element stays one. */
static bool elementwise(const DefOp *op)
{
    OpClass class = op_info(op->op)->class;

    return class == OPC_ELEMENT || class == OPC_CAST || class == OPC_SOFTMAX || class == OPC_MASK;
}

static void find_live(Counter *c, const DefOp *op, double part)
{
    double live = 1;

    for (int i = 0; i < op->n_args && elementwise(op); i++) {
        const DefValue *v = op->args[i].value;

        if (v && def_same_shape(v, op->result) && c->live[v->id] < live)
            live = c->live[v->id];
    }
    c->live[op->result->id] = live < part ? live : part;
}

static void find_need(Counter *c, const DefOp *op, double part)
{
    OpClass class = op_info(op->op)->class;
    bool passes = class == OPC_ELEMENT || class == OPC_CAST || class == OPC_MASK;

    for (int i = 0; i < op->n_args; i++) {
        const DefValue *v = op->args[i].value;
        double need = v && passes && def_same_shape(v, op->result) ? c->need[op->result->id] : 1;

        if (need > part)
            need = part;
        if (v && need > c->need[v->id])
            c->need[v->id] = need;
    }
}

static double gemm_flops(Counter *c, const DefOp *op)
{
    const DefValue *a = op->args[0].value, *out = op->result;
    int64_t dims[8], inner[8];
    double part = 1, count = 2;
    const char *error;

    if (!a || a->rank < 1 || !bind_dims(&c->ref, out, dims, &error) ||
        !bind_dims(&c->ref, a, inner, &error))
        return 0;
    for (int d = 0; d < out->rank; d++)
        count *= (double)dims[d];
    count *= (double)inner[op->args[0].transposed ? a->rank - 2 : a->rank - 1];
    if (c->need[out->id] < part)
        part = c->need[out->id];
    if (c->live[a->id] < part)
        part = c->live[a->id];
    return count * part;
}

double ref_flops(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings)
{
    Counter c = {.ref = {.arena = arena, .def = def}};
    double *parts = arena_array(arena, double, def->ops.len + 1), total = 0;
    const char *error;

    if (!bind_symbols(&c.ref, bindings, n_bindings, NULL, &error))
        return 0;
    c.need = arena_array(arena, double, def->values.len + 1);
    c.live = arena_array(arena, double, def->values.len + 1);
    for (int i = 0; i < def->values.len; i++)
        c.live[def->values.data[i]->id] = 1;
    for (int i = 0; i < def->outputs.len; i++)
        c.need[def->outputs.data[i]->id] = 1;
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];

        parts[i] = kept_part(&c, op);
        find_live(&c, op, parts[i]);
    }
    for (int i = def->ops.len - 1; i >= 0; i--)
        find_need(&c, def->ops.data[i], parts[i]);
    for (int i = 0; i < def->ops.len; i++)
        if (op_info(def->ops.data[i]->op)->class == OPC_GEMM)
            total += gemm_flops(&c, def->ops.data[i]);
    return total;
}

double ref_elements(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings)
{
    Counter c = {.ref = {.arena = arena, .def = def}};
    double total = 0;
    const char *error;

    if (!bind_symbols(&c.ref, bindings, n_bindings, NULL, &error))
        return 0;
    for (int i = 0; i < def->values.len; i++) {
        const DefValue *v = def->values.data[i];
        int64_t dims[8];
        double count = bind_dims(&c.ref, v, dims, &error) ? 1 : 0;

        for (int d = 0; d < v->rank && count > 0; d++)
            count *= (double)dims[d];
        total += count;
    }
    return total;
}
