/*
 * The filter is a list of what a worker needs; what is not on it does not exist (ENOSYS),
 * so that a libc that tries something newer falls back to what it did before.  Calls that
 * are known and refused answer EPERM.
 */
#include "confine/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

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

static const struct filter_rule conditional[] = {
    { .nr = __NR_ioctl, .conditions = { { TEST_IN, 1, 0, ioctls } } },
    { .nr = __NR_fcntl, .conditions = { { TEST_IN, 1, 0, fcntls } } },
    { .nr = __NR_prctl, .conditions = { { TEST_IN, 0, 0, prctls } } },
    /* Through a descriptor only, see confine.h: without a path it is futimens. */
    { .nr = __NR_utimensat, .conditions = { { TEST_ZERO, 1, 0, NULL } } },
    { .nr = __NR_fchmod, .conditions = { { TEST_CLEAR, 1, 06000, NULL } } },
    /* Memory without the shared kind, which no limit counts. */
    { .nr = __NR_mmap,
            .conditions = { { TEST_NOT_BOTH, 3, MAP_SHARED | MAP_ANONYMOUS, NULL } } },
    /* Threads, but no processes.  clone3 has its flags in memory; libc does without. */
    { .nr = __NR_clone,
            .conditions = { { TEST_SET, 0, THREAD_FLAGS, NULL },
                    { TEST_CLEAR, 0, NOT_THREAD, NULL } } },
    { .nr = __NR_clone3, .refused = ENOSYS },
    /* Signals to itself. */
    { .nr = __NR_kill, .conditions = { { TEST_SELF, 0, 0, NULL } } },
    { .nr = __NR_tgkill, .conditions = { { TEST_SELF, 0, 0, NULL } } },
    /* Its own limits, to be read. */
    { .nr = __NR_prlimit64,
            .conditions = { { TEST_ZERO, 0, 0, NULL }, { TEST_ZERO, 2, 0, NULL } } },
    /* The socket that it was given: send() names no other address. */
    { .nr = __NR_sendto, .conditions = { { TEST_ZERO, 4, 0, NULL } } },
};

/* Landlock does not know metadata: without a writable root, nobody may change it. */
static const unsigned metadata[] = {
#ifdef __x86_64__
    __NR_chmod, __NR_utime, __NR_utimes, __NR_futimesat,
#endif
    __NR_fchmod, __NR_fchmodat, __NR_fchown, __NR_fremovexattr, __NR_fsetxattr,
    __NR_utimensat
};

enum {
    MAX_RULES = ARRAY_LEN(allowed) + ARRAY_LEN(refused) + ARRAY_LEN(conditional) +
                SECCOMP_MORE_RULES,
};

static void refuse_metadata(struct filter_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < ARRAY_LEN(metadata); j++)
            if (rules[i].nr == metadata[j])
                rules[i] = (struct filter_rule){ .nr = metadata[j], .refused = EPERM };
}

/* sendmsg on a socket that is connected: there is no other. */
static void allow_sendmsg(struct filter_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].nr == __NR_sendmsg)
            rules[i].refused = 0;
}

size_t seccomp_say(struct filter_rule *rules, size_t count,
        const struct filter_rule *more, size_t more_count)
{
    for (size_t i = 0; i < more_count; i++) {
        size_t at = 0;
        while (at < count && rules[at].nr != more[i].nr)
            at++;
        rules[at] = more[i];
        count += at == count;
    }
    return count;
}

static size_t collect_rules(
        struct filter_rule *rules, const struct seccomp_profile *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
        rules[count++] = (struct filter_rule){ .nr = allowed[i] };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        rules[count++] = (struct filter_rule){ .nr = refused[i], .refused = EPERM };
    for (size_t i = 0; i < ARRAY_LEN(conditional); i++)
        rules[count++] = conditional[i];
    if (profile->passes_descriptors)
        allow_sendmsg(rules, count);
    if (profile->interpreter)
        count = seccomp_say_python(rules, count, profile);
    else if (profile->network)
        count = seccomp_say_client(rules, count);
    if (!profile->may_write)
        refuse_metadata(rules, count);
    return count;
}

int seccomp_restrict(const struct seccomp_profile *profile)
{
    struct filter_rule rules[MAX_RULES];
    const struct filter filter = {
        .rules = rules, .count = collect_rules(rules, profile), .refused = ENOSYS
    };
    return filter_install(&filter);
}
