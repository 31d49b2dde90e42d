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
 * A barrier of some lanes (bar.warp.sync of a mask) begins a span as well, but orders those lanes only:
 * for each pair of lanes is kept up to which span the one knows what the other did.
 *
 * Vocabulary
 *   span   what a warp does between two such barriers; numbers differ between all warps of a block
 *   mark   a span and the lane that used a granule in it, or SEVERAL
 *   part   a span since the last barrier of all lanes
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

enum { MOST_PARTS = 64 };
struct Parts {
    int count; /* the last is the present one; 0: no barrier of some lanes since that of all */
    uint32_t spans[MOST_PARTS], epochs[MOST_PARTS];
    uint8_t before[LANES][LANES]; /* [l][k]: what lane k did in parts before this comes before lane l */
};

/* The oldest are forgotten: a race may be missed then, but none is made up. */
static void forget_parts(Parts *p)
{
    enum { GONE = MOST_PARTS / 2 };

    memmove(p->spans, p->spans + GONE, GONE * sizeof *p->spans);
    memmove(p->epochs, p->epochs + GONE, GONE * sizeof *p->epochs);
    p->count -= GONE;
    for (int l = 0; l < LANES; l++) {
        for (int k = 0; k < LANES; k++)
            p->before[l][k] = p->before[l][k] > GONE ? (uint8_t)(p->before[l][k] - GONE) : 0;
    }
}

/* Numbers that run out start again; what was marked is forgotten, so a race may be missed
 * then, but none is made up. */
static void next_span(Warp *w)
{
    LaneShadow *s = w->m->lanes;

    if (s->spans == LAST_SPAN) {
        memset(s->granules, 0, s->count * sizeof *s->granules);
        s->spans = 0;
        for (int i = 0; i < w->m->warp_count; i++)
            w->m->warps[i].span = ++s->spans << SPAN_SHIFT;
    }
    w->span = ++s->spans << SPAN_SHIFT;
}

void emu_new_span(Warp *w)
{
    if (!w->m->lanes)
        return;
    if (w->parts)
        w->parts->count = 0;
    w->span_epoch = w->epoch;
    next_span(w);
}

static void meet(Parts *p, const Parts *old, int l, uint32_t group)
{
    for (; group; group &= group - 1) {
        int other = first_lane(group);

        p->before[l][other] = (uint8_t)p->count;
        for (int k = 0; k < LANES; k++) {
            if (old->before[other][k] > p->before[l][k])
                p->before[l][k] = old->before[other][k];
        }
    }
}

void emu_new_part(Warp *w, const uint32_t groups[LANES])
{
    Parts *p = w->parts, old;

    if (!w->m->lanes)
        return;
    if (!p)
        p = w->parts = arena_new_of(w->m->arena, Parts);
    if (!p->count) {
        memset(p->before, 0, sizeof p->before);
        p->spans[0] = w->span;
        p->epochs[0] = w->span_epoch;
        p->count = 1;
    }
    if (p->count == MOST_PARTS)
        forget_parts(p);
    old = *p;
    for (int l = 0; l < LANES; l++)
        meet(p, &old, l, groups[l]);
    next_span(w);
    p->spans[p->count] = w->span;
    p->epochs[p->count++] = w->epoch;
}

/* Lane -1: several. */
static bool part_before(const Parts *p, int part, int lane, int now)
{
    if (lane >= 0)
        return lane == now || p->before[now][lane] > part;
    for (int k = 0; k < LANES; k++) {
        if (k != now && p->before[now][k] <= part)
            return false;
    }
    return true;
}

bool emu_lanes_ordered(const Warp *w, uint32_t epoch, int lane, int now)
{
    const Parts *p = w->parts;
    int part = p ? p->count - 1 : -1;

    while (part > 0 && p->epochs[part] > epoch)
        part--;
    return part < 0 ? lane == now : part_before(p, part, lane, now);
}

/* Whether a mark is of an earlier part of this warp, and of a lane that has not met this one since. */
static EMU_COLD bool other_part(const Parts *p, uint32_t mark, int now)
{
    int lane = (int)(mark & (ATOMIC_BIT - 1)), part = p->count - 1;
    bool ordered = true;

    while (part-- > 0 && mark >> SPAN_SHIFT != p->spans[part] >> SPAN_SHIFT)
        ;
    if (part < 0)
        return false;
    for (int l = now < LANES ? now : 0; ordered && l < LANES; l = now < LANES ? LANES : l + 1)
        ordered = part_before(p, part, lane < LANES ? lane : -1, l);
    return !ordered;
}

static bool races_part(const Warp *w, const Granule *g, uint32_t lane, AccessMode mode)
{
    const Parts *p = w->parts;

    if (!p || !p->count)
        return false;
    if (other_part(p, g->writer, (int)lane) && !(mode == ACCESS_ATOMIC && g->writer & ATOMIC_BIT))
        return true;
    return mode != ACCESS_READ && other_part(p, g->reader, (int)lane);
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
            racing |= (uint32_t)(races(g, w->span, (uint32_t)l, mode) || races_part(w, g, (uint32_t)l, mode)) << l;
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
            racing |= (uint32_t)(races(g, w->span, NOBODY, mode) || races_part(w, g, NOBODY, mode)) << l;
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
        racing |= races(g, w->span, (uint32_t)lane, mode) || races_part(w, g, (uint32_t)lane, mode);
    return !racing;
}
