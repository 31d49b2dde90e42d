/* cache.c: winners as JSON files. */
#include "tune/cache.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- names ------------------------------------------------------------------------------- */

const char *tune_cache_folder(Arena *arena, const char *xdg_cache_home, const char *home)
{
    if (xdg_cache_home && *xdg_cache_home == '/')
        return arena_printf(arena, "%s/tilewright/tune", xdg_cache_home);
    return home && *home == '/' ? arena_printf(arena, "%s/.cache/tilewright/tune", home) : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const RefBinding *)a)->name, ((const RefBinding *)b)->name);
}

const char *tune_shape_class(Arena *arena, const Def *def, const RefBinding *bindings, int n)
{
    RefBinding *sorted = arena_array(arena, RefBinding, n + 1);
    Str text = str_new(arena);

    for (int i = 0; i < n; i++)
        sorted[i] = bindings[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    for (int i = 0; i < n; i++) {
        double value = sorted[i].value;

        if (def_param(def, sorted[i].name))
            str_printf(&text, "%s%s=%.10g", text.len ? " " : "", sorted[i].name, value);
        else
            str_printf(&text, "%s%s %.0f", text.len ? " " : "", sorted[i].name, value > 1 ? exp2(ceil(log2(value))) : value);
    }
    return str_text(&text);
}

static const char *path_of(Arena *arena, const char *folder, const TuneKey *key)
{
    Str text = str_new(arena);
    const char *hash;

    str_printf(&text, "%s\n%d\n%s\n%s\n%s", key->device, key->driver, key->target, key->shapes, key->operator);
    hash = sha256_text(arena, text.data, text.len);
    return arena_printf(arena, "%s/%.32s.json", folder, hash);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *text_of(Arena *arena, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? arena_strdup(arena, text) : NULL;
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static bool read_variant(Arena *arena, const json_t *json, TuneVariant *v)
{
    const char *fate = json_string_value(json_object_get(json, "fate"));

    *v = (TuneVariant){.settings = text_of(arena, json, "settings"), .kernel = text_of(arena, json, "kernel"),
                       .fate = fate ? tune_fate_find(fate) : TUNE_FATES, .ms = number_of(json, "ms"),
                       .rounds = (int)number_of(json, "rounds"), .problem = text_of(arena, json, "problem")};
    return v->settings && v->fate < TUNE_FATES;
}

static bool read_key(Arena *arena, const json_t *json, TuneKey *key)
{
    *key = (TuneKey){text_of(arena, json, "device"), (int)number_of(json, "driver"), text_of(arena, json, "target"),
                     text_of(arena, json, "name"), text_of(arena, json, "operator"), text_of(arena, json, "shapes")};
    return key->device && key->target && key->name && key->operator && key->shapes;
}

/* NULL, or what is wrong with the file. */
static const char *read_json(Arena *arena, const json_t *json, TuneEntry *entry)
{
    const json_t *variants = json_object_get(json, "variants"), *one;
    size_t i;

    if ((int)number_of(json, "version") != TUNE_CACHE_VERSION)
        return "it is of another version";
    if (!read_key(arena, json, &entry->key) || !json_is_array(variants))
        return "something is missing";
    entry->shape = text_of(arena, json, "shape");
    entry->winner = text_of(arena, json, "winner");
    entry->ms = number_of(json, "ms");
    entry->untuned_ms = number_of(json, "untuned_ms");
    entry->rounds = (int)number_of(json, "rounds");
    entry->when = (int64_t)number_of(json, "when");
    json_array_foreach(variants, i, one) {
        TuneVariant v;

        if (!read_variant(arena, one, &v))
            return "something is missing";
        vec_push(arena, &entry->all, v);
    }
    return NULL;
}

static const char *read_file(Arena *arena, const char *path, TuneEntry *entry)
{
    const char *error, *wrong;
    Source *source = source_read(arena, path, &error);
    json_error_t where;
    json_t *json = source ? json_loadb(source->text, source->len, 0, &where) : NULL;

    *entry = (TuneEntry){.path = arena_strdup(arena, path)};
    if (!source)
        return error;
    wrong = json ? read_json(arena, json, entry) : arena_printf(arena, "line %d: %s", where.line, where.text);
    json_decref(json);
    return wrong;
}

static bool same_key(const TuneKey *a, const TuneKey *b)
{
    return strcmp(a->device, b->device) == 0 && a->driver == b->driver && strcmp(a->target, b->target) == 0 &&
           strcmp(a->operator, b->operator) == 0 && strcmp(a->shapes, b->shapes) == 0;
}

bool tune_cache_read(Arena *arena, const char *folder, const TuneKey *key, TuneEntry *entry, const char **note)
{
    const char *path = path_of(arena, folder, key), *wrong;
    struct stat st;

    *note = NULL;
    if (stat(path, &st) != 0)
        return false;
    wrong = read_file(arena, path, entry);
    if (!wrong && !same_key(key, &entry->key))
        wrong = "it is of something else";
    if (wrong)
        *note = arena_printf(arena, "%s is ignored: %s", path, wrong);
    return !wrong;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static void put_text(json_t *object, const char *name, const char *text)
{
    if (text)
        json_object_set_new(object, name, json_string_nocheck(text));
}

static json_t *variant_json(const TuneVariant *v)
{
    json_t *json = json_object();

    put_text(json, "settings", v->settings);
    put_text(json, "fate", tune_fate_name(v->fate));
    put_text(json, "kernel", v->kernel);
    put_text(json, "problem", v->problem);
    if (v->rounds > 0) {
        json_object_set_new(json, "ms", json_real(v->ms));
        json_object_set_new(json, "rounds", json_integer(v->rounds));
    }
    return json;
}

static json_t *entry_json(const TuneEntry *entry)
{
    json_t *json = json_object(), *variants = json_array();

    json_object_set_new(json, "version", json_integer(TUNE_CACHE_VERSION));
    put_text(json, "name", entry->key.name);
    put_text(json, "device", entry->key.device);
    json_object_set_new(json, "driver", json_integer(entry->key.driver));
    put_text(json, "target", entry->key.target);
    put_text(json, "operator", entry->key.operator);
    put_text(json, "shapes", entry->key.shapes);
    put_text(json, "shape", entry->shape);
    put_text(json, "winner", entry->winner);
    json_object_set_new(json, "ms", json_real(entry->ms));
    json_object_set_new(json, "untuned_ms", json_real(entry->untuned_ms));
    json_object_set_new(json, "rounds", json_integer(entry->rounds));
    json_object_set_new(json, "when", json_integer(entry->when));
    for (int i = 0; i < entry->all.len; i++)
        json_array_append_new(variants, variant_json(&entry->all.data[i]));
    json_object_set_new(json, "variants", variants);
    return json;
}

const char *tune_cache_write(Arena *arena, const char *folder, const TuneEntry *entry)
{
    const char *error = folder_make(arena, folder, 0700);
    json_t *json = error ? NULL : entry_json(entry);
    char *text = json ? json_dumps(json, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;

    if (!error)
        error = text ? file_write(arena, path_of(arena, folder, &entry->key), text, strlen(text)) : "out of memory";
    free(text);
    json_decref(json);
    return error;
}

/* ---- all of them ------------------------------------------------------------------------------- */

static bool is_entry(const char *name)
{
    size_t len = strlen(name);

    return len > 5 && strcmp(name + len - 5, ".json") == 0;
}

static int by_what(const void *a, const void *b)
{
    const TuneEntry *x = a, *y = b;
    int order = strcmp(x->key.name, y->key.name);

    order = order ? order : strcmp(x->key.device, y->key.device);
    order = order ? order : strcmp(x->key.target, y->key.target);
    order = order ? order : strcmp(x->key.shapes, y->key.shapes);
    return order ? order : strcmp(x->path, y->path);
}

void tune_cache_list(Arena *arena, const char *folder, TuneEntries *list, int *ignored)
{
    DIR *dir = opendir(folder);
    const struct dirent *file;

    *ignored = 0;
    while (dir && (file = readdir(dir))) {
        TuneEntry entry;

        if (!is_entry(file->d_name))
            continue;
        if (read_file(arena, arena_printf(arena, "%s/%s", folder, file->d_name), &entry))
            ++*ignored;
        else
            vec_push(arena, list, entry);
    }
    if (dir)
        closedir(dir);
    if (list->len)
        qsort(list->data, (size_t)list->len, sizeof *list->data, by_what);
}

const char *tune_cache_forget(Arena *arena, const TuneEntry *entry)
{
    if (unlink(entry->path) == 0 || errno == ENOENT)
        return NULL;
    return arena_printf(arena, "cannot remove %s: %s", entry->path, strerror(errno));
}
