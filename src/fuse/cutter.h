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

typedef VEC(Kept) KeptList;

/* A goal as a definition of its own. */
typedef struct Excerpt {
    Def *def;
    VEC(DefValue *) workspaces; /* of its values: what is kept */
} Excerpt;

/* A goal that a search has settled on. */
typedef struct CutStep {
    Goal goal;
    bool repeat;     /* blocks may compute the same products */
    KeptList kept;   /* by then */
    const char *key; /* under which its answer is */
} CutStep;

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
    FuseAsked *asked;
    const char *of; /* which of the definitions that are made of the one that is to be cut; the same for each that asks of that one */
    int search;     /* its number */
    int tries, more; /* how often it was granted more of them */
    int depth;
    KeptList kept;
    VEC(CutStep) steps;
} Cutter;

/* ---- excerpt.c */

/* A goal as a definition, with the whole one's unit. */
Excerpt cut_excerpt(const Cutter *c, const Goal *goal);
/* Likewise, with a unit of its own, in which what is kept is declared as tensors are. */
Def *cut_as_definition(const Cutter *c, const Goal *goal);

/* ---- attempt.c */

/* What a cutter says, for another search, in a definition that is called `of` (see Cutter). */
Cutter cut_afresh(const Cutter *c, const Def *def, int n_values, const char *of);
/* Whether the search has not tried enough. */
bool cut_may_try(const Cutter *c);
/* Where it has, and nothing is cut yet, some more for each output. */
void cut_grant_more(Cutter *c);
/* Adds a goal to the steps, from what is kept, if it can be kernels, and these fit. repeat: blocks may compute the same products. */
bool cut_attempt(Cutter *c, const Goal *goal, bool repeat);
/* The kernels of all steps. */
Program *cut_written(const Cutter *c);
/* Whether it has more operations than `most`, and many products. */
bool cut_is_long(const Def *def, int most);

/* ---- cut.c */

/* By value id: what the goal is computed from, itself included. */
bool *cut_needed_for(const Cutter *c, const Goal *goal);
bool *cut_needed_behind(const Cutter *c, const Goal *left, const Goal *goal); /* likewise, were these kept as well */
/* Adds a goal in one step, and steps ahead for what it reads single elements of. */
bool cut_reach(Cutter *c, const Goal *goal);
/* Adds a goal in as few steps as are found, with those ahead that they take. */
bool cut_solve(Cutter *c, const Goal *goal);
/* How it is kept; NULL: it is not. */
const Kept *cut_find_kept(const Cutter *c, const DefValue *value);
/* Whether it is not much larger than the largest input or output. */
bool cut_is_little(const Def *def, const DefValue *value);
/* A workspace's shape is declared. */
bool cut_has_shape(const Cutter *c, const DefValue *value);
bool cut_in_goal(const Goal *goal, const DefValue *value);
/* Whether an output holds, in memory, what others want of the value: exactly, or as the products that alone take it round it. */
bool cut_is_read_where_written(const Cutter *c, const DefValue *value);
/* A product that the cut's step and the goal's would both compute; NULL: none. */
DefValue *cut_repeated_product(const Cutter *c, const Goal *goal, const Goal *cut);
/* What the operation gives other places, computing nothing; NULL: it is no such one. */
const DefValue *cut_rearranged(const DefOp *op);
/* The value as it would be kept. */
Kept cut_keep(const Cutter *c, const DefValue *value);

/* ---- totals.c */

/* The definition with softmaxes of what products make as the maximum, the exponentials, their sum and the quotient. */
const Def *cut_spell_softmaxes(const Cutter *c);
/* Adds a goal: first steps that leave what rows of products come to, then the others, which compute the same products again. */
bool cut_at_totals(Cutter *c, const Goal *goal);

/* What others want of a total: where all that is done with it is a function of it, that one's value. */
DefValue *cut_as_wanted(const Def *def, DefValue *total);

/* ---- share.c */

/* Adds a step for the first values that leaves what the others need of it, if there is anything, and can be such a step. What
 * is kept stays so if not. */
bool cut_share(Cutter *c, const Goal *first, const Goal *rest);
/* Adds a step for the first of these values, and for those of its rows that are made of the same products, or, of each other,
 * one of which is made of the other; likewise. */
bool cut_together(Cutter *c, const Goal *values, bool of_each_other);

/* What is made of the definition as products see its tensors, or, where that cannot be put back or is nothing, as it is
 * written. n_values: ids of its values are less. NULL: nothing is made of either. */
typedef Program *CutMake(void *user, const Def *def, int n_values);
Program *cut_as_seen(Arena *arena, Syms *syms, const Def *written, CutMake *make, void *user);

#endif
