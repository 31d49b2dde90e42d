/* totals.c: what rows come to, left in memory, so that kernels with other rows make the products anew.
 *
 * A softmax of scores is known when a row was seen whole. A kernel whose blocks have columns of the scores for their
 * rows, as for gradients of keys, never sees one. To leave the scores in memory takes as much as there are pairs; their maxima
 * and sums take a number a row, and with these each kernel makes the scores that it wants.
 *
 *   Softmax S and get P                  Kernel f:   Q, K, V -> O, m, l
 *   GEMM P, V and get O           ->     Kernel f_2: Q, K, m, l -> C
 *   ColSum P and get C
 *
 * Vocabulary
 *   total   what a reduction makes of products, or of what is made of them
 */
#include "fuse/cutter.h"

/* ---- softmaxes in their steps ---------------------------------------------------------------- */

typedef struct Speller {
    Remade remade;
    Syms *syms;
    const DefOp *softmax; /* that is taken apart */
} Speller;

static DefValue *add_value(Speller *s, const DefValue *shape, const char *what, bool column)
{
    DefValue *value = arena_new_of(s->remade.arena, DefValue);
    Flow flow = {.arena = s->remade.arena, .syms = s->syms, .def = s->remade.def};

    *value = *shape;
    value->id = s->remade.def->values.len;
    value->name = flow_fresh(&flow, arena_printf(s->remade.arena, "%s_%s", s->softmax->result->name, what));
    value->dtype = DT_F32;
    value->is_input = value->is_output = false;
    if (column)
        value->dims[value->rank - 1] = (DefDim){aff_const(s->remade.def->aff, 1), NULL};
    vec_push(s->remade.arena, &s->remade.def->values, value);
    return value;
}

static DefOp *add_op(Speller *s, OpId id, DefValue *result, DefValue *a, DefValue *b)
{
    DefOp *op = arena_new_of(s->remade.arena, DefOp);
    Stmt *stmt = arena_new_of(s->remade.arena, Stmt);

    *stmt = *s->softmax->stmt; /* its place in the source; its operands are not those of the operation */
    stmt->n_args = 0;
    *op = (DefOp){.stmt = stmt, .op = id, .result = result};
    op->args[op->n_args++].value = a;
    if (b)
        op->args[op->n_args++].value = b;
    result->op = op;
    vec_push(s->remade.arena, &s->remade.def->ops, op);
    return op;
}

/* As a softmax that is streamed is worked out exactly (graph.c): a row of nothing but -inf has no NaN. */
static void spell(Speller *s)
{
    DefValue *x = s->remade.made[s->softmax->args[0].value->id], *p = s->remade.made[s->softmax->result->id];
    DefValue *max = add_value(s, p, "max", true), *from = add_value(s, p, "from", true), *shifted = add_value(s, p, "shifted", false);
    DefValue *e = add_value(s, p, "exp", false), *sum = add_value(s, p, "sum", true);

    add_op(s, OP_ROW_MAX, max, x, NULL);
    DefOp *floor = add_op(s, OP_MAX, from, max, NULL);
    floor->args[floor->n_args++].scalar = (DefScalar){.is_const = true, .value = -1e30, .expr = expr_float(s->remade.arena, -1e30)};
    add_op(s, OP_SUBTRACT, shifted, x, from);
    add_op(s, OP_EXP, e, shifted, NULL);
    add_op(s, OP_ROW_SUM, sum, e, NULL);
    DefOp *divide = add_op(s, OP_DIVIDE, p, e, sum);
    divide->has_else = true;
    divide->otherwise = s->softmax->otherwise;
}

/* By value id: whether it is made of products. */
static bool *made_of_products(Arena *arena, const Def *def, int n_values)
{
    bool *made = arena_array(arena, bool, n_values);

    for (int i = 0; i < def->ops.len; i++) {
        const DefOp *op = def->ops.data[i];
        bool *is = &made[op->result->id];

        *is = op->op == OP_GEMM;
        for (int k = 0; k < op->n_args; k++)
            *is |= op->args[k].value && made[op->args[k].value->id];
        for (int k = 0; k < op->reads.len; k++)
            *is |= made[op->reads.data[k].value->id];
    }
    return made;
}

const Def *cut_spell_softmaxes(const Cutter *c)
{
    const bool *made = made_of_products(c->arena, c->def, c->n_values);
    Speller s = {.remade = flow_remake(c->arena, c->def), .syms = c->syms};

    for (int i = 0; i < c->def->ops.len; i++) {
        s.softmax = c->def->ops.data[i];
        if (s.softmax->op == OP_SOFTMAX && !s.softmax->args[0].transposed && made[s.softmax->result->id])
            spell(&s);
        else
            flow_keep_op(&s.remade, s.softmax);
    }
    return s.remade.def;
}

/* ---- what rows come to -------------------------------------------------------------------------- */

static bool is_total(const Cutter *c, const DefValue *value)
{
    OpClass class = op_info(value->op->op)->class;

    return (class == OPC_ROW_REDUCE || class == OPC_COL_REDUCE) && cut_is_little(c->def, value) && cut_has_shape(c, value);
}

DefValue *cut_as_wanted(const Def *def, DefValue *total)
{
    for (;;) {
        const DefOp *use = def_only_use(def, total);
        bool one = use && op_info(use->op)->class == OPC_ELEMENT && !use->result->is_output && use->result->rank == total->rank;

        for (int k = 0; one && k < use->n_args; k++)
            one = !use->args[k].transposed && (use->args[k].value ? use->args[k].value == total : use->args[k].scalar.is_const);
        if (!one)
            return total;
        total = use->result;
    }
}

/* Totals that the goal needs and nothing has left yet, of the first one's rows. */
static Goal next_totals(const Cutter *c, const Goal *goal)
{
    const bool *needed = cut_needed_for(c, goal), *made = made_of_products(c->arena, c->def, c->n_values);
    Goal totals = {.values = arena_array(c->arena, DefValue *, c->def->ops.len), .keeps = true};

    for (int i = 0; i < c->def->ops.len; i++) {
        DefValue *value = c->def->ops.data[i]->result;

        if (!needed[value->id] || !made[value->id] || value->is_output || !is_total(c, value))
            continue;
        value = cut_as_wanted(c->def, value);
        if (needed[value->id] && !cut_find_kept(c, value) && (totals.n == 0 || flow_same_rows(totals.values[0], value)))
            totals.values[totals.n++] = value;
    }
    return totals;
}

/* Outputs of the totals' rows, and with them those totals that the others need; what is left of the goal. */
static Goal with_outputs(const Cutter *c, const Goal *goal, const Goal *totals, Goal *both)
{
    Goal rest = {.values = arena_array(c->arena, DefValue *, goal->n)};

    *both = (Goal){.values = arena_array(c->arena, DefValue *, goal->n + totals->n), .keeps = true};
    for (int i = 0; i < goal->n; i++)
        if (flow_same_rows(goal->values[i], totals->values[0]))
            both->values[both->n++] = goal->values[i];
        else
            rest.values[rest.n++] = goal->values[i];
    const bool *read = cut_needed_behind(c, totals, &rest);
    for (int i = 0; i < totals->n; i++)
        if (read[totals->values[i]->id])
            both->values[both->n++] = totals->values[i];
    return rest;
}

/* A kernel that leaves what the goal does not ask for, for those behind it. */
static bool leave_all(Cutter *c, const Goal *goal, const Goal *values)
{
    int before = c->kept.len;

    for (int i = 0; i < values->n; i++) {
        if (cut_in_goal(goal, values->values[i]))
            continue;
        Kept kept = cut_keep(c, values->values[i]);
        vec_push(c->arena, &c->kept, kept);
    }
    if (cut_attempt(c, values, false))
        return true;
    c->kept.len = before;
    return false;
}

/* A kernel for totals, if there can be one, that leaves outputs of their rows as well; what is left of the goal is rest's then. */
static bool leave(Cutter *c, const Goal *goal, const Goal *totals, Goal *rest)
{
    Goal both, others = with_outputs(c, goal, totals, &both);

    *rest = others;
    if (others.n < goal->n && leave_all(c, goal, &both))
        return true;
    *rest = *goal;
    return leave_all(c, goal, totals);
}

bool cut_at_totals(Cutter *c, const Goal *goal)
{
    Goal rest = *goal;

    for (;;) {
        const Goal totals = next_totals(c, &rest);

        if (totals.n == 0)
            return rest.n == 0 || (c->kept.len > 0 && cut_solve(c, &rest));
        if (!leave(c, &(Goal){.values = rest.values, .n = rest.n}, &totals, &rest))
            return false;
    }
}
