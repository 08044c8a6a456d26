#include "transport/http-head.h"

#include <ctype.h>
#include <strings.h>

static const char *const names[HTTP_FIELDS] = {
    [HTTP_HOST] = "Host",
    [HTTP_ORIGIN] = "Origin",
    [HTTP_AUTHORIZATION] = "Authorization",
    [HTTP_CONTENT_TYPE] = "Content-Type",
    [HTTP_CONTENT_LENGTH] = "Content-Length",
    [HTTP_TRANSFER_ENCODING] = "Transfer-Encoding",
    [HTTP_EXPECT] = "Expect",
    [HTTP_SESSION] = "Mcp-Session-Id",
    [HTTP_REVISION] = "MCP-Protocol-Version",
    [HTTP_METHOD] = "Mcp-Method",
    [HTTP_NAME] = "Mcp-Name",
};

bool http_same(struct str a, struct str b)
{
    return a.len == b.len && (!a.len || !strncasecmp(a.data, b.data, a.len));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

struct str http_trim(struct str s)
{
    while (s.len && is_space(s.data[0]))
        s = str_from(s, 1);
    while (s.len && is_space(s.data[s.len - 1]))
        s.len--;
    return s;
}

static void range_names(struct http_accept *a, unsigned exactness, bool wanted)
{
    if (exactness < a->exactness)
        return;
    a->wanted = wanted || (exactness == a->exactness && a->wanted);
    a->exactness = exactness;
}

/* "q=0", "q=0.000": it is not wanted at all. */
static bool is_zero_quality(struct str parameter)
{
    struct str value = parameter, name = http_trim(str_cut(&value, '='));
    value = http_trim(value);
    if (!http_same(name, STR("q")) || !value.len || value.data[0] != '0')
        return false;
    for (size_t i = 1; i < value.len; i++)
        if (value.data[i] != '0' && value.data[i] != '.')
            return false;
    return true;
}

static void add_range(struct http_head *head, struct str range)
{
    struct str type = http_trim(str_cut(&range, ';'));
    bool wanted = true;
    while (range.len)
        if (is_zero_quality(str_cut(&range, ';')))
            wanted = false;
    bool all = http_same(type, STR("*/*"));
    if (all || http_same(type, STR("application/*")))
        range_names(&head->json, all ? 1 : 2, wanted);
    if (all || http_same(type, STR("text/*")))
        range_names(&head->stream, all ? 1 : 2, wanted);
    if (http_same(type, STR("application/json")))
        range_names(&head->json, 3, wanted);
    if (http_same(type, STR("text/event-stream")))
        range_names(&head->stream, 3, wanted);
}

static bool is_token(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!name.data[i] || (!isalnum((unsigned char)name.data[i]) &&
                                     !strchr("!#$%&'*+-.^_`|~", name.data[i])))
            return false;
    return name.len;
}

/* Bytes that no field may have in its value (RFC 9110, 5.5): a line that only some end
 * there. */
static bool has_control(struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.data[i] < ' ' && value.data[i] != '\t')
            return true;
    return false;
}

/* The library makes "Content-Length5" of a "Content-Length" with a folded line: to others
 * that is one, and to it none. */
static bool is_folded(struct str name)
{
    static const enum http_field framing[] = { HTTP_CONTENT_LENGTH,
        HTTP_TRANSFER_ENCODING };
    for (size_t i = 0; i < ARRAY_LEN(framing); i++) {
        struct str start = str_of(names[framing[i]]);
        if (name.len > start.len && http_same(str_sub(name, 0, start.len), start))
            return true;
    }
    return false;
}

static bool add_param(struct http_head *head, struct str name, struct str value)
{
    struct str start = STR("Mcp-Param-");
    if (name.len <= start.len || !http_same(str_sub(name, 0, start.len), start))
        return false;
    if (head->param_count < HTTP_MAX_PARAMS)
        head->params[head->param_count++] =
                (struct http_param){ str_from(name, start.len),
                    value.data ? http_trim(value) : STR("") };
    else
        head->has_more_params = true;
    return true;
}

void http_head_add(struct http_head *head, struct str name, struct str value)
{
    head->malformed =
            head->malformed || !is_token(name) || is_folded(name) || has_control(value);
    if (http_same(name, STR("Accept"))) {
        head->has_accept = true;
        while (value.len)
            add_range(head, str_cut(&value, ','));
        return;
    }
    if (add_param(head, name, value))
        return;
    for (size_t i = 0; i < HTTP_FIELDS; i++) {
        if (!http_same(name, str_of(names[i])))
            continue;
        if (head->fields[i].data)
            head->repeated |= 1u << i;
        else
            head->fields[i] = value.data ? http_trim(value) : STR("");
        return;
    }
}

bool http_accepts_json(const struct http_head *head)
{
    return !head->has_accept || head->json.wanted;
}

bool http_accepts_stream(const struct http_head *head)
{
    return !head->has_accept || head->stream.wanted;
}
