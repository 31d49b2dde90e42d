/* shadow.c: finds data races, in shared and in global memory.
 *
 * Order is happens-before between warps: each warp has an epoch that a release
 * (arriving at a barrier) ends, and `seen[r]`, the last epoch of warp r that is
 * known to have ended before now. An access in epoch e of warp r comes before
 * what warp w does now if r == w or w->seen[r] >= e. Nothing depends on the
 * order in which the emulator happens to run the warps.
 *
 * A granule of shared memory has one word: the number of a state, or "in
 * flight" with the thread whose cp.async will write it. Of what a cp.async wrote
 * the lane is kept apart, since it matters only until its warp's epoch has ended.
 * States are interned:
 *
 *     state = { last writer, its epoch, how | readers since, an epoch each }
 *
 * Tiles are accessed whole, so there are few states, and "what does a read by
 * warp w make of state s" is remembered a warp. Numbers below `clean` stand for
 * "everything comes before everybody": a barrier of the whole block raises
 * `clean` and so forgets all states at once.
 */
#include "emu/async.h"

#define IN_FLIGHT 0x80000000u
enum {
    FIRST_ROWS = 4096,
    MOST_ROWS = 1 << 18,
    LAST_STATE = 1 << 30
};

/* HOW_BULK: by a bulk copy, that is, by the agent of the mbarrier that says so. */
typedef enum How { HOW_NONE, HOW_PLAIN, HOW_ATOMIC, HOW_ASYNC, HOW_BULK } How;

/* Layout of a row: words, a set of readers, the readers' epochs last. */
enum { READER_WORDS = (MAX_READERS + 31) / 32 };
enum { ROW_WRITER, ROW_EPOCH, ROW_READERS, ROW_HEAD = ROW_READERS + READER_WORDS };

struct Shadow {
    Machine *m;
    uint32_t *granules;
    uint8_t *copiers; /* of a granule: the lane whose cp.async last wrote it */
    uint32_t granule_count;
    int shift;
    uint32_t clean, next; /* states [clean, next) have rows */
    uint32_t round;       /* counts renumberings, from 1 */
    uint32_t *rows, *spare_rows;
    int *index, *spare_index; /* hash table of row + 1; 2 * row_limit entries */
    int stride, row_limit;
};

static uint32_t pack_writer(How how, int warp)
{
    return (uint32_t)how << 16 | (uint32_t)warp;
}
static How row_how(const uint32_t *row)
{
    return (How)(row[ROW_WRITER] >> 16);
}
static int row_warp(const uint32_t *row)
{
    return row[ROW_WRITER] & 255;
}

/* ---- interning ------------------------------------------------------------------ */

static void make_tables(Shadow *s, int rows)
{
    s->row_limit = rows;
    s->rows = arena_array(s->m->arena, uint32_t, (size_t)rows * (size_t)s->stride);
    s->index = arena_array(s->m->arena, int, (size_t)rows * 2);
    s->spare_rows = NULL;
}

Shadow *emu_shadow_new(Machine *m, uint32_t bytes)
{
    Shadow *s = arena_new_of(m->arena, Shadow);

    s->m = m;
    s->shift = m->entry->granule_shift;
    s->granule_count = (bytes >> s->shift) + 1;
    s->granules = arena_array(m->arena, uint32_t, s->granule_count);
    s->copiers = arena_array(m->arena, uint8_t, s->granule_count);
    s->stride = ROW_HEAD + m->reader_count;
    s->clean = s->next = s->round = 1;
    make_tables(s, FIRST_ROWS);
    return s;
}

static uint32_t *row_of(const Shadow *s, uint32_t state)
{
    return s->rows + (size_t)(state - s->clean) * (size_t)s->stride;
}

static uint32_t hash_row(const Shadow *s, const uint32_t *row)
{
    uint64_t hash = 0;

    for (int i = 0; i < s->stride; i++)
        hash = (hash ^ row[i]) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
    return (uint32_t)hash;
}

static int find_index(const Shadow *s, const uint32_t *row)
{
    uint32_t size = (uint32_t)s->row_limit * 2, i = hash_row(s, row) & (size - 1);

    while (s->index[i] && memcmp(row_of(s, s->clean + (uint32_t)s->index[i] - 1), row,
                                 (size_t)s->stride * 4) != 0)
        i = (i + 1) & (size - 1);
    return (int)i;
}

static void forget_memos(Shadow *s)
{
    for (int i = 0; i < s->m->warp_count; i++) {
        Warp *w = &s->m->warps[i];

        w->version++;
        w->write_state = w->atomic_state = w->async_state = 0;
    }
}

/* Raises `clean`, or starts again from 1 when numbers run out. */
void emu_shadow_ordered(Shadow *s)
{
    s->clean = s->next;
    memset(s->index, 0, (size_t)s->row_limit * 2 * sizeof *s->index);
    if (s->clean < LAST_STATE)
        return;
    s->round++;
    s->clean = s->next = 1;
    for (uint32_t i = 0; i < s->granule_count; i++)
        s->granules[i] &= s->granules[i] & IN_FLIGHT ? ~0u : 0u;
    forget_memos(s);
}

void emu_shadow_reset(Shadow *s)
{
    emu_shadow_ordered(s);
    memset(s->granules, 0, s->granule_count * sizeof *s->granules);
}

static uint32_t intern(Shadow *s, const uint32_t *row);

/* Gives the states that granules still have new numbers, from 1, in fresh tables. */
static void renumber(Shadow *s, int rows, bool forget)
{
    Shadow old = *s;

    if (rows == s->row_limit && s->spare_rows) {
        s->rows = s->spare_rows;
        s->index = s->spare_index;
        memset(s->index, 0, (size_t)rows * 2 * sizeof *s->index);
    } else {
        make_tables(s, rows);
    }
    s->clean = s->next = 1;
    for (uint32_t i = 0; i < s->granule_count; i++) {
        uint32_t state = s->granules[i];

        if (!(state & IN_FLIGHT))
            s->granules[i] = forget || state < old.clean ? 0 : intern(s, row_of(&old, state));
    }
    if (rows == old.row_limit) {
        s->spare_rows = old.rows;
        s->spare_index = old.index;
    }
    s->round++;
    forget_memos(s);
}

/* The table is full: drop the states that no granule has. Where too many are
 * left it grows, and at the limit everything is forgotten: races may be missed
 * then, but none is made up. */
static EMU_COLD void collect(Shadow *s)
{
    renumber(s, s->row_limit, false);
    if ((int)(s->next - s->clean) <= s->row_limit / 2)
        return;
    if (s->row_limit < MOST_ROWS)
        renumber(s, s->row_limit * 2, false);
    else
        renumber(s, s->row_limit, true);
}

static uint32_t intern(Shadow *s, const uint32_t *row)
{
    int i = find_index(s, row);

    if (s->index[i])
        return s->clean + (uint32_t)s->index[i] - 1;
    memcpy(row_of(s, s->next), row, (size_t)s->stride * 4);
    s->index[i] = (int)(s->next - s->clean) + 1;
    return s->next++;
}

static uint32_t add_state(Shadow *s, const uint32_t *row)
{
    uint32_t copy[ROW_HEAD + MAX_READERS];

    if ((int)(s->next - s->clean) >= s->row_limit - 1) {
        memcpy(copy, row, (size_t)s->stride * 4);
        collect(s);
        row = copy;
    }
    return intern(s, row);
}

/* ---- order ------------------------------------------------------------------------ */

static bool before(const Warp *w, int warp, uint32_t epoch)
{
    return warp == w->index || w->seen[warp] >= epoch;
}

/* Whether the last write was by a cp.async of warp w in its present epoch. It is visible
 * to its own thread after the wait, to the others of the warp only after a barrier (PTX
 * ISA, "cp.async.wait_group"), so what follows from it depends on the lane. */
static bool copied_just_now(const Warp *w, const uint32_t *row)
{
    return row_how(row) == HOW_ASYNC && row_warp(row) == w->index && row[ROW_EPOCH] == w->epoch;
}

/* Whether the last write, `row` of this granule, comes before what this lane does now. */
static bool write_before(const Shadow *s, const Warp *w, int lane, const uint32_t *granule, const uint32_t *row)
{
    if (row_how(row) == HOW_NONE)
        return true;
    if (copied_just_now(w, row))
        return s->copiers[granule - s->granules] == lane;
    return before(w, row_warp(row), row[ROW_EPOCH]);
}

/* A reader whose read does not come before what warp w does now; -1: none. */
static int open_reader(const Warp *w, const uint32_t *row)
{
    for (int word = 0; word < READER_WORDS; word++) {
        for (uint32_t readers = row[ROW_READERS + word]; readers; readers &= readers - 1) {
            int r = 32 * word + first_lane(readers);

            if (!before(w, r, row[ROW_HEAD + r]))
                return r;
        }
    }
    return -1;
}

static EMU_COLD uint32_t make_writer_state(Shadow *s, Warp *w, How how, uint32_t *known)
{
    uint32_t row[ROW_HEAD + MAX_READERS] = { 0 };

    row[ROW_WRITER] = pack_writer(how, w->index);
    row[ROW_EPOCH] = w->epoch;
    return *known = add_state(s, row);
}

static uint32_t writer_state(Shadow *s, Warp *w, How how)
{
    uint32_t *known = how == HOW_ASYNC ? &w->async_state
                      : how == HOW_ATOMIC ? &w->atomic_state : &w->write_state;

    return *known >= s->clean ? *known : make_writer_state(s, w, how, known);
}

/* ---- a read ------------------------------------------------------------------------- */

/* What follows a read by warp w follows these readers too. */
static void drop_readers(const Warp *w, uint32_t *row)
{
    for (int word = 0; word < READER_WORDS; word++) {
        for (uint32_t readers = row[ROW_READERS + word]; readers; readers &= readers - 1) {
            int r = 32 * word + first_lane(readers);

            if (before(w, r, row[ROW_HEAD + r])) {
                row[ROW_READERS + word] &= ~(1u << r % 32);
                row[ROW_HEAD + r] = 0;
            }
        }
    }
}

/* The state after a read that warp w does or starts, and that ends with an agent's epoch. */
static EMU_COLD uint32_t after_read(Shadow *s, Warp *w, uint32_t state, int agent, uint32_t epoch)
{
    uint32_t row[ROW_HEAD + MAX_READERS] = { 0 };

    if (state >= s->clean)
        memcpy(row, row_of(s, state), (size_t)s->stride * 4);
    drop_readers(w, row);
    row[ROW_READERS + agent / 32] |= 1u << agent % 32;
    if (row[ROW_HEAD + agent] < epoch) /* warps of a warpgroup come in any order */
        row[ROW_HEAD + agent] = epoch;
    return add_state(s, row);
}

static bool racing_kind(const uint32_t *row, const char **why, EmuFaultKind *kind)
{
    bool async = row_how(row) == HOW_ASYNC;

    if (row_how(row) == HOW_BULK) {
        *kind = EMU_ASYNC_RACE;
        *why = "a bulk copy writes it, and the phase of its mbarrier that says so has not been waited for";
        return false;
    }
    *kind = async ? EMU_ASYNC_RACE : EMU_RACE;
    *why = async ? "no barrier follows the wait for the cp.async that wrote it"
                 : "another warp wrote it and no barrier lies between";
    return false;
}

/* A read that the memo does not know. */
static EMU_COLD bool read_afresh(Shadow *s, Warp *w, int lane, uint32_t *granule, const char **why,
                                 EmuFaultKind *kind)
{
    uint32_t state = *granule < s->clean ? 0 : *granule, version = w->version;
    const uint32_t *row;
    bool ok = true, own = false;

    if (state) {
        row = row_of(s, state);
        own = copied_just_now(w, row);
        if (!write_before(s, w, lane, granule, row))
            ok = racing_kind(row, why, kind);
    }
    *granule = after_read(s, w, state, w->index, w->epoch);
    /* One's own copy is not remembered; and states may have new numbers since. */
    if (ok && !own && version == w->version)
        w->reads[state % MEMO] = (Memo){ state, w->version, *granule };
    return ok;
}

static inline bool read_granule(Shadow *s, Warp *w, int lane, uint32_t *granule, const char **why,
                                EmuFaultKind *kind)
{
    uint32_t state = *granule < s->clean ? 0 : *granule;
    const Memo *memo = &w->reads[state % MEMO];

    if (memo->state != state || memo->version != w->version || memo->next < s->clean)
        return read_afresh(s, w, lane, granule, why, kind);
    *granule = memo->next;
    return true;
}

/* ---- a write -------------------------------------------------------------------------- */

/* Whether everything recorded of this granule comes before a write by this lane. */
static EMU_COLD bool write_allowed(Shadow *s, Warp *w, int lane, const uint32_t *granule, bool atomic,
                          const char **why, EmuFaultKind *kind)
{
    const uint32_t *row = row_of(s, *granule);
    int reader;

    if (!(atomic && row_how(row) == HOW_ATOMIC) && !write_before(s, w, lane, granule, row))
        return racing_kind(row, why, kind);
    reader = open_reader(w, row);
    if (reader < 0)
        return true;
    *kind = reader < s->m->warp_count ? EMU_RACE : EMU_ASYNC_RACE;
    *why = reader < s->m->warp_count ? "another warp reads it and no barrier lies between"
                                     : "a wgmma or a bulk copy that reads it has not been waited for, "
                                       "or no barrier follows the wait";
    return false;
}

static bool write_granule(Shadow *s, Warp *w, int lane, uint32_t *granule, How how,
                          const char **why, EmuFaultKind *kind)
{
    uint32_t state = *granule;
    bool ok = true;
    Memo *memo = &w->writes[state % MEMO];

    if (how == HOW_PLAIN && state == w->write_state && state)
        return true;
    if (state >= s->clean && !(memo->state == state && memo->version == w->version)) {
        ok = write_allowed(s, w, lane, granule, how == HOW_ATOMIC, why, kind);
        if (ok && how == HOW_PLAIN && row_how(row_of(s, state)) != HOW_ASYNC)
            *memo = (Memo){ state, w->version, 0 };
    }
    *granule = writer_state(s, w, how);
    return ok;
}

/* ---- the interface ---------------------------------------------------------------------- */

bool emu_shadow_access(Warp *w, int lane, uint32_t at, int bytes, AccessMode mode,
                       const char **why, EmuFaultKind *kind)
{
    Shadow *s = w->m->shadow;
    uint32_t *last = &s->granules[(at + (uint32_t)bytes - 1) >> s->shift];
    bool ok = true;

    for (uint32_t *granule = &s->granules[at >> s->shift]; granule <= last; granule++) {

        if (*granule & IN_FLIGHT) {
            *kind = EMU_ASYNC_RACE;
            *why = "a cp.async that writes it has not been waited for";
            return false;
        }
        if (mode == ACCESS_READ)
            ok &= read_granule(s, w, lane, granule, why, kind);
        else
            ok &= write_granule(s, w, lane, granule, mode == ACCESS_ATOMIC ? HOW_ATOMIC : HOW_PLAIN,
                                why, kind);
    }
    return ok;
}

/* Lanes that only touch states that the memos know are done here; the mask of the
 * others is returned. Neighbours mostly have the state that the last one had. */
static uint32_t read_known(Shadow *s, Warp *w, uint32_t mask, const uint64_t *address, int bytes)
{
    uint32_t state = FULL, next = 0, rest = 0;

    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        uint32_t *granule = &s->granules[address[l] >> s->shift];
        const uint32_t *last = &s->granules[(address[l] + (uint64_t)bytes - 1) >> s->shift];

        for (; granule <= last; granule++) {
            if (*granule != state) {
                uint32_t known = *granule < s->clean ? 0 : *granule;
                const Memo *memo = &w->reads[known % MEMO];

                if (*granule & IN_FLIGHT || memo->state != known || memo->version != w->version ||
                    memo->next < s->clean)
                    break;
                state = *granule;
                next = memo->next;
            }
            *granule = next;
        }
        rest |= (uint32_t)(granule <= last) << l;
    }
    return rest;
}

static uint32_t write_known(Shadow *s, Warp *w, uint32_t mask, const uint64_t *address, int bytes)
{
    uint32_t state = FULL, rest = 0, mine = writer_state(s, w, HOW_PLAIN);

    for (; mask; mask &= mask - 1) {
        int l = first_lane(mask);
        uint32_t *granule = &s->granules[address[l] >> s->shift];
        const uint32_t *last = &s->granules[(address[l] + (uint64_t)bytes - 1) >> s->shift];

        for (; granule <= last; granule++) {
            if (*granule != state && *granule != mine && *granule >= s->clean) {
                const Memo *memo = &w->writes[*granule % MEMO];

                if (memo->state != *granule || memo->version != w->version)
                    break;
                state = *granule;
            }
            *granule = mine;
        }
        rest |= (uint32_t)(granule <= last) << l;
    }
    return rest;
}

uint32_t emu_shadow_known(Warp *w, uint32_t mask, const uint64_t address[LANES], int bytes,
                          AccessMode mode)
{
    Shadow *s = w->m->shadow;

    if (mode == ACCESS_ATOMIC)
        return mask;
    return mode == ACCESS_READ ? read_known(s, w, mask, address, bytes)
                               : write_known(s, w, mask, address, bytes);
}

bool emu_shadow_issue(Warp *w, int lane, uint32_t at, int bytes, const char **why)
{
    Shadow *s = w->m->shadow;
    uint32_t last = (at + (uint32_t)bytes - 1) >> s->shift;
    EmuFaultKind kind;
    bool ok = true;

    for (uint32_t g = at >> s->shift; g <= last; g++) {
        uint32_t *granule = &s->granules[g];

        if (*granule & IN_FLIGHT) {
            *why = "another cp.async that writes it has not been waited for";
            ok = false;
        } else if (*granule >= s->clean) {
            Memo *memo = &w->writes[*granule % MEMO];

            if (!(memo->state == *granule && memo->version == w->version)) {
                bool allowed = write_allowed(s, w, lane, granule, false, why, &kind);

                if (allowed && row_how(row_of(s, *granule)) != HOW_ASYNC)
                    *memo = (Memo){ *granule, w->version, 0 };
                ok &= allowed;
            }
        }
        *granule = IN_FLIGHT | (uint32_t)(w->index * LANES + lane);
    }
    return ok;
}

void emu_shadow_land(Warp *w, int lane, uint32_t at, int bytes)
{
    Shadow *s = w->m->shadow;
    uint32_t last = (at + (uint32_t)bytes - 1) >> s->shift;
    uint32_t state = writer_state(s, w, HOW_ASYNC);

    for (uint32_t g = at >> s->shift; g <= last; g++) {
        s->granules[g] = state;
        s->copiers[g] = (uint8_t)lane;
    }
}

/* ---- the asynchronous proxy ----------------------------------------------------------------- */

/* PTX ISA, "Async proxy": a write through the generic proxy is ordered before an
 * access through the asynchronous one only if a proxy fence lies on the way. */
static bool crosses_proxy(const Warp *w, const uint32_t *row)
{
    How how = row_how(row);

    return how != HOW_NONE && how != HOW_BULK && !emu_async_fenced(w, row_warp(row), row[ROW_EPOCH]);
}

/* Whether what is recorded of a granule allows an asynchronous access that w starts. */
static bool async_allowed(Shadow *s, Warp *w, const uint32_t *granule, bool write, const char **why,
                          EmuFaultKind *kind)
{
    const uint32_t *row = row_of(s, *granule);

    if (write ? !write_allowed(s, w, 0, granule, false, why, kind)
              : !write_before(s, w, 0, granule, row) && !racing_kind(row, why, kind)) {
        *kind = EMU_ASYNC_RACE;
        return false;
    }
    if (!crosses_proxy(w, row))
        return true;
    *kind = EMU_PROXY;
    *why = "it was written through the generic proxy and no fence.proxy.async follows";
    return false;
}

static uint32_t after_async(Shadow *s, Warp *w, uint32_t state, const AsyncAccess *access)
{
    uint32_t row[ROW_HEAD + MAX_READERS] = { 0 };

    if (!access->write)
        return after_read(s, w, state, access->agent, access->epoch);
    row[ROW_WRITER] = pack_writer(HOW_BULK, access->agent);
    row[ROW_EPOCH] = access->epoch;
    return add_state(s, row);
}

/* Neighbours mostly have one state, so what became of the last is kept. */
bool emu_shadow_async(Warp *w, AsyncAccess *access, uint32_t at, uint32_t bytes, const char **why,
                      EmuFaultKind *kind)
{
    Shadow *s = w->m->shadow;
    uint32_t *last = &s->granules[(at + bytes - 1) >> s->shift];
    bool ok = true;

    for (uint32_t *granule = &s->granules[at >> s->shift]; granule <= last; granule++) {
        if (*granule & IN_FLIGHT) {
            *kind = EMU_ASYNC_RACE;
            *why = "a cp.async that writes it has not been waited for";
            ok = false;
            continue;
        }
        if (*granule != access->state || access->round != s->round) {
            bool recorded = *granule >= s->clean, own = recorded && copied_just_now(w, row_of(s, *granule));

            if (recorded)
                ok &= async_allowed(s, w, granule, access->write, why, kind);
            access->next = after_async(s, w, recorded ? *granule : 0, access);
            access->state = *granule; /* numbers may be new */
            access->round = own ? 0 : s->round;
        }
        *granule = access->next;
    }
    return ok;
}

/* ---- global memory ------------------------------------------------------------------------ */

/* Who writes what is kept a granule, for writes only: a write after a read by
 * another thread is not noticed. Blocks are unordered, unless the writer has
 * passed a fence at device scope since and the reader's block has done an
 * atomic or acquiring access (the pattern of a last block that sums up). */

static uint64_t first_byte(const Buffer *b)
{
    return b->base & ~UINT64_C(255);
}

static void start_writers(Machine *m, Buffer *b)
{
    uint64_t bytes = b->base + b->size - first_byte(b);

    b->writers = arena_array(m->arena, uint32_t, (bytes >> m->entry->granule_shift) + 1);
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

static bool writer_before(Warp *w, uint32_t id)
{
    const Writer *other = &w->m->run->writers.data[id];

    if (other->pending)
        return false;
    if (other->block == w->m->block_index)
        return before(w, other->warp, other->epoch);
    return other->released && w->m->acquired;
}

bool emu_global_race(Warp *w, Buffer *b, uint64_t offset, int bytes, AccessMode mode, Writer *other)
{
    int shift = w->m->entry->granule_shift;
    uint64_t at = b->base - first_byte(b) + offset, last = (at + (uint64_t)bytes - 1) >> shift;
    bool race = false;

    if (mode == ACCESS_ATOMIC)
        return false;
    if (b->launch != w->m->memory->launches) {
        if (mode == ACCESS_READ)
            return false;
        start_writers(w->m, b);
    }
    for (uint64_t g = at >> shift; g <= last; g++) {
        uint32_t id = b->writers[g];

        if (id && id != w->writer_id && id != w->ordered_id) {
            if (writer_before(w, id)) {
                w->ordered_id = id;
            } else {
                *other = w->m->run->writers.data[id];
                race = true;
            }
        }
        if (mode == ACCESS_WRITE)
            b->writers[g] = own_id(w);
    }
    return race;
}
