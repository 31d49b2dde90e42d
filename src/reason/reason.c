/* reason.c: stage 1b: read, infer, choose, write. */
#include "reason/plan.h"

static Unit *reason_unit(Plan *plan, ReasonResult *result)
{
    Added added = {0};

    if (!plan_read(plan) || !plan_infer(plan))
        return NULL;
    const Choice *choice = plan_choose(plan, result);
    if (!choice)
        return NULL;
    Unit *unit = plan_write(plan, choice, &added);
    if (plan->failed)
        return NULL;
    plan_explain(plan, choice, &added, result);
    result->predicted_cycles = choice->turn;
    result->limiter = choice->limiter;
    return unit;
}

static void unused_settings(Plan *plan)
{
    Settings *settings = plan->options->settings;

    for (int i = 0; settings && i < settings->list.len; i++)
        if (!settings->list.data[i].used)
            diag_add(plan->diags, TW0612, plan->unit->name_span, "%s has nothing called %s to set", plan->unit->name,
                     settings->list.data[i].name);
}

ReasonResult *reason(Arena *arena, Syms *syms, const Program *sketch, const ReasonOptions *options, Diags *diags)
{
    ReasonResult *result = arena_new_of(arena, ReasonResult);
    Plan plan = {0};

    result->code = arena_new_of(arena, Program);
    result->code->source = sketch->source;
    for (int i = 0; i < sketch->units.len; i++) {
        if (sketch->units.data[i]->kind == UNIT_OPERATOR)
            continue;
        plan = (Plan){.arena = arena, .syms = syms, .program = sketch, .unit = sketch->units.data[i],
                      .options = options, .diags = diags, .aff = aff_ctx_new(arena)};
        eval_init(&plan.env, arena, plan.aff);
        Unit *unit = reason_unit(&plan, result);
        if (!unit)
            return NULL;
        vec_push(arena, &result->code->units, unit);
    }
    if (!plan.unit) {
        diag_add(diags, TW0601, (Span){0, 0}, "there is no sketch: a Kernel with a Grid");
        return NULL;
    }
    unused_settings(&plan);
    return diags->errors ? NULL : result;
}
