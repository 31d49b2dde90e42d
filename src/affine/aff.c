/* aff.c: the context, hash-consing, sums and products, and walks over expressions.
 *
 * Equal canonical forms are equal pointers because every node is made by
 * `intern`, and every sum by `sum_build`, which orders terms by the ids of
 * their products:
 *
 *   128 * m + row - m + 3   ->   ADD(ADD(MUL(m, 127), row), 3)
 */
#include "affine/sum.h"

/* With the hash beside the node: of most others in its way a node that is looked for is told apart by it alone. */
typedef struct Slot {
    const AffNode *node; /* NULL: the slot is free */
    uint64_t hash;
} Slot;

enum {
    ANSWERS = 1024,
    FEW = 64 /* numbers from 0 on, which are asked for again and again */
};

struct AffCtx {
    Arena *arena;
    Slot *table; /* open addressing; the capacity is a power of two */
    int cap, count;
    VEC(AffSym *) syms;
    VEC(const Aff *) of_syms; /* by symbol id; NULL: it was not asked for yet, ... */
    const Aff *few[FEW];      /* ... nor was that number */
    const Aff *poison;
    AffClaims claims;
    AffAnswer *answers; /* ANSWERS of them once there are as many nodes, which most contexts never have */
};

/* ---- nodes ------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ (h >> 29);
}

/* Of the ids of the operands rather than their addresses: the same in every run. */
static uint64_t node_hash(const Aff *a)
{
    if (!a->a)
        return mix(mix((uint64_t)a->kind, (uint64_t)a->value), a->sym ? (uint64_t)a->sym->id + 1 : 0);
    return mix((uint64_t)a->kind, (uint64_t)a->a->id << 32 | (uint64_t)(a->b ? a->b->id + 1 : 0));
}

static bool node_same(const Aff *x, const Aff *y)
{
    return x->kind == y->kind && x->value == y->value && x->sym == y->sym && x->a == y->a &&
           x->b == y->b;
}

static Slot *find_slot(const AffCtx *ctx, const Aff *key, uint64_t hash)
{
    uint64_t mask = (uint64_t)ctx->cap - 1, at = hash & mask;
    while (ctx->table[at].node && (ctx->table[at].hash != hash || !node_same(&ctx->table[at].node->aff, key)))
        at = (at + 1) & mask;
    return &ctx->table[at];
}

static void grow_table(AffCtx *ctx)
{
    const Slot *old = ctx->table;
    int old_cap = ctx->cap;
    ctx->cap = old_cap ? old_cap * 2 : 64;
    ctx->table = arena_array(ctx->arena, Slot, ctx->cap);
    for (int i = 0; i < old_cap; i++)
        if (old[i].node)
            *find_slot(ctx, &old[i].node->aff, old[i].hash) = old[i];
}

static int node_size(const Aff *a)
{
    return a ? ((const AffNode *)a)->size : 0;
}

static unsigned node_kinds(const Aff *a)
{
    return a ? ((const AffNode *)a)->kinds : 0;
}

static uint64_t node_symbols(const Aff *a)
{
    return a ? ((const AffNode *)a)->symbols : 0;
}

static const Aff *intern(AffCtx *ctx, const Aff *key)
{
    int size = 1 + node_size(key->a) + node_size(key->b);
    if (size > AFF_MAX_SIZE)
        return ctx->poison;
    if (ctx->count * 2 >= ctx->cap)
        grow_table(ctx);
    uint64_t hash = node_hash(key);
    Slot *slot = find_slot(ctx, key, hash);
    if (slot->node)
        return &slot->node->aff;
    AffNode *node = arena_new_of(ctx->arena, AffNode);
    node->aff = *key;
    node->aff.id = ctx->count++;
    node->size = size;
    node->kinds = (key->sym ? 1u << key->sym->kind : 0) | node_kinds(key->a) | node_kinds(key->b);
    node->symbols = (key->sym ? UINT64_C(1) << key->sym->id % 64 : 0) | node_symbols(key->a) | node_symbols(key->b);
    aff_node_bounds(node);
    *slot = (Slot){node, hash};
    return &node->aff;
}

AffCtx *aff_ctx_new(Arena *arena)
{
    AffCtx *ctx = arena_new_of(arena, AffCtx);
    ctx->arena = arena;
    ctx->poison = intern(ctx, &(Aff){.kind = AFF_POISON});
    return ctx;
}

/* ---- what was asked before ------------------------------------------------------- */

static AffAnswer *answer_place(const AffCtx *ctx, AffAsked what, const Aff *a, const Aff *b, const Aff *c)
{
    uint64_t h = mix(mix((uint64_t)a->id << 32 | (uint64_t)b->id, (uint64_t)what), c ? (uint64_t)c->id : 0);

    return &ctx->answers[(h ^ h >> 32) % ANSWERS];
}

const Aff *aff_recall(const AffCtx *ctx, AffAsked what, const Aff *a, const Aff *b, const Aff *c)
{
    if (!ctx->answers)
        return NULL;
    const AffAnswer *at = answer_place(ctx, what, a, b, c);
    return at->a == a && at->b == b && at->c == c && at->what == what ? at->answer : NULL;
}

const Aff *aff_remember(AffCtx *ctx, AffAsked what, const Aff *a, const Aff *b, const Aff *c, const Aff *answer)
{
    if (!ctx->answers && ctx->count >= ANSWERS)
        ctx->answers = arena_array(ctx->arena, AffAnswer, ANSWERS);
    if (ctx->answers)
        *answer_place(ctx, what, a, b, c) = (AffAnswer){what, a, b, c, answer};
    return answer;
}

const Aff *aff_once(AffCtx *ctx, AffAsked what, const Aff *a, const Aff *b, AffMake *make)
{
    const Aff *known = aff_recall(ctx, what, a, b, NULL);
    return known ? known : aff_remember(ctx, what, a, b, NULL, make(ctx, a, b));
}

AffClaims *aff_claims(AffCtx *ctx, Arena **arena)
{
    *arena = ctx->arena;
    return &ctx->claims;
}

const Aff *aff_poison(AffCtx *ctx)
{
    return ctx->poison;
}

/* The node as it is, unsimplified; poison operands poison it. */
const Aff *aff_node(AffCtx *ctx, AffKind kind, const Aff *a, const Aff *b)
{
    if (aff_is_poison(a) || (b && aff_is_poison(b)))
        return ctx->poison;
    return intern(ctx, &(Aff){.kind = kind, .a = a, .b = b});
}

AffSym *aff_sym_new(AffCtx *ctx, const char *name, AffSymKind kind, int64_t lo, int64_t hi)
{
    AffSym *s = arena_new_of(ctx->arena, AffSym);
    *s = (AffSym){.name = name, .kind = kind, .lo = lo, .hi = hi, .id = ctx->syms.len};
    vec_push(ctx->arena, &ctx->syms, s);
    vec_push(ctx->arena, &ctx->of_syms, NULL);
    return s;
}

const Aff *aff_const(AffCtx *ctx, int64_t value)
{
    bool few = value >= 0 && value < FEW;
    if (few && ctx->few[value])
        return ctx->few[value];
    const Aff *a = intern(ctx, &(Aff){.kind = AFF_CONST, .value = value});
    if (few)
        ctx->few[value] = a;
    return a;
}

static const Aff *node_of(AffCtx *ctx, const AffSym *sym)
{
    const Aff **known = &ctx->of_syms.data[sym->id];
    if (!*known)
        *known = intern(ctx, &(Aff){.kind = AFF_SYM, .sym = sym});
    return *known;
}

const Aff *aff_of(AffCtx *ctx, const AffSym *sym)
{
    if (sym->lo == sym->hi && sym->lo != INT64_MIN && sym->lo != INT64_MAX)
        return aff_const(ctx, sym->lo);
    return node_of(ctx, sym);
}

int aff_sym_count(const AffCtx *ctx)
{
    return ctx->syms.len;
}

const AffSym *aff_sym_at(const AffCtx *ctx, int id)
{
    return ctx->syms.data[id];
}

/* ---- products ------------------------------------------------------------------ */

int aff_factors(const Aff *product, const Aff *factors[AFF_MAX_DEGREE])
{
    int n = 0;
    for (const Aff *p = product; p; p = p->kind == AFF_MUL ? p->a : NULL)
        factors[n++] = p->kind == AFF_MUL ? p->b : p;
    for (int i = 0; i < n / 2; i++) {
        const Aff *t = factors[i];
        factors[i] = factors[n - 1 - i];
        factors[n - 1 - i] = t;
    }
    return n;
}

/* Merges the factors of two products; poison beyond the greatest degree. */
static const Aff *multiply_products(AffCtx *ctx, const Aff *p, const Aff *q)
{
    const Aff *f[AFF_MAX_DEGREE], *g[AFF_MAX_DEGREE], *result = NULL;
    int nf = aff_factors(p, f), ng = aff_factors(q, g);
    if (nf + ng > AFF_MAX_DEGREE)
        return ctx->poison;
    for (int i = 0, j = 0; i < nf || j < ng;) {
        const Aff *next = j == ng || (i < nf && f[i]->id <= g[j]->id) ? f[i++] : g[j++];
        result = result ? aff_node(ctx, AFF_MUL, result, next) : next;
    }
    return result;
}

/* ---- sums ------------------------------------------------------------------------ */

void sum_clear(AffSum *s)
{
    s->n = 0;
    s->constant = 0;
    s->bad = false;
}

void sum_add_constant(AffSum *s, int64_t constant)
{
    s->bad |= __builtin_add_overflow(s->constant, constant, &s->constant);
}

static void sum_remove(AffSum *s, int at)
{
    s->n--;
    for (; at < s->n; at++)
        s->terms[at] = s->terms[at + 1];
}

static void sum_insert(AffSum *s, int at, AffTerm term)
{
    for (int i = s->n++; i > at; i--)
        s->terms[i] = s->terms[i - 1];
    s->terms[at] = term;
}

/* A coefficient is never INT64_MIN, so that it can be negated. */
void sum_add_term(AffSum *s, const Aff *product, int64_t coef)
{
    int at = 0;
    if (coef == 0 || s->bad)
        return;
    while (at < s->n && s->terms[at].product->id < product->id)
        at++;
    if (at < s->n && s->terms[at].product == product) {
        s->bad |= __builtin_add_overflow(s->terms[at].coef, coef, &s->terms[at].coef);
        s->bad |= s->terms[at].coef == INT64_MIN;
        if (s->terms[at].coef == 0)
            sum_remove(s, at);
        return;
    }
    if (s->n == AFF_MAX_TERMS || coef == INT64_MIN) {
        s->bad = true;
        return;
    }
    sum_insert(s, at, (AffTerm){product, coef});
}

/* Adds factor * a where a is a term or a constant. */
static void sum_add_one(AffSum *s, const Aff *a, int64_t factor)
{
    int64_t coef;
    if (a->kind == AFF_POISON) {
        s->bad = true;
    } else if (a->kind == AFF_CONST) {
        s->bad |= __builtin_mul_overflow(a->value, factor, &coef);
        sum_add_constant(s, coef);
    } else if (a->kind == AFF_MUL && a->b->kind == AFF_CONST) {
        s->bad |= __builtin_mul_overflow(a->b->value, factor, &coef);
        sum_add_term(s, a->a, coef);
    } else {
        sum_add_term(s, a, factor);
    }
}

void sum_add(AffSum *s, const Aff *a, int64_t factor)
{
    for (; a->kind == AFF_ADD; a = a->a)
        sum_add_one(s, a->b, factor);
    sum_add_one(s, a, factor);
}

static AffTerm term_of(const Aff *a)
{
    return a->kind == AFF_MUL && a->b->kind == AFF_CONST ? (AffTerm){a->a, a->b->value} : (AffTerm){a, 1};
}

/* The terms of a sum are in order already, the last outermost. */
void sum_of(AffSum *s, const Aff *a)
{
    int last = 0;
    sum_clear(s);
    if (a->kind != AFF_ADD) {
        sum_add_one(s, a, 1);
        return;
    }
    if (a->b->kind == AFF_CONST) {
        s->constant = a->b->value;
        a = a->a;
    }
    for (const Aff *p = a; p->kind == AFF_ADD; p = p->a)
        last++;
    s->n = last + 1;
    for (; last > 0; a = a->a)
        s->terms[last--] = term_of(a->b);
    s->terms[0] = term_of(a);
}

void sum_difference(AffSum *s, const Aff *a, const Aff *b)
{
    sum_of(s, a);
    sum_add(s, b, -1);
}

static int find_term(const AffSum *s, AffKind kind, const Aff *a, const Aff *b)
{
    for (int i = 0; i < s->n; i++) {
        const Aff *p = s->terms[i].product;
        if (p->kind == kind && p->a == a && p->b == b)
            return i;
    }
    return -1;
}

/* c * (x mod k) + c * k * (x div k)  ->  c * x, once; true when it did. */
static bool join_div_mod(AffSum *s)
{
    for (int i = 0; i < s->n; i++) {
        const Aff *mod = s->terms[i].product;
        int64_t c = s->terms[i].coef, ck;
        if (mod->kind != AFF_MOD || mod->b->kind != AFF_CONST)
            continue;
        int j = find_term(s, AFF_DIV, mod->a, mod->b);
        if (j < 0 || __builtin_mul_overflow(c, mod->b->value, &ck) || s->terms[j].coef != ck)
            continue;
        sum_remove(s, i > j ? i : j);
        sum_remove(s, i > j ? j : i);
        sum_add(s, mod->a, c);
        return true;
    }
    return false;
}

const Aff *sum_build(AffCtx *ctx, AffSum *s)
{
    const Aff *result = NULL;
    while (!s->bad && join_div_mod(s))
        ;
    if (s->bad)
        return ctx->poison;
    for (int i = 0; i < s->n; i++) {
        const Aff *term = s->terms[i].product;
        if (s->terms[i].coef != 1)
            term = aff_node(ctx, AFF_MUL, term, aff_const(ctx, s->terms[i].coef));
        result = result ? aff_node(ctx, AFF_ADD, result, term) : term;
    }
    if (!result)
        return aff_const(ctx, s->constant);
    return s->constant ? aff_node(ctx, AFF_ADD, result, aff_const(ctx, s->constant)) : result;
}

static const Aff *added(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffSum s;
    sum_of(&s, a);
    sum_add(&s, b, 1);
    return sum_build(ctx, &s);
}

const Aff *aff_add(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return b->kind == AFF_CONST ? aff_offset(ctx, a, b->value) : aff_once(ctx, ASKED_SUM, a, b, added);
}

static const Aff *difference(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffSum s;
    sum_difference(&s, a, b);
    return sum_build(ctx, &s);
}

const Aff *aff_sub(AffCtx *ctx, const Aff *a, const Aff *b)
{
    return aff_once(ctx, ASKED_DIFFERENCE, a, b, difference);
}

const Aff *aff_scale(AffCtx *ctx, const Aff *a, int64_t factor)
{
    AffSum s;
    sum_clear(&s);
    sum_add(&s, a, factor);
    return sum_build(ctx, &s);
}

const Aff *aff_without_constant(AffCtx *ctx, const Aff *a, int64_t *constant)
{
    *constant = 0;
    if (a->kind == AFF_CONST) {
        *constant = a->value;
        return aff_const(ctx, 0);
    }
    if (a->kind != AFF_ADD || a->b->kind != AFF_CONST)
        return a;
    *constant = a->b->value;
    return a->a;
}

/* Only what is outermost changes. */
const Aff *aff_offset(AffCtx *ctx, const Aff *a, int64_t constant)
{
    int64_t sum;
    const Aff *rest = aff_without_constant(ctx, a, &sum);
    if (__builtin_add_overflow(sum, constant, &sum))
        return ctx->poison;
    if (a->kind == AFF_CONST)
        return aff_const(ctx, sum);
    return sum ? aff_node(ctx, AFF_ADD, rest, aff_const(ctx, sum)) : rest;
}

/* out += coef * product * b */
static void add_multiplied(AffCtx *ctx, AffSum *out, const Aff *product, int64_t coef,
                           const AffSum *b)
{
    int64_t c = 0;
    for (int i = 0; i < b->n && !out->bad; i++) {
        const Aff *p = multiply_products(ctx, product, b->terms[i].product);
        out->bad |= aff_is_poison(p) || __builtin_mul_overflow(coef, b->terms[i].coef, &c);
        if (!out->bad)
            sum_add_term(out, p, c);
    }
    out->bad |= __builtin_mul_overflow(coef, b->constant, &c);
    sum_add_term(out, product, c);
}

const Aff *aff_mul(AffCtx *ctx, const Aff *a, const Aff *b)
{
    AffSum x, y, out;
    sum_of(&x, a);
    sum_of(&y, b);
    sum_clear(&out);
    out.bad = x.bad || y.bad;
    for (int i = 0; i < x.n && !out.bad; i++)
        add_multiplied(ctx, &out, x.terms[i].product, x.terms[i].coef, &y);
    for (int i = 0; i < y.n && !out.bad; i++) {
        int64_t c;
        out.bad |= __builtin_mul_overflow(x.constant, y.terms[i].coef, &c);
        sum_add_term(&out, y.terms[i].product, c);
    }
    int64_t constant;
    out.bad |= __builtin_mul_overflow(x.constant, y.constant, &constant);
    sum_add_constant(&out, constant);
    return sum_build(ctx, &out);
}

/* ---- questions ---------------------------------------------------------------------- */

bool aff_is_const(const Aff *a, int64_t *value)
{
    if (a->kind != AFF_CONST)
        return false;
    if (value)
        *value = a->value;
    return true;
}

bool aff_is_poison(const Aff *a)
{
    return a->kind == AFF_POISON;
}

bool aff_is_condition(const Aff *a)
{
    return a->kind == AFF_LE || a->kind == AFF_EQ || a->kind == AFF_AND || a->kind == AFF_OR || a->kind == AFF_NOT;
}

bool aff_uses(const Aff *a, const AffSym *sym)
{
    return a && (a->sym == sym || aff_uses(a->a, sym) || aff_uses(a->b, sym));
}

bool aff_apart(const Aff *a, const Aff *b)
{
    return (node_symbols(a) & node_symbols(b)) == 0;
}

bool aff_uses_kind(const Aff *a, AffSymKind kind)
{
    return node_kinds(a) >> kind & 1;
}

bool aff_uses_place(const Aff *a)
{
    return aff_uses_kind(a, AFF_ROW) || aff_uses_kind(a, AFF_COL);
}

const Aff *aff_element(AffCtx *ctx, const AffSym *table, const Aff *const *coords, int n)
{
    const Aff *a = node_of(ctx, table);
    for (int i = 0; i < n; i++)
        a = aff_node(ctx, AFF_AT, a, coords[i]);
    return a;
}

int aff_coords(const Aff *element, const AffSym **table, const Aff *coords[AFF_MAX_COORDS])
{
    int n = 0;
    const Aff *a = element;
    for (; a->kind == AFF_AT; a = a->a)
        n++;
    *table = a->sym;
    a = element;
    for (int i = n; i-- > 0; a = a->a)
        coords[i] = a->b;
    return n;
}

/* product without one factor sym (NULL: that was all); false when what
 * remains still uses sym. */
static bool take_factor(AffCtx *ctx, const Aff *product, const AffSym *sym, const Aff **rest)
{
    const Aff *f[AFF_MAX_DEGREE];
    int n = aff_factors(product, f);
    bool taken = false;
    *rest = NULL;
    for (int i = 0; i < n; i++) {
        if (!taken && f[i]->sym == sym) {
            taken = true;
            continue;
        }
        *rest = *rest ? aff_node(ctx, AFF_MUL, *rest, f[i]) : f[i];
    }
    return taken && !aff_uses(*rest, sym);
}

bool aff_linear(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff **coef, const Aff **rest)
{
    AffSum s, k, r;
    sum_of(&s, a);
    sum_clear(&k);
    sum_clear(&r);
    r.constant = s.constant;
    for (int i = 0; i < s.n; i++) {
        const Aff *other;
        if (!aff_uses(s.terms[i].product, sym))
            sum_add_term(&r, s.terms[i].product, s.terms[i].coef);
        else if (!take_factor(ctx, s.terms[i].product, sym, &other))
            return false;
        else if (other)
            sum_add_term(&k, other, s.terms[i].coef);
        else
            sum_add_constant(&k, s.terms[i].coef);
    }
    if (s.bad)
        return false;
    *coef = sum_build(ctx, &k);
    *rest = sum_build(ctx, &r);
    return !aff_is_poison(*coef) && !aff_is_poison(*rest);
}

/* ---- substitution --------------------------------------------------------------------- */

const Aff *aff_rebuild(AffCtx *ctx, AffKind kind, const Aff *a, const Aff *b)
{
    switch (kind) {
    case AFF_ADD: return aff_add(ctx, a, b);
    case AFF_MUL: return aff_mul(ctx, a, b);
    case AFF_DIV: return aff_div(ctx, a, b);
    case AFF_MOD: return aff_mod(ctx, a, b);
    case AFF_EXP2: return aff_exp2(ctx, a);
    case AFF_MIN: return aff_min(ctx, a, b);
    case AFF_MAX: return aff_max(ctx, a, b);
    case AFF_LE: return aff_le(ctx, a, b);
    case AFF_EQ: return aff_eq(ctx, a, b);
    case AFF_AND: return aff_and(ctx, a, b);
    case AFF_OR: return aff_or(ctx, a, b);
    case AFF_NOT: return aff_not(ctx, a);
    case AFF_AT: return aff_node(ctx, AFF_AT, a, b);
    case AFF_CONST:
    case AFF_SYM:
    case AFF_POISON: break;
    }
    return ctx->poison;
}

static const Aff *replaced(AffCtx *ctx, const Aff *a, const Aff *atom, const Aff *by)
{
    const Aff *x = aff_replace(ctx, a->a, atom, by);
    const Aff *y = a->b ? aff_replace(ctx, a->b, atom, by) : NULL;
    return x == a->a && y == a->b ? a : aff_rebuild(ctx, a->kind, x, y);
}

const Aff *aff_replace(AffCtx *ctx, const Aff *a, const Aff *atom, const Aff *by)
{
    if (a == atom)
        return by;
    if (!a->a || (atom->sym && !aff_uses_kind(a, atom->sym->kind)))
        return a;
    const Aff *known = aff_recall(ctx, ASKED_REPLACED, a, atom, by);
    return known ? known : aff_remember(ctx, ASKED_REPLACED, a, atom, by, replaced(ctx, a, atom, by));
}

const Aff *aff_subst(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *by)
{
    const Aff *atom = aff_of(ctx, sym);
    return atom->kind == AFF_SYM ? aff_replace(ctx, a, atom, by) : a; /* of one value only it stands nowhere, and other constants are not it */
}

/* ---- evaluation ------------------------------------------------------------------------ */

static bool eval_arithmetic(AffKind kind, int64_t x, int64_t y, int64_t *result)
{
    switch (kind) {
    case AFF_ADD: return !__builtin_add_overflow(x, y, result);
    case AFF_MUL: return !__builtin_mul_overflow(x, y, result);
    case AFF_DIV: return floor_div(x, y, result);
    case AFF_MOD: *result = y ? floor_mod(x, y) : 0; return y != 0;
    case AFF_EXP2: return aff_power_of_two(x, result);
    case AFF_MIN: *result = x < y ? x : y; return true;
    case AFF_MAX: *result = x > y ? x : y; return true;
    case AFF_LE: *result = x <= y; return true;
    case AFF_EQ: *result = x == y; return true;
    case AFF_NOT: *result = !x; return true;
    case AFF_AND:
    case AFF_OR:
    case AFF_CONST:
    case AFF_SYM:
    case AFF_AT:
    case AFF_POISON: break;
    }
    return false;
}

/* An operand that decides the result alone excuses the other's failure:
 * `b != 0 and a div b > 1` may have been put in either order. */
static bool eval_logic(const Aff *a, const int64_t *values, int64_t *result)
{
    int64_t x, y, decisive = a->kind == AFF_OR;
    bool ok_x = aff_eval(a->a, values, &x), ok_y = aff_eval(a->b, values, &y);
    bool decided = (ok_x && (x != 0) == decisive) || (ok_y && (y != 0) == decisive);
    *result = decided ? decisive : !decisive;
    return decided || (ok_x && ok_y);
}

static bool eval_element(const Aff *a, const int64_t *values, int64_t *result)
{
    const AffSym *sym;
    const Aff *coords[AFF_MAX_COORDS];
    int64_t at[AFF_MAX_COORDS];
    int n = aff_coords(a, &sym, coords);
    const AffTable *table = (const AffTable *)(intptr_t)values[sym->id];
    if (!table || table->rank != n)
        return false;
    for (int i = 0; i < n; i++)
        if (!aff_eval(coords[i], values, &at[i]))
            return false;
    *result = table->read(table->user, at);
    return true;
}

bool aff_eval(const Aff *a, const int64_t *values, int64_t *result)
{
    int64_t x, y = 0;
    switch (a->kind) {
    case AFF_CONST: *result = a->value; return true;
    case AFF_SYM: *result = values[a->sym->id]; return true;
    case AFF_POISON: return false;
    case AFF_AND:
    case AFF_OR: return eval_logic(a, values, result);
    case AFF_AT: return eval_element(a, values, result);
    case AFF_ADD:
    case AFF_MUL:
    case AFF_DIV:
    case AFF_MOD:
    case AFF_EXP2:
    case AFF_MIN:
    case AFF_MAX:
    case AFF_LE:
    case AFF_EQ:
    case AFF_NOT: break;
    }
    return aff_eval(a->a, values, &x) && (!a->b || aff_eval(a->b, values, &y)) &&
           eval_arithmetic(a->kind, x, y, result);
}
