/* trial.h: one small shape, with inputs and outputs: what is executed and compared on it. */
#ifndef TW_FLOW_TRIAL_H
#define TW_FLOW_TRIAL_H

#include "chain/launch.h"
#include "emu/emu.h"
#include "flow/flow.h"

typedef struct Trial {
    Chain *chain;
    Arena *arena; /* of this shape */
    const FlowTrial *options;
    Diags *diags;
    Span where;
    LaunchShape shape;
    double unlike; /* how much its counts are unlike each other */
    Tensor **inputs, **outputs;
    FillKind fill;           /* of the inputs */
    const EmuModule *module; /* what is executed; NULL: chain->tile */
    const Source *ptx;       /* its text */
} Trial;

/* The tensor of the definition; NULL: it has none of that name. */
Tensor *trial_find(const Trial *t, const char *name);

/* emulate.c: how PTX is launched. False: a diagnostic was recorded. */
typedef enum TrialWay { TRIAL_ALIGNED, TRIAL_UNALIGNED, TRIAL_WAYS } TrialWay;
bool trial_emulate(Trial *t, TrialWay way);

#endif
