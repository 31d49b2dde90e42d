/* tune_shapes.c: --bind with lists of sizes.
 *
 *   --bind batch=1 --bind q_len=1k,4k --bind kv_len=1k,4k
 * is batch=1 q_len=1024 kv_len=1024, and batch=1 q_len=4096 kv_len=4096.
 */
#include "cli/tune_shapes.h"

enum { MOST_SHAPES = 64 };

static int count(const char *word)
{
    int n = 1;

    for (; *word; word++)
        n += *word == ',';
    return n;
}

/* The i-th of a list; a single value stands for all. "4k" is 4096. */
static const char *value_of(Arena *arena, const char *list, int i)
{
    size_t len;

    for (; i > 0 && strchr(list, ','); i--)
        list = strchr(list, ',') + 1;
    len = strcspn(list, ",");
    if (len > 1 && (list[len - 1] == 'k' || list[len - 1] == 'K')) {
        double value;
        char end;

        if (sscanf(arena_strndup(arena, list, len - 1), "%lf%c", &value, &end) == 1)
            return arena_printf(arena, "%.17g", value * 1024);
    }
    return arena_strndup(arena, list, len);
}

static bool lengths_agree(Session *s, int *n)
{
    const char *longest = NULL;

    *n = 1;
    for (int i = 0; i < s->options.binds.len; i++) {
        const char *word = s->options.binds.data[i];
        int length = count(word);

        if (length > 1 && longest && length != *n) {
            session_usage(s, "--bind: %s has %d values, %s has %d", longest, *n, word, length);
            return false;
        }
        if (length > 1) {
            longest = word;
            *n = length;
        }
    }
    if (*n > MOST_SHAPES)
        session_usage(s, "--bind: %d values; at most %d are taken", *n, MOST_SHAPES);
    return *n <= MOST_SHAPES;
}

bool tune_shapes(Session *s, TuneShapes *shapes)
{
    int n;

    if (!lengths_agree(s, &n))
        return false;
    for (int i = 0; i < n; i++) {
        TuneShape shape = {.binds = arena_array(s->arena, const char *, s->options.binds.len + 1)};

        for (int k = 0; k < s->options.binds.len; k++) {
            const char *word = s->options.binds.data[k], *equals = strchr(word, '=');

            shape.binds[shape.n_binds++] =
                equals ? arena_printf(s->arena, "%.*s%s", (int)(equals + 1 - word), word, value_of(s->arena, equals + 1, i)) : word;
        }
        vec_push(s->arena, shapes, shape);
    }
    return true;
}
