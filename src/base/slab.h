/* slab.h: where arenas get their blocks from (for this folder only). */
#ifndef TW_BASE_SLAB_H
#define TW_BASE_SLAB_H

#include "base/base.h"

/* Bytes of a block that requests share: blocks of this size are found again at once. */
enum { SLAB_USUAL = 64 << 10 };

/* Zeroed, aligned to 16 bytes; NULL when there is no memory. */
void *slab_take(Heap *heap, size_t bytes);
/* Gives a block back, of which the first `used` bytes may have been written to. */
void slab_give(Heap *heap, void *block, size_t bytes, size_t used);
/* Gives the slabs of a heap back, of which no block is in use. */
void slab_free_all(Heap *heap);

#endif
