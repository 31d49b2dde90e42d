/* cuts.h: how the statements of a kernel cut dimensions into tiles (for this folder only).
 *
 *   Copy K (BN, D) in coordinate [len = j] from global to shared     len: tiles of BN, the j-th
 *   for j = 0:ceil(len / BN)
 *
 * What lacks a size or a coordinate along a dimension gets what the others have. */
#ifndef TW_SUGGEST_CUTS_H
#define TW_SUGGEST_CUTS_H

#include "suggest/proposal.h"

typedef struct Cut {
    const char *dim;   /* as declared */
    const char *size;  /* of a tile along it; NULL: unknown */
    const char *coord; /* NULL: unknown */
} Cut;

typedef struct Cuts {
    Suggester *s;
    VEC(Cut) list;
    VEC(const Stmt *) tensors;   /* Input, Output */
    VEC(const Stmt *) allocated; /* Allocate */
} Cuts;

Cuts cuts_of(Suggester *s);
Cut *cut_of(Cuts *cuts, const char *dim); /* made where there is none */
const Stmt *cuts_tensor(const Cuts *cuts, const char *name); /* the Input or Output; NULL: none */
/* The tensor that has a value's shape, as what arithmetic makes of it element by element; NULL: none is known. */
const Stmt *cuts_shaped_as(const Cuts *cuts, const char *name, int depth);
const Stmt *cuts_tile(const Cuts *cuts, const char *name, Space space); /* its Allocate; NULL: none */
const char *suggest_expr(Suggester *s, const Expr *e); /* as text */

#endif
