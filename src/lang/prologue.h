/* prologue.h: what is written out before it is checked and lowered: what fills the first stages of a ring, loops over parts of
 * tiles, and names that are given a value again. */
#ifndef TW_PROLOGUE_H
#define TW_PROLOGUE_H

#include "affine/aff.h"
#include "lang/lang.h"

/* The program with Copies one by one in place of loops, and of conditions in front of a loop, that do nothing
 * but fill stages; the program itself, where there are none. */
const Program *prologue_write_out(Arena *arena, AffCtx *aff, const Program *program, LangSetting *setting, const void *settings);
/* Likewise with names of their own for what loops and branches give names that have a value: again.c. */
const Program *again_write_out(Arena *arena, const Program *program);
/* Likewise with the turns of loops whose counter says which part of a tile is meant, where there are few: turns.c. */
const Program *turns_write_out(Arena *arena, AffCtx *aff, const Program *program, LangSetting *setting, const void *settings);

#endif
