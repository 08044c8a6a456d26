/* describe-servers.h - what a description says of the MCP servers that may be called. */
#ifndef TOOL_DESCRIBE_SERVERS_H
#define TOOL_DESCRIBE_SERVERS_H

#include "peer/definition.h"

/*
 * One line for each: its name, the policy's description of it, and the patterns of its
 * tools.  At most `room` bytes: long lines are cut before others are left out, whole
 * patterns and servers are cut, and each cut is told.
 */
void describe_servers(
        const struct peer_definitions *servers, size_t room, struct buf *out);

#endif
