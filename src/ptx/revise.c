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

/* An exponential, as an operand: bits of numbers below 0 would show as well. */
static bool is_positive(const TileValue *v)
{
    while (v->def && (v->def->kind == TILE_RESHAPE || v->def->kind == TILE_CAST)) v = v->def->args[0];
    return v->def && v->def->kind == TILE_ELEMENT && (v->def->op == OP_EXP2 || v->def->op == OP_EXP);
}

static const TileOp *element_def(const TileValue *v, OpId op)
{
    return v->def && v->def->kind == TILE_ELEMENT && v->def->op == op ? v->def : NULL;
}

static bool is_number(const TileValue *v, double *number)
{
    if (!v->def || v->def->kind != TILE_FILL || v->def->param) return false;
    *number = v->def->number;
    return true;
}

/* What is the number or more where a > b, and less elsewhere. */
static const TileOp *comparison(const TileValue *v, double number)
{
    double large, small;
    const TileOp *choice = element_def(v, OP_WHERE);
    if (!choice || !is_number(choice->args[1], &large) || !is_number(choice->args[2], &small)) return NULL;
    return large >= number && small < number ? element_def(choice->args[0], OP_GREATER) : NULL;
}

static const char *test_comparison(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *b = op->args[1], *r = op->results[0];
    const char *any = NULL;
    if (a->type.cols != r->type.cols || b->type.cols != r->type.cols) return test_each(e, r, 1);
    for (int i = 0; i < e->frags[r->id].n; i++) {
        const char *p = em_new(e, REG_P), *x = fr_operand(e, a, i);
        const char *y = fr_operand(e, b, i);
        if (any) em(e, "setp.gt.or.f32 %s, %s, %s, %s;", p, x, y, any);
        else em(e, "setp.gt.f32 %s, %s, %s;", p, x, y);
        any = p;
    }
    return any;
}

static const char *test(Emitter *e, const TileOp *op, int arg)
{
    const TileValue *v = op->args[arg];
    const Frag *frag = &e->frags[v->id];
    const TileOp *greater = comparison(v, op->number);
    if (greater) return test_comparison(e, greater);
    if (frag->packed && dtype_bytes(v->type.dtype) == 2 && op->number > 0 && is_positive(v))
        return test_packed(e, frag->packed, fr_words(v), bits_of(v->type.dtype, op->number));
    return test_each(e, v, op->number);
}

/* The result takes its value's registers over where only the region uses them besides. */
static void keep_registers(Emitter *e, const TileOp *op, int k)
{
    const TileValue *from = op->args[k], *to = op->results[k];
    const Frag *frag = &e->frags[from->id];
    int within = tile_count_uses(op->regions[0], from) + 1;
    for (int i = op->n_results; i < op->n_args; i++) within += op->args[i] == from;
    bool own = !frag->uniform && !frag->shared && frag->level == em_level(e);
    if (own && tile_count_uses(e->kernel->body, from) == within) {
        e->frags[to->id] = *frag;
        if (fl_packed(from)) e->frags[to->id].f = NULL;
        else e->frags[to->id].packed = NULL;
        return;
    }
    fl_declare(e, to);
    fl_move(e, to, from);
}

void rv_revise(Emitter *e, const TileOp *op)
{
    const TileBlock *region = op->regions[0];
    const TileOp *yield = region->ops.data[region->ops.len - 1];
    int label = em_label(e);
    for (int k = 0; k < op->n_results; k++)
        if (fl_packed(op->args[k])) fr_packed(e, op->args[k], op->args[k]->type.dtype);
    const char *vote = em_new(e, REG_P), *any = test(e, op, op->n_results);
    for (int i = op->n_results + 1; i < op->n_args; i++) {
        const char *p = em_new(e, REG_P), *more = test(e, op, i);
        em(e, "or.pred %s, %s, %s;", p, any, more);
        any = p;
    }
    em(e, "vote.sync.any.pred %s, %s, -1;", vote, any);
    for (int k = 0; k < op->n_results; k++) keep_registers(e, op, k);
    em_open(e);
    em(e, "@!%s bra.uni $revised%d;", vote, label);
    kn_block(e, region);
    fl_move_all(e, op->results, yield->args, op->n_results);
    em_close(e);
    em(e, "$revised%d:", label);
}
