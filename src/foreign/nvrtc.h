/* nvrtc.h: NVIDIA's compiler as a library (NVRTC documentation, "User Interface"), found
 * at run time. For a process that is about to end: the program is not given back. */
#ifndef TW_FOREIGN_NVRTC_H
#define TW_FOREIGN_NVRTC_H

#include "base/base.h"

typedef struct Nvrtc {
    int (*create)(void **program, const char *source, const char *name, int n, const char *const *headers,
                  const char *const *names);
    int (*compile)(void *program, int n, const char *const *options);
    int (*log_size)(void *program, size_t *size);
    int (*log)(void *program, char *log);
    int (*ptx_size)(void *program, size_t *size);
    int (*ptx)(void *program, char *ptx);
    const char *(*error)(int status);
} Nvrtc;

typedef struct NvrtcText {
    const char *source, *header_name, *header;
} NvrtcText;

/* NULL, or why not. */
const char *nvrtc_load(Arena *arena, Nvrtc *nvrtc, const char *path);
/* log NULL: none. False: no PTX. */
bool nvrtc_compile(Arena *arena, const Nvrtc *nvrtc, const NvrtcText *text, const char *const *options, int n, char **log, char **ptx);

#endif
