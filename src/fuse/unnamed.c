/* unnamed.c: names for sizes of what is seen of inputs.
 *
 *                                                                              Let length = most * page
 *   Define K (B, most * page, D) as Cache[Table[B, row div page], ...]    ->   Define K (B, length, D) as Cache[Table[B, row div page], ...]
 *
 * A loop in a sketch goes over a dimension by its name. What is computed may have sizes without one, for which kernels find
 * names of their own; tiles that are copied from where an access says (view.c) are declared as tensors, by the definition's names.
 * A size that an Input or Output has without a name stays as it is: all that is of one size goes by one name, or by none.
 */
#include "fuse/flow.h"

static bool has_no_name(DefDim dim)
{
    return !dim.name && !aff_is_const(dim.size, NULL);
}

static bool is_declared(const DefValue *value)
{
    return value->is_input || value->is_output;
}

/* Whether the definition is an access of an input's elements. */
static bool is_seen(const DefOp *op)
{
    const Expr *e = op->op == OP_DEFINE ? op->where : NULL;

    for (int i = 0; e && e->kind == EXPR_INDEX && i < op->reads.len; i++)
        if (expr_is_name(e->a, op->reads.data[i].name))
            return op->reads.data[i].value->is_input;
    return false;
}

/* Whether a declared tensor has it without a name, or any dimension has one for it. */
static bool is_taken(const Def *def, const Aff *size)
{
    for (int i = 0; i < def->dims.len; i++)
        if (def->dims.data[i].size == size)
            return true;
    for (int i = 0; i < def->values.len; i++)
        for (int d = 0; is_declared(def->values.data[i]) && d < def->values.data[i]->rank; d++)
            if (def->values.data[i]->dims[d].size == size)
                return true;
    return false;
}

/* The first size that wants a name; NULL: none does. */
static const Aff *find_size(const Def *def)
{
    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];

        for (int d = 0; is_seen(op) && !is_declared(op->result) && d < op->result->rank; d++)
            if (has_no_name(op->result->dims[d]) && !is_taken(def, op->result->dims[d].size) && flow_feeds_products(def, op->result))
                return op->result->dims[d].size;
    }
    return NULL;
}

static void declare(Remade *r, const char *name, Expr *value, const Aff *size)
{
    Stmt *let = stmt_new(r->arena, STMT_LET);
    Block body = {.comment = r->unit->body.comment};
    bool stands = false;

    let->name = name;
    let->value = value;
    for (int i = 0; i < r->unit->body.len; i++) {
        Stmt *s = r->unit->body.data[i];

        if (!stands && (s->kind == STMT_COMPUTE || s->kind == STMT_IF || s->kind == STMT_INDEX)) {
            vec_push(r->arena, &body, let);
            stands = true;
        }
        vec_push(r->arena, &body, s);
    }
    r->unit->body = body;
    vec_push(r->arena, &r->def->dims, ((DefDimSym){.name = name, .size = size}));
}

const Def *flow_name_sizes(Arena *arena, Syms *syms, const Def *def)
{
    const Aff *size = find_size(def);
    Expr *value = size ? flow_written(arena, syms, size) : NULL;

    if (!value)
        return def;
    Remade r = flow_remake(arena, def);
    Flow flow = {.arena = arena, .syms = syms, .def = def};
    const char *name = flow_fresh(&flow, "length");
    for (int i = 0; i < def->ops.len; i++)
        flow_keep_op(&r, def->ops.data[i]);
    for (int i = 0; i < r.def->values.len; i++)
        for (int d = 0; d < r.def->values.data[i]->rank; d++)
            if (r.def->values.data[i]->dims[d].size == size)
                r.def->values.data[i]->dims[d].name = name;
    declare(&r, name, value, size);
    return flow_name_sizes(arena, syms, r.def);
}
