#include "base/json.h"

#include "base/utf8.h"

#include <ctype.h>

json_t *json_text(struct str s)
{
    if (utf8_valid(s))
        return json_stringn_nocheck(s.data ? s.data : "", s.len);
    auto_buf fixed = BUF(SIZE_MAX / 4);
    utf8_repair(s, &fixed);
    return json_stringn_nocheck(fixed.data, fixed.len);
}

struct str json_str(const json_t *value)
{
    if (!json_is_string(value))
        return STR("");
    return (struct str){ json_string_value(value), json_string_length(value) };
}

struct str json_get_str(const json_t *object, const char *key, struct str fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? json_str(value) : fallback;
}

/* jansson refuses depth only beyond 2,048 and has no ceiling on memory, so count
 * brackets and commas outside of strings first. */
bool json_fits(struct str text, struct error *err)
{
    size_t values = 1;
    int depth = 0, deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            values++;
            if (++depth > deepest)
                deepest = depth;
        } else if (c == ']' || c == '}') {
            depth--;
        } else if (c == ',') {
            values++;
        }
    }
    if (deepest > JSON_MAX_DEPTH)
        return error_set(
                err, ERR_LIMIT, "JSON is nested deeper than %d levels", JSON_MAX_DEPTH);
    if (values > JSON_MAX_VALUES)
        return error_set(
                err, ERR_LIMIT, "JSON has more than %zu values", JSON_MAX_VALUES);
    return true;
}

static json_t *load(struct str text, json_error_t *why)
{
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_t *value = json_loadb(text.data, text.len, flags, why);
    if (!value && json_error_code(why) == json_error_numeric_overflow)
        value = json_loadb(text.data, text.len, flags | JSON_DECODE_INT_AS_REAL, why);
    return value;
}

/* The code unit of the escape \uXXXX at `at`, or -1. */
static int escaped_unit(struct str text, size_t at)
{
    int unit = 0;
    if (at + 6 > text.len || text.data[at] != '\\' || text.data[at + 1] != 'u')
        return -1;
    for (size_t i = at + 2; i < at + 6; i++) {
        char c = text.data[i];
        if (!isxdigit((unsigned char)c))
            return -1;
        unit = unit * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return unit;
}

/* Replace each escaped surrogate that has no partner by \ufffd, which is as long. */
static bool repair_surrogates(char *text, size_t len)
{
    bool changed = false;
    struct str all = { text, len };
    for (size_t i = 0; i < len; i++) {
        int unit = escaped_unit(all, i), next = escaped_unit(all, i + 6);
        bool high = unit >= 0xd800 && unit < 0xdc00;
        if (high && next >= 0xdc00 && next < 0xe000) {
            i += 11;
        } else if (high || (unit >= 0xdc00 && unit < 0xe000)) {
            memcpy(text + i, "\\ufffd", 6);
            changed = true;
        } else if (text[i] == '\\') {
            i++;
        }
    }
    return changed;
}

bool json_parse(struct str text, json_t **out, struct error *err)
{
    if (!json_fits(text, err))
        return false;
    json_error_t why;
    json_t *value = load(text, &why);
    if (!value) {
        auto_free char *copy = str_copy(text);
        json_error_t unused;
        if (repair_surrogates(copy, text.len))
            value = load((struct str){ copy, text.len }, &unused);
    }
    if (!value)
        return error_set(err, ERR_INVALID, "invalid JSON at byte %d: %.160s",
                why.position, why.text);
    *out = value;
    return true;
}

static int write_chunk(const char *data, size_t len, void *user)
{
    buf_add(user, (struct str){ data, len });
    return 0;
}

void json_write(const json_t *value, struct buf *out)
{
    json_dump_callback(value, write_chunk, out, JSON_COMPACT | JSON_ENCODE_ANY);
}

static void write_escape(unsigned char c, struct buf *out)
{
    static const char names[] = "btn?fr";
    if (c == '"' || c == '\\') {
        buf_addc(out, '\\');
        buf_addc(out, (char)c);
    } else if (c >= '\b' && c <= '\r' && c != '\v') {
        buf_addc(out, '\\');
        buf_addc(out, names[c - '\b']);
    } else {
        buf_addf(out, "\\u%04x", c);
    }
}

static bool needs_escape(char c)
{
    return (unsigned char)c < 0x20 || c == '"' || c == '\\';
}

void json_write_text(struct str s, struct buf *out)
{
    auto_buf fixed = BUF(SIZE_MAX / 4);
    if (!utf8_valid(s)) {
        utf8_repair(s, &fixed);
        s = buf_str(&fixed);
    }
    buf_addc(out, '"');
    for (size_t i = 0; i < s.len;) {
        size_t plain = i;
        while (plain < s.len && !needs_escape(s.data[plain]))
            plain++;
        buf_add(out, str_sub(s, i, plain - i));
        if (plain < s.len)
            write_escape((unsigned char)s.data[plain++], out);
        i = plain;
    }
    buf_addc(out, '"');
}
