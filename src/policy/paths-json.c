#include "policy/json-parts.h"
#include "policy/paths-internal.h"
#include "policy/pyre/pyre.h"

#include "base/json.h"

static const char *const kind_names[] = {
    [PROTECTED_POLICY] = "policy",
    [PROTECTED_PACKAGE] = "package",
    [PROTECTED_SCRIPTS] = "scripts",
    [PROTECTED_PROGRAM] = "program",
    [PROTECTED_LOG] = "log",
    [PROTECTED_SERVER] = "server",
};

static json_t *roots_json(const struct policy_path *roots, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_pack("{s:o, s:o}", "text", policy_bytes_json(roots[i].text),
                "path", policy_bytes_json(roots[i].path));
        policy_add_origin(object, &roots[i].origin);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *guards_json(const struct policy *policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->guard_count; i++) {
        const struct policy_guard *g = &policy->guards[i];
        json_t *object =
                json_pack("{s:o, s:s}", "regex", policy_bytes_json(g->regex.text),
                        "disposition", guard_disposition_name(g->disposition));
        policy_add_origin(object, &g->regex.origin);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *protected_json(const struct policy *policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->protected_count; i++) {
        const struct policy_protected *p = &policy->protected[i];
        json_t *object = json_pack("{s:s, s:o, s:o}", "kind", kind_names[p->kind], "path",
                policy_bytes_json(p->path), "except", policy_bytes_json(p->except));
        policy_add_origin(object, &p->origin);
        json_array_append_new(list, object);
    }
    return list;
}

json_t *path_policy_json(const struct path_policy *p)
{
    const struct policy *policy = p->policy;
    return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "workspace",
            policy_bytes_json(policy->workspace_real), "home",
            policy_bytes_json(policy->home), "readable_all", policy->readable_all,
            "writable", roots_json(policy->writable, policy->writable_count), "readable",
            roots_json(policy->readable, policy->readable_count), "guards",
            guards_json(policy), "protected", protected_json(policy));
}

/* Rules about relative paths would never match. */
static bool require_absolute(struct str path, const char *key, struct error *err)
{
    if (path.len && path.data[0] == '/')
        return true;
    return error_set(err, ERR_INVALID, "'%s' must be an absolute path", key);
}

static bool parse_roots(const json_t *object, const char *key, struct arena *arena,
        struct policy_path **out, size_t *out_count, struct error *err)
{
    const json_t *list;
    size_t count;
    if (!policy_get_list(object, key, &list, &count, err))
        return false;
    struct policy_path *roots = arena_zalloc(arena, count * sizeof(*roots));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!policy_parse_bytes(item, "text", arena, &roots[i].text, err) ||
                !policy_parse_bytes(item, "path", arena, &roots[i].path, err) ||
                (roots[i].path.len && !require_absolute(roots[i].path, key, err)) ||
                !policy_parse_origin(item, arena, &roots[i].origin, err))
            return error_context(err, "%s %zu", key, i + 1);
    }
    *out = roots;
    *out_count = count;
    return true;
}

static void destroy_pyre(void *pattern)
{
    pyre_destroy(pattern);
}

static bool parse_guard(const json_t *item, struct arena *arena, struct policy_guard *out,
        struct error *err)
{
    struct pyre *pattern = NULL;
    struct str name = json_str(json_object_get(item, "disposition"));
    if (!guard_disposition_parse(name, &out->disposition))
        return error_set(err, ERR_INVALID, "unknown disposition '%.*s'", STR_ARG(name));
    if (!policy_parse_bytes(item, "regex", arena, &out->regex.text, err) ||
            !policy_parse_origin(item, arena, &out->regex.origin, err) ||
            !pyre_create(out->regex.text, 0, &pattern, err))
        return false;
    arena_defer(arena, destroy_pyre, pattern);
    out->regex.pattern = pattern;
    return true;
}

static bool parse_guards(
        const json_t *object, struct arena *arena, struct policy *out, struct error *err)
{
    const json_t *list;
    if (!policy_get_list(object, "guards", &list, &out->guard_count, err))
        return false;
    out->guards = arena_zalloc(arena, out->guard_count * sizeof(*out->guards));
    for (size_t i = 0; i < out->guard_count; i++)
        if (!parse_guard(json_array_get(list, i), arena, &out->guards[i], err))
            return error_context(err, "guard %zu", i + 1);
    return true;
}

static bool parse_kind(struct str name, enum protected_kind *out, struct error *err)
{
    size_t i = str_which(name, kind_names, ARRAY_LEN(kind_names));
    if (i == ARRAY_LEN(kind_names))
        return error_set(err, ERR_INVALID, "unknown kind '%.*s'", STR_ARG(name));
    *out = (enum protected_kind)i;
    return true;
}

static bool parse_protected(
        const json_t *object, struct arena *arena, struct policy *out, struct error *err)
{
    const json_t *list;
    if (!policy_get_list(object, "protected", &list, &out->protected_count, err))
        return false;
    out->protected = arena_zalloc(arena, out->protected_count * sizeof(*out->protected));
    for (size_t i = 0; i < out->protected_count; i++) {
        const json_t *item = json_array_get(list, i);
        struct policy_protected *p = &out->protected[i];
        if (!parse_kind(json_str(json_object_get(item, "kind")), &p->kind, err) ||
                !policy_parse_bytes(item, "path", arena, &p->path, err) ||
                !require_absolute(p->path, "path", err) ||
                !policy_parse_bytes(item, "except", arena, &p->except, err) ||
                !policy_parse_origin(item, arena, &p->origin, err))
            return error_context(err, "protected %zu", i + 1);
    }
    return true;
}

static bool parse_policy(
        const json_t *object, struct arena *arena, struct policy *out, struct error *err)
{
    const json_t *all = json_object_get(object, "readable_all");
    if (!json_is_boolean(all))
        return error_set(err, ERR_INVALID, "'readable_all' must be a boolean");
    out->readable_all = json_is_true(all);
    return policy_parse_bytes(object, "workspace", arena, &out->workspace_real, err) &&
           require_absolute(out->workspace_real, "workspace", err) &&
           policy_parse_bytes(object, "home", arena, &out->home, err) &&
           parse_roots(object, "writable", arena, &out->writable, &out->writable_count,
                   err) &&
           parse_roots(object, "readable", arena, &out->readable, &out->readable_count,
                   err) &&
           parse_guards(object, arena, out, err) &&
           parse_protected(object, arena, out, err);
}

bool path_policy_parse(const json_t *json, struct arena *arena, struct path_policy **out,
        struct error *err)
{
    struct policy *policy = arena_zalloc(arena, sizeof(*policy));
    if (!parse_policy(json, arena, policy, err))
        return error_context(err, "paths");
    policy->workspace = policy->workspace_real;
    *out = path_policy_create(policy, arena);
    return true;
}
