/* parts.c: into how many parts a sketch's loops are best cut.
 *
 * A grid that is smaller than the GPU leaves multiprocessors idle. Where all
 * sizes are known, the time of a kernel is its main loop's turns, in as many
 * waves as its blocks need; cut into parts, each block has fewer turns and there
 * are more blocks, and a second kernel reads all parts again, one after another.
 */
#include "reason/plan.h"

enum {
    MOST_PARTS = 128,
    SECOND_KERNEL = 6000, /* cycles: its launch, and filling and draining the GPU once more */
    PART = 120            /* cycles in which it takes one part */
};

/* Of the time that cutting must save: the model is not better than that. */
static const double GAIN = 0.2;

static double ceil_ratio(double a, double b)
{
    return (double)(((int64_t)a + (int64_t)b - 1) / (int64_t)b);
}

static double tiles_of(const Choice *c, const Extent *extent)
{
    return extent->kind == EXT_LEAD ? (double)extent->known
                                    : ceil_ratio((double)extent->known, (double)c->size[extent->id]);
}

/* 0: not known. */
static double blocks_of(const Plan *plan, const Choice *c)
{
    double blocks = 1;

    for (int i = 0; i < plan->grid.len; i++)
        blocks *= tiles_of(c, plan->grid.data[i]);
    return blocks;
}

static double turns_of(const Plan *plan, const Choice *c)
{
    double most = 0;

    for (int i = 0; i < plan->extents.len; i++) {
        const Extent *extent = plan->extents.data[i];
        double turns = extent->kind == EXT_LOOP ? tiles_of(c, extent) : 0;

        most = turns > most ? turns : most;
    }
    return most;
}

static double time_of(const Plan *plan, const Choice *c, int parts)
{
    double at_once = (double)plan->options->target->sms * c->blocks_per_sm;
    double waves = ceil_ratio(blocks_of(plan, c) * parts, at_once);

    return waves * ceil_ratio(turns_of(plan, c), parts) * c->turn + (parts > 1 ? SECOND_KERNEL + parts * PART : 0);
}

static int best_parts(const Plan *plan, const Choice *c)
{
    double turns = turns_of(plan, c), best = time_of(plan, c, 1) * (1 - GAIN);
    int parts = 1;

    if (blocks_of(plan, c) < 1 || blocks_of(plan, c) * 2 > plan->options->target->sms)
        return 1;
    for (int n = 2; n <= MOST_PARTS && n <= turns; n++) {
        double time = time_of(plan, c, n);

        if (time < best) {
            best = time;
            parts = n;
        }
    }
    return parts;
}

static const Unit *only_sketch(const Program *sketch)
{
    const Unit *unit = NULL;

    for (int i = 0; i < sketch->units.len; i++) {
        if (unit && sketch->units.data[i]->kind == UNIT_KERNEL)
            return NULL;
        if (sketch->units.data[i]->kind == UNIT_KERNEL)
            unit = sketch->units.data[i];
    }
    return unit;
}

int reason_parts(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options)
{
    Plan plan = {.arena = arena, .syms = syms, .program = sketch, .unit = only_sketch(sketch), .options = options,
                 .diags = diags_new(arena, sketch->source), .aff = aff_ctx_new(arena)};
    ReasonResult unused = {0};

    if (!plan.unit)
        return 1;
    eval_init(&plan.env, arena, plan.aff);
    const Choice *choice = plan_read(&plan) && plan_infer(&plan) ? plan_choose(&plan, &unused) : NULL;
    return choice ? best_parts(&plan, choice) : 0;
}
