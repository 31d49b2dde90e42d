/* why.h: what was chosen and why, as a table and as JSON. */
#ifndef TW_WHY_H
#define TW_WHY_H

#include "chain/chain.h"

/* What the reasoner chose; what it was chosen from. */
void why_print(Str *out, const ReasonResult *result);
void why_json(Str *out, const ReasonResult *result); /* an array of parameters */

/* What the passes chose, a kernel after the other; nothing where the chain has not gone through them. */
void why_print_passes(Str *out, const Chain *chain);
void why_json_passes(Str *out, const Chain *chain);

#endif
