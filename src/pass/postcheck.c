/* postcheck.c: an online softmax whose reference is checked after the fact.
 *
 *   %p, %m1, %l1, %alpha = softmax %s, %m, %l
 *   %P = reshape %p
 *   %x1 = multiply %x, %alpha                      for each accumulator x
 * becomes
 *   %r1, %l1, %x1, %h1 = revise %r, %l, %x, %h where any %h >= 1 { RAISE }
 *   %e = exp2(%s * log2 e + %r1); %P = reshape %e; %part = rowsum %e
 *   %P1, %part1, %r2, %l2, %x2, %h2 = revise %P, %part, %r1, %l1, %x1, %h1
 *     where any %part >= BOUND {
 *     RAISE; %e and what is made of it again }
 *   %l3 = add %l2, %part1
 *
 * Where sums are but divisors they may be of what the products see, %P: then the tensor cores may
 * make them (ones.c), and they are no part of the weights. Where something else is made of them as well, a
 * logarithm say, the loop carries both, %l as it is and beside it the divisor.
 *
 * Sums are in parts (parts.c), a few for each lane, which show that something has grown with less work than
 * the weights do; those that the tensor cores sum are looked at themselves.
 *
 * The exponentials do not wait for a maximum, nor lanes for each other: where the
 * reference is an old one, that shows in what they gave. It is legal where the
 * reference is only a gauge (gauge.c), and may lie far from the maximum.
 *
 * Vocabulary
 *   reference  the loop carries r = -(m + lag) log2 e, so that an exponential takes
 *              one multiply-add; UNSEEN, which is finite, where m is -inf: a
 *              masked element then gives 0, never the NaN of -inf + inf
 *   lag        binades that m lies above the maximum when it is taken; what is
 *              exponentiated may grow by lag + log2 BOUND before it is raised again
 *   RAISE      r' = min(r, rowmax(s) * -log2 e - lag), and the carried sums by
 *              exp2(r' - r)
 *   hot        1: the reference moved far in this turn, so it may again in the next one;
 *              that takes its maximum first, and need not make its exponentials twice.
 *              The first turn is hot
 */
#include "pass/postcheck.h"

#include "pass/ones.h"
#include "pass/parts.h"
#include "pass/rewrite.h"

static const double LOG2_E = 1.44269504088896340736, LN_2 = 0.69314718055994530942;

/* 2^126: above every reference that has a meaning, and below what is a move. */
static const double UNSEEN = 8.50705917302346158658e37, FAR = 1e30;

/* What p may be. bf16 and fp32 have 126 binades below 1 and keep their precision 60
 * binades down (times numbers of 2^-66 and more), and that p is less than 2 shows in
 * one bit of it. fp16 has only 14, so it uses those above 1: no lag, and up to 2^13, four
 * of which are short of infinity.
 *
 * Where exact sums divide, the rounding of a weight that is most of its row does not cancel, unless its
 * score was the reference: so that is raised early, and before the exponentials are made where it moved at all. */
static const struct Range {
    DType dtype;
    bool exact; /* it is exact sums that divide */
    double lag, bound;
    double far; /* binades: moved by so many, the reference is hot */
} RANGES[] = {
    {DT_BF16, false, 60, 2, 30.5},
    {DT_F16, false, 0, 8192, 6.5},
    {DT_BF16, true, 0, 4096, 1},
    {DT_F16, true, 0, 4096, 1},
};

static const struct Range *range_of(DType dtype, bool exact)
{
    for (size_t i = 0; i < TW_COUNT(RANGES); i++)
        if (RANGES[i].dtype == dtype && RANGES[i].exact == exact) return &RANGES[i];
    return NULL;
}

enum { MAX_SUMS = 6, REVISED = MAX_SUMS + 7 };

typedef struct PostCheck {
    TileProgram *program;
    TileKernel *kernel;
    TileOp *loop, *softmax, *reshape;
    TileOp *rescales[MAX_SUMS];
    int n_sums;
    const struct Range *range;
    bool exact;     /* the loop carries the sum of the weights as they are */
    bool rounded;   /* and one of what the products see, which divides, so that the rounding of a dominant p cancels */
    TileValue *one; /* what the tensor cores make the sums with (ones.c), or NULL */
} PostCheck;

/* What goes round the loop, as of some moment. */
typedef struct State {
    TileValue *reference, *l, *divisor, *sums[MAX_SUMS], *hot; /* l: the exact sum, or NULL; divisor: the rounded one, or NULL */
} State;

/* What one turn makes of its scores. */
typedef struct Weights {
    TileValue *operand, *part, *rounded; /* the last two, sums in parts: NULL where there is none, or the tensor cores sum */
} Weights;

/* ---- does it fit? ------------------------------------------------------------------ */

static bool is_rescale(const TileOp *op, const TileValue *alpha)
{
    if (op->kind != TILE_ELEMENT || op->op != OP_MULTIPLY) return false;
    if (op->args[0] != alpha && op->args[1] != alpha) return false;
    const TileValue *x = op->args[op->args[0] == alpha];
    return x != alpha && !x->def && x->type.rows == alpha->type.rows;
}

/* Finds the one reshape of p, and the multiplications of carried values by alpha. */
static bool find_parts(PostCheck *c)
{
    const TileBlock *body = c->loop->regions[0];
    const TileValue *p = c->softmax->results[0], *alpha = c->softmax->results[3];
    for (int i = 0; i < body->ops.len; i++) {
        TileOp *op = body->ops.data[i];
        if (tile_op_uses(op, p)) {
            if (op->kind != TILE_RESHAPE || c->reshape) return false;
            c->reshape = op;
        }
        if (tile_op_uses(op, alpha)) {
            if (!is_rescale(op, alpha) || c->n_sums == MAX_SUMS) return false;
            c->rescales[c->n_sums++] = op;
        }
    }
    c->range = c->reshape ? range_of(c->reshape->results[0]->type.dtype, !c->rounded) : NULL;
    return c->range != NULL;
}

bool postcheck_fits(const TileKernel *kernel, const TileOp *loop, const TileOp *softmax, GaugeFreedom free,
                    const Target *target)
{
    if (!kernel->specialized || !target->has_wgmma || !free.far_reference || !loop) return false;
    PostCheck c = {.loop = (TileOp *)loop, .softmax = (TileOp *)softmax};
    TileType s = softmax->args[0]->type;
    return kernel->warps_n == 1 && s.rows % tile_warps(kernel) == 0 && s.rows > 1 && s.cols % PARTS == 0 && find_parts(&c);
}

/* ---- pieces -------------------------------------------------------------------------- */

/* s * log2 e + r */
static TileValue *exponentials(Rewriter *rw, const PostCheck *c, TileValue *reference)
{
    TileValue *scaled = rw_binary(rw, OP_MULTIPLY, c->softmax->args[0], rw_fill(rw, LOG2_E));
    return rw_unary(rw, OP_EXP2, rw_binary(rw, OP_ADD, scaled, reference));
}

static Weights weights(Rewriter *rw, const PostCheck *c, TileValue *reference)
{
    TileValue *e = exponentials(rw, c, reference);
    TileOp *reshape = rw_insert(rw, TILE_RESHAPE, 1, &e, 1, &c->reshape->results[0]->type);
    TileValue *operand = reshape->results[0], *part = c->exact ? parts_of(rw_reduce_rows(rw, OP_ROW_SUM, e)) : NULL;
    return (Weights){operand, part, c->rounded && !c->one ? parts_of(parts_fold(rw, operand)) : NULL};
}

/* What shows that a weight has grown large. */
static TileValue *looked_at(const Weights *w)
{
    if (w->rounded) return w->rounded;
    return w->part ? w->part : w->operand;
}

/* 1 where a reference moved far, but not from where it had seen nothing. */
static TileValue *is_hot(Rewriter *rw, const PostCheck *c, TileValue *before, TileValue *after)
{
    TileValue *by = rw_binary(rw, OP_SUBTRACT, before, after);
    TileValue *far = rw_binary(rw, OP_GREATER, by, rw_fill(rw, c->range->far));
    return rw_binary(rw, OP_MULTIPLY, far, rw_binary(rw, OP_LESS, by, rw_fill(rw, FAR)));
}

static State raise(Rewriter *rw, const PostCheck *c, const State *old)
{
    State new = {0};
    TileValue *largest = rw_reduce_rows(rw, OP_ROW_MAX, c->softmax->args[0]);
    TileValue *exact = rw_binary(rw, OP_MULTIPLY, largest, rw_fill(rw, -LOG2_E));
    if (c->range->lag > 0) exact = rw_binary(rw, OP_ADD, exact, rw_fill(rw, -c->range->lag));
    new.reference = rw_binary(rw, OP_MIN, exact, old->reference);
    TileValue *alpha = rw_unary(rw, OP_EXP2, rw_binary(rw, OP_SUBTRACT, new.reference, old->reference));
    new.hot = is_hot(rw, c, old->reference, new.reference);
    if (c->exact) new.l = rw_binary(rw, OP_MULTIPLY, old->l, alpha);
    if (c->rounded) new.divisor = rw_binary(rw, OP_MULTIPLY, old->divisor, alpha);
    for (int i = 0; i < c->n_sums; i++) new.sums[i] = rw_binary(rw, OP_MULTIPLY, old->sums[i], alpha);
    return new;
}

/* ---- revising ---------------------------------------------------------------------------- */

/* The state and the weights as a list, and back. */
static int list_all(const PostCheck *c, const Weights *w, const State *s, TileValue **list)
{
    int n = 0;
    if (w) list[n++] = w->operand;
    if (w && w->part) list[n++] = w->part;
    if (w && w->rounded) list[n++] = w->rounded;
    list[n++] = s->reference;
    if (c->exact) list[n++] = s->l;
    if (c->rounded) list[n++] = s->divisor;
    for (int i = 0; i < c->n_sums; i++) list[n++] = s->sums[i];
    list[n++] = s->hot;
    return n;
}

static void read_all(const PostCheck *c, Weights *w, State *s, TileValue *const *list)
{
    if (w) w->operand = *list++;
    if (w && w->part) w->part = *list++;
    if (w && w->rounded) w->rounded = *list++;
    s->reference = *list++;
    if (c->exact) s->l = *list++;
    if (c->rounded) s->divisor = *list++;
    for (int i = 0; i < c->n_sums; i++) s->sums[i] = *list++;
    s->hot = *list;
}

/* Raises the reference where some element of `looked_at` is large; w: and makes the
 * weights again. */
static void revise(Rewriter *rw, const PostCheck *c, TileValue *looked_at, double bound, Weights *w, State *s)
{
    TileValue *args[REVISED + 1], *yielded[REVISED];
    TileType types[REVISED];
    int n = list_all(c, w, s, args);
    for (int i = 0; i < n; i++) types[i] = args[i]->type;
    args[n] = looked_at;
    TileOp *op = rw_insert(rw, TILE_REVISE, n + 1, args, n, types);
    op->number = bound;
    op->n_regions = 1;
    op->regions = arena_array(c->program->arena, TileBlock *, 1);
    op->regions[0] = tile_block_new(c->program);

    Rewriter inner = {c->program, c->kernel, op->regions[0], 0, rw->loc};
    State raised = raise(&inner, c, s);
    Weights again = {0};
    if (w) again = weights(&inner, c, raised.reference);
    list_all(c, w ? &again : NULL, &raised, yielded);
    rw_insert(&inner, TILE_YIELD, n, yielded, 0, NULL);
    for (int i = 0; i < n; i++) op->results[i]->name = args[i]->name;
    read_all(c, w, s, op->results);
    s->reference->name = "ref";
    s->hot->name = "hot";
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int position_of(const TileBlock *body, const TileValue *param)
{
    int k = 0;
    while (body->params.data[k] != param) k++;
    return k;
}

/* The loop carries the reference in place of the maximum: -m log2 e before it, and
 * behind it m again, -inf where nothing was seen. */
static void carry_reference(const PostCheck *c, int k)
{
    Rewriter rw = {.program = c->program, .kernel = c->kernel, .loc = c->softmax->loc};
    TileOp *loop = c->loop;
    TileValue *m = loop->args[k], *old = loop->results[k];
    double number;
    rw.block = rw_block_of(c->kernel->body, loop, &rw.at);
    if (rw_number(m, &number)) {
        double reference = -number * LOG2_E;
        loop->args[k] = rw_fill_tile(&rw, reference < UNSEEN ? reference : UNSEEN, m->type.rows, 1);
    } else {
        TileValue *scaled = rw_binary(&rw, OP_MULTIPLY, m, rw_fill(&rw, -LOG2_E));
        loop->args[k] = rw_binary(&rw, OP_MIN, scaled, rw_fill(&rw, UNSEEN));
    }
    loop->args[k]->name = loop->regions[0]->params.data[k]->name = "ref";
    TileValue *r = rw_renew(&rw, loop, k);
    r->name = "ref";
    rw.at++;
    TileValue *lagging = rw_binary(&rw, OP_ADD, r, rw_fill(&rw, c->range->lag));
    TileValue *choice[] = {rw_binary(&rw, OP_LESS, r, rw_fill(&rw, UNSEEN)),
                           rw_binary(&rw, OP_MULTIPLY, lagging, rw_fill(&rw, -LN_2)), rw_fill(&rw, -1.0 / 0.0)};
    rw_serve(old, rw_element(&rw, OP_WHERE, 3, choice));
}

/* Behind the loop its sums are again as if the reference had not lagged, lest their
 * squares leave the range of fp32; simplify finds where that cancels. */
static void restore_sum(const PostCheck *c, int k)
{
    Rewriter rw = {.program = c->program, .kernel = c->kernel, .loc = c->softmax->loc};
    if (c->range->lag == 0) return;
    rw.block = rw_block_of(c->kernel->body, c->loop, &rw.at);
    rw.at++;
    TileValue *old = c->loop->results[k], *sum = rw_renew(&rw, c->loop, k);
    double factor = 1;
    for (int i = 0; i < (int)c->range->lag; i++) factor *= 2;
    rw_serve(old, rw_binary(&rw, OP_MULTIPLY, sum, rw_fill(&rw, factor)));
}

static TileValue *carry_hot(const PostCheck *c)
{
    Rewriter rw = {.program = c->program, .kernel = c->kernel, .loc = c->softmax->loc};
    rw.block = rw_block_of(c->kernel->body, c->loop, &rw.at);
    TileValue *hot = rw_fill_tile(&rw, 1, c->softmax->args[0]->type.rows, 1);
    hot->name = "hot";
    return rw_carry(c->program, c->kernel, c->loop, hot);
}

static void remove_old(const PostCheck *c)
{
    TileBlock *body = c->loop->regions[0];
    rw_remove(body, c->reshape);
    for (int i = 0; i < c->n_sums; i++) rw_remove(body, c->rescales[i]);
    rw_remove(body, c->softmax);
}

static TileValue *sum_of(const PostCheck *c, int i)
{
    const TileOp *rescale = c->rescales[i];
    return rescale->args[rescale->args[0] == c->softmax->results[3]];
}

static bool is_accumulator(const TileOp *loop, const TileOp *softmax, const TileValue *v)
{
    const TileOp *yield = loop->regions[0]->ops.data[loop->regions[0]->ops.len - 1];
    for (int k = 0; k < loop->n_results; k++)
        if (loop->results[k] == v) return yield->args[k] != softmax->results[1] && yield->args[k] != softmax->results[2];
    return false;
}

/* The next operation behind the loop from `at` on that divides an accumulator by the sum; -1: there is none. */
static int next_division(const TileBlock *block, int at, const TileOp *loop, const TileOp *softmax)
{
    const TileValue *sum = loop->results[position_of(loop->regions[0], softmax->args[2])];
    for (; at < block->ops.len; at++) {
        const TileOp *op = block->ops.data[at];
        bool divides = op->kind == TILE_ELEMENT && op->op == OP_DIVIDE && op->args[1] == sum;
        if (divides && is_accumulator(loop, softmax, op->args[0])) return at;
    }
    return -1;
}

bool postcheck_divides(const TileKernel *kernel, const TileOp *loop, const TileOp *softmax)
{
    int at;
    const TileBlock *block = rw_block_of(kernel->body, loop, &at);
    return next_division(block, at, loop, softmax) >= 0;
}

/* A second sum, which divides in place of the first one: the parameter. */
static TileValue *carry_divisor(const PostCheck *c, int l)
{
    int at;
    TileBlock *block = rw_block_of(c->kernel->body, c->loop, &at);
    TileValue *divisor = rw_carry(c->program, c->kernel, c->loop, c->loop->args[l]);
    divisor->name = "divisor";
    for (int i = at; (i = next_division(block, i, c->loop, c->softmax)) >= 0; i++)
        block->ops.data[i]->args[1] = c->loop->results[c->loop->n_results - 1];
    return divisor;
}

static TileValue *new_divisor(Rewriter *rw, const PostCheck *c, const State *s, const Weights *w)
{
    return c->one ? ones_add(rw, s->divisor, w->operand, c->one) : rw_binary(rw, OP_ADD, s->divisor, w->rounded);
}

/* The softmax in terms of the state with which the turn begins. */
static void expand_turn(const PostCheck *c, State s)
{
    TileBlock *body = c->loop->regions[0];
    Rewriter rw = {c->program, c->kernel, body, 0, c->softmax->loc};
    rw.at = tile_index_of(body, c->softmax);
    revise(&rw, c, s.hot, 1, NULL, &s);
    Weights w = weights(&rw, c, s.reference);
    revise(&rw, c, looked_at(&w), c->range->bound, &w, &s);
    rw_stand_for(body, c->softmax->results[1], s.reference);
    TileValue *divisor = c->rounded ? new_divisor(&rw, c, &s, &w) : NULL;
    TileValue *l = c->exact ? rw_binary(&rw, OP_ADD, s.l, w.part) : divisor;
    rw_stand_for(body, c->softmax->results[2], l);
    for (int i = 0; i < c->n_sums; i++) rw_stand_for(body, c->rescales[i]->results[0], s.sums[i]);
    rw_stand_for(body, c->reshape->results[0], w.operand);
    if (c->exact && c->rounded) rw_yield(c->program, body, divisor);
    rw_yield(c->program, body, s.hot);
}

void postcheck_expand(TileProgram *program, TileKernel *kernel, TileOp *loop, TileOp *softmax, SchedValue sums, bool alone)
{
    bool rounded = sums != SCHED_SUMS_EXACT;
    PostCheck c = {.program = program, .kernel = kernel, .loop = loop, .softmax = softmax, .exact = !rounded || !alone, .rounded = rounded};
    const TileBlock *body = loop->regions[0];
    if (!find_parts(&c)) return;
    State s = {.reference = softmax->args[1]};
    for (int i = 0; i < c.n_sums; i++) s.sums[i] = sum_of(&c, i);
    int l = position_of(body, softmax->args[2]);
    if (c.exact) s.l = softmax->args[2];
    if (rounded) s.divisor = c.exact ? carry_divisor(&c, l) : softmax->args[2];
    int divisor = rounded ? position_of(body, s.divisor) : -1;
    if (sums == SCHED_SUMS_ONES) c.one = ones_operand(program, kernel, c.reshape->results[0], s.divisor);
    s.hot = carry_hot(&c);
    if (s.l) parts_of(s.l);
    if (s.divisor && !c.one) parts_of(s.divisor);
    expand_turn(&c, s);
    remove_old(&c);
    carry_reference(&c, position_of(body, s.reference));
    if (c.exact) restore_sum(&c, l);
    if (c.rounded) restore_sum(&c, divisor);
    for (int i = 0; i < c.n_sums; i++) restore_sum(&c, position_of(body, s.sums[i]));
    if (c.one) ones_carry(program, kernel, loop, divisor);
    else if (c.rounded) parts_close(program, kernel, loop, divisor);
    if (c.exact) parts_close(program, kernel, loop, l);
}
