/* tree.h: how nodes are made (internal to src/lang). */
#ifndef TW_LANG_TREE_H
#define TW_LANG_TREE_H

#include "lang/lang.h"

Expr *expr_node(Arena *arena, ExprKind kind, Expr *a, Expr *b); /* keeps depth right */
void unit_name_ones(Arena *arena, Unit *unit);                  /* of a sketch: ones.c */

#endif
