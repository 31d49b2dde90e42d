/* tensor.h: tensors in host memory, random contents, and how far two are apart.
 *
 * Every executor (definition, tile IR, emulator, GPU) takes and gives these.
 */
#ifndef TW_TENSOR_H
#define TW_TENSOR_H

#include "base/base.h"

enum { TENSOR_MAX_RANK = 8 };

typedef struct Tensor {
    const char *name;
    DType dtype;
    int rank;
    int64_t dims[TENSOR_MAX_RANK];
    int64_t strides[TENSOR_MAX_RANK]; /* in elements; the innermost is 1 */
    void *data;   /* element (0, ..., 0) */
    size_t bytes; /* from data to the end of the last element */
} Tensor;

/* Contiguous, zeroed; NULL with *error set when the size overflows or exceeds 16 GiB. */
Tensor *tensor_new(Arena *arena, const char *name, DType dtype, int rank, const int64_t *dims,
                   const char **error);
/* The same, but that rows begin at multiples of so many bytes. */
Tensor *tensor_new_rows(Arena *arena, const char *name, DType dtype, int rank, const int64_t *dims, int row_bytes,
                        const char **error);
/* Its elements, in the same order, as a tensor of that shape; itself, if it has gaps, or another number of elements. */
Tensor *tensor_seen(Arena *arena, Tensor *t, int rank, const int64_t *dims);
int64_t tensor_count(const Tensor *t);
int64_t tensor_index(const Tensor *t, const int64_t *at); /* element offset */
/* Steps the first `dims` coordinates of `at` to the next place in row-major order: rank of
 * them from element to element, rank - 1 from row to row. false: that was the last, and they
 * are 0 again. */
bool tensor_step(const Tensor *t, int dims, int64_t *at);
double tensor_get(const Tensor *t, const int64_t *at);
void tensor_set(Tensor *t, const int64_t *at, double value);

/* What inputs look like; named in --data=KIND. One row each in fills.def. */
typedef enum FillKind {
#define FILL(id, name, help) FILL_##id,
#include "data/fills.def"
#undef FILL
    FILL_COUNT
} FillKind;
const char *fill_name(FillKind kind);
bool fill_parse(const char *name, FillKind *kind);
/* Fills deterministically from the seed; different tensors want different seeds. */
void tensor_fill(Tensor *t, FillKind kind, uint64_t seed);
/* Integers from least to most. */
void tensor_fill_integers(Tensor *t, int least, int64_t most, uint64_t seed);
void tensor_poison(Tensor *t); /* a NaN pattern in every element (integers: 0x7f bytes) */

/* Distance of `got` from `want` over matching elements. */
typedef struct Distance {
    double frobenius;  /* ||got - want|| / ||want||; 0 / 0 is 0 */
    double max_abs;    /* largest |got - want| */
    double max_want;   /* largest |want| */
    int64_t compared;
    int64_t not_finite;/* elements of got that are not finite where want is, that differ
                          from an infinite want, or that are NaN */
    int64_t worst[TENSOR_MAX_RANK]; /* where max_abs was seen; the first that is not finite */
    double sum_difference, sum_want; /* of squares, until distance_finish */
} Distance;
void distance_start(Distance *d);
void distance_add(Distance *d, const Tensor *t, const int64_t *at, double got, double want);
/* Call when all were added: computes frobenius from the sums. */
void distance_finish(Distance *d);

#endif
