/*
 * client.h - one connection to another MCP server: its handshake, then one request at a
 * time.
 *
 * The handshake is that of the revisions up to 2025-11-25, which all but the newest
 * servers answer.  One that refuses it is asked with server/discover whether it speaks
 * 2026-07-28.
 *
 * The server may send whatever it likes.  What is no answer to the request that waits is
 * ignored; what is too much (a line of more than PEER_MAX_MESSAGE, CLIENT_MAX_BYTES or
 * CLIENT_MAX_MESSAGES for one request) ends that request, and so does the end of its
 * process.  A connection on which a request has failed in this way is of no use any more.
 */
#ifndef PEER_CLIENT_H
#define PEER_CLIENT_H

#include "base/json.h"
#include "peer/link.h"

#define CLIENT_MAX_BYTES    ((size_t)64 << 20) /* that a server sends for one request */
#define CLIENT_MAX_MESSAGES 100000
#define CLIENT_MAX_PAGES    50   /* of a list of tools */
#define CLIENT_MAX_NAME     1024 /* bytes of the name of a tool */

/* How a server wants to be spoken to; it is the same at each start. */
enum client_era { CLIENT_UNKNOWN, CLIENT_LEGACY, CLIENT_MODERN };

struct peer_client;

struct client_config {
    uv_loop_t *loop;
    struct link_list *links;
    const struct command_spec *spec;  /* as link_open() wants it, or */
    const struct bridge_spec *bridge; /* this */
    enum client_era era;              /* if it is known from before */
};

MUST_CHECK bool client_open(
        const struct client_config *config, struct peer_client **out, struct error *err);

struct client_request {
    struct str tool;      /* "": list all tools; CLIENT_MAX_NAME bytes at most */
    struct str arguments; /* JSON, an object */
    struct str trace;     /* the traceparent of who asks, or "" */
};

/* Borrowed. */
struct client_answer {
    const json_t *result; /* of the tool, or an array of tools; NULL: it failed */
    struct str text;      /* how it failed; part of a sentence about the server */
    bool is_usable;       /* for another request */
};

typedef void client_done_fn(void *user, const struct client_answer *answer);

/*
 * Ask; only one who has not been asked, or has answered with is_usable.  `request` is
 * borrowed for the call.  `done` comes once, from the loop.  False: the server has gone
 * away since, and nothing was sent; `done` does not come.
 */
MUST_CHECK bool client_ask(struct peer_client *c, const struct client_request *request,
        client_done_fn *done, void *user);

/* What is known after an answer. */
enum client_era client_era(const struct peer_client *c);

/* Whether the server has yet to answer the handshake. */
bool client_is_starting(const struct peer_client *c);

/* Of one that is not asked: it has ended. */
bool client_is_gone(const struct peer_client *c);

/* `done` does not come any more; the server is told if it has been asked.  The process is
 * ended in the background. */
void client_close(struct peer_client *c);

#endif
