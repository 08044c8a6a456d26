#include "confine/view.h"

#include "confine/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool stop(struct view_status *status, const char *step, int error)
{
    status->failed = step;
    status->error = error;
    return false;
}

static bool write_file(const char *path, const char *text)
{
    auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* We stay who we are; the kernel wants to hear that no group can be dropped. */
static bool map_user(const struct view_plan *plan)
{
    char uid[64], gid[64];
    snprintf(uid, sizeof(uid), "%u %u 1\n", plan->uid, plan->uid);
    snprintf(gid, sizeof(gid), "%u %u 1\n", plan->gid, plan->gid);
    return write_file("/proc/self/uid_map", uid) &&
           write_file("/proc/self/setgroups", "deny") &&
           write_file("/proc/self/gid_map", gid);
}

static bool make_private(const struct view_plan *plan, struct view_status *status)
{
    if (plan->clone_flags & CLONE_NEWUSER && !map_user(plan))
        return stop(status, "user namespace", errno);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return stop(status, "mount namespace", errno);
    return true;
}

/* Read-only: the owner of much in /proc/sys is root, with or without capabilities. */
static bool mount_proc(void)
{
    return !mount(
            "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL);
}

void view_build(const struct view_request *request, const struct view_plan *plan,
        struct view_status *status)
{
    *status = (struct view_status){ .error = 0 };
    if (!make_private(plan, status))
        return;
    status->has_user = plan->clone_flags & CLONE_NEWUSER;
    status->has_network = plan->clone_flags & CLONE_NEWNET;
    status->has_pids = plan->clone_flags & CLONE_NEWPID;
    pieces_mount(request, status);
    if (status->has_pids && !status->is_partial)
        status->has_proc = mount_proc();
}

static bool may_administrate(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };
    return !syscall(SYS_capget, &header, data) &&
           data[0].effective & (1u << CAP_SYS_ADMIN);
}

void view_plan(const struct view_request *request, struct view_plan *out)
{
    *out = (struct view_plan){ .clone_flags = CLONE_NEWNS, geteuid(), getegid() };
    if (!may_administrate())
        out->clone_flags |= CLONE_NEWUSER;
    if (request->no_network)
        out->clone_flags |= CLONE_NEWNET;
    if (request->new_pids)
        out->clone_flags |= CLONE_NEWPID | CLONE_NEWIPC;
}

static bool enter(const struct view_plan *plan, struct view_status *status)
{
    if (unshare((int)plan->clone_flags))
        return stop(status, "namespaces", errno);
    return true;
}

/*
 * Some systems let a process make a user namespace and give it no power there; it has
 * also lost its name then.  So a child tries.
 */
static bool try_in_child(const struct view_plan *plan, struct view_status *status)
{
    pid_t pid = fork();
    if (pid < 0)
        return stop(status, "trial", errno);
    if (!pid)
        _exit(enter(plan, status) && make_private(plan, status) ? 0 : errno);
    int result;
    while (waitpid(pid, &result, 0) < 0)
        if (errno != EINTR)
            return stop(status, "trial", errno);
    if (result)
        return stop(status, "user namespace",
                WIFEXITED(result) ? WEXITSTATUS(result) : EPROTO);
    return true;
}

void view_enter(const struct view_request *request, struct view_status *status)
{
    struct view_plan plan;
    assert(!request->new_pids);
    *status = (struct view_status){ .error = 0 };
    view_plan(request, &plan);
    if (plan.clone_flags & CLONE_NEWUSER && !try_in_child(&plan, status))
        return;
    if (enter(&plan, status))
        view_build(request, &plan, status);
}
