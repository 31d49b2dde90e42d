/* ends.h: conditions of masks that read tensors (ends.c), as what finds a loop's turns beforehand looks at them. */
#ifndef TW_ENDS_H
#define TW_ENDS_H

#include "tile/tile.h"

/* The condition of a choice `where data, x, number` that reads a tensor; NULL: it is no such choice. */
const Aff *ends_data(TileProgram *program, const TileOp *op);
/* What the masks keep that the choice's elements went through, which leave the same number. */
const Aff *ends_places(AffCtx *aff, const TileOp *choice);
/* Whether a launch knows it beforehand, but for elements of tensors. */
bool ends_is_known(const Aff *a);

#endif
