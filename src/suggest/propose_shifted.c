/* propose_shifted.c: of a ring, a stage or a tile that is one off. Each edit is executed beside the definition before it is
 * suggested (vary.h).
 *
 *   Copy A ... in coordinate [K = k + 1] ... [stage = k % 2]          Copy A ... in coordinate [K = k + 1] ... [stage = (k + 1) % 2]
 *   Compute GEMM A[(k - 1) % 2], B[k % 2] and accumulate C            Compute GEMM A[k % 2], B[k % 2] and accumulate C */
#include "suggest/vary.h"

static bool is_counted(const Vary *v, const Expr *e)
{
    return e->kind == EXPR_NAME && vary_has(&v->counters, e->name);
}

/* `k + 1`, `k - 1` */
static bool is_shift(const Vary *v, const Expr *e)
{
    return e->kind == EXPR_BINARY && (e->op == EO_ADD || e->op == EO_SUB) && is_counted(v, e->a) && expr_is_one(e->b);
}

/* The counters within an expression one less or one more, or without what makes them so. */
static bool try_within(Vary *v, const Expr *e)
{
    Suggester *s = v->s;
    static const char label[] = "one off: the definition tells which";

    if (!e)
        return false;
    if (is_shift(v, e) && suggest_edit(s, e->span, e->a->name, label))
        return true;
    if (is_counted(v, e))
        return suggest_edit(s, e->span, arena_printf(s->arena, "(%s + 1)", e->name), label) || suggest_edit(s, e->span, arena_printf(s->arena, "(%s - 1)", e->name), label);
    if (try_within(v, e->a) || try_within(v, e->b))
        return true;
    for (int i = 0; i < e->n_args; i++)
        if (try_within(v, e->args[i]))
            return true;
    return false;
}

/* The stages that operands read. */
static bool try_reads(Vary *v, const Stmt *s)
{
    for (int i = 0; i < s->n_args; i++) {
        const Expr *e = s->args[i];

        while (e->kind == EXPR_TRANSPOSE || e->kind == EXPR_SPACE)
            e = e->a;
        for (int k = 0; e->kind == EXPR_INDEX && k < e->n_args; k++)
            if (try_within(v, e->args[k]))
                return true;
    }
    return false;
}

static bool try_copy(Vary *v, const Stmt *s)
{
    for (int i = 0; i < s->n_coords; i++)
        if (s->coords[i].value && try_within(v, s->coords[i].value))
            return true;
    return try_within(v, s->stage);
}

/* The Copies of rings, that which something is said of first, and then what reads them. */
static bool try_all(Vary *v)
{
    const Stmt *said = v->s->stmt;

    if (said && said->kind == STMT_COPY && said->stage && try_copy(v, said))
        return true;
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_COPY && v->all.data[i]->stage && v->all.data[i] != said && try_copy(v, v->all.data[i]))
            return true;
    for (int i = 0; i < v->computes.len; i++)
        if (try_reads(v, v->computes.data[i]))
            return true;
    return false;
}

static bool has_ring(const Vary *v)
{
    for (int i = 0; i < v->all.len; i++)
        if (v->all.data[i]->kind == STMT_COPY && v->all.data[i]->stage)
            return true;
    return false;
}

static bool try_ring(Vary *v)
{
    return has_ring(v) && try_all(v);
}

bool propose_shifted(Suggester *s)
{
    return vary_own(s, try_ring);
}
