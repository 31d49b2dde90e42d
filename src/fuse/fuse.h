/* fuse.h: stage 1a, from a definition to a sketch, by rules.
 *
 * The sketch is a Kernel unit without sizes and coordinates: what is copied
 * where, what is computed, which loop streams which dimension. See
 * docs/architecture.md for the rules; none of them knows an operator.
 */
#ifndef TW_FUSE_H
#define TW_FUSE_H

#include "ref/def.h"

/* Returns a program with one Kernel unit (or several), or NULL with diagnostics
 * (TW05xx) that say what stopped the fuser. */
Program *fuse(Arena *arena, Syms *syms, const Def *def, Diags *diags);

#endif
