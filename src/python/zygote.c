#include "python/zygote.h"

#include "base/wire.h"
#include "python/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct zygote {
    int socket, signals;
    struct hostview *view;
    const struct confine_status *status;
    struct buf in;
    int fds[CHILD_FDS]; /* that have arrived for the next child */
    size_t fd_count;
};

static bool tell(
        struct zygote *z, enum wire_kind kind, pid_t pid, int status, struct error *err)
{
    char id[16], how[16];
    snprintf(id, sizeof(id), "%d", (int)pid);
    snprintf(how, sizeof(how), "%d", status);
    const struct wire_message m = { kind, 2, { str_of(id), str_of(how) } };
    return wire_send(z->socket, &m, err);
}

static void close_fds(struct zygote *z)
{
    for (size_t i = 0; i < z->fd_count; i++)
        close_fd(&z->fds[i]);
    z->fd_count = 0;
}

static bool fork_child(struct zygote *z, struct error *err)
{
    if (z->fd_count != CHILD_FDS)
        return error_set(err, ERR_INVALID, "a child needs %d descriptors", CHILD_FDS);
    PyOS_BeforeFork();
    pid_t pid = fork();
    if (!pid) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        PyOS_AfterFork_Child();
        child_main(z->fds, z->view, z->status);
    }
    PyOS_AfterFork_Parent();
    close_fds(z);
    return tell(z, WIRE_FORKED, pid < 0 ? 0 : pid, pid < 0 ? errno : 0, err);
}

static void kill_child(struct str id)
{
    int64_t pid;
    if (str_int(id, &pid) && pid > 1 && pid <= INT32_MAX)
        kill((pid_t)pid, SIGKILL); /* ours and not reaped, or not there */
}

static bool handle(struct zygote *z, const struct wire_message *m, struct error *err)
{
    if (m->kind == WIRE_FORK)
        return fork_child(z, err);
    if (m->kind == WIRE_STOP && m->count == 1) {
        kill_child(m->fields[0]);
        return true;
    }
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

static void keep_descriptors(struct zygote *z, struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (z->fd_count < CHILD_FDS)
                z->fds[z->fd_count++] = fd;
            else
                close(fd);
        }
    }
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
    keep_descriptors(z, &message);
    z->in.len += (size_t)n;
    return handle_all(z, err);
}

static bool reap(struct zygote *z, struct error *err)
{
    struct signalfd_siginfo unused;
    ssize_t n = read(z->signals, &unused, sizeof(unused));
    (void)n;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (!tell(z, WIRE_GONE, pid, status, err))
            return false;
    return true;
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
    close_fds(&z);
    close_fd(&z.signals);
    buf_finish(&z.in);
    return fine || err->code == ERR_NOT_FOUND;
}
