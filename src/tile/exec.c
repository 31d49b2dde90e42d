/* exec.c: runs tile programs on the CPU: kernels, blocks, frames.
 *
 * Regions are not run by recursion: each thread keeps its own stack of frames
 * and makes one operation at a time, so that instances of roles can be
 * interleaved under a seed. One that cannot go on (a full ring, data that was
 * not handed over) is skipped until another has moved; when none can move they
 * are deadlocked.
 *
 *   main  kernel ► for j = 3 ► roles         waits for its roles
 *   role 0                     for ► copy    one of these makes
 *   role 1                     for ► await   the next step
 */
#include "tile/exec.h"

#include <math.h>

/* ---- errors, expressions, values --------------------------------------------------- */

static bool numbers_blocks(const Exec *x, const TileAxis *axis)
{
    return !(axis->within && x->has_roles);
}

/* "kernel main, block (m = 3, z = 0), role load: `...` reads ..." */
static void fail(Exec *x, const char *fmt, va_list args)
{
    int n = 0;
    if (x->error)
        return;
    Str s = str_new(x->error_arena);
    str_printf(&s, "kernel %s", x->kernel->name);
    for (int i = 0; i < x->kernel->grid.len; i++)
        if (numbers_blocks(x, &x->kernel->grid.data[i]))
            str_printf(&s, "%s%s = %lld", n++ ? ", " : ", block (", x->kernel->grid.data[i].sym->name,
                       (long long)x->axes[i]);
    str_add(&s, n ? ")" : "");
    if (x->thread && x->thread->role) {
        str_add(&s, ", role ");
        exec_print_instance(&s, x->thread);
    }
    str_add(&s, ": ");
    if (x->op)
        str_printf(&s, "`%s` ", tile_op_line(x->error_arena, x->program, x->kernel, x->op));
    str_add(&s, arena_vprintf(x->error_arena, fmt, args));
    x->error = str_text(&s);
}

bool exec_fail(Exec *x, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(x, fmt, args);
    va_end(args);
    return false;
}

ExecStep exec_failed(Exec *x, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(x, fmt, args);
    va_end(args);
    return STEP_FAILED;
}

bool exec_eval(Exec *x, const Aff *a, int64_t *result)
{
    if (aff_eval(a, x->thread->symbols, result))
        return true;
    return exec_fail(x, "has an expression without a value " TILE_NO_VALUE ": %s",
                     aff_text(x->error_arena, a));
}

ExecTile *exec_new_tile(Exec *x, int rows, int cols)
{
    size_t need = (size_t)rows * (size_t)cols;
    for (ExecTile **link = &x->free_tiles; *link; link = &(*link)->next) {
        ExecTile *tile = *link;
        if (tile->room != need)
            continue;
        *link = tile->next;
        tile->rows = rows;
        tile->cols = cols;
        tile->product = 0;
        tile->passed_on = false;
        tile->is_integer = false;
        return tile;
    }
    ExecTile *tile = arena_new_of(x->arena, ExecTile);
    *tile = (ExecTile){.rows = rows, .cols = cols, .room = need};
    tile->at = arena_array(x->arena, float, need);
    return tile;
}

void exec_drop(Exec *x, ExecTile *tile)
{
    if (!tile || --tile->refs > 0)
        return;
    tile->next = x->free_tiles;
    x->free_tiles = tile;
}

void exec_bind(Exec *x, const TileValue *value, ExecSlot slot)
{
    ExecSlot *at = &x->thread->slots[value->id];
    if (slot.tile)
        slot.tile->refs++;
    exec_drop(x, at->tile);
    *at = slot;
}

ExecSlot *exec_slot(Exec *x, const TileOp *op, int arg)
{
    return &x->thread->slots[op->args[arg]->id];
}

/* values[i] = args[i], all at once: carried values may change places. */
static void bind_all(Exec *x, TileValue *const *values, int n, TileValue *const *args)
{
    x->moving.len = 0;
    for (int i = 0; i < n; i++) {
        ExecSlot slot = x->thread->slots[args[i]->id];
        if (slot.tile)
            slot.tile->refs++;
        vec_push(x->arena, &x->moving, slot);
    }
    for (int i = 0; i < n; i++) {
        exec_bind(x, values[i], x->moving.data[i]);
        exec_drop(x, x->moving.data[i].tile);
    }
}

/* ---- frames -------------------------------------------------------------------------- */

static ExecFrame *top(ExecThread *t)
{
    return &t->frames[t->depth - 1];
}

static bool push(Exec *x, const TileBlock *block, const TileOp *op)
{
    ExecThread *t = x->thread;
    if (t->depth == DEPTH_LIMIT)
        return exec_fail(x, "nests deeper than %d regions", DEPTH_LIMIT);
    t->frames[t->depth++] = (ExecFrame){.block = block, .op = op};
    return true;
}

static void enter_iteration(Exec *x, ExecFrame *f)
{
    f->pc = 0;
    x->thread->symbols[f->op->var->id] = f->at;
}

static bool start_for(Exec *x, const TileOp *op)
{
    int64_t lo, hi;
    if (!exec_eval(x, op->lo, &lo) || !exec_eval(x, op->hi, &hi))
        return false;
    if (lo >= hi) {
        bind_all(x, op->results, op->n_results, op->args);
        return true;
    }
    if (!push(x, op->regions[0], op))
        return false;
    ExecFrame *f = top(x->thread);
    f->at = lo;
    f->end = hi;
    bind_all(x, f->block->params.data, op->n_args, op->args);
    enter_iteration(x, f);
    return true;
}

static bool start_if(Exec *x, const TileOp *op)
{
    int64_t taken;
    if (!exec_eval(x, op->cond, &taken))
        return false;
    if (!taken && op->n_regions < 2)
        return true;
    return push(x, op->regions[taken ? 0 : 1], op);
}

static bool start_revise(Exec *x, const TileOp *op)
{
    if (!exec_is_revised(x, op)) {
        bind_all(x, op->results, op->n_results, op->args);
        return !x->error;
    }
    if (x->error || !push(x, op->regions[0], op))
        return false;
    exec_start_revise(x, top(x->thread));
    return true;
}

/* The end of a region: a loop goes round or ends, an if ends; a role or the
 * kernel itself has no operation around it and is over. */
static void end_region(Exec *x, const TileOp *yield)
{
    ExecFrame *f = top(x->thread);
    const TileOp *owner = f->op;
    TileValue *const *args = yield ? yield->args : NULL;
    int n = yield ? yield->n_args : 0;
    if (owner && owner->kind == TILE_FOR && f->at + 1 < f->end) {
        f->at++;
        bind_all(x, f->block->params.data, n, args);
        enter_iteration(x, f);
        return;
    }
    if (owner && owner->kind == TILE_REVISE)
        exec_end_revise(x, f, yield);
    else if (owner)
        bind_all(x, owner->results, n, args);
    x->thread->depth--;
}

/* ---- steps -------------------------------------------------------------------------------- */

static ExecStep done(bool ok)
{
    return ok ? STEP_ON : STEP_FAILED;
}

static double larger(double elements, const TileValue *v)
{
    return fmax(elements, (double)v->type.rows * v->type.cols);
}

/* In multiply-adds. Of a sum of rows, or of what is stored, the elements that are read count. */
static double cost(const TileOp *op)
{
    enum { OF_ELEMENT = 12 }; /* multiply-adds that take as long */
    double made = 1, all;
    for (int i = 0; i < op->n_results; i++)
        made = larger(made, op->results[i]);
    if (op->kind == TILE_GEMM && op->n_args)
        return made * (op->trans_a ? op->args[0]->type.rows : op->args[0]->type.cols);
    all = made;
    for (int i = 0; op->n_regions == 0 && i < op->n_args; i++)
        all = larger(all, op->args[i]);
    return OF_ELEMENT * all;
}

static bool may_go_on(Exec *x, const TileOp *op)
{
    x->done += cost(op);
    x->steps++;
    if (x->run->most_steps > 0 && x->steps > x->run->most_steps)
        return exec_fail(x, "is one too many: more than %lld operations were executed", (long long)x->run->most_steps);
    if (x->run->most == 0 || x->done <= x->run->most) return true;
    return exec_fail(x, "is one too many: it takes the work of more than %g multiply-adds", x->run->most);
}

static ExecStep make_step(Exec *x, const TileOp *op)
{
    if (!may_go_on(x, op)) return STEP_FAILED;
    switch (op->kind) {
    case TILE_FOR: return done(start_for(x, op));
    case TILE_IF: return done(start_if(x, op));
    case TILE_PREPARE: return done(push(x, op->regions[0], op));
    case TILE_YIELD: end_region(x, op); return STEP_ON;
    case TILE_REVISE: return done(start_revise(x, op));
    case TILE_ROLES: return done(exec_start_roles(x, op));
    case TILE_ACQUIRE:
    case TILE_FILLED:
    case TILE_AWAIT:
    case TILE_RELEASE: return exec_ring(x, op);
    case TILE_TAKE_TURN:
    case TILE_GIVE_TURN: return exec_turn(x, op);
    case TILE_LOAD:
    case TILE_STORE:
    case TILE_MOVE:
    case TILE_FILL:
    case TILE_INDEX:
    case TILE_GATHER:
    case TILE_ELEMENT:
    case TILE_MASK:
    case TILE_REDUCE:
    case TILE_CAST:
    case TILE_RESHAPE:
    case TILE_SLICE:
    case TILE_PATCH:
    case TILE_SCALAR:
    case TILE_GEMM:
    case TILE_SOFTMAX:
    case TILE_BUFFER:
    case TILE_VIEW:
    case TILE_PUT:
    case TILE_COPY_ASYNC:
    case TILE_COMMIT:
    case TILE_WAIT:
    case TILE_BARRIER:
    case TILE_RING:
    case TILE_ISSUE:
    case TILE_FINISH:
    case TILE_OP_COUNT: break;
    }
    return done(exec_do(x, op));
}

/* One operation of a thread. A blocked one will be tried again. */
static ExecStep step(Exec *x, ExecThread *t)
{
    ExecFrame *f = top(t);
    x->thread = t;
    x->op = NULL;
    if (f->pc == f->block->ops.len) {
        end_region(x, NULL);
        return STEP_ON;
    }
    x->op = f->block->ops.data[f->pc++];
    exec_land_some(x);
    exec_multiply_some(x);
    ExecStep result = make_step(x, x->op);
    t->blocked = result == STEP_BLOCKED;
    if (t->blocked)
        f->pc--;
    return result;
}

static bool step_roles(Exec *x)
{
    int living;
    ExecThread *t = exec_draw_instance(x, &living);
    if (!living)
        return exec_end_roles(x);
    if (!t)
        return exec_deadlock(x);
    ExecStep result = step(x, t);
    for (int i = 0; i < x->n_roles && result == STEP_ON; i++)
        x->roles[i]->blocked = false;
    return result != STEP_FAILED && (t->depth > 0 || exec_end_instance(x, t));
}

bool exec_begin_block(Exec *x)
{
    x->main.depth = 0;
    x->main.committed = 0;
    x->n_roles = 0;
    x->copies.len = 0;
    x->thread = &x->main;
    x->op = NULL;
    return push(x, x->kernel->body, NULL);
}

bool exec_go_on(Exec *x, const TileOp **meets)
{
    *meets = NULL;
    while (x->main.depth > 0 || x->n_roles > 0) {
        if (!(x->n_roles ? step_roles(x) : step(x, &x->main) != STEP_FAILED))
            return false;
        if (x->op && x->op->across) {
            *meets = x->op;
            return true;
        }
    }
    return exec_none_pending(x, &x->main);
}

static bool run_block(Exec *x)
{
    const TileOp *meets;
    if (tile_cluster(x->kernel))
        return exec_run_cluster(x);
    return exec_begin_block(x) && exec_go_on(x, &meets);
}

/* ---- kernels ---------------------------------------------------------------------------------- */

static bool block_wanted(const Exec *x)
{
    return x->run->want_block(x->run->user, x->kernel_index, x->axes, x->kernel->grid.len);
}

/* Of a cluster all blocks run, or none. */
static bool wanted(const Exec *x)
{
    bool any = !x->run->want_block;
    for (int i = tile_cluster_blocks(x->kernel) - 1; i >= 0 && !any; i--) {
        if (tile_cluster(x->kernel))
            x->axes[0] = i;
        any = block_wanted(x);
    }
    return any;
}

static void set_axis(Exec *x, int i, int64_t count, int64_t extent)
{
    const TileAxis *axis = &x->kernel->grid.data[i];
    x->axes[i] = axis->reversed ? extent - 1 - count : count;
    x->main.symbols[axis->sym->id] = x->axes[i];
}

/* As if the tensor began at a multiple of 16 bytes, its rows behind one another. */
static bool set_window(Exec *x)
{
    const TileWindow *w = &x->kernel->window;
    int64_t element = 0;
    for (int d = 0; w->sym && d < w->tensor->rank; d++) {
        int64_t at, size;
        if (!exec_eval(x, w->coords[d], &at) || !exec_eval(x, w->tensor->dims[d], &size))
            return false;
        element = (element * (size % TILE_CHUNK) + at % TILE_CHUNK) % TILE_CHUNK;
    }
    if (w->sym)
        x->main.symbols[w->sym->id] = element % (w->sym->hi + 1);
    return true;
}

static bool eval_grid(Exec *x, int64_t *extents, bool *empty)
{
    *empty = false;
    for (int i = 0; i < x->kernel->grid.len; i++) {
        if (!exec_eval(x, x->kernel->grid.data[i].extent, &extents[i]))
            return false;
        if (!numbers_blocks(x, &x->kernel->grid.data[i]) || x->kernel->grid.data[i].cluster)
            extents[i] = 1;
        *empty |= extents[i] <= 0;
    }
    return true;
}

/* Blocks in the order of their numbers, first axis fastest. */
static bool run_blocks(Exec *x)
{
    int n = x->kernel->grid.len;
    int64_t *extents = arena_array(x->arena, int64_t, n), *counts = arena_array(x->arena, int64_t, n);
    bool empty;
    if (!eval_grid(x, extents, &empty))
        return false;
    if (empty)
        return true;
    for (int i = 0; i < n; i++)
        set_axis(x, i, 0, extents[i]);
    for (;;) {
        int i = 0;
        if (wanted(x) && (!set_window(x) || !run_block(x)))
            return false;
        while (i < n && ++counts[i] == extents[i]) {
            counts[i] = 0;
            set_axis(x, i, 0, extents[i]);
            i++;
        }
        if (i == n)
            return true;
        set_axis(x, i, counts[i], extents[i]);
    }
}

static bool run_kernel(Exec *x, int index)
{
    x->kernel_index = index;
    x->kernel = x->program->kernels.data[index];
    x->has_roles = tile_has(x->kernel->body, TILE_ROLES);
    x->main.slots = arena_array(x->arena, ExecSlot, x->kernel->next_value);
    for (int i = 0; i < INSTANCE_LIMIT; i++)
        x->roles[i] = NULL;
    x->axes = arena_array(x->arena, int64_t, x->kernel->grid.len);
    x->buffers.len = 0;
    x->cluster = NULL;
    x->thread = &x->main;
    x->op = NULL;
    return run_blocks(x);
}

/* ---- programs ------------------------------------------------------------------------------------ */

static bool complain(Exec *x, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    x->error = arena_vprintf(x->error_arena, fmt, args);
    va_end(args);
    return false;
}

static bool check_tensor(Exec *x, const TileTensor *want, const Tensor *have)
{
    if (!have)
        return complain(x, "no tensor was given for %s", want->name);
    if (have->rank != want->rank || have->dtype != want->dtype)
        return complain(x, "tensor %s has rank %d and dtype %s, wanted %d and %s", want->name,
                        have->rank, dtype_name(have->dtype), want->rank, dtype_name(want->dtype));
    for (int d = 0; d < want->rank; d++) {
        int64_t size;
        if (!aff_eval(want->dims[d], x->main.symbols, &size) || size != have->dims[d])
            return complain(x, "tensor %s has %lld elements along dimension %d, wanted %s", want->name,
                            (long long)have->dims[d], d, aff_text(x->error_arena, want->dims[d]));
    }
    return true;
}

/* What the host checks before a launch. */
static bool check_launch(Exec *x)
{
    const TileProgram *p = x->program;
    for (int i = 0; i < p->dims.len; i++) {
        const AffSym *dim = p->dims.data[i];
        int64_t size = x->run->dims[i];
        x->main.symbols[dim->id] = size;
        if (size < dim->lo || size > dim->hi)
            return complain(x, "dimension %s is %lld; the program was made for %lld to %lld", dim->name,
                            (long long)size, (long long)dim->lo, (long long)dim->hi);
    }
    for (int i = 0; i < p->tensors.len; i++)
        if (!check_tensor(x, p->tensors.data[i], x->run->tensors[i]))
            return false;
    for (int i = 0; i < p->requires.len; i++) {
        int64_t holds;
        if (!aff_eval(p->requires.data[i].cond, x->main.symbols, &holds) || !holds)
            return complain(x, "%s", p->requires.data[i].message);
    }
    return true;
}

/* The integer at these coordinates; 0 outside of the tensor. */
static int64_t read_table(const void *tensor, const int64_t *at)
{
    const Tensor *t = tensor;
    int64_t place = 0;
    for (int d = 0; d < t->rank; d++) {
        if (at[d] < 0 || at[d] >= t->dims[d])
            return 0;
        place += at[d] * t->strides[d];
    }
    double value = dtype_load(t->dtype, (const char *)t->data + place * dtype_bytes(t->dtype));
    return (int64_t)fmin(fmax(value, -0x1p52), 0x1p52);
}

static void know_tables(Exec *x)
{
    for (int i = 0; i < x->program->tensors.len; i++) {
        const TileTensor *t = x->program->tensors.data[i];
        AffTable *table = t->table ? arena_new_of(x->arena, AffTable) : NULL;
        if (!table)
            continue;
        *table = (AffTable){.rank = t->rank, .read = read_table, .user = x->run->tensors[i]};
        x->main.symbols[t->table->id] = (int64_t)(intptr_t)table;
    }
}

static bool run_program(Exec *x)
{
    Diags *diags = diags_new(x->error_arena, x->program->source);
    if (!tile_verify(x->program, diags))
        return complain(x, "the program is not well-formed: %s", diags->list.data[0].message);
    x->n_symbols = aff_sym_count(x->program->aff);
    x->main.number = MAIN_THREAD;
    x->main.symbols = arena_array(x->arena, int64_t, x->n_symbols);
    if (!check_launch(x))
        return false;
    know_tables(x);
    for (int i = 0; i < x->program->kernels.len; i++)
        if (!run_kernel(x, i))
            return false;
    return true;
}

typedef struct Execution {
    Arena *arena, *scratch; /* of the error; of the run's storage, which goes with it */
    const TileProgram *program;
    const TileRun *run;
    const char *error;
    bool ok;
} Execution;

static void execute(void *user)
{
    Execution *e = user;
    e->scratch = arena_new(arena_heap(e->arena));
    Exec *x = arena_new_of(e->scratch, Exec);
    x->arena = e->scratch;
    x->error_arena = e->arena;
    x->program = e->program;
    x->run = e->run;
    x->rng.state = e->run->seed;
    e->ok = run_program(x);
    if (e->run->work)
        *e->run->work = x->done;
    e->error = x->error;
}

static void drop_scratch(void *user)
{
    Execution *e = user;
    arena_free(e->scratch);
}

bool tile_run(Arena *arena, const TileProgram *program, const TileRun *run, const char **error)
{
    Execution e = {.arena = arena, .program = program, .run = run};
    heap_guard(arena_heap(arena), execute, drop_scratch, &e);
    *error = e.error;
    return e.ok;
}
