/* flags.c: order by flags in memory (PTX ISA, "Memory Consistency Model": "Release and Acquire Patterns",
 * "Ordering of Synchronizing Operations").
 *
 *     warp 0, or an earlier block              warp 3, or a later block
 *     st [data], x                       L:    ld.relaxed f, [flag]; @!f bra L
 *     fence.release, or in the store           fence.acquire, or in the load
 *     st.relaxed [flag], 1   ──────────────►   ld y, [data]
 *
 * A location that was written behind a release keeps what its writer knew; who reads it, in
 * an acquire or with one behind, knows that as well. An atomic operation adds to what the
 * location has, any other strong write replaces it. Both sides must have a scope that
 * includes the other: what is known is kept a scope.
 *
 * What comes before a fence that a barrier follows counts as fenced for whoever waits at the
 * barrier: the manual has the fence of the thread that writes the flag only, programs have both.
 *
 * Vocabulary
 *   Known   epochs of warps that have come before, a clock a block; never changed once made
 *   behind  what a warp's fences released, so what its strong writes say
 *   heard   what its strong reads found, so what its fences acquire
 *   part    what some lanes have acquired and others not, until a barrier of the warp
 */
#include "emu/async.h"
#include "emu/cluster.h"

typedef struct BlockClock {
    uint64_t block;
    const uint32_t *epochs; /* of agents, then those that the asynchronous proxy may read (Clock.fenced) */
} BlockClock;

struct Known {
    bool everything; /* too many blocks: races with them may be missed, none is made up */
    int count;
    BlockClock blocks[]; /* ascending */
};

enum { MOST_BLOCKS = 1024 };

typedef struct Flag Flag;
struct Flag {
    const uint8_t *at; /* NULL: free */
    KnownBy said;
};

/* ---- what is known ------------------------------------------------------------------ */

static int clock_words(const Machine *m)
{
    return m->agent_count + m->warp_count + 1;
}

static Known *new_known(const Machine *m, int blocks)
{
    return arena_alloc(m->arena, sizeof(Known) + (size_t)blocks * sizeof(BlockClock));
}

static const uint32_t *block_clock(const Known *k, uint64_t block)
{
    int low = 0, high = k->count;

    while (low < high) {
        int mid = (low + high) / 2;

        if (k->blocks[mid].block < block)
            low = mid + 1;
        else
            high = mid;
    }
    return low < k->count && k->blocks[low].block == block ? k->blocks[low].epochs : NULL;
}

static bool clock_covers(const Machine *m, const uint32_t *a, const uint32_t *b)
{
    int i = 0, n = clock_words(m);

    while (i < n && a[i] >= b[i])
        i++;
    return i == n;
}

static bool covers(const Machine *m, const Known *a, const Known *b)
{
    if (b->everything && !a->everything)
        return false;
    for (int i = 0; i < b->count; i++) {
        const uint32_t *mine = block_clock(a, b->blocks[i].block);

        if (!mine || (mine != b->blocks[i].epochs && !clock_covers(m, mine, b->blocks[i].epochs)))
            return false;
    }
    return true;
}

static const uint32_t *later_clock(const Machine *m, const uint32_t *a, const uint32_t *b)
{
    int n = clock_words(m);
    uint32_t *both;

    if (clock_covers(m, a, b))
        return a;
    both = arena_array(m->arena, uint32_t, n);
    for (int i = 0; i < n; i++)
        both[i] = a[i] > b[i] ? a[i] : b[i];
    return both;
}

/* Of too many blocks only the own one is kept. */
static const Known *shortened(const Machine *m, const Known *k)
{
    const uint32_t *own = block_clock(k, m->block_index);
    Known *less;

    if (k->count <= MOST_BLOCKS)
        return k;
    less = new_known(m, 1);
    less->everything = true;
    if (own)
        less->blocks[less->count++] = (BlockClock){ m->block_index, own };
    return less;
}

static const Known *merged(const Machine *m, const Known *a, const Known *b)
{
    Known *both;
    int i = 0, k = 0;

    if (!b || a == b)
        return a;
    if (!a || covers(m, b, a))
        return b;
    if (covers(m, a, b))
        return a;
    both = new_known(m, a->count + b->count);
    both->everything = a->everything || b->everything;
    while (i < a->count || k < b->count) {
        const BlockClock *x = i < a->count ? &a->blocks[i] : NULL, *y = k < b->count ? &b->blocks[k] : NULL;
        BlockClock *to = &both->blocks[both->count++];

        *to = !y || (x && x->block <= y->block) ? *x : *y;
        if (x && y && x->block == y->block)
            to->epochs = later_clock(m, x->epochs, y->epochs);
        i += x && x->block == to->block;
        k += y && y->block == to->block;
    }
    return shortened(m, both);
}

/* What is known at several scopes is mostly the same, and then stays so. */
static void merge_by_scope(const Machine *m, KnownBy *into, const KnownBy *from, Scope most)
{
    KnownBy old = *into;

    for (int s = 0; s <= (int)most; s++) {
        if (s && old.scope[s] == old.scope[s - 1] && from->scope[s] == from->scope[s - 1])
            into->scope[s] = into->scope[s - 1];
        else
            into->scope[s] = merged(m, old.scope[s], from->scope[s]);
    }
}

/* The first scopes of it, as far as an access or a fence reaches. */
static KnownBy up_to(const KnownBy *what, Scope scope)
{
    KnownBy part = *what;

    for (int s = (int)scope + 1; s < SCOPES; s++)
        part.scope[s] = NULL;
    return part;
}

/* All that a warp knows, its own accesses up to now among it. */
static const Known *all_known(const Warp *w)
{
    const Machine *m = w->m;
    uint32_t *epochs = arena_array(m->arena, uint32_t, clock_words(m));
    Known *own = new_known(m, 1);

    memcpy(epochs, w->seen, (size_t)m->agent_count * sizeof *epochs);
    epochs[w->index] = w->epoch;
    if (w->async)
        memcpy(epochs + m->agent_count, w->async->fenced, (size_t)(m->warp_count + 1) * sizeof *epochs);
    own->count = 1;
    own->blocks[0] = (BlockClock){ m->block_index, epochs };
    return merged(m, own, w->others);
}

bool emu_known_of_block(const Warp *w, uint64_t block, int agent, uint32_t epoch)
{
    const uint32_t *epochs = w->others ? block_clock(w->others, block) : NULL;

    return epochs ? epochs[agent] >= epoch : w->others && w->others->everything;
}

/* ---- learning ------------------------------------------------------------------------- */

static void learn_own(Warp *w, const uint32_t *epochs)
{
    const Machine *m = w->m;

    for (int i = 0; i < m->agent_count; i++) {
        if (epochs[i] > w->seen[i] && i != w->index)
            w->seen[i] = epochs[i];
    }
    for (int i = 0; w->async && i <= m->warp_count; i++) {
        if (epochs[m->agent_count + i] > w->async->fenced[i])
            w->async->fenced[i] = epochs[m->agent_count + i];
    }
}

/* What of it a scope reaches but the own block: nothing, the cluster, the device. */
static const Known *reached(const Warp *w, const Known *k, Scope scope)
{
    const Machine *m = w->m;
    Known *part;

    if (scope == SCOPE_DEVICE)
        return k;
    if (scope == SCOPE_BLOCK || m->cluster->size == 1)
        return NULL;
    part = new_known(m, k->count);
    for (int i = 0; i < k->count; i++) {
        if (emu_cluster_rank(m, k->blocks[i].block) >= 0)
            part->blocks[part->count++] = k->blocks[i];
    }
    return part;
}

static void learn(Warp *w, const KnownBy *what)
{
    const Known *last = NULL;

    for (int s = SCOPES; s-- > 0;) {
        const Known *k = what->scope[s];
        const uint32_t *own = k ? block_clock(k, w->m->block_index) : NULL;

        if (!k || k == last)
            continue;
        if (own)
            learn_own(w, own);
        w->others = merged(w->m, w->others, reached(w, k, (Scope)s));
        last = k;
    }
    w->version++;
    w->ordered_id = 0;
}

/* Whether it says that lanes of this very warp, since its last barrier, come before. */
static bool says_lanes(const Warp *w, const KnownBy *what)
{
    const uint32_t *own = what->scope[SCOPE_BLOCK] ? block_clock(what->scope[SCOPE_BLOCK], w->m->block_index) : NULL;

    return own && own[w->index] >= w->span_epoch;
}

/* Some lanes of a warp, or all, acquire. */
static void acquire(Warp *w, uint32_t lanes, const KnownBy *what)
{
    if (!what->scope[SCOPE_BLOCK])
        return;
    if (says_lanes(w, what))
        emu_new_span(w);
    if (lanes == w->live) {
        learn(w, what);
        return;
    }
    merge_by_scope(w->m, &w->part, what, SCOPE_DEVICE);
    w->part_lanes |= lanes;
    if (!(w->live & ~w->part_lanes))
        emu_flags_together(w);
}

void emu_flags_together(Warp *w)
{
    if (!w->part_lanes)
        return;
    learn(w, &w->part);
    w->part_lanes = 0;
    memset(&w->part, 0, sizeof w->part);
}

void emu_flags_enter(Warp *w, WarpKnows *before)
{
    memcpy(before->seen, w->seen, sizeof w->seen);
    before->others = w->others;
    learn(w, &w->part);
}

void emu_flags_leave(Warp *w, const WarpKnows *before)
{
    memcpy(w->seen, before->seen, sizeof w->seen);
    w->others = before->others;
    w->version++;
    w->ordered_id = 0;
}

/* ---- barriers ------------------------------------------------------------------------- */

void emu_flags_release(const Warp *w, Clock *join)
{
    join->others = merged(w->m, join->others, w->others);
    merge_by_scope(w->m, &join->behind, &w->behind, SCOPE_DEVICE);
}

void emu_flags_acquire(Warp *w, const Clock *join)
{
    w->others = merged(w->m, w->others, join->others);
    merge_by_scope(w->m, &w->behind, &join->behind, SCOPE_DEVICE);
}

void emu_flags_merge(const Machine *m, Clock *into, const Clock *from)
{
    into->others = merged(m, into->others, from->others);
    merge_by_scope(m, &into->behind, &from->behind, SCOPE_DEVICE);
}

/* ---- fences --------------------------------------------------------------------------- */

static const Known *known_to(Warp *w, uint32_t lanes)
{
    WarpKnows before;
    const Known *all;

    if (!(w->part_lanes & lanes))
        return all_known(w);
    emu_flags_enter(w, &before);
    all = all_known(w);
    emu_flags_leave(w, &before);
    return all;
}

/* The new epoch begins in who calls it. */
void emu_flags_fence(Warp *w, uint32_t lanes, Scope scope, uint32_t flags)
{
    if (flags & IF_ACQUIRE && w->heard_lanes & lanes) {
        KnownBy heard = up_to(&w->heard, scope);

        w->heard_lanes &= ~lanes;
        if (!w->heard_lanes)
            memset(&w->heard, 0, sizeof w->heard);
        acquire(w, lanes, &heard);
    }
    if (flags & IF_RELEASE) {
        const Known *all = known_to(w, lanes);

        for (int s = 0; s <= (int)scope; s++)
            w->behind.scope[s] = all;
    }
}

/* ---- flags ---------------------------------------------------------------------------- */

static bool in_shared(const Machine *m, const uint8_t *at)
{
    return at >= m->shared && at < m->shared + m->shared_bytes;
}

/* Those of shared memory go with their block. */
static Flags *flags_at(Machine *m, const uint8_t *at)
{
    for (int i = 0; i < m->cluster->size; i++) {
        if (in_shared(&m->cluster->blocks[i], at))
            return &m->cluster->blocks[i].flags;
    }
    return &m->run->flags;
}

static uint32_t hash_place(const uint8_t *at)
{
    return (uint32_t)((uint64_t)(uintptr_t)at * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static Flag *find_flag(const Flags *f, const uint8_t *at)
{
    uint32_t i = hash_place(at) & (uint32_t)(f->cap - 1);

    while (f->table[i].at && f->table[i].at != at)
        i = (i + 1) & (uint32_t)(f->cap - 1);
    return &f->table[i];
}

static void grow(const Machine *m, Flags *f)
{
    Flags old = *f;

    f->cap = old.cap ? 2 * old.cap : 64;
    f->table = arena_array(m->arena, Flag, f->cap);
    for (int i = 0; i < old.cap; i++) {
        if (old.table[i].at)
            *find_flag(f, old.table[i].at) = old.table[i];
    }
}

static Flag *need_flag(const Machine *m, Flags *f, const uint8_t *at)
{
    Flag *flag;

    if (f->count >= f->cap / 2)
        grow(m, f);
    flag = find_flag(f, at);
    f->count += !flag->at;
    flag->at = at;
    return flag;
}

void emu_flags_clear(Flags *f)
{
    if (f->count)
        memset(f->table, 0, (size_t)f->cap * sizeof *f->table);
    f->count = 0;
}

void emu_flags_read(Warp *w, const Inst *in, uint32_t mask, uint8_t *const at[LANES])
{
    KnownBy found = { { NULL } };
    uint32_t lanes = 0;

    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int l = first_lane(rest);
        const Flags *f = flags_at(w->m, at[l]);
        const Flag *flag = f->count ? find_flag(f, at[l]) : NULL;

        if (!flag || !flag->at)
            continue;
        merge_by_scope(w->m, &found, &flag->said, (Scope)in->scope);
        lanes |= 1u << l;
    }
    if (!lanes)
        return;
    if (in->flags & IF_ACQUIRE) {
        acquire(w, lanes, &found);
    } else {
        merge_by_scope(w->m, &w->heard, &found, (Scope)in->scope);
        w->heard_lanes |= lanes;
    }
}

/* Something that may say more than nothing. */
static bool says(const Warp *w, const Inst *in)
{
    return in->flags & IF_RELEASE || w->behind.scope[SCOPE_BLOCK];
}

void emu_flags_write(Warp *w, const Inst *in, uint32_t mask, uint8_t *const at[LANES], bool adds)
{
    KnownBy what = up_to(&w->behind, (Scope)in->scope);

    if (in->flags & IF_RELEASE && mask) {
        const Known *all = known_to(w, mask);

        for (int s = 0; s <= (int)in->scope; s++)
            what.scope[s] = all;
        emu_new_epoch(w);
    }
    for (; mask; mask &= mask - 1) {
        const uint8_t *place = at[first_lane(mask)];
        Flags *f = flags_at(w->m, place);
        Flag *flag;

        if (!says(w, in) && !f->count)
            continue;
        flag = need_flag(w->m, f, place);
        if (adds)
            merge_by_scope(w->m, &flag->said, &what, (Scope)in->scope);
        else
            flag->said = what;
    }
}
