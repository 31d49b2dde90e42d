/* launch.h: the numbers of one launch: dimensions and parameters, from --bind
 * (and --set where nothing is compiled any more).
 *
 * What is not given gets a small, ragged default: 200 for a dimension that is
 * among the last two of some tensor, which tiles cut; 2 for any other.
 */
#ifndef TW_LAUNCH_H
#define TW_LAUNCH_H

#include "abi/abi.h"
#include "cli/cli.h"
#include "ref/ref.h"

typedef VEC(RefBinding) LaunchShape;

/* Parses the words NAME=VALUE. False: a usage error was printed. */
bool launch_parse(Session *s, const char *option, const char *const *words, int n, LaunchShape *shape);
/* Adds what the definition needs and was not given; complains of names that it
 * does not have. compiled: settings that a name may repeat if its value agrees. */
bool launch_complete(Session *s, const Def *def, const Settings *compiled, LaunchShape *shape);
/* The same for tile IR alone, which has no definition. */
bool launch_complete_tile(Session *s, const TileProgram *program, LaunchShape *shape);

bool launch_find(const LaunchShape *shape, const char *name, double *value);
/* "batch=2 q_len=200" */
const char *launch_text(Arena *arena, const LaunchShape *shape);

/* Values in the order in which a program wants them; false: one is missing
 * (*missing is its name). A parameter not bound takes the definition's default. */
bool launch_dims(Session *s, const LaunchShape *shape, const AffSym *const *syms, int n, int64_t *values,
                const char **missing);
bool launch_params(Session *s, const LaunchShape *shape, const Def *def, const char *const *names, int n,
                  double *values, const char **missing);

/* The values of all symbols by id, for evaluating extents. */
bool launch_symbols(Session *s, const AffCtx *aff, const LaunchShape *shape,
                    const AffSym *const *dims, int n, int64_t **values, const char **error);
/* A tensor whose dimensions are expressions. */
Tensor *launch_tensor(Session *s, const char *name, DType dtype, int rank, const Aff *const *dims,
                      const int64_t *values, const char **error);

#endif
