/* global.h: addresses in global memory; see global.c. */
#ifndef TW_PTX_GLOBAL_H
#define TW_PTX_GLOBAL_H

#include "ptx/emit.h"

/* Register with start (NULL: the tensor's base) plus the corner's offset, but along
 * dimension `without` (-1: along all); start is known at start_level, the result at *level. */
const char *gl_corner(Emitter *e, const TileOp *op, const char *start, int start_level, int without, int *level);
/* Bytes from one element to the next along dimension d, as an operand. */
const char *gl_step(Emitter *e, const TileTensor *t, int d);
bool gl_columns_contiguous(const TileOp *op);
/* Whether a coordinate along dimension d is inside. */
const Aff *gl_inside(Emitter *e, const TileTensor *t, int d, const Aff *coord);
/* Whether the corner is inside along the dimensions that the tile does not span. */
const Aff *gl_corner_inside(Emitter *e, const TileOp *op);
/* Whether the element at offset x from the corner is inside along d, where the
 * tile spans `extent`; the constant 1 where that is proved. */
const Aff *gl_offset_inside(Emitter *e, const TileOp *op, int d, const Aff *x, int extent);
/* The operation's own condition for the element at (row, col) of the tile; 1: none. */
const Aff *gl_where(Emitter *e, const TileOp *op, const Aff *row, const Aff *col);
/* An element of a tensor of integers, which an expression reads, into a register; 0 outside of the tensor. */
void gl_element(Emitter *e, int level, const Aff *element, const char *d);
/* "@%p ", or nothing where the condition is proved. */
const char *gl_guard(Emitter *e, const Aff *cond);
/* The element at "[address]" as an fp32 register; 0 where the guard is false. */
/* Returns an integer as it was read; NULL: it is none. */
const char *gl_load_value(Emitter *e, DType t, const char *guard, const char *address, int reg);
bool gl_known_type(Emitter *e, const TileOp *op, bool load); /* false: diagnosed */

#endif
