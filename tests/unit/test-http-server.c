#include "transport/http-server.h"

#include "unit.h"

#include "protocol/mcp.h"

/* A server over the worker of test-worker.c, without sockets. */
struct fixture {
    uv_loop_t loop;
    struct toolset *tools;
    struct mcp_server mcp;
    struct http_server *server;
    unsigned clients; /* that are open */
    char session[HTTP_SESSION_DIGITS + 1];
};

static struct http_client on_open(
        void *user, struct str peer UNUSED, const char *session UNUSED)
{
    static const char *const env[] = { NULL };
    struct fixture *f = user;
    const struct dispatch_config config = {
        .worker = { .loop = &f->loop,
                .worker = { .path = TEST_WORKER, .env = env },
                .setup = STR("{}"),
                .timeout_ms = 60000,
                .max_reply = 1 << 20 },
        .tools = f->tools,
    };
    struct dispatch *dispatch = dispatch_create(&config);
    f->clients++;
    return (struct http_client){ .mcp = mcp_open(&f->mcp, dispatch, NULL, NULL),
        .dispatch = dispatch };
}

static void on_close(void *user, struct http_client client)
{
    struct fixture *f = user;
    f->clients--;
    mcp_close(client.mcp);
    dispatch_destroy(client.dispatch);
}

static void on_wake(void *user UNUSED)
{
}

static void open_server(struct fixture *f)
{
    const struct toolset_config tools = { .places = TOOL_IN_SHELL };
    struct error err;
    *f = (struct fixture){ .clients = 0 };
    uv_loop_init(&f->loop);
    assert_true(toolset_create(&tools, &f->tools, &err));
    f->mcp = (struct mcp_server){ &f->loop, "test", "1", "Be kind.", f->tools, 20 };
    const struct http_server_config config = { .loop = &f->loop,
        .max_sessions = 2,
        .session_idle_ms = 60000,
        .keepalive_ms = 10,
        .max_bodies = 10000,
        .open = on_open,
        .close = on_close,
        .user = f };
    f->server = http_server_create(&config);
}

static void close_server(struct fixture *f)
{
    http_server_destroy(f->server);
    assert_int_equal(f->clients, 0);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    toolset_destroy(f->tools);
}

static struct http_exchange *begin(struct fixture *f, const char *accept)
{
    struct http_head head = { .method = STR("POST"), .path = STR("/mcp") };
    http_head_add(&head, STR("Host"), STR("localhost"));
    http_head_add(&head, STR("Content-Type"), STR("application/json"));
    http_head_add(&head, STR("Accept"), str_of(accept));
    if (f->session[0])
        http_head_add(&head, STR("Mcp-Session-Id"), str_of(f->session));
    return http_exchange_open(f->server, &head, on_wake, f);
}

#define ANY "application/json, text/event-stream"

static struct http_exchange *post(struct fixture *f, const char *body)
{
    struct http_exchange *x = begin(f, ANY);
    assert_true(http_exchange_add(x, str_of(body)));
    http_exchange_run(x);
    return x;
}

/* Opens a session of the revision that has batches. */
static void initialize(struct fixture *f)
{
    struct http_exchange *x = post(f, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":"
                                      "\"initialize\",\"params\":{\"protocolVersion\":"
                                      "\"2025-03-26\"}}");
    assert_true(http_exchange_is_ready(x));
    const struct http_answer *answer = http_exchange_answer(x);
    assert_int_equal(answer->status, 200);
    memcpy(f->session, answer->session, sizeof(f->session));
    http_exchange_close(x);
}

static void wait_ready(struct fixture *f, const struct http_exchange *x)
{
    while (!http_exchange_is_ready(x))
        uv_run(&f->loop, UV_RUN_ONCE);
}

#define CALL(id, command, more)                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":" \
    "{\"name\":\"run\",\"arguments\":{\"command\":\"" command "\"}" more "}}"
#define TOKEN ",\"_meta\":{\"progressToken\":1}"

static void read_stream(struct http_exchange *x, struct buf *out)
{
    char bytes[64];
    ssize_t n;
    while ((n = http_exchange_read(x, bytes, sizeof(bytes))) > 0)
        buf_add(out, (struct str){ bytes, (size_t)n });
}

/* The call with the token ends, the other one is silent: comments keep the stream. */
static void test_keepalive(void **state UNUSED)
{
    struct fixture f;
    auto_buf text = BUF(1 << 20);
    open_server(&f);
    initialize(&f);
    struct http_exchange *x = post(
            &f, "[" CALL("1", "sleep 200", TOKEN) "," CALL("2", "sleep 60000", "") "]");
    wait_ready(&f, x);
    assert_true(http_exchange_streams(x));
    while (!strstr(text.data ? text.data : "", "\n\n:\n\n")) {
        uv_sleep(5);
        uv_run(&f.loop, UV_RUN_NOWAIT);
        http_server_tick(f.server);
        read_stream(x, &text);
    }
    assert_non_null(strstr(text.data, "event: message\ndata: {"));
    assert_true(http_server_is_busy(f.server));
    http_server_cancel_all(f.server);
    assert_false(http_server_is_busy(f.server));
    buf_clear(&text);
    read_stream(x, &text);
    assert_non_null(strstr(text.data, "the server ends"));
    assert_int_equal(http_exchange_read(x, (char[1]){ 0 }, 1), -1);
    http_exchange_close(x);
    close_server(&f);
}

/* What all of them hold together is bounded, and given back. */
static void test_bodies(void **state UNUSED)
{
    struct fixture f;
    static char bytes[4000];
    memset(bytes, ' ', sizeof(bytes));
    const struct str part = { bytes, sizeof(bytes) };
    open_server(&f);
    struct http_exchange *a = begin(&f, ANY), *b = begin(&f, ANY), *c = begin(&f, ANY);
    assert_true(http_exchange_add(a, part) && http_exchange_add(b, part));
    assert_true(http_exchange_add(c, part));
    assert_false(http_exchange_is_ready(c)); /* the rest of it is read first */
    http_exchange_run(c);
    assert_int_equal(http_exchange_answer(c)->status, 503);
    assert_int_equal(http_exchange_answer(c)->retry_after_s, HTTP_RETRY_AFTER_S);
    http_exchange_close(a);
    http_exchange_close(c);
    c = begin(&f, ANY);
    assert_true(http_exchange_add(c, part));
    http_exchange_run(c);
    assert_int_equal(http_exchange_answer(c)->status, 400); /* it was read: no JSON */
    http_exchange_close(b);
    http_exchange_close(c);
    close_server(&f);
}

/* Whoever skips on for ever is cut off. */
static void test_endless(void **state UNUSED)
{
    struct fixture f;
    static char bytes[1 << 20];
    const struct str part = { bytes, sizeof(bytes) };
    open_server(&f);
    struct http_exchange *x = begin(&f, ANY);
    size_t taken = 0;
    while (http_exchange_add(x, part))
        taken += sizeof(bytes);
    assert_true(taken <= HTTP_MAX_UNREAD);
    http_exchange_close(x);
    close_server(&f);
}

/* The exchange is closed, or its session ended, while the call runs. */
static void test_ends(void **state UNUSED)
{
    struct fixture f;
    open_server(&f);
    initialize(&f);
    struct http_exchange *x = post(&f, CALL("1", "sleep 60000", ""));
    assert_false(http_exchange_is_ready(x));
    http_exchange_close(x);
    x = post(&f, CALL("1", "echo again", "")); /* the id is free at once */
    wait_ready(&f, x);
    assert_int_equal(http_exchange_answer(x)->status, 200);
    http_exchange_close(x);
    x = post(&f, CALL("2", "sleep 60000", ""));
    struct http_head head = { .method = STR("DELETE"), .path = STR("/mcp") };
    http_head_add(&head, STR("host"), STR("localhost"));
    http_head_add(&head, STR("mcp-session-id"), str_of(f.session));
    struct http_exchange *end = http_exchange_open(f.server, &head, on_wake, NULL);
    http_exchange_run(end);
    assert_int_equal(http_exchange_answer(end)->status, 200);
    assert_true(http_exchange_is_ready(x));
    assert_int_equal(http_exchange_answer(x)->status, 404);
    assert_int_equal(f.clients, 0);
    http_exchange_close(x);
    http_exchange_close(end);
    http_server_refuse_all(f.server);
    x = post(&f, CALL("3", "echo no", ""));
    assert_int_equal(http_exchange_answer(x)->status, 503);
    http_exchange_close(x);
    close_server(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keepalive),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
