/* sandbox.c: a process from its start to what came of it.
 *
 *   parent              child               in its namespace of processes
 *   pipes, fork ──────► limits, namespaces
 *                       fork ─────────────► prepare, seal, run
 *   reads, waits ◄───── the same status ◄── exit
 *
 * The innermost process is the first of its namespace: when it ends, all that it has
 * started end with it. It ends as well when its parent does.
 */
#define _GNU_SOURCE
#include "sandbox/sandbox.h"

#include "base/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { UNSEALED = 126, UNPREPARED = 125, MOST_FILES = 4096 };

const char *sandbox_kind_name(SandboxKind kind)
{
    static const char *const names[] = {
        [SANDBOX_NAMESPACES] = "namespaces", [SANDBOX_LANDLOCK] = "landlock", [SANDBOX_KINDS] = "none",
        [SANDBOX_LIMITS_ALONE] = "limits alone",
    };

    return names[kind];
}

/* ---- in the child ------------------------------------------------------------------------ */

typedef struct Inner {
    SandboxKind kind;
    const SandboxSpec *spec;
    SandboxWork work;
} Inner;

static void die_with_parent(void)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

/* Nothing of the parent's stays open but the two pipes. */
static void close_others(const SandboxWork *work)
{
    int null = open("/dev/null", O_RDWR);

    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        dup2(null, fd);
    dup2(work->log, STDERR_FILENO);
    dup2(work->log, STDOUT_FILENO);
    for (int fd = 3; fd < MOST_FILES; fd++)
        if (fd != work->out && fd != work->log)
            close(fd);
}

static bool seal(const Inner *in)
{
    bool files = true;

    if (in->kind == SANDBOX_LIMITS_ALONE)
        return true;
    if (in->kind == SANDBOX_NAMESPACES)
        files = sandbox_new_root(in->spec, in->work.scratch);
    else
        files = sandbox_landlock(in->spec, in->work.scratch);
    return files && sandbox_filter_calls(in->spec->programs);
}

static int do_work(Inner *in)
{
    if (!sandbox_limit(in->spec))
        return UNSEALED;
    if (in->spec->prepare && !in->spec->prepare(&in->work))
        return UNPREPARED;
    if (!seal(in)) {
        dprintf(in->work.log, "%s", strerror(errno));
        return UNSEALED;
    }
    return in->spec->run(&in->work);
}

static int await(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return UNSEALED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* The process that has made a namespace of processes is not within it. */
static int enter(Inner *in)
{
    pid_t child;

    if (in->kind != SANDBOX_NAMESPACES)
        return do_work(in);
    if (!sandbox_enter_namespaces()) {
        dprintf(in->work.log, "%s", strerror(errno));
        return UNSEALED;
    }
    child = fork();
    if (child == 0) {
        die_with_parent();
        _exit(do_work(in));
    }
    close(in->work.out);
    close(in->work.log);
    return child < 0 ? UNSEALED : await(child);
}

/* ---- in the parent ------------------------------------------------------------------------- */

typedef struct Stream {
    int fd; /* -1: at its end */
    Str text;
} Stream;

static void read_some(Stream *s, size_t most, bool *large)
{
    char buffer[65536];
    ssize_t n = read(s->fd, buffer, sizeof buffer);

    if (n < 0 && errno == EINTR)
        return;
    if (n > 0 && s->text.len + (size_t)n <= most) {
        str_addn(&s->text, buffer, (size_t)n);
        return;
    }
    *large |= n > 0;
    close(s->fd);
    s->fd = -1;
}

/* Reads both until they end, a limit passes, or too much came. */
static void read_both(Stream streams[2], const SandboxSpec *spec, SandboxResult *r, double since)
{
    while ((streams[0].fd >= 0 || streams[1].fd >= 0) && !r->large && !r->late && !r->stopped) {
        struct pollfd ends[2] = {{.fd = streams[0].fd, .events = POLLIN}, {.fd = streams[1].fd, .events = POLLIN}};

        r->stopped = stop_asked();
        r->late = !r->stopped && clock_seconds() - since >= spec->seconds;
        if (r->stopped || r->late || poll(ends, 2, STOP_GLANCE_MS) <= 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (streams[i].fd >= 0 && ends[i].revents)
                read_some(&streams[i], spec->most, &r->large);
    }
}

static void finish(pid_t child, SandboxResult *r)
{
    bool ended = r->late || r->large || r->stopped;
    int status;

    if (ended)
        kill(-child, SIGKILL), kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    kill(-child, SIGKILL); /* what it has left behind */
    r->status = !ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool start(const Inner *in, const StopHold *hold, int pipes[4], pid_t *child)
{
    sigset_t all, before;

    if (pipe(pipes) != 0 || pipe(pipes + 2) != 0)
        return false;
    fflush(stdout);
    fflush(stderr);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    *child = fork();
    if (*child == 0) {
        Inner inner = *in;

        stop_in_child(hold);
        setpgid(0, 0);
        inner.work.out = pipes[1];
        inner.work.log = pipes[3];
        close_others(&inner.work);
        _exit(enter(&inner));
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(pipes[1]);
    close(pipes[3]);
    return *child > 0;
}

static const char *scratch_folder(Arena *arena)
{
    const char *folder = getenv("TMPDIR");

    return mkdtemp(arena_printf(arena, "%s/tw.XXXXXX", folder && *folder ? folder : "/tmp"));
}

static const char *why_unsealed(Arena *arena, SandboxKind kind, const char *log)
{
    return arena_printf(arena, "no sandbox of %s can be made here%s%s", sandbox_kind_name(kind), *log ? ": " : "", log);
}

static bool run(Arena *arena, Inner *in, const StopHold *hold, SandboxResult *r, const char **error)
{
    Stream streams[2] = {{.text = str_new(arena)}, {.text = str_new(arena)}};
    double since = clock_seconds();
    int pipes[4];
    pid_t child;

    if (!start(in, hold, pipes, &child)) {
        *error = arena_printf(arena, "starting a process: %s", strerror(errno));
        return false;
    }
    streams[0].fd = pipes[0];
    streams[1].fd = pipes[2];
    read_both(streams, in->spec, r, since);
    finish(child, r);
    for (int i = 0; i < 2; i++)
        if (streams[i].fd >= 0)
            close(streams[i].fd);
    r->out = str_text(&streams[0].text), r->out_len = streams[0].text.len;
    r->log = str_text(&streams[1].text), r->log_len = streams[1].text.len;
    r->seconds = clock_seconds() - since;
    if (r->status == UNSEALED)
        *error = why_unsealed(arena, in->kind, r->log);
    if (r->status == UNPREPARED)
        *error = *r->log ? r->log : "it cannot be prepared";
    return r->status != UNSEALED && r->status != UNPREPARED;
}

/* What programs have left in it. One folder deep, as they leave it. */
static void remove_scratch(Arena *arena, const char *folder);

bool sandbox_run(Arena *arena, SandboxKind kind, const SandboxSpec *spec, SandboxResult *r, const char **error)
{
    Inner in = {.kind = kind, .spec = spec, .work = {.user = spec->user}};
    StopHold hold;
    bool done;

    *r = (SandboxResult){.status = -1};
    if (spec->programs && !(in.work.scratch = scratch_folder(arena))) {
        *error = arena_printf(arena, "making a folder for the compiler: %s", strerror(errno));
        return false;
    }
    stop_hold(&hold);
    done = run(arena, &in, &hold, r, error);
    if (in.work.scratch)
        remove_scratch(arena, in.work.scratch);
    stop_release(&hold);
    return done;
}

/* ---- the scratch ------------------------------------------------------------------------------ */



static void remove_scratch(Arena *arena, const char *folder)
{
    DIR *dir = opendir(folder);

    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlink(arena_printf(arena, "%s/%s", folder, e->d_name));
    if (dir)
        closedir(dir);
    rmdir(folder);
}

/* ---- which kinds there can be -------------------------------------------------------------------- */

static int do_nothing(SandboxWork *work)
{
    (void)work;
    return 0;
}

bool sandbox_can(Arena *arena, SandboxKind kind, const char **why)
{
    static const char *const read[] = {"/usr", NULL};
    SandboxSpec spec = {.read = read, .seconds = 20, .most = 4096, .run = do_nothing};
    SandboxResult r;

    return sandbox_run(arena, kind, &spec, &r, why) && r.status == 0;
}

SandboxKind sandbox_best(Arena *arena, const char **why)
{
    const char *each[SANDBOX_KINDS] = {"", ""};

    for (int kind = 0; kind < SANDBOX_KINDS; kind++)
        if (sandbox_can(arena, (SandboxKind)kind, &each[kind]))
            return (SandboxKind)kind;
    *why = arena_printf(arena, "%s; %s", each[SANDBOX_NAMESPACES], each[SANDBOX_LANDLOCK]);
    return SANDBOX_KINDS;
}
