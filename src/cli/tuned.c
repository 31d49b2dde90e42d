/* tuned.c: what `tw tune` remembers.
 *
 * A search is for one class of shapes. Who compiles without saying all sizes may mean
 * several; then all that are remembered must agree.
 */
#include "cli/tuned.h"

#include <stdlib.h>

const char *tuned_folder(Session *s)
{
    const char *folder = tune_cache_folder(s->arena, getenv("XDG_CACHE_HOME"), getenv("HOME"));

    if (!folder)
        session_fail(s, EXIT_LACKS, "neither XDG_CACHE_HOME nor HOME says where to remember what was tuned");
    return folder;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *tuned_operator(Session *s, const Chain *chain)
{
    const Settings *settings = &chain->settings;
    const char **words = arena_array(s->arena, const char *, settings->list.len + SCHED_COUNT + 1);
    Str text = str_new(s->arena);
    int n = 0;

    for (int i = 0; i < settings->list.len; i++)
        words[n++] = arena_printf(s->arena, "%s=%.17g", settings->list.data[i].name, settings->list.data[i].value);
    for (int i = 0; i < SCHED_COUNT; i++)
        if (chain->schedule.value[i] != SCHED_AUTO)
            words[n++] = arena_printf(s->arena, "%s=%s", sched_info((SchedId)i)->name,
                                      sched_value_info(chain->schedule.value[i])->name);
    qsort(words, (size_t)n, sizeof *words, by_text);
    str_printf(&text, "%s# %s", chain->definition ? chain->definition : "", dtype_name(settings->dtype));
    for (int i = 0; i < n; i++)
        str_printf(&text, " %s", words[i]);
    return str_text(&text);
}

/* Whether each word of `given` is in the class of an entry. */
static bool covers(Arena *arena, const char *shapes, const char *given)
{
    const char *all = arena_printf(arena, " %s ", shapes);

    for (const char *at = given; *at;) {
        size_t len = strcspn(at, " ");

        if (at[len] == ' ' && !memchr(at, '=', len)) /* "q_len 4096" is two words */
            len += 1 + strcspn(at + len + 1, " ");
        if (!strstr(all, arena_printf(arena, " %.*s ", (int)len, at)))
            return false;
        at += len + strspn(at + len, " ");
    }
    return true;
}

typedef struct Matches {
    const TuneEntry *newest;
    bool differ; /* other shapes have another winner */
    Str list;
} Matches;

static Matches find_all(Session *s, const TuneEntries *entries, const char *operator, const char *given)
{
    Matches m = {.list = str_new(s->arena)};

    for (int i = 0; i < entries->len; i++) {
        const TuneEntry *e = &entries->data[i];

        if (!e->winner || strcmp(e->key.target, s->options.target->name) != 0 || strcmp(e->key.operator, operator) != 0)
            continue;
        str_printf(&m.list, "\n  %s, %s", e->key.shapes, e->key.device);
        if (!covers(s->arena, e->key.shapes, given))
            continue;
        m.differ |= m.newest && strcmp(m.newest->key.shapes, e->key.shapes) != 0 && strcmp(m.newest->winner, e->winner) != 0;
        if (!m.newest || e->when >= m.newest->when)
            m.newest = e;
    }
    return m;
}

const TuneEntry *tuned_find(Session *s, const Chain *chain)
{
    const char *folder = tuned_folder(s), *given;
    LaunchShape shape = {0};
    TuneEntries entries = {0};
    Matches m;
    int ignored;

    if (!folder || !launch_parse(s, "bind", s->options.binds.data, s->options.binds.len, &shape))
        return NULL;
    given = tune_shape_class(s->arena, chain->def, shape.data, shape.len);
    tune_cache_list(s->arena, folder, &entries, &ignored);
    m = find_all(s, &entries, tuned_operator(s, chain), given);
    if (m.newest && !m.differ)
        return m.newest;
    if (m.differ)
        session_fail(s, EXIT_LACKS, "several choices are remembered; say with --bind for which sizes:%s", str_text(&m.list));
    else
        session_fail(s, EXIT_LACKS, "no choice is remembered for this operator with these settings on %s%s%s%s%s",
                     s->options.target->name, *given ? " at " : "", given,
                     m.list.len ? "; there are:" : ": 'tw tune' finds one", str_text(&m.list));
    return NULL;
}
