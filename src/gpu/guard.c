/* guard.c: work in a process of its own, with a limit on its time.
 *
 * A kernel that never ends cannot be stopped from the process that waits for
 * it; ending that process stops it. The parent waits for a pipe that closes
 * when the child is gone, whatever became of it.
 */
#include "gpu/gpu.h"

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

/* True when the pipe was closed in time. Time is measured, for signals interrupt. */
static bool wait_for(int fd, double seconds)
{
    double until = clock_seconds() + seconds;
    for (;;) {
        double left = seconds > 0 ? until - clock_seconds() : 1000;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (left <= 0)
            return false;
        if (poll(&p, 1, left > 1000 ? 1000000 : (int)(left * 1000) + 1) > 0)
            return true;
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

int gpu_guarded(double seconds, int (*work)(void *user), void *user, const char **problem)
{
    int pipe_end[2], status = 0;
    *problem = "the process for the GPU cannot be started";
    if (pipe(pipe_end) != 0)
        return -1;
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    if (child == 0)
        in_child(pipe_end, work, user);
    close(pipe_end[1]);
    if (child < 0) {
        close(pipe_end[0]);
        return -1;
    }
    bool ended = wait_for(pipe_end[0], seconds);
    close(pipe_end[0]);
    *problem = "the kernel hung: its process was ended at the time limit";
    if (!ended) {
        end(child);
        return -1;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (WTERMSIG(status) != SIGALRM) /* the alarm of gpu_wait */
        *problem = "the process that ran the kernel crashed";
    return -1;
}
