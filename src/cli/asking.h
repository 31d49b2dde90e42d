/* asking.h: what commands that ask a model share. */
#ifndef TW_CLI_ASKING_H
#define TW_CLI_ASKING_H

#include "cli/cli.h"

/* As the command line says: address, key, bounds, purse; progress on a terminal. */
void asking_options(Session *s, ModelOptions *options);
/* From now on Ctrl-C ends the question and not the program; a second one ends both. */
void asking_catch(void);
void asking_release(void);
/* Whether it was pressed. */
bool asking_stopped(void);
/* An answer with what it took, as a JSON object. */
void asking_json(Str *out, const ModelAnswer *answer);

#endif
