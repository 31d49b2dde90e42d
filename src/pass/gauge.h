/* gauge.h: see gauge.c. */
#ifndef TW_GAUGE_H
#define TW_GAUGE_H

#include "tile/tile.h"

/* What the program lets an online softmax, an operation of `loop`'s body, do. */
typedef struct GaugeFreedom {
    /* The reference m may be any number near the row maximum: every use of what
     * the loop leaves behind is unchanged when m moves and l and the accumulators
     * follow. */
    bool reference;
    /* And far from it, by as much as fp32 bears in sums and quotients, since nothing grows
     * faster than they do. */
    bool far_reference;
    /* Moreover l is only a divisor of what was accumulated from p, so it may sum
     * p as the tensor cores saw it, rounded. */
    bool rounded_sum;
    /* The loop carries its state and what is accumulated from p, and nothing else: turns may
     * come in any order. */
    bool alone;
} GaugeFreedom;

GaugeFreedom gauge_freedom(Arena *arena, const TileKernel *kernel, const TileOp *loop, const TileOp *softmax);

#endif
