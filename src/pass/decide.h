/* decide.h: see decide.c. */
#ifndef TW_DECIDE_H
#define TW_DECIDE_H

#include "tile/tile.h"

#define DECIDE(value) (1ull << (value))

/* What a schedule parameter is for a kernel: what its schedule asks for if that is
 * `possible` (DECIDE bits), else `best`. Asking for what is not possible was recorded as
 * a diagnostic, except of a kernel for any alignment, which then does what it can. why:
 * a sentence on `best`, for pass_explain. */
SchedValue pass_decide(TileKernel *kernel, SchedId id, SchedValue best, uint64_t possible, const char *why, Diags *diags);
/* Whether every parameter that a kernel asks for was there to be decided. */
bool pass_decided_all(const TileProgram *program, Diags *diags);

#endif
