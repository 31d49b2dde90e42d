/* bounds.c: what values an expression can take.
 *
 * Interval arithmetic over the symbols' ranges, where INT64_MIN and INT64_MAX
 * stand for the infinities. A sum is looked at as a whole, so that parts of it
 * that move together cancel:
 *
 *   min(n, x) - n           at most 0: each choice of the minimum is tried
 *   64 * ceil(n / 64) - n   at least 0: the quotient lies within 1 of n / 64
 */
#include "affine/sum.h"

enum {
    TRY_DEPTH = 4,  /* nested choices tried in a sum */
    TRY_BUDGET = 64 /* and how many in all */
};

/* ---- intervals ---------------------------------------------------------------- */

typedef struct Interval {
    int64_t lo, hi;
} Interval;

static const Interval anything = {INT64_MIN, INT64_MAX};

static bool infinite(int64_t x)
{
    return x == INT64_MIN || x == INT64_MAX;
}

static int64_t sat_add(int64_t a, int64_t b)
{
    int64_t r;
    if (infinite(a) || infinite(b))
        return infinite(a) ? a : b;
    if (__builtin_add_overflow(a, b, &r))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return r;
}

static int64_t sat_mul(int64_t a, int64_t b)
{
    int64_t r;
    if (a == 0 || b == 0)
        return 0;
    if (infinite(a) || infinite(b) || __builtin_mul_overflow(a, b, &r))
        return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return r;
}

/* Infinity over anything is infinity; finite over infinity rounds to 0 or -1. */
static int64_t sat_div(int64_t a, int64_t b)
{
    int64_t q;
    if (infinite(a))
        return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return floor_div(a, b, &q) ? q : INT64_MAX;
}

static Interval hull(const int64_t v[4])
{
    Interval r = {v[0], v[0]};
    for (int i = 1; i < 4; i++) {
        r.lo = v[i] < r.lo ? v[i] : r.lo;
        r.hi = v[i] > r.hi ? v[i] : r.hi;
    }
    return r;
}

static Interval interval_add(Interval a, Interval b)
{
    return (Interval){sat_add(a.lo, b.lo), sat_add(a.hi, b.hi)};
}

static Interval interval_mul(Interval a, Interval b)
{
    return hull((int64_t[4]){sat_mul(a.lo, b.lo), sat_mul(a.lo, b.hi), sat_mul(a.hi, b.lo),
                             sat_mul(a.hi, b.hi)});
}

static Interval interval_div(Interval a, Interval b)
{
    if (b.lo == 0 && b.hi > 0) /* nothing is divided by 0 */
        b.lo = 1;
    if (b.lo > 0)
        return hull((int64_t[4]){sat_div(a.lo, b.lo), sat_div(a.lo, b.hi), sat_div(a.hi, b.lo),
                                 sat_div(a.hi, b.hi)});
    if (infinite(a.lo) || infinite(a.hi))
        return anything;
    int64_t m = magnitude(a.lo) > magnitude(a.hi) ? a.lo : a.hi;
    m = m < 0 ? -m : m;
    return (Interval){-m, m};
}

static Interval interval_mod(Interval a, Interval b)
{
    Interval r = {0, 0};
    if (b.hi > 0)
        r.hi = b.hi == INT64_MAX ? b.hi : b.hi - 1;
    if (b.lo < 0)
        r.lo = b.lo == INT64_MIN ? b.lo : b.lo + 1;
    if (b.lo > 0 && a.lo >= 0 && a.hi < r.hi)
        r.hi = a.hi;
    return r;
}

static Interval interval_exp2(Interval a)
{
    Interval r = {1, INT64_MAX};
    aff_power_of_two(a.lo, &r.lo);
    aff_power_of_two(a.hi, &r.hi);
    return r;
}

/* A factor times what is within an interval. */
static Interval interval_scale(Interval a, int64_t factor)
{
    int64_t x = sat_mul(a.lo, factor), y = sat_mul(a.hi, factor);
    return x < y ? (Interval){x, y} : (Interval){y, x};
}

static Interval sum_node_interval(const Aff *a);

/* Of a sum when somebody asks: most are but what others are made of, term by term. */
static Interval interval_of(const Aff *a)
{
    AffNode *node = (AffNode *)a;
    if (a->kind == AFF_SYM)
        return (Interval){a->sym->lo, a->sym->hi};
    if (!node->bounded) {
        Interval r = sum_node_interval(a);
        node->bounded = true;
        node->lo = r.lo;
        node->hi = r.hi;
    }
    return (Interval){node->lo, node->hi};
}

static Interval intersect(Interval a, Interval b)
{
    return (Interval){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* ---- sums ------------------------------------------------------------------------ */

static Interval sum_by_terms(const AffSum *s)
{
    Interval r = {s->constant, s->constant};
    for (int i = 0; i < s->n; i++) {
        int64_t c = s->terms[i].coef;
        r = interval_add(r, interval_scale(interval_of(s->terms[i].product), c));
    }
    return r;
}

static Interval sum_interval(const AffSum *s, int depth, int *budget);

/* s with its term at `at`, coef * atom, replaced by factor * by + extra. */
static Interval replaced(const AffSum *s, int at, const Aff *by, int64_t factor, int64_t extra,
                         int depth, int *budget)
{
    AffSum t = *s;
    sum_add_term(&t, s->terms[at].product, -s->terms[at].coef);
    sum_add(&t, by, factor);
    sum_add_constant(&t, extra);
    if (t.bad)
        return anything;
    return sum_interval(&t, depth - 1, budget);
}

/* c * min(a, b): is one of c * a, c * b, and beyond neither on one side. */
static Interval try_choices(const AffSum *s, int at, int depth, int *budget)
{
    AffTerm t = s->terms[at];
    AffKind kind = t.product->kind;
    bool least = (kind == AFF_MIN) == (t.coef > 0); /* the sum is the least of the choices' sums */
    Interval r = {least ? INT64_MAX : INT64_MIN, least ? INT64_MAX : INT64_MIN};
    const Aff *list = t.product;
    for (bool more = true; more;) {
        const Aff *item = list->kind == kind ? list->b : list;
        Interval x = replaced(s, at, item, t.coef, 0, depth, budget);
        r.lo = (x.lo < r.lo) == least ? x.lo : r.lo;
        r.hi = (x.hi < r.hi) == least ? x.hi : r.hi;
        more = list->kind == kind;
        list = more ? list->a : list;
    }
    return r;
}

/* c * (x div k), c = f * k: between f * (x - k + 1) and f * x. */
static Interval try_quotient(const AffSum *s, int at, int depth, int *budget)
{
    AffTerm t = s->terms[at];
    int64_t k = t.product->b->value, f = t.coef / k, slack;
    if (__builtin_mul_overflow(f, 1 - k, &slack))
        return anything;
    Interval x = replaced(s, at, t.product->a, f, 0, depth, budget);
    Interval y = replaced(s, at, t.product->a, f, slack, depth, budget);
    return f > 0 ? (Interval){y.lo, x.hi} : (Interval){x.lo, y.hi};
}

static Interval sum_interval(const AffSum *s, int depth, int *budget)
{
    Interval r = sum_by_terms(s);
    for (int i = 0; i < s->n && depth > 0 && s->n + (s->constant != 0) > 1; i++) {
        const Aff *p = s->terms[i].product;
        bool choice = p->kind == AFF_MIN || p->kind == AFF_MAX;
        bool quotient = p->kind == AFF_DIV && p->b->kind == AFF_CONST && p->b->value > 0 &&
                        s->terms[i].coef % p->b->value == 0;
        if ((!choice && !quotient) || --*budget < 0)
            continue;
        r = intersect(r, choice ? try_choices(s, i, depth, budget)
                                : try_quotient(s, i, depth, budget));
    }
    return r;
}

void sum_bounds(const AffSum *s, int64_t *lo, int64_t *hi)
{
    int budget = TRY_BUDGET;
    Interval r = s->bad ? anything : sum_interval(s, TRY_DEPTH, &budget);
    *lo = r.lo;
    *hi = r.hi;
}

/* ---- nodes ----------------------------------------------------------------------- */

static Interval product_interval(const Aff *a)
{
    Interval r = interval_mul(interval_of(a->a), interval_of(a->b));
    if (a->a == a->b && r.lo < 0) /* a square */
        r.lo = 0;
    return r;
}

static Interval least_interval(Interval x, Interval y)
{
    return (Interval){x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
}

static Interval most_interval(Interval x, Interval y)
{
    return (Interval){x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
}

static Interval sum_node_interval(const Aff *a)
{
    AffSum s;
    Interval r;
    sum_of(&s, a);
    sum_bounds(&s, &r.lo, &r.hi);
    return r;
}

/* Of any but a sum. */
static Interval node_interval(const Aff *a)
{
    switch (a->kind) {
    case AFF_CONST: return (Interval){a->value, a->value};
    case AFF_SYM: return (Interval){a->sym->lo, a->sym->hi};
    case AFF_MUL: return product_interval(a);
    case AFF_DIV: return interval_div(interval_of(a->a), interval_of(a->b));
    case AFF_MOD: return interval_mod(interval_of(a->a), interval_of(a->b));
    case AFF_EXP2: return interval_exp2(interval_of(a->a));
    case AFF_MIN: return least_interval(interval_of(a->a), interval_of(a->b));
    case AFF_MAX: return most_interval(interval_of(a->a), interval_of(a->b));
    case AFF_LE:
    case AFF_EQ:
    case AFF_AND:
    case AFF_OR:
    case AFF_NOT: return (Interval){0, 1};
    case AFF_AT: return interval_of(a->a);
    case AFF_ADD:
    case AFF_POISON: break;
    }
    return anything;
}

void aff_node_bounds(AffNode *node)
{
    Interval r = node_interval(&node->aff);
    node->bounded = node->aff.kind != AFF_ADD;
    node->lo = r.lo;
    node->hi = r.hi;
}

void aff_bounds(const Aff *a, int64_t *lo, int64_t *hi)
{
    Interval r = interval_of(a);
    *lo = r.lo;
    *hi = r.hi;
}

bool aff_never_negative(const Aff *a)
{
    int64_t lo, hi;

    aff_bounds(a, &lo, &hi);
    return lo >= 0;
}

/* ---- proofs ----------------------------------------------------------------------- */

static bool difference_le_zero(const Aff *a, const Aff *b)
{
    AffSum s;
    int64_t lo, hi;
    sum_difference(&s, a, b);
    sum_bounds(&s, &lo, &hi);
    return !s.bad && hi <= 0;
}

static bool some_item_le(const Aff *list, AffKind kind, const Aff *b)
{
    for (; list->kind == kind; list = list->a)
        if (difference_le_zero(list->b, b))
            return true;
    return difference_le_zero(list, b);
}

static bool le_some_item(const Aff *a, AffKind kind, const Aff *list)
{
    for (; list->kind == kind; list = list->a)
        if (difference_le_zero(a, list->b))
            return true;
    return difference_le_zero(a, list);
}

bool aff_proved_le(const Aff *a, const Aff *b)
{
    return some_item_le(a, AFF_MIN, b) || le_some_item(a, AFF_MAX, b);
}

/* The same comparisons are asked about for every element of a tile. */
bool aff_always(AffCtx *ctx, const Aff *condition)
{
    int64_t lo, hi;
    if (condition->kind == AFF_AND)
        return aff_always(ctx, condition->a) && aff_always(ctx, condition->b);
    if (condition->kind == AFF_LE) {
        const Aff *known = aff_recall(ctx, ASKED_ALWAYS, condition, condition, NULL);
        if (!known)
            known = aff_remember(ctx, ASKED_ALWAYS, condition, condition, NULL, difference_le_zero(condition->a, condition->b) ? condition : aff_poison(ctx));
        return known == condition;
    }
    aff_bounds(condition, &lo, &hi);
    return condition->kind != AFF_POISON && (lo > 0 || hi < 0);
}

bool aff_never(AffCtx *ctx, const Aff *condition)
{
    return condition->kind != AFF_POISON && aff_always(ctx, aff_not(ctx, condition));
}

/* ---- divisors ------------------------------------------------------------------------ */

static uint64_t product_divisor(uint64_t x, uint64_t y)
{
    uint64_t r;
    return __builtin_mul_overflow(x, y, &r) ? (x > y ? x : y) : r;
}

static uint64_t divisor(const Aff *a)
{
    switch (a->kind) {
    case AFF_CONST: return magnitude(a->value);
    case AFF_ADD:
    case AFF_MIN:
    case AFF_MAX:
    case AFF_MOD: return gcd_u64(divisor(a->a), divisor(a->b));
    case AFF_MUL: return product_divisor(divisor(a->a), divisor(a->b));
    case AFF_EXP2: return (uint64_t)interval_exp2(interval_of(a->a)).lo;
    case AFF_SYM:
    case AFF_DIV:
    case AFF_LE:
    case AFF_EQ:
    case AFF_AND:
    case AFF_OR:
    case AFF_NOT:
    case AFF_AT:
    case AFF_POISON: break;
    }
    return 1;
}

int64_t aff_divisor(const Aff *a)
{
    uint64_t d = divisor(a);
    return d > INT64_MAX ? INT64_C(1) << 62 : (int64_t)d; /* only 2^63 is greater */
}

/* ---- extremes over a range -------------------------------------------------------------- */

/* How an expression moves with a symbol. */
typedef enum Trend { CONSTANT, RISES, FALLS, UNKNOWN } Trend;

static Trend opposite(Trend t)
{
    return t == RISES ? FALLS : t == FALLS ? RISES : t;
}

static Trend together(Trend a, Trend b)
{
    if (a == CONSTANT || a == b)
        return b;
    return b == CONSTANT ? a : UNKNOWN;
}

static Trend trend(const Aff *a, const AffSym *sym);

/* x * y rises with one factor while the other is not negative. */
static Trend product_trend(const Aff *a, const AffSym *sym)
{
    Trend x = trend(a->a, sym), y = trend(a->b, sym);
    Interval bx = interval_of(a->a), by = interval_of(a->b);
    if (x != CONSTANT && by.lo < 0) {
        x = by.hi <= 0 ? opposite(x) : UNKNOWN;
    }
    if (y != CONSTANT && bx.lo < 0) {
        y = bx.hi <= 0 ? opposite(y) : UNKNOWN;
    }
    return together(x, y);
}

static Trend trend(const Aff *a, const AffSym *sym)
{
    switch (a->kind) {
    case AFF_SYM: return a->sym == sym ? RISES : CONSTANT;
    case AFF_MUL: return product_trend(a, sym);
    case AFF_ADD:
    case AFF_MIN:
    case AFF_MAX:
    case AFF_AND:
    case AFF_OR: return together(trend(a->a, sym), trend(a->b, sym));
    case AFF_DIV:
        if (!aff_uses(a->b, sym) && interval_of(a->b).lo > 0)
            return trend(a->a, sym);
        break;
    case AFF_LE: return opposite(trend(a->a, sym));
    case AFF_EXP2: return trend(a->a, sym);
    case AFF_NOT: return opposite(trend(a->a, sym));
    case AFF_CONST:
    case AFF_MOD:
    case AFF_EQ:
    case AFF_AT:
    case AFF_POISON: break;
    }
    return aff_uses(a, sym) ? UNKNOWN : CONSTANT;
}

static const Aff *extreme(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *at_rising,
                          const Aff *at_falling)
{
    switch (trend(a, sym)) {
    case CONSTANT: return a;
    case RISES: return aff_subst(ctx, a, sym, at_rising);
    case FALLS: return aff_subst(ctx, a, sym, at_falling);
    case UNKNOWN: break;
    }
    return NULL;
}

const Aff *aff_lower_over(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *lo,
                          const Aff *hi)
{
    return extreme(ctx, a, sym, lo, hi);
}

const Aff *aff_upper_over(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *lo,
                          const Aff *hi)
{
    return extreme(ctx, a, sym, hi, lo);
}
