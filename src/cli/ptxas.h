/* ptxas.h: the assembler of the CUDA toolkit, where there is one: resources of
 * each entry, and whether the text assembles without a warning. */
#ifndef TW_PTXAS_H
#define TW_PTXAS_H

#include "base/base.h"

typedef struct PtxasEntry {
    const char *entry;
    int registers, spill_stores, spill_loads, stack;
} PtxasEntry;

typedef struct Ptxas {
    bool found;          /* the program is on the PATH */
    bool ok;             /* it assembled the text */
    const char *version;
    const char *messages; /* warnings and errors; "" when there were none */
    VEC(PtxasEntry) entries;
} Ptxas;

/* Assembles a PTX file for a target. What goes wrong is in *result. */
void ptxas_run(Arena *arena, const char *ptx_path, const char *target, Ptxas *result);
void ptxas_json(Str *out, const Ptxas *result);

#endif
