/* Shells that stay, by the argument `session`: over the worker of test-worker.c. */
#include "protocol/mcp.h"
#include "transport/http-server.h"

#include "unit.h"

#include <signal.h>

struct fixture {
    uv_loop_t loop;
    struct toolset *tools;
    struct mcp_server mcp;
    struct http_server *server;
    unsigned clients; /* that are open */
    struct shells shells;
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
        .shells = &f->shells,
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

/* So many may have a worker, and one fewer wait for one. */
static void open_server(struct fixture *f, unsigned max_shells)
{
    const struct toolset_config tools = { .places = TOOL_IN_SHELL };
    struct error err;
    *f = (struct fixture){ .shells = {
                                   .places = places_create(max_shells, max_shells - 1),
                                   .save_ms = 5000,
                                   .max_states = 1 << 20 } };
    uv_loop_init(&f->loop);
    assert_true(toolset_create(&tools, &f->tools, &err));
    f->mcp = (struct mcp_server){ &f->loop, "test", "1", "Be kind.", f->tools, 20 };
    struct http_server_config config = { .loop = &f->loop,
        .max_sessions = 2,
        .session_idle_ms = 60000,
        .keepalive_ms = 10000,
        .max_bodies = 100000,
        .open = on_open,
        .close = on_close,
        .user = f };
    assert_true(http_ticket_make_key(&config.ticket_key, &err));
    f->server = http_server_create(&config);
}

static void close_server(struct fixture *f)
{
    http_server_destroy(f->server);
    places_destroy(f->shells.places);
    assert_int_equal(f->clients, 0);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    toolset_destroy(f->tools);
}

static struct http_exchange *post(
        struct fixture *f, struct http_head *head, struct str body)
{
    head->method = STR("POST");
    head->path = STR("/mcp");
    http_head_add(head, STR("Host"), STR("localhost"));
    http_head_add(head, STR("Content-Type"), STR("application/json"));
    struct http_exchange *x = http_exchange_open(f->server, head, on_wake, f);
    assert_true(http_exchange_add(x, body));
    http_exchange_run(x);
    return x;
}

#define REVISION "2026-07-28"
#define META                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" REVISION "\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* A call of the stateless revision; all have the same id. */
static struct http_exchange *call(struct fixture *f, const char *tool, const char *args)
{
    struct http_head head = { .malformed = false };
    http_head_add(&head, STR("MCP-Protocol-Version"), STR(REVISION));
    http_head_add(&head, STR("Mcp-Method"), STR("tools/call"));
    http_head_add(&head, STR("Mcp-Name"), str_of(tool));
    auto_buf body = BUF(4096);
    buf_addf(&body,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
            "\"name\":\"%s\",\"arguments\":%s," META "}}",
            tool, args);
    return post(f, &head, buf_str(&body));
}

static struct http_exchange *run(
        struct fixture *f, const char *session, const char *command)
{
    auto_buf args = BUF(2048);
    buf_addf(&args, "{\"command\":\"%s\",\"session\":\"%s\"}", command, session);
    return call(f, "run", args.data);
}

static struct http_exchange *initialize(struct fixture *f)
{
    struct http_head head = { .malformed = false };
    return post(f, &head,
            STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-11-25\"}}"));
}

static void wait_ready(struct fixture *f, const struct http_exchange *x)
{
    while (!http_exchange_is_ready(x))
        uv_run(&f->loop, UV_RUN_ONCE);
}

struct result {
    bool is_error;
    size_t blocks;
    char text[256], remark[256], ticket[HTTP_TICKET_LEN + 1]; /* or "" */
};

static void copy_text(char *to, size_t room, const json_t *from)
{
    struct str text = json_str(from);
    assert_true(text.len < room);
    memcpy(to, text.data, text.len);
    to[text.len] = '\0';
}

static const json_t *block(const json_t *content, size_t index)
{
    return json_object_get(json_array_get(content, index), "text");
}

/* The answer, which is a result; the exchange is closed. */
static struct result finish(struct fixture *f, struct http_exchange *x)
{
    struct result r = { .is_error = false };
    struct error err;
    json_t *reply;
    wait_ready(f, x);
    assert_int_equal(http_exchange_answer(x)->status, 200);
    assert_true(json_parse(buf_str(&http_exchange_answer(x)->body), &reply, &err));
    const json_t *result = json_object_get(reply, "result");
    const json_t *content = json_object_get(result, "content");
    const json_t *meta = json_object_get(result, "_meta");
    r.is_error = json_is_true(json_object_get(result, "isError"));
    r.blocks = json_array_size(content);
    copy_text(r.text, sizeof(r.text), block(content, 0));
    copy_text(r.remark, sizeof(r.remark), block(content, 1));
    copy_text(r.ticket, sizeof(r.ticket), json_object_get(meta, "paddock/session"));
    assert_non_null(json_object_get(meta, "io.modelcontextprotocol/serverInfo"));
    json_decref(reply);
    http_exchange_close(x);
    return r;
}

static struct result run_now(struct fixture *f, const char *session, const char *command)
{
    return finish(f, run(f, session, command));
}

static unsigned status_of(struct fixture *f, struct http_exchange *x)
{
    wait_ready(f, x);
    unsigned status = http_exchange_answer(x)->status;
    http_exchange_close(x);
    return status;
}

/* The name comes once, beside the result; the shell is the same with it, and another one
 * without. */
static void test_stays(void **state UNUSED)
{
    struct fixture f;
    open_server(&f, 9);
    struct result one = run_now(&f, "new", "pid"), other = run_now(&f, "new", "pid");
    assert_int_equal(one.blocks, 2);
    assert_int_equal(strlen(one.ticket), HTTP_TICKET_LEN);
    assert_non_null(strstr(one.remark, one.ticket));
    assert_null(strchr(one.remark, '\n'));
    assert_string_not_equal(one.ticket, other.ticket);
    assert_string_not_equal(one.text, other.text);
    assert_int_equal(f.clients, 2);
    for (int i = 0; i < 2; i++) {
        struct result again = run_now(&f, one.ticket, "pid");
        assert_string_equal(again.text, one.text);
        assert_int_equal(again.blocks, 1);
        assert_string_equal(again.ticket, "");
        assert_string_equal(run_now(&f, other.ticket, "pid").text, other.text);
    }
    struct result alone = finish(&f, call(&f, "run", "{\"command\":\"pid\"}"));
    assert_string_not_equal(alone.text, one.text);
    assert_int_equal(alone.blocks, 1);
    assert_int_equal(f.clients, 2);
    close_server(&f);
}

/* A call that fails has opened its shell, one that is refused has not. */
static void test_failures(void **state UNUSED)
{
    struct fixture f;
    open_server(&f, 9);
    struct result failed = run_now(&f, "new", "no such");
    assert_true(failed.is_error);
    assert_int_equal(strlen(failed.ticket), HTTP_TICKET_LEN);
    assert_false(run_now(&f, failed.ticket, "pid").is_error);
    struct result refused = finish(&f, call(&f, "run", "{\"session\":\"new\",\"x\":1}"));
    assert_true(refused.is_error);
    assert_int_equal(refused.blocks, 1);
    assert_string_equal(refused.ticket, "");
    assert_int_equal(f.clients, 1);
    assert_int_equal(status_of(&f, call(&f, "ruin", "{\"session\":\"new\"}")), 200);
    assert_int_equal(f.clients, 1);
    static const char *const wrong[] = { "7", "[\"new\"]", "\"\"", "true" };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        auto_buf args = BUF(256);
        buf_addf(&args, "{\"command\":\"pid\",\"session\":%s}", wrong[i]);
        refused = finish(&f, call(&f, "run", args.data));
        assert_true(refused.is_error);
        assert_non_null(strstr(refused.text, "argument 'session' must be"));
    }
    assert_false(finish(&f, call(&f, "run", "{\"command\":\"pid\",\"session\":null}"))
                         .is_error);
    assert_int_equal(f.clients, 1);
    close_server(&f);
}

/* A name that this server has not given is refused, whatever it resembles. */
static void test_forged(void **state UNUSED)
{
    struct fixture f;
    open_server(&f, 9);
    struct result one = run_now(&f, "new", "pid");
    struct http_exchange *opened = initialize(&f);
    char other[HTTP_TICKET_LEN + 1], id[HTTP_SESSION_DIGITS + 1];
    memcpy(id, http_exchange_answer(opened)->session, sizeof(id));
    memcpy(other, one.ticket, sizeof(other));
    other[HTTP_TICKET_LEN - 1] = (char)(other[HTTP_TICKET_LEN - 1] == '0' ? '1' : '0');
    http_exchange_close(opened);
    const char *const forged[] = { other, id, one.ticket + 6, "New", "new ", " " };
    for (size_t i = 0; i < ARRAY_LEN(forged); i++) {
        struct result r = run_now(&f, forged[i], "pid");
        assert_true(r.is_error);
        assert_int_equal(r.blocks, 1);
        assert_non_null(strstr(r.text, "run: argument 'session' is neither"));
        assert_non_null(strstr(r.text, "Call with session \"new\""));
    }
    assert_int_equal(f.clients, 2);
    memcpy(id, one.ticket + 6, HTTP_SESSION_DIGITS);
    const char *const headers[] = { one.ticket, id };
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        struct http_head head = { .malformed = false };
        http_head_add(&head, STR("Mcp-Session-Id"), str_of(headers[i]));
        struct http_exchange *x = post(&f, &head,
                STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                    "\"name\":\"run\",\"arguments\":{\"command\":\"pid\"}}}"));
        assert_int_equal(status_of(&f, x), 404);
    }
    assert_string_equal(run_now(&f, one.ticket, "pid").text, one.text);
    close_server(&f);
}

/* They run one after the other as they came, though their ids are the same. */
static void test_order(void **state UNUSED)
{
    struct fixture f;
    open_server(&f, 9);
    struct result one = run_now(&f, "new", "pid");
    struct http_exchange *first = run(&f, one.ticket, "sleep 60000");
    struct http_exchange *second = run(&f, one.ticket, "sleep 50");
    struct http_exchange *third = run(&f, one.ticket, "pid");
    for (int i = 0; i < 20; i++) {
        uv_run(&f.loop, UV_RUN_NOWAIT);
        uv_sleep(5);
    }
    assert_false(http_exchange_is_ready(second) || http_exchange_is_ready(third));
    http_exchange_close(first); /* that one only */
    wait_ready(&f, third);
    assert_true(http_exchange_is_ready(second));
    assert_string_equal(finish(&f, second).text, "slept");
    assert_string_equal(finish(&f, third).text, one.text);
    close_server(&f);
}

/* Who hangs up before he was told the name leaves nothing behind. */
static void test_untold(void **state UNUSED)
{
    struct fixture f;
    open_server(&f, 9);
    http_exchange_close(run(&f, "new", "sleep 60000"));
    assert_int_equal(f.clients, 0);
    struct http_exchange *x = run(&f, "new", "sleep 60000");
    http_server_cancel_all(f.server);
    assert_int_equal(http_exchange_answer(x)->status, 503);
    assert_null(strstr(http_exchange_answer(x)->body.data, "shell_"));
    http_exchange_close(x);
    close_server(&f);
}

/* Only for room is one given up that was never used, and not for a call that is refused.
 */
static void test_full(void **state UNUSED)
{
    struct fixture f;
    open_server(&f, 9);
    struct result one = run_now(&f, "new", "pid");
    http_exchange_close(initialize(&f));
    assert_int_equal(f.clients, 2);
    assert_true(finish(&f, call(&f, "run", "{\"session\":\"new\"}")).is_error);
    assert_int_equal(f.clients, 2);
    struct result two = run_now(&f, "new", "pid");
    assert_int_equal(f.clients, 2);
    struct http_exchange *x = run(&f, "new", "pid");
    assert_int_equal(http_exchange_answer(x)->status, 503);
    assert_int_equal(http_exchange_answer(x)->retry_after_s, HTTP_RETRY_AFTER_S);
    http_exchange_close(x);
    assert_int_equal(status_of(&f, initialize(&f)), 503);
    assert_int_equal(f.clients, 2);
    assert_string_equal(run_now(&f, one.ticket, "pid").text, one.text);
    assert_string_equal(run_now(&f, two.ticket, "pid").text, two.text);
    assert_false(finish(&f, call(&f, "run", "{\"command\":\"pid\"}")).is_error);
    close_server(&f);
}

static void test_no_worker(void **state UNUSED)
{
    struct fixture f;
    open_server(&f, 1);
    struct result one = run_now(&f, "new", "pid");
    assert_int_equal(status_of(&f, run(&f, "new", "pid")), 503);
    assert_int_equal(f.clients, 1);
    assert_string_equal(run_now(&f, one.ticket, "pid").text, one.text);
    close_server(&f);
}

/* `exit` by itself ends it, behind those that came before; what is refused does not. */
static void test_exit(void **state UNUSED)
{
    struct fixture f;
    open_server(&f, 9);
    struct result one = run_now(&f, "new", "exit");
    assert_int_equal(strlen(one.ticket), HTTP_TICKET_LEN);
    auto_buf args = BUF(1024);
    buf_addf(&args, "{\"command\":\"exit\",\"x\":1,\"session\":\"%s\"}", one.ticket);
    assert_true(finish(&f, call(&f, "run", args.data)).is_error);
    struct http_exchange *cut = run(&f, one.ticket, "exit");
    http_exchange_close(cut);
    struct result pid = run_now(&f, one.ticket, "pid");
    assert_false(pid.is_error);
    run_now(&f, one.ticket, "echo exit");
    struct http_exchange *before = run(&f, one.ticket, "sleep 20");
    struct http_exchange *end = run(&f, one.ticket, " exit\\n");
    struct http_exchange *behind = run(&f, one.ticket, "sleep 20");
    wait_ready(&f, end);
    assert_true(http_exchange_is_ready(before));
    struct result ended = finish(&f, end);
    assert_string_equal(ended.remark, "[paddock: this session has ended]");
    struct result late = run_now(&f, one.ticket, "pid");
    assert_true(late.is_error);
    assert_non_null(strstr(late.text, "is there no more"));
    assert_string_equal(finish(&f, behind).text, "slept");
    assert_string_equal(finish(&f, before).text, "slept");
    assert_int_equal(f.clients, 0);
    close_server(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_untold),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_no_worker),
        cmocka_unit_test(test_exit),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
