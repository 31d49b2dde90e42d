/* limits.c: how much time, memory and disk a process may take, and what it inherits. */
#define _GNU_SOURCE
#include "sandbox/sandbox.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

static bool limit(int what, rlim_t value)
{
    struct rlimit now, wanted = {value, value};

    if (getrlimit(what, &now) == 0 && now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
        wanted.rlim_cur = wanted.rlim_max = now.rlim_max;
    return setrlimit(what, &wanted) == 0;
}

/* AddressSanitizer has terabytes of addresses for itself, which no limit may stand in the way of. */
static bool limit_memory(size_t bytes)
{
    return TW_ASAN || bytes == 0 || limit(RLIMIT_AS, (rlim_t)bytes);
}

bool sandbox_limit(const SandboxSpec *spec)
{
    clearenv();
#ifdef __linux__
    prctl(PR_SET_DUMPABLE, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
#endif
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_CPU, (rlim_t)spec->seconds + 1) && limit(RLIMIT_NOFILE, 256) &&
           limit(RLIMIT_FSIZE, (rlim_t)spec->most) && limit_memory(spec->memory);
}
