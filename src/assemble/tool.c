/* tool.c: where the CUDA toolkit's programs are, and which versions. */
#include "assemble/assemble.h"
#include "assemble/child.h"

#include <stdlib.h>
#include <unistd.h>

static const double version_limit = 20; /* seconds */

static bool runs(const char *path)
{
    return access(path, X_OK) == 0;
}

/* In a list of folders as PATH has it. */
static const char *in_folders(Arena *arena, const char *folders, const char *name)
{
    while (folders && *folders) {
        size_t len = strcspn(folders, ":");
        const char *path = arena_printf(arena, "%.*s/%s", (int)len, folders, name);

        if (len && runs(path))
            return path;
        folders += len + (folders[len] == ':');
    }
    return NULL;
}

static const char *in_toolkit(Arena *arena, const char *root, const char *name)
{
    const char *path = root && *root ? arena_printf(arena, "%s/bin/%s", root, name) : NULL;

    return path && runs(path) ? path : NULL;
}

static const char *find(Arena *arena, const char *name)
{
    const char *path = in_folders(arena, getenv("PATH"), name);

    if (!path)
        path = in_toolkit(arena, getenv("CUDA_HOME"), name);
    if (!path)
        path = in_toolkit(arena, getenv("CUDA_PATH"), name);
    return path ? path : in_toolkit(arena, "/usr/local/cuda", name);
}

/* "Cuda compilation tools, release 13.0, V13.0.88" */
static const char *version_in(Arena *arena, const char *text)
{
    const char *at = strstr(text, "release ");
    const char *exact = at ? strstr(at, ", V") : NULL;

    at = exact ? exact + 3 : at ? at + 8 : NULL;
    return at && *at ? arena_strndup(arena, at, strspn(at, "0123456789.")) : NULL;
}

static bool ask_version(Arena *arena, AsmTool *tool, const char **error)
{
    char *argv[] = {arena_strdup(arena, tool->path), "--version", NULL};
    Child child, *all[] = {&child};
    size_t len;
    bool ok;

    child_init(&child);
    ok = child_start(arena, &child, argv, version_limit, error);
    if (ok) {
        while (!child_wait(all, 1, version_limit))
            ;
        tool->version = child.status == 0 ? version_in(arena, child_read(arena, child.log, &len)) : NULL;
        if (!tool->version)
            *error = arena_printf(arena, "%s --version does not answer as a program of the CUDA toolkit does",
                                  tool->path);
    }
    child_drop(&child);
    return ok && tool->version;
}

bool asm_find(Arena *arena, const char *name, const char *named, AsmTool *tool, const char **error)
{
    const char *given = named && *named ? named : NULL;

    *tool = (AsmTool){0};
    if (given && !strchr(given, '/'))
        tool->path = in_folders(arena, getenv("PATH"), given);
    else
        tool->path = given && runs(given) ? given : given ? NULL : find(arena, name);
    if (tool->path && access(tool->path, R_OK | X_OK) == 0)
        return ask_version(arena, tool, error);
    *error = given ? arena_printf(arena, "%s is no program that can be run", given)
                   : arena_printf(arena, "there is no %s on the PATH, in CUDA_HOME or in /usr/local/cuda", name);
    return false;
}
