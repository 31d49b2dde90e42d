/* divisor.h: see divisor.c. */
#ifndef TW_DIVISOR_H
#define TW_DIVISOR_H

#include "pass/rewrite.h"

/* The replacement of a row sum's result, or NULL (simplify.c). */
TileValue *sum_as_rounded(Rewriter *rw, const TileOp *op);

#endif
