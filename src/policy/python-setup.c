#include "policy/python-setup.h"

#include "base/json.h"
#include "policy/json-parts.h"
#include "policy/python-policy.h"

static json_t *texts_json(const struct str *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
                list, json_pack("{s:o}", "text", policy_bytes_json(texts[i])));
    return list;
}

static json_t *env_json(const char *const *env)
{
    json_t *list = json_array();
    for (; env && *env; env++)
        json_array_append_new(
                list, json_pack("{s:o}", "text", policy_bytes_json(str_of(*env))));
    return list;
}

static json_t *shims_json(const struct python_setup *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->shim_count; i++)
        json_array_append_new(list,
                json_pack("{s:o, s:o, s:o}", "name", policy_bytes_json(s->shims[i].name),
                        "path", policy_bytes_json(s->shims[i].path), "text",
                        json_text(s->shims[i].text)));
    return list;
}

void python_setup_write(const struct python_setup *s, struct buf *out)
{
    json_t *object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b}",
            "paths", path_policy_json(s->paths), "policy", python_policy_json(s->policy),
            "sys_path", texts_json(s->sys_path, s->sys_path_count), "trusted",
            texts_json(s->trusted, s->trusted_count), "env", env_json(s->env), "shims",
            shims_json(s), "network", s->network, "events", s->events, "hashes",
            s->hashes, "mcp", s->mcp);
    json_write(object, out);
    json_decref(object);
}

static bool parse_texts(const json_t *object, const char *key, struct arena *arena,
        const struct str **out, size_t *count, struct error *err)
{
    const json_t *list;
    if (!policy_get_list(object, key, &list, count, err))
        return false;
    struct str *texts = arena_zalloc(arena, (*count + 1) * sizeof(*texts));
    for (size_t i = 0; i < *count; i++)
        if (!policy_parse_bytes(json_array_get(list, i), "text", arena, &texts[i], err))
            return error_context(err, "%s %zu", key, i + 1);
    *out = texts;
    return true;
}

static bool parse_env(const json_t *object, struct arena *arena, struct python_setup *out,
        struct error *err)
{
    const struct str *texts;
    size_t count;
    if (!parse_texts(object, "env", arena, &texts, &count, err))
        return false;
    const char **env = arena_zalloc(arena, (count + 1) * sizeof(*env));
    for (size_t i = 0; i < count; i++) {
        if (!memchr(texts[i].data, '=', texts[i].len))
            return error_set(err, ERR_INVALID, "env %zu must be NAME=value", i + 1);
        env[i] = texts[i].data;
    }
    out->env = env;
    return true;
}

static bool parse_shims(const json_t *object, struct arena *arena,
        struct python_setup *out, struct error *err)
{
    const json_t *list;
    if (!policy_get_list(object, "shims", &list, &out->shim_count, err))
        return false;
    struct python_shim *shims =
            arena_zalloc(arena, (out->shim_count + 1) * sizeof(*shims));
    for (size_t i = 0; i < out->shim_count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!policy_parse_bytes(item, "name", arena, &shims[i].name, err) ||
                !policy_parse_bytes(item, "path", arena, &shims[i].path, err) ||
                !json_is_string(json_object_get(item, "text")))
            return error_context(err, "shim %zu", i + 1);
        shims[i].text = arena_str(arena, json_str(json_object_get(item, "text")));
    }
    out->shims = shims;
    return true;
}

static bool parse_bool(
        const json_t *object, const char *key, bool *out, struct error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        return error_set(err, ERR_INVALID, "'%s' must be true or false", key);
    *out = json_is_true(value);
    return true;
}

static bool parse_all(const json_t *object, struct arena *arena, struct python_setup *out,
        struct error *err)
{
    struct path_policy *paths;
    struct policy *policy = arena_zalloc(arena, sizeof(*policy));
    if (!path_policy_parse(json_object_get(object, "paths"), arena, &paths, err) ||
            !python_policy_parse(json_object_get(object, "policy"), arena, policy, err))
        return false;
    policy->workspace = policy->workspace_real = path_policy_workspace(paths);
    policy->home = path_policy_home(paths);
    out->paths = paths;
    out->policy = policy;
    return parse_bool(object, "network", &out->network, err) &&
           parse_bool(object, "events", &out->events, err) &&
           parse_bool(object, "hashes", &out->hashes, err) &&
           parse_bool(object, "mcp", &out->mcp, err) &&
           parse_texts(object, "sys_path", arena, &out->sys_path, &out->sys_path_count,
                   err) &&
           parse_texts(
                   object, "trusted", arena, &out->trusted, &out->trusted_count, err) &&
           parse_env(object, arena, out, err) && parse_shims(object, arena, out, err);
}

bool python_setup_parse(
        struct str json, struct arena *arena, struct python_setup *out, struct error *err)
{
    json_t *object;
    struct python_setup s = { 0 };
    if (!json_parse(json, &object, err))
        return error_context(err, "setup");
    bool fine = parse_all(object, arena, &s, err);
    json_decref(object);
    if (!fine)
        return error_context(err, "setup");
    *out = s;
    return true;
}
