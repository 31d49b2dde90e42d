/* parts.h: see parts.c. */
#ifndef TW_PARTS_H
#define TW_PARTS_H

#include "pass/rewrite.h"

enum { PARTS = 8 }; /* the columns of an accumulator that neighbouring lanes hold */

/* Carries value k of a loop in parts; false, and nothing changed: it is used in
 * other ways than by sums and factors. */
bool parts_carry(TileProgram *program, TileKernel *kernel, TileOp *loop, int k);

/* Makes a sum of rows one in parts, before anything takes it: column c of eight sums columns c, c + 8, c + 16, ... */
TileValue *parts_of(TileValue *sum);
/* Value k of a loop, a sum that its body carries in parts, is a whole one before the loop and behind it. */
void parts_close(TileProgram *program, TileKernel *kernel, TileOp *loop, int k);

/* The sums of the rows of p, of 16 bits, by fours or pairs that are added as they are. */
TileValue *parts_fold(Rewriter *rw, TileValue *p);

#endif
