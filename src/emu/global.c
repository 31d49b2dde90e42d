/* global.c: finds data races in global memory.
 *
 * Of a granule are kept who last wrote it, who last changed it atomically, and two who read it and
 * do not come one after the other (a third is needed only where a barrier of all blocks orders
 * some of them): each a mark, the number of a warp's epoch and the lane. Blocks are unordered, unless
 * a barrier of their cluster or a flag (flags.c) lies between. Of atomic operations the last one stands for those before it: who comes after it
 * has seen what they did. Buffers that nobody may write need no marks.
 */
#include "emu/cluster.h"

static uint64_t first_byte(const Buffer *b)
{
    return b->base & ~UINT64_C(255);
}

static void *new_marks(const Machine *m, const Buffer *b, size_t bytes)
{
    uint64_t span = b->base + b->size - first_byte(b);

    return arena_alloc(m->arena, ((span >> m->entry->global_shift) + 1) * bytes);
}

static void start_marks(const Machine *m, Buffer *b)
{
    b->writers = new_marks(m, b, sizeof *b->writers);
    b->changers = NULL;
    b->readers = NULL;
    b->launch = m->memory->launches;
}

static uint32_t own_id(Warp *w)
{
    Machine *m = w->m;

    if (!w->writer_id) {
        Writer me = { .block = m->block_index, .epoch = w->epoch, .warp = w->index };

        vec_push(m->arena, &m->run->writers, me);
        w->writer_id = (uint32_t)m->run->writers.len - 1;
    }
    return w->writer_id;
}

bool emu_writer_known(const Warp *w, const Writer *other)
{
    int rank = emu_cluster_rank(w->m, other->block);

    return rank >= 0 ? emu_known(w, rank, other->warp, other->epoch)
                     : emu_known_of_block(w, other->block, other->warp, other->epoch);
}

static bool writer_before(Warp *w, uint32_t id)
{
    const Writer *other = &w->m->run->writers.data[id];

    if (other->pending)
        return false;
    return emu_writer_known(w, other);
}

/* The mark of this lane after an earlier one, which may be of the same epoch. */
static uint32_t mark_after(uint32_t mark, uint32_t mine)
{
    bool several = mark != mine && mark >> MARK_SHIFT == mine >> MARK_SHIFT;

    return several ? mine | MARK_SEVERAL : mine;
}

/* Whether it is of this warp, since the last barrier of all its lanes. */
static bool of_lanes(const Warp *w, const Writer *other)
{
    return !other->bulk && other->warp == w->index && other->block == w->m->block_index && other->epoch >= w->span_epoch;
}

static bool mark_before(Warp *w, uint32_t mark, int lane)
{
    uint32_t id = mark >> MARK_SHIFT;
    const Writer *other = &w->m->run->writers.data[id];

    if (id && id == w->writer_id)
        return (mark & (MARK_SEVERAL | MARK_LANE)) == (uint32_t)lane;
    if (!id || id == w->ordered_id)
        return true;
    if (!writer_before(w, id))
        return false;
    if (of_lanes(w, other))
        return emu_lanes_ordered(w, other->epoch, mark & MARK_SEVERAL ? -1 : (int)(mark & MARK_LANE), lane);
    w->ordered_id = id;
    return true;
}

/* Of the two readers one that comes before this gives way. */
static void mark_reader(Warp *w, uint32_t readers[2], uint32_t mine, int lane)
{
    for (int i = 0; i < 2; i++) {
        if (readers[i] >> MARK_SHIFT == mine >> MARK_SHIFT || mark_before(w, readers[i], lane)) {
            readers[i] = mark_after(readers[i], mine);
            return;
        }
    }
}

/* A mark that does not come before what this lane does now; 0: none. */
static uint32_t open_mark(Warp *w, const Buffer *b, uint64_t g, AccessMode mode, int lane, GlobalRace *race)
{
    race->wrote = false;
    race->how = "read";
    for (int i = 0; i < 2 && mode != ACCESS_READ && b->readers; i++) {
        if (!mark_before(w, b->readers[g][i], lane))
            return b->readers[g][i];
    }
    race->how = "changed atomically";
    if (mode != ACCESS_ATOMIC && b->changers && !mark_before(w, b->changers[g], lane))
        return b->changers[g];
    race->how = "written";
    race->wrote = mode == ACCESS_WRITE;
    return mark_before(w, b->writers[g], lane) ? 0 : b->writers[g];
}

static void mark_granule(Warp *w, Buffer *b, uint64_t g, AccessMode mode, int lane)
{
    uint32_t mine = own_id(w) << MARK_SHIFT | (uint32_t)lane;

    if (mode == ACCESS_READ) {
        if (!b->readers)
            b->readers = new_marks(w->m, b, sizeof *b->readers);
        mark_reader(w, b->readers[g], mine, lane);
    } else if (mode == ACCESS_ATOMIC) {
        if (!b->changers)
            b->changers = new_marks(w->m, b, sizeof *b->changers);
        b->changers[g] = mark_after(b->changers[g], mine);
    } else {
        b->writers[g] = mine;
        if (b->changers)
            b->changers[g] = 0;
        if (b->readers)
            b->readers[g][0] = b->readers[g][1] = 0;
    }
}

bool emu_global_race(Warp *w, int lane, Buffer *b, uint64_t offset, int bytes, AccessMode mode, GlobalRace *race)
{
    int shift = w->m->entry->global_shift;
    uint64_t at = b->base - first_byte(b) + offset, last = (at + (uint64_t)bytes - 1) >> shift;
    bool found = false;

    if (b->read_only)
        return false;
    if (b->launch != w->m->memory->launches)
        start_marks(w->m, b);
    for (uint64_t g = at >> shift; g <= last; g++) {
        GlobalRace this;
        uint32_t other = open_mark(w, b, g, mode, lane, &this);

        if (other && (!found || (race->wrote && !this.wrote))) {
            this.other = w->m->run->writers.data[other >> MARK_SHIFT];
            this.lanes = of_lanes(w, &this.other);
            *race = this;
            found = true;
        }
        mark_granule(w, b, g, mode, lane);
    }
    return found;
}
