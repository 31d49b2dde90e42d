#ifndef TW_PASS_TURNS_H
#define TW_PASS_TURNS_H

#include "tile/tile.h"

/* Of those that compute: in loops in which arithmetic follows on all products, instances
 * start these one after the other (schedule parameter `turns`). */
void turns_take(TileProgram *program, TileKernel *kernel, TileBlock *block, Diags *diags);

#endif
