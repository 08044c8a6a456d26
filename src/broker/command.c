/*
 * One command, from start to end:
 *
 *   STARTING   the job is sent; the launcher answers that it runs, or why not
 *   RUNNING    until the launcher tells its end, or the time is over
 *   STOPPING   SIGTERM was asked for; the launcher tells the end 2 s later at most
 *   DRAINING   it has ended; what it left behind has 200 ms to close the pipes
 *   CLOSING    our socket is closed, which makes the launcher kill what is left and go
 *   GONE       the launcher is reaped; what stands in the pipes is read
 *
 * The timer stands for whatever the state waits for: when it fires, nothing waits longer.
 */
#include "broker/command.h"

#include "base/wire.h"
#include "broker/collect.h"
#include "broker/command-job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_ANSWER ((size_t)1 << 20)
#define CHUNK      ((size_t)1 << 16)

/* From the request to the report of the end: 2 s in the launcher, and some for us. */
#define STOP_MS  4000
#define DRAIN_MS 200
#define CLOSE_MS 1000

enum state { STARTING, RUNNING, STOPPING, DRAINING, CLOSING, GONE, DONE };

struct stream {
    uv_pipe_t pipe;
    struct collector text;
    bool has_ended;
};

enum { OURS, THEIRS }; /* the ends of a pipe */

struct command {
    uv_pipe_t socket; /* open from STARTING to DRAINING */
    struct stream out, err;
    bool collects; /* else the streams are the caller's */
    uv_timer_t timer;
    uv_poll_t death; /* watches `pidfd` */
    int pidfd;
    unsigned open_handles; /* the memory is freed when none is left */
    struct helper launcher;
    enum state state;
    struct buf in;
    struct arena *arena; /* what the result looks into */
    struct command_result result;
    bool has_result; /* its end is known */
    uint64_t started_at;
    const char *const *must_not_appear;
    const char *quarantine;
    command_started_fn *started;
    command_done_fn *done; /* NULL: nobody waits any more */
    void *user;
    char chunk[1 << 16];
};

struct pending_write {
    uv_write_t request;
    struct buf bytes;
};

static void step_to(struct command *c, enum state state);

static void on_handle_closed(uv_handle_t *handle)
{
    struct command *c = handle->data;
    if (--c->open_handles)
        return;
    close_fd(&c->pidfd);
    helper_finish(&c->launcher);
    buf_finish(&c->in);
    collector_finish(&c->out.text);
    collector_finish(&c->err.text);
    arena_destroy(c->arena);
    free(c);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_handle_closed);
}

static void close_all(struct command *c)
{
    close_handle(&c->socket);
    if (c->collects) {
        close_handle(&c->out.pipe);
        close_handle(&c->err.pipe);
    }
    close_handle(&c->timer);
    close_handle(&c->death);
}

static void set_result(struct command *c, enum command_end end)
{
    if (c->has_result)
        return;
    c->has_result = true;
    c->result.end = end;
}

static struct command_stream stream_result(struct stream *s)
{
    return (struct command_stream){ .head = buf_str(&s->text.head),
        .tail = collector_tail(&s->text),
        .dropped = collector_dropped(&s->text),
        .dropped_lines = collector_dropped_lines(&s->text) };
}

static void finish(struct command *c)
{
    struct command_result *r = &c->result;
    command_done_fn *done = c->done;
    c->state = DONE;
    r->duration_ms = (uv_hrtime() - c->started_at) / 1000000;
    strays_remove(
            c->must_not_appear, c->quarantine, c->arena, &r->strays, &r->stray_count);
    r->out = stream_result(&c->out);
    r->err = stream_result(&c->err);
    c->done = NULL;
    if (done)
        done(c->user, r);
    close_all(c);
}

static bool streams_have_ended(const struct command *c)
{
    return !c->collects || (c->out.has_ended && c->err.has_ended);
}

/* Does nothing hold its streams any more?  Those of the caller we cannot see. */
static bool is_drained(const struct command *c)
{
    return c->collects ? streams_have_ended(c) : !c->result.left_running;
}

/* It is over when everything is gone and everything is read. */
static void check_end(struct command *c)
{
    if (c->state == DRAINING && is_drained(c))
        step_to(c, CLOSING);
    else if (c->state == GONE && streams_have_ended(c))
        finish(c);
}

static void on_timer(uv_timer_t *timer)
{
    struct command *c = timer->data;
    switch (c->state) {
    case STARTING:
        set_result(c, COMMAND_TIMED_OUT);
        step_to(c, CLOSING);
        break;
    case RUNNING:
        set_result(c, COMMAND_TIMED_OUT);
        step_to(c, STOPPING);
        break;
    case STOPPING:
    case DRAINING:
        step_to(c, CLOSING);
        break;
    case CLOSING: /* the launcher hangs: on_death() follows */
        helper_signal(&c->launcher, SIGKILL);
        break;
    case GONE:
        finish(c);
        break;
    case DONE:
        break;
    }
}

static void on_written(uv_write_t *request, int failure UNUSED)
{
    struct pending_write *p = (struct pending_write *)request;
    buf_finish(&p->bytes);
    free(p);
}

/* Takes over `bytes`. */
static void send_bytes(struct command *c, struct buf bytes)
{
    struct pending_write *p = xcalloc(1, sizeof(*p));
    p->bytes = bytes;
    uv_buf_t out = uv_buf_init(p->bytes.data, (unsigned)p->bytes.len);
    int failure = uv_write(&p->request, (uv_stream_t *)&c->socket, &out, 1, on_written);
    /* A launcher that does not listen any more has closed, and reading will tell. */
    if (failure)
        on_written(&p->request, failure);
}

static void send_order(struct command *c, const struct wire_message *m)
{
    struct buf bytes = BUF(64);
    wire_write(m, &bytes);
    send_bytes(c, bytes);
}

static void send_stop(struct command *c)
{
    const struct wire_message m = { WIRE_STOP, 0, { { NULL, 0 } } };
    send_order(c, &m);
}

static void arm(struct command *c, unsigned ms)
{
    uv_timer_start(&c->timer, on_timer, ms, 0);
}

static void step_to(struct command *c, enum state state)
{
    c->state = state;
    switch (state) {
    case STOPPING:
        send_stop(c);
        arm(c, STOP_MS);
        break;
    case DRAINING:
        arm(c, DRAIN_MS);
        check_end(c);
        break;
    case CLOSING:
        close_handle(&c->socket);
        arm(c, CLOSE_MS);
        break;
    case GONE:
        arm(c, DRAIN_MS);
        check_end(c);
        break;
    case STARTING:
    case RUNNING:
    case DONE:
        break;
    }
}

/* "12": false if it is none or too large. */
static bool parse_number(struct str text, int *out)
{
    int64_t n;
    if (!str_int(text, &n) || n < INT_MIN || n > INT_MAX)
        return false;
    *out = (int)n;
    return true;
}

static void explain_failure(struct command *c, struct str step, int error)
{
    struct error *err = &c->result.error;
    c->result.error_number = error;
    if (str_is(step, "program")) {
        error_errno(err, error, "cannot run the program");
        if (error == ENOEXEC)
            error_hint(err, "It is no program, or a script without a '#!' line.");
        if (error == E2BIG)
            error_hint(err, "The arguments and the environment are too long together.");
    } else {
        error_errno(err, error, "cannot start the command: %.*s", STR_ARG(step));
    }
}

static bool on_not_started(struct command *c, const struct wire_message *m)
{
    int error;
    if (m->count != 2 || !parse_number(m->fields[1], &error))
        return false;
    explain_failure(c, m->fields[0], error);
    set_result(c, COMMAND_NOT_STARTED);
    step_to(c, CLOSING);
    return true;
}

static bool on_ended(struct command *c, const struct wire_message *m)
{
    int left;
    if (m->count != 2 || !parse_number(m->fields[0], &c->result.status) ||
            !parse_number(m->fields[1], &left) || left < 0)
        return false;
    c->result.left_running = (unsigned)left;
    set_result(c, COMMAND_EXITED);
    step_to(c, DRAINING);
    return true;
}

static bool on_started(struct command *c, const struct wire_message *m)
{
    if (m->count != 1)
        return false;
    c->result.confinement = arena_str(c->arena, m->fields[0]);
    c->state = RUNNING; /* the timer goes on */
    if (c->started && c->done)
        c->started(c->user);
    return true;
}

static bool on_message(struct command *c, const struct wire_message *m)
{
    if (c->state == STARTING && m->kind == WIRE_STARTED)
        return on_started(c, m);
    if (c->state == STARTING && m->kind == WIRE_NOT_STARTED)
        return on_not_started(c, m);
    if ((c->state == RUNNING || c->state == STOPPING) && m->kind == WIRE_ENDED)
        return on_ended(c, m);
    return false;
}

static void take_messages(struct command *c)
{
    struct str bytes = buf_str(&c->in);
    struct wire_message m;
    struct error err;
    bool got = true, good = true;
    while (good && c->state < CLOSING) {
        good = wire_parse(&bytes, &m, &got, &err);
        if (!good || !got)
            break;
        good = on_message(c, &m);
    }
    if (!good) {
        error_set(&c->result.error, ERR_IO, "the command's keeper sent nonsense");
        set_result(c, COMMAND_LOST);
        step_to(c, CLOSING);
    }
    size_t used = c->in.len - bytes.len;
    c->in.len = bytes.len;
    if (used && c->in.len)
        memmove(c->in.data, c->in.data + used, c->in.len);
}

/* What the launcher said last, before its end: the loop may tell that first. */
static void read_rest(struct command *c)
{
    int fd;
    while (c->state < CLOSING && !uv_fileno((uv_handle_t *)&c->socket, &fd)) {
        char *to = buf_reserve(&c->in, CHUNK);
        ssize_t n = to ? recv(fd, to, CHUNK, MSG_DONTWAIT) : 0;
        if (n <= 0)
            return;
        c->in.len += (size_t)n;
        take_messages(c);
    }
}

static void on_reaped(struct command *c, int status)
{
    char how[64];
    read_rest(c);
    helper_describe_status(status, how, sizeof(how));
    if (!c->has_result)
        error_set(&c->result.error, ERR_IO, "the command's keeper is gone: %s", how);
    set_result(c, COMMAND_LOST);
    close_handle(&c->socket);
    step_to(c, GONE);
}

static void on_death(uv_poll_t *poll, int failure UNUSED, int events UNUSED)
{
    struct command *c = poll->data;
    int status;
    if (!helper_reap(&c->launcher, &status))
        return;
    uv_poll_stop(poll);
    on_reaped(c, status);
}

static void on_socket_alloc(uv_handle_t *handle, size_t wanted UNUSED, uv_buf_t *out)
{
    struct command *c = handle->data;
    char *to = buf_reserve(&c->in, CHUNK);
    *out = uv_buf_init(to, to ? (unsigned)CHUNK : 0);
}

/* Its end means nothing by itself: the launcher goes next, and that is what counts. */
static void on_socket_read(uv_stream_t *socket, ssize_t n, const uv_buf_t *unused UNUSED)
{
    struct command *c = socket->data;
    if (n < 0) {
        uv_read_stop(socket);
        if (n == UV_ENOBUFS && c->state < CLOSING)
            step_to(c, CLOSING);
        return;
    }
    c->in.len += (size_t)n;
    take_messages(c);
}

static void on_stream_alloc(uv_handle_t *handle, size_t wanted UNUSED, uv_buf_t *out)
{
    struct command *c = handle->data;
    *out = uv_buf_init(c->chunk, sizeof(c->chunk));
}

static void on_stream_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    struct command *c = pipe->data;
    struct stream *s = pipe == (uv_stream_t *)&c->out.pipe ? &c->out : &c->err;
    if (n > 0) {
        collector_add(&s->text, (struct str){ bytes->base, (size_t)n });
    } else if (n < 0) {
        uv_read_stop(pipe);
        s->has_ended = true;
        check_end(c);
    }
}

/* Names in the arena, so that the spec need not live on. */
static const char *const *copy_strings(const char *const *strings, struct arena *arena)
{
    size_t count = 0;
    while (strings && strings[count])
        count++;
    const char **copy = arena_zalloc(arena, (count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_cstr(arena, str_of(strings[i]));
    return copy;
}

static void open_pipe(uv_loop_t *loop, struct command *c, uv_pipe_t *pipe, int fd)
{
    uv_pipe_init(loop, pipe, 0);
    uv_pipe_open(pipe, fd);
    pipe->data = c;
    c->open_handles++;
}

static void watch_launcher(uv_loop_t *loop, struct command *c)
{
    uv_poll_init(loop, &c->death, c->pidfd);
    c->death.data = c;
    c->open_handles++;
    uv_poll_start(&c->death, UV_READABLE, on_death);
}

static void collect(uv_loop_t *loop, struct command *c, const struct command_spec *spec,
        int out, int err)
{
    c->collects = true;
    collector_init(&c->out.text, spec->keep_bytes, spec->keep_tail_bytes);
    collector_init(&c->err.text, spec->keep_bytes, spec->keep_tail_bytes);
    open_pipe(loop, c, &c->out.pipe, out);
    open_pipe(loop, c, &c->err.pipe, err);
    uv_read_start((uv_stream_t *)&c->out.pipe, on_stream_alloc, on_stream_read);
    uv_read_start((uv_stream_t *)&c->err.pipe, on_stream_alloc, on_stream_read);
}

static void begin(uv_loop_t *loop, struct command *c, const struct command_spec *spec)
{
    c->started_at = uv_hrtime();
    c->must_not_appear = copy_strings(spec->must_not_appear, c->arena);
    if (spec->quarantine)
        c->quarantine = arena_cstr(c->arena, str_of(spec->quarantine));
    open_pipe(loop, c, &c->socket, c->launcher.socket);
    c->launcher.socket = -1;
    uv_timer_init(loop, &c->timer);
    c->timer.data = c;
    c->open_handles++;
    watch_launcher(loop, c);
    uv_read_start((uv_stream_t *)&c->socket, on_socket_alloc, on_socket_read);
    uv_update_time(loop); /* starting a process takes its time */
    arm(c, spec->timeout_ms);
}

/* The launcher, with `streams` as the command's. */
static struct command *create(const struct command_spec *spec, const int *streams,
        command_done_fn *done, void *user, struct error *err)
{
    static const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
    const struct helper_spec helper = {
        .path = spec->launcher, .env = env, .fds = streams, .fd_count = 3
    };
    struct helper launcher;
    if (!helper_spawn(&helper, &launcher, err))
        return NULL;
    int pidfd = helper_pidfd(&launcher);
    if (pidfd < 0) {
        error_errno(err, errno, "cannot watch a process (this needs Linux 5.3)");
        helper_finish(&launcher);
        return NULL;
    }
    struct command *c = xcalloc(1, sizeof(*c));
    c->launcher = launcher;
    c->pidfd = pidfd;
    c->in = BUF(MAX_ANSWER);
    c->arena = arena_create();
    c->result.confinement = STR("");
    c->started = spec->started;
    c->done = done;
    c->user = user;
    return c;
}

static struct command *create_collecting(uv_loop_t *loop, const struct command_spec *spec,
        command_done_fn *done, void *user, struct error *err)
{
    int out[2], errors[2];
    auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (pipe2(out, O_CLOEXEC)) {
        error_errno(err, errno, "cannot make a pipe");
        return NULL;
    }
    auto_fd int our_out = out[OURS];
    auto_fd int their_out = out[THEIRS];
    if (null < 0 || pipe2(errors, O_CLOEXEC)) {
        error_errno(err, errno, "cannot make a pipe");
        return NULL;
    }
    auto_fd int our_errors = errors[OURS];
    auto_fd int their_errors = errors[THEIRS];
    const int streams[] = { null, their_out, their_errors };
    struct command *c = create(spec, streams, done, user, err);
    if (!c)
        return NULL;
    collect(loop, c, spec, our_out, our_errors);
    our_out = our_errors = -1;
    return c;
}

bool command_start(uv_loop_t *loop, const struct command_spec *spec,
        command_done_fn *done, void *user, struct command **out, struct error *err)
{
    auto_buf job = BUF(WIRE_MAX_MESSAGE + 64);
    if (!command_job_write(spec, &job, err))
        return false;
    struct command *c = spec->streams ? create(spec, spec->streams, done, user, err)
                                      : create_collecting(loop, spec, done, user, err);
    if (!c)
        return false;
    begin(loop, c, spec);
    send_bytes(c, job);
    job = BUF(0);
    *out = c;
    return true;
}

void command_stop(struct command *c)
{
    set_result(c, COMMAND_TIMED_OUT);
    if (c->state == STARTING)
        step_to(c, CLOSING);
    else if (c->state == RUNNING)
        step_to(c, STOPPING);
}

void command_cancel(struct command *c)
{
    c->done = NULL;
    command_stop(c);
}

void command_signal(struct command *c, int signal)
{
    char number[16];
    if (c->state != RUNNING && c->state != STOPPING)
        return;
    snprintf(number, sizeof(number), "%d", signal);
    const struct wire_message m = { WIRE_SIGNAL, 1, { str_of(number) } };
    send_order(c, &m);
}

void command_kill(struct command *c)
{
    c->done = NULL;
    set_result(c, COMMAND_TIMED_OUT);
    if (c->state < CLOSING)
        step_to(c, CLOSING);
}

void command_destroy(struct command *c)
{
    if (!c)
        return;
    int status;
    struct pollfd gone = { .fd = c->pidfd, .events = POLLIN };
    c->done = NULL;
    c->state = DONE;
    close_handle(&c->socket); /* at which the launcher kills everything and ends */
    poll(&gone, 1, CLOSE_MS);
    if (helper_reap(&c->launcher, &status))
        strays_remove(c->must_not_appear, c->quarantine, c->arena, &c->result.strays,
                &c->result.stray_count);
    close_all(c);
}
