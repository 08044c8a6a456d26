#include "escape.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* A call that is refused whatever its arguments are. */
#define CALL(function, ...)                             \
    static int function(const struct cage *cage UNUSED) \
    {                                                   \
        return outcome(syscall(__VA_ARGS__));           \
    }

CALL(do_mount, SYS_mount, "none", "/", "tmpfs", 0, NULL)
CALL(do_umount, SYS_umount2, "/proc", MNT_DETACH)
CALL(do_pivot_root, SYS_pivot_root, ".", ".")
CALL(do_chroot, SYS_chroot, "/")
CALL(do_unshare_user, SYS_unshare, CLONE_NEWUSER)
CALL(do_unshare_mount, SYS_unshare, CLONE_NEWNS)
CALL(do_setns, SYS_setns, 0, 0)
CALL(do_open_tree, SYS_open_tree, -100, "/", 1)
CALL(do_move_mount, SYS_move_mount, -1, "", -1, "", 0)
CALL(do_fsopen, SYS_fsopen, "tmpfs", 0)
CALL(do_fsmount, SYS_fsmount, -1, 0, 0)
CALL(do_mount_setattr, SYS_mount_setattr, -100, "/", 0, NULL, 0)
CALL(do_bpf, SYS_bpf, 0, NULL, 0)
CALL(do_userfaultfd, SYS_userfaultfd, 0)
CALL(do_perf, SYS_perf_event_open, NULL, 0, -1, -1, 0)
CALL(do_keyctl, SYS_keyctl, 0, -3, 0)
CALL(do_add_key, SYS_add_key, "user", "x", "y", 1, -3)
CALL(do_request_key, SYS_request_key, "user", "x", NULL, -3)
CALL(do_io_uring, SYS_io_uring_setup, 1, NULL)
CALL(do_io_uring_enter, SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0)
CALL(do_init_module, SYS_init_module, NULL, 0, "")
CALL(do_finit_module, SYS_finit_module, 0, "", 0)
CALL(do_kexec, SYS_kexec_load, 0, 0, NULL, 0)
CALL(do_reboot, SYS_reboot, 0, 0, 0, NULL)
CALL(do_syslog, SYS_syslog, 3, NULL, 0)
CALL(do_swapon, SYS_swapon, "/", 0)
CALL(do_acct, SYS_acct, "/")
CALL(do_quotactl, SYS_quotactl, 0, "/", 0, NULL)
CALL(do_fanotify, SYS_fanotify_init, 0, 0)
CALL(do_inotify, SYS_inotify_init1, 0)
CALL(do_settime, SYS_clock_settime, 0, NULL)
CALL(do_hostname, SYS_sethostname, "x", 1)
CALL(do_personality, SYS_personality, READ_IMPLIES_EXEC)
CALL(do_seccomp, SYS_seccomp, 1, 0, NULL)
CALL(do_landlock, SYS_landlock_create_ruleset, NULL, 0, 1)
CALL(do_vmsplice, SYS_vmsplice, 0, NULL, 0, 0)
CALL(do_shmget, SYS_shmget, 0, 4096, 01600)
CALL(do_semget, SYS_semget, 0, 1, 01600)
CALL(do_msgget, SYS_msgget, 0, 01600)
CALL(do_mq_open, SYS_mq_open, "x", 0x42, 0600, NULL)
CALL(do_vhangup, SYS_vhangup)
CALL(do_unknown, SYS_landlock_create_ruleset + 10000L)

static int do_capset(const struct cage *cage UNUSED)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { { ~0u, ~0u, 0 }, { ~0u, ~0u, 0 } };
    return outcome(syscall(SYS_capset, &header, data));
}

static int push_input(const struct cage *cage UNUSED)
{
    return outcome(ioctl(0, TIOCSTI, "x"));
}

static int push_input_wide(const struct cage *cage UNUSED)
{
    return outcome(syscall(SYS_ioctl, 0, (unsigned long)TIOCSTI | 1ul << 32, "x"));
}

static int paste_selection(const struct cage *cage UNUSED)
{
    return outcome(ioctl(0, TIOCLINUX, "\3"));
}

static int take_terminal(const struct cage *cage UNUSED)
{
    return outcome(ioctl(0, TIOCSCTTY, 1));
}

static int own_by_ioctl(const struct cage *cage)
{
    pid_t parent = cage->parent;
    return outcome(ioctl(cage->socket, 0x8901 /* FIOSETOWN */, &parent));
}

const struct attempt kernel_attempts[] = {
    { "mount", RULE_CALL, do_mount, false },
    { "umount", RULE_CALL, do_umount, false },
    { "pivot_root", RULE_CALL, do_pivot_root, false },
    { "chroot", RULE_CALL, do_chroot, false },
    { "unshare a user namespace", RULE_CALL, do_unshare_user, false },
    { "unshare a mount namespace", RULE_CALL, do_unshare_mount, false },
    { "setns", RULE_CALL, do_setns, false },
    { "open_tree", RULE_CALL, do_open_tree, false },
    { "move_mount", RULE_CALL, do_move_mount, false },
    { "fsopen", RULE_CALL, do_fsopen, false },
    { "fsmount", RULE_CALL, do_fsmount, false },
    { "mount_setattr", RULE_CALL, do_mount_setattr, false },
    { "bpf", RULE_CALL, do_bpf, false },
    { "userfaultfd", RULE_CALL, do_userfaultfd, false },
    { "perf_event_open", RULE_CALL, do_perf, false },
    { "keyctl", RULE_CALL, do_keyctl, false },
    { "add_key", RULE_CALL, do_add_key, false },
    { "request_key", RULE_CALL, do_request_key, false },
    { "io_uring_setup", RULE_CALL, do_io_uring, false },
    { "io_uring_enter", RULE_CALL, do_io_uring_enter, false },
    { "init_module", RULE_CALL, do_init_module, false },
    { "finit_module", RULE_CALL, do_finit_module, false },
    { "kexec_load", RULE_CALL, do_kexec, false },
    { "reboot", RULE_CALL, do_reboot, false },
    { "read the kernel log", RULE_CALL, do_syslog, false },
    { "swapon", RULE_CALL, do_swapon, false },
    { "acct", RULE_CALL, do_acct, false },
    { "quotactl", RULE_CALL, do_quotactl, false },
    { "fanotify_init", RULE_CALL, do_fanotify, false },
    { "inotify_init1", RULE_ABSENT, do_inotify, false },
    { "set the clock", RULE_CALL, do_settime, false },
    { "set the host name", RULE_CALL, do_hostname, false },
    { "personality", RULE_CALL, do_personality, false },
    { "another seccomp filter", RULE_CALL, do_seccomp, false },
    { "another Landlock ruleset", RULE_CALL, do_landlock, false },
    { "vmsplice", RULE_CALL, do_vmsplice, false },
    { "System V shared memory", RULE_CALL, do_shmget, false },
    { "System V semaphores", RULE_CALL, do_semget, false },
    { "System V messages", RULE_CALL, do_msgget, false },
    { "POSIX messages", RULE_CALL, do_mq_open, false },
    { "vhangup", RULE_CALL, do_vhangup, false },
    { "a call that nobody knows", RULE_ABSENT, do_unknown, false },
    { "capset", RULE_CALL, do_capset, false },
    { "push input to the terminal", RULE_ARGUMENT, push_input, false },
    { "the same with high bits", RULE_ARGUMENT, push_input_wide, false },
    { "paste into the console", RULE_ARGUMENT, paste_selection, false },
    { "take a terminal", RULE_ARGUMENT, take_terminal, false },
    { "signal by FIOSETOWN", RULE_ARGUMENT, own_by_ioctl, false },
    { 0 },
};

/* --- network ------------------------------------------------------------------------ */

static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG,
    AF_VSOCK, AF_XDP, AF_BLUETOOTH, AF_KEY, AF_CAN };

/* Every family and type; one that opens is an escape. */
static int any_socket(const struct cage *cage UNUSED)
{
    static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };
    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        for (size_t k = 0; k < ARRAY_LEN(types); k++)
            if (outcome_fd(socket(families[i], types[k], 0)) != EPERM)
                return 0;
    return EPERM;
}

static int pair_of(int type)
{
    int ends[2];
    return outcome(socketpair(AF_UNIX, type, 0, ends));
}

static int stream_pair(const struct cage *cage UNUSED)
{
    return pair_of(SOCK_STREAM);
}

static int datagram_pair(const struct cage *cage UNUSED)
{
    return pair_of(SOCK_DGRAM);
}

static const struct sockaddr_un somewhere = { AF_UNIX, "/run/systemd/notify" };
#define SOMEWHERE (const struct sockaddr *)&somewhere, sizeof(somewhere)

static int send_to_address(const struct cage *cage)
{
    return outcome(sendto(cage->socket, "x", 1, MSG_NOSIGNAL, SOMEWHERE));
}

static int connect_again(const struct cage *cage)
{
    return outcome(connect(cage->socket, SOMEWHERE));
}

static int bind_socket(const struct cage *cage)
{
    return outcome(bind(cage->socket, SOMEWHERE));
}

static int pass_descriptor(const struct cage *cage)
{
    struct msghdr message = { 0 };
    return outcome(sendmsg(cage->socket, &message, MSG_NOSIGNAL));
}

static int receive_descriptor(const struct cage *cage)
{
    struct msghdr message = { 0 };
    return outcome(recvmsg(cage->socket, &message, MSG_DONTWAIT));
}

const struct attempt network_attempts[] = {
    { "a socket of any family", RULE_CALL, any_socket, false },
    { "a pair of streams", RULE_CALL, stream_pair, false },
    { "a pair of datagram sockets", RULE_CALL, datagram_pair, false },
    { "send to an address", RULE_ARGUMENT, send_to_address, false },
    { "connect the own socket", RULE_CALL, connect_again, false },
    { "bind the own socket", RULE_CALL, bind_socket, false },
    { "pass a descriptor", RULE_CALL, pass_descriptor, false },
    { "receive a descriptor", RULE_CALL, receive_descriptor, false },
    { 0 },
};

/* --- other ways into the kernel ------------------------------------------------------
 */

#ifdef __x86_64__
static int old_entry(const struct cage *cage UNUSED)
{
    long result = 20; /* getpid of i386 */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return 0;
}

static int x32_entry(const struct cage *cage UNUSED)
{
    return outcome(syscall(0x40000000L | SYS_getpid));
}
#endif

const struct attempt entry_attempts[] = {
#ifdef __x86_64__
    { "the entry of i386", RULE_ENTRY, old_entry, false },
    { "a call of x32", RULE_ENTRY, x32_entry, false },
#endif
    { 0 },
};
