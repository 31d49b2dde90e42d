/* postcheck.h: see postcheck.c. */
#ifndef TW_POSTCHECK_H
#define TW_POSTCHECK_H

#include "pass/gauge.h"
#include "target/target.h"

/* Whether the softmax, an operation of the loop's body, may and should be checked
 * after the fact. */
bool postcheck_fits(const TileKernel *kernel, const TileOp *loop, const TileOp *softmax, GaugeFreedom free,
                    const Target *target);
/* Expands it, which `fits`. rounded: it may sum what the products see. */
void postcheck_expand(TileProgram *program, TileKernel *kernel, TileOp *loop, TileOp *softmax, bool rounded);

#endif
