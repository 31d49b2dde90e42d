/* keep.h: tiles that several loops read, which shared memory keeps (Schedule, `kept`). */
#ifndef TW_KEEP_H
#define TW_KEEP_H

#include "pass/passes.h"
#include "pass/rewrite.h"

/* Whether the second loop brings with `b` in each turn what the first, which runs as often, does with `a` in one of its own. */
bool keep_brings_alike(TileProgram *program, const TileOp *loop_a, const TileOp *a, const TileOp *loop_b, const TileOp *b);
/* Whether another loop of the block brings in each turn the tile that the load does in one of `loop`, and nothing writes the tensor. */
bool keep_is_read_again(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const TileOp *loop, const TileOp *load);
/* Whether the loop brings a tile in each turn that the other one does in one of its own, of a tensor that nothing writes. */
bool keep_reads_with(TileProgram *program, const TileKernel *kernel, const TileOp *loop, const TileOp *other);
/* Likewise, that any other loop of the block does. */
bool keep_reads_again(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const TileOp *loop);
/* Whether there are places, in so many blocks (1 where those of clusters share the turns already), for all turns of the loops in the block
 * that read again what others do; NULL: there is no such loop. */
const Aff *keep_fits(TileProgram *program, const TileKernel *kernel, const TileBlock *block, int blocks);
int64_t keep_bytes(const TileOp *load); /* of the tile that it brings */
/* Whether a block has room for so many turns of what its loops read again. */
bool keep_has_room(TileProgram *program, const TileKernel *kernel, const TileBlock *block, const Target *target, int turns);
/* The part of the kernel that runs where all turns are kept, in so many blocks; NULL: there is none. */
TileBlock *keep_where_all_fit(TileProgram *program, TileKernel *kernel, int blocks);

#endif
