/* subjects.h: the right programs that mistakes are put into: written by the fuser
 * and the reasoner from ops/ and tests/mutate, and by hand. */
#ifndef TW_TESTS_SUBJECTS_H
#define TW_TESTS_SUBJECTS_H

#include "judge.h"

enum { MOST_SETS = 8 };

typedef struct Subject {
    const char *name, *definition; /* a file */
    const char *code;              /* a file; NULL: written by the fuser and the reasoner */
    const char *sets[MOST_SETS];   /* of the definition */
    const char *forced[MOST_SETS]; /* of the reasoner */
    Task task;
} Subject;

extern const Subject SUBJECTS[];
extern const int N_SUBJECTS;

#endif
