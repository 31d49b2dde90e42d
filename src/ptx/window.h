/* window.h: rows that a window is moved over (pass/window.c), in the entry for any alignment. */
#ifndef TW_PTX_WINDOW_H
#define TW_PTX_WINDOW_H

#include "ptx/global.h"

/* Whether blocks are so large that two of them leave few registers. */
bool wn_is_large(const Emitter *e);
/* Whether ptxas is told how many blocks are to stand side by side: it keeps within what is left for each. */
bool wn_aims(const Emitter *e);
/* Reads how far behind a multiple of 16 bytes the block's row begins, if the kernel has a window. */
void wn_open(Emitter *e);
/* Whether the tile lies as the kernel's window does. */
bool wn_moves(const Emitter *e, const TileOp *op);
/* Whether copies into shared memory are asynchronous, of 16 bytes each: all that may be. */
bool wn_copies_at_once(const Emitter *e);
/* Predicate of whether the tile begins at a multiple of so many bytes, seen from an address in it; NULL: it does. */
const char *wn_begins(Emitter *e, const TileOp *op, const char *address, int bytes);
/* Whether some of so many columns, or all of them, from one of the tile's on, are the row's own. */
const Aff *wn_shows(Emitter *e, const TileOp *op, const Aff *column, int columns);
const Aff *wn_shows_all(Emitter *e, const TileOp *op, const Aff *column, int columns);

#endif
