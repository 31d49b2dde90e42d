/* sweep.h: the shapes that one benchmark runs over: NAME=VALUE words whose
 * values may be lists.
 *
 *   batch=1 q_len=512,1k kv_len=512,1k   ->   batch=1 q_len=512 kv_len=512
 *                                             batch=1 q_len=1024 kv_len=1024
 */
#ifndef TW_SWEEP_H
#define TW_SWEEP_H

#include "cli/cli.h"

enum { SWEEP_MOST = 256 };

typedef struct SweepPoint {
    VEC(const char *) words; /* NAME=VALUE, one value each */
    double x;                /* of the axis; without one 0 */
} SweepPoint;

typedef struct Sweep {
    const char *axis; /* the name that has the first list; NULL: none has one */
    VEC(SweepPoint) points;
} Sweep;

/* False: a usage error was printed. */
bool sweep_parse(Session *s, const char *const *words, int n, Sweep *sweep);

#endif
