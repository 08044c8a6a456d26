/*
 * peers.h - calling tools of other MCP servers, behind the policy.
 *
 * Each call has a connection of its own, or one that is kept for the next if the section
 * says keep_alive.  A server that hangs, floods, lies or dies costs the call that talks
 * to it and nothing else; what it sends is outside bytes.
 */
#ifndef PEER_PEERS_H
#define PEER_PEERS_H

#include "base/json.h"
#include "peer/definition.h"
#include "policy/paths.h"

#include <uv.h>

#define PEERS_MAX_CALLS  16                 /* at once; more are refused */
#define PEERS_MAX_NESTED 32                 /* beside these, from within other calls */
#define PEERS_MAX_IDLE   4                  /* connections to a server that are kept */
#define PEER_MAX_MESSAGE ((size_t)10 << 20) /* bytes of a line */

struct peers;
struct peer_call;

/* Everything is borrowed and outlives it. */
struct peers_config {
    uv_loop_t *loop;
    const char *launcher; /* paddock-launch, from helper_find() */
    const char *bridge;   /* paddock-bridge, for servers that have a URL; or NULL */
    const struct policy *policy;
    const struct path_policy *paths;
    const struct peer_definitions *definitions;
};

struct peers *peers_create(const struct peers_config *config);

struct peer_request {
    struct str server;
    struct str tool;         /* "": list the tools that may be called */
    const json_t *arguments; /* an object, or NULL: {} */
    unsigned timeout_ms;     /* of all of it, the start included */
    struct str trace;        /* the client's traceparent, or "" */
    bool is_nested;          /* a snippet makes it, and not a client */
};

enum peer_end {
    PEER_ANSWERED,  /* `result` is the tool's result object, as the server sent it */
    PEER_LISTED,    /* `result`: an array of the tools that the policy lets be called, as
                       the server sent them */
    PEER_REFUSED,   /* by the policy: nothing was started or sent; `text`, `rule` */
    PEER_FAILED,    /* `text` says how: not started, died, a protocol error, ... */
    PEER_TIMED_OUT, /* `text` says so */
};

/* Borrowed. */
struct peer_result {
    enum peer_end end;
    const json_t *result;
    struct str text; /* with a result: a note for who asked, or "" */
    struct str rule;
    uint64_t duration_ms;
};

/* Once for each call that is not cancelled, from the loop, never from peers_call(). */
typedef void peer_done_fn(void *user, const struct peer_result *result);

/* `*out` is valid until `done` or peers_cancel().  ERR_LIMIT: too many calls run. */
MUST_CHECK bool peers_call(struct peers *p, const struct peer_request *request,
        peer_done_fn *done, void *user, struct peer_call **out, struct error *err);

/* `done` will not be called; the server is told, and the connection is closed. */
void peers_cancel(struct peer_call *call);

/* Ends every server and waits for that, a second at most. */
void peers_destroy(struct peers *p);

#endif
