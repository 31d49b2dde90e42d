/* operands.h: see operands.c. */
#ifndef TW_OPERANDS_H
#define TW_OPERANDS_H

#include "pass/rewrite.h"

/* Whether they do is a choice (schedule.def, OPERANDS). */
void operands_to_registers(TileProgram *program, TileKernel *kernel, Diags *diags);

#endif
