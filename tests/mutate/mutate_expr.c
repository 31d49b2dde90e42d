/* mutate_expr.c: expressions with another operator, number or name. */
#include "mutate.h"

static int place_in(const char *const *names, int n, const char *name)
{
    while (n > 0 && strcmp(names[n - 1], name) != 0)
        n--;
    return n - 1;
}

static const char *text(Mutator *m, const Expr *e)
{
    Str s = str_new(m->arena);

    lang_print_expr(&s, e);
    return str_text(&s);
}

/* A name for one of the next two of its class: a loop counter for a block's
 * coordinate. */
static void other_name(Mutator *m, Expr *e, const char *kind, const char *const *names, int n)
{
    int at = place_in(names, n, e->name);

    for (int i = 1; at >= 0 && i <= 2 && i < n; i++) {
        const char *other = names[(at + i) % n];

        if (mutate_offer(m, kind, "%s for %s", other, e->name)) {
            e->name = other;
            return;
        }
    }
}

static void other_names(Mutator *m, Expr *e, const char *kind)
{
    other_name(m, e, kind, m->counters.data, m->counters.len);
    if (!m->done)
        other_name(m, e, kind, m->dims.data, m->dims.len);
    if (!m->done)
        other_name(m, e, kind, m->sizes.data, m->sizes.len);
}

static void other_number(Mutator *m, Expr *e, const char *kind)
{
    static const int64_t steps[] = {1, -1};

    for (int i = 0; i < 2; i++)
        if (mutate_offer(m, kind, "%lld for %lld", (long long)(e->i + steps[i]), (long long)e->i)) {
            e->i += steps[i];
            return;
        }
    if (e->i > 1 && mutate_offer(m, kind, "%lld for %lld", (long long)e->i * 2, (long long)e->i))
        e->i *= 2;
}

static void other_float(Mutator *m, Expr *e)
{
    static const double factors[] = {2, 0.5, -1, 0};

    for (int i = 0; i < 4; i++)
        if (mutate_offer(m, "changed constant", "%g for %g", e->f * factors[i], e->f)) {
            e->f *= factors[i];
            return;
        }
}

static const struct {
    ExprOp from, to;
} OTHER_OPS[] = {
    {EO_LE, EO_LT},  {EO_LE, EO_GE},   {EO_LE, EO_EQ},  {EO_LT, EO_LE},  {EO_LT, EO_GT}, {EO_LT, EO_NE},
    {EO_AND, EO_OR}, {EO_OR, EO_AND},  {EO_ADD, EO_SUB}, {EO_SUB, EO_ADD}, {EO_MUL, EO_ADD}, {EO_IDIV, EO_MOD},
};

static void other_op(Mutator *m, Expr **slot, const char *kind)
{
    Expr *e = *slot;

    for (size_t i = 0; i < TW_COUNT(OTHER_OPS) && !m->done; i++)
        if (OTHER_OPS[i].from == e->op && mutate_offer(m, kind, "another operator in `%s`", text(m, e)))
            e->op = OTHER_OPS[i].to;
    if (!m->done && e->op == EO_DIV && mutate_offer(m, kind, "`div` in `%s`", text(m, e)))
        e->op = EO_IDIV;
    if (!m->done && mutate_offer(m, kind, "`%s` for `%s`", text(m, e->a), text(m, e)))
        *slot = e->a;
    if (!m->done && mutate_offer(m, kind, "`%s` for `%s`", text(m, e->b), text(m, e)))
        *slot = e->b;
    if (!m->done && (e->op == EO_SUB || e->op == EO_IDIV || (e->op >= EO_LT && e->op <= EO_GE)) &&
        mutate_offer(m, kind, "`%s` the other way round", text(m, e))) {
        Expr *a = e->a;

        e->a = e->b;
        e->b = a;
    }
}

static void other_call(Mutator *m, Expr **slot, const char *kind)
{
    static const char *const others[][2] = {
        {"ceil", "floor"}, {"row", "col"}, {"col", "row"}, {"min", "max"}, {"max", "min"}};
    Expr *e = *slot;

    for (size_t i = 0; i < TW_COUNT(others); i++)
        if (strcmp(e->name, others[i][0]) == 0 && mutate_offer(m, kind, "%s for %s", others[i][1], e->name))
            e->name = others[i][1];
    if (!m->done && strcmp(e->name, "ceil") == 0) {
        if (mutate_offer(m, kind, "%s + 1", text(m, e)))
            *slot = expr_binary(m->arena, EO_ADD, e, expr_int(m->arena, 1));
        else if (mutate_offer(m, kind, "%s - 1", text(m, e)))
            *slot = expr_binary(m->arena, EO_SUB, e, expr_int(m->arena, 1));
    }
}

void mutate_expr(Mutator *m, Expr **slot, const char *kind)
{
    Expr *e = *slot;

    if (!e || m->done)
        return;
    switch (e->kind) {
    case EXPR_INT: other_number(m, e, kind); break;
    case EXPR_FLOAT: other_float(m, e); break;
    case EXPR_NAME: other_names(m, e, kind); break;
    case EXPR_UNARY: mutate_expr(m, &e->a, kind); break;
    case EXPR_BINARY:
        mutate_expr(m, &e->a, kind);
        mutate_expr(m, &e->b, kind);
        if (!m->done)
            other_op(m, slot, kind);
        break;
    case EXPR_CALL:
        for (int i = 0; i < e->n_args; i++)
            if (strcmp(e->name, "row") != 0 && strcmp(e->name, "col") != 0)
                mutate_expr(m, &e->args[i], kind);
        if (!m->done)
            other_call(m, slot, kind);
        break;
    case EXPR_INDEX:
    case EXPR_TRANSPOSE:
    case EXPR_SPACE:
    case EXPR_RANGE:
    case EXPR_ELLIPSIS:
    case EXPR_WORDS: break;
    }
}
