/* sketched.h: what would be said of a sketch's code, said of the sketch. */
#ifndef TW_SKETCHED_H
#define TW_SKETCHED_H

#include "lang/lang.h"
#include "ref/def.h"
#include "target/target.h"

/* Whether its code is right as far as that can be told; else it is said where in the sketch. */
bool sketch_check_code(Arena *arena, Syms *syms, const Program *sketch, const Target *target, Settings *settings, Diags *diags);
/* The size without which the reasoner does not go on; NULL: it is another mistake. */
const char *sketch_asked_size(Arena *arena, const Diag *diag);

#endif
