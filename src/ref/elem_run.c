/* elem_run.c: runs the postfix code of elem.h over a row.
 *
 * Columns are taken ELEM_BLOCK at a time; an entry of the stack is a vector of
 * that many numbers, or one number for all of them (`uniform`).
 */
#include "ref/elem.h"

#include <math.h>

enum { FEW_OF_A_ROW = 32 }; /* one element in so many */

typedef struct Entry {
    double *v; /* ELEM_BLOCK numbers; a uniform entry has one */
    bool uniform;
} Entry;

/* What a READ node needs: the sizes of its tensor and the row read last; of an input, once more than a few elements of it were wanted. */
typedef struct Reader {
    const DefValue *value;
    int64_t dims[8], lead[8], wanted;
    double *row;
    bool filled;
} Reader;

struct ElemRun {
    const DefElem *elem;
    const ElemEnv *env;
    Entry *stack;
    int top;
    int64_t *shares;  /* by node */
    double *sizes;    /* by node */
    Reader **readers; /* by node */
    const int64_t *lead;
    int64_t column;   /* of the block's first element */
    int n;            /* columns of the block */
};

/* ---- set-up -------------------------------------------------------------------------- */

static int64_t eval_size(const ElemEnv *env, const Aff *size)
{
    int64_t value;

    return aff_eval(size, env->syms, &value) ? value : 0;
}

static int64_t eval_share(const ElemEnv *env, const ElemNode *node)
{
    int64_t of, by;

    if (!node->share_of)
        return 1;
    of = eval_size(env, node->share_of);
    by = eval_size(env, node->share_by);
    return by > 0 && of >= by ? of / by : 1;
}

static Reader *new_reader(Arena *arena, const ElemEnv *env, const DefValue *value)
{
    Reader *reader = arena_new_of(arena, Reader);

    reader->value = value;
    for (int d = 0; d < value->rank; d++)
        reader->dims[d] = eval_size(env, value->dims[d].size);
    if (reader->dims[value->rank - 1] > 0)
        reader->row = arena_array(arena, double, reader->dims[value->rank - 1]);
    return reader;
}

ElemRun *elem_run_new(Arena *arena, const DefElem *elem, const ElemEnv *env)
{
    ElemRun *run = arena_new_of(arena, ElemRun);
    int n = elem->nodes.len;

    run->elem = elem;
    run->env = env;
    run->stack = arena_array(arena, Entry, elem->depth + 1);
    run->shares = arena_array(arena, int64_t, n);
    run->sizes = arena_array(arena, double, n);
    run->readers = arena_array(arena, Reader *, n);
    for (int i = 0; i <= elem->depth; i++)
        run->stack[i].v = arena_array(arena, double, ELEM_BLOCK);
    for (int i = 0; i < n; i++) {
        const ElemNode *node = &elem->nodes.data[i];

        run->shares[i] = eval_share(env, node);
        run->sizes[i] = node->size ? (double)eval_size(env, node->size) : 0;
        if (node->kind == ELEM_READ)
            run->readers[i] = new_reader(arena, env, node->value);
    }
    return run;
}

/* ---- nodes ----------------------------------------------------------------------------- */

static Entry *push(ElemRun *run, bool uniform)
{
    Entry *entry = &run->stack[run->top++];

    entry->uniform = uniform;
    return entry;
}

static void push_number(ElemRun *run, double number)
{
    push(run, true)->v[0] = number;
}

static void push_axis(ElemRun *run, int i, int axis)
{
    double from = run->sizes[i];
    int64_t share = run->shares[i];
    Entry *entry;

    if (axis < run->elem->rank - 1) {
        push_number(run, (double)(run->lead[axis] / share) + from);
        return;
    }
    entry = push(run, false);
    if (share == 1)
        for (int k = 0; k < run->n; k++)
            entry->v[k] = (double)(run->column + k) + from;
    else
        for (int k = 0; k < run->n; k++)
            entry->v[k] = (double)((run->column + k) / share) + from;
}

/* An operand's step from column to column. */
static int step(const Entry *entry)
{
    return entry->uniform ? 0 : 1;
}

#define LOOP(expr)                                        \
    for (int k = 0; k < n; k++, a += step_a, b += step_b) \
        to[k] = (expr);                                   \
    break

static void operate(ExprOp op, double *to, const double *a, int step_a, const double *b, int step_b, int n)
{
    switch (op) {
    case EO_ADD: LOOP(*a + *b);
    case EO_SUB: LOOP(*a - *b);
    case EO_MUL: LOOP(*a * *b);
    case EO_DIV: LOOP(*a / *b);
    case EO_LT: LOOP(*a < *b);
    case EO_LE: LOOP(*a <= *b);
    case EO_GT: LOOP(*a > *b);
    case EO_GE: LOOP(*a >= *b);
    case EO_EQ: LOOP(*a == *b);
    case EO_NE: LOOP(*a != *b);
    case EO_AND: LOOP((*a != 0) & (*b != 0));
    case EO_OR: LOOP((*a != 0) | (*b != 0));
    case EO_NEG: case EO_NOT: case EO_IDIV: case EO_MOD: case EO_POW: LOOP(elem_operator(op, *a, *b));
    }
}

/* In plain precision to fp32, but for integers: those stand for positions and sizes. */
static void round_results(const ElemRun *run, double *v, int n)
{
    for (int k = 0; run->env->plain && k < n; k++)
        if (v[k] != floor(v[k]))
            v[k] = (float)v[k];
}

static void run_operator(ElemRun *run, const ElemNode *node)
{
    Entry *a = &run->stack[run->top - node->n_args], *b = node->n_args > 1 ? a + 1 : a;
    bool uniform = a->uniform && b->uniform;
    double result[ELEM_BLOCK];
    int n = uniform ? 1 : run->n;

    operate(node->op, result, a->v, step(a), b->v, step(b), n);
    round_results(run, result, n);
    memcpy(a->v, result, (size_t)n * sizeof *result);
    a->uniform = uniform;
    run->top += 1 - node->n_args;
}

static bool all_uniform(const Entry *args, int n)
{
    for (int i = 0; i < n; i++)
        if (!args[i].uniform)
            return false;
    return true;
}

static void run_call(ElemRun *run, const ElemNode *node)
{
    Entry *args = &run->stack[run->top - node->n_args];
    bool uniform = all_uniform(args, node->n_args);
    double result[ELEM_BLOCK];
    int n = uniform ? 1 : run->n;

    for (int k = 0; k < n; k++) {
        double x[3] = {0};

        for (int i = 0; i < node->n_args; i++)
            x[i] = args[i].v[k * step(&args[i])];
        result[k] = elem_call(node->fn, x);
    }
    round_results(run, result, n);
    memcpy(args[0].v, result, (size_t)n * sizeof *result);
    args[0].uniform = uniform;
    run->top += 1 - node->n_args;
}

static double read_element(ElemRun *run, Reader *reader, const Entry *args, int k)
{
    int64_t at[8];
    int rank = reader->value->rank;

    for (int d = 0; d < rank; d++) {
        double x = args[d].v[k * step(&args[d])];

        if (!(x >= 0 && x < (double)reader->dims[d]))
            return 0;
        at[d] = (int64_t)x;
    }
    if (memcmp(at, reader->lead, (size_t)(rank - 1) * sizeof *at) != 0) {
        memcpy(reader->lead, at, (size_t)(rank - 1) * sizeof *at);
        reader->filled = false;
        reader->wanted = 0;
    }
    if (!reader->filled && !reader->value->op && ++reader->wanted <= reader->dims[rank - 1] / FEW_OF_A_ROW)
        return run->env->read_one(run->env->user, reader->value, at);
    if (!reader->filled)
        run->env->read(run->env->user, reader->value, reader->lead, reader->row);
    reader->filled = true;
    return reader->row[at[rank - 1]];
}

static void run_read(ElemRun *run, const ElemNode *node, Reader *reader)
{
    Entry *args = &run->stack[run->top - node->n_args];
    bool uniform = all_uniform(args, node->n_args);
    double result[ELEM_BLOCK];
    int n = uniform ? 1 : run->n;

    for (int k = 0; k < n; k++)
        result[k] = read_element(run, reader, args, k);
    memcpy(args[0].v, result, (size_t)n * sizeof *result);
    args[0].uniform = uniform;
    run->top += 1 - node->n_args;
}

static void run_node(ElemRun *run, int i)
{
    const ElemNode *node = &run->elem->nodes.data[i];

    switch (node->kind) {
    case ELEM_NUMBER: push_number(run, node->number); break;
    case ELEM_AXIS: push_axis(run, i, node->axis); break;
    case ELEM_SIZE: push_number(run, run->sizes[i]); break;
    case ELEM_PARAM: push_number(run, run->env->params[node->param]); break;
    case ELEM_OPERATOR: run_operator(run, node); break;
    case ELEM_CALL: run_call(run, node); break;
    case ELEM_READ: run_read(run, node, run->readers[i]); break;
    }
}

/* ---- rows --------------------------------------------------------------------------------- */

static void run_block(ElemRun *run, double *to)
{
    const Entry *result = run->stack;

    run->top = 0;
    for (int i = 0; i < run->elem->nodes.len; i++)
        run_node(run, i);
    for (int k = 0; k < run->n; k++)
        to[k] = result->v[k * step(result)];
}

void elem_row(ElemRun *run, const int64_t *lead, double *row, int64_t n)
{
    run->lead = lead;
    for (int64_t column = 0; column < n; column += ELEM_BLOCK) {
        run->column = column;
        run->n = n - column < ELEM_BLOCK ? (int)(n - column) : ELEM_BLOCK;
        run_block(run, row + column);
    }
}

double elem_scalar(Arena *arena, const DefElem *elem, const ElemEnv *env)
{
    ElemEnv exact = *env; /* the launch computes it, and rounds it once */
    exact.plain = false;
    ElemRun *run = elem_run_new(arena, elem, &exact);
    double value;

    elem_row(run, NULL, &value, 1);
    return value;
}
