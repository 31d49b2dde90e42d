/* access.c: an access of a warp to memory: addresses, bounds, alignment,
 * initialisation, races, and how many passes shared memory takes for it.
 *
 * A lane whose access is wrong is reported and left out; the others go ahead,
 * so that one launch can report several mistakes.
 */
#include "emu/async.h"
#include "emu/cluster.h"

void emu_addresses(Warp *w, const Inst *in, int k, bool wide, int64_t offset,
                   uint64_t address[LANES])
{
    const void *base = src_at(w, in, k);

    if (wide) {
        for (int l = 0; l < LANES; l++)
            address[l] = ((const Lane64 *)base)[l] + (uint64_t)offset;
    } else {
        for (int l = 0; l < LANES; l++)
            address[l] = (uint32_t)(((const Lane32 *)base)[l] + (uint32_t)offset);
    }
}

/* How an access races: a strong one goes with atomic operations. */
static AccessMode racing_mode(const Inst *in, AccessMode mode)
{
    return in->flags & IF_STRONG ? ACCESS_ATOMIC : mode;
}

/* ---- what all spaces check ---------------------------------------------------- */

/* PTX ISA, "Alignment": an access is aligned to its own size. */
static uint32_t aligned_lanes(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address,
                              int bytes)
{
    uint64_t low = 0;
    uint32_t ok = mask;

    for (int l = 0; l < LANES; l++)
        low |= lane_on(mask, l) ? address[l] : 0;
    if (!(low & (uint64_t)(bytes - 1)))
        return mask;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);

        if (address[l] & (uint64_t)(bytes - 1)) {
            emu_fault(w, in, EMU_MISALIGNED, l, "address 0x%llx is not a multiple of %d",
                      (unsigned long long)address[l], bytes);
            ok &= ~(1u << l);
        }
    }
    return ok;
}

/* ---- shared memory ------------------------------------------------------------- */

/* Shared memory has 32 banks of 4 bytes and serves 128 bytes a pass: 8- and
 * 16-byte accesses go by half and quarter warps. Lanes with the same address
 * share. Since accesses are aligned, a bank can be as wide as the access. */
static void count_wavefronts(Warp *w, const uint64_t address[LANES], uint32_t mask, int bytes)
{
    int shift = bytes <= 4 ? 2 : bytes == 8 ? 3 : 4, lanes = 128 >> shift;
    uint32_t seen[32][LANES];
    EmuReport *report = w->m->report;

    for (int first = 0; first < LANES; first += lanes) {
        uint8_t count[32] = { 0 };
        int passes = 0;

        for (int l = first; l < first + lanes; l++) {
            uint32_t unit = (uint32_t)(address[l] >> shift), bank = unit & (uint32_t)(lanes - 1);
            int i = 0;

            if (!lane_on(mask, l))
                continue;
            while (i < count[bank] && seen[bank][i] != unit)
                i++;
            if (i == count[bank])
                seen[bank][count[bank]++] = unit;
            if (count[bank] > passes)
                passes = count[bank];
        }
        report->shared_wavefronts += (uint64_t)passes;
        report->shared_ideal += passes > 0;
    }
}

static uint32_t shared_bounds(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address,
                              int bytes)
{
    uint64_t size = w->m->shared_bytes, highest = 0;
    uint32_t ok = mask;

    for (int l = 0; l < LANES; l++)
        highest = lane_on(mask, l) && address[l] > highest ? address[l] : highest;
    if (highest <= size && size - highest >= (uint64_t)bytes)
        return mask;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);

        if (address[l] <= size && size - address[l] >= (uint64_t)bytes)
            continue;
        emu_fault(w, in, EMU_OUT_OF_BOUNDS, l,
                  "%d bytes at shared address 0x%llx; shared memory has 0x%llx", bytes,
                  (unsigned long long)address[l], (unsigned long long)size);
        ok &= ~(1u << l);
    }
    return ok;
}

static void shared_initialised(Warp *w, const Inst *in, int l, uint32_t at, int bytes, bool write)
{
    uint64_t *map = w->m->shared_written;

    if (!write && emu_bits_all(map, at, bytes))
        return;
    if (!write)
        emu_fault(w, in, EMU_UNINITIALISED, l, "shared memory at 0x%x is read before it is written",
                  at);
    emu_bits_set(map, at, bytes); /* a fault is reported once */
}

/* Writes of what memory has already: which of two that do so comes last makes no difference. Compilers let all
 * threads store that have copies of a value. */
static bool same_stored(Warp *w, const Inst *in, int l, const uint8_t *at)
{
    if (in->exec == emu_exec_stmatrix)
        return emu_stmatrix_same(w, in, l, at);
    return in->exec == emu_exec_st && emu_stores_same(w, in, l, at);
}

/* A lane whose race state is new; false when it has to be left out. */
static bool shared_race(Warp *w, const Inst *in, int l, uint32_t at, int bytes, AccessMode mode)
{
    const char *why;
    EmuFaultKind kind;

    if (emu_shadow_access(w, l, at, bytes, mode, &why, &kind))
        return true;
    if (kind == EMU_RACE && w->overwrites && same_stored(w, in, l, w->m->shared + at))
        return true;
    emu_fault(w, in, kind, l, "shared memory at 0x%x: %s", at, why);
    return kind != EMU_ASYNC_RACE; /* not written yet, for that very reason */
}

/* Races between lanes of this warp. Volatile accesses are strong, but who leaves out bar.warp.sync
 * and has them instead relies on lanes that go in step. */
static void lane_races(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address, int bytes, AccessMode mode)
{
    AccessMode how = in->flags & IF_VOLATILE ? mode : racing_mode(in, mode);
    uint32_t racing = emu_lanes_access(w, mask, address, bytes, how, in->flags & IF_FULL);

    for (; racing; racing &= racing - 1)
        emu_fault(w, in, EMU_RACE, first_lane(racing),
                  "shared memory at 0x%x: another lane of the warp %s it and no bar.warp.sync lies between",
                  (unsigned)address[first_lane(racing)], mode == ACCESS_READ ? "wrote" : "accesses");
}

static void shared_checks(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address,
                          int bytes, AccessMode mode)
{
    AccessMode how = racing_mode(in, mode);
    uint32_t rest = mask;

    lane_races(w, in, mask, address, bytes, mode);
    while ((rest = emu_shadow_known(w, rest, address, bytes, how)) != 0) {
        int l = first_lane(rest);

        if (!shared_race(w, in, l, (uint32_t)address[l], bytes, how))
            mask &= ~(1u << l);
        rest &= rest - 1;
    }
    for (rest = mask; rest; rest &= rest - 1)
        shared_initialised(w, in, first_lane(rest), (uint32_t)address[first_lane(rest)], bytes,
                           mode == ACCESS_WRITE);
}

static uint32_t access_shared(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address,
                              int bytes, AccessMode mode, uint8_t **at)
{
    mask = shared_bounds(w, in, aligned_lanes(w, in, mask, address, bytes), address, bytes);
    count_wavefronts(w, address, mask, bytes);
    if (w->async)
        emu_mbarrier_touch(w, in, w->m->async, mask, address, bytes);
    if (w->m->checks)
        shared_checks(w, in, mask, address, bytes, mode);
    for (int l = 0; l < LANES; l++)
        at[l] = lane_on(mask, l) ? w->m->shared + address[l] : NULL;
    return mask;
}

/* Lanes may mean the own block's or that of others. */
static uint32_t access_cluster(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address, int bytes,
                               AccessMode mode, uint8_t **at)
{
    uint64_t within[LANES];
    uint32_t own = mask & emu_cluster_own(w->m, address, within);
    uint32_t ok = own ? access_shared(w, in, own, within, bytes, mode, at) : 0;

    if (mask == own)
        return ok;
    mask = aligned_lanes(w, in, mask & ~own, address, bytes);
    return ok | emu_cluster_access(w, in, mask, address, bytes, mode, at);
}

/* ---- global memory ---------------------------------------------------------------- */

static bool inside(const Buffer *b, uint64_t address, int bytes)
{
    return address >= b->base && address - b->base <= b->size &&
           b->size - (address - b->base) >= (uint64_t)bytes;
}

static void outside(Warp *w, const Inst *in, int l, uint64_t address, int bytes)
{
    const Buffer *b = emu_buffer_near(w->m->memory, address);

    if (!b)
        emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "%d bytes at address 0x%llx, where no buffer is",
                  bytes, (unsigned long long)address);
    else
        emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "%d bytes at byte %lld of '%s', which has %llu", bytes,
                  (long long)(address - b->base), b->name, (unsigned long long)b->size);
}

/* The buffer that holds an access; most go where the last one went. */
static Buffer *find_buffer(EmuMemory *memory, uint64_t address, int bytes)
{
    Buffer *b;

    if (memory->recent < memory->buffers.len &&
        inside(&memory->buffers.data[memory->recent], address, bytes))
        return &memory->buffers.data[memory->recent];
    b = emu_buffer_at(memory, address);
    if (!b || !inside(b, address, bytes))
        return NULL;
    memory->recent = (int)(b - memory->buffers.data);
    return b;
}

static void global_race(Warp *w, const Inst *in, int l, Buffer *b, uint64_t offset, int bytes,
                        AccessMode mode)
{
    GlobalRace race;

    if (!emu_global_race(w, l, b, offset, bytes, racing_mode(in, mode), &race))
        return;
    if (race.wrote && !race.other.pending && !race.other.bulk && same_stored(w, in, l, b->host + offset))
        return;
    if (race.other.pending && !race.other.bulk)
        emu_fault(w, in, EMU_ASYNC_RACE, l, "byte %llu of '%s' is read by a cp.async of warp %d that has not been waited for",
                  (unsigned long long)offset, b->name, race.other.warp);
    else if (race.lanes)
        emu_fault(w, in, EMU_RACE, l, "byte %llu of '%s' was %s by another lane of the warp and no bar.warp.sync lies between",
                  (unsigned long long)offset, b->name, race.how);
    else
        emu_fault(w, in, EMU_RACE, l, "byte %llu of '%s' was %s by warp %d of block %llu, unordered",
                  (unsigned long long)offset, b->name, race.how, race.other.warp, (unsigned long long)race.other.block);
}

static void global_checks(Warp *w, const Inst *in, int l, Buffer *b, uint64_t address, int bytes,
                          AccessMode mode)
{
    uint64_t bit = address - (b->base & ~UINT64_C(255));

    if (mode != ACCESS_WRITE && !b->initialised && w->m->checks &&
        !emu_bits_all(b->written, bit, bytes))
        emu_fault(w, in, EMU_UNINITIALISED, l, "byte %llu of '%s' is read before it is written",
                  (unsigned long long)(address - b->base), b->name);
    if (mode != ACCESS_READ)
        emu_bits_set(b->written, bit, bytes);
    if (w->m->checks)
        global_race(w, in, l, b, address - b->base, bytes, mode);
}

/* Whether a lane's access needs more than its bounds. */
static bool plain(const Warp *w, const Buffer *b, AccessMode mode)
{
    return mode == ACCESS_READ && b->initialised && (b->read_only || !w->m->checks);
}

static uint32_t access_global(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address,
                              int bytes, AccessMode mode, uint8_t **at)
{
    uint32_t ok = 0;

    mask = aligned_lanes(w, in, mask, address, bytes);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);
        Buffer *b = find_buffer(w->m->memory, address[l], bytes);

        if (!b) {
            outside(w, in, l, address[l], bytes);
            continue;
        }
        if (mode != ACCESS_READ && b->read_only) {
            emu_fault(w, in, EMU_READ_ONLY, l, "write to byte %llu of '%s', which is an input",
                      (unsigned long long)(address[l] - b->base), b->name);
            continue;
        }
        if (!plain(w, b, mode))
            global_checks(w, in, l, b, address[l], bytes, mode);
        at[l] = b->host + (address[l] - b->base);
        ok |= 1u << l;
    }
    return ok;
}

/* ---- local and generic -------------------------------------------------------------- */

/* Lanes have their own, so initialisation is all that can be wrong. */
static void local_initialised(Warp *w, const Inst *in, int l, uint64_t at, int bytes, AccessMode mode)
{
    uint64_t bit = (uint64_t)l * (uint64_t)w->m->entry->local_bytes + at;

    for (int i = 0; i < bytes; i++) {
        if (mode != ACCESS_WRITE && w->m->checks && !emu_bits_all(w->local_written, bit + (uint64_t)i, 1)) {
            emu_fault(w, in, EMU_UNINITIALISED, l, "local memory at 0x%llx is read before it is written",
                      (unsigned long long)at + (unsigned long long)i);
            return;
        }
        emu_bits_set(w->local_written, bit + (uint64_t)i, 1);
    }
}

static uint32_t access_local(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address,
                             int bytes, AccessMode mode, uint8_t **at)
{
    uint64_t size = (uint64_t)w->m->entry->local_bytes;
    uint32_t ok = 0;

    if (!w->local) {
        w->local = arena_alloc(w->m->arena, (size_t)size * LANES);
        w->local_written = arena_array(w->m->arena, uint64_t, (size_t)size * LANES / 64 + 1);
    }
    mask = aligned_lanes(w, in, mask, address, bytes);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);

        if (address[l] > size || size - address[l] < (uint64_t)bytes) {
            emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "%d bytes at local address 0x%llx", bytes,
                      (unsigned long long)address[l]);
            continue;
        }
        local_initialised(w, in, l, address[l], bytes, mode);
        at[l] = w->local + (uint64_t)l * size + address[l];
        ok |= 1u << l;
    }
    return ok;
}

static bool in_window(uint64_t address, uint64_t window)
{
    return address >= window && address - window < WINDOW_BYTES;
}

/* Of an entry they lie in their window, and are read only; of a call they are local. */
static uint32_t access_param(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address, int bytes,
                             AccessMode mode, uint8_t **at)
{
    uint64_t size = w->m->launch->param_bytes;
    uint32_t local = 0, ok = 0;

    for (int l = 0; l < LANES; l++)
        local |= (uint32_t)(address[l] < MAX_LOCAL) << l;
    ok = mask & local ? access_local(w, in, mask & local, address, bytes, mode, at) : 0;
    mask = aligned_lanes(w, in, mask & ~local, address, bytes);
    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        uint64_t offset = address[l] - PARAM_WINDOW;

        if (mode != ACCESS_READ) {
            emu_fault(w, in, EMU_READ_ONLY, l, "write to parameters");
        } else if (offset > size || size - offset < (uint64_t)bytes) {
            emu_fault(w, in, EMU_OUT_OF_BOUNDS, l, "%d bytes at byte %lld of the parameters, of which the launch gives %llu", bytes,
                      (long long)offset, (unsigned long long)size);
        } else {
            at[l] = (uint8_t *)(uintptr_t)w->m->launch->params + offset;
            ok |= 1u << l;
        }
    }
    return ok;
}

/* Each lane of a generic access may mean another space. */
static uint32_t access_generic(Warp *w, const Inst *in, uint32_t mask, const uint64_t *address,
                               int bytes, AccessMode mode, uint8_t **at)
{
    uint32_t shared = 0, local = 0, param = 0, ok = 0;
    uint64_t within[LANES];

    for (int l = 0; l < LANES; l++) {
        shared |= (uint32_t)in_window(address[l], SHARED_WINDOW) << l;
        local |= (uint32_t)in_window(address[l], LOCAL_WINDOW) << l;
        param |= (uint32_t)in_window(address[l], PARAM_WINDOW) << l;
        within[l] = address[l] & (WINDOW_BYTES - 1);
    }
    shared &= mask;
    local &= mask;
    if (shared) {
        uint8_t *part[LANES];

        ok |= access_cluster(w, in, shared, within, bytes, mode, part);
        for (uint32_t rest = shared; rest; rest &= rest - 1)
            at[first_lane(rest)] = part[first_lane(rest)];
    }
    if (local)
        ok |= access_local(w, in, local, within, bytes, mode, at);
    if (param & mask)
        ok |= access_param(w, in, param & mask, address, bytes, mode, at);
    mask &= ~(shared | local | param);
    return mask ? ok | access_global(w, in, mask, address, bytes, mode, at) : ok;
}

static uint32_t access_space(Warp *w, const Inst *in, uint32_t mask, Space space, const uint64_t address[LANES],
                             int bytes, AccessMode mode, uint8_t *at[LANES])
{
    switch (space) {
    case SPACE_SHARED:
        return access_shared(w, in, mask, address, bytes, mode, at);
    case SPACE_CLUSTER:
        return access_cluster(w, in, mask, address, bytes, mode, at);
    case SPACE_GLOBAL:
        return access_global(w, in, mask, address, bytes, mode, at);
    case SPACE_LOCAL:
        return access_local(w, in, mask, address, bytes, mode, at);
    case SPACE_GENERIC:
        return access_generic(w, in, mask, address, bytes, mode, at);
    case SPACE_PARAM:
        return access_param(w, in, mask, address, bytes, mode, at);
    }
    return 0;
}

/* Lanes that have acquired what the others have not. */
static EMU_COLD uint32_t access_apart(Warp *w, const Inst *in, uint32_t mask, Space space, const uint64_t address[LANES],
                                      int bytes, AccessMode mode, uint8_t *at[LANES])
{
    uint32_t know = mask & w->part_lanes, others = mask & ~know, ok = 0;
    uint8_t *part[LANES];
    WarpKnows before;

    if (know) {
        emu_flags_enter(w, &before);
        ok = access_space(w, in, know, space, address, bytes, mode, part);
        emu_flags_leave(w, &before);
    }
    if (others)
        ok |= access_space(w, in, others, space, address, bytes, mode, at);
    for (uint32_t rest = ok & know; rest; rest &= rest - 1)
        at[first_lane(rest)] = part[first_lane(rest)];
    return ok;
}

uint32_t emu_access(Warp *w, const Inst *in, uint32_t mask, Space space,
                    const uint64_t address[LANES], int bytes, AccessMode mode, uint8_t *at[LANES])
{
    return (w->part_lanes ? access_apart : access_space)(w, in, mask, space, address, bytes, mode, at);
}
