#include "protocol/mcp.h"

#include "unit.h"

#include <unistd.h>

/* A client over the worker of test-worker.c, and everything that it was sent. */
struct fixture {
    uv_loop_t loop;
    struct toolset *tools;
    struct mcp_server server;
    struct dispatch *dispatch;
    struct mcp *mcp;
    struct buf sent; /* each message with a newline */
    size_t messages;
};

static void on_send(void *user, struct str message)
{
    struct fixture *f = user;
    assert_null(memchr(message.data, '\n', message.len));
    buf_add(&f->sent, message);
    buf_addc(&f->sent, '\n');
    f->messages++;
}

static void open_client(struct fixture *f)
{
    static const char *const env[] = { NULL };
    *f = (struct fixture){ .sent = BUF(1 << 20) };
    uv_loop_init(&f->loop);
    const struct toolset_config shell = { .places = TOOL_IN_SHELL };
    struct error err;
    assert_true(toolset_create(&shell, &f->tools, &err));
    const struct dispatch_config config = {
        .worker = { .loop = &f->loop,
                .worker = { .path = TEST_WORKER, .env = env },
                .setup = STR("{}"),
                .timeout_ms = 5000,
                .max_reply = 1 << 20 },
        .tools = f->tools,
    };
    f->server = (struct mcp_server){ &f->loop, "test", "1.2", "Be kind.", f->tools, 20 };
    f->dispatch = dispatch_create(&config);
    f->mcp = mcp_open(&f->server, f->dispatch, on_send, f);
}

static void close_client(struct fixture *f)
{
    mcp_close(f->mcp);
    dispatch_destroy(f->dispatch);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    toolset_destroy(f->tools);
    buf_finish(&f->sent);
}

static void receive(struct fixture *f, const char *text)
{
    f->messages = 0;
    buf_clear(&f->sent);
    mcp_receive(f->mcp, str_of(text));
}

static void wait_for(struct fixture *f, size_t messages)
{
    while (f->messages < messages)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static const char *sent(const struct fixture *f)
{
    return f->messages ? f->sent.data : "";
}

#define REQ(id, method) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}"
#define REQP(id, method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define RES(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}\n"
#define KEY             "io.modelcontextprotocol/"
#define META(version)                                               \
    "{\"_meta\":{\"" KEY "protocolVersion\":\"" version "\",\"" KEY \
    "clientCapabilities\":{}}}"
#define INFO      "{\"name\":\"test\",\"version\":\"1.2\"}"
#define INFO_META "\"_meta\":{\"" KEY "serverInfo\":" INFO "}"
#define CALL(id, command, more) \
    REQP(id, "tools/call",      \
            "{\"name\":\"run\",\"arguments\":{\"command\":\"" command "\"}" more "}")
#define TEXT(text) \
    "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":false}"
#define INIT(version) REQP("0", "initialize", "{\"protocolVersion\":\"" version "\"}")

/* Answered at once: the whole answer, or with a trailing "...", how it begins. */
static const struct {
    const char *in, *want;
} immediate[] = {
    { REQ("1", "ping"), RES("1", "{}") },
    { INIT("2024-11-05"),
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":"
            "\"2024-11-05\",\"capabilities\":{\"tools\":{}},\"serverInfo\":" INFO
            ",\"instructions\":\"Be kind.\"}}\n" },
    { INIT("2025-06-18"), "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":"
                          "\"2025-06-18\"..." },
    { INIT("2026-07-28"), "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":"
                          "\"2025-11-25\"..." },
    { REQ("1", "initialize"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602..." },
    { REQ("\"x\"", "no/such"),
            "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32601..." },
    { REQ("1", "prompts/list"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601..." },
    { REQ("1", "tools/list"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{"
                              "\"name\":\"edit\"..." },
    { REQP("1", "tools/list", "{\"cursor\":\"x\"}"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602..." },
    { REQP("1", "tools/call", "{\"name\":\"x\"}"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":"
            "\"Unknown tool: 'x'\"}}\n" },
    { REQP("1", "tools/call", "{\"name\":7}"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602..." },
    { REQP("1", "tools/call", "{\"name\":\"run\",\"arguments\":[]}"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602..." },
    { REQP("1", "tools/call", "{\"name\":\"run\"}"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\","
            "\"text\":"
            "\"run: argument 'command' is missing; it must be a string\"}],"
            "\"isError\":true}}\n" },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "" },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\",\"params\":{}}", "" },
    { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "" },
    { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
      "cancelled\",\"params\":{\"requestId\":"
      "9}}",
            "" },
    { "{nope", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700..." },
    { "{\"a\":\"\xff\"}", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700..." },
    { "[]", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600..." },
    { "7", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600..." },
    /* modern */
    { REQP("1", "server/discover", META("2026-07-28")),
            RES("1",
                    "{\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-"
                    "18\","
                    "\"2025-03-26\",\"2024-11-05\"],\"capabilities\":{\"tools\":{}},"
                    "\"instructions\":\"Be kind.\",\"resultType\":\"complete\",\"ttlMs\":"
                    "3600000,\"cacheScope\":\"public\"," INFO_META "}") },
    { REQP("1", "server/discover", META("v9")),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
            "\"Unsupported protocol "
            "version\",\"data\":{\"supported\":[\"2026-07-28\"..." },
    { REQ("1", "server/discover"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602..." },
    { REQP("1", "tools/list", "{\"_meta\":{\"" KEY "protocolVersion\":7}}"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602..." },
    { REQP("1", "tools/list", "{\"_meta\":{\"" KEY "protocolVersion\":\"2026-07-28\"}}"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602..." },
    { REQP("1", "ping", META("2026-07-28")),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601..." },
    { REQP("1", "initialize", META("2026-07-28")),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601..." },
    { REQP("1", "subscriptions/listen", META("2026-07-28")),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601..." },
};

static void test_immediate(void **state UNUSED)
{
    struct fixture f;
    open_client(&f);
    for (size_t i = 0; i < ARRAY_LEN(immediate); i++) {
        struct str want = str_of(immediate[i].want);
        receive(&f, immediate[i].in);
        if (!str_ends(want, STR("...")))
            assert_string_equal(sent(&f), want.data);
        else if (!str_starts(str_of(sent(&f)), str_sub(want, 0, want.len - 3)))
            fail_msg("%s\n was answered: %s", immediate[i].in, sent(&f));
    }
    close_client(&f);
}

static void test_list_differs_by_era(void **state UNUSED)
{
    struct fixture f;
    open_client(&f);
    receive(&f, REQ("1", "tools/list"));
    assert_null(strstr(sent(&f), "ttlMs"));
    assert_null(strstr(sent(&f), "resultType"));
    receive(&f, REQP("1", "tools/list", META("2026-07-28")));
    assert_non_null(strstr(sent(&f), "\"ttlMs\":3600000"));
    assert_non_null(strstr(sent(&f), INFO_META));
    receive(&f, REQ("1", "tools/list"));
    assert_null(strstr(sent(&f), "ttlMs"));
    close_client(&f);
}

static void test_calls(void **state UNUSED)
{
    struct fixture f;
    open_client(&f);
    receive(&f, CALL("\"\\u0061\"", "echo hi\\u0000\xc3\xa9", ""));
    wait_for(&f, 1);
    assert_string_equal(sent(&f), RES("\"\\u0061\"", TEXT("hi")));
    receive(&f, CALL("1", "echo hi",
                        ",\"_meta\":{\"" KEY "protocolVersion\":\"2026-07-28\","
                        "\"" KEY "clientCapabilities\":{}}"));
    wait_for(&f, 1);
    assert_string_equal(sent(&f), RES("1", "{\"resultType\":\"complete\",\"content\":[{"
                                           "\"type\":\"text\",\"text\":"
                                           "\"hi\"}],\"isError\":false," INFO_META "}"));
    close_client(&f);
}

static void test_ping_while_a_call_runs(void **state UNUSED)
{
    struct fixture f;
    open_client(&f);
    receive(&f, CALL("1", "sleep 30", ""));
    mcp_receive(f.mcp, STR(REQ("2", "ping")));
    assert_string_equal(sent(&f), RES("2", "{}"));
    mcp_receive(f.mcp, STR(REQ("1", "ping")));
    assert_non_null(strstr(sent(&f), "\"id\":1,\"error\":{\"code\":-32600"));
    assert_false(mcp_is_idle(f.mcp));
    wait_for(&f, 3);
    assert_true(mcp_is_idle(f.mcp));
    close_client(&f);
}

static void test_cancel(void **state UNUSED)
{
    struct fixture f;
    open_client(&f);
    receive(&f, CALL("\"a/b\"", "sleep 4000", ""));
    mcp_receive(f.mcp, STR(CALL("2", "echo never", "")));
    mcp_receive(f.mcp, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                           "\"params\":{\"requestId\":2}}"));
    for (int i = 0; i < 10; i++)
        uv_run(&f.loop, UV_RUN_NOWAIT), usleep(2000);
    mcp_receive(f.mcp, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                           "\"params\":{\"requestId\":\"a\\/b\"}}"));
    assert_true(mcp_is_idle(f.mcp));
    mcp_receive(f.mcp, STR(CALL("3", "echo on", "")));
    wait_for(&f, 1);
    assert_string_equal(sent(&f), RES("3", TEXT("on")));
    close_client(&f);
}

#define PROGRESS "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"

static void test_progress(void **state UNUSED)
{
    struct fixture f;
    open_client(&f);
    receive(&f, CALL("1", "sleep 100",
                        ",\"_meta\":{\"progressToken\":123456789012345678901}"));
    while (!mcp_is_idle(f.mcp))
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_in_range(f.messages, 3, 6);
    double before = 0;
    struct str rest = buf_str(&f.sent), line;
    for (size_t i = 1; i < f.messages; i++) {
        line = str_cut(&rest, '\n');
        assert_true(
                str_starts(line, STR(PROGRESS "\"progressToken\":123456789012345678901,"
                                              "\"progress\":0.")));
        double now = strtod(strstr(line.data, "\"progress\":") + 11, NULL);
        assert_true(now > before);
        before = now;
        assert_non_null(memmem(line.data, line.len, "running for 0 s", 15));
    }
    assert_string_equal(rest.data, RES("1", TEXT("slept")));
    receive(&f, CALL("1", "sleep 60", ",\"_meta\":{\"progressToken\":1.5}"));
    while (!mcp_is_idle(f.mcp))
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_int_equal(f.messages, 1);
    close_client(&f);
}

static void test_batch(void **state UNUSED)
{
    struct fixture f;
    open_client(&f);
    receive(&f, INIT("2025-03-26"));
    receive(&f, "[" CALL("1", "echo a", "") "," REQ("\"p\"",
                        "ping") ","
                                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                "x\"},7," INIT("2025-03-26") "," CALL(
                                        "2", "sleep 4000", "") "]");
    mcp_receive(f.mcp, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                           "\"params\":{\"requestId\":2}}"));
    wait_for(&f, 1);
    assert_string_equal(sent(&f),
            "[{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}},"
            "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"a message "
            "must be "
            "an object\"}},"
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32600,\"message\":"
            "\"'initialize' cannot be part of a batch\"}},"
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" TEXT("a") "}]\n");
    receive(&f, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]");
    assert_int_equal(f.messages, 0);
    receive(&f, INIT("2025-06-18"));
    receive(&f, "[" REQ("1", "ping") "]");
    assert_non_null(strstr(sent(&f), "-32600"));
    close_client(&f);
}

static void test_batch_ceiling(void **state UNUSED)
{
    for (int count = 100; count <= 101; count++) {
        struct fixture f;
        open_client(&f);
        auto_buf text = BUF(65536);
        for (int i = 0; i < count; i++)
            buf_addf(&text, "%c" REQ("%d", "ping"), i ? ',' : '[', i);
        buf_addc(&text, ']');
        receive(&f, text.data);
        assert_int_equal(f.messages, 1);
        assert_int_equal(!strstr(sent(&f), "-32600"), count == 100);
        close_client(&f);
    }
}

static void test_depth(void **state UNUSED)
{
    struct fixture f;
    open_client(&f);
    auto_buf text = BUF(300000);
    for (int i = 0; i < 200000; i++)
        buf_addc(&text, '[');
    receive(&f, text.data);
    assert_non_null(strstr(sent(&f), "-32600"));
    close_client(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_immediate),
        cmocka_unit_test(test_list_differs_by_era),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_ping_while_a_call_runs),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_batch_ceiling),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
