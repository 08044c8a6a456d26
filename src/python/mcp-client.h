/*
 * mcp-client.h - asking the server for a tool of another MCP server; what goes over the
 * socket says session/door-request.h.
 *
 * Any thread may call this, holding the GIL, which is released while it waits.  Signals
 * are seen to meanwhile; what a handler raises calls the tool's call off.
 */
#ifndef PYTHON_MCP_CLIENT_H
#define PYTHON_MCP_CLIENT_H

#include "python/guard.h"

#define MCP_MAX_ARGUMENTS ((size_t)4 << 20)  /* bytes of JSON */
#define MCP_MAX_ANSWER    ((size_t)24 << 20) /* the same */

struct mcp_request {
    struct str server, tool; /* UTF-8; no tool: the list of them */
    struct str arguments;    /* JSON, or "" */
    unsigned timeout_ms;     /* 0: as long as the snippet has time */
};

/* Append the answer, which comes from the server and is not looked at here.  False: an
 * exception is set; an OSError if nobody answers. */
MUST_CHECK bool mcp_ask(const struct mcp_request *request, struct buf *answer);

#endif
