/* ptxas.h: the assembler of the CUDA toolkit as commands use it: which one, and what
 * it said, for people and for programs. */
#ifndef TW_PTXAS_H
#define TW_PTXAS_H

#include "assemble/assemble.h"
#include "cli/cli.h"

typedef struct Ptxas {
    bool found;     /* there is one */
    const char *why; /* there is none: why */
    AsmTool tool;
    const AsmResult *result; /* NULL: nothing was assembled */
} Ptxas;

/* The one that --ptxas or TW_PTXAS names, else the one at hand. */
void ptxas_find(Session *s, Ptxas *ptxas);
/* Assembles PTX for the session's target. What goes wrong is in ptxas->result. */
void ptxas_assemble(Session *s, Ptxas *ptxas, const Source *ptx);

/* "ptxas 13.0, NAME: 96 registers, 0 bytes spilled", a line an entry, then what it
 * had to say beside. */
void ptxas_print(Str *out, const Ptxas *ptxas);
void ptxas_json(Str *out, const Ptxas *ptxas);

#endif
