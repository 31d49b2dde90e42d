/* remake.c: a definition written anew, where some of its operations are replaced.
 *
 * The new one has values, a list of operations and declarations of its own, so that nothing
 * that is done to it is seen in the one that it is made of.
 */
#include "fuse/flow.h"

static void copy_values(Remade *r)
{
    for (int i = 0; i < r->from->values.len; i++) {
        const DefValue *value = r->from->values.data[i];
        DefValue *copy = arena_new_of(r->arena, DefValue);

        *copy = *value;
        copy->op = NULL;
        vec_push(r->arena, &r->def->values, copy);
        r->made[value->id] = copy;
    }
}

static DefValue **made_of(const Remade *r, DefValue *const *values, int n)
{
    DefValue **made = arena_array(r->arena, DefValue *, n);

    for (int i = 0; i < n; i++)
        made[i] = r->made[values[i]->id];
    return made;
}

static void copy_unit(Remade *r)
{
    const Unit *from = r->from->unit;

    r->unit = arena_new_of(r->arena, Unit);
    *r->unit = *from;
    r->unit->body = (Block){0};
    for (int i = 0; i < from->body.len; i++)
        vec_push(r->arena, &r->unit->body, from->body.data[i]);
    r->def->unit = r->unit;
}

/* What a full list is added to goes to a copy of it. */
#define ADD_TO_COPY(list) ((list).cap = (list).len)

Remade flow_remake(Arena *arena, const Def *from)
{
    Remade r = {.arena = arena, .from = from, .def = arena_new_of(arena, Def),
                .made = arena_array(arena, DefValue *, from->values.len)};

    *r.def = *from;
    memset(&r.def->values, 0, sizeof r.def->values);
    memset(&r.def->ops, 0, sizeof r.def->ops);
    copy_values(&r);
    copy_unit(&r);
    r.def->inputs.data = made_of(&r, from->inputs.data, from->inputs.len);
    r.def->outputs.data = made_of(&r, from->outputs.data, from->outputs.len);
    ADD_TO_COPY(r.def->inputs);
    ADD_TO_COPY(r.def->outputs);
    ADD_TO_COPY(r.def->dims);
    ADD_TO_COPY(r.def->indices);
    ADD_TO_COPY(r.def->params);
    ADD_TO_COPY(r.def->consts);
    ADD_TO_COPY(r.def->taken);
    return r;
}

DefOp *flow_keep_op(const Remade *r, const DefOp *op)
{
    DefOp *copy = arena_new_of(r->arena, DefOp);

    *copy = *op;
    copy->result = r->made[op->result->id];
    copy->result->op = copy;
    for (int k = 0; k < op->n_args; k++)
        if (op->args[k].value)
            copy->args[k].value = r->made[op->args[k].value->id];
    memset(&copy->reads, 0, sizeof copy->reads);
    for (int k = 0; k < op->reads.len; k++)
        vec_push(r->arena, &copy->reads, ((DefRead){op->reads.data[k].name, r->made[op->reads.data[k].value->id]}));
    vec_push(r->arena, &r->def->ops, copy);
    return copy;
}

bool flow_rounds_alike(const Remade *r)
{
    for (int i = 0, k = 0; i < r->def->ops.len; i++, k++) {
        const DefOp *op = r->def->ops.data[i];

        while (r->from->ops.data[k]->result->id != op->result->id)
            k++;
        for (int n = 0; n < 2 && op->op == OP_GEMM; n++)
            if (def_operand_type(r->def, op, n) != def_operand_type(r->from, r->from->ops.data[k], n))
                return false;
    }
    return true;
}

void flow_drop_op(const Remade *r, const DefOp *op)
{
    DefValue *taken = r->made[op->args[0].value->id], *result = r->made[op->result->id];

    r->made[op->result->id] = taken;
    if (!result->is_output)
        return;
    taken->is_output = true;
    taken->name = result->name;
    taken->dtype = result->dtype;
    for (int i = 0; i < r->def->outputs.len; i++)
        if (r->def->outputs.data[i] == result)
            r->def->outputs.data[i] = taken;
}
