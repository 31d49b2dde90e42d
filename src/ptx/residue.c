/* residue.c: remainders of sums of which a part is the same for all elements of a tile.
 *
 * A hash of an element's place takes more than 32 bits, and the place itself is long:
 *
 *   (i * 8191 + j * 131 + seed) % 65521     with  i = m * 128 + row,  j = t * 64 + col
 *   (u + row * 8191 + col * 131) % 65521    with  u = (m * 1048448 + t * 8384 + seed) % 65521
 *
 * u is worked out once a turn, in 64 bits; what is left for each element fits 32. So is, where places are
 * multiplied with each other, what each product of rows and columns is multiplied with. Elements of tensors stay as they are.
 */
#include "ptx/emit.h"

enum { MOST_PRODUCTS = 8 }; /* of rows and columns, told apart in a sum */

typedef struct Product {
    const Aff *place;  /* of rows and columns; 1: of none */
    const Aff *shared; /* what it is multiplied with, the same for all elements */
} Product;

typedef struct Sum {
    Product products[MOST_PRODUCTS];
    int n;
    bool failed;
} Sum;

static void split_factors(AffCtx *aff, const Aff *a, Product *p)
{
    if (a->kind == AFF_MUL) {
        split_factors(aff, a->a, p);
        split_factors(aff, a->b, p);
        return;
    }
    const Aff **factor = aff_uses_place(a) ? &p->place : &p->shared;
    *factor = aff_mul(aff, *factor, a);
}

static void split_sum(AffCtx *aff, const Aff *a, Sum *sum)
{
    if (a->kind == AFF_ADD) {
        split_sum(aff, a->a, sum);
        split_sum(aff, a->b, sum);
        return;
    }
    Product p = {aff_const(aff, 1), aff_const(aff, 1)};
    split_factors(aff, a, &p);
    int i = 0;
    while (i < sum->n && sum->products[i].place != p.place) i++;
    if (i == MOST_PRODUCTS) {
        sum->failed = true;
        return;
    }
    if (i == sum->n) sum->products[sum->n++] = (Product){p.place, aff_const(aff, 0)};
    sum->products[i].shared = aff_add(aff, sum->products[i].shared, p.shared);
}

static bool multiplies_places(const Aff *a)
{
    if (a->kind == AFF_ADD) return multiplies_places(a->a) || multiplies_places(a->b);
    bool two = a->kind == AFF_MUL && a->a->kind != AFF_CONST && a->b->kind != AFF_CONST;
    return two && aff_uses_place(a);
}

/* Whether a is a remainder of a sum that is long, by a number that fits 32 bits. */
static bool is_long(const Emitter *e, const Aff *a)
{
    int64_t n;
    if (a->kind != AFF_MOD || !aff_is_const(a->b, &n) || n < 2 || n > INT32_MAX || !aff_uses_place(a)) return false;
    return ix_is_wide(e, a->a) || multiplies_places(a->a);
}

static bool has_long(const Emitter *e, const Aff *a)
{
    if (!a || a->kind == AFF_AT) return false;
    return is_long(e, a) || has_long(e, a->a) || has_long(e, a->b);
}

/* The remainder as a symbol, the same as long as it is in the same register. */
static const Aff *symbol_of(Emitter *e, const Aff *rest, int64_t n)
{
    const char *reg = ix_value(e, rest);
    for (int i = 0; i < e->residues.len; i++) {
        const Residue *known = &e->residues.data[i];
        const Memo *now = &e->syms[known->sym->id];
        if (known->of == rest && now->valid && strcmp(em_name(e, REG_R, now->reg), reg) == 0) return aff_of(e->program->aff, known->sym);
    }
    const AffSym *sym = ix_symbol(e, "rest", reg, ix_level(e, rest), n - 1);
    vec_push(e->arena, &e->residues, (Residue){rest, sym});
    return aff_of(e->program->aff, sym);
}

static const Aff *at_place(const Emitter *e, const Aff *a, const Aff *row, const Aff *col)
{
    AffCtx *aff = e->program->aff;
    return aff_subst(aff, aff_subst(aff, a, e->program->row, row), e->program->col, col);
}

/* a % n at a place; NULL: it is not shorter. */
static const Aff *reduce(Emitter *e, const Aff *a, const Aff *row, const Aff *col)
{
    AffCtx *aff = e->program->aff;
    int64_t n = a->b->value, lo, hi;
    Sum sum = {.n = 0};
    split_sum(aff, a->a, &sum);
    if (sum.failed) return NULL;
    const Aff *most = aff_const(aff, 0), *reduced = aff_const(aff, 0);
    for (int i = 0; i < sum.n; i++) {
        Product *p = &sum.products[i];
        *p = (Product){rs_at(e, p->place, row, col), aff_mod(aff, p->shared, a->b)};
        most = aff_add(aff, most, aff_mul(aff, p->place, p->shared->kind == AFF_CONST ? p->shared : aff_const(aff, n - 1)));
    }
    aff_bounds(most, &lo, &hi);
    if (lo < 0 || hi > INT32_MAX) return NULL;
    for (int i = 0; i < sum.n; i++) {
        const Product *p = &sum.products[i];
        const Aff *rest = p->shared->kind == AFF_CONST ? p->shared : symbol_of(e, p->shared, n);
        reduced = aff_add(aff, reduced, aff_mul(aff, p->place, rest));
    }
    return aff_mod(aff, reduced, a->b);
}

static const Aff *rebuild(AffCtx *aff, const Aff *from, const Aff *a, const Aff *b)
{
    switch (from->kind) {
    case AFF_ADD: return aff_add(aff, a, b);
    case AFF_MUL: return aff_mul(aff, a, b);
    case AFF_DIV: return aff_div(aff, a, b);
    case AFF_MOD: return aff_mod(aff, a, b);
    case AFF_MIN: return aff_min(aff, a, b);
    case AFF_MAX: return aff_max(aff, a, b);
    case AFF_LE: return aff_le(aff, a, b);
    case AFF_EQ: return aff_eq(aff, a, b);
    case AFF_AND: return aff_and(aff, a, b);
    case AFF_OR: return aff_or(aff, a, b);
    case AFF_NOT: return aff_not(aff, a);
    case AFF_EXP2: return aff_exp2(aff, a);
    case AFF_CONST: case AFF_SYM: case AFF_AT: case AFF_POISON: break;
    }
    return from;
}

const Aff *rs_at(Emitter *e, const Aff *a, const Aff *row, const Aff *col)
{
    if (aff_uses_kind(a, AFF_TABLE) || !has_long(e, a)) return at_place(e, a, row, col);
    const Aff *reduced = is_long(e, a) ? reduce(e, a, row, col) : NULL;
    if (reduced) return reduced;
    const Aff *left = rs_at(e, a->a, row, col), *right = a->b ? rs_at(e, a->b, row, col) : NULL;
    return rebuild(e->program->aff, a, left, right);
}
