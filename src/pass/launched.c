/* launched.c: what the grid says of dimensions, wherever a block runs.
 *
 * No extent is less than 1 there. So in a kernel for rows of some lengths,
 *
 *   grid(m: M, in_range: min(1, 8192 div max(1, N)) - min(1, 4096 div max(1, N)))
 *
 * N is at most 8192: the first term is at least 1, for the second is not negative.
 */
#include "pass/launched.h"

enum { MAX_DEPTH = 16 };

typedef struct Launched {
    AffCtx *aff;
    const Aff *a; /* what is asked for, with what is known so far */
} Launched;

/* No block runs unless a is at most that. */
static void at_most(Launched *l, const Aff *a, int64_t most, int depth)
{
    if (depth > MAX_DEPTH) return;
    if (a->kind == AFF_MAX) {
        at_most(l, a->a, most, depth + 1);
        at_most(l, a->b, most, depth + 1);
    }
    if (a->kind == AFF_SYM && a->sym->kind == AFF_DIM && most < a->sym->hi && most >= a->sym->lo)
        l->a = aff_subst(l->aff, l->a, a->sym, aff_of(l->aff, aff_sym_new(l->aff, a->sym->name, AFF_DIM, a->sym->lo, most)));
}

/* Nor unless it is at least that. */
static void at_least(Launched *l, const Aff *a, int64_t least, int depth)
{
    int64_t lo, hi, lo_b, hi_b, number;
    if (depth > MAX_DEPTH) return;
    if (a->kind == AFF_MIN || a->kind == AFF_ADD) {
        aff_bounds(a->a, &lo, &hi);
        aff_bounds(a->b, &lo_b, &hi_b);
        bool sum = a->kind == AFF_ADD;
        if (!sum || hi_b == 0) at_least(l, a->a, least, depth + 1);
        if (!sum || hi == 0) at_least(l, a->b, least, depth + 1);
    }
    if (a->kind == AFF_DIV && aff_is_const(a->a, &number) && number > 0 && least > 0) {
        aff_bounds(a->b, &lo, &hi);
        if (lo > 0) at_most(l, a->b, number / least, depth + 1);
    }
}

const Aff *launched(TileProgram *program, const TileKernel *kernel, const Aff *a)
{
    Launched l = {program->aff, a};
    for (int i = 0; i < kernel->grid.len; i++) at_least(&l, kernel->grid.data[i].extent, 1, 0);
    return l.a;
}
