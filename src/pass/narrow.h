#ifndef TW_PASS_NARROW_H
#define TW_PASS_NARROW_H

#include "tile/tile.h"

/* Of those that compute: each leaves a loop where its own iterations end (TileOp.until), and
 * gives back unread what the copier brings for the others. */
void narrow_loops(TileProgram *program, TileKernel *kernel, TileBlock *block);

#endif
