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
 *
 * Of a product whose operands have 8 bits, what the first one is rounded from reaches no further than 448, and loses all bits
 * not far below 1. Factors that a way multiplies the product by could as well come before: ways that have fewest of them come first then.
 *
 *   Compute GEMM S, K and accumulate dQ            Compute Multiply S, R and get new S
 *   ...                                     rather Compute GEMM S, K and accumulate dQ
 *   Compute Multiply dQ, R and get new dQ
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

/* Whether a tile is the sum of products of which the first operand is rounded to 8 bits. */
static bool sums_bytes(const Steps *steps, const Tile *tile)
{
    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];

        if (step->gemm && step->result == tile && step->stmt->n_args == 2 && step->args[0] && step->args[0]->computed &&
            step->args[1] && dtype_bytes(step->args[1]->shared_dtype) == 1)
            return true;
        if (sums_bytes(&step->body, tile) || sums_bytes(&step->orelse, tile))
            return true;
    }
    return false;
}

/* Factors that such sums are multiplied by. */
static int late_factors(const Steps *all, const Steps *steps)
{
    int n = 0;

    for (int i = 0; i < steps->len; i++) {
        const Step *step = &steps->data[i];
        bool factor = step->known && (step->stmt->op == OP_MULTIPLY || step->stmt->op == OP_DIVIDE) && step->stmt->n_args > 0;

        n += factor && step->args[0] && step->args[0]->accumulated && sums_bytes(all, step->args[0]);
        n += late_factors(all, &step->body) + late_factors(all, &step->orelse);
    }
    return n;
}

typedef struct Rated {
    double cost; /* INFINITY: it does not fit */
    int late;
} Rated;

static Rated rate(Arena *arena, Syms *syms, const Program *sketch, const Unit *unit, const ReasonOptions *options)
{
    Diags *quiet = diags_new(arena, sketch->source);
    const Unit *inlined = unit_inlined(arena, unit, quiet);
    Plan plan = plan_for(arena, syms, sketch, inlined, options, quiet);
    const Choice *choice = plan_best(&plan);

    return (Rated){choice ? choice->cost : INFINITY, choice ? late_factors(&plan.steps, &plan.steps) : 0};
}

static bool is_better(const Rated *way, const Rated *than)
{
    if (isinf(way->cost) || isinf(than->cost))
        return isinf(than->cost) && !isinf(way->cost);
    return way->late != than->late ? way->late < than->late : way->cost < LESS * than->cost;
}

static void explain_way(Arena *arena, const char *name, const Rated *ways, int chosen, int n, ReasonResult *result)
{
    const char *why = "no other fits";
    double others = INFINITY;
    int late = 0;

    for (int k = 0; k < n; k++)
        if (k != chosen && !isinf(ways[k].cost)) {
            others = fmin(others, ways[k].cost);
            late = ways[k].late > late ? ways[k].late : late;
        }
    if (!isinf(others))
        why = arena_printf(arena, "the best of the others would take %.2f of its time%s", others / ways[chosen].cost,
                           late > ways[chosen].late ? "; ways with more factors behind sums of 8 bits come last" : "");
    vec_push(arena, &result->why, (Why){name, arena_printf(arena, "way %d of %d", chosen + 1, n), why});
}

static Unit *best_way(Arena *arena, Syms *syms, const Program *sketch, int first, int n, const ReasonOptions *options, ReasonResult *result)
{
    Unit *best = sketch->units.data[first];
    Rated *ways = arena_array(arena, Rated, n);
    int way = 0, chosen = 0;

    for (int i = first; i < sketch->units.len; i++) {
        if (!is_way(sketch->units.data[i], best->name))
            continue;
        ways[way] = rate(arena, syms, sketch, sketch->units.data[i], options);
        if (is_better(&ways[way], &ways[chosen])) {
            best = sketch->units.data[i];
            chosen = way;
        }
        way++;
    }
    if (result && !isinf(ways[chosen].cost))
        explain_way(arena, best->name, ways, chosen, n, result);
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
