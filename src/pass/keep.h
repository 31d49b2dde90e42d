/* keep.h: tiles that several loops read, which shared memory keeps (Schedule, `kept`). */
#ifndef TW_KEEP_H
#define TW_KEEP_H

#include "pass/passes.h"
#include "pass/rewrite.h"

/* Whether the loop brings a tile in each turn that the other one does in one of its own, of a tensor that nothing writes. */
bool keep_reads_with(TileProgram *program, const TileKernel *kernel, const TileOp *loop, const TileOp *other);
/* Likewise, that any other loop of the block does. */
bool keep_reads_again(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const TileOp *loop);
/* Whether there are places, in so many blocks (1 where those of clusters share the turns already), for all turns of the loops in the block
 * that read again what others do; NULL: there is no such loop. */
const Aff *keep_fits(TileProgram *program, const TileKernel *kernel, const TileBlock *block, int blocks);
/* Whether a block has room for so many turns of what its loops read again. */
bool keep_has_room(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const Target *target, int turns);
/* The part of the kernel that runs where all turns are kept, in so many blocks; NULL: there is none. */
TileBlock *keep_where_all_fit(TileProgram *program, TileKernel *kernel, int blocks);

#endif
