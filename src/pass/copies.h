/* copies.h: operations again, with other operands and at other counters. */
#ifndef TW_COPIES_H
#define TW_COPIES_H

#include "pass/rewrite.h"

typedef struct Copier {
    TileProgram *program;
    TileKernel *kernel;
    TileValue **values; /* by id of what is copied: what stands for it; NULL: itself */
    int n_values;
    const AffSym *sym;  /* in all expressions becomes `by`; NULL: none */
    const Aff *by;
} Copier;

Copier copier_new(TileProgram *program, TileKernel *kernel, const AffSym *sym, const Aff *by);
void copier_map(Copier *c, const TileValue *from, TileValue *to);
TileValue *copied(const Copier *c, TileValue *v);
/* Appends copies of ops [begin, end), regions included; their results are mapped. */
void copy_ops(Copier *c, const TileBlock *from, int begin, int end, TileBlock *to);

#endif
