/* listed.h: see listed.c. */
#ifndef TW_LISTED_H
#define TW_LISTED_H

#include "pass/leave.h"

/* Elements of a tile along a side, of which so many neighbours are alike to a condition: as it is for one of each cell, it is for
 * all. */
typedef struct Cells {
    int n, width, extent;
} Cells;

typedef struct Listing {
    Leaving left;
    TileOp *loop;
    const TileOp *choice;     /* where data, x, number */
    const Aff *data, *places; /* what keeps elements, and of which turns masks on places do */
    const Aff *lo, *hi;       /* the turns that they leave, */
    int more;                 /* and the axis of the grid along which there are more; -1: none */
    const Aff *most;          /* so many turns at most, for any block */
    Cells rows, cols;         /* to look at in a turn */
    int64_t sharers;          /* blocks that have a list in common; 0: only the launch knows */
    bool is_table;            /* a tensor is read by rows and columns together */
} Listing;

/* Whether the loop's turns can be listed, and there is reason to look: a table decides on them, or it was asked for. */
bool listed_find(Listing *x, TileProgram *program, TileKernel *kernel, TileOp *loop);
/* Whether to look at all cells takes little beside the turns' products. */
bool listed_is_cheap(const Listing *x);
/* Has a kernel ahead list the turns, and the loop go over the list. */
void listed_make(Listing *x);

#endif
