/* tune.h: the search for the fastest way to run an operator, by measurement.
 *
 *   variants ─► make ─► drop what does not compile, spills, serialises, is known
 *            ─► check, each in a process of its own ─► drop what is wrong or hangs
 *            ─► race: all that are left, shuffled and interleaved, round by round
 *            ─► neighbours of the winner are the next variants
 *
 * Vocabulary
 *   variant   settings on top of what the user gave: "BM=128 warps=8 softmax=exact";
 *             the first has none: untuned, what the compiler chooses by itself
 *   device    what makes, checks and times: a GPU (on_gpu.h), or a simulation
 *   image     bytes that making gave, for checking and timing
 *   kernel    a hash of the image: what is known of a kernel holds for it alone
 *   fate      what became of a variant (fates.def)
 *   round     every variant still in the race is timed once
 *
 * All work of a device happens in processes of their own, which are ended at a
 * limit: a kernel that hangs takes its process with it, and nothing else.
 */
#ifndef TW_TUNE_H
#define TW_TUNE_H

#include "base/base.h"

typedef enum TuneFate {
#define FATE(id, name, help) TUNE_##id,
#include "tune/fates.def"
#undef FATE
    TUNE_FATES
} TuneFate;

const char *tune_fate_name(TuneFate fate);
TuneFate tune_fate_find(const char *name); /* TUNE_FATES: none */

typedef struct TuneVariant {
    const char *settings; /* NAME=VALUE, one blank between two; "": untuned */
    TuneFate fate;
    const char *problem;  /* NULL, or more about the fate */
    const char *image;
    size_t image_len;
    const char *kernel;   /* NULL: there is none */
    double ms;            /* the median; 0: not timed */
    int rounds;
} TuneVariant;

typedef VEC(TuneVariant) TuneVariants;

/* What a device does. Each is called in a process of its own, with memory that is dropped
 * with it; *problem says more about a failure. */
typedef struct TuneDevice {
    void *user;
    /* Makes the image for settings: TUNE_MADE, or what is wrong with it. */
    TuneFate (*make)(void *user, Arena *arena, const char *settings, Str *image, const char **problem);
    /* Whether it computes what it should: TUNE_SOUND, or what is wrong. An image put into
     * `better`, which may stay empty, takes the place of the variant's. */
    TuneFate (*check)(void *user, Arena *arena, const TuneVariant *variant, Str *better, const char **problem);
    /* Gets ready to time n variants, without running one. NULL: *problem. */
    void *(*open)(void *user, Arena *arena, TuneVariant *const *variants, int n, const char **problem);
    /* Milliseconds of a launch of the i-th of them: TUNE_TIMED, or what is wrong with it.
     * The first call is for the first one: others may be compared with that. */
    TuneFate (*time)(void *opened, int i, double *ms, const char **problem);
} TuneDevice;

/* What an earlier search found of a kernel. */
typedef struct TuneKnown {
    const char *kernel;
    TuneFate fate;
    const char *image; /* NULL: as it is made */
    size_t image_len;
} TuneKnown;

typedef VEC(TuneKnown) TuneKnowns;

typedef struct TuneOptions {
    int jobs;             /* processes that make at the same time; checks: at most 8 */
    double seconds;       /* for all of it */
    double make_limit, check_limit, time_limit; /* of a process, of a measurement */
    int rounds;           /* at most; 0: as many as the time allows */
    uint64_t seed;
    TuneKnowns known;
    /* Variants around one that did well; NULL: none. */
    void (*neighbours)(void *user, Arena *arena, const char *settings, TuneVariants *list);
    bool (*stopped)(void *user);                       /* the user wants no more; NULL: never */
    void (*progress)(void *user, const char *what);    /* NULL: not wanted */
    void (*keep)(void *user, const TuneVariants *all); /* something new is known; NULL: not wanted */
    void *user;
} TuneOptions;

typedef struct TuneResult {
    TuneVariants all;  /* the first is the untuned one */
    int winner;        /* -1: nothing was timed */
    int checks;        /* processes that checked */
    bool stopped;      /* by the user */
    const char *problem; /* why there is no winner */
    double seconds;
} TuneResult;

/* settings: variants to begin with; the untuned one is added in front. */
void tune_search(Arena *arena, const TuneDevice *device, const TuneOptions *options, const char *const *settings,
                 int n, TuneResult *result);

/* Times a pair anew, in a fresh process, round by round: medians. False: *problem. */
bool tune_compare(Arena *arena, const TuneDevice *device, const TuneOptions *options, TuneVariant *a, TuneVariant *b,
                  const char **problem);

/* space.c: settings with one more choice of the passes each (lang/schedule.def), by its value among those that
 * matter; NULL: all do. */
void tune_neighbours(Arena *arena, const char *settings, const bool *matters, TuneVariants *list);
/* The settings with one of them given another value, or added. */
const char *tune_with(Arena *arena, const char *settings, const char *name, const char *value);

#endif
