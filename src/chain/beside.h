/* beside.h: what Kernels and the Operator beside them call the same things (for this folder only). */
#ifndef TW_CHAIN_BESIDE_H
#define TW_CHAIN_BESIDE_H

#include "chain/chain.h"

/* A dimension that a Kernel calls otherwise than the Operator. */
typedef struct SizeName {
    const char *own, *theirs; /* theirs NULL: there it is a number */
    int64_t number;
} SizeName;

typedef struct SizeNames {
    Arena *arena;
    VEC(SizeName) list;
} SizeNames;

/* Of the tensors that both have; what is not said clearly, or would take a name that means something else, is left out. */
SizeNames size_names(Arena *arena, const Unit *kernel, const Unit *definition);
/* A statement of the Operator as the Kernel would say it. */
Stmt *stmt_as_kernel(const SizeNames *names, const Stmt *s);
/* The Kernels with the names that the definition has for the sizes of their tensors. */
Program *kernels_as_defined(Arena *arena, const Program *kernels, const Unit *definition);

/* Whether statements give a name a meaning: as a dimension, a number, a tile, a counter. */
bool beside_gives(const Block *block, const char *name);

#endif
