#include "policy/setup.h"

#include "base/json.h"

#include <limits.h>

#define MAX_DOOR (SETUP_FIRST_ROOT_FD + SETUP_MAX_ROOTS)

static const char *const kind_names[] = {
    [SETUP_LOCAL] = "local", [SETUP_MEMORY] = "memory"
};

static json_t *root_json(const struct setup_root *root)
{
    json_t *object = json_object();
    json_object_set_new(object, "at", json_text(root->at));
    json_object_set_new(object, "kind", json_text(str_of(kind_names[root->kind])));
    if (root->kind == SETUP_LOCAL) {
        json_object_set_new(object, "fd", json_integer(root->fd));
        json_object_set_new(object, "host_path", json_text(root->host_path));
    }
    return object;
}

static json_t *strings_json(const struct str *items, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_text(items[i]));
    return list;
}

void setup_write(const struct setup *s, struct buf *out)
{
    json_t *object = json_object(), *roots = json_array();
    json_object_set_new(object, "name", json_text(s->name));
    json_object_set_new(object, "read_only", json_boolean(s->read_only));
    json_object_set_new(object, "deny", strings_json(s->deny, s->deny_count));
    json_object_set_new(object, "max_output", json_integer(s->max_output));
    json_object_set_new(object, "timeout_ms", json_integer(s->timeout_ms));
    json_object_set_new(object, "max_steps", json_integer((json_int_t)s->max_steps));
    json_object_set_new(object, "max_depth", json_integer(s->max_depth));
    json_object_set_new(object, "max_memory_mib", json_integer(s->max_memory_mib));
    for (size_t i = 0; i < s->root_count; i++)
        json_array_append_new(roots, root_json(&s->roots[i]));
    json_object_set_new(object, "roots", roots);
    if (s->paths)
        json_object_set_new(object, "paths", path_policy_json(s->paths));
    json_object_set_new(object, "events", json_boolean(s->events));
    json_object_set_new(object, "hashes", json_boolean(s->hashes));
    json_object_set_new(object, "programs", json_boolean(s->programs));
    if (s->door) {
        json_object_set_new(object, "door", json_integer(s->door));
        json_object_set_new(object, "files", strings_json(s->files, s->file_count));
    }
    json_write(object, out);
    json_decref(object);
}

static bool take_text(const json_t *object, const char *key, struct arena *arena,
        struct str *out, struct error *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return error_set(err, ERR_INVALID, "'%s' must be a string", key);
    *out = arena_str(arena, json_str(value));
    return true;
}

static bool take_positive(
        const json_t *object, const char *key, unsigned *out, struct error *err)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    if (value < 1 || value > UINT_MAX)
        return error_set(err, ERR_INVALID, "'%s' must be a positive integer", key);
    *out = (unsigned)value;
    return true;
}

static bool parse_kind(struct str name, enum setup_root_kind *out, struct error *err)
{
    size_t i = str_which(name, kind_names, ARRAY_LEN(kind_names));
    if (i == ARRAY_LEN(kind_names))
        return error_set(err, ERR_INVALID, "unknown kind of root '%.*s'", STR_ARG(name));
    *out = (enum setup_root_kind)i;
    return true;
}

static bool parse_root(const json_t *object, struct arena *arena, struct setup_root *out,
        struct error *err)
{
    struct str kind;
    out->fd = -1;
    if (!take_text(object, "at", arena, &out->at, err) ||
            !take_text(object, "kind", arena, &kind, err) ||
            !parse_kind(kind, &out->kind, err))
        return false;
    if (out->kind != SETUP_LOCAL)
        return true;
    unsigned fd = 0;
    if (!take_positive(object, "fd", &fd, err) || fd > INT_MAX)
        return error_set(err, ERR_INVALID, "'fd' must be a descriptor");
    out->fd = (int)fd;
    return take_text(object, "host_path", arena, &out->host_path, err);
}

static bool parse_roots(
        const json_t *roots, struct arena *arena, struct setup *out, struct error *err)
{
    size_t count = json_array_size(roots);
    if (count < 1 || count > SETUP_MAX_ROOTS)
        return error_set(
                err, ERR_INVALID, "'roots' must be 1 to %d roots", SETUP_MAX_ROOTS);
    struct setup_root *list = arena_zalloc(arena, count * sizeof(*list));
    for (size_t i = 0; i < count; i++)
        if (!parse_root(json_array_get(roots, i), arena, &list[i], err))
            return error_context(err, "root %zu", i + 1);
    out->roots = list;
    out->root_count = count;
    return true;
}

static bool take_strings(const json_t *object, const char *key, struct arena *arena,
        const struct str **out, size_t *out_count, struct error *err)
{
    const json_t *array = json_object_get(object, key);
    size_t count = json_array_size(array);
    struct str *list = arena_alloc(arena, (count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        if (!json_is_string(json_array_get(array, i)))
            return error_set(err, ERR_INVALID, "'%s' must be strings", key);
        list[i] = arena_str(arena, json_str(json_array_get(array, i)));
    }
    *out = list;
    *out_count = count;
    return true;
}

/* 0 if it is left out. */
static bool take_limit(const json_t *object, const char *key, int64_t most, int64_t *out,
        struct error *err)
{
    const json_t *value = json_object_get(object, key);
    json_int_t n = json_integer_value(value);
    if (value && (!json_is_integer(value) || n < 0 || n > most))
        return error_set(err, ERR_INVALID, "'%s' must be a number up to %lld", key,
                (long long)most);
    *out = n;
    return true;
}

static bool parse_limits(const json_t *object, struct setup *out, struct error *err)
{
    int64_t steps = 0, depth = 0, memory = 0;
    if (!take_limit(object, "max_steps", INT64_MAX, &steps, err) ||
            !take_limit(object, "max_depth", UINT32_MAX, &depth, err) ||
            !take_limit(object, "max_memory_mib", UINT32_MAX, &memory, err))
        return false;
    out->max_steps = (uint64_t)steps;
    out->max_depth = (unsigned)depth;
    out->max_memory_mib = (unsigned)memory;
    return true;
}

static bool parse_paths(
        const json_t *paths, struct arena *arena, struct setup *out, struct error *err)
{
    struct path_policy *policy;
    if (!paths)
        return true;
    if (out->root_count != 1 || out->roots[0].kind != SETUP_LOCAL ||
            !str_is(out->roots[0].at, "/") || !str_is(out->roots[0].host_path, "/"))
        return error_set(
                err, ERR_INVALID, "with 'paths' there is one root, which is '/'");
    if (!path_policy_parse(paths, arena, &policy, err))
        return false;
    out->paths = policy;
    return true;
}

static bool parse_fields(
        const json_t *object, struct arena *arena, struct setup *out, struct error *err)
{
    out->read_only = json_is_true(json_object_get(object, "read_only"));
    out->events = json_is_true(json_object_get(object, "events"));
    out->hashes = json_is_true(json_object_get(object, "hashes"));
    out->programs = json_is_true(json_object_get(object, "programs"));
    json_int_t door = json_integer_value(json_object_get(object, "door"));
    out->door = door > 0 && door <= MAX_DOOR ? (int)door : 0;
    return take_text(object, "name", arena, &out->name, err) &&
           take_positive(object, "max_output", &out->max_output, err) &&
           take_positive(object, "timeout_ms", &out->timeout_ms, err) &&
           parse_limits(object, out, err) &&
           take_strings(object, "deny", arena, &out->deny, &out->deny_count, err) &&
           take_strings(object, "files", arena, &out->files, &out->file_count, err) &&
           parse_roots(json_object_get(object, "roots"), arena, out, err) &&
           parse_paths(json_object_get(object, "paths"), arena, out, err);
}

bool setup_parse(
        struct str json, struct arena *arena, struct setup *out, struct error *err)
{
    json_t *object;
    struct setup s = { 0 };
    if (!json_parse(json, &object, err))
        return error_context(err, "setup");
    bool fine = parse_fields(object, arena, &s, err);
    json_decref(object);
    if (!fine)
        return error_context(err, "setup");
    *out = s;
    return true;
}
