#include "transport/http-message.h"
#include "transport/http-rules.h"

#include "unit.h"

#include "protocol/rpc.h"

#include <stdio.h>

#define TOKEN "0123456789abcdef"

static const struct str hosts[] = { { "tools.example.com", 17 }, { "[fd00::1]", 9 } };
static const struct str origins[] = { { "https://app.example.com", 23 } };

static struct http_rules rules(bool with_token)
{
    return (struct http_rules){ .hosts = hosts,
        .host_count = 2,
        .origins = origins,
        .origin_count = 1,
        .token = with_token ? STR(TOKEN) : STR("") };
}

/* "POST /mcp" and "Name: value" lines. */
static struct http_head read_head(const char *text)
{
    struct http_head head = { 0 };
    struct str rest = str_of(text), line = str_cut(&rest, '\n');
    head.method = str_cut(&line, ' ');
    head.path = line;
    while (rest.len) {
        struct str value = str_cut(&rest, '\n'), name = str_cut(&value, ':');
        http_head_add(&head, name, value);
    }
    return head;
}

struct head_case {
    const char *head;
    /* 0: the body decides; 1: health; 2: the end of a session; 3: counters */
    unsigned status;
};

static unsigned judge(const struct http_rules *r, const char *text, bool *at_once)
{
    struct http_refusal refusal = { 0 };
    struct http_head head = read_head(text);
    enum http_route route = http_judge_head(r, &head, &refusal);
    *at_once = refusal.at_once;
    switch (route) {
    case HTTP_ROUTE_HEALTH:
        return 1;
    case HTTP_ROUTE_END_SESSION:
        return 2;
    case HTTP_ROUTE_METRICS:
        return 3;
    case HTTP_ROUTE_MESSAGE:
        return 0;
    case HTTP_ROUTE_REFUSED:
        break;
    }
    assert_int_equal(refusal.status == 405, refusal.allow != NULL);
    return refusal.status;
}

#define J    "Content-Type: application/json\n"
#define H    "Host: localhost\n"
#define POST "POST /mcp\n" H J

static const struct head_case heads[] = {
    { POST, 0 },
    { "POST /mcp\nHost: LocalHost:8000\n" J, 0 },
    { "POST /mcp\nHost: 127.0.0.1:1\n" J, 0 },
    { "POST /mcp\nHost: [::1]:8000\n" J, 0 },
    { "POST /mcp\nHost: [::1]\n" J, 0 },
    { "POST /mcp\nHost: Tools.Example.com:443\n" J, 0 },
    { "POST /mcp\nHost: [fd00::1]:8000\n" J, 0 },
    /* 1: Host */
    { "POST /mcp\n" J, 400 },
    { "POST /mcp\nHost:\n" J, 400 },
    { "POST /mcp\n" H H J, 400 },
    { "POST /mcp\nHost: evil.com\n" J, 403 },
    { "POST /mcp\nHost: evil.com:8000\n" J, 403 },
    { "POST /mcp\nHost: localhost.evil.com\n" J, 403 },
    { "POST /mcp\nHost: localhost:80:80\n" J, 403 },
    { "POST /mcp\nHost: localhost:\n" J, 403 },
    { "POST /mcp\nHost: localhost:80x\n" J, 403 },
    { "POST /mcp\nHost: localhost:123456\n" J, 403 },
    { "POST /mcp\nHost: [::1\n" J, 403 },
    { "POST /mcp\nHost: [::1]x\n" J, 403 },
    { "POST /mcp\nHost: ::1\n" J, 403 },
    { "POST /mcp\nHost: user@localhost\n" J, 403 },
    { "POST /mcp\nHost: 127.0.0.2\n" J, 403 },
    { POST "X: a\tb\xff\n", 0 },
    { POST "X: a\rHost: evil.com\n", 400 },
    { POST "X: a\x01\n", 400 },
    { "GET /healthz\nHost: evil.com\n", 403 },
    { "GET /x\nHost: evil.com\n", 403 },
    /* 2: Origin */
    { POST "Origin: http://localhost\n", 0 },
    { POST "Origin: https://app.example.com\n", 0 },
    { "POST /mcp\nHost: localhost:8000\nOrigin: http://localhost:8000\n" J, 0 },
    { "POST /mcp\nHost: localhost:8000\nOrigin: http://localhost:8001\n" J, 403 },
    { "POST /mcp\nHost: localhost:8000\nOrigin: http://127.0.0.1:8000\n" J, 403 },
    { POST "Origin: null\n", 403 },
    { POST "Origin:\n", 403 },
    { POST "Origin: http://evil.com\n", 403 },
    { POST "Origin: http://localhost.evil.com\n", 403 },
    { POST "Origin: file://localhost\n", 403 },
    { POST "Origin: http:localhost\n", 403 },
    { POST "Origin: http://localhost/\n", 403 },
    { POST "Origin: https://app.example.com.evil.com\n", 403 },
    { POST "Origin: http://localhost\nOrigin: http://evil.com\n", 403 },
    { "GET /x\n" H "Origin: http://evil.com\n", 403 },
    /* 3: path */
    { "GET /\n" H, 404 },
    { "POST /mcp/\n" H J, 404 },
    { "POST /MCP\n" H J, 404 },
    { "GET /.well-known/oauth-protected-resource\n" H, 404 },
    { "GET /healthz\n" H, 1 },
    { "HEAD /healthz\n" H, 1 },
    { "POST /healthz\n" H, 405 },
    { "GET /metrics\n" H, 404 }, /* nobody asked for them */
    /* 4: method */
    { "GET /mcp\n" H, 405 },
    { "PUT /mcp\n" H J, 405 },
    { "OPTIONS /mcp\n" H, 405 },
    { "post /mcp\n" H J, 405 },
    { "DELETE /mcp\n" H, 2 },
    { "DELETE /mcp\n" H "MCP-Protocol-Version: 2025-11-25\n", 2 },
    { "DELETE /mcp\n" H "MCP-Protocol-Version: 2026-07-28\n", 405 },
    /* 6: the body's type */
    { "POST /mcp\n" H, 415 },
    { "POST /mcp\n" H "Content-Type: text/plain\n", 415 },
    { "POST /mcp\n" H "Content-Type: text/plain;a=application/json\n", 415 },
    { "POST /mcp\n" H "Content-Type: application/jsonp\n", 415 },
    { "POST /mcp\n" H J J, 415 },
    { "POST /mcp\n" H "Content-Type: Application/JSON ; charset=utf-8\n", 0 },
    /* 7: what it takes */
    { POST "Accept: application/json, text/event-stream\n", 0 },
    { POST "Accept: text/event-stream\n", 0 },
    { POST "Accept: */*\n", 0 },
    { POST "Accept: text/html, */*;q=0.1\n", 0 },
    { POST "Accept: text/html\n", 406 },
    { POST "Accept:\n", 406 },
    { POST "Accept: */*;q=0\n", 406 },
    { POST "Accept: application/json;q=0.0, text/event-stream; q=0, */*\n", 406 },
    { POST "Accept: application/json;q=0.001\n", 0 },
    { POST "Accept: text/html\nAccept: application/*\n", 0 },
    { "POST /mcp\n" H "Accept: text/html\n", 415 },
    /* 8: length */
    { POST "Content-Length: 4194304\n", 0 },
    { POST "Content-Length: 4194305\n", 413 },
    { POST "Content-Length: 99999999999999999\n", 413 },
    { POST "Accept: text/html\nContent-Length: 4194305\n", 406 },
    { POST "Transfer-Encoding: chunked\n", 0 },
    /* where it ends cannot be said: before all else */
    { POST "Content-Length: 1\nContent-Length: 1\n", 400 },
    { POST "Content-Length: 1\nTransfer-Encoding: chunked\n", 400 },
    { POST "Transfer-Encoding: identity\n", 400 },
    { POST "Transfer-Encoding: gzip, chunked\n", 400 },
    { POST "Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n", 400 },
    { POST "Content-Length : 1\n", 400 },
    { POST "Content-Length5: 1\n", 400 }, /* it was folded */
    { POST "transfer-encodingchunked: \n", 400 },
    { POST "Host : evil.com\n", 400 },
    { POST "X-Content-Length: 5\n", 0 },
    { POST "Content-Length: -1\n", 400 },
    { POST "Content-Length: +1\n", 400 },
    { POST "Content-Length: 1, 1\n", 400 },
    { POST "Content-Length:\n", 400 },
    { POST "Content-Length: 9999999999999999999\n", 400 },
};

static void test_heads(void **state UNUSED)
{
    const struct http_rules r = rules(false);
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        bool at_once;
        unsigned status = judge(&r, heads[i].head, &at_once);
        if (status != heads[i].status)
            fail_msg("%s: %u, not %u", heads[i].head, status, heads[i].status);
    }
}

/* 5: after the method, before the form. */
static void test_token(void **state UNUSED)
{
    static const struct head_case cases[] = {
        { POST, 401 },
        { POST "Authorization: Bearer " TOKEN "\n", 0 },
        { POST "Authorization: bearer  " TOKEN " \n", 0 },
        { POST "Authorization: Bearer\n", 401 },
        { POST "Authorization: Bearer " TOKEN "x\n", 401 },
        { POST "Authorization: Bearer 0123456789abcde\n", 401 },
        { POST "Authorization: Bearer 1123456789abcdef\n", 401 },
        { POST "Authorization: Bearer 0123456789abcdeF\n", 401 },
        { POST "Authorization: Bearer " TOKEN TOKEN "\n", 401 },
        { POST "Authorization: Basic " TOKEN "\n", 401 },
        { POST "Authorization: " TOKEN "\n", 401 },
        { POST "Authorization: Bearer " TOKEN "\nAuthorization: Bearer x\n", 401 },
        { "POST /mcp\n" H "Authorization: Bearer x\n", 401 },
        { "DELETE /mcp\n" H, 401 },
        { "GET /mcp\n" H, 405 },
        { "GET /healthz\n" H, 1 },
    };
    const struct http_rules r = rules(true);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool at_once;
        unsigned status = judge(&r, cases[i].head, &at_once);
        if (status != cases[i].status)
            fail_msg("%s: %u, not %u", cases[i].head, status, cases[i].status);
    }
}

static void test_metrics(void **state UNUSED)
{
    static const struct head_case cases[] = {
        { "GET /metrics\n" H, 401 },
        { "GET /metrics\n" H "Authorization: Bearer x\n", 401 },
        { "GET /metrics\n" H "Authorization: Bearer " TOKEN "\n", 3 },
        { "HEAD /metrics\n" H "Authorization: Bearer " TOKEN "\n", 3 },
        { "POST /metrics\n" H, 405 },
        { "OPTIONS /metrics\n" H, 405 },
        { "GET /metrics/\n" H, 404 },
        { "GET /metrics\nHost: evil.com\nAuthorization: Bearer " TOKEN "\n", 403 },
        { "GET /metrics\n" H "Origin: http://evil.com\nAuthorization: Bearer " TOKEN "\n",
                403 },
        { "GET /metrics\n" H "Content-Length: 1\nContent-Length: 1\n", 400 },
    };
    struct http_rules r = rules(true);
    r.metrics = true;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool at_once;
        unsigned status = judge(&r, cases[i].head, &at_once);
        if (status != cases[i].status)
            fail_msg("%s: %u, not %u", cases[i].head, status, cases[i].status);
    }
    r.token = STR("");
    bool at_once;
    assert_int_equal(judge(&r, "GET /metrics\n" H, &at_once), 3);
}

/* Whose body is waited for, and whose connection is closed. */
static void test_at_once(void **state UNUSED)
{
    static const struct {
        const char *head;
        bool at_once;
    } cases[] = {
        { POST "Content-Length: 4194305\n", false },
        { POST "Content-Length: 16777217\n", true },
        { POST "Content-Length: 4194305\nExpect: 100-continue\n", true },
        { POST "Content-Length: 1\nTransfer-Encoding: chunked\n", true },
        { POST "X y: 1\n", true },
        { "POST /mcp\nHost: evil.com\n" J, false },
        { "POST /mcp\nHost: evil.com\nExpect: 100-continue\n" J, true },
    };
    const struct http_rules r = rules(false);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool at_once;
        judge(&r, cases[i].head, &at_once);
        if (at_once != cases[i].at_once)
            fail_msg("%s: %d", cases[i].head, at_once);
    }
}

#define KEY "\"io.modelcontextprotocol/"
#define META \
    "\"_meta\":{" KEY "protocolVersion\":\"2026-07-28\"," KEY "clientCapabilities\":{}}"
#define NEW(method, more)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" more META "}" \
    "}"
#define OLD(method)  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\"}"
#define NOTE(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}"
#define V            "MCP-Protocol-Version: 2026-07-28\n"
#define M(method)    "Mcp-Method: " method "\n"
#define CALL         NEW("tools/call", "\"name\":\"run\",")
#define CALL_UE      NEW("tools/call", "\"name\":\"\xc3\xbc\",")

struct message_case {
    const char *head, *body;
    enum http_way way;
    unsigned status; /* of a refusal */
    int code;
};

static const struct message_case messages[] = {
    /* 9: what cannot be read */
    { "", "", HTTP_WAY_REFUSED, 400, -32700 },
    { "", "{", HTTP_WAY_REFUSED, 400, -32700 },
    { "", "{}x", HTTP_WAY_REFUSED, 400, -32700 },
    { "", "\"\xff\"", HTTP_WAY_REFUSED, 400, -32700 },
    { "", "1", HTTP_WAY_REFUSED, 400, -32600 },
    { "", "{}", HTTP_WAY_REFUSED, 400, -32600 },
    { "", "[]", HTTP_WAY_REFUSED, 400, -32600 },
    { "", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", HTTP_WAY_REFUSED, 400,
            -32600 },
    { "", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", HTTP_WAY_REFUSED, 400,
            -32600 },
    { V, "[" OLD("ping") "]", HTTP_WAY_REFUSED, 400, -32600 },
    { "", "[" OLD("ping") "," NEW("tools/list", "") "]", HTTP_WAY_REFUSED, 400, -32600 },
    { "", "[" OLD("ping") "]", HTTP_WAY_SESSION, 0, 0 },
    /* 10: what is not answered */
    { "", NOTE("notifications/initialized"), HTTP_WAY_SESSION, 0, 0 },
    { V, NOTE("notifications/cancelled"), HTTP_WAY_TAKEN, 0, 0 },
    { "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", HTTP_WAY_SESSION, 0, 0 },
    { V, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", HTTP_WAY_TAKEN, 0, 0 },
    { "MCP-Protocol-Version: 1999-01-01\n", NOTE("notifications/initialized"),
            HTTP_WAY_REFUSED, 400, -32022 },
    { V V, NOTE("notifications/initialized"), HTTP_WAY_REFUSED, 400, -32020 },
    /* 11: legacy */
    { "", OLD("initialize"), HTTP_WAY_OPEN, 0, 0 },
    { "MCP-Protocol-Version: 2025-06-18\n", OLD("initialize"), HTTP_WAY_OPEN, 0, 0 },
    { V, OLD("initialize"), HTTP_WAY_REFUSED, 400, -32020 },
    { "MCP-Protocol-Version: 1999-01-01\n", OLD("initialize"), HTTP_WAY_REFUSED, 400,
            -32020 },
    { "", OLD("ping"), HTTP_WAY_SESSION, 0, 0 },
    { "", OLD("no/such"), HTTP_WAY_SESSION, 0, 0 },
    { "MCP-Protocol-Version: 2025-06-18\n", OLD("ping"), HTTP_WAY_SESSION, 0, 0 },
    /* 12: a revision that is neither */
    { "MCP-Protocol-Version: 1999-01-01\n", OLD("ping"), HTTP_WAY_REFUSED, 400, -32602 },
    { V, OLD("ping"), HTTP_WAY_REFUSED, 400, -32602 },
    /* 11: modern, in the order of its checks */
    { "", OLD("server/discover"), HTTP_WAY_REFUSED, 400, -32602 },
    { V,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
            "\"_meta\":{" KEY "protocolVersion\":7}}}",
            HTTP_WAY_REFUSED, 400, -32602 },
    { V,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
            "\"_meta\":{" KEY "protocolVersion\":\"2026-07-28\"}}}",
            HTTP_WAY_REFUSED, 400, -32602 },
    { "", NEW("tools/list", ""), HTTP_WAY_REFUSED, 400, -32020 },
    { "MCP-Protocol-Version: 2025-11-25\n", NEW("tools/list", ""), HTTP_WAY_REFUSED, 400,
            -32020 },
    { "MCP-Protocol-Version: 1999-01-01\n" M("tools/list"),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
            "\"_meta\":{" KEY "protocolVersion\":\"1999-01-01\"," KEY
            "clientCapabilities\":{}}}}",
            HTTP_WAY_REFUSED, 400, -32022 },
    { V, NEW("tools/list", ""), HTTP_WAY_REFUSED, 400, -32020 },
    { V M("tools/call"), NEW("tools/list", ""), HTTP_WAY_REFUSED, 400, -32020 },
    { V M("Tools/list"), NEW("tools/list", ""), HTTP_WAY_REFUSED, 400, -32020 },
    { V M("tools/list") M("tools/list"), NEW("tools/list", ""), HTTP_WAY_REFUSED, 400,
            -32020 },
    { "mcp-protocol-version:2026-07-28\nMCP-METHOD:\t tools/list \n",
            NEW("tools/list", ""), HTTP_WAY_ALONE, 0, 0 },
    { V M("tools/call"), CALL, HTTP_WAY_REFUSED, 400, -32020 },
    { V M("tools/call") "Mcp-Name: Run\n", CALL, HTTP_WAY_REFUSED, 400, -32020 },
    { V M("tools/call") "Mcp-Name: run\n", CALL, HTTP_WAY_ALONE, 0, 0 },
    { V M("tools/call") "Mcp-Name: =?base64?cnVu?=\n", CALL, HTTP_WAY_ALONE, 0, 0 },
    { V M("tools/call") "Mcp-Name: =?base64?w7w=?=\n", CALL_UE, HTTP_WAY_ALONE, 0, 0 },
    { V M("tools/call") "Mcp-Name: =?base64?w7w?=\n", CALL_UE, HTTP_WAY_REFUSED, 400,
            -32020 },
    { V M("tools/call") "Mcp-Name: =?base64?cn*u?=\n", CALL, HTTP_WAY_REFUSED, 400,
            -32020 },
    { V M("tools/call") "Mcp-Name: =?base64?====?=\n", CALL, HTTP_WAY_REFUSED, 400,
            -32020 },
    { V M("tools/call") "Mcp-Name: =?BASE64?cnVu?=\n", CALL, HTTP_WAY_REFUSED, 400,
            -32020 },
    { V M("tools/call") "Mcp-Name: =?base64?=\n", CALL, HTTP_WAY_REFUSED, 400, -32020 },
    { V M("tools/call"), NEW("tools/call", ""), HTTP_WAY_ALONE, 0, 0 },
    { V M("ping"), NEW("ping", ""), HTTP_WAY_REFUSED, 404, -32601 },
    { V M("initialize"), NEW("initialize", ""), HTTP_WAY_REFUSED, 404, -32601 },
    { V M("subscriptions/listen"), NEW("subscriptions/listen", ""), HTTP_WAY_REFUSED, 404,
            -32601 },
    { V M("server/discover"), NEW("server/discover", ""), HTTP_WAY_ALONE, 0, 0 },
};

static void test_messages(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        const struct message_case *c = &messages[i];
        auto_buf text = BUF(4096);
        buf_addf(&text, POST "%s", c->head);
        struct http_head head = read_head(text.data);
        struct http_message m;
        http_judge_message(&head, str_of(c->body), NULL, &m);
        if (m.way != c->way || m.status != c->status)
            fail_msg("%s%s: way %d, status %u", c->head, c->body, (int)m.way, m.status);
        if (c->code) {
            json_t *reply;
            struct error err;
            assert_true(json_parse(buf_str(&m.fault), &reply, &err));
            assert_int_equal(json_integer_value(json_object_get(
                                     json_object_get(reply, "error"), "code")),
                    c->code);
            json_decref(reply);
        }
        http_message_finish(&m);
    }
}

static void test_parts(void **state UNUSED)
{
    struct http_head head = read_head(POST V M("tools/call") "Mcp-Name: run\n");
    struct http_message m;
    http_judge_message(&head, str_of(CALL), NULL, &m);
    assert_true(str_is(m.tool, "run") && str_is(m.id, "1"));
    http_message_finish(&m);
    head = read_head(POST);
    http_judge_message(&head, str_of("[" CALL "]"), NULL, &m);
    assert_int_equal(m.way, HTTP_WAY_REFUSED);
    http_message_finish(&m);
    assert_true(http_same_secret(STR("ab"), STR("ab")));
    assert_false(http_same_secret(STR("abab"), STR("ab")));
    assert_false(http_same_secret(STR("a"), STR("")));
    assert_false(http_same_secret(STR(""), STR("a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
