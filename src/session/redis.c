#include "session/redis.h"

#include <stdio.h>
#include <sys/socket.h>

#define MAX_WORDS  16
#define READ_CHUNK ((size_t)64 << 10)

struct command {
    struct command *next;
    char *bytes; /* of hiredis; NULL: they have been sent */
    size_t len;
    uint64_t until; /* loop time, ms */
    redis_done_fn *done;
    void *user;
};

/* A socket and what is read from it.  Outlives its redis until libuv has closed it. */
struct line {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    };
    uv_connect_t connect;
    struct redis *owner; /* NULL: nobody listens any more */
    redisReader *reader;
    redisReplyObjectFunctions functions, plain;
    void (*free_reader)(redisReader *reader);
    size_t unread; /* bytes of the reply that is coming */
    char chunk[READ_CHUNK];
};

struct lookup {
    uv_getaddrinfo_t request;
    struct redis *owner; /* or NULL */
};

/* Bytes on their way out. */
struct packet {
    uv_write_t request;
    char *bytes;
    void (*free_bytes)(char *bytes);
};

struct redis {
    struct redis_config config;
    char *password;
    uv_timer_t timer; /* of the first command: its reply is late then */
    struct lookup *lookup;
    struct addrinfo *addresses, *address; /* all; the one that is tried */
    struct line *line;
    enum { REDIS_OFF, REDIS_CONNECTING, REDIS_GREETING, REDIS_READY } state;
    struct command *first, **last;
    struct command **place; /* where commands go that are to be first; or NULL */
    size_t count, bytes;
    char problem[256]; /* to be told from the loop, or "" */
};

static void set_timer(struct redis *r);
static void try_address(struct redis *r);

/* Takes `c` out: the first of the queue. */
static void answer_first(struct redis *r, const redisReply *reply, const char *problem)
{
    struct command *c = r->first;
    r->first = c->next;
    if (!r->first)
        r->last = &r->first;
    r->count--;
    r->bytes -= c->len;
    if (c->bytes)
        r->config.library.redisFreeCommand(c->bytes);
    redis_done_fn *done = c->done;
    void *user = c->user;
    free(c);
    done(user, reply, problem);
}

static void on_line_closed(uv_handle_t *handle)
{
    struct line *line = handle->data;
    if (line->reader)
        line->free_reader(line->reader);
    free(line);
}

static void drop_line(struct redis *r)
{
    if (!r->line)
        return;
    r->line->owner = NULL;
    uv_close(&TAKE(r->line)->handle, on_line_closed);
}

/* No connection, and none is being made. */
static void drop_connection(struct redis *r)
{
    drop_line(r);
    if (r->lookup) {
        r->lookup->owner = NULL;
        uv_cancel((uv_req_t *)&TAKE(r->lookup)->request);
    }
    if (r->addresses)
        uv_freeaddrinfo(TAKE(r->addresses));
    r->address = NULL;
    r->state = REDIS_OFF;
}

/* All that waits now has failed; what is sent meanwhile begins anew. */
static void fail(struct redis *r, const char *problem)
{
    char text[sizeof(r->problem)];
    snprintf(text, sizeof(text), "%s", problem);
    drop_connection(r);
    for (size_t n = r->count; n; n--)
        answer_first(r, NULL, text);
    set_timer(r);
}

/* The same, from the loop: not while somebody is sending. */
static void fail_later(struct redis *r, const char *what, int code)
{
    drop_connection(r);
    r->state = REDIS_CONNECTING;
    snprintf(r->problem, sizeof(r->problem), "%s: %s", what, uv_strerror(code));
    set_timer(r);
}

static void on_timer(uv_timer_t *timer)
{
    struct redis *r = timer->data;
    char problem[sizeof(r->problem)];
    snprintf(problem, sizeof(problem), "%s", r->problem);
    r->problem[0] = '\0';
    if (problem[0])
        fail(r, problem);
    else
        fail(r, r->state == REDIS_READY ? "it did not answer in time"
                                        : "no connection in time");
}

static void set_timer(struct redis *r)
{
    uint64_t now = uv_now(r->config.loop);
    if (r->problem[0])
        uv_timer_start(&r->timer, on_timer, 0, 0);
    else if (r->first)
        uv_timer_start(&r->timer, on_timer,
                r->first->until > now ? r->first->until - now : 0, 0);
    else
        uv_timer_stop(&r->timer);
}

static void on_written(uv_write_t *request, int status UNUSED)
{
    struct packet *packet = request->data; /* a fault shows when reading */
    packet->free_bytes(packet->bytes);
    free(packet);
}

static void write_command(struct redis *r, struct command *c)
{
    struct packet *packet = xcalloc(1, sizeof(*packet));
    packet->bytes = TAKE(c->bytes);
    packet->free_bytes = r->config.library.redisFreeCommand;
    packet->request.data = packet;
    uv_buf_t bytes = uv_buf_init(packet->bytes, (unsigned)c->len);
    int code = uv_write(&packet->request, &r->line->stream, &bytes, 1, on_written);
    if (code) {
        on_written(&packet->request, code);
        fail_later(r, "cannot write", code);
    }
}

static void write_waiting(struct redis *r)
{
    for (struct command *c = r->first; c && r->state == REDIS_READY; c = c->next)
        if (c->bytes)
            write_command(r, c);
}

static void be_ready(struct redis *r)
{
    r->state = REDIS_READY;
    if (r->config.connected) {
        r->place = &r->first;
        r->config.connected(r->config.user);
        r->place = NULL;
    }
    write_waiting(r);
}

/* A list that we have asked for is short and flat. */
#if HIREDIS_MAJOR >= 1
static void *make_list(const redisReadTask *task, size_t count)
#else
static void *make_list(const redisReadTask *task, int count)
#endif
{
    struct line *line = task->privdata;
    if (task->parent || count > REDIS_MAX_LIST)
        return NULL;
    return line->plain.createArray(task, count);
}

static void open_reader(struct redis *r, struct line *line)
{
    line->reader = r->config.library.redisReaderCreate();
    line->free_reader = r->config.library.redisReaderFree;
    assert(line->reader);
    line->plain = line->functions = *line->reader->fn;
    line->functions.createArray = make_list;
    line->reader->fn = &line->functions;
    line->reader->privdata = line;
}

static void take_reply(struct redis *r, const redisReply *reply)
{
    char problem[sizeof(r->problem)];
    if (!r->first || r->first->bytes) {
        fail(r, "it sends what nobody has asked for");
        return;
    }
    if (reply->type != REDIS_REPLY_ERROR) {
        answer_first(r, reply, NULL);
        return;
    }
    auto_buf shown = BUF(160);
    buf_add_shown(
            &shown, (struct str){ reply->str, reply->len < 150 ? reply->len : 150 });
    snprintf(problem, sizeof(problem), "Redis says '%.*s'", STR_ARG(buf_str(&shown)));
    if (r->state == REDIS_GREETING)
        fail(r, problem);
    else
        answer_first(r, NULL, problem);
}

static bool take_bytes(struct redis *r, struct line *line, struct str bytes)
{
    const struct redis_library *library = &r->config.library;
    void *reply = NULL;
    line->unread += bytes.len;
    if (library->redisReaderFeed(line->reader, bytes.data, bytes.len))
        return false;
    while (line->owner) {
        if (library->redisReaderGetReply(line->reader, &reply))
            return false;
        if (!reply)
            return line->unread <= r->config.max_reply;
        line->unread = line->reader->len - line->reader->pos;
        take_reply(r, reply);
        library->freeReplyObject(TAKE(reply));
    }
    return true;
}

static void on_alloc(uv_handle_t *handle, size_t wanted UNUSED, uv_buf_t *out)
{
    struct line *line = handle->data;
    *out = uv_buf_init(line->chunk, sizeof(line->chunk));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *chunk)
{
    struct line *line = stream->data;
    struct redis *r = line->owner;
    if (!r || !count)
        return;
    if (count < 0)
        fail(r, "the connection was lost");
    else if (!take_bytes(r, line, (struct str){ chunk->base, (size_t)count }))
        fail(r, "what it sends is no reply, or too long");
    else if (line->owner)
        set_timer(r);
}

static void on_greeted(void *user, const redisReply *reply, const char *problem UNUSED)
{
    struct redis *r = user;
    if (reply)
        be_ready(r);
}

static void on_authorised(
        void *user UNUSED, const redisReply *reply UNUSED, const char *problem UNUSED)
{
}

/* Commands that go before all that waits. */
static void send_first(
        struct redis *r, const struct str *words, size_t count, redis_done_fn *done)
{
    if (!redis_send(r, words, count, done, r))
        fail_later(r, "too many commands wait", UV_ENOBUFS);
}

/* Who we are, and which database: only then is anything else sent. */
static void greet(struct redis *r)
{
    const struct store_url *url = &r->config.address;
    char number[16];
    snprintf(number, sizeof(number), "%u", url->database);
    r->state = REDIS_GREETING;
    r->place = &r->first;
    if (r->password) {
        struct str words[3] = { STR("AUTH") };
        size_t count = 1;
        if (url->user[0])
            words[count++] = str_of(url->user);
        words[count++] = str_of(r->password);
        send_first(r, words, count, on_authorised);
    }
    const struct str words[2] = { STR("SELECT"), str_of(number) };
    send_first(r, words, 2, on_greeted);
    r->place = NULL;
}

static void on_connected(uv_connect_t *request, int status)
{
    struct line *line = request->data;
    struct redis *r = line->owner;
    if (!r)
        return;
    if (!status)
        status = uv_read_start(&line->stream, on_alloc, on_read);
    if (!status) {
        greet(r);
        return;
    }
    if (r->address && r->address->ai_next) {
        r->address = r->address->ai_next;
        drop_line(r);
        try_address(r);
        return;
    }
    auto_buf problem = BUF(200);
    buf_addf(&problem, "cannot connect: %s", uv_strerror(status));
    fail(r, problem.data);
}

static struct line *add_line(struct redis *r)
{
    struct line *line = xcalloc(1, sizeof(*line));
    line->owner = r;
    line->connect.data = line;
    open_reader(r, line);
    r->line = line;
    return line;
}

static void try_address(struct redis *r)
{
    struct line *line = add_line(r);
    uv_tcp_init(r->config.loop, &line->tcp);
    line->handle.data = line;
    uv_tcp_nodelay(&line->tcp, 1);
    int code =
            uv_tcp_connect(&line->connect, &line->tcp, r->address->ai_addr, on_connected);
    if (code)
        fail_later(r, "cannot connect", code);
}

static void on_lookup(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct lookup *lookup = request->data;
    struct redis *r = lookup->owner;
    free(lookup);
    if (!r) {
        if (found)
            uv_freeaddrinfo(found);
        return;
    }
    r->lookup = NULL;
    if (status) {
        fail_later(r, "its name cannot be looked up", status);
        return;
    }
    r->addresses = r->address = found;
    try_address(r);
}

static void look_up(struct redis *r)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    char port[16];
    snprintf(port, sizeof(port), "%u", r->config.address.port);
    r->lookup = xcalloc(1, sizeof(*r->lookup));
    r->lookup->owner = r;
    r->lookup->request.data = r->lookup;
    int code = uv_getaddrinfo(r->config.loop, &r->lookup->request, on_lookup,
            r->config.address.host, port, &hints);
    if (code) {
        free(TAKE(r->lookup));
        fail_later(r, "its name cannot be looked up", code);
    }
}

static void connect_now(struct redis *r)
{
    r->state = REDIS_CONNECTING;
    if (r->config.address.host[0]) {
        look_up(r);
        return;
    }
    struct line *line = add_line(r);
    uv_pipe_init(r->config.loop, &line->pipe, 0);
    line->handle.data = line;
    uv_pipe_connect(&line->connect, &line->pipe, r->config.address.path, on_connected);
}

static void link_command(struct redis *r, struct command *c)
{
    struct command **at = r->place ? r->place : r->last;
    c->next = *at;
    *at = c;
    if (!c->next)
        r->last = &c->next;
    if (r->place)
        r->place = &c->next;
    r->count++;
    r->bytes += c->len;
}

bool redis_send(struct redis *r, const struct str *words, size_t count,
        redis_done_fn *done, void *user)
{
    const char *texts[MAX_WORDS];
    size_t lengths[MAX_WORDS];
    assert(count <= MAX_WORDS);
    for (size_t i = 0; i < count; i++) {
        texts[i] = words[i].data;
        lengths[i] = words[i].len;
    }
    char *bytes = NULL;
    int len = -1;
    if (r->count < REDIS_MAX_WAITING)
        len = r->config.library.redisFormatCommandArgv(
                &bytes, (int)count, texts, lengths);
    if (len < 0 || (size_t)len > REDIS_MAX_BYTES - r->bytes) {
        if (bytes)
            r->config.library.redisFreeCommand(bytes);
        return false;
    }
    struct command *c = xcalloc(1, sizeof(*c));
    *c = (struct command){ .bytes = bytes,
        .len = (size_t)len,
        .until = uv_now(r->config.loop) + r->config.answer_ms,
        .done = done,
        .user = user };
    link_command(r, c);
    if (r->state == REDIS_OFF)
        connect_now(r);
    else if (r->line && (r->state == REDIS_READY || r->place))
        write_command(r, c);
    set_timer(r);
    return true;
}

struct redis *redis_create(const struct redis_config *config)
{
    struct redis *r = xcalloc(1, sizeof(*r));
    r->config = *config;
    r->password = config->password ? xstrdup(config->password) : NULL;
    r->config.password = NULL;
    r->last = &r->first;
    uv_timer_init(config->loop, &r->timer);
    r->timer.data = r;
    return r;
}

static void ignore(
        void *user UNUSED, const redisReply *reply UNUSED, const char *problem UNUSED)
{
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void redis_destroy(struct redis *r)
{
    if (!r)
        return;
    drop_connection(r);
    while (r->first) {
        r->first->done = ignore;
        answer_first(r, NULL, "");
    }
    if (r->password)
        explicit_bzero(r->password, strlen(r->password));
    free(r->password);
    uv_close((uv_handle_t *)&r->timer, on_timer_closed);
}
