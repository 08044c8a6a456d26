/*
 * mcp.h - one client that speaks MCP, whatever carries its messages.
 *
 * Messages go in as text and replies come out through `send`, in any order.  Both eras
 * are served at once (era.h).  Tool calls go to the client's dispatch; everything else is
 * answered at once, also while a call runs.
 */
#ifndef PROTOCOL_MCP_H
#define PROTOCOL_MCP_H

#include "tool/dispatch.h"

#define MCP_PROGRESS_MS 10000

/* What is the same for all clients; outlives them. */
struct mcp_server {
    uv_loop_t *loop;
    const char *name, *version;
    const char *instructions;
    struct toolset *tools;
    unsigned progress_ms; /* between two notes on a call that runs long */
};

/* Takes one message, a JSON text without newlines, borrowed for the call. */
typedef void mcp_send_fn(void *user, struct str message);

struct mcp;

struct mcp *mcp_open(const struct mcp_server *server, struct dispatch *dispatch,
        mcp_send_fn *send, void *user);

/* One message, or a batch of them. */
void mcp_receive(struct mcp *m, struct str text);

/* A message was longer than the transport takes, `max_bytes`; it could not be read. */
void mcp_refuse_long(struct mcp *m, size_t max_bytes);

/* Nothing runs and nothing waits. */
bool mcp_is_idle(const struct mcp *m);

/* Forget all calls and free it.  Nothing is sent any more; the dispatch is destroyed
 * next, before the loop turns again. */
void mcp_close(struct mcp *m);

#endif
