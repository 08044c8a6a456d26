#include "protocol/connection.h"
#include "protocol/era.h"
#include "protocol/raw.h"
#include "protocol/schema.h"

/* A tools/call that has not been answered. */
struct call {
    struct call *next;
    struct mcp *mcp;
    struct intake *intake;
    struct dispatch_call *work;
    char *id;    /* raw JSON */
    char *token; /* of its progress, raw JSON; NULL: not wanted */
    bool modern;
    uv_timer_t timer; /* used only with a token */
    uint64_t started; /* ms of the loop's clock */
};

static void free_call(struct call *c)
{
    free(c->id);
    free(c->token);
    free(c);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free_call(handle->data);
}

/* Take it off the list; nothing is sent for it from now on. */
static void forget(struct call *c)
{
    struct call **at = &c->mcp->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (c->token)
        uv_close((uv_handle_t *)&c->timer, on_timer_closed);
    else
        free_call(c);
}

/* What is said about the shell of the call, beside what came out of it. */
static void add_remark(const struct mcp_sink *sink, struct buf *out)
{
    if (!sink->remark.len)
        return;
    buf_add(out, STR(",{\"type\":\"text\",\"text\":"));
    json_write_text(sink->remark, out);
    buf_addc(out, '}');
}

static void add_session(const struct mcp_sink *sink, struct buf *out)
{
    if (!sink->session.len)
        return;
    buf_add(out, STR("\"paddock/session\":"));
    json_write_text(sink->session, out);
    buf_addc(out, ',');
}

static void add_meta(
        const struct mcp_server *server, const struct mcp_sink *sink, struct buf *out)
{
    buf_add(out, STR(",\"_meta\":{"));
    add_session(sink, out);
    buf_add(out, STR("\"io.modelcontextprotocol/serverInfo\":{\"name\":"));
    json_write_text(str_of(server->name), out);
    buf_add(out, STR(",\"version\":"));
    json_write_text(str_of(server->version), out);
    buf_add(out, STR("}}"));
}

static void add_images(const json_t *images, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(images); i++) {
        const json_t *image = json_array_get(images, i);
        buf_add(out, STR(",{\"type\":\"image\",\"data\":"));
        json_write_text(json_get_str(image, "data", STR("")), out);
        buf_add(out, STR(",\"mimeType\":"));
        json_write_text(json_get_str(image, "mime", STR("")), out);
        buf_addc(out, '}');
    }
}

static void add_blocks(const json_t *blocks, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        if (i)
            buf_addc(out, ',');
        json_write(json_array_get(blocks, i), out);
    }
}

static void add_content(const struct dispatch_reply *reply, struct buf *out)
{
    if (reply->blocks) {
        add_blocks(reply->blocks, out);
        return;
    }
    buf_add(out, STR("{\"type\":\"text\",\"text\":"));
    json_write_text(reply->text, out);
    buf_addc(out, '}');
    add_images(reply->images, out);
}

/* Written as text, since the text of a result may be long.  `sink`: of a call that had a
 * shell. */
static void write_result(struct mcp *m, struct str id, bool modern,
        const struct mcp_sink *sink, const struct dispatch_reply *reply)
{
    struct buf *out = connection_buf(m);
    rpc_open_result(id, out);
    buf_add(out, modern ? STR("{\"resultType\":\"complete\",") : STR("{"));
    buf_add(out, STR("\"content\":["));
    add_content(reply, out);
    add_remark(sink, out);
    buf_addf(out, "],\"isError\":%s", reply->is_error ? "true" : "false");
    if (modern)
        add_meta(m->server, sink, out);
    buf_add(out, STR("}}"));
}

static void on_done(void *user, const struct dispatch_reply *reply)
{
    struct call *c = user;
    struct mcp *m = c->mcp;
    struct intake *intake = c->intake;
    write_result(m, str_of(c->id), c->modern, &intake->sink, reply);
    forget(c);
    connection_reply(m, intake, 0);
    connection_leave(intake);
}

static void write_doing(const struct call *c, unsigned seconds, struct buf *out)
{
    struct str waits_for = dispatch_doing(c->work);
    if (!waits_for.len) {
        buf_addf(out, ",\"message\":\"running for %u s\"", seconds);
        return;
    }
    buf_add(out, STR(",\"message\":"));
    json_write_text(waits_for, out);
}

static void on_timer(uv_timer_t *timer)
{
    struct call *c = timer->data;
    struct mcp *m = c->mcp;
    uint64_t ms = uv_now(timer->loop) - c->started;
    struct buf *out = connection_buf(m);
    buf_addf(out,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
            "\"progressToken\":%s,\"progress\":%llu.%03u",
            c->token, (unsigned long long)ms / 1000, (unsigned)(ms % 1000));
    /* The first revision knows no message here. */
    if (c->modern || !m->revision || strcmp(m->revision, "2024-11-05"))
        write_doing(c, (unsigned)(ms / 1000), out);
    buf_add(out, STR("}}"));
    connection_note(m, c->intake);
}

static void start_progress(struct call *c)
{
    const struct mcp_server *server = c->mcp->server;
    uv_timer_init(server->loop, &c->timer);
    c->timer.data = c;
    uv_update_time(server->loop);
    c->started = uv_now(server->loop);
    uv_timer_start(&c->timer, on_timer, server->progress_ms, server->progress_ms);
}

static struct str progress_token(const struct rpc_message *m)
{
    struct str token = raw_member(raw_member(m->raw_params, "_meta"), "progressToken");
    return rpc_is_id(token) ? token : STR("");
}

/* Hand the checked call on to who does the work. */
static bool submit(const struct request *r, const struct dispatch_request *request,
        struct error *err)
{
    struct mcp *m = r->mcp;
    struct call *c = xcalloc(1, sizeof(*c));
    if (!dispatch_call(m->dispatch, request, on_done, c, &c->work, err)) {
        free(c);
        return false;
    }
    struct str token = r->intake->sink.note ? progress_token(r->message) : STR("");
    c->mcp = m;
    c->intake = r->intake;
    c->modern = r->modern;
    c->id = str_copy(r->message->id);
    c->token = token.len ? str_copy(token) : NULL;
    c->next = m->calls;
    m->calls = c;
    c->intake->open++;
    if (c->token)
        start_progress(c);
    return true;
}

static void reply_error(const struct request *r, const struct error *err)
{
    static const struct mcp_sink none = { .alone = false };
    auto_buf text = BUF(sizeof(*err));
    buf_addf(&text, "%s%s%s", err->message, err->hint[0] ? "\n" : "", err->hint);
    const struct dispatch_reply reply = { .is_error = true, .text = buf_str(&text) };
    write_result(r->mcp, r->message->id, r->modern, &none, &reply);
    connection_reply(r->mcp, r->intake, 0);
}

static bool arguments_fit(const struct request *r, const json_t *schema,
        const struct dispatch_request *request, struct error *err)
{
    auto_free char *name = str_copy(request->tool);
    const struct mcp_sink *sink = &r->intake->sink;
    bool fit = schema_check(schema, request->args, name, err);
    if (fit && !sink->refused) {
        if (sink->alone) /* the shell is found */
            json_object_del(request->args, "session");
        return true;
    }
    if (fit)
        *err = *sink->refused;
    dispatch_refused(r->mcp->dispatch, request, err);
    return false;
}

bool call_start(const struct request *r, struct rpc_fault *fault)
{
    const json_t *params = r->message->params;
    const json_t *name = json_object_get(params, "name");
    json_t *args = json_object_get(params, "arguments");
    if (!json_is_string(name))
        return rpc_fault(fault, RPC_INVALID_PARAMS, "'params.name' must be a string");
    const json_t *schema = toolset_find_schema(
            r->mcp->server->tools, json_str(name), r->intake->sink.alone);
    if (!schema)
        return rpc_fault(fault, RPC_INVALID_PARAMS, "Unknown tool: '%.100s'",
                json_string_value(name));
    if (args && !json_is_object(args))
        return rpc_fault(
                fault, RPC_INVALID_PARAMS, "'params.arguments' must be an object");
    json_t *needs = toolset_find_needs(r->mcp->server->tools, json_str(name));
    if (needs && r->modern && !era_check_capabilities(r->message, needs, fault))
        return false;
    args = args ? json_incref(args) : json_object();
    const json_t *meta = json_object_get(params, "_meta");
    const struct dispatch_request request = { .tool = json_str(name),
        .args = args,
        .trace = json_get_str(meta, "traceparent", STR("")),
        .bytes = r->message->raw_params.len };
    struct error err;
    if (!arguments_fit(r, schema, &request, &err) || !submit(r, &request, &err))
        reply_error(r, &err);
    json_decref(args);
    return true;
}

struct call *call_find(const struct mcp *m, struct str id)
{
    for (struct call *c = m->calls; c; c = c->next)
        if (rpc_same_id(str_of(c->id), id))
            return c;
    return NULL;
}

struct call *call_of(const struct mcp *m, const void *user)
{
    for (struct call *c = m->calls; c; c = c->next)
        if (c->intake->sink.user == user)
            return c;
    return NULL;
}

static void reply_nothing(void *user UNUSED, struct str message UNUSED, int fault UNUSED)
{
}

void call_silence(struct call *c)
{
    c->intake->sink = (struct mcp_sink){ .reply = reply_nothing };
}

void call_drop(struct call *c)
{
    struct intake *intake = c->intake;
    forget(c);
    connection_leave(intake);
}

void call_cancel(struct call *c)
{
    dispatch_cancel(c->mcp->dispatch, c->work);
    call_drop(c);
}
