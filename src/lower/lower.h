/* lower.h: TL code to sequential tile IR. */
#ifndef TW_LOWER_H
#define TW_LOWER_H

#include "lang/lang.h"
#include "ref/def.h"
#include "tile/tile.h"

/* Lowers every Kernel unit of checked code. dtype: of tensors without one of
 * their own. NULL when diagnostics were recorded (TW07xx). */
TileProgram *lower(Arena *arena, Syms *syms, AffCtx *aff, const Program *code, const Settings *settings,
                   Diags *diags);

#endif
