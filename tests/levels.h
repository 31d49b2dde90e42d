/* levels.h: one program executed at every level on the CPU, each compared with
 * the one before it.
 *
 *   definition ── fp64, and as a plain implementation of the same precision
 *      │            rounds (errors at most twice those, see DEFINITION_BOUND)
 *   TL code ───── printed and read again
 *      │
 *   tile IR ───── as lowered, the oracle where there is no definition; then after
 *      │            every pass, printed, read back, verified and run: bit by bit
 *      │            equal to the level before where the pass says so; and, beside
 *      │            these, softmaxes as in a kernel whose warps will be specialized
 *   PTX ───────── the text in the emulator with all its checks on: both entries,
 *                   several schedules, padded and unaligned tensors; equal to each
 *                   other bit by bit, to tile IR within the rounding that
 *                   instructions differ by
 *
 * Vocabulary
 *   noise    how much the oracle's outputs move when every result in it that is
 *            rounded is perturbed a little: the error that may be expected
 *   void     a case whose outputs say nothing: NaN, or as large as their noise
 *   rejected a case that a diagnostic stopped
 */
#ifndef TW_TESTS_LEVELS_H
#define TW_TESTS_LEVELS_H

#include "chain/chain.h"
#include "emu/emu.h"

enum { LEVEL_SETS = 24, LEVEL_BINDS = 24 };

typedef struct LevelCase {
    const char *definition; /* text of an Operator; NULL: none */
    const char *code;       /* text of a Kernel; NULL: fused and reasoned from the definition */
    const char *sets[LEVEL_SETS]; /* NAME=VALUE */
    int n_sets;
    RefBinding binds[LEVEL_BINDS]; /* dimensions and parameters of the launch */
    int n_binds;
    DType dtype;
    const char *target;     /* NULL: sm_80 */
    FillKind fill;
    bool words;            /* inputs of int32 have all the values that there are, those of int64 large ones */
    uint64_t seed; /* draws data, strides and schedules */
} LevelCase;

typedef enum LevelVerdict { LEVELS_AGREE, LEVELS_REJECTED, LEVELS_VOID, LEVELS_DIFFER } LevelVerdict;

typedef struct LevelReport {
    LevelVerdict verdict;
    const char *level;   /* where it ended: "tile IR after stage" */
    const char *problem; /* NULL: none */
    double worst;        /* largest error over what is allowed, of all comparisons that allow one */
    uint64_t conflicts;  /* passes of shared memory, of all PTX that ran, beyond those that accesses without conflicts would take */
    Str log;             /* a line a level */
} LevelReport;

/* The case's memory is the arena's. */
LevelReport levels_run(Arena *arena, const LevelCase *c);

/* Adds a setting or a binding. */
void levels_set(Arena *arena, LevelCase *c, const char *name, double value);
void levels_bind(LevelCase *c, const char *name, double value);
/* The case as a person would type it, settings and shape in front of its text. */
void levels_print(Str *out, const LevelCase *c);

/* ---- for the files that execute ---------------------------------------------------- */

typedef struct Levels {
    Arena *arena;
    const LevelCase *c;
    LevelReport *report;
    Chain *chain;
    Rng rng;
    int n_tensors;
    Tensor **inputs;    /* by tensor index; NULL: an output */
    Tensor **oracle;    /* outputs of the sequential level, by tensor index */
    Tensor **before;    /* outputs of the level before */
    double *noise;      /* by tensor index: see above */
    double **exact;     /* the definition in fp64, by tensor index; NULL: none */
    Distance *plain;    /* the plain implementation's error */
} Levels;

/* Records the verdict of the case; returns false. */
bool levels_differ(Levels *l, const char *fmt, ...) TW_PRINTF(2, 3);
/* Names the level that is being looked at. */
void levels_at(Levels *l, const char *fmt, ...) TW_PRINTF(2, 3);
bool levels_value(const Levels *l, const char *name, double *value);

/* Memory that a kernel has not written: all bits set, a NaN in every type. */
void levels_poison(Tensor *t);

bool levels_equal(Levels *l, Tensor *const *got, Tensor *const *want);
bool levels_close(Levels *l, Tensor *const *got);
bool levels_right(Levels *l, Tensor *const *got); /* against the definition */

/* levels_noise.c */
void levels_perturb(TileProgram *program, Rng *rng);
void levels_widen(TileProgram *program); /* its outputs become fp32 */
/* levels_ptx.c */
bool levels_ptx(Levels *l);

/* Calls visit for every element of a tensor until it returns false. */
bool levels_each(const Tensor *t, bool (*visit)(void *user, const int64_t *at), void *user);

#endif
