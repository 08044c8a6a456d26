#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Anything but a plain refusal is the kernel looking at the arguments. */
static bool is_open(long result)
{
    return result >= 0 || (errno != EPERM && errno != ENOSYS);
}

/* Of no such kind: the kernel must not even look for it. */
static bool try_mount(const struct prey *p)
{
    return is_open(mount("none", p->outside, "paddock", 0, NULL));
}

static bool try_unmount(const struct prey *p UNUSED)
{
    return is_open(umount2(".git", MNT_DETACH)) || is_open(umount2("secret", MNT_DETACH));
}

static bool new_mounts(const struct prey *p UNUSED)
{
    static const int calls[] = { 428, 429, 430, 431, 432, 433, 442, 467 };
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (is_open(syscall(calls[i], -1, "", 0, 0, 0, 0)))
            return true;
    return false;
}

static bool change_root(const struct prey *p UNUSED)
{
    return is_open(chroot(".")) || is_open(syscall(SYS_pivot_root, ".", "."));
}

static bool try_unshare(const struct prey *p UNUSED)
{
    static const int flags[] = { CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWUSER | CLONE_NEWNS,
        CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80 };
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (is_open(unshare(flags[i])))
            return true;
    return false;
}

static bool is_child(long pid)
{
    if (!pid)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return pid > 0;
}

static bool clone_namespace(const struct prey *p UNUSED)
{
    return is_child(
                   syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL)) ||
           is_child(syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL));
}

static bool clone_3(const struct prey *p UNUSED)
{
    struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
    return is_child(syscall(SYS_clone3, &args, sizeof(args)));
}

static bool join_namespace(const struct prey *p UNUSED)
{
    auto_fd int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    return is_open(setns(fd, 0));
}

static bool refused_calls(const struct prey *p UNUSED)
{
    static const int calls[] = { SYS_keyctl, SYS_add_key, SYS_request_key, SYS_bpf,
        SYS_userfaultfd, SYS_perf_event_open, SYS_io_uring_setup, SYS_io_uring_enter,
        SYS_io_uring_register, SYS_open_by_handle_at, SYS_init_module, SYS_finit_module,
        SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_swapon, SYS_swapoff,
        SYS_acct, SYS_quotactl, SYS_fanotify_init, SYS_syslog, SYS_settimeofday,
        SYS_clock_settime, SYS_sethostname, SYS_setdomainname, SYS_reboot, SYS_vhangup };
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (is_open(syscall(
                    calls[i], -1, -1, -1, -1, -1, -1))) /* makes no sense to any */
            return true;
    return false;
}

static bool newer_calls(const struct prey *p UNUSED)
{
    return syscall(470, 0) >= 0 || errno != ENOSYS || syscall(437, 0) >= 0 ||
           errno != ENOSYS;
}

static bool push_input(const struct prey *p UNUSED)
{
    char letter = 'x';
    return is_open(ioctl(STDIN_FILENO, TIOCSTI, &letter)) ||
           is_open(ioctl(STDOUT_FILENO, TIOCLINUX, &letter)) ||
           /* The kernel looks at the lower half only. */
           is_open(syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI | 1L << 32, &letter));
}

static bool open_terminal(const struct prey *p UNUSED)
{
    return can_open("/dev/pts/0", O_RDWR) || can_open("/dev/console", O_WRONLY) ||
           can_open("/dev/tty0", O_WRONLY);
}

static bool open_devices(const struct prey *p UNUSED)
{
    return can_open("/dev/mem", O_RDWR) || can_open("/dev/kmsg", O_WRONLY) ||
           can_open("/dev/fuse", O_RDWR) || can_open("/dev/loop-control", O_RDWR);
}

const struct attempt kernel_attempts[] = {
    { "always", "mount", try_mount },
    { "always", "unmount", try_unmount },
    { "always", "mount with the newer calls", new_mounts },
    { "always", "change the root", change_root },
    { "always", "unshare a namespace", try_unshare },
    { "always", "clone into a namespace", clone_namespace },
    { "always", "the same with clone3", clone_3 },
    { "always", "join a namespace", join_namespace },
    { "always", "calls that no command needs", refused_calls },
    { "always", "calls that are not known", newer_calls },
    { "always", "push input into a terminal", push_input },
    { "writes", "open another terminal", open_terminal },
    { "writes", "open devices", open_devices },
    { NULL, NULL, NULL },
};
