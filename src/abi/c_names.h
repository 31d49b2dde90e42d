/* c_names.h: names and texts of a definition, made fit for a C header. */
#ifndef TW_ABI_C_NAMES_H
#define TW_ABI_C_NAMES_H

#include "base/base.h"

/* An identifier of C and C++ that is no keyword. */
char *c_identifier(Arena *arena, const char *name);
/* The same, and none of the n in `taken`. */
const char *c_unique(Arena *arena, const char *name, const char *const *taken, int n);
char *c_upper(Arena *arena, const char *name);
/* A string literal, quotes included; text inside a comment. */
void c_string(Str *out, const char *text);
void c_comment(Str *out, const char *text);

#endif
