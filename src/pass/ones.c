/* ones.c: sums of rows that the tensor cores make beside a product of the same operand.
 *
 *   %l1 = add %l, (rowsum %P)                      R x 1
 * becomes
 *   %one = fill 1 : shared <8 x C>                 ahead of all
 *   %l1  = gemm %P, %one.T, %l                     R x 8, its columns all alike
 *
 * for an operand P of 16 bits that a product by V takes as well. Where V is as wide as a
 * panel (lay.h), the emitter makes one product of both (ptx/wgmma.c): eight columns more,
 * instead of an addition for each element of P.
 */
#include "pass/ones.h"

enum { COLUMNS = 8 }; /* the fewest of a product */

/* The product that takes P as its first operand and begins behind the operation `at`. */
static int product_of(const TileBlock *block, int at, const TileValue *p)
{
    for (int i = at; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_GEMM && op->n_args == 3 && op->args[0] == p && !op->trans_a) return i;
    }
    return -1;
}

/* Whether a product by ones may be part of this one, whose first operand is the same: the
 * second fills a panel, behind which the next may lie anywhere. */
static bool may_join(const TileOp *product)
{
    const TileType *b = &product->args[1]->type;
    int size = dtype_bytes(b->dtype);
    return !product->trans_b && size == 2 && b->cols * size == lay_panel_for(b->cols, size);
}

/* What becomes of p as an operand of a product; -1: nothing. */
static int product_by(const TileBlock *block, const TileValue *p)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *reshape = block->ops.data[i];
        if (reshape->kind == TILE_RESHAPE && reshape->args[0] == p) return product_of(block, i, reshape->results[0]);
    }
    return -1;
}

/* By itself a product of so few columns would cost more than taking the weights apart again. */
bool ones_fit(const TileBlock *block, const TileOp *softmax)
{
    int product = product_by(block, softmax->results[0]);
    return product >= 0 && may_join(block->ops.data[product]);
}

TileValue *ones_operand(TileProgram *program, TileKernel *kernel, const TileValue *p, TileValue *sum)
{
    TileType type = tile_type(p->type.dtype, COLUMNS, p->type.cols, SPACE_SHARED);
    Rewriter rw = {.program = program, .kernel = kernel, .block = kernel->body};
    TileOp *fill = rw_insert(&rw, TILE_FILL, 0, NULL, 1, &type);
    fill->number = 1;
    fill->results[0]->name = "one";
    sum->type.cols = COLUMNS;
    return fill->results[0];
}

TileValue *ones_add(Rewriter *rw, TileValue *sum, TileValue *p, TileValue *one)
{
    TileValue *args[] = {p, one, sum};
    TileType type = tile_type(DT_F32, sum->type.rows, COLUMNS, SPACE_REGISTER);
    TileOp *gemm = rw_insert(rw, TILE_GEMM, 3, args, 1, &type);
    gemm->trans_b = true;
    return gemm->results[0];
}

void ones_carry(TileProgram *program, TileKernel *kernel, TileOp *loop, int k)
{
    Rewriter rw = {.program = program, .kernel = kernel, .loc = loop->loc};
    rw.block = rw_block_of(kernel->body, loop, &rw.at);
    double number;
    TileValue *start = loop->args[k];
    int rows = start->type.rows;
    if (rw_number(start, &number)) loop->args[k] = rw_fill_tile(&rw, number, rows, COLUMNS);
    else loop->args[k] = rw_binary(&rw, OP_ADD, rw_fill_tile(&rw, 0, rows, COLUMNS), start);
    TileValue *column = loop->results[k], *all = rw_renew(&rw, loop, k);
    all->type.cols = COLUMNS;
    rw.at++;
    rw_serve(column, rw_reduce_rows(&rw, OP_ROW_MAX, all));
}

static bool is_ones(const TileOp *op)
{
    return op->kind == TILE_GEMM && op->n_args == 3 && op->args[1]->def && op->args[1]->def->kind == TILE_FILL
           && tile_is_storage(op->args[1]->def);
}

void ones_behind(TileProgram *program, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        int to = is_ones(op) ? product_of(block, i + 1, op->args[0]) : -1;
        if (to < 0 || tile_used_in(block, i + 1, to + 1, op->results[0])) continue;
        tile_remove(block, i);
        tile_insert(program, block, to, op);
    }
}
