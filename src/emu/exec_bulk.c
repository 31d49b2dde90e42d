/* exec_bulk.c: cp.async.bulk, plain and of tensors (PTX ISA, "Data Movement and
 * Conversion Instructions: Bulk copy", "Tensor copy").
 *
 * A copy is checked when it is issued: its shared memory by the shadow, its
 * global memory for bounds and races. Its lines land one by one in an order and
 * at moments that the seed draws; the last of a load completes its bytes on the
 * mbarrier. A store has landed, at the latest, when its group is waited for;
 * what it wrote is ordered for others only by a wait without .read.
 */
#include "emu/async.h"

enum {
    UNIT = 16,
    PLAIN_LINE = 128,
    MOST_LINE = 256 * 8,
    TENSOR_ALIGN = 128, /* of the shared address (PTX ISA, "cp.async.bulk.tensor") */
    MAP_ALIGN = 64
};

/* ---- a copy's lines ------------------------------------------------------------------ */

static uint32_t line_bytes(const Bulk *b, uint32_t line)
{
    uint32_t left = b->bytes - line * PLAIN_LINE;

    return b->map ? b->map->row_bytes : left < PLAIN_LINE ? left : PLAIN_LINE;
}

static uint32_t unit_address(const Bulk *b, uint32_t line, uint32_t unit)
{
    uint32_t row = b->map ? b->map->row_bytes : PLAIN_LINE;

    return emu_swizzle(b->map ? b->map->m.swizzle : 0, b->shared + line * row + unit * UNIT);
}

/* The bytes [*from, *to) of a line that lie in global memory, at *address. */
static void global_part(const Bulk *b, uint32_t line, int *from, int *to, uint64_t *address)
{
    if (b->map) {
        emu_tensor_line(b->map, b->at, line, from, to, address);
        *from *= b->map->m.element_bytes;
        *to *= b->map->m.element_bytes;
    } else {
        *from = 0;
        *to = (int)line_bytes(b, line);
        *address = b->global + (uint64_t)line * PLAIN_LINE;
    }
}

/* The host's bytes of a run; NULL where no buffer holds it. */
static uint8_t *host_bytes(EmuMemory *memory, uint64_t address, int bytes, Buffer **buffer)
{
    Buffer *b = emu_buffer_at(memory, address);

    if (!b || b->size - (address - b->base) < (uint64_t)bytes)
        return NULL;
    *buffer = b;
    return b->host + (address - b->base);
}

/* ---- checks at the issue ----------------------------------------------------------------- */

static bool all_written(const Buffer *b, uint64_t from, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        if (!emu_bits_all(b->written, from + (uint64_t)i, 1))
            return false;
    }
    return true;
}

/* A write of this block through the generic proxy that no proxy fence follows. */
static bool unfenced(Warp *w, const Buffer *b, uint64_t from, int bytes)
{
    int shift = w->m->entry->global_shift;

    for (uint64_t g = from >> shift; g <= (from + (uint64_t)bytes - 1) >> shift; g++) {
        const Writer *writer = &w->m->run->writers.data[b->writers[g] >> MARK_SHIFT];

        if (b->writers[g] && !writer->bulk && writer->block == w->m->block_index &&
            !emu_async_fenced(w, writer->warp, writer->epoch))
            return true;
    }
    return false;
}

/* The writer that stands for a store is not the warp's own of this epoch. */
static bool races(Warp *w, const Bulk *c, Buffer *b, uint64_t offset, int bytes, GlobalRace *race)
{
    uint32_t own = w->writer_id;
    bool found;

    if (c->barrier < 0)
        w->writer_id = c->writer;
    found = emu_global_race(w, c->lane, b, offset, bytes, c->barrier < 0 ? ACCESS_WRITE : ACCESS_READ, race);
    w->writer_id = own;
    return found;
}

static void check_global_order(Warp *w, const Bulk *c, Buffer *b, uint64_t offset, int bytes)
{
    uint64_t bit = offset + (b->base & 255);
    GlobalRace race;

    if (c->barrier >= 0 && !b->initialised && !all_written(b, bit, bytes))
        emu_fault(w, c->in, EMU_UNINITIALISED, c->lane, "'%s' is copied from byte %llu before it is written",
                  b->name, (unsigned long long)offset);
    if (c->barrier >= 0 && b->launch == w->m->memory->launches && unfenced(w, b, bit, bytes))
        emu_fault(w, c->in, EMU_PROXY, c->lane,
                  "'%s' at byte %llu was written through the generic proxy and no fence.proxy.async follows",
                  b->name, (unsigned long long)offset);
    if (races(w, c, b, offset, bytes, &race))
        emu_fault(w, c->in, EMU_RACE, c->lane, "byte %llu of '%s' was %s by warp %d of block %llu, unordered",
                  (unsigned long long)offset, b->name, race.how, race.other.warp, (unsigned long long)race.other.block);
}

static bool check_global(Warp *w, const Bulk *c)
{
    Buffer *b = NULL;

    for (uint32_t line = 0; line < c->lines; line++) {
        uint64_t address;
        int from, to;

        global_part(c, line, &from, &to, &address);
        if (from == to)
            continue;
        if (!host_bytes(w->m->memory, address, to - from, &b)) {
            emu_fault(w, c->in, EMU_OUT_OF_BOUNDS, c->lane, "a copy of %d bytes at address 0x%llx, which no buffer holds",
                      to - from, (unsigned long long)address);
            return false;
        }
        if (c->barrier < 0 && b->read_only) {
            emu_fault(w, c->in, EMU_READ_ONLY, c->lane, "a copy to '%s', which is an input", b->name);
            return false;
        }
        if (w->m->checks)
            check_global_order(w, c, b, address - b->base, to - from);
    }
    return true;
}

static bool unit_written(const Machine *m, uint32_t at)
{
    return emu_bits_all(m->shared_written, at, UNIT);
}

/* What other lanes of the warp did there, and mbarriers that lie there. */
static void check_neighbours(Warp *w, const Bulk *c, uint32_t at, AccessMode mode)
{
    uint64_t address[LANES] = { 0 };

    if (!emu_lanes_alone(w, c->lane, at, UNIT, mode))
        emu_fault(w, c->in, EMU_RACE, c->lane,
                  "shared memory at 0x%x: another lane of the warp accesses it and no bar.warp.sync lies between", at);
    address[c->lane] = at;
    emu_mbarrier_touch(w, c->in, w->m->async, 1u << c->lane, address, UNIT);
}

static void check_shared(Warp *w, const Bulk *c)
{
    bool load = c->barrier >= 0;
    FarAccess access = { .mode = load ? ACCESS_WRITE : ACCESS_READ,
                         .agent = load ? mbarrier_agent(w->m, c->barrier) : bulk_agent(w->m, w->index),
                         .epoch = load ? c->phase + 1 : c->number };

    for (uint32_t line = 0; line < c->lines; line++) {
        for (uint32_t unit = 0; unit * UNIT < line_bytes(c, line); unit++) {
            uint32_t at = unit_address(c, line, unit);
            EmuFaultKind kind;
            const char *why;

            if (!load && !unit_written(w->m, at))
                emu_fault(w, c->in, EMU_UNINITIALISED, c->lane, "shared memory at 0x%x is copied before it is written",
                          at);
            check_neighbours(w, c, at, access.mode);
            if (!emu_shadow_async(w, &access, at, UNIT, &why, &kind))
                emu_fault(w, c->in, kind, c->lane, "shared memory at 0x%x: %s", at, why);
            emu_bits_set(w->m->shared_written, at, UNIT);
        }
    }
}

/* Where a box begins in shared memory, and, swizzled, along its innermost dimension: what is no multiple of 16 bytes there an H200
 * calls an illegal instruction, which the manual does not say. */
static bool check_place(Warp *w, const Bulk *c)
{
    uint32_t align = c->map ? TENSOR_ALIGN : UNIT;

    if (c->shared % align) {
        emu_fault(w, c->in, EMU_MISALIGNED, c->lane, "a copy at shared address 0x%x, not a multiple of %u", c->shared,
                  align);
        return false;
    }
    if (c->map && c->map->m.swizzle && c->at[0] * (int64_t)c->map->m.element_bytes % UNIT) {
        emu_fault(w, c->in, EMU_MISALIGNED, c->lane, "a swizzled box from element %d of its innermost dimension on, no multiple of %d bytes",
                  c->at[0], UNIT);
        return false;
    }
    if (c->shared <= w->m->shared_bytes && w->m->shared_bytes - c->shared >= c->bytes)
        return true;
    emu_fault(w, c->in, EMU_OUT_OF_BOUNDS, c->lane, "a copy of %u bytes at shared address 0x%x; shared memory has 0x%x",
              c->bytes, c->shared, w->m->shared_bytes);
    return false;
}

/* The copy's completion needs the mbarrier as the asynchronous proxy sees it. */
static void check_barrier(Warp *w, const Bulk *c, const MBarrier *b)
{
    if (!b->init_fenced && !emu_async_fenced(w, b->init_warp, b->init_epoch))
        emu_fault(w, c->in, EMU_PROXY, c->lane,
                  "mbarrier 0x%x was initialised without a fence.mbarrier_init or fence.proxy.async after it",
                  b->address);
}

/* ---- operands ------------------------------------------------------------------------------- */

/* The bytes that a generic address of a tensor map names; NULL: nothing is there. */
static const uint8_t *map_bytes(Machine *m, uint64_t address)
{
    const EmuLaunch *launch = m->launch;
    Buffer *b;

    if (address < PARAM_WINDOW || address - PARAM_WINDOW >= WINDOW_BYTES)
        return host_bytes(m->memory, address, EMU_TENSOR_MAP_BYTES, &b);
    address -= PARAM_WINDOW;
    if (address > launch->param_bytes || launch->param_bytes - address < EMU_TENSOR_MAP_BYTES)
        return NULL;
    return (const uint8_t *)launch->params + address;
}

/* Maps are decoded once a launch. */
static const TensorMap *same_map(Machine *m, const TensorMap *map)
{
    TensorMap *kept;

    for (int i = 0; i < m->async->maps.len; i++) {
        if (memcmp(m->async->maps.data[i], map, sizeof *map) == 0)
            return m->async->maps.data[i];
    }
    kept = arena_new_of(m->arena, TensorMap);
    *kept = *map;
    vec_push(m->arena, &m->async->maps, kept);
    return kept;
}

static const TensorMap *find_map(Warp *w, const Inst *in, int l, uint64_t address)
{
    const uint8_t *bytes = address % MAP_ALIGN ? NULL : map_bytes(w->m, address);
    TensorMap map;

    if (bytes && emu_tensor_map_decode(bytes, &map) && map.m.rank == in->vec)
        return same_map(w->m, &map);
    emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "there is no tensor map of %d dimensions at address 0x%llx", in->vec,
              (unsigned long long)address);
    return NULL;
}

/* Sources: shared address, global address or map, the mbarrier of a load, then
 * coordinates or the size. */
static bool read_operands(Warp *w, const Inst *in, int l, const uint64_t *from, int rest, Bulk *c)
{
    if (!in->vec) {
        c->global = from[l];
        c->bytes = ((const Lane32 *)src_at(w, in, rest))[l];
        c->lines = (c->bytes + PLAIN_LINE - 1) / PLAIN_LINE;
        if (c->bytes % UNIT || c->global % UNIT) {
            emu_fault(w, in, EMU_MISALIGNED, l, "a copy of %u bytes at 0x%llx: both are multiples of 16", c->bytes,
                      (unsigned long long)c->global);
            return false;
        }
        return true;
    }
    c->map = find_map(w, in, l, from[l]);
    if (!c->map)
        return false;
    c->lines = c->map->lines;
    c->bytes = c->map->row_bytes * c->lines;
    for (int i = 0; i < in->vec; i++)
        c->at[i] = ((const LaneS32 *)src_at(w, in, rest + i))[l];
    return true;
}

/* An order of landing: from any line on, in steps that reach them all. */
static void draw_order(Machine *m, Bulk *c)
{
    uint32_t a, b;

    c->stride = 1;
    if (!m->launch->seed || c->lines < 2)
        return;
    c->start = (uint32_t)rng_below(&m->run->rng, (int)c->lines);
    c->stride = 1 + (uint32_t)rng_below(&m->run->rng, (int)c->lines);
    for (a = c->lines, b = c->stride; b;) {
        uint32_t r = a % b;

        a = b;
        b = r;
    }
    if (a != 1)
        c->stride = c->lines - 1;
}

static void issue(Warp *w, Bulk *c, MBarrier *b)
{
    Machine *m = w->m;
    Writer writer = { .block = m->block_index, .epoch = w->epoch, .warp = w->index, .pending = true, .bulk = true };

    if (b) {
        c->barrier = emu_mbarrier_index(m, b);
        c->phase = b->phase;
        b->load = *c;
        if (m->checks)
            check_barrier(w, c, b);
    } else {
        c->number = ++w->async->bulk_number;
        c->group = w->async->bulk_commits[c->lane];
        vec_push(m->arena, &m->run->writers, writer);
        c->writer = (uint32_t)m->run->writers.len - 1;
    }
    draw_order(m, c);
    if (check_place(w, c) && check_global(w, c)) {
        if (m->checks)
            check_shared(w, c);
    } else {
        c->lines = 0; /* it was wrong; its end is simulated, so that one fault stays one */
    }
    vec_push(m->arena, &m->async->copies, *c);
    if (!c->lines)
        emu_bulk_land(m, m->async->copies.len - 1, 0);
}

/* type: 1 for a store; vec: the rank, 0 for a plain copy. */
void emu_exec_bulk(Warp *w, const Inst *in, uint32_t mask)
{
    uint64_t shared[LANES], from[LANES], barrier[LANES] = { 0 };
    bool load = !in->type;

    emu_addresses(w, in, 0, in->flags & IF_WIDE, in->imm, shared);
    emu_addresses(w, in, 1, true, in->imm2, from);
    if (load)
        emu_addresses(w, in, 2, in->flags & IF_WIDE2, in->aux, barrier);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        Bulk c = { .in = in, .warp = w->index, .lane = l, .barrier = -1 };
        MBarrier *b = load ? emu_mbarrier(w, in, l, barrier[l]) : NULL;

        c.shared = (uint32_t)emu_shared_address(shared[l]);
        if ((load && !b) || !read_operands(w, in, l, from, 2 + load, &c) || !c.bytes)
            continue;
        issue(w, &c, b);
    }
}

/* ---- landing ---------------------------------------------------------------------------------- */

static void fill_outside(const Bulk *c, uint8_t *row)
{
    const int bytes = c->map->m.element_bytes;

    memset(row, c->map->m.nan_fill ? 0xff : 0, c->map->row_bytes);
    for (uint32_t i = 0; c->map->m.nan_fill && i < c->map->count[0]; i++)
        row[(int)i * bytes + bytes - 1] = 0x7f; /* 0x7f…ff is a NaN of all formats */
}

static void land_load(Machine *m, const Bulk *c, uint32_t line)
{
    uint8_t row[MOST_LINE] = { 0 }, *host;
    uint64_t address;
    int from, to;
    Buffer *b;

    if (c->map)
        fill_outside(c, row);
    global_part(c, line, &from, &to, &address);
    if (to > from && (host = host_bytes(m->memory, address, to - from, &b)) != NULL)
        memcpy(row + from, host, (size_t)(to - from));
    for (uint32_t unit = 0; unit * UNIT < line_bytes(c, line); unit++)
        memcpy(m->shared + unit_address(c, line, unit), row + unit * UNIT, UNIT);
}

static void land_store(Machine *m, const Bulk *c, uint32_t line)
{
    uint8_t row[MOST_LINE], *host;
    uint64_t address;
    int from, to;
    Buffer *b;

    global_part(c, line, &from, &to, &address);
    if (to <= from || !(host = host_bytes(m->memory, address, to - from, &b)))
        return;
    for (uint32_t unit = 0; unit * UNIT < line_bytes(c, line); unit++)
        memcpy(row + unit * UNIT, m->shared + unit_address(c, line, unit), UNIT);
    memcpy(host, row + from, (size_t)(to - from));
    for (int i = 0; i < to - from; i++)
        emu_bits_set(b->written, address - (b->base & ~UINT64_C(255)) + (uint64_t)i, 1);
}

bool emu_bulk_landed(const Bulk *b)
{
    return b->landed >= b->lines;
}

static void remove_copy(Async *a, int copy)
{
    a->copies.data[copy] = a->copies.data[--a->copies.len];
}

/* The phase that a load belonged to must still be open: it counted these bytes. */
static void complete_load(Machine *m, int copy)
{
    Bulk c = m->async->copies.data[copy];
    MBarrier *b = &m->async->barriers[c.barrier];
    int thread = c.warp * LANES + c.lane;

    remove_copy(m->async, copy);
    if (b->phase != c.phase)
        emu_fault_block(m, EMU_TRANSACTION, c.in->line, thread,
                        "phase %u of mbarrier 0x%x completed before this copy of %u bytes, which belongs to it",
                        c.phase - b->first, b->address, c.bytes);
    emu_mbarrier_bytes(m, b, c.in, thread, -(int64_t)c.bytes);
}

void emu_bulk_land(Machine *m, int copy, uint32_t lines)
{
    Bulk *c = &m->async->copies.data[copy];

    m->async->progress++;
    for (; lines && c->landed < c->lines; lines--, c->landed++) {
        uint32_t line = (uint32_t)((c->start + (uint64_t)c->landed * c->stride) % c->lines);

        if (c->barrier < 0)
            land_store(m, c, line);
        else
            land_load(m, c, line);
    }
    if (c->barrier >= 0 && emu_bulk_landed(c))
        complete_load(m, copy);
}

/* ---- groups of stores (PTX ISA, "cp.async.bulk.commit_group", "…wait_group") ------------------- */

void emu_exec_bulk_commit(Warp *w, const Inst *in, uint32_t mask)
{
    (void)in;
    for (; mask; mask &= mask - 1)
        w->async->bulk_commits[first_lane(mask)]++;
}

/* The warp knows that its stores up to here have read shared memory. */
static void know_reads(Warp *w)
{
    const Async *a = w->m->async;
    uint32_t upto = w->async->bulk_number, *seen = &w->seen[bulk_agent(w->m, w->index)];

    for (int i = 0; i < a->copies.len; i++) {
        const Bulk *c = &a->copies.data[i];

        if (c->barrier < 0 && c->warp == w->index && !c->read && c->number <= upto)
            upto = c->number - 1;
    }
    if (upto > *seen) {
        *seen = upto;
        w->version++;
    }
}

/* imm: how many groups may be left; aux: .read, which only waits for shared memory. */
void emu_exec_bulk_wait(Warp *w, const Inst *in, uint32_t mask)
{
    Machine *m = w->m;
    Async *a = m->async;

    for (int i = 0; i < a->copies.len;) {
        Bulk *c = &a->copies.data[i];
        uint32_t commits = w->async->bulk_commits[c->lane];

        if (c->barrier >= 0 || c->warp != w->index || !lane_on(mask, c->lane) ||
            (int64_t)commits - in->imm <= (int64_t)c->group) {
            i++;
            continue;
        }
        emu_bulk_land(m, i, c->lines);
        c->read = true;
        if (in->aux) {
            i++;
            continue;
        }
        m->run->writers.data[c->writer].pending = false;
        m->run->writers.data[c->writer].epoch = w->epoch;
        remove_copy(a, i);
    }
    know_reads(w);
}

/* Shared memory goes with the block: nothing may still read or write it. */
void emu_bulk_end_block(Machine *m)
{
    for (int i = 0; i < m->async->copies.len; i++) {
        const Bulk *c = &m->async->copies.data[i];

        if (c->barrier < 0 && !c->read)
            emu_fault_block(m, EMU_ASYNC_RACE, c->in->line, c->warp * LANES + c->lane,
                            "the block ends and this copy out of its shared memory was not waited for");
    }
    for (int i = 0; i < m->async->barrier_count; i++) {
        const Bulk *c = &m->async->barriers[i].load;

        if (c->in && !emu_mbarrier_awaited(m, i, c->phase + 1))
            emu_fault_block(m, EMU_ASYNC_RACE, c->in->line, c->warp * LANES + c->lane,
                            "the block ends and nobody waited for this copy into its shared memory");
    }
}
