/* test_affine.c: canonical forms, bounds, proofs, printing; and a property test
 * that draws random expressions and compares the canonical form, its bounds and
 * its printed text with direct evaluation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "affine/aff.h"

typedef struct Fixture {
    Heap heap;
    jmp_buf oom;
    Arena *arena;
    AffCtx *ctx;
    /* n, len >= 1: dims; m in [0, 1000]; j in [0, 63]; row in [0, 127]; col in [0, 63]; x: any */
    const AffSym *n, *len, *m, *j, *row, *col, *x;
    const AffSym *table; /* T, of two dimensions, with elements in [-50, 50] */
} Fixture;

enum { SYMS = 7, VALUES = 8 }; /* symbols of numbers; with the table's, which comes last */

static int64_t read_table(const void *user, const int64_t *at)
{
    (void)user;
    return (int64_t)(((uint64_t)at[0] * 31 + (uint64_t)at[1] * 17) % 101) - 50;
}

static const AffTable table = {.rank = 2, .read = read_table};

static int setup(void **state)
{
    static Fixture f;
    f = (Fixture){.heap = {.on_oom = &f.oom}};
    if (setjmp(f.oom))
        return -1;
    f.arena = arena_new(&f.heap);
    f.ctx = aff_ctx_new(f.arena);
    f.n = aff_sym_new(f.ctx, "n", AFF_DIM, 1, INT64_MAX);
    f.len = aff_sym_new(f.ctx, "len", AFF_DIM, 1, INT64_MAX);
    f.m = aff_sym_new(f.ctx, "m", AFF_GRID, 0, 1000);
    f.j = aff_sym_new(f.ctx, "j", AFF_LOOP, 0, 63);
    f.row = aff_sym_new(f.ctx, "row", AFF_ROW, 0, 127);
    f.col = aff_sym_new(f.ctx, "col", AFF_COL, 0, 63);
    f.x = aff_sym_new(f.ctx, "x", AFF_SCALAR, INT64_MIN, INT64_MAX);
    f.table = aff_sym_new(f.ctx, "T", AFF_TABLE, -50, 50);
    for (int i = 0; i < aff_sym_count(f.ctx); i++)
        aff_of(f.ctx, aff_sym_at(f.ctx, i)); /* so that texts come in this order */
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    arena_free(((Fixture *)*state)->arena);
    return 0;
}

#define TEXT(a)    aff_text(f->arena, (a))
#define S(name)    aff_of(f->ctx, f->name)
#define K(value)   aff_const(f->ctx, (value))
#define ADD(a, b)  aff_add(f->ctx, (a), (b))
#define SUB(a, b)  aff_sub(f->ctx, (a), (b))
#define MUL(a, b)  aff_mul(f->ctx, (a), (b))
#define DIV(a, b)  aff_div(f->ctx, (a), (b))
#define MOD(a, b)  aff_mod(f->ctx, (a), (b))
#define CEIL(a, b) aff_ceildiv(f->ctx, (a), (b))
#define MIN(a, b)  aff_min(f->ctx, (a), (b))
#define MAX(a, b)  aff_max(f->ctx, (a), (b))
#define LE(a, b)   aff_le(f->ctx, (a), (b))
#define LT(a, b)   aff_lt(f->ctx, (a), (b))
#define EQ(a, b)   aff_eq(f->ctx, (a), (b))
#define AND(a, b)  aff_and(f->ctx, (a), (b))
#define OR(a, b)   aff_or(f->ctx, (a), (b))
#define NOT(a)     aff_not(f->ctx, (a))

static void sums_collect_like_terms(void **state)
{
    Fixture *f = *state;
    const Aff *tile = ADD(MUL(S(m), K(128)), S(row));
    assert_ptr_equal(tile, ADD(S(row), MUL(K(128), S(m))));
    assert_ptr_equal(SUB(tile, S(row)), aff_scale(f->ctx, S(m), 128));
    assert_ptr_equal(SUB(tile, tile), K(0));
    assert_ptr_equal(MUL(ADD(S(x), K(1)), SUB(S(x), K(1))), SUB(MUL(S(x), S(x)), K(1)));
    assert_ptr_equal(MUL(S(n), ADD(S(m), S(x))), ADD(MUL(S(x), S(n)), MUL(S(m), S(n))));
    assert_string_equal(TEXT(tile), "m * 128 + row");
    assert_string_equal(TEXT(SUB(K(3), S(x))), "3 - x");
    assert_string_equal(TEXT(aff_scale(f->ctx, S(x), -2)), "-x * 2");
}

static void division_by_constants(void **state)
{
    Fixture *f = *state;
    const Aff *global = ADD(MUL(S(j), K(64)), S(col));
    assert_ptr_equal(DIV(global, K(64)), S(j));
    assert_ptr_equal(MOD(global, K(64)), S(col));
    assert_ptr_equal(DIV(global, K(128)), DIV(S(j), K(2)));
    assert_ptr_equal(MOD(global, K(128)), ADD(MUL(K(64), MOD(S(j), K(2))), S(col)));
    assert_ptr_equal(DIV(ADD(S(x), K(128)), K(128)), ADD(DIV(S(x), K(128)), K(1)));
    assert_ptr_equal(DIV(DIV(S(x), K(4)), K(8)), DIV(S(x), K(32)));
    assert_ptr_equal(MOD(MOD(S(x), K(32)), K(8)), MOD(S(x), K(8)));
    assert_ptr_equal(DIV(MOD(S(x), K(32)), K(4)), MOD(DIV(S(x), K(4)), K(8)));
    assert_ptr_equal(ADD(MUL(K(8), DIV(S(x), K(8))), MOD(S(x), K(8))), S(x));
    assert_ptr_equal(DIV(S(x), K(-4)), DIV(SUB(K(0), S(x)), K(4)));
    assert_ptr_equal(DIV(S(row), K(128)), K(0));
    assert_true(aff_is_poison(DIV(S(x), K(0))));
    assert_true(aff_is_poison(MOD(S(x), K(0))));
}

static void ceil_division_prints_as_written(void **state)
{
    Fixture *f = *state;
    assert_string_equal(TEXT(CEIL(S(len), K(64))), "ceil(len / 64)");
    assert_string_equal(TEXT(CEIL(ADD(S(len), S(n)), K(64))), "ceil((n + len) / 64)");
    assert_string_equal(TEXT(CEIL(S(len), S(n))), "ceil(len / n)");
    assert_string_equal(TEXT(MUL(CEIL(S(len), K(64)), S(n))), "n * ceil(len / 64)");
    assert_ptr_equal(CEIL(MUL(S(j), K(64)), K(128)), CEIL(S(j), K(2)));
    assert_ptr_equal(CEIL(K(130), K(64)), K(3));
    assert_ptr_equal(DIV(SUB(S(x), K(1)), K(64)), SUB(CEIL(S(x), K(64)), K(1)));
}

static void division_by_symbols(void **state)
{
    Fixture *f = *state;
    const Aff *flat = ADD(MUL(S(x), S(n)), K(0));
    assert_ptr_equal(DIV(flat, S(n)), S(x));
    assert_ptr_equal(MOD(flat, S(n)), K(0));
    assert_ptr_equal(DIV(S(n), S(n)), K(1));
    assert_ptr_equal(DIV(MUL(MUL(S(n), S(x)), S(len)), MUL(S(len), S(n))), S(x));
    assert_string_equal(TEXT(DIV(S(x), S(n))), "x div n");
}

static void min_and_max_know_order(void **state)
{
    Fixture *f = *state;
    assert_ptr_equal(MIN(S(x), ADD(S(x), S(n))), S(x));
    assert_ptr_equal(MAX(S(x), ADD(S(x), S(n))), ADD(S(x), S(n)));
    assert_ptr_equal(MIN(S(x), MIN(S(n), S(x))), MIN(S(n), S(x)));
    assert_ptr_equal(MIN(S(x), MAX(S(x), S(n))), S(x));
    assert_ptr_equal(MIN(S(row), K(127)), S(row));
    assert_string_equal(TEXT(MIN(MIN(S(x), S(n)), S(len))), "min(n, len, x)");
    assert_true(aff_always(f->ctx, LE(MIN(S(x), S(n)), S(n))));
    assert_true(aff_always(f->ctx, LE(SUB(MIN(S(x), S(n)), S(n)), K(0))));
}

static void comparisons_are_canonical(void **state)
{
    Fixture *f = *state;
    assert_ptr_equal(LE(S(n), S(x)), NOT(LT(S(x), S(n))));
    assert_ptr_equal(LT(S(n), S(x)), LE(ADD(S(n), K(1)), S(x)));
    assert_ptr_equal(LE(MUL(K(4), S(x)), K(7)), LE(S(x), K(1)));
    assert_ptr_equal(EQ(S(x), S(n)), EQ(S(n), S(x)));
    assert_ptr_equal(EQ(MUL(K(2), S(x)), K(1)), K(0));
    assert_ptr_equal(LT(S(row), K(128)), K(1));
    assert_ptr_equal(LT(K(127), S(row)), K(0));
    assert_ptr_equal(NOT(NOT(EQ(S(x), S(n)))), EQ(S(x), S(n)));
    assert_string_equal(TEXT(LE(S(x), S(n))), "x <= n");
    assert_string_equal(TEXT(LT(S(x), S(n))), "x < n");
    assert_string_equal(TEXT(LT(SUB(S(x), K(1024)), S(n))), "x <= n + 1023");
    assert_string_equal(TEXT(LE(S(x), K(-3))), "x <= -3");
    assert_string_equal(TEXT(LE(K(3), S(x))), "x >= 3");
    assert_string_equal(TEXT(NOT(EQ(S(n), S(x)))), "n != x");
    assert_string_equal(TEXT(EQ(S(x), K(5))), "x == 5");
}

static void logic_absorbs_and_implies(void **state)
{
    Fixture *f = *state;
    const Aff *p = LE(S(x), S(n)), *q = LT(S(x), S(n)), *r = LE(S(len), S(x));
    assert_ptr_equal(AND(p, q), q);
    assert_ptr_equal(OR(p, q), p);
    assert_ptr_equal(AND(p, r), AND(r, p));
    assert_ptr_equal(AND(p, OR(p, r)), p);
    assert_ptr_equal(OR(p, AND(p, r)), p);
    assert_ptr_equal(AND(p, NOT(p)), K(0));
    assert_ptr_equal(OR(p, NOT(p)), K(1));
    assert_ptr_equal(AND(p, K(1)), p);
    assert_ptr_equal(NOT(AND(p, r)), OR(NOT(r), NOT(p)));
    assert_ptr_equal(AND(LE(S(x), K(3)), LE(S(x), K(5))), LE(S(x), K(3)));
    assert_ptr_equal(AND(EQ(S(x), K(3)), LE(S(x), K(5))), EQ(S(x), K(3)));
    assert_ptr_equal(AND(S(x), K(1)), NOT(EQ(S(x), K(0))));
    assert_string_equal(TEXT(AND(OR(p, r), EQ(S(row), K(1)))), "(x <= n or len <= x) and row == 1");
}

static void bounds_see_through_tiles(void **state)
{
    Fixture *f = *state;
    int64_t lo, hi;
    aff_bounds(ADD(MUL(S(m), K(128)), S(row)), &lo, &hi);
    assert_int_equal(lo, 0);
    assert_int_equal(hi, 128127);
    assert_true(aff_always(f->ctx, LE(S(len), MUL(K(64), CEIL(S(len), K(64))))));
    assert_true(aff_always(f->ctx, LT(MUL(K(64), CEIL(S(len), K(64))), ADD(S(len), K(64)))));
    assert_true(aff_never(f->ctx, LT(S(len), K(1))));
    assert_false(aff_always(f->ctx, LE(S(len), K(5))));
    assert_false(aff_never(f->ctx, LE(S(len), K(5))));
    const AffSym *any = aff_sym_new(f->ctx, "any", AFF_DIM, 0, 100);
    aff_bounds(aff_div(f->ctx, S(row), aff_of(f->ctx, any)), &lo, &hi); /* nothing is divided by 0 */
    assert_true(lo == 0 && hi <= 127);
    aff_bounds(MUL(S(x), S(x)), &lo, &hi);
    assert_int_equal(lo, 0);
    assert_int_equal(hi, INT64_MAX);
}

static void divisors(void **state)
{
    Fixture *f = *state;
    assert_int_equal(aff_divisor(ADD(MUL(S(m), K(128)), MUL(S(n), K(96)))), 32);
    assert_int_equal(aff_divisor(K(0)), 0);
    assert_int_equal(aff_divisor(K(-12)), 12);
    assert_int_equal(aff_divisor(MIN(MUL(S(x), K(8)), MUL(S(n), K(12)))), 4);
    assert_int_equal(aff_divisor(S(n)), 1);
}

static void substitution_and_linearity(void **state)
{
    Fixture *f = *state;
    const Aff *k, *rest, *a = ADD(MUL(MUL(S(j), S(n)), K(3)), ADD(S(j), S(x)));
    assert_true(aff_linear(f->ctx, a, f->j, &k, &rest));
    assert_ptr_equal(k, ADD(MUL(S(n), K(3)), K(1)));
    assert_ptr_equal(rest, S(x));
    assert_false(aff_linear(f->ctx, MUL(S(j), S(j)), f->j, &k, &rest));
    assert_false(aff_linear(f->ctx, DIV(S(x), K(3)), f->x, &k, &rest));
    assert_ptr_equal(aff_subst(f->ctx, DIV(ADD(S(x), S(n)), K(3)), f->x, SUB(K(9), S(n))), K(3));
    assert_true(aff_uses(a, f->j));
    assert_false(aff_uses(a, f->row));
    assert_true(aff_uses_kind(a, AFF_LOOP));
}

static void extremes_over_a_range(void **state)
{
    Fixture *f = *state;
    const Aff *a = SUB(ADD(MUL(S(m), K(128)), S(row)), S(x));
    assert_ptr_equal(aff_lower_over(f->ctx, a, f->row, K(0), K(127)), SUB(MUL(S(m), K(128)), S(x)));
    assert_ptr_equal(aff_upper_over(f->ctx, a, f->row, K(0), K(127)),
                     ADD(SUB(MUL(S(m), K(128)), S(x)), K(127)));
    assert_ptr_equal(aff_upper_over(f->ctx, a, f->x, S(n), S(len)),
                     SUB(ADD(MUL(S(m), K(128)), S(row)), S(n)));
    assert_null(aff_upper_over(f->ctx, MOD(S(x), K(3)), f->x, K(0), K(9)));
    assert_ptr_equal(aff_upper_over(f->ctx, DIV(S(x), S(n)), f->x, K(0), S(n)), K(1));
    assert_ptr_equal(aff_lower_over(f->ctx, LE(S(x), S(n)), f->x, K(0), ADD(S(n), K(1))), K(0));
}

static void elements_of_tables(void **state)
{
    Fixture *f = *state;
    const Aff *at[] = {S(m), ADD(S(j), K(1))}, *a = aff_element(f->ctx, f->table, at, 2), *coords[AFF_MAX_COORDS];
    const Aff *next[] = {S(m), ADD(S(j), K(2))}, *b = aff_element(f->ctx, f->table, next, 2), *coef, *rest;
    const AffSym *table_of;
    int64_t values[VALUES] = {0}, v, lo, hi;
    assert_string_equal(TEXT(ADD(MUL(a, K(64)), S(row))), "row + T[m, j + 1] * 64");
    assert_ptr_equal(a, aff_element(f->ctx, f->table, at, 2));
    assert_ptr_equal(SUB(a, a), K(0));
    assert_ptr_equal(aff_subst(f->ctx, a, f->j, ADD(S(j), K(1))), b);

    const AffSym *once = aff_sym_new(f->ctx, "once", AFF_LOOP, 0, 0); /* which is 0, but no other 0 is it */
    assert_ptr_equal(aff_subst(f->ctx, aff_le(f->ctx, S(x), K(47)), once, S(j)), aff_le(f->ctx, S(x), K(47)));
    assert_ptr_equal(aff_subst(f->ctx, aff_of(f->ctx, once), once, S(j)), K(0));
    assert_int_equal(aff_coords(a, &table_of, coords), 2);
    assert_ptr_equal(table_of, f->table);
    assert_ptr_equal(coords[0], at[0]);
    assert_ptr_equal(coords[1], at[1]);
    assert_true(aff_uses(a, f->j) && aff_uses_kind(a, AFF_TABLE) && !aff_uses(a, f->row));
    aff_bounds(a, &lo, &hi);
    assert_true(lo == -50 && hi == 50);
    assert_true(aff_always(f->ctx, aff_le(f->ctx, a, K(50))));
    assert_false(aff_always(f->ctx, aff_le(f->ctx, a, b)));
    assert_false(aff_linear(f->ctx, a, f->j, &coef, &rest));
    assert_null(aff_lower_over(f->ctx, a, f->j, K(0), K(9)));
    values[f->m->id] = 3;
    values[f->j->id] = 4;
    assert_false(aff_eval(a, values, &v)); /* no such table */
    values[f->table->id] = (int64_t)(intptr_t)&table;
    assert_true(aff_eval(a, values, &v) && v == read_table(NULL, (const int64_t[]){3, 5}));
    const Aff *inner[] = {a, S(j)};
    const int64_t there[] = {v, 4};
    assert_true(aff_eval(aff_element(f->ctx, f->table, inner, 2), values, &v) && v == read_table(NULL, there));
}

static void powers_of_two(void **state)
{
    Fixture *f = *state;
    const Aff *bits = MUL(MOD(S(x), K(8)), K(4)), *power = aff_exp2(f->ctx, bits);
    int64_t lo, hi, values[VALUES] = {0}, v;
    assert_string_equal(TEXT(MOD(DIV(S(j), power), K(16))), "j div 2 ** (x mod 8 * 4) mod 16");
    assert_string_equal(TEXT(SUB(SUB(K(0), power), S(j))), "-j - 2 ** (x mod 8 * 4)");
    assert_ptr_equal(aff_exp2(f->ctx, K(5)), K(32));
    assert_ptr_equal(aff_subst(f->ctx, power, f->x, K(11)), K(4096));
    assert_ptr_equal(DIV(MUL(power, S(n)), power), S(n));
    aff_bounds(power, &lo, &hi);
    assert_true(lo == 1 && hi == 1 << 28);
    aff_bounds(MOD(S(j), power), &lo, &hi);
    assert_true(lo == 0 && hi < 1 << 28);
    assert_int_equal(aff_divisor(aff_exp2(f->ctx, ADD(MOD(S(x), K(8)), K(3)))), 8);
    assert_true(aff_is_poison(aff_exp2(f->ctx, S(x))) && aff_is_poison(aff_exp2(f->ctx, K(-1))));
    assert_true(aff_is_poison(aff_exp2(f->ctx, K(63))) && !aff_is_poison(aff_exp2(f->ctx, K(62))));
    values[f->x->id] = 13;
    assert_true(aff_eval(power, values, &v) && v == 1 << 20);
}

static void hostile_sizes_become_poison(void **state)
{
    Fixture *f = *state;
    const Aff *a = S(x), *b = S(x), *c = K(0), *d = S(x);
    for (int i = 0; i < 5000; i++) {
        a = DIV(MUL(a, K(3)), K(7));
        b = MIN(b, aff_of(f->ctx, aff_sym_new(f->ctx, "s", AFF_DIM, 0, INT64_MAX)));
        c = ADD(c, aff_of(f->ctx, aff_sym_new(f->ctx, "s", AFF_DIM, 0, INT64_MAX)));
        d = MUL(d, S(n));
    }
    assert_true(aff_is_poison(a));
    assert_true(aff_is_poison(b));
    assert_true(aff_is_poison(c));
    assert_true(aff_is_poison(d));
    assert_true(aff_is_poison(ADD(K(INT64_MAX), K(1))));
    assert_true(aff_is_poison(MUL(K(INT64_MIN), K(-1))));
    assert_true(aff_is_poison(MUL(S(x), K(INT64_MIN))));
    assert_true(aff_is_poison(AND(K(0), a)));
}

/* ---- random expressions -------------------------------------------------------- */

typedef struct Tree {
    AffKind kind;
    int64_t value;
    int sym;
    int a, b;
} Tree;

enum { NODES = 24, MOST = 9 /* exponent */ };

typedef struct Random {
    Rng rng;
    Tree nodes[NODES];
    int n;
} Random;

static int64_t random_constant(Rng *rng)
{
    static const int64_t usual[] = {0, 1, -1, 2, 3, 4, 8, 16, 63, 64, 65, 127, 128, -64, 7, 12};
    return usual[rng_below(rng, (int)TW_COUNT(usual))];
}

static int random_tree(Random *r, int depth)
{
    static const AffKind inner[] = {AFF_ADD, AFF_ADD, AFF_ADD, AFF_MUL, AFF_MUL, AFF_DIV,
                                    AFF_DIV, AFF_MOD, AFF_MOD, AFF_MIN, AFF_MAX, AFF_LE,
                                    AFF_EQ,  AFF_AND, AFF_OR,  AFF_NOT, AFF_AT,  AFF_EXP2};
    int at = r->n++;
    Tree t = {.kind = AFF_CONST, .value = random_constant(&r->rng), .a = -1, .b = -1};
    if (depth > 0 && r->n < NODES - 2 && rng_below(&r->rng, 5)) {
        t.kind = inner[rng_below(&r->rng, (int)TW_COUNT(inner))];
        t.a = random_tree(r, depth - 1);
        t.b = t.kind == AFF_NOT || t.kind == AFF_EXP2 || r->n >= NODES - 1 ? t.a : random_tree(r, depth - 1);
    } else if (rng_below(&r->rng, 3)) {
        t.kind = AFF_SYM;
        t.sym = rng_below(&r->rng, SYMS);
    }
    r->nodes[at] = t;
    return at;
}

/* Evaluation by definition, strict in both operands. */
static bool tree_eval(const Random *r, int at, const int64_t *values, int64_t *v)
{
    const Tree *t = &r->nodes[at];
    int64_t x, y;
    if (t->kind == AFF_CONST || t->kind == AFF_SYM) {
        *v = t->kind == AFF_CONST ? t->value : values[t->sym];
        return true;
    }
    if (!tree_eval(r, t->a, values, &x) || !tree_eval(r, t->b, values, &y))
        return false;
    switch (t->kind) {
    case AFF_ADD: return !__builtin_add_overflow(x, y, v);
    case AFF_MUL: return !__builtin_mul_overflow(x, y, v);
    case AFF_DIV:
    case AFF_MOD: {
        if (y == 0 || (x == INT64_MIN && y == -1))
            return false;
        int64_t q = x / y;
        q -= q * y != x && (x < 0) != (y < 0);
        *v = t->kind == AFF_DIV ? q : x - q * y;
        return true;
    }
    case AFF_MIN: *v = x < y ? x : y; return true;
    case AFF_MAX: *v = x > y ? x : y; return true;
    case AFF_LE: *v = x <= y; return true;
    case AFF_EQ: *v = x == y; return true;
    case AFF_AND: *v = x && y; return true;
    case AFF_OR: *v = x || y; return true;
    case AFF_NOT: *v = !x; return true;
    case AFF_AT: *v = read_table(NULL, (const int64_t[]){x, y}); return true;
    case AFF_EXP2: *v = INT64_C(1) << (x < 0 ? 0 : x > MOST ? MOST : x); return true;
    case AFF_CONST:
    case AFF_SYM:
    case AFF_POISON: break;
    }
    return false;
}

static const Aff *tree_build(Fixture *f, const Random *r, int at)
{
    const Tree *t = &r->nodes[at];
    if (t->kind == AFF_CONST)
        return K(t->value);
    if (t->kind == AFF_SYM)
        return aff_of(f->ctx, aff_sym_at(f->ctx, t->sym));
    const Aff *a = tree_build(f, r, t->a), *b = tree_build(f, r, t->b);
    switch (t->kind) {
    case AFF_ADD: return ADD(a, b);
    case AFF_MUL: return MUL(a, b);
    case AFF_DIV: return DIV(a, b);
    case AFF_MOD: return MOD(a, b);
    case AFF_MIN: return MIN(a, b);
    case AFF_MAX: return MAX(a, b);
    case AFF_LE: return LE(a, b);
    case AFF_EQ: return EQ(a, b);
    case AFF_AND: return AND(a, b);
    case AFF_OR: return OR(a, b);
    case AFF_NOT: return NOT(a);
    case AFF_AT: return aff_element(f->ctx, f->table, (const Aff *const[]){a, b}, 2);
    case AFF_EXP2: return aff_exp2(f->ctx, MIN(MAX(a, K(0)), K(MOST)));
    case AFF_CONST:
    case AFF_SYM:
    case AFF_POISON: break;
    }
    return NULL;
}

/* ---- reading printed text back ---------------------------------------------------- */

typedef struct Reader {
    const char *at;
    const AffCtx *ctx;
    const int64_t *values;
    bool failed; /* the text is no expression; x div 0 reads as 0, for it may not matter */
} Reader;

static int64_t read_or(Reader *r);

static bool skip_word(Reader *r, const char *word)
{
    size_t len = strlen(word);
    while (*r->at == ' ')
        r->at++;
    if (strncmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

static int64_t read_ceil(Reader *r)
{
    int64_t x = read_or(r);
    r->failed |= !skip_word(r, "/");
    int64_t y = read_or(r);
    r->failed |= !skip_word(r, ")");
    return r->failed || y == 0 ? 0 : x / y + (x % y != 0 && (x < 0) == (y < 0));
}

static int64_t read_extreme(Reader *r, bool least)
{
    int64_t v = read_or(r);
    while (skip_word(r, ",")) {
        int64_t w = read_or(r);
        v = (w < v) == least ? w : v;
    }
    r->failed |= !skip_word(r, ")");
    return v;
}

static int64_t read_element(Reader *r)
{
    int64_t at[2];
    at[0] = read_or(r);
    r->failed |= !skip_word(r, ",");
    at[1] = read_or(r);
    r->failed |= !skip_word(r, "]");
    return read_table(NULL, at);
}

static int64_t read_atom(Reader *r)
{
    char *end;
    if (skip_word(r, "T["))
        return read_element(r);
    if (skip_word(r, "ceil("))
        return read_ceil(r);
    if (skip_word(r, "min("))
        return read_extreme(r, true);
    if (skip_word(r, "max("))
        return read_extreme(r, false);
    if (skip_word(r, "(")) {
        int64_t v = read_or(r);
        r->failed |= !skip_word(r, ")");
        return v;
    }
    for (int i = SYMS - 1; i >= 0; i--)
        if (skip_word(r, aff_sym_at(r->ctx, i)->name))
            return r->values[i];
    int64_t v = strtoll(r->at, &end, 10);
    r->failed |= end == r->at;
    r->at = end;
    if (!skip_word(r, "**"))
        return v;
    r->failed |= v != 2;
    v = read_atom(r);
    r->failed |= v < 0 || v > AFF_MOST_EXPONENT;
    return r->failed ? 0 : INT64_C(1) << v;
}

static int64_t read_product(Reader *r)
{
    int64_t v = read_atom(r);
    for (;;) {
        bool div = skip_word(r, "div "), mod = !div && skip_word(r, "mod ");
        if (!div && !mod && !skip_word(r, "*"))
            return v;
        int64_t w = read_atom(r);
        if (!div && !mod) {
            r->failed |= __builtin_mul_overflow(v, w, &v);
            continue;
        }
        int64_t q = w ? v / w - (v % w != 0 && (v < 0) != (w < 0)) : 0;
        v = w == 0 ? 0 : div ? q : v - q * w;
    }
}

static int64_t read_sum(Reader *r)
{
    int64_t v = skip_word(r, "-") ? -read_product(r) : read_product(r);
    for (;;) {
        if (skip_word(r, "+"))
            v += read_product(r);
        else if (skip_word(r, "-"))
            v -= read_product(r);
        else
            return v;
    }
}

static int64_t read_comparison(Reader *r)
{
    int64_t v = read_sum(r);
    if (skip_word(r, "<="))
        return v <= read_sum(r);
    if (skip_word(r, ">="))
        return v >= read_sum(r);
    if (skip_word(r, "<"))
        return v < read_sum(r);
    if (skip_word(r, "=="))
        return v == read_sum(r);
    if (skip_word(r, "!="))
        return v != read_sum(r);
    return v;
}

static int64_t read_and(Reader *r)
{
    int64_t v = 1, n = 0, w;
    do {
        w = skip_word(r, "not ") ? !read_atom(r) : read_comparison(r);
        v = v && w;
        n++;
    } while (skip_word(r, "and "));
    return n == 1 ? w : v;
}

static int64_t read_or(Reader *r)
{
    int64_t v = read_and(r);
    while (skip_word(r, "or ")) {
        int64_t w = read_and(r);
        v = v || w;
    }
    return v;
}

static void draw_values(Fixture *f, Rng *rng, int64_t *values)
{
    for (int i = 0; i < SYMS; i++) {
        const AffSym *s = aff_sym_at(f->ctx, i);
        int64_t lo = s->lo == INT64_MIN ? -300 : s->lo, hi = s->hi == INT64_MAX ? 300 : s->hi;
        values[i] = lo + rng_below(rng, (int)(hi - lo + 1));
    }
    values[f->table->id] = (int64_t)(intptr_t)&table;
}

static void check_values(Fixture *f, const Random *r, const Aff *a, const int64_t *values, int seed)
{
    int64_t want, got, lo, hi;
    if (!tree_eval(r, 0, values, &want))
        return;
    if (!aff_eval(a, values, &got) || got != want)
        fail_msg("seed %d: %s is %lld, not %lld", seed, TEXT(a), (long long)got, (long long)want);
    aff_bounds(a, &lo, &hi);
    if (got < lo || got > hi)
        fail_msg("seed %d: %s = %lld not in [%lld, %lld]", seed, TEXT(a), (long long)got,
                 (long long)lo, (long long)hi);
    int64_t d = aff_divisor(a);
    if (d ? got % d != 0 : got != 0)
        fail_msg("seed %d: %s = %lld has no divisor %lld", seed, TEXT(a), (long long)got,
                 (long long)d);
    if ((aff_always(f->ctx, a) && !got) || (aff_never(f->ctx, a) && got))
        fail_msg("seed %d: %s = %lld contradicts a proof", seed, TEXT(a), (long long)got);
    Reader reader = {TEXT(a), f->ctx, values, false};
    int64_t read = read_or(&reader);
    if (reader.failed || *reader.at || read != got)
        fail_msg("seed %d: %s reads back as %lld, not %lld", seed, TEXT(a), (long long)read,
                 (long long)got);
}

/* lower_over and upper_over really are the extremes. */
static void check_extremes(Fixture *f, const Aff *a, const int64_t *values, int seed)
{
    int64_t at[VALUES], v, least = INT64_MAX, most = INT64_MIN, lo, hi;
    const Aff *low = aff_lower_over(f->ctx, a, f->j, K(0), K(63));
    const Aff *high = aff_upper_over(f->ctx, a, f->j, K(0), K(63));
    memcpy(at, values, sizeof at);
    for (at[f->j->id] = 0; at[f->j->id] <= 63; at[f->j->id]++) {
        if (!aff_eval(a, at, &v))
            return;
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    if (low && aff_eval(low, values, &lo) && lo != least)
        fail_msg("seed %d: least of %s over j is %lld, not %s = %lld", seed, TEXT(a),
                 (long long)least, TEXT(low), (long long)lo);
    if (high && aff_eval(high, values, &hi) && hi != most)
        fail_msg("seed %d: greatest of %s over j is %lld, not %s = %lld", seed, TEXT(a),
                 (long long)most, TEXT(high), (long long)hi);
}

static void random_expressions_keep_their_value(void **state)
{
    Fixture *f = *state;
    int poisoned = 0, rounds = 8000;
    for (int seed = 1; seed <= rounds; seed++) {
        Random r = {.rng = {(uint64_t)seed}};
        int64_t values[VALUES];
        random_tree(&r, 4);
        const Aff *a = tree_build(f, &r, 0);
        if (aff_is_poison(a)) {
            poisoned++;
            continue;
        }
        for (int i = 0; i < 12; i++) {
            draw_values(f, &r.rng, values);
            check_values(f, &r, a, values, seed);
            if (i == 0)
                check_extremes(f, a, values, seed);
        }
    }
    assert_in_range(poisoned, 0, rounds / 4); /* division by the constant 0 mostly */
}

/* ---- proofs by cases, sums over a counter --------------------------------------------- */

static void proofs_by_cases(void **state)
{
    Fixture *f = *state;
    const Aff *n = S(n), *m = S(m), *j = S(j), *x = S(x), *zero = K(0);
    const Aff *both = ADD(MAX(zero, m), MAX(zero, SUB(n, m)));
    const Aff *inside[] = {SUB(n, m)};
    assert_true(aff_is_zero_given(f->ctx, SUB(both, n), inside, 1));
    assert_false(aff_is_zero_given(f->ctx, SUB(both, n), NULL, 0)); /* m may be beyond n */
    assert_true(aff_is_zero_given(f->ctx, SUB(both, n), inside, 1)); /* asked again: each with what was given */
    assert_false(aff_is_zero_given(f->ctx, SUB(both, n), NULL, 0));
    const Aff *k = MIN(ADD(m, K(1)), n);
    assert_true(aff_is_zero_given(f->ctx, SUB(ADD(k, MAX(zero, SUB(n, k))), n), NULL, 0));
    assert_true(aff_is_zero_given(f->ctx, SUB(ADD(MIN(x, j), MAX(x, j)), ADD(x, j)), NULL, 0));
    const Aff *odd = aff_eq(f->ctx, x, K(5));
    assert_true(aff_is_zero_given(f->ctx, MUL(odd, SUB(x, K(5))), NULL, 0));
    assert_false(aff_is_zero_given(f->ctx, MUL(odd, SUB(x, K(4))), NULL, 0));
    const Aff *never[] = {SUB(j, K(40)), SUB(K(30), j)};
    assert_true(aff_is_zero_given(f->ctx, x, never, 2)); /* what is given cannot be */
    assert_false(aff_is_zero_given(f->ctx, x, never, 1));
}

static const Aff *random_choice(Fixture *f, Rng *rng, int depth)
{
    const Aff *leaf[] = {S(m), S(j), S(row), K(rng_below(rng, 5) - 2)};
    if (!depth || !rng_below(rng, 3))
        return leaf[rng_below(rng, 4)];
    const Aff *a = random_choice(f, rng, depth - 1), *b = random_choice(f, rng, depth - 1);
    switch (rng_below(rng, 5)) {
    case 0: return MIN(a, b);
    case 1: return MAX(a, b);
    case 2: return SUB(a, b);
    case 3: return aff_le(f->ctx, a, b);
    default: return ADD(a, b);
    }
}

static void check_zero(Fixture *f, const Aff *a, const Aff *given, Rng *rng)
{
    for (int i = 0; i < 60; i++) {
        int64_t values[16] = {0}, value, holds;
        for (int k = 0; k < aff_sym_count(f->ctx); k++)
            values[k] = 1 + rng_below(rng, 6);
        if (aff_eval(given, values, &holds) && holds >= 0 && aff_eval(a, values, &value) && value != 0)
            fail_msg("%s is no 0 where %s is at least 0", TEXT(a), TEXT(given));
    }
}

/* What is proved is so; and of what is so by construction most is proved. */
static void proofs_are_right(void **state)
{
    Fixture *f = *state;
    int proved = 0, rounds = 1500;
    for (int seed = 1; seed <= rounds; seed++) {
        Rng rng = {(uint64_t)seed};
        const Aff *a = random_choice(f, &rng, 2), *b = random_choice(f, &rng, 2), *c = random_choice(f, &rng, 2);
        const Aff *other = rng_below(&rng, 4) ? b : c;
        const Aff *zero = rng_below(&rng, 2) ? SUB(ADD(MIN(a, b), MAX(a, other)), ADD(a, other)) : SUB(MAX(a, b), other);
        const Aff *given = rng_below(&rng, 2) ? SUB(b, a) : SUB(b, ADD(a, K(rng_below(&rng, 3) - 1)));
        if (!aff_is_zero_given(f->ctx, zero, &given, 1))
            continue;
        proved++;
        check_zero(f, zero, given, &rng);
    }
    assert_in_range(proved, rounds / 3, rounds);
}

/* The sum over j of conditions of j and other factors, against adding it up. */
static void sums_over_a_counter(void **state)
{
    Fixture *f = *state;
    int seen = 0, rounds = 600;
    for (int seed = 1; seed <= rounds; seed++) {
        Rng rng = {(uint64_t)seed};
        const Aff *j = S(j), *total = K(rng_below(&rng, 3)), *lo = K(rng_below(&rng, 5)), *hi = ADD(S(m), K(rng_below(&rng, 4)));
        for (int i = rng_below(&rng, 3); i >= 0; i--) {
            const Aff *left = ADD(aff_scale(f->ctx, j, rng_below(&rng, 7) - 3), S(row)), *right = ADD(S(col), K(rng_below(&rng, 9) - 4));
            const Aff *cond = rng_below(&rng, 4) ? aff_le(f->ctx, left, right) : aff_eq(f->ctx, left, right);
            if (rng_below(&rng, 3) == 0)
                cond = aff_and(f->ctx, cond, aff_le(f->ctx, j, S(col)));
            total = ADD(total, MUL(rng_below(&rng, 2) ? cond : SUB(K(1), cond), ADD(S(col), K(1))));
        }
        const Aff *sum = aff_sum_over(f->ctx, total, f->j, lo, hi);
        if (!sum)
            continue;
        seen++;
        for (int i = 0; i < 10; i++) {
            int64_t values[16] = {0}, first = 0, end = 0, want = 0, one = 0, have = 0;
            for (int k = 0; k < aff_sym_count(f->ctx); k++)
                values[k] = rng_below(&rng, 12);
            assert_true(aff_eval(lo, values, &first) && aff_eval(hi, values, &end) && aff_eval(sum, values, &have));
            for (values[f->j->id] = first; values[f->j->id] < end; values[f->j->id]++) {
                assert_true(aff_eval(total, values, &one));
                want += one;
            }
            if (have != want)
                fail_msg("sum of %s from %s to %s is %lld, not %s = %lld", TEXT(total), TEXT(lo), TEXT(hi),
                         (long long)want, TEXT(sum), (long long)have);
        }
        assert_false(aff_uses(sum, f->j));
    }
    assert_in_range(seen, rounds / 2, rounds);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(sums_collect_like_terms),
        TEST(division_by_constants),
        TEST(ceil_division_prints_as_written),
        TEST(division_by_symbols),
        TEST(min_and_max_know_order),
        TEST(comparisons_are_canonical),
        TEST(logic_absorbs_and_implies),
        TEST(bounds_see_through_tiles),
        TEST(divisors),
        TEST(substitution_and_linearity),
        TEST(extremes_over_a_range),
        TEST(elements_of_tables), TEST(powers_of_two), TEST(hostile_sizes_become_poison),
        TEST(random_expressions_keep_their_value),
        TEST(proofs_by_cases),
        TEST(proofs_are_right),
        TEST(sums_over_a_counter),
    };
    return cmocka_run_group_tests_name("affine", tests, NULL, NULL);
}
