/* prologue.c: what fills the first stages of a ring, written out.
 *
 *   for p = 0:min(STAGES - 1, tiles)                       Copy A ... [K = 0] ... [stage = 0]
 *     Copy A ... [K = p] ... [stage = p]            ->     Copy A ... [K = 1] ... [stage = 1]
 *   end
 *
 * So which copy a read of a later loop finds follows as if every Copy stood there by itself. A stage
 * that is copied beyond what the bound or a condition says is read by none that was right without it.
 */
#include "lang/prologue.h"

#include "lang/eval.h"
#include "lang/tree.h"

enum { MOST_STAGES = 8 };

typedef struct Writer {
    Arena *arena;
    EvalEnv env; /* the numbers that the kernel assigns, or that are set for it */
    LangSetting *setting;
    const void *settings;
    const char *counter;
    int64_t at;
    bool changed;
} Writer;

/* Copies to stages alone, some of them under a condition. */
static bool fills_stages(const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        bool guarded = s->kind == STMT_IF && !s->orelse.len && fills_stages(&s->body);

        if (!guarded && (s->kind != STMT_COPY || !s->stage || s->to_space != SPACE_SHARED))
            return false;
    }
    return block->len > 0;
}

static bool whole(Writer *w, const Expr *e, int64_t *n)
{
    double value;

    if (!e || !eval_float(&w->env, e, &value) || value != (double)(int64_t)value)
        return false;
    *n = (int64_t)value;
    return true;
}

/* The number that a bound is, or that it is at most: `min(2, tiles)`. */
static bool at_most(Writer *w, const Expr *e, int64_t *n)
{
    if (whole(w, e, n))
        return true;
    for (int i = 0; e && e->kind == EXPR_CALL && text_equal_nocase(e->name, "min") && i < e->n_args; i++)
        if (at_most(w, e->args[i], n))
            return true;
    return false;
}

static Expr *number_of(void *user, const char *name)
{
    const Writer *w = user;

    return strcmp(name, w->counter) == 0 ? expr_int(w->arena, w->at) : NULL;
}

static Stmt *copy_at(Writer *w, const Stmt *copy)
{
    Stmt *at = arena_new_of(w->arena, Stmt);

    *at = *copy;
    at->coords = arena_array(w->arena, Coord, copy->n_coords);
    for (int i = 0; i < copy->n_coords; i++) {
        at->coords[i] = copy->coords[i];
        at->coords[i].value = expr_subst(w->arena, copy->coords[i].value, number_of, w);
    }
    at->stage = expr_subst(w->arena, copy->stage, number_of, w);
    at->where = expr_subst(w->arena, copy->where, number_of, w);
    return at;
}

static void write_copies(Writer *w, const Block *block, bool turn, Block *out)
{
    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i];

        if (s->kind == STMT_IF)
            write_copies(w, &s->body, turn, out);
        else
            vec_push(w->arena, out, turn ? copy_at(w, s) : s);
    }
}

static void write_loop(Writer *w, const Stmt *loop, int64_t from, int64_t to, Block *out)
{
    w->counter = loop->name;
    for (w->at = from; w->at < to; w->at++)
        write_copies(w, &loop->body, true, out);
}

/* Is there a loop behind that may read the stages? */
static bool loop_follows(const Block *block, int at)
{
    for (int i = at + 1; i < block->len; i++)
        if (block->data[i]->kind == STMT_FOR && !fills_stages(&block->data[i]->body))
            return true;
    return false;
}

static void note_number(Writer *w, const Stmt *s)
{
    bool number = s->kind == STMT_ASSIGN || s->kind == STMT_LET || s->kind == STMT_PARAM;
    double value;

    if (number && w->setting(w->settings, s->name, &value))
        eval_bind_number(&w->env, s->name, value);
    else if (number && s->value)
        eval_assign(&w->env, s->name, s->value, NULL);
}

static Block written_out(Writer *w, const Block *block)
{
    Block out = {0};

    for (int i = 0; i < block->len; i++) {
        Stmt *s = block->data[i];
        int64_t from, to;
        bool fills = fills_stages(&s->body), first = fills && loop_follows(block, i);

        note_number(w, s);
        if (fills && i + 1 < block->len && s->kind == STMT_FOR && s->hi && whole(w, s->lo, &from) && at_most(w, s->hi, &to) && to - from <= MOST_STAGES) {
            write_loop(w, s, from, to, &out);
        } else if (first && s->kind == STMT_IF && !s->orelse.len) {
            write_copies(w, &s->body, false, &out);
        } else {
            if (s->kind == STMT_FOR || s->kind == STMT_IF) {
                Stmt *inner = arena_new_of(w->arena, Stmt);

                *inner = *s;
                inner->body = written_out(w, &s->body);
                inner->orelse = written_out(w, &s->orelse);
                s = inner;
            }
            vec_push(w->arena, &out, s);
            continue;
        }
        w->changed = true;
    }
    return out;
}

const Program *prologue_write_out(Arena *arena, AffCtx *aff, const Program *program, LangSetting *setting, const void *settings)
{
    Program *out = arena_new_of(arena, Program);
    bool changed = false;

    *out = (Program){.source = program->source, .comment = program->comment};
    for (int i = 0; i < program->units.len; i++) {
        Writer w = {.arena = arena, .setting = setting, .settings = settings};
        Unit *unit = arena_new_of(arena, Unit);

        eval_init(&w.env, arena, aff);
        *unit = *program->units.data[i];
        if (unit->kind == UNIT_KERNEL)
            unit->body = written_out(&w, &program->units.data[i]->body);
        changed |= w.changed;
        vec_push(arena, &out->units, unit);
    }
    return changed ? out : program;
}
