#include "tool/extension.h"

#include "unit.h"

#include "protocol/mcp.h"

#include <stdio.h>

/* Tools of this program: one that answers at once, one that never does. */
#define EMPTY "{\"type\":\"object\"}"
static const struct tool_source sources[] = {
    { "zz_waits", "{\"name\":\"zz_waits\",\"inputSchema\":" EMPTY "}", TOOL_IN_PROGRAM },
    { "aa_asks",
            "{\"name\":\"aa_asks\",\"needs\":{\"sampling\":{}},\"inputSchema\":" EMPTY
            "}",
            TOOL_IN_PROGRAM },
    { "mm_mirrors",
            "{\"name\":\"mm_mirrors\",\"inputSchema\":{\"type\":\"object\","
            "\"properties\":"
            "{\"a\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\","
            "\"x-mcp-header\":\"B\"}}}}}}",
            TOOL_IN_PROGRAM },
};

struct work {
    uv_timer_t timer;
    struct dispatch_call *call;
    unsigned *running; /* of the fixture */
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void cancel(void *work)
{
    struct work *w = work;
    --*w->running;
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

static void on_timer(uv_timer_t *timer)
{
    struct work *w = timer->data;
    json_auto_t *blocks = json_pack("[{s:s}, {s:s}]", "type", "odd", "type", "even");
    dispatch_answer(w->call, &(struct dispatch_reply){ .blocks = blocks });
    cancel(w);
}

static void *start(const struct extension_call *call)
{
    struct work *w = xcalloc(1, sizeof(*w));
    w->call = call->call;
    w->running = call->loop->data;
    ++*w->running;
    uv_timer_init(call->loop, &w->timer);
    w->timer.data = w;
    if (!str_is(call->tool, "zz_waits"))
        uv_timer_start(&w->timer, on_timer, 0, 0);
    return w;
}

static const struct tool_extension extension = {
    .sources = sources, .count = ARRAY_LEN(sources), .start = start, .cancel = cancel
};

struct fixture {
    uv_loop_t loop;
    unsigned running;
    struct toolset *tools;
    struct mcp_server server;
    struct dispatch *dispatch;
    struct mcp *mcp;
    char sent[4096];
    size_t messages;
};

static void on_send(void *user, struct str message)
{
    struct fixture *f = user;
    snprintf(f->sent, sizeof(f->sent), "%.*s", STR_ARG(message));
    f->messages++;
}

static void open_client(struct fixture *f, struct dispatch *commons)
{
    const struct toolset_config offered = { .extension = &extension };
    struct error err;
    if (!commons) {
        uv_loop_init(&f->loop);
        f->loop.data = &f->running;
        assert_true(toolset_create(&offered, &f->tools, &err));
    }
    const struct dispatch_config config = {
        .worker = { .loop = &f->loop }, .tools = f->tools, .commons = commons
    };
    f->server = (struct mcp_server){ &f->loop, "test", "1", "", f->tools, 20 };
    f->dispatch = dispatch_create(&config);
    f->mcp = mcp_open(&f->server, f->dispatch, on_send, f);
}

static void close_client(struct fixture *f)
{
    mcp_close(f->mcp);
    dispatch_destroy(f->dispatch);
}

static void close_loop(struct fixture *f)
{
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    toolset_destroy(f->tools);
}

static const char *ask(struct fixture *f, const char *text)
{
    f->messages = 0;
    mcp_receive(f->mcp, str_of(text));
    while (!f->messages)
        uv_run(&f->loop, UV_RUN_ONCE);
    return f->sent;
}

#define KEY "io.modelcontextprotocol/"
#define CALL(id, tool, more)                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\"," \
    "\"params\":{\"name\":\"" tool "\"" more "}}"
#define WITH(capabilities)                                         \
    ",\"_meta\":{\"" KEY "protocolVersion\":\"2026-07-28\",\"" KEY \
    "clientCapabilities\":" capabilities "}"

static void test_listed(void **state UNUSED)
{
    static const char *const names[] = { "aa_asks", "edit", "mm_mirrors", "run",
        "zz_waits" };
    const struct toolset_config offered = { .places = TOOL_IN_SHELL,
        .extension = &extension };
    struct toolset *tools;
    struct error err;
    assert_true(toolset_create(&offered, &tools, &err));
    assert_int_equal(json_array_size(toolset_list(tools, false)), ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const json_t *tool = json_array_get(toolset_list(tools, false), i);
        assert_true(str_is(json_get_str(tool, "name", STR("")), names[i]));
        assert_null(json_object_get(tool, "needs")); /* is not sent */
        assert_non_null(toolset_find_schema(tools, str_of(names[i]), false));
        assert_int_equal(toolset_find_mirrored(tools, str_of(names[i])) != NULL, i == 2);
        assert_int_equal(toolset_find_needs(tools, str_of(names[i])) != NULL, i == 0);
    }
    toolset_destroy(tools);
    const struct toolset_config plain = { .places = TOOL_IN_SHELL };
    assert_true(toolset_create(&plain, &tools, &err));
    assert_int_equal(json_array_size(toolset_list(tools, false)), 2);
    assert_null(toolset_find_mirrored(tools, STR("run")));
    toolset_destroy(tools);
}

static void test_answer(void **state UNUSED)
{
    struct fixture f = { .running = 0 };
    open_client(&f, NULL);
    assert_string_equal(ask(&f, CALL("1", "mm_mirrors", "")),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"odd\"},"
            "{\"type\":\"even\"}],\"isError\":false}}");
    assert_int_equal(f.running, 0);
    close_client(&f);
    close_loop(&f);
}

/* Only a client of the modern era says what it can do. */
static void test_needs(void **state UNUSED)
{
    static const struct {
        const char *ask, *part;
    } cases[] = {
        { CALL("1", "aa_asks", WITH("{}")), "\"code\":-32021," },
        { CALL("1", "aa_asks", WITH("{}")),
                "\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}}" },
        { CALL("1", "aa_asks", WITH("{\"sampling\":true}")), "\"code\":-32021," },
        { CALL("1", "aa_asks", WITH("{\"sampling\":{}}")), "\"isError\":false" },
        { CALL("1", "aa_asks", ""), "\"isError\":false" },
        { CALL("1", "mm_mirrors", WITH("{}")), "\"isError\":false" },
    };
    struct fixture f = { .running = 0 };
    open_client(&f, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!strstr(ask(&f, cases[i].ask), cases[i].part))
            fail_msg("%s: %s", cases[i].ask, f.sent);
    close_client(&f);
    close_loop(&f);
}

/* By notification, by the end of a client beside others, and by that of the last. */
static void test_cancelled(void **state UNUSED)
{
    struct fixture f = { .running = 0 };
    open_client(&f, NULL);
    mcp_receive(f.mcp, STR(CALL("1", "zz_waits", "")));
    assert_int_equal(f.running, 1);
    mcp_receive(f.mcp, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                           "\"params\":{\"requestId\":1}}"));
    assert_int_equal(f.running, 0);
    struct fixture commons = f;
    open_client(&f, commons.dispatch);
    mcp_receive(f.mcp, STR(CALL("1", "zz_waits", "")));
    assert_int_equal(f.running, 1);
    close_client(&f);
    assert_int_equal(f.running, 0);
    f.mcp = commons.mcp;
    f.dispatch = commons.dispatch;
    mcp_receive(f.mcp, STR(CALL("1", "zz_waits", "")));
    assert_int_equal(f.running, 1);
    close_client(&f);
    assert_int_equal(f.running, 0);
    assert_int_equal(f.messages, 0);
    close_loop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
