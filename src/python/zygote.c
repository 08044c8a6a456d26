#include "python/zygote.h"

#include "base/rights.h"
#include "base/wire.h"
#include "python/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CHILDREN 64 /* the server keeps to fewer */

struct zygote {
    int socket, signals;
    pid_t children[MAX_CHILDREN]; /* not reaped yet; 0: a free place */
    struct hostview *view;
    const struct confine_status *status;
    struct buf in;
    int fds[CHILD_FDS]; /* that have arrived for the next child */
    size_t fd_count;
};

static size_t find_child(const struct zygote *z, pid_t pid)
{
    size_t i = 0;
    while (i < MAX_CHILDREN && z->children[i] != pid)
        i++;
    return i;
}

static void write_pair(enum wire_kind kind, int first, int second, struct buf *out)
{
    char one[16], two[16];
    snprintf(one, sizeof(one), "%d", first);
    snprintf(two, sizeof(two), "%d", second);
    const struct wire_message m = { kind, 2, { str_of(one), str_of(two) } };
    wire_write(&m, out);
}

/* `passed` goes with it, unless it is negative; then it is closed. */
static bool tell(struct zygote *z, enum wire_kind kind, int first, int second, int passed,
        struct error *err)
{
    auto_buf text = BUF(64);
    auto_fd int fd = passed;
    write_pair(kind, first, second, &text);
    ssize_t n = rights_send(z->socket, buf_str(&text), &fd, fd >= 0, 0);
    return n == (ssize_t)text.len || error_set(err, ERR_NOT_FOUND, "the server is gone");
}

static void close_fds(struct zygote *z)
{
    for (size_t i = 0; i < z->fd_count; i++)
        close_fd(&z->fds[i]);
    z->fd_count = 0;
}

static pid_t start_child(struct zygote *z)
{
    PyOS_BeforeFork();
    pid_t own = getpid(), pid = fork();
    if (!pid) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        PyOS_AfterFork_Child();
        child_main(own, z->fds, z->view, z->status);
    }
    int error = errno;
    PyOS_AfterFork_Parent();
    errno = error;
    return pid;
}

static bool fork_child(struct zygote *z, struct error *err)
{
    size_t place = find_child(z, 0);
    if (z->fd_count != CHILD_FDS)
        return error_set(err, ERR_INVALID, "a child needs %d descriptors", CHILD_FDS);
    errno = EAGAIN;
    pid_t pid = place < MAX_CHILDREN ? start_child(z) : -1;
    int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    int error = errno;
    close_fds(z);
    if (pidfd >= 0)
        z->children[place] = pid;
    else if (pid > 0)
        kill(pid, SIGKILL); /* the server could not */
    return pidfd < 0 ? tell(z, WIRE_FORKED, 0, error, -1, err)
                     : tell(z, WIRE_FORKED, pid, 0, pidfd, err);
}

static bool handle(struct zygote *z, const struct wire_message *m, struct error *err)
{
    if (m->kind == WIRE_FORK)
        return fork_child(z, err);
    return error_set(err, ERR_INVALID, "expected an order");
}

static bool handle_all(struct zygote *z, struct error *err)
{
    struct str rest = buf_str(&z->in);
    struct wire_message m;
    bool got = true;
    while (wire_parse(&rest, &m, &got, err) && got)
        if (!handle(z, &m, err))
            return false;
    if (got)
        return false; /* malformed */
    memmove(z->in.data, rest.data, rest.len);
    z->in.len = rest.len;
    return true;
}

/* False with ERR_NOT_FOUND: the server has closed. */
static bool receive(struct zygote *z, struct error *err)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(CHILD_FDS * sizeof(int))];
    char *to = buf_reserve(&z->in, 4096);
    struct iovec bytes = { to, 4096 };
    struct msghdr message = { .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control) };
    ssize_t n = to ? recvmsg(z->socket, &message, MSG_CMSG_CLOEXEC) : -1;
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return error_set(err, ERR_NOT_FOUND, "the server has closed the socket");
    (void)rights_take(&message, z->fds, CHILD_FDS, &z->fd_count);
    z->in.len += (size_t)n;
    return handle_all(z, err);
}

static bool reap(struct zygote *z, struct error *err)
{
    struct signalfd_siginfo unused;
    ssize_t n = read(z->signals, &unused, sizeof(unused));
    (void)n;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        size_t place = find_child(z, pid);
        if (place == MAX_CHILDREN)
            continue;
        z->children[place] = 0;
        if (!tell(z, WIRE_GONE, pid, status, -1, err))
            return false;
    }
    return true;
}

static void end_children(struct zygote *z)
{
    for (size_t i = 0; i < MAX_CHILDREN; i++)
        if (z->children[i])
            kill(z->children[i], SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static bool serve(struct zygote *z, struct error *err)
{
    struct pollfd ready[] = { { .fd = z->socket, .events = POLLIN },
        { .fd = z->signals, .events = POLLIN } };
    for (;;) {
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            return error_errno(err, errno, "poll");
        if (ready[1].revents && !reap(z, err))
            return false;
        if (ready[0].revents && !receive(z, err))
            return false;
    }
}

bool zygote_serve(int socket, struct hostview *view, const struct confine_status *status,
        struct error *err)
{
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    struct zygote z = { .socket = socket,
        .signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK),
        .view = view,
        .status = status,
        .in = BUF((size_t)1 << 20) };
    bool fine = serve(&z, err);
    end_children(&z);
    close_fds(&z);
    close_fd(&z.signals);
    buf_finish(&z.in);
    return fine || err->code == ERR_NOT_FOUND;
}
