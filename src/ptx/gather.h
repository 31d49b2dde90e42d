/* gather.h: where elements at computed places lie; see gather.c. */
#ifndef TW_PTX_GATHER_H
#define TW_PTX_GATHER_H

#include "ptx/emit.h"
#include "ptx/global.h"
#include "ptx/integer.h"

typedef struct Gather {
    const TileOp *op;
    const Aff **first;   /* coordinates of the lane's first value, along a row without their constant, */
    const char *address; /* and of what lies there: parts of a tile have it in common */
} Gather;

/* Addresses that values have been loaded from. */
typedef struct Bases {
    Gather base[4];
    int n;
} Bases;

/* "[address + steps]" of the element at coords of op's tensor, from one of the bases that is constants away, as in the same
 * row, or from one more. */
const char *ga_address(Emitter *e, const TileOp *op, Bases *b, const Aff **coords);
const Aff *ga_inside(Emitter *e, const TileOp *op, const Aff **coords);
/* "@%p ", or nothing where it is proved. Of one for each of many elements no predicate is kept. */
const char *ga_guard_here(Emitter *e, const Aff *inside);

/* beside.c: loads the elements of a gather, and those that come with them, if some lie beside each other. False: none do. */
bool bs_gather(Emitter *e, const TileOp *op);
bool bs_has_come(Emitter *e, const TileOp *op); /* with those of one before */

#endif
