/* nvrtc.c: see nvrtc.h. */
#include "foreign/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>

/* What it would load itself, by a name alone, when it compiles: once a library of that name is
 * there, it is taken. */
static void load_builtins(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    glob_t all;

    if (glob(arena_printf(arena, "%.*s/libnvrtc-builtins.so*", slash ? (int)(slash - path) : 1, slash ? path : "."), 0, NULL, &all) == 0)
        for (size_t i = 0; i < all.gl_pathc; i++)
            dlopen(all.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&all);
}

const char *nvrtc_load(Arena *arena, Nvrtc *nvrtc, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"nvrtcCreateProgram", &nvrtc->create}, {"nvrtcCompileProgram", &nvrtc->compile},
        {"nvrtcGetProgramLogSize", &nvrtc->log_size}, {"nvrtcGetProgramLog", &nvrtc->log},
        {"nvrtcGetPTXSize", &nvrtc->ptx_size}, {"nvrtcGetPTX", &nvrtc->ptx}, {"nvrtcGetErrorString", &nvrtc->error},
    };

    if (!library)
        return dlerror();
    for (size_t i = 0; i < TW_COUNT(symbols); i++) {
        void *found = dlsym(library, symbols[i].name);

        if (!found)
            return "the library is not NVRTC, or too old";
        memcpy(symbols[i].function, &found, sizeof found);
    }
    load_builtins(arena, path);
    return NULL;
}

static char *text_of(Arena *arena, void *program, int (*size)(void *, size_t *), int (*get)(void *, char *))
{
    size_t n = 0;
    char *text = size(program, &n) == 0 && n ? arena_alloc(arena, n + 1) : NULL;

    return text && get(program, text) == 0 ? text : NULL;
}

bool nvrtc_compile(Arena *arena, const Nvrtc *nvrtc, const NvrtcText *text, const char *const *options, int n, char **log, char **ptx)
{
    void *program = NULL;
    int status = nvrtc->create(&program, text->source, "kernel.cu", 1, &text->header, &text->header_name);

    *log = *ptx = NULL;
    if (status == 0)
        status = nvrtc->compile(program, n, options);
    if (program)
        *log = text_of(arena, program, nvrtc->log_size, nvrtc->log);
    if (status == 0)
        *ptx = text_of(arena, program, nvrtc->ptx_size, nvrtc->ptx);
    return *ptx != NULL;
}
