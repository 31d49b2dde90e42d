/* gap.h: see gap.c. */
#ifndef TW_GAP_H
#define TW_GAP_H

#include "tile/tile.h"

/* A loop that begins with 0 passes over its turns from `from` on, up to `to`: they change nothing. Instances within a block pass
 * over the same. */
void gap_close(TileProgram *program, const TileKernel *kernel, TileOp *loop, const Aff *from, const Aff *to);

#endif
