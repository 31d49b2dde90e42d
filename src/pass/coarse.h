/* coarse.h: functions in fewer instructions, where their results are rounded at once. */
#ifndef TW_COARSE_H
#define TW_COARSE_H

#include "tile/tile.h"

/* In a kernel that is specialized: Sigmoid by polynomial where nothing sees it but as a
 * number of 16 bits or fewer. */
void coarse_open(TileProgram *program, TileKernel *kernel);

#endif
