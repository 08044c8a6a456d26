/*
 * The filter is a list of what a worker needs; what is not on it does not exist (ENOSYS),
 * so that a libc that tries something newer falls back to what it did before.  Calls that
 * are known and refused answer EPERM.  A call through another architecture's entry kills.
 *
 * It is written as BPF here and not by libseccomp, because a worker's start is time that
 * somebody waits for: the library takes two to three times as long as this file for the
 * same rules.
 */
#include "confine/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#error "confine/seccomp.c knows the calls of x86-64 and aarch64 only"
#endif

#define MAX_PROGRAM 1024
#define X32_BIT     0x40000000u

enum test {
    TEST_NONE,
    TEST_ZERO,     /* the argument is 0, all 64 bits of it */
    TEST_CLEAR,    /* none of these bits */
    TEST_SET,      /* all of these bits */
    TEST_NOT_BOTH, /* not all of these bits */
    TEST_SELF,     /* our own process id */
    TEST_IN,       /* in the list that ends with 0 */
};

struct condition {
    enum test test;
    unsigned arg;
    uint32_t value;
    const uint32_t *list;
};

struct rule {
    unsigned nr;
    unsigned refused; /* errno, or 0: allowed if the conditions hold */
    struct condition conditions[2];
};

static const uint32_t ioctls[] = { TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX,
    FIONCLEX, FICLONE, 0 };

/* Not F_SETOWN and F_SETSIG (a signal to anybody) and not the leases.  F_DUPFD is 0. */
static const uint32_t fcntls[] = { F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL,
    F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GETPIPE_SZ,
    F_SETPIPE_SZ, 0 };

static const uint32_t prctls[] = { PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE,
    PR_GET_NO_NEW_PRIVS, PR_GET_SECCOMP, PR_GET_PDEATHSIG, PR_CAPBSET_READ, 0 };

/* What makes a thread: all of these, and beyond them only what pthread_create adds. */
#define THREAD_FLAGS (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)
#define NOT_THREAD                                                                      \
    (~(uint32_t)(THREAD_FLAGS | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SETTLS | \
                 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID |      \
                 CLONE_DETACHED))

/* Needs no look at the arguments.  In any order; sorted when the filter is made. */
static const unsigned allowed[] = {
#ifdef __x86_64__
    /* Older names of what follows, which libraries still use. */
    __NR_open, __NR_stat, __NR_lstat, __NR_access, __NR_readlink, __NR_dup2, __NR_pipe,
    __NR_poll, __NR_select, __NR_epoll_wait, __NR_getpgrp, __NR_time, __NR_pause,
    __NR_getrlimit,
#endif

    /* Files: Landlock decides which; whoever has a descriptor may use it. */
    __NR_openat, __NR_openat2, __NR_close, __NR_close_range, __NR_read, __NR_write,
    __NR_readv, __NR_writev, __NR_pread64, __NR_pwrite64, __NR_preadv, __NR_pwritev,
    __NR_preadv2, __NR_pwritev2, __NR_lseek, __NR_fstat, __NR_newfstatat, __NR_statx,
    __NR_fstatfs, __NR_faccessat, __NR_faccessat2, __NR_readlinkat, __NR_getdents64,
    __NR_mkdirat, __NR_unlinkat, __NR_renameat, __NR_renameat2, __NR_linkat,
    __NR_symlinkat, __NR_ftruncate, __NR_fallocate, __NR_fsync, __NR_fdatasync,
    __NR_fadvise64, __NR_readahead, __NR_sync_file_range, __NR_copy_file_range,
    __NR_sendfile, __NR_splice, __NR_tee, __NR_flock, __NR_umask, __NR_getcwd,
    __NR_fchdir, __NR_dup, __NR_dup3, __NR_pipe2,
    /* Metadata through a descriptor only, see confine.h. */
    __NR_fchown, __NR_fgetxattr, __NR_flistxattr, __NR_fsetxattr, __NR_fremovexattr,
    /* Memory. */
    __NR_mprotect, __NR_munmap, __NR_mremap, __NR_madvise, __NR_msync, __NR_mincore,
    __NR_brk, __NR_membarrier,
    /* Threads. */
    __NR_futex, __NR_set_robust_list, __NR_set_tid_address, __NR_rseq, __NR_sched_yield,
    __NR_sched_getaffinity, __NR_getcpu, __NR_exit, __NR_exit_group,
    /* Signals, to itself. */
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_rt_sigpending,
    __NR_rt_sigsuspend, __NR_rt_sigtimedwait, __NR_sigaltstack, __NR_restart_syscall,
    /* Time and waiting. */
    __NR_clock_gettime, __NR_clock_getres, __NR_clock_nanosleep, __NR_nanosleep,
    __NR_gettimeofday, __NR_times, __NR_setitimer, __NR_getitimer, __NR_timer_create,
    __NR_timer_settime, __NR_timer_gettime, __NR_timer_getoverrun, __NR_timer_delete,
    __NR_ppoll, __NR_pselect6, __NR_epoll_create1, __NR_epoll_ctl, __NR_epoll_pwait,
    __NR_eventfd2,
    /* Questions about itself. */
    __NR_getpid, __NR_gettid, __NR_getppid, __NR_getuid, __NR_geteuid, __NR_getgid,
    __NR_getegid, __NR_getresuid, __NR_getresgid, __NR_getgroups, __NR_getpgid,
    __NR_getsid, __NR_uname, __NR_sysinfo, __NR_getrusage, __NR_getrandom,
    /* The socket that it was given. */
    __NR_shutdown
};

static const unsigned refused[] = {
#ifdef __x86_64__
    /* Older names. */
    __NR_fork, __NR_vfork, __NR_chmod, __NR_chown, __NR_lchown, __NR_utime, __NR_utimes,
    __NR_futimesat, __NR_mknod, __NR_iopl, __NR_ioperm, __NR_modify_ldt, __NR_uselib,
    __NR_arch_prctl,
#endif

    /* Programs. */
    __NR_execve, __NR_execveat, __NR_memfd_create, __NR_memfd_secret,
    /* Other processes. */
    __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_process_madvise,
    __NR_process_mrelease, __NR_kcmp, __NR_pidfd_open, __NR_pidfd_getfd,
    __NR_pidfd_send_signal, __NR_tkill, __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo,
    __NR_setrlimit, __NR_setpriority, __NR_sched_setaffinity, __NR_sched_setscheduler,
    __NR_sched_setattr, __NR_sched_setparam, __NR_ioprio_set, __NR_migrate_pages,
    __NR_move_pages, __NR_setpgid, __NR_setsid, __NR_get_robust_list,
    /* Sockets and System V and POSIX queues. */
    __NR_socket, __NR_socketpair, __NR_connect, __NR_bind, __NR_listen, __NR_accept,
    __NR_accept4, __NR_sendmsg, __NR_sendmmsg, __NR_recvmsg, __NR_recvmmsg,
    __NR_setsockopt, __NR_shmget, __NR_shmat, __NR_semget, __NR_msgget, __NR_mq_open,
    __NR_mq_unlink,
    /* Mounts, roots and namespaces. */
    __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_unshare, __NR_setns,
    __NR_open_tree, __NR_move_mount, __NR_fsopen, __NR_fsconfig, __NR_fsmount,
    __NR_fspick, __NR_mount_setattr,
    /* Files by other roads, and metadata by path. */
    __NR_name_to_handle_at, __NR_open_by_handle_at, __NR_truncate, __NR_mknodat,
    __NR_fchmodat, __NR_fchownat, __NR_setxattr, __NR_lsetxattr, __NR_removexattr,
    __NR_lremovexattr, __NR_getxattr, __NR_lgetxattr, __NR_listxattr, __NR_llistxattr,
    __NR_quotactl, __NR_quotactl_fd, __NR_swapon, __NR_swapoff, __NR_acct,
    __NR_fanotify_init, __NR_fanotify_mark, __NR_vmsplice,
    /* Identity and the kernel itself. */
    __NR_setuid, __NR_setgid, __NR_setreuid, __NR_setregid, __NR_setresuid,
    __NR_setresgid, __NR_setfsuid, __NR_setfsgid, __NR_setgroups, __NR_capset,
    __NR_personality, __NR_seccomp, __NR_landlock_create_ruleset, __NR_landlock_add_rule,
    __NR_landlock_restrict_self, __NR_keyctl, __NR_add_key, __NR_request_key, __NR_bpf,
    __NR_userfaultfd, __NR_perf_event_open, __NR_io_uring_setup, __NR_io_uring_enter,
    __NR_io_uring_register, __NR_init_module, __NR_finit_module, __NR_delete_module,
    __NR_kexec_load, __NR_reboot, __NR_syslog, __NR_settimeofday, __NR_clock_settime,
    __NR_clock_adjtime, __NR_adjtimex, __NR_sethostname, __NR_setdomainname, __NR_vhangup,
    __NR_lookup_dcookie
};

static const struct rule conditional[] = {
    { __NR_ioctl, 0, { { TEST_IN, 1, 0, ioctls } } },
    { __NR_fcntl, 0, { { TEST_IN, 1, 0, fcntls } } },
    { __NR_prctl, 0, { { TEST_IN, 0, 0, prctls } } },
    /* Through a descriptor only, see confine.h: without a path it is futimens. */
    { __NR_utimensat, 0, { { TEST_ZERO, 1, 0, NULL } } },
    { __NR_fchmod, 0, { { TEST_CLEAR, 1, 06000, NULL } } },
    /* Memory without the shared kind, which no limit counts. */
    { __NR_mmap, 0, { { TEST_NOT_BOTH, 3, MAP_SHARED | MAP_ANONYMOUS, NULL } } },
    /* Threads, but no processes.  clone3 has its flags in memory; libc does without. */
    { __NR_clone, 0,
            { { TEST_SET, 0, THREAD_FLAGS, NULL },
                    { TEST_CLEAR, 0, NOT_THREAD, NULL } } },
    { __NR_clone3, ENOSYS, { { TEST_NONE, 0, 0, NULL } } },
    /* Signals to itself. */
    { __NR_kill, 0, { { TEST_SELF, 0, 0, NULL } } },
    { __NR_tgkill, 0, { { TEST_SELF, 0, 0, NULL } } },
    /* Its own limits, to be read. */
    { __NR_prlimit64, 0, { { TEST_ZERO, 0, 0, NULL }, { TEST_ZERO, 2, 0, NULL } } },
    /* The socket that it was given: send() names no other address. */
    { __NR_sendto, 0, { { TEST_ZERO, 4, 0, NULL } } },
};

/* Landlock does not know metadata: without a writable root, nobody may change it. */
static const unsigned metadata[] = { __NR_fchmod, __NR_fchown, __NR_fremovexattr,
    __NR_fsetxattr, __NR_utimensat };

struct program {
    struct sock_filter code[MAX_PROGRAM];
    size_t len;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    assert(p->len < MAX_PROGRAM);
    p->code[p->len++] = (struct sock_filter){ code, yes, no, k };
}

static void emit_load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void emit_return(struct program *p, uint32_t value)
{
    emit(p, BPF_RET | BPF_K, value, 0, 0);
}

static size_t arg_offset(unsigned arg)
{
    return offsetof(struct seccomp_data, args) + 8 * arg; /* little-endian: low half */
}

/* Go on with the next instruction when A passes the test, else refuse. */
static void emit_jump(struct program *p, uint16_t jump, uint32_t k, bool wanted)
{
    emit(p, BPF_JMP | BPF_K | jump, k, wanted ? 1 : 0, wanted ? 0 : 1);
    emit_return(p, SECCOMP_RET_ERRNO | EPERM);
}

static void emit_in_list(struct program *p, const uint32_t *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    for (size_t i = 0; i < count; i++) /* a hit jumps over the rest and the refusal */
        emit(p, BPF_JMP | BPF_K | BPF_JEQ, list[i], (uint8_t)(count - i), 0);
    emit_return(p, SECCOMP_RET_ERRNO | EPERM);
}

static void emit_condition(struct program *p, const struct condition *c)
{
    if (c->test == TEST_NONE)
        return;
    emit_load(p, arg_offset(c->arg));
    switch (c->test) {
    case TEST_ZERO:
        emit_jump(p, BPF_JEQ, 0, true);
        emit_load(p, arg_offset(c->arg) + 4);
        emit_jump(p, BPF_JEQ, 0, true);
        break;
    case TEST_CLEAR:
        emit_jump(p, BPF_JSET, c->value, false);
        break;
    case TEST_SET:
    case TEST_NOT_BOTH:
        emit(p, BPF_ALU | BPF_AND | BPF_K, c->value, 0, 0);
        emit_jump(p, BPF_JEQ, c->value, c->test == TEST_SET);
        break;
    case TEST_SELF:
        emit_jump(p, BPF_JEQ, (uint32_t)getpid(), true);
        break;
    case TEST_IN:
        emit_in_list(p, c->list);
        break;
    case TEST_NONE:
        break;
    }
}

/* What follows for one call: its conditions, then its verdict. */
static void emit_verdict(struct program *p, const struct rule *rule)
{
    for (size_t i = 0; i < ARRAY_LEN(rule->conditions); i++)
        emit_condition(p, &rule->conditions[i]);
    emit_return(p, rule->refused ? SECCOMP_RET_ERRNO | rule->refused : SECCOMP_RET_ALLOW);
}

/* "Below `end`?  Then this": falls through to the next range otherwise. */
static void emit_range(struct program *p, unsigned end, const struct rule *rule)
{
    size_t jump = p->len;
    emit(p, BPF_JMP | BPF_K | BPF_JGE, end, 0, 0);
    emit_verdict(p, rule);
    assert(p->len - jump - 1 <= UINT8_MAX);
    p->code[jump].jt = (uint8_t)(p->len - jump - 1);
}

static bool is_same_verdict(const struct rule *a, const struct rule *b)
{
    return a->conditions[0].test == TEST_NONE && b->conditions[0].test == TEST_NONE &&
           a->refused == b->refused;
}

static int compare_rules(const void *a, const void *b)
{
    const struct rule *x = a, *y = b;
    return x->nr < y->nr ? -1 : x->nr > y->nr;
}

enum {
    MAX_RULES = ARRAY_LEN(allowed) + ARRAY_LEN(refused) + ARRAY_LEN(conditional),
};

static void refuse_metadata(struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < ARRAY_LEN(metadata); j++)
            if (rules[i].nr == metadata[j])
                rules[i] = (struct rule){ .nr = metadata[j], .refused = EPERM };
}

static size_t collect_rules(struct rule *rules, bool may_write)
{
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
        rules[count++] = (struct rule){ .nr = allowed[i] };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        rules[count++] = (struct rule){ .nr = refused[i], .refused = EPERM };
    for (size_t i = 0; i < ARRAY_LEN(conditional); i++)
        rules[count++] = conditional[i];
    if (!may_write)
        refuse_metadata(rules, count);
    qsort(rules, count, sizeof(*rules), compare_rules);
    return count;
}

/*
 * All numbers in order, cut into ranges of the same verdict; gaps are ranges too.  The
 * accumulator holds the number until a range is entered, and a range never comes back.
 */
static void emit_ranges(struct program *p, bool may_write)
{
    static const struct rule unknown = { .refused = ENOSYS };
    struct rule rules[MAX_RULES];
    size_t count = collect_rules(rules, may_write);
    unsigned next = 0; /* the first number that no range covers yet */
    for (size_t i = 0; i < count; i++) {
        const struct rule *rule = &rules[i];
        assert(rule->nr >= next); /* no call is listed twice */
        if (rule->nr > next)
            emit_range(p, rule->nr, &unknown);
        next = rule->nr + 1;
        while (i + 1 < count && rules[i + 1].nr == next &&
                is_same_verdict(rule, &rules[i + 1])) {
            next++;
            i++;
        }
        emit_range(p, next, rule);
    }
    emit_verdict(p, &unknown);
}

static void build(struct program *p, bool may_write)
{
    emit_load(p, offsetof(struct seccomp_data, arch));
    emit(p, BPF_JMP | BPF_K | BPF_JEQ, THIS_ARCH, 1, 0);
    emit_return(p, SECCOMP_RET_KILL_PROCESS);
    emit_load(p, offsetof(struct seccomp_data, nr));
    emit(p, BPF_JMP | BPF_K | BPF_JGE, X32_BIT, 0, 1);
    emit_return(p, SECCOMP_RET_KILL_PROCESS);
    emit_ranges(p, may_write);
}

int seccomp_restrict(bool may_write)
{
    struct program p = { .len = 0 };
    build(&p, may_write);
    struct sock_fprog fprog = { .len = (unsigned short)p.len, .filter = p.code };
    /* No TSYNC: there is one thread yet, and a thread made later inherits the filter. */
    if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog))
        return 0;
    return errno;
}
