/* integer.h: elements that are integers, in registers as fp32; see integer.c. */
#ifndef TW_PTX_INTEGER_H
#define TW_PTX_INTEGER_H

#include "ptx/emit.h"

bool in_is(DType t);
/* The element at "[address]" of global memory as an fp32 register; 0 where the guard is false. Returns what was read. */
const char *in_load(Emitter *e, DType t, const char *guard, const char *address, int reg);
/* Likewise as an integer into a register that is filled at a level: of 64 bits where it has them and is `wide`, else of
 * 32, the nearest where it has more. */
void in_load_integer(Emitter *e, int level, DType t, bool wide, const char *guard, const char *address, const char *d);
/* What in_load read as an integer of 32 bits, the nearest where it has more. */
const char *in_word(Emitter *e, DType t, const char *read);
/* fp32 as an integer, in a register of its width (of 32 bits where it has fewer); and stored. */
const char *in_from_f32(Emitter *e, DType t, const char *value);
void in_store(Emitter *e, DType t, const char *guard, const char *address, const char *value);
/* Registers with what in_from_f32 gives as fp32. */
void in_to_f32(Emitter *e, DType t, const char *word, int reg);
/* Neighbours in shared memory. */
void in_load_pair(Emitter *e, DType t, const char *address, int low, int high);
void in_store_pair(Emitter *e, DType t, const char *address, const char *low, const char *high);
/* n of them that lie one behind the other in registers of 32 bits, as fp32, and back. */
int *in_unpack(Emitter *e, DType t, const int *words, int n);
const char **in_pack(Emitter *e, DType t, const TileValue *v);

#endif
