/* sweep.c: lists of values, and the shapes that they make. */
#include "cli/sweep.h"

#include <stdlib.h>

typedef struct Values {
    VEC(const char *) list;
} Values;

/* 16k is 16384; what else there is launch_parse judges. */
static const char *plain_number(Arena *arena, const char *text)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || (*end != 'k' && *end != 'K') || end[1])
        return text;
    return arena_printf(arena, "%.17g", value * 1024);
}

static void split(Session *s, const char *text, Values *values)
{
    for (;;) {
        size_t n = strcspn(text, ",");

        vec_push(s->arena, &values->list, plain_number(s->arena, arena_strndup(s->arena, text, n)));
        if (!text[n])
            return;
        text += n + 1;
    }
}

/* The list of one word, against those before it. */
static bool take_list(Session *s, Sweep *sweep, const char *name, int length, int *points)
{
    if (length == 1)
        return true;
    if (length > SWEEP_MOST) {
        session_usage(s, "%s has %d values; a list can have %d", name, length, SWEEP_MOST);
        return false;
    }
    if (sweep->axis && length != *points) {
        session_usage(s, "%s has %d values and %s %d: lists go together, value by value", sweep->axis, *points, name,
                      length);
        return false;
    }
    sweep->axis = sweep->axis ? sweep->axis : name;
    *points = length;
    return true;
}

static void add_point(Session *s, Sweep *sweep, const char *const *names, const Values *values, int n, int at)
{
    SweepPoint point = {0};

    for (int i = 0; i < n; i++) {
        const char *value = values[i].list.data[values[i].list.len > 1 ? at : 0];

        vec_push(s->arena, &point.words, names[i] ? arena_printf(s->arena, "%s=%s", names[i], value) : value);
        if (sweep->axis && names[i] && strcmp(names[i], sweep->axis) == 0)
            point.x = strtod(value, NULL);
    }
    vec_push(s->arena, &sweep->points, point);
}

bool sweep_parse(Session *s, const char *const *words, int n, Sweep *sweep)
{
    const char **names = arena_array(s->arena, const char *, n + 1);
    Values *values = arena_array(s->arena, Values, n + 1);
    int points = 1;

    *sweep = (Sweep){0};
    for (int i = 0; i < n; i++) {
        const char *equals = strchr(words[i], '=');

        if (!equals) { /* launch_parse complains of it */
            vec_push(s->arena, &values[i].list, words[i]);
            continue;
        }
        names[i] = arena_strndup(s->arena, words[i], (size_t)(equals - words[i]));
        split(s, equals + 1, &values[i]);
        if (!take_list(s, sweep, names[i], values[i].list.len, &points))
            return false;
    }
    for (int at = 0; at < points; at++)
        add_point(s, sweep, names, values, n, at);
    return true;
}
