/* fetch.h: see fetch.c. */
#ifndef TW_FETCH_H
#define TW_FETCH_H

#include "tile/tile.h"

void fetch_early(TileProgram *program, TileKernel *kernel);

#endif
