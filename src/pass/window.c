/* window.c: rows that begin anywhere, as if they began at a multiple of 16 bytes.
 *
 * Where rows are an odd number of elements apart, one access of 16 bytes cannot begin where a row does. But it may begin
 * up to 7 elements before: tiles lie over a row as through a window that is moved to the left by as much as the row begins
 * behind a multiple of 16 bytes, s. What it shows to the left of the row is outside of the tensor, as is what it
 * shows to the right:
 *
 *   kernel norm grid(m: M) {                       kernel norm grid(m: M) window(s: X[m, 0]) {
 *     for k = 0:ceil(N / 512) {                      for k = 0:ceil((N + s) / 512) {
 *       %x = load X[m, k * 512 : cols]       ->        %x = load X[m, k * 512 - s : cols]
 *       %y = mask %x where k * 512 + col < N           %y = mask %x where k * 512 + col - s < N and 0 <= k * 512 + col - s
 *
 * All columns of a row go round by s places, so to say, of which N are its own and the others are as those behind its end
 * have been. That makes no difference where a column is computed with by itself, or with the sum, the maximum or the
 * minimum of all of them, those beside the row left out: of other kernels nothing is changed. s follows from addresses, so it may be any number
 * to the emitter, which looks at other tensors' rows whether they begin there too.
 *
 * Such a kernel is the one for any alignment. The other, for rows at multiples of 16 bytes, is as it was.
 */
#include "pass/passes.h"
#include "pass/rows.h"

typedef struct Window {
    TileProgram *program;
    TileKernel *kernel;
    const Aff *length; /* of the rows */
    int chunk;         /* elements of one access */
} Window;

static bool has_columns(const TileOp *op)
{
    return (op->n_results ? op->results[0] : op->args[0])->type.cols > 1;
}

/* ---- where rows begin -------------------------------------------------------------------- */

/* Whether it moves a row of a tensor that the block's own coordinates say. */
static bool moves_own_row(const TileKernel *kernel, const TileOp *op)
{
    bool own = false;
    if (!op->tensor || !has_columns(op) || op->col_dim != op->tensor->rank - 1) return false;
    for (int d = 0; d < op->col_dim; d++) own |= rw_uses_grid(kernel, op->coords[d]);
    return own;
}

static const TileOp *first_row(const TileKernel *kernel, const TileBlock *block, TileOpKind kind)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i], *found = NULL;
        if (op->kind == kind && moves_own_row(kernel, op)) return op;
        for (int r = 0; r < op->n_regions && !found; r++) found = first_row(kernel, op->regions[r], kind);
        if (found) return found;
    }
    return NULL;
}

/* ---- what may be moved --------------------------------------------------------------------- */

/* How wide the tiles are that a turn copies: all alike, or nothing is moved. 0: there are none. */
static int columns_of(const TileBlock *body)
{
    for (int i = 0; i < body->ops.len; i++)
        if (body->ops.data[i]->tensor && has_columns(body->ops.data[i])) {
            const TileOp *op = body->ops.data[i];
            return (op->n_results ? op->results[0] : op->args[0])->type.cols;
        }
    return 0;
}

/* Columns of the row that come before a tile's. */
static const Aff *place_of(const Window *w, const TileOp *loop, int cols)
{
    AffCtx *aff = w->program->aff;
    return loop ? aff_scale(aff, aff_of(aff, loop->var), cols) : aff_const(aff, 0);
}

/* Whether tiles so wide, side by side in the loop's turns, or one alone, have room for a row and what is before it. */
static bool covers(const Window *w, const TileOp *loop, int cols)
{
    AffCtx *aff = w->program->aff;
    int64_t lo, length;
    if (loop && cols != columns_of(loop->regions[0])) return false;
    if (loop) return aff_is_const(loop->lo, &lo) && lo == 0 && loop->hi == aff_ceildiv(aff, w->length, aff_const(aff, cols));
    return aff_is_const(w->length, &length) && length + w->chunk - 1 <= cols;
}

static bool is_of_turn(const TileOp *loop, const Aff *a)
{
    return loop && a && aff_uses(a, loop->var);
}

static bool may_move_copy(const Window *w, const TileOp *op, const TileOp *loop)
{
    const TileType *t = &(op->n_results ? op->results[0] : op->args[0])->type;
    for (int d = 0; d < op->tensor->rank; d++)
        if (d != op->col_dim || t->cols == 1)
            if (is_of_turn(loop, op->coords[d]) || aff_uses_kind(op->coords[d], AFF_SCALAR) || aff_uses_kind(op->coords[d], AFF_TABLE)) return false;
    if (t->cols == 1) return op->kind == TILE_LOAD || !loop;
    if (op->where || op->onto || op->col_dim != op->tensor->rank - 1 || op->tensor->dims[op->col_dim] != w->length) return false;
    return dtype_bytes(op->tensor->dtype) <= 4 && covers(w, loop, t->cols) && op->coords[op->col_dim] == place_of(w, loop, t->cols);
}

/* Whether an expression is of nothing in the row but an element's place in it. */
static bool is_of_place(const Window *w, const Aff *a, const TileOp *loop, int cols)
{
    AffCtx *aff = w->program->aff;
    const AffSym *col = w->program->col;
    if (aff_uses_kind(a, AFF_TABLE)) return false;
    if (cols == 1) return !is_of_turn(loop, a);
    return covers(w, loop, cols) && !is_of_turn(loop, aff_subst(aff, a, col, aff_sub(aff, aff_of(aff, col), place_of(w, loop, cols))));
}

/* Whether the mask keeps nothing behind the row's end: so it will be before its start. */
static bool ends_row(const Window *w, const TileOp *mask, const TileOp *loop)
{
    AffCtx *aff = w->program->aff;
    const AffSym *col = w->program->col;
    const Aff *behind = aff_sub(aff, w->length, place_of(w, loop, mask->results[0]->type.cols));
    return aff_never(aff, aff_subst(aff, mask->cond, col, aff_add(aff, aff_of(aff, col), behind)));
}

/* Whether elements before the row's start are others than those behind its end: they are made of their places. */
static bool knows_place(const Window *w, const TileOp *op, const TileOp *loop)
{
    if (op->n_results == 0 || op->results[0]->type.cols == 1) return false;
    return op->kind == TILE_INDEX || (op->kind == TILE_MASK && !ends_row(w, op, loop));
}

static bool some_knows_place(const Window *w, const TileBlock *block, const TileOp *loop)
{
    for (int i = 0; i < block->ops.len; i++)
        if (knows_place(w, block->ops.data[i], loop)) return true;
    return false;
}

/* ---- what turns tell each other -------------------------------------------------------------- */

/* Whether the step takes a turn's sum, maximum or minimum into what the loop carries. */
static bool is_reduction(const TileBlock *body, const TileOp *step, const TileValue *param)
{
    if (step->kind != TILE_ELEMENT || step->n_args != 2 || (step->args[0] == param) == (step->args[1] == param)) return false;
    const TileValue *part = step->args[step->args[0] == param];
    return rows_step(step, part) && tile_count_uses(body, part) == 1;
}

/* Whether it is a softmax of which nothing is wanted but the maximum and the sum. */
static bool is_running_softmax(const TileBlock *body, const TileOp *op, const TileValue *param, const TileValue *next)
{
    if (op->kind != TILE_SOFTMAX || tile_count_uses(body, op->results[0]) != 0 || tile_count_uses(body, op->results[3]) != 0) return false;
    return (op->args[1] == param && op->results[1] == next) || (op->args[2] == param && op->results[2] == next);
}

/* ---- elements beside the row ------------------------------------------------------------------ */

/* What a tile has where nothing of the tensor is: as far as that follows from zeros, and from masks. */
typedef enum Beside { BESIDE_UNKNOWN, BESIDE_ZERO, BESIDE_MASKED } Beside;

typedef struct Asking {
    const Window *w;
    const TileOp *loop;
    bool of_places; /* some elements are made of places: of what that gives before the row nothing is known, not even that 0 times it is 0 */
} Asking;

static Beside beside(const Asking *a, const TileValue *v, int depth);

/* Of zeros nothing but zeros. */
static Beside beside_of_element(const Asking *a, const TileOp *op, int depth)
{
    bool some = false, all = true;
    for (int i = 0; i < op->n_args; i++) {
        bool zero = beside(a, op->args[i], depth) == BESIDE_ZERO;
        some |= zero;
        all &= zero;
    }
    if (op->op == OP_MULTIPLY) return some ? BESIDE_ZERO : BESIDE_UNKNOWN;
    if (op->op == OP_DIVIDE) return beside(a, op->args[0], depth) == BESIDE_ZERO ? BESIDE_ZERO : BESIDE_UNKNOWN;
    return all && op_eval(op->op, 0, 0, 0) == 0 ? BESIDE_ZERO : BESIDE_UNKNOWN;
}

static Beside beside_of_mask(const Asking *a, const TileOp *op, int depth)
{
    if (ends_row(a->w, op, a->loop)) return op->number == 0 ? BESIDE_ZERO : BESIDE_MASKED;
    return op->number == 0 && beside(a, op->args[0], depth - 1) == BESIDE_ZERO ? BESIDE_ZERO : BESIDE_UNKNOWN;
}

static Beside beside(const Asking *a, const TileValue *v, int depth)
{
    double number;
    if (rw_number(v, &number)) return number == 0 ? BESIDE_ZERO : BESIDE_UNKNOWN;
    if (!v->def || v->type.cols == 1 || depth == 0) return BESIDE_UNKNOWN;
    const TileOp *op = v->def;
    if (op->kind == TILE_LOAD) return BESIDE_ZERO;
    if (op->kind == TILE_MASK) return beside_of_mask(a, op, depth);
    if (op->kind == TILE_MOVE || op->kind == TILE_CAST) return beside(a, op->args[0], depth - 1);
    return op->kind == TILE_ELEMENT && !a->of_places ? beside_of_element(a, op, depth - 1) : BESIDE_UNKNOWN;
}

/* Whether elements beside the row leave what is reduced as it is. Sums want zeros there; of a maximum or minimum a mask says
 * what counts for nothing. */
static bool leaves_reductions(const Window *w, const TileBlock *body, const TileOp *loop)
{
    enum { MOST_DEPTH = 32 };
    Asking asking = {w, loop, some_knows_place(w, body, loop)};
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind != TILE_REDUCE && op->kind != TILE_SOFTMAX) continue;
        bool sum = op->kind == TILE_REDUCE && op->op == OP_ROW_SUM;
        const TileOp *mask = op->args[0]->def;
        bool masked = mask && mask->kind == TILE_MASK && ends_row(w, mask, loop);
        Beside is = beside(&asking, op->args[0], MOST_DEPTH);
        if (sum ? is != BESIDE_ZERO : !masked && is != BESIDE_MASKED) return false;
    }
    return true;
}

/* Whether turns have elements beside the row without a window, too, which the program then knows about, and all alike. */
static bool ends_within_turn(const Window *w, const TileOp *loop)
{
    int64_t length;
    int cols = columns_of(loop->regions[0]);
    return aff_is_const(w->length, &length) && cols > 0 && length % cols != 0 && !some_knows_place(w, loop->regions[0], loop);
}

static bool carries_reductions(const TileOp *loop)
{
    const TileBlock *body = loop->regions[0];
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    for (int i = 0; i < loop->n_results; i++) {
        const TileValue *param = body->params.data[i], *next = yield->args[i];
        if (param->type.cols > 1 || tile_count_uses(body, param) != 1 || tile_count_uses(body, next) != 1) return false;
        if (!next->def || tile_index_of(body, next->def) < 0) return false;
        if (!is_reduction(body, next->def, param) && !is_running_softmax(body, next->def, param, next)) return false;
    }
    for (int i = 0; i < body->ops.len; i++) { /* a part of a row by itself is another part in a window */
        const TileOp *op = body->ops.data[i];
        bool whole = op->kind == TILE_REDUCE || op->kind == TILE_SOFTMAX;
        int told = 0;
        for (int k = 0; whole && k < loop->n_results; k++)
            told |= yield->args[k]->def == op || (yield->args[k]->def && tile_op_uses(yield->args[k]->def, op->results[0]));
        if (whole && !told) return false;
    }
    return true;
}

/* ---- kernels ------------------------------------------------------------------------------ */

static bool may_move_block(const Window *w, const TileBlock *block, const TileOp *loop);

static bool may_move(const Window *w, const TileOp *op, const TileOp *loop)
{
    for (int i = 0; i < op->n_results; i++)
        if (op->results[i]->type.rows != 1) return false;
    switch (op->kind) {
    case TILE_LOAD: case TILE_STORE:
        return may_move_copy(w, op, loop);
    case TILE_MASK:
        return !op->unless && is_of_place(w, op->cond, loop, op->results[0]->type.cols);
    case TILE_FOR:
        return !loop && carries_reductions(op) && (ends_within_turn(w, op) || leaves_reductions(w, op->regions[0], op)) &&
               may_move_block(w, op->regions[0], op);
    case TILE_REDUCE:
        return op->axis == 1;
    case TILE_INDEX:
        return is_of_place(w, op->index, loop, op->results[0]->type.cols);
    case TILE_GATHER: case TILE_SCALAR:
        return !loop && (op->kind == TILE_SCALAR || op->results[0]->type.cols == 1);
    case TILE_MOVE: case TILE_FILL: case TILE_ELEMENT: case TILE_CAST: case TILE_SOFTMAX: case TILE_YIELD:
        return true;
    case TILE_RESHAPE: case TILE_SLICE: case TILE_PATCH: case TILE_GEMM: case TILE_IF:
    case TILE_BUFFER: case TILE_VIEW: case TILE_PUT: case TILE_COPY_ASYNC: case TILE_COMMIT: case TILE_WAIT: case TILE_BARRIER:
    case TILE_PREPARE: case TILE_ROLES: case TILE_RING: case TILE_ACQUIRE: case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE:
    case TILE_ISSUE: case TILE_FINISH: case TILE_REVISE: case TILE_TAKE_TURN: case TILE_GIVE_TURN: case TILE_OP_COUNT:
        return false;
    }
    return false;
}

static bool may_move_block(const Window *w, const TileBlock *block, const TileOp *loop)
{
    for (int i = 0; i < block->ops.len; i++)
        if (!may_move(w, block->ops.data[i], loop)) return false;
    return true;
}

static void move_copy(const Window *w, TileOp *op)
{
    AffCtx *aff = w->program->aff;
    if (has_columns(op)) op->coords[op->col_dim] = aff_sub(aff, op->coords[op->col_dim], aff_of(aff, w->kernel->window.sym));
}

/* The element that a column of the tile is of. */
static const Aff *moved(const Window *w, const Aff *a)
{
    AffCtx *aff = w->program->aff;
    const AffSym *col = w->program->col;
    return aff_subst(aff, a, col, aff_sub(aff, aff_of(aff, col), aff_of(aff, w->kernel->window.sym)));
}

static void move_mask(const Window *w, TileOp *op, const TileOp *loop)
{
    AffCtx *aff = w->program->aff;
    int cols = op->results[0]->type.cols;
    if (cols == 1) return;
    const Aff *place = aff_add(aff, place_of(w, loop, cols), aff_of(aff, w->program->col));
    bool ends = ends_row(w, op, loop);
    op->cond = moved(w, op->cond);
    if (ends) op->cond = aff_and(aff, op->cond, aff_le(aff, aff_const(aff, 0), moved(w, place)));
}

/* As many turns as the window takes, which may be one more: its counter may be greater, too. */
static void widen_loop(const Window *w, TileOp *loop, int cols)
{
    AffCtx *aff = w->program->aff;
    int64_t least, most;
    loop->hi = aff_ceildiv(aff, aff_add(aff, w->length, aff_of(aff, w->kernel->window.sym)), aff_const(aff, cols));
    aff_bounds(loop->hi, &least, &most);
    const AffSym *turn = aff_sym_new(aff, loop->var->name, AFF_LOOP, 0, most == INT64_MAX ? most : most - 1);
    rw_substitute(w->program, loop->regions[0], loop->var, aff_of(aff, turn));
    loop->var = turn;
}

static void move_block(const Window *w, TileBlock *block, TileOp *loop)
{
    int cols = loop ? columns_of(block) : 0;
    if (cols) widen_loop(w, loop, cols);
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind == TILE_LOAD || op->kind == TILE_STORE) move_copy(w, op);
        if (op->kind == TILE_MASK) move_mask(w, op, loop);
        if (op->kind == TILE_INDEX && op->results[0]->type.cols > 1) op->index = moved(w, op->index);
        if (op->kind == TILE_FOR) move_block(w, op->regions[0], op);
    }
}

/* A name that nothing else has. */
static const char *fresh_name(TileProgram *program)
{
    const char *name = "begin";
    for (int i = 0; i < aff_sym_count(program->aff); i++)
        if (strcmp(aff_sym_at(program->aff, i)->name, name) == 0) {
            name = arena_printf(program->arena, "%s_", name);
            i = -1;
        }
    return name;
}

static void begin_at(Window *w, const TileOp *row)
{
    TileWindow *window = &w->kernel->window;
    window->tensor = row->tensor;
    window->coords = arena_array(w->program->arena, const Aff *, row->tensor->rank);
    for (int d = 0; d < row->tensor->rank; d++) window->coords[d] = d == row->col_dim ? aff_const(w->program->aff, 0) : row->coords[d];
    window->sym = tile_window_symbol(w->program, fresh_name(w->program), row->tensor);
}

/* Rows of which a block has one, all its warps beside each other along it. */
static bool has_rows_alone(const TileKernel *kernel)
{
    return kernel->warps == kernel->warps_n && rows_without_fragments(kernel) && !kernel->plain && !kernel->is_plain;
}

bool pass_window(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)diags;
    if (!has_rows_alone(kernel) || (kernel->kept > 0 && !target->has_cp_async)) return true;
    const TileOp *row = first_row(kernel, kernel->body, TILE_LOAD);
    if (!row) row = first_row(kernel, kernel->body, TILE_STORE);
    if (!row || dtype_bytes(row->tensor->dtype) > 4) return true;
    Window w = {program, kernel, row->tensor->dims[row->col_dim], TILE_CHUNK / dtype_bytes(row->tensor->dtype)};
    if (!may_move_block(&w, kernel->body, NULL)) return true;
    if (some_knows_place(&w, kernel->body, NULL) && !leaves_reductions(&w, kernel->body, NULL)) return true;
    w.kernel = kernel->plain = tile_kernel_clone(program, kernel);
    kernel->plain->is_plain = true;
    begin_at(&w, row);
    move_block(&w, kernel->plain->body, NULL);
    return true;
}
