#include "bridge/message.h"

#include "bridge/headers.h"

#define VERSION_KEY "io.modelcontextprotocol/protocolVersion"

/* Which parameter is mirrored into Mcp-Name. */
static const struct {
    const char *method, *key;
} named[] = {
    { "prompts/get", "name" },
    { "resources/read", "uri" },
    { "tools/call", "name" },
};

static void take_name(struct message *m)
{
    const json_t *params = json_object_get(m->json, "params");
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        const json_t *name = json_object_get(params, named[i].key);
        if (message_is(m, named[i].method) && json_is_string(name)) {
            m->name = json_str(name);
            m->has_name = true;
        }
    }
}

static bool take_call(struct message *m, struct error *err)
{
    const json_t *params = json_object_get(m->json, "params");
    const json_t *version =
            json_object_get(json_object_get(params, "_meta"), VERSION_KEY);
    m->kind = m->id ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
    m->method = json_str(json_object_get(m->json, "method"));
    m->version = json_str(version);
    take_name(m);
    if (m->method.len > MESSAGE_MAX_NAME || m->name.len > MESSAGE_MAX_NAME)
        return error_set(err, ERR_LIMIT, "the name of what is called is too long");
    if (!header_is_value(m->method))
        return error_set(err, ERR_INVALID, "'method' is no name");
    if (version && (!header_is_value(m->version) || m->version.len > HEADER_MAX_VERSION))
        return error_set(err, ERR_INVALID, "'%s' is no version", VERSION_KEY);
    return true;
}

static bool take_parts(struct message *m, struct error *err)
{
    json_t *id = json_object_get(m->json, "id");
    if (!json_is_object(m->json))
        return error_set(err, ERR_INVALID, "it is no object");
    if (!str_is(json_get_str(m->json, "jsonrpc", STR("")), "2.0"))
        return error_set(err, ERR_INVALID, "it is not of JSON-RPC 2.0");
    if (json_is_string(id) || json_is_integer(id))
        m->id = id;
    if (json_is_string(json_object_get(m->json, "method"))) {
        if (id && !m->id)
            return error_set(err, ERR_INVALID, "'id' is neither a string nor an integer");
        return take_call(m, err);
    }
    m->kind = MESSAGE_RESPONSE;
    if (!json_object_get(m->json, "result") &&
            !json_is_object(json_object_get(m->json, "error")))
        return error_set(err, ERR_INVALID, "it has no method, no result and no error");
    return true;
}

bool message_of(json_t *json, struct message *out, struct error *err)
{
    struct message m = { .json = json };
    if (!take_parts(&m, err)) {
        message_finish(&m);
        return false;
    }
    *out = m;
    return true;
}

bool message_parse(struct str text, struct message *out, struct error *err)
{
    json_t *json;
    return json_parse(text, &json, err) && message_of(json, out, err);
}

void message_finish(struct message *m)
{
    json_decref(m->json);
    *m = (struct message){ .json = NULL };
}
