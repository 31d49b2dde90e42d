/* ref.h: the definition executor, the oracle.
 *
 * Evaluates any requested rows of a definition's outputs on the CPU, on demand:
 * a row is one vector along the last dimension. Rows of intermediate values
 * are computed when first needed and kept as long as memory allows.
 *
 * Two precisions:
 *   REF_EXACT  everything in fp64, outputs not rounded
 *   REF_PLAIN  what a plain same-precision implementation does: fp32 throughout
 *              (GEMMs accumulate in fp32), each GEMM operand rounded once to
 *              the inputs' dtype, outputs rounded to their dtype
 * There is more than one plain implementation: the others sum GEMMs from another place
 * on, or as tensor cores round (the last one, which knows no subnormal numbers either), scale a
 * computed operand before it is rounded instead of after, and compute products that are used twice
 * again for the second use, since they keep nothing (again.c); two take quotients that become integers for a few units
 * larger, and smaller, than they are (rows.c). Where an output hangs on few roundings, one of them may be lucky.
 * A row softmax of nothing but -inf is all zeros.
 */
#ifndef TW_REF_H
#define TW_REF_H

#include "data/tensor.h"
#include "lang/eval.h"
#include "ref/def.h"

typedef enum RefPrecision { REF_EXACT, REF_PLAIN, REF_PLAIN_2, REF_PLAIN_3, REF_PLAIN_4, REF_PLAIN_5 } RefPrecision;
enum { REF_PLAINS = 5 }; /* REF_PLAIN and those after it */

typedef struct Ref Ref;

/* Values of the symbolic dimensions for one run, and of launch-time params. */
typedef struct RefBinding {
    const char *name;
    double value;
} RefBinding;

/* Binds all that has a number in one launch, by its name: constants, dimensions and what follows from them, and
 * parameters, with their defaults where nothing binds them. Of several bindings of a name the last one counts. */
void ref_numbers(EvalEnv *env, const Def *def, const RefBinding *bindings, int n);

/* inputs: in the order of def->inputs; their dims must match. NULL with
 * *error set when something does not fit. */
Ref *ref_new(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings,
             Tensor *const *inputs, RefPrecision precision, const char **error);
/* Concrete dims of output (or input) values. */
bool ref_dims(const Ref *ref, const DefValue *value, int64_t *dims);
/* One row of an output: `lead` are the leading rank-1 coordinates. The result
 * has dims[rank-1] elements and stays valid until the next call. NULL when lead
 * is outside. A vector has one row; its lead may be NULL. */
const double *ref_row(Ref *ref, int output, const int64_t *lead);
/* Floating-point operations of the GEMMs, without what masks make needless
 * (2 (Dqk + Dv) for each live score); 0 when a dimension is missing. */
double ref_flops(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings);
/* Elements of all tensors, those that are computed on the way included; 0 when a dimension is missing. */
double ref_elements(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings);
/* Bytes kept at most for intermediate rows (default 1 GiB). */
void ref_cache_limit(Ref *ref, size_t bytes);

/* Allocates inputs and outputs for a definition under bindings. */
bool ref_make_tensors(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings,
                      FillKind fill, uint64_t seed, Tensor **inputs, Tensor **outputs,
                      const char **error);

/* Which rows of an output to look at. Along the second-last dimension, which is
 * the one that kernels tile: all when it has at most `all_below`, else those
 * round every multiple of `tile`, the first and the last, and some drawn from
 * the seed. With each of them every combination of the leading coordinates, or,
 * where that would be more than `at_most` rows, as many as there is room for, a
 * different few with each. Sorted, so that neighbours share their operands. */
typedef struct RowList {
    int rank1;              /* coordinates a row */
    int count;              /* rows */
    VEC(int64_t) coords;    /* rank1 numbers a row */
} RowList;
RowList *rows_choose(Arena *arena, const Tensor *output, int64_t all_below, int tile,
                     int64_t at_most, uint64_t seed);

/* Compares output tensors (as another executor wrote them) with the oracle and
 * with the plain baseline over the given rows. */
typedef struct RefVerdict {
    Distance got;      /* output against REF_EXACT */
    Distance plain;    /* REF_PLAIN against REF_EXACT, same rows */
    double plain_frobenius, plain_max; /* the worst of the plain ones that were asked */
    int64_t undefined; /* elements for which the definition gives a NaN; they are left out */
    int64_t beyond;    /* elements that plain arithmetic of this precision does not reach; likewise */
    double ratio_frobenius, ratio_max; /* got over plain */
    bool ok;           /* both ratios at most `bound`, nothing not finite; an error below one
                          rounding of the output's dtype passes whatever the plain error is;
                          something was compared, unless an input is empty */
} RefVerdict;
/* The error of an output that passes whatever the plain one is: times the largest
 * element, plus the absolute one. */
typedef struct RefFloor {
    double relative, absolute;
} RefFloor;
RefFloor ref_floor(const Def *def, int output);
/* Adds an element to `got`, and what plain arithmetic makes of it to `plain`, unless the
 * definition gives a NaN or plain arithmetic does not reach it. */
void ref_verdict_add(RefVerdict *v, const Tensor *t, const int64_t *at, double exact, double plain);
/* Before elements are added, once more for each plain implementation that is asked. */
void ref_verdict_start(RefVerdict *v);
/* The verdict on what was added to `got` and `plain` (which may be finished), with the
 * errors of the plain implementations that were judged by before. */
void ref_judge(RefVerdict *v, const Def *def, int output, Tensor *const *inputs, double bound);
bool ref_compare(Arena *arena, const Def *def, const RefBinding *bindings, int n_bindings,
                 Tensor *const *inputs, Tensor *const *outputs, int output, const RowList *rows,
                 double bound, RefVerdict *verdict, const char **error);

#endif
