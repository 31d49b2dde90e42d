/* cells.h: elements of a tensor that lie beside each other; see cells.c. */
#ifndef TW_PTX_CELLS_H
#define TW_PTX_CELLS_H

#include "ptx/gather.h"

enum { ACCESS_WORDS = TILE_CHUNK / 4 };

typedef struct Cell {
    const Aff **line; /* coordinates, the last without its constant, */
    int64_t place;    /* which this is */
} Cell;

typedef struct Cells {
    const TileTensor *tensor;
    VEC(Cell) all;
} Cells;

/* Elements of a line that come at once: so many from this place on, which is a multiple of their number. */
typedef struct Access {
    int64_t first;
    int n;
    int lead; /* the first of the cells that it brings */
} Access;

void cl_add(Emitter *e, Cells *c, const Aff *const *coords);
void cl_add_values(Emitter *e, Cells *c, const TileOp *gather); /* those of the lane, in their order */
/* Whether the fewest accesses bring x with y. */
bool cl_may_meet(const Cells *c, const Cell *x, const Cell *y);
/* For each cell the access that brings it: the narrowest that has all that the widest would bring. */
Access *cl_accesses(Emitter *e, const Cells *c);
const Aff **cl_coords(Emitter *e, const Cells *c, const Cell *x, int64_t place); /* of a place on x's line */
int cl_words(const Cells *c, Access a);                 /* registers of 32 bits that it fills */
/* Loads them from "[address]"; 0 where the guard is false. What has 16 bits and comes alone is the lower half of its word. */
void cl_load(Emitter *e, const Cells *c, Access a, const char *guard, const char *address, const char *const *words);
void cl_take(Emitter *e, const Cells *c, Access a, const char *const *words, const Cell *x, int f); /* x as fp32 */

#endif
