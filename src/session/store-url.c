#include "session/store-url.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

static bool has_only(struct str s, const char *allowed)
{
    for (size_t i = 0; i < s.len; i++)
        if (!s.data[i] || !strchr(allowed, s.data[i]))
            return false;
    return true;
}

/* False: it does not fit, or has other bytes, or none. */
static bool take(struct str s, const char *allowed, char *out, size_t room)
{
    if (!s.len || s.len >= room || !has_only(s, allowed))
        return false;
    memcpy(out, s.data, s.len);
    out[s.len] = '\0';
    return true;
}

static bool take_number(struct str s, unsigned least, unsigned most, unsigned *out)
{
    int64_t n;
    if (!s.len || s.len > 5 || !has_only(s, DIGITS) || !str_int(s, &n) || n < least ||
            n > most)
        return false;
    *out = (unsigned)n;
    return true;
}

static bool take_user(struct str *rest, struct store_url *out, struct error *err)
{
    const char *at = memrchr(rest->data, '@', rest->len);
    if (!at)
        return true;
    struct str user = { rest->data, (size_t)(at - rest->data) };
    *rest = str_from(*rest, user.len + 1);
    if (memchr(user.data, ':', user.len)) {
        error_set(err, ERR_INVALID,
                "a password cannot be in the URL, where others on "
                "this machine see it");
        return error_hint(err, "Put it into a file that only you can read, and give "
                               "--state-password-file FILE.");
    }
    return take(user, LETTERS DIGITS "._-", out->user, sizeof(out->user)) ||
           error_set(err, ERR_INVALID,
                   "the user in the URL has 1 to 128 letters, digits, '.', '_' or '-'");
}

static bool take_host(struct str *rest, struct store_url *out)
{
    if (!str_starts(*rest, STR("["))) {
        struct str host = str_sub(*rest, 0, 0);
        while (host.len < rest->len && !strchr(":/", rest->data[host.len]))
            host.len++;
        *rest = str_from(*rest, host.len);
        return take(host, LETTERS DIGITS ".-_", out->host, sizeof(out->host));
    }
    struct str inside = str_from(*rest, 1);
    const char *end = memchr(inside.data, ']', inside.len);
    if (!end)
        return false;
    inside.len = (size_t)(end - inside.data);
    *rest = str_from(*rest, inside.len + 2);
    return memchr(inside.data, ':', inside.len) &&
           take(inside, DIGITS "abcdefABCDEF:.", out->host, sizeof(out->host));
}

static bool parse_net(struct str rest, struct store_url *out, struct error *err)
{
    if (!take_user(&rest, out, err))
        return false;
    if (!take_host(&rest, out))
        return error_set(err, ERR_INVALID, "the URL has no host, or one that is none");
    if (str_starts(rest, STR(":"))) {
        rest = str_from(rest, 1);
        struct str port = str_sub(rest, 0, 0);
        while (port.len < rest.len && rest.data[port.len] != '/')
            port.len++;
        rest = str_from(rest, port.len);
        if (!take_number(port, 1, 65535, &out->port))
            return error_set(
                    err, ERR_INVALID, "the port in the URL is none of 1 to 65535");
    }
    if (rest.len <= 1 && (!rest.len || rest.data[0] == '/'))
        return true;
    return (rest.data[0] == '/' &&
                   take_number(str_from(rest, 1), 0, STORE_MOST_DB, &out->database)) ||
           error_set(err, ERR_INVALID,
                   "behind the host of the URL stands at most '/' and the number of a "
                   "database");
}

static bool parse_unix(struct str rest, struct store_url *out, struct error *err)
{
    const char *slash = memchr(rest.data, '/', rest.len);
    struct str user = str_sub(rest, 0, slash ? (size_t)(slash - rest.data) : rest.len);
    struct str path = str_from(rest, user.len);
    if (user.len && !take_user(&user, out, err))
        return false;
    if (user.len) /* there was no '@' at its end */
        return error_set(err, ERR_INVALID,
                "the path in the URL of a socket begins with '/', as in "
                "'redis+unix:///run/redis.sock'");
    if (path.len < 2 || path.len >= sizeof(out->path) || memchr(path.data, 0, path.len) ||
            memchr(path.data, '?', path.len))
        return error_set(err, ERR_INVALID,
                "the path in the URL of a socket has 2 to %zu bytes and no '?'",
                sizeof(out->path) - 1);
    memcpy(out->path, path.data, path.len);
    return true;
}

bool store_url_parse(struct str text, struct store_url *out, struct error *err)
{
    static const struct str net = { "redis://", 8 };
    static const struct str local = { "redis+unix://", 13 };
    struct store_url url = { .port = STORE_DEFAULT_PORT };
    bool fine = false;
    if (text.len > STORE_URL_MAX)
        return error_set(err, ERR_LIMIT, "a URL has at most %d bytes", STORE_URL_MAX);
    if (str_starts(text, net))
        fine = parse_net(str_from(text, net.len), &url, err);
    else if (str_starts(text, local))
        fine = parse_unix(str_from(text, local.len), &url, err);
    else if (str_starts(text, STR("rediss://")))
        return error_set(err, ERR_UNSUPPORTED, "no TLS is spoken with Redis") ||
               error_hint(err, "Let a tunnel do that, and give the URL of its near end.");
    else
        error_set(err, ERR_INVALID,
                "the URL is neither 'redis://HOST' nor 'redis+unix:///PATH'");
    if (fine)
        *out = url;
    return fine;
}
