/* find.c: what there is to compile with: NVRTC or nvcc, CUDA's headers, CUTLASS's. */
#define _GNU_SOURCE
#include "foreign/foreign.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_there(Arena *arena, const char *folder, const char *name)
{
    return access(arena_printf(arena, "%s/%s", folder, name), R_OK) == 0;
}

/* Without links, as the sandbox shows it. NULL: it is not there. */
static const char *real(Arena *arena, const char *path)
{
    char at[PATH_MAX];

    return path && *path && realpath(path, at) ? arena_strdup(arena, at) : NULL;
}

static const char *above(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash > path ? arena_strndup(arena, path, (size_t)(slash - path)) : "/";
}

static bool find_cutlass(Arena *arena, const char *given, ForeignTools *tools, const char **error)
{
    if (!given) {
        *error = "CuTe C++ is compiled with CUTLASS's headers: --cutlass DIR says where they are";
        return false;
    }
    if (is_there(arena, arena_printf(arena, "%s/include", given), "cute/tensor.hpp"))
        tools->cutlass = real(arena, arena_printf(arena, "%s/include", given));
    else if (is_there(arena, given, "cute/tensor.hpp"))
        tools->cutlass = real(arena, given);
    if (!tools->cutlass)
        *error = arena_printf(arena, "no cute/tensor.hpp below %s or %s/include", given, given);
    return tools->cutlass != NULL;
}

/* ---- the toolkit ------------------------------------------------------------------------- */

static const char *in_path(Arena *arena, const char *name)
{
    const char *folders = getenv("PATH");

    while (folders && *folders) {
        size_t len = strcspn(folders, ":");
        const char *path = arena_printf(arena, "%.*s/%s", (int)len, folders, name);

        if (len && access(path, X_OK) == 0)
            return path;
        folders += len + (folders[len] == ':');
    }
    return NULL;
}

static const char *library_in(Arena *arena, const char *root)
{
    static const char *const folders[] = {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};
    const char *found = NULL;

    for (size_t i = 0; i < TW_COUNT(folders) && !found; i++) {
        glob_t all;

        if (glob(arena_printf(arena, "%s/%s/libnvrtc.so*", root, folders[i]), 0, NULL, &all) == 0 && all.gl_pathc)
            found = real(arena, all.gl_pathv[0]);
        globfree(&all);
    }
    return found;
}

typedef struct Roots {
    const char *at[4];
    int n;
} Roots;

static void add_root(Arena *arena, Roots *roots, const char *path)
{
    const char *root = real(arena, path);

    if (root && is_there(arena, root, "include/cuda_fp16.h"))
        roots->at[roots->n++] = root;
}

static Roots find_roots(Arena *arena)
{
    Roots roots = {.n = 0};
    const char *nvcc = real(arena, in_path(arena, "nvcc"));

    add_root(arena, &roots, getenv("CUDA_HOME"));
    add_root(arena, &roots, getenv("CUDA_PATH"));
    if (nvcc)
        add_root(arena, &roots, above(arena, above(arena, nvcc)));
    add_root(arena, &roots, "/usr/local/cuda");
    return roots;
}

static bool take(ForeignTools *tools, ForeignCompiler compiler, const char *path, const char *root)
{
    tools->compiler = compiler;
    tools->path = path;
    tools->root = root;
    return true;
}

/* A compiler that the user names is in a toolkit of its own. */
static bool take_named(Arena *arena, ForeignTools *tools, ForeignCompiler compiler, const char *named, const Roots *roots,
                       const char **error)
{
    const char *path = real(arena, strchr(named, '/') ? named : in_path(arena, named)), *root;

    if (!path) {
        *error = arena_printf(arena, "%s is not there", named);
        return false;
    }
    root = above(arena, above(arena, path));
    return take(tools, compiler, path, compiler == FOREIGN_NVRTC && roots->n ? roots->at[0] : root);
}

static bool find_nvcc(Arena *arena, ForeignTools *tools, const Roots *roots)
{
    for (int i = 0; i < roots->n; i++)
        if (is_there(arena, roots->at[i], "bin/nvcc"))
            return take(tools, FOREIGN_NVCC, arena_printf(arena, "%s/bin/nvcc", roots->at[i]), roots->at[i]);
    return false;
}

static bool find_nvrtc(Arena *arena, ForeignTools *tools, const Roots *roots)
{
    for (int i = 0; i < roots->n; i++) {
        const char *library = library_in(arena, roots->at[i]);

        if (library)
            return take(tools, FOREIGN_NVRTC, library, roots->at[i]);
    }
    return false;
}

static bool find_compiler(Arena *arena, ForeignTools *tools, const char **error)
{
    const char *nvrtc = getenv("TW_NVRTC"), *nvcc = getenv("TW_NVCC");
    Roots roots = find_roots(arena);

    if (nvrtc && *nvrtc)
        return take_named(arena, tools, FOREIGN_NVRTC, nvrtc, &roots, error);
    if (nvcc && *nvcc)
        return take_named(arena, tools, FOREIGN_NVCC, nvcc, &roots, error);
    if ((!nvrtc && find_nvrtc(arena, tools, &roots)) || (!nvcc && find_nvcc(arena, tools, &roots)))
        return true;
    *error = "no NVRTC or nvcc was found on the PATH, in CUDA_HOME or in /usr/local/cuda, with CUDA's headers beside it";
    return false;
}

bool foreign_find(Arena *arena, const char *cutlass, ForeignTools *tools, const char **error)
{
    bool unconfined = tools->unconfined;

    *tools = (ForeignTools){.unconfined = unconfined};
    return find_cutlass(arena, cutlass, tools, error) && find_compiler(arena, tools, error);
}

bool foreign_find_cuda(Arena *arena, const char *cutlass, ForeignTools *tools, const char **error)
{
    bool unconfined = tools->unconfined;

    if (cutlass)
        return foreign_find(arena, cutlass, tools, error);
    *tools = (ForeignTools){.unconfined = unconfined};
    return find_compiler(arena, tools, error);
}
