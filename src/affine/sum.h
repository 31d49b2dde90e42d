/* sum.h: how expressions are stored; for the files of this folder only.
 *
 * Vocabulary
 *   node     an Aff with what is computed once about it: size, kinds of symbols, bounds
 *   atom     a symbol, div, mod, min, max, comparison, logical node or element of a table
 *   product  an atom, or MUL(product, atom) with the factors' ids ascending
 *   term     a product, or MUL(product, CONST)
 *   sum      a term, a constant, or ADD(sum, term), ids of products ascending,
 *            or ADD(sum, CONST)
 *
 * AffSum is a sum unfolded on the stack, for arithmetic without interning:
 *
 *   ADD(ADD(MUL(m, 128), row), 3)   <->   { 128 x m, 1 x row } + 3
 */
#ifndef TW_AFF_SUM_H
#define TW_AFF_SUM_H

#include "affine/aff.h"

enum {
    AFF_MAX_TERMS = 64,  /* of a sum */
    AFF_MAX_DEGREE = 8,  /* factors of a product */
    AFF_MAX_LIST = 32,   /* operands of a flattened min, max, and, or */
    AFF_MAX_SIZE = 2048  /* nodes of an expression seen as a tree; bounds every recursion */
};

typedef struct AffNode {
    Aff aff; /* first, so that an Aff pointer is a node pointer */
    int size;
    unsigned kinds; /* of symbols in it: 1 << AffSymKind */
    uint64_t symbols; /* in it: a bit for each, which others may have as well */
    bool bounded;   /* lo and hi are known */
    int64_t lo, hi;
} AffNode;

typedef struct AffTerm {
    const Aff *product;
    int64_t coef;
} AffTerm;

typedef struct AffSum {
    AffTerm terms[AFF_MAX_TERMS];
    int n;
    int64_t constant;
    bool bad; /* overflow, poison, or too many terms */
} AffSum;

/* Operands of a flattened associative node. */
typedef struct AffList {
    const Aff *items[AFF_MAX_LIST];
    int n;
    bool bad;
} AffList;

/* What was asked of aff_is_zero_given, and the answer: programs are verified after each
 * pass, and few change what is to be proved. */
typedef struct AffClaim {
    const Aff *a, **given;
    int n;
    bool holds;
} AffClaim;
typedef VEC(AffClaim) AffClaims;

/* What is made of the same operands again and again, as when the elements of a tile are written
 * one by one, is found rather than made: a table in which a new answer takes the place of an old one. */
typedef enum AffAsked { ASKED_SUM, ASKED_DIFFERENCE, ASKED_DIV, ASKED_MOD, ASKED_LE, ASKED_LT, ASKED_AND, ASKED_REPLACED, ASKED_ALWAYS } AffAsked;
typedef struct AffAnswer {
    AffAsked what;
    const Aff *a, *b, *c;
    const Aff *answer; /* NULL: the place is empty */
} AffAnswer;

/* aff.c */
/* What is made of two operands, if it is not remembered. */
typedef const Aff *AffMake(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_once(AffCtx *ctx, AffAsked what, const Aff *a, const Aff *b, AffMake *make);
/* NULL: it was not asked, or is forgotten. */
const Aff *aff_recall(const AffCtx *ctx, AffAsked what, const Aff *a, const Aff *b, const Aff *c);
/* The answer itself. */
const Aff *aff_remember(AffCtx *ctx, AffAsked what, const Aff *a, const Aff *b, const Aff *c, const Aff *answer);
AffClaims *aff_claims(AffCtx *ctx, Arena **arena);
const Aff *aff_poison(AffCtx *ctx);
const Aff *aff_node(AffCtx *ctx, AffKind kind, const Aff *a, const Aff *b);
void sum_clear(AffSum *s);
void sum_of(AffSum *s, const Aff *a);
void sum_add_term(AffSum *s, const Aff *product, int64_t coef);
void sum_add_constant(AffSum *s, int64_t constant);
void sum_add(AffSum *s, const Aff *a, int64_t factor); /* s += factor * a */
void sum_difference(AffSum *s, const Aff *a, const Aff *b);
const Aff *sum_build(AffCtx *ctx, AffSum *s);
/* Whether no symbol is in both: what is known of one says nothing of the other. */
bool aff_apart(const Aff *a, const Aff *b);
/* The factors of a product, ascending; their number. */
int aff_factors(const Aff *product, const Aff *factors[AFF_MAX_DEGREE]);

/* The node of that kind over new operands, simplified. */
const Aff *aff_rebuild(AffCtx *ctx, AffKind kind, const Aff *a, const Aff *b);

/* bounds.c */
/* Of a new node; those of a sum are found when they are asked for. */
void aff_node_bounds(AffNode *node);
void sum_bounds(const AffSum *s, int64_t *lo, int64_t *hi);
/* a <= b for all values of the symbols, as far as can be seen. */
bool aff_proved_le(const Aff *a, const Aff *b);

/* Floor division; false when b is 0 or the result does not fit. */
static inline bool floor_div(int64_t a, int64_t b, int64_t *q)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *q = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

/* The remainder that goes with floor_div: it has b's sign. */
static inline int64_t floor_mod(int64_t a, int64_t b)
{
    if (b == -1)
        return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* False where 2 to the power x is no integer of 64 bits that the context makes. */
static inline bool aff_power_of_two(int64_t x, int64_t *power)
{
    if (x < 0 || x > AFF_MOST_EXPONENT)
        return false;
    *power = INT64_C(1) << x;
    return true;
}

static inline uint64_t magnitude(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static inline uint64_t gcd_u64(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static inline bool aff_is_boolean(const Aff *a)
{
    int64_t lo, hi;
    aff_bounds(a, &lo, &hi);
    return lo >= 0 && hi <= 1;
}

#endif
