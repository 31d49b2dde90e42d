/* expand.c: the online softmax step in elementary operations.
 *
 *   %p, %m1, %l1, %alpha = softmax %s, %m, %l
 * becomes
 *   %m1    = max(%m, rowmax(%s))
 *   %ref   = max(%m1, lowest)       finite even when all is masked
 *   %alpha = exp(max(%m, lowest) - %ref)
 *   %p     = exp(%s - %ref)
 *   %l1    = %l * %alpha + rowsum(%p)
 *
 * `lowest` is finite: -inf - lowest is -inf, so a masked element gives exactly 0
 * and never the NaN of -inf - -inf, and a row that has seen nothing but -inf
 * keeps alpha = 1.
 *
 * Where m is only a gauge (gauge.c), and it pays, it may lag behind the maximum by LAG
 * binades: m1 = rowmax(s) where that exceeds m by more, else m. Nearly every
 * alpha is then exactly 1, and the rescales are told to skip ones. A kernel whose
 * warps will be specialized does not even look for the maximum first (postcheck.c). Where
 * scores are known to be neither large nor small, there is none to look for (bounded.c).
 */
#include "pass/absolute.h"
#include "pass/bounded.h"
#include "pass/coarse.h"
#include "pass/decide.h"
#include "pass/gauge.h"
#include "pass/ones.h"
#include "pass/passes.h"
#include "pass/postcheck.h"
#include "pass/range.h"

/* -2^126: below every score that has a meaning, and far enough from the end of
 * fp32's range that scaling by log2 e (simplify.c) does not overflow. */
static const double LOWEST = -RANGE_LARGEST;

/* Where the program has numbers below that itself, as masks that are added, differences are taken before they are scaled
 * (simplify.c): then any number of fp32 is a score, the least one too. */
static const double LEAST = -3.40282346638528859812e38;

/* exp(s - m) stays below 2^8, which fp16 and bf16 hold with their full precision. */
static const double LAG = 8 * 0.69314718055994530942;

typedef struct Expansion {
    TileProgram *program;
    TileKernel *kernel;
    const Target *target;
    Diags *diags;
} Expansion;

static TileValue *new_reference(Rewriter *rw, TileValue *m, TileValue *largest, bool lagging)
{
    if (!lagging) return rw_binary(rw, OP_MAX, m, largest);
    TileValue *growth = rw_binary(rw, OP_SUBTRACT, largest, m);
    TileValue *choice[] = {rw_binary(rw, OP_GREATER, growth, rw_fill(rw, LAG)), largest, m};
    return rw_element(rw, OP_WHERE, 3, choice);
}

/* A rescale that may be skipped is worth its vote and jump only when it is long
 * beside the exponentials (measured: d64 with 128 keys a tile loses 6 %, d128
 * with 64 gains 5 %): columns accumulated against columns exponentiated. */
static bool skipping_pays(const TileBlock *block, const TileOp *softmax)
{
    int columns = 0;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            if (op->kind == TILE_ELEMENT && op->args[k] == softmax->results[3]) columns += op->results[0]->type.cols;
    }
    return columns >= softmax->args[0]->type.cols;
}

/* Multiplications by alpha move up to where alpha is made (before the
 * exponentials, so that a jump over them does not part these from the tensor-
 * core work that they overlap with) and skip ones. */
static void rescale_early(TileBlock *block, int at, const TileValue *alpha)
{
    for (int i = at; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        if (op->kind != TILE_ELEMENT || op->op != OP_MULTIPLY || (op->args[0] != alpha && op->args[1] != alpha))
            continue;
        const TileValue *other = op->args[op->args[0] == alpha];
        if (other->def || op->results[0]->type.cols == 1) continue; /* not a carried matrix */
        op->skip_ones = true;
        memmove(&block->ops.data[at + 1], &block->ops.data[at], (size_t)(i - at) * sizeof *block->ops.data);
        block->ops.data[at++] = op;
    }
}

/* Where p becomes an operand, in registers or on its way to shared memory, once, rounded to 16 or 8 bits; -1: elsewhere or not. */
static int only_reshape_of(const TileBlock *block, const TileValue *p)
{
    int at = -1;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++) {
            if (op->args[k] != p || op->kind == TILE_REDUCE) continue;
            if ((op->kind != TILE_RESHAPE && op->kind != TILE_CAST) || at >= 0 || !dtype_is_narrow(op->results[0]->type.dtype)) return -1;
            at = i;
        }
    }
    return at;
}

/* l1 = l * alpha + rowsum(p). Where l is but a divisor, of p as an operand: the
 * tensor cores sum it on the side (element.c), and the rounding of a dominant p
 * cancels in the quotient. */
static TileValue *new_sum(Rewriter *rw, TileValue *l, TileValue *alpha, TileValue *p)
{
    TileValue *sum = rw_reduce_rows(rw, OP_ROW_SUM, p);
    return rw_binary(rw, OP_ADD, rw_binary(rw, OP_MULTIPLY, l, alpha), sum);
}

static void replace(TileBlock *block, TileValue *old, TileValue *new)
{
    new->name = old->name;
    tile_replace_uses(block, old, new);
}

static void expand_in_order(TileProgram *program, TileKernel *kernel, bool lagging, bool rounded, TileBlock *block, int at)
{
    TileOp *op = block->ops.data[at];
    Rewriter rw = {program, kernel, block, at, op->loc};
    TileValue *s = op->args[0], *m = op->args[1], *l = op->args[2];

    TileValue *lowest = rw_fill(&rw, range_has_number(s, -LOWEST) ? LEAST : LOWEST);
    TileValue *m1 = new_reference(&rw, m, rw_reduce_rows(&rw, OP_ROW_MAX, s), lagging);
    TileValue *ref = rw_binary(&rw, OP_MAX, m1, lowest);
    TileValue *before = rw_binary(&rw, OP_MAX, m, lowest);
    TileValue *alpha = rw_unary(&rw, OP_EXP, rw_binary(&rw, OP_SUBTRACT, before, ref));
    TileValue *p = rw_unary(&rw, OP_EXP, rw_binary(&rw, OP_SUBTRACT, s, ref));
    replace(block, op->results[0], p);
    replace(block, op->results[1], m1);
    replace(block, op->results[3], alpha);

    int reshape = rounded ? only_reshape_of(block, p) : -1;
    TileValue *summed = p;
    if (reshape >= 0) { /* behind it; the softmax itself still stands at rw.at */
        tile_remove(block, rw.at);
        rw.at = reshape;
        summed = block->ops.data[reshape - 1]->results[0];
    }
    TileValue *l1 = new_sum(&rw, l, alpha, summed);
    replace(block, op->results[2], l1);
    if (reshape < 0) tile_remove(block, rw.at);
    if (lagging) rescale_early(block, tile_index_of(block, alpha->def) + 1, alpha);
}

/* Whether weights are rounded to 8 bits and summed as they were: of four bits or three, the largest shows its rounding in the
 * quotient wherever it is not 1. */
static bool shows_bytes(const Expansion *x, const TileBlock *block, const TileOp *op, GaugeFreedom free)
{
    int reshape = only_reshape_of(block, op->results[0]);
    bool exact = !free.rounded_sum || x->kernel->schedule.value[SCHED_SUMS] == SCHED_SUMS_EXACT;
    return exact && reshape >= 0 && dtype_bytes(block->ops.data[reshape]->results[0]->type.dtype) == 1;
}

static SchedValue choose_form(const Expansion *x, TileOp *loop, const TileBlock *block, TileOp *op, GaugeFreedom free)
{
    uint64_t possible = DECIDE(SCHED_SOFTMAX_EXACT);
    SchedValue best = SCHED_SOFTMAX_EXACT;
    const char *why = "the program shows the maximum, or what moves with it";
    if (shows_bytes(x, block, op, free))
        return pass_decide(x->kernel, SCHED_SOFTMAX, best, possible, "the largest weight is 1, which 8 bits hold, and the sum is of weights as they were", x->diags);
    if (free.reference) {
        possible |= DECIDE(SCHED_SOFTMAX_LAGGING);
        why = "to rescale costs no more than to ask whether it may be left out";
    }
    if (free.reference && skipping_pays(block, op)) {
        best = SCHED_SOFTMAX_LAGGING;
        why = "to rescale takes long beside the exponentials, and nothing that is shown depends on the reference";
    }
    if (!range_has_large(op->args[0]) && postcheck_fits(x->kernel, loop, op, free, x->target)) {
        possible |= DECIDE(SCHED_SOFTMAX_CHECKED);
        best = SCHED_SOFTMAX_CHECKED;
        why = "nothing that is shown depends on the reference, and so no turn waits for a maximum";
    }
    if (bounded_fits(x->program, x->kernel, loop, op, free)) {
        possible |= DECIDE(SCHED_SOFTMAX_BOUNDED);
        if (free.rounded_sum) { /* else a weight that is most of its row shows its rounding */
            best = SCHED_SOFTMAX_BOUNDED;
            why = "the scores have known bounds";
        }
    }
    return pass_decide(x->kernel, SCHED_SOFTMAX, best, possible, why, x->diags);
}

/* Where something else is made of the sum as well, one more that only divides costs 3 to 4 % beside products of
 * 256 multiply-adds a weight and fewer (measured, d64 and d128), and next to nothing where they take many more. */
static bool products_hide_sum(const TileBlock *block, const TileOp *softmax)
{
    enum { HIDDEN = 320 };
    TileType s = softmax->args[0]->type;
    return rw_work(block) > (int64_t)HIDDEN * s.rows * s.cols;
}

static const char *reason_for_sums(GaugeFreedom free, bool both, bool pays)
{
    if (free.rounded_sum) return "they only divide, and the rounding of a weight that is most of its row cancels";
    if (pays) return "beside products of that size a second sum, which divides, costs next to nothing";
    return both ? "more is made of them, and a second sum, which divides, would cost 3 to 4 %" : "more than a divisor is made of them";
}

/* Summed exactly, a weight that is most of its row shows its own rounding, half a unit of
 * the operand's last place, but not where its maximum was the reference: then it is a
 * power of two. Of what the products see, where that error cancels, the tensor cores can make the
 * sum: those of a warp on the side of any product, those of a warpgroup beside one that has room
 * for it (ones.c); elsewhere pairs are added as they are first (parts.c). */
static SchedValue choose_sums(const Expansion *x, const TileOp *loop, const TileOp *op, GaugeFreedom free, SchedValue form)
{
    uint64_t exact = DECIDE(SCHED_SUMS_EXACT), either = exact | DECIDE(SCHED_SUMS_ROUNDED);
    bool both = form == SCHED_SOFTMAX_CHECKED && postcheck_divides(x->kernel, loop, op);
    bool pays = free.rounded_sum || (both && products_hide_sum(loop->regions[0], op));
    bool ones = form == SCHED_SOFTMAX_CHECKED && ones_fit(loop->regions[0], op);
    uint64_t possible = free.rounded_sum || both ? either : exact;
    if (possible == either && ones) possible |= DECIDE(SCHED_SUMS_ONES);
    SchedValue best = !pays ? SCHED_SUMS_EXACT : ones ? SCHED_SUMS_ONES : SCHED_SUMS_ROUNDED;
    return pass_decide(x->kernel, SCHED_SUMS, best, possible, reason_for_sums(free, both, pays), x->diags);
}

static void expand_softmax(Expansion *x, TileOp *loop, TileBlock *block, int at)
{
    TileOp *op = block->ops.data[at];
    GaugeFreedom free = gauge_freedom(x->program->arena, x->kernel, loop, op);
    SchedValue form = choose_form(x, loop, block, op, free);
    SchedValue sums = choose_sums(x, loop, op, free, form);
    bool rounded = sums != SCHED_SUMS_EXACT;
    if (form == SCHED_SOFTMAX_CHECKED) postcheck_expand(x->program, x->kernel, loop, op, sums, free.rounded_sum);
    else if (form == SCHED_SOFTMAX_BOUNDED) bounded_expand(x->program, x->kernel, loop, op, rounded);
    else expand_in_order(x->program, x->kernel, form == SCHED_SOFTMAX_LAGGING, rounded, block, at);
}

static void expand_block(Expansion *x, TileOp *loop, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++)
            expand_block(x, op->kind == TILE_FOR ? op : NULL, op->regions[r]);
        if (op->kind == TILE_SOFTMAX) expand_softmax(x, loop, block, i);
    }
}

bool pass_expand(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    Expansion x = {program, kernel, target, diags};
    absolute_open(program, kernel);
    coarse_open(program, kernel);
    range_note_stores(kernel->body);
    expand_block(&x, NULL, kernel->body);
    rw_remove_dead(kernel->body);
    return true;
}
