/* with.c: bytes as a source in an arena of its own. */
#include "fuzz.h"

void fuzz_with(const uint8_t *data, size_t size, void (*take)(Arena *arena, const Source *source))
{
    Heap heap = {0};
    jmp_buf oom;
    Arena *volatile arena = NULL;

    heap.on_oom = &oom;
    if (setjmp(oom) == 0) {
        Source source = {"input", NULL, size};

        arena = arena_new(&heap);
        source.text = arena_strndup(arena, (const char *)data, size);
        take(arena, &source);
    }
    arena_free(arena);
}
