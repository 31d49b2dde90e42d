/* settle.h: see settle.c. */
#ifndef TW_SETTLE_H
#define TW_SETTLE_H

#include "tile/tile.h"

/* Replaces the REVISE at `at` by its values or by its region, if it is known which they
 * are; false: it is not. */
bool settle_revised(TileProgram *program, TileBlock *block, int at);

#endif
