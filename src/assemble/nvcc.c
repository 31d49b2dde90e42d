/* nvcc.c: C++ to PTX, by the compiler of the CUDA toolkit. */
#include "assemble/assemble.h"
#include "assemble/child.h"

static const double compile_limit = 1800; /* seconds; templates take their time */

typedef VEC(char *) Words;

static void add(Arena *arena, Words *words, const char *word)
{
    vec_push(arena, words, word ? arena_strdup(arena, word) : NULL);
}

static void command(Arena *arena, Words *words, const AsmTool *nvcc, const AsmSource *source)
{
    add(arena, words, nvcc->path);
    add(arena, words, "-std=c++17");
    add(arena, words, "-O3");
    add(arena, words, "--expt-relaxed-constexpr");
    add(arena, words, "-ptx");
    add(arena, words, arena_printf(arena, "-arch=%s", source->target));
    for (int i = 0; source->include[i]; i++) add(arena, words, arena_printf(arena, "-I%s", source->include[i]));
    add(arena, words, "-o");
    add(arena, words, source->out);
    add(arena, words, source->path);
    add(arena, words, NULL);
}

bool asm_nvcc(Arena *arena, const AsmTool *nvcc, const AsmSource *source, const char **log)
{
    Child child, *all[] = {&child};
    Words words = {0};
    size_t len;

    command(arena, &words, nvcc, source);
    child_init(&child);
    *log = "";
    if (!child_files(arena, &child, "", 0, log) || !child_start(arena, &child, words.data, compile_limit, log)) {
        child_drop(&child);
        return false;
    }
    while (!child_wait(all, 1, 1))
        ;
    *log = child.late ? "it took half an hour and was ended" : child_read(arena, child.log, &len);
    child_drop(&child);
    return child.status == 0 && !child.late;
}
