/*
 * http-message.h - what is decided about the body of a POST: which era it is of, who has
 * to answer it, and whether head and body agree.
 */
#ifndef TRANSPORT_HTTP_MESSAGE_H
#define TRANSPORT_HTTP_MESSAGE_H

#include "base/json.h"
#include "transport/http-head.h"

struct toolset;

enum http_way {
    HTTP_WAY_REFUSED, /* `status`, and `fault` is the body */
    HTTP_WAY_TAKEN,   /* nothing is to be done and nothing said: 202 */
    HTTP_WAY_OPEN,    /* `initialize`: a session begins */
    HTTP_WAY_SESSION, /* for the session that the head names, if there is one */
    HTTP_WAY_ALONE,   /* a request that needs nobody's session */
};

struct http_message {
    enum http_way way;
    unsigned status;
    struct buf fault; /* a JSON-RPC error */
    json_t *value;    /* the body; NULL with HTTP_WAY_REFUSED */
    struct str tool;  /* of the last tools/call in it, or "" */
    struct str id;    /* of a single request, as it was sent, or "" */
    /* Of a call that stands alone, to a tool that works in a shell: */
    json_t *session; /* its argument of that name, a string that is not empty; or NULL */
    bool ends_session; /* its command is `exit`, and nothing else */
};

/* `body` is looked into as long as the message is used.  `tools`: those that may be
 * called, as far as the head repeats arguments of theirs; NULL: it does not. */
void http_judge_message(const struct http_head *head, struct str body,
        struct toolset *tools, struct http_message *out);
void http_message_finish(struct http_message *m);

/* Append an error reply with `id`, or none. */
void http_write_fault(struct str id, int code, const char *text, struct buf *out);

#endif
