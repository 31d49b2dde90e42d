/* absolute.c: tanh in fewer instructions, where only its absolute error counts.
 *
 * What is added to other numbers and then exponentiated is wrong by as much as
 * its absolute error, however small it is itself. There
 *
 *   tanh x = 2 / (1 + exp(-2 x)) - 1
 *
 * is good to some units in the last place of 1, and algebra (simplify.c) sees
 * through it: scales before and after merge with its numbers. Elsewhere tanh keeps
 * its relative precision near 0, which costs twice as many instructions.
 *
 * In a kernel that is specialized the special function units are what its warps
 * wait for: an exponential and a reciprocal, beside the exponential that follows.
 * There it is a polynomial in exp(-2 |x|), wrong by 2^-18: of weights that are rounded
 * to 16 bits nothing is lost as long as what tanh is multiplied by is below 2^8.
 *
 * An output in fp32 shows more (shown.c). That of a logarithm of the sum has the absolute error,
 * for which the polynomial is too coarse behind a factor; the weights themselves, their sum or
 * their maximum are to be as precise as fp32 is.
 */
#include "pass/absolute.h"

#include "pass/gauge.h"
#include "pass/rewrite.h"
#include "pass/shown.h"

#include <math.h>

enum { MAX_DEPTH = 12 };

static const double MOST_SCALE = 256;
static const double FINER = 64;           /* times as precise as weights must a logarithm of their sum be, */
static const double MOST_IN_FULL = 4;     /* and behind this factor an error of some units is seen in fp32 */

/* By how much v, an operand, is multiplied on its way to the result; 0: in no known way. */
static double scale_through(const TileOp *op, const TileValue *v)
{
    double number;
    if (op->kind == TILE_MASK) return 1;
    if (op->kind != TILE_ELEMENT) return 0;
    if (op->op == OP_ADD || op->op == OP_SUBTRACT || op->op == OP_NEGATE) return 1;
    if (op->op == OP_DIVIDE && op->args[0] == v && rw_number(op->args[1], &number)) return 1 / fabs(number);
    if (op->op == OP_MULTIPLY && rw_number(op->args[op->args[0] == v], &number)) return fabs(number);
    return 0;
}

static bool is_exponentiated(const TileOp *op, const TileValue *v)
{
    if (op->kind == TILE_SOFTMAX) return op->args[0] == v;
    return op->kind == TILE_ELEMENT && op_is_exponential(op->op);
}

/* The loop in whose body an operation stands itself; NULL: none. */
static const TileOp *loop_of(const TileBlock *block, const TileOp *op)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *outer = block->ops.data[i], *found = NULL;
        for (int r = 0; r < outer->n_regions && !found; r++) {
            if (outer->kind == TILE_FOR && tile_index_of(outer->regions[r], op) >= 0) return outer;
            found = loop_of(outer->regions[r], op);
        }
        if (found) return found;
    }
    return NULL;
}

/* `scale` as it counts for what is exponentiated there: more where more of it is seen. */
static double scale_seen(const TileProgram *program, const TileKernel *kernel, const TileOp *op, double scale)
{
    GaugeFreedom free = {0};
    if (op->kind == TILE_SOFTMAX) free = gauge_freedom(program->arena, kernel, loop_of(kernel->body, op), op);
    if (free.reference) return free.rounded_sum ? scale : scale * FINER;
    if (!shown_in_full(program, kernel, op->results, op->kind == TILE_SOFTMAX ? 3 : 1)) return scale;
    return scale <= MOST_IN_FULL ? MOST_SCALE * 2 : INFINITY;
}

/* The largest factor with which v, multiplied by `scale` so far, arrives where it is
 * exponentiated, as far as that is seen; infinite where it is also used otherwise. */
static double scale_exponentiated(const TileProgram *program, const TileKernel *kernel, const TileValue *v,
                                  double scale, int depth)
{
    Uses uses = rw_uses(program->arena, kernel->body, v);
    double most = 0;
    if (depth > MAX_DEPTH || uses.len == 0) return INFINITY;
    for (int i = 0; i < uses.len; i++) {
        const TileOp *op = uses.data[i];
        double through = scale_through(op, v), here;
        if (is_exponentiated(op, v))
            here = scale_seen(program, kernel, op, scale);
        else
            here = through > 0 ? scale_exponentiated(program, kernel, op->results[0], scale * through, depth + 1) : INFINITY;
        most = fmax(most, here);
    }
    return most;
}

/* 2 / (1 + exp(-2 x)) - 1 */
static TileValue *elementary(Rewriter *rw, TileValue *x)
{
    TileValue *power = rw_unary(rw, OP_EXP, rw_binary(rw, OP_MULTIPLY, x, rw_fill(rw, -2)));
    TileValue *half = rw_unary(rw, OP_RECIPROCAL, rw_binary(rw, OP_ADD, power, rw_fill(rw, 1)));
    TileValue *one = rw_fill(rw, 1);
    return rw_binary(rw, OP_SUBTRACT, rw_binary(rw, OP_MULTIPLY, half, rw_fill(rw, 2)), one);
}

static void open_tanh(TileProgram *program, TileKernel *kernel, TileBlock *block, int at)
{
    TileOp *op = block->ops.data[at];
    double scale = scale_exponentiated(program, kernel, op->results[0], 1, 0);
    Rewriter rw = {program, kernel, block, at, op->loc};
    if (kernel->specialized && scale <= MOST_SCALE) op->polynomial = true;
    else if (isfinite(scale)) tile_replace_uses(block, op->results[0], elementary(&rw, op->args[0]));
}

static void open_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) open_block(program, kernel, op->regions[r]);
        if (op->kind == TILE_ELEMENT && op->op == OP_TANH) open_tanh(program, kernel, block, i);
    }
}

void absolute_open(TileProgram *program, TileKernel *kernel)
{
    open_block(program, kernel, kernel->body);
}
