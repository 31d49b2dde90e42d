/* forms.h: text with holes (for this folder only).
 *
 *   for $k in range(0, $B, $C)      for k in range(0, ceil(len), BK)      k, B: ceil(len), C: BK
 *
 * `$k` is a name, `$A` any text in which brackets close, the shortest that fits; the
 * same hole twice is the same text. Blanks and the case of words do not matter. */
#ifndef TW_SUGGEST_FORMS_H
#define TW_SUGGEST_FORMS_H

#include "suggest/proposal.h"

enum { FORM_LONGEST = 320 }; /* of a line that is compared */

typedef struct Holes {
    Span at[128]; /* of the text, by the hole's letter; {0, 0}: not filled */
} Holes;

bool form_match(const char *form, const char *text, Holes *holes);
const char *form_hole(Suggester *s, const char *text, const Holes *holes, char name);
/* Another form with what the holes hold. */
const char *form_filled(Suggester *s, const char *to, const char *text, const Holes *holes);

/* The line that the diagnostic is of, without blanks round it, a comment behind it, and what ends a line elsewhere. */
Span form_line(const Suggester *s);
/* Its text without names of modules, types of counters and quotes. */
const char *form_plain(Suggester *s, Span line);

/* plain.c: a formula without what Python's array languages write and tiles need not. */
const char *formula_plain(Suggester *s, const char *text);

/* propose_formula.c: an expression, `@` a product of matrices; NULL: it is none. */
Expr *formula_expr(Suggester *s, const char *text);
/* Whether an expression is one of tensors that the unit has. */
bool formula_of_tensors(Suggester *s, const char *text);
/* Its statements, whose last one gives the result; NULL: there is no operation for some part, or none at all. */
const char *formula_text(Suggester *s, const char *result, const Expr *e, const char *indent);
/* Likewise where so many names more are tiles, with another word than `part` for what steps give. */
const char *formula_text_of(Suggester *s, const char *result, const Expr *e, const char *indent, const char *const *tiles, int n, const char *part);

/* propose_notation.c: a line in the notation of other languages as TL's; itself, where there is nothing to change. */
const char *notation_plain(Suggester *s, const char *line);

/* propose_einsum.c: each einsum of one or two matrices as a product, with `@`. */
const char *einsum_products(Suggester *s, const char *text);

/* propose_functions.c: functions of other languages as formulas of what there is; NULL: that is too long. */
const char *functions_expanded(Suggester *s, const char *text);

#endif
