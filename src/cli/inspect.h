/* inspect.h: machine code beside its PTX, as a table and as JSON. */
#ifndef TW_INSPECT_H
#define TW_INSPECT_H

#include "assemble/machine.h"
#include "cli/cli.h"

typedef struct Inspected {
    MachineCodes meant, made; /* of the PTX, of the machine code */
    int entries;              /* that stand in both */
    int found;                /* diagnostics */
} Inspected;

/* Disassembles a cubin with what TW_NVDISASM names, else with what is at hand. NULL: it
 * cannot be, and *error says why. */
const char *inspect_text(Session *s, const char *cubin, size_t bytes, const char **error);
/* Compares the entries of a listing with those of the PTX; diagnostics go to the session's. */
void inspect_compare(Session *s, const Source *ptx, const char *listing, Inspected *result);
void inspect_print(Str *out, const Inspected *result);
void inspect_json(Str *out, const Inspected *result);

#endif
