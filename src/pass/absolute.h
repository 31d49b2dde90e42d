/* absolute.h: see absolute.c. */
#ifndef TW_ABSOLUTE_H
#define TW_ABSOLUTE_H

#include "tile/tile.h"

/* Before softmaxes are expanded. What it makes needless is left to rw_remove_dead. */
void absolute_open(TileProgram *program, TileKernel *kernel);

#endif
