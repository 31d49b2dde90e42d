/* shown.h: see shown.c. */
#ifndef TW_SHOWN_H
#define TW_SHOWN_H

#include "tile/tile.h"

/* Whether an output in fp32 is made of one of these values without a rounding to fewer bits. */
bool shown_in_full(const TileProgram *program, const TileKernel *kernel, TileValue *const *values, int n);

/* Whether an output of fp32 is a sum that it is part of, times factors, rather than its logarithm or a quotient. */
bool shown_as_sum(const TileProgram *program, const TileKernel *kernel, const TileValue *sum);

#endif
