/* keep.h: tiles that several loops read, which shared memory keeps (Schedule, `kept`). */
#ifndef TW_KEEP_H
#define TW_KEEP_H

#include "pass/rewrite.h"

/* Whether the loops run over the same turns, side by side in a block. */
bool keep_same_turns(const TileOp *a, const TileOp *b);
/* Whether a loop of the block, other than `loop`, reads in each turn the tile that the load does in one of `loop`, and
 * nothing writes the tensor. */
bool keep_is_read_again(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const TileOp *loop, const TileOp *load);

/* Whether there are places for all turns of the loops in the block that read again what others do; NULL: there is no such loop. */
const Aff *keep_fits(TileProgram *program, const TileKernel *kernel, const TileBlock *block);

#endif
