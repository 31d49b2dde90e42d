/* meet.h: the warps of a row combine what each has reduced, those of several blocks as well. */
#ifndef TW_PTX_MEET_H
#define TW_PTX_MEET_H

#include "ptx/emit.h"

/* Lanes that share a row lie side by side: so many of them. */
int me_lanes_of_row(const Layout *layout);
/* Regs: a number a row of this lane, the same in all of a row's lanes; then that of all warps. */
void me_reduce(Emitter *e, const TileOp *op, int *regs, int n);
/* At the begin of a kernel whose blocks are clusters: what others will send is expected, and this block has begun. */
void me_open(Emitter *e);
/* All blocks of the cluster have. */
void me_wait_for_all(Emitter *e);

#endif
