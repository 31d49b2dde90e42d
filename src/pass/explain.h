/* explain.h: see explain.c. */
#ifndef TW_PASS_EXPLAIN_H
#define TW_PASS_EXPLAIN_H

#include "base/why.h"
#include "target/target.h"
#include "tile/tile.h"

/* Adds what the passes chose for a kernel that went through all of them, in the order of the pipeline. */
void pass_explain(const TileProgram *program, const TileKernel *kernel, const Target *target, WhyList *list);

#endif
