/* issue.h: see issue.c. */
#ifndef TW_ISSUE_H
#define TW_ISSUE_H

#include "pass/rewrite.h"

void issue_products(TileProgram *program, TileKernel *kernel);

#endif
