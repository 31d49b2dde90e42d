/* schedule.c: names of schedule parameters and of their values. */
#include "lang/schedule.h"

typedef struct ValueRow {
    SchedId of;
    SchedInfo info;
} ValueRow;

static const SchedInfo PARAMETERS[SCHED_COUNT] = {
#define SCHEDULE(id, name, help) [SCHED_##id] = {name, help},
#define VALUE(parameter, id, name, help)
#include "lang/schedule.def"
#undef SCHEDULE
#undef VALUE
};

static const ValueRow VALUES[SCHED_VALUES] = {
    [SCHED_AUTO] = {SCHED_COUNT, {"auto", "as the pass decides"}},
#define SCHEDULE(id, name, help)
#define VALUE(parameter, id, name, help) [SCHED_##parameter##_##id] = {SCHED_##parameter, {name, help}},
#include "lang/schedule.def"
#undef SCHEDULE
#undef VALUE
};

const char *const *sched_sizes(void)
{
    static const char *const sizes[] = {
        "BM", "BN", "BK",
#define NUMBER(name, least, most, usual, unsaid) #name,
#include "lang/schedule_numbers.def"
#undef NUMBER
        "splits", "fold", "apart", NULL,
    };

    return sizes;
}

bool sched_is_size(const char *name)
{
    for (const char *const *size = sched_sizes(); *size; size++)
        if (text_equal_nocase(name, *size))
            return true;
    return false;
}

void sched_numbers_text(Str *out)
{
    const char *comma = "";

#define NUMBER(name, least, most, usual, unsaid) str_printf(out, "%s" #name, comma), comma = ", ";
#include "lang/schedule_numbers.def"
#undef NUMBER
}

const char *sched_about_flow(const char *name)
{
    bool flow = text_equal_nocase(name, "splits") || text_equal_nocase(name, "fold") || text_equal_nocase(name, "apart");

    return flow ? "splits, fold and apart say how a definition is fused; a Kernel says its flow itself, as `for j over kv_len by splits`" : NULL;
}

const SchedInfo *sched_info(SchedId id)
{
    return &PARAMETERS[id];
}

const SchedInfo *sched_value_info(SchedValue value)
{
    return &VALUES[value].info;
}

SchedId sched_of(SchedValue value)
{
    return VALUES[value].of;
}

SchedId sched_find(const char *name)
{
    for (int i = 0; i < SCHED_COUNT; i++)
        if (text_equal_nocase(PARAMETERS[i].name, name))
            return (SchedId)i;
    return SCHED_COUNT;
}

SchedValue sched_value_find(SchedId id, const char *name)
{
    for (int v = SCHED_AUTO + 1; v < SCHED_VALUES; v++)
        if (VALUES[v].of == id && text_equal_nocase(VALUES[v].info.name, name))
            return (SchedValue)v;
    return SCHED_AUTO;
}

void sched_values_text(Str *out, SchedId id)
{
    int first = SCHED_AUTO + 1, end;

    while (VALUES[first].of != id)
        first++;
    for (end = first; end < SCHED_VALUES && VALUES[end].of == id; end++)
        ;
    for (int v = first; v < end; v++)
        str_printf(out, "%s%s", v == first ? "" : v + 1 == end ? " or " : ", ", VALUES[v].info.name);
}

void sched_text(Str *out)
{
    for (int i = 0; i < SCHED_COUNT; i++) {
        str_printf(out, "%s%s (", i ? ", " : "", PARAMETERS[i].name);
        sched_values_text(out, (SchedId)i);
        str_addc(out, ')');
    }
}

bool sched_set(Arena *arena, Schedule *schedule, const char *text, const char **error)
{
    const char *equals = strchr(text, '=');
    SchedId id = equals ? sched_find(arena_strndup(arena, text, (size_t)(equals - text))) : SCHED_COUNT;
    SchedValue value;
    Str values = str_new(arena);

    *error = NULL;
    if (id == SCHED_COUNT)
        return false;
    value = sched_value_find(id, equals + 1);
    if (value != SCHED_AUTO || text_equal_nocase(equals + 1, "auto")) {
        schedule->value[id] = value;
        return true;
    }
    sched_values_text(&values, id);
    *error = arena_printf(arena, "%s is auto, %s, not '%s'", PARAMETERS[id].name, str_text(&values), equals + 1);
    return true;
}
