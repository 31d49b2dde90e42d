/* launched.h: dimensions of those launches in which a kernel has blocks. */
#ifndef TW_LAUNCHED_H
#define TW_LAUNCHED_H

#include "tile/tile.h"

/* The expression with dimensions of which the kernel's grid says how large they are at most, wherever a block runs:
 * other symbols of the same names. For questions (aff_always), not for programs. */
const Aff *launched(TileProgram *program, const TileKernel *kernel, const Aff *a);

#endif
