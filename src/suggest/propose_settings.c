/* propose_settings.c: settings of the command line that mend what no edit of the text does.
 *
 *   tw gen op.tl --set BM=50            --set BM=48
 *   tw gen op.tl --set HeadDimm=64      --set HeadDim=64 in place of it
 *   tw gen op.tl --set splits=4         without it
 *
 * As an edit, each is tried before it is said.
 */
#include "suggest/proposal.h"

#include "lang/schedule.h"

#include <math.h>
#include <stdlib.h>

typedef struct Said {
    const char *name;
    double value;
} Said;

static bool says(const char *message, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = strstr(message, name); at; at = strstr(at + 1, name))
        if ((at == message || !is_name_char(at[-1])) && !is_name_char(at[len]))
            return true;
    return false;
}

/* The setting that the message names; name NULL: none. */
static Said setting_said(const Suggester *s)
{
    const Settings *settings = &s->chain->settings, *own = &s->chain->own;

    for (int i = 0; i < settings->list.len + own->list.len; i++) {
        const Setting *set = i < settings->list.len ? &settings->list.data[i] : &own->list.data[i - settings->list.len];
        if (says(s->diag->message, set->name))
            return (Said){set->name, set->value};
    }
    return (Said){0};
}

static const char *set_text(Suggester *s, const char *name, double value)
{
    return arena_printf(s->arena, "%s=%.10g", name, value);
}

/* The parts that loops are cut into. */
bool propose_no_parts(Suggester *s)
{
    return suggest_setting(s, "splits", NULL, "leave it to tw");
}

bool propose_no_setting(Suggester *s)
{
    Said said = setting_said(s);

    return said.name && suggest_setting(s, said.name, NULL, "leave it to tw");
}

/* ---- names ------------------------------------------------------------------------------------------ */

typedef struct Nearest {
    const char *word, *found;
    int best;
} Nearest;

static void consider(Nearest *n, const char *name)
{
    int d = name && *name ? name_distance(n->word, name, n->best) : n->best;

    if (d < n->best && strcmp(name, n->word) != 0) {
        n->best = d;
        n->found = name;
    }
}

static void consider_stmt(void *user, const Stmt *stmt)
{
    bool tensor = stmt->kind == STMT_INPUT || stmt->kind == STMT_OUTPUT;

    for (int i = 0; tensor && i < stmt->n_shape; i++)
        consider(user, stmt->shape[i]->kind == EXPR_NAME ? stmt->shape[i]->name : NULL);
    if (stmt->kind == STMT_PARAM)
        consider(user, stmt->name);
}

/* One that is nearly the same. */
bool propose_near_setting(Suggester *s)
{
    Said said = setting_said(s);
    if (!said.name)
        return false;
    Nearest near = {said.name, NULL, name_edits(said.name) + 1};

    for (const char *const *size = sched_sizes(); *size; size++)
        consider(&near, *size);
    for (int i = 0; s->program && i < s->program->units.len; i++)
        suggest_each(&s->program->units.data[i]->body, consider_stmt, &near);
    return near.found && suggest_setting(s, said.name, set_text(s, near.found, said.value), "did you mean this?");
}

/* ---- numbers ------------------------------------------------------------------------------------------ */

/* `from 1 to 8`, as the message or its note has it. */
static bool range_said(const Suggester *s, double *lo, double *hi)
{
    const char *at = strstr(s->diag->message, " from ");
    char *end;

    if (!at && s->diag->note)
        at = strstr(s->diag->note, " from ");
    if (!at)
        return false;
    *lo = strtod(at + 6, &end);
    if (strncmp(end, " to ", 4) != 0)
        return false;
    *hi = strtod(end + 4, NULL);
    return true;
}

/* The nearest number that may be set. */
bool propose_near_number(Suggester *s)
{
    Said said = setting_said(s);
    double lo = 1, hi = 1 << 30, tries[3];

    if (!said.name)
        return false;
    if (range_said(s, &lo, &hi))
        tries[0] = tries[1] = fmin(fmax(floor(said.value), lo), hi);
    else
        tries[0] = fmax(floor(said.value / 16) * 16, 16), tries[1] = fmax(ceil(said.value / 16) * 16, 16);
    tries[2] = fmax(floor(said.value), 1);
    for (size_t i = 0; i < TW_COUNT(tries); i++)
        if (tries[i] != said.value && suggest_setting(s, said.name, set_text(s, said.name, tries[i]), "the nearest that may be"))
            return true;
    return false;
}

static bool is_choice(const char *name)
{
    const char *point = strchr(name, '.'); /* for one of several kernels */

    return sched_is_size(point ? point + 1 : name);
}

/* A choice that is forced for one kernel, where there are to be several. */
bool propose_no_choice(Suggester *s)
{
    const Settings *settings = &s->chain->settings;
    Str all = str_new(s->arena);

    for (int i = 0; i < settings->list.len; i++) {
        const Setting *set = &settings->list.data[i];
        if (!is_choice(set->name))
            continue;
        str_printf(&all, "%s%s", all.len ? " " : "", set->name);
        if (suggest_setting(s, set->name, NULL, "leave it to tw"))
            return true;
    }
    return strchr(str_text(&all), ' ') && suggest_setting(s, str_text(&all), NULL, "leave them to tw");
}

/* Nothing fits: sizes of tiles that are forced are left to tw; then each setting by halves. */
bool propose_room(Suggester *s)
{
    const Settings *settings = &s->chain->settings;

    if (propose_no_choice(s))
        return true;
    for (int shift = 1; shift <= 4; shift++)
        for (int i = 0; i < settings->list.len; i++) {
            const Setting *set = &settings->list.data[i];
            double value = floor(set->value / (1 << shift) / 16) * 16;
            if (value >= 16 && suggest_setting(s, set->name, set_text(s, set->name, value), "a size that fits"))
                return true;
        }
    return false;
}

/* ---- sizes that are left open ---------------------------------------------------------------------------- */

/* `K=128` with another number, each. */
static const char *guessed(Suggester *s, const char *sets, int guess)
{
    Str text = str_new(s->arena);

    for (const char *at = sets; *at; at++) {
        str_addc(&text, *at);
        if (*at != '=' || !guess)
            continue;
        str_printf(&text, "%d", guess);
        at += strspn(at + 1, "0123456789");
    }
    return str_text(&text);
}

/* Another guess than the message's takes its place there. */
static void take_back_guess(Suggester *s)
{
    const char *at = strstr(s->diag->message, ": --set ");

    if (at)
        s->diag->message = arena_strndup(s->chain->arena, s->diag->message, (size_t)(at - s->diag->message));
}

/* `--set K=128`, as messages say it, and what is asked for when these are known. */
bool propose_known_sizes(Suggester *s)
{
    static const int guesses[] = {0, 64, 32};
    enum { MOST_ASKED = 4 };

    for (size_t i = 0; i < TW_COUNT(guesses); i++) {
        const char *sets = "";

        s->asked = suggest_asked(s, s->chain->diags, "");
        for (int n = 0; n < MOST_ASKED && s->asked; n++) {
            sets = arena_printf(s->arena, "%s%s%s", sets, *sets ? " " : "", s->asked);
            s->asked = NULL;
            if (!suggest_setting(s, NULL, guessed(s, sets, guesses[i]), "a guess: which sizes there are is yours to say"))
                continue;
            if (guesses[i])
                take_back_guess(s);
            return true;
        }
    }
    return false;
}
