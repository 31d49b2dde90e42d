/* trial.h: one small shape of those that a program is tried at, and what is wrong there. */
#ifndef TW_FLOW_TRIAL_H
#define TW_FLOW_TRIAL_H

#include "chain/small.h"
#include "emu/emu.h"
#include "flow/flow.h"

typedef struct FlowTrial {
    Small on;
    Diags *diags;
    Span where;
    double unlike;           /* how much its counts are unlike each other */
    const EmuModule *module; /* what is executed; NULL: chain->tile */
    const Source *ptx;       /* its text */
} FlowTrial;

/* emulate.c: how PTX is launched. False: a diagnostic was recorded. */
typedef enum TrialWay { TRIAL_ALIGNED, TRIAL_UNALIGNED, TRIAL_WAYS } TrialWay;
bool trial_emulate(FlowTrial *t, TrialWay way);

#endif
