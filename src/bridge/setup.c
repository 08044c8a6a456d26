#include "bridge/setup.h"

#include "base/json.h"
#include "bridge/bridge.h"
#include "bridge/headers.h"

#include <strings.h>

/* Ours to say, or about one connection. */
static const char *const reserved[] = { "Accept", "Accept-Encoding", "Connection",
    "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive",
    "Last-Event-ID", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id",
    "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade" };

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
        if (!strcasecmp(name, reserved[i]))
            return true;
    return !strncasecmp(name, "Mcp-Param-", strlen("Mcp-Param-"));
}

static void add_secret(struct bridge_setup *setup, struct str secret)
{
    if (secret.len >= BRIDGE_MIN_SECRET)
        setup->secrets[setup->secret_count++] = secret;
}

/* "Bearer TOKEN" is a secret, and so is TOKEN. */
static void add_secrets(struct bridge_setup *setup, struct str value)
{
    size_t word = value.len;
    while (word && value.data[word - 1] != ' ')
        word--;
    add_secret(setup, value);
    if (word)
        add_secret(setup, str_from(value, word));
}

static bool take_header(struct bridge_setup *setup, struct str text, struct arena *arena,
        struct error *err)
{
    struct str rest = text;
    struct str name = str_cut(&rest, ':');
    struct str value = header_trim(rest);
    if (name.len == text.len || !header_is_name(name))
        return error_set(err, ERR_INVALID, "header %zu is not 'Name: value'",
                setup->header_count + 1);
    const char *shown = arena_cstr(arena, name);
    if (is_reserved(shown)) {
        error_set(err, ERR_INVALID, "the header '%s' is set by the transport", shown);
        return error_hint(err, "Remove it from the definition.");
    }
    if (value.len && !header_is_value(value))
        return error_set(err, ERR_INVALID,
                "the value of the header '%s' is not visible ASCII", shown);
    if (setup->header_count == BRIDGE_MAX_HEADERS)
        return error_set(
                err, ERR_INVALID, "there are more than %d headers", BRIDGE_MAX_HEADERS);
    value = arena_str(arena, value);
    add_secrets(setup, value);
    /* "Name:" would remove a header of curl's. */
    setup->headers[setup->header_count++] =
            value.len ? arena_printf(arena, "%s: %s", shown, value.data)
                      : arena_printf(arena, "%s;", shown);
    return true;
}

static bool take_headers(struct bridge_setup *setup, const json_t *headers,
        struct arena *arena, struct error *err)
{
    if (headers && !json_is_array(headers))
        return error_set(err, ERR_INVALID, "'headers' is no array");
    for (size_t i = 0; i < json_array_size(headers); i++)
        if (!take_header(setup, json_str(json_array_get(headers, i)), arena, err))
            return false;
    return true;
}

/* Without a NUL, which would cut it short. */
static bool take_text(const json_t *setup, const char *key, struct arena *arena,
        const char **out, struct error *err)
{
    const json_t *value = json_object_get(setup, key);
    struct str text = json_str(value);
    if (!value)
        return true;
    if (!text.len || memchr(text.data, 0, text.len))
        return error_set(err, ERR_INVALID, "'%s' is no text", key);
    *out = arena_cstr(arena, text);
    return true;
}

bool bridge_setup_parse(
        struct str json, struct arena *arena, struct bridge_setup *out, struct error *err)
{
    struct bridge_setup setup = { .header_count = 0 };
    const char *url = NULL, *proxy = NULL;
    json_auto_t *root = NULL;
    if (json.len > BRIDGE_MAX_SETUP)
        return error_set(err, ERR_INVALID, "the setup is too long");
    if (!json_parse(json, &root, err))
        return error_context(err, "setup");
    if (!take_text(root, "url", arena, &url, err) ||
            !take_text(root, "ca_file", arena, &setup.ca_file, err) ||
            !take_text(root, "proxy", arena, &proxy, err) ||
            !take_headers(&setup, json_object_get(root, "headers"), arena, err))
        return false;
    if (!url)
        return error_set(err, ERR_INVALID, "the setup has no URL");
    if (!url_parse(url, NULL, arena, &setup.url, err))
        return false;
    if (proxy && !url_parse(proxy, NULL, arena, &setup.proxy, err))
        return error_context(err, "proxy");
    add_secret(&setup, setup.url.query);
    *out = setup;
    return true;
}

static size_t find_secret(
        const struct bridge_setup *setup, struct str text, size_t from, size_t *len)
{
    size_t first = text.len;
    for (size_t i = 0; i < setup->secret_count; i++) {
        struct str secret = setup->secrets[i];
        const char *at =
                memmem(text.data + from, text.len - from, secret.data, secret.len);
        /* The longer one, of two at the same place, comes first in the list. */
        if (at && (size_t)(at - text.data) < first) {
            first = (size_t)(at - text.data);
            *len = secret.len;
        }
    }
    return first;
}

void bridge_hide_secrets(
        const struct bridge_setup *setup, struct str text, struct buf *out)
{
    size_t from = 0, len = 0;
    while (from < text.len) {
        size_t at = find_secret(setup, text, from, &len);
        buf_add(out, str_sub(text, from, at - from));
        if (at < text.len)
            buf_add(out, STR("***"));
        from = at + len;
    }
}
