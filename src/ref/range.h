/* range.h: which integers make sense as the elements of an input. */
#ifndef TW_REF_RANGE_H
#define TW_REF_RANGE_H

#include "ref/def.h"

/* The largest one, over dimensions, where the definition compares the elements
 * with positions or uses them as such; NULL: nothing says. */
const Aff *range_most(const Def *def, const DefValue *value);

#endif
