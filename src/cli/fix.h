/* fix.h: tw check --fix makes the suggested edits that are sure. */
#ifndef TW_CLI_FIX_H
#define TW_CLI_FIX_H

#include "cli/artefact.h"

/* Makes edits in a TL source until none is left that is sure and leaves fewer
 * diagnostics; s->diags then says what remains of the text that is given back. */
Source *fix_source(Session *s, Source *source, int *edits);
/* A unified diff of two texts, as `patch` takes it. */
void fix_diff(Str *out, const Source *old, const Source *new);

#endif
