/*
 * exchange.h - one message that goes to the URL, and all that comes back for it.
 *
 * An exchange may take several HTTP requests: after a redirect within the origin, or when
 * a stream of events breaks off and can be taken up again.  It ends when the message is
 * answered, or when it is certain that it will not be; then the answer, or an error in
 * its place, is on the output.
 */
#ifndef BRIDGE_EXCHANGE_H
#define BRIDGE_EXCHANGE_H

#include "bridge/headers.h"
#include "bridge/mirror.h"
#include "bridge/output.h"
#include "bridge/sse.h"

struct exchange;

/* What all exchanges share. */
struct bridge {
    const struct bridge_setup *setup;
    struct bridge_session session;
    struct mirrors mirrors;
    struct output output;
    CURLM *multi;
    struct curl_blob authorities; /* certificates, PEM */
    struct exchange *exchanges;   /* in no order */
    size_t count;                 /* of them */
    size_t requests;              /* those that are to be answered */
    size_t blocking;              /* with these no other may be started */
};

/* What comes is told by its status and type; this is what is done with it. */
enum reply_mode {
    REPLY_PENDING, /* the headers are not complete */
    REPLY_IGNORE,
    REPLY_EXCERPT, /* an error; its first bytes may say which */
    REPLY_JSON,
    REPLY_STREAM, /* events */
};

enum failure {
    FAILURE_NONE,
    FAILURE_CONNECT, /* as in bridge.h */
    FAILURE_HTTP,
    FAILURE_SESSION_LOST,
    FAILURE_REDIRECT,
    FAILURE_CONTENT,
    FAILURE_LIMIT,
    FAILURE_ENDED,
};

struct exchange {
    struct bridge *bridge;
    struct exchange *next;
    struct message message; /* json NULL: the end of the session */
    struct buf body;        /* its text */
    struct arena *arena;
    struct url url; /* where it goes now */

    /* One HTTP request: */
    CURL *easy; /* NULL: it waits */
    struct curl_slist *fields;
    char why[CURL_ERROR_SIZE];
    bool is_resumption; /* a GET for the rest of the stream */
    size_t sent;        /* bytes of the body that curl has got */

    /* What has come for it: */
    long status; /* 0: no headers yet */
    enum reply_mode mode;
    size_t header_bytes;
    struct buf type, location, session; /* header fields */
    struct buf content;
    bool is_over; /* the rest is not wanted */

    /* For the exchange: */
    struct sse events;
    size_t received;
    bool is_answered;
    enum failure failure; /* found while it came; what in `problem` */
    struct error problem;
    unsigned redirects;
    unsigned resumptions;
    unsigned vain; /* of these, the last ones, which brought no event */
    bool is_blocking;
    int64_t due_ms; /* exchange_wake() then; 0: never */
};

int64_t exchange_clock(void); /* milliseconds, monotonic */

/* `text` is the message; takes over `message`.  It goes as soon as curl is driven. */
void exchange_start(struct bridge *b, struct str text, struct message *message);

/* DELETE: the session is not needed any more. */
void exchange_end_session(struct bridge *b);

/* curl is done with its HTTP request. */
void exchange_ended(struct exchange *x, CURLcode code);

/* Its time has come: go on, or give up. */
void exchange_wake(struct exchange *x);

/* Without a word: nobody waits for it any more. */
void exchange_drop(struct exchange *x);

/* The one that is to answer this id, or NULL. */
struct exchange *exchange_find(const struct bridge *b, const json_t *id);

static inline bool exchange_is_request(const struct exchange *x)
{
    return x->message.json && x->message.kind == MESSAGE_REQUEST;
}

/* Of 2026-07-28 or later: no session, nothing to take up again. */
static inline bool exchange_is_modern(const struct exchange *x)
{
    return x->message.version.len;
}

/* transfer.c: a handle for the next HTTP request of it, which is started. */
void transfer_start(struct exchange *x);
void transfer_stop(struct exchange *x);
sse_event_fn transfer_event;

#endif
