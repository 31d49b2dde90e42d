/* attempt.c: whether a goal can be a kernel, and the kernels of those that a search settles on.
 *
 * A search asks of many goals, of the same ones by several ways, and searches that differ in what may be kept, or in what fits,
 * ask of the same again. So answers are kept, and no kernel is written before a search has come to its end:
 *
 *   asked     {O: }? no   {H: }? yes   {O: H}? yes        H is kept, then O is made of it
 *   written   Kernel f: X, W1 -> H    Kernel f_2: H, W2 -> O
 *
 * Names do not matter for answers: whether kernels fit does not depend on them.
 *
 * Vocabulary
 *   step   a goal that a search has settled on, and what is kept by those before it
 *   parts  into which the loops of a kernel are cut, so that there are several kernels
 */
#include "fuse/cutter.h"

enum {
    MOST_TRIES = 200,  /* of one search */
    MORE_TRIES = 100,  /* for outputs in kernels of their own */
    MOST_OPS = 32      /* of one kernel, if it has more than MOST_PRODUCTS */
};

/* ---- what was asked ------------------------------------------------------------------- */

typedef struct Answer {
    const char *key;    /* what the goal computes, from what */
    bool fits;
    bool none;          /* there is no kernel, whatever would fit */
    FuseMisfit misfit;  /* that was asked last */
    int search;         /* that came to the goal last */
    int parts;          /* into which its loops are best cut; 0: not asked yet */
} Answer;

struct FuseAsked {
    VEC(Answer) answers;
    int searches;
};

FuseAsked *fuse_asked_new(Arena *arena)
{
    return arena_new_of(arena, FuseAsked);
}

Cutter cut_afresh(const Cutter *c, const Def *def, int n_values, const char *of)
{
    Cutter fresh = *c;

    fresh.def = def;
    fresh.n_values = n_values;
    fresh.of = of;
    fresh.search = ++c->asked->searches;
    return fresh;
}

bool cut_may_try(const Cutter *c)
{
    return c->tries < MOST_TRIES + c->more * MORE_TRIES;
}

/* Cuts of all outputs at once, of which none can help where these fit into no one kernel, may have taken all. */
void cut_grant_more(Cutter *c)
{
    for (int i = 0; i < c->steps.len; i++)
        if (c->steps.data[i].goal.keeps)
            return;
    c->more += !cut_may_try(c) && c->more < c->def->outputs.len - 1;
}

static const char *key_of(const Cutter *c, const Goal *goal, bool repeat)
{
    const bool *needed = cut_needed_for(c, goal);
    Str key = str_new(c->arena);

    str_add(&key, c->of);
    str_addc(&key, repeat ? '*' : ' ');
    for (int i = 0; i < goal->n; i++)
        str_printf(&key, goal->values[i] == goal->beside ? " %d+" : " %d", goal->values[i]->id);
    str_addc(&key, ':');
    for (int i = 0; i < c->def->ops.len; i++) {
        const DefValue *value = c->def->ops.data[i]->result;
        const Kept *kept = needed[value->id] && !cut_in_goal(goal, value) ? cut_find_kept(c, value) : NULL;

        if (kept)
            str_printf(&key, " %d %s", value->id, dtype_name(kept->dtype));
    }
    return str_text(&key);
}

static Answer *find_answer(FuseAsked *asked, const char *key)
{
    for (int i = 0; i < asked->answers.len; i++)
        if (text_equal(asked->answers.data[i].key, key))
            return &asked->answers.data[i];
    return NULL;
}

bool cut_is_long(const Def *def, int most)
{
    enum { MOST_PRODUCTS = 3 }; /* more than these: none that long fits, and to find that out takes long */
    int products = 0;

    for (int i = 0; i < def->ops.len; i++)
        products += def->ops.data[i]->op == OP_GEMM;
    return def->ops.len > most && products > MOST_PRODUCTS;
}

/* The kernels of an excerpt. */
static Program *kernels_of(const Cutter *c, const Excerpt *x, bool repeat, int parts)
{
    Diags *quiet = diags_new(c->arena, NULL);
    Flow flow = {.arena = c->arena, .syms = c->syms, .def = x->def, .diags = quiet, .kernel = x->def->unit->name, .repeat = repeat};

    for (int i = 0; i < x->workspaces.len; i++)
        vec_push(c->arena, &flow.workspaces, x->workspaces.data[i]);
    return flow_program(&flow, parts);
}

/* What fits a misfit that asks for more fits. */
static bool find_out(const Cutter *c, Answer *answer, const Excerpt *x, bool repeat)
{
    Program *program = kernels_of(c, x, repeat, 1);

    answer->none = !program;
    answer->fits = program && !c->misfit(c->user, program);
    answer->misfit = c->misfit;
    return answer->fits;
}

static bool is_answered(const Cutter *c, const Answer *answer)
{
    return answer->fits || answer->none || answer->misfit == c->misfit;
}

/* Whether the kernels of a goal fit. What another search asked counts among the tries of this one as well: what it finds does
 * not depend on what was found out before. */
static bool fits(Cutter *c, const Goal *goal, bool repeat, const char *key)
{
    Answer *answer = find_answer(c->asked, key);
    bool again = answer && answer->search == c->search;
    Excerpt x = {0};

    if (!again && !cut_may_try(c))
        return false;
    if (!answer || !is_answered(c, answer))
        x = cut_excerpt(c, goal);
    if (!answer && cut_is_long(x.def, MOST_OPS))
        return false;
    if (!answer) {
        vec_push(c->arena, &c->asked->answers, (Answer){.key = key});
        answer = find_answer(c->asked, key);
    }
    c->tries += !again;
    answer->search = c->search;
    return is_answered(c, answer) ? answer->fits : find_out(c, answer, &x, repeat);
}

bool cut_attempt(Cutter *c, const Goal *goal, bool repeat)
{
    CutStep step = {.goal = *goal, .repeat = repeat, .key = key_of(c, goal, repeat)};

    if (!fits(c, goal, repeat, step.key))
        return false;
    step.goal.values = arena_array(c->arena, DefValue *, goal->n);
    memcpy(step.goal.values, goal->values, sizeof *goal->values * (size_t)goal->n);
    for (int i = 0; i < c->kept.len; i++)
        vec_push(c->arena, &step.kept, c->kept.data[i]);
    vec_push(c->arena, &c->steps, step);
    return true;
}

/* ---- the kernels of all steps ----------------------------------------------------------- */

static const char *kernel_name(const Cutter *c, const Program *before)
{
    const char *name = c->def->unit->name;

    return before->units.len ? arena_printf(c->arena, "%s_%d", name, before->units.len + 1) : name;
}

static void say_why(const Cutter *c, Unit *unit, const Goal *goal)
{
    const Kept *kept = cut_find_kept(c, goal->values[0]);

    if (kept)
        unit->comment = arena_printf(c->arena, "leaves %s in memory for the next kernel, for in one %s", kept->name,
                                     c->why);
}

/* Whether a kernel writes what has the name of something that kernels before it wrote. */
static bool writes_again(const Program *before, const Program *program)
{
    for (int i = 0; i < program->units.len; i++)
        for (int k = 0; k < program->units.data[i]->body.len; k++) {
            const Stmt *s = program->units.data[i]->body.data[k];

            for (int u = 0; s->kind == STMT_OUTPUT && u < before->units.len; u++)
                if (block_find(&before->units.data[u]->body, STMT_OUTPUT, s->name))
                    return true;
        }
    return false;
}

/* Into how many parts its loops are best cut, as of blocks that read all rows: without products. */
static int best_parts(const Cutter *c, const Excerpt *x, const Program *program)
{
    int parts = c->parts && !def_multiplies(x->def) ? c->parts(c->user, program) : 1;

    return parts > 0 ? parts : 1;
}

/* The kernels with loops in parts where that is better. */
static Program *in_parts(const Cutter *c, const CutStep *step, const Excerpt *x, const Program *before, Program *program)
{
    Answer *answer = find_answer(c->asked, step->key);

    if (answer->parts == 0)
        answer->parts = best_parts(c, x, program);
    Program *cut = answer->parts > 1 ? kernels_of(c, x, step->repeat, answer->parts) : NULL;
    return cut && !writes_again(before, cut) && !c->misfit(c->user, cut) ? cut : program;
}

static void write_step(const Cutter *all, const CutStep *step, Program *before)
{
    Cutter c = *all;

    c.kept = step->kept;
    Excerpt x = cut_excerpt(&c, &step->goal);
    Unit *unit = arena_new_of(c.arena, Unit);

    *unit = *c.def->unit;
    unit->name = kernel_name(&c, before);
    x.def->unit = unit;
    Program *program = in_parts(&c, step, &x, before, kernels_of(&c, &x, step->repeat, 1));
    say_why(&c, program->units.data[0], &step->goal);
    for (int i = 0; i < program->units.len; i++)
        vec_push(c.arena, &before->units, program->units.data[i]);
}

Program *cut_written(const Cutter *c)
{
    Program *program = arena_new_of(c->arena, Program);

    for (int i = 0; i < c->steps.len; i++)
        write_step(c, &c->steps.data[i], program);
    return program;
}
