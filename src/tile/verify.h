/* verify.h: the verifier's parts; for the files of this folder only.
 *
 *   verify.c      programs, kernels, blocks: structure, scopes, levels, storage
 *   verify_ops.c  one operation: types, coordinates, layouts
 *   verify_ring.c steps that roles make in a ring
 */
#ifndef TW_TILE_VERIFY_H
#define TW_TILE_VERIFY_H

#include "tile/tile.h"

typedef struct Verifier {
    const TileProgram *program;
    const TileKernel *kernel;
    Diags *diags;
    Arena *arena;
    const TileValue **defined; /* by value id; NULL: not yet */
    bool *in_scope;            /* by value id */
    VEC(int) scope;            /* ids in scope, innermost last */
    bool *symbol_known;        /* by symbol id */
    VEC(const AffSym *) symbols; /* those known, innermost last */
    const TileOp *owner;       /* whose region is being checked; NULL: the kernel's own block */
    bool in_roles, in_revise;
    bool alone;                /* not all blocks of a cluster come to what is being checked, once each */
    bool met;                  /* blocks of the cluster have met before: all of them have begun */
    int warps;                 /* that run what is being checked */
    int depth;
} Verifier;

/* Records a diagnostic that quotes the operation; returns false. */
bool verify_fail(Verifier *v, DiagCode code, const TileOp *op, const char *fmt, ...) TW_PRINTF(4, 5);

/* Types and attributes of an operation whose numbers of operands, results and
 * regions are right. */
bool verify_types(Verifier *v, const TileOp *op);
/* Layouts once TF_ASSIGNED holds. */
bool verify_layouts(Verifier *v, const TileOp *op);
/* Both sides of each ring make equally many steps. */
bool verify_rings(Verifier *v, const TileOp *roles);
bool verify_value_type(Verifier *v, const TileOp *op, const TileValue *value);
/* The types are equal, up to this: a finished value may stand for a pending one,
 * which is then waited for in vain. */
bool verify_may_stand_for(TileType have, TileType want);
/* "fp32<64x64>", for messages */
const char *verify_type_text(Verifier *v, TileType type);

#endif
