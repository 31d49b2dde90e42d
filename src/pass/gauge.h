/* gauge.h: see gauge.c. */
#ifndef TW_GAUGE_H
#define TW_GAUGE_H

#include "tile/tile.h"

/* Whether the reference m of this online softmax, an operation of `loop`'s body,
 * may be any number near the row maximum: every use of what the loop leaves
 * behind is unchanged when m moves and l and the accumulators follow. */
bool gauge_is_free(Arena *arena, const TileKernel *kernel, const TileOp *loop, const TileOp *softmax);

#endif
