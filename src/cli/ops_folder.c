/* ops_folder.c: where the definitions that come along lie. */
#include "cli/ops_folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

/* The folder that the running program lies in, or NULL. */
static const char *program_folder(Arena *arena)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    if (len <= 0)
        return NULL;
    path[len] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    return arena_strndup(arena, path, (size_t)(slash - path));
}

const char *ops_folder(Arena *arena)
{
    static const char *const beside[] = {"../share/tilewright/ops", "../ops", "../../ops"};
    const char *own = getenv("TW_OPS"), *base;

    if (own && *own)
        return own;
    base = program_folder(arena);
    for (size_t i = 0; base && i < TW_COUNT(beside); i++) {
        const char *folder = arena_printf(arena, "%s/%s", base, beside[i]);

        if (access(folder, R_OK | X_OK) == 0)
            return folder;
    }
    return "ops";
}

/* Names of files that end in .tl, without it, sorted. */
bool ops_list(Arena *arena, const char *folder, OpsNames *names)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    if (!dir)
        return false;
    while ((entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        const char *name;
        int at;

        if (len <= 3 || *entry->d_name == '.' || strcmp(entry->d_name + len - 3, ".tl") != 0)
            continue;
        name = arena_strndup(arena, entry->d_name, len - 3);
        vec_push(arena, names, name);
        for (at = names->len - 1; at > 0 && strcmp(names->data[at - 1], name) > 0; at--)
            names->data[at] = names->data[at - 1];
        names->data[at] = name;
    }
    closedir(dir);
    return true;
}

Library *ops_library(Session *s)
{
    const char *folder = ops_folder(s->arena);
    VEC(Source *) sources = {0};
    OpsNames names = {0};
    const char *error;

    ops_list(s->arena, folder, &names);
    for (int i = 0; i < names.len; i++) {
        Source *source = source_read(s->arena, arena_printf(s->arena, "%s/%s.tl", folder, names.data[i]), &error);

        if (source)
            vec_push(s->arena, &sources, source);
    }
    return library_new(s->arena, sources.data, sources.len);
}
