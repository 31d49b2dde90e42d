/* artefact.h: what kind of text a file holds, told from the text itself. */
#ifndef TW_ARTEFACT_H
#define TW_ARTEFACT_H

#include "cli/cli.h"

typedef enum Artefact {
    ARTEFACT_TL,   /* a definition, a sketch, code, or fragments */
    ARTEFACT_TILE, /* tile IR */
    ARTEFACT_PTX
} Artefact;

Artefact artefact_of(const Source *source);
/* Whether it may be TL; what reads tile IR or PTX is printed if it is that. */
bool artefact_is_tl(Session *s, const Source *source);

#endif
