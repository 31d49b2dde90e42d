/* child.c: a program of the CUDA toolkit that runs beside us. */
#include "assemble/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WAITED_FOR = 64 };

void child_init(Child *child)
{
    *child = (Child){.in = -1, .out = -1, .log = -1, .end = -1, .status = -1};
}

/* ---- files without names ----------------------------------------------------------- */

static bool failed(Arena *arena, const char *doing, const char **error)
{
    *error = arena_printf(arena, "%s: %s", doing, strerror(errno));
    return false;
}

/* No signal comes between making the file and taking its name away. */
static int open_nameless(Arena *arena)
{
    const char *folder = getenv("TMPDIR");
    char *path = arena_printf(arena, "%s/tw.XXXXXX", folder && *folder ? folder : "/tmp");
    sigset_t all, before;
    int fd;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

bool child_files(Arena *arena, Child *child, const char *text, size_t len, const char **error)
{
    child->in = open_nameless(arena);
    child->out = child->in < 0 ? -1 : open_nameless(arena);
    if (child->out < 0 || !file_put(child->in, text, len))
        return failed(arena, "writing a temporary file", error);
    return true;
}

const char *child_file(Arena *arena, int fd)
{
    return arena_printf(arena, "/dev/fd/%d", fd);
}

const char *child_read(Arena *arena, int fd, size_t *len)
{
    struct stat st;
    char *text;
    size_t size;

    *len = 0;
    if (fd < 0 || fstat(fd, &st) != 0)
        return "";
    size = (size_t)st.st_size;
    text = arena_alloc(arena, size + 1);
    while (*len < size) {
        ssize_t n = pread(fd, text + *len, size - *len, (off_t)*len);

        if (n <= 0 && errno != EINTR)
            break;
        *len += n > 0 ? (size_t)n : 0;
    }
    text[*len] = '\0';
    return text;
}

/* ---- running ------------------------------------------------------------------------ */

static void keep_open(int fd)
{
    if (fd >= 0)
        fcntl(fd, F_SETFD, 0);
}

/* The limit holds for the processor's time as well, so that a program whose parent was
 * killed does not live on for ever. */
static void in_child(const Child *child, int end, char *const *argv) TW_NORETURN;
static void in_child(const Child *child, int end, char *const *argv)
{
    int null = open("/dev/null", O_RDONLY);
    rlim_t seconds = (rlim_t)child->limit + 1;
    struct rlimit time = {seconds, seconds + 1};

    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(child->log, STDOUT_FILENO);
    dup2(child->log, STDERR_FILENO);
    keep_open(child->in);
    keep_open(child->out);
    keep_open(end);
    if (child->limit > 0)
        setrlimit(RLIMIT_CPU, &time);
    execv(argv[0], argv);
    _exit(127);
}

static bool fork_child(Child *child, int end, char *const *argv)
{
    child->started = clock_seconds();
    child->pid = fork();
    if (child->pid == 0)
        in_child(child, end, argv);
    close(end);
    if (child->pid > 0)
        return true;
    child->pid = 0;
    return false;
}

bool child_start(Arena *arena, Child *child, char *const *argv, double limit, const char **error)
{
    int ends[2];

    child->limit = limit;
    child->log = open_nameless(arena);
    if (child->log < 0)
        return failed(arena, "making a temporary file", error);
    if (pipe(ends) != 0)
        return failed(arena, "making a pipe", error);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    child->end = ends[0];
    return fork_child(child, ends[1], argv) || failed(arena, arena_printf(arena, "starting %s", argv[0]), error);
}

/* ---- waiting ------------------------------------------------------------------------ */

static void reap(Child *child)
{
    int status;
    pid_t got;

    while ((got = waitpid(child->pid, &status, 0)) < 0 && errno == EINTR)
        ;
    child->status = got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    child->pid = 0;
    child->ended = clock_seconds();
}

/* Seconds that it may still take. */
static double left_of(const Child *child)
{
    return child->limit > 0 ? child->limit - (clock_seconds() - child->started) : 1e6;
}

static void end_late(Child *child)
{
    if (!child->pid || left_of(child) > 0)
        return;
    child->late = true;
    kill(child->pid, SIGKILL);
    reap(child);
}

/* Waits on those that run, and reaps what has ended. */
static void poll_all(Child *const *children, int n, double seconds)
{
    struct pollfd ends[MOST_WAITED_FOR];
    Child *of[MOST_WAITED_FOR];
    int count = 0;

    for (int i = 0; i < n && count < MOST_WAITED_FOR; i++) {
        if (!children[i]->pid)
            continue;
        seconds = left_of(children[i]) < seconds ? left_of(children[i]) : seconds;
        ends[count] = (struct pollfd){.fd = children[i]->end, .events = POLLIN};
        of[count++] = children[i];
    }
    seconds = seconds < 0 ? 0 : seconds > 1000 ? 1000 : seconds;
    if (!count || poll(ends, (nfds_t)count, seconds > 0 ? (int)(seconds * 1000) + 1 : 0) <= 0)
        return;
    for (int i = 0; i < count; i++)
        if (ends[i].revents)
            reap(of[i]);
}

static bool any_ended(Child *const *children, int n)
{
    for (int i = 0; i < n; i++)
        if (!children[i]->pid)
            return true;
    return n == 0;
}

bool child_wait(Child *const *children, int n, double seconds)
{
    double until = clock_seconds() + seconds;

    for (;;) {
        double left = until - clock_seconds();

        if (any_ended(children, n))
            return true;
        poll_all(children, n, left > 0 ? left : 0);
        for (int i = 0; i < n; i++)
            end_late(children[i]);
        if (left <= 0)
            return any_ended(children, n);
    }
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void child_drop(Child *child)
{
    if (child->pid) {
        kill(child->pid, SIGKILL);
        reap(child);
    }
    close_file(&child->in);
    close_file(&child->out);
    close_file(&child->log);
    close_file(&child->end);
}
