/* ones.h: see ones.c. */
#ifndef TW_ONES_H
#define TW_ONES_H

#include "pass/rewrite.h"

/* Whether sums of a softmax's weights may be made so, as part of another product, where they cost the
 * tensor cores next to nothing. */
bool ones_fit(const TileBlock *block, const TileOp *softmax);
/* The ones, made at the kernel's start, that an operand p is multiplied by. The sum, a
 * value that a loop carries, is of more columns from now on. */
TileValue *ones_operand(TileProgram *program, TileKernel *kernel, const TileValue *p, TileValue *sum);
/* sum + rowsum(p) */
TileValue *ones_add(Rewriter *rw, TileValue *sum, TileValue *p, TileValue *one);
/* Before and behind the loop the sum, what it carries as number k, is a column as ever. */
void ones_carry(TileProgram *program, TileKernel *kernel, TileOp *loop, int k);
/* Products by ones stand right behind those that they join. */
void ones_behind(TileProgram *program, TileBlock *block);

#endif
