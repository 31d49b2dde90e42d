/* prefer.c: which of two sketches for the same is much less work.
 *
 * Entries that share what a kernel streams can be rows of one tile (src/fuse/fold.c). Where entries have few rows
 * each, there are then fewer tiles, and copies; where they fill tiles, as many.
 */
#include "reason/plan.h"

enum { FULL_TILE = 128 }; /* rows that tiles have where there are enough */

/* Of the work that a sketch must save: the model is not better than that. */
static const double GAIN = 0.2;

/* What a kernel of a sketch does. */
typedef struct Work {
    int64_t rows;  /* of an entry; 0: not known */
    double cycles; /* of all blocks, along what is known of the grid, for a column of the main loop; 0: nothing fits */
} Work;

/* Which kernel is to be judged: the first that is another in both. */
static int first_other(const Program *sketch, const Program *to)
{
    for (int i = 0; i < sketch->units.len && i < to->units.len; i++)
        if (sketch->units.data[i]->kind == UNIT_KERNEL && sketch->units.data[i] != to->units.data[i])
            return i;
    return 0;
}

static double tiles_along(const Choice *c, const Extent *extent)
{
    return extent->expected > 0 ? plan_turns(c, extent) : 1;
}

static Work work_of(Arena *arena, Syms *syms, const Program *sketch, int kernel, const ReasonOptions *options)
{
    Work work = {0};
    Plan plan = plan_for(arena, syms, sketch, sketch->units.data[kernel], options, diags_new(arena, sketch->source));
    const Choice *choice = plan_best(&plan);
    int64_t columns = 1;

    if (!choice)
        return work;
    work.cycles = choice->turn;
    for (int i = 0; i < plan.grid.len; i++)
        work.cycles *= tiles_along(choice, plan.grid.data[i]);
    for (int i = 0; i < plan.extents.len; i++) {
        const Extent *extent = plan.extents.data[i];

        if (extent->kind == EXT_ROWS)
            work.rows = extent->expected;
        if (extent->kind == EXT_LOOP && choice->size[extent->id] > columns)
            columns = choice->size[extent->id];
    }
    work.cycles /= (double)columns;
    return work;
}

bool reason_prefers(Arena *arena, Syms *syms, const Program *sketch, const Program *to, const ReasonOptions *options)
{
    int kernel = first_other(sketch, to);
    Work work = work_of(arena, syms, sketch, kernel, options), before = work_of(arena, syms, to, kernel, options);

    return work.cycles > 0 && before.rows > 0 && before.rows < FULL_TILE && work.cycles < before.cycles * (1 - GAIN);
}

bool reason_divides(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options)
{
    for (int i = 0; i < sketch->units.len; i++) {
        Plan plan = plan_for(arena, syms, sketch, sketch->units.data[i], options, diags_new(arena, sketch->source));
        const Choice *choice = sketch->units.data[i]->kind == UNIT_KERNEL ? plan_best(&plan) : NULL;

        if (choice && choice->groups > 0)
            return true;
    }
    return false;
}
