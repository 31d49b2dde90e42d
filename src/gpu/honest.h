/* honest.h: timing programs that may be out to deceive who times them.
 *
 * A program that was not made here might remember what it computed, do its work only
 * while it is checked, or none at all. So each turn finds other inputs in every buffer and
 * poisoned outputs, launches each set once, and what it left is compared with the definition
 * in the same turn. Times come from events of the driver and the host's clock, which device
 * code does not reach, and one that the hardware cannot reach either is refused.
 */
#ifndef TW_GPU_HONEST_H
#define TW_GPU_HONEST_H

#include "gpu/stand.h"

typedef struct Suspect {
    Stand *sets;
    int n;
    StandSpec spec; /* of set 0; the others have other seeds */
    Rng rng;
    int late;       /* turns in a row */
} Suspect;

enum { HONEST_TRIES = 3 };

/* Makes further sets like sets[0], each with inputs of its own. *n: how many there are. */
bool honest_sets(Suspect *s, int wanted, const char **error);
/* Before a turn: inputs go round the sets, outputs and workspaces are poisoned. */
bool honest_prepare(Suspect *s);
/* Behind it: one of the sets, or all, against the definition. *problem: what was found. */
bool honest_check(Suspect *s, bool all, const char **problem);
/* Whether a launch can have taken so many milliseconds; NULL, or why not. */
const char *honest_time(const Suspect *s, double ms);
/* Whether the host can have waited so long for so many launches. It may have had other things to
 * do: s->late says how many turns in a row were late, of which HONEST_TRIES are too many. */
const char *honest_wait(Suspect *s, double ms, int launches, double host_ms);

#endif
