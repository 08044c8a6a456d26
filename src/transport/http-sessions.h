/*
 * http-sessions.h - the clients that have opened a session, by its id.
 *
 * The table knows who was there last and who works; when one is to go is decided by who
 * asks.  A session is in it from http_sessions_add() to http_sessions_remove().
 */
#ifndef TRANSPORT_HTTP_SESSIONS_H
#define TRANSPORT_HTTP_SESSIONS_H

#include "base/str.h"

#define HTTP_SESSION_DIGITS 32 /* 128 bits from the kernel, as hexadecimal digits */

struct dispatch;
struct mcp;

/* How a session is named; of one kind it is not found by the name of another. */
enum http_session_kind {
    HTTP_BY_HEADER, /* Mcp-Session-Id is the id */
    HTTP_BY_TICKET, /* it is in a ticket: http-ticket.h */
};

/* One client's protocol and who works for it. */
struct http_client {
    struct mcp *mcp;
    struct dispatch *dispatch;
    void *own; /* of who made it */
};

struct http_session {
    char id[HTTP_SESSION_DIGITS + 1];
    enum http_session_kind kind;
    struct http_client client;
    struct http_session *next;          /* of the same bucket */
    struct http_session *older, *newer; /* by `used` */
    uint64_t used;                      /* ms: when a request last began or ended */
    unsigned running;                   /* requests */
    bool has_worked;                    /* it has called a tool: there may be state */
    bool ended;                         /* nobody finds it any more; what runs may end */
};

#define HTTP_SESSION_BUCKETS 1024

struct http_sessions {
    struct http_session *buckets[HTTP_SESSION_BUCKETS];
    struct http_session *oldest, *newest;
    size_t count;
};

/* NULL: there is none of this id. */
struct http_session *http_sessions_find(
        const struct http_sessions *t, enum http_session_kind kind, struct str id);

/* A new id.  ERR_IO: the kernel gives no random bytes. */
MUST_CHECK bool http_sessions_make_id(
        char id[HTTP_SESSION_DIGITS + 1], struct error *err);

/* Whether that could have made it. */
bool http_sessions_is_id(struct str id);

/* There is none of this id. */
struct http_session *http_sessions_add(struct http_sessions *t,
        enum http_session_kind kind, const char *id, const struct http_client *client,
        uint64_t now);

/* It is being used now. */
void http_sessions_touch(struct http_sessions *t, struct http_session *s, uint64_t now);

/* One that nobody has used since `before` and that runs nothing; or NULL. */
struct http_session *http_sessions_expired(
        const struct http_sessions *t, uint64_t before);

/* The one that was idle longest of those that would lose nothing; or NULL. */
struct http_session *http_sessions_dispensable(const struct http_sessions *t);

/* Its client is the caller's again. */
struct http_client http_sessions_remove(struct http_sessions *t, struct http_session *s);

#endif
