#include "transport/http-mirror.h"

#include "base/utf8.h"

#include <stdio.h>

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

/* The value, which may be "=?base64?...?=" for what no header can hold.  False: it is
 * marked as such and is none. */
static bool decode_value(struct str value, struct buf *out)
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

bool http_mismatch(struct rpc_fault *fault, const char *name, const char *what)
{
    return rpc_fault(fault, RPC_HEADER_MISMATCH, "Header mismatch: %s %s", name, what);
}

static bool header_is(const struct http_head *head, enum http_field field,
        const char *name, struct str wanted, struct rpc_fault *fault)
{
    if (!http_head_has(head, field))
        return http_mismatch(fault, name, "is missing");
    if (http_head_repeats(head, field))
        return http_mismatch(fault, name, "came more than once");
    auto_buf value = BUF(head->fields[field].len + 1);
    bool is_name = field == HTTP_NAME;
    if (is_name && !decode_value(head->fields[field], &value))
        return http_mismatch(fault, name, "is no base64");
    struct str given = is_name ? buf_str(&value) : head->fields[field];
    return str_eq(given, wanted) || http_mismatch(fault, name, "differs from the body");
}

bool http_mirror_revision(
        const struct http_head *head, struct str version, struct rpc_fault *fault)
{
    return header_is(head, HTTP_REVISION, "MCP-Protocol-Version", version, fault);
}

/* What the body calls by name, for methods that the header Mcp-Name goes with. */
static const char *name_member(struct str method)
{
    if (str_is(method, "tools/call") || str_is(method, "prompts/get"))
        return "name";
    return str_is(method, "resources/read") ? "uri" : NULL;
}

/* Visible ASCII, and blanks between. */
static bool is_field_text(struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if ((value.data[i] < ' ' || value.data[i] > '~') && value.data[i] != '\t')
            return false;
    return true;
}

/* "42.0" is 42. */
static bool is_number(struct str text, const json_t *wanted)
{
    json_t *given = NULL;
    struct error err;
    if (!json_parse(text, &given, &err))
        return false;
    bool exact = json_is_integer(given) && json_is_integer(wanted);
    bool same = exact ? json_integer_value(given) == json_integer_value(wanted)
                      : json_is_number(given) &&
                                json_number_value(given) == json_number_value(wanted);
    json_decref(given);
    return same;
}

static bool is_value(struct str text, const json_t *wanted)
{
    if (json_is_string(wanted))
        return str_eq(text, json_str(wanted));
    if (json_is_boolean(wanted))
        return str_is(text, json_is_true(wanted) ? "true" : "false");
    return json_is_number(wanted) && is_number(text, wanted);
}

static const struct http_param *find_param(
        const struct http_head *head, struct str name, unsigned *count)
{
    const struct http_param *found = NULL;
    *count = 0;
    for (unsigned i = 0; i < head->param_count; i++)
        if (http_same(head->params[i].name, name) && !(*count)++)
            found = &head->params[i];
    return found;
}

/* `wanted`: NULL or null: the client has no such argument to repeat. */
static bool check_param(const struct http_head *head, struct str name,
        const json_t *wanted, struct rpc_fault *fault)
{
    char shown[80];
    unsigned count;
    const struct http_param *given = find_param(head, name, &count);
    bool is_there = wanted && !json_is_null(wanted);
    snprintf(shown, sizeof(shown), "Mcp-Param-%.*s", STR_ARG(str_sub(name, 0, 60)));
    if (!given)
        return !is_there || http_mismatch(fault, shown, "is missing");
    if (count > 1)
        return http_mismatch(fault, shown, "came more than once");
    if (!is_field_text(given->value))
        return http_mismatch(fault, shown, "has characters that no header can have");
    auto_buf value = BUF(given->value.len + 1);
    if (!decode_value(given->value, &value))
        return http_mismatch(fault, shown, "is no base64");
    return (is_there && is_value(buf_str(&value), wanted)) ||
           http_mismatch(fault, shown, "differs from the body");
}

static bool check_params(const struct http_head *head, const json_t *schema,
        const json_t *args, struct rpc_fault *fault)
{
    const char *key;
    json_t *property;
    json_object_foreach (json_object_get(schema, "properties"), key, property) {
        const json_t *name = json_object_get(property, "x-mcp-header");
        const json_t *value = json_object_get(args, key);
        if (name && !check_param(head, json_str(name), value, fault))
            return false;
        if (!check_params(head, property, value, fault))
            return false;
    }
    return true;
}

bool http_mirror_call(const struct http_head *head, const struct rpc_message *m,
        const json_t *schema, struct rpc_fault *fault)
{
    const char *member = name_member(m->method);
    const json_t *name = member ? json_object_get(m->params, member) : NULL;
    if (!header_is(head, HTTP_METHOD, "Mcp-Method", m->method, fault))
        return false;
    if (json_is_string(name) &&
            !header_is(head, HTTP_NAME, "Mcp-Name", json_str(name), fault))
        return false;
    if (schema && head->has_more_params)
        return http_mismatch(fault, "Mcp-Param-*", "came too often");
    return !schema ||
           check_params(head, schema, json_object_get(m->params, "arguments"), fault);
}
