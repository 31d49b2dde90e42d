/* view.h: what view.c and told.c share. */
#ifndef TW_FUSE_VIEW_H
#define TW_FUSE_VIEW_H

#include "fuse/flow.h"
#include "lang/eval.h"

enum { VIEW_RANK = 8, VIEW_MOST = 64, VIEW_BEHIND = 8 };

typedef struct Finder {
    Arena *arena;
    Syms *syms;
    const Def *def;
    Views *views;
    EvalEnv env;
    View *view; /* at hand */
    VEC(const AffSym *) places; /* of blocks */
} Finder;

/* A product that takes it as it is; NULL: none does. */
const DefValue *view_product(const Finder *f, const DefValue *seen);
/* Where a block is along the dimension that `over`, a leading one of what is seen, follows; NULL: it is not known. */
const Aff *view_place_along(Finder *f, const char *over);
/* An integer that is the same for all of a block's tile; NULL: it is none. */
const Aff *view_block_integer(Finder *f, const Expr *e);
/* A part of the tensor's dimension d, where what is seen runs along it on that axis; false: e says none that tiles can be. */
bool view_find_part(Finder *f, int d, const Expr *e, int axis);
/* An entry of the tensor's dimension d; false: e is none. */
bool view_find_entry(Finder *f, int d, const Expr *e);

/* told.c: an entry that an element of a table names, the same for all of a block's tile; false: e is none. */
bool view_look_up_entry(Finder *f, const DefOp *op, int d, const Expr *e);
/* Whether coordinates of an access say of each row of the view where it lies; they become the view's. */
bool view_find_told(Finder *f, const DefOp *op, const Expr *e);

#endif
