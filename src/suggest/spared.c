/* spared.c: which Kernels and statements need not be changed, by the outputs that are right.
 *
 *   dV is right, dK is wrong       what dV is made of is right: not looked at before all else was
 *   dK and dQ are wrong            one mistake is in what both are made of
 *
 * A program of several Kernels has more statements than can be tried; of one mistake the outputs say where it is. They
 * are those of the shape that the Witness has. What spoils an output that cancels it out, as the reference of a softmax, may
 * be right by this and is not: so all is looked at again where nothing else was found. */
#include "suggest/vary.h"

/* What a Kernel stores to a tensor: the tensors and tiles that it is made of, and the statements that make it. */
typedef struct Stored {
    int unit;
    const char *tensor;
    Names from;
    Stmts made;
} Stored;

struct Spared {
    VEC(Stored) stores;
    const bool *units; /* by unit: whether it is */
    Stmts stmts;
};

/* ---- what a Kernel makes of what ------------------------------------------------------------- */

/* Going backwards from what is stored to a tensor. */
typedef struct Back {
    Suggester *s;
    Stored *of;
} Back;

static bool add_read(const void *user, const Expr *e)
{
    const Back *b = user;

    if (e->kind == EXPR_NAME && !vary_has(&b->of->from, e->name))
        vec_push(b->s->arena, &b->of->from, e->name);
    return false;
}

static void add_reads(Back *b, const Stmt *s)
{
    for (int i = 0; i < s->n_args; i++)
        expr_any(s->args[i], add_read, b);
    for (int i = 0; i < s->n_with; i++)
        expr_any(s->with[i], add_read, b);
    for (int i = 0; i < s->n_coords; i++)
        expr_any(s->coords[i].value, add_read, b);
    expr_any(s->where, add_read, b);
    if (s->kind != STMT_COMPUTE && s->name && !vary_has(&b->of->from, s->name))
        vec_push(b->s->arena, &b->of->from, s->name);
}

static void drop(Names *names, const char *name)
{
    int kept = 0;

    for (int i = 0; i < names->len; i++)
        if (strcmp(names->data[i], name) != 0)
            names->data[kept++] = names->data[i];
    names->len = kept;
}

/* Whether the statement gives a value to something that is needed behind it. */
static bool is_needed(const Back *b, const Stmt *s)
{
    bool store = s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL, needed = store && strcmp(copy_tensor(s), b->of->tensor) == 0;
    const char *made = store ? NULL : s->kind == STMT_COPY ? copy_tile(s) : s->kind == STMT_RESHAPE ? s->name : vary_result(s);

    needed |= made && vary_has(&b->of->from, made);
    for (int i = 0; i < s->n_with && s->kind == STMT_COMPUTE; i++)
        needed |= vary_has(&b->of->from, expr_base_name(s->with[i]));
    return needed;
}

static void go_back(Back *b, const Stmt *s)
{
    bool moves = s->kind == STMT_COPY || s->kind == STMT_COMPUTE || s->kind == STMT_RESHAPE;

    if (!moves || !is_needed(b, s))
        return;
    vec_push(b->s->arena, &b->of->made, s);
    if (s->kind == STMT_COMPUTE && (s->result == RESULT_GET || s->result == RESULT_GET_NEW) && s->dest && s->dest->kind == EXPR_NAME)
        drop(&b->of->from, s->dest->name); /* what it was before does not count */
    add_reads(b, s);
}

static void go_back_through(Back *b, const Block *block)
{
    for (int i = block->len - 1; i >= 0; i--) {
        const Stmt *s = block->data[i];
        Names behind = {0};

        for (int k = 0; k < b->of->from.len; k++)
            vec_push(b->s->arena, &behind, b->of->from.data[k]);
        go_back(b, s);
        for (int turn = 0; turn < 2 && (s->kind == STMT_FOR || s->kind == STMT_IF); turn++) { /* of a loop, what the turn before made */
            go_back_through(b, &s->body);
            go_back_through(b, &s->orelse);
            for (int k = 0; k < behind.len; k++) /* it may have none */
                if (!vary_has(&b->of->from, behind.data[k]))
                    vec_push(b->s->arena, &b->of->from, behind.data[k]);
        }
    }
}

static void find_stores(Suggester *s, Spared *spared)
{
    for (int i = 0; i < s->program->units.len; i++) {
        const Unit *unit = s->program->units.data[i];

        for (int k = 0; unit->kind == UNIT_KERNEL && k < unit->body.len; k++) {
            Stored stored = {.unit = i, .tensor = unit->body.data[k]->name};
            Back back = {s, &stored};

            if (unit->body.data[k]->kind != STMT_OUTPUT)
                continue;
            go_back_through(&back, &unit->body);
            vec_push(s->arena, &spared->stores, stored);
        }
    }
}

/* ---- Kernels ---------------------------------------------------------------------------------- */

/* Whether an output is made of a tensor, by Kernels behind a unit, or is it. */
static bool goes_into(const Spared *spared, int unit, const char *tensor, const char *output)
{
    if (strcmp(tensor, output) == 0)
        return true;
    for (int i = 0; i < spared->stores.len; i++) {
        const Stored *stored = &spared->stores.data[i];

        if (stored->unit > unit && vary_has(&stored->from, tensor) && goes_into(spared, stored->unit, stored->tensor, output))
            return true;
    }
    return false;
}

/* What is made of what a Kernel stores. */
typedef struct Shown {
    bool itself; /* it is an output that is wrong, */
    bool right;  /* an output that is right is made of it, */
    bool all;    /* all that are wrong are */
} Shown;

static Shown shown_by(const Suggester *s, const Spared *spared, const Stored *stored)
{
    const Block *definition = &vary_definition(s)->body;
    Shown shown = {.all = true};

    for (int i = 0; i < definition->len; i++) {
        const Stmt *output = definition->data[i];
        bool of = output->kind == STMT_OUTPUT && goes_into(spared, stored->unit, stored->tensor, output->name);
        bool wrong = output->kind == STMT_OUTPUT && witness_differs(s->witness, output->name);

        shown.itself |= wrong && strcmp(output->name, stored->tensor) == 0;
        shown.right |= of && !wrong;
        shown.all &= of || !wrong;
    }
    return shown;
}

/* All Kernels but those that may have the mistake, none where it is no single one, and what right outputs are made of. */
static void find_spared(Suggester *s, Spared *spared)
{
    bool *units = arena_array(s->arena, bool, s->program->units.len), any = false;

    for (int i = 0; i < s->program->units.len; i++)
        units[i] = true;
    for (int i = 0; i < spared->stores.len; i++) {
        const Stored *stored = &spared->stores.data[i];
        Shown shown = shown_by(s, spared, stored);

        if (shown.all && (shown.itself || !shown.right))
            units[stored->unit] = false, any = true;
        for (int k = 0; k < stored->made.len && shown.right && !shown.itself; k++)
            vec_push(s->arena, &spared->stmts, stored->made.data[k]);
    }
    for (int i = 0; i < s->program->units.len; i++)
        units[i] &= any;
    spared->units = units;
}

/* ---- entry --------------------------------------------------------------------------------------------- */

static const Spared *spared_of(Suggester *s)
{
    if (!s->spares || !s->witness || !vary_definition(s))
        return NULL;
    if (!s->spared) {
        Spared *spared = arena_new_of(s->arena, Spared);

        find_stores(s, spared);
        find_spared(s, spared);
        s->spared = spared;
    }
    return s->spared;
}

bool spared_unit(Suggester *s, const Unit *unit)
{
    const Spared *spared = spared_of(s);

    for (int i = 0; spared && i < s->program->units.len; i++)
        if (s->program->units.data[i] == unit)
            return spared->units[i];
    return false;
}

typedef struct Within {
    const Spared *spared;
    Span span;
    bool any, all;
} Within;

static void note_within(void *user, const Stmt *s)
{
    Within *w = user;
    bool spared = false;

    if (s->span.end <= w->span.start || s->span.start >= w->span.end)
        return;
    for (int i = 0; i < w->spared->stmts.len && !spared; i++)
        spared = w->spared->stmts.data[i] == s;
    w->any = true;
    w->all &= spared;
}

bool spared_place(Suggester *s, Span span)
{
    Within w = {.spared = spared_of(s), .span = span, .all = true};

    for (int i = 0; w.spared && i < s->program->units.len; i++)
        suggest_each(&s->program->units.data[i]->body, note_within, &w);
    return w.any && w.all;
}
