/* proof.h: verification as the tool does it by default, on the CPU: the shape
 * that `tw verify` asks for when nothing is said, with every content of the
 * inputs; then its other shapes, round the boundaries of tiles and empty. The
 * scheduled program is executed and compared by ref_compare.
 */
#ifndef TW_TESTS_PROOF_H
#define TW_TESTS_PROOF_H

#include "chain/chain.h"

/* NULL, or how the program that `chain` compiled differs from `def`. */
const char *proof_failure(Arena *arena, const Chain *chain, const Def *def);

/* The same of the PTX in the emulator, on a few shapes, with differences of
 * rounding left aside: NULL, or what it does that the definition does not. */
const char *proof_ptx_failure(Arena *arena, const Chain *chain, const Def *def);

#endif
