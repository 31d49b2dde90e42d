/* settings.c: what --set and --bind say: of the definition's own numbers, of the reasoner's choices, of the passes'. */
#include "chain/stages.h"

/* Choices of the reasoner that --set may force; a definition need not know them. */
static bool is_forced(const char *name)
{
    const char *point = strchr(name, '.'); /* for one of several kernels */

    return sched_is_size(point ? point + 1 : name);
}

Chain *chain_new(Arena *arena, Syms *syms, AffCtx *aff, Diags *diags, const Target *target,
                 DType dtype)
{
    Chain *chain = arena_new_of(arena, Chain);

    chain->arena = arena;
    chain->syms = syms;
    chain->aff = aff;
    chain->diags = diags;
    chain->target = target;
    chain->settings.dtype = chain->own.dtype = dtype;
    return chain;
}

/* "NAME=word": perhaps meant for a pass. */
static bool is_word(const char *text)
{
    const char *equals = strchr(text, '=');

    return equals && ((equals[1] >= 'a' && equals[1] <= 'z') || (equals[1] >= 'A' && equals[1] <= 'Z'));
}

static const char *with_words(Arena *arena, const char *error)
{
    Str text = str_new(arena);

    str_printf(&text, "%s; words are for ", error);
    sched_text(&text);
    return str_text(&text);
}

static void copy_settings(Arena *arena, Settings *to, const Settings *from)
{
    to->dtype = from->dtype;
    for (int i = 0; i < from->list.len; i++)
        vec_push(arena, &to->list, from->list.data[i]);
}

Chain *chain_like(Arena *arena, const Chain *like, Diags *diags)
{
    Chain *chain = chain_new(arena, syms_new(arena), aff_ctx_new(arena), diags, like->target, like->settings.dtype);

    copy_settings(arena, &chain->settings, &like->settings);
    copy_settings(arena, &chain->own, &like->own);
    copy_settings(arena, &chain->run_with, &like->run_with);
    chain->only_tried = like->only_tried;
    chain->schedule = like->schedule;
    chain->proves = like->proves;
    chain->work_left = like->work_left;
    return chain;
}

const char *chain_set(Chain *chain, const char *text)
{
    const char *error;
    Setting last;

    if (sched_set(chain->arena, &chain->schedule, text, &error))
        return error;
    error = settings_add(chain->arena, &chain->settings, text);
    if (error)
        return is_word(text) ? with_words(chain->arena, error) : error;
    last = chain->settings.list.data[chain->settings.list.len - 1];
    if (!is_forced(last.name))
        settings_put(chain->arena, &chain->own, last);
    return NULL;
}

static void drop_setting(Settings *settings, const char *name)
{
    int kept = 0;

    for (int i = 0; i < settings->list.len; i++)
        if (!text_equal_nocase(settings->list.data[i].name, name))
            settings->list.data[kept++] = settings->list.data[i];
    settings->list.len = kept;
}

void chain_unset(Chain *chain, const char *name)
{
    drop_setting(&chain->settings, name);
    drop_setting(&chain->own, name);
}

const char *chain_run_with(Chain *chain, const char *text)
{
    return settings_add(chain->arena, &chain->run_with, text);
}

void chain_mark_taken(Chain *chain)
{
    for (int i = 0; i < chain->settings.list.len; i++)
        if (!is_forced(chain->settings.list.data[i].name))
            chain->settings.list.data[i].used = true;
}

void chain_give_own(Chain *chain, const Unit *unit)
{
    Settings kept = {.dtype = chain->settings.dtype};

    for (int i = 0; i < chain->settings.list.len; i++) {
        const Setting *set = &chain->settings.list.data[i];

        bool number = is_forced(set->name) && block_find(&unit->body, STMT_PARAM, set->name);
        if (number || (is_forced(set->name) && unit_has_size(unit, set->name)))
            settings_put(chain->arena, &chain->own, *set);
        if (!number)
            vec_push(chain->arena, &kept.list, *set);
    }
    chain->settings = kept;
}

const Settings *chain_launch(const Chain *chain)
{
    return chain->only_tried ? NULL : &chain->run_with;
}

Settings *chain_settings(Chain *chain, bool launch)
{
    Settings *settings = arena_new_of(chain->arena, Settings);

    settings->dtype = chain->settings.dtype;
    for (int i = 0; i < chain->settings.list.len; i++)
        vec_push(chain->arena, &settings->list, chain->settings.list.data[i]);
    for (int i = 0; launch && i < chain->run_with.list.len; i++)
        vec_push(chain->arena, &settings->list, chain->run_with.list.data[i]);
    return settings;
}

ReasonOptions chain_judging(Chain *chain, Settings *settings)
{
    return (ReasonOptions){.target = chain->target, .settings = settings, .launch = chain_launch(chain), .dtype = chain->settings.dtype};
}
