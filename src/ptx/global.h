/* global.h: addresses in global memory; see global.c. */
#ifndef TW_PTX_GLOBAL_H
#define TW_PTX_GLOBAL_H

#include "ptx/emit.h"

/* Register with start (NULL: the tensor's base) plus the corner's offset; start
 * is known at start_level, the result at *level. */
const char *gl_corner(Emitter *e, const TileOp *op, const char *start, int start_level, int *level);
/* Bytes from one element to the next along dimension d, as an operand. */
const char *gl_step(Emitter *e, const TileTensor *t, int d);
bool gl_columns_contiguous(const TileOp *op);
/* Whether the corner is inside along the dimensions that the tile does not span. */
const Aff *gl_corner_inside(Emitter *e, const TileOp *op);
/* Whether the element at offset x from the corner is inside along d, where the
 * tile spans `extent`; the constant 1 where that is proved. */
const Aff *gl_offset_inside(Emitter *e, const TileOp *op, int d, const Aff *x, int extent);
/* The operation's own condition for the element at (row, col) of the tile; 1: none. */
const Aff *gl_where(Emitter *e, const TileOp *op, const Aff *row, const Aff *col);

#endif
