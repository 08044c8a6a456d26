#include "transport/http-mirror.h"

#include "unit.h"

#include "tool/extension.h"
#include "transport/http-message.h"

static const struct tool_source sources[] = { { "t",
        "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
        "\"text\":{\"type\":\"string\",\"x-mcp-header\":\"Text\"},"
        "\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},"
        "\"exact\":{\"type\":\"boolean\",\"x-mcp-header\":\"Exact\"},"
        "\"plain\":{\"type\":\"string\"},"
        "\"deep\":{\"type\":\"object\",\"properties\":{"
        "\"city\":{\"type\":\"string\",\"x-mcp-header\":\"City\"}}}}}}",
        TOOL_IN_PROGRAM } };
static const struct tool_extension extension = { .sources = sources, .count = 1 };

static struct toolset *create_tools(void)
{
    const struct toolset_config config = { .places = TOOL_IN_SHELL,
        .extension = &extension };
    struct toolset *tools;
    struct error err;
    assert_true(toolset_create(&config, &tools, &err));
    return tools;
}

/* `lines`: "Name: value\n"... */
static struct http_head read_head(const char *tool, const char *lines)
{
    struct http_head head = { .method = STR("POST"), .path = STR("/mcp") };
    http_head_add(&head, STR("MCP-Protocol-Version"), STR("2026-07-28"));
    http_head_add(&head, STR("Mcp-Method"), STR("tools/call"));
    http_head_add(&head, STR("Mcp-Name"), str_of(tool));
    for (struct str rest = str_of(lines); rest.len;) {
        struct str value = str_cut(&rest, '\n'), name = str_cut(&value, ':');
        http_head_add(&head, name, value);
    }
    return head;
}

/* The code of the refusal, or 0; `message` is of 256 bytes. */
static long long judge(struct toolset *tools, const char *tool, const char *lines,
        const char *args, char *message)
{
    struct http_head head = read_head(tool, lines);
    struct http_message m;
    auto_buf body = BUF(4096);
    buf_addf(&body,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
            "\"name\":\"%s\",\"arguments\":%s,\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
            tool, args);
    http_judge_message(&head, buf_str(&body), tools, &m);
    json_t *fault = NULL;
    struct error err;
    if (m.way == HTTP_WAY_REFUSED) {
        assert_int_equal(m.status, 400);
        assert_true(json_parse(buf_str(&m.fault), &fault, &err));
    } else {
        assert_int_equal(m.way, HTTP_WAY_ALONE);
    }
    const json_t *what = json_object_get(fault, "error");
    long long code = json_integer_value(json_object_get(what, "code"));
    struct str text = json_get_str(what, "message", STR(""));
    assert_in_range(text.len, 0, 255);
    memcpy(message, text.data, text.len);
    message[text.len] = '\0';
    json_decref(fault);
    http_message_finish(&m);
    return code;
}

#define TEXT "Mcp-Param-Text: a b\n"

static const struct {
    const char *head, *args, *says; /* NULL: accepted */
} cases[] = {
    { "", "{}", NULL },
    { "", "{\"text\":null,\"count\":null,\"deep\":{\"city\":null}}", NULL },
    { "", "{\"plain\":\"x\"}", NULL },
    { "Mcp-Param-Other: x\n", "{}", NULL },
    { "Mcp-Param-: x\n", "{}", NULL },
    { TEXT, "{\"text\":\"a b\"}", NULL },
    { "MCP-PARAM-TEXT:\t a b \t\n", "{\"text\":\"a b\"}", NULL },
    { "Mcp-Param-Text: a\tb\n", "{\"text\":\"a\\tb\"}", NULL },
    { "", "{\"text\":\"a b\"}", "Mcp-Param-Text is missing" },
    { "Mcp-Param-Text: A b\n", "{\"text\":\"a b\"}", "differs from the body" },
    { TEXT, "{}", "Mcp-Param-Text differs from the body" },
    { TEXT, "{\"text\":null}", "Mcp-Param-Text differs from the body" },
    { TEXT TEXT, "{\"text\":\"a b\"}", "came more than once" },
    { "Mcp-Param-Text:\n", "{\"text\":\"\"}", NULL },
    { "Mcp-Param-Text: \xc3\xbc\n", "{\"text\":\"\xc3\xbc\"}", "no header can have" },
    { "Mcp-Param-Text: a\x7f\n", "{\"text\":\"a\x7f\"}", "no header can have" },
    { "Mcp-Param-Text: =?base64?w7w=?=\n", "{\"text\":\"\xc3\xbc\"}", NULL },
    { "Mcp-Param-Text: =?base64?w7w?=\n", "{\"text\":\"\xc3\xbc\"}", "is no base64" },
    { "Mcp-Param-Text: =?base64?w7w!?=\n", "{\"text\":\"\xc3\xbc\"}", "is no base64" },
    { "Mcp-Param-Text: w7w=\n", "{\"text\":\"w7w=\"}", NULL },
    { "Mcp-Param-Text: =?base64?w7w=\n", "{\"text\":\"=?base64?w7w=\"}", NULL },
    { "Mcp-Param-Text: w7w=?=\n", "{\"text\":\"w7w=?=\"}", NULL },
    { "Mcp-Param-Text: =?base64?w7w=?=\n", "{\"text\":\"=?base64?w7w=?=\"}",
            "differs from the body" },
    { "Mcp-Param-Count: 42\n", "{\"count\":42}", NULL },
    { "Mcp-Param-Count: 42.0\n", "{\"count\":42}", NULL },
    { "Mcp-Param-Count: 42\n", "{\"count\":42.0}", NULL },
    { "Mcp-Param-Count: =?base64?NDI=?=\n", "{\"count\":42}", NULL },
    { "Mcp-Param-Count: -7\n", "{\"count\":-7}", NULL },
    { "Mcp-Param-Count: 43\n", "{\"count\":42}", "Mcp-Param-Count differs" },
    { "Mcp-Param-Count: 9007199254740993\n", "{\"count\":9007199254740992}", "differs" },
    { "Mcp-Param-Count: \"42\"\n", "{\"count\":42}", "differs" },
    { "Mcp-Param-Count: 42 x\n", "{\"count\":42}", "differs" },
    { "Mcp-Param-Count: [42]\n", "{\"count\":42}", "differs" },
    { "Mcp-Param-Count:\n", "{\"count\":0}", "differs" },
    { "Mcp-Param-Count: 42\n", "{\"count\":\"42\"}", NULL },
    { "", "{\"count\":0}", "Mcp-Param-Count is missing" },
    { "Mcp-Param-Exact: true\n", "{\"exact\":true}", NULL },
    { "Mcp-Param-Exact: false\n", "{\"exact\":false}", NULL },
    { "Mcp-Param-Exact: True\n", "{\"exact\":true}", "differs" },
    { "Mcp-Param-Exact: false\n", "{\"exact\":true}", "Mcp-Param-Exact differs" },
    { "Mcp-Param-Exact: 1\n", "{\"exact\":true}", "differs" },
    { "", "{\"exact\":false}", "Mcp-Param-Exact is missing" },
    { "Mcp-Param-City: Ulm\n", "{\"deep\":{\"city\":\"Ulm\"}}", NULL },
    { "Mcp-Param-City: Bonn\n", "{\"deep\":{\"city\":\"Ulm\"}}", "Mcp-Param-City" },
    { "", "{\"deep\":{\"city\":\"Ulm\"}}", "Mcp-Param-City is missing" },
    { "Mcp-Param-City: Ulm\n", "{\"city\":\"Ulm\"}", "Mcp-Param-City differs" },
    { "Mcp-Param-Text: [\n", "{\"text\":[]}", "differs" },
};

static void test_params(void **state UNUSED)
{
    struct toolset *tools = create_tools();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char message[256];
        long long code = judge(tools, "t", cases[i].head, cases[i].args, message);
        if (code != (cases[i].says ? -32020 : 0) ||
                (cases[i].says && !strstr(message, cases[i].says)))
            fail_msg("%s%s: %lld %s", cases[i].head, cases[i].args, code, message);
    }
    toolset_destroy(tools);
}

static void test_many(void **state UNUSED)
{
    struct toolset *tools = create_tools();
    char message[256];
    auto_buf lines = BUF(4096);
    for (int i = 0; i < HTTP_MAX_PARAMS - 1; i++)
        buf_addf(&lines, "Mcp-Param-X%d: 1\n", i);
    buf_add(&lines, STR(TEXT));
    assert_int_equal(judge(tools, "t", lines.data, "{\"text\":\"a b\"}", message), 0);
    buf_add(&lines, STR("Mcp-Param-Y: 1\n"));
    assert_int_equal(
            judge(tools, "t", lines.data, "{\"text\":\"a b\"}", message), -32020);
    toolset_destroy(tools);
}

/* Of a tool that asks for nothing, and of none at all, nothing is compared. */
static void test_others(void **state UNUSED)
{
    struct toolset *tools = create_tools();
    char message[256];
    assert_int_equal(judge(tools, "run", TEXT TEXT, "{\"text\":1}", message), 0);
    assert_int_equal(judge(tools, "nobody", TEXT, "{\"text\":1}", message), 0);
    assert_int_equal(judge(NULL, "t", "", "{\"text\":\"a\"}", message), 0);
    toolset_destroy(tools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
