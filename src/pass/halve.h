#ifndef TW_PASS_HALVE_H
#define TW_PASS_HALVE_H

#include "tile/tile.h"

/* Of those that compute: where a mask leaves nothing of the second half of the tile in a
 * loop's last iteration, that is done at half the width (schedule parameter `last`), if the lane's registers are enough. */
void halve_last(TileProgram *program, TileKernel *kernel, TileBlock *block, int registers, Diags *diags);

#endif
