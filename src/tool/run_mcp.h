/*
 * run_mcp.h - the tool run_mcp: a tool of another MCP server, called behind the policy.
 *
 * peer/peers.h decides and calls; here its arguments are checked, and what came back
 * becomes a reply.  What was refused, failed or did not end in time is an error, and so
 * is what the other tool says was one.
 */
#ifndef TOOL_RUN_MCP_H
#define TOOL_RUN_MCP_H

#include "base/json.h"
#include "peer/peers.h"

struct run_mcp;
struct mcp_call;

/* Everything is borrowed and outlives it. */
struct run_mcp_config {
    uv_loop_t *loop;
    const struct policy *policy;
    const struct peer_definitions *servers;
    struct peers *peers; /* NULL: no other server may be called */
};

/* How a call ended; borrowed. */
struct mcp_outcome {
    bool is_error;
    bool refused; /* by the policy, and nothing was started or sent; `rule` decided */
    bool timed_out;
    uint64_t cut_bytes; /* left out of `text` */
    struct str rule;
    struct str text;
    const json_t *images; /* [{"mime", "data"}], checked; or NULL */
};

/* Called once for each call that is not cancelled, from the loop. */
typedef void mcp_done_fn(void *user, const struct mcp_outcome *outcome);

struct run_mcp *run_mcp_create(const struct run_mcp_config *config);

struct mcp_request {
    const json_t *args; /* passed the tool's schema */
    struct str trace;   /* the client's traceparent, or "" */
};

/* `*out` is valid until `done` or run_mcp_cancel().  ERR_LIMIT: too many calls run. */
MUST_CHECK bool run_mcp_start(struct run_mcp *r, const struct mcp_request *request,
        mcp_done_fn *done, void *user, struct mcp_call **out, struct error *err);

/* `done` will not be called; the other server is told, and ended. */
void run_mcp_cancel(struct mcp_call *call);

/* Gives up what runs. */
void run_mcp_destroy(struct run_mcp *r);

#endif
