/* project.c: see project.h. */
#include "pass/project.h"

/* A term of one of these kinds within a sum, of `of` if that is not NULL, and how many times it is there; NULL: there is none. */
const Aff *project_term(const Aff *sum, unsigned kinds, const AffSym *of, int64_t *times)
{
    if (sum->kind == AFF_ADD) {
        const Aff *found = project_term(sum->a, kinds, of, times);
        return found ? found : project_term(sum->b, kinds, of, times);
    }
    const Aff *term = sum->kind == AFF_MUL && aff_is_const(sum->b, times) ? sum->a : sum;
    if (term == sum) *times = 1;
    return (kinds & 1u << term->kind) && *times != 0 && (!of || aff_uses(term, of)) ? term : NULL;
}

/* The least (greatest) value of e over all ranges, or NULL. */
static const Aff *over_ranges(const Projection *x, const Aff *e, bool greatest)
{
    for (int i = 0; i < x->n && e; i++) {
        const Range *r = &x->ranges[i];
        e = greatest ? aff_upper_over(x->aff, e, r->sym, r->lo, r->hi) : aff_lower_over(x->aff, e, r->sym, r->lo, r->hi);
    }
    return e;
}

static bool uses_ranges(const Projection *x, const Aff *e)
{
    for (int i = 0; i < x->n; i++)
        if (aff_uses(e, x->ranges[i].sym)) return true;
    return false;
}


static const Aff *project_not(const Projection *x, const Aff *cond, bool some)
{
    AffCtx *aff = x->aff;
    return aff_not(aff, project(x, cond, !some));
}

/* How often the greater or lesser of two is in an expression, up to a limit. */
static int extremes_in(const Aff *e, int limit)
{
    if (!e || limit == 0) return 0;
    int n = e->kind == AFF_MAX || e->kind == AFF_MIN;
    n += extremes_in(e->a, limit - n);
    return n + extremes_in(e->b, limit - n);
}

/* max(a, b) <= c is a <= c and b <= c; so with the others. NULL: it is no such, or of so many that this would become long. */
static const Aff *of_both(AffCtx *aff, const Aff *cond)
{
    enum { MOST_EXTREMES = 4 };
    const Aff *sum = aff_sub(aff, cond->a, cond->b), *zero = aff_const(aff, 0);
    int64_t times;
    const Aff *extreme = project_term(sum, 1u << AFF_MAX | 1u << AFF_MIN, NULL, &times);
    if (!extreme || extremes_in(sum, MOST_EXTREMES + 1) > MOST_EXTREMES) return NULL;
    const Aff *rest = aff_sub(aff, sum, aff_scale(aff, extreme, times));
    const Aff *a = aff_le(aff, aff_add(aff, rest, aff_scale(aff, extreme->a, times)), zero);
    const Aff *b = aff_le(aff, aff_add(aff, rest, aff_scale(aff, extreme->b, times)), zero);
    return (extreme->kind == AFF_MAX) == (times > 0) ? aff_and(aff, a, b) : aff_or(aff, a, b);
}

static const Aff *project_le(const Projection *x, const Aff *cond, bool some)
{
    AffCtx *aff = x->aff;
    const Aff *both = of_both(aff, cond);
    if (both) return project(x, both, some);
    const Aff *bound = over_ranges(x, aff_sub(aff, cond->a, cond->b), !some);
    return bound ? aff_le(aff, bound, aff_const(aff, 0)) : aff_const(aff, some);
}

static const Aff *project_eq(const Projection *x, const Aff *cond, bool some)
{
    AffCtx *aff = x->aff;
    const Aff *zero = aff_const(aff, 0);
    const Aff *difference = aff_sub(aff, cond->a, cond->b);
    const Aff *least = over_ranges(x, difference, false), *most = over_ranges(x, difference, true);
    if (!least || !most) return aff_const(aff, some);
    return some ? aff_and(aff, aff_le(aff, least, zero), aff_le(aff, zero, most))
                : aff_and(aff, aff_eq(aff, least, zero), aff_eq(aff, most, zero));
}

const Aff *project(const Projection *x, const Aff *cond, bool some)
{
    AffCtx *aff = x->aff;
    if (!uses_ranges(x, cond)) return cond;
    switch (cond->kind) {
    case AFF_AND: return aff_and(aff, project(x, cond->a, some), project(x, cond->b, some));
    case AFF_OR:  return aff_or(aff, project(x, cond->a, some), project(x, cond->b, some));
    case AFF_NOT: return project_not(x, cond->a, some);
    case AFF_LE:  return project_le(x, cond, some);
    case AFF_EQ:  return project_eq(x, cond, some);
    case AFF_CONST: case AFF_SYM: case AFF_ADD: case AFF_MUL: case AFF_DIV: case AFF_MOD:
    case AFF_EXP2: case AFF_MIN: case AFF_MAX: case AFF_AT: case AFF_POISON:
        break;
    }
    return aff_const(aff, some);
}

const Aff *project_tile(TileProgram *program, const Aff *cond, int rows, int cols, bool some)
{
    const Aff *zero = aff_const(program->aff, 0);
    Range ranges[] = {{program->row, zero, aff_const(program->aff, rows - 1)}, {program->col, zero, aff_const(program->aff, cols - 1)}};
    return project(&(Projection){program->aff, ranges, 2}, cond, some);
}
