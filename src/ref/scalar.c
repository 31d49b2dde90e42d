/* scalar.c: numbers of a definition: which are known when compiling, which the
 * launch supplies.
 *
 *   Param cap = 50                   known: 50, or what --set says
 *   Param scale = 1 / sqrt(HeadDim)  known when HeadDim is, else left to the launch
 *   Param eps                        known when set, else left to the launch
 *   Let   half = HeadDim div 2       stands for its expression
 */
#include "ref/resolve.h"

#include <math.h>

/* ---- what is known -------------------------------------------------------------- */

bool res_known_name(Resolver *r, Name *name, double *value)
{
    int64_t size;

    if (name->kind == NAME_DIM)
        return name->size && aff_is_const(name->size, &size) ? (*value = (double)size, true) : false;
    if (name->kind != NAME_PARAM && name->kind != NAME_LET)
        return false;
    if (name->known == KNOWN_NOT_ASKED && !name->busy && r->nesting < RES_MAX_NESTING) {
        name->busy = true;
        r->nesting++;
        if (name->setting)
            name->known_value = name->setting->value, name->known = KNOWN_YES;
        else if (name->value && res_known(r, name->value, &name->known_value))
            name->known = KNOWN_YES;
        else
            name->known = KNOWN_NO;
        r->nesting--;
        name->busy = false;
    }
    *value = name->known_value;
    return name->known == KNOWN_YES;
}

void res_forget_known(Resolver *r)
{
    for (int i = 0; i < r->names.len; i++)
        r->names.data[i]->known = KNOWN_NOT_ASKED;
}

/* A logical operator is known when one operand decides it. */
static bool known_binary(Resolver *r, const Expr *e, double *value)
{
    double a, b;
    bool know_a = res_known(r, e->a, &a), know_b = res_known(r, e->b, &b);

    if (know_a && know_b)
        return *value = elem_operator(e->op, a, b), true;
    if (e->op == EO_AND && ((know_a && a == 0) || (know_b && b == 0)))
        return *value = 0, true;
    if (e->op == EO_OR && ((know_a && a != 0) || (know_b && b != 0)))
        return *value = 1, true;
    return false;
}

static bool known_call(Resolver *r, const Expr *e, double *value)
{
    double args[3];
    int n = 0;
    OpId fn;

    if (!elem_function(e->name, e->n_args, &fn))
        return false;
    for (int i = 0; i < e->n_args; i++) {
        if (!res_known(r, e->args[i], &args[n++]))
            return false;
        if (n == op_info(fn)->arity) /* of more, one after the other */
            n = 1, args[0] = elem_call(fn, args);
    }
    return *value = args[0], true;
}

bool res_known(Resolver *r, const Expr *e, double *value)
{
    Name *name;
    double a;

    switch (e->kind) {
    case EXPR_INT:
        return *value = (double)e->i, true;
    case EXPR_FLOAT:
        return *value = e->f, true;
    case EXPR_NAME:
        name = res_find(r, e->name);
        return name && res_known_name(r, name, value);
    case EXPR_UNARY:
        return res_known(r, e->a, &a) ? (*value = elem_operator(e->op, a, 0), true) : false;
    case EXPR_BINARY:
        return known_binary(r, e, value);
    case EXPR_CALL:
        return known_call(r, e, value);
    case EXPR_INDEX: case EXPR_TRANSPOSE: case EXPR_SPACE: case EXPR_RANGE: case EXPR_ELLIPSIS:
    case EXPR_WORDS:
        break;
    }
    return false;
}

/* ---- what is a number ------------------------------------------------------------ */

static bool not_a_number(Resolver *r, const Expr *e, const char *what)
{
    diag_add(r->diags, TW0235, e->span, "%s where a number is wanted", what);
    return false;
}

static bool position_is_no_number(Resolver *r, const Expr *e, const Name *name)
{
    Diag *diag = diag_add(r->diags, TW0235, e->span, "%s is a position along %s and differs from "
                          "element to element; it stands where a number is wanted", name->name, name->over);

    diag_note(r->diags, diag, "`Compute Define At (1, %s) as %s` makes a tensor of it, with one number a column; of shape "
              "(%s, 1), one a row", name->over, name->name, name->over);
    return false;
}

/* A Param's default or a Let's value, unless that was looked at before. */
static bool check_value(Resolver *r, Name *name, Span use)
{
    if (name->is_number || !name->value || name->setting)
        return true;
    if (!res_enter(r, name, use))
        return false;
    name->is_number = res_check_number(r, name->value);
    res_leave(r, name);
    return name->is_number;
}

void res_check_values(Resolver *r)
{
    for (int i = 0; i < r->names.len && !r->diags->full; i++) {
        Name *name = r->names.data[i];

        if (name->kind == NAME_PARAM && !name->bad && !check_value(r, name, name->span))
            name->bad = true;
    }
}

static bool check_name(Resolver *r, const Expr *e)
{
    Name *name = res_find(r, e->name);

    if (!name) {
        res_undefined(r, e->name, e->span);
        return false;
    }
    if (name->bad)
        return false;
    switch (name->kind) {
    case NAME_DIM:
        return true;
    case NAME_PARAM: case NAME_LET:
        return check_value(r, name, e->span);
    case NAME_INDEX:
        return position_is_no_number(r, e, name);
    case NAME_TENSOR:
        return not_a_number(r, e, arena_printf(r->arena, "%s is a tensor; it stands", name->name));
    }
    return false;
}

static bool check_call(Resolver *r, const Expr *e)
{
    OpId fn;

    if (!elem_function(e->name, e->n_args, &fn)) {
        Diag *diag = diag_add(r->diags, TW0233, e->span, "there is no function %s of %d argument%s", e->name,
                              e->n_args, e->n_args == 1 ? "" : "s");
        OpId op;

        if (op_find(e->name, &op))
            diag_note(r->diags, diag, "tensors are computed by statements: `Compute %s ... and get X`",
                      op_info(op)->name);
        return false;
    }
    for (int i = 0; i < e->n_args; i++)
        if (!res_check_number(r, e->args[i]))
            return false;
    return true;
}

/* Divided by what is known to be 0. */
static bool check_divisor(Resolver *r, const Expr *e)
{
    double by;

    if ((e->op != EO_DIV && e->op != EO_IDIV && e->op != EO_MOD) || !res_known(r, e->b, &by) || by != 0)
        return true;
    diag_add(r->diags, TW0247, e->span, "division by 0");
    return false;
}

bool res_check_number(Resolver *r, const Expr *e)
{
    switch (e->kind) {
    case EXPR_INT: case EXPR_FLOAT:
        return true;
    case EXPR_NAME:
        return check_name(r, e);
    case EXPR_UNARY:
        return res_check_number(r, e->a);
    case EXPR_BINARY:
        return res_check_number(r, e->a) && res_check_number(r, e->b) && check_divisor(r, e);
    case EXPR_CALL:
        return check_call(r, e);
    case EXPR_INDEX: return not_a_number(r, e, "an element or a slice stands");
    case EXPR_TRANSPOSE: return not_a_number(r, e, "a transposed tensor stands");
    case EXPR_SPACE: return not_a_number(r, e, "a tensor in a memory space stands");
    case EXPR_RANGE: case EXPR_ELLIPSIS: return not_a_number(r, e, "a range stands");
    case EXPR_WORDS: return not_a_number(r, e, "a condition in words stands");
    }
    return false;
}

/* ---- left to the launch ------------------------------------------------------------ */

static Expr *number_expr(Resolver *r, double value)
{
    if (value == floor(value) && fabs(value) < 0x1p53)
        return expr_int(r->arena, (int64_t)value);
    return expr_float(r->arena, value);
}

/* What replaces a name in an expression; NULL: it stays. */
static Expr *replacement(void *user, const char *text)
{
    Resolver *r = user;
    Name *name = res_find(r, text);
    double value;

    if (!name || (name->kind != NAME_LET && name->kind != NAME_PARAM))
        return NULL;
    if (name->kind == NAME_PARAM) /* one that is a dimension too keeps its name */
        return !name->size && res_known_name(r, name, &value) ? number_expr(r, value) : NULL;
    return expr_subst(r->arena, name->value, replacement, r);
}

const Expr *res_substitute(Resolver *r, const Expr *e)
{
    return expr_subst(r->arena, e, replacement, r);
}

/* Whether a coordinate is the name of a dimension that a Let gives its size: the element's own place along it. */
static bool is_place(Resolver *r, const Expr *e, const Shape *context)
{
    const Name *name = e->kind == EXPR_NAME ? res_find(r, e->name) : NULL;

    for (int d = 0; name && name->kind == NAME_LET && name->size && d < context->rank; d++)
        if (context->dims[d].name && strcmp(context->dims[d].name, e->name) == 0)
            return true;
    return false;
}

const Expr *res_substitute_in(Resolver *r, const Expr *e, const Shape *context)
{
    const Name *name = e && e->kind == EXPR_NAME ? res_find(r, e->name) : NULL;

    if (!e || (e->kind == EXPR_NAME && !(name && name->kind == NAME_LET)))
        return res_substitute(r, e);
    if (name)
        return res_substitute_in(r, name->value, context);
    Expr *copy = arena_new_of(r->arena, Expr);
    *copy = *e;
    copy->a = (Expr *)res_substitute_in(r, e->a, context);
    copy->b = (Expr *)res_substitute_in(r, e->b, context);
    copy->args = arena_array(r->arena, Expr *, e->n_args);
    for (int i = 0; i < e->n_args; i++)
        copy->args[i] = e->kind == EXPR_INDEX && is_place(r, e->args[i], context)
                            ? expr_copy(r->arena, e->args[i])
                            : (Expr *)res_substitute_in(r, e->args[i], context);
    return copy;
}

int res_launch_param(Resolver *r, Name *name)
{
    DefParam param = {.name = name->name};

    if (name->param)
        return name->param - 1;
    if (!check_value(r, name, name->span))
        return -1;
    if (name->value) {
        param.elem = res_elem(r, name->value, NULL, NULL);
        if (!param.elem)
            return -1;
        param.default_value = res_substitute(r, name->value);
    }
    vec_push(r->arena, &r->def->params, param);
    return (name->param = r->def->params.len) - 1;
}

/* The name behind Lets that are but other names, or NULL. */
static Name *plain_name(Resolver *r, const Expr *e)
{
    Name *name = e->kind == EXPR_NAME ? res_find(r, e->name) : NULL;

    for (int i = 0; name && name->kind == NAME_LET && i < RES_MAX_NESTING; i++)
        name = name->value->kind == EXPR_NAME ? res_find(r, name->value->name) : NULL;
    return name;
}

bool res_scalar(Resolver *r, const Expr *e, DefScalar *scalar)
{
    Name *name;

    memset(scalar, 0, sizeof *scalar);
    if (!res_check_number(r, e))
        return false;
    if (res_known(r, e, &scalar->value)) {
        bool literal = e->kind == EXPR_INT || e->kind == EXPR_FLOAT;

        scalar->is_const = true;
        scalar->expr = literal ? e : number_expr(r, scalar->value);
        return true;
    }
    scalar->elem = res_elem(r, e, NULL, NULL);
    if (!scalar->elem)
        return false;
    scalar->expr = res_substitute(r, e);
    name = plain_name(r, e);
    if (name && name->kind == NAME_PARAM && !name->size)
        scalar->param = name->name;
    return true;
}
