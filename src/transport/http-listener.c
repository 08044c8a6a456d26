#include "transport/http-listener.h"

#include "base/log.h"
#include "transport/http-mhd.h"
#include "transport/http-peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS        1000
#define CLOSING_MS     20    /* between two looks at what still runs */
#define REPLY_TIMES    4     /* so many times as long for an answer to be taken */
#define BETWEEN_MS     75000 /* two requests of a connection */
#define STALL_S        60    /* without a byte either way */
#define IDLE_TURNS     256   /* of the library, which takes a head of 32 KiB in 32 */
#define IDLE_MS        20    /* between two such turns after that */
#define BACKLOG        512
#define MEMORY_BYTES   ((size_t)32 << 10) /* of a connection: its head has to fit */
#define BLOCK_BYTES    ((size_t)32 << 10) /* of a stream */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

enum phase { WAITING, RECEIVING, WORKING, REPLYING };

struct connection {
    struct connection *next, **at; /* of the listener's */
    struct http_listener *listener;
    struct MHD_Connection *mhd;
    struct http_exchange *exchange; /* NULL between requests */
    enum phase phase;
    uint64_t since; /* ms: when it came to that */
    bool used;      /* it had a request */
    bool suspended, gone;
    bool watched;    /* `watch` has been made */
    uv_poll_t watch; /* for its end, while it is suspended */
    int fd;
    char peer[HTTP_PEER_MAX];
};

struct http_listener {
    struct mhd mhd;
    struct http_listener_config config;
    struct http_server *server;
    uv_loop_t *loop;
    struct MHD_Daemon *daemon;
    struct connection *connections;
    struct http_counts counts;
    uv_poll_t poll;
    uv_timer_t turn; /* when the library wants to be run again */
    uv_timer_t tick;
    unsigned handles, port;
    bool closing, cancelled;
    bool resumed; /* some connection was, since the library was last run */
    bool called;  /* we were, by the library in its last turn */
    unsigned idle_turns;
    uint64_t closing_since;
    unsigned finish_ms, flush_ms;
};

static void enter(struct connection *c, enum phase phase)
{
    c->listener->called = true;
    c->phase = phase;
    c->since = uv_now(c->listener->loop);
}

static void on_turn(uv_timer_t *timer);

/*
 * When a connection's buffer is full of what is never complete (the extension of a chunk
 * can be that), the library asks for another turn for ever, and takes all of a processor.
 */
static uint64_t slow_down(struct http_listener *l, uint64_t wait_ms)
{
    if (wait_ms)
        l->idle_turns = 0;
    else if (!l->called && l->idle_turns <= IDLE_TURNS)
        l->idle_turns++;
    else if (l->called && l->idle_turns)
        l->idle_turns--; /* requests of others are no reason to begin anew */
    return !l->called && l->idle_turns > IDLE_TURNS ? IDLE_MS : wait_ms;
}

/* The library does not count what was resumed by a request that it has just served. */
static void run(struct http_listener *l)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    l->resumed = l->called = false;
    l->mhd.run(l->daemon);
    if (l->resumed)
        uv_timer_start(&l->turn, on_turn, 0, 0);
    else if (l->mhd.get_timeout(l->daemon, &wait_ms) == MHD_YES)
        uv_timer_start(&l->turn, on_turn, slow_down(l, wait_ms), 0);
    else
        uv_timer_stop(&l->turn);
}

static void on_turn(uv_timer_t *timer)
{
    run(timer->data);
}

static void on_poll(uv_poll_t *poll, int failure UNUSED, int events UNUSED)
{
    run(poll->data);
}

static void on_connection_freed(uv_handle_t *handle)
{
    free(handle->data);
}

/* It goes on in the library's next turn, of which nothing else would tell. */
static void resume(struct connection *c)
{
    struct http_listener *l = c->listener;
    if (!c->suspended)
        return;
    c->suspended = false;
    c->since = uv_now(l->loop);
    if (c->watched)
        uv_poll_stop(&c->watch);
    l->mhd.resume_connection(c->mhd);
    l->resumed = true;
    uv_timer_start(&l->turn, on_turn, 0, 0);
}

/* The client hung up while its call was running. */
static void on_hangup(uv_poll_t *watch, int failure, int events)
{
    struct connection *c = watch->data;
    if (!failure && !(events & UV_DISCONNECT))
        return;
    c->gone = true;
    resume(c);
}

static void suspend(struct connection *c)
{
    struct http_listener *l = c->listener;
    c->suspended = true;
    l->mhd.suspend_connection(c->mhd);
    if (!c->watched && !uv_poll_init(l->loop, &c->watch, c->fd)) {
        c->watched = true;
        c->watch.data = c;
    }
    if (c->watched)
        uv_poll_start(&c->watch, UV_DISCONNECT, on_hangup);
}

static void on_wake(void *user)
{
    resume(user);
}

static struct connection *add_connection(
        struct http_listener *l, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *fd = l->mhd.get_connection_info(
                                           mhd, MHD_CONNECTION_INFO_CONNECTION_FD),
                                   *peer = l->mhd.get_connection_info(
                                           mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct connection *c = xcalloc(1, sizeof(*c));
    *c = (struct connection){ .next = l->connections,
        .at = &l->connections,
        .listener = l,
        .mhd = mhd,
        .fd = fd->connect_fd };
    http_peer_write(peer->client_addr, c->peer);
    if (c->next)
        c->next->at = &c->next;
    l->connections = c;
    l->counts.connections++;
    enter(c, WAITING);
    return c;
}

static void on_connection(void *user, struct MHD_Connection *mhd, void **context,
        enum MHD_ConnectionNotificationCode what)
{
    struct http_listener *l = user;
    struct connection *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = add_connection(l, mhd);
        return;
    }
    l->counts.connections--;
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    if (c->watched)
        uv_close((uv_handle_t *)&c->watch, on_connection_freed);
    else
        free(c);
}

static enum MHD_Result on_field(
        void *user, enum MHD_ValueKind kind UNUSED, const char *name, const char *value)
{
    http_head_add(user, str_of(name), value ? str_of(value) : STR(""));
    return MHD_YES;
}

static void add_header(struct connection *c, struct MHD_Response *response,
        const char *name, const char *value)
{
    if (value)
        c->listener->mhd.add_response_header(response, name, value);
}

static void add_headers(struct connection *c, struct MHD_Response *response,
        const struct http_answer *answer, bool streams)
{
    char seconds[16];
    snprintf(seconds, sizeof(seconds), "%u", answer->retry_after_s);
    add_header(c, response, "Content-Type", answer->type);
    add_header(c, response, "Allow", answer->allow);
    add_header(c, response, "Mcp-Session-Id", answer->session);
    add_header(c, response, "Retry-After", answer->retry_after_s ? seconds : NULL);
    add_header(c, response, "WWW-Authenticate", answer->authenticate ? "Bearer" : NULL);
    add_header(c, response, "Connection", answer->close ? "close" : NULL);
    add_header(c, response, "Cache-Control", streams ? "no-cache" : NULL);
    add_header(c, response, "X-Accel-Buffering", streams ? "no" : NULL);
    add_header(c, response, "X-Content-Type-Options", answer->type ? "nosniff" : NULL);
}

static ssize_t on_stream(void *user, uint64_t at UNUSED, char *out, size_t room)
{
    struct connection *c = user;
    if (c->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    c->listener->called = true;
    c->since = uv_now(c->listener->loop); /* the part before this one has been taken */
    ssize_t n = http_exchange_read(c->exchange, out, room);
    if (n < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!n)
        suspend(c);
    return n;
}

static struct MHD_Response *make_response(
        struct connection *c, struct http_answer *answer, bool streams)
{
    const struct mhd *mhd = &c->listener->mhd;
    if (streams)
        return mhd->create_response_from_callback(
                MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_stream, c, NULL);
    size_t len = answer->body.len;
    if (!len)
        return mhd->create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    return mhd->create_response_from_buffer(
            len, TAKE(answer->body.data), MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result reply(struct connection *c)
{
    const struct mhd *mhd = &c->listener->mhd;
    struct http_answer *answer = http_exchange_answer(c->exchange);
    bool streams = http_exchange_streams(c->exchange);
    struct MHD_Response *response = make_response(c, answer, streams);
    if (!response)
        return MHD_NO;
    add_headers(c, response, answer, streams);
    enum MHD_Result queued = mhd->queue_response(c->mhd, answer->status, response);
    mhd->destroy_response(response);
    c->listener->counts.answers[answer->status - 100]++;
    enter(c, REPLYING);
    return queued;
}

static enum MHD_Result begin(struct connection *c, const char *url, const char *method)
{
    struct http_head head = {
        .peer = str_of(c->peer), .method = str_of(method), .path = str_of(url)
    };
    c->listener->mhd.get_connection_values(c->mhd, MHD_HEADER_KIND, on_field, &head);
    c->exchange = http_exchange_open(c->listener->server, &head, on_wake, c);
    c->used = true;
    enter(c, RECEIVING);
    return http_exchange_is_ready(c->exchange) ? reply(c) : MHD_YES;
}

/* Called with the head, with each part of the body, at its end, and when the connection
 * was resumed. */
static enum MHD_Result on_request(void *user UNUSED, struct MHD_Connection *mhd,
        const char *url, const char *method, const char *version UNUSED,
        const char *upload, size_t *upload_size, void **context)
{
    struct connection *c = *context;
    if (!c) {
        struct http_listener *l = user;
        const union MHD_ConnectionInfo *info =
                l->mhd.get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        c = *context = info->socket_context;
        return begin(c, url, method);
    }
    c->listener->called = true;
    if (*upload_size) {
        struct str bytes = { upload, *upload_size };
        *upload_size = 0;
        return http_exchange_add(c->exchange, bytes) ? MHD_YES : MHD_NO;
    }
    if (c->gone)
        return MHD_NO;
    if (c->phase == RECEIVING) {
        enter(c, WORKING);
        http_exchange_run(c->exchange);
    }
    if (http_exchange_is_ready(c->exchange))
        return reply(c);
    suspend(c);
    return MHD_YES;
}

static void on_completed(void *user UNUSED, struct MHD_Connection *mhd UNUSED,
        void **context, enum MHD_RequestTerminationCode how UNUSED)
{
    struct connection *c = *context;
    if (!c)
        return;
    *context = NULL;
    http_exchange_close(TAKE(c->exchange));
    enter(c, WAITING);
}

static bool is_late(const struct connection *c, uint64_t now)
{
    unsigned request_ms = c->listener->config.request_ms;
    uint64_t passed = now - c->since;
    switch (c->phase) {
    case WAITING:
        return passed > (c->used ? BETWEEN_MS : request_ms);
    case RECEIVING:
        return passed > request_ms;
    case REPLYING: /* a silent stream is suspended: nobody has to take anything then */
        return passed > (uint64_t)REPLY_TIMES * request_ms && !c->suspended;
    case WORKING:
        break;
    }
    return false;
}

/* The library sees the end of the connection and closes it; or, with no room to read it
 * into, that nothing has come for a second. */
static void hang_up(struct connection *c)
{
    shutdown(c->fd, SHUT_RDWR);
    c->listener->mhd.set_connection_option(c->mhd, MHD_CONNECTION_OPTION_TIMEOUT, 1U);
}

static void stop(struct http_listener *l);

static void look_at_closing(struct http_listener *l)
{
    uint64_t passed = uv_now(l->loop) - l->closing_since;
    if (!l->cancelled && passed >= l->finish_ms) {
        l->cancelled = true;
        http_server_cancel_all(l->server);
    }
    bool busy = false;
    for (const struct connection *c = l->connections; c; c = c->next)
        busy = busy || c->exchange;
    if (!busy || passed >= l->finish_ms + l->flush_ms)
        stop(l);
}

static void on_tick(uv_timer_t *timer)
{
    struct http_listener *l = timer->data;
    uint64_t now = uv_now(l->loop);
    if (l->closing) {
        look_at_closing(l);
        return;
    }
    for (struct connection *c = l->connections; c; c = c->next)
        if (is_late(c, now))
            hang_up(c);
    http_server_tick(l->server);
}

static void PRINTF(2, 0) on_log(void *user UNUSED, const char *fmt, va_list ap)
{
    char line[512];
    vsnprintf(line, sizeof(line), fmt, ap);
    line[strcspn(line, "\n")] = '\0';
    log_line(LOG_INFO, "http: %s", line);
}

/* A path is what was sent: who stands before us and decides by it sees the same. */
static size_t on_unescape(
        void *user UNUSED, struct MHD_Connection *mhd UNUSED, char *text)
{
    return strlen(text);
}

static bool listen_on(const struct sockaddr_storage *address, int *out, unsigned *port,
        struct error *err)
{
    int on = 1;
    bool is_v6 = address->ss_family == AF_INET6;
    socklen_t len = is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    auto_fd int fd =
            socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_errno(err, errno, "cannot make a socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (const struct sockaddr *)address, len) < 0 || listen(fd, BACKLOG) < 0)
        return error_errno(err, errno, "cannot listen on the address of --host, --port");
    struct sockaddr_storage bound;
    socklen_t bound_len = sizeof(bound);
    if (getsockname(fd, (struct sockaddr *)&bound, &bound_len) < 0)
        return error_errno(err, errno, "cannot ask for the port");
    *port = ntohs(is_v6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                        : ((struct sockaddr_in *)&bound)->sin_port);
    *out = fd;
    fd = -1;
    return true;
}

static bool start_daemon(struct http_listener *l, int fd, struct error *err)
{
    const struct http_listener_config *config = &l->config;
    struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_MEM_CERT, 0,
                                            (void *)(uintptr_t)config->tls_cert },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)config->tls_key },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
        { MHD_OPTION_END, 0, NULL } };
    struct MHD_OptionItem plain[] = { { MHD_OPTION_END, 0, NULL } };
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (config->tls_cert && l->mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return error_set(err, ERR_UNSUPPORTED, "this libmicrohttpd knows no TLS");
    l->daemon = l->mhd.start_daemon(flags | (config->tls_cert ? MHD_USE_TLS : 0), 0, NULL,
            NULL, on_request, l, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_EXTERNAL_LOGGER,
            on_log, NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection, l,
            MHD_OPTION_NOTIFY_COMPLETED, on_completed, l, MHD_OPTION_CONNECTION_LIMIT,
            config->max_connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
            config->max_of_address, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STALL_S,
            MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_BYTES, MHD_OPTION_ARRAY,
            config->tls_cert ? tls : plain, MHD_OPTION_END);
    return l->daemon ||
           error_set(err, ERR_IO, "cannot serve HTTP%s",
                   config->tls_cert ? "; are --tls-cert and --tls-key a pair in PEM?"
                                    : "");
}

static void on_freed(uv_handle_t *handle)
{
    struct http_listener *l = handle->data;
    if (!--l->handles)
        free(l);
}

static void start_handles(struct http_listener *l)
{
    const union MHD_DaemonInfo *info =
            l->mhd.get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_poll_init(l->loop, &l->poll, info->epoll_fd);
    uv_timer_init(l->loop, &l->turn);
    uv_timer_init(l->loop, &l->tick);
    l->poll.data = l->turn.data = l->tick.data = l;
    l->handles = 3;
    uv_poll_start(&l->poll, UV_READABLE, on_poll);
    uv_timer_start(&l->tick, on_tick, TICK_MS, TICK_MS);
}

bool http_listener_open(uv_loop_t *loop, const struct http_listener_config *config,
        struct http_server *server, struct http_listener **out, struct error *err)
{
    int fd = -1;
    struct http_listener *l = xcalloc(1, sizeof(*l));
    *l = (struct http_listener){ .config = *config, .server = server, .loop = loop };
    if (!mhd_load(&l->mhd, err) || !listen_on(config->address, &fd, &l->port, err) ||
            !start_daemon(l, fd, err)) {
        close_fd(&fd);
        free(l);
        return false;
    }
    start_handles(l);
    *out = l;
    return true;
}

const struct http_counts *http_listener_counts(const struct http_listener *l)
{
    return &l->counts;
}

unsigned http_listener_port(const struct http_listener *l)
{
    return l->port;
}

/* Every connection is closed, answered or not. */
static void stop(struct http_listener *l)
{
    for (struct connection *c = l->connections; c; c = c->next) {
        c->gone = true;
        resume(c);
    }
    uv_poll_stop(&l->poll);
    l->mhd.stop_daemon(TAKE(l->daemon));
    void (*closed)(void *) = l->config.closed;
    void *user = l->config.user;
    uv_close((uv_handle_t *)&l->poll, on_freed);
    uv_close((uv_handle_t *)&l->turn, on_freed);
    uv_close((uv_handle_t *)&l->tick, on_freed);
    closed(user);
}

void http_listener_close(struct http_listener *l, unsigned finish_ms, unsigned flush_ms)
{
    if (l->closing)
        return;
    l->closing = true;
    l->closing_since = uv_now(l->loop);
    l->finish_ms = finish_ms;
    l->flush_ms = flush_ms;
    http_server_refuse_all(l->server);
    int fd = l->mhd.quiesce_daemon(l->daemon);
    close_fd(&fd);
    uv_timer_start(&l->tick, on_tick, 0, CLOSING_MS);
}
