/*
 * sse.h - a stream of server-sent events (WHATWG HTML, "event stream"), bit by bit.
 *
 * Bytes come in whatever pieces; lines end with LF, CR or CR LF; a byte order mark at the
 * very start, comments and unknown fields are skipped.  What has no data line is no
 * event, but its id counts.  What the stream breaks off in the middle of is dropped.
 */
#ifndef BRIDGE_SSE_H
#define BRIDGE_SSE_H

#include "base/str.h"

#define SSE_MAX_ID 1024

struct sse_event {
    struct str type; /* "message" if it names none */
    struct str data; /* its lines, joined by LF */
};

/* False: no more are wanted, and sse_add() returns at once. */
typedef bool sse_event_fn(void *user, const struct sse_event *event);

struct sse {
    size_t max_bytes; /* of a line, and of an event's data */
    sse_event_fn *event;
    void *user;
    struct buf line; /* the start of one whose end has not come */
    struct buf type, data;
    struct buf next_id; /* counts from the end of the event on that it stands in */
    struct buf id;      /* of the last event; "" if the stream cannot be resumed there */
    int64_t retry_ms;   /* before connecting again; -1: the server has not said */
    bool has_data, is_after_cr, is_begun;
};

void sse_init(struct sse *s, size_t max_bytes, sse_event_fn *event, void *user);
void sse_finish(struct sse *s);

/* A new connection goes on where the last one broke off: `id` and `retry_ms` stay. */
void sse_restart(struct sse *s);

/* ERR_LIMIT: a line or an event is too big; the stream is of no use any more. */
MUST_CHECK bool sse_add(struct sse *s, struct str bytes, struct error *err);

#endif
