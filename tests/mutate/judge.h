/* judge.h: is a program of TL code right? Decided on many small shapes by
 * running it on a machine of the tests' own (machine.h) and comparing every
 * element with what nested loops in plain C give, or with what the original
 * gives on the same machine: of originals another test says that they are right.
 * It shares nothing with the checker, the compiler or `tw verify`.
 */
#ifndef TW_TESTS_JUDGE_H
#define TW_TESTS_JUDGE_H

#include "machine.h"

/* What a program is to compute, and the sizes that its text fixes; 0: any. */
typedef struct Task {
    enum { TASK_ATTENTION, TASK_GEMM_BIAS, TASK_NORM, TASK_ORIGINAL } kind;
    bool causal;
    int q_heads, kv_heads, head_dim, v_dim;
    int tile_rows, tile_streamed; /* lengths are drawn round their multiples */
    int n, k;
    int tile_cols;
    /* TASK_ORIGINAL: "batch=1,2 q_len=~32", one shape for each choice; ~32: lengths
     * round multiples of 32. NULL: no more. */
    const char *shapes[4];
} Task;

typedef struct Verdict {
    bool wrong;
    const char *why; /* of a wrong one: on which shape, and what is wrong there */
} Verdict;

/* A shape, random inputs, and what they should give. */
typedef struct JudgeCase {
    const char *what;
    MachineTensor tensors[MACHINE_TENSORS];
    int n_tensors;
    int outputs;     /* the last so many tensors */
    double *want[4]; /* of each output; what is not a number may be anything */
} JudgeCase;

typedef struct Judge {
    Arena *arena;
    VEC(JudgeCase) cases;
    const char *failure; /* of the original on some shape; NULL: none */
} Judge;

/* original: the right program; its tensors and results are those of TASK_ORIGINAL. */
Judge *judge_new(Arena *arena, const Task *task, const Program *original);
/* The program's faults and differences on the first shape that shows some. */
Verdict judge(const Judge *j, Arena *arena, const Program *code);

#endif
