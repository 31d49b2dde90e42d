/* mask.c: elements of a register tile that a mask replaces.
 *
 * A condition is tested for each element. Where a lane has many elements of a row and
 * their columns alone decide, as with causal, window and padding masks, it is tested once a
 * row, for the bounds of the columns that are kept, and an element is compared with those. Of
 * many elements two bounds make a word with a bit for each: ptxas moves seven bits at once into
 * predicates, so that an element takes little more than its select. (But then no other
 * predicate lasts beyond the mask: with one bound it is not worth that.) Where quotients of each element decide, as of a
 * hash of its place, a few elements wait for some before them, as in a chain (chain.c); where many terms do, each element
 * waits. Where those are of many masks, each of them waits for the one before (after.c).
 *
 * Vocabulary
 *   run    a lane's elements of one row, whose columns are 8 a + b with b of 0 and 1, in
 *          order (lay.h, accumulators); as many as a word has bits
 *   side   a conjunct of the condition that holds for the first elements of a run, or for
 *          the last: rest + constant + column <= 0, or rest + constant - column <= 0
 */
#include "ptx/emit.h"

enum { RUN = 32, LEAST_RUN = 16, MOST_SIDES = 6 };

typedef struct Side {
    const Aff *rest;
    int64_t constant; /* at the run's first element */
    bool first;       /* holds for the first elements */
} Side;

typedef struct Run {
    Emitter *e;
    const TileOp *op;
    const Aff *cond;
    int elements[RUN]; /* of the fragment */
    int n;
    Side sides[MOST_SIDES];
    int n_sides;
} Run;

/* ---- one by one ------------------------------------------------------------------ */

/* What masked elements become, as the tile's type has it: no type of 8 bits has infinities that stay. */
static const char *other_number(Emitter *e, const TileOp *op)
{
    return em_f32(e, dtype_round(op->results[0]->type.dtype, op->number));
}

/* Of words of two elements one half is cleared. */
static void select_by(Emitter *e, const TileOp *op, int i, const char *p)
{
    const Frag *frag = &e->frags[op->results[0]->id];
    if (frag->f) {
        em(e, "selp.f32 %%f%d, %%f%d, %s, %s;", frag->f[i], frag->f[i], other_number(e, op), p);
        return;
    }
    const char *kept = em_new(e, REG_R);
    int word = frag->packed[i / 2];
    em(e, "selp.b32 %s, -1, 0x%08x, %s;", kept, i % 2 ? 0x0000ffffu : 0xffff0000u, p);
    em(e, "and.b32 %%r%d, %%r%d, %s;", word, word, kept);
}

static void select_where(Emitter *e, const TileOp *op, int i, const Aff *cond)
{
    if (cond->kind == AFF_AND) {
        select_where(e, op, i, cond->a);
        select_where(e, op, i, cond->b);
        return;
    }
    if (!aff_always(e->program->aff, cond)) select_by(e, op, i, ix_condition_here(e, cond));
}

static void select_element(Emitter *e, const TileOp *op, int i, const Aff *cond)
{
    select_where(e, op, i, el_at(e, cond, op->results[0], i));
}

/* ---- in steps ------------------------------------------------------------------------ */

enum { GROUP = 4 }; /* elements under way together, with as many of the group before */

bool el_masks_in_steps(const Emitter *e, const TileOp *op)
{
    return tile_masks_in_steps(e->program, op);
}

/* Conjuncts without steps; the others are added to `stepped`, and so are all of many terms. */
static const Aff *without_steps(Emitter *e, const Aff *cond, bool many, const Aff **stepped)
{
    AffCtx *aff = e->program->aff;
    if (cond->kind == AFF_AND) {
        const Aff *a = without_steps(e, cond->a, many, stepped);
        return aff_and(aff, a, without_steps(e, cond->b, many, stepped));
    }
    if (!many && !tile_has_steps(e->program, cond)) return cond;
    *stepped = aff_and(aff, *stepped, cond);
    return aff_const(aff, 1);
}

/* An element as it is now, in 32 bits. */
static const char *bits_of(Emitter *e, const TileOp *op, int i)
{
    const Frag *frag = &e->frags[op->results[0]->id];
    const char *bits = em_new(e, REG_R);
    if (frag->f) em(e, "mov.b32 %s, %%f%d;", bits, frag->f[i]);
    else em(e, "mov.b32 %s, %%r%d;", bits, frag->packed[i / 2]);
    return bits;
}

/* What was made of the tile's rows before, as their sums: else ptxas leaves that for later, and keeps the tile as it was. */
static const TileValue *rows_before(const Emitter *e, const TileOp *op)
{
    for (int i = e->at - 1; i >= 0; i--) {
        const TileOp *other = e->block->ops.data[i];
        if (other->kind == TILE_REDUCE && other->args[0] == op->args[0] && other->results[0]->type.cols == 1) return other->results[0];
    }
    return NULL;
}

/* What elements from i on wait for, by their places: for the group before the last to be masked, the first ones for
 * themselves; and the first ones of a row for what was made of it. */
static const char *awaited(Emitter *e, const TileOp *op, const TileValue *rows, const char *never, int i)
{
    const TileValue *v = op->results[0];
    const char *bits = bits_of(e, op, i < 2 * GROUP ? i : i - GROUP - 1);
    for (int k = i; rows && k < i + GROUP && k < e->frags[v->id].n; k++) {
        const char *row = el_operand(e, rows, v, k), *made = em_new(e, REG_R);
        bool seen = false;
        for (int before = 0; before < k && !seen; before++) seen = strcmp(el_operand(e, rows, v, before), row) == 0;
        if (seen) continue;
        em(e, "mov.b32 %s, %s;", made, row);
        em(e, "selp.b32 %s, %s, %s, %s;", bits, made, bits, never);
    }
    return bits;
}

/* ptxas starts as many elements as it can, ahead of the tile itself, and spills: so they go in groups. */
static void mask_in_steps(Emitter *e, const TileOp *op, const Aff *cond, int n)
{
    const TileValue *v = op->results[0], *rows = rows_before(e, op);
    const char *never = el_never(e);
    int group = tile_decides_by_many(cond) ? 1 : GROUP;
    Lane lane = {0};
    for (int i = 0; i < n; i++) {
        if (i % group == 0) lane = el_lane_after(e, v, group < GROUP ? cond : NULL, never, awaited(e, op, rows, never, i));
        select_where(e, op, i, el_at_lane(e, cond, &lane, v, i));
    }
}

/* ---- runs ---------------------------------------------------------------------------- */

/* Of an element, from the run's first. */
static int column(int k)
{
    return k / 2 * 8 + k % 2;
}

/* The run that begins with an element: what else is in its row, and in no run yet. */
static void gather_run(Run *r, int first, int n, bool *taken)
{
    const TileValue *v = r->op->results[0];
    int row, col, first_row, first_col;
    fr_place(v, first, &first_row, &first_col);
    for (int i = first; i < n && r->n < RUN; i++) {
        fr_place(v, i, &row, &col);
        if (taken[i] || row != first_row || col != first_col + column(r->n)) continue;
        taken[i] = true;
        r->elements[r->n++] = i;
    }
}

/* A conjunct that bounds the columns of the run. */
static bool find_side(const Run *r, const Aff *cond, Side *side)
{
    Emitter *e = r->e;
    AffCtx *aff = e->program->aff;
    const TileValue *v = r->op->results[0];
    int64_t next = 0;
    if (cond->kind != AFF_LE) return false;
    const Aff *difference = aff_sub(aff, cond->a, cond->b);
    side->rest = aff_without_constant(aff, el_at(e, difference, v, r->elements[0]), &side->constant);
    if (ix_is_wide(e, side->rest) || side->constant > INT32_MAX / 2 || side->constant < INT32_MIN / 2) return false;
    for (int k = 1; k < r->n; k++) {
        int step = column(k);
        if (aff_without_constant(aff, el_at(e, difference, v, r->elements[k]), &next) != side->rest) return false;
        if (k == 1) side->first = next > side->constant;
        if (next != side->constant + (side->first ? step : -step)) return false;
    }
    return true;
}

/* The sides among the conjuncts; what is none comes back. */
static const Aff *find_sides(Run *r, const Aff *cond)
{
    AffCtx *aff = r->e->program->aff;
    if (cond->kind == AFF_AND) return aff_and(aff, find_sides(r, cond->a), find_sides(r, cond->b));
    if (r->n_sides == MOST_SIDES || !find_side(r, cond, &r->sides[r->n_sides])) return cond;
    r->n_sides++;
    return aff_const(aff, 1);
}

/* The last column, from the run's first, that is kept; or the first one. NULL: there is no such side. */
static const char *bound_of(const Run *r, bool first)
{
    Emitter *e = r->e;
    const char *bound = NULL;
    for (int i = 0; i < r->n_sides; i++) {
        const Side *side = &r->sides[i];
        if (side->first != first) continue;
        const char *own = em_new(e, REG_R);
        if (first) em(e, "sub.s32 %s, %lld, %s;", own, (long long)-side->constant, ix_value(e, side->rest));
        else em(e, "add.s32 %s, %s, %lld;", own, ix_value(e, side->rest), (long long)side->constant);
        if (bound) em(e, "%s.s32 %s, %s, %s;", first ? "min" : "max", own, own, bound);
        bound = own;
    }
    return bound;
}

/* 2^k for the number k of the run's elements whose columns are not above the bound, less
 * `below`; 0 where that is 32. A shift by more than 31 gives 0 (PTX ISA, shl). */
static const char *power_of_count(const Run *r, const char *bound, int below)
{
    Emitter *e = r->e;
    const char *eights = em_new(e, REG_R), *rest = em_new(e, REG_R), *count = em_new(e, REG_R);
    if (below) em(e, "sub.s32 %s, %s, %d;", bound, bound, below);
    em(e, "shr.s32 %s, %s, 3;", eights, bound);
    em(e, "and.b32 %s, %s, 7;", rest, bound);
    em(e, "min.s32 %s, %s, 1;", rest, rest);
    em(e, "mad.lo.s32 %s, %s, 2, %s;", count, eights, rest);
    em(e, "add.s32 %s, %s, 1;", count, count);
    em(e, "max.s32 %s, %s, 0;", count, count);
    em(e, "shl.b32 %s, 1, %s;", count, count);
    return count;
}

/* A word with a bit for each element that is kept. */
static const char *kept(const Run *r)
{
    Emitter *e = r->e;
    const char *last = bound_of(r, true), *first = bound_of(r, false), *word = NULL;
    if (last) {
        word = power_of_count(r, last, 0);
        em(e, "sub.s32 %s, %s, 1;", word, word);
    }
    if (first) {
        const char *other = power_of_count(r, first, 1);
        em(e, "neg.s32 %s, %s;", other, other); /* all ones from that bit on */
        if (word) em(e, "and.b32 %s, %s, %s;", word, word, other);
        else word = other;
    }
    return word;
}

static void select_by_bits(const Run *r)
{
    Emitter *e = r->e;
    const char *word = kept(r);
    for (int k = 0; k < r->n; k++) {
        const char *bit = em_new(e, REG_R), *p = em_new(e, REG_P);
        em(e, "and.b32 %s, %s, 0x%x;", bit, word, 1u << k);
        em(e, "setp.ne.u32 %s, %s, 0;", p, bit);
        select_by(e, r->op, r->elements[k], p);
    }
}

static void select_by_bounds(const Run *r)
{
    Emitter *e = r->e;
    const char *last = bound_of(r, true), *first = bound_of(r, false);
    for (int k = 0; k < r->n; k++) {
        const char *below = last ? em_new(e, REG_P) : NULL, *p = first ? em_new(e, REG_P) : below;
        if (last) em(e, "setp.ge.s32 %s, %s, %d;", below, last, column(k));
        if (last && first) em(e, "setp.le.and.s32 %s, %s, %d, %s;", p, first, column(k), below);
        else if (first) em(e, "setp.le.s32 %s, %s, %d;", p, first, column(k));
        select_by(e, r->op, r->elements[k], p);
    }
}

static bool pays_a_word(const Run *r)
{
    bool first = false, last = false;
    for (int i = 0; i < r->n_sides; i++) {
        first |= !r->sides[i].first;
        last |= r->sides[i].first;
    }
    return r->n == RUN && first && last;
}

static void mask_run(Run *r)
{
    const Aff *rest = r->n >= LEAST_RUN ? find_sides(r, r->cond) : r->cond;
    if (pays_a_word(r)) select_by_bits(r);
    else if (r->n_sides) select_by_bounds(r);
    for (int k = 0; k < r->n; k++) select_element(r->e, r->op, r->elements[k], rest);
}

/* ---- stretches ----------------------------------------------------------------------- */

/* Whether conjuncts that hold for both ends of a stretch hold in between: each changes evenly from element to element. */
static bool changes_evenly(Emitter *e, const TileOp *op, const Aff *cond, int first, int n)
{
    AffCtx *aff = e->program->aff;
    int64_t at[3];
    if (cond->kind == AFF_AND) return changes_evenly(e, op, cond->a, first, n) && changes_evenly(e, op, cond->b, first, n);
    if (cond->kind != AFF_LE) return false;
    const Aff *difference = aff_sub(aff, cond->a, cond->b);
    const Aff *rest = aff_without_constant(aff, el_at(e, difference, op->results[0], first), &at[0]);
    for (int k = 1; k < n; k++) {
        if (aff_without_constant(aff, el_at(e, difference, op->results[0], first + k), &at[k == 1 ? 1 : 2]) != rest) return false;
        if (k > 1 && at[2] - at[0] != k * (at[1] - at[0])) return false;
    }
    return !ix_is_wide(e, rest);
}

/* Neighbours of a row, which most lanes jump over: where a row ends, or begins, few of a tile's have something to mask. */
static void mask_stretch(Emitter *e, const TileOp *op, const Aff *cond, int first, int n)
{
    const TileValue *v = op->results[0];
    const Aff *begin = el_at(e, cond, v, first), *whole = aff_and(e->program->aff, begin, el_at(e, cond, v, first + n - 1));
    int label = em_label(e);
    em_open(e);
    em(e, "@%s bra $kept%d;", ix_condition_here(e, whole), label);
    for (int k = 0; k < n; k++) select_element(e, op, first + k, cond);
    em_close(e);
    em(e, "$kept%d:", label);
}

/* How many elements are masked as a stretch. Where it is known that a tile has something to mask, it may be half of it. */
static int stretch_of(Emitter *e, const TileOp *op, const Aff *cond, int n)
{
    enum { LEAST = 4 };
    const Layout *l = &op->results[0]->type.layout;
    if (e->role || !op->unless || l->kind != LAY_ROWS || l->k < LEAST || op->results[0]->type.cols < 2 || n % l->k) return 1;
    for (int i = 0; i < n; i += l->k)
        if (!changes_evenly(e, op, cond, i, l->k)) return 1;
    return l->k;
}

/* Measured where an instance has a multiprocessor's tensor cores to itself meanwhile. */
static void mask_all(Emitter *e, const TileOp *op, const Aff *cond, int n)
{
    bool *taken = arena_array(e->arena, bool, n);
    int stretch = stretch_of(e, op, cond, n);
    for (int i = 0; stretch > 1 && i < n; i += stretch) mask_stretch(e, op, cond, i, stretch);
    for (int i = 0; stretch == 1 && i < n; i++) {
        Run r = {.e = e, .op = op, .cond = cond};
        if (!e->role) select_element(e, op, i, cond);
        else if (!taken[i]) gather_run(&r, i, n, taken);
        if (r.n) mask_run(&r);
    }
}

/* Whether elements that become 0 are masked two in a word, as they are. */
static bool is_in_words(const Emitter *e, const TileOp *op)
{
    const Frag *from = &e->frags[op->args[0]->id];
    return op->number == 0 && from->packed && !from->f && dtype_bytes(op->args[0]->type.dtype) == 2;
}

static void take_words(Emitter *e, const TileValue *to, const TileValue *from)
{
    const int *words = e->frags[from->id].packed;
    Frag *frag = fr_new(e, to);
    frag->packed = fr_fresh(e, REG_R, fr_words(to));
    for (int i = 0; i < fr_words(to); i++) em(e, "mov.b32 %%r%d, %%r%d;", frag->packed[i], words[i]);
}

/* Whether masks of a block are of so many terms together that ptxas, which makes of each what elements share ahead of them
 * all, has no registers for that. */
static bool is_crowded(const Emitter *e)
{
    enum { FEW = 4 };
    int terms = 0, masks = 0;
    for (int i = 0; i < e->block->ops.len; i++) {
        const TileOp *op = e->block->ops.data[i];
        masks += op->kind == TILE_MASK;
        terms += op->kind == TILE_MASK ? tile_terms(op->cond) : 0;
    }
    return masks > FEW && terms > TILE_TERMS;
}

static const Aff *moved(Emitter *e, const Aff *cond, const AffSym *sym, const Aff *from, const Aff *to)
{
    AffCtx *aff = e->program->aff;
    return aff_subst(aff, cond, sym, aff_add(aff, aff_of(aff, sym), aff_sub(aff, to, from)));
}

/* The condition of places that are there when the mask before is done. */
static const Aff *after_last(Emitter *e, const TileOp *op, const Aff *cond)
{
    const TileValue *v = op->results[0];
    const char *never = el_never(e), *bits = bits_of(e, op, 0);
    Lane first = el_lane(e, v), lane = el_lane_after(e, v, cond, never, bits);
    AffCtx *aff = e->program->aff;
    const TileProgram *p = e->program;
    if (v->type.rows > 1) cond = moved(e, cond, p->row, aff_of(aff, first.row), lane.parts ? lane.parts : aff_of(aff, lane.row));
    if (v->type.cols > 1) cond = moved(e, cond, p->col, aff_of(aff, first.col), lane.units ? lane.units : aff_of(aff, lane.col));
    return cond;
}

/* What tells that nothing is masked, likewise: of each of many, ptxas would keep a part from one turn to the next. */
static const Aff *unless_after_last(Emitter *e, const TileOp *op)
{
    AffCtx *aff = e->program->aff;
    const Aff *unless = op->unless;
    const char *never = el_never(e), *bits = bits_of(e, op, 0);
    for (int i = 0, n = aff_sym_count(aff); i < n; i++) {
        const AffSym *sym = aff_sym_at(aff, i);
        if (sym->kind != AFF_TABLE && sym->lo >= 0 && aff_uses(op->unless, sym))
            unless = aff_subst(aff, unless, sym, aff_of(aff, el_number_after(e, sym, never, bits)));
    }
    return unless;
}

/* Whether elements of the tile read other elements each. */
static bool reads_by_place(const Aff *a)
{
    return a && ((a->kind == AFF_AT && aff_uses_place(a)) || reads_by_place(a->a) || reads_by_place(a->b));
}

void el_mask(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    if (is_in_words(e, op)) take_words(e, v, op->args[0]);
    else fr_take(e, v, op->args[0]);
    int label = em_label(e);
    em_open(e);
    e->exact = aff_uses_kind(op->cond, AFF_TABLE) && reads_by_place(op->cond); /* as an index of the same is (el_index) */
    bool crowded = !aff_uses_kind(op->cond, AFF_TABLE) && is_crowded(e);
    if (op->unless && crowded) em(e, "@%s bra.uni $mask%d;", ix_condition_here(e, unless_after_last(e, op)), label);
    else if (op->unless) em(e, "@%s bra.uni $mask%d;", ix_condition(e, op->unless), label);
    const Aff *stepped = aff_const(e->program->aff, 1), *cond = op->cond;
    if (el_masks_in_steps(e, op)) cond = without_steps(e, op->cond, tile_decides_by_many(op->cond), &stepped);
    else if (crowded) cond = after_last(e, op, cond);
    if (!aff_always(e->program->aff, cond)) mask_all(e, op, cond, e->frags[v->id].n);
    if (!aff_always(e->program->aff, stepped)) mask_in_steps(e, op, stepped, e->frags[v->id].n);
    e->exact = false;
    em_close(e);
    if (op->unless) em(e, "$mask%d:", label);
}
