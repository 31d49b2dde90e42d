/* stage.c: what shared memory holds.
 *
 * TL is sequential, so storage is only a way of naming: a copy into stage s of a
 * tile and a later read of stage t with t = s are a value and its use. Values go
 * by the stages that they were copied to, and a read finds the newest that is
 * proved to be the one it asks for.
 *
 * A tile that is copied one iteration ahead,
 *
 *   Copy K in coordinate [L = 0] to shared [stage = 0]
 *   for j = 0:n
 *     if j + 1 < n
 *       Copy K in coordinate [L = j + 1] to shared [stage = (j + 1) % 2]
 *     end
 *     ... K[j % 2] ...
 *   end
 *
 * is what iteration j - 1 copied at j, and the tile before the loop is what it
 * would have copied at lo - 1: the read becomes a plain load of tile j in the
 * iteration that uses it. Running ahead is the schedule's business. What the last
 * iterations copied is there behind the loop, and the tile before the loop where it
 * has none.
 */
#include "lower/state.h"

enum { MOST_AHEAD = 8 };

/* ---- stages ----------------------------------------------------------------------------- */

/* The other one of two, `1 - j % 2`, is that of the next turn. */
static const Aff *as_remainder(AffCtx *aff, const Aff *e)
{
    int64_t constant, n;
    const Aff *rest = aff_scale(aff, aff_without_constant(aff, e, &constant), -1);
    if (constant != 1 || rest->kind != AFF_MOD || !aff_is_const(rest->b, &n) || n != 2) return e;
    return aff_mod(aff, aff_offset(aff, rest->a, 1), rest->b);
}

const Aff *lo_stage(Lower *lo, const Local *local, const Expr *e)
{
    if (!e || !local || local->stages == 0) return aff_const(lo->program->aff, 0);
    const Aff *stage = eval_aff(&lo->env, e, lo->diags);
    if (!stage) lo->failed = true;
    return stage ? as_remainder(lo->program->aff, stage) : NULL;
}

/* What leaves the remainder e: its dividend, or e itself, where it is one for sure; NULL: neither. `k mod 3` is
 * written `k` in a loop of three turns. */
static const Aff *dividend(AffCtx *aff, const Aff *e, const Aff *modulus)
{
    if (e->kind == AFF_MOD && e->b == modulus) return e->a;
    bool is_one = aff_always(aff, aff_and(aff, aff_le(aff, aff_const(aff, 0), e), aff_lt(aff, e, modulus)));
    return is_one ? e : NULL;
}

/* Two expressions that never have the same value. */
static bool are_distinct(Lower *lo, const Aff *a, const Aff *b)
{
    int64_t difference, n;
    AffCtx *aff = lo->program->aff;
    const Aff *modulus = a->kind == AFF_MOD ? a->b : b->kind == AFF_MOD ? b->b : NULL;
    if (modulus && aff_is_const(modulus, &n) && n > 0) {
        const Aff *of_a = dividend(aff, a, modulus), *of_b = dividend(aff, b, modulus);
        if (of_a && of_b && aff_is_const(aff_sub(aff, of_a, of_b), &difference)) return difference % n != 0;
    }
    return aff_never(aff, aff_eq(aff, a, b));
}

void lo_set_shared(Lower *lo, const char *name, const Aff *stage, TileValue *v, int version)
{
    Local *local = lo_local_make(lo, name);
    Staged *staged = arena_new_of(lo->arena, Staged);
    *staged = (Staged){.stage = stage, .value = v, .version = version, .loc = lo->rw.loc, .next = local->shared};
    local->shared = staged;
}

/* A loop of fewer turns than there are stages is over before what it copies ahead is wanted. */
static bool ends_before(Lower *lo, const LowerLoop *loop, int stages)
{
    AffCtx *aff = lo->program->aff;
    return loop && aff_always(aff, aff_lt(aff, loop->hi, aff_offset(aff, loop->lo, stages)));
}

/* ---- copies that nothing reads ------------------------------------------------------------ */

void lo_stage_copied(Lower *lo, const char *name, Span loc)
{
    if (ends_before(lo, lo->loop, lo_local(lo, name)->stages)) return;
    vec_push(lo->arena, &lo->stage_copies, (StageCopy){.name = name, .loc = loc});
}

static bool is_read(const Lower *lo, Span loc)
{
    for (int i = 0; i < lo->stages_read.len; i++)
        if (lo->stages_read.data[i] == loc.start) return true;
    return false;
}

static void mark_read(Lower *lo, Span loc)
{
    if (!is_read(lo, loc)) vec_push(lo->arena, &lo->stages_read, loc.start);
}

static void mark_staged(Lower *lo, const Staged *s)
{
    mark_read(lo, s->loc);
    for (int i = 0; i < 2 && s->arms[0]; i++) mark_staged(lo, s->arms[i]);
}

void lo_stages_finish(Lower *lo)
{
    for (int i = 0; i < lo->stage_copies.len && !lo->failed; i++) {
        const StageCopy *copy = &lo->stage_copies.data[i];
        if (is_read(lo, copy->loc)) continue;
        diag_add(lo->diags, TW0442, copy->loc, "no read finds what '%s' is given here: its stage is overwritten first, "
                 "or never read", copy->name);
        mark_read(lo, copy->loc); /* once, were it expanded twice */
    }
}

const Staged *lo_staged_after(Lower *lo, const Staged *before, const Staged *after)
{
    const Staged *kept = NULL, **last = &kept;
    if (before == after) return before;
    for (const Staged *s = before; s; s = s->next) {
        bool holds = true;
        for (const Staged *w = after; w && w != before; w = w->next) holds &= are_distinct(lo, s->stage, w->stage);
        if (!holds) continue;
        Staged *copy = arena_new_of(lo->arena, Staged);
        *copy = *s;
        copy->next = NULL;
        *last = copy;
        last = &copy->next;
    }
    return kept;
}

/* ---- copies that run ahead ------------------------------------------------------------------ */

typedef struct Ahead { /* a copy in the body of a loop */
    const Stmt *copy;
    const Aff *guard;  /* NULL: not known */
} Ahead;

typedef VEC(Ahead) Aheads;

static bool is_copy_to_shared(const Stmt *s)
{
    return s->kind == STMT_COPY && s->to_space == SPACE_SHARED && s->name;
}

static void find_copies(Lower *lo, const Block *block, const char *name, const Aff *guard, Aheads *found)
{
    AffCtx *aff = lo->program->aff;
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        Space space = SPACE_NONE;
        if (is_copy_to_shared(s) && strcmp(lo_base_name(lo, copy_dest(s), &space), name) == 0)
            vec_push(lo->arena, found, (Ahead){s, guard});
        if (s->kind == STMT_FOR) find_copies(lo, &s->body, name, NULL, found);
        if (s->kind != STMT_IF) continue;
        const Aff *cond = guard ? eval_aff(&lo->env, s->where, NULL) : NULL;
        find_copies(lo, &s->body, name, cond ? aff_and(aff, guard, cond) : NULL, found);
        find_copies(lo, &s->orelse, name, cond ? aff_and(aff, guard, aff_not(aff, cond)) : NULL, found);
    }
}

/* Whether cond holds wherever the counter is before the loop's end, or behind its start. */
static bool follows_of_bounds(Lower *lo, const LowerLoop *loop, const Aff *cond)
{
    AffCtx *aff = lo->program->aff;
    const Aff *some = aff_of(aff, aff_sym_new(aff, "turns", AFF_LOOP, 0, INT32_MAX));
    return aff_always(aff, aff_subst(aff, cond, loop->var, aff_sub(aff, aff_offset(aff, loop->hi, -1), some))) ||
           aff_always(aff, aff_subst(aff, cond, loop->var, aff_add(aff, loop->lo, some)));
}

/* `2 * j < n` in a loop up to ceil(n / 2): it holds as long as the counter does not pass a quotient. */
static bool holds_up_to_quotient(Lower *lo, const LowerLoop *loop, const Aff *cond)
{
    AffCtx *aff = lo->program->aff;
    const Aff *coef, *rest;
    int64_t n;
    if (cond->kind != AFF_LE || !aff_linear(aff, aff_sub(aff, cond->b, cond->a), loop->var, &coef, &rest) || !aff_is_const(coef, &n) || n > -2)
        return false;
    return aff_always(aff, aff_le(aff, loop->hi, aff_offset(aff, aff_div(aff, rest, aff_const(aff, -n)), 1)));
}

/* cond holds in every iteration. */
static bool holds_within(Lower *lo, const LowerLoop *loop, const Aff *cond)
{
    AffCtx *aff = lo->program->aff;
    const Aff *j = aff_of(aff, loop->var);
    if (cond == aff_lt(aff, j, loop->hi)) return true;
    if (cond->kind == AFF_AND) return holds_within(lo, loop, cond->a) && holds_within(lo, loop, cond->b);
    return cond == aff_le(aff, loop->lo, j) || aff_always(aff, cond) || follows_of_bounds(lo, loop, cond) ||
           holds_up_to_quotient(lo, loop, cond);
}

/* Of a loop of few turns, where cond may be written otherwise: it holds in each but the last `ahead`. */
static bool holds_turn_by_turn(Lower *lo, const LowerLoop *loop, const Aff *cond, int ahead)
{
    enum { MOST_TURNS = 32 };
    AffCtx *aff = lo->program->aff;
    int64_t turns;
    if (!aff_is_const(aff_sub(aff, loop->hi, loop->lo), &turns) || turns > MOST_TURNS) return false;
    for (int i = 0; i + ahead < turns; i++)
        if (!aff_always(aff, aff_subst(aff, cond, loop->var, aff_offset(aff, loop->lo, i)))) return false;
    return true;
}

/* The load that the copy means, not inserted anywhere; NULL: not a load from global memory. */
static TileOp *load_of(Lower *lo, const Stmt *s, const Local *local)
{
    Place p = {0};
    if (s->space != SPACE_GLOBAL || s->otherwise) return NULL;
    if (!lo_place(lo, s, local->in_shared ? &local->shared_type : NULL, &p)) return NULL;
    TileType type = tile_type(p.view.tensor->dtype, p.rows, p.cols, SPACE_SHARED);
    TileOp *op = tile_op_new(lo->program, lo->kernel, TILE_LOAD, 0, NULL, 1, &type);
    const Aff *where = NULL;
    if (s->where) where = lo_condition(lo, s->where, lo_place_axis(&p, p.row_dim), lo_place_axis(&p, p.col_dim), p.rows, p.cols);
    if (s->where && !where) return NULL;
    lo_place_set(lo, op, &p, where ? lo_place_drop_implied(lo, &p, where) : NULL);
    op->loc = s->span;
    op->results[0]->name = local->name;
    lo_lineage(lo, op->results[0])->axis[0] = lo_place_axis(&p, p.row_dim);
    lo_lineage(lo, op->results[0])->axis[1] = lo_place_axis(&p, p.col_dim);
    return op;
}

static const Aff *shifted(Lower *lo, const Aff *e, const AffSym *var, const Aff *to)
{
    return e ? aff_subst(lo->program->aff, e, var, to) : NULL;
}

/* The load once more, not inserted anywhere. */
static TileOp *same_load(Lower *lo, const TileOp *load)
{
    TileOp *op = tile_op_new(lo->program, lo->kernel, TILE_LOAD, 0, NULL, 1, &load->results[0]->type);
    op->tensor = load->tensor;
    op->row_dim = load->row_dim;
    op->col_dim = load->col_dim;
    op->coords = arena_array(lo->arena, const Aff *, load->tensor->rank);
    for (int d = 0; d < load->tensor->rank; d++) op->coords[d] = load->coords[d];
    op->where = load->where;
    op->loc = load->loc;
    op->results[0]->name = load->results[0]->name;
    for (int i = 0; i < 2; i++) lo_lineage(lo, op->results[0])->axis[i] = lo_lineage(lo, load->results[0])->axis[i];
    return op;
}

/* The load as it is in another iteration. */
static void shift_load(Lower *lo, TileOp *op, const AffSym *var, const Aff *to)
{
    Lineage *l = lo_lineage(lo, op->results[0]);
    for (int d = 0; d < op->tensor->rank; d++) op->coords[d] = shifted(lo, op->coords[d], var, to);
    op->where = shifted(lo, op->where, var, to);
    for (int k = 0; k < 2; k++) l->axis[k].start = shifted(lo, l->axis[k].start, var, to);
}

/* A smallest or a largest of two in an expression of which it is known within the loop which one that is; NULL: none. */
static const Aff *decided_within(Lower *lo, const LowerLoop *loop, const Aff *e, const Aff **by)
{
    AffCtx *aff = lo->program->aff;
    const Aff *found = NULL;
    if (!e) return NULL;
    if (e->kind == AFF_MIN || e->kind == AFF_MAX) {
        bool least = e->kind == AFF_MIN;
        if (holds_within(lo, loop, aff_le(aff, e->a, e->b))) *by = least ? e->a : e->b;
        else if (holds_within(lo, loop, aff_le(aff, e->b, e->a))) *by = least ? e->b : e->a;
        else return NULL;
        return e;
    }
    if (e->kind == AFF_ADD || e->kind == AFF_MUL) {
        found = decided_within(lo, loop, e->a, by);
        if (!found) found = decided_within(lo, loop, e->b, by);
    }
    return found;
}

/* `min(j + 1, n - 1)`, copied a turn ahead, is j where it is read. */
static void narrow_load(Lower *lo, const LowerLoop *loop, TileOp *op)
{
    for (int d = 0; d < op->tensor->rank; d++) {
        const Aff *by = NULL, *found = decided_within(lo, loop, op->coords[d], &by);
        if (found) op->coords[d] = aff_replace(lo->program->aff, op->coords[d], found, by);
    }
}

/* b's tile is a's where the counter is `at`. */
static bool is_load_at(Lower *lo, const TileOp *a, const TileOp *b, const AffSym *var, const Aff *at)
{
    if (!b || b->kind != TILE_LOAD || b->tensor != a->tensor || b->row_dim != a->row_dim || b->col_dim != a->col_dim)
        return false;
    for (int d = 0; d < a->tensor->rank; d++)
        if (shifted(lo, a->coords[d], var, at) != b->coords[d]) return false;
    return shifted(lo, a->where, var, at) == b->where;
}

static const TileOp *left_by_turns(Lower *lo, const char *name, const Aff *stage, int n_kept);

/* The stage holds the load's tile of turn `at` ahead of the loop. */
static bool holds_before(Lower *lo, const LowerLoop *loop, const char *name, const TileOp *load, const Aff *wanted, const Staged *before,
                         const Aff *at)
{
    const Staged *s = before;
    for (; s && s->stage != wanted; s = s->next)
        if (!are_distinct(lo, s->stage, wanted)) return false; /* it may be a newer one */
    if (!s) return is_load_at(lo, load, left_by_turns(lo, name, wanted, loop->kept - loop->n_written), loop->var, at);
    if (!is_load_at(lo, load, s->value->def, loop->var, at)) return false;
    mark_read(lo, s->loc);
    return true;
}

/* The stage that a copy fills in the loop's first turn; NULL: not known. */
static const Aff *stage_at_first(Lower *lo, const LowerLoop *loop, const Local *local, const Ahead *a)
{
    return shifted(lo, lo_stage(lo, local, a->copy->stage), loop->var, loop->lo);
}

/* Whether a copy that only the loop's first turn makes, to this stage, puts there what the turn `at` reads. */
static bool is_primed_within(Lower *lo, const LowerLoop *loop, const Local *local, const Ahead *first, const TileOp *load, const Aff *at)
{
    if (first->copy->span.start > lo->rw.loc.start) return false;
    TileOp *op = load_of(lo, first->copy, local);
    if (!op) return false;
    shift_load(lo, op, loop->var, loop->lo);
    if (!is_load_at(lo, load, op, loop->var, at)) return false;
    mark_read(lo, first->copy->span);
    return true;
}

/* The first `ahead` iterations read what was copied before the loop, or in its first turn. */
static bool is_primed(Lower *lo, const LowerLoop *loop, const Local *local, const TileOp *load, const Aff *stage, const Staged *before,
                      const Aheads *firsts, int ahead)
{
    for (int k = 0; k < ahead; k++) {
        const Aff *at = aff_offset(lo->program->aff, loop->lo, k), *wanted = shifted(lo, stage, loop->var, at);
        bool within = false;
        if (aff_always(lo->program->aff, aff_le(lo->program->aff, loop->hi, at))) break;
        for (int i = 0; i < firsts->len; i++) {
            const Aff *put = stage_at_first(lo, loop, local, &firsts->data[i]);
            if (put == wanted && is_primed_within(lo, loop, local, &firsts->data[i], load, at)) within = true;
            else if (!put || !are_distinct(lo, put, wanted)) return false; /* another tile may be there */
        }
        if (!within && !holds_before(lo, loop, local->name, load, wanted, before, at)) return false;
    }
    return true;
}

/* Takes the copies that only the loop's first turn makes out of all that it makes. */
static void take_firsts(Lower *lo, const LowerLoop *loop, Aheads *copies, Aheads *firsts)
{
    AffCtx *aff = lo->program->aff;
    const Aff *first = aff_eq(aff, aff_of(aff, loop->var), loop->lo);
    int kept = 0;
    for (int i = 0; i < copies->len; i++) {
        if (copies->data[i].guard == first) vec_push(lo->arena, firsts, copies->data[i]);
        else copies->data[kept++] = copies->data[i];
    }
    copies->len = kept;
}

/* A copy of the first turn alone may write the stage that another one of that turn fills for later. */
static bool firsts_overwrite(Lower *lo, const LowerLoop *loop, const Local *local, const Aheads *firsts, const Aff *copied)
{
    for (int i = 0; i < firsts->len; i++) {
        const Aff *put = stage_at_first(lo, loop, local, &firsts->data[i]);
        if (!put) return true;
        const Aff *here = shifted(lo, copied, loop->var, loop->lo);
        if (!are_distinct(lo, put, here)) return true;
    }
    return false;
}

/* The copy stands above the read, and may write the very stage in the same iteration. */
static bool overwrites(Lower *lo, const Ahead *a, const Aff *copied, const Aff *stage)
{
    return a->copy->span.start < lo->rw.loc.start && !are_distinct(lo, copied, stage);
}

/* Reading `stage` finds what the copy put there `ahead` iterations ago? Then the load of it. */
static TileOp *load_ahead(Lower *lo, const LowerLoop *loop, const Local *local, const Ahead *a, const Aff *stage,
                          const Staged *before, const Aheads *firsts)
{
    AffCtx *aff = lo->program->aff;
    const Aff *copied = lo_stage(lo, local, a->copy->stage);
    if (copied && (overwrites(lo, a, copied, stage) || firsts_overwrite(lo, loop, local, firsts, copied))) return NULL;
    for (int ahead = 1; copied && a->guard && ahead <= MOST_AHEAD; ahead++) {
        const Aff *then = aff_offset(aff, aff_of(aff, loop->var), -ahead), *there = shifted(lo, copied, loop->var, then);
        if (there != stage && !are_distinct(lo, there, stage)) return NULL; /* it may be a newer one */
        if (there != stage) continue;
        if (!holds_within(lo, loop, shifted(lo, a->guard, loop->var, then)) && !holds_turn_by_turn(lo, loop, a->guard, ahead)) return NULL;
        TileOp *op = load_of(lo, a->copy, local);
        if (!op) return NULL;
        shift_load(lo, op, loop->var, then);
        narrow_load(lo, loop, op);
        mark_read(lo, a->copy->span);
        return is_primed(lo, loop, local, op, stage, before, firsts, ahead) ? op : NULL;
    }
    return NULL;
}

/* Without copies that fill the stage in no turn. */
static void drop_others(Lower *lo, const LowerLoop *loop, const Local *local, const Aff *stage, Aheads *copies)
{
    AffCtx *aff = lo->program->aff;
    const Aff *any = aff_of(aff, aff_sym_new(aff, "turn", AFF_LOOP, 0, INT32_MAX));
    int n = 0;
    for (int i = 0; i < copies->len; i++) {
        const Expr *e = copies->data[i].copy->stage;
        const Aff *copied = e && local->stages ? shifted(lo, eval_aff(&lo->env, e, NULL), loop->var, aff_add(lo->program->aff, loop->lo, any)) : NULL;
        if (!copied || !are_distinct(lo, copied, stage)) copies->data[n++] = copies->data[i];
    }
    copies->len = n;
}

static const Staged *read_ahead(Lower *lo, const char *name, const Aff *stage, Span span)
{
    for (const LowerLoop *loop = lo->loop; loop; loop = loop->outer)
        for (int i = 0; i < loop->n_written; i++) {
            Aheads copies = {0}, firsts = {0};
            const Local local = *lo_local(lo, name);
            if (strcmp(loop->written[i].name, name) != 0) continue;
            find_copies(lo, loop->body, name, aff_const(lo->program->aff, 1), &copies);
            if (copies.len > 1) drop_others(lo, loop, &local, stage, &copies);
            if (copies.len > 1) take_firsts(lo, loop, &copies, &firsts);
            TileOp *op = copies.len == 1
                             ? load_ahead(lo, loop, &local, &copies.data[0], stage, loop->written[i].before, &firsts) : NULL;
            if (!op) {
                lo_fail(lo, TW0730, span, "this stage of '%s' does not hold a tile that was copied for this turn: copy it in the turn itself, or in each "
                        "turn that of one so many turns later, the first ones before the loop, to a stage that no Copy fills in between", name);
                return NULL;
            }
            op->results[0]->type.space = SPACE_SHARED;
            tile_insert(lo->program, lo->rw.block, lo->rw.at++, op);
            lo_set_shared(lo, name, stage, op->results[0], ++lo->versions);
            return lo_local(lo, name)->shared;
        }
    return NULL;
}

/* ---- what a loop leaves ------------------------------------------------------------------------ */

/* One Copy of a loop to stages of a tile, as the statements behind the loop see it. */
struct Turns {
    LowerLoop loop;
    const TileOp *load;       /* in the turn of the loop's counter, as are; NULL: not known */
    const Aff *stage, *guard;
    const Staged *before;     /* what the stages held ahead of the loop */
    Span loc;
};

static bool is_input(const Lower *lo, const TileOp *load)
{
    const Stmt *declared = unit_tensor(lo->unit, load->tensor->name);
    return declared && declared->kind == STMT_INPUT;
}

/* Where the load needs nothing that is known in the loop alone. */
static bool is_known_behind(const TileOp *load)
{
    bool known = !load->where || !aff_uses_kind(load->where, AFF_SCALAR);
    for (int d = 0; d < load->tensor->rank; d++) known &= load->coords[d] && !aff_uses_kind(load->coords[d], AFF_SCALAR);
    return known;
}

void lo_end_turns(Lower *lo, const LowerLoop *loop, int i)
{
    Aheads copies = {0};
    const Local local = *lo_local_make(lo, loop->written[i].name);
    Turns *turns = arena_new_of(lo->arena, Turns);
    find_copies(lo, loop->body, local.name, aff_const(lo->program->aff, 1), &copies);
    *turns = (Turns){.loop = *loop, .before = loop->written[i].before};
    loop->written[i].turns = turns;
    if (copies.len != 1 || !copies.data[0].guard || lo->failed) return;
    const Stmt *copy = copies.data[0].copy;
    Diags *said = lo->diags;
    lo->diags = diags_new(lo->arena, lo->code->source); /* it is only looked at again, where names of its branch are out of sight */
    turns->guard = copies.data[0].guard;
    turns->loc = copy->span;
    turns->stage = lo_stage(lo, &local, copy->stage);
    const TileOp *load = turns->stage ? load_of(lo, copy, &local) : NULL;
    if (lo->failed) load = NULL;
    lo->failed = false;
    lo->diags = said;
    if (load && is_input(lo, load) && is_known_behind(load)) turns->load = load;
}

/* A tensor that has elements has none of the lengths with which one of its dimensions is 0. */
static bool is_empty_without(Lower *lo, const TileTensor *tensor, const AffSym *length)
{
    AffCtx *aff = lo->program->aff;
    int64_t extent;
    for (int d = 0; d < tensor->rank; d++)
        if (aff_is_const(aff_subst(aff, tensor->dims[d], length, aff_const(aff, 0)), &extent) && extent <= 0) return true;
    return false;
}

/* cond follows where the statement at hand is reached and the load's tensor has elements; else all tiles of it are the same, zeros. */
static bool holds_here(Lower *lo, const TileOp *load, const Aff *cond)
{
    AffCtx *aff = lo->program->aff;
    for (int i = 0; i < lo->arms.len; i++)
        cond = aff_or(aff, cond, lo->arms.data[i].orelse ? lo->arms.data[i].cond : aff_not(aff, lo->arms.data[i].cond));
    for (int i = 0; i < lo->program->dims.len; i++) {
        const AffSym *length = lo->program->dims.data[i];
        if (!aff_uses(cond, length) || !is_empty_without(lo, load->tensor, length)) continue;
        const AffSym *more = aff_sym_new(aff, "more", AFF_DIM, 0, INT32_MAX - 1);
        cond = aff_subst(aff, cond, length, aff_offset(aff, aff_of(aff, more), 1));
    }
    return aff_always(aff, cond);
}

/* What turn `wanted` copied is there behind the loop, or, where that is none of its turns, what it would have copied is there ahead of it:
 * NULL; else the condition under which this is so, as far as it is known. */
static const Aff *lacking_behind(Lower *lo, const Turns *t, const char *name, const Aff *wanted)
{
    AffCtx *aff = lo->program->aff;
    const LowerLoop *loop = &t->loop;
    if (!aff_always(aff, shifted(lo, t->guard, loop->var, wanted)) && !holds_within(lo, loop, t->guard)) return aff_const(aff, 0);
    for (int k = 0; k <= 2 * MOST_AHEAD; k++) {
        const Aff *before = aff_offset(aff, loop->lo, -k), *at = aff_offset(aff, before, -1), *enough = aff_le(aff, before, wanted);
        if (holds_here(lo, t->load, enough)) return NULL;
        if (!holds_before(lo, loop, name, t->load, shifted(lo, t->stage, loop->var, at), t->before, at)) return enough;
    }
    return aff_const(aff, 0);
}

/* The turn whose Copy filled the stage last, if any filled it; NULL: not known. */
static const Aff *turn_of(Lower *lo, const Turns *t, const Aff *stage)
{
    AffCtx *aff = lo->program->aff;
    for (int last = 1; t->load && last <= MOST_AHEAD; last++) {
        const Aff *turn = aff_offset(aff, t->loop.hi, -last), *there = shifted(lo, t->stage, t->loop.var, turn);
        if (there == stage) return turn;
        if (!are_distinct(lo, there, stage)) return NULL; /* it may be a newer one */
    }
    return NULL;
}

/* The load of what the stage holds behind the loop, not inserted anywhere; NULL: it does not follow, or only where *lacking holds. */
static TileOp *load_behind(Lower *lo, const Turns *t, const char *name, const Aff *stage, const Aff **lacking)
{
    const Aff *turn = turn_of(lo, t, stage);
    *lacking = turn ? lacking_behind(lo, t, name, turn) : aff_const(lo->program->aff, 0);
    if (*lacking) return NULL;
    TileOp *op = same_load(lo, t->load);
    shift_load(lo, op, t->loop.var, turn);
    mark_read(lo, t->loc);
    return op;
}

/* Of the first so many things that are known. */
static const TileOp *left_by_turns(Lower *lo, const char *name, const Aff *stage, int n_kept)
{
    enum { MOST_LOOPS = 8 }; /* one behind the other that go on with the same stages */
    const TileOp *load = NULL;
    const Aff *lacking;
    for (int i = n_kept - 1; i >= 0 && lo->loops_behind < MOST_LOOPS; i--) {
        const Kept k = lo->kept.data[i];
        if (strcmp(k.name, name) != 0 || (k.stage && are_distinct(lo, k.stage, stage))) continue;
        lo->loops_behind++;
        if (k.turns) load = load_behind(lo, k.turns, name, stage, &lacking);
        lo->loops_behind--;
        break;
    }
    return load;
}

/* ---- copies under a condition ------------------------------------------------------------------ */

static void keep(Lower *lo, const char *name, const Staged *s, const Arm *arm)
{
    const TileOp *load = s && s->value->def && s->value->def->kind == TILE_LOAD && s->value->def->n_args == 0 ? s->value->def : NULL;
    for (int d = 0; load && d < load->tensor->rank; d++)
        if (!load->coords[d] || aff_uses_kind(load->coords[d], AFF_SCALAR)) load = NULL; /* it may be known there alone */
    if (load && load->where && aff_uses_kind(load->where, AFF_SCALAR)) load = NULL;
    vec_push(lo->arena, &lo->kept, (Kept){.name = name, .stage = s ? s->stage : NULL, .cond = arm ? arm->cond : NULL,
                                          .orelse = arm && arm->orelse, .load = load, .loc = s ? s->loc : (Span){0}});
}

void lo_keep_branch(Lower *lo, const char *name, const Staged *before, const Staged *now, const Arm *arm)
{
    if (!now || now == before) return;
    lo_keep_branch(lo, name, before, now->next, arm);
    keep(lo, name, now, arm);
}

static bool is_under(const Lower *lo, const Kept *k)
{
    for (int i = 0; i < lo->arms.len; i++)
        if (lo->arms.data[i].cond == k->cond && lo->arms.data[i].orelse == k->orelse) return true;
    return false;
}

/* The load is made once more, where what it loads cannot have changed. */
static const Staged *load_again(Lower *lo, const Kept *k)
{
    if (!k->load || !is_input(lo, k->load)) return NULL;
    TileOp *op = same_load(lo, k->load);
    tile_insert(lo->program, lo->rw.block, lo->rw.at++, op);
    mark_read(lo, k->loc);
    lo_set_shared(lo, k->name, k->stage, op->results[0], ++lo->versions);
    return lo_local(lo, k->name)->shared;
}

/* What the last turns of a loop left. */
static const Staged *load_last(Lower *lo, const Kept *k, const Aff *stage, Span span)
{
    const Aff *lacking;
    int64_t never;
    TileOp *op = load_behind(lo, k->turns, k->name, stage, &lacking);
    if (op) {
        tile_insert(lo->program, lo->rw.block, lo->rw.at++, op);
        lo_set_shared(lo, k->name, stage, op->results[0], ++lo->versions);
        return lo_local(lo, k->name)->shared;
    }
    if (aff_is_const(lacking, &never))
        lo_fail(lo, TW0730, span, "which tile this stage of '%s' holds behind the loop does not follow: read the stage of one of its last turns, or copy "
                "the tile here", k->name);
    else
        lo_fail(lo, TW0730, span, "this stage of '%s' holds a tile only `if %s`: where the loop has fewer turns, no Copy filled it", k->name,
                aff_text(lo->arena, lacking));
    return NULL;
}

/* What a branch copied under a condition that holds here as well, or what a loop did. */
static const Staged *kept_here(Lower *lo, const char *name, const Aff *stage, Span span)
{
    for (int i = lo->kept.len - 1; i >= 0; i--) {
        const Kept k = lo->kept.data[i];
        if (strcmp(k.name, name) != 0 || (k.stage && are_distinct(lo, k.stage, stage))) continue;
        return k.stage == stage && k.cond && is_under(lo, &k) ? load_again(lo, &k) : k.turns ? load_last(lo, &k, stage, span) : NULL;
    }
    return NULL;
}

const Staged *lo_shared(Lower *lo, const char *name, const Aff *stage, Span span)
{
    const Local *local = lo_local(lo, name);
    for (const Staged *s = local ? local->shared : NULL; s; s = s->next) {
        if (s->stage == stage) {
            mark_staged(lo, s);
            return s;
        }
        if (are_distinct(lo, s->stage, stage)) continue;
        lo_fail(lo, TW0730, span, "stage %s of '%s' may or may not be the one that was copied as stage %s",
                aff_text(lo->arena, stage), name, aff_text(lo->arena, s->stage));
        return s;
    }
    int errors = lo->diags->errors;
    const Staged *kept = kept_here(lo, name, stage, span);
    return kept || lo->diags->errors > errors ? kept : read_ahead(lo, name, stage, span);
}

/* ---- copies of both branches --------------------------------------------------------------------- */

/* The copy that a read of the stage finds at the end of an arm, if the arm made it; NULL: it did not. */
static const Staged *left_in(Lower *lo, const Staged *end, const Staged *before, const Aff *stage)
{
    for (const Staged *s = end; s && s != before; s = s->next) {
        if (s->stage == stage) return s;
        if (!are_distinct(lo, s->stage, stage)) return NULL;
    }
    return NULL;
}

static Axis axis_of_both(Axis a, Axis b)
{
    bool same = a.dim && b.dim && strcmp(a.dim, b.dim) == 0;
    return (Axis){same ? a.dim : NULL, a.start == b.start ? a.start : NULL};
}

static void join_lineage(Lower *lo, const TileValue *v, const Staged *const *arms)
{
    for (int k = 0; k < 2; k++)
        lo_lineage(lo, v)->axis[k] = axis_of_both(lo_lineage(lo, arms[0]->value)->axis[k], lo_lineage(lo, arms[1]->value)->axis[k]);
}

/* Two loads of one place are one, where either condition holds. */
static TileValue *loaded_alike(Lower *lo, const TileOp *branch, const Staged *const *arms)
{
    AffCtx *aff = lo->program->aff;
    const TileOp *a = arms[0]->value->def, *b = arms[1]->value->def;
    if (!a || !b || a->kind != TILE_LOAD || b->kind != TILE_LOAD || !is_input(lo, a) || a->tensor != b->tensor || a->row_dim != b->row_dim || a->col_dim != b->col_dim)
        return NULL;
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->coords[d] != b->coords[d] || aff_uses_kind(a->coords[d], AFF_SCALAR)) return NULL; /* it may be known there alone */
    const Aff *all = aff_const(aff, 1), *of[] = {a->where ? a->where : all, b->where ? b->where : all};
    const Aff *where = aff_or(aff, aff_and(aff, branch->cond, of[0]), aff_and(aff, aff_not(aff, branch->cond), of[1]));
    if ((a->where && aff_uses_kind(a->where, AFF_SCALAR)) || (b->where && aff_uses_kind(b->where, AFF_SCALAR))) return NULL;
    if (of[0] == of[1]) where = of[0];
    else if (of[0] == all) where = aff_or(aff, branch->cond, of[1]);
    else if (of[1] == all) where = aff_or(aff, aff_not(aff, branch->cond), of[0]);
    TileOp *load = same_load(lo, a);
    load->where = where == all ? NULL : where;
    tile_insert(lo->program, lo->rw.block, lo->rw.at++, load);
    return load->results[0];
}

/* The arm's tile as one of its results, in registers. */
static void yield_arm(Lower *lo, TileBlock *arm, TileValue *v)
{
    TileType type = v->type;
    type.space = SPACE_REGISTER;
    TileOp *move = tile_op_new(lo->program, lo->kernel, TILE_MOVE, 1, &v, 1, &type);
    move->loc = v->def->loc;
    tile_insert(lo->program, arm, arm->ops.len - 1, move);
    rw_yield(lo->program, arm, move->results[0]);
}

/* Through registers, since a name stands for one tile, whichever of the copies was made. */
static TileValue *moved_of_either(Lower *lo, TileOp *branch, const Staged *const *arms)
{
    TileType type = arms[0]->value->type, shared = type;
    type.space = SPACE_REGISTER;
    for (int i = 0; i < 2; i++) yield_arm(lo, branch->regions[i], arms[i]->value);
    TileValue *result = rw_result(lo->program, lo->kernel, branch, type);
    vec_push(lo->arena, &lo->joined, (Joined){branch, result});
    return rw_insert(&lo->rw, TILE_MOVE, 1, &result, 1, &shared)->results[0];
}

static bool same_type(const TileType *a, const TileType *b)
{
    return a->dtype == b->dtype && a->rows == b->rows && a->cols == b->cols;
}

void lo_join_arms(Lower *lo, TileOp *branch, const char *name, const Staged *before, const Staged *const *ends)
{
    for (const Staged *s = ends[0]; s && s != before; s = s->next) {
        const Staged *arms[2];
        for (int i = 0; i < 2; i++) arms[i] = left_in(lo, ends[i], before, s->stage);
        if (arms[0] != s || !arms[1] || !same_type(&arms[0]->value->type, &arms[1]->value->type)) continue;
        TileValue *v = loaded_alike(lo, branch, arms);
        if (!v) v = moved_of_either(lo, branch, arms);
        v->name = name;
        join_lineage(lo, v, arms);
        lo_set_shared(lo, name, s->stage, v, ++lo->versions);
        Staged *both = arena_new_of(lo->arena, Staged);
        *both = *lo_local(lo, name)->shared;
        both->loc = arms[0]->loc;
        both->arms[0] = arms[0];
        both->arms[1] = arms[1];
        lo_local(lo, name)->shared = both;
    }
}

void lo_joined_finish(Lower *lo)
{
    for (int i = lo->joined.len - 1; i >= 0; i--) rw_drop_unused(lo->kernel->body, lo->joined.data[i].branch, lo->joined.data[i].result);
}

/* ---- loops ------------------------------------------------------------------------------------- */

static void add_written(Lower *lo, const Block *block, LowerLoop *loop)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        add_written(lo, &s->body, loop);
        add_written(lo, &s->orelse, loop);
        Space space = SPACE_NONE;
        if (!is_copy_to_shared(s)) continue;
        const char *name = lo_base_name(lo, copy_dest(s), &space);
        int k = 0;
        while (k < loop->n_written && strcmp(loop->written[k].name, name) != 0) k++;
        if (k < loop->n_written) continue;
        const Local *local = lo_local(lo, name);
        loop->written[loop->n_written].name = name;
        loop->written[loop->n_written].turns = NULL;
        loop->written[loop->n_written++].before = local ? local->shared : NULL;
    }
}

static int count_statements(const Block *block)
{
    int n = block->len;
    for (int i = 0; i < block->len; i++)
        n += count_statements(&block->data[i]->body) + count_statements(&block->data[i]->orelse);
    return n;
}

void lo_enter_loop(Lower *lo, LowerLoop *loop)
{
    AffCtx *aff = lo->program->aff;
    bool goes_round = !aff_always(aff, aff_le(aff, loop->hi, aff_offset(aff, loop->lo, 1)));
    loop->written = arena_alloc_array(lo->arena, (size_t)count_statements(loop->body) + 1, sizeof *loop->written);
    add_written(lo, loop->body, loop);
    loop->outer = lo->loop;
    lo->loop = loop;
    for (int i = 0; i < loop->n_written; i++) {
        if (goes_round) lo_local_make(lo, loop->written[i].name)->shared = NULL;
        keep(lo, loop->written[i].name, NULL, NULL);
    }
    loop->kept = lo->kept.len;
}

void lo_leave_loop(Lower *lo, const LowerLoop *loop)
{
    lo->loop = loop->outer;
    lo->kept.len = loop->kept; /* of other turns */
    for (int i = 0; i < loop->n_written; i++) {
        lo_local_make(lo, loop->written[i].name)->shared = NULL;
        if (loop->written[i].turns) vec_push(lo->arena, &lo->kept, (Kept){.name = loop->written[i].name, .turns = loop->written[i].turns});
    }
}
