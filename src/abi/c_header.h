/* c_header.h: what the files share that write the generated C header. */
#ifndef TW_ABI_C_HEADER_H
#define TW_ABI_C_HEADER_H

#include "abi/c_names.h"
#include "abi/parts.h"

typedef struct Header {
    Str *out;
    const Abi *abi;
    Arena *arena;
    const char *p;       /* prefix: NAME_TARGET */
    const char *upper;   /* the same, in capitals */
    const char **fields; /* one an argument */
    const char **dims;   /* one a dimension: its field */
} Header;

const char *ch_field(const Header *h, int tensor); /* the field of a tensor's address */
/* Programs whose launches depend on the machine are told of it. */
bool ch_wants_machine(const Abi *abi);
void ch_expr(const Header *h, const Aff *a);
void ch_open(const Header *h, const char *comment, const char *type, const char *name,
             const char *parameters);

/* The types that describe a machine (c_launch.c). */
void ch_put_machine(const Header *h);
/* Functions that check arguments, encode maps and prepare launches (c_launch.c). */
void ch_put_launching(const Header *h);

#endif
