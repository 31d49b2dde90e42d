/* fixture.h: an arena for each test, whose memory must all be given back. */
#ifndef TW_TEST_FIXTURE_H
#define TW_TEST_FIXTURE_H

#include "base/base.h"

typedef struct Fixture {
    Heap heap; /* that has nowhere to go when memory runs out: the test crashes then */
    Arena *arena;
} Fixture;

static Fixture fixture; /* one test at a time */

static inline int setup(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    fixture.arena = arena_new(&fixture.heap);
    *state = &fixture;
    return 0;
}

static inline int teardown(void **state)
{
    Fixture *f = *state;

    arena_free(f->arena);
    return f->heap.live ? -1 : 0;
}

#endif
