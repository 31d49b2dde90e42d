/* gap.c: turns between two stretches of a loop.
 *
 * Of masks that keep the first columns, which all rows see, and those near the row, the turns between
 * them change nothing. The loop goes on behind them:
 *
 *   for j = 0:hi {                                            for i = 0:hi - gap {
 *     …  j * 64 + col < 4 or m * 64 + row - … < 128   ->        …  with j = i + gap * min(1, i)
 *   }                                                         }
 *                                                             where gap = max(0, min(m - 2, hi) - 1)
 */
#include "pass/gap.h"
#include "pass/rewrite.h"

/* The least or greatest value over the instances within a block: they take the same turns. NULL: it is not known. */
static const Aff *over_instances(TileProgram *program, const TileKernel *kernel, const Aff *e, bool greatest)
{
    AffCtx *aff = program->aff;
    const TileAxis *axis = tile_within(kernel);
    if (!axis || !aff_uses(e, axis->sym)) return e;
    const Aff *first = aff_const(aff, 0), *last = aff_offset(aff, axis->extent, -1);
    return greatest ? aff_upper_over(aff, e, axis->sym, first, last) : aff_lower_over(aff, e, axis->sym, first, last);
}

void gap_close(TileProgram *program, const TileKernel *kernel, TileOp *loop, const Aff *from, const Aff *to)
{
    AffCtx *aff = program->aff;
    const Aff *none = aff_const(aff, 0), *one = aff_const(aff, 1);
    const Aff *begin = over_instances(program, kernel, from, true), *end = over_instances(program, kernel, aff_min(aff, to, loop->hi), false);
    const Aff *last = over_instances(program, kernel, aff_offset(aff, loop->hi, -1), true);
    int64_t least, most;
    if (!begin || !end || !last) return;
    begin = aff_max(aff, none, begin); /* the first stretch may have no turn */
    const Aff *gap = aff_max(aff, none, aff_sub(aff, end, begin));
    loop->hi = aff_sub(aff, loop->hi, gap);
    aff_bounds(last, &least, &most);
    const AffSym *turn = aff_sym_new(aff, loop->var->name, AFF_LOOP, 0, most < 0 ? 0 : most);
    const Aff *i = aff_of(aff, turn), *behind = aff_min(aff, one, aff_max(aff, none, aff_offset(aff, aff_sub(aff, i, begin), 1)));
    /* no turn is further than the last one was: so much is known of where tiles lie */
    rw_substitute(program, loop->regions[0], loop->var, aff_min(aff, last, aff_add(aff, i, aff_mul(aff, gap, behind))));
    loop->var = turn;
}
