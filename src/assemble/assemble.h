/* assemble.h: the CUDA toolkit's programs, where they are at hand: PTX to machine
 * code, and what the assembler thought of it.
 *
 * Nothing here is needed: the driver compiles PTX when it is loaded. But a cubin
 * starts at once, and is what was measured.
 *
 * Vocabulary
 *   tool      a program that was found, and its version
 *   job       one text being assembled; several may run at once
 *   entry     a kernel of the text: registers, bytes of its stack and of spills
 *   advisory  what ptxas says of lost speed, with a code of its own (C7510):
 *             products that wait one for the other, setmaxnreg ignored
 *
 * All of it works on one thread; the programs run beside it:
 *
 *     for each text: jobs[n++] = asm_start(arena, &tool, &spec);
 *     while ((i = asm_wait(jobs, n, seconds)) >= 0)
 *         use(asm_result(jobs[i])), jobs[i] = jobs[--n];
 */
#ifndef TW_ASSEMBLE_H
#define TW_ASSEMBLE_H

#include "base/base.h"

typedef struct AsmTool {
    const char *path, *version; /* "/usr/local/cuda/bin/ptxas", "13.0.88" */
} AsmTool;

/* Finds a program ("ptxas", "nvdisasm") where the user named it, or on the PATH, in
 * CUDA_HOME or in /usr/local/cuda. False: it is not at hand, and *error says why. */
bool asm_find(Arena *arena, const char *name, const char *named, AsmTool *tool, const char **error);

typedef struct AsmEntry {
    const char *name;
    int registers, barriers;
    int stack, spill_stores, spill_loads; /* bytes a thread */
    int shared;                           /* static, bytes a block */
    bool serialised; /* its asynchronous products wait one for the other */
} AsmEntry;

typedef enum AsmNoteKind { ASM_ADVISORY, ASM_WARNING, ASM_ERROR } AsmNoteKind;

typedef struct AsmNote {
    AsmNoteKind kind;
    const char *code;  /* "C7510"; "" */
    const char *entry; /* the kernel that it names; NULL */
    const char *text;  /* the line as it was written */
} AsmNote;

typedef VEC(AsmEntry) AsmEntries;
typedef VEC(AsmNote) AsmNotes;

/* What the log of ptxas, or of the driver's compiler, says. The driver writes the same
 * lines. Entries in the order in which they stand. */
void asm_read_log(Arena *arena, const char *log, AsmEntries *entries, AsmNotes *notes);

typedef struct AsmResult {
    bool ok;             /* there is a cubin */
    const char *problem; /* NULL, or why there is none */
    const char *log;     /* all that ptxas said */
    const char *cubin;
    size_t bytes;
    AsmEntries entries;
    AsmNotes notes;
    double seconds;
} AsmResult;

const AsmEntry *asm_entry(const AsmResult *result, const char *name); /* NULL: none */
/* Nothing was spilled, and there is no advisory. */
bool asm_clean(const AsmResult *result);

typedef struct AsmSpec {
    const char *name;   /* how messages name the text */
    const char *ptx;
    size_t len;
    const char *target; /* "sm_90a": the very architecture */
    double limit;       /* seconds; 0: ASM_LIMIT */
} AsmSpec;

enum { ASM_LIMIT = 120 };

typedef struct AsmJob AsmJob;

/* Never NULL: what goes wrong is in the result. */
AsmJob *asm_start(Arena *arena, const AsmTool *tool, const AsmSpec *spec);
/* Which of them has ended, waiting for at most so many seconds; -1: none has. */
int asm_wait(AsmJob *const *jobs, int n, double seconds);
/* Waits for the end. */
const AsmResult *asm_result(AsmJob *job);
void asm_cancel(AsmJob *job);

/* ---- nvcc ---- */

typedef struct AsmSource {
    const char *path;          /* of the C++ */
    const char *target;        /* "sm_90a" */
    const char *const *include; /* folders, ended by NULL */
    const char *out;           /* where the PTX goes */
} AsmSource;

/* Compiles C++ to PTX. False: *log says why. */
bool asm_nvcc(Arena *arena, const AsmTool *nvcc, const AsmSource *source, const char **log);

#endif
