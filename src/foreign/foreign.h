/* foreign.h: C++ that somebody else wrote, made into PTX without being believed.
 *
 *   answer ─► guard ─► frame ─► compile ─► audit ─► PTX
 *
 * guard    refuses what a kernel has no use for; what remains has no line for the
 *          preprocessor, no comment and no assembler
 * frame    puts our includes before it and our entries behind it
 * compile  NVRTC, or nvcc with no host code, in a sandbox that has CUDA's and CUTLASS's
 *          headers and nothing else
 * audit    refuses PTX that calls, keeps anything for the next launch, or reads clocks
 *
 * Nothing here executes what was compiled.
 *
 * Vocabulary
 *   place    a line of the answer, which the compiler knows as ANSWER_NAME
 *   state    memory of a module that outlasts a launch
 */
#ifndef TW_FOREIGN_H
#define TW_FOREIGN_H

#include "base/base.h"

/* ---- guard.c ------------------------------------------------------------------------- */

typedef struct ForeignText {
    const char *text;          /* as long as the answer; lines and columns are the same */
    VEC(const char *) headers; /* of CuTe and CUTLASS that it wants: "cute/algorithm/gemm.hpp" */
} ForeignText;

/* False: diagnostics (TW1049, TW1050) were recorded. */
bool foreign_guard(Arena *arena, const Source *answer, ForeignText *clean, Diags *diags);

/* The whole text for the compiler. space: whose names are known in it without it, or NULL;
 * entries: ours, which call what the answer defines. */
const char *foreign_frame(Arena *arena, const ForeignText *clean, const char *header_name, const char *space,
                          const char *entries);
#define FOREIGN_ANSWER "answer.cu"
#define FOREIGN_ENTRIES "entries.cu"

/* ---- compile.c ------------------------------------------------------------------------- */

typedef enum ForeignCompiler { FOREIGN_NONE, FOREIGN_NVRTC, FOREIGN_NVCC } ForeignCompiler;

/* What compiles: found once. */
typedef struct ForeignTools {
    ForeignCompiler compiler;
    const char *path;       /* of the library or the program */
    const char *root;       /* of the CUDA toolkit */
    const char *cutlass;    /* the folder that has cute/tensor.hpp; NULL: there is none, nor CuTe */
    bool unconfined;        /* without a sandbox, where there can be none: the user said so */
    double seconds;         /* 0: FOREIGN_SECONDS */
} ForeignTools;

enum { FOREIGN_SECONDS = 600 };
#define FOREIGN_MEMORY ((size_t)12 << 30)

/* cutlass: where the user says that CUTLASS is. TW_NVRTC and TW_NVCC name a library and a
 * program; empty: there shall be none. False: *error. */
bool foreign_find(Arena *arena, const char *cutlass, ForeignTools *tools, const char **error);
/* The same for CUDA that needs no CUTLASS: NULL is none. */
bool foreign_find_cuda(Arena *arena, const char *cutlass, ForeignTools *tools, const char **error);

typedef struct ForeignJob {
    const char *text;       /* framed */
    const char *target;     /* "sm_80" */
    const char *header_name, *header; /* ours, as text */
} ForeignJob;

typedef struct ForeignMade {
    const char *ptx; /* NULL: it did not compile */
    const char *log; /* the compiler's */
    double seconds;
} ForeignMade;

/* False: *error says why nothing was compiled at all (no sandbox, a limit passed). */
bool foreign_compile(Arena *arena, const ForeignTools *tools, const ForeignJob *job, ForeignMade *made,
                     const char **error);

/* ---- log.c ----------------------------------------------------------------------------- */

/* A diagnostic (TW1051) for each error of the compiler's log, at its place in the answer. */
void foreign_read_log(const Source *answer, const char *log, Diags *diags);

/* ---- audit.c ---------------------------------------------------------------------------- */

/* PTX without what nobody reads; NULL: diagnostics (TW1052) were recorded. entries: the
 * names that it must define, ended by NULL. */
const char *foreign_audit(Arena *arena, const char *ptx, const char *const *entries, const Source *answer, Diags *diags);

#endif
