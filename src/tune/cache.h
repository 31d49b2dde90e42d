/* cache.h: what was found by measurement, remembered between runs.
 *
 *   FOLDER/HASH.json   a file for each key: device, driver, target, operator with its
 *                      settings, and the class of shapes
 *
 * Files are written whole and renamed into place; one that cannot be read, or is of
 * another version, is as if it were not there, and *note says so.
 */
#ifndef TW_TUNE_CACHE_H
#define TW_TUNE_CACHE_H

#include "tune/tune.h"

#include "ref/ref.h"

enum { TUNE_CACHE_VERSION = 1 };

typedef struct TuneKey {
    const char *device;   /* "NVIDIA H200" */
    int driver;           /* as the driver says: 12080 */
    const char *target;   /* "sm_90a" */
    const char *name;     /* of the operator; for people */
    const char *operator; /* its definition, and what is compiled in */
    const char *shapes;   /* class of the launch's sizes: tune_shape_class */
} TuneKey;

typedef struct TuneEntry {
    TuneKey key;
    const char *path;
    const char *shape;    /* that was timed */
    const char *winner;   /* settings; NULL: not known yet */
    double ms, untuned_ms;
    int rounds;
    int64_t when;         /* seconds since 1970 */
    TuneVariants all;     /* settings, kernels, fates, times */
} TuneEntry;

typedef VEC(TuneEntry) TuneEntries;

/* XDG_CACHE_HOME/tilewright/tune, or HOME/.cache/tilewright/tune; NULL: neither is set.
 * A folder that is not absolute counts as not set (XDG Base Directory Specification). */
const char *tune_cache_folder(Arena *arena, const char *xdg_cache_home, const char *home);

/* "batch 8 q_len 4096 causal=1": of sizes the power of two that is no smaller, of
 * parameters the value. names: the dimensions that a launch gives. */
const char *tune_shape_class(Arena *arena, const Def *def, const RefBinding *bindings, int n);

/* False: nothing is remembered. *note: NULL, or why a file was ignored. */
bool tune_cache_read(Arena *arena, const char *folder, const TuneKey *key, TuneEntry *entry, const char **note);
/* Makes folders as needed. NULL, or a sentence on failure. */
const char *tune_cache_write(Arena *arena, const char *folder, const TuneEntry *entry);
/* All that can be read, in the order of their names. */
void tune_cache_list(Arena *arena, const char *folder, TuneEntries *list, int *ignored);
/* NULL, or a sentence on failure. */
const char *tune_cache_forget(Arena *arena, const TuneEntry *entry);

#endif
