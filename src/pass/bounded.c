/* bounded.c: an online softmax of scores that are known to be neither large nor small
 * (range.c), as those are that went through a tanh or a clamp: it needs no maximum.
 *
 *   %p, %m1, %l1, %alpha = softmax %s, %m, %l
 *   %x1 = multiply %x, %alpha                      for each accumulator x
 * becomes
 *   %p  = exp(%s - middle)
 *   %l1 = %l + rowsum(%p)                          and x1 = x
 *
 * where `middle` lies between the bounds of s. What is masked gives exactly 0. It is
 * legal where the reference is only a gauge (gauge.c) that may lie far from the maximum,
 * and where nothing was seen before the loop.
 */
#include "pass/bounded.h"

#include "pass/ones.h"
#include "pass/parts.h"
#include "pass/range.h"
#include "pass/rewrite.h"

#include <math.h>

static const double LOG2_E = 1.44269504088896340736;

/* Binades that p may span, as an operand of this type: bf16 has 126 on either side of 1,
 * of which half are left for what p is multiplied by and summed over; fp16 has 14 at full
 * precision and 15. */
static const struct Room {
    DType dtype;
    double binades;
} ROOMS[] = {{DT_BF16, 150}, {DT_F16, 26}, {DT_F32, 150}};

enum { MAX_SUMS = 6 };

typedef struct Bounded {
    TileProgram *program;
    TileKernel *kernel;
    TileOp *loop, *softmax;
    TileOp *rescales[MAX_SUMS];
    int n_sums;
    double binades;
    int m, l; /* positions among what the loop carries */
} Bounded;

/* ---- does it fit? ------------------------------------------------------------------ */

static double room_of(DType dtype)
{
    for (size_t i = 0; i < TW_COUNT(ROOMS); i++)
        if (ROOMS[i].dtype == dtype) return ROOMS[i].binades;
    return 0;
}

/* The narrowest operand that p becomes, and the multiplications by alpha. */
static bool find_parts(Bounded *b)
{
    const TileBlock *body = b->loop->regions[0];
    const TileValue *p = b->softmax->results[0], *alpha = b->softmax->results[3];
    b->binades = INFINITY;
    for (int i = 0; i < body->ops.len; i++) {
        TileOp *op = body->ops.data[i];
        if (tile_op_uses(op, p)) b->binades = fmin(b->binades, op->n_results ? room_of(op->results[0]->type.dtype) : 0);
        if (!tile_op_uses(op, alpha)) continue;
        if (op->kind != TILE_ELEMENT || op->op != OP_MULTIPLY || b->n_sums == MAX_SUMS) return false;
        b->rescales[b->n_sums++] = op;
    }
    b->m = tile_param_of(b->loop->regions[0], b->softmax->args[1]);
    b->l = tile_param_of(b->loop->regions[0], b->softmax->args[2]);
    return b->m >= 0 && b->l >= 0 && isfinite(b->binades);
}

static TileValue *sum_of(const Bounded *b, int i)
{
    const TileOp *rescale = b->rescales[i];
    return rescale->args[rescale->args[0] == b->softmax->results[3]];
}

static bool begins_with(const Bounded *b, int k, double number)
{
    double init;
    return k >= 0 && rw_number(b->loop->args[k], &init) && init == number;
}

static bool begins_with_nothing(const Bounded *b)
{
    if (!begins_with(b, b->m, -INFINITY) || !begins_with(b, b->l, 0)) return false;
    for (int i = 0; i < b->n_sums; i++)
        if (!begins_with(b, tile_param_of(b->loop->regions[0], sum_of(b, i)), 0)) return false;
    return true;
}

bool bounded_fits(TileProgram *program, TileKernel *kernel, TileOp *loop, TileOp *softmax, GaugeFreedom free)
{
    if (!free.far_reference || !loop) return false;
    Bounded b = {.program = program, .kernel = kernel, .loop = loop, .softmax = softmax};
    ValueRange s = range_of(softmax->args[0]);
    return find_parts(&b) && (s.hi - s.lo) * LOG2_E <= b.binades && begins_with_nothing(&b);
}

/* ---- expanding ----------------------------------------------------------------------- */

/* What is summed: p, or its operand, behind which the sum then stands. */
static TileValue *summed(Rewriter *rw, TileValue *p, bool rounded)
{
    for (int i = 0; rounded && i < rw->block->ops.len; i++) {
        const TileOp *op = rw->block->ops.data[i];
        if (op->kind != TILE_RESHAPE || op->args[0] != p) continue;
        rw->at = i + 1;
        return op->results[0];
    }
    return p;
}

/* What the softmax left as the maximum is the middle, whatever was seen. */
static void leave_reference(const Bounded *b, double middle)
{
    Rewriter rw = {.program = b->program, .kernel = b->kernel, .loc = b->softmax->loc};
    TileValue *m = b->softmax->args[1];
    rw.block = rw_block_of(b->kernel->body, b->loop, &rw.at);
    b->loop->args[b->m] = rw_fill_tile(&rw, middle, m->type.rows, 1);
    rw_stand_for(b->loop->regions[0], b->softmax->results[1], m);
}

void bounded_expand(TileProgram *program, TileKernel *kernel, TileOp *loop, TileOp *softmax, bool rounded)
{
    Bounded b = {.program = program, .kernel = kernel, .loop = loop, .softmax = softmax};
    TileBlock *body = loop->regions[0];
    Rewriter rw = {program, kernel, body, 0, softmax->loc};
    ValueRange range = range_of(softmax->args[0]);
    double middle = (range.lo + range.hi) / 2;
    if (!find_parts(&b)) return;
    rw.at = tile_index_of(body, softmax);
    TileValue *s = softmax->args[0];
    TileValue *p = rw_unary(&rw, OP_EXP, middle == 0 ? s : rw_binary(&rw, OP_SUBTRACT, s, rw_fill(&rw, middle)));
    rw_stand_for(body, softmax->results[0], p);
    TileValue *w = summed(&rw, p, rounded);
    bool rounds = kernel->specialized && w != p, joined = rounds && ones_fit(body, softmax);
    TileValue *sum = softmax->args[2], *l;
    if (joined) l = ones_add(&rw, sum, w, ones_operand(program, kernel, w, sum));
    else l = rw_binary(&rw, OP_ADD, sum, rounds ? parts_fold(&rw, w) : rw_reduce_rows(&rw, OP_ROW_SUM, w));
    rw_stand_for(body, softmax->results[2], l);
    for (int i = 0; i < b.n_sums; i++) {
        rw_stand_for(body, b.rescales[i]->results[0], sum_of(&b, i));
        rw_remove(body, b.rescales[i]);
    }
    leave_reference(&b, middle);
    rw_remove(body, softmax);
    if (joined) ones_carry(program, kernel, loop, b.l);
    else if (!rounded || kernel->specialized) parts_carry(program, kernel, loop, b.l);
}
