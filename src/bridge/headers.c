#include "bridge/headers.h"

#include <strings.h>

#define MAX_FIELD ((size_t)64 << 10)

static const char before_base64[] = "=?base64?", after_base64[] = "?=";

bool header_is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9');
        if (!is_alnum && (!c || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return s.len;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct str header_trim(struct str s)
{
    while (s.len && is_blank(s.data[0]))
        s = str_from(s, 1);
    while (s.len && (is_blank(s.data[s.len - 1]) || s.data[s.len - 1] == '\r' ||
                            s.data[s.len - 1] == '\n'))
        s.len--;
    return s;
}

bool header_is_value(struct str s)
{
    if (!s.len || is_blank(s.data[0]) || is_blank(s.data[s.len - 1]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_blank(s.data[i]) && (s.data[i] <= 0x20 || s.data[i] >= 0x7f))
            return false;
    return true;
}

static void add_base64(struct str s, struct buf *out)
{
    static const char letters[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.len; i += 3) {
        uint32_t three = 0;
        size_t have = s.len - i < 3 ? s.len - i : 3;
        for (size_t j = 0; j < 3; j++)
            three = three << 8 | (j < have ? (unsigned char)s.data[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            buf_addc(out, j <= have ? letters[three >> (18 - 6 * j) & 63] : '=');
    }
}

void header_encode(struct str value, struct buf *out)
{
    bool looks_encoded = str_starts(value, str_of(before_base64)) &&
                         str_ends(value, str_of(after_base64));
    if (header_is_value(value) && !looks_encoded) {
        buf_add(out, value);
        return;
    }
    buf_add(out, str_of(before_base64));
    add_base64(value, out);
    buf_add(out, str_of(after_base64));
}

bool header_is_media_type(struct str value, const char *type)
{
    struct str name = str_cut(&value, ';');
    while (name.len && is_blank(name.data[name.len - 1]))
        name.len--;
    return name.len == strlen(type) && !strncasecmp(name.data, type, name.len);
}

static void add(struct curl_slist **list, const char *name, struct str value)
{
    auto_buf field = BUF(MAX_FIELD);
    if (!value.len)
        return;
    buf_addf(&field, "%s: %.*s", name, STR_ARG(value));
    struct curl_slist *longer = field.full ? NULL : curl_slist_append(*list, field.data);
    assert(longer);
    *list = longer;
}

static void add_configured(struct curl_slist **list, const struct bridge_setup *setup)
{
    for (size_t i = 0; i < setup->header_count; i++)
        *list = curl_slist_append(*list, setup->headers[i]);
}

static void add_session(struct curl_slist **list, const struct bridge_session *session)
{
    add(list, "MCP-Protocol-Version", str_of(session->version));
    add(list, "Mcp-Session-Id", str_of(session->id));
}

static void add_message(struct curl_slist **list, const struct message *message)
{
    auto_buf name = BUF(MAX_FIELD - 64);
    header_encode(message->name, &name);
    add(list, "MCP-Protocol-Version", message->version);
    add(list, "Mcp-Method", message->method);
    if (message->has_name)
        add(list, "Mcp-Name", buf_str(&name));
}

struct curl_slist *headers_of_message(const struct bridge_setup *setup,
        const struct bridge_session *session, const struct message *message)
{
    struct curl_slist *list = NULL;
    add(&list, "Content-Type", STR("application/json"));
    add(&list, "Accept", STR("application/json, text/event-stream"));
    list = curl_slist_append(list, "Expect:");
    add_configured(&list, setup);
    if (message->version.len)
        add_message(&list, message);
    else if (!str_is(message->method, "initialize"))
        add_session(&list, session);
    return list;
}

struct curl_slist *headers_of_request(const struct bridge_setup *setup,
        const struct bridge_session *session, const char *accept, struct str last_event)
{
    struct curl_slist *list = NULL;
    if (accept[0])
        add(&list, "Accept", str_of(accept));
    else
        list = curl_slist_append(list, "Accept:");
    add_configured(&list, setup);
    add_session(&list, session);
    if (header_is_value(last_event))
        add(&list, "Last-Event-ID", last_event);
    return list;
}
