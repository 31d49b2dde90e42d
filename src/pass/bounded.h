/* bounded.h: see bounded.c. */
#ifndef TW_BOUNDED_H
#define TW_BOUNDED_H

#include "pass/gauge.h"

/* Whether the softmax, an operation of the loop's body, needs no maximum. */
bool bounded_fits(TileProgram *program, TileKernel *kernel, TileOp *loop, TileOp *softmax, GaugeFreedom free);
/* Expands it, which `fits`. rounded: it may sum what the products see. */
void bounded_expand(TileProgram *program, TileKernel *kernel, TileOp *loop, TileOp *softmax, bool rounded);

#endif
