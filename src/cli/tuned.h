/* tuned.h: what `tw tune` remembers, as commands ask for it. */
#ifndef TW_TUNED_H
#define TW_TUNED_H

#include "cli/launch.h"
#include "cli/stages.h"
#include "tune/cache.h"

/* The cache's folder. NULL: said that there is none. */
const char *tuned_folder(Session *s);
/* What a chain, defined, compiles: its definition and settings, in canonical form. */
const char *tuned_operator(Session *s, const Chain *chain);
/* The remembered settings for a chain that was defined, at the sizes given with --bind;
 * the newest, where there are several devices. NULL: said why there are none. */
const TuneEntry *tuned_find(Session *s, const Chain *chain);

#endif
