/* text.h: what print.c and parse.c must agree on; for the files of this folder only. */
#ifndef TW_TILE_TEXT_H
#define TW_TILE_TEXT_H

#include "tile/tile.h"

/* Attributes of a kernel written as `word number` before its `{`. */
typedef struct KernelNumber {
    const char *word;
    size_t offset;   /* of an int in TileKernel */
    int omitted;     /* the value that is not written */
} KernelNumber;

enum { KERNEL_NUMBERS = SCHED_NUMBERS + 2, TILE_FACTS = 6 };
extern const KernelNumber tile_kernel_numbers[KERNEL_NUMBERS];

/* Names of the TileFact bits, lowest first. */
extern const char *const tile_fact_names[TILE_FACTS];

/* The range of a loop counter or grid coordinate that need not be written: what
 * follows from its bounds lo <= x < hi. */
void tile_default_range(const Aff *lo, const Aff *hi, int64_t *least, int64_t *most);

/* "fp32<64x64> mma_c(4x1)", "shared bf16<64x128>", "bf16<2x64x128>", "token". */
void tile_print_type(Str *out, TileType type);

/* text_aff.c: an expression's text, with symbols in the given order, whatever the
 * order in which its parts were made. */
const char *tile_aff_text(Arena *arena, const Aff *a, const AffSym *const *order, int n_order);

#endif
