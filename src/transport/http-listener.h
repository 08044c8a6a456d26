/*
 * http-listener.h - the bytes of HTTP: sockets, TLS, and their limits.
 *
 * libmicrohttpd reads and writes, in turns of our own loop: its epoll descriptor is
 * watched there.  A request that waits for a call is suspended; its socket is watched
 * meanwhile, since a client that hangs up cancels the call.
 *
 * Nobody can hold the loop or a place for long: a connection has a time for its head and
 * body, for each answer, and between two requests.
 */
#ifndef TRANSPORT_HTTP_LISTENER_H
#define TRANSPORT_HTTP_LISTENER_H

#include "transport/http-server.h"

struct sockaddr_storage;

/* All text is borrowed for the life of the listener. */
struct http_listener_config {
    const struct sockaddr_storage *address;
    const char *tls_cert, *tls_key; /* PEM; both or none */
    /* In all, and from one address, behind which there may be a proxy with many clients:
     * what goes beyond that is closed as soon as it is there. */
    unsigned max_connections, max_of_address;
    unsigned request_ms; /* for a head to come, and for a body; four times as much for an
                            answer to be taken, or a part of a stream */
    void (*closed)(void *user);
    void *user;
};

struct http_listener;

#define HTTP_STATUSES 500 /* 100..599 */

/* What it has done, and what there is. */
struct http_counts {
    uint64_t answers[HTTP_STATUSES]; /* by status - 100 */
    unsigned connections;            /* that are open */
};

/* Listen, and serve from the loop of `server`.  ERR_UNSUPPORTED: the library is missing;
 * ERR_IO: the address cannot be used. */
MUST_CHECK bool http_listener_open(uv_loop_t *loop,
        const struct http_listener_config *config, struct http_server *server,
        struct http_listener **out, struct error *err);

/* The port that it listens on. */
unsigned http_listener_port(const struct http_listener *l);

const struct http_counts *http_listener_counts(const struct http_listener *l);

/* Take no new connections; calls have `finish_ms` to end and are cancelled then; what is
 * answered has `flush_ms` to be sent.  Then `closed` is called, once, and the listener is
 * gone when the loop has turned. */
void http_listener_close(struct http_listener *l, unsigned finish_ms, unsigned flush_ms);

#endif
