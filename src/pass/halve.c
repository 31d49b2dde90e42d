/* halve.c: last iterations of half the width.
 *
 * A tile on a diagonal may be wider than what its instance's rows see of it:
 *
 *   %p, %o = for j = 1:n carry (%p0, %o0) {      %p, %o = for j = 1:n - half { the same }
 *     %s = issue %q, %k.T       64 x 128         %o3 = if half {
 *     %o1 = issue %p0, %v, %o0                     the iteration n - 1, of %k's first half: 64 x 64
 *     %m = mask %s where ...               ->      %o2 = issue %p1, %v[first half], %o1
 *     %p1 = exponentials of %m                   } else {
 *     yield %p1, %o1 }                             %o2 = issue %p, %v, %o
 *   %o2 = issue %p, %v, %o                       }
 *
 * `half` says that the mask keeps nothing of the second half there; all that is made of
 * masked elements must then be such that sums, maxima and products do not show them. */
#include "pass/halve.h"

#include "lang/lang.h"
#include "pass/copies.h"
#include "pass/decide.h"
#include "pass/issue.h"
#include "pass/passes.h"
#include "pass/project.h"

#include <math.h>

enum {
    LEAST = 32,   /* columns that may have an iteration of their own */
    WORTH_IT = 64, /* and that should */
    MOST = 208,    /* registers of tiles in a turn of the loop, */
    SPARE = 24,    /* that leave as many of a lane's where a role that prepares tiles has the others, */
    MOST_REDUCED = 192 /* and where it reduces rows, to their sum, or to the largest element, by which it scales what it carries */
};

typedef struct Halver {
    TileProgram *program;
    TileKernel *kernel;
    TileOp *loop;
    const TileOp *mask;
    int registers; /* of a lane of those that compute */
    int cols;          /* of the whole tile */
    bool *wide;        /* by value id: as wide as the tile, element by element */
    double *hidden;    /* by value id: what a masked element becomes; NAN: not known */
    bool changed, failed;
} Halver;

/* ---- what is as wide as the tile ------------------------------------------------------ */

static bool is_wide(const Halver *h, const TileValue *v)
{
    return v->type.kind == TT_TILE && v->type.space == SPACE_REGISTER && v->type.cols == h->cols;
}

/* Operations whose columns are independent of each other. */
static bool is_columnwise(const TileOp *op)
{
    switch (op->kind) {
    case TILE_ELEMENT: case TILE_MASK: case TILE_CAST: case TILE_RESHAPE: case TILE_INDEX: case TILE_FILL: case TILE_LOAD:
    case TILE_GATHER: case TILE_FINISH:
        return true;
    case TILE_STORE: case TILE_MOVE: case TILE_REDUCE: case TILE_SLICE: case TILE_PATCH: case TILE_SCALAR: case TILE_GEMM:
    case TILE_SOFTMAX: case TILE_FOR: case TILE_IF: case TILE_YIELD: case TILE_BUFFER: case TILE_VIEW: case TILE_PUT:
    case TILE_COPY_ASYNC: case TILE_COMMIT: case TILE_WAIT: case TILE_BARRIER: case TILE_ROLES: case TILE_RING:
    case TILE_ACQUIRE: case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE: case TILE_ISSUE: case TILE_REVISE: case TILE_PREPARE:
    case TILE_TAKE_TURN: case TILE_GIVE_TURN: case TILE_OP_COUNT:
        return false;
    }
    return false;
}

static void mark(Halver *h, const TileValue *v)
{
    h->changed |= !h->wide[v->id];
    h->wide[v->id] = true;
}

static void mark_op(Halver *h, const TileOp *op)
{
    bool some = op->n_results == 1 && h->wide[op->results[0]->id];
    if (!is_columnwise(op) || op->n_results != 1 || !is_wide(h, op->results[0])) return;
    for (int k = 0; k < op->n_args; k++) some |= h->wide[op->args[k]->id];
    for (int k = 0; some && k < op->n_args; k++)
        if (is_wide(h, op->args[k])) mark(h, op->args[k]);
    if (some) mark(h, op->results[0]);
}

static void mark_revised(Halver *h, const TileOp *op)
{
    const TileBlock *region = op->regions[0];
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    for (int k = 0; k < op->n_results; k++) {
        if (!h->wide[op->args[k]->id] && !h->wide[op->results[k]->id] && !h->wide[yield->args[k]->id]) continue;
        mark(h, op->args[k]);
        mark(h, op->results[k]);
        mark(h, yield->args[k]);
    }
}

static void mark_block(Halver *h, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        mark_op(h, op);
        if (op->kind == TILE_REVISE) mark_revised(h, op);
        for (int k = 0; k < op->n_regions; k++) mark_block(h, op->regions[k]);
    }
}

/* ---- what becomes of masked elements ----------------------------------------------------- */

/* An argument's number for a masked element: NAN where it is not known. */
static double number_of(const Halver *h, const TileValue *v)
{
    double number;
    if (h->wide[v->id]) return h->hidden[v->id];
    return rw_number(v, &number) ? number : NAN;
}

/* Scores and references are finite, so that -inf stays what it is, and 0 is 0 times them. */
static double hidden_element(const Halver *h, const TileOp *op)
{
    double a[3] = {NAN, NAN, NAN};
    bool known = true;
    for (int k = 0; k < op->n_args && k < 3; k++) {
        a[k] = number_of(h, op->args[k]);
        known &= !isnan(a[k]);
    }
    if (known) return op_eval(op->op, a[0], a[1], a[2]);
    if (op->op == OP_FMA && a[0] == -INFINITY && a[1] > 0) return -INFINITY;
    if ((op->op == OP_ADD || op->op == OP_SUBTRACT) && a[0] == -INFINITY) return -INFINITY;
    if (op->op == OP_MULTIPLY && (a[0] == 0 || a[1] == 0)) return 0;
    return NAN;
}

static void hide_op(Halver *h, const TileOp *op)
{
    double *hidden = op->n_results ? &h->hidden[op->results[0]->id] : NULL;
    if (op->kind == TILE_MASK) *hidden = op == h->mask ? op->number : h->hidden[op->args[0]->id] == op->number ? op->number : NAN;
    else if (op->kind == TILE_ELEMENT) *hidden = hidden_element(h, op);
    else if (op->kind == TILE_CAST || op->kind == TILE_RESHAPE) *hidden = h->hidden[op->args[0]->id];
    else if (op->kind == TILE_FILL && !op->param) *hidden = op->number;
}

/* Whether an operation may see a value of which the second half is missing. */
static bool does_not_show(const Halver *h, const TileOp *op, int k)
{
    double number = h->hidden[op->args[k]->id];
    if (is_columnwise(op)) return h->wide[op->results[0]->id];
    if (op->kind == TILE_REDUCE)
        return op->axis == 1 && op->n_args == 1 && ((op->op == OP_ROW_SUM && number == 0) || (op->op == OP_ROW_MAX && number == -INFINITY));
    if (op->kind == TILE_REVISE) return k < op->n_results || number < op->number;
    return op->kind == TILE_YIELD; /* the loop's, and then a product's, or a region's */
}

static void check_block(Halver *h, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            if (h->wide[op->args[k]->id]) h->failed |= !does_not_show(h, op, k);
        if (op->kind == TILE_ISSUE && h->wide[op->results[0]->id])
            h->failed |= op->n_args != 2 || !op->trans_b || op->args[1]->type.rows != h->cols;
        if (op->kind == TILE_MOVE && h->wide[op->results[0]->id]) h->failed = true; /* as wide in shared memory */
        if (op->n_results == 1 && h->wide[op->results[0]->id]) hide_op(h, op);
        for (int k = 0; k < op->n_regions; k++) check_block(h, op->regions[k]);
        for (int k = 0; op->kind == TILE_REVISE && k < op->n_results; k++) h->hidden[op->results[k]->id] = h->hidden[op->args[k]->id];
    }
}

/* ---- does it fit? ---------------------------------------------------------------------------- */

static const TileOp *only_mask(const TileBlock *body)
{
    const TileOp *mask = NULL;
    for (int i = 0; i < body->ops.len; i++) {
        if (body->ops.data[i]->kind != TILE_MASK) continue;
        if (mask) return NULL;
        mask = body->ops.data[i];
    }
    return mask;
}

/* Behind the loop: what awaits, starts, finishes and gives back, and arithmetic meanwhile. A tile in shared memory is
 * no result of a choice, so one that is used further on is awaited behind it. */
static int tail_end(const TileBlock *block, int at)
{
    int end = at + 1, next = at + 1;
    for (; next < block->ops.len; next++) {
        TileOpKind kind = block->ops.data[next]->kind;
        if (kind == TILE_AWAIT || kind == TILE_ISSUE || kind == TILE_FINISH || kind == TILE_RELEASE) end = next + 1;
        else if (kind != TILE_ELEMENT && kind != TILE_REDUCE && kind != TILE_FILL) break;
    }
    for (int i = end - 1; i > at; i--) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_AWAIT && tile_used_in(block, end, block->ops.len, op->results[0])) end = i;
    }
    return end;
}

/* What was awaited ahead of the loop is given back behind the tail: on either way to there. */
static int keep_others(TileProgram *program, TileBlock *block, int at, int end)
{
    int n = end;
    for (int i = at + 1; i < n; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind != TILE_RELEASE || rw_awaits(block, at + 1, i, op->args[0])) continue;
        tile_remove(block, i);
        tile_insert(program, block, end - 1, op);
        n--;
        i--;
    }
    return n;
}

/* The loop's results that are half as wide are operands of the tail's products, and nothing else. */
static bool fits_tail(const Halver *h, const TileBlock *block, int at, int end)
{
    const TileBlock *body = h->loop->regions[0];
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    for (int k = 0; k < yield->n_args; k++) {
        if (!h->wide[yield->args[k]->id]) continue;
        const TileValue *p = h->loop->results[k];
        int uses = 0;
        if (h->hidden[yield->args[k]->id] != 0) return false;
        for (int i = at + 1; i < end; i++) {
            const TileOp *op = block->ops.data[i];
            uses += op->kind == TILE_ISSUE && op->args[0] == p && op->args[1] != p && !op->trans_a && op->args[1]->type.space == SPACE_SHARED;
        }
        if (uses != tile_count_uses(h->kernel->body, p)) return false;
    }
    return true;
}

static bool fits(Halver *h, const TileBlock *block, int at, int end)
{
    const TileBlock *body = h->loop->regions[0];
    h->mask = only_mask(body);
    if (!h->mask || h->loop->until) return false;
    h->cols = h->mask->results[0]->type.cols;
    if (h->cols % 32 || h->cols / 2 < LEAST || !is_wide(h, h->mask->results[0])) return false;
    h->wide = arena_array(h->program->arena, bool, h->kernel->next_value);
    h->hidden = arena_array(h->program->arena, double, h->kernel->next_value);
    for (int i = 0; i < h->kernel->next_value; i++) h->hidden[i] = NAN;
    mark(h, h->mask->results[0]);
    while (h->changed) {
        h->changed = false;
        mark_block(h, body);
    }
    for (int k = 0; k < body->params.len; k++)
        if (h->wide[body->params.data[k]->id]) return false;
    check_block(h, body);
    for (int i = 0; i < body->ops.len; i++)
        for (int k = 0; k < body->ops.data[i]->n_args; k++) {
            const TileValue *v = body->ops.data[i]->args[k];
            if (h->wide[v->id] && tile_index_of(body, v->def) < 0) return false;
        }
    return !h->failed && fits_tail(h, block, at, end);
}

/* That there is an iteration of whose tile's second half the mask keeps nothing. */
static const Aff *condition(const Halver *h)
{
    AffCtx *aff = h->program->aff;
    const TileOp *loop = h->loop;
    const Aff *col = aff_offset(aff, aff_of(aff, h->program->col), h->cols / 2);
    const Aff *kept = aff_subst(aff, h->mask->cond, h->program->col, col);
    const Aff *some = project_tile(h->program, kept, h->mask->results[0]->type.rows, h->cols / 2, true);
    const Aff *last = aff_subst(aff, some, loop->var, aff_offset(aff, loop->hi, -1));
    return aff_and(aff, aff_lt(aff, loop->lo, loop->hi), aff_not(aff, last));
}

/* ---- rewriting ------------------------------------------------------------------------------ */

/* Copies of wide values become half as wide. */
static void narrow_block(const Halver *h, const Copier *c, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++)
            if (h->wide[op->results[k]->id]) copied(c, op->results[k])->type.cols = h->cols / 2;
        for (int k = 0; k < op->n_regions; k++) narrow_block(h, c, op->regions[k]);
    }
}

static TileValue *first_half(const Halver *h, TileBlock *block, int *at, TileValue *v, bool rows, Span loc)
{
    Rewriter rw = {h->program, h->kernel, block, *at, loc};
    TileType type = v->type;
    *(rows ? &type.rows : &type.cols) /= 2;
    TileValue *half = rw_insert(&rw, TILE_SLICE, 1, &v, 1, &type)->results[0];
    half->name = v->name;
    *at = rw.at;
    return half;
}

/* Products that make half a tile, or take one, take half of their second operand. */
static void halve_operands(const Halver *h, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind != TILE_ISSUE) continue;
        const TileType *b = &op->args[1]->type;
        bool makes = op->trans_b && op->results[0]->type.cols * 2 == b->rows;
        bool takes = op->args[0]->type.cols * 2 == (op->trans_b ? b->cols : b->rows);
        if (makes || takes) op->args[1] = first_half(h, block, &i, op->args[1], makes || !op->trans_b, op->loc);
    }
}

/* The iteration hi - 1 and the tail behind it; `values` are of the loop and the tail, and
 * become what stands for them here. */
static void put_half(const Halver *h, const TileBlock *block, int at, int end, TileBlock *to, TileValue **values, int n)
{
    const TileBlock *body = h->loop->regions[0];
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    Copier turn = copier_new(h->program, h->kernel, h->loop->var, aff_offset(h->program->aff, h->loop->hi, -1));
    for (int k = 0; k < body->params.len; k++) copier_map(&turn, body->params.data[k], h->loop->results[k]);
    copy_ops(&turn, body, 0, body->ops.len - 1, to);
    narrow_block(h, &turn, body);
    Copier tail = copier_new(h->program, h->kernel, NULL, NULL);
    for (int k = 0; k < yield->n_args; k++) copier_map(&tail, h->loop->results[k], copied(&turn, yield->args[k]));
    copy_ops(&tail, block, at + 1, end, to);
    halve_operands(h, to);
    for (int i = 0; i < n; i++) values[i] = copied(&tail, values[i]);
}

/* Values of the loop and the tail that are used behind it. */
static int used_behind(const TileBlock *block, int at, int end, TileValue **values)
{
    int n = 0;
    for (int i = at; i < end; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_results; k++)
            if (tile_used_in(block, end, block->ops.len, op->results[k])) values[n++] = op->results[k];
    }
    return n;
}

static int count_results(const TileBlock *block, int from, int end)
{
    int n = 0;
    for (int i = from; i < end; i++) n += block->ops.data[i]->n_results;
    return n;
}

static void halve(const Halver *h, TileBlock *block, int at, int end, const Aff *cond)
{
    end = keep_others(h->program, block, at, end);
    Arena *arena = h->program->arena;
    int most = count_results(block, at, end);
    TileValue **values = arena_array(arena, TileValue *, most), **half = arena_array(arena, TileValue *, most);
    int n = used_behind(block, at, end, values);
    memcpy(half, values, (size_t)n * sizeof *half);
    TileOp *choice = rw_choice(h->program, h->kernel, cond, values, n, h->loop->loc);
    put_half(h, block, at, end, choice->regions[0], half, n);
    rw_yield_all(h->program, h->kernel, choice->regions[0], half, n);
    for (int i = at + 1; i < end; i++) {
        tile_append(h->program, choice->regions[1], block->ops.data[at + 1]);
        tile_remove(block, at + 1);
    }
    rw_yield_all(h->program, h->kernel, choice->regions[1], values, n);
    for (int i = 0; i < n; i++) { /* behind; the choice itself does not stand in the block yet */
        choice->results[i]->name = values[i]->name;
        tile_replace_uses(block, values[i], choice->results[i]);
    }
    tile_insert(h->program, block, at + 1, choice);
    h->loop->hi = aff_sub(h->program->aff, h->loop->hi, cond);
}

static int most_registers(const Halver *h)
{
    const TileBlock *body = h->loop->regions[0];
    int most = MOST, there = h->registers - SPARE;
    for (int i = 0; i < body->ops.len; i++)
        if (body->ops.data[i]->kind == TILE_REDUCE && body->ops.data[i]->results[0]->type.cols == 1) most = MOST_REDUCED;
    return most < there ? most : there;
}

/* Whether a tanh is made of polynomials, twice: as if all numbers were small, and in full (near.c). */
static bool is_long(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_ELEMENT && op->op == OP_TANH && op->polynomial) return true;
        for (int k = 0; k < op->n_regions; k++)
            if (is_long(op->regions[k])) return true;
    }
    return false;
}

/* It pays where blocks go through loops of different lengths, since many are then short
 * (measured at d128, causal: 1 % faster at all lengths), and where there are registers for both
 * widths: ptxas serialised products of four warpgroups, those that row sums go with (ones.c), and those of
 * two that fill nearly all of the 240 that their lanes have. Where elements' places are computed with, which each
 * width does for itself, a full last turn is faster (ALiBi at d128: 6 % at 1k, 1.5 % at 16k). Of soft caps both widths would take
 * ptxas more than half a second: a full turn spares it a quarter (fp16, d128: 0.7 % slower at 16k, 2 to 4 % at 1k and 4k). */
static bool pays(const Halver *h)
{
    enum { PRODUCTS = 2 };
    const TileOp *loop = h->loop;
    bool room = !issue_closely(h->kernel) && tile_count(loop->regions[0], TILE_ISSUE) <= PRODUCTS && issue_registers(loop->regions[0]) <= most_registers(h);
    bool places = tile_count(loop->regions[0], TILE_INDEX) > 0;
    return rw_uses_grid(h->kernel, loop->hi) && room && !places && !is_long(loop->regions[0]) && h->cols / 2 >= WORTH_IT;
}

void halve_last(TileProgram *program, TileKernel *kernel, TileBlock *block, int registers, Diags *diags)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_regions; k++) halve_last(program, kernel, op->regions[k], registers, diags);
        if (op->kind != TILE_FOR) continue;
        Halver h = {.program = program, .kernel = kernel, .loop = op, .registers = registers};
        int end = tail_end(block, i);
        if (!fits(&h, block, i, end)) continue;
        const Aff *cond = condition(&h);
        if (aff_never(program->aff, cond)) continue;
        uint64_t full = DECIDE(SCHED_LAST_FULL), either = full | DECIDE(SCHED_LAST_HALF);
        SchedValue best = pays(&h) ? SCHED_LAST_HALF : SCHED_LAST_FULL;
        const char *why = best == SCHED_LAST_HALF ? "at the end of a place half of a tile is often enough" : "what is left out would not pay for a second turn's code";
        if (pass_decide(kernel, SCHED_LAST, best, either, why, diags) == SCHED_LAST_HALF) halve(&h, block, i, end, cond);
    }
}
