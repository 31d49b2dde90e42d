/* tree.h: how nodes are made (internal to src/lang). */
#ifndef TW_LANG_TREE_H
#define TW_LANG_TREE_H

#include "lang/lang.h"

Expr *expr_node(Arena *arena, ExprKind kind, Expr *a, Expr *b); /* keeps depth right */
void expr_set_args(Expr *e, Expr **args, int n_args);

#endif
