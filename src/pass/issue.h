/* issue.h: see issue.c. */
#ifndef TW_ISSUE_H
#define TW_ISSUE_H

#include "pass/rewrite.h"

/* Whether there are so many warpgroups, with few registers each, that one rather waits for
 * all of its products before it goes on: the others keep the tensor cores busy. */
bool issue_closely(const TileKernel *kernel);
/* A loop's body that does nothing but sum products of loaded tiles: the next product may
 * start while the last one is under way, if the first stands before the loop (rotate.c). */
bool issue_only_sums(const TileBlock *body);
/* Registers a lane of what a turn of the loop has at once: what it carries, the product that waits for its
 * arithmetic, and the operand that is made of that while products still read the last one. */
int issue_registers(const TileBlock *turn);
void issue_products(TileProgram *program, TileKernel *kernel, Diags *diags);

#endif
