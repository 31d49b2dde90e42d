/* study_speed.h: how fast what an author wrote is, beside what the built-in stages write. */
#ifndef TW_STUDY_SPEED_H
#define TW_STUDY_SPEED_H

#include "cli/cli.h"
#include "flow/study.h"

typedef struct StudySpeed {
    Session *s;
    bool gpu; /* there is one, and a driver */
} StudySpeed;

/* Looks for a GPU, in a process of its own. */
StudySpeed study_speed_new(Session *s);
/* The built-in kernel's time over that of the cell's; 0: not known; below 0: the GPU found it
 * wrong. What was measured is kept with the cell's transcript, and not measured again. */
double study_speed(const StudySpeed *speed, Flow *flow, StudyMode mode);

#endif
