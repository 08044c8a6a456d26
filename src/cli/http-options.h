/*
 * http-options.h - the flags of every server that can be reached over HTTP.
 *
 * They are a table of their own (flags.h), which each command line takes in.
 */
#ifndef CLI_HTTP_OPTIONS_H
#define CLI_HTTP_OPTIONS_H

#include "base/arena.h"
#include "cli/flags.h"

#include <sys/socket.h>

#define HTTP_DEFAULT_PORT         8000
#define HTTP_DEFAULT_SESSIONS     256
#define HTTP_DEFAULT_STORED       4096
#define HTTP_DEFAULT_WORKERS      32
#define HTTP_DEFAULT_IDLE_S       1800
#define HTTP_DEFAULT_REQUEST_S    30
#define HTTP_DEFAULT_SHELL_IDLE_S 60
#define HTTP_MOST_SESSIONS        100000
#define HTTP_MOST_WORKERS         1000
#define HTTP_MOST_S               604800

/* For the --help of a command. */
#define HTTP_OPTIONS_USAGE                                                               \
    "  --transport T      stdio (default), or http: Streamable HTTP at /mcp\n"           \
    "  --host H, --port P the address for http (default 127.0.0.1, 8000; port 0: any)\n" \
    "  --allow-host NAME, --allow-origin URL\n"                                          \
    "                     other names in Host, pages in Origin (may be repeated)\n"      \
    "  --token-file FILE  ask for this bearer token; needed beyond the loopback\n"       \
    "  --tls-cert FILE, --tls-key FILE\n"                                                \
    "                     serve HTTPS\n"                                                 \
    "  --metrics          serve counters for Prometheus at /metrics\n"                   \
    "  --max-sessions N, --max-workers N\n"                                              \
    "                     sessions (default 256), shells awake at once (32)\n"           \
    "  --shell-idle S     seconds until an unused shell goes to sleep (default 60)\n"    \
    "  --state URL        share sessions with other servers: redis://HOST or\n"          \
    "                     redis+unix:///PATH; --state-password-file FILE;\n"             \
    "                     --max-stored N: sessions of them all (default 4096)\n"         \
    "  --session-idle S   seconds until an unused session ends (default 1800)\n"         \
    "  --request-time S   seconds for a request to arrive (default 30)\n"

struct http_options {
    bool wanted;  /* --transport http */
    bool metrics; /* --metrics */
    const char *host;
    unsigned port;
    struct str *hosts, *origins; /* of --allow-host, --allow-origin */
    size_t host_count, origin_count;
    const char *token_file, *tls_cert, *tls_key; /* or NULL */
    const char *state, *state_password_file;     /* or NULL */
    unsigned max_sessions, max_stored, max_workers;
    unsigned session_idle_s, shell_idle_s, request_s;
};

/* The defaults, and room for the flags of a line of `argc` words. */
void http_options_init(struct http_options *o, int argc, struct arena *arena);

/* The table, filling `o`. */
struct flags http_options_flags(struct http_options *o);

/* What was read from files and checked; all text in the arena. */
struct http_settings {
    struct sockaddr_storage address;
    bool is_loopback;
    struct str token;               /* or "" */
    const char *tls_cert, *tls_key; /* PEM; or NULL */
    const char *state_password;     /* or NULL */
};

/* Once the line is read.  ERR_INVALID: an address that is none, or beyond the loopback
 * without a token and a name; one half of a TLS pair. */
MUST_CHECK bool http_options_check(const struct http_options *o, struct error *err);

/* Of options that passed that: read the files.  ERR_INVALID: one is not what it should
 * be; others: it cannot be read. */
MUST_CHECK bool http_options_load(const struct http_options *o, struct arena *arena,
        struct http_settings *out, struct error *err);

#endif
