/* turns.c: loops whose counter says which part of a tile is meant, written out.
 *
 *   for d = 0:HeadDim // 64                                       Copy K ... [HeadDim = 0] ...
 *     Copy K ... [HeadDim = d] ...                                Compute GEMM Q[:, 0:64], K.T and accumulate S
 *     Compute GEMM Q[:, d * 64:(d + 1) * 64], K.T ...     ->      Copy K ... [HeadDim = 1] ...
 *   end                                                           Compute GEMM Q[:, 64:128], K.T and accumulate S
 *
 * A part of a tile is some of a lane's registers, or an offset in shared memory, which are fixed when
 * compiling, and so is a stage that stays as it was copied before the loop; so are the turns of such a loop, where its ends are known and they are few. What a turn
 * assigns from the counter is written where its name is said.
 */
#include "lang/prologue.h"

#include "lang/eval.h"
#include "lang/tree.h"

enum { MOST_TURNS = 32, MOST_WRITTEN = 2048 }; /* turns of a loop; statements of a kernel */

/* A name that a turn gives a value. */
typedef struct Named {
    const char *name;
    Expr *value;
} Named;

typedef struct Turns {
    Arena *arena;
    const Unit *unit;
    const Stmt *loop; /* at hand */
    EvalEnv env; /* the numbers that the kernel assigns, or that are set for it */
    LangSetting *setting;
    const void *settings;
    VEC(Named) named;
    int written;
    bool changed;
} Turns;

/* ---- loops over parts --------------------------------------------------------------------- */

typedef VEC(const char *) Names;

static bool mentions_any(const Expr *e, const Names *names)
{
    for (int i = 0; i < names->len; i++)
        if (expr_mentions(e, names->data[i]))
            return true;
    return false;
}

static bool copies_to(const Block *block, const char *tile)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        if ((s->kind == STMT_COPY && s->name && strcmp(copy_dest(s), tile) == 0) || copies_to(&s->body, tile) || copies_to(&s->orelse, tile))
            return true;
    }
    return false;
}

/* Whether the tile has stages, which the loop reads as others have left them. */
static bool keeps_stages(const Turns *t, const Expr *tile)
{
    const Stmt *allocated = tile && tile->kind == EXPR_NAME ? block_find(&t->unit->body, STMT_ALLOCATE, tile->name) : NULL;

    return allocated && allocated->space == SPACE_SHARED && allocated->n_shape == 3 && !copies_to(&t->loop->body, tile->name);
}

/* Whether a range within brackets begins or ends at one of the names, or one says which of a tile's stages is meant. */
static bool parts_by(const Turns *t, const Expr *e, const Names *names)
{
    if (!e)
        return false;
    for (int i = 0; e->kind == EXPR_INDEX && i < e->n_args; i++)
        if ((e->args[i]->kind == EXPR_RANGE || (i == 0 && keeps_stages(t, e->a))) && mentions_any(e->args[i], names))
            return true;
    return parts_by(t, e->a, names);
}

static bool takes_parts(Turns *t, const Block *block, Names *names)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_ASSIGN && mentions_any(s->value, names))
            vec_push(t->arena, names, s->name);
        for (int k = 0; k < s->n_args; k++)
            if (parts_by(t, s->args[k], names))
                return true;
        if (parts_by(t, s->dest, names) || takes_parts(t, &s->body, names) || takes_parts(t, &s->orelse, names))
            return true;
    }
    return false;
}

/* Sizes are numbers where they are set. */
static void bind_sizes(Turns *t, const Expr *e)
{
    double value;

    if (!e)
        return;
    if (e->kind == EXPR_NAME && !eval_find(&t->env, e->name) && t->setting(t->settings, e->name, &value))
        eval_bind_number(&t->env, e->name, value);
    bind_sizes(t, e->a);
    bind_sizes(t, e->b);
    for (int i = 0; i < e->n_args; i++)
        bind_sizes(t, e->args[i]);
}

static void assign(Turns *t, const Stmt *s)
{
    bool numbers = s->kind == STMT_ASSIGN || s->kind == STMT_PARAM || s->kind == STMT_LET;
    double value;

    if (!numbers || !s->value || t->setting(t->settings, s->name, &value))
        return;
    bind_sizes(t, s->value);
    eval_assign(&t->env, s->name, s->value, NULL);
}

static bool whole(Turns *t, const Expr *e, int64_t *n)
{
    double value;

    bind_sizes(t, e);
    if (!e || !eval_float(&t->env, e, &value) || value != (double)(int64_t)value)
        return false;
    *n = (int64_t)value;
    return true;
}

static bool is_over_parts(Turns *t, const Stmt *s, int64_t *from, int64_t *to)
{
    Names names = {0};

    if (s->kind != STMT_FOR || !s->hi || !whole(t, s->lo, from) || !whole(t, s->hi, to) || *to - *from > MOST_TURNS ||
        t->written > MOST_WRITTEN)
        return false;
    vec_push(t->arena, &names, s->name);
    t->loop = s;
    return takes_parts(t, &s->body, &names);
}

/* ---- their turns ------------------------------------------------------------------------------ */

static Expr *value_of(void *user, const char *name)
{
    const Turns *t = user;

    for (int i = t->named.len - 1; i >= 0; i--)
        if (strcmp(t->named.data[i].name, name) == 0)
            return expr_copy(t->arena, t->named.data[i].value);
    return NULL;
}

static Block written_out(Turns *t, const Block *block);

static void write_turn(Turns *t, const Stmt *loop, int64_t at, Block *out)
{
    int outside = t->named.len;

    Named counter = {loop->name, expr_int(t->arena, at)};
    vec_push(t->arena, &t->named, counter);
    for (int i = 0; i < loop->body.len; i++) {
        const Stmt *s = loop->body.data[i];
        if (s->kind == STMT_ASSIGN) {
            Named named = {s->name, expr_subst(t->arena, s->value, value_of, t)};
            vec_push(t->arena, &t->named, named);
        } else {
            Stmt *at = stmt_subst(t->arena, s, value_of, t);
            vec_push(t->arena, out, at);
        }
        t->written++;
    }
    t->named.len = outside;
}

static void write_loop(Turns *t, const Stmt *loop, int64_t from, int64_t to, Block *out)
{
    Block turns = {0};

    for (int64_t at = from; at < to; at++)
        write_turn(t, loop, at, &turns);
    turns = written_out(t, &turns);
    for (int i = 0; i < turns.len; i++)
        vec_push(t->arena, out, turns.data[i]);
    t->changed = true;
}

static Block written_out(Turns *t, const Block *block)
{
    Block out = {.comment = block->comment};

    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i];
        int64_t from, to;

        assign(t, s);
        if (is_over_parts(t, s, &from, &to)) {
            write_loop(t, s, from, to, &out);
            continue;
        }
        if (s->kind == STMT_FOR || s->kind == STMT_IF) {
            Stmt *inner = arena_new_of(t->arena, Stmt);
            int mark = eval_mark(&t->env);

            *inner = *s;
            inner->body = written_out(t, &s->body);
            eval_reset(&t->env, mark);
            inner->orelse = written_out(t, &s->orelse);
            eval_reset(&t->env, mark);
            s = inner;
        }
        vec_push(t->arena, &out, s);
    }
    return out;
}

const Program *turns_write_out(Arena *arena, AffCtx *aff, const Program *program, LangSetting *setting, const void *settings)
{
    Program *out = arena_new_of(arena, Program);
    bool changed = false;

    *out = (Program){.source = program->source, .comment = program->comment};
    for (int i = 0; i < program->units.len; i++) {
        Turns t = {.arena = arena, .unit = program->units.data[i], .setting = setting, .settings = settings};
        Unit *unit = arena_new_of(arena, Unit);

        eval_init(&t.env, arena, aff);
        *unit = *program->units.data[i];
        if (unit->kind == UNIT_KERNEL)
            unit->body = written_out(&t, &program->units.data[i]->body);
        changed |= t.changed;
        vec_push(arena, &out->units, unit);
    }
    return changed ? out : program;
}
