/* ways.c: of Kernels of one name, which are several ways to do the same, the one that takes least.
 *
 * What is best for a target may be no way at all for another, so that a sketch says both:
 *
 *   Kernel keys ... end    what is computed of scores goes on in registers
 *   Kernel keys ... end    it goes through shared memory, where warps share columns
 *
 * Who writes them puts first what is to be preferred: another one has to take a quarter less, since
 * estimates of flows that differ are not as near to each other as those of one flow (seen on an H200, mma.sync:
 * what the model thought 8 and 20 % slower was 19 and 7 % faster). Where none fits, the first one says why.
 */
#include "reason/plan.h"

#include <math.h>

/* Of the cost of ways before it, what one must not exceed. */
static const double LESS = 0.75;

static bool is_way(const Unit *unit, const char *name)
{
    return unit->kind == UNIT_KERNEL && strcmp(unit->name, name) == 0;
}

/* The place of the first Kernel of this name, and how many there are. */
static int count_ways(const Program *sketch, const char *name, int *first)
{
    int n = 0;

    for (int i = 0; i < sketch->units.len; i++)
        if (is_way(sketch->units.data[i], name) && n++ == 0)
            *first = i;
    return n;
}

static double cost_of(Arena *arena, Syms *syms, const Program *sketch, const Unit *unit, const ReasonOptions *options)
{
    Diags *quiet = diags_new(arena, sketch->source);
    const Unit *inlined = unit_inlined(arena, unit, quiet);
    Plan plan = plan_for(arena, syms, sketch, inlined, options, quiet);
    const Choice *choice = plan_best(&plan);

    return choice ? choice->cost : INFINITY;
}

static void explain_way(Arena *arena, const char *name, int way, int n, double cost, double least, ReasonResult *result)
{
    const char *why = isinf(least) ? "no other fits" : arena_printf(arena, "the best of the others would take %.2f of its time", least / cost);

    vec_push(arena, &result->why, (Why){name, arena_printf(arena, "way %d of %d", way + 1, n), why});
}

static Unit *best_way(Arena *arena, Syms *syms, const Program *sketch, int first, int n, const ReasonOptions *options, ReasonResult *result)
{
    Unit *best = sketch->units.data[first];
    double *costs = arena_array(arena, double, n), others = INFINITY;
    int way = 0, chosen = 0;

    for (int i = first; i < sketch->units.len; i++) {
        if (!is_way(sketch->units.data[i], best->name))
            continue;
        costs[way] = cost_of(arena, syms, sketch, sketch->units.data[i], options);
        if (isinf(costs[chosen]) ? !isinf(costs[way]) : costs[way] < LESS * costs[chosen]) {
            best = sketch->units.data[i];
            chosen = way;
        }
        way++;
    }
    for (int k = 0; k < n; k++)
        others = k != chosen && costs[k] < others ? costs[k] : others;
    if (result && !isinf(costs[chosen]))
        explain_way(arena, best->name, chosen, n, costs[chosen], others, result);
    return best;
}

const Program *plan_ways(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options, ReasonResult *result)
{
    Program *one = arena_new_of(arena, Program);
    bool several = false;

    *one = *sketch;
    memset(&one->units, 0, sizeof one->units);
    for (int i = 0; i < sketch->units.len; i++) {
        Unit *unit = sketch->units.data[i];
        int first = i, n = unit->kind == UNIT_KERNEL ? count_ways(sketch, unit->name, &first) : 1;

        several |= n > 1;
        if (first == i)
            vec_push(arena, &one->units, n > 1 ? best_way(arena, syms, sketch, first, n, options, result) : unit);
    }
    return several ? one : sketch;
}

const Program *reason_ways(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options)
{
    return plan_ways(arena, syms, sketch, options, NULL);
}
