#include "bridge/run.h"

#include "base/log.h"
#include "bridge/bridge.h"
#include "bridge/exchange.h"
#include "bridge/reply.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define MAX_EXCHANGES 64 /* with more than that no line is read */
#define READ_SIZE     ((size_t)64 << 10)
#define KEEP_BUFFER   ((size_t)256 << 10)
#define FINISH_MS     1000 /* for what runs, once the input has ended, */
#define LEAVE_MS      800  /* and for the end of the session */

enum phase {
    PHASE_OPEN,
    PHASE_FINISHING, /* the input has ended */
    PHASE_LEAVING,   /* the session is being ended */
    PHASE_OVER,
};

struct run {
    struct bridge bridge;
    enum phase phase;
    int64_t phase_ends_ms; /* of those after PHASE_OPEN */
    struct buf in;
    size_t taken;     /* bytes of `in` */
    bool is_skipping; /* inside a line that is too long */
    bool has_ended;   /* the input */
};

/* notifications/cancelled: nobody waits for that request any more. */
static void cancel(struct bridge *b, struct str line, struct message *m)
{
    const json_t *id = json_object_get(json_object_get(m->json, "params"), "requestId");
    struct exchange *x = exchange_find(b, id);
    if (!x)
        return;
    /* In 2026-07-28 the end of the stream says it all. */
    bool is_told = !exchange_is_modern(x) && !message_is(&x->message, "initialize");
    exchange_drop(x);
    if (is_told)
        exchange_start(b, line, m);
}

static void begin_session(struct bridge *b, const struct message *m)
{
    if (message_is(m, "initialize") && !m->version.len)
        b->session = (struct bridge_session){ .is_lost = false };
}

static void take_line(struct bridge *b, struct str line)
{
    struct message m;
    struct error err;
    if (!message_parse(line, &m, &err)) {
        log_line(LOG_WARN, "a message that cannot be sent: %s", err.message);
        return;
    }
    bool is_request = m.kind == MESSAGE_REQUEST;
    if (m.kind == MESSAGE_NOTIFICATION && message_is(&m, "notifications/cancelled")) {
        cancel(b, line, &m);
    } else if (is_request && exchange_find(b, m.id)) {
        reply_refuse(b, m.id, "a request with this id is not answered yet");
    } else if (is_request && b->requests >= BRIDGE_MAX_REQUESTS) {
        reply_refuse(b, m.id, "too many requests at once");
    } else {
        begin_session(b, &m);
        exchange_start(b, line, &m);
    }
    message_finish(&m);
}

static bool is_blank(struct str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (!strchr(" \t\r", line.data[i]) || !line.data[i])
            return false;
    return true;
}

/* The next line of what has been read; false: there is none. */
static bool next_line(struct run *r, struct str *line)
{
    struct str rest = str_from(buf_str(&r->in), r->taken);
    const char *end = rest.len ? memchr(rest.data, '\n', rest.len) : NULL;
    if (!end && !(r->has_ended && rest.len))
        return false;
    *line = str_sub(rest, 0, end ? (size_t)(end - rest.data) : rest.len);
    r->taken += line->len + (end != NULL);
    return true;
}

static bool may_take(const struct run *r)
{
    return r->phase <= PHASE_FINISHING && !r->bridge.blocking &&
           r->bridge.count < MAX_EXCHANGES;
}

static void warn_of_length(void)
{
    log_line(LOG_WARN, "a message of more than 10 MiB is not sent");
}

static void take_lines(struct run *r)
{
    struct str line;
    while (may_take(r) && next_line(r, &line)) {
        if (!r->is_skipping && line.len > BRIDGE_MAX_MESSAGE)
            warn_of_length();
        else if (!r->is_skipping && !is_blank(line))
            take_line(&r->bridge, line);
        r->is_skipping = false;
    }
    if (r->taken < r->in.len)
        return;
    r->in.len = r->taken = 0;
    if (r->in.cap > KEEP_BUFFER)
        buf_finish(&r->in);
}

/* Give back the room of lines that were taken. */
static void make_room(struct run *r)
{
    if (!r->taken)
        return;
    memmove(r->in.data, r->in.data + r->taken, r->in.len - r->taken);
    r->in.len -= r->taken;
    r->taken = 0;
}

/* The start of a line that is too long already. */
static void skip_long(struct run *r)
{
    if (r->in.len <= BRIDGE_MAX_MESSAGE || memchr(r->in.data, '\n', r->in.len))
        return;
    if (!r->is_skipping)
        warn_of_length();
    r->is_skipping = true;
    r->in.len = 0;
}

/* A line that must wait keeps those behind it in the pipe. */
static bool wants_input(const struct run *r)
{
    return !r->has_ended && r->in.len - r->taken <= BRIDGE_MAX_MESSAGE;
}

static void read_input(struct run *r)
{
    make_room(r);
    char *to = buf_reserve(&r->in, READ_SIZE);
    ssize_t n = to ? read(BRIDGE_INPUT, to, READ_SIZE) : 0;
    if (n > 0)
        r->in.len += (size_t)n;
    else if (!n || (errno != EAGAIN && errno != EINTR))
        r->has_ended = true;
    skip_long(r);
}

static void drive(struct bridge *b)
{
    int left;
    CURLMsg *m;
    curl_multi_perform(b->multi, &left);
    while ((m = curl_multi_info_read(b->multi, &left))) {
        char *x;
        CURLcode code = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &x);
        exchange_ended((struct exchange *)(void *)x, code);
    }
}

static void wake(struct bridge *b)
{
    int64_t now = exchange_clock();
    for (struct exchange *x = b->exchanges, *next; x; x = next) {
        next = x->next;
        if (x->due_ms && x->due_ms <= now)
            exchange_wake(x);
    }
}

static void drop_all(struct bridge *b)
{
    while (b->exchanges)
        exchange_drop(b->exchanges);
}

static void advance(struct run *r)
{
    struct bridge *b = &r->bridge;
    if (r->phase == PHASE_OPEN && r->has_ended) {
        r->phase = PHASE_FINISHING;
        r->phase_ends_ms = exchange_clock() + FINISH_MS;
    }
    if (r->phase == PHASE_FINISHING &&
            ((!b->count && !r->in.len) || exchange_clock() >= r->phase_ends_ms)) {
        drop_all(b);
        r->phase = PHASE_LEAVING;
        r->phase_ends_ms = exchange_clock() + LEAVE_MS;
        if (b->session.id[0] && !b->session.is_lost)
            exchange_end_session(b);
    }
    if (r->phase == PHASE_LEAVING && ((!b->count && !output_waiting(&b->output)) ||
                                             exchange_clock() >= r->phase_ends_ms))
        r->phase = PHASE_OVER;
}

static int time_to_wait(const struct run *r)
{
    int64_t now = exchange_clock(), until = now + 60000;
    if (r->phase != PHASE_OPEN && r->phase_ends_ms < until)
        until = r->phase_ends_ms;
    for (const struct exchange *x = r->bridge.exchanges; x; x = x->next)
        if (x->due_ms && x->due_ms < until)
            until = x->due_ms;
    return until > now ? (int)(until - now) : 0;
}

static bool is_ready(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };
    return poll(&p, 1, 0) > 0 && p.revents;
}

static void wait_for_something(struct run *r, bool is_driven)
{
    struct curl_waitfd extra[3] = { { .fd = BRIDGE_SOCKET, .events = CURL_WAIT_POLLIN } };
    struct pollfd plain[3] = { { .fd = BRIDGE_SOCKET, .events = POLLIN } };
    unsigned count = 1;
    if (wants_input(r)) {
        extra[count].fd = plain[count].fd = BRIDGE_INPUT;
        extra[count].events = CURL_WAIT_POLLIN;
        plain[count++].events = POLLIN;
    }
    if (output_waiting(&r->bridge.output)) {
        extra[count].fd = plain[count].fd = BRIDGE_OUTPUT;
        extra[count].events = CURL_WAIT_POLLOUT;
        plain[count++].events = POLLOUT;
    }
    if (is_driven)
        curl_multi_poll(r->bridge.multi, extra, count, time_to_wait(r), NULL);
    else
        poll(plain, count, r->phase == PHASE_OPEN ? -1 : time_to_wait(r));
}

/* Is there room for what transfers bring? */
static bool has_room(const struct bridge *b)
{
    return output_waiting(&b->output) <= OUTPUT_HIGH_WATER;
}

static void turn(struct run *r)
{
    struct bridge *b = &r->bridge;
    bool is_driven = has_room(b);
    if (is_driven) {
        drive(b);
        wake(b);
    }
    take_lines(r);
    output_flush(&b->output);
    advance(r);
    if (b->output.is_broken)
        r->phase = PHASE_OVER;
    if (r->phase == PHASE_OVER || (!is_driven && has_room(b)))
        return; /* the end, or transfers that stood still go on */
    wait_for_something(r, is_driven);
    if (wants_input(r) && is_ready(BRIDGE_INPUT, POLLIN))
        read_input(r);
    if (is_ready(BRIDGE_SOCKET, POLLIN))
        r->phase = PHASE_OVER;
}

void bridge_run(const struct bridge_setup *setup, struct str authorities)
{
    struct run r = {
        .bridge = {
            .setup = setup,
            .multi = curl_multi_init(),
            .authorities = { .len = authorities.len, .flags = CURL_BLOB_NOCOPY },
        },
        .in = BUF(2 * (BRIDGE_MAX_MESSAGE + READ_SIZE)),
    };
    auto_buf pem = BUF(authorities.len);
    buf_add(&pem, authorities);
    r.bridge.authorities.data = pem.data;
    assert(r.bridge.multi);
    signal(SIGPIPE, SIG_IGN);
    fcntl(BRIDGE_INPUT, F_SETFL, fcntl(BRIDGE_INPUT, F_GETFL) | O_NONBLOCK);
    output_init(&r.bridge.output, BRIDGE_OUTPUT);
    while (r.phase != PHASE_OVER)
        turn(&r);
    drop_all(&r.bridge);
    output_finish(&r.bridge.output);
    mirrors_finish(&r.bridge.mirrors);
    buf_finish(&r.in);
    curl_multi_cleanup(r.bridge.multi);
}
