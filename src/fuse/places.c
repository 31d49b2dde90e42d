/* places.c: elements that several numbers say the place of.
 *
 *   Define Y (M, N) as T[A[row, col], B[row, col] / 2]         Define Y_place (M, N) as floor(B[row, col] / 2)
 *                                                       ->     Cast Y_place, int32 and get Y_at
 *                                                              Define Y (M, N) as T[A[row, col], Y_at[row, col]]
 *
 * One coordinate of an element may be a number, as arithmetic and functions give it, which is rounded down; what says the others are
 * integers. So of several numbers all but one are made integers first, which are in memory when the element is read; and of that one
 * floor() says that it is rounded.
 */
#include "fuse/flow.h"

typedef struct Placer {
    Arena *arena;
    Syms *syms;
    Remade remade;
    const DefOp *op; /* at hand, as it was */
    VEC(DefOp *) casts; /* for it */
    VEC(const Expr *) of; /* what each of them rounds */
    int fresh;
} Placer;

/* Functions of integers that give integers. */
static bool keeps_integers(const Expr *e)
{
    static const char *const names[] = {"row", "col", "min", "max", "abs"};

    for (size_t i = 0; i < TW_COUNT(names); i++)
        if (text_equal_nocase(e->name, names[i]))
            return true;
    return false;
}

/* Whether it is a number, as arithmetic in fp32 gives it, and no integer. What stands between brackets does not matter. */
static bool is_number(const DefOp *op, const Expr *e)
{
    const DefValue *read = flow_read_value(op, e);

    if (read)
        return !read->is_input ? !(read->op && read->op->op == OP_CAST && read->op->cast == DT_I32) : dtype_is_float(read->dtype);
    if (e->kind == EXPR_FLOAT || (e->kind == EXPR_BINARY && e->op == EO_DIV) || (e->kind == EXPR_CALL && !keeps_integers(e)))
        return true;
    bool number = (e->a && is_number(op, e->a)) || (e->b && is_number(op, e->b));
    for (int i = 0; i < e->n_args && !number; i++)
        number = is_number(op, e->args[i]);
    return number;
}

/* Whether it has a fraction of its own, that no function takes away: as a coordinate code says so itself. */
static bool has_fraction(const DefOp *op, const Expr *e)
{
    bool quotient = e->kind == EXPR_BINARY && e->op == EO_DIV, has = quotient || e->kind == EXPR_FLOAT;

    if (flow_read_value(op, e) || (e->kind == EXPR_CALL && !keeps_integers(e)))
        return false;
    has |= (e->a && has_fraction(op, e->a)) || (e->b && has_fraction(op, e->b));
    for (int i = 0; i < e->n_args && !has; i++)
        has = has_fraction(op, e->args[i]);
    return has;
}

static Expr *rounded_down(const Placer *p, Expr *e)
{
    Expr **args = arena_array(p->arena, Expr *, 1);

    args[0] = e;
    return expr_call(p->arena, "floor", args, 1);
}

/* With the defined value's name as another's, where it says whose row or column is meant. */
static Expr *of_another(const Placer *p, const Expr *e, const char *name)
{
    Expr *copy = expr_copy(p->arena, e);
    bool place = e->kind == EXPR_CALL && e->n_args == 1 && (text_equal_nocase(e->name, "row") || text_equal_nocase(e->name, "col"));

    if (place && expr_is_name(e->args[0], p->op->result->name))
        copy->args[0] = expr_name(p->arena, name);
    for (int i = 0; i < e->n_args && !place; i++)
        copy->args[i] = of_another(p, e->args[i], name);
    copy->a = e->a ? of_another(p, e->a, name) : NULL;
    copy->b = e->b ? of_another(p, e->b, name) : NULL;
    return copy;
}

static DefValue *value_like_result(Placer *p, const char *what)
{
    Def *def = p->remade.def;
    DefValue *value = arena_new_of(p->arena, DefValue);
    Flow flow = {.arena = p->arena, .syms = p->syms, .def = def};
    const DefValue *result = p->op->result;

    *value = (DefValue){.id = def->values.len, .dtype = DT_F32, .rank = result->rank,
                        .name = flow_fresh(&flow, arena_printf(p->arena, "%s_%s%d", result->name, what, ++p->fresh))};
    memcpy(value->dims, result->dims, sizeof value->dims);
    vec_push(p->arena, &def->values, value);
    return value;
}

static DefOp *add_op(Placer *p, OpId id, DefValue *result)
{
    DefOp *op = arena_new_of(p->arena, DefOp);
    Stmt *stmt = arena_new_of(p->arena, Stmt);

    *stmt = *p->op->stmt;
    stmt->n_args = 0;
    *op = (DefOp){.stmt = stmt, .op = id, .result = result};
    result->op = op;
    vec_push(p->arena, &p->remade.def->ops, op);
    return op;
}

/* The element at the own place of the operation; NULL: a dimension has no name. */
static Expr *own_element(Placer *p, const DefValue *of)
{
    int rank = p->op->result->rank;
    Expr **at = arena_array(p->arena, Expr *, rank), **of_result;

    for (int d = 0; d < rank; d++) {
        const DefDim *dim = &p->op->result->dims[d];

        if (flow_is_one(*dim)) {
            at[d] = expr_int(p->arena, 0);
        } else if (d < rank - 2) {
            if (!dim->name || def_axis(p->op->result, dim->name) != d)
                return NULL;
            at[d] = expr_name(p->arena, dim->name);
        } else {
            of_result = arena_array(p->arena, Expr *, 1);
            of_result[0] = expr_name(p->arena, p->op->result->name);
            at[d] = expr_call(p->arena, d == rank - 1 ? "col" : "row", of_result, 1);
        }
    }
    return expr_index(p->arena, expr_name(p->arena, of->name), at, rank);
}

/* The value that the number becomes an integer in. */
static const DefValue *rounded(Placer *p, const Expr *number)
{
    for (int i = 0; i < p->of.len; i++)
        if (expr_equal(p->of.data[i], number))
            return p->casts.data[i]->result;
    DefValue *place = value_like_result(p, "place"), *at = value_like_result(p, "at");
    DefOp *define = add_op(p, OP_DEFINE, place), *cast = add_op(p, OP_CAST, at);

    define->where = rounded_down(p, of_another(p, number, place->name));
    for (int k = 0; k < p->op->reads.len; k++) {
        const DefRead *read = &p->op->reads.data[k];

        if (expr_mentions(number, read->name))
            vec_push(p->arena, &define->reads, ((DefRead){read->name, p->remade.made[read->value->id]}));
    }
    cast->cast = DT_I32;
    cast->args[cast->n_args++].value = place;
    vec_push(p->arena, &p->casts, cast);
    vec_push(p->arena, &p->of, number);
    return at;
}

/* The expression with integers for all but the first of an element's coordinates that are numbers, and that one without a fraction. any:
 * whether there are such. */
static Expr *with_integers(Placer *p, const Expr *e, bool *any)
{
    Expr *copy = expr_copy(p->arena, e);
    bool reads = flow_read_value(p->op, e) != NULL, first = true;

    for (int i = 0; i < e->n_args; i++) {
        bool number = reads && is_number(p->op, e->args[i]), other = number && !first, part = number && first && has_fraction(p->op, e->args[i]);

        first &= !number;
        *any |= other || part;
        copy->args[i] = with_integers(p, e->args[i], any);
        if (part)
            copy->args[i] = rounded_down(p, copy->args[i]);
        if (other && p->remade.def)
            copy->args[i] = own_element(p, rounded(p, e->args[i]));
    }
    copy->a = e->a ? with_integers(p, e->a, any) : NULL;
    copy->b = e->b ? with_integers(p, e->b, any) : NULL;
    return copy;
}

static bool is_placed(Placer *p, const DefOp *op)
{
    bool any = false;

    p->op = op;
    if (op->op == OP_DEFINE && op->where && own_element(p, op->result))
        with_integers(p, op->where, &any);
    return any;
}

static void place_op(Placer *p, const DefOp *op)
{
    bool any = false;

    p->op = op;
    p->casts.len = p->of.len = 0;
    const Expr *where = with_integers(p, op->where, &any);
    DefOp *kept = flow_keep_op(&p->remade, op);
    kept->where = where;
    kept->elem = NULL;
    for (int i = 0; i < p->casts.len; i++)
        vec_push(p->arena, &kept->reads, ((DefRead){p->casts.data[i]->result->name, p->casts.data[i]->result}));
}

const Def *flow_whole_places(Arena *arena, Syms *syms, const Def *def)
{
    Placer p = {.arena = arena, .syms = syms};
    bool any = false;

    for (int i = 0; i < def->ops.len && !any; i++)
        any = is_placed(&p, def->ops.data[i]);
    if (!any)
        return def;
    p.remade = flow_remake(arena, def);
    for (int i = 0; i < def->ops.len; i++) {
        Placer ask = {.arena = arena, .syms = syms};

        if (is_placed(&ask, def->ops.data[i]))
            place_op(&p, def->ops.data[i]);
        else
            flow_keep_op(&p.remade, def->ops.data[i]);
    }
    return p.remade.def;
}
