/* total.c: what all kernels of a sketch take.
 *
 * Costs of one flow are near to each other; of several, whose kernels wait for each other, they are added up.
 */
#include "reason/plan.h"

#include <math.h>

enum { LAUNCH = 4000 /* cycles from the end of a kernel to the next one's first products */ };

/* All but how many rows, and entries, there are. */
static bool sizes_known(const Plan *plan)
{
    for (int i = 0; i < plan->extents.len; i++) {
        const Extent *extent = plan->extents.data[i];

        if (extent->expected == 0 && (extent->kind == EXT_COLS || extent->kind == EXT_LOOP))
            return false;
    }
    return true;
}

/* Before choices are looked for. */
static bool knows_sizes(Plan *plan)
{
    if (!plan_understand(plan))
        return false;
    plan_settle_launch(plan);
    return sizes_known(plan);
}

/* Costs of all kernels by the model, and how many there are; known: of such alone whose lengths are. False: one cannot be. */
static bool add_costs(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options, bool known, double *cost, int *kernels)
{
    Diags *quiet = diags_new(arena, sketch->source);

    *cost = 0;
    *kernels = 0;
    for (int i = 0; i < sketch->units.len; i++) {
        const Unit *unit = sketch->units.data[i];

        if (unit->kind != UNIT_KERNEL)
            continue;
        Plan plan = plan_for(arena, syms, sketch, unit_inlined(arena, unit, quiet), options, quiet);
        const Choice *choice = !known || knows_sizes(&plan) ? plan_best(&plan) : NULL;
        if (!choice)
            return false;
        *cost += choice->cost;
        ++*kernels;
    }
    return true;
}

double reason_cycles(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options)
{
    double cost;
    int kernels;

    return add_costs(arena, syms, sketch, options, true, &cost, &kernels) ? cost / options->target->sms + LAUNCH * (kernels - 1) : INFINITY;
}

/* Of the work that a sketch must save: the model is not better than that. Where it saves kernels as well, which leave something in
 * memory, half of that. */
static const double GAIN = 0.2, GAIN_OF_FEWER = 0.1;

bool reason_undercuts(Arena *arena, Syms *syms, const Program *sketch, const Program *to, const ReasonOptions *options)
{
    double cost, before;
    int kernels, others;

    if (!add_costs(arena, syms, sketch, options, false, &cost, &kernels))
        return false;
    return !add_costs(arena, syms, to, options, false, &before, &others) || cost < (1 - (kernels < others ? GAIN_OF_FEWER : GAIN)) * before;
}
