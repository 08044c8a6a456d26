#include "bridge/url.h"

#include <curl/curl.h>
#include <strings.h>

static void free_handle(CURLU **handle)
{
    curl_url_cleanup(*handle);
}

static const char *get_part(
        CURLU *handle, CURLUPart part, unsigned flags, struct arena *arena)
{
    char *text = NULL;
    if (curl_url_get(handle, part, &text, flags) || !text)
        return NULL;
    const char *copy = arena_cstr(arena, str_of(text));
    curl_free(text);
    return copy;
}

static bool explain(CURLUcode code, struct error *err)
{
    if (code == CURLUE_USER_NOT_ALLOWED) {
        error_set(err, ERR_INVALID, "the URL has a user name in it");
        return error_hint(err, "Put it into a header, 'Authorization: Basic ...'.");
    }
    if (code == CURLUE_UNSUPPORTED_SCHEME)
        return error_set(err, ERR_INVALID, "the URL is neither http nor https");
    return error_set(
            err, ERR_INVALID, "the URL cannot be used: %s", curl_url_strerror(code));
}

static bool take_parts(
        CURLU *handle, struct arena *arena, struct url *url, struct error *err)
{
    const char *scheme = get_part(handle, CURLUPART_SCHEME, 0, arena);
    const char *host = get_part(handle, CURLUPART_HOST, 0, arena);
    const char *port = get_part(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT, arena);
    const char *query = get_part(handle, CURLUPART_QUERY, 0, arena);
    url->text = get_part(handle, CURLUPART_URL, 0, arena);
    url->is_tls = scheme && !strcasecmp(scheme, "https");
    if (!url->is_tls && (!scheme || strcasecmp(scheme, "http")))
        return explain(CURLUE_UNSUPPORTED_SCHEME, err);
    if (!host || !port || !url->text)
        return error_set(err, ERR_INVALID, "the URL has no host");
    url->port = (uint16_t)strtoul(port, NULL, 10);
    url->query = str_of(query ? query : "");
    const char *shown = get_part(handle, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT, arena);
    auto_buf origin = BUF((size_t)16 << 10);
    buf_addf(&origin, "%s://%s%s%s", url->is_tls ? "https" : "http", host,
            shown ? ":" : "", shown ? shown : "");
    url->origin = arena_cstr(arena, buf_str(&origin));
    return true;
}

bool url_parse(const char *text, const struct url *base, struct arena *arena,
        struct url *out, struct error *err)
{
    AUTO(free_handle) CURLU *handle = curl_url();
    struct url url;
    CURLUcode code = CURLUE_OK;
    if (base)
        code = curl_url_set(handle, CURLUPART_URL, base->text, 0);
    if (!code)
        code = curl_url_set(handle, CURLUPART_URL, text, CURLU_DISALLOW_USER);
    if (!code)
        code = curl_url_set(handle, CURLUPART_FRAGMENT, NULL, 0);
    if (code)
        return explain(code, err);
    if (!take_parts(handle, arena, &url, err))
        return false;
    *out = url;
    return true;
}

bool url_same_origin(const struct url *a, const struct url *b)
{
    return a->port == b->port && !strcasecmp(a->origin, b->origin);
}

bool url_is_local(const struct url *url)
{
    const char *text = strstr(url->origin, "://") + strlen("://");
    struct str host = { text,
        text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":") };
    if (str_starts(host, STR("127.")))
        return strspn(text, "0123456789.") == host.len;
    return str_is(host, "[::1]") || str_is(host, "localhost");
}
