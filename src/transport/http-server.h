/*
 * http-server.h - MCP over Streamable HTTP, without the bytes of HTTP.
 *
 * Who moves the bytes opens an exchange for each request when its head is there, adds the
 * body, runs it, and takes the answer when the exchange says that it is ready: all at
 * once, or as a stream that grows.  Sessions, their clients and what runs belong to the
 * server.  With a store, each request to a session asks there first: whether it still
 * is, and which revision it speaks if another server has opened it.
 *
 * Nothing here calls back into who moves the bytes but `wake`, and that only asks to be
 * looked at again.
 */
#ifndef TRANSPORT_HTTP_SERVER_H
#define TRANSPORT_HTTP_SERVER_H

#include "session/store.h"
#include "transport/http-rules.h"
#include "transport/http-ticket.h"

#include <uv.h>

#define HTTP_MAX_BODIES    ((size_t)128 << 20)
#define HTTP_KEEPALIVE_MS  15000
#define HTTP_RETRY_AFTER_S 5

struct http_server_config {
    uv_loop_t *loop;
    struct http_rules rules; /* what it points to lives on */
    struct toolset *tools;   /* that may be called; NULL: heads repeat no arguments */
    struct http_ticket_key ticket_key; /* servers that share sessions share it */
    unsigned max_sessions, session_idle_ms;
    unsigned keepalive_ms; /* so long a stream may be silent */
    size_t max_bodies;     /* bytes of all bodies that are held at once */
    /* A new client, without any state, from the address `peer`; for the session of this
     * id, or for a single request: NULL. */
    struct http_client (*open)(void *user, struct str peer, const char *session);
    void (*close)(void *user, struct http_client client);
    /* Append the counters, and return their media type; asked only if the rules have them
     * served. */
    const char *(*metrics)(void *user, struct buf *out);
    void *user;
    struct store *store; /* where other servers find our sessions; or NULL */
};

struct http_server;
struct http_exchange;

struct http_server *http_server_create(const struct http_server_config *config);

/* Tickets that were written with another key are void from now on. */
void http_server_set_key(struct http_server *s, const struct http_ticket_key *key);

/* From now on every request is refused; what runs goes on. */
void http_server_refuse_all(struct http_server *s);

/* What runs is cancelled, and its requests are answered so. */
void http_server_cancel_all(struct http_server *s);

/* Some exchange waits for the end of a call. */
bool http_server_is_busy(const struct http_server *s);

/* Every exchange is closed by then. */
void http_server_destroy(struct http_server *s);

/* Clients that have a session. */
size_t http_server_sessions(const struct http_server *s);

/* To be called about once a second: ends idle sessions, keeps silent streams alive. */
void http_server_tick(struct http_server *s);

struct http_answer {
    unsigned status;
    const char *type; /* of the body, or NULL */
    struct buf body;
    const char *allow;        /* or NULL */
    const char *session;      /* a new id, or NULL */
    unsigned retry_after_s;   /* 0: not said */
    bool authenticate, close; /* WWW-Authenticate; Connection: close */
};

/* Something has changed in the exchange; not from within a call of these functions. */
typedef void http_wake_fn(void *user);

/* `head` is copied; its text is borrowed until the exchange is closed.  It is ready at
 * once if the request is refused and its body does not matter. */
struct http_exchange *http_exchange_open(struct http_server *s,
        const struct http_head *head, http_wake_fn *wake, void *user);

/* A part of the body.  False: this goes too far, hang up. */
MUST_CHECK bool http_exchange_add(struct http_exchange *x, struct str bytes);

/* The body is complete. */
void http_exchange_run(struct http_exchange *x);

bool http_exchange_is_ready(const struct http_exchange *x);

/* Of one that is ready: the head of its answer, and its body unless it streams.  The
 * caller may take the body. */
struct http_answer *http_exchange_answer(struct http_exchange *x);
bool http_exchange_streams(const struct http_exchange *x);

/* Move up to `room` bytes of the stream; 0: none yet, -1: there was the end. */
ssize_t http_exchange_read(struct http_exchange *x, char *out, size_t room);

/* The client is gone or has its answer; what still runs for it is cancelled. */
void http_exchange_close(struct http_exchange *x);

#endif
