/* slabs.h: what prepares tiles, as a role does it. */
#ifndef TW_SLABS_H
#define TW_SLABS_H

#include "pass/rewrite.h"

/* The region of a PREPARE, its loads as they are, whose results go into the acquired stages of these rings: a slab
 * after the other, as few at once as leave registers free, of which a thread has so many. Its operation k's tile goes into rings[k]. */
TileBlock *slabs_of(TileProgram *program, TileKernel *kernel, const TileOp *prepare, TileValue *const *rings, int registers);

#endif
