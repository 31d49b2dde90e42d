/* leave.h: see leave.c. */
#ifndef TW_LEAVE_H
#define TW_LEAVE_H

#include "pass/rewrite.h"

/* Integers that kernels ahead leave for the blocks of another. */
typedef struct Leaving {
    TileProgram *program;
    TileKernel *kernel;         /* for which */
    Span loc;                   /* of the loop that they are for */
    VEC(const TileAxis *) axes; /* of its grid, that decide on them */
} Leaving;

/* Turns, and the one behind the last, are up to so many: elements of that many tiles are numbers of 32 bits. */
enum { LEAVE_MOST_TURNS = 1 << 22 };

/* Finds the axes that decide: those that are in one of the expressions. Says by how many blocks what is left is shared:
 * those of other places along the other axes, 0 for a number that only the launch knows. */
int64_t leave_find_axes(Leaving *l, const Aff *const *of, int n);
/* A workspace of integers, for each place along the axes: one, or a row of so many (NULL: one). */
TileTensor *leave_workspace(Leaving *l, const char *name, const Aff *row);
/* The row's element there, or the only one (NULL). */
const Aff **leave_coords(const Leaving *l, const TileTensor *t, const Aff *at);
/* A kernel that is launched before, a block for each place along the axes. */
TileKernel *leave_kernel(Leaving *l, const char *name, int warps);
/* In a kernel ahead: integers of a tile, which lie along the row from there on (NULL: a single one). */
void leave(Leaving *l, Rewriter *rw, TileValue *v, TileTensor *to, const Aff *at);
/* In the kernel: the only integer, from `least` to `most`. */
const Aff *leave_read(Leaving *l, Rewriter *rw, TileTensor *from, int64_t least, int64_t most);

/* Values of an expression, in fp32; those as integers; one as a symbol. */
TileValue *leave_index(Rewriter *rw, const Aff *index, int rows, int cols);
TileValue *leave_integers(Rewriter *rw, TileValue *v);
void leave_scalar(Rewriter *rw, TileValue *v, const AffSym *sym);

#endif
