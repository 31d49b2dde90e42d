/* machine.c: the interpreter's numbers, copies and flow; machine_compute.c has
 * the operations, machine_kernels.c kernels and what they declare. */
#include "machine.h"

#include <math.h>

enum { MOST_WORK = 40 * 1000 * 1000, MOST_DEPTH = 50 };

void machine_fault(Machine *m, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    m->fault = arena_vprintf(m->arena, fmt, args);
    va_end(args);
    longjmp(m->stop, 1);
}

void machine_spend(Machine *m, long work)
{
    m->work += work;
    if (m->work > MOST_WORK)
        machine_fault(m, "it takes too long");
}

/* ---- numbers --------------------------------------------------------------------------- */

void machine_bind(Machine *m, const char *name, double value)
{
    vec_push(m->arena, &m->scalars, (Scalar){name, value});
}

const Scalar *machine_bound(const Machine *m, const char *name)
{
    for (int i = m->scalars.len - 1; i >= 0; i--)
        if (m->scalars.data[i].name == name || strcmp(m->scalars.data[i].name, name) == 0)
            return &m->scalars.data[i];
    return NULL;
}

static bool is_assignment(const Stmt *s)
{
    return s->kind == STMT_ASSIGN || s->kind == STMT_LET || s->kind == STMT_PARAM;
}

/* The assignment of the unit's own body that gives the name its value. */
const Stmt *machine_assigned(Machine *m, const char *name)
{
    const Stmt *found = NULL;

    for (int i = 0; i < m->unit->body.len; i++) {
        const Stmt *s = m->unit->body.data[i];

        if (!is_assignment(s) || strcmp(s->name, name) != 0)
            continue;
        if (found)
            machine_fault(m, "'%s' is assigned twice", name);
        found = s;
    }
    return found;
}

static double name_number(Machine *m, const char *name)
{
    const Scalar *known = machine_bound(m, name);
    const Stmt *s = known ? NULL : machine_assigned(m, name);
    double value;

    if (known)
        return known->value;
    if (!s || !s->value)
        machine_fault(m, "'%s' has no value", name);
    if (m->depth++ > MOST_DEPTH)
        machine_fault(m, "'%s' depends on itself", name);
    value = machine_number(m, s->value);
    m->depth--;
    return value;
}

static double quotient(Machine *m, double a, double b)
{
    if (b == 0)
        machine_fault(m, "division by 0");
    return a / b;
}

static double binary(Machine *m, const Expr *e)
{
    double a = machine_number(m, e->a), b;

    if (e->op == EO_AND && a == 0)
        return 0;
    if (e->op == EO_OR && a != 0)
        return 1;
    b = machine_number(m, e->b);
    switch (e->op) {
    case EO_ADD: return a + b;
    case EO_SUB: return a - b;
    case EO_MUL: return a * b;
    case EO_DIV: return quotient(m, a, b);
    case EO_IDIV: return floor(quotient(m, a, b));
    case EO_MOD: return a - floor(quotient(m, a, b)) * b;
    case EO_POW: return pow(a, b);
    case EO_LT: return a < b;
    case EO_LE: return a <= b;
    case EO_GT: return a > b;
    case EO_GE: return a >= b;
    case EO_EQ: return a == b;
    case EO_NE: return a != b;
    case EO_AND:
    case EO_OR: return b != 0;
    case EO_NEG:
    case EO_NOT: break;
    }
    machine_fault(m, "no binary operation");
}

static double call(Machine *m, const Expr *e)
{
    bool row = strcmp(e->name, "row") == 0, col = strcmp(e->name, "col") == 0;
    double a, b;

    if (row || col) {
        if (m->row < 0)
            machine_fault(m, "row() and col() belong to an element");
        return row ? m->row : m->col;
    }
    if (e->n_args < 1)
        machine_fault(m, "'%s' of nothing", e->name);
    a = machine_number(m, e->args[0]);
    if (strcmp(e->name, "ceil") == 0)
        return ceil(a);
    if (strcmp(e->name, "floor") == 0)
        return floor(a);
    if (strcmp(e->name, "abs") == 0)
        return fabs(a);
    if (strcmp(e->name, "sqrt") == 0)
        return sqrt(a);
    if (strcmp(e->name, "exp") == 0)
        return exp(a);
    if (strcmp(e->name, "log") == 0)
        return log(a);
    for (int i = 1; i < e->n_args; i++) {
        b = machine_number(m, e->args[i]);
        a = strcmp(e->name, "min") == 0 ? fmin(a, b) : fmax(a, b);
    }
    if (strcmp(e->name, "min") != 0 && strcmp(e->name, "max") != 0)
        machine_fault(m, "no function '%s'", e->name);
    return a;
}

double machine_number(Machine *m, const Expr *e)
{
    machine_spend(m, 1);
    switch (e->kind) {
    case EXPR_INT: return (double)e->i;
    case EXPR_FLOAT: return e->f;
    case EXPR_NAME: return name_number(m, e->name);
    case EXPR_UNARY: return e->op == EO_NEG ? -machine_number(m, e->a) : machine_number(m, e->a) == 0;
    case EXPR_BINARY: return binary(m, e);
    case EXPR_CALL: return call(m, e);
    case EXPR_INDEX:
    case EXPR_TRANSPOSE:
    case EXPR_SPACE:
    case EXPR_RANGE:
    case EXPR_ELLIPSIS:
    case EXPR_WORDS: break;
    }
    machine_fault(m, "no number");
}

int64_t machine_integer(Machine *m, const Expr *e)
{
    double x = machine_number(m, e);

    if (!(fabs(x) < 1e15) || x != floor(x))
        machine_fault(m, "%g is no integer", x);
    return (int64_t)x;
}

/* ---- tiles ----------------------------------------------------------------------------- */

MachineVar *machine_var(Machine *m, const char *name)
{
    for (int i = 0; i < m->vars.len; i++)
        if (strcmp(m->vars.data[i].name, name) == 0)
            return &m->vars.data[i];
    return NULL;
}

Value machine_value(Machine *m, int rows, int cols)
{
    machine_spend(m, (long)rows * cols);
    return (Value){.rows = rows, .cols = cols, .x = arena_array(m->arena, double, (size_t)rows * cols)};
}

MachineTensor *machine_tensor(Machine *m, const char *name, int *at)
{
    for (int i = 0; i < m->n_tensors; i++)
        if (name && strcmp(m->tensors[i].name, name) == 0)
            return *at = i, &m->tensors[i];
    return NULL;
}

/* The size of a tile: (rows, columns), or one number for a row or column. */
static int tile_shape(Machine *m, Expr *const *shape, int n, int64_t *sizes)
{
    if (n < 1 || n > 2)
        machine_fault(m, "a tile has two dimensions, not %d", n);
    for (int i = 0; i < n; i++) {
        sizes[i] = machine_integer(m, shape[i]);
        if (sizes[i] < 1 || sizes[i] > 4096)
            machine_fault(m, "a tile has a size of %lld", (long long)sizes[i]);
    }
    return n;
}

static void allocate(Machine *m, const Stmt *s)
{
    int64_t sizes[2];
    Cell *cell;

    bool ring = s->space == SPACE_SHARED && s->n_shape == 3;
    int64_t stages = ring ? machine_integer(m, s->shape[0]) : 0;

    if (s->space == SPACE_GLOBAL)
        machine_fault(m, "'%s' is no tile", s->name);
    if (stages < ring || stages > 64)
        machine_fault(m, "'%s' has %lld stages", s->name, (long long)stages);
    if (tile_shape(m, s->shape + ring, s->n_shape - ring, sizes) == 1) { /* a value a row; in shared memory, a row */
        sizes[s->space == SPACE_SHARED] = sizes[0];
        sizes[s->space != SPACE_SHARED] = 1;
    }
    if (!machine_var(m, s->name))
        vec_push(m->arena, &m->vars, (MachineVar){.name = s->name});
    cell = &machine_var(m, s->name)->cells[s->space];
    if (cell->allocated)
        machine_fault(m, "'%s' is allocated twice", s->name);
    cell->allocated = true;
    cell->value = machine_value(m, (int)sizes[0], (int)sizes[1]);
    cell->n_stages = (int)stages;
    cell->stages = ring ? arena_array(m->arena, Cell, stages) : NULL;
    for (int i = 0; i < stages; i++)
        cell->stages[i] = (Cell){.allocated = true, .value = machine_value(m, (int)sizes[0], (int)sizes[1])};
}

static Cell *stage_of(Machine *m, const MachineVar *v, const Expr *e)
{
    const Cell *ring = &v->cells[SPACE_SHARED];
    int64_t at = machine_integer(m, e);

    if (at < 0 || at >= ring->n_stages)
        machine_fault(m, "'%s' has no stage %lld", v->name, (long long)at);
    return &ring->stages[at];
}

Cell *machine_staged(Machine *m, const Expr *e)
{
    MachineVar *v = e->a->kind == EXPR_NAME ? machine_var(m, e->a->name) : NULL;
    Cell *cell;

    if (!v || !v->cells[SPACE_SHARED].stages || e->n_args != 1)
        machine_fault(m, "only stages are indexed here");
    cell = stage_of(m, v, e->args[0]);
    if (!cell->written)
        machine_fault(m, "a stage of '%s' is read before it is written", v->name);
    return cell;
}

static bool same_elements(const Value *a, const Value *b)
{
    if (a->rows != b->rows || a->cols != b->cols)
        return false;
    for (int i = 0; i < a->rows * a->cols; i++)
        if (a->x[i] != b->x[i])
            return false;
    return true;
}

Cell *machine_readable(Machine *m, MachineVar *v, Space space)
{
    Cell *shared = &v->cells[SPACE_SHARED], *reg = &v->cells[SPACE_REGISTER];

    if (space == SPACE_GLOBAL || (space != SPACE_NONE && !v->cells[space].written))
        machine_fault(m, "'%s' has no value in %s memory", v->name, space_name(space));
    if (space != SPACE_NONE)
        return &v->cells[space];
    if (!shared->written && !reg->written)
        machine_fault(m, "'%s' is read before it is written", v->name);
    if (shared->written && reg->written && !same_elements(&shared->value, &reg->value))
        machine_fault(m, "the copies of '%s' differ", v->name);
    return reg->written ? reg : shared;
}

/* ---- Copy ------------------------------------------------------------------------------ */

typedef struct Window { /* a tile's place in a tensor */
    int row_dim, col_dim; /* -1: none */
    int64_t first[MACHINE_RANK];
} Window;

static int dimension_named(const Machine *m, int tensor, const char *name)
{
    for (int d = 0; d < m->tensors[tensor].rank; d++)
        if (m->dims[tensor][d] && strcmp(m->dims[tensor][d], name) == 0)
            return d;
    return -1;
}

/* Coordinates count tiles, by the name of a dimension or in order; a single one
 * of another name is that of the tile's first dimension. */
static int coordinate_dim(Machine *m, const Stmt *s, int i, int tensor, int n_shape)
{
    const Coord *c = &s->coords[i];
    int rank = m->tensors[tensor].rank, d;

    if (!c->name)
        d = s->n_coords == rank ? i : -1;
    else
        d = dimension_named(m, tensor, c->name);
    if (d < 0 && c->name && s->n_coords == 1)
        d = rank - n_shape;
    if (d < 0)
        machine_fault(m, "a coordinate of '%s' belongs to no dimension", s->name);
    return d;
}

static Window window(Machine *m, const Stmt *s, int tensor, int n, const int64_t *sizes)
{
    const MachineTensor *t = &m->tensors[tensor];
    Window w = {.row_dim = n == 2 ? t->rank - 2 : -1, .col_dim = t->rank - 1};
    bool taken[MACHINE_RANK] = {false};

    if (n > t->rank)
        machine_fault(m, "a tile of more dimensions than '%s'", s->name);
    for (int i = 0; i < s->n_coords; i++) {
        int d = coordinate_dim(m, s, i, tensor, n);
        int64_t step = d >= t->rank - n ? sizes[d - (t->rank - n)] : 1;

        if (taken[d])
            machine_fault(m, "a dimension of '%s' has two coordinates", s->name);
        taken[d] = true;
        w.first[d] = machine_integer(m, s->coords[i].value) * step;
    }
    return w;
}

/* The element's place in memory; -1: outside of the tensor. */
static int64_t place(const MachineTensor *t, const Window *w, int row, int col)
{
    int64_t at = 0;

    for (int d = 0; d < t->rank; d++) {
        int64_t i = w->first[d] + (d == w->row_dim ? row : 0) + (d == w->col_dim ? col : 0);

        if (i < 0 || i >= t->dims[d])
            return -1;
        at = at * t->dims[d] + i;
    }
    return at;
}

static Cell *near_cell(Machine *m, const Stmt *s, Space space)
{
    MachineVar *v = machine_var(m, copy_tile(s));

    if (!v || !v->cells[space].allocated)
        machine_fault(m, "'%s' is not allocated in %s memory", copy_tile(s), space_name(space));
    if (space == SPACE_SHARED && (s->stage != NULL) != (v->cells[space].stages != NULL))
        machine_fault(m, "'%s' and its stages", s->name);
    return s->stage && space == SPACE_SHARED ? stage_of(m, v, s->stage) : &v->cells[space];
}

static void store(Machine *m, MachineTensor *t, int64_t at, double x)
{
    if (at < 0)
        return;
    if (t->writer[at] >= m->first && t->writer[at] != m->block)
        machine_fault(m, "two blocks write the same element of '%s'", t->name);
    t->writer[at] = m->block;
    t->data[at] = x;
}

static void add(Machine *m, MachineTensor *t, int64_t at, double x)
{
    if (at < 0)
        return;
    t->writer[at] = m->block;
    t->data[at] += x;
}

/* A kernel stores to a tensor or adds to it. */
static void may_write(Machine *m, const Stmt *s, MachineTensor *t)
{
    bool adds = s->result == RESULT_ACCUMULATE;

    if (!t->writes)
        machine_fault(m, "the input '%s' is overwritten", t->name);
    if (adds && t->dtype != DT_F32)
        machine_fault(m, "what is added to is of fp32");
    t->added |= adds;
    t->stored |= !adds;
    if (t->added && t->stored)
        machine_fault(m, "a kernel stores to '%s' and adds to it", t->name);
}

/* Between a tensor and a tile. */
static void copy_global(Machine *m, const Stmt *s, bool load)
{
    int tensor = 0, n;
    MachineTensor *t = machine_tensor(m, copy_tensor(s), &tensor);
    int64_t sizes[2];
    Cell *cell;
    Window w;

    if (!t)
        machine_fault(m, "'%s' is not in global memory", copy_tensor(s));
    if (load && (!t->reads || s->result != RESULT_NONE))
        machine_fault(m, "the output '%s' is read", t->name);
    if (!load)
        may_write(m, s, t);
    cell = near_cell(m, s, load ? s->to_space : s->space);
    if (!load)
        cell = machine_readable(m, machine_var(m, copy_tile(s)), s->space);
    n = s->has_shape ? tile_shape(m, s->shape, s->n_shape, sizes) : 2;
    if (!s->has_shape) {
        sizes[0] = cell->value.rows;
        sizes[1] = cell->value.cols;
    }
    if (n == 1 ? (cell->value.rows != 1 && cell->value.cols != 1) ||
                     cell->value.rows * cell->value.cols != sizes[0]
               : cell->value.rows != sizes[0] || cell->value.cols != sizes[1])
        machine_fault(m, "a Copy of another shape than '%s'", s->name);
    w = window(m, s, tensor, n, sizes);
    if (load)
        cell->value = machine_value(m, cell->value.rows, cell->value.cols);
    cell->written = true;
    for (int i = 0; i < cell->value.rows * cell->value.cols; i++) {
        int64_t at = n == 1 ? place(t, &w, 0, i) : place(t, &w, i / cell->value.cols, i % cell->value.cols);

        if (load)
            cell->value.x[i] = at < 0 ? 0 : t->data[at];
        else
            (s->result == RESULT_ACCUMULATE ? add : store)(m, t, at, cell->value.x[i]);
    }
}

static void copy_near(Machine *m, const Stmt *s)
{
    Cell *from = near_cell(m, s, s->space), *to = near_cell(m, s, s->to_space);

    if (!from->written)
        machine_fault(m, "'%s' is copied before it is written", s->name);
    if (from->value.rows != to->value.rows || from->value.cols != to->value.cols)
        machine_fault(m, "'%s' has two shapes", s->name);
    to->value = from->value;
    to->value.raw = false;
    to->written = true;
}

static void copy(Machine *m, const Stmt *s)
{
    if (s->target || s->where)
        machine_fault(m, "this machine copies whole tiles");
    if (s->as && s->space != SPACE_GLOBAL && s->to_space != SPACE_GLOBAL)
        machine_fault(m, "this machine gives tiles no other names");
    if (s->result != RESULT_NONE && s->to_space != SPACE_GLOBAL)
        machine_fault(m, "only sums in global memory are added to");
    if (s->space == s->to_space)
        machine_fault(m, "a Copy within a memory space");
    if (s->space == SPACE_GLOBAL || s->to_space == SPACE_GLOBAL)
        copy_global(m, s, s->space == SPACE_GLOBAL);
    else
        copy_near(m, s);
}

/* ---- Reshape --------------------------------------------------------------------------- */

static bool named(const Expr *e, const char *name)
{
    return e->kind == EXPR_NAME && strcmp(e->name, name) == 0;
}

static void reshape(Machine *m, const Stmt *s)
{
    MachineVar *v = machine_var(m, s->name);

    if (s->n_shape != 3 || s->n_to_shape != 3 || !named(s->shape[0], "MMA_C") || !named(s->to_shape[0], "MMA_A"))
        machine_fault(m, "a Reshape goes from MMA_C to MMA_A");
    if (!v || !v->cells[SPACE_REGISTER].written)
        machine_fault(m, "'%s' is reshaped before it is written", s->name);
    v->cells[SPACE_REGISTER].value.raw = false;
}

/* ---- flow ------------------------------------------------------------------------------ */

static void run_block(Machine *m, const Block *block, bool nested);

static void run_for(Machine *m, const Stmt *s)
{
    int64_t lo, hi;
    int mark = m->scalars.len;

    if (!s->lo || !s->hi)
        machine_fault(m, "a loop without bounds");
    lo = machine_integer(m, s->lo);
    hi = machine_integer(m, s->hi);
    for (int64_t i = lo; i < hi; i++) {
        machine_bind(m, s->name, (double)i);
        run_block(m, &s->body, true);
        m->scalars.len = mark;
    }
}

static void run_stmt(Machine *m, const Stmt *s, bool nested)
{
    machine_spend(m, 1);
    switch (s->kind) {
    case STMT_ALLOCATE:
        if (nested)
            machine_fault(m, "a tile is allocated in a loop");
        allocate(m, s);
        break;
    case STMT_ASSIGN:
        if (nested)
            machine_bind(m, s->name, machine_number(m, s->value));
        break;
    case STMT_COPY: copy(m, s); break;
    case STMT_COMPUTE: machine_compute(m, s); break;
    case STMT_RESHAPE: reshape(m, s); break;
    case STMT_FOR: run_for(m, s); break;
    case STMT_IF: run_block(m, machine_number(m, s->where) != 0 ? &s->body : &s->orelse, true); break;
    case STMT_INPUT:
    case STMT_OUTPUT:
    case STMT_PARAM:
    case STMT_LET:
    case STMT_GRID:
    case STMT_INDEX:
    case STMT_SCHEDULE:
        if (nested)
            machine_fault(m, "a declaration within a block");
        break;
    case STMT_DEFINE:
    case STMT_COUNT: machine_fault(m, "this machine knows no such statement");
    }
}

static void run_block(Machine *m, const Block *block, bool nested)
{
    for (int i = 0; i < block->len; i++)
        run_stmt(m, block->data[i], nested);
}

/* ---- what starts at an identity ---------------------------------------------------------- */

static void start_at(Machine *m, const Expr *e, double value)
{
    MachineVar *v = e && e->kind == EXPR_NAME ? machine_var(m, e->name) : NULL;
    Cell *cell = v ? &v->cells[SPACE_REGISTER] : NULL;

    if (!cell || !cell->allocated || cell->written)
        return;
    cell->written = true;
    for (int i = 0; i < cell->value.rows * cell->value.cols; i++)
        cell->value.x[i] = value;
}

/* What is accumulated starts at 0, M and L of an online softmax at -inf and 0. */
static void start_block(Machine *m, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (s->kind == STMT_COMPUTE && s->n_with == 2) {
            start_at(m, s->with[0], -INFINITY);
            start_at(m, s->with[1], 0);
        }
        if (s->kind == STMT_COMPUTE && s->result == RESULT_ACCUMULATE)
            start_at(m, s->dest, 0);
        start_block(m, &s->body);
        start_block(m, &s->orelse);
    }
}

/* Tiles are allocated in the order of the text, and used below. */
void machine_body(Machine *m)
{
    const Block *body = &m->unit->body;
    int i = 0;

    for (; i < body->len && body->data[i]->kind != STMT_COPY && body->data[i]->kind != STMT_COMPUTE &&
           body->data[i]->kind != STMT_FOR && body->data[i]->kind != STMT_IF;
         i++)
        run_stmt(m, body->data[i], false);
    start_block(m, body);
    for (; i < body->len; i++) {
        run_stmt(m, body->data[i], false);
        if (body->data[i]->kind == STMT_ALLOCATE)
            start_block(m, body);
    }
}
