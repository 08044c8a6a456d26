/*
 * Calls of other MCP servers behind a policy, against a process that does what the test
 * says (fake-mcp.c).
 */
#include "peer/peers.h"

#include "definition-world.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define LONG_MS     60000 /* to catch a hang */
#define CLIENT_NAME 1024  /* bytes of a name, at most */

struct fixture {
    struct definitions d;
    uv_loop_t loop;
    struct peers *peers;
    int answers;
    enum peer_end end;
    struct buf text, rule; /* of the last answer: JSON or text */
};

static void on_done(void *user, const struct peer_result *r)
{
    struct fixture *f = user;
    f->answers++;
    f->end = r->end;
    buf_clear(&f->text);
    buf_clear(&f->rule);
    if (r->result)
        json_write(r->result, &f->text);
    buf_add(&f->text, r->text);
    buf_add(&f->rule, r->rule);
}

/* One server, box, with a rule of fake-mcp. */
static void begin(struct fixture *f, const char *overlay, const char *rule)
{
    auto_buf json = BUF((size_t)64 << 10);
    memset(f, 0, sizeof(*f));
    f->text = f->rule = BUF((size_t)1 << 20);
    open_definitions(&f->d);
    buf_addf(&json,
            "{\"mcpServers\":{\"box\":{\"command\":\"%s\",\"args\":[\"--log\",\"%s\",",
            TEST_FAKE_MCP, in_world(&f->d.world, "log").data);
    json_write_text(str_of(rule), &json);
    buf_add(&json, STR("]}}}"));
    put(&f->d.world, "ws/.pyddock/mcp.json", json.data);
    load_definitions(&f->d, overlay);
    assert_int_equal(f->d.all.count, 1);
    uv_loop_init(&f->loop);
    const struct peers_config config = { .loop = &f->loop,
        .launcher = TEST_LAUNCHER,
        .policy = f->d.policy,
        .paths = path_policy_create(f->d.policy, f->d.world.arena),
        .definitions = &f->d.all };
    f->peers = peers_create(&config);
}

static void end(struct fixture *f)
{
    peers_destroy(f->peers);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    buf_finish(&f->text);
    buf_finish(&f->rule);
    close_definitions(&f->d);
}

static struct peer_call *start(struct fixture *f, const char *server, struct str tool,
        const json_t *arguments, unsigned ms)
{
    struct error err;
    struct peer_call *call = NULL;
    const struct peer_request r = { .server = str_of(server),
        .tool = tool,
        .arguments = arguments,
        .timeout_ms = ms,
        .trace = STR("") };
    if (!peers_call(f->peers, &r, on_done, f, &call, &err))
        fail_msg("%s", err.message);
    return call;
}

static void await(struct fixture *f, int answers)
{
    alarm(60);
    while (f->answers < answers)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void ask(struct fixture *f, const char *tool)
{
    int before = f->answers;
    start(f, "box", str_of(tool), NULL, LONG_MS);
    assert_int_equal(f->answers, before); /* from the loop, and not before */
    await(f, before + 1);
}

static void expect(const struct fixture *f, enum peer_end want, const char *part)
{
    if (!strstr(f->text.data ? f->text.data : "", part))
        fail_msg("'%s' is not in '%s'", part, f->text.data);
    assert_int_equal(f->end, want);
}

/* How often a text stands in what the server has received; 0: it never ran. */
static int count_received(const struct fixture *f, const char *text)
{
    int count = 0;
    char line[4096];
    FILE *file = fopen(in_world(&f->d.world, "log").data, "r");
    while (file && fgets(line, sizeof(line), file))
        count += strstr(line, text) != NULL;
    if (file)
        fclose(file);
    return count;
}

static void test_answers(void **state UNUSED)
{
    struct fixture f;
    begin(&f, BOX, "x=nothing");
    ask(&f, "t");
    expect(&f, PEER_ANSWERED, "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
    ask(&f, "");
    expect(&f, PEER_LISTED, "[{\"name\":\"one\"},{\"name\":\"two\"}]");
    assert_int_equal(count_received(&f, "initialize\""), 2); /* a process each */
    end(&f);
}

static void test_list_is_chosen(void **state UNUSED)
{
    struct fixture f;
    begin(&f, "[mcp.box.tools]\n'.*' = true\ntwo = false\n",
            "tools/list={\"id\":$id,\"result\":{\"tools\":[{\"name\":\"one\"},7,"
            "{\"name\":\"two\"},{\"name\":\"\"},{\"title\":\"x\"}]}}");
    ask(&f, "");
    expect(&f, PEER_LISTED, "[{\"name\":\"one\"}]");
    end(&f);
}

static void test_refusals_start_nothing(void **state UNUSED)
{
    static const struct {
        const char *server;
        struct str tool;
        const char *want;
    } cases[] = {
        { "box", STR("secret"), "Rule: [mcp.box.tools] 'secret' = false" },
        { "box", STR("get_x\n"), "Rule: [mcp.box" },
        { "box", STR("secret\0x"), "NUL" },
        { "box", STR("\0"), "NUL" },
        { "nobody", STR("get_x"), "nobody" },
        { "nobody", STR(""), "nobody" },
        { "", STR("get_x"), "" },
    };
    struct fixture f;
    begin(&f, "[mcp.box.tools]\n'get_.*|secret.x' = true\nsecret = false\n", "x=nothing");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        start(&f, cases[i].server, cases[i].tool, NULL, LONG_MS);
        await(&f, (int)i + 1);
        expect(&f, PEER_REFUSED, cases[i].want);
    }
    char name[CLIENT_NAME + 2] = "get_";
    memset(name + 4, 'x', CLIENT_NAME + 1 - 4);
    name[CLIENT_NAME + 1] = '\0';
    ask(&f, name);
    expect(&f, PEER_REFUSED, "more than 1024 bytes");
    assert_int_equal(count_received(&f, ""), 0);
    ask(&f, "get_x");
    expect(&f, PEER_ANSWERED, "done");
    assert_int_equal(count_received(&f, "tools/call"), 1);
    end(&f);
}

static void test_undefined(void **state UNUSED)
{
    struct fixture f;
    begin(&f, BOX "[mcp.ghost.tools]\n'.*' = true\n", "x=nothing");
    start(&f, "ghost", STR("t"), NULL, LONG_MS);
    await(&f, 1);
    expect(&f, PEER_FAILED, "the MCP server 'ghost' has no definition");
    end(&f);
}

static void test_failure_and_time(void **state UNUSED)
{
    struct fixture f;
    begin(&f, BOX, "tools/call=exit 3");
    ask(&f, "t");
    expect(&f, PEER_FAILED, "the MCP server 'box' exited with status 3");
    end(&f);
    begin(&f, BOX, "tools/call=hang");
    start(&f, "box", STR("t"), NULL, 300);
    await(&f, 1);
    expect(&f, PEER_TIMED_OUT,
            "the MCP server 'box' has not answered 't' within the time limit (timeout) "
            "of 0.3 s and was ended. Pass a larger");
    end(&f);
    begin(&f, BOX, "start=hang");
    start(&f, "box", STR("t"), NULL, 300);
    await(&f, 1);
    expect(&f, PEER_TIMED_OUT, "has not answered the handshake within");
    end(&f);
}

static void test_kept(void **state UNUSED)
{
    struct fixture f;
    begin(&f, "[mcp.box]\nkeep_alive = 60\n" BOX, "x=nothing");
    for (int i = 0; i < 3; i++)
        ask(&f, "t");
    ask(&f, "");
    assert_int_equal(count_received(&f, "initialize\""), 1);
    assert_int_equal(count_received(&f, "tools/call"), 3);
    /* Two at once need two; both are kept. */
    for (int i = 0; i < 2; i++) {
        start(&f, "box", STR("t"), NULL, LONG_MS);
        start(&f, "box", STR("t"), NULL, LONG_MS);
        await(&f, f.answers + 2);
    }
    assert_int_equal(count_received(&f, "initialize\""), 2);
    end(&f);
}

static void test_kept_and_died(void **state UNUSED)
{
    struct fixture f;
    begin(&f, "[mcp.box]\nkeep_alive = 60\n" BOX,
            "tools/call={\"id\":$id,\"result\":{}}~exit 0");
    for (int i = 0; i < 3; i++) {
        ask(&f, "t");
        expect(&f, PEER_ANSWERED, "{}");
        uv_sleep(200);
    }
    assert_int_equal(count_received(&f, "initialize\""), 3);
    end(&f);
}

static void test_kept_for_its_time(void **state UNUSED)
{
    struct fixture f;
    begin(&f, "[mcp.box]\nkeep_alive = 1\n" BOX, "x=nothing");
    ask(&f, "t");
    uint64_t until = uv_now(&f.loop) + 1500;
    while (uv_now(&f.loop) < until) {
        uv_run(&f.loop, UV_RUN_NOWAIT);
        uv_sleep(20);
    }
    ask(&f, "t");
    assert_int_equal(count_received(&f, "initialize\""), 2);
    end(&f);
}

static void test_cancel(void **state UNUSED)
{
    struct fixture f;
    begin(&f, "[mcp.box]\nkeep_alive = 60\n" BOX, "tools/call#1=nothing");
    struct peer_call *call = start(&f, "box", STR("t"), NULL, LONG_MS);
    while (!count_received(&f, "tools/call"))
        uv_run(&f.loop, UV_RUN_NOWAIT);
    peers_cancel(call);
    while (!count_received(&f, "notifications/cancelled"))
        uv_run(&f.loop, UV_RUN_NOWAIT);
    assert_int_equal(f.answers, 0);
    end(&f);
    /* One that was refused, before it has been told. */
    begin(&f, "[mcp.box.tools]\nx = true\n", "x=nothing");
    peers_cancel(start(&f, "box", STR("t"), NULL, LONG_MS));
    uv_run(&f.loop, UV_RUN_NOWAIT);
    assert_int_equal(f.answers, 0);
    end(&f);
}

static void test_limit(void **state UNUSED)
{
    struct fixture f;
    struct error err;
    struct peer_call *call;
    struct peer_request r = {
        .server = STR("box"), .tool = STR("t"), .timeout_ms = LONG_MS, .trace = STR("")
    };
    begin(&f, BOX, "tools/call=hang");
    for (int i = 0; i < PEERS_MAX_CALLS; i++)
        start(&f, "box", STR("t"), NULL, LONG_MS);
    assert_false(peers_call(f.peers, &r, on_done, &f, &call, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    r.is_nested = true;
    for (int i = 0; i < PEERS_MAX_NESTED; i++)
        assert_true(peers_call(f.peers, &r, on_done, &f, &call, &err));
    r.server = STR("none");
    assert_false(peers_call(f.peers, &r, on_done, &f, &call, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.message, "32 calls"));
    end(&f); /* with all of them running */
    assert_int_equal(f.answers, 0);
}

static void test_change_is_told_once(void **state UNUSED)
{
    struct fixture f;
    begin(&f, BOX, "x=nothing");
    ask(&f, "t");
    assert_null(strstr(f.text.data, "changed"));
    put(&f.d.world, "ws/.pyddock/mcp.json", "{\"mcpServers\":{}}");
    ask(&f, "t");
    expect(&f, PEER_ANSWERED, "mcp.json changed after paddock started");
    ask(&f, "t");
    assert_null(strstr(f.text.data, "changed"));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_list_is_chosen),
        cmocka_unit_test(test_refusals_start_nothing),
        cmocka_unit_test(test_undefined),
        cmocka_unit_test(test_failure_and_time),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_kept_and_died),
        cmocka_unit_test(test_kept_for_its_time),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_change_is_told_once),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
