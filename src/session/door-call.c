#include "session/door-call.h"

#include "peer/peers.h"
#include "policy/log/audit.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_A_TURN ((size_t)256 << 10) /* bytes, before the loop gets its turn again */
#define MAX_DETAIL 1024
#define NO_SERVERS                                                                   \
    "there is no other MCP server to call: no [mcp.NAME] section of the policy has " \
    "a definition"

enum stage { READING, CALLING, WRITING };

struct door_call {
    struct door_call_spec spec;
    struct arena *arena; /* of the names */
    struct str server, tool;
    const char *caller;
    size_t argument_bytes;
    uint64_t end_ms; /* of the loop's clock */
    uv_poll_t poll;
    enum stage stage;
    struct buf arguments;   /* READING */
    struct peer_call *peer; /* CALLING */
    struct buf answer;      /* WRITING */
    size_t written, held;
    door_call_done_fn *done;
    void *user;
};

static void destroy(struct door_call *c)
{
    close_fd(&c->spec.fd);
    buf_finish(&c->arguments);
    buf_finish(&c->answer);
    arena_destroy(c->arena);
    free(c);
}

static void on_closed(uv_handle_t *handle)
{
    destroy(handle->data);
}

void door_call_cancel(struct door_call *c)
{
    *c->spec.held -= c->held;
    c->held = 0;
    if (c->peer)
        peers_cancel(TAKE(c->peer));
    if (!uv_is_closing((uv_handle_t *)&c->poll))
        uv_close((uv_handle_t *)&c->poll, on_closed);
}

static void end(struct door_call *c)
{
    c->done(c->user, c);
    door_call_cancel(c);
}

/* False: the other end does not want it any more. */
static bool send_some(struct door_call *c)
{
    struct str rest = str_from(buf_str(&c->answer), c->written);
    ssize_t n = send(c->spec.fd, rest.data, rest.len < MAX_A_TURN ? rest.len : MAX_A_TURN,
            MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
        c->written += (size_t)n;
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static void on_ready(uv_poll_t *poll, int failure, int events);

static void write_answer(
        const char *key, const json_t *value, struct str rule, struct buf *out)
{
    buf_addf(out, "{\"%s\":", key);
    json_write(value, out);
    if (rule.len) {
        buf_add(out, STR(",\"rule\":"));
        json_write_text(rule, out);
    }
    buf_addc(out, '}');
}

static void replace_answer(struct door_call *c, struct str text)
{
    buf_finish(&c->answer);
    c->answer = BUF(DOOR_ANSWER_MAX);
    buf_add(&c->answer, text);
}

static void answer(
        struct door_call *c, const char *key, const json_t *value, struct str rule)
{
    c->stage = WRITING;
    c->answer = BUF(DOOR_ANSWER_MAX);
    write_answer(key, value, rule, &c->answer);
    if (c->answer.full)
        replace_answer(c, STR("{\"failed\":\"the result is too large\"}"));
    else if (*c->spec.held + c->answer.len > DOOR_MAX_HELD)
        replace_answer(c, STR("{\"failed\":\"too many large results of this call are "
                              "waiting to be read\"}"));
    c->held = c->answer.len;
    *c->spec.held += c->held;
    uv_poll_start(&c->poll, UV_WRITABLE, on_ready);
}

static void answer_text(
        struct door_call *c, const char *key, struct str text, struct str rule)
{
    json_auto_t *value = json_text(text);
    answer(c, key, value, rule);
}

static void fail(struct door_call *c, struct str why)
{
    answer_text(c, "failed", why, STR(""));
}

static void record(const struct door_call *c, bool refused)
{
    if (!audit_wants_events(c->spec.audit))
        return;
    auto_buf detail = BUF(MAX_DETAIL);
    buf_add(&detail, STR("server="));
    json_write_text(c->server, &detail);
    buf_add(&detail, STR(" tool="));
    json_write_text(c->tool, &detail);
    const struct audit_event e = { .event = "pyddock_mcp.call",
        .decision = refused ? "deny" : "allow",
        .caller = c->caller,
        .pid = getpid(),
        .always = true,
        .detail = buf_str(&detail) };
    audit_event(c->spec.audit, &e);
}

static void on_answered(void *user, const struct peer_result *result)
{
    struct door_call *c = user;
    c->peer = NULL;
    record(c, result->end == PEER_REFUSED);
    switch (result->end) {
    case PEER_ANSWERED:
        answer(c, "answered", result->result, STR(""));
        break;
    case PEER_LISTED:
        answer(c, "listed", result->result, STR(""));
        break;
    case PEER_REFUSED:
        answer_text(c, "refused", result->text, result->rule);
        break;
    case PEER_FAILED:
        fail(c, result->text);
        break;
    case PEER_TIMED_OUT:
        answer_text(c, "timed_out", result->text, STR(""));
        break;
    }
}

static unsigned time_left(const struct door_call *c)
{
    uint64_t now = uv_now(c->spec.loop);
    return c->end_ms > now ? (unsigned)(c->end_ms - now) : 1;
}

/* NULL: it is none, which has been answered. */
static json_t *parse_arguments(struct door_call *c)
{
    struct error err;
    json_t *arguments = NULL;
    if (!json_parse(buf_str(&c->arguments), &arguments, &err)) {
        error_context(&err, "the arguments");
        fail(c, str_of(err.message));
    } else if (!json_is_object(arguments)) {
        json_decref(arguments);
        arguments = NULL;
        fail(c, STR("the arguments have to be an object"));
    }
    buf_finish(&c->arguments);
    return arguments;
}

static void call(struct door_call *c)
{
    struct error err;
    c->stage = CALLING;
    json_auto_t *arguments = c->argument_bytes ? parse_arguments(c) : json_object();
    if (!arguments)
        return;
    const struct peer_request request = { .server = c->server,
        .tool = c->tool,
        .arguments = arguments,
        .timeout_ms = time_left(c),
        .is_nested = true };
    if (!c->spec.peers)
        fail(c, STR(NO_SERVERS));
    else if (!peers_call(c->spec.peers, &request, on_answered, c, &c->peer, &err))
        fail(c, str_of(err.message));
}

/* The number of bytes, 0: nothing at the moment, -1: the other end is closed. */
static ssize_t receive(struct door_call *c, size_t most)
{
    char *to = buf_reserve(&c->arguments, most);
    ssize_t n = to ? recv(c->spec.fd, to, most, MSG_DONTWAIT) : -1;
    if (n > 0)
        c->arguments.len += (size_t)n;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n > 0 ? n : -1;
}

/* False: he has gone, or sends more than he said. */
static bool read_arguments(struct door_call *c)
{
    size_t missing = c->argument_bytes - c->arguments.len;
    if (missing && receive(c, missing < MAX_A_TURN ? missing : MAX_A_TURN) < 0)
        return false;
    if (c->arguments.len == c->argument_bytes)
        call(c);
    return true;
}

/* Nothing comes while he waits but the end of the stream. */
static bool is_there(const struct door_call *c)
{
    char byte;
    ssize_t n = recv(c->spec.fd, &byte, 1, MSG_DONTWAIT);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void on_ready(uv_poll_t *poll, int failure, int events)
{
    struct door_call *c = poll->data;
    bool goes_on = !failure;
    if (goes_on && c->stage == READING && (events & UV_READABLE))
        goes_on = read_arguments(c);
    else if (goes_on && c->stage == CALLING && (events & UV_READABLE))
        goes_on = is_there(c);
    else if (goes_on && c->stage == WRITING && (events & UV_WRITABLE))
        goes_on = send_some(c) && c->written < c->answer.len;
    if (!goes_on)
        end(c);
}

struct door_call *door_call_start(
        const struct door_call_spec *spec, door_call_done_fn *done, void *user)
{
    const struct door_request *r = spec->request;
    struct door_call *c = xcalloc(1, sizeof(*c));
    *c = (struct door_call){ .spec = *spec,
        .arena = arena_create(),
        .caller = r->caller,
        .argument_bytes = r->argument_bytes,
        .end_ms = uv_now(spec->loop) + spec->timeout_ms,
        .arguments = BUF(DOOR_ARGUMENTS_MAX),
        .done = done,
        .user = user };
    c->spec.request = NULL;
    c->server = arena_str(c->arena, r->server);
    c->tool = arena_str(c->arena, r->tool);
    c->poll.data = c;
    if (uv_poll_init(spec->loop, &c->poll, spec->fd)) {
        destroy(c);
        return NULL;
    }
    uv_poll_start(&c->poll, UV_READABLE, on_ready);
    if (!c->argument_bytes)
        call(c);
    return c;
}

void door_call_refuse(int fd, struct str why)
{
    auto_buf text = BUF(1024);
    buf_add(&text, STR("{\"failed\":"));
    json_write_text(why, &text);
    buf_addc(&text, '}');
    ssize_t n = send(fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)n;
}
