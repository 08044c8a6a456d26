#include "confine/probe.h"

#include "confine/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool fail_with(int error)
{
    errno = error;
    return false;
}

static bool is_refused(int fd, int error)
{
    if (fd < 0 && errno == error)
        return true;
    close_fd(&fd);
    return fail_with(EPROTO);
}

static bool no_new_privileges(void)
{
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static bool try_landlock(void)
{
    int error = 0, abi = landlock_abi(&error);
    if (abi && no_new_privileges())
        error = landlock_restrict(&(struct confine_request){ .root_count = 0 }, abi);
    if (error)
        return fail_with(error);
    return is_refused(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), EACCES);
}

static bool try_seccomp(void)
{
    const struct seccomp_profile worker = { .may_write = true };
    int error = no_new_privileges() ? seccomp_restrict(&worker) : errno;
    if (error)
        return fail_with(error);
    return is_refused(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), EPERM);
}

static bool write_file(const char *path, const char *text)
{
    auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool try_user_namespace(void)
{
    return !unshare(CLONE_NEWUSER);
}

static bool try_user_mapping(void)
{
    char map[64];
    snprintf(map, sizeof(map), "%u %u 1\n", geteuid(), geteuid());
    return try_user_namespace() && write_file("/proc/self/uid_map", map);
}

/* Root needs no user namespace for the others. */
static bool gain_power(void)
{
    return !geteuid() || try_user_mapping();
}

static bool try_mount_namespace(void)
{
    return gain_power() && !unshare(CLONE_NEWNS) &&
           !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static bool try_mount(void)
{
    return try_mount_namespace() &&
           !mount("none", "/", "tmpfs", MS_NOSUID | MS_NODEV, "size=4k");
}

static bool try_net_namespace(void)
{
    return gain_power() && !unshare(CLONE_NEWNET);
}

static bool try_pid_namespace(void)
{
    return gain_power() && !unshare(CLONE_NEWPID);
}

static const struct probe probes[] = {
    { "landlock", "Landlock is enforced", try_landlock },
    { "seccomp", "a seccomp filter is enforced", try_seccomp },
    { "userns", "user namespaces can be made", try_user_namespace },
    { "userns-map", "and a user can be mapped in them", try_user_mapping },
    { "mountns", "mount namespaces can be made", try_mount_namespace },
    { "mount", "and something can be mounted in them", try_mount },
    { "netns", "network namespaces can be made", try_net_namespace },
    { "pidns", "process namespaces can be made", try_pid_namespace },
};

const struct probe *probe_at(size_t i)
{
    return i < ARRAY_LEN(probes) ? &probes[i] : NULL;
}

int probe_run(const struct probe *probe)
{
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (!pid)
        _exit(probe->run() ? 0 : errno);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPROTO;
}
