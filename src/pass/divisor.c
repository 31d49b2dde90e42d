/* divisor.c: sums of rows that do nothing but divide what a product makes of the same numbers.
 *
 *   loop {
 *     %z' = add %z, rowsum %W
 *     %O' = gemm (reshape %W : bf16), %V, %O
 *   }
 *   divide %O, max(%z, 1)
 *
 * The product takes the numbers rounded. Where one of them is most of its row, its rounding shows in the
 * quotient, which would be V's row itself; where the sum is of the numbers as rounded, it cancels:
 *
 *     %P = reshape %W : bf16
 *     %z' = add %z, rowsum %P
 *
 * So with |W|, where W is what is multiplied. (Of a softmax this is known: expand.c, parts.c.)
 */
#include "pass/divisor.h"

static const TileOp *loop_of(const TileBlock *block, const TileBlock *body, const TileBlock **outer)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i], *found = NULL;
        if (op->kind == TILE_FOR && op->regions[0] == body) {
            *outer = block;
            return op;
        }
        for (int r = 0; r < op->n_regions && !found; r++) found = loop_of(op->regions[r], body, outer);
        if (found) return found;
    }
    return NULL;
}

static bool is_element(const TileOp *op, OpId kind)
{
    return op->kind == TILE_ELEMENT && op->op == kind;
}

static bool has_number(const TileOp *op)
{
    double number;
    return rw_number(op->args[0], &number) || rw_number(op->args[1], &number);
}

/* The only use of a value in a block; NULL: there are more. */
static const TileOp *only_use(Arena *arena, const TileBlock *block, const TileValue *v)
{
    Uses uses = rw_uses(arena, block, v);
    return uses.len == 1 ? uses.data[0] : NULL;
}

/* Whether a number over z does nothing but multiply the sum. */
static bool only_multiplies(Arena *arena, const TileBlock *block, const TileValue *quotient, const TileValue *sum)
{
    const TileOp *use = only_use(arena, block, quotient);
    return use && is_element(use, OP_MULTIPLY) && (use->args[0] == sum || use->args[1] == sum);
}

/* Whether all that is made of z, through additions of numbers and comparisons with them, divides the sum. */
static bool only_divides(Arena *arena, const TileBlock *block, const TileValue *z, const TileValue *sum)
{
    Uses uses = rw_uses(arena, block, z);
    double number;
    for (int i = 0; i < uses.len; i++) {
        const TileOp *use = uses.data[i];
        bool passes = is_element(use, OP_ADD) || is_element(use, OP_MAX) || is_element(use, OP_MULTIPLY);
        bool divides = is_element(use, OP_DIVIDE) && use->args[1] == z && use->args[0] != z;
        if (passes && has_number(use) && only_divides(arena, block, use->results[0], sum)) continue;
        if (divides && use->args[0] == sum) continue;
        if (!divides || !rw_number(use->args[0], &number) || !only_multiplies(arena, block, use->results[0], sum)) return false;
    }
    return uses.len > 0;
}

/* Which of a loop's values an operation makes of the one that it was, with nothing between; -1: none. */
static int carried_by(const TileBlock *body, const TileOp *op)
{
    const TileOp *yield = body->ops.data[body->ops.len - 1];
    for (int k = 0; k < yield->n_args; k++)
        if (yield->args[k] == op->results[0]) return tile_op_uses(op, body->params.data[k]) ? k : -1;
    return -1;
}

static bool masks_to_zero(const TileOp *op)
{
    return op && op->kind == TILE_MASK && op->number == 0;
}

/* What is summed: numbers or their absolute values, and the mask that they went through since; NULL: none. */
typedef struct Summed {
    TileValue *numbers;
    const TileOp *mask;
    bool absolute;
} Summed;

static Summed summed_by(const TileOp *sum)
{
    TileValue *v = sum->args[0];
    const TileOp *mask = masks_to_zero(v->def) ? v->def : NULL, *abs = mask ? mask->args[0]->def : v->def;
    if (abs && is_element(abs, OP_ABS)) return (Summed){abs->args[0], mask, true};
    return (Summed){v, NULL, false};
}

static bool is_same_mask(const TileOp *op, const TileOp *mask)
{
    return mask && masks_to_zero(op) && op->cond == mask->cond && op->unless == mask->unless;
}

/* The product that takes the numbers, rounded, and adds to one of the loop's values; where its operand is made. */
static const TileOp *product_of(Arena *arena, const TileBlock *body, const TileValue *numbers, const TileOp *mask, const TileOp **rounds)
{
    Uses uses = rw_uses(arena, body, numbers);
    for (int i = 0; i < uses.len; i++) {
        const TileOp *use = uses.data[i];
        if (is_same_mask(use, mask)) return product_of(arena, body, use->results[0], NULL, rounds);
        bool rounded = !mask && use->kind == TILE_RESHAPE && dtype_bytes(use->results[0]->type.dtype) == 2;
        const TileOp *product = rounded && tile_index_of(body, use) >= 0 ? only_use(arena, body, use->results[0]) : NULL;
        *rounds = use;
        if (product && product->kind == TILE_GEMM && product->n_args == 3 && product->args[0] == use->results[0]) return product;
    }
    return NULL;
}

/* The operand once more, ahead of its sum, in the old one's place. */
static TileValue *round_here(Rewriter *rw, const Summed *summed, const TileOp *rounds)
{
    TileValue *numbers = summed->numbers;
    if (summed->mask) numbers = rw_mask(rw, numbers, summed->mask->cond, summed->mask->unless, 0);
    TileValue *old = rounds->results[0], *rounded = rw_insert(rw, TILE_RESHAPE, 1, &numbers, 1, &old->type)->results[0];
    rounded->name = old->name;
    tile_replace_uses(rw->block, old, rounded);
    return rounded;
}

TileValue *sum_as_rounded(Rewriter *rw, const TileOp *op)
{
    Arena *arena = rw->program->arena;
    const TileBlock *outer = NULL;
    bool sums = op->kind == TILE_REDUCE && op->op == OP_ROW_SUM && op->axis == 1 && op->n_args == 1;
    if (!sums || op->args[0]->type.dtype != DT_F32 || op->args[0]->type.cols <= 1 || op->results[0]->type.cols != 1) return NULL;
    Summed summed = summed_by(op);
    const TileOp *loop = loop_of(rw->kernel->body, rw->block, &outer), *rounds = NULL;
    const TileOp *add = loop ? only_use(arena, rw->block, op->results[0]) : NULL;
    const TileOp *product = add && is_element(add, OP_ADD) ? product_of(arena, rw->block, summed.numbers, summed.mask, &rounds) : NULL;
    int z = product ? carried_by(rw->block, add) : -1, sum = product ? carried_by(rw->block, product) : -1;
    if (z < 0 || sum < 0 || !only_divides(arena, outer, loop->results[z], loop->results[sum])) return NULL;
    TileValue *rounded = round_here(rw, &summed, rounds);
    if (!summed.absolute) return rw_reduce_rows(rw, OP_ROW_SUM, rounded);
    TileOp *wide = rw_insert(rw, TILE_CAST, 1, &rounded, 1, &summed.numbers->type);
    return rw_reduce_rows(rw, OP_ROW_SUM, rw_unary(rw, OP_ABS, wide->results[0]));
}
