/* seccomp.c: calls of the kernel that no compiler makes (seccomp(2)).
 *
 * A list of what is refused, not of what is allowed: a C library makes other calls each
 * year, and what the list is for is the network, other processes, and doors that have
 * been broken before. clone3 hides its flags in memory; without it libraries take clone.
 */
#define _GNU_SOURCE
#include "sandbox/sandbox.h"

#include <errno.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* What is new has one number everywhere. */
enum { IO_URING_SETUP = 425, IO_URING_ENTER = 426, IO_URING_REGISTER = 427, OPEN_TREE = 428, MOVE_MOUNT = 429, FSOPEN = 430,
       FSCONFIG = 431, FSMOUNT = 432, FSPICK = 433, PIDFD_OPEN = 434, CLONE3 = 435, PIDFD_GETFD = 438, MOUNT_SETATTR = 442,
       PIDFD_SEND_SIGNAL = 424 };

static const int always[] = {
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmsg,
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns,
    SYS_unshare, SYS_bpf, SYS_perf_event_open, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_userfaultfd, SYS_open_by_handle_at,
    SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct,
    SYS_quotactl, SYS_syslog, SYS_setsid, SYS_setpgid, SYS_memfd_create, SYS_personality, SYS_msgget, SYS_semget, SYS_shmget,
    SYS_mq_open, SYS_tkill, IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER, OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT,
    FSPICK, PIDFD_OPEN, PIDFD_GETFD, MOUNT_SETATTR, PIDFD_SEND_SIGNAL,
};

/* Where no program is to be started either. */
static const int alone[] = {
    SYS_execve, SYS_execveat, SYS_kill,
#ifdef __x86_64__
    SYS_fork, SYS_vfork,
#endif
};

enum { MOST = 2 * (sizeof always + sizeof alone) / sizeof(int) + 24 };

typedef struct Filter {
    struct sock_filter code[MOST];
    int n;
} Filter;

static void add(Filter *f, struct sock_filter instruction)
{
    f->code[f->n++] = instruction;
}

static void load(Filter *f, size_t offset)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void give(Filter *f, unsigned verdict)
{
    add(f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* The next instruction where the number is this one, else the one behind it. */
static void on(Filter *f, unsigned number)
{
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
}

static void refuse(Filter *f, const int *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        on(f, (unsigned)calls[i]);
        give(f, SECCOMP_RET_ERRNO | EPERM);
    }
}

/* Threads may be made, processes may not. */
static void refuse_processes(Filter *f)
{
    refuse(f, alone, TW_COUNT(alone));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
    load(f, offsetof(struct seccomp_data, args[0]));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
    give(f, SECCOMP_RET_ERRNO | EPERM);
}

/* New namespaces come with clone as well. */
static void refuse_namespaces(Filter *f)
{
    const unsigned new = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;

    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
    load(f, offsetof(struct seccomp_data, args[0]));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, new, 0, 1));
    give(f, SECCOMP_RET_ERRNO | EPERM);
}

static void begin(Filter *f)
{
    load(f, offsetof(struct seccomp_data, arch));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    give(f, SECCOMP_RET_KILL);
    load(f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* x32 */
    give(f, SECCOMP_RET_KILL);
#endif
}

bool sandbox_filter_calls(bool programs)
{
    Filter f = {.n = 0};
    struct sock_fprog program = {.filter = f.code};

    begin(&f);
    refuse(&f, always, TW_COUNT(always));
    on(&f, CLONE3);
    give(&f, SECCOMP_RET_ERRNO | ENOSYS);
    if (programs)
        refuse_namespaces(&f);
    else
        refuse_processes(&f);
    give(&f, SECCOMP_RET_ALLOW);
    program.len = (unsigned short)f.n;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
#else
bool sandbox_filter_calls(bool programs)
{
    (void)programs;
    errno = ENOSYS;
    return false;
}
#endif
