/* arena.c: memory with one lifetime.
 *
 * An arena is a list of blocks, newest first; requests are carved from the
 * newest, and a request too big to share a block gets its own, put behind the
 * newest so that the room left there is still used. Blocks come zeroed, from
 * the heap (slab.c).
 *
 *   arena ─► block [used....|free] ─► block [full] ─► big block ─► NULL
 *
 * Under AddressSanitizer the free part of a block and a gap after each request
 * are poisoned: an overrun inside an arena is reported as one of malloc's is.
 */
#include "base/slab.h"

#include <limits.h>
#include <stdlib.h>

#if TW_ASAN
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
#define POISON(at, size) ASAN_POISON_MEMORY_REGION(at, size)
#define UNPOISON(at, size) ASAN_UNPOISON_MEMORY_REGION(at, size)
#else
enum { GAP = 0 };
#define POISON(at, size) ((void)(at), (void)(size))
#define UNPOISON(at, size) ((void)(at), (void)(size))
#endif

/* No honest request is larger; what is, comes from a broken size. */
#define REQUEST_LIMIT ((size_t)1 << 38)

enum { ALIGN = 16, BIG_BYTES = 16 << 10 };

/* Of a block that requests share. */
#define BLOCK_BYTES (SLAB_USUAL - HEADER)

typedef struct Block {
    struct Block *next;
    size_t size, used; /* of the bytes that follow the header */
} Block;

struct Arena {
    Heap *heap;
    Block *blocks;
    Arena *older, *newer; /* of the heap */
};

static size_t round_up(size_t n)
{
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

enum { HEADER = (sizeof(Block) + ALIGN - 1) & ~(ALIGN - 1) };

static char *block_bytes(Block *block)
{
    return (char *)block + HEADER;
}

void heap_exhausted(Heap *heap)
{
    if (!heap->on_oom)
        abort(); /* the caller broke the contract: there is nowhere to go */
    longjmp(*heap->on_oom, 1);
}

void heap_guard(Heap *heap, void (*work)(void *user), void (*end)(void *user), void *user)
{
    jmp_buf *outer = heap->on_oom, here;
    volatile bool exhausted = true;

    heap->on_oom = &here;
    if (setjmp(here) == 0) {
        work(user);
        exhausted = false;
    }
    heap->on_oom = outer;
    end(user);
    if (exhausted)
        heap_exhausted(heap);
}

static Block *block_new(Heap *heap, size_t size)
{
    Block *block;

    if (heap->fail_in > 0 && --heap->fail_in == 0)
        heap_exhausted(heap);
    if (!(block = slab_take(heap, HEADER + size)))
        heap_exhausted(heap);
    block->size = size;
    heap->live += HEADER + size;
    if (heap->live > heap->peak)
        heap->peak = heap->live;
    POISON(block_bytes(block), size);
    return block;
}

static void *block_take(Block *block, size_t size, size_t room)
{
    char *at = block_bytes(block) + block->used;

    block->used += room;
    UNPOISON(at, size);
    return at;
}

Heap *heap_new(void)
{
    return calloc(1, sizeof(Heap));
}

void heap_drop(Heap *heap)
{
    while (heap->arenas)
        arena_free(heap->arenas);
}

void heap_free(Heap *heap)
{
    if (heap)
        heap_drop(heap);
    free(heap);
}

Arena *arena_new(Heap *heap)
{
    Block *block = block_new(heap, BLOCK_BYTES);
    Arena *arena = block_take(block, sizeof *arena, round_up(sizeof *arena) + GAP);

    arena->heap = heap;
    arena->blocks = block;
    arena->older = heap->arenas;
    if (arena->older)
        arena->older->newer = arena;
    heap->arenas = arena;
    return arena;
}

Heap *arena_heap(const Arena *arena)
{
    return arena->heap;
}

static void unlink_arena(Arena *arena)
{
    if (arena->older)
        arena->older->newer = arena->newer;
    if (arena->newer)
        arena->newer->older = arena->older;
    else
        arena->heap->arenas = arena->older;
}

void arena_free(Arena *arena)
{
    Heap *heap;
    Block *block, *next;

    if (!arena)
        return;
    unlink_arena(arena);
    heap = arena->heap; /* the arena itself lies in its first block */
    for (block = arena->blocks; block; block = next) {
        next = block->next;
        heap->live -= HEADER + block->size;
        UNPOISON(block_bytes(block), block->size);
        slab_give(heap, block, HEADER + block->size, HEADER + block->used);
    }
    if (!heap->arenas)
        slab_free_all(heap);
}

void *arena_alloc(Arena *arena, size_t size)
{
    Block *block = arena->blocks;
    size_t room;

    if (size > REQUEST_LIMIT)
        heap_exhausted(arena->heap);
    room = round_up(size ? size : 1) + GAP;
    if (room <= block->size - block->used && !arena->heap->apart)
        return block_take(block, size, room);
    if (room >= BIG_BYTES || arena->heap->apart) {
        block = block_new(arena->heap, room);
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block = block_new(arena->heap, BLOCK_BYTES);
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block_take(block, size, room);
}

void *arena_alloc_array(Arena *arena, size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size)
        heap_exhausted(arena->heap);
    return arena_alloc(arena, n * size);
}

void *vec_grow(Arena *arena, void *data, int *cap, size_t size)
{
    int grown = *cap ? *cap * 2 : 8;
    void *moved;

    if (*cap > INT_MAX / 2)
        heap_exhausted(arena->heap);
    moved = arena_alloc_array(arena, (size_t)grown, size);
    if (*cap)
        memcpy(moved, data, (size_t)*cap * size);
    *cap = grown;
    return moved;
}

char *arena_strndup(Arena *arena, const char *text, size_t len)
{
    char *copy;

    if (len == SIZE_MAX)
        heap_exhausted(arena->heap);
    copy = arena_alloc(arena, len + 1);
    if (len)
        memcpy(copy, text, len);
    return copy;
}

char *arena_strdup(Arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(Arena *arena, const char *fmt, va_list args)
{
    char usual[120]; /* most texts fit, and are formatted once */
    char *text;
    int len = text_vformat(usual, sizeof usual, fmt, args);

    if (len < 0) /* only a broken format or more than INT_MAX bytes */
        heap_exhausted(arena->heap);
    text = arena_alloc(arena, (size_t)len + 1);
    if ((size_t)len < sizeof usual)
        memcpy(text, usual, (size_t)len + 1);
    else
        text_vformat(text, (size_t)len + 1, fmt, args);
    return text;
}

char *arena_printf(Arena *arena, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = arena_vprintf(arena, fmt, args);
    va_end(args);
    return text;
}
