/* prove.c: proofs by cases, and sums over a counter.
 *
 * An expression of min, max and conditions is linear in each case of them:
 *
 *   max(0, n) - max(0, min(k, n)) - max(0, n - k),  k >= 0
 *     k <= n:  n - k - (n - k)         0
 *     n < k:   max(0, n) - max(0, n)   0, and so on
 *
 * Each case adds what it assumes to what is given, and is over when that
 * contradicts itself or says that the rest is neither above nor below 0.
 */
#include "affine/sum.h"

enum { GIVEN_LIMIT = 40, CASE_LIMIT = 400 };

/* ---- splitting into cases ---------------------------------------------------------- */

typedef struct Proof {
    AffCtx *ctx;
    const Aff *given[GIVEN_LIMIT]; /* all at least 0 */
    int n;
    int *cases;                    /* that may still be looked at */
} Proof;

static bool splits(const Aff *a)
{
    return a->kind == AFF_MIN || a->kind == AFF_MAX || a->kind == AFF_LE || a->kind == AFF_EQ;
}

/* A node that splits, none of whose operands does; NULL: there is none. */
static const Aff *find_split_node(const Aff *a)
{
    const Aff *inner = a->a ? find_split_node(a->a) : NULL;
    if (!inner && a->b)
        inner = find_split_node(a->b);
    return inner ? inner : splits(a) ? a : NULL;
}

static const Aff *replace(AffCtx *ctx, const Aff *a, const Aff *node, const Aff *by)
{
    if (a == node)
        return by;
    if (!a->a)
        return a;
    const Aff *x = replace(ctx, a->a, node, by);
    const Aff *y = a->b ? replace(ctx, a->b, node, by) : NULL;
    return x == a->a && y == a->b ? a : aff_rebuild(ctx, a->kind, x, y);
}

static void give(Proof *p, const Aff *a)
{
    if (p->n < GIVEN_LIMIT && !aff_is_poison(a))
        p->given[p->n++] = a;
}

static bool below(const Aff *a, int64_t limit)
{
    int64_t lo, hi;
    aff_bounds(a, &lo, &hi);
    return hi < limit;
}

/* No values satisfy what is given. */
static bool is_contradiction(const Proof *p)
{
    for (int i = 0; i < p->n; i++) {
        if (below(p->given[i], 0))
            return true;
        for (int k = 0; k < i; k++)
            if (below(aff_add(p->ctx, p->given[i], p->given[k]), 0))
                return true;
    }
    return false;
}

/* a <= 0: adding something that is at least 0 never takes it above. */
static bool is_not_positive(const Proof *p, const Aff *a)
{
    if (below(a, 1))
        return true;
    for (int i = 0; i < p->n; i++) {
        const Aff *sum = aff_add(p->ctx, a, p->given[i]);
        if (below(sum, 1))
            return true;
        for (int k = 0; k < i; k++)
            if (below(aff_add(p->ctx, sum, p->given[k]), 1))
                return true;
    }
    return false;
}

static bool prove_zero(const Proof *p, const Aff *a);

/* The case in which the node is `value`, since `assumed` and `and` are at least 0. */
static bool prove_case(const Proof *p, const Aff *a, const Aff *node, const Aff *value, const Aff *assumed,
                       const Aff *and)
{
    Proof inner = {.ctx = p->ctx, .cases = p->cases};
    for (int i = 0; i < p->n; i++)
        give(&inner, replace(p->ctx, p->given[i], node, value));
    give(&inner, assumed);
    if (and)
        give(&inner, and);
    return is_contradiction(&inner) || prove_zero(&inner, replace(p->ctx, a, node, value));
}

static bool prove_cases(const Proof *p, const Aff *a, const Aff *node)
{
    AffCtx *ctx = p->ctx;
    const Aff *less = aff_sub(ctx, node->b, node->a), *more = aff_sub(ctx, node->a, node->b);
    const Aff *above = aff_offset(ctx, more, -1), *under = aff_offset(ctx, less, -1);
    const Aff *yes = aff_const(ctx, 1), *no = aff_const(ctx, 0);
    if (node->kind == AFF_MIN)
        return prove_case(p, a, node, node->a, less, NULL) && prove_case(p, a, node, node->b, above, NULL);
    if (node->kind == AFF_MAX)
        return prove_case(p, a, node, node->b, less, NULL) && prove_case(p, a, node, node->a, above, NULL);
    if (node->kind == AFF_LE)
        return prove_case(p, a, node, yes, less, NULL) && prove_case(p, a, node, no, above, NULL);
    return prove_case(p, a, node, yes, less, more) && prove_case(p, a, node, no, above, NULL) &&
           prove_case(p, a, node, no, under, NULL);
}

static bool prove_zero(const Proof *p, const Aff *a)
{
    int64_t value;
    if (aff_is_poison(a) || --*p->cases < 0)
        return false;
    if (aff_is_const(a, &value) && value == 0)
        return true;
    const Aff *node = find_split_node(a);
    if (node)
        return prove_cases(p, a, node);
    return is_not_positive(p, a) && is_not_positive(p, aff_scale(p->ctx, a, -1));
}

static const AffClaim *find_claim(const AffClaims *claims, const Aff *a, const Aff *const *given, int n)
{
    for (int i = claims->len - 1; i >= 0; i--) {
        const AffClaim *claim = &claims->data[i];
        if (claim->a == a && claim->n == n && (n == 0 || memcmp(claim->given, given, sizeof *given * (size_t)n) == 0))
            return claim;
    }
    return NULL;
}

static bool prove_given(AffCtx *ctx, const Aff *a, const Aff *const *given, int n)
{
    int cases = CASE_LIMIT;
    Proof p = {.ctx = ctx, .cases = &cases};
    for (int i = 0; i < n; i++)
        give(&p, given[i]);
    return is_contradiction(&p) || prove_zero(&p, a);
}

bool aff_is_zero_given(AffCtx *ctx, const Aff *a, const Aff *const *given, int n)
{
    Arena *arena;
    AffClaims *claims = aff_claims(ctx, &arena);
    const AffClaim *known = find_claim(claims, a, given, n);
    if (known)
        return known->holds;
    AffClaim claim = {a, arena_array(arena, const Aff *, n), n, prove_given(ctx, a, given, n)};
    for (int i = 0; i < n; i++)
        claim.given[i] = given[i];
    vec_push(arena, claims, claim);
    return claim.holds;
}

/* ---- sums over a counter --------------------------------------------------------------- */

typedef struct Range {
    const Aff *lo, *hi; /* half-open */
} Range;

/* Narrows the range to where the condition holds; false: it is not seen. */
static bool narrow(AffCtx *ctx, const Aff *condition, const AffSym *sym, Range *range)
{
    const Aff *coef, *rest;
    int64_t c;
    if (condition->kind == AFF_AND)
        return narrow(ctx, condition->a, sym, range) && narrow(ctx, condition->b, sym, range);
    if (condition->kind != AFF_LE && condition->kind != AFF_EQ)
        return false;
    const Aff *sum = aff_sub(ctx, condition->a, condition->b);
    if (!aff_linear(ctx, sum, sym, &coef, &rest) || !aff_is_const(coef, &c))
        return false;
    if (c == 0 || c == INT64_MIN || (condition->kind == AFF_EQ && c != 1 && c != -1))
        return false;
    const Aff *last = aff_div(ctx, aff_scale(ctx, rest, -1), aff_const(ctx, c));
    if (c > 0 || condition->kind == AFF_EQ)
        range->hi = aff_min(ctx, range->hi, aff_offset(ctx, last, 1));
    if (condition->kind == AFF_EQ)
        range->lo = aff_max(ctx, range->lo, last);
    else if (c < 0)
        range->lo = aff_max(ctx, range->lo, aff_ceildiv(ctx, rest, aff_const(ctx, -c)));
    return true;
}

/* Of one term: what does not use sym is a factor of each element, conditions say
 * which elements there are. */
static const Aff *sum_term(AffCtx *ctx, const AffTerm *term, const AffSym *sym, Range range)
{
    const Aff *factors[AFF_MAX_DEGREE], *each = aff_const(ctx, term->coef);
    int n = aff_factors(term->product, factors);
    for (int i = 0; i < n; i++) {
        if (!aff_uses(factors[i], sym))
            each = aff_mul(ctx, each, factors[i]);
        else if (!narrow(ctx, factors[i], sym, &range))
            return NULL;
    }
    const Aff *count = aff_sub(ctx, range.hi, range.lo);
    return aff_mul(ctx, each, aff_max(ctx, aff_const(ctx, 0), count));
}

const Aff *aff_sum_over(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *lo, const Aff *hi)
{
    AffSum s;
    const Aff *trips = aff_max(ctx, aff_const(ctx, 0), aff_sub(ctx, hi, lo));
    sum_of(&s, a);
    if (s.bad)
        return NULL;
    const Aff *total = aff_scale(ctx, trips, s.constant);
    for (int i = 0; i < s.n; i++) {
        const Aff *part = sum_term(ctx, &s.terms[i], sym, (Range){lo, hi});
        if (!part)
            return NULL;
        total = aff_add(ctx, total, part);
    }
    return aff_is_poison(total) ? NULL : total;
}
