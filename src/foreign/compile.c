/* compile.c: framed text to PTX, for the device alone, in a sandbox.
 *
 *   NVRTC   a library that is loaded before the sandbox is sealed; it makes no host code,
 *           starts no program and writes no file
 *   nvcc    a program that starts others: -ptx stops behind the device's part
 *
 * Both see CUDA's and CUTLASS's headers; nvcc also the system's programs and libraries,
 * and a folder of its own to write in.
 */
#include "foreign/foreign.h"
#include "foreign/nvrtc.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_OUTPUT = 256 << 20, MOST_LOG = 1 << 18 };

typedef struct Compile {
    Arena *arena;
    const ForeignTools *tools;
    const ForeignJob *job;
    Nvrtc nvrtc;
} Compile;

/* "sm_90a" as "compute_90a" */
static const char *architecture(Arena *arena, const char *target)
{
    return arena_printf(arena, "compute_%s", strncmp(target, "sm_", 3) == 0 ? target + 3 : target);
}

/* ---- NVRTC ------------------------------------------------------------------------------- */

static bool load_nvrtc(SandboxWork *work)
{
    Compile *c = work->user;
    const char *why = nvrtc_load(c->arena, &c->nvrtc, c->tools->path);

    if (why)
        file_put(work->log, why, strlen(why));
    return !why;
}

static int run_nvrtc(SandboxWork *work)
{
    Compile *c = work->user;
    const char *root = c->tools->root;
    const char *const options[] = {
        arena_printf(c->arena, "--gpu-architecture=%s", architecture(c->arena, c->job->target)),
        "--std=c++17",
        "--device-as-default-execution-space",
        arena_printf(c->arena, "--include-path=%s/include", root),
        arena_printf(c->arena, "--include-path=%s/include/cccl", root),
        arena_printf(c->arena, "--include-path=%s", c->tools->cutlass ? c->tools->cutlass : root),
    };
    NvrtcText in = {c->job->text, c->job->header_name, c->job->header};
    char *log, *ptx;
    bool ok = nvrtc_compile(c->arena, &c->nvrtc, &in, options, TW_COUNT(options), &log, &ptx);

    if (log)
        file_put(work->log, log, strlen(log));
    return ok && file_put(work->out, ptx, strlen(ptx)) ? 0 : 1;
}

/* ---- nvcc ---------------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool done = fd >= 0 && file_put(fd, text, strlen(text));

    if (fd >= 0)
        close(fd);
    return done;
}

static bool copy_file(const char *path, int to)
{
    char buffer[65536];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = -1;

    while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0)
        if (!file_put(to, buffer, (size_t)n))
            n = 0;
    if (fd >= 0)
        close(fd);
    return n == 0;
}

/* Programs that it started may end after it; those are not waited for. */
static int await(pid_t child)
{
    int status;
    pid_t got;

    while ((got = waitpid(-1, &status, 0)) != child)
        if (got < 0 && errno != EINTR)
            return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void start_nvcc(Compile *c, const char *scratch) TW_NORETURN;
static void start_nvcc(Compile *c, const char *scratch)
{
    const char *slash = strrchr(c->tools->path, '/');
    char *argv[] = {arena_strdup(c->arena, c->tools->path), "-std=c++17", "-O3", "--expt-relaxed-constexpr", "-ptx",
                    arena_printf(c->arena, "-arch=%s", c->job->target), arena_printf(c->arena, "-I%s", c->tools->cutlass ? c->tools->cutlass : scratch),
                    arena_printf(c->arena, "-I%s", scratch), "-o", arena_printf(c->arena, "%s/kernel.ptx", scratch),
                    arena_printf(c->arena, "%s/kernel.cu", scratch), NULL};
    char *environment[] = {arena_printf(c->arena, "PATH=%.*s:/usr/bin:/bin", (int)(slash - c->tools->path), c->tools->path),
                           arena_printf(c->arena, "TMPDIR=%s", scratch), NULL};

    execve(argv[0], argv, environment);
    dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static int run_nvcc(SandboxWork *work)
{
    Compile *c = work->user;
    pid_t child;
    int status;

    if (!write_file(arena_printf(c->arena, "%s/kernel.cu", work->scratch), c->job->text) ||
        !write_file(arena_printf(c->arena, "%s/%s", work->scratch, c->job->header_name), c->job->header))
        return 1;
    child = fork();
    if (child == 0)
        start_nvcc(c, work->scratch);
    status = child > 0 ? await(child) : 1;
    return status == 0 && copy_file(arena_printf(c->arena, "%s/kernel.ptx", work->scratch), work->out) ? 0 : 1;
}

/* ---- what may be read ------------------------------------------------------------------------ */

typedef VEC(const char *) Paths;

static void add(Compile *c, Paths *paths, const char *path)
{
    vec_push(c->arena, paths, path);
}

static Paths readable(Compile *c)
{
    static const char *const system[] = {"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/dev/null"};
    Paths paths = {0};

    for (size_t i = 0; c->tools->compiler == FOREIGN_NVCC && i < TW_COUNT(system); i++)
        add(c, &paths, system[i]);
    if (c->tools->compiler == FOREIGN_NVCC)
        add(c, &paths, c->tools->root);
    else
        add(c, &paths, arena_printf(c->arena, "%s/include", c->tools->root));
    if (c->tools->compiler == FOREIGN_NVRTC) { /* and what it loads itself, from beside it */
        const char *slash = strrchr(c->tools->path, '/');

        add(c, &paths, arena_strndup(c->arena, c->tools->path, (size_t)(slash - c->tools->path)));
        add(c, &paths, arena_printf(c->arena, "%s/targets", c->tools->root));
    }
    if (c->tools->cutlass)
        add(c, &paths, c->tools->cutlass);
    add(c, &paths, NULL);
    return paths;
}

static bool choose_sandbox(Arena *arena, const ForeignTools *tools, SandboxKind *kind, const char **error)
{
    const char *why;

    *kind = sandbox_best(arena, &why);
    if (*kind != SANDBOX_KINDS)
        return true;
    *kind = SANDBOX_LIMITS_ALONE;
    if (!tools->unconfined)
        *error = arena_printf(arena, "the compiler must not run outside of a sandbox, and there can be none: %s "
                              "(--no-sandbox compiles with limits alone)", why);
    return tools->unconfined;
}

static const char *limit_passed(Arena *arena, const SandboxResult *r, const SandboxSpec *spec)
{
    if (r->late)
        return arena_printf(arena, "the compiler took more than %g s and was ended", spec->seconds);
    return r->large ? "the compiler wrote more than it may and was ended" : "the compiler crashed, or ran out of its memory";
}

bool foreign_compile(Arena *arena, const ForeignTools *tools, const ForeignJob *job, ForeignMade *made, const char **error)
{
    Compile c = {.arena = arena, .tools = tools, .job = job};
    bool library = tools->compiler == FOREIGN_NVRTC;
    SandboxSpec spec = {.read = readable(&c).data, .programs = !library, .most = MOST_OUTPUT, .memory = FOREIGN_MEMORY,
                        .seconds = tools->seconds > 0 ? tools->seconds : FOREIGN_SECONDS, .user = &c,
                        .prepare = library ? load_nvrtc : NULL, .run = library ? run_nvrtc : run_nvcc};
    SandboxResult r;
    SandboxKind kind;

    *made = (ForeignMade){0};
    if (!choose_sandbox(arena, tools, &kind, error) || !sandbox_run(arena, kind, &spec, &r, error))
        return false;
    made->log = r.log_len > MOST_LOG ? arena_strndup(arena, r.log, MOST_LOG) : r.log;
    made->seconds = r.seconds;
    if (r.status == 0 && r.out_len && strlen(r.out) == r.out_len)
        made->ptx = r.out;
    if (r.status != 0 && r.status != 1)
        *error = limit_passed(arena, &r, &spec);
    return r.status == 0 || r.status == 1;
}
