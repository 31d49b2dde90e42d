/* unit.c: which maximum a tile is in units of, and who brings it to the next.
 *
 * One step of an online softmax moves the maximum from M to M'. Its exponentials are
 * in units of exp(M'); what they were added to before is in units of exp(M), and is
 * multiplied by alpha = exp(M - M') once: by the program, if it does so itself, else
 * here, where something is accumulated.
 *
 *   O, in units of M  ─► O * alpha, in units of M' ─► + S V ─► O, in units of M'
 *
 * What is never multiplied, or twice, or by another factor, would be wrong by a factor
 * that differs from row to row: TW0733. A value that a loop carries counts as being in
 * units of the maximum that the loop carries; that it is so at the loop's end is
 * checked there. docs/language.md has the rules, case by case.
 */
#include <math.h>

#include "lower/state.h"

/* ---- what is known ------------------------------------------------------------------------ */

static const TileOp *element_def(const TileValue *v, OpId op)
{
    while (v->def && v->def->kind == TILE_CAST) v = v->def->args[0]; /* it was kept in another dtype */
    return v->def && v->def->kind == TILE_ELEMENT && v->def->op == op ? v->def : NULL;
}

/* A copy made with `Compute Add M, 0 and get M_prev`, or with another operation
 * that changes nothing, is M. */
const TileValue *lo_without_zero(const TileValue *v)
{
    static const struct {
        OpId op;
        int number; /* the other operand */
        bool first; /* may be the first one, too */
    } copies[] = {{OP_ADD, 0, true}, {OP_SUBTRACT, 0, false}, {OP_MULTIPLY, 1, true}, {OP_DIVIDE, 1, false}};
    double number;
    for (size_t i = 0; i < TW_COUNT(copies); i++) {
        const TileOp *op = element_def(v, copies[i].op);
        if (op && rw_number(op->args[1], &number) && number == copies[i].number) return op->args[0];
        if (op && copies[i].first && rw_number(op->args[0], &number) && number == copies[i].number)
            return op->args[1];
    }
    for (int i = 0; i < 2; i++) {
        const TileOp *op = element_def(v, i ? OP_MIN : OP_MAX);
        if (op && op->args[0] == op->args[1]) return op->args[0];
    }
    return v;
}

/* exp(from - to) of a softmax step, written by hand: the step. */
static const SoftmaxStep *step_between(Lower *lo, const TileValue *v, bool backwards)
{
    const TileOp *e = element_def(v, OP_EXP);
    const TileOp *difference = e ? element_def(e->args[0], OP_SUBTRACT) : NULL;
    if (!difference) return NULL;
    for (int i = lo->steps.len - 1; i >= 0; i--) {
        const SoftmaxStep *step = &lo->steps.data[i];
        if (lo_without_zero(difference->args[backwards]) == step->before
            && lo_without_zero(difference->args[!backwards]) == step->after)
            return step;
    }
    return NULL;
}

/* X, in units of exp(M), times exp(M - c) is in units of exp(c), whatever column c is: where
 * several softmaxes are brought to one reference, that is c. NULL: the factor is no such. */
static const TileValue *brought_to(Lower *lo, const TileValue *x, const TileValue *factor)
{
    const Lineage of = *lo_lineage(lo, x);
    const TileOp *e = element_def(factor, OP_EXP);
    const TileOp *difference = e ? element_def(e->args[0], OP_SUBTRACT) : NULL;
    if (!difference || !of.unit || of.alpha || of.doubtful || lo_without_zero(difference->args[0]) != of.unit) return NULL;
    return lo_without_zero(difference->args[1]);
}

static const SoftmaxStep *step_of(Lower *lo, const TileValue *alpha)
{
    for (int i = lo->steps.len - 1; i >= 0; i--)
        if (lo->steps.data[i].alpha == alpha) return &lo->steps.data[i];
    return NULL;
}

static bool computed_from(const TileValue *v, const TileValue *from, int depth)
{
    bool arithmetic = v->def && (v->def->kind == TILE_ELEMENT || v->def->kind == TILE_CAST);
    if (v == from || !arithmetic || depth == 0) return v == from;
    for (int i = 0; i < v->def->n_args; i++)
        if (computed_from(v->def->args[i], from, depth - 1)) return true;
    return false;
}

/* A column made of the maxima of a softmax. */
static bool is_of_maxima(const Lower *lo, const TileValue *v)
{
    for (int i = 0; i < lo->steps.len; i++)
        if (v->type.cols == 1 && v->type.rows > 1
            && (computed_from(v, lo->steps.data[i].after, 8) || computed_from(v, lo->steps.data[i].alpha, 8)
                || computed_from(v, lo->steps.data[i].before, 8)))
            return true;
    return false;
}

static const TileOp *yield_of(const TileBlock *block)
{
    return block->ops.data[block->ops.len - 1];
}

/* As a loop's body finds it. */
static bool is_carried(const TileValue *v)
{
    return v->def == NULL;
}

static bool is_zero(const TileValue *v)
{
    double number;
    while (v->def && v->def->kind == TILE_CAST) v = v->def->args[0];
    return (v->def && v->def->kind == TILE_FILL && v->def->number == 0) || (rw_number(v, &number) && number == 0);
}

static const char *name_of(const TileValue *v)
{
    return v->name ? v->name : "the tile";
}

static void fail(Lower *lo, Span span, const TileValue *v, const char *what)
{
    lo_fail(lo, TW0733, span, "'%s' %s", name_of(v), what);
}

/* ---- steps ------------------------------------------------------------------------------------ */

/* A sum that begins as a maximum does would stay infinite. */
static void starts_as_sum(Lower *lo, const TileValue *sum, const TileValue *first, Span loc)
{
    if (first->def && first->def->kind == TILE_FILL && !first->def->param && first->def->number == -HUGE_VAL)
        fail(lo, loc, sum, "is the softmax's sum and starts at -inf: `with M and L` names the maximum first");
}

void lo_unit_step(Lower *lo, const TileOp *softmax)
{
    TileValue *alpha = softmax->results[3];
    const TileValue *after = softmax->results[1];
    lo_lineage(lo, softmax->results[0])->alpha = alpha;
    lo_lineage(lo, softmax->results[0])->unit = after;
    lo_lineage(lo, softmax->results[2])->unit = after;
    vec_push(lo->arena, &lo->steps,
             (SoftmaxStep){.before = lo_without_zero(softmax->args[1]), .after = after, .sum = softmax->args[2], .loc = softmax->loc,
                           .alpha = alpha, .loop = lo->loop});
    starts_as_sum(lo, softmax->args[2], softmax->args[2], softmax->loc);
}

/* ---- accumulation --------------------------------------------------------------------------------- */

/* What keeps acc from being in units of what is before the step; NULL: nothing. */
static const char *out_of_step(Lower *lo, const TileValue *acc, const SoftmaxStep *step)
{
    const TileValue *unit = lo_lineage(lo, acc)->unit;
    if (lo_lineage(lo, acc)->doubtful)
        return "was multiplied by what is made of the maxima of the softmax, but is not exp(M before - M after)";
    if (unit && unit != step->before)
        return "is in units of another maximum: accumulate from the softmaxes of one state in their order, from each "
               "or from none";
    if (unit || !is_carried(acc)) return NULL;
    if (step->loop != lo->loop)
        return "would be multiplied in each iteration of an inner loop: multiply it by exp(M before - M after) before "
               "that loop";
    return is_carried(step->before) ? NULL
                                    : "comes from the iteration before, but the softmax's state was set, or moved on, "
                                      "since: accumulate from every softmax of the state, or begin both anew";
}

TileValue *lo_unit_accumulator(Lower *lo, TileValue *acc, const TileValue *a)
{
    TileValue *alpha = lo_lineage(lo, a)->alpha;
    const SoftmaxStep *step = alpha ? step_of(lo, alpha) : NULL;
    if (lo_lineage(lo, a)->lost)
        fail(lo, lo->rw.loc, a, "holds exponentials of a loop or branch that is over: accumulate them where their "
             "softmax is");
    if (step && lo_lineage(lo, a)->doubtful)
        fail(lo, lo->rw.loc, a, "was multiplied by what is made of the maxima of the softmax, but is not exp(M before - M after)");
    if (!step || lo_lineage(lo, acc)->rescaled == alpha || lo_lineage(lo, acc)->unit == step->after) return acc;
    const char *why = is_zero(acc) ? NULL : out_of_step(lo, acc, step);
    if (why) fail(lo, lo->rw.loc, acc, why);
    TileValue *product = rw_binary(&lo->rw, OP_MULTIPLY, acc, alpha);
    Lineage *l = lo_lineage(lo, product);
    l->rescaled = alpha;
    l->unit = step->after;
    product->name = acc->name;
    return product;
}

void lo_unit_accumulated(Lower *lo, const TileValue *sum, const TileValue *acc, const TileValue *a)
{
    const Lineage from = *lo_lineage(lo, a), before = *lo_lineage(lo, acc);
    const SoftmaxStep *step = from.alpha ? step_of(lo, from.alpha) : NULL;
    Lineage *l = lo_lineage(lo, sum);
    l->rescaled = step ? from.alpha : before.rescaled;
    l->unit = step ? step->after : before.unit;
    l->owes = l->unit ? NULL : from.param ? from.param : before.owes;
}

/* ---- rescaling by hand ----------------------------------------------------------------------------- */

/* The softmax's own factor stands for the program's: it is 1, not a NaN, where
 * nothing was seen yet. */
static void note_factor(Lower *lo, TileOp *op, const TileValue *x, int at, const SoftmaxStep *step)
{
    const Lineage of = *lo_lineage(lo, x);
    const char *why = NULL;
    if (of.rescaled == step->alpha || (of.unit == step->after && !of.alpha))
        why = "is in units of the newest maximum already: it would be multiplied twice. Multiply before anything is "
              "accumulated from this softmax, in all branches or in none, or leave it to the compiler";
    else if (of.alpha == step->alpha)
        why = "comes from this softmax: it is in units of the newest maximum. What is to be multiplied is what it is "
              "accumulated to";
    else if (of.unit && of.unit != step->before)
        why = "is in units of another maximum than this factor starts from";
    if (why) fail(lo, lo->rw.loc, x, why);
    op->args[at] = step->alpha;
    if (x->type.rows == 1) return; /* a number of times the factor */
    Lineage *l = lo_lineage(lo, op->results[0]);
    l->rescaled = step->alpha;
    l->alpha = NULL;
    l->unit = step->after;
    l->owes = l->param = NULL;
}

/* X / exp(M after - M before) is X * exp(M before - M after). */
static void turn_quotient(Lower *lo, TileOp *op)
{
    if (op->op == OP_DIVIDE && !op->has_else && step_between(lo, op->args[1], true)) op->op = OP_MULTIPLY;
}

/* x was multiplied by a column of maxima that is no factor between two of them. */
static void doubt(Lower *lo, const TileOp *op, const TileValue *x)
{
    const TileValue *unit = lo_lineage(lo, x)->unit;
    Lineage *l = lo_lineage(lo, op->results[0]);
    l->doubtful = true;
    l->doubted = unit;
    l->unit = NULL;
}

void lo_unit_rescale(Lower *lo, TileOp *op)
{
    const SoftmaxStep *backwards = op->op == OP_DIVIDE ? step_between(lo, op->args[1], true) : NULL;
    bool product = op->op == OP_MULTIPLY || op->op == OP_FMA;
    turn_quotient(lo, op);
    if (backwards) note_factor(lo, op, op->args[0], 1, backwards);
    if (op->op == OP_DIVIDE && op->args[0]->type.cols > 1 && is_of_maxima(lo, op->args[1])) doubt(lo, op, op->args[0]);
    for (int i = 0; product && i < 2; i++) {
        const SoftmaxStep *step = step_between(lo, op->args[i], false);
        const TileValue *to = step || op->op == OP_FMA ? NULL : brought_to(lo, op->args[1 - i], op->args[i]);
        if (step) {
            note_factor(lo, op, op->args[1 - i], i, step);
        } else if (to) {
            lo_lineage(lo, op->results[0])->unit = to;
        } else if (op->args[1 - i]->type.cols > 1 && is_of_maxima(lo, op->args[i])) {
            doubt(lo, op, op->args[1 - i]);
        }
    }
}

/* ---- elementwise ------------------------------------------------------------------------------------- */

/* Whether the result is so many times as large where its operands are. */
static bool is_linear(OpId op)
{
    return op == OP_ADD || op == OP_SUBTRACT || op == OP_MULTIPLY || op == OP_DIVIDE || op == OP_NEGATE ||
           op == OP_FMA || op == OP_WHERE || op == OP_RELU || op == OP_ABS;
}

static bool is_sum(const TileOp *op)
{
    return op->op == OP_ADD || op->op == OP_SUBTRACT || op->op == OP_FMA;
}

/* What a sum would add in other units: NULL, if nothing. Of Fma, what is multiplied may be
 * rescaled by that. */
static const TileValue *unscaled_term(Lower *lo, const TileOp *op, const TileValue *unit)
{
    bool by_hand = op->op == OP_FMA && (step_between(lo, op->args[0], false) || step_between(lo, op->args[1], false));
    for (int i = by_hand ? 2 : 0; i < op->n_args; i++) {
        const TileValue *v = op->args[i];
        const Lineage l = *lo_lineage(lo, v);
        if ((is_carried(v) || l.doubtful) && !l.unit && v->type.rows == unit->type.rows && v->type.rows > 1) return v;
    }
    return NULL;
}

void lo_unit_element(Lower *lo, TileOp *op)
{
    const TileValue *unit = NULL, *param = NULL;
    bool same = false, differ = false;
    for (int i = 0; i < op->n_args; i++) {
        const Lineage l = *lo_lineage(lo, op->args[i]);
        same |= unit && l.unit == unit;
        differ |= unit && l.unit && l.unit != unit;
        unit = l.unit ? l.unit : unit;
        param = l.param && op->args[i]->type.cols > 1 ? l.param : param;
    }
    if (!is_linear(op->op)) return;
    if (differ)
        fail(lo, lo->rw.loc, op->args[0], "and the other operand are in units of different maxima: of a softmax that "
             "moved the maximum, every tile that was accumulated before must take note");
    if (is_sum(op) && unit && unscaled_term(lo, op, unit))
        fail(lo, lo->rw.loc, unscaled_term(lo, op, unit), "is in units of the maximum before this softmax: multiply it by "
             "exp(M before - M after) first, or write `and accumulate`, which does");
    Lineage *l = lo_lineage(lo, op->results[0]);
    l->unit = (same && !is_sum(op)) || (op->op == OP_DIVIDE && !lo_lineage(lo, op->args[0])->unit) ? NULL : unit;
    lo_lineage(lo, op->results[0])->param = param;
}

/* ---- before a block ---------------------------------------------------------------------------------------- */

typedef struct Holder {
    const char *name;
    TileValue *alpha; /* NULL: what the name holds is not of a softmax before the block */
} Holder;

typedef struct Settle {
    Lower *lo;
    VEC(Holder) held; /* by names that the block assigns */
} Settle;

static const char *base_of(Lower *lo, const Expr *e)
{
    Space space = SPACE_NONE;
    const char *name = expr_base_name(e);
    return name ? lo_base_name(lo, name, &space) : NULL;
}

static TileValue *held_by(Settle *s, const char *name)
{
    for (int i = s->held.len - 1; name && i >= 0; i--)
        if (strcmp(s->held.data[i].name, name) == 0) return s->held.data[i].alpha;
    const Local *local = name ? lo_local(s->lo, name) : NULL;
    const TileValue *v = !local ? NULL : local->reg ? local->reg : local->shared ? local->shared->value : NULL;
    return v ? lo_lineage(s->lo, v)->alpha : NULL;
}

/* Brings the name's tile to the newest maximum, once, before the block. */
static void settle_name(Lower *lo, const char *name, TileValue *alpha, Span span)
{
    const Local *local = name ? lo_local(lo, name) : NULL;
    const SoftmaxStep *step = step_of(lo, alpha);
    if (!local || !step || !local->in_register) return;
    TileValue *acc = local->reg;
    if (!acc) acc = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &local->reg_type)->results[0];
    acc->name = acc->name ? acc->name : local->name;
    lo->rw.loc = span;
    TileValue *a = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &acc->type)->results[0]; /* stands for what is added */
    lo_lineage(lo, a)->alpha = alpha;
    TileValue *now = is_zero(acc) ? acc : lo_unit_accumulator(lo, acc, a);
    if (is_zero(acc)) {
        lo_lineage(lo, now)->rescaled = alpha;
        lo_lineage(lo, now)->unit = step->after;
    }
    lo_set_register(lo, name, now);
}

static void settle_statement(Settle *settle, const Stmt *s)
{
    Lower *lo = settle->lo;
    TileValue *alpha = NULL;
    const char *dest = base_of(lo, compute_result(s));
    for (int i = 0; i < s->n_args && !alpha; i++) alpha = held_by(settle, base_of(lo, s->args[i]));
    if (s->n_with) alpha = NULL; /* a step of the block's own */
    if (s->result == RESULT_ACCUMULATE && alpha)
        settle_name(lo, dest, alpha, s->span);
    else if (dest && s->result != RESULT_ACCUMULATE)
        vec_push(lo->arena, &settle->held, (Holder){dest, alpha});
}

static void settle_block(Settle *settle, const Block *block)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        if (s->kind == STMT_COMPUTE) settle_statement(settle, s);
        settle_block(settle, &s->body);
        settle_block(settle, &s->orelse);
    }
}

void lo_unit_settle(Lower *lo, const Block *block)
{
    Settle settle = {.lo = lo};
    if (lo->steps.len > 0) settle_block(&settle, block);
}

/* ---- behind a block ------------------------------------------------------------------------------------------ */

/* Where among the values v is; -1: nowhere. */
static int place_of(const TileValue *v, TileValue *const *values, int n)
{
    for (int i = 0; v && i < n; i++)
        if (values[i] == v) return i;
    return -1;
}

void lo_unit_param(Lower *lo, const TileOp *loop, int i, const TileValue *param)
{
    const Lineage of = *lo_lineage(lo, loop->args[i]);
    const SoftmaxStep *step = of.rescaled ? step_of(lo, of.rescaled) : NULL;
    bool moves_on = place_of(of.unit, loop->args, loop->n_results) >= 0; /* with the maximum, which the loop carries as well */
    Lineage *l = lo_lineage(lo, param);
    *l = (Lineage){.param = param};
    if (!step || moves_on) return;
    l->rescaled = of.rescaled; /* of a softmax before the loop */
    l->unit = of.unit;
}

/* A step of this loop moved the maximum on from the unit. */
static bool moved_on(const Lower *lo, const LowerLoop *loop, const TileValue *unit)
{
    for (int i = 0; i < lo->steps.len; i++)
        if (lo->steps.data[i].loop == loop && lo->steps.data[i].before == unit) return true;
    return false;
}

static bool is_used(const Lower *lo, const TileBlock *body, const TileValue *v)
{
    return rw_uses(lo->arena, body, v).len > 0;
}

void lo_unit_loop(Lower *lo, const TileOp *loop, const LowerLoop *at, Span span)
{
    const TileBlock *body = loop->regions[0];
    const TileOp *yield = yield_of(body);
    for (int i = 0; i < lo->steps.len; i++)
        for (int k = 0; k < loop->n_results; k++)
            if (lo->steps.data[i].sum == body->params.data[k])
                starts_as_sum(lo, body->params.data[k], loop->args[k], lo->steps.data[i].loc);
    for (int i = 0; i < loop->n_results; i++) {
        const TileValue *v = yield->args[i];
        const Lineage l = *lo_lineage(lo, v);
        int owed = place_of(l.owes, body->params.data, loop->n_results);
        bool read = is_used(lo, body, body->params.data[i]);
        if (l.unit && moved_on(lo, at, l.unit) && read)
            fail(lo, span, v, "is not in units of the maximum that the loop ends with: accumulate from the last softmax "
                 "of the state as well, or multiply by exp(M before - M after)");
        if (l.doubted && read && place_of(l.doubted, yield->args, loop->n_results) >= 0)
            fail(lo, v->def ? v->def->loc : span, v, "was multiplied by what is made of the maxima of the softmax, behind what was added to it: the next "
                 "iteration takes it for what is in units of exp(M)");
        if (!l.unit && owed >= 0 && owed != i && lo_lineage(lo, yield->args[owed])->unit && read)
            fail(lo, span, v, "is added to from what the softmax of the iteration before left, and not multiplied by "
                 "exp(M before - M after) since");
        int unit = place_of(l.unit, yield->args, loop->n_results);
        Lineage *after = lo_lineage(lo, loop->results[i]);
        *after = (Lineage){.doubtful = l.doubtful, .lost = l.alpha != NULL || l.lost};
        after->unit = unit >= 0 ? loop->results[unit] : NULL;
        if (l.unit && unit < 0 && !moved_on(lo, at, l.unit)) { /* of a softmax before the loop */
            after->unit = l.unit;
            after->rescaled = l.rescaled;
            after->lost = false;
        }
    }
}

/* ---- branches ---------------------------------------------------------------------------------------------------- */

static bool has_step(const Block *block, const char *name)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];
        if (s->kind == STMT_COMPUTE && s->n_with == 2 && expr_is_name(s->with[0], name)) return true;
        if (s->kind == STMT_IF && (has_step(&s->body, name) || has_step(&s->orelse, name))) return true;
    }
    return false;
}

/* Of a state whose maximum a branch may move: a name for the factor from before the
 * branch to behind it, 1 where it does not. No program has such a name. */
const char *lo_unit_factor(Lower *lo, const Stmt *branch, const char *state)
{
    const Local *local = lo_local(lo, state);
    if (!local || !local->reg || (!has_step(&branch->body, state) && !has_step(&branch->orelse, state))) return NULL;
    const char *name = arena_printf(lo->arena, "%s'", state);
    TileType column = tile_type(DT_F32, local->reg->type.rows, 1, SPACE_REGISTER);
    TileOp *one = rw_insert(&lo->rw, TILE_FILL, 0, NULL, 1, &column);
    one->number = 1;
    lo_local_make(lo, name)->reg = one->results[0];
    return name;
}

void lo_unit_arm(Lower *lo, const char *factor, const TileValue *before, int first_step)
{
    Local *local = lo_local(lo, factor);
    const TileValue *at = lo_without_zero(before);
    for (int i = first_step; i < lo->steps.len; i++) {
        const SoftmaxStep step = lo->steps.data[i];
        if (step.closed || step.before != at) continue;
        local->reg = at == lo_without_zero(before) ? step.alpha : rw_binary(&lo->rw, OP_MULTIPLY, local->reg, step.alpha);
        at = step.after;
    }
}

void lo_unit_close(Lower *lo, int first_step)
{
    for (int i = first_step; i < lo->steps.len; i++) lo->steps.data[i].closed = true;
}

/* The unit of a value behind a branch whose arms end with values of their own. */
static const TileValue *joined_unit(const TileOp *branch, const TileOp *const *yields, const Lineage *l)
{
    int n = branch->n_results, one = place_of(l[0].unit, yields[0]->args, n), two = place_of(l[1].unit, yields[1]->args, n);
    if (l[0].unit == l[1].unit) return l[0].unit;
    return one >= 0 && one == two ? branch->results[one] : NULL;
}

static int index_of(const Lower *lo, const TileValue *alpha)
{
    for (int i = lo->steps.len - 1; i >= 0; i--)
        if (lo->steps.data[i].alpha == alpha) return i;
    return -1;
}

/* Multiplied by the factor of a softmax that stands before the branch, in one arm; where both
 * arms leave it in units of the maximum that they end with, the branch moved that on. */
static bool one_sided(const Lower *lo, const TileOp *branch, const TileOp *const *yields, int i, const Lineage *l, int first_step)
{
    if (joined_unit(branch, yields, l)) return false;
    for (int arm = 0; arm < 2; arm++)
        if (l[arm].rescaled && l[arm].rescaled != l[!arm].rescaled && index_of(lo, l[arm].rescaled) < first_step &&
            !is_zero(yields[!arm]->args[i]))
            return true;
    return false;
}

void lo_unit_branch(Lower *lo, const TileOp *branch, int i, int first_step, Span span)
{
    const TileOp *yields[2] = {yield_of(branch->regions[0]), yield_of(branch->regions[1])};
    Lineage l[2] = {*lo_lineage(lo, yields[0]->args[i]), *lo_lineage(lo, yields[1]->args[i])};
    TileValue *alpha = l[0].alpha ? l[0].alpha : l[1].alpha;
    bool inner = false;
    for (int arm = 0; arm < 2; arm++) inner |= l[arm].alpha && index_of(lo, l[arm].alpha) >= first_step;
    if (one_sided(lo, branch, yields, i, l, first_step))
        fail(lo, span, yields[0]->args[i], "is multiplied by the softmax's factor in one branch and not in the other");
    Lineage *after = lo_lineage(lo, branch->results[i]);
    *after = (Lineage){.doubtful = l[0].doubtful || l[1].doubtful, .lost = l[0].lost || l[1].lost};
    after->unit = joined_unit(branch, yields, l);
    after->rescaled = l[0].rescaled == l[1].rescaled ? l[0].rescaled : NULL;
    after->owes = l[0].owes ? l[0].owes : l[1].owes;
    after->param = l[0].param ? l[0].param : l[1].param;
    if (!inner)
        after->alpha = l[0].alpha && l[1].alpha && l[0].alpha != l[1].alpha ? NULL : alpha;
    else
        after->lost = true; /* until a factor of the branch is found: lo_unit_branch_step */
}

/* One step for what the branch's did: exponentials of either arm are of it. */
void lo_unit_branch_step(Lower *lo, const TileOp *branch, int state, int factor, const TileValue *before, int first_step)
{
    const TileOp *yields[2] = {yield_of(branch->regions[0]), yield_of(branch->regions[1])};
    TileValue *alpha = branch->results[factor];
    const TileValue *after = branch->results[state];
    for (int i = 0; i < branch->n_results; i++) {
        bool ready[2], any = false; /* where an arm left no exponentials there may be nothing, but no scores */
        for (int arm = 0; arm < 2; arm++) {
            const Lineage l = *lo_lineage(lo, yields[arm]->args[i]);
            bool of_step = l.alpha && index_of(lo, l.alpha) >= first_step && l.unit == yields[arm]->args[state];
            ready[arm] = of_step || is_zero(yields[arm]->args[i]);
            any |= of_step;
        }
        if (!any || !ready[0] || !ready[1]) continue;
        Lineage *joined = lo_lineage(lo, branch->results[i]);
        joined->alpha = alpha;
        joined->unit = after;
        joined->lost = false;
    }
    alpha->name = "alpha";
    vec_push(lo->arena, &lo->steps,
             (SoftmaxStep){.before = lo_without_zero(before), .after = after, .alpha = alpha, .loop = lo->loop});
}
