/* parse_aff.c: integer expressions in TL text.
 *
 *   or          a or b
 *   and         a and b
 *   not         not a
 *   comparison  a < b   <= > >= == !=
 *   sum         a + b   a - b
 *   product     a * b   a div b   a mod b
 *   primary     3   name   (a)   -a   2 ** a   min(a, b, ...)   max(...)   ceil(a / b)   T[a, b, ...]
 */
#include "tile/parse.h"

enum { AFF_DEPTH = 200 };

static const Aff *parse_product(Parser *p);

static const Aff *fail(Parser *p, const char *what)
{
    tile_parse_fail(p, "%s", what);
    return NULL;
}

/* ---- primaries ------------------------------------------------------------------ */

static const Aff *parse_symbol(Parser *p)
{
    const char *name = parse_word(p);
    for (int i = p->symbols.len - 1; i >= 0; i--)
        if (strcmp(p->symbols.data[i]->name, name) == 0) {
            parse_next(p);
            return aff_of(p->aff, p->symbols.data[i]);
        }
    tile_parse_fail(p, "'%s' is not a dimension, grid coordinate or loop counter here", name);
    return NULL;
}

/* T[a, b], behind whose name the parser is */
static const Aff *parse_element(Parser *p, const char *name)
{
    const Aff *coords[TENSOR_MAX_RANK];
    TileTensor *tensor = tile_tensor(p->program, name);
    if (!tensor || !tile_is_table(tensor)) {
        tile_parse_fail(p, "'%s' is no tensor of integers that is only read", name);
        return NULL;
    }
    parse_next(p);
    for (int i = 0; i < tensor->rank; i++)
        if ((i && !parse_want(p, ",")) || !(coords[i] = parse_aff(p)))
            return NULL;
    return parse_want(p, "]") ? tile_element(p->program, tensor, coords) : NULL;
}

/* A name may be a symbol's and a tensor's, whose elements are in brackets. */
static const Aff *parse_named(Parser *p)
{
    const char *name = parse_word(p);
    Parser before = *p;
    parse_next(p);
    if (parse_at(p, "["))
        return parse_element(p, name);
    *p = before;
    return parse_symbol(p);
}

/* (a, b, ...) joined from the left. */
static const Aff *parse_joined(Parser *p, const Aff *(*join)(AffCtx *, const Aff *, const Aff *))
{
    if (!parse_want(p, "("))
        return NULL;
    const Aff *a = parse_aff(p);
    while (a && parse_take(p, ",")) {
        const Aff *b = parse_aff(p);
        a = b ? join(p->aff, a, b) : NULL;
    }
    return a && parse_want(p, ")") ? a : NULL;
}

static const Aff *divide(Parser *p, const Aff *a, const Aff *b,
                         const Aff *(*by)(AffCtx *, const Aff *, const Aff *))
{
    int64_t value;
    if (aff_is_const(b, &value) && value == 0)
        return fail(p, "division by 0");
    return by(p->aff, a, b);
}

static const Aff *parse_ceil(Parser *p)
{
    if (!parse_want(p, "("))
        return NULL;
    const Aff *a = parse_product(p);
    const Aff *b = a && parse_want(p, "/") ? parse_product(p) : NULL;
    return b && parse_want(p, ")") ? divide(p, a, b, aff_ceildiv) : NULL;
}

static const Aff *parse_primary(Parser *p);

/* 2 ** a, behind its base */
static const Aff *parse_power(Parser *p, int64_t base)
{
    parse_next(p);
    const Aff *a = base == 2 ? parse_primary(p) : fail(p, "a power of something else than 2");
    return a ? aff_exp2(p->aff, a) : NULL;
}

static const Aff *parse_open(Parser *p)
{
    int64_t value;
    if (p->token.kind == TOK_INT)
        return !parse_int(p, &value) ? NULL : parse_at(p, "**") ? parse_power(p, value) : aff_const(p->aff, value);
    if (parse_take(p, "(")) {
        const Aff *a = parse_aff(p);
        return a && parse_want(p, ")") ? a : NULL;
    }
    if (parse_take(p, "min"))
        return parse_joined(p, aff_min);
    if (parse_take(p, "max"))
        return parse_joined(p, aff_max);
    if (parse_take(p, "ceil"))
        return parse_ceil(p);
    return p->token.kind == TOK_NAME ? parse_named(p) : fail(p, "expected an expression");
}

/* Everything that nests does so here. */
static const Aff *parse_primary(Parser *p)
{
    if (p->depth == AFF_DEPTH)
        return fail(p, "the expression is nested too deeply");
    p->depth++;
    const Aff *a = parse_open(p);
    p->depth--;
    return a;
}

/* ---- operators -------------------------------------------------------------------- */

/* What a * b div c continues with after its first factor. */
static const Aff *parse_factors(Parser *p, const Aff *a)
{
    while (a) {
        bool times = parse_take(p, "*");
        bool div = !times && parse_take(p, "div");
        if (!times && !div && !parse_take(p, "mod"))
            return a;
        const Aff *b = parse_primary(p);
        if (!b)
            return NULL;
        a = times ? aff_mul(p->aff, a, b) : divide(p, a, b, div ? aff_div : aff_mod);
    }
    return NULL;
}

static const Aff *parse_product(Parser *p)
{
    return parse_factors(p, parse_primary(p));
}

/* A sign belongs to the number after it (INT64_MIN has no positive counterpart),
 * otherwise to the whole product. */
static const Aff *parse_signed(Parser *p)
{
    int64_t value;
    if (!parse_at(p, "-"))
        return parse_product(p);
    Parser before = *p;
    parse_next(p);
    if (p->token.kind == TOK_INT) {
        *p = before;
        if (!parse_int(p, &value))
            return NULL;
        if (!parse_at(p, "**"))
            return parse_factors(p, aff_const(p->aff, value));
        *p = before;
        parse_next(p);
    }
    const Aff *a = parse_product(p);
    return a ? aff_scale(p->aff, a, -1) : NULL;
}

static const Aff *parse_sum(Parser *p)
{
    const Aff *a = parse_signed(p);
    while (a && (parse_at(p, "+") || parse_at(p, "-"))) {
        bool minus = parse_at(p, "-");
        parse_next(p);
        const Aff *b = parse_product(p);
        if (!b)
            return NULL;
        a = minus ? aff_sub(p->aff, a, b) : aff_add(p->aff, a, b);
    }
    return a;
}

static const Aff *not_equal(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_not(ctx, aff_eq(ctx, a, b));
}

static const Aff *greater(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_lt(ctx, b, a);
}

static const Aff *at_least(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_le(ctx, b, a);
}

static const struct {
    const char *text;
    const Aff *(*make)(AffCtx *, const Aff *, const Aff *);
} COMPARISONS[] = {
    {"<=", aff_le}, {"<", aff_lt}, {">=", at_least}, {">", greater}, {"==", aff_eq}, {"!=", not_equal},
};

static const Aff *parse_comparison(Parser *p)
{
    const Aff *a = parse_sum(p);
    for (size_t i = 0; a && i < TW_COUNT(COMPARISONS); i++) {
        if (!parse_take(p, COMPARISONS[i].text))
            continue;
        const Aff *b = parse_sum(p);
        return b ? COMPARISONS[i].make(p->aff, a, b) : NULL;
    }
    return a;
}

static const Aff *parse_not(Parser *p)
{
    bool negated = false;
    while (parse_take(p, "not"))
        negated = !negated;
    const Aff *a = parse_comparison(p);
    return a && negated ? aff_not(p->aff, a) : a;
}

static const Aff *parse_and(Parser *p)
{
    const Aff *a = parse_not(p);
    while (a && parse_take(p, "and")) {
        const Aff *b = parse_not(p);
        a = b ? aff_and(p->aff, a, b) : NULL;
    }
    return a;
}

const Aff *parse_aff(Parser *p)
{
    const Aff *a = parse_and(p);
    while (a && parse_take(p, "or")) {
        const Aff *b = parse_and(p);
        a = b ? aff_or(p->aff, a, b) : NULL;
    }
    if (a && aff_is_poison(a))
        return fail(p, "the expression overflows");
    return a;
}
