/* file.c: reading sources, writing results whole, the clock. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { READ_LIMIT = 64 << 20, READ_CHUNK = 64 << 10 };

static bool is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

static const char *failure(Arena *arena, const char *verb, const char *path)
{
    return arena_printf(arena, "cannot %s %s: %s", verb, path, strerror(errno));
}

/* Reads all of fd; false with errno set on failure, EFBIG past the limit. */
static bool read_all(int fd, Str *text)
{
    char chunk[READ_CHUNK];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        if (text->len + (size_t)n > READ_LIMIT)
            return errno = EFBIG, false;
        str_addn(text, chunk, (size_t)n);
    }
}

Source *source_read(Arena *arena, const char *path, const char **error)
{
    const char *name = is_standard(path) ? "<stdin>" : path;
    Str text = str_new(arena);
    Source *source;
    int fd = is_standard(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    bool done;

    *error = NULL;
    if (fd < 0) {
        *error = failure(arena, "open", name);
        return NULL;
    }
    done = read_all(fd, &text);
    if (!done)
        *error = failure(arena, "read", name);
    if (fd != STDIN_FILENO)
        close(fd);
    if (!done)
        return NULL;
    source = arena_new_of(arena, Source);
    source->path = arena_strdup(arena, name);
    source->text = str_text(&text);
    source->len = text.len;
    return source;
}

bool file_put(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* A link, a device or a pipe is written through, never replaced. */
static bool replaceable(const char *path)
{
    struct stat st;

    return lstat(path, &st) != 0 || S_ISREG(st.st_mode);
}

static const char *write_through(Arena *arena, const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool done;

    if (fd < 0)
        return failure(arena, "open", path);
    done = file_put(fd, text, len);
    if (close(fd) != 0 || !done)
        return failure(arena, "write", path);
    return NULL;
}

/* Opens a new file beside path; *name gets its name. */
static int open_beside(Arena *arena, const char *path, const char **name)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        int fd;

        *name = arena_printf(arena, "%s.%ld.%d.tmp", path, (long)getpid(), attempt);
        fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* What replaces a file may be read by those who might read it before. */
static bool keep_mode(int fd, const char *path)
{
    struct stat st;

    return stat(path, &st) != 0 || fchmod(fd, st.st_mode & 07777) == 0;
}

const char *file_write(Arena *arena, const char *path, const char *text, size_t len)
{
    const char *name, *error = NULL;
    int fd;
    bool done;

    if (is_standard(path))
        return file_put(STDOUT_FILENO, text, len) ? NULL
                                                   : failure(arena, "write", "standard output");
    if (!replaceable(path))
        return write_through(arena, path, text, len);
    fd = open_beside(arena, path, &name);
    if (fd < 0)
        return failure(arena, "create", path);
    done = keep_mode(fd, path) && file_put(fd, text, len);
    if (close(fd) != 0 || !done || rename(name, path) != 0) {
        error = failure(arena, "write", path);
        unlink(name);
    }
    return error;
}

const char *folder_make(Arena *arena, const char *folder, unsigned mode)
{
    char *path = arena_strdup(arena, folder);

    for (char *at = path + (*path == '/');; at++) {
        char c = *at;

        if (c && c != '/')
            continue;
        *at = '\0';
        if (*path && mkdir(path, mode) != 0 && errno != EEXIST)
            return failure(arena, "create", path);
        *at = c;
        if (!c)
            return NULL;
    }
}

double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
