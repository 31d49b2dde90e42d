/* exec_role.c: roles, their instances, and whose turn it is.
 *
 * Each instance is a thread with values of its own, so several may be in the
 * same region. All begin with what the block had computed before its roles.
 *
 *   roles { load (warps 1) ...   compute (warps 4 per w) ... }
 *           thread 0             threads 1, 2: w = 0, 1
 *
 * Within one role instances may go on one after the other: the turn starts with
 * coordinate 0 and passes to the next instance that has not ended, round and
 * round, when the one that took it gives it.
 */
#include "tile/exec.h"

void exec_print_instance(Str *out, const ExecThread *t)
{
    str_add(out, t->role->name);
    if (t->role->per)
        str_printf(out, " (%s = %d)", t->role->per->name, t->instance);
}

/* ---- starting, ending ----------------------------------------------------------- */

static ExecThread *thread_of(Exec *x, int number)
{
    ExecThread *t = x->roles[number];
    if (t)
        return t;
    t = x->roles[number] = arena_new_of(x->arena, ExecThread);
    t->number = number;
    t->symbols = arena_array(x->arena, int64_t, x->n_symbols);
    t->slots = arena_array(x->arena, ExecSlot, x->kernel->next_value);
    return t;
}

static void start_instance(Exec *x, const TileOp *op, int role, int instance)
{
    ExecThread *t = thread_of(x, x->n_roles++);
    t->role = &op->roles[role];
    t->role_index = role;
    t->instance = instance;
    t->in_turn = t->blocked = false;
    t->committed = 0;
    t->issued = t->finished = x->main.issued; /* numbers in tiles stay below */
    t->revising = 0;
    t->depth = 1;
    t->frames[0] = (ExecFrame){.block = op->regions[role]};
    memcpy(t->symbols, x->main.symbols, sizeof(int64_t) * (size_t)x->n_symbols);
    if (t->role->per)
        t->symbols[t->role->per->id] = instance;
    for (int i = 0; i < x->kernel->next_value; i++) {
        t->slots[i] = x->main.slots[i];
        if (t->slots[i].tile)
            t->slots[i].tile->refs++;
    }
}

bool exec_start_roles(Exec *x, const TileOp *op)
{
    int n = 0;
    if (x->n_roles)
        return exec_fail(x, "stands inside of a role");
    if (!exec_none_pending(x, &x->main))
        return false;
    for (int i = 0; i < op->n_regions; i++)
        n += tile_instances(x->kernel, op->roles[i].per);
    if (n > INSTANCE_LIMIT)
        return exec_fail(x, "has %d instances of roles, more than %d", n, INSTANCE_LIMIT);
    x->crews = arena_array(x->arena, ExecCrew, op->n_regions);
    for (int i = 0; i < op->n_regions; i++) {
        x->crews[i] = (ExecCrew){.first = x->n_roles, .count = tile_instances(x->kernel, op->roles[i].per)};
        for (int k = 0; k < x->crews[i].count; k++)
            start_instance(x, op, i, k);
    }
    exec_start_rings(x, op);
    return true;
}

bool exec_end_roles(Exec *x)
{
    x->thread = &x->main;
    x->op = NULL;
    if (!exec_end_rings(x))
        return false;
    for (int i = 0; i < x->n_roles; i++)
        for (int k = 0; k < x->kernel->next_value; k++) {
            exec_drop(x, x->roles[i]->slots[k].tile);
            x->roles[i]->slots[k] = (ExecSlot){.tile = NULL};
        }
    x->n_roles = 0;
    return true;
}

/* ---- running ---------------------------------------------------------------------- */

ExecThread *exec_draw_instance(Exec *x, int *living)
{
    ExecThread *ready[INSTANCE_LIMIT];
    int n = 0;
    *living = 0;
    for (int i = 0; i < x->n_roles; i++) {
        *living += x->roles[i]->depth > 0;
        if (x->roles[i]->depth > 0 && !x->roles[i]->blocked)
            ready[n++] = x->roles[i];
    }
    return n ? ready[rng_below(&x->rng, n)] : NULL;
}

bool exec_deadlock(Exec *x)
{
    Str s = str_new(x->error_arena);
    for (int i = 0; i < x->n_roles; i++) {
        const ExecThread *t = x->roles[i];
        if (t->depth == 0)
            continue;
        const ExecFrame *f = &t->frames[t->depth - 1];
        str_add(&s, s.len ? ", " : "");
        exec_print_instance(&s, t);
        str_printf(&s, " waits in `%s`",
                   tile_op_line(x->error_arena, x->program, x->kernel, f->block->ops.data[f->pc]));
    }
    x->thread = &x->main;
    x->op = NULL;
    return exec_fail(x, "the roles are deadlocked: %s", str_text(&s));
}

/* ---- turns -------------------------------------------------------------------------- */

/* To the next instance that lives; where there is none, it does not matter. */
static void pass_turn(Exec *x, ExecCrew *crew)
{
    for (int i = 0; i < crew->count; i++) {
        crew->turn = (crew->turn + 1) % crew->count;
        if (x->roles[crew->first + crew->turn]->depth > 0)
            return;
    }
}

ExecStep exec_turn(Exec *x, const TileOp *op)
{
    ExecThread *t = x->thread;
    ExecCrew *crew = &x->crews[t->role_index];
    bool takes = op->kind == TILE_TAKE_TURN;
    if (takes == t->in_turn)
        return exec_failed(x, takes ? "takes a turn that it has taken already" : "gives a turn that it has not taken");
    if (takes && crew->turn != t->instance)
        return STEP_BLOCKED;
    t->in_turn = takes;
    if (!takes)
        pass_turn(x, crew);
    return STEP_ON;
}

/* One that has ended gives its turn up. */
bool exec_end_instance(Exec *x, ExecThread *t)
{
    ExecCrew *crew = &x->crews[t->role_index];
    x->op = NULL;
    if (!exec_none_pending(x, t))
        return false;
    if (crew->turn == t->instance)
        pass_turn(x, crew);
    return true;
}
