/* ptxas.h: the assembler of the CUDA toolkit as commands use it: which one, what it
 * said, for people and for programs, and the cubin that is written beside the PTX. */
#ifndef TW_PTXAS_H
#define TW_PTXAS_H

#include "assemble/cubin.h"
#include "cli/cli.h"

typedef struct Ptxas {
    bool found;     /* there is one */
    const char *why; /* there is none: why */
    AsmTool tool;
    AsmJob *job;             /* NULL: nothing is assembled */
    const AsmResult *result; /* NULL: nothing was assembled */
    const char *path;        /* of the cubin that was written; NULL: none was */
    size_t bytes;
} Ptxas;

/* Which one there is. */
void ptxas_find(Session *s, Ptxas *ptxas);
/* Starts the one that --ptxas or TW_PTXAS names, else the one at hand, as --cubin and
 * --ptxas have it, on PTX for the session's target. EXIT_DONE, or the exit status of a
 * failure that was printed: what must be there is not. */
int ptxas_begin(Session *s, Ptxas *ptxas, const Source *ptx);
/* Waits for its result, if it was started: NULL, it was not. */
const AsmResult *ptxas_wait(Ptxas *ptxas);
/* Takes its result, and writes the cubin beside the PTX file of that name. */
int ptxas_end(Session *s, Ptxas *ptxas, const Source *ptx, const char *ptx_path);
/* It failed where it was told not to. */
bool ptxas_failed(const Session *s, const Ptxas *ptxas);

/* "ptxas 13.0, NAME: 96 registers, 0 bytes spilled", a line an entry, then what it
 * had to say beside. */
void ptxas_print(Str *out, const Ptxas *ptxas);
void ptxas_json(Str *out, const Ptxas *ptxas);

#endif
