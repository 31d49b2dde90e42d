/* formula.h: formulas over elements at their own place, taken apart into operations.
 *
 *   where(j <= i, S[row, col] * scale, -inf)     Multiply S, scale; Mask that where j <= i
 *
 * Of what the formula is, a definition's or a Kernel's, only its maker knows: which elements are
 * own ones, so that the value which they are of is an operand, and how an operation is written.
 *
 * Vocabulary
 *   own    an element at the place of the element that is defined
 *   part   what an expression of the formula became: a number or a value
 *   into   the formula's own value, for the last operation; NULL: one for itself
 */
#ifndef TW_LANG_FORMULA_H
#define TW_LANG_FORMULA_H

#include "lang/lang.h"

typedef struct FormulaPart {
    void *value;        /* NULL: a number */
    const Expr *number;
} FormulaPart;

typedef struct FormulaMaker {
    Arena *arena;
    void *user;
    int room; /* for so many operations */
    /* The value whose own element this is; NULL: it is something else. */
    void *(*own)(void *user, const Expr *e);
    /* Whether a condition may stay one, whatever elements it reads. */
    bool (*is_plain)(void *user, const Expr *where);
    /* The number that an expression is known to be. */
    bool (*number)(void *user, const Expr *e, double *value);
    /* An expression without own elements, as a number or a value of its own. */
    FormulaPart (*define)(void *user, const Expr *e);
    void *(*operate)(void *user, OpId op, const FormulaPart *args, int n, void *into);
    /* x where a plain condition holds, else a number. NULL: x has fewer elements than the condition differs for. */
    void *(*mask)(void *user, const Expr *where, FormulaPart x, double otherwise, void *into);
} FormulaMaker;

/* Each false: the formula is not to be taken apart. */
bool formula_take_apart(FormulaMaker *m, const Expr *e, void *into, FormulaPart *part);
/* x where a condition holds, else a number. */
bool formula_keep(FormulaMaker *m, const Expr *where, FormulaPart x, double otherwise, void *into, FormulaPart *part);
/* Whether there are own elements in it. */
bool formula_has_own(const FormulaMaker *m, const Expr *e);
/* The condition of a choice between two values, or a value and a number that is not known. */
bool formula_condition(FormulaMaker *m, const Expr *where, FormulaPart *part);

#endif
