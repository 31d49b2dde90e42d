/* why.h: the reasoner's choices, as a table and as JSON. */
#ifndef TW_WHY_H
#define TW_WHY_H

#include "reason/reason.h"

void why_print(Str *out, const ReasonResult *result);
void why_json(Str *out, const ReasonResult *result); /* an array of parameters */

#endif
