#include "base/lines.h"
#include "fuzz.h"
#include "protocol/mcp.h"

#define MAX_LINE 4096

/* Every message that leaves is one line of valid UTF-8 JSON. */
static void on_send(void *user UNUSED, struct str message)
{
    json_t *value;
    struct error err;
    assert(!memchr(message.data, '\n', message.len));
    assert(json_parse(message, &value, &err));
    json_decref(value);
}

static void on_line(void *user, struct str line)
{
    mcp_receive(user, line);
}

static void on_too_long(void *user)
{
    mcp_refuse_long(user, MAX_LINE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const env[] = { NULL };
    uv_loop_t loop;
    uv_loop_init(&loop);
    const struct toolset_config all = { .places = TOOL_IN_SHELL | TOOL_IN_POOL };
    struct toolset *tools;
    struct error err;
    if (!toolset_create(&all, &tools, &err))
        return 0;
    const struct mcp_server server = { &loop, "fuzz", "0", "text", tools, 1000 };
    /* No worker can be started: calls wait until they are dropped. */
    const struct dispatch_config config = {
        .worker = { .loop = &loop,
                .worker = { .path = "/", .env = env },
                .max_reply = 4096 },
        .tools = tools,
    };
    struct dispatch *dispatch = dispatch_create(&config);
    struct mcp *mcp = mcp_open(&server, dispatch, on_send, NULL);
    struct lines lines;
    lines_init(&lines, MAX_LINE, on_line, on_too_long, mcp);
    struct str bytes = { (const char *)data, size };
    size_t half = size / 2;
    lines_add(&lines, str_sub(bytes, 0, half));
    lines_add(&lines, str_from(bytes, half));
    lines_end(&lines);
    lines_finish(&lines);
    mcp_close(mcp);
    dispatch_destroy(dispatch);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    toolset_destroy(tools);
    return 0;
}
