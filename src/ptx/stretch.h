/* stretch.h: a lane's values in global memory, one by one (copy.c) and in stretches
 * of neighbours (stretch.c). */
#ifndef TW_PTX_STRETCH_H
#define TW_PTX_STRETCH_H

#include "ptx/global.h"

/* Row and column of value i of a fragment, as expressions of this lane's. */
typedef struct Place {
    const Aff *row, *col;
    int row_step, col_step; /* from the lane's first */
} Place;

/* Register with corner + row * stride: kept for the row that was last asked for. */
typedef struct RowAddress {
    int row;
    const char *address;
} RowAddress;

Place cp_place(Emitter *e, const TileValue *v, int i);
/* Address of value (0, 0) of this lane; where rows lie as each says, without what that is. */
const char *cp_lane_corner(Emitter *e, const TileOp *op, const TileValue *v);
const char *cp_row_address(Emitter *e, const TileOp *op, const char *corner, const Place *place, RowAddress *last);
/* "[address + col * stride]" */
const char *cp_column_address(Emitter *e, const TileOp *op, const char *row, int col);
/* Whether the first and the last of so many columns are inside. */
const Aff *cp_inside(Emitter *e, const TileOp *op, const TileValue *v, const Place *p, int columns);
/* Whether stretches of a row are in or out as a whole, but for the tensor's end. */
bool cp_is_whole_chunks(Emitter *e, const TileOp *op);

/* quads.c */
bool qd_can(Emitter *e, const TileOp *op, const TileValue *v);
void qd_store(Emitter *e, const TileOp *op);

/* Whether a load's result, or a store's operand, moves in stretches. */
bool st_can(Emitter *e, const TileOp *op, const TileValue *v);
void st_load(Emitter *e, const TileOp *op);
void st_store(Emitter *e, const TileOp *op);
/* Whether a tile moves in chunks of 16 bytes from or to shared memory. */
bool st_in_shared(const TileValue *v, const SharedTile *tile);
void st_move(Emitter *e, const TileOp *op, const SharedTile *tile);
void st_put(Emitter *e, const TileOp *op, const SharedTile *tile);

#endif
