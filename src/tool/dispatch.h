/*
 * dispatch.h - who does the work of a call: the session's shell, a worker of the pool,
 * the server through its broker, an interpreter, or another MCP server.
 *
 * One dispatch is one client's.  Each tool says in the table where it goes (tool.h).  A
 * long call blocks nobody but the next one of the same shell; where all places for its
 * kind of work are taken, a call waits for its turn (session/turns.h), and its time has
 * not begun yet.
 */
#ifndef TOOL_DISPATCH_H
#define TOOL_DISPATCH_H

#include "session/session.h"
#include "tool/metrics.h"
#include "tool/run_mcp.h"
#include "tool/run_python.h"
#include "tool/run_shell.h"
#include "tool/tool.h"

struct dispatch;
struct dispatch_call;

struct dispatch_config {
    struct session_config worker;     /* of the pool, and of a shell without a door */
    struct door *door;                /* where the shell asks for programs; or NULL */
    struct str door_setup;            /* the shell's setup then */
    struct shells *shells;            /* what those of all clients share, or NULL */
    struct store *store;              /* where the shell's state is; or NULL */
    struct str record;                /* its id there; borrowed */
    const struct toolset *tools;      /* what is offered decides what is kept warm */
    struct run_shell_config commands; /* .launcher NULL: no commands are offered */
    struct run_python_config python;
    struct run_mcp_config peers;
    struct audit *audit;     /* NULL: nothing is recorded */
    struct metrics *metrics; /* NULL: nothing is counted */
    struct str session;      /* names this client in the log */
    struct str address;      /* from where it comes; "": there are none.  Copied */
    bool has_line;           /* as of turns_join() */
    bool is_shared;          /* it is the commons of others */
    /* One of another client that knows the same tools: what has no state is its work,
     * and only the shell is this one's own.  It lives longer.  NULL: none. */
    struct dispatch *commons;
};

struct dispatch *dispatch_create(const struct dispatch_config *config);

/* Start the processes that the first calls need, so that these find them ready; but no
 * shell of a client that has a `commons`, since there may be many who never use it. */
void dispatch_warm(struct dispatch *d);

/* Fill in what works for all clients: `files`, `python`, `waiting_turns`.  Others are
 * left alone. */
void dispatch_look(const struct dispatch *d, struct metrics_gauges *now);

/* As run_python_renew(); nothing if that tool is not offered. */
void dispatch_renew_python(struct dispatch *d);

/* Borrowed. */
struct dispatch_reply {
    bool is_error;
    struct str text;
    const json_t *images; /* [{"mime", "data"}], few and checked (images.h); or NULL */
    const json_t *blocks; /* of content, as they are, instead of the two; or NULL */
};

/* Called once for each call that is not cancelled, from the loop. */
typedef void dispatch_done_fn(void *user, const struct dispatch_reply *reply);

struct dispatch_request {
    struct str tool;
    json_t *args;     /* passed the tool's schema */
    struct str trace; /* the client's traceparent, or "" */
    size_t bytes;     /* what it came in, about */
};

/* `*out` is valid until `done` or dispatch_cancel().  ERR_LIMIT: too many calls wait. */
MUST_CHECK bool dispatch_call(struct dispatch *d, const struct dispatch_request *request,
        dispatch_done_fn *done, void *user, struct dispatch_call **out,
        struct error *err);

/* A call that was answered with an error before it came here: for the log. */
void dispatch_refused(struct dispatch *d, const struct dispatch_request *request,
        const struct error *err);

/* Whether a call of this tool would not be refused because of others.  ERR_LIMIT: it
 * would. */
MUST_CHECK bool dispatch_has_room(
        const struct dispatch *d, struct str tool, struct error *err);

/* What a call waits for, in words; "" if it runs. */
struct str dispatch_doing(const struct dispatch_call *call);

/* `done` will not be called. */
void dispatch_cancel(struct dispatch *d, struct dispatch_call *call);

/* Kills what runs; what waits is dropped without `done`. */
void dispatch_destroy(struct dispatch *d);

#endif
