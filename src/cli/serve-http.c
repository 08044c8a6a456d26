#include "cli/http-options.h"
#include "cli/serve-parts.h"
#include "session/spare.h"
#include "transport/http-listener.h"

#include "base/log.h"
#include "policy/log/audit.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define FINISH_MS       700 /* for calls that run when we are told to end */
#define FLUSH_MS        250 /* and for their replies */
#define OTHER_FDS       128 /* descriptors that are no connection: helpers, files */
#define FDS_OF_WORKER   4
#define MOST_CONNECTION 4000
#define BIG_BLOCK       (256 << 10)
#define MOST_WAITING    1024 /* shells in line for a worker */

struct serve_http {
    struct serve_parts parts;
    uv_signal_t watchers[SERVE_SIGNALS];
    struct shells shells;
    struct http_ticket_key ticket_key;
    struct store *store; /* or NULL */
    struct dispatch *commons;
    struct http_server *server;
    struct http_listener *listener;
    uint64_t clients;        /* there have been so many */
    struct metrics *metrics; /* NULL: not asked for */
};

/* What a client has of ours. */
struct client_name {
    char text[48];
};

static struct http_client on_open(void *user, struct str peer, const char *session)
{
    struct serve_http *s = user;
    struct client_name *name = xcalloc(1, sizeof(*name));
    snprintf(name->text, sizeof(name->text), "http-%d-%llu", getpid(),
            (unsigned long long)++s->clients);
    struct dispatch_config config = s->parts.dispatch;
    config.session = str_of(name->text);
    config.address = peer;
    config.has_line = session;
    if (session && s->store) {
        config.store = s->store;
        config.record = str_of(session);
    }
    config.commons = s->commons;
    config.shells = &s->shells;
    config.metrics = s->metrics;
    struct dispatch *dispatch = dispatch_create(&config);
    return (struct http_client){ .mcp = mcp_open(&s->parts.server, dispatch, NULL, NULL),
        .dispatch = dispatch,
        .own = name };
}

static void on_close(void *user UNUSED, struct http_client client)
{
    mcp_close(client.mcp);
    dispatch_destroy(client.dispatch);
    free(client.own);
}

static const char *on_metrics(void *user, struct buf *out)
{
    const struct serve_http *s = user;
    const struct http_counts *http = http_listener_counts(s->listener);
    size_t sessions = http_server_sessions(s->server), asleep = s->shells.asleep;
    struct metrics_gauges now = { .answers = http->answers,
        .answer_count = HTTP_STATUSES,
        .connections = http->connections,
        .sessions = sessions,
        /* A shell of one call may sleep while its answer is read slowly. */
        .sessions_asleep = asleep < sessions ? asleep : sessions,
        .audit_failures = audit_failures(s->parts.dispatch.audit) };
    dispatch_look(s->commons, &now);
    places_look(s->shells.places, &now.shell);
    metrics_write(s->metrics, &now, out);
    return METRICS_TYPE;
}

static void on_renew(void *user)
{
    struct serve_http *s = user;
    if (s->commons)
        dispatch_renew_python(s->commons);
}

static void on_signal(uv_signal_t *watcher, int number UNUSED)
{
    struct serve_http *s = watcher->data;
    http_listener_close(s->listener, FINISH_MS, FLUSH_MS);
}

static void on_closed(void *user)
{
    struct serve_http *s = user;
    http_server_destroy(TAKE(s->server));
    dispatch_destroy(TAKE(s->commons));
    store_close(TAKE(s->store));
    metrics_destroy(TAKE(s->metrics));
    spare_destroy(TAKE(s->shells.spare));
    places_destroy(TAKE(s->shells.places));
    serve_parts_close(&s->parts);
    serve_unwatch_signals(s->watchers);
}

/* As many as there are descriptors for, beside those of helpers. */
static unsigned connection_limit(const struct http_options *o)
{
    struct rlimit fds;
    rlim_t others = OTHER_FDS + (rlim_t)o->max_workers * FDS_OF_WORKER;
    if (getrlimit(RLIMIT_NOFILE, &fds) || fds.rlim_cur == RLIM_INFINITY ||
            fds.rlim_cur > others + MOST_CONNECTION)
        return MOST_CONNECTION;
    return fds.rlim_cur > others + 16 ? (unsigned)(fds.rlim_cur - others) : 16;
}

static void open_server(struct serve_http *s, const struct serve_config *config,
        const struct http_settings *settings, struct arena *arena)
{
    const struct http_options *o = config->http;
    s->shells = (struct shells){ .places = places_create(o->max_workers, MOST_WAITING),
        .idle_ms = o->shell_idle_s * 1000,
        .save_ms = SESSION_SAVE_MS,
        .max_states = SESSION_MAX_STATES };
    s->parts.renew = on_renew;
    s->parts.renew_user = s;
    serve_parts_open(&s->parts, config, arena);
    if (!config->paths && !s->parts.door)
        s->shells.spare =
                spare_create(&s->parts.dispatch.worker, s->shells.places, SPARE_IDLE_MS);
    struct dispatch_config commons = s->parts.dispatch;
    s->metrics = o->metrics ? metrics_create() : NULL;
    commons.metrics = s->metrics;
    commons.session = str_of(arena_printf(arena, "http-%d", getpid()));
    commons.is_shared = true;
    s->commons = dispatch_create(&commons);
    const struct http_server_config server = { .loop = &s->parts.loop,
        .rules = { .hosts = o->hosts,
                .host_count = o->host_count,
                .origins = o->origins,
                .origin_count = o->origin_count,
                .token = settings->token,
                .metrics = o->metrics },
        .tools = s->parts.tools,
        .ticket_key = s->ticket_key,
        .max_sessions = o->max_sessions,
        .session_idle_ms = o->session_idle_s * 1000,
        .keepalive_ms = HTTP_KEEPALIVE_MS,
        .max_bodies = HTTP_MAX_BODIES,
        .open = on_open,
        .close = on_close,
        .metrics = on_metrics,
        .user = s,
        .store = s->store };
    s->server = http_server_create(&server);
}

static void on_secret_changed(void *user)
{
    struct serve_http *s = user;
    memcpy(s->ticket_key.bytes, store_secret(s->store), sizeof(s->ticket_key.bytes));
    if (s->server)
        http_server_set_key(s->server, &s->ticket_key);
}

/* Before anything else is: what is wrong with it ends the start. */
static bool open_store(struct serve_http *s, const struct http_options *o,
        const struct http_settings *settings, struct error *err)
{
    const struct store_config store = { .loop = &s->parts.loop,
        .url = o->state,
        .password = settings->state_password,
        .idle_s = o->session_idle_s,
        .max_state = SESSION_MAX_STATE,
        .max_records = o->max_stored,
        .secret_changed = on_secret_changed,
        .user = s };
    static_assert(sizeof(s->ticket_key.bytes) == STORE_SECRET, "one key");
    if (!o->state)
        return true;
    if (!store_open(&store, &s->store, err)) {
        uv_run(&s->parts.loop, UV_RUN_DEFAULT);
        uv_loop_close(&s->parts.loop);
        return false;
    }
    on_secret_changed(s);
    return true;
}

static bool open_listener(struct serve_http *s, const struct http_options *o,
        const struct http_settings *settings, struct error *err)
{
    unsigned most = connection_limit(o);
    const struct http_listener_config listener = { .address = &settings->address,
        .tls_cert = settings->tls_cert,
        .tls_key = settings->tls_key,
        .max_connections = most,
        .max_of_address = most - most / 4, /* so that nobody keeps all others out */
        .request_ms = o->request_s * 1000,
        .closed = on_closed,
        .user = s };
    return http_listener_open(&s->parts.loop, &listener, s->server, &s->listener, err);
}

static void announce(const struct serve_http *s, const struct http_options *o,
        const struct http_settings *settings)
{
    bool is_v6 = settings->address.ss_family == AF_INET6;
    log_line(LOG_NOTICE, "serving http%s://%s%s%s:%u" HTTP_ENDPOINT,
            settings->tls_cert ? "s" : "", is_v6 ? "[" : "", o->host, is_v6 ? "]" : "",
            http_listener_port(s->listener));
    if (!settings->is_loopback && !settings->tls_cert)
        log_line(LOG_WARN, "the token and all data travel unencrypted; --tls-cert and "
                           "--tls-key, or a proxy in front, change that");
}

/* Without this, glibc takes long replies from the heap once it has seen some, and keeps
 * their memory for ever. */
static void give_big_blocks_back(void)
{
    mallopt(M_MMAP_THRESHOLD, BIG_BLOCK);
}

bool serve_http(const struct serve_config *config, struct error *err)
{
    struct serve_http s = { .server = NULL };
    auto_arena *arena = arena_create();
    struct http_settings settings;
    give_big_blocks_back();
    bool ready = http_options_load(config->http, arena, &settings, err) &&
                 http_ticket_make_key(&s.ticket_key, err) &&
                 serve_parts_prepare(&s.parts, config, err) &&
                 open_store(&s, config->http, &settings, err);
    if (ready) {
        serve_watch_signals(&s.parts.loop, s.watchers, on_signal, &s);
        open_server(&s, config, &settings, arena);
        ready = open_listener(&s, config->http, &settings, err);
        if (ready)
            announce(&s, config->http, &settings);
        else
            on_closed(&s);
        uv_run(&s.parts.loop, UV_RUN_DEFAULT);
        uv_loop_close(&s.parts.loop);
    }
    serve_parts_finish(&s.parts);
    return ready;
}

bool serve(const struct serve_config *config, struct error *err)
{
    return config->http ? serve_http(config, err) : serve_stdio(config, err);
}
