/* compose.c: what is seen of what is seen of an input, as seen of the input.
 *
 *   Define C (B, n, 576) as Cache[Table[B, row div 64], row % 64, col]        Define C (B, n, 576) as Cache[...]
 *   Define V (B, n, 512) as C[..., row, col]                            ->    Define V (B, n, 512) as Cache[Table[B, row div 64], row % 64, col]
 *
 * Elements of a value that are read must be in memory, as those of an input are already: so no kernel ahead copies what
 * tiles can be copied from (view.c), a part of a cache in pages, or of heads that lie behind the rows.
 *
 * What lies outside of a value reads as 0, and what lies there in the input need not be: so all that is read is to be inside.
 *
 * Vocabulary
 *   middle  the value between, an access of an input alone
 *   at      the coordinates that the outer access reads of it
 */
#include "fuse/flow.h"

#include "lang/eval.h"

enum { MOST_RANK = 8 };

typedef struct Composer {
    Arena *arena;
    const Def *def;
    EvalEnv sizes;
    const DefOp *outer, *middle; /* at hand */
    Expr *at[MOST_RANK];
    bool fails;
} Composer;

/* The value that a Define is an access of, and nothing else; NULL: it is none. */
static DefValue *accessed(const DefOp *op)
{
    const Expr *e = op && op->op == OP_DEFINE ? op->where : NULL;

    for (int i = 0; e && e->kind == EXPR_INDEX && i < op->reads.len; i++)
        if (expr_is_name(e->a, op->reads.data[i].name))
            return op->reads.data[i].value;
    return NULL;
}

/* ---- the outer access ---------------------------------------------------------------------- */

/* The place along an axis of a value, as a coordinate; NULL: it has no name. */
static Expr *place(const Composer *c, const DefValue *value, int axis)
{
    const char *side = axis == value->rank - 1 ? "col" : axis == value->rank - 2 ? "row" : NULL;

    if (flow_is_one(value->dims[axis]))
        return expr_int(c->arena, 0);
    if (side && !def_is_named(c->def, side) && !def_index(c->def, side))
        return expr_name(c->arena, side);
    return value->dims[axis].name && def_axis(value, value->dims[axis].name) == axis ? expr_name(c->arena, value->dims[axis].name) : NULL;
}

/* Whether the coordinate is inside of the middle value's dimension d wherever the outer one has elements. */
static bool is_inside(Composer *c, int d, const Expr *e)
{
    AffCtx *aff = c->def->aff;
    const DefValue *of = c->outer->result;
    const Aff *size = c->middle->result->dims[d].size, *from = aff_const(aff, 0);
    int axis = flow_own_axis(c->def, of, e);
    int64_t first;

    if (axis < 0 && e->kind == EXPR_BINARY && e->op == EO_ADD) {
        axis = flow_own_axis(c->def, of, e->a);
        from = axis < 0 ? NULL : eval_aff(&c->sizes, e->b, NULL);
    }
    if (axis >= 0)
        return from && (aff_add(aff, from, of->dims[axis].size) == size ||
                        (aff_is_const(from, &first) && first >= 0 && aff_always(aff, aff_le(aff, aff_add(aff, from, of->dims[axis].size), size))));
    return e->kind == EXPR_INT && e->i >= 0 && aff_always(aff, aff_lt(aff, aff_const(aff, e->i), size));
}

/* The coordinates, with those that dots stand for written out; false: some have no name, or may lie outside. */
static bool find_coordinates(Composer *c)
{
    const DefValue *of = c->outer->result, *middle = c->middle->result;
    const Expr *e = c->outer->where;
    int n = 0;

    for (int i = 0; i < e->n_args; i++) {
        bool dots = e->args[i]->kind == EXPR_ELLIPSIS;

        for (int k = dots ? middle->rank - (e->n_args - 1) : 1; k > 0 && n < middle->rank; k--, n++) {
            int axis = of->rank - middle->rank + n;

            c->at[n] = !dots ? e->args[i] : axis >= 0 ? place(c, of, axis) : NULL;
            if (!c->at[n] || !is_inside(c, n, c->at[n]))
                return false;
        }
    }
    return n == middle->rank;
}

/* ---- put into the one between --------------------------------------------------------------- */

/* The outer coordinate along an axis of the middle value. In arithmetic the name of a dimension would be its size. */
static Expr *outer_place(Composer *c, int axis, bool alone)
{
    const Expr *e = c->at[axis];
    int own = e->kind == EXPR_NAME && !alone && def_dim(c->def, e->name) ? flow_own_axis(c->def, c->outer->result, e) : -1;
    Expr *called = own >= 0 ? place(c, c->outer->result, own) : expr_copy(c->arena, e);

    if (!called || (own >= 0 && def_dim(c->def, called->name))) {
        c->fails = true;
        return expr_copy(c->arena, e);
    }
    return called;
}

static Expr *composed(Composer *c, const Expr *e, bool alone);

/* `...` of the middle access, written out. */
static void put_dots(Composer *c, Expr *access, int rank)
{
    int own = rank - (access->n_args - 1), n = 0;
    Expr **args = arena_array(c->arena, Expr *, rank + 1);

    for (int i = 0; i < access->n_args; i++) {
        if (access->args[i]->kind != EXPR_ELLIPSIS) {
            args[n++] = composed(c, access->args[i], true);
            continue;
        }
        for (int k = 0; k < own && n < rank; k++, n++) {
            int axis = c->middle->result->rank - rank + n;

            c->fails |= axis < 0;
            args[n] = axis < 0 ? access->args[i] : outer_place(c, axis, true);
        }
    }
    access->args = args;
    access->n_args = n;
}

static const DefValue *read_of(const DefOp *op, const Expr *e)
{
    for (int i = 0; e->kind == EXPR_INDEX && i < op->reads.len; i++)
        if (expr_is_name(e->a, op->reads.data[i].name))
            return op->reads.data[i].value;
    return NULL;
}

/* alone: it is a coordinate, in which the name of a dimension is the place along it. */
static Expr *composed(Composer *c, const Expr *e, bool alone)
{
    const DefValue *read = read_of(c->middle, e);
    bool sized = e->kind == EXPR_NAME && !alone && def_dim(c->def, e->name);
    int axis = sized ? -1 : flow_own_axis(c->def, c->middle->result, e);

    if (axis >= 0)
        return outer_place(c, axis, alone);
    c->fails |= axis < -1 || (e->kind == EXPR_NAME && !sized && (def_index(c->def, e->name) || def_dim(c->def, e->name)));
    Expr *copy = expr_copy(c->arena, e);
    if (read) {
        put_dots(c, copy, read->rank);
        return copy;
    }
    c->fails |= e->kind == EXPR_INDEX;
    for (int i = 0; i < e->n_args; i++)
        copy->args[i] = composed(c, e->args[i], false);
    if (e->a)
        copy->a = composed(c, e->a, false);
    if (e->b)
        copy->b = composed(c, e->b, false);
    return copy;
}

/* Whether what both read has names of its own. */
static bool tells_apart(const Composer *c)
{
    for (int i = 0; i < c->outer->reads.len; i++)
        for (int k = 0; k < c->middle->reads.len; k++) {
            const DefRead *a = &c->outer->reads.data[i], *b = &c->middle->reads.data[k];

            if (strcmp(a->name, b->name) == 0 && a->value != b->value)
                return false;
        }
    return true;
}

/* The access of the input; NULL: it stays an access of what is between. */
static Expr *through(Composer *c, const DefOp *op)
{
    const DefValue *between = accessed(op), *input = between ? accessed(between->op) : NULL;

    if (!input || !input->is_input || between->is_output || between->rank > MOST_RANK || op->where->n_args > between->rank + 1)
        return NULL;
    c->outer = op;
    c->middle = between->op;
    c->fails = false;
    if (!tells_apart(c) || !find_coordinates(c))
        return NULL;
    Expr *e = composed(c, c->middle->where, false);
    return c->fails ? NULL : e;
}

/* ---- the definition ------------------------------------------------------------------------------ */

static void read_as_well(const Remade *r, DefOp *op, const DefRead *read)
{
    for (int i = 0; i < op->reads.len; i++)
        if (strcmp(op->reads.data[i].name, read->name) == 0)
            return;
    vec_push(r->arena, &op->reads, ((DefRead){read->name, r->made[read->value->id]}));
}

/* What the outer access reads no more is what was between. */
static void keep_composed(const Composer *c, const Remade *r, const DefOp *op, Expr *where)
{
    DefOp *kept = flow_keep_op(r, op);

    memset(&kept->reads, 0, sizeof kept->reads);
    kept->where = where;
    for (int i = 0; i < c->middle->reads.len; i++)
        read_as_well(r, kept, &c->middle->reads.data[i]);
    for (int i = 0; i < op->reads.len; i++)
        if (op->reads.data[i].value != c->middle->result)
            read_as_well(r, kept, &op->reads.data[i]);
}

/* Without what nothing is made of any more. */
static void drop_unused(Def *def)
{
    for (int i = def->ops.len - 1; i >= 0; i--) {
        const DefValue *result = def->ops.data[i]->result;
        bool used = result->is_output || result->op != def->ops.data[i];

        for (int k = i + 1; k < def->ops.len; k++)
            used |= def_op_takes(def->ops.data[k], result) || def_op_reads(def->ops.data[k], result);
        if (used)
            continue;
        for (int k = i; k + 1 < def->ops.len; k++)
            def->ops.data[k] = def->ops.data[k + 1];
        def->ops.len--;
    }
}

const Def *flow_compose(Arena *arena, const Def *def)
{
    Composer c = {.arena = arena, .def = def};
    bool any = false;

    eval_init(&c.sizes, arena, def->aff);
    for (int i = 0; i < def->dims.len; i++)
        eval_bind(&c.sizes, def->dims.data[i].name, def->dims.data[i].size);
    for (int i = 0; i < def->ops.len && !any; i++)
        any = through(&c, def->ops.data[i]) != NULL;
    if (!any)
        return def;
    Remade r = flow_remake(arena, def);
    for (int i = 0; i < def->ops.len; i++) {
        Expr *where = through(&c, def->ops.data[i]);

        if (where)
            keep_composed(&c, &r, def->ops.data[i], where);
        else
            flow_keep_op(&r, def->ops.data[i]);
    }
    drop_unused(r.def);
    return flow_compose(arena, r.def);
}
