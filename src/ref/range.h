/* range.h: which integers make sense as the elements of an input. */
#ifndef TW_REF_RANGE_H
#define TW_REF_RANGE_H

#include "ref/def.h"

/* Over dimensions, where the definition compares the elements with positions, divides
 * positions by them or uses them as such; most is NULL where nothing says. */
typedef struct Range {
    int least;
    const Aff *most;
} Range;

Range range_of_input(const Def *def, const DefValue *value);

#endif
