/* postcheck.h: see postcheck.c. */
#ifndef TW_POSTCHECK_H
#define TW_POSTCHECK_H

#include "pass/gauge.h"
#include "target/target.h"

/* Whether the softmax, an operation of the loop's body, may and should be checked
 * after the fact. */
bool postcheck_fits(const TileKernel *kernel, const TileOp *loop, const TileOp *softmax, GaugeFreedom free,
                    const Target *target);
/* Whether sums of accumulators, directly behind the loop, are divided by the sum of weights. */
bool postcheck_divides(const TileKernel *kernel, const TileOp *loop, const TileOp *softmax);
/* Expands it, which `fits`. sums: of what that which divides is (schedule.def), ONES where ones_fit; alone: nothing
 * else is made of the sum. */
void postcheck_expand(TileProgram *program, TileKernel *kernel, TileOp *loop, TileOp *softmax, SchedValue sums, bool alone);

#endif
