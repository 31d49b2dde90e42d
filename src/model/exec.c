/* exec.c: a program that answers.
 *
 * `/bin/sh -c COMMAND` reads the prompt from its standard input and writes the answer to
 * its standard output; what it says on standard error is shown where it fails. A lone
 * user's message is given as it is. A system's stands before it, and where there were
 * turns before, each has a line over it that names who spoke:
 *
 *   [user]
 *   ...
 *   [assistant]
 *   ...
 *
 * The program is a process group of its own, so that what it starts ends with it.
 */
#include "model/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 16 << 10, COMPLAINT = 2 << 10, TICK_MS = 50 };

/* ---- the prompt -------------------------------------------------------------------------- */

static const char *prompt_text(Call *call)
{
    static const char *const names[] = {
        [MODEL_SYSTEM] = "system", [MODEL_USER] = "user", [MODEL_ASSISTANT] = "assistant"};
    Str text = str_new(call->arena);
    int turns = 0;

    for (int i = 0; i < call->n; i++)
        turns += call->messages[i].role != MODEL_SYSTEM;
    for (int i = 0; i < call->n; i++) {
        const ModelMessage *m = &call->messages[i];

        if (i > 0)
            str_add(&text, "\n\n");
        if (turns > 1 && m->role != MODEL_SYSTEM)
            str_printf(&text, "[%s]\n", names[m->role]);
        str_add(&text, m->text);
    }
    return str_text(&text);
}

/* ---- starting and ending ------------------------------------------------------------------ */

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void nap(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

void exec_end(Child *child)
{
    shut(&child->in);
    shut(&child->out);
    shut(&child->err);
    if (child->pid > 0) {
        kill(-child->pid, SIGTERM);
        for (int i = 0; i < 50 && waitpid(child->pid, NULL, WNOHANG) == 0; i++)
            nap(4);
        kill(-child->pid, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    child->pid = 0;
}

/* Nothing but what is safe between fork and exec. */
static void become(const char *command, int ends[3][2])
{
    sigset_t none;

    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    dup2(ends[0][0], STDIN_FILENO);
    dup2(ends[1][1], STDOUT_FILENO);
    dup2(ends[2][1], STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static bool open_pipes(int ends[3][2])
{
    for (int i = 0; i < 3; i++)
        ends[i][0] = ends[i][1] = -1;
    for (int i = 0; i < 3; i++) {
        if (pipe(ends[i]) != 0)
            return false;
        fcntl(ends[i][0], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i][1], F_SETFD, FD_CLOEXEC);
    }
    return true;
}

static bool start(Child *child, const char *command)
{
    int ends[3][2];
    bool opened = open_pipes(ends);

    child->pid = opened ? fork() : -1;
    if (child->pid == 0)
        become(command, ends);
    if (child->pid > 0)
        setpgid(child->pid, child->pid); /* whoever of the two is first */
    child->in = ends[0][1];
    child->out = ends[1][0];
    child->err = ends[2][0];
    shut(&ends[0][0]);
    shut(&ends[1][1]);
    shut(&ends[2][1]);
    if (child->pid > 0) {
        fcntl(child->in, F_SETFL, O_NONBLOCK);
        return true;
    }
    child->pid = 0;
    exec_end(child);
    return false;
}

/* ---- talking --------------------------------------------------------------------------------- */

/* A program may stop to read; that is its right. */
static void give(Child *child, const char **prompt)
{
    ssize_t n = write(child->in, *prompt, strlen(*prompt));

    if (n > 0)
        *prompt += n;
    if (!**prompt || (n < 0 && errno != EAGAIN && errno != EINTR))
        shut(&child->in);
}

static ssize_t take(int *fd, char *chunk)
{
    ssize_t n = read(*fd, chunk, CHUNK);

    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        shut(fd);
    return n > 0 ? n : 0;
}

static bool take_answer(Call *call, Child *child)
{
    char chunk[CHUNK];
    ssize_t n = take(&child->out, chunk);

    if (n == 0)
        return true;
    call->progress.phase = MODEL_ANSWERING;
    text_add(&call->text, chunk, (size_t)n);
    call_heard(call, (size_t)n);
    if (call->text.len <= ANSWER_LIMIT)
        return true;
    return call_fail(call, TW1017, NULL, "the answer of %s is longer than %d MB", call->model->spec,
                     ANSWER_LIMIT >> 20);
}

/* The head of what it complains of; the rest is read and dropped. */
static void take_complaint(Child *child, Str *complaint)
{
    char chunk[CHUNK];
    size_t n = (size_t)take(&child->err, chunk);

    if (complaint->len < COMPLAINT)
        str_addn(complaint, chunk, n < COMPLAINT - complaint->len ? n : COMPLAINT - complaint->len);
}

/* Until both of its outputs are closed. */
static bool talk(Call *call, Child *child, const char *prompt, Str *complaint)
{
    if (!*prompt)
        shut(&child->in);
    while (child->out >= 0 || child->err >= 0) {
        struct pollfd fds[] = {{child->in, POLLOUT, 0}, {child->out, POLLIN, 0}, {child->err, POLLIN, 0}};

        if (!call_goes_on(call))
            return false;
        if (poll(fds, TW_COUNT(fds), TICK_MS) <= 0)
            continue;
        if (fds[0].revents)
            give(child, &prompt);
        if (fds[1].revents && !take_answer(call, child))
            return false;
        if (fds[2].revents)
            take_complaint(child, complaint);
    }
    return true;
}

/* Until it ends; its status. */
static bool await(Call *call, Child *child, int *status)
{
    pid_t ended;

    for (int turn = 0; (ended = waitpid(child->pid, status, WNOHANG)) == 0; turn++) {
        if (!call_goes_on(call))
            return false;
        nap(turn < 20 ? 1 : TICK_MS);
    }
    child->pid = 0;
    return ended > 0 || call_fail(call, TW1019, NULL, "'%s' was lost", call->model->name);
}

static bool judge(Call *call, int status, const Str *complaint)
{
    const char *said = complaint->len ? str_text(complaint) : NULL;

    if (WIFSIGNALED(status))
        return call_fail(call, TW1019, said, "'%s' was ended by signal %d", call->model->name,
                         WTERMSIG(status));
    if (WEXITSTATUS(status) == 0)
        return true;
    return call_fail(call, TW1019, said, "'%s' ended with status %d", call->model->name,
                     WEXITSTATUS(status));
}

bool exec_ask(Call *call)
{
    Child *child = &call->model->child;
    Str complaint = str_new(call->arena);
    Usage usage;
    const char *prompt = prompt_text(call);
    sigset_t before;
    int status = 0;
    bool done;

    call->progress.phase = MODEL_WAITING;
    if (!start(child, call->model->name))
        return call_fail(call, TW1019, strerror(errno), "'%s' cannot be started", call->model->name);
    quiet_begin(&before);
    done = talk(call, child, prompt, &complaint) && await(call, child, &status);
    quiet_end(&before);
    exec_end(child);
    usage = call_guess(call, call->text.len);
    call_spend(call, &usage);
    return done && judge(call, status, &complaint);
}
