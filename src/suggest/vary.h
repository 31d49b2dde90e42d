/* vary.h: small changes of Kernels that give something else than the Operator beside them (for this folder only).
 *
 * What was meant is mostly one step from what is written: two indices exchanged, another sign, another name, a statement
 * that is missing. Nobody can say beforehand which step, so many are tried on a small shape (witness.c), the likeliest first;
 * the first behind which both agree is suggested.
 *
 *   propose_unread.c      an Input that is not read
 *   propose_pass.c        a whole loop that is missing
 *   propose_agree.c       what the definition says of the same thing
 *   propose_lacking.c     steps of the definition's that are missing
 *   propose_undivided.c   sums of a loop that another one is to divide behind it
 *   propose_alike.c       what is said in several places
 *   propose_turned.c      rows for columns: products, conditions, columns of numbers
 *   propose_bounds.c      bounds of loops
 *   propose_last_turn.c   what a loop does in its last turn
 *   propose_guarded.c     branches that leave out tiles which the mask in them is for
 *   propose_by_hand.c     steps of a softmax that is written out
 *   propose_untaken.c     what takes, or makes, a tile that nothing does
 *   propose_masked.c      conditions on elements that are missing
 *   propose_exprs.c       expressions: order, signs, bounds, names, numbers
 *   propose_twin.c        what another block with the same statements does
 *   propose_shifted.c     stages and tiles of rings that are one off
 *   propose_lost_softmax.c  a softmax whose state is read
 *   propose_changed.c     statements: another operation, operand or result, one more, one elsewhere
 */
#ifndef TW_SUGGEST_VARY_H
#define TW_SUGGEST_VARY_H

#include "suggest/cuts.h"

typedef VEC(const Stmt *) Stmts;
typedef VEC(const char *) Names;

/* What a Kernel has. */
typedef struct Vary {
    Suggester *s;
    const Unit *kernel, *definition;
    Stmts all;       /* in order, those of blocks within included */
    Stmts computes;
    Names tiles, columns; /* that statements copy or compute; a column has a number for each row */
    Names counters;  /* of the grid and of loops, and what is assigned of these */
    Names sizes;     /* of dimensions and tiles, and other numbers */
} Vary;

/* The definition beside the Kernels of a program; NULL: there is none. */
const Unit *vary_definition(const Suggester *s);
Vary vary_kernel(Suggester *s, const Unit *kernel);
bool vary_has(const Names *names, const char *name);

/* `Add X, 0`, `Multiply X, 1`: the same elements again. */
bool vary_copies(const Stmt *s);

/* Whether an expression names a size of the Kernel's tensors. */
bool vary_names_size(const Unit *kernel, const Expr *e);
/* `ceil(N / BN)`, or a part of that, `ceil(ceil(N / BN) / splits)`: as many turns as there are tiles, and no more. */
bool vary_counts_all(const Unit *kernel, const Expr *e);

/* What a Compute gives a value to; NULL: it is none. */
const char *vary_result(const Stmt *s);
/* Whether the statement, or one in it, reads the name; to begin with a number is not. */
bool vary_takes(const Stmt *s, const char *name);
/* Whether the i-th statement of a loop makes the tile as it is before the k-th, or what that is made of. */
bool vary_makes(const Stmt *loop, int i, int k, const char *tile);

/* Tries a Kernel, that of the diagnostic first, and then the others. */
typedef bool VaryKernel(Vary *v);
bool vary_each(Suggester *s, VaryKernel *f);
/* Of the Kernel that a diagnostic is about alone, by a few tries of its own: only what then agrees. */
bool vary_own(Suggester *s, VaryKernel *f);

#endif
