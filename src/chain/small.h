/* small.h: a program executed on one small shape, and compared with its definition.
 *
 * What differs is told so that somebody who cannot see the numbers can use it: the first
 * wrong place, and within which part of the output all wrong elements lie.
 */
#ifndef TW_CHAIN_SMALL_H
#define TW_CHAIN_SMALL_H

#include "chain/chain.h"
#include "chain/launch.h"

typedef struct SmallOptions {
    uint64_t seed;
    double bound;          /* of the error, over that of a plain implementation */
    uint64_t instructions; /* of warps, in a launch of PTX; 0: as many as kernels on tiles need */
} SmallOptions;

typedef struct Small {
    Chain *chain; /* its def, and its tile where that is executed */
    Arena *arena; /* of this shape */
    const SmallOptions *options;
    LaunchShape shape;
    Tensor **inputs, **outputs;
    FillKind fill;
    double work; /* of the last run, in multiply-adds */
    bool some;   /* of a large shape: only some blocks are executed, and a few rows that they write compared */
} Small;

/* What is wrong with an output; text in the arena that it was asked for with. */
typedef struct SmallFinding {
    int output;
    int64_t wrong; /* elements */
    double worst;  /* the largest error, of the largest element; infinite: something is no number */
    double allowed; /* and the one up to which an element would be right */
    const char *message, *note;
    const char *error; /* not NULL: it could not be compared */
} SmallFinding;

/* Inputs and outputs of t->shape; false: the definition does not take it. */
bool small_make(Small *t, const char **error);
/* The tensor of the definition; NULL: it has none of that name. */
Tensor *small_find(const Small *t, const char *name);
/* Whether a row of an output says by itself whether it was written: one kernel stores it whole, and no block adds to it. */
bool small_may_run_some(const Chain *chain);
/* Executes t->chain->tile; most: work, in multiply-adds; most_steps: operations, 0: any number. */
bool small_run(Small *t, double most, int64_t most_steps, const char **error);
/* Whether all outputs agree with the definition. */
bool small_agrees(Small *t, Arena *arena, SmallFinding *finding);

#endif
