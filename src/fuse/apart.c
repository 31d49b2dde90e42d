/* apart.c: operands of products that are made once, by kernels ahead.
 *
 * What a product takes may be computed: weights of few bits that are widened, rows that are normalized, keys
 * that are rotated. In one kernel every block makes anew what it takes of that, as often as there are tiles of
 * columns (of a first operand) or of rows (of a second one). Where the model thinks that slower than to make
 * it once, leave it in memory and read it from there, it is a kernel of its own.
 *
 *   RowMean ... and get Xn           Kernel f: X, gain -> Xn
 *   GEMM Xn, W and get Y       ->    Kernel f_2: Xn, W -> Y
 *
 * Operands that are made of products are not considered: they are as large as what the products read, or larger.
 */
#include "fuse/cutter.h"

#include <math.h>

enum {
    MOST_OPERANDS = 4,
    ONE_TILE = 128 /* rows or columns of a result that most tiles are as large as: the operand is made once as it is */
};

typedef struct Apart {
    Arena *arena;
    Syms *syms;
    const Def *def;
    const Settings *launch; /* sizes that it is said to give; NULL: none */
    FuseCost cost;
    void *user;
    FuseAsked *asked;
    bool forced;  /* whatever it takes */
    int n_values; /* ids are less */
    DefValue *values[MOST_OPERANDS];
    int n;
    Program *best;
    double least;
} Apart;

static const Diag *fits_if_it_can_be(void *user, const Program *sketch)
{
    (void)user;
    (void)sketch;
    return NULL;
}

static Cutter cutter(const Apart *a)
{
    return (Cutter){.arena = a->arena, .syms = a->syms, .def = a->def, .misfit = fits_if_it_can_be, .n_values = a->n_values,
                    .why = "every block would make it again", .asked = a->asked};
}

/* With these left in memory, one after the other. */
static Program *kernels_for(const Apart *a, DefValue *const *values, int n)
{
    const Cutter all_of = cutter(a);
    Cutter c = cut_afresh(&all_of, a->def, a->n_values, "");
    Goal all = {.values = a->def->outputs.data, .n = a->def->outputs.len};

    for (int i = 0; i < n; i++) {
        Goal one = {.values = (DefValue **)&values[i], .n = 1, .keeps = true};
        Kept kept = cut_keep(&c, values[i]);

        vec_push(c.arena, &c.kept, kept);
        if (!cut_reach(&c, &one))
            return NULL;
    }
    return cut_reach(&c, &all) ? cut_written(&c) : NULL;
}

static bool is_known(const Apart *a, const DefValue *value)
{
    for (int i = 0; i < a->n; i++)
        if (a->values[i] == value)
            return true;
    return false;
}

static bool is_made_of_products(const Cutter *c, DefValue *value)
{
    Goal goal = {.values = &value, .n = 1};
    const bool *needed = cut_needed_for(c, &goal);

    for (int i = 0; i < c->def->ops.len; i++)
        if (c->def->ops.data[i]->op == OP_GEMM && needed[c->def->ops.data[i]->result->id])
            return true;
    return false;
}

static bool may_be_apart(const Apart *a, DefValue *value)
{
    const Cutter c = cutter(a);

    return value && value->op && !value->is_output && !is_known(a, value) && cut_has_shape(&c, value) &&
           cut_is_little(a->def, value) && !is_made_of_products(&c, value);
}

/* A size that is compiled in, or that the launch is said to give; 0: it is not known. */
static int64_t expected(const Apart *a, DefDim dim)
{
    int64_t size;

    if (aff_is_const(dim.size, &size))
        return size;
    const Setting *given = dim.size->kind == AFF_SYM && a->launch ? settings_find(a->launch, dim.size->sym->name) : NULL;
    return given && given->value > 0 && given->value <= INT32_MAX ? (int64_t)given->value : 0;
}

/* Whether there are blocks enough that make the same of an operand: of a first one, for other columns of the result, of
 * a second one, for other rows. So where it is not known how many rows there are, what follows them may be made apart
 * (it is as much work as the launch is large), but not weights, which may be more work than all else. */
static bool is_made_often(const Apart *a, const DefOp *product, int operand)
{
    const DefValue *result = product->result;

    return result->rank > 1 && expected(a, result->dims[result->rank - (operand == 0 ? 1 : 2)]) > ONE_TILE;
}

/* With these left in memory, if that takes least so far. */
static void try_values(Apart *a, DefValue *const *values, int n)
{
    Program *program = kernels_for(a, values, n);
    double cost = program ? a->cost(a->user, program) : INFINITY;

    if (cost < a->least) {
        a->best = program;
        a->least = cost;
    }
}

/* Of products that an output is made of. */
static void collect(Apart *a)
{
    const Cutter c = cutter(a);
    Goal all = {.values = a->def->outputs.data, .n = a->def->outputs.len};
    const bool *needed = cut_needed_for(&c, &all);

    for (int i = 0; i < a->def->ops.len; i++) {
        const DefOp *op = a->def->ops.data[i];

        for (int k = 0; k < 2 && op->op == OP_GEMM && needed[op->result->id] && a->n < MOST_OPERANDS; k++)
            if (may_be_apart(a, op->args[k].value) && (a->forced || is_made_often(a, op, k)))
                a->values[a->n++] = op->args[k].value;
    }
}

/* All of them, or one: what one costs may be hidden behind another. */
static void try_all(Apart *a)
{
    if (a->n > 0)
        try_values(a, a->values, a->n);
    for (int i = 0; i < a->n && a->n > 1 && !(a->forced && a->best); i++)
        try_values(a, &a->values[i], 1);
}

static Program *make_apart(void *user, const Def *def, int n_values)
{
    Apart a = *(const Apart *)user;

    a.def = def;
    a.n_values = n_values;
    a.asked = fuse_asked_new(a.arena);
    collect(&a);
    try_all(&a);
    return a.best;
}

Program *fuse_apart(Arena *arena, Syms *syms, const Def *def, const Settings *launch, double least, FuseCost cost, void *user)
{
    Apart a = {.arena = arena, .syms = syms, .launch = launch, .cost = cost, .user = user, .forced = isinf(least), .least = least * (1 - FUSE_APART_GAIN)};

    return cut_as_seen(arena, syms, def, make_apart, &a);
}
