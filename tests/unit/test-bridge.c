#include "unit.h"

#include "bridge/bridge.h"
#include "bridge/headers.h"
#include "bridge/mirror.h"

#include <stdio.h>

static void test_urls(void **state UNUSED)
{
    static const struct {
        const char *text, *origin; /* NULL: refused */
        uint16_t port;
        bool is_local;
    } cases[] = {
        { "https://example.org/mcp", "https://example.org", 443, false },
        { "https://example.org:443/mcp", "https://example.org", 443, false },
        { "http://example.org:443/mcp", "http://example.org:443", 443, false },
        { "HTTP://localhost:8080/a?b=c#d", "http://localhost:8080", 8080, true },
        { "http://127.0.0.1/", "http://127.0.0.1", 80, true },
        { "http://127.1/", "http://127.0.0.1", 80, true },
        { "http://127.0.0.1.example.org/", "http://127.0.0.1.example.org", 80, false },
        { "http://localhost.example.org/", "http://localhost.example.org", 80, false },
        { "http://[::1]:99/", "http://[::1]:99", 99, true },
        { "http://[::2]/", "http://[::2]", 80, false },
        { "ftp://example.org/", NULL, 0, false },
        { "file:///etc/passwd", NULL, 0, false },
        { "gopher://example.org/", NULL, 0, false },
        { "example.org/mcp", NULL, 0, false },
        { "/mcp", NULL, 0, false },
        { "", NULL, 0, false },
        { "http://", NULL, 0, false },
        { "http://user:word@example.org/", NULL, 0, false },
        { "http://user@example.org/", NULL, 0, false },
        { "http://example.org:99999/", NULL, 0, false },
        { "http://exa mple.org/", NULL, 0, false },
        { "http://example.org/\r\nX: y", NULL, 0, false },
    };
    auto_arena *arena = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        struct url url;
        bool fine = url_parse(cases[i].text, NULL, arena, &url, &err);
        if (fine != (cases[i].origin != NULL))
            fail_msg("'%s' %s", cases[i].text, fine ? "is taken" : err.message);
        if (!fine)
            continue;
        assert_string_equal(url.origin, cases[i].origin);
        assert_int_equal(url.port, cases[i].port);
        assert_int_equal(url_is_local(&url), cases[i].is_local);
        assert_null(strchr(url.text, '#'));
    }
}

/* Where a Location leads, and whether the headers may go there. */
static void test_redirects(void **state UNUSED)
{
    static const struct {
        const char *to, *whole; /* NULL: no URL */
        bool same;
    } cases[] = {
        { "/other", "https://example.org/other", true },
        { "other?x", "https://example.org/a/other?x", true },
        { "https://EXAMPLE.org:443/b", "https://EXAMPLE.org:443/b", true },
        { "//example.org/c", "https://example.org/c", true },
        { "//evil.example/c", "https://evil.example/c", false },
        { "http://example.org/d", "http://example.org/d", false },
        { "http://example.org:443/d", "http://example.org:443/d", false },
        { "https://example.org:8443/e", "https://example.org:8443/e", false },
        { "https://example.org.evil.example/", "https://example.org.evil.example/",
                false },
        { "https://example.org@evil.example/", NULL, false },
        { "https://x:y@example.org/", NULL, false },
        { "file:///etc/passwd", NULL, false },
    };
    auto_arena *arena = arena_create();
    struct error err;
    struct url base;
    assert_true(url_parse("https://example.org/a/b", NULL, arena, &base, &err));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct url to;
        bool fine = url_parse(cases[i].to, &base, arena, &to, &err);
        if (fine != (cases[i].whole != NULL))
            fail_msg("'%s'", cases[i].to);
        if (fine)
            assert_string_equal(to.text, cases[i].whole);
        if (fine && url_same_origin(&base, &to) != cases[i].same)
            fail_msg("'%s' is %sthe same", cases[i].to, cases[i].same ? "not " : "");
    }
}

static void test_encoding(void **state UNUSED)
{
    static const struct {
        struct str value;
        const char *want;
    } cases[] = {
        { STR("get_weather"), "get_weather" },
        { STR("file:///a b"), "file:///a b" },
        { STR("a\tb"), "a\tb" },
        { STR(" padded "), "=?base64?IHBhZGRlZCA=?=" },
        { STR("caf\xc3\xa9"), "=?base64?Y2Fmw6k=?=" },
        { STR("a\nX: y"), "=?base64?YQpYOiB5?=" },
        { STR("a\0b"), "=?base64?YQBi?=" },
        { STR("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=" },
        { STR("=?base64?x"), "=?base64?x" },
        { STR("\x7f"), "=?base64?fw==?=" },
        { STR(""), "=?base64?"
                   "?=" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf out = BUF(100);
        header_encode(cases[i].value, &out);
        assert_string_equal(out.data, cases[i].want);
    }
}

static void test_media_types(void **state UNUSED)
{
    assert_true(header_is_media_type(STR("application/json"), "application/json"));
    assert_true(header_is_media_type(
            STR("Application/JSON ; charset=utf-8"), "application/json"));
    assert_false(header_is_media_type(STR("application/jsonx"), "application/json"));
    assert_false(
            header_is_media_type(STR("text/plain;application/json"), "application/json"));
    assert_false(header_is_media_type(STR(""), "application/json"));
}

static void parse_setup(
        const char *json, struct arena *arena, struct bridge_setup *setup, bool fine)
{
    struct error err = { 0 };
    if (bridge_setup_parse(str_of(json), arena, setup, &err) != fine)
        fail_msg("%s: %s", json, err.message);
    if (!fine && strstr(err.message, "sesame"))
        fail_msg("a secret is in '%s'", err.message);
}

static void test_setups(void **state UNUSED)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{'url': 7}",
        "{'url': 'http://h', 'headers': {'a': 'b'}}",
        "{'url': 'http://h', 'headers': ['sesame']}",
        "{'url': 'http://h', 'headers': [': sesame']}",
        "{'url': 'http://h', 'headers': ['a b: sesame']}",
        "{'url': 'http://h', 'headers': ['a: sesame\\r\\nb: c']}",
        "{'url': 'http://h', 'headers': ['a\\n: sesame']}",
        "{'url': 'http://h', 'headers': ['a: sesame\\u0000']}",
        "{'url': 'http://h', 'headers': ['a: sesame\\u00e9']}",
        "{'url': 'http://h', 'headers': [7]}",
        "{'url': 'http://h', 'headers': ['hOST: sesame']}",
        "{'url': 'http://h', 'headers': ['content-length: 1']}",
        "{'url': 'http://h', 'headers': ['Transfer-Encoding: chunked']}",
        "{'url': 'http://h', 'headers': ['MCP-session-ID: sesame']}",
        "{'url': 'http://h', 'headers': ['Mcp-Param-x: sesame']}",
        "{'url': 'http://h', 'proxy': 'socks5://p'}",
        "{'url': 'http://h\\u0000x'}",
        "{'url': 'http://h', 'ca_file': ''}",
    };
    auto_arena *arena = arena_create();
    struct bridge_setup setup;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *json = arena_cstr(arena, str_of(bad[i]));
        for (char *at = json; (at = strchr(at, '\''));)
            *at = '"';
        parse_setup(json, arena, &setup, false);
    }
    parse_setup("{\"url\": \"http://h/?key=sesame-key\", \"proxy\": \"http://p:3\","
                "\"headers\": [\"a:b\", \"Empty:\", \"X-Key: \\t open sesame \"]}",
            arena, &setup, true);
    assert_int_equal(setup.header_count, 3);
    assert_string_equal(setup.headers[0], "a: b");
    assert_string_equal(setup.headers[1], "Empty;");
    assert_string_equal(setup.headers[2], "X-Key: open sesame");
    assert_int_equal(setup.proxy.port, 3);
}

static void test_secrets_are_hidden(void **state UNUSED)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "no such thing", "no such thing" },
        { "Bearer sesame-1 and sesame-1 and sesame-2", "*** and *** and sesame-2" },
        { "/mcp?key=sesame-3", "/mcp?***" },
        { "sesame-1sesame-1", "******" },
        { "short", "short" },
        { "", "" },
    };
    auto_arena *arena = arena_create();
    struct bridge_setup setup;
    parse_setup("{\"url\": \"http://h/mcp?key=sesame-3\", \"headers\": ["
                "\"Authorization: Bearer sesame-1\", \"X: short\"]}",
            arena, &setup, true);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf out = BUF(1000);
        bridge_hide_secrets(&setup, str_of(cases[i].text), &out);
        assert_true(str_is(buf_str(&out), cases[i].want));
    }
}

/* All fields in a line, without those that every message has. */
static void fields_of(const struct bridge_setup *setup,
        const struct bridge_session *session, const char *json, struct buf *out)
{
    struct error err;
    struct message m;
    if (!message_parse(str_of(json), &m, &err))
        fail_msg("%s: %s", json, err.message);
    struct curl_slist *list = headers_of_message(setup, session, &m);
    buf_clear(out);
    buf_add(out, STR(""));
    for (const struct curl_slist *at = list; at; at = at->next)
        if (strncmp(at->data, "Content-Type:", 13) && strncmp(at->data, "Accept:", 7) &&
                strcmp(at->data, "Expect:"))
            buf_addf(out, "%s|", at->data);
    curl_slist_free_all(list);
    message_finish(&m);
}

#define META                                                  \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":" \
    "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void test_fields_of_messages(void **state UNUSED)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", "A: b|" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
          "\"params\":{\"name\":\"x\"}}",
                "A: b|MCP-Protocol-Version: 2025-06-18|Mcp-Session-Id: s1|" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
                "A: b|MCP-Protocol-Version: 2025-06-18|Mcp-Session-Id: s1|" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
          "\"params\":{\"name\":\"x\"," META "}}",
                "A: b|MCP-Protocol-Version: 2026-07-28|Mcp-Method: tools/call|Mcp-Name: "
                "x|" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
          "\"params\":{\"name\":\"\\u00e9\\r\\n\"," META "}}",
                "A: b|MCP-Protocol-Version: 2026-07-28|Mcp-Method: tools/call|Mcp-Name: "
                "=?base64?w6kNCg==?=|" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\","
          "\"params\":{\"uri\":\"a:b\",\"name\":\"no\"," META "}}",
                "A: b|MCP-Protocol-Version: 2026-07-28|Mcp-Method: "
                "resources/read|Mcp-Name: a:b|" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
          "\"params\":{\"name\":\"x\"," META "}}",
                "A: b|MCP-Protocol-Version: 2026-07-28|Mcp-Method: tools/list|" },
    };
    auto_arena *arena = arena_create();
    auto_buf out = BUF(4096);
    struct bridge_setup setup;
    const struct bridge_session session = { .id = "s1", .version = "2025-06-18" };
    parse_setup("{\"url\": \"http://h\", \"headers\": [\"A: b\"]}", arena, &setup, true);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fields_of(&setup, &session, cases[i].json, &out);
        assert_string_equal(out.data, cases[i].want);
    }
}

/* "NAME=value|" of each field for a call with these arguments, after this schema. */
static void mirror(const char *schema, const char *arguments, struct buf *out)
{
    struct error err;
    struct mirrors mirrors = { NULL };
    struct message m;
    auto_buf list = BUF(4096), call = BUF(4096);
    json_auto_t *tools = NULL;
    buf_addf(&list, "[{\"name\":\"t\",\"inputSchema\":%s},{\"name\":\"u\"}]", schema);
    buf_addf(&call,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
            "\"name\":\"t\",\"arguments\":%s," META "}}",
            arguments);
    assert_true(json_parse(buf_str(&list), &tools, &err));
    assert_true(message_parse(buf_str(&call), &m, &err));
    buf_clear(out);
    size_t removed = mirrors_learn(&mirrors, tools);
    assert_int_equal(json_array_size(tools), 2 - removed);
    buf_add(out, removed ? STR("removed") : STR(""));
    struct curl_slist *fields = mirrors_add(&mirrors, &m, NULL);
    for (const struct curl_slist *at = fields; at; at = at->next)
        buf_addf(out, "%s|", at->data + strlen("Mcp-Param-"));
    curl_slist_free_all(fields);
    message_finish(&m);
    mirrors_finish(&mirrors);
}

#define P(properties) "{'type':'object','properties':{" properties "}}"
#define R             "'type':'string','x-mcp-header':'R'"

static void test_mirrors(void **state UNUSED)
{
    static const struct {
        const char *schema, *arguments, *want;
    } cases[] = {
        { P("'a':{" R "}"), "{'a':'x y'}", "R: x y|" },
        { P("'a':{" R "}"), "{'a':' x\\r\\nB: c'}", "R: =?base64?IHgNCkI6IGM=?=|" },
        { P("'a':{" R "}"), "{'b':'x'}", "" },
        { P("'a':{" R "}"), "{'a':null}", "" },
        { P("'a':{" R "}"), "{'a':{'b':1}}", "" },
        { P("'a':{" R "}"), "[]", "" },
        { P("'a':{'type':'integer','x-mcp-header':'N'}"), "{'a':-7}", "N: -7|" },
        { P("'a':{'type':'boolean','x-mcp-header':'N'}"), "{'a':true}", "N: true|" },
        { P("'a':" P("'b':{" R "}")), "{'a':{'b':'x'}}", "R: x|" },
        { P("'properties':" P("'b':{" R "}")), "{'properties':{'b':'x'}}", "R: x|" },
        { P("'x-mcp-header':{'type':'string'}"), "{'x-mcp-header':'x'}", "" },
        { P("'a':{'default':{'x-mcp-header':'R'}}"), "{'a':'x'}", "" },
        { P("'a':{'type':'number','x-mcp-header':'R'}"), "{'a':1}", "removed" },
        { P("'a':{'type':['string'],'x-mcp-header':'R'}"), "{'a':'x'}", "removed" },
        { P("'a':{'x-mcp-header':'R'}"), "{'a':'x'}", "removed" },
        { P("'a':{'type':'string','x-mcp-header':''}"), "{'a':'x'}", "removed" },
        { P("'a':{'type':'string','x-mcp-header':'A: b'}"), "{'a':'x'}", "removed" },
        { P("'a':{'type':'string','x-mcp-header':'A\\r\\n'}"), "{'a':'x'}", "removed" },
        { P("'a':{'type':'string','x-mcp-header':7}"), "{'a':'x'}", "removed" },
        { P("'a':{" R "},'b':{'type':'string','x-mcp-header':'r'}"), "{'a':'x'}",
                "removed" },
        { P("'a':{'type':'array','items':{" R "}}"), "{'a':['x']}", "removed" },
        { P("'a':{'anyOf':[{" R "}]}"), "{'a':'x'}", "removed" },
        { "{'$defs':" P("'a':{" R "}") "}", "{'a':'x'}", "removed" },
        { "{'type':'string','x-mcp-header':'R'}", "{}", "removed" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf out = BUF(1000);
        auto_free char *schema = xstrdup(cases[i].schema);
        auto_free char *arguments = xstrdup(cases[i].arguments);
        for (char *at = schema; (at = strchr(at, '\''));)
            *at = '"';
        for (char *at = arguments; (at = strchr(at, '\''));)
            *at = '"';
        mirror(schema, arguments, &out);
        if (!str_is(buf_str(&out), cases[i].want))
            fail_msg("%s: '%.*s'", cases[i].schema, STR_ARG(buf_str(&out)));
    }
}

static void test_messages(void **state UNUSED)
{
    static const struct {
        const char *json;
        int kind; /* -1: none */
    } cases[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MESSAGE_REQUEST },
        { "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}", MESSAGE_REQUEST },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", MESSAGE_NOTIFICATION },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", MESSAGE_RESPONSE },
        { "{\"jsonrpc\":\"2.0\",\"error\":{}}", MESSAGE_RESPONSE },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -1 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -1 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\nb\"}", -1 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", -1 },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -1 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{"
          "\"io.modelcontextprotocol/protocolVersion\":\"a\\r\\nb\"}}}",
                -1 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", -1 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1}", -1 },
        { "[]", -1 },
        { "7", -1 },
        { "nonsense", -1 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err;
        struct message m;
        bool fine = message_parse(str_of(cases[i].json), &m, &err);
        if (fine != (cases[i].kind >= 0) || (fine && (int)m.kind != cases[i].kind))
            fail_msg("%s", cases[i].json);
        if (fine)
            message_finish(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_media_types),
        cmocka_unit_test(test_setups),
        cmocka_unit_test(test_secrets_are_hidden),
        cmocka_unit_test(test_fields_of_messages),
        cmocka_unit_test(test_mirrors),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
