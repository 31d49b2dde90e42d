/* after.c: a lane's numbers that are there when others are.
 *
 * ptxas makes what follows from a lane's place as early as it can, and what elements have in common once, for all of them.
 * Where it has no registers for that, what comes next has the place as a choice between it and bits that were made just
 * before, by a predicate that ptxas does not know. Of many terms (tile.h) it would still keep what each makes of where the
 * tile begins, so there the choice is of a lane's place with that:
 *
 *   mask %s where t * 640 + col * 10 <= m * 64 + row + 40 and ...        row and col, chosen each as   m * 64 + row'
 *                                                                                                     t * 64 + col'
 */
#include "ptx/emit.h"

/* A number of the lane's, there when 32 bits are. */
const AffSym *el_number_after(Emitter *e, const AffSym *sym, const char *never, const char *bits)
{
    const char *d = em_new(e, REG_R);
    em(e, "selp.b32 %s, %s, %s, %s;", d, bits, ix_value(e, aff_of(e->program->aff, sym)), never);
    return ix_symbol(e, sym->name, d, em_level(e), sym->hi);
}

/* Where a tile begins, as what is made of its elements' places says: what stands beside its row, or its column, alone. */
static const Aff *begin_of(Emitter *e, const Aff *a, const AffSym *sym, const AffSym *other)
{
    AffCtx *aff = e->program->aff;
    const Aff *coef, *rest;
    int64_t factor;
    if (!a || a->kind == AFF_AT || !aff_uses(a, sym)) return NULL;
    if (aff_linear(aff, a, sym, &coef, &rest) && !aff_uses(rest, other)) {
        int64_t constant;
        if (!aff_is_const(coef, &factor) || factor == 0 || aff_uses_kind(rest, AFF_TABLE)) return NULL;
        rest = aff_without_constant(aff, factor > 0 ? rest : aff_scale(aff, rest, -1), &constant);
        factor = factor > 0 ? factor : -factor;
        return aff_divisor(rest) % factor == 0 ? aff_div(aff, rest, aff_const(aff, factor)) : NULL;
    }
    const Aff *first = begin_of(e, a->a, sym, other);
    return first ? first : begin_of(e, a->b, sym, other);
}

/* Of many terms, what each makes of where the tile begins would be kept for all elements: it is a number with the lane's. */
static const Aff *place_after(Emitter *e, const Aff *begin, const AffSym *sym, const char *never, const char *bits)
{
    AffCtx *aff = e->program->aff;
    int64_t lo, hi;
    if (!begin) return NULL;
    const Aff *place = aff_add(aff, begin, aff_of(aff, sym));
    aff_bounds(place, &lo, &hi);
    if (lo < 0 || ix_is_wide(e, place)) return NULL;
    const char *d = em_new(e, REG_R);
    em(e, "selp.b32 %s, %s, %s, %s;", d, bits, ix_value(e, place), never);
    return aff_sub(aff, aff_of(aff, ix_symbol(e, sym->name, d, em_level(e), hi)), begin);
}

Lane el_lane_after(Emitter *e, const TileValue *v, const Aff *terms, const char *never, const char *bits)
{
    Lane lane = el_lane_here(e, v);
    const TileProgram *p = e->program;
    lane.parts = terms && v->type.rows > 1 ? place_after(e, begin_of(e, terms, p->row, p->col), lane.row, never, bits) : NULL;
    lane.units = terms && v->type.cols > 1 ? place_after(e, begin_of(e, terms, p->col, p->row), lane.col, never, bits) : NULL;
    if (v->type.rows > 1 && !lane.parts) lane.row = el_number_after(e, lane.row, never, bits);
    if (v->type.cols > 1 && !lane.units) lane.col = el_number_after(e, lane.col, never, bits);
    return lane;
}
