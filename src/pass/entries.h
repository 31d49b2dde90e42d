/* entries.h: loops over entries in turns side by side; see entries.c. */
#ifndef TW_PASS_ENTRIES_H
#define TW_PASS_ENTRIES_H

#include "pass/rewrite.h"

/* Asks for it (TileOp.unroll) in the loops of a block, where so many turns are known. */
void spread_entries(const TileKernel *kernel, const TileBlock *block);

#endif
