/* pool.c: pieces of work in processes of their own.
 *
 * A process answers through a socket: a head with the fate and two lengths, then the
 * sentence and the bytes. What has not answered in full when that closes has
 * crashed; what has not when its time is up is ended.
 */
#include "tune/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_JOBS = 64, GLANCE_MS = 50 /* between two looks at whether there is enough */ };

typedef struct Head {
    int32_t fate;
    uint64_t problem, bytes; /* lengths */
} Head;

typedef struct Job {
    PoolChild child; /* pid 0: none */
    int task;
    double until;
    Str got;
} Job;

/* ---- processes ------------------------------------------------------------------------- */

/* Out of memory, a process of its own just ends. */
static void in_child(PoolServe *serve, void *user, int fd) TW_NORETURN;
static void in_child(PoolServe *serve, void *user, int fd)
{
    jmp_buf oom;
    Heap heap = {.on_oom = &oom};

    if (setjmp(oom) == 0)
        serve(user, arena_new(&heap), fd);
    fflush(stdout);
    fflush(stderr);
    _exit(0);
}

bool pool_spawn(PoolChild *child, PoolServe *serve, void *user)
{
    int ends[2];

    *child = (PoolChild){0, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return false;
    fflush(stdout);
    fflush(stderr);
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        in_child(serve, user, ends[1]);
    }
    close(ends[1]);
    child->fd = ends[0];
    fcntl(child->fd, F_SETFD, FD_CLOEXEC);
    if (child->pid > 0)
        return true;
    child->pid = 0;
    pool_end(child);
    return false;
}

/* A process in the hands of a driver that does not answer may not even die. */
static void reap(pid_t pid)
{
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};

    kill(pid, SIGKILL);
    for (int i = 0; i < 500 && waitpid(pid, NULL, WNOHANG) == 0; i++)
        nanosleep(&moment, NULL);
}

void pool_end(PoolChild *child)
{
    if (child->fd >= 0)
        close(child->fd);
    if (child->pid > 0)
        reap(child->pid);
    *child = (PoolChild){0, -1};
}

/* ---- reading and writing ------------------------------------------------------------------- */

bool pool_write(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL); /* the other side may be gone */

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* Whether there is something to read, or the other side is gone. */
static PoolRead wait_readable(int fd, double until, bool (*enough)(void *user), void *user)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        double left = until - clock_seconds();

        if (poll(&p, 1, left * 1e3 < GLANCE_MS ? (left > 0 ? (int)(left * 1e3) + 1 : 0) : GLANCE_MS) > 0)
            return POOL_READ;
        if (enough && enough(user))
            return POOL_ENOUGH;
        if (left <= 0)
            return POOL_LATE;
    }
}

PoolRead pool_read(int fd, void *bytes, size_t len, double until, bool (*enough)(void *user), void *user)
{
    char *at = bytes;

    while (len) {
        PoolRead state = wait_readable(fd, until, enough, user);
        ssize_t n = state == POOL_READ ? read(fd, at, len) : 0;

        if (state != POOL_READ)
            return state;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return POOL_GONE;
        at += n;
        len -= (size_t)n;
    }
    return POOL_READ;
}

/* ---- one piece ------------------------------------------------------------------------------- */

typedef struct Piece {
    const Pool *pool;
    int task;
} Piece;

static void serve_piece(void *user, Arena *arena, int fd)
{
    const Piece *piece = user;
    PoolAnswer answer = {0};
    Head head;

    piece->pool->work(piece->pool->user, arena, piece->task, &answer);
    head = (Head){(int32_t)answer.fate, answer.problem ? strlen(answer.problem) + 1 : 0, answer.len};
    if (pool_write(fd, &head, sizeof head) && pool_write(fd, answer.problem, head.problem))
        pool_write(fd, answer.bytes, answer.len);
}

static bool start(const Pool *pool, Job *job, int task)
{
    Piece piece = {pool, task};

    *job = (Job){.task = task, .until = clock_seconds() + pool->limit, .got = str_new(pool->arena)};
    return pool_spawn(&job->child, serve_piece, &piece);
}

/* What a process that is gone has left. */
static PoolAnswer answer_of(const Pool *pool, const Job *job, bool late)
{
    PoolAnswer answer = {.fate = late ? TUNE_HUNG : TUNE_CRASHED};
    Head head;

    answer.problem = late ? arena_printf(pool->arena, "it was ended after %.0f seconds", pool->limit) : NULL;
    if (late || job->got.len < sizeof head)
        return answer;
    memcpy(&head, job->got.data, sizeof head);
    if (head.fate < 0 || head.fate >= TUNE_FATES || job->got.len != sizeof head + head.problem + head.bytes)
        return answer;
    answer.fate = (TuneFate)head.fate;
    answer.problem = head.problem ? job->got.data + sizeof head : NULL;
    answer.bytes = job->got.data + sizeof head + head.problem;
    answer.len = head.bytes;
    return answer;
}

static void finish(const Pool *pool, Job *job, bool late)
{
    PoolAnswer answer = answer_of(pool, job, late);

    pool_end(&job->child);
    pool->done(pool->user, job->task, &answer);
}

/* Takes what is there; true: the process is gone. */
static bool take(Job *job)
{
    char chunk[1 << 16];
    ssize_t n = read(job->child.fd, chunk, sizeof chunk);

    if (n > 0)
        str_addn(&job->got, chunk, (size_t)n);
    return n == 0 || (n < 0 && errno != EINTR);
}

/* ---- all of them -------------------------------------------------------------------------------- */

static int fill(const Pool *pool, Job *jobs, int slots, int next, int n)
{
    for (int i = 0; i < slots && next < n; i++) {
        if (jobs[i].child.pid > 0)
            continue;
        if (!start(pool, &jobs[i], next++)) {
            PoolAnswer none = {.fate = TUNE_FAILED, .problem = "a process for it cannot be started"};

            pool->done(pool->user, next - 1, &none);
        }
    }
    return next;
}

static int running(const Job *jobs, int slots)
{
    int n = 0;

    for (int i = 0; i < slots; i++)
        n += jobs[i].child.pid > 0;
    return n;
}

static void listen_all(const Pool *pool, Job *jobs, int slots)
{
    struct pollfd fds[MOST_JOBS];

    for (int i = 0; i < slots; i++)
        fds[i] = (struct pollfd){.fd = jobs[i].child.pid > 0 ? jobs[i].child.fd : -1, .events = POLLIN};
    if (poll(fds, (nfds_t)slots, GLANCE_MS) < 0)
        return;
    for (int i = 0; i < slots; i++) {
        if (jobs[i].child.pid <= 0)
            continue;
        if ((fds[i].revents && take(&jobs[i])))
            finish(pool, &jobs[i], false);
        else if (clock_seconds() > jobs[i].until)
            finish(pool, &jobs[i], true);
    }
}

bool pool_run(const Pool *pool, int n)
{
    Job jobs[MOST_JOBS];
    int slots = pool->jobs < 1 ? 1 : pool->jobs > MOST_JOBS ? MOST_JOBS : pool->jobs, next = 0;

    memset(jobs, 0, sizeof jobs);
    do {
        if (pool->enough && pool->enough(pool->user)) {
            for (int i = 0; i < slots; i++)
                if (jobs[i].child.pid > 0)
                    pool_end(&jobs[i].child);
            return false;
        }
        next = fill(pool, jobs, slots, next, n);
        if (running(jobs, slots))
            listen_all(pool, jobs, slots);
    } while (next < n || running(jobs, slots));
    return true;
}
