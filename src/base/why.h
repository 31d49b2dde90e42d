/* why.h: what was chosen, and why, for people to read. */
#ifndef TW_BASE_WHY_H
#define TW_BASE_WHY_H

#include "base/base.h"

typedef struct Why {
    const char *name, *value, *why; /* why: a sentence; NULL: it goes without saying */
} Why;

typedef VEC(Why) WhyList;

#endif
