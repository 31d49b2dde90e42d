/* stop.c: see stop.h. */
#ifdef __linux__
#define _GNU_SOURCE
#include <sys/prctl.h>
#endif

#include "base/stop.h"

#include <stddef.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof *signals };

void stop_hold(StopHold *hold)
{
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, &hold->before);
}

bool stop_asked(void)
{
    sigset_t pending;

    if (sigpending(&pending) != 0)
        return false;
    for (int i = 0; i < SIGNALS; i++)
        if (sigismember(&pending, signals[i]))
            return true;
    return false;
}

void stop_release(const StopHold *hold)
{
    sigprocmask(SIG_SETMASK, &hold->before, NULL);
}

/* What the parent ignores stays ignored: `nohup` means its children as well. */
void stop_in_child(const StopHold *hold)
{
    struct sigaction now;

    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal(signals[i], SIG_DFL);
    stop_release(hold);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}
