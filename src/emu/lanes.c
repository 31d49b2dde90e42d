/* lanes.c: races between lanes of one warp, in shared memory.
 *
 * shadow.c keeps order by warp. Lanes of a warp need a barrier as well: what one
 * stores another sees only behind a bar.warp.sync, a barrier of the block, or a
 * phase that has been waited for (PTX ISA, "bar.warp.sync", "Memory Consistency
 * Model"). A shuffle or a vote orders no memory.
 *
 *     st.shared [a]   lane 3      granule a: written by lane 3 in span 7
 *     ld.shared [a]   lane 4      a race: this is span 7 too
 *     bar.warp.sync               span 8
 *     ld.shared [a]   lane 4      allowed
 *
 * Vocabulary
 *   span   what a warp does between two such barriers; numbers differ between all warps of a block
 *   mark   a span and the lane that used a granule in it, or SEVERAL
 */
#include "emu/machine.h"

enum { SEVERAL = LANES, NOBODY, ATOMIC_BIT = 1 << 6, SPAN_SHIFT = 7, LAST_SPAN = (1 << 25) - 1 };

typedef struct Granule {
    uint32_t writer, reader; /* marks; 0: nobody */
} Granule;

struct LaneShadow {
    Granule *granules;
    uint32_t count, spans;
    int shift;
};

LaneShadow *emu_lanes_new(Machine *m, uint32_t bytes)
{
    LaneShadow *s = arena_new_of(m->arena, LaneShadow);

    s->shift = m->entry->shared_shift;
    s->count = (bytes >> s->shift) + 1;
    s->granules = arena_array(m->arena, Granule, s->count);
    return s;
}

/* Numbers that run out start again; what was marked is forgotten, so a race may be missed
 * then, but none is made up. */
void emu_new_span(Warp *w)
{
    LaneShadow *s = w->m->lanes;

    if (!s)
        return;
    if (s->spans == LAST_SPAN) {
        memset(s->granules, 0, s->count * sizeof *s->granules);
        s->spans = 0;
        for (int i = 0; i < w->m->warp_count; i++)
            w->m->warps[i].span = ++s->spans << SPAN_SHIFT;
    }
    w->span = ++s->spans << SPAN_SHIFT;
}

/* Whether a mark is of this span and of another lane. */
static inline bool other(uint32_t mark, uint32_t span, uint32_t lane)
{
    uint32_t rest = mark ^ span;

    return rest >> SPAN_SHIFT == 0 && (rest & (ATOMIC_BIT - 1)) != lane;
}

static inline bool races(const Granule *g, uint32_t span, uint32_t lane, AccessMode mode)
{
    bool wrote = other(g->writer, span, lane) && !(mode == ACCESS_ATOMIC && g->writer & ATOMIC_BIT);

    return wrote || (mode != ACCESS_READ && other(g->reader, span, lane));
}

static inline void mark(Granule *g, uint32_t span, uint32_t lane, AccessMode mode)
{
    if (mode == ACCESS_READ)
        g->reader = span | (other(g->reader, span, lane) ? SEVERAL : lane);
    else if (mode == ACCESS_WRITE)
        g->writer = span | lane;
    else
        g->writer = span | ATOMIC_BIT | (other(g->writer, span, lane) ? SEVERAL : lane);
}

static inline Granule *first_of(const LaneShadow *s, uint64_t address)
{
    return &s->granules[address >> s->shift];
}
static inline Granule *last_of(const LaneShadow *s, uint64_t address, int bytes)
{
    return &s->granules[(address + (uint64_t)bytes - 1) >> s->shift];
}

/* The lanes that race; reads are marked as well, which no other read minds. */
static uint32_t touch(const Warp *w, uint32_t mask, const uint64_t *address, int bytes, AccessMode mode)
{
    const LaneShadow *s = w->m->lanes;
    uint32_t racing = 0;

    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        Granule *last = last_of(s, address[l], bytes);

        for (Granule *g = first_of(s, address[l]); g <= last; g++) {
            racing |= (uint32_t)races(g, w->span, (uint32_t)l, mode) << l;
            if (mode == ACCESS_READ)
                mark(g, w->span, (uint32_t)l, ACCESS_READ);
        }
    }
    return racing;
}

/* The same where all lanes access what the addresses name; such a read is not marked. */
static uint32_t touch_together(const Warp *w, uint32_t mask, const uint64_t *address, int bytes, AccessMode mode)
{
    const LaneShadow *s = w->m->lanes;
    uint32_t racing = 0;

    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        const Granule *last = last_of(s, address[l], bytes);

        for (const Granule *g = first_of(s, address[l]); g <= last; g++)
            racing |= (uint32_t)races(g, w->span, NOBODY, mode) << l;
    }
    return racing;
}

/* Behind the checks of all lanes, since lanes of one store do not race with each other here. */
static void mark_all(const Warp *w, uint32_t mask, const uint64_t *address, int bytes, AccessMode mode, bool together)
{
    const LaneShadow *s = w->m->lanes;

    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        Granule *last = last_of(s, address[l], bytes);

        for (Granule *g = first_of(s, address[l]); g <= last; g++)
            mark(g, w->span, together ? SEVERAL : (uint32_t)l, mode);
    }
}

uint32_t emu_lanes_access(const Warp *w, uint32_t mask, const uint64_t address[LANES], int bytes, AccessMode mode,
                          bool together)
{
    uint32_t racing = together ? touch_together(w, mask, address, bytes, mode) : touch(w, mask, address, bytes, mode);

    if (mode != ACCESS_READ)
        mark_all(w, mask, address, bytes, mode, together);
    return racing;
}

bool emu_lanes_alone(const Warp *w, int lane, uint32_t at, int bytes, AccessMode mode)
{
    const LaneShadow *s = w->m->lanes;
    const Granule *last = last_of(s, at, bytes);
    bool racing = false;

    for (const Granule *g = first_of(s, at); g <= last; g++)
        racing |= races(g, w->span, (uint32_t)lane, mode);
    return !racing;
}
