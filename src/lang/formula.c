/* formula.c: see formula.h. */
#include "lang/formula.h"

#include <math.h>

static bool is_own(const void *user, const Expr *e)
{
    const FormulaMaker *m = user;

    return m->own(m->user, e) != NULL;
}

bool formula_has_own(const FormulaMaker *m, const Expr *e)
{
    return expr_any(e, is_own, m);
}

static FormulaPart operate(FormulaMaker *m, OpId op, const FormulaPart *args, int n, void *into)
{
    m->room--;
    return (FormulaPart){.value = m->operate(m->user, op, args, n, into)};
}

static FormulaPart whole_number(FormulaMaker *m, int64_t n)
{
    return (FormulaPart){.number = expr_int(m->arena, n)};
}

static bool operands(FormulaMaker *m, const Expr *const *exprs, int n, FormulaPart *parts)
{
    for (int i = 0; i < n; i++)
        if (!formula_take_apart(m, exprs[i], NULL, &parts[i]))
            return false;
    return true;
}

/* ---- operators ---------------------------------------------------------------------------- */

static bool operation_of(ExprOp op, OpId *id)
{
    switch (op) {
    case EO_NEG: return *id = OP_NEGATE, true;
    case EO_ADD: return *id = OP_ADD, true;
    case EO_SUB: return *id = OP_SUBTRACT, true;
    case EO_MUL: return *id = OP_MULTIPLY, true;
    case EO_DIV: return *id = OP_DIVIDE, true;
    case EO_POW: return *id = OP_POWER, true;
    case EO_LT: return *id = OP_LESS, true;
    case EO_LE: return *id = OP_LESS_EQUAL, true;
    case EO_GT: return *id = OP_GREATER, true;
    case EO_GE: return *id = OP_GREATER_EQUAL, true;
    case EO_EQ: return *id = OP_EQUAL, true;
    case EO_NE: return *id = OP_NOT_EQUAL, true;
    case EO_NOT: case EO_AND: case EO_OR: /* of conditions */
    case EO_IDIV: case EO_MOD: /* rounded down, which numbers in fp32 need not be where integers are */
        break;
    }
    return false;
}

/* 1 or 0 of what may be any number. */
static bool truth(FormulaMaker *m, const Expr *e, FormulaPart *part)
{
    bool compares = (e->kind == EXPR_BINARY && e->op >= EO_LT && e->op <= EO_OR) || (e->kind == EXPR_UNARY && e->op == EO_NOT);
    FormulaPart parts[2] = {{0}, whole_number(m, 0)};

    if (!formula_take_apart(m, e, NULL, &parts[0]))
        return false;
    *part = compares ? parts[0] : operate(m, OP_NOT_EQUAL, parts, 2, NULL);
    return true;
}

static bool joined(FormulaMaker *m, const Expr *e, void *into, FormulaPart *part)
{
    FormulaPart parts[2] = {{0}, whole_number(m, 0)};
    OpId id = e->op == EO_AND ? OP_MIN : e->op == EO_OR ? OP_MAX : OP_EQUAL;

    if (e->op == EO_NOT ? !formula_take_apart(m, e->a, NULL, &parts[0]) : !truth(m, e->a, &parts[0]) || !truth(m, e->b, &parts[1]))
        return false;
    *part = operate(m, id, parts, 2, into);
    return true;
}

/* ---- choices -------------------------------------------------------------------------------- */

static bool is_not_zero(const Expr *e)
{
    return e->kind == EXPR_BINARY && e->op == EO_NE && e->b->kind == EXPR_INT && e->b->i == 0;
}

bool formula_condition(FormulaMaker *m, const Expr *where, FormulaPart *part)
{
    if (!m->is_plain(m->user, where))
        return formula_take_apart(m, is_not_zero(where) ? where->a : where, NULL, part) && part->value;
    *part = m->define(m->user, where);
    return part->value != NULL;
}

/* What has no own elements masks what the rest chooses, so that it is known which tiles are of no use. */
bool formula_keep(FormulaMaker *m, const Expr *where, FormulaPart x, double otherwise, void *into, FormulaPart *part)
{
    FormulaPart parts[] = {{0}, x, {.number = expr_float(m->arena, otherwise)}};

    *part = (FormulaPart){0};
    if (x.value && m->is_plain(m->user, where) && (part->value = m->mask(m->user, where, x, otherwise, into)))
        return true;
    if (where->kind == EXPR_BINARY && where->op == EO_AND) {
        bool first = !m->is_plain(m->user, where->a);
        return formula_keep(m, first ? where->a : where->b, x, otherwise, NULL, &parts[1]) &&
               formula_keep(m, first ? where->b : where->a, parts[1], otherwise, into, part);
    }
    if (!formula_condition(m, where, &parts[0]))
        return false;
    *part = operate(m, OP_WHERE, parts, 3, into);
    return true;
}

/* where(condition, a, b) */
static bool choice(FormulaMaker *m, const Expr *const *e, void *into, FormulaPart *part)
{
    double otherwise;
    FormulaPart parts[3];

    if (m->number(m->user, e[2], &otherwise))
        return formula_take_apart(m, e[1], NULL, &parts[1]) && formula_keep(m, e[0], parts[1], otherwise, into, part);
    if (m->number(m->user, e[1], &otherwise) && m->is_plain(m->user, e[0]))
        return formula_take_apart(m, e[2], NULL, &parts[1]) &&
               formula_keep(m, expr_unary(m->arena, EO_NOT, expr_copy(m->arena, e[0])), parts[1], otherwise, into, part);
    if (!formula_condition(m, e[0], &parts[0]) || !operands(m, e + 1, 2, parts + 1))
        return false;
    *part = operate(m, OP_WHERE, parts, 3, into);
    return true;
}

/* ---- functions -------------------------------------------------------------------------------- */

/* The least or largest of several, one after the other. */
static bool called_in_turn(FormulaMaker *m, OpId id, const Expr *e, void *into, FormulaPart *part)
{
    FormulaPart parts[2];

    if (!formula_take_apart(m, e->args[0], NULL, &parts[0]))
        return false;
    for (int i = 1; i < e->n_args; i++) {
        if (!formula_take_apart(m, e->args[i], NULL, &parts[1]))
            return false;
        *part = parts[0] = operate(m, id, parts, 2, i + 1 == e->n_args ? into : NULL);
    }
    return true;
}

static bool called(FormulaMaker *m, const Expr *e, void *into, FormulaPart *part)
{
    const Expr *const *args = (const Expr *const *)e->args;
    FormulaPart parts[3];
    OpId id;

    if (!op_find(e->name, &id) || op_info(id)->class != OPC_ELEMENT)
        return false;
    if (id == OP_WHERE)
        return e->n_args == 3 && choice(m, args, into, part);
    if ((id == OP_MIN || id == OP_MAX) && e->n_args > 2)
        return called_in_turn(m, id, e, into, part);
    if (op_info(id)->arity != e->n_args || !operands(m, args, e->n_args, parts))
        return false;
    *part = operate(m, id, parts, e->n_args, into);
    return true;
}

/* ---- expressions -------------------------------------------------------------------------------- */

static bool take_apart_own(FormulaMaker *m, const Expr *e, void *into, FormulaPart *part)
{
    const Expr *exprs[] = {e->a, e->b};
    FormulaPart parts[2] = {{.value = m->own(m->user, e)}, whole_number(m, 1)};
    OpId id;

    if (parts[0].value) {
        *part = into ? operate(m, OP_MULTIPLY, parts, 2, into) : parts[0]; /* into: nothing but that */
        return true;
    }
    if (e->kind == EXPR_CALL)
        return called(m, e, into, part);
    if (e->kind != EXPR_UNARY && e->kind != EXPR_BINARY)
        return false;
    if (e->op == EO_NOT || e->op == EO_AND || e->op == EO_OR)
        return joined(m, e, into, part);
    int n = e->kind == EXPR_UNARY ? 1 : 2;
    if (!operation_of(e->op, &id) || !operands(m, exprs, n, parts))
        return false;
    *part = operate(m, id, parts, n, into);
    return true;
}

bool formula_take_apart(FormulaMaker *m, const Expr *e, void *into, FormulaPart *part)
{
    *part = (FormulaPart){0};
    if (m->room <= 0)
        return false;
    if (formula_has_own(m, e))
        return take_apart_own(m, e, into, part);
    *part = m->define(m->user, e);
    return true;
}
