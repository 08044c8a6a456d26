#include "session/worker.h"

#include "base/log.h"
#include "base/wire.h"
#include "session/relay.h"

#include <signal.h>
#include <stdio.h>

#define KEEP_BYTES ((size_t)256 << 10) /* of buffer between messages */

enum worker_state { STARTING, IDLE, BUSY, ENDING };

struct worker {
    uv_pipe_t pipe;
    uv_poll_t death; /* watches `pidfd` once the socket has closed */
    int pidfd;
    unsigned open_handles; /* the memory is freed when none is left */
    struct helper process; /* its socket belongs to `pipe`, its errors to `relay` */
    struct relay *relay;
    enum worker_state state;
    struct buf in;
    const struct worker_events *events; /* NULL: being destroyed */
    void *user;
    char why[160];  /* "" while there is no reason to end it */
    bool dismissed; /* its end is no news */
};

struct pending_write {
    uv_write_t request;
    struct buf bytes;
};

static void set_why(struct worker *w, const char *why)
{
    if (!w->why[0])
        snprintf(w->why, sizeof(w->why), "%s", why);
}

void worker_kill(struct worker *w, const char *why)
{
    set_why(w, why);
    w->state = ENDING;
    helper_signal(&w->process, SIGKILL);
}

void worker_dismiss(struct worker *w)
{
    w->dismissed = true;
    worker_kill(w, "it was not needed any more");
}

void worker_interrupt(struct worker *w)
{
    helper_signal(&w->process, SIGUSR1);
}

void worker_hand_over(struct worker *w, const struct worker_events *events, void *user)
{
    w->events = events;
    w->user = user;
}

bool worker_lives(const struct worker *w)
{
    return w->state != ENDING && helper_lives(&w->process);
}

pid_t worker_pid(const struct worker *w)
{
    return w->process.pid;
}

static void report_end(struct worker *w, int status)
{
    char how[64];
    relay_end(TAKE(w->relay)); /* its last words come before ours */
    helper_describe_status(status, how, sizeof(how));
    if (!w->dismissed)
        log_line(LOG_WARN, "worker %s%s%s", how, w->why[0] ? ": " : "", w->why);
    set_why(w, how);
    w->events->ended(w->user, w->why);
}

static void on_death(uv_poll_t *poll, int failure UNUSED, int events UNUSED)
{
    struct worker *w = poll->data;
    int status;
    if (!w->events || !helper_reap(&w->process, &status))
        return;
    uv_poll_stop(poll);
    report_end(w, status);
}

/* Its socket is gone, so it can serve no more; tell its end when it is reaped. */
static void on_closed(struct worker *w)
{
    int status;
    uv_read_stop((uv_stream_t *)&w->pipe);
    w->state = ENDING;
    /* A process that is ending by itself keeps its own status. */
    helper_signal(&w->process, SIGKILL);
    w->pidfd = helper_pidfd(&w->process);
    if (w->pidfd >= 0 && !uv_poll_init(w->pipe.loop, &w->death, w->pidfd)) {
        w->open_handles++;
        w->death.data = w;
        uv_poll_start(&w->death, UV_READABLE, on_death);
        return;
    }
    while (!helper_reap(&w->process, &status))
        uv_sleep(1);
    report_end(w, status);
}

/* A reply has isError, a text, and perhaps notes. */
static bool is_reply(const struct wire_message *m)
{
    return m->kind == WIRE_REPLY && m->count >= 2 &&
           (str_is(m->fields[0], "0") || str_is(m->fields[0], "1"));
}

static void on_message(struct worker *w, const struct wire_message *m)
{
    if (w->state == STARTING && m->kind == WIRE_READY) {
        w->state = IDLE;
        w->events->ready(w->user, m->count ? m->fields[0] : STR("{}"));
    } else if (w->state == BUSY && is_reply(m)) {
        w->state = IDLE;
        w->events->reply(w->user, str_is(m->fields[0], "1"), m->fields[1],
                m->count > 2 ? m->fields[2] : STR(""));
    } else {
        worker_kill(w, "it sent a message out of turn");
    }
}

/* One message at most: after a reply nothing may follow before the next call. */
static void take_message(struct worker *w)
{
    struct str bytes = buf_str(&w->in);
    struct wire_message m;
    struct error err;
    bool got;
    if (!wire_parse(&bytes, &m, &got, &err)) {
        worker_kill(w, "it sent a malformed message");
        return;
    }
    if (!got)
        return;
    if (bytes.len) {
        worker_kill(w, "it sent a message out of turn");
        return;
    }
    on_message(w, &m);
    w->in.len = 0;
    if (w->in.cap > KEEP_BYTES)
        buf_finish(&w->in);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    struct worker *w = handle->data;
    char *to = buf_reserve(&w->in, wanted);
    *out = uv_buf_init(to, to ? (unsigned)wanted : 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *unused UNUSED)
{
    struct worker *w = stream->data;
    if (!w->events || !n)
        return;
    if (n == UV_ENOBUFS) {
        set_why(w, "its reply is too long");
        on_closed(w);
    } else if (n < 0) {
        on_closed(w);
    } else if (w->state != ENDING) {
        w->in.len += (size_t)n;
        take_message(w);
    }
}

static void on_written(uv_write_t *request, int failure UNUSED)
{
    struct pending_write *p = (struct pending_write *)request;
    buf_finish(&p->bytes);
    free(p);
}

static void send_message(struct worker *w, const struct wire_message *m)
{
    struct pending_write *p = xcalloc(1, sizeof(*p));
    p->bytes = BUF(WIRE_MAX_MESSAGE + 64);
    wire_write(m, &p->bytes);
    assert(!p->bytes.full);
    uv_buf_t bytes = uv_buf_init(p->bytes.data, (unsigned)p->bytes.len);
    int failure = uv_write(&p->request, (uv_stream_t *)&w->pipe, &bytes, 1, on_written);
    /* A worker that does not listen any more has closed, and reading will tell. */
    if (failure)
        on_written(&p->request, failure);
}

void worker_call(struct worker *w, struct str tool, struct str args)
{
    assert(w->state == IDLE);
    w->state = BUSY;
    struct wire_message m = { WIRE_CALL, 2, { tool, args } };
    send_message(w, &m);
}

bool worker_start(uv_loop_t *loop, const struct helper_spec *spec, struct str setup,
        size_t max_reply, const struct worker_events *events, void *user,
        struct worker **out, struct error *err)
{
    struct helper process;
    if (!helper_spawn(spec, &process, err))
        return false;
    struct worker *w = xcalloc(1, sizeof(*w));
    w->process = process;
    w->pidfd = -1;
    w->in = BUF(max_reply);
    w->events = events;
    w->user = user;
    uv_pipe_init(loop, &w->pipe, 0);
    w->open_handles = 1;
    w->pipe.data = w;
    uv_pipe_open(&w->pipe, process.socket);
    w->process.socket = -1;
    if (w->process.errors >= 0)
        w->relay = relay_start(loop, w->process.errors, "worker");
    w->process.errors = -1;
    uv_read_start((uv_stream_t *)&w->pipe, on_alloc, on_read);
    struct wire_message m = { WIRE_SETUP, 1, { setup } };
    send_message(w, &m);
    *out = w;
    return true;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct worker *w = handle->data;
    if (--w->open_handles)
        return;
    close_fd(&w->pidfd);
    buf_finish(&w->in);
    free(w);
}

void worker_destroy(struct worker *w)
{
    if (!w)
        return;
    w->events = NULL;
    helper_finish(&w->process);
    relay_end(TAKE(w->relay));
    if (w->pidfd >= 0 && w->open_handles > 1)
        uv_close((uv_handle_t *)&w->death, on_handle_closed);
    uv_close((uv_handle_t *)&w->pipe, on_handle_closed);
}
