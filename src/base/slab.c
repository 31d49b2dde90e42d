/* slab.c: the blocks of arenas.
 *
 * Much of what a compiler does with memory is to touch it for the first time, and each first touch of a page is a fault that the
 * kernel serves; with pages of 4 KB that was a fifth of a run. So a heap that has become large takes slabs from the kernel, which
 * lie as huge pages do and are asked to be such (madvise(2), MADV_HUGEPAGE); where there are none, all is the same but slower.
 * Memory comes from there zeroed, and what was given back is cleared as far as it was written to.
 *
 *   heap ─► slab [block|block|block|......free] ─► slab [full] ─► NULL
 *
 * Small heaps, blocks too large to share a slab, and those that tests want apart are malloc's: so are all under AddressSanitizer,
 * which then knows the bounds of each.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS and madvise(2) are not of POSIX */
#endif
#include "base/slab.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { HAS_SLABS = !TW_ASAN };

#define HUGE_PAGE ((size_t)2 << 20)
#define SLAB_BYTES (4 * HUGE_PAGE)
/* Bytes that a heap holds before it takes slabs, and of the largest block in one. */
#define SMALL_HEAP ((size_t)256 << 10)
#define LARGEST (SLAB_BYTES / 3)
#define STEP ((size_t)8 << 10)

/* At the beginning of its own memory. */
typedef struct Slab {
    struct Slab *next;
    void *mapped;
    char *at; /* where the next block goes */
} Slab;

/* A block that was given back, in its own memory. */
typedef struct Spare {
    struct Spare *next;
    size_t bytes, used; /* which is cleared when it is taken again: most never are */
} Spare;

enum { SLAB_HEADER = (sizeof(Slab) + 63) & ~63 };

/* Where a block came from follows from its address. */
static bool in_slab(const Heap *heap, const void *block)
{
    for (const Slab *slab = heap->slabs; slab; slab = slab->next)
        if ((const char *)block > (const char *)slab && (const char *)block < (const char *)slab + SLAB_BYTES)
            return true;
    return false;
}

static Slab *slab_new(Heap *heap)
{
    char *mapped = mmap(NULL, SLAB_BYTES + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Slab *slab;

    if (mapped == MAP_FAILED)
        return NULL;
    slab = (Slab *)(mapped + (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE) % HUGE_PAGE);
#ifdef MADV_HUGEPAGE
    (void)madvise(slab, SLAB_BYTES, MADV_HUGEPAGE); /* a wish */
#endif
    *slab = (Slab){heap->slabs, mapped, (char *)slab + SLAB_HEADER};
    heap->slabs = slab;
    return slab;
}

/* The bytes that a block of a slab takes: of few sizes, so that those that are given back fit again. */
static size_t rounded(size_t bytes)
{
    return (bytes + STEP - 1) / STEP * STEP;
}

static void *take_spare(Heap *heap, size_t bytes)
{
    Spare **at = bytes == SLAB_USUAL ? &heap->spare : &heap->odd, *found;

    while (*at && (*at)->bytes != bytes)
        at = &(*at)->next;
    found = *at;
    if (found) {
        *at = found->next;
        memset(found, 0, found->used > sizeof *found ? found->used : sizeof *found);
    }
    return found;
}

static void *take_new(Heap *heap, size_t bytes)
{
    Slab *slab = heap->slabs;
    void *block;

    if ((!slab || bytes > (size_t)((char *)slab + SLAB_BYTES - slab->at)) && !(slab = slab_new(heap)))
        return NULL;
    block = slab->at;
    slab->at += bytes;
    return block;
}

void *slab_take(Heap *heap, size_t bytes)
{
    size_t room = rounded(bytes);
    void *block = NULL;

    if (HAS_SLABS && !heap->apart && bytes <= LARGEST && heap->live >= SMALL_HEAP && !(block = take_spare(heap, room)))
        block = take_new(heap, room);
    return block ? block : calloc(1, bytes);
}

void slab_give(Heap *heap, void *block, size_t bytes, size_t used)
{
    Spare *spare = block;
    Spare **list = rounded(bytes) == SLAB_USUAL ? &heap->spare : &heap->odd;

    if (!in_slab(heap, block)) {
        free(block);
        return;
    }
    *spare = (Spare){*list, rounded(bytes), used};
    *list = spare;
}

void slab_free_all(Heap *heap)
{
    while (heap->slabs) {
        Slab *slab = heap->slabs;

        heap->slabs = slab->next;
        munmap(slab->mapped, SLAB_BYTES + HUGE_PAGE);
    }
    heap->spare = heap->odd = NULL;
}
