/* spare.h: kernels of which ptxas spills, chosen again. */
#ifndef TW_SPARE_H
#define TW_SPARE_H

#include "chain/chain.h"
#include "cli/ptxas.h"

typedef struct Spared {
    const char *settings; /* that are new: "spare=8"; NULL: none are */
    int spilled;          /* bytes that ptxas spilled without them, stores and loads, of all entries */
    bool serialised;      /* without them asynchronous products would wait for each other */
} Spared;

/* Where ptxas, which was started (ptxas_begin), spills registers of what the reasoner chose, or makes products wait,
 * puts another chain in place of *chain and its result in place of *ptxas, with more registers left to it, if those
 * have less of that. Nothing that was forced is changed. */
Spared spare_registers(Session *s, Chain **chain, Ptxas *ptxas);

#endif
