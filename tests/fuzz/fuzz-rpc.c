#include "base/utf8.h"
#include "fuzz.h"
#include "protocol/mcp.h"
#include "transport/lines.h"

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
    struct toolset *tools = toolset_create(false);
    const struct mcp_server server = { &loop, "fuzz", "0", "text", tools, 1000 };
    /* No worker can be started: calls wait until they are dropped. */
    const struct session_config config = {
        .loop = &loop, .worker = { .path = "/", .env = env }, .max_reply = 4096
    };
    struct session *session = session_create(&config);
    struct mcp *mcp = mcp_open(&server, session, on_send, NULL);
    struct lines lines;
    lines_init(&lines, MAX_LINE, on_line, on_too_long, mcp);
    struct str bytes = { (const char *)data, size };
    size_t half = size / 2;
    lines_add(&lines, str_sub(bytes, 0, half));
    lines_add(&lines, str_from(bytes, half));
    lines_end(&lines);
    lines_finish(&lines);
    mcp_close(mcp);
    session_destroy(session);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    toolset_destroy(tools);
    return 0;
}
