/* trial.h: executing artefacts on the CPU and comparing with the definition.
 *
 * A trial holds random inputs for one shape and, for chosen rows of every
 * output, what the definition gives in fp64 (the oracle) and what a plain
 * implementation in the same precision gives. Each artefact is executed on the
 * same inputs into poisoned outputs; its error is bounded by a multiple of the
 * plain implementation's.
 */
#ifndef TW_TRIAL_H
#define TW_TRIAL_H

#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/tensors.h"
#include "emu/emu.h"
#include "tile/tile.h"

typedef struct TrialOutput {
    RowList *rows;
    int n_rows;
    int64_t cols;
    double *want;    /* n_rows x cols: the oracle */
    double *have[REF_PLAINS]; /* likewise: plain arithmetic of the same precision; NULL: not asked yet */
    Distance plain;  /* the plain implementation's error */
} TrialOutput;

/* What became of one artefact. */
typedef struct TrialResult {
    const char *what;
    double seconds;
    double frobenius, max_abs;             /* worst of all outputs */
    double ratio_frobenius, ratio_max;     /* over the plain implementation's */
    int64_t compared;
    uint64_t bits;                         /* hash of the outputs' bytes */
    bool ok;
    const char *problem;                   /* NULL, or what went wrong */
    bool has_report;
    EmuReport report;                      /* of PTX */
    uint64_t grid_blocks;                  /* of which report.blocks were run */
} TrialResult;

typedef struct Trial {
    Session *s;
    const Def *def;
    LaunchShape shape;
    Tensor **inputs, **outputs;
    TrialOutput *wanted;
    double oracle_seconds;
    VEC(TrialResult) results;
    int failed;
} Trial;

/* Whether an element of an output was written; NULL: all were. */
typedef struct Written {
    bool (*was)(void *user, const Tensor *t, const int64_t *at);
    void *user;
} Written;

/* NULL: said why. */
Trial *trial_new(Session *s, const Def *def, const LaunchShape *shape, const char **error);
/* Each executes, compares, records and returns the record. */
const TrialResult *trial_tile(Trial *trial, const char *what, const TileProgram *program);
const TrialResult *trial_ptx(Trial *trial, const char *what, const EmuModule *module,
                             const Abi *abi, bool aligned, uint64_t seed);
/* Two results that must be equal to the last bit. */
void trial_expect_equal(Trial *trial, const char *what, const TrialResult *a, const TrialResult *b);

void trial_print(Str *out, const Trial *trial);
void trial_json(Str *out, const Trial *trial);
/* Writes either, as the session asks; the exit status. */
int trial_write(Session *s, const Trial *trial);

/* For the files that execute. */
Tensor *trial_tensor(Trial *trial, const char *name); /* an input or output; NULL: none */
void trial_poison(Trial *trial);
void trial_compare(Trial *trial, TrialResult *result, const Written *written);
const TrialResult *trial_record(Trial *trial, const TrialResult *result);

/* Executing without a definition: random inputs into `tensors` (program order). */
bool tile_make_tensors(Session *s, const TileProgram *program, const LaunchShape *shape, const Def *def,
                       Tensor **tensors, const char **error);
bool tile_execute(Session *s, const TileProgram *program, const LaunchShape *shape, const Def *def,
                  Tensor **tensors, const char **error);
#endif
