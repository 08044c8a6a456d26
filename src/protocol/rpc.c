#include "protocol/rpc.h"

#include "protocol/raw.h"

#include <stdarg.h>
#include <stdio.h>

bool rpc_fault(struct rpc_fault *fault, enum rpc_code code, const char *fmt, ...)
{
    fault->code = code;
    fault->data = NULL;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fault->message, sizeof(fault->message), fmt, ap);
    va_end(ap);
    return false;
}

static bool is_integer(struct str raw)
{
    if (raw.len && raw.data[0] == '-')
        raw = str_from(raw, 1);
    for (size_t i = 0; i < raw.len; i++)
        if (raw.data[i] < '0' || raw.data[i] > '9')
            return false;
    return raw.len > 0;
}

bool rpc_is_id(struct str raw)
{
    return raw.len && (raw.data[0] == '"' || is_integer(raw));
}

static bool parse_params(const json_t *value, struct str raw, struct rpc_message *out,
        struct rpc_fault *fault)
{
    const json_t *params = json_object_get(value, "params");
    if (params && !json_is_object(params))
        return rpc_fault(fault, RPC_INVALID_REQUEST, "'params' must be an object");
    out->params = params;
    if (params)
        out->raw_params = raw_member(raw, "params");
    return true;
}

/* A request or a notification: something with a method. */
static bool parse_call(const json_t *value, struct str raw, struct rpc_message *out,
        struct rpc_fault *fault)
{
    const json_t *method = json_object_get(value, "method");
    if (!json_is_string(method))
        return rpc_fault(fault, RPC_INVALID_REQUEST, "'method' must be a string");
    out->method = json_str(method);
    out->kind = json_object_get(value, "id") ? RPC_REQUEST : RPC_NOTIFICATION;
    if (out->kind == RPC_REQUEST && !out->id.len)
        return rpc_fault(
                fault, RPC_INVALID_REQUEST, "'id' must be a string or an integer");
    return parse_params(value, raw, out, fault);
}

bool rpc_parse(const json_t *value, struct str raw, struct rpc_message *out,
        struct rpc_fault *fault)
{
    *out = (struct rpc_message){ 0 };
    if (!json_is_object(value))
        return rpc_fault(fault, RPC_INVALID_REQUEST, "a message must be an object");
    struct str id = raw_member(raw, "id");
    if (rpc_is_id(id))
        out->id = id;
    if (!str_is(json_str(json_object_get(value, "jsonrpc")), "2.0"))
        return rpc_fault(fault, RPC_INVALID_REQUEST, "'jsonrpc' must be \"2.0\"");
    bool answers = json_object_get(value, "result") || json_object_get(value, "error");
    if (!json_object_get(value, "method") && answers) {
        out->kind = RPC_RESPONSE;
        return true;
    }
    return parse_call(value, raw, out, fault);
}

bool rpc_same_id(struct str a, struct str b)
{
    if (str_eq(a, b))
        return true;
    if (!a.len || !b.len || a.data[0] != '"' || b.data[0] != '"')
        return false;
    json_t *x = NULL, *y = NULL;
    struct error err;
    bool same = json_parse(a, &x, &err) && json_parse(b, &y, &err) && json_equal(x, y);
    json_decref(x);
    json_decref(y);
    return same;
}

static void open_reply(struct str id, struct buf *out)
{
    buf_add(out, STR("{\"jsonrpc\":\"2.0\""));
    if (id.len) {
        buf_add(out, STR(",\"id\":"));
        buf_add(out, id);
    }
}

void rpc_open_result(struct str id, struct buf *out)
{
    open_reply(id, out);
    buf_add(out, STR(",\"result\":"));
}

void rpc_write_result(struct str id, json_t *result, struct buf *out)
{
    rpc_open_result(id, out);
    json_write(result, out);
    buf_addc(out, '}');
    json_decref(result);
}

void rpc_write_fault(struct str id, struct rpc_fault *fault, struct buf *out)
{
    open_reply(id, out);
    buf_addf(out, ",\"error\":{\"code\":%d,\"message\":", (int)fault->code);
    json_write_text(str_of(fault->message), out);
    if (fault->data) {
        buf_add(out, STR(",\"data\":"));
        json_write(fault->data, out);
        json_decref(TAKE(fault->data));
    }
    buf_add(out, STR("}}"));
}
