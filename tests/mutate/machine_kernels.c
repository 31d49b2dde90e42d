/* machine_kernels.c: kernels one after the other: the tensors that they declare,
 * those that they pass on, and their grids. */
#include "machine.h"

#include <math.h>

enum { MOST_BLOCKS = 20000 };

/* ---- tensors ----------------------------------------------------------------------------- */

static size_t count_of(const MachineTensor *t)
{
    size_t count = 1;

    for (int d = 0; d < t->rank; d++)
        count *= (size_t)t->dims[d];
    return count;
}

static void find_writes(const Block *block, const char *tensor, bool *stored, bool *added)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_COPY && s->to_space == SPACE_GLOBAL && strcmp(copy_tensor(s), tensor) == 0)
            *(s->result == RESULT_ACCUMULATE ? added : stored) = true;
        find_writes(&s->body, tensor, stored, added);
        find_writes(&s->orelse, tensor, stored, added);
    }
}

/* What the program only adds to begins as 0, what else it writes as no number. */
static void start_tensor(const Machine *m, MachineTensor *t)
{
    bool stored = false, added = false;

    for (int i = 0; i < m->program->units.len; i++)
        find_writes(&m->program->units.data[i]->body, t->name, &stored, &added);
    for (size_t i = 0; i < count_of(t); i++) {
        t->data[i] = added && !stored ? 0 : NAN;
        t->writer[i] = added && !stored ? -1 : 0;
    }
}

static bool is_assigned(Machine *m, const char *name)
{
    const Stmt *s = machine_assigned(m, name);

    return s && s->value;
}

static void bind_dim(Machine *m, const MachineTensor *t, int d, const Expr *e)
{
    if (e->kind == EXPR_NAME && !machine_bound(m, e->name) && !is_assigned(m, e->name))
        machine_bind(m, e->name, (double)t->dims[d]);
    if (machine_integer(m, e) != t->dims[d])
        machine_fault(m, "dimension %d of '%s' is not what it is said to be", d + 1, t->name);
}

static MachineTensor *pass(Machine *m, const Stmt *s)
{
    MachineTensor *t = &m->tensors[m->n_tensors];

    if (s->kind != STMT_OUTPUT || m->n_tensors == MACHINE_TENSORS || s->n_shape > MACHINE_RANK)
        machine_fault(m, "nothing gives '%s'", s->name);
    *t = (MachineTensor){.name = s->name, .passed = true, .dtype = s->has_dtype ? s->dtype : DT_BF16, .rank = s->n_shape};
    for (int d = 0; d < t->rank; d++) {
        t->dims[d] = machine_integer(m, s->shape[d]);
        if (t->dims[d] < 0 || t->dims[d] > 4096)
            machine_fault(m, "dimension %d of '%s' is %lld", d + 1, t->name, (long long)t->dims[d]);
    }
    machine_spend(m, (long)count_of(t));
    t->data = arena_array(m->arena, double, count_of(t) + 1);
    t->writer = arena_array(m->arena, int, count_of(t) + 1);
    start_tensor(m, t);
    m->n_tensors++;
    return t;
}

static void declare(Machine *m, const Stmt *s)
{
    bool writes = s->kind == STMT_OUTPUT;
    int at = m->n_tensors;
    MachineTensor *t = machine_tensor(m, s->name, &at);

    if (!t)
        t = pass(m, s);
    if (t->reads || t->writes || (!t->passed && t->output != writes) || s->n_shape != t->rank ||
        (s->has_dtype && s->dtype != t->dtype))
        machine_fault(m, "'%s' is not declared as it is", s->name);
    t->reads = !writes;
    t->writes = writes;
    for (int d = 0; d < t->rank; d++) {
        m->dims[at][d] = s->shape[d]->kind == EXPR_NAME ? s->shape[d]->name : NULL;
        bind_dim(m, t, d, s->shape[d]);
    }
}

static const Stmt *read_head(Machine *m)
{
    const Stmt *grid = NULL;

    for (int i = 0; i < m->unit->body.len; i++) {
        const Stmt *s = m->unit->body.data[i];

        if (s->kind == STMT_INPUT || s->kind == STMT_OUTPUT)
            declare(m, s);
        if (s->kind == STMT_GRID) {
            if (grid)
                machine_fault(m, "two grids");
            grid = s;
        }
    }
    return grid;
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void run_blocks(Machine *m, const Stmt *grid, int axis)
{
    int mark = m->scalars.len;

    if (grid && axis < grid->n_coords) {
        const Coord *c = &grid->coords[axis];
        int64_t extent;

        if (!c->name || !c->value)
            machine_fault(m, "a grid without extents");
        if (machine_bound(m, c->name) || machine_assigned(m, c->name))
            machine_fault(m, "'%s' has two values", c->name);
        extent = machine_integer(m, c->value);
        for (int64_t i = 0; i < extent; i++) {
            machine_bind(m, c->name, (double)i);
            run_blocks(m, grid, axis + 1);
            m->scalars.len = mark;
        }
        return;
    }
    if (++m->block > MOST_BLOCKS)
        machine_fault(m, "too many blocks");
    m->vars.len = 0;
    m->newest = NULL;
    machine_body(m);
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* Dimensions keep their names from kernel to kernel, unless one assigns them. */
static void keep_dims(Machine *m)
{
    int kept = 0;

    for (int i = 0; i < m->scalars.len; i++)
        if (!is_assigned(m, m->scalars.data[i].name))
            m->scalars.data[kept++] = m->scalars.data[i];
    m->scalars.len = kept;
}

static void run_kernel(Machine *m, const Unit *unit)
{
    m->unit = unit;
    m->depth = 0;
    m->first = m->block + 1;
    memset(m->dims, 0, sizeof m->dims);
    for (int i = 0; i < m->n_tensors; i++)
        m->tensors[i].reads = m->tensors[i].writes = m->tensors[i].stored = m->tensors[i].added = false;
    keep_dims(m);
    run_blocks(m, read_head(m), 0);
}

static bool declares(const Program *program, const char *name)
{
    for (int i = 0; i < program->units.len; i++)
        for (int k = 0; k < program->units.data[i]->body.len; k++) {
            const Stmt *s = program->units.data[i]->body.data[k];

            if ((s->kind == STMT_INPUT || s->kind == STMT_OUTPUT) && strcmp(s->name, name) == 0)
                return true;
        }
    return false;
}

static void run(Machine *m)
{
    for (int i = 0; i < m->n_tensors; i++) {
        if (m->tensors[i].output)
            start_tensor(m, &m->tensors[i]);
        if (!declares(m->program, m->tensors[i].name))
            machine_fault(m, "'%s' is not declared", m->tensors[i].name);
    }
    for (int i = 0; i < m->program->units.len; i++)
        run_kernel(m, m->program->units.data[i]);
}

const char *machine_run(Arena *arena, const Program *program, const MachineTensor *tensors, int n_tensors)
{
    Machine *m = arena_new_of(arena, Machine);

    m->arena = arena;
    m->program = program;
    m->tensors = arena_array(arena, MachineTensor, MACHINE_TENSORS);
    memcpy(m->tensors, tensors, (size_t)n_tensors * sizeof *tensors);
    m->n_tensors = n_tensors;
    m->row = m->col = -1;
    if (setjmp(m->stop) == 0)
        run(m);
    return m->fault;
}
