/* quiet.c: SIGPIPE held back while bytes are written to somebody who may be gone.
 *
 * The signal is this thread's; where it was not pending before, it is taken out of the
 * queue, so that nobody behind is ended by it.
 */
#include "model/client.h"

#include <time.h>

static void only_pipe(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGPIPE);
}

void quiet_begin(sigset_t *before)
{
    sigset_t set;

    only_pipe(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void quiet_end(const sigset_t *before)
{
    sigset_t set, pending;

    only_pipe(&set);
    sigpending(&pending);
    if (!sigismember(before, SIGPIPE) && sigismember(&pending, SIGPIPE))
        sigtimedwait(&set, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
