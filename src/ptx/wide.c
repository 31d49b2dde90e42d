/* wide.c: integer expressions of 64 bits.
 *
 * Coordinates fit 32 bits, and so does nearly all that is made of them; but a hash of a
 * position, `(i * 8191 + j * 131) % 65521`, takes factors by which they do not. What is divided,
 * compared or made a number is worked out in 64 bits where its bounds leave 32 and some
 * number in it is large, places are multiplied with each other, or, in what is no coordinate, an element of a tensor: bounds alone would
 * say so of nearly every coordinate, since a dimension that the launch gives has none but that of its type. By powers of two counters are
 * multiplied as well, which count tiles.
 */
#include "ptx/global.h"

enum { LARGE = 4096, LARGEST_TILE = 32768, LARGEST_ADDED = (1 << 30) - 2 };

static bool fits(int64_t lo, int64_t hi)
{
    return lo >= INT32_MIN && hi <= INT32_MAX;
}

static bool is_large(int64_t factor)
{
    bool tiles = (factor & (factor - 1)) == 0 && factor <= LARGEST_TILE;
    return factor >= LARGE && !tiles;
}

/* Whether it counts tiles or elements of a tile, as far as the launch says. */
static bool is_counter(const Aff *a)
{
    return a->kind == AFF_SYM && (a->sym->kind == AFF_GRID || a->sym->kind == AFF_LOOP);
}

/* Of a product of symbols: whether it multiplies two places with each other. */
static bool multiplies_counters(const Aff *product)
{
    int counters = 0;
    for (const Aff *p = product; p; p = p->kind == AFF_MUL ? p->a : NULL) counters += is_counter(p->kind == AFF_MUL ? p->b : p);
    return counters > 1;
}

static bool has_large(const Aff *a)
{
    switch (a->kind) {
    case AFF_CONST: return a->value > LARGEST_ADDED || a->value < -LARGEST_ADDED;
    case AFF_MUL:
        if (multiplies_counters(a)) return true;
        if (a->b->kind == AFF_CONST && (is_large(a->b->value) || is_large(-a->b->value))) return true;
        return has_large(a->a) || has_large(a->b);
    case AFF_ADD: case AFF_MIN: case AFF_MAX: case AFF_DIV: case AFF_MOD: return has_large(a->a) || has_large(a->b);
    case AFF_EXP2: return true;
    case AFF_SYM: case AFF_LE: case AFF_EQ: case AFF_AND: case AFF_OR: case AFF_NOT: case AFF_AT: case AFF_POISON: break;
    }
    return false;
}

bool ix_is_wide(const Emitter *e, const Aff *a)
{
    int64_t lo, hi;
    aff_bounds(a, &lo, &hi);
    return !fits(lo, hi) && (has_large(a) || (e->exact && aff_uses_kind(a, AFF_TABLE)));
}

/* Whether factors are multiplied of which none is a number. */
static bool has_product(const Aff *a)
{
    if (a->kind == AFF_ADD) return has_product(a->a) || has_product(a->b);
    return a->kind == AFF_MUL && (a->b->kind != AFF_CONST || has_product(a->a));
}

bool ix_is_wide_part(const Emitter *e, const Aff *a)
{
    int64_t lo, hi;
    aff_bounds(a, &lo, &hi);
    return ix_is_wide(e, a) || (!fits(lo, hi) && has_product(a));
}

static int log_of(int64_t n)
{
    int log = 0;
    while (log < 62 && ((int64_t)1 << log) < n) log++;
    return log;
}

/* 2^(63 + log) / n + 1, where 2^(log - 1) < n <= 2^log. */
static uint64_t factor_of(uint64_t n, int log)
{
    uint64_t quotient = 0, rest = 0;
    for (int bit = 63 + log; bit >= 0; bit--) {
        rest = rest * 2 + (bit == 63 + log);
        quotient = quotient * 2 + (rest >= n);
        if (rest >= n) rest -= n;
    }
    return quotient + 1;
}

/* q = x / n for 0 <= x < 2^63 and a constant n > 1, as ix_divide. */
static void divide(Emitter *e, int level, const char *q, const char *x, int64_t n)
{
    int log = log_of(n);
    em_at(e, level, "mul.hi.u64 %s, %s, 0x%llx;", q, x, (unsigned long long)factor_of((uint64_t)n, log));
    if (log > 1) em_at(e, level, "shr.u64 %s, %s, %d;", q, q, log - 1);
}

/* By a constant: a multiple of it is added first where x may be negative. */
static void divide_by(Emitter *e, int level, const Aff *a, const char *d, int64_t n)
{
    int64_t lo, hi, most = (int64_t)1 << 62, whole = most / n;
    const char *x = ix_wide(e, a->a), *shifted = x, *q = em_new(e, REG_RD);
    aff_bounds(a->a, &lo, &hi);
    if (lo < 0) {
        shifted = em_new(e, REG_RD);
        em_at(e, level, "add.s64 %s, %s, %lld;", shifted, x, (long long)(whole * n));
    }
    divide(e, level, q, shifted, n);
    if (a->kind == AFF_DIV) em_at(e, level, "sub.s64 %s, %s, %lld;", d, q, lo < 0 ? (long long)whole : 0LL);
    else em_at(e, level, "mad.lo.s64 %s, %s, %lld, %s;", d, q, (long long)-n, shifted);
}

/* a by 2^32: its numbers may be any that leave the same, so that they fit. */
static const Aff *low_word(AffCtx *aff, const Aff *a)
{
    if (a->kind == AFF_CONST) return aff_const(aff, (int32_t)(uint32_t)a->value);
    if (a->kind != AFF_ADD && a->kind != AFF_MUL) return a;
    const Aff *x = low_word(aff, a->a), *y = low_word(aff, a->b);
    return a->kind == AFF_ADD ? aff_add(aff, x, y) : aff_mul(aff, x, y);
}

/* What is left by a power of two up to 2^32 follows from low words alone. */
static bool leaves_low_bits(Emitter *e, int level, const Aff *a, const char *d)
{
    int64_t n;
    if (a->kind != AFF_MOD || !aff_is_const(a->b, &n) || n < 2 || n > (int64_t)1 << 32 || (n & (n - 1))) return false;
    if (aff_uses_kind(a->a, AFF_TABLE)) return false;
    const char *low = ix_value(e, low_word(e->program->aff, a->a)), *bits = em_new(e, REG_R);
    em_at(e, level, "and.b32 %s, %s, 0x%08x;", bits, low, (unsigned)(n - 1));
    em_at(e, level, "cvt.u64.u32 %s, %s;", d, bits);
    return true;
}

static void emit_division(Emitter *e, int level, const Aff *a, const char *d)
{
    int64_t n;
    bool modulo = a->kind == AFF_MOD;
    if (leaves_low_bits(e, level, a, d)) return;
    if (a->b->kind == AFF_EXP2) {
        const char *x = ix_wide(e, a->a);
        if (modulo) em_at(e, level, "and.b64 %s, %s, %s;", d, x, ix_wide(e, aff_offset(e->program->aff, a->b, -1)));
        else em_at(e, level, "shr.s64 %s, %s, %s;", d, x, ix_value(e, a->b->a));
        return;
    }
    if (aff_is_const(a->b, &n) && n > 1) {
        divide_by(e, level, a, d, n);
        return;
    }
    const char *x = ix_wide(e, a->a), *y = ix_wide(e, a->b), *q = em_new(e, REG_RD), *r = em_new(e, REG_RD);
    const char *p = em_new(e, REG_P), *t = em_new(e, REG_RD);
    em_at(e, level, "div.s64 %s, %s, %s;", q, x, y);
    em_at(e, level, "mul.lo.s64 %s, %s, %s;", t, q, y);
    em_at(e, level, "sub.s64 %s, %s, %s;", r, x, t);
    ix_steps_down(e, level, p, 64, r, ix_is_signed_divisor(e, a->b) ? y : NULL);
    if (modulo) em_at(e, level, "add.s64 %s, %s, %s;", t, r, y);
    else em_at(e, level, "sub.s64 %s, %s, 1;", t, q);
    em_at(e, level, "selp.b64 %s, %s, %s, %s;", d, t, modulo ? r : q, p);
}

static void emit_two(Emitter *e, int level, const char *instruction, const Aff *a, const char *d)
{
    const char *x = ix_wide(e, a->a), *y = ix_wide(e, a->b);
    em_at(e, level, "%s %s, %s, %s;", instruction, d, x, y);
}

void ix_emit_wide(Emitter *e, int level, const Aff *a, const char *d)
{
    switch (a->kind) {
    case AFF_ADD: emit_two(e, level, "add.s64", a, d); return;
    case AFF_MUL: emit_two(e, level, "mul.lo.s64", a, d); return;
    case AFF_MIN: emit_two(e, level, "min.s64", a, d); return;
    case AFF_MAX: emit_two(e, level, "max.s64", a, d); return;
    case AFF_DIV: case AFF_MOD: emit_division(e, level, a, d); return;
    case AFF_EXP2: em_at(e, level, "shl.b64 %s, 1, %s;", d, ix_value(e, a->a)); return;
    case AFF_AT:
        if (!ix_is_wide(e, a)) break;
        gl_element(e, level, a, d);
        return;
    case AFF_CONST: case AFF_SYM: case AFF_LE: case AFF_EQ: case AFF_AND: case AFF_OR: case AFF_NOT: case AFF_POISON:
        break;
    }
    em_at(e, level, "cvt.s64.s32 %s, %s;", d, ix_value(e, a));
}
