/* ptx.h: fully scheduled tile IR to PTX text. */
#ifndef TW_PTX_H
#define TW_PTX_H

#include "abi/abi.h"

/* Emits all kernels, in the variants that the ABI names. False when diagnostics
 * were recorded (TW08xx). */
bool ptx_emit(Str *out, const TileProgram *program, const Abi *abi, const Target *target, Diags *diags);

#endif
