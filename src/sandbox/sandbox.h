/* sandbox.h: work in a process that can do nothing but compute.
 *
 * For programs that read what somebody hostile may have written: a compiler has bugs.
 * The process has limits on time, memory and what it writes, no environment, no open
 * files but its two pipes, and of the machine only what it was given to read:
 *
 *                     namespaces                       landlock
 *   files             a root of its own, read-only     rules of the kernel (Linux 5.13)
 *   network           a namespace without one          no sockets (seccomp)
 *   other processes   a namespace without any          no signals, no ptrace (seccomp)
 *   the kernel        seccomp refuses what no compiler calls, in both
 *
 * Namespaces are tried first; containers often forbid them to make any.
 *
 * Vocabulary
 *   seal     from then on the process has no more than that
 *   scratch  a folder in which it may write, if it starts programs: they need one
 */
#ifndef TW_SANDBOX_H
#define TW_SANDBOX_H

#include "base/base.h"

typedef enum SandboxKind { SANDBOX_NAMESPACES, SANDBOX_LANDLOCK, SANDBOX_KINDS, SANDBOX_LIMITS_ALONE } SandboxKind;

const char *sandbox_kind_name(SandboxKind kind);

typedef struct SandboxWork {
    void *user;
    int out, log;        /* pipes: what it makes, what it says */
    const char *scratch; /* NULL: there is none */
} SandboxWork;

typedef struct SandboxSpec {
    const char *const *read; /* files and folders, ended by NULL; one that is not there is left out */
    bool programs;           /* it may start programs that it may read; then it has a scratch */
    double seconds;
    size_t memory;           /* bytes of address space */
    size_t most;             /* bytes of what it makes and says */
    /* Before the seal: libraries are loaded here. NULL: nothing. */
    bool (*prepare)(SandboxWork *work);
    int (*run)(SandboxWork *work); /* behind it; the exit status */
    void *user;
} SandboxSpec;

typedef struct SandboxResult {
    int status;          /* of the exit; -1: it did not come to one */
    bool late, large;    /* ended at its limit of time, of what it makes */
    bool stopped;        /* by Ctrl-C, of which the process has another use than to end (base/stop.h) */
    const char *out, *log;
    size_t out_len, log_len;
    double seconds;
} SandboxResult;

/* Whether there can be one of this kind, found by trying. */
bool sandbox_can(Arena *arena, SandboxKind kind, const char **why);
/* The first kind that there can be; SANDBOX_KINDS: none, and *why. */
SandboxKind sandbox_best(Arena *arena, const char **why);
/* SANDBOX_LIMITS_ALONE: only limits and an empty environment. False: *error. */
bool sandbox_run(Arena *arena, SandboxKind kind, const SandboxSpec *spec, SandboxResult *result, const char **error);

/* ---- the parts: in the child, false with errno --------------------------------------------- */

bool sandbox_limit(const SandboxSpec *spec);
/* namespaces.c: before, and the seal. */
bool sandbox_enter_namespaces(void);
bool sandbox_new_root(const SandboxSpec *spec, const char *scratch);
/* landlock.c */
bool sandbox_landlock(const SandboxSpec *spec, const char *scratch);
/* seccomp.c */
bool sandbox_filter_calls(bool programs);

#endif
