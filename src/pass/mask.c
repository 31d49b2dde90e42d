/* mask.c: what a mask does to a loop.
 *
 * A mask keeps an element where a condition over its place (row, col), the
 * loop counter and the block's coordinates holds. For a loop that contains one,
 * this pass derives two conditions on the counter alone:
 *
 *   live(j)  some element of the tile may be kept
 *   full(j)  every element of the tile is kept
 *
 *      j  0 . . . . . . . . . . .          before   for j = 0:n  { mask ... }
 *         full full part part dead         after    for j = 0:hi { mask ... unless full(j) }
 *
 * Iterations that are not live are dropped from the ends of the loop when it is
 * proved that an iteration whose masked tiles are constant, all those that the same
 * part of a condition makes dead, leaves every carried
 * value as it was, but where another loop reads the same rows from shared memory, all of them. Full iterations skip the masking; where none is full, those that
 * meet a part of the condition as a whole skip that part. Causal, window, prefix and
 * padding masks all come out of this one analysis.
 *
 * live over-approximates and full under-approximates, so both are always safe.
 */
#include "pass/conditions.h"
#include "pass/gap.h"
#include "pass/keep.h"
#include "pass/kept.h"
#include "pass/passes.h"
#include "pass/project.h"
#include "pass/rows.h"

/* ---- what is known of a tile in a dead iteration ----------------------------------- */

typedef enum FactKind { UNKNOWN, CONSTANT, CARRIED } FactKind;

typedef struct Fact {
    FactKind kind;
    double number; /* CONSTANT: every element */
    int carried;   /* CARRIED: equal to this loop parameter */
} Fact;

typedef struct Facts {
    Arena *arena;
    const TileOp *loop;
    Fact *of; /* by value id */
} Facts;

static Fact constant(double number)
{
    return (Fact){CONSTANT, number, 0};
}

static Fact fact_of(const Facts *facts, const TileValue *v)
{
    return facts->of[v->id];
}

static bool is_number(Fact f, double number)
{
    return f.kind == CONSTANT && f.number == number;
}

/* Elementwise operations on two operands, one of which is known. */
static Fact element_of_two(OpId op, Fact a, Fact b)
{
    if (a.kind == CONSTANT && b.kind == CONSTANT) {
        double value = op_eval(op, a.number, b.number, 0);
        return value == value ? constant(value) : (Fact){UNKNOWN, 0, 0};
    }
    if (op == OP_MULTIPLY && (is_number(a, 0) || is_number(b, 0))) return constant(0);
    if (op == OP_MULTIPLY && is_number(b, 1)) return a;
    if (op == OP_MULTIPLY && is_number(a, 1)) return b;
    if (op == OP_ADD && is_number(b, 0)) return a;
    if (op == OP_ADD && is_number(a, 0)) return b;
    if (op == OP_SUBTRACT && is_number(b, 0)) return a;
    if (op == OP_DIVIDE && is_number(b, 1)) return a;
    /* An element that is -inf stays so when anything finite is added. */
    if ((op == OP_ADD || op == OP_SUBTRACT) && is_number(a, -1.0 / 0.0)) return a;
    if (op == OP_ADD && is_number(b, -1.0 / 0.0)) return b;
    if (op == OP_MAX && is_number(b, -1.0 / 0.0)) return a;
    if (op == OP_MAX && is_number(a, -1.0 / 0.0)) return b;
    return (Fact){UNKNOWN, 0, 0};
}

static Fact element_fact(const Facts *facts, const TileOp *op)
{
    Fact a = fact_of(facts, op->args[0]);
    if (op->n_args == 1)
        return a.kind == CONSTANT ? element_of_two(op->op, a, constant(0)) : (Fact){UNKNOWN, 0, 0};
    if (op->op == OP_WHERE) { /* of equal numbers, whatever the condition */
        Fact b = fact_of(facts, op->args[1]), c = fact_of(facts, op->args[2]);
        Fact chosen = a.kind == CONSTANT && a.number != 0 ? b : c;
        if (a.kind == CONSTANT) return chosen.kind == CONSTANT ? chosen : (Fact){UNKNOWN, 0, 0};
        return b.kind == CONSTANT && is_number(c, b.number) ? b : (Fact){UNKNOWN, 0, 0};
    }
    if (op->has_else) /* a quotient of 0 is 0, and so is what stands for one by 0 */
        return is_number(a, 0) && op->number == 0 ? a : (Fact){UNKNOWN, 0, 0};
    if (op->n_args == 2) {
        Fact f = element_of_two(op->op, a, fact_of(facts, op->args[1]));
        /* A carried value is only itself at its own shape. */
        if (f.kind == CARRIED) {
            const TileType *t = &facts->loop->regions[0]->params.data[f.carried]->type;
            const TileType *r = &op->results[0]->type;
            if (t->rows != r->rows || t->cols != r->cols) return (Fact){UNKNOWN, 0, 0};
        }
        return f;
    }
    return (Fact){UNKNOWN, 0, 0};
}

static Fact reduce_fact(const Facts *facts, const TileOp *op)
{
    Fact a = fact_of(facts, op->args[0]);
    if (a.kind != CONSTANT) return (Fact){UNKNOWN, 0, 0};
    bool sums = op->op == OP_ROW_SUM || op->op == OP_COL_SUM || op->op == OP_ROW_MEAN;
    return !sums || a.number == 0 ? a : (Fact){UNKNOWN, 0, 0};
}

static Fact gemm_fact(const Facts *facts, const TileOp *op)
{
    bool zero = is_number(fact_of(facts, op->args[0]), 0) || is_number(fact_of(facts, op->args[1]), 0);
    if (!zero) return (Fact){UNKNOWN, 0, 0};
    return op->n_args == 3 ? fact_of(facts, op->args[2]) : constant(0);
}

static void softmax_facts(Facts *facts, const TileOp *op)
{
    if (!is_number(fact_of(facts, op->args[0]), -1.0 / 0.0)) return;
    facts->of[op->results[0]->id] = constant(0);
    facts->of[op->results[1]->id] = fact_of(facts, op->args[1]);
    facts->of[op->results[2]->id] = fact_of(facts, op->args[2]);
    facts->of[op->results[3]->id] = constant(1);
}

/* Conditions on the counter under which masks of a loop keep something, by operation; NULL: it is no mask. */
typedef struct Lives {
    const Aff **of;
} Lives;

static Lives lives_of(TileProgram *program, const TileBlock *body)
{
    Lives lives = {arena_array(program->arena, const Aff *, body->ops.len)};
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind != TILE_MASK) continue;
        lives.of[i] = project_tile(program, op->cond, op->args[0]->type.rows, op->args[0]->type.cols, true);
    }
    return lives;
}

/* Whether a mask that keeps something under it keeps nothing where the conjunct does not hold. */
static bool demands(AffCtx *aff, const Aff *live, const Aff *conjunct)
{
    if (!live || live == conjunct) return live != NULL;
    if (live->kind == AFF_AND) return demands(aff, live->a, conjunct) || demands(aff, live->b, conjunct);
    if (live->kind == AFF_OR) return demands(aff, live->a, conjunct) && demands(aff, live->b, conjunct);
    return aff_never(aff, aff_and(aff, live, aff_not(aff, conjunct)));
}

static void learn(Facts *facts, const TileOp *op, bool dead)
{
    Fact f = {UNKNOWN, 0, 0};
    if (dead) {
        f = op->kind == TILE_MASK ? constant(op->number) : fact_of(facts, op->args[2]); /* a choice, else */
    } else {
        switch (op->kind) {
        case TILE_FILL:    f = op->param ? f : constant(op->number); break;
        case TILE_ELEMENT: f = element_fact(facts, op); break;
        case TILE_REDUCE:  f = reduce_fact(facts, op); break;
        case TILE_GEMM:    f = gemm_fact(facts, op); break;
        case TILE_MASK: {
            Fact a = fact_of(facts, op->args[0]);
            if (is_number(a, op->number)) f = a;
            break;
        }
        case TILE_CAST: case TILE_RESHAPE: case TILE_MOVE: {
            Fact a = fact_of(facts, op->args[0]);
            if (is_number(a, 0) || is_number(a, 1) || is_number(a, -1.0 / 0.0)) f = a;
            break;
        }
        case TILE_SOFTMAX: softmax_facts(facts, op); return;
        case TILE_LOAD: case TILE_STORE: case TILE_INDEX: case TILE_GATHER: case TILE_FOR: case TILE_IF:
        case TILE_YIELD: case TILE_BUFFER: case TILE_VIEW: case TILE_PUT: case TILE_COPY_ASYNC:
        case TILE_COMMIT: case TILE_WAIT: case TILE_BARRIER: case TILE_ROLES: case TILE_ACQUIRE:
        case TILE_FILLED: case TILE_AWAIT: case TILE_RELEASE: case TILE_SLICE: case TILE_PATCH:
        case TILE_RING: case TILE_ISSUE: case TILE_FINISH: case TILE_REVISE: case TILE_PREPARE: case TILE_TAKE_TURN: case TILE_GIVE_TURN:
        case TILE_SCALAR: case TILE_OP_COUNT:
            break;
        }
    }
    for (int i = 0; i < op->n_results; i++) facts->of[op->results[i]->id] = f;
}

/* Constants defined outside of the loop are known in it. */
static void learn_outer_fills(Facts *facts, const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_FILL && !op->param) facts->of[op->results[0]->id] = constant(op->number);
    }
}

/* Whether an iteration changes nothing in which the conjunct does not hold, so that no mask that demands it keeps anything. */
static bool dead_iteration_is_identity(TileProgram *program, TileKernel *kernel, const TileOp *loop, const Lives *lives, const Aff *conjunct)
{
    const TileBlock *body = loop->regions[0];
    Facts facts = {program->arena, loop, arena_array(program->arena, Fact, kernel->next_value)};
    learn_outer_fills(&facts, kernel->body);
    for (int i = 0; i < body->params.len; i++)
        facts.of[body->params.data[i]->id] = (Fact){CARRIED, 0, i};

    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind == TILE_YIELD) {
            for (int k = 0; k < op->n_args; k++) {
                Fact f = fact_of(&facts, op->args[k]);
                if (f.kind != CARRIED || f.carried != k) return false;
            }
            return true;
        }
        bool adds_nothing = op->kind == TILE_STORE && op->onto && is_number(fact_of(&facts, op->args[0]), 0);
        if (tile_op_has_effect(op) && !adds_nothing) return false;
        learn(&facts, op, demands(program->aff, lives->of[i], conjunct));
    }
    return false;
}

/* Where `choice` keeps nothing, whatever else does. */
bool mask_turns_count(TileProgram *program, TileKernel *kernel, const TileOp *loop, const TileOp *choice)
{
    const TileBlock *body = loop->regions[0];
    const Aff *some = aff_of(program->aff, aff_sym_new(program->aff, "some", AFF_DIM, 0, 1));
    Lives lives = {arena_array(program->arena, const Aff *, body->ops.len)};
    lives.of[tile_index_of(body, choice)] = some;
    return !dead_iteration_is_identity(program, kernel, loop, &lives, some);
}

/* ---- tightening -------------------------------------------------------------------------- */

/* The one coordinate of the grid along which sign * e grows; -1: none or several. */
static int growing_axis(TileProgram *program, const TileKernel *kernel, const Aff *e, int sign)
{
    int found = -1;
    for (int i = 0; i < kernel->grid.len; i++) {
        const Aff *coef, *rest;
        int64_t c;
        if (kernel->grid.data[i].within) continue;
        if (!aff_linear(program->aff, e, kernel->grid.data[i].sym, &coef, &rest)) continue;
        if (!aff_is_const(coef, &c) || c == 0) continue;
        found = (c > 0) == (sign > 0) && found < 0 ? i : -1;
    }
    return found;
}

typedef struct Tightening {
    TileProgram *program;
    TileKernel *kernel;
    TileOp *loop;
    int more, fewer; /* grid axis along which a bound adds iterations, or takes some away; -1: none */
} Tightening;

/* sign * bound, the more the more iterations, was found. */
static void note_axes(Tightening *t, const Aff *bound, int sign)
{
    int more = growing_axis(t->program, t->kernel, bound, sign), fewer = growing_axis(t->program, t->kernel, bound, -sign);
    if (more >= 0) t->more = more;
    if (fewer >= 0) t->fewer = fewer;
}

/* Of sum <= 0 the same without the quotient that the counter is in: x div k <= y is x <= k y + k - 1. */
static const Aff *without_quotient(AffCtx *aff, const Aff *sum, const AffSym *counter)
{
    int64_t times, k;
    const Aff *quotient = project_term(sum, 1u << AFF_DIV, counter, &times);
    if (!quotient || (times != 1 && times != -1) || !aff_is_const(quotient->b, &k) || k < 1) return sum;
    const Aff *rest = aff_scale(aff, aff_sub(aff, sum, aff_scale(aff, quotient, times)), k);
    return times > 0 ? aff_offset(aff, aff_add(aff, rest, quotient->a), 1 - k) : aff_sub(aff, rest, quotient->a);
}

/* Whether a conjunct bounds the counter: c j + rest <= 0. */
static bool is_bound(const Tightening *t, const Aff *live, int64_t *c, const Aff **rest)
{
    AffCtx *aff = t->program->aff;
    const Aff *coef;
    if (live->kind != AFF_LE) return false;
    const Aff *sum = without_quotient(aff, aff_sub(aff, live->a, live->b), t->loop->var);
    if (!aff_linear(aff, sum, t->loop->var, &coef, rest)) return false;
    return aff_is_const(coef, c) && *c != 0 && *c != INT64_MIN;
}

typedef enum Side { BEGIN, END } Side;

/* The first counter for which c j + rest <= 0, or the one behind the last. */
static const Aff *bound_of(AffCtx *aff, int64_t c, const Aff *rest)
{
    return c > 0 ? aff_offset(aff, aff_div(aff, aff_scale(aff, rest, -1), aff_const(aff, c)), 1) : aff_ceildiv(aff, rest, aff_const(aff, -c));
}

/* The turns' begin or end that a condition sets: the first counter for which it can hold, or the one behind the last.
 * NULL: it sets none. */
static const Aff *side_of(const Tightening *t, const Aff *live, Side side)
{
    AffCtx *aff = t->program->aff;
    const Aff *rest;
    int64_t c;
    if (live->kind == AFF_AND || live->kind == AFF_OR) {
        const Aff *a = side_of(t, live->a, side), *b = side_of(t, live->b, side);
        if (a && b) return (live->kind == AFF_AND) == (side == END) ? aff_min(aff, a, b) : aff_max(aff, a, b);
        return live->kind == AFF_OR ? NULL : a ? a : b;
    }
    return is_bound(t, live, &c, &rest) && (c > 0) == (side == END) ? bound_of(aff, c, rest) : NULL;
}

/* Of so many bounds that their extreme cannot be said, those that it could be said of. */
static const Aff *or_before(const Aff *bound, const Aff *before)
{
    return aff_is_poison(bound) ? before : bound;
}

static void begin_from(Tightening *t, const Aff *begin)
{
    t->loop->lo = or_before(aff_max(t->program->aff, t->loop->lo, begin), t->loop->lo);
}

static void end_at(Tightening *t, const Aff *end)
{
    t->loop->hi = or_before(aff_min(t->program->aff, t->loop->hi, end), t->loop->hi);
}

/* Of two conditions, one of which has to hold, the earlier begin and the later end. */
static void tighten_either(Tightening *t, const Lives *lives, const Aff *live)
{
    const Aff *begin = side_of(t, live, BEGIN), *end = side_of(t, live, END);
    if ((!begin && !end) || !dead_iteration_is_identity(t->program, t->kernel, t->loop, lives, live)) return;
    if (begin) begin_from(t, begin);
    if (end) end_at(t, end);
    for (int k = 0; end && k < 2; k++) note_axes(t, side_of(t, k ? live->b : live->a, END), 1);
}

/* Keeps only counters for which live can hold, if the others change nothing. */
static void tighten(Tightening *t, const Lives *lives, const Aff *live)
{
    AffCtx *aff = t->program->aff;
    const Aff *rest;
    int64_t c;
    if (live->kind == AFF_AND) {
        tighten(t, lives, live->a);
        tighten(t, lives, live->b);
        return;
    }
    if (live->kind == AFF_OR) {
        tighten_either(t, lives, live);
        return;
    }
    if (!is_bound(t, live, &c, &rest) || !dead_iteration_is_identity(t->program, t->kernel, t->loop, lives, live)) return;
    if (c > 0) end_at(t, bound_of(aff, c, rest));
    else begin_from(t, bound_of(aff, c, rest));
    if (c > 0) note_axes(t, aff_scale(aff, rest, -1), 1);
    else note_axes(t, rest, -1);
}

/* Turns between two stretches in which either of two conditions holds, if they change nothing: from the end of one to the
 * begin of the other. */
static bool find_gap(const Tightening *t, const Lives *lives, const Aff *live, const Aff **from, const Aff **to)
{
    int64_t lo;
    if (live->kind == AFF_AND) return find_gap(t, lives, live->a, from, to) || find_gap(t, lives, live->b, from, to);
    if (live->kind != AFF_OR || !aff_is_const(t->loop->lo, &lo) || lo != 0) return false;
    for (int k = 0; k < 2; k++) {
        const Aff *first = k ? live->b : live->a, *second = k ? live->a : live->b;
        *from = side_of(t, first, END);
        *to = side_of(t, second, BEGIN);
        if (*from && *to && !side_of(t, first, BEGIN)) return dead_iteration_is_identity(t->program, t->kernel, t->loop, lives, live);
    }
    return false;
}

/* ---- masks that every tile needs ------------------------------------------------------------ */

typedef struct Splitting {
    Rewriter rw;
    const TileType *tile;
    TileOp *mask;
    const Aff *rest; /* what no tile meets as a whole */
} Splitting;

/* A conjunct that some tiles meet as a whole gets a mask of its own. */
static void split(Splitting *s, const Aff *cond)
{
    AffCtx *aff = s->rw.program->aff;
    if (cond->kind == AFF_AND) {
        split(s, cond->a);
        split(s, cond->b);
        return;
    }
    const Aff *full = project_tile(s->rw.program, cond, s->tile->rows, s->tile->cols, false);
    if (aff_never(aff, full)) {
        s->rest = aff_and(aff, s->rest, cond);
        return;
    }
    TileOp *own = rw_insert(&s->rw, TILE_MASK, 1, s->mask->args, 1, &s->mask->results[0]->type);
    own->cond = cond;
    own->unless = full;
    own->number = s->mask->number;
    own->results[0]->name = s->mask->results[0]->name;
    s->mask->args[0] = own->results[0];
}

/* Where no tile escapes the whole condition (a window narrower than the tile), most
 * escape parts of it. Returns where the mask now is. */
static int split_mask(TileProgram *program, TileKernel *kernel, TileBlock *block, int at)
{
    TileOp *mask = block->ops.data[at];
    Splitting s = {{program, kernel, block, at, mask->loc}, &mask->args[0]->type, mask, aff_const(program->aff, 1)};
    split(&s, mask->cond);
    mask->cond = s.rest;
    return s.rw.at;
}

static bool every_turn_counts(TileProgram *program, TileKernel *kernel, const TileOp *loop)
{
    const TileBlock *body = loop->regions[0];
    Lives lives = lives_of(program, body);
    for (int i = 0; i < body->ops.len; i++)
        if (lives.of[i] && dead_iteration_is_identity(program, kernel, loop, &lives, lives.of[i])) return false;
    return true;
}

/* Whether shared memory keeps what the loop reads for another one that has to go over all of it: to be kept, it has to be
 * of the same turns in both, and a dead turn then reads nothing from global memory that the other would not. */
static bool is_kept_for_all_turns(TileProgram *program, TileKernel *kernel, const TileBlock *block, const TileOp *loop)
{
    if (kernel->kept == 0 || !rows_without_fragments(kernel)) return false;
    for (int i = 0; i < block->ops.len; i++)
        if (keep_reads_with(program, kernel, loop, block->ops.data[i]) && every_turn_counts(program, kernel, block->ops.data[i])) return true;
    return false;
}

/* Bounds that masks set; of those that a launch knows beforehand (`known`), or of all. */
static void tighten_turns(Tightening *t, const Lives *lives, bool known)
{
    AffCtx *aff = t->program->aff;
    const Aff *lo = t->loop->lo, *hi = t->loop->hi;
    for (int i = 0; i < t->loop->regions[0]->ops.len; i++)
        if (lives->of[i] && !(known && aff_uses_kind(lives->of[i], AFF_SCALAR))) tighten(t, lives, lives->of[i]);
    if (aff_always(aff, aff_le(aff, t->loop->hi, t->loop->lo))) { /* masks that contradict each other: nobody has asked for no loop */
        t->loop->lo = lo;
        t->loop->hi = hi;
    }
}

MaskTurns mask_turns(TileProgram *program, TileKernel *kernel, const TileOp *loop)
{
    TileOp bounded = *loop;
    Tightening t = {program, kernel, &bounded, -1, -1};
    Lives lives = lives_of(program, loop->regions[0]);
    tighten_turns(&t, &lives, true);
    return (MaskTurns){bounded.lo, bounded.hi, t.fewer != t.more ? t.more : -1};
}

static void analyse_loop(TileProgram *program, TileKernel *kernel, const TileBlock *block, TileOp *loop)
{
    AffCtx *aff = program->aff;
    TileBlock *body = loop->regions[0];
    Tightening t = {program, kernel, loop, -1, -1};
    const Aff *from = NULL, *to = NULL;
    bool gap = false;
    Lives lives = lives_of(program, body);
    bool all_turns = is_kept_for_all_turns(program, kernel, block, loop);
    if (!all_turns) tighten_turns(&t, &lives, false);
    for (int i = 0; i < body->ops.len && !all_turns && !gap; i++) gap = lives.of[i] && find_gap(&t, &lives, lives.of[i], &from, &to);
    for (int i = 0; i < body->ops.len; i++) {
        TileOp *mask = body->ops.data[i];
        if (mask->kind != TILE_MASK) continue;
        const TileType *tile = &mask->args[0]->type;
        const Aff *full = project_tile(program, mask->cond, tile->rows, tile->cols, false);
        if (!aff_never(aff, full)) mask->unless = full;
        else i = split_mask(program, kernel, body, i);
    }
    if (gap) gap_close(program, kernel, loop, from, to);
    /* Blocks with more iterations first: the tail of the launch is then short. */
    if (t.more >= 0 && t.fewer != t.more) kernel->grid.data[t.more].reversed = true;
}

static void analyse_block(TileProgram *program, TileKernel *kernel, TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) analyse_block(program, kernel, op->regions[r]);
        if (op->kind == TILE_FOR) analyse_loop(program, kernel, block, op);
    }
}

/* Masks that never do anything vanish. */
static void remove_idle_masks(AffCtx *aff, TileBlock *block)
{
    for (int i = block->ops.len - 1; i >= 0; i--) {
        TileOp *op = block->ops.data[i];
        for (int r = 0; r < op->n_regions; r++) remove_idle_masks(aff, op->regions[r]);
        if (op->kind != TILE_MASK) continue;
        if (!aff_always(aff, op->cond) && !(op->unless && aff_always(aff, op->unless))) continue;
        tile_replace_uses(block, op->results[0], op->args[0]);
        tile_remove(block, i);
    }
}

bool pass_mask(TileProgram *program, TileKernel *kernel, const Target *target, Diags *diags)
{
    (void)target;
    (void)diags;
    conditions_to_masks(program, kernel, kernel->body);
    rw_remove_dead(kernel->body);
    kept_indices(program, kernel);
    analyse_block(program, kernel, kernel->body);
    remove_idle_masks(program->aff, kernel->body);
    return true;
}
