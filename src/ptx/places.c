/* places.c: the places of the grid that a persistent kernel's blocks take.
 *
 * The first copier hands them out, or where there is none a lane of the first role, which
 * reads its slots like the others: it draws the number of the next from a counter in
 * global memory, makes what all roles want to know of that place, and leaves it in one
 * of two slots, which the instances of the other roles read. The counter goes back to 0
 * by itself: of as many draws as there are places, each block's last one is in vain
 * (PTX ISA, atom.inc).
 *
 * Vocabulary
 *   number   of a place; from the count of places on there is none
 *   word     what a slot tells of a place: its coordinates, and expressions of those and
 *            of the launch that take long to work out (heads by division, ends of loops)
 */
#include "ptx/roles.h"

enum {
    SLOTS = 2,
    LONG = 8                /* operations from which on an expression takes long */
};

typedef VEC(const Aff *) Words;

/* Ahead of an operation of a block, or at its end. */
typedef struct DrawPoint {
    const TileBlock *block;
    int at;
} DrawPoint;

typedef struct HandOut {
    Words words;
    const char *blocks, *count;      /* registers: of the grid at work, of places */
    const char *number, *none;       /* register; predicate: there is none */
    const char *teller;              /* "@p ": the lane of several that tells of places; "": there is one */
    const char **regs;               /* the words of the place at hand */
    const char *passed;
    VEC(DrawPoint) draws;            /* where the next is drawn, each on a path of its own */
} HandOut;

/* ---- what is told of a place ----------------------------------------------------------- */

static bool is_blocks(const TileKernel *kernel, const AffSym *sym)
{
    for (int i = 0; i < kernel->grid.len; i++)
        if (kernel->grid.data[i].sym == sym) return !kernel->grid.data[i].within;
    return false;
}

/* All that it uses is known of a place, and something of it changes with the place. */
static bool of_place(const TileKernel *kernel, const Aff *a, bool *changes)
{
    if (!a || a->kind == AFF_CONST) return true;
    if (a->kind == AFF_POISON) return false;
    if (a->kind != AFF_SYM) return of_place(kernel, a->a, changes) && of_place(kernel, a->b, changes);
    *changes |= is_blocks(kernel, a->sym);
    return a->sym->kind == AFF_DIM || is_blocks(kernel, a->sym);
}

/* Operations; a division by what is not constant is some thirty of them. */
static int work_of(const Aff *a)
{
    int64_t number;
    if (!a || a->kind == AFF_CONST || a->kind == AFF_SYM) return 0;
    bool divides = (a->kind == AFF_DIV || a->kind == AFF_MOD) && !aff_is_const(a->b, &number);
    return (divides ? LONG : 1) + work_of(a->a) + work_of(a->b);
}

/* Its operands are what is worth knowing. */
static bool is_shallow(const Aff *a)
{
    int64_t number;
    bool sum = a->kind == AFF_ADD || a->kind == AFF_MUL;
    return aff_is_condition(a) || (sum && (aff_is_const(a->a, &number) || aff_is_const(a->b, &number)));
}

static void add_words(const Emitter *e, Words *words, const Aff *a)
{
    bool changes = false;
    if (!a || a->kind == AFF_CONST || a->kind == AFF_SYM || work_of(a) < LONG) return;
    if (is_shallow(a) || !of_place(e->kernel, a, &changes)) {
        add_words(e, words, a->a);
        add_words(e, words, a->b);
        return;
    }
    for (int i = 0; i < words->len; i++)
        if (words->data[i] == a) return;
    if (changes && words->len < tile_place_words(e->kernel)) vec_push(e->arena, words, a);
}

static void words_of_block(const Emitter *e, Words *words, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int d = 0; op->coords && d < op->tensor->rank; d++) add_words(e, words, op->coords[d]);
        add_words(e, words, op->lo);
        add_words(e, words, op->hi);
        add_words(e, words, op->cond);
        add_words(e, words, op->unless);
        for (int r = 0; r < op->n_regions; r++) words_of_block(e, words, op->regions[r]);
    }
}

/* The same for all roles; what the copier wants comes first. */
static Words words_of(const Emitter *e, const TileOp *roles)
{
    Words words = {0};
    for (int i = 0; i < e->kernel->grid.len; i++) {
        const TileAxis *axis = &e->kernel->grid.data[i];
        if (!axis->within) vec_push(e->arena, &words, aff_of(e->program->aff, axis->sym));
    }
    int copier = ro_first_copier(roles);
    if (copier >= 0) words_of_block(e, &words, roles->regions[copier]);
    for (int i = 0; i < roles->n_regions; i++)
        if (i != copier) words_of_block(e, &words, roles->regions[i]);
    return words;
}

static void know_words(Emitter *e, const Words *words, const char *const *regs)
{
    for (int i = 0; i < words->len; i++) ix_know(e, words->data[i], regs[i], em_level(e));
}

static const char **new_words(Emitter *e, const Words *words)
{
    const char **regs = arena_array(e->arena, const char *, words->len);
    for (int i = 0; i < words->len; i++) regs[i] = em_new(e, REG_R);
    return regs;
}

/* ---- slots --------------------------------------------------------------------------------- */

static int64_t slots_at(const Emitter *e)
{
    return (rg_barriers(e->kernel, NULL) + 15) / 16 * 16;
}

/* Full barriers of the slots, then empty ones, then the slots. */
static int64_t slot_barrier(const Emitter *e, bool empty)
{
    return slots_at(e) + (empty ? 8 * SLOTS : 0);
}

static int64_t slot_word(const Emitter *e, int word)
{
    return slots_at(e) + 16 * SLOTS + 4 * word;
}

static const char *slot_address(Emitter *e, const char *slot, int bytes)
{
    const char *address = em_new(e, REG_R);
    em(e, "mad.lo.s32 %s, %s, %d, %s;", address, slot, bytes, e->smem);
    return address;
}

/* Where a role is among the slots: how many it has passed, in one register. */
static const char *start_slots(Emitter *e, int parity)
{
    const char *passed = em_new(e, REG_R);
    em_before(e, "mov.b32 %s, %d;", passed, parity * SLOTS);
    return passed;
}

typedef struct Slot {
    const char *barrier, *place; /* addresses, less their constant parts */
    const char *parity;
} Slot;

static Slot slot_at(Emitter *e, const char *passed)
{
    const char *slot = em_new(e, REG_R), *round = em_new(e, REG_R), *parity = em_new(e, REG_R);
    em(e, "and.b32 %s, %s, %d;", slot, passed, SLOTS - 1);
    em(e, "shr.u32 %s, %s, 1;", round, passed);
    em(e, "and.b32 %s, %s, 1;", parity, round);
    const char *barrier = slot_address(e, slot, 8), *place = slot_address(e, slot, 4 * tile_place_words(e->kernel));
    return (Slot){barrier, place, parity};
}

void pl_init(Emitter *e, const TileOp *roles)
{
    int readers = 0, copier = ro_first_copier(roles);
    for (int i = 0; i < roles->n_regions; i++)
        if (i != copier) readers += tile_instances(e->kernel, roles->roles[i].per) * (ro_is_copier(roles, i) ? 1 : roles->roles[i].warps);
    for (int k = 0; k < 2 * SLOTS; k++)
        em(e, "mbarrier.init.shared::cta.b64 [%s+%lld], %d;", e->smem, (long long)slots_at(e) + 8 * k,
           k < SLOTS ? 1 : readers);
}

/* Where there is no place, its first word is below 0. */
static void write_slot(Emitter *e, const HandOut *h)
{
    Slot slot = slot_at(e, h->passed);
    const char *first = em_new(e, REG_R);
    rg_wait(e, arena_printf(e->arena, "%s+%lld", slot.barrier, (long long)slot_barrier(e, true)), (Phase){slot.parity, -1});
    em(e, "selp.b32 %s, -1, %s, %s;", first, h->regs[0], h->none);
    for (int i = 0; i < h->words.len; i++)
        em(e, "%sst.shared.b32 [%s+%lld], %s;", h->teller, slot.place, (long long)slot_word(e, i), i ? h->regs[i] : first);
    em(e, "%smbarrier.arrive.shared::cta.b64 _, [%s+%lld];", h->teller, slot.barrier, (long long)slot_barrier(e, false));
    em(e, "add.s32 %s, %s, 1;", h->passed, h->passed);
}

/* Words from the slot; jumps out where there is none. */
static void read_slot(Emitter *e, const Words *words, const char *passed, int end)
{
    Slot slot = slot_at(e, passed);
    const char **same = new_words(e, words), *p = em_new(e, REG_P);
    rg_wait(e, arena_printf(e->arena, "%s+%lld", slot.barrier, (long long)slot_barrier(e, false)), (Phase){slot.parity, -1});
    for (int i = 0; i < words->len; i++) {
        const char *raw = em_new(e, REG_R);
        em(e, "ld.shared.b32 %s, [%s+%lld];", raw, slot.place, (long long)slot_word(e, i));
        em(e, "shfl.sync.idx.b32 %s, %s, 0, 31, -1;", same[i], raw); /* the same in all lanes: ptxas keeps it uniform */
    }
    know_words(e, words, same);
    em(e, "@%s mbarrier.arrive.shared::cta.b64 _, [%s+%lld];", e->first_lane, slot.barrier, (long long)slot_barrier(e, true));
    em(e, "add.s32 %s, %s, 1;", passed, passed);
    em(e, "setp.lt.s32 %s, %s, 0;", p, same[0]);
    em(e, "@%s bra.uni $last%d;", p, end);
}

/* ---- handing out ----------------------------------------------------------------------------- */

static int kernel_number(const Emitter *e)
{
    int i = 0;
    while (e->program->kernels.data[i] != e->kernel) i++;
    return i;
}

/* From the number of a place to its words, and to all roles. What that takes is worked
 * out here, and kept no longer: copiers have few registers. */
static void tell(Emitter *e, HandOut *h)
{
    Memos *memos = e->memos;
    Memo *syms = e->syms;
    int n_syms = e->n_syms;
    e->memos = mo_new(e->arena);
    e->syms = arena_array(e->arena, Memo, n_syms);
    kn_dimensions(e);
    em(e, "setp.ge.s32 %s, %s, %s;", h->none, h->number, h->count);
    kn_decode_grid(e, h->number);
    for (int i = 0; i < h->words.len; i++) em(e, "mov.b32 %s, %s;", h->regs[i], ix_value(e, h->words.data[i]));
    write_slot(e, h);
    e->memos = memos;
    e->syms = syms;
    e->n_syms = n_syms;
}

static void draw(Emitter *e, HandOut *h)
{
    const char *limit = em_new(e, REG_R), *generic = em_new(e, REG_RD), *counter = em_new(e, REG_RD);
    em(e, "add.s32 %s, %s, -1;", limit, h->count);
    em(e, "ld.param.u64 %s, [%s];", generic, kn_param(e, ABI_COUNTER, 0, kernel_number(e)));
    em(e, "cvta.to.global.u64 %s, %s;", counter, generic);
    em(e, "%satom.global.inc.u32 %s, [%s], %s;", h->teller, h->number, counter, limit);
}

void pl_draw(Emitter *e, const TileBlock *block, int at)
{
    HandOut *h = e->hand_out;
    for (int i = 0; h && i < h->draws.len; i++)
        if (h->draws.data[i].block == block && h->draws.data[i].at == at) draw(e, h);
}

/* A copier draws ahead of its last wait for room: the counter answers while it waits. A
 * place drawn sooner would be kept from blocks that are done
 * sooner. */
static void mark_draws(Emitter *e, HandOut *h, const TileBlock *block)
{
    int at = block->ops.len;
    for (int i = at - 1; i >= 0 && at == block->ops.len; i--) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_ACQUIRE) at = i;
        if (op->kind == TILE_FOR && tile_has(op->regions[0], TILE_ACQUIRE)) break;
        if (op->kind != TILE_IF || op->n_regions < 2) continue;
        if (!tile_has(op->regions[0], TILE_ACQUIRE) && !tile_has(op->regions[1], TILE_ACQUIRE)) continue;
        mark_draws(e, h, op->regions[0]);
        mark_draws(e, h, op->regions[1]);
        return;
    }
    vec_push(e->arena, &h->draws, (DrawPoint){block, at});
}

/* A block's first place has its own number. */
static void first_place(Emitter *e, HandOut *h)
{
    Str loop = e->scopes.data[0];
    e->scopes.data[0] = *e->before;
    kn_dimensions(e);
    em(e, "mov.b32 %s, %s;", h->count, ix_value(e, e->abi->kernels.data[kernel_number(e)].fast.blocks));
    em(e, "mov.u32 %s, %%ctaid.x;", h->number);
    tell(e, h);
    *e->before = e->scopes.data[0];
    e->scopes.data[0] = loop;
}

static HandOut hand_out_new(Emitter *e, const TileOp *roles, const char *teller)
{
    HandOut h = {.words = words_of(e, roles), .teller = teller};
    h.blocks = em_new(e, REG_R);
    h.count = em_new(e, REG_R);
    h.number = em_new(e, REG_R);
    h.none = em_new(e, REG_P);
    h.passed = start_slots(e, 1);
    h.regs = new_words(e, &h.words);
    return h;
}

/* The place behind those that all blocks took first which was drawn. */
static void tell_next(Emitter *e, HandOut *h)
{
    em(e, "mov.u32 %s, %%nctaid.x;", h->blocks);
    em(e, "add.s32 %s, %s, %s;", h->number, h->number, h->blocks);
    tell(e, h);
}

void pl_hand_out(Emitter *e, const TileOp *roles, int role, int label)
{
    const TileBlock *body = roles->regions[role];
    HandOut h = hand_out_new(e, roles, "");
    mark_draws(e, &h, body);
    first_place(e, &h);
    em_before(e, "@%s bra.uni $last%d;", h.none, label);
    kn_arguments(e);
    know_words(e, &h.words, h.regs);
    e->hand_out = &h;
    kn_block(e, body);
    e->hand_out = NULL;
    tell_next(e, &h);
    em(e, "@!%s bra.uni $place%d;", h.none, label);
    em(e, "$last%d:", label);
}

void pl_hand_out_among(Emitter *e, const TileOp *roles, int role, int label)
{
    const char *first = em_new(e, REG_P), *passed = start_slots(e, 0);
    HandOut h = hand_out_new(e, roles, arena_printf(e->arena, "@%s ", first));
    em_before(e, "setp.eq.s32 %s, %s, 0;", first, e->tid);
    first_place(e, &h);
    kn_arguments(e);
    read_slot(e, &h.words, passed, label);
    kn_block(e, roles->regions[role]);
    lt_show_all(e);
    draw(e, &h);
    tell_next(e, &h);
    em(e, "bra.uni $place%d;", label);
    em(e, "$last%d:", label);
}

void pl_take(Emitter *e, const TileOp *roles, int role, int label)
{
    Words words = words_of(e, roles);
    const char *passed = start_slots(e, 0);
    kn_arguments(e);
    read_slot(e, &words, passed, label);
    kn_block(e, roles->regions[role]);
    lt_show_all(e);
    em(e, "bra.uni $place%d;", label);
    em(e, "$last%d:", label);
}
