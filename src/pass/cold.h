/* cold.h: see cold.c. */
#ifndef TW_COLD_H
#define TW_COLD_H

#include "tile/tile.h"

void cold_sink(TileProgram *program, TileKernel *kernel, TileBlock *block);

#endif
