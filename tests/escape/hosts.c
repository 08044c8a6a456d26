#include "hosts.h"

#include "can-mount.h"

#include "base/base.h"

#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY                  65534
#define LANDLOCK_CREATE_RULESET 444

const char *const host_names[HOSTS] = { "whole", "no mounts", "old Landlock",
    "no Landlock" };

static void take_away(unsigned nr, unsigned error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { ARRAY_LEN(code), code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(3);
}

static void become_user(void)
{
    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
            setresuid(NOBODY, NOBODY, NOBODY))
        _exit(3);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as after execve() */
}

static void become_host(enum host host)
{
    if (host == HOST_NO_MOUNTS || host == HOST_OLD_LANDLOCK)
        take_away(SYS_unshare, EPERM);
    else if (host == HOST_NO_LANDLOCK)
        take_away(LANDLOCK_CREATE_RULESET, ENOSYS);
}

int host_run(enum host host, bool as_user, int (*tests)(enum host host))
{
    bool needs_mounts = host == HOST_WHOLE || host == HOST_NO_LANDLOCK;
    if (needs_mounts && !can_mount(as_user ? NOBODY : geteuid()))
        return 0;
    pid_t pid = fork();
    if (!pid) {
        if (as_user)
            become_user();
        become_host(host);
        _exit(tests(host));
    }
    int status;
    return waitpid(pid, &status, 0) != pid || status != 0;
}
