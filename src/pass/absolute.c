/* absolute.c: tanh in elementary operations, where only its absolute error counts.
 *
 * What is added to other numbers and then exponentiated is wrong by as much as
 * its absolute error, however small it is itself. There
 *
 *   tanh x = 2 / (1 + exp(-2 x)) - 1
 *
 * is good to some units in the last place of 1, and algebra (simplify.c) sees
 * through it: scales before and after merge with its numbers. Elsewhere tanh keeps
 * its relative precision near 0, which costs twice as many instructions.
 */
#include "pass/absolute.h"

#include "pass/rewrite.h"

enum { MAX_DEPTH = 12 };

static bool is_offset_or_scale(const TileOp *op, const TileValue *v)
{
    double number;
    if (op->kind == TILE_MASK) return true;
    if (op->kind != TILE_ELEMENT) return false;
    if (op->op == OP_ADD || op->op == OP_SUBTRACT || op->op == OP_NEGATE) return true;
    if (op->op == OP_DIVIDE) return op->args[0] == v && rw_number(op->args[1], &number);
    return op->op == OP_MULTIPLY && rw_number(op->args[op->args[0] == v], &number);
}

static bool is_exponentiated(const TileOp *op, const TileValue *v)
{
    if (op->kind == TILE_SOFTMAX) return op->args[0] == v;
    return op->kind == TILE_ELEMENT && (op->op == OP_EXP || op->op == OP_EXP2);
}

static bool only_exponentiated(const TileProgram *program, const TileKernel *kernel, const TileValue *v, int depth)
{
    Uses uses = rw_uses(program->arena, kernel->body, v);
    if (depth > MAX_DEPTH || uses.len == 0) return false;
    for (int i = 0; i < uses.len; i++) {
        const TileOp *op = uses.data[i];
        if (is_exponentiated(op, v)) continue;
        if (!is_offset_or_scale(op, v) || !only_exponentiated(program, kernel, op->results[0], depth + 1)) return false;
    }
    return true;
}

/* 2 / (1 + exp(-2 x)) - 1 */
static TileValue *elementary(Rewriter *rw, TileValue *x)
{
    TileValue *power = rw_unary(rw, OP_EXP, rw_binary(rw, OP_MULTIPLY, x, rw_fill(rw, -2)));
    TileValue *half = rw_unary(rw, OP_RECIPROCAL, rw_binary(rw, OP_ADD, power, rw_fill(rw, 1)));
    TileValue *one = rw_fill(rw, 1);
    return rw_binary(rw, OP_SUBTRACT, rw_binary(rw, OP_MULTIPLY, half, rw_fill(rw, 2)), one);
}

static void open_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) open_block(program, kernel, op->regions[r]);
        if (op->kind != TILE_ELEMENT || op->op != OP_TANH) continue;
        if (!only_exponentiated(program, kernel, op->results[0], 0)) continue;
        Rewriter rw = {program, kernel, block, i, op->loc};
        tile_replace_uses(block, op->results[0], elementary(&rw, op->args[0]));
    }
}

void absolute_open(TileProgram *program, TileKernel *kernel)
{
    open_block(program, kernel, kernel->body);
}
