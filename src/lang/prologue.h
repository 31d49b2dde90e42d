/* prologue.h: what fills the first stages of a ring, written out. */
#ifndef TW_PROLOGUE_H
#define TW_PROLOGUE_H

#include "affine/aff.h"
#include "lang/lang.h"

/* The program with Copies one by one in place of the loops and conditions in front of a loop that do nothing
 * but fill stages; the program itself, where there are none. */
const Program *prologue_write_out(Arena *arena, AffCtx *aff, const Program *program);

#endif
