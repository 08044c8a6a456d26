#include "policy/json-parts.h"

#include "base/json.h"
#include "base/utf8.h"

/* Far more than a policy has; what comes from elsewhere is bounded all the same. */
#define MAX_ITEMS 10000
#define MAX_PATH  ((size_t)1 << 16)

json_t *policy_bytes_json(struct str bytes)
{
    auto_buf text = BUF(2 * bytes.len);
    for (size_t i = 0; i < bytes.len; i++) {
        char code[4];
        size_t len = utf8_write((unsigned char)bytes.data[i], code);
        buf_add(&text, (struct str){ code, len });
    }
    return json_text(buf_str(&text));
}

bool policy_parse_bytes(const json_t *object, const char *key, struct arena *arena,
        struct str *out, struct error *err)
{
    const json_t *value = json_object_get(object, key);
    struct str text = json_str(value);
    if (!json_is_string(value) || text.len > 2 * MAX_PATH)
        return error_set(err, ERR_INVALID, "'%s' must be a string", key);
    char *bytes = arena_alloc(arena, text.len + 1);
    size_t count = 0;
    while (text.len) {
        uint32_t code = 0;
        size_t len = utf8_decode(text, &code);
        if (!len || !code || code > 0xff)
            return error_set(
                    err, ERR_INVALID, "'%s' has a character that is no byte", key);
        bytes[count++] = (char)code;
        text = str_from(text, len);
    }
    bytes[count] = 0;
    *out = (struct str){ bytes, count };
    return true;
}

void policy_add_origin(json_t *object, const struct origin *origin)
{
    if (!origin->file)
        return;
    json_object_set_new(object, "file", policy_bytes_json(str_of(origin->file)));
    json_object_set_new(object, "line", json_integer(origin->line));
}

bool policy_parse_origin(
        const json_t *object, struct arena *arena, struct origin *out, struct error *err)
{
    struct str file;
    json_int_t line = json_integer_value(json_object_get(object, "line"));
    if (!json_object_get(object, "file"))
        return true;
    if (!policy_parse_bytes(object, "file", arena, &file, err))
        return false;
    if (line < 0 || line > UINT32_MAX)
        return error_set(err, ERR_INVALID, "'line' must be a number of a line");
    *out = (struct origin){ file.data, (unsigned)line };
    return true;
}

bool policy_get_list(const json_t *object, const char *key, const json_t **list,
        size_t *count, struct error *err)
{
    *list = json_object_get(object, key);
    *count = json_array_size(*list);
    if (!json_is_array(*list) || *count > MAX_ITEMS)
        return error_set(err, ERR_INVALID, "'%s' must be a list", key);
    return true;
}
