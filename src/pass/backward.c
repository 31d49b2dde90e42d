/* backward.c: loops that take the last tile of what they stream first.
 *
 *   for j = 0:n {                               for j = 0:n {
 *     %K = load K[j * 128 : rows, ...]            %K = load K[(n - 1 - j) * 128 : rows, ...]
 *     ...                                ->       ...
 *     %d = index i - j * 128 - col                %d = index i - (n - 1 - j) * 128 - col
 *     %x = subtract %s, (multiply %v, %d)         ...
 *     ... = softmax %x, %m, %l }                }
 *
 * Any order of turns gives the same, where a loop carries the state of an online softmax, what is
 * accumulated from its weights, and nothing else (gauge.c). Where scores rise along the loop, as by a slope for
 * each step that keys come nearer, every turn raises the maximum and rescales what there is; backward
 * the first maximum is the last.
 *
 * Scores rise by an index times numbers; those that come with the data are taken as positive, as slopes
 * and decays are. If they are not, this costs time.
 */
#include "pass/decide.h"
#include "pass/gauge.h"
#include "pass/kept.h"
#include "pass/passes.h"

enum { MAX_DEPTH = 16 };

/* How an element changes along the loop, other than by the data that are streamed. */
typedef enum Trend { FALLS = -1, LEVEL, RISES, UNKNOWN } Trend;

static Trend opposite(Trend t)
{
    return t == UNKNOWN ? UNKNOWN : (Trend)-t;
}

static Trend both(Trend a, Trend b)
{
    return a == LEVEL ? b : b == LEVEL || a == b ? a : UNKNOWN;
}

static Trend trend_of_index(AffCtx *aff, const Aff *index, const AffSym *counter)
{
    const Aff *coef, *rest;
    int64_t by;
    if (!aff_linear(aff, index, counter, &coef, &rest) || !aff_is_const(coef, &by)) return UNKNOWN;
    return by < 0 ? FALLS : by > 0 ? RISES : LEVEL;
}

static Trend times(Trend t, const TileValue *factor)
{
    double number;
    return rw_number(factor, &number) && number < 0 ? opposite(t) : t;
}

static Trend trend_of(AffCtx *aff, const TileValue *v, const AffSym *counter, int depth);

static Trend trend_of_element(AffCtx *aff, const TileOp *op, const AffSym *counter, int depth)
{
    Trend a = trend_of(aff, op->args[0], counter, depth), b = op->n_args > 1 ? trend_of(aff, op->args[1], counter, depth) : LEVEL;
    if (op->op == OP_ADD || op->op == OP_MAX || op->op == OP_MIN) return both(a, b);
    if (op->op == OP_SUBTRACT) return both(a, opposite(b));
    if (op->op == OP_NEGATE) return opposite(a);
    if (op->op == OP_MULTIPLY && a == LEVEL) return times(b, op->args[0]);
    if ((op->op == OP_MULTIPLY || op->op == OP_DIVIDE) && b == LEVEL) return times(a, op->args[1]);
    return op->n_args < 3 && a == LEVEL && b == LEVEL ? LEVEL : UNKNOWN;
}

static Trend trend_of(AffCtx *aff, const TileValue *v, const AffSym *counter, int depth)
{
    const TileOp *op = v->def;
    if (!op) return LEVEL;
    if (depth == MAX_DEPTH) return UNKNOWN;
    if (op->kind == TILE_INDEX) return trend_of_index(aff, op->index, counter);
    if (op->kind == TILE_ELEMENT) return trend_of_element(aff, op, counter, depth + 1);
    bool passes = op->kind == TILE_MASK || op->kind == TILE_CAST || op->kind == TILE_RESHAPE || op->kind == TILE_MOVE;
    return passes ? trend_of(aff, op->args[0], counter, depth + 1) : LEVEL;
}

/* The one softmax of a loop whose turns may come in any order; NULL: it is no such loop. */
static const TileOp *softmax_of(Arena *arena, const TileKernel *kernel, const TileOp *loop)
{
    const TileBlock *body = loop->regions[0];
    const TileOp *softmax = NULL;
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->n_regions || (tile_op_has_effect(op) && op->kind != TILE_YIELD)) return NULL;
        if (op->kind == TILE_SOFTMAX && softmax) return NULL;
        if (op->kind == TILE_SOFTMAX) softmax = op;
    }
    return softmax && gauge_freedom(arena, kernel, loop, softmax).alone ? softmax : NULL;
}

static void turn_back(TileProgram *program, TileOp *loop)
{
    AffCtx *aff = program->aff;
    const Aff *last = aff_offset(aff, aff_add(aff, loop->lo, loop->hi), -1);
    rw_substitute(program, loop->regions[0], loop->var, aff_sub(aff, last, aff_of(aff, loop->var)));
}

/* Where nothing tells the ends of a loop apart it is not a choice, unless somebody asks for one. */
static bool goes_back(TileProgram *program, TileKernel *kernel, const TileOp *loop, const TileOp *softmax, Diags *diags)
{
    uint64_t either = DECIDE(SCHED_DIRECTION_FORWARD) | DECIDE(SCHED_DIRECTION_BACKWARD);
    Trend trend = trend_of(program->aff, softmax->args[0], loop->var, 0);
    SchedValue best = SCHED_DIRECTION_FORWARD;
    const char *why = "scores are not known to rise along the loop";
    if (trend == LEVEL && kernel->schedule.value[SCHED_DIRECTION] == SCHED_AUTO) return false;
    if (trend == RISES) {
        best = SCHED_DIRECTION_BACKWARD;
        why = "scores rise along the loop, so that its last tile has the maximum";
    }
    return pass_decide(kernel, SCHED_DIRECTION, best, either, why, diags) == SCHED_DIRECTION_BACKWARD;
}

bool pass_backward(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    kept_indices(program, kernel); /* a distance, else, rises on one side and falls on the other */
    for (int i = 0; i < kernel->body->ops.len; i++) {
        TileOp *loop = kernel->body->ops.data[i];
        const TileOp *softmax = loop->kind == TILE_FOR ? softmax_of(program->arena, kernel, loop) : NULL;
        if (softmax && goes_back(program, kernel, loop, softmax, diags)) turn_back(program, loop);
    }
    return true;
}
