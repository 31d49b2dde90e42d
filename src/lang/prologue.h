/* prologue.h: loops written out: what fills the first stages of a ring, and those over parts of tiles. */
#ifndef TW_PROLOGUE_H
#define TW_PROLOGUE_H

#include "affine/aff.h"
#include "lang/lang.h"

/* The program with Copies one by one in place of the loops and conditions in front of a loop that do nothing
 * but fill stages; the program itself, where there are none. */
const Program *prologue_write_out(Arena *arena, AffCtx *aff, const Program *program);
/* Likewise with the turns of loops whose counter says which part of a tile is meant, where there are few: turns.c. */
const Program *turns_write_out(Arena *arena, AffCtx *aff, const Program *program, LangSetting *setting, const void *settings);

#endif
