/* settings.c: numbers given from outside: NAME=VALUE. */
#include "ref/def.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static bool name_ok(const char *text, size_t len)
{
    if (len == 0 || isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '.')
            return false;
    return text[len - 1] != '.';
}

static bool parse_value(const char *text, double *value)
{
    char *end;

    if (text_equal_nocase(text, "true") || text_equal_nocase(text, "false"))
        return *value = text_equal_nocase(text, "true"), true;
    if (*text == '\0' || isspace((unsigned char)*text))
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && !isnan(*value);
}

Setting *settings_find(const Settings *settings, const char *name)
{
    for (int i = settings->list.len - 1; i >= 0; i--)
        if (strcmp(settings->list.data[i].name, name) == 0)
            return &settings->list.data[i];
    return NULL;
}

void settings_put(Arena *arena, Settings *settings, Setting setting)
{
    int kept = 0;

    for (int i = 0; i < settings->list.len; i++)
        if (strcmp(settings->list.data[i].name, setting.name) != 0)
            settings->list.data[kept++] = settings->list.data[i];
    settings->list.len = kept;
    vec_push(arena, &settings->list, setting);
}

bool settings_value(const void *settings, const char *name, double *value)
{
    const Setting *found = settings ? settings_find(settings, name) : NULL;

    if (found)
        *value = found->value;
    return found;
}

const char *settings_add(Arena *arena, Settings *settings, const char *text)
{
    const char *equals = strchr(text, '=');
    Setting setting = {0};

    if (!equals || !name_ok(text, (size_t)(equals - text)))
        return arena_printf(arena, "'%s' is not of the form NAME=VALUE", text);
    if (!parse_value(equals + 1, &setting.value))
        return arena_printf(arena, "'%s' is not a number", equals + 1);
    setting.name = arena_strndup(arena, text, (size_t)(equals - text));
    settings_put(arena, settings, setting);
    return NULL;
}
