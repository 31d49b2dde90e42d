/* issue.h: see issue.c. */
#ifndef TW_ISSUE_H
#define TW_ISSUE_H

#include "pass/rewrite.h"

/* Whether there are so many warpgroups, with few registers each, that one rather waits for
 * all of its products before it goes on: the others keep the tensor cores busy. */
bool issue_closely(const TileKernel *kernel);
void issue_products(TileProgram *program, TileKernel *kernel);

#endif
