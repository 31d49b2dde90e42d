/* share.c: kernels that leave in memory what others would compute again.
 *
 * Outputs with other rows have kernels of their own (cut.c). What both need, and the first one's blocks have anyway, it leaves:
 * what rows come to, or, of a product, the last value that the others take.
 *
 *   RowMean X2 ... and get r             Kernel f: X, dY -> dX, r
 *   ... r ... and get dX          ->     Kernel f_2: X, dY, r -> dg
 *   ColSum (dY * X * r) and get dg
 *
 * Likewise values that must be in memory, since elements of them are read, come out of one kernel where they are made of the same
 * products, or of one tensor (its rows' sums and sums of squares), or one of the other, as a mean and a variance are.
 */
#include "fuse/cutter.h"

enum { SHORT = 512 }; /* sums that tensor cores make again in the time that a number takes to memory and back */

typedef struct Sharing {
    Cutter *c;
    const bool *here, *there; /* by value id: what the one, and what the others, are computed from */
} Sharing;

static bool is_shared(const Sharing *s, const DefValue *value)
{
    return s->here[value->id] && s->there[value->id] && value->op && !cut_find_kept(s->c, value);
}

/* Along how many elements a product sums; 0: that is not known. */
static int64_t depth_of(const DefOp *gemm)
{
    const DefArg *a = &gemm->args[0];
    int64_t depth;

    return aff_is_const(a->value->dims[a->value->rank - (a->transposed ? 2 : 1)].size, &depth) ? depth : 0;
}

/* deep: sums that take longer to make again than to write and to read. */
static bool shares_products(const Sharing *s, bool deep)
{
    bool any = false;

    for (int i = 0; i < s->c->def->ops.len; i++) {
        const DefOp *op = s->c->def->ops.data[i];

        any |= op->op == OP_GEMM && is_shared(s, op->result) && (!deep || depth_of(op) == 0 || depth_of(op) > SHORT);
    }
    return any;
}

static bool may_be_left(const Sharing *s, const DefValue *value, const DefValue *beside)
{
    return is_shared(s, value) && flow_same_rows(value, beside) && cut_is_little(s->c->def, value) &&
           cut_has_shape(s->c, value);
}

/* What rows come to. */
static void add_totals(const Sharing *s, const DefValue *beside, Goal *left)
{
    const Def *def = s->c->def;

    for (int i = 0; i < def->ops.len; i++) {
        OpClass class = op_info(def->ops.data[i]->op)->class;
        DefValue *value = def->ops.data[i]->result;

        if (class != OPC_ROW_REDUCE && class != OPC_COL_REDUCE)
            continue;
        value = cut_as_wanted(def, value);
        if (!value->is_output && may_be_left(s, value, beside))
            left->values[left->n++] = value;
    }
}

/* The last one that both have, of those that are made of products. It may be an output, which is rounded where it is written. */
static void add_last(const Sharing *s, const DefValue *beside, Goal *left)
{
    const Def *def = s->c->def;

    for (int i = def->ops.len - 1; i >= 0 && left->n == 0 && shares_products(s, true); i--)
        if (may_be_left(s, def->ops.data[i]->result, beside))
            left->values[left->n++] = def->ops.data[i]->result;
}

static void keep(Cutter *c, const Goal *left)
{
    for (int i = 0; i < left->n; i++) {
        Kept kept = cut_keep(c, left->values[i]);

        vec_push(c->arena, &c->kept, kept);
    }
}

/* Leaves of the values those that the rest reads where all of them are kept: what only others of them are made of it needs no more. */
static void leave_what_is_read(const Cutter *c, Goal *left, const Goal *rest)
{
    const bool *read = cut_needed_behind(c, left, rest);
    int n = 0;

    for (int i = 0; i < left->n; i++)
        if (read[left->values[i]->id])
            left->values[n++] = left->values[i];
    left->n = n;
}

bool cut_share(Cutter *c, const Goal *first, const Goal *rest)
{
    Sharing s = {c, cut_needed_for(c, first), cut_needed_for(c, rest)};
    Goal left = {.values = arena_array(c->arena, DefValue *, c->def->ops.len + first->n)};

    add_totals(&s, first->values[0], &left);
    if (left.n == 0)
        add_last(&s, first->values[0], &left);
    if (left.n == 0 || cut_is_read_where_written(c, left.values[0]))
        return false;
    leave_what_is_read(c, &left, rest);
    keep(c, &left);
    Goal both = {.values = arena_array(c->arena, DefValue *, first->n + left.n), .keeps = true};
    for (int i = 0; i < first->n; i++)
        both.values[both.n++] = first->values[i];
    for (int i = 0; i < left.n && !both.beside; i++)
        if (cut_in_goal(first, left.values[i]))
            both.beside = left.values[i];
        else
            both.values[both.n++] = left.values[i];
    both.keeps = !both.beside;
    return cut_attempt(c, &both, false);
}

/* Whether both are made of a tensor that is larger than they are, and of no products. */
static bool shares_tensors(const Sharing *s, const DefValue *a, const DefValue *b)
{
    bool any = false;

    for (int i = 0; i < s->c->def->inputs.len; i++) {
        const DefValue *input = s->c->def->inputs.data[i];

        any |= s->here[input->id] && s->there[input->id] && !flow_is_vector(input);
    }
    return any && !def_multiplies(s->c->def) && flow_is_vector(a) && flow_is_vector(b);
}

/* Of two values with the same rows: what the one is made of the other has at hand. */
static bool belongs(Cutter *c, const Goal *left, DefValue *value, bool of_each_other)
{
    Goal one = {.values = &value, .n = 1};
    Sharing s = {c, cut_needed_for(c, left), cut_needed_for(c, &one)};
    bool depends = s.here[value->id] || s.there[left->values[0]->id];
    bool alike = !depends && (shares_products(&s, false) || shares_tensors(&s, left->values[0], value));

    return flow_same_rows(left->values[0], value) && (of_each_other ? depends : alike);
}

bool cut_together(Cutter *c, const Goal *values, bool of_each_other)
{
    Goal left = {.values = arena_array(c->arena, DefValue *, values->n), .keeps = true};

    left.values[left.n++] = values->values[0];
    for (int i = 1; i < values->n; i++)
        if (belongs(c, &left, values->values[i], of_each_other))
            left.values[left.n++] = values->values[i];
    if (left.n == 1)
        return false;
    keep(c, &left);
    return cut_attempt(c, &left, false);
}
