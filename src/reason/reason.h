/* reason.h: stage 1b, from a sketch to code, by an explicit hardware model.
 *
 * Every parameter is reasoned out: tile sizes, warps, ring stages, shapes of
 * all allocations, coordinates, bounds masks of ragged tiles, the Reshape
 * between fused GEMMs, the grid. Candidates are ranked by predicted time.
 */
#ifndef TW_REASON_H
#define TW_REASON_H

#include "base/why.h"
#include "lang/lang.h"
#include "lang/schedule.h"
#include "ref/def.h"
#include "target/target.h"

typedef struct ReasonOptions {
    const Target *target;
    Settings *settings;      /* --set: dimensions compiled in; also BM, BN, BK, warps, stages force a choice */
    const Settings *launch;  /* --bind: sizes that are left to the launch, which the kernel is meant for; NULL: none */
    DType dtype;             /* of tensors without one */
    bool typical;            /* sizes that nobody says are thought to be typical ones */
    bool hasty;              /* the first choice that fits will do: only whether there is one is asked */
    bool roomy;              /* refuse what leaves so few registers that some may be spilled */
    bool wide;               /* refuse blocks of so few warps, or so many, that they are rarely good */
    bool own_rows;           /* refuse warps that share rows, whose operands pass through shared memory: they are seldom the fastest */
    const Schedule *schedule; /* choices of the passes that are forced; NULL: none */
} ReasonOptions;

typedef struct ReasonResult {
    Program *code;
    WhyList why;             /* a row each parameter */
    int considered;          /* candidates ranked */
    double predicted_cycles; /* of one block's loop iteration, by the model */
    const char *limiter;     /* what the model says bounds it */
} ReasonResult;

/* NULL when diagnostics (TW06xx) were recorded. */
ReasonResult *reason(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options,
                     Diags *diags);

/* The sketch with one Kernel of each name: of several ways to do the same, those that will be code. */
const Program *reason_ways(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options);

/* Into how many parts the loops of a sketch are best cut (see fuse.h), by the
 * model; 1 where a size that it needs is not among the settings, 0 where nothing fits. */
int reason_parts(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options);

/* Whether the model thinks that one sketch of two, of the same, is much less work: prefer.c. False
 * where it is not known how many rows there are, or they fill tiles. */
bool reason_prefers(Arena *arena, Syms *syms, const Program *sketch, const Program *to, const ReasonOptions *options);

/* Whether the model thinks that one sketch of two, of the same, takes much less, whatever is known of sizes; and so it does where
 * the other does not fit. */
bool reason_undercuts(Arena *arena, Syms *syms, const Program *sketch, const Program *to, const ReasonOptions *options);

/* Cycles that the kernels of a sketch take one after the other, with their launches: total.c. INFINITY where one cannot be,
 * or how long rows are is not known. */
double reason_cycles(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options);

/* Whether warpgroups divide the rows of one of its kernels. */
bool reason_divides(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options);

/* A choice in words that force it: "BM=128 BN=64 warps=8 stages=2"; where a program has
 * several kernels, for the one that the model thinks dearest: "scores.BM=128 ...". */
typedef struct ReasonRanked {
    const char *settings;
    double cost; /* by the model */
} ReasonRanked;

typedef struct ReasonRanking {
    VEC(ReasonRanked) list;
} ReasonRanking;

/* The best choices by the model, the cheapest first, not all alike; none where nothing fits. */
void reason_rank(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options, int most,
                 ReasonRanking *result);

/* Why a sketch cannot become code; NULL: it can. */
const Diag *reason_misfit(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options);

#endif
