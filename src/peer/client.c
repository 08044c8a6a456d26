/*
 *   GREETING   initialize is sent
 *   PROBING    it was refused; server/discover is sent
 *   IDLE       it may be asked
 *   CALLING    tools/call is sent
 *   LISTING    tools/list is sent, for the first or a later page
 *   GONE       of no use any more
 *
 * What answers a request is told last in each function: whoever hears it may close the
 * client.
 */
#include "peer/client.h"

#include "peer/message.h"
#include "peer/peers.h"

#define LEGACY "2025-11-25"
#define MODERN "2026-07-28"
#define META   "io.modelcontextprotocol/"

#define HEADER_MISMATCH -32020

#define MAX_UNSENT   ((size_t)64 << 10) /* then it gets no more answers from us */
#define MAX_FRAME    ((size_t)64 << 10) /* of a message, apart from the arguments */
#define MAX_SENTENCE ((size_t)8 << 10)
#define MAX_SAID     ((size_t)2000) /* of a text of the server in a sentence */
#define MAX_VERSION  40
#define MAX_CURSOR   4096 /* bytes; each may become six in JSON */
#define MAX_TRACE    256

enum state { GREETING, PROBING, IDLE, CALLING, LISTING, GONE };

struct peer_client {
    struct peer_link *link; /* NULL when gone */
    enum state state;
    enum client_era era;
    json_int_t id;   /* of the last request */
    size_t messages; /* since expect() */
    char *refused;   /* how it answered initialize, while PROBING */
    bool has_bridge; /* it has a URL */
    bool is_renewed; /* there was a second handshake for what is asked */
    bool has_learnt; /* all tools have been listed for what is asked */
    /* What is asked; NULL: nothing is. */
    client_done_fn *done;
    void *user;
    char *tool, *arguments, *trace;
    struct buf tools; /* LISTING: those of the pages so far, with commas between */
    json_t *cursors;  /* those that led to them */
};

static void drop_request(struct peer_client *c)
{
    c->done = NULL;
    free(TAKE(c->tool));
    free(TAKE(c->arguments));
    free(TAKE(c->trace));
    buf_finish(&c->tools);
    json_decref(TAKE(c->cursors));
}

/* The end of what was asked; the client may be closed within. */
static void answer(struct peer_client *c, const json_t *result, struct str text)
{
    client_done_fn *done = c->done;
    void *user = c->user;
    const struct client_answer a = {
        .result = result, .text = text, .is_usable = c->state == IDLE
    };
    drop_request(c);
    if (done)
        done(user, &a);
}

/* The connection is of no use any more. */
static void give_up(struct peer_client *c, struct str text)
{
    c->state = GONE;
    if (c->link)
        link_close(TAKE(c->link), LINK_GIVEN_UP_MS);
    answer(c, NULL, text);
}

static void write_meta(const struct peer_client *c, struct buf *out)
{
    bool modern = c->era == CLIENT_MODERN || c->state == PROBING;
    bool traced = c->trace && *c->trace;
    if (!modern && !traced)
        return;
    buf_add(out, STR("\"_meta\":{"));
    if (modern)
        buf_add(out, STR("\"" META "protocolVersion\":\"" MODERN "\",\"" META
                         "clientCapabilities\":{},\"" META
                         "clientInfo\":{\"name\":\"paddock\",\"version\":"
                         "\"" PADDOCK_VERSION "\"}"));
    if (traced) {
        buf_add(out, modern ? STR(",\"traceparent\":") : STR("\"traceparent\":"));
        json_write_text(str_of(c->trace), out);
    }
    buf_addc(out, '}');
}

/* Send a request; `params` is what stands in them apart from "_meta". */
static bool request(struct peer_client *c, const char *method, struct str params)
{
    struct buf out = BUF(params.len + MAX_FRAME);
    auto_buf meta = BUF(MAX_FRAME / 2);
    write_meta(c, &meta);
    buf_addf(&out,
            "{\"jsonrpc\":\"2.0\",\"id\":%" JSON_INTEGER_FORMAT
            ",\"method\":\"%s\",\"params\":{",
            ++c->id, method);
    buf_add(&out, params);
    buf_add(&out, params.len && meta.len ? STR(",") : STR(""));
    buf_add(&out, buf_str(&meta));
    buf_add(&out, STR("}}\n"));
    assert(!out.full); /* each part has its ceiling */
    return link_send(c->link, out);
}

/* Who reads nothing gets no more of it. */
static void send_text(struct peer_client *c, struct buf message)
{
    if (link_unsent(c->link) > MAX_UNSENT) {
        buf_finish(&message);
        return;
    }
    bool sent = link_send(c->link, message);
    (void)sent; /* its end will be told */
}

/* What comes from now on, until the answer, is counted together. */
static void expect(struct peer_client *c)
{
    link_expect(c->link, CLIENT_MAX_BYTES);
    c->messages = 0;
}

static bool send_call(struct peer_client *c)
{
    auto_buf params = BUF(strlen(c->arguments) + MAX_FRAME);
    c->state = CALLING;
    buf_add(&params, STR("\"name\":"));
    json_write_text(str_of(c->tool), &params);
    buf_add(&params, STR(",\"arguments\":"));
    buf_add(&params, str_of(c->arguments));
    return request(c, "tools/call", buf_str(&params));
}

/* `cursor` NULL: the first page. */
static bool send_list(struct peer_client *c, const json_t *cursor)
{
    auto_buf params = BUF(MAX_FRAME / 2);
    if (cursor) {
        buf_add(&params, STR("\"cursor\":"));
        json_write(cursor, &params);
    }
    c->state = LISTING;
    return request(c, "tools/list", buf_str(&params));
}

static bool begin_list(struct peer_client *c)
{
    c->tools = BUF(PEER_MAX_MESSAGE);
    c->cursors = json_array();
    return send_list(c, NULL);
}

static void end_list(struct peer_client *c)
{
    buf_finish(&c->tools);
    json_decref(TAKE(c->cursors));
}

static bool send_request(struct peer_client *c)
{
    expect(c);
    return *c->tool ? send_call(c) : begin_list(c);
}

/* The handshake is over.  Should nothing arrive, the end of the process is told. */
static void begin(struct peer_client *c, enum client_era era)
{
    c->era = era;
    c->state = IDLE;
    free(TAKE(c->refused));
    bool sent = !c->done || send_request(c);
    (void)sent;
}

static bool is_legacy(struct str version)
{
    static const char *const versions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
        LEGACY };
    return str_which(version, versions, ARRAY_LEN(versions)) < ARRAY_LEN(versions);
}

static void on_greeted(struct peer_client *c, const json_t *result)
{
    struct str version = json_get_str(result, "protocolVersion", STR(""));
    if (!is_legacy(version)) {
        auto_buf text = BUF(MAX_SENTENCE);
        buf_add(&text, STR("wants to speak a version of MCP that is not known: '"));
        peer_add_text(version, MAX_VERSION, PEER_ONE_LINE, &text);
        buf_addc(&text, '\'');
        give_up(c, buf_str(&text));
        return;
    }
    struct buf initialized = BUF(MAX_FRAME);
    buf_add(&initialized,
            STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"));
    send_text(c, initialized);
    begin(c, CLIENT_LEGACY);
}

/* What the bridge says about a request, see bridge/bridge.h; "": it is not from there. */
static struct str bridge_failure(const struct peer_client *c, const json_t *error)
{
    const json_t *data = json_object_get(error, "data");
    return c->has_bridge ? json_get_str(data, "bridge", STR("")) : STR("");
}

/* "answered with error -32602: bad parameters" */
static void describe_error(
        const struct peer_client *c, const json_t *error, struct buf *out)
{
    json_int_t code = json_integer_value(json_object_get(error, "code"));
    if (bridge_failure(c, error).len)
        buf_add(out, STR("gave no answer: "));
    else
        buf_addf(out, "answered with error %" JSON_INTEGER_FORMAT ": ", code);
    peer_add_text(json_get_str(error, "message", STR("")), MAX_SAID, PEER_INDENTED, out);
}

/* Many a newer server refuses initialize because it does not know it, or because what
 * each request must have now is missing. */
static void on_refused(struct peer_client *c, const json_t *error)
{
    auto_buf text = BUF(MAX_SENTENCE);
    describe_error(c, error, &text);
    c->refused = str_copy(buf_str(&text));
    c->state = PROBING;
    bool sent = request(c, "server/discover", STR(""));
    (void)sent;
}

static void on_discovered(struct peer_client *c, const json_t *result)
{
    const json_t *versions = json_object_get(result, "supportedVersions"), *version;
    size_t i;
    json_array_foreach (versions, i, version)
        if (str_is(json_str(version), MODERN)) {
            begin(c, CLIENT_MODERN);
            return;
        }
    auto_free char *refused = TAKE(c->refused);
    give_up(c, str_of(refused));
}

static void on_called(struct peer_client *c, const json_t *result)
{
    struct str type = json_get_str(result, "resultType", STR("complete"));
    auto_buf text = BUF(MAX_SENTENCE);
    c->state = IDLE;
    if (!json_is_object(result)) {
        buf_add(&text, STR("answered with something that is not the result of a tool"));
    } else if (str_is(type, "input_required")) {
        buf_add(&text, STR("wants more input for this call (from its user or a model), "
                           "and there is nobody here to give it"));
    } else if (!str_is(type, "complete")) {
        buf_add(&text, STR("answered with a result of a type that is not known: '"));
        peer_add_text(type, MAX_VERSION, PEER_ONE_LINE, &text);
        buf_addc(&text, '\'');
    }
    answer(c, text.len ? NULL : result, buf_str(&text));
}

/* Parsed once more, all of it, so that the ceiling of a message counts for all pages. */
static void finish_list(struct peer_client *c)
{
    struct error err;
    json_auto_t *tools = NULL;
    auto_buf text = BUF(c->tools.len + 3);
    buf_addc(&text, '[');
    buf_add(&text, buf_str(&c->tools));
    buf_addc(&text, ']');
    c->state = IDLE;
    bool full = c->tools.full;
    bool good = !full && json_parse(buf_str(&text), &tools, &err);
    answer(c, tools,
            good   ? STR("")
            : full ? STR("has too many tools to list")
                   : str_of(err.message));
}

static bool is_among(const json_t *texts, const json_t *text)
{
    size_t i;
    const json_t *other;
    json_array_foreach (texts, i, other)
        if (json_equal(other, text))
            return true;
    return false;
}

static void on_listed(struct peer_client *c, const json_t *result)
{
    const json_t *tools = json_object_get(result, "tools"), *tool;
    json_t *next = json_object_get(result, "nextCursor");
    size_t i;
    json_array_foreach (tools, i, tool) {
        if (c->tools.len)
            buf_addc(&c->tools, ',');
        json_write(tool, &c->tools);
    }
    bool more = json_is_string(next) && !is_among(c->cursors, next) && !c->tools.full &&
                json_string_length(next) <= MAX_CURSOR &&
                json_array_size(c->cursors) + 1 < CLIENT_MAX_PAGES;
    if (!more && *c->tool) { /* the bridge knows what it wanted to know */
        end_list(c);
        bool asked = send_call(c);
        (void)asked;
        return;
    }
    if (!more) {
        finish_list(c);
        return;
    }
    json_array_append(c->cursors, next);
    bool sent = send_list(c, next);
    (void)sent;
}

static void greet(struct peer_client *c)
{
    c->state = GREETING;
    bool sent = request(c, "initialize",
            STR("\"protocolVersion\":\"" LEGACY
                "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"paddock\","
                "\"version\":\"" PADDOCK_VERSION "\"}"));
    (void)sent; /* its end will be told */
}

/* A server that has forgotten the session has not looked at what was asked: it is asked
 * once more, in a session of its own. */
static void renew(struct peer_client *c)
{
    c->is_renewed = true;
    end_list(c);
    greet(c);
}

static void on_result(struct peer_client *c, const json_t *result)
{
    switch (c->state) {
    case GREETING:
        on_greeted(c, result);
        break;
    case PROBING:
        on_discovered(c, result);
        break;
    case CALLING:
        on_called(c, result);
        break;
    case LISTING:
        on_listed(c, result);
        break;
    case IDLE:
    case GONE:
        break;
    }
}

/* A call that lacks header fields which only the schema of the tool tells; nothing was
 * done.  The bridge adds them once it has seen the list of tools. */
static bool lacks_fields(const struct peer_client *c, const json_t *error)
{
    return c->has_bridge && c->state == CALLING && !c->has_learnt &&
           json_integer_value(json_object_get(error, "code")) == HEADER_MISMATCH;
}

static void learn(struct peer_client *c)
{
    c->has_learnt = true;
    bool sent = begin_list(c);
    (void)sent; /* its end will be told */
}

static void on_error(struct peer_client *c, const json_t *error)
{
    struct str failure = bridge_failure(c, error);
    bool is_lost = str_is(failure, "session-lost");
    auto_buf text = BUF(MAX_SENTENCE);
    describe_error(c, error, &text);
    if (c->state == GREETING && failure.len && !str_is(failure, "http"))
        give_up(c, buf_str(&text)); /* no other handshake gets further */
    else if (c->state == GREETING)
        on_refused(c, error);
    else if (c->state == PROBING)
        on_discovered(c, NULL);
    else if (lacks_fields(c, error))
        learn(c);
    else if (is_lost && !c->is_renewed)
        renew(c);
    else if (is_lost)
        give_up(c, buf_str(&text));
    else {
        c->state = IDLE;
        answer(c, NULL, buf_str(&text));
    }
}

/* We offer nothing, so only a ping has an answer; in the newest revision there are no
 * requests of servers at all. */
static void reply(struct peer_client *c, const struct peer_message *m)
{
    struct buf out = BUF(MAX_FRAME);
    if (c->era == CLIENT_MODERN)
        return;
    buf_add(&out, STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    json_write(m->id_value, &out);
    buf_add(&out, str_is(m->method, "ping")
                          ? STR(",\"result\":{}}\n")
                          : STR(",\"error\":{\"code\":-32601,\"message\":\"this client "
                                "offers nothing to servers\"}}\n"));
    if (out.full)
        buf_finish(&out);
    else
        send_text(c, out);
}

static bool is_waiting(const struct peer_client *c)
{
    return c->state != IDLE && c->state != GONE;
}

/* True: it was what is waited for, and the client may be closed. */
static bool take(struct peer_client *c, const json_t *value)
{
    struct peer_message m;
    peer_message_read(value, &m);
    if (m.kind == PEER_REQUEST)
        reply(c, &m);
    bool answers = m.kind == PEER_RESULT || m.kind == PEER_ERROR;
    /* An error without an id is about a message that it could not read. */
    if (!answers || !is_waiting(c) || (m.has_id && m.id != c->id))
        return false;
    if (m.kind == PEER_RESULT)
        on_result(c, m.body);
    else
        on_error(c, m.body);
    return true;
}

/* If it looks like the answer, no other will come. */
static void on_unreadable(struct peer_client *c, struct str line, const struct error *err)
{
    if (err->code == ERR_NONE || !is_waiting(c) || !peer_line_answers(line, c->id))
        return;
    auto_buf text = BUF(MAX_SENTENCE);
    buf_add(&text, STR("sent an answer that cannot be read: "));
    peer_add_text(str_of(err->message), MAX_SAID, PEER_ONE_LINE, &text);
    give_up(c, buf_str(&text));
}

static void on_too_much(void *user)
{
    give_up(user, STR("sent far more than one answer, and is not listened to any more"));
}

static void on_line(void *user, struct str line)
{
    struct peer_client *c = user;
    struct error err;
    json_auto_t *value = NULL;
    if (++c->messages > CLIENT_MAX_MESSAGES) {
        on_too_much(c);
        return;
    }
    if (!peer_line_parse(line, &value, &err)) {
        on_unreadable(c, line, &err);
        return;
    }
    if (!json_is_array(value)) {
        take(c, value);
        return;
    }
    for (size_t i = 0; i < json_array_size(value); i++)
        if (take(c, json_array_get(value, i)))
            return;
}

static void on_too_long(void *user)
{
    auto_buf text = BUF(MAX_SENTENCE);
    buf_addf(&text,
            "sent a line of more than %zu MiB, which is the most that is read; ask it "
            "for less at a time",
            PEER_MAX_MESSAGE >> 20);
    give_up(user, buf_str(&text));
}

static void on_ended(void *user, struct str how)
{
    give_up(user, how);
}

static const struct link_events events = { on_line, on_too_long, on_too_much, on_ended };

bool client_open(
        const struct client_config *config, struct peer_client **out, struct error *err)
{
    struct peer_client *c = xcalloc(1, sizeof(*c));
    const struct link_process process = { config->spec, config->bridge };
    if (!link_open(config->loop, config->links, &process, &events, c, &c->link, err)) {
        free(c);
        return false;
    }
    c->era = config->era;
    c->has_bridge = config->bridge;
    c->state = IDLE;
    expect(c);
    if (c->era != CLIENT_MODERN)
        greet(c);
    *out = c;
    return true;
}

bool client_ask(struct peer_client *c, const struct client_request *r,
        client_done_fn *done, void *user)
{
    if (c->state == GONE)
        return false;
    c->done = done;
    c->user = user;
    c->is_renewed = c->has_learnt = false;
    c->tool = str_copy(r->tool);
    c->arguments = str_copy(r->arguments);
    c->trace = str_copy(r->trace.len <= MAX_TRACE ? r->trace : STR(""));
    if (c->state != IDLE || send_request(c))
        return true;
    c->state = GONE;
    drop_request(c);
    return false;
}

enum client_era client_era(const struct peer_client *c)
{
    return c->era;
}

bool client_is_starting(const struct peer_client *c)
{
    return c->state == GREETING || c->state == PROBING;
}

bool client_is_gone(const struct peer_client *c)
{
    return c->state == GONE;
}

static void tell_cancelled(struct peer_client *c)
{
    struct buf out = BUF(MAX_FRAME);
    buf_addf(&out,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
            "\"requestId\":%" JSON_INTEGER_FORMAT ",\"reason\":\"given up\"}}\n",
            c->id);
    send_text(c, out);
}

void client_close(struct peer_client *c)
{
    if (c->state == CALLING || c->state == LISTING)
        tell_cancelled(c);
    if (c->link)
        link_close(TAKE(c->link), c->done ? LINK_GIVEN_UP_MS : LINK_PATIENCE_MS);
    drop_request(c);
    free(c->refused);
    free(c);
}
