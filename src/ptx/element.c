/* element.c: arithmetic on register tiles, a lane's values one by one. */
#include "ptx/global.h"
#include "ptx/integer.h"
#include "ptx/meet.h"
#include "ptx/roles.h"

/* ---- templates ------------------------------------------------------------------
 * $d destination, $a $b $c operands, $0..$7 scratch registers, $p a predicate. */

/* The sine of what is left of $a beyond $1 half turns, which are taken away in three parts, with the other sign where $0, a
 * whole number of them and 3 * 2^22, is odd: of pi / 2 at most, plus its cube times a polynomial in its square (minimax).
 * The instruction is good to 2^-20 alone, but has a number for angles whose last place is whole radians. */
#define LESS_HALF_TURNS(instruction)                                                                           \
    "fma.rn.f32 $2, $1, 0fC0490000, $a; fma.rn.f32 $2, $1, 0fBA7DA000, $2; fma.rn.f32 $2, $1, 0fB4222169, $2;" \
    "shl.b32 $0, $0, 31; mul.f32 $1, $2, $2; fma.rn.f32 $3, $1, 0f362ECD53, 0fB94FB756;"                       \
    "fma.rn.f32 $3, $3, $1, 0f3C088769; fma.rn.f32 $3, $3, $1, 0fBE2AAAA6; mul.f32 $1, $1, $2;"                \
    "fma.rn.f32 $2, $1, $3, $2; xor.b32 $2, $2, $0;" instruction ".approx.ftz.f32 $1, $a; abs.f32 $0, $a;"     \
    "setp.lt.f32 $p, $0, 0f4B400000; selp.f32 $d, $2, $1, $p;"

/* a / b, off by two units (PTX ISA, "div"), then by what is left, a - q b, which is exact, over b:
 * rounded correctly but for rare halves. Where that is no number (b is 0, infinite, subnormal) q stays. */
#define CLOSE_QUOTIENT(d)                                                                                       \
    "div.full.f32 $0, $a, $b; rcp.approx.ftz.f32 $1, $b; neg.f32 $2, $0; fma.rn.f32 $2, $2, $b, $a;"            \
    "fma.rn.f32 $2, $2, $1, $0; abs.f32 $3, $2; setp.lt.f32 $p, $3, 0f7F800000; selp.f32 " d ", $2, $0, $p;"

/* Of $0 = |a|^b, which is 1 where b is 0: where a < 0 times 1 - 4 (b / 2 - floor(b / 2)), which is 1 or -1 as b is even or odd, and a
 * NaN where b is neither. */
#define SIGNED_POWER                                                                              \
    "mul.f32 $1, $b, 0f3F000000; cvt.rmi.f32.f32 $2, $1; sub.f32 $1, $1, $2;"                     \
    "fma.rn.f32 $1, $1, 0fC0800000, 0f3F800000; abs.f32 $2, $1; setp.eq.f32 $p, $2, 0f3F800000;"  \
    "selp.f32 $1, $1, 0f7FC00000, $p; mul.f32 $1, $1, $0; setp.lt.f32 $p, $a, 0f00000000;"        \
    "selp.f32 $0, $1, $0, $p; setp.eq.f32 $p, $b, 0f00000000; selp.f32 $d, 0f3F800000, $0, $p;"

static const struct {
    OpId op;
    const char *text;
} TEMPLATES[] = {
    {OP_ADD, "add.f32 $d, $a, $b;"},
    {OP_SUBTRACT, "sub.f32 $d, $a, $b;"},
    {OP_MULTIPLY, "mul.f32 $d, $a, $b;"},
    {OP_DIVIDE, "div.full.f32 $d, $a, $b;"},
    {OP_MAX, "max.f32 $d, $a, $b;"},
    {OP_MIN, "min.f32 $d, $a, $b;"},
    {OP_POWER, "abs.f32 $0, $a; lg2.approx.f32 $0, $0; mul.f32 $0, $0, $b; ex2.approx.f32 $0, $0;" SIGNED_POWER},
    {OP_NEGATE, "neg.f32 $d, $a;"},
    {OP_ABS, "abs.f32 $d, $a;"},
    {OP_SIGN, "set.gt.f32.f32 $0, $a, 0f00000000; set.lt.f32.f32 $1, $a, 0f00000000; sub.f32 $d, $0, $1;"},
    {OP_EXP, "mul.f32 $0, $a, 0f3FB8AA3B; ex2.approx.ftz.f32 $d, $0;"},
    {OP_EXP2, "ex2.approx.ftz.f32 $d, $a;"},
    {OP_LOG, "lg2.approx.f32 $0, $a; mul.f32 $d, $0, 0f3F317218;"},
    {OP_LOG2, "lg2.approx.f32 $d, $a;"},
    /* Where |a| < 0.4 what 2 atanh s, of s = a / (2 + a), is by a polynomial in s^2 (interpolated at
     * Chebyshev's nodes): there the instructions, exact beside 1, are not beside what is left */
    {OP_LOG1P, "add.f32 $0, $a, 0f40000000; rcp.approx.ftz.f32 $0, $0; mul.f32 $0, $a, $0; mul.f32 $1, $0, $0;"
               "fma.rn.f32 $2, $1, 0f3EA1930A, 0f3ECC3085; fma.rn.f32 $2, $2, $1, 0f3F2AABA7; fma.rn.f32 $2, $2, $1, 0f40000000;"
               "mul.f32 $2, $2, $0; add.f32 $1, $a, 0f3F800000; lg2.approx.f32 $1, $1; mul.f32 $1, $1, 0f3F317218;"
               "abs.f32 $0, $a; setp.lt.f32 $p, $0, 0f3ECCCCCD; selp.f32 $d, $2, $1, $p;"},
    /* exp a = 2^t exp(a - t ln 2), t = a log2 e being rounded; what is left of a, of which exp is linear, within bounds: beside an
     * infinite t it is no number. Where |a| < 0.5 a + a^2 times a polynomial, as above */
    {OP_EXPM1, "mul.f32 $0, $a, 0f3FB8AA3B; fma.rn.f32 $1, $0, 0fBF317218, $a; fma.rn.f32 $1, $0, 0f3102E308, $1;"
               "min.f32 $1, $1, 0f3A800000; max.f32 $1, $1, 0fBA800000; add.f32 $1, $1, 0f3F800000;"
               "ex2.approx.ftz.f32 $0, $0; fma.rn.f32 $0, $0, $1, 0fBF800000;"
               "fma.rn.f32 $1, $a, 0f3951231D, 0f3AB7446E; fma.rn.f32 $1, $1, $a, 0f3C088820; fma.rn.f32 $1, $1, $a, 0f3D2AA9C0;"
               "fma.rn.f32 $1, $1, $a, 0f3E2AAAAB; fma.rn.f32 $1, $1, $a, 0f3F000000; mul.f32 $2, $a, $a;"
               "fma.rn.f32 $1, $1, $2, $a; abs.f32 $2, $a; setp.lt.f32 $p, $2, 0f3F000000; selp.f32 $d, $1, $0, $p;"},
    /* What sqrt.rn does without its branch, which all values of a tile would last over: a / sqrt a and one step of Newton's,
     * of numbers so small that what is left of them would underflow times 2^64. Where 1 / sqrt a is 0 or infinite a stays */
    {OP_SQRT, "setp.lt.f32 $p, $a, 0f0D000000; selp.f32 $0, 0f5F800000, 0f3F800000, $p; selp.f32 $3, 0f2F800000, 0f3F800000, $p;"
              "mul.f32 $0, $a, $0; rsqrt.approx.ftz.f32 $1, $0; mul.f32 $2, $1, 0f3F000000; setp.eq.f32 $p, $1, $2;"
              "mul.f32 $1, $0, $1; neg.f32 $d, $1; fma.rn.f32 $d, $d, $1, $0; fma.rn.f32 $1, $d, $2, $1; mul.f32 $1, $1, $3;"
              "selp.f32 $d, $0, $1, $p;"},
    {OP_RSQRT, "rsqrt.approx.f32 $d, $a;"},
    /* tanh |a| = 1 - 2 / (1 + exp 2|a|), with a's sign: rounded once where it is close to 1, so that 1 + tanh a
     * keeps what can be kept of it; where |a| < 0.35, a + a^3 times a polynomial in a^2, exact to two of its own units
     * (interpolated at Chebyshev's nodes). tanh.approx has only 11 bits */
    {OP_TANH, "abs.f32 $0, $a; mul.f32 $0, $0, 0f4038AA3B; ex2.approx.ftz.f32 $1, $0; add.f32 $2, $1, 0f3F800000;"
              "rcp.approx.ftz.f32 $3, $2; fma.rn.f32 $3, $3, 0fC0000000, 0f3F800000; copysign.f32 $3, $a, $3;"
              "mul.f32 $0, $a, $a;"
              "fma.rn.f32 $1, $0, 0fBD4D7817, 0f3E085B6E; fma.rn.f32 $1, $1, $0, 0fBEAAAA83; mul.f32 $1, $1, $0;"
              "fma.rn.f32 $1, $1, $a, $a; setp.lt.f32 $p, $0, 0f3DFAE148; selp.f32 $d, $1, $3, $p;"},
    {OP_SIGMOID, "mul.f32 $0, $a, 0fBFB8AA3B; ex2.approx.ftz.f32 $1, $0; add.f32 $2, $1, 0f3F800000;"
                 "rcp.approx.ftz.f32 $d, $2;"},
    {OP_SILU, "mul.f32 $0, $a, 0fBFB8AA3B; ex2.approx.ftz.f32 $1, $0; add.f32 $2, $1, 0f3F800000;"
              "rcp.approx.ftz.f32 $2, $2; mul.f32 $d, $a, $2;"},
    /* By Abramowitz and Stegun 7.1.26: t = 1 / (1 + 0.3275911 |a|), erf |a| = 1 - t poly(t) exp(-a^2), |error| < 1.5e-7; where
     * |a| < 0.8, a times a polynomial in a^2 (interpolated at Chebyshev's nodes), exact to a unit of its own */
    {OP_ERF, "abs.f32 $0, $a; fma.rn.f32 $1, $0, 0f3EA7BA05, 0f3F800000; rcp.approx.ftz.f32 $1, $1;"
             "fma.rn.f32 $2, $1, 0f3F87DC22, 0fBFBA00E3; fma.rn.f32 $2, $2, $1, 0f3FB5F0E3; fma.rn.f32 $2, $2, $1, 0fBE91A98E;"
             "fma.rn.f32 $2, $2, $1, 0f3E827906; mul.f32 $2, $2, $1; mul.f32 $3, $0, 0fBFB8AA3B; mul.f32 $3, $3, $0;"
             "ex2.approx.ftz.f32 $3, $3; neg.f32 $3, $3; fma.rn.f32 $3, $3, $2, 0f3F800000; copysign.f32 $3, $a, $3;"
             "mul.f32 $0, $a, $a; fma.rn.f32 $1, $0, 0fBA2B8AD0, 0f3BA6ACC6; fma.rn.f32 $1, $1, $0, 0fBCDBB8F3;"
             "fma.rn.f32 $1, $1, $0, 0f3DE7141A; fma.rn.f32 $1, $1, $0, 0fBEC09397; fma.rn.f32 $1, $1, $0, 0f3F906EBA;"
             "mul.f32 $1, $1, $a; setp.lt.f32 $p, $0, 0f3F23D70A; selp.f32 $d, $1, $3, $p;"},
    {OP_RELU, "max.f32 $d, $a, 0f00000000;"},
    {OP_RECIPROCAL, "rcp.approx.ftz.f32 $d, $a;"},
    {OP_FLOOR, "cvt.rmi.f32.f32 $d, $a;"},
    {OP_CEIL, "cvt.rpi.f32.f32 $d, $a;"},
    {OP_ROUND, "cvt.rni.f32.f32 $d, $a;"},
    /* exact where the quotient is whole; div.rn has a branch, which all values of a tile would last over */
    {OP_CEIL_DIVIDE, CLOSE_QUOTIENT("$0") "cvt.rpi.f32.f32 $d, $0;"},
    /* half turns: the nearest number of them, and of a cosine, which is the sine a quarter on, half a one less */
    {OP_SIN, "fma.rn.f32 $0, $a, 0f3EA2F983, 0f4B400000; add.f32 $1, $0, 0fCB400000;" LESS_HALF_TURNS("sin")},
    {OP_COS, "fma.rn.f32 $0, $a, 0f3EA2F983, 0f3F000000; add.f32 $0, $0, 0f4B400000; add.f32 $1, $0, 0fCB400000;"
             "add.f32 $1, $1, 0fBF000000;" LESS_HALF_TURNS("cos")},
    {OP_SQUARE, "mul.f32 $d, $a, $a;"},
    {OP_GREATER, "set.gt.f32.f32 $d, $a, $b;"},
    {OP_GREATER_EQUAL, "set.ge.f32.f32 $d, $a, $b;"},
    {OP_LESS, "set.lt.f32.f32 $d, $a, $b;"},
    {OP_LESS_EQUAL, "set.le.f32.f32 $d, $a, $b;"},
    {OP_EQUAL, "set.eq.f32.f32 $d, $a, $b;"},
    {OP_NOT_EQUAL, "set.neu.f32.f32 $d, $a, $b;"},
    {OP_WHERE, "setp.neu.f32 $p, $a, 0f00000000; selp.f32 $d, $b, $c, $p;"},
    {OP_FMA, "fma.rn.f32 $d, $a, $b, $c;"},
    /* a (1 + erf(a / sqrt 2)) / 2 = max(a, 0) - |a| q of q = erfc(|a| / sqrt 2) / 2, of which digits are left where 1 and an erf
     * near -1 would cancel: t p(t) exp(-a^2 / 2) with t = 1 / (1 + 0.3375 |a|), |error| < 1.5e-7, < 3.5e-7 / |a|, and < 8e-4 q
     * up to |a| = 6.5 (minimax of these). Of all beyond 16 q is 0, and of infinity not a NaN */
    {OP_GELU, "mul.f32 $1, $a, 0fBF38AA3B; mul.f32 $1, $1, $a; ex2.approx.ftz.f32 $1, $1; abs.f32 $0, $a; min.f32 $0, $0, 0f41800000;"
              "fma.rn.f32 $2, $0, 0f3EACCCCD, 0f3F800000; rcp.approx.ftz.f32 $2, $2; mul.f32 $1, $1, $2;"
              "fma.rn.f32 $3, $2, 0f3DD794F5, 0fBEABBCDD; fma.rn.f32 $3, $3, $2, 0f3D370F04;"
              "fma.rn.f32 $3, $3, $2, 0fBE3EA941; fma.rn.f32 $3, $3, $2, 0fBE036B37; mul.f32 $3, $3, $1;"
              "max.f32 $1, $a, 0f00000000; fma.rn.f32 $d, $3, $0, $1;"},
};

/* The error of a logarithm is multiplied by what it is: of 2^100 five digits would be left. So here is one as two numbers, $1 + $0, to
 * some 2^-32 of itself: |a| = 2^e m, times 2^24 or 2^-24 first, so that all powers of two here are normal, and with m = $1 within a
 * factor of sqrt 2 of 1; log2 m = c s + c' s^3 p(s^2) of s = (m - 1) / (m + 1) and what is left of that quotient (p interpolated at
 * Chebyshev's nodes). Where the instruction's $3 is infinite (a is 0 or infinite), or no number, that is taken. Times b it is two
 * numbers again; of the second the exponential is linear, within bounds: beside an infinite one it is no number. */
static const char PRECISE_POWER[] =
    "abs.f32 $0, $a; setp.lt.f32 $p, $0, 0f3F800000; selp.f32 $1, 0f4B800000, 0f33800000, $p; mul.f32 $1, $0, $1;"
    "selp.f32 $2, 0fC1C00000, 0f41C00000, $p; lg2.approx.f32 $3, $1; add.f32 $4, $3, 0f4B400000; add.f32 $5, $4, 0fCB400000;"
    "sub.f32 $4, 0f4B40007F, $5; shl.b32 $4, $4, 23; mul.f32 $1, $1, $4; add.f32 $2, $2, $5;"
    "add.f32 $4, $1, 0fBF800000; add.f32 $5, $1, 0f3F800000; rcp.approx.ftz.f32 $6, $5; add.f32 $7, $5, 0fBF800000;"
    "sub.f32 $7, $1, $7; mul.f32 $1, $4, $6; neg.f32 $0, $1; fma.rn.f32 $4, $0, $5, $4; fma.rn.f32 $4, $0, $7, $4;"
    "mul.f32 $4, $4, $6; mul.f32 $5, $1, $1; fma.rn.f32 $6, $5, 0f3EAC5989, 0f3ED2E490; fma.rn.f32 $6, $6, $5, 0f3F13BB80;"
    "fma.rn.f32 $6, $6, $5, 0f3F76384F; mul.f32 $5, $5, $1; mul.f32 $7, $1, 0f4038AA3B; neg.f32 $0, $7;"
    "fma.rn.f32 $0, $1, 0f4038AA3B, $0; fma.rn.f32 $0, $1, 0f33257060, $0; fma.rn.f32 $0, $4, 0f4038AA3B, $0;"
    "fma.rn.f32 $0, $5, $6, $0; add.f32 $1, $2, $7; sub.f32 $4, $1, $2; sub.f32 $4, $7, $4; add.f32 $0, $0, $4;"
    "add.f32 $4, $1, $0; sub.f32 $5, $4, $1; sub.f32 $0, $0, $5; abs.f32 $5, $3; setp.lt.f32 $p, $5, 0f7F800000;"
    "selp.f32 $1, $4, $3, $p; mul.f32 $2, $1, $b; neg.f32 $4, $2; fma.rn.f32 $4, $1, $b, $4; fma.rn.f32 $4, $0, $b, $4;"
    "min.f32 $4, $4, 0f3A800000; max.f32 $4, $4, 0fBA800000; fma.rn.f32 $4, $4, 0f3F317218, 0f3F800000;"
    "ex2.approx.f32 $2, $2; mul.f32 $0, $2, $4;" SIGNED_POWER;

static const char *template_of(OpId op)
{
    for (size_t i = 0; i < TW_COUNT(TEMPLATES); i++)
        if (TEMPLATES[i].op == op) return TEMPLATES[i].text;
    return NULL;
}

typedef struct Slots {
    const char *d, *args[3], *scratch[8], *predicate;
} Slots;

static const char *slot(Emitter *e, Slots *s, char c)
{
    switch (c) {
    case 'd': return s->d;
    case 'a': case 'b': case 'c': return s->args[c - 'a'];
    case 'p':
        if (!s->predicate) s->predicate = em_new(e, REG_P);
        return s->predicate;
    default:
        if (!s->scratch[c - '0']) s->scratch[c - '0'] = em_new(e, REG_F);
        return s->scratch[c - '0'];
    }
}

/* Fills the slots; each instruction, up to its ';', on a line. */
static void emit_template(Emitter *e, const char *text, Slots *s)
{
    Str *out = em_innermost(e);
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t plain;
        str_addc(out, '\t');
        for (plain = strcspn(text, "$;"); text[plain] == '$'; plain = strcspn(text, "$;")) {
            str_addn(out, text, plain);
            str_add(out, slot(e, s, text[plain + 1]));
            text += plain + 2;
        }
        str_addn(out, text, plain);
        str_addn(out, ";\n", 2);
        text += plain + 1;
    }
}

/* ---- elementwise ------------------------------------------------------------------ */

/* Which of the operand's values meets value i of the result. */
static int broadcast(const TileValue *operand, const TileValue *result, int i)
{
    const TileType *o = &operand->type, *r = &result->type;
    if (o->rows == r->rows && o->cols == r->cols) return i;
    if (o->rows == 1 && o->cols == 1) return 0;
    if (o->cols == 1 && r->cols == 1) return 0; /* (1,1) met above */
    return o->cols == 1 ? lay_fragment_row_slot(r->layout, r->rows, r->cols, i)
                        : lay_fragment_col_slot(r->layout, r->rows, r->cols, i);
}

const char *el_operand(Emitter *e, const TileValue *operand, const TileValue *result, int i)
{
    return fr_operand(e, operand, broadcast(operand, result, i));
}

static const char CLOSE_DIVIDE[] = CLOSE_QUOTIENT("$d");

/* One quotient a row costs next to nothing, and what it is subtracted from may be all but the
 * same: a mean weighted by a saturated softmax is one of the numbers, and nothing else may be left. A
 * reciprocal goes into a product, which rounds again. */
static const char *divide_template(const Emitter *e, const TileOp *op)
{
    bool of_rows = op->results[0]->type.cols == 1 && !e->frags[op->args[0]->id].uniform;

    return of_rows ? CLOSE_DIVIDE : template_of(OP_DIVIDE);
}

/* Whether more digits come out of the kernel than types of 16 bits have. */
static bool shows_digits(const Emitter *e)
{
    for (int i = 0; i < e->program->tensors.len; i++) {
        const TileTensor *t = e->program->tensors.data[i];
        if (!dtype_is_narrow(t->dtype) && tile_stores_to(e->kernel->body, t)) return true;
    }
    return false;
}

static const char *text_of(const Emitter *e, const TileOp *op)
{
    if (op->op == OP_DIVIDE) return divide_template(e, op);
    return op->op == OP_POWER && shows_digits(e) ? PRECISE_POWER : template_of(op->op);
}

/* b == 0 ? number : a / b */
static void divide_or_else(Emitter *e, const TileOp *op, Slots *s)
{
    const char *quotient = em_new(e, REG_F), *p = em_new(e, REG_P);
    Slots inner = {.d = quotient, .args = {s->args[0], s->args[1]}};
    emit_template(e, divide_template(e, op), &inner);
    em(e, "setp.eq.f32 %s, %s, 0f00000000;", p, s->args[1]);
    em(e, "selp.f32 %s, %s, %s, %s;", s->d, em_f32(e, op->number), quotient, p);
}

/* matrix * column vector, changed in place, but jumped over by a warp all of
 * whose factors are 1. */
static void multiply_skipping_ones(Emitter *e, const TileOp *op, int matrix)
{
    const TileValue *v = op->results[0], *factor = op->args[1 - matrix];
    int label = em_label(e), n = e->frags[factor->id].n;
    fr_take(e, v, op->args[matrix]);
    const char *any = em_new(e, REG_P), *vote = em_new(e, REG_P);
    for (int i = 0; i < n; i++) {
        const char *p = i == 0 ? any : em_new(e, REG_P);
        em(e, "setp.neu.f32 %s, %s, 0f3F800000;", p, fr_operand(e, factor, i));
        if (i > 0) em(e, "or.pred %s, %s, %s;", any, any, p);
    }
    em(e, "vote.sync.any.pred %s, %s, -1;", vote, any);
    em_open(e);
    em(e, "@!%s bra.uni $ones%d;", vote, label);
    const Frag *frag = &e->frags[v->id];
    for (int i = 0; i < frag->n; i++)
        em(e, "mul.f32 %%f%d, %%f%d, %s;", frag->f[i], frag->f[i],
           fr_operand(e, factor, broadcast(factor, v, i)));
    em_close(e);
    em(e, "$ones%d:", label);
}

static bool is_column_of(const TileValue *factor, const TileValue *matrix)
{
    return factor->type.cols == 1 && factor->type.rows == matrix->type.rows && matrix->type.cols > 1;
}

/* ---- indices --------------------------------------------------------------------------- */

/* i * v + w: i an index that is linear, and so alike but for a number in the elements of a row. */
static bool is_place_sum(const TileOp *op)
{
    const TileOp *index = op->op == OP_FMA ? op->args[0]->def : NULL;
    if (!index || index->kind != TILE_INDEX || index->index->kind == AFF_MAX || index->index->kind == AFF_MIN) return false;
    if (aff_uses_kind(index->index, AFF_TABLE)) return false;
    const TileType *i = &op->args[0]->type, *sum = &op->results[0]->type;
    return op->args[1]->type.cols == 1 && i->rows == sum->rows && i->cols == sum->cols;
}

/* Arithmetic that can make operand k, the index of a matrix's elements, as it walks its values. */
static bool makes_index(const TileOp *op, int k)
{
    if (op->kind != TILE_ELEMENT || op->polynomial || op->skip_ones) return false;
    const TileType *i = &op->args[k]->type, *result = &op->results[0]->type;
    return is_place_sum(op) ? k == 0 : i->rows == result->rows && i->cols == result->cols;
}

static bool is_always_made(const TileBlock *block, const TileValue *index)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            if (op->args[k] == index && !makes_index(op, k)) return false;
        for (int r = 0; r < op->n_regions; r++)
            if (!is_always_made(op->regions[r], index)) return false;
    }
    return true;
}

/* An index of a matrix's elements: made where it is used, so that no register waits with it while a
 * product is awaited or a row's elements are masked. */
static bool is_made_in_place(const Emitter *e, const TileValue *v)
{
    return v->def && v->def->kind == TILE_INDEX && !aff_uses_kind(v->def->index, AFF_TABLE) && v->type.rows > 1 && v->type.cols > 1
        && is_always_made(e->kernel->body, v);
}

const Aff *el_at_lane(Emitter *e, const Aff *a, const Lane *lane, const TileValue *v, int i)
{
    AffCtx *aff = e->program->aff;
    int row, col;
    fr_place(v, i, &row, &col);
    const Aff *r = v->type.rows == 1 ? aff_const(aff, 0) : aff_offset(aff, lane->parts ? lane->parts : aff_of(aff, lane->row), row);
    const Aff *first = lane->units ? lane->units : aff_of(aff, lane->col);
    const Aff *c = v->type.cols == 1 ? aff_const(aff, 0) : aff_offset(aff, first, col);
    return rs_at(e, a, r, c);
}

Lane el_lane(Emitter *e, const TileValue *v)
{
    const AffSym *row = ix_lane_row(e, v->type.layout, v->type.rows);
    return (Lane){row, ix_lane_col(e, v->type.layout, v->type.cols), NULL, NULL};
}

/* The same number in a register that ptxas takes for another's. */
static const AffSym *another(Emitter *e, const AffSym *sym)
{
    const char *p = em_new(e, REG_P), *d = em_new(e, REG_R);
    em(e, "setp.eq.s32 %s, %s, -1;", p, e->smem); /* never */
    em(e, "selp.b32 %s, 0, %s, %s;", d, ix_value(e, aff_of(e->program->aff, sym)), p);
    return ix_symbol(e, sym->name, d, em_level(e), sym->hi);
}

/* In a region that is rarely executed with registers of its own: ptxas would keep each element's
 * index from outside for it. */
Lane el_lane_here(Emitter *e, const TileValue *v)
{
    Lane lane = el_lane(e, v);
    if (!e->cold) return lane;
    lane.row = another(e, lane.row);
    lane.col = another(e, lane.col);
    return lane;
}

static const char *index_at(Emitter *e, const Lane *lane, const TileValue *v, int i)
{
    const char *d = em_new(e, REG_F);
    ix_float(e, el_at_lane(e, v->def->index, lane, v, i), d);
    return d;
}

/* (first i of the row) * v + w once a row, and from there on a multiply-add an element. */
static void multiply_places(Emitter *e, const TileOp *op)
{
    enum { ROWS = 16 };
    struct { const Aff *rest; const char *v, *w, *base; } known[ROWS];
    int n = 0, k;
    const TileValue *result = op->results[0], *v = op->args[1], *w = op->args[2];
    const int *d = e->frags[result->id].f;
    for (int i = 0; i < e->frags[result->id].n; i++) {
        int64_t constant;
        const Aff *rest = aff_without_constant(e->program->aff, el_at(e, op->args[0]->def->index, result, i), &constant);
        const char *by = fr_operand(e, v, broadcast(v, result, i)), *onto = fr_operand(e, w, broadcast(w, result, i));
        for (k = 0; k < n; k++)
            if (known[k].rest == rest && strcmp(known[k].v, by) == 0 && strcmp(known[k].w, onto) == 0) break;
        if (k == n) {
            const char *first = em_new(e, REG_F), *base = em_new(e, REG_F);
            ix_float(e, rest, first);
            em(e, "fma.rn.f32 %s, %s, %s, %s;", base, first, by, onto);
            n = n < ROWS ? n : 0;
            k = n++;
            known[k].rest = rest, known[k].v = by, known[k].w = onto, known[k].base = base;
        }
        em(e, "fma.rn.f32 %%f%d, %s, %s, %s;", d[i], by, em_f32(e, (double)constant), known[k].base);
    }
}

static bool is_in_place(const Emitter *e, const TileOp *op, int k)
{
    return is_made_in_place(e, op->args[k]) && !(k == 0 && is_place_sum(op));
}

/* ---- functions in steps ----------------------------------------------------------------- */

enum {
    GROUP = 8,  /* values under way together, with as many of the group before */
    MANY = 128, /* values that leave a lane few registers */
    LONG = 12,  /* instructions of a function of which some more are too much: */
    SOME = 32
};

static int instructions_of(const char *text, const char *end)
{
    int n = 0;
    for (; text < end; text++) n += *text == ';';
    return n;
}

/* Of several numbers in between, one that is known among what is used first. */
static bool is_in_steps(const char *text)
{
    const char *number = strstr(text, "0f");
    return strstr(text, "$2") && number && instructions_of(text, number) < 2;
}

/* Of functions in steps ptxas starts as many as it can, and spills where their values fill the registers: a
 * group of them waits for the one before the last, by a number that is used first. Each role has registers enough. */
static bool is_in_groups(const Emitter *e, const TileOp *op, const char *text)
{
    int many = instructions_of(text, text + strlen(text)) > LONG ? SOME : MANY;
    return !e->role && is_in_steps(text) && e->frags[op->results[0]->id].n >= many;
}

/* A predicate that is false, which ptxas does not know. */
const char *el_never(Emitter *e)
{
    const char *p = em_new(e, REG_P), *blocks = em_new(e, REG_R);
    em(e, "mov.u32 %s, %%nctaid.x;", blocks);
    em(e, "setp.eq.s32 %s, %s, -1;", p, blocks);
    return p;
}

/* The template with its first number in a register that is there when value `after` is. */
static const char *text_after(Emitter *e, const char *text, const char *never, int after)
{
    const char *number = strstr(text, "0f"), *bits = em_new(e, REG_R), *held = em_new(e, REG_F);
    em(e, "mov.b32 %s, %%f%d;", bits, after);
    em(e, "selp.b32 %s, %s, 0x%.8s, %s;", bits, bits, number + 2, never);
    em(e, "mov.b32 %s, %s;", held, bits);
    return arena_printf(e->arena, "%.*s%s%s", (int)(number - text), text, held, number + strlen("0f00000000"));
}

static void one_value(Emitter *e, const TileOp *op, const char *text, Slots *s)
{
    if (op->op == OP_DIVIDE && op->has_else) divide_or_else(e, op, s);
    else emit_template(e, text, s);
}

static void each_value(Emitter *e, const TileOp *op)
{
    const TileValue *result = op->results[0];
    const char *text = text_of(e, op), *now = text;
    const char *never = is_in_groups(e, op, text) ? el_never(e) : NULL;
    const int *d = e->frags[result->id].f;
    Lane lane[3] = {{0}};
    for (int k = 0; k < op->n_args; k++)
        if (is_in_place(e, op, k)) lane[k] = el_lane_here(e, op->args[k]);
    for (int i = 0; i < e->frags[result->id].n; i++) {
        Slots s = {.d = em_name(e, REG_F, d[i])};
        if (never && i % GROUP == 0 && i >= 2 * GROUP) now = text_after(e, text, never, d[i - GROUP - 1]);
        for (int k = 0; k < op->n_args; k++)
            s.args[k] = lane[k].row ? index_at(e, &lane[k], op->args[k], i)
                                    : fr_operand(e, op->args[k], broadcast(op->args[k], result, i));
        one_value(e, op, now, &s);
    }
}

bool el_is_plain(const Emitter *e, const TileOp *op)
{
    if (!el_is_walked(op)) return false;
    for (int k = 0; k < op->n_args; k++)
        if (is_made_in_place(e, op->args[k])) return false;
    return true;
}

bool el_is_walked(const TileOp *op)
{
    return op->kind == TILE_ELEMENT && !op->polynomial && !op->skip_ones && !is_place_sum(op) && template_of(op->op);
}

bool el_is_place(const Emitter *e, const TileOp *op)
{
    return op->kind == TILE_INDEX && is_made_in_place(e, op->results[0]);
}

struct Walk {
    const TileOp *op;
    const char *text;
    Lane lane[3]; /* of operands that are indices, made in place */
};

Walk *el_begin(Emitter *e, const TileOp *op)
{
    Walk *walk = arena_new_of(e->arena, Walk);
    for (int k = 0; k < op->n_args; k++) { /* convert once, before the values are walked */
        if (is_in_place(e, op, k)) walk->lane[k] = el_lane_here(e, op->args[k]);
        else if (!e->frags[op->args[k]->id].uniform) fr_f32(e, op->args[k]);
    }
    fr_new_f32(e, op->results[0]);
    walk->op = op;
    walk->text = text_of(e, op);
    return walk;
}

void el_wait(Emitter *e, Walk *walk, bool many, const char *never, int after)
{
    const TileOp *op = walk->op;
    bool places = false;
    for (int k = 0; k < op->n_args; k++) {
        if (!walk->lane[k].row) continue;
        const char *bits = em_new(e, REG_R);
        em(e, "mov.b32 %s, %%f%d;", bits, after);
        walk->lane[k] = el_lane_after(e, op->args[k], many ? op->args[k]->def->index : NULL, never, bits);
        places = true;
    }
    const char *text = text_of(e, op);
    if (!places && is_in_steps(text)) walk->text = text_after(e, text, never, after);
}

void el_value(Emitter *e, const Walk *walk, int i)
{
    const TileOp *op = walk->op;
    const TileValue *result = op->results[0];
    Slots s = {.d = em_name(e, REG_F, e->frags[result->id].f[i])};
    for (int k = 0; k < op->n_args; k++)
        s.args[k] = walk->lane[k].row ? index_at(e, &walk->lane[k], op->args[k], i) : el_operand(e, op->args[k], result, i);
    one_value(e, op, walk->text, &s);
}

void el_element(Emitter *e, const TileOp *op)
{
    for (int k = 0; op->skip_ones && k < 2; k++) {
        if (!is_column_of(op->args[1 - k], op->args[k])) continue;
        multiply_skipping_ones(e, op, k);
        return;
    }
    if (!template_of(op->op)) {
        em_fail(e, op->loc, TW0803, "there is no instruction sequence for '%s'", op_info(op->op)->name);
        return;
    }
    for (int k = is_place_sum(op); k < op->n_args; k++) /* convert once, before the values are walked */
        if (!is_in_place(e, op, k) && !e->frags[op->args[k]->id].uniform) fr_f32(e, op->args[k]);
    fr_new_f32(e, op->results[0]);
    if (op->polynomial) el_polynomial(e, op);
    else if (is_place_sum(op)) multiply_places(e, op);
    else each_value(e, op);
}

void el_unary(Emitter *e, const char *text, const char *d, const char *a)
{
    Slots s = {.d = d, .args = {a}};
    emit_template(e, text, &s);
}

void el_fill(Emitter *e, const TileOp *op)
{
    Frag *frag = fr_new(e, op->results[0]);
    if (!op->param) {
        frag->uniform = em_f32(e, op->number);
        return;
    }
    frag->uniform = em_new(e, REG_F);
    for (int i = 0; i < e->program->params.len; i++)
        if (strcmp(e->program->params.data[i], op->param) == 0)
            em_at(e, 0, "ld.param.f32 %s, [%s];", frag->uniform, kn_param(e, ABI_PARAM, 0, i));
}

const Aff *el_at(Emitter *e, const Aff *a, const TileValue *v, int i)
{
    Lane lane = el_lane(e, v);
    bool reads = aff_uses_kind(a, AFF_TABLE);
    if (reads && v->type.cols > 1) lane.units = ix_lane_units(e, v->type.layout, v->type.cols);
    if (reads && v->type.rows > 1) lane.parts = ix_lane_parts(e, v->type.layout, v->type.rows);
    return el_at_lane(e, a, &lane, v, i);
}

void el_index(Emitter *e, const TileOp *op)
{
    enum { AT_ONCE = 32 }; /* elements of tensors that are under way */
    const TileValue *v = op->results[0];
    e->part.of_places |= v->type.rows > 1 && v->type.cols > 1;
    if (is_made_in_place(e, v)) return;
    fr_new_f32(e, v);
    e->exact = true;
    ah_take(e, op);
    for (int i = 0, n = e->frags[v->id].n; i < n; i++) {
        if (i % AT_ONCE == 0) ga_elements(e, op, i, i + AT_ONCE < n ? i + AT_ONCE : n);
        ix_float(e, el_at(e, op->index, v, i), em_name(e, REG_F, e->frags[v->id].f[i]));
    }
    e->exact = false;
    ah_next(e, op);
}

/* ---- reductions ------------------------------------------------------------------------ */

const char *el_combine(OpId op)
{
    bool max = op == OP_ROW_MAX || op == OP_COL_MAX;
    return max ? "max.f32" : op == OP_ROW_MIN ? "min.f32" : "add.f32";
}

/* Combines n registers pairwise in a tree; returns the last one. */
int el_reduce_tree(Emitter *e, const char *instruction, int *regs, int n)
{
    while (n > 1) {
        int half = 0;
        for (int i = 0; i + 1 < n; i += 2) {
            int d = em_reg(e, REG_F);
            em(e, "%s %%f%d, %%f%d, %%f%d;", instruction, d, regs[i], regs[i + 1]);
            regs[half++] = d;
        }
        if (n % 2) regs[half++] = regs[n - 1];
        n = half;
    }
    return regs[0];
}

/* Every lane gets the combination over the lanes that differ from it in the
 * bits of `mask` (PTX ISA, shfl.sync.bfly). */
static int reduce_lanes(Emitter *e, const char *instruction, int reg, int first, int last)
{
    for (int mask = first; mask <= last; mask *= 2) {
        int other = em_reg(e, REG_F), d = em_reg(e, REG_F);
        em(e, "shfl.sync.bfly.b32 %%f%d, %%f%d, %d, 31, -1;", other, reg, mask);
        em(e, "%s %%f%d, %%f%d, %%f%d;", instruction, d, reg, other);
        reg = d;
    }
    return reg;
}

static uint32_t ones_of(DType dtype)
{
    if (f8_is(dtype)) return dtype == DT_E4M3 ? 0x38383838 : 0x3c3c3c3c;
    return dtype == DT_BF16 ? 0x3f803f80 : 0x3c003c00;
}

/* Row sums of an operand fragment by the tensor cores: its product with a column
 * of ones. (Of 16 bits that lie as an operand of 8 will, rows come in another order.)
 * Every lane of a quad gets the whole sum, so there is nothing to
 * shuffle (PTX ISA, mma.m16n8k16: accumulators 0 and 2 of a lane are its rows). */
static void sum_operand_rows(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *v = op->results[0];
    DType dtype = a->type.dtype;
    const int *packed = fr_packed(e, a, dtype);
    int atoms = a->type.rows / a->type.layout.warps_m / 16, steps = a->type.cols / mm_step_k(dtype);
    int one = em_reg(e, REG_R), ones[2] = {one, one};
    em_at(e, 0, "mov.b32 %%r%d, 0x%08x;", one, ones_of(dtype));
    fr_new_f32(e, v);
    const int *sum = e->frags[v->id].f;
    for (int m = 0; m < atoms; m++) {
        int low = em_reg(e, REG_F), high = em_reg(e, REG_F);
        int c[4] = {sum[2 * m], low, sum[2 * m + 1], high};
        for (int i = 0; i < 4; i++) em(e, "mov.f32 %%f%d, 0f00000000;", c[i]);
        for (int step = 0; step < steps; step++)
            mm_step(e, dtype, dtype, c, c, &packed[(m * steps + step) * 4], ones);
    }
}

/* Those of a lane's values that lie in one of its rows, or columns; returns their number. */
static int values_of_slot(const TileValue *v, int slot, bool rows, const int *f, int n, int *found)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        int at = rows ? lay_fragment_row_slot(v->type.layout, v->type.rows, v->type.cols, i)
                      : lay_fragment_col_slot(v->type.layout, v->type.rows, v->type.cols, i);
        if (at == slot) found[count++] = f[i];
    }
    return count;
}

/* Rows of an accumulator fragment lie in one warp, over the lanes that differ in
 * the upper three bits (PTX ISA, mma.m16n8k16: row = lane / 4, and + 8). */
static void reduce_columns(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *v = op->results[0];
    const char *instruction = el_combine(op->op);
    const int *f = fr_f32(e, a);
    int n = e->frags[a->id].n;
    fr_new_f32(e, v);
    const Frag *frag = &e->frags[v->id];
    for (int slot = 0; slot < frag->n; slot++) {
        int *regs = arena_array(e->arena, int, n), count = values_of_slot(a, slot, false, f, n, regs);
        int reg = el_reduce_tree(e, instruction, regs, count);
        if (a->type.rows > 1) frag->f[slot] = reduce_lanes(e, instruction, reg, 4, 16);
        else em(e, "mov.f32 %%f%d, %%f%d;", frag->f[slot], reg);
    }
}

/* PTX ISA, fma: of bf16x2 from sm_80 on, add of them from sm_90 on. */
static void add_pairs(Emitter *e, DType dtype, int one, int d, int a, int b)
{
    if (dtype == DT_F16) em(e, "add.rn.f16x2 %%r%d, %%r%d, %%r%d;", d, a, b);
    else em(e, "fma.rn.bf16x2 %%r%d, %%r%d, %%r%d, %%r%d;", d, a, one, b);
}

/* A row of pairs becomes a half or a quarter of it, words being added to words. */
static void fold_rows(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *v = op->results[0];
    DType dtype = v->type.dtype;
    const int *words = fr_packed(e, a, dtype);
    Frag *frag = fr_new(e, v);
    int *folded = arena_array(e->arena, int, frag->n / 2), *left = arena_array(e->arena, int, fr_words(a));
    if (op->op != OP_ROW_SUM || a->type.dtype != dtype || a->type.layout.kind != LAY_MMA_A || dtype_bytes(dtype) != 2) {
        em_fail(e, op->loc, TW0803, "only operand fragments of 16 bits are summed as they are");
        return;
    }
    int one = em_reg(e, REG_R);
    if (dtype == DT_BF16) em(e, "mov.b32 %%r%d, 0x%08x;", one, ones_of(dtype));
    for (int w = 0; w < frag->n / 2; w++) {
        int n = 0, row, col, r, c;
        fr_place(v, 2 * w, &row, &col);
        for (int i = 0; i < fr_words(a); i++) {
            fr_place(a, 2 * i, &r, &c);
            if (r == row && c % v->type.cols == col) left[n++] = words[i];
        }
        for (; n > 1; n /= 2)
            for (int i = 0; i < n / 2; i++) {
                int d = em_reg(e, REG_R);
                add_pairs(e, dtype, one, d, left[i], left[i + n / 2]);
                left[i] = d;
            }
        folded[w] = left[0];
    }
    frag->packed = folded;
}

/* What a sum adds up. Where they are rounded sums of words already, the upper number of a word of bf16 is the word
 * itself: the lower one, which is not below 0, lies behind its last place and adds at most half of that, a quarter
 * where it is less than 2. */
static const int *addends(Emitter *e, const TileValue *v, OpId op)
{
    const Frag *frag = &e->frags[v->id];
    bool folded = v->def && v->def->kind == TILE_REDUCE && v->type.dtype == DT_BF16 && frag->packed && !frag->f;
    if (op != OP_ROW_SUM || !folded || !rv_is_positive(v)) return fr_f32(e, v);
    int *f = fr_fresh(e, REG_F, frag->n);
    for (int i = 0; i < frag->n / 2; i++) {
        const char *low = em_new(e, REG_R);
        em(e, "shl.b32 %s, %%r%d, 16;", low, frag->packed[i]);
        em(e, "mov.b32 %%f%d, %s;", f[2 * i], low);
        em(e, "mov.b32 %%f%d, %%r%d;", f[2 * i + 1], frag->packed[i]);
    }
    return f;
}

/* A row becomes as many numbers as an atom is wide, each of its lane's own: nothing is shuffled. */
static void reduce_partly(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *v = op->results[0];
    const int *f = addends(e, a, op->op);
    int n = e->frags[a->id].n;
    fr_new_f32(e, v);
    const Frag *frag = &e->frags[v->id];
    bool atoms = a->type.layout.kind == LAY_MMA_C || a->type.layout.kind == LAY_MMA_A;
    if (!atoms || a->type.layout.quads || v->type.cols != 8) {
        em_fail(e, op->loc, TW0803, "rows are reduced to 1 column, or of fragments to 8");
        return;
    }
    for (int slot = 0; slot < frag->n; slot++) {
        int *regs = arena_array(e->arena, int, n), count = 0, row, col, r, c;
        fr_place(v, slot, &row, &col);
        for (int i = 0; i < n; i++) {
            fr_place(a, i, &r, &c);
            if (r == row && c % 8 == col) regs[count++] = f[i];
        }
        frag->f[slot] = regs[0];
        for (int i = 1; i < count; i++) {
            int d = em_reg(e, REG_F);
            em(e, "%s %%f%d, %%f%d, %%f%d;", el_combine(op->op), d, frag->f[slot], regs[i]);
            frag->f[slot] = d;
        }
    }
}

/* Each row in its lane, over the lanes that share it, and over their warps. */
static void reduce_rows(Emitter *e, const TileOp *op)
{
    const TileValue *a = op->args[0], *v = op->results[0];
    const char *instruction = el_combine(op->op);
    const int *f = fr_f32(e, a);
    int n = e->frags[a->id].n;
    fr_new_f32(e, v);
    const Frag *frag = &e->frags[v->id];
    int *rows = arena_array(e->arena, int, frag->n);
    for (int slot = 0; slot < frag->n; slot++) {
        int *regs = arena_array(e->arena, int, n), count = values_of_slot(a, slot, true, f, n, regs);
        rows[slot] = el_reduce_tree(e, instruction, regs, count);
        if (a->type.cols > 1) rows[slot] = reduce_lanes(e, instruction, rows[slot], 1, me_lanes_of_row(&a->type.layout) / 2);
    }
    if (op->n_args > 1) me_reduce(e, op, rows, frag->n);
    for (int slot = 0; slot < frag->n; slot++) {
        if (op->op == OP_ROW_MEAN)
            em(e, "mul.f32 %%f%d, %%f%d, %s;", frag->f[slot], rows[slot], em_f32(e, 1.0 / a->type.cols));
        else if (a->type.cols > 1)
            frag->f[slot] = rows[slot];
        else
            em(e, "mov.f32 %%f%d, %%f%d;", frag->f[slot], rows[slot]);
    }
}

void el_reduce(Emitter *e, const TileOp *op)
{
    const TileType *a = &op->args[0]->type, *v = &op->results[0]->type;
    bool partly = op->axis == 1 && v->cols > 1;
    bool operand = a->layout.kind == LAY_MMA_A && a->layout.k <= mm_step_k(a->dtype) && dtype_is_narrow(a->dtype);
    if (partly && dtype_is_narrow(v->dtype)) fold_rows(e, op);
    else if (partly) reduce_partly(e, op);
    else if (op->op == OP_ROW_SUM && operand) sum_operand_rows(e, op);
    else if (op->axis == 0) reduce_columns(e, op);
    else reduce_rows(e, op);
}

/* ---- conversion --------------------------------------------------------------------------- */

/* Odd counts, of a scalar or of a column, cannot be packed: rounded and kept as fp32. */
static void cast_singly(Emitter *e, const TileOp *op)
{
    const TileValue *v = op->results[0];
    const int *from = fr_f32(e, op->args[0]);
    fr_new_f32(e, v);
    const Frag *frag = &e->frags[v->id];
    for (int i = 0; i < frag->n; i++) {
        const char *pair = em_new(e, REG_R);
        fr_pack(e, v->type.dtype, pair, em_name(e, REG_F, from[i]), "0f00000000");
        if (v->type.dtype == DT_BF16) { /* the upper half of an fp32 is a bf16 */
            em(e, "mov.b32 %%f%d, %s;", frag->f[i], pair);
            continue;
        }
        const char *zero = em_new(e, REG_H), *h = em_new(e, REG_H);
        em(e, "mov.b32 {%s, %s}, %s;", zero, h, pair);
        em(e, "cvt.f32.f16 %%f%d, %s;", frag->f[i], h);
    }
}

/* Integers are computed with as fp32. */
static void cast_to_integers(Emitter *e, const TileValue *from, const TileValue *to)
{
    const int *f = fr_f32(e, from);
    fr_new_f32(e, to);
    const Frag *frag = &e->frags[to->id];
    DType t = to->type.dtype;
    for (int i = 0; i < frag->n; i++) {
        const char *word = in_from_f32(e, t, em_name(e, REG_F, f[i]));
        in_to_f32(e, t, word, frag->f[i]);
    }
}

void el_cast(Emitter *e, const TileOp *op)
{
    const TileValue *from = op->args[0], *to = op->results[0];
    int n = lay_fragment_values(to->type.layout, to->type.rows, to->type.cols);
    if (to->type.dtype == from->type.dtype) {
        fr_alias(e, to, from);
    } else if (f8_is(to->type.dtype) && to->type.layout.kind != LAY_MMA_A) {
        int *rounded = f8_round(e, from, to->type.dtype);
        fr_new(e, to)->f = rounded;
    } else if (in_is(to->type.dtype)) {
        cast_to_integers(e, from, to);
    } else if (!dtype_is_narrow(to->type.dtype)) { /* widening is exact */
        const int *f = fr_f32(e, from);
        Frag *frag = fr_new(e, to);
        frag->f = (int *)f;
        frag->shared = e->frags[from->id].shared = true;
    } else if (n % 2) {
        cast_singly(e, op);
    } else {
        const int *packed = fr_packed(e, from, to->type.dtype);
        Frag *frag = fr_new(e, to);
        frag->packed = (int *)packed;
    }
}
