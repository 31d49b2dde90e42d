/* polynomial.c: functions `by polynomial`, in fewer instructions of the special function
 * units than they are defined by: with an exponential after them, those units are what
 * the warps of a multiprocessor wait for.
 *
 * Tanh of small numbers is a polynomial in their squares, and takes those units nothing; of
 * all others it is one in an exponential. Numbers before a soft cap are mostly small beside
 * it, so a warp votes:
 *
 *   setp.gt %far, max |a|, 1; vote.any; bra FAR if so
 *   a p(a^2) of all; bra DONE
 *   FAR: q(exp(-2 |a|)) of all
 *   DONE:
 */
#include "ptx/emit.h"

/* tanh a = a p(a^2) for |a| <= 1, wrong by 2.8e-6 at most. */
static const char NEAR[] =
    "mul.f32 $0, $a, $a; fma.rn.f32 $1, $0, 0f3C09110B, 0fBD315B2F; fma.rn.f32 $1, $1, $0, 0f3E04526C;"
    "fma.rn.f32 $1, $1, $0, 0fBEAA522E; fma.rn.f32 $1, $1, $0, 0f3F7FFDEF; mul.f32 $d, $1, $a;";

/* tanh |a| = (1 - u) / (1 + u) with u = exp(-2 |a|), of which this is the minimax polynomial over
 * 0 <= u <= 1, wrong by 2.5e-6 at most; with the sign of a. */
static const char FAR[] =
    "abs.f32 $0, $a; mul.f32 $0, $0, 0fC038AA3B; ex2.approx.ftz.f32 $0, $0;"
    "fma.rn.f32 $1, $0, 0fBDD5FBF5, 0f3F03720D; fma.rn.f32 $1, $1, $0, 0fBF94A9B1;"
    "fma.rn.f32 $1, $1, $0, 0f3FD8C5B6; fma.rn.f32 $1, $1, $0, 0fBFF79214; fma.rn.f32 $1, $1, $0, 0f3FFF12A0;"
    "fma.rn.f32 $1, $1, $0, 0fBFFFF5D9; fma.rn.f32 $1, $1, $0, 0f3F7FFFDB; copysign.f32 $d, $a, $1;";

/* sigmoid a = p(u) for a > 0 and u p(u) for others, u = exp(-|a|), where p(u) is 1 / (1 + u) over
 * 0 <= u <= 1 but for 5.2e-5 of itself. */
static const char SIGMOID[] =
    "abs.f32 $0, $a; mul.f32 $0, $0, 0fBFB8AA3B; ex2.approx.ftz.f32 $0, $0;"
    "fma.rn.f32 $1, $0, 0fBDD5FBF6, 0f3ED5FBF7; fma.rn.f32 $1, $1, $0, 0fBF454447; fma.rn.f32 $1, $1, $0, 0f3F741364;"
    "fma.rn.f32 $1, $1, $0, 0fBF7F0BED; fma.rn.f32 $1, $1, $0, 0f3F7FFCA8;"
    "setp.gt.f32 $p, $a, 0f00000000; selp.f32 $0, 0f3F800000, $0, $p; mul.f32 $d, $1, $0;";

/* 1 / (1 + exp(-a)) */
static const char SIGMOID_QUOTIENT[] =
    "mul.f32 $0, $a, 0fBFB8AA3B; ex2.approx.ftz.f32 $1, $0; add.f32 $2, $1, 0f3F800000; rcp.approx.ftz.f32 $d, $2;";

/* Fewer values are done before a vote is. */
enum { WORTH_A_VOTE = 8, CHAINS = 4 };

static void of_each(Emitter *e, const char *text, const TileValue *a, const TileValue *result)
{
    const Frag *frag = &e->frags[result->id];
    for (int i = 0; i < frag->n; i++) el_unary(e, text, em_name(e, REG_F, frag->f[i]), fr_operand(e, a, i));
}

/* Whether some lane of the warp has a number beyond 1. NaNs, which max passes over (PTX
 * ISA, max), remain what they are in either polynomial. */
static const char *any_far(Emitter *e, const TileValue *a, int n)
{
    const char *largest[CHAINS] = {0}, *p = em_new(e, REG_P), *vote = em_new(e, REG_P);
    for (int i = 0; i < n; i++) {
        const char *size = em_new(e, REG_F), *so_far = largest[i % CHAINS];
        em(e, "abs.f32 %s, %s;", size, fr_operand(e, a, i));
        largest[i % CHAINS] = so_far ? em_new(e, REG_F) : size;
        if (so_far) em(e, "max.f32 %s, %s, %s;", largest[i % CHAINS], so_far, size);
    }
    for (int i = 1; i < CHAINS; i++) {
        const char *both = em_new(e, REG_F);
        em(e, "max.f32 %s, %s, %s;", both, largest[0], largest[i]);
        largest[0] = both;
    }
    em(e, "setp.gt.f32 %s, %s, 0f3F800000;", p, largest[0]);
    em(e, "vote.sync.any.pred %s, %s, -1;", vote, p);
    return vote;
}

/* Every QUOTIENTS-th as a quotient, so that both kinds of units have something to do. */
static void emit_sigmoid(Emitter *e, const TileValue *a, const TileValue *result)
{
    enum { QUOTIENTS = 3 };
    const Frag *frag = &e->frags[result->id];
    for (int i = 0; i < frag->n; i++)
        el_unary(e, i % QUOTIENTS == 0 ? SIGMOID_QUOTIENT : SIGMOID, em_name(e, REG_F, frag->f[i]), fr_operand(e, a, i));
}

static void emit_tanh(Emitter *e, const TileValue *a, const TileValue *result)
{
    int n = e->frags[result->id].n;
    if (n < WORTH_A_VOTE || e->cold || e->frags[a->id].uniform) {
        of_each(e, FAR, a, result);
        return;
    }
    int label = em_label(e);
    const char *far = any_far(e, a, n);
    em_open(e);
    em(e, "@%s bra.uni $far%d;", far, label);
    of_each(e, NEAR, a, result);
    em(e, "bra.uni $done%d;", label);
    em(e, "$far%d:", label);
    of_each(e, FAR, a, result);
    em_close(e);
    em(e, "$done%d:", label);
}

void el_polynomial(Emitter *e, const TileOp *op)
{
    if (op->op == OP_TANH) emit_tanh(e, op->args[0], op->results[0]);
    else emit_sigmoid(e, op->args[0], op->results[0]);
}
