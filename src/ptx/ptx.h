/* ptx.h: fully scheduled tile IR to PTX text. */
#ifndef TW_PTX_H
#define TW_PTX_H

#include "abi/abi.h"

/* Emits all kernels, in the variants that the ABI names. False when diagnostics
 * were recorded (TW08xx). */
bool ptx_emit(Str *out, TileProgram *program, const Abi *abi, const Target *target, Diags *diags);

/* What the entry for any alignment is emitted from: the kernel's `plain`, one whose lanes have their elements side by
 * side (side.c), which sums in another order, or the kernel itself. */
const TileKernel *ptx_kernel_for_any(TileProgram *program, const TileKernel *kernel);

#endif
