/* propose_twin.c: what one block does another does as well, but for one statement: a turn of a loop that stands before or
 * behind it, the second of two loops. Each edit is executed beside the definition before it is suggested (vary.h).
 *
 *   for j = 0:n - 1                                 for j = 0:n - 1
 *     Copy K ... [kv_len = j] ...                     Copy K ... [kv_len = j] ...
 *     Copy V ... [kv_len = j] ...                     Copy V ... [kv_len = j] ...
 *     Compute GEMM Q, K.T and get S                   Compute GEMM Q, K.T and get S
 *     ...                                             ...
 *   end                                             end
 *   Copy K ... [kv_len = last] ...                  Copy K ... [kv_len = last] ...
 *   Compute GEMM Q, K.T and get S                   Copy V ... [kv_len = last] ...
 *   ...                                             Compute GEMM Q, K.T and get S */
#include "suggest/vary.h"

enum { ALIKE = 3, MOST_MISSING = 2, MOST_OF_BLOCK = 64 };

typedef struct Twin {
    Vary *v;
    VEC(const Block *) blocks;
    VEC(const char *) counters; /* of the loop whose body it is; NULL: of none */
} Twin;

static void note_block(Twin *t, const Block *block, const char *counter)
{
    vec_push(t->v->s->arena, &t->blocks, block);
    vec_push(t->v->s->arena, &t->counters, counter);
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->body.len)
            note_block(t, &s->body, s->kind == STMT_FOR ? s->name : counter);
        if (s->orelse.len)
            note_block(t, &s->orelse, counter);
    }
}

/* ---- one block as the other ------------------------------------------------------------------------ */

typedef struct Renamed {
    const char *from;
    Expr *to;
} Renamed;

static Expr *renamed(void *user, const char *name)
{
    const Renamed *r = user;

    return strcmp(name, r->from) == 0 ? r->to : NULL;
}

static bool does(const Stmt *s)
{
    return (s->kind == STMT_COPY || s->kind == STMT_COMPUTE || s->kind == STMT_RESHAPE) && !s->listed;
}

/* Where the block has the statement, from a place on; -1: nowhere. */
static int place_of(const Block *block, const Stmt *s, int from)
{
    for (int i = from; i < block->len; i++)
        if (stmt_equal(block->data[i], s))
            return i;
    return -1;
}

static bool try_missing(Vary *v, const Stmt *s, const Stmt *next, const Stmt *last)
{
    Suggester *g = v->s;
    const char *indent = suggest_indent(g, next ? next->span.start : last->span.start), *text = suggest_text(g, s);
    static const char label[] = "as it is done elsewhere";

    return next ? suggest_edit(g, suggest_before(g, next), arena_printf(g->arena, "%s%s\n", indent, text), label)
                : suggest_edit(g, (Span){last->span.end, last->span.end}, arena_printf(g->arena, "\n%s%s", indent, text), label);
}

/* The statements of one block as the other would have them, in their order, and where it has them; -1: it does not. */
typedef struct Run {
    const Stmt *as[MOST_OF_BLOCK];
    int at[MOST_OF_BLOCK];
    int n, alike;
} Run;

/* Those that count: all of a loop's body; else those from the first to the last that both have, or one more at an end. */
typedef enum Reach { REACH_WHOLE, REACH_COMMON, REACH_BEFORE, REACH_BEHIND } Reach;

static Run run_of(Vary *v, const Block *of, Renamed *r, const Block *in, Reach reach)
{
    Run run = {.n = 0};
    int from = 0, first = 0, end = 0;

    for (int i = 0; i < of->len && run.n < MOST_OF_BLOCK; i++)
        if (does(of->data[i]))
            run.as[run.n++] = stmt_subst(v->s->arena, of->data[i], renamed, r);
    for (int i = 0; i < run.n; i++) {
        int at = run.at[i] = place_of(in, run.as[i], from);

        first = at >= 0 && !run.alike ? i : first;
        end = at >= 0 ? i + 1 : end;
        run.alike += at >= 0;
        from = at >= 0 ? at + 1 : from;
    }
    if (reach == REACH_WHOLE)
        return run;
    first -= reach == REACH_BEFORE && first > 0;
    end += reach == REACH_BEHIND && end < run.n;
    memmove(run.as, run.as + first, (size_t)(end - first) * sizeof *run.as);
    memmove(run.at, run.at + first, (size_t)(end - first) * sizeof *run.at);
    run.n = end - first;
    return run;
}

/* What is missing between two that the block has, or another in its place. */
static bool try_run(Vary *v, const Run *run, const Block *in)
{
    int last = -1;

    for (int i = 0; i < run->n; i++) {
        int next = -1;

        last = run->at[i] >= 0 ? run->at[i] : last;
        for (int k = i + 1; k < run->n && next < 0; k++)
            next = run->at[k];
        if (run->at[i] >= 0 || (last < 0 && next < 0))
            continue;
        const Stmt *other = last >= 0 && last + 1 < in->len && last + 1 != next ? in->data[last + 1] : NULL;
        bool instead = other && other->kind == run->as[i]->kind && does(other);

        if ((instead && suggest_stmt(v->s, other, suggest_like(v->s, run->as[i]), "as it is done elsewhere")) ||
            try_missing(v, run->as[i], next >= 0 ? in->data[next] : NULL, last >= 0 ? in->data[last] : NULL))
            return true;
    }
    return false;
}

typedef VEC(const Expr *) Seen;

/* Coordinates of a block, each once. */
static Seen coordinates(Vary *v, const Block *block)
{
    Seen seen = {0};

    for (int i = 0; i < block->len; i++)
        for (int k = 0; block->data[i]->kind == STMT_COPY && k < block->data[i]->n_coords; k++) {
            const Expr *value = block->data[i]->coords[k].value;
            bool again = !value;

            for (int n = 0; !again && n < seen.len; n++)
                again = expr_equal(seen.data[n], value);
            if (!again)
                vec_push(v->s->arena, &seen, value);
        }
    return seen;
}

/* So many statements are missing. */
static bool try_renamed(const Twin *t, int of, int in, Renamed *r, int missing)
{
    bool loop = t->counters.data[of] != NULL;

    for (Reach reach = loop ? REACH_WHOLE : REACH_COMMON; reach <= (loop ? REACH_WHOLE : REACH_BEHIND); reach++) {
        Run run = run_of(t->v, t->blocks.data[of], r, t->blocks.data[in], reach);

        if (run.alike >= ALIKE && run.n - run.alike == missing && try_run(t->v, &run, t->blocks.data[in]))
            return true;
    }
    return false;
}

/* The counter of one loop stands for a coordinate of the other block, or a name there for what the loop counts. */
static bool try_pair(const Twin *t, int of, int in, int missing)
{
    const char *counter = t->counters.data[of], *counted = t->counters.data[in];
    Seen there = coordinates(t->v, t->blocks.data[in]), here = coordinates(t->v, t->blocks.data[of]);

    for (int i = 0; counter && i < there.len; i++)
        if (try_renamed(t, of, in, &(Renamed){counter, expr_copy(t->v->s->arena, there.data[i])}, missing))
            return true;
    for (int i = 0; counted && i < here.len; i++)
        if (here.data[i]->kind == EXPR_NAME && try_renamed(t, of, in, &(Renamed){here.data[i]->name, expr_name(t->v->s->arena, counted)}, missing))
            return true;
    return false;
}

static bool try_kernel(Vary *v)
{
    Twin t = {.v = v};

    note_block(&t, &v->kernel->body, NULL);
    for (int missing = 1; missing <= MOST_MISSING; missing++)
        for (int of = 0; of < t.blocks.len; of++)
            for (int in = 0; in < t.blocks.len; in++)
                if (of != in && try_pair(&t, of, in, missing))
                    return true;
    return false;
}

/* ---- entry --------------------------------------------------------------------------------------------- */

bool propose_twin(Suggester *s)
{
    return vary_each(s, try_kernel);
}

/* Of what may be said where a statement is missing: only what then agrees. */
bool propose_as_its_twin(Suggester *s)
{
    return vary_own(s, try_kernel);
}
