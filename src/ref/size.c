/* size.c: integer expressions of a definition: sizes and offsets of positions.
 *
 *   kv_len                         a symbol, or a constant once it is set
 *   ceil(kv_len / SlcBlock)        (kv_len + 63) div 64
 *   CmpBlock * HeadDim
 *
 * `/` divides real numbers; here it must come out even, or stand in ceil or floor.
 */
#include "ref/resolve.h"

#include <math.h>

static const Aff *size_expr(Resolver *r, const Expr *e);

/* ---- names --------------------------------------------------------------------- */

static void add_dim(Resolver *r, const Name *name)
{
    const AffSym *sym = name->size->kind == AFF_SYM ? name->size->sym : NULL;

    vec_push(r->arena, &r->def->dims, (DefDimSym){name->name, name->size, sym});
}

static bool is_whole(double value)
{
    return value == floor(value) && fabs(value) <= INT32_MAX;
}

bool res_set_dim(Resolver *r, Name *name)
{
    if (!name->setting) {
        name->size = aff_of(r->aff, aff_sym_new(r->aff, name->name, AFF_DIM, 0, INT32_MAX));
    } else if (is_whole(name->setting->value) && name->setting->value >= 1) {
        name->size = aff_const(r->aff, (int64_t)name->setting->value);
    } else {
        Diag *diag = diag_add(r->diags, TW0211, name->span, "%s is set to %.10g", name->name,
                              name->setting->value);

        diag_note(r->diags, diag, "a dimension is an integer from 1 to %d", INT32_MAX);
        name->bad = true;
        return false;
    }
    add_dim(r, name);
    return true;
}

static const Aff *whole(Resolver *r, Span span, const char *what, double value)
{
    if (is_whole(value))
        return aff_const(r->aff, (int64_t)value);
    diag_add(r->diags, TW0326, span, "%s is %g where an integer is wanted", what, value);
    return NULL;
}

/* A Param or Let used as a dimension. */
static const Aff *value_size(Resolver *r, Name *name, const Expr *use)
{
    double value;

    if (res_known_name(r, name, &value)) {
        name->size = whole(r, use->span, name->name, value);
    } else if (!name->value) {
        return res_set_dim(r, name) ? name->size : NULL;
    } else if (res_enter(r, name, use->span)) {
        name->size = size_expr(r, name->value);
        res_leave(r, name);
    }
    if (name->size)
        add_dim(r, name);
    else
        name->bad = true;
    return name->size;
}

static const Aff *size_name(Resolver *r, const Expr *e)
{
    Name *name = res_find(r, e->name);

    if (!name) {
        res_undefined(r, e->name, e->span);
        return NULL;
    }
    if (name->bad)
        return NULL;
    switch (name->kind) {
    case NAME_DIM: case NAME_PARAM: case NAME_LET:
        return name->size ? name->size : value_size(r, name, e);
    case NAME_INDEX: case NAME_TENSOR:
        diag_add(r->diags, TW0235, e->span, "%s is %s where a size is wanted", e->name,
                 res_kind_text(name));
        return NULL;
    }
    return NULL;
}

/* ---- operators ------------------------------------------------------------------- */

static const Aff *not_whole(Resolver *r, const Expr *e, const char *why)
{
    diag_add(r->diags, TW0326, e->span, "%s", why);
    return NULL;
}

static const Aff *size_quotient(Resolver *r, const Expr *e, const Aff *a, const Aff *b)
{
    int64_t by;
    Diag *diag;

    if (aff_is_const(b, &by) && by != 0 && aff_divisor(a) % by == 0)
        return aff_div(r->aff, a, b);
    diag = diag_add(r->diags, TW0326, e->span, "`/` need not give an integer");
    diag_note(r->diags, diag, "write `a div b` to round down or `ceil(a / b)` to round up");
    return NULL;
}

static const Aff *size_divide(Resolver *r, const Expr *e, const Aff *a, const Aff *b,
                              const Aff *(*divide)(AffCtx *, const Aff *, const Aff *))
{
    int64_t by;

    if (aff_is_const(b, &by) && by == 0)
        return not_whole(r, e, "division by 0");
    return divide(r->aff, a, b);
}

static const Aff *size_binary(Resolver *r, const Expr *e)
{
    const Aff *a = size_expr(r, e->a), *b = a ? size_expr(r, e->b) : NULL;

    if (!b)
        return NULL;
    switch (e->op) {
    case EO_ADD: return aff_add(r->aff, a, b);
    case EO_SUB: return aff_sub(r->aff, a, b);
    case EO_MUL: return aff_mul(r->aff, a, b);
    case EO_DIV: return size_quotient(r, e, a, b);
    case EO_IDIV: return size_divide(r, e, a, b, aff_div);
    case EO_MOD: return size_divide(r, e, a, b, aff_mod);
    case EO_POW: case EO_NEG: case EO_NOT: case EO_LT: case EO_LE: case EO_GT: case EO_GE:
    case EO_EQ: case EO_NE: case EO_AND: case EO_OR:
        break;
    }
    return not_whole(r, e, "this operator does not make a size");
}

/* ceil and floor of a quotient, or of what is whole anyway */
static const Aff *size_rounded(Resolver *r, const Expr *e, bool up)
{
    const Expr *arg = e->args[0];
    const Aff *a, *b;

    if (arg->kind != EXPR_BINARY || arg->op != EO_DIV)
        return size_expr(r, arg);
    a = size_expr(r, arg->a);
    b = a ? size_expr(r, arg->b) : NULL;
    return b ? size_divide(r, arg, a, b, up ? aff_ceildiv : aff_div) : NULL;
}

static const Aff *size_call(Resolver *r, const Expr *e)
{
    bool up = text_equal_nocase(e->name, "ceil");
    const Aff *a, *b;
    OpId op = OP_COUNT;

    if (e->n_args == 1 && (up || text_equal_nocase(e->name, "floor")))
        return size_rounded(r, e, up);
    if (e->n_args < 2 || !op_find(e->name, &op) ||
        (op != OP_MAX && op != OP_MIN && (op != OP_CEIL_DIVIDE || e->n_args > 2)))
        return not_whole(r, e, "only min, max, ceil and floor make sizes");
    a = size_expr(r, e->args[0]);
    for (int i = 1; a && i < e->n_args; i++) {
        b = size_expr(r, e->args[i]);
        if (!b)
            return NULL;
        a = op == OP_CEIL_DIVIDE ? size_divide(r, e, a, b, aff_ceildiv) : op == OP_MAX ? aff_max(r->aff, a, b) : aff_min(r->aff, a, b);
    }
    return a;
}

static const Aff *size_kind(Resolver *r, const Expr *e)
{
    const Aff *a;

    switch (e->kind) {
    case EXPR_INT:
        return aff_const(r->aff, e->i);
    case EXPR_NAME:
        return size_name(r, e);
    case EXPR_UNARY:
        a = e->op == EO_NEG ? size_expr(r, e->a) : not_whole(r, e, "`not` makes no size");
        return a ? aff_scale(r->aff, a, -1) : NULL;
    case EXPR_BINARY:
        return size_binary(r, e);
    case EXPR_CALL:
        return size_call(r, e);
    case EXPR_FLOAT:
        return whole(r, e->span, "this", e->f);
    case EXPR_INDEX: case EXPR_TRANSPOSE: case EXPR_SPACE: case EXPR_RANGE: case EXPR_ELLIPSIS:
    case EXPR_WORDS:
        break;
    }
    return not_whole(r, e, "this is not an integer expression");
}

static const Aff *size_expr(Resolver *r, const Expr *e)
{
    double value;
    const Aff *size;

    if (e->kind != EXPR_INT && e->kind != EXPR_NAME && res_known(r, e, &value))
        return whole(r, e->span, "this", value);
    size = size_kind(r, e);
    if (size && aff_is_poison(size))
        return not_whole(r, e, "this overflows 64 bits");
    return size;
}

const Aff *res_size(Resolver *r, const Expr *e)
{
    return size_expr(r, e);
}
