/* stop.h: being asked to stop (Ctrl-C) while a process of one's own works.
 *
 * Whoever waits for a child that may never end holds such signals back, looks whether there is one,
 * ends the child, and lets go: then the signal does what it would have done.
 *
 *     stop_hold(&hold);   fork, in the child: stop_in_child(&hold)
 *     wait in moments of STOP_GLANCE_MS, until stop_asked(); end the child
 *     stop_release(&hold);
 */
#ifndef TW_STOP_H
#define TW_STOP_H

#include <signal.h>
#include <stdbool.h>

enum { STOP_GLANCE_MS = 50 };

typedef struct StopHold {
    sigset_t before;
} StopHold;

void stop_hold(StopHold *hold);
/* Of what is held back. */
bool stop_asked(void);
void stop_release(const StopHold *hold);
/* As a program that was just started has them; and it ends when its parent does, where the system can. */
void stop_in_child(const StopHold *hold);

#endif
