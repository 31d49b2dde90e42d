/* propose_guarded.c: Kernels that give something else than the Operator beside them, since a branch leaves tiles out that the
 * mask in it is for. Each change is executed beside the definition before it is suggested (vary.h).
 *
 *   if j * BN + BN > q_len                              if j * BN + BN > kv_len
 *     Compute Mask S where j * BN + col(S) < kv_len       Compute Mask S where j * BN + col(S) < kv_len
 *   end                                                 end
 */
#include "suggest/vary.h"

static const char label[] = "the tiles that reach behind the last element";

/* Names of another size, or counter, than those that the tile along the dimension has. */
static bool try_names(Vary *v, const Cut *cut, const Expr *e)
{
    const char *meant[] = {cut->dim, cut->size, cut->coord};
    const Names *kinds[] = {&v->sizes, &v->sizes, &v->counters};

    if (!e)
        return false;
    for (size_t i = 0; e->kind == EXPR_NAME && i < TW_COUNT(meant); i++)
        if (vary_has(kinds[i], e->name) && strcmp(e->name, meant[i]) != 0 && suggest_edit(v->s, e->span, meant[i], label))
            return true;
    for (int i = 0; i < e->n_args; i++)
        if (try_names(v, cut, e->args[i]))
            return true;
    return try_names(v, cut, e->a) || try_names(v, cut, e->b);
}

/* Each comparison, by the names in it, or all of it. */
static bool try_comparisons(Vary *v, const Cut *cut, const Expr *e)
{
    const char *reaches = arena_printf(v->s->arena, "%s * %s + %s > %s", cut->coord, cut->size, cut->size, cut->dim);

    if (!e || e->kind != EXPR_BINARY)
        return false;
    if (e->op >= EO_LT && e->op <= EO_NE)
        return try_names(v, cut, e) || suggest_edit(v->s, e->span, reaches, label);
    return try_comparisons(v, cut, e->a) || try_comparisons(v, cut, e->b);
}

/* Whether a mask in the branch ends where the dimension does. */
static bool masks(const Stmt *branch, const char *dim)
{
    for (int i = 0; i < branch->body.len; i++) {
        const Stmt *s = branch->body.data[i];
        const Expr *where = s->kind == STMT_COMPUTE ? stmt_condition(s) : NULL;

        if ((where && expr_mentions(where, dim)) || masks(s, dim))
            return true;
    }
    return false;
}

static bool try_guards(Vary *v)
{
    Cuts cuts = cuts_of(v->s);

    for (int i = 0; i < v->all.len; i++)
        for (int k = 0; v->all.data[i]->kind == STMT_IF && v->all.data[i]->where && k < cuts.list.len; k++) {
            const Cut *cut = &cuts.list.data[k];

            if (cut->size && cut->coord && vary_has(&v->counters, cut->coord) && masks(v->all.data[i], cut->dim) && try_comparisons(v, cut, v->all.data[i]->where))
                return true;
        }
    return false;
}

bool propose_other_guard(Suggester *s)
{
    return vary_each(s, try_guards);
}
