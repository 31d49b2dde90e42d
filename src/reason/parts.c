/* parts.c: into how many parts a sketch's loops are best cut.
 *
 * A grid that is smaller than the GPU leaves multiprocessors idle. Where all
 * sizes are known, or nothing is multiplied, the time of a kernel is what its busiest multiprocessor has to
 * do; cut into parts, each block has fewer turns and there are more blocks, and a
 * second kernel reads all parts again, one after another. Tiles are chosen anew for
 * every number of parts: few large blocks in parts may be better than many small ones.
 */
#include "reason/plan.h"

#include <math.h>

enum {
    SECOND_KERNEL = 2000, /* cycles: its launch, and filling and draining the GPU once more */
    PART = 120,           /* cycles in which it takes one part */
    PART_BYTES = 4,       /* of an element, fp32 */
    ROUND_TRIP = 2        /* they are written, and read */
};

/* Of the time that cutting must save: the model is not better than that. */
static const double GAIN = 0.1, GAIN_IF_TYPICAL = 0.3; /* and sizes may be others */

typedef struct Sketched {
    Arena *arena;
    Syms *syms;
    const Program *sketch;
    const Unit *unit;
    const ReasonOptions *options;
} Sketched;

/* Of the best choice. */
typedef struct Rating {
    double cycles;
    double blocks; /* all parts' */
    double turns;  /* of the longest loop of known length; 0: none is */
    bool known;    /* the grid */
} Rating;

/* Kernels that combine parts: without products, one for each loop, which may need what those before it came to. */
static int kernels_behind(const Plan *plan)
{
    int loops = 0;

    for (int i = 0; i < plan->unit->body.len; i++)
        loops += plan->unit->body.data[i]->kind == STMT_FOR;
    return loops < 1 || block_multiplies(&plan->unit->body) ? 1 : loops;
}

/* Cycles of the kernels behind the first, and of what the first one stores for it. */
static double combining(const Plan *plan, const Choice *c, double blocks, int parts)
{
    const Target *t = plan->options->target;
    double bytes = 0;

    for (int i = 0; i < plan->steps.len; i++) {
        const Step *step = &plan->steps.data[i];

        if (step->stmt->kind == STMT_COPY && step->stmt->to_space == SPACE_GLOBAL)
            bytes += (double)c->size[step->copied->row->id] * (double)c->size[step->copied->col->id] * PART_BYTES;
    }
    return kernels_behind(plan) * (SECOND_KERNEL + parts * PART) + ROUND_TRIP * bytes * blocks / (t->dram_gbs / t->clock_ghz);
}

/* The best choice for so many parts; false: nothing fits. */
static bool rate_parts(const Sketched *s, int parts, Rating *rating)
{
    Plan plan = plan_for(s->arena, s->syms, s->sketch, s->unit, s->options, diags_new(s->arena, s->sketch->source));

    plan.parts = parts;
    const Choice *choice = plan_best(&plan);
    if (!choice)
        return false;
    *rating = (Rating){.cycles = choice->cost / s->options->target->sms, .blocks = plan_blocks(&plan, choice),
                       .known = plan_expects_launch(&plan)};
    for (int i = 0; i < plan.extents.len; i++)
        if (plan.extents.data[i]->kind == EXT_LOOP && plan.extents.data[i]->expected > 0)
            rating->turns = fmax(rating->turns, plan_turns(choice, plan.extents.data[i]));
    if (parts > 1)
        rating->cycles += combining(&plan, choice, rating->blocks, parts);
    return true;
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

/* Without products a block's time is that of what it reads: a few blocks that read all rows leave most of the memory's bandwidth
 * unused, and one kernel more takes little. So that is done for lengths that are usual, where none are known. 1, where those
 * do not fit: others do. */
static int parts_if_typical(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options)
{
    ReasonOptions typical = *options;

    typical.typical = true;
    int parts = reason_parts(arena, syms, sketch, &typical);
    return parts > 0 ? parts : 1;
}

int reason_parts(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options)
{
    static const int numbers[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    const Sketched s = {arena, syms, sketch, only_sketch(sketch), options};
    ReasonOptions hasty = *options;
    Rating whole, cut;
    int parts = 1;

    if (!s.unit)
        return 1;
    hasty.hasty = options->roomy && !options->typical; /* else what fits is weighed against blocks over columns as well, or by all that there is */
    if (!rate_parts(&(Sketched){arena, syms, sketch, s.unit, &hasty}, 1, &whole))
        return 0;
    if ((!whole.known || whole.turns == 0) && !options->typical && !block_multiplies(&s.unit->body))
        return parts_if_typical(arena, syms, sketch, options);
    if (!whole.known || (hasty.hasty && !rate_parts(&s, 1, &whole)) || whole.blocks > options->target->sms)
        return 1;
    double best = whole.cycles * (1 - (options->typical ? GAIN_IF_TYPICAL : GAIN));
    for (size_t i = 0; i < TW_COUNT(numbers) && numbers[i] <= whole.turns; i++)
        if (rate_parts(&s, numbers[i], &cut) && numbers[i] <= cut.turns && cut.cycles < best) {
            best = cut.cycles;
            parts = numbers[i];
        }
    return parts;
}
