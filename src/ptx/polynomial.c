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
 *
 * Of a sigmoid, two share a reciprocal.
 */
#include "ptx/emit.h"

static const double LOG2_E = 1.44269504088896340736;

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

/* 1 + exp2 a, at most 2^63: two of them have a product that is finite, whose reciprocal is normal. */
static const char PLUS_ONE[] = "min.NaN.f32 $0, $a, 0f427C0000; ex2.approx.ftz.f32 $0, $0; add.f32 $d, $0, 0f3F800000;";

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

/* A factor or addend of a multiply-add, times -log2 e: what is behind it takes no multiplication then. */
static const char *in_binades(Emitter *e, const TileValue *v)
{
    if (v->def && v->def->kind == TILE_FILL && !v->def->param) return em_f32(e, -LOG2_E * v->def->number);
    const char *scaled = em_new(e, REG_F);
    em(e, "mul.f32 %s, %s, 0fBFB8AA3B;", scaled, fr_operand(e, v, 0));
    return scaled;
}

static bool is_scalar(const TileValue *v)
{
    return v->type.rows == 1 && v->type.cols == 1;
}

/* -a log2 e for each value a. */
static void exponents(Emitter *e, const TileValue *a, int n, const char **out)
{
    const TileOp *sum = a->def && a->def->kind == TILE_ELEMENT && a->def->op == OP_FMA ? a->def : NULL;
    bool folds = sum && is_scalar(sum->args[1]) && is_scalar(sum->args[2]) && !is_scalar(sum->args[0]);
    const char *by = folds ? in_binades(e, sum->args[1]) : "0fBFB8AA3B", *plus = folds ? in_binades(e, sum->args[2]) : NULL;
    for (int i = 0; i < n; i++) {
        out[i] = em_new(e, REG_F);
        if (folds) em(e, "fma.rn.f32 %s, %s, %s, %s;", out[i], fr_operand(e, sum->args[0], i), by, plus);
        else em(e, "mul.f32 %s, %s, %s;", out[i], fr_operand(e, a, i), by);
    }
}

static bool share_a_row(const TileValue *v, int i)
{
    int row, col, next;
    fr_place(v, i, &row, &col);
    fr_place(v, i + 1, &next, &col);
    return row == next;
}

/* sigmoid a = 1 / x with x = 1 + exp(-a), of which two in a row share a reciprocal:
 * 1 / x = y / (x y). Below exp(-43) it stays there. */
static void emit_sigmoid(Emitter *e, const TileValue *a, const TileValue *result)
{
    const Frag *frag = &e->frags[result->id];
    const char **of = arena_array(e->arena, const char *, frag->n);
    exponents(e, a, frag->n, of);
    for (int i = 0; i < frag->n; i++) {
        const char *x = em_new(e, REG_F), *y = em_new(e, REG_F), *both = em_new(e, REG_F);
        el_unary(e, PLUS_ONE, x, of[i]);
        if (i + 1 == frag->n || !share_a_row(result, i)) {
            em(e, "rcp.approx.ftz.f32 %%f%d, %s;", frag->f[i], x);
            continue;
        }
        el_unary(e, PLUS_ONE, y, of[i + 1]);
        em(e, "mul.f32 %s, %s, %s;", both, x, y);
        em(e, "rcp.approx.ftz.f32 %s, %s;", both, both);
        em(e, "mul.f32 %%f%d, %s, %s;", frag->f[i], both, y);
        em(e, "mul.f32 %%f%d, %s, %s;", frag->f[i + 1], both, x);
        i++;
    }
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
