/*
 * The client of other MCP servers against a process that does what the test says
 * (fake-mcp.c).
 */
#include "peer/client.h"

#include "scratch.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":" result "}"
#define ERROR(error)   "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":" error "}"
#define TEXT(text)     RESULT("{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}")

#define MAX_RULES 12

struct fixture {
    uv_loop_t loop;
    struct link_list links;
    struct peer_client *client;
    char folder[64], log[96], pid_file[96];
    int answers;
    bool good, usable;
    struct buf text; /* of the answer: JSON, or how it failed */
};

static void on_answer(void *user, const struct client_answer *a)
{
    struct fixture *f = user;
    f->answers++;
    f->good = a->result;
    f->usable = a->is_usable;
    buf_clear(&f->text);
    if (a->result)
        json_write(a->result, &f->text);
    else
        buf_add(&f->text, a->text);
}

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    uv_loop_init(&f->loop);
    f->text = BUF((size_t)64 << 20);
    strcpy(f->folder, "/tmp/paddock-peer-XXXXXX");
    scratch_make(f->folder);
    snprintf(f->log, sizeof(f->log), "%s/log", f->folder);
    snprintf(f->pid_file, sizeof(f->pid_file), "%s/pid", f->folder);
}

static void open_as(struct fixture *f, enum client_era era, const char *const *rules)
{
    static const char *const env[] = { "ONLY=this", NULL };
    const char *argv[MAX_RULES + 4] = { "fake-mcp", "--log", f->log };
    struct error err;
    for (size_t i = 0; rules[i]; i++)
        argv[3 + i] = rules[i];
    const struct command_spec spec = { .launcher = TEST_LAUNCHER,
        .program = TEST_FAKE_MCP,
        .argv = argv,
        .env = env,
        .cwd = "/" };
    const struct client_config config = {
        .loop = &f->loop, .links = &f->links, .spec = &spec, .era = era
    };
    if (!client_open(&config, &f->client, &err))
        fail_msg("%s", err.message);
}

#define OPEN(f, ...) \
    open_as(f, CLIENT_UNKNOWN, (const char *const[]){ __VA_ARGS__, NULL })

static bool ask(struct fixture *f, const char *tool)
{
    const struct client_request r = {
        .tool = str_of(tool), .arguments = STR("{\"a\":1}"), .trace = STR("")
    };
    return client_ask(f->client, &r, on_answer, f);
}

static void await(struct fixture *f)
{
    int before = f->answers;
    alarm(60); /* to catch a hang */
    while (f->answers == before)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void call(struct fixture *f, const char *tool)
{
    assert_true(ask(f, tool));
    await(f);
}

static void expect(const struct fixture *f, const char *part)
{
    if (!strstr(f->text.data ? f->text.data : "", part))
        fail_msg("'%s' is not in '%s'", part, f->text.data);
}

static void expect_good(const struct fixture *f, const char *part)
{
    expect(f, part);
    assert_true(f->good && f->usable);
}

static void expect_bad(const struct fixture *f, const char *part)
{
    expect(f, part);
    assert_false(f->good);
}

/* Whatever there is of it must go by itself. */
static void close_client(struct fixture *f)
{
    if (f->client)
        client_close(TAKE(f->client));
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_null(f->links.first);
}

static void end(struct fixture *f)
{
    if (f->client)
        client_close(TAKE(f->client));
    links_destroy(&f->links);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    buf_finish(&f->text);
    scratch_remove(f->folder);
}

/* What the server has received. */
static const char *received(struct fixture *f)
{
    FILE *file = fopen(f->log, "r");
    buf_clear(&f->text);
    assert_non_null(file);
    char *to = buf_reserve(&f->text, (size_t)1 << 20);
    size_t n = fread(to, 1, (size_t)1 << 20, file);
    fclose(file);
    f->text.len = n;
    to[n] = '\0';
    return f->text.data;
}

static void test_call(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "x=nothing");
    call(&f, "echo");
    expect_good(&f, "done");
    assert_int_equal(client_era(f.client), CLIENT_LEGACY);
    call(&f, "again");
    expect_good(&f, "done");
    close_client(&f);
    assert_string_equal(received(&f),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
            "\"name\":\"paddock\",\"version\":\"" PADDOCK_VERSION "\"}}}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
            "\"name\":\"echo\",\"arguments\":{\"a\":1}}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{"
            "\"name\":\"again\",\"arguments\":{\"a\":1}}}\n");
    end(&f);
}

static void test_trace(void **state UNUSED)
{
    struct fixture f;
    const struct client_request r = { .tool = STR("t"),
        .arguments = STR("{}"),
        .trace = STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") };
    begin(&f);
    OPEN(&f, "x=nothing");
    assert_true(client_ask(f.client, &r, on_answer, &f));
    await(&f);
    /* One that is none is left out. */
    auto_buf trace = BUF(100000);
    for (size_t i = 0; i < 99999; i++)
        buf_addc(&trace, '"');
    const struct client_request wrong = {
        .tool = STR("wrong"), .arguments = STR("{}"), .trace = buf_str(&trace)
    };
    assert_true(client_ask(f.client, &wrong, on_answer, &f));
    await(&f);
    expect_good(&f, "done");
    assert_non_null(strstr(received(&f), "\"name\":\"wrong\",\"arguments\":{}}}\n"));
    assert_non_null(strstr(received(&f),
            "\"arguments\":{},\"_meta\":{\"traceparent\":\"00-0af7651916cd43dd8448eb211c8"
            "0319c-b7ad6b7169203331-01\"}}}\n"));
    end(&f);
}

/* What comes before the answer and is not it. */
static void test_tolerance(void **state UNUSED)
{
    static const char *const harmless[] = {
        "this is no JSON",
        "[info] listening on stdio",
        "[1,2,{}]",
        "{broken",
        "{}",
        "raw \n\n\r\n  \r\n",
        "\xff\xfe\x00",
        "raw \xef\xbb\xbf",
        "blanks 1000000",
        "null",
        "\"text\"",
        "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":$id.5,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":-$id,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":[$id],\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"x\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":$id}",
        "{\"jsonrpc\":\"2.0\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}",
        "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":7,\"id\":$id}",
        "messages 200000",
        "errors 5000000",
    };
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
        struct fixture f;
        char rule[600];
        begin(&f);
        snprintf(rule, sizeof(rule), "tools/call=%s~" TEXT("real"), harmless[i]);
        OPEN(&f, rule);
        call(&f, "t");
        expect_good(&f, "real");
        end(&f);
    }
}

/* Ways to answer that are unusual and yet an answer. */
static void test_answers(void **state UNUSED)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        { "raw {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}\r\n", "[]" },
        { "raw \xef\xbb\xbf{\"id\":2,\"result\":{\"content\":[]}}\n", "[]" },
        { "{\"id\":$id,\"result\":{}}", "{}" },
        { "{\"id\":$id.0,\"result\":{}}", "{}" },
        { "[{\"jsonrpc\":\"2.0\",\"method\":\"n\"},{\"id\":$id,\"result\":{\"x\":1}}]",
                "{\"x\":1}" },
        { TEXT("bad \xff byte"), "bad \xef\xbf\xbd byte" },
        { TEXT("one") "~" TEXT("two"), "one" },
        { "{\"id\":$id,\"result\":{\"resultType\":\"complete\",\"x\":2}}", "\"x\":2" },
        { "{\"id\":$id,\"result\":{\"big\":123456789012345678901234567890}}", "e" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        char rule[400];
        begin(&f);
        snprintf(rule, sizeof(rule), "tools/call=%s", cases[i].line);
        OPEN(&f, rule);
        call(&f, "t");
        expect_good(&f, cases[i].want);
        end(&f);
    }
}

/* An answer without an end of line counts when the output ends. */
static void test_last_line(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "tools/call=raw {\"id\":2,\"result\":{\"x\":1}}~exit 0");
    call(&f, "t");
    assert_true(f.good);
    expect(&f, "{\"x\":1}");
    end(&f);
}

static void test_failures(void **state UNUSED)
{
    static const struct {
        const char *rule, *want;
        bool usable;
    } cases[] = {
        { "tools/call=" ERROR(
                  "{\"code\":-32602,\"message\":\"no such \\u001b[31mthing\"}"),
                "answered with error -32602: no such \xef\xbf\xbd[31mthing", true },
        { "tools/call=" ERROR("{\"code\":-1,\"message\":\"no\\nRule: [x]\"}"),
                "error -1: no\n  Rule: [x]", true },
        { "tools/call=" ERROR("{}"), "error 0", true },
        { "tools/call={\"error\":{\"code\":-32700,\"message\":\"cannot read\"}}",
                "cannot read", true },
        { "tools/call={\"id\":null,\"error\":{\"code\":-32700,\"message\":\"null id\"}}",
                "null id", true },
        { "tools/call=" RESULT("7"), "not the result of a tool", true },
        { "tools/call=" RESULT("{\"resultType\":\"input_required\"}"), "more input",
                true },
        { "tools/call=" RESULT("{\"resultType\":\"task\"}"), "not known: 'task'", true },
        { "tools/call={\"id\":$id,\"result\":{\"a\":1,\"a\":2}}", "cannot be read",
                false },
        { "tools/call={\"id\": $id,\"result\":{\"x\":NaN}}", "cannot be read", false },
        { "tools/call=exit 3", "exited with status 3", false },
        { "tools/call=kill", "killed by signal KILL", false },
        { "tools/call=error it hurts~exit 3", "its stderr:\n  it hurts", false },
        { "tools/call=errors 1000000~error the end~exit 3", "lost\n  the end", false },
        { "tools/call=error \x1b[2J\x07zap~exit 3", "\xef\xbf\xbd[2J\xef\xbf\xbdzap",
                false },
        { "tools/call=close-out~hang", "closed its input or output", false },
        { "tools/call=flood 20000000~hang", "more than 10 MiB", false },
        { "tools/call=flood 10485761~raw \n~" TEXT("late"), "more than 10 MiB", false },
        { "tools/call=messages 70000000", "far more than one answer", false },
        { "tools/call=blanks 70000000~hang", "far more than one answer", false },
        { "initialize=exit 4", "exited with status 4", false },
        { "start=error cannot find module~exit 1", "cannot find module", false },
        { "start=close-out~hang", "closed its input or output", false },
        { "initialize=" RESULT("{\"protocolVersion\":\"1999-01-01\"}"), "'1999-01-01'",
                false },
        { "initialize=" RESULT("{\"protocolVersion\":7}"), "not known: ''", false },
        { "initialize=" RESULT("[]"), "not known: ''", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        begin(&f);
        OPEN(&f, cases[i].rule);
        call(&f, "t");
        expect_bad(&f, cases[i].want);
        assert_int_equal(f.usable, cases[i].usable);
        if (cases[i].usable)
            call(&f, "next"); /* it still listens */
        end(&f);
    }
}

static void test_deep_answer(void **state UNUSED)
{
    struct fixture f;
    auto_buf rule = BUF(8192);
    begin(&f);
    buf_add(&rule, STR("tools/call={\"id\":$id,\"result\":"));
    for (size_t i = 0; i < 1000; i++)
        buf_addc(&rule, '[');
    OPEN(&f, rule.data);
    call(&f, "t");
    expect_bad(&f, "cannot be read: JSON is nested deeper");
    end(&f);
    begin(&f);
    rule.data[11] = '['; /* now it is no answer */
    buf_add(&rule, STR("~" TEXT("real")));
    OPEN(&f, rule.data);
    call(&f, "t");
    expect_good(&f, "real");
    end(&f);
}

static void test_missing_program(void **state UNUSED)
{
    static const char *const argv[] = { "absent", NULL }, *const env[] = { NULL };
    const struct command_spec spec = { .launcher = TEST_LAUNCHER,
        .program = "/usr/bin/there-is-no-such-thing",
        .argv = argv,
        .env = env,
        .cwd = "/" };
    struct fixture f;
    struct error err;
    begin(&f);
    const struct client_config config = {
        .loop = &f.loop, .links = &f.links, .spec = &spec
    };
    assert_true(client_open(&config, &f.client, &err));
    call(&f, "t");
    expect_bad(&f, "could not be started: cannot run the program: No such file");
    end(&f);
}

/* A line of any length takes no more memory than the longest that is read. */
static void test_endless_line(void **state UNUSED)
{
    struct rusage before, after;
    struct fixture f;
    begin(&f);
    OPEN(&f, "tools/call=flood 1073741824~hang");
    getrusage(RUSAGE_SELF, &before);
    call(&f, "t");
    expect_bad(&f, "more than 10 MiB");
    close_client(&f);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10);
    end(&f);
}

static void test_requests_of_the_server(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "tools/call="
             "{\"jsonrpc\":\"2.0\",\"id\":\"s 1\",\"method\":\"ping\"}~"
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\"}~"
             "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"roots/list\"}~"
             "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}~" TEXT("real"));
    call(&f, "t");
    expect_good(&f, "real");
    close_client(&f);
    const char *log = strstr(received(&f), "\"s 1\"");
    assert_non_null(log);
    assert_string_equal(log,
            "\"s 1\",\"result\":{}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32601,\"message\":\"this "
            "client offers nothing to servers\"}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":\"this "
            "client offers nothing to servers\"}}\n");
    end(&f);
}

/* Who asks a million times and reads nothing gets no answers that we would have to
 * keep. */
static void test_pings_nobody_reads(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "tools/call=pings 2000000~" TEXT("real"));
    call(&f, "t");
    expect_good(&f, "real");
    end(&f);
}

static void test_modern(void **state UNUSED)
{
    static const char *const refusals[] = {
        "initialize=" ERROR("{\"code\":-32022,\"message\":\"no\",\"data\":{\"supported\":"
                            "[\"2026-07-28\"]}}"),
        "initialize=" ERROR("{\"code\":-32601,\"message\":\"no such method\"}"),
        "initialize={\"error\":{\"code\":-32602,\"message\":\"_meta is missing\"}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        struct fixture f;
        begin(&f);
        OPEN(&f, refusals[i],
                "server/discover=" RESULT(
                        "{\"supportedVersions\":[\"2027-01-01\",\"2026-07-28\"]}"),
                "tools/call=" RESULT("{\"resultType\":\"complete\",\"x\":1}"));
        call(&f, "t");
        expect_good(&f, "\"x\":1");
        assert_int_equal(client_era(f.client), CLIENT_MODERN);
        close_client(&f);
        const char *log = received(&f);
        assert_null(strstr(log, "notifications/initialized"));
        assert_non_null(strstr(log,
                "\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":"
                "{\"a\":1},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},"
                "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"paddock\","));
        end(&f);
    }
}

static void test_modern_known(void **state UNUSED)
{
    static const char *const rules[] = { "x=nothing", NULL };
    struct fixture f;
    begin(&f);
    open_as(&f, CLIENT_MODERN, rules);
    call(&f, "t");
    expect_good(&f, "done");
    close_client(&f);
    assert_int_equal(str_count(str_of(received(&f)), '\n'), 1);
    end(&f);
}

static void test_refused_for_good(void **state UNUSED)
{
    static const char *const discoveries[] = {
        "server/discover=" ERROR("{\"code\":-32601,\"message\":\"unknown\"}"),
        "server/discover=" RESULT("{\"supportedVersions\":[\"2027-01-01\"]}"),
        "server/discover=" RESULT("{\"supportedVersions\":7}"),
        "server/discover=" RESULT("7"),
    };
    for (size_t i = 0; i < ARRAY_LEN(discoveries); i++) {
        struct fixture f;
        begin(&f);
        OPEN(&f, "initialize=" ERROR("{\"code\":-32000,\"message\":\"no licence\"}"),
                discoveries[i]);
        call(&f, "t");
        expect_bad(&f, "answered with error -32000: no licence");
        end(&f);
    }
}

static void test_list(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "tools/list#1=" RESULT("{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"\"}"),
            "tools/list#2=" RESULT("{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"c\"}"),
            "tools/list#3=" RESULT("{\"tools\":[{\"name\":\"c\"}],\"nextCursor\":\"\"}"),
            "tools/list#4=" RESULT("{\"tools\":[{\"name\":\"never\"}]}"));
    call(&f, "");
    expect_good(&f, "");
    assert_string_equal(
            f.text.data, "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]");
    close_client(&f);
    const char *log = strstr(received(&f), "tools/list");
    assert_non_null(log);
    assert_non_null(strstr(log, "\"params\":{}}\n"));
    assert_non_null(strstr(log, "\"params\":{\"cursor\":\"\"}}\n"));
    assert_non_null(strstr(log, "\"params\":{\"cursor\":\"c\"}}\n"));
    end(&f);
}

static void test_odd_lists(void **state UNUSED)
{
    static const struct {
        const char *rule, *want;
    } cases[] = {
        { "tools/list=" RESULT("{}"), "[]" },
        { "tools/list=" RESULT("{\"tools\":7}"), "[]" },
        { "tools/list=" RESULT("7"), "[]" },
        { "tools/list={\"id\":$id,\"result\":{\"tools\":[1],\"nextCursor\":\"$long\"}}",
                "[1]" },
        { "tools/list=" RESULT("{\"tools\":[1,\"x\"],\"nextCursor\":7}"), "[1,\"x\"]" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        begin(&f);
        OPEN(&f, cases[i].rule);
        call(&f, "");
        expect_good(&f, "");
        assert_string_equal(f.text.data, cases[i].want);
        end(&f);
    }
}

/* Pages without an end, each with a new cursor. */
static void test_endless_list(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "tools/list=" RESULT(
                     "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"$id\"}"));
    call(&f, "");
    expect_good(&f, "");
    assert_int_equal(
            str_count(buf_str(&f.text), 'a'), 2 * CLIENT_MAX_PAGES); /* name, a */
    end(&f);
}

static void test_cancel(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "tools/call=nothing", "notifications/cancelled=" TEXT("too late"));
    assert_true(ask(&f, "t"));
    while (client_is_starting(f.client))
        uv_run(&f.loop, UV_RUN_ONCE);
    close_client(&f);
    assert_int_equal(f.answers, 0);
    assert_non_null(
            strstr(received(&f), "\"method\":\"notifications/cancelled\",\"params\":{"
                                 "\"requestId\":2,\"reason\":\"given up\"}}\n"));
    end(&f);
}

static uint64_t close_ms(struct fixture *f)
{
    uint64_t before = uv_hrtime();
    close_client(f);
    return (uv_hrtime() - before) / 1000000;
}

/* One that ends with its stdin is waited for; else SIGTERM, else SIGKILL. */
static void test_shutdown(void **state UNUSED)
{
    static const struct {
        const char *end;
        unsigned least_ms;
    } cases[] = {
        { "x=nothing", 0 },
        { "end=sleep 300", 300 },
        { "end=hang", LINK_PATIENCE_MS },
        { "end=stay~hang", LINK_PATIENCE_MS + 2000 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        begin(&f);
        OPEN(&f, cases[i].end);
        call(&f, "t");
        expect_good(&f, "done");
        assert_in_range(close_ms(&f), cases[i].least_ms, 60000);
        end(&f);
    }
}

static void test_destroy_waits_for_nobody(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "end=stay~hang");
    call(&f, "t");
    uint64_t before = uv_hrtime();
    end(&f);
    assert_true((uv_hrtime() - before) / 1000000 < 3900); /* else it takes 4 s */
}

static int read_pid(const struct fixture *f)
{
    int pid = 0;
    for (int i = 0; i < 1000 && pid <= 0; i++) {
        FILE *file = fopen(f->pid_file, "r");
        if (!file || fscanf(file, "%d", &pid) != 1)
            uv_sleep(10);
        if (file)
            fclose(file);
    }
    assert_true(pid > 0);
    return pid;
}

/* Its child has left the session and the group, and ignores what it can. */
static void test_leaves_nothing(void **state UNUSED)
{
    struct fixture f;
    char rule[200];
    begin(&f);
    snprintf(rule, sizeof(rule), "tools/call=detach %s~" TEXT("real"), f.pid_file);
    OPEN(&f, rule);
    call(&f, "t");
    expect_good(&f, "real");
    int pid = read_pid(&f);
    assert_int_equal(kill(pid, 0), 0);
    close_client(&f);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
    end(&f);
}

/* Its environment is the one that it was given, and three descriptors are all it has. */
static void test_world(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    setenv("OURS", "secret", 1);
    OPEN(&f, "tools/call=world");
    call(&f, "t");
    /* 3 is its own log. */
    expect_good(&f, "env ONLY=this fds 0 1 2 3\"");
    end(&f);
}

static void test_large_arguments(void **state UNUSED)
{
    struct fixture f;
    auto_buf arguments = BUF((size_t)6 << 20);
    buf_add(&arguments, STR("{\"a\":\""));
    for (size_t i = 0; i < 5 << 20; i++)
        buf_addc(&arguments, 'x');
    buf_add(&arguments, STR("\"}"));
    const struct client_request r = {
        .tool = STR("t"), .arguments = buf_str(&arguments), .trace = STR("")
    };
    begin(&f);
    OPEN(&f, "x=nothing");
    assert_true(client_ask(f.client, &r, on_answer, &f));
    await(&f);
    expect_good(&f, "done");
    end(&f);
    /* Who does not read them dies with them. */
    begin(&f);
    OPEN(&f, "notifications/initialized=hang");
    assert_true(client_ask(f.client, &r, on_answer, &f));
    while (client_is_starting(f.client))
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_in_range(close_ms(&f), LINK_GIVEN_UP_MS, 60000);
    assert_int_equal(f.answers, 0);
    end(&f);
    /* Who closes its stdin will not answer. */
    begin(&f);
    OPEN(&f, "notifications/initialized=close-in~hang");
    assert_true(client_ask(f.client, &r, on_answer, &f));
    await(&f);
    expect_bad(&f, "closed its input or output");
    end(&f);
}

/* A connection that has died since the last request is found out before the next. */
static void test_died_between(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    OPEN(&f, "tools/call=" TEXT("real") "~exit 0");
    call(&f, "t");
    assert_true(f.good);
    uv_sleep(300); /* the loop has not heard of it */
    assert_false(ask(&f, "t"));
    end(&f);
    begin(&f);
    OPEN(&f, "tools/call=" TEXT("real") "~exit 0");
    call(&f, "t");
    while (!client_is_gone(f.client))
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_false(ask(&f, "t"));
    end(&f);
}

static void test_closing_is_limited(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < LINKS_MAX_CLOSING + 3; i++) {
        OPEN(&f, "end=stay~hang");
        call(&f, "t");
        client_close(TAKE(f.client));
    }
    assert_int_equal(links_running(&f.links), LINKS_MAX_CLOSING);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_last_line),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_deep_answer),
        cmocka_unit_test(test_missing_program),
        cmocka_unit_test(test_endless_line),
        cmocka_unit_test(test_requests_of_the_server),
        cmocka_unit_test(test_pings_nobody_reads),
        cmocka_unit_test(test_modern),
        cmocka_unit_test(test_modern_known),
        cmocka_unit_test(test_refused_for_good),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_odd_lists),
        cmocka_unit_test(test_endless_list),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_shutdown),
        cmocka_unit_test(test_destroy_waits_for_nobody),
        cmocka_unit_test(test_leaves_nothing),
        cmocka_unit_test(test_world),
        cmocka_unit_test(test_large_arguments),
        cmocka_unit_test(test_died_between),
        cmocka_unit_test(test_closing_is_limited),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
