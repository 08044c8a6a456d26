#include "cli/http-options.h"

#include "base/file.h"
#include "session/store-url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#define MAX_TOKEN ((size_t)4096)
#define MIN_TOKEN 16
#define MAX_PEM   ((size_t)1 << 20)

static bool set_count(const char *value, unsigned least, unsigned most, unsigned *out,
        struct error *err)
{
    int64_t n;
    if (!str_int(str_of(value), &n) || n < least || n > most)
        return error_set(err, ERR_INVALID, "'%.80s' is not a whole number from %u to %u",
                value, least, most);
    *out = (unsigned)n;
    return true;
}

static bool set_transport(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    o->wanted = !strcmp(value, "http");
    return o->wanted || !strcmp(value, "stdio") ||
           error_set(err, ERR_INVALID, "'%.80s' is neither stdio nor http", value);
}

static bool set_host(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    o->host = value;
    return *value || error_set(err, ERR_INVALID, "the host cannot be empty");
}

static bool set_port(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    return set_count(value, 0, 65535, &o->port, err);
}

/* A name as it stands in Host: without a port, since any is taken. */
static bool set_allow_host(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    const char *port = value[0] == '[' ? strstr(value, "]:") : strchr(value, ':');
    if (!*value || port || strpbrk(value, " /*"))
        return error_set(err, ERR_INVALID,
                "'%.200s' is not a name without port, like 'tools.example.com' or "
                "'[fd00::1]'",
                value);
    o->hosts[o->host_count++] = str_of(value);
    return true;
}

static bool set_allow_origin(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    const char *name = strstr(value, "://");
    if (!name || name == value || !name[3] || strpbrk(name + 3, "/ *"))
        return error_set(err, ERR_INVALID,
                "'%.200s' is not an origin, like 'https://app.example.com'", value);
    o->origins[o->origin_count++] = str_of(value);
    return true;
}

static bool set_token_file(void *user, const char *value, struct error *err UNUSED)
{
    struct http_options *o = user;
    o->token_file = value;
    return true;
}

static bool set_tls_cert(void *user, const char *value, struct error *err UNUSED)
{
    struct http_options *o = user;
    o->tls_cert = value;
    return true;
}

static bool set_tls_key(void *user, const char *value, struct error *err UNUSED)
{
    struct http_options *o = user;
    o->tls_key = value;
    return true;
}

static bool set_metrics(void *user, const char *value UNUSED, struct error *err UNUSED)
{
    struct http_options *o = user;
    o->metrics = true;
    return true;
}

static bool set_state(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    struct store_url url;
    o->state = value;
    return store_url_parse(str_of(value), &url, err);
}

static bool set_state_password(void *user, const char *value, struct error *err UNUSED)
{
    struct http_options *o = user;
    o->state_password_file = value;
    return true;
}

static bool set_max_sessions(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    return set_count(value, 1, HTTP_MOST_SESSIONS, &o->max_sessions, err);
}

static bool set_max_stored(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    return set_count(value, 1, HTTP_MOST_SESSIONS, &o->max_stored, err);
}

static bool set_max_workers(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    return set_count(value, 1, HTTP_MOST_WORKERS, &o->max_workers, err);
}

static bool set_session_idle(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    return set_count(value, 1, HTTP_MOST_S, &o->session_idle_s, err);
}

static bool set_shell_idle(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    return set_count(value, 1, HTTP_MOST_S, &o->shell_idle_s, err);
}

static bool set_request_time(void *user, const char *value, struct error *err)
{
    struct http_options *o = user;
    return set_count(value, 1, HTTP_MOST_S, &o->request_s, err);
}

static const struct flag table[] = {
    { "--allow-host", true, set_allow_host },
    { "--allow-origin", true, set_allow_origin },
    { "--host", true, set_host },
    { "--max-sessions", true, set_max_sessions },
    { "--max-stored", true, set_max_stored },
    { "--max-workers", true, set_max_workers },
    { "--metrics", false, set_metrics },
    { "--port", true, set_port },
    { "--request-time", true, set_request_time },
    { "--session-idle", true, set_session_idle },
    { "--shell-idle", true, set_shell_idle },
    { "--state", true, set_state },
    { "--state-password-file", true, set_state_password },
    { "--tls-cert", true, set_tls_cert },
    { "--tls-key", true, set_tls_key },
    { "--token-file", true, set_token_file },
    { "--transport", true, set_transport },
};

void http_options_init(struct http_options *o, int argc, struct arena *arena)
{
    size_t room = (size_t)argc + 1;
    *o = (struct http_options){
        .host = "127.0.0.1",
        .port = HTTP_DEFAULT_PORT,
        .hosts = arena_zalloc(arena, room * sizeof(*o->hosts)),
        .origins = arena_zalloc(arena, room * sizeof(*o->origins)),
        .max_sessions = HTTP_DEFAULT_SESSIONS,
        .max_stored = HTTP_DEFAULT_STORED,
        .max_workers = HTTP_DEFAULT_WORKERS,
        .session_idle_s = HTTP_DEFAULT_IDLE_S,
        .shell_idle_s = HTTP_DEFAULT_SHELL_IDLE_S,
        .request_s = HTTP_DEFAULT_REQUEST_S,
    };
}

struct flags http_options_flags(struct http_options *o)
{
    return (struct flags){ .table = table, .count = ARRAY_LEN(table), .user = o };
}

static bool parse_address(
        const struct http_options *o, struct http_settings *out, struct error *err)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    const char *host = strcmp(o->host, "localhost") ? o->host : "127.0.0.1";
    out->address = (struct sockaddr_storage){ 0 };
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        v4.sin_port = htons((uint16_t)o->port);
        memcpy(&out->address, &v4, sizeof(v4));
        out->is_loopback = ntohl(v4.sin_addr.s_addr) >> 24 == 127;
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
        v6.sin6_port = htons((uint16_t)o->port);
        memcpy(&out->address, &v6, sizeof(v6));
        out->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
        return true;
    }
    return error_set(err, ERR_INVALID,
            "option '--host': '%.80s' is no address; give one like 127.0.0.1, 0.0.0.0 "
            "or ::1",
            o->host);
}

static bool read_file(const char *flag, const char *path, size_t max, struct arena *arena,
        struct str *out, struct error *err)
{
    int failure = file_read(path, max, arena, out);
    return !failure ||
           error_errno(err, failure, "option '%s': cannot read '%.200s'", flag, path);
}

static bool is_secret(struct str secret, size_t least)
{
    for (size_t i = 0; i < secret.len; i++)
        if (secret.data[i] <= ' ' || secret.data[i] > '~')
            return false;
    return secret.len >= least;
}

/* One line of a file that only its owner may use. */
static bool read_secret(const char *flag, const char *path, size_t least,
        struct arena *arena, struct str *out, struct error *err)
{
    struct stat st;
    if (!read_file(flag, path, MAX_TOKEN, arena, out, err))
        return false;
    if (!stat(path, &st) && st.st_mode & (S_IRWXG | S_IRWXO)) {
        error_set(err, ERR_INVALID, "option '%s': others than its owner may use '%.200s'",
                flag, path);
        return error_hint(err, "Do 'chmod 600' on it.");
    }
    while (out->len && strchr("\r\n", out->data[out->len - 1]))
        out->len--;
    return is_secret(*out, least) ||
           error_set(err, ERR_INVALID,
                   "option '%s': a %s has at least %zu characters, all of them visible "
                   "ASCII",
                   flag, least == MIN_TOKEN ? "token" : "password", least);
}

static bool read_secrets(const struct http_options *o, struct arena *arena,
        struct http_settings *out, struct error *err)
{
    struct str password;
    if (o->token_file && !read_secret("--token-file", o->token_file, MIN_TOKEN, arena,
                                 &out->token, err))
        return false;
    if (!o->state_password_file)
        return true;
    if (!read_secret("--state-password-file", o->state_password_file, 1, arena, &password,
                err))
        return false;
    out->state_password = arena_cstr(arena, password);
    return true;
}

static bool read_tls(const struct http_options *o, struct arena *arena,
        struct http_settings *out, struct error *err)
{
    struct str cert, key;
    if (!o->tls_cert)
        return true;
    if (!read_file("--tls-cert", o->tls_cert, MAX_PEM, arena, &cert, err) ||
            !read_file("--tls-key", o->tls_key, MAX_PEM, arena, &key, err))
        return false;
    out->tls_cert = cert.data;
    out->tls_key = key.data;
    return true;
}

bool http_options_check(const struct http_options *o, struct error *err)
{
    struct http_settings settings;
    if (!o->wanted)
        return !o->state ||
               error_set(err, ERR_INVALID, "option '--state' needs '--transport http'");
    if (!parse_address(o, &settings, err))
        return false;
    if (!settings.is_loopback && (!o->token_file || !o->host_count)) {
        error_set(err, ERR_INVALID,
                "option '--host': '%.80s' is no loopback address; others can reach it, "
                "so '%s' is needed",
                o->host, o->token_file ? "--allow-host" : "--token-file");
        return error_hint(err, "Give --token-file FILE and --allow-host NAME, or "
                               "serve on 127.0.0.1.");
    }
    if (o->state_password_file && !o->state)
        return error_set(
                err, ERR_INVALID, "option '--state-password-file' goes with '--state'");
    return !o->tls_cert == !o->tls_key ||
           error_set(
                   err, ERR_INVALID, "options '--tls-cert' and '--tls-key' go together");
}

bool http_options_load(const struct http_options *o, struct arena *arena,
        struct http_settings *out, struct error *err)
{
    *out = (struct http_settings){ .token = STR("") };
    return parse_address(o, out, err) && read_secrets(o, arena, out, err) &&
           read_tls(o, arena, out, err);
}
