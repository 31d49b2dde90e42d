/* simplify.c: canonical forms of div, mod, powers, min, max, comparisons and logic.
 *
 * Comparisons are stored as `sum <= 0` and `sum == 0`, divided by the common
 * divisor of their coefficients; `not` is pushed inwards as far as it goes.
 *
 *   (64 * j + c) div 128, 0 <= c < 64   ->   j div 2
 *   (x + 128) div 128                   ->   x div 128 + 1
 *   (64 * j + c) mod 128                ->   64 * (j mod 2) + c
 *   min(x, x + n), n >= 0               ->   x
 *   a <= b and a < b                    ->   a - b + 1 <= 0
 */
#include "affine/sum.h"

/* ---- div and mod by a constant ---------------------------------------------------- */

/* s seen as g * whole + part, 0 <= part's constant < g, where `part` takes the
 * terms whose coefficients g does not divide. */
static void split_by(const AffSum *s, int64_t g, AffSum *whole, AffSum *part)
{
    sum_clear(whole);
    sum_clear(part);
    for (int i = 0; i < s->n; i++) {
        int64_t c = s->terms[i].coef;
        if (c % g == 0)
            sum_add_term(whole, s->terms[i].product, c / g);
        else
            sum_add_term(part, s->terms[i].product, c);
    }
    part->constant = floor_mod(s->constant, g);
    floor_div(s->constant, g, &whole->constant);
}

/* True when s lies within one block of g values; *block is its number. */
static bool one_block(const AffSum *s, int64_t g, int64_t *block)
{
    int64_t lo, hi, last;
    sum_bounds(s, &lo, &hi);
    return lo != INT64_MIN && hi != INT64_MAX && floor_div(lo, g, block) &&
           floor_div(hi, g, &last) && *block == last;
}

/* The largest g that divides k (1 < g <= below) and some coefficient of s; 0: none. */
static int64_t next_divisor(const AffSum *s, int64_t k, int64_t below)
{
    uint64_t best = 0;
    for (int i = 0; i < s->n; i++) {
        uint64_t g = gcd_u64((uint64_t)k, magnitude(s->terms[i].coef));
        if (g > 1 && g <= (uint64_t)below && g > best)
            best = g;
    }
    return (int64_t)best;
}

/* A divisor g of k for which s = g * whole + part with part in one block of g,
 * whose number has been added to whole. 0: there is none. */
static int64_t find_split(const AffSum *s, int64_t k, AffSum *whole, AffSum *part, int64_t *block)
{
    for (int64_t g = next_divisor(s, k, k); g > 1; g = next_divisor(s, k, g - 1)) {
        split_by(s, g, whole, part);
        if (one_block(part, g, block)) {
            sum_add_constant(whole, *block);
            return g;
        }
    }
    return 0;
}

static const Aff *div_const(AffCtx *ctx, AffSum *s, int64_t k);
static const Aff *mod_const(AffCtx *ctx, AffSum *s, int64_t k);

/* part div k, where no term of part is a multiple of k. */
static const Aff *div_rest(AffCtx *ctx, AffSum *part, int64_t k)
{
    const Aff *x = part->n == 1 && part->terms[0].coef == 1 ? part->terms[0].product : NULL;
    int64_t inner = 0, both, scaled;
    bool by_const = x && (x->kind == AFF_DIV || x->kind == AFF_MOD) && aff_is_const(x->b, &inner);
    AffSum s;
    if (by_const && x->kind == AFF_DIV && !__builtin_mul_overflow(inner, k, &both) &&
        !__builtin_mul_overflow(part->constant, inner, &scaled)) {
        /* (y div a + c) div b  ->  (y + c * a) div (a * b) */
        sum_of(&s, x->a);
        sum_add_constant(&s, scaled);
        return div_const(ctx, &s, both);
    }
    if (by_const && x->kind == AFF_MOD && part->constant == 0 && inner % k == 0) {
        /* (y mod a) div b  ->  (y div b) mod (a div b), b divides a */
        sum_of(&s, x->a);
        sum_of(&s, div_const(ctx, &s, k));
        return mod_const(ctx, &s, inner / k);
    }
    return aff_node(ctx, AFF_DIV, sum_build(ctx, part), aff_const(ctx, k));
}

/* s div k, k >= 1. */
static const Aff *div_const(AffCtx *ctx, AffSum *s, int64_t k)
{
    AffSum whole, part;
    int64_t block;
    if (s->bad || k == 1)
        return sum_build(ctx, s);
    if (one_block(s, k, &block))
        return aff_const(ctx, block);
    int64_t g = find_split(s, k, &whole, &part, &block);
    if (g)
        return div_const(ctx, &whole, k / g);
    split_by(s, k, &whole, &part);
    sum_add(&whole, div_rest(ctx, &part, k), 1);
    return sum_build(ctx, &whole);
}

/* Numbers that take this much more room are left as they are: those of a hash, whose steps are
 * kept small one by one. */
static const int64_t MOST_GROWTH = 4096;

/* c * (x mod a)  ->  c * x in s, where only s mod k matters and k divides c * a. */
static bool drop_inner_mod(AffSum *s, int64_t k)
{
    for (int i = 0; i < s->n; i++) {
        AffTerm t = s->terms[i];
        int64_t a, ca;
        if (t.product->kind != AFF_MOD || !aff_is_const(t.product->b, &a) ||
            __builtin_mul_overflow(t.coef, a, &ca) || ca % k != 0 || magnitude(t.coef) >= (uint64_t)MOST_GROWTH)
            continue;
        sum_add_term(s, t.product, -t.coef);
        sum_add(s, t.product->a, t.coef);
        return true;
    }
    return false;
}

/* s mod k, k >= 1. */
static const Aff *mod_const(AffCtx *ctx, AffSum *s, int64_t k)
{
    AffSum whole, part;
    int64_t block, skipped;
    while (!s->bad && drop_inner_mod(s, k))
        ;
    if (s->bad)
        return aff_poison(ctx);
    split_by(s, k, &whole, &part);
    if (one_block(&part, k, &block)) {
        part.bad |= __builtin_mul_overflow(block, -k, &skipped);
        sum_add_constant(&part, skipped);
        return sum_build(ctx, &part);
    }
    AffSum rest = part;
    int64_t g = find_split(&rest, k, &whole, &part, &block);
    if (!g)
        return aff_node(ctx, AFF_MOD, sum_build(ctx, &rest), aff_const(ctx, k));
    part.bad |= __builtin_mul_overflow(block, -g, &skipped);
    sum_add_constant(&part, skipped);
    sum_add(&part, mod_const(ctx, &whole, k / g), g);
    return sum_build(ctx, &part);
}

/* ---- div and mod by an expression ------------------------------------------------------ */

/* product without one occurrence of each factor of `by`; false: by does not
 * divide it. *rest is NULL when nothing remains. */
static bool divide_product(AffCtx *ctx, const Aff *product, const Aff *by, const Aff **rest)
{
    const Aff *f[AFF_MAX_DEGREE], *d[AFF_MAX_DEGREE];
    int nf = aff_factors(product, f), nd = aff_factors(by, d), j = 0;
    *rest = NULL;
    for (int i = 0; i < nf; i++) {
        if (j < nd && f[i] == d[j])
            j++;
        else
            *rest = *rest ? aff_node(ctx, AFF_MUL, *rest, f[i]) : f[i];
    }
    return j == nd;
}

/* s = b * whole + part, by the terms that have b, a product, as a factor. */
static void split_by_product(AffCtx *ctx, const AffSum *s, const Aff *b, AffSum *whole,
                             AffSum *part)
{
    sum_clear(whole);
    sum_clear(part);
    part->constant = s->constant;
    whole->bad = s->bad;
    for (int i = 0; i < s->n; i++) {
        const Aff *rest;
        if (!divide_product(ctx, s->terms[i].product, b, &rest))
            sum_add_term(part, s->terms[i].product, s->terms[i].coef);
        else if (rest)
            sum_add_term(whole, rest, s->terms[i].coef);
        else
            sum_add_constant(whole, s->terms[i].coef);
    }
}

/* b as a product of atoms: a sum or a multiple is not. */
static bool is_product(const Aff *b)
{
    return b->kind != AFF_CONST && b->kind != AFF_ADD &&
           !(b->kind == AFF_MUL && b->b->kind == AFF_CONST);
}

/* 0 <= part < b for all values of the symbols. */
static bool within(AffCtx *ctx, AffSum *part, const Aff *b)
{
    int64_t lo, hi;
    sum_bounds(part, &lo, &hi);
    return lo >= 0 && aff_proved_le(aff_offset(ctx, sum_build(ctx, part), 1), b);
}

static const Aff *quotient(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffSum s, whole, part;
    int64_t k;
    if (aff_is_poison(a) || aff_is_poison(b))
        return aff_poison(ctx);
    sum_of(&s, a);
    if (aff_is_const(b, &k)) {
        if (k == 0 || k == INT64_MIN)
            return aff_poison(ctx);
        if (k < 0)
            sum_of(&s, aff_scale(ctx, a, -1));
        return div_const(ctx, &s, k < 0 ? -k : k);
    }
    if (a == b)
        return aff_const(ctx, 1);
    if (is_product(b)) {
        split_by_product(ctx, &s, b, &whole, &part);
        if (within(ctx, &part, b))
            return sum_build(ctx, &whole);
    }
    return aff_node(ctx, AFF_DIV, a, b);
}

const Aff *aff_div(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_once(ctx, ASKED_DIV, a, b, quotient);
}

const Aff *aff_ceildiv(AffCtx *ctx, const Aff *a, const Aff *b)
{
    int64_t k;
    if (aff_is_const(b, &k) && k < 0) { /* ceil(a / b) = -floor(-a / b) = -((a) div -b) */
        if (k == INT64_MIN)
            return aff_poison(ctx);
        return aff_scale(ctx, aff_div(ctx, a, aff_const(ctx, -k)), -1);
    }
    return aff_div(ctx, aff_offset(ctx, aff_add(ctx, a, b), -1), b);
}

static const Aff *rest_of(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffSum s, whole, part;
    int64_t k;
    if (aff_is_poison(a) || aff_is_poison(b))
        return aff_poison(ctx);
    sum_of(&s, a);
    if (aff_is_const(b, &k)) {
        if (k == 0 || k == INT64_MIN)
            return aff_poison(ctx);
        if (k > 0)
            return mod_const(ctx, &s, k);
        sum_of(&s, aff_scale(ctx, a, -1));
        return aff_scale(ctx, mod_const(ctx, &s, -k), -1);
    }
    if (a == b)
        return aff_const(ctx, 0);
    if (is_product(b)) {
        split_by_product(ctx, &s, b, &whole, &part);
        if (within(ctx, &part, b))
            return sum_build(ctx, &part);
    }
    return aff_node(ctx, AFF_MOD, a, b);
}

const Aff *aff_mod(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_once(ctx, ASKED_MOD, a, b, rest_of);
}

const Aff *aff_exp2(AffCtx *ctx, const Aff *a)
{
    int64_t lo, hi, power;
    aff_bounds(a, &lo, &hi);
    if (aff_is_poison(a) || lo < 0 || hi > AFF_MOST_EXPONENT)
        return aff_poison(ctx);
    return a->kind == AFF_CONST && aff_power_of_two(a->value, &power) ? aff_const(ctx, power) : aff_node(ctx, AFF_EXP2, a, NULL);
}

/* ---- lists: min, max, and, or ---------------------------------------------------------- */

/* Adds the operands of a, flattened, in the order of their ids, each once. */
static void list_add(AffList *list, AffKind kind, const Aff *a)
{
    for (; a->kind == kind; a = a->a)
        list_add(list, kind, a->b);
    int at = 0;
    while (at < list->n && list->items[at]->id < a->id)
        at++;
    if (at < list->n && list->items[at] == a)
        return;
    if (list->n == AFF_MAX_LIST || aff_is_poison(a)) {
        list->bad = true;
        return;
    }
    memmove(&list->items[at + 1], &list->items[at], sizeof list->items[0] * (size_t)(list->n - at));
    list->items[at] = a;
    list->n++;
}

static void list_remove(AffList *list, int at)
{
    list->n--;
    memmove(&list->items[at], &list->items[at + 1], sizeof list->items[0] * (size_t)(list->n - at));
}

/* Drops each operand x for which another y has redundant(x, y). */
static void list_reduce(AffList *list, bool (*redundant)(const Aff *x, const Aff *y))
{
    for (int i = list->n - 1; i >= 0; i--)
        for (int j = 0; j < list->n; j++)
            if (j != i && redundant(list->items[i], list->items[j])) {
                list_remove(list, i);
                break;
            }
}

static const Aff *list_build(AffCtx *ctx, AffKind kind, const AffList *list)
{
    if (list->bad)
        return aff_poison(ctx);
    const Aff *result = list->items[0];
    for (int i = 1; i < list->n; i++)
        result = aff_node(ctx, kind, result, list->items[i]);
    return result;
}

/* ---- min and max --------------------------------------------------------------------------- */

static bool not_less(const Aff *x, const Aff *y)
{
    return aff_proved_le(y, x);
}

static bool not_greater(const Aff *x, const Aff *y)
{
    return aff_proved_le(x, y);
}

const Aff *aff_min(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffList list = {.n = 0};
    list_add(&list, AFF_MIN, a);
    list_add(&list, AFF_MIN, b);
    if (!list.bad)
        list_reduce(&list, not_less);
    return list_build(ctx, AFF_MIN, &list);
}

const Aff *aff_max(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffList list = {.n = 0};
    list_add(&list, AFF_MAX, a);
    list_add(&list, AFF_MAX, b);
    if (!list.bad)
        list_reduce(&list, not_greater);
    return list_build(ctx, AFF_MAX, &list);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static int64_t sum_content(const AffSum *s)
{
    uint64_t g = 0;
    for (int i = 0; i < s->n; i++)
        g = gcd_u64(g, magnitude(s->terms[i].coef));
    return g > INT64_MAX ? 1 : (int64_t)g;
}

/* A lone truth value t: *value says whether s is t + c (1) or c - t (-1). */
static const Aff *lone_boolean(const AffSum *s, int64_t *sign)
{
    if (s->n != 1 || !aff_is_boolean(s->terms[0].product))
        return NULL;
    *sign = s->terms[0].coef;
    return *sign == 1 || *sign == -1 ? s->terms[0].product : NULL;
}

/* s <= 0 */
static const Aff *le_zero(AffCtx *ctx, AffSum *s)
{
    int64_t lo, hi, sign;
    if (s->bad)
        return aff_poison(ctx);
    sum_bounds(s, &lo, &hi);
    if (hi <= 0 || lo > 0)
        return aff_const(ctx, hi <= 0);
    int64_t g = sum_content(s);
    for (int i = 0; i < s->n; i++)
        s->terms[i].coef /= g;
    int64_t floor_part = s->constant;
    floor_div(floor_part, g, &s->constant);
    s->constant += floor_mod(floor_part, g) != 0; /* the ceiling */
    const Aff *t = lone_boolean(s, &sign);
    if (t) /* what the bounds left open: t <= 0, or 1 <= t */
        return sign == 1 ? aff_not(ctx, t) : t;
    return aff_node(ctx, AFF_LE, sum_build(ctx, s), aff_const(ctx, 0));
}

static const Aff *at_most(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffSum s;
    sum_difference(&s, a, b);
    return le_zero(ctx, &s);
}

const Aff *aff_le(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_once(ctx, ASKED_LE, a, b, at_most);
}

static const Aff *below(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffSum s;
    sum_difference(&s, a, b);
    sum_add_constant(&s, 1);
    return le_zero(ctx, &s);
}

const Aff *aff_lt(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_once(ctx, ASKED_LT, a, b, below);
}

/* s == 0 with a canonical sign: the first coefficient is positive. */
const Aff *aff_eq(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffSum s;
    int64_t lo, hi, sign;
    sum_difference(&s, a, b);
    if (s.n && s.terms[0].coef < 0)
        sum_difference(&s, b, a);
    if (s.bad)
        return aff_poison(ctx);
    sum_bounds(&s, &lo, &hi);
    if (lo > 0 || hi < 0 || (lo == 0 && hi == 0))
        return aff_const(ctx, lo == 0 && hi == 0);
    int64_t g = sum_content(&s);
    if (s.constant % g != 0)
        return aff_const(ctx, 0);
    for (int i = 0; i < s.n; i++)
        s.terms[i].coef /= g;
    s.constant /= g;
    const Aff *t = lone_boolean(&s, &sign);
    if (t)
        return s.constant == 0 ? aff_not(ctx, t) : t;
    return aff_node(ctx, AFF_EQ, sum_build(ctx, &s), aff_const(ctx, 0));
}

/* ---- logic
 * --------------------------------------------------------------------------------------- */

/* A value seen as true or false: anything but 0 is true. */
static const Aff *truth(AffCtx *ctx, const Aff *a)
{
    if (aff_is_poison(a) || aff_is_boolean(a))
        return a;
    return aff_not(ctx, aff_eq(ctx, a, aff_const(ctx, 0)));
}

static const Aff *not_each(AffCtx *ctx, const Aff *a, AffKind kind,
                           const Aff *(*join)(AffCtx *, const Aff *, const Aff *))
{
    const Aff *result = NULL;
    for (; a->kind == kind; a = a->a) {
        const Aff *x = aff_not(ctx, a->b);
        result = result ? join(ctx, result, x) : x;
    }
    return join(ctx, result, aff_not(ctx, a));
}

const Aff *aff_not(AffCtx *ctx, const Aff *a)
{
    AffSum s;
    if (a->kind == AFF_CONST)
        return aff_const(ctx, a->value == 0);
    if (a->kind == AFF_NOT)
        return a->a;
    if (a->kind == AFF_LE) { /* not s <= 0: 1 - s <= 0 */
        sum_clear(&s);
        sum_add(&s, a->a, -1);
        sum_add_constant(&s, 1);
        return le_zero(ctx, &s);
    }
    if (a->kind == AFF_AND)
        return not_each(ctx, a, AFF_AND, aff_or);
    if (a->kind == AFF_OR)
        return not_each(ctx, a, AFF_OR, aff_and);
    if (a->kind == AFF_EQ || aff_is_boolean(a))
        return aff_node(ctx, AFF_NOT, a, NULL);
    return aff_eq(ctx, a, aff_const(ctx, 0));
}

static bool contains(const Aff *list, AffKind kind, const Aff *x)
{
    for (; list->kind == kind; list = list->a)
        if (list->b == x)
            return true;
    return list == x;
}

/* p true makes q true. */
static bool implies(const Aff *p, const Aff *q)
{
    AffSum s;
    int64_t lo, hi;
    if (contains(q, AFF_OR, p) || contains(p, AFF_AND, q))
        return true;
    if ((p->kind != AFF_LE && p->kind != AFF_EQ) || q->kind != AFF_LE || aff_apart(p, q))
        return false;
    sum_difference(&s, q->a, p->a); /* q's sum is at most p's, which is at most 0 */
    sum_bounds(&s, &lo, &hi);
    if (!s.bad && hi <= 0)
        return true;
    if (p->kind != AFF_EQ)
        return false;
    sum_of(&s, q->a);
    sum_add(&s, p->a, 1);
    sum_bounds(&s, &lo, &hi);
    return !s.bad && hi <= 0;
}

static bool implied_by(const Aff *x, const Aff *y)
{
    return implies(y, x);
}

/* p and q are never both true (`both`), or never both false (else). */
static bool opposed(const Aff *p, const Aff *q, bool both)
{
    AffSum s;
    int64_t lo, hi;
    if ((p->kind == AFF_NOT && p->a == q) || (q->kind == AFF_NOT && q->a == p))
        return true;
    if (p->kind != AFF_LE || q->kind != AFF_LE || aff_apart(p, q))
        return false;
    sum_of(&s, p->a);
    sum_add(&s, q->a, 1);
    sum_bounds(&s, &lo, &hi);
    return !s.bad && (both ? lo > 0 : hi < 2);
}

static bool any_opposed(const AffList *list, bool both)
{
    for (int i = 0; i < list->n; i++)
        for (int j = 0; j < i; j++)
            if (opposed(list->items[i], list->items[j], both))
                return true;
    return false;
}

/* and (unit 1) or or (unit 0) */
static const Aff *join_logic(AffCtx *ctx, AffKind kind, const Aff *a, const Aff *b)
{
    AffList list = {.n = 0};
    int64_t unit = kind == AFF_AND;
    const Aff *x = truth(ctx, a), *y = truth(ctx, b);
    if (aff_is_poison(x) || aff_is_poison(y))
        return aff_poison(ctx);
    if (x->kind == AFF_CONST)
        return x->value == unit ? y : x;
    if (y->kind == AFF_CONST)
        return y->value == unit ? x : y;
    list_add(&list, kind, x);
    list_add(&list, kind, y);
    if (list.bad)
        return aff_poison(ctx);
    if (any_opposed(&list, kind == AFF_AND))
        return aff_const(ctx, !unit);
    list_reduce(&list, kind == AFF_AND ? implied_by : implies);
    return list_build(ctx, kind, &list);
}

static const Aff *both(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return join_logic(ctx, AFF_AND, a, b);
}

const Aff *aff_and(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_once(ctx, ASKED_AND, a, b, both);
}

const Aff *aff_or(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return join_logic(ctx, AFF_OR, a, b);
}
