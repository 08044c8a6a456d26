#include "bridge/exchange.h"

#include "bridge/bridge.h"
#include "bridge/reply.h"

#include <time.h>

#define MAX_REDIRECTS   3
#define MAX_RESUMPTIONS 100 /* of one stream, */
#define MAX_VAIN        4   /* and of those in a row that brought nothing */
#define RESUME_MS       1000
#define MIN_RESUME_MS   50
#define MAX_LOCATION    ((size_t)8 << 10)
#define MAX_TYPE        256

int64_t exchange_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool blocks(const struct message *m)
{
    return m->json &&
           (message_is(m, "initialize") || message_is(m, "notifications/initialized"));
}

static void start(struct bridge *b, struct str text, const struct message *message)
{
    struct exchange *x = xcalloc(1, sizeof(*x));
    *x = (struct exchange){
        .bridge = b,
        .next = b->exchanges,
        .message = *message,
        .body = BUF(BRIDGE_MAX_MESSAGE),
        .arena = arena_create(),
        .url = b->setup->url,
        .type = BUF(MAX_TYPE),
        .location = BUF(MAX_LOCATION),
        .session = BUF(HEADER_MAX_SESSION),
        .content = BUF(BRIDGE_MAX_MESSAGE),
        .is_blocking = blocks(message),
    };
    buf_add(&x->body, text);
    sse_init(&x->events, BRIDGE_MAX_MESSAGE, transfer_event, x);
    b->exchanges = x;
    b->count++;
    b->requests += exchange_is_request(x);
    b->blocking += x->is_blocking;
    transfer_start(x);
}

void exchange_start(struct bridge *b, struct str text, struct message *message)
{
    start(b, text, message);
    *message = (struct message){ .json = NULL };
}

void exchange_end_session(struct bridge *b)
{
    const struct message none = { .json = NULL };
    start(b, STR(""), &none);
}

void exchange_drop(struct exchange *x)
{
    struct bridge *b = x->bridge;
    struct exchange **link = &b->exchanges;
    while (*link != x)
        link = &(*link)->next;
    *link = x->next;
    b->count--;
    b->requests -= exchange_is_request(x);
    b->blocking -= x->is_blocking;
    transfer_stop(x);
    sse_finish(&x->events);
    buf_finish(&x->body);
    buf_finish(&x->type);
    buf_finish(&x->location);
    buf_finish(&x->session);
    buf_finish(&x->content);
    message_finish(&x->message);
    arena_destroy(x->arena);
    free(x);
}

struct exchange *exchange_find(const struct bridge *b, const json_t *id)
{
    struct exchange *x = b->exchanges;
    while (x && !(exchange_is_request(x) && json_equal(x->message.id, id)))
        x = x->next;
    return x;
}

static bool can_resume(const struct exchange *x)
{
    return exchange_is_request(x) && !exchange_is_modern(x) && !x->is_answered &&
           header_is_value(buf_str(&x->events.id)) && x->vain < MAX_VAIN &&
           x->resumptions < MAX_RESUMPTIONS;
}

/* The stream is to be taken up again, when the server has said. */
static bool resume_later(struct exchange *x)
{
    int64_t wait = x->events.retry_ms < 0 ? RESUME_MS : x->events.retry_ms;
    x->resumptions++;
    x->vain++;
    x->is_resumption = true;
    x->due_ms = exchange_clock() + (wait < MIN_RESUME_MS ? MIN_RESUME_MS : wait);
    sse_restart(&x->events);
    return true;
}

static enum failure failure_of(CURLcode code)
{
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        return FAILURE_CONNECT;
    default:
        return FAILURE_ENDED;
    }
}

static const char *advice(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION
                   ? " (SSL_CERT_FILE in the env of its definition names other "
                     "certificates to trust)"
                   : "";
}

static const char *reason(const struct exchange *x, CURLcode code)
{
    if (code == CURLE_SEND_FAIL_REWIND || code == CURLE_ABORTED_BY_CALLBACK)
        return "the connection ended after the message was sent; it may have been "
               "carried "
               "out, and is not sent again";
    return x->why[0] ? x->why : curl_easy_strerror(code);
}

static void fail_without_reply(struct exchange *x, CURLcode code)
{
    const char *origin = x->url.origin;
    enum failure failure = failure_of(code);
    if (x->is_resumption)
        reply_fail(x, FAILURE_ENDED,
                "the stream of %s ended without the reply, and cannot be taken up again: "
                "%s",
                origin, reason(x, code));
    else if (failure == FAILURE_CONNECT)
        reply_fail(x, failure, "cannot connect to %s: %s%s", origin, reason(x, code),
                advice(code));
    else
        reply_fail(x, failure, "%s sent no reply: %s", origin, reason(x, code));
}

static void refuse_redirect(struct exchange *x, const char *why, const char *to)
{
    reply_fail(x, FAILURE_REDIRECT,
            "%s redirects (HTTP %ld)%s%s, which is not followed: %s", x->url.origin,
            x->status, to[0] ? " to " : "", to, why);
}

/* True: it goes on at the other place. */
static bool follow(struct exchange *x)
{
    struct url to;
    struct error err;
    if (x->status != 307 && x->status != 308) {
        refuse_redirect(x, "only 307 and 308 keep the message", "");
        return false;
    }
    if (!x->location.len || x->location.full ||
            !url_parse(x->location.data, &x->url, x->arena, &to, &err)) {
        refuse_redirect(x, "it says no usable URL", "");
        return false;
    }
    if (!url_same_origin(&to, &x->url)) {
        refuse_redirect(x,
                "headers of a definition are for its own origin; if that is right, write "
                "that URL into the definition",
                to.origin);
        return false;
    }
    if (++x->redirects > MAX_REDIRECTS) {
        refuse_redirect(x, "it is one of too many", "");
        return false;
    }
    x->url = to;
    transfer_start(x);
    return true;
}

static void fail_content(struct exchange *x)
{
    auto_buf excerpt = BUF((size_t)8 << 10), type = BUF(MAX_TYPE);
    reply_excerpt(x, &excerpt);
    buf_add_shown(&type, buf_str(&x->type));
    if (!x->content.len && !x->type.len)
        reply_fail(x, FAILURE_ENDED, "%s answered HTTP %ld without a reply",
                x->url.origin, x->status);
    else
        reply_fail(x, FAILURE_CONTENT,
                "%s sent '%s', neither JSON nor a stream of events: "
                "%s",
                x->url.origin, buf_str(&type).data, buf_str(&excerpt).data);
}

/* True: it goes on. */
static bool end_stream(struct exchange *x, CURLcode code)
{
    if (can_resume(x))
        return resume_later(x);
    reply_fail(x, FAILURE_ENDED, "the stream of %s ended without the reply%s%s",
            x->url.origin, code ? ": " : "", code ? reason(x, code) : "");
    return false;
}

static void end_json(struct exchange *x, CURLcode code)
{
    if (code)
        reply_fail(x, FAILURE_ENDED, "the reply of %s broke off: %s", x->url.origin,
                reason(x, code));
    else if (!reply_take(x, buf_str(&x->content)))
        reply_fail(x, FAILURE_CONTENT, "%s sent no JSON-RPC: %s", x->url.origin,
                x->problem.message);
    else if (!x->is_answered)
        reply_fail(x, FAILURE_ENDED, "%s answered something else", x->url.origin);
}

/* A GET that was refused. */
static void fail_resumption(struct exchange *x)
{
    if (x->status == 404 && x->bridge->session.id[0])
        reply_fail_status(x);
    else
        reply_fail(x, FAILURE_ENDED,
                "the stream of %s ended without the reply, and cannot be taken up again: "
                "HTTP %ld",
                x->url.origin, x->status);
}

/* True: it goes on. */
static bool end_request(struct exchange *x, CURLcode code)
{
    bool is_success = x->status >= 200 && x->status < 300;
    if (x->failure) {
        reply_fail(x, x->failure, "%s: %s", x->url.origin, x->problem.message);
    } else if (x->mode == REPLY_PENDING) {
        if (x->is_resumption && can_resume(x))
            return resume_later(x);
        fail_without_reply(x, code);
    } else if (x->mode == REPLY_STREAM) {
        return end_stream(x, code);
    } else if (x->mode == REPLY_JSON) {
        end_json(x, code);
    } else if (x->status >= 300 && x->status < 400) {
        return follow(x);
    } else if (x->is_resumption) {
        fail_resumption(x);
    } else if (is_success) {
        fail_content(x);
    } else {
        reply_fail_status(x);
    }
    return false;
}

/* Notifications, responses, the end of a session: who sent them does not wait. */
static bool end_silent(struct exchange *x, CURLcode code)
{
    bool is_delete = !x->message.json;
    if (x->failure)
        reply_fail(x, x->failure, "%s: %s", x->url.origin, x->problem.message);
    else if (x->mode == REPLY_PENDING)
        fail_without_reply(x, code);
    else if (x->status >= 300 && x->status < 400)
        return follow(x);
    else if (x->status >= 400 && !(is_delete && (x->status == 405 || x->status == 404)))
        reply_fail_status(x);
    return false;
}

void exchange_ended(struct exchange *x, CURLcode code)
{
    transfer_stop(x);
    x->due_ms = 0;
    bool goes_on = false;
    if (!exchange_is_request(x))
        goes_on = end_silent(x, code);
    else if (!x->is_answered)
        goes_on = end_request(x, x->is_over ? CURLE_OK : code);
    if (!goes_on)
        exchange_drop(x);
}

void exchange_wake(struct exchange *x)
{
    if (x->easy)
        exchange_ended(x, CURLE_OK); /* with what has come */
    else
        transfer_start(x);
}
