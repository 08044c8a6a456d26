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
#define THREAD_EXTRA                                                               \
    (CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | \
            CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | CLONE_DETACHED)

#define ALLOW(name)       \
    {                     \
        .nr = __NR_##name \
    }
#define REFUSE(name)                        \
    {                                       \
        .nr = __NR_##name, .refused = EPERM \
    }
#define ABSENT(name)                         \
    {                                        \
        .nr = __NR_##name, .refused = ENOSYS \
    }
#define WHEN(name, ...)                                  \
    {                                                    \
        .nr = __NR_##name, .conditions = { __VA_ARGS__ } \
    }
#define ZERO(n)               \
    {                         \
        TEST_ZERO, n, 0, NULL \
    }
#define CLEAR(n, bits)            \
    {                             \
        TEST_CLEAR, n, bits, NULL \
    }
#define SET(n, bits)            \
    {                           \
        TEST_SET, n, bits, NULL \
    }
#define NOT_BOTH(n, bits)            \
    {                                \
        TEST_NOT_BOTH, n, bits, NULL \
    }
#define SELF(n)               \
    {                         \
        TEST_SELF, n, 0, NULL \
    }
#define IN(n, list)         \
    {                       \
        TEST_IN, n, 0, list \
    }

/* In any order; sorted when the filter is made. */
static const struct rule rules[] = {
    /* Files: Landlock decides which; whoever has a descriptor may use it. */
    ALLOW(openat),
    ALLOW(openat2),
    ALLOW(close),
    ALLOW(close_range),
    ALLOW(read),
    ALLOW(write),
    ALLOW(readv),
    ALLOW(writev),
    ALLOW(pread64),
    ALLOW(pwrite64),
    ALLOW(preadv),
    ALLOW(pwritev),
    ALLOW(preadv2),
    ALLOW(pwritev2),
    ALLOW(lseek),
    ALLOW(fstat),
    ALLOW(newfstatat),
    ALLOW(statx),
    ALLOW(fstatfs),
    ALLOW(faccessat),
    ALLOW(faccessat2),
    ALLOW(readlinkat),
    ALLOW(getdents64),
    ALLOW(mkdirat),
    ALLOW(unlinkat),
    ALLOW(renameat),
    ALLOW(renameat2),
    ALLOW(linkat),
    ALLOW(symlinkat),
    ALLOW(ftruncate),
    ALLOW(fallocate),
    ALLOW(fsync),
    ALLOW(fdatasync),
    ALLOW(fadvise64),
    ALLOW(readahead),
    ALLOW(sync_file_range),
    ALLOW(copy_file_range),
    ALLOW(sendfile),
    ALLOW(splice),
    ALLOW(tee),
    ALLOW(flock),
    ALLOW(umask),
    ALLOW(getcwd),
    ALLOW(fchdir),
    ALLOW(dup),
    ALLOW(dup3),
    ALLOW(pipe2),
    WHEN(fcntl, IN(1, fcntls)),
    WHEN(ioctl, IN(1, ioctls)),
    /* Metadata through a descriptor only, see confine.h. */
    WHEN(fchmod, CLEAR(1, 06000)),
    ALLOW(fchown),
    WHEN(utimensat, ZERO(1)),
    ALLOW(fgetxattr),
    ALLOW(flistxattr),
    ALLOW(fsetxattr),
    ALLOW(fremovexattr),
    /* Memory, without the shared kind that no limit counts. */
    WHEN(mmap, NOT_BOTH(3, MAP_SHARED | MAP_ANONYMOUS)),
    ALLOW(mprotect),
    ALLOW(munmap),
    ALLOW(mremap),
    ALLOW(madvise),
    ALLOW(msync),
    ALLOW(mincore),
    ALLOW(brk),
    ALLOW(membarrier),
    /* Threads, but no processes. */
    WHEN(clone, SET(0, THREAD_FLAGS), CLEAR(0, ~(uint32_t)(THREAD_FLAGS | THREAD_EXTRA))),
    ABSENT(clone3),
    ALLOW(futex),
    ALLOW(set_robust_list),
    ALLOW(set_tid_address),
    ALLOW(rseq),
    ALLOW(sched_yield),
    ALLOW(sched_getaffinity),
    ALLOW(getcpu),
    ALLOW(exit),
    ALLOW(exit_group),
    /* Signals, to itself. */
    ALLOW(rt_sigaction),
    ALLOW(rt_sigprocmask),
    ALLOW(rt_sigreturn),
    ALLOW(rt_sigpending),
    ALLOW(rt_sigsuspend),
    ALLOW(rt_sigtimedwait),
    ALLOW(sigaltstack),
    ALLOW(restart_syscall),
    WHEN(kill, SELF(0)),
    WHEN(tgkill, SELF(0)),
    /* Time and waiting. */
    ALLOW(clock_gettime),
    ALLOW(clock_getres),
    ALLOW(clock_nanosleep),
    ALLOW(nanosleep),
    ALLOW(gettimeofday),
    ALLOW(times),
    ALLOW(setitimer),
    ALLOW(getitimer),
    ALLOW(timer_create),
    ALLOW(timer_settime),
    ALLOW(timer_gettime),
    ALLOW(timer_getoverrun),
    ALLOW(timer_delete),
    ALLOW(ppoll),
    ALLOW(pselect6),
    ALLOW(epoll_create1),
    ALLOW(epoll_ctl),
    ALLOW(epoll_pwait),
    ALLOW(eventfd2),
    /* Questions about itself. */
    ALLOW(getpid),
    ALLOW(gettid),
    ALLOW(getppid),
    ALLOW(getuid),
    ALLOW(geteuid),
    ALLOW(getgid),
    ALLOW(getegid),
    ALLOW(getresuid),
    ALLOW(getresgid),
    ALLOW(getgroups),
    ALLOW(getpgid),
    ALLOW(getsid),
    ALLOW(uname),
    ALLOW(sysinfo),
    ALLOW(getrusage),
    ALLOW(getrandom),
    WHEN(prlimit64, ZERO(0), ZERO(2)),
    WHEN(prctl, IN(0, prctls)),
    /* The socket that it was given: send() names no other address. */
    WHEN(sendto, ZERO(4)),
    ALLOW(shutdown),
#ifdef __x86_64__
    /* Older names of the above that libraries still use. */
    ALLOW(open),
    ALLOW(stat),
    ALLOW(lstat),
    ALLOW(access),
    ALLOW(readlink),
    ALLOW(dup2),
    ALLOW(pipe),
    ALLOW(poll),
    ALLOW(select),
    ALLOW(epoll_wait),
    ALLOW(getpgrp),
    ALLOW(time),
    ALLOW(pause),
    ALLOW(getrlimit),
    REFUSE(fork),
    REFUSE(vfork),
    REFUSE(chmod),
    REFUSE(chown),
    REFUSE(lchown),
    REFUSE(utime),
    REFUSE(utimes),
    REFUSE(futimesat),
    REFUSE(mknod),
    REFUSE(iopl),
    REFUSE(ioperm),
    REFUSE(modify_ldt),
    REFUSE(uselib),
    REFUSE(arch_prctl),
#endif
    /* Programs. */
    REFUSE(execve),
    REFUSE(execveat),
    REFUSE(memfd_create),
    REFUSE(memfd_secret),
    /* Other processes. */
    REFUSE(ptrace),
    REFUSE(process_vm_readv),
    REFUSE(process_vm_writev),
    REFUSE(process_madvise),
    REFUSE(process_mrelease),
    REFUSE(kcmp),
    REFUSE(pidfd_open),
    REFUSE(pidfd_getfd),
    REFUSE(pidfd_send_signal),
    REFUSE(tkill),
    REFUSE(rt_sigqueueinfo),
    REFUSE(rt_tgsigqueueinfo),
    REFUSE(setrlimit),
    REFUSE(setpriority),
    REFUSE(sched_setaffinity),
    REFUSE(sched_setscheduler),
    REFUSE(sched_setattr),
    REFUSE(sched_setparam),
    REFUSE(ioprio_set),
    REFUSE(migrate_pages),
    REFUSE(move_pages),
    REFUSE(setpgid),
    REFUSE(setsid),
    REFUSE(get_robust_list),
    /* Sockets and System V and POSIX queues. */
    REFUSE(socket),
    REFUSE(socketpair),
    REFUSE(connect),
    REFUSE(bind),
    REFUSE(listen),
    REFUSE(accept),
    REFUSE(accept4),
    REFUSE(sendmsg),
    REFUSE(sendmmsg),
    REFUSE(recvmsg),
    REFUSE(recvmmsg),
    REFUSE(setsockopt),
    REFUSE(shmget),
    REFUSE(shmat),
    REFUSE(semget),
    REFUSE(msgget),
    REFUSE(mq_open),
    REFUSE(mq_unlink),
    /* Mounts, roots and namespaces. */
    REFUSE(mount),
    REFUSE(umount2),
    REFUSE(pivot_root),
    REFUSE(chroot),
    REFUSE(unshare),
    REFUSE(setns),
    REFUSE(open_tree),
    REFUSE(move_mount),
    REFUSE(fsopen),
    REFUSE(fsconfig),
    REFUSE(fsmount),
    REFUSE(fspick),
    REFUSE(mount_setattr),
    /* Files by other roads, and metadata by path. */
    REFUSE(name_to_handle_at),
    REFUSE(open_by_handle_at),
    REFUSE(truncate),
    REFUSE(mknodat),
    REFUSE(fchmodat),
    REFUSE(fchownat),
    REFUSE(setxattr),
    REFUSE(lsetxattr),
    REFUSE(removexattr),
    REFUSE(lremovexattr),
    REFUSE(getxattr),
    REFUSE(lgetxattr),
    REFUSE(listxattr),
    REFUSE(llistxattr),
    REFUSE(quotactl),
    REFUSE(quotactl_fd),
    REFUSE(swapon),
    REFUSE(swapoff),
    REFUSE(acct),
    REFUSE(fanotify_init),
    REFUSE(fanotify_mark),
    REFUSE(vmsplice),
    /* Identity and the kernel itself. */
    REFUSE(setuid),
    REFUSE(setgid),
    REFUSE(setreuid),
    REFUSE(setregid),
    REFUSE(setresuid),
    REFUSE(setresgid),
    REFUSE(setfsuid),
    REFUSE(setfsgid),
    REFUSE(setgroups),
    REFUSE(capset),
    REFUSE(personality),
    REFUSE(seccomp),
    REFUSE(landlock_create_ruleset),
    REFUSE(landlock_add_rule),
    REFUSE(landlock_restrict_self),
    REFUSE(keyctl),
    REFUSE(add_key),
    REFUSE(request_key),
    REFUSE(bpf),
    REFUSE(userfaultfd),
    REFUSE(perf_event_open),
    REFUSE(io_uring_setup),
    REFUSE(io_uring_enter),
    REFUSE(io_uring_register),
    REFUSE(init_module),
    REFUSE(finit_module),
    REFUSE(delete_module),
    REFUSE(kexec_load),
    REFUSE(reboot),
    REFUSE(syslog),
    REFUSE(settimeofday),
    REFUSE(clock_settime),
    REFUSE(clock_adjtime),
    REFUSE(adjtimex),
    REFUSE(sethostname),
    REFUSE(setdomainname),
    REFUSE(vhangup),
    REFUSE(lookup_dcookie),
};

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
    const struct rule *const *x = a, *const *y = b;
    return (*x)->nr < (*y)->nr ? -1 : (*x)->nr > (*y)->nr;
}

/*
 * All numbers in order, cut into ranges of the same verdict; gaps are ranges too.  The
 * accumulator holds the number until a range is entered, and a range never comes back.
 */
static void emit_ranges(struct program *p)
{
    static const struct rule unknown = { .refused = ENOSYS };
    const struct rule *sorted[ARRAY_LEN(rules)];
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        sorted[i] = &rules[i];
    qsort(sorted, ARRAY_LEN(sorted), sizeof(*sorted), compare_rules);

    unsigned next = 0; /* the first number that no range covers yet */
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++) {
        const struct rule *rule = sorted[i];
        assert(rule->nr >= next); /* no call is listed twice */
        if (rule->nr > next)
            emit_range(p, rule->nr, &unknown);
        next = rule->nr + 1;
        while (i + 1 < ARRAY_LEN(sorted) && sorted[i + 1]->nr == next &&
                is_same_verdict(rule, sorted[i + 1])) {
            next++;
            i++;
        }
        emit_range(p, next, rule);
    }
    emit_verdict(p, &unknown);
}

static void build(struct program *p)
{
    emit_load(p, offsetof(struct seccomp_data, arch));
    emit(p, BPF_JMP | BPF_K | BPF_JEQ, THIS_ARCH, 1, 0);
    emit_return(p, SECCOMP_RET_KILL_PROCESS);
    emit_load(p, offsetof(struct seccomp_data, nr));
    emit(p, BPF_JMP | BPF_K | BPF_JGE, X32_BIT, 0, 1);
    emit_return(p, SECCOMP_RET_KILL_PROCESS);
    emit_ranges(p);
}

int seccomp_restrict(void)
{
    struct program p = { .len = 0 };
    build(&p);
    struct sock_fprog fprog = { .len = (unsigned short)p.len, .filter = p.code };
    /* No TSYNC: there is one thread yet, and a thread made later inherits the filter. */
    if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog))
        return 0;
    return errno;
}
