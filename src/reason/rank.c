/* rank.c: the best choices by the model, in words: what a measurement tries.
 *
 * The model's first choice is one of many that it thinks nearly as good. Those that
 * differ in nothing but stages say little that is new, so few of each kind are taken.
 */
#include "reason/plan.h"

enum { SAME_KIND = 2 };

/* Choices dearer than this, over the best one, are not worth a measurement. */
static const double WORTH = 2.5;

void plan_rank(Plan *plan, const Choice *choice)
{
    Ranking *r = plan->ranking;
    int at;

    if (!r || (r->n == RANK_KEPT && choice->cost >= r->best[r->n - 1].cost))
        return;
    at = r->n < RANK_KEPT ? r->n++ : r->n - 1;
    for (; at > 0 && r->best[at - 1].cost > choice->cost; at--)
        r->best[at] = r->best[at - 1];
    r->best[at] = *choice;
}

static bool same_kind(const Plan *plan, const Choice *a, const Choice *b)
{
    for (int i = 0; i < plan->extents.len; i++)
        if (a->size[i] != b->size[i])
            return false;
    return a->warps == b->warps && a->warps_n == b->warps_n;
}

static bool is_news(const Plan *plan, const Choice *const *taken, int n, const Choice *choice)
{
    int same = 0;

    for (int i = 0; i < n; i++)
        same += same_kind(plan, taken[i], choice);
    return same < SAME_KIND;
}

/* scope: the kernel's name and a dot, where there are several. */
static const char *in_words(const Plan *plan, const Choice *c, const char *scope)
{
    Str text = str_new(plan->arena);

    for (int i = 0; i < plan->extents.len; i++) {
        const Extent *extent = plan->extents.data[i];
        bool chosen = extent->kind == EXT_ROWS || extent->kind == EXT_COLS || extent->kind == EXT_LOOP;

        if (chosen && extent->tile && !extent->fixed)
            str_printf(&text, "%s%s=%lld ", scope, extent->tile, (long long)c->size[extent->id]);
    }
    str_printf(&text, "%swarps=%d", scope, c->warps);
    if (c->warps_n > 1)
        str_printf(&text, " %swarps_n=%d", scope, c->warps_n);
    if (!c->in_rows)
        str_printf(&text, " %sstages=%d", scope, c->stages);
    return str_text(&text);
}

static void take_best(const Plan *plan, const char *scope, int most, ReasonRanking *result)
{
    const Ranking *r = plan->ranking;
    const Choice **taken = arena_array(plan->arena, const Choice *, RANK_KEPT);
    int n = 0;

    for (int i = 0; i < r->n && n < most && r->best[i].cost <= WORTH * r->best[0].cost; i++)
        if (is_news(plan, taken, n, &r->best[i]))
            taken[n++] = &r->best[i];
    result->list.len = 0;
    for (int i = 0; i < n; i++)
        vec_push(plan->arena, &result->list, (ReasonRanked){in_words(plan, taken[i], scope), taken[i]->cost});
}

static int count_kernels(const Program *sketch)
{
    int n = 0;

    for (int i = 0; i < sketch->units.len; i++)
        n += sketch->units.data[i]->kind == UNIT_KERNEL;
    return n;
}

void reason_rank(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options, int most,
                 ReasonRanking *result)
{
    Diags *quiet = diags_new(arena, sketch->source);
    double dearest = 0;

    sketch = plan_ways(arena, syms, sketch, options, NULL);
    bool several = count_kernels(sketch) > 1;

    *result = (ReasonRanking){0};
    for (int i = 0; i < sketch->units.len; i++) {
        const Unit *unit = sketch->units.data[i]->kind == UNIT_KERNEL ? unit_inlined(arena, sketch->units.data[i], quiet) : NULL;
        Plan plan = plan_for(arena, syms, sketch, unit, options, quiet);

        plan.ranking = arena_new_of(arena, Ranking);
        if (!plan_best(&plan) || !plan.ranking->n)
            continue;
        if (plan.ranking->best[0].cost <= dearest)
            continue;
        dearest = plan.ranking->best[0].cost;
        take_best(&plan, several ? arena_printf(arena, "%s.", unit->name) : "", most, result);
    }
}
