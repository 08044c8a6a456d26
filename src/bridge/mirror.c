#include "bridge/mirror.h"

#include "bridge/headers.h"

#include <strings.h>

#define MARK      "x-mcp-header"
#define MAX_NAME  ((size_t)256)
#define MAX_VALUE ((size_t)8 << 10) /* servers take no longer fields */
#define MAX_DEPTH 16

void mirrors_finish(struct mirrors *m)
{
    json_decref(TAKE(m->tools));
}

/* Walks one schema. */
struct walk {
    json_t *marks;               /* what is found */
    const char *keys[MAX_DEPTH]; /* from the root to here, each through "properties" */
    size_t depth;
};

static bool is_primitive(const json_t *schema)
{
    static const char *const types[] = { "boolean", "integer", "string" };
    struct str type = json_get_str(schema, "type", STR(""));
    return str_which(type, types, ARRAY_LEN(types)) < ARRAY_LEN(types);
}

static bool is_taken(const json_t *marks, const char *name)
{
    size_t i;
    const json_t *mark;
    json_array_foreach (marks, i, mark)
        if (!strcasecmp(json_string_value(json_array_get(mark, 0)), name))
            return true;
    return false;
}

/* False: the mark breaks the rules. */
static bool take_mark(struct walk *w, const json_t *schema, const json_t *name)
{
    struct str text = json_str(name);
    if (!w->depth || !is_primitive(schema) || !header_is_name(text) ||
            text.len > MAX_NAME || is_taken(w->marks, text.data) ||
            json_array_size(w->marks) == MIRROR_MAX_FIELDS)
        return false;
    json_t *mark = json_array();
    json_array_append_new(mark, json_text(text));
    for (size_t i = 0; i < w->depth; i++)
        json_array_append_new(mark, json_text(str_of(w->keys[i])));
    json_array_append_new(w->marks, mark);
    return true;
}

/* Below what is no chain of properties there must not be a mark.  json_parse() has
 * bounded the depth. */
static bool has_mark(const json_t *value)
{
    const char *key;
    json_t *part;
    size_t i;
    if (json_object_get(value, MARK))
        return true;
    json_object_foreach ((json_t *)(uintptr_t)value, key, part)
        if (has_mark(part))
            return true;
    json_array_foreach (value, i, part)
        if (has_mark(part))
            return true;
    return false;
}

static bool walk(struct walk *w, const json_t *schema);

static bool walk_properties(struct walk *w, const json_t *properties)
{
    const char *key;
    json_t *part;
    json_object_foreach ((json_t *)(uintptr_t)properties, key, part) {
        if (w->depth == MAX_DEPTH) {
            if (has_mark(part))
                return false;
            continue;
        }
        w->keys[w->depth++] = key;
        if (!walk(w, part))
            return false;
        w->depth--;
    }
    return true;
}

/* What is not a schema but a value of one. */
static bool is_data(const char *key)
{
    static const char *const keys[] = { "const", "default", "enum", "examples" };
    return str_which(str_of(key), keys, ARRAY_LEN(keys)) < ARRAY_LEN(keys);
}

static bool walk(struct walk *w, const json_t *schema)
{
    const char *key;
    json_t *part;
    json_object_foreach ((json_t *)(uintptr_t)schema, key, part) {
        bool fine = true;
        if (!strcmp(key, MARK))
            fine = take_mark(w, schema, part);
        else if (!strcmp(key, "properties"))
            fine = walk_properties(w, part);
        else if (!is_data(key))
            fine = !has_mark(part);
        if (!fine)
            return false;
    }
    return true;
}

static void remember(struct mirrors *m, const char *name, json_t *marks)
{
    if (!m->tools)
        m->tools = json_object();
    if (!json_array_size(marks))
        json_object_del(m->tools, name);
    else if (json_object_size(m->tools) < MIRROR_MAX_TOOLS ||
             json_object_get(m->tools, name))
        json_object_set(m->tools, name, marks);
}

size_t mirrors_learn(struct mirrors *m, json_t *tools)
{
    size_t removed = 0;
    for (size_t i = 0; i < json_array_size(tools);) {
        const json_t *tool = json_array_get(tools, i);
        const char *name = json_string_value(json_object_get(tool, "name"));
        json_auto_t *marks = json_array();
        struct walk w = { .marks = marks };
        bool fine = walk(&w, json_object_get(tool, "inputSchema"));
        if (fine && name)
            remember(m, name, marks);
        if (fine) {
            i++;
            continue;
        }
        json_array_remove(tools, i);
        removed++;
    }
    return removed;
}

/* The argument that a mark is about, or NULL. */
static const json_t *find_value(const json_t *arguments, const json_t *mark)
{
    for (size_t i = 1; i < json_array_size(mark); i++)
        arguments =
                json_object_get(arguments, json_string_value(json_array_get(mark, i)));
    return arguments;
}

static bool write_value(const json_t *value, struct buf *out)
{
    if (json_is_string(value))
        header_encode(json_str(value), out);
    else if (json_is_integer(value))
        buf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        buf_add(out, json_is_true(value) ? STR("true") : STR("false"));
    else
        return false;
    return !out->full;
}

struct curl_slist *mirrors_add(
        const struct mirrors *m, const struct message *message, struct curl_slist *fields)
{
    const json_t *arguments =
            json_object_get(json_object_get(message->json, "params"), "arguments");
    if (!m->tools || !message_is(message, "tools/call") || !message->version.len ||
            !message->has_name || memchr(message->name.data, 0, message->name.len))
        return fields;
    const json_t *marks = json_object_get(m->tools, message->name.data), *mark;
    size_t i;
    json_array_foreach (marks, i, mark) {
        auto_buf value = BUF(MAX_VALUE), field = BUF(MAX_VALUE + MAX_NAME + 32);
        if (!write_value(find_value(arguments, mark), &value))
            continue;
        buf_addf(&field, "Mcp-Param-%s: %.*s", json_string_value(json_array_get(mark, 0)),
                STR_ARG(buf_str(&value)));
        fields = curl_slist_append(fields, field.data);
    }
    return fields;
}
