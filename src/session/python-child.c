#include "session/python-child.h"

#include "base/log.h"
#include "base/wire.h"
#include "broker/collect.h"
#include "broker/problems.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 30000
#define DRAIN_MS 200
#define KILL_MS  1000

#define MAX_RESULT  ((size_t)2 << 20)
#define MAX_MESSAGE ((size_t)20 << 20) /* a reply with images is the longest */
#define MAX_EVENT   ((size_t)64 << 10)
#define CHUNK       ((size_t)1 << 16)

enum child_state {
    CHILD_STARTING,
    CHILD_READY,
    CHILD_RUNNING,
    CHILD_DRAINING,
    CHILD_STOPPING,
    CHILD_OVER,
};

struct stream {
    uv_pipe_t pipe;
    struct collector text;
    bool has_ended;
};

struct child {
    uv_pipe_t control;
    struct stream out, err;
    uv_timer_t timer; /* for what the state waits for */
    unsigned open_handles;
    struct child_host *host;
    struct zygote *zygote; /* NULL: it is gone */
    int pid, pidfd;        /* 0 and -1 until it is forked */
    int broker;            /* our end, until a run begins */
    void *broker_session;
    enum child_state state;
    bool is_warm, was_ready, has_closed, is_gone, timed_out, has_reply;
    int status; /* as from waitpid(), if it is gone */
    struct buf in;
    struct wire_message reply; /* looks into `in` */
    uint64_t events_seen;
    const struct child_events *events; /* NULL: nobody listens any more */
    void *user;
    char why[120]; /* it was killed, or "" */
};

struct pending_write {
    uv_write_t request;
    struct buf bytes;
};

static void on_timer(uv_timer_t *timer);

static void set_why(struct child *c, const char *why)
{
    if (!c->why[0])
        snprintf(c->why, sizeof(c->why), "%s", why);
}

static void free_child(struct child *c)
{
    close_fd(&c->pidfd);
    buf_finish(&c->in);
    collector_finish(&c->out.text);
    collector_finish(&c->err.text);
    free(c);
}

static void on_handle_closed(uv_handle_t *handle);

static void close_handles(struct child *c)
{
    uv_handle_t *const all[] = { (uv_handle_t *)&c->control, (uv_handle_t *)&c->out.pipe,
        (uv_handle_t *)&c->err.pipe, (uv_handle_t *)&c->timer };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (!uv_is_closing(all[i]))
            uv_close(all[i], on_handle_closed);
}

static void end_broker(struct child *c)
{
    void *session = TAKE(c->broker_session);
    if (session)
        c->host->broker->end(session);
    close_fd(&c->broker);
}

static void kill_process(struct child *c)
{
    if (c->pidfd >= 0 && !c->is_gone)
        syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
}

/* It is reaped and nothing more is to be said about it. */
static void tell_gone(struct child *c)
{
    const struct child_events *events = c->events;
    c->events = NULL;
    if (c->zygote)
        zygote_forget(c->zygote, c);
    if (events)
        events->gone(c->user, c);
    if (!c->open_handles)
        free_child(c);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct child *c = handle->data;
    if (!--c->open_handles && c->is_gone)
        tell_gone(c);
}

/* Whatever happens, nobody waits for it from here on but the zygote. */
static void enter_over(struct child *c)
{
    c->state = CHILD_OVER;
    kill_process(c);
    end_broker(c);
    close_handles(c);
}

static void fail(struct child *c, const char *why)
{
    enter_over(c);
    if (c->events)
        c->events->failed(c->user, c, c->was_ready, why);
    if (c->is_gone)
        tell_gone(c);
}

static struct command_stream stream_result(struct stream *s)
{
    return (struct command_stream){ .head = buf_str(&s->text.head),
        .tail = collector_tail(&s->text),
        .dropped = collector_dropped(&s->text),
        .dropped_lines = collector_dropped_lines(&s->text) };
}

/* Notes that are not as they should be: false. */
static bool read_notes(struct python_result *r, json_t *notes)
{
    const json_t *exit_code = json_object_get(notes, "exit");
    json_int_t code = json_integer_value(exit_code);
    if (!json_is_integer(exit_code) || code < 0 || code > 255)
        return false;
    r->exit_code = (int)code;
    r->has_result = json_is_true(json_object_get(notes, "has_result"));
    r->was_cut = json_is_true(json_object_get(notes, "was_cut"));
    r->images = json_object_get(notes, "images");
    if (json_is_true(json_object_get(notes, "timed_out")))
        r->end = PYTHON_TIMED_OUT;
    return true;
}

/* What is told of a run that has no reply. */
static void describe_end(struct child *c, struct python_result *r)
{
    char how[64];
    int status = c->is_gone && !c->why[0] ? c->status : SIGKILL;
    helper_describe_status(status, how, sizeof(how));
    r->exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    if (c->timed_out) {
        r->end = PYTHON_TIMED_OUT;
    } else if (WIFSIGNALED(status)) {
        r->end = PYTHON_DIED;
        error_set(&r->error, ERR_IO, "the interpreter's process was %s%s%s", how,
                c->why[0] ? ": " : "", c->why);
    }
}

static void describe_reply(
        struct child *c, json_t *notes, struct buf *text, struct python_result *r)
{
    json_auto_t *rest = json_copy(notes);
    json_object_del(rest, "images");
    json_write(rest, text);
    r->notes = buf_str(text);
    r->result = c->reply.fields[1];
}

static void answer(struct child *c)
{
    struct python_result r = { .end = PYTHON_ENDED, .result = STR(""), .notes = STR("") };
    auto_buf text = BUF(MAX_MESSAGE);
    json_auto_t *notes = NULL;
    struct error unused;
    if (c->has_reply && json_parse(c->reply.fields[2], &notes, &unused) &&
            read_notes(&r, notes)) {
        describe_reply(c, notes, &text, &r);
    } else {
        if (c->has_reply)
            set_why(c, "it sent malformed notes");
        describe_end(c, &r);
    }
    r.out = stream_result(&c->out);
    r.err = stream_result(&c->err);
    c->events->answered(
            c->user, c, &r, str_is(json_get_str(notes, "retry", STR("")), "network"));
}

static void finish(struct child *c)
{
    if (c->events_seen > CHILD_MAX_EVENTS)
        log_line(LOG_WARN, "a snippet caused %" PRIu64 " events; %d are in the debug log",
                c->events_seen, CHILD_MAX_EVENTS);
    enter_over(c);
    if (c->events)
        answer(c);
    if (c->is_gone)
        tell_gone(c);
}

static void arm(struct child *c, uint64_t ms)
{
    uv_update_time(c->host->loop);
    uv_timer_start(&c->timer, on_timer, ms, 0);
}

static void check_end(struct child *c)
{
    bool read_all = c->out.has_ended && c->err.has_ended;
    if (read_all && (c->state == CHILD_DRAINING ||
                            (c->state == CHILD_STOPPING && (c->has_reply || c->is_gone))))
        finish(c);
}

/* What it started goes too, so that the pipes come to their end. */
static void stop(struct child *c)
{
    c->state = CHILD_STOPPING;
    kill_process(c);
    end_broker(c);
    arm(c, KILL_MS);
    check_end(c);
}

/* It does what it must not. */
static void break_off(struct child *c, const char *why)
{
    set_why(c, why);
    if (c->state == CHILD_RUNNING)
        stop(c);
    else if (c->state < CHILD_RUNNING)
        fail(c, c->why);
}

/* It ends, or makes us end it; how is told when it is reaped. */
static void on_closed(struct child *c)
{
    if (c->state == CHILD_RUNNING) {
        stop(c);
    } else if (c->state < CHILD_RUNNING) {
        c->state = CHILD_STARTING;
        c->has_closed = true;
        kill_process(c);
        arm(c, KILL_MS);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct child *c = timer->data;
    switch (c->state) {
    case CHILD_STARTING:
        if (!c->pid && c->zygote)
            zygote_kill(c->zygote, "it does not answer");
        break_off(c,
                c->has_closed ? "it has closed its socket" : "it was not ready in time");
        break;
    case CHILD_RUNNING:
        c->timed_out = true;
        stop(c);
        break;
    case CHILD_DRAINING:
        stop(c);
        break;
    case CHILD_STOPPING:
        finish(c);
        break;
    case CHILD_READY:
    case CHILD_OVER:
        break;
    }
}

bool child_is_starting(const struct child *c)
{
    return c->state == CHILD_STARTING && !c->has_closed;
}

static void check_ready(struct child *c)
{
    if (!child_is_starting(c) || !c->is_warm || !c->pid)
        return;
    c->state = CHILD_READY;
    c->was_ready = true;
    uv_timer_stop(&c->timer);
    c->events->ready(c->user, c);
}

static void on_event(struct child *c, struct str text)
{
    json_auto_t *event = NULL;
    struct error unused;
    if (c->events_seen++ >= CHILD_MAX_EVENTS || !c->host->event || !c->events)
        return;
    if (json_parse(text, &event, &unused) && json_is_object(event))
        c->host->event(c->host->event_user, event);
}

/* A reply has isError, a text, and notes. */
static bool is_reply(const struct wire_message *m)
{
    return m->kind == WIRE_REPLY && m->count == 3 && m->fields[1].len <= MAX_RESULT &&
           (str_is(m->fields[0], "0") || str_is(m->fields[0], "1"));
}

static bool on_message(struct child *c, const struct wire_message *m)
{
    if (c->state == CHILD_STARTING && !c->is_warm && m->kind == WIRE_READY &&
            m->count == 1) {
        problems_tell(m->fields[0], c->host->problems_told);
        c->is_warm = true;
        check_ready(c);
        return true;
    }
    if (c->state != CHILD_RUNNING)
        return false;
    if (m->kind == WIRE_EVENT && m->count == 1 && m->fields[0].len <= MAX_EVENT) {
        on_event(c, m->fields[0]);
        return true;
    }
    if (!is_reply(m))
        return false;
    uv_read_stop((uv_stream_t *)&c->control); /* the reply stays where it is */
    c->reply = *m;
    c->has_reply = true;
    c->state = CHILD_DRAINING;
    arm(c, DRAIN_MS);
    return true;
}

static void take_messages(struct child *c)
{
    struct str bytes = buf_str(&c->in);
    struct wire_message m;
    struct error unused;
    bool got = true;
    while (got && c->state < CHILD_DRAINING) {
        if (!wire_parse(&bytes, &m, &got, &unused))
            break_off(c, "it sent a malformed message");
        else if (got && !on_message(c, &m))
            break_off(c, "it sent a message out of turn");
    }
    if (c->state == CHILD_DRAINING)
        check_end(c);
    if (c->has_reply)
        return;
    size_t used = c->in.len - bytes.len;
    c->in.len = bytes.len;
    if (used && c->in.len)
        memmove(c->in.data, c->in.data + used, c->in.len);
}

static void on_control_alloc(uv_handle_t *handle, size_t wanted UNUSED, uv_buf_t *out)
{
    struct child *c = handle->data;
    char *to = buf_reserve(&c->in, CHUNK);
    *out = uv_buf_init(to, to ? (unsigned)CHUNK : 0);
}

static void on_control_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *unused UNUSED)
{
    struct child *c = stream->data;
    if (n < 0) {
        uv_read_stop(stream);
        if (n == UV_ENOBUFS)
            break_off(c, "its message is too long");
        else
            on_closed(c);
    } else if (c->state < CHILD_DRAINING) {
        c->in.len += (size_t)n;
        take_messages(c);
    }
}

static void on_stream_alloc(uv_handle_t *handle, size_t wanted UNUSED, uv_buf_t *out)
{
    struct child *c = handle->data;
    *out = uv_buf_init(c->host->chunk, sizeof(c->host->chunk));
}

static void on_stream_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    struct child *c = pipe->data;
    struct stream *s = pipe == (uv_stream_t *)&c->out.pipe ? &c->out : &c->err;
    if (n > 0) {
        const struct str text = { bytes->base, (size_t)n };
        collector_add(&s->text, text);
        if (c->host->printed && c->state >= CHILD_RUNNING)
            c->host->printed(c->host->printed_user, s == &c->err, text);
    } else if (n < 0) {
        uv_read_stop(pipe);
        s->has_ended = true;
        check_end(c);
    }
}

void child_on_forked(void *child, int pid, int pidfd, int error)
{
    struct child *c = child;
    char why[120];
    if (pid) {
        c->pid = pid;
        c->pidfd = pidfd;
        if (c->state == CHILD_OVER)
            kill_process(c);
        check_ready(c);
        return;
    }
    snprintf(why, sizeof(why), "it could not be forked: %s", strerror(error));
    c->is_gone = true;
    if (c->state == CHILD_OVER)
        tell_gone(c);
    else
        fail(c, why);
}

void child_on_gone(void *child, int status)
{
    struct child *c = child;
    char how[64];
    c->is_gone = true;
    c->status = status;
    helper_describe_status(status, how, sizeof(how));
    if (c->state == CHILD_OVER)
        tell_gone(c);
    else if (c->state < CHILD_RUNNING)
        fail(c, how);
    else
        check_end(c); /* what it sent before it ended may not have been read yet */
}

void child_lose(struct child *c)
{
    kill_process(c);
    c->zygote = NULL;
    c->is_gone = true;
    c->status = SIGKILL;
    if (c->state < CHILD_RUNNING)
        enter_over(c);
    if (c->state == CHILD_OVER)
        tell_gone(c);
    else
        check_end(c);
}

bool child_is_ready(struct child *c)
{
    struct pollfd said = { .fd = -1, .events = POLLIN };
    return c->state == CHILD_READY && !uv_fileno((uv_handle_t *)&c->control, &said.fd) &&
           !poll(&said, 1, 0);
}

static void on_written(uv_write_t *request, int failure UNUSED)
{
    struct pending_write *p = (struct pending_write *)request;
    buf_finish(&p->bytes);
    free(p);
}

void child_run(struct child *c, struct str call, unsigned timeout_ms)
{
    assert(c->state == CHILD_READY);
    c->state = CHILD_RUNNING;
    if (c->host->broker) {
        int fd = c->broker;
        c->broker = -1;
        c->broker_session = c->host->broker->start(c->host->broker_user, fd, timeout_ms);
    }
    struct pending_write *p = xcalloc(1, sizeof(*p));
    p->bytes = BUF(WIRE_MAX_MESSAGE + 64);
    const struct wire_message m = { WIRE_CALL, 2, { STR("run_python"), call } };
    wire_write(&m, &p->bytes);
    assert(!p->bytes.full);
    uv_buf_t bytes = uv_buf_init(p->bytes.data, (unsigned)p->bytes.len);
    int failure =
            uv_write(&p->request, (uv_stream_t *)&c->control, &bytes, 1, on_written);
    /* A child that does not listen any more has closed, and reading will tell. */
    if (failure)
        on_written(&p->request, failure);
    arm(c, (uint64_t)timeout_ms + PYTHON_GRACE_MS);
}

/* The ends of one child: ours, and those that the zygote is to hand on. */
struct ends {
    int ours[4], theirs[4];
};

static void close_ends(struct ends *e)
{
    for (size_t i = 0; i < ARRAY_LEN(e->ours); i++) {
        close_fd(&e->ours[i]);
        close_fd(&e->theirs[i]);
    }
}

static bool make_ends(struct ends *e, struct error *err)
{
    static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
    for (size_t i = 0; i < ARRAY_LEN(e->ours); i++) {
        int pair[2];
        int failure = i < ARRAY_LEN(types)
                              ? socketpair(AF_UNIX, types[i] | SOCK_CLOEXEC, 0, pair)
                              : pipe2(pair, O_CLOEXEC);
        if (failure)
            return error_errno(err, errno, "cannot make a socket or a pipe");
        e->ours[i] = pair[0];
        e->theirs[i] = pair[1];
    }
    return true;
}

static void open_pipe(struct child *c, uv_pipe_t *pipe, int *fd)
{
    uv_pipe_init(c->host->loop, pipe, 0);
    uv_pipe_open(pipe, *fd);
    *fd = -1;
    pipe->data = c;
    c->open_handles++;
}

static void listen_to(struct child *c, struct ends *e)
{
    open_pipe(c, &c->control, &e->ours[0]);
    open_pipe(c, &c->out.pipe, &e->ours[2]);
    open_pipe(c, &c->err.pipe, &e->ours[3]);
    if (c->host->broker) {
        c->broker = e->ours[1];
        e->ours[1] = -1;
        fcntl(c->broker, F_SETFL, O_NONBLOCK);
    }
    uv_timer_init(c->host->loop, &c->timer);
    c->timer.data = c;
    c->open_handles++;
    uv_read_start((uv_stream_t *)&c->control, on_control_alloc, on_control_read);
    uv_read_start((uv_stream_t *)&c->out.pipe, on_stream_alloc, on_stream_read);
    uv_read_start((uv_stream_t *)&c->err.pipe, on_stream_alloc, on_stream_read);
    arm(c, START_MS);
}

bool child_start(struct child_host *host, struct zygote *zygote,
        const struct child_events *events, void *user, struct child **out,
        struct error *err)
{
    AUTO(close_ends)
    struct ends ends = { { -1, -1, -1, -1 }, { -1, -1, -1, -1 } };
    if (!make_ends(&ends, err))
        return false;
    auto_free struct child *c = xcalloc(1, sizeof(*c));
    if (!zygote_fork(zygote, ends.theirs, c, err))
        return false;
    c->host = host;
    c->zygote = zygote;
    c->pidfd = c->broker = -1;
    c->in = BUF(MAX_MESSAGE);
    c->events = events;
    c->user = user;
    collector_init(&c->out.text, PYTHON_KEEP_BYTES, PYTHON_KEEP_BYTES);
    collector_init(&c->err.text, PYTHON_KEEP_BYTES, PYTHON_KEEP_BYTES);
    listen_to(c, &ends);
    *out = TAKE(c);
    return true;
}

void child_stop(struct child *c)
{
    if (c->state != CHILD_OVER)
        enter_over(c);
}

void child_destroy(struct child *c)
{
    struct pollfd end = { .fd = c->pidfd, .events = POLLIN };
    c->events = NULL;
    c->zygote = NULL;
    child_stop(c);
    kill_process(c);
    if (c->pidfd >= 0 && !c->is_gone)
        poll(&end, 1, KILL_MS);
    c->is_gone = true;
    if (!c->open_handles)
        free_child(c);
}
