/* namespaces.c: a root folder that holds what may be read, and no network.
 *
 *   /tmp (a file system in memory, seen by nobody else)
 *     usr/local/cuda-13.0   bound, read-only
 *     home/me/cutlass       bound, read-only
 *   becomes /                                        (namespaces(7), pivot_root(2))
 */
#define _GNU_SOURCE
#include "sandbox/sandbox.h"

#include <errno.h>

#ifdef __linux__
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char BASE[] = "/tmp";
enum { LONGEST = 2 * PATH_MAX };

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return done;
}

/* Nobody's rights outside, who he was inside. */
static bool map_user(uid_t user, gid_t group)
{
    char line[64];

    snprintf(line, sizeof line, "%u %u 1", (unsigned)user, (unsigned)user);
    if (!write_text("/proc/self/uid_map", line) || (!write_text("/proc/self/setgroups", "deny") && errno != ENOENT))
        return false;
    snprintf(line, sizeof line, "%u %u 1", (unsigned)group, (unsigned)group);
    return write_text("/proc/self/gid_map", line);
}

bool sandbox_enter_namespaces(void)
{
    uid_t user = getuid();
    gid_t group = getgid();

    return unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS) == 0 &&
           map_user(user, group);
}

/* ---- the new root --------------------------------------------------------------------------- */

/* Makes what is above a path, and the path itself as a folder. */
static bool make_folders(char *path, bool last)
{
    for (char *p = path + sizeof BASE; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return false;
        *p = '/';
    }
    return !last || mkdir(path, 0755) == 0 || errno == EEXIST;
}

/* Flags of the original may be added to, not taken away. */
static unsigned long locked_flags(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 && fs.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
}

static bool bind(int fd, const char *to)
{
    unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
    char from[64];

    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    if (mount(from, to, NULL, MS_BIND, NULL) != 0 && mount(from, to, NULL, MS_BIND | MS_REC, NULL) != 0)
        return false;
    return mount(NULL, to, NULL, flags | locked_flags(to), NULL) == 0;
}

static bool make_link(const char *path, const char *at)
{
    char to[PATH_MAX];
    ssize_t n = readlink(path, to, sizeof to - 1);

    if (n < 0)
        return false;
    to[n] = '\0';
    return symlink(to, at) == 0 || errno == EEXIST;
}

/* Devices stay what they are: there is but /dev/null. */
static bool bind_device(int fd, const char *to)
{
    char from[64];

    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    return mount(from, to, NULL, MS_BIND, NULL) == 0;
}

/* fd: opened before the new root hid it; -1: it is not there. */
static bool show(const char *path, int fd)
{
    char at[LONGEST];
    struct stat st;
    int file;

    if (fd < 0)
        return true;
    snprintf(at, sizeof at, "%s%s", BASE, path);
    if (fstat(fd, &st) != 0 || !make_folders(at, S_ISDIR(st.st_mode)))
        return false;
    if (S_ISDIR(st.st_mode))
        return bind(fd, at);
    file = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        return false;
    close(file);
    return S_ISCHR(st.st_mode) ? bind_device(fd, at) : bind(fd, at);
}

static bool show_all(const SandboxSpec *spec, const int *fds)
{
    char at[LONGEST];
    struct stat st;

    for (int i = 0; spec->read[i]; i++) {
        snprintf(at, sizeof at, "%s%s", BASE, spec->read[i]);
        if (fds[i] >= 0 && fstat(fds[i], &st) == 0 && S_ISLNK(st.st_mode)) {
            if (!make_folders(at, false) || !make_link(spec->read[i], at))
                return false;
        } else if (!show(spec->read[i], fds[i])) {
            return false;
        }
    }
    return true;
}

static bool enter(void)
{
    return chdir(BASE) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

static bool make_scratch(const char *scratch)
{
    char at[LONGEST];

    snprintf(at, sizeof at, "%s%s", BASE, scratch);
    return make_folders(at, true);
}

enum { MOST_READ = 64 };

/* Symbolic links at the top (/lib on many systems) are opened as such. */
static void open_all(const SandboxSpec *spec, int *fds)
{
    for (int i = 0; spec->read[i] && i < MOST_READ; i++)
        fds[i] = open(spec->read[i], O_PATH | O_CLOEXEC | O_NOFOLLOW);
}

/* Links are made when what they lead to is read through the new root, so they are read before. */
static bool fill_root(const SandboxSpec *spec, const int *fds)
{
    return mount("sandbox", BASE, "tmpfs", MS_NOSUID | MS_NODEV, "size=1g,mode=755") == 0 && show_all(spec, fds);
}

bool sandbox_new_root(const SandboxSpec *spec, const char *scratch)
{
    int fds[MOST_READ];

    open_all(spec, fds);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || !fill_root(spec, fds))
        return false;
    for (int i = 0; spec->read[i]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (scratch && !make_scratch(scratch))
        return false;
    return enter() && (scratch || mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0);
}
#else
bool sandbox_enter_namespaces(void)
{
    errno = ENOSYS;
    return false;
}

bool sandbox_new_root(const SandboxSpec *spec, const char *scratch)
{
    (void)spec, (void)scratch;
    errno = ENOSYS;
    return false;
}
#endif
