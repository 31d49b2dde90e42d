/* shrink.c: a case that differs, made smaller while it still differs at the same
 * level: statements are taken out, whole blocks first, and sizes are made
 * smaller. What is left is what somebody has to understand.
 */
#include "generate.h"

enum { MOST_LINES = 256, MOST_TRIES = 400 };

static const double MOST_SECONDS = 20;

typedef struct Shrink {
    Arena *arena;
    LevelCase best;
    const char *level; /* where it differs */
    const char *lines[MOST_LINES];
    int n_lines, tries;
    double until;
} Shrink;

static bool still_differs(Shrink *s, const LevelCase *c)
{
    Heap heap = {0};
    jmp_buf oom;
    volatile bool differs = false;

    if (++s->tries > MOST_TRIES || clock_seconds() > s->until)
        return false;
    heap.on_oom = &oom;
    if (setjmp(oom) == 0) {
        LevelReport report = levels_run(arena_new(&heap), c);

        differs = report.verdict == LEVELS_DIFFER && strcmp(report.level, s->level) == 0;
    }
    heap_drop(&heap);
    return differs;
}

/* ---- statements ------------------------------------------------------------------------ */

static void split(Shrink *s, const char *text)
{
    for (s->n_lines = 0; *text && s->n_lines < MOST_LINES;) {
        size_t n = strcspn(text, "\n");

        s->lines[s->n_lines++] = arena_strndup(s->arena, text, n);
        text += n + (text[n] != '\0');
    }
}

static bool starts(const char *line, const char *word)
{
    line += strspn(line, " ");
    return strncmp(line, word, strlen(word)) == 0;
}

/* The line behind the block that line i opens, or behind line i. */
static int block_end(const Shrink *s, int i)
{
    int depth = 0;

    do {
        const char *l = s->lines[i++];

        depth += starts(l, "for ") || starts(l, "if ") || starts(l, "Define ") || starts(l, "Schedule ");
        depth -= starts(l, "end");
    } while (depth > 0 && i < s->n_lines);
    return i;
}

static const char *without(Shrink *s, int from, int to)
{
    Str out = str_new(s->arena);

    for (int i = 0; i < s->n_lines; i++)
        if (i < from || i >= to)
            str_printf(&out, "%s\n", s->lines[i]);
    return str_text(&out);
}

static bool take_out(Shrink *s, int from, int to)
{
    LevelCase c = s->best;
    const char *text = without(s, from, to);

    if (c.code)
        c.code = text;
    else
        c.definition = text;
    if (!still_differs(s, &c))
        return false;
    s->best = c;
    split(s, text);
    return true;
}

/* From the end: what is made last is used least. */
static bool fewer_statements(Shrink *s)
{
    bool any = false;

    split(s, s->best.code ? s->best.code : s->best.definition);
    for (int i = s->n_lines - 2; i > 0; i--) {
        if (i >= s->n_lines || starts(s->lines[i], "end") || starts(s->lines[i], "else"))
            continue;
        any |= take_out(s, i, block_end(s, i));
    }
    return any;
}

/* ---- sizes -------------------------------------------------------------------------------- */

static void give(Shrink *s, LevelCase *c, int bind, double value)
{
    const char *name = c->binds[bind].name;
    size_t n = strlen(name);

    c->binds[bind].value = value;
    for (int i = 0; i < c->n_sets; i++)
        if (strncmp(c->sets[i], name, n) == 0 && c->sets[i][n] == '=')
            c->sets[i] = arena_printf(s->arena, "%s=%.10g", name, value);
}

static bool smaller_sizes(Shrink *s)
{
    bool any = false;

    for (int i = 0; i < s->best.n_binds; i++) {
        double now = s->best.binds[i].value, tries[] = {1, (double)(int64_t)(now / 2), now - 1};

        for (size_t k = 0; k < TW_COUNT(tries); k++) {
            LevelCase c = s->best;

            if (tries[k] < 1 || tries[k] >= now)
                continue;
            give(s, &c, i, tries[k]);
            if (!still_differs(s, &c))
                continue;
            s->best = c;
            any = true;
            break;
        }
    }
    return any;
}

LevelCase shrink_case(Arena *arena, const LevelCase *c, const char *level)
{
    Shrink s = {.arena = arena, .best = *c, .level = arena_strdup(arena, level),
                .until = clock_seconds() + MOST_SECONDS};

    if (c->code && c->definition)
        return *c;
    for (bool smaller = true; smaller;) {
        smaller = fewer_statements(&s);
        smaller |= smaller_sizes(&s);
    }
    return s.best;
}
