/* sink.h: see sink.c. */
#ifndef TW_SINK_H
#define TW_SINK_H

#include "tile/tile.h"

/* Moves what is made of columns behind the choice block[at], of two regions, into it. */
void sink_columns(TileProgram *program, TileKernel *kernel, TileBlock *block, int at);

#endif
