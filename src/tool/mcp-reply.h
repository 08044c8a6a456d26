/*
 * mcp-reply.h - what another MCP server answered, as the text and the images of a reply.
 *
 * All of it is outside text: it does not speak for paddock (report.h sets its lines off),
 * and it is cut as other output is.  What a reply cannot carry is named in notes at the
 * end.
 */
#ifndef TOOL_MCP_REPLY_H
#define TOOL_MCP_REPLY_H

#include "base/json.h"

#define MCP_MAX_DESCRIPTION                                                       \
    1000                    /* bytes that are shown of what a tool says of itself \
                             */
#define MCP_MAX_SCHEMA 4000 /* the same of the schema of its arguments */

/*
 * Append the text of a tool's result: its text blocks and text resources; without these
 * its structured content.  `*images` becomes a new array [{"mime", "data"}], or NULL.
 * Both functions return how many bytes are left out, because the text was too long.
 */
uint64_t mcp_reply_write(const json_t *result, struct buf *text, json_t **images);

/* Append a list of tools: the name of each, what it says of itself and what it takes, as
 * quoted data. */
uint64_t mcp_reply_list(struct str server, const json_t *tools, struct buf *text);

#endif
