/* launch.h: the numbers of one launch: a value for each dimension and parameter that
 * nothing has compiled in.
 */
#ifndef TW_CHAIN_LAUNCH_H
#define TW_CHAIN_LAUNCH_H

#include "abi/abi.h"
#include "ref/ref.h"

typedef VEC(RefBinding) LaunchShape;

bool launch_find(const LaunchShape *shape, const char *name, double *value);
/* "batch=2 q_len=200" */
const char *launch_text(Arena *arena, const LaunchShape *shape);

/* Values in the order in which a program wants them; false: one is missing
 * (*missing is its name). What is not bound is what the definition (NULL: none)
 * has for it: a dimension that follows from others, a parameter's default. */
bool launch_dims(Arena *arena, const LaunchShape *shape, const Def *def, const AffSym *const *syms, int n,
                 int64_t *values, const char **missing);
bool launch_params(Arena *arena, const LaunchShape *shape, const Def *def, const char *const *names, int n,
                   double *values, const char **missing);

/* The values of all symbols by id, for evaluating extents. */
bool launch_symbols(Arena *arena, const AffCtx *aff, const LaunchShape *shape, const Def *def,
                    const AffSym *const *dims, int n, int64_t **values, const char **error);
/* A tensor whose dimensions are expressions, and whose rows begin at multiples of so many bytes. */
Tensor *launch_tensor(Arena *arena, const char *name, DType dtype, int rank, const Aff *const *dims,
                      const int64_t *values, int row_bytes, const char **error);

/* A tensor of the definition as a program sees it, which may have another shape (src/fuse/reshape.c). */
Tensor *launch_seen(Arena *arena, Tensor *t, int rank, const Aff *const *dims, const int64_t *values);

#endif
