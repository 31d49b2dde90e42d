/* print.h: shared by the printers (internal to src/lang). */
#ifndef TW_LANG_PRINT_H
#define TW_LANG_PRINT_H

#include "lang/lang.h"

/* An operand of Compute: what `and` would cut off stands in brackets. */
void print_operand(Str *out, const Expr *e);
void print_list(Str *out, Expr *const *items, int n, const char *between);

#endif
