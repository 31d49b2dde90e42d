/* cutter.h: what cut.c and apart.c share: kernels that leave values in memory for those behind them.
 *
 * Vocabulary: cut.c.
 */
#ifndef TW_FUSE_CUTTER_H
#define TW_FUSE_CUTTER_H

#include "fuse/flow.h"

typedef struct Kept {
    const DefValue *value; /* in the whole definition */
    const char *name;
    DType dtype;
} Kept;

typedef struct Goal {
    DefValue **values;
    int n;
    bool keeps; /* it is what is kept, not what the definition writes: a value may be both */
    const DefValue *beside; /* the one of them that is left in memory exactly as well; NULL: none */
} Goal;

/* A goal that was tried: the search comes to the same ones by several ways. */
typedef struct Tried {
    const char *key; /* what it computes, from what */
    bool fits;
    int parts; /* into which its loops are best cut; 0: not asked yet */
} Tried;

typedef struct Cutter {
    Arena *arena;
    Syms *syms;
    const Def *def;
    FuseMisfit misfit;
    FuseParts parts; /* NULL: kernels are not cut into parts */
    void *user;
    const char *why;
    bool open;     /* what stopped the one kernel: a size left to the launch */
    bool copies;   /* nothing is kept but inputs in another type */
    bool modest;   /* nothing is kept that is much larger than inputs and outputs */
    int n_values;  /* ids are less */
    Readers readers; /* values that kernels ahead make, as products take them */
    VEC(Kept) kept;
    Program *program;
    VEC(Tried) tried;
    int depth;
} Cutter;

/* By value id: what the goal is computed from, itself included. */
bool *cut_needed_for(const Cutter *c, const Goal *goal);
/* Adds the kernels of a goal, from what is kept, if they can be and fit. repeat: blocks may compute the same products. */
bool cut_attempt(Cutter *c, const Goal *goal, bool repeat);
/* Likewise, with kernels ahead for what the goal reads single elements of. */
bool cut_reach(Cutter *c, const Goal *goal);
/* Adds the kernels of a goal: as few as are found, and those ahead that they take. */
bool cut_solve(Cutter *c, const Goal *goal);
bool cut_is_kept(const Cutter *c, const DefValue *value);
/* Whether it is not much larger than the largest input or output. */
bool cut_is_little(const Def *def, const DefValue *value);
/* A workspace's shape is declared. */
bool cut_has_shape(const Cutter *c, const DefValue *value);
bool cut_in_goal(const Goal *goal, const DefValue *value);
/* Whether an output holds, in memory, what others want of the value: exactly, or as the products that alone take it round it. */
bool cut_is_read_where_written(const Cutter *c, const DefValue *value);
/* A product that the cut's kernel and the goal's would both compute; NULL: none. */
DefValue *cut_repeated_product(const Cutter *c, const Goal *goal, const Goal *cut);
/* A goal as a definition, with a unit of its own, in which what is kept is declared as tensors are. */
Def *cut_as_definition(const Cutter *c, const Goal *goal);
/* What the operation gives other places, computing nothing; NULL: it is no such one. */
const DefValue *cut_rearranged(const DefOp *op);
/* The value as it would be kept. */
Kept cut_keep(const Cutter *c, const DefValue *value);

/* ---- totals.c */

/* The definition with softmaxes of what products make as the maximum, the exponentials, their sum and the quotient. */
const Def *cut_spell_softmaxes(const Cutter *c);
/* Adds the kernels of a goal: first those that leave what rows of products come to, then the others, which compute the same
 * products again. */
bool cut_at_totals(Cutter *c, const Goal *goal);

/* What others want of a total: where all that is done with it is a function of it, that one's value. */
DefValue *cut_as_wanted(const Def *def, DefValue *total);

/* ---- share.c */

/* Adds a kernel for the first values that leaves what the others need of it, if there is anything, and can be such a kernel. What
 * is kept stays so if not. */
bool cut_share(Cutter *c, const Goal *first, const Goal *rest);
/* Adds a kernel for the first of these values, and for those of its rows that are made of the same products, or, of each other,
 * one of which is made of the other; likewise. */
bool cut_together(Cutter *c, const Goal *values, bool of_each_other);

/* What is made of the definition as products see its tensors, or, where that cannot be put back or is nothing, as it is
 * written. n_values: ids of its values are less. NULL: nothing is made of either. */
typedef Program *CutMake(void *user, const Def *def, int n_values);
Program *cut_as_seen(Arena *arena, Syms *syms, const Def *written, CutMake *make, void *user);

#endif
