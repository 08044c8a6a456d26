#include "session/door.h"

#include "base/log.h"
#include "base/rights.h"
#include "broker/approved.h"
#include "broker/problems.h"
#include "session/door-call.h"
#include "session/door-request.h"
#include "session/door-stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAMS       DOOR_REQUEST_STREAMS
#define MAX_IN_SOCKET 1024 /* requests that may wait there */
#define MAX_A_TURN    8    /* requests, before the loop gets its turn again */
#define GRACE_MS      3000 /* the helper's own end comes first */
#define MAX_TEXT      ((size_t)16 << 10) /* of a reply; six times that as JSON at most */
#define MAX_RULE      ((size_t)2 << 10)
#define MAX_REPLY     DOOR_REPLY_MAX
#define MAX_WHOLE     ((size_t)1 << 17) /* of a text before it is cut */

struct reply {
    struct reply *next;
    struct buf json;
};

/* One command of a run. */
struct spawned {
    struct spawned *next;
    struct door_line *run;
    int64_t id;
    struct arena *arena; /* the request and the plan */
    struct command_plan plan;
    struct approved *command;
    bool has_started;
    int signal;         /* that came before it had started, or 0 */
    bool was_signalled; /* what it leaves running then is nobody's surprise */
};

/* The socket of a run. */
struct door_line {
    struct door_line *next;
    struct door *owner;
    uv_poll_t poll;
    int fd;
    uint64_t end_ms; /* of the loop's clock: when commands have to be over */
    int64_t last_id;
    unsigned requests, asks; /* of this call; asks are requests too */
    struct spawned *commands;
    size_t count;
    struct door_call *calls[DOOR_MAX_CALLS];
    size_t call_count;
    size_t argument_bytes;                /* of all calls so far */
    size_t held;                          /* bytes of results that wait to be read */
    struct reply *replies, **replies_end; /* that the socket has no room for */
    struct buf told;                      /* notes */
    bool has_poll;
    bool is_closed; /* nobody is listened to any more */
    bool rests;     /* between two calls: nothing is started */
    bool has_calls; /* one that asks too often may do better in the next one */
    char in[DOOR_REQUEST_MAX + 1];
};

struct door {
    struct door_config config;
    struct door_line *runs;
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

static void kill_all(struct door_line *r)
{
    while (r->commands) {
        struct spawned *s = r->commands;
        approved_kill(s->command);
        take_off(s);
        destroy(s);
    }
    while (r->call_count)
        door_call_cancel(r->calls[--r->call_count]);
}

static void drop_replies(struct door_line *r)
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
static void hang_up(struct door_line *r)
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
static void watch(struct door_line *r)
{
    if (!r->is_closed)
        uv_poll_start(&r->poll, r->replies ? UV_WRITABLE : UV_READABLE, on_ready);
}

static void send_replies(struct door_line *r)
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
static void reply(struct door_line *r, json_t *json)
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

static json_t *rule_of(const struct refusal *why)
{
    auto_buf text = BUF(MAX_RULE);
    refusal_write_rule(why, &text);
    return json_text(buf_str(&text));
}

static void reply_refused(struct door_line *r, int64_t id, const struct refusal *why)
{
    auto_buf text = BUF(MAX_WHOLE);
    refusal_write(why, &text);
    json_t *json = json_pack("{s:I, s:o, s:o}", "id", (json_int_t)id, "refused",
            json_text(str_sub(buf_str(&text), 0, MAX_TEXT)), "rule", rule_of(why));
    if (!strcmp(why->code, "command"))
        json_object_set_new(json, "unknown", json_true());
    reply(r, json);
}

static void reply_failed(struct door_line *r, int64_t id, int error, const char *text)
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
        reply_failed(s->run, s->id, ETIMEDOUT, "the time of the call is over");
    else
        reply_failed(s->run, s->id, number, text.data);
}

/* For the stderr of the call, which has it already if many commands say the same. */
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

static unsigned time_left(const struct door_line *r)
{
    uint64_t now = uv_now(r->owner->config.loop);
    return r->end_ms > now ? (unsigned)(r->end_ms - now) : 1;
}

static bool refuse_streams(const int *streams, bool files, struct refusal *why)
{
    static const char *const names[] = { "stdin", "stdout", "stderr" };
    for (size_t i = 0; i < STREAMS; i++)
        if (!door_stream_check(streams[i], names[i], files, why))
            return true;
    return false;
}

/* `streams`: NULL: none are there yet. */
static bool decide(const struct door_line *r, const struct door_request *request,
        struct arena *arena, const int *streams, struct command_plan *plan,
        struct refusal *why)
{
    const struct door_config *config = &r->owner->config;
    if (!config->policy->shell_count) {
        refusal_begin(why, "command", NULL);
        buf_add(&why->what, STR("No shell policies are configured, so that no command "
                                "can be started"));
        buf_add(&why->rule, STR("only what a [shell.*] section is for is started"));
        buf_add(&why->hint, STR("The owner of the workspace can add a section for the "
                                "program to .pyddock/pyddock.toml."));
        return false;
    }
    return (!streams || !refuse_streams(streams, !config->for_shell, why)) &&
           command_decide(config->commands, &request->command, arena, plan, why);
}

static void record(
        const struct door_line *r, const struct door_request *request, bool refused)
{
    approved_record(r->owner->config.audit, &request->command, request->caller, refused);
}

static bool start_planned(struct spawned *s, const int *streams, struct error *err)
{
    const struct door_config *config = &s->run->owner->config;
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
static void start(struct door_line *r, const struct door_request *request,
        struct arena *arena, const int *streams)
{
    struct spawned *s = xcalloc(1, sizeof(*s));
    struct error err = { 0 };
    auto_refusal why;
    refusal_init(&why);
    *s = (struct spawned){ .run = r, .id = request->id, .arena = arena };
    bool allowed = decide(r, request, arena, streams, &s->plan, &why);
    record(r, request, !allowed);
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

static bool is_too_much(const struct door_line *r, struct buf *why)
{
    size_t most = r->owner->config.for_shell ? DOOR_MAX_OF_SHELL : DOOR_MAX_COMMANDS;
    if (r->rests)
        buf_add(why, STR("the call is over"));
    else if (r->count >= most)
        buf_addf(why, "%zu commands of this call run already; wait for one to end",
                r->count);
    else if (r->requests - r->asks > DOOR_MAX_REQUESTS)
        buf_addf(why, "no call starts more than %d commands", DOOR_MAX_REQUESTS);
    return why->len;
}

/* Takes over the arena. */
static void spawn(struct door_line *r, const struct door_request *request,
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

/*
 * Would it be started?  Nothing is, and a spawn is decided by itself.  Who asks gives up
 * what is refused, so that this is where it is recorded; what is allowed, or unknown and
 * perhaps none of ours, he goes on with.
 */
static void answer_ask(
        struct door_line *r, const struct door_request *request, struct arena *arena)
{
    struct command_plan plan = { 0 };
    auto_refusal why;
    refusal_init(&why);
    r->last_id = request->id;
    if (r->rests || ++r->asks > DOOR_MAX_ASKS) {
        reply_failed(r, request->id, EAGAIN, "nothing more is told in this call");
        return;
    }
    if (decide(r, request, arena, NULL, &plan, &why)) {
        reply(r, json_pack("{s:I, s:b}", "id", (json_int_t)request->id, "allowed", 1));
        return;
    }
    if (strcmp(why.code, "command") != 0)
        record(r, request, true);
    reply_refused(r, request->id, &why);
}

static void on_call_done(void *user, struct door_call *call)
{
    struct door_line *r = user;
    size_t i = 0;
    while (r->calls[i] != call)
        i++;
    r->calls[i] = r->calls[--r->call_count];
}

static bool are_too_many_calls(struct door_line *r, struct buf *why)
{
    if (r->rests)
        buf_add(why, STR("the call is over"));
    else if (r->requests > DOOR_MAX_REQUESTS)
        buf_addf(why, "no call makes more than %d requests", DOOR_MAX_REQUESTS);
    else if (r->argument_bytes > DOOR_MAX_BYTES)
        buf_addf(why, "no more than %zu bytes of arguments are taken in one call",
                DOOR_MAX_BYTES);
    else if (r->call_count >= DOOR_MAX_CALLS)
        buf_addf(why, "%zu calls of tools run already; wait for one to end",
                r->call_count);
    return why->len;
}

/* Takes over `*fd`, which becomes -1. */
static void call_tool(struct door_line *r, const struct door_request *request, int *fd)
{
    auto_buf why = BUF(200);
    unsigned most = time_left(r);
    r->argument_bytes += request->argument_bytes;
    if (are_too_many_calls(r, &why)) {
        door_call_refuse(*fd, buf_str(&why));
        return;
    }
    const struct door_call_spec spec = {
        .loop = r->owner->config.loop,
        .peers = r->owner->config.peers,
        .audit = r->owner->config.audit,
        .request = request,
        .timeout_ms = request->timeout_ms && request->timeout_ms < most
                              ? request->timeout_ms
                              : most,
        .held = &r->held,
        .fd = *fd,
    };
    *fd = -1;
    struct door_call *call = door_call_start(&spec, on_call_done, r);
    if (call)
        r->calls[r->call_count++] = call;
}

/* One that has ended meanwhile is no mistake. */
static void pass_signal(struct door_line *r, const struct door_request *request)
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

/* False: not one to listen to.  Takes over what it keeps of `*arena` and `*fds`. */
static bool obey_request(struct door_line *r, const struct door_request *request,
        struct arena **arena, int *fds, size_t count)
{
    bool is_next = request->id > r->last_id;
    switch (request->kind) {
    case DOOR_SPAWN:
        if (!is_next || count != STREAMS)
            return false;
        spawn(r, request, TAKE(*arena), fds);
        return true;
    case DOOR_ASK:
        if (!is_next || count)
            return false;
        answer_ask(r, request, *arena);
        return true;
    case DOOR_SIGNAL:
        if (count)
            return false;
        pass_signal(r, request);
        return true;
    case DOOR_CALL:
        if (count != 1 || !door_stream_is_pair(fds[0]))
            return false;
        call_tool(r, request, &fds[0]);
        return true;
    }
    return false;
}

static bool obey(struct door_line *r, struct str json, int *fds, size_t count)
{
    struct door_request request;
    struct error err;
    auto_arena *arena = arena_create();
    return door_request_parse(json, arena, &request, &err) &&
           obey_request(r, &request, &arena, fds, count);
}

enum received { NOTHING, MESSAGE, NONSENSE, END };

static enum received receive(struct door_line *r)
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
    bool all = rights_take(&message, fds, ARRAY_LEN(fds), &count);
    bool whole = all && n > 0 && (size_t)n <= DOOR_REQUEST_MAX &&
                 !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
                 (++r->requests <= 2 * DOOR_MAX_REQUESTS || r->has_calls);
    bool good = whole && obey(r, (struct str){ r->in, (size_t)n }, fds, count);
    for (size_t i = 0; i < count; i++)
        close_fd(&fds[i]);
    return good ? MESSAGE : NONSENSE;
}

static void end_after(struct door_line *r, enum received received)
{
    if (received == NONSENSE)
        log_line(LOG_WARN, "a helper asked for commands as none of ours does; what it "
                           "has started is ended");
    if (received == NONSENSE || received == END)
        hang_up(r);
}

static void on_ready(uv_poll_t *poll, int failure, int events)
{
    struct door_line *r = poll->data;
    if (failure) {
        hang_up(r);
        return;
    }
    if (events & UV_WRITABLE)
        send_replies(r);
    for (unsigned i = 0; i < MAX_A_TURN && !r->replies && !r->is_closed; i++) {
        enum received received = receive(r);
        end_after(r, received);
        if (received != MESSAGE)
            return;
    }
}

static void begin_call(struct door_line *r, unsigned timeout_ms)
{
    uint64_t most = timeout_ms ? timeout_ms : r->owner->config.policy->max_timeout_ms;
    r->end_ms = uv_now(r->owner->config.loop) + most + GRACE_MS;
    r->requests = r->asks = 0;
    r->argument_bytes = 0;
    r->rests = false;
    buf_clear(&r->told);
}

struct door_line *door_open(struct door *d, int fd, unsigned timeout_ms)
{
    struct door_line *r = xcalloc(1, sizeof(*r));
    r->next = d->runs;
    r->owner = d;
    r->fd = fd;
    r->replies_end = &r->replies;
    r->told = BUF(MAX_WHOLE);
    d->runs = r;
    begin_call(r, timeout_ms);
    r->poll.data = r;
    r->has_poll = !uv_poll_init(d->config.loop, &r->poll, fd);
    if (r->has_poll)
        watch(r);
    else
        hang_up(r);
    return r;
}

/* What was asked for before belongs to the call that is over. */
static void drain(struct door_line *r)
{
    enum received received = MESSAGE;
    for (unsigned i = 0; i < MAX_IN_SOCKET && received == MESSAGE && !r->is_closed; i++)
        received = receive(r);
    end_after(r, received);
}

void door_rest(struct door_line *r)
{
    kill_all(r);
    r->rests = r->has_calls = true;
    if (!r->is_closed)
        drain(r);
}

void door_resume(struct door_line *r, unsigned timeout_ms)
{
    begin_call(r, timeout_ms);
}

static void destroy_run(struct door_line *r)
{
    close_fd(&r->fd);
    buf_finish(&r->told);
    free(r);
}

static void on_closed(uv_handle_t *handle)
{
    destroy_run(handle->data);
}

void door_close(struct door_line *r)
{
    struct door_line **at = &r->owner->runs;
    hang_up(r);
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (r->has_poll)
        uv_close((uv_handle_t *)&r->poll, on_closed);
    else
        destroy_run(r);
}

static void *start_line(void *user, int fd, unsigned timeout_ms)
{
    return door_open(user, fd, timeout_ms);
}

static void end_line(void *line)
{
    door_close(line);
}

const struct door_fns door_fns = { .start = start_line, .end = end_line };

struct door *door_create(const struct door_config *config)
{
    struct door *b = xcalloc(1, sizeof(*b));
    b->config = *config;
    return b;
}

size_t door_commands(const struct door *b)
{
    size_t count = 0;
    for (const struct door_line *r = b->runs; r; r = r->next)
        count += r->count;
    return count;
}

void door_destroy(struct door *b)
{
    if (!b)
        return;
    while (b->runs)
        door_close(b->runs);
    free(b);
}
