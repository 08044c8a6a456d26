/*
 * Whole exchanges with a server that has sessions and a tool of its own: requests that
 * overlap, in any order of their parts.
 *
 * The input is a list of steps, each ended by the byte 0x1e.  A step is a request as in
 * fuzz-http.c, its body in the parts that 0x1f separates; or '!' and a letter: a(nswer
 * the oldest call), c(lose the oldest exchange), n(ext: close the newest), t(ick),
 * r(efuse all), x (cancel all).  "$S" in a value of the head is the last session, "$T"
 * in a body the last ticket.
 */
#include "fuzz.h"
#include "protocol/mcp.h"
#include "tool/extension.h"
#include "transport/http-server.h"

#define MAX_OPEN 16

struct world;

struct work {
    struct work *next;
    struct world *world;
    struct dispatch_call *call;
};

struct world {
    uv_loop_t loop;
    struct toolset *tools;
    struct mcp_server mcp;
    struct dispatch *commons;
    struct http_server *server;
    struct http_exchange *open[MAX_OPEN];
    struct buf heads[MAX_OPEN]; /* what the exchanges borrow */
    size_t count, clients;
    struct work *works;
    char session[HTTP_SESSION_DIGITS + 1], ticket[512];
};

static void cancel(void *work)
{
    struct work *one = work, **at = &one->world->works;
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    free(one);
}

static void *start(const struct extension_call *call)
{
    struct world *w = call->loop->data;
    struct work *one = xcalloc(1, sizeof(*one)), **at = &w->works;
    while (*at)
        at = &(*at)->next;
    *one = (struct work){ .world = w, .call = call->call };
    return *at = one;
}

static const struct tool_source sources[] = {
    { "t",
            "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
            "\"a\":{\"type\":\"string\"}}}}",
            TOOL_IN_PROGRAM },
};
static const struct tool_extension extension = {
    .sources = sources, .count = ARRAY_LEN(sources), .start = start, .cancel = cancel
};

static struct dispatch_config dispatch_config(struct world *w)
{
    return (struct dispatch_config){
        .worker = { .loop = &w->loop }, .tools = w->tools, .address = STR("")
    };
}

static struct http_client on_open(void *user, struct str peer, const char *session)
{
    struct world *w = user;
    struct dispatch_config config = dispatch_config(w);
    config.commons = w->commons;
    config.address = peer;
    config.has_line = session;
    struct dispatch *dispatch = dispatch_create(&config);
    w->clients++;
    return (struct http_client){ .mcp = mcp_open(&w->mcp, dispatch, NULL, NULL),
        .dispatch = dispatch };
}

static void on_close(void *user, struct http_client client)
{
    struct world *w = user;
    w->clients--;
    mcp_close(client.mcp);
    dispatch_destroy(client.dispatch);
}

static const char *on_metrics(void *user UNUSED, struct buf *out)
{
    buf_add(out, STR("x 1\n"));
    return "text/plain";
}

static void on_wake(void *user UNUSED)
{
}

static void open_world(struct world *w, bool has_token)
{
    const struct toolset_config tools = { .extension = &extension };
    struct error err;
    *w = (struct world){ .count = 0 };
    uv_loop_init(&w->loop);
    w->loop.data = w;
    bool made = toolset_create(&tools, &w->tools, &err);
    assert(made);
    w->mcp = (struct mcp_server){ &w->loop, "fuzz", "1", "", w->tools, 20 };
    const struct dispatch_config commons = dispatch_config(w);
    w->commons = dispatch_create(&commons);
    const struct http_server_config config = { .loop = &w->loop,
        .rules = { .token = has_token ? STR("0123456789abcdef") : STR(""),
                .metrics = true },
        .max_sessions = 3,
        .session_idle_ms = 60000,
        .keepalive_ms = 1,
        .max_bodies = 8000,
        .open = on_open,
        .close = on_close,
        .metrics = on_metrics,
        .user = w };
    w->server = http_server_create(&config);
}

/* What is answered is whole, and what is no stream has its end. */
static void check_answer(struct world *w, struct http_exchange *x)
{
    char part[64];
    struct http_answer *answer = http_exchange_answer(x);
    assert(answer->status >= 200 && answer->status < 600);
    assert((answer->status == 405) == (answer->allow != NULL));
    assert(answer->authenticate == (answer->status == 401));
    assert(!answer->body.full && (!answer->body.len || answer->type));
    if (answer->session)
        memcpy(w->session, answer->session, sizeof(w->session));
    if (http_exchange_streams(x))
        while (http_exchange_read(x, part, sizeof(part)) > 0)
            ;
    static const char key[] = "\"paddock/session\":\"";
    struct str body = buf_str(&answer->body);
    const char *found = memmem(body.data, body.len, key, strlen(key));
    if (!found)
        return;
    struct str rest = str_from(body, (size_t)(found - body.data) + strlen(key));
    struct str ticket = str_cut(&rest, '"');
    if (ticket.len < sizeof(w->ticket)) {
        memcpy(w->ticket, ticket.data, ticket.len);
        w->ticket[ticket.len] = '\0';
    }
}

static void close_exchange(struct world *w, size_t i)
{
    if (i >= w->count)
        return;
    if (http_exchange_is_ready(w->open[i]))
        check_answer(w, w->open[i]);
    http_exchange_close(w->open[i]);
    buf_finish(&w->heads[i]);
    w->count--;
    memmove(w->open + i, w->open + i + 1, (w->count - i) * sizeof(*w->open));
    memmove(w->heads + i, w->heads + i + 1, (w->count - i) * sizeof(*w->heads));
}

/* With `name` replaced by `value`, as long as there is room. */
static void add_replaced(
        struct str text, const char *name, const char *value, struct buf *out)
{
    while (text.len) {
        bool here = str_starts(text, str_of(name));
        buf_add(out, here ? str_of(value) : str_sub(text, 0, 1));
        text = str_from(text, here ? strlen(name) : 1);
    }
}

static struct http_head read_head(struct str rest)
{
    struct http_head head = { .peer = STR("192.0.2.1") };
    struct str line = str_cut(&rest, '\n');
    head.method = str_cut(&line, ' ');
    head.path = line;
    while (rest.len) {
        struct str value = str_cut(&rest, '\n'), name = str_cut(&value, ':');
        http_head_add(&head, name, value);
    }
    return head;
}

static void add_body(struct world *w, struct http_exchange *x, struct str body)
{
    while (body.len) {
        auto_buf part = BUF(1 << 20);
        add_replaced(str_cut(&body, '\x1f'), "$T", w->ticket, &part);
        if (!http_exchange_add(x, buf_str(&part)))
            return;
    }
    http_exchange_run(x);
}

static void request(struct world *w, struct str step)
{
    const char *end = step.len ? memmem(step.data, step.len, "\n\n", 2) : NULL;
    size_t len = end ? (size_t)(end - step.data) : step.len;
    if (w->count == MAX_OPEN)
        close_exchange(w, 0);
    struct buf *text = &w->heads[w->count];
    *text = BUF(1 << 20);
    add_replaced(str_sub(step, 0, len), "$S", w->session, text);
    const struct http_head head = read_head(buf_str(text));
    struct http_exchange *x = http_exchange_open(w->server, &head, on_wake, w);
    w->open[w->count++] = x;
    if (!http_exchange_is_ready(x))
        add_body(w, x, str_from(step, len + 2));
    if (http_exchange_is_ready(x))
        check_answer(w, x);
}

static void answer_oldest(struct world *w)
{
    struct work *one = w->works;
    if (!one)
        return;
    struct dispatch_call *call = one->call;
    cancel(one);
    dispatch_answer(call, &(struct dispatch_reply){ .text = STR("done") });
}

static void act(struct world *w, char what)
{
    switch (what) {
    case 'a':
        answer_oldest(w);
        break;
    case 'c':
        close_exchange(w, 0);
        break;
    case 'n':
        close_exchange(w, w->count - 1);
        break;
    case 't':
        uv_run(&w->loop, UV_RUN_NOWAIT);
        http_server_tick(w->server);
        break;
    case 'r':
        http_server_refuse_all(w->server);
        break;
    case 'x':
        http_server_cancel_all(w->server);
        break;
    }
}

static void close_world(struct world *w)
{
    while (w->count)
        close_exchange(w, 0);
    assert(!http_server_is_busy(w->server));
    http_server_destroy(w->server);
    assert(!w->clients && !w->works); /* who is gone has left nothing */
    dispatch_destroy(w->commons);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&w->loop);
    assert(!left);
    toolset_destroy(w->tools);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { (const char *)data, size };
    struct world w;
    open_world(&w, size && data[0] == '+');
    while (rest.len) {
        struct str step = str_cut(&rest, '\x1e');
        if (step.len == 2 && step.data[0] == '!')
            act(&w, step.data[1]);
        else
            request(&w, step);
    }
    close_world(&w);
    return 0;
}
