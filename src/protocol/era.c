#include "protocol/era.h"

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";
static const char capabilities_key[] = "io.modelcontextprotocol/clientCapabilities";

static const char *const modern[] = { "2026-07-28" };
static const char *const legacy[] = { ERA_NEWEST_LEGACY, "2025-06-18", ERA_BATCH_REVISION,
    "2024-11-05" };

bool era_is_modern(const struct rpc_message *m)
{
    const json_t *meta = json_object_get(m->params, "_meta");
    return json_object_get(meta, version_key) || str_is(m->method, "server/discover") ||
           str_is(m->method, "subscriptions/listen");
}

static bool is_served(struct str version)
{
    for (size_t i = 0; i < ARRAY_LEN(modern); i++)
        if (str_is(version, modern[i]))
            return true;
    return false;
}

bool era_check_envelope(
        const struct rpc_message *m, struct str *out, struct rpc_fault *fault)
{
    const json_t *meta = json_object_get(m->params, "_meta");
    const json_t *version = json_object_get(meta, version_key);
    if (!json_is_object(meta))
        return rpc_fault(fault, RPC_INVALID_PARAMS, "'params._meta' must be an object");
    if (!json_is_string(version))
        return rpc_fault(fault, RPC_INVALID_PARAMS,
                "'%s' in 'params._meta' must be a string", version_key);
    if (!json_is_object(json_object_get(meta, capabilities_key)))
        return rpc_fault(fault, RPC_INVALID_PARAMS,
                "'%s' in 'params._meta' must be an object", capabilities_key);
    *out = json_str(version);
    return true;
}

bool era_check_served(struct str version, struct rpc_fault *fault)
{
    if (is_served(version))
        return true;
    rpc_fault(fault, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version");
    fault->data = json_pack(
            "{s:o, s:o}", "supported", era_supported(), "requested", json_text(version));
    return false;
}

bool era_check_modern(const struct rpc_message *m, struct rpc_fault *fault)
{
    struct str version;
    return era_check_envelope(m, &version, fault) && era_check_served(version, fault);
}

bool era_check_capabilities(
        const struct rpc_message *m, json_t *needs, struct rpc_fault *fault)
{
    const json_t *declared =
            json_object_get(json_object_get(m->params, "_meta"), capabilities_key);
    const char *name;
    json_t *unused;
    json_object_foreach (needs, name, unused) {
        if (json_is_object(json_object_get(declared, name)))
            continue;
        rpc_fault(fault, RPC_MISSING_CAPABILITY,
                "Missing required client capability: %.100s", name);
        fault->data = json_pack("{s:O}", "requiredCapabilities", needs);
        return false;
    }
    return true;
}

bool era_is_legacy_revision(struct str revision)
{
    for (size_t i = 0; i < ARRAY_LEN(legacy); i++)
        if (str_is(revision, legacy[i]))
            return true;
    return false;
}

const char *era_legacy_revision(struct str asked)
{
    for (size_t i = 0; i < ARRAY_LEN(legacy); i++)
        if (str_is(asked, legacy[i]))
            return legacy[i];
    return ERA_NEWEST_LEGACY;
}

json_t *era_supported(void)
{
    json_t *all = json_array();
    for (size_t i = 0; i < ARRAY_LEN(modern); i++)
        json_array_append_new(all, json_string(modern[i]));
    for (size_t i = 0; i < ARRAY_LEN(legacy); i++)
        json_array_append_new(all, json_string(legacy[i]));
    return all;
}
