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

double reason_cycles(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options)
{
    Diags *quiet = diags_new(arena, sketch->source);
    double cycles = -LAUNCH;

    for (int i = 0; i < sketch->units.len; i++) {
        const Unit *unit = sketch->units.data[i];

        if (unit->kind != UNIT_KERNEL)
            continue;
        Plan plan = plan_for(arena, syms, sketch, unit_inlined(arena, unit, quiet), options, quiet);
        const Choice *choice = plan_best(&plan);
        if (!choice || !sizes_known(&plan))
            return INFINITY;
        cycles += choice->cost / options->target->sms + LAUNCH;
    }
    return cycles;
}
