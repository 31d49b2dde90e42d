/* cubin.h: machine code as it is shipped beside the PTX that it was made of.
 *
 *     NAME.ptx     the PTX: enough for any driver
 *     NAME.cubin   an ELF image, and behind its end one line:
 *
 *     //tw cubin=1 code=41240 sha256=HASH ptx=HASH target=sm_90a ptxas=13.0.88 local NAME=8
 *
 * The driver and the toolkit's programs read the image as far as its own headers say,
 * so the line disturbs nobody; and without the PTX whose SHA-256 it names the cubin is
 * stale, and nobody loads it.
 *
 * Vocabulary
 *   seal     that line
 *   local    bytes of local memory a thread that ptxas gave each entry, spills included
 */
#ifndef TW_ASSEMBLE_CUBIN_H
#define TW_ASSEMBLE_CUBIN_H

#include "assemble/assemble.h"

typedef struct CubinLocal {
    const char *entry;
    int bytes;
    bool serialised; /* its products wait one for the other: an `s` behind the number */
} CubinLocal;

typedef struct CubinSeal {
    size_t code;         /* bytes of the image */
    const char *sha256;  /* of the image */
    const char *ptx;     /* SHA-256 of the PTX */
    const char *target, *ptxas;
    VEC(CubinLocal) local;
} CubinSeal;

/* Where the cubin of a PTX file stands: .ptx becomes .cubin. NULL: the file has
 * another name. */
const char *cubin_path(Arena *arena, const char *ptx_path);
/* The image with its seal. */
void cubin_write(Str *out, const AsmResult *result, const Source *ptx, const char *target, const char *ptxas);
/* False: it is no cubin of ours, or a damaged one; *error says how. */
bool cubin_read(Arena *arena, const Source *file, CubinSeal *seal, const char **error);
/* Whether it was made of this very PTX. */
bool cubin_is_of(Arena *arena, const CubinSeal *seal, const Source *ptx);
/* What is known of an entry; NULL: nothing. */
const CubinLocal *cubin_local(const CubinSeal *seal, const char *entry);

#endif
