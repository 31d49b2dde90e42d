/* landlock.c: which files may be read, where no namespace can be made (landlock(7)). */
#define _GNU_SOURCE
#include "sandbox/sandbox.h"

#include <errno.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/landlock.h>)
#define HAS_LANDLOCK 1
#endif
#endif

#ifdef HAS_LANDLOCK
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By their numbers, which are the same everywhere: older headers name fewer of them. */
enum {
    FS_EXECUTE = 1 << 0, FS_WRITE_FILE = 1 << 1, FS_READ_FILE = 1 << 2, FS_READ_DIR = 1 << 3,
    FS_FIRST_VERSION = (1 << 13) - 1, /* all that the first one knows */
    FS_REFER = 1 << 13, FS_TRUNCATE = 1 << 14, FS_IOCTL = 1 << 15
};

static uint64_t known_rights(long version)
{
    return FS_FIRST_VERSION | (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0) |
           (version >= 5 ? FS_IOCTL : 0);
}

static bool allow(int rules, const char *path, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = rights};
    struct stat st;
    bool done;

    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return errno == ENOENT;
    if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed_access &= FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE;
    done = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    close(rule.parent_fd);
    return done;
}

static bool allow_all(int rules, const SandboxSpec *spec, const char *scratch, uint64_t known)
{
    uint64_t read = FS_READ_FILE | FS_READ_DIR | (spec->programs ? FS_EXECUTE : 0);

    for (int i = 0; spec->read[i]; i++)
        if (!allow(rules, spec->read[i], strcmp(spec->read[i], "/dev/null") == 0 ? read | FS_WRITE_FILE : read))
            return false;
    return !scratch || allow(rules, scratch, known & ~(uint64_t)FS_EXECUTE);
}

bool sandbox_landlock(const SandboxSpec *spec, const char *scratch)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr all = {.handled_access_fs = version > 0 ? known_rights(version) : 0};
    int rules = version > 0 ? (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all.handled_access_fs, 0) : -1;
    bool done;

    if (rules < 0)
        return false;
    done = allow_all(rules, spec, scratch, all.handled_access_fs) && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return done;
}
#else
bool sandbox_landlock(const SandboxSpec *spec, const char *scratch)
{
    (void)spec, (void)scratch;
    errno = ENOSYS;
    return false;
}
#endif
