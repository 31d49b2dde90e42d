/* conditions.h: see conditions.c. */
#ifndef TW_CONDITIONS_H
#define TW_CONDITIONS_H

#include "tile/tile.h"

/* In loops with products, choices by conditions on places become masks. */
void conditions_to_masks(TileProgram *program, TileKernel *kernel, TileBlock *block);

#endif
