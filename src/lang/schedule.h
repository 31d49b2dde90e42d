/* schedule.h: the parameters of a schedule: those that are words, with a value
 * for each, and the names of those that are numbers.
 *
 * Vocabulary
 *   parameter  something that may be done in more than one way (schedule.def)
 *   value      one of the ways; values are numbered over all parameters
 *   auto       nothing was said: the pass concerned decides by what it knows
 */
#ifndef TW_SCHEDULE_H
#define TW_SCHEDULE_H

#include "base/base.h"

typedef enum SchedId {
#define SCHEDULE(id, name, help) SCHED_##id,
#define VALUE(parameter, id, name, help)
#include "lang/schedule.def"
#undef SCHEDULE
#undef VALUE
    SCHED_COUNT
} SchedId;

typedef enum SchedValue {
    SCHED_AUTO,
#define SCHEDULE(id, name, help)
#define VALUE(parameter, id, name, help) SCHED_##parameter##_##id,
#include "lang/schedule.def"
#undef SCHEDULE
#undef VALUE
    SCHED_VALUES
} SchedValue;

/* Parameters that are numbers. */
enum {
#define NUMBER(name, least, most, usual, unsaid) SCHED_NUMBER_##name,
#include "lang/schedule_numbers.def"
#undef NUMBER
    SCHED_NUMBERS
};

typedef struct SchedInfo {
    const char *name, *help;
} SchedInfo;

/* Zeroed: everything is left to the passes. */
typedef struct Schedule {
    SchedValue value[SCHED_COUNT];
} Schedule;

enum {
    SCHED_KEPT_MOST = 64,   /* turns of loops */
    SCHED_CLUSTER_MOST = 8, /* blocks of a cluster: what all GPUs that have clusters take */
    SCHED_SPARE_MOST = 128  /* registers that are left to the assembler */
};
/* Numbers that are choices of the reasoner, sizes of tiles, how many warps: their names, NULL behind the last. */
const char *const *sched_sizes(void);
bool sched_is_size(const char *name); /* whether it is one of those */
void sched_numbers_text(Str *out); /* "warps, warps_n, ...": those that a Schedule may have as a line */
/* Why a Kernel that is given has no such choice, of one about what kernels there are; NULL: it is none. */
const char *sched_about_flow(const char *name);
const SchedInfo *sched_info(SchedId id);
const SchedInfo *sched_value_info(SchedValue value); /* "auto" of SCHED_AUTO */
SchedId sched_of(SchedValue value); /* SCHED_COUNT of SCHED_AUTO */
/* The parameter of a name; SCHED_COUNT: there is none. */
SchedId sched_find(const char *name);
/* Its value of a name; SCHED_AUTO: there is none. */
SchedValue sched_value_find(SchedId id, const char *name);

/* "exact, lagging or checked" */
void sched_values_text(Str *out, SchedId id);
/* "softmax (exact, lagging or checked), skew (off or on)" */
void sched_text(Str *out);

/* Parses "NAME=VALUE" where NAME is a parameter. True: it was taken, or *error says why
 * not; false: it is of something else. */
bool sched_set(Arena *arena, Schedule *schedule, const char *text, const char **error);

#endif
