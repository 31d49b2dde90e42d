/* space.c: variants near one that did well. */
#include "tune/tune.h"

#include "lang/schedule.h"

/* "warps" of "warps=8 stages=2": where its word begins; NULL: it is not there. */
static const char *find_word(const char *settings, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = settings; *at;) {
        size_t word = strcspn(at, " ");

        if (word > len && strncmp(at, name, len) == 0 && at[len] == '=')
            return at;
        at += word + strspn(at + word, " ");
    }
    return NULL;
}

const char *tune_with(Arena *arena, const char *settings, const char *name, const char *value)
{
    const char *at = find_word(settings, name);
    size_t before = at ? (size_t)(at - settings) : strlen(settings);
    const char *rest = at ? at + strcspn(at, " ") : "";

    return arena_printf(arena, "%.*s%s%s=%s%s", (int)before, settings, at || !before ? "" : " ", name, value, rest);
}

void tune_neighbours(Arena *arena, const char *settings, const bool *matters, TuneVariants *list)
{
    for (int v = SCHED_AUTO + 1; v < SCHED_VALUES; v++) {
        const char *name = sched_info(sched_of((SchedValue)v))->name;
        const char *changed = tune_with(arena, settings, name, sched_value_info((SchedValue)v)->name);

        if ((!matters || matters[v]) && strcmp(changed, settings) != 0)
            vec_push(arena, list, (TuneVariant){.settings = changed});
    }
}
