/*
 * paddock-launch: started by the server for each command, with a socket as descriptor 3
 * and the command's stdin, stdout and stderr as 4, 5 and 6.  It makes the command's view
 * and namespaces, starts it, and is not gone before all of it is.
 *
 * Where namespaces can be had there are three processes: this one, which ends with the
 * server, its child, the keeper, which is the first in a PID namespace and ends with this
 * one, and the command; the kernel then kills what is left.  Otherwise this one is the
 * keeper, looks for what is left in /proc, and therefore must outlive the server.
 */
#include "base/log.h"
#include "confine/job.h"
#include "confine/parts.h"
#include "launch/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "paddock-launch"

/* Rather than the server, should memory run out. */
static void volunteer_for_oom(void)
{
    auto_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, "500", 3);
    (void)n;
}

/* Each path of a view may take one until all is mounted. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* What the child tells its parent once it is the keeper, or why it cannot be. */
struct settlement {
    bool is_keeper;
    struct view_status view;
};

/* Does the process at the other end still live?  Asked once it is certain that we die
 * with it. */
static bool is_open(int fd)
{
    struct pollfd end = { .fd = fd, .events = POLLIN };
    return poll(&end, 1, 0) == 0;
}

static bool settle(int fd, const struct settlement *s)
{
    return send(fd, s, sizeof(*s), MSG_NOSIGNAL) == (ssize_t)sizeof(*s);
}

/*
 * In the new namespaces.  Those without a user that is mapped, or without any power, are
 * worse than none: then the parent does without.
 */
NORETURN static void be_first(const struct job *job, const struct view_request *request,
        const struct view_plan *plan, int parent)
{
    struct settlement s;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    view_build(request, plan, &s.view);
    s.is_keeper = s.view.has_pids && !s.view.is_partial;
    /* It stands beside the command: what that must not do, it cannot either. */
    uint32_t kept = s.view.has_user ? 0 : FILE_CAPABILITIES;
    if (drop_privileges(kept, kept))
        s.is_keeper = false;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* some of that may have undone it */
    if (!is_open(parent) || !settle(parent, &s) || !s.is_keeper)
        _exit(1);
    close(parent);
    keeper_run(job, &s.view);
    _exit(0);
}

/* True: the child is the keeper. */
static bool await_settlement(int child, pid_t pid, struct view_status *view)
{
    struct settlement s;
    if (recv(child, &s, sizeof(s), MSG_WAITALL) == (ssize_t)sizeof(s)) {
        *view = s.view;
        if (s.is_keeper)
            return true;
    } else {
        *view = (struct view_status){ .error = ECHILD, .failed = "namespaces" };
    }
    waitpid(pid, NULL, 0);
    return false;
}

/* To the end of the keeper; the sockets and pipes are its own now. */
static void await_end(pid_t keeper)
{
    confine_close_others(NULL, 0);
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* False: it has to be done without them, and `view` says why. */
static bool run_in_namespaces(const struct job *job, struct view_status *view)
{
    const struct view_request request = { .paths = job->paths,
        .path_count = job->path_count,
        .private_tmp = true,
        .tmp_bytes = job->tmp_bytes,
        .private_run = true,
        .private_dev = true,
        .no_network = !job->network,
        .new_pids = true };
    struct view_plan plan;
    int ends[2];
    *view = (struct view_status){ .failed = "namespaces" };
    view_plan(&request, &plan);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        view->error = errno;
        return false;
    }
    pid_t pid =
            (pid_t)syscall(SYS_clone, plan.clone_flags | SIGCHLD, NULL, NULL, NULL, NULL);
    view->error = errno;
    if (!pid) {
        close(ends[0]);
        be_first(job, &request, &plan, ends[1]);
    }
    close(ends[1]);
    bool runs = pid > 0 && await_settlement(ends[0], pid, view);
    close(ends[0]);
    if (runs)
        await_end(pid);
    return runs;
}

static void launch(const struct job *job)
{
    struct view_status view = { .error = 0 };
    volunteer_for_oom();
    raise_file_limit();
    if (job->sandboxed && run_in_namespaces(job, &view))
        return;
    if (view.is_partial) {
        keeper_refuse("view", view.error);
        return;
    }
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    keeper_run(job, &view);
}

static bool receive(struct wire_reader *reader, struct arena *arena, struct job *job,
        struct error *err)
{
    struct wire_message m;
    return wire_receive(reader, &m, err) && job_parse(&m, arena, job, err);
}

int main(void)
{
    static const int keep[] = { JOB_SOCKET, JOB_STDIN, JOB_STDOUT, JOB_STDERR };
    struct confine_status status = { 0 };
    int server;
    log_init(NAME);
    int failure = confine_begin(NAME, JOB_SOCKET, &server, &status);
    if (failure)
        return failure;
    confine_close_others(keep, ARRAY_LEN(keep));
    auto_arena *arena = arena_create();
    struct wire_reader reader;
    struct error err = { 0 };
    struct job job;
    wire_reader_init(&reader, JOB_SOCKET);
    if (receive(&reader, arena, &job, &err))
        launch(&job);
    else if (err.code != ERR_NOT_FOUND)
        log_line(LOG_ERROR, "%s", err.message);
    wire_reader_finish(&reader);
    return err.code ? 1 : 0;
}
