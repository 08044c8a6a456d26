#include "session/python-broker.h"

#include "base/log.h"
#include "broker/approved.h"
#include "broker/problems.h"
#include "session/python-request.h"
#include "session/python-stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAMS        PYTHON_REQUEST_STREAMS
#define MAX_A_TURN     8    /* requests, before the loop gets its turn again */
#define AFTER_GRACE_MS 1000 /* the run's own end comes first */
#define MAX_TEXT       ((size_t)16 << 10) /* of a reply; six times that as JSON at most */
#define MAX_REPLY      PYTHON_REQUEST_MAX
#define MAX_WHOLE      ((size_t)1 << 17) /* of a text before it is cut */

struct reply {
    struct reply *next;
    struct buf json;
};

/* One command of a run. */
struct spawned {
    struct spawned *next;
    struct run *run;
    int64_t id;
    struct arena *arena; /* the request and the plan */
    struct command_plan plan;
    struct approved *command;
    bool has_started;
    int signal;         /* that came before it had started, or 0 */
    bool was_signalled; /* what it leaves running then is nobody's surprise */
};

/* The socket of a run. */
struct run {
    struct run *next;
    struct python_broker *owner;
    uv_poll_t poll;
    int fd;
    uint64_t end_ms; /* of the loop's clock: when commands have to be over */
    int64_t last_id;
    unsigned requests;
    struct spawned *commands;
    size_t count;
    struct reply *replies, **replies_end; /* that the socket has no room for */
    struct buf told;                      /* notes */
    bool has_poll;
    bool is_closed; /* nobody is listened to any more */
    char in[PYTHON_REQUEST_MAX + 1];
};

struct python_broker {
    struct python_broker_config config;
    struct run *runs;
    bool problems_told; /* of commands */
};

static void on_ready(uv_poll_t *poll, int failure, int events);

static void add(struct spawned *s)
{
    s->next = s->run->commands;
    s->run->commands = s;
    s->run->count++;
}

static void take_off(struct spawned *s)
{
    struct spawned **at = &s->run->commands;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->run->count--;
}

static void destroy(struct spawned *s)
{
    arena_destroy(s->arena);
    free(s);
}

static void kill_all(struct run *r)
{
    while (r->commands) {
        struct spawned *s = r->commands;
        approved_kill(s->command);
        take_off(s);
        destroy(s);
    }
}

static void drop_replies(struct run *r)
{
    while (r->replies) {
        struct reply *first = r->replies;
        r->replies = first->next;
        buf_finish(&first->json);
        free(first);
    }
    r->replies_end = &r->replies;
}

/* Not to listen any more; the rest is done at the end of the run. */
static void hang_up(struct run *r)
{
    if (r->is_closed)
        return;
    r->is_closed = true;
    if (r->has_poll)
        uv_poll_stop(&r->poll);
    shutdown(r->fd, SHUT_RDWR);
    drop_replies(r);
    kill_all(r);
}

/* A reply that cannot be sent waits, and nothing is read until it is gone. */
static void watch(struct run *r)
{
    if (!r->is_closed)
        uv_poll_start(&r->poll, r->replies ? UV_WRITABLE : UV_READABLE, on_ready);
}

static void send_replies(struct run *r)
{
    while (r->replies) {
        struct reply *first = r->replies;
        struct str json = buf_str(&first->json);
        if (send(r->fd, json.data, json.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            if (errno != EAGAIN && errno != EINTR)
                hang_up(r);
            break;
        }
        r->replies = first->next;
        if (!r->replies)
            r->replies_end = &r->replies;
        buf_finish(&first->json);
        free(first);
    }
    watch(r);
}

/* Takes over `json`. */
static void reply(struct run *r, json_t *json)
{
    if (r->is_closed) {
        json_decref(json);
        return;
    }
    struct reply *new = xcalloc(1, sizeof(*new));
    new->json = BUF(MAX_REPLY);
    json_write(json, &new->json);
    json_decref(json);
    *r->replies_end = new;
    r->replies_end = &new->next;
    if (r->replies == new)
        send_replies(r);
}

static void reply_refused(struct run *r, int64_t id, const struct refusal *why)
{
    auto_buf text = BUF(MAX_WHOLE);
    refusal_write(why, &text);
    reply(r, json_pack("{s:I, s:o}", "id", (json_int_t)id, "refused",
                     json_text(str_sub(buf_str(&text), 0, MAX_TEXT))));
}

static void reply_failed(struct run *r, int64_t id, int error, const char *text)
{
    reply(r, json_pack("{s:I, s:i, s:o}", "id", (json_int_t)id, "errno", error, "text",
                     json_text(str_of(text))));
}

static int errno_of(enum error_code code)
{
    switch (code) {
    case ERR_NOT_FOUND:
        return ENOENT;
    case ERR_DENIED:
        return EACCES;
    case ERR_LIMIT:
        return E2BIG;
    case ERR_NONE:
    case ERR_INVALID:
    case ERR_EXISTS:
    case ERR_TIMEOUT:
    case ERR_CANCELLED:
    case ERR_UNSUPPORTED:
    case ERR_IO:
    case ERR_BUG:
        break;
    }
    return EIO;
}

static void tell_not_started(struct spawned *s, const struct command_result *result)
{
    const struct error *err = &result->error;
    int number = result->error_number ? result->error_number : errno_of(err->code);
    auto_buf text = BUF(sizeof(*err));
    buf_addf(&text, "%s%s%s", err->message, err->hint[0] ? ". " : "", err->hint);
    if (result->end == COMMAND_TIMED_OUT)
        reply_failed(s->run, s->id, ETIMEDOUT, "the time of the snippet is over");
    else
        reply_failed(s->run, s->id, number, text.data);
}

/* For the snippet's stderr, which has it already if many commands say the same. */
static void write_notes(
        struct spawned *s, const struct command_result *result, struct buf *out)
{
    auto_buf all = BUF(MAX_WHOLE);
    struct command_result shown = *result;
    if (s->was_signalled)
        shown.left_running = 0;
    approved_notes(&s->plan, &shown, &all);
    if (result->end == COMMAND_LOST)
        buf_addf(&all, "[paddock: the command was lost: %s]\n", result->error.message);
    struct str lines = buf_str(&all), told = buf_str(&s->run->told);
    while (lines.len) {
        struct str line = str_cut(&lines, '\n');
        if (told.len && memmem(told.data, told.len, line.data, line.len))
            continue;
        buf_addf(out, "%.*s\n", STR_ARG(line));
    }
    buf_add(&s->run->told, buf_str(out));
}

static void tell_ended(struct spawned *s, const struct command_result *result)
{
    auto_buf notes = BUF(MAX_WHOLE);
    write_notes(s, result, &notes);
    int status = result->end == COMMAND_EXITED ? result->status : SIGKILL;
    reply(s->run, json_pack("{s:I, s:i, s:o}", "id", (json_int_t)s->id, "ended", status,
                          "notes", json_text(str_sub(buf_str(&notes), 0, MAX_TEXT))));
}

/* A reply may be the end of the run's commands, so that this one is none of them then. */
static void on_done(
        void *user, const struct command_result *result, const struct refusal *refusal)
{
    struct spawned *s = user;
    take_off(s);
    if (result)
        problems_tell(result->confinement, &s->run->owner->problems_told);
    if (refusal)
        reply_refused(s->run, s->id, refusal);
    else if (s->has_started)
        tell_ended(s, result);
    else
        tell_not_started(s, result);
    destroy(s);
}

static void on_started(void *user)
{
    struct spawned *s = user;
    s->has_started = true;
    if (s->signal)
        approved_signal(s->command, s->signal);
    reply(s->run, json_pack("{s:I, s:b}", "id", (json_int_t)s->id, "started", 1));
}

static unsigned time_left(const struct run *r)
{
    uint64_t now = uv_now(r->owner->config.loop);
    return r->end_ms > now ? (unsigned)(r->end_ms - now) : 1;
}

static bool refuse_streams(const int *streams, struct refusal *why)
{
    static const char *const names[] = { "stdin", "stdout", "stderr" };
    for (size_t i = 0; i < STREAMS; i++)
        if (!python_stream_check(streams[i], names[i], why))
            return true;
    return false;
}

static bool decide(struct spawned *s, const struct python_broker_request *request,
        const int *streams, struct refusal *why)
{
    const struct python_broker_config *config = &s->run->owner->config;
    bool allowed = false;
    if (!config->policy->shell_count) {
        refusal_begin(why, "command", NULL);
        buf_add(&why->what, STR("No shell policies are configured, so that no command "
                                "can be started"));
        buf_add(&why->rule, STR("only what a [shell.*] section is for is started"));
        buf_add(&why->hint, STR("The owner of the workspace can add a section for the "
                                "program to .pyddock/pyddock.toml."));
    } else if (!refuse_streams(streams, why)) {
        allowed = command_decide(
                config->commands, &request->command, s->arena, &s->plan, why);
    }
    approved_record(config->audit, &request->command, request->caller, !allowed);
    return allowed;
}

static bool start_planned(struct spawned *s, const int *streams, struct error *err)
{
    const struct python_broker_config *config = &s->run->owner->config;
    const struct approved_spec spec = {
        .loop = config->loop,
        .launcher = config->launcher,
        .paths = config->paths,
        .plan = &s->plan,
        .arena = s->arena,
        .timeout_ms = time_left(s->run),
        .keep_bytes = MAX_TEXT, /* of what is asked first */
        .streams = streams,
        .started = on_started,
    };
    return approved_start(&spec, on_done, s, &s->command, err);
}

/* Takes over the arena, in which the request is. */
static void start(struct run *r, const struct python_broker_request *request,
        struct arena *arena, const int *streams)
{
    struct spawned *s = xcalloc(1, sizeof(*s));
    struct error err = { 0 };
    auto_refusal why;
    refusal_init(&why);
    *s = (struct spawned){ .run = r, .id = request->id, .arena = arena };
    bool allowed = decide(s, request, streams, &why);
    if (allowed && start_planned(s, streams, &err)) {
        add(s);
        return;
    }
    destroy(s);
    if (allowed)
        reply_failed(r, request->id, errno_of(err.code), err.message);
    else
        reply_refused(r, request->id, &why);
}

static bool is_too_much(const struct run *r, struct buf *why)
{
    if (r->count >= PYTHON_MAX_COMMANDS)
        buf_addf(why, "%zu commands of this snippet run already; wait for one to end",
                r->count);
    else if (r->requests > PYTHON_MAX_REQUESTS)
        buf_addf(why, "no snippet starts more than %d commands", PYTHON_MAX_REQUESTS);
    return why->len;
}

/* Takes over the arena. */
static void spawn(struct run *r, const struct python_broker_request *request,
        struct arena *arena, const int *streams)
{
    auto_buf why = BUF(200);
    int64_t id = r->last_id = request->id;
    if (!is_too_much(r, &why)) {
        start(r, request, arena, streams);
        return;
    }
    arena_destroy(arena);
    reply_failed(r, id, EAGAIN, why.data);
}

/* One that has ended meanwhile is no mistake. */
static void pass_signal(struct run *r, const struct python_broker_request *request)
{
    for (struct spawned *s = r->commands; s; s = s->next) {
        if (s->id != request->id)
            continue;
        s->was_signalled = true;
        if (s->has_started)
            approved_signal(s->command, request->number);
        else
            s->signal = request->number;
    }
}

/* False: not one to listen to. */
static bool obey(struct run *r, struct str json, const int *streams, size_t count)
{
    struct python_broker_request request;
    struct error err;
    struct arena *arena = arena_create();
    bool parsed = python_request_parse(json, arena, &request, &err);
    if (parsed && request.kind == PYTHON_SPAWN && count == STREAMS &&
            request.id > r->last_id) {
        spawn(r, &request, arena, streams);
        return true;
    }
    bool good = parsed && request.kind == PYTHON_SIGNAL && !count;
    if (good)
        pass_signal(r, &request);
    arena_destroy(arena);
    return good;
}

/* Descriptors of a message, `*count` of them in `fds`, which has room for `most`. */
static void take_descriptors(struct msghdr *message, int *fds, size_t most, size_t *count)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (*count < most)
                fds[(*count)++] = fd;
            else
                close(fd);
        }
    }
}

enum received { NOTHING, MESSAGE, NONSENSE, END };

static enum received receive(struct run *r)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE((STREAMS + 1) * sizeof(int))];
    struct iovec bytes = { r->in, sizeof(r->in) };
    struct msghdr message = { .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control) };
    int fds[STREAMS + 2] = { -1, -1, -1, -1, -1 };
    size_t count = 0;
    ssize_t n = recvmsg(r->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? NOTHING : END;
    if (!n && !message.msg_controllen)
        return END;
    take_descriptors(&message, fds, ARRAY_LEN(fds), &count);
    bool whole = n > 0 && (size_t)n <= PYTHON_REQUEST_MAX &&
                 !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
                 ++r->requests <= 2 * PYTHON_MAX_REQUESTS;
    bool good = whole && obey(r, (struct str){ r->in, (size_t)n }, fds, count);
    for (size_t i = 0; i < count; i++)
        close_fd(&fds[i]);
    return good ? MESSAGE : NONSENSE;
}

static void on_ready(uv_poll_t *poll, int failure, int events)
{
    struct run *r = poll->data;
    if (failure) {
        hang_up(r);
        return;
    }
    if (events & UV_WRITABLE)
        send_replies(r);
    for (unsigned i = 0; i < MAX_A_TURN && !r->replies && !r->is_closed; i++) {
        enum received received = receive(r);
        if (received == NONSENSE)
            log_line(LOG_WARN,
                    "a snippet's process sent its broker what no snippet does; "
                    "its commands are ended");
        if (received == NONSENSE || received == END)
            hang_up(r);
        if (received != MESSAGE)
            return;
    }
}

static void *start_run(void *user, int fd, unsigned timeout_ms)
{
    struct python_broker *b = user;
    struct run *r = xcalloc(1, sizeof(*r));
    uint64_t most = timeout_ms ? timeout_ms : b->config.policy->max_timeout_ms;
    r->next = b->runs;
    r->owner = b;
    r->fd = fd;
    r->end_ms = uv_now(b->config.loop) + most + PYTHON_GRACE_MS + AFTER_GRACE_MS;
    r->replies_end = &r->replies;
    r->told = BUF(MAX_WHOLE);
    b->runs = r;
    r->poll.data = r;
    r->has_poll = !uv_poll_init(b->config.loop, &r->poll, fd);
    if (r->has_poll)
        watch(r);
    else
        hang_up(r);
    return r;
}

static void destroy_run(struct run *r)
{
    close_fd(&r->fd);
    buf_finish(&r->told);
    free(r);
}

static void on_closed(uv_handle_t *handle)
{
    destroy_run(handle->data);
}

static void end_run(void *session)
{
    struct run *r = session;
    struct run **at = &r->owner->runs;
    hang_up(r);
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (r->has_poll)
        uv_close((uv_handle_t *)&r->poll, on_closed);
    else
        destroy_run(r);
}

const struct python_broker_fns python_broker_fns = {
    .start = start_run,
    .end = end_run,
};

struct python_broker *python_broker_create(const struct python_broker_config *config)
{
    struct python_broker *b = xcalloc(1, sizeof(*b));
    b->config = *config;
    return b;
}

size_t python_broker_commands(const struct python_broker *b)
{
    size_t count = 0;
    for (const struct run *r = b->runs; r; r = r->next)
        count += r->count;
    return count;
}

void python_broker_destroy(struct python_broker *b)
{
    if (!b)
        return;
    while (b->runs)
        end_run(b->runs);
    free(b);
}
