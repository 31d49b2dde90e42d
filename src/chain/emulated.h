/* emulated.h: the emulator as the host of a launch, for those who run PTX in it.
 *
 * The emulator knows nothing of launch ABIs; this is where the two meet. There
 * are few multiprocessors, so that each persistent block has several places to take.
 */
#ifndef TW_EMULATED_H
#define TW_EMULATED_H

#include "abi/abi.h"
#include "emu/emu.h"

typedef struct Emulated {
    AbiHost host;
    int n;
    uint32_t *words; /* the counters */
} Emulated;

/* Adds the counters of the program's kernels to the emulated memory. */
Emulated *emulated_host(Arena *arena, const Abi *abi, EmuMemory *memory);
/* Whether every counter is 0 again, as the next launch must find it. */
bool emulated_at_rest(const Emulated *e);

#endif
