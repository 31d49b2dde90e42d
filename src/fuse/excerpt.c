/* excerpt.c: a goal as a definition of its own.
 *
 * It has the operations that the goal needs and no others; what kernels before it keep is among its inputs, under the name and
 * in the type that it is kept in.
 *
 * Vocabulary: cut.c.
 */
#include "fuse/cutter.h"

typedef struct Excerpting {
    const Cutter *c;
    Remade remade;   /* of the whole definition, whose unit stays */
    const Goal *goal;
    Excerpt made;
    const DefOp *reading; /* elements of tensors: the operation that does */
} Excerpting;

static DefValue *copy_value(Excerpting *x, const DefValue *value)
{
    const Kept *kept = cut_in_goal(x->goal, value) && !x->goal->keeps ? NULL : cut_find_kept(x->c, value);
    DefValue *copy = arena_new_of(x->c->arena, DefValue);

    *copy = *value;
    copy->op = NULL;
    copy->is_input = copy->is_output = false;
    if (kept) {
        copy->name = kept->name;
        copy->dtype = kept->dtype;
        vec_push(x->c->arena, &x->made.workspaces, copy);
    }
    vec_push(x->c->arena, &x->made.def->values, copy);
    x->remade.made[value->id] = copy;
    return copy;
}

static void add_input(Excerpting *x, const DefValue *value)
{
    DefValue *copy = copy_value(x, value);

    copy->is_input = true;
    vec_push(x->c->arena, &x->made.def->inputs, copy);
}

/* What elements are read of, under the name that it has here: of several values with one
 * name in the definition, each is kept under its own. */
static Expr *name_here(void *user, const char *name)
{
    const Excerpting *x = user;

    for (int k = 0; k < x->reading->reads.len; k++) {
        const DefRead *read = &x->reading->reads.data[k];

        if (strcmp(read->name, name) == 0)
            return expr_name(x->c->arena, x->remade.made[read->value->id]->name);
    }
    return NULL;
}

static void read_kept(Excerpting *x, const DefOp *op, DefOp *copy)
{
    x->reading = op;
    copy->where = expr_subst(x->c->arena, op->where, name_here, x);
    for (int k = 0; k < copy->reads.len; k++)
        copy->reads.data[k].name = copy->reads.data[k].value->name;
}

static void add_op(Excerpting *x, const DefOp *op)
{
    copy_value(x, op->result);
    read_kept(x, op, flow_keep_op(&x->remade, op));
}

/* What the goal writes rounded, once more as it is kept: times one, since a value has one name. */
static void add_beside(Excerpting *x, const DefValue *value)
{
    const Kept *kept = cut_find_kept(x->c, value);
    DefValue *made = x->remade.made[value->id], *copy = arena_new_of(x->c->arena, DefValue);
    DefOp *op = arena_new_of(x->c->arena, DefOp);
    Stmt *stmt = arena_new_of(x->c->arena, Stmt);

    *stmt = *value->op->stmt;
    stmt->n_args = 0;
    *copy = *made;
    copy->id = x->c->n_values;
    copy->name = kept->name;
    copy->dtype = kept->dtype;
    copy->op = op;
    copy->is_output = true;
    *op = (DefOp){.stmt = stmt, .op = OP_MULTIPLY, .result = copy, .n_args = 2};
    op->args[0].value = made;
    op->args[1].scalar = (DefScalar){.is_const = true, .value = 1, .expr = expr_float(x->c->arena, 1)};
    vec_push(x->c->arena, &x->made.def->values, copy);
    vec_push(x->c->arena, &x->made.def->ops, op);
    vec_push(x->c->arena, &x->made.def->outputs, copy);
    vec_push(x->c->arena, &x->made.workspaces, copy);
}

Excerpt cut_excerpt(const Cutter *c, const Goal *goal)
{
    Def *def = arena_new_of(c->arena, Def);
    Excerpting x = {.c = c, .goal = goal, .made.def = def, .remade = {c->arena, c->def, def, NULL, arena_array(c->arena, DefValue *, c->n_values)}};
    const bool *needed = cut_needed_for(c, goal);

    *def = *c->def;
    def->whole = c->def->whole ? c->def->whole : c->def;
    memset(&def->values, 0, sizeof def->values);
    memset(&def->ops, 0, sizeof def->ops);
    memset(&def->inputs, 0, sizeof def->inputs);
    memset(&def->outputs, 0, sizeof def->outputs);
    for (int i = 0; i < c->def->inputs.len; i++)
        if (needed[c->def->inputs.data[i]->id])
            add_input(&x, c->def->inputs.data[i]);
    for (int i = 0; i < c->def->ops.len; i++) {
        const DefOp *op = c->def->ops.data[i];

        if (!needed[op->result->id])
            continue;
        if (cut_find_kept(c, op->result) && !cut_in_goal(goal, op->result))
            add_input(&x, op->result);
        else
            add_op(&x, op);
    }
    for (int i = 0; i < goal->n; i++) {
        DefValue *value = x.remade.made[goal->values[i]->id];

        value->is_output = true;
        vec_push(c->arena, &def->outputs, value);
    }
    if (goal->beside)
        add_beside(&x, goal->beside);
    return x.made;
}

/* What is left in memory, as a tensor that a unit declares. */
static Stmt *declared(const Cutter *c, const DefValue *value)
{
    Flow flow = {.arena = c->arena, .syms = c->syms, .def = c->def};
    Stmt *stmt = stmt_new(c->arena, value->is_output ? STMT_OUTPUT : STMT_INPUT);

    stmt->name = value->name;
    stmt->has_shape = stmt->has_dtype = true;
    stmt->dtype = value->dtype;
    stmt->shape = arena_array(c->arena, Expr *, value->rank);
    for (int d = 0; d < value->rank; d++)
        stmt->shape[stmt->n_shape++] = flow_dim_expr(&flow, value->dims[d]);
    return stmt;
}

Def *cut_as_definition(const Cutter *c, const Goal *goal)
{
    Excerpt x = cut_excerpt(c, goal);
    Unit *unit = arena_new_of(c->arena, Unit);

    *unit = *c->def->unit;
    unit->body = (Block){.comment = c->def->unit->body.comment};
    for (int i = 0; i < c->def->unit->body.len; i++)
        vec_push(c->arena, &unit->body, c->def->unit->body.data[i]);
    for (int i = 0; i < x.workspaces.len; i++) {
        x.workspaces.data[i]->is_passed_on = true;
        vec_push(c->arena, &unit->body, declared(c, x.workspaces.data[i]));
    }
    x.def->unit = unit;
    for (int i = 0; i < x.def->values.len; i++)
        x.def->values.data[i]->id = i;
    return x.def;
}
