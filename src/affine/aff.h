/* aff.h: symbolic integers, for shapes, coordinates, masks, loop bounds and addresses.
 *
 * An Aff is an immutable, hash-consed expression over named 64-bit integers:
 * within one AffCtx two expressions that simplify to the same canonical form
 * are the same pointer. Conditions are expressions too: 0 is false, 1 is true.
 *
 * Canonical form: a sum of (coefficient x product of atoms) in a fixed order
 * plus a constant; an atom is a symbol or an irreducible div, mod, power of two,
 * min, max, comparison or logical node. Division is floor division (as `div` in TL),
 * mod has the sign of its divisor; both need a divisor that is not the constant 0.
 * Arithmetic that would overflow 64 bits yields the poison expression, which
 * absorbs everything and for which aff_is_poison is true.
 *
 * An element of a table, `T[b, j]`, is an atom too: the integer that a tensor holds at
 * coordinates which are expressions themselves. Nothing is known of it but its range,
 * and that equal coordinates give equal elements.
 */
#ifndef TW_AFF_H
#define TW_AFF_H

#include "base/base.h"

typedef enum AffKind {
    AFF_CONST, AFF_SYM, AFF_ADD, AFF_MUL, AFF_DIV, AFF_MOD, AFF_EXP2, AFF_MIN, AFF_MAX,
    AFF_LE, AFF_EQ, AFF_AND, AFF_OR, AFF_NOT,
    AFF_AT, /* a table and its first coordinate; of further ones such a node and the next */
    AFF_POISON
} AffKind;

/* What a symbol stands for; says where its value is known. */
typedef enum AffSymKind {
    AFF_DIM,    /* a dimension of the program: a kernel argument, fixed for a launch */
    AFF_GRID,   /* a block's coordinate in the grid */
    AFF_WINDOW, /* where a block's row begins in memory, behind a multiple of 16 bytes */
    AFF_LOOP,   /* a loop counter */
    AFF_ROW,    /* row of the element within the tile at hand */
    AFF_COL,    /* column of the element within the tile at hand */
    AFF_SCALAR, /* an integer computed in the kernel from data */
    AFF_TABLE   /* a tensor of integers; its bounds are those of the elements */
} AffSymKind;

typedef struct AffSym {
    const char *name;
    AffSymKind kind;
    int64_t lo, hi; /* inclusive bounds of its value; INT64_MIN/MAX: unknown */
    int id;         /* unique within the context, from 0 */
} AffSym;

typedef struct Aff {
    AffKind kind;
    int id;             /* unique within the context; gives a stable order */
    int64_t value;      /* AFF_CONST */
    const AffSym *sym;  /* AFF_SYM */
    const struct Aff *a, *b; /* operands; NOT and EXP2 have a alone */
} Aff;

typedef struct AffCtx AffCtx;
AffCtx *aff_ctx_new(Arena *arena);

/* A fresh symbol; equal names do not make equal symbols. */
AffSym *aff_sym_new(AffCtx *ctx, const char *name, AffSymKind kind, int64_t lo, int64_t hi);

const Aff *aff_const(AffCtx *ctx, int64_t value);
const Aff *aff_of(AffCtx *ctx, const AffSym *sym);
const Aff *aff_add(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_sub(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_mul(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_scale(AffCtx *ctx, const Aff *a, int64_t factor);
const Aff *aff_offset(AffCtx *ctx, const Aff *a, int64_t constant);
const Aff *aff_without_constant(AffCtx *ctx, const Aff *a, int64_t *constant); /* a = result + *constant */
const Aff *aff_div(AffCtx *ctx, const Aff *a, const Aff *b);     /* floor */
const Aff *aff_ceildiv(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_mod(AffCtx *ctx, const Aff *a, const Aff *b);
/* 2 to the power a; poison where a may lie outside of 0 to AFF_MOST_EXPONENT. */
enum { AFF_MOST_EXPONENT = 62 };
const Aff *aff_exp2(AffCtx *ctx, const Aff *a);
const Aff *aff_min(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_max(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_le(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_lt(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_eq(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_and(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_or(AffCtx *ctx, const Aff *a, const Aff *b);
const Aff *aff_not(AffCtx *ctx, const Aff *a);
/* The element of a table (a symbol of that kind) at n coordinates. */
enum { AFF_MAX_COORDS = 8 };
const Aff *aff_element(AffCtx *ctx, const AffSym *table, const Aff *const *coords, int n);
/* What an AFF_AT is an element of, and where: how many coordinates there are. */
int aff_coords(const Aff *element, const AffSym **table, const Aff *coords[AFF_MAX_COORDS]);

bool aff_is_const(const Aff *a, int64_t *value);
bool aff_is_poison(const Aff *a);
bool aff_is_condition(const Aff *a); /* a comparison, or one of several by and, or, not */
bool aff_uses(const Aff *a, const AffSym *sym);
bool aff_uses_kind(const Aff *a, AffSymKind kind);
bool aff_uses_place(const Aff *a); /* the element's own: its row or its column */

/* a with every occurrence of sym replaced. */
const Aff *aff_subst(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *by);
/* Likewise of an atom, as an element of a table. */
const Aff *aff_replace(AffCtx *ctx, const Aff *a, const Aff *atom, const Aff *by);

/* The sum seen as coef * sym + rest, where neither coef nor rest uses sym.
 * False when a is not linear in sym. */
bool aff_linear(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff **coef, const Aff **rest);

/* Inclusive bounds from the symbols' own ranges (interval arithmetic;
 * INT64_MIN/MAX where unknown). */
void aff_bounds(const Aff *a, int64_t *lo, int64_t *hi);
bool aff_never_negative(const Aff *a);
/* True when it is proved for every value within the symbols' ranges. */
bool aff_always(AffCtx *ctx, const Aff *condition);
bool aff_never(AffCtx *ctx, const Aff *condition);
/* True when a is proved to be 0 for every value of the symbols for which each of
 * given[i] is at least 0, by looking at the cases of its min, max and conditions. */
bool aff_is_zero_given(AffCtx *ctx, const Aff *a, const Aff *const *given, int n);
/* The sum of a over sym = lo, ..., hi - 1, as an expression without sym: of terms
 * that do not use it, or that use it in conditions alone. NULL: it is not seen. */
const Aff *aff_sum_over(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *lo, const Aff *hi);
/* Largest known divisor of a: 0 for the constant 0, else at least 1. A dim
 * symbol counts as 1. */
int64_t aff_divisor(const Aff *a);

/* The least/greatest value of a over sym in [lo, hi] (both expressions), as an
 * expression without sym; NULL when a is not monotone in sym by inspection. */
const Aff *aff_lower_over(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *lo, const Aff *hi);
const Aff *aff_upper_over(AffCtx *ctx, const Aff *a, const AffSym *sym, const Aff *lo, const Aff *hi);

/* How elements of a table are read: the one at `rank` coordinates, which may lie outside. */
typedef struct AffTable {
    int rank;
    int64_t (*read)(const void *user, const int64_t *at);
    const void *user;
} AffTable;

/* Value under an assignment of the symbols: values[sym->id]; that of a table is the address of
 * an AffTable, or 0 where none is known. False on overflow, division by zero or no such table. */
bool aff_eval(const Aff *a, const int64_t *values, int64_t *result);

/* TL text, with as few parentheses as its precedence allows: `m * 128 + row`,
 * `(q_len + 127) div 128`, `a <= b and c < d`. ceil-division prints as ceil(a / b). */
const char *aff_text(Arena *arena, const Aff *a);

/* The same as an expression of C++: how symbols are named, and what the functions are
 * called that stand for div, mod, ceil(a / b), min and max. */
typedef struct AffStyle {
    const char *(*name)(void *user, const AffSym *sym);
    void *user;
    const char *floor_div, *floor_mod, *ceil_div, *min, *max;
    const char *(*element)(void *user, const AffSym *table, const Aff *const *coords, int n);
    const char *conjunction, *disjunction; /* " and ", " or " */
} AffStyle;
void aff_print_styled(Str *out, const Aff *a, const AffStyle *style);

/* For walking all expressions of a context by id (emitters, tables). */
int aff_sym_count(const AffCtx *ctx);
const AffSym *aff_sym_at(const AffCtx *ctx, int id);

#endif
