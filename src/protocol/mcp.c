#include "protocol/mcp.h"

#include "protocol/connection.h"
#include "protocol/era.h"
#include "protocol/raw.h"

#define MAX_BATCH 100
#define TTL_MS    3600000 /* how long a modern client may keep what it was told */

/* Runs a request; false: answer it with `fault`. */
typedef bool method_fn(const struct request *r, struct rpc_fault *fault);

static void reply(const struct request *r, json_t *result)
{
    rpc_write_result(r->message->id, result, connection_buf(r->mcp));
    connection_reply(r->mcp, r->intake, 0);
}

static void reply_fault(
        struct mcp *m, struct intake *intake, struct str id, struct rpc_fault *fault)
{
    rpc_write_fault(id, fault, connection_buf(m));
    connection_reply(m, intake, (int)fault->code);
}

static json_t *server_info(const struct mcp *m)
{
    return json_pack(
            "{s:s, s:s}", "name", m->server->name, "version", m->server->version);
}

/* What each modern result has beside its body, and those that may be kept. */
static void add_modern(const struct mcp *m, json_t *result, bool cacheable)
{
    json_object_set_new(result, "resultType", json_string("complete"));
    if (cacheable) {
        json_object_set_new(result, "ttlMs", json_integer(TTL_MS));
        json_object_set_new(result, "cacheScope", json_string("public"));
    }
    json_object_set_new(result, "_meta",
            json_pack("{s:o}", "io.modelcontextprotocol/serverInfo", server_info(m)));
}

static bool run_initialize(const struct request *r, struct rpc_fault *fault)
{
    struct mcp *m = r->mcp;
    const json_t *asked = json_object_get(r->message->params, "protocolVersion");
    if (r->intake->is_batch)
        return rpc_fault(
                fault, RPC_INVALID_REQUEST, "'initialize' cannot be part of a batch");
    if (!json_is_string(asked))
        return rpc_fault(
                fault, RPC_INVALID_PARAMS, "'params.protocolVersion' must be a string");
    m->revision = era_legacy_revision(json_str(asked));
    reply(r, json_pack("{s:s, s:{s:{}}, s:o, s:s}", "protocolVersion", m->revision,
                     "capabilities", "tools", "serverInfo", server_info(m),
                     "instructions", m->server->instructions));
    dispatch_warm(m->dispatch);
    return true;
}

static bool run_discover(const struct request *r, struct rpc_fault *fault UNUSED)
{
    json_t *result = json_pack("{s:o, s:{s:{}}, s:s}", "supportedVersions",
            era_supported(), "capabilities", "tools", "instructions",
            r->mcp->server->instructions);
    add_modern(r->mcp, result, true);
    reply(r, result);
    dispatch_warm(r->mcp->dispatch);
    return true;
}

static bool run_ping(const struct request *r, struct rpc_fault *fault UNUSED)
{
    reply(r, json_object());
    return true;
}

static bool run_list(const struct request *r, struct rpc_fault *fault)
{
    /* Everything fits on one page, so no cursor was ever handed out. */
    if (json_object_get(r->message->params, "cursor"))
        return rpc_fault(fault, RPC_INVALID_PARAMS, "Invalid cursor");
    json_t *result = json_pack(
            "{s:O}", "tools", toolset_list(r->mcp->server->tools, r->intake->sink.alone));
    if (r->modern)
        add_modern(r->mcp, result, true);
    reply(r, result);
    return true;
}

static const struct {
    const char *name;
    bool legacy, modern;
    method_fn *run;
} methods[] = {
    { "initialize", true, false, run_initialize },
    { "ping", true, false, run_ping },
    { "server/discover", false, true, run_discover },
    { "tools/call", true, true, call_start },
    { "tools/list", true, true, run_list },
};

bool mcp_refuse_method(struct str name, struct rpc_fault *fault)
{
    return rpc_fault(fault, RPC_METHOD_NOT_FOUND, "Method not found: '%.*s'",
            (int)(name.len < 100 ? name.len : 100), name.data);
}

static bool run_method(const struct request *r, struct rpc_fault *fault)
{
    struct str name = r->message->method;
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(name, methods[i].name) &&
                (r->modern ? methods[i].modern : methods[i].legacy))
            return methods[i].run(r, fault);
    return mcp_refuse_method(name, fault);
}

bool mcp_has_method(struct str name, bool modern)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_is(name, methods[i].name))
            return modern ? methods[i].modern : methods[i].legacy;
    return false;
}

static bool run_request(const struct request *r, struct rpc_fault *fault)
{
    if (!r->intake->sink.alone && call_find(r->mcp, r->message->id))
        return rpc_fault(
                fault, RPC_INVALID_REQUEST, "a request with this id is still running");
    if (r->modern && r->intake->is_batch)
        return rpc_fault(fault, RPC_INVALID_REQUEST,
                "a request of this revision cannot be part of a batch");
    return (!r->modern || era_check_modern(r->message, fault)) && run_method(r, fault);
}

static void take_notification(struct mcp *m, const struct rpc_message *message)
{
    if (!str_is(message->method, "notifications/cancelled"))
        return;
    struct call *c = call_find(m, raw_member(message->raw_params, "requestId"));
    if (c)
        call_cancel(c);
}

static void take_message(
        struct mcp *m, struct intake *intake, const json_t *value, struct str raw)
{
    struct rpc_message message;
    struct rpc_fault fault;
    bool fine = rpc_parse(value, raw, &message, &fault);
    if (fine && message.kind == RPC_NOTIFICATION)
        take_notification(m, &message);
    if (fine && message.kind == RPC_REQUEST) {
        struct request r = { m, intake, &message, era_is_modern(&message) };
        fine = run_request(&r, &fault);
    }
    if (!fine)
        reply_fault(m, intake, message.id, &fault);
}

static bool may_batch(const struct mcp *m, size_t count, struct rpc_fault *fault)
{
    if (!count)
        return rpc_fault(fault, RPC_INVALID_REQUEST, "a batch cannot be empty");
    if (m->revision && strcmp(m->revision, ERA_BATCH_REVISION))
        return rpc_fault(fault, RPC_INVALID_REQUEST,
                "batches exist only in revision " ERA_BATCH_REVISION);
    if (count > MAX_BATCH)
        return rpc_fault(fault, RPC_INVALID_REQUEST,
                "a batch can have at most %d messages", MAX_BATCH);
    return true;
}

static void take_batch(
        struct mcp *m, struct intake *intake, const json_t *array, struct str raw)
{
    struct rpc_fault fault;
    if (!may_batch(m, json_array_size(array), &fault)) {
        reply_fault(m, intake, STR(""), &fault);
        return;
    }
    intake->is_batch = true;
    struct str element;
    for (size_t i = 0; raw_next(&raw, &element); i++)
        take_message(m, intake, json_array_get(array, i), element);
}

static struct intake *open_intake(const struct mcp_sink *sink)
{
    struct intake *intake = xmalloc(sizeof(*intake));
    *intake = (struct intake){ .sink = *sink, .replies = BUF(SIZE_MAX / 4), .open = 1 };
    return intake;
}

void mcp_receive_json(
        struct mcp *m, const json_t *value, struct str text, const struct mcp_sink *sink)
{
    struct intake *intake = open_intake(sink);
    if (json_is_array(value))
        take_batch(m, intake, value, text);
    else
        take_message(m, intake, value, text);
    connection_leave(intake);
}

/* What came without a sink of its own goes where mcp_open() said. */
static void send_reply(void *user, struct str message, int fault UNUSED)
{
    struct mcp *m = user;
    m->send(m->user, message);
}

static void send_note(void *user, struct str message)
{
    send_reply(user, message, 0);
}

static struct mcp_sink own_sink(struct mcp *m)
{
    return (struct mcp_sink){ .reply = send_reply, .note = send_note, .user = m };
}

static void refuse_all(struct mcp *m, struct rpc_fault *fault)
{
    rpc_write_fault(STR(""), fault, connection_buf(m));
    m->send(m->user, buf_str(&m->out));
}

void mcp_fault_of_json(const struct error *err, struct rpc_fault *fault)
{
    bool too_deep = err->code == ERR_LIMIT;
    rpc_fault(fault, too_deep ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR, "%.200s",
            err->message);
}

bool mcp_resume(struct mcp *m, struct str revision)
{
    if (!era_is_legacy_revision(revision))
        return false;
    m->revision = era_legacy_revision(revision);
    return true;
}

const char *mcp_revision(const struct mcp *m)
{
    return m->revision;
}

void mcp_receive(struct mcp *m, struct str text)
{
    json_t *value;
    struct error err;
    struct rpc_fault fault;
    if (!json_parse(text, &value, &err)) {
        mcp_fault_of_json(&err, &fault);
        refuse_all(m, &fault);
        return;
    }
    const struct mcp_sink sink = own_sink(m);
    mcp_receive_json(m, value, text, &sink);
    json_decref(value);
}

void mcp_refuse_long(struct mcp *m, size_t max_bytes)
{
    struct rpc_fault fault;
    rpc_fault(&fault, RPC_INVALID_REQUEST, "a message can have at most %zu bytes",
            max_bytes);
    refuse_all(m, &fault);
}

void mcp_cancel(struct mcp *m, const void *user)
{
    struct call *c;
    while ((c = call_of(m, user)))
        call_cancel(c);
}

bool mcp_is_idle(const struct mcp *m)
{
    return !m->calls;
}

struct mcp *mcp_open(const struct mcp_server *server, struct dispatch *dispatch,
        mcp_send_fn *send, void *user)
{
    struct mcp *m = xcalloc(1, sizeof(*m));
    m->server = server;
    m->dispatch = dispatch;
    m->send = send;
    m->user = user;
    return m;
}

void mcp_close(struct mcp *m)
{
    if (!m)
        return;
    while (m->calls) {
        call_silence(m->calls);
        call_drop(m->calls);
    }
    buf_finish(&m->out);
    free(m);
}
