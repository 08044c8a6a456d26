#include "policy/python-policy.h"

#include "policy/json-parts.h"
#include "policy/pyre/pyre.h"

static json_t *texts_json(const struct policy_texts *texts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < texts->count; i++) {
        json_t *item =
                json_pack("{s:o}", "text", policy_bytes_json(texts->items[i].text));
        policy_add_origin(item, &texts->items[i].origin);
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *regexes_json(const struct policy_regexes *regexes)
{
    json_t *list = json_array();
    for (size_t i = 0; i < regexes->count; i++) {
        json_t *item =
                json_pack("{s:o}", "text", policy_bytes_json(regexes->items[i].text));
        policy_add_origin(item, &regexes->items[i].origin);
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *imports_json(const struct policy *policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->import_count; i++) {
        const struct policy_import *import = &policy->imports[i];
        json_t *item = json_pack("{s:o, s:i, s:o}", "name",
                policy_bytes_json(import->name), "kind", (int)import->kind, "value",
                policy_bytes_json(import->value));
        policy_add_origin(item, &import->origin);
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *audit_json(const struct policy *policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->audit_count; i++) {
        const struct policy_audit *audit = &policy->audit[i];
        json_t *item = json_pack("{s:o, s:i}", "event", policy_bytes_json(audit->event),
                "disposition", (int)audit->disposition);
        policy_add_origin(item, &audit->origin);
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *restrictions_json(const struct policy *policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->restriction_count; i++) {
        const struct policy_restriction *r = &policy->restrictions[i];
        json_t *item = json_pack("{s:o, s:i, s:o, s:o, s:o, s:o}", "name",
                policy_bytes_json(r->name), "mode", (int)r->mode, "module_allow",
                regexes_json(&r->module_allow), "module_deny",
                regexes_json(&r->module_deny), "class_allow",
                regexes_json(&r->class_allow), "class_deny",
                regexes_json(&r->class_deny));
        policy_add_origin(item, &r->origin);
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *messages_json(const struct policy *policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->message_count; i++) {
        const struct policy_message *m = &policy->messages[i];
        json_t *item = json_pack("{s:o, s:o}", "regex", policy_bytes_json(m->regex.text),
                "text", policy_bytes_json(m->text));
        policy_add_origin(item, &m->regex.origin);
        json_array_append_new(list, item);
    }
    return list;
}

json_t *python_policy_json(const struct policy *policy)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "imports",
            imports_json(policy), "block_calls", texts_json(&policy->block_calls),
            "block_attributes", texts_json(&policy->block_attributes), "audit",
            audit_json(policy), "restrictions", restrictions_json(policy), "overrides",
            texts_json(&policy->import_overrides), "messages", messages_json(policy));
}

/* A small number that is the name of something. */
static bool parse_word(
        const json_t *item, const char *key, int last, int *out, struct error *err)
{
    const json_t *value = json_object_get(item, key);
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 0 || n > last)
        return error_set(err, ERR_INVALID, "'%s' must be a number up to %d", key, last);
    *out = (int)n;
    return true;
}

static bool parse_texts(const json_t *object, const char *key, struct arena *arena,
        struct policy_texts *out, struct error *err)
{
    const json_t *list;
    size_t count;
    if (!policy_get_list(object, key, &list, &count, err))
        return false;
    struct policy_text *items = arena_zalloc(arena, (count + 1) * sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!policy_parse_bytes(item, "text", arena, &items[i].text, err) ||
                !policy_parse_origin(item, arena, &items[i].origin, err))
            return error_context(err, "%s %zu", key, i + 1);
    }
    *out = (struct policy_texts){ items, count };
    return true;
}

static void destroy_pyre(void *pattern)
{
    pyre_destroy(pattern);
}

static bool parse_regex(const json_t *item, const char *key, struct arena *arena,
        struct policy_regex *out, struct error *err)
{
    if (!policy_parse_bytes(item, key, arena, &out->text, err) ||
            !policy_parse_origin(item, arena, &out->origin, err) ||
            !pyre_create(out->text, 0, &out->pattern, err))
        return false;
    arena_defer(arena, destroy_pyre, out->pattern);
    return true;
}

static bool parse_regexes(const json_t *object, const char *key, struct arena *arena,
        struct policy_regexes *out, struct error *err)
{
    const json_t *list;
    size_t count;
    if (!policy_get_list(object, key, &list, &count, err))
        return false;
    struct policy_regex *items = arena_zalloc(arena, (count + 1) * sizeof(*items));
    for (size_t i = 0; i < count; i++)
        if (!parse_regex(json_array_get(list, i), "text", arena, &items[i], err))
            return error_context(err, "%s %zu", key, i + 1);
    *out = (struct policy_regexes){ items, count };
    return true;
}

static bool parse_imports(
        const json_t *object, struct arena *arena, struct policy *out, struct error *err)
{
    const json_t *list;
    if (!policy_get_list(object, "imports", &list, &out->import_count, err))
        return false;
    out->imports = arena_zalloc(arena, (out->import_count + 1) * sizeof(*out->imports));
    for (size_t i = 0; i < out->import_count; i++) {
        const json_t *item = json_array_get(list, i);
        struct policy_import *import = &out->imports[i];
        int kind = 0;
        if (!policy_parse_bytes(item, "name", arena, &import->name, err) ||
                !parse_word(item, "kind", IMPORT_PATH, &kind, err) ||
                !policy_parse_bytes(item, "value", arena, &import->value, err) ||
                !policy_parse_origin(item, arena, &import->origin, err))
            return error_context(err, "import %zu", i + 1);
        import->kind = (enum import_kind)kind;
    }
    return true;
}

static bool parse_audit(
        const json_t *object, struct arena *arena, struct policy *out, struct error *err)
{
    const json_t *list;
    if (!policy_get_list(object, "audit", &list, &out->audit_count, err))
        return false;
    out->audit = arena_zalloc(arena, (out->audit_count + 1) * sizeof(*out->audit));
    for (size_t i = 0; i < out->audit_count; i++) {
        const json_t *item = json_array_get(list, i);
        struct policy_audit *audit = &out->audit[i];
        int word = 0;
        if (!policy_parse_bytes(item, "event", arena, &audit->event, err) ||
                !parse_word(item, "disposition", AUDIT_SQLITE_CONNECT, &word, err) ||
                !policy_parse_origin(item, arena, &audit->origin, err))
            return error_context(err, "audit %zu", i + 1);
        audit->disposition = (enum audit_disposition)word;
    }
    return true;
}

static bool parse_restriction(const json_t *item, struct arena *arena,
        struct policy_restriction *out, struct error *err)
{
    int mode = 0;
    if (!policy_parse_bytes(item, "name", arena, &out->name, err) ||
            !parse_word(item, "mode", MODE_ALLOW, &mode, err) ||
            !policy_parse_origin(item, arena, &out->origin, err))
        return false;
    out->mode = (enum policy_mode)mode;
    return parse_regexes(item, "module_allow", arena, &out->module_allow, err) &&
           parse_regexes(item, "module_deny", arena, &out->module_deny, err) &&
           parse_regexes(item, "class_allow", arena, &out->class_allow, err) &&
           parse_regexes(item, "class_deny", arena, &out->class_deny, err);
}

static bool parse_restrictions(
        const json_t *object, struct arena *arena, struct policy *out, struct error *err)
{
    const json_t *list;
    if (!policy_get_list(object, "restrictions", &list, &out->restriction_count, err))
        return false;
    size_t count = out->restriction_count;
    out->restrictions = arena_zalloc(arena, (count + 1) * sizeof(*out->restrictions));
    for (size_t i = 0; i < count; i++)
        if (!parse_restriction(
                    json_array_get(list, i), arena, &out->restrictions[i], err))
            return error_context(err, "restriction %zu", i + 1);
    return true;
}

static bool parse_messages(
        const json_t *object, struct arena *arena, struct policy *out, struct error *err)
{
    const json_t *list;
    if (!policy_get_list(object, "messages", &list, &out->message_count, err))
        return false;
    out->messages =
            arena_zalloc(arena, (out->message_count + 1) * sizeof(*out->messages));
    for (size_t i = 0; i < out->message_count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!parse_regex(item, "regex", arena, &out->messages[i].regex, err) ||
                !policy_parse_bytes(item, "text", arena, &out->messages[i].text, err))
            return error_context(err, "message %zu", i + 1);
    }
    return true;
}

static bool parse_all(
        const json_t *json, struct arena *arena, struct policy *out, struct error *err)
{
    return parse_imports(json, arena, out, err) &&
           parse_texts(json, "block_calls", arena, &out->block_calls, err) &&
           parse_texts(json, "block_attributes", arena, &out->block_attributes, err) &&
           parse_audit(json, arena, out, err) &&
           parse_restrictions(json, arena, out, err) &&
           parse_texts(json, "overrides", arena, &out->import_overrides, err) &&
           parse_messages(json, arena, out, err);
}

bool python_policy_parse(
        const json_t *json, struct arena *arena, struct policy *out, struct error *err)
{
    return parse_all(json, arena, out, err) || error_context(err, "python");
}
