/* cluster.h: blocks that go over a row's turns together (Schedule, `cluster`). */
#ifndef TW_CLUSTER_H
#define TW_CLUSTER_H

#include "pass/passes.h"
#include "pass/rewrite.h"

/* Blocks of a cluster that are asked for, on this target. */
int cluster_wanted(const TileKernel *kernel, const Target *target);

#endif
