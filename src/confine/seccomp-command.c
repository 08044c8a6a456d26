/*
 * The filter of a command is a list of what no command needs: any program may come, so
 * what is not on it is allowed.  It holds what neither mounts nor Landlock do: sockets,
 * set-id bits, the keyboard of a terminal, and the parts of the kernel that take most of
 * the blame.  Calls newer than this list do not exist (ENOSYS).
 */
#include "confine/filter.h"
#include "confine/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* The same on every architecture; headers may be older. */
enum {
    NR_CLONE3 = 435,
    NR_OPENAT2 = 437,
    NR_FCHMODAT2 = 452,
    NR_OPEN_TREE_ATTR = 467,
    NR_END = 470, /* file_setattr is the last one known here */
};

#define NEW_NAMESPACES                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
            CLONE_NEWPID | CLONE_NEWNET)
#define NEW_TIME_NAMESPACE 0x80u /* of unshare(); of clone() it is part of a signal */
#define SET_ID             06000
#define CREATES            (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

static const unsigned refused[] = {
#ifdef __x86_64__
    __NR_uselib, __NR_iopl, __NR_ioperm,
#endif
    /* Mounts, roots and namespaces. */
    __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_setns, __NR_open_tree,
    __NR_move_mount, __NR_fsopen, __NR_fsconfig, __NR_fsmount, __NR_fspick,
    __NR_mount_setattr, NR_OPEN_TREE_ATTR,
    /* Files by other roads. */
    __NR_open_by_handle_at, __NR_io_uring_setup, __NR_io_uring_enter,
    __NR_io_uring_register, __NR_fanotify_init, __NR_quotactl, __NR_quotactl_fd,
    __NR_swapon, __NR_swapoff, __NR_acct,
    /* The kernel itself. */
    __NR_keyctl, __NR_add_key, __NR_request_key, __NR_bpf, __NR_userfaultfd,
    __NR_perf_event_open, __NR_init_module, __NR_finit_module, __NR_delete_module,
    __NR_kexec_load, __NR_kexec_file_load, __NR_reboot, __NR_syslog, __NR_settimeofday,
    __NR_clock_settime, __NR_sethostname, __NR_setdomainname, __NR_vhangup,
    __NR_lookup_dcookie
};

/* Looking into other processes: for Landlock to decide, but if there is none... */
static const unsigned tracing[] = { __NR_ptrace, __NR_process_vm_readv,
    __NR_process_vm_writev, __NR_pidfd_getfd, __NR_kcmp };

static const uint32_t terminal_input[] = { TIOCSTI, TIOCLINUX, 0 };

static const struct filter_rule conditional[] = {
    { .nr = __NR_ioctl, .conditions = { { TEST_NOT_IN, 1, 0, terminal_input } } },
    /* Its flags are in memory; libc does without. */
    { .nr = NR_CLONE3, .refused = ENOSYS },
    { .nr = __NR_clone, .conditions = { { TEST_CLEAR, 0, NEW_NAMESPACES, NULL } } },
    { .nr = __NR_unshare,
            .conditions = { { TEST_CLEAR, 0, NEW_NAMESPACES | NEW_TIME_NAMESPACE,
                    NULL } } },
    /* Limits are for itself, those of others can be read. */
    { .nr = __NR_prlimit64,
            .conditions = { { TEST_UNLESS, 0, UINT32_MAX, NULL },
                    { TEST_ZERO, 2, 0, NULL } } },
    /* No file becomes one that runs with its owner's rights. */
    { .nr = NR_OPENAT2, .refused = ENOSYS },
    { .nr = __NR_openat,
            .conditions = { { TEST_UNLESS, 2, CREATES, NULL },
                    { TEST_CLEAR, 3, SET_ID, NULL } } },
    { .nr = __NR_fchmod, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    { .nr = __NR_fchmodat, .conditions = { { TEST_CLEAR, 2, SET_ID, NULL } } },
    { .nr = NR_FCHMODAT2, .conditions = { { TEST_CLEAR, 2, SET_ID, NULL } } },
    { .nr = __NR_mknodat, .conditions = { { TEST_CLEAR, 2, SET_ID, NULL } } },
#ifdef __x86_64__
    { .nr = __NR_open,
            .conditions = { { TEST_UNLESS, 1, CREATES, NULL },
                    { TEST_CLEAR, 2, SET_ID, NULL } } },
    { .nr = __NR_creat, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    { .nr = __NR_chmod, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    { .nr = __NR_mknod, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
#endif
};

static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, 0 };
static const uint32_t connected[] = { SOCK_STREAM, SOCK_SEQPACKET, 0 };
#define SOCKET_TYPE 0xf /* beside it are flags */

static const struct filter_rule with_network[] = {
    { .nr = __NR_socket,
            .conditions = { { TEST_IN, 0, 0, families } },
            .otherwise = EAFNOSUPPORT },
};

/* Two ends of a pair are connected, but a datagram goes to whom its message names. */
static const struct filter_rule without_network[] = {
    { .nr = __NR_socket, .refused = EPERM },
    { .nr = __NR_socketpair, .conditions = { { TEST_IN, 1, SOCKET_TYPE, connected } } },
};

enum {
    MAX_RULES = ARRAY_LEN(refused) + ARRAY_LEN(tracing) + ARRAY_LEN(conditional) +
                ARRAY_LEN(without_network),
};

static size_t refuse(struct filter_rule *rules, const unsigned *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rules[i] = (struct filter_rule){ .nr = calls[i], .refused = EPERM };
    return count;
}

static size_t add(struct filter_rule *rules, const struct filter_rule *more, size_t count)
{
    memcpy(rules, more, count * sizeof(*rules));
    return count;
}

int seccomp_restrict_command(bool network, bool may_trace)
{
    struct filter_rule rules[MAX_RULES];
    size_t count = refuse(rules, refused, ARRAY_LEN(refused));
    if (!may_trace)
        count += refuse(rules + count, tracing, ARRAY_LEN(tracing));
    count += add(rules + count, conditional, ARRAY_LEN(conditional));
    if (network)
        count += add(rules + count, with_network, ARRAY_LEN(with_network));
    else
        count += add(rules + count, without_network, ARRAY_LEN(without_network));
    const struct filter filter = { .rules = rules, .count = count, .end = NR_END };
    return filter_install(&filter);
}
