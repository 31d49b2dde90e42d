/* check.h: what is wrong with a program, why it matters, and how to mend it.
 *
 * A Kernel unit is walked once, statement by statement, with the state of every
 * tensor in every memory space at that point: its shape, where its dimensions
 * come from, whether it was written, which version it holds and how its
 * elements lie in registers. A file per concern looks at that state: names,
 * values (integers), shape, gemm, space, dtype, init, output, capacity.
 *
 * Sketches and fragments are checked loosely: what they do not say (sizes,
 * coordinates, declarations) is taken as given, what they say must fit.
 */
#ifndef TW_CHECK_H
#define TW_CHECK_H

#include "lang/lang.h"
#include "ref/def.h"
#include "target/target.h"

typedef struct CheckOptions {
    const Target *target; /* NULL: no limits of a target are checked */
    Settings *settings;   /* --set; NULL: none */
    bool fragment;        /* names that nothing declares are taken as given */
    bool derived;         /* worked out from a definition: a softmax whose sum nothing reads is nobody's mistake */
} CheckOptions;

/* Of programs that parsed without an error. Each returns false when it recorded
 * one. */
bool check_program(Arena *arena, Syms *syms, const Program *program, const CheckOptions *options,
                   Diags *diags);
/* A Kernel unit or a fragment. */
bool check_code(Arena *arena, Syms *syms, const Program *program, const Unit *unit,
                const CheckOptions *options, Diags *diags);
/* An Operator unit. */
bool check_definition(Arena *arena, Syms *syms, const Program *program, const Unit *unit,
                      const CheckOptions *options, Diags *diags);

/* A Kernel unit that neither allocates a tile nor says how many blocks there are: what it copies and
 * computes has no sizes yet. */
bool check_is_sketch(const Unit *unit);
/* Whether one of its Kernels is. */
bool check_has_sketch(const Program *program);

/* `BM = 64` where no Input or Output has the name as a dimension: another number
 * computes the same. */
bool check_is_tile_size(const Unit *unit, const Stmt *s);
/* Those that shapes of tiles are made of, in their order. */
Block check_tile_sizes(Arena *arena, const Unit *unit);

#endif
