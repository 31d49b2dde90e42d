/* weight.h: see weight.c. */
#ifndef TW_WEIGHT_H
#define TW_WEIGHT_H

#include "tile/tile.h"

/* Which results of a loop are kept in units of exp(m), and what is shown of them. */
typedef struct Weighing {
    int m, l;                /* positions among the loop's results: the reference, the sum */
    const int *accumulators; /* likewise; kept in the same units as l */
    int n_accumulators;
    bool unchanged;          /* out: nothing that the kernel stores changes with m */
    bool sum_alone;          /* out: something shows l other than under an accumulator */
    bool powers;             /* out: something is made of them that grows faster than they do */
} Weighing;

void weigh_results(Arena *arena, const TileKernel *kernel, const TileOp *loop, Weighing *w);

#endif
