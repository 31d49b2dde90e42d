/* ahead.h: columns of numbers that a loop reads from memory, a turn ahead. */
#ifndef TW_AHEAD_H
#define TW_AHEAD_H

#include "pass/rewrite.h"

void fetch_ahead(TileProgram *program, TileKernel *kernel, TileBlock *block);

#endif
