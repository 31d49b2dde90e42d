/* tune_shapes.h: --bind with lists: "q_len=1k,4k" is two shapes. */
#ifndef TW_TUNE_SHAPES_H
#define TW_TUNE_SHAPES_H

#include "cli/launch.h"

typedef struct TuneShape {
    const char **binds;  /* NAME=VALUE, as given for this shape */
    int n_binds;
    LaunchShape shape;   /* complete */
} TuneShape;

typedef VEC(TuneShape) TuneShapes;

/* Lists are taken side by side, so all have one length. False: a usage error was printed. */
bool tune_shapes(Session *s, TuneShapes *shapes);

#endif
