/* guard.c: work in a process of its own, with a limit on its time.
 *
 * A kernel that never ends cannot be stopped from the process that waits for
 * it; ending that process stops it. The parent waits for a pipe that closes
 * when the child is gone, whatever became of it. Ctrl-C ends the child at once.
 */
#include "gpu/gpu.h"

#include "base/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void in_child(int pipe_end[2], int (*work)(void *user), void *user) TW_NORETURN;
static void in_child(int pipe_end[2], int (*work)(void *user), void *user)
{
    close(pipe_end[0]);
    int status = work(user);
    fflush(stdout);
    fflush(stderr);
    _exit(status & 0xff);
}

typedef enum Waited { WAITED_ENDED, WAITED_LATE, WAITED_STOPPED } Waited;

/* Until the pipe is closed. Time is measured, for signals interrupt. */
static Waited wait_for(int fd, double seconds)
{
    double until = clock_seconds() + seconds;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (stop_asked())
            return WAITED_STOPPED;
        if (seconds > 0 && clock_seconds() >= until)
            return WAITED_LATE;
        if (poll(&p, 1, STOP_GLANCE_MS) > 0)
            return WAITED_ENDED;
    }
}

/* A process in the hands of a driver that does not answer may not even die. */
static void end(pid_t child)
{
    const struct timespec moment = {.tv_nsec = 50 * 1000 * 1000};
    kill(child, SIGKILL);
    for (int i = 0; i < 200 && waitpid(child, NULL, WNOHANG) == 0; i++)
        nanosleep(&moment, NULL);
}

static int status_of(pid_t child, const char **problem)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    *problem = WTERMSIG(status) == SIGALRM ? "the kernel hung: its process was ended at the time limit" /* the alarm of gpu_wait */
                                           : "the process that ran the kernel crashed";
    return -1;
}

static int await(pid_t child, int fd, double seconds, const char **problem)
{
    Waited waited = wait_for(fd, seconds);
    if (waited == WAITED_ENDED)
        return status_of(child, problem);
    end(child);
    *problem = waited == WAITED_STOPPED ? "it was interrupted" : "the kernel hung: its process was ended at the time limit";
    return waited == WAITED_STOPPED ? GPU_STOPPED : -1;
}

int gpu_guarded(double seconds, int (*work)(void *user), void *user, const char **problem)
{
    int pipe_end[2], status = -1;
    StopHold hold;
    *problem = "the process for the GPU cannot be started";
    if (pipe(pipe_end) != 0)
        return -1;
    fflush(stdout);
    fflush(stderr);
    stop_hold(&hold);
    pid_t child = fork();
    if (child == 0) {
        stop_in_child(&hold);
        in_child(pipe_end, work, user);
    }
    close(pipe_end[1]);
    if (child > 0)
        status = await(child, pipe_end[0], seconds, problem);
    close(pipe_end[0]);
    stop_release(&hold);
    return status;
}
