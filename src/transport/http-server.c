#include "transport/http-server.h"

#include "base/log.h"
#include "protocol/mcp.h"
#include "transport/http-message.h"

#include <stdio.h>

#define SHARED_SHELL STR("2026-07-28") /* the revision in the record of a ticket */

#define MAX_STREAM ((size_t)256 << 20)

struct http_server {
    struct http_server_config config;
    struct http_sessions sessions;
    struct http_ticket_key tickets; /* bound to the token */
    struct http_exchange *exchanges;
    size_t body_bytes; /* held by all exchanges */
    bool refuses;
};

struct http_exchange {
    struct http_exchange *next, **at; /* of the server's */
    struct http_server *server;
    struct http_head head;
    http_wake_fn *wake;
    void *user;
    enum http_route route;
    struct buf body;
    size_t skipped; /* bytes of a body that is not kept */
    bool skips;
    struct http_message message;
    struct http_session *session; /* whose call runs, or NULL */
    struct http_client client;    /* of its own; .mcp NULL: none */
    struct mcp *mcp;              /* where calls of ours may run; NULL: none do */
    struct store_job *job;        /* it waits for; or NULL */
    void (*then)(struct http_exchange *x, const struct store_answer *answer);
    struct http_answer answer;
    char session_id[HTTP_SESSION_DIGITS + 1];
    char ticket[HTTP_TICKET_LEN + 1]; /* of the shell that its call opens, or "" */
    char remark[HTTP_TICKET_LEN + 100];
    bool ready, running, streams, stream_ended;
    bool ends; /* its session, when the call is answered */
    int fault; /* of the reply */
    struct buf stream;
    size_t read;    /* so much of it the client has */
    uint64_t spoke; /* ms: when the stream was last added to */
};

static uint64_t now_ms(const struct http_server *s)
{
    return uv_now(s->config.loop);
}

struct http_server *http_server_create(const struct http_server_config *config)
{
    struct http_server *s = xcalloc(1, sizeof(*s));
    s->config = *config;
    s->tickets = http_ticket_bind(&config->ticket_key, config->rules.token);
    return s;
}

void http_server_set_key(struct http_server *s, const struct http_ticket_key *key)
{
    s->tickets = http_ticket_bind(key, s->config.rules.token);
}

static void close_client(struct http_server *s, struct http_client client)
{
    s->config.close(s->config.user, client);
}

/* Ready with an answer that is complete. */
static void set_answer(struct http_exchange *x, unsigned status, const char *type)
{
    x->answer.status = status;
    x->answer.type = type;
    x->ready = true;
}

static void answer_fault(
        struct http_exchange *x, unsigned status, int code, const char *text)
{
    buf_clear(&x->answer.body);
    http_write_fault(x->message.id, code, text, &x->answer.body);
    set_answer(x, status, "application/json");
}

static void answer_busy(struct http_exchange *x, const char *text)
{
    answer_fault(x, 503, RPC_BUSY, text);
    x->answer.retry_after_s = HTTP_RETRY_AFTER_S;
}

static void answer_refusal(struct http_exchange *x, const struct http_refusal *r)
{
    if (r->reason[0])
        answer_fault(x, r->status, RPC_INVALID_REQUEST, r->reason);
    else
        set_answer(x, r->status, NULL);
    x->answer.allow = r->allow;
    x->answer.authenticate = r->status == 401;
    x->answer.close = r->at_once;
    /* The rest waits until the body has been read, so that the client sees it. */
    x->ready = r->at_once;
    x->skips = true;
}

static struct http_exchange *add_exchange(struct http_server *s)
{
    struct http_exchange *x = xcalloc(1, sizeof(*x));
    x->server = s;
    x->next = s->exchanges;
    x->at = &s->exchanges;
    if (x->next)
        x->next->at = &x->next;
    s->exchanges = x;
    return x;
}

struct http_exchange *http_exchange_open(struct http_server *s,
        const struct http_head *head, http_wake_fn *wake, void *user)
{
    struct http_exchange *x = add_exchange(s);
    struct http_refusal refusal;
    x->head = *head;
    x->wake = wake;
    x->user = user;
    x->body = BUF(HTTP_MAX_BODY);
    x->stream = BUF(MAX_STREAM);
    x->answer.body = BUF(MAX_STREAM);
    x->message = (struct http_message){ .id = STR("") };
    x->route = http_judge_head(&s->config.rules, head, &refusal);
    if (x->route == HTTP_ROUTE_REFUSED)
        answer_refusal(x, &refusal);
    return x;
}

static void keep_no_more(struct http_exchange *x)
{
    x->server->body_bytes -= x->body.len;
    x->skipped += x->body.len;
    buf_finish(&x->body);
    x->skips = true;
}

bool http_exchange_add(struct http_exchange *x, struct str bytes)
{
    struct http_server *s = x->server;
    if (!x->skips && x->body.len + bytes.len > HTTP_MAX_BODY) {
        const struct http_refusal refusal = { .status = 413,
            .reason = "a body can have at most 4194304 bytes" };
        keep_no_more(x);
        answer_refusal(x, &refusal);
        x->route = HTTP_ROUTE_REFUSED;
    } else if (!x->skips && s->body_bytes + bytes.len > s->config.max_bodies) {
        keep_no_more(x);
        answer_busy(x, "too many requests are being received; try again");
        x->ready = false;
        x->route = HTTP_ROUTE_REFUSED;
    }
    if (x->skips) {
        x->skipped += bytes.len;
        return x->skipped <= HTTP_MAX_UNREAD;
    }
    buf_add(&x->body, bytes);
    s->body_bytes += bytes.len;
    return true;
}

static void on_record(void *user, const struct store_answer *answer)
{
    struct http_exchange *x = user;
    x->job = NULL;
    x->then(x, answer);
    x->wake(x->user);
}

static void answer_no_store(struct http_exchange *x, const struct store_answer *answer)
{
    auto_buf text = BUF(512);
    if (answer->end == STORE_FULL) {
        answer_busy(x, "as many sessions are open as --max-stored allows; try again");
        return;
    }
    buf_addf(&text, "the store of sessions cannot be reached: %s; try again",
            answer->error ? answer->error : "it is busy");
    answer_busy(x, text.data);
}

static void on_forgotten(void *user UNUSED, const struct store_answer *answer UNUSED)
{
}

/* Nobody is to find the session any more, wherever. */
static void forget_record(struct http_server *s, const char *id)
{
    if (s->config.store)
        store_remove(s->config.store, str_of(id), on_forgotten, NULL);
}

/* Events of a stream: the head of the answer goes with the first. */
static void start_stream(struct http_exchange *x)
{
    if (x->streams)
        return;
    x->streams = true;
    set_answer(x, 200, "text/event-stream");
}

static void add_event(struct http_exchange *x, struct str message)
{
    start_stream(x);
    buf_add(&x->stream, STR("event: message\ndata: "));
    buf_add(&x->stream, message);
    buf_add(&x->stream, STR("\n\n"));
    x->spoke = now_ms(x->server);
}

static void on_note(void *user, struct str message)
{
    struct http_exchange *x = user;
    add_event(x, message);
    x->wake(x->user);
}

static void on_reply(void *user, struct str message, int fault)
{
    struct http_exchange *x = user;
    x->fault = fault;
    if (x->ends && x->session) {
        x->session->ended = true;
        forget_record(x->server, x->session->id);
    }
    if (x->streams || !http_accepts_json(&x->head)) {
        add_event(x, message);
        return;
    }
    bool refused = fault == RPC_INVALID_REQUEST || fault == RPC_PARSE_ERROR ||
                   fault == RPC_MISSING_CAPABILITY;
    buf_add(&x->answer.body, message);
    set_answer(x, refused ? 400 : 200, "application/json");
}

/* The last thing that is heard of what the request had started. */
static void on_end(void *user)
{
    struct http_exchange *x = user;
    x->running = false;
    x->stream_ended = true;
    if (!x->ready)
        set_answer(x, 202, NULL); /* it was cancelled: nothing is said */
    x->wake(x->user);
}

static void remove_session(struct http_server *s, struct http_session *session)
{
    close_client(s, http_sessions_remove(&s->sessions, session));
}

static void enter_session(struct http_exchange *x, struct http_session *session)
{
    x->session = session;
    session->running++;
    session->has_worked =
            session->has_worked || x->message.tool.len || json_is_array(x->message.value);
    http_sessions_touch(&x->server->sessions, session, now_ms(x->server));
}

static void leave_session(struct http_exchange *x)
{
    struct http_session *session = TAKE(x->session);
    if (!session)
        return;
    session->running--;
    http_sessions_touch(&x->server->sessions, session, now_ms(x->server));
    if (session->ended && !session->running)
        remove_session(x->server, session);
}

/* Give the message to a client's protocol. */
static void hand_over(struct http_exchange *x, const struct http_client *client,
        const struct error *refused)
{
    const struct http_message *m = &x->message;
    const struct mcp_sink sink = { .reply = on_reply,
        .note = http_accepts_stream(&x->head) ? on_note : NULL,
        .end = on_end,
        .user = x,
        .alone = m->way == HTTP_WAY_ALONE,
        .refused = refused,
        .remark = str_of(x->remark),
        .session = str_of(x->ticket) };
    struct error err;
    if (m->tool.len && !refused && !dispatch_has_room(client->dispatch, m->tool, &err)) {
        answer_busy(x, err.message);
        return;
    }
    x->running = true;
    x->mcp = client->mcp;
    mcp_receive_json(client->mcp, m->value, buf_str(&x->body), &sink);
}

/* What nobody loses: a session that has not worked, or that a store has. */
static struct http_session *find_dispensable(const struct http_server *s)
{
    return s->config.store ? http_sessions_expired(&s->sessions, UINT64_MAX)
                           : http_sessions_dispensable(&s->sessions);
}

/* One more session; NULL: that is answered.  There may be one too many until keep_bound()
 * is called, when it is known that this one is needed. */
static struct http_session *add_session(
        struct http_exchange *x, enum http_session_kind kind, const char *id)
{
    struct http_server *s = x->server;
    if (s->sessions.count >= s->config.max_sessions && !find_dispensable(s)) {
        answer_busy(x, "as many sessions are open as --max-sessions allows; try again");
        return NULL;
    }
    struct http_client client = s->config.open(s->config.user, x->head.peer, id);
    return http_sessions_add(&s->sessions, kind, id, &client, now_ms(s));
}

/* Somebody may lose a session that he has never used. */
static void keep_bound(struct http_server *s)
{
    struct http_session *one = NULL;
    if (s->sessions.count > s->config.max_sessions)
        one = find_dispensable(s);
    if (one)
        remove_session(s, one);
}

/* False: that is answered. */
static bool make_id(struct http_exchange *x)
{
    struct error err;
    if (http_sessions_make_id(x->session_id, &err))
        return true;
    log_line(LOG_ERROR, "%s", err.message);
    answer_fault(x, 500, RPC_INTERNAL_ERROR, "Internal error");
    return false;
}

/* The session that its call has opened, of which nobody was told. */
static void take_back(struct http_exchange *x)
{
    struct http_session *session = TAKE(x->session);
    x->mcp = NULL;
    forget_record(x->server, session->id);
    remove_session(x->server, session);
}

static void on_opened(struct http_exchange *x, const struct store_answer *answer)
{
    x->ready = true;
    if (answer->end == STORE_DONE)
        return;
    if (x->session)
        take_back(x);
    x->answer.session = NULL;
    x->streams = false;
    buf_clear(&x->stream);
    answer_no_store(x, answer);
}

/* Its client has its answer when others can find the session. */
static void share_session(struct http_exchange *x, struct http_session *session)
{
    enter_session(x, session);
    x->ready = false;
    x->then = on_opened;
    x->job = store_add(x->server->config.store, str_of(session->id),
            str_of(mcp_revision(session->client.mcp)), on_record, x);
}

static void open_session(struct http_exchange *x)
{
    struct http_server *s = x->server;
    struct http_session *session =
            make_id(x) ? add_session(x, HTTP_BY_HEADER, x->session_id) : NULL;
    if (!session)
        return;
    hand_over(x, &session->client, NULL); /* is answered at once */
    x->mcp = NULL;
    if (x->fault) {
        remove_session(s, session);
        return;
    }
    keep_bound(s);
    x->answer.session = x->session_id;
    if (s->config.store)
        share_session(x, session);
}

static void answer_gone(struct http_exchange *x)
{
    answer_fault(x, 404, RPC_INVALID_REQUEST, "Session not found");
}

/* The head names a session; false: it does not, and that is answered. */
static bool names_session(struct http_exchange *x)
{
    struct str id = x->head.fields[HTTP_SESSION];
    bool one = id.len && !http_head_repeats(&x->head, HTTP_SESSION);
    if (!one)
        answer_fault(x, 400, RPC_INVALID_REQUEST,
                "Bad Request: one Mcp-Session-Id is needed; 'initialize' gives it");
    else if (!http_sessions_is_id(id))
        answer_gone(x);
    else
        memcpy(x->session_id, id.data, id.len);
    return x->session_id[0];
}

static void enter_and_run(struct http_exchange *x, struct http_session *session)
{
    if (!session) {
        answer_gone(x);
        return;
    }
    enter_session(x, session);
    hand_over(x, &session->client, NULL);
}

/* Tell those who wait for calls of this session, then end it. */
static void end_session(struct http_server *s, struct http_session *session)
{
    for (struct http_exchange *x = s->exchanges; x; x = x->next) {
        if (x->session != session)
            continue;
        if (!x->ready)
            answer_fault(x, 404, RPC_INVALID_REQUEST, "Session not found");
        x->stream_ended = true;
        x->running = false;
        x->session = NULL;
        x->mcp = NULL;
        x->wake(x->user);
    }
    remove_session(s, session);
}

/* One that another server has opened, as its record says; NULL: it is none of this kind,
 * or there is no room, and that is answered. */
static struct http_session *adopt(struct http_exchange *x, enum http_session_kind kind,
        const struct store_answer *answer)
{
    struct http_server *s = x->server;
    if (str_eq(answer->revision, SHARED_SHELL) != (kind == HTTP_BY_TICKET))
        return NULL;
    struct http_session *session = add_session(x, kind, x->session_id);
    if (!session)
        return NULL;
    if (kind == HTTP_BY_HEADER && !mcp_resume(session->client.mcp, answer->revision)) {
        remove_session(s, session);
        return NULL;
    }
    enter_session(x, session);
    keep_bound(s);
    leave_session(x);
    return session;
}

/* The session of the record that was asked for; NULL: there is none, or that is answered.
 */
static struct http_session *find_shared(struct http_exchange *x,
        enum http_session_kind kind, const struct store_answer *answer)
{
    struct http_server *s = x->server;
    struct http_session *session =
            http_sessions_find(&s->sessions, kind, str_of(x->session_id));
    if (answer->end == STORE_DONE)
        return session ? session : adopt(x, kind, answer);
    if (answer->end != STORE_NOT_FOUND)
        answer_no_store(x, answer);
    else if (session)
        end_session(s, session);
    return NULL;
}

static void on_session(struct http_exchange *x, const struct store_answer *answer)
{
    struct http_session *session = find_shared(x, HTTP_BY_HEADER, answer);
    if (!x->ready)
        enter_and_run(x, session);
}

/* Whether there is a record of `session_id`. */
static void ask_record(struct http_exchange *x,
        void (*then)(struct http_exchange *x, const struct store_answer *answer))
{
    x->then = then;
    x->job = store_touch(x->server->config.store, str_of(x->session_id), on_record, x);
}

static void run_in_session(struct http_exchange *x)
{
    struct http_server *s = x->server;
    if (!names_session(x))
        return;
    if (s->config.store)
        ask_record(x, on_session);
    else
        enter_and_run(x,
                http_sessions_find(&s->sessions, HTTP_BY_HEADER, str_of(x->session_id)));
}

/* With a client that is gone afterwards; `refused`: the call gets this for an answer. */
static void run_alone(struct http_exchange *x, const struct error *refused)
{
    struct http_server *s = x->server;
    x->client = s->config.open(s->config.user, x->head.peer, NULL);
    hand_over(x, &x->client, refused);
}

static void begin_shell(struct http_exchange *x)
{
    struct http_server *s = x->server;
    struct http_session *session = add_session(x, HTTP_BY_TICKET, x->session_id);
    if (!session) {
        forget_record(s, x->session_id);
        return;
    }
    http_ticket_write(&s->tickets, session->id, x->ticket);
    snprintf(x->remark, sizeof(x->remark),
            "[paddock: session %s; give it as 'session' to go on in this shell]",
            x->ticket);
    enter_session(x, session);
    hand_over(x, &session->client, NULL);
    if (x->running)
        keep_bound(s);
    else /* the call was refused */
        take_back(x);
}

static void on_new_shell(struct http_exchange *x, const struct store_answer *answer)
{
    if (answer->end == STORE_DONE)
        begin_shell(x);
    else
        answer_no_store(x, answer);
}

static void run_new_shell(struct http_exchange *x)
{
    struct store *store = x->server->config.store;
    if (!make_id(x))
        return;
    if (!store) {
        begin_shell(x);
        return;
    }
    x->then = on_new_shell;
    x->job = store_add(store, str_of(x->session_id), SHARED_SHELL, on_record, x);
}

static void refuse_shell(struct http_exchange *x, enum error_code code, const char *why)
{
    struct error err;
    error_set(&err, code, "%.*s: argument 'session' %s", STR_ARG(x->message.tool), why);
    error_hint(&err, "Call with session \"new\" for a fresh shell that stays.");
    run_alone(x, &err);
}

static void go_on_in_shell(struct http_exchange *x, struct http_session *session)
{
    if (!session) {
        refuse_shell(x, ERR_NOT_FOUND,
                "names one that is there no more: it was ended, or not used for too "
                "long");
        return;
    }
    if (x->message.ends_session)
        snprintf(x->remark, sizeof(x->remark), "[paddock: this session has ended]");
    enter_session(x, session);
    hand_over(x, &session->client, NULL);
    x->ends = x->message.ends_session; /* a call that was refused is answered by now */
}

static void on_shell(struct http_exchange *x, const struct store_answer *answer)
{
    struct http_session *session = find_shared(x, HTTP_BY_TICKET, answer);
    if (!x->ready)
        go_on_in_shell(x, session);
}

static void run_in_shell(struct http_exchange *x, struct str ticket)
{
    struct http_server *s = x->server;
    struct str id;
    if (!http_ticket_read(&s->tickets, ticket, &id)) {
        refuse_shell(x, ERR_DENIED, "is neither \"new\" nor a name from this server");
        return;
    }
    memcpy(x->session_id, id.data, HTTP_SESSION_DIGITS);
    if (s->config.store)
        ask_record(x, on_shell);
    else
        go_on_in_shell(x,
                http_sessions_find(&s->sessions, HTTP_BY_TICKET, str_of(x->session_id)));
}

/* A call may say in which shell it is to run. */
static void run_stateless(struct http_exchange *x)
{
    struct str session = json_str(x->message.session);
    if (!session.len)
        run_alone(x, NULL);
    else if (str_is(session, HTTP_TICKET_NEW))
        run_new_shell(x);
    else
        run_in_shell(x, session);
}

static void run_message(struct http_exchange *x)
{
    struct http_message *m = &x->message;
    http_judge_message(&x->head, buf_str(&x->body), x->server->config.tools, m);
    switch (m->way) {
    case HTTP_WAY_REFUSED:
        buf_add(&x->answer.body, buf_str(&m->fault));
        set_answer(x, m->status, "application/json");
        break;
    case HTTP_WAY_TAKEN:
        set_answer(x, 202, NULL);
        break;
    case HTTP_WAY_OPEN:
        open_session(x);
        break;
    case HTTP_WAY_SESSION:
        run_in_session(x);
        break;
    case HTTP_WAY_ALONE:
        run_stateless(x);
        break;
    }
}

static void finish_session(struct http_exchange *x, bool known)
{
    struct http_server *s = x->server;
    struct http_session *session =
            http_sessions_find(&s->sessions, HTTP_BY_HEADER, str_of(x->session_id));
    if (session)
        end_session(s, session);
    if (session || known)
        set_answer(x, 200, NULL);
    else
        answer_gone(x);
}

static void on_finished(struct http_exchange *x, const struct store_answer *answer)
{
    if (answer->end == STORE_DONE || answer->end == STORE_NOT_FOUND)
        finish_session(x, answer->end == STORE_DONE);
    else
        answer_no_store(x, answer);
}

static void run_end_session(struct http_exchange *x)
{
    struct store *store = x->server->config.store;
    if (!names_session(x))
        return;
    if (!store) {
        finish_session(x, false);
        return;
    }
    x->then = on_finished;
    x->job = store_remove(store, str_of(x->session_id), on_record, x);
}

static void run_health(struct http_exchange *x)
{
    buf_add(&x->answer.body, STR("{\"status\":\"ok\"}\n"));
    set_answer(x, 200, "application/json");
}

static void run_metrics(struct http_exchange *x)
{
    const struct http_server_config *config = &x->server->config;
    set_answer(x, 200, config->metrics(config->user, &x->answer.body));
}

void http_exchange_run(struct http_exchange *x)
{
    if (x->route != HTTP_ROUTE_REFUSED && x->server->refuses) {
        answer_busy(x, "the server is about to end");
        x->answer.close = true;
        return;
    }
    switch (x->route) {
    case HTTP_ROUTE_REFUSED:
        x->ready = true;
        break;
    case HTTP_ROUTE_HEALTH:
        run_health(x);
        break;
    case HTTP_ROUTE_METRICS:
        run_metrics(x);
        break;
    case HTTP_ROUTE_END_SESSION:
        run_end_session(x);
        break;
    case HTTP_ROUTE_MESSAGE:
        run_message(x);
        break;
    }
}

bool http_exchange_is_ready(const struct http_exchange *x)
{
    return x->ready;
}

struct http_answer *http_exchange_answer(struct http_exchange *x)
{
    return &x->answer;
}

bool http_exchange_streams(const struct http_exchange *x)
{
    return x->streams;
}

ssize_t http_exchange_read(struct http_exchange *x, char *out, size_t room)
{
    struct str rest = str_from(buf_str(&x->stream), x->read);
    if (!rest.len) {
        buf_clear(&x->stream);
        x->read = 0;
        return x->stream_ended ? -1 : 0;
    }
    size_t n = rest.len < room ? rest.len : room;
    memcpy(out, rest.data, n);
    x->read += n;
    return (ssize_t)n;
}

static void wake_nobody(void *user UNUSED)
{
}

/* Whatever runs for it comes to an end, which is told at once. */
static void cancel(struct http_exchange *x)
{
    struct mcp *mcp = x->mcp;
    if (x->running && mcp)
        mcp_cancel(mcp, x);
    x->mcp = NULL;
}

void http_exchange_close(struct http_exchange *x)
{
    struct http_server *s = x->server;
    x->wake = wake_nobody;
    if (x->job)
        store_cancel(TAKE(x->job));
    bool untold = x->ticket[0] && x->running;
    cancel(x);
    if (untold && x->session)
        take_back(x);
    leave_session(x);
    if (x->client.mcp)
        close_client(s, x->client);
    *x->at = x->next;
    if (x->next)
        x->next->at = x->at;
    s->body_bytes -= x->body.len;
    http_message_finish(&x->message);
    buf_finish(&x->body);
    buf_finish(&x->stream);
    buf_finish(&x->answer.body);
    free(x);
}

void http_server_refuse_all(struct http_server *s)
{
    s->refuses = true;
}

size_t http_server_sessions(const struct http_server *s)
{
    return s->sessions.count;
}

bool http_server_is_busy(const struct http_server *s)
{
    for (const struct http_exchange *x = s->exchanges; x; x = x->next)
        if (x->running || x->job)
            return true;
    return false;
}

void http_server_cancel_all(struct http_server *s)
{
    for (struct http_exchange *x = s->exchanges; x; x = x->next) {
        if (x->job) {
            store_cancel(TAKE(x->job));
            answer_busy(x, "the server ends");
            x->wake(x->user);
        }
        if (!x->running)
            continue;
        if (x->streams) {
            auto_buf fault = BUF(4096 + x->message.id.len);
            http_write_fault(x->message.id, RPC_BUSY, "the server ends", &fault);
            add_event(x, buf_str(&fault));
        } else {
            answer_busy(x, "the server ends, and the call was cancelled");
            x->answer.close = true;
        }
        cancel(x);
    }
}

void http_server_tick(struct http_server *s)
{
    uint64_t now = now_ms(s);
    struct http_session *old;
    while (now > s->config.session_idle_ms &&
            (old = http_sessions_expired(&s->sessions, now - s->config.session_idle_ms)))
        end_session(s, old);
    for (struct http_exchange *x = s->exchanges; x; x = x->next) {
        if (!x->streams || !x->running || now - x->spoke < s->config.keepalive_ms)
            continue;
        buf_add(&x->stream, STR(":\n\n"));
        x->spoke = now;
        x->wake(x->user);
    }
}

void http_server_destroy(struct http_server *s)
{
    if (!s)
        return;
    assert(!s->exchanges);
    while (s->sessions.oldest)
        close_client(s, http_sessions_remove(&s->sessions, s->sessions.oldest));
    free(s);
}
