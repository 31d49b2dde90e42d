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

/* From here on numbers are near the end of fp32's range: times log2 e they may lie beyond it. */
#define RANGE_LARGEST 8.50705917302346158658e37


/* Whether elements may be as large as a number of the program is, `else -1e9`, or as those of an Input of fp32
 * that was added before a scale. Of two such, x and v, the difference is to be taken before it is scaled: x * c
 * and v * c, each rounded, differ by more than an exponential bears. */
bool range_has_large(const TileValue *v);
/* Whether a number of the program, as large as that or larger, is part of what the value is made of. */
bool range_has_number(const TileValue *v, double least);
/* Of tensors that the block stores to: which large numbers kernels behind it will load. */
void range_note_stores(const TileBlock *block);

#endif
