/* judge.h: is a program of TL code right? Decided on many small shapes by
 * running it on a machine of the tests' own (machine.h) and comparing every
 * element with what nested loops in plain C give. It shares nothing with the
 * checker, the compiler or `tw verify`.
 */
#ifndef TW_TESTS_JUDGE_H
#define TW_TESTS_JUDGE_H

#include "machine.h"

/* What a program is to compute, and the sizes that its text fixes; 0: any. */
typedef struct Task {
    enum { TASK_ATTENTION, TASK_GEMM_BIAS, TASK_NORM } kind;
    bool causal;
    int q_heads, kv_heads, head_dim, v_dim;
    int tile_rows, tile_streamed; /* lengths are drawn round their multiples */
    int n, k;
    int tile_cols;
} Task;

typedef struct Verdict {
    bool wrong;
    const char *why; /* of a wrong one: on which shape, and what is wrong there */
} Verdict;

/* A shape, random inputs, and what they should give. */
typedef struct JudgeCase {
    const char *what;
    MachineTensor tensors[8];
    int n_tensors;
    double *want; /* of the output, which is the last tensor */
} JudgeCase;

typedef struct Judge {
    Arena *arena;
    VEC(JudgeCase) cases;
} Judge;

Judge *judge_new(Arena *arena, const Task *task);
/* The unit's faults and differences on the first shape that shows some. */
Verdict judge(const Judge *j, Arena *arena, const Unit *code);

#endif
