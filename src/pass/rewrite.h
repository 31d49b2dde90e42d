/* rewrite.h: small tools that passes share: making operations at a place. */
#ifndef TW_REWRITE_H
#define TW_REWRITE_H

#include "tile/tile.h"

/* Where new operations go: before block->ops.data[at]; `at` moves along. */
typedef struct Rewriter {
    TileProgram *program;
    TileKernel *kernel;
    TileBlock *block;
    int at;
    Span loc; /* given to new operations */
} Rewriter;

TileOp *rw_insert(Rewriter *rw, TileOpKind kind, int n_args, TileValue *const *args, int n_results,
                  const TileType *types);
TileValue *rw_fill(Rewriter *rw, double number);                        /* fp32 (1,1) */
TileValue *rw_fill_tile(Rewriter *rw, double number, int rows, int cols); /* fp32 */
TileValue *rw_element(Rewriter *rw, OpId op, int n_args, TileValue *const *args);
TileValue *rw_unary(Rewriter *rw, OpId op, TileValue *a);
TileValue *rw_binary(Rewriter *rw, OpId op, TileValue *a, TileValue *b);
/* v where cond holds, else the number; all of it where `unless` does (NULL: never). */
TileValue *rw_mask(Rewriter *rw, TileValue *v, const Aff *cond, const Aff *unless, double number);
TileValue *rw_reduce_rows(Rewriter *rw, OpId op, TileValue *a);         /* (R,C) to (R,1) */

/* The number of a FILL without a parameter that defines v; false otherwise. */
bool rw_number(const TileValue *v, double *number);
/* Multiply-adds of the products that stand in the block itself. */
int64_t rw_work(const TileBlock *block);

/* Operations that take v as an argument, each once. */
typedef VEC(const TileOp *) Uses;
Uses rw_uses(Arena *arena, const TileBlock *block, const TileValue *v);

/* The block within `block` in which an operation stands, and where; NULL: it does not. */
TileBlock *rw_block_of(TileBlock *block, const TileOp *op, int *at);

/* One more value that a loop carries, as a parameter of its body; it still has to
 * be yielded (rw_yield). */
TileValue *rw_carry(TileProgram *program, TileKernel *kernel, TileOp *loop, TileValue *init);
/* One more result of an operation; its regions still have to yield it. */
TileValue *rw_result(TileProgram *program, TileKernel *kernel, TileOp *op, TileType type);
/* An if of the body, or of a block within, does not give a result that nothing uses. */
void rw_drop_unused(TileBlock *body, TileOp *branch, const TileValue *result);
/* Adds a value to what the region yields. */
void rw_yield(TileProgram *program, TileBlock *region, TileValue *value);
/* A loop no longer carries its value i, which its body does not use and nobody outside. */
void rw_carry_less(TileOp *loop, int i);
/* Ends a block with what it yields. */
TileOp *rw_yield_all(TileProgram *program, TileKernel *kernel, TileBlock *block, TileValue *const *values, int n);
/* A loop over the same turns, with a counter of its own, which carries these values: its body is still empty, without
 * parameters. */
TileOp *rw_same_turns(Rewriter *rw, const TileOp *loop, int n, TileValue *const *init);
/* if cond { } else { }: of results like these; both regions are still empty. */
TileOp *rw_choice(TileProgram *program, TileKernel *kernel, const Aff *cond, TileValue *const *results, int n, Span loc);
/* Puts something between a result and those who use it: the operation has a fresh
 * result instead; what is made of that serves the uses of the old one. */
TileValue *rw_renew(Rewriter *rw, TileOp *op, int result);
void rw_serve(TileValue *old, TileValue *made);

/* A load into registers of rows that lie where coordinates say of each becomes a gather: each element for itself.
 * Its value, masked where the load had a condition; the rewriter is just behind it. */
TileValue *rw_gather_rows(Rewriter *rw, TileOp *load);

/* In `scope` one value stands for another, under its name where it has none. */
void rw_stand_for(TileBlock *scope, TileValue *old, TileValue *new);
/* In `scope` these values stand for an operation's results, under their names where they
 * have none. */
void rw_give(TileBlock *scope, const TileOp *op, TileValue *const *values);
/* The first region's operations stand in place of block[at], what it yields for its results. */
void rw_inline(TileProgram *program, TileBlock *scope, TileBlock *block, int at);

/* Whether an expression of the operation, its regions aside, has the symbol. */
bool rw_names(const TileOp *op, const AffSym *sym);
/* In all expressions of a block, those of its regions included, `by` in place of sym. */
void rw_substitute(TileProgram *program, TileBlock *block, const AffSym *sym, const Aff *by);
void rw_remove(TileBlock *block, const TileOp *op); /* which stands in the block itself */
/* Whether a tile of the ring is awaited by block[from, to). */
bool rw_awaits(const TileBlock *block, int from, int to, const TileValue *ring);
/* One more axis of the grid, the first, under this name or one like it. */
TileAxis *rw_first_axis(TileProgram *program, TileKernel *kernel, const char *name, int extent);
/* Likewise the last, of any extent. */
const AffSym *rw_last_axis(TileProgram *program, TileKernel *kernel, const char *name, const Aff *extent);
/* Whether an expression differs from block to block. */
bool rw_uses_grid(const TileKernel *kernel, const Aff *a);
/* Removes operations without effects whose results nothing uses. */
void rw_remove_dead(TileBlock *block);
bool tile_op_has_effect(const TileOp *op);

/* Calls visit on every block of the kernel, inner ones first. */
void rw_each_block(TileBlock *block, void (*visit)(void *user, TileBlock *block), void *user);

#endif
