/* parts.h: see parts.c. */
#ifndef TW_PARTS_H
#define TW_PARTS_H

#include "pass/rewrite.h"

/* Carries value k of a loop in parts; false, and nothing changed: it is used in
 * other ways than by sums and factors. */
bool parts_carry(TileProgram *program, TileKernel *kernel, TileOp *loop, int k);

/* The sums of the rows of p, of 16 bits, by fours or pairs that are added as they are. */
TileValue *parts_fold(Rewriter *rw, TileValue *p);

#endif
