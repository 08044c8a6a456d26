#include "transport/http-message.h"

#include "base/utf8.h"
#include "protocol/era.h"
#include "protocol/mcp.h"
#include "protocol/raw.h"

#define MAX_FAULT 4096

struct judging {
    const struct http_head *head;
    struct str body;
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

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Four digits, of which the last `padding` are '='. */
static bool decode_group(const char *four, unsigned padding, struct buf *out)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < 4 - padding; i++) {
        int digit = digit_of(four[i]);
        if (digit < 0)
            return false;
        bits |= (uint32_t)digit << (18 - 6 * i);
    }
    for (unsigned i = 0; i < 3 - padding; i++)
        buf_addc(out, (char)(bits >> (16 - 8 * i)));
    return true;
}

static bool decode_base64(struct str text, struct buf *out)
{
    if (text.len % 4)
        return false;
    for (size_t i = 0; i < text.len; i += 4) {
        unsigned padding = 0;
        if (i + 4 == text.len && text.data[i + 3] == '=')
            padding = text.data[i + 2] == '=' ? 2 : 1;
        if (!decode_group(text.data + i, padding, out))
            return false;
    }
    return true;
}

bool http_decode_value(struct str value, struct buf *out)
{
    struct str prefix = STR("=?base64?"), suffix = STR("?=");
    if (!str_starts(value, prefix) || !str_ends(value, suffix) ||
            value.len < prefix.len + suffix.len) {
        buf_add(out, value);
        return true;
    }
    size_t len = value.len - prefix.len - suffix.len;
    return decode_base64(str_sub(value, prefix.len, len), out) &&
           utf8_valid(buf_str(out));
}

static bool mismatch(struct rpc_fault *fault, const char *name, const char *what)
{
    return rpc_fault(fault, RPC_HEADER_MISMATCH, "Header mismatch: %s %s", name, what);
}

static bool header_is(const struct http_head *head, enum http_field field,
        const char *name, struct str wanted, struct rpc_fault *fault)
{
    if (!http_head_has(head, field))
        return mismatch(fault, name, "is missing");
    if (http_head_repeats(head, field))
        return mismatch(fault, name, "came more than once");
    auto_buf value = BUF(head->fields[field].len + 1);
    bool is_name = field == HTTP_NAME;
    if (is_name && !http_decode_value(head->fields[field], &value))
        return mismatch(fault, name, "is no base64");
    struct str given = is_name ? buf_str(&value) : head->fields[field];
    return str_eq(given, wanted) || mismatch(fault, name, "differs from the body");
}

/* What the body calls by name, for methods that the header Mcp-Name goes with. */
static const char *name_member(struct str method)
{
    if (str_is(method, "tools/call") || str_is(method, "prompts/get"))
        return "name";
    return str_is(method, "resources/read") ? "uri" : NULL;
}

static bool check_headers(const struct http_head *head, const struct rpc_message *m,
        struct rpc_fault *fault)
{
    const char *member = name_member(m->method);
    const json_t *name = member ? json_object_get(m->params, member) : NULL;
    return header_is(head, HTTP_METHOD, "Mcp-Method", m->method, fault) &&
           (!json_is_string(name) ||
                   header_is(head, HTTP_NAME, "Mcp-Name", json_str(name), fault));
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

static void judge_modern(struct judging *j, const struct rpc_message *m)
{
    struct rpc_fault fault;
    struct str version;
    if (!era_check_envelope(m, &version, &fault) ||
            !header_is(j->head, HTTP_REVISION, "MCP-Protocol-Version", version, &fault) ||
            !era_check_served(version, &fault) || !check_headers(j->head, m, &fault)) {
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
    mismatch(&fault, "MCP-Protocol-Version", "names no revision that has 'initialize'");
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
            mismatch(&fault, "MCP-Protocol-Version", "came more than once");
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

void http_judge_message(
        const struct http_head *head, struct str body, struct http_message *out)
{
    struct error err;
    struct rpc_fault fault;
    *out = (struct http_message){
        .fault = BUF(MAX_FAULT + body.len), .tool = STR(""), .id = STR("")
    };
    struct judging j = { head, body, out };
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
