/* shadow.c: finds data races between warps, in shared memory; lanes.c does within one, global.c in global memory.
 *
 * Order is happens-before between warps: each warp has an epoch that a release
 * (arriving at a barrier) ends, and `seen[r]`, the last epoch of warp r that is
 * known to have ended before now. An access in epoch e of warp r comes before
 * what warp w does now if r == w or w->seen[r] >= e. Nothing depends on the
 * order in which the emulator happens to run the warps. Between blocks of a cluster
 * only the cluster's barrier orders (cluster.c).
 *
 * A granule of shared memory has one word: the number of a state, or "in
 * flight" with the thread whose cp.async will write it. Of what a cp.async wrote
 * the lane is kept apart, since it matters only until its warp's epoch has ended.
 * States are interned:
 *
 *     state = { last writer, its epoch, how | readers since, an epoch each | atomics since, likewise }
 *
 * Tiles are accessed whole, so there are few states, and "what does a read by
 * warp w make of state s" is remembered a warp. Numbers below `clean` stand for
 * "everything comes before everybody": a barrier of the whole block raises
 * `clean` and so forgets all states at once.
 */
#include "emu/async.h"
#include "emu/cluster.h"

#define IN_FLIGHT 0x80000000u
enum {
    FIRST_ROWS = 4096,
    MOST_ROWS = 1 << 18,
    LAST_STATE = 1 << 30
};

/* HOW_BULK: by a bulk copy or st.async, that is, by the agent of the mbarrier that says so. */
typedef enum How { HOW_NONE, HOW_PLAIN, HOW_ASYNC, HOW_BULK } How;

/* Two uses by different agents do not race: reads of what is only read, atomic operations
 * on what is only changed so. */
typedef enum Use { USE_READ, USE_ATOMIC, USES } Use;

/* Layout of a row: words, a set of users a use, the users' epochs last. Writers and users are
 * agents of the block, or from MAX_AGENTS on warps of all blocks of the cluster, by rank; in
 * a set those follow the agents that read. Entries without atomics have sets of readers only. */
enum { ROW_WRITER, ROW_EPOCH, ROW_USERS };
enum { MOST_USERS = MAX_READERS + MAX_CLUSTER * MAX_WARPS };
enum { MOST_WORDS = ROW_USERS + USES * ((MOST_USERS + 31) / 32 + MOST_USERS) };

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
    int uses, users, set_words; /* of a row: sets; agents and words in each */
    int stride;                 /* words of a row */
    int row_limit;
};

static uint32_t pack_writer(How how, int agent)
{
    return (uint32_t)how << 16 | (uint32_t)agent;
}
static How row_how(const uint32_t *row)
{
    return (How)(row[ROW_WRITER] >> 16);
}
static int row_agent(const uint32_t *row)
{
    return row[ROW_WRITER] & 0xffff;
}

static int set_at(const Shadow *s, Use use)
{
    return ROW_USERS + (int)use * s->set_words;
}
static int epochs_at(const Shadow *s, Use use)
{
    return ROW_USERS + s->uses * s->set_words + (int)use * s->users;
}

/* Where an agent stands in a set of users, and who stands there. */
static int user_place(const Shadow *s, int agent)
{
    return agent < MAX_AGENTS ? agent : agent - MAX_AGENTS + s->m->reader_count;
}
static int user_at(const Shadow *s, int place)
{
    return place < s->m->reader_count ? place : place - s->m->reader_count + MAX_AGENTS;
}

/* How this block's shadow calls a warp. */
static int agent_of(const Shadow *s, const Warp *w)
{
    return w->m == s->m ? w->index : MAX_AGENTS + w->m->rank * w->m->warp_count + w->index;
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
    int others = m->cluster->size > 1 ? m->cluster->size * m->warp_count : 0;

    s->m = m;
    s->shift = m->entry->shared_shift;
    s->granule_count = (bytes >> s->shift) + 1;
    s->granules = arena_array(m->arena, uint32_t, s->granule_count);
    s->copiers = arena_array(m->arena, uint8_t, s->granule_count);
    s->uses = m->entry->shared_atomics ? USES : 1;
    s->users = m->reader_count + others;
    s->set_words = (s->users + 31) / 32;
    s->stride = ROW_USERS + s->uses * (s->set_words + s->users);
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
        w->write_state = w->async_state = 0;
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
    uint32_t copy[MOST_WORDS];

    if ((int)(s->next - s->clean) >= s->row_limit - 1) {
        memcpy(copy, row, (size_t)s->stride * 4);
        collect(s);
        row = copy;
    }
    return intern(s, row);
}

/* ---- order ------------------------------------------------------------------------ */

bool emu_known(const Warp *w, int rank, int agent, uint32_t epoch)
{
    if (rank != w->m->rank)
        return emu_cluster_before(w, rank, agent, epoch) ||
               emu_known_of_block(w, w->m->cluster->blocks[rank].block_index, agent, epoch);
    return agent == w->index || w->seen[agent] >= epoch;
}

/* The same of an agent as rows name it. */
static bool before(const Shadow *s, const Warp *w, int agent, uint32_t epoch)
{
    int far = agent - MAX_AGENTS, warps = s->m->warp_count;

    return far < 0 ? emu_known(w, s->m->rank, agent, epoch) : emu_known(w, far / warps, far % warps, epoch);
}

/* Whether the last write was by a cp.async of warp w in its present epoch. It is visible
 * to its own thread after the wait, to the others of the warp only after a barrier (PTX
 * ISA, "cp.async.wait_group"), so what follows from it depends on the lane. */
static bool copied_just_now(const Shadow *s, const Warp *w, const uint32_t *row)
{
    return row_how(row) == HOW_ASYNC && row_agent(row) == agent_of(s, w) && row[ROW_EPOCH] == w->epoch;
}

/* Whether the last write, `row` of this granule, comes before what this lane does now. */
static bool write_before(const Shadow *s, const Warp *w, int lane, const uint32_t *granule, const uint32_t *row)
{
    if (row_how(row) == HOW_NONE)
        return true;
    if (copied_just_now(s, w, row))
        return s->copiers[granule - s->granules] == lane;
    return before(s, w, row_agent(row), row[ROW_EPOCH]);
}

/* Who uses it so and does not come before what warp w does now; -1: nobody. */
static int open_user(const Shadow *s, const Warp *w, const uint32_t *row, Use use)
{
    const uint32_t *set = row + set_at(s, use), *epochs = row + epochs_at(s, use);

    for (int word = 0; word < s->set_words && (int)use < s->uses; word++) {
        for (uint32_t users = set[word]; users; users &= users - 1) {
            int place = 32 * word + first_lane(users);

            if (!before(s, w, user_at(s, place), epochs[place]))
                return user_at(s, place);
        }
    }
    return -1;
}

static EMU_COLD uint32_t after_write(Shadow *s, How how, int agent, uint32_t epoch)
{
    uint32_t row[MOST_WORDS];

    memset(row, 0, (size_t)s->stride * 4);
    row[ROW_WRITER] = pack_writer(how, agent);
    row[ROW_EPOCH] = epoch;
    return add_state(s, row);
}

static uint32_t writer_state(Shadow *s, Warp *w, How how)
{
    uint32_t *mine = how == HOW_ASYNC ? &w->async_state : &w->write_state;

    if (*mine < s->clean)
        *mine = after_write(s, how, w->index, w->epoch);
    return *mine;
}

/* ---- what is allowed ------------------------------------------------------------------ */

/* Whether only a barrier of the cluster could order an agent and a warp. */
static bool between_blocks(const Shadow *s, const Warp *w, int agent)
{
    return s->m != w->m || agent >= MAX_AGENTS;
}

static bool races_write(const Shadow *s, const Warp *w, const uint32_t *row, const char **why, EmuFaultKind *kind)
{
    bool async = row_how(row) == HOW_ASYNC;

    if (row_how(row) == HOW_BULK) {
        *kind = EMU_ASYNC_RACE;
        *why = "a bulk copy or st.async writes it, and the phase of its mbarrier that says so has not been waited for";
        return false;
    }
    *kind = async ? EMU_ASYNC_RACE : EMU_RACE;
    *why = async ? "no barrier follows the wait for the cp.async that wrote it"
           : between_blocks(s, w, row_agent(row)) ? "a warp of another block wrote it and no barrier of the cluster lies between"
                                                  : "another warp wrote it and no barrier lies between";
    return false;
}

static bool races_use(const Shadow *s, const Warp *w, int user, Use use, const char **why, EmuFaultKind *kind)
{
    static const char *const whys[2][USES] = {
        { "another warp reads it and no barrier lies between", "another warp changes it atomically and no barrier lies between" },
        { "a warp of another block reads it and no barrier of the cluster lies between",
          "a warp of another block changes it atomically and no barrier of the cluster lies between" },
    };

    *kind = EMU_RACE;
    *why = whys[between_blocks(s, w, user)][use];
    if (user >= s->m->warp_count && user < MAX_AGENTS) {
        *kind = EMU_ASYNC_RACE;
        *why = "a wgmma or a bulk copy that reads it has not been waited for, or no barrier follows the wait";
    }
    return false;
}

/* Whether everything recorded of this granule, which is something, comes before an access by
 * this lane that does not go with it. */
static EMU_COLD bool allowed(const Shadow *s, const Warp *w, int lane, const uint32_t *granule, AccessMode mode,
                             const char **why, EmuFaultKind *kind)
{
    const uint32_t *row = row_of(s, *granule);
    int user;

    if (mode != ACCESS_READ && (user = open_user(s, w, row, USE_READ)) >= 0)
        return races_use(s, w, user, USE_READ, why, kind);
    if (mode != ACCESS_ATOMIC && (user = open_user(s, w, row, USE_ATOMIC)) >= 0)
        return races_use(s, w, user, USE_ATOMIC, why, kind);
    return write_before(s, w, lane, granule, row) || races_write(s, w, row, why, kind);
}

/* ---- a use ------------------------------------------------------------------------- */

/* What follows a use by warp w follows these users too, or goes with both. */
static void drop_users(const Shadow *s, const Warp *w, uint32_t *row, Use use)
{
    uint32_t *set = row + set_at(s, use), *epochs = row + epochs_at(s, use);

    for (int word = 0; word < s->set_words; word++) {
        for (uint32_t users = set[word]; users; users &= users - 1) {
            int place = 32 * word + first_lane(users);

            if (before(s, w, user_at(s, place), epochs[place])) {
                set[word] &= ~(1u << place % 32);
                epochs[place] = 0;
            }
        }
    }
}

/* The state after a use that warp w does or starts, and that ends with an agent's epoch. */
static EMU_COLD uint32_t after_use(Shadow *s, const Warp *w, uint32_t state, Use use, int agent, uint32_t epoch)
{
    int place = user_place(s, agent);
    uint32_t row[MOST_WORDS], *last = row + epochs_at(s, use) + place;

    if (state >= s->clean)
        memcpy(row, row_of(s, state), (size_t)s->stride * 4);
    else
        memset(row, 0, (size_t)s->stride * 4);
    drop_users(s, w, row, use);
    row[set_at(s, use) + place / 32] |= 1u << place % 32;
    if (*last < epoch) /* warps of a warpgroup come in any order */
        *last = epoch;
    return add_state(s, row);
}

/* A read or an atomic operation that the memo does not know. */
static EMU_COLD bool use_afresh(Shadow *s, Warp *w, int lane, uint32_t *granule, Use use, Memo *memo,
                                const char **why, EmuFaultKind *kind)
{
    uint32_t state = *granule < s->clean ? 0 : *granule, version = w->version;
    bool own = state && copied_just_now(s, w, row_of(s, state));
    bool ok = !state || allowed(s, w, lane, granule, use == USE_READ ? ACCESS_READ : ACCESS_ATOMIC, why, kind);

    *granule = after_use(s, w, state, use, w->index, w->epoch);
    /* One's own copy is not remembered; and states may have new numbers since. */
    if (ok && !own && version == w->version)
        *memo = (Memo){ state, w->version, *granule };
    return ok;
}

static inline bool use_granule(Shadow *s, Warp *w, int lane, uint32_t *granule, Use use, const char **why,
                               EmuFaultKind *kind)
{
    uint32_t state = *granule < s->clean ? 0 : *granule;
    Memo *memo = &(use == USE_READ ? w->reads : w->atomics)[state % MEMO];

    if (memo->state != state || memo->version != w->version || memo->next < s->clean)
        return use_afresh(s, w, lane, granule, use, memo, why, kind);
    *granule = memo->next;
    return true;
}

/* ---- a write -------------------------------------------------------------------------- */

/* Whether an ordinary write is all that races with one by warp w, which does. */
static bool only_overwrites(const Shadow *s, const Warp *w, const uint32_t *row)
{
    return row_how(row) == HOW_PLAIN && open_user(s, w, row, USE_READ) < 0 && open_user(s, w, row, USE_ATOMIC) < 0;
}

static bool write_granule(Shadow *s, Warp *w, int lane, uint32_t *granule, const char **why, EmuFaultKind *kind)
{
    uint32_t state = *granule;
    bool ok = true;
    Memo *memo = &w->writes[state % MEMO];

    if (state == w->write_state && state)
        return true;
    if (state >= s->clean && !(memo->state == state && memo->version == w->version)) {
        ok = allowed(s, w, lane, granule, ACCESS_WRITE, why, kind);
        w->overwrites &= ok || only_overwrites(s, w, row_of(s, state));
        if (ok && row_how(row_of(s, state)) != HOW_ASYNC)
            *memo = (Memo){ state, w->version, 0 };
    }
    *granule = writer_state(s, w, HOW_PLAIN);
    return ok;
}

/* ---- the interface ---------------------------------------------------------------------- */

bool emu_shadow_access(Warp *w, int lane, uint32_t at, int bytes, AccessMode mode,
                       const char **why, EmuFaultKind *kind)
{
    Shadow *s = w->m->shadow;
    uint32_t *last = &s->granules[(at + (uint32_t)bytes - 1) >> s->shift];
    bool ok = true;

    w->overwrites = mode == ACCESS_WRITE;
    for (uint32_t *granule = &s->granules[at >> s->shift]; granule <= last; granule++) {
        if (*granule & IN_FLIGHT) {
            *kind = EMU_ASYNC_RACE;
            *why = "a cp.async that writes it has not been waited for";
            return false;
        }
        if (mode == ACCESS_WRITE)
            ok &= write_granule(s, w, lane, granule, why, kind);
        else
            ok &= use_granule(s, w, lane, granule, mode == ACCESS_READ ? USE_READ : USE_ATOMIC, why, kind);
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
                bool fine = allowed(s, w, lane, granule, ACCESS_WRITE, why, &kind);

                if (fine && row_how(row_of(s, *granule)) != HOW_ASYNC)
                    *memo = (Memo){ *granule, w->version, 0 };
                ok &= fine;
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

/* ---- the asynchronous proxy, other blocks --------------------------------------------------- */

static bool fenced(const Shadow *s, const Warp *w, int agent, uint32_t epoch)
{
    int far = agent - MAX_AGENTS, warps = s->m->warp_count;

    return far < 0 ? emu_async_fenced(w, agent, epoch) : emu_cluster_fenced(w, far / warps, far % warps, epoch);
}

/* PTX ISA, "Async proxy": a write through the generic proxy is ordered before an
 * access through the asynchronous one only if a proxy fence lies on the way. */
static bool crosses_proxy(const Shadow *s, const Warp *w, const uint32_t *row)
{
    const uint32_t *set = row + set_at(s, USE_ATOMIC), *epochs = row + epochs_at(s, USE_ATOMIC);
    How how = row_how(row);

    if (how != HOW_NONE && how != HOW_BULK && !fenced(s, w, row_agent(row), row[ROW_EPOCH]))
        return true;
    for (int word = 0; word < s->set_words && s->uses > USE_ATOMIC; word++) {
        for (uint32_t users = set[word]; users; users &= users - 1) {
            int place = 32 * word + first_lane(users);

            if (!fenced(s, w, user_at(s, place), epochs[place]))
                return true;
        }
    }
    return false;
}

/* Whether what is recorded of a granule allows an access. */
static bool far_allowed(Shadow *s, Warp *w, const uint32_t *granule, const FarAccess *access, const char **why,
                        EmuFaultKind *kind)
{
    bool async = access->proxy != PROXY_GENERIC;

    if (!allowed(s, w, access->lane, granule, access->mode, why, kind)) {
        *kind = async ? EMU_ASYNC_RACE : *kind;
        return false;
    }
    if (access->proxy != PROXY_ASYNC || !crosses_proxy(s, w, row_of(s, *granule)))
        return true;
    *kind = EMU_PROXY;
    *why = "it was written through the generic proxy and no fence.proxy.async follows";
    return false;
}

static uint32_t after_far(Shadow *s, Warp *w, uint32_t state, const FarAccess *access)
{
    if (access->mode == ACCESS_WRITE)
        return after_write(s, access->proxy == PROXY_GENERIC ? HOW_PLAIN : HOW_BULK, access->agent, access->epoch);
    return after_use(s, w, state, access->mode == ACCESS_READ ? USE_READ : USE_ATOMIC, access->agent, access->epoch);
}

/* Neighbours mostly have one state, so what became of the last is kept. */
static bool far_access(Shadow *s, Warp *w, FarAccess *access, uint32_t at, uint32_t bytes, const char **why,
                       EmuFaultKind *kind)
{
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
            bool recorded = *granule >= s->clean, own = recorded && copied_just_now(s, w, row_of(s, *granule));

            if (recorded)
                ok &= far_allowed(s, w, granule, access, why, kind);
            access->next = after_far(s, w, recorded ? *granule : 0, access);
            access->state = *granule; /* numbers may be new */
            access->round = own ? 0 : s->round;
        }
        *granule = access->next;
    }
    return ok;
}

bool emu_shadow_async(Warp *w, FarAccess *access, uint32_t at, uint32_t bytes, const char **why, EmuFaultKind *kind)
{
    access->proxy = PROXY_ASYNC;
    return far_access(w->m->shadow, w, access, at, bytes, why, kind);
}

bool emu_shadow_remote(Shadow *s, Warp *w, FarAccess *access, uint32_t at, uint32_t bytes, const char **why,
                       EmuFaultKind *kind)
{
    access->proxy = PROXY_GENERIC;
    access->agent = agent_of(s, w);
    access->epoch = w->epoch;
    return far_access(s, w, access, at, bytes, why, kind);
}

bool emu_shadow_later(Shadow *s, Warp *w, FarAccess *access, uint32_t at, uint32_t bytes, const char **why, EmuFaultKind *kind)
{
    access->proxy = PROXY_LATER;
    return far_access(s, w, access, at, bytes, why, kind);
}
