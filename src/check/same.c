/* same.c: a loop whose turns all add the same.
 *
 *   for k = 0:ceil(K / BK)
 *     Copy A (BM, BK) in coordinate [M = m, K = 0] ...     nothing says k: the first tile each time
 *     Compute GEMM A, B and accumulate C
 *
 * What a turn takes from the one before, but for the sums, makes them differ: so nothing is
 * said where something is read that the loop writes, before the turn has written it.
 */
#include "check/walk.h"

typedef struct Turn {
    Checker *c;
    const Block *body;
    VEC(const char *) fresh; /* written in this turn */
    VEC(const char *) sums;
    bool differs;
} Turn;

/* The tile that a statement writes; NULL: none. */
static const char *written(const Stmt *s)
{
    if (s->kind == STMT_COPY)
        return copy_dest(s);
    if (s->kind == STMT_RESHAPE || s->kind == STMT_ASSIGN || s->kind == STMT_LET)
        return s->name;
    return s->kind == STMT_COMPUTE ? expr_base_name(compute_result(s)) : NULL;
}

static bool writes(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        const char *to = written(s);
        bool state = false;
        for (int k = 0; k < s->n_with; k++)
            state |= expr_is_name(s->with[k], name);
        if (state || (to && strcmp(to, name) == 0) || writes(&s->body, name) || writes(&s->orelse, name))
            return true;
    }
    return false;
}

static bool reads_older(const void *user, const Expr *e)
{
    const Turn *t = user;
    return e->kind == EXPR_NAME && !text_among(t->fresh.data, t->fresh.len, e->name) && writes(t->body, e->name);
}

static void read(Turn *t, const Expr *e)
{
    t->differs |= expr_any(e, reads_older, t);
}

static void add_sum(Turn *t, const Expr *e)
{
    const char *name = expr_base_name(e);
    t->differs |= !name || text_among(t->fresh.data, t->fresh.len, name);
    if (name)
        vec_push(t->c->arena, &t->sums, name);
}

static void one(Turn *t, const Stmt *s, bool always)
{
    const char *to = written(s);
    bool own = s->kind == STMT_COMPUTE && (!s->op_known || op_info(s->op)->class == OPC_DEFINE);
    bool fills = s->kind == STMT_COMPUTE && s->op_known && op_info(s->op)->class == OPC_FILL;
    t->differs |= own || (s->kind == STMT_COPY && (s->to_space == SPACE_GLOBAL || s->stage));
    if (s->kind == STMT_COPY && s->name && s->space != SPACE_GLOBAL)
        read(t, expr_name(t->c->arena, s->name));
    if (s->kind == STMT_RESHAPE)
        read(t, expr_name(t->c->arena, s->name));
    for (int i = fills ? 1 : 0; i < s->n_args; i++)
        read(t, s->args[i]);
    read(t, s->where);
    read(t, s->value);
    read(t, s->lo);
    read(t, s->hi);
    for (int i = 0; i < s->n_coords; i++)
        read(t, s->coords[i].value);
    for (int i = 0; i < s->n_with; i++)
        add_sum(t, s->with[i]);
    if (s->kind == STMT_COMPUTE && s->result == RESULT_ACCUMULATE)
        add_sum(t, s->dest);
    else if (to && always)
        vec_push(t->c->arena, &t->fresh, to);
}

static void turn(Turn *t, const Block *block, bool always)
{
    for (int i = 0; i < block->len && !t->differs; i++) {
        const Stmt *s = block->data[i];
        one(t, s, always);
        turn(t, &s->body, false);
        turn(t, &s->orelse, false);
    }
}

/* A sum that the turn reads, or writes anew, is none of the loop's. */
static bool keeps_sums(const Turn *t)
{
    for (int i = 0; i < t->sums.len; i++)
        if (text_among(t->fresh.data, t->fresh.len, t->sums.data[i]))
            return false;
    return t->sums.len > 0;
}

static bool has_one_turn(Checker *c, const Stmt *loop)
{
    const Aff *lo = eval_aff(&c->env, loop->lo, NULL), *hi = eval_aff(&c->env, loop->hi, NULL);
    int64_t turns;
    return lo && hi && aff_is_const(aff_sub(c->aff, hi, lo), &turns) && turns < 2;
}

/* Of a Copy in the loop it was said that it takes one tile alone. */
static bool was_said(const Checker *c, const Stmt *loop)
{
    for (int i = 0; i < c->late->list.len; i++)
        if (c->late->list.data[i].code == TW0414 && c->late->list.data[i].span.start > loop->span.start)
            return true;
    return false;
}

void same_check(Checker *c, const Stmt *loop)
{
    Turn t = {.c = c, .body = &loop->body};
    if (c->loose || loop->kind != STMT_FOR || loop->over || block_mentions(&loop->body, loop->name) || has_one_turn(c, loop))
        return;
    turn(&t, &loop->body, true);
    if (t.differs || !keeps_sums(&t) || was_said(c, loop))
        return;
    Diag *d = diag_add(c->late, TW0442, loop->name_span, "nothing in the loop says '%s': each turn adds the same to '%s'", loop->name, t.sums.data[0]);
    diag_note(c->late, d, "a coordinate says which tile a turn takes: [DIMENSION = %s]", loop->name);
}
