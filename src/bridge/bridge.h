/*
 * bridge.h - paddock-bridge: one MCP server that has a URL, as if it were a program that
 * speaks JSON-RPC in lines.
 *
 * The server starts it as a helper (broker/spawn.h) with three descriptors.  Closing the
 * input ends it in order: what runs gets a second, the session of the other server is
 * ended, status 0.  Closing the socket ends it at once.
 *
 *   3  the socket.  First comes WIRE_SETUP with one field, the setup as JSON; the answer
 *      is WIRE_READY with the status of the confinement (confine.h).  Nothing else ever
 *      follows, so whoever starts it may leave the answer unread.  A setup that cannot be
 *      used ends the program with a line on stderr and status 1.
 *   4  the input: JSON-RPC messages, one a line.  What is written before it is ready
 *      waits in the pipe.
 *   5  the output: the same, what came from the URL and its errors.
 *
 * The setup, of BRIDGE_MAX_SETUP bytes at most:
 *
 *   {"url": "https://example.org/mcp",         required; http or https
 *    "headers": ["Authorization: Bearer x"],   of every request; "Name: value"
 *    "ca_file": "/etc/ours.pem",               whom to trust, instead of the system's
 *    "proxy": "http://proxy.example:3128"}     else none, whatever the environment says
 *
 * What the tools of a server of 2026-07-28 want repeated in header fields (x-mcp-header)
 * is learnt from the lists of tools that pass through; a tool whose marks break the rules
 * is taken out of them.
 *
 * A message is sent once: if a connection ends when its text has begun to go out, it may
 * have been carried out, and that is an error.  Only what merely asks (tools/list,
 * server/discover, ping) is sent again on another connection.
 *
 * Every request is answered on the output, unless it is cancelled by
 * notifications/cancelled.  What the transport has to say about a request is a JSON-RPC
 * error with code -32603, a message for people, and
 *
 *   "data": {"bridge": KIND, "status": HTTP status, if there was one}
 *
 * KIND is "connect" (no connection, or no trust in it), "http" (a status that is no
 * success), "session-lost" (the server has forgotten the session; initialize again),
 * "redirect", "content" (no JSON-RPC), "limit" (too big, too many), or "ended" (the
 * connection or the stream ended without the reply).  Errors that the server itself
 * words in JSON-RPC are passed on as they are, whatever the status.
 */
#ifndef BRIDGE_BRIDGE_H
#define BRIDGE_BRIDGE_H

#include "base/str.h"

#define BRIDGE_SOCKET 3
#define BRIDGE_INPUT  4
#define BRIDGE_OUTPUT 5

#define BRIDGE_MAX_SETUP    ((size_t)64 << 10)
#define BRIDGE_MAX_MESSAGE  ((size_t)10 << 20) /* bytes of a message, either way */
#define BRIDGE_MAX_STREAM   ((size_t)64 << 20) /* bytes that come for one request */
#define BRIDGE_MAX_REQUESTS 16                 /* at once */

#endif
