/*
 * mcpath with the tools that the official conformance suite calls by name.  All else is
 * the product: command line, transport, protocol, dispatch, and its own tools beside
 * these.
 */
#include "base/log.h"
#include "cli/cli.h"
#include "tool/extension.h"

/* A call that works takes so long; the suite waits for three notes on its progress. */
#define WORK_MS  500
#define NOTES_MS 20

#define NO_ARGUMENTS "{\"type\":\"object\",\"additionalProperties\":false}"
#define DEFINITION(name, more)                                                        \
    "{\"name\":\"" name "\",\"description\":\"Asked for by the conformance suite.\"," \
    "\"inputSchema\":" more "}"
#define FIXTURE(name, schema)                             \
    {                                                     \
#name, DEFINITION(#name, schema), TOOL_IN_PROGRAM \
    }

/* The suite compares it with its own: every keyword is to arrive as it is here. */
#define SCHEMA_2020_12                                                                   \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\"," \
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","            \
    "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}}" \
    ","                                                                                  \
    "\"properties\":{\"name\":{\"type\":\"string\"},"                                    \
    "\"address\":{\"$ref\":\"#/$defs/address\"},"                                        \
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"            \
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"                  \
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"   \
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"                  \
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"             \
    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"

/* Each kind of value that a head can repeat, and one that lies deeper. */
#define SCHEMA_MIRRORED                                             \
    "{\"type\":\"object\",\"properties\":{"                         \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}," \
    "\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},"  \
    "\"exact\":{\"type\":\"boolean\",\"x-mcp-header\":\"Exact\"},"  \
    "\"place\":{\"type\":\"object\",\"properties\":{"               \
    "\"city\":{\"type\":\"string\",\"x-mcp-header\":\"City\"}}}},"  \
    "\"required\":[\"region\"]}"

static const struct tool_source sources[] = {
    FIXTURE(json_schema_2020_12_tool, SCHEMA_2020_12),
    FIXTURE(test_audio_content, NO_ARGUMENTS),
    FIXTURE(test_custom_header, SCHEMA_MIRRORED),
    FIXTURE(test_embedded_resource, NO_ARGUMENTS),
    FIXTURE(test_error_handling, NO_ARGUMENTS),
    FIXTURE(test_image_content, NO_ARGUMENTS),
    FIXTURE(test_logging_tool, NO_ARGUMENTS),
    FIXTURE(test_missing_capability, NO_ARGUMENTS ",\"needs\":{\"sampling\":{}}"),
    FIXTURE(test_multiple_content_types, NO_ARGUMENTS),
    FIXTURE(test_simple_text, NO_ARGUMENTS),
    FIXTURE(test_streaming_elicitation, NO_ARGUMENTS),
    FIXTURE(test_tool_with_progress, NO_ARGUMENTS),
};

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE                                                                      \
    "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgoAAAANSU" \
    "hEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"   \
    "gg==\"}"
#define AUDIO                                                                      \
    "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"UklGRiYAAABXQVZFZm" \
    "10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=\"}"
#define RESOURCE(uri, type, text)                                                   \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type \
    "\",\"text\":\"" text "\"}}"

/* What the tools answer whose answer the suite looks at; all others say "done". */
static const struct {
    const char *tool, *blocks;
    bool is_error;
} answers[] = {
    { "test_simple_text", TEXT("This is a simple text response for testing."), false },
    { "test_image_content", IMAGE, false },
    { "test_audio_content", AUDIO, false },
    { "test_embedded_resource",
            RESOURCE("test://embedded-resource", "text/plain",
                    "This is an embedded resource content."),
            false },
    { "test_multiple_content_types",
            TEXT("Multiple content types test:") "," IMAGE "," RESOURCE(
                    "test://mixed-content-resource", "application/json",
                    "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}"),
            false },
    { "test_error_handling", TEXT("This tool intentionally returns an error for testing"),
            true },
};

/* A call that runs; it goes when its timer has closed. */
struct work {
    uv_timer_t timer;
    struct dispatch_call *call;
    const char *blocks;
    bool is_error;
};

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void cancel(void *work)
{
    struct work *w = work;
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

static void on_timer(uv_timer_t *timer)
{
    struct work *w = timer->data;
    struct error err;
    json_t *blocks;
    auto_buf text = BUF(4096);
    buf_addf(&text, "[%s]", w->blocks);
    bool parsed = json_parse(buf_str(&text), &blocks, &err);
    assert(parsed);
    dispatch_answer(w->call,
            &(struct dispatch_reply){
                    .is_error = w->is_error, .text = buf_str(&text), .blocks = blocks });
    json_decref(blocks);
    cancel(w);
}

static void *start(const struct extension_call *call)
{
    struct work *w = xcalloc(1, sizeof(*w));
    w->call = call->call;
    w->blocks = TEXT("done");
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        if (!str_is(call->tool, answers[i].tool))
            continue;
        w->blocks = answers[i].blocks;
        w->is_error = answers[i].is_error;
    }
    bool works = str_is(call->tool, "test_tool_with_progress");
    uv_timer_init(call->loop, &w->timer);
    w->timer.data = w;
    uv_timer_start(&w->timer, on_timer, works ? WORK_MS : 0, 0);
    return w;
}

int main(int argc, char **argv)
{
    static const struct tool_extension fixtures = { .sources = sources,
        .count = ARRAY_LEN(sources),
        .progress_ms = NOTES_MS,
        .start = start,
        .cancel = cancel };
    log_init("mcpath");
    return cli_mcpath_with(argc, argv, &fixtures);
}
