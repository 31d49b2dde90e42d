/* same.c: Reshapes that change nothing.
 *
 *   GEMM A, X and get v                          GEMM A, X and get S
 *   Reshape v and get S (b, b, N)      ->
 *
 * What has the shape already that it is given is what was computed. Else it would be read element by element, which takes a kernel,
 * and names that say which dimension is which.
 */
#include "fuse/flow.h"

bool flow_is_same(const DefOp *op)
{
    const DefValue *x = op->op == OP_RESHAPE && !op->args[0].transposed ? op->args[0].value : NULL, *result = op->result;

    if (!x || x->rank != result->rank)
        return false;
    for (int d = 0; d < x->rank; d++) {
        const char *a = x->dims[d].name, *b = result->dims[d].name;

        if (x->dims[d].size != result->dims[d].size || (a != b && (!a || !b || strcmp(a, b) != 0)))
            return false;
    }
    return true;
}

/* Whether expressions name it, or what became it. */
static bool is_read(const Remade *r, const DefValue *value)
{
    for (int i = 0; i < r->from->ops.len; i++)
        for (int k = 0; k < r->from->ops.data[i]->reads.len; k++)
            if (r->made[r->from->ops.data[i]->reads.data[k].value->id] == r->made[value->id])
                return true;
    return false;
}

static bool changes_nothing(const DefOp *op)
{
    return flow_is_same(op) && op->args[0].value->op;
}

/* Whether one name will do: an output's, where what it is made of is none itself and is named by no expression; else that of what it
 * is made of. */
static bool shares_name(const Remade *r, const DefOp *op)
{
    const DefValue *x = op->args[0].value;

    return op->result->is_output ? !r->made[x->id]->is_output && !is_read(r, x) : !is_read(r, op->result);
}

/* Times one, since a value has one name. */
static void copy_elements(Remade *r, const DefOp *op)
{
    DefOp *copy = flow_keep_op(r, op);
    Stmt *stmt = arena_new_of(r->arena, Stmt);

    *stmt = *op->stmt;
    stmt->n_args = 0;
    copy->stmt = stmt;
    copy->op = OP_MULTIPLY;
    copy->n_args = 2;
    copy->args[1] = (DefArg){.scalar = {.is_const = true, .value = 1, .expr = expr_float(r->arena, 1)}};
}

const Def *flow_drop_same(Arena *arena, const Def *def)
{
    bool any = false;

    for (int i = 0; i < def->ops.len; i++)
        any |= changes_nothing(def->ops.data[i]);
    if (!any)
        return def;
    Remade r = flow_remake(arena, def);
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];

        if (!changes_nothing(op))
            flow_keep_op(&r, op);
        else if (shares_name(&r, op))
            flow_drop_op(&r, op);
        else
            copy_elements(&r, op);
    }
    return r.def;
}
