/* A request as it comes: its first line, fields until an empty line, and the body. */
#include "fuzz.h"
#include "tool/extension.h"
#include "transport/http-message.h"
#include "transport/http-rules.h"

/* One tool, some of whose arguments the head repeats. */
static struct toolset *mirroring(void)
{
    static const struct tool_source sources[] = { { "mirror",
            "{\"name\":\"mirror\",\"inputSchema\":{\"properties\":{"
            "\"text\":{\"x-mcp-header\":\"Text\"},\"deep\":{\"properties\":{"
            "\"number\":{\"x-mcp-header\":\"Number\"}}}}}}",
            TOOL_IN_PROGRAM } };
    static const struct tool_extension extension = { .sources = sources, .count = 1 };
    static const struct toolset_config config = { .extension = &extension };
    static struct toolset *tools;
    struct error err;
    bool made = tools || toolset_create(&config, &tools, &err);
    assert(made);
    return tools;
}

static struct http_head read_head(struct str *rest)
{
    struct http_head head = { 0 };
    struct str line = str_cut(rest, '\n');
    head.method = str_cut(&line, ' ');
    head.path = line;
    while (rest->len) {
        struct str value = str_cut(rest, '\n');
        if (!value.len)
            break;
        struct str name = str_cut(&value, ':');
        http_head_add(&head, name, value);
    }
    return head;
}

/* What is refused is said in JSON-RPC, and what is not is whole. */
static void check_message(const struct http_message *m)
{
    assert(!m->session || (m->way == HTTP_WAY_ALONE && json_str(m->session).len));
    assert(!m->ends_session || m->session);
    if (m->way != HTTP_WAY_REFUSED) {
        assert(m->value && !m->fault.len);
        return;
    }
    json_t *fault;
    struct error err;
    assert(m->status == 400 || m->status == 404);
    assert(json_parse(buf_str(&m->fault), &fault, &err));
    assert(json_is_integer(json_object_get(json_object_get(fault, "error"), "code")));
    json_decref(fault);
}

/* An argument that the head has to repeat never comes without it. */
static void check_mirror(const struct http_head *head, const struct http_message *m)
{
    const json_t *params = json_object_get(m->value, "params");
    const json_t *text = json_object_get(json_object_get(params, "arguments"), "text");
    if (m->way != HTTP_WAY_ALONE || !str_is(m->tool, "mirror") || !json_is_string(text))
        return;
    bool found = false;
    for (unsigned i = 0; i < head->param_count; i++)
        found = found || http_same(head->params[i].name, STR("Text"));
    assert(found);
}

/* Whatever else stands in the head: a foreign name or page never gets to the body. */
static void check_head(const struct http_rules *rules, const struct http_head *head,
        enum http_route route, const struct http_refusal *refusal)
{
    if (route == HTTP_ROUTE_REFUSED) {
        assert(refusal->status >= 400 && refusal->status < 500);
        return;
    }
    assert(http_host_allowed(rules, head->fields[HTTP_HOST]));
    assert(!http_head_repeats(head, HTTP_HOST));
    if (route == HTTP_ROUTE_MESSAGE)
        assert(str_is(head->path, HTTP_ENDPOINT) && str_is(head->method, "POST"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct str hosts[] = { { "a.example", 9 } };
    static const struct str origins[] = { { "https://b.example", 17 } };
    struct str rest = { (const char *)data, size };
    const struct http_rules rules = { .hosts = hosts,
        .host_count = 1,
        .origins = origins,
        .origin_count = 1,
        .token = size % 2 ? STR("0123456789abcdef") : STR("") };
    struct http_head head = read_head(&rest);
    struct http_refusal refusal = { 0 };
    enum http_route route = http_judge_head(&rules, &head, &refusal);
    check_head(&rules, &head, route, &refusal);
    struct http_message m;
    http_judge_message(&head, rest, mirroring(), &m);
    check_message(&m);
    check_mirror(&head, &m);
    http_message_finish(&m);
    return 0;
}
