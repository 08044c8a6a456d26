#include "transport/http-message.h"

#include "protocol/era.h"
#include "protocol/mcp.h"
#include "protocol/raw.h"
#include "transport/http-mirror.h"

#define MAX_FAULT 4096

struct judging {
    const struct http_head *head;
    struct str body;
    struct toolset *tools;
    struct http_message *out;
};

void http_write_fault(struct str id, int code, const char *text, struct buf *out)
{
    struct rpc_fault fault;
    rpc_fault(&fault, (enum rpc_code)code, "%s", text);
    rpc_write_fault(id, &fault, out);
}

static void refuse(struct judging *j, unsigned status, struct rpc_fault *fault)
{
    j->out->way = HTTP_WAY_REFUSED;
    j->out->status = status;
    rpc_write_fault(j->out->id, fault, &j->out->fault);
}

/* The shell that a call asks for; what is wrong with the arguments is told by their
 * schema. */
static void read_session(struct judging *j, const struct rpc_message *m)
{
    const json_t *args = json_object_get(m->params, "arguments");
    json_t *session = json_object_get(args, "session");
    if (!j->out->tool.len || tool_find_place(j->out->tool) != TOOL_IN_SHELL ||
            !json_str(session).len)
        return;
    struct str command = json_get_str(args, "command", STR(""));
    while (command.len && strchr(" \t\r\n", command.data[command.len - 1]))
        command.len--;
    j->out->session = json_incref(session);
    j->out->ends_session = str_is(http_trim(command), "exit");
}

/* The schema of the tool that is called, if the head repeats arguments of it. */
static const json_t *mirrored(const struct judging *j, const struct rpc_message *m)
{
    bool is_call = j->tools && str_is(m->method, "tools/call");
    return is_call ? toolset_find_mirrored(j->tools, j->out->tool) : NULL;
}

static void judge_modern(struct judging *j, const struct rpc_message *m)
{
    struct rpc_fault fault;
    struct str version;
    if (!era_check_envelope(m, &version, &fault) ||
            !http_mirror_revision(j->head, version, &fault) ||
            !era_check_served(version, &fault) ||
            !http_mirror_call(j->head, m, mirrored(j, m), &fault)) {
        refuse(j, 400, &fault);
    } else if (!mcp_has_method(m->method, true)) {
        mcp_refuse_method(m->method, &fault);
        refuse(j, 404, &fault);
    } else {
        j->out->way = HTTP_WAY_ALONE;
        read_session(j, m);
    }
}

/* The revision in the head, where it says which era the body is of. */
static bool has_modern_header(const struct http_head *head)
{
    struct str revision = head->fields[HTTP_REVISION];
    return revision.len &&
           (http_head_repeats(head, HTTP_REVISION) || !era_is_legacy_revision(revision));
}

/* `initialize` chooses its revision in the body; a head that names one of the other era
 * contradicts it. */
static void judge_legacy(struct judging *j, const struct rpc_message *m)
{
    struct rpc_fault fault;
    if (!str_is(m->method, "initialize")) {
        j->out->way = HTTP_WAY_SESSION;
        return;
    }
    if (!has_modern_header(j->head)) {
        j->out->way = HTTP_WAY_OPEN;
        return;
    }
    http_mismatch(
            &fault, "MCP-Protocol-Version", "names no revision that has 'initialize'");
    refuse(j, 400, &fault);
}

/* Notifications, and responses to what we never ask.  Of the stateless era none means
 * anything to us: ids of different clients are not told apart there. */
static void judge_silent(struct judging *j)
{
    struct rpc_fault fault;
    j->out->way = HTTP_WAY_SESSION;
    if (!has_modern_header(j->head))
        return;
    j->out->way = HTTP_WAY_TAKEN;
    if (http_head_repeats(j->head, HTTP_REVISION) ||
            !era_check_served(j->head->fields[HTTP_REVISION], &fault)) {
        if (http_head_repeats(j->head, HTTP_REVISION))
            http_mismatch(&fault, "MCP-Protocol-Version", "came more than once");
        refuse(j, 400, &fault);
    }
}

static void judge_single(struct judging *j, const json_t *value)
{
    struct rpc_message m;
    struct rpc_fault fault;
    bool fine = rpc_parse(value, j->body, &m, &fault);
    j->out->id = m.id;
    if (!fine) {
        refuse(j, 400, &fault);
        return;
    }
    if (m.kind != RPC_REQUEST) {
        judge_silent(j);
        return;
    }
    if (str_is(m.method, "tools/call"))
        j->out->tool = json_get_str(m.params, "name", STR(""));
    bool is_first = str_is(m.method, "initialize");
    if (era_is_modern(&m) || (has_modern_header(j->head) && !is_first))
        judge_modern(j, &m);
    else
        judge_legacy(j, &m);
}

/* A batch goes to its session, which knows whether its revision has batches. */
static void judge_batch(struct judging *j, const json_t *array)
{
    struct rpc_fault fault;
    size_t i;
    const json_t *value;
    struct str rest = j->body, element;
    bool modern = has_modern_header(j->head);
    if (!json_array_size(array) || modern) {
        rpc_fault(&fault, RPC_INVALID_REQUEST, "%s",
                modern ? "batches exist only in revision " ERA_BATCH_REVISION
                       : "a batch cannot be empty");
        refuse(j, 400, &fault);
        return;
    }
    j->out->way = HTTP_WAY_SESSION;
    json_array_foreach (array, i, value) {
        struct rpc_message m;
        bool fine = raw_next(&rest, &element) && rpc_parse(value, element, &m, &fault);
        if (fine && m.kind == RPC_REQUEST && era_is_modern(&m)) {
            rpc_fault(&fault, RPC_INVALID_REQUEST,
                    "a request of this revision cannot be part of a batch");
            refuse(j, 400, &fault);
            return;
        }
        if (fine && str_is(m.method, "tools/call"))
            j->out->tool = json_get_str(m.params, "name", STR(""));
    }
}

void http_judge_message(const struct http_head *head, struct str body,
        struct toolset *tools, struct http_message *out)
{
    struct error err;
    struct rpc_fault fault;
    *out = (struct http_message){
        .fault = BUF(MAX_FAULT + body.len), .tool = STR(""), .id = STR("")
    };
    struct judging j = { head, body, tools, out };
    json_t *value = NULL;
    if (!json_parse(body, &value, &err)) {
        mcp_fault_of_json(&err, &fault);
        refuse(&j, 400, &fault);
        return;
    }
    out->value = value;
    if (json_is_array(value))
        judge_batch(&j, value);
    else
        judge_single(&j, value);
}

void http_message_finish(struct http_message *m)
{
    json_decref(m->session);
    m->session = NULL;
    json_decref(m->value);
    m->value = NULL;
    buf_finish(&m->fault);
}
