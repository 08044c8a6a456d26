#include "transport/http-rules.h"

#include "protocol/era.h"

#include <stdarg.h>
#include <stdio.h>

static enum http_route PRINTF(3, 4)
        refuse(struct http_refusal *r, unsigned status, const char *fmt, ...)
{
    *r = (struct http_refusal){ .status = status };
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->reason, sizeof(r->reason), fmt, ap);
    va_end(ap);
    return HTTP_ROUTE_REFUSED;
}

/* Nothing can be said about where this request ends and the next begins. */
static enum http_route refuse_framing(struct http_refusal *r, const char *why)
{
    refuse(r, 400, "%s", why);
    r->at_once = true;
    return HTTP_ROUTE_REFUSED;
}

bool http_same_secret(struct str a, struct str b)
{
    unsigned char differs = a.len != b.len;
    for (size_t i = 0; i < a.len; i++)
        differs |= (unsigned char)(a.data[i] ^ (b.len ? b.data[i % b.len] : 1));
    return !differs;
}

static bool is_number(struct str s, size_t most)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    return s.len && s.len <= most;
}

/* The name part of "name", "name:80", "[::1]:80"; false: it is none of these. */
static bool cut_port(struct str authority, struct str *name)
{
    size_t end = 0;
    if (authority.len && authority.data[0] == '[') {
        const char *close = memchr(authority.data, ']', authority.len);
        end = close ? (size_t)(close - authority.data) + 1 : 0;
    } else {
        while (end < authority.len && authority.data[end] != ':')
            end++;
    }
    *name = str_sub(authority, 0, end);
    struct str port = str_from(authority, end);
    return end && (!port.len || (port.data[0] == ':' && is_number(str_from(port, 1), 5)));
}

static bool is_listed(struct str name, const struct str *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (http_same(name, list[i]))
            return true;
    return false;
}

bool http_host_allowed(const struct http_rules *rules, struct str host)
{
    static const struct str loopback[] = { { "localhost", 9 }, { "127.0.0.1", 9 },
        { "[::1]", 5 } };
    struct str name;
    return cut_port(host, &name) &&
           (is_listed(name, loopback, ARRAY_LEN(loopback)) ||
                   is_listed(name, rules->hosts, rules->host_count));
}

/* A page of this very server, or one that was listed. */
static bool origin_allowed(const struct http_rules *rules, const struct http_head *head)
{
    struct str origin = head->fields[HTTP_ORIGIN], host = head->fields[HTTP_HOST];
    if (is_listed(origin, rules->origins, rules->origin_count))
        return true;
    struct str rest = origin, scheme = str_cut(&rest, ':');
    if (!http_same(scheme, STR("http")) && !http_same(scheme, STR("https")))
        return false;
    return str_starts(rest, STR("//")) && rest.len == host.len + 2 &&
           is_listed(str_from(rest, 2), &host, 1);
}

/* Where does this request end?  RFC 9112, 6.3: two answers are an attack. */
static bool is_framed(const struct http_head *head)
{
    bool has_length = http_head_has(head, HTTP_CONTENT_LENGTH);
    bool has_coding = http_head_has(head, HTTP_TRANSFER_ENCODING);
    if (http_head_repeats(head, HTTP_CONTENT_LENGTH) ||
            http_head_repeats(head, HTTP_TRANSFER_ENCODING) || (has_length && has_coding))
        return false;
    if (has_coding)
        return http_same(head->fields[HTTP_TRANSFER_ENCODING], STR("chunked"));
    return !has_length || is_number(head->fields[HTTP_CONTENT_LENGTH], 18);
}

static bool has_token(const struct http_rules *rules, const struct http_head *head)
{
    if (!rules->token.len)
        return true;
    struct str token = head->fields[HTTP_AUTHORIZATION];
    struct str scheme = str_cut(&token, ' ');
    return !http_head_repeats(head, HTTP_AUTHORIZATION) &&
           http_same(scheme, STR("Bearer")) &&
           http_same_secret(http_trim(token), rules->token);
}

static bool is_json(const struct http_head *head)
{
    struct str type = head->fields[HTTP_CONTENT_TYPE];
    return !http_head_repeats(head, HTTP_CONTENT_TYPE) &&
           http_same(http_trim(str_cut(&type, ';')), STR("application/json"));
}

static size_t length_of(const struct http_head *head)
{
    int64_t n = 0;
    struct str length = head->fields[HTTP_CONTENT_LENGTH];
    return length.len && str_int(length, &n) ? (size_t)n : 0;
}

/* The form of a POST to the endpoint. */
static enum http_route judge_form(const struct http_head *head, struct http_refusal *r)
{
    if (!is_json(head))
        return refuse(r, 415, "Content-Type must be application/json");
    if (!http_accepts_json(head) && !http_accepts_stream(head))
        return refuse(r, 406, "Accept must admit application/json or text/event-stream");
    if (length_of(head) > HTTP_MAX_BODY) {
        refuse(r, 413, "a body can have at most %zu bytes", HTTP_MAX_BODY);
        r->at_once = length_of(head) > HTTP_MAX_UNREAD;
        return HTTP_ROUTE_REFUSED;
    }
    return HTTP_ROUTE_MESSAGE;
}

static enum http_route judge_method(const struct http_head *head, struct http_refusal *r)
{
    struct str revision = head->fields[HTTP_REVISION];
    bool sessions = !revision.len || era_is_legacy_revision(revision);
    if (str_is(head->method, "POST"))
        return HTTP_ROUTE_MESSAGE;
    if (str_is(head->method, "DELETE") && sessions)
        return HTTP_ROUTE_END_SESSION;
    refuse(r, 405, "this endpoint takes POST%s",
            sessions ? ", and DELETE to end a session" : "");
    r->allow = sessions ? "POST, DELETE" : "POST";
    return HTTP_ROUTE_REFUSED;
}

static enum http_route judge_reading(
        const struct http_head *head, struct http_refusal *r, enum http_route route)
{
    if (str_is(head->method, "GET") || str_is(head->method, "HEAD"))
        return route;
    refuse(r, 405, "it can only be read");
    r->allow = "GET, HEAD";
    return HTTP_ROUTE_REFUSED;
}

static enum http_route need_token(const struct http_rules *rules,
        const struct http_head *head, struct http_refusal *r, enum http_route route)
{
    if (route == HTTP_ROUTE_REFUSED || has_token(rules, head))
        return route;
    return refuse(r, 401, "the bearer token of --token-file is needed");
}

static enum http_route judge(const struct http_rules *rules, const struct http_head *head,
        struct http_refusal *r)
{
    enum http_route route;
    if (head->malformed)
        return refuse_framing(r, "a header field is malformed");
    if (!is_framed(head))
        return refuse_framing(
                r, "Content-Length or Transfer-Encoding: malformed, repeated, or both");
    if (!head->fields[HTTP_HOST].len || http_head_repeats(head, HTTP_HOST))
        return refuse(r, 400, "one Host is needed");
    if (!http_host_allowed(rules, head->fields[HTTP_HOST]))
        return refuse(r, 403,
                "this Host is not served: only localhost, 127.0.0.1, [::1] and what "
                "--allow-host names");
    if (http_head_has(head, HTTP_ORIGIN) &&
            (http_head_repeats(head, HTTP_ORIGIN) || !origin_allowed(rules, head)))
        return refuse(r, 403,
                "requests from pages of this Origin are not served: only from this "
                "server's own and what --allow-origin names");
    if (str_is(head->path, HTTP_HEALTH))
        return judge_reading(head, r, HTTP_ROUTE_HEALTH);
    if (rules->metrics && str_is(head->path, HTTP_METRICS))
        return need_token(rules, head, r, judge_reading(head, r, HTTP_ROUTE_METRICS));
    if (!str_is(head->path, HTTP_ENDPOINT))
        return refuse(r, 404, "%s", "");
    route = need_token(rules, head, r, judge_method(head, r));
    return route == HTTP_ROUTE_MESSAGE ? judge_form(head, r) : route;
}

enum http_route http_judge_head(const struct http_rules *rules,
        const struct http_head *head, struct http_refusal *refusal)
{
    enum http_route route = judge(rules, head, refusal);
    /* Who waits to be told to go on has sent no body that would have to be read. */
    if (route == HTTP_ROUTE_REFUSED && http_head_has(head, HTTP_EXPECT))
        refusal->at_once = true;
    return route;
}
