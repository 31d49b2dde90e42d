/* race.h: see race.c. */
#ifndef TW_TUNE_RACE_H
#define TW_TUNE_RACE_H

#include "tune/tune.h"

typedef struct Race {
    Arena *arena;
    const TuneDevice *device;
    const TuneOptions *options;
    double until;  /* when it ends, unless `least` rounds are not done yet */
    int least, most; /* rounds; most 0: any number */
    bool drop;     /* who is far behind leaves */
    TuneVariant *keep; /* stays, however slow; NULL: none */
} Race;

/* Times variants; each gets its median and its fate. False: nothing could be timed. */
bool race_run(const Race *race, TuneVariant **variants, int n, const char **problem);

#endif
