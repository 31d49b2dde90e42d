/* place.h: see place.c. Each gives the replacement of the operation's result, or NULL (simplify.c). */
#ifndef TW_PLACE_H
#define TW_PLACE_H

#include "pass/rewrite.h"

TileValue *place_after_mask(Rewriter *rw, const TileOp *op);
TileValue *place_scaled(Rewriter *rw, const TileOp *op);
TileValue *place_distributed(Rewriter *rw, const TileOp *op);
TileValue *place_added(Rewriter *rw, const TileOp *op);

#endif
