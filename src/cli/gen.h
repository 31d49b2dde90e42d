/* gen.h: the whole chain for a definition that was read, for gen and tune. */
#ifndef TW_GEN_H
#define TW_GEN_H

#include "cli/cli.h"

/* Writes a kernel and its papers as the session's options say. tuned: settings that
 * join those that were given; NULL: none. The exit status. */
int gen_source(Session *s, Source *source, const char *tuned);

#endif
