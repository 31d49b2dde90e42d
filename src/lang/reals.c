/* reals.c: numbers that only the launch knows and that are no integers.
 *
 *   inv = 1 / N                                  ->   (written where it is used)
 *   Compute Multiply R, inv and get new R             Compute Multiply R, 1 / N and get new R
 *
 * A name in a Kernel stands for an integer, or for a number that is known when compiling. Of another number
 * the expression is written where operands, values and conditions say the name; what else says it,
 * a bound or a coordinate, wants an integer.
 */
#include "lang/eval.h"

enum { LONGEST = 512 }; /* parts of such an expression: names of names could double it with each line */

typedef struct Real {
    const char *name;
    Expr *value;
    int64_t parts; /* of it, written out */
} Real;

typedef struct Reals {
    Arena *arena;
    EvalEnv env; /* what is an integer, or known */
    VEC(Real) list;
} Reals;

static const Real *find_real(const Reals *r, const char *name)
{
    for (int i = 0; i < r->list.len; i++)
        if (strcmp(r->list.data[i].name, name) == 0)
            return &r->list.data[i];
    return NULL;
}

static Expr *real_of(void *user, const char *name)
{
    const Real *real = find_real(user, name);

    return real ? real->value : NULL;
}

/* How many parts an expression has when its names are written out. */
static int64_t count_parts(const Reals *r, const Expr *e)
{
    const Real *real = e && e->kind == EXPR_NAME ? find_real(r, e->name) : NULL;
    int64_t n = real ? real->parts : 1;

    if (!e)
        return 0;
    for (int i = 0; i < e->n_args; i++)
        n += count_parts(r, e->args[i]);
    return n + count_parts(r, e->a) + count_parts(r, e->b);
}

/* Whether an expression is made of numbers alone. */
static bool is_number(const Reals *r, const Expr *e)
{
    if (!e)
        return true;
    if (e->kind == EXPR_NAME)
        return eval_find(&r->env, e->name) || find_real(r, e->name);
    bool can = e->kind == EXPR_INT || e->kind == EXPR_FLOAT || e->kind == EXPR_UNARY || e->kind == EXPR_BINARY || e->kind == EXPR_CALL;

    for (int i = 0; can && i < e->n_args; i++)
        can = is_number(r, e->args[i]);
    return can && is_number(r, e->a) && is_number(r, e->b);
}

static void bind_open(Reals *r, const char *name, LangSetting *setting, const void *user)
{
    double value;

    if (eval_find(&r->env, name))
        return;
    if (!setting(user, name, &value))
        eval_bind(&r->env, name, aff_of(r->env.aff, aff_sym_new(r->env.aff, name, AFF_DIM, 0, INT32_MAX)));
    else if (value == (double)(int64_t)value)
        eval_bind(&r->env, name, aff_const(r->env.aff, (int64_t)value));
    else
        eval_bind_number(&r->env, name, value);
}

static void bind_dims(Reals *r, const Expr *e, LangSetting *setting, const void *user)
{
    if (!e)
        return;
    if (e->kind == EXPR_NAME)
        bind_open(r, e->name, setting, user);
    bind_dims(r, e->a, setting, user);
    bind_dims(r, e->b, setting, user);
    for (int i = 0; i < e->n_args; i++)
        bind_dims(r, e->args[i], setting, user);
}

/* What the unit says of sizes itself, `D = 64`, and numbers made of it. */
static void bind_known(Reals *r, const Block *body, LangSetting *setting, const void *user)
{
    double value;

    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];
        bool names = s->kind == STMT_LET || s->kind == STMT_ASSIGN || s->kind == STMT_PARAM;

        if (!names || eval_find(&r->env, s->name))
            continue;
        if (setting(user, s->name, &value))
            bind_open(r, s->name, setting, user);
        else if (s->value && eval_float(&r->env, s->value, &value))
            eval_assign(&r->env, s->name, s->value, NULL);
    }
}

/* Which of the unit's names are such numbers, in its order: each may be made of those before it. */
static void find_reals(Reals *r, const Block *body, LangSetting *setting, const void *user)
{
    double value;

    for (int i = 0; i < body->len; i++) {
        const Stmt *s = body->data[i];
        bool names = s->kind == STMT_LET || s->kind == STMT_ASSIGN;

        if (s->kind == STMT_PARAM && (!s->value || setting(user, s->name, &value) || !eval_assign(&r->env, s->name, s->value, NULL)))
            bind_open(r, s->name, setting, user);
        if (!names || eval_find(&r->env, s->name) || find_real(r, s->name))
            continue;
        if (setting(user, s->name, &value))
            bind_open(r, s->name, setting, user);
        else if (!eval_assign(&r->env, s->name, s->value, NULL) && is_number(r, s->value)) {
            Real real = {s->name, NULL, count_parts(r, s->value)};
            if (real.parts > LONGEST)
                continue;
            real.value = expr_subst(r->arena, s->value, real_of, r);
            vec_push(r->arena, &r->list, real);
        }
    }
}

static Block spelt_block(Reals *r, const Block *block);

static Stmt *spelt_stmt(Reals *r, const Stmt *s)
{
    Stmt *copy = stmt_new(r->arena, s->kind);

    *copy = *s;
    copy->where = expr_subst(r->arena, s->where, real_of, r);
    copy->otherwise = expr_subst(r->arena, s->otherwise, real_of, r);
    if (s->kind == STMT_COMPUTE) {
        copy->value = expr_subst(r->arena, s->value, real_of, r);
        copy->args = arena_array(r->arena, Expr *, s->n_args + 1);
        for (int i = 0; i < s->n_args; i++)
            copy->args[i] = expr_subst(r->arena, s->args[i], real_of, r);
    }
    copy->body = spelt_block(r, &s->body);
    copy->orelse = spelt_block(r, &s->orelse);
    return copy;
}

static Block spelt_block(Reals *r, const Block *block)
{
    Block copy = {.comment = block->comment};

    for (int i = 0; i < block->len; i++)
        vec_push(r->arena, &copy, spelt_stmt(r, block->data[i]));
    return copy;
}

Unit *unit_spell_reals(Arena *arena, Unit *unit, LangSetting *setting, const void *user)
{
    Reals r = {.arena = arena};
    Unit *whole = arena_new_of(arena, Unit);

    eval_init(&r.env, arena, aff_ctx_new(arena));
    bind_known(&r, &unit->body, setting, user);
    for (int i = 0; i < unit->body.len; i++)
        for (int d = 0; d < unit->body.data[i]->n_shape; d++)
            if (unit->body.data[i]->kind == STMT_INPUT || unit->body.data[i]->kind == STMT_OUTPUT)
                bind_dims(&r, unit->body.data[i]->shape[d], setting, user);
    find_reals(&r, &unit->body, setting, user);
    if (r.list.len == 0)
        return unit;
    *whole = *unit;
    whole->body = spelt_block(&r, &unit->body);
    for (int i = r.list.len - 1; i >= 0; i--) { /* those that nobody says any more; the last may say the others */
        int kept = 0;

        if (!block_mentions(&unit->body, r.list.data[i].name) || block_mentions(&whole->body, r.list.data[i].name))
            continue;
        for (int k = 0; k < whole->body.len; k++)
            if (!whole->body.data[k]->name || strcmp(whole->body.data[k]->name, r.list.data[i].name) != 0)
                whole->body.data[kept++] = whole->body.data[k];
        whole->body.len = kept;
    }
    return whole;
}
