#include "protocol/raw.h"

#include "base/json.h"

static struct str skip_space(struct str s)
{
    while (s.len && strchr(" \t\r\n", s.data[0]) && s.data[0])
        s = str_from(s, 1);
    return s;
}

/* Length of the string literal at the start of `s`, with its quotes. */
static size_t string_length(struct str s)
{
    for (size_t i = 1; i < s.len; i++) {
        if (s.data[i] == '\\')
            i++;
        else if (s.data[i] == '"')
            return i + 1;
    }
    return s.len;
}

/* Length of the array or object at the start of `s`. */
static size_t container_length(struct str s)
{
    size_t depth = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        if (c == '"')
            i += string_length(str_from(s, i)) - 1;
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return i + 1;
    }
    return s.len;
}

static size_t value_length(struct str s)
{
    if (!s.len)
        return 0;
    if (s.data[0] == '"')
        return string_length(s);
    if (s.data[0] == '{' || s.data[0] == '[')
        return container_length(s);
    size_t len = 0;
    while (len < s.len && !memchr(",]} \t\r\n", s.data[len], 7))
        len++;
    return len;
}

static struct str take_value(struct str *rest)
{
    struct str s = skip_space(*rest);
    size_t len = value_length(s);
    *rest = skip_space(str_from(s, len));
    return str_sub(s, 0, len);
}

/* Whether the literal `text`, quotes and escapes included, spells `key`. */
static bool spells(struct str text, const char *key)
{
    if (text.len < 2)
        return false;
    if (!memchr(text.data, '\\', text.len))
        return str_is(str_sub(text, 1, text.len - 2), key);
    json_t *value;
    struct error err;
    if (!json_parse(text, &value, &err))
        return false;
    bool same = str_is(json_str(value), key);
    json_decref(value);
    return same;
}

struct str raw_member(struct str object, const char *key)
{
    struct str rest = skip_space(object);
    if (!rest.len || rest.data[0] != '{')
        return (struct str){ NULL, 0 };
    while (rest.len && (rest.data[0] == '{' || rest.data[0] == ',')) {
        rest = str_from(rest, 1);
        struct str name = take_value(&rest);
        rest = str_from(rest, 1); /* the colon */
        struct str value = take_value(&rest);
        if (spells(name, key))
            return value;
    }
    return (struct str){ NULL, 0 };
}

bool raw_next(struct str *rest, struct str *element)
{
    struct str s = skip_space(*rest);
    if (!s.len || (s.data[0] != '[' && s.data[0] != ','))
        return false;
    s = str_from(s, 1);
    *element = take_value(&s);
    *rest = s;
    return element->len > 0;
}
