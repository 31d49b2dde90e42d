/* range.h: see range.c. */
#ifndef TW_RANGE_H
#define TW_RANGE_H

#include "tile/tile.h"

/* Between which numbers all elements lie; -inf and inf where that is not known. */
typedef struct ValueRange {
    double lo, hi;
    bool masked; /* some may be -inf besides */
} ValueRange;

ValueRange range_of(const TileValue *v);

#endif
