/* revise.c: values that are replaced where some element is too large.
 *
 * A warp votes; where none of its lanes has a large element it jumps over the region.
 * The values keep their registers either way, so that an accumulator that the tensor
 * cores still write is not moved.
 *
 * Whether a pair of numbers of 16 bits has one of at least 2 its bits 14 and 30 tell:
 * they are the uppermost of the exponents, whose bias makes them 0 below 2 in fp16 as
 * in bf16. So a tile of them is tested a word at a time, three words an instruction;
 * with another bound an addition a word goes before.
 */
#include "ptx/roles.h"

enum { HALF_TOP = 0x8000, HALF_TWO = 0x4000 };

static unsigned float_bits(double number)
{
    float rounded = (float)number;
    unsigned bits;
    memcpy(&bits, &rounded, sizeof bits);
    return bits;
}

/* As two numbers of 16 bits side by side. */
static unsigned pair_of(unsigned half)
{
    return half | half << 16;
}

static unsigned bits_of(DType dtype, double number)
{
    uint16_t half;
    dtype_store(dtype, &half, number);
    return half;
}

/* Other bounds: what is not negative is ordered as integers are, infinity and NaNs
 * last. So with what the bound lacks of bit 15 added, those from it on have bit 15. */
static const int *raised(Emitter *e, const int *words, int n, unsigned bound)
{
    int *sums = arena_array(e->arena, int, n);
    for (int i = 0; i < n; i++) {
        sums[i] = em_reg(e, REG_R);
        em(e, "add.s32 %%r%d, %%r%d, 0x%08x;", sums[i], words[i], pair_of(HALF_TOP - bound));
    }
    return sums;
}

static const char *test_packed(Emitter *e, const int *words, int n, unsigned bound)
{
    unsigned shows = bound == HALF_TWO ? HALF_TWO : HALF_TOP;
    if (shows == HALF_TOP) words = raised(e, words, n, bound);
    int *queue = arena_array(e->arena, int, 2 * n), head = 0, tail = n;
    memcpy(queue, words, sizeof(int) * (size_t)n);
    while (tail - head > 1) {
        const int *w = &queue[head];
        int d = em_reg(e, REG_R), take = tail - head > 2 ? 3 : 2;
        if (take == 3) em(e, "lop3.b32 %%r%d, %%r%d, %%r%d, %%r%d, 0xFE;", d, w[0], w[1], w[2]);
        else em(e, "or.b32 %%r%d, %%r%d, %%r%d;", d, w[0], w[1]);
        head += take;
        queue[tail++] = d;
    }
    const char *bits = em_new(e, REG_R), *p = em_new(e, REG_P);
    em(e, "and.b32 %s, %%r%d, 0x%08x;", bits, queue[head], pair_of(shows));
    em(e, "setp.ne.s32 %s, %s, 0;", p, bits);
    return p;
}

/* Squares are ordered as integers are, infinity and NaNs last; pairs of integer maxima become one
 * instruction of three operands. */
static const char *test_squares(Emitter *e, const TileValue *v, double bound)
{
    enum { CHAINS = 4 };
    const char *largest[CHAINS] = {0}, *p = em_new(e, REG_P);
    for (int i = 0; i < e->frags[v->id].n; i++) {
        const char *bits = em_new(e, REG_R), **so_far = &largest[i / 2 % CHAINS];
        em(e, "mov.b32 %s, %s;", bits, fr_operand(e, v, i));
        if (*so_far) em(e, "max.s32 %s, %s, %s;", bits, bits, *so_far);
        *so_far = bits;
    }
    for (int i = 1; i < CHAINS && largest[i]; i++) em(e, "max.s32 %s, %s, %s;", largest[0], largest[0], largest[i]);
    em(e, "setp.ge.s32 %s, %s, 0x%08x;", p, largest[0], float_bits(bound));
    return p;
}

/* max passes NaNs over (PTX ISA, max), so each is looked at: `not less` is true of them. */
static const char *test_each(Emitter *e, const TileValue *v, double bound)
{
    const char *any = NULL;
    for (int i = 0; i < e->frags[v->id].n; i++) {
        const char *p = em_new(e, REG_P);
        if (any) em(e, "setp.geu.or.f32 %s, %s, %s, %s;", p, fr_operand(e, v, i), em_f32(e, bound), any);
        else em(e, "setp.geu.f32 %s, %s, %s;", p, fr_operand(e, v, i), em_f32(e, bound));
        any = p;
    }
    return any;
}

/* An exponential, as an operand. */
static bool keeps_sign(const TileOp *op)
{
    return op->kind == TILE_RESHAPE || op->kind == TILE_CAST || op->kind == TILE_REDUCE || (op->kind == TILE_MASK && op->number == 0);
}

bool rv_is_positive(const TileValue *v)
{
    while (v->def && keeps_sign(v->def)) v = v->def->args[0];
    if (!v->def) return false;
    if (v->def->kind != TILE_REVISE) return v->def->kind == TILE_ELEMENT && op_is_exponential(v->def->op);
    const TileOp *revise = v->def, *yield = revise->regions[0]->ops.data[revise->regions[0]->ops.len - 1];
    int k = 0;
    while (revise->results[k] != v) k++;
    return rv_is_positive(revise->args[k]) && rv_is_positive(yield->args[k]);
}

static bool is_square(const TileValue *v)
{
    return v->def && v->def->kind == TILE_ELEMENT && v->def->op == OP_MULTIPLY && v->def->args[0] == v->def->args[1];
}

static const char *test(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->args[op->n_args - 1];
    const Frag *frag = &e->frags[v->id];
    if (!frag->uniform && !frag->packed && op->number > 0 && is_square(v)) return test_squares(e, v, op->number);
    if (frag->packed && dtype_bytes(v->type.dtype) == 2 && op->number > 0 && rv_is_positive(v)) /* bits of numbers below 0 would show as well */
        return test_packed(e, frag->packed, fr_words(v), bits_of(v->type.dtype, op->number));
    return test_each(e, v, op->number);
}

static const char *otherwise(Emitter *e, const Aff *cond)
{
    const char *p = em_new(e, REG_P);
    em(e, "not.pred %s, %s;", p, ix_condition(e, cond));
    return p;
}

/* The result takes its value's registers over where nothing behind uses them. */
static void keep_registers(Emitter *e, const TileOp *op, int k)
{
    const TileValue *from = op->args[k], *to = op->results[k];
    const Frag *frag = &e->frags[from->id];
    bool own = !frag->uniform && !frag->shared && frag->level == em_level(e);
    if (own && !kn_used_behind(e, from)) {
        e->frags[to->id] = *frag;
        if (fl_packed(from)) e->frags[to->id].f = NULL;
        else e->frags[to->id].packed = NULL;
        return;
    }
    fl_declare(e, to);
    fl_move(e, to, from);
}

/* Nothing to vote on: the region is for what the condition is not true of. */
static bool is_never_large(const TileOp *op)
{
    const TileOp *fill = op->args[op->n_args - 1]->def;
    return op->unless && fill && fill->kind == TILE_FILL && !fill->param && fill->number < op->number;
}

/* A revision in the region that asks for the same; NULL: there is none. */
static const TileOp *asks_again(const TileOp *op)
{
    const TileBlock *region = op->regions[0];
    for (int i = 0; op->unless && i < region->ops.len; i++) {
        const TileOp *inner = region->ops.data[i];
        bool same = inner->kind == TILE_REVISE && inner->args[inner->n_args - 1] == op->args[op->n_args - 1];
        if (same && inner->number == op->number && !inner->unless) return inner;
    }
    return NULL;
}

/* One vote for both. */
static const char *vote_twice(Emitter *e, const TileOp *op, const TileOp *inner)
{
    const char *found = em_new(e, REG_P), *some = em_new(e, REG_P), *large = test(e, op);
    em(e, "vote.sync.any.pred %s, %s, -1;", found, large);
    em(e, "or.pred %s, %s, %s;", some, found, otherwise(e, op->unless));
    e->votes[inner->results[0]->id] = found;
    return some;
}

static const char *vote(Emitter *e, const TileOp *op)
{
    if (is_never_large(op)) return otherwise(e, op->unless);
    const TileOp *inner = asks_again(op);
    if (inner) return vote_twice(e, op, inner);
    const char *some = em_new(e, REG_P), *large = test(e, op);
    if (op->unless) em(e, "or.pred %s, %s, %s;", large, large, otherwise(e, op->unless));
    em(e, "vote.sync.any.pred %s, %s, -1;", some, large);
    return some;
}

void rv_vote_ahead(Emitter *e, const TileBlock *body)
{
    for (int i = 0; i < body->ops.len; i++) {
        const TileOp *op = body->ops.data[i];
        if (op->kind != TILE_REVISE) continue;
        const TileValue *looked_at = op->args[op->n_args - 1];
        if (!looked_at->def && !looked_at->type.pending) e->votes[op->results[0]->id] = vote(e, op);
    }
}

/* A region that is run more than once a turn begins with what it left. What is revised twice
 * is read as its first result (again.c). */
static void look_at_results(Emitter *e, const TileOp *op)
{
    for (int k = op->n_results - 1; k >= 0; k--) e->frags[op->args[k]->id] = e->frags[op->results[k]->id];
}

static void emit_region(Emitter *e, const TileOp *op)
{
    const TileBlock *region = op->regions[0];
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    bool cold = e->cold;
    e->cold = true;
    kn_block(e, region);
    e->cold = cold;
    if (!e->failed) fl_move_all(e, op->results, yield->args, op->n_results);
}

void rv_revise(Emitter *e, const TileOp *op)
{
    int label = em_label(e);
    for (int k = 0; k < op->n_results; k++)
        if (fl_packed(op->args[k])) fr_packed(e, op->args[k], op->args[k]->type.dtype);
    const char *ahead = e->votes[op->results[0]->id], *some = ahead ? ahead : vote(e, op);
    Frag *were = arena_array(e->arena, Frag, op->n_args);
    for (int k = 0; k < op->n_results; k++) {
        keep_registers(e, op, k);
        were[k] = e->frags[op->args[k]->id];
    }
    Again again = ag_begin(e);
    em_open(e);
    em(e, "@!%s bra.uni $revised%d;", some, label);
    if (again.later) {
        em(e, "$again%d:", again.label);
        look_at_results(e, op);
    }
    if (!ag_jump(e, op, label)) emit_region(e, op);
    em_close(e);
    em(e, "$revised%d:", label);
    for (int k = 0; k < op->n_results; k++) e->frags[op->args[k]->id] = were[k];
    e->again = again;
}
