/* modes.h: the ways in which a host may launch a program. */
#ifndef TW_GPU_MODES_H
#define TW_GPU_MODES_H

#include "gpu/stand.h"

typedef struct Mode {
    const char *name; /* "as a CUDA graph" */
    /* Starts the program so that `stand`'s outputs are written once. */
    bool (*run)(Stand *stand);
} Mode;

/* Ended by a row without a name. The first is the plainest. */
const Mode *modes_all(void);

#endif
