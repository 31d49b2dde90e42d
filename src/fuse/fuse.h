/* fuse.h: stage 1a, from a definition to a sketch, by rules.
 *
 * The sketch is a Kernel unit without sizes and coordinates: what is copied
 * where, what is computed, which loop streams which dimension. See
 * docs/architecture.md for the rules; none of them knows an operator.
 */
#ifndef TW_FUSE_H
#define TW_FUSE_H

#include "ref/def.h"

enum { FUSE_MAX_PARTS = 1024 };

/* Returns a program with one Kernel unit (or several), or NULL with diagnostics
 * (TW05xx) that say what stopped the fuser. parts: into how many its loops are
 * cut, each in blocks of its own; with more than one, later kernels combine. */
Program *fuse(Arena *arena, Syms *syms, const Def *def, int parts, Diags *diags);

/* Whether one kernel's blocks would each sum all of a tensor again. */
bool fuse_repeats(Arena *arena, Syms *syms, const Def *def);

/* Multiplies operands of 8 bits, integers or floats, as numbers of this type of 16; and whether there are any: widen.c. */
void fuse_widen(Def *def, DType wide, bool integers);
bool fuse_can_widen(const Def *def, bool integers);
/* A sketch whose kernels fold entries of a leading dimension, which share what they stream, into the rows of
 * their tiles, where they can; NULL: none can. */
Program *fuse_fold(Arena *arena, const Def *def, const Program *sketch);

/* A sketch whose products within loops that sum along more than a tile should have do so in loops of their own;
 * NULL: there are none. */
Program *fuse_deepen(Arena *arena, const Def *def, const Program *sketch);

/* A sketch whose products take parts of tiles that are copied whole beside them; NULL: there are none. */
Program *fuse_within(Arena *arena, const Def *def, const Program *sketch);

/* Whether a sketch stores to an output whose last dimension is made of two. */
bool fuse_joins(const Program *sketch);

/* What is wrong with a sketch for the target at hand; NULL: nothing. */
typedef const Diag *(*FuseMisfit)(void *user, const Program *sketch);
/* Into how many parts loops of a sketch are best cut. */
typedef int (*FuseParts)(void *user, const Program *sketch);

/* What was found out about sketches of one definition. To cut it again, by a misfit that asks for less (what fitted does so
 * still), takes answers about what did not fit alone. */
typedef struct FuseAsked FuseAsked;
FuseAsked *fuse_asked_new(Arena *arena);

/* The same in several kernels, where one cannot be, or its tiles do not fit: some
 * values are left in memory by one kernel and read by the next. why: what was
 * wrong with the one. parts: NULL: none of them is cut so. NULL: that does not help; nothing is recorded. */
Program *fuse_cut(Arena *arena, Syms *syms, const Def *def, const Diag *why, FuseAsked *asked, FuseMisfit misfit, FuseParts parts, void *user);

/* A definition as two, each with a unit of its own, of which the second takes what the first leaves in memory. */
typedef struct FuseStages {
    Def *first, *rest;
    const char *left; /* what it is called */
} FuseStages;

/* Cuts where what is computed is first rearranged. False: it cannot be. */
bool fuse_stages(Arena *arena, Syms *syms, const Def *def, FuseStages *stages);
/* Whether kernels of both see every input in one shape: rows of one may have been made to be reduced (reshape.c). */
bool fuse_shapes_agree(Arena *arena, const Def *def, const Program *first, const Program *rest);
/* How often kernels read elements one by one that kernels before them left, and do no more than that. */
int fuse_rearranges(const Program *program);

/* What a sketch takes, by the model at hand; INFINITY: it cannot be, or that is not known. */
typedef double (*FuseCost)(void *user, const Program *sketch);

/* Of the time, what kernels ahead must save: the model is not better than that. */
#define FUSE_APART_GAIN 0.1
/* The same with operands of products made once, by kernels ahead, where that takes much less than `least`, what
 * one kernel does (INFINITY: wherever they can be). launch: sizes that it is said to give; NULL: none.
 * NULL: it does not. */
Program *fuse_apart(Arena *arena, Syms *syms, const Def *def, const Settings *launch, double least, FuseCost cost, void *user);

#endif
