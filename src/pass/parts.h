/* parts.h: see parts.c. */
#ifndef TW_PARTS_H
#define TW_PARTS_H

#include "tile/tile.h"

/* Carries value k of a loop in parts; false, and nothing changed: it is used in
 * other ways than by sums and factors. */
bool parts_carry(TileProgram *program, TileKernel *kernel, TileOp *loop, int k);

#endif
