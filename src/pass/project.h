/* project.h: conditions without the symbols that go through ranges, as the rows and columns of a tile. */
#ifndef TW_PROJECT_H
#define TW_PROJECT_H

#include "tile/tile.h"

typedef struct Range {
    const AffSym *sym;
    const Aff *lo, *hi; /* inclusive */
} Range;

typedef struct Projection {
    AffCtx *aff;
    const Range *ranges;
    int n;
} Projection;

/* some: a condition without those symbols that holds at least where cond holds for some values in their ranges. Otherwise: one that
 * holds at most where it holds for all. */
const Aff *project(const Projection *x, const Aff *cond, bool some);
/* Likewise over the elements of a tile. */
const Aff *project_tile(TileProgram *program, const Aff *cond, int rows, int cols, bool some);
/* A term of one of these kinds (bits of AffKind) within a sum, with `of` in it if that is not NULL, and how many times it is there;
 * NULL: there is none. */
const Aff *project_term(const Aff *sum, unsigned kinds, const AffSym *of, int64_t *times);

#endif
