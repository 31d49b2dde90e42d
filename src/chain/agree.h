/* agree.h: whether Kernels compute what the Operator beside them says, tried on a small shape. */
#ifndef TW_AGREE_H
#define TW_AGREE_H

#include "chain/small.h"

/* Where they do not: on other texts of the Kernels it is soon tried whether those do (witness.c). */
typedef struct Witness Witness;

/* Of a program that was checked and is right as far as that goes: TW0523 where its Kernels give something else than
 * its Operator; then, and only then, a witness in the arena. Silent where that cannot be told within the work that a check
 * may take; chain->executed says whether it was. */
Witness *agree_check(Arena *arena, Chain *chain, const Source *source, const Program *program);

/* The program as tile IR, in a chain of its own, so that nothing is left in the one at hand; of a sketch code with small tiles,
 * of some choices that one. NULL: something is missing. */
Chain *agree_chain_with(Arena *arena, const Chain *chain, const Source *source, int tiles);

/* The text with smaller tiles, of as many letters, where code assigns their sizes; NULL: there is none, or numbers elsewhere may be
 * one of them. */
const Source *narrow_tiles(Arena *arena, const Source *source);

/* What was found on a shape, in the arena of that. */
Witness *witness_new(const Chain *chain, const Small *on, const SmallFinding *finding, int tiles);
/* Whether the Kernels of another text, with the same definition, give what it says there; false as well where they cannot be
 * executed, or so many texts were tried that a check would take too long. */
bool witness_agrees(Witness *w, const Source *source);
/* Whether the program that was found to differ does so in this output. */
bool witness_differs(const Witness *w, const char *output);

#endif
