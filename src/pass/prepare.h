/* prepare.h: tiles in shared memory that arithmetic makes. */
#ifndef TW_PREPARE_H
#define TW_PREPARE_H

#include "pass/rewrite.h"

/* Tiles that are put into shared memory, and of what comes from memory alone, are prepared (TILE_PREPARE) by
 * operations that stand by themselves. False: there is one that is not. */
bool prepare_tiles(TileProgram *program, TileKernel *kernel);
/* What they are made of comes by bulk copies also where the program reads element by element, if it lies as a tile does. */
void prepare_in_bulk(TileProgram *program, TileKernel *kernel);
/* Without roles all warps prepare all of a tile at once, each rows of its own, where they can share it so. */
void prepare_among_warps(TileProgram *program, TileKernel *kernel);
/* Elements of a row that a lane moves at once of the tiles of a region: 16 bytes of the narrowest type. */
int prepare_at_once(const TileBlock *region);
/* Whether k elements that a lane moves take several accesses, of the widest type. */
bool prepare_in_steps(const TileBlock *region, int k);
/* The most lanes of a layout in rows that meet in the banks of a tile that a region reads from shared memory, or puts there. */
int prepare_meet(const TileBlock *region, Layout layout);
/* Whether it brings tiles into shared memory: a load, or what prepares one. */
bool prepare_brings(const TileOp *op);

#endif
