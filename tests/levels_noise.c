/* levels_noise.c: how far off may an honest executor be?
 *
 * Instructions round differently, sums are taken in another order, and what
 * that does to an output depends on the program: a difference of near numbers
 * magnifies it, a sum of many averages it. So the program itself is asked: after
 * every operation whose result is rounded its result is scaled by 1 + d,
 *
 *   %s = gemm %q, %k.T          %s = gemm %q, %k.T
 *   use %s                ->    %t = multiply %s, 1 + d
 *                               use %t
 *
 * with a fresh d about as large as the errors of the approximate instructions
 * (PTX ISA, "ex2", "rcp": 2 ulp and more) each time. How far the outputs move is
 * the noise that later levels may make.
 *
 * What is rounded to 16 or 8 bits within the program may be rounded the other way
 * (and where there is an online softmax the units of its result are a pass's
 * choice, see pass/gauge.h), so there every element is scaled by its own 1 + d of
 * half a unit in the last place.
 *
 * Outputs are looked at before they are rounded: one that moves by a unit of bf16 when
 * it is may have moved by next to nothing, or by nearly two units.
 */
#include "levels.h"

#include "pass/rewrite.h"

static const double LARGEST = 0x1p-19;

/* Beside that, of a logarithm near 0 (PTX ISA, "lg2.approx"), and as a part of its
 * operand of GELU where that is next to 0. */
static const double LARGEST_BESIDE = 0x1p-20;

enum { PATTERN = 509 }; /* a prime: period of the elements' own factors */

/* Choices among operands are not rounded, nor is what only moves. */
static bool is_rounded(const TileOp *op)
{
    if (op->kind == TILE_ELEMENT)
        return op->op != OP_MAX && op->op != OP_MIN && op->op != OP_NEGATE && op->op != OP_ABS &&
               op->op != OP_WHERE && op->op != OP_RELU && op->op != OP_GREATER;
    if (op->kind == TILE_REDUCE)
        return op->op != OP_ROW_MAX && op->op != OP_ROW_MIN && op->op != OP_COL_MAX;
    return op->kind == TILE_GEMM;
}

static double draw(Rng *rng, double largest)
{
    double d = largest * (0.5 + 0.5 * rng_uniform(rng));

    return rng_below(rng, 2) ? d : -d;
}

/* What is added to the result of op: a number, or a part of its operand. */
static TileValue *error_beside(Rewriter *rw, const TileOp *op, Rng *rng)
{
    bool logarithm = op->kind == TILE_ELEMENT && (op->op == OP_LOG || op->op == OP_LOG2);
    bool gelu = op->kind == TILE_ELEMENT && op->op == OP_GELU;
    TileValue *d = rw_fill(rw, logarithm || gelu ? draw(rng, LARGEST_BESIDE) : 0);

    return gelu ? rw_binary(rw, OP_MULTIPLY, op->args[0], d) : d;
}

static void scale_result(Rewriter *rw, TileValue *v, Rng *rng)
{
    TileValue *beside = error_beside(rw, v->def, rng), *factor = rw_fill(rw, 1 + draw(rng, LARGEST));
    TileValue *args[] = {v, factor, beside};
    TileValue *scaled = rw_element(rw, OP_FMA, 3, args);

    tile_replace_uses(rw->block, v, scaled);
    scaled->def->args[0] = v; /* that use was replaced with the others */
}

static bool is_stored(const TileKernel *kernel, const TileValue *v, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];

        if (op->kind == TILE_STORE && op->args[0] == v && !op->tensor->read)
            return true;
        for (int r = 0; r < op->n_regions; r++)
            if (is_stored(kernel, v, op->regions[r]))
                return true;
    }
    return false;
}

/* Rounds to 16 or 8 bits within the program; what an output's own dtype does is known. */
static bool narrows(const TileKernel *kernel, const TileOp *op)
{
    return (op->kind == TILE_RESHAPE || op->kind == TILE_CAST || op->kind == TILE_MOVE) &&
           op->args[0]->type.dtype == DT_F32 && dtype_is_narrow(op->results[0]->type.dtype) &&
           !is_stored(kernel, op->results[0], kernel->body);
}

/* op's operand, each element with a factor of its own. */
static void jitter_operand(Rewriter *rw, TileOp *op, Rng *rng)
{
    AffCtx *aff = rw->program->aff;
    TileType type = op->args[0]->type;
    const Aff *row = aff_scale(aff, aff_of(aff, rw->program->row), 1 + rng_below(rng, PATTERN - 1));
    const Aff *col = aff_scale(aff, aff_of(aff, rw->program->col), 1 + rng_below(rng, PATTERN - 1));
    double unit = dtype_epsilon(op->results[0]->type.dtype) / PATTERN;
    TileOp *index = rw_insert(rw, TILE_INDEX, 0, NULL, 1, &type);
    TileValue *factor;

    index->index = aff_mod(aff, aff_mul(aff, aff_add(aff, row, col), aff_add(aff, row, aff_offset(aff, col, 7))),
                           aff_const(aff, PATTERN));
    factor = rw_binary(rw, OP_MULTIPLY, index->results[0], rw_fill(rw, unit));
    factor = rw_binary(rw, OP_ADD, factor, rw_fill(rw, 1 - unit * PATTERN / 2));
    op->args[0] = rw_binary(rw, OP_MULTIPLY, op->args[0], factor);
}

static void perturb_block(TileProgram *program, TileKernel *kernel, TileBlock *block, Rng *rng)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        Rewriter rw = {program, kernel, block, i + 1, op->loc};

        for (int r = 0; r < op->n_regions; r++)
            perturb_block(program, kernel, op->regions[r], rng);
        if (op->kind == TILE_SOFTMAX) { /* its maximum is exact */
            scale_result(&rw, op->results[0], rng);
            scale_result(&rw, op->results[2], rng);
            scale_result(&rw, op->results[3], rng);
        } else if (is_rounded(op) && op->results[0]->type.dtype == DT_F32) {
            scale_result(&rw, op->results[0], rng);
        }
        i = rw.at - 1;
        if (narrows(kernel, op)) {
            rw.at--;
            jitter_operand(&rw, op, rng);
            i = rw.at;
        }
    }
}

/* ---- outputs that are not rounded --------------------------------------------------- */

static TileValue *not_rounded(Rewriter *rw, TileValue *v)
{
    TileType type = v->type;

    if (type.dtype == DT_F32)
        return v;
    if (v->def && v->def->kind == TILE_CAST && v->def->args[0]->type.dtype == DT_F32)
        return v->def->args[0];
    type.dtype = DT_F32;
    return rw_insert(rw, TILE_CAST, 1, &v, 1, &type)->results[0];
}

static void widen_stores(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        Rewriter rw = {program, kernel, block, i, op->loc};

        for (int r = 0; r < op->n_regions; r++)
            widen_stores(program, kernel, op->regions[r]);
        if (op->kind == TILE_STORE && op->tensor->dtype == DT_F32)
            op->args[0] = not_rounded(&rw, op->args[0]);
        i = rw.at;
    }
}

void levels_widen(TileProgram *program)
{
    for (int t = 0; t < program->tensors.len; t++) {
        TileTensor *tensor = program->tensors.data[t];

        if (tensor->written && !tensor->read && dtype_is_narrow(tensor->dtype))
            tensor->dtype = DT_F32;
    }
    for (int k = 0; k < program->kernels.len; k++)
        widen_stores(program, program->kernels.data[k], program->kernels.data[k]->body);
}

void levels_perturb(TileProgram *program, Rng *rng)
{
    for (int k = 0; k < program->kernels.len; k++) {
        TileKernel *kernel = program->kernels.data[k];

        perturb_block(program, kernel, kernel->body, rng);
    }
}
