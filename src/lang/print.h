/* print.h: shared by the printers (internal to src/lang). */
#ifndef TW_LANG_PRINT_H
#define TW_LANG_PRINT_H

#include "lang/lang.h"

void print_list(Str *out, Expr *const *items, int n, const char *between);

#endif
