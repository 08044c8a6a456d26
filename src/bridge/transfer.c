/*
 * One HTTP request of an exchange: what is told to curl, and what curl tells.
 */
#include "bridge/bridge.h"
#include "bridge/reply.h"

#include <strings.h>

#define CONNECT_MS     10000
#define SILENT_MS      10000 /* for what is to be answered with a status only */
#define ERROR_MS       2000  /* for the text of an error */
#define LINGER_MS      500   /* for the end of a stream whose answer has come */
#define END_SESSION_MS 700
#define MAX_HEADERS    ((size_t)64 << 10)
#define MAX_IGNORED    ((size_t)64 << 10)
#define MAX_EXCERPT    ((size_t)64 << 10)
#define MAX_HELD       ((size_t)96 << 20) /* bytes of all exchanges, in memory */

static bool stop(struct exchange *x, enum failure failure, const char *text)
{
    x->failure = failure;
    error_set(&x->problem, ERR_LIMIT, "%s", text);
    x->is_over = true;
    return false;
}

static bool is_success(long status)
{
    return status >= 200 && status < 300;
}

static bool has_type(const struct exchange *x, const char *type)
{
    return header_is_media_type(buf_str(&x->type), type);
}

static enum reply_mode choose_mode(const struct exchange *x)
{
    if (x->status >= 300 && x->status < 400)
        return REPLY_IGNORE;
    if (!is_success(x->status))
        return REPLY_EXCERPT;
    if (!exchange_is_request(x))
        return REPLY_IGNORE;
    if (has_type(x, "text/event-stream"))
        return REPLY_STREAM;
    if (has_type(x, "application/json") && !x->is_resumption)
        return REPLY_JSON;
    return REPLY_EXCERPT;
}

/* The answer to `initialize` may bring a session. */
static bool take_session(struct exchange *x)
{
    struct str id = buf_str(&x->session);
    if (!x->message.json || !message_is(&x->message, "initialize") ||
            exchange_is_modern(x) || !is_success(x->status))
        return true;
    if (x->session.full || (id.len && !header_is_value(id)))
        return stop(x, FAILURE_CONTENT, "its session id is no header value");
    memcpy(x->bridge->session.id, id.data, id.len);
    x->bridge->session.id[id.len] = 0;
    return true;
}

static bool end_headers(struct exchange *x)
{
    if (x->status < 200)
        return true; /* more headers follow */
    x->mode = choose_mode(x);
    if (x->mode == REPLY_EXCERPT)
        x->due_ms = exchange_clock() + ERROR_MS;
    if (x->is_blocking && !exchange_is_request(x) && is_success(x->status)) {
        x->bridge->blocking--;
        x->is_blocking = false;
    }
    return take_session(x);
}

static void take_field(struct exchange *x, struct str line)
{
    struct {
        const char *name;
        struct buf *to;
    } const fields[] = {
        { "content-type", &x->type },
        { "location", &x->location },
        { "mcp-session-id", &x->session },
    };
    struct str value = line;
    struct str name = str_cut(&value, ':');
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (name.len != strlen(fields[i].name) ||
                strncasecmp(name.data, fields[i].name, name.len))
            continue;
        buf_clear(fields[i].to);
        buf_add(fields[i].to, header_trim(value));
    }
}

static void begin_headers(struct exchange *x)
{
    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->status);
    buf_clear(&x->type);
    buf_clear(&x->location);
    buf_clear(&x->session);
}

static size_t on_header(char *data, size_t size, size_t count, void *user)
{
    struct exchange *x = user;
    struct str line = { data, size * count };
    x->header_bytes += line.len;
    if (x->header_bytes > MAX_HEADERS)
        stop(x, FAILURE_LIMIT, "its headers are too long");
    else if (x->mode != REPLY_PENDING)
        ; /* a trailer */
    else if (str_starts(line, STR("HTTP/")))
        begin_headers(x);
    else if (!header_trim(line).len)
        end_headers(x);
    else
        take_field(x, line);
    return x->is_over ? 0 : line.len;
}

/* False: no more events are wanted. */
bool transfer_event(void *user, const struct sse_event *event)
{
    struct exchange *x = user;
    x->vain = 0;
    if (!event->data.len || !str_is(event->type, "message"))
        return true;
    if (!reply_take(x, event->data))
        x->is_over = true;
    if (x->is_answered) {
        x->mode = REPLY_IGNORE;
        x->due_ms = exchange_clock() + LINGER_MS;
    }
    return !x->is_over && !x->is_answered;
}

static size_t held_by(const struct exchange *x)
{
    return x->body.len + x->content.len + x->events.line.len + x->events.data.len;
}

static size_t held_by_all(const struct bridge *b)
{
    size_t sum = 0;
    for (const struct exchange *x = b->exchanges; x; x = x->next)
        sum += held_by(x);
    return sum;
}

static void take_events(struct exchange *x, struct str bytes)
{
    if (!sse_add(&x->events, bytes, &x->problem)) {
        x->failure = FAILURE_LIMIT;
        x->is_over = true;
    }
}

static void take_bytes(struct exchange *x, struct str bytes)
{
    switch (x->mode) {
    case REPLY_PENDING:
    case REPLY_IGNORE:
        x->is_over |= x->received > MAX_IGNORED && !exchange_is_request(x);
        break;
    case REPLY_EXCERPT:
        buf_add(&x->content, str_sub(bytes, 0, MAX_EXCERPT - x->content.len));
        x->is_over |= x->content.len == MAX_EXCERPT;
        break;
    case REPLY_JSON:
        buf_add(&x->content, bytes);
        if (x->content.full)
            stop(x, FAILURE_LIMIT, "the reply is larger than 10 MiB");
        break;
    case REPLY_STREAM:
        take_events(x, bytes);
        break;
    }
}

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
    struct exchange *x = user;
    struct str bytes = { data, size * count };
    x->received += bytes.len;
    if (x->received > BRIDGE_MAX_STREAM)
        stop(x, FAILURE_LIMIT, "more than 64 MiB came for one request");
    else if (held_by_all(x->bridge) + bytes.len > MAX_HELD)
        stop(x, FAILURE_LIMIT, "too much came for all requests together");
    else
        take_bytes(x, bytes);
    return x->is_over ? 0 : bytes.len;
}

/* What all of them have in common. */
static void set_options(const struct exchange *x, CURL *easy)
{
    const struct bridge *b = x->bridge;
    const struct bridge_setup *setup = b->setup;
    curl_easy_setopt(easy, CURLOPT_URL, x->url.text);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(easy, CURLOPT_PROXY, setup->proxy.text ? setup->proxy.text : "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &b->authorities);
    curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO_BLOB, &b->authorities);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "paddock/" PADDOCK_VERSION);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* A name that is being looked up does not hold up all others when it is dropped. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
}

/* Without a way back: what curl has begun to send, it cannot send again.  It would when
 * a connection that was kept ends before an answer, and the server may have done by then
 * what it was asked for.  If nothing of the body has gone, curl may still begin anew. */
static size_t on_send(char *out, size_t size, size_t count, void *user)
{
    struct exchange *x = user;
    struct str rest = str_from(buf_str(&x->body), x->sent);
    size_t n = rest.len < size * count ? rest.len : size * count;
    if (!n)
        return CURL_READFUNC_ABORT; /* it knows the length: it has begun anew after all */
    memcpy(out, rest.data, n);
    x->sent += n;
    return n;
}

/* What only asks may be asked twice. */
static bool may_repeat(const struct message *m)
{
    return message_is(m, "tools/list") || message_is(m, "server/discover") ||
           message_is(m, "ping");
}

static void set_body(struct exchange *x, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body.len);
    if (may_repeat(&x->message)) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, x->body.data);
        return;
    }
    x->sent = 0;
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_send);
    curl_easy_setopt(easy, CURLOPT_READDATA, x);
}

static void set_request(struct exchange *x, CURL *easy)
{
    const struct bridge *b = x->bridge;
    if (!x->message.json) {
        x->fields = headers_of_request(b->setup, &b->session, "", STR(""));
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)END_SESSION_MS);
    } else if (x->is_resumption) {
        x->fields = headers_of_request(
                b->setup, &b->session, "text/event-stream", buf_str(&x->events.id));
    } else {
        x->fields = mirrors_add(&b->mirrors, &x->message,
                headers_of_message(b->setup, &b->session, &x->message));
        set_body(x, easy);
        if (!exchange_is_request(x))
            curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)SILENT_MS);
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, x->fields);
}

void transfer_start(struct exchange *x)
{
    x->status = 0;
    x->mode = REPLY_PENDING;
    x->header_bytes = 0;
    x->is_over = false;
    x->due_ms = 0;
    x->why[0] = 0;
    buf_clear(&x->content);
    x->easy = curl_easy_init();
    assert(x->easy);
    set_options(x, x->easy);
    set_request(x, x->easy);
    curl_easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->why);
    curl_easy_setopt(x->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(x->easy, CURLOPT_HEADERDATA, x);
    curl_easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(x->easy, CURLOPT_PRIVATE, x);
    curl_multi_add_handle(x->bridge->multi, x->easy);
}

void transfer_stop(struct exchange *x)
{
    if (!x->easy)
        return;
    curl_multi_remove_handle(x->bridge->multi, x->easy);
    curl_easy_cleanup(TAKE(x->easy));
    curl_slist_free_all(TAKE(x->fields));
}
