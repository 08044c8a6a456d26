#include "peer/link.h"

#include "broker/collect.h"
#include "peer/message.h"
#include "peer/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define CHUNK 16384
/* From the end of the output to that of the process, and the other way round. */
#define REST_MS 300

#define KEEP_HEAD  ((size_t)1 << 10) /* of stderr */
#define KEEP_TAIL  ((size_t)2 << 10)
#define SHOW_BYTES ((size_t)1500) /* of that */
#define MAX_SHOWN  ((size_t)6000) /* the same as it is shown */

struct peer_link {
    struct peer_link *next;
    struct link_list *list;     /* NULL: taken off */
    struct command *command;    /* that, or */
    struct peer_bridge *bridge; /* this runs; both NULL: it has ended */
    uv_pipe_t in, out, err;     /* as the process has them */
    uv_timer_t timer;
    uv_idle_t next_turn; /* active: reading goes on then */
    unsigned open_handles;
    size_t expected; /* bytes that may still come */
    uv_shutdown_t shutdown;
    struct lines lines;
    struct collector said;            /* on stderr */
    const struct link_events *events; /* NULL: it is closing, or its end is told */
    void *user;
    bool is_closing, is_killed;
    bool has_eof, has_said_all; /* of its output, of stderr */
    char how[600];              /* it ended; "" until that is known */
    char chunk[CHUNK];
};

struct pending_write {
    uv_write_t request;
    struct buf bytes;
    size_t sent; /* before libuv took over */
};

static void unlist(struct peer_link *l)
{
    struct peer_link **at = l->list ? &l->list->first : NULL;
    if (!at)
        return;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    l->list = NULL;
}

static bool has_process(const struct peer_link *l)
{
    return l->command || l->bridge;
}

/* When its handles and its process are gone. */
static void free_if_done(struct peer_link *l)
{
    if (l->open_handles || has_process(l))
        return;
    unlist(l);
    lines_finish(&l->lines);
    collector_finish(&l->said);
    free(l);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct peer_link *l = handle->data;
    l->open_handles--;
    free_if_done(l);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_handle_closed);
}

static void close_all(struct peer_link *l)
{
    close_handle(&l->in);
    close_handle(&l->out);
    close_handle(&l->err);
    close_handle(&l->timer);
    close_handle(&l->next_turn);
}

static void add_last_words(struct peer_link *l, struct buf *out)
{
    auto_buf said = BUF(KEEP_HEAD + KEEP_TAIL);
    if (!collector_dropped(&l->said))
        buf_add(&said, buf_str(&l->said.head));
    buf_add(&said, collector_tail(&l->said));
    struct str text = buf_str(&said);
    while (text.len && strchr(" \t\r\n", text.data[text.len - 1]))
        text.len--;
    if (!text.len)
        return;
    if (text.len > SHOW_BYTES)
        text = str_from(text, text.len - SHOW_BYTES);
    buf_add(out, STR("; the last of its stderr:" PEER_INDENTED));
    peer_add_text(text, MAX_SHOWN, PEER_INDENTED, out);
}

/* Once. */
static void tell_end(struct peer_link *l)
{
    const struct link_events *events = TAKE(l->events);
    if (!events)
        return;
    auto_buf how = BUF(sizeof(l->how) + MAX_SHOWN + 64);
    buf_add(&how, l->how[0] ? str_of(l->how) : STR("closed its input or output"));
    add_last_words(l, &how);
    events->ended(l->user, buf_str(&how));
}

static void on_rest(uv_timer_t *timer)
{
    tell_end(timer->data);
}

/* Nothing that it wrote is to be lost, and its status is worth a short wait. */
static void check_end(struct peer_link *l)
{
    if (!l->events)
        return;
    if (l->has_eof && !has_process(l))
        tell_end(l);
    else if (!uv_is_active((uv_handle_t *)&l->timer))
        uv_timer_start(&l->timer, on_rest, REST_MS, 0);
}

static void describe_end(struct peer_link *l, const struct command_result *r)
{
    char *how = l->how;
    switch (r->end) {
    case COMMAND_EXITED:
        helper_describe_status(r->status, how, sizeof(l->how));
        break;
    case COMMAND_NOT_STARTED:
        snprintf(how, sizeof(l->how), "could not be started: %s", r->error.message);
        break;
    case COMMAND_LOST:
    case COMMAND_TIMED_OUT:
        snprintf(how, sizeof(l->how), "was lost: %s", r->error.message);
        break;
    }
}

static void on_process_done(struct peer_link *l)
{
    if (l->is_closing) {
        close_all(l);
        free_if_done(l);
    } else {
        check_end(l);
    }
}

static void on_command_done(void *user, const struct command_result *result)
{
    struct peer_link *l = user;
    l->command = NULL;
    describe_end(l, result);
    on_process_done(l);
}

static void on_bridge_done(void *user, int status)
{
    struct peer_link *l = user;
    l->bridge = NULL;
    helper_describe_status(status, l->how, sizeof(l->how));
    on_process_done(l);
}

static void on_alloc(uv_handle_t *handle, size_t wanted UNUSED, uv_buf_t *out)
{
    struct peer_link *l = handle->data;
    *out = uv_buf_init(l->chunk, sizeof(l->chunk));
}

static void on_out(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes);
static void on_err(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes);

static void read_on(uv_pipe_t *pipe, uv_read_cb on_read)
{
    if (!uv_is_closing((uv_handle_t *)pipe))
        uv_read_start((uv_stream_t *)pipe, on_alloc, on_read);
}

static void on_next_turn(uv_idle_t *idle)
{
    struct peer_link *l = idle->data;
    uv_idle_stop(idle);
    if (!l->has_eof)
        read_on(&l->out, on_out);
    if (!l->has_said_all)
        read_on(&l->err, on_err);
}

/* Who floods gets one piece read a turn of the loop, as libuv would go on for a long
 * time: others have their turn, too. */
static void end_turn(struct peer_link *l, uv_stream_t *pipe, ssize_t n)
{
    if (n < CHUNK || uv_is_closing((uv_handle_t *)&l->next_turn))
        return;
    uv_read_stop(pipe);
    uv_idle_start(&l->next_turn, on_next_turn);
}

static void take(struct peer_link *l, struct str bytes)
{
    if (bytes.len > l->expected) {
        l->events->too_much(l->user);
        return;
    }
    l->expected -= bytes.len;
    lines_add(&l->lines, bytes);
}

static void on_out(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    struct peer_link *l = pipe->data;
    if (n > 0 && l->events)
        take(l, (struct str){ bytes->base, (size_t)n });
    end_turn(l, pipe, n);
    if (n >= 0)
        return;
    uv_read_stop(pipe);
    l->has_eof = true;
    if (l->events)
        lines_end(&l->lines);
    check_end(l);
}

static void on_err(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    struct peer_link *l = pipe->data;
    if (n > 0)
        collector_add(&l->said, (struct str){ bytes->base, (size_t)n });
    end_turn(l, pipe, n);
    if (n >= 0)
        return;
    l->has_said_all = true;
    uv_read_stop(pipe);
}

/* Between two lines of one piece the link may have been closed. */
static void on_line(void *user, struct str line)
{
    struct peer_link *l = user;
    if (l->events)
        l->events->line(l->user, line);
}

static void on_too_long(void *user)
{
    struct peer_link *l = user;
    if (l->events)
        l->events->too_long(l->user);
}

static void open_pipe(struct peer_link *l, uv_loop_t *loop, uv_pipe_t *pipe, int *fd)
{
    uv_pipe_init(loop, pipe, 0);
    uv_pipe_open(pipe, *fd);
    *fd = -1;
    pipe->data = l;
    l->open_handles++;
}

/* Our ends: what is written into [0], what is read from [1] and [2]. */
static void open_handles(struct peer_link *l, uv_loop_t *loop, int *ours)
{
    open_pipe(l, loop, &l->in, &ours[0]);
    open_pipe(l, loop, &l->out, &ours[1]);
    open_pipe(l, loop, &l->err, &ours[2]);
    uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    l->open_handles++;
    uv_idle_init(loop, &l->next_turn);
    l->next_turn.data = l;
    l->open_handles++;
    read_on(&l->out, on_out);
    read_on(&l->err, on_err);
}

/* Three pipes: the process reads from the first and writes into the others. */
static bool make_pipes(int *ours, int *theirs)
{
    for (size_t i = 0; i < 3; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC))
            return false;
        ours[i] = ends[i == 0];
        theirs[i] = ends[i != 0];
    }
    return true;
}

static bool start_command(struct peer_link *l, uv_loop_t *loop,
        const struct command_spec *spec, const int *streams, struct error *err)
{
    struct command_spec with_streams = *spec;
    with_streams.streams = streams;
    with_streams.timeout_ms = UINT_MAX; /* who calls it has a clock */
    return command_start(loop, &with_streams, on_command_done, l, &l->command, err);
}

/* It brings its own pipe for what it says to people. */
static bool start_bridge(struct peer_link *l, uv_loop_t *loop,
        const struct bridge_spec *spec, int *ours, const int *theirs, struct error *err)
{
    int errors;
    if (!peer_bridge_start(loop, spec, theirs[0], theirs[1], on_bridge_done, l,
                &l->bridge, &errors, err))
        return false;
    close_fd(&ours[2]);
    ours[2] = errors;
    return true;
}

static bool start(struct peer_link *l, uv_loop_t *loop,
        const struct link_process *process, int *ours, int *theirs, struct error *err)
{
    if (!make_pipes(ours, theirs))
        return error_errno(err, errno, "cannot make a pipe");
    bool started = process->bridge
                           ? start_bridge(l, loop, process->bridge, ours, theirs, err)
                           : start_command(l, loop, process->command, theirs, err);
    if (started)
        open_handles(l, loop, ours);
    return started;
}

bool link_open(uv_loop_t *loop, struct link_list *list,
        const struct link_process *process, const struct link_events *events, void *user,
        struct peer_link **out, struct error *err)
{
    int ours[] = { -1, -1, -1 }, theirs[] = { -1, -1, -1 };
    struct peer_link *l = xcalloc(1, sizeof(*l));
    bool started = start(l, loop, process, ours, theirs, err);
    for (size_t i = 0; i < 3; i++) {
        close_fd(&ours[i]);
        close_fd(&theirs[i]);
    }
    if (!started) {
        free(l);
        return false;
    }
    lines_init(&l->lines, PEER_MAX_MESSAGE, on_line, on_too_long, l);
    collector_init(&l->said, KEEP_HEAD, KEEP_TAIL);
    l->events = events;
    l->user = user;
    l->list = list;
    l->next = list->first;
    list->first = l;
    *out = l;
    return true;
}

/* It does not read any more: if it does not end either, that is its end. */
static void lose(struct peer_link *l)
{
    if (l->events && !uv_is_active((uv_handle_t *)&l->timer))
        uv_timer_start(&l->timer, on_rest, REST_MS, 0);
}

static void on_written(uv_write_t *request, int failure)
{
    struct pending_write *p = (struct pending_write *)request;
    if (failure && failure != UV_ECANCELED)
        lose(request->handle->data);
    buf_finish(&p->bytes);
    free(p);
}

bool link_send(struct peer_link *l, struct buf bytes)
{
    uv_stream_t *in = (uv_stream_t *)&l->in;
    uv_buf_t all = uv_buf_init(bytes.data, (unsigned)bytes.len);
    int n = l->has_eof || uv_is_closing((uv_handle_t *)in) ? UV_EPIPE
                                                           : uv_try_write(in, &all, 1);
    if (n < 0 && n != UV_EAGAIN) {
        buf_finish(&bytes);
        lose(l);
        return false;
    }
    struct pending_write *p = xcalloc(1, sizeof(*p));
    p->bytes = bytes;
    p->sent = n > 0 ? (size_t)n : 0;
    uv_buf_t rest =
            uv_buf_init(p->bytes.data + p->sent, (unsigned)(p->bytes.len - p->sent));
    p->request.handle = in;
    int failure = rest.len ? uv_write(&p->request, in, &rest, 1, on_written) : 0;
    if (!rest.len || failure)
        on_written(&p->request, failure);
    return true;
}

void link_expect(struct peer_link *l, size_t max_bytes)
{
    l->expected = max_bytes;
}

size_t link_unsent(const struct peer_link *l)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&l->in);
}

static void on_shutdown(uv_shutdown_t *request, int failure UNUSED)
{
    struct peer_link *l = request->data;
    close_handle(&l->in);
}

static void on_close_time(uv_timer_t *timer)
{
    struct peer_link *l = timer->data;
    if (l->command)
        command_stop(l->command);
    if (l->bridge)
        peer_bridge_stop(l->bridge);
    close_handle(&l->in);
    close_handle(&l->timer);
}

static void kill_now(struct peer_link *l)
{
    if (l->command)
        command_kill(TAKE(l->command));
    peer_bridge_destroy(TAKE(l->bridge));
    l->is_killed = true;
    close_all(l);
}

/* Too many at once are a flood of calls to servers that do not end by themselves. */
static void limit_closing(struct link_list *list)
{
    struct peer_link *oldest = NULL;
    size_t count = 0;
    for (struct peer_link *l = list->first; l; l = l->next)
        if (l->is_closing && !l->is_killed) {
            count++;
            oldest = l;
        }
    if (count > LINKS_MAX_CLOSING)
        kill_now(oldest);
}

void link_close(struct peer_link *l, unsigned patience_ms)
{
    l->events = NULL;
    l->is_closing = true;
    if (!has_process(l)) {
        close_all(l);
        return;
    }
    l->shutdown.data = l;
    if (uv_shutdown(&l->shutdown, (uv_stream_t *)&l->in, on_shutdown))
        close_handle(&l->in);
    uv_timer_start(&l->timer, on_close_time, patience_ms, 0);
    limit_closing(l->list);
}

size_t links_running(const struct link_list *list)
{
    size_t count = 0;
    for (const struct peer_link *l = list->first; l; l = l->next)
        count += has_process(l);
    return count;
}

void links_destroy(struct link_list *list)
{
    /* First all begin to end, then each is waited for. */
    for (struct peer_link *l = list->first; l; l = l->next)
        if (l->command)
            command_kill(l->command);
        else if (l->bridge)
            peer_bridge_stop(l->bridge);
    while (list->first) {
        struct peer_link *l = list->first;
        unlist(l);
        l->events = NULL;
        l->is_closing = true;
        command_destroy(TAKE(l->command));
        peer_bridge_destroy(TAKE(l->bridge));
        close_all(l);
    }
}
