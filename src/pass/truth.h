/* truth.h: see truth.c. */
#ifndef TW_TRUTH_H
#define TW_TRUTH_H

#include "tile/tile.h"

/* The condition on an element's place, and on elements of tensors, under which a value is not 0; NULL: that cannot be said. */
const Aff *truth_of(TileProgram *program, const TileValue *v);

#endif
