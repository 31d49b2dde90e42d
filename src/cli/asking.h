/* asking.h: what commands that ask a model share. */
#ifndef TW_CLI_ASKING_H
#define TW_CLI_ASKING_H

#include "cli/cli.h"

/* As the command line says: address, key, bounds, purse; progress on a terminal. */
void asking_options(Session *s, ModelOptions *options);
/* Progress on a terminal; the watch of a model. */
bool asking_tell(void *user, const ModelProgress *progress);
/* An answer with what it took, as a JSON object. */
void asking_json(Str *out, const ModelAnswer *answer);

#endif
