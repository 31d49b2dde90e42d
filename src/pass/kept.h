/* kept.h: see kept.c. */
#ifndef TW_KEPT_H
#define TW_KEPT_H

#include "tile/tile.h"

/* Indices that are the greater or lesser of two become the one that masks keep. */
void kept_indices(TileProgram *program, TileKernel *kernel);

#endif
