/* contest.h: a kernel that somebody else wrote, on the GPU of this machine: whether it is right,
 * and how long it takes beside the built-in stages' kernel for the same definition.
 *
 * Both run in a process of its own, which a hang or a crash ends, and are timed as if they
 * were out to deceive (src/gpu/honest.h).
 */
#ifndef TW_CONTEST_H
#define TW_CONTEST_H

#include "chain/launch.h"
#include "cli/cli.h"
#include "flow/flow.h"

/* Looks for a GPU, in a process of its own. */
bool contest_has_gpu(Session *s);

typedef struct Contest {
    Session *s;
    Arena *arena;
    Chain *theirs;      /* definition and launch ABI */
    const char *ptx;
    Chain *built_in;    /* its kernel; NULL: they write none, and nobody is beside */
    LaunchShape shape;
    bool quick;         /* verified on a few small shapes alone; at this one, while it is timed */
} Contest;

/* The kernel that the built-in stages make of the chain's definition; NULL: none. */
Chain *contest_built_in(Arena *arena, const Chain *like);
/* A shape for timing: dimensions that tiles cut are large, others few. What --bind says counts. False:
 * it says what no launch can have; a usage error was printed. */
bool contest_shape(Contest *contest);
/* Runs it. verdict: NONE where this GPU cannot run kernels for the target. */
FlowMeasured contest_run(Contest *contest);

#endif
