/* reason.c: stage 1b: read, infer, choose, write. */
#include "reason/plan.h"

static Unit *reason_unit(Plan *plan, ReasonResult *result);

/* With blocks over the outputs' columns, since nothing else fits. */
static Unit *reason_spread(Plan *plan, ReasonResult *result)
{
    Plan wider = {.arena = plan->arena, .syms = plan->syms, .program = plan->program, .unit = plan->spread,
                  .options = plan->options, .diags = plan->diags, .aff = aff_ctx_new(plan->arena), .kernel_name = plan->kernel_name};

    eval_init(&wider.env, plan->arena, wider.aff);
    Unit *unit = reason_unit(&wider, result);
    if (unit)
        vec_push(plan->arena, &result->why, (Why){"Grid", "columns too", "no block has the registers for rows as wide as the "
                 "outputs: several share a row, and compute what does not depend on its columns each"});
    return unit;
}

bool plan_understand(Plan *plan)
{
    plan->inferred = plan->inferred || (plan->unit && plan_read(plan) && plan_infer(plan));
    return plan->inferred;
}

/* The kernel with what was chosen; NULL: nothing could be. */
static Unit *chosen_unit(Plan *plan, const Choice *choice, ReasonResult *result)
{
    Added added = {0};

    if (!choice)
        return plan->spread ? reason_spread(plan, result) : NULL;
    Unit *unit = plan_write(plan, choice, &added);
    if (plan->failed)
        return NULL;
    if (!plan->options->hasty)
        plan_explain(plan, choice, &added, result);
    result->predicted_cycles = choice->turn;
    result->limiter = choice->limiter;
    return unit;
}

static Unit *reason_unit(Plan *plan, ReasonResult *result)
{
    return plan_understand(plan) ? chosen_unit(plan, plan_choose(plan, result), result) : NULL;
}

Plan plan_for(Arena *arena, Syms *syms, const Program *sketch, const Unit *unit, const ReasonOptions *options, Diags *diags)
{
    Plan plan = {.arena = arena, .syms = syms, .program = sketch, .unit = unit, .options = options, .diags = diags,
                 .aff = aff_ctx_new(arena), .kernel_name = unit ? unit->name : NULL};

    eval_init(&plan.env, arena, plan.aff);
    return plan;
}

const Choice *plan_best(Plan *plan)
{
    ReasonResult unused = {0};

    return plan_understand(plan) ? plan_choose(plan, &unused) : NULL;
}

static bool has_parts(const Block *block)
{
    for (int i = 0; i < block->len; i++)
        if (block->data[i]->by || has_parts(&block->data[i]->body) || has_parts(&block->data[i]->orelse))
            return true;
    return false;
}

/* Kernels for rows of all lengths, where that is known at launch alone and nothing
 * is forced; else one. */
static bool in_ranges(const Plan *plan)
{
    static const char *const forced[] = {"warps", "warps_n", "stages", "blocks_per_sm", "kept", "cluster"};

    for (size_t i = 0; i < TW_COUNT(forced); i++)
        if (plan_is_set(plan, forced[i]))
            return false;
    return plan_in_rows(plan) && plan_open_row(plan) && !has_parts(&plan->unit->body);
}

/* A kernel for rows of one range, and what is chosen for it. */
typedef struct Ranged {
    Plan plan;
    const Choice *choice;
} Ranged;

typedef VEC(Ranged *) RangedPlans;

static bool same_tiles(const Choice *a, const Choice *b)
{
    return a && b && memcmp(a->size, b->size, sizeof a->size) == 0 && a->warps == b->warps && a->warps_n == b->warps_n && a->kept == b->kept &&
           a->cluster == b->cluster;
}

/* Of neighbours that have the same tiles, one. */
static void choose_ranges(Plan *first, ReasonResult *result, RangedPlans *ranged)
{
    RowRange range;

    for (int n = 0; (range = plan_row_range(first, n)).typical; n++) {
        Ranged *next = arena_new_of(first->arena, Ranged), *last = ranged->len ? ranged->data[ranged->len - 1] : NULL;

        next->plan = plan_for(first->arena, first->syms, first->program, first->unit, first->options, first->diags);
        next->plan.range = range;
        if (n > 0)
            next->plan.kernel_name = arena_printf(first->arena, "%s_rows%lld", first->unit->name, (long long)range.from);
        next->choice = plan_understand(&next->plan) ? plan_choose(&next->plan, result) : NULL;
        if (last && same_tiles(last->choice, next->choice))
            last->plan.range.to = range.to;
        else
            vec_push(first->arena, ranged, next);
    }
    if (ranged->len == 1)
        ranged->data[0]->plan.range = (RowRange){0};
}

static bool keep_unit(Unit *unit, const Plan *plan, ReasonResult *result)
{
    if (unit)
        vec_push(plan->arena, &result->code->units, unit);
    return unit != NULL;
}

/* The kernels for a unit of the sketch. */
static bool reason_kernels(Plan *plan, ReasonResult *result)
{
    RangedPlans ranged = {0};

    if (!plan_understand(plan))
        return false;
    if (!in_ranges(plan))
        return keep_unit(reason_unit(plan, result), plan, result);
    choose_ranges(plan, result, &ranged);
    for (int i = 0; i < ranged.len; i++)
        if (!keep_unit(chosen_unit(&ranged.data[i]->plan, ranged.data[i]->choice, result), plan, result))
            return false;
    return true;
}

/* What the schedule has for some kernels alone. */
typedef struct Partial {
    const char *name, *without, *note;
} Partial;

static const Partial *partial_setting(const char *name)
{
    static const Partial partial[] = {
        {"kept", "no two loops over the same read the same", "tiles that one loop has read stay in shared memory for the next one, as rows of a norm do"},
        {"cluster", "nothing is asked to be kept", "it says how many blocks keep a row together; --set kept=N, beside it, of how many turns each keeps the tiles"},
    };

    for (size_t i = 0; i < TW_COUNT(partial); i++)
        if (text_equal_nocase(name, partial[i].name))
            return &partial[i];
    return NULL;
}

static void unused_settings(Plan *plan)
{
    Settings *settings = plan->options->settings;
    Str schedule = str_new(plan->arena);

    sched_numbers_text(&schedule);
    str_add(&schedule, ", splits, fold, apart, and ");
    sched_text(&schedule);
    for (int i = 0; settings && i < settings->list.len; i++) {
        const char *name = settings->list.data[i].name, *flow = sched_about_flow(name);
        if (settings->list.data[i].used)
            continue;
        const Partial *partial = partial_setting(name);
        Diag *d = partial ? diag_add(plan->diags, TW0612, plan->unit->name_span, "%s has nothing for %s: %s", plan->unit->name, name, partial->without)
                          : diag_add(plan->diags, TW0612, plan->unit->name_span, "%s has nothing called %s to set", plan->unit->name, name);
        if (partial)
            diag_note(plan->diags, d, "%s", partial->note);
        else if (flow)
            diag_note(plan->diags, d, "%s", flow);
        else
            diag_note(plan->diags, d, "besides its own names there are sizes of tiles, %s", str_text(&schedule));
    }
}

ReasonResult *reason(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options, Diags *diags)
{
    ReasonResult *result = arena_new_of(arena, ReasonResult);
    Plan plan = {0};

    sketch = plan_ways(arena, syms, sketch, options, result);
    result->code = arena_new_of(arena, Program);
    result->code->source = sketch->source;
    for (int i = 0; i < sketch->units.len; i++) {
        if (sketch->units.data[i]->kind == UNIT_OPERATOR)
            continue;
        const Unit *unit = unit_inlined(arena, sketch->units.data[i], diags);
        if (!unit)
            return NULL;
        plan = plan_for(arena, syms, sketch, unit, options, diags);
        if (!reason_kernels(&plan, result))
            return NULL;
    }
    if (!plan.unit) {
        diag_add(diags, TW0601, (Span){0, 0}, "there is no sketch: a Kernel with a Grid");
        return NULL;
    }
    unused_settings(&plan);
    return diags->errors ? NULL : result;
}

const Diag *reason_misfit(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options)
{
    Diags *quiet = diags_new(arena, sketch->source);

    sketch = plan_ways(arena, syms, sketch, options, NULL);
    for (int i = 0; i < sketch->units.len; i++) {
        Plan plan = plan_for(arena, syms, sketch, sketch->units.data[i], options, quiet);
        ReasonResult unused = {.code = arena_new_of(arena, Program)};

        if (sketch->units.data[i]->kind == UNIT_KERNEL && !reason_kernels(&plan, &unused))
            return quiet->list.len ? &quiet->list.data[0] : NULL;
    }
    return NULL;
}
