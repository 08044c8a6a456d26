#include "session/python-zygote.h"

#include "base/log.h"
#include "base/rights.h"
#include "base/wire.h"
#include "session/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_MS   60000 /* modules are loaded, perhaps from a slow disk */
#define END_MS     1000  /* to end its children and itself when the socket is closed */
#define CHILD_FDS  4
#define MAX_ANSWER ((size_t)1 << 20) /* the status is the longest */

enum zygote_state { ZYGOTE_STARTING, ZYGOTE_READY, ZYGOTE_ENDING };

/* In the order in which they were ordered, which is that of the answers. */
struct order {
    void *child; /* NULL: forgotten */
    int pid;     /* 0: not forked yet */
};

struct zygote {
    uv_poll_t socket, death;
    uv_timer_t timer; /* until it is ready */
    unsigned open_handles;
    int pidfd;
    struct helper process; /* its errors belong to `relay` */
    struct relay *relay;
    enum zygote_state state;
    struct buf in, out; /* `out` is the setup only */
    size_t sent;        /* of `out` */
    int passed;         /* a descriptor that belongs to the next message, or -1 */
    struct order orders[ZYGOTE_MAX_CHILDREN];
    size_t order_count;
    const struct zygote_events *events; /* NULL: being destroyed */
    void *user;
    char why[300]; /* "" while there is no reason to end it */
};

static void set_why(struct zygote *z, const char *why)
{
    if (!z->why[0])
        snprintf(z->why, sizeof(z->why), "%s", why);
}

void zygote_kill(struct zygote *z, const char *why)
{
    set_why(z, why);
    z->state = ZYGOTE_ENDING;
    helper_signal(&z->process, SIGKILL);
}

bool zygote_can_fork(const struct zygote *z)
{
    return z->state == ZYGOTE_READY && z->order_count < ZYGOTE_MAX_CHILDREN;
}

void zygote_forget(struct zygote *z, const void *child)
{
    for (size_t i = 0; i < z->order_count; i++)
        if (z->orders[i].child == child)
            z->orders[i].child = NULL;
}

static void report_end(struct zygote *z, int status)
{
    char how[64];
    relay_end(TAKE(z->relay)); /* its last words come before ours */
    helper_describe_status(status, how, sizeof(how));
    log_line(LOG_WARN, "paddock-python %s%s%s", how, z->why[0] ? ": " : "", z->why);
    set_why(z, how);
    z->events->ended(z->user, z->why);
}

static void on_death(uv_poll_t *poll, int failure UNUSED, int events UNUSED)
{
    struct zygote *z = poll->data;
    int status;
    if (!z->events || !helper_reap(&z->process, &status))
        return;
    uv_poll_stop(poll);
    report_end(z, status);
}

/* Its socket is gone, so it can serve no more; tell its end when it is reaped. */
static void on_closed(struct zygote *z)
{
    uv_poll_stop(&z->socket);
    uv_timer_stop(&z->timer);
    z->state = ZYGOTE_ENDING;
    helper_signal(&z->process, SIGKILL);
    uv_poll_start(&z->death, UV_READABLE, on_death);
}

static void drop_order(struct zygote *z, size_t i)
{
    z->order_count--;
    memmove(&z->orders[i], &z->orders[i + 1],
            (z->order_count - i) * sizeof(z->orders[0]));
}

static size_t find_order(const struct zygote *z, int pid)
{
    size_t i = 0;
    while (i < z->order_count && z->orders[i].pid != pid)
        i++;
    return i;
}

static bool parse_number(struct str text, int *out)
{
    int64_t n;
    if (!str_int(text, &n) || n < INT_MIN || n > INT_MAX)
        return false;
    *out = (int)n;
    return true;
}

static bool on_forked(struct zygote *z, int pid, int error)
{
    auto_fd int pidfd = z->passed;
    z->passed = -1;
    size_t i = find_order(z, 0);
    if (i == z->order_count || pid < 0 || (pid > 0) != (pidfd >= 0) ||
            (pid && find_order(z, pid) < z->order_count))
        return false;
    void *child = z->orders[i].child;
    z->orders[i].pid = pid;
    if (!pid)
        drop_order(z, i);
    if (child) {
        int handed_over = pidfd;
        pidfd = -1;
        z->events->forked(child, pid, handed_over, error);
    }
    return true;
}

static bool on_gone(struct zygote *z, int pid, int status)
{
    size_t i = find_order(z, pid);
    if (pid <= 0 || i == z->order_count)
        return false;
    void *child = z->orders[i].child;
    drop_order(z, i);
    if (child)
        z->events->gone(child, status);
    return true;
}

/* It ends by itself, for this reason. */
static void on_last_words(struct zygote *z, struct str why)
{
    auto_buf shown = BUF(sizeof(z->why));
    buf_add_shown(&shown, str_sub(why, 0, sizeof(z->why) - 1));
    set_why(z, shown.data ? shown.data : "");
    z->state = ZYGOTE_ENDING;
}

static bool on_message(struct zygote *z, const struct wire_message *m)
{
    int first, second;
    if (m->kind == WIRE_NOT_STARTED && m->count == 1) {
        on_last_words(z, m->fields[0]);
        return true;
    }
    if (z->state == ZYGOTE_STARTING && m->kind == WIRE_READY) {
        z->state = ZYGOTE_READY;
        uv_timer_stop(&z->timer);
        z->events->ready(z->user);
        return true;
    }
    if (z->state != ZYGOTE_READY || m->count != 2 ||
            !parse_number(m->fields[0], &first) || !parse_number(m->fields[1], &second))
        return false;
    if (m->kind == WIRE_FORKED)
        return on_forked(z, first, second);
    return m->kind == WIRE_GONE && on_gone(z, first, second);
}

static void take_messages(struct zygote *z)
{
    struct str bytes = buf_str(&z->in);
    struct wire_message m;
    struct error err;
    bool got = true, good = true;
    while (good && z->state != ZYGOTE_ENDING) {
        good = wire_parse(&bytes, &m, &got, &err);
        if (!good || !got)
            break;
        good = on_message(z, &m);
    }
    if (!good)
        zygote_kill(z, "it sent a message out of turn");
    size_t used = z->in.len - bytes.len;
    z->in.len = bytes.len;
    if (used && z->in.len)
        memmove(z->in.data, z->in.data + used, z->in.len);
}

/* One descriptor at a time; a second one before the first had its message is too much. */
static void keep_descriptor(struct zygote *z, const struct msghdr *message)
{
    int fd = -1;
    size_t count = 0;
    bool one = rights_take(message, &fd, 1, &count);
    if (!one || (count && z->passed >= 0))
        zygote_kill(z, "it sent a descriptor out of turn");
    if (!count)
        return;
    close_fd(&z->passed);
    z->passed = fd;
}

/* False: nothing more will come. */
static bool receive(struct zygote *z)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    enum { CHUNK = 1 << 16 };
    char *to = buf_reserve(&z->in, CHUNK);
    if (!to)
        return false;
    struct iovec bytes = { to, CHUNK };
    struct msghdr message = { .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control) };
    ssize_t n = recvmsg(z->process.socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    keep_descriptor(z, &message);
    if (z->state != ZYGOTE_ENDING) {
        z->in.len += (size_t)n;
        take_messages(z);
    }
    return n;
}

/* What is left of the setup. */
static bool send_setup(struct zygote *z)
{
    while (z->sent < z->out.len) {
        ssize_t n = send(z->process.socket, z->out.data + z->sent, z->out.len - z->sent,
                MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        z->sent += (size_t)n;
    }
    buf_finish(&z->out);
    z->sent = 0;
    return true;
}

static void on_socket(uv_poll_t *poll, int failure, int events)
{
    struct zygote *z = poll->data;
    bool had_setup = z->out.len;
    bool closed = failure || ((events & UV_WRITABLE) && !send_setup(z)) ||
                  ((events & UV_READABLE) && !receive(z));
    if (!z->events)
        return; /* one of the events has destroyed it */
    if (closed)
        on_closed(z);
    else if (had_setup && !z->out.len)
        uv_poll_start(poll, UV_READABLE, on_socket);
}

static void on_timer(uv_timer_t *timer)
{
    zygote_kill(timer->data, "it was not ready in time");
}

static bool spawn(
        const struct zygote_spec *spec, struct helper *out, int *pidfd, struct error *err)
{
    auto_fd int machine = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (machine < 0)
        return error_errno(err, errno, "cannot open '/'");
    const struct helper_spec helper = { .path = spec->program,
        .env = spec->env,
        .fds = &machine,
        .fd_count = 1,
        .pipe_stderr = true };
    if (!helper_spawn(&helper, out, err))
        return false;
    *pidfd = helper_pidfd(out);
    if (*pidfd >= 0)
        return true;
    error_errno(err, errno, "cannot watch a process (this needs Linux 5.3)");
    helper_finish(out);
    return false;
}

static void watch(uv_loop_t *loop, struct zygote *z)
{
    uv_poll_init(loop, &z->socket, z->process.socket);
    uv_poll_init(loop, &z->death, z->pidfd);
    uv_timer_init(loop, &z->timer);
    z->open_handles = 3;
    z->socket.data = z->death.data = z->timer.data = z;
    uv_poll_start(&z->socket, UV_READABLE | UV_WRITABLE, on_socket);
    uv_update_time(loop);
    uv_timer_start(&z->timer, on_timer, START_MS, 0);
}

bool zygote_start(uv_loop_t *loop, const struct zygote_spec *spec,
        const struct zygote_events *events, void *user, struct zygote **out,
        struct error *err)
{
    struct helper process;
    int pidfd = -1;
    if (!spawn(spec, &process, &pidfd, err))
        return false;
    struct zygote *z = xcalloc(1, sizeof(*z));
    z->process = process;
    z->pidfd = pidfd;
    z->passed = -1;
    z->in = BUF(MAX_ANSWER);
    z->out = BUF(WIRE_MAX_MESSAGE + 64);
    z->events = events;
    z->user = user;
    z->relay = relay_start(loop, z->process.errors, "python");
    z->process.errors = -1;
    const struct wire_message m = { WIRE_SETUP, 1, { spec->setup } };
    wire_write(&m, &z->out);
    assert(!z->out.full);
    watch(loop, z);
    *out = z;
    return true;
}

static bool send_fork(int socket, const int *fds)
{
    char text[8];
    auto_buf order = BUF(sizeof(text));
    const struct wire_message m = { WIRE_FORK, 0, { { NULL, 0 } } };
    wire_write(&m, &order);
    return rights_send(socket, buf_str(&order), fds, CHILD_FDS, MSG_DONTWAIT) ==
           (ssize_t)order.len;
}

bool zygote_fork(struct zygote *z, const int *fds, void *child, struct error *err)
{
    assert(zygote_can_fork(z));
    if (!send_fork(z->process.socket, fds)) {
        zygote_kill(z, errno == EAGAIN ? "it does not listen" : "");
        return error_set(err, ERR_IO, "the interpreter's process does not listen");
    }
    z->orders[z->order_count++] = (struct order){ .child = child };
    return true;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct zygote *z = handle->data;
    if (--z->open_handles)
        return;
    close_fd(&z->pidfd);
    close_fd(&z->passed);
    helper_finish(&z->process);
    buf_finish(&z->in);
    buf_finish(&z->out);
    free(z);
}

void zygote_destroy(struct zygote *z)
{
    if (!z)
        return;
    bool listens = z->state == ZYGOTE_READY;
    z->events = NULL;
    z->state = ZYGOTE_ENDING;
    if (z->process.pid > 0) {
        struct pollfd gone = { .fd = z->pidfd, .events = POLLIN };
        shutdown(z->process.socket, SHUT_RDWR);
        poll(&gone, 1, listens ? END_MS : 0);
        helper_signal(&z->process, SIGKILL);
        poll(&gone, 1, END_MS);
        int status;
        (void)helper_reap(&z->process, &status);
    }
    relay_end(TAKE(z->relay));
    uv_close((uv_handle_t *)&z->socket, on_handle_closed);
    uv_close((uv_handle_t *)&z->death, on_handle_closed);
    uv_close((uv_handle_t *)&z->timer, on_handle_closed);
}
