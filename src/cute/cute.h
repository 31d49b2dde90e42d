/* cute.h: tile IR at the sequential level as CuTe C++, which nvcc compiles over the
 * CUTLASS headers and tilewright_cute.cuh.
 *
 *   %s = gemm %q, %k.T : fp32<128x64>      // Compute GEMM Q, K.T and get S
 *                                          auto S = tw::tile<Place, float, 128, 64>();
 *                                          clear(S);
 *                                          tw::gemm<Place>(Q, K[stage].transposed(), S);
 *
 * The file has the launch ABI in its first lines and the entries of our own PTX, so
 * that what nvcc makes of it is launched, verified and timed like that.
 */
#ifndef TW_CUTE_H
#define TW_CUTE_H

#include "abi/abi.h"

/* Gives every kernel what a launch must know, its shared memory above all, and says
 * how it is launched. The program went through pass_run_sequential. NULL: diagnostics
 * were recorded. */
Abi *cute_plan(Arena *arena, TileProgram *program, const Target *target, Diags *diags);
/* The C++ of a program that was planned. False: diagnostics were recorded. */
bool cute_emit(Str *out, const TileProgram *program, const Abi *abi, const Target *target, Diags *diags);

/* ---- blocks that somebody else writes ----------------------------------------------------
 *
 * Of a kernel NAME the function NAME_block is his, under a comment that says how much shared
 * memory it takes; the entries, which call it, are ours, and so is the launch ABI. */
#define CUTE_SHARED_NOTE "// shared memory of %s_block: "

/* The ABI; shared_bytes: of each kernel (NULL: not known yet). No tensor maps. The program went
 * through pass_run_sequential. */
Abi *cute_frame(Arena *arena, TileProgram *program, const Target *target, const int64_t *shared_bytes);
void cute_emit_entries(Str *out, const TileProgram *program, const Abi *abi, const Target *target);
/* How a kernel's function begins, up to the coordinates of the block; its body and `}` follow. */
void cute_emit_head(Str *out, const TileProgram *program, int kernel, const Abi *abi, const Target *target);
/* Our own function under its comment: of a program that was planned. */
bool cute_emit_block(Str *out, const TileProgram *program, int kernel, const Abi *abi, const Target *target, Diags *diags);

/* include/tilewright_cute.cuh, as it was when this was built. */
extern const char cute_header[];
#define CUTE_HEADER_NAME "tilewright_cute.cuh"

#endif
